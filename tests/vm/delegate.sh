#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# delegate.sh - run a command as an ordinary user in a delegated part of the cgroup2 hierarchy
#
#   delegate.sh [--uid N] [--] COMMAND [ARGS...]        (as root, in a throw-away machine)
#
# Makes /sys/fs/cgroup/deleg, which belongs to the user and has the controllers memory, pids, cpu
# and cpuset to give to its children, and in it `shell`, where the command starts: as systemd does
# with Delegate=yes. On hybrid machines it is below /sys/fs/cgroup/unified and has no controllers.
# The status is the command's.
set -eu
UID_WANTED=65534
while [ $# -gt 0 ]; do
    case $1 in
    --uid) UID_WANTED=$2; shift 2 ;;
    --) shift; break ;;
    -*) echo "delegate.sh: unknown option '$1'" >&2; exit 125 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || { echo "delegate.sh: no command" >&2; exit 125; }
ROOT=/sys/fs/cgroup
[ -e $ROOT/cgroup.procs ] || ROOT=$ROOT/unified
[ -e $ROOT/cgroup.procs ] || { echo "delegate.sh: no cgroup2 mount" >&2; exit 125; }

# one by one: a machine may lack some
for c in memory pids cpu cpuset; do
    grep -qw $c $ROOT/cgroup.controllers && echo +$c >$ROOT/cgroup.subtree_control
done
mkdir -p $ROOT/deleg/shell
for c in $(cat $ROOT/deleg/cgroup.controllers); do
    echo "+$c" >$ROOT/deleg/cgroup.subtree_control
done
# what the kernel lists as safe to hand over, and nothing else: not the limits
chown "$UID_WANTED" $ROOT/deleg $ROOT/deleg/shell
for f in $(cat /sys/kernel/cgroup/delegate 2>/dev/null || echo cgroup.procs cgroup.subtree_control); do
    for d in $ROOT/deleg $ROOT/deleg/shell; do
        [ ! -e $d/"$f" ] || chown "$UID_WANTED" $d/"$f"
    done
done
echo $$ >$ROOT/deleg/shell/cgroup.procs
exec setpriv --reuid "$UID_WANTED" --regid "$UID_WANTED" --clear-groups -- "$@"
