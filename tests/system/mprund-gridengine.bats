#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-gridengine.bats - mprund on the hosts of a real Grid Engine: who is in a job is known from what
# the execds wrote, and with mprun-shepherd everything of a job is born in its cgroup
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'
load '../lib/mprund-hosts'

setup_file() {
    export SUBSYSTEMS='cpu, cpuset'
    gridengine_setup
    [ -n "${HOSTS_LACK:-}" ] || daemons_start
}
# daemons_start [LINE...]: as all tests of this file want them
daemons_start() { mprund_asking && mprunds_start 'stuck_after = 1' 'retry = 1' "${ASKING[@]}" "$@"; }
daemons_again() {
    local host
    for host in n1 n2 n3; do mprund_end $host 2>/dev/null || true; done # of one that was killed there is only the file
    daemons_start "$@"
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
teardown() {
    [ -z "${FROZEN:-}" ] || thaw_n1 || true
    [ -z "${SITE:-}" ] || {
        on_root n2 umount "$MPRUND" && mprund_start n2 || true
        on_root n3 umount "$SITE" || true
    } 2>/dev/null
    [ -n "${HOSTS_LACK:-}" ] || on_root n1 sh -c '! [ -e /run/mprund.pid ] || kill -CONT $(pgrep -x mprund-front -P $(cat /run/mprund.pid))' || true
    rm -f "${QSTAT:-}.d/large"
    mprunds_clean
}

@test "mprun asks: ranks on all hosts are in their job's cgroup, and it goes with the job" {
    run -0 qsub_wait -pe lab 6 <<<'mprun sh -c "echo \$(hostname) \$(grep 0:: /proc/self/cgroup)" | sort'
    echo "$output"
    [ "${#lines[@]}" -eq 6 ]
    for i in 0 1 2 3 4 5; do
        [[ ${lines[$i]} =~ ^n$((i / 2 + 1))\ .*/n$((i / 2 + 1))/mprund/ge-$(job)\.1-[0-9a-f]{8}/u/mprun\..*/ranks/0\.[0-5]\.0$ ]]
    done
    grounds_empty
}

@test "of two jobs of one user on one host each is in its own" {
    ask='mprun -n 1 grep 0:: /proc/self/cgroup >mine; until [ -e go ]; do sleep 0.1; done'
    qsub_start -l hostname=n1 <<<"$ask"
    first=$(job)
    dir1=$(dirname "$(job_out)")
    qsub_start -l hostname=n1 <<<"$ask"
    second=$(job)
    dir2=$(dirname "$(job_out)")
    wait_until 60 grep -q 0:: "$dir1/mine"
    wait_until 60 grep -q 0:: "$dir2/mine"
    touch "$dir1/go" "$dir2/go"
    job_wait
    grep -q "/ge-$first\.1-" "$dir1/mine"
    grep -q "/ge-$second\.1-" "$dir2/mine"
}

@test "outside of its job a user gets nothing, whatever it is called and whatever it claims" {
    qsub_start -l hostname=n1 <<<'sleep 1000'
    wait_until 20 job_in r
    run on n1 "$GRANT_PROBE" place
    [[ $output == "refused  nothing that Grid Engine's execd wrote"* ]]
    run on n1 env JOB_ID="$(job)" SGE_TASK_ID=1 "$GRANT_PROBE" place
    [[ $output == "refused "* ]]
    run on n1 "$GRANT_PROBE" claim "$(job).1"
    [[ $output == "bad "* ]]
    cp "$GRANT_PROBE" "$HOSTS_DIR/shared/sge_shepherd" && chmod 755 "$HOSTS_DIR/shared/sge_shepherd"
    run on n1 bash -c 'cd "$1" && exec -a "sge_shepherd-$2" "$3" place' - \
        "$HOSTS_DIR/gridengine/spool/execd/n1/active_jobs/$(job).1" "$(job)" "$HOSTS_DIR/shared/sge_shepherd"
    [[ $output == "refused "* ]]
    # the group alone is not enough, and neither is the user
    group=$(on_root n1 sed -n 's/^add_grp_id=//p' "$HOSTS_DIR/gridengine/spool/execd/n1/active_jobs/$(job).1/config")
    run on_root n1 setpriv --reuid=64777 --regid=64777 --groups="$group" "$GRANT_PROBE" place
    [[ $output == "refused "* ]]
    run on_root n1 setpriv --reuid=64000 --regid=64000 --groups="$((group + 1))" "$GRANT_PROBE" place
    [[ $output == "refused "* ]]
    run on_root n1 setpriv --reuid=64000 --regid=64000 --groups="$group" "$GRANT_PROBE" place
    [[ $output == "ok "*"/ge-$(job).1-"*/u\  ]]
}

@test "the real shepherd, started by a user in a directory of its own, proves nothing" {
    run on n1 bash -c 'mkdir -p active_jobs/7.1 && cd active_jobs/7.1 && printf "add_grp_id=%s\njob_owner=labuser\n" "$(id -g)" >config &&
        timeout 5 /usr/lib/gridengine/sge_shepherd -bg >/dev/null 2>&1; "$1" place; cd ~ && rm -r active_jobs' - "$GRANT_PROBE"
    [[ $output == "refused "* ]]
}

@test "with mprun-shepherd the whole job is born in its cgroup, and nothing of it stays" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'EOF'
grep 0:: /proc/self/cgroup
for host in n1 n2 n3; do
    qrsh -inherit -noshell $host sh -c 'grep 0:: /proc/self/cgroup; setsid sleep 1000 >/dev/null 2>&1 </dev/null &' </dev/null
done
mprun grep 0:: /proc/self/cgroup
EOF
    echo "$output"
    [ -z "$(words "$stderr")" ]
    [ "${#lines[@]}" -eq 10 ]
    for line in "${lines[@]:0:4}"; do
        [[ $line == 0::*/n?/mprund/ge-"$(job)".1-*/task ]]
    done
    for line in "${lines[@]:4}"; do
        [[ $line == 0::*/n?/mprund/ge-"$(job)".1-*/u/mprun.*/ranks/* ]]
    done
    grounds_empty
    for host in n1 n2 n3; do
        ! on $host pgrep -x -u labuser sleep || false
    done
}

@test "what a user writes into its job's config, and however long, keeps no process of it out of its cgroup" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    JOB_ARGUMENTS=($'a\nadd_grp_id=1\nh_vmem=INFINITY' "$(printf %070000d 0)")
    forge=(-l h_vmem=1G -M $'a@b\nhost_slots=100' -i $'/dev/null\nh_vmem=INFINITY' -S $'/bin/bash\nh_vmem=9G')
    run -0 --separate-stderr qsub_wait -pe lab 6 -masterq lab.q@n1 "${forge[@]}" <<'EOF'
id -G
for host in n1 n2; do qrsh -inherit -noshell $host grep 0:: /proc/self/cgroup </dev/null; done
mprun -n 1 grep 0:: /proc/self/cgroup
EOF
    echo "$output"
    [[ " ${lines[0]} " == *" 1 "* ]] # so the shepherd takes it
    for line in "${lines[@]:1:2}"; do
        [[ $line == 0::*/n?/mprund/ge-"$(job)".1-*/task ]]
    done
    [[ ${lines[3]} == 0::*/n1/mprund/ge-"$(job)".1-*/u/mprun.*/ranks/* ]]
    [ "$(mprund_limits n1 | head -n 1)" = "by=execd slots=2 memory=$((2 << 30)) swap=0" ]
    # whose it is cannot be told then: it is contained, and no user gets a place
    JOB_ARGUMENTS=($'a\njob_owner=labuser')
    run -1 qsub_wait -l hostname=n1 <<<"grep 0:: /proc/self/cgroup; $GRANT_PROBE place"
    echo "$output"
    [[ ${lines[0]} == 0::*/n1/mprund/ge-"$(job)".1-*/task ]]
    [[ ${lines[1]} == "refused  the job that this process is in is nobody's"* ]]
}

