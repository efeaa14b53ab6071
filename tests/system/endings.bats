#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# endings.bats - whatever does not answer any more, a step that is to end does end
load '../lib/mprun'

setup() {
    mprun_setup
    HELD=()
}

teardown() {
    local pid
    for pid in "${HELD[@]}"; do
        kill -KILL "$pid" 2>/dev/null || :
    done
    thaw
    mprun_teardown
}

# CODE [SECONDS]: mprun ends with this code, in that time.
ends_with() {
    local code=0
    MPRUN_TEST_LIMIT=${2:-20} mprun_wait || code=$?
    [ "$code" -eq "$1" ] || {
        echo "code $code, not $1" >&2
        return 1
    }
}
hold() { HELD+=("$1"); }
has_line() { grep -q "$1" "$2" 2>/dev/null; }
child_named() { pgrep -P "$1" -x "$2"; }
is_stopped() { [[ $(ps -o stat= -p "$1") == T* ]]; }

# mprun with a standard output that nobody reads: $MPRUN_PID, $MPRUN_ERR.
start_unread() {
    mkfifo unread
    sleep 1000 <unread 3>&- &
    hold $!
    MPRUN_ERR=$TMPDIR/err
    "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} "$@" \
        </dev/null >unread 2>"$MPRUN_ERR" 3>&- &
    MPRUN_PID=$!
}

# A rank that writes without end has filled everything between itself and the reader.
writer_is_stuck() {
    local pid
    pid=$(cat writer) && [[ $(cat "/proc/$pid/wchan" 2>/dev/null) == *pipe* ]]
}

@test "output that nobody reads does not keep a step from ending" {
    start_unread --kill-grace 1 -n 1 sh -c 'echo $$ >writer; exec yes'
    wait_until 20 writer_is_stuck
    kill -TERM "$MPRUN_PID"
    ends_with 143 20
    grep -q 'bytes of output.* are dropped: nobody reads them' "$MPRUN_ERR"
}

@test "output that nobody reads does not keep --timeout from ending a step" {
    start_unread --timeout 2 --kill-grace 1 -n 1 yes
    ends_with 124 20
    grep -q 'are dropped' "$MPRUN_ERR"
}

@test "--timeout that is over while a failed step ends changes neither its code nor what is said" {
    MPRUN_ERR=err
    "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -v --timeout 4 --kill-grace 60 -n 2 sh -c '
        if [ $MPRUN_RANK = 0 ]; then until [ -e ready ]; do sleep .02; done; exit 3; fi
        trap "" TERM; : >ready
        until grep -q "^mprun: --timeout: 4 s are over; the step is ending" err; do sleep .1; done' </dev/null 2>err 3>&- &
    MPRUN_PID=$!
    ends_with 3 40
    grep '^mprun: rank 0 on .* exited with code 3; the other ranks are ended' err
    [ "$(grep -c 'the step ran for' err)" = 0 ]
}

@test "output that was written before the end of ranks waits for its reader" {
    # without a signal nothing is dropped, however long the reader takes
    mkfifo slow
    "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 1 \
        sh -c 'seq 1 200000; : >done' </dev/null >slow 2>err 3>&- &
    MPRUN_PID=$!
    exec 7<slow
    wait_until 5 test -e never || : # as long as a reader may pause: nothing may happen meanwhile
    [ ! -e done ]
    diff <(seq 1 200000) - <&7
    exec 7<&-
    mprun_wait
}

@test "a PMI server that was stopped does not hold up the end of a step" {
    begin_pmi_early
    mprun_start -n 1 sh -c 'echo $PPID; until [ -e go ]; do sleep .05; done'
    wait_until 20 test -s "$MPRUN_OUT"
    server=$(child_named "$(head -1 "$MPRUN_OUT")" mppmi)
    kill -STOP "$server"
    touch go
    ends_with 125 40
    grep -q "the PMI server (mppmi, pid $server).*did not answer" "$MPRUN_ERR"
}

@test "a PMI server that was stopped costs a step that is ended nothing but time" {
    begin_pmi_early
    mprun_start --kill-grace 1 -n 2 sh -c 'echo $PPID; exec sleep 1000'
    wait_until 20 test -s "$MPRUN_OUT"
    server=$(child_named "$(head -1 "$MPRUN_OUT")" mppmi)
    kill -STOP "$server"
    kill -TERM "$MPRUN_PID"
    ends_with 143 40
}

@test "a third signal leaves a starter that was stopped behind" {
    mprun_start --kill-grace 1 -n 1 sh -c 'echo $PPID; exec sleep 1000'
    wait_until 20 test -s "$MPRUN_OUT"
    worker=$(head -1 "$MPRUN_OUT")
    kill -STOP "$worker"
    wait_until 5 is_stopped "$worker"
    kill -TERM "$MPRUN_PID"
    wait_until 5 has_line 'received SIGTERM' "$MPRUN_ERR"
    kill -INT "$MPRUN_PID"
    wait_until 5 has_line 'at once' "$MPRUN_ERR"
    kill -TERM "$MPRUN_PID"
    ends_with 143 10
    grep -q "a third time: leaving without an answer of 1 host ($(hostname)" "$MPRUN_ERR"
    # and when it goes on it cleans up
    kill -CONT "$worker"
    no_leftovers 15
}

# bats test_tags=root
@test "a rank that left its cgroup is ended as well" {
    needs_root
    needs_v2
    mprun_start --kill-grace 1 -n 1 sh -c \
        'trap "" TERM; echo $$ >'"$(own_v2_cgroup)"'/cgroup.procs; echo begun; while :; do sleep 1; done'
    wait_until 20 test -s "$MPRUN_OUT"
    kill -TERM "$MPRUN_PID"
    ends_with 143
}

