#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund.bats - the node daemon where limits can be held: memory of a job on cgroup v2 and v1. Only in a
# virtual machine (run-all.sh, run-in-vm.sh): processes are killed for want of memory here.
load '../lib/mprun'
LAB_UID=65534
MPRUND=$MPRUN_BUILD/node-daemon/mprund
MPBIND=$MPRUN_BUILD/tools/mpbind
GRANT_PROBE=$MPRUN_BUILD/tests/system/grant-probe

# An mprund that does not run for 1.5 s is given up: on a busy machine that may be the machine's fault.
setup_file() { export BATS_TEST_RETRIES=2; }
setup() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" != systemd ] && [ "$(id -u)" = 0 ] ||
        skip "only in the virtual machine, as root, without systemd"
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    export TMPDIR=/tmp
    cd /tmp || return 1
    mkdir -p /tmp/lab && chmod 777 /tmp/lab
    printf '%s\n' 'systemd = no' 'user = daemon' 'subsystems = {memory, pids, cpu, cpuset, freezer, blkio, devices, net_cls}' >/tmp/mprund.conf
    mprund_start
}
mprund_start() { "$MPRUND" --config /tmp/mprund.conf --daemon --pidfile /tmp/mprund.pid 2>/tmp/mprund.log 3>&-; }
# In the foreground, with its log in a file.
mprund_start_with_log() {
    rm -f /tmp/mprund.log /tmp/mprund.pid
    ("$MPRUND" --config /tmp/mprund.conf --pidfile /tmp/mprund.pid >/tmp/mprund.log 2>&1 3>&- &)
    wait_until 60 test -s /tmp/mprund.pid
    wait_until 60 "$MPRUND" status
}
# Its file goes before it does, and until it has gone there can be no other one.
mprund_end() { # [SIGNAL]
    local pid
    pid=$(cat /tmp/mprund.pid) && kill -s "${1:-TERM}" "$pid" && wait_until 30 process_gone "$pid"
}
teardown() {
    [ "${VMRUN:-}" = 1 ] && [ -e /tmp/mprund.pid ] || return 0
    wait_until 60 no_job || { "$MPRUND" status; find /sys/fs/cgroup -path '*/mprund/*' -type d; return 1; }
    mprund_end
    [ ! -e /tmp/mprund.pid ]
    find /sys/fs/cgroup -depth -type d -name mprund -exec rmdir {} \;
}
no_job() { [ -z "$(find /sys/fs/cgroup -path '*/mprund/*-*.*-*' -type d -print -quit)" ]; }
enter() { # LIMITS... -- COMMAND...: as an ordinary user in a job with limits
    local limits=()
    while [ "$1" != -- ]; do limits+=("$1") && shift; done
    shift
    timeout -k 5 200 "$MPRUND" enter --job 12.1 --user $LAB_UID "${limits[@]}" \
        setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups \
        env HOME=/tmp/lab TMPDIR=/tmp/lab XDG_RUNTIME_DIR=/tmp/lab "$@" 3>&-
}

@test "a job's memory limit holds all that it starts, and what it used is told" {
    mprund_end
    mprund_start_with_log
    run enter --memory 48M -- "$PROBE" take 200
    [ "$status" -eq 137 ]
    stalled=''
    [ "$VMRUN_CGROUP" = v1 ] || stalled=', stalled for memory [0-9.]* s'
    wait_until 30 grep -q "job 12.1 of user [0-9]* ended here: .*$stalled, [0-9]* killed out of memory; Resources_used: hardware threads 0-3, memory nodes 0-1\$" /tmp/mprund.log
    grep -q '>> Job 12.1 exceeded resource allocation -- killed' /tmp/mprund.log
    run enter --memory 64M -- "$PROBE" take 16 exit 0
    [ "$status" -eq 0 ]
    wait_until 60 job_gone 12.1
    # a kill by a limit of a step's, or by anybody, is another
    run enter --memory 400M -- "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 200
    [ "$status" -eq 137 ]
    wait_until 60 job_gone 12.1
    run enter --memory 64M -- sh -c 'kill -9 $$'
    wait_until 60 job_gone 12.1
    [ "$(grep -c 'exceeded resource allocation' /tmp/mprund.log)" -eq 1 ]
}

@test "a job of PBS has the memory of its chunk on this host, and no swap" {
    mprund_end
    rm -rf /tmp/pbs /tmp/lab/noted
    printf 'pbs {\n    home = "/tmp/pbs"\n}\n' >>/tmp/mprund.conf
    mprund_start
    setsid setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups \
        sh -c 'until [ -e /tmp/lab/noted ]; do sleep 0.1; done; exec "$@"' sh \
        "$MPRUN_BUILD/tests/system/grant-probe" place "$PROBE" take 200 >/tmp/placed 3>&- &
    pid=$!
    "$MPRUN_SOURCE/tests/lab/standin-mom" note /tmp/pbs 7.server "$(id -un $LAB_UID)" ncpus=1:mem=64mb $pid
    touch /tmp/lab/noted
    code=0
    wait $pid || code=$?
    cat /tmp/placed
    [ "$code" = 137 ]
    grep '^ok' /tmp/placed
    rm -r /tmp/pbs
    wait_until 60 no_job_of_pbs
}
no_job_of_pbs() { [ -z "$(find /sys/fs/cgroup -path '*/mprund/pbs-*' -type d -print -quit)" ]; }

