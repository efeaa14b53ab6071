#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh - build the libFuzzer targets and run each of them for some seconds: a TAP line per target
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]      30 seconds and all targets without arguments
#
# Built in $MPRUN_BUILD when that is configured with --enable-fuzzing, else in build/fuzz. Each run
# begins with the committed corpus, tests/fuzz/corpus/TARGET; what is found goes into a directory of
# its own and away. A failing input is kept as build/fuzz/found/TARGET-*.
set -u
SOURCE=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
SECONDS_EACH=${1:-30}
[ $# -eq 0 ] || shift
TARGETS=("$@")
[ $# -gt 0 ] || TARGETS=(number options frame hostfile link message simple-pmi steps managers qstat-xml ge-config node-events node-grants pbs-job)
KEEP=$SOURCE/build/fuzz/found
. "$SOURCE/tests/lib/slow.bash"
[[ $SECONDS_EACH =~ ^[1-9][0-9]*$ ]] || { echo "run.sh: '$SECONDS_EACH' is no number of seconds" >&2; exit 1; }

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
bail_out() {
    tail -n 40 "$WORK/log" | sed 's/^/# /'
    echo "Bail out! $1"
    exit 1
}

WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT
CLANG=${CLANG:-clang}
command -v "$CLANG" >/dev/null || skip_all "no $CLANG"
echo '#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n) { return p == NULL && n; }' >"$WORK/probe.c"
"$CLANG" -fsanitize=fuzzer,address,undefined -o "$WORK/probe" "$WORK/probe.c" 2>"$WORK/log" ||
    skip_all "$CLANG has no runtime of libFuzzer and the sanitizers (Debian: libclang-rt-dev)"

# A build of ours, unless there is one for it already.
BUILD=${MPRUN_BUILD:-}
if [ -z "$BUILD" ] || ! grep -qs "^FUZZ_TARGETS" "$BUILD/Makefile"; then
    BUILD=$SOURCE/build/fuzz
    mkdir -p "$BUILD" || exit 1
    [ -x "$SOURCE/configure" ] || (cd "$SOURCE" && autoreconf -i) >"$WORK/log" 2>&1 || bail_out "autoreconf failed"
    [ -f "$BUILD/Makefile" ] || (cd "$BUILD" && "$SOURCE/configure" CC="$CLANG" --enable-fuzzing) \
        >"$WORK/log" 2>&1 || bail_out "configure failed"
fi
# generated headers first: single targets do not ask for them
make -C "$BUILD" -j"$(nproc)" wire/mprun.pb-c.h "${TARGETS[@]/#/tests/fuzz/fuzz-}" >"$WORK/log" 2>&1 ||
    bail_out "the targets cannot be built"

# one NUMBER TARGET: run it, and write its line
one() {
    local number=$1 target=$2 code=0 inputs input
    mkdir -p "$WORK/$target/new" "$WORK/$target/found"
    # the outer limit is for a target that hangs where libFuzzer's own alarm does not reach
    timeout -k 5 $((SECONDS_EACH + $(patience 60))) "$BUILD/tests/fuzz/fuzz-$target" \
        -max_total_time="$SECONDS_EACH" -timeout="$(patience 10)" -rss_limit_mb=1024 -malloc_limit_mb=256 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="$WORK/$target/found/" \
        "$WORK/$target/new" "$SOURCE/tests/fuzz/corpus/$target" >"$WORK/$target/log" 2>&1 || code=$?
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$WORK/$target/log")
    if [ $code -eq 0 ] && [ "${inputs:-0}" -gt 0 ]; then
        echo "ok $number - fuzz-$target: $inputs inputs in $SECONDS_EACH s"
        return
    fi
    echo "not ok $number - fuzz-$target: exit code $code after ${inputs:-no} inputs"
    tail -n 40 "$WORK/$target/log" | sed 's/^/# /'
    for input in "$WORK/$target/found"/*; do
        [ -f "$input" ] || continue
        mkdir -p "$KEEP" && cp "$input" "$KEEP/$target-${input##*/}" && echo "# kept: $KEEP/$target-${input##*/}"
    done
}

# as many at once as there are processors; told in their order
echo "1..${#TARGETS[@]}"
for ((i = 0; i < ${#TARGETS[@]}; i++)); do
    ((i < $(nproc))) || wait -n
    one $((i + 1)) "${TARGETS[i]}" >"$WORK/line.$i" &
done
wait
failed=0
for ((i = 0; i < ${#TARGETS[@]}; i++)); do
    cat "$WORK/line.$i"
    grep -q '^ok' "$WORK/line.$i" || failed=1
done
exit $failed
