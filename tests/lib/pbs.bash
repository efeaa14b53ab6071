# SPDX-License-Identifier: BSD-3-Clause
# pbs.bash - a stand-in for PBS in system tests: load '../lib/mprun', '../lib/hosts', '../lib/pbs'
#
#   pbs_setup [OPTIONS]         hosts n0 and n1 to n3 with stand-ins for pbs_mom, made by tests/lab/pbs
#                               with these options of its `up`; in setup_file, or a test. With
#                               MPRUN_PBS=real the PBS that is installed here
#   is_standin, needs_standin   a real one has neither faults nor calls
#   pbs_begin, pbs_end          a test's setup and teardown: the latter fails when something stays. pbs_end_job:
#                               what it does first, for a teardown that has daemons of its own
#   fault NODE WORDS..., calls NODE     as of tests/lab/pbs
#
#   qsub_start NODES <SCRIPT    submits it as labuser; NODES as "n1:2,n2:2". mprun is in its PATH, m is
#                               mprun with the options of every test
#   qsub_wait NODES <SCRIPT     and waits for its end: output and exit code are the job's; 199 after
#                               $JOB_LIMIT, 60 s
#   qsub_terminal NODES <PLAY   as qsub -I: somebody types, as tests/lib/terminal says, after the shell's first
#                               prompt; prints what the terminal shows. mprun is $M
#   job_wait, job_dir, job_out, job_err, qdel     of the job that was submitted last
#   step_start NODES            a job of one step whose ranks write what they get to rank.N, and the time
#                               when they get TERM to term.N; its script waits for the step at a TERM
#   ranks_have WORD N COUNT     COUNT ranks have got it so often

pbs_setup() { lab_setup pbs "$(pbs_lack)" ${MPRUN_PBS:+--flavour "$MPRUN_PBS"} "$@"; }
is_standin() { [ -z "${MPRUN_PBS:-}" ]; }
needs_standin() { is_standin || skip "only with the stand-in"; }
pbs_lack() {
    local lack
    lack=$(hosts_lack)
    [ -n "$lack" ] || command -v python3 >/dev/null || lack="needs python3"
    echo "$lack"
}
pbs_begin() {
    mprun_setup
    needs_hosts
}
pbs_end() {
    local failed=0
    pbs_clean || failed=1
    mprun_teardown && return $failed
}
pbs_clean() {
    [ -n "${HOSTS_DIR:-}" ] && [ -d "$HOSTS_DIR" ] || return 0
    pbs_end_job
    hosts_clean
}
pbs_end_job() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 20 "$HOSTS_DIR"/pbs/{log,calls}.* "$HOSTS_DIR"/pbs/home/*/mom_logs/* "$(job_dir)"/{out,err} 2>/dev/null || true
    [ ! -e "$BATS_TEST_TMPDIR/job" ] || [ -e "$(job_dir)/exit" ] || { qdel && job_wait >/dev/null || true; }
    rm -f "$HOSTS_DIR"/pbs/{faults,calls}.*
}
fault() { hosts fault "$@"; }
calls() { hosts calls "$@"; }
# wait_for_call NODE REGEXP
wait_for_call() { wait_until 20 eval 'calls '"$1"' 2>/dev/null | grep -q "'"$2"'"'; }

job() { echo "$(<"$BATS_TEST_TMPDIR/job")"; }
job_dir() { echo "$(<"$BATS_TEST_TMPDIR/job-dir")"; }
job_out() { echo "$(job_dir)/out"; }
job_err() { echo "$(job_dir)/err"; }
qdel() {
    echo "delete $(date +%s.%N)" >"$BATS_TEST_TMPDIR/deleted"
    hosts qdel "$(job)"
}

job_dir_make() {
    local dir
    dir=$(mktemp -d "$HOSTS_DIR/shared/job.XXXXXX") && chmod 777 "$dir" && chown 64000:64000 "$dir" && echo "$dir"
}
qsub_terminal() {
    local dir
    dir=$(job_dir_make) && echo "$dir" >"$BATS_TEST_TMPDIR/job-dir" || return
    { printf 'wait [$] $\ntype M="%s --containment=tree"\\r\n' "$MPRUN_BUILD/launcher/mprun" && cat &&
        printf '%s\n' 'type exit 0\r'; } |
        "$MPRUN_SOURCE/tests/lib/terminal" "$MPRUN_SOURCE/tests/lab/pbs" interactive "$HOSTS_DIR" "$1" "$dir" 3>&-
}
qsub_start() {
    local dir
    dir=$(job_dir_make) || return
    {
        printf 'PATH=%q:$PATH\ncd %q\n' "$MPRUN_BUILD/launcher" "$dir" &&
            echo 'm() { mprun --containment=tree "$@"; }' && cat
    } >"$dir/script" && chmod 644 "$dir/script" || return
    hosts qsub "$1" "$dir" "$dir/script" >"$BATS_TEST_TMPDIR/job" || return
    echo "$dir" >"$BATS_TEST_TMPDIR/job-dir"
}
job_wait() {
    local limit=${JOB_LIMIT:-60}
    if ! wait_until "$limit" test -e "$(job_dir)/exit"; then
        echo "time limit of $limit s (on a quiet machine) reached by the job $(job)" >&2
        return 199
    fi
    return "$(<"$(job_dir)/exit")"
}
qsub_wait() {
    local code=0
    qsub_start "$@" || return
    job_wait || code=$?
    cat "$(job_out)"
    cat "$(job_err)" >&2
    return $code
}

step_start() {
    cat >"$HOSTS_DIR/shared/rank" <<'EOF'
#!/usr/bin/perl
use Time::HiRes "time";
sub now { open T, ">", $_[0] and printf T "%.3f\n", time }
open F, ">>", "rank.$ENV{MPRUN_RANK}" or die;
$SIG{TERM} = sub { now "term.$ENV{MPRUN_RANK}"; syswrite F, "TERM\n"; exit 0 };
$SIG{USR1} = sub { syswrite F, "USR1\n" };
syswrite F, "start\n";
sleep 1 until -e "finish";
EOF
    chmod 755 "$HOSTS_DIR/shared/rank"
    qsub_start "$1" <<<"trap : TERM; mprun --containment=tree --pmi none $HOSTS_DIR/shared/rank & wait \$!; wait \$!; echo code \$?"
}
# The next step removes what a killed one has left, when it is not quite new.
sweep_up() {
    local host
    for host in n1 n2 n3; do
        on_root "$host" find /tmp /dev/shm -maxdepth 1 -name 'mprun-*' -exec touch -d '-60 sec' {} +
    done
    qsub_wait n1,n2,n3 <<<'m true'
}
ranks_have() { [ "$(cat "$(job_dir)"/rank.* 2>/dev/null | grep -cx "$1")" = "$(($2 * $3))" ]; }
