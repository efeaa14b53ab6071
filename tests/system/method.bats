#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# method.bats - mpstarter as a manager's starter method: what it becomes, and that nothing but the
# environment tells a job of it
#
# Most tests set the variables as sge_shepherd does; the last ones run Grid Engine's own sge_shepherd
# and qrsh_starter, with and without the starter method, and compare.
load '../lib/mprun'
load '../lib/shepherd'

setup() {
    mprun_setup
    chmod 711 "$TMPDIR" # what a test makes there, the ordinary user reads
    umask 022
    STARTER=$(realpath "$MPRUN_BUILD/starter/mpstarter")
    # says what it was called as
    cat >look <<'EOF'
echo "file $(readlink "/proc/$$/exe") name $0"
for argument; do printf '<%s>' "$argument"; done
echo .
EOF
    { echo '#!/bin/bash' && cat look; } >script
    chmod 755 look script
    SCRIPT=$PWD/script LOOK=$PWD/look
    BASH_FILE=$(realpath /bin/bash) SH_FILE=$(realpath /bin/sh)
}

# as_shepherd MODE SHELL LOGIN ARGUMENT...: mpstarter as sge_shepherd calls it
as_shepherd() {
    local mode=$1 shell=$2 login=$3
    shift 3
    env SGE_STARTER_SHELL_START_MODE="$mode" SGE_STARTER_SHELL_PATH="$shell" \
        SGE_STARTER_USE_LOGIN_SHELL="$login" "$STARTER" "$@" 3>&-
}

# as_each_user CMD...: as root, where we are root, and as an ordinary user
as_each_user() {
    "$@"
    if [ "$(id -u)" = 0 ]; then
        export -f as_shepherd
        export STARTER SCRIPT LOOK
        run_as_user bash -c '"$@"' - "$@"
    fi
}

# gives WANT MODE SHELL LOGIN ARGUMENT...: as each user this call says WANT, and ends with 0
gives() {
    local want=$1
    shift
    run -0 as_each_user as_shepherd "$@"
    [ "$(id -u)" != 0 ] || want+=$'\n'$want
    [ "$output" = "$want" ] || { echo "wanted: $want"; echo "got: $output"; return 1; }
}

@test "without arguments it is a starter, and its own options are few" {
    run -125 --separate-stderr "$STARTER" </dev/null
    [[ $stderr == "mpstarter: on $(hostname): "* ]]
    run -0 "$STARTER" --version
    [[ $output == "mpstarter (mprun) "* ]]
    run -125 --separate-stderr "$STARTER" --frobnicate
    [[ $stderr == "mpstarter: unknown option '--frobnicate'; "* ]]
    run -125 --separate-stderr "$STARTER" --method
    [[ $stderr == "mpstarter: --method needs a command to run" ]]
    # not Grid Engine's -s, where Grid Engine has not said so
    run -125 --separate-stderr env -u SGE_STARTER_SHELL_START_MODE "$STARTER" -s
    [ "$(SGE_STARTER_SHELL_START_MODE=unix_behavior "$STARTER" --method echo it)" = it ]
}

@test "the manual page lists its options, and the variables that it sets" {
    page=$MPRUN_SOURCE/share/man/mpstarter.1
    "$STARTER" --help | grep -oE -- '--[a-z]+' | sort -u >options
    [ "$(wc -l <options)" -ge 3 ]
    sed -n '/^\.Sh OPTIONS/,/^\.Sh /p' "$page" | sed -nE 's/^\.It Fl -([a-z]+).*/--\1/p' | sort -u | diff - options
    sed -nE 's/^\.It Ev (MPRUN_JOB_[A-Z_]+)$/\1/p' "$page" | sort >listed
    grep -oE '"MPRUN_JOB_[A-Z_]+"' "$MPRUN_SOURCE/starter/method/starter-method.c" | tr -d '"' | sort -u | diff listed -
}

