# SPDX-License-Identifier: BSD-3-Clause
# shepherd.bash - Grid Engine's own sge_shepherd and qrsh_starter without its daemons
#
#   needs_shepherd                   skip the test where these programs are not installed
#   spool_make DIR KEY=VALUE... [-- ARGUMENT...]
#                                    a spool directory as sge_execd makes it for a job: KEYs of its
#                                    `config`, arguments of the job; QRSH=1 adds those after -- as the
#                                    command of qrsh instead. Always given: script_file, starter_method
#   shepherd_run DIR                 run the job: what it wrote, its wait status as "status N", and the
#                                    shepherd's own exit code (not 0: an error of job or queue)
#   qrsh_starter_run DIR [noshell]   run the command of qrsh as a task: its output and wait status
#
# They run as whoever calls them: without root, too.
GRIDENGINE_LIB=${GRIDENGINE_LIB:-/usr/lib/gridengine}

needs_shepherd() {
    [ -x "$GRIDENGINE_LIB/sge_shepherd" ] && [ -x "$GRIDENGINE_LIB/qrsh_starter" ] ||
        skip "needs Grid Engine's sge_shepherd and qrsh_starter"
}

# every key that the shepherd of 8.1.9 asks for; the group is none that an execd would give, and the
# shepherd is not to kill by it
spool_defaults() {
    local dir=$1 key
    cat <<EOF
add_grp_id=$((61000 + $$ % 4000))
enable_addgrp_kill=0
stdout_path=$dir/out
stderr_path=$dir/out
stdin_path=/dev/null
pe_stdout_path=$dir/po
pe_stderr_path=$dir/po
merge_stderr=1
tmpdir=$dir
cwd=$dir
queue_tmpdir=$dir
qrsh_tmpdir=$dir
qrsh_pid_file=$dir/pid.qrsh
shell_path=/bin/sh
shell_start_mode=unix_behavior
use_login_shell=0
job_owner=$(id -un)
admin_user=$(id -un)
host=$(hostname)
queue=lab.q
job_name=test
job_id=20
pe=lab
pe_slots=4
host_slots=2
pe_hostfile=$dir/pe_hostfile
script_timeout=120
mail_list=root
account=sge
processors=UNDEFINED
binding=NULL
qsub_gid=no
notify_kill=default
notify_susp=default
notify_kill_type=1
notify_susp_type=1
write_osjob_id=1
inherit_env=1
ignore_fqdn=1
default_domain=none
fs_stdin_path=
fs_stdout_path=
fs_stderr_path=
EOF
    for key in min_gid min_uid handle_as_binary no_shell ckpt_job priority ja_task_id mail_options \
        forbid_reschedule forbid_apperror notify acct_project use_afs pty enable_windomacc csp \
        fs_stdin_file_staging fs_stdout_file_staging fs_stderr_file_staging; do
        echo "$key=0"
    done
    for key in prolog epilog suspend_method resume_method terminate_method pe_start pe_stop; do
        echo "$key=none"
    done
    for key in vmem cpu stack data rss fsize core; do
        printf '%s\n' "h_$key=INFINITY" "s_$key=INFINITY" "h_${key}_is_consumable_job=0" "s_${key}_is_consumable_job=0"
    done
    for key in descriptors maxproc memorylocked locks; do
        printf '%s\n' "h_$key=UNDEFINED" "s_$key=UNDEFINED"
    done
    for key in stdin stdout stderr; do
        printf '%s\n' "fs_${key}_host=\"\"" "fs_${key}_tmp_path=$dir/"
    done
}

spool_make() {
    local dir=$1 i=0 script=
    shift
    rm -rf "$dir" && mkdir -p "$dir" || return 1
    local settings=()
    while (($#)) && [ "$1" != -- ]; do
        settings+=("$1")
        [[ $1 != script_file=* ]] || script=${1#*=}
        shift
    done
    (($# == 0)) || shift
    {
        trap - DEBUG # bats would look at each of some hundred commands
        printf '%s\n' "${settings[@]}" # of two lines with a key the first counts
        if [ -z "${QRSH:-}" ]; then
            echo "njob_args=$#"
            for argument; do echo "job_arg$((++i))=$argument"; done
        fi
        spool_defaults "$dir"
    } | awk -F= '!seen[$1]++' >"$dir/config"
    {
        printf '%s\n' "HOME=$HOME" PATH=/usr/local/bin:/usr/bin:/bin SGE_ROOT=/var/lib/gridengine JOB_ID=20 \
            PE=lab QUEUE=lab.q SGE_TASK_ID=undefined "SGE_JOB_SPOOL_DIR=$dir" "MPRUN_TEST_MARK=$MPRUN_TEST_MARK"
        if [ -z "${QRSH:-}" ]; then
            printf '%s\n' "JOB_SCRIPT=$script" NSLOTS=4 NHOSTS=3 "PE_HOSTFILE=$dir/pe_hostfile"
        else
            printf '%s\n' JOB_SCRIPT=QRSH NSLOTS=2 NHOSTS=1
            printf 'QRSH_COMMAND=%s' "$1"
            (($# < 2)) || printf '\377%s' "${@:2}"
            echo
        fi
    } >"$dir/environment"
}

# They close all descriptors that there could be, one by one: half a second where those are a million.
shepherd_run() {
    local dir=$1 code=0
    (cd "$dir" && ulimit -n 256 && exec timeout -k 5 $((20 * ${MPRUN_TEST_SLOW:-1})) "$GRIDENGINE_LIB/sge_shepherd" >/dev/null 2>&1 3>&-) || code=$?
    # its own lines begin with date and pid
    cat "$dir/out" && sed -E 's/^[0-9/]+ [0-9:]+ \[[0-9:]+\]/shepherd/' "$dir/error"
    sed -n 's/^exit_status=/status /p' "$dir/usage"
    echo "shepherd $code"
}

qrsh_starter_run() {
    local code=0
    (ulimit -n 256 && exec timeout -k 5 $((20 * ${MPRUN_TEST_SLOW:-1})) "$GRIDENGINE_LIB/qrsh_starter" "$@" 3>&-) || code=$?
    echo "status $(cat "$1/qrsh_exit_code" 2>/dev/null || echo "unknown, exit code $code")"
}