@test "a job's limit of processes holds" {
    run enter --pids 10 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.1 & done; wait'
    [ "$status" -ne 0 ]
    [[ $output == *fork* ]]
    wait_until 60 no_job # the limits are those of its beginning
    run enter --pids 30 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.1 & done; wait'
    [ "$status" -eq 0 ]
}

@test "a job that forks without end and was given no limit of processes is held by that of its slots" {
    mprund_end
    echo 'pids_per_slot = 16' >>/tmp/mprund.conf
    mprund_start
    enter --cores 2 -- sh -c 'more() { sleep 1000 & more & wait; }; more' >/dev/null 2>&1 &
    wait_until 60 forks_no_more 32
    "$MPRUND" status --json | grep '"processes_limit": 32'
    "$MPRUND" status --json | grep '"processes": [1-9]'
    kill -9 $(find /sys/fs/cgroup -path '*/mprund/site-12.1-*/cgroup.procs' -exec cat {} + | sort -u)
    wait
}
forks_no_more() { # N: it was refused a process, and has no more than so many
    local dir
    dir=$(find /sys/fs/cgroup -path '*/mprund/site-12.1-????????/pids.current' -printf '%h')
    [ -n "$dir" ] || return 1
    (($(cat "$dir/pids.current") <= $1)) || return 1
    grep -rqE --include=pids.events 'max [1-9]' "$dir" # of the cgroup that forks
}

@test "the limits are set, shown, and nobody's but root's to lift" {
    enter --memory 64M --pids 50 -- sleep 1000 &
    wait_until 30 job_is_shown
    run "$MPRUND" status
    echo "$output"
    [[ ${lines[1]} == 12.1*running*"64"*MiB*50* ]]
    # in each hierarchy that there is, and what there is not is said
    pid=$(pgrep -x sleep -u $LAB_UID)
    for subsystem in blkio devices net_cls; do
        if awk -v name=$subsystem '$1 == name && $2 > 0 { is = 1 } END { exit !is }' /proc/cgroups; then
            grep "^[0-9]*:\([^:]*,\)*$subsystem\(,[^:]*\)*:/mprund/site-12.1-" "/proc/$pid/cgroup"
        elif [ "$subsystem" = blkio ]; then
            grep -qw io /sys/fs/cgroup/mprund/cgroup.subtree_control
        else
            grep "jobs do not have .*$subsystem" /tmp/mprund.log
        fi
    done
    run -0 "$MPRUND" --config /tmp/mprund.conf --check
    [[ $output == *"tracks jobs, with "*memory* ]]
    for file in $(find /sys/fs/cgroup -path '*/mprund/site-*' \( -name memory.max -o -name pids.max -o -name memory.limit_in_bytes -o -name tasks \)); do
        ! setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups sh -c 'echo 1000000000 >"$0"' "$file" 2>/dev/null || false
    done
    enter --memory 64M --pids 50 -- true # the same ones are no others
    enter -- true
    for other in '--memory 65M' '--pids 51'; do
        run enter $other -- true
        [ "$status" -eq 1 ]
        [[ $output == *"job 12.1 is here already, with another limit of "* ]]
    done
    kill $(pgrep -x sleep -u $LAB_UID)
    wait $! || true
}
job_is_shown() { "$MPRUND" status | grep -q '^12.1 .* 1 '; }

@test "ranks of mprun are in the job, within its limit, whatever they ask for themselves" {
    run enter --memory 64M -- "$MPRUN" -n 1 "$PROBE" take 200
    echo "$output"
    [ "$status" -eq 137 ]
    [[ $output == *"rank 0 on "*" was killed: out of memory (cgroup '/mprund/site-12.1-"*"' reached its limit 64 MiB; "* ]]
    run --separate-stderr enter --memory 64M -- "$MPRUN" -n 2 --oversubscribe cat /proc/self/cgroup
    [ "$status" -eq 0 ]
    [[ $output == */mprund/site-12.1-* ]]
}

@test "on v2 the user's part has controllers: a rank's own limit holds, and its rank is named" {
    [ "$VMRUN_CGROUP" = v2 ] || skip "nothing of v1 is delegated"
    run --separate-stderr enter --memory 200M -- "$MPRUN" -n 2 --oversubscribe --mem-per-rank 48M sh -c \
        '[ "$PMIX_RANK" = 1 ] && exec "$1" take 100; exec "$1" take 8 exit 0' sh "$PROBE"
    [ "$status" -eq 137 ]
    [[ $stderr == *"rank 1 on "*" exceeded its memory limit 48"* ]]
}

