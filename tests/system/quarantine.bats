#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# quarantine.bats - mprund and jobs that do not ask: process events, rules, sentinels, the trace. With a
# manager of the tests' own, whose programs are copies of a shell; Grid Engine's are in
# mprund-gridengine.bats and tests/vm/quarantine.bats.
load '../lib/mprun'
load '../lib/mprund'
STORM=$MPRUN_BUILD/tests/system/exec-storm

setup() {
    mprun_setup
    chmod 755 "$TMPDIR"
    TOY=$TMPDIR/toy
    TRACE=$TMPDIR/trace
    mkdir "$TOY" && cp /bin/bash "$TOY/toyd" && cp /bin/bash "$TOY/toy-job"
    RULE="rule toy {
    daemon = \"$TOY/toyd\"
    process = \"$TOY/toy-job\"
    job = TOY_JOB
    owner = TOY_OWNER
}"
}
teardown() {
    local failed=0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 30 "$TRACE" "${MPRUND_LOG:-/dev/null}" || true
    [ -z "${TOY:-}" ] || for pid in $(pgrep -f "^$TOY/"); do kill -KILL $(pgrep -P "$pid") "$pid" || true; done 2>/dev/null
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}

quarantine_setup() { # LINE... of the section
    mprund_setup --events "trace = \"$TRACE\"" "$RULE" "quarantine {" "process_events = true" "$@" "}"
    wait_until 10 traced ' begin execs='
    grep -q 'begin execs=yes' "$TRACE" || skip "no process events in this namespace"
    wait_until 10 traced ' scan number=1 why=begin ' # what begins from now on it only hears of
}
toy() { # NUMBER COMMAND: a job of the manager's
    here env TOY_JOB="$1" TOY_OWNER=$TEST_UID "$TOY/toyd" -c '"$0" -c "$1"; exit $?' "$TOY/toy-job" "$2"
}
toy_start() {
    toy "$@" </dev/null >/dev/null 2>&1 3>&- &
    TOY_PID=$!
}
# in a job: returns when it is in its cgroup
UNTIL_IN='until grep -q "/site-toy.$TOY_JOB-" /proc/self/cgroup; do sleep 0.02; done'
traced() { grep -qE "$1" "$TRACE"; }
# sleeping N: the only job there is has so many children, which have become sleep by now
sleeping() { [ "$(pgrep -c -x sleep -P "$(pgrep -f "^$TOY/toy-job")")" = "$1" ]; }
job_of() { echo "$GROUND"/site-toy."$1"-*; }
sentinel() { here test -e "/run/mprun/sentinels/$1"; }
no_sentinel() { ! sentinel "$1"; }

@test "what a manager's daemon starts for a job is put into a cgroup of the job's, and all that it starts" {
    quarantine_setup
    toy_start 17 'sleep 1000 & wait'
    wait_until 10 traced ' enter job=toy.17 task= pid=[0-9]* below=[01] how=exec'
    wait_until 10 sentinel toy.17
    [ "$(stat -c %u "$(job_of 17)/u")" = "$TEST_UID" ]
    two_inside() { [ "$(wc -l <"$(job_of 17)/task/cgroup.procs")" = 2 ]; }
    wait_until 10 two_inside
    traced ' daemon manager=toy pid=[0-9]* how=exec ground='
    [ "$(here stat -c '%u %a %s' /run/mprun/sentinels/toy.17 /run/mprun/sentinels | sort -u | grep -c '^[0-9]* [47]')" = 2 ]
    echo 1 >"$(job_of 17)/cgroup.kill"
    mprund_gone
    wait_until 10 no_sentinel toy.17
    traced ' end job=toy.17'
}

