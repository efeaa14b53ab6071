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
    [[ $output == *"program     touch: 2 ranks in $PWD"* ]]
    # what it says of containment is what a step has
    said=$(sed -n "s/^ *containment '\([a-z]*\)'.*/\1/p" <<<"$output" | sort -u)
    run -0 --separate-stderr mprun -n 1 --verbose true
    [[ $stderr == *"containment '$said'"* ]]
}

@test "--explain tells of what would fail" {
    run -0 --separate-stderr mprun -n $(($(ncores) + 1)) --bind-to core --explain touch started
    [[ $output == *"would fail: bind "* ]]
    [ ! -e started ]
}