@test "kill -9 of the daemon, and a new one: limits hold, and the job ends as ever" {
    enter --memory 64M -- sh -c 'until [ -e /tmp/lab/go ]; do sleep 0.1; done; exec "$1" take 200' sh "$PROBE" &
    job=$!
    wait_until 30 job_is_shown_any
    mprund_end KILL
    mprund_start
    job_is_shown_any
    touch /tmp/lab/go
    status=0
    wait $job || status=$?
    rm /tmp/lab/go
    [ "$status" -eq 137 ]
}
job_is_shown_any() { "$MPRUND" status | grep -q '^12.1 .*running'; }

# until_go COMMAND...: in the job, when root says so
until_go() { enter -- sh -c 'until [ -e /tmp/lab/go ]; do sleep 0.1; done; exec "$@"' sh "$@"; }
go() { # the exit code of job $1
    local code=0
    touch /tmp/lab/go
    wait "$1" || code=$?
    rm /tmp/lab/go
    return $code
}

@test "mpbind: limits that are given before a job comes hold, and can be changed and lifted while it runs" {
    "$MPBIND" --user $LAB_UID 12.1 0 48M 0
    run -137 enter -- "$PROBE" take 200
    wait_until 60 no_job
    "$MPBIND" --user $LAB_UID 12.1 0 48M 48M
    until_go "$PROBE" take 100 exit 0 &
    job=$!
    wait_until 30 job_is_shown_any
    "$MPBIND" 12.1 0 0 0
    run -0 "$MPRUND" status
    [[ $output != *"48"*MiB* ]]
    go $job
    wait_until 60 no_job
    until_go "$PROBE" take 200 &
    job=$!
    wait_until 30 job_is_shown_any
    "$MPBIND" 12.1 0 128M 96M # memory counts for both
    "$MPBIND" 12.1 0 64M 1G
    run -0 "$MPRUND" status
    [[ ${lines[1]} == 12.1*running*"64"*MiB* ]]
    "$MPBIND" 12.1 0 0 64M # virtual memory alone is a limit of memory, too
    status=0
    go $job || status=$?
    [ "$status" -eq 137 ]
}

@test "mpbind --unlimit: as the execd of this host" {
    cp "$(command -v sleep)" /tmp/sge_execd
    /tmp/sge_execd 1000 3>&- &
    execd=$!
    place=/sys/fs/cgroup$([ "$VMRUN_CGROUP" = v2 ] || echo /memory)/execd
    mkdir -p "$place/cell" /tmp/spool/active_jobs
    echo 83886080 | tee "$place"/memory.{max,limit_in_bytes} >/dev/null 2>&1 || true
    echo $execd >"$place/cell/cgroup.procs"
    echo $execd >/tmp/spool/execd.pid
    echo 'gridengine { spool = "/tmp/spool" }' >>/tmp/mprund.conf
    kill -HUP "$(cat /tmp/mprund.pid)"
    "$MPBIND" --user $LAB_UID 23.4 0 64M 0
    "$MPBIND" --unlimit 23.4 0 0 0
    run -0 "$MPRUND" status
    [[ ${lines[1]} == 23.4*gridengine*expected*"80"*MiB* ]]
    kill $execd
    wait $execd || true
    rmdir "$place/cell" "$place"
    "$MPBIND" --unlimit 23.4
    run -0 "$MPRUND" status
    [[ $output != *MiB* ]]
    "$MPBIND" --forget 23.4
}

# job NAME OPTIONS...: one that stays, in the background; what it may run on in /tmp/lab/NAME
job() {
    rm -f "/tmp/lab/$1"
    timeout -k 5 200 "$MPRUND" enter --job "$1" --user $LAB_UID "${@:2}" setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups \
        sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status >"$0"; exec sleep 1000' "/tmp/lab/$1" 3>&- &
    wait_until 30 test -s "/tmp/lab/$1"
}
of_node() { cat /sys/devices/system/node/node"$1"/cpulist; }
shows() { # NAME TEXT: its line of status has the text
    run "$MPRUND" status
    grep -q "^$1 .* $2" <<<"$output" || { echo "of $1 '$2' was expected in: $output"; return 1; }
}
job_end() { # NAME
    kill "$(pgrep -x sleep -u $LAB_UID | while read -r pid; do ! grep -q "site-$1-" "/proc/$pid/cgroup" || echo "$pid"; done)"
    wait_until 60 job_gone "$1"
}
job_gone() { ! "$MPRUND" status | grep -q "^$1 "; }

