/*
 * tracebed report: where the time went, and the memory.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/exchange.h>

#define TEXT_LIMIT         30
#define TEXT_PROCESS_LIMIT 10
#define JOBS_MAX           1024

static const char help[] =
    "usage: tracebed report [OPTION...] FILE...\n"
    "\n"
    "Shows where the time went (spans) and where the memory went (allocations), whichever the trace has,\n"
    "and counts instants, counters and messages. FILE may be '-', standard input, and a .mm_profdata file\n"
    "of rustc's. Of those, and of traces with whole spans, it shows where the time went by label.\n"
    "\n"
    "      --spans         only spans, instants, counters and messages\n"
    "      --allocations   only allocations\n"
    "  -s, --sort=KEY      spans: self (the default), total, count, min, mean, p50, p90, p99, p999, max,\n"
    "                      name; allocations: bytes (the default of sites), peak (that of processes),\n"
    "                      count, live, freed, temporary, name.\n"
    "                      A table without the key stays in its default order.\n"
    "  -n, --limit=N       rows of each table; 0: all. By default 30, of processes 10; all with --json\n"
    "  -p, --percent-above=P  no labels whose self time is below P % of the total\n"
    "      --by=WHAT       allocations by site (the default), stack, function (also: symbol) or module;\n"
    "                      spans by scope (the default), module, author or function, of names such as\n"
    "                      OpenOffice's 'MODULE (AUTHOR) FUNCTION'; what has no such part is one row\n"
    "      --over-time[=N] how much was live in each of N (20) parts of the time\n"
    "      --include-from=FILE  of spans, instants and messages only names that match a line of FILE:\n"
    "                      extended regular expressions of POSIX; the others are one row\n"
    "      --exclude-from=FILE  and of these only names that match none\n"
    "      --no-symbols    do not look for symbols: addresses in modules instead\n"
    "      --json          one JSON object a file, on one line\n"
    "  -j, --jobs=N        threads; by default as many as there are processors\n"
    "      --color=WHEN    never, auto or always\n"
    "  -h, --help          this text\n"
    "\n"
    "Spans: 'total' is the time between begin and end, summed over all that ended; in a recursion each\n"
    "call counts its own. 'self' is the time when a span was the innermost one, also of spans that never\n"
    "ended. Percentiles are right to 1 %. Messages '{ text' and '} text' of one thread and scope are\n"
    "spans too, called 'scope : text'; one that was never closed lasts until its thread's last event.\n"
    "In logs of RTL_LOGFILE so does every span that never ended, and times are whole milliseconds.\n"
    "\n"
    "Labels: what stands in a name before its first U+001E, over all threads. 'Self time' is the time of\n"
    "spans less that of their children; 'Time' is summed over all, recursion included. Cache hits and\n"
    "misses, blocked time, loading and hashing are told by the events' categories. A column that is 0\n"
    "everywhere is left out; cache misses also where each call is one.\n"
    "\n"
    "Allocations: 'live' was never freed. 'at peak' is what was live when the process had the most.\n"
    "'temporary' was freed by the next thing that its thread did with memory. A site is the function,\n"
    "file and line that called the allocator; module!function where no line is known. A forked\n"
    "process is told by what it allocated itself; the blocks that it began with are its parent's.\n"
    "\n"
    "JSON, its keys: file, duration_ns, drops, damage_count, totals {…_count}, spans [{name (and its\n"
    "function, file, line, module, as far as they are known), count,\n"
    "total_ns, self_ns, min_ns, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns, never_ended_count,\n"
    "unknown_begin_count}], async_spans [as spans], instants, counters, messages; allocations {count,\n"
    "bytes, freed_count, temporary_count, replaced_count, failed_count, live_count, live_bytes,\n"
    "peak_bytes}, processes [{process, forked_from, pid, name, as before, peak_time_ns,\n"
    "inherited_free_count, unknown_free_count, null_free_count, event_count}], sites [{name, as before}],\n"
    "with --by=stack name has a line for each frame; moments [{time_ns, live_bytes, peak_bytes, count}];\n"
    "left_out {rows that --limit left out}. With a clock that counts no time _ns is _ticks.\n"
    "By label, in front of those: total_ns, rows [{name, time_ns, self_ns, cache_misses, cache_hits,\n"
    "invocations, blocked_ns, incremental_load_ns, incremental_hashing_ns}], artifacts [{name, bytes}],\n"
    "unit (of these: ns, or what a counter counts), overlaps, inverted, unknown_labels and others.\n"
    "\n"
    "Examples:\n"
    "  tracebed report run.tbed\n"
    "  tracebed report --sort=p99 -n 10 run.tbed\n"
    "  tracebed report -p 1 hello-12345.mm_profdata\n"
    "  tracebed report --allocations --sort=peak --by=symbol run.tbed\n"
    "  tracebed report --json run.tbed | jq '.spans[] | select(.count > 1000)'\n"
    "\n"
    "Of a .mm_profdata file only the strings that its events need are read; 'tracebed verify' looks\n"
    "at everything.\n"
    "Exit status: 0 fine; 1 the file is damaged (what is intact is reported); 2 wrong usage, or it cannot\n"
    "be read.\n";

enum { OPTION_JSON = 2000, OPTION_SPANS, OPTION_ALLOCATIONS, OPTION_BY, OPTION_OVER_TIME, OPTION_NO_SYMBOLS };

/* ---- Names ---- */

