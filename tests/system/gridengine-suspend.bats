#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-suspend.bats - a suspended job is stopped on all its hosts, however they were started, and
# at whatever moment of a step it comes
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup --set queue:notify=3; }
teardown_file() { gridengine_teardown; }
setup() { gridengine_begin; }
teardown() { gridengine_end; }

suspend() { on n0 qmod -sj "$(job)"; }
resume() { on n0 qmod -usj "$(job)"; }

mprun_ends() { on "$MASTER" pkill "-$1" -x mprun; }

script_is() { [[ $(on_root "$MASTER" ps -o stat= -p "$(on_root "$MASTER" pgrep -f "job_scripts/$(job)")") == "$1"* ]]; }

# of a step that runs
suspend_and_resume() {
    local tries=0
    suspend
    wait_until 30 ranks_are T
    resume
    wait_until 30 ranks_are S
    # all of it before mprun can have looked; again when Grid Engine's shepherd, which loses a signal that
    # comes while it passes on another one, has not even stopped its own script
    until on n0 sh -c "qmod -sj $(job) && qmod -usj $(job) && qmod -sj $(job)" && wait_until 15 ranks_are T; do
        ((++tries < 5)) && script_is S || return
        resume
    done
}

@test "suspend and resume: the ranks of all hosts stop and go on, and the job ends well" {
    step_start
    # what it is seen by is killed: there is another one
    local witness
    witness=$(on "$MASTER" pgrep -x mprun-witness)
    on "$MASTER" kill -KILL "$witness"
    wait_until 30 eval 'on "$MASTER" pgrep -x mprun-witness | grep -vx "$witness"'
    suspend_and_resume
    resume
    wait_until 30 ranks_are S
    finish
    run -0 job_wait
    grep -qx "code 0" "$(job_out)"
}

# SIGSTOP takes away the CONT of mprun's timer, which waits while a debugger holds mprun
@test "a suspension that meets mprun when it is about to look stops the ranks of all hosts, too" {
    command -v gdb >/dev/null || skip "needs gdb"
    step_start
    local held=$HOSTS_DIR/shared/held pid
    pid=$(on "$MASTER" pgrep -x mprun)
    on_root "$MASTER" gdb -batch -p "$pid" -ex "shell sleep 1.2; touch $held; until ps -C mprun-witness -o stat= | grep -q T; do sleep 0.1; done" \
        -ex detach >/dev/null 2>&1 &
    wait_until 30 test -e "$held"
    suspend
    wait $!
    rm "$held"
    wait_until 30 ranks_are T
    resume
    wait_until 30 ranks_are S
    finish
    run -0 job_wait
}

@test "nothing but qrsh leads to the hosts, and there is none to the job's own; its end is not to wait" {
    STEP_PE="labjft 3" STEP_OPTIONS="--oversubscribe -n 6 --transport=stdio" step_start
    on "$MASTER" sh -c 'pgrep -P $(pgrep -x mprun) -x mpstarter'
    suspend_and_resume
    mprun_ends TERM
    wait_until 30 ranks_are ""
    resume
    run -0 job_wait
    grep -qx "code 143" "$(job_out)"
}

@test "suspend with -notify: USR1 reaches each rank once, before all stop; mprun is killed then" {
    # the ranks on the job's own host get it from the manager, as mprun does
    STEP_PE="labjft 3" STEP_OPTIONS="--oversubscribe -n 6" step_start -notify
    suspend
    wait_until 30 ranks_have USR1 1
    wait_until 30 ranks_are T
    ranks_have USR1 1
    mprun_ends KILL
    wait_until 30 eval '! processes | grep -Ev "job_scripts/$(job)|<defunct>" >/dev/null'
    resume
    job_wait || true
    grep -qx "code 137" "$(job_out)"
}

# What a host waits for is the file `go` of the stage that is in the file `stage`
come_to() { [ "$(find "$(job_dir)" -name "at.$1.*" | wc -l)" = "$2" ]; }
go() { on n0 touch "$(job_dir)/go.$1"; }
said() { grep -qx "mprun: $2" "$(job_dir)/err.$1"; }
# suspended_start STAGE N: while N hosts wait; then they go on, and report back in a suspended job
suspended_start() {
    local order
    wait_until 30 come_to "$1" "$2"
    suspend
    wait_until 30 said "$1" "the job is suspended"
    go "$1"
    wait_until 30 said "$1" "all hosts have reported back"
    resume
    wait_until 30 test -e "$(job_dir)/code.$1"
    order=$(grep -Eo "^mprun: (the job is (suspended|resumed)|all hosts have reported|step [^ ]*: launching)" "$(job_dir)/err.$1" | sed 's/.* //')
    [ "$order" = $'suspended\nreported\nresumed\nlaunching' ]
    [ "$(cat "$(job_dir)/code.$1")" = 0 ]
}

@test "a job that is suspended while it starts: before qrsh, before mpstarter, and in MPI_Init" {
    needs_mpicc
    local hold='case "$(cat stage 2>/dev/null) $*" in'
    hold+=' *mpstarter*) s=$(cat stage); touch "at.$s.$(hostname).$$"; until [ -e "go.$s" ]; do sleep 0.05; done ;; esac'
    printf '%s\n' '#!/bin/sh' "${hold/\*mpstarter/2*mpstarter}" 'exec "$@"' >"$HOSTS_DIR/shared/method"
    printf '%s\n' '#!/bin/sh' "${hold/\*mpstarter/1*mpstarter}" 'exec $PROGRAMS/qrsh "$@"' >"$HOSTS_DIR/shared/qrsh"
    chmod 755 "$HOSTS_DIR"/shared/{method,qrsh}
    cp "$(mpi_program hello)" "$HOSTS_DIR/shared/rank"
    ge_set "queue:starter_method=$HOSTS_DIR/shared/method"
    # one slot each: there is no qrsh to the job's own host
    qsub_start -pe labjft 3 <<JOB
step() {
    echo \$1 >stage
    m --verbose --oversubscribe -n 6 "\${@:2}" >out.\$1 2>err.\$1
    echo \$? >code.new && mv code.new code.\$1
}
PROGRAMS=\$SGE_BINARY_PATH SGE_BINARY_PATH=$HOSTS_DIR/shared step 1 hostname
step 2 hostname
step 3 sh -c 'touch "at.3.\$MPRUN_RANK"; [ "\$MPRUN_RANK" != 5 ] || until [ -e go.3 ]; do sleep 0.05; done
    exec $HOSTS_DIR/shared/rank'
JOB
    suspended_start 1 3
    suspended_start 2 2
    wait_until 30 come_to 3 6
    suspend
    # the last is a shell yet
    wait_until 30 said 3 "the job is suspended"
    wait_until 30 ranks_are T
    go 3
    resume
    run -0 job_wait
    [ "$(cat "$(job_dir)"/code.3)" = 0 ]
    [ "$(sort "$(job_dir)"/out.[12] | tr '\n' ' ')" = "n1 n1 n1 n1 n2 n2 n2 n2 n3 n3 n3 n3 " ]
    [ "$(grep -c "of 6" "$(job_dir)/out.3")" = 6 ]
}
