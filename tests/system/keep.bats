#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# keep.bats - the job's agents: mpstarter that stays on the hosts for the job's next steps. The job is one of
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
holder() { pgrep -f "mpstarter --hold \$\$ "; }
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

@test "without --keep nothing is left for the next step" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 job 'm -n 4 true; flock -n sge/task.h0 echo free; m -n 4 true; calls'
    [ "$output" = $'free\n 2 h0 2 h1 ' ]
}

@test "--keep=TIME: agents end when nobody has needed them for so long" {
    COMMAND=${COMMAND/--keep=job/}
    run -0 job 'm --keep=1s -n 4 true; flock -n sge/task.h0 true || echo kept; task_ends h0; while holder; do sleep .05; done >&2; echo none'
    [ "$output" = $'kept\nended\nnone' ]
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

@test "kill -9 of an agent: its step ends and names the host, the next step has a new one" {
    run -0 --separate-stderr job '
        x -n 4 sh -c "echo >>began; sleep 77" & p=$!
        began 4
        kill -9 $(agent h1)
        wait $p; echo code $?
        task_ends h1
        m -n 4 echo hi; calls'
    [[ $output == $'code '[1-9]*$'\nended\nhi\nhi\nhi\nhi\n 1 h0 2 h1 ' ]]
    [[ $stderr == *"host h1"* ]]
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