@test "jobs at once share no core and are in one node each; a restart keeps that, an end gives cores and GPUs back" {
    [ "$(of_node 0) $(of_node 1)" = "0-1 2-3" ] || skip "written for two nodes of two cores"
    echo 'gpus = {"0", "1"}' >>/tmp/mprund.conf
    kill -HUP "$(cat /tmp/mprund.pid)"
    job 1.1 --cores 1 --gpus 1
    job 2.1 --cores 2 --gpus 1 # the first cores that are free are of two nodes
    job 3.1 --cores 1
    [ "$(cat /tmp/lab/1.1 /tmp/lab/2.1 /tmp/lab/3.1 | paste -sd' ')" = "0 2-3 1" ]
    mprund_end KILL
    mprund_start
    shows 1.1 '0  *0'
    shows 2.1 '2-3  *1'
    [[ $output == *"0 of 4 cores are no job's"* ]]
    job 4.1 --cores 2 --gpus 1 # nothing is left
    [ "$(cat /tmp/lab/4.1)" = 0-3 ]
    shows 4.1 '0-3 (shared)'
    job_end 2.1
    job 5.1 --cores 1 --gpus 1
    [ "$(cat /tmp/lab/5.1)" = 2 ]
    shows 5.1 '2  *1'
    # a rank stays in what is left
    run -0 --separate-stderr timeout -k 5 60 "$MPRUND" enter --job 6.1 --user $LAB_UID --cores 1 setpriv --reuid $LAB_UID --regid $LAB_UID \
        --clear-groups env HOME=/tmp/lab TMPDIR=/tmp/lab XDG_RUNTIME_DIR=/tmp/lab "$MPRUN" -n 1 sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
    [ "$output" = 3 ]
    wait_until 60 job_gone 6.1
    "$MPBIND" 5.1 2 0 0 # while it runs: near those that it has
    shows 5.1 '2-3 '
    "$MPBIND" 5.1 1 0 0
    shows 5.1 '2 '
    for name in 1.1 3.1 4.1 5.1; do job_end $name; done
}

# bpf_programs: the programs of cgroups' devices that the kernel has, as many lines
bpf_programs() {
    python3 - <<'END'
import ctypes, os, platform, struct
syscall = ctypes.CDLL(None, use_errno=True).syscall
number = {"x86_64": 321, "aarch64": 280, "ppc64le": 361, "s390x": 351, "riscv64": 280}[platform.machine()]
start = 0
while True:
    attr = ctypes.create_string_buffer(struct.pack("=III", start, 0, 0), 64)
    if syscall(number, 11, attr, 64) < 0: # BPF_PROG_GET_NEXT_ID
        break
    start = struct.unpack_from("=I", attr.raw, 4)[0]
    print(start)
END
}
programs_are() { [ "$(bpf_programs)" = "$1" ]; }

@test "a job can open its own GPUs and no other, nor can what a rank starts; the program goes with the cgroup" {
    rm -f /tmp/lab/go /tmp/lab/began /dev/lab-gpu* # of an earlier try
    mknod -m 666 /dev/lab-gpu0 c 1 7 && mknod -m 666 /dev/lab-gpu1 c 1 5 && mknod -m 666 /dev/lab-gpus c 1 8
    before=$(bpf_programs)
    printf '%s\n' 'gpu "A" { files = {"/dev/lab-gpu0"} }' 'gpu "B" { files = {"1:5"} }' 'gpu_files = {"/dev/lab-gpus"}' >>/tmp/mprund.conf
    mprund_end
    mprund_start
    cat >/tmp/lab/opens <<'END'
for f in lab-gpu0 lab-gpu1 lab-gpus null; do
    why=$( (: <"/dev/$f") 2>&1) && printf '%s ' "$f" || case $why in *"not permitted"*) printf '%s:EPERM ' "$f" ;; *) printf '%s ' "$why" ;; esac
