#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-errors.bats - what stands in the way of a start in jobs of a real Grid Engine, and what
# mprun does about it, or says
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup; }
teardown_file() { gridengine_teardown; }
setup() { gridengine_begin; }
teardown() { gridengine_end; }

# says TEXT: one sentence, with this in it
says() {
    echo "$stderr"
    [ -z "$output" ]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    [[ $stderr == *"$1"* ]]
}

@test "a starter_method of the queue gets each starter as one word" {
    local log=$HOSTS_DIR/shared/method.log
    printf '#!/bin/sh\necho "$#: $*" >>%s\nexec "$@"\n' "$log" >"$HOSTS_DIR/shared/method"
    chmod 755 "$HOSTS_DIR/shared/method" && : >"$log" && chmod 666 "$log"
    ge_set "queue:starter_method=$HOSTS_DIR/shared/method"
    run -0 --separate-stderr qsub_wait -pe lab 6 <<<'m hostname'
    [ "$(sorted)" = "n1 n1 n2 n2 n3 n3 " ]
    [ "$(grep -cx "1: $MPRUN_BUILD/starter/mpstarter" "$log")" = 3 ]
    printf '#!/bin/sh\ncase $* in *mpstarter*) exit 4 ;; esac\nexec "$@"\n' >"$HOSTS_DIR/shared/method"
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<'m hostname'
    says "qrsh ended with code 4 before mpstarter reported back; 'qhost' shows"
    says "'qconf -sq lab.q' whether a starter_method is run there"
    rm "$HOSTS_DIR"/shared/method*
}

@test "the job's directory cannot be written or has gone: on its script's host mprun starts without a task" {
    for loss in 'chmod 555 "$TMPDIR"' 'rmdir "$TMPDIR"; export TMPDIR=/nowhere'; do
        run -0 --separate-stderr qsub_wait -pe lab 6 <<<"$loss; hostname; m -v hostname"
        echo "$output"; echo "$stderr"
        [ "$(sort <<<"${output#*$'\n'}" | tr '\n' ' ')" = "n1 n1 n2 n2 n3 n3 " ]
        [ "$(grep -c "^mprun: host ${lines[0]}: write into the job's directory '/tmp/$(job).1.lab.q': [PN][^;]*; mprun starts mpstarter itself" <<<"$stderr")" = 1 ]
        [ "$(job_records 12 | sort -u)" = 0 ]
    done
}

@test "the job's directory cannot be written on another host: what Grid Engine says of it, and what to do" {
    qsub_start -pe lab 6 <<'EOF'
other=$(tail -n 1 "$PE_HOSTFILE" | cut -d ' ' -f 1)
m --keep=no --host "$other" sh -c 'echo >up; sleep 1000' & # makes it; it goes when no task is there any more
echo "$other" >other
until [ -e go ]; do sleep 0.1; done
m --host "$other" hostname
kill %1
wait
EOF
    wait_until 30 test -s "$(job_dir)/up"
    on_root "$(cat "$(job_dir)/other")" chmod 555 "/tmp/$(job).1.lab.q"
    on n0 touch "$(job_dir)/go"
    job_wait || true
    [ ! -s "$(job_out)" ]
    grep "^mprun: host $(cat "$(job_dir)/other"): .*qrsh_starter: cannot open file /tmp/$(job).1.lab.q/[^ ]*: Permission denied; Grid Engine writes files of its own into the job's directory on each host (TMPDIR), and ends the job where it cannot" "$(job_err)"
}

@test "control_slaves FALSE: the parallel environment and the setting are named" {
    run -1 --separate-stderr qsub_wait -pe labloose 6 <<<'m hostname; echo $?; mprun --self-test'
    [[ $stderr == *"didn't accept task; the parallel environment 'labloose' has 'control_slaves FALSE'"* ]]
    [ "${lines[0]}" = 125 ]
    [[ ${lines[1]} == "starts   FAILED   host n"*"'labloose' has 'control_slaves FALSE'"* ]]
}

@test "what qrsh says of a host is shown, with what to do" {
    local one='sed "s/^[^ ]*/$H/" "$PE_HOSTFILE" | tail -n 1 >f; PE_HOSTFILE=$PWD/f m hostname'
    local other='m --host $(tail -n 1 "$PE_HOSTFILE" | cut -d " " -f 1) hostname'
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<"H=nowhere; $one"
    says "host nowhere: qrsh ended with code 1 before mpstarter reported back: "
    says "can't resolve host name; the name is not known on this host"
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<"H=n0; $one"
    says "Connection refused); no sge_execd answers there"
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<"${other/m --host/m --prefix /opt/none --host}"
    says "failed: No such file or directory; install mprun in the same place on all hosts, or say with --prefix where it is"
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<"export JOB_ID=99999; $other"
    says "didn't accept task; a host takes as many tasks of a job"
}

@test "without qrsh, and with a PE_HOSTFILE that is none" {
    run -125 --separate-stderr qsub_wait -pe lab 2 <<<'unset SGE_BINARY_PATH; mkdir empty; PATH=$PWD/empty '"$MPRUN_BUILD/launcher/mprun hostname"
    says "find Grid Engine's qrsh (SGE_BINARY_PATH is not set, nor in PATH)"
    run -125 --separate-stderr qsub_wait -pe lab 2 <<<'printf "n1 1 q UNDEFINED\nn2 1 q\n" >f; PE_HOSTFILE=$PWD/f m hostname'
    says "/f' line 2: it has less than the four columns of Grid Engine"
}

@test "what qrsh says on another host is shown, with what to do" {
    run -125 --separate-stderr qsub_wait -pe lab 6 <<<'sed "3s/^[^ ]*/nowhere/" "$PE_HOSTFILE" >f; PE_HOSTFILE=$PWD/f m --fanout 1 --start-tree 1 hostname'
    says "host nowhere: qrsh ended with code 1 before mpstarter reported back: "
    says "can't resolve host name; the name is not known on this host"
}
