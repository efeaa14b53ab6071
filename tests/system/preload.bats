#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# preload.bats - files that are brought to the hosts: over a tree of one machine's hosts, and to eight
# hosts with networks of their own
load '../lib/mprun'
load '../lib/hosts'

# other transports lead to no other hosts, or not along a tree
setup_file() { [ -n "${MPRUN_TRANSPORT:-}" ] || hosts_setup 8 --sshd; }
teardown_file() { hosts_teardown; }
setup() {
    mprun_setup
    export MPRUN_PRELOAD_CACHE=$MPRUN_TEST_TOP/cache
}
teardown() {
    mprun_teardown || return 1
    [ -z "${IN_HOSTS:-}" ] || { forget && hosts_clean; }
}

seven() { mprun --rm local:7 --fanout 2 --pmi none "$@"; }
kept() { ls "$MPRUN_PRELOAD_CACHE" | wc -l; }
# bytes that mprun itself sent, of what it said with --verbose
sent() { sed -n 's/.*preload: .* \([0-9]*\) bytes sent from here$/\1/p' <<<"$stderr"; }

# what_and_where: a program that prints its name, its file, and what its private library says
make_program() { # DIRECTORY
    mkdir -p "$1/lib"
    cat >"$1/answer.c" <<<'int answer(void) { return 42; }'
    cat >"$1/asks.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int answer(void);
int main(int argc, char **argv)
{
    char file[512];
    ssize_t n = readlink("/proc/self/exe", file, sizeof(file) - 1);
    file[n > 0 ? n : 0] = 0;
    return printf("%s %d %s\n", argv[0], answer(), file) < 0;
}
END
    ${CC:-cc} -shared -fPIC -o "$1/lib/libanswer.so" "$1/answer.c" &&
        ${CC:-cc} -o "$1/asks" "$1/asks.c" -L"$1/lib" -lanswer
}

# ---- one machine ---------------------------------------------------------------------------------

@test "the program is executed from the step's directory, under the name that was written" {
    cp "$(command -v readlink)" here
    run -0 --separate-stderr seven --preload-binary ./here /proc/self/exe
    [ "$(grep -c "^$TMPDIR/mprun-[a-z0-9]*\.[0-6]/x0/here$" <<<"$output")" -eq 7 ]
    run -0 --separate-stderr seven --preload-binary sh -c 'echo "$0"'
    [ "$(sort -u <<<"$output")" = sh ]
    # a relative name is of the ranks' directory
    mkdir sub && cp here sub/there
    run -0 --separate-stderr seven --wdir sub --preload-binary ./there /proc/self/exe
    [ "$(grep -c "/x0/there$" <<<"$output")" -eq 7 ]
    # nothing of the step is left, and the cache is private
    [ "$(ls -d mprun-* 2>/dev/null | wc -l)" -eq 0 ]
    [ "$(stat -c %a "$MPRUN_PRELOAD_CACHE")" = 700 ]
}

@test "two programs are not mixed up" {
    printf '#!/bin/sh\necho one\n' >one && printf '#!/bin/sh\necho two\n' >two && chmod 755 one two
    mkdir other && cp two other/one
    run -0 --separate-stderr mprun --rm local:2 --oversubscribe --pmi none --preload-binary -n 1 ./one : -n 1 other/one
    [ "$(sort <<<"$output" | xargs)" = "one two" ]
}

