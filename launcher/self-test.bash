#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# self-test - what `mprun --self-test` runs: does mprun do on the hosts of this job what it promises?
#
#   self-test MPRUN [OPTION...]    MPRUN starts three steps with these options, within 20 s in all; a
#                                  line for each check. Exit code 0: no check failed; 1: one has
#
# MPRUN_SELF_TEST_SECONDS says another time, for a machine that is busy with other things.
#
# It uses nothing but mprun, coreutils, procps and what a manager gives. The programs of the ranks are
# arguments, so that other hosts need nothing of it.
set -u
export LC_ALL=C
MPRUN=$1
shift
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
DIR=$(mktemp -d) || exit 1
trap 'rm -rf "$DIR"' EXIT
trap 'exit 1' HUP INT TERM
LIMIT=${MPRUN_SELF_TEST_SECONDS:-20}
FAILED=0 OK=0 SKIPPED=0

ok() { OK=$((OK + 1)) && printf '%-8s ok       %s\n' "$1" "$2"; }
failed() { FAILED=$((FAILED + 1)) && printf '%-8s FAILED   %s\n' "$1" "$2"; }
skipped() { SKIPPED=$((SKIPPED + 1)) && printf '%-8s skipped  %s\n' "$1" "$2"; }

# step NAME OPTION... PROGRAM...: sets CODE; its output and report are in $DIR. What mprun warns of
# is shown.
step() {
    local name=$1 left=$((LIMIT - 3 - SECONDS))
    shift
    CODE=0
    if [ $left -lt 1 ]; then
        echo "mprun: not tried: no time is left" >"$DIR/$name.err"
        CODE=1
        return
    fi
    { timeout -k 1 $((left + 1)) "$MPRUN" ${OPTIONS[@]+"${OPTIONS[@]}"} --quiet --kill-grace 1 \
        --start-timeout $((LIMIT / 2)) --timeout $left --report-json "$DIR/$name.json" "$@"; } \
        >"$DIR/$name.out" 2>"$DIR/$name.err" || CODE=$?
    [ $CODE -ne 0 ] || sed -n 's/^mprun: /         warning  /p' "$DIR/$name.err"
}
# why NAME: what mprun said of a step that failed
why() { grep -a '^mprun: ' "$DIR/$1.err" | tail -n 1 | sed 's/^mprun: //' | grep . || echo "mprun ended with $CODE"; }
# words KEY: values of the lines "KEY HOST VALUE..." that ranks have written
words() { sed -n "s/^$1 //p" "$DIR/${2:-first}.out"; }
join() { sort -u | paste -sd ' '; }

# ---- what the ranks do -----------------------------------------------------------------------------------

# Every rank says where it is. One on each host says by which groups, or Slurm's cgroup, it is counted, and what must go
# with the step, leaves a daemon behind, and burns some CPU time in a process that has left it.
FIRST='
cpus=$(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)
echo "rank $MPRUN_HOST_NAME $MPRUN_RANK $cpus"
[ "$MPRUN_LOCAL_RANK" = 0 ] || exit 0
own=" $(id -G "$(id -un)") " task=
for group in $(id -G); do
    case $own in *" $group "*) ;; *) task="$task $group" ;; esac
done
[ -n "$task" ] || task=$(grep -om 1 "/job_[0-9]*/step_[^/]*" /proc/self/cgroup | sed "s/^/ /")
echo "group $MPRUN_HOST_NAME$task"
env | sed -nE "s|^[^=]*=(/.*/mprun-[a-z0-9]+[.][0-9]+).*|file $MPRUN_HOST_NAME \1|p" | sort -u
sed -nE "s|^[0-9]+:(name=)?([^:]*):(.*/mprun[.][^/]*).*|\2 \3|p" /proc/self/cgroup | while read -r a b; do
    for at in /sys/fs/cgroup/${b:+$a} /sys/fs/cgroup/unified /sys/fs/cgroup; do
        [ ! -d "$at${b:-$a}" ] || echo "file $MPRUN_HOST_NAME $at${b:-$a}"
    done
done
(setsid sleep "$1" </dev/null >/dev/null 2>&1 &)
echo burnt $MPRUN_HOST_NAME $( (setsid sh -c "timeout 0.4 sh -c \"while :; do :; done\"; times" &) )
'
# A rank that fills memory; the second limit is for hosts where the first one does not hold.
HOG='ulimit -v 131072; exec tail /dev/zero'
# On each host: is what the first step left still there, and does mprund answer?
LAST='
[ "$MPRUN_LOCAL_RANK" = 0 ] || exit 0
while read -r host file; do
    [ "$host" != "$MPRUN_HOST_NAME" ] || [ ! -e "$file" ] || echo "left $host $file"
