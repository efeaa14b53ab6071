#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-session.bats - mprun at the terminal of a job: qlogin, and qrsh without a command
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup --set queue:notify=3; }
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
type $MPRUN_BUILD/tools/mprsrc; echo "its co\\de \$?"\r
wait its co.?de \d
PLAY
    echo "$output"
    for host in n1 n2 n3; do
        [ "$(grep -c "rank on $host" <<<"$output")" -eq 2 ]
    done
    [[ $output == *"de 0"*"SGE_RESOURCE_HOSTS=('n"[123]"' 'n"[123]"' 'n"[123]"')"*"de 0"* ]]
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
    run session qlogin -now no -pe lab 4 <<PLAY
type $MPRUN sh -c 'echo beg\\\\un; exec sleep 1000'; echo "co\\de \$?"\r
wait (begun(\\s|\x1b\[K)+){4}
look 4 of 4 ranks started.*again within 1 s to end it(\s|\x1b\[K)+mprun: all ranks: CPU time [0-9.]+ s so far .*now memory .* 4 processes
end co.?de 130
type echo still he\\\\re\r
wait still here
PLAY
    echo "$output"
    [ "$status" -eq 0 ] || code_is_lost
}

@test "^Z stops the ranks on all hosts, fg continues them" {
    run session qrsh -now no -pe lab 4 <<PLAY
type $MPRUN sh -c 'trap "echo conti\\\\nued" CONT; echo beg\\\\un; while :; do sleep 0.1; done'\r
wait (begun(\\s|\x1b\[K)+){4}
type \x1a
wait Stopped
type fg\r
wait continued\\s+continued\\s+continued\\s+continued
type \x03
wait again within 1 s
end [$] $
PLAY
    echo "$output"
    [ "$status" -eq 0 ] || code_is_lost
}

@test "--pty: a rank at the session's terminal has its size" {
    run session qrsh -now no -pe lab 4 <<PLAY
type $MPRUN --quiet --pty -n 1 bash --norc; echo "co\\de \$?"\r
wait bash-.*[$] $
size 50 132
type while [ "\$(stty size)" = '24 80' ]; do sleep 0.1; done; stty size\r
wait 50 132
type exit 3\r
wait co.?de 3
PLAY
    echo "$output"
    [ "$status" -eq 0 ] || code_is_lost
}

@test "qrsh -pty y: the job's tasks have terminals, and start as any" {
    cat >"$HOSTS_DIR/shared/script" <<SCRIPT
for transport in auto tcp stdio; do
    $MPRUN --quiet --containment=tree --transport=\$transport hostname | sort | tr '\n' ' '
done
head -c 100000 /dev/urandom >/tmp/input
$MPRUN --quiet --containment=tree --transport=stdio --stdin 5 sh -c '[ \$MPRUN_RANK != 5 ] || cat' </tmp/input | cmp - /tmp/input && echo same
rm /tmp/input
$MPRUN --quiet --containment=tree sh -c 'exit 7'
echo "code \$?"
SCRIPT
    run on_terminal n0 qrsh -pty y -now no -pe lab 6 sh "$HOSTS_DIR/shared/script" <<<'wait code 7'
    echo "$output"
    [[ $output == *"n1 n1 n2 n2 n3 n3 n1 n1 n2 n2 n3 n3 n1 n1 n2 n2 n3 n3 same"* ]]
    # nothing of what is sent to the starters
    [[ $output != *said* ]]
    [[ $output != *mprun-start* ]]
}

# deleted QRSH...: the job of this, by somebody else, while a rank has its terminal
deleted() {
    local dir player
    dir=$(mktemp -d "$HOSTS_DIR/shared/pty.XXXXXX") && chmod 777 "$dir"
    printf '%s\n' '#!/bin/bash' '(setsid sleep 777 &)' '[ ! -t 0 ] || touch "$0.begun"' \
        'while :; do sleep 0.2; done' >"$dir/rank"
    chmod 755 "$dir/rank"
    printf '%s\n' "stty -g >$dir/before" "$*" "stty -g >$dir/after" >"$dir/user"
    on_terminal n0 sh "$dir/user" <<PLAY >"$dir/shown" 2>&1 3>&- &
wait [$] $
type $MPRUN --containment=tree --pmi none --verbose --pty -n 4 $dir/rank 2>$dir/err\r
PLAY
    player=$!
    if ! wait_until 40 test -e "$dir/rank.begun"; then
        kill $player
        wait $player || true
        cat "$dir/shown" "$dir/err"
        return 1
    fi
    on n0 qdel -u labuser
    wait $player || true
    cat "$dir/shown"
    cmp "$dir/before" "$dir/after"
    nothing_left
    hosts empty # its slots may be taken yet
}

@test "--pty: when the job is deleted, with -notify or without, the terminal is as before, and nothing is left" {
    deleted qrsh -now no -pe lab 4
    # qrsh_starter gives its command the terminal a moment after it has begun: a shell that looks before stops for good
    cat >"$HOSTS_DIR/shared/shell" <<'SHELL'
#!/bin/sh
until [ "$(ps -o tpgid= -p $$)" = "$(ps -o pgid= -p $$)" ]; do sleep 0.05; done
exec bash --norc
SHELL
    chmod 755 "$HOSTS_DIR/shared/shell"
    deleted qrsh -notify -pty y -now no -pe lab 4 "$HOSTS_DIR/shared/shell"
}

@test "the article's third example: nine ranks in a session with little memory; Grid Engine ends them, and writes which amount exceeded which limit" {
    ge_set queue:slots=3
    cat >"$HOSTS_DIR/shared/memtest" <<'EOF'
#!/usr/bin/perl
use Sys::Hostname;
$| = 1;
printf "Rank %d on %s: allocating %d Mbytes\n", $ENV{MPRUN_RANK}, hostname(), $ARGV[0];
$memory = "x" x ($ARGV[0] << 20);
sleep 600;
EOF
    chmod 755 "$HOSTS_DIR/shared/memtest"
    # virtual memory is what Grid Engine limits, for each slot
    run session qlogin -now no -pe lab 9 -l h_vmem=60M <<PLAY
type PATH=$MPRUN_BUILD/launcher:$HOSTS_DIR/shared:\$PATH\r
wait [$] $
type mprun -np 9 memtest 50\r
wait Rank \d on n[123]: allocating 50 Mbytes
PLAY
    echo "$output"
    wait_until 20 limit_is_exceeded
}
limit_is_exceeded() { hosts messages | grep -Eq 'exceeds job hard limit "h_vmem" of queue .*\([0-9.]+ > limit:188743680'; }
