/*
 * A trace as the source of statistics: each event block is a chunk. A stream is taken in one of two ways, which
 * give the same figures: as regular, until a block turns out not to be; otherwise in the general way, backwards.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/string.h"
#include "reader/analysis/shared/named.h"
#include "reader/analysis/statistics/source.h"
#include "reader/analysis/trace/trace_worker.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/names/id_info.h"
#include "reader/core/records/metadata.h"
#include "reader/core/strings/string_table.h"

#include <stdlib.h>
#include <string.h>

static void take_other(void *context, const struct block_spans *spans, const struct tbed_event *event,
                       size_t word)
{
    tbed_stat_take_other(context, event, spans->block.stream, word);
}

static void recount_other(void *context, const struct block_spans *spans, const struct tbed_event *event,
                          size_t word)
{
    tbed_stat_recount_other(context, event, spans->block.stream, word);
}

/* ---- A worker's own ---- */

static uint32_t number_arguments(void *context, const struct tbed_arguments *arguments, uint32_t count)
{
    return tbed_stat_arguments_number(context, arguments, count);
}

static void free_trace_worker(void *scratch)
{
    struct trace_worker *trace = scratch;
    tbed_block_spans_free(&trace->spans);
    tbed_number_map_free(&trace->argument_numbers);
    free(trace->frames);
    tbed_stable_block_free(&trace->stable);
    free(trace);
}

/* NULL: no memory. */
static struct trace_worker *trace_worker_of(struct stat_worker *worker)
{
    const struct trace_source *source = worker->context;
    if (worker->scratch == NULL && !worker->out_of_memory) {
        struct trace_worker *trace = calloc(1, sizeof *trace);
        worker->out_of_memory |= trace == NULL;
        if (trace == NULL)
            return NULL;
        trace->worker = worker;
        trace->source = source;
        trace->spans.reader = source->reader;
        trace->spans.has_categories = true;
        trace->spans.filter = source->options.filter;
        trace->spans.other_context = trace;
        trace->spans.number_arguments = source->keys.by == TBED_BY_ARGUMENTS ? number_arguments : NULL;
        trace->spans.back.reader = source->reader;
        trace->spans.back.passages = source->passages;
        worker->scratch = trace;
        worker->free_scratch = free_trace_worker;
    }
    return worker->scratch;
}

/* ---- The general way ---- */

static void count_block(struct stat_worker *worker, const struct block_spans *spans)
{
    struct tbed_statistics_totals *totals = &worker->totals;
    totals->block_count++;
    totals->inherited_count += trace_inherited_count(&spans->block);
    totals->damaged_block_count += spans->is_damaged;
    totals->begin_count += spans->begin_count;
    totals->end_count += spans->end_count;
    totals->whole_span_count += spans->whole_count;
    totals->event_count += spans->begin_count + spans->end_count + spans->whole_count;
    totals->decrease_count += spans->decrease_count;
    totals->unnamed_open_count += spans->unnamed_count;
}

/* A span of which the begin is not known, or that ends before it begins, belongs to the time of its end. */
static uint64_t key_of(const struct trace_source *source, uint32_t stream, const struct block_span *span)
{
    bool has_begin = span->kind != TBED_STEP_UNKNOWN && span->begin_tick < span->end_tick;
    return row_key(&source->keys,
                   (struct row_key_parts){.tick = has_begin ? span->begin_tick : span->end_tick,
                                          .stream = stream,
                                          .id = span->id,
                                          .category = span->category,
                                          .arguments = span->arguments});
}

/* Adds the time off the processor to the id's row, and takes it out of the span if durations are to be without it. */
static void take_off_cpu(struct stat_worker *worker, uint32_t stream, uint64_t id, uint64_t *begin,
                         uint64_t *end)
{
    const struct trace_source *source = worker->context;
    uint64_t before = tbed_off_cpu_before(&source->off_cpu, stream, *begin);
    uint64_t after = tbed_off_cpu_before(&source->off_cpu, stream, *end);
    if (after > before) {
        struct stat_extra *extra = tbed_stat_extra(&worker->cells, stat_row(worker, id) & STAT_ROW_MAX);
        worker->out_of_memory |= extra == NULL;
        if (extra != NULL)
            extra->off_cpu_ticks += after - before;
    }
    if (source->options.without_off_cpu) {
        *begin -= before;
        *end -= after;
    }
}

static void take_item(struct stat_worker *worker, uint32_t stream, const struct block_span *span)
{
    const struct trace_source *source = worker->context;
    uint64_t id = key_of(source, stream, span), begin = span->begin_tick, end = span->end_tick;
    if (span->kind == TBED_STEP_UNKNOWN) {
        tbed_stat_take_unknown(worker, id);
        return;
    }
    if (source->off_cpu.threads.count > 0)
        take_off_cpu(worker, stream, id, &begin, &end);
    stat_take_span(worker, stream, span->category, id, begin, end);
    if (span->kind == TBED_STEP_OPEN)
        tbed_stat_count_open(worker, id);
}

