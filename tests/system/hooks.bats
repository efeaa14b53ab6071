#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# hooks.bats - prolog and epilog for Grid Engine, and the hooks for coprocessors: what they do with
# stand-ins of qstat, micctrl, nvidia-smi and ssh that note their calls, and their exit codes
load '../lib/mprun'

# The job 310145.30 of "nobody": n085 has mic0, mic1 and the GPUs 0 and 2, n086 has mic0.
setup() {
    mprun_setup
    chmod 777 . # root's mprsrc has another user run qstat
    cp -r "$MPRUN_SOURCE/share/gridengine" "$MPRUN_SOURCE/share/coprocessor.d" .
    chmod -R u+w gridengine coprocessor.d
    grant() { echo "<grl><GRU_name>$1<\/GRU_name><GRU_value>$3<\/GRU_value><GRU_host>$2<\/GRU_host><\/grl>"; }
    sed "s/>bob</>nobody</; s/<JAT_granted_resources_list>/&$(grant nvidia_gpu n085 "0 2")$(grant intel_phi n086 mic0)/" \
        "$MPRUN_SOURCE/tests/fuzz/corpus/qstat-xml/univa.xml" >job.xml
    stand_in qstat "cat '$PWD/job.xml'"
    cat >gridengine/hooks.conf <<END
MPRSRC=$MPRUN_BUILD/tools/mprsrc
MPRSRC_OPTIONS=(--qstat "$PWD/qstat" --timeout 30s --user daemon)
COPROCESSOR_D=$PWD/coprocessor.d
KEEP_D=$PWD/kept
END
    cat >coprocessor.d/coprocessor.conf <<END
MICCTRL=$PWD/micctrl
NVIDIA_SMI=$PWD/nvidia-smi
LIMIT=30
PHI_STATE=$PWD/phi-state
PHI_NFS=("nfs:/export/opt/shared /opt/shared" "nfs:/export%h %h" "nfs:/export/work/%g /home/work/%g")
END
    limit=$(patience 2)
    export JOB_ID=310145 SGE_TASK_ID=30
    GROUP=$(id -gn nobody) GID=$(id -g nobody) USERID=$(id -u nobody)
    HOME_OF_NOBODY=$(getent passwd nobody | cut -d : -f 6)
    COMMENT=$(getent passwd nobody | cut -d : -f 5)
    make_micctrl
    make_nvidia_smi
    : >calls && chmod 666 calls
}

# for tests of what hangs
short_limit() { echo "LIMIT=$limit" >>coprocessor.d/coprocessor.conf; }

# stand_in NAME COMMANDS
stand_in() {
    printf '#!/bin/bash\necho "%s $*" >>%q\ncd %q || exit\n%s\n' "$1" "$PWD/calls" "$PWD" "$2" >"$1"
    chmod 755 "$1"
}

# A device's state is in a file of its name. "WORD.DEVICE" makes the call --WORD fail, or hang when it
# says so.
make_micctrl() {
    stand_in micctrl '
device=${!#} word=${1%%=*}
if [ -e "${word#--}.$device" ]; then
    if grep -q hang "${word#--}.$device"; then exec tail -f /dev/null; fi
    echo "micctrl: $device: cannot"; exit 3
fi
was=$(cat $device)
case $word in
--status) echo "$device: $was (mode: linux image: /usr/share/mpss)" ;;
--boot) echo booting >$device ;;
--reset) echo resetting >$device ;;
--wait) case $was in booting) echo online >$device ;; resetting) echo ready >$device ;; esac ;;
esac'
    echo ready | tee mic0 >mic1
}

make_nvidia_smi() {
    stand_in nvidia-smi '
case "$*" in
*compute-apps*) cat "apps.$2" 2>/dev/null ;;
esac
[ ! -e "fail.${!#}" ] || { echo "GPU is in use by another client"; exit 19; }
[ ! -e "hang.$2" ] || exec tail -f /dev/null
exit 0'
}

# calls_are LINES: all calls but the questions for a state
calls_are() { diff - <(grep -v -e --status -e --query calls); }
hook() { "coprocessor.d/$@"; }

