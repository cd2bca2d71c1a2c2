/*
 * memory: sites of allocations; memory_flame: by call stack; and the plot of the memory in use.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flame/flame.h"
#include "reader/tools/view/answers/answers.h"
#include "reader/tools/view/answers/tree.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>

#define ROWS_MAX     500
#define FRAMES_MAX   1000 /* of a call stack */
#define MOMENT_COUNT 4096 /* of the plot, over all of the trace's time */

enum of { OF_LIVE, OF_PEAK, OF_LEAKS, OF_BYTES };
#define OF_WORDS "live peak leaks bytes"
enum by { BY_SITE, BY_STACK, BY_FUNCTION };
#define BY_WORDS "site stack function"

/* Makes the allocations of a part; 'suppressions' are the caller's. */
static enum tbed_status make(struct answer *answer, const struct answer_part *part, enum by by,
                             struct tool_places *places, struct tbed_suppressions **suppressions,
                             struct tbed_allocations **allocations_ret)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = answer->view->jobs,
                                            .name = tool_places_name,
                                            .name_context = places,
                                            .prepare = tool_places_prepare,
                                            .filter = part->filter,
                                            .by_stack = by == BY_STACK};
    enum tbed_status status = tbed_suppressions_open(true, suppressions);
    *places = answer->trace->places;
    places->part = by == BY_FUNCTION ? TBED_NAME_FUNCTION : TBED_NAME_ALL;
    options.suppressions = *suppressions;
    return status == TBED_OK ? tbed_allocations_make(answer->trace->reader, &options, allocations_ret)
                             : status;
}

static uint64_t bytes_of(const struct tbed_allocation_site *site, enum of of)
{
    switch (of) {
    case OF_LIVE:
        return site->sums.live_nbytes;
    case OF_PEAK:
        return site->sums.peak_nbytes;
    case OF_LEAKS:
        return site->leak_nbytes;
    default:
        return site->sums.nbytes;
    }
}

/* ---- Rows ---- */

struct sized {
    uint64_t nbytes;
    const struct tbed_allocation_site *site;
};

