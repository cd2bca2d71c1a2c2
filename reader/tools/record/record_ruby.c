/*
 * tracebed record --ruby: sets up the environment so that every Ruby process loads the extension and joins the trace.
 *
 * Not here: the extension itself (writer/capture/ruby).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "record_verb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool record_ruby_parse(const char *text, struct record_ruby *ruby_ret)
{
    *ruby_ret = (struct record_ruby){.allocations = "light"};
    while (text != NULL && *text != '\0') {
        size_t nbytes = strcspn(text, ",");
        if (nbytes == 5 && strncmp(text, "light", nbytes) == 0)
            ruby_ret->allocations = "light";
        else if (nbytes == 4 && strncmp(text, "full", nbytes) == 0)
            ruby_ret->allocations = "full";
        else if (nbytes == 4 && strncmp(text, "none", nbytes) == 0)
            ruby_ret->allocations = "none";
        else if (nbytes == 5 && strncmp(text, "calls", nbytes) == 0)
            ruby_ret->calls = true;
        else if (nbytes == 6 && strncmp(text, "stacks", nbytes) == 0)
            ruby_ret->stack_depth = 32;
        else
            return false;
        text += nbytes + (text[nbytes] == ',');
    }
    return ruby_ret->stack_depth == 0 || strcmp(ruby_ret->allocations, "none") != 0;
}

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

void record_ruby_environment_set(const struct record_ruby *ruby, const char *folder, const char *trace)
{
    setenv("TRACEBED_RUBY_FILE", trace, 1);
    setenv("TRACEBED_RUBY_ALLOCATIONS", ruby->allocations, 1);
    setenv("TRACEBED_RUBY_CALLS", ruby->calls ? "1" : "0", 1);
    if (ruby->stack_depth != 0) {
        char depth[16];
        snprintf(depth, sizeof depth, "%u", ruby->stack_depth);
        setenv("TRACEBED_RUBY_STACKS", depth, 1);
    } else {
        unsetenv("TRACEBED_RUBY_STACKS");
    }
    put_in_front("RUBYLIB", folder, ':');
    put_in_front("RUBYOPT", "-rtracebed/auto", ' ');
}
