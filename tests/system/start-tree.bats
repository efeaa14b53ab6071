#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# start-tree.bats - hosts whose starters start those below them. The job is one of Grid Engine by its
# variables; its qrsh is a script that takes one task for each host, all of which are this machine
load '../lib/mprun'

setup() {
    mprun_setup
    export SGE_ROOT=$TMPDIR/sge SGE_BINARY_PATH=$TMPDIR/sge PE_HOSTFILE=$TMPDIR/sge/hosts
    export JOB_ID=1 SGE_TASK_ID=undefined
    unset PE SGE_JOB_SPOOL_DIR
    mkdir sge
    cat >sge/qrsh <<'EOF'
#!/bin/bash
if [ -f "$SGE_ROOT/does.$3" ]; then . "$SGE_ROOT/does.$3"; fi
echo $$ >"$SGE_ROOT/pid.$3" # the agent's, in the end
exec 9>"$SGE_ROOT/task.$3"
flock -n 9 || { echo "error: execution daemon on host \"$3\" didn't accept task" >&2; exit 1; }
exec "$4"
EOF
    chmod +x sge/qrsh
    MPRUN_TRANSPORT= # not by stdio
}

# tree ARGS...: ten hosts, of which mprun starts two, and each of these the ones below it
tree() {
    printf 'h%d 1 q UNDEFINED\n' {0..9} >sge/hosts
    MPRUN_TEST_LIMIT=${MPRUN_TEST_LIMIT:-90} mprun --fanout 2 --start-tree 1 "$@"
}
started_from() { grep -o 'host h[0-9]: started from host h[0-9]' <<<"$1" | sort | sed 's/.*host \(h.\):.*\(h.\)$/\2 \1/' | tr '\n' ,; }

@test "hosts that have their starters start those below them" {
    # a login may say more than is told of an errand; or just so much, which ends within mpstarter's first word
    echo 'head -c 200000 /dev/zero | tr "\0" x' | tee sge/does.h0 >sge/does.h7
    echo 'head -c 65530 /dev/zero | tr "\0" x' >sge/does.h8
    run -0 --separate-stderr tree -v sh -c 'echo $MPRUN_RANK'
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 8 9 " ]
    [ "$(started_from "$stderr")" = "h0 h2,h0 h3,h1 h4,h1 h5,h2 h6,h2 h7,h3 h8,h3 h9," ]
    no_leftovers
}

@test "mprun starts all: links that carry no keys, the start channel, no tree, few hosts" {
    printf 'h%d 1 q UNDEFINED\n' {0..9} >sge/hosts
    for options in "--link-security=mac --fanout 2 --start-tree 1" "--transport=stdio --fanout 2 --start-tree 1" \
        "--fanout 0 --start-tree 1" "--fanout 2 --start-tree 0" "--fanout 2"; do
        MPRUN_TEST_LIMIT=90 run -0 --separate-stderr mprun -v $options true
        [ -z "$(started_from "$stderr")" ]
    done
}

begun_of_192() {
    rm -f sge/begun
    run -125 mprun --fanout 2 "$@" true
    wc -l <sge/begun
}
@test "of many hosts mprun starts the first level, or as many at once as --start-concurrency says" {
    printf 'h%d 1 q UNDEFINED\n' {0..191} >sge/hosts
    # fails when as many clients are there as are to be
    echo 'echo >>"$SGE_ROOT/begun"; until [ "$(wc -l <"$SGE_ROOT/begun")" -ge "$AT_ONCE" ]; do sleep .1; done; exit 1' |
        tee sge/does.h{0..191} >sge/does
    [ "$(AT_ONCE=2 begun_of_192)" = 2 ]
    [ "$(AT_ONCE=20 begun_of_192 --start-concurrency 20)" -ge 20 ]
}

# bats test_tags=root
@test "what cannot reach mprun from its host is started by mprun itself, and uses the start channel" {
    needs_root
    mkdir -p sge && echo 'exec unshare --net "$4"' | tee sge/does.h9 >sge/does.h5
    run -0 --separate-stderr tree --pmi none -v sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [[ $(started_from "$stderr") == *"h3 h9,"* ]]
    [[ $stderr == *"mprun cannot be reached from h5"* || $stderr == *"mprun cannot be reached from h9"* ]]
    # one of those that mprun starts: the rest is not even tried from there
    rm sge/does.h? && echo 'exec unshare --net "$4"' >sge/does.h0
    run -0 --separate-stderr tree --pmi none -v sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [[ $(started_from "$stderr") != *"h0 h2"* ]]
}

@test "a client that fails on another host: its own words, and the host" {
    mkdir -p sge && echo 'echo "no way to $3" >&2; exit 1' >sge/does.h7
    run -125 --separate-stderr tree true
    echo "$stderr"
    [ "$(grep -c . <<<"$stderr")" = 1 ]
    [[ $stderr == "mprun: host h7: qrsh ended with code 1 before mpstarter reported back: no way to h7"* ]]
    no_leftovers 20
    local code=
    # behind more than is told, and more than is kept of that: on h7 by a host's starter, on h0 by mprun
    echo 'yes "a line that says nothing" | head -n 8000; echo "no way to $3" >&2; exit 1' | tee sge/noisy >sge/does.h7
    code=0 && tree true 2>err || code=$?
    [ "$code" = 125 ]
    tail -n 3 err
    grep '^mprun: host h7: qrsh ended with code 1 before mpstarter reported back: no way to h7; ' err
    mv sge/noisy sge/does.h0 && rm sge/does.h7
    code=0 && tree true 2>err || code=$?
    [ "$code" = 125 ]
    tail -n 3 err
    grep '^mprun: host h0: qrsh ended with code 1 before mpstarter reported back: no way to h0; ' err
    no_leftovers 20
}

