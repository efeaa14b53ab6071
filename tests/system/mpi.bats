#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mpi.bats - what MPI programs are promised: one world on one and several hosts, with Open MPI over
# PMIx and MPICH over PMI-1, and an end for every rank that ends when it should not
load '../lib/mprun'

# ranks of MPIs poll while they wait: where they are more than cores they take their time
MPRUN_TEST_LIMIT=60

# compiled before the first test, where the build directory can be written
setup_file() {
    local mpi
    for mpi in openmpi mpich; do
        if command -v "mpicc.$mpi" >/dev/null; then
            mpi_program world $mpi && mpi_program ending $mpi || return 1
        fi
    done
}

# A directory that is empty, for the files of `world`.
fresh() {
    rm -rf marks && mkdir marks && echo "$PWD/marks"
}

# one_world MPI RANKS HOSTS [OPTION...]: every rank of `world` is in one world, and says so
one_world() {
    local mpi=$1 ranks=$2 hosts=$3 world dir rank
    shift 3
    world=$(mpi_program world "$mpi") && dir=$(fresh)
    run --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n "$ranks" "$@" "$world" "$dir"
    printf '%s\n' "$mpi, $ranks ranks on $hosts hosts $*: exit code $status" "$output" "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c "^rank [0-9]* of $ranks app 0 shared $((ranks / hosts)) ok$" <<<"$output")" -eq "$ranks" ]
    [ "$(sort -u <<<"$output" | wc -l)" -eq "$ranks" ]
    [ -z "$stderr" ]
}

# ends CODE SENTENCE HOSTS ARGUMENT...: `ending` ends with CODE, and mprun says SENTENCE (a pattern)
ends() {
    local code=$1 sentence=$2 hosts=$3
    shift 3
    # nothing is left to the grace: with it they would not end in time
    began
    run --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe --kill-grace "$(patience 50)" -n 4 "$program" "$@"
    printf '%s\n' "$hosts hosts, $*: exit code $status after $((SECONDS - BEGAN)) s" "$output" "$stderr"
    [ "$status" -eq "$code" ]
    ended_within "$ENDS_WITHIN"
    [ "$(grep -c "^mprun: " <<<"$stderr")" -eq 1 ]
    # shellcheck disable=SC2053
    [[ $(grep "^mprun: " <<<"$stderr") == mprun:\ $sentence ]]
}
# half a second is typical, of two on a busy machine up to 3 (ending.c)
ENDS_WITHIN=20

# rank_on RANK HOST: how mprun names it (in a pattern)
rank_on() { echo "rank $1 on $(hostname)-$2 (pid +([0-9]))"; }

# ---- Open MPI -----------------------------------------------------------------------------------

@test "Open MPI: 1, 2, 4 and 16 ranks on 1, 2 and 4 hosts are one world" {
    needs_mpicc openmpi
    for case in "1 1" "2 1" "4 1" "16 1" "2 2" "4 2" "16 2" "4 4" "16 4"; do
        # shellcheck disable=SC2086
        one_world openmpi $case
    done
}

@test "Open MPI: 64 ranks on 4 hosts are one world" {
    needs_mpicc openmpi
    one_world openmpi 64 4
}

# bats test_tags=long
@test "Open MPI: 64 ranks on 1 and 2 hosts are one world" {
    needs_long
    needs_mpicc openmpi
    one_world openmpi 64 1
    one_world openmpi 64 2
}

@test "Open MPI: data that is asked for when it is needed (direct modex) arrives from all hosts" {
    needs_mpicc openmpi
    for case in "4 1" "4 2" "16 2" "16 4"; do
        # shellcheck disable=SC2086
        one_world openmpi $case -x OMPI_MCA_pmix_base_collect_data=0
    done
    # And while the others are still at their part of it. Not with several ranks on a host: what a
    # rank of the same host has not put yet is "not found" to Open MPI 4.1 then, with any launcher.
    for hosts in 2 4; do
        one_world openmpi $hosts $hosts -x OMPI_MCA_pmix_base_async_modex=1
        one_world openmpi $hosts $hosts -x OMPI_MCA_pmix_base_async_modex=1 -x OMPI_MCA_pmix_base_collect_data=0
    done
}

