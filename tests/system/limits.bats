#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# limits.bats - limits of steps, hosts and ranks that samples or rlimits hold
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
    said 'the step exceeded its limit of memory: [0-9.]+ MiB of 30 MiB \(--limit mem\): rank [0-2] on [^ ]+-[0-2] grew last, by [0-9.]+ MiB; all ranks are ended'
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
    run -0 --separate-stderr mprun --oversubscribe -n 2 --limit procs=2 sleep 2 # as many as it may have
    [[ $stderr == *"the step is near its limit of processes: "* ]]
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

@test "what a rank has left behind counts in the step's limits: the step ends for it, or it alone" {
    leaves() { mprun --oversubscribe -n 2 --limit procs=6 "$@" sh -c '[ $MPRUN_RANK = 1 ] || { for i in 1 2 3 4 5 6 7 8; do sleep 30 & done; exit 0; }; sleep 4; echo others'; }
    run -137 --separate-stderr leaves
    [[ $stderr == *"the step exceeded its limit of processes: "* && -z $output ]]
    mprun --containment=rank -n 1 true || return 0
    run -0 --separate-stderr leaves --containment=rank --on-limit kill-rank
    [ "$output" = others ]
    [[ $stderr != *exceeded* ]]
}

@test "a segment that several ranks share counts once; CPU time is that of children, too" {
    local spin
    cat > share.py <<'PY'
import mmap, os, time
size = 40 << 20
fd = os.open("segment", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, size)
m = mmap.mmap(fd, size)
# one after the other: the parts of those that have it shrink
time.sleep(.5 * int(os.environ["MPRUN_RANK"]))
for i in range(0, size, 4096):
    m[i] = 1
open("up" + os.environ["MPRUN_RANK"], "w")
while not all(os.path.exists("up%d" % r) for r in range(3)):
    time.sleep(.05)
time.sleep(2)
PY
    cd "$(mktemp -d /dev/shm/mprun-limits.XXXXXX)"
    run --separate-stderr mprun --oversubscribe -n 3 --limit mem=80M,memsw=80M --on-limit warn python3 "$TMPDIR/share.py"
    rm -rf "$PWD"
    cd "$TMPDIR"
    [ "$status" -eq 0 ]
    [[ $stderr != *exceeded* ]]
    spin=$(mpi_program spin none)
    run -137 --separate-stderr mprun --oversubscribe -n 1 --limit cput=2s sh -c '"$0" --waited 1 1; "$0" 30' "$spin"
    [[ $stderr == *"the step exceeded its limit of CPU time: 2."*" s of 2.00 s (--limit cput)"* ]]
}

# no cgroup: what holds a limit then
sampled() { run --separate-stderr mprun --containment=tree --oversubscribe "$@"; }
# a rank that has more than 40 MiB
big() { echo 'python3 -c "import time; a = b\"x\" * (40 << 20); time.sleep(${HELD:-30}); print(\"done\")"'; }

@test "memory of a rank and of a host is sampled where no cgroup holds it: the one that has too much is named" {
    sampled -n 2 --limit rank:mem=30M --report containment sh -c "if [ \$MPRUN_RANK = 1 ]; then exec $(big); fi; sleep 30"
    [ "$status" -eq 137 ]
    said 'rank 1 on [^ ]+ exceeded its limit of memory: [0-9.]+ MiB of 30 MiB \(--limit rank:mem\); all ranks are ended'
    said ': memory of a rank limited to 30 MiB, held by samples$'
    sampled -n 2 --mem 60M sh -c "exec $(big)"
    [ "$status" -eq 137 ]
    said 'host [^ ]+ exceeded its limit of memory: [0-9.]+ MiB of 60 MiB \(--limit host:mem\): rank [01] on [^ ]+ grew last'
    mprun --containment=step -n 1 true || return 0 # with a cgroup that is not the rank's alone
    for limit in mem rank:mem; do
        run -137 --separate-stderr mprun --containment=step -n 1 --limit $limit=30M sh -c "exec $(big)"
        said "exceeded its limit of memory: [0-9.]+ MiB of 30 MiB \(--limit $limit\)"
    done
}

