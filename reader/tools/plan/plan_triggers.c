/*
 * Triggers: what the call of a function changes, as in --trigger='parse@depth=3,time=20us'.
 *
 * Actions have the names that they have in uftrace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/tools/filter/filter_time.h"
#include "reader/tools/shared/tool.h"

/* ---- Parsing ---- */

static bool parse_depth(struct plan_action *action, const char *text)
{
    char *end;
    errno = 0;
    unsigned long depth = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || errno != 0 || depth == 0 || depth > UINT32_MAX)
        return false;
    action->flags |= LAUNCH_PLAN_DEPTH;
    action->depth = (uint32_t)depth;
    return true;
}

static bool parse_time(struct plan_action *action, const char *text)
{
    action->flags |= LAUNCH_PLAN_MINIMUM;
    return plan_duration_parse(text, &action->minimum_ns);
}

bool plan_duration_parse(const char *text, uint64_t *ns_ret)
{
    struct filter_time time;
    if (filter_duration_parse(text, &time) != NULL)
        return false;
    long double ns = time.kind == FILTER_TIME_PLAIN ? time.value * 1e9L : time.value;
    *ns_ret = ns >= 1 && ns < 1e18L ? (uint64_t)ns : 0;
    return *ns_ret != 0;
}

static bool parse_word(struct plan_action *action, const char *word)
{
    static const struct {
        const char *word;
        uint32_t flag;
    } words[] = {{"trace_on", LAUNCH_PLAN_TRACE_ON},   {"trace-on", LAUNCH_PLAN_TRACE_ON},
                 {"trace_off", LAUNCH_PLAN_TRACE_OFF}, {"trace-off", LAUNCH_PLAN_TRACE_OFF},
                 {"filter", LAUNCH_PLAN_FILTER},       {"notrace", LAUNCH_PLAN_NOTRACE}};
    if (strncmp(word, "depth=", 6) == 0)
        return parse_depth(action, word + 6);
    if (strncmp(word, "time=", 5) == 0)
        return parse_time(action, word + 5);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].word) == 0) {
            action->flags |= words[i].flag;
            return true;
        }
    return false;
}

static void complain_of_action(const char *word)
{
    static const char *const actions[] = {"trace_on", "trace_off", "depth=N", "time=T", "filter", "notrace"};
    size_t index;
    tool_complain("%s", tool_word_choose("--trigger: invalid action", actions,
                                         sizeof actions / sizeof actions[0], word, &index));
}

/* 'text' is changed. */
static bool parse_actions(struct plan_action *action, char *text)
{
    for (char *word = strsep(&text, ","); word != NULL; word = strsep(&text, ","))
        if (!parse_word(action, word)) {
            complain_of_action(word);
            return false;
        }
    return true;
}

bool plan_rules_add_trigger(struct plan_rules *rules, const char *text)
{
    struct plan_action action = {0};
    char *pattern = strdup(text), *at = pattern != NULL ? strrchr(pattern, '@') : NULL;
    if (at == NULL) {
        tool_complain("--trigger: expected PATTERN@ACTION, not '%s'", text);
        free(pattern);
        return false;
    }
    *at = '\0';
    bool is_valid = parse_actions(&action, at + 1) && plan_rules_add(rules, "--trigger", pattern, false);
    if (!is_valid) {
        free(pattern);
        return false;
    }
    rules->list[rules->count - 1].action = action;
    return true;
}

/* ---- Matching ---- */

void plan_triggers_set(struct plan_rules *rules, const char *path, const struct listed_function *listed,
                       struct launch_plan_function *function)
{
    for (size_t i = 0; i < rules->count; i++) {
        struct plan_rule *rule = &rules->list[i];
        if (rule->action.flags == 0 || !plan_rule_fits(rule, path, listed))
            continue;
        rule->match_count++;
        function->flags |= rule->action.flags;
        if (rule->action.flags & LAUNCH_PLAN_DEPTH)
            function->depth = rule->action.depth;
        if (rule->action.flags & LAUNCH_PLAN_MINIMUM)
            function->minimum_ns = rule->action.minimum_ns;
    }
}

/* The first trigger that switches recording says how it begins: in the other state. */
uint32_t plan_triggers_default(const struct plan_rules *rules)
{
    uint32_t all = 0, first = 0;
    for (size_t i = 0; i < rules->count; i++) {
        uint32_t flags = rules->list[i].action.flags;
        all |= flags;
        if (first == 0)
            first = flags & (LAUNCH_PLAN_TRACE_ON | LAUNCH_PLAN_TRACE_OFF);
    }
    return (all != 0 ? LAUNCH_PLAN_HAS_TRIGGERS : 0) | (all & LAUNCH_PLAN_FILTER) |
           (first & LAUNCH_PLAN_TRACE_ON ? LAUNCH_PLAN_TRACE_OFF : 0);
}