done
pgrep -u "$(id -u)" -fx "sleep $1" | sed "s/^/left $MPRUN_HOST_NAME process /"
[ -S /run/mprun/mprund.sock ] || { echo "none $MPRUN_HOST_NAME" && exit 0; }
[ -x "$2" ] || set -- "$1" mprund
said=$("$2" status --json 2>&1) || { echo "dumb $MPRUN_HOST_NAME $(echo "$said" | tail -n 1)" && exit 0; }
limit=$(echo "$said" | tr -d "\n" | sed -nE "s/.*\"job\": *\"${JOB_ID:-none}[.][^}]*\"memory_limit\": *([0-9]+).*/\1/p")
echo "daemon $MPRUN_HOST_NAME ${limit:-none}"
'

# ---- the checks ------------------------------------------------------------------------------------------

# Sets RANKS, HOSTS; 1 where no step starts, so that there is nothing to look at.
check_starts() {
    step first sh -c "$FIRST" sh "$MARK"
    if [ $CODE -ne 0 ]; then
        failed starts "$(why first)"
        HOSTS=$(words rank | cut -d ' ' -f 1 | join)
        [ -z "$HOSTS" ] || echo "         ranks did start on $HOSTS"
        return 1
    fi
    RANKS=$(words rank | wc -l) HOSTS=$(words rank | cut -d ' ' -f 1 | join)
    ok starts "$RANKS rank$([ "$RANKS" = 1 ] || echo s) run after $(awk '/^    "running_s"/ { printf "%.2f", $2 }' "$DIR/first.json") s on $HOSTS"
}

