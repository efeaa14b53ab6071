#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund.bats - the node daemon: jobs, places, its end and beginning. Without limits of memory, which
# tests/vm/mprund.bats has.
load '../lib/mprun'
load '../lib/mprund'

setup() {
    mprun_setup
    mprund_setup
    chmod 755 "$TMPDIR"
}
teardown() {
    local failed=0
    [ ! -d "${FREEZER:-}" ] || thaw || failed=1
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}
as_job() { # JOB COMMAND...: as nobody in a job of its
    local job=$1
    shift
    mkdir -p "$TMPDIR/nobody" && chmod 777 "$TMPDIR/nobody"
    enter "$job" setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups \
        env TMPDIR="$TMPDIR/nobody" HOME="$TMPDIR/nobody" XDG_RUNTIME_DIR="$TMPDIR/nobody" "$@"
}

@test "a job's delegated part is the user's, and nothing else of it" {
    job_start 12.1 sleep 1000
    job=$JOB
    [ "$(stat -c %u "$job/u" "$job/u/home" "$job/u/cgroup.procs" "$job/u/cgroup.subtree_control" | sort -u)" = "$TEST_UID" ]
    # only what the kernel lists
    find "$job" -user "$TEST_UID" -type f -printf '%f\n' | sort -u >given
    sort -u /sys/kernel/cgroup/delegate >allowed
    [ -z "$(comm -23 given allowed)" ]
    [ "$(stat -c %u "$job" "$job/task" "$job/cgroup.procs" "$job/task/cgroup.procs" "$job/u/cgroup.max.descendants" | sort -u)" = 0 ]
    [ "$(cat "$job/u/cgroup.max.descendants")" = 800 ]
    job_kill
    mprund_gone
}

@test "mprun in a job has every rank below the job's delegated part" {
    run --separate-stderr as_job 12.1 "$MPRUN" -n 2 grep 0:: /proc/self/cgroup
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    for line in "${lines[@]}"; do
        [[ $line == 0::$GROUND_CGROUP/site-12.1-????????/u/mprun.*/ranks/0.[01].0 ]]
    done
    mprund_gone
}

@test "mprun in a rank stays in that rank's cgroup" {
    run --separate-stderr as_job 12.1 "$MPRUN" -n 1 "$MPRUN" -n 1 grep 0:: /proc/self/cgroup
    [ "$status" -eq 0 ]
    [[ $output == 0::$GROUND_CGROUP/site-12.1-????????/u/mprun.*/ranks/0.0.0* ]]
    mprund_gone
}

@test "who is in no job gets no place, root included, and mprun goes on without" {
    run as_nobody "$GRANT_PROBE" place
    [ "$status" -eq 1 ]
    [[ $output == "refused  this process is in no job that mprund knows of" ]]
    run here "$GRANT_PROBE" place
    [[ $output == "refused "* ]]
    run --separate-stderr here "$MPRUN" -n 1 grep 0:: /proc/self/cgroup
    [ "$status" -eq 0 ]
    [[ $output != *mprund-test* ]]
    no_jobs
}

@test "only root enters a job" {
    run -2 here "$MPRUND" enter --job ../12 --user "$TEST_UID" true
    [[ $output == *"--job ../12: 1 to 40 letters"* ]]
    run as_nobody "$GRANT_PROBE" enter 12.1 "$TEST_UID"
    [[ $output == "refused  only root enters a job"* ]]
    run as_nobody "$MPRUND" enter --job 12.1 --user "$TEST_UID" true
    [ "$status" -eq 1 ]
    no_jobs
    # who has entered is what it was
    [ "$(umask 077; enter 12.1 sh -c umask)" = 0077 ]
    mprund_gone
}

@test "a limit that no cgroup can hold is an error each time, and of a job that is there only its own is one" {
    for i in 1 2; do # at once: the first one may still be ending
        run enter 12.1 --memory 48M true
        [ "$status" -eq 1 ]
        [[ $output == *"limit the memory of job 12.1: no cgroup of this host can"* ]]
    done
    job_start 12.1 --cores 1 sleep 1000 # where jobs have no cpusets it has all
    for limit in '--memory 48M' '--pids 10'; do
        run enter 12.1 $limit true
        [ "$status" -eq 1 ]
        [[ $output == *"job 12.1 is here already, with another limit of "* ]]
    done
    enter 12.1 true
    enter 12.1 --cores 1 true
    run -1 here "$MPRUND" enter --job 12.1 --user "$OTHER_UID" true
    [[ $output == *"job 12.1 is of another user here"* ]]
    run -1 enter 12.1 "$MPRUND" enter --job 13.1 --user "$TEST_UID" true
    [[ $output == *" is in another job's cgroup, "* ]]
    job_kill
    mprund_gone
}

