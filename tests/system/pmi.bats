#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# pmi.bats - what the PMI server promises ranks that speak to it without an MPI: PMI-2 by Slurm's client
# library and by hand, and what becomes of ranks that send what they should not
load '../lib/mprun'

setup_file() {
    export PMI2_CLIENT=$BATS_FILE_TMPDIR/pmi2-client
    [ ! -e /usr/include/slurm/pmi2.h ] ||
        cc -O1 -o "$PMI2_CLIENT" "$MPRUN_SOURCE/tests/system/mpi/pmi2.c" -I/usr/include/slurm -lpmi2
}

needs_pmi2_client() { [ -x "$PMI2_CLIENT" ] || skip "needs libpmi2-0-dev"; }

# A rank in perl: say BYTES, ask BYTES (with the answer), pmi1 LINE, pmi2 FIELDS; init2
# shellcheck disable=SC2016,SC2034
SIMPLE='use IO::Handle; $| = 1; open F, "+<&=", $ENV{PMI_FD} or die "no PMI_FD"; $rank = $ENV{PMI_RANK};
    sub say { my $s = shift; while (length $s) { my $n = syswrite F, $s; defined $n or exit 9; substr($s, 0, $n) = "" } }
    sub heard { my $n = sysread F, my $s, 1 << 20; $n or exit 9; $s }
    sub pmi1 { say "$_[0]\n"; heard }
    sub hear { my $n = shift; my $s = ""; while (length $s < $n) { sysread F, $s, $n - length $s, length $s or exit 9 } $s }
    sub heard2 { hear hear 6 }
    sub pmi2 { say sprintf "%6d%s", length $_[0], $_[0]; heard2 }
    sub init2 { pmi1("cmd=init pmi_version=2 pmi_subversion=0") =~ /rc=0/ or die }
'

# refused SENTENCE PROGRAM: two ranks run the perl program; the step ends with the sentence, and mppmi has not crashed
refused() {
    began
    run --separate-stderr mprun -q -n 2 --oversubscribe --kill-grace "$(patience 50)" perl -e "$SIMPLE $2"
    printf '%s\n' "$2: exit code $status" "$output" "$stderr"
    [ "$status" -eq 125 ]
    ended_within 20
    [[ $stderr == *"the PMI server on "*" cannot serve: PMI of rank "[01]": $1"* ]]
}

@test "PMI-2: ranks on 1, 2 and 3 hosts are one world, by a client library that is not ours" {
    needs_pmi2_client
    for hosts in 1 2 3; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 6 "$PMI2_CLIENT" world
        printf '%s\n' "$output" "$stderr"
        [ "$(grep -c "^rank [0-5] of 6 app 0 spawned 0 (vector,(0,$hosts,$((6 / hosts)))) universe none ok$" <<<"$output")" -eq 6 ]
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr mprun -q --oversubscribe -n 2 "$PMI2_CLIENT" world : -n 2 "$PMI2_CLIENT" world
    [ "$(grep -c ' app 1 ' <<<"$output")" -eq 2 ]
}

@test "PMI-2: an abort ends the step" {
    needs_pmi2_client
    run --separate-stderr mprun -q --rm local:2 --oversubscribe -n 4 "$PMI2_CLIENT" abort
    echo "$stderr"
    [ "$status" -eq 1 ]
    [[ $stderr == *"rank 3 on "*" called abort with code 1"* ]]
}

@test "PMI-2: two programs are spawned at once, and find their parent's port in two ways" {
    needs_pmi2_client
    run -0 --separate-stderr mprun -q --rm local:2 --oversubscribe -n 1 "$PMI2_CLIENT" spawn
    printf '%s\n' "$output" "$stderr"
    [ "$(sed 's/job [a-z0-9]*-/job STEP-/' <<<"$output" | sort)" = "child 0 app 0 'a;b c' in /usr ports tag;1$ port;2$
child 1 app 1 '' in elsewhere ports tag;1$ port;2$
child 2 app 1 '' in elsewhere ports tag;1$ port;2$
job STEP-1" ]
    [ -z "$stderr" ]
}

# ---- when the PMI server starts ---------------------------------------------------------------------

# The servers that the starter of this rank has
# shellcheck disable=SC2016
SERVERS='servers() { ps -o comm= --ppid "$PPID" | grep -c mppmi; }; '

@test "a step whose ranks ask for no PMI has no PMI server, until tools may attach" {
    # shellcheck disable=SC2016
    run -0 --separate-stderr mprun -q --rm local:2 -n 2 --oversubscribe sh -c "$SERVERS"'
        servers; until [ "$(servers)" = 1 ]; do sleep .1; done; servers'
    printf '%s\n' "$output" "$stderr"
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "0 0 1 1 " ]
    [ -z "$stderr" ]
}

