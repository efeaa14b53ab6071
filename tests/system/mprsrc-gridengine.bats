#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprsrc-gridengine.bats - what mprsrc says of jobs of a real Grid Engine, compared with what its
# execution daemons do
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

M=$MPRUN_BUILD/tools/mprsrc
REQUESTS=h_rt=1:0:0,h_vmem=2G,m_mem_free=512M,nvidia_gpu=1,intel_phi=1

# what is evaluated there is compared there: a line "HOST SLOTS MEM VMEM GPUS PHIS" for each host
# shellcheck disable=SC2016
LINES='eval "$vars"
    for ((i = 0; i < ${#SGE_RESOURCE_HOSTS[@]}; i++)); do
        echo "${SGE_RESOURCE_HOSTS[i]} ${SGE_RESOURCE_NSLOTS[i]}" "mem=${SGE_RESOURCE_MEM[i]}" \
            "vmem=${SGE_RESOURCE_VMEM[i]}" "gpu=${SGE_RESOURCE_GPU_COUNT[i]}" "phi=${SGE_RESOURCE_PHI_COUNT[i]}"
    done'

# expected: the same of a PE_HOSTFILE, by these REQUESTS
expected() {
    awk '{ printf "%s %d mem=%d vmem=%.0f gpu=%d phi=%s\n", $1, $2, $2 * 536870912, $2 * 2147483648, $2, NR == 1 ? 1 : "" }'
}

@test "a parallel job: hosts, slots and limits as its execution daemons have them" {
    for pe in lab labjft; do
        run -0 --separate-stderr qsub_wait -pe $pe 5 -l $REQUESTS <<EOF
cp \$PE_HOSTFILE hostfile
vars=\$("$M") || exit
[ "\$vars" = "\$("$M" -j \$JOB_ID \$SGE_TASK_ID)" ]; echo \$? >same
$LINES
echo "\$SGE_RESOURCE_JOB_MAXRT \$SGE_RESOURCE_JOB_VMEM \$SGE_RESOURCE_JOB_OWNER" >job
for host in \${SGE_RESOURCE_HOSTS[@]}; do
    echo "\$host \$(qrsh -inherit \$host 'ulimit -v' </dev/null)"
done >ulimits
EOF
        dir=$(job_dir)
        [ "$output" = "$(expected <"$dir/hostfile")" ]
        [ -z "$(words "$stderr")" ]
        [ "$(cat "$dir/job")" = "3600 2147483648 labuser" ]
        [ "$(cat "$dir/same")" = 0 ]
        # what the kernel holds the tasks to on each host is the same
        [ "$(sed 's/ .*vmem=\([0-9]*\) .*/ \1/' <<<"$output")" = "$(awk '{ printf "%s %.0f\n", $1, $2 * 1024 }' "$dir/ulimits")" ]
    done
}

@test "from outside of the job: the same, by two questions to the queue master" {
    for pe in lab labjft; do
        qsub_start -pe $pe 5 -l $REQUESTS <<<'cp $PE_HOSTFILE hostfile; touch started; exec sleep 1000'
        wait_until 30 test -e "$(job_dir)/started"
        run -0 on n0 bash -c "vars=\$('$M' -j $(job)) || exit; $LINES"
        # the master task's host first; the others as qstat has them
        [ "${lines[0]}" = "$(expected <"$(job_dir)/hostfile" | head -n 1)" ]
        [ "$(sort <<<"$output")" = "$(expected <"$(job_dir)/hostfile" | sort)" ]
        hosts empty
    done
}

@test "each task of an array job has its own host" {
    { echo "PATH=${M%/*}:\$PATH" && cat; } <<'EOF' | qsub_start -t 1-5:2 -l m_mem_free=1.5G
mprsrc -o >own.$SGE_TASK_ID
echo "$HOSTNAME" >host.$SGE_TASK_ID
exec sleep 1000
EOF
    wait_until 30 test -e "$(job_dir)/host.5"
    wait_until 30 test -e "$(job_dir)/host.3"
    wait_until 30 test -e "$(job_dir)/host.1"
    for task in 1 3 5; do
        run -0 on n0 bash -c "vars=\$('$M' -j $(job).$task) || exit; $LINES"
        [ "$output" = "$(cat "$(job_dir)/host.$task") 1 mem=1610612736 vmem= gpu= phi=" ]
        grep -q "^SGE_RESOURCE_MEM='1610612736'" "$(job_dir)/own.$task"
    done
    run -2 --separate-stderr on n0 "$M" -j "$(job)"
    [ "$stderr" = "mprsrc: job $(job) has 3 running tasks; give the number of one" ]
    run -4 --separate-stderr on n0 "$M" -j "$(job)" 2
    # an array of one task
    hosts empty
    qsub_start -t 1 <<<'echo "$HOSTNAME" >host; exec sleep 1000'
    wait_until 30 test -e "$(job_dir)/host"
    run -0 on n0 bash -c "vars=\$('$M' -j $(job)) || exit; $LINES"
    [[ $output == "$(cat "$(job_dir)/host") 1 "* ]]
    run -4 --separate-stderr on n0 "$M" -j "$(job).2"
}

@test "names, arguments and variables of every kind, as a batch job and as an interactive one" {
    # in the job, where its bytes are what they are
    cat >"$HOSTS_DIR/shared/read" <<EOF
#!/bin/bash
qstat -xml -j \$JOB_ID >\$HOME/odd.xml
vars=\$("$M" -p -o -j \$JOB_ID) || exit
eval "\$vars"
echo "\$SGE_PROLOG_NSLOTS \$SGE_PROLOG_MEM"
EOF
    chmod 755 "$HOSTS_DIR/shared/read"
    # blanks are what Grid Engine does not take
    name="a'b\$(id>pwned)\`c\`;x\"&y"
    run -0 qsub_wait -N "$name" -l m_mem_free=1G -v $'A=1\xff\x012,B=<&>\'";$(touch pwned),C=' \
        <<<"$HOSTS_DIR/shared/read"
    [ "${lines[0]}" = "[PROLOG] Resources of job $(job).1 '$name' of labuser" ]
    [ "${lines[-1]}" = "1 1073741824" ]
    [ ! -e "$(job_dir)/pwned" ]
    run -0 --separate-stderr on n0 qrsh -now n -l m_mem_free=1G "$HOSTS_DIR/shared/read" a b
    [ "${lines[-1]}" = "1 1073741824" ]
    on n0 cat odd.xml >odd.xml
    LC_ALL=C grep -q $'QRSH_COMMAND' odd.xml
    LC_ALL=C grep -q $'\xff' odd.xml
}

@test "a job that waits, and one that there is not" {
    qsub_start -h -pe lab 2-6 -l $REQUESTS <<<true
    run -4 --separate-stderr on n0 "$M" -j "$(job)"
    [ "$stderr" = "mprsrc: job $(job).1: its hosts are not known: it does not run" ]
    run -3 --separate-stderr on n0 "$M" -j 99999
    [ "$stderr" = "mprsrc: Grid Engine knows no job '99999' (any more)" ]
}

# hooks_set: prolog and epilog run as root, with a qstat that adds to what the real one says that the
# device mic0 of this host was granted by name, and a micctrl that notes its calls
hooks_set() {
    HOOKS=$HOSTS_DIR/shared/hooks
    rm -rf "$HOOKS" && mkdir "$HOOKS"
    cp -r "$MPRUN_SOURCE/share/gridengine" "$MPRUN_SOURCE/share/coprocessor.d" "$HOOKS"
    cat >"$HOOKS/qstat" <<'EOF'
#!/bin/bash
qstat "$@" | sed "s|<JAT_task_number>1<.*|&<JAT_granted_resources_list><e><GRU_name>intel_phi</GRU_name><GRU_host>\
$(hostname)</GRU_host><GRU_value>mic0</GRU_value></e></JAT_granted_resources_list>|"
EOF
    cat >"$HOOKS/micctrl" <<EOF
#!/bin/bash
cd "$HOOKS"
echo "\$(id -un) \$(hostname) \$*" >>calls
[ ! -e fail ] || { echo broken; exit 3; }
case \$1 in
--boot) echo online >state ;;
--reset) echo ready >state ;;
--status) echo "mic0: \$(cat state)" ;;
esac
EOF
    echo ready >"$HOOKS/state"
    printf 'SAY=yes\nMPRSRC=%q\nMPRSRC_OPTIONS=(--user daemon --qstat %q)\n' "$M" "$HOOKS/qstat" >"$HOOKS/gridengine/hooks.conf"
    printf 'MICCTRL=%q\nPHI_STATE=%q\n' "$HOOKS/micctrl" "$HOOKS/phi" >"$HOOKS/coprocessor.d/coprocessor.conf"
    chmod -R a+rX "$HOOKS" && chmod 755 "$HOOKS/qstat" "$HOOKS/micctrl"
    ge_set "queue:prolog=root@$HOOKS/gridengine/prolog" "queue:epilog=root@$HOOKS/gridengine/epilog"
}

