#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# method-gridengine.bats - mpstarter as starter_method of a queue of a whole Grid Engine: jobs and tasks
# are the same with and without it, and mprun works in them (what it makes of a call: method.bats)
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup; }
teardown_file() { gridengine_teardown; }

setup() {
    needs_gridengine
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
    STARTER=$(realpath "$MPRUN_BUILD/starter/mpstarter")
    shared=$(mktemp -d "$HOSTS_DIR/shared/method.XXXXXX")
    chmod 777 "$shared"
    # what a job or task is, with what differs between any two of them taken out
    cat >"$shared/look" <<'EOF'
export LC_ALL=C
echo "file $(readlink "/proc/$$/exe")"
{
    for argument; do printf '<%s>' "$argument"; done
    echo .
    tr '\0' '|' </proc/$$/cmdline
    echo
    grep -E '^(Sig[^Q]|Shd|Umask|Uid|Gid|Cpus_allowed_list)' /proc/self/status
    cat /proc/self/limits
    # of the shell, which may have more of its own, and what it passes on
    for fd in 0 1 2; do readlink "/proc/$$/fd/$fd"; done | sed 's/pipe:.*/pipe/'
    ls /proc/self/fd
    tr '\0' '\n' </proc/$$/environ |
        grep -avE '^(SGE_STARTER_.*|MPRUN_JOB_.*|_=.*|SHLVL=.*|OLDPWD=.*|QRSH_PORT=.*)' | sort
} | sed -E "s,(^JOB_ID=|job_scripts/|active_jobs/|/tmp/)$JOB_ID\b,\1JOBID,g; s,[0-9]+\.(n[123])$,TASK.\1,; s,shared/job\.[A-Za-z0-9]+,shared/job,g"
EOF
    { echo '#!/bin/bash' && cat "$shared/look"; } >"$shared/script"
    chmod 755 "$shared/script" "$shared/look"
}
teardown() { gridengine_clean; }

use_starter() { ge_set "queue:starter_method=$STARTER"; }

# Grid Engine's tools on a busy machine
export JOB_LIMIT=300 HOSTS_TEST_LIMIT=200

# submit NAME OPTIONS... SCRIPT-OR-COMMAND WORDS...: on n1; returns when it has ended; its output is in $shared/NAME,
# its exit code behind it
submit() {
    local name=$1 code=0
    shift
    on n0 qsub -sync y -cwd -o "$shared/$name" -j y -q lab.q@n1 -wd "$shared" "$@" >"$shared/$name.qsub" || code=$?
    echo "code $code" >>"$shared/$name"
}

# all ways to submit a job, in this start mode
submit_all() {
    local mode=$1
    submit script.$mode "$shared/script" 'a  b' '$HOME' &
    submit S-sh.$mode -S /bin/sh "$shared/script" 'a  b' '$HOME' &
    submit plain.$mode -S /bin/bash "$shared/look" 'a  b' &
    submit array.$mode -t 3 "$shared/script" &
    submit binary.$mode -b y "$shared/script" 'a  b' '$HOME' '' &
    submit noshell.$mode -b y -shell n "$shared/script" 'a  b' '$HOME' &
    submit code.$mode -b y -shell n /bin/sh -c 'exit 7' &
    wait
}

@test "jobs: the same with and without it, in each start mode, however they are submitted" {
    for mode in unix_behavior posix_compliant script_from_stdin; do
        ge_set "queue:shell_start_mode=$mode"
        submit_all $mode
    done
    mkdir "$shared/without" && mv "$shared"/*.* "$shared/without/"
    use_starter
    for mode in unix_behavior posix_compliant script_from_stdin; do
        ge_set "queue:shell_start_mode=$mode"
        submit_all $mode
    done
    # -s and a command that is not executed is what Grid Engine makes of these
    rm "$shared"/without/{noshell,code}.script_from_stdin*
    for job in "$shared"/without/*.*[!b]; do
        [[ $job != *.qsub ]] || continue
        [[ $job == */code.* ]] || grep -q '^file /' "$job" || { echo "$job:" && cat "$job"; false; }
        diff "$job" "$shared/${job##*/}" || { echo "job ${job##*/}"; false; }
    done
    [ "$(ls "$shared"/without | grep -vc qsub)" -eq 19 ]
    [ "$(cat "$shared/code.unix_behavior")" = "code 7" ]
}

# what a job script does with its tasks; qrsh itself may say how its connection ended
tasks_script() {
    cat <<EOF
for host in n1 n2; do
    for option in '' -noshell; do
        echo "--- \$host \$option"
        qrsh -inherit \$option \$host $shared/script 'a  b' '\$HOME' '' </dev/null
        qrsh -inherit \$option \$host $shared/script </dev/null
        qrsh -inherit \$option \$host "$shared/script 'a  b' \\\$QUEUE" </dev/null 2>&1 | grep -avE 'failed: No such|run .* No such|commlib error: got [a-z]* error'
        qrsh -inherit \$option \$host /bin/sh -c 'exit 7' </dev/null
        echo "code \$?"
        echo input | qrsh -inherit \$option \$host /bin/cat
    done
done
EOF
}

