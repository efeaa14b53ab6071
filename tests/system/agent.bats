#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# agent.bats - hosts that are started by --agent, here a script that runs the command on this machine:
# what a start client can do wrong, and how a start looks from outside
load '../lib/mprun'

setup() {
    mprun_setup
    # what ssh does, without another machine; it does what the file $AGENT.HOST says first
    export AGENT=$TMPDIR/agent
    cat >"$AGENT" <<'EOF'
#!/bin/sh
host=$1 command=$2
echo "$host" >>"$AGENT.calls"
if [ -f "$AGENT.$host" ]; then . "$AGENT.$host"; fi
exec sh -c "$command"
EOF
    chmod +x "$AGENT"
}

# does HOST TEXT: what the agent does before it starts HOST
does() { echo "$2" >"$AGENT.$1"; }
said() { without_notes "$stderr" | grep -v "^mprun: hosts are started by '$AGENT'"; }
three() { mprun --agent "$AGENT" --host n0:2,n1:2,n2 "$@"; }

@test "the agent is called once for each host, and ranks run there" {
    run -0 --separate-stderr three sh -c 'echo $MPRUN_RANK $MPRUN_HOST_INDEX'
    [ "$(sort <<<"$output")" = $'0 0\n1 0\n2 1\n3 1\n4 2' ]
    [ "$(sort "$AGENT.calls")" = $'n0\nn1\nn2' ]
    [ -z "$(said)" ]
}

@test "the agent has the user's own limit of open files and umask" {
    does n0 'umask >"$AGENT.umask"; ulimit -S -n >"$AGENT.files"'
    (ulimit -S -n 200 && umask 027 && three true)
    [ "$(cat "$AGENT.umask" "$AGENT.files")" = $'0027\n200' ]
}

@test "one of the hosts has TMPDIR without a way to write: /tmp serves there alone, and --verbose says so" {
    unshare --mount mount -t tmpfs tmpfs /mnt 2>/dev/null || skip "may not mount here"
    mkdir place
    does n1 "exec unshare --mount sh -c 'mount -t tmpfs -o ro tmpfs $PWD/place && exec \"\$@\"' n1 sh -c \"\$command\""
    TMPDIR=$PWD/place run -0 --separate-stderr three -v sh -c 'touch "$TMPDIR/x"; echo "$MPRUN_HOST_INDEX ${TMPDIR%/mprun-*}"'
    echo "$stderr"
    [ "$(sort <<<"$output")" = "$(printf '%s\n' "0 $PWD/place" "0 $PWD/place" "1 /tmp" "1 /tmp" "2 $PWD/place")" ]
    [ "$(grep -c "on n1: make directory '$PWD/place/mprun-[^']*': Read-only file system; '/tmp' is used instead" <<<"$stderr")" = 1 ]
}

@test "an agent can have options and quotes, and gets HOST and COMMAND behind them" {
    cat >words <<'EOF'
#!/bin/sh
printf '%s\n' "$@" >>"$AGENT.words"
shift 3
exec "$AGENT" "$@"
EOF
    chmod +x words
    run -0 --separate-stderr mprun --agent "./words -o 'two words' \"it's\"" --host n1 true
    [ "$(head -n 4 "$AGENT.words")" = $'-o\ntwo words\nit\'s\nn1' ]
    [ "$(sed -n 5p "$AGENT.words")" = "exec $(realpath "$MPRUN_BUILD/starter/mpstarter")" ]
    run -125 --separate-stderr mprun --agent not/there --host n1 true
    [[ $stderr == "mprun: --agent: "*"'not/there'"*"No such file or directory" ]]
}

@test "the step's key is sent when mpstarter is there, and to nobody before" {
    # bash, which says what it has found within a second
    does n1 'printf "no line end"; bash -c "IFS= read -r -t 1 -N 1 byte; echo \$? >$AGENT.found"; printf "<mprun-start-rea"'
    run -0 --separate-stderr three sh -c 'echo $MPRUN_RANK'
    [ "$(cat "$AGENT.found")" -gt 128 ]
    [ "$(sort <<<"$output" | xargs)" = "0 1 2 3 4" ]
    [[ $stderr == *"host n1 said: no line end"* ]]
    [[ $stderr == *"<mprun-start-rea"* ]]
    [[ $stderr != *"start-ready"* ]]
}

