#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# tree.bats - hosts that are reached through other hosts: seven of them with a fan-out of two, so that
# mprun is linked to 0 and 1, 0 to 2 and 3, 1 to 4 and 5, 2 to 6
load '../lib/mprun'

setup() {
    needs_not_transport stdio
    mprun_setup
}

TREE=(--rm local:7 --fanout 2 -n 7 --oversubscribe)
tree() { mprun "${TREE[@]}" "$@"; }

# The worker of a host: the parent of what a rank there wrote down.
worker_of() { ps -o ppid= -p "$(cat "rank.$1")" | tr -d ' '; }
all_ranks_run() { [ "$(ls rank.? 2>/dev/null | wc -l)" -eq 7 ]; }
start_sleepers() {
    mprun_start "${TREE[@]}" "$@" sh -c 'echo $$ >rank.tmp.$MPRUN_RANK; mv rank.tmp.$MPRUN_RANK rank.$MPRUN_RANK
        exec sleep 1000'
    wait_until 20 all_ranks_run
}
connections() { ls -l "/proc/$1/fd" | grep -c socket; }

@test "every host runs its ranks, and mprun keeps a link to the first two only" {
    run -0 --separate-stderr tree sh -c 'echo $MPRUN_RANK $MPRUN_HOST_INDEX'
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "0 0 1 1 2 2 3 3 4 4 5 5 6 6 " ]
    start_sleepers
    # two links, the door, the control socket
    [ "$(connections "$MPRUN_PID")" -eq 4 ]
    [ "$(connections "$(worker_of 2)")" -ge 2 ]
    kill -TERM "$MPRUN_PID"
    code=0
    mprun_wait || code=$?
    [ "$code" -eq 143 ]
}

@test "a fan-out of 0 links every host to mprun" {
    TREE=(--rm local:7 --fanout 0 -n 7 --oversubscribe)
    start_sleepers
    [ "$(connections "$MPRUN_PID")" -eq 9 ]
    kill -TERM "$MPRUN_PID"
    mprun_wait || true
}

@test "output from every level is complete and in order" {
    tree --tag-output seq 1 40000 >out 2>/dev/null
    for rank in 0 1 2 3 4 5 6; do
        sed -n "s/^\[$rank\]<stdout>: //p" out | cmp - <(seq 1 40000)
    done
    [ "$(wc -l <out)" -eq 280000 ]
}

@test "input reaches a host three levels down, byte by byte" {
    head -c 5000000 /dev/urandom >in
    MPRUN_TEST_LIMIT=40 tree --stdin 6 sh -c '[ $MPRUN_RANK != 6 ] || exec cat' <in >out 2>/dev/null
    cmp in out
}

@test "input for all reaches all" {
    head -c 300000 /dev/urandom | base64 >in
    tree --stdin all sh -c 'cat >got.$MPRUN_RANK' <in 2>/dev/null
    for rank in 0 1 2 3 4 5 6; do cmp in "got.$rank"; done
}

@test "a failure at a leaf ends the step with its code, and names it" {
    run -3 --separate-stderr tree sh -c '[ $MPRUN_RANK = 6 ] && exit 3; exec sleep 1000'
    [[ $stderr == *"rank 6 on "*" exited with code 3"* ]]
}

@test "signals reach all levels" {
    start_sleepers
    for rank in 0 1 2 3 4 5 6; do pids+=" $(cat "rank.$rank")"; done
    kill -TSTP "$MPRUN_PID"
    stopped() { for pid in $pids; do [[ $(ps -o stat= -p "$pid") == T* ]] || return 1; done; }
    mprun_has_stopped() { [[ $(ps -o stat= -p "$MPRUN_PID") == T* ]]; }
    wait_until 10 stopped
    wait_until 10 mprun_has_stopped # a CONT that comes right before its own stop would be lost
    kill -CONT "$MPRUN_PID"
    running() { for pid in $pids; do [[ $(ps -o stat= -p "$pid") == S* ]] || return 1; done; }
    wait_until 10 running
    kill -TERM "$MPRUN_PID"
    code=0
    mprun_wait || code=$?
    [ "$code" -eq 143 ]
}

@test "a starter that is stopped is named, and when it is back; with a heartbeat of 0 it is not" {
    start_sleepers --heartbeat 2
    silent() { grep -q "1: its starter has been silent for 2 s .*, and 2 hosts are behind it; still waiting" "$MPRUN_ERR"; }
    back() { grep -q "1: its starter answers again, after" "$MPRUN_ERR"; }
    kill -STOP "$(worker_of 1)"
    wait_until 10 silent
    kill -CONT "$(worker_of 1)"
    wait_until 10 back
    [ "$(grep -c 'been silent' "$MPRUN_ERR")" -eq 1 ]
    kill -TERM "$MPRUN_PID"
    mprun_wait || true
    rm rank.*
    start_sleepers --heartbeat 0
    kill -STOP "$(worker_of 1)"
    sleep 3 # that nothing is said for so long is the test
    kill -CONT "$(worker_of 1)"
    kill -TERM "$MPRUN_PID"
    mprun_wait || true
    [ -z "$(grep 'silent' "$MPRUN_ERR")" ]
}

