#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-parts.bats - the processes of the node daemon: each may hang, or die, and is not missed for long
load '../lib/mprun'
load '../lib/mprund'

setup() {
    mprun_setup
    chmod 755 "$TMPDIR"
    spool_setup
    mprund_setup "gridengine { spool = \"$SPOOL\" }"
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
}
teardown() {
    local failed=0
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}

part() { pgrep -P "$MPRUND_PID" -x "mprund-$1"; }
place() { as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place "$@"; }
is_other() { # NAME PID: it runs, and is not this one
    local pid
    pid=$(part "$1") && [ "$pid" != "$2" ]
}

@test "a reader that is stuck keeps out only those who can be known by nothing else" {
    job_start 12.1 sleep 1000
    kill -STOP "$(part reader)"
    place >asked 3>&- &
    asking=$!
    # meanwhile root, and a user whose process is in a job's cgroup already
    run -0 enter 12.1 true
    run -0 as_nobody "$MPRUND" status
    [[ $output == *12.1*site*running* ]]
    run ! here "$MPRUN_BUILD/tools/mpbind" --wait 5 23.1
    [[ $output == *"cannot be read in time"* ]]
    wait "$asking" || true
    cat asked
    grep -q '^refused .*cannot be read in time' asked
    kill -CONT "$(part reader)"
    run -0 place
    [[ $output == "ok $GROUND/ge-23.1-"????????/u\  ]]
    job_kill
}

@test "a job that begins while there is no reader is its owner's" {
    local pid
    for _ in 1 2 3 4; do # so that the supervisor waits for longer before the next one
        pid=$(part reader)
        kill -KILL "$pid"
        wait_until 10 is_other reader "$pid"
    done
    kill -KILL "$(part reader)"
    here sh -c 'cd "$0" && exec "$1"' "$SPOOL/active_jobs/23.1" "$MPRUN_BUILD/node-daemon/mprun-shepherd" >shepherd 2>&1 || true
    cat shepherd # there is none to become
    [ "$(stat -c %g "$GROUND"/ge-23.1-*)" = "$TEST_UID" ]
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone
}

@test "a configuration that is read again and again keeps nobody waiting longer each time" {
    for _ in 1 2 3 4 5 6 7 8; do
        pid=$(part front)
        SECONDS=0
        kill -HUP "$MPRUND_PID"
        wait_until 10 is_other front "$pid"
    done
    [ "$SECONDS" -le "$(patience 1)" ]
    run -0 here "$MPRUND" status
}

@test "the parts die one by one, and the next ones serve the same job" {
    place sleep 1000 >placed 3>&- &
    wait_until 10 grep -q '^ok ' placed
    JOB=$(echo "$GROUND"/ge-23.1-*)
    [ "$(find "$GROUND" -name cgroup.procs -exec cat {} + | wc -l)" = 1 ]
    for name in reader signer mover front; do
        pid=$(part "$name")
        kill -KILL "$pid"
        wait_until 10 is_other "$name" "$pid"
        run -0 place # the request waits for front where that is the one
        echo "$name: $output"
        [ "$output" = "ok $JOB/u " ]
        [ "$(echo "$GROUND"/ge-23.1-*)" = "$JOB" ]
    done
    kill -0 "$MPRUND_PID"
    echo 1 >"$JOB/cgroup.kill"
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone
}

@test "a front that begins while there is no reader asks what jobs ask for when there is one" {
    local sample=$MPRUN_SOURCE/tests/unit/gridengine-jobs/threaded/qstat.xml job pid
    printf '#!/bin/sh\nuntil [ -e %q ]; do sleep 0.05; done\ncat %q\n' "$TMPDIR/answer" "$sample" >qstat
    chmod 755 qstat
    printf 'trace = "%s"\n' "$TMPDIR/trace" >>"$MPRUND_CONF"
    sed -i "s,^gridengine.*,gridengine { spool = \"$SPOOL\" qstat = \"$TMPDIR/qstat\" }," "$MPRUND_CONF"
    mprund_kill
    mprund_start
    for _ in 1 2 3 4 5; do # so that the supervisor waits for longer before the next one
        pid=$(part reader)
        kill -KILL "$pid"
        wait_until 10 is_other reader "$pid"
    done
    job=$(sed -n 's,.*<JB_job_number>\([0-9]*\)</JB_job_number>.*,\1,p' "$sample").1
    spool_job "$job" $TASK_GROUP "$(nobody_name)"
    run -4 here "$MPRUN_BUILD/tools/mpbind" --wait 0.2 "$job"
    pid=$(part front)
    kill -KILL "$(part reader)" "$pid"
    wait_until 10 is_other front "$pid"
    run ! part reader
    wait_until 10 part reader
    run ! grep "limit job=$job by=qstat" trace
    touch answer
    wait_until 20 grep "limit job=$job by=qstat" trace
    rm -r "$SPOOL/active_jobs/$job"
    mprund_gone
}

