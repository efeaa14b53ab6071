# SPDX-License-Identifier: BSD-3-Clause
# mprun.bash - what every system test uses: load '../lib/mprun'
#
#   mprun ARGS...            the built launcher under a time limit ($MPRUN_TEST_LIMIT, 20 s; then 199),
#                            with --transport=$MPRUN_TRANSPORT when that is set, and with
#                            --containment=tree for a user who may make no cgroup, or mprun would say so
#                            in each run; and with --overlap, because other tests run at the same time
#   without_notes TEXT       TEXT without the lines in which mprun says that there are no cgroups for the
#                            user (where the launcher is not run by the helpers), or too few slots
#   first_word               what mpstarter says on its standard output before it reads what there is to do
#   mprun_start ARGS...      the same in the background: $MPRUN_PID; output in $MPRUN_OUT and $MPRUN_ERR
#   mprun_wait               wait for it: its exit code, under the same time limit
#   mpi_program NAME [MPI]   path of NAME.c in examples/, tests/programs/ or tests/system/mpi/, compiled once with
#                            mpicc.MPI (openmpi; mpich; "none" for a plain C program)
#   run_as_user CMD...       as an ordinary user with a HOME, TMPDIR and runtime directory of its own;
#                            CMD may be mprun
#   sorted                   the lines of $output, in order, on one line
#   wait_until SECONDS CMD   until CMD succeeds; 1 when it never did
#   time_limited SECONDS CMD CMD under a time limit, then 199
#   patience SECONDS         prints as many as a slow or busy machine needs for that. All time limits here are
#                            multiplied likewise (slow.bash); what a test says of time itself has to be, too
#   began, ended_within SECONDS
#                            true when it was not longer ago that `began` was called
#   needs_...                skip the test, saying why: needs_root, needs_tool T..., needs_mpicc [MPI],
#                            needs_cores N, needs_v2 (writable cgroup2), needs_not_transport T, needs_long: has the tag
#                            "long", for what takes long and shows little more than another test
#   no_leftovers             fails when the test left something on the machine (tests/lib/snapshot).
#                            The default teardown calls it; a teardown of one's own must do so too
#
# Every test has a $TMPDIR of its own, which is its working directory, and a runtime directory, and
# all of its processes carry MPRUN_TEST_MARK in their environment. A file that defines setup() or
# teardown() calls mprun_setup and mprun_teardown in it.
bats_require_minimum_version 1.5.0

