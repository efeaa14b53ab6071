#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# pbs.bats - mprun in jobs of PBS and Torque, whose pbs_mom is a stand-in (tests/lab/standin-mom), or with
# MPRUN_PBS=real in those of the PBS that is installed here (tests/lab/real-pbs)
load '../lib/mprun'
load '../lib/hosts'
load '../lib/pbs'

setup_file() {
    pbs_setup
    [ -n "${HOSTS_LACK:-}" ] || hosts sshd
}
teardown_file() { hosts_teardown; }
setup() { pbs_begin; }
teardown() { pbs_end; }

said() { grep -q "$1" "$(job_err)"; }
reported() { python3 -c 'import json, sys; u = json.load(open(sys.argv[1]))["usage"]; print(u["cpu_user_s"] + u["cpu_system_s"])' "$(job_dir)/report"; }

@test "without any option the ranks are on all lines of PBS_NODEFILE, one task of PBS on each host" {
    run -0 --separate-stderr qsub_wait n1:2,n2:2,n3 <<<'m hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 n3 " ]
    [ -z "$stderr" ]
    is_standin || return 0
    calls n1
    [ "$(calls n1 | grep -c '^spawn')" = 3 ]
    # the first line of each host
    [ "$(calls n1 | awk '/^spawn/ { print $2 }' | sort | tr '\n' ' ')" = "0 2 4 " ]
    [ "$(calls n1 | grep -c '^init')" = 1 ]
    for host in n2 n3; do [ "$(calls $host)" = "$(calls $host | grep '^getinfo')" ]; done
    # neither arguments nor environment have the key
    [ "$(calls n1 | grep -c "^spawn .*'MPRUN_TM_START=[0-9] 0 1 1 mprun-[0-9-]*'\]$")" = 3 ]
}

@test "--explain says what was found, with its sources" {
    run -0 qsub_wait n1:2,n2:2 <<<'mprun --explain hostname'
    echo "$output"
    [[ $output == *"adapter     pbs: this is job $(job) of PBS (PBS_JOBID, PBS_JOBCOOKIE, PBS_NODEFILE)"* ]]
    [[ $output == *"4 ranks on 2 hosts by slot: 2 slots each (PBS_NODEFILE)"* ]]
    [[ $output == *"started by pbs_mom, as a task on node 2: $MPRUN_BUILD/starter/mpstarter"* ]]
    run -125 on n0 env PBS_JOBID=1 "$MPRUN_BUILD/launcher/mprun" --explain -n 1 true
    [[ $output == *"'pbs' only: PBS_JOBCOOKIE is not set as in a job of PBS or Torque"* ]]
}

@test "environment, input, output and exit codes go as on one machine; --host chooses" {
    run -3 --separate-stderr qsub_wait n1:2,n2:2,n3 <<'END'
export GREETING="hello there"
echo line | m --stdin 4 sh -c '[ $MPRUN_RANK != 4 ] || cat'
m sh -c 'echo "$MPRUN_RANK $GREETING $PBS_JOBID ${MPRUN_TM_START-none}"' | sort -n | tail -n 1
m --host n3,n2:1 hostname | sort | tr '\n' ' '
m sh -c '[ $MPRUN_RANK != 4 ] || exit 3; sleep 60'
END
    [ "${lines[0]}" = line ]
    [ "${lines[1]}" = "4 hello there $(job) none" ]
    [ "${lines[2]}" = "n2 n3 " ]
    [[ $stderr == "mprun: rank 4 on n3 (pid "*") exited with code 3; the other ranks are ended" ]]
}

@test "qdel reaches the first host only: the ranks of all get TERM within a second" {
    step_start n1:2,n2:2,n3
    wait_until 20 ranks_have start 1 5
    qdel
    job_wait || true
    ranks_have TERM 1 5
    { ! is_standin || calls n1; } | cat "$BATS_TEST_TMPDIR/deleted" - | awk -v most="$(patience 1)" '/^delete / { deleted = $2 } /^[0-9]/ { if ($1 - deleted > most) exit 1; n++ }
        END { exit n != 5 }' - "$(job_dir)"/term.*
    cat "$(job_out)"
    said "^mprun: .*TERM"
}

