#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# env-diff - what `mprun --env-diff HOST` runs: how does the environment of a rank on HOST differ from
# that of the mprun which starts it?
#
#   env-diff HOST MPRUN [OPTION...]    MPRUN starts one rank there with these options, which prints its
#                                      environment. Exit code: MPRUN's
#
#   + NAME=VALUE    only the rank has it
#   - NAME=VALUE    only mprun has it
#   < NAME=VALUE    what mprun has,
#   > NAME=VALUE    and what the rank has instead
#
# It uses nothing but mprun and coreutils; 'env' is all that the host needs. Bytes that are not
# printable are shown as bash writes them.
set -u
export LC_ALL=${LC_ALL:-${LANG:-C}}
HOST=$1 MPRUN=$2
shift 2
DIR=$(mktemp -d) || exit 125
trap 'rm -rf "$DIR"' EXIT
declare -A own=() theirs=()

# take ARRAY <FILE: the variables of `env -0`; bash itself sets _
take() {
    local -n into=$1
    local entry
    while IFS= read -r -d '' entry; do
        [ "${entry%%=*}" = _ ] || into[${entry%%=*}]=${entry#*=}
    done
}

show() { printf '%s %s=%q\n' "$1" "$2" "$3"; }

"$MPRUN" "$@" --host "$HOST" -n 1 env -0 >"$DIR/rank" </dev/null || exit
env -0 >"$DIR/own"
take own <"$DIR/own"
take theirs <"$DIR/rank"
{
    for name in "${!own[@]}"; do
        if [ -z "${theirs[$name]+set}" ]; then
            show - "$name" "${own[$name]}"
        elif [ "${theirs[$name]}" != "${own[$name]}" ]; then
            show '<' "$name" "${own[$name]}"
            show '>' "$name" "${theirs[$name]}"
        fi
    done
    for name in "${!theirs[@]}"; do
        [ -n "${own[$name]+set}" ] || show + "$name" "${theirs[$name]}"
    done
} | sort -s -k 2,2 -t ' '
exit "${PIPESTATUS[1]}"
