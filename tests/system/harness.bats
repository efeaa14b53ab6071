#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# harness.bats - the tests' own eyes: what is left behind is seen, what is somebody else's is not
load '../lib/mprun'

@test "a process that stays is seen, even as an orphan in a session of its own" {
    setsid sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    wait_until 5 grep -q '^sleep' "/proc/$!/cmdline" # before, it does not carry the test's mark
    run no_leftovers 0.2
    [ "$status" -eq 1 ]
    [[ $output == *"process"*"sleep 1000"* ]]
    kill $!
}

@test "what a rank left would be seen: ranks carry the test's mark" {
    run --separate-stderr mprun -n 1 sh -c 'echo "$MPRUN_TEST_MARK"'
    [ "$output" = "$MPRUN_TEST_MARK" ]
}

@test "a process of another test is not" {
    MPRUN_TEST_MARK=another sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    run no_leftovers
    kill $!
    [ "$status" -eq 0 ]
}

@test "files in shared memory and in the test's own directories are seen" {
    for file in "/dev/shm/mprun-test-$$" "$TMPDIR/ompi.test" "$XDG_RUNTIME_DIR/mprun-x"; do
        touch "$file"
        run no_leftovers 0.1
        rm "$file"
        echo "$file: $status: $output"
        [ "$status" -eq 1 ]
        [[ $output == *"$file"* ]]
    done
    # other tests' files come and go in shared memory: what is gone in a later look is none
    no_leftovers
}

@test "a cgroup that stays is seen, and removed with what is below it" {
    needs_v2
    # one level down, where no step of mprun looks for what others left
    step=$(own_v2_cgroup)/mpt-$$/mprun.harness
    mkdir -p "$step/ranks/0.1.0"
    run snapshot compare "$MPRUN_TEST_TOP/before" --kill --within 0.2
    left=$(find "${step%/*}" -mindepth 1 -type d)
    find "${step%/*}" -depth -type d -exec rmdir {} +
    [ "$status" -eq 1 ]
    [[ $output == *"$step"* ]]
    [ -z "$left" ]
}

@test "what ends within the time that is given is no leftover" {
    sleep 0.5 </dev/null >/dev/null 2>&1 3>&- &
    no_leftovers 5
}

@test "what somebody else holds is not waited for" {
    local file=/dev/shm/mprun-held.$$
    env -u MPRUN_TEST_MARK sleep 1000 </dev/null >/dev/null 2>&1 3>"$file" &
    holder=$!
    wait_until 5 test -e "$file"
    run timeout "$(patience 20)" "$SNAPSHOT" compare "$MPRUN_TEST_TOP/before" --within 1000 --dir "$MPRUN_TEST_TOP/tmp"
    kill $holder
    rm "$file"
    [ "$status" -eq 0 ]
}

@test "a command that takes too long ends, and is told from one that fails" {
    run time_limited 1 sleep 100
    [ "$status" -eq 199 ]
    run time_limited 5 sh -c 'exit 124'
    [ "$status" -eq 124 ]
}

