# SPDX-License-Identifier: BSD-3-Clause
# mprund-hosts.bash - mprund on the hosts of a Grid Engine, a Slurm or a PBS: load '../lib/mprun',
# '../lib/hosts', '../lib/gridengine', '../lib/slurm' or '../lib/pbs', '../lib/mprund-hosts'
#
#   mprunds_start [LINE...]     on all hosts that run jobs, with these lines in the configuration; a LINE
#                               that begins with "gridengine." is in that section. $SUBSYSTEMS: those that
#                               jobs have, "cpu" where it is not set and memory is not to be limited
#   mprund_asking               sets ASKING, LINEs by which they ask Grid Engine what jobs ask for, sign
#                               grants with a key of the lab's, and trace into each host's /run
#   $QSTAT                      what they ask with, which a test can use, too. qstat_calls: how often it was
#                               called since qstat_hold; from then to qstat_go it does not answer. While there is
#                               $QSTAT.d/large it answers with more than is read
#   mprund_limits HOST [JOB]    limits of the last job there, from the trace: a line for each time
#   mprunds_stop                they end; their cgroups, empty by now, go. In teardown_file, before
#                               gridengine_teardown
#   mprunds_clean               in teardown, instead of gridengine_clean: no job, no process of
#                               labuser's, no cgroup of a job's is left; the daemons stay
#   mprund_end HOST [SIGNAL], mprund_start HOST      of one host
#   mprund_hosts                names of these hosts
#   job_cgroup HOST [JOB]       the directory of the job's, or nothing; JOB: job() where it is not given
#   job_pids HOST JOB [NAME]    processes in it, of this name, by their numbers outside of the hosts
#   ground HOST                 the directory of cgroup v2, or on v1 of its freezer, that jobs' are in
#   grounds                     all directories of jobs in the grounds of all hosts
#   grounds_empty [SECONDS]     waits until there are none
#
# Each host's jobs are below its own cgroup in the lab; in a virtual machine, where all controllers are
# wanted and a cgroup that has processes could not give them to its jobs, in /mprund.HOST of each
# hierarchy. /usr/local/etc, or wherever this build looks, becomes each host's own.
MPRUND=$MPRUN_BUILD/node-daemon/mprund
GRANT_PROBE=$MPRUN_BUILD/tests/system/grant-probe
SHEPHERD=$MPRUN_BUILD/node-daemon/mprun-shepherd

mprund_hosts() { (. "$HOSTS_DIR/$HOSTS_TOOL/lab" && echo $NAMES); }

ground_cgroup() {
    if [ "${VMRUN:-}" = 1 ]; then
        echo "/mprund.$1"
    else
        echo "$(sed -n 's/^0:://p' /proc/self/cgroup | sed 's|/$||')/$(basename "$(head -n 1 "$HOSTS_DIR/cgroups")")/$1/mprund"
    fi
}
ground() {
    local mount
    mount=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
    echo "${mount:-/sys/fs/cgroup/freezer}$(ground_cgroup "$1")"
}
grounds() {
    local host
    for host in $(mprund_hosts); do
        find "$(ground "$host")" -mindepth 1 -maxdepth 1 -type d \( -name 'ge-*' -o -name 'slurm-*' -o -name 'pbs-*' \) 2>/dev/null
    done
}
job_cgroup() {
    local dir
    for dir in "$(ground "$1")/ge-${2:-$(job)}.1-"*; do
        ! [ -d "$dir" ] || echo "$dir"
    done
}
job_pids() {
    local dir pid
    dir=$(job_cgroup "$1" "$2")
    [ -n "$dir" ] || return 0
    for pid in $(find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null); do
        [ -z "${3:-}" ] || [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$3" ] || continue
        echo "$pid"
    done
}
no_ground() { [ -z "$(grounds)" ]; }
grounds_empty() { wait_until "${1:-20}" no_ground; }

# on standard output, from LINE...
mprund_configuration() {
    local host=$1 subsystems=cpu line section=()
    shift
    [ "${VMRUN:-}" != 1 ] || subsystems='memory, pids, cpu, cpuset, freezer'
    printf '%s\n' 'user = daemon' "cgroup = \"$(ground_cgroup "$host")\"" 'systemd = no' "subsystems = {${SUBSYSTEMS:-$subsystems}}"
    for line; do
        case $line in
        gridengine.*) section+=("${line#gridengine.}") ;;
        *) echo "$line" ;;
        esac
    done
    case $HOSTS_TOOL in
    slurm) printf '%s\n' 'slurm {' "spool = \"$HOSTS_DIR/slurm/spool/%h\"" '}' ;;
    pbs) printf '%s\n' 'pbs {' "home = \"$HOSTS_DIR/pbs/home/%h\"" '}' ;;
    *) printf '%s\n' 'gridengine {' "spool = \"$HOSTS_DIR/gridengine/spool/execd/%h\"" 'admin_user = sgeadmin' "${section[@]}" '}' ;;
    esac
}