done
END
    all='lab-gpu0 lab-gpu1 lab-gpus null '
    # a job keeps what it has through a new daemon; enter says whose it is
    enter --gpus 1 -- sh -c 'echo >/tmp/lab/began; until [ -e /tmp/lab/go ]; do sleep 0.1; done; sh /tmp/lab/opens' >/tmp/lab/first 3>&- &
    first=$!
    wait_until 60 test -e /tmp/lab/began
    [ "$VMRUN_CGROUP" = v1 ] || ! programs_are "$before" || false
    mprund_end KILL
    mprund_start
    touch /tmp/lab/go
    wait $first
    [ "$(cat /tmp/lab/first)" = 'lab-gpu0 lab-gpu1:EPERM lab-gpus null ' ]
    wait_until 60 no_job
    # ranks, and what they start
    run -0 --separate-stderr enter --gpus 1 -- "$MPRUN" -n 1 --containment=devices --report containment sh -c 'setsid sh -c "echo \$CUDA_VISIBLE_DEVICES; exec sh /tmp/lab/opens"'
    [ "$output" = $'A\nlab-gpu0 lab-gpu1:EPERM lab-gpus null ' ]
    [[ $stderr == *": GPUs A; no other can be opened"* ]]
    wait_until 60 no_job
    run -0 enter --gpus 2 -- sh /tmp/lab/opens
    [ "$output" = "$all" ]
    wait_until 60 no_job
    # each rank with GPUs of its own opens those and no other, nor does what it starts
    ranks() { run -0 --separate-stderr enter --gpus 2 -- "$MPRUN" --report containment "$@" sh -c 'setsid -w sh -c "echo \$MPRUN_RANK \$CUDA_VISIBLE_DEVICES \$(sh /tmp/lab/opens)"' && sort <<<"$output" >/tmp/lab/ranks && wait_until 60 no_job; }
    ranks -n 2 --gpus-per-rank 1
    if [ "$VMRUN_CGROUP" = v1 ]; then # nothing of v1 is the user's
        [ "$(cat /tmp/lab/ranks)" = "0 A ${all% }"$'\n'"1 B ${all% }" ]
        [[ $stderr == *": GPUs A,B; no other can be opened, but ranks can open each other's (ranks have no cgroups of their own)"* ]]
    else
        [ "$(cat /tmp/lab/ranks)" = $'0 A lab-gpu0 lab-gpu1:EPERM lab-gpus null\n1 B lab-gpu0:EPERM lab-gpu1 lab-gpus null' ]
        [[ $stderr == *": GPUs A,B; a rank with GPUs of its own can open no other"* ]]
        ranks -n 3 --oversubscribe --gpus-per-rank 1/2 --containment=devices
        [ "$(grep -c 'A lab-gpu0 lab-gpu1:EPERM' /tmp/lab/ranks) $(grep -c 'B lab-gpu0:EPERM lab-gpu1 ' /tmp/lab/ranks)" = '2 1' ]
        # a user holds what is its own, and to no more than the job has
        run enter --gpus 1 -- "$GRANT_PROBE" place sh -c 'd=$(echo /sys/fs/cgroup/mprund/site-12.1-*/u); [ -d "$d" ] || d=$(echo /sys/fs/cgroup/unified/mprund/site-12.1-*/u)
            mkdir "$d/x" && "$0" devices x A,B && echo $$ >"$d/x/cgroup.procs" && sh /tmp/lab/opens; echo
            for other in ../task u/../../task nothing; do ! "$0" devices $other B || exit; done; "$0" devices "" B' "$GRANT_PROBE"
        echo "$output"
        [[ $output == *$'\nlab-gpu0 lab-gpu1:EPERM lab-gpus null \n'* ]]
        [ "$(grep -c "^failed .*is not in the user's part" <<<"$output") $(grep -c '^failed .*No such file' <<<"$output") $(grep -c '^bad ' <<<"$output")" = '2 1 1' ]
    fi
    wait_until 60 no_job
    run -0 enter --memory 100M -- sh /tmp/lab/opens
    [ "$output" = 'lab-gpu0:EPERM lab-gpu1:EPERM lab-gpus:EPERM null ' ]
    wait_until 60 no_job
    wait_until 60 programs_are "$before"
    [ "$(sh /tmp/lab/opens)" = "$all" ]
    rm /dev/lab-gpu*
}

@test "cgroup_automount = false: jobs have the controllers that are enabled above, and no others are enabled there" {
    [ "$VMRUN_CGROUP" = v2 ] || skip "v1 enables nothing"
    mprund_end
    mkdir -p /sys/fs/cgroup/above/within
    echo +pids >/sys/fs/cgroup/above/cgroup.subtree_control
    echo 'cgroup = "/above/within/mprund"' >>/tmp/mprund.conf
    for automount in false true; do
        cp /tmp/mprund.conf /tmp/without
        echo "cgroup_automount = $automount" >>/tmp/mprund.conf
        mprund_start_with_log
        given=$(cat /sys/fs/cgroup/above/cgroup.subtree_control)
        cat /tmp/mprund.log
        if [ $automount = false ]; then
            [ "$given" = pids ]
            [ -z "$(cat /sys/fs/cgroup/above/within/cgroup.subtree_control)" ]
            grep -q 'jobs do not have memory, ' /tmp/mprund.log
            run enter --memory 48M -- true
            [ "$status" -ne 0 ]
            [[ $output == *"no cgroup of this host can"* ]]
        else
            [[ $given == *memory* ]]
            run -137 enter --memory 48M -- "$PROBE" take 200
        fi
        wait_until 60 no_job
        mprund_end
        mv /tmp/without /tmp/mprund.conf
        rmdir /sys/fs/cgroup/above/within/mprund
    done
    rmdir /sys/fs/cgroup/above/within /sys/fs/cgroup/above
}

mems_of() { sed -n 's/^Mems_allowed_list:[[:space:]]*//p' "/proc/$1/status"; }
in_job() { pgrep -x sleep -u $LAB_UID | while read -r pid; do ! grep -q "site-$1-" "/proc/$pid/cgroup" || echo "$pid"; done; }

