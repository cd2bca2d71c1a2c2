/*
 * tracebed report: show where the time and the memory went.
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
#define PERIODS_MAX        1000000
#define COUNT_OF(array)    (sizeof(array) / sizeof(array)[0])
#define LABEL_OPTIONS      "--name, --exclude, --category and --minimum-duration"

static const char help[] =
    "usage: tracebed report [OPTION]... FILE...\n"
    "\n"
    "Show where the time went (spans) and where the memory went (allocations), and\n"
    "count instants, counters and messages. FILE may be '-' for standard input.\n"
    "\n"
    "What to show:\n"
    "      --spans            only spans, instants, counters and messages\n"
    "      --allocations      only allocations\n"
    "      --artifacts        only the sizes of a compiler's artifacts, by label\n"
    "      --sum              add up all FILEs as one, and show a row for each; FILE\n"
    "                         may be a folder of profiles or traces, as of a\n"
    "                         workspace\n"
    "      --by=WHAT          group allocations by site (default), stack, function,\n"
    "                         file, module, class, size, gem (of Ruby code) or\n"
    "                         method (the same as function); group spans by label\n"
    "                         (default), argument, thread, process, category,\n"
    "                         location, file, the time in which they begin (10ms,\n"
    "                         second, minute, ...), or module, author or function,\n"
    "                         also for names of the form 'MODULE (AUTHOR) FUNCTION'\n"
    "                         as in RTL_LOGFILE\n"
    "      --lifetimes        also show how long blocks of memory lived until they\n"
    "                         were freed\n"
    "      --leaks            only memory that was never freed, by stack, and what is\n"
    "                         suppressed: what libraries keep until the end\n"
    "      --retained[=N]     only objects that are live and survived N (default 1)\n"
    "                         garbage collections, which 'record --ruby' records\n"
    "      --suppressions=FILE\n"
    "                         suppress leaks with a frame whose function, file or\n"
    "                         module matches a line 'leak:PATTERN' of FILE, as in\n"
    "                         LeakSanitizer, and those that valgrind's suppressions\n"
    "                         in FILE match\n"
    "      --no-built-in-suppressions\n"
    "                         suppress nothing but that\n"
    "      --on-cpu           durations without the time when threads were off their\n"
    "                         processors, as known from 'record --off-cpu'\n"
    "      --over-time[=N]    also show each of N (default 20) equal parts of the\n"
    "                         time: spans, counters and live memory\n"
    "      --include-from=FILE\n"
    "                         show only spans, instants and messages whose names\n"
    "                         match a line of FILE, a POSIX extended regular\n"
    "                         expression; the others form one row\n"
    "      --exclude-from=FILE\n"
    "                         and of these, only names that match no line of FILE\n"
    "  -s, --sort=KEY[,...]   sort by these columns: figures fall and names rise, or\n"
    "                         as '+' (rise) or '-' (fall) before KEY says; default:\n"
    "                         spans by self, sites by bytes, processes by peak\n"
    "      --columns=KEY[,...]\n"
    "                         show these columns of each table that has any:\n"
    "                         self, total, count, min, mean, p50, p90, p99, p999,\n"
    "                         max, open, unknown, off_cpu, name, share; for profiles\n"
    "                         time, invocations, misses, hits, blocked, load,\n"
    "                         hashing; for counters last, unit; for messages errors,\n"
    "                         warnings; for allocations bytes, peak, live, freed,\n"
    "                         temporary, ...\n"
    "  -l, --limit=N          show N rows of each table; 0 shows all (default: 30, 10\n"
    "                         for processes, all with --json and --csv)\n"
    "      --percent-above=P  hide labels whose self time is below P % of the total\n"
    "\n" TOOL_FILTER_HELP "\n"
    "      --no-symbols       show addresses instead of looking up symbols\n"
    "      --csv              print rows as comma-separated values\n"
    "      --json             print one JSON object per file, each on one line\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n"
    "Spans are grouped by label, the part of a name before its first U+001E, over all\n"
    "threads. 'total' is the time between begin and end, summed over all spans; in a\n"
    "recursion each call counts. 'self' is the time not spent in nested spans. A span\n"
    "that never ended lasts until the last event of its stream and is also counted as\n"
    "never ended; one that is open at a fork is in the child a span of its own, which\n"
    "begins with the child's first event. Percentiles are accurate to 1 %. If the\n"
    "categories of a profile distinguish cache hits and misses, blocked time, loading\n"
    "and hashing, these are shown as well; columns that are 0 everywhere are omitted.\n"
    "\n"
    "Allocations: 'live' was never freed. 'at peak' was live when the process had the\n"
    "most memory. 'temporary' was freed by its thread before that thread allocated or\n"
    "freed anything else. A site is the function, file and line that called the\n"
    "allocator, or module!function if the line is unknown. A forked process is shown\n"
    "with its own allocations; blocks it inherited belong to its parent.\n"
    "\n"
    "tracebed-report(1) documents all columns and the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed report run.tbed\n"
    "  tracebed report --sort=p99,-count -l 10 run.tbed\n"
    "  tracebed report --spans --columns=name,count,p99 --csv run.tbed\n"
    "  tracebed report -b 10% -e 20% --inside=parse run.tbed\n"
    "  tracebed report --by=thread --inside='handle request' run.tbed\n"
    "  tracebed report --percent-above=1 hello-12345.mm_profdata\n"
    "  tracebed report --artifacts *.mm_profdata\n"
    "  tracebed report --sum --by=argument target/profiles\n"
    "  tracebed report --allocations --sort=peak --by=function run.tbed\n"
    "  tracebed report --leaks --suppressions=known.supp run.tbed\n"
    "  tracebed report --json run.tbed | jq '.spans[] | select(.count > 1000)'\n"
    "\n"
    "Exit status: 0 on success; 1 if a file is damaged (everything intact is\n"
    "reported); 2 if the usage is wrong or a file cannot be read.\n";

enum {
    OPTION_JSON = 2000,
    OPTION_CSV,
    OPTION_COLUMNS,
    OPTION_SPANS,
    OPTION_ALLOCATIONS,
    OPTION_ARTIFACTS,
    OPTION_SUM,
    OPTION_BY,
    OPTION_OVER_TIME,
    OPTION_NO_SYMBOLS,
    OPTION_PERCENT,
    OPTION_LEAKS,
    OPTION_LIFETIMES,
    OPTION_RETAINED,
    OPTION_SUPPRESSIONS,
    OPTION_NO_BUILT_IN,
    OPTION_ON_CPU
};

/* ---- Names ---- */

