#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# containment.bats - mprun's own containment on a machine where every kind of cgroup can be had.
# Only in a virtual machine (run-all.sh, run-in-vm.sh): ranks are killed for want of memory here.
load '../lib/mprun'

setup() {
    [ "${VMRUN:-}" = 1 ] || skip "only in the virtual machine"
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    [ -x "$PROBE" ] || { echo "no '$PROBE': make check builds it" >&2; return 1; }
    mprun_setup
}
# what stays of files is looked for on the machine itself: here it would take longer than the tests
snapshot() { :; }
teardown() { [ "${VMRUN:-}" != 1 ] || mprun_teardown; }

has_memory() {
    case $VMRUN_CGROUP in
    v2) return 0 ;;
    *) [ "$(id -u)" = 0 ] ;; # nothing of v1 is delegated
    esac
}
needs_memory() { has_memory || skip "no memory controller for this user here"; }
# of steps; unit tests that failed leave mprun.test-*
no_cgroups() { [ -z "$(find /sys/fs/cgroup -name 'mprun.*' ! -name 'mprun.test-*' -print -quit)" ]; }

@test "every rank is born in a cgroup of its own" {
    run --separate-stderr mprun -n 4 --oversubscribe "$PROBE" where
    [ "$status" -eq 0 ]
    for rank in 0 1 2 3; do
        grep -q "/mprun\.[a-z0-9-]*/ranks/0\.$rank\.0$" <<<"$output"
    done
    no_cgroups
}

@test "--containment=rank,memory,pids is fulfilled here" {
    needs_memory
    run --separate-stderr mprun -n 2 --containment=rank,memory,pids "$PROBE" where
    [ "$status" -eq 0 ]
}

@test "--containment=step puts all ranks into one cgroup" {
    run --separate-stderr mprun -n 2 --containment=step "$PROBE" where
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "${lines[1]}" ]
    [[ ${lines[0]} == */mprun.*/ranks ]]
    no_cgroups
}

@test "--cgroup-automount: root's cgroups above give controllers; --cgroup-mount: no others are looked for" {
    [ "$VMRUN_CGROUP" = v2 ] && [ "$(id -u)" = 0 ] || skip "for root on a machine with cgroup v2 alone"
    mkdir -p /sys/fs/cgroup/deep/below /tmp/other
    mount -t cgroup2 none /tmp/other
    below() { run sh -c 'echo $$ >/sys/fs/cgroup/deep/below/cgroup.procs && exec "$@"' sh "$MPRUN" --containment memory "$@"; }
    below -n 1 true
    [ "$status" -eq 125 ]
    [[ $output == *"has not been given the controllers memory and pids"* ]]
    below --cgroup-automount --mem-per-rank 48M -n 1 "$PROBE" take 200
    [ "$status" -eq 137 ]
    run --separate-stderr mprun --cgroup-mount /tmp/other/ -n 1 --explain true
    [[ $stderr$output == *"cgroup v2 in '/tmp/other"* ]]
    run mprun --cgroup-mount /tmp/nothing --containment rank -n 1 true
    [ "$status" -eq 125 ]
    [[ $output == *"cgroup v2 is not mounted"* ]]
    umount /tmp/other
    rmdir /sys/fs/cgroup/deep/below /sys/fs/cgroup/deep
}

