#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# migrating.bats - that each option of other launchers has an entry, and doc/migrating.md says which
load '../lib/mprun'

OPTIONS=$MPRUN_SOURCE/tests/peers/options.txt
PAGE=$MPRUN_SOURCE/doc/migrating.md

@test "the tables of doc/migrating.md are what mprun's table of options says" {
    needs_tool "$MPRUN_BUILD/tests/peers/peer-table"
    "$MPRUN_BUILD/tests/peers/peer-table" <"$OPTIONS" >tables
    sed -n '/^## Every option/,$p' "$PAGE" | sed -n '/^### /,$p' >page
    sed '1d' tables | diff page - || { echo "'make update-migrating' writes them anew"; false; }
    run -1 "$MPRUN_BUILD/tests/peers/peer-table" <<<$'= srun x\n--frobnicate'
    [[ $output == *"mprun has no entry for '--frobnicate'"* ]]
}

# names_of HEADING: the options that options.txt has for it
names_of() {
    awk -v heading="$1" '/^= / { found = index($0, heading) > 0 } found && /^-/ { for (i = 1; i <= NF; i++) print $i }' "$OPTIONS" | sort -u
}

# known HEADING: each name of the file help is in options.txt; at least 30 of them, or the help was not understood
known() {
    sort -u help >wanted
    [ "$(wc -l <wanted)" -ge 30 ] || return
    names_of "$1" | comm -13 - wanted >missing
    cat missing
    [ ! -s missing ]
}

@test "every option that the help of Open MPI's mpirun names has an entry" {
    needs_tool mpirun.openmpi
    mpirun.openmpi --allow-run-as-root --help all </dev/null >text 2>&1
    [[ $(<text) == *"(OpenRTE) 4"* ]] || skip "another version than 4"
    # "-bynode|--bynode": the second
    grep -oE '^ *--?[A-Za-z][^ ]*' text | sed -E 's/ *-[a-z-]+\|(--[a-z])/\1/' | tr '|' '\n' | tr -d ' ' >help
    known "Open MPI 4's"
}

@test "every option that the help of Hydra's mpiexec names has an entry" {
    needs_tool mpiexec.hydra
    mpiexec.hydra --help 2>&1 | grep -oE '^ +-[a-z][^ ]*' | tr '/' '\n' | tr -d ' ' >help
    known "MPICH's"
}

@test "every option that the help of srun names has an entry" {
    needs_tool srun
    printf 'ClusterName=x\nSlurmctldHost=localhost\n' >slurm.conf
    SLURM_CONF=$PWD/slurm.conf srun --help 2>&1 | grep -oE '^ +(-[A-Za-z], )?--?[A-Za-z0-9-]+' | grep -oE -- '--?[A-Za-z0-9-]+' >help
    known "Slurm's"
}
