#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# failures.bats - what cannot be started is said in one sentence, with host and rank, and nothing
# stays; parts that die are in tests/faults
load '../lib/mprun'

HOST=$(hostname)

# said TEXT...: in one line of stderr, each of them; and mprun said nothing else
said() {
    local text
    [ "$(grep -c '^mprun: ' <<<"$stderr")" -eq 1 ] || { echo "$stderr"; return 1; }
    for text; do
        grep '^mprun: ' <<<"$stderr" | grep -qF -- "$text" || { echo "no '$text' in: $stderr"; return 1; }
    done
}

@test "a program that is not there" {
    run -127 --separate-stderr mprun -q -n 2 ./is-not-there
    said "start rank 0 on $HOST: execute './is-not-there' in '$PWD': No such file or directory"
    run -127 --separate-stderr mprun -q -n 2 is-not-there
    said "start rank 0 on $HOST: execute 'is-not-there': not found in PATH"
    [[ $stderr != *"the one in"* ]]
    cp /bin/true is-not-there
    run -127 --separate-stderr mprun -q -n 2 is-not-there
    said "not found in PATH; the one in '$PWD' is './is-not-there'"
}

@test "a program that is there, when what should read it is not" {
    printf '#! /not/there -e\n' >script
    printf '#!/bin/sh\r\n' >windows
    sed 's:/lib\(64/ld-linux\|/ld-linux\):/nil\1:' /bin/true >other
    chmod +x script windows other
    run -126 --separate-stderr mprun -q -n 1 ./script
    said "execute './script': No such file or directory; it is there, but not the program '/not/there' of its first line"
    run -126 --separate-stderr mprun -q -n 1 ./windows
    said "'/bin/sh\\r' of its first line" "carriage return"
    run -126 --separate-stderr mprun -q -n 1 ./other
    said "but not the dynamic loader that it names"
}

@test "a file that cannot be executed, a directory, and one of no known format" {
    echo 'echo hello' >plain
    run -126 --separate-stderr mprun -q -n 2 ./plain
    said "start rank 0 on $HOST" "'./plain'" "Permission denied"
    mkdir directory
    run -126 --separate-stderr mprun -q -n 2 ./directory
    said "start rank 0 on $HOST" "'./directory'"
    printf 'data\0' >plain
    chmod +x plain
    run -126 --separate-stderr mprun -q -n 2 ./plain
    said "start rank 0 on $HOST" "'./plain'" "Exec format error; it is neither a program nor a script"
}

@test "the shell runs a script without a first line, as under mpiexec.hydra" {
    mkdir bin
    echo 'echo "$0" "$#" "$2"; exit 7' >bin/script
    chmod +x bin/script
    run -7 --separate-stderr mprun -n 1 bin/script 'a b' 'c  d'
    [ "$output" = "bin/script 2 c  d" ]
    PATH=$PWD/bin:$PATH run -7 --separate-stderr mprun -n 1 --wdir / script 1 2
    [ "$output" = "$PWD/bin/script 2 2" ]
    run -7 --separate-stderr mprun -n 1 --wrap bin/script true 2
    [ "$output" = "bin/script 2 2" ]
    run -0 --separate-stderr mprun -n 1 --dry-run bin/script
}

