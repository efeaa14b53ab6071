#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# keep.bats - the job's agents: mpstarter on the hosts that has starters for all steps of the job. The job is one of
# Grid Engine by its variables; its qrsh is a script that counts its calls, and all hosts are this machine
load '../lib/mprun'

setup() {
    mprun_setup
    export SGE_ROOT=$TMPDIR/sge SGE_BINARY_PATH=$TMPDIR/sge PE_HOSTFILE=$TMPDIR/sge/hosts
    export JOB_ID=$$ SGE_TASK_ID=undefined
    unset PE SGE_JOB_SPOOL_DIR
    mkdir sge
    printf 'h%d 2 q UNDEFINED\n' 0 1 >sge/hosts
    # a host takes one task, as many managers have it where a job has one slot there
    cat >sge/qrsh <<'EOF'
#!/bin/bash
echo "$3" >>"$SGE_ROOT/calls"
if [ -f "$SGE_ROOT/does.$3" ]; then . "$SGE_ROOT/does.$3"; fi
echo $$ >"$SGE_ROOT/pid.$3" # the agent's, in the end
exec 9>"$SGE_ROOT/task.$3"
flock -n 9 || { echo "error: execution daemon on host \"$3\" didn't accept task" >&2; exit 1; }
exec "$4"
EOF
    chmod +x sge/qrsh
    MPRUN_TRANSPORT= # agents are not for stdio
    test_options
    COMMAND="$MPRUN ${MPRUN_OPTIONS[*]} --pmi none --keep=job"
}

# job SCRIPT: in a session of its own, as a manager has it; there m is mprun, x the same in the
# background, and began N returns when N ranks have written to the file `began`
job() {
    cat >script <<EOF
m() { $COMMAND "\$@"; }
x() { exec $COMMAND "\$@"; } # in the background: the process is mprun
calls() { sort sge/calls | uniq -c | tr -s ' \n' ' '; }
began() { until [ "\$(cat began 2>/dev/null | wc -l)" = \$1 ]; do sleep .05; done; }
task_ends() { flock -w $(patience 20) sge/task.\$1 true && echo ended; }
holder() { pgrep -f "mpstarter --hold \$\$\$"; }
agent() { cat sge/pid.\$1; }
$1
EOF
    time_limited "${JOB_LIMIT:-60}" setsid -w bash script
}
# the job is over, and so is all of it
free() { flock -n sge/task.h0 true && flock -n sge/task.h1 true; }
all_over() { wait_until 5 free; }

@test "the manager starts a host once, and the job's next steps have their starters from it" {
    run -0 --separate-stderr job '
        for i in 1 2 3; do m -n 4 sh -c "echo \$MPRUN_HOST_INDEX \$MPRUN_RANK" | sort | tr "\n" " "; done
        m -n 1 sh -c "exit 7"; echo $?
        calls'
    [ "$output" = $'0 0 0 1 1 2 1 3 0 0 0 1 1 2 1 3 0 0 0 1 1 2 1 3 7\n 1 h0 1 h1 ' ]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    all_over
}

@test "a step whose starters agents fork looks for cgroups where its --cgroup-mount says" {
    COMMAND=${COMMAND/--containment=tree/} # of an ordinary user
    run -125 --separate-stderr job 'm -n 2 true; m -n 2 --containment=rank --cgroup-mount "$PWD/none" true'
    echo "$stderr"
    [[ $stderr == *"--containment=rank: this host can only give "*"cgroup v2 is not mounted; "* ]]
    all_over
}

@test "a holder that has no descriptor for one more mprun waits, and takes it when it has one" {
    run -0 --separate-stderr job '
        ticks() { awk "{ print \$14 + \$15 }" /proc/$h/stat; }
        m -n 2 true; h=$(holder)
        prlimit --pid "$h" --nofile=4: # as many as it polls; the next one would be 4
        before=$(ticks)
        x -n 2 echo ran & p=$!
        waits() { ss -Hxl | grep -q " LISTEN *[1-9][0-9]* .*@mprun-agents-[0-9]*-[^ ]*$JOB_ID"; }
        until waits; do sleep .05; kill -0 $p || exit; done
        sleep 1
        echo $(($(ticks) - before < 10))
        prlimit --pid "$h" --nofile=1000:
        wait $p; echo $?'
    [ "$output" = $'1\nran\nran\n0' ]
    all_over
}