@test "a private library is found first, and the system's stay where they are" {
    make_program "$TMPDIR/p"
    LD_LIBRARY_PATH=$TMPDIR/p/lib run -0 --separate-stderr seven --preload-binary --preload-libs p/asks
    [ "$(grep -c "^p/asks 42 $TMPDIR/mprun-" <<<"$output")" -eq 7 ]
    LD_LIBRARY_PATH=$TMPDIR/p/lib run -0 --separate-stderr mprun -n 1 --preload-binary --preload-libs sh -c 'ls ${LD_LIBRARY_PATH%%:*}; echo "${LD_LIBRARY_PATH#*:}"'
    [ "$output" = "$TMPDIR/p/lib" ] || [ "$(tail -n 1 <<<"$output")" = "$TMPDIR/p/lib" ]
    LD_LIBRARY_PATH= run -125 --separate-stderr mprun -n 1 --preload-libs p/asks
    [[ $stderr == *"'"*"p/asks' needs the library 'libanswer.so', which is not found here"* ]]
    # a directory of /etc/ld.so.conf.d, which Red Hat's ld.so.conf names as one beside itself
    { [ -d /etc/ld.so.conf.d ] && unshare --mount mount --bind /etc /etc 2>/dev/null; } || return 0
    mkdir conf.d && cp /etc/ld.so.conf.d/*.conf conf.d && echo "$TMPDIR/p/lib" >conf.d/own.conf && echo 'include ld.so.conf.d/*.conf' >conf
    LD_LIBRARY_PATH= run -0 --separate-stderr unshare --mount sh -c 'mount --bind conf /etc/ld.so.conf &&
        mount --bind conf.d /etc/ld.so.conf.d && exec "$@"' sh "$MPRUN" -n 1 --preload-libs p/asks
    [[ $output == "p/asks 42 "* ]]
}

@test "libraries are found as the loader finds them: RUNPATH, RPATH, ORIGIN, one that another needs" {
    mkdir -p q/lib q/deep
    ${CC:-cc} -shared -fPIC -o q/deep/libdeep.so -x c - <<<'int deep(void) { return 5; }'
    ${CC:-cc} -shared -fPIC -o q/lib/libmid.so -x c - -Lq/deep -ldeep -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../deep' <<<'int deep(void); int mid(void) { return deep() + 1; }'
    for tags in --enable-new-dtags --disable-new-dtags; do
        ${CC:-cc} -o q/asks -x c - -Lq/lib -lmid -Wl,$tags,-rpath,'$ORIGIN/lib',-rpath-link,q/deep <<<'int mid(void); int main(void) { return mid() != 6; }'
        run -0 --separate-stderr seven --preload-clean --preload-binary --preload-libs q/asks
        [ "$(kept)" -eq 3 ]
    done
}

@test "files keep their relative paths, permissions and content; a rank may change its own" {
    mkdir -p in/deep && seq 1 100000 >in/deep/numbers && : >empty && echo tool >tool && chmod 4750 tool
    run -0 --separate-stderr seven --preload-files in/deep/numbers,./empty --preload-files "$PWD/tool" sh -c '
        cd $MPRUN_PRELOAD_DIR && cmp in/deep/numbers "$0" && [ ! -s empty ] && [ -f empty ] && echo changed >tool && stat -c %a tool' "$PWD/in/deep/numbers"
    [ "$(sort "-u" <<<"$output")" = 750 ]
    echo tool >same && chmod 600 same # the content of another one, with permissions of its own
    run -0 --separate-stderr mprun -n 1 --preload-files tool,same sh -c 'cd $MPRUN_PRELOAD_DIR && stat -c %a tool same'
    [ "$output" = $'750\n600' ]
    run -0 --separate-stderr seven --preload-files tool sh -c 'cat $MPRUN_PRELOAD_DIR/tool'
    [ "$(sort -u <<<"$output")" = tool ]
    run -0 --separate-stderr mprun -n 1 sh -c 'echo ${MPRUN_PRELOAD_DIR-none}'
    [ "$output" = none ]
}

@test "what a host has kept is not sent again; --preload-clean empties" {
    head -c 3000000 /dev/urandom >data
    links=2
    [ "${MPRUN_TRANSPORT:-}" != stdio ] || links=7
    run -0 --separate-stderr seven --verbose --preload-files data true
    [ "$(sent)" -eq $((links * 3000000)) ]
    run -0 --separate-stderr seven --verbose --preload-files data true
    [ "$(sent)" -eq 0 ]
    [ "$(kept)" -eq 1 ]
    # a half of it was lost in a crash, say
    chmod 600 "$MPRUN_PRELOAD_CACHE"/* && truncate -s 1000 "$MPRUN_PRELOAD_CACHE"/*
    run -0 --separate-stderr seven --preload-files data sh -c 'cmp $MPRUN_PRELOAD_DIR/data data'
    run -0 --separate-stderr mprun -n 1 --preload-clean true
    [ "$(kept)" -eq 0 ]
}

@test "no more is kept than --preload-limit says, and what is larger is of use nevertheless" {
    for i in 1 2 3; do
        head -c 100000 /dev/urandom >data$i
        run -0 --separate-stderr seven --preload-limit 250000 --preload-files data$i sh -c 'cmp $MPRUN_PRELOAD_DIR/data* data'$i
    done
    [ "$(kept)" -eq 2 ]
    run -0 --separate-stderr seven --preload-limit 50000 --preload-files data1 sh -c 'cmp $MPRUN_PRELOAD_DIR/data1 data1'
    [ "$(kept)" -eq 0 ]
}

@test "steps at the same time share what is kept" {
    head -c 5000000 /dev/urandom >data
    for i in 1 2 3; do
        mprun --rm local:3 --fanout 1 --pmi none --quiet --preload-files data sh -c 'cmp $MPRUN_PRELOAD_DIR/data data' 3>&- &
    done
    for job in $(jobs -p); do wait "$job"; done
    [ "$(kept)" -eq 1 ]
}

@test "mprun's own mistakes: missing, a directory, not readable, changed" {
    run -125 --separate-stderr seven --preload-files nothing true
    [[ $stderr == "mprun: open 'nothing' on mprun's host"*"No such file"* ]]
    run -127 --separate-stderr seven --preload-binary ./nothing
    [[ $stderr == *"'./nothing'"* ]]
    run -127 --separate-stderr seven --preload-binary nothing-in-the-path
    [[ $stderr == *"'nothing-in-the-path': not found in PATH"* ]]
    echo x >plain && run -126 --separate-stderr seven --preload-binary ./plain
    [[ $stderr == *"'./plain' in '$PWD': Permission denied"* ]]
    mkdir p && run -125 --separate-stderr seven --preload-files p true
    [[ $stderr == *"'p' on mprun's host is a directory"* ]]
    ln -s loop loop && run -125 --separate-stderr seven --preload-files loop true
    [[ $stderr == *"'loop' on mprun's host"* ]]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "a signal ends mprun while it reads what it is to bring" {
    truncate -s 400G big # it has no bytes, and takes minutes to read
    reading() { [[ $(readlink /proc/"$MPRUN_PID"/fd/*) == *"/big"* ]]; }
    # what runs in the background of a shell ignores SIGINT
    printf '#!/bin/sh\nexec env --default-signal=INT "%s" "$@"\n' "$MPRUN" >interruptible
    chmod 755 interruptible
    MPRUN=$PWD/interruptible
    for signal in TERM INT; do
        mprun_start --pmi none --preload-files big true
        wait_until 10 reading
        kill -s $signal "$MPRUN_PID"
        code=0
        MPRUN_TEST_LIMIT=5 mprun_wait || code=$?
        [ "$code" -eq $((128 + $(kill -l $signal))) ]
    done
}

@test "a file that is changed while hosts are started ends the step, and names it" {
    echo before >data
    cat >agent <<'END'
#!/bin/sh
echo after >>"$DATA"
shift
exec sh -c "$*"
END
    chmod 755 agent
    DATA=$PWD/data run -125 --separate-stderr mprun --agent "$PWD/agent" --host a --pmi none --preload-files data echo started
    [[ $stderr == *"'data' on mprun's host was changed while it was brought to the others"* ]]
    [ -z "$output" ]
    [ "$(ls -A "$MPRUN_PRELOAD_CACHE" | wc -l)" -eq 0 ]
}

@test "a cache that others may enter, or that cannot be made, is an error with the host's name" {
    echo x >data && mkdir -m 755 "$MPRUN_PRELOAD_CACHE"
    run -125 --separate-stderr seven --preload-files data true
    [[ $stderr == *"on "*"(MPRUN_PRELOAD_CACHE sets another place): "*"others must not enter it"* ]]
    rmdir "$MPRUN_PRELOAD_CACHE" && : >"$MPRUN_PRELOAD_CACHE"
    run -125 --separate-stderr seven --preload-files data true
    [[ $stderr == *"is not a directory"* ]]
}

half_there() { compgen -G "$MPRUN_PRELOAD_CACHE/new-*" >/dev/null; }
@test "mprun ends, or dies, while files are on their way: nothing half stays" {
    head -c 200000000 /dev/zero >data
    for signal in TERM KILL; do
        mprun_start --rm local:7 --fanout 2 --pmi none --preload-files data echo started
        wait_until 10 half_there
        kill -s $signal "$MPRUN_PID"
        code=0
        mprun_wait || code=$?
        [ "$code" -eq $((128 + $(kill -l $signal))) ]
        [ ! -s "$MPRUN_OUT" ]
        wait_until 10 nothing_half
    done
}
nothing_half() { ! half_there; }

# ---- eight hosts ---------------------------------------------------------------------------------

ALL=n0,n1,n2,n3,n4,n5,n6,n7
eight() { on n0 mprun --host $ALL --fanout 2 --pmi none "$@"; }
# /sys is the machine's
bytes_out() { on_root n0 awk '{ sub(":", " ") } /^ *eth/ { n += $10 } END { printf "%d", n }' /proc/net/dev; }
hosts_only() {
    [ -z "${MPRUN_TRANSPORT:-}" ] || skip "with the default transport only"
    needs_hosts
    unset MPRUN_PRELOAD_CACHE
    IN_HOSTS=yes
}
# no host is left with files of a test
forget() {
    local host
    for host in ${ALL//,/ }; do on "$host" sh -c 'rm -rf /tmp/mprun-cache.*'; done
}

# bats test_tags=root
@test "hosts that have neither program nor library nor data run it" {
    hosts_only
    make_program "$TMPDIR/p"
    echo data >"$TMPDIR/p/data"
    chmod -R a+rX "$TMPDIR/p"
    tar -C "$TMPDIR/p" -cf - . | on n0 sh -c 'mkdir /tmp/p && tar -C /tmp/p -xf -'
    for run in first second; do
        run -0 --separate-stderr on n0 env LD_LIBRARY_PATH=/tmp/p/lib "$MPRUN" --containment=tree --verbose --host $ALL --fanout 2 \
            --pmi none --preload-binary --preload-libs --preload-files /tmp/p/data /tmp/p/asks
        [ "$(grep -c '^/tmp/p/asks 42 /tmp/mprun-[a-z0-9]*\.[0-7]/x0/asks$' <<<"$output")" -eq 8 ]
        if [ $run = first ]; then [ "$(sent)" -gt 20000 ]; else [ "$(sent)" -eq 0 ]; fi
    done
    on n0 rm -r /tmp/p
}

# bats test_tags=root
@test "hosts that have neither program nor data run it as a rank that is spawned (MPI_Comm_spawn)" {
    hosts_only
    on n0 sh -c 'mkdir /tmp/p && cat >/tmp/p/parent' <<'END'
use IO::Handle;
open F, "+<&=", $ENV{PMI_FD} or die;
F->autoflush(1);
sub ask { print F "cmd=$_[0]\n"; my $answer = <F>; $answer }
ask("init pmi_version=1 pmi_subversion=1");
if ($ENV{PMI_SPAWNED}) {
    print "$0 on host $ENV{MPRUN_HOST_INDEX}: ", `cat $ENV{MPRUN_PRELOAD_DIR}/data`;
} else {
    print F "mcmd=spawn\nnprocs=1\nexecname=/tmp/p/child\nargcnt=0\ninfo_num=3\ninfo_key_0=preload_binary\ninfo_val_0=true\n",
        "info_key_1=preload_files\ninfo_val_1=/tmp/p/data\ninfo_key_2=host\ninfo_val_2=n$_\ntotspawns=1\nspawnssofar=1\nendcmd\n"
        and print scalar <F> for 5, 7, 5;
}
ask("finalize");
END
    on n0 sh -c '{ echo "#!/usr/bin/perl"; cat /tmp/p/parent; } >/tmp/p/child; chmod 755 /tmp/p/child; echo data >/tmp/p/data'
    run --separate-stderr on n0 "$MPRUN" --containment=tree -q --host $ALL --universe all --oversubscribe --fanout 2 --pmi pmi1 -n 1 perl /tmp/p/parent
    on n0 rm -r /tmp/p
    printf '%s\n' "$output" "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'rc=0' <<<"$output")" -eq 3 ]
    [ "$(grep -c '^/tmp/mprun-[a-z0-9]*\.5/w[13]/x0/child on host 5: data$' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^/tmp/mprun-[a-z0-9]*\.7/w2/x0/child on host 7: data$' <<<"$output")" -eq 1 ]
}

each_link_once() { # MIB
    hosts_only
    on n0 sh -c 'head -c '"$1"'M /dev/urandom >/tmp/big'
    before=$(bytes_out)
    HOSTS_TEST_LIMIT=120 run -0 --separate-stderr eight --preload-files /tmp/big sh -c 'sha256sum <$MPRUN_PRELOAD_DIR/big'
    [ "$(sort -u <<<"$output")" = "$(on n0 sha256sum /tmp/big | sed 's:/tmp/big:-:')" ]
    [ "$(wc -l <<<"$output")" -eq 8 ]
    after=$(bytes_out)
    echo "$((after - before)) bytes left n0"
    # from mprun to n1, and from the starter of n0 to n2 and n3
    [ $((after - before)) -ge $((3 * $1 * 1048576)) ]
    [ $((after - before)) -le $((3 * $1 * 1048576 * 11 / 10)) ]
    before=$after
    HOSTS_TEST_LIMIT=60 run -0 --separate-stderr eight --preload-files /tmp/big true
    [ $(($(bytes_out) - before)) -lt 2000000 ]
    on n0 rm /tmp/big
}
# bats test_tags=root
@test "10 MiB to eight hosts cross each link once, and once only" { each_link_once 10; }
# bats test_tags=long,root
@test "100 MiB to eight hosts cross each link once, and once only" { needs_long; each_link_once 100; }

# bats test_tags=root
@test "a host without room is named, once, and nothing stays" {
    hosts_only
    # which --preload-clean makes, too
    eight --quiet --preload-clean true
    on_root n5 sh -c 'mount -t tmpfs -o size=1m,mode=700,uid=$(stat -c %u /tmp/mprun-cache.*) small /tmp/mprun-cache.*' ||
        skip "no tmpfs can be mounted here"
    on n0 sh -c 'head -c 5000000 /dev/urandom >/tmp/big'
    run -125 --separate-stderr eight --quiet --preload-files /tmp/big echo started
    echo "$stderr"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [[ $stderr == "mprun: on n5: 'big' cannot be brought here: "*"No space left on device" ]]
    [ -z "$output" ]
    for i in 0 1 2 3 4 5 6 7; do
        wait_until 5 on n$i sh -c '[ -z "$(ls /tmp/mprun-cache.*)" ]'
    done
    # the same for ranks that a rank starts: an error of the spawn, where they are on that host
    on n0 sh -c 'cat >/tmp/parent' <<'END'
use IO::Handle;
open F, "+<&=", $ENV{PMI_FD} or die;
F->autoflush(1);
sub ask { print F "cmd=$_[0]\n"; my $answer = <F>; $answer }
ask("init pmi_version=1 pmi_subversion=1");
print F "mcmd=spawn\nnprocs=1\nexecname=true\nargcnt=0\ninfo_num=2\ninfo_key_0=preload_files\ninfo_val_0=/tmp/big\n",
    "info_key_1=host\ninfo_val_1=n5\ntotspawns=1\nspawnssofar=1\nendcmd\n";
print scalar <F>;
ask("finalize");
END
    run --separate-stderr on n0 "$MPRUN" --containment=tree -q --host $ALL --universe all --oversubscribe --fanout 2 --pmi pmi1 -n 1 perl /tmp/parent
    printf '%s\n' "$output" "$stderr"
    [ "$status" -eq 0 ]
    [[ $output == *rc=-1* ]]
    [[ $stderr == *"gets none: start rank 1.0 on n5: 'big' cannot be brought here: "*"No space left on device" ]]
    on_root n5 sh -c 'umount /tmp/mprun-cache.* && rm -rf /run/mount'
    on n0 rm /tmp/big /tmp/parent
}

# bats test_tags=root
@test "a host far away slows the whole, and nobody's memory grows for it" {
    needs_no_sanitizers 'memory is measured'
    hosts_only
    shape n2 delay 25
    on n0 sh -c 'head -c 25000000 /dev/urandom >/tmp/big'
    HOSTS_TEST_LIMIT=90 run -0 --separate-stderr on n0 mprun --quiet --host n0,n1,n2 --fanout 1 --pmi none \
        --preload-files /tmp/big --report-json - true
    shape n2 none
    grep -o '"rss_peak_bytes": *[0-9]*' <<<"$output" | grep -o '[0-9]*$' | sort -n | tail -n 1 >most
    echo "at most $(cat most) bytes"
    [ "$(cat most)" -lt 12000000 ]
    on n0 rm /tmp/big
}

# bats test_tags=root
@test "a host that cannot reach the one above gets its files from mprun itself" {
    needs_tool nft
    hosts_only
    on_root n1 nft "add table inet f; add chain inet f in { type filter hook input priority 0; };
        add rule inet f in ct state new tcp dport != 22 iifname != lo reject with tcp reset" || skip "this kernel filters no packets"
    on n0 sh -c 'head -c 1000000 /dev/urandom >/tmp/data'
    run -0 --separate-stderr eight --verbose --preload-files /tmp/data sh -c 'wc -c <$MPRUN_PRELOAD_DIR/data'
    on_root n1 nft flush ruleset
    [ "$(grep -c '^1000000$' <<<"$output")" -eq 8 ]
    [[ $stderr == *"host n4 stays linked to mprun itself"* ]]
    [ "$(sent)" -eq 4000000 ] # n0, n1, and n4 and n5, which would be below n1
    on n0 rm /tmp/data
}
