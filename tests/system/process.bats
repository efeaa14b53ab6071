#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# process.bats - a rank's process has what the user's shell would give it, and nothing else; mprun
# works wherever it lies and whatever it was started with
load '../lib/mprun'

setup() {
    mprun_setup || return 1
    probe=$MPRUN_BUILD/tests/system/process-probe
    [ -x "$probe" ] || make -s -C "$MPRUN_BUILD" tests/system/process-probe >&2
}

# under WORDS... mprun ARGS...: mprun ARGS, started by WORDS
under() {
    local words=()
    while [ "$1" != mprun ]; do
        words+=("$1")
        shift
    done
    shift
    time_limited 20 "${words[@]}" "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} "$@"
}

# a priority a little below ours: at the lowest one other tests would keep mprun from running
lower() { echo $(($(nice) + 3)); }

# what a rank and a command of the shell must have in common
common_state() { grep -E '^(umask|directory|nice|scheduler|session|terminal|limit|signal) '; }

# the entries of an environment that are not mprun's doing; what is in $1 is separated by NUL
users_own() {
    LC_ALL=C grep -azvE '^(MPRUN_(RANK|SIZE|LOCAL_RANK|LOCAL_SIZE|HOST_INDEX|HOSTS|HOST_NAME|STEP_ID|WORLD|INCARNATION|SUBMIT_TMPDIR)|TMPDIR|PMIX?_[A-Z0-9_]+|MPI_LOCALN?RANK(ID|S)|(OMPI_(COMM_WORLD|UNIVERSE|MCA|APP|FIRST|NUM)|MV2_COMM_WORLD)_[a-zA-Z_]+)=' "$1"
}

