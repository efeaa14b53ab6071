#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mpbind.bats - root gives jobs their cores and limits, before and after they come. Limits of memory that
# hold are in tests/vm/mprund.bats.
load '../lib/mprun'
load '../lib/mprund'
MPBIND=$MPRUN_BUILD/tools/mpbind

setup() {
    mprun_setup
    chmod 755 "$TMPDIR"
    spool_setup
    mprund_setup "gridengine { spool = \"$SPOOL\" }"
}
teardown() {
    local failed=0
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}

mpbind() { here "$MPBIND" "$@"; }
as_job_of_site() { here "$MPRUND" enter --job "$1" --user "${2:-$TEST_UID}" "${@:3}"; }
jobs_here() { # their names, owners and states
    here "$MPRUND" status --json | python3 -c 'import json, sys
for j in json.load(sys.stdin)["jobs"]: print(j["job"], j.get("uid", "-"), j["state"])'
}

@test "a job is made before anything of it comes, waits through a kill -9, and goes with its last process" {
    mpbind --user "$TEST_UID" solver.7 0 0 0
    [ "$(jobs_here)" = "solver.7 $TEST_UID expected" ]
    job=$(echo "$GROUND"/site-solver.7-*)
    mprund_kill
    mprund_start # looks at once for what nobody is in
    [ "$(jobs_here)" = "solver.7 $TEST_UID expected" ]
    run -1 as_job_of_site solver.7 "$OTHER_UID" true
    [[ $output == *"job solver.7 is of another user here"* ]]
    run -0 as_job_of_site solver.7 "$TEST_UID" sed -n 's,^0::.*/\(.*/task\)$,\1,p' /proc/self/cgroup
    [ "$output" = "${job##*/}/task" ]
    mprund_gone
}

@test "whose a job is may be said later, by the manager or by who enters it" {
    mpbind solver.7 0 0 0
    mpbind 23 0 0 0
    [ "$(jobs_here | sort)" = $'23.1 - expected\nsolver.7 - expected' ]
    # until then it is nobody's
    run as_nobody "$MPRUND" status
    [[ $output != *23.1* ]]
    job=$(echo "$GROUND"/ge-23.1-*)
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    [ "$output" = "ok $job/u " ]
    [ "$(stat -c %u "$job/u" "$job/u/home" "$job/u/cgroup.procs" | sort -u)" = "$TEST_UID" ]
    run -0 as_job_of_site solver.7 "$TEST_UID" sed -n 's,^0::.*/\(.*/task\)$,\1,p' /proc/self/cgroup
    [[ $output == site-solver.7-*/task ]]
    rm -r "$SPOOL/active_jobs/23.1" # and that is its end
    mprund_gone
}

@test "a job of the manager's is bound by its number, and its owner's" {
    spool_job 23.4 $TASK_GROUP "$(nobody_name)"
    run -1 mpbind --user "$OTHER_UID" 23.4 0 0 0
    [[ $output == *"mpbind: bind job 23.4: mprund says: "*"of another user here"* ]]
    mpbind --user "$TEST_UID" 23.4 0 0 0
    mpbind --unlimit 23.4 0 0 0
    mpbind --unlimit 23.4
    mpbind 23.4 0 0 0 --unlimit
    [ "$(jobs_here)" = "23.4 $TEST_UID expected" ]
    run -1 mpbind --user "$OTHER_UID" 23.4 0 0 0
    # one that is not in it is no reason to keep it, one that is in it is
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place sleep 1000 >/dev/null 3>&- &
    wait_until 10 has_process 23.4
    [ "$(jobs_here)" = "23.4 $TEST_UID running" ]
    run -1 mpbind --forget 23.4
    [[ $output == *"processes of job 23.4 are here: it ends with them"* ]]
    echo 1 >"$(echo "$GROUND"/ge-23.4-*)/cgroup.kill"
    wait $! || true
    mpbind --forget 23.4
    mprund_gone
}

@test "a job that comes long after it was bound stays, though its manager did not know it until then" {
    mpbind --user "$TEST_UID" 23.4 0 0 0
    sleep 6 # a manager is asked about its jobs every 5 s: this one knows of none
    spool_job 23.4 $TASK_GROUP "$(nobody_name)"
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place sleep 1000 >/dev/null 3>&- &
    wait_until 10 has_process 23.4
    sleep 6
    [ "$(jobs_here)" = "23.4 $TEST_UID running" ]
    kill -0 $!
    rm -r "$SPOOL/active_jobs/23.4" # and that is its end
    wait $! || true
    mprund_gone
}

has_process() { jobs_here | grep -q "^$1 .* running$"; }

