/*
 * Writes a trace as the text that OpenOffice's RTL_LOGFILE would have written, in order of time over all threads.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/sized.h"
#include "reader/analysis/filter/filter.h"
#include "reader/core/base/inert.h"
#include "reader/exchange/rtl_log/rtl_log.h"
#include "reader/exchange/shared/message_put.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_NBYTES_MAX 65536u /* of an id; longer texts are cut */
#define US_PER_S        INT64_C(1000000)

struct rtl_stream {
    uint32_t stream, tid;
    uint32_t ordinal; /* 0: no line yet */
    bool is_left_out; /* it says when a thread was off its processor: that is not the program's */
    struct rtl_span { /* outermost first: an END need not know its own id */
        uint32_t id;
        bool is_pair;
    } * open;
    size_t depth, room;
};

/* A span that began before a filter's window, and is written as if it had begun with it. */
struct rtl_cut {
    struct tbed_event begin;
    struct rtl_span span;
};

struct rtl_export {
    struct tbed_reader *reader;
    FILE *out;
    struct tbed_rtl_options options;
    struct tbed_rtl_report report;
    struct rtl_facts facts;
    bool is_ordinal, has_header, has_line;
    uint64_t base_ms, last_ms;  /* time of the first line, if that is the new zero; time of the last one */
    struct rtl_stream *streams; /* by ascending number */
    size_t stream_count, last_stream;
    uint32_t ordinal_count;
    struct rtl_cut *cuts; /* in the order in which they end */
    size_t cut_count, cut_room;
    struct tbed_text piece, message;
    char *name; /* TEXT_NBYTES_MAX bytes, for names that the reader does not cache */
    int write_errno;
    bool is_out_of_memory;
};

/* The arguments by which an imported event reproduces its line. */
struct carried {
    bool has_ms;
    uint32_t ms;
    uint32_t argument_count; /* other arguments */
    struct rtl_text line;    /* NULL: none */
    struct rtl_text text;    /* the first other argument, if it is a text */
};

/* ---- Names ---- */

/* Valid until the next call. */
static struct rtl_text name_of(struct rtl_export *export, uint32_t id)
{
    struct tbed_name name = {.text = NULL};
    size_t nbytes;
    if (id == TBED_ID_INVALID)
        return (struct rtl_text){"", 0};
    export->is_out_of_memory |= tbed_name_get(export->reader, id, &name) == TBED_ERR_MEMORY;
    if (name.text != NULL)
        return (struct rtl_text){name.text, name.nbytes};
    tbed_string_resolve(export->reader, id, export->name, TEXT_NBYTES_MAX, &nbytes);
    return (struct rtl_text){export->name, nbytes < TEXT_NBYTES_MAX ? nbytes : TEXT_NBYTES_MAX - 1};
}

static bool is_named(struct rtl_export *export, const struct tbed_argument *argument, const char *wanted)
{
    struct rtl_text name = name_of(export, argument->name_id);
    return name.nbytes == strlen(wanted) && memcmp(name.bytes, wanted, name.nbytes) == 0;
}

static struct carried look_at(struct rtl_export *export, const struct tbed_event *event)
{
    struct carried carried = {.argument_count = 0};
    struct tbed_arguments at = event->arguments;
    for (uint32_t i = 0; i < event->argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        bool is_text = argument.type == TBED_ARG_TEXT;
        struct rtl_text text = {is_text ? argument.value.text : NULL, is_text ? argument.nbytes : 0};
        bool is_ours = export->facts.is_import && argument.name_id != TBED_ID_INVALID;
        if (is_ours && is_text && is_named(export, &argument, RTL_ARG_LINE)) {
            carried.line = text;
        } else if (is_ours && argument.type == TBED_ARG_U64 && is_named(export, &argument, RTL_ARG_MS)) {
            carried.has_ms = true;
            carried.ms = (uint32_t)argument.value.u64;
        } else if (carried.argument_count++ == 0) {
            carried.text = text;
        }
    }
    return carried;
}

/* ---- Threads ---- */

