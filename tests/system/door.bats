#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# door.bats - strangers at a running step's doors have no effect on it but a line in its log
load '../lib/mprun'

setup() {
    mprun_setup
    unset MPRUN_TRANSPORT # the tests choose
    PEER=$MPRUN_BUILD/tests/system/door-peer
    [ -x "$PEER" ] || skip "needs door-peer: make check builds it"
}

# A step that waits for the file `go`, with its door in $DOOR.
start_step() {
    mprun_start --transport="$1" --rm local:2 -n 2 sh -c \
        'echo begun; until [ -e go ]; do sleep .05; done; i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done'
    wait_until 20 has_begun
    DIR=$(echo "$XDG_RUNTIME_DIR"/mprun-*)
    DOOR=unix:$DIR/link
    [ "$1" != tcp ] || DOOR=$("$PEER" port "$MPRUN_PID")
}
has_begun() { [ "$(grep -c begun "$MPRUN_OUT")" -eq 2 ]; }

# It ends as if nobody had knocked, and soon.
step_is_unharmed() {
    began
    touch go
    mprun_wait
    ended_within 10
    [ "$(grep -vc begun "$MPRUN_OUT")" -eq 4000 ]
    [ "$(grep -cx 1999 "$MPRUN_OUT")" -eq 2 ]
}

refusals() { grep -c refused "$MPRUN_ERR" || :; }

wrong_key_is_refused() {
    start_step "$1"
    run "$PEER" wrong-key "$DOOR" 0
    [ "$status" -eq 0 ]
    [[ $output == *"does not know the step's key"* ]]
    "$PEER" wrong-key "$DOOR" 4000000000
    step_is_unharmed
}
@test "unix: a peer without the key is refused" { wrong_key_is_refused unix; }
@test "tcp: a peer without the key is refused" { wrong_key_is_refused tcp; }

garbage_is_refused() {
    start_step "$1"
    "$PEER" garbage "$DOOR"
    "$PEER" garbage "$DOOR"
    wait_until 10 grep -q "refused a peer.*does not speak mprun's protocol" "$MPRUN_ERR"
    step_is_unharmed
}
@test "unix: garbage is refused and logged" { garbage_is_refused unix; }
@test "tcp: garbage is refused and logged" { garbage_is_refused tcp; }

silence_is_refused() {
    start_step "$1"
    run "$PEER" silent "$DOOR" 1
    [ "$status" -eq 0 ]
    (("${output%.*}" >= 4 && "${output%.*}" < 25))
    wait_until 10 grep -q "refused a peer.*no proof" "$MPRUN_ERR" # a moment after it was closed
    step_is_unharmed
}
@test "unix: a silent peer is dropped after a while" { silence_is_refused unix; }
@test "tcp: a silent peer is dropped after a while" { silence_is_refused tcp; }

silence_delays_nothing() {
    start_step "$1"
    "$PEER" silent "$DOOR" 10 connected >silent.out 3>&- &
    wait_until 10 test -e connected
    step_is_unharmed
    wait $!
    # closed because the step ended, not because their time was up
    (($(cut -d. -f1 silent.out) < 5))
}
@test "unix: silent peers do not delay a step's end" { silence_delays_nothing unix; }
@test "tcp: silent peers do not delay a step's end" { silence_delays_nothing tcp; }

crowd_is_refused() {
    start_step "$1"
    "$PEER" silent "$DOOR" 200 >/dev/null
    local lines
    lines=$(refusals)
    ((lines > 0 && lines <= 6))
    grep -q "refused 100 peers so far" "$MPRUN_ERR"
    step_is_unharmed
}
@test "unix: 200 peers at once are refused in a few lines" { crowd_is_refused unix; }
@test "tcp: 200 peers at once are refused in a few lines" { crowd_is_refused tcp; }

@test "a step starts while 200 peers crowd its door" {
    # the crowd waits for the socket to appear, and comes together with the starters
    began
    mprun_start --transport=unix --rm local:8 -n 8 sh -c 'echo begun; until [ -e go ]; do sleep .05; done'
    wait_until 10 compgen -G "$XDG_RUNTIME_DIR/mprun-*/link"
    "$PEER" silent "unix:$(echo "$XDG_RUNTIME_DIR"/mprun-*/link)" 200 connected >/dev/null 3>&- &
    wait_until 20 eight_have_begun
    ended_within 15
    wait_until 20 test -e connected # the last of them must still find a door
    touch go
    mprun_wait
    wait $!
}
eight_have_begun() { [ "$(grep -c begun "$MPRUN_OUT")" -eq 8 ]; }

@test "stdio: there is no door" {
    start_step stdio
    [ ! -e "$DIR/link" ]
    run "$PEER" port "$MPRUN_PID"
    [ "$status" -ne 0 ]
    step_is_unharmed
}

@test "the directory of the sockets is for its user alone" {
    start_step unix
    [ "$(stat -c %a "$DIR")" = 700 ]
    [ "$(stat -c %u "$DIR")" = "$(id -u)" ]
    step_is_unharmed
}

# bats test_tags=root
@test "another user reaches neither door nor control socket" {
    needs_root
    start_step unix
    run run_as_user "$PEER" garbage "$DOOR"
    [ "$status" -ne 0 ]
    [[ $output == *"Permission denied"* ]]
    run run_as_user "$PEER" status "$DIR/control"
    [ "$status" -ne 0 ]
    [[ $output == *"Permission denied"* ]]
    # even with the directories open: the kernel tells who comes
    chmod 755 "$XDG_RUNTIME_DIR" "$DIR" && chmod 777 "$DIR"/*
    run run_as_user "$PEER" status "$DIR/control"
    [ "$status" -ne 0 ]
    run_as_user "$PEER" garbage "$DOOR"
    wait_until 10 grep -q "refused a peer.*another user's process" "$MPRUN_ERR"
    step_is_unharmed
}

@test "the control socket tells a step's state" {
    start_step unix
    run "$PEER" status "$DIR/control"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "step "*": running, 2 ranks, 2 started, 0 ended, 2 hosts" ]]
    step_is_unharmed
}

@test "garbage at the control socket is dropped, and others are answered" {
    start_step unix
    "$PEER" garbage "unix:$DIR/control"
    "$PEER" status "$DIR/control"
    step_is_unharmed
    [ ! -s "$MPRUN_ERR" ] || ! grep -v 'ranks are tracked by' "$MPRUN_ERR" || false
}

@test "a tool that does not read its answers is dropped" {
    start_step unix
    "$PEER" deaf "$DIR/control"
    "$PEER" status "$DIR/control"
    step_is_unharmed
}

@test "a directory with blanks in its name will do" {
    mkdir "with blank 100%"
    XDG_RUNTIME_DIR=$PWD/"with blank 100%" run --separate-stderr mprun --transport=unix -n 2 echo x
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
}
