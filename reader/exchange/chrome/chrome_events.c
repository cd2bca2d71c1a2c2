/*
 * Events as Chrome trace events; see chrome_events.h. A span is written when it ends, with the arguments of its begin.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/chrome/chrome_events.h"
#include "reader/exchange/shared/message_put.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MARK "\"never ended\":true"
#define BESIDE    "beside " /* "id" of spans that do not nest; no other id starts like this */

/* ---- Opening and closing ---- */

bool tbed_chrome_writer_open(struct chrome_writer *chrome, const struct tbed_chrome_options *options)
{
    *chrome = (struct chrome_writer){.options = *options, .buffer = malloc(EXPORT_TEXT_MAX)};
    return chrome->buffer != NULL;
}

void tbed_chrome_writer_close(struct chrome_writer *chrome)
{
    tbed_chrome_names_close(&chrome->names);
    free(chrome->buffer);
    free(chrome->text.bytes);
    free(chrome->message.bytes);
}

bool tbed_chrome_is_out_of_memory(const struct chrome_writer *chrome)
{
    return chrome->text.is_out_of_memory || chrome->message.is_out_of_memory ||
           chrome->names.is_out_of_memory;
}

void tbed_chrome_open_event(struct chrome_writer *chrome)
{
    tbed_text_puts(&chrome->text, chrome->needs_comma ? ",\n{\"name\":" : "{\"name\":");
    chrome->needs_comma = true;
}

/* ---- Fields ---- */

/* Valid until the next call. */
static const struct chrome_name *find_name(struct chrome_writer *chrome, uint32_t id)
{
    return tbed_chrome_name(&chrome->names, chrome->reader, id, chrome->buffer);
}

void tbed_chrome_put_id_text(struct chrome_writer *chrome, uint32_t id)
{
    size_t nbytes = tbed_export_resolve(chrome->reader, id, chrome->buffer, &chrome->text.is_out_of_memory);
    tbed_json_quote(&chrome->text, chrome->buffer, nbytes);
}

static int64_t ns_of(const struct chrome_writer *chrome, uint64_t tick)
{
    int64_t ns;
    if (chrome->options.absolute && tbed_ticks_to_realtime_ns(chrome->reader, tick, &ns) == TBED_OK)
        return ns;
    if (chrome->options.absolute)
        /* Without time there is no wall clock: ticks stay unchanged. */
        return tick > INT64_MAX ? INT64_MAX : (int64_t)tick;
    if (__builtin_add_overflow(tbed_ticks_to_ns(chrome->reader, tick), chrome->shift_ns, &ns))
        return chrome->shift_ns < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

static int64_t floor_us(int64_t ns)
{
    return ns / 1000 - (ns % 1000 < 0);
}

static void put_us(struct chrome_writer *chrome, int64_t ns)
{
    struct tbed_text *text = &chrome->text;
    if (chrome->options.absolute) {
        tbed_text_i64(text, floor_us(ns));
        return;
    }
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, part = size % 1000;
    char digits[4] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10)};
    if (ns < 0)
        tbed_text_put(text, "-", 1);
    tbed_text_u64(text, size / 1000);
    if (part != 0)
        tbed_text_put(text, digits, 4);
}

static void put_place(struct chrome_writer *chrome, const char *phase, int64_t ns)
{
    struct tbed_text *text = &chrome->text;
    tbed_text_puts(text, ",\"ph\":\"");
    tbed_text_puts(text, phase);
    tbed_text_puts(text, "\",\"ts\":");
    put_us(chrome, ns);
    tbed_text_puts(text, ",\"pid\":");
    tbed_text_u64(text, chrome->thread->pid);
    tbed_text_puts(text, ",\"tid\":");
    tbed_text_u64(text, chrome->thread->tid);
}

static void put_category(struct chrome_writer *chrome, uint32_t category)
{
    if (category == TBED_ID_INVALID)
        return;
    tbed_text_puts(&chrome->text, ",\"cat\":");
    const struct chrome_name *name = find_name(chrome, category);
    tbed_text_put(&chrome->text, name->label.bytes, name->label.nbytes);
}

/*
 * Writes the event's arguments, numbering those without a name from 'first' on; a comma before the first if 'more'.
 */
