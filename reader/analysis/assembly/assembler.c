/*
 * The assembler: a merge of streams, each with the stack of its open spans.
 *
 * A block is entered before its first event is read. Spans that the preceding events left on the stack, and that
 * the block could store as open but does not, were left open there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/assembly/open_stack.h"
#include "reader/analysis/assembly/step_filter.h"
#include "reader/analysis/shared/number_map.h"
#include "reader/core/events/cursor.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>

struct track {
    struct open_stack stack;
    uint32_t stream;
    uint32_t sequence;       /* of the current block */
    uint64_t last_tick;      /* in it */
    const void *bytes;       /* the block's */
    struct tbed_lease lease; /* of earlier blocks that something still points into */
};

struct tbed_assembler {
    struct tbed_reader *reader;
    struct tbed_merge *merge;
    struct track *tracks;
    size_t track_count, track_room;
    struct number_map by_stream;
    struct open_span *left; /* open, and not reported yet */
    size_t left_count, left_room, left_at;
    struct tbed_event event; /* read but not taken yet */
    struct tbed_assembled span;
    bool has_event, is_at_end, is_out_of_memory;
    bool is_reused; /* blocks may be overwritten during the merge, so arguments are not kept */
    const struct tbed_filter *filter; /* NULL: none */
    struct step_filter steps;
};

/* ---- Spans that are left open ---- */

static bool have_left(struct tbed_assembler *assembler, size_t count)
{
    if (count <= assembler->left_room - assembler->left_count)
        return true;
    size_t room = (assembler->left_count + count) * 2;
    struct open_span *left = realloc(assembler->left, room * sizeof *left);
    assembler->is_out_of_memory |= left == NULL;
    if (left == NULL)
        return false;
    assembler->left = left;
    assembler->left_room = room;
    return true;
}

/* Takes the spans that were left open before 'next', the innermost first. */
static void leave(struct tbed_assembler *assembler, const struct track *track, const struct tbed_block *next)
{
    const struct open_stack *stack = &track->stack;
    if (!have_left(assembler, stack->count))
        return;
    for (size_t i = stack->count; i-- > 0;) {
        if (!tbed_open_stack_is_left(stack, i, next))
            continue;
        struct open_span *open = &assembler->left[assembler->left_count++];
        *open = stack->items[i];
        open->span.end_tick = track->last_tick;
        open->depth = stack->deep + i;
    }
}

/* ---- Tracks ---- */

static struct track *add_track(struct tbed_assembler *assembler, uint32_t stream)
{
    if (assembler->track_count == assembler->track_room) {
        size_t room = assembler->track_room * 2 + 16;
        struct track *tracks = realloc(assembler->tracks, room * sizeof *tracks);
        if (tracks == NULL)
            return NULL;
        assembler->tracks = tracks;
        assembler->track_room = room;
    }
    if (!tbed_number_map_add(&assembler->by_stream, stream, (uint32_t)assembler->track_count))
        return NULL;
    struct track *track = &assembler->tracks[assembler->track_count++];
    *track = (struct track){.stream = stream};
    return track;
}

/* NULL: no block of the stream was entered. */
static struct track *find_track(struct tbed_assembler *assembler, uint32_t stream)
{
    uint32_t index = tbed_number_map_find(&assembler->by_stream, stream);
    return index != NUMBER_MAP_NONE ? &assembler->tracks[index] : NULL;
}

/*
 * The stream's block is left: holds it if steps of it wait, and those blocks where spans that are still open have their
 * arguments.
 */
static void keep_behind(struct tbed_assembler *assembler, struct track *track)
{
    const struct tbed_map *map = &assembler->reader->map;
    const struct open_stack *stack = &track->stack;
    struct tbed_lease before = track->lease;
    bool waits = assembler->left_count > 0 || tbed_step_filter_waits(&assembler->steps);
    if (map->packed == NULL)
        return;
    if (waits)
        tbed_map_keep(map, &track->lease, track->bytes);
    else
        track->lease = (struct tbed_lease){.packed = NULL};
    for (size_t i = 0; i < stack->count; i++)
        if (stack->items[i].span.argument_count > 0)
            tbed_map_keep(map, &track->lease, stack->items[i].span.arguments.at);
    if (!waits)
        tbed_lease_empty(&before);
}

