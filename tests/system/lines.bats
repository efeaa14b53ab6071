#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# lines.bats - command lines that were written for other launchers (lines.txt)
load '../lib/mprun'

# answer LINE [OPTION...]: the line with mprun in the launcher's place, in its dialect; exit code in $code
answer() {
    local -a words
    eval "words=($1)"
    code=0
    timeout -k 5 "$(patience 10)" "$MPRUN" --as "${words[0]}" "${@:2}" --dry-run "${words[@]:1}" </dev/null >out 2>err 3>&- 4>&- || code=$?
    pass_over_this_machine
}

# this machine has neither the programs and directories nor the cores of all these lines
pass_over_this_machine() {
    grep -qE "$LACKS" err || return 0
    [ "$code" = 125 ] || return
    sed -i -E "/$LACKS/d" err
    code=0
}
LACKS='^mprun: (start rank [0-9]+ on |host [^ ]+: (program [0-9]|bind |--map-by: this machine has no ))'

# what lines and their translations have in common
plan_of() {
    grep -vE '^ +(rank [0-9]|bound to|not bound|without variables:)' "$1"
}

host_files() {
    printf '%s\n' 'n1 slots=2' 'n2 slots=2' >hosts
    printf '%s\n' n1:2 n2:2 >mf
    printf '%s\n' '# a file of --tune' 'pml = ob1' '-mca btl self,tcp -x A=1' rmaps_base_mapping_policy=node >tunefile
    printf '%s\n' n1 n1 n2 n2 >nodefile
    printf '%s\n' 'n1 2 all.q@n1 UNDEFINED' 'n2 2 all.q@n2 UNDEFINED' >pe
}

# check KIND EXPECTED
check() {
    local ranks=${2%% | *} said=${2#* | } wanted=0
    [[ $1 != "!" ]] || wanted=125
    [ "$code" = $wanted ] || return
    case $1 in
    !) grep -qF -- "$2" err ;;
    =) grep -qE "^placement   $ranks\\b" out && [ ! -s err ] ;;
    *) grep -qE "^placement   $ranks\\b" out && grep -qF -- "$said" err && [ "$(wc -l <err)" = 1 ] ;;
    esac
}

# is_translated WORDS OPTION...: what --translate makes of the line that was answered has the same plan
is_translated() {
    local -a words
    eval "words=($1)"
    mv out plan
    "$MPRUN" --as "${words[0]}" "${@:2}" --dry-run --translate "${words[@]:1}" </dev/null >translated 2>err 3>&- 4>&- || return
    [[ $(tail -n 1 translated) == "mprun "* ]] || return
    # a comment says what Hydra's rounds need
    if grep -q 'Hydra goes round' translated && grep -q ' in sequence' plan; then
        return 0
    fi
    code=0
    PATH=$MPRUN_BUILD/launcher:$PATH bash -c "$(tail -n 1 translated)" </dev/null >out 2>err 3>&- 4>&- || code=$?
    pass_over_this_machine
    [ "$code" = 0 ] || return
    diff <(plan_of plan) <(plan_of out) >err
}

@test "every line starts the ranks that it means, says what has no effect, or is refused with what to write" {
    local line words= failed=0 options=()
    host_files
    while IFS= read -r line <&4; do
        case $line in
        '$ '*) words=${line#'$ '}; options=(--rm local:4 --overcommit); answer "$words" "${options[@]}" ;;
        '@ '*) words=${line#'@ '}; options=(); answer "$words" ;;
        [=~!]' '*) check "${line:0:1}" "${line:2}" || { echo "$words"; echo "  expected: $line"; cat out err | grep -E "^placement|^mprun" || :; failed=1; } ;;&
        [=~]' '*) is_translated "$words" "${options[@]}" || { echo "$words"; echo "  translated:"; cat translated err; failed=1; } ;;
        esac
    done 4<"$BATS_TEST_DIRNAME/lines.txt"
    return $failed
}

@test "each line has its expectation, and none is there twice" {
    [ "$(grep -c '^[$@] ' "$BATS_TEST_DIRNAME/lines.txt")" -eq "$(grep -c '^[=~!] ' "$BATS_TEST_DIRNAME/lines.txt")" ]
    [ -z "$(grep '^[$@] ' "$BATS_TEST_DIRNAME/lines.txt" | sort | uniq -d)" ]
}
