/*
 * The data of a panel; see panel.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/picture/panel.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX    ((size_t)2 << 20)
#define MOMENTS_MIN  16u
#define TIMELINE_MAX ((size_t)4 << 20) /* names times moments */
#define FLOWS_MAX    4096u

/* ---- The window ---- */

/* That of the filter, as far as there is a trace. */
static void set_window(struct panel *panel, const struct tool_filter *filter)
{
    uint64_t first = panel->info.first_tick, last = panel->info.last_tick;
    uint64_t begin = filter->begin.kind != FILTER_TIME_NONE ? filter->window.begin_tick : first;
    uint64_t end =
        filter->end.kind != FILTER_TIME_NONE && filter->window.end_tick != 0 ? filter->window.end_tick : last;
    panel->begin_tick = begin < first ? first : begin > last ? last : begin;
    panel->end_tick = end > last ? last : end;
    if (panel->end_tick <= panel->begin_tick)
        panel->end_tick = panel->begin_tick < UINT64_MAX ? panel->begin_tick + 1 : UINT64_MAX;
    panel->is_whole_time = panel->begin_tick == first && panel->end_tick >= last;
}

int panel_open(struct panel *panel, struct view *view, struct view_trace *trace)
{
    struct tool_filter *filter = &view->filter;
    *panel = (struct panel){.trace = trace, .jobs = view->jobs};
    tbed_reader_info(trace->reader, &panel->info);
    panel->is_time = panel->info.clock != TBED_CLOCK_USER;
    int exit = tool_filter_open(filter, trace->path, trace->reader, &trace->places, view->jobs);
    panel->filter = filter->filter; /* the panel's from now on */
    filter->filter = NULL;
    panel->hides_allocations = tool_filter_asks_for_labels(filter);
    if (exit < 0 && tool_filter_is_given(filter))
        panel->asked = filter->window;
    if (exit < 0)
        set_window(panel, filter);
    return exit;
}

double panel_time(const struct panel *panel, uint64_t ticks)
{
    return panel->is_time ? tbed_tick_span_to_ns(panel->trace->reader, ticks) : (double)ticks;
}

struct tbed_name panel_label(const struct panel *panel, uint32_t id)
{
    struct tbed_name label = {.text = "<unknown>", .nbytes = strlen("<unknown>")};
    tbed_event_label(panel->trace->reader, id, &label);
    return label;
}

/* ---- Analyses ---- */

static struct tbed_analysis_options options_of(struct panel *panel)
{
    return (struct tbed_analysis_options){.size = sizeof(struct tbed_analysis_options),
                                          .thread_count = panel->jobs,
                                          .name = tool_places_name,
                                          .name_context = &panel->trace->places,
                                          .prepare = tool_places_prepare,
                                          .skip_percentiles = true,
                                          .filter = panel->filter};
}

static enum tbed_status make_statistics(struct panel *panel)
{
    struct tbed_analysis_options options = options_of(panel);
    enum tbed_status status = tbed_statistics_make(panel->trace->reader, &options, &panel->statistics);
    if (status == TBED_OK)
        tbed_statistics_totals(panel->statistics, &panel->totals);
    return status;
}

/* A timeline has a row for each label, too, so that many labels leave room for fewer moments. */
static enum tbed_status make_timeline(struct panel *panel)
{
    struct tbed_analysis_options options = options_of(panel);
    size_t names = 1;
    if (tbed_statistics_counter(panel->statistics, 0) == NULL)
        return TBED_OK;
    for (size_t i = 0; tbed_statistics_span(panel->statistics, i) != NULL; i++)
        names++;
    for (size_t i = 0; tbed_statistics_counter(panel->statistics, i) != NULL; i++)
        names++;
    size_t moments = TIMELINE_MAX / names > MOMENTS_MIN ? TIMELINE_MAX / names : MOMENTS_MIN;
    options.moment_count = moments < panel->column_count ? (uint32_t)moments : panel->column_count;
    return tbed_timeline_make(panel->trace->reader, &options, &panel->timeline);
}