@test "what was meant is named: near programs in the directory and in PATH, modules, what the file is" {
    mkdir sub && cp /bin/true solver && cp /bin/true sub/solver_mpi && touch sub/solver_mpx
    run -127 --separate-stderr mprun -q -n 1 ./solvr
    said "execute './solvr' in '$PWD': No such file or directory; perhaps './solver' is meant"
    run -127 --separate-stderr mprun -q -n 1 "$PWD/sub/solver_mp1"
    said "execute '$PWD/sub/solver_mp1': No such file or directory; perhaps '$PWD/sub/solver_mpi' is meant"
    run -127 --separate-stderr mprun -q -n 1 ./sob/solver
    said "No such file or directory; the directory './sob/' is not there either"
    run -127 --separate-stderr mprun -q -n 1 solvr
    said "execute 'solvr': not found in PATH; perhaps './solver' is meant"
    MODULEPATH=/opt/modules run -127 --separate-stderr mprun -q -n 1 pyhton3
    said "not found in PATH; perhaps '" "python3' is meant; if a module has it, write 'module load' before mprun"
    run -127 --separate-stderr mprun -q -n 1 './solver 3'
    said "execute './solver 3' in '$PWD': No such file or directory; the program and its arguments are words of their own"
    run -127 --separate-stderr mprun -q -n 1 'solver | sort'
    said "not found in PATH; what only a shell understands is for a shell: mprun sh -c '...'"
    run -127 --separate-stderr mprun -q -n 1 '$HOME/solver'
    said "; quotes kept the shell from replacing what stands there"
    run -127 --separate-stderr mprun -q -n 1 export A=1
    said "execute 'export': not found in PATH; it is a command of the shell and no program"
    touch case.py
    run -127 --separate-stderr mprun -q -n 1 case.py
    said "execute 'case.py': not found in PATH; it is here, but not marked as a program"
    run -127 --separate-stderr mprun -q -n 1 ./zzzzzz
    [[ $stderr != *perhaps* ]]
    echo 'echo hello' >plain
    run -126 --separate-stderr mprun -q -n 1 ./plain
    said "Permission denied; it is not marked as a program (chmod +x), and is none without a first line such as '#!/bin/sh'"
    printf '#!/bin/sh\n' >script
    run -126 --separate-stderr mprun -q -n 1 ./script
    said "Permission denied; it is not marked as a program: chmod +x does that"
    run -126 --separate-stderr mprun -q -n 1 ./sub
    said "execute './sub' in '$PWD': Is a directory; name a program in it"
    run -127 --separate-stderr mprun -q -n 1 sub
    said "not found in PATH; it is a directory here: name a program in it"
    MODULEPATH= run -127 --separate-stderr mprun -q -n 1 zzzzzzzz
    said "not found in PATH; write its path, or add its directory to PATH; if a module has it, write 'module load' before mprun"
    own() { :; }
    export -f own
    run -127 --separate-stderr mprun -q -n 1 own
    said "not found in PATH; it is a function of bash, which only bash knows: mprun bash -c '...'"
    : >empty && printf '\xb7\0' >arm
    cp /bin/true foreign && dd if=arm of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
    chmod +x empty
    run -126 --separate-stderr mprun -q -n 1 ./empty
    said "Exec format error; the file is empty"
    if [ "$(uname -m)" = x86_64 ]; then
        run -126 --separate-stderr mprun -q -n 1 ./foreign
        said "Exec format error; it was made for AArch64 processors, and this host's is x86-64"
    fi
}