static size_t name_site(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct report *report = context;
    if (report->options->by_file)
        return report_file_name(&report->places, id, buffer, buffer_nbytes);
    if (report->options->by_gem)
        return report_gem_name(&report->places, id, buffer, buffer_nbytes);
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

/* The same for allocations; of stacks, only frames are named. */
static size_t name_of_site(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct report *report = context;
    if (report->options->by_gem)
        return report_gem_name(&report->places, id, buffer, buffer_nbytes);
    return report->options->by_file ? report_file_name(&report->places, id, buffer, buffer_nbytes)
                                    : tool_places_name(&report->places, id, buffer, buffer_nbytes);
}

static void prepare_sites(void *context, const uint32_t *ids, size_t count)
{
    tool_places_prepare(&((struct report *)context)->places, ids, count);
}

/* ---- One file ---- */

/* Percentiles cost time and memory, and the table of a profile does not show them. */
static bool needs_percentiles(const struct report_options *options, bool is_profile)
{
    static const char *const keys[] = {"p50", "p90", "p99", "p999"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (table_keys_have(&options->sort, keys[i]) || table_keys_have(&options->columns, keys[i]))
            return true;
    return options->columns.count == 0 && !options->artifacts &&
           (options->json || options->csv || !is_profile);
}

/* Whether the trace comes from a format of events, whose complete spans are spans like any other. */
static bool is_of_events(const struct tbed_reader *reader)
{
    static const char start[] = "{\"format\":\"";
    char text[sizeof start]; /* terminated */
    size_t nbytes = 0;
    enum tbed_status status = tbed_string_resolve(reader, TBED_ID_METADATA, text, sizeof text, &nbytes);
    return (status == TBED_OK || status == TBED_ERR_STRING_BYTES) && nbytes >= sizeof start - 1 &&
           memcmp(text, start, sizeof start - 1) == 0;
}

/* Returns whether the trace begins with complete spans, as imported profiles do. */
static bool has_whole_spans(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    bool found = false;
    if (is_of_events(reader) || !tbed_stream_get(reader, 0, &stream) ||
        tbed_cursor_open(reader, stream.stream, &cursor) != TBED_OK)
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

/*
 * Imported profiles and traces with complete spans or with measureme's categories are shown as profiles, also if the part
 * that is shown has no complete spans.
 */
static bool is_profile(const struct report *report, bool has_whole)
{
    const struct tbed_import_report *foreign = tool_foreign_report(report->reader);
    bool is_whole = has_whole || (report->totals.whole_span_count > 0 && !is_of_events(report->reader));
    return (foreign != NULL && foreign->kind == TBED_FOREIGN_PROFILE) || is_whole || report->has_categories;
}

static struct tbed_analysis_options statistics_options(const struct report_options *options, bool is_profile)
{
    const struct group *group = &options->group;
    bool is_grouped = group->by != GROUP_BY_SCOPE || group->include.is_given || group->exclude.is_given;
    return (struct tbed_analysis_options){.size = sizeof(struct tbed_analysis_options),
                                          .thread_count = options->jobs,
                                          .group = is_grouped ? group_name : NULL,
                                          .group_context = (void *)group,
                                          .by = options->key,
                                          .only_artifacts = options->artifacts,
                                          .keep_durations =
                                              options->is_sum && needs_percentiles(options, is_profile),
                                          .skip_percentiles = !needs_percentiles(options, is_profile)};
}

/* Whether a profile is shown in the layout of one: by label, or by label and arguments, which is the key of a query. */
static bool shows_labels(const struct report_options *options)
{
    return options->key == TBED_BY_LABEL || options->key == TBED_BY_ARGUMENTS;
}

static bool make_statistics(struct report *report)
{
    bool has_whole = has_whole_spans(report->reader);
    bool by_label = shows_labels(report->options);
    struct tbed_analysis_options options = statistics_options(report->options, has_whole && by_label);
    options.name = name_site;
    options.name_context = report;
    options.prepare = prepare;
    options.filter = report->options->filter.filter;
    options.by_ticks = report->period_ticks;
    options.count_off_cpu = true;
    options.without_off_cpu = report->options->on_cpu;
    tool_progress_begin(report->reader, false);
    enum tbed_status status = tbed_statistics_make(report->reader, &options, &report->statistics);
    tool_progress_end();
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(report->path), tbed_status_text(status));
        return false;
    }
    tbed_statistics_totals(report->statistics, &report->totals);
    report->has_categories = by_label && has_categories(report);
    report->is_profile = by_label && is_profile(report, has_whole);
    return true;
}

/* Only of what there is. */
static bool make_timeline(struct report *report)
{
    struct tbed_analysis_options options = statistics_options(report->options, false);
    options.name = name_site;
    options.name_context = report;
    options.prepare = prepare;
    options.filter = report->options->filter.filter;
    options.moment_count = report->options->moment_count;
    if (options.moment_count == 0 || (tbed_statistics_span(report->statistics, 0) == NULL &&
                                      tbed_statistics_counter(report->statistics, 0) == NULL))
        return true;
    tool_progress_begin(report->reader, false);
    enum tbed_status status = tbed_timeline_make(report->reader, &options, &report->timeline);
    tool_progress_end();
    if (status != TBED_OK)
        tool_complain("%s: %s", tool_path(report->path), tbed_status_text(status));
    return status == TBED_OK;
}

static bool make_allocations(struct report *report)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = report->options->jobs,
                                            .name = name_of_site,
                                            .name_context = report,
                                            .moment_count = report->options->moment_count,
                                            .by_stack = report->options->by_stack,
                                            .filter = report->options->filter.filter,
                                            .prepare = prepare_sites,
                                            .by_size = report->options->by_size,
                                            .by_class = report->options->by_class,
                                            .survived_min = report->options->survived_min,
                                            .keep_lifetimes = report_needs_lifetimes(report->options),
                                            .suppressions = report->options->suppressions.list};
    tool_progress_begin(report->reader, false);
    enum tbed_status status = tbed_allocations_make(report->reader, &options, &report->allocations);
    tool_progress_end();
    if (status != TBED_OK)
        tool_complain("%s: %s", tool_path(report->path), tbed_status_text(status));
    return status == TBED_OK;
}

