#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-books.bats - the manager's books and mprun's usage report agree, and what a loose start
# looks like beside them: the first two examples of the article on Sun's mprun
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() {
    gridengine_setup
    [ -n "${HOSTS_LACK:-}" ] || hosts sshd
}
teardown_file() { gridengine_teardown; }
setup() {
    gridengine_begin
    JOB_LIMIT=400
    SPIN=$HOSTS_DIR/shared/spin
    [ -x "$SPIN" ] || cp "$(mpi_program spin none)" "$SPIN"
}
teardown() { gridengine_end; }

# CPU seconds: of the job in the manager's books, and of steps, as mprun has them in these reports
booked() { job_records 37 | awk '{ sum += $1 } END { print sum }'; }
reported() {
    (cd "$(job_dir)" && python3 -c '
import json, sys
usages = [json.load(open(path))["usage"] for path in sys.argv[1:]]
print(sum(u["cpu_user_s"] + u["cpu_system_s"] for u in usages))' "$@")
}

# agree LEAST [REPORT...]: the report and these within 2 %, and there was as much to count. The manager books
# what it starts itself, too: where processes are dear, this is more.
agree() {
    local least=$1 sum
    shift
    sum=$(reported report "$@")
    echo "booked $(booked) s, reported $sum s"
    look_how_slow
    awk -v b="$(booked)" -v r="$sum" -v least="$least" -v starts="$((MPRUN_TEST_SLOW - 1))" \
        'BEGIN { exit !(r >= least && b > r * 0.98 && b < r * 1.02 + starts * 0.2) }'
}

@test "accounting_summary FALSE: a record for each host, and their sum is what mprun reports; live, too" {
    qsub_start -pe lab 6 <<<"m -np 6 --report-json report $SPIN 5"
    wait_until 200 live_usage
    job_in r
    run -0 job_wait
    agree 30
    [ "$(job_records 42 | grep -c '^[0-9]')" = 3 ]
    for host in n1 n2 n3; do
        job_records 42 37 | awk -v task="1.$host" '$1 == task && $2 > 9.8 && $2 < 10.6 { found = 1 } END { exit !found }'
    done
}
# qstat shows what the last load report could know: of all hosts, not of an idle mprun
live_usage() { on n0 qstat -j "$(job)" | grep -Eq '^usage .*cpu=00:00:(0[3-9]|[1-5])'; }

@test "accounting_summary TRUE: one record with everything" {
    run -0 qsub_wait -pe labsum 6 <<<"m -np 6 --report-json report $SPIN 5"
    agree 30
    [ "$(job_records 42)" = NONE ]
}

@test "steps that share a task: the manager's sum is that of their reports" {
    run -0 --separate-stderr qsub_wait -pe lab1 3 <<JOB
for i in 1 2; do mprun --quiet --report-json report.\$i sh -c 'echo begun >>began; exec sleep 600' & done
until [ "\$(wc -l <began)" = 6 ]; do sleep 0.1; done 2>/dev/null
mprun -v --report-json report $SPIN 8 2>third
kill %1 %2
wait
grep -c "the job's agent there forks the starter" third
JOB
    echo "$output"
    [ "$output" = 3 ]
    agree 23 report.1 report.2
    awk -v others="$(reported report.1 report.2)" 'BEGIN { exit !(others < 1) }'
}

@test "the loose way, by ssh with a list of hosts: the same work, and the books show nothing of it" {
    run -0 --separate-stderr qsub_wait -pe labloose 6 <<EOF
tail -n +2 "\$PE_HOSTFILE" >hosts
mprun --containment=tree --rm ssh -np 4 -m hosts --report-json report $SPIN 2
EOF
    [[ $stderr == *"no resource manager accounts for what runs there"* ]]
    echo "booked $(booked) s, reported $(reported report) s"
    # what there is, is mprun's and ssh's own time on the job's host
    awk -v b="$(booked)" -v r="$(reported report)" 'BEGIN { exit !(r >= 8 && b < r / 10) }'
}