@test "qdel ends the shell of a script that does not wait; the ranks still have time to save their state" {
    cat >"$HOSTS_DIR/shared/saves" <<'END'
#!/bin/sh
trap 'sleep 1; >saved.$MPRUN_RANK; exit' TERM
>begun.$MPRUN_RANK
while :; do sleep 0.1; done
END
    chmod 755 "$HOSTS_DIR/shared/saves"
    qsub_start n1:2,n2:2,n3 <<<"m --pmi none $HOSTS_DIR/shared/saves"
    wait_until 20 eval '[ "$(ls "$(job_dir)"/begun.* 2>/dev/null | wc -l)" = 5 ]'
    qdel
    job_wait || true
    # the shell that was logged in for the job dies, or says first how the script has died
    [[ $(<"$(job_dir)/exit") == @(271|143) ]]
    [ "$(ls "$(job_dir)"/saved.* | wc -l)" = 5 ]
    sweep_up
}

@test "the article's tight example: PBS has the CPU time of the ranks in its books" {
    cp "$(mpi_program spin none)" "$HOSTS_DIR/shared/spin"
    run -0 qsub_wait n1:2,n2:2 <<<"m --report-json report $HOSTS_DIR/shared/spin 1"
    cat "$(job_dir)"/cput.*
    # a real one takes samples, and never sees the last piece
    is_standin || { awk '{ exit !($1 >= 2) }' "$(job_dir)/cput.all" && return; }
    # the host of the script has mprun's as well
    awk -v r="$(reported)" '{ sum += $1 } END { exit !(r >= 4 && sum > r * 0.98 && sum < r * 1.02 + 0.3) }' "$(job_dir)"/cput.*
    awk '{ exit !($1 >= 1.98) }' "$(job_dir)/cput.n2"
}

@test "the article's loose example, by ssh with a list of hosts: the same work, and nearly nothing of it in PBS's books" {
    cp "$(mpi_program spin none)" "$HOSTS_DIR/shared/spin"
    run -0 --separate-stderr qsub_wait n1,n2:2,n3 <<EOF
tail -n +2 \$PBS_NODEFILE >hosts
mprun --containment=tree --rm ssh -np 3 -m hosts --report-json report $HOSTS_DIR/shared/spin 2
EOF
    [[ $stderr == *"no resource manager accounts for what runs there"* ]]
    cat "$(job_dir)"/cput.*
    # what there is, is mprun's and ssh's own time on the job's host
    awk -v r="$(reported)" '{ sum += $1 } END { exit !(r >= 6 && sum < r / 10) }' "$(job_dir)"/cput.*
}

@test "the article's third example: nine ranks in a session with little memory; PBS ends them, and says which amount exceeded which limit" {
    cat >"$HOSTS_DIR/shared/memtest" <<'EOF'
#!/usr/bin/perl
use Sys::Hostname;
$| = 1;
printf "Rank %d on %s: allocating %d Mbytes\n", $ENV{MPRUN_RANK}, hostname(), $ARGV[0];
$memory = "x" x ($ARGV[0] << 20);
sleep 600;
EOF
    chmod 755 "$HOSTS_DIR/shared/memtest"
    # with the starter, mprun and the shell; the article's 30 MB are of another time
    run qsub_terminal n1:3:mem=80mb,n2:3:mem=80mb,n3:3:mem=80mb <<PLAY
type PATH=$MPRUN_BUILD/launcher:$HOSTS_DIR/shared:\$PATH\r
wait [$] $
type mprun --containment=tree -np 9 memtest 40\r
wait Rank \d on n[123]: allocating 40 Mbytes
wait =>> PBS: job killed: mem \d+kb exceeded limit 81920kb
PLAY
    echo "$output"
    wait_until 30 test -e "$(job_dir)/exit"
    for host in n1 n2 n3; do [ -z "$(on_root $host pgrep -u labuser)" ]; done
}

