/*
 * tracebed flows: follow requests over threads: how long they take, and where their time goes.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flows/flows_verb.h"

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
    "  -s, --sort=KEY[,...]   sort by these columns: figures fall and names rise, or\n"
    "                         as '+' (rise) or '-' (fall) before KEY says\n"
    "      --columns=KEY[,...]\n"
    "                         show these columns of each table that has any: count,\n"
    "                         mean, min, p50, p90, p99, max, total, running, waiting,\n"
    "                         share, open, lost, lost_ends, lost_steps, decreases,\n"
    "                         kind, name; of paths what, thread, stream, span\n" QUERY_HELP "\n"
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

enum { OPTION_PATH = 2000, OPTION_SLOWEST, OPTION_KEY };

/* ---- The command line ---- */

static const char *take_option(struct flows_verb *verb, int option)
{
    uint64_t limit;
    switch (option) {
    case OPTION_PATH:
        verb->parts = true;
        return NULL;
    case OPTION_SLOWEST:
        verb->slowest = true;
        return NULL;
    case OPTION_KEY:
        verb->options.key = &verb->key;
        return tool_parse_u64(optarg, UINT64_MAX, &verb->key) ? NULL
                                                              : tool_takes("--key takes a number", optarg);
    default: /* 'l' */
        if (!tool_parse_u64(optarg, LIMIT_MAX, &limit))
            return tool_takes("--limit takes a number up to 1000000", optarg);
        verb->limit = (size_t)limit;
        return NULL;
    }
}

/* CSV has one table; text and JSON have that of the rows in any case, and single flows one by one. */
static const char *take_keys(struct flows_verb *verb)
{
    if (verb->query.csv && verb->slowest)
        return query_take_keys(&verb->query, &flows_stretches, 1);
    if (verb->query.csv)
        return query_take_keys(&verb->query, &flows_tables[verb->parts], 1);
    return query_take_keys(&verb->query, flows_tables, verb->parts ? 2 : 1);
}

static int parse(int argc, char **argv, struct flows_verb *verb)
{
    static const struct option longs[] = {{"path", no_argument, NULL, OPTION_PATH},
                                          {"slowest", no_argument, NULL, OPTION_SLOWEST},
                                          {"key", required_argument, NULL, OPTION_KEY},
                                          {"limit", required_argument, NULL, 'l'},
                                          QUERY_OPTIONS,
                                          QUERY_TABLE_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = query_option_next(&verb->query, argc, argv, "l:" QUERY_SHORTS QUERY_TABLE_SHORTS, longs,
                                       &exit)) != -1) {
        const char *wrong = take_option(verb, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_flows, wrong);
    }
    if (exit >= 0)
        return exit;
    if (verb->parts && verb->slowest)
        return tool_usage(&tool_verb_flows, "--path cannot be combined with --slowest");
    const char *wrong = take_keys(verb);
    if (wrong != NULL)
        return tool_usage(&tool_verb_flows, wrong);
    return query_take_operands(&verb->query, argc, argv, &verb->names);
}

/* ---- All of it ---- */

static int make_and_print(struct flows_verb *verb)
{
    verb->options.thread_count = verb->query.jobs;
    verb->options.filter = verb->trace.filter;
    verb->options.names = verb->names.filter;
    verb->options.slowest_count = verb->slowest ? verb->limit : 0;
    verb->options.name = tool_places_name;
    verb->options.name_context = &verb->trace.places;
    verb->options.prepare = tool_places_prepare;
    tool_progress_begin(verb->trace.reader, false);
    enum tbed_status status = tbed_flows_make(verb->trace.reader, &verb->options, &verb->flows);
    tool_progress_end();
    if (status == TBED_OK && verb->query.json)
        flows_print_json(verb);
    else if (status == TBED_OK && verb->query.csv)
        flows_print_csv(verb);
    else if (status == TBED_OK)
        flows_print_text(verb);
    return tool_finish(query_end(&verb->trace, status));
}

static int run(int argc, char **argv)
{
    struct flows_verb verb = {.query = {.verb = &tool_verb_flows},
                              .limit = LIMIT_DEFAULT,
                              .options = {.size = sizeof verb.options}};
    int exit = parse(argc, argv, &verb);
    if (exit < 0)
        exit = query_open(&verb.trace, argv[optind], &verb.query);
    if (exit < 0)
        exit = tool_filter_open(&verb.names, verb.trace.path, verb.trace.reader, &verb.trace.places,
                                verb.query.jobs);
    if (exit < 0)
        exit = make_and_print(&verb);
    tbed_flows_close(verb.flows);
    tool_filter_close(&verb.names);
    query_trace_close(&verb.trace);
    query_close(&verb.query);
    return exit;
}

const struct tool_verb tool_verb_flows = {"flows", "follow requests over threads", help, run};