@test "a job that has no process any more goes, and what it used is told" {
    enter 12.1 true
    mprund_gone
    enter 12.1 true # the name can be had again
    mprund_gone
}

@test "kill -9 and a new start lose nothing" {
    job_start 12.1 sleep 1000
    before=$(echo "$GROUND"/*)
    mprund_kill
    [ "$(echo "$GROUND"/*)" = "$before" ]
    # mprun does without it meanwhile
    run --separate-stderr here "$MPRUN" -n 1 true
    [ "$status" -eq 0 ]
    mprund_start
    run here "$MPRUND" status
    [[ ${lines[1]} == 12.1*site*"$TEST_UID "*"$(nobody_name) "*running* ]]
    run --separate-stderr as_job 12.1 "$MPRUN" -n 1 grep 0:: /proc/self/cgroup
    [[ $output == *"/${before##*/}/u/"* ]] # the same job still
    job_kill
    mprund_gone
}

@test "a job whose making was interrupted, or whose end, is removed by the next daemon" {
    mprund_kill
    mkdir -m 700 "$GROUND/site-7.1-0badcafe" "$GROUND/site-7.1-0badcafe/task"
    sleep 1000 &
    echo $! >"$GROUND/site-7.1-0badcafe/task/cgroup.procs"
    mkdir "$GROUND/something-else"
    mprund_start
    wait_until 15 test ! -d "$GROUND/site-7.1-0badcafe"
    wait_until 10 process_gone $!
    rmdir "$GROUND/something-else" # not one of ours: left alone
}

@test "a user sees its own jobs, and root everybody's" {
    job_start 12.1 sleep 1000
    run as_nobody "$MPRUND" status
    [[ $output == *12.1* ]]
    run as_other "$MPRUND" status
    [ "$status" -eq 0 ]
    [[ $output != *12.1* ]]
    run here "$MPRUND" status
    [[ $output == *12.1* ]]
    job_kill
    mprund_gone
}

