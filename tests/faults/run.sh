#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh - the matrix of failures (tests/faults/matrix), as TAP
#
#   tests/faults/run.sh [BUILD_DIR [ARGS...]]     BUILD_DIR: configured with --enable-fault-injection,
#                                                 default $MPRUN_BUILD
set -u
HERE=$(cd "$(dirname "$0")" && pwd) || exit 1
BUILD=${1:-${MPRUN_BUILD:-}}
[ $# -eq 0 ] || shift
if ! grep -qs '^FAULT_CPPFLAGS = .' "$BUILD/Makefile"; then
    echo "1..0 # SKIP '$BUILD' is no build with --enable-fault-injection"
    exit 0
fi
make -s -C "$BUILD" tests/faults/fault-rank >&2 || { echo "Bail out! fault-rank cannot be built"; exit 1; }
ulimit -c 0
# root gets a /dev/shm of its own: then whatever is in it was left by a test
if [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
    export MPRUN_FAULTS_OWN_SHM=1
    exec unshare --mount sh -c 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"' sh \
        "$HERE/matrix" "$BUILD" "$@"
fi
exec "$HERE/matrix" "$BUILD" "$@"