# fails HOST TEXT: the step does not start; one sentence names HOST and has TEXT; nobody else stays
fails() {
    run -125 --separate-stderr three sh -c 'echo started'
    echo "$stderr"
    [ -z "$output" ]
    [ "$(said | wc -l)" = 1 ]
    [[ $(said) == "mprun: host $1: "*"$2"* ]]
    no_leftovers
}

@test "an agent that fails: its words are the sentence" {
    does n1 'echo "no way to $host" >&2; exit 255'
    fails n1 "no way to n1"
    does n1 'exit 255'
    fails n1 "$AGENT ended with code 255 before mpstarter reported back"
    does n1 'echo one >&2; echo two >&2; exit 3'
    fails n1 "ended with code 3 before mpstarter reported back: one; two"
    does n1 'kill -KILL $$'
    fails n1 "was killed by signal 9 (Killed) before mpstarter reported back"
}

@test "an agent that says much: the last line is the reason, those before it are shown, in bounds" {
    does n1 'i=0 o=$(printf %0300d 0); while [ $i -lt 5000 ]; do i=$((i + 1)); echo "line $i: $o"; done >&2; echo "the reason" >&2; exit 255'
    run -125 --separate-stderr three true
    [ "$(wc -c <<<"$stderr")" -lt 20000 ]
    [ "$(grep -c '^mprun: host n1: line' <<<"$stderr")" -ge 3 ]
    [[ $stderr == *"mprun: host n1: line 5000: "*"mprun: host n1: "*"the reason" ]]
}

@test "what a terminal would act on is not passed on" {
    does n1 'printf "a\033[2Jb\r\n" >&2; exit 255'
    run -125 --separate-stderr three true
    [[ $stderr == *"mprun: host n1: a\x1b[2Jb"* ]]
    [[ $stderr != *$'\033'* ]]
}

@test "an agent that talks on both streams and then works" {
    does n1 'echo "welcome to $host"; echo "mind the gap" >&2'
    run -0 --separate-stderr three true
    [[ $stderr == *"mprun: host n1 said: welcome to n1"* ]]
    [[ $stderr == *"mprun: host n1: mind the gap"* ]]
}

@test "an agent that passes output on by lines, as pdsh does" {
    does n1 'sh -c "$command" | grep --line-buffered ""; exit'
    MPRUN_TRANSPORT=tcp run -0 --separate-stderr three sh -c 'echo $MPRUN_RANK'
    [ "$(sort <<<"$output" | xargs)" = "0 1 2 3 4" ]
    [ -z "$(said)" ]
}

@test "an agent that does nothing, or loses what mpstarter says: --start-timeout ends the step and names the host" {
    local limit
    limit=$(patience 3)
    ((limit <= 8)) || limit=8 # soon it says what it waits for, too
    # late HOST WORDS TEXT: HOST writes WORDS and does TEXT
    late() {
        does "$1" "echo '$2' >&2; $3"
        mprun_start --agent "$AGENT" --host "n0:2,$1:2,n9" --start-timeout "$limit" true
        PIDS[$1]=$MPRUN_PID ERRS[$1]=$MPRUN_ERR
    }
    too_late() {
        local code=0
        MPRUN_PID=${PIDS[$1]}
        mprun_wait || code=$?
        [ $code = 125 ]
        stderr=$(cat "${ERRS[$1]}")
        SAID=$(said)
        echo "$SAID"
    }
    declare -A PIDS ERRS
    mute="has not said on its standard output within $limit s (--start-timeout) that it is there"
    version=$("$MPRUN" --version | sed 's/.* //')
    late n1 "I wait" 'exec sleep 1000'
    late n2 "I lose" 'exec sh -c "$command" >/dev/null'
    late n3 "I speak" "echo '$(first_word)'; exec sleep 1000"
    too_late n1
    [ "$SAID" = "mprun: host n1: its mpstarter $mute (does '$AGENT' pass that on? is mpstarter of this version, $version?): I wait" ]
    too_late n2
    [[ $SAID == "mprun: host n2: its mpstarter $mute ("*"?): I lose" ]]
    too_late n3
    [ "$SAID" = "mprun: host n3: its mpstarter has not reported back within $limit s (--start-timeout): I speak" ]
    no_leftovers
}

