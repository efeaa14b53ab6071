#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ssh.bats - hosts that are named, reached by ssh: real ones in namespaces, with OpenSSH's server
load '../lib/mprun'
load '../lib/hosts'

setup_file() { hosts_setup 3 --sshd; }
teardown_file() { hosts_teardown; }
setup() {
    mprun_setup
    needs_hosts
}
teardown() {
    local failed=0
    [ -z "${HOSTS_DIR:-}" ] || hosts_clean || failed=1
    if [ -n "${OWN_LAB:-}" ]; then
        hosts_teardown
        HOSTS_DIR=$OWN_LAB
    fi
    mprun_teardown && return $failed
}

# own_lab ARGS...: other hosts, for this test
own_lab() {
    OWN_LAB=$HOSTS_DIR
    hosts_setup "$@"
}

# what mprun itself said, without what it says of each step by ssh
said() { grep -v '^mprun: hosts are started by' <<<"$stderr"; }

@test "ranks run on the hosts that --host names, each with its slots" {
    run -0 --separate-stderr on n0 mprun --host n0:2,n1:2,n2 --tag-output hostname
    [ "$(sort <<<"$output")" = "$(printf '[%d]<stdout>: n%d\n' 0 0 1 0 2 1 3 1 4 2)" ]
    [[ $stderr == *"hosts are started by 'ssh': no resource manager accounts for what runs there"* ]]
    [ -z "$(said)" ]
}

@test "--keep=job: the next steps of the session have their starters from the agents that ssh has started" {
    run -0 --separate-stderr on n0 bash -c 'for i in 1 2 3; do
        '"$MPRUN"' --containment=tree -v --keep=job --host n0,n1:2,n2 hostname 2>said.$i
        grep -c "the job.s agent there forks the starter" said.$i
    done; rm said.*'
    [ "$(sorted)" = "0 2 2 n0 n0 n0 n1 n1 n1 n1 n1 n1 n2 n2 n2 " ]
}

@test "the host of mprun itself is started without ssh, and alone on it nothing is loose" {
    run -0 --separate-stderr on n0 mprun --host n0:2 --explain hostname
    [[ $output == *"transport   "*"all hosts are this machine"* || $output == *"asked for with --transport"* ]]
    [[ $output == *"started by mprun itself"* ]]
    [[ $stderr != *"started by 'ssh'"* ]]
    run -0 --separate-stderr on n1 mprun --host localhost,n1,10.78.1.11 -n 3 hostname
    [ "$output" = $'n1\nn1\nn1' ]
}

@test "a host file does, and --host chooses among its hosts" {
    printf '%s\n' '# of the test' 'n0 slots=2' 'n1 slots=1 max_slots=1' '' 'n2 slots=3' >"$HOSTS_DIR/shared/hosts"
    run -0 --separate-stderr on n0 mprun --hostfile "$HOSTS_DIR/shared/hosts" hostname
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "n0 n0 n1 n2 n2 n2 " ]
    run -0 --separate-stderr on n0 mprun -f "$HOSTS_DIR/shared/hosts" --host n2:2,n1 hostname
    [ "$(sort <<<"$output" | tr '\n' ' ')" = "n1 n2 n2 " ]
    run -125 --separate-stderr on n0 mprun -f "$HOSTS_DIR/shared/hosts" --oversubscribe --host n1 -n 2 hostname
    [[ $stderr == *"max_slots"* ]]
}

@test "input goes to a rank of another host, output comes back, and so does the exit code" {
    head -c 3000000 /dev/urandom >input
    on n0 mprun --host n1,n2 --stdin 1 sh -c 'if [ $MPRUN_RANK = 1 ]; then cat; fi' <input >output 2>err
    cmp input output
    run -7 --separate-stderr on n0 mprun --host n1,n2 sh -c '[ $MPRUN_RANK = 0 ] || exit 7'
    [[ $stderr == *"rank 1"*"n2"* ]]
}

@test "an MPI program's messages go between the hosts" {
    needs_mpicc
    HOSTS_TEST_LIMIT=90 # ranks that poll, more of them than cores
    ring=$(mpi_program ring)
    cp "$ring" "$HOSTS_DIR/shared/ring"
    for options in '' '-n 6 --oversubscribe'; do
        run -0 --separate-stderr on n0 env OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=eth0 \
            OMPI_MCA_mpi_yield_when_idle=1 \
            "$MPRUN" --containment=tree $options --host n0,n1,n2 "$HOSTS_DIR/shared/ring" 100
        echo "$output"
        [ -n "$output" ]
    done
}