@test "after qdel nothing stays, not even what left its session and process group" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    qsub_start -pe lab 6 <<'EOF'
for host in n1 n2 n3; do
    qrsh -inherit -noshell $host sh -c 'setsid sleep 1000 >/dev/null 2>&1 </dev/null & exec sleep 1000' </dev/null &
done
wait
EOF
    for host in n1 n2 n3; do wait_until 30 two_sleep $host; done
    on n0 qdel "$(job)"
    wait_until 20 job_in gone
    grounds_empty
    for host in n1 n2 n3; do
        ! on $host pgrep -x -u labuser sleep || false
    done
}
two_sleep() { [ "$(on "$1" pgrep -c -x -u labuser sleep)" = 2 ]; }

@test "an exit code, and a death by signal, are what they are without mprun-shepherd" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    run -7 qsub_wait <<<'exit 7'
    [ "$(job_records 12 13)" = "0 7" ]
    run qsub_wait <<<'kill -9 $$'
    [ "$status" -eq 137 ]
}

@test "mprund is killed and started again while a job runs: it keeps its cgroup, and goes with its end" {
    qsub_start -l hostname=n1 <<<'mprun -n 1 sh -c "grep 0:: /proc/self/cgroup; sleep 1000"'
    wait_until 20 grep -q 0:: "$(job_out)"
    before=$(grounds)
    mprund_end n1 KILL
    mprund_start n1
    run on n1 "$MPRUND" status
    [[ $output == *"$(job).1"*gridengine*running* ]]
    [ "$(grounds)" = "$before" ]
    on n0 qdel "$(job)"
    grounds_empty
}