@test "who is not the daemon's, or not root's, is put nowhere, whatever it is called" {
    quarantine_setup
    local me="env TOY_JOB=1 TOY_OWNER=$TEST_UID"
    # a user's, which stays until it was looked at
    as_nobody $me "$TOY/toy-job" -c "until [ -e '$TMPDIR/seen' ]; do sleep 0.02; done; cat /proc/self/cgroup" >first 3>&- &
    wait_until 10 traced " refused pid=[0-9]* uid=$TEST_UID how=exec .*started by user $TEST_UID and not by root"
    touch seen
    wait $!
    ask='sleep 0.3; cat /proc/self/cgroup'
    {
        cat first
        as_nobody $me "$TOY/toyd" -c "'$TOY/toy-job' -c '$ask'; true"         # of a user's daemon
        as_nobody $me bash -c "exec -a '$TOY/toy-job' bash -c '$ask'"         # called so
        cp /bin/bash "$TOY/other" && mkdir "$TOY/d" && cp /bin/bash "$TOY/d/toy-job"
        as_nobody $me "$TOY/d/toy-job" -c "$ask"                              # another file of that name
        here $me "$TOY/toyd" -c "'$TOY/d/toy-job' -c '$ask'; true"            # of the daemon's, too
        here $me "$TOY/toy-job" -c "$ask"                                     # root's, of no daemon's
        here $me "$TOY/other" -c "'$TOY/toy-job' -c '$ask'; true"             # of another daemon's
        here env TOY_JOB=1 TOY_OWNER=root "$TOY/toyd" -c "'$TOY/toy-job' -c '$ask'; true"
        here env TOY_JOB=../1 TOY_OWNER=$TEST_UID "$TOY/toyd" -c "'$TOY/toy-job' -c '$ask'; true"
    } >cgroups
    [ "$(grep -c '^0::' cgroups)" = 9 ]
    run ! grep mprund-test cgroups
    # and it is heard of: the one that is right is there
    toy 2 "$UNTIL_IN"
    run ! grep -E ' (make|enter) job=toy.1 ' "$TRACE"
    mprund_gone
}

@test "in a storm of short processes none is missed, and everything is looked at once a second at most" {
    quarantine_setup
    command=/bin/true
    [ ! -x /bin/busybox ] || command="/bin/busybox true"
    begin=$(date +%s%N)
    "$STORM" 60 4 $command >storm 3>&- &
    storm=$!
    # one that ends as soon as it is in may be gone before mprund looks once more, and is not traced
    for i in {1..40}; do toy "$i" "$UNTIL_IN; until grep -q ' enter job=toy.$i ' '$TRACE'; do sleep 0.02; done"; done
    kill $storm
    wait $storm
    seconds=$((($(date +%s%N) - begin) / 1000000000))
    ticks=$(sed 's/.*) //' "/proc/$(mprund_part watch)/stat" | awk '{ print $12 + $13 }')
    echo "# processes: $(cat storm); mprund took $((ticks * 10)) ms for them" >&3
    # a line more of a job is one of its processes that came later
    [ "$(grep -oE ' enter job=toy.[0-9]+ ' "$TRACE" | sort -u | wc -l)" = 40 ]
    [ "$(grep -c ' scan number=' "$TRACE")" -le $((seconds + 2)) ]
    mprund_gone
}

