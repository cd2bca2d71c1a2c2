/*
 * The evented profiles of a thread.
 *
 * The format wants begins and ends in order of time and strictly nested, while the assembler returns spans in the order of
 * their ends, and some of them do not nest. So the spans of a thread are read from the last to the first, as the statistics
 * read them: there, the innermost span around each is on a stack. What that yields, ends and begins from the last to the
 * first, is then written in reverse. A span that would break the order is left for another profile of the thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/json.h"
#include "reader/core/base/workers.h"
#include "reader/core/names/id_info.h"
#include "reader/core/names/label.h"
#include "reader/exchange/speedscope/speedscope.h"
#include "reader/exchange/stacks/left_out.h"

#define PROFILES_MAX 64u /* of a thread; bounds the time that a hostile trace can cost */
#define NAME_NBYTES  1024u

/* ---- Spans ---- */

/* Labels are those of the statistics. */
static uint32_t make_frame(struct speedscope *speedscope, uint32_t id)
{
    char place[NAME_NBYTES];
    struct tbed_location location;
    struct tbed_label label = {0};
    struct tbed_stack_row row = {.label = place, .depth = 1, .id = id};
    enum tbed_id_kind kind = tbed_id_find(speedscope->reader, id, &location);
    if (kind == TBED_ID_KIND_CODE || kind == TBED_ID_KIND_NATIVE) {
        row.label_nbytes = tbed_frame_name(speedscope->reader, id, place, sizeof place);
        return row.label_nbytes == SIZE_MAX ? FRAME_NONE : tbed_frame_table_row(&speedscope->frames, &row);
    }
    struct tbed_label_strings strings = tbed_label_strings(speedscope->reader);
    bool fine = tbed_label_make_row(&strings, id, &label);
    row.label = label.text;
    row.label_nbytes = label.nbytes;
    uint32_t frame = fine ? tbed_frame_table_row(&speedscope->frames, &row) : FRAME_NONE;
    free(label.text);
    return frame;
}

static uint32_t frame_of(struct speedscope *speedscope, uint32_t id)
{
    struct speedscope_id *slot = TBED_HASHMAP_ADD(&speedscope->ids, tbed_hashmap_key32(id));
    if (slot != NULL && slot->number == 0) {
        uint32_t frame = make_frame(speedscope, id);
        slot->number = frame != FRAME_NONE ? (uint64_t)frame + 1 : 0;
    }
    if (slot == NULL || slot->number == 0) {
        speedscope->is_out_of_memory = true;
        return 0;
    }
    return (uint32_t)(slot->number - 1);
}

static int64_t ns_of(const struct speedscope *speedscope, uint64_t tick)
{
    if (speedscope->info.resolution_ticks > 1)
        tick -= tick % speedscope->info.resolution_ticks;
    return tbed_ticks_to_ns(speedscope->reader, tick);
}

static void add_span(struct speedscope *speedscope, const struct tbed_step *step)
{
    uint64_t *notes = speedscope->job->result->notes;
    const struct tbed_assembled *span = step->span;
    struct spool_item item = {.begin = ns_of(speedscope, span->begin_tick),
                              .end = ns_of(speedscope, span->end_tick),
                              .frame = frame_of(speedscope, span->id)};
    notes[TBED_EXPORT_NOTE_INVERTED] += span->begin_tick > span->end_tick;
    notes[TBED_EXPORT_NOTE_CLIPPED] += item.end == INT64_MAX || item.begin == INT64_MIN;
    notes[TBED_EXPORT_NOTE_OPEN] += step->kind == TBED_STEP_OPEN;
    notes[TBED_EXPORT_NOTE_ARGUMENTS] += span->argument_count;
    item.begin = item.begin < item.end ? item.begin : item.end;
    tbed_span_spool_add(&speedscope->spans, &item);
}

static void add_step(struct speedscope *speedscope, const struct tbed_step *step)
{
    uint64_t *notes = speedscope->job->result->notes;
    if (step->kind == TBED_STEP_EVENT)
        tbed_left_out_event(notes, step->event, LEFT_OUT_TAKES_SPANS);
    else if (step->kind == TBED_STEP_UNKNOWN)
        notes[TBED_EXPORT_NOTE_UNPAIRED]++;
    else if (step->kind != TBED_STEP_BEGIN)
        add_span(speedscope, step);
}