static enum tbed_status make_allocations(struct panel *panel)
{
    struct tbed_analysis_options options = options_of(panel);
    if (panel->totals.allocation_event_count == 0)
        panel->hides_allocations = false;
    if (panel->totals.allocation_event_count == 0 || panel->hides_allocations)
        return TBED_OK;
    options.moment_count = panel->column_count;
    return tbed_allocations_make(panel->trace->reader, &options, &panel->allocations);
}

static enum tbed_status make_flows(struct panel *panel)
{
    struct tbed_flows_options options = {.size = sizeof options,
                                         .thread_count = panel->jobs,
                                         .filter = panel->filter,
                                         .slowest_count = FLOWS_MAX,
                                         .name = tool_places_name,
                                         .name_context = &panel->trace->places,
                                         .prepare = tool_places_prepare};
    if (panel->totals.async_event_count + panel->totals.flow_event_count == 0)
        return TBED_OK;
    enum tbed_status status = tbed_flows_make(panel->trace->reader, &options, &panel->flows);
    if (status == TBED_OK &&
        !flow_rows_make(&panel->async, panel->flows, panel->begin_tick, panel->end_tick, FLOWS_MAX))
        status = TBED_ERR_MEMORY;
    return status;
}

uint64_t panel_flows_hidden(const struct panel *panel)
{
    const struct tbed_flow_row *row;
    uint64_t total, count = 0;
    if (panel->flows == NULL)
        return 0;
    total = flow_rows_total(panel->flows);
    for (size_t i = 0; (row = tbed_flows_row(panel->flows, i)) != NULL; i++)
        count += row->open_count + row->lost_end_count;
    return count + (total > FLOWS_MAX ? total - FLOWS_MAX : 0);
}

/* Columns of a pixel: the filter's window may be longer than the panel's. */
static enum tbed_status make_window(struct panel *panel, uint32_t depth_count)
{
    const struct tool_filter_window *asked = &panel->asked;
    uint64_t ticks = panel->end_tick - panel->begin_tick;
    uint64_t end = asked->end_tick != 0 ? asked->end_tick : panel->end_tick;
    uint64_t begin = asked->begin_tick != 0 ? asked->begin_tick : panel->begin_tick;
    double columns = panel->column_count * (end > begin ? (double)(end - begin) / (double)ticks : 1) + 1;
    struct tbed_window_options options = {
        .size = sizeof options,
        .thread_count = panel->jobs,
        .filter = panel->filter,
        .column_count = columns < TBED_WINDOW_COLUMNS_MAX ? (uint32_t)columns : TBED_WINDOW_COLUMNS_MAX,
        .depth_count = depth_count,
        .part_max = PARTS_MAX};
    enum tbed_status status = tbed_window_make(panel->trace->reader, &options, &panel->window);
    if (status == TBED_OK)
        tbed_window_info(panel->window, &panel->window_info);
    return status;
}

/* ---- Tracks ---- */

static bool is_shown(const struct view_trace *trace, uint32_t stream)
{
    for (size_t i = 0; i < trace->stream_count; i++)
        if (trace->streams[i] == stream)
            return true;
    return trace->streams == NULL;
}

static void take_parts(const struct panel *panel, struct panel_track *track, size_t *at)
{
    const struct tbed_window_part *part;
    track->first_part = *at;
    for (; (part = tbed_window_part(panel->window, *at)) != NULL && part->stream == track->info.stream;
         ++*at) {
        track->part_count++;
        track->busy_ticks += part->depth == 0 ? part->ticks : 0;
        track->depth_count = part->depth >= track->depth_count ? part->depth + 1 : track->depth_count;
    }
}

static bool list_tracks(struct panel *panel)
{
    struct tbed_stream_info info;
    size_t at = 0;
    for (size_t i = 0; tbed_stream_get(panel->trace->reader, i, &info); i++) {
        struct panel_track *track =
            is_shown(panel->trace, info.stream) ? TBED_VECTOR_PUSH(&panel->tracks) : NULL;
        if (track == NULL && is_shown(panel->trace, info.stream))
            return false;
        if (track == NULL)
            continue;
        track->info = info;
        take_parts(panel, track, &at);
    }
    return true;
}

