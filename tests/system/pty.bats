#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# pty.bats - --pty: a rank that has a terminal
load '../lib/mprun'

setup() {
    mprun_setup || return 1
    play=$MPRUN_SOURCE/tests/system/terminal-play
    rank=$MPRUN_SOURCE/tests/system/pty-rank
    transport=${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"}
}

# terminal PLAY OPTIONS... RANK
terminal() {
    local what=$1
    shift
    time_limited 90 "$play" "$what" - "$MPRUN" $transport --pmi none --pty "$@"
}

@test "a rank with a terminal: size, resize, a line, ^C, the end; and the terminal is as before" {
    run terminal own -n 1 "$rank"
    echo "$output"
    [ "${lines[0]}" = "code 7" ]
    [[ $output == *"size 24 80"*"size 50 132"*"line 'some words'"*"got INT"*"the end"* ]]
}

@test "on another host, and beside ranks that have none" {
    run terminal own --rm local:2 --oversubscribe -n 4 --stdin 3 \
        sh -c 'if [ "$MPRUN_RANK" = 3 ]; then exec "$0"; else ! [ -t 1 ] && exec sleep 1000; fi' "$rank"
    echo "$output"
    [ "${lines[0]}" = "code 7" ]
}

@test "TERM to mprun: the rank ends, the terminal is as before" {
    run terminal stop -n 1 "$rank"
    echo "$output"
    [ "${lines[0]}" = "code 143" ]
    [[ $output == *"received SIGTERM"* ]]
}

@test "mprun has no memory any more: the terminal is as before" {
    cat >rank <<'EOF'
p=$PPID
until grep -qx mprun /proc/$p/comm; do p=$(awk '$1 == "PPid:" { print $2 }' /proc/$p/status); done
prlimit --as=1000000 --pid $p
yes | head -c 4000000
EOF
    export MPRUN
    run "$MPRUN_SOURCE/tests/lib/terminal" bash -c \
        'stty -g >before; "$MPRUN" --pmi none --pty -n 1 sh rank; echo $? >code; stty -g >after' </dev/null
    [ "$(cat code)" = 125 ]
    echo "${output: -500}"
    [[ $output == *"out of memory; its address space is limited"* ]]
    cmp before after
}

@test "mprun's own input may be a file or a pipe: it ends with the end of input" {
    printf 'one\ntwo' >in
    run --separate-stderr bash -c 'exec <in; exec "$@"' - "$MPRUN" $transport --pmi none --pty -n 1 "$rank"
    echo "$output $stderr"
    [ "$status" -eq 7 ]
    [[ $output == *"line 'one'"*"line 'two'"*"the end"* ]]
    run --separate-stderr bash -c 'cat in | "$@"' - "$MPRUN" $transport --pmi none --pty -n 1 "$rank"
    [ "$status" -eq 7 ]
    [[ $output == *"line 'one'"*"line 'two'"*"the end"* ]]
}

@test "what is typed faster than it is read waits" {
    seq 1 2000 >in
    run --separate-stderr bash -c 'cat in | "$@"' - "$MPRUN" $transport --pmi none --pty -n 1 \
        sh -c 'stty -echo; sleep 0.3; n=0; while read -r x; do n=$((n + 1)); last=$x; done; echo "$n lines to $last"'
    [[ $output == *"2000 lines to 2000"* ]]
}

@test "all arrives that a rank has written when it ends" {
    for _ in 1 2 3; do
        run --separate-stderr mprun --pmi none --pty -n 1 seq 3000
        [ "$status" -eq 0 ]
        [ "$(tr -d '\r' <<<"$output")" = "$(seq 3000)" ]
    done
}

@test "nothing stays of a rank that leaves its terminal to a child" {
    run terminal own -n 1 bash -c 'setsid sleep 1000 & exec "$0"' "$rank"
    [ "${lines[0]}" = "code 7" ]
    no_leftovers 5
}

@test "a terminal is for one rank" {
    run mprun --pty --stdin all -n 1 true
    [ "$status" -eq 125 ]
    [[ $output == *"--pty gives a terminal to the one rank that reads the input, but --stdin names all"* ]]
}
