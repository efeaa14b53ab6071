#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-ends.bats - what Grid Engine does to a running job, and who dies when whom fails: signals
# reach each rank once, and nothing of a step is left
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

# so that ranks can be looked at before KILL, on a slow machine, too
setup_file() { gridengine_setup --set "queue:notify=$(patience 3)"; }
teardown_file() { gridengine_teardown; }
setup() { gridengine_begin; }
teardown() { gridengine_end; }

mprun_goes_on() { [[ $(on_root "$MASTER" ps --no-headers -C mprun -o stat) == [RSD]* ]]; }
kill_there() { # HOST PROGRAM [-n|-o]
    on_root "$1" pkill -KILL ${3:-} -x "$2"
}
says_alone() { cat "$(job_err)" && [ "$(sed 's/(pid [0-9]*)/(pid N)/' "$(job_err)")" = "$1" ]; }
manager_saw_no_failure() { [ "$(job_records 12 | sort -u)" = 0 ]; }

@test "a signal to mprun reaches each rank once" {
    step_start
    on "$MASTER" pkill -USR1 -x mprun
    wait_until 30 ranks_have USR1 1
    on "$MASTER" pkill -USR2 -x mprun
    wait_until 30 ranks_have USR2 1
    # as the manager sends one: to the group and, on a busy machine a while later, to each process
    on_root "$MASTER" perl -e 'chomp(my $pid = `pgrep -x mprun`); for (0, 0.15) { select undef, undef, undef, $_; kill USR1 => $pid or die }'
    wait_until 30 ranks_have USR1 2
    finish
    run -0 job_wait
    ranks_have USR1 2
    ranks_have USR2 1
}

@test "qdel of a -notify job: ranks get USR2 from the manager alone, have their time, and go" {
    step_start -notify
    local before=$SECONDS
    on n0 qdel "$(job)"
    wait_until 10 grep -q USR2 "$(job_dir)"/rank.{0,1,2,3,4,5}
    mprun_goes_on
    # the manager itself sends it to the task's group and to each process: never a third time
    for rank in 0 1 2 3 4 5; do (($(grep -c USR2 "$(job_dir)/rank.$rank") <= 2)); done
    wait_until 20 no_process
    ((SECONDS - before >= 2))
    ! grep . "$(job_err)" || false
}

@test "qdel leaves nothing, daemonised grandchildren included" {
    step_start
    on n0 qdel "$(job)"
    wait_until 20 job_in gone
    nothing_left
}

# in_time LIMIT: a step whose ranks have begun when its job's time is over; again where a busy machine was late
in_time() {
    local seconds
    for seconds in 6 20; do
        if step_start -l "$1=$seconds"; then return; fi
    done
    return 1
}

@test "h_rt leaves nothing" {
    in_time h_rt
    wait_until 60 job_in gone
    nothing_left
}

