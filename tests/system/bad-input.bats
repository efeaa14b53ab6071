#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# bad-input.bats - typical mistakes on the command line, and the answer to each (mistakes.txt)
load '../lib/mprun'

MISTAKES=$BATS_TEST_DIRNAME/mistakes.txt

# each_mistake CHECK: call CHECK WORDS MESSAGE for every entry; 1 when one of them failed
each_mistake() {
    local check=$1 line words= failed=0
    while IFS= read -r line <&4; do
        case $line in
        '$ '*) words=${line#'$ '} ;;
        '' | '#'*) ;;
        *) "$check" "$words" "$line" || failed=1 ;;
        esac
    done 4<"$MISTAKES"
    return $failed
}

# answer WORDS: the launcher's exit code in $code, its output in the files out and err
answer() {
    local -a words
    eval "words=($1)"
    code=0
    timeout -k 5 "$(patience 10)" "$MPRUN" "${words[@]}" </dev/null >out 2>err 3>&- 4>&- || code=$?
}

says_exactly() {
    answer "$1"
    fits_in_six_lines "$1" && diff -u --label "expected of: mprun $1" --label "answered" <(echo "mprun: $2") err &&
        [ "$code" = 125 ] && [ ! -s out ] && return
    echo "exit code $code, $(wc -c <out) bytes on standard output: mprun $1"
    return 1
}

fits_in_six_lines() {
    (($(fold -w 80 err | wc -l) <= 6)) && return
    echo "more than six lines: mprun $1"
    return 1
}

@test "every mistake gets its message, of at most six lines of 80 columns, exit code 125 and nothing on standard output" {
    each_mistake says_exactly
}

# advised_words_are_valid WORDS MESSAGE: each "write '--OPTION ...'" of the message starts a rank; capitals stand for a value
advised_words_are_valid() {
    local advice words
    while IFS= read -r advice; do
        words=$(sed -E "s/'//g; s/\\bSIZE\\b/1G/g; s/<?\\b[A-Z]+=?[A-Z]*\\b/1/g" <<<"$advice")
        answer "${words/--as 1/} --rm local:4 --overcommit --dry-run ./a"
        [ "$code" = 0 ] || { echo "$2"; echo "advised: $words"; cat err; return 1; }
    done < <(grep -oE "write '-[^']*'" <<<"$2" | sed "s/^write //")
}

@test "what a message says to write is a line without a mistake" {
    echo 'rank 0=+n0 slot=0' >1 # "--rankfile FILE"
    printf '#!/bin/sh\n' >a && chmod +x a
    each_mistake advised_words_are_valid
}

@test "an absurdly long word makes no long message" {
    long=$(printf '%05000d' 0)
    for words in "-n x$long ./a" "--$long ./a" "--x$long=$long ./a" "--mem $long ./a" "$long ./a" \
        "--rm $long ./a" "--containment rank,$long ./a" "-x A=$long -x A=1$long ./a" \
        "--tag-output=$long ./a" "-n 1$long -n 2$long ./a"; do
        answer "$words"
        fits_in_six_lines "$words"
        [ "$code" -eq 125 ]
    done
}

@test "control characters, and bytes that are not UTF-8, are shown as escapes, in messages of the host too" {
    name=$'./a\nb\e[2J\té\xff' shown='./a\nb\x1b[2J\té\xff'
    run -127 --separate-stderr mprun -n 1 "$name"
    [[ $stderr == "mprun: start rank 0 on "*": execute '$shown'"* && $stderr != *$'\n'* ]]
    printf '#!/no\033[2J\n' >"$name" && chmod +x "$name"
    run -126 --separate-stderr mprun -n 1 "$name"
    [[ $stderr == *"'$shown'"*"not the program '/no\x1b[2J' of its first line"* && $stderr != *$'\n'* ]]
    run -125 --separate-stderr "$MPRUN" $'--o\npt' true
    [[ $stderr == "mprun: unknown option '--o\npt'"* ]]
    run -125 --separate-stderr "$MPRUN" --dry-run -n 1 "$name"
    [[ $output == *"program     $shown: 1 rank"* && $stderr != *$'\n'* ]]
}

@test "at least 80 mistakes are listed, none of them twice" {
    [ "$(grep -c '^\$ ' "$MISTAKES")" -ge 80 ]
    [ "$(grep '^\$ ' "$MISTAKES" | sort | uniq -d)" = "" ]
    # each with one line of answer
    [ "$(grep -c '^\$ ' "$MISTAKES")" -eq "$(grep -vc '^\$ \|^#\|^$' "$MISTAKES")" ]
}

@test "a name of other launchers is answered when mprun is called by their name, too" {
    ln -s "$MPRUN" mpirun
    run -125 --separate-stderr timeout "$(patience 10)" ./mpirun -n 2 --map-by sockets ./a
    [[ $stderr == "mprun: option '--map-by': "* ]]
    [ -z "$output" ]
}

@test "--help and --version go to standard output with exit code 0" {
    run -0 --separate-stderr "$MPRUN" --help
    [[ $output == "Usage: "*"--tag-output"*" dialects; all"* ]]
    [ ${#lines[@]} -le 30 ]
    [ -z "$stderr" ]
    "$MPRUN" --help all >all
    for option in $(grep -oE '(^ *|; )--?[a-z-]+' <<<"$output" | tr -d '; '); do grep -qE -- "(^ *|, )$option\\b" all; done
    # each subject has options of its own, and all has those of all of them
    grep -oE '^  -[^ ,]*' all | sort >names
    for subject in programs hosts binding limits output ending debugging files other; do
        "$MPRUN" --help $subject | grep -oE '^  -[^ ,]*'
    done | sort | diff names -
    "$MPRUN" --help dialects | grep -A9 -x -- '--as srun:' | grep -q '^  -N N'
    run -125 --separate-stderr "$MPRUN" --help bindings
    [[ $stderr == "mprun: option '--help': unknown word 'bindings', the nearest is 'binding'; valid: programs, "* ]]
    "$MPRUN" --usage | tr -d '\n' | grep -q '^Usage: mprun .*\[-n N\].*\[--fanout N\].*PROGRAM'
    [ "$("$MPRUN" --usage | wc -L)" -le 80 ]
    run -0 --separate-stderr "$MPRUN" --version
    [[ $output == mprun* ]]
    [ -z "$stderr" ]
    for option in --help '--help all' --usage --version '--dry-run true'; do
        run -125 --separate-stderr sh -c '"$0" "$@" >/dev/full' "$MPRUN" $option
        [ "$stderr" = "mprun: write to standard output: No space left on device" ]
    done
}
