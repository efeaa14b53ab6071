#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# whole.bats - Grid Engine, mprund on its hosts, and mprun, where a job's memory can be limited. Only in a
# virtual machine (run-all.sh, run-in-vm.sh), where three hosts are up in 13 s.
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'
load '../lib/mprund-hosts'

setup_file() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" != systemd ] || return 0
    export HOSTS_TEST_LIMIT=60
    gridengine_setup --slots 4 --set configuration:shepherd_cmd="$SHEPHERD"
    mprunds_start
}
teardown_file() {
    mprunds_stop
    gridengine_teardown
}
setup() {
    [ "${VMRUN:-}" = 1 ] && [ "${VMRUN_INIT:-}" != systemd ] || skip "only in the virtual machine, without systemd"
    needs_gridengine
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() { mprunds_clean; }

@test "the job script and all ranks on all hosts are in the job's cgroups, which go with it" {
    run -0 qsub_wait -pe lab 6 <<'EOF'
cat /proc/self/cgroup
mprun sh -c 'echo $(hostname) $(cat /proc/self/cgroup)'
EOF
    echo "$output"
    if [ "$VMRUN_CGROUP" = v1 ]; then
        [ "$(grep -c "memory:/mprund.n[123]/ge-$(job)\.1-[0-9a-f]*" <<<"$output")" -eq 7 ]
    else
        [[ ${lines[0]} =~ ^0::/mprund.n[123]/ge-$(job)\.1-[0-9a-f]*/task$ ]]
        for host in n1 n2 n3; do
            [ "$(grep -c "^$host 0::/mprund.$host/ge-$(job)\.1-[0-9a-f]*/u/mprun\..*/ranks/0.[0-5].0$" <<<"$output")" -eq 2 ]
        done
    fi
    grounds_empty
}