@test "unix_behavior, raw_exec: the script's first line says who reads it, and /bin/sh reads one without" {
    for mode in unix_behavior UNIX_BEHAVIOR raw_exec; do
        for login in true false; do
            gives "file $BASH_FILE name $SCRIPT"$'\n<a  b><>.' $mode /bin/sh $login "$SCRIPT" 'a  b' ''
        done
    done
    gives "file $SH_FILE name $LOOK"$'\n<a  b>.' unix_behavior /bin/bash true "$LOOK" 'a  b'
}

@test "posix_compliant: the shell that is named reads the script, as a login shell if it is to be one" {
    gives "file $SH_FILE name $SCRIPT"$'\n<a  b>.' posix_compliant /bin/sh false "$SCRIPT" 'a  b'
    # which needs no permission to be executed
    chmod 644 "$SCRIPT"
    gives "file $BASH_FILE name $SCRIPT"$'\n<a  b>.' posix_compliant /bin/bash true "$SCRIPT" 'a  b'
    echo 'tr "\0" "|" </proc/$$/cmdline; shopt -q login_shell && echo login' >"$SCRIPT"
    gives "-bash|$SCRIPT|x|login" posix_compliant /bin/bash true "$SCRIPT" x
    echo 'tr "\0" "|" </proc/$$/cmdline; shopt -q login_shell || echo none' >"$SCRIPT"
    gives "bash|$SCRIPT|x|none" posix_compliant /bin/bash false "$SCRIPT" x
}

@test "script_from_stdin: the shell reads the script from standard input" {
    run -0 as_shepherd script_from_stdin /bin/bash true -s 'a  b' <"$LOOK"
    [ "$output" = "file $BASH_FILE name -bash"$'\n<a  b>.' ]
    run -0 as_shepherd script_from_stdin /bin/sh false -s <"$LOOK"
    [ "$output" = "file $SH_FILE name sh"$'\n.' ]
}

@test "start_as_command: the shell is given the script as its command" {
    gives "file $BASH_FILE name $SCRIPT"$'\n.' start_as_command /bin/sh false "$SCRIPT"
    # and so by older Grid Engines
    gives $'one\ntwo' start_as_command /bin/sh false -c 'echo one && echo two'
}

@test "a spool that users may not see: the name of a script's copy tells it from a command of qsub -b y" {
    export JOB_SCRIPT=$SCRIPT
    gives $'two words\nend' posix_compliant /bin/sh false echo 'two  words;' echo end
    export JOB_SCRIPT=/spool/job_scripts/20
    gives "file $SH_FILE name $SCRIPT"$'\n<two  words;>.' posix_compliant /bin/sh false "$SCRIPT" 'two  words;'
    mkdir spool && printf 'handle_as_binary=1\nno_shell=1\n' >spool/config
    export SGE_JOB_SPOOL_DIR=$PWD/spool
    gives 'two  words;' posix_compliant /bin/sh false echo 'two  words;'
    chmod 0 spool/config
    [ "$(id -u)" = 0 ] || gives "file $SH_FILE name $SCRIPT"$'\n<two  words;>.' posix_compliant /bin/sh false "$SCRIPT" 'two  words;'
}

# One command line goes to the user's shell, and "nobody" has none that runs anything.
needs_shell() {
    local shell
    shell=$(getent passwd "$(id -u)" | cut -d: -f7)
    "$shell" -c : >/dev/null 2>&1 || skip "'$shell' of this user executes nothing"
}

@test "a task of qrsh whose parent cannot be seen: words are executed, one command line goes to a shell" {
    gives "file $BASH_FILE name $SCRIPT"$'\n<a  b><$HOME>.' unix_behavior '' false "$SCRIPT" 'a  b' '$HOME'
    gives "file $BASH_FILE name $SCRIPT"$'\n.' unix_behavior '' false "$SCRIPT"
    needs_shell
    run -0 as_shepherd unix_behavior '' false "$SCRIPT 'a  b' '\$HOME'  c; readlink /proc/\$\$/exe; :"
    [ "$output" = "file $BASH_FILE name $SCRIPT"$'\n<a  b><$HOME><c>.\n'"$(realpath "$(getent passwd "$(id -u)" | cut -d: -f7)")" ]
}

