# SPDX-License-Identifier: BSD-3-Clause
# hooks.bash - what prolog and epilog have in common; they say what they do
#
# As root the environment is partly the job's user's: nothing of it is used but what the shepherd sets
# for every job (JOB_ID, SGE_TASK_ID, PE_HOSTFILE, HOSTNAME), and what names the cell (SGE_ROOT,
# SGE_CELL), unless hooks.conf does. The ports are not always the shepherd's: a job that sets them
# could have another qmaster asked. PATH is set by who reads this.
unset IFS GLOBIGNORE TMOUT
[ "$EUID" != 0 ] || unset SGE_QMASTER_PORT SGE_EXECD_PORT
set -f

# ---- hooks.conf, and what holds without it --------------------------------------------------------------

MPRSRC=mprsrc             # the program, with further options in MPRSRC_OPTIONS
MPRSRC_OPTIONS=()
COPROCESSOR_D=$HERE/../coprocessor.d
REMOTE=()                 # how to reach the job's other hosts: (ssh -o BatchMode=yes); none: not at all
ON_UNKNOWN=continue       # mprsrc fails: continue, reschedule or job-error
ON_DEVICE=job-error       # a device that was granted cannot be prepared: continue, reschedule, job-error
ON_RESET=continue         # a device cannot be reset at the end: continue or queue-error
if [ -r "$HERE/hooks.conf" ]; then
    . "$HERE/hooks.conf"
fi

# ---- words and ends --------------------------------------------------------------------------------------

say() { echo "[$NAME] $*"; }
warn() { echo "[$NAME] $*" >&2; }

# What the shepherd makes of an exit code: 0 go on, 99 start the job again later, 100 the job is in
# error; every other one puts the QUEUE in error, which stops a host for all jobs.
end_as() {
    case $1 in
    reschedule) exit 99 ;;
    job-error) exit 100 ;;
    queue-error) exit 1 ;;
    *) exit 0 ;;
    esac
}

# ---- the job ---------------------------------------------------------------------------------------------

# Sets SGE_$NAME_...; 1 with a sentence.
read_job() {
    local vars task=${SGE_TASK_ID:-undefined}
    if ! [[ ${JOB_ID:-} =~ ^[1-9][0-9]{0,9}$ && $task =~ ^(undefined|[1-9][0-9]{0,9})$ ]]; then
        warn "JOB_ID '${JOB_ID:-}' or SGE_TASK_ID '$task' is none"
        return 1
    fi
    vars=$("$MPRSRC" "${MPRSRC_OPTIONS[@]}" --mode "${NAME,,}" -j "$JOB_ID" "$task") || return 1
    eval "$vars"
}

# run_hook KIND ACTION PLACE HOST OWNER ID...: 0, or what it exits with. It has nothing of our
# environment.
run_hook() {
    local kind=$1 action=$2 place=$3 host=$4 owner=$5 hook=$COPROCESSOR_D/$1
    shift 5
    [ -x "$hook" ] || return 0
    if [ "$place" = 0 ]; then
        env -i PATH="$PATH" "$hook" "$action" "$owner" "$@" </dev/null
    elif [ ${#REMOTE[@]} -gt 0 ]; then
        env -i PATH="$PATH" "${REMOTE[@]}" "$host" "$hook" "$action" "$owner" "$@" </dev/null
    else
        warn "$kind $* on $host: left as they are: hooks.conf says not how to reach other hosts"
    fi
}

# each_device ACTION: the hooks for all devices that the job has by name. The master task's host, the
# first, is this one: prolog and epilog run nowhere else. 1 when one of them failed.
each_device() {
    local action=$1 failed=0 i kind name ids
    local -n hosts=SGE_${NAME}_HOSTS owner=SGE_${NAME}_JOB_OWNER
    if ! [[ $owner =~ ^[A-Za-z_][A-Za-z0-9_.-]*$ ]]; then
        warn "the job's owner '$owner' is no user"
        return 1
    fi
    for kind in phi gpu; do
        name=SGE_${NAME}_${kind^^}
        local -n list=$name
        for ((i = 0; i < ${#hosts[@]}; i++)); do
            read -ra ids <<<"${list[i]}"
            [ ${#ids[@]} -gt 0 ] || continue
            if ! run_hook $kind "$action" $i "${hosts[i]}" "$owner" "${ids[@]}"; then
                warn "$action $kind ${ids[*]} on ${hosts[i]}: failed"
                failed=1
            fi
        done
        unset -n list
    done
    return $failed
}