@test "a starter that cannot be executed, one that is killed, and mprun killed" {
    run -125 --separate-stderr qsub_wait n1:2,n2:2 <<<'m --prefix /opt/none true'
    echo "$stderr"
    [[ $stderr == *"host n"*": pbs_mom ended with code 254 before mpstarter reported back: PBS could not execute it there; install mprun in the same place on all hosts"* ]]
    step_start n1:2,n2:2,n3
    wait_until 20 ranks_have start 1 5
    on_root n3 pkill -KILL -x mpstarter
    job_wait
    cat "$(job_err)"
    said "n3.*\(keeper\|its task of pbs_mom was killed by signal 9\)"
    [ "$(<"$(job_out)")" = "code 125" ]
    step_start n1:2,n2:2,n3
    wait_until 20 ranks_have start 1 5
    on_root n1 pkill -KILL -x mprun
    job_wait
    [ "$(<"$(job_out)")" = "code 137" ]
    sweep_up
}

@test "answers of pbs_mom that are errors, and a connection that is closed" {
    run -125 --separate-stderr qsub_wait n1:2,n2:2 <<<'PBS_JOBCOOKIE=wrong m true'
    echo "$stderr"
    [[ $stderr == *"pbs_mom has closed the connection: it does so where the job is over, or PBS_JOBID and PBS_JOBCOOKIE are not of one job"* ]]
    run -125 --separate-stderr qsub_wait n1 <<<'PBS_TASKNUM=7 m true'
    [[ $stderr == *"pbs_mom refuses to serve the job: error 17006, not found"* ]]
    run -125 --separate-stderr qsub_wait n1 <<<'PBS_MOMPORT=15004 m true'
    [[ $stderr == *"connect to pbs_mom at 127.0.0.1, port 15004 (PBS_MOMPORT): Connection refused"* ]]
    run -125 --separate-stderr qsub_wait n1:2,n2:2 <<<'uniq $PBS_NODEFILE nodes; PBS_NODEFILE=nodes m true'
    [[ $stderr == *"pbs_mom counts 4 nodes in the job, and PBS_NODEFILE has 2 lines: "* ]]
    is_standin || return 0
    fault n1 refuse spawn 17000
    run -125 --separate-stderr qsub_wait n1:2,n2:2 <<<'m true'
    echo "$stderr"
    [[ $stderr == *"start the starter of host 'n1': pbs_mom starts no task there: error 17000, system error"* ]]
    # a starter has reported back before mprun is told that it was started, and waits for another one
    fault n1 late spawn 1000
    fault n2 late getinfo 2000
    run -0 qsub_wait n1:2,n2:2 <<<'m --pmi none hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 " ]
    # as one that has ended: before the starters have reported, or after that
    fault n1 close obit
    run --separate-stderr qsub_wait n1 <<<'m --pmi none true'
    echo "$stderr"
    [[ $stderr == "mprun: "*": pbs_mom has closed the connection: it has ended, or the job is over"* ]]
}

# beside NODES <SCRIPT: as qsub_wait, in the background; its code and output in files named after the first host
beside() {
    local name=${1%%[:,]*} code=0
    mkdir "$BATS_TEST_TMPDIR/$name"
    BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR/$name qsub_wait "$1" >"$TMPDIR/$name.out" 2>&1 || code=$?
    echo "code $code" >>"$TMPDIR/$name.out"
}

