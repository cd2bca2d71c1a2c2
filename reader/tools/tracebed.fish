# fish completion for tracebed, which itself knows what can follow: 'tracebed --complete WORD...'.
# SPDX-License-Identifier: MIT

function __tracebed_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (command $words[1] --complete $words[2..-1] "$word" 2>/dev/null)
    set -l kept (string match -r '^--[^=]*=' -- "$word")
    switch "$lines[1]"
        case words
            printf '%s\n' $lines[2..-1]
        case files
            for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word"))
                echo "$kept$path"
            end
        case commands
            complete -C "$word"
    end
end
complete -c tracebed -f -a '(__tracebed_complete)'