static void enter_block(void *context, const struct tbed_block *block)
{
    struct tbed_assembler *assembler = context;
    struct track *track = find_track(assembler, block->stream);
    if (track == NULL)
        track = add_track(assembler, block->stream);
    if (track == NULL) {
        assembler->is_out_of_memory = true;
        return;
    }
    if (track->bytes != NULL)
        keep_behind(assembler, track);
    track->bytes = block->bytes;
    bool continues = tbed_open_stack_continues(&track->stack, track->sequence, block);
    leave(assembler, track, block);
    assembler->is_out_of_memory |= !tbed_open_stack_enter(&track->stack, block, continues);
    track->sequence = block->sequence;
    track->last_tick = block->first_tick;
}

/* The block of the track's stream that the filter leaves out first. False: the stream ends before. */
static bool next_left_out(const struct tbed_assembler *assembler, const struct track *track,
                          struct tbed_block *next_ret)
{
    struct tbed_block last;
    size_t first, count;
    tbed_filter_blocks(assembler->filter, assembler->reader, track->stream, &first, &count);
    return count > 0 && tbed_event_block_get(assembler->reader, first + count - 1, &last) == TBED_OK &&
           tbed_block_after(assembler->reader, &last, first + count - 1, next_ret) &&
           tbed_filter_is_last(assembler->filter, assembler->reader, first + count - 1, next_ret);
}

/* Spans that go on beyond the filter's window end with it. */
static void leave_at_window(struct tbed_assembler *assembler, struct track *track,
                            const struct tbed_block *next)
{
    struct open_stack *stack = &track->stack;
    leave(assembler, track, next);
    if (!have_left(assembler, stack->count))
        return;
    for (size_t i = stack->count; i-- > 0;) {
        if (tbed_open_stack_is_left(stack, i, next) || !stack->items[i].is_known)
            continue;
        struct open_span *open = &assembler->left[assembler->left_count++];
        *open = stack->items[i];
        open->span.end_tick = UINT64_MAX;
        open->depth = stack->deep + i;
        open->span.is_inherited = true; /* so that it ends, and is not open */
    }
}

static void leave_all(struct tbed_assembler *assembler)
{
    static const struct tbed_block none; /* in which no span is open */
    for (size_t i = 0; i < assembler->track_count; i++) {
        struct track *track = &assembler->tracks[i];
        struct tbed_block next;
        struct tbed_lease lease;
        tbed_lease_begin(&lease, assembler->reader->map.packed);
        if (assembler->filter != NULL && next_left_out(assembler, track, &next))
            leave_at_window(assembler, track, &next);
        else
            leave(assembler, track, &none);
        tbed_lease_end(&lease);
    }
    assembler->is_at_end = true;
}

/* ---- Opening and closing ---- */

static void range_of(void *context, uint32_t stream, uint64_t *first_ret, uint64_t *end_ret)
{
    const struct tbed_assembler *assembler = context;
    tbed_filter_sequences(assembler->filter, assembler->reader, stream, first_ret, end_ret);
}

enum tbed_status tbed_assembler_open_filtered(struct tbed_reader *reader, const uint32_t *streams,
                                              size_t stream_count, const struct tbed_filter *filter,
                                              struct tbed_assembler **assembler_ret)
{
    struct tbed_assembler *assembler = calloc(1, sizeof *assembler);
    if (assembler == NULL)
        return TBED_ERR_MEMORY;
    assembler->reader = reader;
    assembler->is_reused = tbed_reader_is_reused(reader);
    assembler->filter = filter;
    tbed_step_filter_open(&assembler->steps, filter, assembler->is_reused);
    struct tbed_merge_watch watch = {enter_block, filter != NULL ? range_of : NULL, assembler};
    enum tbed_status status =
        tbed_merge_open_watched(reader, streams, stream_count, &watch, &assembler->merge);
    if (status == TBED_OK)
        *assembler_ret = assembler;
    else
        tbed_assembler_close(assembler);
    return status;
}

enum tbed_status tbed_assembler_open(struct tbed_reader *reader, const uint32_t *streams, size_t stream_count,
                                     struct tbed_assembler **assembler_ret)
{
    return tbed_assembler_open_filtered(reader, streams, stream_count, NULL, assembler_ret);
}

