/*
 * The events of blocks as units; see event_units.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/events/event_units.h"

#include "format/event.h"
#include "reader/core/base/workers.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/gateway.h"

/* ---- Decoding ---- */

static bool stop_at(const struct event_worker *worker, struct event_unit *unit, enum tbed_status status,
                    uint64_t word)
{
    const struct tbed_block *block = &unit->block;
    uint64_t offset = block->offset + (uint64_t)((const uint8_t *)unit->at - block->bytes);
    tbed_damage_tell(worker->rows->scan->reader, status, offset, block->cell, word);
    unit->at = unit->end;
    return false;
}

/* Passes words that are no events. False: the block ends here. */
static bool find_word(const struct event_worker *worker, struct event_unit *unit, uint64_t *word_ret)
{
    while (unit->at < unit->end) {
        uint64_t word = tbed_word_load(unit->at);
        if (word == 0) {
            if (unit->block.sealed)
                return stop_at(worker, unit, TBED_ERR_EVENT_ZERO, 0);
            unit->at = unit->end;
            return false;
        }
        *word_ret = word;
        if (tbed_event_tag(word) != TBED_TAG_TIME)
            return true;
        if (!tbed_event_time_is_allowed(word))
            return stop_at(worker, unit, TBED_ERR_EVENT_TIME, word);
        unit->base += tbed_event_time_ticks(word);
        unit->at++;
    }
    return false;
}

static inline void set_common(struct event_unit *unit, uint64_t word)
{
    struct tbed_event *event = &unit->event;
    event->stream = unit->block.stream;
    event->category = TBED_ID_INVALID;
    event->id = tbed_event_id(word);
    event->tick = unit->base + tbed_event_delta(word);
    event->offset = unit->block.offset + (uint64_t)((const uint8_t *)unit->at - unit->block.bytes);
}

static bool decode(const struct event_worker *worker, struct event_unit *unit)
{
    uint64_t word;
    size_t nwords = 1;
    if (!find_word(worker, unit, &word))
        return false;
    uint32_t tag = tbed_event_tag(word);
    struct tbed_event *event = &unit->event;
    if (tag >= TBED_TAG_BEGIN && tag <= TBED_TAG_INSTANT) {
        event->type = (enum tbed_event_type)(tag - TBED_TAG_BEGIN + TBED_EVENT_BEGIN);
        set_common(unit, word);
        event->extended = false;
        event->argument_count = 0;
        event->arguments = (struct tbed_arguments){NULL, 0, 0};
        event->of.end.begin_tick = 0;
        event->of.end.end_tick = event->tick;
        event->of.end.leaves = false;
        event->of.end.inside = 0;
    } else {
        *event = (struct tbed_event){0};
        set_common(unit, word);
        enum tbed_status status = tbed_decode_long(word, unit->at, unit->end, event, &nwords);
        if (status != TBED_OK)
            return stop_at(worker, unit, status, word);
    }
    unit->at += nwords;
    return true;
}

/* Follows the open spans, and names an END by the one that it ends. */
static void follow(struct event_worker *worker, struct event_unit *unit)
{
    struct tbed_event *event = &unit->event;
    struct tbed_assembled span;
    if (event->type != TBED_EVENT_BEGIN && event->type != TBED_EVENT_END)
        return;
    if (!tbed_open_stack_reserve(&unit->stack, 1)) {
        worker->is_out_of_memory = true;
        return;
    }
    tbed_open_stack_take(&unit->stack, event, &span);
    if (event->type == TBED_EVENT_END) {
        event->id = span.id;
        event->category = span.category;
    }
}

void tbed_event_unit_advance(struct event_worker *worker, struct event_unit *unit)
{
    const struct tbed_scan *scan = worker->rows->scan;
    bool has_range = !row_range_is_all(&worker->ts);
    while ((unit->has_event = decode(worker, unit))) {
        if (worker->has_ends)
            follow(worker, unit);
        if ((worker->types >> unit->event.type & 1) == 0)
            continue;
        if (has_range &&
            !row_range_has(&worker->ts, tbed_tick_line_ns(scan->reader, &worker->line, unit->event.tick)))
            continue;
        if (tbed_filter_takes_event(scan->options.filter, &unit->event))
            break;
    }
}

/* ---- Units ---- */

void tbed_event_worker_close(void *argument)
{
    struct event_worker *worker = argument;
    free(worker->scratch.bytes);
}

enum tbed_status tbed_event_unit_enter(void *worker_argument, void *unit_argument, size_t index, bool is_kept)
{
    struct event_worker *worker = worker_argument;
    struct event_unit *unit = unit_argument;
    const struct tbed_scan *scan = worker->rows->scan;
    (void)is_kept;
    unit->has_event = false;
    if (tbed_is_cancelled(scan->options.is_cancelled))
        return TBED_ERR_CANCELLED;
    enum tbed_status status = tbed_block_get_stable(scan->reader, index, &unit->stable, &unit->block);
    if (status != TBED_OK)
        return status;
    unit->at = unit->block.words;
    unit->end = unit->block.words_end;
    unit->base = unit->block.first_tick;
    unit->thread = tbed_row_thread_find(&worker->rows->threads, unit->block.stream);
    unit->stack.count = 0;
    unit->stack.deep = 0;
    if (worker->has_ends && !tbed_open_stack_enter(&unit->stack, &unit->block, false))
        return TBED_ERR_MEMORY;
    if (unit->thread != NULL)
        tbed_event_unit_advance(worker, unit);
    return worker->is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

bool tbed_event_unit_peek(void *worker, void *argument, uint64_t *tick_ret)
{
    const struct event_unit *unit = argument;
    (void)worker;
    *tick_ret = unit->event.tick;
    return unit->has_event;
}

void tbed_event_unit_close(void *argument)
{
    struct event_unit *unit = argument;
    tbed_open_stack_free(&unit->stack);
    tbed_stable_block_free(&unit->stable);
}