@test "in the job's TMPDIR a step makes nothing before something needs it" {
    COMMAND=${COMMAND/--pmi none/}
    echo brought >file
    run -0 --separate-stderr job '
        m -n 1 sh -c "echo \$TMPDIR; ls \$TMPDIR" | grep -e mprun- -e "^$TMPDIR\$"
        m -n 1 --preload-files file sh -c "cat \$TMPDIR/mprun-*.0/*/file; echo \$TMPDIR"'
    [ "$output" = "$TMPDIR
brought
$TMPDIR" ]
    all_over
    rm -r "$TMPDIR"/mprun-cache.*
}

# ---- agents of steps at the same time: no --keep ----

@test "without --keep nothing is left for the next step: mprun ends when the tasks have" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 job 'for i in 1 2 3 4; do m -n 4 true; for h in h0 h1; do flock -n sge/task.$h echo free; done; done
        while holder >hold; do sleep .05; done # it ends a moment later
        calls'
    [ "$output" = $'free\nfree\nfree\nfree\nfree\nfree\nfree\nfree\n 4 h0 4 h1 ' ]
}

@test "steps at the same time have their starters from one agent, which ends with the last of them; --explain says so" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began; until [ -e over1 ]; do sleep .05; done" & p=$!
        began 4
        x -n 4 sh -c "echo >>began; until [ -e over2 ]; do sleep .05; done" & q=$!
        began 8
        m --explain -n 4 true | grep -c "agent there, which another mprun has started"
        m -n 4 sh -c "exit 7"; echo code $?
        touch over1; wait $p; echo code $?
        flock -n sge/task.h0 true || echo held
        m -n 4 echo hi
        touch over2; wait $q; echo code $?
        flock -n sge/task.h0 echo free
        holder || calls'
    [ "$output" = $'2\ncode 7\ncode 0\nheld\nhi\nhi\nhi\nhi\ncode 0\nfree\n 1 h0 1 h1 ' ]
    echo "$stderr"
    [[ $stderr == "mprun: rank "?" on h"?" (pid "*") exited with code 7; the other ranks are ended" ]]
}

@test "kill -9 of the mprun that has started the agents: the other step goes on" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began; sleep 77" & p=$!
        began 4
        x -n 4 sh -c "echo >>began; until [ -e over ]; do sleep .05; done; echo went on" & q=$!
        began 8
        kill -9 $p; wait $p; echo code $?
        m -n 4 true; echo code $?
        touch over; wait $q; echo code $?
        task_ends h0; task_ends h1; calls'
    echo "$output $stderr"
    [ "$output" = $'code 137\ncode 0\nwent on\nwent on\nwent on\nwent on\ncode 0\nended\nended\n 1 h0 1 h1 ' ]
    rm -r "${XDG_RUNTIME_DIR:-$TMPDIR}"/mprun-*
}

@test "steps that begin while others end all run, and the manager refuses none" {
    COMMAND=${COMMAND/--keep=job/}
    JOB_LIMIT=120 run -0 --separate-stderr job '
        for i in $(seq 6); do for k in 1 2 3; do m -n 4 echo "step $i" & sleep .02; done; m -n 4 echo "step $i"; done; wait'
    [ "$(grep -c '^step' <<<"$output")" = 96 ]
    [ -z "$stderr" ]
    all_over
}

@test "a step without agents is waited for, and why; --start-timeout is a time" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 --separate-stderr job '
        x --keep=no -n 4 sh -c "echo >>began; until [ -e over ]; do sleep .05; done" & p=$!
        began 4
        x --transport=stdio -n 4 true 2>said & q=$!
        x -n 4 true 2>also & r=$!
        until grep -q "this is tried again" said && grep -q "this is tried again" also; do sleep .05; done
        m --start-timeout=2 -n 4 true 2>third; echo code $?
        touch over; wait $p $q $r; echo code $?; cat said also third'
    echo "$output"
    [[ $output == $'code 125\ncode 0\nmprun: host h'?": gridengine has no room for one more task of the job (with --transport=stdio no agent of the job can start it; leave that out): this is tried again until another mprun of the job has ended, or for "*$'\nmprun: host h'?": gridengine has no room for one more task of the job: this is tried again"* ]]
    [[ $output == *"mprun: host h"?": "*"within 2 s (--start-timeout)"* ]]
    all_over
}

