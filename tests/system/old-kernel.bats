#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What mprun does on a kernel of the age of RHEL 8's: no clone3, pidfds, close_range.
load '../lib/mprun'

setup() {
    mprun_setup
    OLD=$MPRUN_BUILD/tests/system/old-kernel
    "$OLD" true || skip "seccomp filters cannot be used here"
}

old_mprun() {
    time_limited 20 "$OLD" "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -q "$@"
}

@test "the filter refuses clone3" {
    needs_tool python3
    run "$OLD" python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(435, 0, 0), ctypes.get_errno())'
    [ "$output" = "-1 38" ]
}

@test "ranks start, write and end with their codes" {
    run old_mprun -n 4 sh -c 'echo $MPRUN_RANK'
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | tr -d '\n')" = 0123 ]
    run old_mprun -n 2 sh -c 'exit $((MPRUN_RANK * 5))'
    [ "$status" -eq 5 ]
    run -127 old_mprun -n 2 ./missing
}

@test "ranks are in a cgroup before they run, although they cannot be born there" {
    needs_v2
    run old_mprun -n 2 cat /proc/self/cgroup
    [ "$status" -eq 0 ]
    [ "$(grep -c '^0::.*/mprun\..*/ranks/0\.[01]\.0$' <<<"$output")" -eq 2 ]
}

@test "ranks inherit no descriptors" {
    exec 9</dev/null
    run old_mprun --pmi none -n 1 ls /proc/self/fd
    exec 9<&-
    [ "$status" -eq 0 ]
    [ "$(tr '\n' ' ' <<<"$output")" = "0 1 2 3 " ] # 3 is the directory that ls reads
}

@test "nor those above the limit of open files, which was higher when they were opened" {
    (ulimit -S -n 1000 && exec 900</dev/null && ulimit -n 200 && old_mprun --pmi none -n 1 ls /proc/self/fd) >fds
    [ "$(tr '\n' ' ' <fds)" = "0 1 2 3 " ]
}

@test "daemons of ranks are ended with the step" {
    run old_mprun -n 2 sh -c 'setsid sleep 987 >/dev/null 2>&1 & exit 0'
    [ "$status" -eq 0 ]
    no_leftovers
}

@test "Open MPI programs run" {
    needs_mpicc
    # few rounds: ranks that share a core wait for their turn in each
    run old_mprun --rm local:2 -n 4 "$(mpi_program ring)" 20
    [ "$status" -eq 0 ]
    [[ $output == *": ok"* ]]
}
