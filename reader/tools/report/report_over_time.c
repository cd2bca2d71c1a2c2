/*
 * Spans and counters over time: --over-time. For people a line of bars for each name; for programs, like memory over time, a
 * row for each name and part of the time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/shared/named.h"
#include "reader/tools/report/report.h"

#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH    40
#define LEVELS_WIDTH 60
#define NAME_MIN     16

/* ---- Columns ---- */

static struct table_value moment_at(const struct table *table, const void *of)
{
    const struct report *report = table->context;
    uint64_t tick = ((const struct report_moment *)of)->tick, first = report->info.first_tick;
    return table_value_of(tick > first ? tick - first : 0);
}

static struct table_value moment_name(const struct table *table, const void *of)
{
    const struct report_moment *row = of;
    (void)table;
    return (struct table_value){.text = row->name, .nbytes = row->name_nbytes};
}

static void moment_name_json(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct report_moment *row = of;
    report_json_name(json, table->context, row->id, row->name, row->name_nbytes);
}

#define GETTER(getter, value) TABLE_GETTER(getter, report_moment, value)

GETTER(memory_live, table_value_of(row->memory->live_nbytes))
GETTER(memory_peak, table_value_of(row->memory->peak_nbytes))
GETTER(memory_least, table_value_of(row->memory->least_nbytes))
GETTER(memory_mean, table_value_of(row->memory->mean_nbytes))
GETTER(memory_count, table_value_of(row->memory->count))
GETTER(span_count, table_value_of(row->spans->count))
GETTER(span_busy, table_value_of(row->spans->ticks))
GETTER(value_count, table_value_of(row->values->count))
GETTER(value_process, table_value_of(row->process))

static struct table_value value_if(const struct report_moment *row, double number)
{
    return (struct table_value){.is_unknown = row->values->count == 0, .number = number};
}
GETTER(value_min, value_if(row, row->values->min))
GETTER(value_mean, value_if(row, row->values->mean))
GETTER(value_max, value_if(row, row->values->max))

#define AT_COLUMN                                                                                            \
    {                                                                                                        \
        .key = "at", .field = "time", .unit = TABLE_TICKS, .get = moment_at                                  \
    }
#define NAME_COLUMN                                                                                          \
    {                                                                                                        \
        .key = "name", .unit = TABLE_TEXT, .get = moment_name, .json = moment_name_json                      \
    }

static const struct table_column memory_columns[] = {
    AT_COLUMN,
    {.key = "live", .field = "live_bytes", .unit = TABLE_BYTES, .get = memory_live},
    {.key = "peak", .field = "peak_bytes", .unit = TABLE_BYTES, .get = memory_peak},
    {.key = "least", .field = "least_bytes", .unit = TABLE_BYTES, .get = memory_least},
    {.key = "mean", .field = "mean_bytes", .unit = TABLE_BYTES, .get = memory_mean},
    {.key = "count", .unit = TABLE_COUNT, .get = memory_count},
};
static const struct table_column span_columns[] = {
    AT_COLUMN,
    {.key = "count", .unit = TABLE_COUNT, .get = span_count},
    {.key = "busy", .unit = TABLE_TICKS, .get = span_busy},
    NAME_COLUMN,
};
static const struct table_column counter_columns[] = {
    AT_COLUMN,
    {.key = "count", .unit = TABLE_COUNT, .get = value_count},
    {.key = "min", .unit = TABLE_NUMBER, .get = value_min},
    {.key = "mean", .field = "mean_value", .unit = TABLE_NUMBER, .get = value_mean},
    {.key = "max", .unit = TABLE_NUMBER, .get = value_max},
    {.key = "process", .unit = TABLE_COUNT, .get = value_process},
    NAME_COLUMN,
};

#define COLUMNS(array) .columns = (array), .column_count = sizeof(array) / sizeof(array)[0]
#define AT(table)      [(table)-REPORT_MOMENTS]

