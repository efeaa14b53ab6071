#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# queue.bats - many commands in one step: --queue, --joblog, --resume, --retries
load '../lib/mprun'

MPRUN_TEST_LIMIT=60

# The lines that mprun has written, without host and pid.
said() { sed 's/ on [^ ]* (pid [0-9]*)//' <<<"$stderr"; }
# Number, exit code, signal and command of each line of a joblog, by number.
ended() { tail -n +2 "$1" | sort -n | cut -f 1,7-; }

queue() { run --separate-stderr mprun --rm "local:${HOSTS:-2}" "$@"; printf '%s\n' "exit code $status" "$output" "$stderr"; }

@test "--queue FILE: each line is a command, by itself or for a shell; comments are none" {
    printf '%s\n' 'echo one  two' '# none' '' "  echo 'a  b' > shell; cat shell" 'echo $MPRUN_QUEUE_NUMBER' >q
    queue --queue q
    [ "$status" -eq 0 ]
    [ "$(sorted)" = "3 a  b one two " ]
    [ -z "$stderr" ]
    run --separate-stderr mprun --rm local:2 --queue - <q
    [ "$status" -eq 0 ]
    [ "$(sorted)" = "3 a  b one two " ]
    printf '%s\n' ': none' 'command -v cd' >q # of the shell alone
    queue --queue q
    [[ $status = 0 && $output = cd ]]
    printf '%s\n' 'exec echo shell' 'exit 5' >q
    queue -q --queue q
    [[ $status = 5 && $output = shell ]]
    printf 'echo one\necho t\0o\n' >q
    queue --queue q
    [[ $status = 125 && $stderr == "mprun: --queue: file 'q': line 2 has a NUL byte: that is no text" ]]
}

