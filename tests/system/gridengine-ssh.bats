#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gridengine-ssh.bats - a Grid Engine whose rsh_command and rsh_daemon are ssh: tasks all the same, unless
# a login moves them elsewhere
load '../lib/mprun'
load '../lib/hosts'
load '../lib/gridengine'

setup_file() { gridengine_setup --rsh ssh; }
teardown_file() { gridengine_teardown; }
setup() { gridengine_begin; }
teardown() { gridengine_end; }

@test "ranks are on all slots, and a failed one takes down the step but not the job" {
    run -0 --separate-stderr qsub_wait -pe lab 6 <<'EOF'
m hostname | sort | tr '\n' ' '
m sh -c '[ $MPRUN_RANK != 5 ] || exit 7; sleep 60'
echo $?
EOF
    [ "$output" = "n1 n1 n2 n2 n3 n3 7" ]
    [[ $stderr == "mprun: rank 5 on "*"exited with code 7; the other ranks are ended" ]]
    [ "$(job_records 12 | sort -u)" = 0 ]
}

@test "a login session that takes the starter out of the job is named, with what to do" {
    local file daemon host
    own_v2_cgroup >/dev/null || skip "needs a cgroup2 mount"
    file=$HOSTS_DIR/gridengine/sshd daemon=$(cat "$HOSTS_DIR/gridengine/sshd")
    # what pam_systemd does
    { head -n 1 "$file" && cat <<'EOF'; } >"$file.new"
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
mount=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
mkdir -p "$mount$own/session-7.scope" && echo 0 >"$mount$own/session-7.scope/cgroup.procs"
EOF
    tail -n +2 "$file" >>"$file.new"
    chmod 755 "$file.new" && mv "$file.new" "$file"
    run -0 --separate-stderr qsub_wait -pe lab 3 <<<'m hostname | sort | tr "\n" " "'
    cat <<<"$daemon" >"$file"
    for host in n1 n2 n3; do
        wait_until 10 on_root $host sh -c 'mount=$(awk "/ - cgroup2 / { print \$5; exit }" /proc/self/mountinfo)
            rmdir "$mount$(sed -n "s/^0:://p" /proc/self/cgroup)/session-7.scope"' 2>/dev/null
    done
    echo "$stderr"
    [ "$output" = "n1 n2 n3 " ]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    [[ $stderr == "mprun: host n"*": a login has put mpstarter into the session 'session-7.scope'; that is not the job's"*"'UsePAM no'"* ]]
}
