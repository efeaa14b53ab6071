# SPDX-License-Identifier: BSD-3-Clause
# common.bash - functions that the hooks of this directory share
#
#   HOOK boot OWNER ID...     before a job of the user OWNER starts
#   HOOK reset OWNER ID...    after it has ended
#
# Exit codes: 0 all devices are done, 1 one is not (the others are), 2 used wrongly. An error is a
# sentence on standard error that names the device. A command that takes longer than LIMIT seconds is
# killed.
LIMIT=120
if [ -r "$HERE/coprocessor.conf" ]; then
    . "$HERE/coprocessor.conf"
fi

complain() { echo "$HOOK: $*" >&2; }
usage() {
    complain "$1; usage: $HOOK boot|reset OWNER DEVICE..."
    exit 2
}

# check_words PATTERN ACTION OWNER ID...
check_words() {
    local pattern=$1 id
    shift
    [ $# -ge 3 ] || usage "words are missing"
    [[ $1 == boot || $1 == reset ]] || usage "'$1' is not an action"
    [[ $2 =~ ^[A-Za-z_][A-Za-z0-9_.-]*$ ]] || usage "'$2' is not a user name"
    for id in "${@:3}"; do
        [[ $id =~ $pattern ]] || usage "'$id' is not a device"
    done
}

# limited DEVICE WHAT COMMAND...: its output in $SAID; 1 with a sentence
limited() {
    local device=$1 what=$2 code=0
    shift 2
    SAID=$(timeout -k 5 "$LIMIT" "$@" 2>&1 </dev/null) || code=$?
    case $code in
    0) return 0 ;;
    124 | 137) complain "$what $device: no answer within $LIMIT s" ;;
    *) complain "$what $device: exit code $code: ${SAID%%$'\n'*}" ;;
    esac
    return 1
}
