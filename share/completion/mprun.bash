# SPDX-License-Identifier: BSD-3-Clause
# completion of mprun's command lines for bash; mprun itself says what may stand there
_mprun() {
    local line=${COMP_LINE:0:COMP_POINT} word
    local -a words=() found=()
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=("")
    # bash replaces what stands behind the last '=' or ':'; of lists, items are completed
    local typed=${words[-1]}
    local part=${typed##*[=:]}
    local item=${part##*,}
    local list=${part%"$item"}
    mapfile -t found < <("${words[0]/#\~/$HOME}" --complete "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    for word in "${found[@]}"; do
        case $word in
        @files) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$list" -f -- "$item") ;;
        @directories) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$list" -d -- "$item") ;;
        @commands) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -f -- "$item" | sort -u) ;;
        @hosts) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$list" -A hostname -- "$item") ;;
        @signals) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -A signal -- "$item") ;;
        @variables) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -v -- "$item") ;;
        *) word=${word%%$'\t'*}; COMPREPLY+=("${word#"${typed%"$part"}"}") ;;
        esac
    done
}
complete -F _mprun mprun
