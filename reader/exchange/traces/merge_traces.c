/*
 * Several traces in one; see <tracebed/copy.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/base/json.h"
#include "reader/core/base/wide.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/traces/source_clock.h"
#include "reader/exchange/traces/trace_copy.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S 1000000000u

struct merging {
    struct tbed_reader *const *readers;
    size_t count, source; /* the source that something is wrong with */
    struct tbed_merge_options options;
    struct trace_copy copy;
    struct tbed_copy_report report;
    struct tbed_text metadata;
    int64_t base_ns; /* the wall-clock time of tick 1 */
};

/* ---- Clocks ---- */

static bool has_one_clock(const struct merging *merging)
{
    for (size_t i = 1; i < merging->count; i++)
        if (!tbed_clocks_are_one(merging->readers[0], merging->readers[i]))
            return false;
    return merging->options.time == TBED_MERGE_WALL_CLOCK && merging->options.shifts_ns == NULL;
}

static enum tbed_status check_clocks(struct merging *merging)
{
    bool is_same = merging->options.time == TBED_MERGE_SAME_CLOCK;
    for (merging->source = 0; merging->source < merging->count; merging->source++) {
        const struct tbed_reader *reader = merging->readers[merging->source];
        struct tbed_clock_quality quality;
        tbed_clock_quality_get(reader, &quality);
        if (is_same &&
            (!tbed_clocks_are_alike(merging->readers[0], reader) ||
             (merging->options.shifts_ns != NULL && merging->options.shifts_ns[merging->source] != 0)))
            return TBED_ERR_CLOCK_DIFFERS;
        bool has_time = merging->options.time == TBED_MERGE_WALL_CLOCK
                            ? quality.has_wall_clock
                            : reader->header.clock != TBED_CLOCK_USER;
        if (!is_same && !has_time)
            return TBED_ERR_NO_TIME;
    }
    return TBED_OK;
}

static struct tbed_wide plus(struct tbed_wide a, int64_t b)
{
    return tbed_wide_add(a, tbed_wide_extend(b));
}

static struct tbed_wide minus(struct tbed_wide a, int64_t b)
{
    return tbed_wide_subtract(a, tbed_wide_extend(b));
}

/* The new trace's ticks are nanoseconds; the first event has tick 1. */
static uint64_t tick_in_ns(const struct copy_source *source, uint64_t tick)
{
    int64_t ns = 0;
    tbed_ticks_to_realtime_ns(source->reader, tick, &ns);
    int64_t at = tbed_wide_clamp(plus(plus(tbed_wide_extend(ns), source->shift_ns), 1));
    return at > 0 ? (uint64_t)at : 1;
}

static int64_t start_of(const struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    int64_t ns = 0;
    tbed_reader_info(reader, &info);
    tbed_ticks_to_realtime_ns(reader, info.first_tick, &ns);
    return ns;
}

/* Sets what is added to the wall-clock time of each source. */
static void set_shifts(struct merging *merging)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < merging->count; i++) {
        struct copy_source *source = &merging->copy.sources[i];
        struct tbed_wide shift =
            tbed_wide_extend(merging->options.shifts_ns != NULL ? merging->options.shifts_ns[i] : 0);
        int64_t start = start_of(source->reader);
        if (merging->options.time == TBED_MERGE_SAME_START)
            shift = minus(plus(shift, start_of(merging->readers[0])), start);
        source->shift_ns = tbed_wide_clamp(shift);
        int64_t shifted = tbed_wide_clamp(plus(shift, start));
        least = shifted < least ? shifted : least;
    }
    merging->base_ns = least;
    for (size_t i = 0; i < merging->count; i++) {
        struct copy_source *source = &merging->copy.sources[i];
        source->shift_ns = tbed_wide_clamp(minus(tbed_wide_extend(source->shift_ns), least));
        source->tick = tick_in_ns;
    }
}

