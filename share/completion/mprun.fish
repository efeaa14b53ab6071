# SPDX-License-Identifier: BSD-3-Clause
# completion of mprun's command lines for fish; mprun itself says what may stand there
function __mprun_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l item (string replace -r '^.*[=,]' '' -- $typed)
    set -l before (string sub -l (math (string length -- "$typed") - (string length -- "$item")) -- "$typed")
    for line in ($words[1] --complete $words[2..-1] "$typed" 2>/dev/null)
        switch $line
            case @files @commands
                __fish_complete_path "$item" | string replace -r '^' -- "$before"
                test $line = @files; or complete -C "$item"
            case @directories
                __fish_complete_directories "$item" | string replace -r '^' -- "$before"
            case @hosts
                __fish_print_hostnames | string replace -r '^' -- "$before"
            case @signals
                kill -l | string split ' '
            case @variables
                set -nx
            case '*'
                echo $line
        end
    end
end
complete -c mprun -f -a '(__mprun_complete)'
