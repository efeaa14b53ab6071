# SPDX-License-Identifier: BSD-3-Clause
# mprund.bash - a node daemon of one's own for system tests: load '../lib/mprun' and '../lib/mprund'
#
#   mprund_setup [--events] [LINE...]  starts mprund with these lines in its configuration, in namespaces
#                           where /run is empty and nobody else's sockets are, with the jobs' cgroup below our own: $GROUND;
#                           --events: in this network namespace, for process events
#   mprund_teardown         ends it, and what is in the jobs' cgroup; fails when jobs were left there
#                           that the test did not expect (it calls mprund_gone for that)
#   here COMMAND...         in these namespaces, under a time limit
#   as_nobody COMMAND...    there, as the user $TEST_UID
#   as_other COMMAND...     there, as another user
#   mprund_start            start it (again); mprund_kill: SIGKILL
#   mprund_start_logged     start it again, with what it says in $MPRUND_LOG
#   mprund_part PART        the process id of front, mover, reader, signer or watch
#   enter JOB COMMAND...    as root in a job of nobody's
#   job_start JOB COMMAND...  the same in the background; returns when COMMAND runs in its cgroup, $JOB
#   job_kill                that job's processes end
#   spool_setup             before mprund_setup: an execd's spool directory without a job, in $SPOOL
#   spool_job JOB GROUP USER [LINE...]  a job in it, as the execd writes it; JOB may be JOB/TASK
#   as_task UID GROUP COMMAND...  a process as Grid Engine starts them
#   mprund_gone [SECONDS]   wait until no job has a cgroup
MPRUND=$MPRUN_BUILD/node-daemon/mprund
GRANT_PROBE=$MPRUN_BUILD/tests/system/grant-probe
OTHER_UID=65533
# The mprunds of tests that run side by side see each other's processes: the groups of Grid Engine's tasks, this one and
# the 299 after it, are this test program's alone.
TASK_GROUP=$((100000 + $$ * 300))

mprund_setup() {
    local own net=--net
    [ "${1:-}" != --events ] || { net= && shift; }
    needs_root
    needs_v2
    needs_tool ip unshare nsenter setpriv
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    GROUND_CGROUP=${own%/}/mprund-test.$$.$BATS_TEST_NUMBER
    GROUND=$(own_v2_cgroup)/mprund-test.$$.$BATS_TEST_NUMBER
    MPRUND_CONF=$MPRUN_TEST_TOP/mprund.conf
    printf 'user = daemon\ncgroup = "%s"\nsystemd = no\nsubsystems = {cpu}\n' "$GROUND_CGROUP" >"$MPRUND_CONF"
    [ $# -eq 0 ] || printf '%s\n' "$@" >>"$MPRUND_CONF"
    unshare --mount $net --propagation private sh -c \
        '{ [ -z "$0" ] || ip link set lo up; } && mount -t tmpfs -o mode=755 none /run && echo ready && exec sleep 1000' "$net" >"$TMPDIR/namespace" 3>&- &
    NAMESPACE=$!
    wait_until 10 grep -q ready "$TMPDIR/namespace" || return
    mprund_start
}

# the directory is entered there: the one here cannot be named from inside
here() {
    time_limited "${MPRUN_TEST_LIMIT:-20}" nsenter -m -n -t "$NAMESPACE" -- \
        sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$@"
}
as_uid() {
    local uid=$1
    shift
    here setpriv --reuid="$uid" --regid="$uid" ${GROUPS_WANTED:---clear-groups} -- "$@"
}
as_nobody() { as_uid "$TEST_UID" "$@"; }
as_other() { as_uid "$OTHER_UID" "$@"; }

mprund_start() {
    here "$MPRUND" --config "$MPRUND_CONF" --daemon --pidfile /run/mprund.pid -v || return
    MPRUND_PID=$(here cat /run/mprund.pid)
}
mprund_start_logged() {
    MPRUND_LOG=$MPRUN_TEST_TOP/mprund.log
    here rm -f /run/mprund.pid
    MPRUN_TEST_LIMIT=200 here "$MPRUND" --config "$MPRUND_CONF" --pidfile /run/mprund.pid -v </dev/null >"$MPRUND_LOG" 2>&1 3>&- &
    wait_until 10 here test -s /run/mprund.pid || return
    MPRUND_PID=$(here cat /run/mprund.pid)
}
mprund_part() { pgrep -P "$MPRUND_PID" -x "mprund-$1"; }
mprund_kill() {
    kill -KILL "$MPRUND_PID"
    wait_until 10 process_gone "$MPRUND_PID"
}

enter() {
    local job=$1
    shift
    here "$MPRUND" enter --job "$job" --user "$TEST_UID" "$@"
}

# not only moved: by then mprund has answered, and may be killed
has_begun() {
    local pid name
    JOB=$(echo "$GROUND"/site-"$1"-*)
    { read -r pid <"$JOB/task/cgroup.procs" && read -r name <"/proc/$pid/comm"; } 2>/dev/null && [ "$name" != mprund ]
}
job_start() {
    local job=$1
    enter "$@" </dev/null >/dev/null 2>&1 3>&- &
    JOB_PID=$!
    wait_until 10 has_begun "$job"
}
job_kill() {
    echo 1 >"$JOB/cgroup.kill"
    wait "$JOB_PID" || true
}

spool_setup() {
    SPOOL=$TMPDIR/spool
    mkdir -p "$SPOOL/active_jobs"
}
spool_job() {
    local dir=$SPOOL/active_jobs/$1
    mkdir -p "$dir"
    echo "$2" >"$dir/addgrpid"
    printf '%s\n' h_vmem=1G host_slots=2 "job_owner=$3" "${@:4}" >"$dir/config"
}
as_task() { here setpriv --reuid="$1" --regid="$1" --groups="$2" -- "${@:3}"; }
nobody_name() { id -un "$TEST_UID"; }

no_jobs() { [ -z "$(find "$GROUND" -mindepth 1 -maxdepth 1 -type d)" ]; }
mprund_gone() { wait_until "${1:-15}" no_jobs; }

mprund_teardown() {
    local dir
    [ -n "${NAMESPACE:-}" ] || return 0
    [ -z "${MPRUND_PID:-}" ] || kill -KILL "$MPRUND_PID" 2>/dev/null
    [ -z "${MPRUND_PID:-}" ] || wait_until 10 process_gone "$MPRUND_PID"
    kill -KILL "$NAMESPACE" 2>/dev/null
    wait "$NAMESPACE" 2>/dev/null
    [ -d "${GROUND:-}" ] || return 0
    ! [ -e "$GROUND/cgroup.kill" ] || echo 1 >"$GROUND/cgroup.kill"
    wait_until 10 grep -q 'populated 0' "$GROUND/cgroup.events"
    for dir in "$GROUND" $(own_v1_cgroups "$(basename "$GROUND")"); do
        find "$dir" -depth -type d -exec rmdir {} \; || true
        [ ! -d "$dir" ] || return
    done
}
