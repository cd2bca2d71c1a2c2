/*
 * tracebed record --ruby: sets up the environment so that every Ruby process loads the extension and joins the trace.
 *
 * Not here: the extension itself (writer/capture/ruby).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "record_verb.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUBY_LIGHT, RUBY_FULL, RUBY_NONE, RUBY_STACKS, RUBY_CALLS, RUBY_WORD_COUNT };

static const char *const ruby_words[RUBY_WORD_COUNT] = {"light", "full", "none", "stacks", "calls"};

static const char *take_word(const char *word, struct record_ruby *ruby)
{
    size_t at = RUBY_WORD_COUNT;
    const char *wrong = tool_word_choose("--ruby: unknown word", ruby_words, RUBY_WORD_COUNT, word, &at);
    if (at <= RUBY_NONE)
        ruby->allocations = ruby_words[at];
    else if (at == RUBY_STACKS)
        ruby->stack_depth = 32;
    else if (at == RUBY_CALLS)
        ruby->calls = true;
    return wrong;
}

const char *record_ruby_parse(const char *text, struct record_ruby *ruby_ret)
{
    const char *wrong = NULL;
    char word[32];
    *ruby_ret = (struct record_ruby){.allocations = ruby_words[RUBY_LIGHT]};
    while (text != NULL && wrong == NULL) {
        size_t nbytes = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)nbytes, text);
        wrong = take_word(word, ruby_ret);
        text = text[nbytes] == ',' ? text + nbytes + 1 : NULL;
    }
    if (wrong == NULL && ruby_ret->stack_depth > 0 && strcmp(ruby_ret->allocations, "none") == 0)
        wrong = "--ruby: stacks need allocations";
    return wrong;
}

/* ---- Which calls ---- */

static bool is_trigger(const struct plan_rule *rule)
{
    return rule->action.flags != 0;
}

/* Ruby's code has no modules, and the extension has globs only. */
static bool pattern_applies(const struct plan_rule *rule)
{
    const char *problem = NULL;
    if (rule->glob == NULL)
        problem = "regular expressions";
    else if (rule->subject == PLAN_MODULE)
        problem = "patterns of modules";
    else if (rule->pattern[0] == '!' || strchr(rule->pattern, '\n') != NULL)
        problem = "patterns that begin with '!' or have several lines";
    if (problem != NULL)
        tool_complain("%s: invalid pattern '%s': %s cannot be used with --ruby", rule->option, rule->pattern,
                      problem);
    return problem == NULL;
}

static bool functions_apply(const struct record_ruby *ruby, const struct record_functions *functions)
{
    bool applies = functions->arguments.count == 0;
    for (size_t i = 0; i < functions->rules.count; i++)
        applies &= !is_trigger(&functions->rules.list[i]);
    if (!applies)
        tool_complain("--trigger and --args cannot be used with --ruby");
    else if (!ruby->calls &&
             (functions->rules.count > 0 || functions->depth != 0 || functions->minimum_ns != 0))
        tool_complain("--filter, --exclude, --depth and --minimum-duration need --ruby=calls");
    else if (functions->minimum_ns != 0 && strcmp(ruby->allocations, "none") != 0)
        tool_complain("--minimum-duration needs --ruby=none,calls: what is allocated during a call cannot "
                      "wait until its "
                      "duration is known");
    else
        return true;
    return false;
}

bool record_ruby_take_functions(struct record_ruby *ruby, struct record_functions *functions)
{
    struct tool_buffer text = {0};
    bool is_fine = functions_apply(ruby, functions);
    for (size_t i = 0; is_fine && i < functions->rules.count; i++) {
        const struct plan_rule *rule = &functions->rules.list[i];
        is_fine = pattern_applies(rule);
        tool_append(&text, rule->leaves_out ? "\n!" : "\n", rule->leaves_out ? 2 : 1);
        tool_append(&text, rule->pattern, strlen(rule->pattern));
    }
    tool_append(&text, "", 1);
    ruby->patterns = functions->rules.count > 0 ? strdup(text.bytes + 1) : NULL;
    ruby->call_depth = functions->depth;
    ruby->minimum_ns = functions->minimum_ns;
    free(text.bytes);
    plan_rules_free(&functions->rules);
    functions->rules = (struct plan_rules){0};
    functions->depth = 0;
    functions->minimum_ns = 0;
    return is_fine;
}

/* ---- The program's environment ---- */

bool record_ruby_find(char path_ret[PATH_MAX])
{
    static const char *const places[] = {"/ruby", "/../lib/tracebed/ruby"};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    ssize_t nbytes = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[nbytes > 0 ? nbytes : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s/tracebed.rb", folder, places[i]);
        if (access(path, R_OK) != 0)
            continue;
        snprintf(path, sizeof path, "%s%s", folder, places[i]);
        if (realpath(path, path_ret) != NULL)
            return true;
    }
    tool_complain("the Ruby extension was not found in %s/ruby, nor in ../lib/tracebed/ruby relative to it",
                  folder);
    tool_hint("It is built with tracebed if Ruby's headers (ruby-dev) are installed.");
    return false;
}

/* Puts 'item' in front of the variable's value. */
static void put_in_front(const char *name, const char *item, char separator)
{
    const char *given = getenv(name);
    char *list = NULL;
    if (given == NULL || given[0] == '\0')
        setenv(name, item, 1);
    else if (asprintf(&list, "%s%c%s", item, separator, given) > 0)
        setenv(name, list, 1);
    free(list);
}

static void set_number(const char *name, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    if (number != 0)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

void record_ruby_environment_set(struct record_ruby *ruby, const char *folder, const char *trace)
{
    setenv("TRACEBED_RUBY_FILE", trace, 1);
    setenv("TRACEBED_RUBY_ALLOCATIONS", ruby->allocations, 1);
    setenv("TRACEBED_RUBY_CALLS", ruby->calls ? "1" : "0", 1);
    set_number("TRACEBED_RUBY_STACKS", ruby->stack_depth);
    set_number("TRACEBED_RUBY_DEPTH", ruby->call_depth);
    set_number("TRACEBED_RUBY_MINIMUM", ruby->minimum_ns);
    ruby->notes_fd = record_ruby_notes_open();
    if (ruby->patterns != NULL)
        setenv("TRACEBED_RUBY_FILTER", ruby->patterns, 1);
    else
        unsetenv("TRACEBED_RUBY_FILTER");
    put_in_front("RUBYLIB", folder, ':');
    put_in_front("RUBYOPT", "-rtracebed/auto", ' ');
}

void record_ruby_watch(void)
{
    char library[PATH_MAX];
    const char *given = getenv("LD_PRELOAD");
    if (given != NULL && strstr(given, "/libtracebed-") != NULL) /* a recorder outside this one sees it */
        return;
    if (record_library_find(RECORD_FUNCTIONS_LIBRARY, library))
        record_environment_set(library, NULL);
}
