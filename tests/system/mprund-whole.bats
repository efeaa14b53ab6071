#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-whole.bats - jobs of an ordinary user in a Grid Engine with mprund and mprun-shepherd on its hosts:
# where their ranks are, which cores they have, what the books say, and what is left of them after whatever
# happens. Limits of memory are for tests/vm/whole.bats.
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'
load '../lib/mprund-hosts'

setup_file() {
    export SUBSYSTEMS='cpu, cpuset'
    gridengine_setup --slots 12 --set configuration:shepherd_cmd="$SHEPHERD"
    [ -n "${HOSTS_LACK:-}" ] || mprunds_start 'stuck_after = 1' 'retry = 1'
}
teardown_file() {
    mprunds_stop
    gridengine_teardown
}
setup() {
    needs_gridengine
    needs_v2
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() { mprunds_clean; }

# start PE-OPTIONS <SCRIPT: as qsub_start, and sets JOB to its number and DIR to its directory
start() {
    qsub_start -r n "$@"
    JOB=$(job) DIR=$(dirname "$(job_out)")
}
lines_in() { [ "$(cat "${@:2}" 2>/dev/null | wc -l)" -ge "$1" ]; }
# alone_on HOST DIR OTHER: the hardware threads of two jobs' ranks there have nothing in common
expand() { tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' | sort; }
threads() { sed -n "s/^$1 .* //p" "$2"/out | head -n 1 | expand; }
alone_on() { [ -n "$(threads "$1" "$2")" ] && [ -z "$(comm -12 <(threads "$1" "$2") <(threads "$1" "$3"))" ]; }

@test "two jobs at once: a leaf for each rank, cores of their own on each host, and books that agree" {
    needs_cores 2
    grep -q ':cpuset:' /proc/self/cgroup || skip "needs cpusets of cgroup v1"
    SPIN=$HOSTS_DIR/shared/spin
    cp "$(mpi_program spin none)" "$SPIN"
    ask='mprun --report-json report sh -c "
        echo \$(hostname) \$(sed -n s/^0:://p /proc/self/cgroup) \
            \$(sed -n s/.*:cpuset://p /proc/self/cgroup) \$(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)
        until [ -e go ]; do sleep 0.1; done
        exec '$SPIN' 2"'
    start -pe lab 3 <<<"$ask"
    first=$JOB dir1=$DIR
    start -pe lab 3 <<<"$ask"
    second=$JOB dir2=$DIR
    wait_until 60 lines_in 3 "$dir1/out"
    wait_until 60 lines_in 3 "$dir2/out"
    cat "$dir1/out" "$dir2/out"
    for host in n1 n2 n3; do
        for job in "$first $dir1" "$second $dir2"; do
            set -- $job
            grep -qE "^$host .*/$host/mprund/ge-$1\.1-[0-9a-f]{8}/u/mprun\.[^/ ]*/ranks/0\.[0-2]\.0 .*/$host/mprund/ge-$1\.1-[0-9a-f]{8} [0-9,-]+$" "$2/out"
        done
        alone_on $host "$dir1" "$dir2"
        on_root $host "$MPRUND" status --json >"$TMPDIR/status"
        python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert sorted((j["job"], j["cores_how"], j["cores"]) for j in d["jobs"]) == [(sys.argv[2] + ".1", "own", 1), (sys.argv[3] + ".1", "own", 1)], d' \
            "$TMPDIR/status" "$first" "$second"
    done
    touch "$dir1/go" "$dir2/go"
    JOB_LIMIT=200 job_wait
    agree "$(reported "$dir2")"
    echo "$first" >"$BATS_TEST_TMPDIR/job"
    JOB_LIMIT=200 job_wait
    agree "$(reported "$dir1")"
    grounds_empty
}
reported() { python3 -c 'import json, sys; u = json.load(open(sys.argv[1]))["usage"]; print(u["cpu_user_s"] + u["cpu_system_s"])' "$1/report"; }
# of the books' records one for each task and one for the script, which has mprun's own time; the manager books
# what it starts itself, too: where processes are dear, this is more
agree() {
    local booked
    [ "$(job_records 42 | grep -c '^1[.]n[123]$')" = 3 ]
    booked=$(job_records 37 | awk '{ sum += $1 } END { print sum }')
    echo "booked $booked s, reported $1 s"
    look_how_slow
    awk -v b="$booked" -v r="$1" -v starts="$((MPRUN_TEST_SLOW - 1))" \
        'BEGIN { exit !(r >= 6 && b > r * 0.96 && b < r * 1.04 + starts * 0.2) }'
}

# The script of a job of three ranks that end only when they are ended, and leave what they can behind
endless='mprun sh -c "
    setsid sh -c \"trap : TERM HUP; echo \$(hostname) >>here; while :; do sleep 1000; done\" </dev/null >/dev/null 2>&1 &
    exec sleep 1000"'
# victim NAME JOB: the process to be killed of this job
master() { basename "$(grep -l "^job_id=$1\$" "$HOSTS_DIR"/gridengine/spool/execd/n?/active_jobs/"$1".1/config)"; }
victim() {
    case $1 in
    script) job_pids "$3" "$2" "$2" ;;
    mprun) job_pids "$3" "$2" mprun ;;
    qrsh) job_pids "$3" "$2" qrsh ;;
    shepherd) job_pids "$3" "$2" sge_shepherd ;;
    task-shepherd) job_pids "$4" "$2" sge_shepherd ;;
    agent) job_pids "$4" "$2" mprun-agent ;;
    worker) job_pids "$4" "$2" mpstarter ;;
    mppmi) job_pids "$4" "$2" mppmi ;;
    rank) job_pids "$4" "$2" sleep ;;
    esac | head -n 1
}
# what a worker left that was killed with its agent a later step there takes away
files() { on_root "$1" find /tmp /dev/shm -path "$HOSTS_DIR" -prune -o -user labuser ! -path '/dev/shm/mprun-*' -print 2>&1; }
no_file() { [ -z "$(files "$1")" ]; }
all_here() { # DIRECTORY
    [ "$(sort -u "$1/here" 2>/dev/null | wc -l)" = 3 ]
}

