#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# debuggers.bats - debuggers and other tools beside ranks: --wrap, the MPIR interface, ranks that wait
load '../lib/mprun'

# gdb_mprun COMMANDS ARGS...: gdb on `mprun ARGS...`, with the commands of a file
gdb_mprun() {
    local commands=$1
    shift
    test_options "$@"
    time_limited 60 gdb -q -nx -batch -iex 'set debuginfod enabled off' -x "$commands" --args "$MPRUN" "${MPRUN_OPTIONS[@]}" "$@"
}

# in gdb: the table, an entry a line
print_table='set $i = 0
while $i < MPIR_proctable_size
  printf "entry %d: %s %s %d\n", $i, MPIR_proctable[$i].host_name, MPIR_proctable[$i].executable_name, MPIR_proctable[$i].pid
  set $i = $i + 1
end'

# has_stopped N: so many processes of this test, whose arguments have its mark, are stopped
has_stopped() { [ "$(ps -eo stat=,args= | grep -c "^T.*$MPRUN_TEST_MARK")" -eq "$1" ]; }

@test "--wrap starts ranks by another program, which gets rank and host" {
    run -0 --separate-stderr mprun --rm local:2 -N 1 --wrap 'sh -c '\''echo "%r of %h: $*"'\'' -' true 'a b' %r
    here=$(hostname)
    [ "$(sorted)" = "0 of $here-0: true a b %r 1 of $here-1: true a b %r " ]
    run -0 --separate-stderr mprun --oversubscribe -n 4 --wrap 'env W=%r' --ranks 0,2-3 \
        sh -c 'echo $MPRUN_RANK:${W-none}'
    [ "$(sorted)" = "0:0 1:none 2:2 3:3 " ]
}

@test "--wrap of a program that is not there names it, and --preload-binary's program can be wrapped" {
    run -127 --separate-stderr mprun -n 1 --wrap 'no-such-tool -v' true
    [[ $stderr == *"start rank 0 on "*"--wrap: execute 'no-such-tool': not found in PATH"* ]]
    cp "$(type -P true)" mytool
    run -0 --separate-stderr mprun -n 1 --preload-binary --wrap 'echo wrapped' ./mytool x
    [[ $output == "wrapped /"*"mytool x" ]]
    rm -r mprun-cache.*
}

@test "--wrap valgrind writes a log for each chosen rank" {
    needs_tool valgrind
    MPRUN_TEST_LIMIT=60 run -0 --separate-stderr mprun --oversubscribe -n 3 --wrap "valgrind --log-file=vg.%r" --ranks 1-2 true
    [ "$(echo vg.*)" = "vg.1 vg.2" ]
    grep -q 'Command: true' vg.2
}

@test "--stop-on-exec: ranks wait before their first instruction, and SIGCONT to mprun continues them" {
    mprun_start -n 2 --stop-on-exec sh -c 'echo ran' "$MPRUN_TEST_MARK"
    wait_until 10 has_stopped 2
    [ ! -s "$MPRUN_OUT" ]
    kill -CONT "$MPRUN_PID"
    mprun_wait
    [ "$(grep -c ran "$MPRUN_OUT")" -eq 2 ]
}

@test "a step whose ranks wait ends by --timeout, and by a signal" {
    run -124 --separate-stderr mprun -n 2 --stop-on-exec --timeout 500ms true
    [[ $stderr == *"--timeout"* ]]
}

@test "MPIR: gdb starts mprun, stops at the breakpoint, and reads a table of ranks that wait at exec" {
    needs_tool gdb
    needs_no_sanitizers "gdb has no types of that build"
    cat >commands <<END
set breakpoint pending off
break main
run
set var MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
printf "state %d, size %d\n", MPIR_debug_state, MPIR_proctable_size
$print_table
shell ps -eo stat=,pid=,args= | sed -n 's/$MPRUN_TEST_MARK$//; s/^T/ps: T/p'

delete
continue
END
    run -0 gdb_mprun commands --rm local:2 -N 1 sh -c 'echo ran by $MPRUN_RANK' "$MPRUN_TEST_MARK"
    [[ $output == *"state 1, size 2"* ]]
    pid=$(sed -nE 's|^entry 0: [^ ]+-0 /.*/sh ([0-9]+)$|\1|p' <<<"$output")
    grep -qE "^ps: T.* $pid " <<<"$output"
    grep -q '^entry 1: .*-1 /' <<<"$output"
    # mprun continues ranks to which no debugger has attached
    [ "$(grep -c '^ran by [01]$' <<<"$output")" -eq 2 ]
    [[ $output == *"exited normally"* ]]
}

