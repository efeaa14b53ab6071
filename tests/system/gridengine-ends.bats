#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-ends.bats - what Grid Engine does to a running job, and who dies when whom fails: signals
# reach each rank once, a suspended job is stopped on all hosts, and nothing of a step is left
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

EXECS="n1 n2 n3"

setup_file() { gridengine_setup --set queue:notify=3; }
teardown_file() { gridengine_teardown; }
setup() {
    mprun_setup
    needs_gridengine
}
teardown() {
    local failed=0
    gridengine_clean || failed=1
    mprun_teardown && return $failed
}

# A rank that writes what it gets to rank.N; with it two grandchildren, one in a session of its own and
# one that has no parent of ours any more. No PMI: its files on /dev/shm outlive a KILL of everything.
step_start() {
    cat >"$HOSTS_DIR/shared/rank" <<'EOF'
#!/usr/bin/perl
open F, ">>", "rank.$ENV{MPRUN_RANK}" or die;
system "setsid sleep 777 & (setsid sleep 778 &)";
for my $s (qw(USR1 USR2)) { $SIG{$s} = sub { syswrite F, "$s\n" } }
syswrite F, "start\n";
sleep 1 until -e "finish";
EOF
    chmod 755 "$HOSTS_DIR/shared/rank"
    { echo "trap '' USR2; trap : USR1" && echo "m --pmi none $HOSTS_DIR/shared/rank; echo code \$?"; } |
        qsub_start "$@" -pe lab 6
    wait_until 30 ranks_have start 1
    MASTER=$(job_host)
    read -r OTHER _ <<<"${EXECS//$MASTER/}"
}

# ranks_have WORD N: each of the six has got it so often
ranks_have() {
    local rank
    for rank in 0 1 2 3 4 5; do
        [ "$(grep -cx "$1" "$(job_dir)/rank.$rank" 2>/dev/null)" = "$2" ] || return
    done
}
finish() { on n0 touch "$(job_dir)/finish"; }

processes() { for host in $EXECS; do on_root "$host" ps --no-headers -u labuser -o pid,ppid,stat,args | sed "s/^/$host /"; done; }
no_process() { [ -z "$(processes)" ]; }
nothing_left() {
    wait_until 5 no_process && return
    processes
    return 1
}
# states of the ranks, those of all hosts
ranks_are() {
    local states
    states=$(for host in $EXECS; do on_root "$host" ps --no-headers -C rank -o stat; done | cut -c 1 | sort -u | tr -d '\n')
    [ "$states" = "$1" ]
}
mprun_is() { [[ $(on_root "$MASTER" ps --no-headers -C mprun -o stat) == "$1"* ]]; }
kill_there() { # HOST PROGRAM [-n|-o]
    on_root "$1" pkill -KILL ${3:-} -x "$2"
}
manager_saw_no_failure() { [ "$(job_records 12 | sort -u)" = 0 ]; }

@test "suspend and resume: the ranks of all hosts stop and go on, and the job ends well" {
    needs_not_transport stdio # qrsh is stopped, too
    step_start
    on n0 qmod -sj "$(job)"
    wait_until 10 ranks_are T
    wait_until 5 mprun_is T
    on n0 qmod -usj "$(job)"
    wait_until 10 ranks_are S
    mprun_is S
    # at once again
    on n0 sh -c "qmod -sj $(job) && qmod -usj $(job)"
    wait_until 10 mprun_is S
    finish
    run -0 job_wait
    grep -qx "code 0" "$(job_out)"
}

@test "suspend with -notify: USR1 reaches each rank once, before all stop" {
    needs_not_transport stdio
    step_start -notify
    on n0 qmod -sj "$(job)"
    wait_until 10 ranks_have USR1 1
    wait_until 15 ranks_are T
    on n0 qmod -usj "$(job)"
    wait_until 10 ranks_are S
    finish
    run -0 job_wait
    ranks_have USR1 1
    grep -qx "code 0" "$(job_out)"
}

@test "a signal to mprun reaches each rank once" {
    step_start
    on "$MASTER" pkill -USR1 -x mprun
    wait_until 10 ranks_have USR1 1
    on "$MASTER" pkill -USR2 -x mprun
    wait_until 10 ranks_have USR2 1
    finish
    run -0 job_wait
    ranks_have USR1 1
    ranks_have USR2 1
}

@test "qdel of a -notify job: ranks get USR2 from the manager alone, have their time, and go" {
    step_start -notify
    local before=$SECONDS
    on n0 qdel "$(job)"
    wait_until 10 grep -q USR2 "$(job_dir)"/rank.{0,1,2,3,4,5}
    mprun_is S
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

@test "h_rt leaves nothing" {
    step_start -l h_rt=6
    wait_until 60 job_in gone
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

@test "kill -9 of a keeper, on another host and on mprun's: the step ends, and the job goes on" {
    for host in OTHER MASTER; do
        step_start
        kill_there "${!host}" mpstarter -o
        nothing_left
        job_wait || true
        grep -qx "code 125" "$(job_out)"
        grep -q "on ${!host}: mpstarter's keeper (pid [0-9]*) has died; ending its ranks" "$(job_err)"
    done
}

@test "kill -9 of a worker: the keeper ends its ranks, the step ends, and the job goes on" {
    step_start
    kill_there "$OTHER" mpstarter -n
    nothing_left
    job_wait || true
    grep -qx "code 125" "$(job_out)"
    grep -q "host $OTHER: .*worker (pid [0-9]*) was killed by signal 9 (Killed); ending its ranks" "$(job_err)"
    manager_saw_no_failure
}

@test "kill -9 of a qrsh: the step ends, and names the host" {
    step_start
    kill_there "$MASTER" qrsh -o
    nothing_left
    job_wait || true
    grep -Eq "^mprun: host n[123]: qrsh was killed by signal 9 \(Killed\); its ranks are ended" "$(job_err)"
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
