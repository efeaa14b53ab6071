#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# options.bats - every option of mprun does what its manual says (wrong ones are in bad-input.bats)
load '../lib/mprun'

@test "all spellings of -n start that many ranks" {
    for words in "-n 3" "-n3" "-np 3" "--np 3" "--np=3" "--n 3" "--ntasks=3"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words --oversubscribe sh -c 'echo $MPRUN_SIZE'
        [ "$(sorted)" = "3 3 3 " ]
    done
}

@test "programs between colons are one world, each with its own ranks, variables and directory" {
    mkdir sub
    run -0 --separate-stderr mprun --oversubscribe -n 1 -x W=1 sh -c 'echo a$MPRUN_RANK/$MPRUN_SIZE/$W/${PWD##*/}' : \
        -n 2 -x W=2 --wdir sub sh -c 'echo b$MPRUN_RANK/$MPRUN_SIZE/$W/${PWD##*/}'
    [ "$(sorted)" = "a0/3/1/${PWD##*/} b1/3/2/sub b2/3/2/sub " ]
}

@test "-x sets, replaces and keeps variables" {
    export KEPT=here REPLACED=old
    run -0 --separate-stderr mprun -n 1 -x KEPT -x REPLACED='new = x' --env NEW= \
        sh -c 'echo "$KEPT|$REPLACED|${NEW-unset}"'
    [ "$output" = "here|new = x|" ]
}

@test "--wdir, --wd, --chdir and -D start the ranks there; a directory that is missing is named" {
    for option in --wdir -wdir --wd --chdir -D; do
        run -0 --separate-stderr mprun -n 1 $option / pwd
        [ "$output" = / ]
    done
    run --separate-stderr mprun -n 1 --wdir "$PWD/missing" pwd
    [ "$status" -ge 125 ]
    [[ $stderr == *"'$PWD/missing'"* ]]
    [ -z "$output" ]
}

@test "--rm local:2 poses as two hosts, and -N bounds the ranks of each" {
    run -0 --separate-stderr mprun --rm local:2 -N 1 sh -c 'echo $MPRUN_HOST_INDEX/$MPRUN_HOSTS/$MPRUN_LOCAL_SIZE'
    [ "$(sorted)" = "0/2/1 1/2/1 " ]
    run -125 --separate-stderr mprun --rm local:2 --npernode 1 -n 3 true
    [[ $stderr == "mprun: "*3* ]]
}

@test "more ranks than slots are said once, allowed by --oversubscribe and refused by --nooversubscribe" {
    many=$(($(nproc) + 1))
    run -0 --separate-stderr mprun -n $many true
    [ "${#stderr_lines[@]}" -eq 1 ]
    for option in --oversubscribe --overcommit -O; do
        run -0 --separate-stderr mprun -n $many $option true
        [ -z "$stderr" ]
    done
    run -125 --separate-stderr mprun -n $many --nooversubscribe echo started
    [[ $stderr == "mprun: "*"$many ranks"* ]]
    [ -z "$output" ]
}

@test "--transport and --link-security: every way carries the output" {
    [ -z "${MPRUN_TRANSPORT:-}" ] || skip "a transport is given for all tests"
    for words in "--transport unix" "--transport tcp" "--transport stdio" "--transport auto" \
        "--transport tcp --link-security none" "--transport tcp --link-security encrypt" \
        "--transport tcp --link-security mac"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words --rm local:2 -N 1 sh -c 'echo $MPRUN_RANK'
        [ "$(sorted)" = "0 1 " ]
    done
}

