#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# links.bats - connections between hosts that break, come back, or do not: nothing is lost, nothing
# comes twice, the step ends with a sentence that names the host, and nothing stays. Seven hosts and a
# fan-out of two: n1 is a root, n2 in the middle, n6 a leaf; mprun and host 0 are n0.
load '../lib/mprun'
load '../lib/hosts'

setup_file() { hosts_setup 7 --sshd; }
teardown_file() { hosts_teardown; }
# Those that wait for a network to be taken for dead, and what differs little from its neighbours.
setup() {
    mprun_setup
    needs_hosts
    CUT=()
}
teardown() {
    local h
    for h in "${CUT[@]}"; do mend "$h"; done
    mprun_teardown || return 1
    [ -z "${HOSTS_DIR:-}" ] || hosts_clean
}

ALL=n0,n1,n2,n3,n4,n5,n6
start() {
    on_start n0 mprun --host $ALL --fanout 2 "$@"
}
everywhere() { # a command line, and not one that has it in it, as mprun's does, runs on all hosts
    local i
    for i in 0 1 2 3 4 5 6; do
        wait_until 30 on_root n$i pgrep -x -f "$1" >/dev/null || return 1
    done
}
cut_off() { cut "$1" && CUT+=("$1"); }
mend_all() {
    local h
    for h in "${CUT[@]}"; do mend "$h"; done
    CUT=()
}
# CODE within SECONDS
ends() {
    local code=0
    began
    HOSTS_TEST_LIMIT=$2 on_wait || code=$?
    echo "code $code after $((SECONDS - BEGAN)) s: $(cat "$ON_ERR")"
    [ "$code" -eq "$1" ]
}
# PART_pid HOST: the worker of mpstarter is its keeper's child
worker_pid() {
    local pid
    for pid in $(on_root "$1" pgrep -x mpstarter); do
        [ "$(on_root "$1" ps -o comm= -p "$(on_root "$1" ps -o ppid= -p "$pid" | tr -d ' ')")" != mpstarter ] || echo "$pid"
    done
}
keeper_pid() { on_root "$1" ps -o ppid= -p "$(worker_pid "$1")" | tr -d ' '; }
mppmi_pid() { # it starts late where no rank asks for it
    wait_until 30 on_root "$1" pgrep -x mppmi >/dev/null
    on_root "$1" pgrep -x mppmi
}
mprun_pid() { on_root "$1" pgrep -x mprun; }
kill_worker() { on_root "$1" kill "-$2" "$(worker_pid "$1")"; }

# numbered lines: some at once, and those that take some five seconds when `flow` was called
COUNT='i=0
while [ $i -lt 100 ]; do
    echo "line $i"
    i=$((i+1))
    until [ $i -ne 10 ] || [ -e "$0" ]; do sleep 0.05; done
    [ $i -lt 10 ] || sleep 0.05
done'
counting() {
    rm -f "$HOSTS_DIR/shared/flow"
    start --tag-output sh -c "$COUNT" "$HOSTS_DIR/shared/flow"
    everywhere 'sleep 0.05'
}
flow() { touch "$HOSTS_DIR/shared/flow"; }
all_lines() {
    local rank
    for rank in 0 1 2 3 4 5 6; do
        sed -n "s/^\[$rank\]<stdout>: line //p" "$ON_OUT" | cmp - <(seq 0 99) || return 1
    done
}

# HOST SECONDS
interrupted() {
    counting
    flow
    cut_off "$1"
    sleep "$2" # how long the network is away is the test
    mend_all
    ends 0 60
    all_lines
}
# bats test_tags=long
@test "the network of a root is away for 3 s: no byte is lost or comes twice" { needs_long; interrupted n1 3; }
@test "the network in the middle is away for 3 s: no byte is lost or comes twice" { interrupted n2 3; }
# bats test_tags=long
@test "the network of a leaf is away for 3 s: no byte is lost or comes twice" { needs_long; interrupted n6 3; }
# bats test_tags=long
@test "the network of mprun is away for 3 s: no byte is lost or comes twice" { needs_long; interrupted n0 3; }
# bats test_tags=long
@test "connections that are taken for dead are resumed" {
    needs_long
    interrupted n2 18
    grep -q 'is back after .* s; nothing was lost' "$ON_ERR"
}

