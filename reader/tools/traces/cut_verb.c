/*
 * tracebed cut: a part of a trace as a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/traces/copy_text.h"

#include <string.h>

static const char help[] =
    "usage: tracebed cut [OPTION]... FILE -o OUT\n"
    "\n"
    "Write a part of a trace to a new trace, with the names, threads, processes and\n"
    "clock of the original. Commands show of OUT what they show of FILE with the same\n"
    "options. FILE may be '-' for standard input.\n"
    "\n"
    "  -o, --output=OUT       write the trace to OUT\n"
    "  -f, --force            replace OUT if it exists\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "Without any of them, everything is copied. What FILE lacks because it is damaged\n"
    "is noted in OUT; 'tracebed info OUT' lists it.\n"
    "\n"
    "Examples:\n"
    "  tracebed cut -b 10% -e 20% run.tbed -o part.tbed\n"
    "  tracebed cut --thread=worker --inside='handle request' run.tbed -o worker.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if FILE is damaged or OUT could not hold all of it\n"
    "(everything intact is copied); 2 if the usage is wrong or a file cannot be read\n"
    "or written, in which case OUT is not created.\n";

struct cut {
    const char *from, *to;
    bool overwrite;
    struct tool_filter filter;
    struct tool_places places;
    struct tbed_reader *reader;
};

static int parse(int argc, char **argv, struct cut *cut)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          TOOL_FILTER_OPTIONS,
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_cut, argc, argv, "o:fh" TOOL_FILTER_SHORTS, longs, &exit)) !=
           -1) {
        const char *problem = NULL;
        if (tool_filter_has_option(option))
            problem = tool_filter_take_option(&cut->filter, option, optarg);
        else if (option == 'o')
            cut->to = optarg;
        else
            cut->overwrite = true;
        if (problem != NULL)
            return tool_usage(&tool_verb_cut, problem);
    }
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_cut, optind < argc ? "too many FILE operands" : "missing FILE operand");
    if (cut->to == NULL)
        return tool_usage(&tool_verb_cut, "missing option -o OUT");
    if (strcmp(cut->to, "-") == 0)
        return tool_usage(&tool_verb_cut, "a trace cannot be written to standard output");
    cut->from = argv[optind];
    return tool_is_input(cut->to, cut->from) ? TOOL_TROUBLE : -1;
}

static int cut_file(const struct cut *cut)
{
    struct tbed_cut_options options = {
        .size = sizeof options, .filter = cut->filter.filter, .overwrite = cut->overwrite};
    struct tbed_copy_report report = {0};
    struct tbed_error error = {.offset = UINT64_MAX};
    tool_progress_begin(cut->reader, false);
    enum tbed_status status = tbed_trace_cut(cut->reader, cut->to, &options, &report, &error);
    tool_progress_end();
    if (status != TBED_OK) {
        copy_complain(cut->from, cut->to, &error);
        return TOOL_TROUBLE;
    }
    copy_put_report(cut->to, "cut", &report);
    fflush(stdout);
    tool_tell_damage(cut->from, cut->reader);
    bool is_whole = tool_damage_count(cut->reader) == 0 && !copy_is_incomplete(&report);
    return tool_finish(is_whole ? TOOL_FINE : TOOL_FOUND);
}

static int run(int argc, char **argv)
{
    struct cut cut = {0};
    int exit = parse(argc, argv, &cut);
    if (exit < 0 && (cut.reader = tool_open(cut.from)) == NULL)
        exit = TOOL_TROUBLE;
    if (exit < 0) {
        tool_places_open(&cut.places, cut.reader, TBED_NAME_ALL);
        exit = tool_filter_open(&cut.filter, cut.from, cut.reader, &cut.places, 0);
    }
    if (exit < 0)
        exit = cut_file(&cut);
    tool_filter_close(&cut.filter);
    tool_places_close(&cut.places);
    tbed_reader_close(cut.reader);
    return exit;
}

const struct tool_verb tool_verb_cut = {"cut", "write a part of a trace to a new trace", help, run};