@test "--bind-to none gives all cores, --bind-to core one each, and --report-bindings says so" {
    needs_cores 2
    run -0 --separate-stderr mprun -n 2 --bind-to none sh -c 'grep Cpus_allowed_list /proc/self/status'
    [ "$(sort -u <<<"$output")" = "$(grep Cpus_allowed_list /proc/self/status)" ]
    run -0 --separate-stderr mprun -n 2 --bind-to core sh -c 'grep Cpus_allowed_list /proc/self/status'
    [ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
    run -0 --separate-stderr mprun -n 2 --report-bindings true
    [ "$(grep -c 'rank [01] .*core' <<<"$stderr")" -eq 2 ]
    run -0 --separate-stderr mprun -q -n 1 --report-bindings true
    [[ $stderr == *"rank 0 "*core* ]]
    run -125 --separate-stderr mprun -n $(($(nproc) + 1)) --bind-to core true
    [[ $stderr == "mprun: "* ]]
}

@test "--pmi none offers nothing, pmix a server, pmi1 and pmi2 a descriptor; without it, all are offered" {
    # shellcheck disable=SC2016
    offers='[ -z "$PMIX_NAMESPACE" ] || printf "pmix "; [ ! -S "/proc/self/fd/$PMI_FD" ] || printf fd'
    while IFS=: read -r words expected; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun -n 1 $words sh -c "$offers"
        [ "$output" = "$expected" ]
    done <<'END'
--pmi none:
--pmi pmix:pmix 
--pmi pmi1:fd
--pmi pmi2:fd
--pmi pmix,pmi2:pmix fd
:pmix fd
END
    run -125 --separate-stderr mprun -n 1 --pmi none,pmi1 true
    [[ $stderr == *"'none' stands alone"* ]]
}

@test "--color: what stands before a line has the colour of its rank; files have none" {
    run -0 --separate-stderr mprun -n 1 --color always -l --outfile-pattern o.%r --errfile-pattern /dev/null sh -c 'echo text'
    [ "$(cat o.0)" = "[0]<stdout>: text" ]
    run -0 --separate-stderr mprun -n 2 --oversubscribe --color always -l sh -c 'echo text'
    [ "$(sort <<<"$output")" = $'\e[31m[0]<stdout>: \e[0mtext\n\e[32m[1]<stdout>: \e[0mtext' ]
    run -0 --separate-stderr mprun -n 1 --color always sh -c 'echo text'
    [ "$output" = text ]
    run -0 --separate-stderr mprun -n 1 -l sh -c 'echo text'
    [ "$output" = "[0]<stdout>: text" ]
    for variables in TERM=xterm TERM=dumb "TERM=xterm NO_COLOR=1"; do
        run -0 env $variables "$MPRUN_SOURCE/tests/lib/terminal" "$MPRUN" -n 1 -l echo text </dev/null
        if [ "$variables" = TERM=xterm ]; then
            [[ $output == *$'\e[31m[0]<stdout>: \e[0mtext'* ]]
        else
            [[ $output == *"[0]<stdout>: text"* && $output != *$'\e[31m'* ]]
        fi
    done
}

@test "--tag-output and --timestamp-output begin each line" {
    for option in --tag-output --label -l -prepend-rank; do
        run -0 --separate-stderr mprun -n 2 $option sh -c 'echo out; echo err >&2'
        [ "$(sorted)" = "[0]<stdout>: out [1]<stdout>: out " ]
        [ "$(grep -c '^\[[01]\]<stderr>: err$' <<<"$stderr")" -eq 2 ]
    done
    run -0 --separate-stderr mprun -n 1 --timestamp-output echo x
    [[ $output =~ ^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}\.[0-9]{6}:\ x$ ]]
}

@test "--stdin gives the input to rank 0, to another, to all, to none" {
    for case in ":0" "--stdin 1:1" "--stdin all:0 1" "--stdin none:"; do
        # shellcheck disable=SC2086
        output=$(echo in | mprun -n 2 ${case%%:*} sh -c 'if read -r x; then echo $MPRUN_RANK; fi')
        [ "$(sort <<<"$output" | paste -sd' ')" = "${case#*:}" ]
    done
}

@test "--timeout ends the step with 124, and ranks that ignore TERM after --kill-grace" {
    began
    run -124 --separate-stderr mprun -n 2 --timeout 500ms --kill-grace 200ms \
        sh -c 'trap "" TERM; while :; do sleep 1; done'
    ended_within 8
    [[ $stderr == *timeout* ]]
}

@test "--report usage prints every rank and host on standard error" {
    run -0 --separate-stderr mprun -n 2 --report usage echo out
    [ "$(sorted)" = "out out " ]
    [ "$(grep -cE '^ +[01] ' <<<"$stderr")" -eq 2 ]
    grep -q '^ *mprun ' <<<"$stderr"
}

@test "--report launch prints the phases of the start on standard error, and both reports when both are asked for" {
    run -0 --separate-stderr mprun -n 2 --report launch,usage true
    [[ $stderr == "start of step "*" (local): 2 ranks on 1 host, all started after "*" ms"*"step "* ]]
    for phase in "hosts known" "start begun" "reported back" placed "launch sent" "ready for ranks" "ranks started"; do
        grep -q "^  $phase  " <<<"$stderr"
    done
    run -0 --separate-stderr mprun -n 1 --report usage true
    [[ $stderr != *"start of step"* ]]
    # one that failed tells how far it got
    run -126 --separate-stderr mprun -n 1 --report launch /dev/null
    [[ $stderr == *"1 rank on 1 host, not all started"* && $stderr == *"reported back"* ]]
}

@test "--report-json writes a document that is whole, into a file or to standard output" {
    needs_tool python3
    run -3 --separate-stderr mprun -n 2 --report-json report.json sh -c 'exit $((3 * MPRUN_RANK))'
    python3 -c 'import json; d = json.load(open("report.json")); assert d["step"]["exit_code"] == 3; assert len(d["ranks"]) == 2'
    [ -z "$(find . -name 'report.json?*')" ]
    ln -s there.json link.json
    mprun -n 1 --report-json link.json true
    [[ -L link.json && -s there.json ]]
    mprun -n 1 --report-json - true >out
    python3 -c 'import json; json.load(open("out"))'
}

@test "--report usage comes whole through a pipe that is not waited for and is read late" {
    needs_tool python3
    seq 100 >many
    export MPRUN
    run -0 python3 - <<'END'
import fcntl, os, subprocess, time
reads, writes = os.pipe()
fcntl.fcntl(writes, fcntl.F_SETFL, os.O_NONBLOCK)
fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
mprun = subprocess.Popen([os.environ["MPRUN"], "-q", "--overlap", "--report", "usage=all", "--queue", "many", "true"],
                         stderr=writes, stdin=subprocess.DEVNULL)
os.close(writes)
text = os.read(reads, 100)
time.sleep(0.5)
while more := os.read(reads, 4096):
    text += more
assert mprun.wait() == 0
assert text.count(b" ok\n") == 100, text[-200:]
END
}

