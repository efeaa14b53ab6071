#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# whole.bats - jobs of an ordinary user in a Grid Engine with mprund and mprun-shepherd on its hosts, where
# memory can be limited: what they ask for holds them on all of their hosts. Only in a virtual machine
# (run-all.sh, run-in-vm.sh), where hosts are up in 13 s; tests/system/mprund-whole.bats has the rest.
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'
load '../lib/mprund-hosts'

in_machine() { [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" != systemd ]; }
setup_file() {
    in_machine || return 0
    export HOSTS_TEST_LIMIT=60 JOB_LIMIT=200
    # of v1 only what is different: a machine has its time
    gridengine_setup --exec "$([ "$VMRUN_CGROUP" = v1 ] && echo 2 || echo 3)" --slots 4 \
        --set configuration:shepherd_cmd="$SHEPHERD"
    [ -n "${HOSTS_LACK:-}" ] || { cp "$(mpi_program memhog none)" "$HOSTS_DIR/shared/memhog" && daemons_start; }
}
daemons_start() { mprund_asking && mprunds_start "${ASKING[@]}" 'gridengine.qstat_seconds = 60'; }
teardown_file() {
    in_machine || return 0
    mprunds_stop
    gridengine_teardown
}
setup() {
    in_machine || skip "only in the virtual machine, without systemd"
    needs_gridengine
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() { mprunds_clean; }

# start OPTIONS <SCRIPT: as qsub_start, and sets JOB to its number and DIR to its directory
start() {
    qsub_start "$@"
    JOB=$(job) DIR=$(dirname "$(job_out)")
}
lines_in() { [ "$(cat "${@:2}" 2>/dev/null | wc -l)" -ge "$1" ]; }
# memory_of HOST JOB: the limit of all that the job has there, bytes
memory_of() {
    local dir
    dir=$(job_cgroup "$1" "$2")
    [ -n "$dir" ] || return 0
    case $VMRUN_CGROUP in
    v2) cat "$dir/memory.max" ;;
    *) cat "/sys/fs/cgroup/memory/mprund.$1/${dir##*/}/memory.limit_in_bytes" ;;
    esac
}
has_memory() { [ "$(memory_of "$1" "$2")" = "$3" ]; }
expand() { tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' | sort -u; }
was_killed() { grep -q "^mprun: rank 3 on n[123] was killed: out of memory (cgroup '[^']*/ge-$first.1-[^']*' reached its limit 400 MiB;" "$dir1/err"; }
killed_for_memory() { # HOST JOB: how many, as the kernel has it of the job
    local dir
    dir=$(job_cgroup "$1" "$2")
    case $VMRUN_CGROUP in
    v2) sed -n 's/^oom_kill //p' "$dir/memory.events" ;;
    *) sed -n 's/^oom_kill //p' "/sys/fs/cgroup/memory/mprund.$1/${dir##*/}/memory.oom_control" ;;
    esac
}
threads() { sed -n "s/^$1 .* //p" "$2/out" | tr '\n' , | sed 's/,$/\n/' | expand; }

@test "two jobs on the same hosts: memory for their slots on each, cores of their own, and an end that leaves nothing" {
    say='echo $(hostname) $(grep -E "^0::|:memory:" /proc/self/cgroup) $(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)'
    hosts=$(mprund_hosts) ranks=$((2 * $(mprund_hosts | wc -w)))
    start -pe lab $ranks -l m_mem_free=200M <<EOF
MPRUN_HOG_RANK=3 mprun --report-json report sh -c '
    $say
    until [ -e go ]; do sleep 0.2; done
    exec "$HOSTS_DIR/shared/memhog" 600 1000 200'
EOF
    first=$JOB dir1=$DIR
    start -pe lab $ranks -l m_mem_free=100M <<EOF
mprun sh -c '
    $say
    setsid sh -c "trap : TERM HUP; sleep 1000 & sleep 1000" </dev/null >/dev/null 2>&1 &
    exec "$HOSTS_DIR/shared/memhog" 25 1000'
EOF
    second=$JOB dir2=$DIR
    wait_until 120 lines_in $ranks "$dir1/out"
    wait_until 120 lines_in $ranks "$dir2/out"
    cat "$dir1"/{out,err} "$dir2"/{out,err}
    for host in $hosts; do
        # slots x what was asked for, once
        wait_until 30 has_memory $host "$first" $((2 * 200 << 20)) || { echo "$host: $(memory_of $host "$first")"; false; }
        wait_until 30 has_memory $host "$second" $((2 * 100 << 20)) || { echo "$host: $(memory_of $host "$second")"; false; }
        for job in "$first $dir1" "$second $dir2"; do
            set -- $job
            leaf=":/mprund.$host/ge-$1\.1-[0-9a-f]{8}"
            [ "$VMRUN_CGROUP" = v1 ] || leaf="0:$leaf/u/mprun\.[^/ ]*/ranks/0\.[0-5]\.0"
            [ "$(grep -cE "^$host .*$leaf" "$2/out")" = 2 ]
            [ "$(threads $host "$2" | wc -l)" = 2 ] # a core each
        done
        [ -z "$(comm -12 <(threads $host "$dir1") <(threads $host "$dir2"))" ]
    done

    # limits are the kernel's to hold, with or without a daemon
    for host in $hosts; do mprund_end $host KILL; done
    touch "$dir1/go"
    echo "$first" >"$BATS_TEST_TMPDIR/job"
    wait_until 200 was_killed || { cat "$dir1/err"; false; }
    for host in $hosts; do
        kills=$(killed_for_memory $host "$first") # the kernel may count one process twice
        echo "$host: $kills"
        [ $((kills > 0)) = "$(grep -c "^mprun: rank 3 on $host " "$dir1/err")" ]
        [ "$(killed_for_memory $host "$second")" = 0 ]
    done
    for host in $hosts; do mprund_start $host; done
    run job_wait
    cat "$dir1/err"
    [ "$status" -eq 137 ]
    [ "$(job_records 13 | head -n 1)" = 137 ] # the books say the same
    run -0 python3 -c 'import json, sys; s = json.load(open(sys.argv[1]))["step"]; print(s["exit_code"], s["first_failure"]["rank"], s["first_failure"]["end"]["cause"])' "$dir1/report"
    [ "$output" = "137 3 limit" ]
    echo "$second" >"$BATS_TEST_TMPDIR/job"
    job_in r # what became of the other job is nothing to it
    on n0 qdel "$second"
    wait_until 100 job_in gone
    grounds_empty 60
}

@test "mprun --self-test: the job has the limit it asks for on each host; in v2 a rank has one of its own, too" {
    run -0 qsub_wait -pe lab "$(mprund_hosts | wc -w)" -l m_mem_free=200M <<<'mprun --self-test'
    echo "$output"
    grep '^cores    ok ' <<<"$output"
    [ "$VMRUN_CGROUP" != v2 ] || grep '^limits   ok .* exceeded its memory limit 64 MiB; exit code 137$' <<<"$output"
    grep '^mprund   ok       it answers on n1 .*; on each the job has the limit it asks for (m_mem_free=200M)$' <<<"$output"
}
