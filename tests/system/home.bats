#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The directory of a step's sockets: it goes with mprun, and what an mprun left behind that was
# killed before a starter knew of it goes with the next one.
load '../lib/mprun'

homes() { find "$XDG_RUNTIME_DIR" -mindepth 1 -maxdepth 1 -name 'mprun-*' "$@"; }
# as if it had been there for a while
aged() { touch -c -d '1 minute ago' "$@"; }
needs_local_files() {
    case $(stat -f -c %T "$XDG_RUNTIME_DIR") in
    tmpfs | ext* | xfs | btrfs | overlayfs) ;;
    *) skip "nothing is swept on $(stat -f -c %T "$XDG_RUNTIME_DIR")" ;;
    esac
}

@test "what an mprun left that was killed at its start goes with a later one" {
    needs_local_files
    needs_tool strace
    needs_no_sanitizers "traced"
    # killed at its lock: the directory is made, and no starter is
    run time_limited 20 strace -qq -o trace -e trace=flock -e inject=flock:signal=SIGKILL:when=1 "$MPRUN" -n 1 touch started
    [ "$status" -eq 137 ]
    [ ! -e started ]
    left=$(homes)
    [ -d "$left" ]
    # it could be one that is just being made
    run -0 mprun -q -n 1 true
    [ "$(homes)" = "$left" ]
    touch "$left/control"
    aged "$left"
    run -0 --separate-stderr mprun -n 1 true
    [ -z "$(homes)" ]
    [[ $stderr != *"$left"* ]]
}

@test "the directory of a step that runs stays, however old it is" {
    mprun_start -n 1 sh -c 'echo "runs $TMPDIR"; exec sleep 1000'
    wait_until 20 grep -q runs "$MPRUN_OUT"
    live=$(homes)
    [ -d "$live" ]
    aged "$live"
    run -0 mprun -q -n 1 true
    [ "$(homes)" = "$live" ]
    [ -S "$live/control" ]
    kill -TERM "$MPRUN_PID"
    mprun_wait || true
    [ -z "$(homes)" ]
}

@test "nothing else is touched: other names, modes, kinds" {
    mkdir elsewhere && touch elsewhere/file
    cd "$XDG_RUNTIME_DIR"
    mkdir -m 700 mprun-abcdefghijk mprun-abcdefghijklm mprun-abcdefghijk1 mprun-ABCDEFGHIJKL mprun-abcdefghijkl.0 xmprun-abcdefghijkl
    mkdir -m 750 mprun-bbcdefghijkl
    touch mprun-cbcdefghijkl
    ln -s "$TMPDIR/elsewhere" mprun-dbcdefghijkl
    aged ./*mprun-* "$TMPDIR/elsewhere"
    before=$(find . "$TMPDIR/elsewhere" | sort)
    run -0 mprun -q -n 1 true
    [ "$(find . "$TMPDIR/elsewhere" | sort)" = "$before" ]
    # and this one is
    mkdir -m 700 mprun-ebcdefghijkl && aged mprun-ebcdefghijkl
    run -0 mprun -q -n 1 true
    [ "$(find . "$TMPDIR/elsewhere" | sort)" = "$before" ]
    rm -rf ./*mprun-*
}

@test "another user's is not touched" {
    needs_root
    mkdir -m 700 "$XDG_RUNTIME_DIR/mprun-abcdefghijkl"
    chown $TEST_UID "$XDG_RUNTIME_DIR/mprun-abcdefghijkl"
    aged "$XDG_RUNTIME_DIR/mprun-abcdefghijkl"
    run -0 mprun -q -n 1 true
    [ -d "$XDG_RUNTIME_DIR/mprun-abcdefghijkl" ]
    rmdir "$XDG_RUNTIME_DIR/mprun-abcdefghijkl"
}

@test "in a directory of thousands of files only the first part is read" {
    needs_tool strace
    needs_no_sanitizers "traced"
    (cd "$XDG_RUNTIME_DIR" && printf 'some-longer-file-name-%05d\n' {1..5000} | xargs touch)
    run -0 time_limited 20 strace -qq -o trace -e trace=getdents64 "$MPRUN" -q -n 1 true
    # one call; each directory that is removed needs two more
    [ "$(awk '/getdents64/ && $NF > 30000' trace | wc -l)" -eq 1 ]
    rm -rf "$XDG_RUNTIME_DIR"/some-*
}

# the directories of a host, whose rank has written "runs TMPDIR" to mprun's output; its name there
host_name() { sed -nE 's|^runs .*/mprun-([^/]*)[.][0-9]+$|\1|p' "$MPRUN_OUT"; }
parts() { find /dev/shm "$TMPDIR" -mindepth 1 -maxdepth 1 -name "mprun-$1.*"; }
below() { ps -o pid= --ppid "$1" | while read -r pid; do echo "$pid" && below "$pid"; done; }

@test "what a starter left that was killed with its mprun goes with a later step; what another one has stays" {
    local victims live lost home
    needs_local_files
    [ "$(stat -f -c %T /dev/shm)" = tmpfs ] || skip "/dev/shm is no tmpfs"
    mprun_start --containment=tree -n 1 sh -c 'echo "runs $TMPDIR"; exec sleep 1000'
    wait_until 20 grep -q runs "$MPRUN_OUT"
    home=$(homes)
    lost=$(host_name)
    # mprun last: who loses a stopped parent is continued
    victims="$(below "$MPRUN_PID" | tac) $MPRUN_PID"
    kill -STOP $victims
    kill -KILL $victims
    mprun_wait || true
    [ "$(parts "$lost" | wc -l)" = 2 ]
    mprun_start -n 1 sh -c 'echo "runs $TMPDIR"; exec sleep 1000'
    wait_until 20 grep -q runs "$MPRUN_OUT"
    live=$(host_name)
    [ "$(parts "$live" | wc -l)" = 2 ]
    # they could be some that are just being made
    run -0 mprun -q -n 1 true
    [ "$(parts "$lost" | wc -l)" = 2 ]
    aged $(parts "$lost") $(parts "$live") "$home"
    run -0 --separate-stderr mprun -n 1 true
    [ -z "$(parts "$lost")" ]
    [ "$(parts "$live" | wc -l)" = 2 ]
    kill -TERM "$MPRUN_PID"
    mprun_wait || true
    [ -z "$(parts "$live")" ]
}
