# SPDX-License-Identifier: BSD-3-Clause
# slow.bash - how slow this machine is: . tests/lib/slow.bash
#
#   look_how_slow    measures it, unless somebody did so less than 10 s ago: sets and exports MPRUN_TEST_SLOW, a
#                    whole number, at least 1: so many times slower than the quiet machine that the limits were
#                    chosen on, because its processors are slower or because others use them, too
#   patience N       prints N seconds of that machine as seconds of this one
#
# Time limits of tests are there to end what hangs. So each of them is multiplied by this number, which is
# measured again and again as a run goes on. One process does it for all: $MPRUN_TEST_SLOW_FILE has the last number,
# and when it was measured; without that variable a file in bats' own directory.

SLOW_REFERENCE=45000 # microseconds that the work takes there
SLOW_AGE=10
SLOW_MOST=12 # what hangs ends some time

# What tests do: it starts processes, and computes. In a bash of its own, as that of bats traces all that it does.
SLOW_WORK='start=${EPOCHREALTIME/[.,]/}
for ((i = 0; i < 10; i++)); do /bin/true; done
for ((i = 0; i < 10000; i++)); do :; done
echo $((${EPOCHREALTIME/[.,]/} - start))'

look_how_slow() {
    local file=${MPRUN_TEST_SLOW_FILE:-${BATS_RUN_TMPDIR:-}/slow} when=0 was=1 now
    [ "$file" != /slow ] || file=/dev/null
    { read -r when was <"$file"; } 2>/dev/null || true
    if [[ ! $when =~ ^[0-9]+$ || ! $was =~ ^[0-9]+$ ]]; then when=0 was=1; fi
    if ((EPOCHSECONDS - when >= SLOW_AGE)); then
        ((when == 0)) || { echo "$EPOCHSECONDS $was" >"$file"; } 2>/dev/null || true # the others do not, meanwhile
        now=$((($(bash -c "$SLOW_WORK") + SLOW_REFERENCE - 1) / SLOW_REFERENCE))
        # one look may fall into a gap of the load: it takes some until the number is small again
        ((was = when ? (was + now) / 2 : now, was = was > now ? was : now, was = was < SLOW_MOST ? was : SLOW_MOST))
        { echo "$EPOCHSECONDS $was" >"$file"; } 2>/dev/null || true
    fi
    export MPRUN_TEST_SLOW=$was
}

patience() {
    look_how_slow
    case $1 in
    *.*) awk "BEGIN { print $1 * $MPRUN_TEST_SLOW }" ;;
    *) echo $(($1 * MPRUN_TEST_SLOW)) ;;
    esac
}