@test "MPIR: a debugger that attaches to a running mprun finds the table" {
    needs_tool gdb
    needs_no_sanitizers "gdb has no types of that build"
    mprun_start --rm local:2 -N 1 sh -c 'echo $$; exec sleep 1000'
    wait_until 10 eval '[ "$(wc -l <"$MPRUN_OUT")" -eq 2 ]'
    {
        echo 'printf "state %d, size %d\n", MPIR_debug_state, MPIR_proctable_size'
        echo "$print_table"
        echo detach
    } >commands
    run -0 time_limited 60 gdb -q -nx -batch -iex 'set debuginfod enabled off' -x commands -p "$MPRUN_PID"
    [[ $output == *"state 1, size 2"* ]]
    [ "$(sed -n 's/^entry .* //p' <<<"$output" | sort)" = "$(sort "$MPRUN_OUT")" ]
    kill -TERM "$MPRUN_PID"
    mprun_wait || [ $? -eq 143 ]
}

@test "MPIR: a step that fails shows the debugger why" {
    needs_tool gdb
    needs_no_sanitizers "gdb has no types of that build"
    cat >commands <<'END'
break main
run
set var MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
continue
printf "state %d: %s\n", MPIR_debug_state, MPIR_debug_abort_string
continue
END
    run -0 gdb_mprun commands -n 2 sh -c 'exit $((MPRUN_RANK * 3))'
    [[ $output == *"state 2: rank 1 on "*" exited with code 3"* ]]
}

@test "--stop-in-init: ranks of both MPIs wait inside MPI_Init" {
    needs_tool gdb
    for mpi in openmpi mpich; do
        needs_mpicc $mpi
        program=$(mpi_program hello $mpi)
        mprun_start -n 2 --stop-in-init "$program" "$MPRUN_TEST_MARK"
        wait_until 20 has_stopped 2
        pid=$(ps -eo stat=,pid=,args= | sed -nE "s/^T\S* +([0-9]+) .*$MPRUN_TEST_MARK$/\1/p" | head -n 1)
        run -0 gdb -nx -batch -iex 'set debuginfod enabled off' -p "$pid" -ex bt
        [[ $output == *MPI_Init* ]]
        [ ! -s "$MPRUN_OUT" ]
        kill -CONT "$MPRUN_PID"
        mprun_wait
        [ "$(wc -l <"$MPRUN_OUT")" -ge 2 ]
    done
}

@test "--get-stack-traces at a time-out: ranks in the same place are said once, and then the step ends" {
    needs_tool eu-stack
    MPRUN_TEST_LIMIT=60 run -124 --separate-stderr mprun --rm local:2 --oversubscribe -n 3 --timeout 2 --get-stack-traces \
        sh -c '[ $MPRUN_RANK = 1 ] || exec sleep 1000; read x <>/dev/zero; while :; do :; done'
    grep -q '^mprun: ranks 0, 2 (2 ranks):$' <<<"$stderr"
    grep -A 2 '(2 ranks):$' <<<"$stderr" | grep -q '^mprun:   sleep, state S in .*nanosleep'
    grep -q '^mprun:     #[0-9]* .*nanosleep' <<<"$stderr"
    grep -q '^mprun: rank 1 on .* (pid [0-9]*):$' <<<"$stderr"
    [[ ${stderr_lines[-1]} == *"--timeout: the step ran for 2 s"* ]]
}

@test "--get-stack-traces: SIGQUIT prints where ranks are, and the step goes on" {
    needs_tool eu-stack
    mprun_start -n 2 --get-stack-traces sh -c 'trap "exit 0" TERM; echo; while :; do sleep 0.1; done'
    wait_until 10 eval '[ "$(wc -l <"$MPRUN_OUT")" -eq 2 ]'
    kill -QUIT "$MPRUN_PID"
    wait_until 30 grep -q '#[0-9]* .*wait' "$MPRUN_ERR"
    kill -0 "$MPRUN_PID"
    kill -TERM "$MPRUN_PID"
    mprun_wait || [ $? -eq 143 ]
}

