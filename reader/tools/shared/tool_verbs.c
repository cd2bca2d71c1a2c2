/*
 * The commands: finds one and runs it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/defaults/defaults.h"
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tool_verb *const verbs[] = {
    &tool_verb_record,    &tool_verb_info,      &tool_verb_dump,     &tool_verb_report,    &tool_verb_diff,
    &tool_verb_aggregate, &tool_verb_flame,     &tool_verb_tree,     &tool_verb_slowest,   &tool_verb_flows,
    &tool_verb_threads,   &tool_verb_histogram, &tool_verb_follow,   &tool_verb_strings,   &tool_verb_verify,
    &tool_verb_import,    &tool_verb_export,    &tool_verb_snapshot, &tool_verb_symbolize, &tool_verb_recover,
    &tool_verb_cut,       &tool_verb_merge,     &tool_verb_view,     &tool_verb_sql,       &tool_verb_pack,
    &tool_verb_unpack,    &tool_verb_tui,       &tool_verb_doctor,
};
#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

const struct tool_verb *tool_verb_find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

const struct tool_verb *tool_verb_get(size_t index)
{
    return index < VERB_COUNT ? verbs[index] : NULL;
}

static bool is_verb(const char *name)
{
    return tool_verb_find(name) != NULL;
}

static bool has_no_defaults; /* --no-defaults */

static const char *load_defaults(void)
{
    return has_no_defaults ? NULL : defaults_load(is_verb);
}

static void print_defaults(FILE *out)
{
    const struct defaults_option *option;
    const char *problem = load_defaults();
    if (problem != NULL || defaults_get(0) != NULL)
        fputs("\nDefaults in force:\n", out);
    for (size_t i = 0; problem == NULL && (option = defaults_get(i)) != NULL; i++) {
        fprintf(out, "  %-10s ", option->command[0] != '\0' ? option->command : "all");
        tool_print_text(out, option->text, strlen(option->text), 0);
        fprintf(out, "  (%s)\n", defaults_place(option));
    }
    if (problem != NULL)
        fprintf(out, "  %s\n", problem);
}

static int print_help(FILE *out)
{
    fputs("usage: tracebed COMMAND [OPTION]... FILE\n"
          "       tracebed record [OPTION]... -- PROGRAM [ARGUMENT]...\n\n"
          "Record what a program does, and show where its time and memory went.\n\n",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\n"
          "FILE may be '-' for standard input. Every command accepts -h and\n"
          "--color=never|auto|always. Defaults of options are read from the file\n"
          "~/.config/tracebed/options and from TRACEBED_OPTIONS, but not by\n"
          "'tracebed --no-defaults COMMAND'.\n\n"
          "On a terminal, long output goes through $TRACEBED_PAGER, $PAGER or less;\n"
          "'tracebed --no-pager COMMAND' prints it directly.\n\n"
          "Exit status: 0 on success; 1 if damage or a difference was found; 2 if the usage\n"
          "is wrong or a file cannot be read. 'record' returns the status of PROGRAM.\n\n"
          "Examples:\n"
          "  tracebed record -- cc -c big.c     record any program, without recompiling it\n"
          "  tracebed report run.tbed           show where the time or the memory went\n"
          "  tracebed help report               describe one command\n",
          out);
    print_defaults(out);
    return out == stdout ? tool_finish(TOOL_FINE) : TOOL_TROUBLE;
}

static const char *nearest_verb(const char *name)
{
    static const char *const options[] = {"--help", "--version", "--no-defaults", "--no-pager"};
    const char *names[VERB_COUNT];
    if (name[0] == '-')
        return tool_word_nearest(options, sizeof options / sizeof options[0], name);
    for (size_t i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i]->name;
    return tool_word_nearest(names, VERB_COUNT, name);
}

static int unknown_verb(const char *name)
{
    const char *near = nearest_verb(name);
    if (name[0] == '-' && name[1] != '\0')
        tool_complain("unknown option '%s'", name);
    else
        tool_complain("unknown command '%s'", name);
    if (near != NULL)
        tool_hint("Did you mean 'tracebed %s'?", near);
    else if (name[0] == '-' && name[1] != '\0')
        tool_hint("Options of a command come after it: tracebed COMMAND %s", name);
    else if (access(name, R_OK) == 0)
        tool_hint("It is a file; did you mean 'tracebed report %s'?", name);
    tool_hint("Run 'tracebed -h' for a list of commands.");
    return TOOL_TROUBLE;
}

static int run_help(const char *name)
{
    const struct tool_verb *verb = tool_verb_find(name);
    if (verb == NULL)
        return unknown_verb(name);
    tool_print_help(verb);
    return tool_finish(TOOL_FINE);
}

static bool is_one_of(const char *text, const char *first, const char *second, const char *third)
{
    return strcmp(text, first) == 0 || strcmp(text, second) == 0 || strcmp(text, third) == 0;
}

/* After a complaint about options, some of which nobody has typed. */
static void tell_defaults(const char *verb, int count)
{
    int word = tool_option_word();
    const struct defaults_option *option;
    if (word > 0 && word <= count) {
        option = defaults_of(verb, (size_t)word - 1);
        tool_hint("'%s' comes from %s.", option->text, defaults_place(option));
        return;
    }
    for (size_t i = 0; tool_usage_was_wrong() && (option = defaults_of(verb, i)) != NULL; i++)
        tool_hint("'%s' is in force by %s; 'tracebed --no-defaults %s' leaves it out.", option->text,
                  defaults_place(option), verb);
}

static int run_verb(const struct tool_verb *verb, int argc, char **argv)
{
    char name[64]; /* getopt() prefixes its messages with this */
    int given = argc;
    const char *problem = load_defaults();
    if (problem != NULL && verb != &tool_verb_doctor) { /* which shows it */
        tool_complain("%s", problem);
        tool_hint("Correct it, or run 'tracebed --no-defaults %s'.", verb->name);
        return TOOL_TROUBLE;
    }
    snprintf(name, sizeof name, "tracebed: %s", verb->name);
    argv[0] = name;
    char **all = defaults_insert(verb->name, &argc, argv);
    tool_options_start(argc - given);
    int exit = verb->run(argc, all);
    if (exit == TOOL_TROUBLE)
        tell_defaults(verb->name, argc - given);
    free(all);
    return exit;
}

int tool_main(int argc, char **argv, bool has_defaults)
{
    has_no_defaults = !has_defaults;
    if (argc < 2)
        return print_help(stderr);
    if (is_one_of(argv[1], "help", "-h", "--help"))
        return argc > 2 ? run_help(argv[2]) : print_help(stdout);
    if (is_one_of(argv[1], "--version", "-V", "version")) {
        printf("tracebed %s (file format %u)\n", TBED_VERSION_STRING, TBED_FORMAT_VERSION);
        return tool_finish(TOOL_FINE);
    }
    const struct tool_verb *verb = tool_verb_find(argv[1]);
    return verb != NULL ? run_verb(verb, argc - 1, argv + 1) : unknown_verb(argv[1]);
}