static void set_fields(struct merging *merging)
{
    struct tbed_header_fields *fields = &merging->copy.fields;
    bool is_one = merging->report.is_one_clock;
    *fields = merging->readers[0]->header;
    for (size_t i = 0; i < merging->count; i++)
        if (merging->readers[i]->header.resolution_ns > fields->resolution_ns)
            fields->resolution_ns = merging->readers[i]->header.resolution_ns;
    fields->ring_page_count = 0;
    if (is_one) {
        tbed_trace_copy_choose_anchor(merging->readers[0], fields);
        return;
    }
    set_shifts(merging);
    fields->clock = TBED_CLOCK_MONOTONIC;
    fields->ticks_per_second = NS_PER_S;
    fields->anchor_ticks = 1;
    fields->anchor_realtime_ns = merging->base_ns;
    fields->anchor_monotonic_ns = 0;
    memset(fields->clock_unit, 0, sizeof fields->clock_unit);
}

/* Two events of different sources may be wrong by the sum of both errors. */
static uint64_t uncertainty_of(const struct merging *merging)
{
    uint64_t most = 0, second = 0;
    if (merging->report.is_one_clock)
        return 0;
    for (size_t i = 0; i < merging->count; i++) {
        struct tbed_clock_quality quality;
        tbed_clock_quality_get(merging->readers[i], &quality);
        uint64_t ns = quality.uncertainty_ns;
        second = ns > most ? most : ns > second ? ns : second;
        most = ns > most ? ns : most;
    }
    return most > UINT64_MAX - second ? UINT64_MAX : most + second;
}

/* ---- Numbers ---- */

static bool gives_meaning(const struct tbed_reader *reader)
{
    const struct tbed_metadata *metadata = reader->metadata;
    return metadata->units.count + metadata->stacks.count + metadata->bindings.count +
               metadata->frames.count >
           0;
}

/* Unless any source gives reserved ids a meaning, they are the application's numbers, and stay. */
static enum tbed_status add_sources(struct merging *merging)
{
    struct trace_counters *total = &merging->copy.counters;
    uint64_t streams = 0, ids = 0;
    bool shifts_ids = false;
    for (size_t i = 0; i < merging->count; i++)
        shifts_ids |= gives_meaning(merging->readers[i]);
    for (merging->source = 0; merging->source < merging->count; merging->source++) {
        struct copy_source *source = &merging->copy.sources[merging->source];
        struct trace_copy one = {0};
        enum tbed_status status = tbed_trace_copy_add(&one, source, merging->readers[merging->source], NULL);
        if (status != TBED_OK)
            return status;
        source->first_stream = (uint32_t)streams;
        source->ids.first_reserved = shifts_ids ? (uint32_t)ids : 0;
        streams += one.counters.next_stream - 1;
        ids += shifts_ids ? source->ids.reserved_end : 0;
        if (streams >= UINT32_MAX || ids > TBED_ID_MAX_RESERVED)
            return TBED_ERR_ARGUMENT;
        for (unsigned j = 0; j < TBED_DROP_CAUSE_COUNT; j++)
            if (__builtin_add_overflow(total->drops[j], one.counters.drops[j], &total->drops[j]))
                total->drops[j] = UINT64_MAX;
        if (one.counters.next_reserved_id > total->next_reserved_id)
            total->next_reserved_id = one.counters.next_reserved_id;
    }
    total->next_stream = streams + 1;
    total->next_reserved_id = shifts_ids ? ids : total->next_reserved_id;
    return TBED_OK;
}

/* A trace and its recovered copy have the same id. */
static bool is_same(const struct tbed_header_fields *a, const struct tbed_header_fields *b)
{
    return a->file_id == b->file_id && a->anchor_ticks == b->anchor_ticks &&
           a->anchor_realtime_ns == b->anchor_realtime_ns;
}

static bool has_twice(struct merging *merging)
{
    for (merging->source = 1; merging->source < merging->count; merging->source++)
        for (size_t i = 0; i < merging->source; i++)
            if (is_same(&merging->readers[i]->header, &merging->readers[merging->source]->header))
                return true;
    return false;
}

/* ---- Metadata ---- */