@test "arguments are the same bytes: newlines, no UTF-8, empty, very long" {
    all=$(printf '\\x%02x' {1..255})
    words=("" "a b" $'line\nline\n' "$(printf "$all")" "*" '$HOME' "--np" "" "$(head -c 120000 /dev/zero | tr '\0' y)" "")
    "$probe" args "${words[@]}" >want
    mprun -n 1 "$probe" args "${words[@]}" >got
    cmp want got
    [ "$(tr -cd '\0' <got | wc -c)" -eq ${#words[@]} ]
}

@test "the environment is the same bytes in the same order: newlines, no UTF-8, odd names, 1 MiB" {
    all=$(printf '\\x%02x' {1..255})
    words=("PATH=$PATH" "EMPTY=" "BYTES=$(printf "$all")" $'LINES=a\nb\n' $'odd n\xe4me!=x' "=x=y" "MPRUN_MINE=1" "PMIX_MCA_mine=2")
    for i in {1..10}; do
        words+=("BIG$i=$(head -c 105000 /dev/zero | tr '\0' "$((i % 10))")")
    done
    words+=("MPRUN_TEST_MARK=$MPRUN_TEST_MARK" "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" "TMPDIR=$TMPDIR")
    env -i "${words[@]}" "$probe" env >all
    LC_ALL=C grep -azv ^TMPDIR= all >want
    [ "$(wc -c <want)" -gt 1048576 ]
    for pmi in none pmix; do
        under env -i "${words[@]}" mprun -n 1 --pmi $pmi "$probe" env >all
        users_own all >got
        cmp want got
    done
}

@test "what says which single task of a manager or launcher mprun is in does not reach the ranks; the job's variables do" {
    local task=(SLURM_{PROCID,LOCALID,NODEID,TASK_PID,GTIDS}=0 PBS_{TASK,NODE,VNODE}NUM=1 LSF_PM_TASKID=1
        PALS_RANKID=0 FLUX_TASK_RANK=0 JSM_NAMESPACE_RANK=0 MV2_COMM_WORLD_RANK=0 PMI_RANK=0 OMPI_COMM_WORLD_RANK=7)
    local job=(SLURM_JOB_ID=5 SLURM_NTASKS=4 PBS_JOBID=5.server PBS_NODEFILE=/f LSB_JOBID=5 NSLOTS=4
        OMPI_MCA_orte_base_help_aggregate=0 OMPI_MCA_pmix=^s1)
    under env "${task[@]}" "${job[@]}" mprun --rm local -n 2 --oversubscribe --pmi none env >all
    for entry in "${job[@]}"; do
        [ "$(grep -cxF -- "$entry" all)" = 2 ]
    done
    for entry in "${task[@]}"; do
        run -1 grep -xF -- "$entry" all
    done
}

@test "in a script that mpirun has started a rank has nothing of its place there" {
    needs_tool mpirun.openmpi
    cat >script <<'EOF'
env | grep -o '^OMPI_MCA_[^=]*' | sort >outer
"$@" --pmi none -n 2 --oversubscribe env | grep '^OMPI_' >inner
EOF
    time_limited 60 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mine=1 \
        mpirun.openmpi -n 1 sh script "$MPRUN" --containment=tree
    grep -qx OMPI_MCA_orte_hnp_uri outer
    cat inner
    # the user's, what mprun sets, and what mpirun sets of the user's choice
    [ -z "$(grep -vE '^OMPI_(ALLOW_RUN_AS_ROOT(_CONFIRM)?|COMM_WORLD_[A-Z_]*|UNIVERSE_SIZE|MCA_(mine|pml|mpi_yield_when_idle|orte_tmpdir_base|btl_vader_[a-z_]*|schizo|hwloc_[a-z_]*)=)' inner)" ]
    grep -qx OMPI_MCA_mine=1 inner
}

@test "umask, directory, priority, session, soft limits and signals are the shell's" {
    needs_no_sanitizers "a small address space is one of the settings"
    for setting in true "umask 027" "umask 0777" "ulimit -S -s 4096" "ulimit -S -s unlimited" \
        "ulimit -S -n 64" "ulimit -n 100" "ulimit -S -c 0" "ulimit -S -c 1" "ulimit -S -l 16" \
        "ulimit -S -v 4000000" "ulimit -S -f 2000000" "ulimit -S -u 3000" "renice -n $(lower) -p \$BASHPID" "cd /"; do
        (eval "$setting" >/dev/null && "$probe" state | common_state >&3) 3>want
        (eval "$setting" >/dev/null && mprun -n 1 "$probe" state | common_state >&4) 4>got
        diff want got || { echo "with: $setting"; false; }
        [ "$(wc -l <got)" -ge 14 ]
    done
}

@test "an ordinary user's, too" {
    for setting in "umask 0777" "umask 077" "ulimit -S -n 64" "ulimit -n 100" "nice"; do
        [ "$setting" != nice ] || setting="renice -n $(lower) -p \$\$"
        run_as_user sh -c "$setting >/dev/null; exec \"\$@\"" - "$probe" state | common_state >want
        run_as_user sh -c "$setting >/dev/null; exec \"\$@\"" - timeout "$(patience 20)" "$MPRUN" \
            ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 1 "$probe" state | common_state >got
        diff want got || { echo "with: $setting"; false; }
        [ "$(wc -l <got)" -ge 14 ]
    done
}

@test "a higher priority than mprun's own cannot be had, and all ranks have the same" {
    under nice -n 3 mprun -n 2 --oversubscribe "$probe" state >got
    [ "$(grep '^nice' got | sort -u)" = "$(nice -n 3 "$probe" state | grep '^nice')" ]
}

@test "signals have their defaults and none is blocked, also when mprun was started otherwise" {
    needs_tool python3
    cat >started.py <<'END'
import os, signal, sys
for name in ("HUP", "INT", "QUIT", "PIPE", "TERM", "CHLD", "USR1", "ALRM", "TSTP", "CONT"):
    signal.signal(getattr(signal, "SIG" + name), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])
END
    # the trial itself: the signals really arrive like that
    python3 started.py "$probe" state >got
    [ "$(grep -c '^signal .* ignored' got)" -ge 10 ]
    [ "$(grep -c '^signal .* blocked' got)" -ge 20 ]
    run -0 --separate-stderr under python3 started.py mprun -q -n 2 --oversubscribe "$probe" state
    [ "$(grep -c '^umask' <<<"$output")" -eq 2 ]
    # but for handlers that the probe's own sanitizers have
    python3 - "$probe" >own <<'END'
import os, signal, sys
for s in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], [sys.argv[1], "state"])
END
    ! grep '^signal' <<<"$output" | grep -vxFf <(grep '^signal' own) || false
    [ -z "$stderr" ]
}

@test "ranks are killed for want of memory before what has started them" {
    needs_tool choom
    own=$(cat /proc/self/oom_score_adj)
    scores="300:800 700:1000"
    [ "$own" -gt 500 ] || scores+=" $own:$((own + 500))"
    choom -n -500 -- true 2>/dev/null && scores+=" -500:500"
    for score in $scores; do # mprun's : a rank's
        run -0 --separate-stderr under choom -n "${score%:*}" -- mprun -n 1 "$probe" state
        grep -x "oom_score_adj ${score#*:}" <<<"$output"
    done
}

