#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mapping-mpirun.bats - Open MPI's mpirun and mprun --as mpirun get the same options and the same machine, which hwloc
# makes of words: mapping/mpirun-options says where they agree, and why not
load '../lib/mprun'

MPRUN_TEST_LIMIT=300
OPTIONS=$BATS_TEST_DIRNAME/mapping/mpirun-options

setup_file() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# Of each rank "0 [BB/..][../..]", or "0 -" where it is not bound; nothing where the line is refused.
ours() {
    "$MPRUN" --as mpirun -q --dry-run --topology "$MACHINE" --host localhost:16 "$@" true 2>&1 | places
}
places() {
    awk '/^mprun: host / { exit }
        /^ *rank / { print $2, ($0 ~ /not bound/ ? "-" : $3) }' | sort -n
}
# the same of the line in mprun's own words
translated() {
    local line
    line=$("$MPRUN" --as mpirun -q --dry-run --topology "$MACHINE" --host localhost:16 --translate "$@" true | tail -n 1)
    eval "\"\$MPRUN\" ${line#mprun }" 2>&1 | places
}
theirs() {
    HWLOC_SYNTHETIC=$MACHINE HWLOC_THISSYSTEM=1 mpirun.openmpi --host localhost:16 --do-not-launch --display-map "$@" true 2>&1 </dev/null |
        awk '/Process rank: / { rank = $0; sub(/.*Process rank: /, "", rank); sub(/ .*/, "", rank)
            print rank, (/N\/A|not bound/ ? "-" : substr($0, match($0, /\[[.B]+[\/\]]/))) }' | sort -n
}

compare() {
    local kind options failed=0 n=0
    while read -r kind options <&4; do
        [[ $kind == [=!-] ]] || continue
        [[ $kind != "!" ]] || options=${options##*: }
        # shellcheck disable=SC2086
        ours $options >ours && theirs $options >theirs
        case $kind in
        =) [ -s ours ] && diff theirs ours >differences ;;
        !) ! diff theirs ours >differences && [ -s ours ] && [ -s theirs ] ;;
        -) [ ! -s ours ] && [ ! -s theirs ] ;;
        esac && { [ ! -s ours ] || diff ours <(translated $options) >>differences; } || { echo "not '$kind': $options"; cat theirs ours differences; failed=1; }
        n=$((n + 1))
    done 4<"$OPTIONS"
    [ "$n" -ge 25 ] && return $failed
}

needs_openmpi_4() {
    [[ $(mpirun.openmpi --version 2>&1) == *") 4."* ]] || skip "needs Open MPI 4"
}

@test "ranks on two packages of two NUMA nodes are where Open MPI puts them" {
    needs_openmpi_4
    MACHINE="package:2 numa:2 l3:1 l2:4 core:1 pu:2" compare
}