@test "an end that mostly means one thing says so" {
    cat >dies.c <<'END'
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
int main(int n, char **v)
{
    if (n == 1)
        __builtin_trap(); /* SIGILL on x86 and most others */
    int fd = open(v[1], O_RDONLY);
    char *p = mmap(0, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
    return p[65536]; /* behind the end of the file */
}
END
    ${CC:-cc} -O0 -w dies.c -o dies && echo text >short
    if [ "$(uname -m)" = x86_64 ]; then
        run -132 --separate-stderr mprun -q -n 1 ./dies
        said "was killed by signal 4 (Illegal instruction), as of a program that was compiled for another processor than this host has"
    fi
    run -135 --separate-stderr mprun -q -n 1 ./dies short
    said "was killed by signal 7 (Bus error), as when there is no space for a page of a mapped file: /dev/shm of this host has "
    echo 'int lacks(void) { return 0; }' >lacks.c && echo 'int lacks(void); int main(void) { return lacks(); }' >uses.c
    ${CC:-cc} -shared -fPIC lacks.c -o liblacks.so && ${CC:-cc} uses.c -L. -llacks -o uses && rm liblacks.so
    run -127 --separate-stderr mprun -q -n 1 ./uses
    [[ $stderr == *"liblacks.so"* ]]
    said "exited with code 127, as when a shared library is not found (ldd shows which; 'module load', LD_LIBRARY_PATH or --preload-libs)"
    run -137 --separate-stderr mprun -q -n 1 sh -c 'sh -c "kill -9 \$\$"; exit $?'
    said "exited with code 137, as of a shell whose command was killed by signal 9 (Killed)"
}

@test "words that stand in the wrong place: options behind the program, a launcher in a launcher, no program left" {
    run -1 --separate-stderr mprun -q sh -c 'exit 1' sh -np 4
    said "exited with code 1; '-np 4' behind the program went to it: mprun's own options stand before the program"
    run -1 --separate-stderr mprun -q -n 1 sh -c 'exit 1' sh -np 4
    said "exited with code 1"
    [[ $stderr != *behind* ]]
    printf '#!/bin/sh\n' >mpirun && chmod +x mpirun
    run -0 --separate-stderr mprun --oversubscribe -n 2 ./mpirun -n 2 ./a
    [[ $stderr == *"each of 2 ranks is a launcher, 'mpirun', that starts ranks of its own; leave it out if one step is meant"* ]]
    run -0 --separate-stderr mprun -n 1 ./mpirun -n 2 ./a
    [[ $stderr != *launcher* ]]
    run -125 --separate-stderr mprun -n 2 -x true
    [ "$stderr" = "mprun: no program is given: 'true' is the value of '-x'; write the program behind it" ]
}

@test "standard output that is closed is an error where something is written to it" {
    for words in "-n 1 echo text" --help --version "--dry-run true"; do
        # shellcheck disable=SC2086
        run -125 --separate-stderr timeout "$(patience 20)" sh -c '"$0" "$@" >&-' "$MPRUN" -q $words
        said "write to standard output: Bad file descriptor"
    done
    run -0 --separate-stderr timeout "$(patience 20)" sh -c '"$0" "$@" >&-' "$MPRUN" -q -n 1 true
    [ -z "$stderr" ]
}

@test "a directory that is gone, and one message beside what no cgroup holds" {
    mkdir gone
    run -125 --separate-stderr sh -c 'cd gone && rmdir ../gone && exec "$@"' sh timeout "$(patience 20)" "$MPRUN" -n 1 true
    said "the directory in which mprun was started has been removed"
    # without -q: why no cgroup holds ranks is no news beside ranks that cannot start
    run -127 --separate-stderr mprun -n 2 ./is-not-there
    said "execute './is-not-there'"
}

@test "an installation that lacks a part: what is missing, what for, and where it was looked for" {
    cp "$MPRUN_BUILD/launcher/mprun" alone
    run -125 ./alone --map-by ppr:1:package true
    [[ $output == *"load hwloc, to see the topology: find '../plan/topology.so': it is neither beside "*"; is the installation complete?"* ]]
    run -125 ./alone true
    [[ $output == *"find mpstarter: find '../starter/mpstarter': it is neither beside "*"; is the installation complete?"* ]]
}

@test "a directory that is not there" {
    run -125 --separate-stderr mprun -q -n 2 --wdir "$PWD/is-not-there" true
    said "start rank 0 on $HOST: change to directory '$PWD/is-not-there': No such file or directory"
}

@test "a program of one part of several that is not there: its rank is named" {
    run -127 --separate-stderr mprun -q -n 2 sleep 100 : -n 1 ./is-not-there
    said "start rank 2 on $HOST" "./is-not-there"
}

@test "on one of several hosts: that host is named, and the others end" {
    mkdir only
    run -127 --separate-stderr mprun -q --rm local:2 --oversubscribe -n 1 sleep 100 : -n 1 ./is-not-there
    said "start rank 1 on $HOST-1" "./is-not-there"
}

# The kernel's limit for arguments and environment depends on the stack's: 128 KiB at the least.
with_environment() {
    local bytes=$1 half
    shift
    half=$(printf '%*s' $((bytes / 2)) '' | tr ' ' x)
    (ulimit -S -s 512 && BIG1=$half BIG2=$half exec "$@" 3>&-)
}

@test "arguments and environment that are too large for a rank, but not for mprun" {
    local most=1000 size
    for size in 65536 32768 16384 8192 4096 2048 1024 512 256 128; do
        if with_environment $((most + size)) timeout "$(patience 20)" "$MPRUN" --version >/dev/null 2>&1; then
            most=$((most + size))
        fi
    done
    ((most > 50000))
    run --separate-stderr with_environment $((most - 128)) timeout -k 5 "$(patience 20)" "$MPRUN" -q --pmi none \
        ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 true
    [ "$status" -eq 126 ]
    said "start rank 0 on $HOST: execute" "Argument list too long" "ulimit -s"
}

# A user of whom nobody else has processes, since the limit counts all of a user's.
as_lonely_user() {
    local limit=$1
    shift
    (cd "$MPRUN_TEST_TOP/lonely" && ulimit -u "$limit" &&
        exec setpriv --reuid=61234 --regid=61234 --clear-groups env HOME="$PWD" TMPDIR="$PWD" \
            XDG_RUNTIME_DIR="$PWD" "$@" 3>&-)
}

# bats test_tags=root
@test "processes that the user's limit does not allow: whatever cannot be started is named" {
    needs_no_sanitizers "they start processes"
    needs_root
    mkdir -m 700 "$MPRUN_TEST_TOP/lonely" && chown 61234 "$MPRUN_TEST_TOP/lonely"
    as_lonely_user 100 "$MPRUN" --version || skip "an ordinary user cannot reach $MPRUN"
    local limit enough= ranks=0 MPRUN_TEST_LIMIT=20
    for limit in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
        run --separate-stderr as_lonely_user "$limit" "$MPRUN" -q --pmi none \
            ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 4 sleep 0.5
        echo "limit $limit: $status: $stderr"
        [ "$status" -ne 0 ] || { enough=yes; break; }
        [ "$status" -eq 125 ]
        [[ $stderr == *"Resource temporarily unavailable"* && $stderr == *"$HOST"* ]]
        if [[ $stderr == *"start rank"* ]]; then
            # a keeper's helper may count for a moment, so the number of the rank can lag by one
            said "start rank " " on $HOST" "ulimit -u"
            ranks=$((ranks + 1))
        fi
        no_leftovers
    done
    [ "$enough" = yes ]
    ((ranks >= 3))
}

# in_full WHERE OPTIONS COMMAND...: with a small tmpfs at WHERE that is full
in_full() {
    local where=$1 options=$2
    shift 2
    unshare --mount bash -c '
        mount -t tmpfs -o "$2" tmpfs "$1" || exit 99
        while touch "$1/x.$((i++))" 2>/dev/null && ((i < 20)); do :; done
        dd if=/dev/zero of="$1/x.0" bs=4k 2>/dev/null
        shift 2
        exec "$@"' in_full "$where" "$options" "$@" 3>&-
}
needs_mounts() {
    needs_root
    unshare --mount mount -t tmpfs tmpfs /mnt 2>/dev/null || skip "may not mount here"
}

# filled WHERE TMPDIR OPTIONS...: mprun with that TMPDIR, and no space in WHERE
filled() {
    TMPDIR=$2 run --separate-stderr in_full "$1" size=64k timeout -k 5 "$(patience 20)" "$MPRUN" -q \
        ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 "${@:3}"
}

@test "no space in TMPDIR, and in /dev/shm: said, with the host, when a PMI server needs some" {
    needs_mounts
    mkdir full
    filled "$PWD/full" "$PWD/full" echo hello
    [ "$status" -eq 0 ]
    [ "$output" = $'hello\nhello' ]
    begin_pmi_early
    filled /dev/shm /dev/shm true
    [ "$status" -eq 125 ]
    # the complaints of its library, which come before, do not stand beside that
    [ "$(wc -l <<<"$stderr")" -eq 2 ]
    [[ $stderr == *$'\n'"mprun: the PMI server on $HOST cannot serve: "*"no space left where '/dev/shm/"* ]]
    filled /dev/shm /dev/shm --pmi none echo hello
    [ "$status" -eq 0 ]
    [ "$output" = $'hello\nhello' ]
}

# in_tmpdir DIRECTORY OPTIONS...: mprun with that TMPDIR as an ordinary user, who has no other directory
in_tmpdir() {
    run --separate-stderr run_as_user env TMPDIR="$1" XDG_RUNTIME_DIR= timeout -k 5 "$(patience 20)" "$MPRUN" \
        ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --overlap -v "${@:2}"
}

# bats test_tags=root
@test "TMPDIR is not there, or not the user's to write: /tmp serves instead, and --verbose says so" {
    needs_root
    mkdir -m 755 roots && chmod 755 .
    local tmpdir host kept=/tmp/mprun-cache.$TEST_UID
    local -A why=([/nowhere]="No such file or directory" [$PWD/roots]="Permission denied")
    for tmpdir in "${!why[@]}"; do
        in_tmpdir "$tmpdir" --rm local:2 -n 2 sh -c 'touch "$TMPDIR/x"; echo "$TMPDIR $MPRUN_SUBMIT_TMPDIR"'
        [ "$status" = 0 ]
        [ "$(grep -c "^/tmp/mprun-[a-z0-9]*\.[01] $tmpdir$" <<<"$output")" = 2 ]
        for host in "$HOST-0" "$HOST-1"; do
            grep "on $host: make directory '$tmpdir/mprun-[^']*': ${why[$tmpdir]}; '/tmp' is used instead" <<<"$stderr"
        done
    done
    # what is kept of files, too
    in_tmpdir "$PWD/roots" --preload-binary -n 1 sh -c 'echo brought'
    [ -d "$kept" ]
    rm -rf "$kept"
    [ "$status" = 0 ]
    [ "$output" = brought ]
    grep "make directory '$PWD/roots/mprun-cache.$TEST_UID': Permission denied; '/tmp' is used instead" <<<"$stderr"
    # and where another user has taken that name, beside it
    mkdir -m 1777 everybodys && install -d -m 777 -o root "everybodys/mprun-cache.$TEST_UID"
    for _ in 1 2; do
        in_tmpdir "$PWD/everybodys" --preload-binary -n 1 sh -c 'echo brought'
        [ "$status/$output" = 0/brought ]
        [ -z "$(grep "mprun-cache.*instead" <<<"$stderr")" ]
    done
    [ "$(stat -c '%U %a' everybodys/mprun-cache."$TEST_UID".*)" = "$(id -nu "$TEST_UID") 700" ]
    [ -z "$(ls "everybodys/mprun-cache.$TEST_UID")" ]
}

@test "no file can be made in TMPDIR: /tmp serves instead" {
    needs_mounts
    mkdir full
    TMPDIR=$PWD/full run -0 --separate-stderr in_full "$PWD/full" size=64k,nr_inodes=3 \
        timeout -k 5 "$(patience 20)" "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 echo hello
    [ "$output" = $'hello\nhello' ]
}

@test "no space in /dev/shm: said, and what is shared is elsewhere" {
    needs_mounts
    needs_mpicc openmpi
    program=$(mpi_program ring)
    run -0 --separate-stderr in_full /dev/shm size=64k,nr_inodes=3 timeout -k 5 "$(patience 20)" "$MPRUN" \
        ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --oversubscribe -n 2 "$program" 20 # few rounds: they take turns
    [[ $stderr == *"no space left where '/dev/shm' is on $HOST; what is shared in memory is in"* ]]
    [[ $stderr != *"not enough space"* ]]
    [[ $output == *"2 ranks"*"ok"* ]]
}
