/*
 * Spans of OTLP. The parent of a span is the innermost one around it; of a whole span, it is known only later, so the span
 * is held back until then.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/otlp/otlp.h"

#include <stdlib.h>

void tbed_otlp_begin_span(struct otlp *otlp, struct tbed_text *text, uint64_t span_id, uint32_t id,
                          int64_t begin, int64_t end)
{
    const struct tbed_text *label = &tbed_export_name_of(&otlp->walk, id)->label;
    tbed_text_puts(text, "{\"traceId\":\"");
    tbed_otlp_put_id(text, otlp->trace_id[0]);
    tbed_otlp_put_id(text, otlp->trace_id[1]);
    tbed_text_puts(text, "\",\"spanId\":\"");
    tbed_otlp_put_id(text, span_id);
    tbed_text_puts(text, "\",\"name\":");
    tbed_json_quote(text, label->bytes, label->nbytes);
    tbed_text_puts(text, ",\"kind\":1");
    tbed_otlp_put_time(otlp, text, "startTimeUnixNano", begin);
    tbed_otlp_put_time(otlp, text, "endTimeUnixNano", end);
    tbed_text_puts(text, ",");
}

/* All but the parent and the closing brace. */
static void put_span(struct otlp *otlp, struct tbed_text *text, const struct tbed_step *step,
                     const struct export_span *span, uint64_t span_id)
{
    struct otlp_attributes attributes;
    const struct tbed_assembled *of = step->span;
    uint32_t first = tbed_export_name_of(&otlp->walk, of->id)->argument_count;
    tbed_otlp_begin_span(otlp, text, span_id, of->id, span->begin, span->end);
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    tbed_otlp_put_name_attributes(&attributes, of->id, of->category);
    tbed_otlp_put_arguments(&attributes, of->arguments, of->argument_count, first);
    if (step->event != NULL && step->event->type == TBED_EVENT_END)
        tbed_otlp_put_arguments(&attributes, step->event->arguments, step->event->argument_count,
                                first + of->argument_count);
    if (span->is_open)
        tbed_otlp_put_true_attribute(&attributes, "never ended");
    tbed_otlp_end_attributes(&attributes);
}

static void end_span(struct otlp *otlp, struct tbed_text *text, uint64_t parent)
{
    if (parent != 0) {
        tbed_text_puts(text, ",\"parentSpanId\":\"");
        tbed_otlp_put_id(text, parent);
        tbed_text_puts(text, "\"");
    }
    tbed_text_puts(text, "}");
    tbed_otlp_object_end(otlp, OTLP_SPANS);
}

/* Spans that were held back; a zero follows each. */
static void put_released(struct otlp *otlp, uint64_t parent)
{
    otlp->is_out_of_memory |= otlp->released.is_out_of_memory;
    if (otlp->released.nbytes == 0)
        return;
    const char *at = otlp->released.bytes, *end = at + otlp->released.nbytes;
    while (at < end) {
        size_t nbytes = strlen(at);
        struct tbed_text *text = tbed_otlp_object(otlp, OTLP_SPANS);
        tbed_text_put(text, at, nbytes);
        end_span(otlp, text, parent);
        at += nbytes + 1;
    }
    otlp->released.nbytes = 0;
}

/* ---- Open spans ---- */

/* The innermost that has begun by then: of spans that do not nest, the one around both. */
static uint64_t find_parent(const struct otlp *otlp, int64_t begin)
{
    size_t at = otlp->open_count;
    while (at > 0 && otlp->open[at - 1].begin > begin)
        at--;
    return at > 0 ? otlp->open[at - 1].span_id : 0;
}

static uint64_t next_span_id(struct otlp *otlp)
{
    return tbed_otlp_mix(otlp->trace_id[1], ++otlp->span_count);
}

static void push(struct otlp *otlp, struct otlp_open **items, size_t *count, size_t *room,
                 struct otlp_open open)
{
    if (*count == *room) {
        size_t more = *room * 2 + 64;
        struct otlp_open *grown = realloc(*items, more * sizeof *grown);
        otlp->is_out_of_memory |= grown == NULL;
        if (grown == NULL)
            return;
        *items = grown;
        *room = more;
    }
    (*items)[(*count)++] = open;
}

static void take_begin(struct otlp *otlp, const struct tbed_assembled *span, size_t depth)
{
    int64_t begin = tbed_export_time(&otlp->walk, span->begin_tick);
    push(otlp, &otlp->open, &otlp->open_count, &otlp->open_room,
         (struct otlp_open){.begin_tick = span->begin_tick,
                            .span_id = next_span_id(otlp),
                            .begin = begin,
                            .depth = depth,
                            .id = span->id});
    tbed_export_nest_begin(&otlp->nest, begin);
}

