/*
 * The tables of a report: what their columns are called, and where their values come from.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/report/report.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct report *report_of(const struct table *table)
{
    return table->context;
}

/* A figure that a row without spans does not have. */
static struct table_value whole_if(bool is_known, uint64_t value)
{
    return (struct table_value){.is_unknown = !is_known, .number = (double)value, .whole = value};
}

static struct table_value share(double part, double of)
{
    return (struct table_value){.number = of > 0 ? 100 * part / of : 0};
}

/* A getter of the name, and what JSON has of it. */
#define NAMED(getter, type)                                                                                  \
    TABLE_GETTER(getter, type, table_text_of(row->name, row->name_nbytes))                                   \
    static void getter##_json(struct tbed_json *json, const struct table *table, const void *of)             \
    {                                                                                                        \
        const struct type *row = of;                                                                         \
        report_json_name(json, report_of(table), row->id, row->name, row->name_nbytes);                      \
    }

/* ---- Spans ---- */

NAMED(span_name, tbed_span_row)
TABLE_GETTER(span_count, tbed_span_row, table_value_of(row->count))
TABLE_GETTER(span_total, tbed_span_row, table_value_of(row->total_ticks))
TABLE_GETTER(span_self, tbed_span_row, table_value_of(row->self_ticks))
TABLE_GETTER(span_min, tbed_span_row, whole_if(row->count > 0, row->min_ticks))
TABLE_GETTER(span_p50, tbed_span_row, whole_if(row->count > 0, row->p50_ticks))
TABLE_GETTER(span_p90, tbed_span_row, whole_if(row->count > 0, row->p90_ticks))
TABLE_GETTER(span_p99, tbed_span_row, whole_if(row->count > 0, row->p99_ticks))
TABLE_GETTER(span_p999, tbed_span_row, whole_if(row->count > 0, row->p999_ticks))
TABLE_GETTER(span_max, tbed_span_row, whole_if(row->count > 0, row->max_ticks))
TABLE_GETTER(span_open, tbed_span_row, table_value_of(row->open_count))
TABLE_GETTER(span_unknown, tbed_span_row, table_value_of(row->unknown_count))
TABLE_GETTER(span_off_cpu, tbed_span_row, table_value_of(row->off_cpu_ticks))
TABLE_GETTER(span_time, tbed_span_row, table_value_of(row->time_ticks))
TABLE_GETTER(span_invocations, tbed_span_row, table_value_of(row->invocation_count))
TABLE_GETTER(span_misses, tbed_span_row, table_value_of(row->cache_misses))
TABLE_GETTER(span_hits, tbed_span_row, table_value_of(row->cache_hits))
TABLE_GETTER(span_blocked, tbed_span_row, table_value_of(row->blocked_ticks))
TABLE_GETTER(span_load, tbed_span_row, table_value_of(row->load_ticks))
TABLE_GETTER(span_hashing, tbed_span_row, table_value_of(row->hashing_ticks))

static struct table_value span_mean(const struct table *table, const void *of)
{
    const struct tbed_span_row *row = of;
    (void)table;
    if (row->count == 0)
        return (struct table_value){.is_unknown = true};
    return (struct table_value){.number = (double)row->total_ticks / (double)row->count,
                                .whole = row->total_ticks / row->count};
}

/* Of the time that the rows above account for together; for profiles, of the time of all threads. */
static struct table_value span_share(const struct table *table, const void *of)
{
    const struct report *report = report_of(table);
    const struct tbed_span_row *row = of;
    return share((double)row->self_ticks,
                 (double)(report->is_profile ? report->totals.span_ticks : report->self_ticks));
}

/* Of the time that a row stands for, since the start of the trace. */
static struct table_value start_of(const struct table *table, uint64_t part)
{
    const struct report *report = report_of(table);
    return whole_if(report->options->key == TBED_BY_TIME, part * report->period_ticks);
}

static struct table_value span_start(const struct table *table, const void *of)
{
    return start_of(table, ((const struct tbed_span_row *)of)->part);
}

#define SPAN_FIGURES                                                                                         \
    {.key = "total", .unit = TABLE_TICKS, .get = span_total},                                                \
        {.key = "count", .unit = TABLE_COUNT, .get = span_count},                                            \
        {.key = "min", .unit = TABLE_DURATION, .get = span_min},                                             \
        {.key = "mean", .unit = TABLE_TICKS, .get = span_mean},                                              \
        {.key = "p50", .unit = TABLE_DURATION, .get = span_p50},                                             \
        {.key = "p90", .unit = TABLE_DURATION, .get = span_p90},                                             \
        {.key = "p99", .unit = TABLE_DURATION, .get = span_p99},                                             \
        {.key = "p999", .unit = TABLE_DURATION, .get = span_p999},                                           \
        {.key = "max", .unit = TABLE_DURATION, .get = span_max},                                             \
        {.key = "open", .field = "never_ended_count", .unit = TABLE_COUNT, .get = span_open},                \
    {                                                                                                        \
        .key = "unknown", .field = "unknown_begin_count", .unit = TABLE_COUNT, .get = span_unknown           \
    }

