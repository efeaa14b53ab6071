# SPDX-License-Identifier: BSD-3-Clause
# slurm.bash - a Slurm for system tests: load '../lib/mprun', '../lib/hosts', '../lib/slurm'
#
#   slurm_setup [OPTIONS]       a Slurm on n0 (controller, submits) and n1 to n4 (2 CPUs each), made by
#                               tests/lab/slurm with these options of its `up`; in setup_file
#   slurm_teardown              in teardown_file: all of it goes
#   slurm_begin, slurm_end      a test's setup and teardown. The latter cancels jobs and puts settings
#                               back; it fails when something stays in the hosts then. After a failed
#                               test it prints what the daemons have written
#   on HOST COMMAND..., on_root, on_start, hosts COMMAND and the rest of hosts.bash work
#   slurm_set SETTING...        as `set` of tests/lab/slurm
#
#   sbatch_wait [OPTIONS] <SCRIPT    submits it as labuser on n0 and waits for its end: its output and
#                                    exit code are the job's; within $JOB_LIMIT, 60 s; then 199
#   sbatch_start [OPTIONS] <SCRIPT   without waiting. SCRIPT needs no "#!"; mprun is in its PATH, and m
#                                    is mprun with the options of every test
#   job                         prints the id of the job that was submitted last
#   job_wait                    waits for its end: returns its exit code
#   job_dir, job_out, job_err   its directory, and the files that its output goes to
#   job_state                   RUNNING, PENDING ..., "" when it has gone from the queue
#   job_says FIELD              a field of scontrol's, such as JobState
#   step_start [OPTIONS]        a job of one step ($STEP_BEFORE, `m`, and $STEP_OPTIONS) of 8 ranks on 4 nodes, which write
#                               what they get to rank.N of its directory, and have daemonised children.
#                               They run when it returns
#   ranks_have WORD N           each of them has got it so often: start, USR1, USR2, TERM
#   sweep_up                    a further step, as if half a minute later
#   finish                      they end
#   nothing_left                no process of labuser's is on the nodes, within 20 s

slurm_setup() { lab_setup slurm "$(slurm_lack "$@")" "$@"; }
slurm_teardown() { hosts_teardown; }

slurm_lack() {
    local lack program
    lack=$(hosts_lack)
    for program in slurmctld slurmd srun munged; do
        [ -n "$lack" ] || command -v $program >/dev/null || lack="needs slurmctld, slurmd, slurm-client and munge"
    done
    [[ $* != *--database* || -n $lack ]] || { command -v slurmdbd && command -v mariadbd; } >/dev/null ||
        lack="needs slurmdbd and mariadb-server"
    echo "$lack"
}

slurm_begin() {
    mprun_setup
    needs_hosts
}
slurm_end() {
    local failed=0
    slurm_clean || failed=1
    mprun_teardown && return $failed
}
slurm_clean() {
    [ -n "${HOSTS_DIR:-}" ] || return 0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || slurm_said
    hosts empty && hosts reset && hosts_clean
}
# What may tell why a test has failed
slurm_said() {
    on n0 squeue || true
    processes 2>&1 || true
    hosts messages | tail -n 30 || true
    [ ! -e "$BATS_TEST_TMPDIR/job-dir" ] || tail -n 20 "$(job_dir)"/{out,err}* 2>/dev/null || true
}
slurm_set() { hosts set "$@"; }

# `run` has its command in a subshell: what is to be known afterwards is in a file
job() { echo "$(<"$BATS_TEST_TMPDIR/job")"; }
job_dir() { echo "$(<"$BATS_TEST_TMPDIR/job-dir")"; }
job_out() { echo "$(job_dir)/out"; }
job_err() { echo "$(job_dir)/err"; }

sbatch_start() {
    local dir id
    dir=$(mktemp -d "$HOSTS_DIR/shared/job.XXXXXX") && chmod 777 "$dir" || return
    {
        printf '#!/bin/bash\nPATH=%q:$PATH MPRUN_SELF_TEST_SECONDS=%s\nexport MPRUN_SELF_TEST_SECONDS\n' \
            "$MPRUN_BUILD/launcher" "$(patience 20)" &&
            echo 'm() { mprun --containment=tree "$@"; }' && cat
    } >"$dir/script" &&
        chmod 644 "$dir/script" || return
    id=$(on n0 sbatch --parsable -D "$dir" -o "$dir/out" -e "$dir/err" "$@" "$dir/script") || return
    echo "${id%%;*}" >"$BATS_TEST_TMPDIR/job"
    echo "$dir" >"$BATS_TEST_TMPDIR/job-dir"
}

job_state() { on n0 squeue -h -t all -j "$(job)" -o %T 2>/dev/null | grep -Ev '^(COMPLETED|FAILED|CANCELLED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL|DEADLINE|PREEMPTED)$'; }
job_in() { [ "$(job_state)" = "$1" ]; }
job_ended() { [ -z "$(job_state)" ] || { pause .2; false; }; }
job_says() { on n0 scontrol -o show job "$(job)" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

job_wait() {
    local limit=${JOB_LIMIT:-60} code
    if ! wait_until "$limit" job_ended; then
        echo "time limit of $limit s (on a quiet machine) reached by the job $(job), which is $(job_state)" >&2
        return 199
    fi
    code=$(job_says ExitCode)
    return "${code%%:*}"
}

sbatch_wait() {
    local code=0
    sbatch_start "$@" || return
    job_wait || code=$?
    [ ! -e "$(job_out)" ] || cat "$(job_out)"
    [ ! -e "$(job_err)" ] || cat "$(job_err)" >&2
    return $code
}

NODES="n1 n2 n3 n4"

step_start() {
    cat >"$HOSTS_DIR/shared/rank" <<'EOF'
#!/usr/bin/perl
open F, ">>", "rank.$ENV{MPRUN_RANK}" or die;
system "setsid sleep 777 & (setsid sleep 778 &)";
for my $s (qw(USR1 USR2)) { $SIG{$s} = sub { syswrite F, "$s\n" } }
$SIG{TERM} = sub { syswrite F, "TERM\n"; exit 0 };
syswrite F, "start\n";
sleep 1 until -e "finish";
EOF
    chmod 755 "$HOSTS_DIR/shared/rank"
    echo "${STEP_BEFORE:-m} --pmi none ${STEP_OPTIONS:-} $HOSTS_DIR/shared/rank; echo code \$?" |
        sbatch_start -N 4 -n 8 "$@"
    wait_until 30 ranks_have start 1
}
ranks_have() { [ "$(grep -chx "$1" "$(job_dir)"/rank.{0,1,2,3,4,5,6,7} 2>/dev/null)" = "$(printf "$2\n%.0s" {0..7})" ]; }
# The next step removes what a killed one has left, when it is not quite new.
sweep_up() {
    local host
    for host in $NODES; do
        on_root "$host" find /tmp /dev/shm -maxdepth 1 -name 'mprun-*' -exec touch -d '-60 sec' {} +
    done
    sbatch_wait -N 4 -n 4 <<<'m true'
}
finish() { on n0 touch "$(job_dir)/finish"; }

processes() { for host in $NODES; do on_root "$host" ps --no-headers -u labuser -o pid,ppid,stat,args | sed "s/^/$host /"; done; }
no_process() { [ -z "$(processes)" ]; }
nothing_left() {
    wait_until 20 no_process && return
    processes
    return 1
}