@test "doc/report.md: what it does with jq works" {
    command -v jq >/dev/null || skip "jq is not installed"
    run -3 --separate-stderr mprun -n 2 --report-json usage.json sh -c 'exit $((MPRUN_RANK * 3))'
    local line n=0
    while IFS= read -r line <&4; do
        eval "$line" >out
        n=$((n + 1))
    done 4< <(sed -n 's/^    \(jq .*\)/\1/p' "$MPRUN_SOURCE/doc/report.md")
    [ $n = 2 ]
}

@test "a report that cannot be written is said before the start; at the end with 125, or the code of a step that failed" {
    for option in -v --dry-run; do
        run -125 --separate-stderr mprun -n 1 $option --report-json missing/report.json touch started
        [[ $stderr == *"mprun: write the report 'missing/report.json': create a file in 'missing/': No such file or directory" ]]
    done
    run -125 --separate-stderr mprun -n 1 --report-json . touch started
    [ "$stderr" = "mprun: write the report '.': open '.': Is a directory" ]
    [ ! -e started ]
    mkdir gone
    run -3 --separate-stderr mprun -n 1 --report-json gone/report.json sh -c 'rmdir gone; exit 3'
    [[ $stderr == *"mprun: write the report 'gone/report.json': create 'gone/report.json."*".new': No such file or directory" ]]
    run -125 --separate-stderr mprun -n 1 --report-json /dev/full true
    [[ $stderr == "mprun: write the report '/dev/full': "*": No space left on device" ]]
    run -125 sh -c '"$1" -n 1 --report-json - true >/dev/full' sh "$MPRUN"
}

@test "--dry-run starts nothing and prints where each rank would run" {
    echo >in.0
    run -125 --separate-stderr mprun -n 2 --oversubscribe --stdin file:in.%r --dry-run cat
    [[ $stderr == "mprun: start rank 1 on "*": read standard input from 'in.1': No such file or directory" ]]
    run -0 --separate-stderr mprun -n 1 --stdin file:in.%r --dry-run cat
    run -0 --separate-stderr mprun --rm local:2 -n 4 --dry-run touch started
    [ ! -e started ]
    [[ $output == *"ranks 0 to 1"*"ranks 2 to 3"* ]]
    # of the job's hosts, those of the step
    for words in --dry-run --explain; do
        for n in 1 2; do
            run -0 --separate-stderr mprun --rm local:3 -n 1 --universe $n $words true
            [ "$(grep -c ^host <<<"$output")" = $n ]
            run -0 --separate-stderr mprun --rm local:3 -n 1 --universe $n $words --json true
            [ "$(grep -c slots_source <<<"$output")" = $n ]
        done
    done
}

@test "--explain runs no instruction of the program, and says of each rank its cores, and its limits with what holds them" {
    run -0 --separate-stderr mprun --rm local:2 -n 2 --limit rank:files=99 --explain touch started
    [ ! -e started ]
    [ "$(grep -c "^.*$(hostname)-[01]" <<<"$output")" -ge 2 ]
    [ "$(grep -c '^            rank [01]  ' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^ *open files of a rank limited to 99, held by rlimit for each process$' <<<"$output")" -eq 2 ]
    [ -z "$stderr" ]
    # nothing of its output is touched either
    echo old >out.0
    run -0 --separate-stderr mprun -n 1 --outfile-pattern out.%r --explain echo new
    [ "$(cat out.0)" = old ]
}

# would_fail CODE MESSAGE WORD...: --dry-run and --explain have code 125 and this message where a start has CODE and the same one
would_fail() {
    local code=$1 message=$2 option
    shift 2
    run "-$code" --separate-stderr mprun -q -n 1 "$@"
    [[ $stderr == "mprun: start rank 0 on $(hostname): "*"$message"* ]] || return
    local said=$stderr
    for option in --dry-run --explain; do
        run -125 --separate-stderr mprun -q -n 1 $option "$@"
        [[ $output == "adapter "* && $stderr == "$said" ]] || return
        run -125 --separate-stderr mprun -q -n 1 $option --json "$@"
        [[ $output == *'"would_fail": "start rank 0 on '* && $stderr == "$said" ]] || return
    done
}

@test "--dry-run and --explain have exit code 125 where a start would fail, and say the same as it" {
    would_fail 127 "execute './missing'" ./missing
    would_fail 125 "change to directory '/no/such': No such file or directory; every host needs it" --wdir /no/such true
    would_fail 125 "change to directory '/dev/null': Not a directory; name a directory with --wdir" --wdir /dev/null true
    printf 'data\0' >file && chmod +x file
    would_fail 126 "neither a program nor a script" ./file
    chmod -x file
    [ "$(id -u)" = 0 ] || would_fail 126 "chmod +x" ./file
    printf '#!/no/such\n' >script && chmod +x script
    would_fail 126 "not the program '/no/such' of its first line" ./script
    would_fail 127 "--wrap" --wrap /no/such true
    run -127 mprun --preload-binary ./missing
    run -125 mprun --dry-run --preload-binary ./missing
    # a host that is not asked is not judged
    run -0 --separate-stderr mprun --host n7:2 --dry-run ./missing
    [[ $output == *"no file on this machine"* && -z $stderr ]]
}

