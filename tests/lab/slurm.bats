#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm.bats - the Slurm of tests/lab/slurm: it runs jobs, takes settings, and goes without a trace
# bats file_tags=long
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

setup_file() {
    export BEFORE=$BATS_FILE_TMPDIR/before
    hosts_machine >"$BEFORE"
    slurm_setup --nodes 2 --set slurm:KillWait=7
}
teardown_file() { slurm_teardown; }
setup() { slurm_begin; }
teardown() { slurm_end; }

@test "jobs run on the nodes, as labuser" {
    run -0 on n0 srun -N2 -n4 sh -c 'echo $(hostname) $(id -un) $SLURM_CPUS_ON_NODE'
    [ "$(sorted)" = "n1 labuser 2 n1 labuser 2 n2 labuser 2 n2 labuser 2 " ]
    run -0 on n0 scontrol show config
    [[ $output =~ KillWait\ *=\ 7\ sec ]]
    run -7 --separate-stderr sbatch_wait -N 1 <<<'echo here; exit 7'
    [ "$output" = here ]
}

@test "settings are in effect at once, and reset" {
    hosts set slurm:KillWait=3 cgroup:ConstrainCores=yes
    run -0 on n0 scontrol show config
    [[ $output =~ KillWait\ *=\ 3\ sec ]]
    hosts reset
    run -0 on n0 scontrol show config
    [[ $output =~ KillWait\ *=\ 7\ sec ]]
    run -125 hosts set queue:x=1
    [[ $output == *"'queue:x=1' is no FILE:NAME=VALUE"* ]]
}

@test "empty ends jobs, and what they left is found" {
    sbatch_start -N 2 <<<'sleep 1000'
    wait_until 20 job_in RUNNING
    run ! hosts left
    [[ $output == *sleep* ]]
    hosts empty
    job_ended
    on_root n1 touch /tmp/here
    run -1 hosts left
    [[ $output == "n1: /tmp/here" ]]
    on_root n1 rm /tmp/here
}

@test "a daemon is killed and started again" {
    hosts daemon n2 kill
    run ! on_root n2 pgrep -x slurmd
    hosts daemon n2 start
    run -0 on n0 srun -w n2 hostname
    [ "$output" = n2 ]
}

@test "two labs do not meet, and nothing of one stays" {
    local dir
    dir=$(mktemp -d "${MPRUN_TEST_BASE:-/tmp}/mph.XXXXXX")
    run -0 "$MPRUN_SOURCE/tests/lab/slurm" up "$dir" --nodes 1
    run -0 "$MPRUN_SOURCE/tests/lab/slurm" run "$dir" n0 --user labuser -- srun -N1 hostname
    [ "$output" = n1 ]
    run -0 "$MPRUN_SOURCE/tests/lab/slurm" down "$dir"
    [ ! -e "$dir" ]
    run -0 diff <(grep -v "^/.*lab\.[0-9]" "$BEFORE") <(hosts_machine | grep -v "^/.*lab\.[0-9]")
}

@test "wrong words are refused" {
    for words in "--nodes 0" "--nodes 8" "--cpus x" "--names a%d" "--set"; do
        run -125 "$MPRUN_SOURCE/tests/lab/slurm" up "$TMPDIR/none" $words
        [[ $output == "slurm: "* ]]
        [ ! -e "$TMPDIR/none" ]
    done
    run -125 "$MPRUN_SOURCE/tests/lab/slurm"
    [[ $output == *"slurm up DIR"* ]]
}
