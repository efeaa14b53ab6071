#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-attack.bats - what other users on the host can try against the node daemon. Evidence of Grid
# Engine is a spool directory as its execd makes it, and supplementary groups as it gives them.
load '../lib/mprun'
load '../lib/mprund'

setup() {
    mprun_setup
    chmod 755 "$TMPDIR"
    spool_setup
    mprund_setup "gridengine { spool = \"$SPOOL\" }" 'user_connections = 4' 'user_rate = 50'
}
teardown() {
    local failed=0
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}

refuses() { [[ $output == "refused "* ]] || { echo "not refused: $output"; return 1; }; }
unharmed() { # others are served as before
    run as_other "$MPRUND" status
    [ "$status" -eq 0 ] || { echo "others are not served: $output"; return 1; }
    kill -0 "$MPRUND_PID"
}

@test "the task's group and the owner's uid prove it; one of the two does not" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    [[ $output == "ok $GROUND/ge-23.1-"????????/u\  ]]
    run as_task "$OTHER_UID" $TASK_GROUP "$GRANT_PROBE" place
    refuses
    run as_task "$TEST_UID" $((TASK_GROUP + 1)) "$GRANT_PROBE" place
    refuses
    run as_nobody "$GRANT_PROBE" place
    refuses
    rm -r "$SPOOL/active_jobs/23.1" # and that is its end
    mprund_gone
}

@test "a slave task's directory proves it, too, and only one of a strict name" {
    mkdir -p "$SPOOL/active_jobs/23.1"
    spool_job 23.1/1.n12 $TASK_GROUP "$(nobody_name)"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    [[ $output == "ok $GROUND/ge-23.1-"* ]]
    mv "$SPOOL/active_jobs/23.1/1.n12" "$SPOOL/active_jobs/23.1/x.n12"
    mv "$SPOOL/active_jobs/23.1" "$SPOOL/active_jobs/24.1"
    mprund_gone
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    refuses
    mv "$SPOOL/active_jobs/24.1/x.n12" "$SPOOL/active_jobs/0000000000000024.1"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    refuses
}

@test "what is in the spool directory must be the administrator's, no link, and closed to others" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    config=$SPOOL/active_jobs/23.1/config
    # a fast machine asks more often than a user may
    answered() { run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place; [[ $output != "busy "* ]]; }
    refused_then() { wait_until 20 answered && refuses; }
    chown "$TEST_UID" "$config"
    refused_then
    chown 0 "$config"
    chmod 666 "$config"
    refused_then
    chmod 644 "$config"
    chmod 777 "${config%/*}"
    refused_then
    chmod 755 "${config%/*}"
    chown "$TEST_UID" "${config%/*}"
    refused_then
    chown 0 "${config%/*}"
    chmod 777 "$SPOOL/active_jobs"
    refused_then
    chmod 755 "$SPOOL/active_jobs"
    mv "$config" "$TMPDIR/elsewhere" && ln -s "$TMPDIR/elsewhere" "$config"
    refused_then
    rm "$config" && mkfifo -m 644 "$config"
    refused_then # does not wait for a writer
    rm "$config" && mkdir "$config"
    refused_then
    rmdir "$config" && truncate -s 16M "$config"
    refused_then
    rm "$config" && mv "${config%/*}" "$TMPDIR/23.1" && ln -s "$TMPDIR/23.1" "${config%/*}"
    mv "$TMPDIR/elsewhere" "$TMPDIR/23.1/config"
    refused_then
    rm "${config%/*}" && mv "$TMPDIR/23.1" "${config%/*}"
    wait_until 20 answered
    [[ $output == "ok "* ]]
}

@test "a newline in a value of the user's cannot make it the owner of another's, lift its limit, or keep it out" {
    for order in "root $(nobody_name)" "$(nobody_name) root"; do
        spool_job 23.1 $TASK_GROUP "${order% *}" "job_name=x" "job_owner=${order#* }"
        run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
        refuses
    done
    spool_job 23.1 $((TASK_GROUP + 1)) "$(nobody_name)" 'job_name=x' "add_grp_id=$TASK_GROUP"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    refuses
    no_jobs
    # nor can a file of any size keep it out
    spool_job 23.1 $TASK_GROUP "$(nobody_name)" "job_arg1=$(printf %02000000d 0)" 'h_vmem=INFINITY' 'host_slots=9'
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    [[ $output == "ok $GROUND/ge-23.1-"* ]]
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone
}

@test "a job of root's is none" {
    spool_job 23.1 $TASK_GROUP root
    run here setpriv --groups=$TASK_GROUP -- "$GRANT_PROBE" place
    refuses
    no_jobs
}

