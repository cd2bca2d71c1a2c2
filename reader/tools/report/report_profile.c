/*
 * Profiles in 'tracebed report': spans by label, as a table in the layout of measureme's summarize, and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures ---- */

/* Two decimals in the largest unit that does not exceed the time, rounding halves to even. Rounding never moves to the
 * next unit. */
static void format_time(char buffer[32], uint64_t ns)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "\u00B5s"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ns < units[i].ns)
            continue;
        uint64_t step = units[i].ns / 100, count = ns / step, rest = ns % step;
        count += rest * 2 > step || (rest * 2 == step && count % 2 == 1);
        snprintf(buffer, 32, "%llu.%02llu%s", (unsigned long long)(count / 100),
                 (unsigned long long)(count % 100), units[i].name);
        return;
    }
    snprintf(buffer, 32, "%llu.00ns", (unsigned long long)ns);
}

/* All digits, in the largest unit that does not exceed the time. */
static void format_exact(char buffer[48], uint64_t ns)
{
    static const struct {
        uint64_t ns;
        int digits;
        const char *name;
    } units[] = {{1000000000, 9, "s"}, {1000000, 6, "ms"}, {1000, 3, "\u00B5s"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ns < units[i].ns)
            continue;
        int nbytes = snprintf(buffer, 48, "%llu.%0*llu", (unsigned long long)(ns / units[i].ns),
                              units[i].digits, (unsigned long long)(ns % units[i].ns));
        while (buffer[nbytes - 1] == '0')
            nbytes--;
        nbytes -= buffer[nbytes - 1] == '.';
        snprintf(buffer + nbytes, 48 - (size_t)nbytes, "%s", units[i].name);
        return;
    }
    snprintf(buffer, 48, "%lluns", (unsigned long long)ns);
}

uint64_t report_ns(const struct report *report, uint64_t ticks)
{
    if (report->info.clock == TBED_CLOCK_USER || report->reader == NULL ||
        report->info.ticks_per_second == 1000000000)
        return ticks;
    return tbed_round_u64(tbed_tick_span_to_ns(report->reader, ticks));
}

static double share_of(const struct report *report, const struct tbed_span_row *row)
{
    return (double)row->self_ticks / (double)report->totals.span_ticks * 100;
}

/* ---- Columns ---- */

enum column {
    COLUMN_ITEM,
    COLUMN_SELF,
    COLUMN_SHARE,
    COLUMN_TIME,
    COLUMN_COUNT,
    COLUMN_MISSES,
    COLUMN_HITS,
    COLUMN_BLOCKED,
    COLUMN_LOAD,
    COLUMN_HASHING,
    COLUMN_COUNT_ALL,
};

static const char *const headings[COLUMN_COUNT_ALL] = {"Item",
                                                       "Self time",
                                                       "% of total time",
                                                       "Time",
                                                       "Item count",
                                                       "Cache misses",
                                                       "Cache hits",
                                                       "Blocked time",
                                                       "Incremental load time",
                                                       "Incremental result hashing time"};

/* The value in a column that is omitted if all its values are 0. */
static uint64_t column_value(const struct tbed_span_row *row, enum column column)
{
    switch (column) {
    case COLUMN_HITS:
        return row->cache_hits;
    case COLUMN_BLOCKED:
        return row->blocked_ticks;
    case COLUMN_LOAD:
        return row->load_ticks;
    case COLUMN_HASHING:
        return row->hashing_ticks;
    case COLUMN_MISSES:
        return row->cache_misses == row->invocation_count ? 0 : row->cache_misses;
    default:
        return 1;
    }
}

struct label_table {
    const struct report *report;
    const struct tbed_span_row **rows;
    size_t row_count;
    bool shown[COLUMN_COUNT_ALL];
    size_t widths[COLUMN_COUNT_ALL];
    size_t label_nbytes; /* the longest label */
};

static void format_ticks(const struct report *report, char buffer[32], uint64_t ticks)
{
    if (report->info.clock == TBED_CLOCK_USER)
        tool_format_count(buffer, ticks);
    else
        format_time(buffer, report_ns(report, ticks));
}