/* False after a complaint. */
static bool set_period(struct report *report)
{
    const char *problem = NULL;
    const struct tbed_trace_info *info = &report->info;
    report->period_ticks = filter_duration_ticks(&report->options->period, report->reader, &problem);
    uint64_t time = info->last_tick > info->first_tick ? info->last_tick - info->first_tick : 0;
    if (problem == NULL && report->period_ticks == 0)
        problem = "the time is shorter than a tick";
    if (problem == NULL && time / report->period_ticks >= PERIODS_MAX)
        problem = "the trace would have more than a million parts";
    if (problem != NULL)
        tool_complain("%s: --by: %s", tool_path(report->path), problem);
    return problem == NULL;
}

static bool has_off_cpu(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        if (stream.kind == TBED_STREAM_OFF_CPU)
            return true;
    return false;
}

static bool make_report(struct report *report)
{
    struct report_options *options = report->options;
    tbed_reader_info(report->reader, &report->info);
    report->step_ticks = tbed_clock_step(report->reader);
    report->has_off_cpu = has_off_cpu(report->reader);
    if (options->on_cpu && !report->has_off_cpu) {
        tool_complain("%s: --on-cpu: the trace does not say when threads were off their processors",
                      tool_path(report->path));
        tool_hint("Record it with: tracebed record --off-cpu");
        return false;
    }
    if (options->key == TBED_BY_TIME && !set_period(report))
        return false;
    report->places = (struct tool_places){.reader = report->reader, .part = options->by};
    if (!options->no_symbols)
        tool_places_open(&report->places, report->reader, options->by);
    if (tool_filter_open(&options->filter, report->path, report->reader, &report->places, options->jobs) >= 0)
        return false;
    if (options->spans && !(make_statistics(report) && make_timeline(report)))
        return false;
    /* If both are requested, the statistics already know whether there are any. */
    bool has_any = !options->spans || report->totals.allocation_event_count > 0;
    bool are_left_out = has_any && tool_filter_asks_for_labels(&options->filter);
    if (options->allocations && are_left_out)
        tool_complain("%s: allocations are not shown: " LABEL_OPTIONS " do not apply to them",
                      tool_path(report->path));
    if (options->allocations && has_any && !are_left_out && !make_allocations(report))
        return false;
    report_sort_tables(report);
    return true;
}

