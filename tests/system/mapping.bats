#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mapping.bats - which cores ranks get: mapping/MACHINE.txt has what is expected on machines that are not here for each
# line of mapping/options, and on this one the kernel has to say the same as the plan
load '../lib/mprun'

MAPPING=$BATS_TEST_DIRNAME/mapping

# plan MACHINE OPTION...: the reason, and "rank=hardware threads" of each rank; or the error
plan() {
    local machine=$1
    shift
    "$MPRUN" ${DIALECT:+--as "$DIALECT"} --quiet --dry-run --topology "$machine" "$@" true 2>&1 | awk '
        /^ *(not )?bound/ { sub(/^ */, ""); print (n ? "\n" : "") $0; n = 0 }
        /^ *rank / { t = $0; if (!sub(/.*hardware threads? /, "", t)) t = "-"
            printf "%s=%s ", $2, t; n++ }
        /^mprun: / { sub(/^mprun: host [^ ]*: /, "would fail: "); print }
        END { if (n) print "" }'
}

plans() {
    local options machine=$1
    [[ $machine != *.xml ]] || machine=$MAPPING/$machine
    while read -r options; do
        echo "\$ $options"
        # shellcheck disable=SC2086
        plan "$machine" $options
    done <"$MAPPING/options"
}

as_expected() {
    plans "$(sed -n "s/^$1|//p" "$MAPPING/machines")" >"$1.txt"
    diff "$MAPPING/$1.txt" "$1.txt"
}

@test "ranks on a Xeon with two sockets" { as_expected two-socket-xeon; }
@test "ranks on an EPYC with four NUMA nodes a socket" { as_expected epyc-nps4; }
@test "ranks on a desktop with performance and efficiency cores, which are not mixed" { as_expected hybrid-desktop; }
@test "ranks on a POWER9 with four hardware threads a core" { as_expected power9; }
@test "ranks on an Arm server without L3 caches" { as_expected arm; }

# srun's lines, and "rank=hardware threads" of each rank
srun_lines() {
    cat <<'END'
-n 4|0=0-1 1=16-17 2=2-3 3=18-19
-n 4 -m block:block|0=0-1 1=2-3 2=4-5 3=6-7
-n 4 -m plane=2|0=0-1 1=2-3 2=4-5 3=6-7
-n 3 -c 3|0=0-3 1=16-19 2=4-7
-n 3 -c 2 --cpu-bind=threads|0=0-1 1=16-17 2=2-3
-n 3 --cpu-bind=threads|0=0 1=16 2=1
-n 3 -c 2 --cpu-bind=threads --hint=nomultithread|0=0-3 1=16-19 2=4-7
-n 2 -c 2 --threads-per-core=1|0=0-3 1=16-19
-n 3 --cpu-bind=sockets|0=0-15 1=16-31 2=0-15
-n 3 --ntasks-per-socket=2|0=0-1 1=16-17 2=2-3
-n 3 --cpu-bind=map_ldom:3,0|0=24-31 1=0-7 2=24-31
-n 2 --cpu-bind=mask_ldom:0x3,0x8|0=0-15 1=24-31
-n 3 --cpu-bind=map_cpu:0*2,5|0=0 1=0 2=5
-c 16|0=0-15 1=16-31
-n 16 -c 2|0=0-1 1=16-17 2=2-3 3=18-19 4=4-5 5=20-21 6=6-7 7=22-23 8=8-9 9=24-25 10=10-11 11=26-27 12=12-13 13=28-29 14=14-15 15=30-31
END
}

@test "srun's tasks have the cores that srun gives them: packages in turn, and CPUs that are hardware threads" {
    local options expected line machine="package:2 numa:2 l3:1 core:4 pu:2"
    while IFS='|' read -r options expected <&4; do
        # shellcheck disable=SC2086
        [ "$(DIALECT=srun plan "$machine" $options | tail -n 1)" = "$expected " ] || { echo "$options"; return 1; }
        # shellcheck disable=SC2086
        line=$("$MPRUN" --as srun --quiet --dry-run --topology "$machine" --translate $options true | tail -n 1)
        eval "plan '$machine' ${line#mprun }" | tail -n 1 >translated
        [ "$(cat translated)" = "$expected " ] || { echo "$line"; return 1; }
    done 4< <(srun_lines)
}

