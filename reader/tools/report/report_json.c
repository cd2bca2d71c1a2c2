/*
 * A report for programs: one JSON object per file, each on one line. Keys are stable. A time's key ends in its unit:
 * '_ns', or '_ticks' if the trace's clock does not measure time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <stdlib.h>
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

static void json_span(struct tbed_json *json, const struct report *report, const struct tbed_span_row *row)
{
    tbed_json_object_open(json, NULL);
    report_json_name(json, report, row->id, row->name, row->name_nbytes);
    tbed_json_u64(json, "count", row->count);
    json_ticks(json, report, "total", row->total_ticks);
    json_ticks(json, report, "self", row->self_ticks);
    json_ticks(json, report, "min", row->min_ticks);
    json_ticks(json, report, "mean", row->count == 0 ? 0 : row->total_ticks / row->count);
    json_ticks(json, report, "p50", row->p50_ticks);
    json_ticks(json, report, "p90", row->p90_ticks);
    json_ticks(json, report, "p99", row->p99_ticks);
    json_ticks(json, report, "p999", row->p999_ticks);
    json_ticks(json, report, "max", row->max_ticks);
    tbed_json_u64(json, "never_ended_count", row->open_count);
    tbed_json_u64(json, "unknown_begin_count", row->unknown_count);
    tbed_json_object_close(json);
}

static void json_spans(struct tbed_json *json, const struct report *report, const char *key,
                       const struct report_table *table)
{
    tbed_json_array_open(json, key);
    for (size_t i = 0; i < table->shown; i++)
        json_span(json, report, table->rows[i]);
    tbed_json_array_close(json);
}

static void json_instants(struct tbed_json *json, const struct report *report)
{
    const struct report_table *table = &report->instants;
    tbed_json_array_open(json, "instants");
    for (size_t i = 0; i < table->shown; i++) {
        const struct tbed_instant_row *row = table->rows[i];
        tbed_json_object_open(json, NULL);
        report_json_name(json, report, row->id, row->name, row->name_nbytes);
        tbed_json_u64(json, "count", row->count);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

static void json_counters(struct tbed_json *json, const struct report *report)
{
    tbed_json_array_open(json, "counters");
    for (size_t i = 0; i < report->counters.shown; i++) {
        const struct tbed_counter_row *row = report->counters.rows[i];
        uint32_t unit = report->reader != NULL ? tbed_counter_unit(report->reader, row->id) : TBED_ID_INVALID;
        tbed_json_object_open(json, NULL);
        report_json_name(json, report, row->id, row->name, row->name_nbytes);
        if (unit != TBED_ID_INVALID)
            tool_json_name(json, "unit", report->reader, unit);
        else
            tbed_json_string(json, "unit", NULL);
        tbed_json_u64(json, "count", row->count);
        tbed_json_f64(json, "last", row->last);
        tbed_json_f64(json, "min", row->min);
        tbed_json_f64(json, "max", row->max);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

static void json_messages(struct tbed_json *json, const struct report *report)
{
    const struct report_table *table = &report->messages;
    tbed_json_array_open(json, "messages");
    for (size_t i = 0; i < table->shown; i++) {
        const struct tbed_message_row *row = table->rows[i];
        tbed_json_object_open(json, NULL);
        report_json_name(json, report, row->id, row->name, row->name_nbytes);
        tbed_json_u64(json, "count", row->count);
        tbed_json_u64(json, "error_count", row->severity_counts[TBED_SEVERITY_ERROR]);
        tbed_json_u64(json, "warning_count", row->severity_counts[TBED_SEVERITY_WARNING]);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
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

static void json_process(struct tbed_json *json, const struct report *report,
                         const struct tbed_allocation_process *process)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "process", process->process);
    tbed_json_u64(json, "forked_from", process->forked_from);
    tbed_json_u64(json, "pid", process->pid);
    tool_json_name(json, "name", report->reader, process->name_id);
    json_sums(json, &process->sums);
    json_ticks(json, report, "peak_time",
               process->sums.peak_nbytes == 0 ? 0 : process->peak_tick - report->info.first_tick);
    tbed_json_u64(json, "inherited_free_count", process->inherited_free_count);
    tbed_json_u64(json, "unknown_free_count", process->unknown_free_count);
    tbed_json_u64(json, "null_free_count", process->null_free_count);
    tbed_json_u64(json, "event_count", process->event_count);
    tbed_json_object_close(json);
}

static void json_allocations(struct tbed_json *json, const struct report *report)
{
    tbed_json_object_open(json, "allocations");
    json_sums(json, &report->sums);
    tbed_json_object_close(json);
    tbed_json_array_open(json, "processes");
    for (size_t i = 0; i < report->processes.shown; i++)
        json_process(json, report, report->processes.rows[i]);
    tbed_json_array_close(json);
    struct tool_buffer text = {0};
    tbed_json_array_open(json, "sites");
    for (size_t i = 0; i < report->sites.shown; i++) {
        const struct tbed_allocation_site *site = report->sites.rows[i];
        struct tbed_name name = report_site_name(report, site, &text);
        tbed_json_object_open(json, NULL);
        report_json_name(json, report, site->id, name.text, name.nbytes);
        json_sums(json, &site->sums);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
    free(text.bytes);
    if (report->options->moment_count > 0)
        report_moments_json(json, report);
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

static void json_left_out(struct tbed_json *json, const char *key, const struct report_table *table)
{
    tbed_json_u64(json, key, table->count - table->shown);
}

static void json_statistics(struct tbed_json *json, const struct report *report)
{
    json_totals(json, &report->totals);
    json_spans(json, report, "spans", &report->spans);
    json_spans(json, report, "async_spans", &report->asyncs);
    json_instants(json, report);
    json_counters(json, report);
    json_messages(json, report);
}

static void json_left_out_all(struct tbed_json *json, const struct report *report)
{
    tbed_json_object_open(json, "left_out");
    json_left_out(json, "spans", &report->spans);
    json_left_out(json, "async_spans", &report->asyncs);
    json_left_out(json, "instants", &report->instants);
    json_left_out(json, "counters", &report->counters);
    json_left_out(json, "messages", &report->messages);
    json_left_out(json, "processes", &report->processes);
    json_left_out(json, "sites", &report->sites);
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
    if (report->is_profile)
        report_profile_json(&json, report);
    tbed_json_string(&json, "file", tool_path(report->path));
    tbed_json_string(&json, "tick_unit", info->clock == TBED_CLOCK_USER ? info->clock_unit : NULL);
    tool_filter_json(&json, &report->options->filter, &report->options->filter.window);
    if (report->reader != NULL)
        json_trace(&json, report);
    else
        json_foreign(&json, report);
    if (report->statistics != NULL)
        json_statistics(&json, report);
    if (report->allocations != NULL)
        json_allocations(&json, report);
    json_left_out_all(&json, report);
    tool_json_texts_left_out(&json, report->reader != NULL ? tbed_reader_texts_left_out(report->reader)
                                                           : report->totals.foreign_texts_left_out);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}