@test "of more jobs than the reader takes questions at once each is asked about" {
    mprund_kill
    echo 'quarantine { spool = false }' >>"$MPRUND_CONF" # by which their end would be known
    mprund_start
    user=$(nobody_name)
    for i in {101..400}; do spool_job $i.1 $TASK_GROUP "$user"; done
    MPRUN_TEST_LIMIT=60 here sh -c 'for i in $(seq 101 400); do "$0" $i.1 0 0 0 || exit; done' "$MPRUN_BUILD/tools/mpbind"
    rm -r "$SPOOL"/active_jobs/39?.1
    wait_until 15 no_last_ones
}
no_last_ones() { ! compgen -G "$GROUND/ge-39?.1-*" >/dev/null; }

@test "no part has a descriptor of whoever started mprund" {
    mprund_kill
    mprund_start 77<"$MPRUND_CONF"
    for pid in $(pgrep -P "$MPRUND_PID"); do
        ls -l "/proc/$pid/fd" >descriptors
        grep -q 'socket:' descriptors
        run -1 grep "$MPRUND_CONF" descriptors
    done
    [ -s descriptors ]
}

@test "reader, signer and front have no capability, no group, no core, and no process of their user looks into them" {
    uid=$(id -u daemon)
    for name in reader signer front; do
        pid=$(part "$name")
        cat "/proc/$pid/status" >status
        [ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):\s0+$' status)" = 5 ]
        grep -qE "^Uid:(\s$uid){4}$" status
        grep -qE '^Groups:\s*$' status
        grep -qE '^NoNewPrivs:\s1$' status
        grep -qE '^Max core file size +0 +0 ' "/proc/$pid/limits"
        run -0 as_uid "$uid" cat "/proc/$pid/stat"
        run -1 as_uid "$uid" cat "/proc/$pid/environ"
        [[ $output == *"Permission denied"* ]]
    done
}

# has_only MASK PID: it has some of these capabilities (a container may lack others), and can get no more
has_only() {
    local has=0x$(awk '/^CapPrm/ { print $2 }' "/proc/$2/status")
    local bound=0x$(awk '/^CapBnd/ { print $2 }' "/proc/$2/status")
    echo "pid $2: $has, at most $bound"
    ((has != 0 && (has & ~$1) == 0 && (bound & ~$1) == 0))
}

@test "mover, watch and supervisor keep few capabilities, and system calls are refused to all others" {
    # <linux/capability.h>: CHOWN 0, DAC_OVERRIDE 1, DAC_READ_SEARCH 2, KILL 5, SETGID 6, SETUID 7, SETPCAP 8,
    # NET_ADMIN 12, SYS_PTRACE 19, SYS_ADMIN 21, SYS_NICE 23
    mover=$((1 | 1 << 1 | 1 << 5 | 1 << 19 | 1 << 21 | 1 << 23))
    watch=$((1 << 12 | 1 << 19))
    has_only $mover "$(part mover)"
    has_only $watch "$(part watch)"
    has_only $((mover | watch | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8)) "$MPRUND_PID"
    for pid in "$MPRUND_PID" $(pgrep -P "$MPRUND_PID"); do
        grep -qE '^Seccomp:\s2$' "/proc/$pid/status"
        grep -qE '^NoNewPrivs:\s1$' "/proc/$pid/status"
    done
    [ "$(awk '/^Uid/ { print $2 }' "/proc/$(part watch)/status")" = "$(id -u daemon)" ]
}