static void put_arguments(struct chrome_writer *chrome, struct tbed_arguments at, uint32_t argument_count,
                          uint32_t first, bool more)
{
    struct tbed_text *text = &chrome->text;
    for (uint32_t i = 0; i < argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        tbed_text_puts(text, more || i > 0 ? "," : "");
        if (argument.name_id != TBED_ID_INVALID)
            tbed_chrome_put_id_text(chrome, argument.name_id);
        else {
            tbed_text_puts(text, "\"arg");
            tbed_text_u64(text, first + i);
            tbed_text_puts(text, "\"");
        }
        tbed_text_puts(text, ":");
        tbed_export_value(text, chrome->reader, &argument, chrome->buffer);
    }
}

/*
 * Writes "args": the id's own arguments, up to two lists of others, and a mark for a span that never ended. Writes
 * nothing if there are none.
 */
static void put_args(struct chrome_writer *chrome, uint32_t id, const struct tbed_assembled *begin,
                     const struct tbed_event *event, bool is_open)
{
    struct tbed_text *text = &chrome->text;
    const struct chrome_name *name = find_name(chrome, id);
    uint32_t count = name->argument_count;
    uint32_t begin_count = begin != NULL ? begin->argument_count : 0;
    uint32_t event_count = event != NULL ? event->argument_count : 0;
    bool has_details = name->details.nbytes > 0;
    if (count + begin_count + event_count == 0 && !has_details && !is_open)
        return;
    tbed_text_puts(text, ",\"args\":{");
    tbed_text_put(text, name->details.bytes, name->details.nbytes);
    tbed_text_puts(text, has_details && count > 0 ? "," : "");
    tbed_text_put(text, name->members.bytes, name->members.nbytes);
    if (begin != NULL)
        put_arguments(chrome, begin->arguments, begin_count, count, has_details || count > 0);
    count += begin_count;
    if (event != NULL)
        put_arguments(chrome, event->arguments, event_count, count, has_details || count > 0);
    if (is_open)
        tbed_text_puts(text, has_details || count + event_count > 0 ? "," OPEN_MARK : OPEN_MARK);
    tbed_text_puts(text, "}");
}

static void put_name(struct chrome_writer *chrome, uint32_t id)
{
    const struct chrome_name *name = find_name(chrome, id);
    tbed_chrome_open_event(chrome);
    tbed_text_put(&chrome->text, name->label.bytes, name->label.nbytes);
}

static void close_event(struct chrome_writer *chrome)
{
    tbed_text_puts(&chrome->text, "}");
    chrome->report.event_count++;
}

/* ---- Spans ---- */

struct span_ns {
    int64_t begin, end;
    uint64_t duration;
    bool is_inverted; /* its duration is 0, at its end */
};

static struct span_ns ns_of_span(const struct chrome_writer *chrome, const struct tbed_assembled *span)
{
    struct span_ns ns = {.begin = ns_of(chrome, span->begin_tick),
                         .end = ns_of(chrome, span->end_tick),
                         .is_inverted = span->begin_tick > span->end_tick};
    if (ns.end > ns.begin)
        ns.duration = (uint64_t)ns.end - (uint64_t)ns.begin;
    return ns;
}

/* Whole microseconds are those between the begin and the end that others see, so that spans still nest. */
static void put_duration(struct chrome_writer *chrome, const struct span_ns *ns)
{
    uint64_t duration = ns->duration;
    if (!chrome->options.absolute) {
        put_us(chrome, duration > INT64_MAX ? INT64_MAX : (int64_t)duration);
        return;
    }
    if (duration > 0)
        duration = (uint64_t)floor_us(ns->end) - (uint64_t)floor_us(ns->begin);
    tbed_text_u64(&chrome->text, duration);
}

/* An END's own arguments come after its begin's; a SPAN has one list. */
static void put_span(struct chrome_writer *chrome, const struct tbed_step *step, const struct span_ns *ns)
{
    const struct tbed_assembled *span = step->span;
    bool has_end = step->event != NULL && step->event->type == TBED_EVENT_END;
    put_name(chrome, span->id);
    put_category(chrome, span->category);
    put_place(chrome, "X", ns->is_inverted ? ns->end : ns->begin);
    tbed_text_puts(&chrome->text, ",\"dur\":");
    put_duration(chrome, ns);
    put_args(chrome, span->id, span, has_end ? step->event : NULL, step->kind == TBED_STEP_OPEN);
    close_event(chrome);
}

