#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# managers.bats - which manager mprun takes a process to be in; and LSF, whose blaunch is a stand-in
load '../lib/mprun'

setup() {
    mprun_setup
    unset JOB_ID SLURM_JOB_ID PBS_JOBID LSB_JOBID
}
teardown() { mprun_teardown; }

# A process of that name, with the command below it
below() {
    local name=$1
    shift
    cp -f "$(type -P bash)" "$TMPDIR/$name"
    "$TMPDIR/$name" -c '"$@"; exit $?' "$name" "$@"
}
adapter() { grep -o '^adapter .*' <<<"$output"; }

@test "of two managers it is the one whose process is nearer; --rm decides, and none finds none" {
    export SLURM_JOB_ID=5 SLURM_JOB_NODELIST=n1 SLURM_JOB_CPUS_PER_NODE=2 SLURM_TASKS_PER_NODE=2
    export LSB_JOBID=7 LSB_MCPU_HOSTS="m1 4"
    run -0 "$MPRUN" --dry-run true
    [[ $(adapter) == "adapter     slurm: this is job 5 of Slurm ("*"; there is also lsf: this is job 7 of LSF ("* ]]
    run -0 below slurmstepd "$MPRUN" --dry-run true
    [[ $(adapter) == "adapter     slurm: this is job 5 of Slurm ("*"; nearer to mprun than lsf: this is job 7 of LSF ("* ]]
    run -0 below res "$MPRUN" --dry-run true
    [[ $(adapter) == "adapter     lsf: this is job 7 of LSF ("*"; nearer to mprun than slurm: this is job 5 of Slurm ("* ]]
    run -0 below slurmstepd "$TMPDIR/res" -c "$MPRUN --dry-run true; exit \$?"
    [[ $(adapter) == "adapter     lsf: "* ]]
    run -0 below res "$MPRUN" --rm slurm --dry-run true
    [[ $(adapter) == "adapter     slurm: asked for with --rm" ]]
    run -0 below res "$MPRUN" --rm none --dry-run -n 1 true
    [[ $(adapter) == "adapter     local: "* ]]
    run -0 below res "$MPRUN" --rm none --host n7 --dry-run true
    [[ $(adapter) == "adapter     ssh: "* ]]
}

@test "jobs that mprun cannot serve: a sentence with what to do, and no rank on this machine" {
    for one in "FLUX_JOB_ID Flux" "PALS_APID PALS" "COBALT_JOBID Cobalt" "OAR_JOB_ID OAR"; do
        run -125 --separate-stderr env "${one%% *}=1" "$MPRUN" -n 1 true
        [ "$stderr" = "mprun: this is a job of ${one#* } (${one%% *}), of which mprun does not know the hosts; name them with --host or --hostfile, or write '--rm local' for this host alone" ]
    done
    run -0 env FLUX_JOB_ID=1 "$MPRUN" --quiet --rm local -n 1 echo here
    [ "$output" = here ]
    run -0 env FLUX_JOB_ID=1 "$MPRUN" --host n7 --dry-run true
    [[ $(adapter) == "adapter     ssh: "* ]]
    echo n7 >nodes
    run -125 --separate-stderr env OAR_JOB_ID=1 OAR_NODEFILE="$PWD/nodes" "$MPRUN" true
    [[ $stderr == *"; name them with --hostfile \$OAR_NODEFILE, or write '--rm local' for this host alone" ]]
}

@test "of a job whose variables are not all there no rank runs on this machine, either" {
    run -125 --separate-stderr env JOB_ID=7 SGE_TASK_ID=undefined SGE_ROOT=/x PE_HOSTFILE=/nowhere "$MPRUN" touch started
    [ "$stderr" = "mprun: this is part of a job of 'gridengine' only: PE_HOSTFILE '/nowhere' is not there: job 7 is over, or on another host; name them with --host or --hostfile, or write '--rm local' for this host alone" ]
    run -125 --separate-stderr env SLURM_JOB_ID=7 "$MPRUN" touch started
    [[ $stderr == *"'slurm' only: SLURM_JOB_NODELIST is not set"* ]]
    echo n7 >nodes
    run -125 --separate-stderr env PBS_JOBID=7 PBS_NODEFILE="$PWD/nodes" "$MPRUN" touch started
    [[ $stderr == *"'pbs' only: "*"--hostfile \$PBS_NODEFILE"* ]]
    run -125 --separate-stderr env LSB_JOBID=7 "$MPRUN" touch started
    [[ $stderr == *"'lsf' only: "* ]]
    [ ! -e started ]
    run -0 env JOB_ID=of-something-else "$MPRUN" --rm none --quiet --dry-run -n 1 true
    run -0 env JOB_ID=of-something-else "$MPRUN" --quiet --dry-run -n 1 true
    [[ $(adapter) == "adapter     local: "* ]]
}

# its hosts are this machine
standin_blaunch() {
    mkdir -p "$TMPDIR/bin"
    cat >"$TMPDIR/bin/blaunch" <<'EOF'
#!/bin/sh
echo "$@" >>"$CALLS"
shift
exec "$@"
EOF
    chmod 755 "$TMPDIR/bin/blaunch"
    export CALLS=$TMPDIR/calls PATH=$TMPDIR/bin:$PATH LSB_JOBID=7
}

