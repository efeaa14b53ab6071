#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm-books.bats - Slurm's books and mprun's usage report agree, and what a loose start looks like
# beside them: the first two examples of the article on Sun's mprun
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

setup_file() {
    slurm_setup --database
    [ -n "${HOSTS_LACK:-}" ] || hosts sshd
}
teardown_file() { slurm_teardown; }
setup() {
    slurm_begin
    JOB_LIMIT=400
    SPIN=$HOSTS_DIR/shared/spin
    [ -x "$SPIN" ] || cp "$(mpi_program spin none)" "$SPIN"
}
teardown() { slurm_end; }

# Seconds of "1-02:03:04.567", "03:04.567"
seconds() { awk '{ n = split($0, part, "[-:]"); s = 0; for (i = 1; i <= n; i++) s = s * (i == 2 && /-/ ? 24 : 60) + part[i]; print s }'; }
# slurmctld tells slurmdbd of a job's end after that
in_books() {
    local records
    records=$(on n0 sacct -n -P -j "$(job)" -o JobID,End,TotalCPU)
    [[ $records == *".batch|20"* && $records != *Unknown* ]] && ! grep -q '|00:00:00$' <<<"${records%%$'\n'*}"
}
booked() {
    wait_until 20 in_books
    on n0 sacct -n -P -j "$(job)" -o TotalCPU | head -n 1 | seconds
}
reported() {
    python3 -c '
import json, sys
usages = [json.load(open(path))["usage"] for path in sys.argv[1:]]
print(sum(u["cpu_user_s"] + u["cpu_system_s"] for u in usages))' "$(job_dir)/report"
}

# CPU seconds of mprun's step so far, whole ones of each node
shown() { on n0 sstat -n -a -P -j "$(job).0" -o TRESUsageInTot | sed -n 's/^cpu=\([^,]*\),.*/\1/p' | seconds; }
none_spins() { ! pgrep -fx "$SPIN .*" >/dev/null; }
all_burnt() { [ "$(ls "$(job_dir)" | grep -c '^burnt')" = 4 ] && none_spins; }
# Slurm looks every 2 s
shows_all() {
    SHOWN=$(shown)
    sleep 3
    [ "$SHOWN" = "$(shown)" ]
}

@test "the tight way: sacct and sstat have ranks times seconds, orphans too, within 2 % of what mprun reports" {
    sbatch_start -N 4 -n 4 <<END
m --report-json report sh -c '$SPIN --waited 1 --daemon 1 3; >burnt.\$MPRUN_RANK; until [ -e finish ]; do sleep 0.5; done'
END
    wait_until 120 all_burnt
    wait_until 30 shows_all
    finish
    job_wait
    echo "booked $(booked) s, shown by sstat $SHOWN s, reported $(reported) s"
    awk -v b="$(booked)" -v s="$SHOWN" -v r="$(reported)" \
        'BEGIN { exit !(r >= 30 && b > r * 0.98 && b < r * 1.02 && s > r * 0.98 - 4 && s < r * 1.02 + 4) }'
    run -0 on n0 sacct -n -P -j "$(job)" -o JobName,NTasks,State
    [[ $output == *"mpstarter|4|COMPLETED"* ]]
}

@test "the loose way, by ssh with a list of hosts: the same work, and the books show nothing of it" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<EOF
scontrol show hostnames | tail -n +2 >hosts
mprun --containment=tree --rm ssh -np 3 -m hosts --report-json report $SPIN 2
EOF
    [[ $stderr == *"no resource manager accounts for what runs there"* ]]
    echo "booked $(booked) s, reported $(reported) s"
    # what there is, is mprun's and ssh's own time on the job's host
    awk -v b="$(booked)" -v r="$(reported)" 'BEGIN { exit !(r >= 6 && b < r / 10) }'
}