@test "other managers: words as they are, one command line to /bin/sh" {
    run -0 "$STARTER" "$SCRIPT" 'a  b' '$HOME' '' "it's" '"'
    [ "$output" = "file $BASH_FILE name $SCRIPT"$'\n<a  b><$HOME><><it\'s><">.' ]
    run -0 "$STARTER" echo 'by  PATH'
    [ "$output" = 'by  PATH' ]
    run -0 "$STARTER" "echo \"a  b\" '\$HOME' && readlink /proc/\$\$/exe; :"
    [ "$output" = $'a  b $HOME\n'"$SH_FILE" ]
    # a program may have blanks in its name
    cp "$SCRIPT" 'with blanks'
    run -0 "$STARTER" "$PWD/with blanks"
    [ "$output" = "file $BASH_FILE name $PWD/with blanks"$'\n.' ]
}

# called as pbs_mom does: each of these functions by an ordinary user
torque_script() { echo "$LOOK 'a  b' -F" | PBS_ENVIRONMENT=PBS_BATCH "$STARTER" /bin/bash; }
torque_piped() { PBS_ENVIRONMENT=PBS_BATCH "$STARTER" /bin/bash <"$LOOK"; }
torque_argument() { PBS_ENVIRONMENT=PBS_BATCH "$STARTER" /bin/bash "$LOOK" </dev/null; }
torque_interactive() { PBS_ENVIRONMENT=PBS_INTERACTIVE "$STARTER" /bin/bash -c 'shopt -q login_shell; echo "$? $0"; exit 7'; }
torque_task() { PBS_ENVIRONMENT=PBS_BATCH "$STARTER" "$SCRIPT" 'a  b' '$HOME' '' </dev/null; }
torque_missing() { PBS_ENVIRONMENT=PBS_BATCH "$STARTER" ./missing </dev/null; }

# bats test_tags=root
@test "Torque: the shell with the script's name, or the script, on its standard input or as an argument; words of tm_spawn" {
    export -f torque_script torque_piped torque_argument torque_interactive torque_task torque_missing
    export STARTER SCRIPT LOOK
    as=
    [ "$(id -u)" != 0 ] || as=run_as_user
    run -0 $as bash -c torque_script
    [ "$output" = "file $BASH_FILE name $LOOK"$'\n<a  b><-F>.' ]
    run -0 $as bash -c torque_piped
    [ "$output" = "file $BASH_FILE name /bin/bash"$'\n.' ]
    run -0 $as bash -c torque_argument
    [ "$output" = "file $BASH_FILE name $LOOK"$'\n.' ]
    run -7 $as bash -c torque_interactive
    [ "$output" = '1 /bin/bash' ] # no login shell
    run -0 $as bash -c torque_task
    [ "$output" = "file $BASH_FILE name $SCRIPT"$'\n<a  b><$HOME><>.' ]
    run -127 $as bash -c torque_missing
    [[ $output == "mpstarter: on $(hostname): run './missing': "* ]]
    # with $job_starter_run_privileged everybody's job would be root's
    needs_root
    for what in torque_script torque_piped torque_argument torque_interactive torque_task torque_missing; do
        run -125 --separate-stderr "$what"
        [ -z "$output" ]
        [[ $stderr == *'as root'*'$job_starter_run_privileged'* ]]
    done
    # neither does it become a starter
    PBS_ENVIRONMENT=PBS_BATCH run -125 --separate-stderr "$STARTER" "$STARTER" </dev/null
    [[ $stderr == *'as root'* ]]
}