@test "an agent that ignores TERM, and one that was stopped, are ended all the same" {
    does n1 'trap "" TERM; while :; do sleep 1000; done'
    does n2 'kill -STOP $$'
    does n0 'exit 255'
    run -125 --separate-stderr three true
    no_leftovers
}

# bats test_tags=long
@test "the job's agent of a host was stopped: --start-timeout ends the step all the same" {
    needs_long
    MPRUN_TRANSPORT= # agents are not for stdio
    test_options
    does n1 'echo $$ >"$AGENT.pid"'
    COMMAND="$MPRUN ${MPRUN_OPTIONS[*]} --pmi none --keep=job --agent $AGENT --host n1" \
        run -0 --separate-stderr time_limited 40 setsid -w bash -c '
        $COMMAND true && kill -STOP $(cat "$AGENT.pid") && $COMMAND --start-timeout=1 true; echo code $?
        kill -CONT $(cat "$AGENT.pid")'
    [ "$output" = "code 125" ]
    [[ $stderr == *"host n1: its mpstarter has not reported back within 1 s (--start-timeout)"* ]]
    no_leftovers 20
}

# what the agent was told before it may still happen
@test "the holder of the job's agents is killed while one forks a starter: that serves the step, and not the one that mprun starts then" {
    MPRUN_TRANSPORT= # agents are not for stdio
    test_options
    for second in early late; do
        rm -f "$AGENT".*
        does n1 'if [ -e "$AGENT.pid" ]; then
            echo >"$AGENT.begun" # mpstarter comes late, or hears late what it has to do
            until [ $SECOND = late ] || [ -e "$AGENT.go" ]; do sleep .05; done
            { head -c 1; until [ -e "$AGENT.go" ]; do sleep .05; done; timeout 1 cat; } | sh -c "$command"
            code=$?; echo >"$AGENT.ended"; exit $code
        fi; echo $$ >"$AGENT.pid"'
        COMMAND="$MPRUN ${MPRUN_OPTIONS[*]} -v --pmi none --keep=job --agent $AGENT --host n1" SECOND=$second \
            run -0 --separate-stderr time_limited 30 setsid -w bash -c '
            $COMMAND true && kill -STOP $(cat "$AGENT.pid")
            $COMMAND sh -c "[ \$(ps -o ppid= -p \$PPID) = $(cat "$AGENT.pid") ] || exit 3
                until [ $SECOND = late ] || [ -e $AGENT.ended ]; do sleep .05; done; sleep .3" 2>said & p=$!
            until grep -q "forks the starter" said; do sleep .05; done
            kill -9 $(pgrep -f "mpstarter --hold $$\$")
            until [ -e "$AGENT.begun" ]; do sleep .05; done
            kill -CONT $(cat "$AGENT.pid")
            until grep -q ": releasing" said || [ $SECOND = early ]; do sleep .05; done
            sleep .3; echo >"$AGENT.go"
            wait $p; echo code $?'
        echo "$second: $output"
        [ "$output" = "code 0" ]
        no_leftovers 20
    done
}

@test "mpstarter is killed, and its agent does not end: that mprun kills the agent is not the reason" {
    needs_long
    sed -i 's/^exec sh -c/sh -c/; $a exec sleep 1000' "$AGENT"
    run -125 --separate-stderr mprun --agent "$AGENT" --host n0 --link-grace=4 -n 1 bash -c '
        keeper=$(ps -o ppid= $PPID)
        kill -STOP $PPID $keeper
        kill -KILL $PPID $keeper
        exec sleep 77'
    [[ $stderr == *"mprun: host n0: its mpstarter has gone, and $AGENT does not end"* ]]
    [[ $stderr != *"$AGENT was killed"* ]]
}

@test "mprun is told to end while hosts are being started" {
    does n1 'exec sleep 1000'
    mprun_start --agent "$AGENT" --host n0,n1,n2 true
    wait_until 10 grep -q n1 "$AGENT.calls"
    kill -TERM "$MPRUN_PID"
    code=0
    mprun_wait || code=$?
    [ $code = 143 ]
    no_leftovers
}

