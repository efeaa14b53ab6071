#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm-suspend.bats - a job of a real Slurm is suspended, with mprun in it and outside of it; sessions
# at a terminal
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

setup_file() { slurm_setup; }
teardown_file() { slurm_teardown; }
setup() { slurm_begin; }
teardown() { slurm_end; }

ticks() { cat "$HOSTS_DIR"/shared/tick.* 2>/dev/null | wc -l; }
more_ticks_than() { [ "$(ticks)" -gt "$1" ]; }

# What a rank does: its file grows
make_ticker() {
    rm -f "$HOSTS_DIR"/shared/tick.* "$HOSTS_DIR/shared/stop"
    cat >"$HOSTS_DIR/shared/ticker" <<'EOF'
#!/bin/sh
cd "${0%/*}" || exit
until [ -e stop ]; do
    echo tick >>tick.$MPRUN_RANK
    sleep 0.2
done
EOF
    chmod 755 "$HOSTS_DIR/shared/ticker"
}
# Slurm says SUSPENDED before its nodes have done it.
rests() {
    local before
    before=$(ticks)
    sleep 1
    [ "$(job_says JobState) $(ticks)" = "SUSPENDED $before" ]
}

@test "a suspended job rests on all nodes, and goes on without a word when it is resumed" {
    make_ticker
    sbatch_start -N 4 -n 8 <<<"m --heartbeat 2 $HOSTS_DIR/shared/ticker"
    wait_until 30 more_ticks_than 8
    on_root n0 scontrol suspend "$(job)"
    wait_until 20 rests
    before=$(ticks)
    sleep 3
    [ "$(ticks)" = "$before" ]
    on_root n0 scontrol resume "$(job)"
    wait_until 20 more_ticks_than $((before + 16))
    touch "$HOSTS_DIR/shared/stop"
    run -0 job_wait
    cat "$(job_err)"
    [ ! -s "$(job_err)" ]
}

@test "mprun outside of a suspended job, below salloc, names its silent nodes, and waits for them" {
    make_ticker
    on_start n0 salloc -Q -N 2 -n 2 "$MPRUN_BUILD/launcher/mprun" --containment=tree --heartbeat 2 "$HOSTS_DIR/shared/ticker"
    wait_until 30 more_ticks_than 4
    job=$(on n0 squeue -h -o %A)
    on_root n0 scontrol suspend "$job"
    wait_until 20 grep -q 'hosts n1, n2: their starters have been silent for [0-9]* s' "$ON_ERR"
    on_root n0 scontrol resume "$job"
    wait_until 20 grep -q 'hosts n1, n2: their starters answer again' "$ON_ERR"
    touch "$HOSTS_DIR/shared/stop"
    on_wait
}

@test "--pty and the size of the window in salloc" {
    run -0 on_terminal n0 salloc -Q -N 2 -n 2 "$MPRUN_BUILD/launcher/mprun" --containment=tree --quiet --pty -n 1 bash --norc <<'END'
wait [$#] $
type stty size; echo no\\de $(hostname)\r
wait 24 80\s+node n1
size 30 100
type stty size\r
wait 30 100
type exit\r
END
}
