#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# binding.bats - which cores ranks run on, and whether --report-bindings says what the kernel says
load '../lib/mprun'

# "RANK THREADS" of each rank, as the kernel has them
show='echo "$MPRUN_RANK $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)"'
allowed() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }
# an id list such as 0-2,5 with one id in a line
ids() { tr ',' '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done; }
ncores() { lscpu -p=CORE,SOCKET,CPU | grep -v '^#' | sort -u | while IFS=, read -r c s t; do
    ids <<<"$(allowed)" | grep -qx "$t" && echo "$c,$s"; done | sort -u | wc -l; }
threads_of() { sed -n "s/^$1 //p" <<<"$output" | ids; }

@test "ranks are bound to a core each where there are enough, and not where there are not" {
    needs_cores 2
    cores=$(ncores)
    run -0 --separate-stderr mprun -n "$cores" sh -c "$show"
    [ "$(cut -d' ' -f2 <<<"$output" | ids | sort | uniq -d)" = "" ]
    [ "$(cut -d' ' -f2 <<<"$output" | ids | sort -n)" = "$(allowed | ids)" ]
    run -0 --separate-stderr mprun -n $((cores + 1)) --oversubscribe sh -c "$show"
    [ "$(cut -d' ' -f2 <<<"$output" | sort -u)" = "$(allowed)" ]
}

@test "an ordinary user's ranks are bound in the same way" {
    needs_cores 2
    run -0 --separate-stderr run_as_user mprun -n 2 sh -c "$show"
    [ "$(cut -d' ' -f2 <<<"$output" | sort -u | wc -l)" -eq 2 ]
}

@test "--bind-to none leaves all cores to every rank, --bind-to core binds" {
    needs_cores 2
    run -0 --separate-stderr mprun -n 2 --bind-to none sh -c "$show"
    [ "$(cut -d' ' -f2 <<<"$output" | sort -u)" = "$(allowed)" ]
    run -0 --separate-stderr mprun -n 1 --bind-to core sh -c "$show"
    [ "$(threads_of 0 | wc -l)" -le "$(lscpu | sed -n 's/^Thread(s) per core: *//p')" ]
}

@test "a rank has as many cores and slots as --cpus-per-rank says, and the cores that OMP_NUM_THREADS says" {
    needs_cores 2
    cores=$(ncores)
    run -0 --separate-stderr mprun --cpus-per-rank "$cores" --verbose sh -c "$show"
    [ "$output" = "0 $(allowed)" ]
    [[ $stderr == *"bound to cores: 1 rank of $cores cores, $cores cores"* ]]
    run -125 --separate-stderr mprun -n 2 --map-by "slot:pe=$cores" --nooversubscribe sh -c "$show"
    [[ $stderr == *"place 2 ranks of $cores cores: 1 host has $cores slots (cores of this machine), room for 1; "* ]]
    export OMP_NUM_THREADS="$cores,1"
    run -0 --separate-stderr mprun -n 1 --verbose sh -c "$show"
    [ "$output" = "0 $(allowed)" ]
    [[ $stderr == *"bound to cores: 1 rank of $cores cores"* ]]
    export OMP_NUM_THREADS=1
    run -0 --separate-stderr mprun -n 1 -x "OMP_NUM_THREADS=$cores" --explain true
    [[ $output == *"bound to cores: 1 rank of $cores cores, $cores cores (OMP_NUM_THREADS)"* ]]
    export OMP_NUM_THREADS=64000
    run -0 --separate-stderr mprun -n 1 --verbose true
    [[ $stderr == *"not bound: 1 rank of 64000 cores on $cores cores"* ]]
    export OMP_NUM_THREADS=many
    run -0 --separate-stderr mprun -n "$cores" --verbose true
    [[ $stderr == *"bound to cores: $cores ranks, $cores cores"* ]]
    export OMP_NUM_THREADS="$cores"
    run -0 --separate-stderr mprun -n 1 --bind-to core --verbose true
    [[ $stderr == *"bound to cores: 1 rank, $cores cores"* ]]
}

@test "--gpus-per-rank gives each rank its own of the host's GPUs, or a part of one; too few start nothing" {
    show_gpus='echo "$MPRUN_RANK ${CUDA_VISIBLE_DEVICES-} ${ROCR_VISIBLE_DEVICES-} ${ZE_AFFINITY_MASK-}"'
    gpus() { run -0 --separate-stderr mprun --host localhost:4 "$@" && sort <<<"$output"; }
    export CUDA_VISIBLE_DEVICES=3,GPU-1a,0
    [ "$(gpus -n 3 --gpus-per-rank 1 sh -c "$show_gpus")" = $'0 3  \n1 GPU-1a  \n2 0  ' ]
    [ "$(gpus -n 1 --gpus-per-rank 2 sh -c "$show_gpus" : -n 2 --gpus-per-rank 0.5 sh -c "$show_gpus")" = $'0 3,GPU-1a  \n1 0  \n2 0  ' ]
    # a line's GPUs are of its first program, those beside a file of every program there
    [ "$(gpus -n 1 --gpus-per-rank 1 sh -c "$show_gpus" : -n 2 sh -c "$show_gpus")" = $'0 3  \n1 3,GPU-1a,0  \n2 3,GPU-1a,0  ' ]
    printf -- "-n 1 sh -c '%s'\n-n 2 sh -c '%s'\n" "$show_gpus" "$show_gpus" >programs
    [ "$(gpus --gpus-per-rank 1 --app programs)" = $'0 3  \n1 GPU-1a  \n2 0  ' ]
    # what the user gives for the ranks, and ranks without GPUs of their own
    [ "$(gpus -n 1 --gpus-per-rank 1 -x CUDA_VISIBLE_DEVICES=9 sh -c "$show_gpus")" = '0 9  ' ]
    [ "$(gpus -n 1 sh -c "$show_gpus")" = '0 3,GPU-1a,0  ' ]
    run -125 --separate-stderr mprun --host localhost:4 -n 2 --gpus-per-rank 2 touch began
    [[ $stderr == *"on localhost 2 ranks would have 4 GPUs, and there are 3 for this step"* ]]
    [ ! -e began ]
    # one command has a GPU after the other
    printf '%s\n' 'sh -c "echo $CUDA_VISIBLE_DEVICES"'{,,,,} >queue
    run -0 --separate-stderr mprun --host localhost:3 --gpus-per-rank 1 --queue queue
    [ "$(grep -cxE '3|GPU-1a|0' <<<"$output")" -eq 5 ]
    unset CUDA_VISIBLE_DEVICES
    export ROCR_VISIBLE_DEVICES=0,1
    [ "$(gpus -n 2 --gpus-per-rank 1 sh -c "$show_gpus")" = $'0  0 \n1  1 ' ]
}

@test "--bind-to core with more ranks than cores says how many there are, and starts nothing" {
    many=$(($(ncores) + 1))
    run -125 --separate-stderr mprun -n $many --oversubscribe --bind-to core touch started
    [[ $stderr == "mprun: "*"$many ranks"*"$(ncores) core"*"--bind-to none"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ ! -e started ]
}

@test "--report-bindings prints what the kernel says of each rank" {
    for words in "-n 2" "-n 2 --bind-to none" "-n 3 --rm local:2" "-n 2 --pmi none" "-n 2 --rm local:2 --bind-to core"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words --oversubscribe --report-bindings sh -c "$show"
        n=$(wc -l <<<"$output")
        [ "$n" -ge 2 ]
        for ((rank = 0; rank < n; rank++)); do
            told=$(grep -E "^mprun: rank $rank on " <<<"$stderr")
            [ "$(wc -l <<<"$told")" -eq 1 ]
            [[ $told =~ hardware\ threads?\ ([0-9,-]+)$ ]]
            [ "${BASH_REMATCH[1]}" = "$(sed -n "s/^$rank //p" <<<"$output")" ]
        done
    done
}

@test "the hosts of local:N have cores of their own, and ranks stay on them" {
    needs_cores 2
    run -0 --separate-stderr mprun --rm local:2 -n 4 --oversubscribe sh -c \
        'echo "$MPRUN_HOST_INDEX $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)"'
    first=$(sed -n 's/^0 //p' <<<"$output" | sort -u | ids | sort -u)
    second=$(sed -n 's/^1 //p' <<<"$output" | sort -u | ids | sort -u)
    [ -n "$first" ]
    [ -n "$second" ]
    [ -z "$(comm -12 <(echo "$first") <(echo "$second"))" ]
    # --bind-to none does not take what was granted to the other host
    run -0 --separate-stderr mprun --rm local:2 -n 2 --bind-to none sh -c "$show"
    [ -z "$(comm -12 <(threads_of 0 | sort) <(threads_of 1 | sort))" ]
}

@test "started on some cores only, mprun uses no others" {
    needs_cores 2
    needs_tool taskset
    for core in $(allowed | ids | sed -n '1p;2p'); do
        for words in "-n 1" "-n 2" "-n 2 --bind-to none" "-n 2 --pmi none" "-n 2 --rm local:2" "-n 1 --bind-to core"; do
            # shellcheck disable=SC2086
            run -0 --separate-stderr time_limited 20 taskset -c "$core" "$MPRUN" \
                ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --oversubscribe $words sh -c "$show"
            [ "$(cut -d' ' -f2 <<<"$output" | sort -u)" = "$core" ]
        done
        # and it counts as the slots that there are
        run -0 --separate-stderr time_limited 20 taskset -c "$core" "$MPRUN" \
            ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} sh -c "$show"
        [ "$output" = "0 $core" ]
        run -125 --separate-stderr time_limited 20 taskset -c "$core" "$MPRUN" \
            ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} -n 2 --oversubscribe --bind-to core true
        [[ $stderr == *"1 core"* ]]
    done
}

@test "a step within a rank stays on that rank's core" {
    needs_cores 2
    run -0 --separate-stderr mprun -n 2 "$MPRUN" -n 1 sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status'
    [ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
}

@test "--explain says on each host what was found there and what would be done, and runs nothing" {
    run -0 --separate-stderr mprun --rm local:2 -n 2 --explain touch started
    [ ! -e started ]
    [[ $output == "adapter     local: asked for with --rm"* ]]
    [ "$(grep -c "^host        $(hostname)-[01]: .*(cores of this machine).*rank [01]$" <<<"$output")" -eq 2 ]
    version=$("$MPRUN" --version | cut -d' ' -f2)
    [ "$(grep -c "kernel's name $(hostname), $(ncores) cores\? (hardware threads $(allowed)), memory .*, mpstarter $version" <<<"$output")" -eq 2 ]
    [ "$(grep -c "bound to cores: 1 rank, " <<<"$output")" -eq 2 ]
    [ "$(grep -c "containment '" <<<"$output")" -eq 2 ]
    [[ $output == *"transport   ${MPRUN_TRANSPORT:-unix}"* ]]
    [[ $output == *"program     touch: 2 ranks in $PWD"$'\n'"            file: "*"/touch"* ]]
    # what it says of containment is what a step has
    said=$(sed -n "s/^ *containment '\([a-z]*\)'.*/\1/p" <<<"$output" | sort -u)
    run -0 --separate-stderr mprun -n 1 --verbose true
    [[ $stderr == *"containment '$said'"* ]]
}

@test "--explain and --dry-run have exit code 125 where the ranks could not be bound" {
    for option in --explain --dry-run; do
        run -125 --separate-stderr mprun -q -n $(($(ncores) + 1)) --bind-to core $option touch started
        [[ $stderr == "mprun: host $(hostname): bind "* && ${#stderr_lines[@]} -eq 1 ]]
        [[ $output == "adapter "* ]]
    done
    [ ! -e started ]
}

# steps TEXT: run it where /dev/shm is nobody else's, with
#   step NAME -n N OPTIONS...  a step that runs until the file over.NAME is there: err.NAME says where its ranks are
#   over NAME...           and has ended
#   cores NAME             the hardware threads of its ranks
steps() {
    [ "$(ncores)" -ge 2 ] || skip "needs 2 cores"
    local namespace=(unshare --mount --propagation private)
    [ "$(id -u)" = 0 ] || namespace+=(--user --map-root-user)
    "${namespace[@]}" mount -t tmpfs tmpfs /dev/shm 2>/dev/null || skip "needs a /dev/shm of its own"
    cat >script <<'END'
set -eu
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ledger=/dev/shm/mprun.cores.0
n=$1
shift
options=("$@")
declare -A pid ranks
until_true() { for ((i = 0; i < 300; i++)); do if "$@"; then return 0; fi; sleep .05; done; echo "never: $*" >&2; exit 1; }
# all of its ranks: each one's line comes when it was started
is_there() { [ "$(grep -c "^mprun: rank [0-9]* on " "err.$1")" = "${ranks[$1]}" ] && [ -e "runs.$1" ]; }
step() {
    local name=$1
    shift
    "$MPRUN" "${options[@]}" -v --report-bindings "$@" \
        sh -c 'touch runs.$0; until [ -e over.$0 ]; do sleep .05; done' "$name" 2>"err.$name" &
    pid[$name]=$! ranks[$name]=$2
}
runs() { step "$@"; until_true is_there "$1"; }
over() { for name; do touch "over.$name"; wait "${pid[$name]}"; done; }
cores() { sed -n 's/^mprun: rank .*hardware threads\? //p' "err.$1"; }
END
    echo "$1" >>script
    MPRUN=$MPRUN time_limited 60 "${namespace[@]}" bash script "$(ncores)" \
        ${MPRUN_TRANSPORT:+"--transport=$MPRUN_TRANSPORT"} --containment=tree
}

@test "steps that run at the same time are bound to different cores while there are free ones" {
    steps '
        runs A -n 1
        [ "$(stat -c "%a %s" $ledger)" = "600 0" ]
        runs B -n $((n - 1))
        [ "$(cat <(cores A) <(cores B) | sort -u | wc -l)" = "$n" ]
        runs C -n 1
        grep -q "not bound: 1 rank on 0 free of $n cores" err.C
        runs D -n 1 --bind-to core
        grep -q "bound to cores: 1 rank, $n cores, 1 core shared with other steps" err.D
        runs E -n $n --overlap
        [ "$(cores E | sort -u | wc -l)" = "$n" ]
        over A
        runs F -n 1
        [ "$(cores F)" = "$(cores A)" ]
        over B C D E F
        # each in a rank that has a core, and that stays on it
        "$MPRUN" "${options[@]}" -n $n "$MPRUN" "${options[@]}" -v -n 1 true 2>err
        [ "$(grep -c "not bound: 1 rank on 1 core, which the rank has that this step runs in" err)" = "$n" ]
        [ ! -e $ledger ]'
}

# bats test_tags=root
@test "steps share no cores where another user has taken the name of their ledger" {
    needs_root
    steps '
        install -m 600 -o 65534 /dev/null $ledger
        runs A -n 1
        runs B -n $((n - 1))
        [ "$(cat <(cores A) <(cores B) | sort -u | wc -l)" = "$n" ]
        [ "$(stat -c "%a %u %s" $ledger.*)" = "600 0 0" ]
        over A B
        [ "$(echo /dev/shm/*)" = $ledger ]'
}

@test "the cores of a step are free when its keeper has gone, however it went" {
    steps '
        runs A -n $n
        keeper=$(pgrep -P ${pid[A]} -x mpstarter)
        kill -STOP $keeper
        kill -KILL $(pgrep -P $keeper -x mpstarter) $keeper
        touch over.A
        if wait ${pid[A]}; then exit 1; fi
        [ -e $ledger ] # nobody could remove it
        runs B -n $n
        [ "$(cores B)" = "$(cores A)" ]
        keeper=$(pgrep -P ${pid[B]} -x mpstarter)
        kill -KILL $(pgrep -P $keeper -x mpstarter)
        if wait ${pid[B]}; then exit 1; fi
        touch over.B
        [ ! -e $ledger ]
        runs C -n 1
        kill -KILL $(pgrep -P ${pid[C]} -x mpstarter)
        if wait ${pid[C]}; then exit 1; fi
        touch over.C
        until_true test ! -e $ledger
        # one that others have left goes with the end of a step that has none, also when its worker was killed
        install -m 600 /dev/null $ledger
        runs D -n 1 --bind-to none
        [ -e $ledger ]
        over D
        [ ! -e $ledger ]
        install -m 600 /dev/null $ledger
        runs E -n 1 --bind-to none
        keeper=$(pgrep -P ${pid[E]} -x mpstarter)
        kill -KILL $(pgrep -P $keeper -x mpstarter)
        if wait ${pid[E]}; then exit 1; fi
        touch over.E
        [ ! -e $ledger ]'
}

@test "steps that begin at the same moment have different cores" {
    steps '
        for round in 1 2 3 4 5; do
            for ((k = 0; k < n; k++)); do step $round.$k -n 1; done
            for ((k = 0; k < n; k++)); do until_true is_there $round.$k; done
            [ "$(for ((k = 0; k < n; k++)); do cores $round.$k; done | sort -u | wc -l)" = "$n" ]
            for ((k = 0; k < n; k++)); do over $round.$k; done
        done
        [ ! -e $ledger ]'
}

@test "without a ledger of the user alone steps run, and are told why" {
    steps '
        install -m 666 /dev/null $ledger
        runs A -n 1
        grep -q "^mprun: .*.$ledger. is not a file of this user alone: until it is removed, " err.A
        [ "$(cores A | wc -l)" = 1 ]
        over A
        [ -e $ledger ]'
}

@test "--cpu-set: no rank leaves its cores, also where ranks have none of their own" {
    local core words
    core=$(allowed) && core=${core%%[,-]*}
    for words in "--bind-to none" "--bind-to core:overload-allowed" ""; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun -q -n 3 --oversubscribe --overlap --cpu-set "$core" $words sh -c "$show"
        [ "$(sort <<<"$output" | paste -sd' ')" = "0 $core 1 $core 2 $core" ]
    done
}