@test "ranks of two steps of a job meet across hosts, and send to each other" {
    needs_mpicc
    HOSTS_TEST_LIMIT=90
    cp "$(mpi_program meet)" "$HOSTS_DIR/shared/meet"
    # a job of LSF, whose blaunch is a stand-in
    mkdir -p "$HOSTS_DIR/shared/bin"
    printf '#!/bin/bash\nhost=$1\nshift\nexec ssh "$host" "${*@Q}"\n' >"$HOSTS_DIR/shared/bin/blaunch"
    chmod 755 "$HOSTS_DIR/shared/bin/blaunch"
    run -0 --separate-stderr on n0 env OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_pml=ob1 \
        OMPI_MCA_mpi_yield_when_idle=1 LSB_JOBID=7 LSB_MCPU_HOSTS="n0 2 n1 2 n2 2" \
        PATH="$HOSTS_DIR/shared/bin:$PATH" bash -c 'step() { "'"$MPRUN"'" --containment=tree -q "$@"; }
        step --host n0:2,n1:2 "'"$HOSTS_DIR"'/shared/meet" accept here >one & until grep -q open one || [ ! -d /proc/$! ]; do sleep 0.1; done
        step --host n1:2,n2:2 "'"$HOSTS_DIR"'/shared/meet" connect here; wait $!; echo "code $?"; cat one; rm one'
    printf '%s\n' "$output" "$stderr"
    [ "$(grep -c '^rank . of 4 met 4, all 8$' <<<"$output")" -eq 8 ]
    [ "$(grep -c '^rank .: parted$' <<<"$output")" -eq 8 ]
    [[ $output == *"code 0"* ]]
}

@test "login scripts that talk disturb nothing, and are shown with the host's name" {
    hosts sshd --noisy
    run -0 --separate-stderr on n0 mprun --host n1,n2 hostname
    hosts sshd --quiet
    [ "$(sort <<<"$output")" = $'n1\nn2' ]
    [[ $stderr == *"host n1"* && $stderr == *"host n2"* ]]
}

# fails HOST TEXT OPTION...: the step does not start; one sentence names HOST and has TEXT
fails() {
    local host=$1 text=$2
    shift 2
    run -125 --separate-stderr on n0 mprun "$@" hostname
    echo "$stderr"
    [ -z "$output" ]
    [ "$(said | wc -l)" = 1 ]
    [[ $(said) == "mprun: host $host: "*"$text"* ]]
}

@test "a name that nobody knows" {
    fails nowhere "; is the name right? 'getent hosts NAME' shows" --host n1,nowhere,n2
}

@test "a host that does not answer, and one that there is no way to" {
    fails 10.78.1.99 "No route to host" --host n1,10.78.1.99 --start-timeout 60
    fails 203.0.113.5 "Network is unreachable" --host n1,203.0.113.5
}

@test "a host whose key is not known" {
    on n0 sh -c 'mkdir -p .ssh && printf "%s\n" "Host stranger" "HostName n1" "HostKeyAlias stranger" >.ssh/config'
    fails stranger "Host key verification failed; make its key known" --host n2,stranger
    # another key than the one that is known: two of ssh's fourteen lines
    on n0 sh -c 'ssh-keygen -q -t ed25519 -N "" -f other && echo "stranger $(cut -d " " -f 1,2 other.pub)" >strange && printf "UserKnownHostsFile %s\n" "$PWD/strange" >>.ssh/config'
    fails stranger "has changed and you have requested strict checking.; Host key verification failed; if the host was installed anew, 'ssh-keygen -R HOST'" --host n2,stranger
    on n0 rm other other.pub strange
    on n0 rm .ssh/config
}

@test "a host where there is no mpstarter, or none that can be executed" {
    fails n1 "'/opt/none/libexec/mprun/mpstarter' does not exist there" --prefix /opt/none --host n1
    [[ $stderr == *"No such file or directory"*--prefix* ]]
    on_root n1 sh -c 'mkdir -p /tmp/p/libexec/mprun && echo >/tmp/p/libexec/mprun/mpstarter && chmod -R a+rX /tmp/p'
    fails n1 "'/tmp/p/libexec/mprun/mpstarter' cannot be executed there" --prefix /tmp/p --host n1
    on_root n1 rm -r /tmp/p
}

