#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# completion.bats - what shells offer behind the beginning of a command line
load '../lib/mprun'

COMPLETION=$MPRUN_SOURCE/share/completion

# Each shell has a line "WORDS|WORDS COMPLETED" for each of these; shells differ in blanks at the end.
cases() {
    cat <<'END'
--bind-t|--bind-to
--bind-to nu|--bind-to numa
--bind-to=nu|--bind-to=numa
--report usage,la|--report usage,launch
--rm sl|--rm slurm
--as sru|--as srun
--as srun --partit|--as srun --partition
--hostfile nod|--hostfile nodes.txt
--hostfile=nod|--hostfile=nodes.txt
--wdir ru|--wdir runs/
-n 2 ./sol|-n 2 ./solver
-n 2 ./solver inp|-n 2 ./solver input.dat
-n 1 ./solver : --tag-ou|-n 1 ./solver : --tag-output
END
}

make_files() {
    mkdir runs
    touch nodes.txt input.dat
    printf '#!/bin/sh\n' >solver && chmod +x solver
    PATH=$(dirname "$MPRUN"):$PATH
}

@test "mprun --complete: options of the dialect, words of a value, or what the shell is to complete" {
    while IFS='|' read -r words expected; do
        [ "$("$MPRUN" --complete $words | cut -f 1 | paste -sd ' ')" = "$expected" ] || { echo "$words: $("$MPRUN" --complete $words)"; false; }
    done <<'END'
--frobnicate|
--host n1,n|@hosts
--exclude=n|@hosts
--rm p|pbs
--on-limit kill|kill-step kill-rank
--agent s|@commands
-x PA|@variables
-x A=1 --topolog|--topology
--help dial|@commands dialects
--as srun --signal U|@signals
--as srun --parti|--partition
--as mpirun --parti|
--parti|
--mca a b --tag-ou|--tag-output
-n 2 a --bind-t|@files
--frobnicate --bind-t|
END
    [ -z "$("$MPRUN" --complete)" ]
    # every option of --help all is offered, and no other
    "$MPRUN" --complete - | cut -f 1 | sort >offered
    "$MPRUN" --help all | grep -oE '^  (  )?-[^ ]+(, -[^ ]+)*' | tr -d ' ' | tr ',' '\n' | sed 's/\[.*//' | grep . | sort >listed
    diff offered listed
    run -125 bash -c '"$1" --complete - >/dev/full' bash "$MPRUN"
}

@test "bash completes options, values, files, hosts and signals" {
    make_files
    export HOSTFILE=$PWD/hosts
    echo '10.0.0.1 alpha1' >hosts
    cat >play <<'END'
. "$1"
while IFS='|' read -r words expected; do
    COMP_LINE="mprun $words" COMP_POINT=$((${#words} + 6))
    _mprun
    typed=${words##*[ =:]}
    [ "${#COMPREPLY[@]}" = 1 ] && got=${words%"$typed"}${COMPREPLY[0]} || got="${#COMPREPLY[@]} words: ${COMPREPLY[*]}"
    [ "${got%/}" = "${expected%/}" ] || echo "$words: $got"
done
END
    { cases; echo '--host n1,alp|--host n1,alpha1'; echo '--as srun --signal SIGUSR1|--as srun --signal SIGUSR1'; } >lines
    run -0 bash --norc play "$COMPLETION/mprun.bash" <lines
    [ -z "$output" ]
    # loaded as a shell at a terminal loads it
    run -0 bash --norc -c '. "$1"; complete -p mprun' bash "$COMPLETION/mprun.bash"
    [ "$output" = "complete -F _mprun mprun" ]
}

@test "zsh completes them" {
    needs_tool zsh
    make_files
    cat >play <<'END'
zmodload zsh/zpty
zpty z 'TERM=dumb zsh -f -i'
zpty -w z 'fpath=($COMPLETION $fpath); autoload -U compinit; compinit -u -D; show() { print -r -- "$BUFFER" >>$OUT; BUFFER= }; zle -N show; bindkey "^G" show; print -r -- ready >>$OUT'
while [[ ! -s $OUT ]] zselect -t 10
while IFS='|' read -r words expected; do zpty -w -n z "mprun $words"$'\t\C-g'; done
n=$1
while (($(wc -l <$OUT) <= n)) zselect -t 10
zpty -d z
END
    { cases; echo '--as srun --signal USR1|--as srun --signal USR1'; } >lines
    : >out
    COMPLETION=$COMPLETION OUT=$PWD/out time_limited 60 zsh -f -c 'zmodload zsh/zselect; . ./play' zsh "$(wc -l <lines)" <lines
    sed '1d; s/^mprun //; s/ *$//' out >got
    cut -d '|' -f 2 lines | diff - got
}

@test "fish completes them" {
    needs_tool fish
    make_files
    { cases; echo '--as srun --signal USR1|--as srun --signal USR1'; } >lines
    cat >play <<'END'
source $argv[1]
while read -l line
    set -l words (string split '|' -- $line)[1]
    echo "$words|"(complete -C "mprun $words" | string replace -r '\t.*' '' | string join ' ')
end
END
    HOME=$PWD time_limited 60 fish --no-config play "$COMPLETION/mprun.fish" <lines >got
    # fish shows the last word alone
    sed -E 's/\|.* /|/' lines | diff - got
}
