#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# map-by-node.bats - ranks that do not follow each other on their hosts: seven of them go to three hosts in
# turn, so that host 0 has 0, 3 and 6, host 1 has 1 and 4, host 2 has 2 and 5
load '../lib/mprun'

MPRUN_TEST_LIMIT=60

TURNS=(--rm local:3 --oversubscribe --map-by node -n 7)
turns() { mprun "${TURNS[@]}" "$@"; }

setup_file() {
    local mpi
    for mpi in openmpi mpich; do
        if command -v "mpicc.$mpi" >/dev/null; then
            mpi_program world $mpi || return 1
        fi
    done
}

@test "every rank knows its host, its local rank and how many are there" {
    h=$(hostname)
    run -0 --separate-stderr turns -q \
        sh -c 'echo "$MPRUN_RANK $MPRUN_HOST_NAME $MPRUN_HOST_INDEX $MPRUN_LOCAL_RANK/$MPRUN_LOCAL_SIZE"'
    diff - <(sort <<<"$output") <<END_OF_RANKS
0 $h-0 0 0/3
1 $h-1 1 0/2
2 $h-2 2 0/2
3 $h-0 0 1/3
4 $h-1 1 1/2
5 $h-2 2 1/2
6 $h-0 0 2/3
END_OF_RANKS
}

@test "--bynode and --distribution=cyclic are the same; slots are respected" {
    show='echo $MPRUN_RANK:$MPRUN_HOST_INDEX'
    for option in --bynode --distribution=cyclic "--map-by node"; do
        # shellcheck disable=SC2086
        run -0 mprun -q --rm local:2 --oversubscribe $option -n 4 sh -c "$show"
        [ "$(sorted)" = "0:0 1:1 2:0 3:1 " ]
    done
    run -0 mprun -q --rm local:2 --oversubscribe --distribution=block -n 4 sh -c "$show"
    [ "$(sorted)" = "0:0 1:0 2:1 3:1 " ]
    run -0 mprun --host a:1,b:3,c:2 --map-by node --dry-run true
    [[ $output == *"6 ranks on 3 hosts in turn: 1 to 3 slots each (--host)"* ]]
    [[ $output == *"a: 1 slot (--host), rank 0"*"b: 3 slots (--host), ranks 1 to 5 in steps of 2"*"c: 2 slots (--host), ranks 2, 4"* ]]
    run -125 --separate-stderr mprun --host a:1,b:3 --map-by node -n 5 --dry-run true
    [[ $stderr == *"2 hosts have 4 slots (--host), 1 too few"* ]]
}

@test "--map-by seq starts a rank for each line of the host file, in their order" {
    printf 'b\na slots=2\na\nc\nb\n' >hosts
    run -0 mprun --hostfile hosts --map-by seq --dry-run true
    [[ $output == *"5 ranks on 3 hosts in sequence"* ]]
    [[ $output == *"b: 2 slots"*"ranks 0, 4"*"a: 3 slots"*"ranks 1 to 2"*"c: 1 slot"*"rank 3"* ]]
    run -0 mprun --hostfile hosts --map-by seq -n 2 --dry-run true
    [[ $output == *"2 ranks on 2 hosts in sequence"*"b: 2 slots"*"rank 0"*"a: 3 slots"*"rank 1"* ]]
    run -0 mprun --host c,a,c --map-by seq --dry-run -n 2 true : -n 1 true
    [[ $output == *"3 ranks on 2 hosts in sequence"* ]]
    run -125 --separate-stderr mprun --hostfile hosts --map-by seq -n 6 --dry-run true
    [[ $stderr == *"place 6 ranks in sequence: 5 hosts are named, of which each takes one"* ]]
    run -125 --separate-stderr mprun --rm local:2 --map-by seq --dry-run true
    [[ $stderr == *"--map-by seq: no host is named; write '--hostfile FILE' or '--host LIST'"* ]]
    run -125 --separate-stderr mprun --hostfile hosts --exclude c --map-by seq --dry-run true
    [[ $stderr == *"--map-by seq: 'c' is no host of this step"* ]]
    run -125 --separate-stderr mprun --hostfile hosts --map-by seq --rank-by node --dry-run true
    [[ $stderr == *"leave --rank-by out"* ]]
}

@test "output has the tags of its ranks, and any rank can have the input" {
    run -0 --separate-stderr turns -q --tag-output sh -c 'echo "is $MPRUN_RANK"'
    [ "$(sort <<<"$output")" = "$(for r in 0 1 2 3 4 5 6; do echo "[$r]<stdout>: is $r"; done)" ]
    for rank in 0 4 5 6; do
        run -0 --separate-stderr turns -q --tag-output --stdin "$rank" cat <<<"for $rank"
        [ "$output" = "[$rank]<stdout>: for $rank" ]
    done
    run -0 --separate-stderr turns -q --tag-output --stdin all cat <<<"for all"
    [ "$(sort <<<"$output")" = "$(for r in 0 1 2 3 4 5 6; do echo "[$r]<stdout>: for all"; done)" ]
}