/* It is one of the trace's. */
static struct rtl_stream *stream_find(struct rtl_export *export, uint32_t stream)
{
    size_t low = 0, high = export->stream_count;
    if (export->streams[export->last_stream].stream == stream)
        return &export->streams[export->last_stream];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (export->streams[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    export->last_stream = low;
    return &export->streams[low];
}

static bool streams_read(struct rtl_export *export)
{
    struct tbed_stream_info info;
    size_t count = 0;
    while (tbed_stream_get(export->reader, count, &info))
        count++;
    export->streams = calloc(count + 1, sizeof *export->streams);
    if (export->streams == NULL)
        return false;
    for (; tbed_stream_get(export->reader, export->stream_count, &info); export->stream_count++)
        export->streams[export->stream_count] = (struct rtl_stream){
            .stream = info.stream,
            .tid = info.tid,
            .is_left_out = !tbed_filter_sums_stream(export->options.filter, export->reader, info.stream)};
    return true;
}

static uint32_t tid_of(struct rtl_export *export, uint32_t number)
{
    struct rtl_stream *stream = stream_find(export, number);
    if (!export->is_ordinal)
        return stream->tid;
    if (stream->ordinal == 0)
        stream->ordinal = ++export->ordinal_count;
    return stream->ordinal;
}

static bool is_category(struct rtl_export *export, uint32_t category_id, const char *wanted)
{
    if (category_id == TBED_ID_INVALID)
        return false;
    struct rtl_text category = name_of(export, category_id);
    return category.nbytes == strlen(wanted) && memcmp(category.bytes, wanted, category.nbytes) == 0;
}

/* Is it a span that was imported from messages? */
static bool is_pair(struct rtl_export *export, uint32_t category_id)
{
    return export->facts.is_import && is_category(export, category_id, RTL_CATEGORY_PAIR);
}

static void push(struct rtl_export *export, uint32_t number, struct rtl_span span)
{
    struct rtl_stream *stream = stream_find(export, number);
    if (stream->depth == stream->room) {
        size_t room = stream->room > 0 ? stream->room * 2 : 16;
        struct rtl_span *open = realloc(stream->open, room * sizeof *open);
        export->is_out_of_memory |= open == NULL;
        if (open == NULL)
            return;
        stream->open = open;
        stream->room = room;
    }
    stream->open[stream->depth++] = span;
}

/* The span that ends. */
static struct rtl_span pop(struct rtl_export *export, const struct tbed_event *event)
{
    struct rtl_stream *stream = stream_find(export, event->stream);
    struct rtl_span span = {.id = TBED_ID_INVALID};
    uint32_t inside = event->of.end.inside;
    if (stream->depth > inside) {
        struct rtl_span *place = &stream->open[stream->depth - 1 - inside];
        span = *place;
        memmove(place, place + 1, inside * sizeof *place);
        stream->depth--;
    }
    if (event->id != TBED_ID_INVALID)
        span.id = event->id;
    return span;
}

/* ---- Bytes ---- */

static void write_bytes(struct rtl_export *export, const char *bytes, size_t nbytes)
{
    if (nbytes > 0 && export->write_errno == 0 && fwrite(bytes, 1, nbytes, export->out) != nbytes)
        export->write_errno = errno != 0 ? errno : EIO;
}

/* Adds text of the trace to the piece. Controls are escaped, so that no name can send them or begin a line of its own. */
static void put(struct rtl_export *export, const char *bytes, size_t nbytes)
{
    if (export->options.exact && export->facts.is_import)
        tbed_text_put(&export->piece, bytes, nbytes);
    else
        tbed_text_put_inert(&export->piece, bytes, nbytes, "\t");
}

/* What the program formats in one piece. */
static void write_piece(struct rtl_export *export)
{
    struct tbed_text *piece = &export->piece;
    bool is_cut = export->options.quirks && piece->nbytes > RTL_PIECE_NMAX;
    write_bytes(export, piece->bytes, is_cut ? RTL_PIECE_NMAX : piece->nbytes);
    write_bytes(export, "", is_cut);
    piece->nbytes = 0;
}

/* Writes a number in decimal, with at least six digits if padded, and returns their count. Far faster than printf. */
static size_t put_number(char *out, uint32_t value, bool is_padded)
{
    char digits[10];
    size_t count = 0, i = 0;
    for (; value > 0 || count == 0 || (is_padded && count < 6); value /= 10)
        digits[count++] = (char)('0' + value % 10);
    while (count > 0)
        out[i++] = digits[--count];
    return i;
}

static void write_prefix(struct rtl_export *export, uint32_t ms, uint32_t tid)
{
    char prefix[32];
    size_t nbytes = put_number(prefix, ms, true);
    prefix[nbytes++] = ' ';
    nbytes += put_number(prefix + nbytes, tid, false);
    prefix[nbytes++] = ' ';
    write_bytes(export, prefix, nbytes);
}

static uint64_t ms_of(struct rtl_export *export, const struct tbed_event *event,
                      const struct carried *carried)
{
    if (carried->has_ms)
        return carried->ms;
    if (export->facts.is_import)
        return event->tick / RTL_NS_PER_MS;
    int64_t ns = tbed_ticks_to_ns(export->reader, event->tick);
    return ns > 0 ? (uint64_t)ns / RTL_NS_PER_MS : 0;
}

/* Every line is written here. */
static uint32_t rebase(struct rtl_export *export, uint64_t ms)
{
    if (!export->has_line && export->options.rebase == TBED_RTL_FIRST)
        export->base_ms = ms;
    export->has_line = true;
    export->last_ms = ms;
    export->report.line_count++;
    return (uint32_t)(ms - export->base_ms);
}

/* ---- Header and trailer ---- */

static void write_number(struct rtl_export *export, unsigned which, const char *number)
{
    const char *const *parts = tbed_rtl_header_parts[which];
    if (number[0] != '\0')
        fprintf(export->out, "%s%s%s%s", parts[0], number, parts[1], which != RTL_TRAILER ? "\n" : "");
}

static void facts_of_ours(struct rtl_export *export)
{
    struct tbed_trace_info info;
    struct tbed_process_info process = {.pid = 0};
    int64_t ns = 0;
    char(*numbers)[RTL_HEADER_NMAX] = export->facts.numbers;
    tbed_reader_info(export->reader, &info);
    tbed_process_get(export->reader, 0, &process);
    tbed_ticks_to_realtime_ns(export->reader, info.first_tick, &ns);
    int64_t start_ns = tbed_ticks_to_ns(export->reader, info.first_tick);
    int64_t us = __builtin_sub_overflow(ns, start_ns, &ns) || ns < 0 ? 0 : ns / 1000;
    snprintf(numbers[0], RTL_HEADER_NMAX, "%" PRId64 ".%06" PRId64, us / US_PER_S, us % US_PER_S);
    snprintf(numbers[1], RTL_HEADER_NMAX, "0");
    snprintf(numbers[2], RTL_HEADER_NMAX, "%" PRIu32, process.pid);
}

/* The first line gets time 0, and the header's first line gets its wall-clock time. */
static void shift_header(struct rtl_export *export, uint64_t first_ms)
{
    char(*numbers)[RTL_HEADER_NMAX] = export->facts.numbers;
    const char *point = strpbrk(numbers[0], ".,");
    if (point == NULL || numbers[1][0] == '\0')
        return;
    int64_t us = strtoll(numbers[0], NULL, 10) * US_PER_S + strtoll(point + 1, NULL, 10) +
                 ((int64_t)(uint32_t)first_ms - strtoll(numbers[1], NULL, 10)) * 1000;
    us = us > 0 ? us : 0;
    snprintf(numbers[0], RTL_HEADER_NMAX, "%" PRId64 ".%06" PRId64, us / US_PER_S % 10000000000,
             us % US_PER_S);
    snprintf(numbers[1], RTL_HEADER_NMAX, "0");
}

static void write_header(struct rtl_export *export, uint64_t first_ms)
{
    if (!export->facts.is_import)
        facts_of_ours(export);
    if (export->options.rebase == TBED_RTL_FIRST)
        shift_header(export, first_ms);
    for (unsigned which = 0; which < RTL_TRAILER; which++)
        write_number(export, which, export->facts.numbers[which]);
}

static void write_trailer(struct rtl_export *export)
{
    struct tbed_trace_info info;
    char *number = export->facts.numbers[RTL_TRAILER];
    tbed_reader_info(export->reader, &info);
    uint64_t ms = export->facts.is_import ? strtoull(number, NULL, 10) : export->last_ms;
    bool has_one = export->facts.is_import ? number[0] != '\0' : info.shut;
    if (has_one)
        snprintf(number, RTL_HEADER_NMAX, "%06" PRIu32, (uint32_t)(ms - export->base_ms));
    write_number(export, RTL_TRAILER, number);
}

/* ---- Lines ---- */

/* A line that was imported with its end, which may be CR LF. */
static void write_line(struct rtl_export *export, const char *bytes, size_t nbytes)
{
    bool has_return = nbytes >= 2 && memcmp(bytes + nbytes - 2, "\r\n", 2) == 0;
    if (export->options.exact && export->facts.is_import) {
        write_bytes(export, bytes, nbytes);
        return;
    }
    tbed_text_put_inert(&export->piece, bytes, has_return ? nbytes - 2 : nbytes, "\t\n");
    tbed_text_puts(&export->piece, has_return ? "\r\n" : "");
    write_bytes(export, export->piece.bytes, export->piece.nbytes);
    export->piece.nbytes = 0;
}

/* Writes the bytes of an imported line, with its numbers replaced if that was requested. */
static void write_carried(struct rtl_export *export, const struct tbed_event *event, struct rtl_text text)
{
    struct rtl_line line;
    bool is_changed = export->options.rebase == TBED_RTL_FIRST || export->is_ordinal;
    size_t at = 0;
    if (is_changed && tbed_rtl_line_parse(text.bytes, text.nbytes, &line)) {
        uint32_t ms = rebase(export, line.ms);
        write_prefix(export, ms, export->is_ordinal ? tid_of(export, event->stream) : line.tid);
        at = line.prefix;
    } else {
        export->report.line_count++;
    }
    write_line(export, text.bytes + at, text.nbytes - at);
}

static void write_prefix_of(struct rtl_export *export, const struct tbed_event *event,
                            const struct carried *carried)
{
    uint32_t ms = rebase(export, ms_of(export, event, carried));
    write_prefix(export, ms, tid_of(export, event->stream));
}

/* Writes a scope's begin or end, or an instant. */
static void write_name(struct rtl_export *export, const struct tbed_event *event, uint32_t id,
                       const char *before, const struct carried *carried)
{
    struct rtl_text name = name_of(export, id);
    export->report.argument_count += carried->argument_count;
    write_prefix_of(export, event, carried);
    tbed_text_puts(&export->piece, before);
    put(export, name.bytes, name.nbytes);
    tbed_text_puts(&export->piece, "\n");
    write_piece(export);
}

/*
 * Writes the message that begins or ends an imported pair, whose name is "context : text", with the context as a
 * reference.
 */
static void write_pair(struct rtl_export *export, const struct tbed_event *event, uint32_t id,
                       const char *brace, const struct carried *carried)
{
    struct tbed_string_component context = {.is_reference = false};
    uint32_t at = 0;
    size_t before = 0;
    tbed_string_component_next(export->reader, id, &at, &context);
    write_prefix_of(export, event, carried);
    tbed_text_puts(&export->piece, "| ");
    if (context.is_reference) {
        struct rtl_text name = name_of(export, context.id);
        put(export, name.bytes, name.nbytes);
        tbed_text_puts(&export->piece, " ");
        before = name.nbytes + 3;
    }
    tbed_text_puts(&export->piece, brace);
    struct rtl_text name = name_of(export, id);
    if (name.nbytes >= before)
        put(export, name.bytes + before, name.nbytes - before);
    tbed_text_puts(&export->piece, "\n");
    write_piece(export);
}

static void put_formatted(struct rtl_export *export, const struct tbed_event *event)
{
    export->message.nbytes = 0;
    tbed_exchange_message(&export->message, export->reader, event, TBED_MESSAGE_BODY);
    put(export, export->message.bytes, export->message.nbytes);
}

/* Writes the text of a message; most need no formatting. */
static void put_text(struct rtl_export *export, const struct tbed_event *event, struct rtl_text format,
                     const struct carried *carried)
{
    bool is_plain = format.nbytes == 2 && memcmp(format.bytes, "%s", 2) == 0;
    if (carried->text.bytes != NULL && carried->argument_count == 1 &&
        (is_plain || event->id == TBED_ID_INVALID))
        put(export, carried->text.bytes, carried->text.nbytes);
    else if (carried->argument_count == 0 && memchr(format.bytes, '%', format.nbytes) == NULL)
        put(export, format.bytes, format.nbytes);
    else
        put_formatted(export, event);
}

static void write_message(struct rtl_export *export, const struct tbed_event *event,
                          const struct carried *carried)
{
    struct rtl_text format = name_of(export, event->id);
    const char *unit = event->of.message.has_context ? memchr(format.bytes, RTL_UNIT, format.nbytes) : NULL;
    size_t context_nbytes = unit != NULL ? (size_t)(unit - format.bytes) : 0;
    size_t before = context_nbytes + (unit != NULL);
    /* A text made at run time is the value of a "%s". */
    bool is_text = format.nbytes == before + 2 && memcmp(format.bytes + before, "%s", 2) == 0;
    bool is_one_piece = export->facts.is_import || event->argument_count == 0 || is_text;
    write_prefix_of(export, event, carried);
    tbed_text_puts(&export->piece, "| ");
    put(export, format.bytes, context_nbytes);
    tbed_text_puts(&export->piece, context_nbytes > 0 ? " : " : ": ");
    if (!is_one_piece)
        write_piece(export);
    if (unit != NULL)
        format = (struct rtl_text){unit + 1, format.nbytes - context_nbytes - 1};
    put_text(export, event, format, carried);
    if (!is_one_piece)
        write_piece(export);
    tbed_text_puts(&export->piece, "\n");
    write_piece(export);
}

static void write_edge(struct rtl_export *export, const struct tbed_event *event, const struct rtl_span *span,
                       const struct carried *carried)
{
    bool begins = event->type == TBED_EVENT_BEGIN;
    if (span->is_pair)
        write_pair(export, event, span->id, begins ? ": { " : ": } ", carried);
    else
        write_name(export, event, span->id, begins ? "{ " : "} ", carried);
}

/* 'span': that which begins or ends. */
static void write_event(struct rtl_export *export, const struct tbed_event *event, struct rtl_span span,
                        const struct carried *carried)
{
    /* A span that leaves the stack at another time than its end has its line there. */
    if (event->type == TBED_EVENT_END && event->of.end.leaves &&
        (export->facts.is_import || event->of.end.end_tick != event->tick))
        return;
    if (carried->line.bytes != NULL)
        write_carried(export, event, carried->line);
    else if (event->type == TBED_EVENT_BEGIN || event->type == TBED_EVENT_END)
        write_edge(export, event, &span, carried);
    else if (event->type == TBED_EVENT_INSTANT)
        write_name(export, event, event->id,
                   is_category(export, event->category, RTL_CATEGORY_END) ? "} " : "| : ", carried);
    else if (event->type == TBED_EVENT_MESSAGE)
        write_message(export, event, carried);
    else
        export->report.left_out_count++;
}

/* ---- Driver ---- */

/* The header is written when the first event is known, because it may need its time. */
static void take_event(struct rtl_export *export, const struct tbed_event *event, struct rtl_span span)
{
    if (stream_find(export, event->stream)->is_left_out) {
        export->report.left_out_count += event->type == TBED_EVENT_BEGIN;
        return;
    }
    struct carried carried = look_at(export, event);
    if (!export->has_header)
        write_header(export, ms_of(export, event, &carried));
    export->has_header = true;
    write_event(export, event, span, &carried);
}

static struct rtl_span span_of(struct rtl_export *export, const struct tbed_event *event)
{
    struct rtl_span span = {event->id, false};
    if (event->type == TBED_EVENT_BEGIN) {
        span.is_pair = is_pair(export, event->category);
        push(export, event->stream, span);
    } else if (event->type == TBED_EVENT_END) {
        span = pop(export, event);
    }
    return span;
}

static enum tbed_status write_events(struct rtl_export *export)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    enum tbed_status status = tbed_merge_open(export->reader, NULL, 0, &merge);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_merge_next(merge, &event)) == TBED_OK && export->write_errno == 0)
        take_event(export, &event, span_of(export, &event));
    tbed_merge_close(merge);
    return status == TBED_END ? TBED_OK : status;
}

