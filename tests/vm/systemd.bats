#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# systemd.bats - where mprun makes its cgroups under systemd: in the unit it was started in, and
# with limits where that holds nobody else. Only in a virtual machine with --init systemd.
load '../lib/mprun'
LAB_UID=2345

setup_file() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" = systemd ] || return 0
    "$MPRUN_SOURCE/tests/vm/systemd-user.sh" $LAB_UID
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

# in_session COMMAND...: as the user, where a login session would be, which is not delegated
in_session() {
    systemd-run --quiet --scope --slice=user-$LAB_UID.slice setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups \
        env HOME=/home/mprunlab TMPDIR=/tmp "$@" 3>&-
}
no_scope_is_left() { [ -z "$(find /sys/fs/cgroup -name 'mprun-*.scope' -print -quit)" ]; }
SCOPE="/user.slice/user-$LAB_UID.slice/user@$LAB_UID.service/app.slice/mprun-"

@test "from a session, where no cgroup is the user's, ranks are in a scope of the user's systemd, and limits hold" {
    run --separate-stderr in_session "$MPRUN" -n 2 --report containment "$PROBE" where
    echo "$output" "$stderr"
    [ "$status" -eq 0 ]
    for line in "${lines[@]}"; do
        [[ $line == "$SCOPE"*-0.scope/mprun.*/ranks/0.?.0 ]]
    done
    [[ $stderr == *"tracking rank in v2 cgroups"* ]]
    run -137 in_session "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 200
    [[ $output == *"rank 0 on "*" exceeded its memory limit 48"* ]]
    wait_until 20 no_scope_is_left
    run -0 in_session "$MPRUN" --explain -n 1 true
    [[ $output == *"a transient scope of the user's systemd instance"* ]]
}

# root_session COMMAND...: as root, where a login session with a shell would be
root_session() {
    systemd-run --quiet --scope --slice=user-0.slice -p MemoryMax=1G sh -c '"$@"; exit $?' sh env TMPDIR=/tmp "$@" 3>&-
}

@test "root in a session, whose shell keeps controllers from it, has a scope of the system's instance in the session's slice" {
    run -0 --separate-stderr root_session "$MPRUN" -n 2 --containment=rank,memory,pids,cpuset "$PROBE" where
    for line in "${lines[@]}"; do
        [[ $line == /user.slice/user-0.slice/mprun-*-0.scope/mprun.*/ranks/0.?.0 ]]
    done
    run -137 root_session "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 200
    [[ $output == *"rank 0 on "*" exceeded its memory limit 48"* ]]
    wait_until 20 no_scope_is_left
    run -0 root_session "$MPRUN" --explain -n 1 true
    [[ $output == *"a transient scope of the system's systemd instance"* ]]
    run -125 root_session "$MPRUN" --containment memory --ignore-systemd -n 1 true
    [[ $output == *"holds another process than mprun's, pid "*" (sh)"* ]]
}

@test "a step in such a scope survives daemon-reload and reset-failed of both instances, with its limits" {
    rm -f /tmp/go /tmp/rank # of an earlier try
    in_session "$MPRUN" --mem-per-rank 48M -n 1 sh -c 'echo $$ >/tmp/rank; until [ -e /tmp/go ]; do sleep 0.2; done; exec "$1" take 200' sh "$PROBE" >out 2>&1 &
    pid=$!
    wait_until 60 test -s /tmp/rank
    rank=$(cat /tmp/rank)
    held_by() { cat "/proc/$rank/cgroup" "/sys/fs/cgroup/$(sed s/^0::// "/proc/$rank/cgroup")"/{memory.max,cgroup.controllers}; }
    held_by >before
    grep -qx $((48 << 20)) before
    systemctl daemon-reload
    systemctl reset-failed
    as_lab systemctl --user daemon-reload
    as_lab systemctl --user reset-failed
    held_by >after
    diff before after
    touch /tmp/go
    status=0
    wait $pid || status=$?
    cat out
    [ "$status" -eq 137 ]
    grep -q 'exceeded its memory limit 48' out
}

@test "what the user's instance lacks is said; without it, and without libsystemd, ranks are tracked by the tree" {
    run in_session "$MPRUN" --containment cpuset -n 1 true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"has the controller cpuset: users' systemd instances do not have it"*"user@.service"* ]]
    run in_session "$MPRUN" --containment rank --ignore-systemd -n 1 true
    [ "$status" -eq 125 ]
    [[ $output == *"this host can only give 'tree'"*"is not delegated to this user"* ]]
    run systemd-run --quiet --scope --slice=user-$LAB_UID.slice unshare --mount sh -c 'library=$(echo /lib/*/libsystemd.so.0) &&
        mount --bind /dev/null "$library" && exec setpriv --reuid '$LAB_UID' --regid '$LAB_UID' --clear-groups "$@"' sh \
        env TMPDIR=/tmp "$MPRUN" -n 1 --report containment echo works 3>&-
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *works*"tracking tree"*"load libsystemd: "* ]]
}
