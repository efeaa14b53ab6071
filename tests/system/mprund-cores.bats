#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprund-cores.bats - the node daemon's choice of cores and GPUs: here by cgroup v1, and with what
# Grid Engine's execd writes from files; tests/vm/mprund.bats has more cores, two nodes, and v2.
load '../lib/mprun'
load '../lib/mprund'

setup() {
    mprun_setup
    chmod 755 "$TMPDIR"
    needs_cores 2
    grep -q ':cpuset:' /proc/self/cgroup || skip "needs cpusets of cgroup v1"
    SPOOL=$TMPDIR/spool
    mkdir -p "$SPOOL/active_jobs"
    mprund_setup 'subsystems = {cpu, cpuset}' 'gpus = {"0", "1", "GPU-2"}' "gridengine { spool = \"$SPOOL\" }"
}
teardown() {
    local failed=0
    mprund_teardown || failed=1
    mprun_teardown && return $failed
}
json() { python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
# state: lines "JOB HOW CORES THREADS GPUS" ("-": none) and "free N of TOTAL", as mprund has it now
state() {
    here "$MPRUND" status --json | json '"\n".join(["%s %s %s %s %s" % (j["job"], j["cores_how"], j.get("cores", "-"),
        j.get("hardware_threads", "-"), j.get("gpus", "-")) for j in d["jobs"]] + ["free %d of %d" % (d["cores_free"], d["cores"])])' >state
}
now_is() { # LINE...: of the state, which must have them
    state
    for line; do grep -qx -e "$line" state || { echo "'$line' is not in:" && cat state && return 1; }; done
}
total() { here "$MPRUND" status --json | json 'd["cores"]'; }
conf() { # EXPRESSION...: of sed, and the daemon reads it again
    sed -i "$@" "$MPRUND_CONF"
    mprund_kill
    mprund_start
}
running() { # JOB OPTIONS... COMMAND...: in the background; $JOB_PID, what it may run on in JOB.cpus
    job_start "$1" "${@:2}" sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status >"$0".cpus; exec sleep 60' "$TMPDIR/$1"
    wait_until 10 test -s "$TMPDIR/$1.cpus"
}
ends() { # JOB
    echo 1 >"$(echo "$GROUND"/*-"$1"-*)/cgroup.kill"
    gone "$1"
}
gone() { wait_until 15 no_job "$1"; }
no_job() { ! compgen -G "$GROUND/*-$1-*" >/dev/null; }

