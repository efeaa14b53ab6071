#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# rogue.bats - a starter that has the key and talks nonsense ends the step with a sentence; it never
# ends mprun with a crash, a success or a wait without end
load '../lib/mprun'

setup() {
    mprun_setup
    unset MPRUN_TRANSPORT
    [ -x "$MPRUN_BUILD/tests/system/rogue-starter" ] || skip "needs rogue-starter: make check builds it"
    # started by this instead of ssh
    printf '#!/bin/sh\nexec %s\n' "$MPRUN_BUILD/tests/system/rogue-starter" >start
    printf '#!/bin/sh\nexec %s --agent %s --interface 127.0.0.1 --link-security none --host rogue "$@"\n' "$MPRUN" "$PWD/start" >launch
    chmod +x start launch
    MPRUN=$PWD/launch
}

# as wire/messages/frame.h has them
frame_types() {
    sed -n 's/^ *[XB](\([A-Z_]*\).*/\1/p' "$MPRUN_SOURCE/wire/messages/frame.h"
}

# WHAT TYPE...: mprun ends with 125 and names the host
all_refused() {
    local what=$1 type failed=0
    shift
    for type; do
        ROGUE="$what $type" MPRUN_TEST_LIMIT=10 run --separate-stderr mprun --pmi none -n 1 true
        if [ "$status" -ne 125 ] || [[ $stderr != *rogue* ]]; then
            echo "$what $type: code $status, $stderr" >&2
            failed=1
        fi
    done
    return $failed
}

@test "bytes that are no message end the step, whatever they claim to be" {
    local types
    types=$(frame_types)
    (($(wc -w <<<"$types") >= 30))
    all_refused junk $types
}

@test "messages that come too early, or with nothing in them, end the step" {
    all_refused empty HELLO PLACE LAUNCH READY STARTED EXITED ABORTED KILL SIGNAL OUTPUT \
        OUTPUT_CREDIT INPUT INPUT_CREDIT RELEASE PING PONG SILENT PRESENT COLLECT COLLECTED MODEX_REQUEST \
        MODEX_REPLY PMI_INIT STATUS_REQUEST
}

@test "HELLO cannot be left out" {
    all_refused first HELLO READY STARTED EXITED OUTPUT COLLECT RELEASE
}

@test "a failure with code 0 is a failure" {
    ROGUE=code0 run --separate-stderr mprun --pmi none -n 1 true
    [ "$status" -eq 125 ]
    [[ $stderr == *"rogue: no reason"* ]]
}

@test "a signal that is none does not become a success" {
    ROGUE=wrap run --separate-stderr mprun --pmi none -n 1 true
    [ "$status" -ne 0 ]
    [[ $stderr == *"rank 0"* ]]
}

@test "much nonsense costs a bounded time" {
    began
    ROGUE=flood MPRUN_TEST_LIMIT=20 run --separate-stderr mprun --pmi none -n 1 true
    [ "$status" -eq 125 ]
    ended_within 15
}
