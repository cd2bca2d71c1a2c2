/*
 * What exports of tables have in common; see column_export.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/base/column_export.h"

#include "reader/core/file/reader_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

/*
 * What was recorded. Engines compute for themselves what the other tables sum up, and 'events', 'strings' and 'bindings' only
 * repeat what these say.
 */
static const char *const recorded[] = {
    "spans",     "instants", "counters",  "messages", "allocations", "args",  "flows",
    "processes", "threads",  "locations", "stacks",   "frames",      "units", "loads",
    "drops",     "losses",   "gaps",      "damage",   "info",
};

/* ---- What tells a trace from others ---- */

/* To the nearest second: the two clocks are not read at exactly the same time. */
static bool boot_of(const struct tbed_header_fields *header, int64_t *boot_ns)
{
    int64_t boot;
    if (header->anchor_monotonic_ns == 0 || header->anchor_monotonic_ns > INT64_MAX ||
        __builtin_sub_overflow(header->anchor_realtime_ns, (int64_t)header->anchor_monotonic_ns, &boot) ||
        __builtin_add_overflow(boot, SECOND / 2, &boot))
        return false;
    int64_t part = boot % SECOND;
    return !__builtin_sub_overflow(boot, part < 0 ? part + SECOND : part, boot_ns);
}

void tbed_trace_key_get(struct tbed_reader *reader, const char *host, struct trace_key *key)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    *key = (struct trace_key){.host = host};
    snprintf(key->file_id, sizeof key->file_id, "%016" PRIx64, info.file_id);
    key->has_boot = boot_of(&reader->header, &key->boot_ns);
    key->has_start =
        tbed_ticks_to_realtime_ns(reader, info.first_tick, &key->start_ns) == TBED_OK &&
        !__builtin_sub_overflow(key->start_ns, tbed_ticks_to_ns(reader, info.first_tick), &key->start_ns);
}

/* ---- Tables ---- */

static bool has_parameters(const struct tbed_table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].is_parameter)
            return true;
    return false;
}

bool tbed_column_export_table(const struct export_job *job, const struct tbed_table **table_ret)
{
    const char *name = job->options.table;
    *table_ret = name != NULL ? tbed_table_find(name) : NULL;
    return name == NULL || (*table_ret != NULL && !has_parameters(*table_ret));
}

bool tbed_column_export_has(const struct tbed_table *table)
{
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++)
        if (strcmp(table->name, recorded[i]) == 0)
            return true;
    return false;
}

enum tbed_status tbed_column_export_scan(const struct column_export *export, const struct tbed_table *table,
                                         uint64_t columns, struct tbed_scan **scan_ret)
{
    const struct tbed_export_options *options = &export->job->options;
    struct tbed_scan_options scan = {.size = sizeof scan,
                                     .columns = columns,
                                     .thread_count = options->thread_count,
                                     .filter = export->filter,
                                     .is_cancelled = options->is_cancelled};
    return tbed_scan_open(export->tables, table, &scan, scan_ret, export->job->error);
}

void tbed_column_export_count(const struct export_job *job, const struct tbed_table *table,
                              const struct column_counts *counts)
{
    struct tbed_export_result *result = job->result;
    result->written = "row";
    result->written_count += counts->row_count;
    result->notes[TBED_EXPORT_NOTE_REPLACED] += counts->replaced_count;
    result->notes[TBED_EXPORT_NOTE_SHORTENED] += counts->shortened_count;
    if (strcmp(table->name, "spans") == 0)
        result->span_count += counts->row_count;
}
