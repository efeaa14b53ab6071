#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm-settings.bats - mprun in a real Slurm with the settings of share/slurm: sessions of salloc on a
# node, memory that Slurm limits, GPUs, signals before the end, and preemption
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

# memory has no cgroup in the lab
settings() {
    local file line
    for file in slurm cgroup; do
        while read -r line; do
            case $line in
            \#* | ConstrainRAM* | ConstrainSwap*) ;;
            *) printf '%s\n' --set "$file:$line" ;;
            esac
        done <"$MPRUN_SOURCE/share/slurm/$file.conf"
    done
    printf '%s\n' --set slurm:DefMemPerCPU=200 --set slurm:KillWait=8 --set slurm:JobAcctGatherParams=OverMemoryKill \
        --set slurm:JobAcctGatherFrequency=task=1 --set slurm:PreemptType=preempt/partition_prio --set slurm:PreemptMode=CANCEL
}
setup_file() {
    local words
    mapfile -t words < <(settings)
    slurm_setup "${words[@]}"
}
teardown_file() { slurm_teardown; }
setup() {
    slurm_begin
    needs_cores 2
}
teardown() { slurm_end; }

# session OPTIONS <PLAY: a shell of salloc, which is on the first node
session() {
    { echo 'wait [$] $' && cat && printf '%s\n' 'type exit 0\r'; } | on_terminal n0 salloc -Q "$@"
}