@test "nobody says in which job it is, and no user names another process, job or limit" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" claim 23.1
    [[ $output == "bad "* ]]
    for name in ../../x 23.1/../24.1 23.1; do
        run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" enter "$name" 0
        refuses
    done
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone # mprund may have found these processes by their group
    for name in .. . a/b 'a b' '' -x; do # and not even root makes paths
        run here "$GRANT_PROBE" enter "$name" "$TEST_UID"
        refuses
    done
    no_jobs
}

@test "a user gets no place in another's cgroup, wherever a process of its own is put" {
    job_start 12.1 sleep 1000
    sh -c 'echo 0 >"$1/task/cgroup.procs" && shift && exec "$@"' sh "$JOB" nsenter -m -t "$NAMESPACE" -- \
        setpriv --reuid="$OTHER_UID" --regid="$OTHER_UID" --clear-groups -- "$GRANT_PROBE" place >said 3>&-  || true
    grep -q '^refused .* is another user' said
    job_kill
    mprund_gone
}

@test "from its own part a user can neither leave it nor touch what is above" {
    try='cd "$0/$(sed -n "s,^0::.*/\(site-[^/]*\)/u/home$,\1,p" /proc/self/cgroup)" || exit 9
        for f in cgroup.procs task/cgroup.procs ../cgroup.procs u/cgroup.max.descendants u/cgroup.freeze cgroup.kill; do
            (echo 0 >$f) 2>/dev/null && echo "wrote $f"
        done
        mkdir x task/x 2>/dev/null && echo "made a directory"
        mkdir u/mine && echo 0 >u/mine/cgroup.procs && echo moved'
    run enter 12.1 setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups \
        "$GRANT_PROBE" place sh -c "$try" "$GROUND"
    echo "$output"
    [ "${lines[1]}" = moved ]
    [ "${#lines[@]}" -eq 2 ]
    mprund_gone
}

@test "a process that has ended gives nothing to another one that has its number" {
    job_start 12.1 setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups sleep 1000
    mkdir -m 777 "$TMPDIR/reuse"
    # root may choose a number: the process that asks, and the one that has its number later
    run here timeout "$(patience 10)" "$GRANT_PROBE" reuse "$TMPDIR/reuse/pid"
    echo "$output"
    [[ $output == closed* || $output == refused* ]]
    pid=$(cat "$TMPDIR/reuse/pid")
    ! grep -q mprund-test "/proc/$pid/cgroup" || false
    kill "$pid"
    job_kill
}

not_busy() { run "$@" && [[ $output != "busy "* ]]; }

@test "packets that are no request are answered so, whatever their size" {
    for bytes in 1 183 184 185 1000 100000; do
        wait_until 10 not_busy as_nobody "$GRANT_PROBE" raw $bytes
        [[ $output == "bad "* ]]
    done
    run as_other "$GRANT_PROBE" version
    [[ $output == "bad  the request is of another version"* ]]
    unharmed
}

@test "connections that ask nothing are few, and soon closed" {
    run as_nobody "$GRANT_PROBE" silent 40
    [ "$output" = "4 let in" ]
    unharmed
    # but not who asks while mprund itself is held up
    run -0 here "$GRANT_PROBE" late "$(mprund_part front)"
}

@test "while one user holds all that it can others are served" {
    mkdir -m 777 "$TMPDIR/its"
    as_nobody "$GRANT_PROBE" hold 64 "$TMPDIR/its/pid" 2>/dev/null &
    wait_until 10 test -e "$TMPDIR/its/pid"
    for i in 1 2 3 4 5; do unharmed; done
    kill "$(cat "$TMPDIR/its/pid")"
    wait $! || true
}

@test "when users have all connections the one that is silent for longest makes room, and root has others" {
    sed -i 's/^user_connections.*/user_connections = 4\nmax_connections = 4/' "$MPRUND_CONF"
    mprund_kill
    mprund_start
    run here "$GRANT_PROBE" full 4 "$TEST_UID" "$OTHER_UID"
    echo "$output"
    [ "${lines[0]}" = "ok  " ]
    [ "${lines[1]}" = "ok  " ]
    [ "${lines[2]}" = "connection 0 was closed before" ]
    [ "${#lines[@]}" -eq 3 ]
}

@test "while 150 threads of 8 users do nothing but ask and connect, others and root are served" {
    here "$GRANT_PROBE" storm 150 70000 8 "$MPRUN_TEST_TOP/storm" 3>&- &
    wait_until 10 test -e "$MPRUN_TEST_TOP/storm"
    as_other "$GRANT_PROBE" latency 20 >others || { cat others; false; }
    for i in 1 2 3 4 5 6 7 8 9 10; do
        here "$MPRUND" enter --job "12.$i" --user "$TEST_UID" true
    done
    kill "$(cat "$MPRUN_TEST_TOP/storm")"
    wait $! || true
    mprund_gone
}