@test "hosts below a starter that is stopped end with the step, also when mprun has died" {
    ranks_gone() { for rank in 2 3 6; do process_gone "$(cat "rank.$rank")" || return 1; done; }
    for way in TERM KILL; do
        start_sleepers --heartbeat 1
        stopped=$(worker_of 0)
        keeper=$(ps -o ppid= -p "$stopped")
        kill -STOP "$stopped"
        kill -$way "$MPRUN_PID"
        wait_until 20 ranks_gone
        ! process_gone "$(cat rank.0)" || false
        kill -CONT "$stopped"
        code=0
        mprun_wait || code=$?
        case $way in
        TERM)
            [ "$code" -eq 143 ]
            # starters may say it when mprun has ended
            wait_until 10 eval '[ "$(grep -c "the host above gives no answer, and mprun ends the step" "$MPRUN_ERR")" -eq 2 ]'
            ;;
        KILL) wait_until 10 process_gone "$keeper" ;;
        esac
        rm rank.*
    done
}

@test "MPI across three levels: one world, with data of every other rank" {
    needs_mpicc
    program=$(mpi_program world)
    mkdir marks
    MPRUN_TEST_LIMIT=90 run -0 --separate-stderr tree "$program" "$PWD/marks"
    [ "$(grep -c '^rank [0-9] of 7 app 0 shared 1 ok$' <<<"$output")" -eq 7 ]
}

@test "abort at a leaf ends the step with its code" {
    needs_mpicc
    program=$(mpi_program ending)
    MPRUN_TEST_LIMIT=90 run -9 --separate-stderr tree "$program" after 5 abort 9
    [[ $stderr == *"rank 5 on "* ]]
}

@test "hosts that fail together are one sentence, with those that are reached through them" {
    start_sleepers
    for rank in 3 4 5; do
        worker=$(worker_of $rank)
        pids+=" $worker $(ps -o ppid= -p "$worker")" # and its keeper
    done
    kill -STOP $pids # no keeper is to see its worker's end
    kill -KILL $pids
    code=0
    mprun_wait || code=$?
    [ "$code" -eq 125 ]
    name=$(hostname)
    cat "$MPRUN_ERR"
    grep -q "mprun: hosts $name-\[3-5\]: they failed together; $name-[345] was the first: mpstarter " "$MPRUN_ERR"
    rm rank.*
    start_sleepers
    worker=$(worker_of 0)
    kill -KILL "$worker" $(ps -o ppid= -p "$worker")
    mprun_wait || true
    cat "$MPRUN_ERR"
    grep -q "mprun: host $name-0: mpstarter .*; behind it, and ended as well: $name-2, $name-3, $name-6" "$MPRUN_ERR"
    [ "$(grep -c '^mprun: host' "$MPRUN_ERR")" -eq 1 ] || [ "${MPRUN_TRANSPORT:-}" = tcp ]
}

@test "of a host that is slow to end and those behind it, which end faster, it is the one that failed" {
    MPRUN_TRANSPORT=tcp start_sleepers # its link waits for another connection
    worker=$(worker_of 1)
    keeper=$(ps -o ppid= -p "$worker" | tr -d ' ')
    behind=$(ps -o ppid= -p "$(worker_of 4)" -p "$(worker_of 5)")
    kill -STOP "$keeper"
    kill -KILL "$worker"
    for pid in $behind; do wait_until 10 process_gone "$pid"; done
    sleep 0.5 # longer than mprun waits for others that fail at the same time
    kill -CONT "$keeper"
    code=0
    mprun_wait || code=$?
    [ "$code" -eq 125 ]
    name=$(hostname)
    cat "$MPRUN_ERR"
    grep -q "mprun: host $name-1: mpstarter ended with code .*; behind it, and ended as well: $name-4, $name-5" "$MPRUN_ERR"
    [ "$(grep -c '^mprun: hosts\? .* ended with code' "$MPRUN_ERR")" -eq 1 ]
}

@test "the usage report has every host of the tree" {
    run -0 --separate-stderr tree --report-json report.json true
    python3 -c 'import json
r = json.load(open("report.json"))
l = r["launch"]
assert (l["fanout"], l["depth"], l["links"]) == (2, 3, 2), l
assert l["phases"]["running"]["hosts"] == 7 and l["messages"] >= 7 * 4, l
for h in r["hosts"]:
    t = h["launch"]
    assert t["begun_s"] <= t["reported_s"] <= t["placed_s"] <= l["sent_s"] <= t["ready_s"] <= t["running_s"], h
assert len(r["hosts"]) == 7, r["hosts"]
assert all("starter" in h for h in r["hosts"])'
}

# HOST PROCESS: it dies in the middle of the step.
dies() {
    start_sleepers
    worker=$(worker_of "$1")
    case $2 in
    worker) pid=$worker told="mpstarter: on .*: mpstarter's worker (pid $worker) was killed by signal 9" ;;
    keeper) pid=$(ps -o ppid= -p "$worker" | tr -d ' ') told="mprun: .*$1" ;;
    esac
    kill -KILL "$pid"
    code=0
    MPRUN_TEST_LIMIT=15 mprun_wait || code=$?
    echo "code $code: $(cat "$MPRUN_ERR")"
    [ "$code" -eq 125 ]
    no_leftovers
    grep -q "$told" "$MPRUN_ERR"
}
@test "a worker of the first level dies: the step ends, nothing stays" { dies 0 worker; }
@test "a worker in the middle dies: the step ends, nothing stays" { dies 2 worker; }
@test "a worker at a leaf dies: the step ends, nothing stays" { dies 6 worker; }
@test "a keeper in the middle dies: the step ends, nothing stays" { dies 2 keeper; }

@test "mprun dies: nothing stays on any level" {
    start_sleepers
    kill -KILL "$MPRUN_PID"
    mprun_wait || true
    no_leftovers
}