@test "node_rounding: jobs have whole NUMA nodes, with their memory alone if their limit fits; the books say what is beyond" {
    [ "$(of_node 0) $(of_node 1)" = "0-1 2-3" ] || skip "written for two nodes of two cores"
    echo 'node_rounding = true' >>/tmp/mprund.conf
    mprund_end
    mprund_start_with_log
    job 1.1 --cores 1 --memory 200M
    [ "$(cat /tmp/lab/1.1)" = 0-1 ]
    shows 1.1 '0-1 (1 core beyond its 1)'
    grep 'job 1.1: 1 core beyond its 1, as it has whole NUMA nodes' /tmp/mprund.log
    [ "$(mems_of "$(in_job 1.1)")" = 0 ]
    # what a rank of mprun's writes is there, and its limit is what ends it
    run -0 --separate-stderr enter --cores 2 --memory 400M -- "$MPRUN" -n 1 grep -E 'heap|stack' /proc/self/numa_maps
    [[ $output == *N1=* ]]
    [[ $output != *N0=* ]]
    wait_until 60 job_gone 12.1
    run enter --cores 2 --memory 100M -- "$MPRUN" -n 1 sh -c 'sed -n "s/^Mems_allowed_list:[[:space:]]*/mems /p" /proc/self/status; exec "$1" take 200' sh "$PROBE"
    echo "$output"
    [[ $output == *"mems 1"* ]]
    [[ $output == *"exceeded resource allocation"* || $output == *"out of memory"* ]]
    wait_until 60 job_gone 12.1
    # more than a node has: all nodes; also when it is given later, and taken back
    job 2.1 --cores 1 --memory 1500M
    shows 2.1 '2-3 (1 core beyond its 1)'
    [ "$(mems_of "$(in_job 2.1)")" = 0-1 ]
    "$MPBIND" 2.1 2 300M 300M
    [ "$(mems_of "$(in_job 2.1)")" = 1 ]
    mprund_end KILL # who comes next knows
    mprund_start_with_log
    shows 1.1 '0-1 (1 core beyond its 1)'
    "$MPBIND" 2.1 1 1500M 1500M
    [ "$(mems_of "$(in_job 2.1)")" = 0-1 ]
    job 3.1 --cores 1 # no node is free as a whole
    shows 3.1 '0-3 (shared)'
    grep 'and of the 4 for jobs here 0 are free in NUMA nodes that no job is in' /tmp/mprund.log
    for name in 1.1 2.1 3.1; do job_end $name; done
}

# What job 4.1 has: memory, and on v1 memory and swap together
limit_of_4() {
    if [ "$VMRUN_CGROUP" = v1 ]; then
        cat /sys/fs/cgroup/memory/mprund/ge-4.1-*/memory.limit_in_bytes
    else
        cat /sys/fs/cgroup/mprund/ge-4.1-*/memory.max
    fi
}
limit_of_4_is() { [ "$(limit_of_4)" = "$1" ]; }
# asking SAMPLE: mprund with the execd's directory /tmp/spool and this for qstat
asking() {
    mkdir -p /tmp/spool/active_jobs
    printf '#!/bin/sh\nuntil [ -e /tmp/lab/go ]; do sleep 0.1; done; cat "%s"\n' \
        "$MPRUN_SOURCE/tests/unit/gridengine-jobs/$1/qstat.xml" >/tmp/qstat
    chmod 755 /tmp/qstat
    printf '%s\n' 'systemd = no' 'user = daemon' 'gridengine { spool = "/tmp/spool" qstat = "/tmp/qstat" qstat_seconds = 100 }' >/tmp/mprund.conf
    mprund_end
    mprund_start
}
spool_4() { # LINE...
    mkdir -p /tmp/spool/active_jobs/4.1
    echo 65400 >/tmp/spool/active_jobs/4.1/addgrpid
    printf '%s\n' "job_owner=$(id -un $LAB_UID)" "$@" >/tmp/spool/active_jobs/4.1/config
    chmod 644 /tmp/spool/active_jobs/4.1/{config,addgrpid}
}
in_4() { setpriv --reuid $LAB_UID --regid $LAB_UID --groups 65400 "$@"; }

@test "what a job asks for becomes its limit while it runs: a larger one, a smaller one, and swap" {
    asking n-slot # m_mem_free=200M
    spool_4 host_slots=2 h_vmem=100M
    in_4 timeout 200 "$MPRUN_BUILD/tests/system/grant-probe" place sleep 1000 >/tmp/lab/place 3>&- &
    wait_until 30 limit_of_4_is $((200 << 20)) # what the execd wrote, times two slots
    touch /tmp/lab/go
    wait_until 30 limit_of_4_is $((400 << 20))
    for file in /sys/fs/cgroup/memory/mprund/ge-4.1-*/memory.memsw.limit_in_bytes; do
        [ ! -e "$file" ] || [ "$(cat "$file")" = $((400 << 20)) ]
    done
    for file in /sys/fs/cgroup/mprund/ge-4.1-*/memory.swap.max; do
        [ ! -e "$file" ] || [ "$(cat "$file")" = 0 ]
    done
    rm -r /tmp/spool/active_jobs/4.1 /tmp/lab/go
    wait $! || true
    wait_until 60 no_job
    asking serial # m_mem_free=1G, h_vmem=2G
    spool_4 host_slots=1 h_vmem=2G
    in_4 timeout 200 "$MPRUN_BUILD/tests/system/grant-probe" place sleep 1000 >/tmp/lab/place 3>&- &
    wait_until 30 limit_of_4_is $((2 << 30))
    touch /tmp/lab/go
    wait_until 30 limit_of_4_is $((1 << 30))
    for file in /sys/fs/cgroup/memory/mprund/ge-4.1-*/memory.memsw.limit_in_bytes; do
        [ ! -e "$file" ] || [ "$(cat "$file")" = $((2 << 30)) ]
    done
    for file in /sys/fs/cgroup/mprund/ge-4.1-*/memory.swap.max; do
        [ ! -e "$file" ] || [ "$(cat "$file")" = $((1 << 30)) ]
    done
    rm -r /tmp/spool/active_jobs/4.1 /tmp/lab/go
    wait $! || true
}

