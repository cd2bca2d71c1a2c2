/*
 * Memory by call stack as rows; see memory_rows.h.
 *
 * The name of a stack lists its frames outermost first, separated by newlines. A newline sorts before any byte of a
 * frame, so in order of name each stack directly follows its prefix, and the tree is built in one pass.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/stacks/memory_rows.h"

#include "reader/core/names/id_info.h"

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
    const struct tbed_reader *reader = context;
    uint32_t locations[TBED_STACK_DEPTH_MAX - 1];
    size_t nbytes = 0, room;
    size_t count = tbed_stack_locations(reader, id, locations, TBED_STACK_DEPTH_MAX - 1);
    if (count == 0)
        locations[count++] = id;
    while (count-- > 0) {
        room = nbytes < buffer_nbytes ? buffer_nbytes - nbytes : 0;
        size_t own = tbed_id_spell(reader, locations[count], TBED_NAME_FUNCTION,
                                   room > 0 ? buffer + nbytes : NULL, room);
        if (own == TBED_NO_MEMORY)
            return TBED_NO_MEMORY;
        if (own < room)
            clean(buffer + nbytes, own);
        nbytes += own;
        if (count > 0 && nbytes++ < buffer_nbytes)
            buffer[nbytes - 1] = '\n';
    }
    return nbytes;
}

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    tbed_names_prepare(context, ids, count, true);
}

/* ---- The tree ---- */

static bool add_row(struct memory_rows *memory, const char *label, size_t nbytes, uint32_t depth,
                    size_t parent)
{
    struct tbed_stack_row *row = TBED_VECTOR_PUSH(&memory->rows);
    if (row == NULL)
        return false;
    *row = (struct tbed_stack_row){
        .label = label, .label_nbytes = nbytes, .parent = parent, .depth = depth, .id = TBED_ID_INVALID};
    return true;
}

/* The row of a frame below 'parent' is the last one at its depth; if that does not match, it is added. SIZE_MAX: no memory. */
static size_t descend(struct memory_rows *memory, size_t *last_at, size_t parent, uint32_t depth,
                      const char *label, size_t nbytes)
{
    size_t last = last_at[depth];
    const struct tbed_stack_row *row = last < memory->rows.count ? &memory->rows.items[last] : NULL;
    if (row != NULL && row->parent == parent && row->label_nbytes == nbytes &&
        memcmp(row->label, label, nbytes) == 0)
        return last;
    last_at[depth] = memory->rows.count;
    return add_row(memory, label, nbytes, depth, parent) ? last_at[depth] : SIZE_MAX;
}

static bool add_stack(struct memory_rows *memory, size_t *last_at, const char *name, size_t nbytes,
                      uint64_t value, uint64_t count)
{
    const char *end = name + nbytes;
    size_t at = 0;
    memory->count += count;
    if (value == 0)
        return true;
    for (uint32_t depth = 1; name <= end && depth < TBED_STACK_DEPTH_MAX && at != SIZE_MAX; depth++) {
        const char *newline = memchr(name, '\n', (size_t)(end - name));
        const char *stop = newline != NULL ? newline : end;
        at = descend(memory, last_at, at, depth, name, (size_t)(stop - name));
        name = stop + 1;
    }
    if (at == SIZE_MAX)
        return false;
    memory->rows.items[at].self_ticks += value;
    memory->rows.items[at].count += count;
    return true;
}

/* The children of a row follow it. */
static void sum_up(struct memory_rows *memory)
{
    for (size_t i = memory->rows.count; i-- > 0;) {
        struct tbed_stack_row *row = &memory->rows.items[i];
        row->total_ticks += row->self_ticks;
        if (row->parent == SIZE_MAX)
            continue;
        memory->rows.items[row->parent].total_ticks += row->total_ticks;
        memory->rows.items[row->parent].count += row->count;
    }
}

/* ---- Weights ---- */

static uint64_t weigh(const struct memory_rows *memory, const struct tbed_allocation_sums *sums)
{
    switch (memory->weight) {
    case MEMORY_PEAK:
        return sums->peak_nbytes;
    case MEMORY_LEAKED:
        return sums->live_nbytes;
    case MEMORY_COUNT:
        return sums->count;
    default:
        return sums->nbytes;
    }
}

/* A trace of light recording has an instant at a code location for each allocation. */
static enum tbed_status add_instants(struct memory_rows *memory, size_t *last_at,
                                     const struct tbed_analysis_options *options)
{
    const struct tbed_instant_row *row;
    enum tbed_status status = tbed_statistics_make(memory->reader, options, &memory->instants);
    for (size_t i = 0; status == TBED_OK && (row = tbed_statistics_instant(memory->instants, i)) != NULL; i++)
        if (!add_stack(memory, last_at, row->name, row->name_nbytes, row->count, row->count))
            return TBED_ERR_MEMORY;
    return status;
}

enum tbed_status tbed_memory_rows_make(struct tbed_reader *reader, const struct memory_rows_options *options,
                                       struct memory_rows *memory)
{
    struct tbed_analysis_options analysis = {.size = sizeof analysis,
                                             .thread_count = options->thread_count,
                                             .name = stack_name,
                                             .name_context = reader,
                                             .filter = options->filter,
                                             .prepare = prepare};
    const struct tbed_allocation_site *site;
    size_t last_at[TBED_STACK_DEPTH_MAX];
    memset(last_at, 0xFF, sizeof last_at);
    *memory = (struct memory_rows){.reader = reader, .weight = options->weight};
    enum tbed_status status = tbed_allocations_make(reader, &analysis, &memory->allocations);
    if (status != TBED_OK)
        return status;
    const char *root = options->root != NULL ? options->root : "all";
    if (!add_row(memory, root, strlen(root), 0, SIZE_MAX))
        return TBED_ERR_MEMORY;
    for (size_t i = 0; (site = tbed_allocations_site(memory->allocations, i)) != NULL; i++)
        if (!add_stack(memory, last_at, site->name, site->name_nbytes, weigh(memory, &site->sums),
                       site->sums.count))
            return TBED_ERR_MEMORY;
    if (memory->count == 0 && memory->weight == MEMORY_COUNT)
        status = add_instants(memory, last_at, &analysis);
    sum_up(memory);
    return status;
}

void tbed_memory_rows_close(struct memory_rows *memory)
{
    tbed_vector_free(&memory->rows.vector);
    tbed_allocations_close(memory->allocations);
    tbed_statistics_close(memory->instants);
    *memory = (struct memory_rows){0};
}
