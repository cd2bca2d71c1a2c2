/*
 * tracebed dump: print every event as text or JSON, in order of time or stream by stream.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/dump/dump.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tracebed dump [OPTION]... FILE\n"
    "\n"
    "Print the events of a trace, one per line: time, thread, event, name, arguments.\n"
    "FILE may be '-' for standard input.\n"
    "\n"
    "      --order=time    print all threads together in order of time (default)\n"
    "      --order=stream  print stream by stream (thread by thread)\n"
    "  -s, --stream=N      print only stream N ('tracebed info' lists them); may be\n"
    "                      repeated\n"
    "  -t, --thread=TID    print only threads with this id; may be repeated\n"
    "  -b, --begin=T       print only events at or after T, from the trace's start\n"
    "  -e, --end=T         print only events before T; a whole span counts at its end\n"
    "                      T is in seconds or has a unit: 1.5, 20ms, 300us, 5000ns\n"
    "  -n, --limit=N       stop after N events\n"
    "      --absolute      print wall-clock time instead of time since the start\n"
    "      --no-symbols    print addresses instead of looking up symbols\n"
    "      --depth         indent by open spans; implies --order=stream\n"
    "      --json          print one JSON object per line, with ticks instead of time\n"
    "                      and, with --order=stream, also strings and bindings\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Examples:\n"
    "  tracebed dump run.tbed | head\n"
    "  tracebed dump --depth -s 2 run.tbed\n"
    "  tracebed dump -b 1.5 -e 1510ms run.tbed\n"
    "  tracebed dump --json run.tbed | jq 'select(.type == \"counter\")'\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
    "printed); 2 if the usage is wrong or the file cannot be read.\n";

#define FEW_EVENTS 1000

enum { OPTION_ORDER = 2000, OPTION_ABSOLUTE, OPTION_NO_SYMBOLS, OPTION_DEPTH, OPTION_JSON };

/* A time from the command line. The meaning of a number without a unit depends on the clock, which is known later. */
struct typed_time {
    bool given, has_unit;
    long double value; /* nanoseconds if it has a unit */
};

struct options {
    struct typed_time begin, end;
    bool order_given;
};

/* ---- The command line ---- */

static bool parse_time(const char *text, struct typed_time *time)
{
    static const struct {
        const char *name;
        long double ns;
    } units[] = {{"ns", 1},   {"us", 1e3L}, {"µs", 1e3L},  {"ms", 1e6L},
                 {"s", 1e9L}, {"m", 60e9L}, {"min", 60e9L}};
    char *end;
    long double value = strtold(text, &end);
    if (end == text || !isfinite(value))
        return false;
    end += strspn(end, " ");
    *time = (struct typed_time){true, *end != '\0', value};
    for (size_t i = 0; *end != '\0' && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0) {
            time->value = value * units[i].ns;
            return fabsl(time->value) < 0x1p63L;
        }
    return *end == '\0' && fabsl(value) < 0x1p63L;
}

static const char *parse_order(struct dump *dump, struct options *options, const char *text)
{
    static const char *const names[] = {"time", "stream"};
    size_t at = 0;
    const char *problem = tool_word_choose("--order: unknown order", names, 2, text, &at);
    dump->by_stream = at == 1;
    options->order_given = true;
    return problem;
}

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct dump *dump, struct options *options, int option)
{
    switch (option) {
    case OPTION_ORDER:
        return parse_order(dump, options, optarg);
    case 's':
    case 't':
        return streams_take_option(&dump->streams, option, optarg);
    case 'b':
        return parse_time(optarg, &options->begin) ? NULL : "-b takes a time such as 1.5, 20ms or 300us";
    case 'e':
        return parse_time(optarg, &options->end) ? NULL : "-e takes a time such as 1.5, 20ms or 300us";
    case 'n':
        return tool_parse_u64(optarg, UINT64_MAX, &dump->left) ? NULL : "-n takes a count";
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

static int parse(int argc, char **argv, struct dump *dump, struct options *options)
{
    static const struct option longs[] = {{"order", required_argument, NULL, OPTION_ORDER},
                                          {"stream", required_argument, NULL, 's'},
                                          {"thread", required_argument, NULL, 't'},
                                          {"tid", required_argument, NULL, 't'},
                                          {"begin", required_argument, NULL, 'b'},
                                          {"end", required_argument, NULL, 'e'},
                                          {"limit", required_argument, NULL, 'n'},
                                          {"absolute", no_argument, NULL, OPTION_ABSOLUTE},
                                          {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
                                          {"depth", no_argument, NULL, OPTION_DEPTH},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_dump, argc, argv, "s:t:b:e:n:h", longs, &exit)) != -1) {
        const char *wrong = take_option(dump, options, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_dump, wrong);
    }
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_dump, optind < argc ? "too many FILE operands" : "missing FILE operand");
    if (dump->indent && options->order_given && !dump->by_stream)
        return tool_usage(&tool_verb_dump, "--depth requires --order=stream");
    if (dump->json && dump->absolute)
        return tool_usage(&tool_verb_dump, "--absolute cannot be combined with --json, which prints ticks");
    dump->by_stream |= dump->indent;
    dump->path = argv[optind];
    return -1;
}

