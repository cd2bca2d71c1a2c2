/*
 * What all pieces of a window need; see window_job.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/windows/window_job.h"

bool tbed_window_is_cancelled(const struct window_job *job)
{
    return tbed_is_cancelled(job->options->is_cancelled);
}

bool tbed_window_has_too_many(const struct window_job *job, size_t part_count, uint64_t column_ticks)
{
    return job->options->part_max != 0 && part_count > job->options->part_max &&
           column_ticks <= (job->end_tick - job->begin_tick) / 2;
}

/* A stream with too many parts would not have fewer if it were read to its start, so wider columns are certain. */
void tbed_window_keep_few(const struct window_job *job, struct window_rows *rows)
{
    while (tbed_window_has_too_many(job, rows->parts.count, rows->column_ticks) && !rows->is_out_of_memory)
        tbed_window_rows_widen(rows, rows->column_ticks * 2);
}

bool tbed_window_cut(const struct window_job *job, struct block_span *span)
{
    bool is_cut = false;
    if (job->options->filter != NULL &&
        !tbed_filter_cut(job->options->filter, &span->begin_tick, &span->end_tick, &is_cut))
        return false;
    if (is_cut)
        span->kind = TBED_STEP_END;
    return true;
}