@test "--on-limit is for sampled limits of ranks and hosts, too" {
    sampled -n 2 --limit rank:mem=30M --on-limit kill-rank sh -c "if [ \$MPRUN_RANK = 1 ]; then exec $(big); fi; sleep 3; echo others"
    [ "$status" -eq 137 ]
    said 'rank 1 on [^ ]+ exceeded its limit of memory: .*; the other ranks go on'
    [[ $output == *others* ]]
    HELD=3 sampled -n 2 --limit host:procs=1,rank:mem=30M --on-limit warn sh -c "$(big)"
    [ "$status" -eq 0 ]
    [ "$(grep -c done <<<"$output")" -eq 2 ]
    said 'rank 0 on [^ ]+ exceeded its limit of memory: '
    said 'rank 1 on [^ ]+ exceeded its limit of memory: '
    [ "$(grep -c 'exceeded its limit of processes' <<<"$stderr")" -eq 1 ]
}

@test "limits of the step and of its hosts are held by the same looks at the processes, which read no more than they need" {
    needs_tool strace
    needs_no_sanitizers "traced"
    looks() { # LIMITS
        strace -f -qq -e trace=openat -o "trace.$1" "$MPRUN" --containment=tree -n 1 --limit "$1" sh -c 'echo $$; exec sleep 4' >"rank.$1" 2>"err.$1"
    }
    reads() { grep -c "\"/proc/$(cat "rank.$1")/$2\"" "trace.$1"; } # LIMITS FILE: of the rank
    looks mem=8000G & # a first sample after 0.25 s, then after twice as long each time
    local all=mem=8000G,rank:mem=8000G,rank:vmem=8000G,host:cput=9000h one both
    looks $all
    wait $!
    one=$(reads mem=8000G statm)
    both=$(reads $all statm)
    echo "looks of the step $one, with those of the host $both"
    [ "$one" -ge 3 ]
    [ "$both" -lt $((2 * one)) ]
    # what costs more is read when pages were mapped, and when all cores could have used up the CPU time
    [ "$(reads $all status)" -lt "$both" ]
    [ "$(reads $all stat)" -le 1 ]
}

@test "pages of files are given back at a limit, and end no rank: at a cgroup's, and where samples hold it" {
    [ "$(stat -f -c %T .)" != tmpfs ] || skip "the files here are memory"
    cat >reads.py <<'PY'
import mmap, os, sys, time
block = os.urandom(1 << 20)
with open("file.%s" % os.environ["MPRUN_RANK"], "w+b") as f:
    for i in range(60):
        f.write(block)
    f.flush()
    m = mmap.mmap(f.fileno(), 0)
    sum(m[::4096])
    time.sleep(float(sys.argv[1]))
print("read all")
PY
    sampled -n 1 --limit rank:mem=36M,mem=36M python3 reads.py 1.5 # looks come every 0.25 s at first
    [ "$status" -eq 0 ]
    [[ $stderr != *exceeded* ]]
    run -0 --separate-stderr mprun -n 1 --limit rank:mem=36M --report-json report.json python3 reads.py 0
    [ "$output" = "read all" ]
    run -0 python3 - <<'PY'
import json
r = json.load(open("report.json"))["ranks"][0]
held = r["limits"]["memory_bytes"]["held_by"] == "cgroup"
print(held, not held or r["usage"]["limit_events"] > 0, r["usage"].get("oom_kills", 0))
PY
    echo "by cgroup, hits, kills: $output"
    [[ $output == *" True 0" ]]
    rm -f file.0
}

@test "wall time ends a step, a host and a rank when it is over, and not much later" {
    local level
    for level in '' host: rank:; do
        sampled -n 2 --limit "${level}wall=1s" --on-limit kill-rank sleep 60
        [ "$status" -eq 137 ]
        said 'exceeded its limit of wall time: [1-9][0-9.]* s of 1.00 s \(--limit ([a-z]*:)?wall\)'
    done
}

