/*
 * Statistics of a whole trace: blocks shared out to workers, their tables put together, rows made of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/sized.h"
#include "reader/analysis/scopes/scope_pass.h"
#include "reader/analysis/shared/workers.h"
#include "reader/analysis/spans/async_pass.h"
#include "reader/analysis/spans/counts.h"
#include "reader/analysis/spans/named.h"
#include "reader/analysis/spans/span_scan.h"

#include <stdlib.h>
#include <string.h>

struct tbed_statistics {
    struct tbed_statistics_totals totals;
    uint64_t resolution; /* ticks */
    struct named_texts texts;
    struct tbed_span_row *spans, *asyncs;
    struct tbed_instant_row *instants;
    struct tbed_counter_row *counters;
    struct tbed_message_row *messages;
    size_t span_count, async_count, instant_count, counter_count, message_count;
};

/* ---- Rows ---- */

static uint64_t percentile(const struct tbed_statistics *statistics, const struct name_slot *slot,
                           double fraction)
{
    uint64_t ticks = tbed_histogram_percentile(slot->histogram, slot->count, fraction);
    ticks = (ticks + statistics->resolution / 2) / statistics->resolution * statistics->resolution;
    ticks = ticks < slot->min_ticks ? slot->min_ticks : ticks;
    return ticks > slot->max_ticks ? slot->max_ticks : ticks;
}

static void make_span_row(const struct tbed_statistics *statistics, const struct named *name,
                          const struct name_slot *slot, const struct name_extra *extra,
                          struct tbed_span_row *row)
{
    *row = (struct tbed_span_row){.name = name->text, .name_nbytes = name->nbytes, .id = name->id};
    if (tbed_is_pair_id(name->id))
        row->id = TBED_ID_INVALID;
    row->unknown_count = extra->unknown_count;
    row->open_count = extra->open_count;
    /* Where blocks are missing, pairs may have taken time that was no span's. */
    row->self_ticks = (int64_t)slot->self_ticks >= 0 ? slot->self_ticks : 0;
    if (slot->count == 0)
        return;
    row->count = slot->count;
    row->total_ticks = slot->total_ticks;
    row->min_ticks = slot->min_ticks;
    row->max_ticks = slot->max_ticks;
    row->p50_ticks = percentile(statistics, slot, 0.5);
    row->p90_ticks = percentile(statistics, slot, 0.9);
    row->p99_ticks = percentile(statistics, slot, 0.99);
    row->p999_ticks = percentile(statistics, slot, 0.999);
}

static void make_message_row(const struct named *name, const struct name_extra *extra, uint64_t count,
                             struct tbed_message_row *row)
{
    static const char inline_text[] = "<inline text>";
    *row = (struct tbed_message_row){
        .name = name->text, .name_nbytes = name->nbytes, .id = name->id, .count = count};
    if (name->id == TBED_ID_INVALID) {
        row->name = inline_text;
        row->name_nbytes = sizeof inline_text - 1;
    }
    memcpy(row->severity_counts, extra->severity_counts, sizeof row->severity_counts);
}

static bool is_span(const struct name_slot *slot, const struct name_extra *extra)
{
    return slot->count != 0 || slot->self_ticks != 0 || extra->unknown_count != 0 || extra->open_count != 0;
}

/* One group of ids becomes up to four rows; the lists have room. */
static void add_rows(struct tbed_statistics *statistics, const struct named *name,
                     const struct name_slot *slot, const struct name_extra *extra)
{
    uint64_t message_count = 0;
    for (size_t i = 0; i < 5; i++)
        message_count += extra->severity_counts[i];
    if (is_span(slot, extra))
        make_span_row(statistics, name, slot, extra, &statistics->spans[statistics->span_count++]);
    if (slot->instant_count != 0)
        statistics->instants[statistics->instant_count++] =
            (struct tbed_instant_row){name->text, name->nbytes, name->id, slot->instant_count};
    if (extra->counter_count != 0)
        statistics->counters[statistics->counter_count++] = (struct tbed_counter_row){
            name->text,          name->nbytes,       name->id,          extra->counter_count,
            extra->counter_last, extra->counter_min, extra->counter_max};
    if (message_count != 0)
        make_message_row(name, extra, message_count, &statistics->messages[statistics->message_count++]);
}

static const struct name_extra *slot_extra(const struct name_table *table, const struct name_slot *slot)
{
    static const struct name_extra none;
    return slot->extra != 0 ? &table->extras[slot->extra - 1] : &none;
}

