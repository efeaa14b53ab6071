#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# dynamic.bats - processes of a step that meet later: names, ports, spawned worlds
load '../lib/mprun'

MPRUN_TEST_LIMIT=60
export OMPI_MCA_pml=ob1 # Open MPI is ready in a third of the time

setup_file() {
    local mpi
    for mpi in openmpi mpich; do
        if command -v "mpicc.$mpi" >/dev/null; then
            mpi_program dynamic $mpi || return 1
        fi
    done
}

# dynamic MPI HOSTS ARGUMENT...: runs with options of mprun up to the first "--"
dynamic() {
    local mpi=$1 hosts=$2 program options=()
    shift 2
    program=$(mpi_program dynamic "$mpi")
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe "${options[@]}" "$program" "$@"
    printf '%s\n' "$mpi, $hosts hosts, ${options[*]} $*: exit code $status" "$output" "$stderr"
}

# ---- names and ports ----------------------------------------------------------------------------

@test "Open MPI: ranks meet at a port whose name was published, on one and two hosts" {
    needs_mpicc openmpi
    for hosts in 1 2; do
        dynamic openmpi $hosts -n 4 -- ports
        [ "$status" -eq 0 ]
        [ "$(sort <<<"$output")" = "rank 0 connected 2
rank 3 connected 2" ]
        [ -z "$stderr" ]
    done
}

@test "a name that nobody has published is an error at once, on one and two hosts" {
    for mpi in openmpi mpich; do
        command -v mpicc.$mpi >/dev/null || continue
        for hosts in 1 2; do
            dynamic $mpi $hosts -n 2 -- lookup nothing
            [ "$status" -eq 0 ]
            [ "$(sort <<<"$output")" = "rank 0: no such name
rank 1: no such name" ]
        done
    done
}

# cat_pmi1 <PROGRAM: pmi1.pl is a rank without MPI that does this; ask() sends a request
cat_pmi1() {
    cat >pmi1.pl <<'END'
use IO::Handle;
open F, "+<&=", $ENV{PMI_FD} or die;
F->autoflush(1);
sub ask { print F "cmd=$_[0]\n"; my $answer = <F>; chomp $answer; $answer }
ask("init pmi_version=1 pmi_subversion=1");
END
    cat >>pmi1.pl
    echo 'ask("finalize");' >>pmi1.pl
}

@test "PMI-1: names are found on other hosts, once published, and until withdrawn" {
    cat_pmi1 <<'END'
$first = $ENV{PMI_RANK} == 0;
print ask("publish_name service=meet port=here"), "\n" if $first;
print ask("publish_name service=meet port=there"), "\n" if $first;
ask("barrier_in");
print ask("lookup_name service=meet"), "\n" if !$first;
print ask("unpublish_name service=meet"), "\n" if !$first;
ask("barrier_in");
print ask("unpublish_name service=meet"), "\n" if $first;
ask("barrier_in");
print ask("lookup_name service=meet"), "\n" if !$first;
print ask("lookup_name nothing=meet"), "\n" if !$first;
END
    run -0 --separate-stderr mprun --rm local:2 --oversubscribe --pmi pmi1 -n 2 --tag-output perl pmi1.pl
    printf '%s\n' "$output" "$stderr"
    [ "$(grep '\[0\]' <<<"$output")" = "[0]<stdout>: cmd=publish_result info=ok rc=0 msg=success
[0]<stdout>: cmd=publish_result info=fail rc=1 msg=key_already_present
[0]<stdout>: cmd=unpublish_result info=ok rc=0 msg=success" ]
    [ "$(grep '\[1\]' <<<"$output")" = "[1]<stdout>: cmd=lookup_result info=ok rc=0 msg=success port=here
[1]<stdout>: cmd=unpublish_result info=fail rc=1 msg=service_not_found
[1]<stdout>: cmd=lookup_result info=fail rc=1 msg=service_not_found
[1]<stdout>: cmd=lookup_result info=fail rc=1 msg=service_not_found" ]
}