static void take_general(struct trace_worker *trace, size_t index)
{
    struct stat_worker *worker = trace->worker;
    struct block_spans *spans = &trace->spans;
    trace->index = index;
    spans->other = take_other;
    enum tbed_status status = tbed_block_spans_read(spans, index);
    worker->out_of_memory |= status == TBED_ERR_MEMORY;
    worker->totals.bad_block_count += status != TBED_OK;
    if (status != TBED_OK)
        return;
    if (trace->source->options.without_off_cpu &&
        tbed_off_cpu_has(&trace->source->off_cpu, spans->block.stream))
        return;
    count_block(worker, spans);
    for (size_t i = spans->count; i-- > 0;) {
        if (i >= 8)
            stat_row_prefetch(worker, spans->items[i - 8].id);
        take_item(worker, spans->block.stream, &spans->items[i]);
    }
}

/* ---- Both ways ---- */

/* The place where the way of taking the block's stream is stored; NULL: the block is damaged. */
static uint8_t *way_of(const struct trace_source *source, size_t index)
{
    struct tbed_block block;
    size_t first, count;
    if (tbed_event_block_get(source->reader, index, &block) != TBED_OK)
        return NULL;
    tbed_stream_blocks(source->reader, block.stream, &first, &count);
    return &source->is_general[first];
}