user_calls() { # DEVICE
    echo "micctrl --groupadd=$GROUP --gid=$GID $1"
    echo "micctrl --useradd=nobody --uid=$USERID --gid=$GID --home=$HOME_OF_NOBODY --comment=$COMMENT --sshkeys=none $1"
    echo "micctrl --addnfs=nfs:/export/opt/shared --dir=/opt/shared --options=nosuid $1"
    echo "micctrl --addnfs=nfs:/export$HOME_OF_NOBODY --dir=$HOME_OF_NOBODY --options=nosuid $1"
    echo "micctrl --addnfs=nfs:/export/work/$GROUP --dir=/home/work/$GROUP --options=nosuid $1"
}
boot_calls() {
    user_calls "$1"
    echo "micctrl --boot $1"
    echo "micctrl --wait $1"
}
reset_calls() {
    echo "micctrl --reset --force $1"
    echo "micctrl --wait $1"
    echo "micctrl --remnfs=/opt/shared $1"
    echo "micctrl --remnfs=$HOME_OF_NOBODY $1"
    echo "micctrl --remnfs=/home/work/$GROUP $1"
    echo "micctrl --userdel=nobody $1"
    echo "micctrl --groupdel=$GROUP $1"
}

# ---- hooks -------------------------------------------------------------------------------------------------

@test "phi boot: user, groups and directories are there when the device comes up" {
    run -0 --separate-stderr hook phi boot nobody mic0 mic1
    [ -z "$output$stderr" ]
    { boot_calls mic0 && boot_calls mic1; } | calls_are
    [ "$(cat mic0 mic1)" = $'online\nonline' ]
}

