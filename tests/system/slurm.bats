#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm.bats - mprun in jobs of a real Slurm: what it takes from the job, how it starts on its nodes
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

setup_file() { slurm_setup; }
teardown_file() { slurm_teardown; }
setup() { slurm_begin; }
teardown() { slurm_end; }

@test "without any option the ranks are on all tasks of the job, from a batch script and from salloc" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<<'m hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 n4 n4 " ]
    [ -z "$stderr" ]
    run -0 on n0 salloc -Q -N 3 -n 3 "$MPRUN_BUILD/launcher/mprun" --containment=tree hostname
    [ "$(sorted)" = "n1 n2 n3 " ]
    # uneven
    run -0 --separate-stderr sbatch_wait -n 5 -m block <<<'m hostname | sort | uniq -c | tr -s " "; echo "$SLURM_TASKS_PER_NODE"'
    [ "${lines[0]},${lines[1]},${lines[2]}" = " 2 n1, 2 n2, 1 n3" ]
    [ "${lines[3]}" = "2(x2),1" ]
}

@test "--explain says what was found, with its sources, and how Slurm holds the ranks" {
    run -0 sbatch_wait -N 4 -n 8 <<<'mprun --explain hostname'
    echo "$output"
    [[ $output == *"adapter     slurm: this is job $(job) of Slurm (SLURM_JOB_ID, SLURM_JOB_NODELIST)"* ]]
    [[ $output == *"8 ranks on 4 hosts by slot: 2 slots each (SLURM_TASKS_PER_NODE)"* ]]
    [[ $output == *"started by one srun for all hosts"* ]]
    on_root n1 test -d /run/lab-cgroups/freezer || skip "Slurm has no cgroups here"
    [ "$(grep -c "containment 'rm': rm:cgroup: Slurm counts them by its cgroup job_$(job)/step_0" <<<"$output")" = 4 ]
    [[ $output != *systemd-run* ]]
}

@test "with the variables of a Grid Engine job around it: Slurm is nearer, --explain says why, and the ranks are Slurm's" {
    run -0 --separate-stderr sbatch_wait -N 2 -n 2 <<'END'
printf 'n9 8 all.q@n9 UNDEFINED\n' >hostfile
export JOB_ID=7 SGE_TASK_ID=undefined SGE_ROOT=$PWD SGE_CELL=default SGE_JOB_SPOOL_DIR=$PWD PE=mpi NSLOTS=8 PE_HOSTFILE=$PWD/hostfile
m --explain true | grep ^adapter
# an allocation within it, and a step of the user's
srun -N1 -n1 --overlap "$(command -v mprun)" --containment=tree --dry-run true | grep ^adapter
m --quiet hostname | sort | tr '\n' ' '
END
    echo "$output$stderr"
    [[ ${lines[0]} == "adapter     slurm: this is job $(job) of Slurm ("*"; nearer to mprun than gridengine: this is job 7 of Grid Engine ("* ]]
    [[ ${lines[1]} == "adapter     slurm: this is job $(job) of Slurm ("*"; nearer to mprun than gridengine: "* ]]
    [ "${lines[2]}" = "n1 n2 " ]
}

@test "a rank has the cores of a task (-c), and the slots are tasks" {
    needs_cores 2
    run -0 sbatch_wait -N 2 -n 2 -c 2 <<'END'
m --explain true
m grep Cpus_allowed_list /proc/self/status | sort | uniq -c | tr -s ' \t' ' '
END
    echo "$output"
    [[ $output == *"2 ranks on 2 hosts by slot: 1 slot each (SLURM_TASKS_PER_NODE)"* ]]
    [ "$(usable_cores)" = 2 ] || return 0
    [[ $output == *"1 rank of 2 cores, 2 cores (SLURM_CPUS_PER_TASK)"* ]]
    [[ $output == *" 2 Cpus_allowed_list: 0-1"* ]]
}