@test "root's ranks with GPUs of their own can open no others, nor can what they start" {
    [ "$(id -u)" = 0 ] || skip "for root"
    # two GPUs whose devices are /dev/full and /dev/zero, as their driver tells
    machine() {
        unshare --mount bash -c 'mount -t tmpfs none /sys/bus/pci && cd /sys/bus/pci && mkdir -p drivers/amdgpu devices/0000:0{4,5}:00.0/drm/renderD128
            ln -s ../../drivers/amdgpu devices/0000:04:00.0/driver && ln -s ../../drivers/amdgpu devices/0000:05:00.0/driver
            echo 1:7 >devices/0000:04:00.0/drm/renderD128/dev && echo 1:5 >devices/0000:05:00.0/drm/renderD128/dev
            cd /tmp && exec "$@"' bash "$@" 3>&-
    }
    printf '%s\n' 'for f in full zero null; do' '    (: <"/dev/$f") 2>/dev/null && printf "%s " "$f" || printf "no-%s " "$f"' done >opens
    opens='setsid -w sh -c "echo \$MPRUN_RANK \$ROCR_VISIBLE_DEVICES \$(sh '$PWD'/opens)"'
    run -0 --separate-stderr machine "$MPRUN" -n 2 --gpus-per-rank 1 --containment=devices --report containment sh -c "$opens"
    [ "$(sort <<<"$output")" = $'0 0 full no-zero null\n1 1 no-full zero null' ]
    [[ $stderr == *": GPUs: a rank with GPUs of its own can open no other"* ]]
    run -0 --separate-stderr machine "$MPRUN" -n 2 --gpus-per-rank 1/2 sh -c "$opens" : -n 1 --gpus-per-rank 1/2 sh -c "$opens"
    [ "$(sort <<<"$output")" = $'0 0 full no-zero null\n1 1 no-full zero null\n2 0 full no-zero null' ]
    no_cgroups
    # which devices there are is not known; a rank has no cgroup
    run -125 machine env CUDA_VISIBLE_DEVICES=7 "$MPRUN" -n 1 --gpus-per-rank 1 --containment=devices true
    [[ $output == *"--containment=...,devices: "*"(no driver tells which devices belong to which GPU)"* ]]
    run -0 --separate-stderr machine "$MPRUN" -n 1 --gpus-per-rank 1 --containment=tree --report containment true
    [[ $stderr == *": GPUs: nothing is known to keep ranks from opening others (ranks have no cgroups of their own)"* ]]
}

@test "a rank that exceeds --mem-per-rank is killed and named with its limit" {
    needs_memory
    run --separate-stderr mprun -n 2 --mem-per-rank 48M sh -c \
        '[ "$PMIX_RANK" = 1 ] && exec "$1" take 200; exec "$1" sleep' sh "$PROBE"
    [ "$status" -eq 137 ]
    [[ $stderr == *"rank 1 on "*" exceeded its memory limit 48"* ]]
    [[ $stderr != *"rank 0 on "*" exceeded"* ]]
    no_cgroups
}

@test "a rank at its limit that reads files lives, and its squeezes are counted; one that grows is killed after them" {
    needs_memory
    # pages that are there already are another cgroup's
    for file in "$MPRUN_BUILD"/tests/unit/test-*; do dd if="$file" iflag=nocache count=0 status=none; done
    run -0 --separate-stderr mprun -n 1 --mem-per-rank 8M --report usage --report-json report.json \
        sh -c 'cat "$0"/tests/unit/test-* | wc -c' "$MPRUN_BUILD"
    ((output > 16 << 20))
    echo "$stderr"
    hits=$(python3 -c 'import json; print(json.load(open("report.json"))["ranks"][0]["usage"]["limit_events"])')
    ((hits > 0))
    stalled='' # only v2 tells for how long
    [ "$VMRUN_CGROUP" = v1 ] || stalled=', stalled for memory [0-9.]+ s'
    grep -Eq "Resources_used: .*, memory limits hit $hits times$stalled\$" <<<"$stderr"
    run -137 --separate-stderr mprun -n 1 --mem-per-rank 48M "$PROBE" take 200
    grep -Eq "rank 0 on .* exceeded its memory limit 48 MiB \(--mem-per-rank; peak 4.*; the limit was hit [0-9]+ times$stalled\)" <<<"$stderr"
    [[ $stderr == *">> Job "*" exceeded resource allocation -- killed"* ]]
    no_cgroups
}

@test "v1: a step whose rank grows fast is warned near its limit, before it is ended" {
    [ "$VMRUN_CGROUP" = v1 ] || skip "elsewhere the same samples do it: tests/system/limits.bats"
    run -137 --separate-stderr mprun -n 1 --limit mem=200M "$PROBE" grow 300
    [[ $stderr == *"the step is near its limit of memory: 1"*" of 200 MiB"*"the step exceeded its limit of memory: "* ]]
}