@test "phi boot: groups of the user's have a record and a directory; the system's only a record, if it is its own" {
    # a user of the groups users, traine, lab42 and kvm
    mkdir words
    printf '#!/bin/sh\necho 100 5001 5042 104\n' >words/id
    cat >words/getent <<'END'
#!/bin/sh
case "$*" in
"passwd traine") echo "traine:x:5001:100:Tra Ine:/home/traine:/bin/bash" ;;
"group 100") echo users:x:100: ;;
"group 5001") echo traine:x:5001:traine ;;
"group 5042") echo lab42:x:5042:traine ;;
"group 104") echo kvm:x:104:traine ;;
*) exit 2 ;;
esac
END
    chmod 755 words/*
    PATH=$PWD/words:$PATH run -0 --separate-stderr hook phi boot traine mic0
    [ -z "$output$stderr" ]
    diff - <(grep -v -e --status calls) <<'END'
micctrl --groupadd=users --gid=100 mic0
micctrl --groupadd=traine --gid=5001 mic0
micctrl --groupadd=lab42 --gid=5042 mic0
micctrl --useradd=traine --uid=5001 --gid=100 --home=/home/traine --comment=Tra Ine --sshkeys=none mic0
micctrl --addnfs=nfs:/export/opt/shared --dir=/opt/shared --options=nosuid mic0
micctrl --addnfs=nfs:/export/home/traine --dir=/home/traine --options=nosuid mic0
micctrl --addnfs=nfs:/export/work/traine --dir=/home/work/traine --options=nosuid mic0
micctrl --addnfs=nfs:/export/work/lab42 --dir=/home/work/lab42 --options=nosuid mic0
micctrl --boot mic0
micctrl --wait mic0
END
}

@test "phi boot: what an earlier job's user has left is taken away first" {
    run -0 hook phi boot daemon mic0
    : >calls && chmod 666 calls
    run -0 --separate-stderr hook phi boot nobody mic0 # whose reset never came
    [ -z "$output$stderr" ]
    line() { grep -n -m 1 -x -e "$1" calls | cut -d : -f 1; }
    [ "$(line 'micctrl --userdel=daemon mic0')" -lt "$(line "micctrl --useradd=nobody .*")" ]
    run -0 hook phi reset nobody mic0
    : >calls && chmod 666 calls
    run -0 hook phi boot nobody mic0
    run -1 grep -e --userdel calls # there was nothing
    touch userdel.mic0             # and what cannot be taken away keeps no job from its device
    run -0 --separate-stderr hook phi boot daemon mic0
    [ "$stderr" = $'phi: take user nobody from mic0: exit code 3: micctrl: mic0: cannot\nphi: something of nobody may be left on mic0' ]
}

@test "phi boot: a device that is up, or coming up, is reset first; one that comes down is waited for" {
    for state in online "boot failed" lost booting resetting "shutting down"; do
        echo "$state" >mic0
        : >calls
        run -0 --separate-stderr hook phi boot nobody mic0
        [ "$(cat mic0)" = online ]
        case $state in
        booting) { echo "micctrl --wait mic0" && echo "micctrl --reset --force mic0" && echo "micctrl --wait mic0" && boot_calls mic0; } | calls_are ;;
        resetting) { echo "micctrl --wait mic0" && boot_calls mic0; } | calls_are ;;
        *) [ "$(grep -c -- --reset calls)" -eq 1 ] ;;
        esac
    done
}

@test "phi boot: when one fails, or hangs, all are reset, and the reason is said" {
    for case in "boot.mic1:boot mic1: exit code 3: micctrl: mic1: cannot" \
        "useradd.mic1:add user nobody to mic1: exit code 3" \
        "wait.mic1=hang:wait for mic1: no answer within $limit s" "boot.mic1=hang:boot mic1: no answer within $limit s"; do
        rm -f ./*.mic1
        what=${case%%:*}
        [[ $what != *hang ]] || short_limit
        echo "${what#*=}" >"${what%=*}"
        echo ready | tee mic0 >mic1
        : >calls
        run -1 --separate-stderr hook phi boot nobody mic0 mic1
        [[ $stderr == "phi: ${case#*:}"*"phi: none of mic0 mic1 is left booted"* ]] || { echo "$stderr"; false; }
        [ "$(cat mic0)" = ready ]
        [ "$(grep -c 'reset --force mic[01]' calls)" -eq 2 ]
    done
    # a device that says it is something else afterwards
    rm -f ./*.mic1
    sed -i 's/booting) echo online/booting) echo "boot failed"/' micctrl
    echo ready >mic1
    run -1 --separate-stderr hook phi boot nobody mic1
    [[ $stderr == "phi: mic1 is 'boot failed', not online"* ]]
}

@test "phi reset: ready, and nothing of the user is left; the others are reset when one fails" {
    echo online | tee mic0 >mic1
    run -0 --separate-stderr hook phi reset nobody mic0 mic1
    [ -z "$output$stderr" ]
    { reset_calls mic0 && reset_calls mic1; } | calls_are
    [ "$(cat mic0 mic1)" = $'ready\nready' ]
    echo online | tee mic0 >mic1
    echo hang >reset.mic0
    short_limit
    run -1 --separate-stderr hook phi reset nobody mic0 mic1
    [ "$stderr" = "phi: reset mic0: no answer within $limit s" ]
    [ "$(cat mic1)" = ready ]
    rm reset.mic0
    touch userdel.mic0
    run -1 --separate-stderr hook phi reset nobody mic0
    [ "$stderr" = "phi: take user nobody from mic0: exit code 3: micctrl: mic0: cannot" ]
    grep -q "groupdel=$GROUP mic0" calls
}

@test "gpu: looked at before the job, reset after it" {
    run -0 --separate-stderr hook gpu boot nobody 0 GPU-1a2b
    [ -z "$output$stderr" ]
    [ "$(cat calls)" = "nvidia-smi -i 0 --query-gpu=uuid --format=csv,noheader
nvidia-smi -i 0 --query-compute-apps=pid --format=csv,noheader
nvidia-smi -i GPU-1a2b --query-gpu=uuid --format=csv,noheader
nvidia-smi -i GPU-1a2b --query-compute-apps=pid --format=csv,noheader" ]
    : >calls && chmod 666 calls
    run -0 --separate-stderr hook gpu reset nobody 0 2
    [ "$(cat calls)" = "nvidia-smi --gpu-reset -i 0
nvidia-smi --gpu-reset -i 2" ]
}

@test "gpu: one that is used, hangs or cannot be reset is named, and the others are done" {
    printf '4711\n4712\n' >apps.0
    run -1 --separate-stderr hook gpu boot nobody 0 2
    [ "$stderr" = "gpu: 0 is still used by process 4711, 4712" ]
    grep -q -- "-i 2 --query-gpu" calls
    touch hang.2
    short_limit
    run -1 --separate-stderr hook gpu boot nobody 2
    [ "$stderr" = "gpu: look at 2: no answer within $limit s" ]
    touch fail.0
    run -1 --separate-stderr hook gpu reset nobody 0 2
    [ "$stderr" = "gpu: reset 0: exit code 19: GPU is in use by another client" ]
    grep -q -- "--gpu-reset -i 2" calls
    rm nvidia-smi
    run -1 --separate-stderr hook gpu reset nobody 0
    [[ $stderr == "gpu: reset 0: exit code 127: "* ]]
}

@test "hooks take no word that is none" {
    while read -r code words; do
        # shellcheck disable=SC2086
        run "-$code" --separate-stderr hook $words
        [[ $stderr == "${words%% *}: "* && -z $output ]]
    done <<'END'
2 phi
2 phi boot nobody
2 phi start nobody mic0
2 phi boot nobody mic0;id
2 phi boot nobody --reset
2 phi boot -x mic0
2 phi boot nobody mic0 mic1 /dev/mic
1 phi boot no.such.user mic0
2 gpu boot nobody -x
2 gpu reset nobody 0 $(id)
END
    [ ! -s calls ]
}

# ---- prolog and epilog -------------------------------------------------------------------------------------

@test "prolog: the job's devices here are prepared, and with SAY it is told what it has; epilog resets them" {
    run -0 --separate-stderr gridengine/prolog
    [ -z "$output" ]
    run -0 --separate-stderr gridengine/epilog
    : >calls && chmod 666 calls
    echo SAY=yes >>gridengine/hooks.conf
    run -0 --separate-stderr gridengine/prolog
    [[ ${lines[0]} == "[PROLOG] Resources of job 310145.30 'phi & 'friends'' of nobody" ]]
    [[ $output == *"[PROLOG]     Intel Phi: mic0 mic1"*"[PROLOG]   1 slot on n086"*"[PROLOG] phi mic0 mic1 on n085: ready"*"[PROLOG] gpu 0 2 on n085: ready"* ]]
    [ "$stderr" = "[PROLOG] phi mic0 on n086: left as they are: REMOTE in hooks.conf does not say how to reach other hosts" ]
    { echo "qstat -xml -j 310145" && boot_calls mic0 && boot_calls mic1; } | calls_are
    [ "$(grep -c 'nvidia-smi -i [02] --query-gpu' calls)" -eq 2 ]
    : >calls && chmod 666 calls
    run -0 --separate-stderr gridengine/epilog
    [ -z "$output" ]
    # what root's prolog has learnt is known
    { { [ "$EUID" = 0 ] || echo "qstat -xml -j 310145"; } && reset_calls mic0 && reset_calls mic1 && echo "nvidia-smi --gpu-reset -i 0" &&
        echo "nvidia-smi --gpu-reset -i 2"; } | calls_are
    [ ! -e kept ]
}

@test "as installed they find their programs, and ask no qstat and say nothing where no device can be" {
    mkdir -p prefix/bin prefix/sbin prefix/share/mprun
    mv gridengine coprocessor.d prefix/share/mprun
    for name in bin/mprsrc sbin/mpbind; do
        stand_in ${name#*/} 'echo "unset -v SGE_PROLOG_HOSTS; SGE_PROLOG_JOB_OWNER=nobody; echo said"'
        mv ${name#*/} prefix/$name
    done
    hooks=prefix/share/mprun/gridengine
    printf 'SENTINEL_D=\nKEEP_D=%q\n' "$PWD/kept" >$hooks/hooks.conf
    printf 'MICCTRL=missing\nNVIDIA_SMI=missing\n' >prefix/share/mprun/coprocessor.d/coprocessor.conf
    run -0 bash -c "$hooks/prolog && $hooks/epilog"
    [ "$output" = "unset -v SGE_PROLOG_HOSTS; SGE_PROLOG_JOB_OWNER=nobody; echo said" ] # mpbind's
    [ "$(cat calls)" = "mpbind --wait 15 310145.30" ]
    for needs in DEVICES=yes BIND=all SAY=yes; do
        : >calls
        sed -i '3,$d' $hooks/hooks.conf && echo "$needs" >>$hooks/hooks.conf
        run -0 --separate-stderr $hooks/prolog
        [ "$(sed -n 2p calls)" = "mprsrc --mode prolog -j 310145 30" ]
    done
    [ "${lines[-1]}" = said ]
}

