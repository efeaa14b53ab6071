#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# in-guest.sh - what run-all.sh runs inside each machine: the tests of cgroups and of mprun's
# containment as root, and again as a user in a delegated part where there is cgroup2 (on hybrid
# machines the library only, to save time: mprun then does what it does as root). Under systemd:
# where mprun makes its cgroups; ends with 75, and no program begun, where systemd hangs.
#
# Each program's TAP comes between the lines "#### begin NAME" and "#### end NAME CODE".
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
export CMOCKA_MESSAGE_OUTPUT=TAP
. "$MPRUN_SOURCE/tests/lib/slow.bash"
UNIT="test-cgroup-parse test-cgroup test-cgroup-refused test-cgroup-limits"

# program WHO NAME COMMAND...
program() {
    local name="$VMRUN_CGROUP $1: $2" code=0 start=$SECONDS
    shift 2
    echo "#### begin $name"
    timeout -k 10 "$(patience 240)" "$@" 2>&1 || code=$?
    printf '\n# %s s\n#### end %s %s\n' $((SECONDS - start)) "$name" $code
}

# library WHO BEFORE...
library() {
    local who=$1 t
    shift
    for t in $UNIT; do
        program "$who" "$t" "$MPRUN_SOURCE/tests/lib/cmocka-tap" "$@" "$MPRUN_BUILD/tests/unit/$t"
    done
}

# mprun_itself WHO BEFORE...
mprun_itself() {
    local who=$1
    shift
    program "$who" containment.bats "$@" bats --formatter tap "$HERE/containment.bats"
}

cd /tmp || exit 1
if [ "$VMRUN_INIT" = systemd ] && ! hangs=$("$HERE/systemd-user.sh" 2345 2>&1); then
    echo "$hangs" | sed 's/^/# /'
    exit 75
fi
if [ "$VMRUN_INIT $VMRUN_CGROUP" = "systemd v2" ]; then
    program systemd systemd.bats bats --formatter tap "$HERE/systemd.bats"
    program systemd mprund-systemd.bats bats --formatter tap "$HERE/mprund-systemd.bats"
    exit
elif [ "$VMRUN_INIT" = systemd ]; then
    program systemd systemd-v1.bats bats --formatter tap "$HERE/systemd-v1.bats"
    exit
fi
library root
mprun_itself root
for t in birth cpuset; do
    program root $t.bats bats --formatter tap "$MPRUN_SOURCE/tests/system/$t.bats"
done
[ "$VMRUN_CGROUP" = hybrid ] || program root mprund.bats bats --formatter tap "$HERE/mprund.bats"
# one machine is enough for process events, and v1 has a cpuset to be made ready for the execd
[ "$VMRUN_CGROUP" != v1 ] || program root quarantine.bats bats --formatter tap "$HERE/quarantine.bats"
# a minute each, and ten on a slow machine
whole() {
    if [ "${MPRUN_HOST_SLOW:-1}" -gt 1 ]; then
        program root whole.bats printf '1..1\nok 1 - a whole Grid Engine # SKIP this machine was too slow\n'
    else
        program root whole.bats bats --formatter tap "$HERE/whole.bats"
    fi
}
[ "$VMRUN_CGROUP${MPRUN_LONG:+ long}" != "v1 long" ] && [ "$VMRUN_CGROUP" != v2 ] || whole
[ "$VMRUN_CGROUP" = v1 ] || library delegated "$HERE/delegate.sh" --
if [ "$VMRUN_CGROUP" = v2 ]; then
    mprun_itself delegated "$HERE/delegate.sh" --
    program delegated cpuset.bats "$HERE/delegate.sh" -- bats --formatter tap "$MPRUN_SOURCE/tests/system/cpuset.bats"
fi
left=$(find /sys/fs/cgroup -name 'mprun.*')
echo "#### begin $VMRUN_CGROUP: leftovers"
if [ -z "$left" ]; then
    echo "ok 1 - no cgroup is left behind"
else
    echo "not ok 1 - no cgroup is left behind"
    echo "$left" | sed 's/^/# /'
fi
echo "1..1"
echo "#### end $VMRUN_CGROUP: leftovers 0"
