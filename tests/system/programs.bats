#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# programs.bats - programs of one step with hosts, mappings and bindings of their own
load '../lib/mprun'

MACHINE='package:2 core:4 pu:2'
dry() { mprun --dry-run "$@"; }

# cores OPTION...: "rank=hardware threads", or "-", of each rank, on MACHINE
cores() {
    dry -q --topology "$MACHINE" "$@" | awk '
        /^ *rank / { t = $0; if (!sub(/.*hardware threads? /, "", t)) t = "-"; printf "%s=%s ", $2, t }'
}

@test "each program runs on the hosts that it names, one that names none on all" {
    run -0 dry --host a:2 -n 2 true : --host b:3 -n 1 true : -n 2 true
    [[ $output == *"5 ranks of 3 programs on 2 hosts, each program by itself"* ]]
    [[ $output == *"a: 2 slots (--host), ranks 0 to 1"*"b: 3 slots (--host), ranks 2 to 4"* ]]
    run -0 dry --host a:2,b:2 -n 2 true : -n 2 true # nobody else names any: they are everybody's
    [[ $output == *"4 ranks on 2 hosts by slot"* ]]
    run -125 --separate-stderr dry --host a:2 -n 2 true : --host b -n 3 ./second
    [[ $stderr == *"program 2 ('./second'): place 3 ranks: 1 host has 1 slot"* ]]
    printf 'a slots=4\nb slots=4\nc slots=4\n' >hosts
    run -0 dry --hostfile hosts --host c -n 2 true : --host a:1 -n 1 true : -n 5 true
    [[ $output == *"a: 4 slots"*"ranks 2 to 5"*"b: 4 slots"*"ranks 6 to 7"*"c: 4 slots"*"ranks 0 to 1"* ]]
    run -125 --separate-stderr dry --hostfile hosts -n 2 true : --host d -n 1 true
    [[ $stderr == *"program 2 ('true'): --host: 'd' is no host of this step"* ]]
}

@test "in a job programs choose among its hosts, and share their slots" {
    printf 'n1 4 q UNDEFINED\nn2 4 q UNDEFINED\n' >pe
    export JOB_ID=7 SGE_TASK_ID=undefined PE=mpi NSLOTS=8 PE_HOSTFILE=$PWD/pe SGE_ROOT=/nowhere ARC=lx-amd64
    run -0 dry --host n2 -n 2 true : --host n2 -n 2 true : --host n1 -n 1 true
    [[ $output == *"n1: 4 slots"*"rank 4"*"n2: 4 slots"*"ranks 0 to 3"* ]]
    run -125 --separate-stderr dry --host n2 -n 3 true : --host n2 -n 2 true
    [[ $stderr == *"program 2 ('true'): place 2 ranks: 1 host has 1 slot (free of 4), 1 too few"* ]]
}

@test "each program has its own --map-by, -N and --cpus-per-rank" {
    run -0 dry --host a:4,b:4 -n 2 true : --map-by node -n 4 true
    [[ $output == *"a: 4 slots (--host), ranks 0 to 2, 4"*"b: 4 slots (--host), ranks 3, 5"* ]]
    run -0 dry --host a:4,b:4 --map-by node -n 2 true : --map-by slot -n 2 true : -n 2 true
    [[ $output == *"a: 4 slots (--host), ranks 0, 2, 3 to 4"*"b: 4 slots (--host), ranks 1, 5"* ]]
    run -0 dry --host a:4,b:4 -n 1 true : -N 1 --cpus-per-rank 3 -n 2 true
    [[ $output == *"a: 4 slots (--host), ranks 0 to 1"*"b: 4 slots (--host), rank 2"* ]]
    [ "$(cores --host a:8 --bind-to core -n 2 true : --map-by slot:pe=3 --bind-to core -n 2 true)" = "0=0-1 1=2-3 2=4-9 3=10-15 " ]
}

