/*
 * Writes traces as Chrome trace events, stream by stream, in the order of the assembler's steps: a span is written
 * when it ends, with the arguments of its begin.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/sized.h"
#include "reader/exchange/chrome/chrome.h"
#include "reader/exchange/shared/message_put.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <unistd.h>

#define FLUSH_NBYTES (256u << 10)
#define OPEN_MARK    "\"never ended\":true"
#define BESIDE       "beside " /* "id" of spans that do not nest; no other id starts like this */

struct chrome {
    FILE *out;
    struct tbed_chrome_options options;
    struct tbed_chrome_report report;
    struct tbed_text text; /* prepared, not written yet */
    int write_errno;
    bool needs_comma;
    char *buffer; /* CHROME_TEXT_MAX bytes */
    struct tbed_text message;
    struct chrome_names names;
    struct chrome_pids taken;

    /* of the current trace */
    struct tbed_reader *reader;
    const struct tbed_filter *filter; /* NULL: everything */
    struct chrome_threads threads;
    int64_t shift_ns; /* added to its times */

    /* of the current stream */
    const struct chrome_thread *thread;
    uint64_t beside_count; /* spans that do not nest: each needs a number */
};

/* ---- Output ---- */

static void flush(struct chrome *chrome)
{
    struct tbed_text *text = &chrome->text;
    if (text->nbytes > 0 && chrome->write_errno == 0 &&
        fwrite(text->bytes, 1, text->nbytes, chrome->out) != text->nbytes)
        chrome->write_errno = errno != 0 ? errno : EIO;
    text->nbytes = 0;
}

static bool is_out_of_memory(const struct chrome *chrome)
{
    return chrome->text.is_out_of_memory || chrome->message.is_out_of_memory ||
           chrome->names.is_out_of_memory;
}

static bool is_over(const struct chrome *chrome)
{
    return chrome->write_errno != 0 || is_out_of_memory(chrome);
}

static void open_event(struct chrome *chrome)
{
    if (chrome->text.nbytes > FLUSH_NBYTES)
        flush(chrome);
    tbed_text_puts(&chrome->text, chrome->needs_comma ? ",\n{\"name\":" : "{\"name\":");
    chrome->needs_comma = true;
}

/* ---- Fields ---- */

/* Valid until the next call. */
static const struct chrome_name *find_name(struct chrome *chrome, uint32_t id)
{
    return tbed_chrome_name(&chrome->names, chrome->reader, id, chrome->buffer);
}

/* Writes the complete text of an id in quotes. */
static void put_id_text(struct chrome *chrome, uint32_t id)
{
    size_t nbytes = tbed_chrome_resolve(chrome->reader, id, chrome->buffer);
    tbed_json_quote(&chrome->text, chrome->buffer, nbytes);
}

static int64_t ns_of(const struct chrome *chrome, uint64_t tick)
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

