/*
 * tracebed dump: print every event as text or JSON, in order of time or stream by stream.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/dump/dump.h"

#include <tracebed/analysis.h>

static const char help[] =
    "usage: tracebed dump [OPTION]... FILE\n"
    "\n"
    "Print the events of a trace, one per line: time, thread, event, name, arguments.\n"
    "FILE may be '-' for standard input.\n"
    "\n"
    "      --order=time    print all threads together in order of time (default)\n"
    "      --order=stream  print stream by stream (thread by thread)\n"
    "  -l, --limit=N       stop after N events\n"
    "      --absolute      print wall-clock time instead of time since the start\n"
    "      --no-symbols    print addresses instead of looking up symbols\n"
    "      --depth         indent by open spans; implies --order=stream\n"
    "      --json          print one JSON object per line, with ticks instead of time\n"
    "                      and, with --order=stream, also strings and bindings\n"
    "  -j, --jobs=N        use N threads (default: one per processor)\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "Examples:\n"
    "  tracebed dump run.tbed | head\n"
    "  tracebed dump --depth --stream=2 run.tbed\n"
    "  tracebed dump -b 1.5 -e 1510ms run.tbed\n"
    "  tracebed dump --json run.tbed | jq 'select(.type == \"counter\")'\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
    "printed); 2 if the usage is wrong or the file cannot be read.\n";

#define FEW_EVENTS 1000

enum { OPTION_ORDER = 2000, OPTION_ABSOLUTE, OPTION_NO_SYMBOLS, OPTION_DEPTH, OPTION_JSON };

/* ---- The command line ---- */

static const char *parse_order(struct dump *dump, bool *is_given, const char *text)
{
    static const char *const names[] = {"time", "stream"};
    size_t at = 0;
    const char *problem = tool_word_choose("--order: unknown order", names, 2, text, &at);
    dump->by_stream = at == 1;
    *is_given = true;
    return problem;
}

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct dump *dump, bool *has_order, int option)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&dump->filter, option, optarg);
    switch (option) {
    case OPTION_ORDER:
        return parse_order(dump, has_order, optarg);
    case 'j':
        return tool_parse_jobs(optarg, &dump->jobs);
    case 'l':
        return tool_parse_u64(optarg, UINT64_MAX, &dump->left) ? NULL
                                                               : tool_takes("--limit takes a count", optarg);
    case OPTION_ABSOLUTE:
        dump->absolute = true;
        return NULL;
    case OPTION_NO_SYMBOLS:
        dump->no_symbols = true;
        return NULL;
    case OPTION_DEPTH:
        dump->indent = true;
        return NULL;
    default:
        dump->json = true;
        return NULL;
    }
}

