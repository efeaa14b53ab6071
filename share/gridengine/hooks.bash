# SPDX-License-Identifier: BSD-3-Clause
# hooks.bash - functions and settings that prolog and epilog share; see there for what they do
#
# When this runs as root, parts of the environment come from the job's user. So it uses only what the
# shepherd sets for every job (JOB_ID, SGE_TASK_ID, PE_HOSTFILE, HOSTNAME), and the names of the cell
# (SGE_ROOT, SGE_CELL), unless hooks.conf sets these. A job can set the ports, and so could choose
# which qmaster is asked: they are unset. The script that reads this file sets PATH.
unset IFS GLOBIGNORE TMOUT
[ "$EUID" != 0 ] || unset SGE_QMASTER_PORT SGE_EXECD_PORT
set -f

# ---- hooks.conf, and the defaults -----------------------------------------------------------------------

# beside NAME DIRECTORY/PROGRAM: sets NAME to the program of this installation, as this directory is its
# share/mprun/gridengine; else PATH has it
beside() {
    local path=${HERE%/share/mprun/gridengine}/$2
    [[ $path != "$HERE/$2" && -x $path ]] || path=${2##*/}
    printf -v "$1" %s "$path"
}

beside MPRSRC bin/mprsrc  # the program, with further options in MPRSRC_OPTIONS
MPRSRC_OPTIONS=()
COPROCESSOR_D=$HERE/../coprocessor.d
REMOTE=()                 # a program by which a shell on another host of the job runs a
                          # line: (ssh -o BatchMode=yes); (): other hosts are left alone
SAY=no                    # yes: the job's output begins with what the job may use
DEVICES=auto              # run the hooks in COPROCESSOR_D: yes, no; auto: if this host has nvidia-smi or
                          # micctrl, or REMOTE is set
KEEP_D=/run/mprun-hooks   # what prologs of root keep for their epilogs; a directory of root's
ON_UNKNOWN=continue       # if mprsrc fails: continue, reschedule or job-error
ON_DEVICE=job-error       # if a granted device cannot be prepared: continue, reschedule, job-error
ON_RESET=continue         # if a device cannot be reset at the end: continue or queue-error
beside MPBIND sbin/mpbind # the program, also on the job's other hosts
WAIT=15                   # seconds until this host's mprund has the job in its cgroup (more than its
                          # qstat_seconds, 10); 0: do not wait
SENTINEL_D=/run/mprun/sentinels # has a file JOB.TASK then; empty: no program puts jobs there
ON_WAIT=continue          # if it does not have the job by then: continue, reschedule, job-error
BIND=none                 # limits by mpbind: on the hosts of none, remote (by REMOTE) or all
BIND_OPTIONS=()           # (--strict): mpbind fails if a host cannot hold all of them
BIND_LIMIT=30             # seconds for each of them
ON_BIND=job-error         # if mpbind fails: continue, reschedule, job-error
if [ -r "$HERE/hooks.conf" ]; then
    . "$HERE/hooks.conf"
fi

# ---- words and ends --------------------------------------------------------------------------------------

say() { [ "$SAY" != yes ] || echo "[$NAME] $*"; }
warn() { echo "[$NAME] $*" >&2; }

# How the shepherd takes an exit code: 0 go on, 99 start the job again later, 100 the job is in error.
# Every other code puts the QUEUE in error, which stops this host for all jobs.
end_as() {
    case $1 in
    reschedule) drop_kept && exit 99 ;;
    job-error) drop_kept && exit 100 ;;
    queue-error) exit 1 ;;
    *) exit 0 ;;
    esac
}

# The same, but returns for "continue".
end_unless_continue() { [ "$1" = continue ] || end_as "$1"; }

# ---- the job ---------------------------------------------------------------------------------------------

# Sets JOB, "23.1"; 1 with a sentence.
name_job() {
    local task=${SGE_TASK_ID:-undefined}
    if ! [[ ${JOB_ID:-} =~ ^[1-9][0-9]{0,9}$ && $task =~ ^(undefined|[1-9][0-9]{0,9})$ ]]; then
        warn "JOB_ID '${JOB_ID:-}' or SGE_TASK_ID '$task' is not valid"
        return 1
    fi
    JOB=$JOB_ID.${task/undefined/1}
}

