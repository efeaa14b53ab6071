#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# hosts.bats - that the hosts of tests/lab/hosts are what tests with several hosts take them for
# bats file_tags=long
load '../lib/mprun'
load '../lib/hosts'

setup_file() {
    hosts_machine >"$BATS_FILE_TMPDIR/machine"
    hosts_setup 3 --second-net --sshd
}
teardown_file() { hosts_teardown; }

# No mprun is run here; what the hosts leave is looked for where it can be.
setup() {
    needs_hosts
    export TMPDIR=$BATS_TEST_TMPDIR
    cd "$TMPDIR"
}
teardown() { [ -z "${OWN_LAB:-}" ] || hosts down; }

# own_lab [OPTIONS]: for a test that destroys
own_lab() {
    OWN_LAB=yes
    hosts_setup "$@"
}

# connect ADDRESS [PORT]: in a host
connect() { echo "exec 5<>/dev/tcp/$1/${2:-22} && read -r -t 10 line <&5 && echo \"\$line\""; }

@test "a host knows its name, and every host's name" {
    for host in n0 n1 n2; do
        [ "$(on $host hostname)" = $host ]
        for other in n0 n1 n2; do
            run on $host getent ahosts $other
            [[ $output == *"10.78.1.1${other#n} "* && $output == *"fd78:1::1${other#n} "* ]]
        done
    done
    run -2 on n0 getent hosts n3
}

@test "hosts reach each other both ways, by both protocols, over both networks" {
    for way in "n0 n2" "n2 n0"; do
        read -r from to <<<"$way"
        for address in "$to" "10.78.1.1${to#n}" "fd78:1::1${to#n}" "10.78.2.1${to#n}" "fd78:2::1${to#n}"; do
            run on "$from" bash -c "$(connect "$address")"
            [[ $output == SSH-2.0-* ]]
        done
    done
}

@test "a host has /tmp, /dev/shm and /run of its own; other files are shared" {
    for dir in /tmp /dev/shm /run; do
        on_root n0 touch "$dir/lab-probe-$$"
        on_root n0 test -e "$dir/lab-probe-$$"
        run -1 on_root n1 test -e "$dir/lab-probe-$$"
        [ ! -e "$dir/lab-probe-$$" ]
        on_root n0 rm "$dir/lab-probe-$$"
    done
    on n0 touch "$HOSTS_DIR/shared/probe"
    on n1 test -O "$HOSTS_DIR/shared/probe"
    on n1 rm "$HOSTS_DIR/shared/probe"
    on n0 touch in-home
    on n1 rm in-home
    on n1 test -x "$MPRUN"
    hosts_clean
}

@test "a host has processes of its own, and its process 1 reaps" {
    run on n1 cat /proc/1/comm
    [ "$output" = sleep ]
    [ "$(on n0 pgrep -c sshd)" -eq 1 ]
    # an orphan that ends
    on n0 bash -c '(sleep 0.01 &); exec true'
    wait_until 5 hosts_empty n0
    [ -z "$(on n0 ps -e -o stat= | grep Z)" ]
}

@test "a host has a cgroup of its own" {
    [ -s "$HOSTS_DIR/cgroups" ] || skip "no cgroup can be made here"
    [ "$(on n0 cat /proc/self/cgroup | grep -c '/n0$')" -eq "$(wc -l <"$HOSTS_DIR/cgroups")" ]
}

@test "what is left in a host is seen" {
    hosts_clean
    on n1 touch /tmp/left
    on n1 setsid -f sleep 1000 >/dev/null 2>&1
    run -1 hosts left
    [[ $output == *"n1: labuser "*"sleep 1000"* && $output == *"n1: /tmp/left"* ]]
    on n1 bash -c 'rm /tmp/left; pkill sleep'
    hosts_clean
}

@test "run: exit code, signals, stdin, stdout, stderr and user are as they are" {
    run -7 on n0 sh -c 'exit 7'
    run -137 on n0 sh -c 'kill -KILL $$'
    run --separate-stderr on_root n0 sh -c 'cat; echo error >&2' <<<input
    [ "$output" = input ]
    [ "$stderr" = error ]
    [ "$(on n0 id -un)" = labuser ]
    [ "$(on_root n0 id -un)" = root ]
    run -125 --separate-stderr on n9 true
    [[ $stderr == *"there is no host 'n9'; there are n0 n1 n2"* ]]
}