@test "--queue with a program: lines and the words behind ':::' are its arguments" {
    printf '%s\n' 'dir/a b.txt' '$HOME' >args
    queue --queue args echo
    [ "$(sort <<<"$output")" = '$HOME
dir/a b.txt' ]
    queue --queue args echo '{#}:{.}:{/}:{//}:{/.}:{}:{x}:{0}'
    [ "$(sort <<<"$output")" = '1:dir/a b:a b.txt:dir:a b:dir/a b.txt:{x}:{0}
2:$HOME:$HOME:.:$HOME:$HOME:{x}:{0}' ]
    queue -q --queue ::: echo {//} ::: /etc
    [ "$output" = / ]
    queue --queue ::: echo {1}-{2} {} ::: a b ::: 1 2
    [ "$(sort <<<"$output")" = "a-1 a 1
a-2 a 2
b-1 b 1
b-2 b 2" ]
}

@test "--outfile-pattern out.%q: each command of a queue has a file of its own" {
    queue --queue ::: --outfile-pattern 'out.%3q' --errfile-pattern 'err.%q.%r' sh -c 'echo $0; echo $0 >&2' ::: a b c
    [[ $status = 0 && -z $output$stderr ]]
    [ "$(cat out.001 out.002 out.003 err.1.0 err.2.0 err.3.0 | paste -sd' ')" = "a b c a b c" ]
    # what comes when the command has ended, too
    queue -q --outfile-pattern 'big/%q.out' --errfile-pattern 'big/%q.%p' --queue ::: sh -c 'seq 50000; seq 100000 >&2' ::: {1..40}
    [ "$(ls big | wc -l) $(cat big/*.out | wc -l) $(cat big/*.*[0-9] | wc -l)" = "80 2000000 4000000" ]
    queue -q --prepend-pattern '%g ' --queue ::: echo ::: a b c
    [ "$(sorted)" = "0 a 0 b 0 c " ]
    run -0 --separate-stderr mprun --rm local -n 1 --prepend-pattern '%q ' echo x
    [ "$output" = "- x" ]
}

@test "--dry-run and --explain of a queue leave the joblog as it is" {
    printf '%s\n' 'touch first' 'touch second' >q
    echo joblog >log
    queue --queue q --joblog ./q
    [[ $status = 125 && $stderr == "mprun: --joblog './q' is the file of --queue, and would replace it; name another" ]]
    for option in --dry-run --explain; do
        queue $option --queue q --joblog log
        [[ $status = 0 && -z $stderr && $output == *"arguments: first"* ]]
        [ "$(cat log)" = joblog ]
    done
    [[ ! -e first && ! -e second ]]
}

@test "--queue with --stdin file: each command reads it" {
    echo zero >in.0
    echo one >in.1
    queue -n 2 --stdin file:in.%r --queue ::: sh -c 'echo $0 $(cat)' ::: 1 2 3
    [ "$(sorted)" = "1 one 1 zero 2 one 2 zero 3 one 3 zero " ]
    queue -q -n 1 --stdin file:in.2 --queue ::: cat ::: -
    [[ $status = 125 && $stderr == *"read standard input from 'in.2'"* ]]
}

@test "--queue with --wrap: each command is wrapped, and is told its rank" {
    queue -n 2 --wrap 'env W=%r' --ranks 1 --queue ::: sh -c 'echo $0 $MPRUN_RANK $W' ::: 1 2
    [ "$(sorted)" = "1 0 1 1 1 2 0 2 1 1.1 " ]
}

@test "--queue: as many commands run as there are slots for, each with its own cores" {
    # two that wait for each other while the third must not run; neither ends before both have looked
    cat >pair <<'END'
meet() { touch $1.$2; until [ -e $1.$((3 - $2)) ]; do sleep 0.02; done; }
meet in $1
[ ! -e third ] || exit 1
meet out $1
END
    printf '%s\n' 'sh pair 1' 'sh pair 2' 'touch third' >q
    for more in -q --oversubscribe; do
        rm -f third in.* out.*
        queue $more --queue q
        [ "$status" -eq 0 ]
        [ -e third ]
    done
    HOSTS=1 queue -n 1 --queue ::: sh -c 'mkdir one && rmdir one; echo $MPRUN_SIZE' ::: 1 2 3
    [ "$status" -eq 0 ]
    queue -n 2 --queue ::: sh -c 'echo $MPRUN_RANK of $MPRUN_SIZE on $MPRUN_HOST_INDEX' ::: 1 2
    [ "$(sort <<<"$output")" = "0 of 2 on 0
0 of 2 on 0
1 of 2 on 1
1 of 2 on 1" ]
}

@test "--queue: commands of more ranks than there are slots run one at a time" {
    for more in -q --oversubscribe; do
        queue $more -n 3 --queue ::: sh -c '[ $MPRUN_RANK != 0 ] || { mkdir one && echo $0 && rmdir one; }' ::: a b c d
        [ "$status" -eq 0 ]
        [ "$output" = $'a\nb\nc\nd' ]
        [ -z "$stderr" ]
    done
}

@test "--queue: a command gets the cores of one that has ended" {
    needs_cores 2
    cat >cores <<'END'
sed -n "s/Cpus_allowed_list:/$MPRUN_QUEUE_NUMBER/p" /proc/self/status
case $MPRUN_QUEUE_NUMBER in
1) until [ -e begun ]; do sleep 0.05; done ;; # else command 2 may get its core
2) touch begun; until [ -e over ]; do sleep 0.05; done ;;
5) touch over ;;
esac
END
    run --separate-stderr mprun --rm local --bind-to core --queue ::: sh cores ::: 1 2 3 4 5
    printf '%s\n' "$output" "$stderr"
    [ "$status" -eq 0 ]
    # command 2 runs all the time, and has its core alone
    awk '{ core[$1] = $2 } END { for (i in core) if (i != 2 && (core[i] == core[2] || core[i] !~ /^[0-9]+$/)) exit 1 }' <<<"$output"
    [ "${#lines[@]}" -eq 5 ]
}

@test "--queue: a command that fails is said, the others go on, and the first gives the exit code" {
    queue --queue ::: sh -c 'exit $0' ::: 0 3 4 0
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ] # they run at the same time
    [ "$(said | sed 's/rank [0-9]*\(\.0\)\?/rank R/' | sort)" = "mprun: 2 of 4 commands failed
mprun: command 2 ('sh -c 'exit \$0' 3'): rank R exited with code 3
mprun: command 3 ('sh -c 'exit \$0' 4'): rank R exited with code 4" ]
    HOSTS=1 queue --queue ::: sh -c 'kill -9 $$' ::: 1
    [ "$status" -eq 137 ]
    run -127 --separate-stderr mprun --queue - <<<$'./missing-program\ntrue'
    [[ $stderr == *"command 1 ('./missing-program')"*"1 of 2 commands failed" ]]
}

@test "--queue: a rank that fails ends its command and no other" {
    cat >some <<'END'
case $1.$MPRUN_RANK in
bad.1) exit 5 ;;
bad.0) sleep 1000 ;;
*) echo good ;;
esac
END
    queue -n 2 --queue ::: sh some ::: bad good bad good
    [ "$status" -eq 5 ]
    [ "$output" = "good
good
good
good" ]
    [[ $stderr == *"2 of 4 commands failed" ]]
    # nor the other ranks of the command, where that is asked for
    queue -n 2 --enable-recovery --queue ::: sh -c '[ $MPRUN_RANK = 0 ] || exit 5; sleep 1; echo on' ::: 1
    [[ $status = 5 && $output = on ]]
}