@test "arguments come with their exact bytes" {
    for byte in $(seq 1 255); do printf "\\x$(printf %02x "$byte")"; done >bytes
    bytes=$(cat bytes && echo .)
    bytes=${bytes%.}
    as_shepherd unix_behavior /bin/sh true /usr/bin/printf '%s' "$bytes" | cmp - bytes
    as_shepherd posix_compliant /bin/bash false "$SCRIPT" "$bytes" | tail -c +$((1 + $(printf 'file %s name %s\n<' "$BASH_FILE" "$SCRIPT" | wc -c))) |
        head -c 255 | cmp - bytes
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    [ "$(as_shepherd unix_behavior /bin/sh true /bin/echo "$long" "$long" | wc -c)" -eq 200002 ]
}

@test "the environment comes with its exact bytes, and no more than MPRUN_JOB_* is added" {
    printf 'A=1\0EMPTY=\0WITHNL=a\nb\0A=again\0BYTES=\xff\x01\xfe\0BASH_FUNC_x%%%%=() { :; }\0' >given
    cat >exec-env.py <<'EOF'
import os, sys
env = [e.split(b"=", 1) for e in open("given", "rb").read().split(b"\0")[:-1]]
import ctypes
libc = ctypes.CDLL(None)
def array(words):
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)
argv = [a.encode() for a in sys.argv[1:]]
libc.execve(argv[0], array(argv), array([b"=".join(e) for e in env]))
EOF
    python3 exec-env.py /bin/cat /proc/self/environ | cmp - given
    python3 exec-env.py "$STARTER" /bin/cat /proc/self/environ >got
    # of two that have one name both stay
    head -c "$(stat -c %s given)" got | cmp - given
    tail -c +$(($(stat -c %s given) + 1)) got | tr '\0' '\n' >added
    ! grep -v '^MPRUN_JOB_' added || false
    [ -s added ]
}

# what a process is given besides arguments and environment
status_script() {
    cat <<'EOF'
#!/bin/sh
grep -E '^(Sig|Shd|Umask|NoNewPrivs|Seccomp|Uid|Gid|Groups|Cpus_allowed|NS)' /proc/self/status | grep -vE '^(NSpid|NSpgid|NStgid|SigQ)'
cat /proc/self/limits
ls /proc/self/fd | wc -l
readlink /proc/self/fd/7 /proc/self/cwd
nice
EOF
}

@test "descriptors, signals, limits, priority, umask and directory are the job's own" {
    status_script >status
    chmod 755 status
    for how in "" "$STARTER"; do
        (
            ulimit -S -n 200 -c 0
            umask 027
            trap '' USR1 PIPE
            exec nice -n 3 $how "$PWD/status" 7<"$SCRIPT" 3>&-
        ) >"said.${how:+by}"
    done
    [ "$(wc -l <said.)" -gt 25 ]
    diff said. said.by
}

@test "standard input is the job's, and nothing of it is used up" {
    head -c 300000 /dev/urandom >bytes
    as_shepherd unix_behavior /bin/sh true /bin/cat <bytes | cmp - bytes
    as_shepherd posix_compliant /bin/sh true "$LOOK" <bytes >/dev/null
    { as_shepherd unix_behavior /bin/sh true /bin/true && cat; } <bytes | cmp - bytes
    [ -z "$(as_shepherd unix_behavior /bin/sh true /bin/cat </dev/null)" ]
}

@test "it is the process that the manager knows: the same pid, gone without a trace" {
    as_shepherd() {
        exec env SGE_STARTER_SHELL_START_MODE="$1" SGE_STARTER_SHELL_PATH="$2" SGE_STARTER_USE_LOGIN_SHELL="$3" "$STARTER" "${@:4}" 3>&-
    }
    is_sleep() { [ "$(readlink "/proc/$1/exe")" = "$(realpath "$(command -v sleep)")" ]; }
    (as_shepherd unix_behavior /bin/sh true "$(command -v sleep)" 1000) &
    pid=$!
    wait_until 10 is_sleep $pid
    [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "$(command -v sleep) 1000 " ]
    [ -z "$(cat "/proc/$pid/task/$pid/children")" ]
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 143 ]
}

