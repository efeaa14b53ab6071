#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm-ends.bats - how a step in a real Slurm ends: by scancel, signals, and the end of its parts
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

setup_file() { slurm_setup; }
teardown_file() { slurm_teardown; }
setup() { slurm_begin; }
teardown() { slurm_end; }

said() { grep -q "$1" "$(job_err)"; }

@test "scancel: the ranks get TERM, mprun says so, no process is left" {
    # with a script that ends at once Slurm kills mprun at once, too, which may have had no time to say anything
    STEP_BEFORE="trap : TERM; m" step_start
    on n0 scancel "$(job)"
    job_wait || true
    cat "$(job_err)"
    ranks_have TERM 1
    said "mpstarter on n[1-4] received SIGTERM; ending its ranks"
    nothing_left # of the script and mprun either, which Slurm kills with it
    sweep_up
}

@test "USR1 of scancel reaches each rank once; with --batch it is the script's" {
    STEP_BEFORE="trap 'echo script >>got' USR1; m" step_start
    on n0 scancel -s USR1 "$(job)"
    wait_until 10 ranks_have USR1 1
    [ ! -e "$(job_dir)/got" ]
    on n0 scancel -s USR2 "$(job).0"
    wait_until 10 ranks_have USR2 1
    finish
    job_wait
    ranks_have USR1 1
    [ "$(<"$(job_out)")" = "code 0" ]
    # exec: the script's signals are mprun's
    STEP_BEFORE="exec mprun --containment=tree" step_start
    on n0 scancel --batch -s USR1 "$(job)"
    wait_until 10 ranks_have USR1 1
    finish
    job_wait
    ranks_have USR1 1
}

@test "scancel of the step alone kills it at once: mprun names hosts, and the next step sweeps up" {
    step_start
    on n0 scancel "$(job).0"
    job_wait
    cat "$(job_err)" "$(job_out)"
    said "task of srun was killed by signal 9 (Killed).*scancel" # srun's own words do not always come
    [ "$(<"$(job_out)")" != "code 0" ]
    nothing_left
    sweep_up
}

@test "a starter that is killed is named, and the others' ranks end" {
    step_start
    on_root n3 pkill -KILL -x mpstarter
    job_wait
    cat "$(job_err)"
    said "n3.*mpstarter\|host n3: its task of srun was killed by signal 9"
    nothing_left
    sweep_up
}

@test "mprun killed: its ranks end, and the job with it" {
    step_start
    on_root n1 pkill -KILL -x mprun
    job_wait
    [ "$(<"$(job_out)")" = "code 137" ]
    nothing_left
    sweep_up
}

@test "srun killed: mprun says so, and ends with its ranks" {
    step_start
    on_root n1 pkill -KILL -x -o srun
    job_wait
    cat "$(job_err)"
    said "srun (pid [0-9]*) was killed by SIGKILL"
    nothing_left
    sweep_up
}

@test "a slurmd that is killed and started again: the step goes on, and the next one starts" {
    step_start
    hosts daemon n2 kill
    sleep 1
    hosts daemon n2 start
    finish
    job_wait
    [ "$(<"$(job_out)")" = "code 0" ]
    run -0 sbatch_wait -N 4 -n 4 <<<'m true'
}

@test "a node without its slurmd: it is named, with Slurm's words" {
    sbatch_start -N 4 -n 8 <<'END'
until [ -e go ]; do sleep 0.05; done
m true
END
    wait_until 20 job_in RUNNING
    hosts daemon n2 kill
    on n0 touch "$(job_dir)/go"
    job_wait || true
    hosts daemon n2 start
    cat "$(job_err)"
    said "n2"
    said "Communication connection failure"
    nothing_left
}

@test "a node that dies is noticed within 10 s and named" {
    STEP_OPTIONS="--link-grace 4" step_start
    cut n3
    wait_until 10 said "host n3: its starter has been silent for 6 s"
    job_wait
    mend n3
    cat "$(job_err)"
    said "n3"
    [ "$(<"$(job_out)")" != "code 0" ]
    hosts empty
    nothing_left
    sweep_up
}

@test "two steps of a job at once; ^C at a terminal of salloc shows the state, the second ends the step" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<'END'
m hostname & m hostname & wait
END
    [ "$(sorted)" = "n1 n1 n1 n1 n2 n2 n2 n2 n3 n3 n3 n3 n4 n4 n4 n4 " ]
    on_terminal n0 salloc -Q -N 2 -n 2 "$MPRUN_BUILD/launcher/mprun" --containment=tree sh -c 'echo up; sleep 100' >"$TMPDIR/seen" <<'END' || true
wait up\s+up
type \x03
wait again within 1 s
end received SIGINT
END
    cat "$TMPDIR/seen"
    grep -q "received SIGINT" "$TMPDIR/seen"
    nothing_left
}
