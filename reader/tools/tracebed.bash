# bash completion for tracebed, which itself knows what can follow: 'tracebed --complete WORD...'.
# SPDX-License-Identifier: MIT

_tracebed()
{
    local words=() word kept= lines first
    # Bash splits words at '=' and ':'; they are put together, and what it keeps of the last one is cut from the answer.
    local i part glued=
    for ((i = 1; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        if [[ ($part == [=:]* || $glued) && ${#words[@]} -gt 0 && ${words[-1]} == -* ]]; then
            words[-1]+=$part
        else
            words+=("$part")
        fi
        glued=
        [[ $part == [=:] ]] && glued=yes
    done
    word=${words[-1]}
    [[ $word == -*=* ]] && kept=${word%"${word##*[=:]}"}
    mapfile -t lines < <(command "${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
    first=${lines[0]} COMPREPLY=()
    case $first in
    words)
        lines=("${lines[@]:1}")
        COMPREPLY=("${lines[@]%%$'\t'*}")
        COMPREPLY=("${COMPREPLY[@]#"$kept"}")
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
        ;;
    files)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "${word#"$kept"}")
        ;;
    commands)
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
        ;;
    esac
}
complete -F _tracebed tracebed