/* The clock of a foreign profile counts nanoseconds or something else. */
static struct tbed_trace_info foreign_info(const struct tbed_statistics *statistics)
{
    const char *unit = tbed_statistics_unit(statistics);
    struct tbed_trace_info info = {.clock = unit != NULL ? TBED_CLOCK_USER : TBED_CLOCK_MONOTONIC,
                                   .ticks_per_second = 1000000000,
                                   .resolution_ticks = 1};
    snprintf(info.clock_unit, sizeof info.clock_unit, "%s", unit != NULL ? unit : "");
    return info;
}

/* False after a complaint. */
static bool print(const struct report *report)
{
    if (report->options->sum != NULL && !report->is_sum)
        return report_sum_take(report->options->sum, report);
    if (report->options->csv)
        return report_print_csv(report);
    if (report->options->json)
        report_print_json(report);
    else
        report_print_text(report);
    return true;
}

/* Reports on a foreign profile without importing it. */
static int report_foreign(struct report_options *options, const char *path)
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
    bool fine = print(&report);
    tool_tell_profile_damage(path, report.statistics);
    report_free_tables(&report);
    tbed_statistics_close(report.statistics);
    return !fine ? TOOL_TROUBLE : report.totals.foreign_damage_count > 0 ? TOOL_FOUND : TOOL_FINE;
}

