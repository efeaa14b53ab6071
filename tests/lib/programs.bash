# SPDX-License-Identifier: BSD-3-Clause
# programs.bash - run test programs side by side, for quickcheck: . tests/lib/slow.bash, . tests/lib/programs.bash
#
#   slots_make FILE N         N programs at once, in this shell and in all that it starts
#   slots_take, slots_give    waits until one is free and takes it; gives it back
#   alone COMMAND...          for what keeps all processors busy: beside those in slots, which mostly wait, but
#                             only one such command at a time
#   program NAME LIMIT COMMAND...    runs it under a time limit of so many seconds (of a quiet machine), and prints
#                             what it says between the two lines that tests/lib/tap-count reads
#   tested NAME LIMIT COMMAND...     likewise; what fails is run once more, and tap-count tells the two apart. Of a
#                             file of bats only the tests that failed are.
#   nothing NAME WHY          as if it had been skipped
#   progress_plan N           so many programs more are to be run: $CHECK_PROGRESS has a line for each plan, and
#                             one for each program that has ended: seconds that it took, and its processor time
#   progress_show, progress_hide     on a terminal, a line of how far all is, until it is hidden; else nothing
#   progress_erase            before something else is printed
#
# Slots are bytes in a fifo, which is descriptor 8 here, and is closed in the programs.

slots_make() {
    export ALONE_LOCK=$1.alone
    rm -f "$1" && mkfifo "$1" && exec 8<>"$1" && rm "$1" && printf '%*s' "$2" '' >&8
}
slots_take() { read -r -N 1 <&8; }
slots_give() { printf ' ' >&8; }
alone() { (flock 9 && "$@" 9>&-) 9>"$ALONE_LOCK"; }

program() {
    local name=$1 limit=$2 code=0 start=$SECONDS
    look_how_slow
    ((limit *= MPRUN_TEST_SLOW))
    shift 2
    echo "#### begin $name"
    timeout -k 10 "$limit" "$@" 2>&1 8>&- || code=$?
    [ $code -ne 124 ] || printf '\ntime limit of %s s reached\n' "$limit"
    printf '\n# %d s\n#### end %s %s\n' $((SECONDS - start)) "$name" $code
    return $code
}
tested() {
    local name=$1 limit=$2 code=0 start=$SECONDS said words=() word failed
    shift 2
    said=$(mktemp) # no pipe: what the program leaves behind would keep it open
    program "$name" "$limit" "$@" >"$said" || code=$?
    cat "$said"
    if ((code)); then
        failed=$(failed_tests <"$said")
        for word; do
            words+=("$word")
            [ "$word" != bats ] || [ -z "$failed" ] || words+=(--filter "$failed")
        done
        [ ${#words[@]} -eq $# ] && echo "#### again $name" || echo "#### only $name"
        program "$name" "$limit" "${words[@]}"
    fi
    rm -f "$said"
    progress_done "$name" $((SECONDS - start))
}
# An expression for the names of the tests that failed; nothing where not all have a result of their own.
failed_tests() {
    awk '/^1\.\.[0-9]/ { plan = substr($1, 4) } /^(not )?ok / { results++ }
        /^not ok [0-9]+ (setup|teardown)_file failed/ { plan = -1 }
        /^not ok / { sub(/^not ok [0-9]* /, ""); gsub(/[][\\.*^$+?(){}|]/, "\\\\&"); names = names "|" $0 }
        END { if (plan == results && names != "") print "^(" substr(names, 2) ")$" }'
}
nothing() { printf '#### begin %s\n1..0 # SKIP %s\n#### end %s 0\n' "$1" "$2" "$1"; }

progress_plan() { [ -z "${CHECK_PROGRESS:-}" ] || echo "plan $1" >>"$CHECK_PROGRESS"; }
# NAME SECONDS: of the only program that this shell has run
progress_done() {
    local stat
    read -r -a stat <"/proc/$BASHPID/stat"
    [ -z "${CHECK_PROGRESS:-}" ] || echo "done $2 s, $(((stat[15] + stat[16]) / 100)) s $1" >>"$CHECK_PROGRESS"
}
progress_line() {
    awk -v seconds="$SECONDS" '$1 == "plan" { planned += $2 } $1 == "done" { ended++; last = $NF }
        END {
            sub(".*/", "", last)
            printf "%d of %d test programs have ended, %d:%02d%s", ended, planned, seconds / 60, seconds % 60,
                last == "" ? "" : ", the last was " substr(last, 1, 30)
        }' "$CHECK_PROGRESS"
}
progress_erase() { [ ! -t 1 ] || printf '\r\e[K'; }
progress_show() {
    [ -t 1 ] || return 0
    while progress_erase && progress_line; do sleep 1; done 8>&- &
    PROGRESS=$!
}
progress_hide() {
    [ -n "${PROGRESS:-}" ] || return 0
    kill "$PROGRESS" && wait "$PROGRESS" 2>/dev/null
    PROGRESS=
    progress_erase
}