@test "a rank in state D: its job is stuck, with pid, state and wait channel, its cores are nobody's, until it goes" {
    [ -w /dev/fuse ] || skip "needs a file system in user space"
    umount -l /tmp/held 2>/dev/null || true # of an earlier try
    mkdir -p /tmp/held /tmp/spool/active_jobs
    rm -f /tmp/fuse.out /tmp/lab/rank
    "$MPRUN_SOURCE/tests/lib/held-file" /tmp/held >/tmp/fuse.out 2>&1 3>&- &
    server=$!
    wait_until 30 grep -q mounted /tmp/fuse.out
    printf '%s\n' 'systemd = no' 'user = daemon' 'stuck_after = 1' 'retry = 1' 'gridengine { spool = "/tmp/spool" }' >/tmp/mprund.conf
    mprund_end
    mprund_start_with_log
    spool_4 host_slots=1
    setpriv --reuid $LAB_UID --regid $LAB_UID --groups 65400 env HOME=/tmp/lab TMPDIR=/tmp/lab XDG_RUNTIME_DIR=/tmp/lab \
        timeout 200 "$MPRUN" --kill-grace 1 -n 1 \
        sh -c 'echo $$ >/tmp/lab/rank; exec cat /tmp/held/file' >/tmp/lab/out 2>&1 3>&- &
    step=$!
    wait_until 60 grep -q held /tmp/fuse.out
    rank=$(cat /tmp/lab/rank)
    kill "$step"
    wait "$step" || true
    cat /tmp/lab/out
    grep -q "could not be cleaned up: rank 0 (pid $rank) was killed and does not end: state D in [a-z]" /tmp/lab/out
    shows 4.1 running # its manager has it still
    rm -r /tmp/spool/active_jobs/4.1
    is_stuck() { "$MPRUND" status | grep "^4.1 .*stuck.*cannot be removed: in it is pid $rank (cat, state D, waiting in [a-z_0-9]*)" >/tmp/lab/stuck; }
    wait_until 60 is_stuck || { "$MPRUND" status; false; }
    cat /tmp/lab/stuck
    grep "job 4.1 of user [0-9]* is stuck: .* in it is pid $rank (cat, state D, waiting in [a-z_0-9]*); trying again" /tmp/mprund.log
    run "$MPRUND" status
    [ "$status" -ne 0 ]
    [[ $output == *"3 of 4 cores are no job's"* ]]
    job 5.1 --cores 3
    own=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$rank/status")
    [ "$own $(cat /tmp/lab/5.1)" = "0 1-3" ] # the first one that was free
    kill "$server"
    wait_until 30 process_gone "$rank"
    wait_until 60 job_gone 4.1
    grep 'job 4.1 of user [0-9]* is no longer stuck' /tmp/mprund.log
    run -0 "$MPRUND" status
    [[ $output == *"1 of 4 cores are no job's"* ]]
    job_end 5.1
}

