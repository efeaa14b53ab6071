# SPDX-License-Identifier: BSD-3-Clause
# hosts.bash - hosts for system tests: load '../lib/mprun' and '../lib/hosts'
#
#   hosts_setup N [OPTIONS]   N hosts, n0 to nN-1, made by tests/lab/hosts with these options of its
#                             `up`; also --sshd [--noisy]. In setup_file for all tests of a file, whose
#                             setup then calls needs_hosts; or in setup or a test
#   needs_hosts               skip the test, saying why, where there can be no hosts
#   hosts_teardown            in teardown_file or teardown: all of it goes
#   on HOST COMMAND...        there, as labuser, under a time limit ($HOSTS_TEST_LIMIT, 30 s; then 199).
#   on_root HOST COMMAND...   COMMAND may be mprun, which gets the options that every test gives it
#   on_terminal HOST COMMAND... <PLAY    there, as labuser, at a terminal where somebody types and reads
#                             what PLAY says (tests/lib/terminal)
#   on_start HOST COMMAND...  as `on`, in the background: $ON_PID; output in $ON_OUT and $ON_ERR.
#                             When $ON_PID is killed, COMMAND gets a TERM, and its code is not known
#   on_signal SIGNAL          to COMMAND itself, which must have begun
#   on_wait                   wait for it: its exit code, under the same time limit
#   cut HOST [NET], mend HOST [NET], shape HOST ..., kill_host HOST, hosts COMMAND ARGS...
#                             as of tests/lab/hosts, which says what they do
#   hosts_machine             what of this machine could be changed by hosts, to be compared
#   hold_space FILE           of /proc/PID/ns: until the test ends nobody else's namespace has its number
#   hosts_clean [HOST...]     fails when something stays in the hosts, within 20 s
#
# In the hosts the build, the checkout and $HOSTS_DIR are where they are here. Their /tmp and
# /dev/shm are their own, and so a test's $TMPDIR is not there: a command starts in labuser's home,
# which is the same in all hosts; files for the hosts can be left in $HOSTS_DIR/shared.

# $HOSTS_DIR: exported, as setup_file is another process than the tests
hosts_setup() {
    local options=() sshd= noisy=
    while [ $# -gt 0 ]; do
        case $1 in
        --sshd) sshd=yes ;;
        --noisy) noisy=--noisy ;;
        --delegate) export HOSTS_DELEGATED=yes && options+=("$1") ;;
        [2-8]) options+=(--count "$1") ;;
        *) options+=("$1") ;;
        esac
        shift
    done
    lab_setup hosts "$(hosts_lack $sshd)" "${options[@]}" || return
    [ -n "$HOSTS_LACK" ] || [ -z "$sshd" ] || hosts sshd $noisy
}

# lab_setup TOOL LACK OPTIONS...: by the program tests/lab/TOOL, unless there is a LACK
lab_setup() {
    export HOSTS_TOOL=$1 HOSTS_LACK=$2
    shift 2
    if [ -n "$HOSTS_LACK" ]; then
        # bats cannot skip in setup_file
        [[ ${BATS_TEST_NAME:-} != test_* ]] || skip "$HOSTS_LACK"
        return 0
    fi
    HOSTS_DIR=$(mktemp -d "${MPRUN_TEST_BASE:-/tmp}/mph.XXXXXX") || return
    export HOSTS_DIR
    hosts up "$@" --expose "$MPRUN_SOURCE" --expose "$MPRUN_BUILD"
}

hosts_teardown() {
    [ -z "${HOSTS_DIR:-}" ] || hosts down
}

needs_hosts() { [ -z "${HOSTS_LACK:-}" ] || skip "$HOSTS_LACK"; }

# hosts_lack [SSHD]: says why there can be no hosts here
hosts_lack() {
    local tool
    [ $EUID = 0 ] || { echo "needs root" && return; }
    for tool in ip bridge unshare nsenter setpriv ${1:+/usr/sbin/sshd ssh-keygen}; do
        command -v "$tool" >/dev/null || { echo "needs $tool" && return; }
    done
    if ! unshare --net --uts --mount --pid --ipc --fork true 2>/dev/null; then
        echo "no namespaces can be made here"
    elif ! unshare --net ip link add p0 type veth peer name p1 2>/dev/null; then
        echo "the kernel has no veth"
    elif ! unshare --net ip link add b0 type bridge 2>/dev/null; then
        echo "the kernel has no bridge"
    fi
}

