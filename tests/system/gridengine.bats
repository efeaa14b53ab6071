#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine.bats - mprun in jobs of a real Grid Engine: what it takes from the job, how it starts on
# the job's hosts, how hosts start others, and several steps at once
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup; }
teardown_file() { gridengine_teardown; }
setup() { gridengine_begin; }
teardown() { gridengine_end; }

@test "without any option the ranks are on all slots of the job's hosts" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<<'m hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
    [ -z "$stderr" ]
    [ "$(job_records | wc -l)" -eq 4 ] # the script's, and one for each host's starter
    run -0 --separate-stderr qsub_wait -pe labfill 3 <<'EOF'
cut -d ' ' -f 1,2 "$PE_HOSTFILE" | while read -r host n; do
    for ((i = 0; i < n; i++)); do echo "$host"; done
done | sort >wanted
m hostname | sort | diff wanted - && echo same
EOF
    [ "$output" = same ]
    [ -z "$stderr" ]
}

@test "an administrator's --self-test: starts, cores, books and cleanup on all hosts; one without mprun is named" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<<'mprun --prefix /opt/none --self-test; echo $?; mprun --self-test'
    echo "$output"
    [[ ${lines[0]} == "starts   FAILED   host n"*": No such file or directory; install mprun in the same place on all hosts"* ]]
    [ "${lines[7]}" = 1 ]
    [[ ${lines[8]} == "starts   ok       6 ranks run after "*" s on n1 n2 n3" ]]
    [[ ${lines[9]} == "cores    ok "* || $(usable_cores) != 2 ]]
    [[ ${lines[10]} == "books    ok "*"(compare 'qacct -j $(job)' after the job)" ]]
    [[ ${lines[12]} == "cleanup  ok "*" n1 n2 n3" ]]
    [ -z "$stderr" ]
}

@test "each host is started by the job's qrsh, and --explain says all that with its sources" {
    run -0 qsub_wait -pe lab 6 <<<'mprun --explain hostname'
    echo "$output"
    [[ $output == *"adapter     gridengine: this is job $(job) of Grid Engine (JOB_ID, SGE_TASK_ID, PE_HOSTFILE)"* ]]
    [[ $output == *"6 ranks on 3 hosts by slot: 2 slots each (PE_HOSTFILE)"* ]]
    # the advice on cgroups is none that leads out of the job
    [ "$(grep -c "containment 'rm': rm:gid: .* with mprund$" <<<"$output")" = 3 ]
    [[ $output != *systemd-run* ]]
    for host in n1 n2 n3; do
        grep -Eq "^host  *$host: 2 slots \(PE_HOSTFILE line [123]\)" <<<"$output"
        grep -q "started by /[^ ]*/qrsh -inherit -noshell $host $MPRUN_BUILD/starter/mpstarter" <<<"$output"
    done
}

@test "ranks are bound to the cores that the job was granted" {
    needs_cores 2
    run -0 --separate-stderr qsub_wait -pe lab 3 -binding pe linear:1 <<'EOF'
cut -d ' ' -f 4 "$PE_HOSTFILE" | sort -u
m --explain true | grep -o 'cores 0,0 as socket,core (PE_HOSTFILE column 4)' | sort -u
m grep Cpus_allowed_list /proc/self/status | sort | uniq -c | tr -s ' \t' ' '
EOF
    [ "${lines[0]}" = 0,0 ]
    [ "${lines[1]}" = "cores 0,0 as socket,core (PE_HOSTFILE column 4)" ]
    [ "${lines[2]}" = " 3 Cpus_allowed_list: $(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" ]
    # one of a host's cores, and nobody says which
    run -0 qsub_wait -pe lab1 3 <<'EOF'
mprun --explain true | grep -o 'not bound: which 1 of .*'
mprun -v true 2>&1 | grep -o 'not bound: which 1 of .*'
mprun -v --bind-to core true 2>&1 | grep -o 'bound to cores: 1 rank'
EOF
    [ "$(grep -c '^not bound: which 1 of [0-9]* cores the job has was not said$' <<<"$output")" = 6 ]
    [ "$(grep -c '^bound to cores: 1 rank$' <<<"$output")" = 3 ]
    # it is what the job has that counts, not how much of it a step takes
    [ "$(usable_cores)" = 2 ] || return 0
    run -0 qsub_wait -pe lab 6 <<<'mprun -v --host "$(hostname):1" true'
    [[ $output == *"bound to cores: 1 rank, 2 cores"* ]]
}