/* ---- Selecting events of this trace ---- */

/* The first tick at or after 'ns'. The conversion from ticks to time is monotonic. */
static uint64_t tick_at(const struct dump *dump, int64_t ns)
{
    uint64_t low = 0, high = UINT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (tbed_ticks_to_ns(dump->reader, middle) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool to_ns(const struct dump *dump, const struct typed_time *time, int64_t *ns_ret)
{
    bool counts_time = dump->info.clock != TBED_CLOCK_USER;
    long double ns = time->has_unit || !counts_time ? time->value : time->value * 1e9L;
    if (time->has_unit && !counts_time)
        return false;
    *ns_ret = ns >= 0x1p63L ? INT64_MAX : ns <= -0x1p63L ? INT64_MIN : (int64_t)roundl(ns);
    return true;
}

static int choose_time(struct dump *dump, const struct options *options)
{
    int64_t begin_ns = INT64_MIN, end_ns = INT64_MAX;
    if (!to_ns(dump, &options->begin, &begin_ns) || !to_ns(dump, &options->end, &end_ns))
        return tool_usage(&tool_verb_dump,
                          "the clock of this trace does not measure time; specify -b and -e in ticks");
    if (dump->absolute && dump->info.clock == TBED_CLOCK_USER)
        return tool_usage(&tool_verb_dump, "--absolute: the clock of this trace does not measure time");
    if (options->begin.given)
        dump->begin_tick = tick_at(dump, begin_ns);
    dump->has_end = options->end.given && tbed_ticks_to_ns(dump->reader, UINT64_MAX) >= end_ns;
    if (dump->has_end)
        dump->end_tick = tick_at(dump, end_ns);
    return -1;
}

/* ---- Walking ---- */

static bool is_over(const struct dump *dump)
{
    return dump->left == 0 || tool_output_failed();
}

static uint64_t window_last(const struct dump *dump)
{
    return !dump->has_end ? UINT64_MAX : dump->end_tick > 0 ? dump->end_tick - 1 : 0;
}

/* Ticks may decrease in a stream: the cursor skips only blocks outside the window, so each event is checked. */
static void print_event(struct dump *dump, const struct tbed_event *event, uint32_t depth)
{
    if (event->tick < dump->begin_tick || (dump->has_end && event->tick >= dump->end_tick))
        return;
    dump->left--;
    if (dump->json)
        dump_json_event(dump, event);
    else
        dump_text_event(dump, event, depth);
}

static uint32_t depth_of(const struct tbed_cursor *cursor, const struct tbed_event *event)
{
    uint32_t depth = tbed_cursor_depth(cursor);
    return event->type == TBED_EVENT_BEGIN && depth > 0 ? depth - 1 : depth;
}

static enum tbed_status walk_stream(struct dump *dump, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(dump->reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    tbed_cursor_limit(cursor, dump->begin_tick, window_last(dump));
    while (!is_over(dump) && (status = tbed_cursor_next(cursor, &event)) == TBED_OK)
        print_event(dump, &event, depth_of(cursor, &event));
    tbed_cursor_close(cursor);
    return status;
}

static enum tbed_status walk_time(struct dump *dump)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    const struct streams *streams = &dump->streams;
    enum tbed_status status =
        tbed_merge_open(dump->reader, streams_are_asked_for(streams) ? streams->chosen.numbers : NULL,
                        streams->chosen.count, &merge);
    if (status != TBED_OK)
        return status;
    tbed_merge_limit(merge, dump->begin_tick, window_last(dump));
    while (!is_over(dump) && (status = tbed_merge_next(merge, &event)) == TBED_OK)
        print_event(dump, &event, 0);
    tbed_merge_close(merge);
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
    open_places(dump);
    if (!dump->json)
        dump_text_prepare(dump);
    if (dump->json && dump->by_stream)
        dump_json_strings(dump);
    if (dump->json)
        dump_json_gaps(dump);
    if (!dump->by_stream)
        return walk_time(dump);
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; i < dump->streams.chosen.count && !is_over(dump); i++) {
        status = walk_stream(dump, dump->streams.chosen.numbers[i]);
        if (status != TBED_OK && status != TBED_END)
            return status;
    }
    return status;
}

static int print_all(struct dump *dump)
{
    enum tbed_status status = walk(dump);
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

static int dump_open(struct dump *dump, const struct options *options)
{
    dump->reader = tool_open(dump->path);
    if (dump->reader == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(dump->reader, &dump->info);
    int exit = streams_choose(&dump->streams, dump->path, dump->reader);
    return exit >= 0 ? exit : choose_time(dump, options);
}

static int run(int argc, char **argv)
{
    struct dump dump = {.left = UINT64_MAX, .out = {.out = stdout}};
    struct options options = {0};
    int exit = parse(argc, argv, &dump, &options);
    if (exit < 0)
        exit = dump_open(&dump, &options);
    if (exit < 0)
        exit = print_all(&dump);
    dump_text_free(&dump);
    tool_places_close(&dump.places);
    tbed_reader_close(dump.reader);
    streams_free(&dump.streams);
    return exit;
}

const struct tool_verb tool_verb_dump = {"dump", "print every event as text or JSON", help, run};