@test "a rank that fails is named with its host, and the report has each rank on its host" {
    h=$(hostname)
    run -3 --separate-stderr turns -q sh -c '[ $MPRUN_RANK != 4 ] || exit 3; exec sleep 1000'
    [[ $stderr == *"rank 4 on $h-1 (pid "*") exited with code 3"* ]]
    run -0 turns -q --report-json report sh -c 'head -c $((100000 * (MPRUN_RANK + 1))) /dev/zero >/dev/null'
    python3 - "$h" <<'END_OF_PYTHON'
import json, os, sys
report = json.load(open("report"))
for rank, row in enumerate(report["ranks"]):
    assert row["rank"] == rank and row["host"] == "%s-%d" % (sys.argv[1], rank % 3), row
    read = row["usage"].get("read_bytes")
    if read is None and os.getuid() != 0:  # what a rank of an ordinary user has read is not always to be had at its end
        continue
    assert 100000 * (rank + 1) <= read < 100000 * (rank + 2), row
assert [h["ranks"] for h in report["hosts"]] == [3, 2, 2]
END_OF_PYTHON
}

@test "programs of several, with an end in the midst of a turn" {
    run -0 --separate-stderr mprun -q --rm local:3 --oversubscribe --map-by node \
        -n 4 sh -c 'echo "a $MPRUN_RANK $MPRUN_HOST_INDEX"' : -n 3 sh -c 'echo "b $MPRUN_RANK $MPRUN_HOST_INDEX"'
    [ "$(sorted)" = "a 0 0 a 1 1 a 2 2 a 3 0 b 4 1 b 5 2 b 6 0 " ]
}

@test "hosts that are reached through others have their ranks, too" {
    needs_not_transport stdio
    run -0 --separate-stderr mprun -q --rm local:7 --fanout 2 --oversubscribe --map-by node -n 16 --tag-output \
        sh -c 'echo $MPRUN_HOST_INDEX $MPRUN_LOCAL_RANK'
    [ "$(sort -V <<<"$output")" = "$(for r in $(seq 0 15); do echo "[$r]<stdout>: $((r % 7)) $((r / 7))"; done)" ]
}

# ---- PMIx and PMI-1 -----------------------------------------------------------------------------

# libpmix leaks a few bytes in a client, which a build with sanitizers would report
LIBRARY_LEAKS="-x ASAN_OPTIONS=detect_leaks=0"

@test "PMIx: peers, maps and each rank's place are those of the turns" {
    probe=$MPRUN_BUILD/tests/system/pmix-probe
    [ -x "$probe" ]
    h=$(hostname)
    run -0 --separate-stderr turns -q --tag-output $LIBRARY_LEAKS "$probe" map
    for rank in 0 4 5; do
        sed -n "s/^\[$rank\]<stdout>: //p" <<<"$output" >seen
        case $((rank % 3)) in
        0) echo "peers 0,3,6 leader 0" ;;
        1) echo "peers 1,4 leader 1" ;;
        2) echo "peers 2,5 leader 2" ;;
        esac >wanted
        for r in 0 1 2 3 4 5 6; do
            echo "$r $h-$((r % 3)) local $((r / 3)) app-rank $r"
        done >>wanted
        printf '%s\n' "$h-0: 0 3 6" "$h-1: 1 4" "$h-2: 2 5" >>wanted
        diff wanted seen
    done
}

@test "PMIx: the data of a rank is fetched from its host" {
    for rank in 4 6; do
        run -0 --separate-stderr turns -q $LIBRARY_LEAKS "$MPRUN_BUILD/tests/system/pmix-probe" modex $((5000 + rank)) $rank
        [ "$output" = "$(printf "got $((5000 + rank))\n%.0s" 1 2 3 4 5 6 7)" ]
    done
}

@test "PMI-1: the mapping repeats a turn, or counts parts where hosts are full" {
    # shellcheck disable=SC2016
    mapping='open F, "+<&=", $ENV{PMI_FD} or die;
        sub ask { syswrite F, "$_[0]\n"; sysread F, my $a, 2000; $a }
        ask("cmd=init pmi_version=1 pmi_subversion=1");
        ask("cmd=get_my_kvsname") =~ /kvsname=(\S+)/ or die;
        ask("cmd=get kvsname=$1 key=PMI_process_mapping") =~ /value=(.*)/ and print "$1\n"; ask("cmd=finalize")'
    run -0 --separate-stderr turns -q --pmi pmi1 perl -e "$mapping"
    [ "$(sort -u <<<"$output")" = "(vector,(0,3,1))" ]
    run -0 --separate-stderr mprun -q --rm local:3 --oversubscribe -n 6 --pmi pmi1 perl -e "$mapping"
    [ "$(sort -u <<<"$output")" = "(vector,(0,3,2))" ]
}

# world MPI: every rank talks to every other, and shares memory with those of its host alone
world() {
    local program rank wanted
    needs_mpicc "$1"
    program=$(mpi_program world "$1")
    mkdir marks
    run --separate-stderr turns -q "$program" marks
    printf '%s\n' "exit code $status" "$output" "$stderr"
    [ "$status" -eq 0 ]
    for rank in 0 1 2 3 4 5 6; do
        wanted=$((rank % 3 ? 2 : 3))
        grep -qx "rank $rank of 7 app 0 shared $wanted ok" <<<"$output"
    done
    [ -z "$stderr" ]
}

@test "Open MPI: ranks in turn are one world" {
    world openmpi
}

@test "MPICH: ranks in turn are one world" {
    world mpich
}
