#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# restarts.bats - ranks that are started again when they have failed: --max-restarts
load '../lib/mprun'

# The lines that mprun has written, without host and pid.
said() { sed 's/ on [^ ]* (pid [0-9]*)//' <<<"$stderr"; }

@test "--max-restarts: a rank that fails is started again, says so each time, and its end counts alone" {
    run -0 --separate-stderr mprun --rm local:2 --oversubscribe --max-restarts 2 -n 2 --tag-output \
        sh -c 'echo $MPRUN_INCARNATION on $MPRUN_HOST_INDEX; [ $MPRUN_RANK.$MPRUN_INCARNATION != 1.0 ] || exit 3
               [ $MPRUN_RANK.$MPRUN_INCARNATION != 1.1 ] || kill -9 $$'
    printf '%s\n' "$output" "$stderr"
    [ "$(grep '\[0\]' <<<"$output")" = "[0]<stdout>: 0 on 0" ]
    [ "$(grep -v '\[0\]' <<<"$output")" = "[1]<stdout>: 0 on 1
[0.1.1]<stdout>: 1 on 1
[0.1.2]<stdout>: 2 on 1" ]
    [ "$(said)" = "mprun: rank 1 exited with code 3; it is started again (1 of 2)
mprun: rank 0.1.1 was killed by signal 9 (Killed); it is started again (2 of 2)" ]
}

@test "--max-restarts: a rank that fails too often ends the step, or with --enable-recovery is lost alone" {
    fail='[ $MPRUN_RANK = 0 ] || exit $((5 + MPRUN_INCARNATION))'
    run -6 --separate-stderr mprun --oversubscribe --max-restarts 1 -n 2 sh -c "$fail; exec sleep 100"
    printf '%s\n' "$output" "$stderr"
    [ "$(said)" = "mprun: rank 1 exited with code 5; it is started again (1 of 1)
mprun: rank 0.1.1 exited with code 6; the other ranks are ended" ]
    run -6 --separate-stderr mprun --oversubscribe --max-restarts 1 --enable-recovery -n 2 \
        sh -c "$fail; sleep 0.5; echo done"
    printf '%s\n' "$output" "$stderr"
    [ "$output" = done ]
    [ "$(said | tail -n 1)" = "mprun: rank 0.1.1 exited with code 6; the other ranks go on" ]
}

@test "--max-restarts: each incarnation has a row of its own, in the report and in its file" {
    run -0 --separate-stderr mprun --oversubscribe --max-restarts 1 -n 2 --report usage --report-json report.json \
        sh -c '[ $MPRUN_RANK = 0 ] || [ $MPRUN_INCARNATION = 1 ] || exit 3'
    printf '%s\n' "$output" "$stderr"
    [[ $stderr == *"2 ranks and 1 restart on 1 host, "*", exit code 0"* ]]
    [ "$(sed -nE 's/^ +(0|1|0\.1\.1) .*  ([a-z0-9 ]+)$/\1: \2/p' <<<"$stderr")" = "0: ok
1: code 3
0.1.1: ok" ]
    run -0 python3 -c '
import json
r = json.load(open("report.json"))
print([(k["rank"], k["incarnation"], k["end"]["cause"]) for k in r["ranks"]], r["hosts"][0]["ranks"])'
    [ "$output" = "[(0, 0, 'ok'), (1, 0, 'exit_code'), (1, 1, 'ok')] 2" ]
}

@test "--max-restarts: what a rank has left behind is killed before it starts again, in a cgroup of its own" {
    needs_root
    run -0 --separate-stderr mprun --oversubscribe --max-restarts 1 -n 1 \
        sh -c 'cat /proc/self/cgroup
               if [ $MPRUN_INCARNATION = 0 ]; then setsid sleep 1000 & echo $! >pid; exit 1; fi
               if [ -e /proc/$(cat pid) ]; then exit 9; fi'
    printf '%s\n' "$output" "$stderr"
    grep -q '/0\.0\.0$' <<<"$output"
    grep -q '/0\.0\.1$' <<<"$output"
}

@test "--max-restarts: standard input is the first incarnation's; a file of --stdin each one's" {
    run -0 --separate-stderr mprun --max-restarts 1 -n 1 sh -c 'cat; exit $((1 - MPRUN_INCARNATION))' <<<hello
    [ "$output" = hello ]
    echo again >in.0
    run -0 --separate-stderr mprun --max-restarts 1 -n 1 --stdin file:in.%r \
        sh -c 'cat; exit $((1 - MPRUN_INCARNATION))' </dev/null
    [ "$output" = "again
again" ]
}

@test "--max-restarts: a rank that fails for ever ends with the step, and so does one that waits to start" {
    run -124 --separate-stderr mprun --oversubscribe --max-restarts 1000000 -n 2 --timeout 1 \
        sh -c '[ $MPRUN_RANK = 0 ] && exec sleep 1000; exit 1'
    printf '%s\n' "$(tail -n 1 <<<"$stderr")"
    [[ $stderr == *"rank 0.1.1 on "*"; it is started again (2 of 1000000)"* ]]
}

@test "--max-restarts: a rank that was not executed, or was ended for a limit, is not started again" {
    run -127 --separate-stderr mprun --max-restarts 3 -n 1 ./nothing
    [[ $stderr != *"started again"* ]]
    run --separate-stderr mprun --max-restarts 3 -n 1 --limit rank:cput=1s sh -c 'while :; do :; done'
    printf '%s\n' "$stderr"
    [[ $stderr == *"exceeded its limit of CPU time"* && $stderr != *"started again"* ]]
}

@test "--max-restarts: MPI takes no rank back: one that has called MPI_Init is not started again" {
    for mpi in openmpi mpich; do
        command -v mpicc.$mpi >/dev/null || continue
        program=$(mpi_program ending $mpi)
        run -3 --separate-stderr mprun --oversubscribe --max-restarts 3 -n 2 "$program" after 1 exit 3
        printf '%s\n' "$output" "$stderr"
        [[ $(said) == "mprun: rank "[01]" is not started again: it has called MPI_Init, and MPI takes no rank back
mprun: rank "[01]" exited with code 3; the other ranks are ended" ]]
    done
}