@test "a task without mprund does not begin: its job is in error, the queue is not, and qstat says why" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    for how in KILL STOP; do
        on_root n1 sh -c 'kill -s "$1" $(cat /run/mprund.pid)' sh "${how/STOP/CONT}"
        [ $how = KILL ] || on_root n1 sh -c 'kill -STOP $(pgrep -x mprund-front -P $(cat /run/mprund.pid))'
        began
        qsub_start -l hostname=n1 <<<'echo it ran'
        wait_until 40 job_in Eqw
        ended_within 20
        [ -z "$(queue_state n1)" ]
        [ ! -s "$(job_out)" ]
        run -0 on n0 qstat -j "$(job)"
        [[ $output == *"error reason "*"mprun-shepherd on n1: the task does not begin, "*" mprund "* ]]
        [ $how = STOP ] || mprund_start n1
        on_root n1 sh -c 'kill -CONT $(pgrep -x mprund-front -P $(cat /run/mprund.pid))'
        run on n0 qmod -cj "$(job)" # whose exit code is 1
        [[ $output == *"cleared error state of job"* ]]
        job_wait
        [ "$(cat "$(job_out)")" = 'it ran' ]
    done
}

@test "an mprund that is started again while a task waits for it takes it in" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    mprund_end n1 KILL
    wait_until 20 is_silent n1 # so that others wait for it no longer
    qsub_start -l hostname=n1 <<<'grep 0:: /proc/self/cgroup'
    wait_until 40 on_root n1 pgrep -x mprun-shepherd
    mprund_start n1
    job_wait
    grep "/ge-$(job).1-.*/task" "$(job_out)"
}

is_silent() { [ -n "$(on_root "$1" find /run/mprun/mprund.sock.lock ! -newermt '2 seconds ago')" ]; }

@test "where a job's other host has no mprund the step ends with the reason, and the job goes on" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    mprund_end n2
    JOB_LIMIT=150 run -0 qsub_wait -pe lab 6 -masterq lab.q@n1 <<<'mprun echo a rank; echo code $?'
    echo "$output"
    [ "$(cat "$(job_out)")" = 'code 125' ]
    grep -q "^mprun: host n2: qrsh ended .*mprund does not answer on that host" "$(job_err)"
    [ -z "$(queue_state n2)" ]
    mprund_start n2
}

@test "with fail = open a task begins without mprund, and the self-test says where there is none" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    daemons_again 'fail = open'
    run -0 qsub_wait -pe lab 6 <<<'grep 0:: /proc/self/cgroup; mprun --self-test'
    echo "$output"
    [[ ${lines[0]} == *"/ge-$(job).1-"*/task ]]
    grep -x 'mprund   ok       it answers on n1 n2 n3' <<<"$output"
    mprund_end n2
    run -1 qsub_wait -pe lab 6 <<<'mprun --self-test'
    echo "$output"
    grep '^mprund   FAILED   it .* on n2[:;]' <<<"$output"
    run -0 qsub_wait -l hostname=n2 <<<'grep 0:: /proc/self/cgroup'
    [[ $output != *mprund* ]]
    daemons_again
}