/* Any column except the first. */
static void format_cell(const struct report *report, const struct tbed_span_row *row, enum column column,
                        char buffer[32])
{
    double share = share_of(report, row);
    switch (column) {
    case COLUMN_SELF:
        format_ticks(report, buffer, row->self_ticks);
        break;
    case COLUMN_SHARE:
        snprintf(buffer, 32, isnan(share) ? "NaN" : "%.3f", share);
        break;
    case COLUMN_TIME:
        format_ticks(report, buffer, row->time_ticks);
        break;
    case COLUMN_COUNT:
        snprintf(buffer, 32, "%llu", (unsigned long long)row->invocation_count);
        break;
    case COLUMN_MISSES:
        snprintf(buffer, 32, "%llu", (unsigned long long)row->cache_misses);
        break;
    case COLUMN_HITS:
        snprintf(buffer, 32, "%llu", (unsigned long long)row->cache_hits);
        break;
    default:
        format_ticks(report, buffer, column_value(row, column));
    }
}

/* Dots lead from each label to its figures. */
static size_t dot_count(const struct label_table *table, const struct tbed_span_row *row)
{
    return table->label_nbytes > row->name_nbytes ? table->label_nbytes - row->name_nbytes - 1 : 0;
}

static size_t item_width(const struct label_table *table, const struct tbed_span_row *row)
{
    return tool_text_width(row->name, row->name_nbytes) + 1 + dot_count(table, row);
}

static void measure_rows(struct label_table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        const struct tbed_span_row *row = table->rows[i];
        table->label_nbytes = row->name_nbytes > table->label_nbytes ? row->name_nbytes : table->label_nbytes;
        for (int column = 0; column < COLUMN_COUNT_ALL; column++)
            table->shown[column] |= column_value(row, column) != 0;
    }
    for (int column = 0; column < COLUMN_COUNT_ALL; column++) {
        table->shown[column] |= column <= COLUMN_COUNT;
        table->widths[column] = strlen(headings[column]);
        for (size_t i = 0; i < table->row_count; i++) {
            char buffer[32];
            if (column != COLUMN_ITEM)
                format_cell(table->report, table->rows[i], column, buffer);
            size_t width = column == COLUMN_ITEM ? item_width(table, table->rows[i])
                                                 : tool_text_width(buffer, strlen(buffer));
            table->widths[column] = width > table->widths[column] ? width : table->widths[column];
        }
    }
}

/* ---- The table ---- */

static void put_repeated(char byte, size_t count)
{
    while (count-- > 0)
        putchar(byte);
}

static void put_rule(const size_t *widths, const bool *shown, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (shown[i]) {
            putchar('+');
            put_repeated('-', widths[i] + 2);
        }
    fputs("+\n", stdout);
}

static void put_cell(const char *text, size_t width)
{
    size_t own = tool_text_width(text, strlen(text));
    fputs("| ", stdout);
    fputs(text, stdout);
    put_repeated(' ', width - own + 1);
}

static void put_item(const struct label_table *table, const struct tbed_span_row *row)
{
    fputs("| ", stdout);
    tool_print_text(stdout, row->name, row->name_nbytes, 0);
    putchar(' ');
    put_repeated('.', dot_count(table, row));
    put_repeated(' ', table->widths[COLUMN_ITEM] - item_width(table, row) + 1);
}

static void put_row(const struct label_table *table, const struct tbed_span_row *row)
{
    char buffer[32];
    put_item(table, row);
    for (int column = COLUMN_SELF; column < COLUMN_COUNT_ALL; column++)
        if (table->shown[column]) {
            format_cell(table->report, row, column, buffer);
            put_cell(buffer, table->widths[column]);
        }
    fputs("|\n", stdout);
}

static void put_table(const struct report *report)
{
    struct label_table table = {.report = report,
                                .rows = (const struct tbed_span_row **)report->tables[REPORT_LABELS].rows,
                                .row_count = report->tables[REPORT_LABELS].shown};
    measure_rows(&table);
    put_rule(table.widths, table.shown, COLUMN_COUNT_ALL);
    fputs(tool_bold(), stdout);
    for (int column = 0; column < COLUMN_COUNT_ALL; column++)
        if (table.shown[column])
            put_cell(headings[column], table.widths[column]);
    printf("|%s\n", tool_plain());
    put_rule(table.widths, table.shown, COLUMN_COUNT_ALL);
    for (size_t i = 0; i < table.row_count && !tool_output_failed(); i++)
        put_row(&table, table.rows[i]);
    put_rule(table.widths, table.shown, COLUMN_COUNT_ALL);
}

