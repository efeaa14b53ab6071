#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# handing.bats - what starters start beside their ranks: another step's, where a host takes no further
# task of the job, and the clients of other hosts. The job is one of Grid Engine by its variables; its
# qrsh is a script that takes one task for each host, all of which are this machine
load '../lib/mprun'

setup() {
    mprun_setup
    export SGE_ROOT=$TMPDIR/sge SGE_BINARY_PATH=$TMPDIR/sge PE_HOSTFILE=$TMPDIR/sge/hosts
    export JOB_ID=1 SGE_TASK_ID=undefined
    unset PE SGE_JOB_SPOOL_DIR
    mkdir sge
    printf 'h%d 1 q UNDEFINED\n' 0 1 >sge/hosts
    cat >sge/qrsh <<'EOF'
#!/bin/bash
if [ -f "$SGE_ROOT/does.$3" ]; then . "$SGE_ROOT/does.$3"; fi
exec 9>"$SGE_ROOT/task.$3"
flock -n 9 || { echo "error: execution daemon on host \"$3\" didn't accept task" >&2; exit 1; }
exec "$4"
EOF
    chmod +x sge/qrsh
    # not MPRUN_TRANSPORT's: what is handed over goes by TCP
    MPRUN_TRANSPORT=
}

has_begun() { [ "$(wc -l <"began.$1")" = "${2:-2}" ]; } 2>/dev/null
# holds NAME OPTIONS...: a step of two ranks that run until over.NAME is there: $PID_NAME, err.NAME
holds() {
    local name=$1
    shift
    mprun_start "$@" sh -c 'echo >>began.$0; until [ -e over.$0 ]; do sleep .05; done; echo $0 $MPRUN_RANK' "$name"
    declare -g "PID_$name=$MPRUN_PID"
    ln -sf "$MPRUN_ERR" "err.$name" && ln -sf "$MPRUN_OUT" "out.$name"
}
# both NAME's ranks run; A's starters have the tasks
first() { holds A "$@" && wait_until 10 has_begun A; }
second() { holds B -v "$@" && wait_until 10 has_begun B; }
# wait_for NAME CODE: its end, with it
wait_for() {
    local pid=PID_$1 code=0
    MPRUN_PID=${!pid}
    mprun_wait || code=$?
    cat "err.$1"
    [ "$code" = "$2" ]
}
task_is_over() { flock -n "sge/task.$1" true; }
was_handed() {
    [ "$(grep -c "host h[01]: handed to the starter of step ${1:-[a-z2-7]}" err.B)" = 2 ]
}
keepers() { pgrep -P "$PID_A" -x mpstarter; }
one_keeper() { keepers | head -n 1; }
its_worker() { pgrep -o -P "$1" -x mpstarter; }

@test "a step is handed over, and goes on when the other one is over" {
    first
    second
    was_handed
    touch over.A
    wait_for A 0
    kill -0 "$PID_B"
    # the tasks are over with the last that is in them
    run ! task_is_over h0
    touch over.B
    wait_for B 0
    [ "$(sort out.B)" = $'B 0\nB 1' ]
    wait_until 5 task_is_over h0
    wait_until 5 task_is_over h1
}

@test "a step ends just when it has handed another's starter over: that one goes on" {
    # what A's keepers start waits in its dynamic linker as long as this is a FIFO which nobody writes into
    echo '[ -e hold ] || export LD_PRELOAD=./hold' | tee sge/does.h0 >sge/does.h1
    first
    old=$(keepers)
    mkfifo hold
    holds B -v
    wait_until 10 was_handed
    touch over.A
    wait_for A 0
    exec 6>hold
    rm hold
    exec 6>&-
    wait_until 10 has_begun B
    for pid in $old; do ! process_gone "$pid" || return 1; done
    touch over.B
    wait_for B 0
    [ "$(sort out.B)" = $'B 0\nB 1' ]
    wait_until 5 task_is_over h0
    wait_until 5 task_is_over h1
}

@test "one that ends first leaves the other as it was; a third is handed to either; --explain says so" {
    first
    run -0 mprun --explain true
    grep -Eq '^ +started by the starter of step [a-z2-7]+ there: gridengine had no room' <<<"$output"
    run -0 mprun sh -c 'echo $MPRUN_RANK'
    [ "$(sort <<<"$output")" = $'0\n1' ]
    second
    run -0 mprun sh -c 'echo $MPRUN_RANK'
    [ "$(sort <<<"$output")" = $'0\n1' ]
    touch over.A over.B
    wait_for A 0
    wait_for B 0
}