# The files of share/gridengine as a site has them under a prefix of its own, with its hooks.conf
site_files() {
    SITE=$HOSTS_DIR/shared/prefix/share/mprun
    [ ! -d "$SITE" ] || return 0
    mkdir -p "$SITE" "$SITE/../../sbin" && cp -r "$MPRUN_SOURCE/share/gridengine" "$SITE" && chmod -R u+w "$SITE" &&
        ln -s "$MPRUND" "$SITE/../../sbin" &&
        printf '%s\n' "MPBIND=$MPRUN_BUILD/tools/mpbind" "MPRSRC=$MPRUN_BUILD/tools/mprsrc" "MPRSRC_OPTIONS=(--user daemon --qstat $QSTAT)" >"$SITE/gridengine/hooks.conf"
}
# setting_of FILE NAME: its value in a file of share/gridengine
setting_of() {
    awk -v name="$2" '$1 == name { print $2 }' "$SITE/gridengine/$1" |
        sed "s|^LIBEXEC|${SHEPHERD%/*}|; s|^SHARE|$SITE|"
}
# A process that is frozen in a v1 hierarchy cannot even be killed.
freeze_n1() {
    FROZEN=$(on_root n1 sed -n 's,^[0-9]*:freezer:,/sys/fs/cgroup/freezer,p' /proc/self/cgroup)/stuck
    on_root n1 bash -c 'mkdir "$1" && pgrep -x -f "$2" >"$1/cgroup.procs" && echo FROZEN >"$1/freezer.state"' - "$FROZEN" "$1"
}
thaw_n1() {
    on_root n1 bash -c 'echo THAWED >"$1/freezer.state" && until rmdir "$1" 2>/dev/null; do sleep 0.05; done' - "$FROZEN" &&
        FROZEN=
}
queue_state() { on n0 qstat -f | awk -v queue="lab.q@$1" '$1 == queue { print $6 }'; }
is_closed() { [ "$(queue_state "$1")" = a ]; }
is_open() { [ -z "$(queue_state "$1")" ]; }
load_value() { on n0 qhost -h "$1" -F "$2" | sed -n "s/.*hl:$2=//p"; }
load_value_is() { [ "$(load_value "$1" "$2" | sed 's/[.]0*$//')" = "$3" ]; } # HOST NAME VALUE

@test "a job whose end is stuck closes the queue on its host, and it opens again when that has gone" {
    on_root n1 grep -q ':freezer:' /proc/self/cgroup || skip "needs a freezer of cgroup v1"
    site_files
    # on n2 mprund has died and its program is gone, on n3 there is nothing of mprun's
    mprund_end n2 KILL
    on_root n2 mount --bind /dev/null "$MPRUND"
    on_root n3 mount -t tmpfs none "$SITE"
    ge_set configuration:shepherd_cmd="$(setting_of mprund-configuration shepherd_cmd)" \
        configuration:load_sensor="$(setting_of mprund-configuration load_sensor)" \
        queue:load_thresholds=np_load_avg=1000
    # as README.md says: what the queue had stays
    for name in load_thresholds complex_values; do
        on_root n0 qconf -mattr queue $name "$(setting_of mprund-queue $name)" lab.q
    done
    run -0 on n0 env SGE_SINGLE_LINE=1 qconf -sq lab.q
    [[ $output =~ load_thresholds\ +np_load_avg=1000,mprund_stuck=1 ]]
    # and so mprund finds it
    printf '%s\n' '#!/bin/sh' '[ "$(id -u)" != 0 ] || exit 1' \
        '/usr/lib/gridengine/qconf "$@" | sed "s|^load_sensor *|&/other/sensor,|"' >"$(dirname "$QSTAT")/qconf"
    chmod 755 "$(dirname "$QSTAT")/qconf"
    run -0 on_root n1 "$MPRUND" --check
    echo "$output"
    [[ $output == *"ok       execd: runs here, with the spool directory "* ]]
    [[ $output == *"ok       qstat: '$QSTAT' answers"* ]]
    [[ $output == *"ok       shepherd_cmd: '$SHEPHERD'"*"ok       load_sensor: '/other/sensor,$SITE/gridengine/load-sensor'"* ]]
    qsub_start -l hostname=n1 <<'EOF'
setsid sleep 1234 >/dev/null 2>&1 </dev/null &
until [ -e go ]; do sleep 0.1; done
EOF
    wait_until 30 on_root n1 pgrep -x -f 'sleep 1234'
    freeze_n1 'sleep 1234'
    wait_until 30 load_value_is n1 mprund_stuck 0
    wait_until 30 load_value_is n2 mprund_ok 0
    for host in n1 n2 n3; do wait_until 30 is_open $host; done
    touch "$(dirname "$(job_out)")/go"
    wait_until 60 is_closed n1
    load_value_is n1 mprund_stuck 1
    run on n0 qstat -f -explain a
    [ "$(grep -c 'mprund_stuck' <<<"$output")" -eq 1 ] # so it has no complaint about n2 and n3
    [[ $output == *"alarm hl:mprund_stuck=1 "* ]]
    # a daemon that does not answer any more changes nothing
    on_root n1 sh -c 'kill -STOP $(pgrep -x mprund-front -P $(cat /run/mprund.pid))'
    wait_until 30 load_value_is n1 mprund_ok 0
    load_value_is n1 mprund_stuck 1
    is_closed n1
    on_root n1 sh -c 'kill -CONT $(pgrep -x mprund-front -P $(cat /run/mprund.pid))'
    thaw_n1
    wait_until 60 is_open n1
    load_value_is n1 mprund_ok 1
    load_value_is n1 free_cores "$(free_cores n1)"
}

