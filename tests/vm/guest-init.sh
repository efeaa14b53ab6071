#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# guest-init.sh - /init of vmrun.sh's machines: the host's root, seen through an overlay
B=/bin/busybox
$B mkdir -p /proc /sys /dev /lower /rw /new
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
. /conf

load() {
    for module; do
        [ ! -e /m/$module.ko ] || $B insmod /m/$module.ko
    done
}
# virtio_ring first: the others need it
load virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci overlay
if [ $FS = 9p ]; then
    load netfs fscache 9pnet 9pnet_virtio 9p
    OPTIONS=trans=virtio,version=9p2000.L,msize=524288
    $B mount -t 9p -o ro,$OPTIONS,cache=loose hostroot /lower || echo "vmrun: no root file system"
else
    load fuse virtiofs
    $B mount -t virtiofs -o ro hostroot /lower || echo "vmrun: no root file system"
fi

$B mount -t tmpfs -o size=80% tmpfs /rw
$B mkdir -p /rw/upper /rw/work
$B mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /new ||
    echo "vmrun: no overlay"
$B mount -t tmpfs -o mode=755 run /new/run
$B mkdir -p /new/vmout /new/.vmrun /new/run/lock /new/run/user /new/run/dbus
$B chmod 1777 /new/run/lock
if [ $FS = 9p ]; then
    $B mount -t 9p -o $OPTIONS,cache=none out /new/vmout
else
    $B mount -t virtiofs out /new/vmout
fi
$B cp -a /m /payload /main /bin/busybox /new/.vmrun/

# as a machine of its own: no disks to wait for, no sign of a container, its own name and id
$B rm -f /new/.dockerenv /new/etc/machine-id
: >/new/etc/fstab
echo vm0 >/new/etc/hostname
echo 0123456789abcdef0123456789abcdef >/new/etc/machine-id
[ ! -d /units ] || { $B mkdir -p /new/run/systemd/system && $B cp -a /units/* /new/run/systemd/system/; }

$B umount /proc
$B umount /sys
$B mount --move /dev /new/dev
exec $B switch_root /new $($B cat /new/.vmrun/payload/initcmd)
