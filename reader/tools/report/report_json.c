/*
 * A report for programs, as CSV or as one JSON object per file, each on one line. Keys are stable. A time's key ends in its unit:
 * '_ns', or '_ticks' if the trace's clock does not measure time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <string.h>

/* "self" becomes "self_ns" or "self_ticks". */
static void json_ticks(struct tbed_json *json, const struct report *report, const char *what, uint64_t ticks)
{
    char key[32];
    bool is_time = report->info.clock != TBED_CLOCK_USER;
    snprintf(key, sizeof key, "%s_%s", what, is_time ? "ns" : "ticks");
    if (is_time)
        tbed_json_u64(json, key, report_ns(report, ticks));
    else
        tbed_json_u64(json, key, ticks);
}

static void json_sums(struct tbed_json *json, const struct tbed_allocation_sums *sums)
{
    tbed_json_u64(json, "count", sums->count);
    tbed_json_u64(json, "bytes", sums->nbytes);
    tbed_json_u64(json, "freed_count", sums->freed_count);
    tbed_json_u64(json, "temporary_count", sums->temporary_count);
    tbed_json_u64(json, "replaced_count", sums->replaced_count);
    tbed_json_u64(json, "failed_count", sums->failed_count);
    tbed_json_u64(json, "live_count", sums->live_count);
    tbed_json_u64(json, "live_bytes", sums->live_nbytes);
    tbed_json_u64(json, "peak_bytes", sums->peak_nbytes);
}

static void json_table(struct tbed_json *json, const struct report *report, enum report_table table)
{
    table_print_json(json, &report->tables[table], &report->options->columns);
}

static void json_allocations(struct tbed_json *json, const struct report *report)
{
    tbed_json_object_open(json, "allocations");
    json_sums(json, &report->sums);
    if (report->options->leaks)
        report_leaks_json(json, report);
    tbed_json_object_close(json);
    unsigned first = report->options->leaks ? REPORT_LEAKS : REPORT_PROCESSES;
    json_table(json, report, first);
    json_table(json, report, first + 1);
    if (report->options->moment_count > 0)
        json_table(json, report, REPORT_MOMENTS);
}

static void json_totals(struct tbed_json *json, const struct tbed_statistics_totals *totals)
{
    tbed_json_object_open(json, "totals");
    tbed_json_u64(json, "event_count", totals->event_count);
    tbed_json_u64(json, "begin_count", totals->begin_count);
    tbed_json_u64(json, "end_count", totals->end_count);
    tbed_json_u64(json, "instant_count", totals->instant_count);
    tbed_json_u64(json, "counter_count", totals->counter_count);
    tbed_json_u64(json, "message_count", totals->message_count);
    tbed_json_u64(json, "allocation_event_count", totals->allocation_event_count);
    tbed_json_u64(json, "async_event_count", totals->async_event_count);
    tbed_json_u64(json, "flow_event_count", totals->flow_event_count);
    tbed_json_u64(json, "whole_span_count", totals->whole_span_count);
    tbed_json_u64(json, "unknown_count", totals->unknown_count);
    tbed_json_u64(json, "decrease_count", totals->decrease_count);
    tbed_json_u64(json, "gap_count", totals->gap_count);
    tbed_json_u64(json, "unnamed_open_count", totals->unnamed_open_count);
    tbed_json_u64(json, "inherited_count", totals->inherited_count);
    tbed_json_u64(json, "block_count", totals->block_count);
    tbed_json_u64(json, "bad_block_count", totals->bad_block_count);
    tbed_json_u64(json, "damaged_block_count", totals->damaged_block_count);
    tbed_json_object_close(json);
}

static void json_statistics(struct tbed_json *json, const struct report *report)
{
    json_totals(json, &report->totals);
    for (unsigned i = REPORT_SPANS; i <= REPORT_MESSAGES; i++)
        json_table(json, report, i);
    for (unsigned i = REPORT_BUSY_MOMENTS; i < REPORT_LABELS && report->timeline != NULL; i++)
        json_table(json, report, i);
}

static void json_left_out_all(struct tbed_json *json, const struct report *report)
{
    tbed_json_object_open(json, "left_out");
    unsigned end = report->options->leaks ? REPORT_MOMENTS : REPORT_LEAKS;
    for (unsigned i = REPORT_SPANS; i < end; i++)
        tbed_json_u64(json, report->tables[i].key, report->tables[i].count - report->tables[i].shown);
    tbed_json_object_close(json);
}