static int compare_sized(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    if (a->nbytes != b->nbytes)
        return a->nbytes > b->nbytes ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static void put_frames(struct answer *answer, uint32_t id)
{
    uint32_t locations[FRAMES_MAX];
    size_t count = tbed_stack_locations(answer->trace->reader, id, locations, FRAMES_MAX);
    tbed_names_prepare(answer->trace->reader, &id, 1, true);
    tbed_json_array_open(&answer->json, "frames");
    for (size_t i = 0; i < count && i < FRAMES_MAX; i++)
        answer_name(answer, NULL, locations[i]);
    tbed_json_array_close(&answer->json);
}

static void put_row(struct answer *answer, const struct sized *sized, enum by by)
{
    struct tbed_json *json = &answer->json;
    const struct tbed_allocation_site *site = sized->site;
    tbed_json_object_open(json, NULL);
    if (by == BY_STACK)
        answer_name(answer, "name", site->id);
    else
        answer_text(answer, "name", site->name, site->name_nbytes);
    tbed_json_u64(json, "id", site->id);
    tbed_json_u64(json, "bytes", sized->nbytes);
    tbed_json_u64(json, "count", site->sums.count);
    tbed_json_u64(json, "allocated", site->sums.nbytes);
    tbed_json_u64(json, "peak", site->sums.peak_nbytes);
    tbed_json_u64(json, "live", site->sums.live_nbytes);
    tbed_json_u64(json, "live_count", site->sums.live_count);
    tbed_json_u64(json, "leaked", site->leak_nbytes);
    tbed_json_u64(json, "leak_count", site->leak_count);
    tbed_json_u64(json, "temporary", site->sums.temporary_count);
    if (by == BY_STACK)
        put_frames(answer, site->id);
    tbed_json_object_close(json);
}

static void put_totals(struct answer *answer, const struct tbed_allocations *allocations)
{
    struct tbed_allocation_sums sums;
    tbed_allocations_totals(allocations, &sums);
    tbed_json_object_open(&answer->json, "totals");
    tbed_json_u64(&answer->json, "count", sums.count);
    tbed_json_u64(&answer->json, "allocated", sums.nbytes);
    tbed_json_u64(&answer->json, "peak", sums.peak_nbytes);
    tbed_json_u64(&answer->json, "live", sums.live_nbytes);
    tbed_json_u64(&answer->json, "live_count", sums.live_count);
    tbed_json_object_close(&answer->json);
}

static enum tbed_status put_rows(struct answer *answer, const struct tbed_allocations *allocations,
                                 enum of of, enum by by)
{
    TBED_VECTOR(struct sized) rows = {0};
    const struct tbed_allocation_site *site;
    bool fine = true;
    for (size_t i = 0; fine && (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        uint64_t nbytes = bytes_of(site, of);
        struct sized *row = nbytes > 0 ? TBED_VECTOR_PUSH(&rows) : NULL;
        fine = nbytes == 0 || row != NULL;
        if (row != NULL)
            *row = (struct sized){nbytes, site};
    }
    if (rows.count > 1)
        qsort(rows.items, rows.count, sizeof *rows.items, compare_sized);
    tbed_json_array_open(&answer->json, "rows");
    for (size_t i = 0; i < rows.count && i < ROWS_MAX; i++)
        put_row(answer, &rows.items[i], by);
    tbed_json_array_close(&answer->json);
    tbed_json_u64(&answer->json, "left_out", rows.count > ROWS_MAX ? rows.count - ROWS_MAX : 0);
    tbed_vector_free(&rows.vector);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

static enum answer_status
with_part(struct answer *answer, enum by by,
          enum tbed_status (*put)(struct answer *, const struct answer_part *, enum by, enum of), enum of of)
{
    struct answer_part part;
    enum answer_status answer_status;
    if (answer_part_open_plain(answer, &part, &answer_status)) {
        tbed_json_object_open(&answer->json, NULL);
        enum tbed_status status = put(answer, &part, by, of);
        tbed_json_object_close(&answer->json);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    answer_part_close(&part);
    return answer_status;
}

static enum tbed_status put_sites(struct answer *answer, const struct answer_part *part, enum by by,
                                  enum of of)
{
    struct tool_places places;
    struct tbed_suppressions *suppressions = NULL;
    struct tbed_allocations *allocations = NULL;
    enum tbed_status status = make(answer, part, by, &places, &suppressions, &allocations);
    if (status == TBED_OK) {
        put_totals(answer, allocations);
        status = put_rows(answer, allocations, of, by);
    }
    tbed_allocations_close(allocations);
    tbed_suppressions_close(suppressions);
    return status;
}

enum answer_status answer_memory(struct answer *answer)
{
    size_t by = BY_SITE, of = OF_LIVE;
    if (!request_word(answer->request, "by", BY_WORDS, &by) ||
        !request_word(answer->request, "of", OF_WORDS, &of))
        return ANSWER_BAD;
    return with_part(answer, (enum by)by, put_sites, (enum of)of);
}

/* ---- The flame graph, as that of 'tracebed flame' ---- */

static enum tbed_status put_flame(struct answer *answer, const struct answer_part *part, enum by by,
                                  enum of of)
{
    static const enum flame_weight weights[] = {[OF_LIVE] = FLAME_LEAKED,
                                                [OF_PEAK] = FLAME_PEAK,
                                                [OF_LEAKS] = FLAME_LEAKED,
                                                [OF_BYTES] = FLAME_BYTES};
    struct flame flame = {.reader = answer->trace->reader,
                          .places = answer->trace->places,
                          .filter = {.filter = part->filter},
                          .weight = weights[of]};
    struct tree tree = {0};
    (void)by;
    flame.places.part = TBED_NAME_FUNCTION;
    enum tbed_status status = flame_memory_make(&flame, NULL);
    const struct tbed_stack_row *row;
    for (size_t i = 0; status == TBED_OK && (row = flame_row(&flame, i)) != NULL; i++)
        tree_add(&tree, &(struct tree_node){.parent = row->parent,
                                            .label = row->label,
                                            .label_nbytes = row->label_nbytes,
                                            .total = row->total_ticks,
                                            .self = row->self_ticks,
                                            .count = row->count});
    if (status == TBED_OK)
        status = tree_put(&tree, answer, false);
    tbed_json_string(&answer->json, "unit", "bytes");
    tree_free(&tree);
    flame_memory_close(&flame);
    return status;
}

enum answer_status answer_memory_flame(struct answer *answer)
{
    size_t of = OF_PEAK;
    if (!request_word(answer->request, "of", OF_WORDS, &of))
        return ANSWER_BAD;
    return with_part(answer, BY_STACK, put_flame, (enum of)of);
}

/* ---- The plot: of all of the time, made once ---- */

static void make_moments(struct answer *answer)
{
    struct view_trace *trace = answer->trace;
    struct view_memory *memory = &trace->memory;
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = answer->view->jobs,
                                            .moment_count = MOMENT_COUNT,
                                            .by_size = true};
    struct tbed_allocations *allocations;
    const struct tbed_allocation_moment *moment;
    memory->count = 0;
    if (tbed_allocations_make(trace->reader, &options, &allocations) != TBED_OK)
        return;
    if (memory->moments == NULL)
        memory->moments = calloc(MOMENT_COUNT, sizeof *memory->moments);
    for (size_t i = 0; memory->moments != NULL && (moment = tbed_allocations_moment(allocations, i)) != NULL;
         i++)
        if (i < MOMENT_COUNT)
            memory->moments[memory->count++] = (struct view_moment){moment->tick, moment->least_nbytes,
                                                                    moment->mean_nbytes, moment->peak_nbytes};
    if (tbed_allocations_process(allocations, 0) == NULL)
        memory->count = 0;
    tbed_allocations_close(allocations);
}

static void put_point(struct answer *answer, uint64_t column, const struct view_moment *moment,
                      uint64_t count)
{
    tbed_json_u64(&answer->json, NULL, column);
    tbed_json_u64(&answer->json, NULL, moment->least_nbytes);
    tbed_json_u64(&answer->json, NULL, moment->mean_nbytes / count);
    tbed_json_u64(&answer->json, NULL, moment->peak_nbytes);
}

/* Joins the moments of a column; moments may also be wider than columns. */
static void put_moments(struct answer *answer, const struct answer_part *part, uint64_t column_ticks)
{
    const struct view_memory *memory = &answer->trace->memory;
    struct view_moment sum = {0};
    uint64_t count = 0, column = 0;
    for (size_t i = 0; i < memory->count; i++) {
        const struct view_moment *moment = &memory->moments[i];
        uint64_t end = i + 1 < memory->count ? memory->moments[i + 1].tick : answer->end_tick;
        if (end <= part->begin_tick || moment->tick >= part->end_tick)
            continue;
        uint64_t own = moment->tick > part->begin_tick ? (moment->tick - part->begin_tick) / column_ticks : 0;
        if (count > 0 && own != column)
            put_point(answer, column, &sum, count);
        if (count == 0 || own != column) {
            sum = *moment;
            count = 1;
        } else {
            sum.least_nbytes =
                moment->least_nbytes < sum.least_nbytes ? moment->least_nbytes : sum.least_nbytes;
            sum.peak_nbytes = moment->peak_nbytes > sum.peak_nbytes ? moment->peak_nbytes : sum.peak_nbytes;
            sum.mean_nbytes += moment->mean_nbytes;
            count++;
        }
        column = own;
    }
    if (count > 0)
        put_point(answer, column, &sum, count);
}

static void put_memory(struct answer *answer, const struct answer_part *part, uint64_t columns)
{
    struct tbed_json *json = &answer->json;
    uint64_t ticks = part->end_tick - part->begin_tick;
    uint64_t column_ticks = ticks / columns + (ticks % columns != 0);
    tbed_json_object_open(json, NULL);
    tbed_json_string(json, "id", "memory");
    tbed_json_null(json, "s");
    tbed_json_string(json, "name", "memory in use");
    tbed_json_string(json, "unit", "bytes");
    tbed_json_u64(json, "column", column_ticks);
    tbed_json_array_open(json, "points");
    put_moments(answer, part, column_ticks);
    tbed_json_array_close(json);
    tbed_json_object_close(json);
}

void answer_memory_plot(struct answer *answer, const struct answer_part *part, uint64_t columns)
{
    struct view_trace *trace = answer->trace;
    struct view_memory *memory = &trace->memory;
    pthread_mutex_lock(&memory->lock);
    if (!memory->is_made || memory->generation != trace->generation)
        make_moments(answer);
    memory->is_made = true;
    memory->generation = trace->generation;
    if (memory->count > 0)
        put_memory(answer, part, columns);
    pthread_mutex_unlock(&memory->lock);
}
