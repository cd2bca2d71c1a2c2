/*
 * What the exports that are sums by stack have in common; see stack_sums.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/stacks/stack_sums.h"

#include "reader/analysis/filter/filter.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/stacks/left_out.h"

#include <errno.h>

static enum tbed_status done(const struct stack_sums *sums, enum tbed_status status)
{
    errno = 0;
    return status == TBED_OK ? TBED_OK : tbed_exchange_fail(sums->job->error, status);
}

static void turn(struct stack_sums *sums, size_t index)
{
    tbed_stacks_close(sums->stacks);
    tbed_memory_rows_close(&sums->memory);
    tbed_allocations_close(sums->sites);
    sums->stacks = NULL;
    sums->sites = NULL;
    sums->reader = sums->job->readers[index];
    sums->filter = tbed_export_job_filter(sums->job, index);
    tbed_reader_info(sums->reader, &sums->info);
}

/* Fewer than usual, so that an export takes no more than 64 MiB; of more, those with the least time become "<other>". */
#define PATHS_MAX (TBED_STACK_PATHS_USUAL / 8 * 3)

static enum tbed_status make_stacks(struct stack_sums *sums, size_t index)
{
    turn(sums, index);
    struct tbed_stacks_options options = {.size = sizeof options,
                                          .thread_count = sums->job->options.thread_count,
                                          .filter = sums->filter,
                                          .path_count_max = PATHS_MAX,
                                          .is_cancelled = sums->job->options.is_cancelled};
    return tbed_stacks_make(sums->reader, &options, &sums->stacks);
}

/* ---- Time or memory ---- */

/* Whether a trace has spans that count, and how many allocation events it has. */
static enum tbed_status look(const struct export_job *job, size_t index, bool *has_spans_ret,
                             uint64_t *allocation_count)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status = tbed_assembler_open_filtered(job->readers[index], NULL, 0,
                                                           tbed_export_job_filter(job, index), &assembler);
    if (status != TBED_OK)
        return status;
    while (!*has_spans_ret && (status = tbed_assembler_next(assembler, &step)) == TBED_OK) {
        *has_spans_ret = step.span != NULL && step.kind != TBED_STEP_UNKNOWN &&
                         tbed_filter_sums_stream(tbed_export_job_filter(job, index), job->readers[index],
                                                 step.span->stream);
        *allocation_count += step.kind == TBED_STEP_EVENT &&
                             (step.event->type == TBED_EVENT_ALLOC || step.event->type == TBED_EVENT_REALLOC);
    }
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

enum tbed_status tbed_stack_sums_open(struct stack_sums *sums, const struct export_job *job)
{
    enum tbed_status status = TBED_OK;
    uint64_t allocation_count = 0;
    bool has_any_span = false;
    *sums = (struct stack_sums){.job = job, .by_memory = job->options.by_memory};
    for (size_t i = 0; i < job->reader_count && !sums->by_memory && !has_any_span && status == TBED_OK; i++)
        status = look(job, i, &has_any_span, &allocation_count);
    if (!sums->by_memory && !has_any_span && allocation_count > 0) {
        sums->by_memory = true;
        job->result->notes[TBED_EXPORT_NOTE_BY_MEMORY] = job->reader_count;
    }
    return done(sums, status);
}

/* ---- One trace ---- */

enum tbed_status tbed_stack_sums_time(struct stack_sums *sums, size_t index)
{
    struct tbed_export_result *result = sums->job->result;
    struct tbed_stacks_totals totals;
    enum tbed_status status = make_stacks(sums, index);
    if (status != TBED_OK)
        return done(sums, status);
    tbed_stacks_totals(sums->stacks, &totals);
    result->span_count += totals.span_count;
    result->notes[TBED_EXPORT_NOTE_OPEN] += totals.open_count;
    result->notes[TBED_EXPORT_NOTE_INVERTED] += totals.inverted_count;
    result->notes[TBED_EXPORT_NOTE_NEGATIVE] += totals.negative_count;
    result->notes[TBED_EXPORT_NOTE_COMBINED] += totals.deep_count;
    result->notes[TBED_EXPORT_NOTE_FOLDED] += totals.folded_count;
    return tbed_left_out_count(sums->job, index, LEFT_OUT_TAKES_SPANS);
}

enum tbed_status tbed_stack_sums_memory(struct stack_sums *sums, size_t index)
{
    turn(sums, index);
    struct memory_rows_options options = {.thread_count = sums->job->options.thread_count,
                                          .filter = sums->filter};
    enum tbed_status status = tbed_memory_rows_make(sums->reader, &options, &sums->memory);
    return status != TBED_OK ? done(sums, status)
                             : tbed_left_out_count(sums->job, index, LEFT_OUT_TAKES_ALLOCATIONS);
}

enum tbed_status tbed_stack_sums_sites(struct stack_sums *sums, size_t index)
{
    turn(sums, index);
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = sums->job->options.thread_count,
                                            .filter = sums->filter,
                                            .by_stack = true};
    enum tbed_status status = tbed_allocations_make(sums->reader, &options, &sums->sites);
    return status != TBED_OK ? done(sums, status)
                             : tbed_left_out_count(sums->job, index, LEFT_OUT_TAKES_ALLOCATIONS);
}

const struct tbed_stack_row *tbed_stack_sums_row(const struct stack_sums *sums, size_t index)
{
    if (sums->stacks != NULL)
        return tbed_stacks_row(sums->stacks, index);
    return index < sums->memory.rows.count ? &sums->memory.rows.items[index] : NULL;
}

uint64_t tbed_stack_sums_value(const struct stack_sums *sums, uint64_t ticks)
{
    if (sums->stacks == NULL || sums->info.clock == TBED_CLOCK_USER ||
        sums->info.ticks_per_second == 1000000000)
        return ticks; /* exactly */
    double ns = tbed_tick_span_to_ns(sums->reader, ticks);
    return ns >= 0x1p64 ? UINT64_MAX : (uint64_t)(ns + 0.5);
}

size_t tbed_stack_sums_places(const struct tbed_reader *reader, const struct tbed_allocation_site *site,
                              uint32_t ids[STACK_SUMS_DEPTH_MAX])
{
    size_t count = tbed_stack_locations(reader, site->id, ids, STACK_SUMS_DEPTH_MAX);
    if (count > 0)
        return count < STACK_SUMS_DEPTH_MAX ? count : STACK_SUMS_DEPTH_MAX;
    ids[0] = site->id;
    return 1;
}

bool tbed_stack_sums_frames(struct frame_table *table, const struct tbed_allocation_site *site,
                            frame_list *list)
{
    uint32_t locations[STACK_SUMS_DEPTH_MAX];
    size_t count = tbed_stack_sums_places(table->reader, site, locations);
    list->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct frame_place *place = tbed_frame_table_place(table, locations[i]);
        uint32_t *items = place != NULL ? TBED_VECTOR_EXTEND(list, place->count) : NULL;
        if (items == NULL)
            return false;
        memcpy(items, table->lists.items + place->first, place->count * sizeof *items);
    }
    return true;
}

void tbed_stack_sums_close(struct stack_sums *sums)
{
    tbed_stacks_close(sums->stacks);
    tbed_memory_rows_close(&sums->memory);
    tbed_allocations_close(sums->sites);
    sums->stacks = NULL;
    sums->sites = NULL;
}
