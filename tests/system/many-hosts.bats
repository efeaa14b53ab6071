#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# many-hosts.bats - eight hosts with networks of their own, linked as a tree of fan-out two
load '../lib/mprun'
load '../lib/hosts'

setup_file() { hosts_setup 8 --sshd; }
teardown_file() { hosts_teardown; }
setup() {
    mprun_setup
    needs_hosts
}
teardown() {
    mprun_teardown || return 1
    [ -n "${HOSTS_DIR:-}" ] || return 0
    open_firewall n0
    open_firewall n1
    hosts_clean
}

ALL=n0,n1,n2,n3,n4,n5,n6,n7
tree() { on n0 mprun --host $ALL --fanout 2 "$@"; }
# what mprun says of each step by ssh
loose='hosts are started by'

# firewall HOST VERDICT: new connections to it are refused or dropped, but for ssh
firewall() {
    needs_tool nft
    on_root "$1" nft "add table inet f; add chain inet f in { type filter hook input priority 0; };
        add rule inet f in ct state new tcp dport != 22 iifname != lo $2" || skip "this kernel filters no packets"
}
# on all hosts, in the background
start_sleepers() {
    local i
    on_start n0 mprun --host $ALL --fanout 2 "$@" sleep 1000
    for i in 0 1 2 3 4 5 6 7; do
        wait_until 20 on_root n$i pgrep -x -f 'sleep 1000' >/dev/null || return 1
    done
}
open_firewall() { ! command -v nft >/dev/null || on_root "$1" nft flush ruleset; }

@test "every host runs its rank, and only two are linked to mprun" {
    run -0 --separate-stderr tree --tag-output hostname
    [ "$(sort <<<"$output")" = "$(for i in 0 1 2 3 4 5 6 7; do echo "[$i]<stdout>: n$i"; done)" ]
    [ "$(grep -vc "$loose" <<<"$stderr")" -eq 0 ]
    # ports of mprun's door: how many have come in
    start_sleepers
    on_root n0 ss -Htlnp | grep '"mprun"' | grep -o ':[0-9]* ' | sort -u >doors
    [ "$(on_root n0 ss -Htnp state established | grep '"mprun"' | grep -c -F -f doors)" -eq 2 ]
    on_signal TERM
    code=0
    on_wait || code=$?
    [ "$code" -eq 143 ]
}

@test "output of all hosts is complete" {
    tree --tag-output seq 1 30000 >out 2>/dev/null
    for rank in 0 1 2 3 4 5 6 7; do
        sed -n "s/^\[$rank\]<stdout>: //p" out | cmp - <(seq 1 30000)
    done
}

@test "input reaches a rank three levels down" {
    head -c 3000000 /dev/urandom >in
    tree --stdin 7 sh -c '[ $MPRUN_RANK != 7 ] || exec cat' <in >out 2>/dev/null
    cmp in out
}

@test "MPI across eight hosts" {
    needs_mpicc
    cp "$(mpi_program world)" "$HOSTS_DIR/shared/world"
    rm -rf "$HOSTS_DIR/shared/marks" && mkdir -m 777 "$HOSTS_DIR/shared/marks"
    HOSTS_TEST_LIMIT=90 run --separate-stderr tree "$HOSTS_DIR/shared/world" "$HOSTS_DIR/shared/marks"
    echo "code $status: $output $stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank [0-9] of 8 app 0 shared 1 ok$' <<<"$output")" -eq 8 ]
}

@test "abort on the last host ends all, with its code and the host's name" {
    needs_mpicc
    cp "$(mpi_program ending)" "$HOSTS_DIR/shared/ending"
    HOSTS_TEST_LIMIT=90 run -9 --separate-stderr tree "$HOSTS_DIR/shared/ending" after 7 abort 9
    [[ $stderr == *"rank 7 on n7"* ]]
}

@test "a firewall that refuses connections to mprun: the start channels are used, and that is said once" {
    firewall n0 'reject with tcp reset'
    run -0 --separate-stderr tree hostname
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "n0 n1 n2 n3 n4 n5 n6 n7 " ]
    [ "$(grep -c 'cannot be reached from n[1-7] (.*Connection refused.*) and 6 others: the start channel is used' <<<"$stderr")" -eq 1 ]
    run -125 --separate-stderr on n0 mprun --transport tcp --host n0,n1 hostname
    [[ $stderr == *"host n1: "*"Connection refused"* ]]
}

@test "a firewall that drops them: the same, after a while" {
    firewall n0 drop
    HOSTS_TEST_LIMIT=60 run -0 --separate-stderr on n0 mprun --host n0,n1,n2 hostname
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "n0 n1 n2 " ]
    [[ $stderr == *"cannot be reached from n"[12]" ("*"timed out"*"the start channel is used"* ]]
}

