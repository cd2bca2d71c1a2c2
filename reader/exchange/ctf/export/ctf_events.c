/*
 * Events of CTF: the fields that the metadata describes, in its order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/ctf/export/ctf_export.h"

#include <string.h>

/* ---- Arguments ---- */

enum { TYPE_U64, TYPE_I64, TYPE_F64, TYPE_BOOLEAN, TYPE_POINTER, TYPE_TEXT, TYPE_HEX };

static void put_hex(struct ctf *ctf, const char *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        tbed_text_put(&ctf->packet, (const char[]){digits[byte >> 4], digits[byte & 15]}, 2);
    }
    tbed_text_put(&ctf->packet, "", 1);
}

static void put_type(struct ctf *ctf, unsigned type)
{
    ctf_put_number(&ctf->packet, type, 1);
}

static void put_value(struct ctf *ctf, const struct tbed_argument *argument)
{
    static const uint8_t types[] = {[TBED_ARG_U64] = TYPE_U64,
                                    [TBED_ARG_I64] = TYPE_I64,
                                    [TBED_ARG_F64] = TYPE_F64,
                                    [TBED_ARG_POINTER] = TYPE_POINTER};
    size_t nbytes;
    switch (argument->type) {
    case TBED_ARG_U64:
    case TBED_ARG_I64:
    case TBED_ARG_F64:
    case TBED_ARG_POINTER:
        put_type(ctf, types[argument->type]);
        ctf_put_number(&ctf->packet, argument->value.u64, 8);
        break;
    case TBED_ARG_BOOL:
        put_type(ctf, TYPE_BOOLEAN);
        ctf_put_number(&ctf->packet, argument->value.u64 != 0, 1);
        break;
    case TBED_ARG_ID: {
        uint32_t id = argument->value.u64 <= TBED_ID_MAX ? argument->value.id : TBED_ID_INVALID;
        const char *text = tbed_export_text_of(&ctf->walk, id, &nbytes);
        put_type(ctf, TYPE_TEXT);
        tbed_ctf_put_text(ctf, text, nbytes);
        break;
    }
    case TBED_ARG_TEXT:
        put_type(ctf, TYPE_TEXT);
        tbed_ctf_put_text(ctf, argument->value.text, argument->nbytes);
        break;
    default:
        put_type(ctf, TYPE_HEX);
        put_hex(ctf, argument->value.text, argument->nbytes);
    }
}

static void put_number_name(struct ctf *ctf, uint32_t number)
{
    tbed_text_puts(&ctf->packet, "arg");
    tbed_text_u64(&ctf->packet, number);
    tbed_text_put(&ctf->packet, "", 1);
}

/* Those in the name, if 'has_own', and those of the event. */
static void put_arguments(struct ctf *ctf, uint32_t id, bool has_own, struct tbed_arguments arguments,
                          uint32_t count, uint32_t first)
{
    const struct export_name *name = tbed_export_name_of(&ctf->walk, id);
    uint32_t own = name->argument_count;
    const char *text;
    size_t at = 0, nbytes;
    ctf_put_number(&ctf->packet, (uint64_t)count + (has_own ? own : 0), 4);
    for (uint32_t i = 0; has_own && i < own; i++) {
        put_number_name(ctf, i);
        tbed_export_name_argument(name, &at, &text, &nbytes);
        put_type(ctf, TYPE_TEXT);
        tbed_ctf_put_text(ctf, text, nbytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&arguments, &argument);
        if (argument.name_id == TBED_ID_INVALID) {
            put_number_name(ctf, own + first + i);
        } else {
            text = tbed_export_text_of(&ctf->walk, argument.name_id, &nbytes);
            tbed_ctf_put_text(ctf, text, nbytes);
        }
        put_value(ctf, &argument);
    }
}

/* ---- Fields ---- */

static void put_label(struct ctf *ctf, uint32_t id)
{
    const struct tbed_text *label = &tbed_export_name_of(&ctf->walk, id)->label;
    tbed_ctf_put_text(ctf, label->bytes, label->nbytes);
}

static void put_category(struct ctf *ctf, uint32_t category)
{
    if (category != TBED_ID_INVALID)
        put_label(ctf, category);
    else
        tbed_ctf_put_text(ctf, "", 0);
}

static void put_place(struct ctf *ctf, uint32_t id)
{
    const struct export_name *name = tbed_export_name_of(&ctf->walk, id);
    const char *file = name->file != NULL ? name->file : "";
    uint32_t line = name->line;
    tbed_ctf_put_text(ctf, file, strlen(file));
    ctf_put_number(&ctf->packet, line, 4);
}

static void put_complete_name(struct ctf *ctf, uint32_t id)
{
    size_t nbytes;
    const char *text = tbed_export_text_of(&ctf->walk, id, &nbytes);
    tbed_ctf_put_text(ctf, text, nbytes);
}

static void put_event_arguments(struct ctf *ctf, const struct tbed_event *event)
{
    put_arguments(ctf, event->id, true, event->arguments, event->argument_count, 0);
}

/* ---- Spans ---- */

static void take_begin(struct ctf *ctf, const struct tbed_assembled *span)
{
    tbed_ctf_begin_event(ctf, CTF_SPAN_BEGIN, tbed_export_time(&ctf->walk, span->begin_tick));
    put_label(ctf, span->id);
    put_category(ctf, span->category);
    put_place(ctf, span->id);
    put_arguments(ctf, span->id, true, span->arguments, span->argument_count, 0);
    tbed_ctf_end_event(ctf);
}