@test "two jobs at once share no core; a restart keeps that, the end of one gives its core back" {
    total=$(total)
    running 1.1 --cores 1
    now_is "1.1 own 1 $(cat 1.1.cpus) -" "free $((total - 1)) of $total"
    enter 1.1 --cores 1 true
    run -1 enter 1.1 --cores 2 true
    [[ $output == *"with another limit of cores"* ]]
    mprund_kill
    mprund_start
    now_is "1.1 own 1 $(cat 1.1.cpus) -" "free $((total - 1)) of $total"
    # nor does it need to have noted them
    python3 -c 'import os, sys; os.removexattr(sys.argv[1], "trusted.mprun.cores")' "$GROUND"/site-1.1-*
    mprund_kill
    mprund_start
    now_is "1.1 own 1 $(cat 1.1.cpus) -" "free $((total - 1)) of $total"
    running 2.1 --cores $((total - 1))
    [ -z "$(comm -12 <(ids <1.1.cpus | sort) <(ids <2.1.cpus | sort))" ]
    # nothing left: a third one runs all the same, and that is said
    running 3.1 --cores 1
    now_is "2.1 own $((total - 1)) $(cat 2.1.cpus) -" "3.1 shared 1 $(cat 3.1.cpus) -" "free 0 of $total"
    [ "$(cat 3.1.cpus)" = "$(cat 1.1.cpus 2.1.cpus | ids | sort -n | list)" ]
    run here "$MPRUND" status
    [[ $output == *"3.1 "*"$(cat 3.1.cpus) (shared)"* ]]
    [[ ${lines[-1]} == "0 of $total cores are no job's" ]]
    ends 3.1
    ends 1.1
    running 4.1 --cores 1
    [ "$(cat 4.1.cpus)" = "$(cat 1.1.cpus)" ]
    ends 4.1
    ends 2.1
}
ids() { tr ',' '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done; }
list() { python3 -c '
import sys
out = []
for n in map(int, sys.stdin):
    if out and out[-1][1] == n - 1: out[-1][1] = n
    else: out.append([n, n])
print(",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in out))'; }

@test "system_cpus are no job's; with cores = exclusive who cannot have its own does not begin" {
    # below a place that is not exclusive: were the jobs' own so, no other test could have a cpuset meanwhile
    local GROUND=$GROUND/below
    conf -e "s|^cgroup = .*|cgroup = \"$GROUND_CGROUP/below\"|" -e '$a system_cpus = "0"'
    total=$(total)
    running 1.1 --cores 1
    ! ids <1.1.cpus | grep -qx 0 || false
    # of whom nothing is said: anywhere else than there
    running 2.1
    ! ids <2.1.cpus | grep -qx 0 || false
    now_is '2.1 shared - .*'
    ends 2.1
    conf 's/system_cpus/cores = exclusive\n&/'
    run enter 3.1 --cores "$total" true
    [ "$status" -eq 1 ]
    [[ $output == *"job 3.1 is to have $total core"*" of its own, and of the $total for jobs here $((total - 1)) "*" free"* ]]
    conf 's/cores = exclusive/cores = off/'
    running 4.1 --cores 1
    ids <4.1.cpus | grep -qx 0
    here "$MPRUND" status --json | json '[j["cores_how"] for j in d["jobs"] if j["job"] == "4.1"]' | grep -qx "\['all'\]"
    ends 4.1
    ends 1.1
}

@test "GPUs are given once, kept over a restart, and free again when a job has gone" {
    running 1.1 --gpus 2
    mprund_kill
    mprund_start
    running 2.1 --gpus 2 # there is one left
    now_is '1.1 all - - 0,1' '2.1 all - - GPU-2'
    ends 1.1
    running 3.1 --gpus 1
    now_is '3.1 all - - 0'
    run here "$MPRUND" status
    [[ $output == *GPUs* ]]
    [[ $output == *"2.1 "*GPU-2* ]]
    ends 2.1
    ends 3.1
}

in_job() { # COMMAND...: behind `enter OPTIONS...`: as nobody
    echo setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups env "TMPDIR=$TMPDIR/nobody" "HOME=$TMPDIR/nobody" "XDG_RUNTIME_DIR=$TMPDIR/nobody"
}
user_home() { mkdir -p "$TMPDIR/nobody" && chmod 777 "$TMPDIR/nobody"; }

@test "ranks are bound within the job's cores, and see the job's GPUs, or fewer where -x says so" {
    user_home
    running 1.1 --cores 1 --gpus 1
    run -0 --separate-stderr enter 2.1 --cores 1 --gpus 2 $(in_job) "$MPRUN" -n 1 --report-bindings \
        sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status; echo "$CUDA_VISIBLE_DEVICES|$SGE_RESOURCE_GPU"'
    free=$((1 - $(cat 1.1.cpus)))
    [ "${lines[0]}" = "$free" ]
    [ "${lines[1]}" = '1,GPU-2|1 GPU-2' ]
    [[ $stderr == *"hardware thread"*"$free"* ]]
    gone 2.1
    # what mprun has in its environment is of its own host, and a choice there; so is what a user gives
    run -0 --separate-stderr enter 3.1 --gpus 2 $(in_job) CUDA_VISIBLE_DEVICES=1 bash -c 'for row in "$@"; do
        "$0" -n 1 -x "CUDA_VISIBLE_DEVICES${row%%:*}" sh -c "echo \"$row:\$CUDA_VISIBLE_DEVICES\"" || exit; done' "$MPRUN" \
        : =1 =GPU-2,1 = =-1 =0 =0,1 =MIG-1/2 =1,GPU-3
    [ "$output" = "$(printf '%s\n' ::1 =1:1 =GPU-2,1:GPU-2,1 =: =-1:-1 =0:1,GPU-2 =0,1:1,GPU-2 =MIG-1/2:MIG-1/2 =1,GPU-3:1,GPU-3)" ]
    [ "$(grep -c 'GPUs there' <<<"$stderr")" -eq 4 ]
    for row in '=0 is not within' '=0,1 is not within' '=MIG-1/2 is kept, but' '=1,GPU-3 is kept, but'; do
        [ "$(grep -c "^mprun: on $(hostname): CUDA_VISIBLE_DEVICES$row.*'1,GPU-2'" <<<"$stderr")" -eq 1 ]
    done
    gone 3.1
    # of a job that has no GPUs, and of two programs; one warning whatever the number of hosts
    run -0 --separate-stderr enter 4.1 $(in_job) CUDA_VISIBLE_DEVICES=7 "$MPRUN" \
        -n 1 sh -c 'echo "$CUDA_VISIBLE_DEVICES"' : -n 1 -x CUDA_VISIBLE_DEVICES=MIG-8 sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
    [ "$(sort <<<"$output")" = $'7\nMIG-8' ]
    [[ $stderr != *GPUs* ]]
    gone 4.1
    run -0 --separate-stderr enter 5.1 --gpus 2 $(in_job) CUDA_VISIBLE_DEVICES=7 "$MPRUN" --rm local:2 -N 1 \
        -n 1 sh -c 'echo "$CUDA_VISIBLE_DEVICES"' : -n 1 -x CUDA_VISIBLE_DEVICES=5 sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
    [ "$output" = $'1,GPU-2\n1,GPU-2' ]
    [ "$(grep -c 'GPUs there' <<<"$stderr")" -eq 1 ]
    ends 1.1
}

@test "which rank has which GPU follows the cores near it that mprund's table names" {
    user_home
    for near in '0 1' '1 0'; do
        read -r a b <<<"$near"
        sed -i '/^gpu/d' "$MPRUND_CONF"
        conf -e "\$a gpu \"A\" { cores = \"$a\" }" -e "\$a gpu \"B\" { cores = \"$b\" }"
        run -0 --separate-stderr enter "$((a + 1)).1" --cores 2 --gpus 2 $(in_job) "$MPRUN" -n 2 --bind-to core --gpus-per-rank 1 \
            sh -c 'echo $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status) $CUDA_VISIBLE_DEVICES'
        [ "$(sort <<<"$output")" = "$(printf '%s\n' "$a A" "$b B" | sort)" ]
        gone "$((a + 1)).1"
    done
}

@test "mprsrc knows from mprund which GPUs a job has that its manager only counts" {
    job=$MPRUN_SOURCE/tests/fuzz/corpus/qstat-xml/parallel.xml
    printf '%s\n' "$(hostname) 2 lab.q@x UNDEFINED" 'gelab1 1 lab.q@gelab1 UNDEFINED' >pe_hostfile
    id=$(grep -o 'JB_job_number>[0-9]*' "$job" | head -n 1 | tr -dc 0-9)
    mprsrc() { as_nobody "$MPRUN_BUILD/tools/mprsrc" --pe-hostfile pe_hostfile "$@" <"$job"; }
    [ "$(eval "$(mprsrc --only)"; echo "$SGE_RESOURCE_GPU_COUNT/$SGE_RESOURCE_GPU")" = 2/ ]
    running "$id.1" --gpus 2
    [ "$(eval "$(mprsrc --only)"; echo "$SGE_RESOURCE_GPU")" = '0 1' ]
    eval "$(mprsrc)"
    [ "${SGE_RESOURCE_GPU[0]}/${SGE_RESOURCE_GPU[1]}" = '0 1/' ]
    [ "$(mprsrc --json | json 'd["hosts"][0]["gpu"]')" = "{'count': 2, 'ids': ['0', '1']}" ]
    as_other "$MPRUN_BUILD/tools/mprsrc" --pe-hostfile pe_hostfile --only <"$job" >other
    [ "$(. ./other; echo "$SGE_RESOURCE_GPU_COUNT/$SGE_RESOURCE_GPU")" = 2/ ]
    ends "$id.1"
}

# spool_job JOB[/TASK] GROUP [LINE...]: as the execd writes it
spool_job() {
    local dir=$SPOOL/active_jobs/$1
    mkdir -p "$dir"
    echo "$2" >"$dir/addgrpid"
    printf '%s\n' "job_owner=$(id -un "$TEST_UID")" "${@:3}" >"$dir/config"
}
# as_task GROUP COMMAND...: a process as Grid Engine starts them
as_task() {
    here setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --groups="$1" -- \
        env TMPDIR="$TMPDIR/nobody" HOME="$TMPDIR/nobody" XDG_RUNTIME_DIR="$TMPDIR/nobody" "${@:2}"
}
@test "the cores of a job of Grid Engine that asks: as many as slots, and ranks stay within" {
    user_home
    total=$(total)
    running 1.1 --cores 1
    spool_job 23.1 $TASK_GROUP host_slots=$((total - 1)) binding=NULL
    # the starter may run anywhere when it begins
    run -0 --separate-stderr as_task $TASK_GROUP "$MPRUN" -n $((total - 1)) --report-bindings \
        sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status
    [ -z "$(comm -12 <(ids <1.1.cpus | sort) <(ids <<<"$output" | sort))" ]
    [ "$(ids <<<"$output" | sort -u | wc -l)" = $((total - 1)) ]
    [[ $stderr != *warning* ]]
    now_is "23.1 own $((total - 1)) .*"
    rm -r "$SPOOL/active_jobs/23.1"
    gone 23.1
    ends 1.1
}

@test "cores that Grid Engine's execd states are the job's, of all its tasks; who has them by mprund's choice moves" {
    [ "$(nproc --all)" = 2 ] && [ "$(cat /sys/devices/system/cpu/online)" = 0-1 ] || skip "written for two cores"
    running 1.1 --cores 1
    [ "$(cat 1.1.cpus)" = 0 ]
    spool_job 23.1 $TASK_GROUP host_slots=4 binding=explicit:0,0:ScC
    run as_task $TASK_GROUP "$GRANT_PROBE" place
    [[ $output == "ok "* ]]
    now_is '23.1 manager 1 0 -' '1.1 own 1 1 -'
    # another task of it has the other one: nobody else can have one for itself
    spool_job 23.1/1.n12 $((TASK_GROUP + 1)) host_slots=4 binding=pe_explicit:0,1:SCc
    run as_task $((TASK_GROUP + 1)) "$GRANT_PROBE" place
    mprund_kill
    mprund_start
    now_is '23.1 manager 2 0-1 -' '1.1 shared 1 0-1 -'
    # cores that are not there, or the system's
    spool_job 24.1 $((TASK_GROUP + 2)) host_slots=1 binding=explicit:1,0:SCCScC
    run as_task $((TASK_GROUP + 2)) "$GRANT_PROBE" place
    now_is '24.1 shared 1 0-1 -'
    rm -r "$SPOOL/active_jobs/"*
    gone 23.1
    gone 24.1
    ends 1.1
    # who has one slot gets one core, whatever number was asked for: that which nobody has, and no more later
    running 2.1 --cores 1
    [ "$(cat 2.1.cpus)" = 0 ]
    spool_job 25.1 $((TASK_GROUP + 3)) host_slots=1 binding=explicit:0,0:0,1:Scc
    run as_task $((TASK_GROUP + 3)) "$GRANT_PROBE" place
    spool_job 25.1/1.n12 $((TASK_GROUP + 4)) host_slots=1 binding=pe_explicit:0,0:0,1:Scc
    run as_task $((TASK_GROUP + 4)) "$GRANT_PROBE" place
    now_is '2.1 own 1 0 -' '25.1 manager 1 1 -'
    rm -r "$SPOOL/active_jobs/"*
    gone 25.1
    # a cpuset that cannot be changed: the job is known to have what it has
    below=$(own_v1_cgroups "$(basename "$GROUND")" | grep cpuset)
    below=$(echo "$below"/site-2.1-*)/below
    mkdir "$below"
    echo 0 >"$below/cpuset.cpus"
    spool_job 26.1 $((TASK_GROUP + 5)) host_slots=1 binding=explicit:0,0:ScC
    run as_task $((TASK_GROUP + 5)) "$GRANT_PROBE" place
    now_is '2.1 own 1 0 -' '26.1 manager 1 0 -' 'free 1 of 2'
    rmdir "$below"
    rm -r "$SPOOL/active_jobs/"*
    gone 26.1
    ends 2.1
}