/* The sum of the hidden rows. */
static void put_left_out(const struct report *report)
{
    const struct table *table = &report->tables[REPORT_LABELS];
    char count[32];
    double shown = 0;
    if (table->shown == table->count)
        return;
    for (size_t i = 0; i < table->shown; i++)
        shown += share_of(report, table->rows[i]);
    size_t left = table->count - table->shown;
    printf("%s%s more label%s; the rows above account for %.3f %% of the total time.%s\n", tool_dim(),
           tool_format_count(count, left), left == 1 ? "" : "s", shown, tool_plain());
}

static void put_total(const struct report *report)
{
    char buffer[48];
    uint64_t ticks = report->totals.span_ticks;
    if (report->info.clock == TBED_CLOCK_USER) {
        const char *unit = tbed_statistics_unit(report->statistics);
        printf("Total ");
        tool_print_text(stdout, unit, strlen(unit), 0);
        printf(": %s\n", tool_format_count(buffer, ticks));
        return;
    }
    format_exact(buffer, report_ns(report, ticks));
    printf("Total cpu time: %s\n", buffer);
}

static void format_artifact(const struct tbed_artifact_row *row, char buffer[40])
{
    snprintf(buffer, 40, "%llu bytes", (unsigned long long)row->value);
}

static void put_artifact(const struct tbed_artifact_row *row, const size_t widths[2])
{
    char buffer[40];
    format_artifact(row, buffer);
    fputs("| ", stdout);
    tool_print_text(stdout, row->name, row->name_nbytes, 0);
    put_repeated(' ', widths[0] - tool_text_width(row->name, row->name_nbytes) + 1);
    put_cell(buffer, widths[1]);
    fputs("|\n", stdout);
}

void report_artifacts_text(const struct report *report)
{
    static const char *const titles[2] = {"Item", "Artifact Size"};
    const bool shown[2] = {true, true};
    const struct table *table = &report->tables[REPORT_ARTIFACTS];
    size_t widths[2] = {strlen(titles[0]), strlen(titles[1])};
    char buffer[40];
    for (size_t i = 0; i < table->shown; i++) {
        const struct tbed_artifact_row *row = table->rows[i];
        size_t width = tool_text_width(row->name, row->name_nbytes);
        format_artifact(row, buffer);
        widths[0] = width > widths[0] ? width : widths[0];
        widths[1] = strlen(buffer) > widths[1] ? strlen(buffer) : widths[1];
    }
    put_rule(widths, shown, 2);
    put_cell(titles[0], widths[0]);
    put_cell(titles[1], widths[1]);
    fputs("|\n", stdout);
    put_rule(widths, shown, 2);
    for (size_t i = 0; i < table->shown; i++)
        put_artifact(table->rows[i], widths);
    put_rule(widths, shown, 2);
    if (table->shown < table->count)
        printf("%s%s more artifacts%s\n", tool_dim(), tool_format_count(buffer, table->count - table->shown),
               tool_plain());
}

/* ---- Warnings ---- */

static void put_oddity(uint64_t count, const char *one, const char *many)
{
    char figure[32];
    if (count != 0)
        printf("%s%s %s%s\n", tool_red(), tool_format_count(figure, count), count == 1 ? one : many,
               tool_plain());
}

void report_profile_warnings(const struct report *report)
{
    const struct tbed_statistics_totals *totals = &report->totals;
    put_oddity(totals->overlap_count, "span overlaps another without nesting.",
               "spans overlap others without nesting.");
    put_oddity(totals->inverted_count, "span ends before it begins; it counts with no time.",
               "spans end before they begin; they count with no time.");
    put_oddity(
        totals->negative_count,
        "label's spans have children that took longer than they did; its self time is shown as 0.",
        "labels' spans have children that took longer than they did; their self times are shown as 0.");
    put_oddity(totals->open_span_count, "span never ended; it counts until the last event of its thread.",
               "spans never ended; they count until the last events of their threads.");
    put_oddity(totals->unknown_begin_count, "span with an unknown begin is not timed.",
               "spans with an unknown begin are not timed.");
}