/* ---- What a filter takes ---- */

/* Was the span cut where the window begins? Complete spans may have an event, and have no lines. */
static bool began_before(const struct rtl_export *export, const struct tbed_step *step)
{
    bool is_whole = step->event != NULL && step->event->type == TBED_EVENT_SPAN;
    return (step->kind == TBED_STEP_END || step->kind == TBED_STEP_OPEN) && !is_whole &&
           !step->span->was_begun && export->options.filter->begin > 0 &&
           step->span->begin_tick == export->options.filter->begin;
}

static struct rtl_span span_of_step(struct rtl_export *export, const struct tbed_step *step)
{
    if (step->span == NULL)
        return (struct rtl_span){step->event->id, false};
    return (struct rtl_span){step->span->id, is_pair(export, step->span->category)};
}

/* The line where the filter cut the span. */
static struct tbed_event edge_of(const struct tbed_assembled *span, enum tbed_event_type type)
{
    return (struct tbed_event){.type = type,
                               .stream = span->stream,
                               .id = span->id,
                               .category = span->category,
                               .tick = type == TBED_EVENT_BEGIN ? span->begin_tick : span->end_tick};
}

/* Remembers the span if it began before the window. */
static enum tbed_status note_cut(struct rtl_export *export, const struct tbed_step *step)
{
    if (!began_before(export, step))
        return TBED_OK;
    if (export->cut_count == export->cut_room) {
        size_t room = export->cut_room * 2 + 16;
        struct rtl_cut *cuts = realloc(export->cuts, room * sizeof *cuts);
        if (cuts == NULL)
            return TBED_ERR_MEMORY;
        export->cuts = cuts;
        export->cut_room = room;
    }
    export->cuts[export->cut_count++] =
        (struct rtl_cut){edge_of(step->span, TBED_EVENT_BEGIN), span_of_step(export, step)};
    return TBED_OK;
}