@test "^C shows the memory that the cgroup counts, and not what processes add up to" {
    needs_memory
    run -131 time_limited 60 "$MPRUN_SOURCE/tests/lib/terminal" "$MPRUN" -n 2 --oversubscribe \
        --mem-per-rank 200M --report-json report.json \
        sh -c 'x=$(head -c 30000000 /dev/zero | tr "\0" x); echo held; while :; do sleep 1; done' <<'PLAY'
wait (held\s+){2}
type \x03
wait all ranks: CPU time .* so far .*; now memory \d+.* MiB, \d+ process
type \x1c
PLAY
    echo "$output"
    local now peak
    now=$(sed -nE 's/.*all ranks:.*; now memory ([0-9]+).* MiB,.*/\1/p' <<<"$output")
    ((now >= 57))
    peak=$(python3 -c 'import json; print(json.load(open("report.json"))["ranks_usage"]["memory_peak_bytes"] >> 20)')
    ((now <= peak))
}

@test "a rank within --mem-per-rank is left alone" {
    needs_memory
    run --separate-stderr mprun -n 2 --mem-per-rank 64M "$PROBE" take 16 exit 0
    [ "$status" -eq 0 ]
}

@test "memory with swap of a rank and the number of a host's processes are held by cgroups" {
    needs_memory
    run -137 --separate-stderr mprun -n 1 --limit rank:memsw=48M --report containment "$PROBE" take 200
    [[ $stderr == *"rank 0 on "*" exceeded its limit of memory and swap 48 MiB"* ]]
    [[ $stderr == *"memory and swap of a rank limited to 48 MiB, held by cgroup"* ]]
    run --separate-stderr mprun -n 1 --limit host:procs=4 --report containment sh -c 'for i in 1 2 3 4 5; do sleep 1 & done; wait'
    [ "$status" -ne 0 ]
    [[ $stderr == *"processes of a host limited to 4, held by cgroup"* ]]
    no_cgroups
}

@test "--oom-kill process: the rank goes on without a process; by default v2 ends all of the rank" {
    needs_memory
    run -0 --separate-stderr mprun -n 1 --mem-per-rank 48M --oom-kill process sh -c '"$0" take 200; echo went on; true' "$PROBE"
    [ "$output" = "went on" ]
    [ "$VMRUN_CGROUP" = v2 ] || return 0
    run -137 --separate-stderr mprun -n 1 --mem-per-rank 48M sh -c '"$0" take 200; echo went on; true' "$PROBE"
    [ "$output" = "" ]
    [[ $stderr == *">> Job "*" exceeded resource allocation -- killed"*"exceeded its memory limit 48 MiB"* ]]
    no_cgroups
}

@test "ranks that together exceed --mem are told as the host's, not as one's" {
    needs_memory
    run --separate-stderr mprun -n 2 --mem 64M "$PROBE" take 200
    [ "$status" -eq 137 ]
    grep -Eq "exceeded their memory limit 64 MiB \(--mem; peak of this rank .*iB; the limit was hit [0-9]+ times" <<<"$stderr"
    # of ranks in one cgroup, a kill explains one end: mprun itself kills the others
    run -137 --separate-stderr mprun -n 3 --oversubscribe --mem 64M --containment=step --kill-grace 1 --report-json report.json \
        sh -c '[ "$PMIX_RANK" = 0 ] && exec "$0" take 200; trap "" TERM; sleep 1000 & wait' "$PROBE"
    run -0 python3 -c 'import json; print(*[r["end"]["cause"] for r in json.load(open("report.json"))["ranks"]])'
    [ "$output" = "limit ended_by_mprun ended_by_mprun" ]
    # also where they are of different worlds
    printf '%s\n' true "exec $PROBE take 200" 'sleep 2; kill -9 $$' >q
    run -137 --separate-stderr mprun --rm local:1 --mem 64M --containment=step --queue q
    [[ $stderr == *"exceeded their memory limit"*"was killed by signal 9 (Killed)"* ]]
    no_cgroups
}

