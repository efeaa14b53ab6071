#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-pbs.bats - mprund on the hosts of a PBS without its cgroups hook: who is in a job is known from
# what pbs_mom, a stand-in that writes the files of a real one or with MPRUN_PBS=real one that is installed
# here, writes into mom_priv/jobs
load '../lib/mprun'
load '../lib/hosts'
load '../lib/pbs'
load '../lib/mprund-hosts'

setup_file() {
    # without memory, which a lab cannot limit
    export SUBSYSTEMS='cpu, cpuset'
    pbs_setup
    [ -n "${HOSTS_LACK:-}" ] || mprunds_start 'stuck_after = 1' 'retry = 1'
}
teardown_file() {
    mprunds_stop
    hosts_teardown
}
setup() {
    pbs_begin
    needs_v2
}
teardown() {
    local failed=0
    [ -z "${HOSTS_DIR:-}" ] || { pbs_end_job && grounds_empty 60 && nobody_stays; } || failed=1
    mprun_teardown && return $failed
}

nobody_stays() { for host in $(mprund_hosts); do wait_until 20 nobody_is_there "$host" || return; done; }

@test "ranks on all hosts are in their job's cgroup, with the job's cores, and it goes with the job; status shows it" {
    run -0 --separate-stderr qsub_wait n1:2:mem=400mb,n2:2 <<END
mprun sh -c 'echo \$(hostname) \$(grep 0:: /proc/self/cgroup)' | sort
mprun -n 1 $MPRUND status
END
    echo "$output$stderr"
    number=$(job) && number=${number%%.*}
    for i in 0 1 2 3; do
        [[ ${lines[$i]} =~ ^n$((i / 2 + 1))\ .*/n$((i / 2 + 1))/mprund/pbs-$number-[0-9a-f]{8}/u/mprun\..*/ranks/ ]]
    done
    [[ $output =~ $number\ +pbs\ .*running ]]
    grounds_empty 60
}

@test "two jobs have as many cores of a host as their chunks say, and each its own" {
    [ "$(nproc)" -ge 2 ] || skip "needs 2 cores"
    qsub_start n1,n2:2 <<<'mprun -n 1 sh -c "grep Cpus_allowed_list /proc/self/status >has; until [ -e go ]; do sleep 0.1; done"'
    first=$(job_dir)
    wait_until 20 test -s "$first/has"
    run -0 qsub_wait n1 <<<'mprun -n 1 grep Cpus_allowed_list /proc/self/status'
    echo "$output, and before: $(<"$first/has")"
    [ "$(grep -cxE $'Cpus_allowed_list:\t[0-9]+' <<<"$output" "$first/has" -)" = "$first/has:1
(standard input):1" ]
    [ "$output" != "$(<"$first/has")" ]
    touch "$first/go"
    wait_until 20 test -e "$first/exit"
    [ "$(<"$first/exit")" = 0 ]
}

@test "a process in a session of its own ends with the step" {
    run -0 qsub_wait n1,n2 <<'END'
mprun sh -c '(setsid sleep 778 </dev/null >/dev/null 2>&1 &)'
mprun --containment=tree sh -c 'pgrep -cx -u "$USER" -f "sleep 778"; true'
END
    echo "$output"
    [ "$output" = "0
0" ]
}

@test "a user's process that is in no job gets no place; mprund --check knows the directory; qstat gets none of the reader's rights" {
    run on n1 "$GRANT_PROBE" place
    echo "$output"
    [[ $output == "refused "*"nothing that pbs_mom wrote on this host shows that this process is in a job"* ]]
    run on_root n1 "$MPRUND" --check
    echo "$output"
    [[ $output == *"ok"*"pbs_mom: its home is '$HOSTS_DIR/pbs/home/n1'"* ]]
    pid=$(on_root n1 pgrep -x mprund-reader)
    on_root n1 cat "/proc/$pid/status" >status
    # CAP_DAC_READ_SEARCH alone, which what it executes does not get
    [ "$(sed -n 's/^Cap\(Prm\|Eff\):\t0*//p' status | tr '\n' ' ')" = "4 4 " ]
    [ "$(sed -n 's/^CapAmb:\t0*//p' status)" = "" ]
}