# "rank HOST N LIST" is what the kernel says; an empty list of the report is a rank that is not bound
check_cores() {
    local wrong
    if ! grep -q '"bound_threads": "[0-9]' "$DIR/first.json"; then
        skipped cores "ranks are not bound: it is not known which cores the job has, or they are too few ('mprun --explain true' says why). mprund, or 'qsub -binding', gives jobs cores"
        return
    fi
    wrong=$(awk '
        FNR == NR && $1 == "\"rank\":" { rank = $2 + 0 }
        FNR == NR && $1 == "\"bound_threads\":" { gsub(/[",]$/, "", $2); gsub(/"/, "", $2); plan[rank] = $2 }
        FNR == NR || $1 != "rank" || plan[$3] == "" { next }
        plan[$3] != $4 { print "rank " $3 " on " $2 " may run on hardware threads " $4 " instead of " plan[$3] }
        {
            n = split($4, range, ",")
            for (i = 1; i <= n; i++) {
                split(range[i] "-" range[i], end, "-")
                for (t = end[1]; t <= end[2]; t++)
                    if (had[$2, t]++) print "two ranks on " $2 " share hardware thread " t
            }
        }' "$DIR/first.json" "$DIR/first.out" | head -n 1)
    if [ -n "$wrong" ]; then failed cores "$wrong"; else ok cores "each rank has its own cores, as planned"; fi
}

check_books() {
    local said report burnt lacking
    # "burnt HOST" and what `times` says: the shell's user and system time, and its children's
    burnt=$(words burnt | sed 's/^[^ ]*//; s/[ms]/ /g' | awk '{ for (i = 1; i < NF; i += 2) sum += 60 * $i + $(i + 1) } END { print sum + 0 }')
    report=$(awk '/^  "ranks_usage"/ { on = 1 } on && /"cpu_/ { sum += $2 } on && /}/ { print sum + 0; exit }' "$DIR/first.json")
    said=$(printf 'processes that had left their ranks used %.2f s of CPU time, the report has %.2f s' "$burnt" "$report")
    lacking=$(words group | awk 'NF < 2 { print $1 }' | join)
    if ! awk "BEGIN { exit !($burnt > 0 && $report >= 0.95 * $burnt - 0.02) }"; then
        failed books "$said; 'mprun --explain true' says how each host tracks ranks"
    elif [ "$MANAGER" = slurm ] && [ -n "$lacking" ]; then
        skipped books "$said; on $lacking Slurm counts no process that has left its parent (ProctrackType is not proctrack/cgroup)"
    elif [ "$MANAGER" = slurm ]; then
        ok books "$said; all are in the cgroups by which Slurm counts its steps (compare 'sacct -j $SLURM_JOB_ID' after the job)"
    elif [ "$MANAGER" != gridengine ]; then
        skipped books "no resource manager keeps any; $said"
    elif [ -n "$lacking" ]; then
        failed books "$said; but on $lacking ranks lack the group by which Grid Engine counts a task: rsh_command and rsh_daemon have to be builtin (qconf -sconf)"
    else
        ok books "$said; all are in the groups by which Grid Engine counts their tasks (compare 'qacct -j $JOB_ID' after the job)"
    fi
}

check_limits() {
    local OPTIONS=("$@")
    step limits --containment memory --mem-per-rank 64M sh -c "$HOG"
    local text
    text=$(why limits)
    if [ $CODE -eq 137 ] && [[ $text == *"exceeded its memory limit"* ]]; then
        ok limits "${text%% (*}; exit code 137"
    elif [ $CODE -eq 125 ] && [[ $text == *"no cgroup of this host can hold it"* ]]; then
        skipped limits "no cgroup holds memory for ranks ('mprun --explain true' says why)"
    else
        failed limits "with --mem-per-rank 64M no rank was ended for its memory (exit code $CODE): $text"
    fi
}

check_cleanup() {
    sed -n 's/^file //p' "$DIR/first.out" >"$DIR/files"
    step last --stdin all sh -c "$LAST" sh "$MARK" "$MPRUND" <"$DIR/files"
    if [ $CODE -ne 0 ]; then
        failed cleanup "$(why last)"
        return 1
    fi
    local left
    left=$(words left last | sed 's/ /: /' | sort | head -n 3 | paste -sd ';')
    if [ -n "$left" ]; then failed cleanup "left behind by a step that ended: $left"; else
        ok cleanup "no daemon, directory or cgroup of an ended step is left on $HOSTS"
    fi
}

check_mprund() {
    local silent asked lacking
    silent=$(words dumb last | sed 's/ /: /' | sort | head -n 1)
    if [ -z "$silent" ] && ! words daemon last | grep -q .; then
        skipped mprund "it runs on none of these hosts; it is optional"
        return
    fi
    if [ -n "$silent" ]; then
        failed mprund "it does not answer on $silent; restart it (on that host: mprund --check, and its log)"
        return
    fi
    lacking=$(words none last | join)
    if [ -n "$lacking" ]; then
        failed mprund "it runs on some of these hosts, but not on $lacking; start it there"
        return
    fi
    # a job that asks for memory has a limit on each host
    asked=$("${SGE_BINARY_PATH:-/usr/bin}/qstat" -j "${JOB_ID:-0}" 2>/dev/null | grep -oE '(m_mem_free|h_vmem)=[^,]*' | head -n 1)
    lacking=$(words daemon last | awk '$2 == "none" { print $1 }' | join)
    if [ -n "$asked" ] && [ -n "$lacking" ]; then
        failed mprund "the job asks for $asked, but has no limit of memory on $lacking; 'mprund --check' there says what is missing (the subsystem memory, or qstat and grant_key in mprund.conf)"
    else
        ok mprund "it answers on $HOSTS${asked:+; on each the job has the limit it asks for ($asked)}"
    fi
}

OPTIONS=("$@") WITHOUT_CONTAINMENT=()
while [ $# -gt 0 ]; do
    case $1 in
    --containment) shift ;;
    --containment=*) ;;
    *) WITHOUT_CONTAINMENT+=("$1") ;;
    esac
    shift
done
MARK=600.$$$RANDOM
MPRUND=$HERE/../../sbin/mprund
[ -x "$MPRUND" ] || MPRUND=$HERE/../node-daemon/mprund
if check_starts; then
    MANAGER=$(sed -n 's/^    "resource_manager": "\(.*\)",$/\1/p' "$DIR/first.json")
    check_cores
    check_books
    check_limits ${WITHOUT_CONTAINMENT[@]+"${WITHOUT_CONTAINMENT[@]}"}
    check_cleanup && check_mprund
else
    for check in cores books limits cleanup mprund; do skipped $check "no step starts"; done
fi
echo "$OK ok, $SKIPPED skipped, $FAILED failed, in $SECONDS s"
[ $FAILED -eq 0 ]
