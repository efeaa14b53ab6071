# SPDX-License-Identifier: BSD-3-Clause
# gridengine.bash - a Grid Engine for system tests: load '../lib/mprun', '../lib/hosts', '../lib/gridengine'
#
#   gridengine_setup [OPTIONS]  a Grid Engine on n0 (queue master, submits) and n1 to n3 (2 slots each),
#                               made by tests/lab/gridengine with these options of its `up`; in
#                               setup_file, setup or a test, as hosts_setup
#   needs_gridengine            skip the test, saying why, where there can be none
#   gridengine_teardown         in teardown_file or teardown: all of it goes
#   gridengine_clean            in teardown: jobs are deleted, settings are as they were at first; fails
#                               when something stays in the hosts then. After a failed test it prints
#                               what the daemons and the last job have written
#   gridengine_begin, gridengine_end
#                               a test's setup and teardown, where mprun_setup belongs to them, too
#   on HOST COMMAND..., on_root, on_start, hosts COMMAND and the rest of hosts.bash work; there,
#                               Grid Engine's programs are in the PATH
#   ge_set SETTING..., ge_reset change settings, as `set` and `reset` of tests/lab/gridengine
#
#   qsub_wait [OPTIONS] <SCRIPT    submits it as labuser on n0 and waits for its end: its output and exit
#                                  code are the job's; within $JOB_LIMIT, 60 s; then 199
#   qsub_start [OPTIONS] <SCRIPT   without waiting. SCRIPT needs no "#!"; mprun is in its PATH, and m
#                                  is mprun with the options of every test; JOB_ARGUMENTS are its arguments
#   job_host                       the host that its script runs on
#   job                            prints the id of the job that was submitted last
#   job_wait                       waits for its end and accounting record: returns its exit code. Of a
#                                  job that never ran there is none: wait_until 20 job_in gone
#   job_out, job_err               the files that its output goes to
#   job_in STATE                   is it in this state, "r", "qw" and so on, "gone"?
#   job_records [FIELD...]         its accounting records, the job script's first: a line for each, with
#                                  fields of accounting(5) by their numbers; 12 failed, 13 exit_status,
#                                  35 slots, 37 cpu, 42 pe_taskid
#   words TEXT                     without those of qrsh, on a busy machine, of how its connection ended
#   code_is_lost               of a session that was run: Grid Engine has forgotten its job before it asked for
#                              the exit code, as may happen on a busy machine
#   step_start [OPTIONS]           a job (in $STEP_PE, `lab 6`, or `none`) of one step (with $STEP_OPTIONS) of six
#                                  ranks that write what they get to rank.N of its directory, and have
#                                  daemonised children. They run when it returns; MASTER is the host of
#                                  the script, OTHER another one
#   ranks_have WORD N              each of them has got it so often: start, USR1, USR2
#   ranks_are STATES               the states of those on all hosts: S, T, ST
#   finish                         they end
#   processes, no_process          what of labuser's is there on the job's hosts
#   nothing_left                   within 20 s

gridengine_setup() { lab_setup gridengine "$(gridengine_lack "$@")" "$@"; }
needs_gridengine() { needs_hosts; }
gridengine_teardown() { hosts_teardown; }

gridengine_lack() {
    local lack
    lack=$(hosts_lack $([[ " $* " != *" --rsh ssh "* ]] || echo sshd))
    if [ -z "$lack" ] && { [ ! -x /usr/lib/gridengine/sge_qmaster ] || [ ! -x /usr/lib/gridengine/sge_execd ]; }; then
        lack="needs gridengine-master and gridengine-exec"
    fi
    echo "$lack"
}

gridengine_clean() {
    [ -n "${HOSTS_DIR:-}" ] || return 0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || ge_said
    hosts empty && hosts reset || return
    # the hosts learn of a job's end before the queue master does, but for the last of its files
    wait_until 10 hosts_empty || true
    hosts_clean
}

gridengine_begin() {
    mprun_setup
    needs_gridengine
}
gridengine_end() {
    local failed=0
    gridengine_clean || failed=1
    mprun_teardown && return $failed
}

# What may tell why a test has failed
ge_said() {
    on n0 qstat -f -u '*' || true
    processes 2>&1 || true
    hosts messages | tac | awk -F ': ' 'said[$1]++ < 8' | tac || true
    [ ! -e "$BATS_TEST_TMPDIR/job-dir" ] || tail -n 20 "$(job_dir)"/{out,err}* 2>/dev/null || true
}

ge_set() { hosts set "$@"; }
ge_reset() { hosts reset; }

# `run` has its command in a subshell: what is to be known afterwards is in a file
job() { echo "$(<"$BATS_TEST_TMPDIR/job")"; }
job_dir() { echo "$(<"$BATS_TEST_TMPDIR/job-dir")"; }
job_out() { echo "$(job_dir)/out"; }
job_err() { echo "$(job_dir)/err"; }