@test "every exit code is the job's, and so is every signal that ends it" {
    needs_shell
    python3 - "$STARTER" <<'EOF'
import os, signal, subprocess, sys
env = dict(os.environ, SGE_STARTER_SHELL_START_MODE="unix_behavior", SGE_STARTER_SHELL_PATH="/bin/sh",
           SGE_STARTER_USE_LOGIN_SHELL="true")
task = dict(env, SGE_STARTER_SHELL_PATH="", SGE_STARTER_USE_LOGIN_SHELL="false")
for code in range(256):
    for argv, e in ((["/bin/sh", "-c", "exit %d" % code], env), (["exit %d" % code], task)):
        got = subprocess.run([sys.argv[1]] + argv, env=e).returncode
        assert got == code, (argv, got)
deadly = [n for n in range(1, 65) if n not in (17, 18, 19, 20, 21, 22, 23, 28, 32, 33)]
for n in set(deadly) - {9}:
    signal.signal(n, signal.SIG_DFL)  # nohup, for one, has others
for n in deadly:
    got = subprocess.run([sys.argv[1], "/bin/sh", "-c", "ulimit -c 0; kill -%d $$" % n], env=env).returncode
    assert got == -n, (n, got)
assert len(deadly) > 50
EOF
}

# fails CODE TEXT MODE SHELL LOGIN ARGUMENT...
fails() {
    local code=$1 text=$2
    shift 2
    run -"$code" --separate-stderr as_shepherd "$@"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "mpstarter: on $(hostname): run $text"* ]] || { echo "said: $stderr"; return 1; }
}

@test "what is missing is named with the host and what to do, in one sentence, by 126 or 127" {
    fails 127 "'/no/script': No such file or directory; is its path right, and its file system mounted" unix_behavior /bin/sh true /no/script
    fails 127 "'/etc/passwd/x': Not a directory; is its path right" unix_behavior /bin/sh true /etc/passwd/x
    fails 127 "'no-such-command': it is not in PATH; write its whole path" unix_behavior /bin/sh true no-such-command
    fails 127 "'/no/script': No such file or directory; the shell cannot read it" posix_compliant /bin/sh true /no/script
    fails 127 "'/no/shell': there is no such shell here; name another one with qsub -S" posix_compliant /no/shell true "$SCRIPT"
    fails 127 "'/no/shell': there is no such shell here" script_from_stdin /no/shell true -s
    fails 127 "'/no/shell': there is no such shell here" start_as_command /no/shell true "$SCRIPT"
    fails 126 "'/etc': Permission denied; it has to be a file with permission to execute it" posix_compliant /etc true "$SCRIPT"
    echo '#! /no/interpreter -x' >script && chmod 755 script
    fails 127 "'$SCRIPT': its interpreter '/no/interpreter' does not exist here; mend its first line" unix_behavior /bin/sh true "$SCRIPT"
    printf '#!/bin/sh\r\necho\r\n' >script
    fails 127 "'$SCRIPT': its interpreter '/bin/sh' does not exist here; that line ends in a carriage return, as on Windows: convert the file (dos2unix)" unix_behavior /bin/sh true "$SCRIPT"
    sed 's,/ld-linux,/ld-nolux,' "$(type -P true)" >script
    chmod 755 script
    fails 127 "'$SCRIPT': the loader that it names does not exist here; build it for this machine" unix_behavior /bin/sh true "$SCRIPT"
    { echo '#!/bin/sh' && echo true; } >script
    chmod 644 script
    fails 126 "'$SCRIPT': Permission denied; it has to be a file with permission to execute it (chmod +x)" unix_behavior /bin/sh true "$SCRIPT"
    fails 126 "'/etc': Permission denied" unix_behavior /bin/sh true /etc
    # and by another manager
    run -127 --separate-stderr "$STARTER" /no/command x
    [[ $stderr == "mpstarter: on $(hostname): run '/no/command': No such file or directory; "* ]]
}