static size_t name_site(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct report *report = context;
    if (report->options->by_stack)
        return report_stack_name(&report->places, id, buffer, buffer_nbytes);
    return tool_places_name(&report->places, id, buffer, buffer_nbytes);
}

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    struct report *report = context;
    if (report->options->by_stack)
        tool_places_prepare_stacks(&report->places, ids, count);
    else
        tool_places_prepare(&report->places, ids, count);
}

/* ---- One file ---- */

/* Percentiles cost time and memory. A profile's table shows none. */
static bool needs_percentiles(const struct report_options *options, bool is_profile)
{
    return options->json || !is_profile ||
           (options->sort >= REPORT_SORT_P50 && options->sort <= REPORT_SORT_P999);
}

/* Does the trace start like an import of a profile: with whole spans? */
static bool has_whole_spans(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    bool found = false;
    if (!tbed_stream_get(reader, 0, &stream) || tbed_cursor_open(reader, stream.stream, &cursor) != TBED_OK)
        return false;
    for (unsigned i = 0; i < 64 && !found && tbed_cursor_next(cursor, &event) == TBED_OK; i++)
        found = event.type == TBED_EVENT_SPAN;
    tbed_cursor_close(cursor);
    return found;
}

static bool has_categories(const struct report *report)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(report->statistics, i)) != NULL; i++)
        if (row->cache_misses + row->cache_hits + row->blocked_ticks + row->load_ticks + row->hashing_ticks >
            0)
            return true;
    return tbed_statistics_artifact(report->statistics, 0) != NULL;
}

/* Shown as a profile: what was one, has whole spans, or categories of measureme. */
static bool is_profile(const struct report *report)
{
    const struct tbed_import_report *foreign = tool_foreign_report(report->reader);
    return (foreign != NULL && foreign->kind == TBED_FOREIGN_PROFILE) ||
           report->totals.whole_span_count > 0 || report->has_categories;
}

static struct tbed_analysis_options statistics_options(const struct report_options *options, bool is_profile)
{
    const struct group *group = &options->group;
    bool is_grouped = group->by != GROUP_BY_SCOPE || group->include.is_given || group->exclude.is_given;
    return (struct tbed_analysis_options){.size = sizeof(struct tbed_analysis_options),
                                          .thread_count = options->jobs,
                                          .group = is_grouped ? group_name : NULL,
                                          .group_context = (void *)group,
                                          .skip_percentiles = !needs_percentiles(options, is_profile)};
}

static bool make_statistics(struct report *report)
{
    struct tbed_analysis_options options =
        statistics_options(report->options, has_whole_spans(report->reader));
    options.name = name_site;
    options.name_context = report;
    options.prepare = prepare;
    enum tbed_status status = tbed_statistics_make(report->reader, &options, &report->statistics);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(report->path), tbed_status_text(status));
        return false;
    }
    tbed_statistics_totals(report->statistics, &report->totals);
    report->has_categories = has_categories(report);
    report->is_profile = is_profile(report);
    return true;
}

static bool make_allocations(struct report *report)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = report->options->jobs,
                                            .name = name_site,
                                            .name_context = report,
                                            .moment_count = report->options->moment_count,
                                            .prepare = prepare};
    enum tbed_status status = tbed_allocations_make(report->reader, &options, &report->allocations);
    if (status != TBED_OK)
        tool_complain("%s: %s", tool_path(report->path), tbed_status_text(status));
    return status == TBED_OK;
}

