#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run-in-vm.sh - run bats files in a virtual machine (vmrun.sh), with this build of mprun
#
#   run-in-vm.sh [--cgroup v2|v1|hybrid] [--delegated] [VMRUN-OPTION...] FILE.bats... [-- BATS-OPTION...]
#
# --delegated: not as root but as an ordinary user in a delegated cgroup (delegate.sh). The build is
# $MPRUN_BUILD (default: build/ of this source), and is read-only there; TMPDIR is in the machine's
# memory. Output is TAP, the exit code that of bats.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
export MPRUN_SOURCE=${MPRUN_SOURCE:-$(cd "$HERE/../.." && pwd)}
export MPRUN_BUILD=${MPRUN_BUILD:-$MPRUN_SOURCE/build}
OPTIONS=() FILES=() BEFORE=()
while [ $# -gt 0 ]; do
    case $1 in
    --delegated) BEFORE=("$HERE/delegate.sh" --) ;;
    --) shift && break ;;
    -v | --prepare) OPTIONS+=("$1") ;;
    -*) OPTIONS+=("$1" "${2:-}") && shift ;;
    *) FILES+=("$(realpath "$1")") ;;
    esac
    shift
done
[ ${#FILES[@]} -gt 0 ] || { echo "run-in-vm.sh: no bats file" >&2; exit 125; }
for name in MPRUN_SOURCE MPRUN_BUILD MPRUN_TRANSPORT; do
    [ -z "${!name:-}" ] || OPTIONS+=(--env "$name=${!name}")
done
exec "$HERE/vmrun.sh" --cwd /tmp "${OPTIONS[@]}" -- \
    ${BEFORE[@]+"${BEFORE[@]}"} bats --formatter tap "$@" "${FILES[@]}"