/* Profiles have no allocations. */
static const struct tool_option_scope scopes[] = {
    {OPTION_BY, "trace, rtl-log", "site, symbol, stack, size"},
    {OPTION_ALLOCATIONS, "trace, rtl-log", NULL},
    {OPTION_LEAKS, "trace", NULL},
    {OPTION_LIFETIMES, "trace", NULL},
    {OPTION_RETAINED, "trace", NULL},
    {OPTION_ON_CPU, "trace", NULL},
    {'s', "trace, rtl-log", "bytes, live, peak, freed, temporary"},
};

/* --artifacts shows nothing else. */
static const struct tool_option_scope of_artifacts[] = {
    {OPTION_ALLOCATIONS, "allocations", NULL},
    {OPTION_LEAKS, "allocations", NULL},
    {OPTION_LIFETIMES, "allocations", NULL},
    {OPTION_RETAINED, "allocations", NULL},
    {OPTION_BY, "spans, allocations", NULL},
    {OPTION_OVER_TIME, "spans", NULL},
    {OPTION_ON_CPU, "spans", NULL},
    {OPTION_PERCENT, "spans", NULL},
};

/* The same for the contents of a trace. If it has both spans and allocations, everything applies. */
static const struct tool_option_scope contents[] = {
    {OPTION_BY, "allocations", "site, symbol, stack, size"},
    {OPTION_LIFETIMES, "allocations", NULL},
    {OPTION_RETAINED, "allocations", NULL},
    {OPTION_BY, "spans, counters, messages",
     "scope, name, label, author, argument, thread, process, category"},
    {OPTION_BY, "spans, counters, messages", "millisecond, second, minute, hour"},
    {OPTION_BY, "spans, counters, messages, allocations", "module, function, file, location"},
    {OPTION_OVER_TIME, "spans, counters, allocations", NULL},
    {'s', "allocations", "bytes, live, peak, freed, temporary"},
    {'s', "spans", "total, self, min, mean, p50, p90, p99, p999, max"},
    {OPTION_PERCENT, "spans", NULL},
    {OPTION_ON_CPU, "spans", NULL},
    {GROUP_OPTION_INCLUDE, "spans, counters, messages", NULL},
    {GROUP_OPTION_EXCLUDE, "spans, counters, messages", NULL},
};

static bool contents_apply(const struct report *report)
{
    const struct tbed_statistics *statistics = report->statistics;
    bool has_spans = statistics != NULL && (tbed_statistics_span(statistics, 0) != NULL ||
                                            tbed_statistics_async(statistics, 0) != NULL);
    bool has_allocations =
        report->allocations != NULL && tbed_allocations_process(report->allocations, 0) != NULL;
    bool has_counters = statistics != NULL && tbed_statistics_counter(statistics, 0) != NULL;
    const char *what = has_spans         ? "spans"
                       : has_allocations ? "allocations"
                       : has_counters    ? "counters"
                                         : "messages";
    return (has_spans && has_allocations) || report->options->artifacts ||
           tool_options_apply(contents, sizeof contents / sizeof contents[0], what, report->path);
}

static bool options_apply(const struct report_options *options, const struct tbed_format *format,
                          const char *path)
{
    if (options->artifacts)
        return tool_options_apply(of_artifacts, COUNT_OF(of_artifacts), "artifacts", path);
    return tool_options_apply(scopes, COUNT_OF(scopes), tool_format_name(format), path);
}