static bool make_report(struct report *report)
{
    const struct report_options *options = report->options;
    tbed_reader_info(report->reader, &report->info);
    report->places = (struct tool_places){.reader = report->reader, .part = options->by};
    if (!options->no_symbols)
        tool_places_open(&report->places, report->reader, options->by);
    if (options->spans && !make_statistics(report))
        return false;
    /* With both, the statistics tell whether there are any. */
    bool has_any = !options->spans || report->totals.allocation_event_count > 0;
    if (options->allocations && has_any && !make_allocations(report))
        return false;
    report_sort_tables(report);
    return true;
}

/* The clock of a foreign profile: nanoseconds, or counts. */
static struct tbed_trace_info foreign_info(const struct tbed_statistics *statistics)
{
    const char *unit = tbed_statistics_unit(statistics);
    struct tbed_trace_info info = {.clock = unit != NULL ? TBED_CLOCK_USER : TBED_CLOCK_MONOTONIC,
                                   .ticks_per_second = 1000000000,
                                   .resolution_ticks = 1};
    snprintf(info.clock_unit, sizeof info.clock_unit, "%s", unit != NULL ? unit : "");
    return info;
}

/* A foreign profile, straight from its pages. */
static int report_foreign(const struct report_options *options, const char *path)
{
    struct report report = {.options = options, .path = path, .is_profile = true};
    struct tbed_analysis_options analysis = statistics_options(options, true);
    struct tbed_error error = {.offset = UINT64_MAX};
    tool_guard(path);
    if (tbed_statistics_make_foreign(path, &analysis, &report.statistics, &error) != TBED_OK) {
        tool_complain_open(path, &error);
        return TOOL_TROUBLE;
    }
    tbed_statistics_totals(report.statistics, &report.totals);
    report.has_categories = has_categories(&report);
    report.info = foreign_info(report.statistics);
    report_sort_tables(&report);
    if (options->json)
        report_print_json(&report);
    else
        report_print_text(&report);
    tool_tell_profile_damage(path, report.statistics);
    report_free_tables(&report);
    tbed_statistics_close(report.statistics);
    return report.totals.foreign_damage_count > 0 ? TOOL_FOUND : TOOL_FINE;
}

/* A profile has labels without percentiles, no scopes to group, and no allocations. */
static const struct tool_option_scope scopes[] = {
    {OPTION_BY, "trace, rtl-log", "site, symbol, stack"},
    {OPTION_OVER_TIME, "trace, rtl-log", NULL},
    {OPTION_ALLOCATIONS, "trace, rtl-log", NULL},
    {'s', "trace, rtl-log", "bytes, live, peak, freed, temporary"},
};

static int report_file(const struct report_options *options, const char *path)
{
    const struct tbed_format *format = tool_format(path);
    if (!tool_options_apply(scopes, sizeof scopes / sizeof scopes[0], tool_format_name(format), path))
        return TOOL_TROUBLE;
    if (format != NULL && format->has_profile)
        return report_foreign(options, path);
    struct report report = {.options = options, .path = path, .reader = tool_open(path)};
    int exit = TOOL_TROUBLE;
    if (report.reader == NULL)
        return exit;
    if (make_report(&report)) {
        if (options->json)
            report_print_json(&report);
        else
            report_print_text(&report);
        tool_tell_damage(path, report.reader);
        exit = tool_damage_count(report.reader) > 0 ? TOOL_FOUND : TOOL_FINE;
    }
    report_free_tables(&report);
    tbed_allocations_close(report.allocations);
    tbed_statistics_close(report.statistics);
    tool_places_close(&report.places);
    tbed_reader_close(report.reader);
    return exit;
}

/* ---- Options ---- */

/* A word of either; "module" and "function" are of both. */
static bool parse_by(const char *text, struct report_options *options)
{
    static const char *const names[] = {"site", "symbol", "module", "function", "stack"};
    static const enum tbed_name_part parts[] = {TBED_NAME_ALL, TBED_NAME_FUNCTION, TBED_NAME_MODULE,
                                                TBED_NAME_FUNCTION, TBED_NAME_ALL};
    for (unsigned i = 0; i < 5; i++)
        if (strcmp(names[i], text) == 0) {
            options->by = parts[i];
            options->by_stack = i == 4;
            group_parse_by(text, &options->group.by);
            return true;
        }
    return group_parse_by(text, &options->group.by);
}

#define MOMENTS_DEFAULT 20
#define MOMENTS_MAX     10000