# after each the job's next step runs, and nothing is left of either
@test "holder or agent is killed: while a step starts, of two steps at once, at the end, and while it is idle" {
    COMMAND=${COMMAND/--keep=job/}
    echo '[ ! -e slow ] || { touch at; until [ -e go ]; do sleep .02; done; }' >sge/does.h1
    # as in `job`: victim ends the process, ends N... are the codes of p and q that may be, next is the next step
    local cell='
        victim() { if [ $VICTIM = holder ]; then kill -9 $(holder); else kill -9 $(agent h1); task_ends h1; fi; }
        rest() { echo "$VICTIM $1: $2"; m -n 4 echo next; rm -f began over; }
        runs() { x -n 4 sh -c "trap \"$1\" TERM; echo >>began; until [ -e over ]; do sleep .05; done"; }
        for VICTIM in holder agent; do
            touch slow; rm -f at go; m -n 4 true & p=$!
            until [ -e at ]; do sleep .02; done
            if [ $VICTIM = holder ]; then victim; else kill -9 $(agent h0); fi
            rm slow; touch go; wait $p; c=$?
            # the worker ends without its agent, or that has not said that it is there
            [ $VICTIM = holder ] || [ $c != 125 ] || c=0
            rest starting $c
            runs "exit 1" & p=$!; began 4; runs "exit 1" & q=$!; began 8
            victim >&2; touch over; wait $p; c=$?; wait $q; rest "two at once" "$c $?"
            runs "" & p=$!; began 4; kill -TERM $p
            victim >&2; touch over; wait $p; rest ending $?
            m --keep=5s -n 4 true; victim >&2; rest idle ""
        done'
    JOB_LIMIT=150 run -0 --separate-stderr job "$cell"
    echo "$output $stderr"
    [ "$(grep -v '^next$' <<<"$output")" = 'holder starting: 0
holder two at once: 0 0
holder ending: 143
holder idle: 
agent starting: 0
agent two at once: 125 125
agent ending: 143
agent idle: ' ]
    [ "$(grep -c '^next$' <<<"$output")" = 32 ]
    wait_until 10 all_over
}

# bats test_tags=root
@test "what cannot reach mprun from its host has a start channel of its own, and no agent" {
    needs_root
    COMMAND=${COMMAND/--keep=job/}
    sed -i 's/^exec "$4"/exec unshare --net "$4"/' sge/qrsh
    run -0 --separate-stderr job '
        m -n 4 echo hi; m --start-concurrency=1 --start-timeout=20 -n 4 echo hi; flock -n sge/task.h1 echo free'
    echo "$stderr"
    [ "$output" = $'hi\nhi\nhi\nhi\nhi\nhi\nhi\nhi\nfree' ]
    [[ $stderr == *"mprun cannot be reached from h"[01]* ]]
}

# ---- --keep ----

@test "--keep=TIME: agents end when nobody has needed them for so long" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 job 'm --keep=1s -n 4 true; flock -n sge/task.h0 true || echo kept; task_ends h0; while holder; do sleep .05; done >/dev/null; echo none'
    [ "$output" = $'kept\nended\nnone' ]
}

@test "mprctl down ends a job's agents: at once where no step has them, else with the last" {
    run -0 --separate-stderr job '
        down() { "$MPRUN_BUILD/tools/mprctl" down "$@"; }
        m -n 4 true
        down 99999; echo code $?
        flock -n sge/task.h0 true || echo kept
        down $JOB_ID; echo code $?
        flock -n sge/task.h0 true && flock -n sge/task.h1 echo free
        down $JOB_ID; echo code $?
        x -n 4 sh -c "echo >>began; until [ -e over ]; do sleep .05; done" & p=$!
        began 4
        down $JOB_ID; echo code $?
        touch over; wait $p; echo code $?
        task_ends h0; task_ends h1; calls'
    [[ $output == $'code 1\nkept\ncode 0\nfree\ncode 1\njob '*gridengine-$JOB_ID*$': 2 agents end with the steps that run there\ncode 0\ncode 0\nended\nended\n 2 h0 2 h1 ' ]]
    [[ $stderr == *"no job 99999 of yours has its mprun's agents held on this host"* ]]
    all_over
}

