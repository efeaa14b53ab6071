#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# basic.bats - what the very first user tries: programs start, codes come back, nothing stays
load '../lib/mprun'

@test "a program without MPI runs and its output arrives" {
    run --separate-stderr mprun -n 1 hostname
    [ "$status" -eq 0 ]
    [ "$output" = "$(hostname)" ]
    [ -z "$(without_notes "$stderr")" ]
}

@test "-n starts that many ranks, numbered from 0" {
    run --separate-stderr mprun -n 5 sh -c 'echo "$PMIX_RANK"'
    [ "$status" -eq 0 ]
    [ "$(sort -n <<<"$output" | tr '\n' ' ')" = "0 1 2 3 4 " ]
}

@test "-np and --np mean -n" {
    for option in -np --np; do
        run --separate-stderr mprun $option 3 echo x
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -eq 3 ]
    done
}

@test "arguments arrive byte by byte" {
    run --separate-stderr mprun -n 1 printf '%s|' 'a b' '' $'tab\there' '*' '$HOME' $'caf\xe9'
    [ "$status" -eq 0 ]
    [ "$output" = $'a b||tab\there|*|$HOME|caf\xe9|' ]
}

@test "the environment and the directory are mprun's" {
    mkdir "with blank" && cd "with blank"
    SEEN="two words" run --separate-stderr mprun -n 1 sh -c 'echo "$SEEN"; pwd; umask'
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "two words" ]
    [ "${lines[1]}" = "$PWD" ]
    [ "${lines[2]}" = "$(umask)" ]
}

@test "lines of a rank keep their order" {
    run --separate-stderr mprun -n 4 sh -c 'i=0; while [ $i -lt 300 ]; do echo "$PMIX_RANK $i"; i=$((i+1)); done'
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 1200 ]
    for rank in 0 1 2 3; do
        diff <(grep "^$rank " <<<"$output" | cut -d' ' -f2) <(seq 0 299)
    done
}

@test "standard error stays apart from standard output" {
    run --separate-stderr mprun -n 1 sh -c 'echo out; echo err >&2'
    [ "$status" -eq 0 ]
    [ "$output" = out ]
    [ "$(without_notes "$stderr")" = err ]
}

@test "an exit code comes back, and the rank is named" {
    run -3 --separate-stderr mprun -n 2 sh -c '[ "$PMIX_RANK" = 0 ] || exit 3'
    [[ $stderr == *"rank 1"* ]]
    [[ $stderr == *3* ]]
}

@test "a signal comes back as 128 and its number, with its name" {
    run -137 --separate-stderr mprun -n 1 sh -c 'kill -KILL $$'
    [[ $stderr == *"rank 0"* ]]
    [[ $stderr == *KILL* || $stderr == *Killed* ]]
}

@test "the first failure ends the other ranks" {
    began
    run -7 --separate-stderr mprun -n 2 sh -c '[ "$PMIX_RANK" = 0 ] && exit 7; exec sleep 100'
    ended_within 15
}

@test "a program that is not there is 127, with a sentence that names it" {
    run -127 --separate-stderr mprun -n 2 ./is-not-there
    [[ $stderr == *"is-not-there"* ]]
    [[ $stderr == *"No such file"* ]]
}

@test "a command that is in no directory of PATH is 127" {
    run -127 --separate-stderr mprun -n 1 no-such-command-anywhere
    [[ $stderr == *"no-such-command-anywhere"* ]]
}

@test "a file that cannot be executed is 126, with a sentence that names it" {
    echo '#!/bin/sh' >plain
    run -126 --separate-stderr mprun -n 1 ./plain
    [[ $stderr == *plain* ]]
    [[ $stderr == *"Permission denied"* ]]
}

@test "wrong usage is 125 and one line" {
    run -125 --separate-stderr mprun --no-such-option
    [[ $stderr == *"--no-such-option"* ]]
    run -125 --separate-stderr mprun -n 0 true
    run -125 --separate-stderr mprun -n four true
    [[ $stderr == *four* ]]
}