@test "the prolog, root's or the user's, holds the job script until mprund has the job in its cgroup, by one qstat a job" {
    site_files
    for user in root@ ''; do
        ge_set queue:prolog="$user$SITE/gridengine/prolog" queue:epilog="$user$SITE/gridengine/epilog"
        qstat_hold
        qsub_start -l hostname=n1,m_mem_free=1M <<<'grep 0:: /proc/self/cgroup'
        wait_until 30 on_root n1 pgrep -f "$MPRUN_BUILD/tools/mpbind --wait 15 $(job).1"
        [ ! -s "$(job_out)" ]
        qstat_go
        job_wait
        output=$(cat "$(job_out)")
        echo "$output"
        [[ $output == *"0::"*"/ge-$(job).1-"*/task ]]
        [ "$(wc -l <"$(job_out)")" -eq 1 ]
        [ ! -s "$(job_err)" ]
        [ "$(qstat_calls)" -eq 1 ]
    done
    # where it is to say something, a limit is only what is held, and the epilog knows what the prolog knew
    echo SAY=yes >>"$SITE/gridengine/hooks.conf"
    ge_set queue:prolog="root@$SITE/gridengine/prolog" queue:epilog="root@$SITE/gridengine/epilog"
    qstat_hold
    qstat_go
    run -0 qsub_wait -l hostname=n1,m_mem_free=1M <<<true
    sed -i '$d' "$SITE/gridengine/hooks.conf"
    [[ $output == *"[PROLOG]     Memory requested: 1 MiB"* ]]
    [[ $output != *"imit"* ]]
    [ "$(qstat_calls)" -eq 2 ]
}

@test "an mprund that hangs costs a prolog and a step 2 s, which is said once a step, and one that is back is used" {
    site_files
    daemons_again 'fail = open' # so that the job begins
    ge_set configuration:shepherd_cmd="$SHEPHERD" queue:prolog="root@$SITE/gridengine/prolog"
    on_root n1 sh -c 'kill -STOP $(pgrep -x mprund-front -P $(cat /run/mprund.pid))'
    began
    qsub_start -pe lab 6 -masterq lab.q@n1 <<'EOF'
for i in 1 2 3; do mprun true; done
mprun --host n2 true
touch waits; until [ -e go ]; do sleep 0.05; done
mprun --host n1 -n 1 grep 0:: /proc/self/cgroup
EOF
    wait_until 60 test -e "$(job_dir)/waits"
    ended_within 25
    on_root n1 sh -c 'kill -CONT $(pgrep -x mprund-front -P $(cat /run/mprund.pid))'
    touch "$(job_dir)/go"
    job_wait
    cat "$(job_out)" "$(job_err)"
    [ "$(grep -c 'mprun: on n1: mprund does not answer' "$(job_err)")" -eq 4 ]
    [ "$(grep -c 'mprund does not answer' "$(job_err)")" -eq 5 ]
    grep -q '^mpbind: wait for job .*: mprund does not answer' "$(job_err)"
    grep -q "^0::.*/ge-$(job)\.1-" "$(job_out)"
    daemons_again
}

