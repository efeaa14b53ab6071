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

# In pmi1.pl: spawn("fields of a program", ...) starts this script again, and returns the answer
# shellcheck disable=SC2016
SPAWN='sub spawn { my ($i, $n) = (0, scalar @_);
    print F "mcmd=spawn\n", $_, "totspawns=$n\nspawnssofar=", ++$i, "\nendcmd\n" for @_;
    my $answer = <F>; chomp $answer; $answer }
sub program { my ($n, @args) = @_; my $i = 0;
    join "", "nprocs=$n\nexecname=$^X\n", (map { $i++; "arg$i=$_\n" } $0, @args), "argcnt=$i\n" }
$spawned = $ENV{PMI_SPAWNED};
'

@test "PMI-1: two programs are spawned at once, and find what their parent has put for them" {
    cat_pmi1 <<END
$SPAWN
use Cwd;
\$port = "preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag 1\n";
print spawn(program(1, "a b") . \$port . "info_num=1\ninfo_key_0=wdir\ninfo_val_0=/usr\n", program(2) . \$port), "\n" unless \$spawned;
print "child \$ENV{PMI_RANK} of \$ENV{PMI_SIZE} '@ARGV' ", ask("get_appnum"), " ", getcwd eq "/usr" ? "there " : "",
    ask("get kvsname=" . (split /kvsname=/, ask("get_my_kvsname"))[1] . " key=PARENT_ROOT_PORT_NAME"), "\n" if \$spawned;
ask("barrier_in");
END
    run -0 --separate-stderr mprun -q --rm local:2 --oversubscribe --pmi pmi1 -n 1 perl "$PWD/pmi1.pl"
    printf '%s\n' "$output" "$stderr"
    [ "$(sort <<<"$output")" = "child 0 of 3 'a b' cmd=appnum appnum=0 there cmd=get_result rc=0 msg=success value=tag 1
child 1 of 3 '' cmd=appnum appnum=1 cmd=get_result rc=0 msg=success value=tag 1
child 2 of 3 '' cmd=appnum appnum=1 cmd=get_result rc=0 msg=success value=tag 1
cmd=spawn_result rc=0" ]
    [ -z "$stderr" ]
}

@test "PMI-1: what cannot be spawned is an error at once, behind the last program, and the step goes on" {
    cat_pmi1 <<END
$SPAWN
print spawn(program(1), "nprocs=1\nexecname=./nothing here\n"), "\n";
print spawn(program(1), program(0)), "\n";
print ask("get_appnum"), "\n";
END
    run -0 --separate-stderr mprun --oversubscribe --pmi pmi1 -n 1 perl "$PWD/pmi1.pl"
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "cmd=spawn_result rc=-1 msg=no_ranks_were_started
cmd=spawn_result rc=-1 msg=no_ranks_were_started
cmd=appnum appnum=0" ]
    [[ $stderr == "mprun: rank 0 on $(hostname) asks for more ranks (MPI_Comm_spawn), and gets none: start rank 1.1 on $(hostname): execute './nothing here' in "*": No such file or directory"* ]]
}

@test "a host whose own ranks have ended takes spawned ranks, again and again, and nested ones" {
    cat_pmi1 <<END
$SPAWN
\$there = "info_num=1\ninfo_key_0=host\ninfo_val_0=$(hostname)-1\n";
if (\$spawned) {
    print "world \$ENV{MPRUN_WORLD} host \$ENV{MPRUN_HOST_INDEX}\n";
    spawn(program(1) . \$there) =~ /rc=0/ or print "not spawned\n" if \$ENV{MPRUN_WORLD} == 1;
} elsif (\$ENV{PMI_RANK}) {
    open P, ">pid"; print P "\$\$ \n"; close P;
} else {
    select undef, undef, undef, 0.1 until open(P, "pid") && <P> =~ /(.*) / && !-e "/proc/\$1";
    spawn(program(1) . \$there) =~ /rc=0/ or print "not spawned\n" for 1 .. 50;
}
END
    run -0 --separate-stderr mprun -q --rm local:2 --oversubscribe --pmi pmi1 -n 2 perl "$PWD/pmi1.pl"
    printf '%s\n' "$output" "$stderr"
    [ "$(grep -c '^world [0-9]* host 1$' <<<"$output")" -eq 51 ]
    [ "$(wc -l <<<"$output")" -eq 51 ]
    [ -z "$stderr" ]
}

@test "PMI-1: 200 worlds in a row make no process of mprun larger, and cost it no descriptor; their ranks get PMI-1 alone" {
    needs_no_sanitizers "they keep what was freed"
    cat_pmi1 <<END
$SPAWN
sub files { scalar(my @files = glob "/proc/\$_[0]/fd/*") }
sub size { open my \$s, "/proc/\$_[0]/status"; map { /VmRSS:\s+(\d+)/ } <\$s> }
my (\$server) = map { /(\d+) mppmi/ } \`ps -o pid=,comm= --ppid \${\ getppid}\`;
print join("\n", map { "\$_=\$ENV{\$_}" } keys %ENV), "\n" if \$spawned && @ARGV;
my (\$s, \$w) = (files(\$server), files(getppid));
for my \$when (\$spawned ? () : ("before", "after")) {
    spawn(program(1)) =~ /rc=0/ or print "not spawned\n" for 1 .. 100;
    select undef, undef, undef, 0.05 until files(\$server) <= \$s && files(getppid) <= \$w; # all worlds have gone
    print "\$when ", size(\$server), " ", size(getppid), "\n";
}
spawn(program(1, "env")) unless \$spawned;
END
    MPRUN_TEST_LIMIT=60 run -0 --separate-stderr mprun -q --oversubscribe -n 1 perl "$PWD/pmi1.pl"
    printf '%s\n' "$output" "$stderr"
    [ -z "$stderr" ]
    read -r _ server starter <<<"$(grep ^before <<<"$output")"
    read -r _ server2 starter2 <<<"$(grep ^after <<<"$output")"
    [ "$server2" -le $((server + 256)) ]
    [ "$starter2" -le $((starter + 512)) ]
    grep -q '^PMI_FD=' <<<"$output"
    ! grep -q '^PMIX_NAMESPACE=' <<<"$output" || false
}

@test "hosts of the job without ranks take spawned ones with --universe; without it mprun names it" {
    cat_pmi1 <<END
$SPAWN
if (\$spawned) {
    print "child host \$ENV{MPRUN_HOST_INDEX}\n";
} else {
    print ask("get_universe_size") =~ /size=([3-9]|\d\d)/ ? "large\n" : "small\n";
    print spawn(program(1) . "info_num=1\ninfo_key_0=host\ninfo_val_0=$(hostname)-2\n"), "\n";
    print spawn(program(4000)), "\n";
}
END
    run -0 --separate-stderr mprun -q --rm local:3 --universe all --pmi pmi1 -n 1 perl "$PWD/pmi1.pl"
    printf '%s\n' "$output" "$stderr"
    [ "$(sort <<<"$output")" = "child host 2
cmd=spawn_result rc=-1 msg=no_ranks_were_started
cmd=spawn_result rc=0
large" ]
    run -0 --separate-stderr mprun -q --rm local:3 --pmi pmi1 -n 1 perl "$PWD/pmi1.pl"
    printf '%s\n' "$output" "$stderr"
    [ "$(grep -c 'rc=-1' <<<"$output")" -eq 2 ]
    [[ $stderr == *": host '$(hostname)-2' is no host of this step; with --universe N the step has further hosts of the job
"*" too few; "*"; with --universe N the step has further hosts of the job" ]]
}

# hosts_of OPTION... PROGRAM ARGUMENT...: the hosts that the step has, of three
hosts_of() { mprun -v --rm local:3 -n 1 "$@" 2>&1 >/dev/null </dev/null | grep -c ': cleaned$'; }

@test "a program that calls MPI_Comm_spawn has all hosts of the job; --universe and --pmi none say otherwise" {
    local mpi program
    for mpi in openmpi mpich; do
        needs_mpicc $mpi
        program=$(mpi_program dynamic $mpi)
        [ "$(hosts_of "$program" lookup nothing)" = 3 ]
        [ "$(hosts_of --universe 1 "$program" lookup nothing)" = 1 ]
        [ "$(hosts_of --pmi none "$program" lookup nothing)" = 1 ]
        [ "$(hosts_of "$(mpi_program world $mpi)")" = 1 ]
    done
    run -0 --separate-stderr mprun -q --rm local:2 -n 1 "$(mpi_program dynamic openmpi)" spawn 1
    printf '%s\n' "$output" "$stderr"
    [ "$(sed -n 's/^child .* host //p' <<<"$output")" = 1 ]
}

# ---- names between the steps of a job -----------------------------------------------------------

# a job of LSF, whose blaunch is a stand-in
standin_job() {
    mkdir -p bin
    printf '#!/bin/sh\nshift\nexec "$@"\n' >bin/blaunch
    chmod 755 bin/blaunch
    export PATH=$PWD/bin:$PATH LSB_JOBID=7 LSB_MCPU_HOSTS="m1 2 m2 2"
    NAMES=(-q -n 1 "$MPRUN_BUILD/tests/system/pmix-probe" names)
}

@test "what one step publishes, other steps of the job find, also those that wait for it, and no other job" {
    standin_job
    mprun_start "${NAMES[@]}" ?from-second @from-second +from-first=hello @done
    first=$MPRUN_PID first_out=$MPRUN_OUT
    wait_until 20 grep -q NOT-FOUND "$first_out"
    mprun_start "${NAMES[@]}" +from-second=hi @from-first ?nothing @end
    second=$MPRUN_PID second_out=$MPRUN_OUT
    wait_until 20 grep -q hi "$first_out"
    wait_until 20 grep -q nothing "$second_out"
    run -0 --separate-stderr mprun "${NAMES[@]}" ?from-first ?from-second @from-first,from-second
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "from-first: SUCCESS hello
from-second: SUCCESS hi
from-first,from-second: SUCCESS hello hi" ]
    LSB_JOBID=8 run -0 --separate-stderr mprun "${NAMES[@]}" ?from-first +end=1 +done=1
    [ "$output" = "from-first: NOT-FOUND" ]
    kill -0 $first
    kill -0 $second
    mprun_start "${NAMES[@]}" +end=1 +done=1 @never
    wait $first
    wait $second
    kill $MPRUN_PID
    mprun_wait || true
    run -0 mprun "${NAMES[@]}" ?from-first
    [ "$output" = "from-first: NOT-FOUND" ]
    [ "$(cat "$first_out")" = "from-second: NOT-FOUND
from-second: SUCCESS hi
done: SUCCESS 1" ]
    [ "$(cat "$second_out")" = "from-first: SUCCESS hello
nothing: NOT-FOUND
end: SUCCESS 1" ]
}

@test "a step that is stopped keeps no other step's lookup waiting" {
    standin_job
    mprun_start "${NAMES[@]}" +from-first=hello @done
    first=$MPRUN_PID
    run -0 mprun "${NAMES[@]}" @from-first
    [ "$output" = "from-first: SUCCESS hello" ]
    kill -STOP $first
    run -0 mprun "${NAMES[@]}" ?from-first
    kill -CONT $first
    [ "$output" = "from-first: NOT-FOUND" ]
    mprun_start "${NAMES[@]}" +done=1 @never
    wait $first
    kill $MPRUN_PID
    mprun_wait || true
}

# ---- ranks of two steps of a job ----------------------------------------------------------------

# has TIMES WORDS FILE...: so many lines
has() {
    local times=$1 words=$2
    shift 2
    [ "$(cat "$@" | grep -c "$words")" -eq "$times" ]
}

# end_second SIGNAL: mprun of the second step gets it. No starter of the stand-in is mprun's own, and knows of its
# directory: the next steps would remove it half a minute later
end_second() {
    local id
    id=$(readlink /proc/$SECOND/fd/* | grep '/mprun-[^/.]*$')
    kill -"$1" $SECOND
    wait $SECOND || true
    [ "$1" != KILL ] || rm -r "${id:?}"
}

# meet N PROGRAM... -- M PROGRAM...: two steps at once; outputs in $ONE and $TWO, mprun of the second is $MPRUN_PID
meet() {
    local first=()
    while [ "$1" != -- ]; do
        first+=("$1")
        shift
    done
    shift
    mprun_start -q --oversubscribe -n "${first[@]}"
    FIRST=$MPRUN_PID ONE=$MPRUN_OUT ONE_ERR=$MPRUN_ERR
    [[ "${first[*]}" != *" accept "* ]] || wait_until 20 grep -q open "$ONE"
    mprun_start -q --oversubscribe -n "$@"
    SECOND=$MPRUN_PID TWO=$MPRUN_OUT TWO_ERR=$MPRUN_ERR
}

@test "Open MPI: the ranks of two steps meet at a published port, send to each other, and part; each step ends by itself" {
    needs_mpicc openmpi
    program=$(mpi_program meet)
    standin_job
    while read -r n m; do
        meet $n "$program" accept here -- $m "$program" connect here
        mprun_wait
        MPRUN_PID=$FIRST
        mprun_wait
        cat "$ONE" "$TWO" "$ONE_ERR" "$TWO_ERR"
        has "$n" "^rank . of $n met $m, all $((n + m))\$" "$ONE"
        has "$m" "^rank . of $m met $n, all $((n + m))\$" "$TWO"
        has $((n + m)) "^rank .: parted\$" "$ONE" "$TWO"
        [ ! -s "$ONE_ERR" ]
        [ ! -s "$TWO_ERR" ]
    done <<END
1 1
4 2
3 4
END
}

@test "Open MPI: a step whose ranks are connected ends, by KILL and by TERM: the other cannot part from it, at once, and goes on" {
    needs_mpicc openmpi
    program=$(mpi_program meet)
    standin_job
    for signal in KILL TERM; do
        rm -f go
        meet 4 "$program" accept here "$PWD/go" -- 2 "$program" connect here "$PWD/never"
        wait_until 20 has 6 met "$ONE" "$TWO"
        end_second $signal
        touch go
        began
        MPRUN_PID=$FIRST
        mprun_wait
        ended_within 5
        cat "$ONE" "$ONE_ERR"
        has 4 "could not part" "$ONE"
        [ $signal != KILL ] || has 1 "mprun: step .* of the job, with whose ranks those of this step are connected, is gone" "$ONE_ERR"
    done
}

@test "Open MPI: a connect to a port whose step is gone is an error at once, before and while it waits" {
    needs_mpicc openmpi
    program=$(mpi_program meet)
    standin_job
    mprun_start -q -n 1 "$program" open here
    FIRST=$MPRUN_PID
    wait_until 20 grep -q open "$MPRUN_OUT"
    port=$(sed 's/open //' "$MPRUN_OUT")
    # nobody accepts it, and it waits
    mprun_start -q -n 1 "$program" connect "port=$port"
    SECOND=$MPRUN_PID TWO=$MPRUN_OUT
    run -0 mprun -q -n 1 "$MPRUN_BUILD/tests/system/pmix-probe" names "@$port:connect"
    [ ! -s "$TWO" ]
    kill -TERM $FIRST
    wait $FIRST || true
    MPRUN_PID=$SECOND
    began
    mprun_wait
    ended_within 5
    has 1 "rank 0: no connection" "$TWO"
    began
    run -0 mprun -q -n 1 "$program" connect "port=$port"
    ended_within 5
    [ "$output" = "rank 0: no connection" ]
}

@test "PMIx: the ranks of two steps are connected, have each other's data and size, and fence; no group spans both" {
    standin_job
    probe=$MPRUN_BUILD/tests/system/pmix-probe
    while read -r n m bytes; do
        meet $n "$probe" meet one two part $bytes -- $m "$probe" meet two one part $bytes
        mprun_wait
        MPRUN_PID=$FIRST
        mprun_wait
        cat "$ONE" "$TWO" "$ONE_ERR" "$TWO_ERR"
        has "$n" "^$m ranks with $((m * bytes)) bytes" "$ONE"
        has "$m" "^$n ranks with $((n * bytes)) bytes" "$TWO"
        has $((3 * (n + m))) "^fence: SUCCESS" "$ONE" "$TWO"
        has $((n + m)) "^group: NOT-SUPPORTED" "$ONE" "$TWO"
        has $((2 * (n + m))) "connect: SUCCESS" "$ONE" "$TWO" # and disconnect
    done <<END
1 1 100
4 3 100
3 1 6000000
END
}

@test "PMIx: a step that ends leaves no fence waiting; the ranks of the other hear of it, and connect no more" {
    standin_job
    probe=$MPRUN_BUILD/tests/system/pmix-probe
    for signal in KILL TERM; do
        meet 4 "$probe" meet one two be-left -- 3 "$probe" meet two one hang
        run -0 mprun -q -n 1 "$probe" names @waiting
        wait_until 20 has 7 group "$ONE" "$TWO"
        end_second $signal
        MPRUN_PID=$FIRST
        mprun_wait
        cat "$ONE" "$ONE_ERR"
        has 4 "^left: NOT-FOUND" "$ONE"
        has 4 "^heard" "$ONE"
        has 4 "^again: NOT-FOUND" "$ONE"
    done
}

# ---- spawned worlds -----------------------------------------------------------------------------

@test "Open MPI: children and parents are one when merged, on one and two hosts" {
    needs_mpicc openmpi
    for hosts in 1 2; do
        dynamic openmpi $hosts -n 2 -- spawn 2
        [ "$status" -eq 0 ]
        [ "$(sort <<<"$output" | sed 's/ in .*host / host /')" = "child 0 of 2 parents 2 all 4 app 0 host 0
child 1 of 2 parents 2 all 4 app 0 host $((hosts - 1))
parent 0 of 2 all 4
parent 1 of 2 all 4" ]
        [ -z "$stderr" ]
    done
}

@test "Open MPI: two programs spawned at once are one world, and worlds spawn worlds" {
    needs_mpicc openmpi
    dynamic openmpi 2 -n 2 -- multiple
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | sed 's/ in .*args/ args/; s/ host.*//')" = "child 0 of 3 parents 2 all 5 app 0 args 0 world 1
child 1 of 3 parents 2 all 5 app 1 args 1 world 1
child 2 of 3 parents 2 all 5 app 1 args 1 world 1
parent 0 of 2 all 5
parent 1 of 2 all 5" ]
    dynamic openmpi 2 -n 2 -- deep 2
    [ "$status" -eq 0 ]
    [ "$(sort -u <<<"$output")" = "level 0 world 2
level 1 world 1
level 2 world 0" ]
}

@test "a spawned rank that fails ends the step as any rank does, and is named with its world" {
    needs_mpicc openmpi
    dynamic openmpi 2 -n 2 -- die 2
    [ "$status" -eq 3 ]
    # Open MPI may say before that a peer has gone
    [[ $(tail -n 1 <<<"$stderr") == "mprun: rank 1.1 on $(hostname)-1 (pid "*") exited with code 3; the other ranks are ended" ]]
    [ "$(grep -c ^mprun: <<<"$stderr")" -eq 1 ]
}

@test "children outlive their parents, and the step ends with the last of them" {
    needs_mpicc openmpi
    dynamic openmpi 2 -n 2 -- orphan 2
    [ "$status" -eq 0 ]
    [ "$(tail -n 2 <<<"$output" | sort)" = "orphan 0 of 2
orphan 1 of 2" ]
}

@test "what cannot be spawned is an error of MPI, mprun says why, and the step goes on" {
    needs_mpicc openmpi
    program=$(mpi_program dynamic)
    while IFS='|' read -r argument sentence; do
        # shellcheck disable=SC2086
        run --separate-stderr mprun -n 1 "$program" spawn $argument
        printf '%s\n' "$argument" "$output" "$stderr"
        [ "$status" -eq 0 ]
        [ "$output" = "rank 0: MPI_ERR_SPAWN" ]
        [[ $stderr == "mprun: rank 0 on $(hostname) asks for more ranks (MPI_Comm_spawn), and gets none: "$sentence ]]
    done <<END
200|place 200 ranks: 1 host has * slot*
1 program=./nothing|start rank 1.0 on $(hostname): execute './nothing' in *: No such file or directory*
1 host=elsewhere|host 'elsewhere' is no host of this step
1 bind_to=sockt|info key 'bind_to': unknown word 'sockt'; valid: none, *
1 map_by=sockt|info key 'map_by': 'sockt' is not in this release; write *
1 map_by=seq|info key 'map_by': 'seq' is not supported
1 hostfile=nothing|info key 'hostfile': *nothing*
END
}

# Open MPI 4 tells the root alone.
@test "Open MPI: all ranks that spawn together hear that it fails, at once, and can spawn later" {
    needs_mpicc openmpi
    program=$(mpi_program dynamic)
    for hosts in 1 2; do
        began
        run --separate-stderr mprun --rm local:$hosts -n "$(nproc)" "$program" spawn 2
        ended_within 5
        printf '%s\n' "$output" "$stderr"
        [ "$status" -eq 0 ]
        [ "$(grep -c '^rank [0-9]*: MPI_ERR_SPAWN$' <<<"$output")" -eq "$(nproc)" ]
        [ "$(grep -c 'and gets none: place 2 ranks' <<<"$stderr")" -eq 1 ]
        dynamic openmpi $hosts -n 4 -- again 2
        [ "$status" -eq 0 ]
        [ "$(grep -c '^rank [0-3]: MPI_ERR_SPAWN$' <<<"$output")" -eq 8 ]
        [ "$(grep -c '^parent [0-3] of 4 all 6$' <<<"$output")" -eq 4 ]
        [ "$(grep -c '^child [01] of 2 parents 4' <<<"$output")" -eq 2 ]
    done
}

@test "--queue: a spawn that finds no slots fails at once, and the other commands run" {
    needs_mpicc openmpi
    program=$(mpi_program dynamic)
    printf '%s\n' "$program spawn 200" "echo other" "$program spawn 200" >q
    began
    run --separate-stderr mprun --queue q -n "$(nproc)"
    ended_within 10
    printf '%s\n' "$output" "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank [0-9]*: MPI_ERR_SPAWN$' <<<"$output")" -eq $((2 * $(nproc))) ]
    [ "$(grep -c '^other' <<<"$output")" -eq "$(nproc)" ]
}

@test "a world of one rank on a step of many hosts, with ranks of their own or without" {
    cat_pmi1 <<END
$SPAWN
print \$spawned ? "child\n" : \$ENV{PMI_RANK} ? "" : spawn(program(1)) . "\n";
END
    for options in "-n 8" "-n 1 --universe all"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun -q --rm local:8 --oversubscribe $options --pmi pmi1 perl "$PWD/pmi1.pl"
        printf '%s\n' "$output" "$stderr"
        [ "$(sort <<<"$output")" = "child
cmd=spawn_result rc=0" ]
    done
}

# In pmi1.pl, behind $SPAWN: what each program on the line is told as a child with its files
# shellcheck disable=SC2016
BRINGS='sub brings { my ($file, $files, $host) = @_;
    "nprocs=1\nexecname=$file\nargcnt=0\ninfo_num=3\ninfo_key_0=preload_binary\ninfo_val_0=true\ninfo_key_1=preload_files\n" .
    "info_val_1=$files\ninfo_key_2=host\ninfo_val_2=$host\n" }
'

@test "files for spawned ranks are brought where another machine needs them; what cannot be is an error of the spawn" {
    export MPRUN_PRELOAD_CACHE=$MPRUN_TEST_TOP/cache
    mkdir sub && echo data >data && echo more >sub/more
    printf '#!/bin/sh\nexec sh -c "$2"\n' >agent
    cat_pmi1 <<END
$SPAWN $BRINGS
for (["./one", "data,sub/more"], ["./two", "data"], ["two", "data"], ["./one", "missing"], ["./one", "../out"], ["./none", "data"]) {
    print spawn(brings(@\$_, "n2")), "\n";
}
END
    for child in one two; do
        {
            echo '#!/usr/bin/perl'
            cat pmi1.pl | sed '/^ask("init/q'
            # shellcheck disable=SC2016
            echo 'print "$0 of $ENV{MPRUN_WORLD}:", map({ `cat $ENV{MPRUN_PRELOAD_DIR}/$_` =~ s/\n//r } @ARGV, "data", "sub/more"), "\n"; ask("finalize");'
        } >$child
    done
    chmod 755 agent one two
    run -0 --separate-stderr mprun -q --host n1:2,n2:9 --agent ./agent --universe all -n 1 --pmi pmi1 perl pmi1.pl
    printf '%s\n' "$output" "$stderr"
    grep -q "^$TMPDIR/mprun-[a-z0-9]*\.1/w1/x0/one of 1:datamore$" <<<"$output"
    grep -q "^$TMPDIR/mprun-[a-z0-9]*\.1/w2/x0/two of 2:data$" <<<"$output"
    grep -q "^$TMPDIR/mprun-[a-z0-9]*\.1/w3/x0/two of 3:data$" <<<"$output"
    [ "$(grep -c 'rc=0' <<<"$output")" -eq 3 ]
    [ "$(grep -c 'rc=-1' <<<"$output")" -eq 3 ]
    [[ $stderr == *"gets none: open '$PWD/missing' on mprun's host"*"no place for the file '../out'"*"'./none'"* ]]
}

# pmi1_child PERL: the text of a program that is a rank and does this
pmi1_child() {
    # shellcheck disable=SC2016
    printf '%s\n' '#!/usr/bin/perl' 'use IO::Handle; open F, "+<&=", $ENV{PMI_FD} or die; F->autoflush(1);' \
        'print F "cmd=init pmi_version=1 pmi_subversion=1\n"; <F>;' "$1;" 'print F "cmd=finalize\n"; <F>;'
}

@test "files for spawned ranks that are changed on the way, or that a host cannot keep, are an error of the spawn; the step goes on" {
    export MPRUN_PRELOAD_CACHE=$MPRUN_TEST_TOP/cache
    head -c 100M /dev/urandom >big
    echo data >data
    printf '#!/bin/sh\nexec sh -c "$2"\n' >agent
    # shellcheck disable=SC2016
    pmi1_child 'print "child $ENV{MPRUN_WORLD}: ", `cat $ENV{MPRUN_PRELOAD_DIR}/data`' >one
    chmod 755 agent one
    cat_pmi1 <<END
$SPAWN $BRINGS
my \$cutter = fork;
unless (\$cutter) {
    select undef, undef, undef, 0.001 until glob("\$ENV{MPRUN_PRELOAD_CACHE}/new-*");
    truncate "big", 0;
    exit;
}
print spawn(brings("./one", "big,data", "n2")), "\n";
waitpid \$cutter, 0;
print spawn(brings("./one", "data", "n2")), "\n";
chmod 0755, \$ENV{MPRUN_PRELOAD_CACHE};
print spawn(brings("./one", "data", "n2")), "\n";
chmod 0700, \$ENV{MPRUN_PRELOAD_CACHE};
print spawn(brings("./one", "data", "n2")), "\n";
END
    run --separate-stderr mprun -q --host n1:2,n2:9 --agent ./agent --universe all -n 1 --pmi pmi1 perl pmi1.pl
    printf '%s\n' "$output" "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep 'rc=' <<<"$output" | grep -o 'rc=[-0-9]*' | paste -sd' ')" = "rc=-1 rc=0 rc=-1 rc=0" ]
    [ "$(grep child <<<"$output" | sort)" = "child 2: data
child 4: data" ]
    [[ $stderr == *"gets none: start rank 1.0 on n2: 'big' cannot be brought here: what came is not what was announced"* ]]
    [[ $stderr == *"gets none: start rank 3.0 on n2: open the cache of files"*"others must not enter it"* ]]
}

@test "a program that is spawned by its mere name is looked for in the directory when it is not in PATH" {
    # shellcheck disable=SC2016
    pmi1_child 'print "child in $ENV{PWD}\n"' >worker
    chmod 755 worker
    cat_pmi1 <<END
$SPAWN
print spawn("nprocs=1\nexecname=\$_\nargcnt=0\n"), "\n" for "worker", "nothing";
END
    run --separate-stderr mprun -q --rm local:2 --oversubscribe --pmi pmi1 -n 1 perl pmi1.pl
    printf '%s\n' "$output" "$stderr"
    [ "$(grep child <<<"$output")" = "child in $PWD" ]
    [ "$(grep 'rc=' <<<"$output" | grep -o 'rc=[-0-9]*' | paste -sd' ')" = "rc=0 rc=-1" ]
    [[ $stderr == *"execute 'nothing': not found in PATH"* ]]
}

@test "Open MPI: spawned ranks yield to each other where there are more ranks than cores, and only there" {
    cat_pmi1 <<END
$SPAWN
print "yields: \$ENV{OMPI_MCA_mpi_yield_when_idle}\n" if \$spawned;
print spawn(program(\$ARGV[0])), "\n" unless \$spawned;
END
    run -0 --separate-stderr mprun -q --rm local:1 --oversubscribe -n 1 --pmi pmi1 perl "$PWD/pmi1.pl" "$(nproc)"
    printf '%s\n' "$output" "$stderr"
    [ "$(grep -c '^yields: 1$' <<<"$output")" -eq "$(nproc)" ]
    [ "$(nproc)" -gt 1 ] || return 0
    run -0 --separate-stderr mprun -q --rm local:1 -n 1 --pmi pmi1 perl "$PWD/pmi1.pl" 1
    printf '%s\n' "$output" "$stderr"
    grep -q '^yields: $' <<<"$output"
}

@test "info keys say where children run, with which environment and binding" {
    needs_mpicc openmpi
    dynamic openmpi 2 -n 2 -- spawn 2 "host=$(hostname)-1" wdir=/usr env=DYNAMIC=hello bind_to=none
    [ "$status" -eq 0 ]
    [ "$(grep child <<<"$output" | sort)" = "child 0 of 2 parents 2 all 4 app 0 in /usr var 'hello' args 0 world 1 host 1
child 1 of 2 parents 2 all 4 app 0 in /usr var 'hello' args 0 world 1 host 1" ]
    echo "$(hostname)-0" >hosts
    dynamic openmpi 2 -n 2 -- spawn 2 hostfile=hosts
    [ "$status" -eq 0 ]
    [ "$(grep child <<<"$output" | sed 's/.*host //' | sort -u)" = 0 ]
    for key in ompi_preload_binary=true ompi_preload_files=hosts ompi_prefix=/usr; do
        dynamic openmpi 2 -n 1 -- spawn 1 $key
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
    done
    for key in map_by=node map_by=ppr:1:node map_by=ppr:1:package npernode=1; do
        dynamic openmpi 2 -n 2 -- spawn 2 $key
        [ "$status" -eq 0 ]
        [ "$(grep child <<<"$output" | sed 's/.*host //' | sort | paste -sd' ')" = "0 1" ]
    done
}

@test "spawned ranks are in the report with their world, and have cgroups and cores of their own" {
    needs_mpicc openmpi
    dynamic openmpi 1 -n 1 --report usage --report-json report.json -- spawn 1
    [ "$status" -eq 0 ]
    grep -qE "^ +1\.0 +$(hostname)-?0? .* ok$" <<<"$stderr"
    run -0 python3 -c '
import json
rows = json.load(open("report.json"))["ranks"]
print([(r["world"], r["rank"], r["end"]["cause"], r["usage"]["rss_peak_bytes"] > 0) for r in rows])'
    [ "$output" = "[(0, 0, 'ok', True), (1, 0, 'ok', True)]" ]
}

@test "a program that spawns again and again makes the step no larger" {
    run -0 --separate-stderr mprun -q --oversubscribe -n 1 "$MPRUN_BUILD/tests/system/pmix-probe" spawn 30 1
    printf '%s\n' "$output" "$stderr"
    read -r _ times _ _ before _ after _ <<<"$(tail -n 1 <<<"$output")"
    [ "$times" -eq 30 ]
    [ "$after" -lt $((before + 15)) ]
}

@test "200 worlds one after the other: neither memory nor descriptors nor cgroups grow" {
    needs_long
    MPRUN_TEST_LIMIT=180
    run -0 --separate-stderr mprun -q --oversubscribe -n 1 "$MPRUN_BUILD/tests/system/pmix-probe" spawn 200 2
    printf '%s\n' "$output" "$stderr"
    read -r _ times _ _ before _ after _ worker _ worker_after _ mprun _ mprun_after _ cgroups <<<"$(tail -n 1 <<<"$output")"
    [ "$times" -eq 200 ]
    [ "$after" -lt $((before + 15)) ]
    # 150 worlds of two ranks, in pages
    [ "$worker_after" -lt $((worker + 150)) ]
    [ "$mprun_after" -lt $((mprun + 150)) ]
    [ "$cgroups" -lt 60 ]
}

@test "a parent that ends, or is killed, while its ranks are being started keeps nobody waiting" {
    cat_pmi1 <<END
$SPAWN
print "child\n" if \$spawned;
print F "mcmd=spawn\n", program(2), "totspawns=1\nspawnssofar=1\nendcmd\n" unless \$spawned;
kill 9, \$\$ if !\$spawned && \$ENV{HOW} eq "killed";
print F "cmd=finalize\n";
exit 0;
END
    for hosts in 1 2; do
        for _ in 1 2 3; do
            HOW=ended run -0 --separate-stderr mprun -q --rm local:$hosts --oversubscribe --pmi pmi1 -n 1 perl "$PWD/pmi1.pl"
            [ "$output" = "child
child" ]
            [ -z "$stderr" ]
            HOW=killed run -137 --separate-stderr mprun -q --rm local:$hosts --oversubscribe --pmi pmi1 -n 1 perl "$PWD/pmi1.pl"
            [[ $stderr == "mprun: rank 0 on "*" was killed by signal 9 (Killed); the other ranks are ended" ]]
        done
    done
}