# A cgroup with a limit of memory, as a job's, and start clients of two hosts that are in it as well
# limited COMMAND...: the command there
limited() {
    local d=/sys/fs/cgroup/memory/lab.job limit=memory.limit_in_bytes code=0
    [ "$VMRUN_CGROUP" != v2 ] || d=/sys/fs/cgroup/lab.job limit=memory.max
    [ "$VMRUN_CGROUP" != v2 ] || echo +memory >/sys/fs/cgroup/cgroup.subtree_control
    mkdir $d
    echo 64M >$d/$limit
    timeout -k 5 "$(patience 60)" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' $d "$@" 3>&- || code=$?
    wait_until 30 rmdir $d 2>/dev/null
    return $code
}
agent() {
    printf '#!/bin/sh\nsh -c "$2"\n' >agent
    chmod 755 agent
}
out_of_memory="was killed: out of memory (cgroup '*/lab.job' reached its limit 64 MiB"

@test "in a container the limit is that of the root that can be seen" {
    [ "$VMRUN_CGROUP" = v2 ] && [ "$(id -u)" = 0 ] || skip "needs cgroup v2 and root"
    run -137 --separate-stderr limited unshare --cgroup --mount sh -c 'umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh \
        "$MPRUN" --heartbeat 0 -n 2 --oversubscribe sh -c 'exec "$0" take 100' "$PROBE"
    echo "$stderr"
    [[ $stderr == *"mprun: rank "*" on "*" was killed: out of memory (cgroup '/' reached its limit 64 MiB"* ]]
}

@test "ranks that reach the limit of a job are named with it, whatever holds the memory: mprun's own processes live" {
    [ "$(id -u)" = 0 ] || skip "a cgroup with a limit is root's to make"
    agent
    # on a slow machine it would begin by itself amid the ranks, when files have all of the memory
    begin_pmi_early
    # a host that waits for memory is silent for a while, which is said, too
    for words in "-n 8 --oversubscribe" "--host a:4,b:4 --agent ./agent -n 8"; do
        # processes of ranks, one that is a child of a rank, and files in memory that no process has
        for hog in 'exec "$0" take 100' '"$0" take 20; "$0" take 100; exit' 'head -c 100M /dev/zero >hog.$PMIX_RANK; sleep 100'; do
            # shellcheck disable=SC2086
            run -137 --separate-stderr limited "$MPRUN" --heartbeat 0 $words sh -c "$hog" "$PROBE"
            rm -f hog.*
            echo "$stderr"
            # shellcheck disable=SC2053
            [[ $stderr == *"mprun: rank "*" on "*" "$out_of_memory* ]]
            [[ $stderr != *" signal 9 "* && $stderr != *" ended with code "* ]]
        done
    done
    no_cgroups
}

# the process of this name, or mpstarter's oldest or newest one, is the kernel's first choice from now on
sacrifice() { # WHOM
    local pid
    case $1 in
    keeper) pid=$(pgrep -o -x mpstarter) ;;
    worker) pid=$(pgrep -n -x mpstarter) ;;
    *) pid=$(pgrep -o -x "$1") ;;
    esac
    echo 1000 >/proc/$pid/oom_score_adj
}

