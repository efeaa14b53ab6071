#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# mprsrc.bats - a job's resources as shell variables and as JSON, whatever it is called and wherever
# the text comes from
load '../lib/mprun'

setup() {
    mprun_setup
    SAMPLES=$MPRUN_SOURCE/tests/fuzz/corpus/qstat-xml
    unset JOB_ID SGE_TASK_ID PE_HOSTFILE SGE_BINARY_PATH
    chmod 777 .
    printf '%s\n' 'gelab3 2 lab.q@gelab3 UNDEFINED' 'gelab1 1 lab.q@gelab1 UNDEFINED' \
        'gelab2 1 lab.q@gelab2 UNDEFINED' >pe_hostfile
}

# Root's mprsrc becomes another user, which runs the stand-ins of qstat.
[ "$(id -u)" != 0 ] || USER_OPTION=(--user daemon)
mprsrc() { time_limited 30 "$MPRUN_BUILD/tools/mprsrc" "${USER_OPTION[@]}" "$@"; }

# stand_in COMMANDS: a qstat that notes how it was called, with what, and runs COMMANDS
stand_in() {
    printf '#!/bin/sh\necho "$*" >>%q\nenv >%q\n%s\n' "$PWD/calls" "$PWD/environment" "$1" >qstat
    chmod 755 qstat
}

# as_text SHELL NAMES...: NAME=[VALUE] of each after evaluating standard input
as_text() {
    local shell=$1
    shift
    # shellcheck disable=SC2016
    "$shell" -c 'eval "$(cat)"
        for name; do
            eval "printf \"%s=[%s]\n\" \"$name\" \"\${$name}\""
        done' shell "$@"
}

@test "arrays: a value for each host, the master task's first" {
    run -0 --separate-stderr mprsrc --pe-hostfile pe_hostfile <"$SAMPLES/parallel.xml"
    [ -z "$stderr" ]
    eval "$output"
    [ "${SGE_RESOURCE_HOSTS[*]}" = "gelab3 gelab1 gelab2" ]
    [ "${SGE_RESOURCE_NSLOTS[*]}" = "2 1 1" ]
    [ "${SGE_RESOURCE_MEM[*]}" = "1073741824 536870912 536870912" ]
    [ "${SGE_RESOURCE_VMEM[*]}" = "4294967296 2147483648 2147483648" ]
    [ "${#SGE_RESOURCE_GPU[@]}" -eq 3 ]
    [ -z "${SGE_RESOURCE_GPU[0]}${SGE_RESOURCE_GPU[1]}${SGE_RESOURCE_GPU[2]}" ]
    [ "${SGE_RESOURCE_GPU_COUNT[*]}" = "2 1 1" ]
    [ "${SGE_RESOURCE_PHI_COUNT[0]}" = 1 ]
    [ "${SGE_RESOURCE_PHI_COUNT[1]-unset}" = "" ]
    [ "$SGE_RESOURCE_JOB_MAXRT/$SGE_RESOURCE_JOB_IS_STANDBY/$SGE_RESOURCE_JOB_VMEM" = 3600/0/2147483648 ]
}

@test "arrays: what the qmaster granted by host, with the names of the devices" {
    eval "$(mprsrc <"$SAMPLES/gridware.xml")"
    [ "${SGE_RESOURCE_HOSTS[*]}/${SGE_RESOURCE_NSLOTS[*]}" = "node2 node1/3 1" ]
    [ "${SGE_RESOURCE_GPU[0]}/${SGE_RESOURCE_GPU[1]}" = "0 2 3/1" ]
    eval "$(mprsrc 30 <"$SAMPLES/univa.xml")"
    [ "${SGE_RESOURCE_PHI[0]}/${SGE_RESOURCE_PHI[1]}" = "mic0 mic1/" ]
    [ "${SGE_RESOURCE_MEM[*]}" = "6442450944 3221225472" ]
    [ "$SGE_RESOURCE_JOB_IS_STANDBY" = 1 ]
}