static enum tbed_status write_step(struct rtl_export *export, const struct tbed_step *step)
{
    struct tbed_event end;
    if (step->event != NULL) {
        take_event(export, step->event, span_of_step(export, step));
    } else if (step->kind == TBED_STEP_END && (step->span->was_begun || began_before(export, step))) {
        end = edge_of(step->span, TBED_EVENT_END); /* goes on beyond the window */
        take_event(export, &end, span_of_step(export, step));
    } else {
        export->report.left_out_count += step->kind == TBED_STEP_END;
    }
    return export->write_errno == 0 ? TBED_OK : TBED_END;
}

static enum tbed_status walk_steps(struct rtl_export *export,
                                   enum tbed_status (*take)(struct rtl_export *, const struct tbed_step *))
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(export->reader, NULL, 0, export->options.filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (status == TBED_OK && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        status = take(export, &step);
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

/* Spans that began before the window are known where they end, so that is read twice. The outermost come first. */
static enum tbed_status write_filtered(struct rtl_export *export)
{
    enum tbed_status status = TBED_OK;
    if (export->options.filter->begin > 0)
        status = walk_steps(export, note_cut);
    for (size_t i = export->cut_count; status == TBED_OK && i-- > 0;)
        take_event(export, &export->cuts[i].begin, export->cuts[i].span);
    return status == TBED_OK ? walk_steps(export, write_step) : status;
}

static enum tbed_status write_all(struct rtl_export *export)
{
    struct tbed_trace_info info;
    struct tbed_process_info process;
    tbed_reader_info(export->reader, &info);
    if (info.clock == TBED_CLOCK_USER)
        return TBED_ERR_NO_TIME;
    tbed_rtl_facts_read(export->reader, &export->facts);
    while (tbed_process_get(export->reader, export->report.process_count, &process))
        export->report.process_count++;
    enum tbed_rtl_tid tid = export->options.tid;
    export->is_ordinal =
        tid == TBED_RTL_TID_ORDINAL || (tid == TBED_RTL_TID_AUTO && !export->facts.is_import);
    export->name = malloc(TEXT_NBYTES_MAX);
    if (export->name == NULL || !streams_read(export))
        return TBED_ERR_MEMORY;
    enum tbed_status status = export->options.filter != NULL ? write_filtered(export) : write_events(export);
    if (!export->has_header)
        write_header(export, 0);
    write_trailer(export);
    if (export->write_errno == 0 && (ferror(export->out) || fflush(export->out) != 0))
        export->write_errno = errno != 0 ? errno : EIO;
    if (status == TBED_OK &&
        (export->is_out_of_memory || export->piece.is_out_of_memory || export->message.is_out_of_memory))
        return TBED_ERR_MEMORY;
    return status == TBED_OK && export->write_errno != 0 ? TBED_ERR_WRITE : status;
}

static void free_all(struct rtl_export *export)
{
    for (size_t i = 0; i < export->stream_count; i++)
        free(export->streams[i].open);
    free(export->streams);
    free(export->cuts);
    free(export->piece.bytes);
    free(export->message.bytes);
    free(export->name);
}

enum tbed_status tbed_export_rtl_log_stream_sized(struct tbed_reader *reader, FILE *out,
                                                  const struct tbed_rtl_options *options,
                                                  struct tbed_rtl_report *report_ret,
                                                  struct tbed_error *error_ret, size_t report_nbytes)
{
    struct rtl_export export = {.reader = reader, .out = out};
    errno = 0;
    if (!tbed_options_take(&export.options, sizeof export.options, options))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status = write_all(&export);
    errno = status == TBED_ERR_MEMORY ? ENOMEM : export.write_errno;
    if (status != TBED_OK)
        tbed_exchange_fail(error_ret, status);
    if (report_ret != NULL)
        tbed_sized_give(report_ret, report_nbytes, &export.report, sizeof export.report);
    free_all(&export);
    return status;
}

enum tbed_status tbed_export_rtl_log_sized(struct tbed_reader *reader, const char *to,
                                           const struct tbed_rtl_options *options,
                                           struct tbed_rtl_report *report_ret, struct tbed_error *error_ret,
                                           size_t report_nbytes)
{
    struct tbed_rtl_options loaded;
    struct new_file file;
    errno = 0;
    if (!tbed_options_take(&loaded, sizeof loaded, options))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status =
        tbed_new_file_open(to, loaded.overwrite, tbed_new_file_mode_of_readers(&reader, 1), &file, error_ret);
    if (status != TBED_OK)
        return status;
    int fd = dup(file.fd); /* a descriptor of its own, so that closing the stream does not close the file's */
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        status = tbed_exchange_fail(error_ret, TBED_ERR_OPEN);
        if (fd >= 0)
            close(fd);
    } else {
        status = tbed_export_rtl_log_stream_sized(reader, out, options, report_ret, error_ret, report_nbytes);
        if (fclose(out) != 0 && status == TBED_OK)
            status = tbed_exchange_fail(error_ret, TBED_ERR_WRITE);
    }
    if (status == TBED_OK)
        return tbed_new_file_commit(&file, error_ret);
    tbed_new_file_abandon(&file);
    return status;
}
