/*
 * Pairs of messages, and spans that never ended, in the statistics; see scope_pass.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/scopes/scope_pass.h"

#include "reader/analysis/scopes/scope_messages.h"
#include "reader/analysis/scopes/scopes.h"
#include "reader/analysis/spans/async_pass.h"
#include "reader/analysis/spans/named.h"
#include "reader/analysis/spans/resolution.h"
#include "reader/analysis/spans/span_scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

/* "context : text" of context U+001E text, as far as there is room; gives the whole length. */
static size_t say_unit(char *name, size_t nbytes, size_t room)
{
    char *unit = memchr(name, SCOPE_UNIT, nbytes);
    if (unit == NULL || nbytes + 2 >= room)
        return unit == NULL ? nbytes : nbytes + 2;
    memmove(unit + 3, unit + 1, (size_t)(name + nbytes - unit)); /* the terminator too */
    memcpy(unit, " : ", 3);
    return nbytes + 2;
}

size_t tbed_scope_pass_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct scope_pass *pass = context;
    const struct tbed_analysis_options *options = pass->options;
    size_t nbytes;
    if (!tbed_is_pair_id(id)) {
        nbytes = tbed_named_text(pass->reader, options, id, buffer, buffer_nbytes);
        return options->group != NULL && nbytes < buffer_nbytes
                   ? options->group(options->group_context, buffer, nbytes, buffer_nbytes)
                   : nbytes;
    }
    const struct scope_pass_name *name = &pass->pairs[id & ~SCOPE_PASS_PAIR];
    if (name->nbytes + 2 >= buffer_nbytes)
        return name->nbytes + 2;
    memcpy(buffer, name->text, name->nbytes + 1);
    nbytes = name->nbytes;
    if (options->group != NULL)
        nbytes = options->group(options->group_context, buffer, nbytes, buffer_nbytes);
    return nbytes < buffer_nbytes ? say_unit(buffer, nbytes, buffer_nbytes) : nbytes;
}

void tbed_scope_pass_prepare(void *context, const uint32_t *ids, size_t count)
{
    const struct tbed_analysis_options *options = ((const struct scope_pass *)context)->options;
    if (options->name == NULL || options->prepare == NULL)
        return;
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        if (tbed_is_pair_id(ids[first]))
            continue;
        while (end < count && !tbed_is_pair_id(ids[end]))
            end++;
        options->prepare(options->name_context, ids + first, end - first);
    }
}

/* ---- Steps ---- */

static struct name_slot *pair_slot(struct scope_pass *pass, const struct tbed_scope *scope)
{
    if (scope->id >= pass->pair_room) {
        size_t room = (size_t)scope->id * 2 + 64;
        struct scope_pass_name *pairs = realloc(pass->pairs, room * sizeof *pairs);
        if (pairs == NULL) {
            pass->names->out_of_memory = true;
            return &pass->names->spare;
        }
        memset(pairs + pass->pair_room, 0, (room - pass->pair_room) * sizeof *pairs);
        pass->pairs = pairs;
        pass->pair_room = room;
    }
    struct scope_pass_name *name = &pass->pairs[scope->id];
    if (name->slot == NULL)
        *name = (struct scope_pass_name){tbed_name_table_add_loose(pass->names, scope->id | SCOPE_PASS_PAIR),
                                         scope->name, scope->name_nbytes};
    return name->slot;
}

static void count_time(struct scope_pass *pass, struct name_slot *slot, const struct tbed_scope_step *step)
{
    tbed_name_slot_end(pass->names, slot,
                       tbed_ticks_between(pass->resolution, step->scope->begin_tick, step->end_tick));
}

/* Ends and open spans of blocks are counted already. */
static void take_step(void *context, const struct tbed_scope_step *step)
{
    struct scope_pass *pass = context;
    const struct tbed_scope *scope = step->scope;
    bool is_over = step->change == TBED_SCOPE_END || step->change == TBED_SCOPE_OPEN;
    pass->orphan_count += step->change == TBED_SCOPE_ORPHAN;
    if (scope->is_pair && is_over) {
        struct name_slot *slot = pair_slot(pass, scope);
        pass->pair_count++;
        count_time(pass, slot, step);
        struct name_extra *extra =
            step->change == TBED_SCOPE_OPEN ? tbed_name_table_extra(pass->names, slot) : NULL;
        if (extra != NULL)
            extra->open_count++;
    } else if (step->change == TBED_SCOPE_OPEN && pass->options->count_open) {
        count_time(pass, tbed_name_table_slot(pass->names, scope->id), step);
    }
}

/* Time in which a pair is the innermost scope is taken from the span around it, which blocks gave it to. */
static void pass_time(struct scope_pass *pass, uint64_t tick)
{
    const struct tbed_scope *scope = tbed_scopes_innermost(pass->scopes);
    uint64_t ticks = tbed_ticks_between(pass->resolution, pass->mark, tick);
    pass->mark = tick;
    if (scope == NULL || !scope->is_pair || ticks == 0)
        return;
    pair_slot(pass, scope)->self_ticks += ticks;
    const struct tbed_scope *span = tbed_scopes_innermost_span(pass->scopes);
    if (span != NULL)
        tbed_name_table_slot(pass->names, span->id)->self_ticks -= ticks;
}

/* ---- Streams ---- */

static enum tbed_status read_stream(struct scope_pass *pass, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(pass->reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while (status == TBED_OK && tbed_cursor_next(cursor, &event) == TBED_OK) {
        pass_time(pass, event.tick);
        status = tbed_scopes_take(pass->scopes, &event, tbed_cursor_depth(cursor));
    }
    tbed_cursor_close(cursor);
    tbed_scopes_finish(pass->scopes);
    return pass->names->out_of_memory ? TBED_ERR_MEMORY : status;
}

static bool has_mark(const uint8_t *block_marks, size_t block_count)
{
    for (size_t i = 0; i < block_count; i++)
        if ((block_marks[i] & SPAN_MARK_SCOPES) != 0)
            return true;
    return false;
}

enum tbed_status tbed_scope_pass(struct scope_pass *pass, const uint8_t *block_marks, size_t block_count)
{
    const struct tbed_scopes_options options = {
        .size = sizeof options, .step = take_step, .step_context = pass};
    struct tbed_trace_info info;
    size_t count = 0;
    if (!has_mark(block_marks, block_count))
        return TBED_OK;
    uint32_t *streams = tbed_marked_streams(pass->reader, block_marks, block_count, SPAN_MARK_SCOPES, &count);
    enum tbed_status status = streams != NULL ? TBED_OK : TBED_ERR_MEMORY;
    tbed_reader_info(pass->reader, &info);
    pass->resolution = info.resolution_ticks;
    if (status == TBED_OK)
        status = tbed_scopes_open(pass->reader, &options, &pass->scopes);
    for (size_t i = 0; i < count && status == TBED_OK; i++)
        status = read_stream(pass, streams[i]);
    free(streams);
    return status;
}

void tbed_scope_pass_close(struct scope_pass *pass)
{
    tbed_scopes_close(pass->scopes);
    free(pass->pairs);
}
