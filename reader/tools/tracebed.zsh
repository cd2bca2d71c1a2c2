#compdef tracebed
# zsh completion for tracebed, which itself knows what can follow: 'tracebed --complete WORD...'.
# SPDX-License-Identifier: MIT

_tracebed() {
    local -a lines closed open
    local line word
    lines=("${(@f)$(command ${(Q)words[1]} --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case $lines[1] in
    words)
        for line in "${(@)lines[2,-1]}"; do
            word=${${line%%$'\t'*}//:/\\:}
            [[ $line == *$'\t'* ]] && word+=":${line#*$'\t'}"
            if [[ ${line%%$'\t'*} == *= ]]; then open+=("$word"); else closed+=("$word"); fi
        done
        local found=1
        (( $#closed )) && _describe -t words word closed && found=0
        (( $#open )) && _describe -t options option open -S '' && found=0
        return found
        ;;
    files)
        compset -P '--[^=]#='
        _files
        ;;
    commands)
        _command_names -e || _files
        ;;
    *)
        return 1
        ;;
    esac
}

_tracebed "$@"
