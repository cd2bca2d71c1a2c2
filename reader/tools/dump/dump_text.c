/*
 * Events as text, one per line: time, thread, event, name, and details.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/dump/dump.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>

#define LABEL_COLUMNS_MAX 24
#define TYPE_COLUMNS      11 /* "async_begin" */

/* ---- Labels of streams ---- */

static void make_label(struct dump *dump, size_t index, const struct tbed_stream_info *stream)
{
    char number[32] = "";
    struct tool_buffer text = {0};
    if (stream->name_id != TBED_ID_INVALID)
        tool_append_name(&text, dump->reader, stream->name_id);
    if (text.nbytes == 0 && stream->kind == TBED_STREAM_THREAD)
        snprintf(number, sizeof number, "thread %u", stream->tid);
    else if (text.nbytes == 0)
        snprintf(number, sizeof number, "stream %u", stream->stream);
    tool_append(&text, number, strlen(number));
    dump->labels[index] = (struct dump_label){stream->stream, text.bytes, text.nbytes};
}

static int compare_labels(const void *left, const void *right)
{
    const struct dump_label *a = *(const struct dump_label *const *)left;
    const struct dump_label *b = *(const struct dump_label *const *)right;
    size_t common = a->nbytes < b->nbytes ? a->nbytes : b->nbytes;
    int order = memcmp(a->text, b->text, common);
    return order != 0 ? order : (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

static void append_number(struct dump_label *label)
{
    struct tool_buffer text = {label->text, label->nbytes, label->nbytes};
    char number[16];
    snprintf(number, sizeof number, " #%u", label->stream);
    tool_append(&text, number, strlen(number));
    label->text = text.bytes;
    label->nbytes = text.nbytes;
}

/* Threads with the same name are distinguished by their stream numbers. */
static void number_twins(struct dump *dump)
{
    size_t count = dump->shown->chosen.count;
    struct dump_label **sorted = tool_realloc(NULL, count * sizeof *sorted);
    bool *twin = tool_realloc(NULL, count * sizeof *twin);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &dump->labels[i];
    qsort(sorted, count, sizeof *sorted, compare_labels);
    for (size_t i = 0; i < count; i++)
        twin[i] = (i > 0 && compare_labels(&sorted[i], &sorted[i - 1]) == 0) ||
                  (i + 1 < count && compare_labels(&sorted[i], &sorted[i + 1]) == 0);
    for (size_t i = 0; i < count; i++)
        if (twin[i])
            append_number(sorted[i]);
    free(sorted);
    free(twin);
}

/* Turns the label into what is printed, padded or cut. */
static void make_column(struct dump_label *label, size_t width)
{
    struct tbed_text column = {0};
    tbed_text_puts(&column, "  ");
    if (label->text == NULL)
        tool_put_column(&column, "?", 1, width);
    else
        tool_put_column(&column, label->text, label->nbytes, width);
    tbed_text_puts(&column, "  ");
    tool_check_text(&column);
    free(label->text);
    label->text = column.bytes;
    label->nbytes = column.nbytes;
}

/* Decimals of seconds: nine, or three if the resolution is a millisecond. */
static size_t decimals(const struct dump *dump)
{
    uint64_t resolution = dump->info.resolution_ticks;
    return resolution > 1 && tbed_tick_span_to_ns(dump->reader, resolution) >= 1e6 ? 3 : 9;
}

static size_t time_width(const struct dump *dump)
{
    char digits[20];
    int64_t last = tbed_ticks_to_ns(dump->reader, dump->info.last_tick);
    if (dump->info.clock == TBED_CLOCK_USER)
        return tbed_format_u64(digits, (uint64_t)last);
    return tbed_format_u64(digits, last > 0 ? (uint64_t)last / 1000000000 : 0) + 1 + decimals(dump);
}

void dump_text_prepare(struct dump *dump)
{
    struct tbed_stream_info stream;
    size_t at = 0;
    dump->time_width = time_width(dump);
    dump->labels = tool_realloc(NULL, dump->shown->chosen.count * sizeof *dump->labels);
    for (size_t i = 0; tbed_stream_get(dump->reader, i, &stream) && at < dump->shown->chosen.count; i++)
        if (stream.stream == dump->shown->chosen.numbers[at])
            make_label(dump, at++, &stream);
    number_twins(dump);
    size_t label_width = 0;
    for (size_t i = 0; i < dump->shown->chosen.count; i++) {
        size_t width = tool_text_width(dump->labels[i].text, dump->labels[i].nbytes);
        width = width < LABEL_COLUMNS_MAX ? width : LABEL_COLUMNS_MAX;
        label_width = width > label_width ? width : label_width;
    }
    for (size_t i = 0; i < dump->shown->chosen.count; i++)
        make_column(&dump->labels[i], label_width);
    make_column(&dump->unknown_label, label_width);
}

void dump_text_free(struct dump *dump)
{
    for (size_t i = 0; dump->labels != NULL && i < dump->shown->chosen.count; i++)
        free(dump->labels[i].text);
    free(dump->labels);
    free(dump->unknown_label.text);
}

static const struct dump_label *find_label(struct dump *dump, uint32_t stream)
{
    if (dump->label_last < dump->shown->chosen.count && dump->labels[dump->label_last].stream == stream)
        return &dump->labels[dump->label_last];
    size_t low = 0, high = dump->shown->chosen.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dump->labels[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == dump->shown->chosen.count || dump->labels[low].stream != stream)
        return &dump->unknown_label;
    dump->label_last = low;
    return &dump->labels[low];
}

/* ---- Time ---- */

static void put_spaces(struct tbed_text *out, size_t count)
{
    static const char spaces[] = "                                ";
    for (; count > sizeof spaces - 1; count -= sizeof spaces - 1)
        tbed_text_put(out, spaces, sizeof spaces - 1);
    tbed_text_put(out, spaces, count);
}

/* Formats seconds, or the count of a user-defined clock. Returns the number of bytes. */
static size_t format_relative(const struct dump *dump, char text[40], int64_t ns)
{
    size_t nbytes = ns < 0;
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    text[0] = '-';
    if (dump->info.clock == TBED_CLOCK_USER)
        return nbytes + tbed_format_u64(text + nbytes, size);
    nbytes += tbed_format_u64(text + nbytes, size / 1000000000);
    text[nbytes] = '.';
    uint64_t fraction = size % 1000000000;
    for (size_t i = 9; i > 0; i--, fraction /= 10)
        text[nbytes + i] = (char)('0' + fraction % 10);
    return nbytes + 1 + decimals(dump);
}

static const char *time_unit(const struct dump *dump)
{
    return dump->info.clock == TBED_CLOCK_USER ? dump->info.clock_unit : "s";
}

static void put_relative(struct dump *dump, int64_t ns)
{
    char text[40];
    size_t nbytes = format_relative(dump, text, ns);
    put_spaces(dump->out.text, nbytes < dump->time_width ? dump->time_width - nbytes : 0);
    tbed_text_put(dump->out.text, text, nbytes);
    tbed_text_put(dump->out.text, " ", 1);
    tool_put_text(dump->out.text, time_unit(dump), strlen(time_unit(dump)));
}

static void put_time(struct dump *dump, uint64_t tick)
{
    int64_t ns;
    char wall[48];
    if (dump->absolute && tbed_ticks_to_realtime_ns(dump->reader, tick, &ns) == TBED_OK)
        tbed_text_puts(dump->out.text, tool_format_wall(wall, ns));
    else
        put_relative(dump, tbed_ticks_to_ns(dump->reader, tick));
}

/* ---- What happened ---- */

static void say(struct dump *dump, const char *text)
{
    tool_append(&dump->line, text, strlen(text));
}

static void say_count(struct dump *dump, uint64_t value)
{
    char digits[20];
    tool_append(&dump->line, digits, tbed_format_u64(digits, value));
}

static void say_hex(struct dump *dump, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    say(dump, text);
}

static void say_name(struct dump *dump, uint32_t id)
{
    struct tbed_name name;
    dump->name.nbytes = 0;
    if (id == TBED_ID_INVALID) {
        say(dump, "?");
    } else if (tbed_name_get(dump->reader, id, &name) == TBED_OK) { /* usually, without copying it */
        tool_append_event_name(&dump->line, name.text, name.nbytes);
    } else {
        tool_append_name(&dump->name, dump->reader, id);
        tool_append_event_name(&dump->line, dump->name.bytes, dump->name.nbytes);
    }
}

/* The code location of a name or a format, if it was recorded. */
static void say_site(struct dump *dump, uint32_t id)
{
    struct tbed_id_info info;
    if (dump->info.described_count == 0 || id <= TBED_ID_MAX_RESERVED || id == TBED_ID_INVALID ||
        !tbed_id_resolve(dump->reader, id, &info) || info.file == NULL)
        return;
    say(dump, "  at ");
    say(dump, info.file);
    say(dump, ":");
    say_count(dump, info.line);
}

static void say_size_at(struct dump *dump, uint64_t size, uint64_t address)
{
    say_count(dump, size);
    say(dump, " B at ");
    say_hex(dump, address);
}

static void say_function(struct dump *dump, const struct tbed_event *event)
{
    static const char *const allocs[] = {NULL, "malloc", "calloc", "realloc", "aligned", "new", "mmap"};
    static const char *const frees[] = {NULL, "free", NULL, "realloc", NULL, "delete", "munmap"};
    uint32_t function = event->of.alloc.function;
    const char *name = function > 6                      ? NULL
                       : event->type == TBED_EVENT_ALLOC ? allocs[function]
                                                         : frees[function];
    if (name != NULL) {
        say(dump, name);
        say(dump, " ");
    }
}

/* Where memory was allocated, and for an object of which type. */
static void say_allocation_site(struct dump *dump, uint32_t id)
{
    uint32_t location, type;
    say(dump, "  ");
    say_name(dump, id);
    if (!tbed_typed_get(dump->reader, id, &location, &type) || type == TBED_ID_INVALID)
        return;
    say(dump, " (");
    say_name(dump, type);
    say(dump, ")");
}

static void say_memory(struct dump *dump, const struct tbed_event *event)
{
    say_function(dump, event);
    if (event->type == TBED_EVENT_FREE)
        say_hex(dump, event->of.alloc.address);
    else if (event->of.alloc.address == 0) {
        say_count(dump, event->of.alloc.size);
        say(dump, " B failed");
    } else
        say_size_at(dump, event->of.alloc.size, event->of.alloc.address);
    say_allocation_site(dump, event->id);
}

static void say_realloc(struct dump *dump, const struct tbed_event *event)
{
    say_hex(dump, event->of.realloc.old_address);
    if (event->of.realloc.address == 0 && event->of.realloc.size != 0) {
        say(dump, " to ");
        say_count(dump, event->of.realloc.size);
        say(dump, " B failed");
    } else if (event->of.realloc.address == 0) {
        say(dump, " freed");
    } else {
        say(dump, " to ");
        say_size_at(dump, event->of.realloc.size, event->of.realloc.address);
    }
    say_allocation_site(dump, event->id);
}

static void say_counter(struct dump *dump, const struct tbed_event *event)
{
    uint32_t unit = tbed_counter_unit(dump->reader, event->id);
    say_name(dump, event->id);
    say(dump, " = ");
    tool_append_value(&dump->line, dump->reader, &event->counter_value);
    if (unit != TBED_ID_INVALID) {
        say(dump, " ");
        say_name(dump, unit);
    }
}

static void say_message(struct dump *dump, const struct tbed_event *event)
{
    static const char *const severities[] = {"", "error: ", "warning: ", "info: ", "debug: "};
    uint32_t severity = event->of.message.severity;
    say(dump, severity < sizeof severities / sizeof severities[0] ? severities[severity] : "");
    tool_append_message(&dump->line, dump->reader, event);
}

static void say_gap(struct dump *dump, const struct tbed_event *event)
{
    say_count(dump, event->of.gap.count);
    say(dump, " records dropped: ");
    say(dump, tbed_drop_cause_text(event->of.gap.cause));
}

/* The ticks themselves if they are not time. */
static void say_ticks(struct dump *dump, uint64_t tick, uint64_t ticks)
{
    char text[32];
    if (dump->info.clock == TBED_CLOCK_USER) {
        say_count(dump, ticks);
        say(dump, " ");
        say(dump, dump->info.clock_unit);
    } else {
        uint64_t ns = (uint64_t)tbed_ticks_to_ns(dump->reader, tick + ticks);
        ns -= (uint64_t)tbed_ticks_to_ns(dump->reader, tick);
        say(dump, tool_format_ns(text, (double)ns));
    }
}

static void say_time(struct dump *dump, uint64_t tick)
{
    int64_t ns;
    char text[48];
    if (dump->absolute && tbed_ticks_to_realtime_ns(dump->reader, tick, &ns) == TBED_OK) {
        say(dump, tool_format_wall(text, ns));
        return;
    }
    tool_append(&dump->line, text, format_relative(dump, text, tbed_ticks_to_ns(dump->reader, tick)));
    say(dump, " ");
    say(dump, time_unit(dump));
}

static void say_span(struct dump *dump, const struct tbed_event *event)
{
    uint64_t begin = event->of.span.begin_tick;
    say_name(dump, event->id);
    say(dump, "  ");
    if (begin > event->tick) {
        say(dump, "ended ");
        say_ticks(dump, event->tick, begin - event->tick);
        say(dump, " before it began");
    } else {
        say(dump, "took ");
        say_ticks(dump, begin, event->tick - begin);
        say(dump, " from ");
        say_time(dump, begin);
    }
}

static void say_category(struct dump *dump, const struct tbed_event *event)
{
    if (event->category == TBED_ID_INVALID)
        return;
    say(dump, "  [");
    say_name(dump, event->category);
    say(dump, "]");
}

static void say_unknown(struct dump *dump, const struct tbed_event *event)
{
    say_name(dump, event->id);
    say(dump, "  tag ");
    say_count(dump, event->of.unknown.tag);
    say(dump, ", words ");
    say_count(dump, event->of.unknown.nwords);
}

static void say_event(struct dump *dump, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_COUNTER:
        say_counter(dump, event);
        break;
    case TBED_EVENT_MESSAGE:
        say_message(dump, event);
        say_site(dump, event->id);
        return; /* the arguments are in the text */
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_RESIZE:
        say_memory(dump, event);
        break;
    case TBED_EVENT_REALLOC:
        say_realloc(dump, event);
        break;
    case TBED_EVENT_GAP:
        say_gap(dump, event);
        break;
    case TBED_EVENT_SPAN:
        say_span(dump, event);
        break;
    case TBED_EVENT_UNKNOWN:
        say_unknown(dump, event);
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        say_name(dump, event->id);
        say(dump, "  key ");
        say_hex(dump, event->of.async.key);
        break;
    case TBED_EVENT_BEGIN:
        say_name(dump, event->id);
        say_site(dump, event->id);
        break;
    default:
        say_name(dump, event->id);
    }
    say_category(dump, event);
    tool_append_arguments(&dump->line, dump->reader, event);
}

void dump_text_event(struct dump *dump, const struct tbed_event *event, uint32_t depth)
{
    struct tbed_text *out = dump->out.text;
    const struct dump_label *label = find_label(dump, event->stream);
    const char *type = tbed_event_type_name(event->type);
    size_t type_nbytes = strlen(type);
    put_time(dump, event->tick);
    tbed_text_put(out, label->text, label->nbytes);
    tbed_text_put(out, type, type_nbytes);
    put_spaces(out, TYPE_COLUMNS + 2 - type_nbytes);
    put_spaces(out, dump->indent ? 2 * (size_t)(depth < 100 ? depth : 100) : 0);
    dump->line.nbytes = 0;
    say_event(dump, event);
    tool_put_text(out, dump->line.bytes, dump->line.nbytes);
    tbed_text_put(out, "\n", 1);
}