void report_profile_text(const struct report *report)
{
    put_table(report);
    put_left_out(report);
    put_total(report);
    report_artifacts_text(report);
}

/* The head of a report on a foreign file; report_text.c has the one for traces. */
void report_profile_head(const struct report *report)
{
    const struct tbed_statistics_totals *totals = &report->totals;
    const char *path = tool_path(report->path);
    char figure[32];
    fputs(tool_bold(), stdout);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s: %s event%s", tool_plain(), tool_format_count(figure, totals->event_count),
           totals->event_count == 1 ? "" : "s");
    if (!report->options->artifacts)
        printf(", %s stream%s with spans", tool_format_count(figure, totals->stream_count),
               totals->stream_count == 1 ? "" : "s");
    if (totals->foreign_version != 0 || !report->is_sum)
        printf(", format %u", (unsigned)totals->foreign_version);
    putchar('\n');
    report_profile_warnings(report);
}

/* ---- JSON ---- */

/* "self" becomes "self_ns" or "self_ticks". */
static void json_time(struct tbed_json *json, const struct report *report, const char *what, uint64_t ticks)
{
    char key[32];
    snprintf(key, sizeof key, report->info.clock == TBED_CLOCK_USER ? "%s_ticks" : "%s_ns", what);
    tbed_json_u64(json, key, report_ns(report, ticks));
}

static void json_row(struct tbed_json *json, const struct report *report, const struct tbed_span_row *row)
{
    tbed_json_object_open(json, NULL);
    report_json_name(json, report, row->id, row->name, row->name_nbytes);
    json_time(json, report, "time", row->time_ticks);
    json_time(json, report, "self", row->self_ticks);
    tbed_json_u64(json, "cache_misses", row->cache_misses);
    tbed_json_u64(json, "cache_hits", row->cache_hits);
    tbed_json_u64(json, "invocations", row->invocation_count);
    json_time(json, report, "blocked", row->blocked_ticks);
    json_time(json, report, "incremental_load", row->load_ticks);
    json_time(json, report, "incremental_hashing", row->hashing_ticks);
    tbed_json_object_close(json);
}

static void json_totals(struct tbed_json *json, const struct report *report)
{
    const struct tbed_statistics_totals *totals = &report->totals;
    tbed_json_string(
        json, "unit",
        tbed_statistics_unit(report->statistics) != NULL ? tbed_statistics_unit(report->statistics) : "ns");
    tbed_json_u64(json, "rows_left_out",
                  report->tables[REPORT_LABELS].count - report->tables[REPORT_LABELS].shown);
    tbed_json_u64(json, "streams_with_spans", totals->stream_count);
    tbed_json_u64(json, "overlaps", totals->overlap_count);
    tbed_json_u64(json, "inverted", totals->inverted_count);
    tbed_json_u64(json, "negative_rows", totals->negative_count);
    tbed_json_u64(json, "unknown_labels", totals->unnamed_count);
    tbed_json_u64(json, "never_ended", totals->open_span_count);
    tbed_json_u64(json, "unknown_begins", totals->unknown_begin_count);
}

void report_artifacts_json(struct tbed_json *json, const struct report *report)
{
    const struct table *table = &report->tables[REPORT_ARTIFACTS];
    tbed_json_array_open(json, "artifacts");
    for (size_t i = 0; i < table->shown; i++) {
        const struct tbed_artifact_row *row = table->rows[i];
        tbed_json_object_open(json, NULL);
        tbed_json_text(json, "name", row->name, row->name_nbytes);
        tbed_json_u64(json, "bytes", row->value);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

void report_profile_json(struct tbed_json *json, const struct report *report)
{
    json_time(json, report, "total", report->totals.span_ticks);
    tbed_json_array_open(json, "rows");
    for (size_t i = 0; i < report->tables[REPORT_LABELS].shown; i++)
        json_row(json, report, report->tables[REPORT_LABELS].rows[i]);
    tbed_json_array_close(json);
    report_artifacts_json(json, report);
    json_totals(json, report);
}