@test "in a job of Slurm srun's -c takes CPUs of the job, and tasks are the job's" {
    local variables options expected
    export SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_CPUS_PER_NODE='64(x2)' SLURM_TASKS_PER_NODE='4(x2)'
    while IFS='|' read -r variables options expected <&4; do
        # shellcheck disable=SC2086
        [[ $(env $variables "$MPRUN" --as srun --dry-run $options true 2>&1) == *"$expected"* ]] ||
            { echo "$variables $options"; return 1; }
    done 4<<'END'
SLURM_NTASKS=8|-c 16|8 ranks of 16 hardware threads on 2 hosts evenly: 64 slots each (CPUs of the job)
SLURM_NTASKS=8 SLURM_CPUS_PER_TASK=16|-n 2|2 ranks of 16 hardware threads on 2 hosts
SLURM_NTASKS=8 SLURM_CPUS_PER_TASK=16 SLURM_HINT=nomultithread||8 ranks of 16 cores on 2 hosts
||2 ranks on 2 hosts
|-n 4 -c 32|4 ranks of 32 hardware threads on 2 hosts
|-n 5 -c 32|place 5 ranks of 32 hardware threads: 2 hosts have 128 slots (CPUs of the job), room for 4
|-N 2 -n 1|1 rank on 1 host
|-n 129|ask for at most 128 ranks, submit the job with 'sbatch -n 129', or allow
|-w n2 -n 65|ask for at most 64 ranks, or allow
|-w n2 -N 2 -n 65|65 ranks on 2 hosts evenly
|-w n2 -N 1-2 -n 65|ask for at most 64 ranks, or allow
|-w n2 -x n1 -N 2|--nodes: 2 hosts are asked for, and there is 1
|-x n2 -n 65|ask for at most 64 ranks, or allow
|-N 1 -n 65|ask for at most 64 ranks, or allow
END
    export SLURM_CPUS_PER_TASK=16
    [[ $("$MPRUN" --dry-run --cpus-per-rank 16 true) == *"8 ranks of 16 cores on 2 hosts"* ]]
}

@test "in a heterogeneous job of Slurm the tasks are those of the component that --het-group chooses" {
    export SLURM_JOB_ID=1 SLURM_JOB_NODELIST=n1 SLURM_HET_SIZE=2 SLURM_NTASKS=1 SLURM_CPUS_PER_TASK=2 SLURM_NTASKS_HET_GROUP_0=1 SLURM_NTASKS_HET_GROUP_1=6 \
        SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=2 SLURM_TASKS_PER_NODE_HET_GROUP_0=1 \
        SLURM_JOB_NODELIST_HET_GROUP_1='n[2-3]' SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1='4(x2)' SLURM_TASKS_PER_NODE_HET_GROUP_1='3(x2)'
    [[ $("$MPRUN" --as srun --het-group=0 --dry-run true) == *"1 rank on 1 host"* ]]
    [[ $("$MPRUN" --as srun --het-group=1 --dry-run true) == *"6 ranks on 2 hosts"* ]]
    [[ $("$MPRUN" --as srun --het-group=1 -n 2 --dry-run true) == *"2 ranks on 2 hosts"* ]]
    echo '* ./a' >programs
    [[ $("$MPRUN" --as srun --het-group=1 --dry-run --multi-prog programs) == *"6 ranks on 2 hosts"* ]]
    export SLURM_CPUS_PER_TASK_HET_GROUP_1=4
    [[ $("$MPRUN" --as srun --het-group=1 -n 2 --dry-run true) == *"2 ranks of 4 hardware threads on 2 hosts"* ]]
}