@test "an mpstarter that waits to be told its step ends with a code by TERM and HUP, and not by USR1" {
    does n1 'mkfifo silent; exec 5<>silent; { code=0; sh -c "echo \$\$ >pid; $command" <&5 || code=$?; echo $code >code; } | tee said; exit $(cat code)'
    for signal in TERM HUP KILL; do
        mprun_start --agent "$AGENT" --host n0,n1 true
        wait_until 10 grep -qs ready said
        kill -USR1 "$(cat pid)"
        kill -$signal "$(cat pid)"
        code=0
        mprun_wait || code=$?
        [ "$code" = 125 ]
        case $signal in
        KILL) reason="$AGENT ended with code 137 before mpstarter reported back" ;;
        *) reason="mpstarter: on $(hostname): received SIG$signal before mprun has said what there is to do" ;;
        esac
        cat "$MPRUN_ERR"
        grep -qF "mprun: host n1: $reason" "$MPRUN_ERR"
        rm silent pid said
    done
    no_leftovers
}

@test "an mpstarter that its parent ends, as mprun does on its own host when another one fails, has no words for it" {
    coproc STARTER { exec "$MPRUN_BUILD/starter/mpstarter" 2>words; }
    pid=$STARTER_PID code=0
    read -r line <&"${STARTER[0]}"
    [[ $line == *ready* ]]
    kill -TERM "$pid"
    wait "$pid" || code=$?
    [ "$code" = 125 ]
    [ ! -s words ]
}