qsub_start() {
    local dir id
    dir=$(mktemp -d "$HOSTS_DIR/shared/job.XXXXXX") && chmod 777 "$dir" || return
    {
        printf '#!/bin/bash\nPATH=%q:$PATH MPRUN_SELF_TEST_SECONDS=%s\nexport MPRUN_SELF_TEST_SECONDS\n' \
            "$MPRUN_BUILD/launcher" "$(patience 20)" &&
            printf 'm() { mprun --containment=tree %s "$@"; }\n' "${MPRUN_TRANSPORT:+--transport=$MPRUN_TRANSPORT}" && cat
    } >"$dir/script" &&
        chmod 644 "$dir/script" || return
    id=$(on n0 qsub -terse -wd "$dir" -o "$dir/out" -e "$dir/err" "$@" "$dir/script" "${JOB_ARGUMENTS[@]}") || return
    echo "${id%%.*}" >"$BATS_TEST_TMPDIR/job"
    echo "$dir" >"$BATS_TEST_TMPDIR/job-dir"
}

job_state() { on n0 qstat -u '*' | awk -v job="$(job)" '$1 == job { state = $5 } END { print state ? state : "gone" }'; }
job_host() { on n0 qstat -u '*' | awk -v job="$(job)" '$1 == job { sub(".*@", "", $8); print $8 }'; }
job_in() { [ "$(job_state)" = "$1" ]; }

# Records are written some seconds after the job has gone from qstat.
job_records() {
    local accounting=$HOSTS_DIR/gridengine/cell/common/accounting
    [ -e "$accounting" ] || return 0
    awk -F: -v job="$(job)" -v numbers="$*" '
        $6 == job {
            n = split(numbers, number, " ")
            line = n ? $number[1] : $0
            for (i = 2; i <= n; i++) line = line " " $number[i]
            print ($42 != "NONE") ":" line
        }' "$accounting" | sort -s -t : -k 1,1 | sed 's/^[01]://'
}
# Asked again and again, and so with a program only where there is a new record: is there one of the job script?
job_recorded() {
    local accounting=$HOSTS_DIR/gridengine/cell/common/accounting id seen
    read -r id <"$BATS_TEST_TMPDIR/job"
    seen=$BATS_TEST_TMPDIR/seen.$id
    [ ! -e "$seen" ] || [ "$accounting" -nt "$seen" ] || return
    [ ! -e "$accounting" ] || : >"$seen"
    [ -e "$accounting" ] &&
        awk -F: -v job="$id" '$6 == job && $42 == "NONE" { found = 1 } END { exit !found }' "$accounting"
}
# qstat is asked late: asking takes time from the job
job_ended() { job_recorded && job_in gone; }

job_wait() {
    local limit=${JOB_LIMIT:-60}
    if ! wait_until "$limit" job_ended; then
        echo "time limit of $limit s (on a quiet machine) reached by the job $(job), which is $(job_state)" >&2
        return 199
    fi
    return "$(job_records 13 | head -n 1)"
}

qsub_wait() {
    local code=0
    qsub_start "$@" || return
    job_wait || code=$?
    [ ! -e "$(job_out)" ] || cat "$(job_out)"
    [ ! -e "$(job_err)" ] || cat "$(job_err)" >&2
    return $code
}

words() { grep -av 'commlib error: got [a-z]* error (closing "[^"]*/shepherd_ijs/' <<<"$1" || true; }

code_is_lost() { [[ $status = 1 && $output == *'request could not be scheduled, try again later.'* ]]; }

EXECS="n1 n2 n3"

# No PMI: its files on /dev/shm outlive a KILL of everything.
step_start() {
    cat >"$HOSTS_DIR/shared/rank" <<'EOF'
#!/usr/bin/perl
open F, ">>", "rank.$ENV{MPRUN_RANK}" or die;
system "setsid sleep 777 & (setsid sleep 778 &)";
for my $s (qw(USR1 USR2)) { $SIG{$s} = sub { syswrite F, "$s\n" } }
syswrite F, "start\n";
sleep 1 until -e "finish";
EOF
    chmod 755 "$HOSTS_DIR/shared/rank"
    { echo "trap '' USR2; trap : USR1" && echo "m --pmi none ${STEP_OPTIONS:-} $HOSTS_DIR/shared/rank; echo code \$?"; } |
        qsub_start "$@" $([ "${STEP_PE:-}" = none ] || echo -pe ${STEP_PE:-lab 6})
    wait_until 30 ranks_have start 1 || return
    MASTER=$(job_host)
    read -r OTHER _ <<<"${EXECS//$MASTER/}"
}

ranks_have() { [ "$(grep -chx "$1" "$(job_dir)"/rank.{0,1,2,3,4,5} 2>/dev/null)" = "$(printf "$2\n%.0s" {0..5})" ]; }
finish() { on n0 touch "$(job_dir)/finish"; }
ranks_are() {
    local states
    states=$(for host in $EXECS; do on_root "$host" ps --no-headers -C rank -o stat; done | command cut -c 1 | sort -u | tr -d '\n')
    [ "$states" = "$1" ]
}

processes() { for host in $EXECS; do on_root "$host" ps --no-headers -u labuser -o pid,ppid,stat,args | sed "s/^/$host /"; done; }
no_process() { [ -z "$(processes)" ]; }
nothing_left() {
    wait_until 20 no_process && return
    processes
    return 1
}
