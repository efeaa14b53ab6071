#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# io.bats - what ranks write arrives, all of it and in order; what they read is all that is taken
load '../lib/mprun'

MPRUN_TEST_LIMIT=120
export MPRUN
PLAY=$MPRUN_SOURCE/tests/system/io-play
# MiB that mprun, or a starter, may have held in memory at most, whatever the readers do
PEAK=16

# The launcher's words, for what must start it by itself.
launcher() { set -- "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} "$@"; LAUNCHER=("$@"); }

# Bytes without any pattern, the same in every run.
make_data() {
    needs_tool openssl
    openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff \
        -iv 00000000000000000000000000000000 </dev/zero 2>/dev/null | head -c "$1" >data
}
sum() { md5sum | cut -d' ' -f1; }
eight_times() { cat data data data data data data data data; }

# ---- output ----------------------------------------------------------------------------------------

# what is eight times SIZE
output_arrives() { # SIZE
    make_data "$1"
    want=$(eight_times | sum)
    got=$(mprun -n 1 cat data data data data data data data data | sum)
    [ "$got" = "$want" ]
    mprun -n 1 cat data data data data data data data data >file
    [ "$(sum <file)" = "$want" ]
}
@test "256 MiB of a rank arrive exactly, in a pipe and in a file" { output_arrives 32M; }
# bats test_tags=long
@test "1 GiB of a rank arrives exactly, in a pipe and in a file" { needs_long; output_arrives 128M; }

@test "standard error carries binary data as exactly as standard output" {
    make_data 8M
    mprun -n 1 sh -c 'cat data; cat data data >&2' >out 2>err
    cmp out data
    cat data data | cmp - err
}

@test "output goes to where a shared file's offset is" {
    {
        echo before
        mprun -n 1 echo one
        echo between
        mprun -n 1 sh -c 'echo two' 2>&1
    } >file
    [ "$(cat file)" = $'before\none\nbetween\ntwo' ]
    { mprun -n 1 echo three; } >>file
    [ "$(tail -n 1 file)" = three ]
}

@test "with both streams in one pipe each stays complete and in order" {
    run mprun -n 1 sh -c 'i=0; while [ $i -lt 500 ]; do echo "$i"; i=$((i+1)); echo "$i" >&2; i=$((i+1)); done'
    [ "$status" -eq 0 ]
    [ "$(awk '$1 % 2 == 0' <<<"$output")" = "$(seq 0 2 499)" ]
    [ "$(awk '$1 % 2 == 1' <<<"$output")" = "$(seq 1 2 499)" ]
}

@test "an unterminated last line, a lone zero byte and nothing at all arrive as they are" {
    [ "$(mprun -n 1 printf 'no newline' | od -c)" = "$(printf 'no newline' | od -c)" ]
    [ "$(mprun -n 1 printf '\0' | od -c)" = "$(printf '\0' | od -c)" ]
    [ "$(mprun -n 1 true | wc -c)" -eq 0 ]
}

@test "a prompt without a newline is seen before the rank ends" {
    mkfifo answer
    mprun -n 1 sh -c 'printf "name? "; read -r x <answer; echo "hello $x"' >out &
    wait_until 10 grep -q 'name? ' out
    echo you >answer
    wait $!
    [ "$(cat out)" = "name? hello you" ]
}

@test "64 ranks write at once: no byte is lost" {
    mprun --oversubscribe -n 64 sh -c \
        'head -c 4000000 /dev/zero | tr "\0" "\\$(printf %o $((PMIX_RANK + 48)))"' >all
    [ "$(stat -c %s all)" -eq $((64 * 4000000)) ]
    for rank in 0 17 63; do
        [ "$(tr -cd "\\$(printf %o $((rank + 48)))" <all | wc -c)" -eq 4000000 ]
    done
}

@test "tagged lines are never torn: 64 ranks, both streams, one pipe" {
    mprun --oversubscribe --tag-output -n 64 sh -c 'seq 5000 & seq 5000 >&2; wait' 2>&1 | cat >tagged
    [ "$(wc -l <tagged)" -eq $((64 * 2 * 5000)) ]
    awk -F'[][]|: ' '
        !/^\[[0-9]+\]<std(out|err)>: [0-9]+$/ { print "torn: " $0; bad = 1; exit 1 }
        $4 != ++seen[$2 $3] { print "out of order: " $0; bad = 1; exit 1 }
        END { exit bad }' tagged
}

@test "a tagged line without an end gets one; a very long one comes in marked pieces" {
    run --separate-stderr mprun -n 2 -l printf 'half a line'
    [ "$(sort <<<"$output")" = $'[0]<stdout>: half a line\n[1]<stdout>: half a line' ]
    mprun -n 1 -l sh -c 'head -c 150000 /dev/zero | tr "\0" x; echo; echo next' >out
    [ "$(cut -c 1-13 out)" = $'[0]<stdout>: \n[0]<stdout>+ \n[0]<stdout>+ \n[0]<stdout>: ' ]
    [ "$(head -n 3 out | cut -c 14- | tr -d '\n' | wc -c)" -eq 150000 ]
}

@test "timestamps are those of the line's beginning" {
    run --separate-stderr mprun -n 1 --timestamp-output --tag-output echo text
    [[ $output =~ ^20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6}\ \[0\]\<stdout\>:\ text$ ]]
    stamp=${output%% *}
    now=$(date +%s)
    then=$(date -d "$stamp" +%s)
    [ $((now - then)) -ge 0 ]
    [ $((now - then)) -le 60 ]
}