@test "cores: given before a job comes and while it runs, the job's alone, and all again" {
    grep -q ':cpuset:' /proc/self/cgroup || skip "needs cpusets of cgroup v1"
    needs_cores 2
    sed -i 's/^subsystems.*/subsystems = {cpu, cpuset}/' "$MPRUND_CONF"
    mprund_kill
    mprund_start
    field() { here "$MPRUND" status --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
    all=$(field 'd["cores"]')
    mpbind --user "$TEST_UID" 12.1 1 0 0
    [ "$(field '(d["cores_free"], d["jobs"][0]["cores_how"])')" = "($((all - 1)), 'own')" ]
    # too few are free: it shares all of them, as a job that is not bound, and that is said
    mpbind --user "$TEST_UID" 13.1 "$all" 0 0 2>left
    grep -q "job 13.1: not held here: job 13.1 is to have $all cores of its own" left
    [ "$(field '[(j["cores_how"], j["hardware_threads"]) for j in d["jobs"] if j["job"] == "13.1"]')" = "[('shared', '$(all_threads)')]" ]
    [ "$(field 'd["cores_free"]')" = $((all - 1)) ]
    mpbind --forget 13.1
    run -1 mpbind --strict --user "$TEST_UID" 13.1 "$all" 0 0
    [[ $output == *"bind job 13.1: mprund says: job 13.1 is to have $all cores of its own, and of the $all for jobs here"* ]]
    wait_until 10 only_one_job
    JOB=$(echo "$GROUND"/*-12.1-*)
    spool_job 12.1 $TASK_GROUP "$(nobody_name)"
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place sleep 1000 >/dev/null 3>&- &
    wait_until 10 grep -q . "$JOB/u/home/cgroup.procs"
    [ "$(of_processes)" = "$(field 'd["jobs"][0]["hardware_threads"]')" ]
    mpbind 12.1 "$all" 0 0
    [ "$(field 'd["cores_free"]')" = 0 ]
    mpbind 12.1 1 0 0
    [ "$(field 'd["cores_free"]')" = $((all - 1)) ]
    mpbind 12.1 0 0 0
    [ "$(field 'd["cores_free"]')" = "$all" ]
    mpbind 12.1 1 0 0
    mpbind --unlimit 12.1 1 0 0
    [ "$(field 'd["cores_free"]')" = "$all" ]
    echo 1 >"$JOB/cgroup.kill"
    wait $! || true
}
all_threads() { tr -d '\n' <"/sys/fs/cgroup/cpuset$GROUND_CGROUP/cpuset.cpus"; }
of_processes() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$(head -n 1 "$JOB/u/home/cgroup.procs")/status"; }
only_one_job() { [ "$(jobs_here | wc -l)" = 1 ]; }

@test "what this host cannot hold is said, and refused with --strict: of a job that was made for it nothing stays" {
    for limits in '0 48M 0' '0 0 48M' '1 0 0' '1 48M 0'; do
        run -1 mpbind --strict --user "$TEST_UID" 23.4 $limits
        case $limits in
        *48M*) [[ $output == *"mpbind: bind job 23.4: mprund says: limit the memory of job 23.4: no cgroup of this host "* ]] ;;
        *) [[ $output == *"jobs have no cpusets on this host"* ]] ;;
        esac
        mprund_gone
        run -0 mpbind --user "$TEST_UID" 23.4 $limits
        [[ $limits != *48M* || $output == *"job 23.4: not held here: limit the memory of job 23.4: no cgroup of this host "* ]]
        [[ $limits != 1* || $output == *"jobs have no cpusets on this host" ]]
        [ "$(jobs_here)" = "23.4 $TEST_UID expected" ]
        mpbind --forget 23.4
        mprund_gone
    done
    job_start 12.1 sleep 1000
    run -1 mpbind --strict 12.1 0 48M 0
    [ -d "$JOB" ] # a job that runs goes on
    mpbind 12.1 0 0 0
    job_kill
    mprund_gone
}

@test "a job that does not come is forgotten: when that is said, or after its time" {
    mpbind 23.4 0 0 0
    mpbind --forget 23.4
    mprund_gone
    mpbind --forget 23.4 # which is no error
    echo 'bound_for = 1' >>"$MPRUND_CONF"
    kill -HUP "$MPRUND_PID"
    mpbind 23.4 0 0 0
    mprund_gone 30
}

@test "a job that is deleted before it comes gives its cores back: its directory went, or Grid Engine knows no such job" {
    mpbind 23.4 0 0 0
    spool_job 23.4 $TASK_GROUP "$(nobody_name)"
    rm -r "$SPOOL/active_jobs/23.4"
    mprund_gone
    mkdir -m 777 asked
    cat >qstat <<END
#!/bin/sh
mkdir "$TMPDIR/asked/once" 2>/dev/null
[ -e "$TMPDIR/deleted" ] || { echo "error: failed receiving gdi request" >&2; exit 1; }
printf '<?xml version="1.0"?>\n<unknown_jobs >\n<ST_name>%s</ST_name>\n</unknown_jobs>\n' "\$3"
END
    chmod 755 qstat
    sed -i "s,^gridengine.*,gridengine { spool = \"$SPOOL\" qstat = \"$TMPDIR/qstat\" }," "$MPRUND_CONF"
    mprund_kill
    mprund_start
    mpbind 23.4 0 0 0
    mpbind solver.7 0 0 0 # nobody can be asked about this one
    wait_until 20 test -e asked/once # no answer is no reason
    [ "$(jobs_here | wc -l)" = 2 ]
    touch deleted
    only_solver() { [ "$(jobs_here)" = "solver.7 - expected" ]; }
    wait_until 15 only_solver
}

@test "--wait: as root the job is made as its manager says, as its user it is waited for, and not for ever" {
    run -4 as_nobody "$MPBIND" --wait 0.2 23.4
    [[ $output == *"wait for job 23.4: it was not ready within 0.2 s"* ]]
    run -1 mpbind --wait "$(patience 10)" 23.4
    [[ $output == *"no manager has written of it"* ]]
    no_jobs
    spool_job 23.4 $TASK_GROUP "$(nobody_name)"
    as_nobody "$MPBIND" --wait "$(patience 20)" 23.4 &
    mpbind --wait "$(patience 10)" 23.4
    wait $!
    [ "$(jobs_here)" = "23.4 $TEST_UID running" ]
    run -4 as_other "$MPBIND" --wait 0.2 23.4 # another's job
    # one that gives no sign of life is not waited for, and asked as before when it is back
    kill -STOP "$(mprund_part front)"
    began
    for who in here as_nobody here; do
        run -4 $who "$MPBIND" --wait 100 23.4
        [[ $output == "mpbind: wait for job 23.4: mprund does not answer (no sign of life for "*"): root can restart it"* ]]
    done
    ended_within 5
    kill -CONT "$(mprund_part front)"
    mpbind --wait "$(patience 20)" 23.4
}

@test "--wait: while the manager is still asked what the job asks for it is not ready" {
    sample=$MPRUN_SOURCE/tests/unit/gridengine-jobs/threaded/qstat.xml
    printf '#!/bin/sh\nuntil [ -e %q ]; do sleep 0.05; done\ncat %q\n' "$TMPDIR/answer" "$TMPDIR/answer" >qstat
    chmod 755 qstat
    printf 'retry = 1\ntrace = "%s"\n' "$TMPDIR/trace" >>"$MPRUND_CONF"
    sed -i "s,^gridengine.*,gridengine { spool = \"$SPOOL\" qstat = \"$TMPDIR/qstat\" }," "$MPRUND_CONF"
    mprund_kill
    mprund_start
    job=$(sed -n 's,.*<JB_job_number>\([0-9]*\)</JB_job_number>.*,\1,p' "$sample").1
    spool_job "$job" $TASK_GROUP "$(nobody_name)"
    run -4 mpbind --wait 0.2 "$job"
    # nor for a daemon that is started again meanwhile
    mprund_kill
    mprund_start
    run -4 mpbind --wait 0.2 "$job"
    run ! grep "limit job=$job by=qstat" trace
    # no answer: it is asked again later
    touch answer
    mpbind --wait "$(patience 20)" "$job"
    cat "$sample" >all && mv all answer
    wait_until 20 grep "limit job=$job by=qstat" trace
}

@test "only root binds, and where there is no mprund that is said" {
    run -1 as_nobody "$MPBIND" 23.4 0 0 0
    [[ $output == *"only root gives a job its limits"* ]]
    run -1 as_nobody "$MPBIND" --forget 23.4
    no_jobs
    kill -TERM "$MPRUND_PID"
    wait_until 10 process_gone "$MPRUND_PID"
    run -3 mpbind 23.4 0 0 0
    [[ $output == *"mpbind: bind job 23.4: ask mprund at '/run/mprun/mprund.sock': "* ]]
}

@test "wrong use is told, whatever it is" {
    while read -r words; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$MPBIND" $words
        [ -z "$output" ]
        [[ $stderr == "mpbind: "*"(mpbind --help shows how)" ]] || { echo "$words: $stderr"; false; }
    done <<'END'

23.4
23.4 4
23.4 4 1G
23.4 4 1G 0 0
23.4 -1 1G 0
23.4 x 1G 0
23.4 4 1X 0
23.4 4 0K 0
../23 4 1G 0
--unlimit
--unlimit --forget 23.4
--wait 23.4
--wait 1s --strict 23.4
--unlimit --strict 23.4
--wait 1s 23.4 24.4
--forget 23.4 0 0 0
--no-such-option 23.4 0 0 0
END
    run -2 "$MPBIND" --user no.such.user 23.4 0 0 0
    run -2 "$MPBIND" --user root 23.4 0 0 0
    no_jobs
}

@test "the manual has every option, and --help the order of words" {
    run -0 --separate-stderr "$MPBIND" --help
    [ -z "$stderr" ]
    [[ ${lines[0]} == "Usage: mpbind [OPTION...] JOB[.TASK] CORES MEM VMEM" ]]
    sed 's/^\.It Fl -/--/; s/ *, Fl -/ --/g' "$MPRUN_SOURCE/share/man/mpbind.8" >man.8
    grep -oE -- '^ +(-[a-zA-Z], )?--[a-z]+' <<<"$output" | grep -oE -- '--[a-z]+' >options
    [ "$(wc -l <options)" -eq 7 ]
    while read -r option; do grep -q -e "^$option\|^\.It .* $option" man.8 || { echo "no $option"; false; }; done <options
}
