#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-session.bats - mprun at the terminal of a job: qlogin, and qrsh without a command
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup; }
teardown_file() { gridengine_teardown; }
setup() { gridengine_begin; }
teardown() { gridengine_end; }

# session COMMAND...: what is typed there is stdin, before the end of the session. Its prompt ends
# in "$ "; a word of which the typed line must not be taken for what it prints has a \ in it.
session() {
    { echo 'wait [$] $' && cat && printf '%s\n' 'type exit 0\r'; } | on_terminal n0 "$@"
}

@test "qlogin: without any option the ranks are on all slots of the job" {
    run session qlogin -now no -pe lab 6 <<PLAY
type $MPRUN --quiet sh -c 'echo rank on \$(hostname)'; echo "co\\de \$?"\r
wait co.?de \d
PLAY
    echo "$output"
    for host in n1 n2 n3; do
        [ "$(grep -c "rank on $host" <<<"$output")" -eq 2 ]
    done
    [[ $output == *"de 0"* ]]
}

@test "qrsh without a command and without a parallel environment: this host, one slot" {
    run session qrsh -now no <<PLAY
type $MPRUN --explain env; echo "co\\de \$?"\r
wait co.?de \d
PLAY
    echo "$output"
    [[ $output =~ "this is a session of job "[0-9]+" of Grid Engine" ]]
    [[ $output == *"1 rank on 1 host"*"NSLOTS, no parallel environment"* ]]
}
@test "the first ^C shows the state, the second ends the step; the job goes on" {
    run session qrsh -now no -pe lab 4 <<PLAY
type $MPRUN sh -c 'echo beg\\\\un; exec sleep 1000'; echo "co\\de \$?"\r
wait begun\\s+begun\\s+begun\\s+begun
type \x03
wait 4 of 4 ranks started.*again within 1 s
type \x03
wait co.?de 130
type echo still he\\\\re\r
wait still here
PLAY
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "^Z stops the ranks on all hosts, fg continues them" {
    run session qrsh -now no -pe lab 4 <<PLAY
type $MPRUN sh -c 'trap "echo conti\\\\nued" CONT; echo beg\\\\un; while :; do sleep 0.1; done'\r
wait begun\\s+begun\\s+begun\\s+begun
type \x1a
wait Stopped
type fg\r
wait continued\\s+continued\\s+continued\\s+continued
type \x03
wait again within 1 s
type \x03
wait [$] $
PLAY
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "--pty: a rank at the session's terminal has its size" {
    run session qrsh -now no -pe lab 4 <<PLAY
type $MPRUN --quiet --pty -n 1 bash --norc; echo "co\\de \$?"\r
wait bash-.*[$] $
size 50 132
type stty size\r
wait 50 132
type exit 3\r
wait co.?de 3
PLAY
    echo "$output"
    [ "$status" -eq 0 ]
}
