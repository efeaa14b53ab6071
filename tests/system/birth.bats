#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A rank is in its cgroup before it runs its first instruction: seen by the rank, and by strace in
# the system calls of its starter. What it starts is there as well, however fast, and ends there. The
# same file runs in virtual machines with v2 and with v1.
load '../lib/mprun'

setup() {
    mprun_setup
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    [ -x "$PROBE" ] || skip "'$PROBE' is not built"
    mprun -q --report-json kind.json true || skip "mprun does not run here"
    KIND=$(sed -n 's/.*"cgroup": *"\([a-z0-9]*\)".*/\1/p; s/.*"cgroup_kind": *"\([a-z0-9]*\)".*/\1/p' kind.json | head -n 1)
    [ -n "$KIND" ] || skip "no cgroup can be made here"
}

# traced ARGS...: mprun under strace, all its processes into the file trace
traced() {
    needs_tool strace
    # bytes of strings in full: "0" to cgroup.procs, paths of programs
    time_limited 60 strace -f -qq -o trace -s 200 -e trace=clone,clone3,vfork,openat,write,execve \
        "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -q --pmi none "$@"
    # an interrupted line and its end become one
    awk '/<unfinished \.\.\.>$/ { sub(/ *<unfinished \.\.\.>$/, ""); begun[$1] = $0; next }
        /<\.\.\. [a-z0-9_]+ resumed>/ { pid = $1; sub(/^.*resumed>/, ""); print begun[pid] $0; next }
        { print }' trace > joined
}

@test "what a rank sees first of all is its own cgroup" {
    run mprun -q -n 2 "$PROBE" where
    [ "$status" -eq 0 ]
    [ "$(grep -c '^/.*mprun\..*/0\.[01]\.0$' <<<"$output")" -eq 2 ]
}

@test "v2: ranks are born by clone3 with CLONE_INTO_CGROUP, and nobody writes their pid" {
    needs_no_sanitizers "traced"
    [ "$KIND" != v1 ] || skip "this machine has v1"
    traced -n 2 "$PROBE"
    [ "$(grep -c 'clone3({flags=[^}]*CLONE_INTO_CGROUP' joined)" -eq 2 ]
    [ "$(grep -c 'execve("[^"]*cgroup-probe"' joined)" -eq 2 ]
    for pid in $(awk '/execve\("[^"]*cgroup-probe"/ { print $1 }' joined); do
        ! grep -E "write\([0-9]+, \"$pid\\\\?n?\"" joined || false
    done
    ! grep -E 'openat\(.*ranks.*cgroup.procs' joined || false
}

@test "v1: a rank writes itself into its cgroups before it becomes the program" {
    needs_no_sanitizers "traced"
    [ "$KIND" = v1 ] || skip "this machine has $KIND"
    traced -n 2 "$PROBE"
    [ "$(grep -c 'execve("[^"]*cgroup-probe"' joined)" -eq 2 ]
    for pid in $(awk '/execve\("[^"]*cgroup-probe"/ { print $1 }' joined); do
        # in the order of the trace: "0" into cgroup.procs, then exec
        awk -v pid="$pid" '$1 == pid && /write\([0-9]+, "0", 1\)/ && !done { wrote++ }
            $1 == pid && /execve\("[^"]*cgroup-probe"/ { done = 1 }
            END { exit !(wrote > 0 && done) }' joined
    done
}

# bombs LEVEL: rates on descriptor 3. The bound: the grace (1 s), KILLED_SECONDS and REMOVAL_SECONDS
bombs() {
    local kind code
    for kind in exits stays daemons; do
        # a limit where a cgroup can hold it; the program itself stops at 400 that stay
        mprun_start --pmi none --kill-grace 1 --containment "$1" --limit "rank:procs=600" -n 1 "$MPRUN_BUILD/tests/system/fork-bomb" $kind
        wait_until 20 grep -q forks "$MPRUN_OUT"
        began
        kill -TERM "$MPRUN_PID"
        code=0
        MPRUN_TEST_LIMIT=30 mprun_wait || code=$?
        echo "# $KIND, $1: $(cat "$MPRUN_OUT"); ended $((SECONDS - BEGAN)) s after TERM with code $code" >&3
        ended_within 9
        cat "$MPRUN_ERR"
        [ $code -eq 143 ]
        ! grep "do not end" "$MPRUN_ERR" || false
        no_leftovers
    done
}

@test "a fork bomb ends within the bound, and nothing of it stays: as fast as it can be, and daemons of daemons" {
    bombs rank
}

@test "a fork bomb of a step whose ranks share a cgroup" {
    bombs step
}
