#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# --containment=...,cpuset: ranks stay on the hardware threads of their host, whatever affinity they
# set. The same file runs in virtual machines with v2, as root and in a delegated part, and with v1.
load '../lib/mprun'

setup() {
    mprun_setup
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    [ -x "$PROBE" ] || skip "'$PROBE' is not built"
}
allowed() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }
ids() { tr ',' '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done; }
# a place with the controller: v1's own, writable; or one that v2 can give to children
may_hold() {
    local path dir
    path=$(sed -n 's/^[0-9]*:cpuset:\(.*\)/\1/p' /proc/self/cgroup)
    if [ -n "$path" ]; then
        dir=$(awk '$9 == "cgroup" && $NF ~ /(^|,)cpuset(,|$)/ { print $5; exit }' /proc/self/mountinfo)
        [ -w "${dir:-/nowhere}$path/cgroup.procs" ]
    else
        may_make_cgroups && grep -qw cpuset "$(own_v2_cgroup)/cgroup.controllers"
    fi
}
needs_cpuset() {
    needs_cores 2
    may_hold || skip "no cgroup with cpuset can be made here"
}

@test "a rank cannot leave the threads of its host, and without it can" {
    needs_cpuset
    [ "$(allowed)" = "0-$(($(nproc --all) - 1))" ] || skip "not all threads of the machine may be used"
    # as many ranks as threads: some on each host
    run -0 --separate-stderr mprun --rm local:2 --oversubscribe -n "$(nproc)" --containment=rank "$PROBE" widen
    [ "$(sort -u <<<"$output")" = "$(allowed | ids | paste -sd,)" ]
    run -0 --separate-stderr mprun --rm local:2 --oversubscribe -n "$(nproc)" --containment=rank,cpuset sh -c \
        '"$1" widen | sed "s/^/$MPRUN_HOST_INDEX /"' sh "$PROBE"
    first=$(sed -n 's/^0 //p' <<<"$output" | sort -u | ids) second=$(sed -n 's/^1 //p' <<<"$output" | sort -u | ids)
    [ -n "$first" ]
    [ -n "$second" ]
    [ -z "$(comm -12 <(sort <<<"$first") <(sort <<<"$second"))" ]
    [ "$(sort -n <<<"$first"$'\n'"$second")" = "$(allowed | ids)" ]
}

@test "started on some cores only, nobody gets to others" {
    needs_cpuset
    needs_tool taskset
    core=$(allowed | ids | tail -n 1)
    for words in "rank,cpuset" "step,cpuset" "cpuset" "rank,cpuset --bind-to none" "rank,cpuset --pmi none"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr time_limited 60 taskset -c "$core" "$MPRUN" \
            ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --oversubscribe -n 2 --containment=$words "$PROBE" widen
        [ "$(sort -u <<<"$output")" = "$core" ]
    done
}

@test "ranks are bound, tracked and counted as without it" {
    needs_cpuset
    run -0 --separate-stderr mprun -n 2 --containment=rank,cpuset --report-bindings --report usage \
        --report-json report.json sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status; "$1" burn 0.3' sh "$PROBE"
    [ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
    [ "$(grep -c '^mprun: rank [01] on .* hardware thread' <<<"$stderr")" -eq 2 ]
    [[ $stderr == *"tracking rank in "* ]]
    python3 - <<'END'
import json
ranks = json.load(open("report.json"))["ranks"]
assert len(ranks) == 2, ranks
for r in ranks:
    used = r["usage"]
    assert 0.28 < used["cpu_user_s"] + used["cpu_system_s"] < 3, used
END
}

@test "a cpuset is made only where it was asked for" {
    needs_cpuset
    grep -q :cpuset: /proc/self/cgroup || skip "no v1 hierarchy of cpuset"
    run -0 --separate-stderr mprun -n 1 --containment=rank "$PROBE" cgroup
    ! grep ':cpuset:.*mprun' <<<"$output" || false
    run -0 --separate-stderr mprun -n 1 --containment=rank,cpuset "$PROBE" cgroup
    grep ':cpuset:.*/mprun\.[a-z0-9-]*/ranks$' <<<"$output"
}

@test "when mprun is killed the cpuset goes, too" {
    needs_cpuset
    mprun_start -n 2 --containment=rank,cpuset "$PROBE" where sleep
    wait_until 30 grep -q . "$MPRUN_OUT"
    kill -KILL "$MPRUN_PID"
    wait "$MPRUN_PID" || true
    no_leftovers 20
}

@test "where no cgroup can hold it one sentence says so, and nothing is started" {
    # an ordinary user outside of what is delegated; --containment=tree makes none for anybody
    run -125 --separate-stderr mprun -n 1 --containment=tree,cpuset touch started
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "mprun: host "*": --containment=...,cpuset: no cgroup of this host can hold it (--containment=tree)" ]]
    if [ "$(id -u)" = 0 ]; then
        run -125 --separate-stderr run_as_user mprun -n 1 --containment=cpuset touch started
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == "mprun: host "*": --containment=...,cpuset: no cgroup of this host can hold it (find a cgroup "* ]]
    fi
    [ ! -e started ]
}

@test "devices are refused with what to do" {
    run -125 --separate-stderr mprun -n 1 --containment=devices touch started
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"--containment=...,devices: "*"(section gpu of mprund.conf)"*"leave 'devices' out" ]]
    [ ! -e started ]
}