void tbed_assembler_close(struct tbed_assembler *assembler)
{
    if (assembler == NULL)
        return;
    tbed_step_filter_close(&assembler->steps);
    tbed_merge_close(assembler->merge);
    for (size_t i = 0; i < assembler->track_count; i++) {
        tbed_open_stack_free(&assembler->tracks[i].stack);
        tbed_lease_empty(&assembler->tracks[i].lease);
    }
    tbed_number_map_free(&assembler->by_stream);
    free(assembler->tracks);
    free(assembler->left);
    free(assembler);
}

/* ---- Steps ---- */

static enum tbed_status take_event(struct tbed_assembler *assembler, struct tbed_step *step_ret)
{
    struct tbed_event *event = &assembler->event;
    struct track *track = find_track(assembler, event->stream);
    assembler->has_event = false;
    if (track == NULL || !tbed_open_stack_reserve(&track->stack, 1))
        return TBED_ERR_MEMORY;
    track->last_tick = event->tick > track->last_tick ? event->tick : track->last_tick;
    struct open_stack *stack = &track->stack;
    uint64_t depth = stack->deep + stack->count;
    enum tbed_step_kind kind = tbed_open_stack_take(stack, event, &assembler->span);
    bool is_end = event->type == TBED_EVENT_END;
    if (is_end && stack->deep + stack->count == depth)
        event->of.end.inside = 0; /* it is of a span that is not there */
    if (kind == TBED_STEP_OPEN)
        assembler->span.end_tick = tbed_stream_last_tick(assembler->reader, event->stream, event->tick);
    if (kind == TBED_STEP_BEGIN && assembler->is_reused)
        stack->items[stack->count - 1].span.argument_count = 0;
    *step_ret = (struct tbed_step){
        .kind = kind,
        .span = kind != TBED_STEP_EVENT ? &assembler->span : NULL,
        .event = event,
        .depth = (size_t)stack->deep + stack->count - (kind == TBED_STEP_BEGIN) -
                 (is_end ? event->of.end.inside : 0),
    };
    return TBED_OK;
}

static void give_left(struct tbed_assembler *assembler, struct tbed_step *step_ret)
{
    const struct open_span *open = &assembler->left[assembler->left_at++];
    assembler->span = open->span;
    *step_ret = (struct tbed_step){
        .kind = tbed_open_span_left(open), .span = &assembler->span, .depth = (size_t)open->depth};
}

/* Reads the next event, or the spans that all streams leave open. */
static enum tbed_status read_event(struct tbed_assembler *assembler)
{
    assembler->left_count = assembler->left_at = 0;
    enum tbed_status status = tbed_merge_next(assembler->merge, &assembler->event);
    if (status == TBED_END)
        leave_all(assembler);
    else if (status != TBED_OK)
        return status;
    assembler->has_event = status == TBED_OK;
    return assembler->is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

static enum tbed_status assembler_next(struct tbed_assembler *assembler, struct tbed_step *step_ret)
{
    for (;;) {
        if (assembler->left_at < assembler->left_count) {
            give_left(assembler, step_ret);
            return TBED_OK;
        }
        if (assembler->has_event)
            return take_event(assembler, step_ret);
        if (assembler->is_at_end)
            return assembler->is_out_of_memory ? TBED_ERR_MEMORY : TBED_END;
        enum tbed_status status = read_event(assembler);
        if (status != TBED_OK)
            return status;
    }
}

/* The same with a filter: steps go in as they come, and those that it takes come out. */
static enum tbed_status next_taken(struct tbed_assembler *assembler, struct tbed_step *step_ret)
{
    struct tbed_step step;
    while (!tbed_step_filter_next(&assembler->steps, step_ret)) {
        enum tbed_status status = assembler_next(assembler, &step);
        if (status == TBED_END && tbed_step_filter_end(&assembler->steps))
            continue;
        if (status == TBED_OK)
            status = tbed_step_filter_take(&assembler->steps, &step);
        if (status != TBED_OK)
            return status;
    }
    return tbed_filter_has_failed(assembler->filter) ? TBED_ERR_MEMORY : TBED_OK;
}

enum tbed_status tbed_assembler_next_sized(struct tbed_assembler *assembler, struct tbed_step *step_ret,
                                           size_t step_nbytes)
{
    struct tbed_step step;
    enum tbed_status status =
        assembler->filter != NULL ? next_taken(assembler, &step) : assembler_next(assembler, &step);
    if (status == TBED_OK)
        tbed_sized_give(step_ret, step_nbytes, &step, sizeof step);
    return status;
}
