/*
 * The patterns of 'tracebed record --functions', and which functions they match.
 *
 * A pattern is a glob, or a POSIX extended regular expression between slashes. It is compared with each form of the
 * function's name: demangled, with and without arguments, and as the symbol table has it. A pattern that starts with
 * "file:" is compared with the source file instead, one that starts with "module:" with the program or library.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/glob.h"
#include "reader/tools/shared/tool.h"

/* ---- Parsing ---- */

/* "file::f" is the name of a function. */
static bool skip_prefix(const char **text, const char *prefix)
{
    size_t nbytes = strlen(prefix);
    if (strncmp(*text, prefix, nbytes) != 0 || (*text)[nbytes] == ':')
        return false;
    *text += nbytes;
    return true;
}

static bool compile(struct plan_rule *rule, const char *text, size_t nbytes)
{
    char message[256], *copy = strndup(text, nbytes);
    int error = copy != NULL ? regcomp(&rule->regex, copy, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
    free(copy);
    if (error == 0)
        return true;
    regerror(error, &rule->regex, message, sizeof message);
    tool_complain("%s: invalid regular expression '%.*s': %s", rule->option, (int)nbytes, text, message);
    return false;
}

static bool parse(struct plan_rule *rule)
{
    const char *text = rule->pattern;
    if (skip_prefix(&text, "file:"))
        rule->subject = PLAN_FILE;
    else if (skip_prefix(&text, "module:"))
        rule->subject = PLAN_MODULE;
    size_t nbytes = strlen(text);
    if (nbytes == 0) {
        tool_complain("%s: empty pattern '%s'", rule->option, rule->pattern);
        return false;
    }
    if (nbytes > 2 && text[0] == '/' && text[nbytes - 1] == '/')
        return compile(rule, text + 1, nbytes - 2);
    rule->glob = text;
    return true;
}

bool plan_rules_add(struct plan_rules *rules, const char *option, const char *pattern, bool leaves_out)
{
    struct plan_rule rule = {.option = option, .pattern = pattern, .leaves_out = leaves_out};
    if (!parse(&rule))
        return false;
    rules->list = tool_realloc(rules->list, (rules->count + 1) * sizeof rule);
    rules->list[rules->count++] = rule;
    rules->has_files |= rule.subject == PLAN_FILE;
    return true;
}

void plan_rules_free(struct plan_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->list[i].glob == NULL)
            regfree(&rules->list[i].regex);
        if (rules->list[i].action.flags != 0)
            free((char *)(uintptr_t)rules->list[i].pattern); /* a trigger's own copy */
    }
    free(rules->list);
    rules->list = NULL;
    rules->count = 0;
}

/* ---- Matching ---- */

static bool text_fits(const struct plan_rule *rule, const char *text)
{
    return rule->glob != NULL ? tbed_glob_fits(rule->glob, text)
                              : regexec(&rule->regex, text, 0, NULL, 0) == 0;
}

/* The whole path, or its last parts: as many as the pattern has. */
static bool path_fits(const struct plan_rule *rule, const char *path)
{
    if (text_fits(rule, path))
        return true;
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
        if (rule->glob != NULL && tbed_glob_fits(rule->glob, slash + 1))
            return true;
    return false;
}

bool plan_rule_fits(const struct plan_rule *rule, const char *path, const struct listed_function *function)
{
    switch (rule->subject) {
    case PLAN_FILE:
        return function->file != NULL && path_fits(rule, function->file);
    case PLAN_MODULE:
        return path_fits(rule, path);
    case PLAN_NAME:
        break;
    }
    return text_fits(rule, function->full) || text_fits(rule, function->plain) ||
           text_fits(rule, function->symbol);
}

bool plan_rules_want_arguments(struct plan_rules *rules, const char *path,
                               const struct listed_function *function)
{
    bool is_wanted = false;
    for (size_t i = 0; rules->arguments != NULL && i < rules->arguments->count; i++) {
        struct plan_rule *rule = &rules->arguments->list[i];
        if (!plan_rule_fits(rule, path, function))
            continue;
        rule->match_count++;
        is_wanted = true;
    }
    return is_wanted;
}

/* If none matches, the function is treated as the opposite of the first pattern. */
uint32_t plan_rules_default(const struct plan_rules *rules)
{
    size_t first = 0;
    while (first < rules->count && rules->list[first].action.flags != 0)
        first++;
    return first == rules->count || rules->list[first].leaves_out ? LAUNCH_PLAN_RECORDED : 0;
}

/* The last matching pattern decides. */
uint32_t plan_rules_flags(struct plan_rules *rules, const char *path, const struct listed_function *function)
{
    uint32_t flags = plan_rules_default(rules);
    for (size_t i = 0; i < rules->count; i++) {
        struct plan_rule *rule = &rules->list[i];
        if (rule->action.flags != 0 || !plan_rule_fits(rule, path, function))
            continue;
        rule->match_count++;
        flags = rule->leaves_out ? 0 : LAUNCH_PLAN_RECORDED;
    }
    return flags;
}