@test "more ranks than slots: the arithmetic and the way out" {
    run -125 --separate-stderr qsub_wait -pe lab 4 <<<'m -np 7 hostname'
    [ -z "$output" ]
    [ "$stderr" = "mprun: place 7 ranks: 3 hosts have 4 slots (PE_HOSTFILE), 3 too few; ask for at most 4 ranks, submit the job with 'qsub -pe lab 7', or allow more ranks than slots with --oversubscribe" ]
    run -0 qsub_wait -pe lab 4 <<<'m -np 7 --oversubscribe -q hostname | wc -l'
    [ "$output" = 7 ]
}

@test "-m FILE as in the article; --host chooses; a host that the job does not have is named" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<<'m -np 6 -m "$PE_HOSTFILE" hostname; m --host "$(hostname):1" hostname | grep -cx "$(hostname)"'
    [ "$(sorted)" = "1 n1 n1 n2 n2 n3 n3 " ]
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<'m -machinefile "$TMPDIR/machines" hostname; m --host n1,n0 hostname'
    [[ $stderr == *"read host file '/tmp/$(job).1.lab.q/machines': No such file or directory; without it mprun uses the hosts of the job"* ]]
    [[ $stderr == *"'n0' is no host of job $(job)"* ]]
}

@test "a job without a parallel environment, and each task of an array, has its host and its slots" {
    run -0 --separate-stderr qsub_wait <<<'[ "$(m hostname)" = "$(hostname)" ] && m --explain true | head -n 1'
    [[ $output == *"gridengine: this is job $(job) of Grid Engine"*"no PE_HOSTFILE)" ]]
    run -0 --separate-stderr qsub_wait -pe lab 2 -t 1-2 <<<'m sh -c "echo \$SGE_TASK_ID.\$MPRUN_RANK"'
    [ "$(sorted)" = "1.0 1.1 2.0 2.1 " ]
}

@test "job_is_first_task with one slot on the host of the job: what qrsh refuses is forked" {
    run -0 --separate-stderr qsub_wait -pe labjft 3 <<<'m hostname; m --transport=stdio hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
    [ -z "$stderr" ]
    run -0 --separate-stderr qsub_wait -pe labjft 6 <<<'m hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
}

@test "a command that qrsh runs at once is a job, too" {
    run -0 --separate-stderr on n0 qrsh -now no -pe lab 6 "$MPRUN_BUILD/launcher/mprun" --containment=tree hostname
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
}

# Prints those of its words that the network of its host carried before the last one.
LISTENER='
import socket, sys
words, heard = [w.encode() for w in sys.argv[1:]], set()
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 27) # SO_RCVBUFFORCE
print("listens", flush=True)
while words[-1] not in heard:
    packet = s.recv(1 << 17)
    heard.update(w for w in words if w in packet)
print(sorted(w.decode() for w in heard))
'

@test "through the start channel alone, with more input and output than qrsh takes before the start; a listener hears the key there, and nothing of the step" {
    HOSTS_TEST_LIMIT=120 on_root n1 python3 -c "$LISTENER" mprun-start-1 "of the st0ep" "that is all" >"$TMPDIR/heard" 3>&- &
    local listener=$!
    wait_until 10 test -s "$TMPDIR/heard"
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'EOF'
head -c 3000000 /dev/urandom >input
mprun --containment=tree --transport=stdio --stdin 5 sh -c 'if [ $MPRUN_RANK = 5 ]; then cat; fi' <input >output
cmp input output && echo same
for transport in stdio tcp; do # the script goes through the network in clear
    m --transport=$transport sh -c 'for i in $(seq 99); do echo of the st$((0))ep; done' | grep -c 'st.ep'
done
EOF
    [ "$(sorted)" = "594 594 same " ]
    on n0 bash -c 'echo that is all >/dev/udp/n1/9'
    wait $listener
    cat "$TMPDIR/heard"
    [ "$(tail -n 1 "$TMPDIR/heard")" = "['mprun-start-1', 'that is all']" ]
}

@test "ranks have the job's variables, not those of a task, and their host's directory of the job" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'EOF'
export MINE='a b'
m sh -c 'echo "$NSLOTS $NHOSTS ${JOB_SCRIPT##*/} $MINE ${QRSH_COMMAND:-none}"; [ -O "$TMPDIR" ] && >"$TMPDIR/of-rank" || echo no TMPDIR' |
    sort -u