qstat_hold() { rm -f "$QSTAT.d"/* && touch "$QSTAT.d/hold"; }
qstat_go() { rm -f "$QSTAT.d/hold"; }
qstat_calls() { find "$QSTAT.d" -name 'call.*' | wc -l; }
qstat_wrapper() { # mprund lets it write no byte
    mkdir -p "$QSTAT.d" && chmod 777 "$QSTAT.d" && cat >"$QSTAT" <<'END' && chmod 755 "$QSTAT"
#!/bin/sh
mktemp "$0.d/call.XXXXXX" >/dev/null
while [ -e "$0.d/hold" ]; do sleep 0.05; done
[ ! -e "$0.d/large" ] || exec head -c 40000000 /dev/zero
exec /usr/lib/gridengine/qstat "$@"
END
}

mprund_asking() {
    export QSTAT=$HOSTS_DIR/shared/qstat
    qstat_wrapper || return
    [ -e "$HOSTS_DIR/grant.key" ] || "$MPRUND" --make-key "$HOSTS_DIR/grant.key" || return
    ASKING=("grant_key = \"$HOSTS_DIR/grant.key\""
        "gridengine.qstat = \"$QSTAT\""
        'gridengine.cell = default' 'gridengine.qmaster_port = 6444' 'gridengine.execd_port = 6445'
        'trace = "/run/mprund.trace"')
}
mprund_limits() { on_root "$1" sed -nE "s/^[^ ]* limit job=${2:-$(job)}\\.1 //p" /run/mprund.trace; }

mprunds_start() {
    local host etc
    etc=$(dirname "$("$MPRUND" --help | sed -n "s/^The configuration is '\(.*\)'[.]$/\1/p")")
    for host in $(mprund_hosts); do
        mprund_configuration "$host" "$@" | on_root "$host" sh -c '
            [ -e "$1/mprund.conf" ] || mount -t tmpfs -o mode=755 none "$1" || exit
            cat >"$1/mprund.conf" && chmod 644 "$1/mprund.conf"' sh "$etc" && mprund_start "$host" || return
    done
}
mprund_start() { on_root "$1" "$MPRUND" --daemon --pidfile /run/mprund.pid; }
# Its file goes before it does, and until it has gone there can be no other one.
mprund_ended() { ! on_root "$1" kill -0 "$2" 2>/dev/null; } # HOST PID
mprund_end() { # HOST [SIGNAL]
    local pid
    pid=$(on_root "$1" sh -c '! [ -e /run/mprund.pid ] || cat /run/mprund.pid') || return
    [ -z "$pid" ] || { on_root "$1" kill -s "${2:-TERM}" "$pid" && wait_until 20 mprund_ended "$1" "$pid"; }
}

mprunds_stop() {
    local host
    [ -n "${HOSTS_DIR:-}" ] && [ -e "$HOSTS_DIR/$HOSTS_TOOL/lab" ] || return 0
    for host in $(mprund_hosts); do
        mprund_end "$host" || true
        find /sys/fs/cgroup -depth -type d -path "/sys/fs/cgroup*$(ground_cgroup "$host")*" -exec rmdir {} \; || true
    done
}

mprunds_clean() {
    local host
    [ -n "${HOSTS_DIR:-}" ] || return 0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || ge_said
    hosts empty && hosts reset && grounds_empty || return
    for host in $(mprund_hosts); do
        wait_until 20 nobody_is_there "$host" || { on_root "$host" ps -u labuser -o pid,args; return 1; }
    done
}
nobody_is_there() { ! on_root "$1" pgrep -u labuser >/dev/null; }