@test "each step reports its own ranks alone" {
    cpu() { python3 -c 'import json, sys; u = json.load(open(sys.argv[1])); print(sum(u[k][f] for k in ("usage",) for f in ("cpu_user_s", "cpu_system_s")))' "$1"; }
    mprun_start --report-json a.json sh -c 'echo >>began.A; exec sleep 1000'
    PID_A=$MPRUN_PID
    ln -s "$MPRUN_ERR" err.A
    wait_until 10 has_begun A
    MPRUN_TEST_LIMIT=100 run -0 mprun --report-json b.json perl -e 'while ((times)[0] < .5) { $i++ for 1 .. 100000 }'
    kill "$PID_A"
    wait_for A 143
    awk -v a="$(cpu a.json)" -v b="$(cpu b.json)" 'BEGIN { print a, b; exit !(a < 0.5 && b > 0.95) }'
}

@test "kill -9 of the other mprun, or of a worker of its: the step goes on" {
    first
    second
    kill -KILL "$PID_A"
    wait_for A 137
    wait_until 10 without_A
    kill -0 "$PID_B"
    touch over.B
    wait_for B 0
    [ "$(sort out.B)" = $'B 0\nB 1' ]
    rm -r over.B began.* "$XDG_RUNTIME_DIR"/mprun-* # no host is mprun's own: none can remove it
    no_leftovers

    first
    second
    kill -KILL "$(its_worker "$(one_keeper)")"
    wait_for A 125
    wait_until 10 without_A
    kill -0 "$PID_B"
    touch over.B
    wait_for B 0
    [ "$(sort out.B)" = $'B 0\nB 1' ]
}
# among this test's processes, by their directory
without_A() {
    local pid
    for pid in $(pgrep -f 'until \[ -e over.\$0 \].* A$'); do
        ! [ "/proc/$pid/cwd" -ef . ] || return 1
    done
}

@test "kill -9 of a keeper of the other: with it ends the step that is in its task, and names the host" {
    first
    second
    kill -KILL "$(one_keeper)"
    wait_for A 125
    wait_for B 143
    grep -Eq '^mprun: (host h[01]: )?.*mpstarter on .* received SIGTERM; ending its ranks' err.B
    no_leftovers
}

@test "a step that was handed over is ended as any other" {
    first
    second
    kill -TERM "$PID_B"
    wait_for B 143
    kill -0 "$PID_A"
    touch over.A
    wait_for A 0
}