[ -e "$TMPDIR/of-rank" ] && echo "in the job's directory"
EOF
    [ "${lines[0]}" = "6 3 $(job) a b none" ]
    [ "${lines[1]}" = "in the job's directory" ]
    [ "${#lines[@]}" = 2 ]
}

@test "exit codes; a failed rank takes down the step but not the job" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'EOF'
m sh -c '[ $MPRUN_RANK != 5 ] || exit 7; sleep 60'
echo $?
m sh -c '[ $MPRUN_RANK != 3 ] || kill -SEGV $$; sleep 60'
echo $?
m sh -c '[ $MPRUN_RANK != 0 ] || kill -KILL $$; sleep 60'
echo $?
m ./nothing
echo $?
EOF
    [ "$output" = $'7\n139\n137\n127' ]
    [[ $stderr == *"rank 5 on n"*"exited with code 7"*"rank 3 on n"*"signal 11"*"rank 0 on n"*"signal 9"* ]]
    [ "$(job_records 12 | sort -u)" = 0 ] # nothing has failed as the manager sees it
}

@test "variables that strayed out of a job make none, and --rm decides" {
    run -0 --separate-stderr on n0 env JOB_ID=1 "$MPRUN" --containment=tree -n 1 hostname
    [ "$output" = n0 ]
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'EOF'
m --rm local -n 1 hostname | grep -cx "$(hostname)"
PE_HOSTFILE=/nowhere m --explain -n 1 true 2>&1 | head -n 1
EOF
    [ "${lines[0]}" = 1 ]
    [[ ${lines[1]} == "mprun: this is part of a job of 'gridengine' only: PE_HOSTFILE '/nowhere' is not there: job $(job) is over, or on another host; name them with --host or "* ]]
    run -125 --separate-stderr on n0 "$MPRUN" --rm gridengine true
    [[ $stderr == *"JOB_ID is not set as in a job of Grid Engine"* ]]
}

@test "hosts that have their starters start the others: all run, the manager counts all, a further step has their agents" {
    # without `mprctl down` the job's end mostly takes the record of the first host, whose task ends last
    run -0 --separate-stderr qsub_wait -pe lab 6 <<JOB
m --fanout 1 --start-tree 1 --keep=job -v hostname
m --fanout 1 --start-tree 1 -v true 2>second
$MPRUN_BUILD/tools/mprctl down
JOB
    [ "$(grep -c "agent there forks the starter" "$(job_dir)/second")" = 3 ]
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
    [ "$(grep -c 'host n[123]: started from host n[123]' <<<"$stderr")" = 2 ]
    [ "$(job_records 42 | grep -c '^[0-9]')" = 3 ]
    [ "$(job_records 12 | sort -u)" = 0 ]
}

@test "the job's agents: the next steps need no qrsh, the job ends with its script, no task has failed" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'JOB'
for i in 1 2 3; do mprun -v --keep=job hostname 2>>said; done
mprun --keep=job --report-json report perl -e 'for (1 .. 3e6) { $x += $_ }'
date +%s.%N >over
JOB
    [ "$(sorted)" = "$(for i in 1 2 3; do for h in n1 n2 n3; do printf "$h $h "; done; done | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')" ]
    [ "$(grep -c "the job's agent there forks the starter" "$(job_dir)/said")" = 6 ]
    [ "$(job_records 12 13 | sort -u)" = "0 0" ]
    nothing_left
}

wait_for_a_step() {
    mprun --wait-cores -n 4 hostname >hosts 2>said &
    until grep -qs "waits for cores" said || [ ! -d /proc/$! ]; do sleep 0.1; done
    [ -e over ] || echo waits
    touch over
    wait $!
    echo "code $?"
    wc -l <hosts
    "$1" down
}

@test "an mprun that a rank starts on another host has its starters from the job's agents" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'JOB'
m --keep=job true
m --keep=job --host n3 -n 1 bash -c '
    hostname
    mprun -v --npernode 1 hostname 2>inner
    echo "code $?"
    mprun --npernode 1 sh -c "[ \$MPRUN_RANK != 2 ] || exit 9" 2>/dev/null
    echo "code $?"'
JOB
    printf '%s\n' "$output" "$stderr"
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "code 0 code 9 n1 n2 n3 n3 " ]
    [ "$(grep -c "host n[123]: the job's agent there forks the starter" "$(job_dir)/inner")" = 3 ]
    [ "$(job_records 12 | sort -u)" = 0 ]
    nothing_left
}