@test "--host and --only: single values, which any sh evaluates" {
    sed "s/node1/$(hostname)/" "$SAMPLES/gridware.xml" >here.xml
    for words in --only -o "--host $(hostname)" "-H $(hostname)"; do
        for shell in sh bash; do
            # shellcheck disable=SC2086
            run -0 as_text $shell SGE_RESOURCE_HOSTS SGE_RESOURCE_NSLOTS SGE_RESOURCE_MEM \
                SGE_RESOURCE_VMEM SGE_RESOURCE_GPU SGE_RESOURCE_PHI SGE_RESOURCE_GPU_COUNT \
                SGE_RESOURCE_JOB_VMEM < <(mprsrc $words <here.xml)
            [ "$output" = "SGE_RESOURCE_HOSTS=[$(hostname)]
SGE_RESOURCE_NSLOTS=[1]
SGE_RESOURCE_MEM=[1073741824]
SGE_RESOURCE_VMEM=[2147483648]
SGE_RESOURCE_GPU=[1]
SGE_RESOURCE_PHI=[]
SGE_RESOURCE_GPU_COUNT=[1]
SGE_RESOURCE_JOB_VMEM=[2147483648]" ]
        done
    done
    run -0 as_text sh SGE_RESOURCE_NSLOTS < <(mprsrc -H NODE2.example.org <here.xml)
    [ "$output" = "SGE_RESOURCE_NSLOTS=[3]" ]
}

@test "modes give the names, and prolog tells the job's output" {
    mprsrc <"$SAMPLES/gridware.xml" >userenv
    for case in "-m prolog:PROLOG" "--mode=prolog:PROLOG" "-p:PROLOG" "--prolog:PROLOG" \
        "-m epilog:EPILOG" "-e:EPILOG" "--epilog:EPILOG" "--mode userenv:RESOURCE"; do
        # shellcheck disable=SC2086
        mprsrc ${case%:*} <"$SAMPLES/gridware.xml" >got
        grep -v '^echo ' got | sed "s/SGE_${case#*:}_/SGE_RESOURCE_/g" | diff userenv -
        [[ $case == *PROLOG ]] || ! grep -q echo got || false
    done
    run -0 --separate-stderr sh -c "$(mprsrc -p -H node2 <"$SAMPLES/gridware.xml")"
    [ "$output" = "[PROLOG] Resources of job 47.1 'gpujob' of alice
[PROLOG]   3 slots on node2
[PROLOG]     Memory requested: 10 GiB (10737418240 bytes)
[PROLOG]     Virtual memory limit: 6 GiB (6442450944 bytes)
[PROLOG]     nVidia GPU: 0 2 3" ]
}

@test "hostile names: evaluated in sh and bash, they are only told" {
    # a name for each way out of a quote, and for what echo or a terminal would act on
    names=("a'b" "';touch pwned;'" "\$(touch pwned)" "\`touch pwned\`" "a\"b" "\\c\\n\\" "-n" "*" "a&amp;&amp;b"
        "&#10;touch pwned" $'a\ntouch pwned' $'\e[2J' $'\xff\xfe' $'\x01' "!x" "#" "; exit 7" "&lt;x&gt;" "<3")
    for name in "${names[@]}"; do
        # the file has exactly these bytes in two texts that mprsrc shows, and in an environment
        NAME=$name perl -pe 's{<JB_job_name>.*?</JB_job_name>}{<JB_job_name>$ENV{NAME}</JB_job_name>};
            s{<JB_owner>.*?</JB_owner>}{<JB_owner>$ENV{NAME}</JB_owner>};
            s{</JB_owner>}{</JB_owner><JB_env_list><j><VA_variable>$ENV{NAME}</VA_variable></j></JB_env_list>}' \
            "$SAMPLES/gridware.xml" >hostile.xml
        for options in "-p" "-p -H node1" "-e" "-H node1"; do
            # shellcheck disable=SC2086
            mprsrc $options <hostile.xml >text
            for shell in sh bash; do
                [[ $shell == bash || $options == *node1 ]] || continue
                # shellcheck disable=SC2016
                run -0 --separate-stderr $shell -c "$(cat text)"'
                    printf "END %s" "$SGE_PROLOG_NSLOTS$SGE_EPILOG_NSLOTS$SGE_RESOURCE_NSLOTS"'
                [[ $output == *"END $([[ $options == *node1 ]] && echo 1 || echo 3)" ]]
                [ -z "$stderr" ]
                [ ! -e pwned ]
                ! grep -q '[^ -~]' <<<"$output" || false
            done
        done
    done
}

@test "what the user put into the variables is gone, exported or an array" {
    export SGE_RESOURCE_GPU="0 1 2 3" SGE_RESOURCE_MEM=1
    SGE_RESOURCE_PHI=(mic0 mic1)
    eval "$(mprsrc -H node1 <"$SAMPLES/gridware.xml")"
    [ "$SGE_RESOURCE_GPU/${#SGE_RESOURCE_PHI[@]}/${SGE_RESOURCE_PHI-}" = "1/1/" ]
    ! env | grep -q ^SGE_RESOURCE_ || false
}

@test "--json is one document, of all hosts or of one" {
    needs_tool python3
    mprsrc --json 30 <"$SAMPLES/univa.xml" >all.json
    python3 - <<'END'
import json
d = json.load(open("all.json"))
assert (d["job"], d["task"], d["owner"], d["name"]) == (310145, 30, "bob", "phi & 'friends'")
assert d["max_runtime"] == 14400 and d["standby"] is True and d["slot_virtual_memory"] == 2 << 30
assert [h["name"] for h in d["hosts"]] == ["n085", "n086"]
assert d["hosts"][0]["phi"] == {"count": 2, "ids": ["mic0", "mic1"]}
assert d["hosts"][0]["memory"] == 6 << 30 and "phi" not in d["hosts"][1] and "gpu" not in d["hosts"][0]
END
    mprsrc --json --host gelab1 --pe-hostfile pe_hostfile <"$SAMPLES/parallel.xml" >one.json
    python3 -c 'import json; d = json.load(open("one.json")); assert [h["name"] for h in d["hosts"]] == ["gelab1"]; assert d["hosts"][0]["gpu"] == {"count": 1}'
    # bytes that are no UTF-8 are in it as U+FFFD
    sed 's/gpujob/a\xffb/' "$SAMPLES/gridware.xml" | mprsrc --json >odd.json
    python3 -c 'import json; assert json.load(open("odd.json", encoding="utf-8"))["name"] == "a\ufffdb"'
}

@test "the interactive job's odd bytes, a value that is missing, an entity: all are read" {
    grep -q $'\xff' "$SAMPLES/interactive.xml"
    run -0 --separate-stderr mprsrc -H gelab3 --pe-hostfile pe_hostfile <"$SAMPLES/interactive.xml"
    [[ $output == *"SGE_RESOURCE_JOB_MAXRT='100'"* ]]
    run -0 --separate-stderr mprsrc --pe-hostfile pe_hostfile <"$SAMPLES/pending.xml"
    [[ $output == *"SGE_RESOURCE_JOB_MAXRT='60'"* ]]
}

@test "errors: a code and a sentence each, and nothing to evaluate" {
    head -c 3000 "$SAMPLES/parallel.xml" >short.xml
    sed 's/<CE_name>h_rt/<CE_name/' "$SAMPLES/parallel.xml" >damaged.xml
    printf '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n' | cat - "$SAMPLES/gridware.xml" >entity.xml
    sed 's/<RESL_value>2</<RESL_value>$(id)</' "$SAMPLES/gridware.xml" >device.xml
    sed 's/node2/a;b/' "$SAMPLES/gridware.xml" >host.xml
    : >empty
    while IFS='|' read -r code file words sentence; do
        # shellcheck disable=SC2086
        run "-$code" --separate-stderr mprsrc $words <"$file"
        [ -z "$output" ]
        [[ $stderr == "mprsrc: "*"$sentence"* ]] || { echo "$file: $stderr"; false; }
        [ "${#stderr_lines[@]}" -eq 1 ]
    done <<END
2|empty|--hots n1|unknown option '--hots'; the nearest is '--host'
2|empty|-p -e|another mode was given before
2|empty|-o -H n1|--only and --host both choose a host
2|$SAMPLES/array.xml||job 21 has 2 running tasks; give the number of one
3|$SAMPLES/unknown.xml||Grid Engine knows no job '99999'
3|$SAMPLES/nameless.xml||Grid Engine knows no job '999999'
4|$SAMPLES/single.xml||job 19.1: its hosts are not known: this qstat names none; ask with -j, or give --pe-hostfile
4|$SAMPLES/gridware.xml|-H node9|job 47.1 has no slots on host 'node9'; its hosts begin with 'node2'
4|$SAMPLES/gridware.xml|--pe-hostfile missing|host file 'missing'
5|empty||it is empty
2|/dev/null||this is not in a job of Grid Engine; name one with -j, or pipe what 'qstat -xml -j JOB' prints to mprsrc
5|short.xml||it breaks off after 3000 bytes
5|damaged.xml||line 26: 
5|entity.xml||it declares a document type
5|$SAMPLES/list.xml||it is a <job_info>, not the <detailed_job_info>
5|device.xml||'\$(id)' is no name of a device
5|host.xml||'a;b' is no name of a host
END
    run -1 --separate-stderr bash -c '"$2" "${@:3}" <"$1" >/dev/full' bash "$SAMPLES/gridware.xml" "$MPRUN_BUILD/tools/mprsrc" "${USER_OPTION[@]}"
    [[ $stderr == "mprsrc: write to standard output: No space left on device" ]]
}

@test "more than 32 MiB are not read" {
    run -5 --separate-stderr bash -c 'head -c 40000000 /dev/zero | "$1"' bash "$MPRUN_BUILD/tools/mprsrc"
    [[ $stderr == "mprsrc: "*"File too large"* ]]
}

@test "-j asks qstat for the job, and for its hosts where they are not said" {
    stand_in "case \"\$*\" in *-j*) cat '$SAMPLES/parallel.xml' ;; *) cat '$SAMPLES/tasks.xml' ;; esac"
    run -0 --separate-stderr mprsrc --qstat "$PWD/qstat" -j 20
    [ "$(cat calls)" = "-xml -j 20
-xml -g t -r -u gelabuser" ]
    eval "$output"
    [ "${SGE_RESOURCE_HOSTS[*]}/${SGE_RESOURCE_NSLOTS[*]}" = "gelab3 gelab1 gelab2/2 1 1" ]
    # no second question where the first is answered in full
    rm calls
    stand_in "cat '$SAMPLES/gridware.xml'"
    mprsrc --qstat ./qstat -j 47.1 >/dev/null
    [ "$(cat calls)" = "-xml -j 47" ]
    # the answer is for another job; the job does not run
    run -5 --separate-stderr mprsrc --qstat ./qstat -j 48
    [[ $stderr == *"qstat was asked for job 48 and answered for job 47"* ]]
    stand_in "case \"\$*\" in *-j*) cat '$SAMPLES/pending.xml' ;; *) cat '$SAMPLES/tasks.xml' ;; esac"
    run -4 --separate-stderr mprsrc --qstat ./qstat -j 22
    [[ $stderr == *"job 22.1: its hosts are not known: it does not run"* ]]
    stand_in "cat '$SAMPLES/unknown.xml'; exit 1"
    run -3 --separate-stderr mprsrc --qstat ./qstat -j 99999
}

@test "inside the job its hosts and its task are known without another question" {
    stand_in "cat '$SAMPLES/parallel.xml'"
    export JOB_ID=20 SGE_TASK_ID=undefined PE_HOSTFILE=$PWD/pe_hostfile HOSTNAME=gelab3
    eval "$(mprsrc -j "$JOB_ID" --qstat ./qstat "$SGE_TASK_ID")"
    [ "${SGE_RESOURCE_HOSTS[*]}" = "gelab3 gelab1 gelab2" ]
    [ "$(cat calls)" = "-xml -j 20" ]
    # nor does anybody have to say which job it is, where nothing is on standard input
    rm calls
    for input in /dev/null <(:); do
        eval "$(mprsrc --qstat ./qstat <$input)"
        [ "${SGE_RESOURCE_HOSTS[*]}" = "gelab3 gelab1 gelab2" ]
    done
    [ "$(uniq calls)" = "-xml -j 20" ]
    # --only by the name that Grid Engine has for this host
    run -0 as_text sh SGE_RESOURCE_NSLOTS < <(mprsrc -o <"$SAMPLES/parallel.xml")
    [ "$output" = "SGE_RESOURCE_NSLOTS=[2]" ]
    # a job without a parallel environment has its one slot here, whatever file is named
    export JOB_ID=19
    eval "$(mprsrc <"$SAMPLES/single.xml")"
    [ "${SGE_RESOURCE_HOSTS[*]}/${SGE_RESOURCE_NSLOTS[*]}" = "gelab3/1" ]
    # of several tasks its own
    export JOB_ID=21 SGE_TASK_ID=4
    run -0 mprsrc --json <"$SAMPLES/array.xml"
    [[ $output == *'"task": 4'* ]]
    # it is another job's environment
    export JOB_ID=22
    run -4 --separate-stderr mprsrc <"$SAMPLES/parallel.xml"
    run -2 --separate-stderr mprsrc <"$SAMPLES/array.xml"
    # a qstat that failed asks about no other job
    run -5 --separate-stderr mprsrc < <(true)
    [[ $stderr == *"from standard input: it is empty" ]]
}

@test "a qstat that is missing, silent, loud, killed, endless or stuck is an error with its reason" {
    while IFS='|' read -r commands sentence; do
        stand_in "$commands"
        [[ $sentence == *"within 2 s"* ]] && limit=2s || limit=20s
        run -6 --separate-stderr mprsrc --timeout $limit --qstat "$PWD/qstat" -j 20
        [ -z "$output" ]
        [[ $stderr == "mprsrc: run 'qstat -xml -j 20': $sentence"* ]] || { echo "$stderr"; false; }
    done <<'END'
exit 3|it printed nothing, exit code 3
echo 'error: no qmaster' >&2; echo more >&2; exit 1|it says: error: no qmaster
printf '\033[2Jx' >&2; exit 1|it says: \x1b[2Jx
kill -SEGV $$|it died of signal 11
exec cat /dev/zero|it prints more than 32 MiB
exec tail -f /dev/null|no answer within 2 s; does the qmaster run?
tail -f /dev/null; echo|no answer within 2 s; does the qmaster run?
exec >&- 2>&-; exit 0|it printed nothing, exit code 0
echo '<x/>'; exec >&- 2>&-; exec sleep 1000|it closed its output and did not end within 2 s; does the qmaster run?
END
    run -6 --separate-stderr mprsrc --qstat "$PWD/missing" -j 20
    [[ $stderr == "mprsrc: run 'qstat -xml -j 20': find qstat (--qstat names it): "*"$PWD/missing"* ]]
    no_leftovers
}

@test "a qstat that prints bytes of zero is read to its end and refused" {
    for where in 0 1 3000; do # much comes after it: to read it from too small a copy is death
        stand_in "head -c $where '$SAMPLES/parallel.xml'; head -c 20000000 /dev/zero"
        run -5 --separate-stderr mprsrc --qstat ./qstat -j 20
        [ -z "$output" ]
        [[ $stderr == "mprsrc: read what 'qstat -xml -j 20' says: "* ]]
        [ "${#stderr_lines[@]}" -eq 1 ]
    done
}

@test "an ordinary user's qstat is that of the cell, else the one in PATH" {
    mkdir cell path
    stand_in "cat '$SAMPLES/gridware.xml'"
    sed "s|$PWD/calls|$PWD/cell/calls|" qstat >cell/qstat
    sed "s|$PWD/calls|$PWD/path/calls|" qstat >path/qstat
    chmod -R a+rwX . && chmod a+x cell/qstat path/qstat
    chmod a+rx "$MPRUN_TEST_TOP" "$TMPDIR"
    run -0 run_as_user env SGE_BINARY_PATH="$PWD/cell" PATH="$PWD/path:$PATH" "$MPRUN_BUILD/tools/mprsrc" -j 47
    [ -e cell/calls ]
    [ ! -e path/calls ]
    run -0 run_as_user env SGE_BINARY_PATH="$PWD/none" PATH="$PWD/path:$PATH" "$MPRUN_BUILD/tools/mprsrc" -j 47
    [ -e path/calls ]
}

# bats test_tags=root
@test "root takes neither PATH nor the rest of a user's environment" {
    needs_root
    stand_in "cat '$SAMPLES/gridware.xml'"
    run --separate-stderr env SGE_ROOT=/nowhere SGE_BINARY_PATH="$PWD" PATH="$PWD:$PATH" \
        "$MPRUN_BUILD/tools/mprsrc" "${USER_OPTION[@]}" --timeout 20s -j 47
    [ "$status" -eq 6 ]
    [ ! -e calls ]
    run -0 env SGE_ROOT=/root SGE_CELL=c SGE_QMASTER_PORT=1 LD_DEBUG= EVIL=1 BASH_ENV=/evil ENV=/evil \
        PATH="$PWD:$PATH" "$MPRUN_BUILD/tools/mprsrc" "${USER_OPTION[@]}" --qstat "$PWD/qstat" -j 47
    run -0 grep -vE '^(PWD|OLDPWD|SHLVL|_)=' environment
    [ "$(sort <<<"$output")" = "PATH=/usr/sbin:/usr/bin:/sbin:/bin
SGE_CELL=c
SGE_QMASTER_PORT=1
SGE_ROOT=/root" ]
}

# bats test_tags=root
@test "root has an ordinary user run qstat and read what it says" {
    needs_root
    stand_in "grep -E '^(Uid|Gid|Groups|CapPrm|NoNewPrivs):' /proc/\$PPID/status | tr -d '\t ' >reader; cat '$SAMPLES/gridware.xml'"
    run -0 mprsrc --qstat ./qstat -j 47
    u=$(id -u daemon) g=$(id -g daemon)
    [ "$(cat reader)" = "Uid:$u$u$u$u
Gid:$g$g$g$g
Groups:
CapPrm:0000000000000000
NoNewPrivs:1" ]
    for user in root no-such-user; do
        rm -f calls
        run -1 --separate-stderr "$MPRUN_BUILD/tools/mprsrc" --user "$user" --qstat ./qstat -j 47
        [[ $stderr == "mprsrc: root leaves reading what qstat says to user '$user', which "*"useradd "* ]]
        [ ! -e calls ]
    done
}

@test "--help and --version; the example of the manual runs" {
    run -0 --separate-stderr mprsrc --help
    [[ $output == "Usage: mprsrc "*"--jobid"*"Exit code"* ]]
    run -0 --separate-stderr mprsrc --version
    [[ $output =~ ^mprsrc\ [0-9.]+$ ]]
    # a failure leaves the variables alone and ends the list
    SGE_RESOURCE_MEM=before
    ! { vars=$(mprsrc <"$SAMPLES/unknown.xml" 2>/dev/null) && eval "$vars"; } || false
    [ "$SGE_RESOURCE_MEM" = before ]
}
