#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine.bats - that the Grid Engine of tests/lab/gridengine is what tests with it take it for
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup; }
teardown_file() { gridengine_teardown; }
setup() {
    needs_gridengine
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() { gridengine_clean; }

@test "a job gets all slots of three hosts" {
    run -0 qsub_wait -pe lab 6 <<<'cut -d " " -f 1,2 "$PE_HOSTFILE" | sort'
    [ "$output" = $'n1 2\nn2 2\nn3 2' ]
}

@test "qrsh -inherit starts a task on another host, which has a record of its own" {
    run -0 qsub_wait -pe lab 6 <<'EOF'
for host in n1 n2 n3; do
    qrsh -inherit -noshell $host hostname </dev/null
done
EOF
    [ "$output" = $'n1\nn2\nn3' ]
    job_records 42 2 13
    [ "$(job_records | wc -l)" -eq 4 ]
}

@test "a job's exit code comes back, and what it writes to stderr" {
    run -7 --separate-stderr qsub_wait <<<'echo out; echo err >&2; exit 7'
    [ "$output" = out ] && [ "$stderr" = err ]
}