static int parse(int argc, char **argv, struct dump *dump)
{
    static const struct option longs[] = {{"order", required_argument, NULL, OPTION_ORDER},
                                          TOOL_FILTER_OPTIONS,
                                          {"limit", required_argument, NULL, 'l'},
                                          {"absolute", no_argument, NULL, OPTION_ABSOLUTE},
                                          {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
                                          {"depth", no_argument, NULL, OPTION_DEPTH},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    bool has_order = false;
    int option, exit;
    while ((option = tool_option_next(&tool_verb_dump, argc, argv, "l:j:h" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = take_option(dump, &has_order, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_dump, wrong);
    }
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_dump, optind < argc ? "too many FILE operands" : "missing FILE operand");
    if (dump->indent && has_order && !dump->by_stream)
        return tool_usage(&tool_verb_dump, "--depth requires --order=stream");
    if (dump->json && dump->absolute)
        return tool_usage(&tool_verb_dump, "--absolute cannot be combined with --json, which prints ticks");
    dump->by_stream |= dump->indent;
    dump->path = argv[optind];
    return -1;
}

/* ---- Walking ---- */

static bool is_over(const struct dump *dump)
{
    return dump->left == 0 || tool_output_failed();
}

static void print_event(struct dump *dump, const struct tbed_event *event, uint32_t depth)
{
    dump->left--;
    dump_batches_add(dump, event, depth);
}

static uint32_t depth_of(const struct tbed_cursor *cursor, const struct tbed_event *event)
{
    uint32_t depth = tbed_cursor_depth(cursor);
    return event->type == TBED_EVENT_BEGIN && depth > 0 ? depth - 1 : depth;
}

/* What the filter takes of a stream, or of all of them. */
static enum tbed_status walk_filtered(struct dump *dump, const uint32_t *streams, size_t count)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(dump->reader, streams, count, dump->filter.filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (!is_over(dump) && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (step.event != NULL)
            print_event(dump, step.event, (uint32_t)step.depth);
    tbed_assembler_close(assembler);
    return status;
}

static enum tbed_status walk_stream(struct dump *dump, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    if (dump->filter.filter != NULL)
        return walk_filtered(dump, &stream, 1);
    enum tbed_status status = tbed_cursor_open(dump->reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while (!is_over(dump) && (status = tbed_cursor_next(cursor, &event)) == TBED_OK)
        print_event(dump, &event, depth_of(cursor, &event));
    tbed_cursor_close(cursor);
    return status;
}

static enum tbed_status walk_time(struct dump *dump)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    if (dump->filter.filter != NULL)
        return walk_filtered(dump, NULL, 0);
    enum tbed_status status = tbed_merge_open(dump->reader, NULL, 0, &merge);
    if (status != TBED_OK)
        return status;
    while (!is_over(dump) && (status = tbed_merge_next(merge, &event)) == TBED_OK)
        print_event(dump, &event, 0);
    tbed_merge_close(merge);
    return status;
}

static enum tbed_status walk_streams(struct dump *dump)
{
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; i < dump->shown->chosen.count && !is_over(dump); i++) {
        status = walk_stream(dump, dump->shown->chosen.numbers[i]);
        if (status != TBED_OK && status != TBED_END)
            return status;
    }
    return status;
}

/* For a few events, looking up names one by one is faster than preparing all names of the trace. */
static void open_places(struct dump *dump)
{
    dump->places = (struct tool_places){.reader = dump->reader, .part = TBED_NAME_ALL};
    if (!dump->no_symbols)
        tool_places_open(&dump->places, dump->reader, TBED_NAME_ALL);
    if (dump->left > FEW_EVENTS)
        tool_places_prepare_all(&dump->places);
}

static enum tbed_status walk(struct dump *dump)
{
    if (!dump->json)
        dump_text_prepare(dump);
    else
        dump_json_filter(dump);
    if (dump->json && dump->by_stream)
        dump_json_strings(dump);
    if (dump->json)
        dump_json_gaps(dump);
    dump_batches_open(dump);
    enum tbed_status status = dump->by_stream ? walk_streams(dump) : walk_time(dump);
    dump_batches_close(dump);
    return status;
}

static int print_all(struct dump *dump)
{
    tool_progress_begin(dump->reader, true);
    enum tbed_status status = walk(dump);
    tool_progress_end();
    int exit = tool_damage_count(dump->reader) > 0 ? TOOL_FOUND : TOOL_FINE;
    if (dump->json)
        tool_json_end_lines(dump->reader);
    else
        tool_tell_gaps(dump->path, dump->reader);
    tool_tell_damage(dump->path, dump->reader);
    if (status != TBED_OK && status != TBED_END) {
        tool_complain("%s: %s", tool_path(dump->path), tbed_status_text(status));
        exit = TOOL_TROUBLE;
    }
    return tool_finish(exit);
}

static int dump_open(struct dump *dump)
{
    dump->reader = tool_open(dump->path);
    if (dump->reader == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(dump->reader, &dump->info);
    if (dump->absolute && dump->info.clock == TBED_CLOCK_USER)
        return tool_usage(&tool_verb_dump, "--absolute: the clock of this trace does not measure time");
    open_places(dump);
    int exit = tool_filter_open(&dump->filter, dump->path, dump->reader, &dump->places, 0);
    if (exit >= 0)
        return exit;
    dump->shown = &dump->filter.streams;
    if (!streams_are_asked_for(dump->shown)) {
        streams_choose(&dump->all, dump->path, dump->reader);
        dump->shown = &dump->all;
    }
    return -1;
}

static int run(int argc, char **argv)
{
    struct dump dump = {.left = UINT64_MAX, .out = {.out = stdout}};
    int exit = parse(argc, argv, &dump);
    if (exit < 0)
        exit = dump_open(&dump);
    if (exit < 0)
        exit = print_all(&dump);
    dump_text_free(&dump);
    tool_filter_close(&dump.filter);
    streams_free(&dump.all);
    tool_places_close(&dump.places);
    tbed_reader_close(dump.reader);
    return exit;
}

const struct tool_verb tool_verb_dump = {"dump", "print every event as text or JSON", help, run};