# bats test_tags=root
@test "as an ordinary user: a script that one may not read, or execute" {
    needs_root
    export -f as_shepherd
    export STARTER
    chmod 700 script
    run -126 --separate-stderr run_as_user bash -c 'as_shepherd "$@"' - posix_compliant /bin/sh true "$SCRIPT"
    [[ $stderr == "mpstarter: on $(hostname): run '$SCRIPT': Permission denied; the shell cannot read it"* ]]
    run -126 --separate-stderr run_as_user bash -c 'as_shepherd "$@"' - unix_behavior /bin/sh true "$SCRIPT"
    [[ $stderr == "mpstarter: on $(hostname): run '$SCRIPT': Permission denied; it has to be a file"* ]]
}

@test "where the command is mpstarter itself, it becomes the starter: a whole step, without a process more" {
    # what a manager with a starter method makes of 'exec COMMAND', a one-word command
    cat >agent <<EOF
#!/bin/sh
exec env SGE_STARTER_SHELL_START_MODE=unix_behavior SGE_STARTER_SHELL_PATH= SGE_STARTER_USE_LOGIN_SHELL=false "$STARTER" "\${2#exec }"
EOF
    chmod 755 agent
    ln -s "$STARTER" link
    echo 'ps -o args= -p $PPID; ps -o args= -p $(ps -o ppid= -p $PPID)' >parents
    run -0 --separate-stderr mprun --agent ./agent --host n0:1,n1:1 sh parents
    # worker and keeper of both hosts, which are what was called first
    [ "$(sort -u <<<"$output")" = "$STARTER $STARTER" ]
    [ "${#lines[@]}" -eq 4 ]
    # by another name of the same file, too
    for name in "$STARTER" "$PWD/link"; do
        run -125 --separate-stderr "$STARTER" "$name" </dev/null
        [[ $stderr == "mpstarter: on "* ]]
        [[ $stderr != *"run '"* ]]
    done
    # another file is a command like any other
    cp "$STARTER" copy
    run -0 "$STARTER" "$PWD/copy" --version
    [[ $output == "mpstarter (mprun) "* ]]
}

# variables COMMAND...: MPRUN_JOB_* that it finds, but for the cores that every job has, on one line
variables() {
    env "$@" "$STARTER" /usr/bin/env | grep '^MPRUN_JOB_' | grep -v '^MPRUN_JOB_CPUS=' | sort | sed 's/^MPRUN_JOB_//' | tr '\n' ' '
}

@test "MPRUN_JOB_*: the job of Grid Engine, whole in its script, and this host's part in a task" {
    mkdir spool && printf 'host_slots=2\n' >spool/config
    spool=SGE_JOB_SPOOL_DIR=$PWD/spool
    ge=(SGE_STARTER_SHELL_START_MODE=unix_behavior SGE_STARTER_SHELL_PATH=/bin/sh JOB_ID=20 QUEUE=lab.q SGE_TASK_ID=undefined)
    [ "$(variables "${ge[@]}" NSLOTS=1 NHOSTS=1)" = "HOSTS=1 HOST_SLOTS=1 ID=20 QUEUE=lab.q RM=gridengine SLOTS=1 " ]
    pe=(PE=lab NSLOTS=6 NHOSTS=3 PE_HOSTFILE=/spool/pe_hostfile)
    [ "$(variables "${ge[@]}" "${pe[@]}" "$spool" SGE_TASK_ID=7)" = \
        "HOSTFILE=/spool/pe_hostfile HOSTS=3 HOST_SLOTS=2 ID=20 PE=lab QUEUE=lab.q RM=gridengine SLOTS=6 TASK=7 " ]
    [ "$(variables "${ge[@]}" "${pe[@]}")" = \
        "HOSTFILE=/spool/pe_hostfile HOSTS=3 ID=20 PE=lab QUEUE=lab.q RM=gridengine SLOTS=6 " ]
    task=(PE=lab NSLOTS=2 NHOSTS=1)
    [ "$(variables "${ge[@]}" "${task[@]}" "$spool")" = "HOST_SLOTS=2 ID=20 PE=lab QUEUE=lab.q RM=gridengine " ]
    # where the spool is closed
    [ "$(variables "${ge[@]}" "${task[@]}")" = "ID=20 PE=lab QUEUE=lab.q RM=gridengine " ]
}