# ---- readers that are slow, stall, or go -----------------------------------------------------------

@test "a reader that stalls stops the ranks, costs no memory, and misses nothing" {
    needs_no_sanitizers "they need memory"
    make_data 16M
    launcher --oversubscribe -n 8 sh -c 'cat data; touch done.$PMIX_RANK'
    # the ranks cannot have finished while nobody read: 16 MiB fit nowhere
    run --separate-stderr "$PLAY" stall sh -c '"$@" & wait $!' sh "${LAUNCHER[@]}"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    read -r _ bytes _ _ _ peak _ code <<<"$output"
    [ "$code" -eq 0 ]
    [ "$bytes" -eq $((8 * 16 * 1024 * 1024)) ]
    [ "$peak" -gt 0 ]
    [ "$peak" -lt $((PEAK * 1024)) ]
}

slow_reader() { # MIB
    needs_no_sanitizers "they need memory"
    make_data $(($1 / 8))M
    launcher -n 1 cat data data data data data data data data
    run --separate-stderr "$PLAY" slow "${LAUNCHER[@]}"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    read -r _ bytes _ md5 _ peak _ code <<<"$output"
    [ "$code" -eq 0 ]
    [ "$bytes" -eq $(($1 * 1024 * 1024)) ]
    [ "$md5" = "$(eight_times | sum)" ]
    [ "$peak" -gt 0 ]
    [ "$peak" -lt $((PEAK * 1024)) ]
}
@test "a slow reader of 256 MiB misses nothing and costs no memory" { slow_reader 256; }
# bats test_tags=long
@test "a slow reader of 1 GiB misses nothing and costs no memory" { needs_long; slow_reader 1024; }

@test "a stalled standard output does not hold up standard error" {
    mkfifo go
    mprun -n 1 sh -c 'head -c 50000000 /dev/zero & echo seen >&2; wait' 2>err | { read -r _ <go; wc -c >count; } &
    wait_until 10 grep -q seen err
    echo >go
    wait $!
    [ "$(cat count)" -eq 50000000 ]
}

@test "a reader that closes ends ranks that go on writing" {
    run --separate-stderr bash -c '"$MPRUN" -n 4 yes 2>err | head -n 1; echo "${PIPESTATUS[0]}"'
    [ "${lines[0]}" = y ]
    [ "${lines[1]}" -eq 141 ]
    # the reader had enough: nothing to tell of
    ! grep -q "killed by signal" err || false
}

@test "a reader that closes standard output still gets standard error" {
    mprun -n 1 sh -c 'trap "" PIPE; seq 1000000 2>/dev/null; echo "the end" >&2' 2>err | head -n 1
    grep -q "the end" err
}

@test "a full disk is an error that says so" {
    [ -c /dev/full ] || skip "needs /dev/full"
    run bash -c '"$MPRUN" -n 1 echo text 2>err >/dev/full'
    cat err
    [ "$status" -eq 125 ]
    grep -qi "no space left" err
}

@test "a process left behind that holds the output does not hold up the end" {
    run --separate-stderr mprun -n 1 sh -c 'setsid sleep 1000 & echo done'
    [ "$status" -eq 0 ]
    [ "$output" = done ]
}

