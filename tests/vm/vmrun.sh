#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# vmrun.sh - run a command in a throw-away Linux machine that looks like this one
#
#   vmrun.sh [options] [--] COMMAND [ARGS...]
#
#   --cgroup v2|v1|hybrid   how cgroups are mounted there                        (v2)
#   --init plain|systemd    what process 1 is: a script, or this machine's systemd (plain)
#   --cpus N --nodes K --mem MIB    processors, NUMA nodes, memory                (8 2 2048)
#   --kernel auto|cloud|generic     Debian's kernel: cloud needs root here, generic any user;
#                           auto: cloud where that is possible, it starts faster  (auto)
#   --accel auto|tcg|kvm    auto: kvm only with kvm_intel or kvm_amd               (auto)
#   --out DIR               a directory of this machine, writable there as /vmout  (none)
#   --cwd DIR               where the command starts                               ($PWD)
#   --env VAR=VALUE         for its environment, which is otherwise nearly empty   (repeatable)
#   --timeout SECONDS       for the whole run                                      (300)
#   --cache DIR             kernels that were fetched         (${XDG_CACHE_HOME:-~/.cache}/vmrun)
#   --append TEXT           more for the kernel's command line
#   --keep-log FILE         a copy of the kernel's messages
#   --prepare               fetch the kernel if it is not there, and run nothing
#   -v                      say on standard error how long it took
#
# The machine's root is this machine's root, read-only, under an overlay in its memory: everything
# installed and built here is there, and nothing it writes stays. The command's standard output and
# error come out here as one stream, without a terminal; its exit code is ours. 124: the time was
# over; 125: the machine could not be made, or died. In the command's environment VMRUN=1,
# VMRUN_CGROUP and VMRUN_INIT say that and what it is: tests that end processes for want of memory
# run only then.
#
# Packages: qemu-system-x86 busybox-static cpio. The kernel is taken out of its Debian package, once,
# and not installed. A run takes 6 to 30 s on two processors without KVM; a program start there takes
# 3 to 13 ms, so give tests time. Address space randomization is off (each exec would otherwise be
# translated anew); sysctl kernel.randomize_va_space=2 turns it on.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
INIT=plain CGROUP=v2 CPUS=8 NODES=2 MEM=2048 ACCEL=auto FLAVOUR=auto OUT= CWD=$PWD TIMEOUT=300
CACHE=${VMRUN_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vmrun}
APPEND= KEEP= VERBOSE= PREPARE= ENVIRONMENT=() COMMAND=()
WORK= QEMU_PID= HELPER_PIDS=()

die() {
    echo "vmrun: $*" >&2
    exit 125
}

parse_options() {
    while [ $# -gt 0 ]; do
        case $1 in
        --init | --cgroup | --cpus | --nodes | --mem | --accel | --kernel | --out | --cwd | --timeout | \
            --cache | --append | --env | --keep-log)
            [ $# -ge 2 ] || die "$1 wants a value"
            ;;
        esac
        case $1 in
        --init) INIT=$2 ;;
        --cgroup) CGROUP=$2 ;;
        --cpus) CPUS=$2 ;;
        --nodes) NODES=$2 ;;
        --mem) MEM=$2 ;;
        --accel) ACCEL=$2 ;;
        --kernel) FLAVOUR=$2 ;;
        --out) OUT=$2 ;;
        --cwd) CWD=$2 ;;
        --timeout) TIMEOUT=$2 ;;
        --cache) CACHE=$2 ;;
        --append) APPEND=$2 ;;
        --env) ENVIRONMENT+=("$2") ;;
        --keep-log) KEEP=$2 ;;
        --prepare) PREPARE=1 && shift && continue ;;
        -v) VERBOSE=1 && shift && continue ;;
        --) shift && break ;;
        -*) die "unknown option '$1'" ;;
        *) break ;;
        esac
        shift 2
    done
    COMMAND=("$@")
    [ -n "$PREPARE" ] || [ $# -gt 0 ] || die "no command"
    case $CGROUP in v2 | v1 | hybrid) ;; *) die "--cgroup '$CGROUP': v2, v1 or hybrid" ;; esac
    case $INIT in plain | systemd) ;; *) die "--init '$INIT': plain or systemd" ;; esac
}

# ---- the kernel ----------------------------------------------------------------------------------

VIRTIOFSD=/usr/lib/qemu/virtiofsd
MODULES="virtio virtio_ring virtio_pci virtio_pci_legacy_dev virtio_pci_modern_dev 9p
    9pnet 9pnet_virtio netfs fscache overlay fuse virtiofs veth bridge stp llc dummy macvlan tun"