@test "--json prints what --dry-run and --explain have found for programs, as its schema has it" {
    needs_tool python3
    for words in "--dry-run true" "--explain true" "--rm local:2 -n 3 --dry-run --limit rank:mem=1G true" "--host a:2,b --dry-run true" "--rm local:3 -n 1 --universe 2 --explain true" \
        "-n 1 --explain --mem 2G --limit rank:files=9,cput=1h -x A=1 --unset-env HOME true x : -n 1 true"; do
        # shellcheck disable=SC2086
        mprun -q --json $words >plan
        "$MPRUN_SOURCE/tests/lib/fits-schema" "$MPRUN_SOURCE/share/plan-schema.json" <plan
    done
    get() { python3 -c 'import json; j = json.load(open("plan")); print('"$1"')'; }
    [ "$(get 'j["hosts_were_asked"], len(j["ranks"]), j["ranks"][1]["program"]')" = "True 2 1" ]
    [ "$(get 'j["programs"][0]["variables"], j["programs"][0]["without_variables"], j["programs"][0]["arguments"]')" = "{'A': '1'} ['HOME'] ['x']" ]
    [ "$(get 'j["ranks"][0]["limits"]["open_files"]')" = "{'value': 9, 'held_by': 'rlimit'}" ]
    [ "$(get 'j["limits"]["cpu_time_us"]["held_by"], j["hosts"][0]["slots_source"]')" = "sampled cores of this machine" ]
    run -125 --separate-stderr mprun --json true
    [[ $stderr == "mprun: --json is for --dry-run and --explain; "* ]]
    run -125 --separate-stderr sh -c '"$0" --dry-run --json true >/dev/full' "$MPRUN"
    [[ $stderr == *"No space left"* ]]
}