#define SPAN_DATA "name,count,total,self,min,mean,p50,p90,p99,p999,max,open,unknown"

static const struct table_column span_columns[] = {
    {.key = "self", .unit = TABLE_TICKS, .get = span_self},
    SPAN_FIGURES,
    {.key = "name",
     .title = "span",
     .unit = TABLE_TEXT,
     .is_in_order = true,
     .get = span_name,
     .json = span_name_json},
    {.key = "share", .field = "self_percent", .title = "self %", .unit = TABLE_PERCENT, .get = span_share},
    {.key = "start", .unit = TABLE_TICKS, .get = span_start},
    {.key = "off_cpu", .title = "off CPU", .unit = TABLE_TICKS, .get = span_off_cpu},
    {.key = "time", .unit = TABLE_TICKS, .get = span_time},
    {.key = "invocations", .unit = TABLE_COUNT, .get = span_invocations},
    {.key = "misses", .field = "cache_misses", .unit = TABLE_COUNT, .get = span_misses},
    {.key = "hits", .field = "cache_hits", .unit = TABLE_COUNT, .get = span_hits},
    {.key = "blocked", .unit = TABLE_TICKS, .get = span_blocked},
    {.key = "load", .field = "incremental_load", .unit = TABLE_TICKS, .get = span_load},
    {.key = "hashing", .field = "incremental_hashing", .unit = TABLE_TICKS, .get = span_hashing},
};

/* Asynchronous spans have no time of their own. */
static const struct table_column async_columns[] = {
    SPAN_FIGURES,
    {.key = "name",
     .title = "asynchronous span",
     .unit = TABLE_TEXT,
     .is_in_order = true,
     .get = span_name,
     .json = span_name_json},
    {.key = "self", .unit = TABLE_TICKS, .get = span_self},
};

/* The columns of measureme's summarize, for the order of its table. */
static const struct table_column label_columns[] = {
    {.key = "self", .unit = TABLE_TICKS, .get = span_self},
    {.key = "total", .unit = TABLE_TICKS, .get = span_time},
    {.key = "count", .unit = TABLE_COUNT, .get = span_invocations},
    {.key = "min", .unit = TABLE_DURATION, .get = span_min},
    {.key = "mean", .unit = TABLE_TICKS, .get = span_mean},
    {.key = "p50", .unit = TABLE_DURATION, .get = span_p50},
    {.key = "p90", .unit = TABLE_DURATION, .get = span_p90},
    {.key = "p99", .unit = TABLE_DURATION, .get = span_p99},
    {.key = "p999", .unit = TABLE_DURATION, .get = span_p999},
    {.key = "max", .unit = TABLE_DURATION, .get = span_max},
    {.key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = span_name},
    {.key = "share", .unit = TABLE_TICKS, .get = span_self},
    {.key = "time", .unit = TABLE_TICKS, .get = span_time},
    {.key = "invocations", .unit = TABLE_COUNT, .get = span_invocations},
    {.key = "misses", .unit = TABLE_COUNT, .get = span_misses},
    {.key = "hits", .unit = TABLE_COUNT, .get = span_hits},
    {.key = "blocked", .unit = TABLE_TICKS, .get = span_blocked},
    {.key = "load", .unit = TABLE_TICKS, .get = span_load},
    {.key = "hashing", .unit = TABLE_TICKS, .get = span_hashing},
};

static void note(struct tool_buffer *notes, uint64_t count, const char *what)
{
    char figure[32], line[96];
    if (count == 0)
        return;
    int nbytes = snprintf(line, sizeof line, "%s%s %s", notes->nbytes == 0 ? "  [" : ", ",
                          tool_format_count(figure, count), what);
    tool_append(notes, line, (size_t)nbytes);
}

static void end_notes(struct tool_buffer *notes)
{
    if (notes->nbytes > 0)
        tool_append(notes, "]", 1);
}

static void span_notes(const struct table *table, const void *of, struct tool_buffer *notes)
{
    const struct tbed_span_row *row = of;
    (void)table;
    note(notes, row->open_count, "never ended");
    note(notes, row->unknown_count, "with an unknown begin");
    end_notes(notes);
}

/* ---- Instants, counters, messages ---- */

NAMED(instant_name, tbed_instant_row)
TABLE_GETTER(instant_count, tbed_instant_row, table_value_of(row->count))