@test "while users have the reader look through all jobs, root's jobs begin as their owner's, and others are served" {
    name=$(nobody_name)
    for i in {100..249}; do spool_job "$i.1" "$((TASK_GROUP + i))" "$name"; done
    here "$GRANT_PROBE" storm 24 70000 8 "$MPRUN_TEST_TOP/storm" 3>&- &
    wait_until 10 test -e "$MPRUN_TEST_TOP/storm"
    for i in 100 101 102; do # there is no shepherd to become
        here sh -c 'cd "$0" && exec "$1"' "$SPOOL/active_jobs/$i.1" "$MPRUN_BUILD/node-daemon/mprun-shepherd" >shepherd 2>&1 || true
        [ "$(stat -c %g "$GROUND/ge-$i.1-"*)" = "$TEST_UID" ] || { cat shepherd; false; }
    done
    run as_task "$TEST_UID" $((TASK_GROUP + 249)) "$GRANT_PROBE" place
    [[ $output == "ok $GROUND/ge-249.1-"* ]]
    kill "$(cat "$MPRUN_TEST_TOP/storm")"
    wait $! || true
    rm -r "$SPOOL"/active_jobs/*
    mprund_gone
}

@test "thousands of cgroups that a user makes in its part make no request longer" {
    sed -i 's/^user_rate.*/user_rate = 1000\nmax_descendants = 6000/' "$MPRUND_CONF"
    mprund_kill
    mprund_start
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    took() { as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" latency 9 | sed 's/median \([0-9]*\).*/\1/'; }
    as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place true >/dev/null
    before=$(took)
    as_task "$TEST_UID" $TASK_GROUP sh -c 'cd "$0"/ge-23.1-*/u && seq 5000 | xargs mkdir' "$GROUND"
    after=$(took)
    echo "$before ms before, $after ms with them"
    [ "$after" -le $((10 * before + 10)) ]
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone
}

@test "a user whose requests fail for what it did is soon turned away, and fills no log" {
    sed -i 's/^user_rate.*/user_rate = 600/' "$MPRUND_CONF"
    mprund_kill
    mprund_start_logged
    job_start 12.1 sleep 1000
    as_nobody rmdir "$JOB/u/home"
    run enter 12.1 setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$GRANT_PROBE" flood 1000
    echo "$output"
    [[ $output == "ok 0, "*" busy "[1-9]*" failed "[1-9][0-9][0-9]", "* ]]
    [ "$(grep -c 'place for pid' "$MPRUND_LOG")" -eq 5 ] # three, the 10th and the 100th
    grep -q 'place for pid .*; so it was 100 times by now' "$MPRUND_LOG"
    job_kill
    mprund_gone
}

@test "10,000 requests of one user end in time, most are turned away, and others are served meanwhile" {
    kept=$(descriptors)
    none_is_kept() { [ "$(descriptors)" -le "$kept" ]; }
    MPRUN_TEST_LIMIT=200 as_nobody "$GRANT_PROBE" flood 10000 >flood 2>&1 &
    for i in 1 2 3 4 5 6 7 8 9 10; do unharmed; done
    wait $!
    cat flood
    grep -q '^ok 0, more 0, refused [1-9][0-9]*, inside 0, busy [1-9][0-9]*, bad 0, failed 0,' flood
    before=$(awk '/VmRSS/ { print $2 }' "/proc/$(mprund_part front)/status")
    [ "$before" -lt 8192 ] || has_sanitizers # whose shadow is not its own
    wait_until 10 none_is_kept
    no_jobs
}

@test "who does not read its answer does not hold the others up" {
    mkdir -m 777 "$TMPDIR/its"
    as_nobody "$GRANT_PROBE" deaf 4 "$TMPDIR/its/pid" &
    wait_until 10 test -e "$TMPDIR/its/pid"
    for i in 1 2 3; do unharmed; done
    kill "$(cat "$TMPDIR/its/pid")"
    wait $! || true
}

descriptors() { find "/proc/$(mprund_part front)/fd" -type l | wc -l; }
as_few_descriptors() { [ "$(descriptors)" -le "$1" ]; }

@test "who asks and does not stay for the answer, or hands descriptors over, leaves nothing in the daemon" {
    sed -i 's/^user_rate.*/user_rate = 1000/' "$MPRUND_CONF"
    mprund_kill
    mprund_start
    before=$(descriptors)
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" gone 200
    unharmed
    wait_until 10 as_few_descriptors "$before"
    for i in 1 2 3 4; do # an answer, or a connection that is shut: no more is to be had
        run as_nobody "$GRANT_PROBE" load 253
        [[ $output == *"Operation not permitted"* || $output == "bad "* ]] || refuses
    done
    unharmed
    wait_until 10 as_few_descriptors "$before"
    rm -r "$SPOOL/active_jobs/23.1" # those that had left may have made it
    mprund_gone
}

@test "a descriptor that is handed over, whose close lasts for ever, keeps nobody waiting" {
    mkdir -m 777 "$TMPDIR/its"
    as_nobody "$GRANT_PROBE" linger "$TMPDIR/its/pid" 3>&- &
    wait_until 10 test -s "$TMPDIR/its/pid"
    unharmed
    run enter 12.1 true
    [ "$status" -eq 0 ]
    kill -KILL "$(cat "$TMPDIR/its/pid")"
    wait $! || true
    mprund_gone
}

@test "to be root in a user namespace of one's own, with numbers of one's own, gives nothing" {
    as_nobody unshare --user --map-root-user true 2>/dev/null || skip "users can make no namespaces here"
    spool_job 23.1 $TASK_GROUP root
    spool_job 24.1 $((TASK_GROUP + 1)) "$(nobody_name)"
    for number in --fork '--pid --fork'; do
        run as_nobody unshare --user --map-root-user $number "$GRANT_PROBE" enter 12.1 0
        refuses
        run as_task "$TEST_UID" $TASK_GROUP unshare --user --map-root-user $number "$GRANT_PROBE" place
        refuses
        run as_nobody unshare --user --map-root-user $number "$MPRUND" status
        [[ $output != *24.1* ]]
    done
    # and what is its own it gets, itself and no other process that has its number elsewhere
    run as_task "$TEST_UID" $((TASK_GROUP + 1)) unshare --user --map-root-user --pid --fork "$GRANT_PROBE" place cat /proc/self/cgroup
    echo "$output"
    [[ ${lines[0]} == "ok "*/ge-24.1-*/u\  ]]
    grep -q "^0::.*/ge-24.1-[0-9a-f]*/u/home\$" <<<"$output"
    rm -r "$SPOOL/active_jobs/24.1"
    mprund_gone
}

@test "what a user makes in its part ends with the job, deep and many as it may be" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place sh -c '
        cd "$0"/ge-23.1-*/u && for i in 1 2 3 4 5 6 7 8; do mkdir d && cd d; done
        echo 0 >cgroup.procs
        for i in 1 2 3 4 5; do setsid sh -c "trap \"\" TERM HUP; sleep 1000 & sleep 1000" & done
        chmod 0 .; while mkdir ../$((n = ${n:-0} + 1)) 2>/dev/null && [ $n -lt 300 ]; do :; done; echo' "$GROUND" >/dev/null
    mapfile -t started < <(find "$GROUND"/ge-23.1-* -name cgroup.procs -exec cat {} +)
    [ "${#started[@]}" -ge 5 ]
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone
    for pid in "${started[@]}"; do # zombies are in no cgroup
        wait_until 10 process_gone "$pid"
    done
}