static void put_us(struct chrome *chrome, int64_t ns)
{
    struct tbed_text *text = &chrome->text;
    if (chrome->options.absolute) {
        int64_t us = ns / 1000;
        tbed_text_i64(text, us - (ns % 1000 < 0));
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

static void put_place(struct chrome *chrome, const char *phase, int64_t ns)
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

static void put_category(struct chrome *chrome, uint32_t category)
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
static void put_arguments(struct chrome *chrome, struct tbed_arguments at, uint32_t argument_count,
                          uint32_t first, bool more)
{
    struct tbed_text *text = &chrome->text;
    for (uint32_t i = 0; i < argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        tbed_text_puts(text, more || i > 0 ? "," : "");
        if (argument.name_id != TBED_ID_INVALID)
            put_id_text(chrome, argument.name_id);
        else {
            tbed_text_puts(text, "\"arg");
            tbed_text_u64(text, first + i);
            tbed_text_puts(text, "\"");
        }
        tbed_text_puts(text, ":");
        tbed_chrome_value(text, chrome->reader, &argument, chrome->buffer);
    }
}

/*
 * Writes "args": the id's own arguments, up to two lists of others, and a mark for a span that never ended. Writes
 * nothing if there are none.
 */
static void put_args(struct chrome *chrome, uint32_t id, const struct tbed_assembled *begin,
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

static void put_name(struct chrome *chrome, uint32_t id)
{
    const struct chrome_name *name = find_name(chrome, id);
    open_event(chrome);
    tbed_text_put(&chrome->text, name->label.bytes, name->label.nbytes);
}

static void close_event(struct chrome *chrome)
{
    tbed_text_puts(&chrome->text, "}");
    chrome->report.event_count++;
}

/* ---- Spans ---- */

/* False: it is shorter than the requested minimum. */
static bool is_long_enough(struct chrome *chrome, uint64_t begin_tick, uint64_t end_tick, uint64_t *ns_ret)
{
    int64_t begin_ns = ns_of(chrome, begin_tick), end_ns = ns_of(chrome, end_tick);
    *ns_ret = end_ns > begin_ns ? (uint64_t)end_ns - (uint64_t)begin_ns : 0;
    bool is_long = *ns_ret >= chrome->options.minimum_ns;
    chrome->report.short_count += !is_long;
    chrome->report.inverted_count += is_long && begin_tick > end_tick;
    chrome->report.clipped_count += is_long && (begin_ns == INT64_MAX || end_ns == INT64_MAX);
    return is_long;
}

/* An END's own arguments come after its begin's; a SPAN has one list. */
static void put_span(struct chrome *chrome, const struct tbed_step *step, uint64_t ns)
{
    const struct tbed_assembled *span = step->span;
    bool has_end = step->event != NULL && step->event->type == TBED_EVENT_END;
    put_name(chrome, span->id);
    put_category(chrome, span->category);
    bool is_inverted = span->begin_tick > span->end_tick; /* no time, at its end */
    put_place(chrome, "X", ns_of(chrome, is_inverted ? span->end_tick : span->begin_tick));
    tbed_text_puts(&chrome->text, ",\"dur\":");
    put_us(chrome, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
    put_args(chrome, span->id, span, has_end ? step->event : NULL, step->kind == TBED_STEP_OPEN);
    close_event(chrome);
}

/* Writes one of the two events of a span that does not nest in its thread, which viewers show beside the thread. */
static void open_side(struct chrome *chrome, const struct tbed_assembled *span, const char *phase,
                      uint64_t tick)
{
    put_name(chrome, span->id);
    put_category(chrome, span->category);
    put_place(chrome, phase, ns_of(chrome, tick));
    tbed_text_puts(&chrome->text, ",\"id\":\"" BESIDE);
    tbed_text_u64(&chrome->text, chrome->beside_count);
    tbed_text_puts(&chrome->text, "\"");
}

static void put_beside(struct chrome *chrome, const struct tbed_step *step)
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
static bool is_beside(const struct tbed_step *step)
{
    return step->event != NULL && step->event->type == TBED_EVENT_END && step->event->of.end.leaves;
}

static void take_span(struct chrome *chrome, const struct tbed_step *step)
{
    uint64_t ns;
    if (!is_long_enough(chrome, step->span->begin_tick, step->span->end_tick, &ns))
        return;
    chrome->report.open_count += step->kind == TBED_STEP_OPEN;
    if (is_beside(step))
        put_beside(chrome, step);
    else
        put_span(chrome, step, ns);
}

/* ---- Other events ---- */

static void put_instant(struct chrome *chrome, const struct tbed_event *event)
{
    put_name(chrome, event->id);
    put_category(chrome, event->category);
    put_place(chrome, "i", ns_of(chrome, event->tick));
    tbed_text_puts(&chrome->text, ",\"s\":\"t\"");
    put_args(chrome, event->id, NULL, event, false);
    close_event(chrome);
}

static void put_counter(struct chrome *chrome, const struct tbed_event *event)
{
    struct tbed_text *text = &chrome->text;
    uint32_t unit = tbed_counter_unit(chrome->reader, event->id);
    put_name(chrome, event->id);
    put_category(chrome, event->category);
    put_place(chrome, "C", ns_of(chrome, event->tick));
    tbed_text_puts(text, ",\"args\":{");
    if (unit != TBED_ID_INVALID)
        put_id_text(chrome, unit);
    else
        tbed_text_puts(text, "\"value\"");
    tbed_text_puts(text, ":");
    tbed_chrome_value(text, chrome->reader, &event->counter_value, chrome->buffer);
    tbed_text_puts(text, "}");
    close_event(chrome);
    chrome->report.argument_count += event->argument_count;
}

static void put_message(struct chrome *chrome, const struct tbed_event *event)
{
    static const char *const severities[] = {"none", "error", "warning", "information", "debug"};
    uint32_t severity = event->of.message.severity;
    open_event(chrome);
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

static void put_gap(struct chrome *chrome, const struct tbed_event *event)
{
    struct tbed_text *text = &chrome->text;
    const char *cause = tbed_drop_cause_text(event->of.gap.cause);
    open_event(chrome);
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
static void put_keyed(struct chrome *chrome, const struct tbed_event *event, const char *phase)
{
    struct tbed_text *text = &chrome->text;
    bool is_flow = event->type >= TBED_EVENT_FLOW_BEGIN && event->type <= TBED_EVENT_FLOW_END;
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

static void put_other(struct chrome *chrome, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        put_instant(chrome, event);
        break;
    case TBED_EVENT_COUNTER:
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
        chrome->report.allocation_count++;
        break;
    default:
        chrome->report.unknown_count++;
    }
}

/* ---- One trace ---- */

static void take_step(struct chrome *chrome, const struct tbed_step *step)
{
    switch (step->kind) {
    case TBED_STEP_BEGIN:
        break;
    case TBED_STEP_END:
    case TBED_STEP_OPEN:
        take_span(chrome, step);
        break;
    case TBED_STEP_UNKNOWN:
        chrome->report.unpaired_count++;
        break;
    case TBED_STEP_EVENT:
        put_other(chrome, step->event);
    }
}

static enum tbed_status put_stream(struct chrome *chrome, const struct chrome_thread *thread)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(chrome->reader, &thread->stream, 1, chrome->filter, &assembler);
    if (status != TBED_OK)
        return status;
    chrome->thread = thread;
    while (!is_over(chrome) && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        take_step(chrome, &step);
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

static void open_metadata(struct chrome *chrome, const char *name, uint64_t pid, uint64_t tid)
{
    struct tbed_text *text = &chrome->text;
    open_event(chrome);
    tbed_json_quote(text, name, strlen(name));
    tbed_text_puts(text, ",\"cat\":\"\",\"ph\":\"M\",\"ts\":0,\"pid\":");
    tbed_text_u64(text, pid);
    tbed_text_puts(text, ",\"tid\":");
    tbed_text_u64(text, tid);
    tbed_text_puts(text, ",\"args\":{\"");
}

static void put_process(struct chrome *chrome, size_t index, const struct tbed_process_info *process)
{
    struct tbed_text *text = &chrome->text;
    char crate[256];
    int64_t ns;
    size_t nbytes = index == 0 ? tbed_chrome_crate(chrome->reader, crate, sizeof crate) : 0;
    open_metadata(chrome, "process_name", chrome->threads.pids[index], 0);
    tbed_text_puts(text, "name\":");
    if (nbytes > 0)
        tbed_json_quote(text, crate, nbytes);
    else
        put_id_text(chrome, process->name_id);
    tbed_text_puts(text, "}}");
    if (tbed_ticks_to_realtime_ns(chrome->reader, process->tick, &ns) != TBED_OK)
        return;
    open_metadata(chrome, "process_sort_index", chrome->threads.pids[index], 0);
    tbed_text_puts(text, "sort_index\":");
    tbed_text_i64(text, ns / 1000 - (ns % 1000 < 0));
    tbed_text_puts(text, "}}");
}

/* Is a thread of the process written? */
static bool has_thread(const struct chrome *chrome, uint64_t pid)
{
    for (size_t i = 0; i < chrome->threads.count; i++)
        if (chrome->threads.items[i].pid == pid)
            return true;
    return chrome->filter == NULL;
}

static void put_metadata(struct chrome *chrome)
{
    struct tbed_process_info process;
    for (size_t i = 0; tbed_process_get(chrome->reader, i, &process); i++)
        if (has_thread(chrome, chrome->threads.pids[i]))
            put_process(chrome, i, &process);
    for (size_t i = 0; i < chrome->threads.count; i++) {
        const struct chrome_thread *thread = &chrome->threads.items[i];
        if (thread->name_id == TBED_ID_INVALID)
            continue;
        open_metadata(chrome, "thread_name", thread->pid, thread->tid);
        tbed_text_puts(&chrome->text, "name\":");
        put_id_text(chrome, thread->name_id);
        tbed_text_puts(&chrome->text, "}}");
    }
}

/* Lowers '*first_tick' to the stream's first begin. */
static enum tbed_status find_begin(struct tbed_reader *reader, uint32_t stream, uint64_t *first_tick)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK) {
        uint64_t tick = event.tick;
        if (event.type == TBED_EVENT_SPAN)
            tick = event.of.span.begin_tick;
        else if (event.type == TBED_EVENT_END && event.of.end.begin_tick != 0)
            tick = event.of.end.begin_tick;
        *first_tick = tick < *first_tick ? tick : *first_tick;
    }
    tbed_cursor_close(cursor);
    return status == TBED_END ? TBED_OK : status;
}

/* Lowers '*first_tick' to the first begin of a span that is open in some block, although the begin itself may be lost. */
static void find_open_begin(struct tbed_reader *reader, size_t block_count, uint64_t *first_tick)
{
    for (size_t i = 0; i < block_count; i++) {
        struct tbed_block block;
        uint64_t first = UINT64_MAX, begin_tick;
        uint32_t id;
        if (tbed_event_block_get(reader, i, &block) != TBED_OK)
            continue; /* reported by the cursors of the export */
        for (uint32_t span = 0; span < block.stored_count; span++) {
            tbed_block_open_span(&block, span, &begin_tick, &id);
            first = begin_tick < first ? begin_tick : first;
        }
        bool was_reused = tbed_event_block_get(reader, i, &block) != TBED_OK; /* meanwhile, in a live ring */
        *first_tick = !was_reused && first < *first_tick ? first : *first_tick;
    }
}

/*
 * When the trace began, by its clock and, if known, by the wall clock. The first event left in a ring may be the end
 * of a span.
 */
struct start {
    int64_t ns, realtime_ns;
    bool has_realtime;
};

static enum tbed_status find_start(struct tbed_reader *reader, struct start *start_ret)
{
    struct tbed_trace_info info;
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    tbed_reader_info(reader, &info);
    uint64_t tick = info.first_tick;
    bool is_ring = info.ring_page_count != 0;
    find_open_begin(reader, info.event_block_count, &tick);
    for (size_t i = 0; is_ring && status == TBED_OK && tbed_stream_get(reader, i, &stream); i++)
        status = find_begin(reader, stream.stream, &tick);
    start_ret->ns = tbed_ticks_to_ns(reader, tick);
    start_ret->has_realtime = tbed_ticks_to_realtime_ns(reader, tick, &start_ret->realtime_ns) == TBED_OK;
    return status;
}

/* The offset added to the trace's times: its start is 0, or later if another trace began before it. */
static int64_t find_shift(const struct start *start, const struct start *starts, size_t count)
{
    int64_t first = start->realtime_ns, late, shift;
    for (size_t i = 0; i < count && start->has_realtime; i++)
        if (starts[i].has_realtime && starts[i].realtime_ns < first)
            first = starts[i].realtime_ns;
    bool too_far = !start->has_realtime || __builtin_sub_overflow(start->realtime_ns, first, &late);
    late = too_far ? 0 : late;
    return __builtin_sub_overflow(late, start->ns, &shift) ? 0 : shift;
}

static enum tbed_status put_trace(struct chrome *chrome, struct tbed_reader *reader,
                                  const struct tbed_filter *filter)
{
    chrome->reader = reader;
    chrome->filter = filter;
    tbed_chrome_names_clear(&chrome->names); /* ids of another trace have other meanings */
    enum tbed_status status =
        tbed_chrome_threads_make(reader, filter, chrome->options.collapse_threads, &chrome->taken,
                                 &chrome->report.renumbered_count, &chrome->threads);
    if (status == TBED_OK)
        put_metadata(chrome);
    for (size_t i = 0; i < chrome->threads.count && status == TBED_OK && !is_over(chrome); i++)
        status = put_stream(chrome, &chrome->threads.items[i]);
    tbed_chrome_threads_free(&chrome->threads);
    chrome->threads = (struct chrome_threads){0};
    return status;
}

/* ---- All traces ---- */

static enum tbed_status put_all(struct chrome *chrome, struct tbed_reader *const *readers, size_t count)
{
    struct start *starts = calloc(count + 1, sizeof *starts);
    enum tbed_status status = starts != NULL ? TBED_OK : TBED_ERR_MEMORY;
    for (size_t i = 0; status == TBED_OK && i < count && !chrome->options.absolute; i++)
        status = find_start(readers[i], &starts[i]);
    for (size_t i = 0; i < count && status == TBED_OK; i++) {
        chrome->shift_ns = find_shift(&starts[i], starts, count);
        status = put_trace(chrome, readers[i],
                           chrome->options.filters != NULL ? chrome->options.filters[i] : NULL);
    }
    free(starts);
    return status;
}

static enum tbed_status put_traces(struct chrome *chrome, struct tbed_reader *const *readers, size_t count)
{
    tbed_text_puts(&chrome->text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    enum tbed_status status = put_all(chrome, readers, count);
    tbed_text_puts(&chrome->text, "\n]}\n");
    flush(chrome);
    if (chrome->write_errno == 0 && fflush(chrome->out) != 0)
        chrome->write_errno = errno != 0 ? errno : EIO;
    if (status != TBED_OK)
        return status;
    if (is_out_of_memory(chrome))
        return TBED_ERR_MEMORY;
    return chrome->write_errno != 0 ? TBED_ERR_WRITE : TBED_OK;
}

static enum tbed_status export_into(struct chrome *chrome, struct tbed_reader *const *readers, size_t count,
                                    struct tbed_chrome_report *report, size_t report_nbytes,
                                    struct tbed_error *error)
{
    enum tbed_status status = TBED_ERR_MEMORY;
    chrome->buffer = malloc(CHROME_TEXT_MAX);
    if (chrome->buffer != NULL && tbed_chrome_names_open(&chrome->names))
        status = put_traces(chrome, readers, count);
    if (report != NULL)
        tbed_sized_give(report, report_nbytes, &chrome->report, sizeof chrome->report);
    errno = chrome->write_errno;
    if (status != TBED_OK)
        tbed_exchange_fail(error, status);
    tbed_chrome_names_close(&chrome->names);
    free(chrome->buffer);
    free(chrome->text.bytes);
    free(chrome->message.bytes);
    free(chrome->taken.items);
    return status;
}

enum tbed_status tbed_export_chrome_stream_sized(struct tbed_reader *const *readers, size_t reader_count,
                                                 FILE *out, const struct tbed_chrome_options *options,
                                                 struct tbed_chrome_report *report_ret,
                                                 struct tbed_error *error_ret, size_t report_nbytes)
{
    struct chrome chrome = {.out = out};
    if (!tbed_options_take(&chrome.options, sizeof chrome.options, options))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    return export_into(&chrome, readers, reader_count, report_ret, report_nbytes, error_ret);
}

enum tbed_status tbed_export_chrome_sized(struct tbed_reader *const *readers, size_t reader_count,
                                          const char *to, const struct tbed_chrome_options *options,
                                          struct tbed_chrome_report *report_ret, struct tbed_error *error_ret,
                                          size_t report_nbytes)
{
    struct chrome chrome = {0};
    struct new_file file;
    if (!tbed_options_take(&chrome.options, sizeof chrome.options, options))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status = tbed_new_file_open(
        to, chrome.options.overwrite, tbed_new_file_mode_of_readers(readers, reader_count), &file, error_ret);
    if (status != TBED_OK)
        return status;
    int fd = dup(file.fd); /* a descriptor of its own, so that closing the stream does not close the file's */
    chrome.out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (chrome.out == NULL) {
        status = tbed_exchange_fail(error_ret, TBED_ERR_OPEN);
        if (fd >= 0)
            close(fd);
    } else {
        status = export_into(&chrome, readers, reader_count, report_ret, report_nbytes, error_ret);
        if (fclose(chrome.out) != 0 && status == TBED_OK)
            status = tbed_exchange_fail(error_ret, TBED_ERR_WRITE);
    }
    if (status == TBED_OK)
        return tbed_new_file_commit(&file, error_ret);
    tbed_new_file_abandon(&file);
    return status;
}