@test "a rank has the descriptors 0, 1, 2 and PMI's alone, also when mprun has more" {
    exec 5</dev/null 6>extra 77</etc/passwd
    for words in "-n 2 --pmi none" "-n 2" "-n 2 --rm local:2 --npernode 1"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun --oversubscribe $words sh -c 'echo "pmi ${PMI_FD:-none}"; exec "$0" state' "$probe"
        grep '^descriptor' <<<"$output" | cut -d' ' -f2 | sort -n | uniq -c >got
        { printf '%7d %d\n' 2 0 2 1 2 2; } >want
        grep -oE '^pmi [0-9]+' <<<"$output" | cut -d' ' -f2 | sort -n | uniq -c >>want
        diff want got
    done
    exec 5<&- 6>&- 77<&-
}

@test "only one rank has mprun's input: that of the others is /dev/null" {
    run -0 --separate-stderr mprun -n 3 --oversubscribe sh -c 'echo "$MPRUN_RANK $(readlink /proc/self/fd/0)"' </dev/zero
    [ "$(sort <<<"$output" | sed -n '2,$p' | paste -sd,)" = "1 /dev/null,2 /dev/null" ]
    [[ $(sort <<<"$output" | head -1) != *"/dev/null" ]]
}

@test "TMPDIR is short, the ranks' own on each host, and gone at the end" {
    show='stat -c "%u %a %n" "$TMPDIR"; echo x >"$TMPDIR/$MPRUN_RANK"; mkdir -m 0 "$TMPDIR/d$MPRUN_RANK"; echo "$MPRUN_SUBMIT_TMPDIR" >&2'
    run -0 --separate-stderr mprun -q --rm local:2 -n 4 --oversubscribe sh -c "$show"
    [ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
    [ "$(sort -u <<<"$stderr")" = "$TMPDIR" ]
    while read -r uid mode name; do
        [ "$uid" = "$(id -u)" ]
        [ "$mode" = 700 ]
        [ "${#name}" -le 62 ]
        [[ $name == "$TMPDIR"/* ]]
        [ ! -e "$name" ]
    done <<<"$output"
}

@test "nobody can foresee how the directory of a host will be called" {
    run -0 --separate-stderr under mprun --rm local:3 -n 3 sh -c 'echo "$TMPDIR $MPRUN_STEP_ID"'
    [ "$(wc -l <<<"$output")" = 3 ]
    [ "$(sed 's/.*mprun-//; s/[.].*//' <<<"$output" | sort -u | wc -l)" = 3 ] # none tells another
    while read -r directory id; do
        [[ $directory =~ /mprun-[a-z2-7]{12}[.][0-2]$ ]]
        [[ $directory != *"$id"* ]]
    done <<<"$output"
}

@test "a TMPDIR that is too long, missing, or not absolute does not keep anybody from running" {
    long=$TMPDIR/$(printf 'x%.0s' {1..120})
    mkdir "$long"
    for tmp in "$long" "$long/" /nonexistent/tmp relative; do
        for runtime in "$XDG_RUNTIME_DIR" /nonexistent; do
            run -0 --separate-stderr under env TMPDIR="$tmp" XDG_RUNTIME_DIR="$runtime" mprun -q -n 1 \
                sh -c 'echo "$TMPDIR"; touch "$TMPDIR/x"; echo "$MPRUN_SUBMIT_TMPDIR" >&2'
            [[ $output == /tmp/mprun-* ]]
            [ ! -e "$output" ]
            [ "$stderr" = "$tmp" ]
        done
    done
    [ -z "$(ls -A "$long")" ]
    run -0 --separate-stderr under env -u TMPDIR mprun -n 1 sh -c 'echo "$TMPDIR ${MPRUN_SUBMIT_TMPDIR-unset}"'
    [[ $output == /tmp/mprun-*" unset" ]]
}

@test "--wdir: any name, absolute or relative, without a trace in PWD of the others" {
    odd=$'two\nlines \xff'
    mkdir "$odd"
    for dir in "$odd" "$TMPDIR/$odd" ./"$odd"/. "$odd/.."; do
        mprun -n 1 --wdir "$dir" "$probe" state | grep -a ^directory -A1 >got
        (cd "$dir" && "$probe" state | grep -a ^directory -A1) >want
        cmp want got
    done
}

@test "a rank keeps the terminal of mprun's session" {
    needs_tool python3
    cat >terminal.py <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    text += data
print("mprun's %d" % pid)
print(text.decode().replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    run -0 time_limited 20 python3 terminal.py "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 --oversubscribe "$probe" state
    [ "$(grep -c '^terminal yes' <<<"$output")" -eq 2 ]
    pid=$(sed -n "s/^mprun's //p" <<<"$output")
    [ "$(grep -c "^session $pid\$" <<<"$output")" -eq 2 ]
}

@test "closed standard descriptors of mprun do no harm" {
    two() { timeout -k 2 "$(patience 20)" "$MPRUN" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 --oversubscribe sh -c 'cat; echo out; echo err >&2'; }
    two 0<&- >out 2>err
    [ "$(grep -cx out out) $(grep -cx err err)" = "2 2" ]
    # what ranks write there is not lost without a word
    local code=0
    two </dev/null 1>&- 2>err || code=$?
    [ "$code" = 125 ]
    grep -q '^mprun: .*standard output' err
    two </dev/null >out 2>&-
    [ "$(grep -cx out out)" -eq 2 ]
    timeout -k 2 "$(patience 20)" "$MPRUN" -n 1 sh -c "echo x >'$TMPDIR/made'" 0<&- 1>&- 2>&-
    [ "$(cat made)" = x ]
}

@test "mprun in a rank is a step of its own" {
    run -0 --separate-stderr mprun -n 2 --oversubscribe "$MPRUN" -n 2 --oversubscribe sh -c \
        'echo "$MPRUN_RANK/$MPRUN_SIZE/$MPRUN_STEP_ID/$(env | grep -c ^PMIX_NAMESPACE=)"; touch "$TMPDIR/$MPRUN_RANK"'
    [ "$(cut -d/ -f1,2,4 <<<"$output" | sort | paste -sd' ')" = "0/2/1 0/2/1 1/2/1 1/2/1" ]
    [ "$(cut -d/ -f3 <<<"$output" | sort -u | wc -l)" -eq 2 ]
    run -0 --separate-stderr mprun -n 1 "$MPRUN" -n 1 true
    [ -z "$(without_notes "$stderr")" ] # also of variables that the outer one has set
    run -3 --separate-stderr mprun -n 1 "$MPRUN" -n 1 "$MPRUN" -n 1 sh -c 'exit 3'
}

@test "mprun that is killed in a rank leaves nothing behind" {
    # a short TMPDIR, so that the inner step's fits into the outer's
    short=$(mktemp -d /tmp/m.XXXX)
    inner='"$0" -n 1 sh -c "echo \$TMPDIR >seen; exec sleep 1000" & while [ ! -s seen ]; do sleep .02; done; kill -KILL $!; wait $!'
    TMPDIR=$short run -137 --separate-stderr mprun -n 1 sh -c "$inner" "$MPRUN"
    [[ $(cat seen) == "$short"/mprun-*/mprun-* ]]
    rmdir "$short"
    no_leftovers 5
}

@test "MPI programs run in a step within a step" {
    needs_mpicc openmpi
    program=$(mpi_program ring)
    # few rounds: ranks that share a core wait for their turn in each
    run -0 --separate-stderr mprun -n 1 "$MPRUN" -n 2 --oversubscribe "$program" 20
    [[ $output == "2 ranks, "*": ok"* ]]
}

# ---- where mprun lies -----------------------------------------------------------------------------

# programs_of MPRUN: the paths of the starter and the PMI server that it uses
programs_of() {
    begin_pmi_early
    "$1" --dry-run -n 1 true | sed -n 's/.*started by mprun itself: //p'
    time_limited 20 "$1" ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 1 sh -c '
        for p in $(cat /proc/$PPID/task/*/children); do readlink -f /proc/$p/exe; done | grep mppmi'
}

@test "the build tree's mprun uses the build tree's programs, also through a symbolic link" {
    ln -s "$MPRUN" "$TMPDIR/mpiexec"
    mkdir bin && ln -s ../mpiexec bin/mpirun
    want="$(realpath "$MPRUN_BUILD")/starter/mpstarter
$(realpath "$MPRUN_BUILD")/pmix-server/mppmi"
    for name in "$MPRUN" ./mpiexec bin/mpirun; do
        [ "$(programs_of "$name")" = "$want" ]
    done
    [ "$(PATH=$PWD/bin:$PATH programs_of mpirun)" = "$want" ]
    # here the starter is a copy of mprun, and ps does not show mprun's words
    run -0 --separate-stderr mprun -n 1 sh -c 'readlink -f /proc/$PPID/exe; cat /proc/$PPID/comm; tr -d "\0" </proc/$PPID/cmdline'
    [ "$output" = "$(realpath "$MPRUN")
mpstarter
mpstarter" ]
}

@test "an installation can be moved, and does not stand in the way of an MPI's own mpirun" {
    [ -f "$MPRUN_BUILD/Makefile" ] && [ -w "$MPRUN_BUILD" ] || skip "needs a build tree that is writable"
    make -s -C "$MPRUN_BUILD" install DESTDIR="$TMPDIR/dest" prefix=/opt/mprun >install.log 2>&1 || { cat install.log; false; }
    for prefix in "$TMPDIR/dest/opt/mprun" "$TMPDIR/elsewhere"; do
        [ -d "$prefix" ] || mv "$TMPDIR/dest/opt/mprun" "$prefix"
        [ "$(programs_of "$prefix/bin/mprun")" = "$prefix/libexec/mprun/mpstarter
$prefix/libexec/mprun/mppmi" ]
        [ ! -e "$prefix/bin/mpirun" ]
        [ ! -e "$prefix/bin/mpiexec" ]
        links=$prefix/libexec/mprun/drop-in
        [ "$(cd "$links" && echo *)" = "aprun jsrun mpiexec mpiexec.hydra mpirun mpirun_rsh orterun prterun srun" ]
        for link in "$links"/*; do
            [ "$(realpath "$link")" = "$(realpath "$prefix/bin/mprun")" ]
            run -0 --separate-stderr env PATH="$links:$PATH" timeout "$(patience 20)" "${link##*/}" -n 1 --rm local /bin/echo "by $link"
            [ "$output" = "by $link" ]
        done
        # each by its name in its dialect
        run -0 --separate-stderr "$links/srun" -N 2 -n 2 -l --rm local:2 --dry-run true
        [[ $output == *"2 ranks on 2 hosts"* ]]
        run -0 --separate-stderr "$links/mpirun" -c 2 --rm local:2 --dry-run true
        [[ $output == *"2 ranks on 2 hosts"* ]]
        for file in bash-completion/completions/mprun.bash zsh/site-functions/_mprun fish/vendor_completions.d/mprun.fish; do
            [ -r "$prefix/share/$file" ]
        done
        [ -r "$prefix/share/doc/mprun/gridengine.md" ] # the manual names them
        [ -r "$prefix/share/doc/mprun/migrating.md" ]
        [ -x "$prefix/libexec/mprun/self-test" ]
        run -0 --separate-stderr time_limited 20 "$prefix/bin/mprun" -n 1 --explain true
        [[ $output == *"starter "*"$(realpath "$prefix")/libexec/mprun/mpstarter"* ]]
    done
    # the prefix of `make install` counts, not that of configure
    grep -x 'ExecStart=/opt/mprun/sbin/mprund' "$prefix/share/mprun/units/mprund.service"
    grep -x 'prepend-path PATH /opt/mprun/libexec/mprun/drop-in' "$prefix/share/mprun/modulefiles/mprun-drop-in"
    mkdir -p "$TMPDIR/dest/opt" && cp -a "$prefix" "$TMPDIR/dest/opt/mprun"
    make -s -C "$MPRUN_BUILD" uninstall DESTDIR="$TMPDIR/dest" prefix=/opt/mprun >install.log 2>&1 || { cat install.log; false; }
    [ -z "$(find "$TMPDIR/dest" ! -type d)" ]
    rm "$prefix/libexec/mprun/self-test"
    run -125 --separate-stderr time_limited 20 "$prefix/bin/mprun" --self-test
    [[ $stderr == "mprun: start self-test: find 'self-test': "* ]]
    rm "$prefix/libexec/mprun/mppmi"
    run -125 --separate-stderr time_limited 20 "$prefix/bin/mprun" -n 1 true
    [[ $stderr == *mppmi* ]]
    rm "$prefix/libexec/mprun/mpstarter"
    run -125 --separate-stderr time_limited 20 "$prefix/bin/mprun" -n 1 true
    [[ $stderr == "mprun: "*mpstarter* ]]
}