queues_work() { ! on n0 qstat -f | awk '$1 ~ /^lab\.q@/ && $6 ~ /E/ { found = 1 } END { exit !found }'; }

@test "prolog and epilog: the job's output tells its resources, its devices are booted and reset by root" {
    hooks_set
    run -0 qsub_wait -pe lab 4 -l $REQUESTS <<<"cat '$HOOKS/state'; hostname"
    [ "${lines[0]}" = "[PROLOG] Resources of job $(job).1 'script' of labuser" ]
    [[ $output == *"[PROLOG]     Intel Phi: mic0"*$'\nonline\n'n[1-3]* ]]
    wait_until 10 grep -q -- --groupdel "$HOOKS/calls"
    [ "$(cat "$HOOKS/state")" = ready ]
    [ "$(cut -d ' ' -f 1,2 "$HOOKS/calls" | sort -u)" = "root ${lines[-1]}" ]
    grep -q -- "--useradd=labuser --uid=$(on n0 id -u) " "$HOOKS/calls"
    queues_work
}

@test "a prolog that fails: the job is in error or starts all the same, and the queue works on" {
    hooks_set
    touch "$HOOKS/fail"
    qsub_start -l intel_phi=1 <<<'echo started'
    wait_until 30 job_in Eqw
    queues_work
    rm "$HOOKS/fail"
    # what the job has is not known
    printf 'MPRSRC_OPTIONS=(--user daemon --qstat /bin/false)\n' >>"$HOOKS/gridengine/hooks.conf"
    run -0 --separate-stderr qsub_wait -l intel_phi=1 <<<'echo started'
    [ "$output" = started ]
    [[ $stderr == *"[PROLOG] what this job may use is not known"* ]]
    queues_work
    # the scripts themselves are broken
    rm "$HOOKS/gridengine/hooks.bash"
    run -0 --separate-stderr qsub_wait <<<'echo started'
    [ "$output" = started ]
    [[ $stderr == *"[PROLOG] the prolog failed with exit code 1; the job starts all the same"* ]]
    queues_work
}