@test "a failure counts unless one of two runs is without it, and is shown in any case" {
    local log=$TMPDIR/log b c
    of() { # PROGRAM RESULT... : a run, as quickcheck writes it
        echo "#### begin $1"; echo "1..$(($# - 1))"; printf '%s\n' "${@:2}"
        case "${*:2}" in *not*) echo "#### end $1 1" ;; *) echo "#### end $1 0" ;; esac
    }
    again() { echo "#### again $1"; of "$@"; }
    b=$(printf '%s\n' 'not ok 1 - b' '# (in test file f, line 5)' "#   \`false' failed" '# said')
    c='not ok 2 - c'
    {
        of once 'not ok 1 - a'
        of flaky "$b" 'ok 2 - c'; again flaky 'ok 1 - b' 'ok 2 - c'
        of twice "$b" "$c"; again twice 'ok 1 - b' "$c"
        of other "$b" 'ok 2 - c'; again other 'ok 1 - b' "$c"
        of short "$b" 'ok 2 - c'; again short 'ok 1 - b' 'ok 2 - c' | sed s/1..2/1..3/
        of skips "$b" 'ok 2 - c'; again skips 'ok 1 - d # SKIP too late'
        of ends "$b" 'ok 2 - c'; echo '#### again ends'; echo '#### begin ends'; echo '#### end ends 134'
    } >"$log"
    run "$MPRUN_SOURCE/tests/lib/tap-count" "$log"
    printf '%s\n' "${lines[@]}"
    [ "${lines[0]}" = "7 5 0" ]
    [ "${lines[1]}" = "FAILED once: 1 - a" ]
    [ "${lines[2]}" = "FLAKY flaky: 1 - b: \`false' failed" ]
    [ "${lines[3]}" = "FAILED twice: 2 - c" ]
    [ "${lines[4]}" = "FLAKY twice: 1 - b: \`false' failed" ]
    [ "${lines[5]}" = "FLAKY other: 1 - b: \`false' failed" ]
    [ "${lines[6]}" = "FLAKY other: 2 - c" ]
    [[ ${lines[7]} == "FAILED short: - 2 of 3 tests reported, ended with code 0"* ]]
    [[ ${lines[8]} == "FLAKY short: 1 - b: "* ]]
    [ "${lines[9]}" = "FAILED skips: 1 - b: \`false' failed" ]
    [ "${lines[10]}" = "FAILED ends: ended with code 134" ]
    [ "${#lines[@]}" = 11 ]
    run "$MPRUN_SOURCE/tests/lib/tap-count" --full "$log"
    [[ $output == *"FAILED in once:"*"not ok 1 - a"* ]]
    [[ $output == *"FLAKY in flaky, "*"not ok 1 - b"*"line 5"*"said"* ]]
}