@test "answers of pbs_mom that never come: each is named, and none is waited for without end" {
    needs_standin
    fault n1 lose spawn
    fault n2 lose postinfo
    fault n3 lose init
    fault n3 lose obit
    beside n1:2,n2:2 <<<'m true' 3>&- &
    beside n2 <<<'m true' 3>&- &
    beside n3:2 <<<'m -v echo here' 3>&- &
    wait
    cat "$TMPDIR"/n?.out
    [[ $(<"$TMPDIR/n1.out") == *"start the starter of host 'n1': pbs_mom gives no answer to the request for a task there"*"code 125" ]]
    [[ $(<"$TMPDIR/n2.out") == *"start the starters by pbs_mom: pbs_mom gives no answer"*"code 125" ]]
    # both dialects met silence: the first one was right; and the end of a task is never told
    [[ $(<"$TMPDIR/n3.out") == *"code 0" ]]
    [[ $(<"$TMPDIR/n3.out") == *"it is asked without packets"*"it is asked once more"* ]]
    [ "$(grep -cx here "$TMPDIR/n3.out")" = 2 ]
    fault n2 lose getinfo
    run -125 --separate-stderr qsub_wait n1:2,n2:2 <<<'m true'
    echo "$stderr"
    [[ $stderr == *"mpstarter: on n2: ask pbs_mom for the start parameters: pbs_mom gives no answer"* ]]
    [[ $stderr == *"mprun: host n2: pbs_mom ended with code 125 before mpstarter reported back"* ]]
}

@test "several steps of a job at once; MPI programs on all hosts" {
    run -0 --separate-stderr qsub_wait n1:2,n2:2,n3 <<'END'
m hostname & m hostname & m hostname & wait
END
    [ "$(sort <<<"$output" | uniq -c | tr -s ' ' | tr '\n' ,)" = " 6 n1, 6 n2, 3 n3," ]
    [ -x "$MPRUN_BUILD/tests/system/mpi-probe" ] || return 0
    run -0 qsub_wait n1,n2 <<<"m $MPRUN_BUILD/tests/system/mpi-probe hello"
    [ "$(grep -c 'rank [01] size 2 .* sum 3$' <<<"$output")" = 2 ]
}