static struct table_value instant_start(const struct table *table, const void *of)
{
    return start_of(table, ((const struct tbed_instant_row *)of)->part);
}

static const struct table_column instant_columns[] = {
    {.key = "start", .unit = TABLE_TICKS, .get = instant_start},
    {.key = "count", .unit = TABLE_COUNT, .get = instant_count},
    {.key = "name",
     .title = "instant",
     .unit = TABLE_TEXT,
     .is_in_order = true,
     .get = instant_name,
     .json = instant_name_json},
};

NAMED(counter_name, tbed_counter_row)
TABLE_GETTER(counter_count, tbed_counter_row, table_value_of(row->count))
TABLE_GETTER(counter_last, tbed_counter_row, (struct table_value){.number = row->last})
TABLE_GETTER(counter_min, tbed_counter_row, (struct table_value){.number = row->min})
TABLE_GETTER(counter_max, tbed_counter_row, (struct table_value){.number = row->max})

static uint32_t unit_id(const struct report *report, uint32_t id)
{
    return report->reader != NULL ? tbed_counter_unit(report->reader, id) : TBED_ID_INVALID;
}

static struct table_value counter_unit(const struct table *table, const void *of)
{
    const struct report *report = report_of(table);
    uint32_t id = unit_id(report, ((const struct tbed_counter_row *)of)->id);
    struct tbed_name name;
    if (id == TBED_ID_INVALID || tbed_name_get(report->reader, id, &name) != TBED_OK)
        return (struct table_value){.is_unknown = true};
    return table_text_of(name.text, name.nbytes);
}

/* With its unit. */
static void show_counter(const struct table *table, const void *of, struct tool_buffer *shown)
{
    const struct tbed_counter_row *row = of;
    uint32_t unit = unit_id(report_of(table), row->id);
    tool_append(shown, row->name, row->name_nbytes);
    if (unit == TBED_ID_INVALID)
        return;
    tool_append(shown, ", ", 2);
    tool_append_name(shown, report_of(table)->reader, unit);
}

#define COUNTER_WIDTH 16 /* for 999,999,999,999 */

static const struct table_column counter_columns[] = {
    {.key = "last", .unit = TABLE_NUMBER, .width = COUNTER_WIDTH, .get = counter_last},
    {.key = "min", .unit = TABLE_NUMBER, .width = COUNTER_WIDTH, .get = counter_min},
    {.key = "max", .unit = TABLE_NUMBER, .width = COUNTER_WIDTH, .get = counter_max},
    {.key = "count", .unit = TABLE_COUNT, .get = counter_count},
    {.key = "name",
     .title = "counter",
     .unit = TABLE_TEXT,
     .is_in_order = true,
     .get = counter_name,
     .show = show_counter,
     .json = counter_name_json},
    {.key = "unit", .unit = TABLE_TEXT, .get = counter_unit},
};

NAMED(message_name, tbed_message_row)
TABLE_GETTER(message_count, tbed_message_row, table_value_of(row->count))
TABLE_GETTER(message_errors, tbed_message_row, table_value_of(row->severity_counts[TBED_SEVERITY_ERROR]))
TABLE_GETTER(message_warnings, tbed_message_row, table_value_of(row->severity_counts[TBED_SEVERITY_WARNING]))

/* The context of a message's format is shown as in the message. */
static void show_message(const struct table *table, const void *of, struct tool_buffer *shown)
{
    const struct tbed_message_row *row = of;
    const char *unit = memchr(row->name, '\x1e', row->name_nbytes);
    size_t context = unit != NULL ? (size_t)(unit - row->name) : 0;
    (void)table;
    if (context > 0) {
        tool_append(shown, row->name, context);
        tool_append(shown, " : ", 3);
    }
    context += unit != NULL;
    tool_append(shown, row->name + context, row->name_nbytes - context);
}

static const struct table_column message_columns[] = {
    {.key = "count", .unit = TABLE_COUNT, .get = message_count},
    {.key = "errors", .field = "error_count", .unit = TABLE_COUNT, .get = message_errors},
    {.key = "warnings", .field = "warning_count", .unit = TABLE_COUNT, .get = message_warnings},
    {.key = "name",
     .title = "message",
     .unit = TABLE_TEXT,
     .is_in_order = true,
     .get = message_name,
     .show = show_message,
     .json = message_name_json},
};

/* ---- Artifacts ---- */

TABLE_GETTER(artifact_name, tbed_artifact_row, table_text_of(row->name, row->name_nbytes))
TABLE_GETTER(artifact_count, tbed_artifact_row, table_value_of(row->count))
TABLE_GETTER(artifact_bytes, tbed_artifact_row, table_value_of(row->value))

