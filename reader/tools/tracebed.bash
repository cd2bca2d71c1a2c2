# bash completion for tracebed
# SPDX-License-Identifier: MIT

_tracebed()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "record info dump report strings verify help --help --version" -- "$word"))
        return
    fi
    case $verb in
    help)
        COMPREPLY=($(compgen -W "record info dump report strings verify" -- "$word"))
        return ;;
    dump) options="--order= --stream --tid --begin --end --limit --absolute --depth --json" ;;
    strings) options="--raw --bindings --tree= --unresolved --json" ;;
    verify) options="--quiet --json" ;;
    *) options=$(tracebed help "$verb" 2>/dev/null | command grep -oE -- '^ +(-[a-zA-Z], )?--[a-z-]+=?' |
        command grep -oE -- '--[a-z-]+=?' | command grep -vE -- '--(help|color=)') ;;
    esac
    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
    word=${word#=}
    case $previous in
    --color) COMPREPLY=($(compgen -W "never auto always" -- "$word")); return ;;
    --order) COMPREPLY=($(compgen -W "time stream" -- "$word")); return ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options --color= --help" -- "$word"))
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$word"))
        [[ $verb == record ]] && COMPREPLY+=($(compgen -c -- "$word"))
    fi
}
complete -F _tracebed tracebed