static void take_end(struct ctf *ctf, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    const struct tbed_event *event = step->event;
    bool has_end = event != NULL && event->type == TBED_EVENT_END;
    struct export_span times = tbed_export_span(&ctf->walk, step);
    uint64_t duration = times.end > times.begin ? (uint64_t)(times.end - times.begin) : 0;
    tbed_ctf_begin_event(ctf, span->is_whole ? CTF_SPAN : CTF_SPAN_END, times.end);
    put_label(ctf, span->id);
    if (span->is_whole)
        put_category(ctf, span->category);
    ctf_put_number(&ctf->packet, duration, 8);
    ctf_put_number(&ctf->packet, times.is_open, 1);
    if (span->is_whole) {
        put_place(ctf, span->id);
        put_arguments(ctf, span->id, true, span->arguments, span->argument_count, 0);
    } else {
        put_arguments(ctf, span->id, false, has_end ? event->arguments : (struct tbed_arguments){0},
                      has_end ? event->argument_count : 0, span->argument_count);
    }
    tbed_ctf_end_event(ctf);
}

/* ---- Other events ---- */

static void put_counter(struct ctf *ctf, const struct tbed_event *event)
{
    const struct tbed_argument *value = &event->counter_value;
    uint32_t unit = tbed_counter_unit(ctf->walk.reader, event->id);
    tbed_ctf_begin_event(ctf,
                         value->type == TBED_ARG_F64   ? CTF_COUNTER_F64
                         : value->type == TBED_ARG_U64 ? CTF_COUNTER_U64
                                                       : CTF_COUNTER_I64,
                         tbed_export_time(&ctf->walk, event->tick));
    put_label(ctf, event->id);
    put_category(ctf, event->category);
    if (unit != TBED_ID_INVALID)
        put_complete_name(ctf, unit);
    else
        tbed_ctf_put_text(ctf, "", 0);
    ctf_put_number(&ctf->packet, value->value.u64, 8);
    put_event_arguments(ctf, event);
}

static void put_message(struct ctf *ctf, const struct tbed_event *event)
{
    const struct tbed_text *message = tbed_export_message_of(&ctf->walk, event);
    const char *severity = tbed_export_severity(event->of.message.severity);
    tbed_ctf_begin_event(ctf, CTF_MESSAGE, tbed_export_time(&ctf->walk, event->tick));
    tbed_ctf_put_text(ctf, severity, strlen(severity));
    tbed_ctf_put_text(ctf, message->bytes, message->nbytes);
}

static void put_memory(struct ctf *ctf, const struct tbed_event *event)
{
    bool is_resize = event->type == TBED_EVENT_RESIZE; /* in place */
    bool is_realloc = event->type == TBED_EVENT_REALLOC;
    tbed_ctf_begin_event(ctf,
                         is_realloc || is_resize           ? CTF_REALLOC
                         : event->type == TBED_EVENT_ALLOC ? CTF_ALLOC
                                                           : CTF_FREE,
                         tbed_export_time(&ctf->walk, event->tick));
    put_complete_name(ctf, event->id);
    if (is_realloc)
        ctf_put_number(&ctf->packet, event->of.realloc.old_address, 8);
    if (is_resize)
        ctf_put_number(&ctf->packet, event->of.alloc.address, 8);
    ctf_put_number(&ctf->packet, is_realloc ? event->of.realloc.address : event->of.alloc.address, 8);
    if (event->type != TBED_EVENT_FREE)
        ctf_put_number(&ctf->packet, is_realloc ? event->of.realloc.size : event->of.alloc.size, 8);
}

static void put_keyed(struct ctf *ctf, const struct tbed_event *event)
{
    static const uint8_t events[] = {[TBED_EVENT_ASYNC_BEGIN] = CTF_ASYNC_BEGIN,
                                     [TBED_EVENT_ASYNC_END] = CTF_ASYNC_END,
                                     [TBED_EVENT_FLOW_BEGIN] = CTF_FLOW_BEGIN,
                                     [TBED_EVENT_FLOW_STEP] = CTF_FLOW_STEP,
                                     [TBED_EVENT_FLOW_END] = CTF_FLOW_END};
    tbed_ctf_begin_event(ctf, events[event->type], tbed_export_time(&ctf->walk, event->tick));
    put_label(ctf, event->id);
    ctf_put_number(&ctf->packet, event->of.async.key, 8);
    put_event_arguments(ctf, event);
}

static void put_gap(struct ctf *ctf, const struct tbed_event *event)
{
    const char *cause = tbed_drop_cause_text(event->of.gap.cause);
    ctf->discarded_count += event->of.gap.count;
    tbed_ctf_begin_event(ctf, CTF_RECORDS_DROPPED, tbed_export_time(&ctf->walk, event->tick));
    tbed_ctf_put_text(ctf, cause, strlen(cause));
    ctf_put_number(&ctf->packet, event->of.gap.count, 8);
}

static void put_event(struct ctf *ctf, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        tbed_ctf_begin_event(ctf, CTF_INSTANT, tbed_export_time(&ctf->walk, event->tick));
        put_label(ctf, event->id);
        put_category(ctf, event->category);
        put_place(ctf, event->id);
        put_event_arguments(ctf, event);
        break;
    case TBED_EVENT_COUNTER:
        put_counter(ctf, event);
        break;
    case TBED_EVENT_MESSAGE:
        put_message(ctf, event);
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
        put_memory(ctf, event);
        break;
    case TBED_EVENT_GAP:
        put_gap(ctf, event);
        break;
    default: /* keyed; others are counted by the walk */
        put_keyed(ctf, event);
    }
    tbed_ctf_end_event(ctf);
}

void tbed_ctf_step(void *context, const struct tbed_step *step)
{
    struct ctf *ctf = context;
    if (step->kind == TBED_STEP_BEGIN)
        take_begin(ctf, step->span);
    else if (step->kind == TBED_STEP_EVENT)
        put_event(ctf, step->event);
    else
        take_end(ctf, step);
}