@test "run: a terminal passes through" {
    needs_tool script
    run script -qec "$MPRUN_SOURCE/tests/lab/hosts run $HOSTS_DIR n0 -- sh -c 'test -t 0 && tty'" /dev/null
    [ "$status" -eq 0 ]
    [[ $output == /dev/pts/* ]]
}

@test "run: who is killed leaves no command in the host" {
    on_start n0 sh -c 'echo started; exec sleep 1000'
    wait_until 10 grep -q started "$ON_OUT"
    kill -KILL "$ON_PID"
    hosts_clean
}

@test "on_signal: the command gets it, and its exit code comes back" {
    on_start n0 bash -c 'trap "exit 9" USR1; echo started; while :; do read -r -t 1000 <> <(:); done'
    wait_until 10 grep -q started "$ON_OUT"
    on_signal USR1
    code=0
    on_wait || code=$? # not by run: it is a child of this shell
    [ "$code" -eq 9 ]
    hosts_clean
}

@test "cut: a transfer stalls without an end; mend: it goes on" {
    on_start n0 ssh n1 'while echo x; do sleep 0.02; done'
    wait_until 10 test -s "$ON_OUT"
    cut n1
    # what was sent before may still be on its way to the file
    settled() { local a; a=$(wc -c <"$ON_OUT"); sleep 0.3; [ "$(wc -c <"$ON_OUT")" -eq "$a" ]; }
    wait_until 5 settled
    size=$(wc -c <"$ON_OUT")
    kill -0 "$ON_PID"
    mend n1
    grown() { [ "$(wc -c <"$ON_OUT")" -gt "$size" ]; }
    wait_until 10 grown
    kill "$ON_PID"
    hosts_clean
}

@test "cut: of one network the other one stays" {
    cut n1 1
    run on n0 timeout 0.5 bash -c "$(connect 10.78.1.11)"
    [ "$status" -eq 124 ]
    on n0 bash -c "$(connect 10.78.2.11)"
    mend n1
    on n0 bash -c "$(connect 10.78.1.11)"
}

@test "shape: there is a delay, and then none" {
    needs_tool python3
    connect_time() {
        on n0 python3 -c 'import socket, time
start = time.monotonic()
socket.create_connection(("10.78.2.11", 22))
print(int((time.monotonic() - start) * 1000))'
    }
    shape n1 delay 100ms loss 0%
    [ "$(connect_time)" -ge 200 ]
    shape n1 none
    at_once() { [ "$(connect_time)" -lt 200 ]; } # unless this machine is busy just then
    wait_until 10 at_once
    run -125 shape n1 delay fast
}

@test "sshd: labuser and root get in without a question, by the name and by the address" {
    for user in on on_root; do
        [ "$($user n0 ssh -o BatchMode=yes -F "$HOSTS_DIR/ssh_config" n1 hostname </dev/null)" = n1 ]
        [ "$($user n1 ssh -o BatchMode=yes 10.78.2.10 'hostname; id -u' </dev/null)" = \
            $'n0\n'"$($user n0 id -u)" ]
    done
    hosts_clean
}

@test "sshd: who is not known is not trusted" {
    run -255 on n0 ssh -o BatchMode=yes -o GlobalKnownHostsFile=/dev/null n1 hostname
    [[ $output == *"Host key verification failed"* ]]
}

@test "sshd: login scripts write, when they are to" {
    hosts sshd --noisy
    run --separate-stderr on n0 ssh -o BatchMode=yes n1 hostname
    hosts sshd --quiet
    [[ $output == *noise*$'\nn1' && $stderr == *noise* ]]
    [ "$(on n0 ssh -o BatchMode=yes n1 hostname)" = n1 ]
}

@test "kill: the host is gone without a word, the others stay" {
    own_lab 2 --sshd
    on_start n0 ssh n1 'echo started; sleep 1000'
    wait_until 10 grep -q started "$ON_OUT"
    init=$(awk '{ print $1 }' "$HOSTS_DIR/hosts/n1/init")
    space=$(readlink "/proc/$init/ns/pid")
    hold_space "/proc/$init/ns/pid"
    kill_host n1
    # whole: nobody is in its process namespace
    run grep -Fx "$space" <(readlink /proc/[0-9]*/ns/pid 2>/dev/null)
    [ "$status" -eq 1 ]
    run hosts list
    [[ ${lines[0]} == "n0 up "* && ${lines[1]} == "n1 killed "* ]]
    # a FIN or RST would end it
    sleep 0.3
    kill -0 "$ON_PID"
    kill "$ON_PID"
    run -125 on n1 true
    hosts_clean
}

@test "names by a pattern, with Debian's 127.0.1.1" {
    own_lab 2 --names node%02d.lab.example --debian-names
    [ "$(on node01.lab.example hostname)" = node01.lab.example ]
    [[ $(on node00.lab.example getent hosts node00) == "127.0.1.1 "*"node00.lab.example node00" ]]
    run on node00.lab.example getent ahosts node01
    [[ $output == *"10.78.1.11 "* && $output == *"fd78:1::11 "* ]]
}

@test "what renames files over this machine's /etc/passwd and the like changes nothing in the hosts" {
    # a copy in place of this machine's, which is others', too
    cp -a /etc etc
    export HOSTS_DIR=$TMPDIR/lab OWN_LAB=yes
    unshare --mount sh -c 'mount --bind etc /etc && exec "$@"' sh "$MPRUN_SOURCE/tests/lab/hosts" up "$HOSTS_DIR" 3>&-
    files=$(printf '/etc/%s ' passwd group shadow nsswitch.conf hosts hostname)
    on_root n1 cat $files >before
    for file in $files; do
        echo "this machine's" >new
        mv new ".$file"
    done
    on_root n1 cat $files | diff before -
    [ "$(on n1 id -un)" = labuser ]
}

@test "IPv6 alone" {
    own_lab 2 --ipv6-only
    run -2 on n0 getent ahostsv4 n1
    [ "$(on n0 ip -4 -o addr show | wc -l)" -eq 1 ] # of lo
    run on n0 bash -c "$(connect n1)"
    [[ $output == *"Connection refused"* ]]
}

@test "up: says what is wrong, and leaves nothing" {
    export HOSTS_DIR=$TMPDIR/lab
    run -125 hosts up --count 9
    [[ $output == "hosts: --count '9': 2 to 8" ]]
    [ ! -e "$HOSTS_DIR" ]
    run -125 hosts up --expose /not/there
    [ ! -e "$HOSTS_DIR" ]
    mkdir "$HOSTS_DIR" && touch "$HOSTS_DIR/mine"
    run -125 hosts up
    run -125 hosts down
    [ -e "$HOSTS_DIR/mine" ]
}

@test "down: the machine is as before, and down may be said again" {
    own_lab 2 --sshd --second-net
    on n0 setsid -f sleep 1000 >/dev/null 2>&1
    read -r switch _ <"$HOSTS_DIR/switch"
    files=$(printf '%s\n' "/proc/$switch"/ns/{net,mnt,pid})
    for host in n0 n1; do
        read -r init _ <"$HOSTS_DIR/hosts/$host/init"
        files+=$(printf '\n%s' "/proc/$init"/ns/{net,mnt,pid,uts,ipc})
    done
    spaces=$(readlink $files)
    for file in $files; do hold_space "$file"; done
    # all of them are none of the machine's
    [ "$(wc -l <<<"$spaces")" -eq 13 ]
    run grep -Fx "$spaces" <(readlink /proc/self/ns/*)
    [ "$status" -eq 1 ]
    cp "$HOSTS_DIR/cgroups" cgroups || : >cgroups
    hosts down
    [ ! -e "$HOSTS_DIR" ]
    run grep -Fx "$spaces" <(readlink /proc/[0-9]*/ns/* 2>/dev/null)
    [ "$status" -eq 1 ]
    while read -r cgroup; do [ ! -e "$cgroup" ]; done <cgroups
    hosts_machine | diff "$BATS_FILE_TMPDIR/machine" -
    hosts down
}