static int report_file(struct report_options *options, const char *path)
{
    const struct tbed_format *format = tool_format(path);
    if (!options_apply(options, format, path))
        return TOOL_TROUBLE;
    if (format != NULL && format->has_profile && !tool_filter_is_given(&options->filter) &&
        options->key == TBED_BY_LABEL && options->moment_count == 0)
        return report_foreign(options, path);
    struct report report = {.options = options, .path = path, .reader = tool_open(path)};
    int exit = TOOL_TROUBLE;
    if (report.reader == NULL)
        return exit;
    if (make_report(&report) && contents_apply(&report) && report_retained_applies(&report)) {
        bool fine = print(&report);
        tool_tell_orphans(path, report.reader);
        tool_tell_damage(path, report.reader);
        exit = !fine ? TOOL_TROUBLE : tool_damage_count(report.reader) > 0 ? TOOL_FOUND : TOOL_FINE;
    }
    report_free_tables(&report);
    tbed_allocations_close(report.allocations);
    tbed_statistics_close(report.statistics);
    tbed_timeline_close(report.timeline);
    tool_filter_end(&options->filter);
    tool_places_close(&report.places);
    tbed_reader_close(report.reader);
    return exit;
}

/* ---- Options ---- */

static const char *parse_period(const char *text, struct report_options *options)
{
    static const struct {
        const char *word, *text;
    } units[] = {{"millisecond", "1ms"}, {"second", "1s"}, {"minute", "1min"}, {"hour", "1h"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text, units[i].word) == 0)
            text = units[i].text;
    if (*text < '0' || *text > '9')
        return "";
    options->key = TBED_BY_TIME;
    return filter_duration_parse(text, &options->period) != NULL || !(options->period.value > 0)
               ? "--by: a duration above 0 is expected, such as 10ms or 1.5s"
               : NULL;
}

/* "module", "function" and "file" group both allocations and spans. */
static const char *parse_by(const char *text, struct report_options *options)
{
    static const struct {
        enum tbed_row_key key;
        enum tbed_name_part part;
        enum group_by group;
        bool by_stack, by_file, by_gem, by_size, by_class;
    } ways[] = {
        {.part = TBED_NAME_ALL},
        {.by_stack = true},
        {.part = TBED_NAME_FUNCTION, .group = GROUP_BY_FUNCTION},
        {.part = TBED_NAME_FUNCTION},
        {.part = TBED_NAME_MODULE, .group = GROUP_BY_MODULE},
        {.by_file = true, .key = TBED_BY_FILE},
        {.key = TBED_BY_LOCATION},
        {.group = GROUP_BY_SCOPE},
        {.group = GROUP_BY_SCOPE},
        {.group = GROUP_BY_SCOPE},
        {.group = GROUP_BY_AUTHOR},
        {.key = TBED_BY_ARGUMENTS},
        {.key = TBED_BY_THREAD},
        {.key = TBED_BY_PROCESS},
        {.key = TBED_BY_CATEGORY},
        {.by_size = true},
        {.by_class = true},
        {.by_gem = true},
        {.part = TBED_NAME_FUNCTION},
    };
    static const char *const names[] = {"site",     "stack",       "function", "symbol", "module", "file",
                                        "location", "scope",       "name",     "label",  "author", "argument",
                                        "thread",   "process",     "category", "size",   "class",  "gem",
                                        "method",   "millisecond", "second",   "minute", "hour"};
    size_t at;
    options->key = TBED_BY_LABEL;
    const char *problem = parse_period(text, options);
    if (problem == NULL || *problem != '\0')
        return problem;
    problem = tool_word_choose("--by: unknown group", names, sizeof names / sizeof names[0], text, &at);
    if (problem != NULL)
        return problem;
    options->has_by = true;
    options->by = ways[at].part;
    options->by_stack = ways[at].by_stack;
    options->by_file = ways[at].by_file;
    options->by_gem = ways[at].by_gem;
    options->by_size = ways[at].by_size;
    options->by_class = ways[at].by_class;
    options->group.by = ways[at].group;
    options->key = ways[at].key;
    return NULL;
}