as_user() { setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups env HOME=/tmp/lab TMPDIR=/tmp/lab XDG_RUNTIME_DIR=/tmp/lab "$@"; }
mprctl() { as_user "$MPRUN_BUILD/tools/mprctl" "$@"; }
# a step of job 12.1 with four cores: four ranks, each on one; $step and what its ranks may run on in /tmp/lab/N
four_ranks() { # OPTIONS OF enter... -- OPTIONS OF mprun...
    local limits=()
    while [ "$1" != -- ]; do limits+=("$1") && shift; done
    rm -f /tmp/lab/[0-3]
    enter --cores 4 "${limits[@]}" -- "$MPRUN" -n 4 "${@:2}" sh -c 'echo $$ >/tmp/lab/$MPRUN_RANK; exec sleep 1000' >/tmp/lab/out 2>&1 &
    wait_until 60 four_run
    step=$(mprctl status | sed -n 's/^step \([^ ]*\) is running.*/\1/p')
    [ -n "$step" ]
}
four_run() { for i in 0 1 2 3; do [ "$(cat "/proc/$(cat /tmp/lab/$i)/comm")" = sleep ] || return 1; done 2>/dev/null; }
four_may() { for i in 0 1 2 3; do sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$(cat /tmp/lab/$i)/status"; done | paste -sd' '; }
they_may() { [ "$(four_may)" = "$1" ]; }

@test "lend_suspended: others have the cores and GPUs of a suspended step; it gets them back, or goes on beside the others and says so" {
    [ "$(of_node 0) $(of_node 1)" = "0-1 2-3" ] || skip "written for two nodes of two cores"
    [ "$VMRUN_CGROUP" = v2 ] || skip "what v1 freezes is not a user's to freeze"
    rm -f /dev/lab-gpu*
    mknod -m 666 /dev/lab-gpu0 c 1 7 && mknod -m 666 /dev/lab-gpu1 c 1 5
    printf '%s\n' 'gpu "A" { files = {"/dev/lab-gpu0"} }' 'gpu "B" { files = {"/dev/lab-gpu1"} }' >>/tmp/mprund.conf
    mprund_end
    mprund_start_with_log
    # not where the configuration does not say so
    four_ranks --gpus 1 -- --report-bindings
    they_may '0 1 2 3'
    mprctl suspend "$step"
    wait_until 60 grep -q 'frozen 1' /sys/fs/cgroup/mprund/site-12.1-*/u/mprun.*/ranks/cgroup.events
    shows 12.1 '0-3  *A'
    mprctl resume "$step"
    kill "$(cat /tmp/lab/0)"
    wait_until 60 no_job
    echo 'lend_suspended = {cores, gpus}' >>/tmp/mprund.conf
    mprund_end
    mprund_start_with_log
    # others have them, and that outlives a daemon; the job keeps a core, and can open no GPU
    four_ranks --gpus 1 --
    they_may '0 1 2 3'
    mprctl suspend "$step"
    wait_until 60 shows 12.1 '0 (3 cores lent)  *- (1 lent)'
    grep 'job 12.1 is suspended: others can have its hardware threads 1-3, GPUs A$' /tmp/mprund.log
    they_may '0 0 0 0'
    job 2.1 --cores 3 --gpus 2
    [ "$(cat /tmp/lab/2.1)" = 1-3 ]
    shows 2.1 '1-3  *A,B'
    mprund_end KILL
    mprund_start_with_log
    shows 12.1 '0 (3 cores lent)  *- (1 lent)'
    # they have gone again: the step has what it had, and its ranks are bound as they were
    job_end 2.1
    mprctl resume "$step"
    wait_until 60 shows 12.1 '0-3  *A'
    wait_until 60 they_may '0 1 2 3'
    # busy
    mprctl suspend "$step"
    wait_until 60 shows 12.1 '0 (3 cores lent)'
    job 3.1 --cores 2 --gpus 2
    mprctl resume "$step"
    wait_until 60 shows 12.1 '0-3 (shared)  *A'
    wait_until 60 grep -q 'on .*: cores of this step went to other jobs while it was suspended: its ranks go on unbound on hardware threads 0-3, which other jobs use, too' /tmp/lab/out
    wait_until 60 grep -q 'on .*: GPUs A of this step went to another job while it was suspended: both use them now' /tmp/lab/out
    grep 'job 12.1 goes on with GPUs A, which another job has, too' /tmp/mprund.log
    # the others end: it has cores of its own again, also from a daemon that was started meanwhile
    mprund_end KILL
    mprund_start_with_log
    shows 12.1 '0-3 (shared)'
    job_end 3.1
    wait_until 60 shows 12.1 '0-3  *A'
    job 2.1 --cores 1
    shows 2.1 '0-3 (shared)'
    job_end 2.1
    kill "$(cat /tmp/lab/0)"
    wait_until 60 no_job
    # only cores that its ranks are bound to; a starter that is killed leaves nothing lent
    enter --cores 4 -- sh -c '"$0" -n 2 sh -c "echo \$\$ >/tmp/lab/0; exec sleep 1000"; exec sleep 1000' "$MPRUN" >/tmp/lab/out 2>&1 &
    wait_until 60 mprctl status
    step=$(mprctl status | sed -n 's/^step \([^ ]*\) is running.*/\1/p')
    wait_until 60 grep -q ' 2 of 2 ranks started' <(mprctl status "$step")
    mprctl suspend "$step"
    wait_until 60 shows 12.1 '2-3 (2 cores lent)'
    kill -9 $(pgrep mpstarter)
    wait_until 60 shows 12.1 '0-3$'
    job_end 12.1
    rm /dev/lab-gpu*
}

@test "an mprund that does not answer keeps ranks with GPUs of their own from starting for a moment, not for one each" {
    [ "$VMRUN_CGROUP" = v2 ] || skip "nothing of v1 is the user's"
    rm -f /dev/lab-gpu* /tmp/lab/go /tmp/lab/[0-9]*
    mknod -m 666 /dev/lab-gpu0 c 1 7
    printf '%s\n' 'gpu "A" { files = {"/dev/lab-gpu0"} }' >>/tmp/mprund.conf
    mprund_end
    mprund_start
    # eight ranks that have begun are started again when it is stopped
    enter --gpus 1 -- "$MPRUN" -n 8 --oversubscribe --gpus-per-rank 1/8 --max-restarts 1 sh -c 'if [ -e /tmp/lab/go ]; then exit; fi
        touch /tmp/lab/$MPRUN_RANK; until [ -e /tmp/lab/go ]; do sleep 0.05; done; exit 1' >/tmp/lab/out 2>&1 &
    step=$!
    eight() { [ "$(ls /tmp/lab | grep -c '^[0-7]$')" = 8 ]; }
    wait_until 60 eight
    parts=$(pgrep -P "$(cat /tmp/mprund.pid)")
    kill -STOP $parts
    touch /tmp/lab/go
    begin=$SECONDS
    wait $step || true
    took=$((SECONDS - begin))
    kill -CONT $parts
    cat /tmp/lab/out
    [ "$(grep -c 'rank [0-7] can open GPUs of others: .*mprund' /tmp/lab/out)" -ge 8 ]
    echo "$took s"
    ((took <= $(patience 6)))
    rm /dev/lab-gpu*
}