@test "where hooks.conf says how, the job's other hosts are reached" {
    stand_in ssh exit
    echo "REMOTE=($PWD/ssh -o BatchMode=yes)" >>gridengine/hooks.conf
    run -0 --separate-stderr gridengine/prolog
    [ -z "$stderr" ]
    grep ^ssh calls | grep -q "^ssh -o BatchMode=yes n086 .*coprocessor.d/phi boot nobody mic0$"
    stand_in ssh "echo no route >&2; exit 255"
    run -100 --separate-stderr gridengine/prolog
    [ "$stderr" = $'no route\n[PROLOG] boot phi mic0 on n086: failed' ]
}

@test "a device that cannot be prepared puts the job in error, not the queue; or what hooks.conf says" {
    for case in 100: 100:job-error 99:reschedule 0:continue; do
        echo "ON_DEVICE=${case#*:}" >>gridengine/hooks.conf
        [ -n "${case#*:}" ] || sed -i '$d' gridengine/hooks.conf
        touch boot.mic1
        echo ready | tee mic0 >mic1
        run "-${case%:*}" --separate-stderr gridengine/prolog
        [[ $stderr == *"[PROLOG] boot phi mic0 mic1 on n085: failed"* ]]
    done
}

@test "a device that cannot be reset is said; the queue only where hooks.conf wants it" {
    touch fail.2
    run -0 --separate-stderr gridengine/epilog
    [[ $stderr == *"gpu: reset 2: exit code 19"*"[EPILOG] reset gpu 0 2 on n085: failed"* ]]
    echo ON_RESET=queue-error >>gridengine/hooks.conf
    run -1 --separate-stderr gridengine/epilog
    rm fail.2
    run -0 --separate-stderr gridengine/epilog
}

