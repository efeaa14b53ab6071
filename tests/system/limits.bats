#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# limits.bats - limits of the whole step across its hosts, held by samples
load '../lib/mprun'

# three hosts of one rank each, one after the other taking 14 MiB: no host alone reaches the limits below
growing() {
    local hog
    hog=$(mpi_program memhog none)
    run --separate-stderr mprun --rm local:3 --oversubscribe -n 3 "$@" \
        sh -c 'until [ "$MPRUN_RANK" = 0 ] || [ -e "up$((MPRUN_RANK - 1))" ]; do sleep .05; done
            "$0" 14 "$1" & touch "up$MPRUN_RANK"; wait $!' "$hog" "${SECONDS_HELD:-30}"
}

said() { grep -Eq -- "$1" <<<"$stderr" || { echo "$stderr"; return 1; }; }

@test "memory of a step: the sentence has the amount, the limit, and the rank that grew last; all ranks are ended" {
    growing --limit mem=30M --report-json report.json
    [ "$status" -eq 137 ]
    said 'the step exceeded its limit of memory: [0-9.]+ MiB of 30 MiB \(--limit mem\): rank [0-2] on [^ ]+-[0-2] grew last, by [0-9.]+ MiB; its ranks are ended'
    python3 - <<'PY'
import json
r = json.load(open("report.json"))
assert r["step"]["limits"]["memory_bytes"] == {"value": 30 << 20, "held_by": "sampled"}, r["step"]
assert "exceeded its limit of memory" in r["step"]["first_failure"]["text"], r["step"]
PY
}

@test "a step is warned when it comes near a limit, and a step below its limits is left alone" {
    SECONDS_HELD=2 growing --limit mem=45M,vmem=100G,procs=1000,cput=1h
    [ "$status" -eq 0 ]
    [[ $stderr == *"the step is near its limit of memory: "* ]]
    [[ $stderr != *exceeded* ]]
}

@test "--on-limit kill-rank ends the rank that grew last, and the others go on; warn ends none" {
    SECONDS_HELD=3 growing --limit mem=35M --on-limit kill-rank
    [ "$status" -eq 137 ]
    said 'the step exceeded its limit of memory: .*: rank [0-2] on .*; the other ranks go on'
    [ "$(grep -c touched <<<"$output")" -ge 2 ]
    SECONDS_HELD=2 growing --limit mem=30M --on-limit warn
    [ "$status" -eq 0 ]
    [[ $stderr == *"the step exceeded its limit of memory: "* ]]
    [ "$(grep -c touched <<<"$output")" -eq 3 ]
}

@test "a segment that several ranks share counts once; CPU time is that of children, too" {
    local spin
    cat > share.py <<'PY'
import mmap, os, time
size = 20 << 20
fd = os.open("segment", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, size)
m = mmap.mmap(fd, size)
for i in range(0, size, 4096):
    m[i] = 1
open("up" + os.environ["MPRUN_RANK"], "w")
while not all(os.path.exists("up%d" % r) for r in range(3)):
    time.sleep(.05)
time.sleep(2)
PY
    cd "$(mktemp -d /dev/shm/mprun-limits.XXXXXX)"
    run --separate-stderr mprun --oversubscribe -n 3 --limit mem=60M --on-limit warn python3 "$TMPDIR/share.py"
    rm -rf "$PWD"
    cd "$TMPDIR"
    [ "$status" -eq 0 ]
    [[ $stderr != *exceeded* ]]
    spin=$(mpi_program spin none)
    run -137 --separate-stderr mprun --oversubscribe -n 1 --limit cput=2s sh -c '"$0" --waited 1 1; "$0" 30' "$spin"
    [[ $stderr == *"the step exceeded its limit of CPU time: 2."*" s of 2.00 s (--limit cput)"* ]]
}

@test "--limit refuses what is no limit" {
    local words
    for words in mem mem= mem=x cput=0.5 core=1 mem=1,mem=2 =3 mem=1, procs=0; do
        run -125 --separate-stderr mprun --limit "$words" -n 1 true
        [[ $stderr == "mprun: option '--limit': "* ]]
    done
    run -125 --separate-stderr mprun --on-limit never -n 1 true
    [[ $stderr == *"kill-step, kill-rank, warn"* ]]
}
