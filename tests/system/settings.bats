#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# settings.bats - options that files and variables set: which of them counts, and what is refused
load '../lib/mprun'

# an installation of its own, whose administrator is this test
setup() {
    mprun_setup
    mkdir -p bin libexec/mprun etc/mprun home/.config/mprun
    cp "$MPRUN" bin/mprun
    cp "$MPRUN_BUILD/starter/mpstarter" "$MPRUN_BUILD/pmix-server/mppmi" libexec/mprun/
    MPRUN=$PWD/bin/mprun SITE=$(realpath etc/mprun)/mprun.conf MINE=$PWD/home/.config/mprun/mprun.conf
    unset XDG_CONFIG_HOME
    export HOME=$PWD/home
}

# counting OPTION...: what counts of what is set, a line each
counting() {
    run -0 --separate-stderr mprun "$@" --show-config
    [ -z "$stderr" ]
    output=$(grep -v '^#' <<<"$output" || true)
}

@test "the line comes before a variable, that before the user's file, and the administrator's is last" {
    counting
    [ -z "$output" ]
    echo '--kill-grace 1' >"$SITE"
    counting
    [ "$output" = --kill-grace=1 ]
    echo '--kill-grace=2' >"$MINE"
    counting
    [ "$output" = --kill-grace=2 ]
    export MPRUN_OPTION_KILL_GRACE=3
    run -0 mprun --show-config
    [[ $output == "# MPRUN_OPTION_KILL_GRACE
--kill-grace=3
# $MINE
# --kill-grace=2 (another one counts)
# $SITE
# --kill-grace=1 (another one counts)
# built in
"* ]]
    grep -qx '# --link-security=encrypt' <<<"$output" && grep -qx '# --heartbeat=6s' <<<"$output"
    ! grep -q '^# --kill-grace=10' <<<"$output" || false
    counting --kill-grace 4
    [ -z "$output" ]
    counting --no-config
    [ -z "$output" ]
    XDG_CONFIG_HOME=$PWD/xdg counting
    mkdir -p xdg/mprun && echo '--heartbeat 9' >xdg/mprun/mprun.conf
    XDG_CONFIG_HOME=$PWD/xdg counting
    [ "$output" = $'--kill-grace=3\n--heartbeat=9' ]
}

@test "ranks are started as files say, and the line changes that" {
    printf '%s\n' '--genv "SAYS=the site"' --tag-output '--map-by node' >"$SITE"
    run -0 --separate-stderr mprun --rm local:2 -n 2 sh -c 'echo $SAYS on $MPRUN_HOST_INDEX'
    [[ $(sort <<<"$output") == *"the site on 0"*$'\n'*"the site on 1" ]]
    [[ $output != "the site"* ]]
    # a switch is off, a variable is another one, and hosts are filled
    echo '--tag-output=no' >"$MINE"
    run -0 --separate-stderr mprun --rm local:2 --overlap --map-by slot -x SAYS=me --oversubscribe -n 2 \
        sh -c 'echo $SAYS on $MPRUN_HOST_INDEX'
    [[ $(sort <<<"$output") == "me on 0"$'\n'"me on "* ]]
    # --npernode says where ranks are, too
    counting --npernode 1
    [[ $output != *map-by* ]]
    MPRUN_OPTION_BYNODE=yes counting
    [[ $output == *--bynode=yes* && $output != *map-by* ]]
    # each variable counts for itself
    printf '%s\n' '--genv A=site' '--genv B=site' '--genv C=site' >"$SITE"
    echo '--genv B=mine' >"$MINE"
    run -0 --separate-stderr mprun --rm local --quiet --genv C=line -n 1 sh -c 'echo $A $B $C'
    [ "$output" = "site mine line" ]
    echo '--tag-output=no' >"$MINE"
    # what other launchers' variables say comes before the files
    echo '--timeout 100' >"$SITE"
    MPIEXEC_TIMEOUT=50 counting
    [ "$output" = $'--timeout=50\n--tag-output=no' ]
}

@test "a limit of the line counts before that of a file, whichever option gives it" {
    mkdir plan && cp "$MPRUN_BUILD/plan/topology.so" plan/
    limits() { run -0 --separate-stderr mprun "$@" --dry-run -n 1 true; }
    printf '%s\n' '--limit rank:mem=1G,rank:core=0' '--mem 3G' '[local]' '--mem 4G' >"$SITE"
    limits
    [[ $output == *"memory of a host limited to 4 GiB"* && $output == *"memory of a rank limited to 1 GiB"* ]]
    limits --mem-per-rank 2G
    [[ $output == *"memory of a rank limited to 2 GiB"*"core"* ]]
    limits --limit host:mem=5G
    [[ $output == *"memory of a host limited to 5 GiB"* ]]
    printf '%s\n' '[locked]' '--mem 3G' >"$SITE"
    run -125 --separate-stderr mprun --limit host:mem=5G -n 1 true
    [[ $stderr == *"line 2: option '--mem': 'host:mem' is 5 GiB already; keep one" ]]
}

@test "a section is for jobs of one manager" {
    printf '%s\n' '[slurm]' '--heartbeat 1' '[local]' '--heartbeat 2' '[ssh]' '--heartbeat 3' '[all]' '--fanout 4' >"$MINE"
    counting --rm local
    [ "$output" = $'--heartbeat=2\n--fanout=4' ]
    counting --rm ssh --host n1
    [ "$output" = $'--heartbeat=3\n--fanout=4' ]
}

@test "what is locked counts, and who says otherwise is told where it is" {
    printf '%s\n' '--kill-grace 5' '[locked]' '# all steps end' '--timeout 1h' --bynode >"$SITE"
    counting
    [ "$output" = $'--timeout=1h\n--bynode\n--kill-grace=5' ]
    counting --no-config
    [ "$output" = $'--timeout=1h\n--bynode' ]
    MPIEXEC_TIMEOUT=50 counting
    [[ $output == *--timeout=1h* && $output != *50* ]]
    local said="mprun: file '$SITE' line 4: the administrator has locked '--timeout'; leave it, and what says the same, out of the command line"
    for line in "--timeout 5" "--as srun --time 5"; do
        # shellcheck disable=SC2086
        run -125 --separate-stderr "$MPRUN" $line true
        [ "$stderr" = "$said" ]
    done
    run -125 --separate-stderr "$MPRUN" --map-by slot true
    [[ $stderr == *"line 5: the administrator has locked '--bynode'; "* ]]
    run -125 --separate-stderr "$MPRUN" -n 1 true : --npersocket 1 -n 1 true
    [[ $stderr == *"line 5: the administrator has locked '--bynode'; "* ]]
    MPRUN_OPTION_TIMEOUT=5 run -125 --separate-stderr "$MPRUN" true
    [ "$stderr" = "mprun: MPRUN_OPTION_TIMEOUT: the administrator has locked '--timeout' in '$SITE'; leave it out" ]
    echo '--nodes 2' >"$MINE"
    run -125 --separate-stderr "$MPRUN" true
    [ "$stderr" = "mprun: file '$MINE' line 1: the administrator has locked '--nodes' in '$SITE'; leave it out" ]
}

@test "--check names every mistake of files and variables, and there may be none" {
    printf '%s\n' '--heartbeat 9' '--nix 3' '[slrum]' '[all]' '--timeout x' '"open' >"$MINE"
    printf '%s\n' '[locked]' 'word' >"$SITE"
    MPRUN_OPTION_FANOUT=many MPRUN_OPTION_NIX=1 run -125 --separate-stderr "$MPRUN" --check
    [ -z "$output" ]
    echo "$stderr"
    [ "$(cut -d ' ' -f 2-5 <<<"$stderr" | LC_ALL=C sort)" = "MPRUN_OPTION_FANOUT: option '--fanout': 'many'
MPRUN_OPTION_NIX: there is no
file '$SITE' line 2:
file '$MINE' line 2:
file '$MINE' line 3:
file '$MINE' line 5:
file '$MINE' line 6:" ]
    echo '--heartbeat 9' >"$MINE" && : >"$SITE"
    run -0 --separate-stderr "$MPRUN" --check
    [[ $output == "files and variables set 1 option, and nothing in them is wrong"* ]]
    run -125 --separate-stderr "$MPRUN" --check --fanout many
    [[ $stderr == *"option '--fanout': 'many'"* ]]
}

@test "what is wrong in a file or a variable is named, and nothing runs" {
    local line said n=0
    while IFS='|' read -r line said <&4; do
        printf '# a comment\n\n%s\n' "$line" >"$MINE"
        run -125 --separate-stderr "$MPRUN" touch ran
        [[ $stderr == "mprun: file '$MINE' line 3: $said"* ]] || { echo "$line: $stderr" && false; }
        n=$((n + 1))
    done 4<<'END'
--kill-grce 5|there is no option '--kill-grce'; 'mprun --help all' lists them
--kill-grace soon|option '--kill-grace': 'soon' is not a time
--kill-grace|option '--kill-grace' needs a value
--kill-grace 5 --quiet|a line is one option, as '--kill-grace 30s', or a section, as '[slurm]'
kill-grace = 5|a line is one option
--tag-output=perhaps|'perhaps' is neither 'yes' nor 'no', as a switch is
-n 5|option '-n' is for command lines alone
--env-remove A|option '--env-remove' is for command lines alone
--dry-run|option '--dry-run' is for command lines alone
--queue commands|option '--queue' is for command lines alone
--partition x|option '--partition' is for command lines alone
[slrm]|'[slrm]' is neither a resource manager, nor [all], nor [locked]
[slurm|'[slurm' is no section, as '[slurm]' is
[locked]|only the administrator's file can lock options
"open|
END
    [ $n = 15 ]
    rm "$MINE"
    MPRUN_OPTION_KILL_GRACE=soon run -125 --separate-stderr "$MPRUN" touch ran
    [[ $stderr == "mprun: MPRUN_OPTION_KILL_GRACE: option '--kill-grace': 'soon' is not a time"* ]]
    MPRUN_OPTION_NP=4 run -125 --separate-stderr "$MPRUN" touch ran
    [ "$stderr" = "mprun: MPRUN_OPTION_NP: option '--np' is for command lines alone" ]
    [ ! -e ran ]
    # a home that this user may not look into is none
    HOME=/proc/1/root counting
}

@test "the line counts also where it says it in other words, and of a file the last line of an option" {
    mkdir plan && cp "$MPRUN_BUILD/plan/topology.so" plan/
    local set line said
    planned() { run -0 --separate-stderr mprun --dry-run --topology 'package:2 core:4 pu:2' "$@" true; }
    # words of the line|file|what is planned
    while IFS='|' read -r line set said <&4; do
        printf '%b\n' "$set" >"$MINE"
        # shellcheck disable=SC2086
        planned $line
        [[ $output == *"$said"* ]] || { echo "$line: $output" && false; }
    done 4<<'END'
-n 20 --map-by :oversubscribe|--nooversubscribe|more ranks than slots
-n 1 --map-by slot:pe=1|--cpus-per-rank 2|bound to cores: 1 rank,
-n 1 --cpus-per-rank 3t|--map-by package:pe=2|1 rank of 2 cores on 2 packages
-n 1 --cpu-list 5|--cpu-set 0|hardware thread 5
-n 1 --cpu-set 5|--bind-to none|bound to all of --cpu-set
-n 1|--cpus-per-rank 2\n[local]\n--cpus-per-rank 4|1 rank of 4 cores
-n 1|--cpus-per-rank 4\n--map-by node|1 rank of 4 cores
-n 2 --rm local:2|--map-by node\n[local]\n--map-by slot|on 1 host by slot
END
    counting
    [ "$output" = --map-by=slot ]
    # a program with options of its own has them beside those of the file
    printf '%s\n' '--bind-to none' '--mem-per-rank 1G' >"$MINE"
    planned -n 1 true : -n 1 --map-by package --limit rank:core=0
    [[ $output == *"not bound: asked for; not bound: asked for"* && $(grep -c 'limited to 1 GiB' <<<"$output") = 2 ]]
    echo '--map-by node' >"$MINE"
    planned --rm local:2 -n 2 true : --npersocket 1 -n 1
    [[ $output == *"ranks 0, 2"*"rank 1"* ]]
    echo '--bind-to none' >"$MINE"
    planned -n 1 true : -n 1 --bind-to core
    [[ $output == *"rank 0 "*"not bound"*"rank 1 "*"hardware threads 0-1"* ]]
    printf '%s\n' --tag-output --errfile-pattern=x --stop-on-exec --enable-recovery '[local]' --tag-output=no >"$MINE"
    counting -K --stop-in-init --merge-stderr-to-stdout
    [ "$output" = --tag-output=no ]
    # a switch of the line is off
    for option in --tag-output -l; do
        echo --tag-output=yes >"$MINE"
        run -0 --separate-stderr mprun $option=no -n 1 echo x
        [ "$output" = x ]
        run -0 --separate-stderr "$MPRUN" --translate $option=no -n 1 echo x
        [ "$output" = "mprun $option=no -n 1 echo x" ]
    done
    run -125 --separate-stderr "$MPRUN" --tag-output --tag-output=no true
    [[ $stderr == *"option '--tag-output' is given twice, with 'yes' and with 'no'; keep one" ]]
    run -125 --separate-stderr "$MPRUN" --tag-output=maybe true
    [[ $stderr == *"option '--tag-output' takes no value, but has 'maybe'" ]]
    # one source that contradicts itself
    printf '%s\n' '--cpus-per-rank 2' '--map-by slot:pe=4' >"$MINE"
    run -125 --separate-stderr "$MPRUN" true
    [[ $stderr == *"line 2: option '--map-by': '4' contradicts the 2 of another option; keep one" ]]
}
