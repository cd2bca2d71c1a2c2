/*
 * Writes profiles of callgrind: time or memory by function, and by call of one function by another. Of time, functions are
 * the labels of spans.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/callgrind/callgrind.h"
#include "reader/exchange/stacks/stack_sums.h"

struct callgrind_export {
    struct stack_sums sums;
    struct callgrind_sums functions;
    TBED_VECTOR(struct callgrind_costs)
    rows;            /* of each row of time: its own costs, then with those of deeper rows */
    frame_list path; /* of time: the frame of each depth; of memory: those of a stack */
};

/* ---- Time ---- */

static bool sum_up_rows(struct callgrind_export *export)
{
    const struct tbed_stack_row *row;
    export->rows.count = 0;
    for (size_t i = 0; (row = tbed_stack_sums_row(&export->sums, i)) != NULL; i++) {
        struct callgrind_costs *costs = TBED_VECTOR_PUSH(&export->rows);
        if (costs == NULL)
            return false;
        costs->values[0] = tbed_stack_sums_value(&export->sums, row->self_ticks);
        costs->values[1] = row->depth > 0 ? row->count : 0;
    }
    return true;
}

/* Rows follow their parents, so from the last to the first each is complete when it is added to its parent. */
static void nest_rows(struct callgrind_export *export)
{
    for (size_t i = export->rows.count; i-- > 0;) {
        size_t parent = tbed_stack_sums_row(&export->sums, i)->parent;
        if (parent != SIZE_MAX)
            tbed_callgrind_add(&export->rows.items[parent], &export->rows.items[i]);
    }
}

static bool path_turn(struct callgrind_export *export, const struct tbed_stack_row *row)
{
    while (export->path.count <= row->depth)
        if (TBED_VECTOR_PUSH(&export->path) == NULL)
            return false;
    uint32_t frame = tbed_frame_table_row(&export->functions.frames, row);
    export->path.items[row->depth] = frame;
    return frame != FRAME_NONE;
}

static bool add_rows(struct callgrind_export *export)
{
    const struct tbed_stack_row *row;
    if (!sum_up_rows(export))
        return false;
    for (size_t i = 0; (row = tbed_stack_sums_row(&export->sums, i)) != NULL; i++) {
        if (!path_turn(export, row) ||
            !tbed_callgrind_own(&export->functions, export->path.items[row->depth], &export->rows.items[i]))
            return false;
    }
    nest_rows(export);
    for (size_t i = 0; (row = tbed_stack_sums_row(&export->sums, i)) != NULL; i++) {
        if (!path_turn(export, row))
            return false;
        if (row->depth > 0 &&
            !tbed_callgrind_call(&export->functions, export->path.items[row->depth - 1],
                                 export->path.items[row->depth], row->count, &export->rows.items[i]))
            return false;
    }
    return true;
}

/* ---- Memory ---- */

static bool add_site(struct callgrind_export *export, const struct tbed_allocation_site *site)
{
    const struct tbed_allocation_sums *sums = &site->sums;
    struct callgrind_costs costs = {{sums->nbytes, sums->count, sums->peak_nbytes, sums->live_nbytes}};
    frame_list *frames = &export->path;
    if (sums->count == 0)
        return true;
    if (!tbed_stack_sums_frames(&export->functions.frames, site, frames) ||
        !tbed_callgrind_own(&export->functions, frames->items[0], &costs))
        return false;
    for (size_t i = 0; i + 1 < frames->count; i++)
        if (!tbed_callgrind_call(&export->functions, frames->items[i + 1], frames->items[i], sums->count,
                                 &costs))
            return false;
    return true;
}

static bool add_sites(struct callgrind_export *export)
{
    const struct tbed_allocation_site *site;
    for (size_t i = 0; (site = tbed_allocations_site(export->sums.sites, i)) != NULL; i++)
        if (!add_site(export, site))
            return false;
    return true;
}

/* ---- All traces ---- */

static enum tbed_status add_trace(struct callgrind_export *export, size_t index, bool *fine)
{
    struct stack_sums *sums = &export->sums;
    enum tbed_status status =
        sums->by_memory ? tbed_stack_sums_sites(sums, index) : tbed_stack_sums_time(sums, index);
    if (status != TBED_OK)
        return status;
    tbed_frame_table_turn(&export->functions.frames, sums->reader);
    *fine = sums->by_memory ? add_sites(export) : add_rows(export);
    return TBED_OK;
}

static void put(struct callgrind_export *export, struct export_out *out)
{
    static const char *const of_time[] = {"ns", "Calls"}, *const of_ticks[] = {"ticks", "Calls"};
    static const char *const of_memory[] = {"Bytes", "Allocations", "PeakBytes", "LiveBytes"};
    struct tbed_export_result *result = export->sums.job->result;
    struct tbed_trace_info info;
    tbed_reader_info(export->sums.job->readers[0], &info);
    bool is_user = info.clock == TBED_CLOCK_USER;
    if (!tbed_callgrind_write(&export->functions,
                              export->sums.by_memory ? of_memory
                              : is_user              ? of_ticks
                                                     : of_time,
                              export->sums.by_memory ? 4 : 2, out, &result->written_count))
        out->text.is_out_of_memory |= out->write_errno == 0;
    result->notes[TBED_EXPORT_NOTE_REPLACED] = export->functions.frames.texts.replaced_count;
}

enum tbed_status tbed_export_callgrind(const struct export_job *job, struct export_out *out)
{
    struct callgrind_export export = {0};
    bool fine = true;
    job->result->written = "function";
    enum tbed_status status = tbed_stack_sums_open(&export.sums, job);
    for (size_t i = 0; fine && status == TBED_OK && i < job->reader_count; i++)
        status = add_trace(&export, i, &fine);
    if (status == TBED_OK && fine)
        put(&export, out);
    out->text.is_out_of_memory |= !fine;
    tbed_stack_sums_close(&export.sums);
    tbed_callgrind_free(&export.functions);
    tbed_vector_free(&export.rows.vector);
    tbed_vector_free(&export.path.vector);
    return status;
}