@test "CPU time of a rank: the kernel holds each process, samples all together" {
    run -152 --separate-stderr mprun -n 1 --limit rank:cput=1s --report usage sh -c 'while :; do :; done'
    said 'rank 0 on [^ ]+ exceeded its limit of CPU time: 1.00 s \(--limit rank:cput\)'
    said '^mprun: >> Job [a-z0-9]+ exceeded resource allocation -- killed$'
    said '^  Resources_used: walltime [0-9.]+ s, cput [0-9.]+ (s|ms)(, mem [0-9.]+ [KM]iB)?$'
    run -137 --separate-stderr mprun -n 1 --limit rank:cput=2s \
        sh -c 'for i in 1 2 3; do sh -c "ulimit -t 1; while :; do :; done" & done; wait; exec sleep 60'
    said 'rank 0 on [^ ]+ exceeded its limit of CPU time: [0-9.]+ s of 2.00 s \(--limit rank:cput\); all ranks are ended'
    # of processes that have ended, and that the rank did not wait for, too
    cat >orphans <<'EOF'
for i in 1 2 3 4; do
    rm -f pid
    (sh -c 'ulimit -t 1; echo $$ >pid; while :; do :; done' &)
    until [ -s pid ]; do sleep .02; done
    while kill -0 "$(cat pid)" 2>/dev/null; do sleep .05; done
done
exec sleep 60
EOF
    run -137 --separate-stderr mprun -n 1 --limit cput=2s sh orphans
    said 'the step exceeded its limit of CPU time: [0-9.]+ s of 2.00 s \(--limit cput\)'
}

@test "limits of each process are hard, and the report says what holds which" {
    run --separate-stderr mprun -n 1 --limit rank:files=20,rank:core=0,rank:vmem=1G,rank:file=1M --report containment --report-json report.json \
        sh -c 'ulimit -Hn; ulimit -Hc; ulimit -Hv; ulimit -Hf; exec dd if=/dev/zero of=file bs=1M count=3'
    [ "$status" -eq 153 ]
    [ "${lines[*]}" = "20 0 1048576 2048" ]
    [ "$(stat -c %s file)" -eq 1048576 ]
    said 'first failure: rank 0 on [^ ]+ exceeded its limit of file size: 1 MiB \(--limit rank:file\)'
    said 'address space of a rank limited to 1 GiB, held by rlimit for each process, samples for all of them together; '
    said 'open files of a rank limited to 20, held by rlimit for each process; core size of a rank limited to 0 B, held by rlimit for each process'
    python3 - <<'PY2'
import json
r = json.load(open("report.json"))
assert r["ranks"][0]["limits"]["open_files"] == {"value": 20, "held_by": "rlimit"}, r["ranks"]
PY2
}

@test "a rank that dies at a limit of ulimit: the limit, its value, and where it was set" {
    cat >deep.c <<'END'
#include <string.h>
static int deep(int n) { volatile char b[4096]; memset((void *)b, n, sizeof(b)); return n ? deep(n - 1) + b[5] : 0; }
int main(void) { return deep(1000) == 1; }
END
    ${CC:-cc} -O0 -w deep.c -o deep
    dies() { # CODE WORDS ULIMIT PROGRAM...
        local code=$1 words=$2 limit=$3
        shift 3
        run "-$code" --separate-stderr sh -c 'ulimit $1; shift; "$@"' sh "$limit" timeout "$(patience 20)" "$MPRUN" -n 1 "$@"
        said "^mprun: rank 0 on [^ ]+ \(pid [0-9]+\) $words\$"
    }
    local here='where mprun was started\)' own='set by the program or its script\)'
    dies 139 "was killed by signal 11 \(Segmentation fault\), perhaps at its limit of 64 KiB of stack \(ulimit -s $here" '-s 64' ./deep
    dies 139 "was killed by signal 11 .*, perhaps at its limit of 100 KiB of stack \(ulimit -s $own" '-S -c 0' \
        sh -c 'ulimit -s 100; exec ./deep'
    dies 139 "exited with code 139, perhaps at its limit of 100 KiB of stack \(ulimit -s $own" '-S -c 0' sh -c 'ulimit -s 100; ./deep; exit $?'
    dies 152 "was killed by signal 24 .* at its limit of 1.00 s of CPU time \(ulimit -t $here" '-S -t 1' sh -c 'while :; do :; done'
    dies 137 "was killed by signal 9 .*, perhaps at its limit of 1.00 s of CPU time \(ulimit -t $here" '-t 1' sh -c 'while :; do :; done'
    dies 153 "was killed by signal 25 .* at its limit of 8 KiB of a file \(ulimit -f $here" '-f 16' \
        sh -c 'exec head -c 100000 /dev/zero >big'
    has_sanitizers || dies 1 "exited with code 1, perhaps at its limit of [0-9.]+ MiB of address space \(ulimit -v $here" '-v 300000' \
        python3 -c 'x = "a" * 1000000000'
    dies 1 "exited with code 1, perhaps at its limit of 40 open files \(ulimit -n $here" '-S -n 40' \
        python3 -c 'l = [open("/dev/null") for i in range(100)]'
    if "$MPRUN" --explain -n 1 --limit rank:procs=9 true | grep -q 'limited to 9, held by cgroup'; then
        run -1 --separate-stderr mprun -q -n 1 --limit rank:procs=9 python3 -c 'import os, time
for i in range(20):
    if os.fork() == 0: time.sleep(60)'
        said '^mprun: rank 0 on .* exited with code 1, perhaps at its limit of 9 processes \(--limit rank:procs\)$'
    fi
    # nothing is said where nothing is known
    dies 3 "exited with code 3" '-S -c 0' sh -c 'exit 3'
    dies 134 "was killed by signal 6 \(Aborted\)" '-S -c 0' sh -c 'kill -ABRT $$'
}