static const char *takes_unless(bool is_fine, const char *expected, const char *argument)
{
    return is_fine ? NULL : tool_takes(expected, argument);
}

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct report_options *options, int option, const char *argument)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&options->filter, option, argument);
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
    case OPTION_ARTIFACTS:
        options->artifacts = options->spans = true;
        return NULL;
    case OPTION_SUM:
        options->is_sum = options->spans = true;
        return NULL;
    case OPTION_NO_SYMBOLS:
        options->no_symbols = true;
        return NULL;
    case OPTION_ON_CPU:
        options->on_cpu = true;
        return NULL;
    case OPTION_BY:
        return parse_by(argument, options);
    case OPTION_OVER_TIME:
        return takes_unless(report_parse_moments(argument, &options->moment_count),
                            "--over-time takes a number up to 10000", argument);
    case OPTION_LEAKS:
        options->leaks = options->allocations = true;
        return NULL;
    case OPTION_LIFETIMES:
        options->lifetimes = true;
        return NULL;
    case OPTION_RETAINED:
        options->allocations = true;
        return takes_unless(report_parse_retained(argument, &options->survived_min),
                            "--retained takes a number of garbage collections", argument);
    case OPTION_SUPPRESSIONS:
        report_suppressions_add(&options->suppressions, argument);
        return NULL;
    case OPTION_NO_BUILT_IN:
        options->suppressions.has_no_built_in = true;
        return NULL;
    case GROUP_OPTION_INCLUDE:
    case GROUP_OPTION_EXCLUDE:
        return group_take_option(&options->group, option, argument);
    case 's':
        return report_sort_parse(&options->sort, argument);
    case OPTION_COLUMNS:
        return report_columns_parse(&options->columns, argument);
    case OPTION_CSV:
        options->csv = true;
        return NULL;
    case OPTION_PERCENT:
        return takes_unless(report_parse_percent(argument, &options->percent_above),
                            "--percent-above takes a percentage", argument);
    case 'l':
        return takes_unless(report_parse_limit(argument, &options->limit), "--limit takes a number of rows",
                            argument);
    default: /* 'j' */
        return tool_parse_jobs(argument, &options->jobs);
    }
}

/* Returns NULL, or which options exclude each other. */
static const char *check_options(const struct report_options *options)
{
    const struct group *group = &options->group;
    const struct report_suppressions *suppressions = &options->suppressions;
    if (options->allocations && !options->spans && tool_filter_asks_for_labels(&options->filter))
        return LABEL_OPTIONS " do not apply to --allocations";
    if (options->key != TBED_BY_LABEL && (group->include.is_given || group->exclude.is_given))
        return "--include-from and --exclude-from apply to labels; use --name and --exclude";
    if (options->json && options->csv)
        return "--csv cannot be combined with --json";
    if (options->key != TBED_BY_LABEL && options->moment_count > 0)
        return "--over-time applies to labels, modules, authors, functions and sites";
    if (options->on_cpu && ((options->allocations && !options->spans) || options->moment_count > 0))
        return "--on-cpu applies to spans, and cannot be combined with --over-time";
    if (options->is_sum &&
        (options->allocations || options->moment_count > 0 || options->key == TBED_BY_TIME))
        return "--sum cannot be combined with allocations, --over-time, and parts of the time";
    if (options->leaks && options->spans)
        return "--leaks cannot be combined with --spans";
    if (options->leaks && (options->by_size || options->lifetimes))
        return "--leaks cannot be combined with --by=size and --lifetimes";
    if (options->survived_min > 0 && (options->spans || options->leaks || options->lifetimes))
        return "--retained cannot be combined with --spans, --leaks and --lifetimes";
    if (!options->leaks && (suppressions->path_count > 0 || suppressions->has_no_built_in))
        return "--suppressions and --no-built-in-suppressions apply to --leaks";
    return NULL;
}

