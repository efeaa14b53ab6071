#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# signals.bats - what signals to mprun, to its group, and keys of its terminal do to a step
load '../lib/mprun'

setup() {
    mprun_setup || return 1
    probe=$MPRUN_BUILD/tests/system/process-probe
    [ -x "$probe" ] || make -s -C "$MPRUN_BUILD" tests/system/process-probe >&2
    play=$MPRUN_SOURCE/tests/system/terminal-play
    transport=${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"}
}

# Ranks that write the signals that they get, into log.RANK: `wait` ends at TERM, `stay` does not.
as_ranks() { echo "exec '$probe' $1 '$TMPDIR/log.'\$MPRUN_RANK"; }

all_ready() {
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        grep -q ready "log.$rank" 2>/dev/null || return 1
    done
}

# start_ranks N wait|stay OPTIONS...
start_ranks() {
    local n=$1 how=$2
    shift 2
    mprun_start -n "$n" --oversubscribe "$@" sh -c "$(as_ranks "$how")"
    wait_until 20 all_ready "$n"
}

logged() { sed 1d "log.$1" | paste -sd' '; }
all_logged() {
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        grep -qx "$2" "log.$rank" || return 1
    done
}
rank_pid() { sed -n 's/^ready //p' "log.$1"; }
state_of() { sed 's/.*) //; s/ .*//' "/proc/$1/stat"; }
has_state() { [[ $(state_of "$1") == [$2] ]]; }

ends_with() {
    local code=0
    mprun_wait || code=$?
    [ "$code" -eq "$1" ] || { echo "mprun's exit code is $code" && cat "${MPRUN_ERR:-err}" && false; }
}

# mprun's sentences but those about the machine
said() { grep -v 'tracked by process tree' "$MPRUN_ERR"; }

@test "TERM, HUP, QUIT and INT end the step with a sentence: the ranks get TERM, once" {
    for case in "TERM 143" "HUP 129" "QUIT 131" "INT 130"; do
        read -r signal code <<<"$case"
        rm -f log.*
        start_ranks 3 wait --rm local:2
        kill -"$signal" "$MPRUN_PID"
        ends_with "$code"
        for rank in 0 1 2; do
            [[ $(logged $rank) == TERM* ]]
            [ "$(grep -cx TERM log.$rank)" -eq 1 ]
            ! grep -qxE 'HUP|QUIT|INT' log.$rank || false
        done
        [ "$(said | wc -l)" -eq 1 ]
        [[ $(said) == "mprun: received SIG$signal"* ]]
    done
}

@test "ranks that ignore TERM are killed when the grace is over" {
    start_ranks 2 stay --kill-grace "$(patience 1)" # they have to log TERM in that time
    began
    kill -TERM "$MPRUN_PID"
    ends_with 143
    ended_within 9 # without the option it would be 10
    [[ $(logged 0) == TERM* ]]
    [ "$(said | wc -l)" -eq 1 ]
}

@test "a second signal kills at once" {
    for second in TERM INT; do
        rm -f log.*
        start_ranks 2 stay --kill-grace 1000
        kill -TERM "$MPRUN_PID"
        wait_until 10 all_logged 2 TERM
        sleep .3 # two at the same moment are one
        kill -"$second" "$MPRUN_PID"
        ends_with 143
        [[ $(said | tail -1) == *"SIG$second"*"at once"* ]]
    done
}

@test "a signal that comes twice, as timeout(1) sends it, leaves the ranks their grace" {
    # TERM to mprun and to its group; the ranks have something to do
    timeout "$(patience 60)" "$MPRUN" $transport -n 2 --oversubscribe --kill-grace "$(patience 10)" bash -c '
        trap "read -r -t 1 x <>fifo.$MPRUN_RANK; echo saved >saved.$MPRUN_RANK; exit 0" TERM
        mkfifo fifo.$MPRUN_RANK; echo >begun.$MPRUN_RANK; while :; do sleep .05; done' 2>err 3>&- &
    MPRUN_PID=$!
    wait_until 20 test -e begun.0
    wait_until 20 test -e begun.1
    kill -ALRM "$MPRUN_PID" # its time is over
    ends_with 124
    [ -e saved.0 ]
    [ -e saved.1 ]
}

@test "a manager's TERM to starters and ranks as well leaves the ranks their grace" {
    # what the starter says of it comes before mprun's own
    start_ranks 2 stay --kill-grace "$(patience 1)" --rm local:2
    kill -TERM "$(pgrep -n -x mpstarter -P "$(pgrep -n -x mpstarter -P "$MPRUN_PID")")"
    until [[ ${said-} == *"received SIGTERM"* ]]; do
        pause .02
        read -r said <"$MPRUN_ERR" || :
    done
    kill -TERM "$MPRUN_PID"
    ends_with 143
    all_logged 2 TERM
    cat "$MPRUN_ERR"
    [[ $(<"$MPRUN_ERR") != *"at once"* ]]
}

@test "USR1, USR2, WINCH and ALRM are passed on, once, and nothing else happens" {
    start_ranks 3 wait --rm local:2
    for signal in USR1 USR2 WINCH ALRM; do
        kill -"$signal" "$MPRUN_PID"
        wait_until 10 all_logged 3 $signal
    done
    kill -TERM "$MPRUN_PID"
    ends_with 143
    for rank in 0 1 2; do
        [[ $(logged $rank) == "USR1 USR2 WINCH ALRM TERM"* ]]
    done
}

@test "TSTP stops the ranks and then mprun, CONT continues both" {
    start_ranks 3 wait --rm local:2
    kill -TSTP "$MPRUN_PID"
    wait_until 10 has_state "$MPRUN_PID" T
    for rank in 0 1 2; do
        wait_until 10 has_state "$(rank_pid $rank)" T
    done
    kill -CONT "$MPRUN_PID"
    wait_until 10 all_logged 3 CONT
    for rank in 0 1 2; do
        wait_until 10 has_state "$(rank_pid $rank)" SR
    done
    wait_until 10 has_state "$MPRUN_PID" SR
    # and all is as before
    kill -USR1 "$MPRUN_PID"
    wait_until 10 all_logged 3 USR1
    kill -TERM "$MPRUN_PID"
    ends_with 143
}

# ranks_directory: of the cgroup that tracks the ranks: v2, or the freezer of v1
ranks_directory() {
    local cgroups root path
    cgroups=$(cat "/proc/$(rank_pid 0)/cgroup")
    for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
        path=$(sed -n 's/^0:://p' <<<"$cgroups")
        [[ $path == */mprun.*/ranks/* && -e $root$path/cgroup.freeze ]] && echo "$root${path%/*}" && return
    done
    path=$(sed -n 's/^[0-9]*:freezer://p' <<<"$cgroups")
    [[ $path == */mprun.*/ranks/* ]] && echo "/sys/fs/cgroup/freezer${path%/*}"
}
has_frozen() { grep -qs '^frozen 1' "$ranks/cgroup.events" || grep -qs FROZEN "$ranks/freezer.state"; }
has_no_frozen() { ! has_frozen; }

@test "a suspended step is frozen, with what its ranks fork; nothing stays frozen when it goes on, or ends" {
    start_ranks 2 wait
    if ! ranks=$(ranks_directory); then
        kill -TERM "$MPRUN_PID"
        ends_with 143
        skip "ranks have no cgroups that can be frozen here"
    fi
    kill -TSTP "$MPRUN_PID"
    wait_until 10 has_state "$MPRUN_PID" T
    wait_until 10 has_frozen
    kill -CONT "$MPRUN_PID"
    wait_until 10 has_no_frozen
    wait_until 10 has_state "$(rank_pid 0)" SR
    kill -TSTP "$MPRUN_PID"
    wait_until 10 has_state "$MPRUN_PID" T
    wait_until 10 has_frozen
    kill -TERM "$MPRUN_PID" # comes when it goes on
    kill -CONT "$MPRUN_PID"
    ends_with 143
    [ ! -e "$ranks" ]
}

mprctl() { "$MPRUN_BUILD/tools/mprctl" "$@"; }
# mprctl_says CODE PATTERN WORDS...
mprctl_says() {
    local code=$1 pattern=$2
    shift 2
    run mprctl "$@"
    [ "$status" -eq "$code" ] && [[ $output =~ $pattern ]] || { echo "mprctl $*: $status, $output" && false; }
}

@test "mprctl suspends a step and lets it go on while mprun runs; --timeout stands still; nothing stays frozen" {
    local step ranks
    mprctl_says 1 '^mprctl: no step nosuchstepid of yours has its mprun on this host$' suspend nosuchstepid
    mprctl_says 2 "status, suspend, resume or down is wanted instead of 'hold'" hold
    start_ranks 2 wait --rm local:2 --timeout 8s
    ranks=$(ranks_directory) || ranks=
    step=$(echo "$XDG_RUNTIME_DIR"/mprun-*) step=${step##*/mprun-}
    mprctl_says 0 "^step $step is running: 2 of 2 ranks started, 0 ended, on 2 hosts, for [0-9]+ s\$" status "$step"
    mprctl_says 0 "step $step is running: " status
    mprctl_says 0 "^step $step is suspended: " suspend "$step"
    TMPDIR=$XDG_RUNTIME_DIR/ mprctl_says 0 "^step $step is suspended: " suspend "$step"
    wait_until 10 has_state "$(rank_pid 0)" TD
    wait_until 10 has_state "$(rank_pid 1)" TD
    [ -z "$ranks" ] || wait_until 10 has_frozen
    has_state "$MPRUN_PID" SR
    sleep 8.5 # longer than --timeout
    mprctl_says 0 "^step $step is running: " resume "$step"
    wait_until 10 has_state "$(rank_pid 0)" SR
    [ -z "$ranks" ] || wait_until 10 has_no_frozen
    mprctl suspend "$step"
    wait_until 10 has_state "$(rank_pid 1)" TD
    kill -CONT "$MPRUN_PID" # is a word, too
    wait_until 10 has_state "$(rank_pid 1)" SR
    mprctl_says 0 ' is running: ' status "$step"
    mprctl suspend "$step"
    [ -z "$ranks" ] || wait_until 10 has_frozen
    kill -TERM "$MPRUN_PID"
    ends_with 143
    [ -z "$ranks" ] || [ ! -e "$ranks" ]
    grep -q "a tool suspends step $step; 'mprctl resume $step' lets it go on" "$MPRUN_ERR"
    mprctl_says 1 "no step $step of yours" resume "$step"
}

@test "processes that have lost their parent are suspended, too, where ranks have no cgroups" {
    mprun_start -n 1 --containment=tree sh -c 'echo $MPRUN_STEP_ID >step; (sh -c "echo \$\$ >orphan; exec sleep 1000" &); exec sleep 1000'
    wait_until 10 test -s orphan
    wait_until 10 mprctl suspend "$(cat step)"
    wait_until 10 has_state "$(cat orphan)" T
    mprctl resume "$(cat step)"
    wait_until 10 has_state "$(cat orphan)" S
    kill -TERM "$MPRUN_PID"
    ends_with 143
}

@test "--stuck: a rank that is suspended is not stuck" {
    mprun_start -n 1 --stuck 2 sh -c 'echo $MPRUN_STEP_ID >step; while :; do :; done'
    wait_until 10 test -s step
    wait_until 10 mprctl suspend "$(cat step)"
    sleep 4
    mprctl resume "$(cat step)"
    kill -TERM "$MPRUN_PID"
    ends_with 143
    ! grep -e --stuck: "$MPRUN_ERR" || false
}

@test "no command of a queue starts while the step is suspended, the next one does when it goes on" {
    local step ranks rank
    for rank in 0 1; do echo "exec '$probe' wait '$TMPDIR/log.$rank'"; done >queue
    echo 'touch next' >>queue
    mprun_start --rm local:2 $transport --queue queue
    wait_until 20 all_ready 2
    ranks=$(ranks_directory) || ranks=
    step=$(echo "$XDG_RUNTIME_DIR"/mprun-*) step=${step##*/mprun-}
    mprctl_says 0 ' is suspended: 2 of ' suspend "$step"
    wait_until 10 has_state "$(rank_pid 0)" TD
    [ -z "$ranks" ] || wait_until 10 has_frozen
    kill -KILL "$(rank_pid 0)"
    sleep 1
    [ ! -e next ]
    mprctl_says 0 ' is running: ' resume "$step"
    wait_until 10 test -e next
    wait_until 10 has_state "$(rank_pid 1)" SR
    kill -TERM "$(rank_pid 1)"
    ends_with 137
}

# bats test_tags=root
@test "cgroup v1: a suspended step whose worker is killed leaves nothing frozen" {
    mprun --cgroup-version v1 --containment=rank -n 1 true || skip "needs cgroup v1"
    local rank
    start_ranks 2 stay --cgroup-version v1 --containment=rank
    rank=$(rank_pid 0)
    ranks=$(ranks_directory)
    kill -TSTP "$MPRUN_PID"
    wait_until 10 has_frozen
    kill -KILL "$(ps -o ppid= -p "$rank" | tr -d ' ')" # the worker
    wait_until 20 process_gone "$rank"
    wait_until 20 test ! -e "${ranks%/*}"
    kill -CONT "$MPRUN_PID"
    ends_with 125
}

@test "the wall time of a rank stands still while its step is suspended" {
    start_ranks 1 wait --limit rank:wall=8s
    kill -TSTP "$MPRUN_PID"
    wait_until 10 has_state "$MPRUN_PID" T
    sleep 8.5
    kill -CONT "$MPRUN_PID"
    wait_until 10 has_state "$(rank_pid 0)" SR
    kill -USR1 "$MPRUN_PID"
    wait_until 10 all_logged 1 USR1
    kill -TERM "$MPRUN_PID"
    ends_with 143
}

@test "a CONT that comes while mprun tells its ranks to stop is not lost" {
    needs_tool strace
    needs_no_sanitizers "traced"
    start_ranks 1 wait
    # what mprun sends has gone, and mprun is held for a while
    strace -qq -o trace -p "$MPRUN_PID" -e trace=write,writev -e inject=write,writev:delay_exit=1000000 2>strace.err 3>&- &
    strace=$!
    traced() { process_gone $strace || grep -q '^TracerPid:.*[1-9]' "/proc/$MPRUN_PID/status"; }
    wait_until 10 traced
    ! process_gone $strace || skip "a process cannot be traced here: $(cat strace.err)"
    kill -TSTP "$MPRUN_PID"
    wait_until 10 has_state "$(rank_pid 0)" T
    kill -CONT "$MPRUN_PID"
    wait_until 10 has_state "$(rank_pid 0)" SR
    kill $strace
    kill -TERM "$MPRUN_PID"
    ends_with 143
}

@test "mprun that is stopped with STOP goes on where it was; its ranks do not stop" {
    start_ranks 2 wait
    kill -STOP "$MPRUN_PID"
    wait_until 10 has_state "$MPRUN_PID" T
    has_state "$(rank_pid 0)" SR
    kill -TERM "$MPRUN_PID"
    kill -CONT "$MPRUN_PID"
    ends_with 143
    [ "$(grep -cx TERM log.0)" -eq 1 ]
}

@test "ranks that are stopped end all the same" {
    for how in wait stay; do
        rm -f log.*
        start_ranks 2 $how --kill-grace 500ms
        kill -STOP "$(rank_pid 0)" "$(rank_pid 1)"
        wait_until 10 has_state "$(rank_pid 0)" T
        wait_until 10 has_state "$(rank_pid 1)" T
        began
        kill -TERM "$MPRUN_PID"
        ends_with 143
        ended_within 8
    done
}

@test "a signal to the whole group of a job script ends script and step, and ranks get TERM once" {
    needs_tool setsid
    for signal in TERM HUP INT; do
        rm -f log.* code
        cat >job <<END
trap 'echo script >>got' $signal
"$MPRUN" $transport -n 2 --oversubscribe sh -c "$(as_ranks wait | sed 's/\$/\\$/')" 2>err
echo \$? >code
END
        setsid bash ./job 3>&- &
        script=$!
        wait_until 20 all_ready 2
        kill -"$signal" -- "-$script"
        wait_until 20 process_gone "$script"
        [ "$(cat code)" -eq $((128 + $(kill -l $signal))) ]
        [ "$(grep -cx TERM log.0) $(grep -cx TERM log.1)" = "1 1" ]
        ! grep -qx "$signal" <(grep -vx TERM log.0) || false
    done
}

@test "a group that is killed at once leaves nothing behind" {
    needs_tool setsid
    setsid bash -c '"$@"; :' - "$MPRUN" $transport -n 2 --oversubscribe --rm local:2 sh -c "$(as_ranks stay)" 3>&- 2>/dev/null &
    script=$!
    wait_until 20 all_ready 2
    kill -KILL -- "-$script"
    no_leftovers 10
}

@test "under nohup HUP is ignored" {
    nohup "$MPRUN" $transport -n 2 --oversubscribe sh -c "$(as_ranks wait)" >out 2>err </dev/null 3>&- &
    MPRUN_PID=$!
    wait_until 20 all_ready 2
    kill -HUP "$MPRUN_PID"
    kill -USR1 "$MPRUN_PID"
    wait_until 10 all_logged 2 USR1
    ! grep -qx TERM log.0 || false
    kill -TERM "$MPRUN_PID"
    ends_with 143
}

@test "--timeout ends the step with TERM first, a sentence, and code 124" {
    local seconds
    for seconds in 2 6 15; do # long enough for the ranks to be ready
        rm -f log.*
        run -124 --separate-stderr mprun -n 2 --oversubscribe --timeout "$seconds" sh -c "$(as_ranks wait)"
        if all_ready 2; then break; fi
    done
    [[ $(logged 0) == TERM* ]]
    [[ $(logged 1) == TERM* ]]
    [ "$(grep -c -- --timeout <<<"$stderr")" -eq 1 ]
}

# It is mprun by now, no longer the shell that becomes it, and has TERM blocked, to read it in its loop.
watches_signals() {
    [[ $(readlink "/proc/$1/exe") == */mprun ]] &&
        (((0x$(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/$1/status") >> 14) & 1))
}

@test "a signal while the step starts ends it" {
    for signal in TERM INT; do
        mprun_start -n 2 --oversubscribe sleep 1000
        # its signals are watched before anything is started: from then on it must obey
        wait_until 10 watches_signals "$MPRUN_PID"
        kill -$signal "$MPRUN_PID"
        ends_with $((128 + $(kill -l $signal)))
    done
}

@test "mprun ends by a signal while it reads a list of hosts that does not come" {
    mkfifo list
    for signal in TERM HUP; do # INT and QUIT are ignored in the background
        mprun_start --hostfile list true
        exec 5>list # opened when mprun has opened it
        kill -$signal "$MPRUN_PID"
        code=0
        mprun_wait || code=$?
        exec 5>&-
        [ "$code" = $((128 + $(kill -l $signal))) ]
    done
}

# ---- at a terminal -----------------------------------------------------------------------------------

at_terminal() {
    local what=$1
    shift
    needs_tool python3
    rm -f log.*
    time_limited 90 python3 "$play" "$what" "$TMPDIR/log." "$@"
}

@test "^C shows the state, and a second one within a second ends the step" {
    words=("$MPRUN" ${transport:+"$transport"} -n 2 --oversubscribe sh -c "echo begun; $(as_ranks wait)")
    for input in /dev/tty /dev/null; do
        run -0 at_terminal interrupt sh -c "exec \"\$@\" <$input" - "${words[@]}"
        [[ $output == "code 130"* ]]
        [[ $output == *"2 of 2 ranks started"* ]]
        [ "$(grep -cx TERM log.0)" -eq 1 ]
    done
}

@test "^C after the second was over shows the state again" {
    run -0 at_terminal again "$MPRUN" $transport -n 2 --oversubscribe sh -c "$(as_ranks wait)"
    [[ $output == "code 130"* ]]
}

# books TEXT JSON: of N ranks (one a host) that have burnt 0.7 s and hold 50 MiB each, what TEXT, an mprun's
# terminal, says of all and of each host, held to that, to the time and to the final report
books() {
    python3 - "$@" <<'PY'
import json, os, re, sys
text, final, n = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), int(sys.argv[3])
text = text[text.rindex("mprun: step "):]  # the last look
amount = r"CPU time ([\d.]+) s so far \(([\d.]+) cores busy on average\); now memory (?:<= )?([\d.]+) MiB, (\d+) process"
cpu, busy, memory, processes = map(float, re.search("all ranks: " + amount, text).groups())
wall = float(re.search(r", for (\d+) s; \^C again", text).group(1)) + 1.5
cores = len(os.sched_getaffinity(0))
assert n * 0.7 - 0.05 * n <= cpu <= wall * cores, (cpu, wall, cores)
assert n * 0.7 / (wall + 1) - 0.1 <= busy <= cores + 0.1, busy
assert 50 * n <= memory <= 60 * n, memory
assert processes == n, processes
used = final["ranks_usage"]
assert cpu - 0.05 * n <= used["cpu_user_s"] + used["cpu_system_s"] <= cpu + 0.5, (cpu, used)
hosts = [list(map(float, h)) for h in re.findall("on \\S+: " + amount, text)]
if n <= 4:
    assert len(hosts) == n and all(h[0] >= 0.65 and h[2] >= 50 and h[3] == 1 for h in hosts), hosts
    assert abs(sum(h[0] for h in hosts) - cpu) < 0.05 and abs(sum(h[2] for h in hosts) - memory) < 1
else:
    least, most, low, high = map(float, re.search(
        r"a host: from ([\d.]+) cores busy \(\S+\) to ([\d.]+) \(\S+\); "
        r"memory from (?:<= )?([\d.]+) MiB \(\S+\) to (?:<= )?([\d.]+) MiB", text).groups())
    assert not hosts and 0.7 / (wall + 1) - 0.1 <= least <= busy / n + 0.1 and most <= 1.1 and 50 <= low <= high <= 60, text
PY
}

# at_books PLAY OPTIONS...: mprun at a terminal, a rank on each host, with a report at the end
at_books() {
    local play=$1
    shift
    time_limited 90 "$MPRUN_SOURCE/tests/lib/terminal" "$MPRUN" $transport --overlap --npernode 1 \
        --oversubscribe --report-json report.json "$@" <<<"$play"
}

@test "^C shows what all ranks use now: on several hosts, and through a tree" {
    local spin memhog n options hosts
    needs_tool python3
    spin=$(mpi_program spin none)
    memhog=$(mpi_program memhog none)
    for options in "--rm local:3 -n 3" "--rm local:5 -n 5 --fanout 2 --containment=tree"; do
        n=${options#*-n }
        n=${n%% *}
        hosts="(mprun: on \S+: .*\s+){$n}"
        [ "$n" -le 4 ] || hosts="mprun: a host: .*\s+"
        # all of it first: ^\ flushes what the terminal has not shown yet; a slow start's progress is erased
        run -131 at_books "wait (rank \d: 50 MiB touched(\s|\x1b\[K)+){$n}
look again within 1 s to end it\s+mprun: all ranks: CPU time .*\s+$hosts
type \x1c" $options sh -c "'$spin' 0.7; exec '$memhog' 50 1000"
        echo "$output" | tee shown
        books shown report.json "$n"
    done
}

# The rank of n1 has ended; what is stopped is the starter of n2, by its rank: it goes on when a line is typed for
# rank 0.
@test "^C counts a host that is done, and names one that does not answer in time" {
    local spin cpu
    spin=$(mpi_program spin none)
    run -131 at_books 'wait all set
look ranks on 2 of 3 hosts: CPU time .* process[^$]*no answer within 0.5 s of 1 host: \S+-2\s
type go\n
wait goes on
type \x1c' --rm local:3 -n 3 --fanout 0 bash -c 'case $MPRUN_RANK in
        0) until [ -e stopped ] && [ -e burnt ]; do sleep 0.05; done
           echo "all set"; read word; touch "$word"; exec sleep 1000 ;;
        1) "$0" 0.6; touch burnt ;;
        2) kill -STOP $PPID; touch stopped; until [ -e go ]; do sleep 0.05; done
           kill -CONT $PPID; echo goes on; exec sleep 1000 ;;
        esac' "$spin"
    echo "$output"
    [ "$(grep -c 'no answer within' <<<"$output")" -eq "$(grep -c 'again within 1 s' <<<"$output")" ]
    cpu=$(sed -nE 's/.*on \S+-1: CPU time ([0-9.]+) s so far.*/\1/p' <<<"$output" | tail -n 1)
    awk -v cpu="$cpu" 'BEGIN { exit !(cpu >= 0.58 && cpu < 1.5) }'
}

@test "called as mpirun or mpiexec, the first ^C ends the step" {
    for name in mpirun mpiexec; do
        ln -s "$MPRUN" $name
        run -0 at_terminal once "./$name" $transport -n 2 --oversubscribe sh -c "$(as_ranks wait)"
        [[ $output == "code 130"* ]]
        [[ $output != *again* ]]
    done
}

@test "^Z stops everything under a shell with job control, and fg continues it" {
    run -0 at_terminal suspend "$MPRUN" $transport -n 2 --oversubscribe sh -c "$(as_ranks wait)"
    [[ $output == "code 130"* ]]
}

@test "a terminal that goes away ends the step" {
    run -0 at_terminal hangup "$MPRUN" $transport -n 2 --oversubscribe sh -c "$(as_ranks wait)"
    [[ $output == "code 129"* ]]
    [ "$(grep -cx TERM log.0)" -eq 1 ]
}

@test "mprctl status: a step that does not answer hides no other, one that has ended is none; a full disk is said" {
    local first
    touch "$XDG_RUNTIME_DIR"/some-other-name-{1..3000} # more than one look at the directory
    mprun_start --oversubscribe -n 1 sleep 60
    first=$MPRUN_PID
    mprun_start --oversubscribe -n 1 sleep 60
    # of these two: others may run beside the test
    shown() { mprctl status 2>&1 | grep -cE "step ($(cd "$XDG_RUNTIME_DIR" && echo mprun-* | sed 's/mprun-//g; s/ /|/g'))$1"; }
    two_run() { [ "$(shown ' is running: 1 of 1 ')" = 2 ]; }
    wait_until 20 two_run
    mkdir -m 700 "$XDG_RUNTIME_DIR"/mprun-aaaaaaaaaa{a..z}{a..c} # their mpruns have just died
    [ "$(shown '')" = 2 ]
    run -1 bash -c '"$1" status >/dev/full' bash "$MPRUN_BUILD/tools/mprctl"
    [[ $output == *"mprctl: write to standard output: No space left on device" ]]
    kill -STOP "$first" "$MPRUN_PID"
    [ "$(shown ': its mprun does not answer')" = 2 ] # one hides no other
    kill -CONT "$first" "$MPRUN_PID"
    kill -TERM "$first" "$MPRUN_PID"
    ends_with 143
    wait_until 10 process_gone "$first"
    rm -rf "$XDG_RUNTIME_DIR"/mprun-aaaaaaaaaa* "$XDG_RUNTIME_DIR"/some-other-name-*
}

# bats test_tags=root
@test "mprctl asks nobody else's steps, whatever is in a place that others can write" {
    needs_root
    mkdir -m 755 "$TMPDIR/mprun-aaaaaaaaaaaa" && touch "$TMPDIR/mprun-aaaaaaaaaaaa/control"
    chown -R "$TEST_UID" "$TMPDIR/mprun-aaaaaaaaaaaa"
    run -1 env XDG_RUNTIME_DIR= "$MPRUN_BUILD/tools/mprctl" status aaaaaaaaaaaa
    [[ $output == *"no step aaaaaaaaaaaa of yours has its mprun on this host"* ]]
}
