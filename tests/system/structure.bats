#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# structure.bats - who may know whom, read from the sources and the programs (doc/design.md, 3)
load '../lib/mprun'

LIBRARIES="wire plan containment rm-adapters"
PROGRAMS="launcher starter pmix-server node-daemon tools"

# may_include FOLDER ALLOWED...: prints every project include of FOLDER that is none of ALLOWED
may_include() {
    local folder=$1 allowed
    shift
    [ -d "$MPRUN_SOURCE/$folder" ] || return 0
    allowed=$(IFS='|' && echo "$*")
    (cd "$MPRUN_SOURCE" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' "$folder" \
        --include='*.[ch]' | grep -vE "\"(($allowed)/|config\.h\")") || :
}

@test "includes go down only: programs, then libraries, then model, then common" {
    for folder in $PROGRAMS; do
        may_include "$folder" "$folder" $LIBRARIES model common
    done >wrong
    for folder in $LIBRARIES; do
        may_include "$folder" "$folder" model common
    done >>wrong
    may_include model model common >>wrong
    may_include common common >>wrong
    cat wrong
    [ ! -s wrong ]
}

@test "the check of includes sees a wrong one" {
    mkdir -p tree/plan && echo '#include "wire/link.h"' >tree/plan/x.c
    MPRUN_SOURCE=$PWD/tree run may_include plan plan model common
    [[ $output == *'plan/x.c:1:'* ]]
}

@test "mprund's manual has the words of all lines of the trace" {
    sed -n '/^The trace has a line/,/^and words/p' "$MPRUN_SOURCE/share/man/mprund.8" |
        sed 's/\\-/-/g' | grep -oE '[a-z-]+' >manual
    (cd "$MPRUN_SOURCE" && grep -ohE '\<trace\("[a-z-]+' node-daemon/*.c) | sed 's/.*"//' | sort -u >words
    grep -qx scan words
    run grep -vxFf manual words
    [ -z "$output" ]
}

# Prints the lines with a '!' that errexit ignores: everywhere but in a test's last line they could
# not fail.
ignored_negations() {
    (cd "$MPRUN_SOURCE" && grep -rnE '^[[:space:]]*! |\|\| +! ' tests --include='*.bats' |
        grep -vE '\|\| (false|return 1|skip [^|]*)$') || :
}

@test "a negated command in a test can fail: it ends in '|| false' or '|| return 1'" {
    run ignored_negations
    [ -z "$output" ]
}

@test "the check of negated commands sees a wrong one" {
    mkdir -p tree/tests
    sed 's/NOT/!/' >tree/tests/x.bats <<'END'
    NOT grep x y
    NOT grep x y || false
    [ a ] || NOT b
    [ NOT -e a ]
    NOT c || return 1
    NOT d || skip "no d"
    NOT e || true
END
    MPRUN_SOURCE=$PWD/tree run ignored_negations
    [ "$(cut -d : -f 2 <<<"$output" | paste -sd ' ')" = "1 3 7" ]
}

# Of two checks in a line the first could not fail either.
ignored_checks() {
    (cd "$MPRUN_SOURCE" && grep -rnE '^[[:space:]]*\[\[? .* \]\]? && (\[\[? .*\]\]?|diff .*|grep .*|cmp .*)$' tests --include='*.bats') || :
}

@test "checks in a test are a line each" {
    run ignored_checks
    [ -z "$output" ]
    mkdir -p tree/tests
    sed 's/AND/\&\&/' >tree/tests/x.bats <<'END'
    [ a ] AND [ b ]
    [[ a == b ]] AND grep x y
    [ a ] AND return
    if [ a ] AND [ b ]; then
    [ a ] || { [ b ] AND [ c ]; }
END
    MPRUN_SOURCE=$PWD/tree run ignored_checks
    [ "$(cut -d : -f 2 <<<"$output" | paste -sd ' ')" = "1 2" ]
}

# In a list of commands all but the last could not fail either: prints the lines of tests in which
# one of those is a function of the file's or a library's.
ignored_functions() {
    local file
    (cd "$MPRUN_SOURCE" && find tests -name '*.bats') | while read -r file; do
        (cd "$MPRUN_SOURCE" && awk '
            FNR == 1 { in_test = 0; reading[FILENAME]++ }
            match($0, /^ *[a-z_0-9]+\(\)/) { name = $1; sub(/\(.*/, "", name); is_function[name] = 1 }
            reading[FILENAME] < 2 { next }
            /^@test/ || /^}/ { in_test = /^@test/ }
            !in_test || /\|\||^ *(if|elif|while|until|for|local|\{) / { next }
            {
                line = $0
                gsub(/\\./, "", line)
                gsub(/\047[^\047]*\047/, "", line)
                gsub(/"[^"]*"/, "", line)
                n = split(line, part, / && /)
                for (i = 1; i < n; i++) {
                    split(part[i], word, " ")
                    if (word[1] in is_function) { print FILENAME ":" FNR ":" $0; next }
                }
            }' "$LIBRARIES_OF_TESTS"/*.bash "$file" "$file")
    done
}
LIBRARIES_OF_TESTS=$MPRUN_SOURCE/tests/lib