# The cloud kernel has no 9p, and virtiofs needs a daemon that wants root.
choose_kernel() {
    if [ "$FLAVOUR" = auto ]; then
        FLAVOUR=generic
        [ "$(id -u)" = 0 ] && [ -x $VIRTIOFSD ] && FLAVOUR=cloud
    fi
    case $FLAVOUR in
    generic) PACKAGE=linux-image-amd64 ;;
    cloud) PACKAGE=linux-image-cloud-amd64 ;;
    *) die "--kernel '$FLAVOUR': auto, cloud or generic" ;;
    esac
    KERNEL=$CACHE/$FLAVOUR
}

# fetch_into DIR: vmlinuz and modules, from the package that $PACKAGE stands for
fetch_into() {
    local dir=$1 name patterns=() m
    name=$(apt-cache depends --important "$PACKAGE" |
        sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [ -n "$name" ] || die "apt knows no kernel behind '$PACKAGE': apt-get update"
    for m in $MODULES; do patterns+=("*/$m.ko" "*/$m.ko.xz"); done
    (
        cd "$dir" && apt-get -q download "$name" >download.log 2>&1 && mkdir all modules || exit 1
        # tar complains about patterns that match nothing: which modules there are differs
        dpkg-deb --fsys-tarfile ./"$name"*.deb |
            tar -x -C all --wildcards './boot/vmlinuz*' "${patterns[@]}" 2>/dev/null
        find all -name '*.ko*' -exec cp {} modules/ \;
        cp all/boot/vmlinuz* vmlinuz && rm -rf all ./*.deb && echo "$name" >version && : >complete
    ) || die "cannot fetch the kernel '$name': $(tail -n 1 "$dir/download.log")"
}

fetch_kernel() {
    [ -e "$KERNEL/complete" ] && return
    mkdir -p "$CACHE" || die "cannot make the cache '$CACHE'"
    exec 9>"$CACHE/lock" && flock 9
    if [ ! -e "$KERNEL/complete" ]; then
        local fresh
        fresh=$(mktemp -d "$CACHE/fetch.XXXXXX") || die "cannot write to the cache '$CACHE'"
        fetch_into "$fresh"
        rm -rf "$KERNEL" && mv "$fresh" "$KERNEL"
    fi
    exec 9>&-
}

# ---- what the machine starts from ----------------------------------------------------------------

# An initramfs with busybox, the modules, guest-init.sh as /init and guest-main.sh for later.
make_initramfs() {
    local root=$WORK/root
    mkdir -p "$root/bin" "$root/m" "$root/payload"
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$KERNEL"/modules/*.ko* "$root/m/" 2>/dev/null
    cp "$HERE/guest-init.sh" "$root/init"
    cp "$HERE/guest-main.sh" "$root/main"
    chmod +x "$root/init" "$root/main"
    echo "FS=$FS" >"$root/conf"
    printf 'CGROUP=%q INIT=%q CWD=%q\n' "$CGROUP" "$INIT" "$CWD" >"$root/payload/conf"
    printf '%s\0' "${COMMAND[@]}" >"$root/payload/argv"
    : >"$root/payload/env"
    [ ${#ENVIRONMENT[@]} -eq 0 ] || printf '%s\0' "${ENVIRONMENT[@]}" >"$root/payload/env"
    echo /.vmrun/main >"$root/payload/initcmd"
    [ "$INIT" = plain ] || add_systemd "$root"
    (cd "$root" && find . | cpio -o -H newc --quiet >"$WORK/initrd") || die "cannot make an initramfs"
}

# Units that make no sense in a machine of seconds, or want devices or files that it lacks.
# systemd-tmpfiles-setup alone takes two minutes and empties /tmp.
MASKED="systemd-tmpfiles-setup.service systemd-tmpfiles-clean.service systemd-tmpfiles-clean.timer
    systemd-tmpfiles-setup-dev.service systemd-remount-fs.service systemd-timesyncd.service
    systemd-resolved.service systemd-networkd.service systemd-networkd.socket
    systemd-firstboot.service systemd-sysusers.service systemd-hwdb-update.service
    systemd-update-done.service systemd-machine-id-commit.service systemd-pstore.service
    systemd-journal-flush.service systemd-journal-catalog-update.service ldconfig.service
    systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-random-seed.service
    systemd-binfmt.service proc-sys-fs-binfmt_misc.automount modprobe@.service
    kmod-static-nodes.service systemd-modules-load.service apparmor.service dev-mqueue.mount
    dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount
    sys-fs-fuse-connections.mount sys-kernel-config.mount getty.target timers.target
    e2scrub_reap.service"

add_systemd() {
    local units=$1/units u
    echo /lib/systemd/systemd >"$1/payload/initcmd"
    mkdir -p "$units"
    cp "$HERE/guest-vmrun.target" "$units/vmrun.target"
    cp "$HERE/guest-vmrun.service" "$units/vmrun.service"
    for u in $MASKED; do ln -s /dev/null "$units/$u"; done
    APPEND="systemd.unit=vmrun.target systemd.show_status=0 systemd.log_target=console
        systemd.log_level=warning systemd.firstboot=0 systemd.default_timeout_start_sec=240
        systemd.default_device_timeout_sec=240 systemd.tty.term.console=dumb $APPEND"
    case $CGROUP in
    v2) APPEND="systemd.unified_cgroup_hierarchy=1 $APPEND" ;;
    hybrid) APPEND="systemd.unified_cgroup_hierarchy=0
        systemd.legacy_systemd_cgroup_controller=0 $APPEND" ;;
    v1) APPEND="systemd.unified_cgroup_hierarchy=0
        systemd.legacy_systemd_cgroup_controller=1 $APPEND" ;;
    esac
}

# ---- the machine ------------------------------------------------------------------------------------

# kvm_pvm offers /dev/kvm but emulates an ordinary kernel instruction by instruction.
choose_accelerator() {
    if [ "$ACCEL" = auto ]; then
        ACCEL=tcg
        { [ -d /sys/module/kvm_intel ] || [ -d /sys/module/kvm_amd ]; } && [ -w /dev/kvm ] && ACCEL=kvm
    fi
    case $ACCEL in
    tcg) QEMU+=(-accel 'tcg,thread=multi' -cpu 'max,la57=off') ;;
    kvm) QEMU+=(-accel kvm -cpu host) ;;
    *) die "--accel '$ACCEL': auto, tcg or kvm" ;;
    esac
}

add_nodes() {
    local n first last per=$((CPUS / NODES)) size=$((MEM / NODES))
    ((per > 0)) || die "--cpus $CPUS: fewer than --nodes $NODES"
    for ((n = 0; n < NODES; n++)); do
        first=$((n * per)) last=$((n * per + per - 1))
        if ((n == NODES - 1)); then
            last=$((CPUS - 1)) size=$((MEM - n * size))
        fi
        if [ $FS = virtiofs ]; then
            QEMU+=(-object "memory-backend-memfd,id=m$n,size=${size}M,share=on")
        else
            QEMU+=(-object "memory-backend-ram,id=m$n,size=${size}M")
        fi
        QEMU+=(-numa "node,nodeid=$n,cpus=$first-$last,memdev=m$n")
    done
}

# share TAG DIRECTORY
share_by_virtiofs() {
    local socket=$WORK/$1.sock tries=0
    rm -f "$socket"
    # without CAP_SYS_RESOURCE it may not raise its limit of open files: leave that alone
    $VIRTIOFSD --socket-path="$socket" -o source="$2" -o cache=always -o sandbox=chroot \
        --rlimit-nofile=0 >"$WORK/$1.log" 2>&1 9>&- &
    HELPER_PIDS+=($!)
    QEMU+=(-chardev "socket,id=$1,path=$socket" -device "vhost-user-fs-pci,chardev=$1,tag=$1")
    until [ -S "$socket" ]; do # nothing tells when it listens
        kill -0 "${HELPER_PIDS[-1]}" 2>/dev/null && ((tries++ < 1000)) ||
            die "virtiofsd for '$2' did not start: $(tail -n 1 "$WORK/$1.log")"
        sleep 0.01
    done
}

add_shares() {
    if [ $FS = virtiofs ]; then
        share_by_virtiofs hostroot /
        share_by_virtiofs out "$OUT"
    else
        QEMU+=(-virtfs "local,path=/,mount_tag=hostroot,security_model=none,readonly=on,multidevs=remap"
            -virtfs "local,path=$OUT,mount_tag=out,security_model=none,multidevs=remap")
    fi
}

start_machine() { # SECONDS
    QEMU=(qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none -monitor none
        -smp "$CPUS,sockets=$NODES,cores=$((CPUS / NODES)),threads=1" -m "$MEM"
        -kernel "$KERNEL/vmlinuz" -initrd "$WORK/initrd" -serial "file:$WORK/console")
    choose_accelerator
    add_nodes
    add_shares
    QEMU+=(-append "console=ttyS0 quiet loglevel=4 panic=-1 psi=1 tsc=reliable random.trust_cpu=on
        mitigations=off norandmaps audit=0 selinux=0 apparmor=0 $APPEND")
    # it does not outlive this script, whatever ends that
    setpriv --pdeathsig TERM timeout -k 5 "$1" "${QEMU[@]}" </dev/null >"$WORK/qemu.err" 2>&1 &
    QEMU_PID=$!
}

stop_machine() {
    kill "$QEMU_PID" ${HELPER_PIDS[@]+"${HELPER_PIDS[@]}"} 2>/dev/null
    wait "$QEMU_PID" ${HELPER_PIDS[@]+"${HELPER_PIDS[@]}"} 2>/dev/null
    QEMU_PID= HELPER_PIDS=()
}

# The kernel of an emulated machine may lock up for ever while it boots ("soft lockup" on its console, one
# of a dozen boots on a crowded machine): then there is another one.
BOOT_S=$((120 * ${MPRUN_TEST_SLOW:-1})) # how slow this machine is: tests/lib/slow.bash
boot_machine() {
    local tries waited end=$((SECONDS + TIMEOUT))
    for ((tries = 1; ; tries++)); do
        rm -f "$OUT/.vmrun-begun"
        start_machine $((end - SECONDS))
        for ((waited = 0; tries == 3 || waited < BOOT_S * 10; waited++)); do
            kill -0 "$QEMU_PID" 2>/dev/null && [ ! -e "$OUT/.vmrun-begun" ] || return
            sleep 0.1
        done
        echo "vmrun: the machine did not begin within $BOOT_S s, and another one is started: $(tail -n 1 "$WORK/console")" >&2
        stop_machine
    done
}

run_machine() {
    : >"$OUT/.vmrun-output"
    boot_machine
    tail -c +1 -s 0.1 -f --pid=$QEMU_PID "$OUT/.vmrun-output" &
    local reader=$!
    wait $QEMU_PID
    QEMU_CODE=$?
    QEMU_PID=
    wait $reader
    rm -f "$OUT/.vmrun-output" "$OUT/.vmrun-begun"
}

# ---- the end ------------------------------------------------------------------------------------------

clean_up() {
    [ -z "$QEMU_PID" ] || kill "$QEMU_PID" 2>/dev/null
    [ ${#HELPER_PIDS[@]} -eq 0 ] || kill "${HELPER_PIDS[@]}" 2>/dev/null
    [ -z "$KEEP" ] || cp "$WORK/console" "$KEEP" 2>/dev/null
    [ -z "$WORK" ] || rm -rf "$WORK"
}

report() {
    local code=
    [ -s "$OUT/.vmrun-code" ] && code=$(cat "$OUT/.vmrun-code")
    rm -f "$OUT/.vmrun-code"
    [ -z "$code" ] || exit "$code"
    if [ $QEMU_CODE -eq 124 ] || [ $QEMU_CODE -eq 137 ]; then
        echo "vmrun: not ended after $TIMEOUT s; the last of its console:" >&2
        tail -n 15 "$WORK/console" >&2
        exit 124
    fi
    echo "vmrun: the machine ended without a status (qemu: $QEMU_CODE)" >&2
    tail -n 5 "$WORK/qemu.err" >&2
    tail -n 25 "$WORK/console" >&2
    exit 125
}

main() {
    parse_options "$@"
    for tool in qemu-system-x86_64 busybox cpio setpriv; do
        command -v $tool >/dev/null || die "'$tool' is missing: apt-get install" \
            "qemu-system-x86 busybox-static cpio util-linux"
    done
    choose_kernel
    fetch_kernel
    [ -z "$PREPARE" ] || exit 0
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/vmrun.XXXXXX") || die "no directory for temporary files"
    trap clean_up EXIT
    trap 'exit 130' INT TERM HUP
    OUT=${OUT:-$WORK/out}
    mkdir -p "$OUT" && rm -f "$OUT/.vmrun-code" || die "cannot write to '$OUT'"
    FS=9p
    [ -e "$KERNEL/modules/9p.ko" ] || FS=virtiofs
    local start=$SECONDS
    make_initramfs
    run_machine
    [ -z "$VERBOSE" ] || echo "vmrun: $((SECONDS - start)) s" >&2
    report
}
main "$@"