@test "--help and --version say what they should and succeed" {
    run -0 --separate-stderr mprun --help
    [[ $output == *--np* ]]
    run -0 --separate-stderr mprun --version
    [[ $output == *mprun* ]]
}

@test "an ordinary user may do the same" {
    needs_root
    run run_as_user mprun -n 2 id -u
    [ "$status" -eq 0 ]
    [ "$(grep -cx "$TEST_UID" <<<"$output")" -eq 2 ]
}

@test "--self-test has a line for each check, and says what is wrong" {
    export MPRUN_SELF_TEST_SECONDS=$(patience 20)
    run -0 --separate-stderr mprun --rm local:2 -N 1 --self-test
    echo "$output"
    for check in starts cores cleanup; do [[ $output =~ (^|$'\n')$check\ +ok\  ]]; done
    [[ $output =~ $'\n'(books|mprund)\ +skipped\  ]]
    [[ ${lines[6]} =~ ^[3-6]\ ok,\ [0-3]\ skipped,\ 0\ failed,\ in\ [0-9]+\ s$ ]]
    [ -z "$stderr" ]
    run -125 --separate-stderr mprun --self-test true
    [[ $stderr == *"leave 'true' out" ]]
    run -1 --separate-stderr mprun --rm local -n 2 --nooversubscribe --cpus-per-rank 9999 --self-test
    [[ ${lines[0]} == "starts   FAILED   place 2 ranks of 9999 cores: "* ]]
    [[ ${lines[6]} == "0 ok, 5 skipped, 1 failed, in "* ]]
    # an mprun that binds elsewhere, does not count, does not limit, and leaves a process
    cat >worse <<'END'
#!/bin/bash
words=("$@")
for i in "${!words[@]}"; do
    case ${words[i]} in
    --mem-per-rank) words[i]=--pmi words[i+1]=pmix ;;
    --containment) words[i+1]=tree ;;
    *burnt*) words[i]=${words[i]/cpus=/cpus=777; : }
        words[i]=${words[i]/; times/; echo 9m0s 0m0s}
        setsid sleep "${words[-1]}" </dev/null >/dev/null 2>&1 & ;;
    esac
done
END
    echo "exec '$MPRUN' \"\${words[@]}\"" >>worse
    chmod 755 worse
    run -1 --separate-stderr "$MPRUN_BUILD/launcher/self-test" ./worse --overlap --rm local:1 -n 1 --bind-to core
    echo "$output"
    [[ ${lines[1]} == "cores    FAILED   rank 0 on "*" may run on hardware threads 777 instead of "* ]]
    [[ ${lines[2]} == "books    FAILED   processes that had left their ranks used 540.00 s of CPU time, the report has "* ]]
    [[ ${lines[3]} == "limits   FAILED   with --mem-per-rank 64M no rank was ended for its memory (exit code "* ]]
    [[ ${lines[4]} == "cleanup  FAILED   left behind by a step that ended: "*": process "* ]]
    kill "${lines[4]##* }"
}

@test "an Open MPI program is one world" {
    needs_mpicc openmpi
    program=$(mpi_program ring)
    # few rounds: ranks that share a core wait for their turn in each
    run --separate-stderr mprun -n 3 "$program" 20
    [ "$status" -eq 0 ]
    [[ $output == "3 ranks, 20 rounds: sum 60, expected 60: ok"* ]]
}

@test "an MPICH program is one world" {
    needs_mpicc mpich
    program=$(mpi_program ring mpich)
    # few rounds: ranks that share a core wait for their turn in each
    run --separate-stderr mprun -n 3 "$program" 20
    [ "$status" -eq 0 ]
    [[ $output == "3 ranks, 20 rounds: sum 60, expected 60: ok"* ]]
}

@test "a rank's orphans do not outlive the step" {
    mprun -n 2 sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit 0'
    no_leftovers 5
}