/* Its place in the list plus 1; 0: it is not there. */
static size_t find(const struct otlp_open *items, size_t count, const struct tbed_assembled *span)
{
    while (count > 0 && (items[count - 1].begin_tick != span->begin_tick || items[count - 1].id != span->id))
        count--;
    return count;
}

/* An END may give another begin than the BEGIN had. */
static size_t find_open(const struct otlp *otlp, const struct tbed_step *step)
{
    size_t at = step->span->is_whole ? 0 : find(otlp->open, otlp->open_count, step->span);
    bool is_innermost = at == 0 && !step->span->is_whole && step->event != NULL && otlp->open_count > 0 &&
                        otlp->open[otlp->open_count - 1].depth == step->depth;
    return is_innermost ? otlp->open_count : at;
}

static void take_whole(struct otlp *otlp, const struct tbed_step *step, const struct export_span *span)
{
    size_t lost = step->span->is_whole ? 0 : find(otlp->lost, otlp->lost_count, step->span);
    uint64_t span_id = lost > 0 ? otlp->lost[lost - 1].span_id : next_span_id(otlp);
    if (lost > 0)
        otlp->lost[lost - 1] = otlp->lost[--otlp->lost_count];
    if (span->is_aside || !tbed_export_nest_fits(&otlp->nest, span->begin, span->end)) {
        struct tbed_text *text = tbed_otlp_object(otlp, OTLP_SPANS);
        put_span(otlp, text, step, span, span_id);
        end_span(otlp, text, find_parent(otlp, span->begin));
        return;
    }
    otlp->held.nbytes = 0;
    put_span(otlp, &otlp->held, step, span, span_id);
    tbed_text_put(&otlp->held, "", 1);
    otlp->is_out_of_memory |= otlp->held.is_out_of_memory;
    if (otlp->is_out_of_memory)
        return;
    tbed_export_nest_take(&otlp->nest, span->begin, span->end, &otlp->held, &otlp->released);
    put_released(otlp, span_id);
}

/* Spans above it on the stack, whose end is to come after it, become lost. */
static void take_ended(struct otlp *otlp, const struct tbed_step *step, const struct export_span *span,
                       size_t at)
{
    struct tbed_text *text;
    uint64_t span_id = otlp->open[at - 1].span_id;
    for (; otlp->open_count >= at; otlp->open_count--) {
        tbed_export_nest_end(&otlp->nest, span->end, &otlp->released);
        put_released(otlp, otlp->open[otlp->open_count - 1].span_id);
        if (otlp->open_count > at)
            push(otlp, &otlp->lost, &otlp->lost_count, &otlp->lost_room, otlp->open[otlp->open_count - 1]);
    }
    text = tbed_otlp_object(otlp, OTLP_SPANS);
    put_span(otlp, text, step, span, span_id);
    end_span(otlp, text, find_parent(otlp, span->begin));
}

/* ---- The visitor ---- */

void tbed_otlp_open_thread(void *context)
{
    struct otlp *otlp = context;
    tbed_otlp_describe(otlp, otlp->walk.thread->pid, otlp->walk.thread);
    tbed_export_nest_clear(&otlp->nest);
    otlp->nest.is_unordered = true;
    otlp->open_count = otlp->lost_count = 0;
}

void tbed_otlp_close_thread(void *context)
{
    struct otlp *otlp = context;
    tbed_export_nest_finish(&otlp->nest, &otlp->released);
    put_released(otlp, 0);
    tbed_otlp_put_lines(otlp);
    otlp->open_count = 0;
    otlp->trace_id[1] = 0; /* what follows is of the process */
}

void tbed_otlp_step(void *context, const struct tbed_step *step)
{
    struct otlp *otlp = context;
    if (step->kind == TBED_STEP_BEGIN) {
        take_begin(otlp, step->span, step->depth);
    } else if (step->kind == TBED_STEP_EVENT) {
        tbed_otlp_put_event(otlp, step->event);
    } else {
        struct export_span span = tbed_export_span(&otlp->walk, step);
        size_t at = find_open(otlp, step);
        if (at > 0)
            take_ended(otlp, step, &span, at);
        else
            take_whole(otlp, step, &span);
    }
    tbed_export_nest_trim(&otlp->nest, &otlp->released);
    put_released(otlp, find_parent(otlp, INT64_MAX));
    otlp->walk.is_over |= otlp->is_out_of_memory || otlp->nest.is_out_of_memory;
}
