/*
 * tracebed flows: follow requests over threads: how long they take, and where their time goes.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flows/flows_verb.h"

#include <stdlib.h>

#define LIMIT_DEFAULT 10
#define LIMIT_MAX     1000000

static const char help[] =
    "usage: tracebed flows [OPTION]... FILE [NAME]\n"
    "\n"
    "Follow flows and asynchronous spans over threads: how many there are of each\n"
    "name, how long they take from begin to end, and which part of that they wait.\n"
    "NAME, a POSIX extended regular expression, chooses among them. FILE may be '-'\n"
    "for standard input.\n"
    "\n"
    "      --path             show where the time of all flows of a name goes:\n"
    "                         running in which span of which thread, or waiting for\n"
    "                         which\n"
    "      --slowest          show the slowest flows one by one, with their stretches\n"
    "      --key=K            only flows with this key\n"
    "  -l, --limit=N          show N flows, or N parts of the time (default: 10)\n"
    "      --no-symbols       show addresses instead of looking up symbols\n"
    "      --csv              print comma-separated values\n"
    "      --json             print one JSON object on one line\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "A flow runs in the innermost span around each of its steps until that span ends,\n"
    "and then waits until the span around the next step begins. 'open' counts flows\n"
    "that never ended, 'no begin' ends and steps of flows that never began; neither\n"
    "has a time.\n"
    "\n"
    "tracebed-flows(1) documents the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed flows run.tbed\n"
    "  tracebed flows --path run.tbed '^request$'\n"
    "  tracebed flows --slowest -l 3 run.tbed request\n"
    "  tracebed flows --slowest --key=4711 run.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is used);\n"
    "2 if the usage is wrong or the file cannot be read.\n";

enum { OPTION_PATH = 2000, OPTION_SLOWEST, OPTION_KEY, OPTION_NO_SYMBOLS, OPTION_CSV, OPTION_JSON };

/* ---- The command line ---- */

static const char *take_switch(struct flows_verb *verb, int option)
{
    verb->parts |= option == OPTION_PATH;
    verb->slowest |= option == OPTION_SLOWEST;
    verb->no_symbols |= option == OPTION_NO_SYMBOLS;
    verb->csv |= option == OPTION_CSV;
    verb->json |= option == OPTION_JSON;
    return NULL;
}

static const char *take_option(struct flows_verb *verb, int option)
{
    uint64_t limit;
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&verb->filter, option, optarg);
    switch (option) {
    case OPTION_KEY:
        if (!tool_parse_u64(optarg, UINT64_MAX, &verb->key))
            return "--key takes a number";
        verb->options.key = &verb->key;
        return NULL;
    case 'l':
        if (!tool_parse_u64(optarg, LIMIT_MAX, &limit))
            return "--limit takes a number up to 1000000";
        verb->limit = (size_t)limit;
        return NULL;
    case 'j':
        return tool_parse_jobs(optarg, &verb->options.thread_count);
    default:
        return take_switch(verb, option);
    }
}

static int parse(int argc, char **argv, struct flows_verb *verb)
{
    static const struct option longs[] = {{"path", no_argument, NULL, OPTION_PATH},
                                          {"slowest", no_argument, NULL, OPTION_SLOWEST},
                                          {"key", required_argument, NULL, OPTION_KEY},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
                                          {"csv", no_argument, NULL, OPTION_CSV},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_FILTER_OPTIONS,
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_flows, argc, argv, "hl:j:" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = take_option(verb, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_flows, wrong);
    }
    if (exit >= 0)
        return exit;
    if (verb->parts && verb->slowest)
        return tool_usage(&tool_verb_flows, "--path cannot be combined with --slowest");
    if (verb->csv && verb->json)
        return tool_usage(&tool_verb_flows, "--csv cannot be combined with --json");
    if (optind >= argc || argc - optind > 2)
        return tool_usage(&tool_verb_flows, optind < argc ? "too many operands" : "missing FILE operand");
    verb->path = argv[optind];
    if (optind + 1 < argc)
        tool_filter_take_option(&verb->names, 'n', argv[optind + 1]);
    return -1;
}

/* ---- All of it ---- */

static int make_and_print(struct flows_verb *verb)
{
    verb->options.filter = verb->filter.filter;
    verb->options.names = verb->names.filter;
    verb->options.slowest_count = verb->slowest ? verb->limit : 0;
    verb->options.name = tool_places_name;
    verb->options.name_context = &verb->places;
    verb->options.prepare = tool_places_prepare;
    enum tbed_status status = tbed_flows_make(verb->reader, &verb->options, &verb->flows);
    if (status == TBED_OK && verb->json)
        flows_print_json(verb);
    else if (status == TBED_OK && verb->csv)
        flows_print_csv(verb);
    else if (status == TBED_OK)
        flows_print_text(verb);
    tool_tell_damage(verb->path, verb->reader);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(verb->path), tbed_status_text(status));
        return TOOL_TROUBLE;
    }
    return tool_finish(tool_damage_count(verb->reader) > 0 ? TOOL_FOUND : TOOL_FINE);
}

static int open_all(struct flows_verb *verb)
{
    unsigned jobs = verb->options.thread_count;
    if ((verb->reader = tool_open(verb->path)) == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(verb->reader, &verb->info);
    verb->places = (struct tool_places){.reader = verb->reader, .part = TBED_NAME_ALL};
    if (!verb->no_symbols)
        tool_places_open(&verb->places, verb->reader, TBED_NAME_ALL);
    int exit = tool_filter_open(&verb->filter, verb->path, verb->reader, &verb->places, jobs);
    return exit < 0 ? tool_filter_open(&verb->names, verb->path, verb->reader, &verb->places, jobs) : exit;
}

static int run(int argc, char **argv)
{
    struct flows_verb verb = {.limit = LIMIT_DEFAULT, .options = {.size = sizeof verb.options}};
    int exit = parse(argc, argv, &verb);
    if (exit < 0)
        exit = open_all(&verb);
    if (exit < 0)
        exit = make_and_print(&verb);
    tbed_flows_close(verb.flows);
    free(verb.text.bytes);
    tool_filter_close(&verb.filter);
    tool_filter_close(&verb.names);
    tool_places_close(&verb.places);
    tbed_reader_close(verb.reader);
    return exit;
}

const struct tool_verb tool_verb_flows = {"flows", "follow requests over threads", help, run};