@test "two jobs on a node have cores of their own" {
    needs_cores 2
    [ "$(usable_cores)" = 2 ] || skip "needs 2 cores for 2 CPUs"
    slurm_set cgroup:ConstrainCores=yes
    sbatch_start -w n1 -n 1 <<<'m sh -c "grep Cpus_allowed_list /proc/self/status; sleep 3"'
    first=$(job_out)
    sbatch_start -w n1 -n 1 <<<'m sh -c "grep Cpus_allowed_list /proc/self/status; sleep 3"'
    wait_until 20 test -s "$first"
    wait_until 20 test -s "$(job_out)"
    job_wait
    [ "$(cat "$first" "$(job_out)" | sort | tr -s ' \t' ' ' | tr '\n' ,)" = "Cpus_allowed_list: 0,Cpus_allowed_list: 1," ]
}

@test "the user's own srun runs beside a step, and a step beside it" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<'END'
m sh -c 'until [ -e go ]; do sleep 0.05; done' &
srun -N4 -n8 hostname | sort | uniq -c | tr -s ' '
touch go
wait
rm go
srun -N4 -n8 sh -c 'until [ -e go ]; do sleep 0.05; done' &
m hostname | sort | uniq -c | tr -s ' '
touch go
wait
END
    [ "$output" = $' 2 n1\n 2 n2\n 2 n3\n 2 n4\n 2 n1\n 2 n2\n 2 n3\n 2 n4' ]
}

@test "inside a step the job's nodes count, and not what is left of the step's variables" {
    run -0 --separate-stderr sbatch_wait -N 3 -n 6 <<<'srun -N1 -n1 --overlap bash -c "echo \$SLURM_TASKS_PER_NODE; mprun --containment=tree hostname"'
    [ "${lines[0]}" = 1 ]
    [ "$(tail -n +2 <<<"$output" | sort | tr '\n' ' ')" = "n1 n1 n2 n2 n3 n3 " ]
    [ -z "$stderr" ]
    # mprun as a rank of mprun, which is no step of the user's: the job's tasks
    run -0 --separate-stderr sbatch_wait -N 2 -n 2 --exclusive <<<'m -n 1 mprun --containment=tree hostname'
    [ "$(sorted)" = "n1 n2 " ]
}

@test "--host chooses among the job's nodes; more ranks than tasks are explained" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<<'m --host n3,n2:1 hostname'
    [ "$(sorted)" = "n2 n3 n3 " ]
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<<'srun -w n3 -N 2 -n 2 hostname; m --as srun -w n3 -N 2 -n 2 hostname'
    [ "$(sorted)" = "n1 n1 n3 n3 " ]
    run -125 --separate-stderr sbatch_wait -N 2 -n 4 <<<'m --host n9 hostname'
    [[ $stderr == *"'n9' is no host of job $(job); for others there is '--rm ssh'"* ]]
    run -125 --separate-stderr sbatch_wait -N 2 -n 4 <<<'m -n 9 hostname'
    echo "$stderr"
    [[ $stderr == *"9 ranks"*"4 slots"*"SLURM_TASKS_PER_NODE"*"sbatch -n 9"* ]]
}

@test "environment, input, output and exit codes go as on one machine" {
    run -3 --separate-stderr sbatch_wait -N 4 -n 8 <<'END'
export GREETING="hello there"
echo line | m --stdin 5 sh -c '[ $MPRUN_RANK != 5 ] || cat'
m sh -c 'echo "$MPRUN_RANK $GREETING ${SLURM_PROCID-none} $SLURM_JOB_ID"' | sort -n | tail -n 1
m sh -c '[ $MPRUN_RANK != 6 ] || exit 3; sleep 60'
END
    [ "${lines[0]}" = line ]
    [ "${lines[1]}" = "7 hello there none $(job)" ]
    [[ $stderr == "mprun: rank 6 on n4 (pid "*") exited with code 3; the other ranks are ended" ]]
}

@test "ranks of --as srun have the variables of their own node" {
    run -0 --separate-stderr sbatch_wait -N 3 -n 3 <<<'m --as srun sh -c "echo \$SLURM_PROCID \$(hostname) \$SLURMD_NODENAME \$SLURM_TOPOLOGY_ADDR"'
    [ "$(sorted)" = "0 n1 n1 n1 1 n2 n2 n2 2 n3 n3 n3 " ]
}

