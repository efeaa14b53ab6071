#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# rank-files.bats - files that say for each rank where it runs: Open MPI's rank files, and srun's SLURM_HOSTFILE
load '../lib/mprun'

MACHINE='package:2 core:4 pu:2'

# refused WORDS LINE...: a rank file of these lines is refused with these words
refused() {
    local words=$1
    shift
    printf '%s\n' "$@" >ranks
    run -125 --separate-stderr mprun --host a:4,b:4 --rankfile ranks --dry-run true
    [[ $stderr == "mprun: "*"$words"* ]] || { echo "expected: $words"; return 1; }
}

@test "a host's max_slots hold for a rank file, too, also with --oversubscribe" {
    printf 'a max_slots=1\nb\n' >hosts
    printf 'rank %d=a slot=0\n' 0 1 >ranks
    for words in --quiet --oversubscribe; do
        run -125 --separate-stderr mprun -f hosts $words --rankfile ranks --dry-run true
        [[ $stderr == *"place 2 ranks on 'a', as is asked for: it takes no more than 1 (max_slots); name other hosts" ]]
    done
}

@test "each rank is on the host and the cores that the file says" {
    cat >ranks <<END
# comments and empty lines are left out

rank 0=a slot=1:0-2
rank 2 = b slot=0:0,1   # behind a line, too
rank 1=+n1 slot=7
Rank 3=a slot=0:*
END
    run -0 mprun --host a:4,b:4 --rankfile ranks --dry-run --topology "$MACHINE" true
    [[ $output == *"4 ranks on 2 hosts in sequence: 4 slots each (--host)"* ]]
    [[ $output == *"a: 4 slots (--host), ranks 0, 3"*"bound as the rank file says: 2 ranks"* ]]
    [[ $output == *"rank 0 "*"package 1 cores 0-2, hardware threads 8-13"*"rank 3 "*"package 0 cores 0-3, hardware threads 0-7"* ]]
    [[ $output == *"b: 4 slots (--host), ranks 1 to 2"*"rank 1 "*"hardware threads 14-15"*"rank 2 "*"package 0 cores 0-1, hardware threads 0-3"* ]]
    for words in "--map-by rankfile:file=ranks" "--map-by RANKFILE:FILE=ranks" "-rf ranks" "--map-by rankfile --rankfile ranks" \
        "--mca rmaps_rank_file_path ranks"; do
        # shellcheck disable=SC2086
        run -0 mprun --host a:4,b:4 $words --dry-run true
        [[ $output == *"4 ranks on 2 hosts in sequence"* ]]
    done
    run -0 mprun --host a:4,b:4 --rankfile ranks -n 2 --dry-run true
    [[ $output == *"2 ranks on 2 hosts in sequence"* ]]
    run -0 mprun --host a:4,b:4 --rankfile ranks -n 1 --dry-run true : -n 3 true
    [[ $output == *"4 ranks on 2 hosts in sequence"* ]]
    run -125 --separate-stderr mprun --host a:4,b:4 --rankfile ranks -n 5 --dry-run true
    [ "$stderr" = "mprun: place 5 ranks: rank file 'ranks' has lines for ranks 0 to 3; add lines, or ask for fewer ranks" ]
    run -125 --separate-stderr mprun --host a:1,b:4 --rankfile ranks --dry-run true
    [[ $stderr == *"place 2 ranks on 'a', as is asked for: it has 1 slot (--host)"*"--oversubscribe"* ]]
    run -0 mprun --host a:1,b:4 --rankfile ranks --dry-run --oversubscribe true
}