static void describe_source(const struct merging *merging, struct tbed_json *json, size_t index)
{
    const struct copy_source *source = &merging->copy.sources[index];
    struct tbed_clock_quality quality;
    uint8_t id[8];
    tbed_clock_quality_get(source->reader, &quality);
    for (unsigned i = 0; i < sizeof id; i++)
        id[i] = (uint8_t)(source->reader->header.file_id >> (56 - 8 * i));
    tbed_json_object_open(json, NULL);
    tbed_json_hex(json, "file_id", id, sizeof id);
    tbed_json_u64(json, "first_stream", source->first_stream);
    tbed_json_u64(json, "first_id", source->ids.first_reserved);
    tbed_json_u64(json, "anchors", quality.anchor_count);
    tbed_json_f64(json, "drift_ppm", quality.drift_ppm);
    tbed_json_u64(json, "uncertainty_ns", quality.uncertainty_ns);
    tbed_json_object_close(json);
}

static enum tbed_status describe(struct merging *merging)
{
    struct tbed_json json = {.text = &merging->metadata};
    uint32_t id;
    for (size_t i = 0; i < merging->count; i++)
        if (tbed_id_binding(merging->readers[i], TBED_ID_METADATA, &id))
            return TBED_OK;
    tbed_json_object_open(&json, NULL);
    tbed_json_array_open(&json, "merged");
    for (size_t i = 0; i < merging->count; i++)
        describe_source(merging, &json, i);
    tbed_json_array_close(&json);
    tbed_json_bool(&json, "one_clock", merging->report.is_one_clock);
    tbed_json_u64(&json, "uncertainty_ns", merging->report.uncertainty_ns);
    tbed_json_object_close(&json);
    tbed_text_put(&merging->metadata, "", 1);
    merging->copy.metadata = merging->metadata.bytes;
    return merging->metadata.is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

/* ---- The merge ---- */

static enum tbed_status prepare(struct merging *merging)
{
    merging->source = 0;
    if (merging->count == 0 || merging->options.time > TBED_MERGE_SAME_START || has_twice(merging))
        return TBED_ERR_ARGUMENT;
    enum tbed_status status = check_clocks(merging);
    if (status == TBED_OK)
        status = add_sources(merging);
    if (status != TBED_OK)
        return status;
    merging->report.is_one_clock = merging->options.time == TBED_MERGE_SAME_CLOCK || has_one_clock(merging);
    set_fields(merging);
    merging->report.uncertainty_ns = uncertainty_of(merging);
    return describe(merging);
}

static enum tbed_status merge(struct merging *merging, const char *path, struct tbed_error *error)
{
    errno = 0;
    enum tbed_status status = prepare(merging);
    if (status != TBED_OK)
        return tbed_exchange_fail(error, status);
    struct tbed_copy_report report = merging->report;
    status = tbed_trace_copy_to(&merging->copy, path, merging->options.overwrite, &report, error);
    report.is_one_clock = merging->report.is_one_clock;
    report.uncertainty_ns = merging->report.uncertainty_ns;
    merging->report = report;
    return status;
}

enum tbed_status tbed_traces_merge_sized(struct tbed_reader *const *readers, size_t count, const char *path,
                                         const struct tbed_merge_options *given,
                                         struct tbed_copy_report *report_ret, size_t *source_ret,
                                         struct tbed_error *error_ret, size_t report_nbytes)
{
    struct merging merging = {.readers = readers, .count = count};
    errno = 0;
    if (given != NULL && !tbed_options_take(&merging.options, sizeof merging.options, given))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    merging.copy.sources = calloc(count > 0 ? count : 1, sizeof *merging.copy.sources);
    merging.copy.source_count = count;
    enum tbed_status status = merging.copy.sources != NULL ? merge(&merging, path, error_ret)
                                                           : tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    for (size_t i = 0; i < count && merging.copy.sources != NULL; i++)
        tbed_copy_source_free(&merging.copy.sources[i]);
    free(merging.copy.sources);
    free(merging.metadata.bytes);
    if (source_ret != NULL)
        *source_ret = merging.source < count ? merging.source : 0;
    if (status == TBED_OK && report_ret != NULL)
        tbed_sized_give(report_ret, report_nbytes, &merging.report, sizeof merging.report);
    return status;
}