@test "a process that goes elsewhere in its part when its first thread has ended ends with the job" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    mkdir -m 777 its
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place "$MPRUN_BUILD/tests/system/process-probe" headless \
        its/headless </dev/null >/dev/null 2>&1 3>&- &
    wait_until 10 test -s its/headless
    u=$(echo "$GROUND"/ge-23.1-*/u)
    headless=$(cat its/headless)
    as_nobody sh -c 'mkdir "$0/x" && echo "$1" >"$0/x/cgroup.procs" && rmdir "$0/home"' "$u" "$headless"
    [ -z "$(cat "$u/x/cgroup.procs")" ] && [ -n "$(cat "$u/x/cgroup.threads")" ] # nor does cgroup.kill find it
    rm -r "$SPOOL/active_jobs/23.1"
    mprund_gone
    run ! kill -0 "$headless"
}

@test "whose job it is its user cannot change, who has subordinate uids and owns what is delegated" {
    job_start 12.1 sleep 1000
    cat >"$TMPDIR/chown.py" <<'END'
import ctypes, os, sys
path, uid = sys.argv[1], int(sys.argv[2])
libc, ask, go = ctypes.CDLL(None), os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.chown(path, -1, uid)
    assert libc.prctl(4, 1, 0, 0, 0) == 0 and libc.unshare(0x10000000) == 0 # PR_SET_DUMPABLE, CLONE_NEWUSER
    os.write(ask[1], b"x")
    os.read(go[0], 1)
    os.chown(path, 1, -1)
    os._exit(0)
os.read(ask[0], 1)
for kind in "uid_map", "gid_map": # as newuidmap and newgidmap do it for a user with subordinate ids
    open(f"/proc/{pid}/{kind}", "w").write(f"0 {uid} 1\n1 200000 1000\n")
os.write(go[1], b"x")
sys.exit(os.waitpid(pid, 0)[1] != 0)
END
    here python3 "$TMPDIR/chown.py" "$JOB/u" "$TEST_UID"
    [ "$(stat -c %u "$JOB/u")" = 200000 ]
    mprund_kill
    mprund_start
    run enter 12.1 true # one more task of it
    [ "$status" -eq 0 ]
    as_nobody "$MPRUND" status | grep -q '^12\.1 '
    job_kill
    mprund_gone
}