# Can the hooks in coprocessor.d have something to do?
has_devices() {
    local code=0
    case $DEVICES in
    yes) return 0 ;;
    no) return 1 ;;
    esac
    [ ${#REMOTE[@]} -eq 0 ] || return 0
    (
        MICCTRL=micctrl NVIDIA_SMI=nvidia-smi # as in the hooks
        [ ! -r "$COPROCESSOR_D/coprocessor.conf" ] || . "$COPROCESSOR_D/coprocessor.conf"
        command -v "$MICCTRL" || command -v "$NVIDIA_SMI" || exit 3
    ) >/dev/null || code=$?
    [ $code -ne 3 ]
}

# Is what the job has needed for anything? To know it, Grid Engine has to be asked.
is_needed() { [ "$SAY" = yes ] || [ "$BIND" = remote ] || [ "$BIND" = all ] || has_devices; }

# keep TEXT: what root's prolog has learnt is kept for its epilog, where no user can write.
keep() {
    [ "$EUID" = 0 ] || return 0
    (umask 077 && mkdir -p "$KEEP_D" && [ -O "$KEEP_D" ] && printf '%s\n' "$1" >"$KEEP_D/$JOB") 2>/dev/null || :
}
take_kept() { [ "$EUID" = 0 ] && [ -O "$KEEP_D" ] && [ -O "$KEEP_D/$JOB" ] && cat "$KEEP_D/$JOB"; }
drop_kept() { [ ! -f "$KEEP_D/${JOB:-}" ] || { rm -f "$KEEP_D/$JOB" && rmdir "$KEEP_D"; } 2>/dev/null || :; }

# Sets SGE_PROLOG_... and, with SAY, writes what the job may use; 1 with a sentence.
read_job() {
    local vars
    if [ "$NAME" = PROLOG ] || ! vars=$(take_kept); then
        vars=$("$MPRSRC" "${MPRSRC_OPTIONS[@]}" --mode prolog -j "$JOB_ID" "${SGE_TASK_ID:-undefined}") || return 1
    fi
    [ "$NAME" != PROLOG ] || keep "$vars"
    if [ "$SAY" = yes ]; then
        eval "$vars"
    else
        eval "$vars" >/dev/null
    fi
}

# Can the owner's name be a word of a command, here and on other hosts? (mprsrc has checked the names
# of hosts and devices.) 1 with a sentence.
check_owner() {
    local -n user=SGE_PROLOG_JOB_OWNER
    [[ $user =~ ^[A-Za-z_][A-Za-z0-9_.-]*$ ]] && return
    warn "the job's owner '$user' is not a user name"
    return 1
}

# command_on PLACE HOST WORD...: sets COMMAND, which runs the words on HOST without our environment;
# PLACE 0 is this host. REMOTE gives the words to a shell, so they are quoted for a shell.
command_on() {
    local place=$1 host=$2 line
    shift 2
    COMMAND=(env -i PATH="$PATH" "$@")
    [ "$place" != 0 ] || return 0
    printf -v line ' %q' "$@"
    COMMAND=(env -i PATH="$PATH" "${REMOTE[@]}" "$host" "${line# }")
}

# ---- mprund ----------------------------------------------------------------------------------------------

# Waits until this host's mprund has the job's cgroup with its limits, and the job's own process in it.
# Root also makes it, if need be. Returns at once if there is no mprund. 1 with a sentence.
wait_for_mprund() {
    local code=0 end=$((SECONDS + WAIT))
    [ "$WAIT" -gt 0 ] && command -v "$MPBIND" >/dev/null || return 0
    timeout -k 5 $((WAIT + 10)) "$MPBIND" --wait "$WAIT" "$JOB" || code=$?
    [ $code -ne 3 ] || return 0
    if [ $code -eq 0 ] && [ -n "$SENTINEL_D" ] && [ -d "$SENTINEL_D" ]; then
        until [ -e "$SENTINEL_D/$JOB" ]; do
            ((SECONDS <= end)) || { code=4 && break; }
            sleep 0.05
        done
    fi
    [ $code -eq 0 ] || warn "mprund on ${HOSTNAME:-this host} does not have job $JOB in its cgroup"
    return $code
}

# bind_hosts ACTION: "bind" gives the job its limits and cores, as far as they can be held, on the hosts
# that BIND names, on all at once; "forget" takes that back where nothing of the job is. 1 if a host failed
# ("forget" never fails).
bind_hosts() {
    local action=$1 i failed=0 words pids=()
    local -n hosts=SGE_PROLOG_HOSTS slots=SGE_PROLOG_NSLOTS mem=SGE_PROLOG_MEM vmem=SGE_PROLOG_VMEM \
        owner=SGE_PROLOG_JOB_OWNER
    [[ $BIND == remote || $BIND == all ]] || return 0
    check_owner || return 1
    if [ ${#REMOTE[@]} -eq 0 ] && [ ${#hosts[@]} -gt 1 ]; then
        warn "$action job $JOB on its other hosts: REMOTE in hooks.conf does not say how to reach them"
        return 1
    fi
    for ((i = 0; i < ${#hosts[@]}; i++)); do
        [ $i -gt 0 ] || [ "$BIND" = all ] || continue
        words=(--forget "$JOB")
        [ "$action" = forget ] || words=("${BIND_OPTIONS[@]}" --user "$owner" "$JOB" "${slots[i]}" \
            "${mem[i]:-0}" "${vmem[i]:-0}")
        command_on $i "${hosts[i]}" "$MPBIND" "${words[@]}"
        timeout -k 5 "$BIND_LIMIT" "${COMMAND[@]}" </dev/null &
        pids[i]=$!
    done
    for i in "${!pids[@]}"; do
        wait "${pids[i]}" && { [ "$action" = forget ] || say "limits on ${hosts[i]}: set"; } && continue
        [ "$action" != forget ] || continue # processes of the job are there: it ends with them
        warn "$action job $JOB on ${hosts[i]}: failed"
        failed=1
    done
    return $failed
}

# ---- devices ---------------------------------------------------------------------------------------------

# run_hook KIND ACTION PLACE HOST OWNER ID...: runs a hook without our environment; its exit code.
run_hook() {
    local kind=$1 action=$2 place=$3 host=$4 owner=$5 hook=$COPROCESSOR_D/$1
    shift 5
    [ -x "$hook" ] || return 0
    if [ "$place" != 0 ] && [ ${#REMOTE[@]} -eq 0 ]; then
        warn "$kind $* on $host: left as they are: REMOTE in hooks.conf does not say how to reach other hosts"
        return 0
    fi
    command_on "$place" "$host" "$hook" "$action" "$owner" "$@"
    "${COMMAND[@]}" </dev/null || return
    [ "$action" != boot ] || say "$kind $* on $host: ready"
}

# each_device ACTION: runs the hooks for all devices that the job has by name. The first host, that of
# the master task, is this one: prolog and epilog run nowhere else. 1 if a hook failed.
each_device() {
    local action=$1 failed=0 i kind name ids
    local -n hosts=SGE_PROLOG_HOSTS owner=SGE_PROLOG_JOB_OWNER
    check_owner || return 1
    for kind in phi gpu; do
        name=SGE_PROLOG_${kind^^}
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