@test "--retries: a command that fails runs again, and its success is one" {
    umask 027
    HOSTS=1 queue --joblog log --retries 2 --queue ::: sh -c 'echo x >>tries.$0; [ $(wc -l <tries.$0) -gt $0 ]' ::: 0 1 2 3
    [ "$status" -eq 1 ]
    [ "$(wc -l <tries.3)" -eq 3 ]
    [[ $(said) == *"exited with code 1; it is run again (2 of 2)"*"1 of 4 commands failed" ]]
    [ "$(ended log | cut -f 1-3)" = $'1\t0\t0\n2\t0\t0\n3\t0\t0\n4\t1\t0' ]
    [ "$(stat -c %a log)" = 640 ]
}

@test "--queue: a rank that aborts gives its command the code, and how it ends then does not count" {
    cat >abort.pl <<'END'
use IO::Handle;
open F, "+<&=", $ENV{PMI_FD}; F->autoflush;
print F "cmd=init pmi_version=1 pmi_subversion=1\n"; <F>;
print F "cmd=abort exitcode=$ARGV[0]\n" unless -e "aborted.$ARGV[0]";
open A, ">aborted.$ARGV[0]";
exit 3;
END
    HOSTS=1 queue -q --pmi pmi1 -n 1 --joblog log --queue ::: perl abort.pl ::: 0 7
    [ "$(ended log | cut -f 1-3)" = $'1\t0\t0\n2\t7\t0' ]
    [ "$status" -eq 7 ]
    # but does when it runs again
    rm aborted.*
    HOSTS=1 queue --pmi pmi1 -n 1 --retries 1 --joblog log --queue ::: perl abort.pl ::: 7
    [ "$(ended log | cut -f 1-3)" = $'1\t3\t0' ]
    [[ $(said) == *"called abort with code 7; it is run again (1 of 1)"*"exited with code 3"* ]]
}

@test "--joblog: a command that is ended at a limit has the signal" {
    HOSTS=1 queue --limit rank:cput=1s --joblog log --queue ::: sh -c 'while :; do :; done' ::: 1
    [ "$status" -gt 128 ]
    [ "$(ended log | cut -f 1-3)" = "1	0	$((status - 128))" ]
}