const struct table report_moment_tables[REPORT_LABELS - REPORT_MOMENTS] = {
    AT(REPORT_MOMENTS) = {.key = "moments",
                          COLUMNS(memory_columns),
                          .data_columns = "at,least,mean,peak,live,count"},
    AT(REPORT_BUSY_MOMENTS) = {.key = "busy_moments", COLUMNS(span_columns), .data_columns = "at,count,busy"},
    AT(REPORT_SPAN_MOMENTS) = {.key = "span_moments",
                               COLUMNS(span_columns),
                               .data_columns = "name,at,count,busy"},
    AT(REPORT_COUNTER_MOMENTS) = {.key = "counter_moments",
                                  COLUMNS(counter_columns),
                                  .data_columns = "name,process,at,count,min,mean,max"},
};

/* ---- Rows ---- */

/* The timeline's row of a name; its rows are sorted. NULL: it has none. */
static const struct tbed_timeline_row *find_row(const struct tbed_timeline *timeline, const char *name,
                                                size_t nbytes)
{
    const struct tbed_timeline_row *row;
    size_t low = 0, high = 0;
    while (tbed_timeline_span(timeline, high) != NULL)
        high = high * 2 + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        row = tbed_timeline_span(timeline, middle);
        if (row != NULL && tbed_text_order(row->name, row->name_nbytes, name, nbytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    row = tbed_timeline_span(timeline, low);
    return row != NULL && tbed_text_order(row->name, row->name_nbytes, name, nbytes) == 0 ? row : NULL;
}

static bool is_named(const struct tbed_timeline_counter *counter, const char *name, size_t nbytes)
{
    return counter != NULL && tbed_text_order(counter->name, counter->name_nbytes, name, nbytes) == 0;
}

/* The first counter of this name; those of other processes follow. Their number if there is none. */
static size_t find_counter(const struct tbed_timeline *timeline, const char *name, size_t nbytes)
{
    size_t at = 0;
    const struct tbed_timeline_counter *counter;
    while ((counter = tbed_timeline_counter_get(timeline, at)) != NULL && !is_named(counter, name, nbytes))
        at++;
    return at;
}

static size_t counter_count(const struct tbed_timeline *timeline)
{
    size_t count = 0;
    while (timeline != NULL && tbed_timeline_counter_get(timeline, count) != NULL)
        count++;
    return count;
}

struct collector {
    struct report *report;
    struct report_moment *next;
};

static void add(struct collector *collector, enum report_table table, const struct report_moment *moment)
{
    struct table *to = &collector->report->tables[table];
    *collector->next = *moment;
    if ((to->count & (to->count - 1)) == 0) /* a power of two: it is full */
        to->rows = tool_realloc(to->rows, (2 * to->count + 1) * sizeof *to->rows);
    to->rows[to->count++] = collector->next++;
    to->shown = to->count;
}

static void collect_memory(struct collector *collector)
{
    const struct tbed_allocation_moment *memory;
    const struct tbed_allocations *allocations = collector->report->allocations;
    for (size_t i = 0; allocations != NULL && (memory = tbed_allocations_moment(allocations, i)) != NULL; i++)
        add(collector, REPORT_MOMENTS,
            &(struct report_moment){.part = i, .tick = memory->tick, .memory = memory});
}

static void collect_spans(struct collector *collector, const struct tbed_timeline *timeline)
{
    size_t part_count = tbed_timeline_part_count(timeline);
    const struct table *spans = &collector->report->tables[REPORT_SPANS];
    struct report_moment moment = {.name = "", .id = TBED_ID_INVALID};
    for (moment.part = 0; moment.part < part_count; moment.part++) {
        moment.tick = tbed_timeline_tick(timeline, moment.part);
        moment.spans = &tbed_timeline_all(timeline)[moment.part];
        add(collector, REPORT_BUSY_MOMENTS, &moment);
    }
    for (size_t i = 0; i < spans->shown; i++) {
        const struct tbed_span_row *row = spans->rows[i];
        const struct tbed_timeline_row *found = find_row(timeline, row->name, row->name_nbytes);
        for (size_t part = 0; found != NULL && part < part_count; part++)
            add(collector, REPORT_SPAN_MOMENTS,
                &(struct report_moment){.name = found->name,
                                        .name_nbytes = found->name_nbytes,
                                        .id = row->id,
                                        .part = part,
                                        .tick = tbed_timeline_tick(timeline, part),
                                        .spans = &found->parts[part]});
    }
}

static void collect_counters(struct collector *collector, const struct tbed_timeline *timeline)
{
    size_t part_count = tbed_timeline_part_count(timeline);
    const struct table *counters = &collector->report->tables[REPORT_COUNTERS];
    for (size_t i = 0; i < counters->shown; i++) {
        const struct tbed_counter_row *row = counters->rows[i];
        const struct tbed_timeline_counter *found;
        for (size_t at = find_counter(timeline, row->name, row->name_nbytes);
             is_named(found = tbed_timeline_counter_get(timeline, at), row->name, row->name_nbytes); at++)
            for (size_t part = 0; part < part_count; part++)
                add(collector, REPORT_COUNTER_MOMENTS,
                    &(struct report_moment){.name = found->name,
                                            .name_nbytes = found->name_nbytes,
                                            .id = row->id,
                                            .process = found->process,
                                            .part = part,
                                            .tick = tbed_timeline_tick(timeline, part),
                                            .values = &found->parts[part]});
    }
}

void report_collect_moments(struct report *report)
{
    size_t names = 2 + report->tables[REPORT_SPANS].shown + counter_count(report->timeline);
    size_t part_count = report->options->moment_count;
    if (part_count == 0)
        return;
    report->moments = tool_realloc(NULL, names * part_count * sizeof *report->moments);
    struct collector collector = {report, report->moments};
    collect_memory(&collector);
    if (report->timeline == NULL)
        return;
    collect_spans(&collector, report->timeline);
    collect_counters(&collector, report->timeline);
}

/* ---- Text ---- */

static const char *format_ticks(const struct report *report, char buffer[32], uint64_t ticks)
{
    if (report->info.clock == TBED_CLOCK_USER)
        return tool_format_count(buffer, ticks);
    return tool_format_time(buffer, tbed_tick_span_to_ns(report->reader, ticks), report->clock.resolution_ns);
}

static const struct report_moment *moment(const struct table *table, size_t index)
{
    return table->rows[index];
}

/* How many threads are in a span, on average. */
static double threads_of(const struct report *report, const struct report_moment *row)
{
    uint64_t end = tbed_timeline_tick(report->timeline, row->part + 1);
    return end > row->tick ? (double)row->spans->ticks / (double)(end - row->tick) : 0;
}

static void put_busy(const struct report *report)
{
    const struct table *table = &report->tables[REPORT_BUSY_MOMENTS];
    char from[32], count[32], busy[32];
    double most = 0;
    for (size_t i = 0; i < table->count; i++)
        most = threads_of(report, moment(table, i)) > most ? threads_of(report, moment(table, i)) : most;
    printf("\n%s%11s%11s%11s%11s  threads in spans%s\n", tool_bold(), "from", "spans", "busy", "threads",
           tool_plain());
    for (size_t i = 0; i < table->count && !tool_output_failed(); i++) {
        const struct report_moment *row = moment(table, i);
        double threads = threads_of(report, row);
        printf("%11s%11s%11s%11.2f  ", format_ticks(report, from, row->tick - report->info.first_tick),
               tool_format_count(count, row->spans->count), format_ticks(report, busy, row->spans->ticks),
               threads);
        table_put_bar(most > 0 ? threads / most : 0, BAR_WIDTH);
        putchar('\n');
    }
}

static void put_levels_heading(const char *first, const char *second, size_t part_count, const char *what)
{
    size_t width = part_count < LEVELS_WIDTH ? part_count : LEVELS_WIDTH;
    printf("\n%s%11s%11s  %-*s  %s%s\n", tool_bold(), first, second, (int)width, "over time", what,
           tool_plain());
}

/* As far as it fits on the terminal. */
static void put_level_name(size_t part_count, const char *name, size_t nbytes)
{
    size_t used = 26 + (part_count < LEVELS_WIDTH ? part_count : LEVELS_WIDTH), all = tool_terminal_width();
    fputs("  ", stdout);
    tool_print_middle(stdout, name, nbytes, all == 0 ? 0 : all > used + NAME_MIN ? all - used : NAME_MIN);
    putchar('\n');
}

/* The time of each label, as a part of its most. */
static void put_spans(const struct report *report, double *levels, size_t part_count)
{
    const struct table *table = &report->tables[REPORT_SPAN_MOMENTS], *spans = &report->tables[REPORT_SPANS];
    char total[32], count[32];
    put_levels_heading("total", "count", part_count, "span");
    for (size_t i = 0; (i + 1) * part_count <= table->count && i < spans->shown && !tool_output_failed();
         i++) {
        const struct tbed_span_row *row = spans->rows[i];
        uint64_t most = 1;
        for (size_t k = 0; k < part_count; k++) {
            uint64_t ticks = moment(table, i * part_count + k)->spans->ticks;
            most = ticks > most ? ticks : most;
        }
        for (size_t k = 0; k < part_count; k++)
            levels[k] = (double)moment(table, i * part_count + k)->spans->ticks / (double)most;
        printf("%11s%11s  ", format_ticks(report, total, row->total_ticks),
               tool_format_count(count, row->count));
        table_put_levels(levels, part_count, LEVELS_WIDTH);
        put_level_name(part_count, row->name, row->name_nbytes);
    }
}

/* The process, where others have a counter of this name, too. */
static void append_process(const struct report *report, uint32_t process, struct tool_buffer *name)
{
    struct tbed_process_info info;
    char pid[32];
    for (size_t i = 0; tbed_process_get(report->reader, i, &info); i++) {
        if (info.stream != process)
            continue;
        tool_append(name, ", ", 2);
        if (info.name_id != TBED_ID_INVALID)
            tool_append_name(name, report->reader, info.name_id);
        tool_append(name, pid, (size_t)snprintf(pid, sizeof pid, " (%u)", info.pid));
    }
}

static bool is_of_several(const struct table *table, size_t part_count, size_t at)
{
    uint32_t id = moment(table, at)->id;
    return (at > 0 && moment(table, at - 1)->id == id) ||
           (at + part_count < table->count && moment(table, at + part_count)->id == id);
}

/* The mean of each part between the counter's minimum and maximum; parts without a value are empty. */
static void put_counter(const struct report *report, size_t at, double *levels, size_t part_count)
{
    const struct table *table = &report->tables[REPORT_COUNTER_MOMENTS];
    const struct report_moment *row = moment(table, at);
    struct tool_buffer name = {0};
    bool has_value = false;
    double min = 0, max = 0;
    for (size_t k = 0; k < part_count; k++) {
        const struct tbed_timeline_values *values = moment(table, at + k)->values;
        if (values->count > 0 && (!has_value || values->min < min))
            min = values->min;
        if (values->count > 0 && (!has_value || values->max > max))
            max = values->max;
        has_value |= values->count > 0;
    }
    for (size_t k = 0; k < part_count; k++) {
        const struct tbed_timeline_values *values = moment(table, at + k)->values;
        double height = max > min ? (values->mean - min) / (max - min) : 0.5;
        levels[k] = values->count > 0 ? 0.001 + 0.999 * height : 0;
    }
    tool_append(&name, row->name, row->name_nbytes);
    if (is_of_several(table, part_count, at))
        append_process(report, row->process, &name);
    printf("%11.6g %10.6g  ", min, max);
    table_put_levels(levels, part_count, LEVELS_WIDTH);
    put_level_name(part_count, name.bytes, name.nbytes);
    free(name.bytes);
}

static void put_counters(const struct report *report, double *levels, size_t part_count)
{
    const struct table *table = &report->tables[REPORT_COUNTER_MOMENTS];
    if (table->count > 0)
        put_levels_heading("min", "max", part_count, "counter");
    for (size_t at = 0; at + part_count <= table->count && !tool_output_failed(); at += part_count)
        put_counter(report, at, levels, part_count);
}

void report_over_time_text(const struct report *report)
{
    if (report->timeline == NULL)
        return;
    size_t part_count = tbed_timeline_part_count(report->timeline);
    double *levels = tool_realloc(NULL, part_count * sizeof *levels);
    if (report->tables[REPORT_SPANS].count > 0) {
        put_busy(report);
        put_spans(report, levels, part_count);
    }
    put_counters(report, levels, part_count);
    free(levels);
}