@test "LSF (a stand-in for blaunch): hosts and slots from LSB_MCPU_HOSTS and LSB_DJOB_HOSTFILE" {
    standin_blaunch
    export LSB_MCPU_HOSTS="m1 2 m2 1"
    run -0 --separate-stderr mprun sh -c 'echo $MPRUN_RANK'
    [ "$(sorted)" = "0 1 2 " ]
    [ "$(sort "$CALLS")" = "m1 $MPRUN_BUILD/starter/mpstarter
m2 $MPRUN_BUILD/starter/mpstarter" ]
    printf '%s\n' m3 m3 m3 m4 >"$TMPDIR/hosts"
    export LSB_DJOB_HOSTFILE=$TMPDIR/hosts
    run -5 --separate-stderr mprun sh -c '[ $MPRUN_RANK != 3 ] || exit 5; sleep 60'
    [[ $stderr == "mprun: rank 3 on m4 (pid "*") exited with code 5; the other ranks are ended" ]]
    # without a launch node that has no rank
    printf '%s\n' m4 m4 >"$TMPDIR/ranks"
    export LSB_DJOB_RANKFILE=$TMPDIR/ranks
    run -0 "$MPRUN" --dry-run true
    [[ $output == *"this is job 7 of LSF (LSB_JOBID, LSB_DJOB_RANKFILE)"*"m4: 2 slots (LSB_DJOB_RANKFILE)"* ]]
    [[ $output != *"m3:"* ]]
}

@test "LSF: processors of LSB_AFFINITY_HOSTFILE, --host, and what is wrong" {
    standin_blaunch
    printf '%s\n' m3 m3 m4 >"$TMPDIR/hosts"
    printf '%s\n' 'm3 0,1 0 1' 'm3 4-5' 'm4 2' >"$TMPDIR/affinity"
    export LSB_DJOB_HOSTFILE=$TMPDIR/hosts LSB_AFFINITY_HOSTFILE=$TMPDIR/affinity
    run -0 "$MPRUN" --dry-run true
    [[ $output == *"m3: 2 slots (LSB_DJOB_HOSTFILE), hardware threads 0-1,4-5 (LSB_AFFINITY_HOSTFILE)"* ]]
    run -0 "$MPRUN" --host m4 --dry-run true
    [[ $output == *"m4: 1 slot (LSB_DJOB_HOSTFILE), hardware threads 2 (LSB_AFFINITY_HOSTFILE)"* ]]
    [[ $output != *"m3:"* ]]
    run -125 "$MPRUN" --host m5 --dry-run true
    [[ $output == *"'m5' is no host of job 7"* ]]
    run -125 "$MPRUN" -n 9 --dry-run true
    [[ $output == *"bsub -n 9"* ]]
    LSB_DJOB_HOSTFILE=$TMPDIR/none run -125 "$MPRUN" --dry-run true
    [[ $output == *"read LSB_DJOB_HOSTFILE '$TMPDIR/none': No such file or directory"* ]]
    : >"$TMPDIR/empty"
    LSB_DJOB_HOSTFILE=$TMPDIR/empty run -125 "$MPRUN" --dry-run true
    [[ $output == *"LSB_DJOB_HOSTFILE, '$TMPDIR/empty', names no host"* ]]
    printf 'm3\nm3\n\0\0\0m4\n' >"$TMPDIR/hole"
    LSB_DJOB_HOSTFILE=$TMPDIR/hole run -125 "$MPRUN" --dry-run true
    [[ $output == *"LSB_DJOB_HOSTFILE '$TMPDIR/hole' is no text: it has a NUL byte"* ]]
    unset LSB_DJOB_HOSTFILE LSB_AFFINITY_HOSTFILE
    LSB_MCPU_HOSTS="m1 x" run -125 "$MPRUN" --dry-run true
    [[ $output == *"LSB_MCPU_HOSTS"*"'x' is not a number"* ]]
    LSB_MCPU_HOSTS="m1 2 m2" run -125 "$MPRUN" --dry-run true
    [[ $output == *"no number after 'm2'"* ]]
}

@test "Slurm: srun knows where the controller is, but no options; a list of nodes that is too long for a word has ranges" {
    mkdir bin
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nwhile [ "$1" != -w ]; do shift; done\necho "srun: error: $2 $SLURM_CONF_SERVER$SLURM_EXACT" >&2\nexit 1\n' >bin/srun
    chmod +x bin/srun
    local n=10000 # 140,000 bytes
    SLURM_CONF_SERVER=ctl SLURM_EXACT=1 SLURM_JOB_ID=5 SLURM_JOB_NODELIST="frontier[00001-$n]" SLURM_JOB_CPUS_PER_NODE="1(x$n)" \
        SLURM_TASKS_PER_NODE="1(x$n)" PATH=$PWD/bin:$PATH run -125 --separate-stderr "$MPRUN" true
    [ "$stderr" = "mprun: start the starters by srun: frontier[00001-$n] ctl" ]
}