@test "an mprun on another host waits for cores that the script's mprun has; mprctl down there ends the agents" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<JOB
$(declare -f wait_for_a_step)
export -f wait_for_a_step
m --keep=job --wait-cores sh -c 'echo >>began; until [ -e over ]; do sleep 0.1; done' &
until [ "\$(cat began | wc -l)" = 6 ]; do sleep 0.1; done 2>/dev/null
m --oversubscribe --host n3 -n 1 bash -c "wait_for_a_step $MPRUN_BUILD/tools/mprctl"
wait
JOB
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "waits
code 0
4
job gridengine-$(job): 3 agents end with the steps that run there" ]
    [ "$(job_records 42 | grep -c '^1[.]n[123]$')" = 3 ]
    [ "$(job_records 12 | sort -u)" = 0 ]
    nothing_left
}

# names.sh of the hosts: `here WORDS...` is a step of pmix-probe names on the script's host, `there WORDS...` one of an
# mprun that a rank starts on another host; $M is an option of all
names_setup() {
    NAMES=$HOSTS_DIR/shared/names.sh
    printf 'probe=%q\n' "$MPRUN_BUILD/tests/system/pmix-probe" >"$NAMES"
    cat >>"$NAMES" <<'END'
quiet() { mprun --quiet --oversubscribe ${M:-} "$@"; }
elsewhere() {
    local host
    host=$(awk -v here="$HOSTNAME" '$1 != here { print $1; exit }' "$PE_HOSTFILE")
    quiet --host "$host" -n 1 bash -c '. "$0" && "$@"' "${BASH_SOURCE[0]}" "$@"
}
here() { quiet -n 1 "$probe" names "$@"; }
there() { elsewhere here "$@"; }
await() { until [ -e "$1" ]; do sleep 0.1; done; }
kills() {
    mprun --quiet --oversubscribe -n 1 "$probe" names "$@" &
    await kill
    kill -9 $!
    wait $!
}
END
}