/* All slots of the table with their texts, sorted. NULL: no memory. */
static struct named *name_slots(struct tbed_statistics *statistics, const struct tbed_reader *reader,
                                const struct tbed_analysis_options *options, struct name_table *table)
{
    struct named *names = calloc(table->slot_count + 1, sizeof *names);
    size_t count = 0;
    for (struct name_chunk *chunk = table->chunks; names != NULL && chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->used; i++, count++) {
            names[count].thing = &chunk->slots[i];
            names[count].id = chunk->slots[i].id;
        }
    if (names != NULL && tbed_named_resolve(&statistics->texts, reader, options, names, count) != TBED_OK) {
        free(names);
        return NULL;
    }
    return names;
}

/* Adds the slots of a group to its first. */
static struct name_slot *join_group(struct name_table *table, const struct named *group, size_t count)
{
    struct name_slot *first = group->thing;
    for (size_t i = 1; i < count; i++)
        tbed_name_table_merge_slot(table, first, table, group[i].thing);
    return first;
}

static bool have_lists(struct tbed_statistics *statistics, size_t count)
{
    statistics->spans = calloc(count + 1, sizeof *statistics->spans);
    statistics->instants = calloc(count + 1, sizeof *statistics->instants);
    statistics->counters = calloc(count + 1, sizeof *statistics->counters);
    statistics->messages = calloc(count + 1, sizeof *statistics->messages);
    return statistics->spans != NULL && statistics->instants != NULL && statistics->counters != NULL &&
           statistics->messages != NULL;
}

