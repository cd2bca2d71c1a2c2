/*
 * Which spans of a thread nest; see export_nest.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_nest.h"

#include <stdlib.h>
#include <string.h>

void tbed_export_nest_close(struct export_nest *nest)
{
    free(nest->spans);
    free(nest->open);
    free(nest->held.bytes);
}

void tbed_export_nest_clear(struct export_nest *nest)
{
    nest->count = nest->open_count = nest->held.nbytes = 0;
    nest->has_given_out = false;
}

static bool grow(struct export_nest *nest, void **items, size_t count, size_t *room, size_t item_nbytes)
{
    if (count < *room)
        return true;
    size_t more = *room * 2 + 64;
    void *grown = realloc(*items, more * item_nbytes);
    nest->is_out_of_memory |= grown == NULL;
    if (grown == NULL)
        return false;
    *items = grown;
    *room = more;
    return true;
}

/* Forgets the older half; what is held back of it is appended to 'out'. */
static void give_out_half(struct export_nest *nest, struct tbed_text *out)
{
    size_t half = (nest->count + 1) / 2, nbytes = 0;
    for (size_t i = 0; i < half; i++) {
        nbytes += nest->spans[i].nbytes;
        if (!nest->has_given_out || nest->spans[i].end > nest->given_out_end)
            nest->given_out_end = nest->spans[i].end;
        nest->has_given_out = true;
    }
    if (nbytes > 0) {
        tbed_text_put(out, nest->held.bytes, nbytes);
        memmove(nest->held.bytes, nest->held.bytes + nbytes, nest->held.nbytes - nbytes);
        nest->held.nbytes -= nbytes;
    }
    nest->count -= half;
    memmove(nest->spans, nest->spans + half, nest->count * sizeof *nest->spans);
}

static void push(struct export_nest *nest, struct export_nest_span span)
{
    if (grow(nest, (void **)&nest->spans, nest->count, &nest->room, sizeof *nest->spans))
        nest->spans[nest->count++] = span;
}

void tbed_export_nest_begin(struct export_nest *nest, int64_t begin)
{
    if (grow(nest, (void **)&nest->open, nest->open_count, &nest->open_room, sizeof *nest->open))
        nest->open[nest->open_count++] = begin;
}

/* How many of the last spans begin at or after 'begin', the bytes held back for them, and their height. */
struct inside {
    size_t count, nbytes;
    uint32_t height;
};

static struct inside find_inside(const struct export_nest *nest, int64_t begin)
{
    struct inside inside = {0};
    for (; inside.count < nest->count; inside.count++) {
        const struct export_nest_span *span = &nest->spans[nest->count - 1 - inside.count];
        if (span->begin < begin)
            break;
        inside.nbytes += span->nbytes;
        inside.height = span->height > inside.height ? span->height : inside.height;
    }
    return inside;
}

static void remove_inside(struct export_nest *nest, const struct inside *inside, struct tbed_text *out)
{
    if (inside->nbytes > 0)
        tbed_text_put(out, nest->held.bytes + nest->held.nbytes - inside->nbytes, inside->nbytes);
    nest->held.nbytes -= inside->nbytes;
    nest->count -= inside->count;
}

void tbed_export_nest_end(struct export_nest *nest, int64_t end, struct tbed_text *out)
{
    if (nest->open_count == 0)
        return; /* there was no memory */
    int64_t begin = nest->open[--nest->open_count];
    struct inside inside = find_inside(nest, begin);
    remove_inside(nest, &inside, out);
    if (end > begin)
        push(nest, (struct export_nest_span){.begin = begin, .end = end, .height = inside.height + 1});
}

bool tbed_export_nest_fits(const struct export_nest *nest, int64_t begin, int64_t end)
{
    if (nest->open_count > 0 && begin < nest->open[nest->open_count - 1])
        return false;
    if (nest->has_given_out && begin < nest->given_out_end)
        return false;
    if (nest->count == 0)
        return true;
    struct inside inside = find_inside(nest, begin);
    if (inside.count > 0 && nest->spans[nest->count - 1].end > end)
        return false;
    if (inside.count < nest->count && nest->spans[nest->count - 1 - inside.count].end > begin)
        return false;
    const struct export_nest_span *first = &nest->spans[nest->count - inside.count];
    if (inside.count > 0 && !nest->is_unordered && first->begin == begin && first->nbytes == 0)
        return false; /* its begin has been written */
    return nest->height_max == 0 || nest->open_count + inside.height + 1 <= nest->height_max;
}

void tbed_export_nest_take(struct export_nest *nest, int64_t begin, int64_t end, const struct tbed_text *text,
                           struct tbed_text *out)
{
    struct inside inside = find_inside(nest, begin), later = inside;
    struct tbed_text *held = &nest->held;
    size_t same_nbytes = 0; /* of a span that begins with this one */
    if (inside.count > 0 && !nest->is_unordered && nest->spans[nest->count - inside.count].begin == begin)
        same_nbytes = nest->spans[nest->count - inside.count].nbytes;
    later.nbytes -= same_nbytes;
    remove_inside(nest, &later, out);
    if (text->is_out_of_memory || text->nbytes == 0 || !tbed_text_reserve(held, text->nbytes)) {
        nest->is_out_of_memory = true;
        return;
    }
    char *at = held->bytes + held->nbytes - same_nbytes;
    memmove(at + text->nbytes, at, same_nbytes);
    memcpy(at, text->bytes, text->nbytes);
    held->nbytes += text->nbytes;
    push(nest, (struct export_nest_span){.begin = begin,
                                         .end = end,
                                         .nbytes = (uint32_t)(text->nbytes + same_nbytes),
                                         .height = inside.height + 1});
}

void tbed_export_nest_trim(struct export_nest *nest, struct tbed_text *out)
{
    if (nest->held.nbytes > EXPORT_NEST_NBYTES || nest->count > EXPORT_NEST_SPANS)
        give_out_half(nest, out);
}

void tbed_export_nest_finish(struct export_nest *nest, struct tbed_text *out)
{
    tbed_text_put(out, nest->held.bytes, nest->held.nbytes);
    tbed_export_nest_clear(nest);
}