@test "--report-state-on-timeout names ranks that run and ranks that have ended" {
    run -124 --separate-stderr mprun -q -n 3 --oversubscribe --timeout 2 --report-state-on-timeout \
        sh -c '[ $MPRUN_RANK = 1 ] || exec sleep 1000'
    [[ $stderr == *"mprun: step "*" is running"* ]]
    grep -q '^mprun: on .*: ranks 0, 2 run, rank 1 has ended$' <<<"$stderr"
    grep -q '^mprun: all ranks: CPU time' <<<"$stderr"
}

@test "--debug-daemon runs once on each host, contained, with the table of all ranks, and ends with them" {
    mkfifo go
    mprun_start --rm local:2 --oversubscribe -n 3 --debug-daemon \
        'sh -c "cat $MPRUN_PROCTABLE; echo on $MPRUN_HOST_INDEX; exec sleep 1000"' sh -c 'echo $MPRUN_RANK $$; read x <go'
    wait_until 20 eval '[ "$(grep -c "debug daemon on .*: on [01]$" "$MPRUN_ERR")" -eq 2 ]'
    while read -r rank pid; do
        [ "$(grep -cE "debug daemon on [^ ]+: $rank [^ ]+ $pid sh$" "$MPRUN_ERR")" -eq 2 ]
    done <"$MPRUN_OUT"
    kill -TERM "$MPRUN_PID"
    mprun_wait || [ $? -eq 143 ]
    no_leftovers
}

@test "--debug-daemon that is not there ends the step with its name, and one that fails is said" {
    run -125 --separate-stderr mprun -n 1 --debug-daemon no-such-daemon sleep 1000
    [[ $stderr == *"--debug-daemon: execute 'no-such-daemon': not found in PATH"* ]]
    run -0 --separate-stderr mprun -n 1 --debug-daemon 'sh -c "exit 7"' sleep 1
    [[ $stderr == *"debug daemon on "*" exited with code 7"* ]]
    (umask 027 && ulimit -S -n 200 && mprun -n 1 --debug-daemon 'sh -c "echo umask \$(umask), files \$(ulimit -n)"' sleep 1 2>said)
    grep -q ': umask 0027, files 200$' said
}

@test "--stuck names ranks that do nothing while others compute, with where they wait, once" {
    MPRUN_TEST_LIMIT=60 run -0 --separate-stderr mprun --rm local:2 --oversubscribe -n 3 --stuck 2 \
        sh -c '[ $MPRUN_RANK = 1 ] || exec sleep 9; end=$(($(date +%s) + 9)); while [ $(date +%s) -lt $end ]; do :; done'
    grep -q '^mprun: --stuck: ranks 0, 2 used no CPU and did no I/O for 2.*, while 1 other rank computes: sleep is in state S in .*nanosleep' <<<"$stderr"
    [ "$(grep -c -- '--stuck:' <<<"$stderr")" -eq 1 ]
}

@test "--stuck: where no rank computes it says so, and names the MPI function that they are in" {
    needs_tool eu-stack
    needs_mpicc mpich
    program=$(mpi_program hello mpich)
    mprun_start -n 2 --oversubscribe --stuck 2 sh -c '[ $MPRUN_RANK = 0 ] && exec sleep 1000; exec "$@"' - "$program"
    wait_until 30 grep -q 'no rank computes' "$MPRUN_ERR"
    wait_until 30 grep -q '^mprun: rank 1 is in MPI_Init' "$MPRUN_ERR"
    kill -TERM "$MPRUN_PID"
    mprun_wait || [ $? -eq 143 ]
}

@test "--enable-recovery: a rank that fails is said, the others go on, and its code is mprun's" {
    for option in --enable-recovery --continuous -disable-auto-cleanup -K0 --kill-on-bad-exit=0; do
        run -3 --separate-stderr mprun --oversubscribe -n 3 $option \
            sh -c 'case $MPRUN_RANK in 1) exit 3 ;; 2) sleep 0.3; kill -9 $$ ;; *) sleep 1; echo done ;; esac'
        [ "$output" = done ]
        [[ $stderr == *"rank 1 on "*" exited with code 3; the other ranks go on"* ]]
        [[ $stderr == *"rank 2 on "*" was killed by signal 9 (Killed); the other ranks go on"* ]]
    done
}

@test "--enable-recovery: MPI_Abort, and a rank that cannot be started, still end the step" {
    run -127 --separate-stderr mprun --oversubscribe --enable-recovery -n 1 ./no-such-program : -n 1 sleep 1000
    [[ $stderr == *"the other ranks are ended"* ]]
}
