#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run-all.sh - the tests of containment in virtual machines with cgroup v2, v1 and both, and with
# systemd, as one TAP stream
#
#   run-all.sh [v2] [v1] [hybrid] [systemd] [systemd-v1] [systemd-hybrid]
#
# Limits of memory, and what happens at them, are tested only here: see vmrun.sh. With MPRUN_LONG set
# a whole Grid Engine is on v1, too. The build is
# $MPRUN_BUILD (default: build/ of this source). Skips, saying why, where no machine can be had.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
MPRUN_SOURCE=${MPRUN_SOURCE:-$(cd "$HERE/../.." && pwd)}
MPRUN_BUILD=${MPRUN_BUILD:-$MPRUN_SOURCE/build}
MACHINES=("$@")
[ $# -gt 0 ] || MACHINES=(v2 v1 hybrid systemd systemd-v1 systemd-hybrid)

if [ ! -x "$MPRUN_BUILD/tests/unit/test-cgroup" ] || [ ! -x "$MPRUN_BUILD/tests/vm/cgroup-probe" ]; then
    echo "1..0 # SKIP no tests in '$MPRUN_BUILD': 'make check TESTS=' there builds them"
    exit 0
fi
if ! why=$("$HERE/vmrun.sh" --prepare 2>&1); then
    echo "1..0 # SKIP ${why##*$'\n'}"
    exit 0
fi

machine() {
    local code kind=(--cgroup "$1")
    case $1 in
    systemd) kind=(--cgroup v2 --init systemd) ;;
    systemd-*) kind=(--cgroup "${1#*-}" --init systemd) ;;
    esac
    for _ in 1 2 3; do
        code=0
        in_machine || code=$?
        [ $code -eq 75 ] || break # the machine itself hangs
    done
    printf '\n#### begin %s: machine\n' "$1"
    [ $code -eq 0 ] && echo "ok 1 - it ran to its end" || echo "not ok 1 - it ended with code $code"
    printf '1..1\n#### end %s: machine 0\n' "$1"
}
in_machine() {
    "$HERE/vmrun.sh" "${kind[@]}" --cpus 4 --nodes 2 --cwd /tmp --timeout $((${VMRUN_TIMEOUT:-1700} * ${MPRUN_TEST_SLOW:-1})) \
        --env MPRUN_SOURCE="$MPRUN_SOURCE" --env MPRUN_BUILD="$MPRUN_BUILD" \
        --env MPRUN_TEST_LIMIT=60 --env MPRUN_LONG="${MPRUN_LONG:-}" \
        --env MPRUN_HOST_SLOW="${CHECK_MACHINE_SLOW:-1}" -- "$HERE/in-guest.sh" 2>&1
}

# A machine takes long: none begins in the second half of quickcheck's time.
is_too_late() { [ -n "${CHECK_SECONDS:-}" ] && ((EPOCHSECONDS - CHECK_BEGAN > CHECK_SECONDS / 2)); }
not_begun() {
    echo "#### begin $1: machine"
    echo "ok 1 - it ran to its end # SKIP this machine was too slow: half of the $CHECK_SECONDS s were over before it"
    printf '1..1\n#### end %s: machine 0\n' "$1"
}

# A machine without KVM is busy on one processor: two at once, told in their order. On a slow machine one, as
# programs in it would not run for seconds.
machines() {
    local dir m n=0 at_once=$((${CHECK_MACHINE_SLOW:-1} > 1 ? 1 : 2))
    dir=$(mktemp -d) || exit 1
    for m in "${MACHINES[@]}"; do
        ((n++ < at_once)) || wait -n
        if is_too_late; then
            not_begun "$m" >"$dir/$m"
        else
            machine "$m" >"$dir/$m" &
        fi
    done
    wait
    for m in "${MACHINES[@]}"; do cat "$dir/$m"; done
    rm -rf "$dir"
}

machines | awk -f "$HERE/flatten.awk" | {
    failed=0
    while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line != "not ok"* ]] || failed=1
    done
    exit $failed
}