@test "a limit of memory in which no program can start is named as what may be the reason" {
    "$MPRUN" --explain -n 1 --limit rank:mem=1G true | grep -q 'limited to 1 GiB, held by cgroup' || skip "no cgroup holds memory"
    run --separate-stderr mprun -n 1 --mem-per-rank 4K true
    [[ $status != 126 || $stderr == *": Cannot allocate memory; a limit of memory may be too small for it" ]]
}

@test "--limit refuses what is no limit" {
    local words
    for words in mem mem= mem=x cput=0.5 core=1 host:files=9 node:mem=1 rank: rank:mem mem=1,mem=2 =3 mem=1, procs=0; do
        run -125 --separate-stderr mprun --limit "$words" -n 1 true
        [[ $stderr == "mprun: option '--limit': "* ]]
    done
    run -125 --separate-stderr mprun --limit rank:mem=2M,rank:memsw=1M -n 1 true
    [[ $stderr == "mprun: --limit: memsw"* ]]
    run -125 --separate-stderr mprun --on-limit never -n 1 true
    [[ $stderr == *"kill-step, kill-rank, warn"* ]]
}

@test "--cgroup-mount takes an absolute directory, and there no other cgroups are found" {
    run -125 --separate-stderr mprun --cgroup-mount cgroup -n 1 true
    [[ $stderr == "mprun: option '--cgroup-mount': 'cgroup': an absolute directory of at most "* ]]
    run -125 --separate-stderr mprun --cgroup-mount "$TMPDIR" --containment rank -n 1 true
    [[ $stderr == *"is not mounted"* ]]
}

# bats test_tags=root
@test "--cgroup-version, on the line or in mprun.conf: one version is used where a host has both" {
    needs_root
    may_make_cgroups
    mountpoint -q /sys/fs/cgroup/unified || skip "needs a machine with hybrid cgroups"
    uses() { # VERSION OPTIONS...: ranks are tracked there, and their cgroups are of no other version
        local version=$1
        shift
        run -0 --separate-stderr mprun -n 1 "$@" --limit rank:mem=1G --report containment cat /proc/self/cgroup
        said "^  [^ ]+: tracking rank in $version cgroups\$"
    }
    rank_is_in() { sed -n 's/^[0-9]*:memory:.*\/mprun\..*/memory/p; s/^0::.*\/mprun\..*/v2/p' <<<"$output" | sort | tr '\n' ' '; }
    uses hybrid --cgroup-version autodetect
    [ "$(rank_is_in)" = "memory v2 " ]
    uses v2 --cgroup-version v2
    [ "$(rank_is_in)" = "v2 " ]
    said ': memory of a rank limited to 1 GiB, held by samples$' # v2 has no controllers then
    mkdir -p config/mprun
    echo '--cgroup-version v1' >config/mprun/mprun.conf
    XDG_CONFIG_HOME=$PWD/config uses v1
    [ "$(rank_is_in)" = "memory " ]
    said ': memory of a rank limited to 1 GiB, held by cgroup$'
    run --separate-stderr unshare --mount sh -c 'umount /sys/fs/cgroup/unified && exec "$@"' sh \
        "$MPRUN" --cgroup-version v2 --containment=rank -n 1 true
    [ "$status" -ne 0 ]
    said "this host can only give 'tree': --cgroup-version v2: no cgroup of version 2 may be used here"
}