@test "mprun's own processes that are killed for want of memory are told as that, by those that are left" {
    [ "$(id -u)" = 0 ] || skip "a cgroup with a limit is root's to make"
    agent
    mkfifo go
    by_agent='--host a:16 --agent ./agent'
    begin_pmi_early
    cases=("worker $by_agent" "keeper $by_agent" "mppmi $by_agent" "agent $by_agent")
    # on v2 mprun itself is in the step's cgroup, which stays when nobody is left to move it out
    [ "$VMRUN_CGROUP" = v2 ] || cases+=("worker --oversubscribe")
    for case in "${cases[@]}"; do
        whom=${case%% *}
        # shellcheck disable=SC2086
        limited "$MPRUN" ${case#* } -n 16 sh -c 'echo here; read _ <go; exec "$0" take 8 sleep' "$PROBE" >out 2>err &
        wait_until 60 all_here
        sacrifice $whom
        : >go
        status=0
        wait $! || status=$?
        echo "$case: $status: $(cat err)"
        [ "$status" -eq 137 ]
        # shellcheck disable=SC2053
        [[ $(cat err) == *$out_of_memory* ]]
        ! grep -q ' signal 9 ' err || false
    done
    no_cgroups
}
all_here() { [ "$(grep -c here out)" = 16 ]; }

@test "an ordinary user on v1, where nothing is delegated: the tree tracks ranks, and samples hold their memory" {
    [ "$VMRUN_CGROUP" = v1 ] && [ "$(id -u)" = 0 ] || skip "for root on a machine with cgroup v1 alone"
    mkdir user && chmod 777 . user
    run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD/user" TMPDIR="$PWD/user" \
        "$MPRUN" --mem-per-rank 48M --report containment -n 1 "$PROBE" take 200 sleep
    [ "$status" -eq 137 ]
    [[ $stderr == *"exceeded its limit of memory"*"tracking tree"* ]]
}

@test "a limit that no cgroup here can hold is held by samples, and refused where a cgroup is required" {
    ! has_memory || skip "the limit can be held here"
    run --separate-stderr mprun -n 1 --containment=memory --mem-per-rank 64M "$PROBE" where
    [ "$status" -eq 125 ]
    [[ $stderr == *"--containment=...,memory: no cgroup of this host can hold it"* ]]
    run -137 --separate-stderr mprun -n 1 --mem-per-rank 64M "$PROBE" take 100 sleep
    [[ $stderr == *"rank 0 on "*" exceeded its limit of memory: "*" of 64 MiB (--limit rank:mem)"* ]]
    no_cgroups
}

@test "what escapes from session and parent ends with the step" {
    run --separate-stderr mprun -n 2 "$PROBE" escape sleep
    [ "$status" -eq 0 ]
    ! pgrep -f "$PROBE escape" || false
    no_cgroups
}

@test "a hundred escaped children of a rank that is killed end with it" {
    run --separate-stderr mprun -n 2 sh -c \
        '"$1" fork 50 escape sleep; [ "$PMIX_RANK" = 0 ] && kill -9 $$; exec "$1" sleep' sh "$PROBE"
    [ "$status" -eq 137 ]
    ! pgrep -f "$PROBE" || false
    no_cgroups
}

@test "when mprun is killed nothing stays" {
    mprun_start -n 2 "$PROBE" where fork 3 sleep
    wait_until 30 grep -q "3 of 3" "$MPRUN_OUT"
    kill -KILL "$MPRUN_PID"
    wait_until 30 no_cgroups
    ! pgrep -f "$PROBE" || false
}

@test "when keeper and worker are killed at once the ranks end, and the step fails" {
    mprun_start -n 2 sh -c '"$1" where fork 3; exec "$1" sleep' sh "$PROBE"
    wait_until 30 grep -q "3 of 3" "$MPRUN_OUT"
    kill -KILL $(pgrep -x mpstarter)
    status=0
    mprun_wait || status=$? # not by run: it is a child of this shell
    echo "code $status: $(cat "$MPRUN_ERR")"
    # one of the two dies first, and the other may still tell of a killed rank
    [ "$status" -eq 125 ] || [ "$status" -eq 137 ]
    wait_until 30 no_cgroups
    ! pgrep -f "$PROBE" || false
}

@test "the report knows the peak of memory and the CPU time of the dead" {
    needs_memory
    run --separate-stderr mprun -n 1 --report-json report.json sh -c '"$1" burn 0.5; "$1" take 40' sh "$PROBE"
    [ "$status" -eq 0 ]
    python3 - <<'END'
import json
def find(j, key):
    if isinstance(j, dict):
        if key in j:
            yield j[key]
        j = j.values()
    if isinstance(j, (list, type({}.values()))):
        for v in j:
            yield from find(v, key)
report = json.load(open("report.json"))
cpu = max(find(report, "cpu_user_s")) + max(find(report, "cpu_system_s"))
assert 0.45 < cpu < 20, cpu
END
}