@test "one that has no room is started by mprun itself, when there is some" {
    # twice: the first time mprun asks an agent of the job to make room
    echo 'if ! [ -e "$SGE_ROOT/tried2" ]; then mv "$SGE_ROOT/tried" "$SGE_ROOT/tried2" || touch "$SGE_ROOT/tried"
        echo "$3 didn'"'"'t accept task" >&2; exit 1; fi' >sge/does.h6
    run -0 --separate-stderr tree sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [[ $stderr == *"host h6: gridengine has no room"*"this is tried again"* ]]
}

waits_for() { echo "echo >>began.$1; until [ -e go.$1 ]; do sleep .05; done; echo $1 \$MPRUN_RANK"; }
all_began() { [ "$(wc -l <"began.$1")" = 10 ]; }
forked_by() { grep -c "agent there forks the starter" "$1"; }
@test "agents that agents have started: the next step has its starters from them, and outlives the first" {
    tree sh -c "$(waits_for one)" >one 2>one.err &
    local one=$! two
    wait_until 20 all_began one
    tree -v sh -c "$(waits_for two)" >two 2>two.err &
    two=$!
    wait_until 20 all_began two
    [ "$(forked_by two.err)" = 10 ]
    [ -z "$(started_from "$(<two.err)")" ]
    touch go.one && wait $one
    touch go.two && wait $two
    [ "$(sort one | tr '\n' ' ')" = "one 0 one 1 one 2 one 3 one 4 one 5 one 6 one 7 one 8 one 9 " ]
    [ "$(sort two | tr '\n' ' ')" = "two 0 two 1 two 2 two 3 two 4 two 5 two 6 two 7 two 8 two 9 " ]
    no_leftovers 20
}

@test "kill -9 of an agent that has started others: its step ends, and the next one uses those that are left" {
    tree -v sh -c "$(waits_for one)" >one 2>one.err &
    local one=$!
    wait_until 20 all_began one
    # without a second step the agents would end with the first
    mprun -n 1 --host h1 sh -c "$(waits_for two)" >two 2>two.err &
    local two=$! code=0
    wait_until 20 test -e began.two
    kill -9 "$(cat sge/pid.h0)"
    wait $one || code=$?
    [ $code != 0 ]
    grep "host h0: " one.err
    run -0 --separate-stderr tree -v sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [ "$(forked_by <(echo "$stderr"))" = 9 ]
    [ -z "$(started_from "$stderr")" ]
    touch go.two && wait $two
    no_leftovers 20
}

@test "TERM to an agent that has started others ends its steps; the next one has its starters from it" {
    tree sh -c "$(waits_for one)" >one 2>one.err &
    local one=$! code=0
    wait_until 20 all_began one
    mprun -n 1 --host h1 sh -c "$(waits_for two)" >two 2>two.err &
    local two=$!
    wait_until 20 test -e began.two
    kill -TERM "$(cat sge/pid.h0)"
    wait $one || code=$?
    [ $code != 0 ]
    run -0 --separate-stderr tree -v --start-timeout 20 sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [ "$(forked_by <(echo "$stderr"))" = 10 ]
    touch go.two && wait $two
    no_leftovers 20
}

@test "an agent whose task the manager ends, and that waits for others: the next step is told" {
    tree sh -c "$(waits_for one)" >one 2>one.err &
    local one=$! agent anchor code=0
    wait_until 20 all_began one
    mprun -n 1 --host h1 sh -c "$(waits_for two)" >two 2>two.err &
    local two=$!
    wait_until 20 test -e began.two
    agent=$(cat sge/pid.h0)
    # beside the starter and two start clients, in the group of the task
    for anchor in $(pgrep -P "$agent" -x mprun-agent); do
        [ -n "$(cut -d ' ' -f 5 "/proc/$anchor/stat" | grep -vx "$anchor")" ] && kill -9 "$anchor"
    done
    touch go.one && wait $one
    tree --start-timeout 3 -n 1 --host h0,h1,h2 -v true 2>said || code=$?
    [ $code = 125 ]
    grep "mprun: host h0: gridengine has no room for one more task of the job" said
    touch go.two && wait $two
    no_leftovers 20
}

# bats test_tags=long
@test "a client that hangs on another host does not hold up the end" {
    needs_long
    mkdir -p sge && echo 'echo $$ >"$SGE_ROOT/hangs"; exec sleep 1000' >sge/does.h7
    local limit
    limit=$(patience 8)
    MPRUN_TEST_LIMIT=100 run -125 --separate-stderr tree --start-timeout "$limit" true
    [[ $stderr == *"mprun: host h7: its mpstarter has not reported back within $limit s"* ]]
    kill "$(cat sge/hangs)"
    no_leftovers
}