@test "MPRUN_JOB_*: other managers, and what the submitter's environment had" {
    [ "$(variables LSB_JOBID=5 LSB_JOBINDEX=0 LSB_QUEUE=q LSB_DJOB_NUMPROC=8 LSB_DJOB_HOSTFILE=/f)" = \
        "HOSTFILE=/f ID=5 QUEUE=q RM=lsf SLOTS=8 " ]
    [ "$(variables LSB_JOBID=5 LSB_JOBINDEX=3)" = "ID=5 RM=lsf TASK=3 " ]
    [ "$(variables PBS_JOBID=5[3].server PBS_ARRAYID=3 PBS_QUEUE=q PBS_NP=8 PBS_NODEFILE=/f)" = \
        "HOSTFILE=/f ID=5[3].server QUEUE=q RM=torque SLOTS=8 TASK=3 " ]
    [ "$(MPRUN_JOB_ID=stale MPRUN_JOB_TASK=stale variables LSB_JOBID=5)" = "ID=5 RM=lsf " ]
    [ -z "$(MPRUN_JOB_ID=stale variables SGE_ROOT=/x JOB_ID=20 QUEUE=mine)" ]
}

@test "MPRUN_JOB_*: limits and cores" {
    needs_no_sanitizers "they need more virtual memory"
    [ "$(ulimit -v 4000000 && ulimit -t 3600 && variables A=1)" = "CPU_TIME=3600 VMEM=4096000000 " ]
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    [ "$(taskset -c "$cpu" "$STARTER" /usr/bin/env | grep MPRUN_JOB_CPUS)" = "MPRUN_JOB_CPUS=$cpu" ]
}

# ---- Grid Engine's own programs ----------------------------------------------------------------

# A job that was submitted with a shell, and its binary: what it says of itself.
job_look() {
    cat <<'EOF'
echo "file $(readlink "/proc/$$/exe") name $0"
for argument; do printf '<%s>' "$argument"; done
tr '\0' '|' </proc/$$/cmdline
readlink /proc/self/fd/0
# the shell sets some of these itself, and the order is nobody's business
tr '\0' '\n' </proc/$$/environ | grep -vE '^(SGE_STARTER_.*|MPRUN_JOB_.*|_=.*|SHLVL=.*|OLDPWD=.*)' | sort
EOF
}

# Run a job by the shepherd without a starter method, and with mpstarter as one.
compare_jobs() {
    local name
    for name in none "$STARTER"; do
        spool_make "$TMPDIR/spool" "starter_method=$name" "$@" || return 1
        shepherd_run "$TMPDIR/spool" >"said.${name##*/}"
    done
    grep -q '^file /' said.none && grep -qx 'status 0' said.none && grep -qx 'shepherd 0' said.none || { cat said.none; return 1; }
    diff said.none said.mpstarter
    # it was there
    grep -qF "execvlp($STARTER" "$TMPDIR/spool/trace"
}

real_jobs() {
    local mode login binary no_shell script
    job_look >look
    { echo '#!/bin/bash' && cat look; } >script
    chmod 755 look script
    for mode in unix_behavior posix_compliant script_from_stdin start_as_command raw_exec; do
        for login in 0 1; do
            for script in script look; do
                compare_jobs "script_file=$PWD/$script" "shell_start_mode=$mode" "use_login_shell=$login" \
                    shell_path=/bin/bash -- one 'two  words' '$HOME' || { echo "$mode $login $script"; return 1; }
            done
        done
        for no_shell in 0 1; do
            # -s and a command that is not executed is what Grid Engine makes of this
            [ $mode.$no_shell != script_from_stdin.1 ] || continue
            compare_jobs "script_file=$PWD/script" "shell_start_mode=$mode" use_login_shell=1 handle_as_binary=1 \
                no_shell=$no_shell shell_path=/bin/bash -- one 'two  words' '$HOME' || { echo "$mode binary $no_shell"; return 1; }
        done
    done
}

