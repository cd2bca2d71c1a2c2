/*
 * The rows of a flame graph of memory: allocations by call stack, with functions as frames.
 *
 * The name of a stack lists its frames outermost first, separated by newlines. A newline sorts before any byte of a
 * frame, so in order of name each stack directly follows its prefix, and the tree is built in one pass.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flame/flame.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

/* Replaces bytes that would look like the end of a frame or sort before it. */
static void clean(char *text, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if ((uint8_t)text[i] < ' ')
            text[i] = ' ';
}

static size_t stack_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct tool_places *places = context;
    uint32_t locations[TBED_STACK_DEPTH_MAX - 1];
    size_t nbytes = 0, room;
    size_t count = tbed_stack_locations(places->reader, id, locations, TBED_STACK_DEPTH_MAX - 1);
    if (count > TBED_STACK_DEPTH_MAX - 1)
        count = TBED_STACK_DEPTH_MAX - 1;
    if (count == 0)
        locations[count++] = id;
    while (count-- > 0) {
        room = nbytes < buffer_nbytes ? buffer_nbytes - nbytes : 0;
        size_t own = tool_places_name(context, locations[count], room > 0 ? buffer + nbytes : NULL, room);
        if (own < room)
            clean(buffer + nbytes, own);
        nbytes += own;
        if (count > 0 && nbytes++ < buffer_nbytes)
            buffer[nbytes - 1] = '\n';
    }
    return nbytes;
}

/* ---- The tree ---- */

static struct tbed_stack_row *add_row(struct flame *flame, const char *label, size_t nbytes, uint32_t depth,
                                      size_t parent)
{
    if (flame->row_count == flame->row_room) {
        flame->row_room = flame->row_room * 2 + 256;
        flame->rows = tool_realloc(flame->rows, flame->row_room * sizeof *flame->rows);
    }
    struct tbed_stack_row *row = &flame->rows[flame->row_count++];
    *row = (struct tbed_stack_row){
        .label = label, .label_nbytes = nbytes, .parent = parent, .depth = depth, .id = TBED_ID_INVALID};
    return row;
}

/* The row of a frame below 'parent' is the last one at its depth; if that does not match, it is added. */
static size_t descend(struct flame *flame, size_t *last_at, size_t parent, uint32_t depth, const char *label,
                      size_t nbytes)
{
    size_t last = last_at[depth];
    const struct tbed_stack_row *row = last < flame->row_count ? &flame->rows[last] : NULL;
    if (row != NULL && row->parent == parent && row->label_nbytes == nbytes &&
        memcmp(row->label, label, nbytes) == 0)
        return last;
    last_at[depth] = flame->row_count;
    add_row(flame, label, nbytes, depth, parent);
    return last_at[depth];
}

static void add_stack(struct flame *flame, size_t *last_at, const char *name, size_t nbytes, uint64_t value,
                      uint64_t count)
{
    const char *end = name + nbytes;
    size_t at = 0;
    flame->totals.span_count += count;
    if (value == 0)
        return;
    for (uint32_t depth = 1; name <= end && depth < TBED_STACK_DEPTH_MAX; depth++) {
        const char *newline = memchr(name, '\n', (size_t)(end - name));
        const char *stop = newline != NULL ? newline : end;
        at = descend(flame, last_at, at, depth, name, (size_t)(stop - name));
        name = stop + 1;
    }
    flame->rows[at].self_ticks += value;
    flame->rows[at].count += count;
}

/* The children of a row follow it. */
static void sum_up(struct flame *flame)
{
    for (size_t i = flame->row_count; i-- > 0;) {
        struct tbed_stack_row *row = &flame->rows[i];
        row->total_ticks += row->self_ticks;
        if (row->parent == SIZE_MAX)
            continue;
        flame->rows[row->parent].total_ticks += row->total_ticks;
        flame->rows[row->parent].count += row->count;
    }
}

/* ---- Weights ---- */

static uint64_t weigh(const struct flame *flame, const struct tbed_allocation_sums *sums)
{
    switch (flame->weight) {
    case FLAME_PEAK:
        return sums->peak_nbytes;
    case FLAME_LEAKED:
        return sums->live_nbytes;
    case FLAME_COUNT:
        return sums->count;
    default:
        return sums->nbytes;
    }
}

/* A trace of light recording has an instant at a code location for each allocation. */
static enum tbed_status add_instants(struct flame *flame, size_t *last_at,
                                     const struct tbed_analysis_options *options)
{
    const struct tbed_instant_row *row;
    enum tbed_status status = tbed_statistics_make(flame->reader, options, &flame->instants);
    for (size_t i = 0; status == TBED_OK && (row = tbed_statistics_instant(flame->instants, i)) != NULL; i++)
        add_stack(flame, last_at, row->name, row->name_nbytes, row->count, row->count);
    return status;
}

enum tbed_status flame_memory_make(struct flame *flame, const char *root)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = flame->jobs,
                                            .name = stack_name,
                                            .name_context = &flame->places,
                                            .filter = flame->filter.filter,
                                            .prepare = tool_places_prepare_stacks};
    const struct tbed_allocation_site *site;
    size_t last_at[TBED_STACK_DEPTH_MAX];
    memset(last_at, 0xFF, sizeof last_at);
    enum tbed_status status = tbed_allocations_make(flame->reader, &options, &flame->allocations);
    if (status != TBED_OK)
        return status;
    root = root != NULL ? root : "all";
    add_row(flame, root, strlen(root), 0, SIZE_MAX);
    for (size_t i = 0; (site = tbed_allocations_site(flame->allocations, i)) != NULL; i++)
        add_stack(flame, last_at, site->name, site->name_nbytes, weigh(flame, &site->sums), site->sums.count);
    if (flame->totals.span_count == 0 && flame->weight == FLAME_COUNT)
        status = add_instants(flame, last_at, &options);
    sum_up(flame);
    return status;
}

void flame_memory_close(struct flame *flame)
{
    free(flame->rows);
    tbed_allocations_close(flame->allocations);
    tbed_statistics_close(flame->instants);
}

/* ---- Words ---- */

const char *flame_weight_parse(const char *text, enum flame_weight *weight_ret)
{
    static const char *const names[] = {"time", "bytes", "count", "peak", "leaked"};
    size_t at = *weight_ret;
    const char *problem =
        tool_word_choose("--weight: unknown weight", names, sizeof names / sizeof names[0], text, &at);
    *weight_ret = (enum flame_weight)at;
    return problem;
}

const char *flame_weight_text(enum flame_weight weight)
{
    static const char *const texts[] = {"", "allocated", "allocated", "live at the peak", "never freed"};
    return texts[weight];
}