@test "a job ends while its user makes cgroups in it from elsewhere" {
    sed -i '$amax_descendants = 300' "$MPRUND_CONF"
    mprund_kill
    mprund_start
    job_start 12.1 sleep 1000
    as_nobody sh -c 'cd "$0" && echo && while [ -d "$0" ]; do mkdir $(seq 300); done' "$JOB/u" >"$TMPDIR/made" 2>"$TMPDIR/failed" 3>&- &
    makes=$!
    wait_until 10 test -s "$TMPDIR/made"
    job_kill
    mprund_gone 15
    wait "$makes" || true
}

# ---- grants: what a job asks for -------------------------------------------------------------------------

# asking SECONDS COMMAND: mprund with a key, and this for qstat
asking() {
    printf '#!/bin/sh\n%s\n' "$2" >"$MPRUN_TEST_TOP/qstat" && chmod 755 "$MPRUN_TEST_TOP" "$MPRUN_TEST_TOP/qstat"
    here "$MPRUND" --make-key "$MPRUN_TEST_TOP/key"
    sed -i "s|^gridengine.*|gridengine { spool = \"$SPOOL\" qstat = \"$MPRUN_TEST_TOP/qstat\" qstat_seconds = $1 }|" "$MPRUND_CONF"
    echo "grant_key = \"$MPRUN_TEST_TOP/key\"" >>"$MPRUND_CONF"
    mprund_kill
    mprund_start_logged
}

@test "grants are for the job that one is in, and only where its script runs and there is a key" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" token
    refuses # no key
    asking 10 "cat '$MPRUN_SOURCE/tests/unit/gridengine-jobs/n-slot/qstat.xml'"
    run -0 as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" token
    [[ $output =~ ^-\ [A-Za-z0-9_-]{448}$ ]]
    grep -q 'job 23.1 may use 400 MiB of memory' "$MPRUND_LOG" || { cat "$MPRUND_LOG"; false; }
    run as_nobody "$GRANT_PROBE" token
    refuses
    run as_task "$OTHER_UID" $TASK_GROUP "$GRANT_PROBE" token
    refuses
    run enter 12.1 setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$GRANT_PROBE" token
    refuses # of a job that no manager has
    mkdir "$SPOOL/active_jobs/24.1"
    spool_job 24.1/1.n12 $((TASK_GROUP + 1)) "$(nobody_name)"
    run as_task "$TEST_UID" $((TASK_GROUP + 1)) "$GRANT_PROBE" token
    refuses # a slave task's host
}

@test "a manager that gives no answer keeps nobody waiting but those who want it, and them not for ever" {
    asking 2 'sleep 1000'
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    run as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" place
    [[ $output == "ok $GROUND/ge-23.1-"* ]]
    waiting=()
    for i in 1 2 3; do
        as_task "$TEST_UID" $TASK_GROUP "$GRANT_PROBE" token >"token$i" 3>&- &
        waiting+=($!)
    done
    spool_job 24.1 $((TASK_GROUP + 1)) "$(nobody_name)"
    run as_task "$TEST_UID" $((TASK_GROUP + 1)) "$GRANT_PROBE" place
    [[ $output == "ok $GROUND/ge-24.1-"* ]]
    unharmed
    wait "${waiting[@]}" || true # each has its refusal
    for i in 1 2 3; do
        grep -q '^refused what job 23.1 asks for is not known here$' "token$i" || { cat "token$i"; false; }
    done
    [ "$(grep -c 'what job 23.1 asks for is not known' "$MPRUND_LOG")" -eq 1 ]
    wait_until 10 no_children
    unharmed
}
no_children() { ! pgrep -P "$(mprund_part reader)" >/dev/null; }