/* Writes one of the two events of a span that does not nest in its thread, which viewers show beside the thread. */
static void open_side(struct chrome_writer *chrome, const struct tbed_assembled *span, const char *phase,
                      uint64_t tick)
{
    put_name(chrome, span->id);
    put_category(chrome, span->category);
    put_place(chrome, phase, ns_of(chrome, tick));
    tbed_text_puts(&chrome->text, ",\"id\":\"" BESIDE);
    tbed_text_u64(&chrome->text, chrome->beside_count);
    tbed_text_puts(&chrome->text, "\"");
}

static void put_beside(struct chrome_writer *chrome, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    chrome->beside_count++;
    open_side(chrome, span, "b", span->begin_tick);
    put_args(chrome, span->id, span, step->event, step->kind == TBED_STEP_OPEN);
    close_event(chrome);
    open_side(chrome, span, "e", span->end_tick);
    close_event(chrome);
}

/* A span that leaves the stack before or after its end does not nest in its thread. */
static bool leaves(const struct tbed_step *step)
{
    return step->event != NULL && step->event->type == TBED_EVENT_END && step->event->of.end.leaves;
}

bool tbed_chrome_is_beside(const struct chrome_writer *chrome, const struct tbed_step *step)
{
    bool is_span = step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN;
    return is_span && leaves(step) && ns_of_span(chrome, step->span).duration >= chrome->options.minimum_ns;
}

static void take_span(struct chrome_writer *chrome, const struct tbed_step *step)
{
    struct span_ns ns = ns_of_span(chrome, step->span);
    struct tbed_chrome_report *report = &chrome->report;
    if (ns.duration < chrome->options.minimum_ns) {
        report->short_count++;
        return;
    }
    report->span_count++;
    report->beside_count += leaves(step);
    report->inverted_count += ns.is_inverted;
    report->clipped_count += ns.begin == INT64_MAX || ns.end == INT64_MAX;
    report->open_count += step->kind == TBED_STEP_OPEN;
    if (leaves(step))
        put_beside(chrome, step);
    else
        put_span(chrome, step, &ns);
}

/* ---- Other events ---- */

static void put_instant(struct chrome_writer *chrome, const struct tbed_event *event)
{
    put_name(chrome, event->id);
    put_category(chrome, event->category);
    put_place(chrome, "i", ns_of(chrome, event->tick));
    tbed_text_puts(&chrome->text, ",\"s\":\"t\"");
    put_args(chrome, event->id, NULL, event, false);
    close_event(chrome);
}

/* Viewers tell counters apart by name and "id". */
static void put_counter_track(struct chrome_writer *chrome, uint32_t id)
{
    const struct chrome_name *name = find_name(chrome, id);
    if (name->argument_count == 0)
        return;
    tbed_text_puts(&chrome->text, ",\"id\":");
    tbed_json_quote(&chrome->text, name->track.bytes, name->track.nbytes);
}

void tbed_chrome_put_live(struct chrome_writer *chrome, uint64_t pid, uint64_t tick, uint64_t nbytes)
{
    const struct export_thread thread = {.pid = pid};
    chrome->thread = &thread;
    tbed_chrome_open_event(chrome);
    tbed_text_puts(&chrome->text, "\"live memory\"");
    put_place(chrome, "C", ns_of(chrome, tick));
    tbed_text_puts(&chrome->text, ",\"args\":{\"bytes\":");
    tbed_text_u64(&chrome->text, nbytes);
    tbed_text_puts(&chrome->text, "}");
    close_event(chrome);
    chrome->thread = NULL;
}

static void put_counter(struct chrome_writer *chrome, const struct tbed_event *event)
{
    struct tbed_text *text = &chrome->text;
    uint32_t unit = tbed_counter_unit(chrome->reader, event->id);
    put_name(chrome, event->id);
    put_category(chrome, event->category);
    put_place(chrome, "C", ns_of(chrome, event->tick));
    put_counter_track(chrome, event->id);
    tbed_text_puts(text, ",\"args\":{");
    if (unit != TBED_ID_INVALID)
        tbed_chrome_put_id_text(chrome, unit);
    else
        tbed_text_puts(text, "\"value\"");
    tbed_text_puts(text, ":");
    tbed_export_value(text, chrome->reader, &event->counter_value, chrome->buffer);
    tbed_text_puts(text, "}");
    close_event(chrome);
    chrome->report.argument_count += event->argument_count;
}

