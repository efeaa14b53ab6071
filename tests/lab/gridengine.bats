#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine.bats - that the Grid Engine of tests/lab/gridengine is what tests with it take it for
# bats file_tags=long
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() {
    hosts_machine >"$BATS_FILE_TMPDIR/machine"
    gridengine_setup
}
teardown_file() { gridengine_teardown; }

# No mprun is run here; what is left in the hosts is looked for.
setup() {
    needs_gridengine
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() { if [ -z "${OWN_LAB:-}" ]; then gridengine_clean; else gridengine_teardown; fi; }

# own_lab [OPTIONS]: for a test that destroys, or needs another one
own_lab() {
    OWN_LAB=yes
    gridengine_setup "$@"
}

# qrsh_sleeper: a job with a sleeping task on each host; returns when they sleep
qrsh_sleeper() {
    qsub_start -pe lab 6 "$@" <<'EOF'
for host in n1 n2 n3; do qrsh -inherit -noshell $host sleep 1000 </dev/null & done
wait
EOF
    wait_until 30 sleeping n1 && wait_until 30 sleeping n2 && wait_until 30 sleeping n3
}
sleeping() { on "$1" pgrep -x sleep -u labuser >/dev/null; }

@test "a job gets all slots of three hosts" {
    run -0 qsub_wait -pe lab 6 <<<'cut -d " " -f 1,2 "$PE_HOSTFILE" | sort'
    [ "$output" = $'n1 2\nn2 2\nn3 2' ]
}

@test "a job's exit code comes back, and what it writes to stderr" {
    run -7 --separate-stderr qsub_wait <<<'echo out; echo err >&2; exit 7'
    [ "$output" = out ]
    [ "$stderr" = err ]
}

@test "a job has nothing of our environment, and mprun in its path" {
    export STRAY=stray
    run -0 qsub_wait <<<'echo "$STRAY$MPRUN_TEST_MARK$BATS_VERSION"; id -un; command -v mprun'
    [ "$output" = $'\nlabuser\n'"$MPRUN" ]
}

@test "qrsh -inherit: tasks on all hosts, and a record for each of them, or one with labsum" {
    tasks='for host in n1 n2 n3; do qrsh -inherit -noshell $host hostname </dev/null; done'
    # qrsh may complain of how the connection ended
    run -0 --separate-stderr qsub_wait -pe lab 6 <<<"$tasks"
    [ "$output" = $'n1\nn2\nn3' ]
    [ "$(job_records 42 | sed 's/^[0-9]*[.]//' | sort)" = $'NONE\nn1\nn2\nn3' ]
    run -0 --separate-stderr qsub_wait -pe labsum 6 <<<"$tasks"
    [ "$output" = $'n1\nn2\nn3' ]
    [ "$(job_records 42 13 35)" = "NONE 0 6" ]
}

@test "labloose refuses tasks, lab1 gives one slot a host, labjft one task less" {
    run -0 --separate-stderr qsub_wait -pe labloose 6 <<<'qrsh -inherit n1 true </dev/null || echo refused'
    [ "$output" = refused ]
    run -0 qsub_wait -pe lab1 3 <<<'cut -d " " -f 1,2 "$PE_HOSTFILE" | sort'
    [ "$output" = $'n1 1\nn2 1\nn3 1' ]
    # the script itself is on the host's only slot
    run -0 --separate-stderr qsub_wait -pe labjft 1 <<<'qrsh -inherit $HOSTNAME true </dev/null || echo refused'
    [ "$output" = refused ]
}

@test "qdel ends a job and its tasks on all hosts" {
    qrsh_sleeper
    # its first tasks may run before it is said to do so
    wait_until 20 job_in r
    on n0 qdel "$(job)"
    wait_until 30 job_in gone
    wait_until 20 hosts_empty
    code=0
    job_wait || code=$?
    [ "$code" -eq 137 ]
}

@test "hosts left shows a job's processes, and gridengine_clean is their end" {
    qrsh_sleeper
    run -1 hosts left
    [[ $output == *sge_shepherd* && $output == *"n3: labuser "*" sleep 1000"* && $output != *sge_execd* ]]
    gridengine_clean
    job_in gone
}

@test "consumables: a job gets what it asks for, and not more than there is" {
    run -0 qsub_wait -l nvidia_gpu=3 <<<'echo ran'
    [ "$output" = ran ]
    run -1 on n0 qsub -w e -b y -l nvidia_gpu=5 true
    [[ $output == *"no suitable queues"* ]]
}

@test "settings of the queue and of a PE take effect, and go back" {
    printf '#!/bin/sh\necho started\nexec "$@"\n' >"$HOSTS_DIR/shared/starter"
    chmod 755 "$HOSTS_DIR/shared/starter"
    ge_set queue:starter_method="$HOSTS_DIR/shared/starter" pe.lab:allocation_rule='$fill_up'
    run -0 qsub_wait -pe lab 2 <<<'wc -l <"$PE_HOSTFILE"'
    [ "$output" = $'started\n1' ]
    ge_reset
    run -0 qsub_wait -pe lab 2 <<<'wc -l <"$PE_HOSTFILE"'
    [ "$output" = 2 ]
}

@test "h_rt ends a job; notify gives it time for a last word" {
    ge_set queue:h_rt=00:00:02 queue:notify=00:00:30
    run -137 qsub_wait <<<'sleep 1000'
    ge_reset
    qsub_start -notify <<<'trap "echo USR2; exit 5" USR2; echo ready; sleep 1000 & wait'
    wait_until 20 grep -q ready "$(job_out)"
    on n0 qdel "$(job)"
    code=0
    job_wait || code=$?
    [ "$code" -eq 5 ]
    grep -q USR2 "$(job_out)"
}

@test "the commands of share/gridengine/README.md lead to what the lab has" {
    load=$HOSTS_DIR/shared/load
    cp -r "$MPRUN_SOURCE/share/gridengine" "$load"
    # an environment and a queue that are not there yet
    sed -i 's/^pe_name .*/pe_name another/' "$load/pe/labsum"
    sed -i 's/^qname .*/qname all.q/; s/SLOTS/1/' "$load/queue"
    sed -n 's/^    //p' "$load/README.md" | sed 's/pe_list labsum/pe_list another/' >commands
    [ "$(grep -c qconf commands)" -eq 5 ]
    settings() { on_root n0 bash -c 'qconf -sconf; qconf -ssconf; qconf -sc'; }
    settings >before
    on_root n0 bash -e -c "cd '$load'; qconf -Aq queue; $(<commands)"
    [[ $(on n0 qconf -sq all.q) == *" another"* ]]
    settings | diff before -
    on_root n0 bash -e -c 'qconf -dq all.q; qconf -dp another'
}

@test "what cannot be set is said" {
    run -125 ge_set queue:no_such=1
    run -125 ge_set pe.none:slots=1
    [[ $output == *"none is not a parallel environment"* ]]
    run -125 ge_set slots=1
    [[ $output == *"'slots=1' is no OBJECT:NAME=VALUE"* ]]
}

@test "a change of the configuration has reached the execution daemons" {
    for first in 65200 65300; do
        ge_set configuration:gid_range=$first-$((first + 50))
        run -0 qsub_wait <<<'id -G'
        [[ " $output" == *" ${first:0:3}"* ]]
    done
    ge_reset
    run -0 qsub_wait <<<'id -G'
    [[ " $output" == *" 654"* ]]
}

# session_ends CODE COMMAND <PLAY
session_ends() {
    local play tries
    play=$(cat)
    for tries in 1 2 3; do
        # without "-now no" a busy queue is an error
        run on_terminal n0 "$2" -now no <<<"$play"
        code_is_lost || break
    done
    echo "$output"
    [ "$status" = "$1" ]
}

@test "qrsh and qlogin give a session on a host, with a terminal of the size of ours" {
    for command in qrsh qlogin; do
        session_ends 3 $command <<'EOF'
size 30 100
wait \$ $
type tty; hostname; stty size\n
wait ^/dev/pts/
wait ^n[123]
wait ^30 100
size 40 120
type until [ "$(stty size)" = "40 120" ]; do sleep 0.1; done; echo re"sized"; exit 3\n
wait ^resized
EOF
    done
}

@test "--rsh ssh: tasks and sessions are started by sshd" {
    own_lab --exec 2 --slots 1 --rsh ssh
    run -0 --separate-stderr qsub_wait -pe lab 2 <<'EOF'
echo "$SGE_RSH_COMMAND"
for host in n1 n2; do qrsh -inherit -noshell $host sh -c 'hostname; ps -e -o args= | grep -c "^sshd: labuser"; exit 4' </dev/null; done
echo $?
EOF
    [ "$output" = $'/usr/bin/ssh\nn1\n2\nn2\n2\n4' ]
    [[ $stderr != *"key"* ]]
    for command in qrsh qlogin; do
        session_ends 3 $command <<'EOF'
wait \$ $
type ps -e -o args= | grep -c "^sshd: labuser"; exit 3\n
wait ^2
EOF
    done
    wait_until 20 hosts_empty
}

@test "labs do not meet" {
    first=$HOSTS_DIR
    qsub_start <<<'echo first; sleep 1000'
    own_lab --exec 1 --slots 3
    [ -z "$(on n0 qstat -u '*')" ]
    [ "$(on n0 qstat -f | grep -c ' 0/0/3 ')" -eq 1 ]
    run -0 qsub_wait -pe lab 3 <<<'hostname; cat "$PE_HOSTFILE"'
    [ "$output" = $'n1\nn1 3 lab.q@n1 UNDEFINED' ]
    gridengine_teardown
    HOSTS_DIR=$first OWN_LAB=
    [ "$(on n0 qstat -u '*' | grep -c lab.q@)" -eq 1 ]
}

@test "up: says what is wrong, and leaves nothing" {
    export HOSTS_DIR=$TMPDIR/lab
    run -125 hosts up --slots none
    [[ $output == "gridengine: --slots 'none': 1 to 9999" ]]
    run -125 hosts up --exec 1 --set pe.lab:slots=many
    [[ $output == *"gridengine: qconf -Mp "*"many"* && $output == *"qmaster/messages: "*"starting up SGE"* ]]
    [ ! -e "$HOSTS_DIR" ]
    OWN_LAB=yes
}

@test "up: interrupted, it leaves nothing" {
    OWN_LAB=yes
    for moment in lab gridengine/cell gridengine/spool/execd/n1/execd.pid; do
        export HOSTS_DIR=$TMPDIR/lab
        "$MPRUN_SOURCE/tests/lab/gridengine" up "$HOSTS_DIR" --exec 1 >out 2>&1 3>&- &
        wait_until 30 test -e "$HOSTS_DIR/$moment"
        # a busy machine comes to look at the last one when all is up
        kill $! || { hosts down; continue; }
        code=0
        wait $! || code=$?
        [ "$code" -eq 130 ]
        [ ! -e "$HOSTS_DIR" ]
        run grep Killed out
        [ "$status" -eq 1 ]
    done
}

@test "down: the machine is as before, whatever runs" {
    own_lab --exec 1 --rsh ssh
    qsub_start <<<'setsid sleep 1000 & sleep 1000'
    wait_until 20 sleeping n1
    read -r switch _ <"$HOSTS_DIR/switch"
    space=$(readlink "/proc/$switch/ns/mnt")
    hold_space "/proc/$switch/ns/mnt"
    gridengine_teardown
    [ ! -e "$HOSTS_DIR" ]
    run grep -Fx "$space" <(readlink /proc/[0-9]*/ns/mnt 2>/dev/null)
    [ "$status" -eq 1 ]
    hosts_machine | diff "$BATS_FILE_TMPDIR/machine" -
}

@test "down: also when the daemons were killed, and a host" {
    own_lab --exec 2
    on_root n0 pkill -KILL sge_qmaster
    on_root n1 pkill -KILL sge_execd
    kill_host n2
    gridengine_teardown
    [ ! -e "$HOSTS_DIR" ]
    hosts_machine | diff "$BATS_FILE_TMPDIR/machine" -
}