static bool parse_moments(const char *text, uint32_t *count_ret)
{
    uint64_t count = MOMENTS_DEFAULT;
    if (text != NULL && (!tool_parse_u64(text, MOMENTS_MAX, &count) || count == 0))
        return false;
    *count_ret = (uint32_t)count;
    return true;
}

static bool parse_limit(const char *text, size_t *limit_ret)
{
    uint64_t value;
    if (!tool_parse_u64(text, SIZE_MAX, &value))
        return false;
    *limit_ret = value == 0 ? SIZE_MAX : (size_t)value;
    return true;
}

static bool parse_percent(const char *text, double *percent_ret)
{
    char *end;
    *percent_ret = strtod(text, &end);
    return end != text && *end == '\0' && *percent_ret >= 0 && *percent_ret <= 100;
}

/* NULL if it was understood, else what is wrong. */
static const char *take_option(struct report_options *options, int option, const char *argument)
{
    uint64_t jobs;
    switch (option) {
    case OPTION_JSON:
        options->json = true;
        return NULL;
    case OPTION_SPANS:
        options->spans = true;
        return NULL;
    case OPTION_ALLOCATIONS:
        options->allocations = true;
        return NULL;
    case OPTION_NO_SYMBOLS:
        options->no_symbols = true;
        return NULL;
    case OPTION_BY:
        return parse_by(argument, options) ? NULL
                                           : "--by takes site, stack, function, module, scope or author";
    case OPTION_OVER_TIME:
        return parse_moments(argument, &options->moment_count) ? NULL
                                                               : "--over-time takes a number up to 10000";
    case GROUP_OPTION_INCLUDE:
    case GROUP_OPTION_EXCLUDE:
        return group_take_option(&options->group, option, argument);
    case 's':
        return report_sort_parse(argument, &options->sort) ? NULL : "--sort: unknown key";
    case 'p':
        return parse_percent(argument, &options->percent_above) ? NULL : "--percent-above takes a percentage";
    case 'n':
        return parse_limit(argument, &options->limit) ? NULL : "--limit takes a number of rows";
    default: /* 'j' */
        if (!tool_parse_u64(argument, JOBS_MAX, &jobs))
            return "--jobs takes a number of threads up to 1024";
        options->jobs = (unsigned)jobs;
        return NULL;
    }
}

/* -1: go on, with 'optind' at the first file. */
static int take_options(struct report_options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, OPTION_JSON},
        {"spans", no_argument, NULL, OPTION_SPANS},
        {"allocations", no_argument, NULL, OPTION_ALLOCATIONS},
        {"sort", required_argument, NULL, 's'},
        {"limit", required_argument, NULL, 'n'},
        {"percent-above", required_argument, NULL, 'p'},
        {"by", required_argument, NULL, OPTION_BY},
        {"over-time", optional_argument, NULL, OPTION_OVER_TIME},
        GROUP_OPTIONS,
        {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
        {"jobs", required_argument, NULL, 'j'},
        TOOL_COMMON_OPTIONS,
        {0},
    };
    int option, exit = -1;
    while ((option = tool_option_next(&tool_verb_report, argc, argv, "hs:n:p:j:", long_options, &exit)) !=
           -1) {
        const char *problem = take_option(options, option, optarg);
        if (problem != NULL)
            return tool_usage(&tool_verb_report, problem);
    }
    if (exit >= 0)
        return exit;
    return optind < argc ? -1 : tool_usage(&tool_verb_report, "missing FILE operand");
}

static int report_files(struct report_options *options, int argc, char **argv)
{
    int exit = TOOL_FINE;
    for (int i = optind; i < argc && !tool_output_failed(); i++) {
        if (i > optind && !options->json)
            putchar('\n');
        int one = report_file(options, argv[i]);
        exit = one > exit ? one : exit;
    }
    return tool_finish(exit);
}

static int run(int argc, char **argv)
{
    struct report_options options = {0};
    int exit = take_options(&options, argc, argv);
    options.process_limit = options.limit != 0 ? options.limit : options.json ? SIZE_MAX : TEXT_PROCESS_LIMIT;
    if (options.limit == 0)
        options.limit = options.json ? SIZE_MAX : TEXT_LIMIT;
    if (!options.spans && !options.allocations)
        options.spans = options.allocations = true;
    if (exit < 0)
        exit = report_files(&options, argc, argv);
    group_free(&options.group);
    return exit;
}

const struct tool_verb tool_verb_report = {
    .name = "report",
    .summary = "shows where the time, or the memory, went",
    .help = help,
    .run = run,
};
