#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What the report says was used, against what the kernel counted: ranks with children that are
# waited for, children that are not, and daemons that outlive their rank.
load '../lib/mprun'

# CPU seconds of the whole step, and of the ranks alone, from a JSON report
report_cpu() {
    python3 - "$1" "$2" <<'PY'
import json, sys
u = json.load(open(sys.argv[1]))[sys.argv[2]]
print(u["cpu_user_s"] + u["cpu_system_s"])
PY
}

# near A B: B is within 2 % of A, and A is at least 5 s
near() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; if (d < 0) d = -d
        printf "counted by the kernel: %s s, reported: %s s\n", a, b
        exit !(a >= 5 && d <= a * 0.02) }'
}

# bats test_tags=root
@test "ranks, waited, unwaited and daemon children: the report agrees with the cgroup's count within 2 %" {
    needs_v2
    local spin group
    spin=$(mpi_program spin none)
    # a cgroup of this test's own, below ours, in which everything of the step is counted
    group=$(mktemp -d "$(own_v2_cgroup)/mprun-usage.XXXXXX")
    run bash -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' _ "$group" \
        timeout -k 5 "$(patience 150)" "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 \
        --report-json report.json "$spin" --waited 1 --unwaited 1 --daemon 1 1
    counted=$(awk '$1 == "usage_usec" { print $2 / 1e6 }' "$group/cpu.stat")
    wait_until 5 rmdir "$group"
    [ "$status" -eq 0 ]
    near "$counted" "$(report_cpu report.json usage)"
}

@test "without cgroups the step's report agrees with what the kernel tells mprun's parent within 2 %" {
    local spin
    spin=$(mpi_program spin none)
    cat > parent.py <<'PY'
import resource, subprocess, sys
def of_children():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime
before = of_children() # of what has become python3, where that is a script
code = subprocess.run(sys.argv[1:]).returncode
print(of_children() - before)
sys.exit(code)
PY
    counted=$(timeout -k 5 "$(patience 150)" python3 parent.py "$MPRUN" \
        ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --containment=tree -n 2 \
        --report-json report.json "$spin" --waited 1 --unwaited 1 --daemon 1 1)
    near "$counted" "$(report_cpu report.json usage)"
}

@test "the report has the placement: hardware threads and memory nodes of each host, as the kernel gives them to ranks" {
    local one nodes
    placement() { # WANTED OPTIONS...: what ranks see, and what the report says
        local wanted=$1
        shift
        run -0 --separate-stderr mprun -n 1 --bind-to none "$@" --report usage --report-json report.json \
            sh -c 'set -- $(sed -n "s/^\(Cpus\|Mems\)_allowed_list://p" /proc/self/status); echo "hardware threads $1, memory nodes $2"'
        echo "wanted $wanted, the rank has $output, the report $stderr"
        [ "$output" = "$wanted" ]
        grep -Eq "^  [^ ]+: $wanted\$" <<<"$stderr"
        [ "$(python3 -c 'import json; h = json.load(open("report.json"))["hosts"][0]; print("hardware threads", h["threads"] + ", memory nodes", h["memory_nodes"])')" = "$wanted" ]
    }
    one=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
    nodes=$(sed -n 's/^Mems_allowed_list:\t*//p' /proc/self/status)
    placement "hardware threads $(sed -n 's/^Cpus_allowed_list:\t*//p' /proc/self/status), memory nodes $nodes"
    printf '#!/bin/sh\nexec taskset -c %s "%s" "$@"\n' "$one" "$MPRUN" >on-one
    chmod +x on-one
    MPRUN=$PWD/on-one placement "hardware threads $one, memory nodes $nodes"
}
