# SPDX-License-Identifier: BSD-3-Clause
# setup.bash - packages and the build, for quickstart and quickcheck
#
# Sourced at the top of the source tree. $LOG is the file that everything noisy goes to.

# packages_of SECTION...: names in packages.txt, one a line
packages_of() {
    local section
    for section in "$@"; do
        sed -n "/^\[$section\]/,/^\[/p" packages.txt | sed '/^\[/d; s/#.*//; s/[[:space:]]//g; /^$/d'
    done
}

# packages_missing NAME...: those that are not installed
packages_missing() {
    local have
    command -v dpkg-query >/dev/null || return 0
    have=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
    comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$have")
}

# What comes with a service (sshd) is not to start it: a policy says so, where there is none yet.
apt_install() {
    local policy=/usr/sbin/policy-rc.d code=0
    if [ -e $policy ] || ! printf '#!/bin/sh\nexit 101\n' >$policy || ! chmod 755 $policy; then
        policy=
    fi
    no_default_cell "$@"
    DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=600 \
        install --no-install-recommends "$@" >>"$LOG" 2>&1 </dev/null || code=$?
    [ -z "$policy" ] || rm -f $policy
    return $code
}

# Grid Engine's packages would make a queue master of this machine.
no_default_cell() {
    [[ " $* " == *" gridengine-"* ]] || return 0
    printf '%s shared/gridengineconfig boolean false\n' gridengine-{common,master,exec,client} |
        debconf-set-selections
}

# packages_install NAME...: with the lists that are there, or after an update
packages_install() {
    local known
    known=$(apt-cache --quiet=0 pkgnames 2>/dev/null | sort)
    if [ -z "$(comm -23 <(printf '%s\n' "$@" | sort) <(echo "$known"))" ] && apt_install "$@"; then
        return 0
    fi
    apt-get -q -o DPkg::Lock::Timeout=600 update >>"$LOG" 2>&1 </dev/null
    apt_install "$@"
}

# configure_in DIR ARGS...: what is there already is not done again; make sees to what is out of date
configure_in() {
    local dir=$1 top=$PWD
    shift
    if [ ! -x configure ]; then
        autoreconf -i >>"$LOG" 2>&1 || return 1
    fi
    if [ ! -f "$dir/Makefile" ]; then
        mkdir -p "$dir" && (cd "$dir" && "$top/configure" "$@") >>"$LOG" 2>&1 </dev/null
    fi
}