@test "--joblog and --resume: what has succeeded does not run again, also after an interruption" {
    printf '%s\n' 'echo a' 'kill -9 $$' 'false' 'echo "x	y"' >q
    queue --queue q --joblog log
    [ "$status" -ne 0 ]
    [ "$(ended log)" = $'1\t0\t0\techo a
2\t0\t9\tkill -9 $$
3\t1\t0\tfalse
4\t0\t0\techo "x\ty"' ]
    head -n 1 log | grep -qx $'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand'
    queue --queue q --joblog log --resume
    [ -z "$output" ]
    [[ $stderr == *"2 of 4 commands failed" ]]
    sed -i 's/echo a/echo b/' q
    queue --queue q --joblog log --resume
    [ "$status" -eq 125 ]
    [[ $stderr == *"'log' line "[2-5]": command 1 was 'echo a', and is 'echo b' now"* ]]
    printf '%s\n' true 'touch begun; sleep 1000' 'touch third; sleep 1000' true >q
    mprun_start --rm local:2 --queue q --joblog log
    wait_until 30 [ -e begun -a -e third ]
    kill -INT "$MPRUN_PID"
    run ! mprun_wait
    grep -q "3 of 4 commands did not end; --resume runs what has not succeeded" "$MPRUN_ERR"
    sed -i 's/sleep 1000/sleep 0/' q
    ended log
    [ "$(ended log)" = $'1\t0\t0\ttrue' ]
    queue --queue q --joblog log --resume
    [ "$status" -eq 0 ]
    [ "$(ended log | wc -l)" -eq 4 ]
    queue --queue q --joblog log --resume
    [ "$status" -eq 0 ]
    [[ $stderr == *"every command has succeeded before"* ]]
}

# as a full disk leaves it, or a kill
@test "--joblog has the host of the command's first rank, not of ranks that it spawns and that end later" {
    cat >rank.pl <<'END'
use IO::Handle;
exit select undef, undef, undef, 0.5 if $ENV{PMI_SPAWNED};
open F, "+<&=", $ENV{PMI_FD}; F->autoflush;
for ("cmd=init pmi_version=1 pmi_subversion=1\n", "mcmd=spawn\nnprocs=1\nexecname=$^X\narg1=$0\nargcnt=1\ntotspawns=1\nspawnssofar=1\nendcmd\n",
     "cmd=finalize\n") { print F $_; <F> }
END
    queue -q --universe 2 --pmi pmi1 --joblog log --queue ::: perl rank.pl ::: 1
    [[ $status = 0 && $(tail -n 1 log | cut -f 2) = *-0 ]]
}

@test "--resume goes on behind a line of the joblog that was not written to its end" {
    queue --joblog log --queue ::: echo ::: a b c
    last=$(tail -c 2 log)
    truncate -s -3 log
    for again in "$last" ''; do
        queue --joblog log --resume --queue ::: echo ::: a b c
        [ "$status" -eq 0 ]
        [ "$output" = "$again" ]
        [ "$(ended log)" = $'1\t0\t0\techo a\n2\t0\t0\techo b\n3\t0\t0\techo c' ]
    done
}

@test "--queue: a reader of mprun that has enough ends the queue" {
    seq 2000 >n
    export MPRUN
    run bash -c '"$MPRUN" --rm local:2 --overlap --queue n echo 2>err | head -n 1; echo "${PIPESTATUS[0]}"'
    tail -n 3 err
    [ "${lines[1]}" = 141 ]
    [[ $(without_notes "$(<err)") == "mprun: "*" of 2000 commands did not end" ]]
    run bash -c '"$MPRUN" --rm local:2 --overlap --queue n sh -c "yes; exit" 2>err | head -n 1; echo "${PIPESTATUS[0]}"'
    tail -n 3 err
    [ "${lines[1]}" = 141 ]
    [ "$(without_notes "$(<err)")" = "mprun: 2000 of 2000 commands did not end" ]
    # a program that ignores SIGPIPE
    run bash -c '"$MPRUN" --rm local:2 --overlap --queue n perl -e "\$SIG{PIPE} = q(IGNORE); \$| = 1; 1 while print qq(x\n); exit 4" 2>err | head -n 1; echo "${PIPESTATUS[0]}"'
    tail -n 3 err
    [ "${lines[1]}" = 4 ]
    [[ $(grep -c "exited with code 4" err) = 1 && $(cat err) == *"mprun: 2000 of 2000 commands did not end" ]]
}

@test "--queue: commands of MPI programs are worlds of their own" {
    needs_mpicc openmpi
    for mpi in openmpi mpich; do
        command -v mpicc.$mpi >/dev/null || continue
        hello=$(mpi_program hello $mpi)
        queue -n 2 --queue ::: "$hello" ::: 1 2 3
        [ "$status" -eq 0 ]
        [ "$(grep -c 'rank [01] of 2' <<<"$output")" -eq 6 ]
        [ -z "$stderr" ]
    done
}

@test "--queue: MPI_Abort, and worlds that ranks spawn, belong to their command" {
    needs_mpicc openmpi
    ending=$(mpi_program ending openmpi) dynamic=$(mpi_program dynamic openmpi)
    printf '%s\n' "$ending after 1 abort 7" "$dynamic spawn 1" "$dynamic die 1" "$ending after 1 abort 0" >q
    HOSTS=1 queue -q --oversubscribe -n 2 --joblog log --queue q
    [ "$(ended log | cut -f 1-3)" = $'1\t7\t0\n2\t0\t0\n3\t3\t0\n4\t0\t0' ]
    [[ $stderr == *"called abort with code 7"*"2 of 4 commands failed" ]]
    # the rank that aborts with 0 may exit before it is killed
    for _ in {1..20}; do echo "$ending after 1 abort 0"; done >q
    HOSTS=1 queue -q --oversubscribe -n 2 --queue q
    [ "$status" -eq 0 ]
}

@test "--queue: what a rank of a command that has failed asks for is not started" {
    cat >rank.pl <<'END'
use IO::Handle;
sleep 1000 if $ENV{PMI_SPAWNED};
sub await { select undef, undef, undef, 0.05 until -e $_[0] }
if ($ENV{PMI_RANK}) { open P, ">one"; print P $$; close P; await "fail"; exit 3 }
open F, "+<&=", $ENV{PMI_FD}; F->autoflush;
print F "cmd=init pmi_version=1 pmi_subversion=1\n"; <F>;
open R, ">ready"; await "ask";
print F "mcmd=spawn\nnprocs=1\nexecname=$^X\narg1=$0\nargcnt=1\ntotspawns=1\nspawnssofar=1\nendcmd\n";
open A, ">asked"; sleep 1000;
END
    echo "perl $PWD/rank.pl" >q
    mprun_start -q --rm local:1 --oversubscribe --pmi pmi1 -n 2 --queue q
    wait_until 20 test -e ready
    wait_until 20 test -s one
    # mprun hears that rank 1 has failed, and what rank 0 asks for, together
    kill -STOP "$MPRUN_PID"
    touch fail
    wait_until 20 process_gone "$(cat one)"
    sleep 0.3
    touch ask
    wait_until 20 test -e asked
    sleep 0.3
    kill -CONT "$MPRUN_PID"
    rc=0; mprun_wait || rc=$?
    cat "$MPRUN_ERR"
    [ "$rc" -eq 3 ]
}

@test "--queue without PMI, and hundreds of commands" {
    seq 300 >n
    for pmi in none pmix; do
        queue --pmi $pmi --queue n echo
        [ "$status" -eq 0 ]
        [ "$(sort -n <<<"$output")" = "$(seq 300)" ]
        [ -z "$stderr" ]
    done
}

@test "--queue: ranks do not count as large as mprun, which has the whole list" {
    needs_no_sanitizers "larger"
    printf 'true %0100000d\n' {1..200} >q
    mprun --rm local:1 --queue q --report-json report.json
    python3 -c 'import json; most = max(r["usage"]["rss_peak_bytes"] for r in json.load(open("report.json"))["ranks"]); assert most < 16e6, most'
}

@test "--queue: the wall time of every command stands still while the step is suspended" {
    printf '%s\n' true 'touch begun; sleep 2' >q
    mprun_start --rm local:1 --limit rank:wall=6s --queue q
    wait_until 10 test -e begun
    kill -TSTP "$MPRUN_PID"
    sleep 6.5
    kill -CONT "$MPRUN_PID"
    mprun_wait
}

@test "--queue: what cannot be is one sentence" {
    wrong() { # PATTERN ARGS...
        run -125 --separate-stderr mprun "${@:2}"
        printf '%s\n' "$stderr"
        [ "${#stderr_lines[@]}" -eq 1 ]
        # shellcheck disable=SC2053 # a pattern
        [[ $stderr == $1 ]]
    }
    echo true >q
    wrong '*--joblog is for --queue*' --joblog l true
    wrong '*--max-restarts N*' --retries 2 true
    wrong '*--resume is for --queue*' --resume true
    wrong '*--joblog FILE*' --queue q --resume
    wrong '*one program, or none*' --queue q true : -n 1 true
    wrong '*cannot share an input*' --queue q --stdin all
    wrong '*cannot share a terminal*' --queue q --pty
    wrong '*file ?missing?: open it: No such file*' --queue missing
    : >empty
    wrong '*?empty? has no commands*' --queue empty
    echo "echo 'a" >open
    wrong '*file ?open?: line 1: *' --queue open
    wrong '*needs a program and its arguments*' --queue ::: true
    wrong '*a ?:::? has no words behind it*' --queue ::: true :::
    wrong '*keep one*' --queue q true ::: 1
    wrong '*--joblog: write ?/nowhere/log?: No such file*' --queue q --joblog /nowhere/log
    wrong '*3*slots*' --rm local:2 --nooversubscribe -n 3 --queue q
    echo garbage >log
    wrong '*?log? line 1: it is no line of a joblog*' --queue q --joblog log --resume
}