@test "a host with another version of mpstarter" {
    version=$("$MPRUN" --version | sed 's/.* //')
    other=$(tr 0-9 1-90 <<<"$version")
    for host in n1 n2; do
        on_root $host sh -c 'mkdir -p /tmp/p/libexec/mprun && cp "$@" /tmp/p/libexec/mprun && chmod -R a+rX /tmp/p' \
            sh "$MPRUN_BUILD/starter/mpstarter" "$MPRUN_BUILD/pmix-server/mppmi"
    done
    on_root n2 sed -i "s/${version//./\\.}/$other/g" /tmp/p/libexec/mprun/mpstarter
    fails n2 "its mpstarter is version $other, this mprun version $version" --prefix /tmp/p --host n1,n2
    for host in n1 n2; do on_root $host rm -r /tmp/p; done
}

@test "a directory, or a program, that is not there on a host" {
    on n0 mkdir /tmp/only-here
    on n0 cp /bin/true /tmp/only-here/program
    run -127 --separate-stderr on n0 mprun --host n0,n1 /tmp/only-here/program
    [[ $stderr == *"rank 1 on n1: execute '/tmp/only-here/program': No such file or directory; the directory '/tmp/only-here/' is not there either; this host has it: "*--preload-binary* ]]
    on n0 rm /tmp/only-here/program
    run -125 --separate-stderr on n0 mprun --wdir /tmp/only-here --host n0,n1 hostname
    on n0 rmdir /tmp/only-here
    [[ $stderr == *"rank 1 on n1: change to directory '/tmp/only-here': No such file or directory; every host needs it"* ]]
}

@test "the end of a host's ssh while ranks run ends the step and names the host" {
    on_start n0 mprun --host n1,n2 sh -c 'echo up; sleep 100'
    wait_until 20 eval '(($(grep -c up "$ON_OUT") == 2))'
    on_root n2 sh -c 'for p in /proc/[0-9]*; do case $(tr "\0" " " <$p/cmdline) in sshd:*labuser*) kill -KILL ${p#/proc/} ;; esac; done 2>/dev/null; :'
    code=0
    on_wait || code=$?
    [ $code = 125 ]
    cat "$ON_ERR"
    grep -q '^mprun: host n2: ' "$ON_ERR"
}

@test "mprun's sudden end leaves nothing there" {
    on_start n0 mprun --host n0,n1,n2 sh -c 'echo up; sleep 100'
    wait_until 20 eval '(($(grep -c up "$ON_OUT") >= 1))'
    on_root n0 sh -c 'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = mprun ] && kill -KILL ${p#/proc/}; done 2>/dev/null; :'
    code=0
    on_wait || code=$?
    [ $code = 137 ]
    hosts_clean
}

@test "--interface and --port-range say where mprun listens, and --transport=stdio that it does not" {
    needs_tool ss
    listeners='ss -Htln | grep -v ":22 " | sed "s/  */ /g" | cut -d" " -f4'
    run -0 --separate-stderr on n0 "$MPRUN" --containment=tree --pmi none --transport=tcp --interface 10.78.1.0/24 \
        --port-range 5000-5009 --host n0,n1 -N 1 sh -c "[ \$MPRUN_RANK = 1 ] || $listeners"
    echo "$output"
    [[ $output =~ ^10\.78\.1\.10:500[0-9]$ ]]
    run -0 --separate-stderr on n0 "$MPRUN" --containment=tree --pmi none --transport=stdio --host n0,n1 -N 1 \
        sh -c "[ \$MPRUN_RANK = 1 ] || $listeners"
    [ -z "$output" ]
    run -125 --separate-stderr on n0 "$MPRUN" --transport=tcp --interface eth7 --host n0,n1 true
    [[ $stderr == *"--interface: 'eth7' is no interface"*"eth0 10.78.1.10"* ]]
}

@test "hosts that have IPv6 alone" {
    own_lab 3 --ipv6-only --sshd
    run -0 --separate-stderr on n0 mprun --host n0,n1,n2 hostname
    [ "$(sort <<<"$output")" = $'n0\nn1\nn2' ]
    run -0 --separate-stderr on n0 mprun --host 'n0,[fd78:1::11]:2' hostname
    [ "$(sort <<<"$output")" = $'n0\nn1\nn1' ]
}

@test "of several networks one may be dead; and a host that is down is named" {
    own_lab 3 --second-net --sshd
    cut n1 2
    run -0 --separate-stderr on n0 mprun --host n0,n1,n2 hostname
    [ "$(sort <<<"$output")" = $'n0\nn1\nn2' ]
    mend n1 2
    kill_host n1
    fails n1 "connect to host n1 port 22: " --host n1,n2 --start-timeout 12
}
