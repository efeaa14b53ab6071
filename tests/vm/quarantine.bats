#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# quarantine.bats - process events, and an execd of Grid Engine in the initial namespaces: mprund hears of
# its shepherds and of nothing else. Only in a virtual machine (run-all.sh, run-in-vm.sh).
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'
load '../lib/mprund-hosts'
STORM=$MPRUN_BUILD/tests/system/exec-storm
TRACE=/run/mprund.trace

setup_file() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" != systemd ] || return 0
    export HOSTS_TEST_LIMIT=60
    gridengine_setup --here --slots 8
    start
}
start() { mprunds_start "trace = \"$TRACE\"" 'quarantine {' 'spool = false' 'process_events = true' '}' "$@"; }
teardown_file() {
    mprunds_stop
    gridengine_teardown
}
setup() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" != systemd ] || skip "only in the virtual machine, without systemd"
    needs_gridengine
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 20 $TRACE || true
    mprunds_clean
}
traced() { grep -qE "$1" $TRACE; }
execd_pid() { cat "$HOSTS_DIR/gridengine/spool/execd/n1/execd.pid"; }
execd_gone() { ! kill -0 "$EXECD" 2>/dev/null; }

@test "when the execd starts, what its jobs' cgroups are in is ready" {
    mprund_end n1
    start 'cores = exclusive'
    traced ' begin execs=yes spool=no'
    EXECD=$(execd_pid)
    kill "$EXECD"
    wait_until 30 execd_gone
    on_root n1 sge_execd
    wait_until 30 traced ' daemon manager=gridengine pid=[0-9]* how=exec ground=[^:]*$'
    if [ "$VMRUN_CGROUP" = v1 ]; then
        top=/sys/fs/cgroup/cpuset
        for file in cpuset.cpus cpuset.mems; do [ "$(cat $top/mprund.n1/$file)" = "$(cat $top/$file)" ]; done
        [ "$(cat $top/mprund.n1/cpuset.cpu_exclusive)" = 1 ]
    else
        grep -qw cpuset "$(ground n1)/cgroup.subtree_control"
    fi
    mprund_end n1
    start
}

@test "while processes begin and end as fast as they can, no shepherd is missed" {
    begin=$SECONDS
    before=$(grep -c ' scan number=' $TRACE)
    # in memory: the files of the machine's host are not to be opened so often
    mkdir -p /run/storm && cp "$(command -v busybox)" /run/storm/busybox
    ticks=$(mprund_ticks)
    "$STORM" 2000 4 /run/storm/busybox true >storm 3>&- &
    storm=$!
    qsub_start -t 1-8 <<<'until grep -q "/ge-$JOB_ID[.]$SGE_TASK_ID-" /proc/self/cgroup; do sleep 0.1; done; echo >"in.$SGE_TASK_ID"'
    dir=$(job_dir)
    wait_until 120 all_in
    kill $storm
    wait $storm
    echo "# processes: $(cat storm); mprund took $((($(mprund_ticks) - ticks) * 10)) ms of CPU time" >&3
    [ "$(grep -oE " enter job=$(job)\.[0-9]+ " $TRACE | sort -u | wc -l)" -eq 8 ]
    echo "# $(grep -E " enter job=$(job)\..* how=exec$" $TRACE | cut -d " " -f 3 | sort -u | wc -l) of 8 shepherds by their exec, $(($(grep -c ' scan number=' $TRACE) - before)) looks at everything" >&3
    [ $(($(grep -c ' scan number=' $TRACE) - before)) -le $((SECONDS - begin + 1)) ]
}
all_in() { [ "$(find "$dir" -name 'in.*' | wc -l)" = 8 ]; }
mprund_ticks() { sed 's/.*) //' "/proc/$(cat /run/mprund.pid)/stat" | awk '{ print $12 + $13 }'; }

@test "a shepherd that a user starts, and what is only called so, are put nowhere" {
    cp /bin/sleep "$HOSTS_DIR/shared/sge_shepherd" && chmod 755 "$HOSTS_DIR/shared/sge_shepherd"
    on n1 bash -c 'exec -a sge_shepherd-1 "$0" 1000' "$HOSTS_DIR/shared/sge_shepherd" </dev/null >/dev/null 2>&1 3>&- &
    named=$!
    # ld.so waits for who reads what it says, in the shepherd's process
    on n1 bash -c 'mkfifo "/tmp/hold.$$" && LD_DEBUG=files LD_DEBUG_OUTPUT=/tmp/hold exec /usr/lib/gridengine/sge_shepherd -bg' </dev/null >/dev/null 2>&1 3>&- &
    real=$!
    wait_until 30 traced ' refused pid=[0-9]* uid=64000 how=exec .*started by user 64000 and not by root'
    wait_until 30 two_there
    for pid in $(pgrep -u labuser sge_shepherd); do
        run ! grep mprund "/proc/$pid/cgroup"
        kill -KILL "$pid"
    done
    wait $named || true
    wait $real || true
    rm -f /tmp/hold.*
}
two_there() { [ "$(pgrep -c -u labuser sge_shepherd)" = 2 ]; }