static void put_message(struct chrome_writer *chrome, const struct tbed_event *event)
{
    static const char *const severities[] = {"none", "error", "warning", "information", "debug"};
    uint32_t severity = event->of.message.severity;
    tbed_chrome_open_event(chrome);
    chrome->message.nbytes = 0;
    tbed_exchange_message(&chrome->message, chrome->reader, event, TBED_MESSAGE_ALL);
    tbed_json_quote(&chrome->text, chrome->message.bytes, chrome->message.nbytes);
    tbed_text_puts(&chrome->text, ",\"cat\":\"message\"");
    put_place(chrome, "i", ns_of(chrome, event->tick));
    tbed_text_puts(&chrome->text, ",\"s\":\"t\",\"args\":{\"severity\":\"");
    tbed_text_puts(&chrome->text, severity <= TBED_SEVERITY_DEBUG ? severities[severity] : "unknown");
    tbed_text_puts(&chrome->text, "\"}");
    close_event(chrome);
}

static void put_gap(struct chrome_writer *chrome, const struct tbed_event *event)
{
    struct tbed_text *text = &chrome->text;
    const char *cause = tbed_drop_cause_text(event->of.gap.cause);
    tbed_chrome_open_event(chrome);
    tbed_text_puts(text, "\"records dropped\",\"cat\":\"gap\"");
    put_place(chrome, "i", ns_of(chrome, event->tick));
    tbed_text_puts(text, ",\"s\":\"t\",\"args\":{\"count\":");
    tbed_text_u64(text, event->of.gap.count);
    tbed_text_puts(text, ",\"cause\":");
    tbed_json_quote(text, cause, strlen(cause));
    tbed_text_puts(text, "}");
    close_event(chrome);
}

/* Asynchronous spans match by name and key; in that format only "cat" and "id" count. Flows match by key. */
static void put_keyed(struct chrome_writer *chrome, const struct tbed_event *event, const char *phase)
{
    struct tbed_text *text = &chrome->text;
    bool is_flow = event->type >= TBED_EVENT_FLOW_BEGIN;
    char key[48];
    if (is_flow)
        snprintf(key, sizeof key, "0x%llx", (unsigned long long)event->of.async.key);
    else
        snprintf(key, sizeof key, "%u:0x%llx", event->id, (unsigned long long)event->of.async.key);
    put_name(chrome, event->id);
    tbed_text_puts(text, is_flow ? ",\"cat\":\"flow\"" : ",\"cat\":\"async\"");
    put_place(chrome, phase, ns_of(chrome, event->tick));
    tbed_text_puts(text, ",\"id\":\"");
    tbed_text_puts(text, key);
    tbed_text_puts(text, event->type == TBED_EVENT_FLOW_END ? "\",\"bp\":\"e\"" : "\"");
    put_args(chrome, event->id, NULL, event, false);
    close_event(chrome);
}

static void put_other(struct chrome_writer *chrome, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        if (chrome->options.skip_instants)
            chrome->report.instant_count++;
        else
            put_instant(chrome, event);
        break;
    case TBED_EVENT_COUNTER:
        if (chrome->options.skip_counters)
            chrome->report.counter_count++;
        else
            put_counter(chrome, event);
        break;
    case TBED_EVENT_MESSAGE:
        put_message(chrome, event);
        break;
    case TBED_EVENT_GAP:
        put_gap(chrome, event);
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
        put_keyed(chrome, event, event->type == TBED_EVENT_ASYNC_BEGIN ? "b" : "e");
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        put_keyed(chrome, event,
                  event->type == TBED_EVENT_FLOW_BEGIN  ? "s"
                  : event->type == TBED_EVENT_FLOW_STEP ? "t"
                                                        : "f");
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
        chrome->report.allocation_count++;
        break;
    default:
        chrome->report.unknown_count++;
    }
}

/* ---- Steps ---- */

void tbed_chrome_take_step(struct chrome_writer *chrome, const struct tbed_step *step)
{
    if (step->kind == TBED_STEP_EVENT)
        put_other(chrome, step->event);
    else if (step->kind == TBED_STEP_UNKNOWN)
        chrome->report.unpaired_count++;
    else
        take_span(chrome, step);
}