# with_mprund: an mpbind that ends with what the file `code` says, and sentinels
with_mprund() {
    stand_in mpbind 'exit "$(cat code)"'
    echo 0 >code
    mkdir sentinels
    printf '%s\n' "MPBIND=$PWD/mpbind" "SENTINEL_D=$PWD/sentinels" >>gridengine/hooks.conf
}

@test "the prolog waits until mprund has the job in its cgroup, and where there is no mprund for nothing" {
    with_mprund
    stand_in mpbind "{ sleep 0.3; touch sentinels/310145.30; } >/dev/null 2>&1 &"
    run -0 --separate-stderr gridengine/prolog
    [[ $stderr != *mprund* ]]
    [ "$(head -n 1 calls)" = "mpbind --wait 15 310145.30" ]
    [ -e sentinels/310145.30 ]
    [ "$(cat mic0)" = online ]
    rm sentinels/310145.30
    stand_in mpbind 'exit "$(cat code)"'
    echo 3 >code # no mprund
    run -0 --separate-stderr gridengine/prolog
    [[ $stderr != *mprund* ]]
    echo SENTINEL_D= >>gridengine/hooks.conf
    echo 0 >code
    run -0 --separate-stderr gridengine/prolog
    [[ $stderr != *mprund* ]]
    : >calls && chmod 666 calls
    echo WAIT=0 >>gridengine/hooks.conf
    run -0 --separate-stderr gridengine/prolog
    run -1 grep mpbind calls
}