@test "s_rt warns each rank once where the job is on its own host; a parallel job is killed, and nothing left" {
    local state=$BATS_TEST_TMPDIR/alone
    export STEP_OPTIONS="-n 6 --oversubscribe"
    STEP_PE=none step_start -l s_rt=10
    mkdir "$state" && cp "$BATS_TEST_TMPDIR"/job{,-dir} "$state"
    STEP_PE="lab 5" in_time s_rt
    wait_until 60 job_in gone
    cp "$state"/* "$BATS_TEST_TMPDIR"
    wait_until 30 ranks_have USR1 1
    finish
    run -0 job_wait
    ranks_have USR1 1
    grep -qx "code 0" "$(job_out)"
    nothing_left
}

@test "a killed job script leaves nothing" {
    step_start
    on_root "$MASTER" pkill -KILL -f "job_scripts/$(job)"
    nothing_left
}

@test "kill -9 of mprun: the starters end their ranks, and the job goes on" {
    step_start
    kill_there "$MASTER" mprun
    nothing_left || job_in gone
    job_wait || true
    grep -qx "code 137" "$(job_out)"
    manager_saw_no_failure
}

@test "kill -9 of a worker: the agent ends its ranks, the step ends, and the job goes on" {
    step_start
    kill_there "$OTHER" mpstarter -n
    nothing_left
    job_wait || true
    grep -qx "code 125" "$(job_out)"
    says_alone "mprun: host $OTHER: mpstarter's worker (pid N) was killed by signal 9 (Killed); ending its ranks; it may be Grid Engine that did so, at a limit of the job such as h_vmem or h_rt (qsub -l, which 'qstat -j \$JOB_ID' shows, and 'qconf -sq \$QUEUE'), or for qdel"
    manager_saw_no_failure
}

@test "kill -9 of a qrsh: the step ends, and names the host" {
    step_start
    kill_there "$MASTER" qrsh -o
    nothing_left
    job_wait || true
    grep -Eq "^mprun: host n[123]: qrsh has gone, and the job's agent there with it; its ranks are ended; it may be Grid Engine that did so, at a limit of the job such as h_vmem or h_rt" "$(job_err)"
}

@test "an end of the step ends no qrsh: the manager sees every task end well" {
    step_start
    on "$MASTER" pkill -TERM -x mprun
    nothing_left
    run -0 job_wait
    grep -qx "code 143" "$(job_out)"
    manager_saw_no_failure
    [ "$(job_records 42 | grep -c '^[0-9]')" = 3 ]
}

# Three steps on the same three hosts, which have one task each. OTHER is not the script's host.
shared_start() {
    cat <<'JOB' | qsub_start -pe lab1 3
sleeper() { m --quiet --pmi none sh -c "echo >>began.$1; until [ -e finish ]; do sleep 1; done"; echo "$1 code $?"; }
sleeper first &
until [ "$(cat began.* | wc -l)" = 3 ]; do sleep 0.1; done 2>/dev/null
sleeper second &
until [ "$(cat began.* | wc -l)" = 6 ]; do sleep 0.1; done 2>/dev/null
sleeper third
wait
JOB
    wait_until 30 third_has_begun
    MASTER=$(job_host)
    read -r OTHER _ <<<"${EXECS//$MASTER/}"
}
third_has_begun() { [ "$(wc -l <"$(job_dir)/began.third")" = 3 ]; } 2>/dev/null
code_of() { grep -qx "$1 code $2" "$(job_out)"; }

@test "steps that share tasks: qdel leaves nothing" {
    shared_start
    on n0 qdel "$(job)"
    wait_until 20 job_in gone
    nothing_left
}

@test "steps that share tasks: one goes on when the other's mpruns are killed, and when a worker of theirs is" {
    shared_start
    kill_there "$OTHER" mpstarter -o # the first step's worker
    wait_until 20 code_of first 125
    kill_there "$MASTER" mprun -o
    wait_until 20 code_of second 137
    run ! code_of third '[0-9]*'
    finish
    run -0 job_wait
    code_of third 0
    manager_saw_no_failure
}

# For Grid Engine a task has failed, and soon it kills the job.
@test "kill -9 of the job's agent on a host: the steps there end, and name the host" {
    shared_start
    kill_there "$OTHER" mprun-agent -o
    wait_until 20 grep -q "on $OTHER: the job's agent (pid [0-9]*) has died; ending its ranks\|host $OTHER: .*agent" "$(job_err)"
    finish
    wait_until 30 job_in gone
    nothing_left
}

# Steps go on by themselves, and the next one starts agents anew.
@test "kill -9 of the holder of the job's agents: the job goes on, no task has failed" {
    shared_start
    kill_there "$MASTER" mprun-holder
    finish
    run -0 job_wait
    for step in first second third; do code_of $step 0; done
    manager_saw_no_failure
    nothing_left
}

# The host in the middle has started the last one.
@test "hosts that were started by others: qdel, and kill -9 of the worker that has started one, leave nothing" {
    STEP_OPTIONS="--fanout 1 --start-tree 1 -v"
    step_start
    on n0 qdel "$(job)"
    wait_until 20 job_in gone
    nothing_left
    step_start
    OTHER=$(sed -n 's/.*host n[123]: started from host \(n[123]\)$/\1/p' "$(job_err)" | grep -vx "$MASTER")
    kill_there "$OTHER" mpstarter -n
    wait_until 20 grep -qx "code 125" "$(job_out)"
    grep -q "host $OTHER: " "$(job_err)"
    nothing_left
    job_wait || true
    manager_saw_no_failure
}

@test "an end of the step ends no qrsh that another host has started" {
    STEP_OPTIONS="--fanout 1 --start-tree 1"
    step_start
    on "$MASTER" pkill -TERM -x mprun
    nothing_left
    run -0 job_wait
    grep -qx "code 143" "$(job_out)"
    manager_saw_no_failure
    [ "$(job_records 42 | grep -c '^[0-9]')" = 3 ]
}