static void take_held(struct stat_worker *worker, size_t chunk)
{
    struct trace_worker *trace = trace_worker_of(worker);
    struct trace_source *source = (void *)worker->context;
    size_t index = source->blocks[chunk];
    uint8_t *way = trace != NULL ? way_of(source, index) : NULL;
    if (way == NULL) {
        worker->totals.bad_block_count++;
        return;
    }
    if (__atomic_load_n(way, __ATOMIC_RELAXED) == 0 && tbed_stat_take_regular(trace, index))
        return;
    /* This block or another one is irregular, so the sums taken from the stream so far are unusable. */
    if (__atomic_exchange_n(way, 1, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&source->must_repeat, true, __ATOMIC_RELAXED);
    take_general(trace, index);
}

static void take_block(struct stat_worker *worker, size_t chunk)
{
    const struct trace_source *source = worker->context;
    struct tbed_lease lease;
    tbed_lease_begin(&lease, source->reader->map.packed);
    take_held(worker, chunk);
    tbed_lease_end(&lease);
}

static bool must_repeat(const void *context)
{
    struct trace_source *source = (void *)context;
    return __atomic_exchange_n(&source->must_repeat, false, __ATOMIC_RELAXED);
}

static void recount_block(struct stat_worker *worker, size_t chunk)
{
    struct trace_worker *trace = trace_worker_of(worker);
    if (trace == NULL)
        return;
    size_t index = trace->source->blocks[chunk];
    trace->index = index;
    trace->spans.other = recount_other;
    trace->spans.has_categories = false;
    trace->spans.number_arguments = NULL;
    if (tbed_block_spans_read(&trace->spans, index) == TBED_ERR_MEMORY)
        worker->out_of_memory = true;
}

/* Rules out streams that are clearly irregular, for example because the first block contains complete spans. */
static void guess_ways(const struct trace_source *source)
{
    struct tbed_block block;
    struct tbed_lease lease;
    size_t first, stream_count;
    for (size_t i = 0; i < source->block_count; i++) {
        tbed_lease_begin(&lease, source->reader->map.packed);
        bool is_there = tbed_event_block_get(source->reader, source->blocks[i], &block) == TBED_OK;
        bool is_regular = is_there && tbed_stat_looks_regular(&block);
        tbed_lease_end(&lease);
        if (!is_there)
            continue;
        tbed_stream_blocks(source->reader, block.stream, &first, &stream_count);
        source->is_general[first] = source->is_general[first] != 0 || !is_regular;
        while (i + 1 < source->block_count && source->blocks[i + 1] < first + stream_count)
            i++;
    }
}

/* ---- Labels ---- */

/* A reference followed by nothing or by a separator: the form of nearly all event ids of a compiler. */
static bool is_reference(const uint8_t *content, uint32_t nbytes, uint64_t *id_ret)
{
    if (nbytes < 5 || content[0] >> 6 != 2 || (content[4] != 0xFF && content[4] != 0x1E))
        return false;
    *id_ret = (uint64_t)(content[0] & 0x3F) << 24 | (uint64_t)content[1] << 16 | (uint64_t)content[2] << 8 |
              content[3];
    return true;
}

/* The block in which the string may have been found before. */
static struct tbed_block *string_block(struct trace_worker *trace, uint32_t string_id)
{
    uint64_t page = tbed_string_id_address(string_id) / trace->source->reader->header.page_nbytes;
    return &trace->strings[page % TRACE_STRING_BLOCKS];
}

static bool label_of(struct stat_worker *worker, uint64_t id, uint64_t *label_id_ret)
{
    struct trace_worker *trace = trace_worker_of(worker);
    struct tbed_string_entry entry;
    uint32_t string_id;
    return trace != NULL && id <= TBED_ID_MAX_RESERVED &&
           tbed_binding_find(trace->source->reader->metadata, (uint32_t)id, &string_id) &&
           tbed_string_find_near(trace->source->reader, string_id, string_block(trace, string_id), &entry) ==
               TBED_OK &&
           is_reference(entry.content, entry.nbytes, label_id_ret) &&
           tbed_content_check(entry.content, entry.nbytes) == TBED_OK; /* a damaged string has no label */
}

/* ---- Names of code locations ---- */

static bool is_named(const void *context, uint64_t id)
{
    const struct trace_source *source = context;
    struct tbed_location location;
    return id >= STAT_KEY_FIRST ||
           (id <= TBED_ID_MAX_RESERVED && tbed_location_resolve(source->reader, (uint32_t)id, &location));
}

static size_t name(const void *context, uint64_t id, char *buffer, size_t buffer_nbytes)
{
    const struct trace_source *source = context;
    if (id >= STAT_KEY_FIRST)
        return tbed_row_key_name(&source->keys, id, buffer, buffer_nbytes);
    if (source->options.name == NULL)
        return tbed_id_spell(source->reader, (uint32_t)id, TBED_NAME_ALL, buffer, buffer_nbytes);
    return source->options.name(source->options.name_context, (uint32_t)id, buffer, buffer_nbytes);
}

static void prepare(const void *context, const uint32_t *ids, size_t count)
{
    const struct trace_source *source = context;
    if (source->options.name == NULL)
        tbed_names_prepare(source->reader, ids, count, false);
    else if (source->options.prepare != NULL)
        source->options.prepare(source->options.name_context, ids, count);
}

static enum tbed_status make(struct trace_source *trace, struct tbed_statistics **statistics_ret)
{
    struct tbed_trace_info info;
    const struct tbed_analysis_options *options = &trace->options;
    tbed_reader_info(trace->reader, &info);
    struct stat_source source = {
        .context = trace,
        .chunk_count = trace->block_count,
        .blocks = trace->blocks,
        .filter = options->filter,
        .take = take_block,
        .recount = recount_block,
        .must_repeat = must_repeat,
        .strings = tbed_label_strings(trace->reader),
        .label_of = label_of,
        .is_named = is_named,
        .name = name,
        .prepare = prepare,
        .has_ids_in_keys = row_keys_have_ids(&trace->keys),
        .reader = trace->reader,
        .resolution = info.resolution_ticks,
        .unit = info.clock == TBED_CLOCK_USER ? info.clock_unit : NULL,
    };
    guess_ways(trace);
    enum tbed_status status = tbed_stat_run(&source, options, statistics_ret);
    if (status != TBED_OK || !tbed_filter_has_failed(options->filter))
        return status;
    tbed_statistics_close(*statistics_ret);
    return TBED_ERR_MEMORY;
}

enum tbed_status tbed_stat_make_trace(struct tbed_reader *reader, const struct tbed_analysis_options *given,
                                      bool all_general, struct tbed_statistics **statistics_ret)
{
    struct trace_source trace = {.reader = reader};
    size_t block_count = tbed_event_block_count(reader);
    enum tbed_status status = tbed_analysis_options_load(given, &trace.options);
    tbed_argument_sets_init(&trace.arguments, reader);
    if (status == TBED_OK)
        status = tbed_row_keys_open(&trace.keys, reader, &trace.options, &trace.arguments);
    if (status != TBED_OK)
        return status;
    if (trace.options.count_off_cpu || trace.options.without_off_cpu)
        status = tbed_off_cpu_load(reader, &trace.off_cpu);
    all_general |= trace.off_cpu.threads.count > 0;
    all_general |= trace.options.by != TBED_BY_LABEL; /* the other way looks at ids only */
    all_general |= trace.options.filter != NULL && !tbed_filter_is_window(trace.options.filter);
    trace.passages = calloc(block_count + 1, sizeof *trace.passages);
    trace.is_general = calloc(block_count + 1, sizeof *trace.is_general);
    trace.blocks = tbed_filter_list_blocks(trace.options.filter, reader, &trace.block_count);
    if (trace.is_general != NULL)
        memset(trace.is_general, all_general, block_count + 1);
    if (trace.passages == NULL || trace.is_general == NULL || trace.blocks == NULL)
        status = TBED_ERR_MEMORY;
    if (status == TBED_OK)
        status = make(&trace, statistics_ret);
    tbed_off_cpu_free(&trace.off_cpu);
    free(trace.blocks);
    free(trace.passages);
    free(trace.is_general);
    tbed_argument_sets_free(&trace.arguments);
    return status;
}

enum tbed_status tbed_statistics_make(struct tbed_reader *reader, const struct tbed_analysis_options *options,
                                      struct tbed_statistics **statistics_ret)
{
    return tbed_stat_make_trace(reader, options, false, statistics_ret);
}
