#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-slurm.bats - mprund on the nodes of a real Slurm that makes no cgroups (proctrack/linuxproc):
# who is in a job is known from where its slurmstepd listens
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'
load '../lib/mprund-hosts'

setup_file() {
    slurm_setup --set slurm:ProctrackType=proctrack/linuxproc --set slurm:TaskPlugin=task/affinity
    [ -n "${HOSTS_LACK:-}" ] || mprunds_start 'stuck_after = 1' 'retry = 1'
}
teardown_file() {
    mprunds_stop
    slurm_teardown
}
setup() {
    mprun_setup
    needs_hosts
    needs_v2
}
teardown() {
    local failed=0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || slurm_said
    hosts empty && grounds_empty 60 && nothing_left || failed=1
    mprun_teardown && return $failed
}

@test "ranks on all nodes are in their job's cgroup, and it goes with the job; status shows it" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<END
mprun sh -c 'echo \$(hostname) \$(grep 0:: /proc/self/cgroup)' | sort
mprun -n 1 $MPRUND status
END
    echo "$output"
    echo "$stderr"
    for i in 0 1 2 3 4 5 6 7; do
        [[ ${lines[$i]} =~ ^n$((i / 2 + 1))\ .*/n$((i / 2 + 1))/mprund/slurm-$(job)-[0-9a-f]{8}/u/mprun\..*/ranks/ ]]
    done
    [[ $output =~ $(job)\ +slurm\ .*running ]]
    grounds_empty 60
}

@test "processes in sessions of their own end with the step; those of an srun do not" {
    run -0 sbatch_wait -N 2 -n 2 <<'END'
count() { srun -N2 -n2 --overlap pgrep -cx -u "$USER" -f "sleep $1" | paste -sd ' '; }
mprun sh -c '(setsid sleep 778 &)'
echo "mprun $(count 778)"
srun -N2 -n2 sh -c '(setsid sleep 777 </dev/null >/dev/null 2>&1 &)'
echo "srun $(count 777)"
srun -N2 -n2 --overlap pkill -x -f 'sleep 777'
true
END
    echo "$output"
    [ "${lines[0]}" = "mprun 0 0" ]
    [ "${lines[1]}" = "srun 1 1" ]
}

@test "a user's process that is in no job gets no place; mprund --check knows the directory" {
    run on n1 "$GRANT_PROBE" place
    echo "$output"
    [[ $output == "refused "*"nothing that Slurm's slurmd wrote on this host shows that this process is in a job"* ]]
    run on_root n1 "$MPRUND" --check
    echo "$output"
    [[ $output == *"ok"*"slurmd: its spool directory is '$HOSTS_DIR/slurm/spool/n1'"* ]]
}