@test "checks by functions in a test are a line each, too" {
    run ignored_functions
    [ -z "$output" ]
    mkdir -p tree/tests
    sed 's/AND/\&\&/g; s/^TEST/@test/' >tree/tests/x.bats <<'END'
own_check() { a AND b; }
TEST "x" {
    x AND own_check AND y
    x AND y AND own_check
    wait_until 10 own_check AND x
    if own_check AND x; then
    run x 'own_check AND y' "own_check AND y"
    own_check AND x || return 1
}
helper() {
    own_check AND y
}
END
    MPRUN_SOURCE=$PWD/tree run ignored_functions
    [ "$(cut -d : -f 2 <<<"$output" | paste -sd ' ')" = "3 5" ]
}

@test "one module per external library" {
    cd "$MPRUN_SOURCE"
    only() { # HEADER FILE-PATTERN
        grep -rlE "#[[:space:]]*include[[:space:]]+<$1" $PROGRAMS $LIBRARIES model common \
            --include='*.[ch]' 2>/dev/null | grep -vE "^($2)" || :
    }
    {
        only 'ev\.h' 'common/loop\.c'
        only 'hwloc' 'plan/topology\.c|pmix-server/'
        only 'pmix' 'pmix-server/'
        only '(lib|g)?elf\.h' 'launcher/libraries\.c'
        only 'jansson' 'common/json\.c'
        only 'libxml/' 'rm-adapters/gridengine-xml\.c'
        only 'confuse' 'node-daemon/conf-private\.h'
    } >"$TMPDIR/wrong"
    cat "$TMPDIR/wrong"
    [ ! -s "$TMPDIR/wrong" ]
}

@test "mprun and mpstarter are linked with what every step needs, and no more" {
    for program in launcher/mprun starter/mpstarter; do
        ldd "$MPRUN_BUILD/$program" >libraries
        run grep -E 'libpmix|libxml2|libjansson|libsystemd|libsqlite|libdbus' libraries
        [ "$status" -eq 1 ]
        grep -q 'libc\.so' libraries
    done
}

@test "XML is read by the tools alone" {
    ldd "$MPRUN_BUILD/tools/mprsrc" | grep -q libxml2
    # mprund has it read by a process without privileges
    ldd "$MPRUN_BUILD/node-daemon/mprund-qstat" | grep -q libxml2
    for program in launcher/mprun starter/mpstarter pmix-server/mppmi; do
        run ldd "$MPRUN_BUILD/$program"
        [[ $output == *libc.so* && $output != *libxml2* ]]
    done
}

@test "mprund is linked with neither parsers of foreign formats nor PMIx" {
    ldd "$MPRUN_BUILD/node-daemon/mprund" >libraries
    run grep -E 'libxml2|libprotobuf|libpmix|libhwloc|libjansson|libsystemd' libraries
    [ "$status" -eq 1 ]
    grep -q 'libconfuse' libraries
}

@test "every source file begins with its licence" {
    cd "$MPRUN_SOURCE"
    for file in $(find $PROGRAMS $LIBRARIES model common tests bench examples -name '*.[ch]' 2>/dev/null); do
        head -n 1 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$file"
    done >"$TMPDIR/wrong"
    cat "$TMPDIR/wrong"
    [ ! -s "$TMPDIR/wrong" ]
}