@test "names: a step of the script's host and one of an mprun on another host find what the other publishes, whoever is there first" {
    names_setup
    run -0 --separate-stderr qsub_wait -pe lab 6 <<JOB
. "$NAMES"
here +old=OLD /begun ^published ?young ?nothing @waited >1 &
await begun
there ?old ?nothing +young=YOUNG /published @old +waited=W ^end >2 &
wait %1
here ?young ?old @waited >3
touch end
wait
rm begun published end
there +old=OLD /begun ^published ?young ?nothing @waited >4 &
await begun
here ?old ?nothing +young=YOUNG /published @old +waited=W ^end >5 &
wait %1
touch end
wait
cat 1 2 3 4 5
JOB
    printf '%s\n' "$output" "$stderr"
    local old="young: SUCCESS YOUNG
nothing: NOT-FOUND
waited: SUCCESS W" young="old: SUCCESS OLD
nothing: NOT-FOUND
old: SUCCESS OLD"
    [ "$output" = "$old
$young
young: SUCCESS YOUNG
old: NOT-FOUND
waited: SUCCESS W
$old
$young" ]
    nothing_left
}

@test "names: a lookup waits on when the mprun on another host that was asked is killed; without agents none there is asked" {
    names_setup
    run -0 --separate-stderr qsub_wait -pe lab 6 <<JOB
. "$NAMES"
here +old=OLD @late >1 &
elsewhere kills @old +young=YOUNG /published @never >2 &
await published
here ?young
touch kill
wait %2
here ?young
there +late=LATE ^end &
wait %1
touch end
wait
rm published end
cat 1 2
while pgrep -f "mpstarter --hold" >/dev/null; do sleep 0.1; done # the starter of the one that was killed has agents
export M=--keep=no
here +old=OLD /published ^end &
await published
there ?old
touch end
wait
JOB
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "young: SUCCESS YOUNG
young: NOT-FOUND
late: SUCCESS LATE
old: SUCCESS OLD
old: NOT-FOUND" ]
    nothing_left
}

@test "names: MPI programs of the script's mprun and of one on another host meet at a published port" {
    needs_mpicc
    names_setup
    cp "$(mpi_program meet)" "$HOSTS_DIR/shared/meet"
    run -0 --separate-stderr qsub_wait -pe lab 6 <<JOB
. "$NAMES"
export OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1
step() { quiet --npernode 1 "$HOSTS_DIR/shared/meet" "\$@"; }
export -f step
step accept here >1 &
until grep -q open 1 || [ ! -d /proc/\$! ]; do sleep 0.1; done
elsewhere step connect here
wait %1
elsewhere step accept here >2 &
until grep -q open 2 || [ ! -d /proc/\$! ]; do sleep 0.1; done
step connect here
wait %1
cat 1 2
JOB
    printf '%s\n' "$output" "$stderr"
    [ "$(grep -c '^rank . of 3 met 3, all 6$' <<<"$output")" -eq 12 ]
    [ "$(grep -c '^rank .: parted$' <<<"$output")" -eq 12 ]
    nothing_left
}

@test "several mprun at once: one task on each host, whose agent has the starters of all of them" {
    run -0 --separate-stderr qsub_wait -pe lab1 3 <<'JOB'
hold='echo begun >>began; while [ ! -e over ]; do sleep 0.1; done'
rm -f began over
for i in 1 2; do mprun --quiet sh -c "$hold" & done
until [ "$(wc -l <began)" = 6 ]; do sleep 0.1; done 2>/dev/null
mprun -v sh -c 'hostname; touch $MPRUN_RANK.begun; sleep 1000' >third 2>third.err &
third=$!
until [ -e 0.begun ] && [ -e 1.begun ] && [ -e 2.begun ]; do sleep 0.1; done
touch over
wait %1 %2; echo "code $?"
kill -0 $third && kill $third
wait $third; echo "code $?"
sort third
grep -c "host n[123]: the job's agent there forks the starter" third.err
JOB
    echo "$output"
    [ "${lines[*]}" = "code 0 code 143 n1 n2 n3 3" ]
    [ "$(job_records 12 | sort -u)" = 0 ]
    [ "$(job_records 42 | grep -c '^1[.]n[123]$')" = 3 ]
}

@test "several mprun at once: MPI programs of two of them meet at a published port" {
    needs_mpicc
    meet=$(mpi_program meet)
    cp "$meet" "$HOSTS_DIR/shared/meet"
    run -0 --separate-stderr qsub_wait -pe lab 6 <<JOB
export OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1
step() { mprun --quiet --npernode 1 "$HOSTS_DIR/shared/meet" "\$@"; }
step accept here >one &
until grep -q open one || [ ! -d /proc/\$! ]; do sleep 0.1; done
step connect here
wait %1
echo "code \$?"
cat one
JOB
    printf '%s\n' "$output" "$stderr"
    [ "$(grep -c '^rank . of 3 met 3, all 6$' <<<"$output")" -eq 6 ]
    [ "$(grep -c '^rank .: parted$' <<<"$output")" -eq 6 ]
    [[ $output == *"code 0"* ]]
}

@test "several mprun at once: without agents one waits for another one's end" {
    # one slot on each host: two tasks there, and the job's own host takes one that is not qrsh's
    run -0 --separate-stderr qsub_wait -pe lab1 3 <<'JOB'
hold='echo begun >>began; while [ ! -e over ]; do sleep 0.1; done'
rm -f began over
for i in 1 2; do mprun --keep=no --quiet sh -c "$hold" & done
until [ "$(wc -l <began)" = 6 ]; do sleep 0.1; done 2>/dev/null
mprun --transport=stdio hostname >third 2>third.err &
third=$!
until grep -q 'tried again' third.err; do sleep 0.1; done
touch over
wait $third; echo "code $?"
sort third
wait
JOB
    echo "$output"
    [ "${lines[0]}" = "code 0" ]
    [ "${lines[*]:1}" = "n1 n2 n3" ]
}

@test "one that waits for room is ended by a signal at once" {
    run -0 --separate-stderr qsub_wait -pe lab1 3 <<'JOB'
hold='echo begun >>began; while [ ! -e over ]; do sleep 0.1; done'
rm -f began over
for i in 1 2; do mprun --keep=no --quiet sh -c "$hold" & done
until [ "$(wc -l <began)" = 6 ]; do sleep 0.1; done 2>/dev/null
mprun --transport=stdio hostname 2>third.err &
third=$!
until grep -q 'tried again' third.err; do sleep 0.1; done
kill $third
wait $third; echo "code $?"
touch over
wait
JOB
    echo "$output"
    [ "${lines[0]}" = "code 143" ]
}