# hosts COMMAND ARGS...: with the directory put in
hosts() {
    local command=$1
    shift
    "$MPRUN_SOURCE/tests/lab/${HOSTS_TOOL:-hosts}" "$command" "$HOSTS_DIR" "$@" 3>&-
}
# not cut(1), unless it is
cut() { if [[ $1 == -* ]]; then command cut "$@"; else hosts cut "$@"; fi; }
mend() { hosts mend "$@"; }
shape() { hosts shape "$@"; }
kill_host() { hosts kill "$@"; }

on() { on_as labuser "$@"; }
on_root() { on_as root "$@"; }

# on_command USER HOST COMMAND...: sets ON_COMMAND
on_command() {
    local user=$1 host=$2
    shift 2
    if [ "$1" = mprun ]; then
        shift
        MPRUN_OPTIONS=()
        if [ "$user" = root ]; then
            test_options "$@"
        else
            user_options "$@"
        fi
        set -- "$MPRUN" "${MPRUN_OPTIONS[@]}" "$@"
    fi
    ON_COMMAND=("$MPRUN_SOURCE/tests/lab/hosts" run "$HOSTS_DIR" "$host" --user "$user" -- "$@")
}

# As test_options, for labuser, who may make cgroups only where they were given to him.
user_options() {
    MPRUN_OPTIONS=(${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"})
    [ -n "${HOSTS_DELEGATED:-}" ] || tree_option "$@"
}

on_as() {
    on_command "$@"
    time_limited "${HOSTS_TEST_LIMIT:-30}" "${ON_COMMAND[@]}"
}

on_terminal() {
    on_command labuser "$@"
    TERM=dumb "$MPRUN_SOURCE/tests/lib/terminal" "${ON_COMMAND[@]}" 3>&-
}

on_start() {
    ON_OUT=$(mktemp "$TMPDIR/on-out.XXXXXX") && ON_ERR=$(mktemp "$TMPDIR/on-err.XXXXXX") || return
    on_command labuser "$@"
    "${ON_COMMAND[@]}" </dev/null >"$ON_OUT" 2>"$ON_ERR" 3>&- &
    ON_PID=$!
}

on_signal() {
    local pid
    pid=$(ps -o pid= --ppid "$ON_PID") && [[ $pid =~ ^\ *[1-9][0-9]*$ ]] && kill -s "$1" $pid
}

on_wait() {
    local limit=${HOSTS_TEST_LIMIT:-30}
    if ! wait_until "$limit" process_gone "$ON_PID"; then
        echo "time limit of $limit s (on a quiet machine) reached by: ${ON_COMMAND[*]}" >&2
        kill -KILL "$ON_PID"
        return 199
    fi
    wait "$ON_PID"
}

hold_space() {
    local fd
    exec {fd}<"$1"
}

# What of this machine could be changed by hosts; packages that somebody installs meanwhile are none of it
hosts_machine() {
    local what lab
    sed 's/^[0-9]* [0-9]* //' /proc/self/mountinfo
    for what in /sys/class/net /run/netns /etc/ssh /root /home /var/lib/gridengine{,/default{,/common}}; do
        ls -A "$what" 2>/dev/null | sed "s|^|$what: |"
    done
    find /sys/fs/cgroup -name "lab.*" ! -path '*/lab.*/*' 2>/dev/null | while read -r lab; do
        # other labs may come and go at the same time
        [ ! -e "${HOSTS_DIR:-}/cgroups" ] || ! grep -qx "$lab" "$HOSTS_DIR/cgroups" || echo "$lab"
    done
    sed -n '/labuser\|lab-home/p' /etc/{passwd,group,shadow}
    cat /etc/hosts /proc/sys/kernel/hostname
}

hosts_clean() {
    local what
    wait_until 20 hosts_empty "$@" && return
    what=$(hosts left "$@") || true
    printf 'left in the hosts:\n%s\n' "$what"
    [ -z "$what" ]
}
hosts_empty() { hosts left "$@" >/dev/null; }