@test "skipped tests are listed by reason, each with the stages that skipped it" {
    printf '%s\n' '#### begin a.bats' 1..3 'ok 1 x # skip needs root' 'ok 2 y: z # skip no tool: t' 'ok 3 w' '#### end a.bats 0' \
        '#### begin b' '1..0 # SKIP needs root' '#### end b 0' >log
    run "$MPRUN_SOURCE/tests/lib/tap-count" log
    [ "${lines[0]}" = "1 0 3" ]
    sed -n 's/^skipped: //p' <<<"$output" >skips
    run "$MPRUN_SOURCE/tests/lib/skips-by-reason" < <(sed $'s/$/\tuser/' skips && sed $'1!d; s/$/\ttcp/' skips)
    [ "$output" = "needs root: 2
    a.bats: x (user tcp)
    b (user)
no tool: t: 1
    a.bats: y: z (user)" ]
}

# programs.bash as quickcheck has it
programs() { bash -c '. "$0/tests/lib/slow.bash" && . "$0/tests/lib/programs.bash" && '"$1" "$MPRUN_SOURCE"; }

@test "of a file of bats only the tests that failed run once more" {
    sed 's/^-//' >f.bats <<'END'
-@test "a" { echo a >>runs; }
-@test "b (or [c], d|e)" { echo b >>runs; [ "$(grep -c b runs)" = 2 ]; }
-@test "c" { skip "no reason"; }
-@test "d" { echo d >>runs; false; }
END
    run programs 'tested f.bats 60 bats --formatter tap f.bats >log'
    [ "$(tr '\n' ' ' <runs)" = "a b d b d " ]
    run "$MPRUN_SOURCE/tests/lib/tap-count" log
    printf '%s\n' "${lines[@]}"
    [ "${lines[0]}" = "2 1 1" ]
    [[ ${lines[1]} == "FAILED f.bats: "*" d: "* ]]
    [[ ${lines[2]} == "FLAKY f.bats: 2 b (or [c], d|e): "* ]]
    # a whole file is run again where a test has no result
    sed 's/^-//' >g.bats <<'END'
setup_file() { echo "$BATS_RUN_TMPDIR" >>files; [ "$(wc -l <files)" = 2 ]; }
-@test "a" { echo a >>runs.g; }
END
    run programs 'tested g.bats 60 bats --formatter tap g.bats >log'
    run "$MPRUN_SOURCE/tests/lib/tap-count" log
    echo "$output"
    [[ ${lines[0]} == "1 0 0" && ${lines[1]} == "FLAKY g.bats: "* ]]
}

@test "a time limit is as many times longer as the machine is slower, and its program ends when it is over" {
    export MPRUN_TEST_SLOW_FILE=$TMPDIR/slow
    # as if it had been measured now
    echo "$((EPOCHSECONDS + 100)) 3" >slow
    run programs 'patience 20; patience 0.5; look_how_slow; echo $MPRUN_TEST_SLOW; program p 1 sleep 100'
    echo "$output"
    [ "${lines[*]:0:3}" = "60 1.5 3" ]
    [[ $output == *"time limit of 3 s reached"*"#### end p 124" ]]
    # by now it is old, or nonsense
    for text in "1 1000" "" "x y"; do
        echo "$text" >slow
        run programs 'patience 1'
        ((output >= 1))
        read -r when _ <slow
        ((EPOCHSECONDS - when < 60))
    done
}

@test "a busy machine is a slower one: the work needs processors, and the time without one counts" {
    export MPRUN_TEST_SLOW_FILE=$TMPDIR/slow
    # "sleep" stands for others on the processor
    run programs 'TIMEFORMAT="%U %S"; time (eval "$SLOW_WORK" >/dev/null)
        SLOW_MOST=1000000 SLOW_REFERENCE=1 SLOW_WORK="${SLOW_WORK%echo*}sleep 0.3; echo ${SLOW_WORK##*echo}"; patience 1'
    echo "$output"
    [[ ${lines[0]} =~ ^([0-9.]+)\ ([0-9.]+)$ ]]
    awk "BEGIN { exit !(${BASH_REMATCH[1]} + ${BASH_REMATCH[2]} > 0) }"
    ((lines[1] >= 300000))
}

@test "so many programs at once as there are slots, and beside them one that is alone with its kind" {
    run programs 'slots_make '"$TMPDIR"'/slots 3
        one() { touch "begun.$1"; until [ -e "go.$1" ]; do sleep .02; done; rm "begun.$1"; }
        alone one 5 & until [ -e begun.5 ]; do sleep .02; done
        alone one 6 &
        for i in 1 2 3 4; do slots_take; { one $i; slots_give; } & done
        wait' 3>&- &
    begun() { [ "$(echo begun.*)" = "$1" ]; }
    wait_until 10 begun "begun.1 begun.2 begun.3 begun.5"
    touch go.2
    wait_until 10 begun "begun.1 begun.3 begun.4 begun.5"
    touch go.5
    wait_until 10 begun "begun.1 begun.3 begun.4 begun.6"
    touch go.{1,3,4,6}
    wait $!
}

@test "on a terminal one line tells how far all is, and is erased; a pipe gets nothing" {
    needs_tool python3
    local play='CHECK_PROGRESS=progress; : >progress; progress_plan 2; progress_show; tested p 9 true >log
        read -r _; progress_hide; echo end'
    run programs "$play" </dev/null
    [ "$output" = end ]
    export -f programs
    run "$MPRUN_SOURCE/tests/lib/terminal" bash -c "programs '$play'" <<'END'
wait 1 of 2 test programs have ended, 0:\d\d, the last was p
type \n
END
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *$'\e[Kend' ]]
}

# bats test_tags=root
@test "an ordinary user's processes have directories of their own" {
    needs_root
    run run_as_user sh -c 'id -u; echo "$HOME $TMPDIR"; touch "$TMPDIR/x" "$XDG_RUNTIME_DIR/x" "$HOME/../x"'
    [ "${lines[0]}" = "$TEST_UID" ]
    [[ ${lines[1]} == "$MPRUN_TEST_TOP/user $MPRUN_TEST_TOP/user/tmp" ]]
    [[ ${lines[2]} == *"Permission denied"* ]]
}