# for a bash of its own, which bats does not look at command by command
export_real_jobs() {
    export -f real_jobs compare_jobs job_look spool_make spool_defaults shepherd_run
    export GRIDENGINE_LIB STARTER MPRUN_TEST_MARK
}

@test "a job of the real shepherd is the same with and without it, in all start modes" {
    needs_shepherd
    export_real_jobs
    bash -c real_jobs
}

# bats test_tags=root
@test "the same for an ordinary user" {
    needs_shepherd
    needs_root
    export_real_jobs
    run_as_user bash -c real_jobs
}

@test "a failing job gives its exit code and signal to the real shepherd" {
    needs_shepherd
    for job in 'exit 0' 'exit 1' 'exit 99' 'exit 100' 'exit 125' 'exit 255' 'kill -9 $$' 'kill -15 $$' 'kill -12 $$'; do
        { echo '#!/bin/sh' && echo "$job"; } >script
        for name in none "$STARTER"; do
            spool_make "$TMPDIR/spool" "starter_method=$name" "script_file=$PWD/script"
            shepherd_run "$TMPDIR/spool" >"said.${name##*/}"
        done
        [ -s said.none ]
        diff said.none said.mpstarter
    done
    # a missing shell ends the job; without the starter method it puts the job in error
    spool_make "$TMPDIR/spool" "starter_method=$STARTER" shell_path=/no/shell shell_start_mode=posix_compliant "script_file=$PWD/script"
    run shepherd_run "$TMPDIR/spool"
    [[ $output == "mpstarter: on $(hostname): run '/no/shell': there is no such shell here; "*$'\nstatus 127\nshepherd 0' ]]
}

# compare_tasks COMMAND...: run it by qrsh_starter, with and without the starter method and -noshell
compare_tasks() {
    local name option
    for option in '' noshell; do
        for name in none "$STARTER"; do
            QRSH=1 spool_make "$TMPDIR/spool" "starter_method=$name" -- "$@"
            qrsh_starter_run "$TMPDIR/spool" $option >"said.${name##*/}" 2>&1
        done
        grep -qE '^status [0-9]+$' said.none || { cat said.none; return 1; }
        diff said.none said.mpstarter || { echo "option '$option'"; return 1; }
        [ -z "$option" ] || [ -z "${SAYS:-}" ] || grep -q "$SAYS" said.mpstarter
    done
}

@test "a task of the real qrsh_starter is the same with and without it, with and without a shell" {
    needs_shepherd
    job_look >look
    { echo '#!/bin/bash' && cat look; } >script
    SAYS='<two  words><\$HOME><>' compare_tasks "$PWD/script" 'two  words' '$HOME' ''
    SAYS='<;>' compare_tasks "$PWD/script" ';'
    SAYS='^file /' compare_tasks "$PWD/script"
    compare_tasks /bin/sh -c 'exit 7'
    compare_tasks /bin/true
    mkdir 'with blanks' && cp script 'with blanks/script'
    QRSH=1 spool_make "$TMPDIR/spool" "starter_method=$STARTER" -- "$PWD/with blanks/script"
    run qrsh_starter_run "$TMPDIR/spool" noshell
    [[ $output == "file $BASH_FILE name $PWD/with blanks/script"* ]]
}

@test "a task of the real qrsh_starter that is mpstarter is the starter itself" {
    needs_shepherd
    for option in '' noshell; do
        QRSH=1 spool_make "$TMPDIR/spool" "starter_method=$STARTER" -- "$STARTER"
        run qrsh_starter_run "$TMPDIR/spool" $option </dev/null
        # said by the starter, which has found nothing on its standard input
        [[ $output == "$(first_word)"$'\n'"mpstarter: on $(hostname): "*"status 32000" ]]
        [[ $output != *"run '"* ]]
    done
}