MPRUN_SOURCE=${MPRUN_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
MPRUN_BUILD=${MPRUN_BUILD:-$MPRUN_SOURCE/build}
MPRUN=${MPRUN:-$MPRUN_BUILD/launcher/mprun}
SNAPSHOT=$MPRUN_SOURCE/tests/lib/snapshot
. "$MPRUN_SOURCE/tests/lib/slow.bash"
look_how_slow
# the ordinary user of run_as_user
TEST_UID=65534

setup() { mprun_setup; }
teardown() { mprun_teardown; }

mprun_setup() {
    [ -x "$MPRUN" ] || { echo "no launcher at '$MPRUN': build first, or set MPRUN_BUILD" >&2; return 1; }
    # short: the names of sockets below it have little room
    MPRUN_TEST_TOP=$(mktemp -d "${MPRUN_TEST_BASE:-/tmp}/mpt.XXXXXX") || return 1
    chmod 711 "$MPRUN_TEST_TOP"
    export TMPDIR=$MPRUN_TEST_TOP/tmp XDG_RUNTIME_DIR=$MPRUN_TEST_TOP/run
    export MPRUN_TEST_MARK=$BATS_TEST_NUMBER.$$.${MPRUN_TEST_TOP##*.}
    mkdir -m 700 "$TMPDIR" "$XDG_RUNTIME_DIR"
    # looking for fast networks that are not there costs MPI_Init of Open MPI 200 ms; and root may
    export OMPI_MCA_pml=${OMPI_MCA_pml-ob1}
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    unset OMP_NUM_THREADS # ranks are bound to so many cores
    cd "$TMPDIR" || return 1
    snapshot take >"$MPRUN_TEST_TOP/before"
}

mprun_teardown() {
    local failed=0
    if [ -d "${MPRUN_TEST_TOP:-}" ]; then
        snapshot compare "$MPRUN_TEST_TOP/before" --kill --within "$(patience 5)" || failed=1
        cd / && rm -rf "$MPRUN_TEST_TOP"
    fi
    return $failed
}

snapshot() {
    local action=$1
    shift
    "$SNAPSHOT" "$action" "$@" --mark "MPRUN_TEST_MARK=$MPRUN_TEST_MARK" \
        --dir "$MPRUN_TEST_TOP/tmp" --dir "$MPRUN_TEST_TOP/run" --dir "$MPRUN_TEST_TOP/user/tmp" 3>&-
}

no_leftovers() { snapshot compare "$MPRUN_TEST_TOP/before" --within "$(patience "${1:-5}")"; }

# Ends with 199 where the limit was reached, which no launcher's exit code is.
time_limited() {
    local limit=$1 start=$SECONDS code=0
    look_how_slow
    ((limit *= MPRUN_TEST_SLOW))
    shift
    timeout -k $((5 * MPRUN_TEST_SLOW)) $limit "$@" 3>&- || code=$?
    if ((SECONDS - start >= limit)) && ((code >= 124)); then
        echo "time limit of $limit s reached by: $*" >&2
        return 199
    fi
    return $code
}

# Options that a test has not given: MPRUN_OPTIONS.
test_options() {
    MPRUN_OPTIONS=(${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --overlap)
    [ -z "$NO_CGROUPS" ] || tree_option "$@"
}

# where mprun would say in each run that there are no cgroups
tree_option() {
    case " $* " in
    *" --containment"* | *" --explain "* | *" --quiet "* | *" -q "*) ;;
    *) MPRUN_OPTIONS+=(--containment=tree) ;;
    esac
}

mprun() {
    test_options "$@"
    time_limited "${MPRUN_TEST_LIMIT:-20}" "$MPRUN" "${MPRUN_OPTIONS[@]}" "$@"
}

without_notes() { sed -E '/^mprun: (ranks are tracked by|[0-9]+ ranks on )/d' <<<"$1"; }

first_word() { "$MPRUN_BUILD/starter/mpstarter" </dev/null 2>/dev/null || true; }

# The launcher itself is $MPRUN_PID, so that a test can send it signals.
mprun_start() {
    MPRUN_OUT=$(mktemp "$TMPDIR/out.XXXXXX") && MPRUN_ERR=$(mktemp "$TMPDIR/err.XXXXXX") || return
    test_options "$@"
    "$MPRUN" "${MPRUN_OPTIONS[@]}" "$@" \
        </dev/null >"$MPRUN_OUT" 2>"$MPRUN_ERR" 3>&- &
    MPRUN_PID=$!
}

process_gone() { ! kill -0 "$1" 2>/dev/null || [[ $(ps -o stat= -p "$1") == Z* ]]; }

mprun_wait() {
    local limit=${MPRUN_TEST_LIMIT:-20}
    if ! wait_until "$limit" process_gone "$MPRUN_PID"; then
        echo "time limit of $limit s (on a quiet machine) reached by the launcher, pid $MPRUN_PID" >&2
        kill -KILL "$MPRUN_PID"
        return 199
    fi
    wait "$MPRUN_PID"
}

# From here on ranks wait for the PMI server, as a parameter of its library is set
begin_pmi_early() { export PMIX_MCA_mprun_test=1; }

sorted() { sort <<<"$output" | tr '\n' ' '; }

wait_until() {
    local limit=$1 start=$SECONDS seconds=.02 code=0
    shift
    trap - DEBUG # what bats does before each command takes longer than most commands
    until "$@"; do
        # asked late, as the machine may have become slow meanwhile
        if ((SECONDS - start > limit && SECONDS - start > $(patience "$limit"))); then
            code=1
            break
        fi
        pause $seconds
        ((SECONDS - start < 1)) || seconds=.1
        ((SECONDS - start < 5)) || seconds=.2
    done
    trap 'bats_debug_trap "$BASH_SOURCE"' DEBUG
    return $code
}
# SECONDS, without a process: nothing ever comes through this pipe
pause() { read -r -t "$1" <>"$BATS_RUN_TMPDIR/nothing" || :; }
[ -p "$BATS_RUN_TMPDIR/nothing" ] || mkfifo "$BATS_RUN_TMPDIR/nothing"

began() { BEGAN=$SECONDS; }
ended_within() {
    local took=$((SECONDS - BEGAN))
    ((took <= $1 || took <= $(patience "$1"))) || { echo "it took $took s" && false; }
}

program_source() {
    local dir
    for dir in examples tests/programs tests/system/mpi; do
        if [ -f "$MPRUN_SOURCE/$dir/$1.c" ]; then
            echo "$MPRUN_SOURCE/$dir/$1.c"
            return
        fi
    done
    echo "no program '$1' in examples/, tests/programs/ or tests/system/mpi/" >&2
    return 1
}

mpi_program() {
    local name=$1 mpi=${2:-openmpi} cc source dir=$MPRUN_BUILD/tests/programs
    cc=mpicc.$mpi
    [ "$mpi" != none ] || cc=${CC:-cc}
    source=$(program_source "$name") || return 1
    local made=$dir/$mpi-$name
    if [ ! "$made" -nt "$source" ]; then
        if ! mkdir -p "$dir" 2>/dev/null || [ ! -w "$dir" ]; then
            dir=${MPRUN_TEST_TOP:-$BATS_FILE_TMPDIR} # in setup_file there is no test yet
            made=$dir/$mpi-$name
        fi
        # compiled aside and renamed: another test file may be doing the same
        $cc -O2 -o "$made.$$" "$source" >&2 && mv "$made.$$" "$made" || return 1
    fi
    echo "$made"
}

run_as_user() {
    if [ "$1" = mprun ]; then
        shift
        set -- timeout -k 5 "$(patience "${MPRUN_TEST_LIMIT:-20}")" "$MPRUN" \
            ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --overlap "$@"
    fi
    if [ $EUID != 0 ]; then
        "$@" 3>&-
        return
    fi
    local home=$MPRUN_TEST_TOP/user
    if [ ! -d "$home" ]; then
        mkdir -m 711 "$home" && mkdir -m 700 "$home/tmp" "$home/run" && chown -R $TEST_UID:$TEST_UID "$home"
    fi
    (cd "$home/tmp" && exec setpriv --reuid=$TEST_UID --regid=$TEST_UID --clear-groups \
        env HOME="$home" TMPDIR="$home/tmp" XDG_RUNTIME_DIR="$home/run" USER=nobody LOGNAME=nobody \
        PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@" 3>&-)
}

needs_root() { [ $EUID = 0 ] || skip "needs root"; }
needs_tool() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "needs $tool"
    done
}
needs_long() { [ -n "${MPRUN_LONG:-}" ] || skip "long: only with MPRUN_LONG=1"; }
needs_mpicc() { needs_tool "mpicc.${1:-openmpi}"; }
# those that this process may use, whatever threads they have
usable_cores() {
    local range cpu list
    list=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    for range in ${list//,/ }; do
        for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do
            cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list"
        done
    done | sort -u | wc -l
}
needs_cores() { (($(usable_cores) >= $1)) || skip "needs $1 cores, has $(usable_cores)"; }
# A build with sanitizers has a shadow of its memory, and its leak checker cannot be traced.
has_sanitizers() { grep -q __asan_init "$MPRUN"; }
needs_no_sanitizers() { ! has_sanitizers || skip "not with sanitizers: $1"; }
needs_not_transport() { [ "${MPRUN_TRANSPORT:-}" != "$1" ] || skip "not with --transport=$1"; }

# The directory of our own cgroup in a cgroup2 mount, or nothing.
own_v2_cgroup() {
    local mount path
    mount=$(awk '$9 == "cgroup2" || $8 == "cgroup2" { print $5; exit }' /proc/self/mountinfo)
    path=$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -n "$mount" ] && [ -n "$path" ] && [ -d "$mount$path" ] && echo "$mount${path%/}"
}
# NAME: directories of that name in our own cgroups of v1
own_v1_cgroups() {
    local id controllers path
    while IFS=: read -r id controllers path; do
        [ "$id" = 0 ] || find "/sys/fs/cgroup/${controllers#name=}${path%/}/$1" -maxdepth 0 2>/dev/null
    done </proc/self/cgroup
}
may_make_cgroups() {
    local dir
    dir=$(own_v2_cgroup) && [ -w "$dir/cgroup.procs" ] && [ -w "$dir" ]
}
# asked once, as each mprun here would
NO_CGROUPS=
[ $EUID = 0 ] || may_make_cgroups || NO_CGROUPS=1
needs_v2() {
    own_v2_cgroup >/dev/null || skip "needs a cgroup2 mount"
    may_make_cgroups || skip "needs a writable cgroup2, '$(own_v2_cgroup)' is not"
}