@test "the first word of a rank starts the PMI server, which has all that ranks have said before" {
    # shellcheck disable=SC2016
    run -0 --separate-stderr mprun -q -n 2 --oversubscribe perl -e "$SIMPLE"'
        sub servers { my @s = grep /mppmi/, `ps -o comm= --ppid ${\ getppid}`; scalar @s }
        print "none\n" unless servers;
        pmi1("cmd=init pmi_version=1 pmi_subversion=1") =~ /rc=0/ or die;
        print servers, "\n"; pmi1 "cmd=finalize"'
    printf '%s\n' "$output" "$stderr"
    [[ $(sort <<<"$output" | tr '\n' ' ') =~ ^'1 1 none '(none )?$ ]]
    [ -z "$stderr" ]
    # who goes without a word starts none
    # shellcheck disable=SC2016
    run -0 mprun -q -n 2 --oversubscribe bash -c "$SERVERS"'eval "exec $PMI_FD>&-"; sleep .3; servers || :' # the time is the test
    [ "$output" = $'0\n0' ]
    # one need not wait for an answer
    # shellcheck disable=SC2016
    run --separate-stderr mprun -q -n 2 --oversubscribe perl -e "$SIMPLE"'$rank or say "cmd=abort exitcode=7\n"; $rank and sleep 1000'
    echo "$stderr"
    [ "$status" -eq 7 ]
    [[ $stderr == *"rank 0 on "*" called abort with code 7"* ]]
}

@test "a script's MPI program is the first to ask, on two hosts, for each MPI" {
    for probe in mpi-probe mpi-probe-mpich; do
        [ -x "$MPRUN_BUILD/tests/system/$probe" ] || skip "needs both MPIs"
        # shellcheck disable=SC2016
        run -0 --separate-stderr mprun -q --rm local:2 -n 4 --oversubscribe sh -c 'sleep "0.$MPRUN_RANK"; "$0" hello; :' "$MPRUN_BUILD/tests/system/$probe"
        printf '%s\n' "$output" "$stderr"
        [ "$(grep -c '^rank [0-3] size 4 local 2 .*sum 10$' <<<"$output")" -eq 4 ]
    done
}

# changed_list SED: in tree, a copy of the programs, whose list of variables was changed
changed_list() {
    rm -rf tree
    mkdir -p tree/launcher tree/starter tree/pmix-server
    for program in launcher/mprun starter/mpstarter pmix-server/mppmi pmix-server/pmix-variables; do
        cp "$MPRUN_BUILD/$program" "tree/$program"
    done
    sed -i "$1" tree/pmix-server/pmix-variables
}

@test "ranks wait for a PMIx library that is another one than when mprun was built; a wrong list of its variables is an error" {
    [ -x "$MPRUN_BUILD/tests/system/pmix-probe" ] || skip "needs PMIx"
    for change in '1s/$/1/' d 's/^PMIX_VERSION=.*/PMIX_VERSION=0/'; do
        changed_list "$change"
        # shellcheck disable=SC2016
        MPRUN=$PWD/tree/launcher/mprun run --separate-stderr mprun -q -n 2 --oversubscribe \
            sh -c 'echo $PMIX_GDS_MODULE; "$0" init' "$MPRUN_BUILD/tests/system/pmix-probe"
        printf '%s\n' "$change: $status" "$output" "$stderr"
        if [[ $change == *VERSION* ]]; then
            [ "$status" -eq 125 ]
            [[ $stderr == *"the PMI server on "*" cannot serve: the PMIx library is set up differently from when mprun was built: it sets PMIX_VERSION="*"mppmi --variables"* ]]
        else
            [ "$status" -eq 0 ]
            [[ $output == *ds21* ]]
        fi
    done
}