@test "a job that mprund does not have in time starts all the same, or what hooks.conf says" {
    with_mprund
    echo WAIT=1 >>gridengine/hooks.conf
    run -0 --separate-stderr gridengine/prolog # no sentinel comes
    [[ $stderr == *"[PROLOG] mprund on ${HOSTNAME} does not have job 310145.30 in its cgroup"* ]]
    [ "$(cat mic0)" = online ] # the rest is done
    echo ready | tee mic0 >mic1
    echo 4 >code
    for case in 99:reschedule 100:job-error 0:continue; do
        echo "ON_WAIT=${case#*:}" >>gridengine/hooks.conf
        run "-${case%:*}" --separate-stderr gridengine/prolog
        [[ $stderr == *"[PROLOG] mprund on ${HOSTNAME} does not have job 310145.30 in its cgroup"* ]]
    done
}

@test "where hooks.conf says so mpbind gives the job its limits on all of its hosts, and the epilog takes back" {
    with_mprund
    touch sentinels/310145.30
    stand_in ssh 'exit "$(cat code)"'
    echo "REMOTE=($PWD/ssh -o BatchMode=yes)" >>gridengine/hooks.conf
    run -0 gridengine/prolog
    run -1 grep -e 'mpbind .*--user' calls # which is not needed, and not done
    strict=
    for case in remote: "all:mpbind --strict --user nobody 310145.30 2 6442450944 4294967296"; do
        printf '%s\n' "BIND=${case%%:*}" "BIND_OPTIONS=($strict)" >>gridengine/hooks.conf
        : >calls
        run -0 gridengine/prolog
        { [ -z "${case#*:}" ] || echo "${case#*:}"; echo "ssh -o BatchMode=yes n086 $PWD/mpbind ${strict:+$strict }--user nobody 310145.30 1 3221225472 2147483648"; } |
            diff - <(grep -e --user calls | grep mpbind | sort)
        : >calls
        run -0 --separate-stderr gridengine/epilog
        grep -qx "ssh -o BatchMode=yes n086 $PWD/mpbind --forget 310145.30" calls
        strict=--strict
    done
}

@test "what the job's owner is called is no command on its other hosts" {
    with_mprund
    touch sentinels/310145.30
    stand_in ssh 'shift; exec sh -c "$*"' # as sshd does
    printf 'BIND=remote\nREMOTE=(%q)\n' "$PWD/ssh" >>gridengine/hooks.conf
    run -0 --separate-stderr gridengine/prolog
    grep -qx 'mpbind --user nobody 310145.30 1 3221225472 2147483648' calls
    : >calls && chmod 666 calls
    # shellcheck disable=SC2016
    sed -i 's/>nobody</>nobody;touch${IFS}evil</' job.xml
    run -100 --separate-stderr gridengine/prolog
    [[ $stderr == "[PROLOG] the job's owner 'nobody;touch"*"' is not a user name" ]]
    run -0 gridengine/epilog
    run -1 grep ^ssh calls
    [ ! -e evil ]
}

@test "limits that cannot be given put the job in error, or what hooks.conf says; a host that hangs has a time" {
    with_mprund
    touch sentinels/310145.30
    echo BIND=remote >>gridengine/hooks.conf
    run -100 --separate-stderr gridengine/prolog
    [[ $stderr == *"[PROLOG] bind job 310145.30 on its other hosts: REMOTE in hooks.conf does not say how to reach them"* ]]
    [ "$(cat mic0)" = ready ] # nothing else is done for a job that does not start
    stand_in ssh 'echo no route >&2; exit 255'
    echo "REMOTE=($PWD/ssh)" >>gridengine/hooks.conf
    run -100 --separate-stderr gridengine/prolog
    [[ $stderr == $'no route\n[PROLOG] bind job 310145.30 on n086: failed' ]]
    run -0 --separate-stderr gridengine/epilog
    stand_in ssh 'exec tail -f /dev/null'
    printf 'BIND_LIMIT=2\nON_BIND=reschedule\n' >>gridengine/hooks.conf
    run -99 --separate-stderr gridengine/prolog
    [[ $stderr == *"[PROLOG] bind job 310145.30 on n086: failed"* ]]
}