# HOST [WORDS]: its network never comes back
cut_for_good() {
    start --link-grace 3 sleep 1000
    everywhere 'sleep 1000'
    cut_off "$1"
    ends 125 60
    grep -q "mprun: host $1: .*link to .* is gone: no connection for 3 s.*$2" "$ON_ERR"
    # nothing is left on any host that can be reached, nor, when its limit has passed, on this one;
    # what the ssh server there has of a connection that is cut is not ours
    mend_all
    on_root "$1" pkill -x -f 'sshd: labuser.*' || :
    hosts_clean
}
# bats test_tags=long
@test "a root is cut off for good: the step ends and names it" { needs_long; cut_for_good n1 'behind it, and ended as well: n4, n5'; }
# bats test_tags=long
@test "a host in the middle is cut off for good: the step ends and names it" { needs_long; cut_for_good n2 'behind it, and ended as well: n6'; }
# bats test_tags=long
@test "a leaf is cut off for good: the step ends and names it" { needs_long; cut_for_good n6; }

@test "a connection that is slow and loses packets only takes longer" {
    shape n1 delay 100ms loss 2% || skip "$(hosts shape n1 none 2>&1)"
    start --tag-output seq 1 3000
    ends 0 90
    shape n1 none
    for rank in 0 1 6; do
        sed -n "s/^\[$rank\]<stdout>: //p" "$ON_OUT" | cmp - <(seq 1 3000)
    done
}

# bats test_tags=long
@test "three hosts are cut off for good: they are one sentence" {
    needs_long
    start --link-grace 3 sleep 1000
    everywhere 'sleep 1000'
    for h in n3 n4 n5; do cut_off $h; done
    ends 125 60
    grep -q 'mprun: hosts n\[3-5\]: they failed together; n[345] was the first: its link to n[01] is gone: no connection for 3 s' "$ON_ERR"
    mend_all
    for h in n3 n4 n5; do on_root $h pkill -x -f 'sshd: labuser.*' || :; done
    hosts_clean
}

# bats test_tags=long
@test "hosts below one that is cut off end with the step, long before the grace is over" {
    needs_long
    on_start n0 mprun --host n1,n2,n3,n4,n5,n6 --fanout 2 sleep 1000 # n3 and n4 are below n1
    running() {
        local h
        for h in n1 n2 n3 n4 n5 n6; do on_root $h pgrep -f 'sleep 1000' >/dev/null || return 1; done
    }
    wait_until 20 running
    cut_off n1
    on_signal TERM
    gone() { ! on_root n3 pgrep -f 'sleep 1000' >/dev/null && ! on_root n4 pgrep -f 'sleep 1000' >/dev/null; }
    wait_until 40 gone
    mend_all # n1 is told as soon as it can be
    ends 143 40
    [ "$(grep -c 'the host above gives no answer, and mprun ends the step' "$ON_ERR")" -eq 2 ]
}

# PART HOST [WORD]: it is killed; the step ends within 5 s (and what this machine needs for it)
dies() {
    start sleep 1000
    everywhere 'sleep 1000'
    on_root "$2" kill -KILL "$("$1_pid" "$2")"
    ends 125 15
    grep -q "mprun: .*$2" "$ON_ERR"
    hosts_clean
}
# bats test_tags=long
@test "a worker dies at the root" { needs_long; dies worker n1; }
@test "a worker dies in the middle" { dies worker n2; }
# bats test_tags=long
@test "a worker dies at a leaf" { needs_long; dies worker n6; }
# bats test_tags=long
@test "a keeper dies at the root" { needs_long; dies keeper n1; }
@test "a keeper dies in the middle" { dies keeper n2; }
# bats test_tags=long
@test "a keeper dies at a leaf" { needs_long; dies keeper n6; }
@test "mppmi dies in the middle" { dies mppmi n2; }

