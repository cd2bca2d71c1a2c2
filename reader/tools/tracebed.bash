# bash completion for tracebed
# SPDX-License-Identifier: MIT

_tracebed()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} options
    local verbs="record info dump report flame tree tui slowest histogram flows threads sql follow view diff aggregate strings verify recover import export snapshot symbolize cut merge pack unpack"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$verbs help --help --version" -- "$word"))
        return
    fi
    if [[ $verb == help ]]; then
        COMPREPLY=($(compgen -W "$verbs" -- "$word"))
        return
    fi
    options=$(tracebed help "$verb" 2>/dev/null | command sed -nE 's/^ {2,6}(-[a-zA-Z], )?(--[a-z-]+=?).*/\2/p' |
        command awk -F= '$1 != "--help" && $1 != "--color" && !seen[$1]++')
    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
    word=${word#=}
    case $previous in
    --color) COMPREPLY=($(compgen -W "never auto always" -- "$word")); return ;;
    --of) COMPREPLY=($(compgen -W "self time count misses hits blocked load hashing p50" -- "$word")); return ;;
    --to | --format) COMPREPLY=($(compgen -W "mm_profdata chrome rtl-log parquet csv ndjson" -- "$word")); return ;;
    --table) COMPREPLY=($(compgen -W "spans instants counters messages allocations args flows processes threads info" -- "$word")); return ;;
    --rebase) COMPREPLY=($(compgen -W "timer first" -- "$word")); return ;;
    --tid) COMPREPLY=($(compgen -W "native ordinal" -- "$word")); return ;;
    --weight) COMPREPLY=($(compgen -W "time bytes count peak leaked" -- "$word")); return ;;
    --sort | --columns)
        local keys=
        [[ $verb == report ]] && keys="self total off_cpu count min mean p50 p90 p99 p999 max bytes peak live freed temporary lifetime name"
        [[ $verb == aggregate ]] && keys="mean stddev cv median min max variance outliers runs differ thread position name"
        [[ $verb == diff ]] && keys="self self_percent self_before self_after total total_percent count misses hits magnitude state change p marked name"
        [[ $verb == slowest ]] && keys="duration begin name arguments thread stream never_ended time others"
        [[ $verb == flows ]] && keys="count mean min p50 p90 p99 max total running waiting share open lost kind name what thread span"
        [[ $verb == threads ]] && keys="first last spans busy share idle gaps p50 p90 p99 longest at stream thread"
        [[ $verb == strings ]] && keys="string bytes text bind count"
        COMPREPLY=($(compgen -W "$keys" -- "$word"))
        return ;;
    --by)
        local by="module scope author function"
        [[ $verb == report ]] && by+=" label argument thread process category location file second minute hour site stack size class gem method"
        COMPREPLY=($(compgen -W "$by" -- "$word"))
        return ;;
    --format-version) COMPREPLY=($(compgen -W "8 9" -- "$word")); return ;;
    --order) COMPREPLY=($(compgen -W "time stream" -- "$word")); return ;;
    --ruby) COMPREPLY=($(compgen -W "light full none stacks calls" -- "$word")); return ;;
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
