#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# structure.bats - who may know whom, read from the sources and the programs (doc/design/03-programs.md)
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
        may_include "$folder" "$folder" $LIBRARIES model common |
            grep -v '^launcher/start/starters[.]c:.*"starter/run[.]h"' || :
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
    mkdir -p tree/plan && echo '#include "wire/link/link.h"' >tree/plan/x.c
    MPRUN_SOURCE=$PWD/tree run may_include plan plan model common
    [[ $output == *'plan/x.c:1:'* ]]
}

@test "mprund's manual has the words of all lines of the trace" {
    sed -n '/^The trace has a line/,/^and words/p' "$MPRUN_SOURCE/share/man/mprund.8" |
        sed 's/\\-/-/g' | grep -oE '[a-z-]+' >manual
    (cd "$MPRUN_SOURCE" && grep -ohE '\<trace\("[a-z-]+' node-daemon/*/*.c) | sed 's/.*"//' | sort -u >words
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

# Prints the lines that name a resource manager, or a program or variable of one, outside of what is
# about managers: rm-adapters/, node-daemon/, tools/. The command line speaks of other launchers and of
# their options (srun), and the protocol of mprund numbers the managers that mprund knows.
names_of_managers() {
    (cd "$MPRUN_SOURCE" && grep -rniE '\<sge|grid.?engine|qrsh|\<execd|shepherd|slurm|\<srun|\<pbs|torque|\<lsf|\<ssh|\<q(sub|del|stat|conf|login)\>|\<h_(rt|vmem)|\<nslots|pe_hostfile|\<lsb_' \
        launcher starter pmix-server containment wire plan model common --include='*.[ch]' --include='*.proto' |
        grep -vE '^launcher/cmdline/|GRANT_(GRIDENGINE|SLURM)|slurm_variables|ADD\("SLURMD?_|those that srun sets') || :
}

@test "managers are known to their adapters alone" {
    run names_of_managers
    [ -z "$output" ]
    mkdir -p tree/{launcher/cmdline,starter,pmix-server,containment,wire,plan,model,common}
    echo '    const char *gpus = getenv("SGE_RESOURCE_GPU");' >tree/starter/x.c
    echo '/* message of a path_find_helper (PKGLIBEXECDIR) */' >tree/common/x.c
    echo '/* as srun */' | tee tree/launcher/cmdline/x.c >tree/launcher/x.h
    MPRUN_SOURCE=$PWD/tree run names_of_managers
    [ "$(cut -d : -f 1 <<<"$output" | sort | paste -sd ' ')" = "launcher/x.h starter/x.c" ]
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
        only '(lib|g)elf\.h' 'launcher/preload/shared-libraries\.c'
        only 'jansson' 'common/files/json\.c'
        only 'libxml/' 'rm-adapters/gridengine/qstat-xml\.c'
        only 'confuse' 'node-daemon/conf/conf-private\.h'
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
    run grep -E 'libhwloc|libudev' <(ldd "$MPRUN_BUILD"/{launcher/mprun,starter/mpstarter})
    [ "$status" -eq 1 ]
    ldd "$MPRUN_BUILD/plan/topology.so" | grep -q libhwloc
}

# Prints what a program lacks of: position independence, relocations that are all done at its start and
# write-protected then, a stack protector, and checks of buffers (which the sanitizers replace, and for
# which the compiler must optimize).
lacks_hardening() { # PROGRAM...
    local program
    for program; do
        readelf -Whlds "$program" >elf || return 1
        grep -qE 'Type: +DYN' elf || echo "$program: PIE"
        grep -q 'GNU_RELRO' elf || echo "$program: RELRO"
        grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' elf || echo "$program: BIND_NOW"
        grep -q '__stack_chk_fail' elf || echo "$program: stack protector"
        if grep -qE '^CFLAGS = (.* )?-O[123s]' "$MPRUN_BUILD/Makefile"; then
            grep -qE '__[a-z]+_chk\>|__asan_init' elf || echo "$program: FORTIFY"
        fi
    done
}

@test "every program is hardened" {
    (cd "$MPRUN_SOURCE" && grep -hoE '^(bin|sbin|pkglibexec)_PROGRAMS \+= .*' */Makemodule.am) >products
    [ "$(wc -l <products)" -ge 7 ]
    run lacks_hardening $(sed "s|.*+= ||; s|[^ ]*/|$MPRUN_BUILD/&|g" products)
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    echo 'int main(int n, char **a) { char b[9]; return __builtin_sprintf(b, "%s", a[0]); }' >soft.c
    ${CC:-cc} -O2 -U_FORTIFY_SOURCE -fno-stack-protector -fno-pie -no-pie -Wl,-z,norelro,-z,lazy -o soft soft.c
    run lacks_hardening soft
    [[ ${output//soft: /} == $'PIE\nRELRO\nBIND_NOW\nstack protector'* ]]
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

@test "each part of mprund is linked with what it needs, and no more" {
    while read -r part needs; do
        objdump -p "$MPRUN_BUILD/node-daemon/$part" >headers
        found=$(sed -nE 's/^ *NEEDED *lib([a-z]+)\.so.*/\1/p' headers | grep -vE '^([at]san|ubsan)$' | sort | paste -sd ' ')
        [ "$found" = "$needs" ] || echo "$part: $found"
    done >wrong <<'END'
mprund-mover c
mprund-signer c seccomp sodium
mprund-reader c confuse ev seccomp
END
    cat wrong
    [ ! -s wrong ]
}

@test "what runs as root while jobs do does not end for want of memory" {
    grep -q out_of_memory <(nm "$MPRUN_BUILD/launcher/mprun")
    for program in mprund-{mover,supervisor}; do
        nm "$MPRUN_BUILD/node-daemon/$program" >symbols
        run grep out_of_memory symbols
        [ "$status" -eq 1 ]
    done
}

@test "every source file begins with its licence" {
    cd "$MPRUN_SOURCE"
    find $PROGRAMS $LIBRARIES model common tests bench examples -name '*.[ch]' -exec \
        awk 'FNR == 1 { if (!/SPDX-License-Identifier: BSD-3-Clause/) print FILENAME; nextfile }' {} + >"$TMPDIR/wrong"
    cat "$TMPDIR/wrong"
    [ ! -s "$TMPDIR/wrong" ]
}

# Prints the files that a page names and that are not there: paths between backquotes (patterns too), file names
# there without a path, and targets of links, which stand relative to the page. NAME stands for any name.
missing_files() { # PAGE...
    local page name folder
    for page; do
        folder=$(dirname "$page")
        grep -oE '`(common|model|wire|plan|containment|rm-adapters|launcher|starter|pmix-server|node-daemon|tools|share|doc|examples|bench|tests|\.ci)/[^` ]*`' "$page" |
            tr -d '`' | grep -v NAME | while read -r name; do
            compgen -G "$MPRUN_SOURCE/$name" >found || compgen -G "$MPRUN_BUILD/$name" >found || echo "$page: $name"
        done
        grep -oE '`[a-z0-9_-]+\.(c|h|bats|bash|proto)`' "$page" | tr -d '`' | while read -r name; do
            grep -qE "(^|/)$name\$" files || echo "$page: $name"
        done
        grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/[)#]$//' | while read -r name; do
            [ -e "$folder/$name" ] || echo "$page: $name"
        done
    done
}

@test "every file that the documentation names is there" {
    (cd "$MPRUN_SOURCE" && find $PROGRAMS $LIBRARIES model common tests bench examples share -type f) >files
    run missing_files "$MPRUN_SOURCE"/{README,CONTRIBUTING}.md "$MPRUN_SOURCE"/doc/*.md "$MPRUN_SOURCE"/doc/design/*.md
    echo "$output"
    [ -z "$output" ]
    echo '`launcher/no-such.c`, [x](no-such.md#a), `no-such.h`, `starter/*.c`, `launcher/`' >page.md
    run missing_files page.md
    [ "${#lines[@]}" -eq 3 ]
}

# Prints the tests that a page names, as `FILE "NAME"`, and that are not there. The name of a unit test is that of its
# function.
missing_tests() { # PAGE
    local file name
    grep -oE '`[a-z0-9-]+\.(bats|c) "[^"`]+"`' "$1" | tr -d '`' | while read -r file name; do
        name=${name//\"/}
        find "$MPRUN_SOURCE/tests" -name "$file" -exec cat {} + >"$TMPDIR/all"
        grep -qF -e "@test \"$name\" {" -e "static void $name(void **state)" \
            -e "static void test_$name(void **state)" "$TMPDIR/all" || echo "$file: $name"
    done
}

@test "every test that doc/security.md names is there" {
    page=$MPRUN_SOURCE/doc/security.md
    run missing_tests "$page"
    echo "$output"
    [ -z "$output" ]
    # no word of one is written so that it is not looked for
    [ "$(grep -oE '`[a-z0-9-]+\.(bats|c) "[^"`]+"`' "$page" | wc -l)" -ge 50 ]
    run -1 grep -E '\.(bats|c) "[^"`]*("?$|"[^`])' "$page"
    echo '`structure.bats "no such test"` `no-such.bats "x"` `test-words.c "no_such"` `structure.bats "checks in a test are a line each"`' >page.md
    run missing_tests page.md
    [ "${#lines[@]}" -eq 3 ]
}

# Prints the lines of scripts that are installed which want a bash newer than 4.4, RHEL 8's.
newer_bash() {
    (cd "$MPRUN_SOURCE" && grep -rlE '^#!.*[ /]bash|^# [a-z-]+\.bash - ' share launcher starter tools | sort | tee "$TMPDIR/scripts" |
        xargs grep -nE '\<EPOCH(REALTIME|SECONDS)\>|\<SRANDOM\>|\<BASH_(ARGV0|REMATCH_)|\<wait +(-[a-z]+ +)*-[a-z]*[pf]|\<local +-I|\$\{[^}]*@[UuLKk]\}|\$\{[ |]|shopt -s (assoc_expand_once|localvar_|varredir_close|patsub_replacement|globskipdots)|\<read +-E|compat5') || :
}

@test "no script that is installed needs a newer bash than 4.4" {
    run newer_bash
    echo "$output"
    [ -z "$output" ]
    for script in share/gridengine/{prolog,epilog,load-sensor,hooks.bash} share/coprocessor.d/{phi,gpu} launcher/{self-test,env-diff}.bash; do
        grep -qxF "$script" scripts
    done
    mkdir -p tree/{share,launcher,starter,tools}
    cat >tree/share/x <<'END'
#!/bin/bash
now=$EPOCHREALTIME
wait -n -p who
wait -n
echo "${name@Q}" "${name@U}"
local -n x=y
local -I z
END
    MPRUN_SOURCE=$PWD/tree run newer_bash
    [ "$(cut -d : -f 1 <<<"$output" | paste -sd ' ')" = "2 3 5 7" ]
}

# Prints the lines of the product that compute with the ranks of a host themselves.
arithmetic_on_ranks() {
    (cd "$MPRUN_SOURCE" && grep -rnE 'first_rank|[.>]n?cycles\>' --include='*.[ch]' --include='*.proto' \
        $PROGRAMS $LIBRARIES model | grep -vE '^(model/rank-set|wire/messages/placements)\.[ch]:') || :
}

@test "which ranks a host has is a question to model/rank-set.h, everywhere" {
    run arithmetic_on_ranks
    [ -z "$output" ]
    mkdir -p tree/{launcher,starter,pmix-server,node-daemon,tools,wire,plan,containment,rm-adapters,model}
    echo 'rank = h->first_rank + i;' >tree/launcher/x.c
    echo 'n = h->ranks->ncycles;' >tree/starter/x.c
    echo 's->cycles[0].first' >tree/model/rank-set.c
    MPRUN_SOURCE=$PWD/tree run arithmetic_on_ranks
    [ "$(cut -d : -f 1 <<<"$output" | paste -sd ' ')" = "launcher/x.c starter/x.c" ]
}

@test "every page of doc is in the archive, and the index of the design has each of its pages" {
    cd "$MPRUN_SOURCE"
    for page in doc/*.md doc/design/*.md; do
        grep -qw "$page" doc/Makemodule.am || echo "doc/Makemodule.am lacks $page"
    done >"$TMPDIR/wrong"
    for page in doc/design/*.md; do
        grep -qF "(${page#doc/})" doc/design.md || echo "doc/design.md lacks $page"
    done >>"$TMPDIR/wrong"
    cat "$TMPDIR/wrong"
    [ ! -s "$TMPDIR/wrong" ]
}

@test "functions that CONTRIBUTING.md names are there" {
    cd "$MPRUN_SOURCE"
    grep -ohE '`[a-z0-9]+(_[a-z0-9]+)+`|break [a-z_]+' CONTRIBUTING.md | tr -d '`' | sed 's/^break //' |
        grep -vx module_verb | sort -u >"$TMPDIR/names"
    [ "$(wc -l <"$TMPDIR/names")" -ge 10 ]
    while read -r name; do
        grep -rqw -e "$name" $PROGRAMS $LIBRARIES model common tests/lib || echo "$name"
    done <"$TMPDIR/names" >"$TMPDIR/wrong"
    cat "$TMPDIR/wrong"
    [ ! -s "$TMPDIR/wrong" ]
}

@test "every function of the product has a caller in it, and is static where one file calls it" {
    run "$MPRUN_SOURCE/tests/lib/unused-functions"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "the check of functions without callers sees them" {
    folders="common model wire plan containment rm-adapters launcher starter pmix-server node-daemon tools"
    for folder in $folders tests/unit bench; do
        mkdir -p "tree/$folder" "build/$folder"
    done
    cat >tree/common/x.c <<'END'
int used(void) { return 1; }
int tested(void) { return 2; } /* tested() */
int own(void) { return used(); }
int own_and_tested(void) { return own(); }
static int hidden(void) { return own_and_tested(); }
int main(void) { return hidden(); }
END
    echo 'int used(void); int y(void) { return used(); } int main(void) { return y(); }' >tree/common/y.c
    echo 'int tested(void), own_and_tested(void); int main(void) { return tested() + own_and_tested(); }' >tree/tests/unit/test-x.c
    for file in common/x common/y; do
        gcc -c -o "build/$file.o" "tree/$file.c"
    done
    cp build/common/x.o build/common/gone.o
    MPRUN_SOURCE=$PWD/tree MPRUN_BUILD=$PWD/build run "$MPRUN_SOURCE/tests/lib/unused-functions"
    [ "$status" -eq 0 ]
    [ "$output" = "common/x.c: own: own file only
common/x.c: tested: no caller
common/y.c: y: own file only" ]
}

# circles_of FOLDER: circles of the object files of its present sources, whatever older ones are left
circles_of() {
    grep -oE "$1/[a-z0-9/-]+\.c" "$MPRUN_SOURCE/$1/Makemodule.am" | sort -u | while read -r source; do
        find "$MPRUN_BUILD/${source%/*}" -maxdepth 1 -regex \
            ".*/\(\(mp[a-z]+\|lib[a-z]+_a\)-\)?$(basename "$source" .c)\.o" -print -quit
    done >objects
    [ -s objects ] || return 1
    xargs "$MPRUN_SOURCE/tests/lib/file-circles" -v <objects
}

# Each exception is one object in several files.
@test "no file uses, directly or through others, a file that uses it, but for parts of one object" {
    for folder in $PROGRAMS $LIBRARIES model common; do
        circles_of "$folder" || return 1
    done >circles
    cat circles
    grep '^[^ ]' circles |
        grep -vE -e '^(cmdline/[^ ]+ ?)+$' -e '^(start/[^ ]+ ?)+$' -e '^(link/link[^ ]* ?)+$' \
            -e '^((pmi[12]|simple-pmi)/[^ ]+ ?)+$' -e '^(front/job[^ ]+ ?)+$' -e '^(watch/[^ ]+ ?)+$' \
            -e '^pbs/pbs pbs/tm-start$' -e '^starter-side/gridengine starter-side/starter-side$' >wrong || true
    [ ! -s wrong ]
}

@test "the check of circles sees one" {
    echo 'void b(void); void a(void) { b(); }' >a.c
    echo 'void c(void); void b(void) { c(); }' >b.c
    echo 'void a(void); void d(void); void c(void) { a(); d(); }' >c.c
    echo 'void d(void) {}' >d.c
    ${CC:-cc} -c a.c b.c c.c d.c
    run "$MPRUN_SOURCE/tests/lib/file-circles" a.o b.o c.o d.o
    [ "$output" = "a b c" ]
}

@test "what runs as root while jobs do is small" {
    needs_tool readelf
    if ! grep -qE '^CFLAGS = (.* )?-g' "$MPRUN_BUILD/Makefile"; then skip "needs a build with debugging information"; fi
    run "$MPRUN_SOURCE/tests/lib/root-lines" -v
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *" node-daemon/mover/main.c"* && $output == *" node-daemon/supervisor/main.c"* ]]
    [ "${lines[-1]}" -gt 1000 ]
    [ "${lines[-1]}" -le 2500 ]
}
