/*
 * Formats the figures of a comparison and their changes, and fills tables of them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/compare_verbs.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool is_time(const struct compare_run *run, enum tbed_figure figure)
{
    return tbed_figure_is_time(figure) && run->unit[0] == '\0';
}

/* The mean of counts may have a fraction. */
static const char *format_number(char buffer[32], double value)
{
    if (value != floor(value) && value < 999.5)
        snprintf(buffer, 32, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
    else if (value < 0x1p63)
        tool_format_count(buffer, (uint64_t)(value + 0.5));
    else
        snprintf(buffer, 32, "%.3g", value);
    return buffer;
}

const char *compare_format(char buffer[32], const struct compare_run *run, enum tbed_figure figure,
                           double value)
{
    char time[32];
    if (!is_time(run, figure))
        return format_number(buffer, value);
    bool is_short = figure == TBED_FIGURE_P50 && value > 0 && value < run->step_ns;
    snprintf(buffer, 32, "%s%.30s", is_short ? "<" : "",
             tool_format_time(time, is_short ? run->step_ns : value, run->resolution_ns));
    return buffer;
}

const char *compare_format_change(char buffer[32], const struct compare_run *run, enum tbed_figure figure,
                                  int64_t change)
{
    char size_text[32];
    enum tbed_figure of = figure == TBED_FIGURE_P50 ? TBED_FIGURE_TIME : figure;
    double size = fabs((double)change);
    if (change == 0)
        return "0";
    snprintf(buffer, 32, "%c%.30s", change < 0 ? '-' : '+', compare_format(size_text, run, of, size));
    return buffer;
}

const char *compare_format_percent(char buffer[32], double percent)
{
    double size = fabs(percent);
    if (size < 0.05)
        snprintf(buffer, 32, "0.0 %%");
    else if (size >= 1e6)
        snprintf(buffer, 32, "%+.2g %%", percent);
    else
        snprintf(buffer, 32, "%+.*f %%", size >= 999.95 ? 0 : 1, percent);
    return buffer;
}

const char *compare_format_probability(char buffer[32], double p)
{
    if (p < 1e-12)
        return p > 0 ? "<1e-12" : "0";
    snprintf(buffer, 32, p >= 0.0995 ? "%.2f" : p >= 0.00095 ? "%.3f" : "%.1e", p);
    return buffer;
}

const char *compare_figure_name(enum tbed_figure figure)
{
    static const char *const names[TBED_FIGURE_COUNT] = {
        [TBED_FIGURE_SELF] = "self",
        [TBED_FIGURE_TIME] = "time",
        [TBED_FIGURE_INVOCATIONS] = "invocations",
        [TBED_FIGURE_MISSES] = "cache_misses",
        [TBED_FIGURE_HITS] = "cache_hits",
        [TBED_FIGURE_BLOCKED] = "blocked",
        [TBED_FIGURE_LOAD] = "incremental_load",
        [TBED_FIGURE_HASHING] = "incremental_hashing",
        [TBED_FIGURE_P50] = "p50",
    };
    return names[figure];
}

const char *compare_figure_heading(enum tbed_figure figure)
{
    static const char *const headings[TBED_FIGURE_COUNT] = {
        [TBED_FIGURE_SELF] = "label, by self time",
        [TBED_FIGURE_TIME] = "label, by total time",
        [TBED_FIGURE_INVOCATIONS] = "label, by invocations",
        [TBED_FIGURE_MISSES] = "label, by cache misses",
        [TBED_FIGURE_HITS] = "label, by cache hits",
        [TBED_FIGURE_BLOCKED] = "label, by blocked time",
        [TBED_FIGURE_LOAD] = "label, by incremental load time",
        [TBED_FIGURE_HASHING] = "label, by incremental hashing time",
        [TBED_FIGURE_P50] = "label, by median duration",
    };
    return headings[figure];
}

const char *compare_key(char buffer[48], const struct compare_run *run, enum tbed_figure figure,
                        const char *suffix)
{
    const char *unit = !tbed_figure_is_time(figure) ? "" : is_time(run, figure) ? "_ns" : "_ticks";
    snprintf(buffer, 48, "%s%s%s", compare_figure_name(figure), unit, suffix);
    return buffer;
}

double compare_deviation(const struct tbed_spread *spread)
{
    return sqrt(spread->variance);
}

double compare_variation(const struct tbed_spread *spread)
{
    return spread->mean > 0 ? compare_deviation(spread) / spread->mean : 0;
}

void compare_json_run(struct tbed_json *json, const char *key, const struct compare_options *options,
                      const struct compare_run *run, uint64_t total)
{
    const struct tbed_statistics_totals *totals = &run->totals;
    bool counts = run->unit[0] != '\0';
    tbed_json_object_open(json, key);
    tbed_json_string(json, "file", tool_path(run->path));
    tool_filter_json(json, &options->filter, &run->window);
    tbed_json_string(json, "tick_unit", counts ? run->unit : NULL);
    tbed_json_u64(json, counts ? "total_ticks" : "total_ns", total);
    tbed_json_u64(json, "span_count", totals->span_count);
    tbed_json_u64(json, "stream_count", totals->stream_count);
    tbed_json_u64(json, "never_ended_count", totals->open_span_count);
    tbed_json_u64(json, "unknown_begin_count", totals->unknown_begin_count);
    tbed_json_u64(json, "inverted_count", totals->inverted_count);
    tbed_json_u64(json, "overlap_count", totals->overlap_count);
    tbed_json_u64(json, "drop_count", run->drop_count);
    tbed_json_u64(json, "damage_count", run->damage_count);
    tool_json_texts_left_out(json, run->texts_left_out);
    tbed_json_object_close(json);
}

void compare_json_name(struct tbed_json *json, const struct compare_options *options,
                       const struct tbed_comparison_row *row)
{
    struct tbed_id_info info = {0};
    if (options->group.by == GROUP_BY_SCOPE)
        info = (struct tbed_id_info){
            .function = row->function, .file = row->file, .line = row->line, .module = row->module};
    tool_json_known_name(json, row->label, row->label_nbytes, &info);
}

/* ---- Tables ---- */

void compare_append(struct tool_buffer *text, const char *format, ...)
{
    char buffer[160];
    va_list arguments;
    va_start(arguments, format);
    int nbytes = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    tool_append(text, buffer, nbytes < (int)sizeof buffer ? (size_t)nbytes : sizeof buffer - 1);
}

void compare_free_rows(struct table *tables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(tables[i].rows);
}

void compare_json_rows(struct tbed_json *json, const struct table *table,
                       void (*put)(struct tbed_json *json, const struct table *table, const void *row))
{
    tbed_json_array_open(json, "rows");
    for (size_t i = 0; i < table->shown && !tool_output_failed(); i++)
        put(json, table, table->rows[i]);
    tbed_json_array_close(json);
}

void compare_json_end(struct tbed_json *json, const struct table *rows)
{
    tbed_json_object_open(json, "left_out");
    tbed_json_u64(json, "rows", rows->count - rows->shown);
    tbed_json_object_close(json);
    tbed_json_object_close(json);
    tbed_json_line(json);
}

#define CSV_TABLES_MAX 4

void compare_print_csv(const struct table *tables, size_t count, size_t default_count,
                       const struct table_keys *columns)
{
    const struct table *chosen[CSV_TABLES_MAX];
    size_t chosen_count = 0;
    for (size_t i = 0; i < count && i < CSV_TABLES_MAX; i++)
        if ((i < default_count || columns->count > 0) && table_is_asked_for(&tables[i], columns))
            chosen[chosen_count++] = &tables[i];
    table_print_csv(chosen, chosen_count, columns, true);
}

/* ---- Warnings ---- */

static void put_warning(const char *path, uint64_t count, const char *one, const char *many)
{
    char buffer[32];
    if (count == 0)
        return;
    fputs(tool_red(), stdout);
    tool_print_text(stdout, tool_path(path), strlen(tool_path(path)), 0);
    printf(": %s %s%s\n", tool_format_count(buffer, count), count == 1 ? one : many, tool_plain());
}

void compare_put_warnings(const struct compare_run *run)
{
    put_warning(run->path, run->drop_count, "RECORD WAS DROPPED.", "RECORDS WERE DROPPED.");
    put_warning(run->path, run->damage_count, "place is damaged; everything intact was read.",
                "places are damaged; everything intact was read.");
    put_warning(run->path, run->totals.open_span_count,
                "span never ended, and counts until the last event of its thread.",
                "spans never ended, and count until the last events of their threads.");
    put_warning(run->path, run->totals.unknown_begin_count, "span with an unknown begin is not timed.",
                "spans with an unknown begin are not timed.");
    put_warning(run->path, run->totals.inverted_count, "span ends before it begins; it counts with no time.",
                "spans end before they begin; they count with no time.");
    put_warning(run->path, run->totals.negative_count,
                "label has spans that overlap so far that no self time is left of it.",
                "labels have spans that overlap so far that no self time is left of them.");
}