# bats test_tags=root
@test "Open MPI: an ordinary user has one world, too" {
    needs_root
    needs_mpicc openmpi
    program=$(mpi_program world)
    run run_as_user mprun --rm local:2 --oversubscribe -n 4 "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' of 4 app 0 shared 2 ok$' <<<"$output")" -eq 4 ]
}

@test "MPMD: the ranks of two programs are one world, and each knows its program's number" {
    for mpi in openmpi mpich; do
        command -v mpicc.$mpi >/dev/null || continue
        program=$(mpi_program world $mpi)
        cp "$program" other
        # with the second program on both hosts
        run -0 --separate-stderr mprun --rm local:2 --oversubscribe -N 3 -n 2 "$program" : -n 4 ./other
        [ "$(grep ok <<<"$output" | sort)" = "rank 0 of 6 app 0 shared 3 ok
rank 1 of 6 app 0 shared 3 ok
rank 2 of 6 app 1 shared 3 ok
rank 3 of 6 app 1 shared 3 ok
rank 4 of 6 app 1 shared 3 ok
rank 5 of 6 app 1 shared 3 ok" ]
    done
    [ -e other ] || skip "needs mpicc.openmpi or mpicc.mpich"
}

@test "launchers that a step starts run their programs: mprun, mpiexec.hydra, and mpirun with --pmi none" {
    needs_mpicc openmpi
    command -v mpirun.openmpi >/dev/null && command -v mpiexec.hydra >/dev/null || skip "needs mpirun.openmpi and mpiexec.hydra"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    program=$(mpi_program world)
    for launcher in "$MPRUN -q --oversubscribe" "mpirun.openmpi --oversubscribe"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun --pmi none -n 1 $launcher -n 2 "$program"
        [ "$(grep -c ' of 2 app 0 shared 2 ok$' <<<"$output")" = 2 ]
    done
    run -0 --separate-stderr mprun -n 1 "$MPRUN" -q --oversubscribe -n 2 "$program"
    [ "$(grep -c ' of 2 app 0 shared 2 ok$' <<<"$output")" = 2 ]
    # Hydra may die of a SIGPIPE where its rank 0 ends before it has read its input; other ranks never see an end of theirs
    run -0 --separate-stderr mprun -n 1 mpiexec.hydra -n 2 sh -c '[ $PMI_RANK = 1 ] || cat; echo $PMI_RANK of $PMI_SIZE'
    [ "$(sort <<<"$output")" = "0 of 2
1 of 2" ]
}

@test "ranks find their place in the variables of mprun, Open MPI, PMIx and PMI-1" {
    run -0 --separate-stderr mprun --rm local:2 --oversubscribe -n 5 sh -c 'env >env.$MPRUN_RANK'
    for rank in 0 1 2 3 4; do
        host=$((rank > 2)) local_rank=$((rank % 3)) local_size=$((rank > 2 ? 2 : 3))
        while IFS="=" read -r name value; do
            grep -qxF "$name=$value" env.$rank || { echo "rank $rank: $name is not $value"; grep "^$name" env.$rank; false; }
        done <<END
MPRUN_RANK=$rank
MPRUN_SIZE=5
MPRUN_LOCAL_RANK=$local_rank
MPRUN_LOCAL_SIZE=$local_size
MPRUN_HOST_INDEX=$host
MPRUN_HOSTS=2
MPRUN_HOST_NAME=$(hostname)-$host
MPRUN_WORLD=0
MPRUN_INCARNATION=0
OMPI_COMM_WORLD_RANK=$rank
OMPI_COMM_WORLD_SIZE=5
OMPI_COMM_WORLD_LOCAL_RANK=$local_rank
OMPI_COMM_WORLD_LOCAL_SIZE=$local_size
OMPI_COMM_WORLD_NODE_RANK=$local_rank
OMPI_UNIVERSE_SIZE=5
OMPI_NUM_APP_CTX=1
OMPI_FIRST_RANKS=0
OMPI_APP_CTX_NUM_PROCS=5
OMPI_MCA_initial_wdir=$PWD
PMIX_RANK=$rank
PMIX_HOSTNAME=$(hostname)-$host
PMI_RANK=$rank
PMI_SIZE=5
MPI_LOCALRANKID=$local_rank
MPI_LOCALNRANKS=$local_size
END
    done
    # one name for all, and a server on each host
    [ "$(cat env.* | grep '^PMIX_NAMESPACE=' | sort | uniq -c | awk '{print $1}')" = 5 ]
    [ "$(cat env.* | grep '^PMIX_SERVER_URI2=' | sort | uniq -c | awk '{print $1}' | sort | paste -sd' ')" = "2 3" ]
    [ "$(cat env.* | grep -c '^MPRUN_STEP_ID=')" -eq 5 ]
    [ "$(cat env.* | grep '^MPRUN_STEP_ID=' | sort -u | wc -l)" -eq 1 ]
}

@test "Open MPI: MPI_Abort ends the step with its code, and mprun names the rank and its host" {
    needs_mpicc openmpi
    program=$(mpi_program ending)
    ends 7 "$(rank_on 3 1) called abort with code 7; the other ranks are ended" 2 after 3 abort 7
    ends 42 "$(rank_on 0 0) called abort with code 42; *" 1 after 0 abort 42
    # what exit() cuts to 0 is no success
    ends 1 "$(rank_on 1 1) called abort with code 512 (1 as an exit code); *" 4 after 1 abort 512
    # 0 is what the program wants, as under other launchers: OpenCoarrays' STOP is such an abort
    ends 0 "$(rank_on 2 1) called abort with code 0; *" 2 after 2 abort 0
}

@test "Open MPI: a rank that dies before, in or after MPI_Init, or after MPI_Finalize, ends all" {
    needs_mpicc openmpi
    program=$(mpi_program ending)
    for hosts in 1 2 4; do
        on=$((hosts == 1 ? 0 : hosts == 2 ? 1 : 2))
        ends 3 "$(rank_on 2 $on) exited with code 3; the other ranks are ended" $hosts before 2 exit 3
        ends 139 "$(rank_on 2 $on) was killed by signal 11 (Segmentation fault)*" $hosts before 2 signal 11
        ends 5 "$(rank_on 2 $on) exited with code 5; *" $hosts in 2 exit 5
        ends 137 "$(rank_on 2 $on) was killed by signal 9 (Killed); *" $hosts in 2 signal 9
        ends 6 "$(rank_on 2 $on) exited with code 6; *" $hosts after 2 exit 6
        ends 137 "$(rank_on 2 $on) was killed by signal 9 (Killed); *" $hosts after 2 signal 9
        ends 4 "$(rank_on 2 $on) exited with code 4; *" $hosts late 2 exit 4
    done
}

@test "Open MPI: exit without MPI_Finalize is exit code 1 and a sentence" {
    needs_mpicc openmpi
    program=$(mpi_program ending)
    ends 1 "$(rank_on 1 0) exited after MPI_Init without MPI_Finalize; the other ranks are ended" 1 after 1 leave
    ends 1 "$(rank_on 2 1) exited after MPI_Init without MPI_Finalize; *" 2 in 2 exit 0
    ends 1 "$(rank_on 3 3) exited after MPI_Init without MPI_Finalize; *" 4 after 3 leave
    run -0 --separate-stderr mprun -q -n 2 --oversubscribe "$program" late 1 leave
    [ -z "$stderr" ]
}

@test "Open MPI: exit 0 without the MPI_Init that others wait in is exit code 1 and a sentence" {
    needs_mpicc openmpi
    program=$(mpi_program ending)
    for hosts in 1 2 4; do
        on=$((hosts == 1 ? 0 : hosts - 1))
        ends 1 "$(rank_on 3 $on) exited without MPI_Init, in which other ranks wait for it; the other ranks are ended" \
            $hosts before 3 leave
    done
    # after the others have come to it
    mkfifo gate
    cat >late.sh <<'END'
echo $$ >pid.$MPRUN_RANK
[ "$MPRUN_RANK" = 0 ] || exec "$1" before 9 leave
read -r x <gate
END
    mprun_start --rm local:2 --oversubscribe -n 4 sh late.sh "$program"
    wait_until 15 in_mpi_init 1 2 3
    echo >gate
    code=0
    mprun_wait || code=$?
    [ "$code" -eq 1 ]
    grep -q "rank 0 on $(hostname)-0 (pid [0-9]*) exited without MPI_Init" "$MPRUN_ERR"
}

# Have these ranks begun MPI_Init? PMIx has a thread of its own.
in_mpi_init() {
    local rank pid
    for rank in "$@"; do
        pid=$(cat pid."$rank" 2>/dev/null) && [ -n "$pid" ] || return 1
        [ "$(ls /proc/"$pid"/task 2>/dev/null | wc -l)" -ge 2 ] || return 1
    done
}

# ---- MPICH --------------------------------------------------------------------------------------

@test "MPICH: ranks on 1, 2 and 4 hosts are one world, without any option" {
    needs_mpicc mpich
    for case in "1 1" "4 1" "4 2" "4 4" "16 4"; do
        # shellcheck disable=SC2086
        one_world mpich $case
    done
    one_world mpich 4 2 --pmi pmi1
}

@test "MPICH: aborts, deaths and a missing MPI_Finalize end the step as with Open MPI" {
    needs_mpicc mpich
    program=$(mpi_program ending mpich)
    ends 7 "$(rank_on 3 1) called abort with code 7; the other ranks are ended" 2 after 3 abort 7
    ends 3 "$(rank_on 2 1) exited with code 3; *" 2 before 2 exit 3
    ends 137 "$(rank_on 2 0) was killed by signal 9 (Killed); *" 1 in 2 signal 9
    ends 137 "$(rank_on 1 0) was killed by signal 9 (Killed); *" 2 after 1 signal 9
    ends 1 "$(rank_on 2 1) exited after MPI_Init without MPI_Finalize; *" 2 in 2 exit 0
    ends 1 "$(rank_on 3 1) exited without MPI_Init, in which other ranks wait for it; *" 2 before 3 leave
    ends 4 "$(rank_on 2 1) exited with code 4; *" 2 late 2 exit 4
}

@test "PMI-1: a rank that does not read its answers is not listened to, and what a rank leaves behind stops nobody" {
    # 64 MiB of questions: sooner or later nothing more is taken
    run -0 mprun -n 1 --pmi pmi1 perl -e '
        use Fcntl; $| = 1;
        open F, "+<&=", $ENV{PMI_FD} or die; fcntl F, F_SETFL, O_NONBLOCK or die;
        for ($n = 0; $n < 64 << 20;) {
            $w = ""; vec($w, fileno F, 1) = 1;
            select undef, $w, undef, 1 or exit 0;
            $n += syswrite F, "cmd=get_maxes\n" x 1000 or $!{EAGAIN} or die
        }
        exit 1'
    # the other rank is served while the first one, which has ended, asks on
    run -0 --separate-stderr mprun -n 2 --oversubscribe --pmi pmi1 perl -e '
        open F, "+<&=", $ENV{PMI_FD} or die;
        sub ask { syswrite F, "cmd=get_maxes\n" or exit 1; sysread F, my $answer, 1000; $answer }
        if ($ENV{MPRUN_RANK} == 0) {
            pipe R, W;
            if (!fork) { setpgrp; open G, ">", "asks"; close W; 1 while ask }
            close W; 1 until -e "asks"; exit 0
        }
        1 until -e "asks"; for (1 .. 2000) { ask =~ /maxes/ or die } print "served\n"'
    echo "$stderr"
    [ "$output" = served ]
}

# ---- other users --------------------------------------------------------------------------------

# What any user can read of it: arguments of processes, names of files, names of sockets.
visible_to_others() {
    run_as_user sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "
        find /tmp /dev/shm /run /var/tmp 2>/dev/null
        cat /proc/net/unix' 2>/dev/null
}

# stranger HOW NAME=VALUE...: as another user, with nothing but these variables of PMIx
stranger() {
    local how=$1
    shift
    run run_as_user env "$@" timeout -k 1 "$(patience 20)" "$PROBE" "$how"
}

# bats test_tags=root
@test "another user cannot join a namespace that it does not know, and does not see its name" {
    needs_root
    needs_mpicc openmpi
    needs_tool pkg-config
    PROBE=$MPRUN_TEST_TOP/stranger
    # shellcheck disable=SC2046
    cc -O1 -o "$PROBE" "$MPRUN_SOURCE/tests/system/mpi/stranger.c" $(pkg-config --cflags --libs pmix)
    chmod 755 "$PROBE"
    program=$(mpi_program world)
    # one who is of the step is let in
    run -1 --separate-stderr mprun -n 1 "$PROBE" client
    [ "$output" = "PMIx_Init: SUCCESS" ]
    [[ $stderr == *"without MPI_Finalize"* ]]

    mkfifo gate.0 gate.1
    mprun_start -q -n 2 --oversubscribe sh -c 'env >part.$MPRUN_RANK; mv part.$MPRUN_RANK env.$MPRUN_RANK; read x <gate.$MPRUN_RANK; exec "$1"' sh "$program"
    wait_until 15 test -e env.0 -a -e env.1
    nspace=$(sed -n 's/^PMIX_NAMESPACE=//p' env.0)
    [ ${#nspace} -ge 16 ]
    mapfile -t uris < <(grep '^PMIX_SERVER_URI' env.0)
    [ ${#uris[@]} -ge 1 ]
    mapfile -t others < <(grep -E '^PMIX_(SECURITY_MODE|GDS_MODULE|BFROP_BUFFER_TYPE|PTL_MODULE|VERSION|HOSTNAME|MCA_.*)=' env.0)
    server=$(sed -n 's/^PMIX_SERVER_URI2=\([^;]*\);.*/\1/p' env.0)
    for guess in guess "" "${server%.*}" "$(hostname)" "${nspace%?}"; do
        stranger client "${uris[@]}" "${others[@]}" PMIX_NAMESPACE="$guess" PMIX_RANK=0
        echo "namespace '$guess': $output"
        [ "$status" -eq 1 ] || [ "$status" -eq 124 ]
        [[ $output != *": "*SUCCESS* ]]
    done
    for how in tool named-tool; do
        stranger $how "${uris[@]}" "${others[@]}"
        echo "$how: $output"
        [ "$status" -eq 1 ] || [ "$status" -eq 124 ]
    done

    # who only connects gets nothing, and is not waited for; nor does it help to know the namespace
    port=$(sed -n 's/^PMIX_SERVER_URI2=.*:\([0-9]*\)$/\1/p' env.0)
    for words in "" ask; do
        run -0 run_as_user timeout -k 1 "$(patience 20)" perl -MIO::Socket -e '$s = IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die $@;
            syswrite $s, $ARGV[1] if length $ARGV[1]; exit(sysread($s, my $answer, 1) ? 1 : 0)' "$port" "$words"
    done
    stranger client "${uris[@]}" "${others[@]}" PMIX_NAMESPACE="$nspace" PMIX_RANK=0
    [ "$status" -eq 1 ] || [ "$status" -eq 124 ]
    [[ $output != *": "*SUCCESS* ]]

    visible_to_others >visible
    grep -q "$(basename "$MPRUN_TEST_TOP")" visible # it sees what there is to see
    run -1 grep -F "$nspace" visible

    # and the ranks never notice
    echo >gate.0
    echo >gate.1
    mprun_wait
    [ "$(grep -c ' of 2 app 0 shared 2 ok$' "$MPRUN_OUT")" -eq 2 ]
    [ -z "$(cat "$MPRUN_ERR")" ]
}

# ---- a real program -----------------------------------------------------------------------------

# bats test_tags=long
@test "HPCC on two hosts computes what it should, on its own sample input" {
    needs_long
    needs_tool hpcc
    sample=/usr/share/doc/hpcc/examples/_hpccinf.txt
    [ -r $sample ] || skip "needs $sample"
    cp $sample hpccinf.txt
    MPRUN_TEST_LIMIT=200 run -0 --separate-stderr mprun --rm local:2 --oversubscribe -n 4 hpcc
    grep -qx 'Success=1' hpccoutf.txt
    [ "$(grep -cE '^ +[1-9][0-9]* tests completed and passed residual checks' hpccoutf.txt)" -eq 2 ]
    [ "$(grep -cE '^ +0 tests completed and failed residual checks' hpccoutf.txt)" -eq 2 ]
    run -1 grep -E 'FAILED|[1-9][0-9]* tests completed and failed' hpccoutf.txt
}