@test "whatever is killed, nothing of the job is left: not its processes, files or cgroups" {
    declare -A jobs dirs
    kinds='qdel script mprun qrsh shepherd task-shepherd agent worker mppmi rank'
    for kind in $kinds; do
        start -pe lab 3 <<<"$endless"
        jobs[$kind]=$JOB dirs[$kind]=$DIR
    done
    for kind in $kinds; do wait_until 120 all_here "${dirs[$kind]}"; done
    mprund_end n2 KILL
    for kind in $kinds; do
        id=${jobs[$kind]}
        host=$(for h in n1 n2 n3; do [ -z "$(job_pids $h "$id" mprun)" ] || echo $h; done)
        other=$([ "$host" = n3 ] && echo n1 || echo n3)
        [ $kind != qdel ] || { on n0 qdel "$id" && continue; }
        # the PMI server of ranks that do not ask for it starts late
        [ $kind != mppmi ] || wait_until 20 eval '[ -n "$(victim mppmi "$id" "$host" "$other")" ]'
        pid=$(victim $kind "$id" "$host" "$other")
        echo "# $kind of job $id on $host, others on $other: ${pid:-none}"
        [ -n "$pid" ]
        kill -KILL "$pid"
    done
    mprund_start n2
    for kind in $kinds; do
        echo "${jobs[$kind]}" >"$BATS_TEST_TMPDIR/job"
        wait_until 100 job_in gone || { echo "after the end of the $kind the job is $(job_state)"; false; }
    done
    grounds_empty 60
    for host in n1 n2 n3; do
        wait_until 20 nobody_is_there $host || { on_root $host ps -u labuser -o pid,ppid,args; false; }
        wait_until 20 no_file $host || { files $host; false; }
    done
}