@test "--pmi says which of the two versions a rank can have" {
    run -0 --separate-stderr mprun -q -n 1 --pmi pmi1 perl -e "$SIMPLE print pmi1 'cmd=init pmi_version=2 pmi_subversion=0'"
    [ "$output" = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1" ]
    run -0 --separate-stderr mprun -q -n 1 --pmi pmi2 perl -e "$SIMPLE print pmi1 'cmd=init pmi_version=1 pmi_subversion=1'"
    [ "$output" = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1" ]
    run -0 --separate-stderr mprun -q -n 1 --pmi pmi2 perl -e "$SIMPLE init2; print pmi2(\"cmd=fullinit;pmirank=0;threaded=TRUE;\"); pmi2 \"cmd=finalize;\""
    [[ $output == "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=1;"*"rc=0;" ]]
}

@test "PMI-2: threads of a rank wait beside each other; what mppmi does not have is an error" {
    cat >play <<'END'
init2;
say sprintf "%6d%s", length $_, $_ for "cmd=info-getnodeattr;thrid=7;key=a;wait=TRUE;", "cmd=info-getnodeattr;thrid=8;key=b;wait=TRUE;";
print pmi2("cmd=info-putnodeattr;thrid=9;key=b;value=x;;y;"), "\n";
print heard2, "\n", pmi2("cmd=info-putnodeattr;thrid=9;key=a;value=;"), "\n", heard2, "\n";
print pmi2("cmd=spawn;thrid=1;ncmds=1;preputcount=0;subcmd=true;maxprocs=x;argc=0;"), "\n";
print pmi2("cmd=job-connect;thrid=1;jobid=x;"), "\n";
print pmi2("cmd=name-publish;name=pmix.x;port=p;"), "\n"; # PMIx has such names for itself
print pmi2("cmd=kvs-get;jobid=other;key=x;"), "\n";
print pmi2("cmd=kvs-get;key=x;"), "\n";
print pmi2("cmd=kvs-put;key=" . "k" x 65 . ";value=v;"), "\n";
print pmi2("cmd=kvs-put;key=k;value=" . "v" x 1025 . ";"), "\n";
pmi2 "cmd=finalize;";
END
    run -0 --separate-stderr mprun -q -n 1 perl -e "$SIMPLE $(cat play)"
    echo "$output"
    grep -q '^cmd=spawn-response;thrid=1;rc=1;errmsg=bad_spawn;$' <<<"$output"
    grep -q '^cmd=job-connect-response;thrid=1;rc=1;' <<<"$output"
    grep -q '^cmd=name-publish-response;rc=1;errmsg=not_possible;$' <<<"$output"
    grep -q '^cmd=kvs-get-response;rc=1;' <<<"$output"
    grep -q '^cmd=kvs-get-response;found=FALSE;rc=0;$' <<<"$output"
    [ "$(grep -c '^cmd=kvs-put-response;rc=1;errmsg=bad_put;$' <<<"$output")" -eq 2 ]
    grep -q 'cmd=info-getnodeattr-response;thrid=8;found=TRUE;value=x;;y;rc=0;' <<<"$output"
    grep -q 'cmd=info-getnodeattr-response;thrid=7;found=TRUE;value=;rc=0;' <<<"$output"
}

@test "lines and messages that are too long, cut off, or no requests end the step with a sentence" {
    # shellcheck disable=SC2016
    refused "a line of PMI-1 that is too long" 'say "cmd=put kvsname=world-0 key=" . "k" x (1 << 20) . " value=v\n"; heard'
    refused "a line of PMI-1 that is too long" 'say "cmd=put kvsname=world-0 key=" . "k" x 6000 . " value=v\n"; heard'
    refused "a line that is no command of PMI-1" 'say "\n"; heard'
    refused "a line that is no command of PMI-1" 'say "cmd\0=init\n"; heard'
    refused "a line that is no command of PMI-1" 'say join(" ", "cmd=init", ("a=") x 1024) . "\n"; heard'
    refused "a message of PMI-2 that does not begin with its length" 'init2; say " 99999cmd=kvs-put;key=" . "k" x 99999; heard'
    refused "a message of PMI-2 that does not begin with its length" 'init2; say "cmd=fullinit;"; heard'
    refused "a message of PMI-2 that does not begin with its length" 'init2; say "    -1cmd=fullinit;"; heard'
    refused "a message of PMI-2 with a zero byte" 'init2; say "    14cmd=full\0init;"; heard'
    refused "a message that is no command of PMI-2" 'init2; say "    12cmd=fullinit"; heard'
    refused "it is in the fence already" 'if ($rank == 0) { init2; say "    14cmd=kvs-fence;" x 2 } sleep 100'
    # half a message, and then the end
    run -0 --separate-stderr mprun -q -n 1 perl -e "$SIMPLE say 'cmd=in'"
    run -0 --separate-stderr mprun -q -n 1 perl -e "$SIMPLE init2; say '    99cmd=full'; say ''; exit 0" || [ "$status" -eq 1 ]
}

@test "a port that is too long for PMI-1 is an error to who looks it up, and not no answer" {
    cat >play <<'END'
if ($rank) {
    select undef, undef, undef, 0.05 until -e "published";
    pmi1 "cmd=init pmi_version=1 pmi_subversion=1";
    print pmi1 "cmd=lookup_name service=$_" for "long", "short";
    pmi1 "cmd=finalize";
} else {
    init2;
    pmi2("cmd=name-publish;name=long;port=" . "x" x 5000 . ";") =~ /rc=0/ or die;
    pmi2("cmd=name-publish;name=short;port=y;") =~ /rc=0/ or die;
    open P, ">published"; close P; pmi2 "cmd=finalize;";
}
END
    run -0 --separate-stderr mprun -q -n 2 --oversubscribe perl -e "$SIMPLE $(cat play)"
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "cmd=lookup_result info=fail rc=1 msg=not_possible
cmd=lookup_result info=ok rc=0 msg=success port=y" ]
}

@test "answers that a rank does not want do not pile up in the PMI server" {
    cat >play <<'END'
pmi1 "cmd=init pmi_version=1 pmi_subversion=1";
($kvs) = pmi1("cmd=get_my_kvsname") =~ /kvsname=(\S+)/; pmi1 "cmd=put kvsname=$kvs key=k value=" . "v" x 1000;
sub memory { my $s = qx(grep -h ^VmRSS /proc/\$(pgrep -x -P ${\getppid} mppmi)/status); $s =~ /(\d+)/; $1 }
$before = memory; shutdown F, 0 or die; say "cmd=get kvsname=$kvs key=k\n" x 1000 for 1 .. 50;
$grown = memory() - $before; print $grown < 20000 ? "ok\n" : "$before kB and $grown more\n"; say "cmd=finalize\n";
END
    run -0 --separate-stderr mprun -q -n 1 perl -e "$SIMPLE $(cat play)"
    printf '%s\n' "$output" "$stderr"
    [ "$output" = ok ]
}

@test "10,000 puts, and more than a rank may put: errors, and no other rank notices" {
    cat >play <<'END'
init2; pmi2 "cmd=fullinit;";
if ($rank == 0) {
    pmi2("cmd=kvs-put;key=k$_;value=" . "v" x 1000 . ";") =~ /rc=0/ or die for 1 .. 10000;
    for (1 .. 8000) { $last = pmi2("cmd=kvs-put;key=m$_;value=" . "v" x 1000 . ";"); $refused += $last =~ /rc=1;errmsg=more_bytes_than_a_rank_may_put/ }
    $refused > 0 or die;
}
pmi2("cmd=kvs-fence;") =~ /rc=0/ or die;
pmi2("cmd=kvs-get;key=k10000;") =~ /value=v{1000};/ or die;
print "rank $rank ok\n"; pmi2 "cmd=finalize;";
END
    run -0 --separate-stderr mprun -q --rm local:2 -n 2 --oversubscribe perl -e "$SIMPLE $(cat play)"
    [ "$(sort <<<"$output")" = "rank 0 ok
rank 1 ok" ]
}

# ---- PMIx ---------------------------------------------------------------------------------------

needs_probe() {
    PROBE=$MPRUN_BUILD/tests/system/pmix-probe
    [ -x "$PROBE" ] || skip "needs pmix-probe"
}

@test "PMIx: events reach the handlers of ranks on all hosts, also those that are registered later" {
    needs_probe
    for hosts in 1 2 4; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 4 "$PROBE" events
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        here=$((4 / hosts - 1))
        [ "$(grep -c '^here heard 2: 3 says all$' <<<"$output")" -eq $here ]
        [ "$(grep -c '^elsewhere heard 1: 3 says all$' <<<"$output")" -eq $((3 - here)) ]
        grep -q '^local: SUCCESS$' <<<"$output"
        grep -q '^kept: 3 says ' <<<"$output"
        [ -z "$stderr" ]
    done
}

@test "PMIx: groups are made and ended across hosts, and each has a number of its own" {
    needs_probe
    for hosts in 1 2 4; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 4 "$PROBE" group
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        [ "$(grep '^construct: SUCCESS' <<<"$output" | sort | uniq -c | awk '{print $1}' | paste -sd' ')" = "4 4" ]
        [ "$(grep -c '^destruct: SUCCESS$' <<<"$output")" -eq 8 ]
        [ "$(grep -c '^half-[01]: SUCCESS$' <<<"$output")" -eq 8 ]
        [ -z "$stderr" ]
    done
}

@test "PMIx: what a rank asks for and no message takes ends the step with a sentence" {
    needs_probe
    run -125 --separate-stderr mprun -q -n 1 "$PROBE" publish-much 68000000
    printf '%s\n' "$output" "$stderr"
    [[ $stderr == *"mppmi on $(hostname): mppmi: NAME_REQUEST of 680000"*" bytes is longer than a message may be (67108864)"* ]]
}

@test "PMIx: questions about the step are answered, and what mppmi does not do is an error at once" {
    needs_probe
    run -0 --separate-stderr mprun -q --rm local:2 --oversubscribe -n 2 "$PROBE" refused
    printf '%s\n' "$output" "$stderr"
    for what in allocation output input credential; do
        [ "$(grep -c "^$what: NOT-SUPPORTED$" <<<"$output")" -eq 2 ]
    done
    [ "$(grep -c '^spawn: JOB FAILED TO LAUNCH$' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^probe.unknown: NOT-FOUND$' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^pmix.qry.ns: SUCCESS own$' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^pmix.job.size: SUCCESS 2$' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^pmix.num.nodes: SUCCESS 2$' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^pmix.job.size: NOT-FOUND$' <<<"$output")" -eq 2 ]
}

@test "PMIx: a rank signals, stops and ends others, on its host and elsewhere" {
    needs_probe
    for hosts in 1 2; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 4 "$PROBE" control
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        [ "$(sort <<<"$output")" = "checkpoint: NOT-SUPPORTED
kill: SUCCESS
no world: NOT-FOUND
nobody: NOT-FOUND
preemptible: SUCCESS
signal 1
signal 999: BAD-PARAM
stopped and continued" ]
        [ -z "$stderr" ]
    done
}

@test "PMIx: a rank that aborts others alone leaves the step running, and the code is the step's" {
    needs_probe
    run -3 --separate-stderr mprun -q --rm local:2 --oversubscribe -n 4 "$PROBE" abort-last
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "abort: SUCCESS" ]
    [ "$stderr" = "mprun: rank 0 on $(hostname)-0 aborts other ranks, with code 3; the step goes on" ]
}

@test "PMIx: ranks that wait in a connect for a world that ends without it get an error" {
    needs_probe
    run -0 --separate-stderr mprun -q --rm local:2 --oversubscribe --universe 2 -n 1 "$PROBE" connect-in-vain "$(hostname)-1"
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "connect: NOT-FOUND" ]
    [ -z "$stderr" ]
    # so does one that waits for data of such a world
    run -0 --separate-stderr mprun -q --rm local:2 --oversubscribe --universe 2 -n 1 "$PROBE" get-in-vain "$(hostname)-1"
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "get: NOT-FOUND" ]
    [ -z "$stderr" ]
}

@test "PMIx: what ranks log is their output, or an error" {
    needs_probe
    run -0 --separate-stderr mprun -q --tag-output -n 1 "$PROBE" log
    printf '%s\n' "$output" "$stderr"
    [ "$(sort <<<"$output")" = "[0]<stdout>: a result
[0]<stdout>: email: NOT-SUPPORTED
[0]<stdout>: stderr: SUCCESS
[0]<stdout>: stdout: SUCCESS" ]
    [ "$stderr" = "[0]<stderr>: an error" ]
}

@test "PMI-2: a client whose lengths count themselves, as MPICH's does, is understood; a failed spawn is an error to it" {
    # shellcheck disable=SC2016
    CLIENT='sub long { say sprintf "%-6d%s%s", length($_[0]) + 6, $_[0], $_[1]; heard2 }
        init2; print long("cmd=fullinit;pmirank=$rank;threaded=FALSE;", "\0" x 6), "\n";
        print long("cmd=kvs-put;key=a;value=b;;c;", "x;y=z;"), "\n", long("cmd=kvs-fence;", ";;;;;;"), "\n";
        print long("cmd=kvs-get;jobid=$ENV{MPRUN_STEP_ID}-0;srcid=-1;key=a;", "value;"), "\n";
        print long("cmd=spawn;ncmds=1;preputcount=0;subcmd=./nothing;maxprocs=1;argc=0;infokeycount=0;", "abcdef"), "\n";
        print long("cmd=finalize;", "\0;\0;\0;"), "\n"'
    run -0 --separate-stderr mprun --oversubscribe -n 1 perl -e "$SIMPLE $CLIENT"
    printf '%s\n' "$output" "$stderr"
    [[ $output == "cmd=fullinit-response;"*"rc=0;
cmd=kvs-put-response;rc=0;
cmd=kvs-fence-response;rc=0;
cmd=kvs-get-response;found=TRUE;value=b;;c;rc=0;
cmd=spawn-response;errmsg=no_ranks_were_started;
cmd=finalize-response;rc=0;" ]]
    [[ $stderr == *"asks for more ranks (MPI_Comm_spawn), and gets none"*"./nothing"* ]]
}

# ---- programs that do not find PMI --------------------------------------------------------------

@test "an MPI program whose ranks would each be alone is named before the start, with its library and what to add" {
    while read -r mpi kinds library looks_for add; do
        command -v "mpicc.$mpi" >/dev/null || continue
        program=$(mpi_program world "$mpi")
        run -0 --separate-stderr mprun --oversubscribe --pmi "$kinds" -n 2 "$program"
        printf '%s\n' "$mpi, $kinds" "$output" "$stderr"
        [[ $stderr == "mprun: 2 ranks of size 1: '$program' is linked with $library"*"which looks for $looks_for"*"; add --pmi $add" ]]
        run -0 --separate-stderr mprun --oversubscribe --pmi "$kinds" --wdir "${program%/*}" -n 2 "./${program##*/}"
        [[ $stderr == "mprun: 2 ranks of size 1: './${program##*/}' is linked with $library"* ]]
    done <<'END'
openmpi pmi1 libmpi.so. PMIx pmix
openmpi none libmpi.so. PMIx pmix
mpich pmix libmpich.so. PMI-1 pmi1,pmi2
END
}

@test "programs of two MPIs in one step are named before the start, those of one are not" {
    needs_mpicc openmpi
    needs_mpicc mpich
    one=$(mpi_program world openmpi)
    other=$(mpi_program world mpich)
    run --separate-stderr mprun --oversubscribe --timeout 1 -n 1 env "$one" : -n 1 true : -n 1 "$other"
    printf '%s\n' "$status" "$stderr"
    [[ $stderr == "mprun: '$one' is linked with Open MPI and '$other' with MPICH: their ranks cannot be one world"* ]]
    [ "$(grep -c "one world" <<<"$stderr")" -eq 1 ]
    run -0 --separate-stderr mprun --oversubscribe -n 1 "$one" : -n 1 env "$one"
    [ -z "$stderr" ]
}

@test "ranks of an MPI program that have not connected are named at the end, whatever stands before the program" {
    needs_mpicc mpich
    program=$(mpi_program world mpich)
    run -0 --separate-stderr mprun --oversubscribe -n 2 env -i "$program"
    printf '%s\n' "$output" "$stderr"
    [[ $stderr == "mprun: 2 ranks of size 1? '$program' is linked with libmpich.so."*" and no rank has connected: MPI_Init was not called"* ]]
    for words in "-n 2 $program" "-n 1 env -i $program" "-n 2 true" "-q -n 2 env -i $program"; do
        run -0 --separate-stderr mprun --oversubscribe $words
        printf '%s\n' "$words" "$output" "$stderr"
        [ -z "$stderr" ]
    done
}

@test "PMIx: a rank asks which processes the step has, and those of its host" {
    needs_probe
    for hosts in 1 2; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 4 "$PROBE" table
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        here=$((4 / hosts))
        [ "$(grep -c '^pmix.qry.ptable: 4, 4 running, 4 with names, 1 is me$' <<<"$output")" -eq 4 ]
        [ "$(grep -c "^pmix.qry.lptable: $here, $here running, $here with names, 1 is me$" <<<"$output")" -eq 4 ]
        grep -q '^killed$' <<<"$output"
        [ -z "$stderr" ]
    done
}

@test "PMIx: the ranks of a host are found by the name that gethostname() gives, whatever mprun calls the host" {
    needs_probe
    run -0 mprun -q --rm local:2 --oversubscribe -n 4 "$PROBE" peers
    [ "$(sort <<<"$output")" = "rank 0 has 2 from 0 on
rank 1 has 2 from 0 on
rank 2 has 2 from 2 on
rank 3 has 2 from 2 on" ]
}

@test "PMIx: that a rank's heart has stopped is heard on its host and on others" {
    needs_probe
    for hosts in 1 2; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 2 "$PROBE" monitor
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        [ "$(sort <<<"$output")" = "alert
monitor: SUCCESS" ]
    done
}

@test "PMIx: each rank has a session directory of its own, in that of its world" {
    needs_probe
    for hosts in 1 2; do
        run -0 --separate-stderr mprun -q --rm "local:$hosts" --oversubscribe -n 2 "$PROBE" keys
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        [ "$(grep '^directory ' <<<"$output" | sort)" = "directory 0 0
directory 1 1" ]
    done
}

# ---- tools ---------------------------------------------------------------------------------------

# A tool waits for ever when its server goes in the midst of a question (PMIx 4.2).
tool() { time_limited 20 "$MPRUN_BUILD/tests/system/pmix-tool" "$@"; }

needs_pmix_tool() {
    [ -x "$MPRUN_BUILD/tests/system/pmix-tool" ] || skip "needs pmix-tool"
    begin_pmi_early
}

# Sets SERVER to the file by which tools find the first host's PMI server, once that runs
find_server() {
    local pattern="$TMPDIR/mprun-*.0/p/pmix.*.tool.mppmi.*"
    wait_until 15 compgen -G "$pattern" >/dev/null
    SERVER=$(compgen -G "$pattern")
}

# A step of two ranks that run until they get SIGUSR1: tooled HOSTS [OPTION...]
tooled() {
    local hosts=$1
    shift
    rm -f ready.*
    # shellcheck disable=SC2016
    mprun_start -q --rm "local:$hosts" --oversubscribe -n 2 "$@" sh -c \
        'trap "echo rank \$MPRUN_RANK ends; exit 0" USR1; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done
        : >ready.$MPRUN_RANK; while :; do sleep 0.1; done' sh
    wait_until 15 test -e ready.0 -a -e ready.1
    find_server
}

@test "PMIx: a tool asks for the memory of one rank, on one and two hosts" {
    needs_pmix_tool
    for hosts in 1 2; do
        rm -f ready.*
        # shellcheck disable=SC2016
        mprun_start -q --rm "local:$hosts" --oversubscribe -n 2 perl -e \
            '$x = "x" x ($ENV{MPRUN_RANK} * 150e6); open F, ">", "ready.$ENV{MPRUN_RANK}"; close F; sleep 100'
        wait_until 15 test -e ready.0 -a -e ready.1
        find_server
        run -0 --separate-stderr tool "$SERVER" memory
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        averages=([1]=" a host less" " a host less a host 100 MB")
        [ "$(grep -v '^namespace of' <<<"$output")" = "namespace and rank: rank 0 less
process: rank 0 less
namespace and rank: rank 1 100 MB
process: rank 1 100 MB
namespace and rank: NOT-FOUND
process: NOT-FOUND
namespace:${averages[hosts]}
process of nobody: NOT-FOUND" ]
        tool "$SERVER" signal 9 0
        mprun_wait || true
    done
}

# ended_by_tools N DIRECTORY: so many steps, one after the other, whose rank a tool kills; says what each tool is
# told. The name is short: a directory of sockets may not be longer than 60 bytes
# shellcheck disable=SC2016
ended_by_tools() {
    local i
    mkdir "$2" && cd "$2" && export TMPDIR=$PWD || return
    for ((i = 0; i < $1; i++)); do
        rm -f ready
        mprun_start -q -n 1 --rm local:1 --oversubscribe sh -c ': >ready; exec sleep 100'
        wait_until 15 test -e ready
        find_server
        tool "$SERVER" signal 9 0 | sed -n '$p'
        mprun_wait || true
    done
}

@test "PMIx: a tool whose signal ends the step has its answer before" {
    needs_pmix_tool
    for i in 1 2 3; do # beside each other: the library's thread is late, then
        ended_by_tools $((10 ${MPRUN_LONG:+* 10})) "$i" >>answers &
        jobs+=($!)
    done
    wait "${jobs[@]}"
    sort answers | uniq -c
    [ "$(grep -c '^signal: SUCCESS$' answers)" -eq "$(wc -l <answers)" ]
    [ "$(wc -l <answers)" -ge 30 ]
}

# shellcheck disable=SC2016
@test "PMIx: a tool that is no rank attaches, asks, signals ranks, and starts some, on one and two hosts" {
    needs_pmix_tool
    for hosts in 1 2; do
        last=$(hostname)-$((hosts - 1))
        tooled "$hosts"
        run -0 --separate-stderr tool "$SERVER" table
        printf '%s\n' "$hosts hosts" "$output" "$stderr"
        [ "$output" = "namespace of sh
rank 0 on $(hostname)-0: sh, PROC EXECUTING
rank 1 on $last: sh, PROC EXECUTING" ]
        run -0 --separate-stderr tool "$SERVER" spawn 2 sh -c 'echo child $MPRUN_WORLD.$MPRUN_RANK >child.$MPRUN_RANK; until [ -e "$1" ]; do sleep 0.1; done' sh "$PWD/done.$hosts"
        printf '%s\n' "$output" "$stderr"
        [ "$(grep -c '^rank [01] on .*: sh, PROC EXECUTING$' <<<"$output")" -eq 2 ]
        : >"done.$hosts"
        run -1 --separate-stderr tool "$SERVER" spawn 1 ./nothing
        [[ $output == *"spawn: JOB FAILED TO LAUNCH" ]]
        run -0 --separate-stderr tool "$SERVER" usage
        printf '%s\n' "$output" "$stderr"
        [ "$(grep -c ' mprun.usage.cpu: some seconds$' <<<"$output")" -eq 2 ]
        [[ $output == *"all pmix.qry.mem: of $hosts hosts"*"here pmix.qry.mem: of 1 hosts"* ]]
        processes=$(sed -n 's/^all mprun.usage.processes: //p' <<<"$output")
        [ "$processes" -ge 2 ] # the ranks, and what they run
        [ "$(sed -n 's/^here mprun.usage.processes: //p' <<<"$output")" -ge $((3 - hosts)) ]
        [ "$(sed -n 's/^all mprun.usage.memory: //p' <<<"$output")" -ge 100000 ]
        for rank in 0 1; do
            run -0 tool "$SERVER" signal 10 "$rank"
            echo "$output"
            [[ $output == *"signal: SUCCESS" ]]
        done
        mprun_wait
        grep -q '^rank 0 ends$' "$MPRUN_OUT"
        grep -q '^rank 1 ends$' "$MPRUN_OUT"
        [ "$(sort child.0 child.1 | tr '\n' ' ')" = "child 1.0 child 1.1 " ]
        [[ $(<"$MPRUN_ERR") == "mprun: a tool on $(hostname)-0 asks for more ranks (MPI_Comm_spawn), and gets none: "*"./nothing"* ]]
        rm child.*
    done
}

@test "PMIx: what a tool, or a rank that is no MPI, starts may end without MPI_Init" {
    needs_pmix_tool
    needs_probe
    run -0 --separate-stderr mprun -q -n 1 "$PROBE" spawn-program sleep 0.3
    [ -z "$stderr" ]
    run -1 --separate-stderr mprun -q -n 1 "$PROBE" spawn-program sleep 0.3 OMPI_PARENT_PORT=1.0:2
    [[ $stderr == "mprun: rank 1.0 on "*" exited without MPI_Init, in which other ranks wait for it; the other ranks are ended" ]]
    mprun_start -q -n 1 "$PROBE" names ^over
    find_server
    for _ in 1 2; do # the first has ended when the second is started
        run tool "$SERVER" spawn 1 true
        echo "$output"
        [[ $output == *spawned* ]]
    done
    : >over
    mprun_wait
    [ -z "$(<"$MPRUN_ERR")" ]
}

# shellcheck disable=SC2016
@test "PMIx: a tool that asks for ranks while the step ends gets none, and the step has not failed" {
    needs_pmix_tool
    mprun_start -q --rm local:1 -n 1 sh -c 'echo $PPID $$ >rank; until [ -e end ]; do sleep 0.1; done'
    find_server
    wait_until 15 test -s rank
    read -r worker rank <rank
    kill -STOP "$MPRUN_PID"
    touch end
    wait_until 15 process_gone "$rank"
    sleep 0.5
    kill -STOP "$worker"
    kill -CONT "$MPRUN_PID" # says that the step is over
    tool "$SERVER" spawn 1 true >answer 2>&1 &
    sleep 1
    kill -CONT "$worker"
    rc=0; mprun_wait || rc=$?
    cat "$MPRUN_ERR"
    [ "$rc" -eq 0 ]
}

# shellcheck disable=SC2016
@test "PMIx: a tool pushes the standard input of a rank on another host, and of all, to its end; others are refused" {
    needs_pmix_tool
    for to in 1 -1; do
        rm -f ready.*
        mprun_start -q --rm local:2 --oversubscribe -n 2 --stdin "tool:$([ $to = 1 ] && echo 1 || echo all)" --tag-output \
            sh -c ': >ready.$MPRUN_RANK; wc -c; [ $MPRUN_RANK = 1 ] || until [ -e over ]; do sleep 0.1; done'
        wait_until 15 test -e ready.0 -a -e ready.1
        find_server
        run -0 --separate-stderr tool "$SERVER" push 0 10
        printf '%s\n' "$output" "$stderr"
        [ "$(tail -n 3 <<<"$output")" = "push: NOT-FOUND
end: NOT-FOUND
more: NOT-FOUND" ]
        run -0 --separate-stderr tool "$SERVER" push $to 1000000
        printf '%s\n' "$output" "$stderr"
        [ "$(tail -n 3 <<<"$output")" = "push: SUCCESS
end: SUCCESS
more: NOT-SUPPORTED" ]
        : >over
        mprun_wait
        cat "$MPRUN_OUT" "$MPRUN_ERR"
        [ "$(grep -c '<stdout>: 1000000$' "$MPRUN_OUT")" -eq $((to == 1 ? 1 : 2)) ]
        rm over
    done
}

@test "PMIx: what is pushed to a rank that has ended, or that reads nothing, is an error in the end" {
    needs_pmix_tool
    rm -f ready
    # shellcheck disable=SC2016
    mprun_start -q -n 2 --oversubscribe --stdin tool sh -c 'if [ $MPRUN_RANK = 0 ]; then : >ready; until [ -e over ]; do sleep 0.1; done
        else until [ -e all-over ]; do sleep 0.1; done; fi'
    wait_until 15 test -e ready
    find_server
    tool "$SERVER" push 0 1000000 >pushed &
    pid=$!
    wait_until 15 grep -q namespace pushed
    : >over
    wait $pid
    cat pushed
    [ "$(tail -n 3 pushed)" = "push: NOT-SUPPORTED
end: NOT-SUPPORTED
more: NOT-SUPPORTED" ]
    : >all-over
    mprun_wait
}

@test "PMIx: a tool finds the only step of its host by itself, and a rank is a tool under its own name" {
    needs_pmix_tool
    # shellcheck disable=SC2016
    mprun_start -q -n 1 sh -c ': >ready; until [ -e done ]; do sleep 0.1; done; exec "$1" "" namespaces' sh "$MPRUN_BUILD/tests/system/pmix-tool"
    wait_until 15 test -e ready
    find_server
    run -0 tool "" namespaces
    [ "$output" = "namespace of sh" ]
    : >done
    mprun_wait
    [ "$(<"$MPRUN_OUT")" = "namespace of sh" ]
}

has_line() { grep -q "$1" "$2"; }

# shellcheck disable=SC2016
@test "PMIx: tools get the output of the rank that they ask for, wherever it runs, and mprun its own" {
    needs_pmix_tool
    for hosts in 1 2; do
        rm -f go ready.*
        mprun_start -q --rm "local:$hosts" --oversubscribe -n 2 sh -c ': >ready.$MPRUN_RANK; until [ -e go ]; do sleep 0.1; done
            echo first $MPRUN_RANK; echo error >&2; i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i + 1)); done; sleep 0.2; echo last; until [ -e done ]; do sleep 0.1; done'
        wait_until 15 test -e ready.0 -a -e ready.1
        find_server
        pids=()
        for rank in 0 1; do
            tool "$SERVER" pull "$rank" >"pulled.$rank" &
            pids+=($!)
            wait_until 15 has_line 'pull: SUCCESS' "pulled.$rank"
        done
        : >go
        wait "${pids[@]}"
        : >done
        mprun_wait
        rm done
        for rank in 0 1; do
            tail -n 3 "pulled.$rank"
            [ "$(grep "^output of " "pulled.$rank")" = "$(echo "output of $rank: first $rank"; seq -f "output of $rank: line %g" 0 299; echo "output of $rank: last")" ]
            [ "$(grep '^errors of ' "pulled.$rank")" = "errors of $rank: error" ]
        done
        [ "$(grep -c '^line' "$MPRUN_OUT")" -eq 600 ]
    done
}
