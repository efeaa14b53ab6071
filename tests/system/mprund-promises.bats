#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-promises.bats - what doc/security.md promises and no other file shows
load '../lib/mprun'
load '../lib/mprund'

setup() {
    mprun_setup
    chmod 777 "$TMPDIR"
    TRACE=$TMPDIR/trace
    spool_setup
    mprund_setup "trace = \"$TRACE\"" "gridengine { spool = \"$SPOOL\" }"
}
teardown() {
    local failed=0
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}

traced() { grep -qE "$1" "$TRACE"; }
as_job() { # COMMAND...: as nobody in a job of its
    enter 12.1 setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups -- "$@"
}
# set_id MODE OWNER:GROUP PROGRAM: $SET_ID, a copy of it whose owner and group whoever runs it gets
set_id() {
    SET_ID=$TMPDIR/set-id-${3##*/}
    cp "$3" "$SET_ID"
    chown "$2" "$SET_ID"
    chmod "$1" "$SET_ID"
}

@test "a set-id program is a rank as it is a process: with its uid, and in its cgroup" {
    set_id 4755 root:root "$(command -v grep)"
    run -0 --separate-stderr as_job "$MPRUN" -n 1 "$SET_ID" -hE '^Uid:|^0:' /proc/self/status /proc/self/cgroup
    [ "${lines[0]}" = "Uid:"$'\t'"$TEST_UID"$'\t'0$'\t'0$'\t'0 ]
    [[ ${lines[1]} == "0::$GROUND_CGROUP/site-12.1-"????????"/u/mprun."*"/ranks/0.0.0" ]]
    mprund_gone
}

@test "a rank that has become root by a set-id program ends with its step, where it has a cgroup" {
    set_id 4755 root:root "$(command -v bash)"
    cat >rank <<'END'
if [ "$PMI_RANK" = 0 ]; then
    exec "$SET_ID" -p -c 'exec setpriv --reuid=0 --regid=0 --clear-groups sleep 1000.'"$1"
fi
until pid=$(pgrep -fx "sleep 1000.$1"); do sleep 0.1; done
awk '/^Uid/ { print "uids", $2, $3, $4 }' "/proc/$pid/status"
exit 3
END
    export SET_ID
    run -3 --separate-stderr as_job "$MPRUN" --kill-grace 1s -n 2 bash "$TMPDIR/rank" $$
    [ "$output" = "uids 0 0 0" ]
    [[ $stderr != *"could not be"* ]]
    run -1 pgrep -fx "sleep 1000.$$"
    mprund_gone
}

@test "a set-gid file with a job's group, and a set-uid file of another's, prove nothing" {
    spool_job 23.1 $TASK_GROUP "$(nobody_name)"
    place() { [[ $output == "$1 "* ]] || { echo "not $1: $output"; return 1; }; }
    # what a job can leave behind is the group of its files
    set_id 2755 "$TEST_UID:$TASK_GROUP" "$GRANT_PROBE"
    run as_nobody "$SET_ID" place
    place refused
    # the owner's uid from one, and the group from another job
    set_id 4755 "$TEST_UID:root" "$GRANT_PROBE"
    spool_job 24.1 $((TASK_GROUP + 1)) root
    run as_task "$OTHER_UID" $((TASK_GROUP + 1)) "$SET_ID" place
    place refused
    run as_other "$SET_ID" place
    place refused
    # as nobody itself it is no attack
    run as_task "$TEST_UID" $TASK_GROUP "$SET_ID" place
    place ok
    rm -r "$SPOOL/active_jobs/"*
    mprund_gone
}

@test "what another daemon starts for a user has no group of the job's: it is neither found nor ended with it" {
    spool_job 31.1 $((TASK_GROUP + 31)) "$(nobody_name)"
    # the job's own, and one as cron, sshd or a systemd of the user's starts it
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $((TASK_GROUP + 31)) sleep 1000.$$ </dev/null >/dev/null 2>&1 3>&- &
    MPRUN_TEST_LIMIT=200 as_nobody sleep 1001.$$ </dev/null >/dev/null 2>&1 3>&- &
    both() { inside=$(pgrep -fx "sleep 1000.$$") && outside=$(pgrep -fx "sleep 1001.$$"); }
    wait_until 10 both
    kill -HUP "$MPRUND_PID" # looks at everything
    wait_until 10 traced " enter job=31.1 task= pid=$inside .*how=group"
    wait_until 10 traced ' scan number=[2-9]'
    run -1 grep "$GROUND_CGROUP/" "/proc/$outside/cgroup"
    rm -r "$SPOOL/active_jobs/31.1"
    wait_until 20 process_gone "$inside"
    mprund_gone
    kill -0 "$outside"
    kill "$outside"
    wait_until 10 process_gone "$outside"
}

@test "who lays down the job's group, by subordinate gids, stays in the job's cgroup and ends with it" {
    spool_job 31.1 $((TASK_GROUP + 31)) "$(nobody_name)"
    cat >drop <<'END'
until [ "$(wc -l </proc/self/gid_map)" = 2 ]; do sleep 0.1; done
exec setpriv --groups=0 sleep 1000.$1
END
    MPRUN_TEST_LIMIT=200 as_task "$TEST_UID" $((TASK_GROUP + 31)) "$GRANT_PROBE" place unshare --user sh "$TMPDIR/drop" $$ </dev/null >/dev/null 2>&1 3>&- &
    waiting() { pid=$(pgrep -fx "sh $TMPDIR/drop $$"); }
    wait_until 10 waiting
    # as root's newuidmap and newgidmap do it for users with subordinate ids
    echo "0 $TEST_UID 1" >"/proc/$pid/uid_map"
    cat >"/proc/$pid/gid_map" <<<"0 $TEST_UID 1"$'\n'"1 200000 10"
    dropped() { pid=$(pgrep -fx "sleep 1000.$$"); }
    wait_until 10 dropped
    [ "$(awk '/^Groups/ { print $2, $3 }' "/proc/$pid/status")" = "$TEST_UID " ]
    grep -q "^0::$GROUND_CGROUP/ge-31.1-" "/proc/$pid/cgroup"
    rm -r "$SPOOL/active_jobs/31.1"
    wait_until 20 process_gone "$pid"
    mprund_gone
}