@test "each program has its own --bind-to; cores of one are not another's" {
    [ "$(cores --host a:8 --bind-to core -n 2 true : --bind-to none -n 1 true : -n 1 true)" = "0=0-1 1=2-3 2=- 3=4-5 " ]
    [ "$(cores --host a:8 --bind-to core -n 1 true : --bind-to package --map-by package -n 2 true)" = "0=0-1 1=2-7 2=8-15 " ]
    [ "$(cores --host a:8 -n 1 true : --bind-to hwthread -n 2 true)" = "0=0-1 1=2 2=3 " ]
    run -125 --separate-stderr dry --topology "$MACHINE" --oversubscribe --host a:8 --bind-to core -n 8 true : --bind-to core -n 1 ./b
    [[ $stderr == *"host a: program 2 ('./b'): bind 1 rank to cores: only 0 cores may be used here"* ]]
    [[ $(cores --oversubscribe --host a:8 --bind-to core -n 8 true : --bind-to core:overload-allowed -n 1 ./b) == *" 7=14-15 8=0-1 " ]]
}

@test "the kernel has what each program asked for" {
    all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    run -0 --separate-stderr mprun -q --oversubscribe --overlap --report-json report --bind-to none -n 1 \
        sh -c 'echo $MPRUN_RANK $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)' : --bind-to core -n 1 \
        sh -c 'echo $MPRUN_RANK $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)'
    one=$("$MPRUN" -q --overlap --dry-run --display bindings --bind-to core -n 1 true | sed -n 's/^ *rank 0 .*hardware threads\? //p')
    [ "$(sort <<<"$output")" = "0 $all
1 $one" ]
}

@test "each program has its own limits; what it does not say is as before the first one" {
    show='echo $MPRUN_RANK $(ulimit -n)'
    run -0 --separate-stderr mprun -q --oversubscribe --limit rank:files=99,rank:core=0 -n 1 sh -c "$show" : --limit rank:files=77 -n 1 sh -c "$show" : -n 1 sh -c "$show"
    [ "$(sort <<<"$output" | cut -d ' ' -f 1,2)" = $'0 99\n1 77\n2 99' ]
    mprun -q --oversubscribe --report-json report --report containment -n 1 --mem-per-rank 1G true : -n 1 --mem-per-rank 900M true : -n 1 true 2>said
    limits() { grep -A1 '"memory_bytes"' report | sed -n 's/.*"value": \([0-9]*\).*/\1/p' | paste -sd ' '; }
    [ "$(limits)" = "1073741824 943718400 1073741824" ]
    grep -q 'memory of a rank limited to 1 GiB, .*; from rank 1 on: memory of a rank limited to 900 MiB, .*; from rank 2 on: memory of a rank limited to 1 GiB' said
    # each rank is held to its own, by a cgroup or by samples
    hog=$(mpi_program memhog none)
    for containment in "" --containment=tree; do
        run -137 --separate-stderr mprun -q --oversubscribe $containment -n 1 "$hog" 60 1 : --mem-per-rank 30M -n 1 "$hog" 60 30
        [[ $stderr == *"rank 1 on "*" exceeded its "*"30 MiB"* ]]
    done
}

@test "what cannot be one program's is an error that says so" {
    for words in "--map-by seq" "--map-by rankfile:file=f" "--map-by node:nolocal" "--map-by node:oversubscribe"; do
        # shellcheck disable=SC2086
        run -125 --separate-stderr dry -n 1 true : $words -n 1 true
        [[ $stderr == *"program 2 of the line: "*" holds for the whole step; put it before the first program" ]]
    done
    for words in "--mem 1G" "--limit host:procs=9" "--hostfile f" "--rank-by node" "--oversubscribe" "--nodes 2"; do
        # shellcheck disable=SC2086
        run -125 --separate-stderr dry -n 1 true : $words -n 1 true
        [[ $stderr == *"it holds for the whole step; put it before the first program, only "*"--host"*"--bind-to"* ]]
    done
    printf 'rank 0=a slot=0\nrank 1=a slot=1\n' >ranks
    run -125 --separate-stderr dry --rankfile ranks -n 1 true : --bind-to none -n 1 true
    [[ $stderr == *"the rank file says where the ranks of all programs run"* ]]
}

@test "files of programs have the same options" {
    cat >app <<END
-n 1 --host b true
-n 1 --host a --bind-to none true
END
    run -0 dry --host a:2,b:2 --app app
    [[ $output == *"a: 2 slots"*"rank 1"*"b: 2 slots"*"rank 0"* ]]
    run -0 dry --app app
    [[ $output == *"b: 1 slot"*"rank 0"*"a: 1 slot"*"rank 1"* ]]
}