# No way to fail leads to a code that would stop the queue.
@test "whatever is wrong, the prolog's code is 0, 99 or 100, and the epilog's 0" {
    both() { # CODE of the prolog
        run "-$1" --separate-stderr gridengine/prolog
        [ -n "$stderr" ]
        run -0 --separate-stderr gridengine/epilog
        [ -n "$stderr" ]
    }
    mv job.xml away
    both 0
    echo ON_UNKNOWN=reschedule >>gridengine/hooks.conf && both 99
    echo ON_UNKNOWN=job-error >>gridengine/hooks.conf && both 100
    echo ON_UNKNOWN=nonsense >>gridengine/hooks.conf && both 0
    mv away job.xml
    cp gridengine/hooks.conf hooks.conf
    echo 'MPRSRC=/missing' >>gridengine/hooks.conf && both 0
    echo 'if [' >>gridengine/hooks.conf && both 0
    echo 'exit 7' >gridengine/hooks.conf && both 0
    # shellcheck disable=SC2016
    echo 'kill -TERM $$' >gridengine/hooks.conf && both 0
    # shellcheck disable=SC2016
    echo 'set -u; echo "$NOT_THERE"' >gridengine/hooks.conf && both 0
    cp hooks.conf gridengine/hooks.conf
    JOB_ID='1;id' both 0
    JOB_ID='' both 0
    SGE_TASK_ID='-1' both 0
    sed -i 's/>nobody</>-x</' job.xml
    both 100
    rm gridengine/hooks.bash
    both 0
}

# bats test_tags=root
@test "what the job's user has in the environment reaches neither the scripts nor the hooks" {
    needs_root # an ordinary user's prolog has nothing to gain
    mkdir evil
    for name in mprsrc timeout getent id cat env readlink dirname; do
        printf '#!/bin/sh\ntouch %q\n' "$PWD/evil/was-run" >evil/$name
        chmod 755 evil/$name
    done
    echo "touch '$PWD/evil/was-run'" >evil/bashrc
    sed -i '2a env >>'"$PWD"'/environment' micctrl nvidia-smi
    run -0 --separate-stderr env "BASH_FUNC_read_job%%=() { touch $PWD/evil/was-run; }" BASH_ENV="$PWD/evil/bashrc" \
        ENV="$PWD/evil/bashrc" IFS=/ CDPATH="$PWD/evil" SGE_PROLOG_PHI='mic7' MICCTRL="$PWD/evil/id" \
        LIMIT=0 REMOTE="$PWD/evil/env" gridengine/prolog
    run -0 --separate-stderr env PATH="$PWD/evil:$PATH" MICCTRL="$PWD/evil/id" /bin/bash -p "$PWD/gridengine/prolog"
    [ ! -e evil/was-run ]
    run -1 grep -vE '^(PATH=/usr/local/sbin:|PWD=|SHLVL=|_=|OLDPWD=)' environment
    run -1 grep mic7 calls
    # what the prolog has kept is root's
    rm -rf kept && mkdir kept && echo "touch '$PWD/evil/was-run'" >kept/310145.30
    chown -R "$TEST_UID" kept
    run -0 gridengine/epilog
    [ ! -e evil/was-run ]
}

# bats test_tags=root
@test "as root qstat is told no ports but those of hooks.conf" {
    needs_root
    sed -i '2a env >'"$PWD"'/qstat-environment' qstat
    # ports LINES: what qstat has of them, from either
    ports() {
        for script in prolog epilog; do
            rm -rf qstat-environment kept
            run -0 env SGE_CELL=lab SGE_QMASTER_PORT=1 SGE_EXECD_PORT=2 "gridengine/$script"
            grep -qx SGE_CELL=lab qstat-environment
            run -0 sed -n '/^SGE_.*_PORT=/p' qstat-environment
            [ "$(sort <<<"$output")" = "$1" ]
        done
    }
    ports ""
    echo 'export SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445' >>gridengine/hooks.conf
    ports "SGE_EXECD_PORT=6445
SGE_QMASTER_PORT=6444"
}
