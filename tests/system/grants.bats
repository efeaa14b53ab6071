#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# grants.bats - what mprund signs of the job is waited for before hosts are started, and nothing else
# waits for it; and that its answer to a starter is heard. The job is one of Grid Engine by its
# variables; mprund is a script that has its socket, where /run is a directory of the test's own
load '../lib/mprun'

setup() {
    mprun_setup
    needs_root
    needs_tool unshare nsenter python3
    export SGE_ROOT=$TMPDIR/sge SGE_BINARY_PATH=$TMPDIR/sge PE_HOSTFILE=$TMPDIR/sge/hosts
    export JOB_ID=1 SGE_TASK_ID=undefined
    unset PE SGE_JOB_SPOOL_DIR
    mkdir sge
    printf 'h%d 1 q UNDEFINED\n' 0 1 >sge/hosts
    cat >sge/qrsh <<'END'
#!/bin/bash
given=none
while [[ $1 == -* ]]; do
    [ "$1" != -v ] || { given=$2 && shift; }
    shift
done
echo "$1 $given" >>"$SGE_ROOT/begun"
exec "$2"
END
    cat >daemon.py <<'END'
import os, pathlib, signal, socket, struct, sys, threading, time
def answer(result, host="", token="", text="", gpus=""):
    words = (b"", b"", b"", gpus.encode(), b"", text.encode(), host.encode(), token.encode())
    return struct.pack("=IHH4I5Q12I64s512s512s256s256s352s64s456s", 0x4d50474e, 6, result, *[0] * 21, *words)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("/run/mprun/mprund.sock")
s.listen()
lock = pathlib.Path("/run/mprun/mprund.sock.lock")
lock.touch()
print("ready", flush=True)
kept = []
def live(): # until who asks is to think that this one does not
    while mode == "slow" or mode == "stops" and not kept:
        lock.touch()
        time.sleep(0.2)
def hung_up(c, since): # how long it was waited for
    c.recv(1)
    with open("waited", "a") as waited:
        print(time.monotonic() - since, file=waited)
mode = sys.argv[1]
life = threading.Thread(target=live, daemon=True)
life.start()
while True:
    c, _ = s.accept()
    began = time.monotonic()
    question = c.recv(1000)
    if not question:
        continue
    op = struct.unpack_from("=H", question, 6)[0]
    if mode == "stops" and op == 1: # who asks is kept from hearing the answer in time
        kept.append(c)
        pid = struct.unpack("3i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        os.kill(pid, signal.SIGSTOP)
        try:
            while open("/proc/%d/stat" % pid).read().rpartition(") ")[2][0] != "T":
                pass
            c.send(answer(0, gpus="3"))
            life.join()
            os.utime(lock, (0, 0))
            time.sleep(1) # longer than one without a sign of life is waited for
        finally:
            os.kill(pid, signal.SIGCONT)
        continue
    if mode == "hangs":
        print("asked", flush=True)
        threading.Thread(target=hung_up, args=(c, began), daemon=True).start()
        continue
    if op != 5:
        c.send(answer(2, text="no place"))
        continue
    print("asked", flush=True)
    if mode == "signs":
        c.send(answer(1, "h1", "of-h1"))
        c.send(answer(0, "", "of-all"))
    if mode == "slow":
        kept.append(c)
    c = None
END
    chmod +x sge/qrsh
}
teardown() {
    [ -z "${MPRUND:-}" ] || { kill -KILL "$MPRUND" && wait "$MPRUND"; } 2>/dev/null || true
    mprun_teardown
}

# mprund signs|leaves|slow|hangs|stops: $MPRUN runs where it is. "slow" shows that it lives, and does not
# come to an answer
mprund() {
    unshare --mount --propagation private sh -c \
        'mount -t tmpfs none /run && mkdir /run/mprun && exec python3 daemon.py "$1"' sh "$1" >daemon.out 3>&- &
    MPRUND=$!
    wait_until 10 grep -q ready daemon.out
    printf '#!/bin/sh\nexec nsenter -m -t %s --wd="$PWD" -- "%s" "$@"\n' "$MPRUND" "$MPRUN" >there
    chmod +x there
    MPRUN=$TMPDIR/there
}
begun() { sort sge/begun; }

@test "each host has its own grant, or that of all" {
    mprund signs
    run -0 --separate-stderr mprun true
    [ "$(begun)" = $'h0 MPRUN_GRANT=of-all\nh1 MPRUN_GRANT=of-h1' ]
}

@test "where mprund gives none, hosts are started without, and it is said" {
    mprund leaves
    run -0 --separate-stderr mprun true
    [ "$(begun)" = $'h0 none\nh1 none' ]
    [[ $stderr == *"other hosts get no grant"*"mprund hung up without an answer"* ]]
}

@test "one that lives and does not answer is not waited for when the step ends, nor without end" {
    mprund slow
    mprun_start true
    wait_until 10 grep -q asked daemon.out
    kill -TERM "$MPRUN_PID"
    local code=0
    mprun_wait || code=$?
    [ $code = 143 ]
    [ ! -e sge/begun ]
    run -0 --separate-stderr mprun true
    [ "$(begun)" = $'h0 none\nh1 none' ]
    [[ $stderr == *"other hosts get no grant"*"has not answered within 6 s"* ]]
}

@test "one that gives no sign of life costs a step 2 s, and the next ones less; each step says it once" {
    mprund hangs
    run -0 --separate-stderr mprun true
    [ "$(begun)" = $'h0 none\nh1 none' ]
    [ "$(grep -c 'mprund does not answer' <<<"$stderr")" -eq 1 ]
    [[ $stderr == *"mprun: on $(hostname): mprund does not answer (no sign of life for "*"): root can restart it"* ]]
    for i in 1 2 3; do mprun true 2>>said; done
    # how long a busy machine takes for four steps is not counted, nor are waits of several processes at a time
    sort -n waited
    (($(awk '{ sum += $1 } END { print int(sum) }' waited) <= $(patience 6)))
    [ "$(grep -c 'mprund does not answer' said)" -eq 3 ]
}

@test "an answer that came while the starter was kept from running is heard" {
    echo 'h0 1 q UNDEFINED' >sge/hosts
    mprund stops
    run -0 --separate-stderr mprun sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
    [ "$output" = 3 ]
}