@test "mprun dies: every host is clean within some seconds" {
    start sleep 1000
    everywhere 'sleep 1000'
    on_root n0 sh -c 'kill -KILL $(pgrep -x mprun)'
    on_wait || :
    hosts_clean
}

# nsenter, which $ON_PID is, stops when mprun has, and is to be continued, too
has_stopped() { [[ $(ps -o stat= -p "$ON_PID") == T* ]]; }
continue_mprun() {
    wait_until 10 has_stopped
    on_signal CONT
    kill -CONT "$ON_PID"
}

@test "suspend and continue reach all hosts" {
    start sleep 1000
    everywhere 'sleep 1000'
    stopped() {
        local i
        for i in 0 2 6; do
            [[ $(on_root n$i sh -c 'ps -o stat= -p $(pgrep -x -f "sleep 1000")') == "$1"* ]] || return 1
        done
    }
    on_signal TSTP
    wait_until 10 stopped T
    continue_mprun
    wait_until 10 stopped S
    on_signal TERM
    ends 143 20
}

# PART HOST: it is stopped for longer than it takes to call a host dead, and nothing happens
survives_stop() {
    local pid
    counting
    pid=$("$1_pid" "$2")
    flow
    on_root "$2" kill -STOP "$pid"
    sleep 16 # the time is the test
    on_root "$2" kill -CONT "$pid"
    # nsenter stops with its child, where that is mprun; where it is not, all may have ended by now
    kill -CONT "$ON_PID" 2>/dev/null || :
    ends 0 60
    all_lines
}
# bats test_tags=long
@test "a stopped worker in the middle holds nothing up for good" { needs_long; survives_stop worker n2; }
# bats test_tags=long
@test "a stopped keeper goes unnoticed" { needs_long; survives_stop keeper n1; }
# bats test_tags=long
@test "a stopped mprun loses nothing" { needs_long; survives_stop mprun n0; }
# bats test_tags=long
@test "stopped for a minute: worker, mprun" {
    needs_long
    counting
    worker=$(worker_pid n2)
    flow
    on_signal STOP
    on_root n2 kill -STOP "$worker"
    sleep 60
    continue_mprun
    on_root n2 kill -CONT "$worker"
    ends 0 60
    all_lines
}

said() { [ "$(grep -c "$1" "$ON_ERR")" -eq "$2" ]; }
SILENT='mprun: host n2: its starter has been silent for 3 s .*, and 1 host is behind it; still waiting'
BACK='mprun: host n2: its starter answers again, after [0-9]* s of silence'

@test "a starter in the middle that is stopped is named once, and when it is back" {
    start --heartbeat 3 sleep 1000
    everywhere 'sleep 1000'
    kill_worker n2 STOP
    wait_until 20 said "$SILENT" 1
    kill_worker n2 CONT
    wait_until 20 said "$BACK" 1
    # the others were not named, and a root is as well as one in the middle
    said 'silent' 1
    kill_worker n1 STOP
    wait_until 20 said 'host n1: its starter has been silent for 3 s .*, and 2 hosts are behind it' 1
    kill_worker n1 CONT
    wait_until 20 said 'host n1: its starter answers again' 1
    on_signal TERM
    ends 143 20
    said 'been silent' 2
}

@test "who was suspended itself calls nobody silent" {
    start --heartbeat 2 sleep 1000
    everywhere 'sleep 1000'
    on_signal TSTP
    sleep 5 # the time is the test
    continue_mprun
    kill_worker n2 STOP
    wait_until 20 said 'host n2: its starter has been silent for 2 s' 1
    kill_worker n2 CONT
    wait_until 20 said 'host n2: its starter answers again' 1
    on_signal TERM
    ends 143 20
    said 'been silent' 1
}

# last, because it is not there afterwards
# bats test_tags=long
@test "a whole host dies without a word: the step ends and names it" {
    needs_long
    start --link-grace 3 sleep 1000
    everywhere 'sleep 1000'
    kill_host n2
    ends 125 60
    grep -q "mprun: host n2: .*no connection for 3 s" "$ON_ERR"
    hosts_clean n0 n1 n3 n4 n5 n6
}
