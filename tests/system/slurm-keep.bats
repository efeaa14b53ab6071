#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# slurm-keep.bats - the job's agents in a real Slurm: an srun that outlives its step
load '../lib/mprun'
load '../lib/hosts'
load '../lib/slurm'

setup_file() { slurm_setup --database; }
teardown_file() { slurm_teardown; }
setup() { slurm_begin; }
teardown() { slurm_end; }

BEGIN='k() { mprun --containment=tree --pmi none "$@"; }
m() { k --keep=job "$@"; }
down() { '"$MPRUN_BUILD"'/tools/mprctl down; }
next_step() { srun -Q --overlap -N 1 -n 1 printenv SLURM_STEP_ID; }
holder() { pgrep -u labuser -x mprun-holder; }
agent() { pgrep -u labuser -xo mprun-agent; }'
# every step of the job, and the job, has ended well in Slurm's books. books_are_right true: a busy Slurm may
# have ended the agents with the script
books_are_right() {
    local states
    states=$(on n0 sacct -n -P -o jobid,state,exitcode -j "$(job)") && echo "$states"
    [ "${1:-}" != true ] || states=$(grep -v '[.]0|CANCELLED by 64000|0:9$' <<<"$states")
    [[ $states == *.batch* ]] && ! grep -vq '|COMPLETED|0:0$' <<<"$states"
}

@test "one srun for all steps, and another one for hosts that come later; sbatch's job and Slurm's books" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 8 <<<"$BEGIN"'
for i in 1 2 3; do m -n 8 sh -c "echo \$SLURMD_NODENAME:\$MPRUN_RANK" | sort -t: -n -k 2 | tr "\n" " "; done; echo
next_step
m -n 1 sh -c "echo at home; exit 7"; echo $?
date +%s%N >script-end'
    echo "$output"
    [ "${lines[0]}" = "$(printf '%sn1:0 n1:1 n2:2 n2:3 n3:4 n3:5 n4:6 n4:7 ' '' '' '')" ]
    [ "${lines[1]} ${lines[2]} ${lines[3]}" = "1 at home 7" ]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    nothing_left
    wait_until 20 books_are_right
    # two hosts, then all: the agents of two are there
    run -0 sbatch_wait -N 4 -n 4 <<<"$BEGIN"'
m --host n3,n2 hostname | sort | tr "\n" " "
m -v hostname 2>said | sort | tr "\n" " "; grep -c "agent there forks" said; next_step
k --keep=no hostname | sort | tr "\n" " "; next_step
down; k --keep=no hostname | sort | tr "\n" " "; next_step'
    echo "$output"
    [ "$output" = $'n2 n3 n1 n2 n3 n4 2\n2\nn1 n2 n3 n4 3\nn1 n2 n3 n4 5' ]
    nothing_left
    wait_until 20 books_are_right
}

@test "many steps at once have their starters from agents that one of them has started" {
    run -0 --separate-stderr sbatch_wait -N 4 -n 4 <<<"$BEGIN"'
for i in $(seq 15); do k --keep=step --overlap hostname & done; wait
next_step'
    [ -z "$stderr" ]
    [ "$(sort <<<"$output" | uniq -c | tr -s ' \n' ' ')" = " 1 ${output##*$'\n'} 15 n1 15 n2 15 n3 15 n4 " ]
    [ "${output##*$'\n'}" -lt 4 ]
    nothing_left
    wait_until 20 books_are_right
}