# ---- a rank that cannot be killed: the old freezer holds even those that were --------------------

FREEZER=/sys/fs/cgroup/freezer

thaw() {
    [ -n "${FROZEN:-}" ] || return 0
    echo THAWED >"$FROZEN/freezer.state"
    wait_until 10 rmdir "$FROZEN" 2>/dev/null
    FROZEN=
}

# bats test_tags=root
@test "a rank that cannot be killed is named, and not waited for" {
    needs_root
    local own
    own=$(sed -n 's/^[0-9]*:freezer://p' /proc/self/cgroup)
    [ -n "$own" ] && [ -w "$FREEZER$own" ] || skip "needs a writable v1 freezer"
    FROZEN=$FREEZER${own%/}/mprun-test.$$
    mkdir "$FROZEN"
    mprun_start --containment=tree --kill-grace 1 -n 1 sh -c "echo \$\$ >$FROZEN/cgroup.procs; echo \$\$; exec sleep 1000"
    wait_until 20 test -s "$MPRUN_OUT"
    rank=$(head -1 "$MPRUN_OUT")
    wait_until 5 grep -q sleep "/proc/$rank/cmdline"
    echo FROZEN >"$FROZEN/freezer.state"
    kill -TERM "$MPRUN_PID"
    ends_with 143 40
    grep -q "could not be cleaned up: rank 0 (pid $rank) was killed and does not end: state D" "$MPRUN_ERR"
    thaw
}

# rank_in_state_D OPTIONS...: it stays, is listed, and goes when it can
rank_in_state_D() {
    needs_root
    unshare --mount true 2>/dev/null && [ -w /dev/fuse ] || skip "needs a file system in user space"
    local rank left
    mkdir held
    # in a mount namespace of its own, which mprun joins
    unshare --mount --propagation private "$MPRUN_SOURCE/tests/lib/held-file" held >fuse.out 2>&1 3>&- &
    server=$!
    hold $server
    wait_until 20 grep -q mounted fuse.out
    MPRUN_OUT=$PWD/out MPRUN_ERR=$PWD/err
    nsenter --mount="/proc/$server/ns/mnt" --wd="$PWD" "$MPRUN" "$@" --containment=rank --kill-grace 1 -n 1 \
        sh -c 'echo $$; exec cat held/file' </dev/null >out 2>err 3>&- &
    MPRUN_PID=$!
    wait_until 20 grep -q held fuse.out
    rank=$(head -1 out)
    kill -TERM "$MPRUN_PID"
    ends_with 143 40
    [[ $(ps -o stat= -p "$rank") == D* ]]
    grep -q "could not be cleaned up: rank 0 (pid $rank) was killed and does not end: state D in [a-z]" err
    grep -Eq "could not be cleaned up: remove cgroup '[^']*', in which is pid $rank \\(cat, state D, waiting in [a-z_]+\\)" err
    cat err
    run -1 grep mppmi err
    left=$(sed -n "s/.*remove cgroup '\\([^']*\\)\/ranks\/.*/\\1/p" err)
    [ -d "$left" ]
    kill "$server"
    wait_until 10 process_gone "$rank"
    is_swept() { mprun "$@" -n 1 true && [ ! -d "$left" ]; }
    wait_until 60 is_swept "$@"
}

# bats test_tags=root
@test "a rank in state D is listed with its pid, state and wait channel; the step ends, and the next one sweeps" {
    needs_v2
    rank_in_state_D
}

# bats test_tags=root
@test "cgroup v1: a rank in state D does not find itself frozen when it comes back" {
    mprun --cgroup-version v1 --containment=rank -n 1 true || skip "needs cgroup v1"
    rank_in_state_D --cgroup-version v1
}

# ---- mprun in the place of a shell ------------------------------------------------------------------

@test "children of the shell whose place mprun took are left alone" {
    sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 3>&- & echo $! >bystander
        exec "$0" --kill-grace 1 -n 1 sh -c "echo \$PPID; exec sleep 1000" >out 2>err' "$MPRUN" 3>&- &
    MPRUN_PID=$!
    wait_until 20 test -s out
    bystander=$(cat bystander)
    hold "$bystander"
    kill -KILL "$(head -1 out)" # the worker: mprun ends what it leaves
    ends_with 125
    [ "$(without_notes "$(<err)")" = "mpstarter: on $(hostname): mpstarter's worker (pid $(head -1 out)) was killed by signal 9 (Killed); ending its ranks" ]
    kill -0 "$bystander"
}

@test "a starter that dies while the ranks are ended for one that has failed: that one's code" {
    for victim in worker keeper; do
        rm -f there
        run -7 --separate-stderr mprun --rm local:2 -N 1 --pmi none bash -c '
            trap "" TERM
            [ "$MPRUN_RANK" = 1 ] || { until [ -e there ]; do sleep .05; done; exit 7; }
            echo >there
            sleep 1.5
            kill -9 "$([ "$0" = worker ] && echo $PPID || ps -o ppid= $PPID)"
            exec sleep 77' "$victim"
        [[ $(grep "^mprun: " <<<"$stderr") == "mprun: rank 0 on "*" exited with code 7; the other ranks are ended" ]]
    done
}

@test "ranks whose mprun was killed a moment before the manager's TERM have the step's grace" {
    mprun_start --kill-grace 100 -n 1 sh -c 'trap "kill \$PPID; sleep 4; touch saved; exit" TERM
        touch began; while :; do sleep .1; done'
    wait_until 20 test -e began
    kill -KILL "$MPRUN_PID"
    mprun_wait || :
    wait_until 20 test -e saved
}