static void json_trace(struct tbed_json *json, const struct report *report)
{
    const struct tbed_trace_info *info = &report->info;
    json_ticks(json, report, "duration", info->last_tick - info->first_tick);
    if (info->clock != TBED_CLOCK_USER)
        tbed_json_f64(json, "clock_step_ns", tbed_tick_span_to_ns(report->reader, report->step_ticks));
    tbed_json_u64(json, "stream_count", info->stream_count);
    tbed_json_bool(json, "shut", info->shut);
    if (report_counts_allocations(report))
        tbed_json_bool(json, "instants_are_allocations", true);
    tool_json_drops(json, "drops", info->drops);
    tool_json_gaps(json, report->reader);
    tbed_json_u64(json, "damage_count", tool_damage_count(report->reader));
}

static void json_foreign(struct tbed_json *json, const struct report *report)
{
    tbed_json_u64(json, "format", report->totals.foreign_version);
    tbed_json_u64(json, "damage_count", report->totals.foreign_damage_count);
}

void report_print_json(const struct report *report)
{
    struct tbed_json json = {.out = stdout};
    const struct tbed_trace_info *info = &report->info;
    tbed_json_object_open(&json, NULL);
    if (report->options->artifacts)
        report_artifacts_json(&json, report);
    else if (report->is_profile && report->options->columns.count == 0)
        report_profile_json(&json, report);
    if (report->is_sum)
        json_table(&json, report, REPORT_FILES);
    else
        tbed_json_string(&json, "file", tool_path(report->path));
    tbed_json_string(&json, "tick_unit", info->clock == TBED_CLOCK_USER ? info->clock_unit : NULL);
    tool_filter_json(&json, &report->options->filter, &report->options->filter.window);
    if (report->reader != NULL)
        json_trace(&json, report);
    else
        json_foreign(&json, report);
    if (report->statistics != NULL && !report->options->artifacts)
        json_statistics(&json, report);
    if (report->allocations != NULL)
        json_allocations(&json, report);
    json_left_out_all(&json, report);
    tool_json_texts_left_out(&json, report->reader != NULL ? tbed_reader_texts_left_out(report->reader)
                                                           : report->totals.foreign_texts_left_out);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

/* ---- CSV ---- */

/* The tables that were asked for, whether or not the trace has anything for them: with --over-time, only moments. */
static size_t choose_tables(const struct report *report, const struct table *chosen[REPORT_TABLE_COUNT])
{
    const struct report_options *options = report->options;
    size_t count = 0;
    if (report->is_sum && table_is_asked_for(&report->tables[REPORT_FILES], &options->columns))
        chosen[count++] = &report->tables[REPORT_FILES];
    if (options->artifacts) {
        chosen[count++] = &report->tables[REPORT_ARTIFACTS];
        return count;
    }
    unsigned first = options->moment_count > 0 ? REPORT_MOMENTS : REPORT_SPANS;
    unsigned end = options->moment_count > 0 ? REPORT_LABELS : REPORT_MOMENTS;
    for (unsigned i = first; i < end; i++) {
        bool is_memory = i >= REPORT_PROCESSES && i <= REPORT_MOMENTS;
        bool is_leak = i == REPORT_LEAKS || i == REPORT_SUPPRESSIONS;
        bool is_wanted = is_memory ? options->allocations : options->spans;
        if (is_memory && i != REPORT_MOMENTS)
            is_wanted &= is_leak == options->leaks;
        if (is_wanted && table_is_asked_for(&report->tables[i], &options->columns))
            chosen[count++] = &report->tables[i];
    }
    return count;
}

bool report_print_csv(const struct report *report)
{
    const struct table *chosen[REPORT_TABLE_COUNT];
    struct report_options *options = report->options;
    if (options->has_header && options->is_time != report->clock.is_time) {
        tool_complain("%s: its times have another unit than those of the files before it",
                      tool_path(report->path));
        return false;
    }
    table_print_csv(chosen, choose_tables(report, chosen), &options->columns, !options->has_header);
    options->has_header = true;
    options->is_time = report->clock.is_time;
    return true;
}
