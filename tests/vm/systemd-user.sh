#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# systemd-user.sh UID - makes the user mprunlab, whose systemd instance then runs; fails when process 1
# does not answer
#
# Nothing of mprun runs before it. The kernel of an emulated machine may lock up, as it patches its own
# code when something is used for the first time, and systemd then hangs for ever.
set -u
. "$MPRUN_SOURCE/tests/lib/slow.bash"
ask() { timeout -k 5 "$(patience 60)" "$@"; }
bus=/run/user/$1/bus
! [ -S "$bus" ] || exit 0
ask useradd -m -u "$1" mprunlab && ask loginctl enable-linger mprunlab &&
    ask bash -c 'until [ -S "$0" ]; do sleep 0.1; done' "$bus" && ask systemctl daemon-reload && exit
echo "process 1 does not answer: $(cat /proc/1/wchan 2>/dev/null)"
dmesg | tail -n 20
exit 1