@test "a firewall between hosts: who cannot reach the host above stays with mprun" {
    firewall n1 'reject with tcp reset'
    run -0 --separate-stderr tree --verbose hostname
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "n0 n1 n2 n3 n4 n5 n6 n7 " ]
    [[ $stderr == *"host n4 stays linked to mprun itself: "*"Connection refused"* ]]
    [[ $stderr != *"host n2 stays linked"* ]]
}

# HOST: where processes of a step listen there, "ADDRESS PORT" a line
doors() {
    on_root "$1" ss -Htlnp | grep -E '"(mprun|mpstarter)"' | grep -v ' 127\.0\.0\.1:' | awk '{ print $4 }' | sed -E 's/:([0-9]+)$/ \1/; s/^[][*]+ /127.0.0.1 /; s/[][]//g'
}

@test "--port-range holds for the doors of starters, too" {
    start_sleepers --port-range 40100-40120
    for i in 0 1 2; do doors n$i; done >open
    cat open
    [ "$(wc -l <open)" -ge 4 ]
    while read -r _ port; do ((port >= 40100 && port <= 40120)); done <open
    # those without hosts below have no door at all
    for i in 3 4 5 6 7; do [ -z "$(doors n$i)" ]; done
    on_signal TERM
    on_wait || :
}

@test "strangers at every door do nothing to a step" {
    local visited=$HOSTS_DIR/shared/visited rank lines
    rm -f "$visited"
    on_start n0 mprun --host $ALL --fanout 2 --tag-output \
        sh -c 'i=0; until [ -e "$0" ]; do i=$((i+1)); echo $i; sleep 0.1; done; echo "after $i"' "$visited"
    wait_until 20 on_root n2 pgrep -x mppmi >/dev/null
    wait_until 20 eval '[ -n "$(doors n2)" ]'
    for host in n0 n1 n2; do
        doors $host | while read -r address port; do
            on_root $host bash -c "for i in {1..30}; do (exec 3<>/dev/tcp/$address/$port && head -c 300 /dev/urandom >&3) 2>/dev/null; done; exec 4<>/dev/tcp/$address/$port; printf 'mprun\0\r\n' >&4"
        done
    done
    touch "$visited"
    code=0
    on_wait || code=$?
    cat "$ON_ERR"
    [ "$code" -eq 0 ]
    for rank in 0 1 2 3 4 5 6 7; do
        sed -n "s/^\[$rank\]<stdout>: //p" "$ON_OUT" >said
        lines=$(sed -n 's/^after //p' said)
        cmp said <(seq 1 "$lines" && echo "after $lines")
    done
}

@test "--transport=stdio opens no port on any host" {
    on_start n0 mprun --host $ALL --transport=stdio sleep 1000
    for i in 0 1 2 3 4 5 6 7; do
        wait_until 20 on_root n$i pgrep -x -f 'sleep 1000' >/dev/null
        doors n$i >open
        cat "$ON_ERR" open
        [ ! -s open ]
    done
    on_signal TERM
    on_wait || :
}

# bats test_tags=long
@test "hpcc over four hosts: it says Success, and no residual fails" {
    needs_long
    needs_tool hpcc
    rm -rf "$HOSTS_DIR/shared/hpcc" && mkdir -m 777 "$HOSTS_DIR/shared/hpcc"
    cp /usr/share/doc/hpcc/examples/_hpccinf.txt "$HOSTS_DIR/shared/hpcc/hpccinf.txt"
    HOSTS_TEST_LIMIT=250 run -0 --separate-stderr on n0 sh -c "cd '$HOSTS_DIR/shared/hpcc' && OMPI_MCA_pml=ob1 \
        OMPI_MCA_mpi_yield_when_idle=1 exec '$MPRUN' --containment=tree --host n0,n1,n2,n3 --fanout 2 hpcc"
    grep -q '^Success=1' "$HOSTS_DIR/shared/hpcc/hpccoutf.txt"
    ! grep -q FAILED "$HOSTS_DIR/shared/hpcc/hpccoutf.txt" || false
}

@test "a starter dies in the middle of the tree: the step ends and names it, nothing stays" {
    start_sleepers
    on_root n2 sh -c 'kill -KILL $(pgrep -n -x mpstarter)' # the worker is the newer one
    code=0
    on_wait || code=$?
    echo "code $code: $(cat "$ON_ERR")"
    [ "$code" -eq 125 ]
    grep -q 'host n2: ' "$ON_ERR"
    hosts_clean
}