@test "mprctl down of an array: the job's number stands for all of its tasks" {
    export SGE_TASK_ID=2
    run -0 job '
        down() { "$MPRUN_BUILD/tools/mprctl" down "$@" 2>&1 && flock -n sge/task.h0 echo free; }
        m -n 4 true
        for job in ${JOB_ID%?} ${JOB_ID}2 $JOB_ID.3 $JOB_ID.2; do down $job; done
        m -n 4 true
        down $JOB_ID'
    [ "$(grep -c "^mprctl: no job [0-9.]* of yours has its mprun's agents held" <<<"$output")" = 3 ]
    [[ $output == *$'host\nfree\nfree' ]]
    all_over
}

@test "mprctl down while a step runs: the holder still ends with the job" {
    run -0 job '
        x -n 1 sh -c "echo >>began; until [ -e over ]; do sleep .05; done" >/dev/null 2>&1 &
        echo $! >step
        began 1
        holder >holder
        "$MPRUN_BUILD/tools/mprctl" down $JOB_ID'
    wait_until 20 process_gone "$(cat holder)"
    ! process_gone "$(cat step)" || false
    touch over
    wait_until 20 process_gone "$(cat step)"
    all_over
}

@test "what mprun writes to ends with the step: nothing that stays has it open" {
    run -0 job 'x=$(m -n 4 echo hi 2>&1); echo $x'
    [ "$output" = 'hi hi hi hi' ]
    all_over
}

@test "many at once: one start of each host, whoever asks first" {
    JOB_LIMIT=120 run -0 job 'for i in $(seq 12); do m -n 4 echo "step $i" & done; wait; calls'
    [ "$(grep -c '^step' <<<"$output")" = 48 ]
    [ "$(tail -n 1 <<<"$output")" = ' 1 h0 1 h1 ' ]
    all_over
}

@test "kill -9 of the holder: the step goes on, the next one starts agents anew, the old ones end" {
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began; until [ -e over ]; do sleep .05; done; echo went on" & p=$!
        began 4
        kill -9 $(holder)
        touch over; wait $p; echo code $?
        task_ends h0; task_ends h1
        m -n 4 true; calls'
    [ "$output" = $'went on\nwent on\nwent on\nwent on\ncode 0\nended\nended\n 2 h0 2 h1 ' ]
    all_over
}

@test "kill -9 of the holder while many steps wait for an agent: one of them starts it, by the next holder" {
    echo '[ ! -e slow ] || { touch at; until [ -e go ]; do sleep .02; done; }' >sge/does.h1
    run -0 --separate-stderr job '
        touch slow; all=
        x -n 4 true & all="$all $!"
        until [ -e at ]; do sleep .02; done
        for i in $(seq 9); do x -v -n 4 true 2>said.$i & all="$all $!"; done
        until [ "$(grep -c "agent there forks" said.* | grep -c :1)" = 9 ]; do sleep .02; done
        kill -9 $(holder); rm slow
        sleep .5; touch go
        for p in $all; do wait $p || echo code $?; done
        calls; cat said.* | grep "has no room"; true'
    echo "$output $stderr"
    [[ $output =~ ^' 1 h0 '[23]' h1 '$ ]]
    all_over
}

# the holder, which wakes late, writes to the agent before it sees its end
@test "kill -9 of an agent: its step ends and names the host, the next step has a new one" {
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began; sleep 77" & p=$!
        began 4
        holder=$(holder)
        kill -STOP $holder
        kill -9 $(agent h1)
        sleep 1.7
        kill -CONT $holder
        wait $p; echo code $?
        task_ends h1
        m -n 4 echo hi; calls'
    [[ $output == $'code '[1-9]*$'\nended\nhi\nhi\nhi\nhi\n 1 h0 2 h1 ' ]]
    [[ $stderr == *"host h1"* ]]
    all_over
}

@test "an agent whose task the manager has ended stays for those that it has started: later steps have a new one" {
    for transport in auto tcp; do
        run -0 --separate-stderr job "
            t() { m --transport=$transport \"\$@\"; }"'
            t --fanout 1 --start-tree 1 -n 4 true; calls
            old=$(agent h0)
            kill -9 $(pgrep -P $old -g $old mprun-agent)
            rm sge/task.h0
            t -n 4 echo hi; calls
            x -n 4 sh -c "echo >>began; until [ -e over ]; do sleep .05; done; echo hi" & p=$!
            began 4
            t -n 4 echo hi; calls
            touch over; wait $p; kill -0 $old; echo $?; rm began over sge/calls'
        echo "$output"
        [ "$output" = $' 1 h0 1 h1 hi\nhi\nhi\nhi\n 2 h0 1 h1 hi\nhi\nhi\nhi\n 2 h0 1 h1 hi\nhi\nhi\nhi\n0' ]
        [ -z "$stderr" ]
        all_over
    done
}

# mprun waits for the word of how the worker has ended, which nobody can pass on any more
@test "kill -9 of a worker, and then of the holder: the step ends, names the host, and has a code" {
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo \$PPID >>began; sleep 77" & p=$!
        began 4
        holder=$(holder)
        kill -STOP $holder
        kill -9 $(tail -n 1 began)
        sleep 4
        kill -9 $holder
        wait $p; echo code $?
        task_ends h0; task_ends h1'
    [ "$output" = $'code 125\nended\nended' ]
    [[ $stderr == *"host h"[01]": its mpstarter has gone"* ]]
    all_over
}

@test "a signal that ends a step leaves the agents" {
    run -0 job '
        x -n 4 sh -c "echo >>began; sleep 77" & p=$!
        began 4
        kill -TERM $p; wait $p; echo code $?
        m -n 4 true; calls'
    [[ $output == *$'code 143\n 1 h0 1 h1 ' ]]
    all_over
}

@test "who waits for an agent that another mprun starts is ended by a signal, and by --start-timeout" {
    echo 'echo >"$SGE_ROOT/begins"; exec sleep 1000' >sge/does.h1
    run -0 --separate-stderr job '
        x -n 4 true & p=$!
        until [ -e sge/begins ]; do sleep .05; done
        x -n 4 true & q=$!
        m --start-timeout=1 -n 4 true; echo code $?
        kill $q; wait $q; echo code $?
        pkill -P $p -f "sleep 1000"; wait $p; echo code $?'
    [ "$output" = $'code 125\ncode 143\ncode 125' ]
    [[ $stderr == *"host h1: its mpstarter has not reported back within 1 s (--start-timeout)"* ]]
    all_over
}

@test "a host that cannot be started: its client's words; the next step tries again" {
    echo '[ -e "$SGE_ROOT/ok" ] || { echo "no such luck" >&2; exit 1; }' >sge/does.h1
    run -0 --separate-stderr job 'm -n 4 true; echo code $?; touch sge/ok; m -n 4 true; echo code $?; calls'
    [ "$output" = $'code 125\ncode 0\n 1 h0 2 h1 ' ]
    [[ $stderr == *"host h1: "*"no such luck"* ]]
    all_over
}

@test "100 steps leave nothing in an agent: memory, descriptors, processes" {
    needs_no_sanitizers "they keep what was freed"
    JOB_LIMIT=200 run -0 job '
        what() { for p in $(holder) $(agent h0); do
                ls /proc/$p/fd | wc -l; awk "/RssAnon|Threads/ { print \$2 }" /proc/$p/status; done
            pgrep -c -P $(agent h0); }
        for i in $(seq 10); do m -n 4 true; done; what >before
        for i in $(seq 90); do m -n 4 true; done; what >after
        tr "\n" " " <before; tr "\n" " " <after; cmp before after && echo same; calls'
    echo "# $output"
    [[ $output == *$'same\n 1 h0 1 h1 ' ]]
    all_over
}

# ---- --wait-cores ----

# names DIR WORDS...: an mprun whose sockets are in DIR, of one rank of pmix-probe names; in the background: the process
NAMES="names() {
    local dir=\$PWD/\$1
    shift
    mkdir -p \$dir
    XDG_RUNTIME_DIR=\$dir exec \$COMMAND -n 1 $MPRUN_BUILD/tests/system/pmix-probe names \"\$@\"
}"

@test "names: steps that do not see each other's sockets meet by the holder; who comes there without the key is refused" {
    peer=$MPRUN_BUILD/tests/system/door-peer
    COMMAND="${COMMAND/--pmi none/} --interface 127.0.0.1"
    run -0 --separate-stderr job "COMMAND='$COMMAND' peer=$peer
        $NAMES"'
        names a /begun ^go ?nothing +one=1 /there @two >a.out & p=$!
        until [ -e begun ]; do sleep .05; done
        $peer port $p >ports
        touch go
        until [ -e there ]; do sleep .05; done
        door=$($peer port $p | grep -vxFf ports)
        $peer wrong-key $door 0 | grep -o "does not know the step.s key"
        $peer garbage $door
        names b ?two ?one +two=2 >b.out &
        wait
        cat a.out b.out'
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "does not know the step's key
nothing: NOT-FOUND
two: SUCCESS 2
two: NOT-FOUND
one: SUCCESS 1" ]
    [ "$(grep -c "refused a peer (127[.]0[.]0[.]1 port .*does not speak mprun's protocol" <<<"$stderr")" = 1 ]
    all_over
}

@test "names: of ten steps that begin at once each finds what another has published, as soon as that has its answer" {
    COMMAND="${COMMAND/--pmi none/} --oversubscribe --host h0"
    run -0 --separate-stderr job "COMMAND='$COMMAND'
        $NAMES"'
        for i in $(seq 10); do
            names of.$i +n$i=$i /ready.$i $(for k in $(seq 10); do echo ^ready.$k ?n$k @n$k; done) \
                /done.$i $(seq -f ^done.%g 10) >out.$i &
        done
        wait
        cat out.* | cut -d " " -f 2 | sort | uniq -c | tr -s " "'
    printf '%s\n' "$output" "$stderr"
    [ "$output" = " 200 SUCCESS" ]
    all_over
}

@test "names: when the holder is killed, steps that have met stay linked, and others meet them by the next one" {
    COMMAND=${COMMAND/--pmi none/}
    run -0 --separate-stderr job "COMMAND='$COMMAND'
        $NAMES"'
        COMMAND+=" --host h0"
        names a +one=1 /begun ^killed +two=2 ^next ?none /again @three >a.out &
        until [ -e begun ]; do sleep .05; done
        names b @one /met @two ^next ?none @three >b.out &
        until [ -e met ]; do sleep .05; done
        kill -9 $(holder)
        touch killed
        COMMAND=${COMMAND/h0/h1}
        names c /next ^again @one +three=3 ^over >c.out &
        wait %1 %2
        touch over
        wait
        cat a.out b.out c.out'
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "none: NOT-FOUND
three: SUCCESS 3
one: SUCCESS 1
two: SUCCESS 2
none: NOT-FOUND
three: SUCCESS 3
one: SUCCESS 1" ]
    all_over
}

@test "--wait-cores: of steps that want all slots of two hosts one runs after the other, in the order of coming" {
    # in srun's words
    COMMAND="$MPRUN --as srun --exclusive ${MPRUN_OPTIONS[*]} --pmi none"
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began; until [ -e over ]; do sleep .05; done" & p=$!
        began 4
        for i in 1 2 3; do
            x -n 4 sh -c "[ \$MPRUN_RANK != 0 ] || { mkdir alone && echo $i >>order && sleep .2 && rmdir alone; }" 2>said.$i & all="$all $!"
            until grep -qs "waits for" said.$i; do sleep .05; done
        done
        # a smaller one does not go ahead of them
        x -n 1 sh -c "echo small >>order" 2>small & all="$all $!"
        until grep -qs "waits for" small; do sleep .05; done
        [ ! -e order ] && echo none
        >over; wait $p; echo $?
        for q in $all; do wait $q || echo failed; done
        cat order said.1 said.2 small'
    echo "$output"
    [ "$output" = "none
0
1
2
3
small
mprun: waits for cores of 2 hosts, where other steps of the job have all but 0 slots (--wait-cores)
mprun: waits for steps of the job that have waited longer (--wait-cores)
mprun: waits for steps of the job that have waited longer (--wait-cores)" ]
    [ -z "$stderr" ]
    all_over
}

@test "--wait-cores: steps take what others have left of all hosts, with --nodes of one; who needs all waits for all" {
    COMMAND=${COMMAND/--keep=job/--wait-cores}
    printf 'h%d 2 q UNDEFINED\n' 0 1 2 >sge/hosts
    run -0 --separate-stderr job '
        until_over() { x "$@" sh -c "echo \$MPRUN_RANK \$MPRUN_HOST_NAME \$\$ >>began; until [ -e over.\$MPRUN_HOST_NAME ]; do sleep .05; done"; }
        until_over -n 1 & began 1
        until_over --nodes 1 -n 2 & began 3
        until_over -n 3 & began 6
        sort began | cut -d " " -f 1,2
        m -n 1 sh -c "echo last \$MPRUN_HOST_NAME" 2>said & p=$!
        until grep -qs "waits for" said; do sleep .05; done
        >over.h1; wait $p; cat said
        x -n 6 echo all 2>said & q=$!
        until grep -qs "waits for" said; do sleep .05; done
        >over.h0; >over.h2; wait $q; echo $?; cat said'
    echo "$output"
    [ "$output" = "0 h0
0 h0
0 h1
1 h1
1 h2
2 h2
last h1
mprun: waits for cores of 3 hosts, where other steps of the job have all but 0 slots (--wait-cores)
all
all
all
all
all
all
0
mprun: waits for cores of 3 hosts, where other steps of the job have all but 2 slots (--wait-cores)" ]
    [ -z "$stderr" ]
    all_over
}

@test "--wait-cores: steps that fit run together; what waits is ended by a signal, and its place is free, or stopped" {
    COMMAND=${COMMAND/--keep=job/--wait-cores}
    run -0 --separate-stderr job '
        x --map-by node -n 2 sh -c "echo >>began; until [ -e over ]; do sleep .05; done" & p=$!
        began 2
        x --host h1 -n 1 sh -c "echo >>began; until [ -e over ]; do sleep .05; done" & q=$!
        began 3
        set -m # else the kernel lets no TSTP stop it
        x -n 4 echo all 2>said & r=$!
        set +m
        until grep -qs "waits for" said; do sleep .05; done
        kill -TSTP $r
        until [[ $(ps -o stat= -p $r) == T* ]]; do sleep .05; done
        kill -CONT $r
        x --host h0 -n 1 echo one 2>said.2 & s=$!
        until grep -qs "waits for" said.2; do sleep .05; done
        kill -INT $r; wait $r; echo "code $?"
        wait $s; cat said.2
        x -n 4 echo all 2>said & r=$!
        until grep -qs "waits for" said; do sleep .05; done
        kill -KILL $r
        m --host h0 -n 1 echo two
        >over; wait $p $q; echo $?
        # each program has the slots of its own options
        x -n 1 --bind-to none sh -c "echo >>began; until [ -e over.2 ]; do sleep .05; done" : \
            -n 1 --cpus-per-rank 2 --bind-to none sh -c "echo >>began; until [ -e over.2 ]; do sleep .05; done" & p=$!
        began 5
        x -n 2 echo both 2>said & q=$!
        until grep -qs "waits for" said; do sleep .05; done
        >over.2; wait $p $q; echo $?; cat said'
    echo "$output"
    [ "$output" = "code 130
one
mprun: waits for steps of the job that have waited longer (--wait-cores)
two
0
both
both
0
mprun: waits for cores of 2 hosts, where other steps of the job have all but 1 slot (--wait-cores)" ]
    rm -rf "$XDG_RUNTIME_DIR"/mprun-* # of the one that was killed, perhaps before any host could do it
    all_over
}

@test "--wait-cores: twenty at once end, no two of them at the same time; and also if the process that keeps the queue is killed" {
    COMMAND=${COMMAND/--keep=job/--wait-cores}
    run -0 --separate-stderr job '
        for i in $(seq 20); do
            x -q -n 4 sh -c "[ \$MPRUN_RANK != 0 ] || { mkdir alone && sleep .02 && rmdir alone && echo ran; }" &
        done; wait'
    [ "$(grep -c ran <<<"$output")" = 20 ]
    [ -z "$stderr" ]
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began2; until [ -e over2 ]; do sleep .05; done" & p=$!
        until [ "$(cat began2 2>/dev/null | wc -l)" = 4 ]; do sleep .05; done
        for i in $(seq 5); do x -n 4 echo ran 2>said.$i & done
        until [ "$(cat said.* 2>/dev/null | grep -c "waits for")" -ge 5 ]; do sleep .05; done
        for i in 1 2; do kill -KILL $(holder); sleep 1; done
        grep -h room said.*; >over2; wait'
    # what runs then keeps its slots, and nobody comes to its hosts
    [ "$(uniq -c <<<"$output" | tr -s " ")" = " 20 ran" ]
    all_over
}