@test "--env-diff prints what a rank on a host has otherwise than mprun, and nothing that is the same" {
    SAME=1 GONE=2 OTHER=$'3\n4' run -0 --separate-stderr mprun --env-diff "$(hostname)" -x OTHER=5 --unset-env GONE -x $'NEW=\e[1m'
    [ -z "$stderr" ]
    [ "$(grep -E ' (OTHER|GONE|NEW|SAME|PATH|SHLVL|_)=' <<<"$output")" = "- GONE=2
+ NEW=$'\\E[1m'
< OTHER=$'3\\n4'
> OTHER=5" ]
    grep -qx '+ MPRUN_RANK=0' <<<"$output"
    run -125 --separate-stderr mprun --env-diff no-such-host.invalid
    [ -z "$output" ]
    [[ $stderr == *no-such-host.invalid* ]]
    run -125 --separate-stderr mprun --env-diff a true
    [ "$stderr" = "mprun: --env-diff runs programs of its own; leave 'true' out" ]
    for words in "--queue q" "--app q" "-n 2"; do
        run -125 --separate-stderr mprun --env-diff a $words
        [ "$stderr" = "mprun: --env-diff runs programs of its own; leave '${words% *}' out" ]
    done
}

@test "--containment: tree makes no cgroup, and what a host cannot do is an error that names it" {
    run -0 --separate-stderr mprun -n 1 --containment=tree sh -c 'cat /proc/self/cgroup'
    [[ $output != *mprun* ]]
    run --separate-stderr mprun -n 1 --containment=rank sh -c 'cat /proc/self/cgroup'
    if [ "$status" -eq 0 ]; then
        [[ $output == *mprun* ]]
    else
        [ "$status" -eq 125 ]
        [[ $stderr == "mprun: "*rank* ]]
    fi
}

@test "--mem-per-rank and --mem: a limit is held, by a control group or by samples" {
    # in a memory hierarchy of version 1 others may hold the limits: not a place for tests
    ! grep -qE '^[0-9]+:([^:]*,)?memory[,:]' /proc/self/cgroup || skip "needs a machine without memory cgroups of version 1"
    for option in --mem-per-rank --mem; do
        mprun -n 1 $option 64M --report-json report.json true
        grep -qE '"held_by": "(cgroup|sampled)"' report.json
    done
}

@test "--quiet says less, --verbose says more, and --allow-run-as-root is accepted" {
    many=$(($(nproc) + 1))
    run -0 --separate-stderr mprun -n $many --quiet true
    [ -z "$stderr" ]
    run -0 --separate-stderr mprun -n 1 --verbose true
    [ "${#stderr_lines[@]}" -ge 2 ]
    run -0 --separate-stderr mprun -n 1 --allow-run-as-root true
}

@test "lines that were written for mpirun, mpiexec.hydra and srun run as they are" {
    shows='echo "$A $B $OMPI_MCA_btl_tcp_if_include"'
    while read -r words; do
        eval "words=($words)"
        run -0 --separate-stderr mprun --oversubscribe "${words[@]}" sh -c "$shows"
        [ "$(sort -u <<<"$output")" = "a b c eth0" ]
        [ "${#lines[@]}" -eq 2 ]
    done <<'EOF'
-np 2 --allow-run-as-root -x A=a -x B='b c' --mca btl_tcp_if_include eth0
-n 2 -genvall -genv A a -genv B 'b c' -genv OMPI_MCA_btl_tcp_if_include eth0
-n 2 -env A a -env B 'b c' -gmca btl_tcp_if_include eth0
-n 2 -K --kill-on-bad-exit=1 -u --exact -Q --mpi=pmix --cpu-bind=none --export=ALL,A=a,B='b c',OMPI_MCA_btl_tcp_if_include=eth0
EOF
    printf '%s\n' '-n 1 echo a b' '-n 2 -x X=1 echo c' >apps
    run -0 --separate-stderr mprun --oversubscribe --app apps
    [ "$(sort <<<"$output")" = $'a b\nc\nc' ]
    run -0 --separate-stderr mprun --oversubscribe -genv A all -n 1 -env A one sh -c 'echo $A' : -n 1 sh -c 'echo $A'
    [ "$(sort <<<"$output")" = $'all\none' ]
}

@test "each rank has the variables that the manual lists" {
    run -0 --separate-stderr mprun --rm local:2 -N 1 env
    sed -n '/^\.Sh ENVIRONMENT/,/^\.Sh SIGNALS/p' "$MPRUN_SOURCE/share/man/mprun.1" |
        grep -oE 'Ev [A-Z_]+[A-Z]( |$)' | cut -d' ' -f2 | sort -u >listed
    [ "$(wc -l <listed)" -ge 15 ]
    while read -r name; do
        [ "$(grep -c "^$name=" <<<"$output")" -eq 2 ] || [[ $name == @(MPRUN_SUBMIT_TMPDIR|MPRUN_PRELOAD_DIR|MPRUN_QUEUE_NUMBER|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|ZE_AFFINITY_MASK|SGE_RESOURCE_GPU) ]] || { echo "$name"; false; }
    done <listed
    # and no other of mprun's own is kept from it
    compgen -e | sort >inherited
    grep -o '^MPRUN_[A-Z_]*' <<<"$output" | sort -u | comm -23 - inherited | comm -23 - listed >unlisted
    [ ! -s unlisted ]
}

@test "files name the programs of a step: --app, -configfile, --multi-prog" {
    printf '%s\n' '# comment' '' '-n 1 -x A=own sh -c "echo \$A \$B" \' ' x' '-n 1 sh -c "echo \$A \$B"' >apps
    for words in "--app apps" "--as mpiexec -configfile apps"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words -genv A all -x B=b
        [ "$(sorted)" = "all b own b " ]
    done
    printf '%s\n' '# comment' '1-2 echo some %t %o' '* echo others %o' >programs
    run -0 --separate-stderr mprun --as srun -O -n 4 --multi-prog programs
    [ "$(sorted)" = "others 0 others 1 some 1 0 some 2 1 " ]
    printf '%s\r\n' '0 echo one' '1 echo two' >windows
    run -0 --separate-stderr mprun --as srun -O -n 2 --multi-prog windows
    [ "$(sorted)" = "one two " ]
    # srun's ranks are the job's tasks, of which each is to have a program
    SLURM_NTASKS=3 run -0 --separate-stderr mprun --as srun -O --multi-prog programs
    [ "$(sorted)" = "others 0 some 1 0 some 2 1 " ]
    SLURM_NTASKS=3 run -125 --separate-stderr mprun --as srun -O --multi-prog windows
    [ "$stderr" = "mprun: file 'windows': no line has rank 2 of 3; '*' is all others" ]
    printf '%s\n' '0-1 echo one' '1-2 echo two' >twice
    run -125 --separate-stderr mprun --as srun -O -n 3 --multi-prog twice
    [ "$stderr" = "mprun: file 'twice': rank 1 is in programs 1 and 2; keep one" ]
    echo '-n 1 --quiet true' >>apps
    run -0 --separate-stderr mprun --multi-prog --check
    run -125 --separate-stderr mprun --app apps
    [[ $stderr == "mprun: file 'apps': program 3 of the line: option '--quiet': "* ]]
}

@test "the environment of ranks: without, before, behind; and what is not there is said" {
    export KEPT=here GONE=here
    run -0 --separate-stderr mprun --env-remove GONE --prepend-env KEPT a --append-env KEPT=z --append-env NEW=n \
        -n 1 sh -c 'echo "${GONE-none} $KEPT $NEW"'
    [ "$output" = "none a:here:z n" ]
    run -0 --separate-stderr mprun --append-env NEW=z --prepend-env NEW=a -x SET=s --append-env SET=z -n 1 sh -c 'echo "$NEW $SET"'
    [ "$output" = "a:z s:z" ]
    run -0 --separate-stderr mprun -n 1 sh -c 'echo "0 $KEPT"' : --env-remove KEPT -n 1 sh -c 'echo "1 ${KEPT-none}"' : \
        --prepend-env KEPT=a -n 1 sh -c 'echo "2 $KEPT"'
    [ "$(sorted)" = "0 here 1 none 2 a:here " ]
    mkdir own && printf '#!/bin/sh\necho found\n' >own/only-there && chmod +x own/only-there
    run -0 --separate-stderr mprun --path "$PWD/own" -n 1 only-there
    [ "$output" = found ]
    for words in --export=NONE,KEPT --export=none,KEPT --export=KEPT "-genvlist KEPT" "-genvnone -x KEPT" "-envlist KEPT"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words -n 1 /bin/sh -c 'echo "${GONE-none} $KEPT"'
        [ "$output" = "none here" ]
    done
    run -0 --separate-stderr mprun -x NOT_SET -n 1 true
    [ "$stderr" = "mprun: variable 'NOT_SET' is not set here, so that ranks do not get it" ]
}

@test "options and variables that steer other launchers do what they say, or are named" {
    run -0 --separate-stderr mprun -n 2 --mca rmaps_base_mapping_policy node --mca orte_tag_output 1 \
        --mca plm_rsh_no_tree_spawn 1 --mca mca_base_env_list "A=1;B=2" --mca btl self sh -c 'echo $A$B${OMPI_MCA_btl}'
    [ "$(sorted)" = "[0]<stdout>: 12self [1]<stdout>: 12self " ]
    [ "$stderr" = "mprun: 'plm_rsh_no_tree_spawn': no effect in mprun" ]
    run -124 --separate-stderr env MPIEXEC_TIMEOUT=1 HYDRA_RMK=x "$MPRUN" --overlap --kill-grace 0 -n 1 sleep 60
    [[ $stderr == "mprun: 'HYDRA_RMK': no effect in "* ]]
    MPIEXEC_TIMEOUT=1 run -0 --separate-stderr mprun --timeout 60 -n 1 true
    SLURM_WAIT=5 SLURM_STDOUTMODE=out SLURM_NNODES=4 run -0 --separate-stderr mprun --as srun -n 1 true
    [[ $stderr == "mprun: 'SLURM_"*"', 'SLURM_"*"': no effect in mprun" ]]
    [[ $stderr == *"'SLURM_WAIT'"* ]]
    [[ $stderr != *NNODES* ]]
    run -125 "$MPRUN" --as srun --dry-run --host n1:2 -n 3 true
    SLURM_OVERCOMMIT=1 run -0 "$MPRUN" --as srun --dry-run --host n1:2 -n 3 true
    SLURM_GPUS_PER_TASK=a100:2 run -0 "$MPRUN" --as srun --translate -n 2 true
    [[ $output == *"mprun -n 2 --gpus-per-rank=2 "* ]]
    SLURM_JOB_ID=7 SLURM_GPUS_PER_TASK=2 run -0 "$MPRUN" --as srun --rm local --translate -n 2 --gpus-per-task=1 true
    [[ $output == *" -n 2 --gpus-per-rank 1 "* ]]
    SLURM_KILL_BAD_EXIT=0 run -1 --separate-stderr mprun --as srun -O -n 2 sh -c '[ $SLURM_PROCID = 0 ] && exit 1; sleep .3; echo over'
    [ "$output" = over ]
    OMPI_MCA_orte_tag_output=1 OMPI_MCA_ess=x run -0 --separate-stderr mprun -n 1 echo x
    [ "$output" = "[0]<stdout>: x" ]
    [ -z "$stderr" ]
}

@test "options that tell the manager what to do are named in one note" {
    run -0 --separate-stderr mprun --as srun -p debug --account=x -t 5 --gres=gpu:1 --exact --exclusive=user -n 1 -N 1 -c1 echo x
    [ "$output" = x ]
    [ "$stderr" = "mprun: '-p', '--account', '--gres', '--exclusive': no resource manager is asked; the ranks run on this machine
mprun: '--exact': no effect in mprun" ]
}

@test "--nodes and srun's -N: as many ranks on each of so many hosts; --exclude and --relative leave hosts out" {
    shows='echo $MPRUN_HOST_INDEX/$MPRUN_HOSTS/$MPRUN_LOCAL_SIZE'
    for words in "--nodes 2 -n 4" "--as srun -N 2 -n 4" "--as flux -N2 -n4"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words --rm local:3 --oversubscribe sh -c "$shows"
        [ "$(sorted)" = "0/2/2 0/2/2 1/2/2 1/2/2 " ]
    done
    for words in "--exclude $(hostname)-1" "--as srun -x $(hostname)-1"; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr mprun $words --rm local:3 --npernode 1 sh -c 'echo $MPRUN_HOST_NAME'
        [ "$(sorted)" = "$(hostname)-0 $(hostname)-2 " ]
    done
    run -0 --separate-stderr mprun --host a.example,b,c.example --rm ssh --npernode 1 --exclude a,b.example,d,a --dry-run true
    [ "$stderr" = "mprun: --exclude: 'd' is no host of this job" ]
    [ "$(grep -o '^host  *[^:]*' <<<"$output" | awk '{ print $2 }')" = c.example ]
    run -0 --separate-stderr mprun --as srun -r 1 -N 1 -n 1 --rm local:3 sh -c 'echo $MPRUN_HOST_NAME'
    [ "$output" = "$(hostname)-1" ]
    run -125 --separate-stderr mprun --relative 3 --rm local:3 true
    [ "$stderr" = "mprun: --relative 3 leaves no host: there are 3, of which the first is 0" ]
}

@test "a link with the name of another launcher speaks its language" {
    for name in srun mpirun mpiexec; do ln -s "$MPRUN" $name; done
    run -0 --separate-stderr timeout "$(patience 20)" ./srun --rm local:2 --overlap -N 2 -n 2 -O sh -c 'echo $MPRUN_HOST_INDEX'
    [ "$(sorted)" = "0 1 " ]
    run -0 --separate-stderr timeout "$(patience 20)" ./mpirun --overlap -c 1 echo one
    [ "$output" = one ]
    run -0 --separate-stderr timeout "$(patience 20)" ./mpiexec --overlap -n 1 -s none cat
}

@test "output goes into files whose names are patterns, and lines begin as a pattern says" {
    shows='echo out; echo err >&2'
    run -0 --separate-stderr mprun -n 2 --outfile-pattern 'a/b/%s.%r' sh -c "$shows"
    [ -z "$output" ]
    [ "$stderr" = $'err\nerr' ]
    [ "$(cat a/b/stdout.0 a/b/stdout.1)" = $'out\nout' ]
    (umask 027 && mprun -n 1 --queue ::: --joblog modes.log --outfile-pattern modes/out echo ::: 1)
    [ "$(stat -c %a modes modes/out modes.log | paste -sd' ')" = "750 640 640" ]
    run -0 --separate-stderr mprun -n 2 --outfile-pattern 'a/b/%s.%r' --open-mode append --errfile-pattern errors sh -c "$shows"
    [ -z "$stderr" ]
    [ "$(cat a/b/stdout.1 errors)" = $'out\nout\nerr\nerr' ]
    run -0 --separate-stderr mprun -n 2 --output-filename d sh -c "$shows"
    [ "$(sorted)" = "out out " ]
    [ "$(cat d/1/rank.0/stdout d/1/rank.1/stderr)" = $'out\nerr' ]
    run -0 --separate-stderr mprun -n 2 --merge-stderr-to-stdout --prepend-pattern '%h-%2r ' sh -c "$shows"
    [ "$(sorted)" = "$(hostname)-00 err $(hostname)-00 out $(hostname)-01 err $(hostname)-01 out " ]
    run -0 --separate-stderr mprun -n 1 --merge-stderr-to-stdout --outfile-pattern 'm/%s' sh -c "$shows"
    [ -z "$output$stderr" ]
    [ "$(ls m) $(sort m/stdout)" = $'stdout err\nout' ]
    run -0 --separate-stderr mprun -n 2 --outfile-pattern both --errfile-pattern ./both sh -c "$shows"
    [ "$(sort both | paste -sd' ')" = "err err out out" ]
    run -125 --separate-stderr mprun -n 1 --outfile-pattern /dev/full echo x
    [ "$stderr" = "mprun: write the output of rank 0 to '/dev/full': No space left on device" ]
    # a rank that writes nothing has its files, too, and what cannot be written is known at its start
    run -0 --separate-stderr mprun -n 1 --outfile-pattern a/b/stdout.1 --errfile-pattern a/none true
    [[ -e a/none && ! -s a/b/stdout.1 ]]
    run -125 --separate-stderr mprun -n 1 --errfile-pattern errors/none sleep 100
    [ "$stderr" = "mprun: write the output of rank 0 to 'errors/none': Not a directory" ]
}

@test "srun's -o, -e, -i and -l, and the variables of its tasks" {
    echo input >in
    run -0 --separate-stderr mprun --as srun -O -n 2 -o o.%t -i in sh -c 'cat; echo $SLURM_PROCID/$SLURM_NTASKS/$SLURM_LOCALID/$SLURM_NODEID/$SLURM_NNODES; echo e >&2'
    [ "$(sort o.0 | paste -sd' ')" = "0/2/0/0/1 e input" ]
    [ "$(sort o.1 | paste -sd' ')" = "1/2/1/0/1 e" ]
    run -0 --separate-stderr mprun --as srun -O -n 11 -e none -l sh -c '[ $SLURM_PROCID != 3 ] || echo three; echo e >&2'
    [ "$output" = "03: three" ]
    [ -z "$stderr" ]
    run -0 --separate-stderr mprun -n 1 sh -c 'echo ${SLURM_PROCID-none} ${SLURM_STEP_NODELIST-none}'
    [ "$output" = "none none" ]
    export SLURM_TASKS_PER_NODE='8(x4)' SLURM_STEP_NODELIST=n1
    run -0 --separate-stderr mprun --as srun --rm local:5 -O -n 7 sh -c 'echo $SLURM_STEP_NODELIST $SLURM_TASKS_PER_NODE $SLURM_GTIDS'
    output=$(sort -u <<<"$output")
    [ "$(head -n 1 <<<"$output")" = "$(hostname)-[0-4] 2(x2),1(x3) 0,1" ]
    [ "$(awk '{ print $3 }' <<<"$output" | paste -sd' ')" = "0,1 2,3 4 5 6" ]
    unset SLURM_TASKS_PER_NODE SLURM_STEP_NODELIST
    # -c of the line, and not of the job
    run -0 --separate-stderr mprun --as srun -O -n 1 sh -c 'echo ${SLURM_CPUS_PER_TASK-none}'
    [ "$output" = none ]
    export SLURM_CPUS_PER_TASK=2
    run -0 --separate-stderr mprun --as srun -O -n 1 -c 1 sh -c 'env | grep ^SLURM_CPUS_PER_TASK'
    [ "$output" = SLURM_CPUS_PER_TASK=1 ]
    unset SLURM_CPUS_PER_TASK
    run -0 --separate-stderr mprun --as srun -O -n 1 -c 1 sh -c 'env | grep ^SLURM_CPUS_PER_TASK'
    [ "$output" = SLURM_CPUS_PER_TASK=1 ]
}

@test "srun's --mpi and SLURM_MPI_TYPE name plugins of Slurm: pmi2 serves programs of PMI-1, too" {
    local name words
    while read -r name words; do
        [[ $("$MPRUN" --as srun --mpi="$name" --dry-run true 2>&1) != *unknown* ]]
        [[ $("$MPRUN" --as srun --translate --mpi="$name" ./a) == *"--pmi $words "*" ./a" ]] || { echo "$name"; return 1; }
        run -0 --separate-stderr env SLURM_MPI_TYPE="$name" "$MPRUN" --as srun -O -n 1 sh -c 'echo ${PMI_FD:+simple} ${PMIX_NAMESPACE:+pmix}'
        [ "$output" = "$(sed 's/pmi1,pmi2/simple/; s/none//' <<<"$words")" ] || { echo "$name: $output"; return 1; }
    done <<'END'
pmix_v4 pmix
pmi2 pmi1,pmi2
openmpi none
END
    run -125 env SLURM_MPI_TYPE=other "$MPRUN" --as srun -n 1 true
    [[ $output == *"SLURM_MPI_TYPE: option '--pmi': unknown word 'other'"* ]]
}

@test "--merge-lines: a line that ranks write alike comes once, with their numbers, and none is lost" {
    run -0 --separate-stderr mprun --oversubscribe --merge-lines -n 8 sh -c \
        'echo one; echo "mine $PMIX_RANK"; echo two; [ $PMIX_RANK = 3 ] || echo err >&2; printf end'
    # each rank's own lines, in its order, from the sets of the lines
    for rank in 0 3 7; do
        [ "$(awk -v r=$rank -F'[][]' '{ n = split($2, s, ","); for (i = 1; i <= n; i++) { split(s[i] "-" s[i], b, "-"); if (r >= b[1] && r <= b[2]) print $3 } }' <<<"$output")" = " one
 mine $rank
 two
 end" ]
    done
    [ "$(grep -c mine <<<"$output")" -eq 8 ]
    # lines that no other rank has written come between
    run -0 --separate-stderr mprun --oversubscribe --merge-lines --rm local:2 -n 8 echo same
    [ "$(wc -l <<<"$output")" -le 4 ]
    [ "$(sed 's/^\[[0-9,-]*\] //' <<<"$output" | sort -u)" = same ]
    run -0 --separate-stderr mprun --oversubscribe --merge-lines --outfile-pattern out.%r -n 2 echo same
    [ "$output" = "" ]
    [ "$(cat out.0 out.1)" = $'same\nsame' ]
}

@test "--output json: an object for each line, whatever its bytes" {
    run -0 --separate-stderr mprun --output json -n 1 sh -c 'printf "a\"b\\\\ \001\303\266\n\377\n"; echo err >&2; printf end' : -n 1 true
    python3 -c '
import base64, json, sys
got = [json.loads(line) for line in sys.stdin]
out = [g for g in got if g["stream"] == "stdout"]
assert [g["text"] for g in out] == ["a\"b\\ \x01\u00f6", "\ufffd", "end"], out
assert base64.b64decode(out[1]["base64"]) == b"\xff" and "base64" not in out[0]
assert out[2]["newline"] is False and "newline" not in out[0]
assert [g["text"] for g in got if g["stream"] == "stderr"] == ["err"]
for g in got:
    assert (g["world"], g["rank"], g["app"], g["program"]) == (0, 0, 0, "sh") and g["pid"] > 0
    assert g["time"].endswith("Z") and g["host"] == sys.argv[1]
' "$(hostname)" <<<"$output"
    [ -z "$stderr" ]
}

@test "patterns before lines know process, program, job and time; lines in files begin alike" {
    run -0 --separate-stderr mprun --prepend-pattern '%p %g %2r|' -n 1 sh -c 'echo $$' : -n 1 sh -c 'echo $$'
    [ "$(awk -F'[ |]' '$1 == $NF { print $2, $3 }' <<<"$output" | sort | paste -sd/)" = "0 00/1 01" ]
    run -0 --separate-stderr mprun --prepend-pattern '%t ' --outfile-pattern all -n 2 echo x
    [ "$(grep -cE '^20[0-9-]{8}T[0-9:]{8}\.[0-9]{6} x$' all)" -eq 2 ]
    run -0 --separate-stderr mprun --as mpiexec --rm local:2 -prepend-pattern '%p|' -n 2 -ppn 1 echo x
    [ "$(sorted)" = "0|x 1|x " ]
}

@test "--first-failure: the last lines of the rank that failed first come at the end, in bounds" {
    run -3 --separate-stderr mprun --oversubscribe --first-failure -n 3 sh -c \
        '[ $PMIX_RANK = 1 ] || exec sleep 60; seq 100; printf half; exit 3'
    [ "$(tail -n 1 <<<"$output")" = half ]
    shown=$(sed -n '/^mprun: the last lines of rank 1 on .*, which failed first:$/,$p' <<<"$stderr")
    [ "$(tail -n 1 <<<"$shown")" = "mprun: end of the lines of rank 1" ]
    [ "$(sed '1d;$d' <<<"$shown" | wc -l)" -eq 50 ]
    grep -qx '\[1\]<stdout>: half' <<<"$shown"
    grep -qx '\[1\]<stdout>: 100' <<<"$shown"
    run -3 --separate-stderr mprun --first-failure -n 1 sh -c 'echo why >&2; exit 3'
    grep -qx '\[0\]<stderr>: why' <<<"$stderr"
    run -0 --separate-stderr mprun --first-failure -n 1 echo well
    [ "$output$stderr" = well ]
}