@test "tasks of qrsh -inherit: the same with and without it, with and without -noshell" {
    tasks_script >tasks
    run -0 --separate-stderr qsub_wait -pe labfill 4 -q lab.q@n1,lab.q@n2 -masterq lab.q@n1 <tasks
    echo "$output" >without
    [ "$(grep -ac '^file /' without)" -eq 10 ] # with -noshell a line with blanks is no program
    [ "$(grep -ac '^<a  b><$HOME><>' without)" -eq 2 ]
    use_starter
    run -0 --separate-stderr qsub_wait -pe labfill 4 -q lab.q@n1,lab.q@n2 -masterq lab.q@n1 <tasks
    diff without - <<<"$output"
}

@test "a command of qrsh: output, input, exit code" {
    use_starter
    run -3 --separate-stderr on n0 qrsh -now no 'echo $MPRUN_JOB_RM "$(hostname)" >&2; cat; exit 3' <<<"input"
    [ "$output" = input ]
    [[ $(words "$stderr") == "gridengine n"[123] ]]
}

@test "mprun: in a queue with this starter method, and no process more than without" {
    processes='ps -o comm= -p $PPID; ps -o comm= -p $(ps -o ppid= -p $PPID); ps -o comm= -p $(ps -o ppid= -p $(ps -o ppid= -p $PPID))'
    for with in '' yes; do
        [ -z "$with" ] || use_starter
        run -0 --separate-stderr qsub_wait -pe lab 6 <<<"mprun --quiet --tag-output sh -c '$processes; hostname' | sort; mprun --quiet -n 6 sh -c 'exit 9'; echo code \$?"
        [ "$(grep -oE 'n[123]$' <<<"$output" | sort | uniq -c | tr -s ' \n' ' ')" = " 2 n1 2 n2 2 n3 " ]
        [[ $output == *"code 9" ]]
        grep -vE 'n[123]$' <<<"$output" | sed 's/^\[[0-9]*\]//' | sort >"processes.$with"
    done
    diff processes. processes.yes
}

@test "MPRUN_JOB_*: in the script, and in tasks on other hosts" {
    use_starter
    run -0 --separate-stderr qsub_wait -pe lab 5 <<'EOF'
set -e
said() { grep ^MPRUN_JOB_ | grep -vE '_(CPUS|HOSTFILE)=' | sed "s/_ID=$JOB_ID$/_ID=ID/; s/^MPRUN_JOB_//" | sort | tr '\n' ' '; }
env | said
cmp "$MPRUN_JOB_HOSTFILE" "$PE_HOSTFILE"
while read host slots rest; do
    echo
    echo "$slots:"
    qrsh -inherit -noshell $host env </dev/null | said
done <"$PE_HOSTFILE"
EOF
    echo "$output"
    [[ ${lines[0]} == "HOSTS=3 HOST_SLOTS="[12]" ID=ID PE=lab QUEUE=lab.q RM=gridengine SLOTS=5 " ]]
    [ "$(grep -A1 '^1:' <<<"$output" | tail -n 1)" = "HOST_SLOTS=1 ID=ID PE=lab QUEUE=lab.q RM=gridengine " ]
    [ "$(grep -A1 '^2:' <<<"$output" | grep -c "^HOST_SLOTS=2 ID=ID PE=lab QUEUE=lab.q RM=gridengine $")" -eq 2 ]
}

@test "a signal of Grid Engine reaches the job, and its end is the job's own" {
    use_starter
    run -5 qsub_wait -notify <<'EOF'
trap 'echo told; exit 5' USR2
qdel $JOB_ID >/dev/null
sleep 20 & wait
EOF
    [[ $output == *told* ]]
    run -137 qsub_wait <<<'kill -9 $$'
    [ "$(job_records 12)" = 100 ]
}

@test "what cannot be started is a failed job with a sentence, and neither job nor queue are in error" {
    use_starter
    ge_set queue:shell_start_mode=posix_compliant
    run -127 --separate-stderr qsub_wait -S /no/shell <<<true
    [[ $stderr == "mpstarter: on n"[123]": run '/no/shell': there is no such shell here; name another one with qsub -S, or as 'shell' of the queue" ]]
    [ "$(job_records 12)" = 0 ]
    run -126 --separate-stderr qsub_wait -b y -shell n <<<true
    [[ $stderr == "mpstarter: on n"[123]": run '"*"': Permission denied; it has to be a file with permission to execute it"* ]]
    [ "$(job_records 12)" = 0 ]
    run -0 on n0 qstat -f
    ! awk '$1 ~ /^lab.q@/ && $6 ~ /E/' <<<"$output" | grep . || false
}
