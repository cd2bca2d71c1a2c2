/*
 * Messages and instants of a panel, and where events are missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/picture/panel.h"

#include "reader/core/base/workers.h"

#include <stdlib.h>

/* ---- One track ---- */

static enum panel_mark mark_of(const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_INSTANT)
        return PANEL_INSTANT;
    switch (event->of.message.severity) {
    case TBED_SEVERITY_ERROR:
        return PANEL_ERROR;
    case TBED_SEVERITY_WARNING:
        return PANEL_WARNING;
    default:
        return PANEL_MESSAGE;
    }
}

static bool add_mark(const struct panel *panel, struct panel_track *track, const struct tbed_event *event)
{
    if (event->tick < panel->begin_tick || event->tick > panel->end_tick)
        return true;
    uint64_t column = (uint64_t)((double)(event->tick - panel->begin_tick) * panel->column_count /
                                 (double)(panel->end_tick - panel->begin_tick));
    column = column < panel->column_count ? column : panel->column_count - 1;
    if (track->marks == NULL)
        track->marks = calloc(panel->column_count, PANEL_MARK_COUNT);
    if (track->marks == NULL)
        return false;
    uint8_t *mark = &track->marks[column * PANEL_MARK_COUNT + mark_of(event)];
    *mark = *mark < 2 ? *mark + 1 : 2;
    return true;
}

static bool add_gap(const struct panel *panel, struct panel_track *track, struct panel_gap gap)
{
    gap.end_tick = gap.end_tick < gap.begin_tick ? gap.begin_tick : gap.end_tick;
    if (gap.begin_tick > panel->end_tick || gap.end_tick < panel->begin_tick)
        return true;
    struct panel_gap *added = TBED_VECTOR_PUSH(&track->gaps);
    if (added != NULL)
        *added = gap;
    return added != NULL;
}

/* Two drops without a column between them are drawn as one. */
static bool add_drop(const struct panel *panel, struct panel_track *track, uint64_t begin, uint64_t end)
{
    uint64_t column_ticks = (panel->end_tick - panel->begin_tick) / panel->column_count;
    struct panel_gap *last = track->gaps.count > 0 ? &track->gaps.items[track->gaps.count - 1] : NULL;
    if (last != NULL && begin >= last->begin_tick && begin <= last->end_tick + column_ticks) {
        last->end_tick = end > last->end_tick ? end : last->end_tick;
        return true;
    }
    return add_gap(panel, track,
                   (struct panel_gap){.stream = track->info.stream, .begin_tick = begin, .end_tick = end});
}

/* What was dropped would have followed the event before the gap. */
static enum tbed_status read_track(const struct panel *panel, struct panel_track *track)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    uint64_t previous = panel->begin_tick;
    enum tbed_status status =
        tbed_assembler_open_filtered(panel->trace->reader, &track->info.stream, 1, panel->filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (status == TBED_OK && (status = tbed_assembler_next(assembler, &step)) == TBED_OK) {
        const struct tbed_event *event = step.event;
        if (event == NULL)
            continue;
        bool is_fine = true;
        if (event->type == TBED_EVENT_INSTANT || event->type == TBED_EVENT_MESSAGE)
            is_fine = add_mark(panel, track, event);
        else if (event->type == TBED_EVENT_GAP)
            is_fine = add_drop(panel, track, previous < event->tick ? previous : event->tick, event->tick);
        status = is_fine ? TBED_OK : TBED_ERR_MEMORY;
        previous = event->tick;
    }
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

/* ---- All tracks ---- */

struct job {
    struct tbed_work work;
    struct panel *panel;
    bool has_failed; /* atomic */
};

static void run_worker(struct tbed_work *work, unsigned worker)
{
    struct job *job = work->context;
    size_t at;
    (void)worker;
    while (tbed_work_take(work, &at))
        if (read_track(job->panel, &job->panel->tracks.items[at]) != TBED_OK)
            __atomic_store_n(&job->has_failed, true, __ATOMIC_RELAXED);
}

/* ---- Missing blocks ---- */

static struct panel_track *track_of(struct panel *panel, uint32_t stream)
{
    size_t low = 0, high = panel->tracks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (panel->tracks.items[middle].info.stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    struct panel_track *track = low < panel->tracks.count ? &panel->tracks.items[low] : NULL;
    return track != NULL && track->info.stream == stream ? track : NULL;
}

static bool add_missing(struct panel *panel, uint32_t stream, uint64_t begin, uint64_t end,
                        bool is_overwritten)
{
    struct panel_track *track = track_of(panel, stream);
    return track == NULL || add_gap(panel, track,
                                    (struct panel_gap){.stream = stream,
                                                       .begin_tick = begin,
                                                       .end_tick = end,
                                                       .is_overwritten = is_overwritten});
}

static bool add_missing_blocks(struct panel *panel)
{
    struct tbed_damage damage;
    struct tbed_lost_info lost;
    struct tbed_ring_gap gap;
    bool is_fine = true;
    for (size_t i = 0; is_fine && tbed_damage_get(panel->trace->reader, i, &damage); i++)
        if (damage.kind == TBED_BLOCK_EVENTS && (damage.first_tick != 0 || damage.last_tick != 0))
            is_fine = add_missing(panel, damage.stream, damage.first_tick, damage.last_tick, false);
    for (size_t i = 0; is_fine && tbed_lost_get(panel->trace->reader, i, &lost); i++)
        if (lost.kind == TBED_BLOCK_EVENTS && lost.last_tick != UINT64_MAX)
            is_fine = add_missing(panel, lost.stream, lost.first_tick, lost.last_tick, false);
    for (size_t at = 0;
         is_fine && panel->info.ring_page_count != 0 && tbed_ring_gap_next(panel->trace->reader, &at, &gap);)
        is_fine = add_missing(panel, gap.stream, gap.first_tick, gap.last_tick, true);
    return is_fine;
}

bool panel_read_marks(struct panel *panel)
{
    const struct tbed_statistics_totals *totals = &panel->totals;
    struct job job = {.work = {.item_count = panel->tracks.count, .run = run_worker}, .panel = panel};
    job.work.context = &job;
    if (totals->instant_count + totals->message_count + totals->gap_count > 0)
        tbed_work_run(&job.work, tbed_worker_count(panel->jobs, panel->tracks.count));
    return !job.has_failed && add_missing_blocks(panel);
}