# ---- input -----------------------------------------------------------------------------------------

@test "input of every size goes to rank 0 exactly, from a file and from a pipe" {
    make_data 4M
    for n in 0 1 2 4095 4096 4097 65535 65536 65537 262144 262145 1000000 4194304; do
        head -c $n data >part
        want=$(sum <part)
        [ "$(mprun -n 2 sh -c '[ $PMIX_RANK != 0 ] || md5sum' <part | cut -d' ' -f1)" = "$want" ]
        [ "$(cat part | mprun -n 1 md5sum | cut -d' ' -f1)" = "$want" ]
    done
}

input_arrives() { # SIZE
    make_data "$1"
    eight_times >big
    want=$(sum <big)
    [ "$(mprun -n 1 md5sum <big | cut -d' ' -f1)" = "$want" ]
    [ "$(cat big | mprun -n 1 md5sum | cut -d' ' -f1)" = "$want" ]
}
@test "256 MiB of input arrive exactly, from a file and from a pipe" { input_arrives 32M; }
# bats test_tags=long
@test "1 GiB of input arrives exactly, from a file and from a pipe" { needs_long; input_arrives 128M; }

@test "the other ranks read an immediate end" {
    run --separate-stderr mprun -n 3 sh -c 'echo "$PMIX_RANK $(wc -c)"' <<<"12345"
    [ "$(sort <<<"$output")" = $'0 6\n1 0\n2 0' ]
}

@test "--stdin N gives it to that rank, all to every rank, none to nobody" {
    run --separate-stderr mprun -n 3 --stdin 2 sh -c 'echo "$PMIX_RANK $(wc -c)"' <<<"12345"
    [ "$(sort <<<"$output")" = $'0 0\n1 0\n2 6' ]
    run --separate-stderr mprun -n 3 --stdin none sh -c 'echo "$PMIX_RANK $(wc -c)"' <<<"12345"
    [ "$(sort <<<"$output")" = $'0 0\n1 0\n2 0' ]
    make_data 3M
    want=$(sum <data)
    run --separate-stderr mprun --oversubscribe -n 8 --stdin all md5sum <data
    [ "$(sort -u <<<"$output" | cut -d' ' -f1)" = "$want" ]
    [ "${#lines[@]}" -eq 8 ]
    run --separate-stderr bash -c 'cat data | "$MPRUN" --oversubscribe -n 8 --stdin all md5sum'
    [ "$(sort -u <<<"$output" | cut -d' ' -f1)" = "$want" ]
    [ "${#lines[@]}" -eq 8 ]
}

@test "--stdin file: each rank reads a file of its host, in its directory" {
    mkdir in && printf 'zero\n' >in/of.0 && printf 'one\n' >in/of.1
    run -0 --separate-stderr mprun -n 2 --oversubscribe --tag-output --wdir in --stdin file:of.%r cat </dev/null
    [ "$(sort <<<"$output")" = "[0]<stdout>: zero"$'\n'"[1]<stdout>: one" ]
    run -0 --separate-stderr mprun --as srun -n 2 -O -i in/of.%t cat <<<never
    [ "$(sort <<<"$output" | paste -sd' ')" = "one zero" ]
    run -125 --separate-stderr mprun -q -n 3 --oversubscribe --stdin file:in/of.%r cat
    [[ $stderr == "mprun: start rank 2 on $(hostname): read standard input from 'in/of.2' in '$PWD': No such file or directory"* ]]
    run -125 --separate-stderr mprun -q -n 1 --stdin file:/no/such cat
    [[ $stderr == "mprun: start rank 0 on $(hostname): read standard input from '/no/such': No such file or directory" ]]
    mkfifo fifo
    run -0 --separate-stderr mprun -q -n 1 --stdin file:fifo cat
    [ -z "$output" ]
}

@test "a rank that does not read holds up no other with --stdin all" {
    make_data 3M
    run --separate-stderr mprun -n 3 --stdin all sh -c '[ $PMIX_RANK = 1 ] || md5sum' <data
    [ "$status" -eq 0 ]
    [ "$(sort -u <<<"$output" | cut -d' ' -f1)" = "$(sum <data)" ]
}