static const struct table_column artifact_columns[] = {
    {.key = "bytes", .unit = TABLE_BYTES, .get = artifact_bytes},
    {.key = "count", .unit = TABLE_COUNT, .get = artifact_count},
    {.key = "name", .title = "artifact", .unit = TABLE_TEXT, .is_in_order = true, .get = artifact_name},
};

/* ---- Allocations ---- */

#define SUMS(prefix, type)                                                                                   \
    TABLE_GETTER(prefix##_count, type, table_value_of(row->sums.count))                                      \
    TABLE_GETTER(prefix##_bytes, type, table_value_of(row->sums.nbytes))                                     \
    TABLE_GETTER(prefix##_freed, type, table_value_of(row->sums.freed_count))                                \
    TABLE_GETTER(prefix##_temporary, type, table_value_of(row->sums.temporary_count))                        \
    TABLE_GETTER(prefix##_replaced, type, table_value_of(row->sums.replaced_count))                          \
    TABLE_GETTER(prefix##_failed, type, table_value_of(row->sums.failed_count))                              \
    TABLE_GETTER(prefix##_live_count, type, table_value_of(row->sums.live_count))                            \
    TABLE_GETTER(prefix##_live, type, table_value_of(row->sums.live_nbytes))                                 \
    TABLE_GETTER(prefix##_peak, type, table_value_of(row->sums.peak_nbytes))

#define SUM_COLUMNS(prefix, peak_title)                                                                      \
    {.key = "bytes", .unit = TABLE_BYTES, .get = prefix##_bytes},                                            \
        {.key = "peak",                                                                                      \
         .field = "peak_bytes",                                                                              \
         .title = (peak_title),                                                                              \
         .unit = TABLE_BYTES,                                                                                \
         .get = prefix##_peak},                                                                              \
        {.key = "live", .field = "live_bytes", .unit = TABLE_BYTES, .get = prefix##_live},                   \
        {.key = "freed", .field = "freed_count", .unit = TABLE_COUNT, .get = prefix##_freed},                \
        {.key = "temporary", .field = "temporary_count", .unit = TABLE_COUNT, .get = prefix##_temporary},    \
        {.key = "count", .unit = TABLE_COUNT, .get = prefix##_count},                                        \
        {.key = "live_count", .title = "live count", .unit = TABLE_COUNT, .get = prefix##_live_count},       \
        {.key = "replaced", .field = "replaced_count", .unit = TABLE_COUNT, .get = prefix##_replaced},       \
    {                                                                                                        \
        .key = "failed", .field = "failed_count", .unit = TABLE_COUNT, .get = prefix##_failed                \
    }

#define SUM_DATA      "count,bytes,freed,temporary,replaced,failed,live_count,live,peak"
#define LIFETIME_DATA ",lifetime,lifetime_p50,lifetime_p99,lifetime_max"

SUMS(process, tbed_allocation_process)
TABLE_GETTER(process_number, tbed_allocation_process, table_value_of(row->process))
TABLE_GETTER(process_pid, tbed_allocation_process, table_value_of(row->pid))
TABLE_GETTER(process_parent, tbed_allocation_process, table_value_of(row->forked_from))
TABLE_GETTER(process_inherited, tbed_allocation_process, table_value_of(row->inherited_free_count))
TABLE_GETTER(process_unknown, tbed_allocation_process, table_value_of(row->unknown_free_count))
TABLE_GETTER(process_null, tbed_allocation_process, table_value_of(row->null_free_count))
TABLE_GETTER(process_events, tbed_allocation_process, table_value_of(row->event_count))

static struct table_value process_name(const struct table *table, const void *of)
{
    const struct tbed_allocation_process *row = of;
    struct tbed_name name;
    if (row->name_id == TBED_ID_INVALID ||
        tbed_name_get(report_of(table)->reader, row->name_id, &name) != TBED_OK)
        return (struct table_value){.is_unknown = true, .text = ""};
    return table_text_of(name.text, name.nbytes);
}

static void process_name_json(struct tbed_json *json, const struct table *table, const void *of)
{
    tool_json_name(json, "name", report_of(table)->reader,
                   ((const struct tbed_allocation_process *)of)->name_id);
}

/* With its pid. */
static void show_process(const struct table *table, const void *of, struct tool_buffer *shown)
{
    const struct tbed_allocation_process *row = of;
    char pid[32];
    size_t before = shown->nbytes;
    if (row->name_id != TBED_ID_INVALID)
        tool_append_name(shown, report_of(table)->reader, row->name_id);
    if (shown->nbytes == before)
        tool_append(shown, "unknown", strlen("unknown"));
    if (row->pid != 0)
        tool_append(shown, pid, (size_t)snprintf(pid, sizeof pid, " (%u)", row->pid));
}

/* Since the start of the trace. */
static struct table_value process_peak_at(const struct table *table, const void *of)
{
    const struct tbed_allocation_process *row = of;
    bool has_peak = row->sums.peak_nbytes != 0 && row->event_count != 0; /* the row of all has none */
    return whole_if(has_peak, has_peak ? row->peak_tick - report_of(table)->info.first_tick : 0);
}

/* The pid of a process; 0: unknown. */
static uint32_t pid_of(const struct report *report, uint32_t process)
{
    struct tbed_process_info info;
    for (size_t i = 0; tbed_process_get(report->reader, i, &info); i++)
        if (info.stream == process)
            return info.pid;
    return 0;
}

/* Anything unusual; counts of 0 are not mentioned. */
static void process_notes(const struct table *table, const void *of, struct tool_buffer *notes)
{
    const struct tbed_allocation_process *row = of;
    char line[48];
    if (row->forked_from != 0) {
        uint32_t pid = pid_of(report_of(table), row->forked_from);
        int nbytes = snprintf(line, sizeof line, pid != 0 ? "  [forked from %u" : "  [forked", pid);
        tool_append(notes, line, (size_t)nbytes);
    }
    note(notes, row->sums.failed_count, "failed");
    note(notes, row->unknown_free_count, "freed that were not seen to be allocated");
    note(notes, row->sums.replaced_count, "replaced with no free seen");
    if (row->peak_resident_nbytes > 0) {
        char size[32];
        int nbytes = snprintf(line, sizeof line, "%sat most %s resident", notes->nbytes == 0 ? "  [" : ", ",
                              tool_format_bytes(size, (double)row->peak_resident_nbytes));
        tool_append(notes, line, (size_t)nbytes);
    }
    end_notes(notes);
}

static struct table_value process_peak_resident(const struct table *table, const void *of)
{
    const struct tbed_allocation_process *row = of;
    (void)table;
    return whole_if(row->peak_resident_nbytes != 0, row->peak_resident_nbytes);
}

static const struct table_column process_columns[] = {
    SUM_COLUMNS(process, NULL),
    {.key = "peak_at", .field = "peak_time", .title = "peak at", .unit = TABLE_TICKS, .get = process_peak_at},
    {.key = "name",
     .title = "process",
     .unit = TABLE_TEXT,
     .get = process_name,
     .show = show_process,
     .json = process_name_json},
    {.key = "peak_resident",
     .field = "peak_resident_bytes",
     .title = "resident",
     .unit = TABLE_BYTES,
     .get = process_peak_resident},
    {.key = "process", .title = "number", .unit = TABLE_COUNT, .get = process_number},
    {.key = "forked_from", .title = "forked", .unit = TABLE_COUNT, .get = process_parent},
    {.key = "pid", .unit = TABLE_COUNT, .get = process_pid},
    {.key = "inherited_frees",
     .field = "inherited_free_count",
     .title = "inherited",
     .unit = TABLE_COUNT,
     .get = process_inherited},
    {.key = "unknown_frees",
     .field = "unknown_free_count",
     .title = "unknown",
     .unit = TABLE_COUNT,
     .get = process_unknown},
    {.key = "null_frees",
     .field = "null_free_count",
     .title = "null frees",
     .unit = TABLE_COUNT,
     .get = process_null},
    {.key = "events", .field = "event_count", .unit = TABLE_COUNT, .get = process_events},
};

SUMS(site, tbed_allocation_site)

/* A stack is named when it is shown. */
static struct table_value site_name(const struct table *table, const void *of)
{
    struct report *report = (struct report *)table->context;
    struct tbed_name name = report_site_name(report, of, &report->stack);
    return table_text_of(name.text, name.nbytes);
}

static void site_name_json(struct tbed_json *json, const struct table *table, const void *of)
{
    struct table_value name = site_name(table, of);
    report_json_name(json, report_of(table), ((const struct tbed_allocation_site *)of)->id, name.text,
                     name.nbytes);
}

/* The library's name has only bytes. */
static void show_site(const struct table *table, const void *of, struct tool_buffer *shown)
{
    const struct tbed_allocation_site *row = of;
    char least[32], most[32];
    if (!report_of(table)->options->by_size) {
        struct table_value name = site_name(table, of);
        tool_append(shown, name.text, name.nbytes);
        return;
    }
    tool_format_bytes(least, (double)(row->least_nbytes < 1024 ? row->least_nbytes : row->least_nbytes - 1));
    tool_format_bytes(most, (double)row->most_nbytes);
    tool_append(shown, least, strlen(least));
    if (row->most_nbytes == 0)
        return;
    tool_append(shown, " to ", 4);
    tool_append(shown, most, strlen(most));
}

TABLE_GETTER(site_least, tbed_allocation_site, table_value_of(row->least_nbytes))
TABLE_GETTER(site_most, tbed_allocation_site, table_value_of(row->most_nbytes))

/* The lifetimes of freed blocks. */
#define LIFETIME(getter, value)                                                                              \
    TABLE_GETTER(getter, tbed_allocation_site, whole_if(row->sums.freed_count > 0, value))
LIFETIME(site_lifetime, row->lifetime_ticks / (row->sums.freed_count + (row->sums.freed_count == 0)))
LIFETIME(site_lifetime_p50, row->lifetime_p50_ticks)
LIFETIME(site_lifetime_p99, row->lifetime_p99_ticks)
LIFETIME(site_lifetime_max, row->lifetime_max_ticks)

static struct table_value site_share(const struct table *table, const void *of)
{
    const struct tbed_allocation_site *row = of;
    return share((double)row->sums.peak_nbytes, (double)report_of(table)->sums.peak_nbytes);
}

static void site_notes(const struct table *table, const void *of, struct tool_buffer *notes)
{
    (void)table;
    note(notes, ((const struct tbed_allocation_site *)of)->sums.failed_count, "failed");
    end_notes(notes);
}

TABLE_GETTER(site_retained, tbed_allocation_site, table_value_of(row->retained_nbytes))
TABLE_GETTER(site_retained_count, tbed_allocation_site, table_value_of(row->retained_count))
TABLE_GETTER(site_generation, tbed_allocation_site,
             whole_if(row->retained_count > 0, row->retained_generation))

static const struct table_column site_columns[] = {
    SUM_COLUMNS(site, "at peak"),
    {.key = "name",
     .unit = TABLE_TEXT,
     .is_in_order = true,
     .get = site_name,
     .show = show_site,
     .json = site_name_json},
    {.key = "share", .field = "peak_percent", .title = "peak %", .unit = TABLE_PERCENT, .get = site_share},
    {.key = "least", .field = "least_bytes", .unit = TABLE_BYTES, .get = site_least},
    {.key = "most", .field = "most_bytes", .unit = TABLE_BYTES, .get = site_most},
    {.key = "lifetime",
     .field = "lifetime_mean",
     .title = "lived",
     .unit = TABLE_TICKS,
     .get = site_lifetime},
    {.key = "lifetime_p50", .title = "p50", .unit = TABLE_DURATION, .get = site_lifetime_p50},
    {.key = "lifetime_p99", .title = "p99", .unit = TABLE_DURATION, .get = site_lifetime_p99},
    {.key = "lifetime_max", .title = "max", .unit = TABLE_DURATION, .get = site_lifetime_max},
    {.key = "retained", .field = "retained_bytes", .unit = TABLE_BYTES, .get = site_retained},
    {.key = "retained_count", .title = "objects", .unit = TABLE_COUNT, .get = site_retained_count},
    {.key = "generation", .unit = TABLE_COUNT, .get = site_generation},
};

/* ---- Leaks ---- */

TABLE_GETTER(leak_bytes, tbed_allocation_site, table_value_of(row->leak_nbytes))
TABLE_GETTER(leak_count, tbed_allocation_site, table_value_of(row->leak_count))

static struct table_value leak_share(const struct table *table, const void *of)
{
    const struct tbed_allocation_site *row = of;
    return share((double)row->leak_nbytes, (double)report_of(table)->leaks.nbytes);
}

static const struct table_column leak_columns[] = {
    {.key = "bytes", .title = "leaked", .unit = TABLE_BYTES, .get = leak_bytes},
    {.key = "count", .unit = TABLE_COUNT, .get = leak_count},
    {.key = "name", .unit = TABLE_TEXT, .is_in_order = true, .get = site_name, .json = site_name_json},
    {.key = "share",
     .field = "leaked_percent",
     .title = "leaked %",
     .unit = TABLE_PERCENT,
     .get = leak_share},
};

TABLE_GETTER(suppression_name, tbed_allocation_suppression, table_text_of(row->pattern, strlen(row->pattern)))
TABLE_GETTER(suppression_bytes, tbed_allocation_suppression, table_value_of(row->nbytes))
TABLE_GETTER(suppression_count, tbed_allocation_suppression, table_value_of(row->count))
TABLE_GETTER(suppression_stacks, tbed_allocation_suppression, table_value_of(row->site_count))

static struct table_value suppression_origin(const struct table *table, const void *of)
{
    const char *origin = ((const struct tbed_allocation_suppression *)of)->is_built_in ? "built in" : "file";
    (void)table;
    return table_text_of(origin, strlen(origin));
}

static const struct table_column suppression_columns[] = {
    {.key = "bytes", .title = "suppressed", .unit = TABLE_BYTES, .get = suppression_bytes},
    {.key = "count", .unit = TABLE_COUNT, .get = suppression_count},
    {.key = "stacks", .field = "stack_count", .unit = TABLE_COUNT, .get = suppression_stacks},
    {.key = "origin", .unit = TABLE_TEXT, .get = suppression_origin},
    {.key = "name", .title = "suppression", .unit = TABLE_TEXT, .get = suppression_name},
};

/* For --columns. */
static const struct table_column moment_keys[] = {{.key = "at"}, {.key = "busy"}};

/* ---- The tables ---- */

#define COLUMNS(array) .columns = (array), .column_count = COUNT_OF(array)

static const struct table tables[REPORT_TABLE_COUNT] = {
    [REPORT_SPANS] = {.key = "spans",
                      .what = "spans",
                      COLUMNS(span_columns),
                      .text_columns = "self,share,total,count,min,mean,p50,p99,max,name",
                      .data_columns = SPAN_DATA,
                      .order = "self",
                      .notes = span_notes},
    [REPORT_ASYNCS] = {.key = "async_spans",
                       .what = "asynchronous spans",
                       COLUMNS(async_columns),
                       .text_columns = "total,count,min,mean,p50,p99,max,name",
                       .data_columns = SPAN_DATA,
                       .order = "total",
                       .notes = span_notes},
    [REPORT_INSTANTS] = {.key = "instants",
                         .what = "instants",
                         COLUMNS(instant_columns),
                         .text_columns = "count,name",
                         .data_columns = "name,count",
                         .order = "count",
                         .has_frames = true},
    [REPORT_COUNTERS] = {.key = "counters",
                         .what = "counters",
                         COLUMNS(counter_columns),
                         .text_columns = "last,min,max,count,name",
                         .data_columns = "name,unit,count,last,min,max"},
    [REPORT_MESSAGES] = {.key = "messages",
                         .what = "messages",
                         COLUMNS(message_columns),
                         .text_columns = "count,errors,warnings,name",
                         .data_columns = "name,count,errors,warnings",
                         .order = "count"},
    [REPORT_PROCESSES] = {.key = "processes",
                          .what = "processes",
                          COLUMNS(process_columns),
                          .text_columns = "peak,peak_at,live,live_count,bytes,count,freed,temporary,name",
                          .data_columns = "process,forked_from,pid,name," SUM_DATA
                                          ",peak_at,peak_resident,inherited_frees,unknown_frees,null_frees,"
                                          "events",
                          .order = "peak",
                          .notes = process_notes},
    [REPORT_SITES] = {.key = "sites",
                      .what = "sites",
                      COLUMNS(site_columns),
                      .text_columns = "bytes,count,live,live_count,peak,share,temporary,name",
                      .data_columns = "name," SUM_DATA,
                      .order = "bytes",
                      .has_frames = true,
                      .notes = site_notes},
    [REPORT_LEAKS] = {.key = "leaks",
                      .what = "leaks",
                      COLUMNS(leak_columns),
                      .text_columns = "bytes,share,count,name",
                      .data_columns = "name,bytes,count",
                      .order = "bytes",
                      .has_frames = true},
    [REPORT_SUPPRESSIONS] = {.key = "suppressions",
                             .what = "suppressions",
                             COLUMNS(suppression_columns),
                             .text_columns = "bytes,count,stacks,name,origin",
                             .data_columns = "name,bytes,count,stacks,origin",
                             .order = "bytes"},
    /* Of the moments, report_over_time.c has the columns; these are their keys. */
    [REPORT_MOMENTS] = {.key = "moments", COLUMNS(moment_keys)},
    [REPORT_LABELS] = {.key = "rows", .what = "labels", COLUMNS(label_columns), .order = "self"},
    [REPORT_ARTIFACTS] = {.key = "artifacts",
                          .what = "artifacts",
                          COLUMNS(artifact_columns),
                          .text_columns = "bytes,count,name",
                          .data_columns = "name,bytes,count",
                          .order = "name"},
    [REPORT_FILES] = {.key = "files",
                      .what = "files",
                      COLUMNS(report_file_columns),
                      .text_columns = "time,share,spans,events,artifacts,name",
                      .data_columns = "name,time,self,spans,events,artifacts,damage",
                      .order = "time"},
};

const char *report_columns_parse(struct table_keys *keys, const char *text)
{
    return table_columns_parse(keys, tables, REPORT_TABLE_COUNT, text);
}

const char *report_sort_parse(struct table_keys *keys, const char *text)
{
    return table_sort_parse(keys, tables, REPORT_TABLE_COUNT, text);
}

static const char *site_title(const struct report_options *options)
{
    if (options->by_size)
        return "size";
    if (options->by_class)
        return "class";
    if (options->by_gem)
        return "gem";
    if (options->by_stack || options->by_file)
        return options->by_stack ? "stack" : "file";
    return options->by == TBED_NAME_FUNCTION ? "symbol" : options->by == TBED_NAME_MODULE ? "module" : "site";
}

/* What rows of spans and instants stand for; NULL: labels. */
static const char *key_title(enum tbed_row_key key)
{
    static const char *const titles[] = {
        [TBED_BY_LABEL] = NULL,          [TBED_BY_ARGUMENTS] = NULL,   [TBED_BY_LOCATION] = "location",
        [TBED_BY_FILE] = "file",         [TBED_BY_THREAD] = "thread",  [TBED_BY_PROCESS] = "process",
        [TBED_BY_CATEGORY] = "category", [TBED_BY_TIME] = "begins at",
    };
    return titles[key];
}

/* What rows of instants stand for that count allocations. */
static const char *allocations_title(enum tbed_row_key key)
{
    static const char *const titles[] = {
        [TBED_BY_LABEL] = "allocations at",
        [TBED_BY_ARGUMENTS] = "allocations at",
        [TBED_BY_LOCATION] = "allocations at",
        [TBED_BY_FILE] = "allocations in file",
        [TBED_BY_THREAD] = "allocations by thread",
        [TBED_BY_PROCESS] = "allocations by process",
        [TBED_BY_CATEGORY] = "allocations by category",
        [TBED_BY_TIME] = "allocations from",
    };
    return titles[key];
}

/* The rows of spans and of instants have the same keys, so their titles say what they are. */
static void set_key(struct report *report)
{
    enum tbed_row_key key = report->options->key;
    struct table *spans = &report->tables[REPORT_SPANS], *instants = &report->tables[REPORT_INSTANTS];
    spans->name_title = instants->name_title = key_title(key);
    if (report_counts_allocations(report)) {
        instants->name_title = allocations_title(key);
        instants->what = "sites";
    }
    if (key != TBED_BY_TIME)
        return;
    spans->order = instants->order = "+start";
    spans->data_columns = report->has_off_cpu ? "start," SPAN_DATA ",off_cpu" : "start," SPAN_DATA;
    instants->data_columns = "start,name,count";
}

/* Only traces that know when threads were off their processors have this column without being asked. */
static void set_off_cpu(struct report *report)
{
    struct table *spans = &report->tables[REPORT_SPANS];
    if (!report->has_off_cpu)
        return;
    spans->text_columns = "self,share,total,off_cpu,count,min,mean,p50,p99,max,name";
    spans->data_columns = SPAN_DATA ",off_cpu";
}

/* What sites are, and which of their figures are asked for. */
static void set_sites(struct report *report)
{
    const struct report_options *options = report->options;
    struct table *sites = &report->tables[REPORT_SITES];
    sites->name_title = report->tables[REPORT_LEAKS].name_title = site_title(options);
    if (options->by_size) {
        sites->order = "name";
        sites->data_columns =
            options->lifetimes ? "name,least,most," SUM_DATA LIFETIME_DATA : "name,least,most," SUM_DATA;
    } else if (options->lifetimes) {
        sites->data_columns = "name," SUM_DATA LIFETIME_DATA;
    }
    if (options->survived_min > 0) {
        sites->order = "retained";
        sites->text_columns = "retained,retained_count,generation,bytes,count,name";
        sites->data_columns = "name," SUM_DATA ",retained,retained_count,generation";
    }
    if (options->lifetimes)
        sites->text_columns =
            "lifetime,lifetime_p50,lifetime_p99,lifetime_max,freed,count,bytes,temporary,name";
}

void report_tables_open(struct report *report)
{
    const struct tbed_trace_info *info = &report->info;
    bool is_ns = report->reader == NULL || info->ticks_per_second == 1000000000;
    report->clock = (struct table_clock){
        .reader = is_ns ? NULL : report->reader,
        .is_time = info->clock != TBED_CLOCK_USER,
        .resolution_ns =
            report->reader != NULL ? tbed_tick_span_to_ns(report->reader, info->resolution_ticks) : 1,
        .step_ticks = report->step_ticks};
    for (size_t i = 0; i < REPORT_TABLE_COUNT; i++) {
        bool is_moment = i >= REPORT_MOMENTS && i < REPORT_LABELS;
        report->tables[i] = is_moment ? report_moment_tables[i - REPORT_MOMENTS] : tables[i];
        report->tables[i].context = report;
        report->tables[i].file = tool_path(report->path);
        report->tables[i].clock = &report->clock;
    }
    set_sites(report);
    set_off_cpu(report);
    set_key(report);
}