@test "names: a step of an mprun that a rank starts on another host, and one of the script's, find what the other publishes" {
    run -0 --separate-stderr sbatch_wait -N 3 -n 6 <<<"k() { mprun --quiet --containment=tree --keep=step --oversubscribe -n 1 \"\$@\"; }
export probe=$MPRUN_BUILD/tests/system/pmix-probe"'
export -f k
k $probe names +old=OLD /begun ^published ?young ?nothing ^end >1 &
until [ -e begun ]; do sleep 0.1; done
k --host n3 bash -c "hostname; k \$probe names ?old ?nothing +young=YOUNG /published ^end" >2 &
k $probe names @young
touch end
wait
cat 1 2'
    printf '%s\n' "$output" "$stderr"
    [ "$output" = "young: SUCCESS YOUNG
young: SUCCESS YOUNG
nothing: NOT-FOUND
n3
old: SUCCESS OLD
nothing: NOT-FOUND" ]
    nothing_left
}

@test "--wait-cores: an mprun that a rank starts on another host waits for the script's, or warns where the job has no agent" {
    run -0 sbatch_wait -N 2 -n 4 <<<"$BEGIN"'
export -f k
k --wait-cores --host n1 -n 2 sh -c "until [ -e over ]; do sleep .1; done; touch first" & p=$!
k --wait-cores --host n2 -n 1 bash -c "hostname; k --wait-cores -n 2 sh -c \"[ ! -e first ] || echo in order\"" 2>said & q=$!
until grep -q "waits for" said; do sleep .1; done
touch over; wait $p $q; grep -c "not waited for" said
k --host n2 -n 1 bash -c "hostname; k --wait-cores -n 1 true"'
    echo "$output"
    [ "${lines[*]}" = "n2 in order in order 0 n2 mprun: --wait-cores: cores that steps of other hosts' mpruns have are not waited for, as the job has no agent on host n2 (--keep=step there, or for the mprun that has started this one)" ]
    nothing_left
}

# share/slurm/task-epilog, installed
set_task_epilog() {
    local site=$HOSTS_DIR/shared/site
    mkdir -p "$site/bin" "$site/share/mprun/slurm" && ln -s "$MPRUN_BUILD/tools/mprctl" "$site/bin/mprctl" &&
        cp "$MPRUN_SOURCE/share/slurm/task-epilog" "$site/share/mprun/slurm" || return
    hosts set "slurm:TaskEpilog=$site/share/mprun/slurm/task-epilog"
}

# The end of the job's script kills srun, and slurmstepd tries for 2 to 3 s to tell it that the tasks have ended.
@test "agents keep no job from ending: not after mprctl down, nor with the TaskEpilog, little without, not after salloc" {
    local limit
    for end in down true :; do
        [ "$end" != : ] || set_task_epilog
        sbatch_start -N 4 -n 4 <<<"$BEGIN"'
m true; m true; '"$end"'
date +%s%N >script-end'
        wait_until 60 job_ended
        now=$(date +%s%N)
        took=$(((now - $(<"$(job_dir)/script-end")) / 1000000))
        echo "$end: $took ms"
        limit=6000
        [ "$end" = true ] || limit=1000 # without the epilog `true` and `:` do the same
        [ $took -lt $((limit * $(patience 1))) ]
        nothing_left
        wait_until 20 books_are_right "$end"
    done
    run -0 on n0 salloc -Q -N 3 -n 3 sh -c "for i in 1 2; do $MPRUN_BUILD/launcher/mprun --keep=job --containment=tree hostname; done"
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
    nothing_left
}

@test "an agent, the holder or srun is killed: the step ends and names the host, and the next one has new agents" {
    run -0 sbatch_wait -N 4 -n 4 <<<"$BEGIN"'
m hostname | wc -l
kill -9 $(holder); m hostname | wc -l
m sh -c "echo >>began; sleep 60" 2>said & p=$!
until [ "$(cat began 2>/dev/null | wc -l)" = 4 ]; do sleep .1; done
kill -9 $(agent); wait $p && echo "code 0"; grep -q n1 said && echo named
m hostname | wc -l
pkill -9 -u labuser -x srun; m hostname | wc -l
m hostname | wc -l'
    echo "$output"
    [ "$output" = $'4\n4\nnamed\n4\n4\n4' ]
    nothing_left
}

@test "scancel: the ranks of a step that agents have started get TERM, and USR1 once" {
    STEP_OPTIONS=--keep=job step_start
    on n0 scancel -s USR1 "$(job)"
    wait_until 20 ranks_have USR1 1
    on n0 scancel "$(job)"
    job_wait || true
    ranks_have TERM 1
    nothing_left
    sweep_up
}
