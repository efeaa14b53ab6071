#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# systemd-v1.bats - where systemd mounts cgroup v1, alone or with a v2 without controllers (hybrid): it
# keeps no cpuset there, delegates nothing of v1, and knows no freezer. Only in a virtual machine with
# --init systemd --cgroup v1 or hybrid.
load '../lib/mprun'
LAB_UID=2345
MPRUND=$MPRUN_BUILD/node-daemon/mprund

is_here() { [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" = systemd ] && [ "$VMRUN_CGROUP" != v2 ]; }
setup_file() {
    is_here || return 0
    "$MPRUN_SOURCE/tests/vm/systemd-user.sh" $LAB_UID
}
setup() {
    is_here || skip "only in the virtual machine, with systemd and cgroup v1"
    PROBE=$MPRUN_BUILD/tests/vm/cgroup-probe
    export TMPDIR=/tmp
    cd /tmp || return 1
}
nothing_is_left() { [ -z "$(find /sys/fs/cgroup \( -name 'mprun.*' -o -name 'mprun-*.scope' -o -name 'site-*' \) -print -quit)" ] && ! pgrep -f "$PROBE" >/dev/null; }
teardown() { ! is_here || wait_until 30 nothing_is_left; }

# service COMMAND...: as root, with a cpuset by systemd, which does nothing here
service() { systemd-run --quiet --wait --pipe -p AllowedCPUs=0 --setenv=TMPDIR=/tmp "$@" 3>&-; }

@test "root in a service: each rank has cgroups, memory, processes and a cpuset are held, and nothing stays" {
    run -0 --separate-stderr service taskset -c 1-2 "$MPRUN" -n 2 --containment=rank,memory,pids,cpuset "$PROBE" where widen
    echo "$output"
    [ "$(grep -c '/mprun\.[a-z0-9-]*/ranks/0\.[01]\.0$' <<<"$output") $(grep -cx '1,2' <<<"$output")" = '2 2' ]
    [ "$VMRUN_CGROUP" = v1 ] || [ "$(grep -c '^/system.slice/run-.*\.service/mprun\.' <<<"$output")" -eq 2 ]
    run -137 service "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 200
    [[ $output == *"rank 0 on "*" exceeded its memory limit 48"* ]]
    run -0 service "$MPRUN" -n 2 "$PROBE" fork 20 escape sleep
    nothing_is_left
}

# in_session COMMAND...: as the user, where a login session would be
in_session() {
    systemd-run --quiet --scope --slice=user-$LAB_UID.slice setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups \
        env HOME=/home/mprunlab TMPDIR=/tmp "$@" 3>&-
}

@test "a user in a session: a scope of the user's systemd tracks where there is v2, samples hold memory, ranks are bound" {
    run -0 --separate-stderr in_session "$MPRUN" -n 2 --bind-to core --report containment sh -c 'sed -n s/Cpus_allowed_list:.//p /proc/self/status; exec "$1" where' sh "$PROBE"
    echo "$output" "$stderr"
    [ "$(grep -cxE '[0-3]' <<<"$output")" -eq 2 ]
    if [ "$VMRUN_CGROUP" = hybrid ]; then
        [[ $stderr == *"tracking rank in v2 cgroups"* ]]
        [ "$(grep -c "^/user.slice/user-$LAB_UID.slice/user@$LAB_UID.service/.*mprun-.*-0.scope/mprun\..*/ranks/0\.[01]\.0$" <<<"$output")" -eq 2 ]
        run -0 in_session "$MPRUN" -n 2 "$PROBE" fork 20 escape sleep
        echo "$output"
    else
        [[ $stderr == *"tracking tree ("* ]]
    fi
    run -137 in_session "$MPRUN" --mem-per-rank 48M -n 1 "$PROBE" take 100 sleep
    echo "$output"
    [[ $output == *"rank 0 on "*" exceeded its limit of memory: "*" of 48 MiB "* ]]
    run -125 in_session "$MPRUN" --containment memory --mem-per-rank 48M -n 1 true
    [[ $output == *"no cgroup of this host can hold it"* ]]
}

@test "mprund: jobs have memory, cores and an end that systemd's cgroups could not give them" {
    for part in mprund mprund-supervisor mprund-mover mprund-front mprund-reader mprund-signer mprund-watch mprund-qstat; do
        install "$MPRUN_BUILD/node-daemon/$part" "/usr/local/sbin/$part"
    done
    echo 'user = daemon' >/etc/mprund.conf
    sed "s|@sbindir@/mprund|/usr/local/sbin/mprund --config /etc/mprund.conf|" "$MPRUN_SOURCE/share/units/mprund.service.in" >/run/systemd/system/mprund.service
    systemctl daemon-reload
    systemctl start mprund || { journalctl -u mprund --no-pager | tail -20; false; }
    enter() {
        timeout -k 5 200 "$MPRUND" enter --job 12.1 --user $LAB_UID "$@" 3>&-
    }
    no_job() { [ -z "$(find /sys/fs/cgroup -name 'site-*' -print -quit)" ]; }
    user=(setpriv --reuid $LAB_UID --regid $LAB_UID --clear-groups env HOME=/home/mprunlab TMPDIR=/tmp)
    run -137 enter --memory 48M "${user[@]}" "$PROBE" take 200
    wait_until 60 no_job
    run -0 --separate-stderr enter --cores 2 "${user[@]}" "$MPRUN" -n 2 --report containment "$PROBE" cgroup widen
    echo "$output" "$stderr"
    [ "$(grep -cxE '0,1|2,3' <<<"$output")" -eq 2 ]
    [ "$(grep -c ':memory:/mprund/site-12.1-' <<<"$output") $(grep -c 'cpuset.*:/mprund/site-12.1-' <<<"$output")" = '2 2' ]
    if [ "$VMRUN_CGROUP" = hybrid ]; then
        [[ $stderr == *"tracking rank in "* ]]
        [ "$(grep -c '^0::/system.slice/mprund-jobs.scope/site-12.1-.*/u/mprun\..*/ranks/0\.[01]\.0$' <<<"$output")" -eq 2 ]
        run -0 enter --cores 2 "${user[@]}" "$MPRUN" -n 2 "$PROBE" fork 20 escape sleep
    fi
    wait_until 60 no_job
    systemctl stop mprund
    [ "$VMRUN_CGROUP" = v1 ] || systemctl stop mprund-jobs.scope
}