@test "a prolog that is told how to reach the job's other hosts gives it its cores there before it comes" {
    needs_tool ssh-keygen /usr/sbin/sshd
    on_root n1 grep -q ':cpuset:' /proc/self/cgroup || skip "needs cpusets of cgroup v1"
    hosts sshd
    site_files
    cp -r "$SITE" "$SITE.bind"
    printf '%s\n' SAY=yes BIND=remote 'REMOTE=(ssh -o BatchMode=yes)' >>"$SITE.bind/gridengine/hooks.conf"
    ge_set queue:prolog="root@$SITE.bind/gridengine/prolog" queue:epilog="root@$SITE.bind/gridengine/epilog"
    qsub_start -pe lab 4 <<<'touch begun; until [ -e go ]; do sleep 0.1; done; mprun -n 4 sh -c "echo \$(hostname) \$(grep 0:: /proc/self/cgroup)"'
    wait_until 60 test -e "$(dirname "$(job_out)")/begun"
    other=n1
    [ "$(job_host)" != n1 ] || other=n2
    grep -x "\[PROLOG\] limits on $other: set" "$(job_out)"
    # there it is, though nothing of it is
    before=$(job_cgroup "$other")
    [ -d "$before" ]
    run on_root "$other" "$MPRUND" status
    [[ $output =~ $(job)\.1\ +gridengine\ +64000\ +labuser\ +expected\  ]]
    run on_root "$other" "$MPRUND" status --json
    [[ $output == *'"cores_how": "own"'* ]]
    touch "$(dirname "$(job_out)")/go"
    job_wait
    [ "$(grep -c "^$other 0::.*/${before##*/}/u/" "$(job_out)")" -eq 1 ]
    # one that is deleted before it comes there gives them back
    qsub_start -pe lab 4 <<<'touch begun; sleep 1000'
    wait_until 60 test -e "$(dirname "$(job_out)")/begun"
    other=n1
    [ "$(job_host)" != n1 ] || other=n2
    [ -d "$(job_cgroup "$other")" ]
    on n0 qdel "$(job)"
    grounds_empty 20
    # so does one that is deleted before it begins anywhere
    qsub_start -h -pe lab 4 <<<true
    on_root n2 "$MPRUN_BUILD/tools/mpbind" "$(job)" 1 0 0
    [ "$(free_cores n2)" = "$(($(free_cores n3) - 1))" ]
    on n0 qdel "$(job)"
    grounds_empty 20
    [ "$(free_cores n2)" = "$(free_cores n3)" ]
}
free_cores() { on_root "$1" "$MPRUND" status --json | sed -n 's/.*"cores_free": \([0-9]*\).*/\1/p'; }

# limits_are HOST BY LIMITS: the last ones of the last job there. No cgroup of this machine may hold them.
limits_are() { [ "$(mprund_limits "$1" | tail -n 1)" = "by=$2 $3" ] || { mprund_limits "$1" && false; }; }

@test "what a job asks for limits it on all hosts, times slots once: by qstat on its first, by a grant on the others" {
    MIB=$((1 << 20))
    # two slots a host: the larger request is the limit, the other one bounds memory and swap
    limits="slots=2 memory=$((400 * MIB)) swap=$((1600 * MIB))"
    run -0 qsub_wait -pe lab 6 -l m_mem_free=200M,h_vmem=1000M <<<'cut -d " " -f 1 "$PE_HOSTFILE" | head -n 1; mprun env | grep MPRUN_GRANT || echo none'
    echo "$output"
    [ "${#lines[@]}" -eq 2 ]
    [ "${lines[1]}" = none ]
    for host in n1 n2 n3; do
        by=grant
        [ $host != "${lines[0]}" ] || by=qstat
        limits_are $host $by "$limits"
    done
    # with mprun-shepherd from the first moment on
    ge_set configuration:shepherd_cmd="$SHEPHERD" 'complexes:m_mem_free=mfree MEMORY <= YES JOB 0 0'
    limits="slots=2 memory=$((600 * MIB)) swap=0" # once, whatever the slots
    run -0 qsub_wait -pe lab 6 -l m_mem_free=600M <<<'cut -d " " -f 1 "$PE_HOSTFILE" | head -n 1; mprun true'
    for host in n1 n2 n3; do
        if [ $host = "$output" ]; then
            limits_are $host qstat "$limits"
        else
            [ "$(mprund_limits $host)" = "by=grant $limits" ]
        fi
    done
}

@test "a host where a job has slots of two queues is told how many they are" {
    on_root n0 sh -c 'qconf -sq lab.q | sed "s/^qname.*/qname second.q/" >/tmp/second && qconf -Aq /tmp/second'
    qsub_start -pe lab 9 -l m_mem_free=100M <<<'mprun true; sed "s/ .*//; q" "$PE_HOSTFILE"'
    code=0
    job_wait || code=$?
    on_root n0 sh -c 'qconf -dq second.q && rm /tmp/second'
    [ $code -eq 0 ]
    first=$(cat "$(job_out)")
    for host in n1 n2 n3; do
        by=grant
        [ $host != "$first" ] || by=qstat
        limits_are $host $by "slots=3 memory=$((300 << 20)) swap=0"
    done
}

@test "a grant holds for its own job alone, and outlives a restart of the daemon that signed it" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    qsub_start -pe lab1 2 -l m_mem_free=1M <<EOF
sed "s/ .*//; q" "\$PE_HOSTFILE"
"$GRANT_PROBE" token >one && mv one first
until [ -e again ]; do sleep 0.05; done
"$GRANT_PROBE" token >two && mv two second
until [ -e go ]; do sleep 0.05; done
EOF
    dir=$(dirname "$(job_out)") old=$(job)
    wait_until 30 test -e "$dir/first"
    host=$(head -n 1 "$dir/out") token=$(cut -d ' ' -f 2 "$dir/first")
    [ ${#token} -eq 448 ]
    mprund_end "$host" KILL
    mprund_start "$host"
    touch "$dir/again"
    wait_until 30 test -e "$dir/second"
    [ "$(cut -d ' ' -f 2 "$dir/second" | wc -c)" -eq 449 ]
    [ "$(mprund_limits "$host" "$old" | grep -c by=qstat)" -eq 1 ]
    # another job of the user's, which shows it, and what was never one, to its other host
    run -0 qsub_wait -pe lab1 2 -l m_mem_free=2M <<EOF
other=\$(sed -n '2s/ .*//p' "\$PE_HOSTFILE")
echo \$other
for grant in $token x ${token%?}; do qrsh -inherit -noshell -v MPRUN_GRANT=\$grant \$other true </dev/null; done
EOF
    [ "$(mprund_limits "${lines[0]}" | head -n 1)" = "by=execd slots=1 memory=0 swap=0" ]
    run ! grep by=grant < <(mprund_limits "${lines[0]}")
    touch "$dir/go"
}

has_default_memory() { mprund_limits "$1" | grep -q 'by=default slots=1 memory=[1-9]'; }

@test "a host whose tasks bring no grant, or none that is valid, asks Grid Engine itself" {
    ge_set configuration:shepherd_cmd="$SHEPHERD"
    qsub_start -pe lab 6 -masterq lab.q@n1 -l m_mem_free=200M <<'EOF'
qrsh -inherit -noshell n2 true </dev/null
qrsh -inherit -noshell -v MPRUN_GRANT=x n3 true </dev/null
until [ -e go ]; do sleep 0.05; done
EOF
    for host in n2 n3; do wait_until 40 limits_are $host qstat "slots=2 memory=$((400 << 20)) swap=0"; done
    touch "$(job_dir)/go"
    job_wait
}

@test "a job that keeps mprund from knowing what it asks for has memory_per_slot, or what its execd wrote if that is less" {
    daemons_again 'gridengine.memory_per_slot = 300M'
    wait='until [ -e go ]; do sleep 0.05; done'
    touch "$QSTAT.d/large"
    qsub_start -pe lab1 2 -masterq lab.q@n1 -l m_mem_free=2G <<<"sed -n '2s/ .*//p' \"\$PE_HOSTFILE\"; qrsh -inherit -noshell \$(sed -n '2s/ .*//p' \"\$PE_HOSTFILE\") sleep 1000 </dev/null & $wait"
    wait_until 40 limits_are n1 default "slots=1 memory=$((300 << 20)) swap=0"
    wait_until 40 limits_are "$(cat "$(job_out)")" default "slots=1 memory=$((300 << 20)) swap=0"
    # what it asks for holds as soon as that is known
    rm "$QSTAT.d/large"
    wait_until 40 limits_are n1 qstat "slots=1 memory=$((2 << 30)) swap=0"
    touch "$(job_dir)/go"
    job_wait
    touch "$QSTAT.d/large"
    qsub_start -l hostname=n1,h_vmem=200M <<<"$wait"
    wait_until 40 limits_are n1 default "slots=1 memory=$((200 << 20)) swap=0"
    touch "$(job_dir)/go"
    job_wait
    # by default it is a core's part of the host's memory
    daemons_again
    qsub_start -l hostname=n1 <<<"$wait"
    wait_until 40 has_default_memory n1
    touch "$(job_dir)/go"
    job_wait
}

# ---- quarantine: jobs that do not ask, without mprun-shepherd

traced() { on_root "$1" grep -qE "$2" /run/mprund.trace; } # HOST REGULAR-EXPRESSION
shepherd_inside() { # HOST: the real one is where its job is
    on_root "$1" sh -c 'pid=$(pgrep -x sge_shepherd) && grep -q "/ge-$0\.1-[0-9a-f]*/task$" "/proc/$pid/cgroup"' "$(job)"
}
cgroups_of_job() { on_root "$1" sh -c 'cat $(for p in $(pgrep -u labuser) $(pgrep -x sge_shepherd); do echo /proc/$p/cgroup; done) | grep 0::'; }

@test "a job that does not ask is found by what the execds write, on all its hosts, and its prolog can wait for that" {
    run -0 --separate-stderr qsub_wait -pe lab 6 -masterq lab.q@n1 <<'EOF'
inside='until [ -e /run/mprun/sentinels/$JOB_ID.1 ]; do sleep 0.05; done; until grep -q "/ge-$JOB_ID[.]1-" /proc/self/cgroup; do sleep 0.05; done; grep 0:: /proc/self/cgroup'
bash -c "$inside"
for host in n2 n3; do
    qrsh -inherit -noshell $host bash -c "$inside" </dev/null
done
EOF
    echo "$output"
    [ -z "$(words "$stderr")" ]
    [ "${#lines[@]}" -eq 3 ]
    for i in 0 1 2; do
        [[ ${lines[$i]} == 0::*/n$((i + 1))/mprund/ge-"$(job)".1-*/task ]]
    done
    traced n1 " enter job=$(job).1 task= pid=[0-9]* below=[0-9]* how=spool"
    traced n2 " enter job=$(job).1 task=1.n2 pid=[0-9]* below=[0-9]* how=spool"
    grounds_empty
    for host in n1 n2 n3; do
        traced $host " sentinel-removed job=$(job).1"
        on_root $host test ! -e "/run/mprun/sentinels/$(job).1"
    done
}

@test "a daemon that comes to a running job takes all of it in, those that left it, too, and nothing survives qdel" {
    mprund_end n1
    on_root n1 rm /run/mprund.trace
    qsub_start -l hostname=n1 <<<'(setsid sleep 1000 &); sleep 1000; true'
    wait_until 20 two_sleep n1
    mprund_start n1
    wait_until 20 traced n1 " enter job=$(job).1 task= pid=[0-9]* below=0 how=group"
    wait_until 20 traced n1 " enter job=$(job).1 task= pid=[0-9]* below=[1-9] how=(scan|spool)"
    cgroups_of_job n1 >cgroups
    cat cgroups
    [ "$(wc -l <cgroups)" -ge 4 ] # shepherd, script, sleeps
    [ "$(grep -c "/ge-$(job)\.1-[0-9a-f]*/task$" cgroups)" = "$(wc -l <cgroups)" ]
    on n0 qdel "$(job)"
    grounds_empty
    run ! on n1 pgrep -x -u labuser sleep
}

@test "the real shepherd, started by a user in its job's directory or its own, is put nowhere" {
    qsub_start -l hostname=n1 <<<'sleep 1000'
    wait_until 20 job_in r
    wait_until 20 shepherd_inside n1
    # ld.so waits for who reads what it says, in the shepherd's process
    fake='mkfifo "/tmp/hold.$$" && cd "$0" && LD_DEBUG=files LD_DEBUG_OUTPUT=/tmp/hold exec -a "sge_shepherd-$1" /usr/lib/gridengine/sge_shepherd -bg'
    for dir in "$HOSTS_DIR/gridengine/spool/execd/n1/active_jobs/$(job).1" /tmp; do
        on n1 bash -c "$fake" "$dir" "$(job)" </dev/null >/dev/null 2>&1 3>&- &
        wait_until 20 fake_there n1
        pid=$(on_root n1 pgrep -u labuser -x sge_shepherd)
        [ "$(on_root n1 readlink "/proc/$pid/exe")" = /usr/lib/gridengine/sge_shepherd ]
        count=$(on_root n1 grep -c ' scan number=' /run/mprund.trace)
        on_root n1 sh -c 'kill -HUP $(cat /run/mprund.pid)' # a look at everything
        wait_until 20 looked_again "$count"
        run on_root n1 cat "/proc/$pid/cgroup"
        [[ $output != *mprund/* ]]
        traced n1 " refused pid=$pid uid=64000 how=scan .*: it was started by user 64000 and not by root"
        on_root n1 kill -KILL "$pid"
        wait $! || true
    done
    on n0 qdel "$(job)"
    grounds_empty
}
fake_there() { on_root "$1" pgrep -u labuser -x sge_shepherd >/dev/null; }
looked_again() { [ "$(on_root n1 grep -c ' scan number=' /run/mprund.trace)" -gt "$1" ]; }