static enum tbed_status make_rows(struct tbed_statistics *statistics, const struct tbed_reader *reader,
                                  const struct tbed_analysis_options *options, struct name_table *table)
{
    size_t slot_count = table->slot_count;
    struct named *names = name_slots(statistics, reader, options, table);
    if (names == NULL || !have_lists(statistics, slot_count)) {
        free(names);
        return TBED_ERR_MEMORY;
    }
    for (size_t i = 0, count; i < slot_count; i += count) {
        count = tbed_named_group(names, slot_count, i);
        struct name_slot *slot = join_group(table, &names[i], count);
        add_rows(statistics, &names[i], slot, slot_extra(table, slot));
    }
    free(names);
    return table->out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

static enum tbed_status make_async_rows(struct tbed_statistics *statistics, const struct tbed_reader *reader,
                                        const struct tbed_analysis_options *options, struct name_table *table)
{
    size_t slot_count = table->slot_count;
    struct named *names = name_slots(statistics, reader, options, table);
    statistics->asyncs = calloc(slot_count + 1, sizeof *statistics->asyncs);
    if (names == NULL || statistics->asyncs == NULL) {
        free(names);
        return TBED_ERR_MEMORY;
    }
    for (size_t i = 0, count; i < slot_count; i += count) {
        count = tbed_named_group(names, slot_count, i);
        struct name_slot *slot = join_group(table, &names[i], count);
        make_span_row(statistics, &names[i], slot, slot_extra(table, slot),
                      &statistics->asyncs[statistics->async_count++]);
    }
    free(names);
    return table->out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

/* ---- The work ---- */

static void scan_blocks(struct tbed_work *work, unsigned worker)
{
    struct span_scanner *scanner = &((struct span_scanner *)work->context)[worker];
    size_t index;
    while (tbed_work_take(work, &index))
        tbed_span_scan_block(scanner, index);
}

/* Puts what the others found into the first one's table. */
static enum tbed_status join_scanners(struct tbed_statistics *statistics, struct span_scanner *scanners,
                                      unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TBED_COUNTS_ADD(&statistics->totals, &scanners[i].totals);
        scanners[0].names.out_of_memory |= scanners[i].formats.is_out_of_memory;
        if (i > 0)
            tbed_name_table_merge(&scanners[0].names, &scanners[i].names);
    }
    return scanners[0].names.out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

static enum tbed_status make_asyncs(struct tbed_statistics *statistics, struct tbed_reader *reader,
                                    const struct tbed_analysis_options *options, const uint8_t *block_marks,
                                    size_t block_count)
{
    struct name_table names;
    if (statistics->totals.async_event_count == 0)
        return TBED_OK;
    enum tbed_status status = tbed_name_table_open(&names);
    if (status == TBED_OK)
        status = tbed_async_pass(reader, block_marks, block_count, &names);
    if (status == TBED_OK)
        status = make_async_rows(statistics, reader, options, &names);
    tbed_name_table_close(&names);
    return status;
}

/* With the pairs of messages among the spans. */
static enum tbed_status make_all_rows(struct tbed_statistics *statistics, struct tbed_reader *reader,
                                      const struct tbed_analysis_options *options, struct name_table *names,
                                      const uint8_t *block_marks, size_t block_count)
{
    struct scope_pass pass = {.reader = reader, .options = options, .names = names};
    struct tbed_analysis_options named = *options;
    enum tbed_status status = tbed_scope_pass(&pass, block_marks, block_count);
    statistics->totals.pair_count = pass.pair_count;
    statistics->totals.orphan_count = pass.orphan_count;
    named.name = tbed_scope_pass_name;
    named.name_context = &pass;
    named.prepare = tbed_scope_pass_prepare;
    if (status == TBED_OK)
        status = make_rows(statistics, reader, &named, names);
    if (status == TBED_OK)
        status = make_asyncs(statistics, reader, &named, block_marks, block_count);
    tbed_scope_pass_close(&pass);
    return status;
}

static enum tbed_status read_all(struct tbed_statistics *statistics, struct tbed_reader *reader,
                                 const struct tbed_analysis_options *options, struct span_scanner *scanners,
                                 unsigned worker_count, uint8_t *block_marks)
{
    struct tbed_work work = {
        .item_count = tbed_event_block_count(reader), .run = scan_blocks, .context = scanners};
    enum tbed_status status = TBED_OK;
    for (unsigned i = 0; i < worker_count && status == TBED_OK; i++)
        status = tbed_span_scanner_open(&scanners[i], reader, options->count_open, block_marks);
    if (status != TBED_OK)
        return status;
    tbed_work_run(&work, worker_count);
    status = join_scanners(statistics, scanners, worker_count);
    if (status == TBED_OK)
        status = make_all_rows(statistics, reader, options, &scanners[0].names, block_marks, work.item_count);
    return status;
}

enum tbed_status tbed_statistics_make(struct tbed_reader *reader, const struct tbed_analysis_options *given,
                                      struct tbed_statistics **statistics_ret)
{
    struct tbed_analysis_options options;
    enum tbed_status status = tbed_analysis_options_load(given, &options);
    if (status != TBED_OK)
        return status;
    size_t block_count = tbed_event_block_count(reader);
    unsigned worker_count = tbed_worker_count(options.thread_count, block_count);
    struct tbed_statistics *statistics = calloc(1, sizeof *statistics);
    struct span_scanner *scanners = calloc(worker_count, sizeof *scanners);
    uint8_t *block_marks = calloc(block_count + 1, 1);
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    status = TBED_ERR_MEMORY;
    if (statistics != NULL)
        statistics->resolution = info.resolution_ticks;
    if (statistics != NULL && scanners != NULL && block_marks != NULL)
        status = read_all(statistics, reader, &options, scanners, worker_count, block_marks);
    for (unsigned i = 0; scanners != NULL && i < worker_count; i++)
        tbed_span_scanner_close(&scanners[i]);
    free(scanners);
    free(block_marks);
    if (status == TBED_OK)
        *statistics_ret = statistics;
    else
        tbed_statistics_close(statistics);
    return status;
}

void tbed_statistics_close(struct tbed_statistics *statistics)
{
    if (statistics == NULL)
        return;
    tbed_named_texts_free(&statistics->texts);
    free(statistics->spans);
    free(statistics->asyncs);
    free(statistics->instants);
    free(statistics->counters);
    free(statistics->messages);
    free(statistics);
}

/* ---- What was found ---- */

void tbed_statistics_totals_sized(const struct tbed_statistics *statistics,
                                  struct tbed_statistics_totals *totals_ret, size_t totals_nbytes)
{
    tbed_sized_give(totals_ret, totals_nbytes, &statistics->totals, sizeof statistics->totals);
}

const struct tbed_span_row *tbed_statistics_span(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->span_count ? &statistics->spans[index] : NULL;
}

const struct tbed_span_row *tbed_statistics_async(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->async_count ? &statistics->asyncs[index] : NULL;
}

const struct tbed_instant_row *tbed_statistics_instant(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->instant_count ? &statistics->instants[index] : NULL;
}

const struct tbed_counter_row *tbed_statistics_counter(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->counter_count ? &statistics->counters[index] : NULL;
}

const struct tbed_message_row *tbed_statistics_message(const struct tbed_statistics *statistics, size_t index)
{
    return index < statistics->message_count ? &statistics->messages[index] : NULL;
}