static int compare_busy(const void *left, const void *right)
{
    const struct panel_track *a = left, *b = right;
    if (a->busy_ticks != b->busy_ticks)
        return a->busy_ticks > b->busy_ticks ? -1 : 1;
    return a->info.stream < b->info.stream ? -1 : a->info.stream > b->info.stream;
}

static int compare_streams(const void *left, const void *right)
{
    const struct panel_track *a = left, *b = right;
    return a->info.stream < b->info.stream ? -1 : a->info.stream > b->info.stream;
}

static void keep_busiest(struct panel *panel, size_t track_max)
{
    struct panel_track *items = panel->tracks.items;
    if (panel->tracks.count <= track_max)
        return;
    qsort(items, panel->tracks.count, sizeof *items, compare_busy);
    panel->hidden_count = panel->tracks.count - track_max;
    panel->tracks.count = track_max;
    qsort(items, track_max, sizeof *items, compare_streams);
}

static void leave_out_idle(struct panel *panel)
{
    size_t kept = 0;
    for (size_t i = 0; i < panel->tracks.count; i++) {
        const struct panel_track *track = &panel->tracks.items[i];
        if (track->part_count > 0 || track->marks != NULL || track->gaps.count > 0)
            panel->tracks.items[kept++] = *track;
        else
            panel->idle_count++;
    }
    panel->tracks.count = kept;
}

/* ---- Names ---- */

static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Finds symbols of all spans at once. */
static bool prepare_names(struct panel *panel)
{
    TBED_VECTOR(uint32_t) ids = {0};
    const struct tbed_window_part *part;
    uint32_t previous = TBED_ID_INVALID;
    for (size_t i = 0; (part = tbed_window_part(panel->window, i)) != NULL; i++) {
        uint32_t *id = part->id != previous ? TBED_VECTOR_PUSH(&ids) : NULL;
        if (id == NULL && part->id != previous)
            break;
        if (id != NULL)
            *id = previous = part->id;
    }
    size_t count = 0;
    if (ids.count > 1)
        qsort(ids.items, ids.count, sizeof *ids.items, compare_ids);
    for (size_t i = 0; i < ids.count; i++)
        if (i == 0 || ids.items[i] != ids.items[count - 1])
            ids.items[count++] = ids.items[i];
    tbed_names_prepare(panel->trace->reader, ids.items, count, false);
    tbed_vector_free(&ids.vector);
    return part == NULL;
}

/* ---- All of it ---- */

static enum tbed_status read_all(struct panel *panel, uint32_t depth_count, size_t track_max)
{
    enum tbed_status status = make_statistics(panel);
    if (status == TBED_OK)
        status = make_window(panel, depth_count);
    if (status == TBED_OK)
        status = make_timeline(panel);
    if (status == TBED_OK)
        status = make_allocations(panel);
    if (status == TBED_OK)
        status = make_flows(panel);
    if (status == TBED_OK && !(prepare_names(panel) && list_tracks(panel)))
        status = TBED_ERR_MEMORY;
    if (status != TBED_OK)
        return status;
    keep_busiest(panel, track_max);
    if (!panel_read_marks(panel))
        return TBED_ERR_MEMORY;
    leave_out_idle(panel);
    return TBED_OK;
}

int panel_read(struct panel *panel, uint32_t column_count, uint32_t depth_count, size_t track_max)
{
    panel->column_count = column_count;
    tool_progress_begin(panel->trace->reader, false);
    enum tbed_status status = read_all(panel, depth_count, track_max);
    tool_progress_end();
    if (status == TBED_OK)
        return -1;
    tool_complain("%s: %s", tool_path(panel->trace->path), tbed_status_text(status));
    return TOOL_TROUBLE;
}

void panel_close(struct panel *panel)
{
    for (size_t i = 0; i < panel->tracks.count; i++) {
        free(panel->tracks.items[i].marks);
        tbed_vector_free(&panel->tracks.items[i].gaps.vector);
    }
    tbed_vector_free(&panel->tracks.vector);
    flow_rows_free(&panel->async);
    tbed_flows_close(panel->flows);
    tbed_allocations_close(panel->allocations);
    tbed_timeline_close(panel->timeline);
    tbed_statistics_close(panel->statistics);
    tbed_window_close(panel->window);
    tbed_filter_close(panel->filter);
}