@test "the kernel has the cores of the file" {
    local last=$(($(nproc) - 1))
    printf 'rank 0=+n0 slot=0\nrank 1=+n0\nrank 2=+n0 slot=%s\n' "$last" >ranks
    run -0 --separate-stderr mprun -q --overlap --oversubscribe --rankfile ranks \
        sh -c 'echo $MPRUN_RANK $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)'
    local all
    all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    core() { "$MPRUN" -q --overlap --dry-run --display bindings -n 1 --rankfile "$1" true | sed -n 's/^ *rank 0 .*hardware threads\? //p'; }
    echo "rank 0=+n0 slot=0" >first
    echo "rank 0=+n0 slot=$last" >last
    [ "$(sort <<<"$output")" = "0 $(core first)
1 $all
2 $(core last)" ]
    printf 'rank 0=+n0 slot=4000\n' >ranks
    run -125 --separate-stderr mprun --rankfile ranks true
    [[ $stderr == *"bind a rank to cores '4000': not all of them exist here and may be used"* ]]
}

@test "the file names the hosts where nobody else does" {
    printf 'rank 0=n1 slot=0\nrank 1=n2 slot=0\nrank 2=n1 slot=1\n' >ranks
    run -0 mprun --rankfile ranks --dry-run true
    [[ $output == *"3 ranks on 2 hosts in sequence"*"n1: 2 slots"*"ranks 0, 2"*"n2: 1 slot"*"rank 1"* ]]
    printf 'rank 0=n1 slot=0\nrank 1=+n1 slot=0\nrank 2=n1 slot=1\nrank 3=n2 slot=1\n' >relative
    run -0 mprun --rankfile relative --dry-run true
    [[ $output == *"n1: 2 slots"*"ranks 0, 2"*"n2: 2 slots"*"ranks 1, 3"* ]]
    run -125 --separate-stderr mprun --rm local:2 --rankfile ranks --dry-run true
    [[ $stderr == *"'n1' is no host of this step"* ]]
}

@test "what is wrong in a file is named with its line" {
    refused "line 1: 'rnk 0=a slot=0' is not 'rank N=HOST slot=CORES'" "rnk 0=a slot=0"
    refused "line 2: 'rank 1 a slot=0' is not" "rank 0=a slot=0" "rank 1 a slot=0"
    refused "line 1: rank: 'x' is not a number" "rank x=a slot=0"
    refused "line 3: rank 0 has line 2 already" "#" "rank 0=a slot=0" "rank 0=b slot=0"
    refused "places rank 2, but has no line for rank 1" "rank 0=a slot=0" "rank 2=a slot=0"
    refused "line 1: 'slots:0' is not understood; expected is 'slot=CORES'" "rank 0=a slots:0"
    refused "line 1: 'S0:1' are no cores; expected are" "rank 0=a slot=S0:1"
    refused "line 1: '3-1' are no cores" "rank 0=a slot=3-1"
    refused "line 1: 'slot=0 1' is not understood" "rank 0=a slot=0 1"
    refused "line 1: no host stands behind '='" "rank 0="
    refused "line 1: '+e1' is no host; write its name, or '+n0'" "rank 0=+e1 slot=0"
    refused "rank file 'ranks' line 1: '+n2' is no host of this step, which has 2 (+n0 is the first)" "rank 0=+n2 slot=0"
    refused "'c' is no host of this step" "rank 0=c slot=0"
    refused "places no rank" "# nothing"
    printf 'rank 0=a slot=0\0' >ranks
    run -125 --separate-stderr mprun --host a --rankfile ranks --dry-run true
    [[ $stderr == *"is no text: it has a NUL byte"* ]]
    run -125 --separate-stderr mprun --host a --rankfile missing --dry-run true
    [[ $stderr == *"read rank file 'missing': No such file or directory"* ]]
}

@test "SLURM_HOSTFILE and arbitrary: a rank for each line" {
    printf 'b\na\nb\n' >hosts
    export SLURM_HOSTFILE=hosts
    for words in "--as srun" "--as srun -m arbitrary" "--distribution=arbitrary"; do
        # shellcheck disable=SC2086
        run -0 mprun $words --dry-run -n 3 true
        [[ $output == *"3 ranks on 2 hosts in sequence"*"b: 2 slots"*"ranks 0, 2"*"a: 1 slot"*"rank 1"* ]]
    done
    run -0 mprun --dry-run -n 1 true
    [[ $output == *"1 rank on 1 host by slot"* ]]
    unset SLURM_HOSTFILE
    run -0 mprun --as srun -m arbitrary -w b,a,b --dry-run true
    [[ $output == *"3 ranks on 2 hosts in sequence"* ]]
    run -125 --separate-stderr mprun --rm local --distribution arbitrary --dry-run true
    [[ $stderr == *"--distribution=arbitrary, without a file of hosts: no host is named"* ]]
}

@test "a file of plain names in a manager's job leaves the hosts their slots" {
    printf 'n1\nn3\n' >names
    printf 'n1 4 q UNDEFINED\nn2 4 q UNDEFINED\nn3 2 q UNDEFINED\n' >pe
    export JOB_ID=7 SGE_TASK_ID=undefined PE=mpi NSLOTS=10 PE_HOSTFILE=$PWD/pe SGE_ROOT=/nowhere ARC=lx-amd64
    run -0 mprun --hostfile names --dry-run true
    [[ $output == *"6 ranks on 2 hosts by slot"*"n1: 4 slots"*"n3: 2 slots"* ]]
    printf 'n1 slots=1\nn3\n' >names
    run -0 mprun --hostfile names --dry-run true
    [[ $output == *"n1: 1 slot"* ]]
}