@test "status --json says the same, and counts all of the host for everybody" {
    json() { python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
    job_start 12.1 sleep 1000
    here "$MPRUND" status --json >root.json
    [ "$(json '[(j["job"], j["manager"], j["uid"], j["user"], j["state"]) for j in d["jobs"]]' <root.json)" = \
        "[('12.1', 'site', $TEST_UID, '$(nobody_name)', 'running')]" ]
    [ "$(json '(d["jobs_of_all_users"], d["stuck"])' <root.json)" = "(1, 0)" ]
    # no limit, and nothing that limits memory: absent, not 0
    [ "$(json '"memory_limit" in d["jobs"][0] or "reason" in d["jobs"][0]' <root.json)" = False ]
    as_other "$MPRUND" status --json >other.json
    [ "$(json '(d["jobs"], d["jobs_of_all_users"])' <other.json)" = "([], 1)" ]
    for word in status 'status --json' sensor --help; do
        run -1 here sh -c '"$0" "$@" >/dev/full' "$MPRUND" $word
        [[ $output == *"No space left on device"* ]]
    done
    job_kill
    mprund_gone
    for wrong in '--json' 'sensor --json' 'status 12.1' 'jobs'; do
        run -2 "$MPRUND" $wrong
    done
}

# A job's process is frozen in a v1 hierarchy, where it cannot even be killed.
freeze_job() {
    local own
    own=$(sed -n 's/^[0-9]*:freezer://p' /proc/self/cgroup)
    FREEZER=/sys/fs/cgroup/freezer${own%/}/mprund-test.$$.$BATS_TEST_NUMBER
    mkdir "$FREEZER" && cat "$JOB/task/cgroup.procs" >"$FREEZER/cgroup.procs" &&
        echo FROZEN >"$FREEZER/freezer.state" && wait_until 10 grep -q FROZEN "$FREEZER/freezer.state"
}
thaw() {
    echo THAWED >"$FREEZER/freezer.state"
    wait_until 10 rmdir "$FREEZER" 2>/dev/null
}

@test "the end of a job that is stuck is shown with its reason, reported by the sensor, and over when it can go" {
    grep -q ':freezer:' /proc/self/cgroup || skip "needs a freezer of cgroup v1"
    mprund_kill
    printf 'stuck_after = 1\nretry = 1\n' >>"$MPRUND_CONF"
    mprund_start
    # an installation under another prefix
    mkdir -p "$TMPDIR/prefix/share/mprun" "$TMPDIR/prefix/sbin" "$TMPDIR/nothing"
    cp -r "$MPRUN_SOURCE/share/gridengine" "$TMPDIR/prefix/share/mprun"
    ln -s "$MPRUND" "$TMPDIR/prefix/sbin/mprund"
    coproc SENSOR { MPRUN_TEST_LIMIT=200 here setpriv --reuid="$OTHER_UID" --regid="$OTHER_UID" --clear-groups \
        env HOST=n7 "$TMPDIR/prefix/share/mprun/gridengine/load-sensor"; }
    sensor=$SENSOR_PID # which bash unsets when it has ended
    report() { # what it says to one line, between "begin" and "end"
        local line
        echo >&"${SENSOR[1]}"
        read -r -t 20 line <&"${SENSOR[0]}" && [ "$line" = begin ] || return
        while read -r -t 20 line <&"${SENSOR[0]}" && [ "$line" != end ]; do
            printf '%s ' "${line#n7:}"
        done
        [ "$line" = end ]
    }
    says() { [ "$(report)" = "mprund_ok:$1 mprund_stuck:$2 " ]; }
    says 1 0
    job_start 12.1 sleep 1000
    freeze_job
    echo 1 >"$JOB/cgroup.kill"
    mprund_kill # a daemon that finds the job's mark goes on ending it
    chmod 700 "$JOB"
    says 0 0
    mprund_start
    wait_until 20 is_stuck
    says 1 1
    run -3 here "$MPRUND" status
    [[ $output == *"12.1"*stuck*"cannot be removed: in it is pid "*"(sleep, state "* ]]
    # what it said last, as long as it says nothing: it hangs, or its program cannot be found, or ends in any way
    kill -STOP "$(mprund_part front)"
    says 0 1
    kill -CONT "$(mprund_part front)"
    says 1 1
    rm "$TMPDIR/prefix/sbin/mprund"
    says 0 1
    for conf in "MPRUND=/bin/false" "MPRUND=/bin/true" 'exit 7' 'kill $BASHPID' 'if'; do
        echo "$conf" >"$TMPDIR/prefix/share/mprun/gridengine/hooks.conf"
        says 0 1
    done
    echo "MPRUND=$MPRUND" >"$TMPDIR/prefix/share/mprun/gridengine/hooks.conf"
    says 1 1
    thaw
    mprund_gone
    says 1 0
    echo quit >&"${SENSOR[1]}"
    wait "$sensor"
    wait "$JOB_PID" || true
}
is_stuck() { here "$MPRUND" status | grep -q stuck; }

@test "a second daemon is refused, whatever its cgroup, and disturbs nothing; no user can pose as one" {
    sed 's|^cgroup = .*|cgroup = "/elsewhere"|' "$MPRUND_CONF" >"$TMPDIR/second.conf"
    for options in "--config $MPRUND_CONF" "--config $TMPDIR/second.conf" "--config $TMPDIR/second.conf --daemon"; do
        run -4 here "$MPRUND" $options
        [[ $output == "mprund: listen at '/run/mprun/mprund.sock': another mprund, pid $MPRUND_PID, does so already" ]]
    done
    here "$MPRUND" status
    [ ! -d "$(dirname "$GROUND")/elsewhere" ]
    for option in --config --pidfile; do # in the background the directory is another one
        run -2 here "$MPRUND" --daemon $option some.file
        [[ $output == *"--daemon with $option needs an absolute path"* ]]
    done
    # what users may lock is no daemon's
    run ! as_nobody flock /run/mprun/mprund.sock.lock true
    exec {holder}> >(as_nobody flock "$GROUND" flock /run/mprun cat)
    wait_until 10 is_locked "$GROUND"
    mprund_kill
    mprund_start {holder}>&-
    exec {holder}>&-
    wait $!
}
is_locked() { ! flock -n "$1" true; }

@test "a socket that is removed, or replaced, is made again, with its directory" {
    job_start 12.1 sleep 1000
    wait_until 10 here test -e /run/mprun/sentinels/12.1
    for way in 'rm $s' 'touch $s.new; mv $s.new $s' 'rm -r /run/mprun; true' 'mv /run/mprun /run/moved' \
        'rm -r /run/mprun; touch /run/mprun; sleep 1.2; rm /run/mprun' `# where it cannot be made for a while` \
        'rm /run/mprun/mprund-root.sock' "kill -KILL $(mprund_part front); rm -r /run/mprun"; do
        here sh -c "s=/run/mprun/mprund.sock; $way"
        wait_until 10 here test -S /run/mprun/mprund-root.sock
        wait_until 10 here "$MPRUND" status
        wait_until 10 here test -e /run/mprun/sentinels/12.1
    done
    run -4 here "$MPRUND" --config "$MPRUND_CONF"
    job_kill
    mprund_gone
}

# without_v2 VALUE: start it with systemd = VALUE where systemd runs and cgroup v2 is not mounted
without_v2() {
    sed -i "s/^systemd = .*/systemd = $1/" "$MPRUND_CONF"
    here unshare --mount sh -c 'umount -l "$1" && mkdir -p /run/systemd/system && shift && exec "$@"' sh \
        "$(findmnt -n -t cgroup2 -o TARGET | head -n 1)" \
        "$MPRUND" --config "$MPRUND_CONF" --daemon --pidfile /run/mprund.pid
}

@test "with systemd and without cgroup v2 jobs are in cgroup v1" {
    needs_tool findmnt
    mprund_kill
    run without_v2 yes
    [ "$status" -eq 1 ]
    [[ $output == *"find mprund-jobs.scope: cgroup v2 is not mounted"* ]]
    for systemd in try auto; do
        run without_v2 $systemd
        echo "$output"
        [ $systemd = auto ] || [[ $output == *"find mprund-jobs.scope: cgroup v2 is not mounted; systemd = try: jobs are in cgroup '"* ]]
        if [ "$status" -ne 0 ]; then
            [[ $output == *"neither cgroup v2 nor any of the subsystems is mounted"* ]]
            continue
        fi
        MPRUND_PID=$(here cat /run/mprund.pid)
        [[ $output =~ "jobs are in cgroup v1 '"([^\']+)"'" ]]
        v1=${BASH_REMATCH[1]}
        mprund_kill
        rmdir "$v1"
    done
}

# systemd is said to have made the scope, and has not
@test "a start in the background that fails when it has started the holder of the scope ends" {
    needs_tool systemd-run
    mprund_kill
    sed -i 's/^systemd = .*/systemd = yes/' "$MPRUND_CONF"
    printf '#!/bin/sh\necho $$ >%q\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n' "$TMPDIR/holder" >run
    chmod 755 run
    run here unshare --mount sh -c 'mount --bind "$1" /usr/bin/systemd-run && shift && exec "$@"' sh run \
        "$MPRUND" --config "$MPRUND_CONF" --daemon --pidfile /run/mprund.pid 3>&-
    kill "$(cat holder)"
    [ "$status" -eq 1 ]
    [[ $output == *"open the cgroup of mprund-jobs.scope"* ]]
}

@test "whatever its caller ignores, and though nobody reads any more what it says, the daemon goes on" {
    mprund_kill
    here rm /run/mprund.pid
    { MPRUN_TEST_LIMIT=100 here env --ignore-signal=HUP,CHLD "$MPRUND" --config "$MPRUND_CONF" --pidfile /run/mprund.pid -v 2>&1 | head -c 1 >/dev/null; } 3>&- &
    wait_until 10 here test -s /run/mprund.pid
    MPRUND_PID=$(here cat /run/mprund.pid)
    kill -KILL "$(mprund_part signer)" # which it says
    wait_until 10 mprund_part signer
    echo 'user_connections = 2' >>"$MPRUND_CONF"
    kill -HUP "$MPRUND_PID"
    wait_until 10 lets_in 2
    run -0 here "$MPRUND" status
}
lets_in() { [ "$(as_nobody "$GRANT_PROBE" silent 3)" = "$1 let in" ]; }

@test "a SIGTERM ends the daemon and no job" {
    job_start 12.1 sleep 1000
    kill -TERM "$MPRUND_PID"
    wait_until 10 process_gone "$MPRUND_PID"
    ! here test -e /run/mprund.pid || false
    [ "$(wc -l <"$JOB/task/cgroup.procs")" -ge 1 ]
    run here "$MPRUND" status
    [ "$status" -eq 1 ]
    [[ $output == *"ask mprund at '/run/mprun/mprund.sock': Connection refused"* ]]
    job_kill
}

@test "a SIGHUP reads the configuration again, and keeps the old one when the new is wrong" {
    mprund_kill
    mprund_start_logged
    echo 'user_connections = 2' >>"$MPRUND_CONF"
    hang_up 'the configuration was read again'
    lets_in 2
    sed -i 's/user_connections = 2/user_connections = 1/' "$MPRUND_CONF"
    echo 'user_rate = nonsense' >>"$MPRUND_CONF"
    run here "$MPRUND" --config "$MPRUND_CONF" --check
    [ "$status" -eq 1 ]
    [[ $output == *"mprund.conf:6:"* ]]
    hang_up 'going on with the old one'
    lets_in 2
    sed -i '$d; s/cpu/cpu, memory/' "$MPRUND_CONF"
    hang_up 'as they were until mprund is started again'
    lets_in 1
}
# hang_up TEXT: a SIGHUP, and what is said then
hang_up() {
    kill -HUP "$MPRUND_PID"
    wait_until 10 grep -q "$1" "$MPRUND_LOG"
}

@test "the manual has every option and every setting" {
    "$MPRUND" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' >options
    [ "$(wc -l <options)" -ge 10 ]
    sed 's/\\-/-/g' "$MPRUN_SOURCE/share/man/mprund.8" >man.8
    while read -r option; do grep -q -e "$option" man.8 || { echo "no $option"; false; }; done <options
    grep -oE '^# *#?[a-z_]+ =|^#[a-z_]+ (=|\{)' "$MPRUN_SOURCE/share/mprund.conf" | grep -oE '[a-z_]+ ' >settings
    [ "$(wc -l <settings)" -ge 9 ]
    while read -r setting; do grep -q "$setting" "$MPRUN_SOURCE/share/man/mprund.conf.5" || { echo "no $setting"; false; }; done <settings
    # and the sample is right when what it says is said
    sed -E 's/^#([a-z}])/\1/; s/^#(    [a-z#])/\1/; s/sgeadmin/root/' "$MPRUN_SOURCE/share/mprund.conf" >sample.conf
    run here "$MPRUND" --config "$PWD/sample.conf" --check
    [[ ${lines[0]} == "ok       configuration: '$PWD/sample.conf'" ]]
}

@test "--check names the line, and refuses a file that others can write" {
    check() { printf '%s\n' "$@" >check.conf && chmod 644 check.conf && here "$MPRUND" --config "$PWD/check.conf" --check; }
    check 'user = daemon' 'cgroup = "/jobs"'
    for wrong in 'cgroup = "jobs"' 'cgroup = "/a/../b"' 'user_rate = 0' 'subsystems = {memory, disk}' \
        'systemd = perhaps' 'cgroup_version = v3' 'fail = perhaps' 'colour = "red"' \
        'gpu "a b" { files = {"/dev/null"} }' 'gpu "0" { files = {"nvidia0"} }' 'gpu "0" { cores = "x" }' 'gpu_files = {"195:"}' 'lend_suspended = {memory}' 'gridengine { admin_user = "nobody-there" }'; do
        run check '# first' "$wrong"
        [ "$status" -eq 1 ]
        echo "$wrong: $output"
        [[ $output == *"check.conf:2: "* ]]
    done
    run -1 check '/* with a # */' 'colour = "red"' # which begins no comment
    [[ $output == *"no such option 'colour'"* ]]
    run check 'user = daemon' 'cores = exclusive' 'lend_suspended = {cores}'
    [ "$status" -eq 1 ]
    [[ $output == *"lend_suspended = {cores} needs cores = auto"* ]]
    check 'user = daemon' 'user_rate = 5' 'cores = exclusive' 'lend_suspended = {gpus}'
    chmod 666 check.conf
    run here "$MPRUND" --config "$PWD/check.conf" --check
    [ "$status" -eq 1 ]
    [[ $output == *"must belong to root and be writable to nobody else"* ]]
    run here "$MPRUND" --config "$PWD/missing.conf" --check
    [ "$status" -eq 1 ]
}

@test "--check says of each thing that the daemon needs whether it is there, and makes none of them" {
    spool_setup
    mkdir -m 777 links
    ln -s "$TMPDIR" links/away
    settings=("cgroup = \"$GROUND_CGROUP/more\"" 'systemd = no' 'subsystems = {cpu, pids, net_cls}' "grant_key = \"$TMPDIR/etc/mprun/grant.key\"" 'user = daemon')
    check() { printf '%s\n' "${settings[@]}" "$@" >check.conf && chmod 644 check.conf && here "$MPRUND" --config "$PWD/check.conf" --check; }
    said() { grep -q "^$1  *$2" <<<"$output" || { echo "not said: $1 $2: $output" && false; }; }
    run -1 check "gridengine { spool = \"$TMPDIR/none\" execd = \"/bin/true\" shepherd = \"/no/shepherd\" }"
    said ok "cgroup v2: '$GROUND/more' tracks jobs"
    said warning 'jobs will not have net_cls: '
    said ok 'mprund runs here already; jobs: 0'
    said ok "user: 'daemon'"
    said wrong "execd: '$TMPDIR/none/active_jobs': No such file or directory; set .spool. "
    said ok "execd: '/bin/true'"
    said wrong "shepherd: '/no/shepherd' cannot be run: No such file or directory"
    said wrong "grant_key: read key '$TMPDIR/etc/mprun/grant.key': No such file or directory"
    said warning 'qstat: none'
    # the key's directory is made, and no link is followed to it
    run -1 "$MPRUND" --make-key "$TMPDIR/links/away/grant.key"
    [[ $output == *"make key '$TMPDIR/links/away/grant.key': others can write to directory 'links'" ]]
    chmod 755 links
    run -1 "$MPRUND" --make-key "$TMPDIR/links/away/new/grant.key"
    [[ $output == *"'away' is a link, or no directory: name the real one" ]]
    [ ! -e new ]
    (umask 077 && "$MPRUND" --make-key "$TMPDIR/etc/mprun/grant.key")
    [ "$(stat -c '%a %u' etc etc/mprun etc/mprun/grant.key | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = ' 1 600 0; 2 755 0;' ]
    run -1 check "gridengine { spool = \"$SPOOL\" execd = \"/bin/true\" shepherd = \"/bin/true\" qstat = \"/bin/true\" root = \"$TMPDIR\" }"
    said ok "grant_key: '$TMPDIR/etc/mprun/grant.key'"
    said warning "execd: '$SPOOL' is its spool directory, but no execd runs here"
    said wrong "cell: '$TMPDIR/default/common': No such file or directory"
    said wrong "qstat: read '/bin/true -xml -j 1': it printed nothing"
    chmod 700 "$SPOOL"
    run -1 check "gridengine { spool = \"$SPOOL\" }"
    said wrong "execd: '$SPOOL/active_jobs': Permission denied; .* user 'daemon' has to be able to read it"
    chmod 755 "$SPOOL"
    settings[4]='user = nobody-there'
    run -1 check
    said wrong "user: there is no 'nobody-there': useradd "
    settings[4]='user = daemon'
    [ ! -e "$GROUND/more" ]
    kill -TERM "$MPRUND_PID"
    wait_until 10 process_gone "$MPRUND_PID"
    run -0 check
    said ok 'no mprund runs here yet'
    [ ! -e "$GROUND/more" ]
    run -0 check 'cgroup_version = v2'
    [[ $output == *"cgroup v2: "* && $output != *"cgroup v1: "* ]]
    run -1 check 'cgroup_mount = "/mnt"'
    [[ $output == *"neither cgroup v2 nor any of the subsystems is mounted"* ]]
    run -0 check "cgroup_mount = \"${GROUND%%/mprund-test*}\""
    [[ $output == *"cgroup v2: "* ]]
    if grep -q '^[0-9]*:[^:]*cpuset[^:]*:' /proc/self/cgroup; then
        run check 'subsystems = {memory, cpuset}' 'cgroup_version = v1'
        [[ $output == *"cgroup v1: "* && $output != *"cgroup v2: "* ]]
        run check 'subsystems = {memory, cpuset}'
        [[ $output == *"cgroup v2: "*"cgroup v1: "* ]]
    fi
    settings[0]='cgroup = "/no.such.cgroup.to.be.made/at/all"'
    run -1 as_nobody "$MPRUND" --config "$PWD/check.conf" --check
    said wrong 'mprund runs as root: only root can check more'
    here chmod 777 /run/mprun
    run -1 check
    said wrong "listen at '/run/mprun/mprund.sock': its directory must belong to user 0"
}