@test "ranks of --as srun have the variables that srun gives its tasks, and mprun in one of them has the job's CPUs" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<'END'
shows='env | grep -E "^SLURM_(STEP_(NODELIST|NUM_|TASKS)|TASKS_PER|GTIDS|NNODES|NTASKS=|NPROCS|LAUNCH_NODE|(PROC|LOCAL|NODE)ID)" | sort | paste -sd" "'
srun -N 3 -n 5 sh -c "$shows" | sort >by-srun
m --as srun -N 3 -n 5 sh -c "$shows" | sort >by-mprun
diff by-srun by-mprun && cat by-mprun
m --as srun -N 3 -n 1 mprun --containment=tree hostname | sort | paste -sd' '
END
    echo "$output"
    [[ ${lines[0]} == "SLURM_GTIDS=0,1 SLURM_LAUNCH_NODE_IPADDR="*" SLURM_STEP_NODELIST=n[1-3] "*" SLURM_TASKS_PER_NODE=2(x2),1" ]]
    [ "${lines[5]}" = "n1 n1 n2 n2 n3 n3 n4 n4" ]
}

@test "Open MPI by PMIx and MPICH by PMI-1 run on all nodes" {
    [ -x "$MPRUN_BUILD/tests/system/mpi-probe" ] || skip "no Open MPI"
    # ranks spin while they wait, more of them than the machine has cores
    JOB_LIMIT=200
    run -0 sbatch_wait -N 4 -n 8 <<<"m -x OMPI_MCA_mpi_yield_when_idle=1 $MPRUN_BUILD/tests/system/mpi-probe hello"
    [ "$(grep -c 'rank [0-7] size 8 local 2 .* sum 36$' <<<"$output")" = 8 ]
    # which cannot be told to yield
    [ -x "$MPRUN_BUILD/tests/system/mpi-probe-mpich" ] || return 0
    # Its MPI_Finalize may hang over UCX: the rank that has closed its connection first waits in the last barrier of
    # PMI, and answers the other one no more.
    for try in 1 2 3; do
        run sbatch_wait -N 2 -n 2 <<<"m --timeout $(patience 10) $MPRUN_BUILD/tests/system/mpi-probe-mpich hello"
        [ "$status" = 124 ] || break
    done
    [ "$status" = 0 ]
    [ "$(grep -c 'rank [01] size 2 .* sum 3$' <<<"$output")" = 2 ]
}

@test "a heterogeneous job: one component is chosen, and without a choice mprun says how" {
    # Slurm starts such jobs at times of its own
    JOB_LIMIT=120 run -125 --separate-stderr sbatch_wait -N 1 -n 1 : -N 2 -n 4 <<'END'
m --rm slurm:1 hostname | sort | uniq -c | tr -s ' '
m --rm slurm:0 hostname
m --rm slurm:2 hostname
m hostname
END
    echo "$output"
    echo "$stderr"
    [ "$output" = $' 2 n2\n 2 n3\nn1' ]
    [[ $stderr == *"is heterogeneous, with 2 components"*"choose it with '--rm slurm:0' to '--rm slurm:1'"* ]]
    [[ $stderr == *"the component in '--rm slurm:N'"* ]]
}

@test "errors: a job that is over, a node without slurmd, a starter that is not there" {
    run -125 --separate-stderr on n0 env SLURM_JOB_ID=999 SLURM_JOB_NODELIST=n1 SLURM_JOB_CPUS_PER_NODE=2 \
        SLURM_TASKS_PER_NODE=2 "$MPRUN_BUILD/launcher/mprun" hostname
    echo "$stderr"
    [[ $stderr == *"start the starters by srun: "*"Invalid job id specified"*"; the job that SLURM_JOB_ID names is over"* ]]
    run -125 --separate-stderr on n0 env SLURM_JOB_ID=999 SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_CPUS_PER_NODE=2 \
        SLURM_TASKS_PER_NODE=2 "$MPRUN_BUILD/launcher/mprun" hostname
    [[ $stderr == *"SLURM_JOB_CPUS_PER_NODE is '2': 1 numbers for 2 nodes"* ]]
    run -125 --separate-stderr sbatch_wait -N 2 -n 2 <<<'m --prefix /opt/none hostname'
    echo "$stderr"
    [[ $stderr == *"/opt/none/libexec/mprun/mpstarter"*"install mprun"* ]]
    run -125 on n0 env SLURM_JOB_ID=999 "$MPRUN_BUILD/launcher/mprun" --explain -n 1 true
    [[ $output == *"'slurm' only: SLURM_JOB_NODELIST is not set as in a job of Slurm"* ]]
}
