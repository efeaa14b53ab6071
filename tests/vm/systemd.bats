#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# systemd.bats - where mprun makes its cgroups under systemd: in the unit it was started in, and
# with limits where that holds nobody else. Only in a virtual machine with --init systemd.
load '../lib/mprun'
LAB_UID=2345

setup_file() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" = systemd ] || return 0
    useradd -m -u $LAB_UID mprunlab
    loginctl enable-linger mprunlab
    until [ -S /run/user/$LAB_UID/bus ]; do sleep 0.1; done
}
setup() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" = systemd ] || skip "only in the virtual machine, with systemd"
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    export TMPDIR=/tmp
    cd /tmp || return 1
}
teardown() {
    [ "${VMRUN_INIT:-}" != systemd ] || [ -z "$(find /sys/fs/cgroup -name 'mprun.*' -print -quit)" ]
}

as_lab() {
    setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups env HOME=/home/mprunlab \
        XDG_RUNTIME_DIR=/run/user/$LAB_UID DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$LAB_UID/bus \
        "$@" 3>&-
}

@test "root's ranks stay in the service that mprun was started as" {
    run --separate-stderr systemd-run --quiet --wait --pipe --unit lab1 --setenv=TMPDIR=/tmp \
        "$MPRUN" -n 2 "$PROBE" where
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    for line in "${lines[@]}"; do
        [[ $line == /system.slice/lab1.service/mprun.*/ranks/0.?.0 ]]
    done
}

@test "in a service of its own mprun makes room for controllers, and holds limits" {
    run systemd-run --quiet --wait --pipe -p Delegate=yes --setenv=TMPDIR=/tmp \
        "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 200
    [ "$status" -eq 137 ]
    [[ $output == *"rank 0 on "*" exceeded its memory limit 48"* ]]
}

@test "the same for a user in a delegated scope" {
    run as_lab systemd-run --quiet --user --scope -p Delegate=yes \
        "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 200
    [ "$status" -eq 137 ]
    [[ $output == *"rank 0 on "*" exceeded its memory limit 48"* ]]
}

@test "where a shell sits in the scope, ranks are tracked, and a limit is refused with its reason" {
    run --separate-stderr as_lab systemd-run --quiet --user --scope -p Delegate=yes \
        bash -c "'$MPRUN' -n 1 '$PROBE' where; true"
    [ "$status" -eq 0 ]
    [[ $output == *.scope/mprun.*/ranks/0.0.0 ]]
    run --separate-stderr as_lab systemd-run --quiet --user --scope -p Delegate=yes \
        bash -c "'$MPRUN' --containment memory --mem-per-rank 48M -n 1 '$PROBE' where; exit \$?"
    [ "$status" -eq 125 ]
    [[ $stderr == *"holds another process than mprun's, pid "*" (bash)"* ]]
}

@test "a scope with a limit of its own is not left" {
    run --separate-stderr as_lab systemd-run --quiet --user --scope -p MemoryMax=64M \
        "$MPRUN" -n 1 "$PROBE" where
    [ "$status" -eq 0 ]
    [[ $output == */app.slice/*.scope/mprun.*/ranks/0.0.0 ]]
    # and holds
    run --separate-stderr as_lab systemd-run --quiet --user --scope -p MemoryMax=64M -p MemorySwapMax=0 \
        "$MPRUN" -n 1 "$PROBE" take 200
    [ "$status" -ne 0 ]
}
