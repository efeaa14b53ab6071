#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-systemd.bats - mprund as a unit: jobs are in a scope of their own, and whatever happens to the
# unit they keep their cgroups and limits. Only in a virtual machine with --init systemd.
load '../lib/mprun'
LAB_UID=65534
MPRUND=$MPRUN_BUILD/node-daemon/mprund
SCOPE=/sys/fs/cgroup/system.slice/mprund-jobs.scope

install_mprund() { # the parts find each other side by side
    for part in mprund mprund-supervisor mprund-mover mprund-front mprund-reader mprund-signer mprund-watch mprund-qstat; do
        install "$MPRUN_BUILD/node-daemon/$part" "/usr/local/sbin/$part.new" && mv "/usr/local/sbin/$part.new" "/usr/local/sbin/$part"
    done
}
setup_file() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" = systemd ] || return 0
    install_mprund # the unit has a /tmp of its own
    # what the unit's sandbox could forbid
    mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia/gpus/0000:00:04.0
    printf 'Device Minor: \t 0\n' >/proc/driver/nvidia/gpus/0000:00:04.0/information
    printf 'user = daemon\ntrace = "/var/log/mprund.trace"\nquarantine { process_events = true }\n' >/etc/mprund.conf
    sed "s|@sbindir@/mprund|/usr/local/sbin/mprund --config /etc/mprund.conf|" "$MPRUN_SOURCE/share/units/mprund.service.in" >/run/systemd/system/mprund.service
    systemctl daemon-reload
    systemctl start mprund || { journalctl -u mprund --no-pager | tail -20; systemctl status mprund; false; }
}
setup() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" = systemd ] || skip "only in the virtual machine, with systemd"
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    export TMPDIR=/tmp
    cd /tmp || return 1
}
teardown_file() {
    [ "${VMRUN_INIT:-}" = systemd ] || return 0
    systemctl stop mprund mprund-jobs.scope
    umount /proc/driver
    wait_until 30 test ! -d $SCOPE
}

enter() {
    timeout -k 5 200 "$MPRUND" enter --job 12.1 --user $LAB_UID --memory 48M \
        setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups "$@" 3>&-
}
# same_job: the job is as it was made
same_job() {
    local dir
    wait_until 30 "$MPRUND" status >/dev/null || return 1
    dir=$(echo $SCOPE/site-12.1-*) && [ "$dir" = "$JOB" ] || { echo "job in $dir"; return 1; }
    [ "$(cat "$dir/memory.max")" = $((48 << 20)) ] || return 1
    for c in memory pids cpuset; do
        grep -qw $c "$dir/u/cgroup.controllers" || { echo "no $c"; return 1; }
    done
    "$MPRUND" status | grep -q '^12.1 .*running'
}

# held: also while there is no daemon
held() {
    [ "$(cat "$JOB/memory.max")" = $((48 << 20)) ] || return 1
    [ -n "$(cat "$JOB/task/cgroup.procs")" ]
}
main_pid() { systemctl show -p MainPID --value mprund; }
another_runs() { [ "$(main_pid)" != 0 ] && [ "$(main_pid)" != "$1" ]; }

@test "a holder that a killed daemon left in the scope itself becomes the next one's" {
    systemctl stop mprund mprund-jobs.scope
    wait_until 30 test ! -d $SCOPE
    systemd-run --scope --quiet --collect --unit=mprund-jobs.scope -p Delegate=yes "$MPRUND" hold >/tmp/held 3>&- &
    wait_until 30 test -s /tmp/held # a number, in binary
    left=$(cat $SCOPE/cgroup.procs)
    systemctl start mprund
    [ "$(cat $SCOPE/holder/cgroup.procs)" = "$left" ]
    run enter "$PROBE" take 200
    [ "$status" -eq 137 ]
    no_job() { [ -z "$(find $SCOPE -name 'site-*' -print -quit)" ]; }
    wait_until 30 no_job
}

@test "a job keeps cgroup, controllers and limits through restart, stop, upgrade, kill and reload" {
    rm -f /tmp/go # of systemd.bats
    enter sh -c 'until [ -e /tmp/go ]; do sleep 0.2; done; exec "$1" take 200' sh "$PROBE" &
    pid=$!
    in_scope() { [ -d "$(echo $SCOPE/site-12.1-*/task)" ]; }
    wait_until 30 in_scope
    JOB=$(echo $SCOPE/site-12.1-*)
    same_job
    run -0 "$MPRUND" --config /etc/mprund.conf --check
    echo "$output"
    [[ $output == *"'$SCOPE' tracks jobs, with memory, "*"; systemd makes it"*"mprund runs here already; jobs: 1"* ]]
    systemctl restart mprund
    same_job
    systemctl daemon-reload
    same_job
    before=$(main_pid)
    systemctl kill -s KILL mprund
    wait_until 60 another_runs "$before"
    same_job
    systemctl stop mprund
    held
    systemctl daemon-reload
    held
    systemctl start mprund
    same_job
    # an upgrade: the program that runs, and that of the holder, are no longer there
    install_mprund
    systemctl restart mprund
    same_job
    [ "$(stat -L -c %i "/proc/$(main_pid)/exe")" = "$(stat -c %i /usr/local/sbin/mprund-supervisor)" ]
    kill -9 "$(cat $SCOPE/holder/cgroup.procs)" # the jobs keep the scope, the next daemon gives it a holder
    systemctl restart mprund
    same_job
    [ -n "$(cat $SCOPE/holder/cgroup.procs)" ]
    systemctl is-active mprund-jobs.scope
    touch /tmp/go
    status=0
    wait $pid || status=$?
    [ "$status" -eq 137 ] # and the limit held
}

@test "the unit lets mprund do its work and write nothing else" {
    pid=$(main_pid)
    grep -q '^Max core file size  *0  *0 ' "/proc/$pid/limits"
    grep -q '^Seccomp:.*2' "/proc/$pid/status"
    for dir in /etc /usr/local /var/lib /home; do
        run -1 nsenter -m -t "$pid" touch "$dir/written"
        [[ $output == *"Read-only file system"* ]]
    done
    run -0 timeout 100 "$MPRUND" enter --job 13.1 --user $LAB_UID --cores 1 --gpus 1 "$MPRUND" status --json 3>&-
    echo "$output"
    [[ $output == *'"gpus":'* ]]
    grep -q ' begin execs=yes' /var/log/mprund.trace
    rm -r /run/mprun
    wait_until 30 test -d /run/mprun/sentinels
    wait_until 30 "$MPRUND" status
    journalctl -u mprund --no-pager >journal
    grep -q 'job 13.1 has GPUs 0' journal
    run -1 grep -E 'Read-only|[Pp]ermi' journal
}