# other_version: $OTHER, an installation of another version than $VERSION
other_version() {
    VERSION=$("$MPRUN" --version | sed 's/.* //')
    OTHER=$(tr 0-9 1-90 <<<"$VERSION")
    mkdir -p other/launcher other/starter other/pmix-server
    cp "$MPRUN_BUILD/launcher/mprun" other/launcher
    cp "$MPRUN_BUILD/starter/mpstarter" other/starter
    cp "$MPRUN_BUILD/pmix-server/mppmi" other/pmix-server
    sed -i "s/${VERSION//./\\.}/$OTHER/g" other/*/*
    [ "$(other/launcher/mprun --version | sed 's/.* //')" = "$OTHER" ]
}

@test "who cannot be asked is waited for, and why: another version, links without encryption, another transport, another job" {
    # waits WHY: once it has said so, in one sentence, without -v
    waits() {
        wait_until 10 grep -q 'this is tried again' err.B
        cat err.B
        [ "$(grep -Ecx "mprun: host h[01]: gridengine has no room for one more task of the job$1: this is tried again until .*" err.B)" = 1 ]
        [ "$(wc -l <err.B)" = "${2:-1}" ]
        touch over.A over.B
        wait_for A 0
        wait_for B 0
        rm over.* began.*
    }
    own='step [a-z2-7]+ there cannot start it: it'
    other_version
    first
    MPRUN=$PWD/other/launcher/mprun holds B
    waits " \($own is mprun version $VERSION, this one is version $OTHER; use one version .*\)"

    first --link-security=none
    holds B
    waits " \(${own}s links are not encrypted; leave out its --link-security, .*\)"

    first
    holds B --transport=stdio
    waits ' \(with --transport=stdio no other step can start it; leave that out\)'

    first
    JOB_ID=2 holds B
    waits ''

    # when it is not waited for any longer
    first
    local limit
    limit=$(patience 2)
    ((limit <= 8)) || limit=8
    run -125 --separate-stderr other/launcher/mprun --start-timeout "$limit" true 3>&-
    echo "$stderr"
    [[ $stderr == *"mprun: host h"[01]": not started within $limit s (--start-timeout): error: "*"didn't accept task"*"; step "*" there cannot start it: it is mprun version $VERSION,"* ]]
    touch over.A
    wait_for A 0
}

# Another mprun as B sees it, which takes what it is asked and says nothing; A's place is another.
silent_first() {
    mkdir -m 700 elsewhere "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa"
    python3 -c '
import os, socket, sys, time
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.bind("control")
s.listen()
kept = [s.accept()]
while kept[-1][0].recv(65536): pass
' "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa" 3>&- &
    SILENT=$!
    wait_until 10 test -S "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa/control"
    XDG_RUNTIME_DIR=$PWD/elsewhere first
}
silent_ends() {
    kill "$SILENT" || true # when nobody has asked it a second time it has ended
    wait "$SILENT" || true
    rm -r "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa" elsewhere
}

@test "one that gives no answer is not waited for without end" {
    silent_first
    holds B -v
    wait_until 10 grep -q 'step a* gives no answer' err.B
    wait_until 10 grep -q 'this is tried again' err.B
    touch over.A over.B
    wait_for A 0
    wait_for B 0
    [ "$(sort out.B)" = $'B 0\nB 1' ]
    silent_ends
}

@test "one that waits for an answer is ended by a signal at once" {
    silent_first
    holds B -v
    wait_until 10 grep -q 'no room: ' err.B
    kill -TERM "$PID_B"
    wait_for B 143
    touch over.A
    wait_for A 0
    silent_ends
}

@test "directories of steps that are no more, many of them, hide nobody" {
    first
    python3 -c '
import os, socket, sys
os.chdir(sys.argv[1])
for i in range(60):
    d = "mprun-" + "abcdefgh"[i // 8] * 5 + "abcdefgh"[i % 8] * 7
    os.mkdir(d, 0o700)
    if i % 2:
        socket.socket(socket.AF_UNIX).bind(d + "/control")
' "$XDG_RUNTIME_DIR"
    second
    was_handed
    touch over.A over.B
    wait_for A 0
    wait_for B 0
    rm -r "$XDG_RUNTIME_DIR"/mprun-*
}

@test "one host's starter gives no answer: --start-timeout holds; an answer that comes late is one" {
    first
    local limit
    limit=$(patience 3)
    ((limit <= 8)) || limit=8
    worker=$(its_worker "$(one_keeper)")
    kill -STOP "$worker"
    run -125 --separate-stderr mprun --start-timeout "$limit" true
    echo "$stderr"
    [[ $stderr == *"mprun: host h"[01]": not started within $limit s (--start-timeout): error: "*"didn't accept task"* ]]
    holds B -v
    wait_until 10 grep -q 'gives no answer' err.B
    kill -CONT "$worker"
    wait_until 10 has_begun B
    was_handed
    touch over.A over.B
    wait_for A 0
    wait_for B 0
    no_leftovers
}

# leaves_starter [WORDS]: another mprun as B sees it: its starter has begun, it goes, and only then the
# starter reports; or with these words it ends
leaves_starter() {
    mkdir -m 700 "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa"
    python3 -c '
import os, shutil, socket, struct, subprocess, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + "/control")
s.listen()
c = s.accept()[0]
def number(at):
    n = shift = 0
    while True:
        n |= (hand[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if hand[at - 1] < 128: return n, at
def take():
    global header, hand, fields
    header = c.recv(12, socket.MSG_WAITALL)
    if not header: return 0
    hand = c.recv(struct.unpack("<I", header[:4])[0], socket.MSG_WAITALL)
    at, fields = 0, {1: 0, 6: b""}
    while at < len(hand):
        tag, at = number(at)
        n, at = number(at)
        if tag & 7: n, at = hand[at:at + n], at + n
        fields[tag >> 3] = n
    return 1
def tell(what, text=b""):
    news = bytes([8, fields[1], 16, what, 26, len(text)]) + text
    c.sendall(struct.pack("<IBBHI", len(news), header[4] - 1, 0, 0, 0) + news)
take()
if fields[6]: sys.exit("it sends its key to anybody")
tell(6)
take()
tell(2)
if sys.argv[3:]:
    tell(3, sys.argv[3].encode())
    tell(4)
    sys.exit("it is asked again" if take() else 0)
shutil.rmtree(sys.argv[1])
s.close()
c.close()
while not os.path.exists("second"): time.sleep(.02)
sys.exit(subprocess.run([sys.argv[2]], input=fields[6]).returncode)
' "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa" "$MPRUN_BUILD/starter/mpstarter" "$@" 3>&- 8>&- &
    LEAVES=$!
    wait_until 10 test -S "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa/control"
}

@test "the other goes before the starter that it has begun reports: that one is taken, its ranks run" {
    # stray END WORDS: the manager is asked a second time; when the ranks run it does END, which mprun tells with WORDS
    stray() {
        echo "if [ -e first ]; then touch second; until [ -e began.B ]; do sleep .02; done; $1; fi; touch first" >sge/does.h1
        exec 8>sge/task.h1
        flock 8
        leaves_starter
        holds B -v 8>&-
        wait_until 10 has_begun B
        wait_until 10 grep -q 'the starter of step a* has started it, and' err.B
        wait_until 10 grep -q "$2" err.B
        touch over.B
        wait_for B 0
        [ "$(sort out.B)" = $'B 0\nB 1' ]
        wait "$LEAVES"
        exec 8>&-
    }
    stray : '^mprun: host h1: error: execution daemon'
    rm first second began.B over.B
    # one starter too many is told so
    stray 'exec "$4"' "host 1 ('h1') is taken already"
    [ "$(grep -c 'by hand' err.B)" = 0 ]
}

@test "what the other has begun fails: its words are the reason, it is not asked again" {
    local limit
    limit=$(patience 3)
    ((limit <= 8)) || limit=8
    exec 8>sge/task.h1
    flock 8
    leaves_starter "no way back"
    run -125 --separate-stderr mprun --start-timeout "$limit" true 8>&-
    exec 8>&-
    echo "$stderr"
    [[ $stderr == *"mprun: host h1: the starter of step aaaaaaaaaaaa has started it, and it has ended: no way back; gridengine itself has had no room there for $limit s"* ]]
    wait "$LEAVES"
    rm -r "$XDG_RUNTIME_DIR/mprun-aaaaaaaaaaaa"
}

@test "--start-timeout is a time, however long the manager takes to say that it has no room" {
    echo 'echo >>"$SGE_ROOT/tries"; sleep 2' >sge/does.h1
    exec 8>sge/task.h1
    flock 8
    run -125 --separate-stderr mprun --start-timeout 4 true 8>&-
    exec 8>&-
    echo "$stderr"
    [[ $stderr == *"mprun: host h1: not started within 4 s (--start-timeout): error: execution daemon"*"; a host takes as many tasks"* ]]
    [ "$(wc -l <sge/tries)" -le 2 ]
}

# tree ARGS...: ten hosts, of which mprun starts two, and each of these the ones below it
tree() {
    printf 'h%d 1 q UNDEFINED\n' {0..9} >sge/hosts
    MPRUN_TEST_LIMIT=${MPRUN_TEST_LIMIT:-90} mprun --fanout 2 --start-tree 1 "$@"
}
started_from() { grep -o 'host h[0-9]: started from host h[0-9]' <<<"$1" | sort | sed 's/.*host \(h.\):.*\(h.\)$/\2 \1/' | tr '\n' ,; }

@test "hosts that have their starters start those below them" {
    # a login may say more than is told of an errand; or just so much, which ends within mpstarter's first word
    echo 'head -c 200000 /dev/zero | tr "\0" x' | tee sge/does.h0 >sge/does.h7
    echo 'head -c 65530 /dev/zero | tr "\0" x' >sge/does.h8
    run -0 --separate-stderr tree -v sh -c 'echo $MPRUN_RANK'
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 8 9 " ]
    [ "$(started_from "$stderr")" = "h0 h2,h0 h3,h1 h4,h1 h5,h2 h6,h2 h7,h3 h8,h3 h9," ]
    no_leftovers
}

@test "mprun starts all: links that carry no keys, the start channel, no tree, few hosts" {
    printf 'h%d 1 q UNDEFINED\n' {0..9} >sge/hosts
    for options in "--link-security=mac --fanout 2 --start-tree 1" "--transport=stdio --fanout 2 --start-tree 1" \
        "--fanout 0 --start-tree 1" "--fanout 2 --start-tree 0" "--fanout 2"; do
        MPRUN_TEST_LIMIT=90 run -0 --separate-stderr mprun -v $options true
        [ -z "$(started_from "$stderr")" ]
    done
}

begun_of_192() {
    rm -f sge/begun
    run -125 mprun --fanout 2 "$@" true
    wc -l <sge/begun
}
@test "of many hosts mprun starts the first level, or as many at once as --start-concurrency says" {
    printf 'h%d 1 q UNDEFINED\n' {0..191} >sge/hosts
    # fails when as many clients are there as are to be
    echo 'echo >>"$SGE_ROOT/begun"; until [ "$(wc -l <"$SGE_ROOT/begun")" -ge "$AT_ONCE" ]; do sleep .1; done; exit 1' |
        tee sge/does.h{0..191} >sge/does
    [ "$(AT_ONCE=2 begun_of_192)" = 2 ]
    [ "$(AT_ONCE=20 begun_of_192 --start-concurrency 20)" -ge 20 ]
}

# bats test_tags=root
@test "what cannot reach mprun from its host is started by mprun itself, and uses the start channel" {
    needs_root
    mkdir -p sge && echo 'exec unshare --net "$4"' | tee sge/does.h9 >sge/does.h5
    run -0 --separate-stderr tree --pmi none -v sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [[ $(started_from "$stderr") == *"h3 h9,"* ]]
    [[ $stderr == *"mprun cannot be reached from h5"* || $stderr == *"mprun cannot be reached from h9"* ]]
    # one of those that mprun starts: the rest is not even tried from there
    rm sge/does.h? && echo 'exec unshare --net "$4"' >sge/does.h0
    run -0 --separate-stderr tree --pmi none -v sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [[ $(started_from "$stderr") != *"h0 h2"* ]]
}

@test "a client that fails on another host: its own words, and the host" {
    mkdir -p sge && echo 'echo "no way to $3" >&2; exit 1' >sge/does.h7
    run -125 --separate-stderr tree true
    echo "$stderr"
    [ "$(grep -c . <<<"$stderr")" = 1 ]
    [[ $stderr == "mprun: host h7: qrsh ended with code 1 before mpstarter reported back: no way to h7"* ]]
    no_leftovers 20
    local code=
    # behind more than is told, and more than is kept of that: on h7 by a host's starter, on h0 by mprun
    echo 'yes "a line that says nothing" | head -n 8000; echo "no way to $3" >&2; exit 1' | tee sge/noisy >sge/does.h7
    code=0 && tree true 2>err || code=$?
    [ "$code" = 125 ]
    tail -n 3 err
    grep '^mprun: host h7: qrsh ended with code 1 before mpstarter reported back: no way to h7; ' err
    mv sge/noisy sge/does.h0 && rm sge/does.h7
    code=0 && tree true 2>err || code=$?
    [ "$code" = 125 ]
    tail -n 3 err
    grep '^mprun: host h0: qrsh ended with code 1 before mpstarter reported back: no way to h0; ' err
    no_leftovers 20
}

@test "one that has no room is started by mprun itself, when there is some" {
    echo 'if ! [ -e "$SGE_ROOT/tried" ]; then touch "$SGE_ROOT/tried"; echo "$3 didn'"'"'t accept task" >&2; exit 1; fi' >sge/does.h6
    run -0 --separate-stderr tree sh -c 'echo $MPRUN_RANK'
    [ "$(wc -l <<<"$output")" = 10 ]
    [[ $stderr == *"host h6: gridengine has no room"*"this is tried again"* ]]
}

# bats test_tags=long
@test "a client that hangs on another host does not hold up the end" {
    needs_long
    mkdir -p sge && echo 'echo $$ >"$SGE_ROOT/hangs"; exec sleep 1000' >sge/does.h7
    local limit
    limit=$(patience 8)
    MPRUN_TEST_LIMIT=100 run -125 --separate-stderr tree --start-timeout "$limit" true
    [[ $stderr == *"mprun: host h7: its mpstarter has not reported back within $limit s"* ]]
    kill "$(cat sge/hangs)"
    no_leftovers
}