@test "ranks of this machine are bound as the plan says: /proc/PID/status agrees" {
    local options words
    words=$(nproc)
    for options in "--bind-to hwthread" "--bind-to package" "--map-by numa" "--map-by package:pe=$words" "--cpu-list 0"; do
        # shellcheck disable=SC2086
        planned=$("$MPRUN" -q --overlap --dry-run --display bindings -n 1 $options true |
            sed -n 's/^ *rank 0 .*hardware threads\? //p')
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun -n 1 $options sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
        [ -n "$planned" ] && [ "$output" = "$planned" ] || { echo "$options: planned $planned, kernel $output"; return 1; }
    done
}

@test "--display prints the allocation, the map and a picture of the cores before ranks start" {
    run -0 --separate-stderr mprun --display allocation,map,topo,bindings -n 1 echo rank
    [[ $output == *"placement   1 rank on 1 host"*"host        "*"package 0"*"["*"]"*rank ]]
    [[ $stderr == *"rank 0 on "* ]]
    run -125 --separate-stderr mprun --topology package:2 -n 1 true
    [[ $stderr == *"--topology is for --dry-run alone"* ]]
    run -125 --separate-stderr mprun --dry-run --topology nonsense -n 1 true
    [[ $stderr == *"read the topology 'nonsense': it is neither"* ]]
}

@test "what no machine has, and words that mean nothing, are errors" {
    local words
    for words in "--map-by socke" "--map-by ppr:0:numa" "--map-by ppr:2" "--map-by numa:spam" "--bind-to" "--bind-to core:maybe" \
        "--cpu-set" "--cpu-set x" "--cpu-list 1,x" "--cpu-bind=mask_cpu:0x0" "--cpu-bind=mask_cpu:xyz" "--rank-by numa" \
        "--distribution plane=0" "--cpu-set 0 --cpu-list 0" "--display all" "-n 1 --cpu-list 5000 "; do
        # shellcheck disable=SC2086
        run -125 --separate-stderr mprun $words true
        [[ $stderr == "mprun: "* ]]
    done
}

needs_numa_maps() { [ -r /proc/self/numa_maps ] || skip "needs a kernel with /proc/PID/numa_maps"; }

# The policy of a rank's memory, as the kernel says.
policy() { mprun --quiet "$@" awk '{ print $2; exit }' /proc/self/numa_maps; }

@test "--mem-bind sets the policy of a rank's memory: /proc/PID/numa_maps agrees" {
    local nodes
    needs_numa_maps
    nodes=$(sed -n 's/^Mems_allowed_list:[[:space:]]*//p' /proc/self/status)
    [ "$(policy -n 1)" = default ]
    [ "$(policy -n 1 --mem-bind none)" = default ]
    [[ $(policy -n 1 --mem-bind local) == local* ]]
    [ "$(policy -n 1 --mem-bind interleave)" = "interleave:$nodes" ]
    [ "$(policy -n 1 --mem-bind "nodes=${nodes%%[,-]*}")" = "bind:${nodes%%[,-]*}" ]
    [[ $(policy --as srun -n 1 --mem-bind=quiet,local) == local* ]]
    run -125 --separate-stderr mprun -n 1 --mem-bind nodes=1000 true
    [[ $stderr == *"--mem-bind: memory nodes 1000 are asked for, but only $nodes may be used here"* ]]
    run -0 --separate-stderr mprun -q --oversubscribe -n 1 --mem-bind interleave awk '{ print $2; exit }' /proc/self/numa_maps : \
        --mem-bind none -n 1 awk '{ print $2; exit }' /proc/self/numa_maps
    [ "$(sorted)" = "default interleave:$nodes " ]
}

@test "the memory of a rank lies on the NUMA node that --mem-bind names" {
    needs_numa_maps
    [ -d /sys/devices/system/node/node1 ] || skip "needs two NUMA nodes"
    for node in 0 1; do
        # pages of the heap: on that node alone
        run -0 mprun -q -n 1 --mem-bind "nodes=$node" sh -c 'x=$(head -c 4000000 /dev/zero | tr "\0" a); grep -w heap /proc/$$/numa_maps'
        [[ $output == *" N$node="* && $output != *" N$((1 - node))="* ]]
    done
}