static enum tbed_status collect(struct speedscope *speedscope, uint32_t stream,
                                const struct tbed_filter *filter)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    tbed_span_spool_clear(&speedscope->spans);
    enum tbed_status status =
        tbed_assembler_open_filtered(speedscope->reader, &stream, 1, filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (!tbed_speedscope_is_over(speedscope) &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        add_step(speedscope, &step);
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

/* ---- The events of one profile, from the last to the first ---- */

static void add_event(struct speedscope *speedscope, int64_t at, uint32_t frame, bool is_open)
{
    struct spool_item event = {.begin = at, .frame = frame, .is_open = is_open};
    tbed_span_spool_add(&speedscope->events, &event);
    speedscope->earliest = at;
}

static void pop(struct speedscope *speedscope)
{
    const struct speedscope_open *top = &speedscope->stack.items[--speedscope->stack.count];
    add_event(speedscope, top->begin, top->frame, true);
}

/* False: the span does not fit into this profile. */
static bool push(struct speedscope *speedscope, const struct spool_item *span)
{
    if (speedscope->events.count > 0 && span->end > speedscope->earliest)
        return false;
    while (speedscope->stack.count > 0) {
        const struct speedscope_open *top = &speedscope->stack.items[speedscope->stack.count - 1];
        if (top->begin <= span->begin && span->end <= top->end)
            break;
        if (top->begin < span->end)
            return false;
        pop(speedscope);
    }
    struct speedscope_open *open = TBED_VECTOR_PUSH(&speedscope->stack);
    speedscope->is_out_of_memory |= open == NULL;
    if (open != NULL)
        *open = (struct speedscope_open){span->begin, span->end, span->frame};
    add_event(speedscope, span->end, span->frame, false);
    return true;
}

/* Takes the spans from the last to the first. Returns how many fitted. */
static uint64_t make_events(struct speedscope *speedscope)
{
    struct spool_item span;
    uint64_t count = 0;
    tbed_span_spool_clear(&speedscope->events);
    tbed_span_spool_clear(&speedscope->beside);
    speedscope->stack.count = 0;
    while (!tbed_speedscope_is_over(speedscope) && tbed_span_spool_next(&speedscope->spans, &span)) {
        bool fits = push(speedscope, &span);
        count += fits;
        if (!fits)
            tbed_span_spool_add(&speedscope->beside, &span);
    }
    while (speedscope->stack.count > 0)
        pop(speedscope);
    return count;
}

/* ---- Text ---- */

void tbed_speedscope_open_profile(struct speedscope *speedscope, const char *type, const char *name,
                                  size_t name_nbytes, const char *unit)
{
    struct tbed_text *text = &speedscope->out->text;
    tbed_text_puts(text, speedscope->needs_comma ? ",\n{\"type\":\"" : "\n{\"type\":\"");
    tbed_text_puts(text, type);
    tbed_text_puts(text, "\",\"name\":");
    tbed_json_quote(text, name, name_nbytes);
    tbed_text_puts(text, ",\"unit\":\"");
    tbed_text_puts(text, unit);
    tbed_text_puts(text, "\"");
    speedscope->needs_comma = true;
}

bool tbed_speedscope_process(struct tbed_reader *reader, uint32_t number,
                             struct tbed_process_info *process_ret)
{
    for (size_t i = 0; tbed_process_get(reader, i, process_ret); i++)
        if (process_ret->stream == number)
            return true;
    return false;
}

static void put_events(struct speedscope *speedscope)
{
    struct tbed_text *text = &speedscope->out->text;
    struct spool_item event = {0};
    int64_t first = 0;
    bool is_first = true;
    tbed_text_puts(text, ",\"events\":[");
    tbed_span_spool_read(&speedscope->events, true);
    while (!tbed_speedscope_is_over(speedscope) && tbed_span_spool_next(&speedscope->events, &event)) {
        tbed_text_puts(text, is_first ? "\n" : ",\n");
        tbed_text_puts(text, event.is_open ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
        tbed_text_u64(text, event.frame);
        tbed_text_puts(text, ",\"at\":");
        tbed_text_i64(text, event.begin);
        tbed_text_puts(text, "}");
        first = is_first ? event.begin : first;
        is_first = false;
    }
    tbed_text_puts(text, "],\"startValue\":");
    tbed_text_i64(text, first < 0 ? first : 0);
    tbed_text_puts(text, ",\"endValue\":");
    tbed_text_i64(text, event.begin);
    tbed_text_puts(text, "}");
}

/* "make (1234) ": a name and a number. */
static void put_numbered(struct speedscope *speedscope, struct tbed_text *name, uint32_t id,
                         const char *unnamed, uint32_t number)
{
    char text[NAME_NBYTES];
    size_t nbytes = id != TBED_ID_INVALID ? tbed_frame_name(speedscope->reader, id, text, sizeof text) : 0;
    speedscope->is_out_of_memory |= nbytes == SIZE_MAX;
    if (nbytes != SIZE_MAX && nbytes > 0)
        tbed_text_put(name, text, nbytes);
    else
        tbed_text_puts(name, unnamed);
    tbed_text_puts(name, " (");
    tbed_text_u64(name, number);
    tbed_text_puts(name, ")");
}

/* "make (1234) worker (1240)" */
static void put_thread_name(struct speedscope *speedscope, const struct tbed_stream_info *stream,
                            struct tbed_text *name, unsigned beside)
{
    struct tbed_process_info process;
    if (tbed_speedscope_process(speedscope->reader, stream->process, &process)) {
        put_numbered(speedscope, name, process.name_id, "process", process.pid);
        tbed_text_puts(name, " ");
    }
    const char *unnamed = stream->kind == TBED_STREAM_HANDLERS  ? "signal handlers"
                          : stream->kind == TBED_STREAM_OFF_CPU ? "off CPU"
                                                                : "thread";
    put_numbered(speedscope, name, stream->name_id, unnamed, stream->tid);
    if (beside > 0) {
        tbed_text_puts(name, ", beside ");
        tbed_text_u64(name, beside);
    }
    speedscope->is_out_of_memory |= name->is_out_of_memory;
}

static void put_profile(struct speedscope *speedscope, const struct tbed_stream_info *stream, unsigned beside)
{
    struct tbed_text name = {0};
    put_thread_name(speedscope, stream, &name, beside);
    bool is_time = speedscope->info.clock != TBED_CLOCK_USER;
    tbed_speedscope_open_profile(speedscope, "evented", name.bytes, name.nbytes,
                                 is_time ? "nanoseconds" : "none");
    free(name.bytes);
    put_events(speedscope);
}

enum tbed_status tbed_speedscope_stream(struct speedscope *speedscope, const struct tbed_stream_info *stream,
                                        const struct tbed_filter *filter)
{
    struct tbed_export_result *result = speedscope->job->result;
    enum tbed_status status = collect(speedscope, stream->stream, filter);
    bool is_backward = true; /* spans that were left are in reverse already */
    for (unsigned beside = 0; status == TBED_OK && speedscope->spans.count > 0; beside++) {
        if (beside == PROFILES_MAX) {
            result->notes[TBED_EXPORT_NOTE_SPANS] += speedscope->spans.count;
            break;
        }
        tbed_span_spool_read(&speedscope->spans, is_backward);
        uint64_t count = make_events(speedscope);
        if (tbed_speedscope_is_over(speedscope))
            break;
        put_profile(speedscope, stream, beside);
        result->span_count += count;
        result->written_count += speedscope->events.count;
        result->notes[TBED_EXPORT_NOTE_OVERLAPPING] += beside > 0 ? count : 0;
        struct span_spool spans = speedscope->spans;
        speedscope->spans = speedscope->beside;
        speedscope->beside = spans;
        is_backward = false;
        if (tbed_is_cancelled(speedscope->job->options.is_cancelled))
            status = TBED_ERR_CANCELLED;
    }
    return status;
}