@test "a session on the job's first node: all of its tasks, input, ^Z and fg, ^C" {
    run -0 session -N 3 -n 6 <<PLAY
type cd $HOSTS_DIR/shared; m() { $MPRUN --containment=tree "\$@"; }; echo on \$(hostname)\r
wait on n1
type m --quiet sh -c 'echo rank on \$(hostname)'; echo "co\\\\de \$?"\r
wait co.de 0
type echo words | m --quiet -n 3 sh -c 'cat | tr a-z A-Z'; m --quiet -n 1 sh -c 'read x && echo "got \$x"'; echo "re\\\\ad \$?"\r
wait WORDS
type typed\r
wait got typed
wait re.ad 0
type m sh -c 'trap "echo conti\\\\nued" CONT; echo beg\\\\un; while :; do sleep 0.1; done'\r
wait (begun(\s|\x1b\[K)+){6}
type \x1a
wait Stopped
type fg\r
wait (continued(\s|\x1b\[K)+){6}
end received SIGINT
wait [$] $
PLAY
    echo "$output"
    for host in n1 n2 n3; do
        [ "$(grep -c "^rank on $host" <<<"$output")" -eq 2 ]
    done
}

@test "the article's third example: nine ranks and little memory; Slurm says which amount exceeded which limit" {
    cat >"$HOSTS_DIR/shared/memtest" <<'EOF'
#!/usr/bin/perl
use Sys::Hostname;
$| = 1;
printf "Rank %d on %s: allocating %d Mbytes\n", $ENV{MPRUN_RANK}, hostname(), $ARGV[0];
$memory = "x" x ($ARGV[0] << 20);
sleep 600;
EOF
    chmod 755 "$HOSTS_DIR/shared/memtest"
    run -0 session -N 3 -n 9 -O --mem=30 <<PLAY
type PATH=$MPRUN_BUILD/launcher:$HOSTS_DIR/shared:\$PATH\r
wait [$] $
type mprun -np 9 memtest 10; echo "co\\\\de \$?"\r
wait Rank \d on n[123]: allocating 10 Mbytes
wait exceeded memory limit \(\d+ > 31457280\), being killed
wait co.de [1-9]
PLAY
    echo "$output"
    nothing_left
    sweep_up # of starters that Slurm has killed
}

@test "an administrator's --self-test: starts, cores, books and cleanup on all nodes" {
    run -0 --separate-stderr sbatch_wait -N 2 -n 4 <<<'mprun --self-test'
    echo "$output"
    [[ ${lines[0]} == "starts   ok       4 ranks run after "*" s on n1 n2" ]]
    [[ ${lines[1]} == "cores    ok "* ]]
    [[ ${lines[2]} == "books    ok "*"(compare 'sacct -j $(job)' after the job)" ]]
    [[ ${lines[4]} == "cleanup  ok "*" n1 n2" ]]
    [ -z "$stderr" ]
}

@test "ranks have the GPUs of their own node" {
    run -0 --separate-stderr sbatch_wait -N 2 -n 2 --gres=gpu:lab:1 <<<'m sh -c "echo \$(hostname) \$CUDA_VISIBLE_DEVICES \$SLURM_STEP_GPUS \$SLURM_GPUS_ON_NODE" | sort'
    echo "$output"
    echo "$stderr"
    [ "$output" = $'n1 0 0 1\nn2 0 0 1' ]
    # Slurm holds the job to them; which rank has which, variables say, and root's mprun or mprund hold it
    run -0 --separate-stderr sbatch_wait -N 2 -n 4 --gres=gpu:lab:2 <<<'m --gpus-per-rank 1 sh -c "echo \$(hostname) \$CUDA_VISIBLE_DEVICES \$SLURM_STEP_GPUS" | sort'
    [ "$output" = $'n1 0 0,1\nn1 1 0,1\nn2 0 0,1\nn2 1 0,1' ]
    # as srun
    for says in --quiet --gpus-per-task=1; do # the job says it, or the line
        [ $says = --quiet ] && asks=--gpus-per-task=1 || asks=--gres=gpu:2
        run -0 --separate-stderr sbatch_wait -N 1 -n 2 $asks <<<"m --as srun $says sh -c 'echo \$SLURM_PROCID \$CUDA_VISIBLE_DEVICES' | sort"
        [ "$output" = $'0 0\n1 1' ]
        [ -z "$stderr" ]
    done
    # GPUs that are for tasks, or the whole job, of which Slurm gives a step with one task on each node a part
    for asks in --gpus-per-task=1 --gpus=4; do
        run -0 --separate-stderr sbatch_wait -N 2 -n 4 $asks <<<'m --gpus-per-rank 1 sh -c "echo \$(hostname) \$CUDA_VISIBLE_DEVICES \$SLURM_STEP_GPUS" | sort'
        [ "$output" = $'n1 0 0,1\nn1 1 0,1\nn2 0 0,1\nn2 1 0,1' ]
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr sbatch_wait -N 2 -n 3 -m block --gpus-per-task=1 <<<'m --gpus-per-rank 1 sh -c "echo \$(hostname) \$CUDA_VISIBLE_DEVICES" | sort'
    [ "$output" = $'n1 0\nn1 1\nn2 0' ]
    run --separate-stderr sbatch_wait -N 2 -n 4 --gres=gpu:lab:1 <<<'m --gpus-per-rank 1 touch began'
    [ "$status" -ne 0 ]
    [[ $stderr == *"--gpus-per-rank: on n"*" 2 ranks would have 2 GPUs, and there is 1 for this step"* ]]
}

@test "scancel: ranks have KillWait's seconds after TERM to save their state, also when mprun has gone, and no more" {
    cat >"$HOSTS_DIR/shared/saver" <<'EOF'
#!/bin/sh
trap 'echo TERM >>said.$MPRUN_RANK; sleep 2; echo saved >>said.$MPRUN_RANK; [ $MPRUN_RANK != 0 ] || sleep 600; exit' TERM
echo start >said.$MPRUN_RANK
while :; do sleep 0.1; done
EOF
    chmod 755 "$HOSTS_DIR/shared/saver"
    sbatch_start -N 2 -n 4 <<<"m --kill-grace 600 $HOSTS_DIR/shared/saver"
    all_say() { [ "$(cat "$(job_dir)"/said.? | grep -c "$1")" = 4 ]; }
    wait_until 30 all_say start
    on n0 scancel "$(job)"
    nothing_left
    head "$(job_dir)"/said.?
    all_say TERM
    all_say saved
    sweep_up
}

@test "--signal=B: is for a script that mprun has replaced, --signal for ranks; each rank gets it once, before the time is over" {
    local first
    # Slurm looks each half minute
    STEP_BEFORE="exec mprun --containment=tree" step_start -N 2 -O -t 2 --signal=B:USR1@60
    first="$(job) $(job_dir)"
    step_start -N 2 -O -t 2 --signal=USR2@60
    wait_until 70 ranks_have USR2 1
    finish
    job_wait
    ranks_have USR2 1
    echo "${first% *}" >"$BATS_TEST_TMPDIR/job"
    echo "${first#* }" >"$BATS_TEST_TMPDIR/job-dir"
    wait_until 70 ranks_have USR1 1
    finish
    job_wait
    ranks_have USR1 1
}

@test "preemption: ranks get TERM at once, the other job its nodes" {
    step_start
    first=$(job_dir)
    sbatch_start -p urgent -N 4 -n 8 <<<'m hostname'
    job_wait
    [ "$(sort "$(job_out)" | uniq -c | tr -s ' ' | tr '\n' ,)" = " 2 n1, 2 n2, 2 n3, 2 n4," ]
    [ "$(cat "$first"/rank.? | grep -c TERM)" = 8 ]
}