@test "events that were lost are made up for by a look at everything" {
    quarantine_setup 'event_queue = 64'
    kill -STOP "$(mprund_part watch)"
    here "$STORM" "$(patience 1)" 4 /bin/true >storm 3>&- # a slow machine starts fewer in a second
    [ "$(sed 's/.*second, \([0-9]*\) in all/\1/' storm)" -gt 300 ] # more than there is room for
    toy_start 5 'sleep 1000; true'
    wait_until 10 sleeping 1 # it has a child to be moved, too
    kill -CONT "$(mprund_part watch)"
    wait_until 10 traced ' enter job=toy.5 .* how=scan'
    traced ' lost execs'
    traced ' scan number=[0-9]* why=lost-execs'
    wait_until 10 traced ' scan number=[0-9]* why=late'
    # and each no sooner than a second after the last one: when they were over, and how long they took
    scans=($(sed -n 's/ scan number=.* ms=/ /p' "$TRACE"))
    [ ${#scans[@]} -ge 6 ]
    for ((i = 2; i < ${#scans[@]}; i += 2)); do
        [ $(($(date -d "${scans[i]}" +%s%3N) - ${scans[i + 1]} - $(date -d "${scans[i - 2]}" +%s%3N) + ${scans[i - 1]})) -ge 990 ]
    done
    echo 1 >"$(job_of 5)/cgroup.kill"
    mprund_gone
}

@test "a daemon that starts finds the jobs that run, with their children" {
    quarantine_setup
    mprund_kill
    rm "$TRACE"
    toy_start 6 'sleep 1000 & sleep 1000 & sleep 1000 & wait'
    wait_until 10 sleeping 3
    step=$GROUND/mprun.step # as mprun makes them where there is no mprund: who is in one stays
    mkdir "$step"
    pgrep -n -P "$(pgrep -f "^$TOY/toy-job")" >"$step/cgroup.procs"
    mprund_start
    wait_until 10 traced ' enter job=toy.6 task= pid=[0-9]* below=2 how=scan'
    [ "$(wc -l <"$(job_of 6)/task/cgroup.procs")" = 3 ]
    [ "$(wc -l <"$step/cgroup.procs")" = 1 ]
    echo 1 >"$step/cgroup.kill"
    mprund_kill # its sentinel is that of the next one
    here touch /run/mprun/sentinels/stale
    here chmod 444 /run/mprun/sentinels/stale
    here touch /run/mprun/sentinels/others
    mprund_start
    sentinel toy.6
    no_sentinel stale
    sentinel others
    echo 1 >"$(job_of 6)/cgroup.kill"
    wait_until 10 rmdir "$step"
    mprund_gone
}

@test "SIGHUP: rules and ways of hearing are read again, and the trace is opened again" {
    quarantine_setup
    mv "$TRACE" "$TRACE.1"
    cp "$MPRUND_CONF" conf.before
    sed -i 's/TOY_JOB/OTHER_JOB/; s/process_events = true/process_events = false/' "$MPRUND_CONF"
    kill -HUP "$MPRUND_PID"
    wait_until 10 traced ' begin execs=no spool=no rules=1'
    cp conf.before "$MPRUND_CONF"
    kill -HUP "$MPRUND_PID"
    wait_until 10 traced ' begin execs=yes'
    toy 7 "$UNTIL_IN"
    toy_start 8 'sleep 1000; true'
    wait_until 10 sentinel toy.8
    { echo "sentinel_dir = \"$TMPDIR/sentinels\"" && cat conf.before; } >"$MPRUND_CONF"
    kill -HUP "$MPRUND_PID"
    wait_until 10 no_sentinel toy.8 # in the old directory
    wait_until 10 test -e "$TMPDIR/sentinels/toy.8"
    echo 1 >"$(job_of 8)/cgroup.kill"
    mprund_gone
}

@test "the options: subsystems on and off, the sentinels' directory, the trace" {
    mprund_setup --events
    mprund_kill
    here rm -f /run/mprund.pid
    start() { MPRUN_TEST_LIMIT=200 here "$MPRUND" --config "$MPRUND_CONF" -p /run/mprund.pid "$@" </dev/null >out 2>&1 3>&-; }
    for wrong in '-e perf_event' '-d disk' '--daemon -t' '-D -t trace' '-D -s here'; do
        run here "$MPRUND" --config "$MPRUND_CONF" $wrong --check
        [ "$status" -eq 2 ]
    done
    start -e pids -e blkio -e devices -e net_cls -d cpu -s "$TMPDIR/sentinels" -t "$TRACE" &
    wait_until 10 here test -s /run/mprund.pid
    MPRUND_PID=$(here cat /run/mprund.pid)
    job_start 12.1 sleep 1000
    [ "$(stat -c %a "$TMPDIR/sentinels/12.1")" = 444 ]
    run ! grep -w cpu "$GROUND/cgroup.subtree_control"
    # what the host has of them the job has, and of the others that is said
    read -r pid <"$JOB/task/cgroup.procs"
    for subsystem in blkio devices net_cls; do
        path=$(sed -n "s/^[0-9]*:\([^:]*,\)*$subsystem\(,[^:]*\)*://p" "/proc/$pid/cgroup")
        if [ -z "$path" ]; then
            grep -w "jobs do not have .*${subsystem#blk}" out || grep -qw "${subsystem#blk}" "$GROUND/cgroup.subtree_control"
        else
            [ "$path" = "$GROUND_CGROUP/${JOB##*/}" ]
        fi
    done
    traced ' make job=12.1 uid='
    job_kill
    mprund_gone
    mprund_kill
    here rm -f /run/mprund.pid
    chmod 777 "$TMPDIR/sentinels"
    start --sentinel-dir "$TMPDIR/sentinels" --tracefile &
    wait_until 10 here test -s /run/mprund.pid
    MPRUND_PID=$(here cat /run/mprund.pid)
    grep -q "'$TMPDIR/sentinels': it must be root's and writable to nobody else" out
    grep -q ' begin execs=no spool=no rules=0' out
}

@test "where no process events are to be had that is said, and all else is done" {
    spool_setup
    mprund_setup "trace = \"$TRACE\"" "$RULE" "gridengine { spool = \"$SPOOL\" }" 'quarantine { process_events = true }'
    mprund_kill
    rm "$TRACE"
    # a job that cannot be made is tried and told once a look, whatever the number of its processes
    spool_job 21.1 $((TASK_GROUP + 21)) "$(nobody_name)"
    for i in 1 2 3; do
        as_task "$TEST_UID" $((TASK_GROUP + 21)) sleep 1000.$$ </dev/null >/dev/null 2>&1 3>&- &
    done
    three() { [ "$(pgrep -c -fx "sleep 1000.$$")" = 3 ]; }
    wait_until 10 three
    echo 0 >"$GROUND/cgroup.max.descendants"
    mprund_start_logged
    grep -q 'hear of processes (mprund has to be root and in the host.s own network namespace): Connection refused; going on without' "$MPRUND_LOG"
    traced ' begin execs=no'
    wait_until 10 traced ' scan number=1 why=begin tasks=1 processes=[0-9]* moved=0'
    # in each look; a second later is another one
    [ "$(sed '/ scan number=1 /q' "$TRACE" | grep -c ' failed job=21.1 ')" = 1 ]
    said=$(grep -c 'put pid [0-9]* into job 21.1: make cgroup' "$MPRUND_LOG")
    ((said >= 1 && said <= $(grep -c ' scan ' "$TRACE") + 1))
    run ! grep 'ended here' "$MPRUND_LOG"
    echo max >"$GROUND/cgroup.max.descendants"
    kill -HUP "$MPRUND_PID"
    wait_until 10 traced ' scan number=1 why=begin tasks=1 processes=[0-9]* moved=3'
    [ "$(grep -c ' enter job=21.1 .*how=group' "$TRACE")" = 3 ]
    echo 1 >"$(echo "$GROUND"/ge-21.1-*)/cgroup.kill"
    rm -r "$SPOOL/active_jobs/21.1"
    job_start 12.1 sleep 1000
    job_kill
    mprund_gone
}

@test "who left the job's cgroup is brought back, also from a cgroup of the user's own that is called as a step's" {
    spool_setup
    mprund_setup "trace = \"$TRACE\"" "gridengine { spool = \"$SPOOL\" }" 'quarantine { spool = true }'
    spool_job 31.1 $((TASK_GROUP + 31)) "$(nobody_name)"
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $((TASK_GROUP + 31)) sleep 1000.$$ </dev/null >/dev/null 2>&1 3>&- &
    one() { pid=$(pgrep -fx "sleep 1000.$$"); }
    wait_until 10 one
    kill -HUP "$MPRUND_PID" # looks at everything
    wait_until 10 traced " enter job=31.1 task= pid=$pid .*how=group"
    wait_until 10 traced ' scan number=[2-9] .* moved=0' # the next one is in a minute
    left=$GROUND/user.service # as systemd hands one over to a user
    mkdir -p "$left/mprun.x"
    chown -R "$TEST_UID" "$left"
    echo "$pid" >"$left/mprun.x/cgroup.procs"
    mkdir "$GROUND/mprun.x" # of root's: who is in it stays
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $((TASK_GROUP + 31)) sleep 1001.$$ </dev/null >/dev/null 2>&1 3>&- &
    other() { other=$(pgrep -fx "sleep 1001.$$"); }
    wait_until 10 other
    echo "$other" >"$GROUND/mprun.x/cgroup.procs"
    back() { [ "$(grep -c " enter job=31.1 task= pid=$pid .*how=group" "$TRACE")" = 2 ]; }
    wait_until 75 back
    grep -qx "$pid" "$(echo "$GROUND"/ge-31.1-*)/task/cgroup.procs"
    grep -qx "$other" "$GROUND/mprun.x/cgroup.procs"
    echo 1 >"$GROUND/mprun.x/cgroup.kill"
    rm -r "$SPOOL/active_jobs/31.1"
    echo 1 >"$(echo "$GROUND"/ge-31.1-*)/cgroup.kill"
    wait_until 10 rmdir "$GROUND/mprun.x" "$left/mprun.x" "$left"
    mprund_gone
}

@test "who left the job's cgroup is found when the job ends, and ends with it; not who has the group from another job" {
    spool_setup
    mprund_setup "trace = \"$TRACE\"" "gridengine { spool = \"$SPOOL\" }" 'quarantine { spool = true }'
    start() { # GROUP SECONDS: its pid
        MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" "$1" sleep "$2.$$" </dev/null >/dev/null 2>&1 3>&- &
        one() { pid=$(pgrep -fx "sleep $2.$$"); }
        wait_until 10 one "$@"
    }
    spool_job 31.1 $((TASK_GROUP + 31)) "$(nobody_name)"
    spool_job 32.1 $((TASK_GROUP + 32)) "$(nobody_name)"
    mkdir "$SPOOL"/active_jobs/{1000..2199}.1 # whatever the number of others
    for job in {1000..2199}; do echo $((70000 + job)) >"$SPOOL/active_jobs/$job.1/addgrpid"; done
    start $((TASK_GROUP + 31)) 1000
    left=$pid
    start $((TASK_GROUP + 32)) 1001
    given_again=$pid
    # in /proc a process whose first thread has ended seems to have ended itself, where that was
    mkdir -m 777 its
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $((TASK_GROUP + 31)) sh -c 'echo $$ >its/pid; until [ -e its/go ]; do sleep 0.02; done
        exec "$0" headless its/headless' "$MPRUN_BUILD/tests/system/process-probe" </dev/null >/dev/null 2>&1 3>&- &
    wait_until 10 test -s its/pid
    headless=$(cat its/pid)
    kill -HUP "$MPRUND_PID" # looks at everything
    wait_until 10 traced " enter job=31.1 task= pid=$left .*how=group"
    wait_until 10 traced " enter job=32.1 task= pid=$given_again .*how=group"
    wait_until 10 traced " enter job=31.1 task= pid=$headless .*how=group"
    touch its/go
    wait_until 10 test -s its/headless
    settled() { [ "$(grep -E ' enter | scan .* moved=0' "$TRACE" | tail -n 1 | grep -c ' scan ')" = 1 ]; }
    wait_until 10 settled # the next one is in a minute
    for pid in $left $given_again $headless; do
        echo "$pid" >"$(dirname "$GROUND")/cgroup.procs"
    done
    scans() { grep -c ' scan number=' "$TRACE"; }
    before=$(scans)
    # the group of the second is another job's by the time that its own has ended
    spool_job 33.1 $((TASK_GROUP + 32)) "$(nobody_name)"
    rm -r "$SPOOL/active_jobs/31.1" "$SPOOL/active_jobs/32.1"
    wait_until 20 process_gone "$left"
    headless_gone() { ! kill -0 "$headless"; }
    wait_until 20 headless_gone
    [ "$(scans)" -gt "$before" ]
    wait_until 10 traced " enter job=33.1 task= pid=$given_again .*how=group"
    kill -0 "$given_again"
    rm -r "$SPOOL/active_jobs/33.1"
    wait_until 20 process_gone "$given_again"
    mprund_gone
}
