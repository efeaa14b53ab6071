#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# guest-main.sh - runs vmrun.sh's command inside the machine: as process 1, or as systemd's
# vmrun.service
PAYLOAD=/.vmrun/payload
. $PAYLOAD/conf
ROOT=/sys/fs/cgroup

# Each first freeze and last thaw patches the kernel's code, and an emulated processor may run what
# it translated before for ever after: the first freeze is here, and the last thaw never.
hold_freezer() {
    mkdir $ROOT/freezer/vmrun-hold && echo FROZEN >$ROOT/freezer/vmrun-hold/freezer.state
}

mount_v1() {
    local c i
    mount -t tmpfs -o mode=755 cgroup $ROOT
    for c in cpu,cpuacct cpuset memory devices freezer blkio pids net_cls,net_prio perf_event hugetlb; do
        mkdir -p $ROOT/$c && mount -t cgroup -o $c cgroup $ROOT/$c
        case $c in *,*) for i in ${c//,/ }; do ln -sfn $c $ROOT/"$i"; done ;; esac
    done
    mkdir -p $ROOT/systemd
    mount -t cgroup -o none,name=systemd cgroup $ROOT/systemd
    hold_freezer
}

mount_cgroups() {
    case $CGROUP in
    v2) mount -t cgroup2 cgroup2 $ROOT ;;
    v1) mount_v1 ;;
    hybrid) mount_v1 && mkdir -p $ROOT/unified && mount -t cgroup2 cgroup2 $ROOT/unified ;;
    esac
}

be_process_one() {
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mkdir -p /dev/pts /dev/shm
    mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
    mount -t tmpfs shm /dev/shm
    ln -sf /proc/self/fd /dev/fd
    ln -sf /proc/self/fd/0 /dev/stdin
    ln -sf /proc/self/fd/1 /dev/stdout
    ln -sf /proc/self/fd/2 /dev/stderr
    hostname vm0
    mount_cgroups
}

[ $$ != 1 ] || be_process_one
for module in llc stp bridge veth dummy macvlan tun; do
    [ ! -e /.vmrun/m/$module.ko ] || /.vmrun/busybox insmod /.vmrun/m/$module.ko 2>/dev/null
done
/.vmrun/busybox ip link set lo up 2>/dev/null

while IFS= read -r -d '' variable; do export "${variable?}"; done <$PAYLOAD/env
mapfile -d '' -t COMMAND <$PAYLOAD/argv
cd "$CWD" 2>/dev/null || cd /
: >/vmout/.vmrun-begun
export VMRUN=1 VMRUN_INIT=$INIT VMRUN_CGROUP=$CGROUP
# Output goes through a pipe into a file that the host reads: many times as fast as a console, and
# a program may open /dev/stderr anew. What the command left running does not hold up the end.
mkfifo -m 666 /run/vmrun-output
cat </run/vmrun-output >>/vmout/.vmrun-output &
reader=$!
"${COMMAND[@]}" </dev/null >/run/vmrun-output 2>&1
code=$?
timeout 2 tail -s 0.05 -f --pid=$reader /dev/null
echo $code >/vmout/.vmrun-code
sync
echo o >/proc/sysrq-trigger # a systemd that hangs ends nothing
# the machine goes off meanwhile; process 1 must not end before
sleep 60