# sessions NODE: of the tasks of jobs there that have not ended, one a line, from pbs_mom's files
sessions() {
    local file
    for file in "$HOSTS_DIR/pbs/home/$1/mom_priv/jobs"/*.TK/*; do
        # its last 19 numbers: state, session, end, room for 16
        set -- $(tail -c 76 "$file" | od -An -v -w76 -t d4)
        [ "${1:-2}" != 1 ] || echo "$2"
    done
}

@test "sessions that ranks have of their own PBS gets to know: with a terminal, and by setsid" {
    # until both are in the books
    cat >"$HOSTS_DIR/shared/leave" <<'END'
#!/bin/sh
[ "$MPRUN_RANK" != 2 ] || exec setsid --fork --wait sh -c 'echo $$ >left; until [ -e go ]; do sleep 0.1; done'
until [ -e go ]; do sleep 0.1; done
END
    chmod 755 "$HOSTS_DIR/shared/leave"
    qsub_start n1,n2:2 <<<"m --pmi none --pty $HOSTS_DIR/shared/leave"
    wait_until 20 test -s "$(job_dir)/left"
    wait_until 20 eval 'sessions n2 | grep -qx "$(<"$(job_dir)/left")"'
    # the script, the starter, and the terminal's; the starter, and the other: once each
    wait_until 20 eval '[ "$(sessions n1 | sort -u | wc -l)" = 3 ]'
    [ "$(sessions n1 | wc -l) $(sessions n2 | wc -l)" = "3 2" ]
    on n0 touch "$(job_dir)/go"
    job_wait
    [ ! -s "$(job_err)" ]
    is_standin || return 0

    fault n1 refuse attach 17009
    run -0 --separate-stderr qsub_wait n1 <<<'m --pmi none setsid --fork --wait sleep 1'
    [[ $stderr == *"have pbs_mom count the session of process "*": error 17009, user not permitted; processes that ranks put into sessions"* ]]
}

@test "qsub -I: ^C, ^Z and fg, input of rank 0, --pty with the size of the terminal, and when that changes" {
    run -0 qsub_terminal n1:2,n2 <<'PLAY'
type $M -q sh -c '[ $MPRUN_RANK = 0 ] || exit 0; echo rea\\dy; read x; echo in\\put $x $PBS_ENVIRONMENT'; echo co\\de $?\r
wait ready
type word\r
wait input word PBS_INTERACTIVE
wait code 0
type $M -q --pty -n 1 sh -c 'stty size; tty'; echo co\\de $?\r
wait 24 80
wait /dev/pts/
wait code 0
type cd $PBS_O_WORKDIR; (until [ -e here ]; do sleep 0.1; done; stty rows 30 columns 90) &\r
type $M -q --pty -n 1 sh -c 'trap "stty size; exit" WINCH; >here; while :; do sleep 0.1; done'; echo co\\de $?\r
wait 30 90
wait code 0
type $M --pmi none sh -c 'trap "echo conti\\nued" CONT; echo be\\gin; while :; do sleep 0.1; done'\r
wait begin[^!]*begin[^!]*begin
type \x1a
wait Stopped
type fg\r
wait continued[^!]*continued[^!]*continued
end received SIGINT
wait [$] $
type $M --pmi none sh -c 'echo beg\\un; exec sleep 1000'; echo co\\de $?\r
wait begun[^!]*begun[^!]*begun
end code 130
PLAY
    echo "$output"
}

@test "mprun in a task on another host of the job, where lines and hosts are counted differently" {
    if ! is_standin; then
        run -0 qsub_wait n1:2,n2:2,n3 <<EOF
$("$MPRUN_SOURCE/tests/lab/real-pbs" where)/bin/pbs_tmrsh n2 sh -c "$MPRUN_BUILD/launcher/mprun --containment=tree hostname >\$PWD/hosts"
cat hosts
EOF
        [ "$(sorted)" = "n1 n1 n2 n2 n3 " ]
        return
    fi
    qsub_start n1:2,n2:2,n3 <<<'env | grep ^PBS >env; m --pmi none sh -c "until [ -e go ]; do sleep 0.1; done"'
    wait_until 20 eval 'calls n1 2>/dev/null | grep -q "^obit 2 "'
    task=$(calls n1 | sed -n 's/^obit 2 //p')
    mapfile -t env < <(grep -v '^PBS_NODENUM=\|^PBS_TASKNUM=' "$(job_dir)/env")
    run -0 on n2 env "${env[@]}" PBS_NODENUM=1 PBS_TASKNUM="$(printf %08X "$task")" "$MPRUN_BUILD/launcher/mprun" \
        --containment=tree hostname
    [ "$(sorted)" = "n1 n1 n2 n2 n3 " ]
    calls n2 | grep -q '^spawn 4 .*=2 2 '
    on n0 touch "$(job_dir)/go"
    job_wait
}

# other FLAVOUR: a step of a job there
other() {
    local HOSTS_DIR
    hosts_setup_other "$1"
    # a step beside another one
    run -0 --separate-stderr qsub_wait n1:2,n2 <<'END'
m --pmi none sh -c '>begun.$MPRUN_RANK; until [ -e go ]; do sleep 0.1; done' &
until [ -e begun.0 ]; do sleep 0.1; done
m hostname
m --explain true | grep ^adapter
>go
wait
END
    echo "$output$stderr"
    [ "$1" != torque ] || ! calls n1 | grep '^postinfo' || false
    [ "$(head -n 3 <<<"$output" | sort | tr '\n' ' ')" = "n1 n1 n2 " ]
    [ -z "$stderr" ]
    hosts down
}
hosts_setup_other() {
    HOSTS_DIR=$(mktemp -d "${MPRUN_TEST_BASE:-/tmp}/mph.XXXXXX") &&
        hosts up --nodes 2 --flavour "$1" --expose "$MPRUN_SOURCE" --expose "$MPRUN_BUILD"
}

@test "Torque: no packets, numbers of tasks in decimal, and a second step's connection is that of other tasks" {
    needs_standin
    other torque
    [[ $output == *"of Torque"* ]]
    rm "$BATS_TEST_TMPDIR/job"
}

@test "a pbs_mom of before version 20, which knows no packets" {
    needs_standin
    other plain
    [[ $output == *"of PBS"* ]]
    rm "$BATS_TEST_TMPDIR/job"
}

@test "the same with a real PBS, where one is installed" {
    needs_standin
    "$MPRUN_SOURCE/tests/lab/real-pbs" where >/dev/null || skip "no PBS is installed here; Debian has none"
    MPRUN_PBS=real bats --timing "$BATS_TEST_FILENAME" "$MPRUN_SOURCE/tests/system/mprund-pbs.bats"
}

@test "the job's agents: a task of PBS on each host for all steps; they keep no job from ending, and PBS has its books" {
    cp "$(mpi_program spin none)" "$HOSTS_DIR/shared/spin"
    run -0 --separate-stderr qsub_wait n1:2,n2:2,n3 <<'END'
k() { m --pmi none --keep=job "$@"; }
for i in 1 2 3; do k hostname | sort | tr '\n' ' '; done; echo
k --host n2:1 sh -c 'exit 7'; echo $?
date +%s%N >script-end
END
    echo "$output $stderr"
    [ "${lines[0]} ${lines[1]}" = "n1 n1 n2 n2 n3 n1 n1 n2 n2 n3 n1 n1 n2 n2 n3  7" ]
    [ $((($(date +%s%N) - $(<"$(job_dir)/script-end")) / 1000000)) -lt $((3000 * $(patience 1))) ]
    for host in n1 n2 n3; do wait_until 20 eval '[ -z "$(on_root $host pgrep -u labuser)" ]'; done
    if is_standin; then
        [ "$(calls n1 | grep -c '^spawn')" = 3 ]
        [ "$(calls n1 | grep -c '^init')" = 1 ]
    fi
    # the agents have had all ranks; they have to end before the script does to be counted for certain
    run -0 qsub_wait n1:2,n2:2 <<<"m --keep=job --pmi none --report-json report $HOSTS_DIR/shared/spin 1; $MPRUN_BUILD/tools/mprctl down"
    cat "$(job_dir)"/cput.*
    is_standin || return 0
    awk '{ exit !($1 >= 1.98) }' "$(job_dir)/cput.n2"
}

@test "the job's agents under PBS: hosts that come later, many steps at once, an agent and the holder killed, qdel" {
    run -0 qsub_wait n1,n2,n3 < <(echo "down() { $MPRUN_BUILD/tools/mprctl down; }" && cat <<'END'
k() { m --pmi none --keep=job "$@"; }
k --host n3 hostname
k hostname | sort | tr '\n' ' '
k -v hostname 2>&1 >/dev/null | grep -c 'agent there forks'
for i in $(seq 10); do k --overlap hostname & done | wc -l; wait
kill -9 $(pgrep -u labuser -x mprun-holder); k hostname | wc -l
k sh -c 'echo >>began; sleep 60' 2>said & p=$!
until [ "$(cat began 2>/dev/null | wc -l)" = 3 ]; do sleep .1; done
kill -9 $(pgrep -u labuser -xo mprun-agent); wait $p && echo "code 0"; grep -q n1 said && echo named
k hostname | wc -l
down; m --pmi none --keep=no hostname | wc -l
END
    )
    echo "$output"
    [ "$output" = $'n3\nn1 n2 n3 3\n30\n3\nnamed\n3\n3' ]
    qsub_start n1,n2,n3 <<<'m --pmi none --keep=job true; m --pmi none --keep=job sh -c "echo >>began; sleep 60"'
    wait_until 20 eval '[ "$(cat "$(job_dir)/began" 2>/dev/null | wc -l)" = 3 ]'
    qdel
    job_wait || true
    for host in n1 n2 n3; do wait_until 20 eval '[ -z "$(on_root $host pgrep -u labuser)" ]'; done
}