@test "a closed standard input and /dev/null are immediate ends" {
    run --separate-stderr mprun -n 1 wc -c </dev/null
    [ "$output" -eq 0 ]
    run --separate-stderr bash -c '"$MPRUN" -n 1 wc -c <&-'
    [ "$output" -eq 0 ]
}

@test "a shell loop over a file runs mprun once per line" {
    seq 5 >list
    while read -r x; do
        mprun -n 2 sh -c "[ \$PMIX_RANK = 1 ] || echo got $x"
    done <list >out
    [ "$(cat out)" = "$(seq -f 'got %g' 5)" ]
}

@test "a shell loop over a pipe runs mprun once per line" {
    seq 5 | while read -r x; do
        mprun -n 2 sh -c "[ \$PMIX_RANK = 1 ] || echo got $x"
    done >out
    [ "$(cat out)" = "$(seq -f 'got %g' 5)" ]
}

@test "what a rank reads is all that is taken from a file" {
    seq 100000 >list
    { mprun -n 1 sh -c 'read -r a; read -r b; echo "$a $b"'; head -n 1; } <list >out
    [ "$(cat out)" = $'1 2\n3' ]
    { mprun -n 1 head -c 300000 >taken; cat >rest; } <list
    cat taken rest | cmp - list
    [ "$(stat -c %s taken)" -eq 300000 ]
}

@test "what a rank reads is all that is taken from a pipe" {
    seq 100000 >list
    cat list | { mprun -n 1 sh -c 'read -r a; read -r b; echo "$a $b"'; head -n 1; } >out
    [ "$(cat out)" = $'1 2\n3' ]
    cat list | { mprun -n 1 dd bs=1 count=200001 status=none >taken; cat >rest; }
    [ "$(stat -c %s taken)" -eq 200001 ]
    cat taken rest | cmp - list
}

@test "lines that come one by one are passed on one by one" {
    mkfifo questions answers
    mprun -n 1 sh -c 'while read -r x; do echo "$x $x"; done' <questions >answers &
    exec 7>questions 8<answers
    for i in $(seq 50); do
        echo "$i" >&7
        read -r -t 10 got <&8
        [ "$got" = "$i $i" ]
    done
    exec 7>&-
    wait $!
    exec 8<&-
}

@test "a rank that closes its input early is no error" {
    make_data 4M
    run --separate-stderr bash -c 'cat data | "$MPRUN" -n 1 head -c 10 | wc -c'
    [ "$output" -eq 10 ]
    run --separate-stderr mprun -n 1 sh -c 'exec <&-; echo closed' <data
    [ "$status" -eq 0 ]
    [ "$output" = closed ]
}

@test "a socket is read no further than the rank reads" {
    needs_tool python3
    launcher -n 1 sh -c 'read -r x; echo "got $x"'
    run --separate-stderr python3 - "${LAUNCHER[@]}" <<'PY'
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
ours.sendall(b"first\nsecond\n")
subprocess.run(sys.argv[1:], stdin=theirs, timeout=60 * int(os.environ["MPRUN_TEST_SLOW"]), check=True)
print("left %s" % theirs.recv(100).decode().strip())
PY
    [ "$output" = $'got first\nleft second' ]
}

# ---- terminals -------------------------------------------------------------------------------------

upper='echo ready; while read -r x; do echo "$x" | tr a-z A-Z; done; echo end of input'

@test "a terminal is read while mprun is in the foreground" {
    launcher -n 2 sh -c "[ \$PMIX_RANK = 1 ] || { $upper; }"
    run "$PLAY" terminal "${LAUNCHER[@]}"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a terminal is not read in the background, and mprun is not stopped" {
    launcher -n 1 sh -c "$upper"
    run "$PLAY" background "${LAUNCHER[@]}"
    echo "$output"
    [ "$status" -eq 0 ]
}

# ---- several hosts ---------------------------------------------------------------------------------

@test "two hosts over encrypted TCP: 256 MiB out, 64 MiB in, exactly" {
    needs_not_transport stdio
    make_data 64M
    mprun --rm local:2 --transport tcp -n 2 --stdin 1 sh -c \
        'if [ $PMIX_RANK = 0 ]; then cat data data data data; else md5sum >in; fi' <data >out
    [ "$(cut -d' ' -f1 in)" = "$(sum <data)" ]
    cat data data data data | cmp - out
}