/* Returns -1 to continue, with 'optind' at the first file, or the exit status. */
static int take_options(struct report_options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, OPTION_JSON},
        {"csv", no_argument, NULL, OPTION_CSV},
        {"columns", required_argument, NULL, OPTION_COLUMNS},
        {"spans", no_argument, NULL, OPTION_SPANS},
        {"allocations", no_argument, NULL, OPTION_ALLOCATIONS},
        {"artifacts", no_argument, NULL, OPTION_ARTIFACTS},
        {"sum", no_argument, NULL, OPTION_SUM},
        {"sort", required_argument, NULL, 's'},
        {"limit", required_argument, NULL, 'l'},
        {"percent-above", required_argument, NULL, OPTION_PERCENT},
        {"leaks", no_argument, NULL, OPTION_LEAKS},
        {"lifetimes", no_argument, NULL, OPTION_LIFETIMES},
        {"retained", optional_argument, NULL, OPTION_RETAINED},
        {"suppressions", required_argument, NULL, OPTION_SUPPRESSIONS},
        {"no-built-in-suppressions", no_argument, NULL, OPTION_NO_BUILT_IN},
        {"by", required_argument, NULL, OPTION_BY},
        {"over-time", optional_argument, NULL, OPTION_OVER_TIME},
        GROUP_OPTIONS,
        TOOL_FILTER_OPTIONS,
        {"on-cpu", no_argument, NULL, OPTION_ON_CPU},
        {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
        {"jobs", required_argument, NULL, 'j'},
        TOOL_COMMON_OPTIONS,
        {0},
    };
    int option, exit = -1;
    while ((option = tool_option_next(&tool_verb_report, argc, argv, "hs:l:j:" TOOL_FILTER_SHORTS,
                                      long_options, &exit)) != -1) {
        const char *problem = take_option(options, option, optarg);
        if (problem != NULL)
            return tool_usage(&tool_verb_report, problem);
    }
    const char *problem = exit >= 0 ? NULL : check_options(options);
    if (problem != NULL)
        return tool_usage(&tool_verb_report, problem);
    if (exit >= 0)
        return exit;
    if (optind >= argc)
        return tool_usage(&tool_verb_report, "missing FILE operand");
    return !options->leaks || report_suppressions_load(&options->suppressions) ? -1 : TOOL_TROUBLE;
}

static int report_together(struct report_options *options, char **paths, int count)
{
    struct report report = {.options = options, .is_sum = true};
    int exit = report_sum_make(&report, paths, count, report_file);
    if (exit != TOOL_TROUBLE) {
        report.info = foreign_info(report.statistics);
        report_sort_tables(&report);
        report_sum_fill(options->sum, &report);
        exit = print(&report) ? exit : TOOL_TROUBLE;
        report_free_tables(&report);
    }
    report_sum_close(options->sum);
    return tool_finish(exit);
}

static int report_files(struct report_options *options, int argc, char **argv)
{
    int exit = TOOL_FINE;
    for (int i = optind; i < argc && !tool_output_failed(); i++) {
        if (i > optind && !options->json && !options->csv)
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
    bool is_data = options.json || options.csv;
    options.process_limit = options.limit != 0 ? options.limit : is_data ? SIZE_MAX : TEXT_PROCESS_LIMIT;
    if (options.limit == 0)
        options.limit = is_data ? SIZE_MAX : TEXT_LIMIT;
    if (!options.spans && !options.allocations)
        options.spans = options.allocations = true;
    options.by_stack |= options.leaks && !options.has_by;
    if (exit < 0 && options.is_sum)
        exit = report_together(&options, argv + optind, argc - optind);
    else if (exit < 0)
        exit = report_files(&options, argc, argv);
    group_free(&options.group);
    report_suppressions_free(&options.suppressions);
    table_keys_free(&options.sort);
    table_keys_free(&options.columns);
    tool_filter_close(&options.filter);
    return exit;
}

const struct tool_verb tool_verb_report = {
    .name = "report",
    .summary = "show where the time or the memory went",
    .help = help,
    .run = run,
};
