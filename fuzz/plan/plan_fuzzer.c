/*
 * Which functions any patterns of 'tracebed record --functions' choose: as the documentation has it, where a pattern is a
 * glob.
 *
 * The input has a text on each line: a module, a source file, the three forms of a function's name, and then patterns, "+"
 * and "-" before those of --filter and --exclude, "@" before those of --trigger.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "reader/tools/plan/plan.h"

#define TEXT_NBYTES 256

struct sample {
    const char *path;
    struct listed_function function;
};

/* What a glob is by definition. */
static bool fits(const char *glob, const char *text)
{
    if (*glob == '*')
        return fits(glob + 1, text) || (*text != 0 && fits(glob, text + 1));
    if (*glob == 0 || *text == 0)
        return *glob == *text;
    return (*glob == '?' || *glob == *text) && fits(glob + 1, text + 1);
}

static bool fits_end_of_path(const char *glob, const char *path)
{
    bool is_found = fits(glob, path);
    for (; *path != 0 && !is_found; path++)
        is_found = *path == '/' && fits(glob, path + 1);
    return is_found;
}

static bool fits_function(const char *glob, const struct listed_function *function)
{
    return fits(glob, function->full) || fits(glob, function->plain) || fits(glob, function->symbol);
}

/* The definition takes exponential time for many stars. */
static bool is_simple(const char *glob)
{
    unsigned stars = 0;
    for (; *glob != 0; glob++)
        stars += *glob == '*';
    return stars < 5;
}

static bool has_words(const char *text, const char *words)
{
    size_t nbytes = strlen(words);
    return strncmp(text, words, nbytes) == 0 && text[nbytes] != ':';
}

static void check_glob(const struct plan_rule *rule, const struct sample *sample)
{
    const struct listed_function *function = &sample->function;
    bool is_fit = plan_rule_fits(rule, sample->path, function);
    if (rule->glob == NULL || !is_simple(rule->glob))
        return;
    if (has_words(rule->pattern, "file:"))
        REQUIRE(is_fit == fits_end_of_path(rule->pattern + 5, function->file));
    else if (has_words(rule->pattern, "module:"))
        REQUIRE(is_fit == fits_end_of_path(rule->pattern + 7, sample->path));
    else
        REQUIRE(is_fit == fits_function(rule->pattern, function));
}

/* The last pattern that fits decides; if none does, a function is what the first pattern does not say. */
static void check_flags(struct plan_rules *rules, const struct sample *sample)
{
    uint32_t wanted = LAUNCH_PLAN_RECORDED;
    bool has_first = false;
    for (size_t i = 0; i < rules->count; i++) {
        const struct plan_rule *rule = &rules->list[i];
        if (rule->action.flags != 0)
            continue;
        if (!has_first)
            wanted = rule->leaves_out ? LAUNCH_PLAN_RECORDED : 0;
        has_first = true;
    }
    REQUIRE(plan_rules_default(rules) == wanted);
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i].action.flags == 0 &&
            plan_rule_fits(&rules->list[i], sample->path, &sample->function))
            wanted = rules->list[i].leaves_out ? 0 : LAUNCH_PLAN_RECORDED;
    REQUIRE(plan_rules_flags(rules, sample->path, &sample->function) == wanted);
}

/* A function has the flags of all triggers that fit, and the last one's depth and duration. */
static void check_triggers(struct plan_rules *rules, const struct sample *sample)
{
    struct launch_plan_function function = {.flags = 0}, wanted = {.flags = 0};
    uint32_t all = 0, switches = 0;
    for (size_t i = 0; i < rules->count; i++) {
        const struct plan_rule *rule = &rules->list[i];
        all |= rule->action.flags;
        switches =
            switches != 0 ? switches : rule->action.flags & (LAUNCH_PLAN_TRACE_ON | LAUNCH_PLAN_TRACE_OFF);
        if (rule->action.flags == 0 || !plan_rule_fits(rule, sample->path, &sample->function))
            continue;
        wanted.flags |= rule->action.flags;
        wanted.depth = rule->action.flags & LAUNCH_PLAN_DEPTH ? rule->action.depth : wanted.depth;
        wanted.minimum_ns =
            rule->action.flags & LAUNCH_PLAN_MINIMUM ? rule->action.minimum_ns : wanted.minimum_ns;
    }
    plan_triggers_set(rules, sample->path, &sample->function, &function);
    REQUIRE(function.flags == wanted.flags && function.depth == wanted.depth);
    REQUIRE(function.minimum_ns == wanted.minimum_ns);
    uint32_t flags = plan_triggers_default(rules);
    REQUIRE(((flags & LAUNCH_PLAN_HAS_TRIGGERS) != 0) == (all != 0));
    REQUIRE((flags & LAUNCH_PLAN_FILTER) == (all & LAUNCH_PLAN_FILTER));
    REQUIRE(((flags & LAUNCH_PLAN_TRACE_OFF) != 0) == ((switches & LAUNCH_PLAN_TRACE_ON) != 0));
}

static bool add(struct plan_rules *rules, const char *text)
{
    if (text[0] == '@')
        return plan_rules_add_trigger(rules, text + 1);
    return plan_rules_add(rules, "--filter", text + (text[0] != 0), text[0] == '-');
}

static const char *line_of(char **rest)
{
    const char *line = strsep(rest, "\n");
    return line != NULL ? line : "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char text[TEXT_NBYTES], *rest = text;
    struct plan_rules rules = {.count = 0}, arguments = {.count = 0};
    if (nbytes >= sizeof text || memchr(data, 0, nbytes) != NULL)
        return 0;
    memcpy(text, data, nbytes);
    text[nbytes] = '\0';
    if (strpbrk(text, "{\\") != NULL) /* regular expressions of glibc that repeat take any amount of memory */
        return 0;
    struct sample sample = {.path = line_of(&rest)};
    sample.function.file = line_of(&rest);
    sample.function.full = line_of(&rest);
    sample.function.plain = line_of(&rest);
    sample.function.symbol = line_of(&rest);
    rules.arguments = &arguments;
    while (rest != NULL) {
        if (add(&rules, line_of(&rest)))
            check_glob(&rules.list[rules.count - 1], &sample);
    }
    check_flags(&rules, &sample);
    check_triggers(&rules, &sample);
    if (rules.count > 0 && plan_rules_add(&arguments, "--args", rules.list[0].pattern, false))
        REQUIRE(plan_rules_want_arguments(&rules, sample.path, &sample.function) ==
                plan_rule_fits(&rules.list[0], sample.path, &sample.function));
    plan_rules_free(&arguments);
    plan_rules_free(&rules);
    return 0;
}