# lost_at_start TERMED LOST: n1 has reported back and is lost while n0, which has no more than mpstarter's
# first word, and n2 are on their way; n3 is not begun. Their start is cancelled for that: n0 does TERMED
# then, and n1's client LOST when its starter has ended. Whichever ends first, n1 is named and nobody else.
lost_at_start() {
    does n0 "echo \$\$ >n0.pid; trap '$1; exit 1' TERM; echo '$(first_word)'; while :; do sleep .02; done"
    does n1 "echo \$\$ >n1.pid; sh -c \"echo \\\$\\\$ >keeper; \$command\"; code=\$?; exec >&-; $2; exit \$code"
    does n2 'until [ -e n0.pid ]; do sleep .02; done; kill -KILL $(pgrep -P $(cat keeper) -x mpstarter); exec sleep 1000'
    for transport in ${MPRUN_TRANSPORT:-tcp stdio}; do
        rm -f n?.pid keeper "$AGENT.calls"
        MPRUN_TRANSPORT=$transport run -125 --separate-stderr mprun --agent "$AGENT" --start-concurrency 2 \
            --fanout 1 --host n0,n1,n2,n3 true
        echo "$transport: $stderr"
        [ "$(said | grep -c "^mprun: host n1: mpstarter's worker (pid [0-9]*) was killed by signal 9")" = 1 ]
        # the agent's path is anything, and may have "n2" in it
        [ -z "$(said | sed "s:$AGENT:AGENT:g" | grep -e n0 -e n2 -e n3 -e 'n\[' -e together)" ]
        [ "$(sort "$AGENT.calls" | xargs)" = "n0 n1 n2" ]
    done
    no_leftovers
}
# mprun has taken the status of who is not even a zombie any more
gone() { echo "while kill -0 \$(cat $1.pid) 2>/dev/null; do sleep .02; done"; }

@test "a host is lost while others are being started: they end first, and it is named" {
    lost_at_start : "$(gone n0)"
}

@test "a host is lost while others are being started: what is left of them ends later, and it is named" {
    lost_at_start "$(gone n1); (trap : TERM; $(gone n0)) &" :
}

@test "a host that is told to end before LAUNCH comes, and is then asked what its ranks use, ends as it was told" {
    local worker code=0
    does n0 'echo $$ >keeper'
    does n1 'until [ -e go ]; do sleep .02; done'
    mprun_start --agent "$AGENT" --fanout 0 --verbose --host n0,n1 --limit mem=2G sh -c 'touch up; sleep 1000'
    has_worker() { [ -s keeper ] && worker=$(pgrep -P "$(cat keeper)" -x mpstarter); }
    wait_until 10 has_worker
    sleep 1 # it has its place
    kill -STOP "$worker"
    touch go
    wait_until 10 test -e up
    sleep 1 # it is asked
    kill -TERM "$worker"
    kill -CONT "$worker"
    mprun_wait || code=$?
    [ "$code" -eq 143 ]
    grep -q 'received SIGTERM; ending its ranks' "$MPRUN_ERR"
    [ -z "$(grep 'was killed by signal' "$MPRUN_ERR")" ]
}

@test "--start-concurrency: no more are on their way at once, and all are started" {
    for host in n0 n1; do does $host "until [ -e $TMPDIR/go ]; do sleep .02; done"; done
    for host in n2 n3 n4; do does $host "[ -e $TMPDIR/go ] || echo \$host too early >>$TMPDIR/early"; done
    mprun_start --agent "$AGENT" --start-concurrency 2 --host n0,n1,n2,n3,n4 true
    wait_until 10 eval '(($(wc -l <"$AGENT.calls") >= 2))'
    touch go
    mprun_wait || { cat "$MPRUN_ERR"; false; }
    [ ! -e early ]
    [ "$(wc -l <"$AGENT.calls")" = 5 ]
}

@test "who is slow is named, with what was said so far" {
    for host in n1 n2; do does $host "echo almost >&2; until [ -e $TMPDIR/go ]; do sleep .02; done"; done
    mprun_start --agent "$AGENT" --host n0,n1,n2 true
    wait_until 30 grep -q 'waiting for n1, n2 to report back' "$MPRUN_ERR"
    wait_until 5 grep -q 'host n2: almost' "$MPRUN_ERR"
    touch go
    mprun_wait || { cat "$MPRUN_ERR"; false; }
    [ "$(grep -c 'waiting for' "$MPRUN_ERR")" = 1 ]
}

@test "a terminal shows how many hosts are there, and nothing of it in the end" {
    needs_tool script
    for host in n0 n1 n2; do does $host "until [ -e $TMPDIR/go ]; do sleep .02; done"; done
    mprun_words="$MPRUN --containment=tree --agent '$AGENT' --host n0,n1,n2 sh -c 'echo tick; echo tock >/dev/tty'"
    script -qefc "$mprun_words" typescript </dev/null >/dev/null 3>&- &
    SCRIPT=$!
    wait_until 10 grep -q 'starting hosts 0/3' typescript
    touch go
    wait_until 10 process_gone $SCRIPT
    wait $SCRIPT
    # nothing else is on its line, neither what mprun writes nor what ranks do
    cat -v typescript
    ! grep -aP 'starting hosts ./3\x1b\[K(?!\r)' typescript || false
    [ "$(grep -ac '\(tick\|tock\)'$'\r''$' typescript)" = 6 ]
}

@test "--dry-run and --explain show hosts, slots, their sources, and how each would be started" {
    printf '%s\n' 'n0 slots=2' 'n1' >hosts
    run -0 --separate-stderr mprun --agent "$AGENT -x" --hostfile hosts --dry-run true
    [ ! -e "$AGENT.calls" ]
    [[ $output == *"n0: 2 slots (host file 'hosts' line 1)"*"started by $AGENT -x n0 'exec "*"n1: 1 slot (host file 'hosts' line 2)"* ]]
    run -0 --separate-stderr mprun --agent "$AGENT" --hostfile hosts --explain true
    [[ $output == *"n1: 1 slot (host file 'hosts' line 2)"*"started by $AGENT n1"*"kernel's name"* ]]
    run -0 --separate-stderr mprun --host n1,n2 --dry-run true
    [[ $output == *"started by ssh -x -T -o BatchMode=yes "*" n1 'exec "* ]]
}

@test "a host file in each syntax means the same" {
    printf 'n1 slots=2 max_slots=4\nn2\n' >openmpi
    printf 'n1:2\nn2\n' >hydra
    printf 'n1\nn1\nn2\n' >pbs
    printf 'n1 2 all.q@n1 UNDEFINED\nn2 1 all.q@n2 <NULL>\n' >gridengine
    for file in openmpi hydra pbs gridengine; do
        run -0 --separate-stderr mprun --hostfile $file --dry-run true
        [[ $output == *"n1: 2 slots (host file '$file' line 1"*"ranks 0 to 1"*"n2: 1 slot (host file"*"rank 2"* ]]
        run -125 --separate-stderr mprun --hostfile $file --dry-run -n 4 true
        [[ $stderr == *"2 hosts have 3 slots (host file '$file'), 1 too few"* ]]
    done
    echo 'n1 2 all.q@n1 0,1:0,2' >gridengine
    run -0 --separate-stderr mprun --hostfile gridengine --dry-run true
    [[ $output == *"cores 0,1:0,2 as socket,core, ranks 0 to 1"* ]]
    run -125 --separate-stderr mprun --hostfile openmpi --host n1 --oversubscribe --dry-run -n 5 true
    [ "$stderr" = "mprun: place 5 ranks: 1 host takes no more than 4 (max_slots); ask for fewer ranks" ]
}

@test "what is wrong in a host file is said with its file and line" {
    while IFS='|' read -r content message; do
        printf -- "$content" >bad
        run -125 --separate-stderr mprun --hostfile bad true
        echo "$content: $stderr"
        [[ $stderr == "mprun: host file 'bad' $message"* ]]
    done <<'EOF'
# only this\n\n|names no host: it is empty but for comments and blanks
n1 slots=0\n|line 1: slots: '0' is too small
n1\nn2 slots=x\n|line 2: slots: 'x' is not a number
n1:2\nn2 slots=2\n|line 2: it is in Open MPI's ('host slots=4') syntax, but line 1 is in Hydra's ('host:4'); write the whole file in one
n1 4\n|line 1: '4' stands alone; write 'n1 slots=4' or 'n1:4'
n1 4 queue\n|line 1: it has less than the four columns
n1 slot=4\n|line 1: 'slot=' is not understood
n1 slots=4 max_slots=2\n|line 1: max_slots=2 is less than its 4 slots
n1\n\nn/2\n|line 3: 'n/2' is no name of a host
-x\n|line 1: '-x' is no name of a host
n1\0n2\n|is no text: it has a NUL byte
EOF
    [ "$(id -u)" = 0 ] || { touch closed && chmod 0 closed && run -125 --separate-stderr mprun --hostfile closed true && [[ $stderr == *"read host file 'closed': Permission denied"* ]]; }
}

# bats test_tags=root
@test "hosts of different kinds in one step: hybrid cgroups, v1 alone, none; each holds what it can, and says so" {
    needs_root
    may_make_cgroups
    mountpoint -q /sys/fs/cgroup/unified || skip "needs a machine with hybrid cgroups"
    unshare --mount umount /sys/fs/cgroup/unified 2>/dev/null || skip "may not unmount here"
    does n1 "exec unshare --mount sh -c 'umount /sys/fs/cgroup/unified && exec \"\$@\"' n1 sh -c \"\$command\""
    does n2 "exec unshare --mount sh -c 'umount -l /sys/fs/cgroup && exec \"\$@\"' n2 sh -c \"\$command\""
    run -0 --separate-stderr three --oversubscribe --limit rank:mem=200M,host:procs=50 --report containment \
        sh -c 'setsid sleep 1000 & echo $!'
    [ "${#lines[@]}" -eq 5 ]
    for pid in "${lines[@]}"; do process_gone "$pid"; done
    grep -x '  n0: tracking rank in hybrid cgroups' <<<"$stderr"
    grep -x '  n1: tracking rank in v1 cgroups' <<<"$stderr"
    grep '^  n2: tracking tree (.*cgroup v2 is not mounted' <<<"$stderr"
    grep -x '  n0, n1: memory of a rank limited to 200 MiB, held by cgroup' <<<"$stderr"
    grep -x '  n2: memory of a rank limited to 200 MiB, held by samples' <<<"$stderr"
    grep -x '  n2: processes of a host limited to 50, held by samples' <<<"$stderr"
    # on each kind a rank that has too much is ended, and named
    local host
    for host in 0 1 2; do
        run --separate-stderr three --oversubscribe --limit rank:mem=200M \
            sh -c "[ \$MPRUN_HOST_INDEX != $host ] || exec python3 -c 'import time; a = b\"x\" * (400 << 20); time.sleep(60)'; exec sleep 60"
        [ "$status" -eq 137 ]
        [[ $stderr =~ "rank "[0-9]" on n$host exceeded its "(memory limit|limit of memory) ]]
    done
}
