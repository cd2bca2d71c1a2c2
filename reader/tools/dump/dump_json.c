/*
 * The listing of spec/format.md, section 14, with fields in the same order as spec/decoder.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/dump/dump.h"

#include <string.h>
#include <tracebed/analysis.h>

/* 'id' is the stored 64-bit value, of which an id uses 30 bits. */
static void put_id(struct dump *dump, const char *key, uint64_t id)
{
    tbed_json_object_open(&dump->out, key);
    tbed_json_u64(&dump->out, "id", id);
    if (id <= TBED_ID_MAX)
        tool_json_name(&dump->out, "text", dump->reader, (uint32_t)id);
    else
        tbed_json_null(&dump->out, "text");
    tbed_json_object_close(&dump->out);
}

static void put_value(struct dump *dump, const char *key, const struct tbed_argument *argument)
{
    switch (argument->type) {
    case TBED_ARG_U64:
    case TBED_ARG_POINTER:
        tbed_json_u64(&dump->out, key, argument->value.u64);
        return;
    case TBED_ARG_I64:
        tbed_json_i64(&dump->out, key, argument->value.i64);
        return;
    case TBED_ARG_F64:
        tbed_json_f64(&dump->out, key, argument->value.f64);
        return;
    case TBED_ARG_BOOL:
        tbed_json_bool(&dump->out, key, argument->value.u64 != 0);
        return;
    case TBED_ARG_ID:
        put_id(dump, key, argument->value.u64);
        return;
    case TBED_ARG_TEXT:
        tbed_json_text(&dump->out, key, argument->value.text, argument->nbytes);
        return;
    default:
        tbed_json_hex(&dump->out, key, argument->value.text, argument->nbytes);
    }
}

static void put_arguments(struct dump *dump, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    tbed_json_array_open(&dump->out, "args");
    for (uint32_t i = 0; i < event->argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        tbed_json_object_open(&dump->out, NULL);
        tool_json_name(&dump->out, "name", dump->reader, argument.name_id);
        tbed_json_u64(&dump->out, "type", argument.type);
        put_value(dump, "value", &argument);
        tbed_json_object_close(&dump->out);
    }
    tbed_json_array_close(&dump->out);
}

static void put_class(struct dump *dump, uint32_t id)
{
    uint32_t location, type;
    if (tbed_typed_get(dump->reader, id, &location, &type) && type != TBED_ID_INVALID)
        tool_json_name(&dump->out, "class", dump->reader, type);
}

static void put_memory(struct dump *dump, const struct tbed_event *event)
{
    struct tbed_json *out = &dump->out;
    tbed_json_u64(out, "address", event->of.alloc.address);
    if (event->type != TBED_EVENT_FREE)
        tbed_json_u64(out, "size", event->of.alloc.size);
    if (event->extended && event->type != TBED_EVENT_RESIZE)
        tbed_json_u64(out, "allocator", event->of.alloc.function);
    put_class(dump, event->id);
}

static void put_realloc(struct dump *dump, const struct tbed_event *event)
{
    struct tbed_json *out = &dump->out;
    tbed_json_u64(out, "old_address", event->of.realloc.old_address);
    tbed_json_u64(out, "address", event->of.realloc.address);
    tbed_json_u64(out, "size", event->of.realloc.size);
    tbed_json_u64(out, "begin_tick", event->of.realloc.begin_tick);
    put_class(dump, event->id);
}

static void put_category(struct dump *dump, uint32_t category)
{
    if (category == TBED_ID_INVALID)
        return;
    tbed_json_u64(&dump->out, "category", category);
    tool_json_name(&dump->out, "category_name", dump->reader, category);
}

/* The part of the format before U+001E. */
static void put_context(struct dump *dump, const struct tbed_event *event)
{
    enum tbed_status status = TBED_ERR_STRING_ID;
    dump->name.nbytes = 0;
    if (event->of.message.has_context && event->id != TBED_ID_INVALID)
        status = tool_append_whole_name(&dump->name, dump->reader, event->id);
    const char *format = dump->name.bytes;
    const char *unit =
        status == TBED_OK && dump->name.nbytes > 0 ? memchr(format, '\x1e', dump->name.nbytes) : NULL;
    if (unit != NULL)
        tbed_json_text(&dump->out, "context", format, (size_t)(unit - format));
}

static void put_details(struct dump *dump, const struct tbed_event *event)
{
    struct tbed_json *out = &dump->out;
    switch (event->type) {
    case TBED_EVENT_END:
        if (event->extended)
            tbed_json_u64(out, "begin_tick", event->of.end.begin_tick);
        if (event->of.end.leaves)
            tbed_json_u64(out, "end_tick", event->of.end.end_tick);
        if (event->of.end.inside != 0)
            tbed_json_u64(out, "inside", event->of.end.inside);
        break;
    case TBED_EVENT_SPAN:
        tbed_json_u64(out, "begin_tick", event->of.span.begin_tick);
        break;
    case TBED_EVENT_COUNTER:
        put_value(dump, "value", &event->counter_value);
        break;
    case TBED_EVENT_MESSAGE:
        tbed_json_u64(out, "severity", event->of.message.severity);
        put_context(dump, event);
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_RESIZE:
        put_memory(dump, event);
        break;
    case TBED_EVENT_REALLOC:
        put_realloc(dump, event);
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        tbed_json_u64(out, "key", event->of.async.key);
        break;
    case TBED_EVENT_GAP:
        tbed_json_u64(out, "count", event->of.gap.count);
        tbed_json_u64(out, "cause", event->of.gap.cause);
        break;
    case TBED_EVENT_UNKNOWN:
        tbed_json_u64(out, "tag", event->of.unknown.tag);
        tbed_json_u64(out, "nwords", event->of.unknown.nwords);
        break;
    case TBED_EVENT_BEGIN:
    case TBED_EVENT_INSTANT:
        break;
    }
}

void dump_json_event(struct dump *dump, const struct tbed_event *event)
{
    struct tbed_json *out = &dump->out;
    tbed_json_object_open(out, NULL);
    tbed_json_u64(out, "stream", event->stream);
    tbed_json_u64(out, "tick", event->tick);
    tbed_json_string(out, "type", tbed_event_type_name(event->type));
    tbed_json_u64(out, "id", event->id);
    tool_json_named(out, dump->reader, event->id);
    put_details(dump, event);
    put_category(dump, event->category);
    if (event->argument_count > 0)
        put_arguments(dump, event);
    tbed_json_object_close(out);
    tbed_json_line(out);
}

void dump_json_filter(struct dump *dump)
{
    if (!tool_filter_is_given(&dump->filter))
        return;
    tbed_json_object_open(&dump->out, NULL);
    tool_filter_json(&dump->out, &dump->filter, &dump->filter.window);
    tbed_json_object_close(&dump->out);
    tbed_json_line(&dump->out);
}

void dump_json_strings(struct dump *dump)
{
    struct tbed_json *out = &dump->out;
    for (uint32_t id = 0; tbed_string_next(dump->reader, &id) && !tool_output_failed();) {
        tbed_json_object_open(out, NULL);
        tbed_json_u64(out, "string", id);
        tool_json_name(&dump->out, "text", dump->reader, id);
        tbed_json_object_close(out);
        tbed_json_line(out);
    }
    struct tbed_binding_info binding;
    for (size_t i = 0; tbed_binding_get(dump->reader, i, &binding) && !tool_output_failed(); i++) {
        tbed_json_object_open(out, NULL);
        tbed_json_u64(out, "bind", binding.first_id);
        tbed_json_u64(out, "count", binding.id_count);
        tbed_json_u64(out, "string", binding.string_id);
        tbed_json_object_close(out);
        tbed_json_line(out);
    }
}

void dump_json_gaps(struct dump *dump)
{
    struct tbed_json *out = &dump->out;
    struct tbed_ring_gap gap;
    for (size_t at = 0; tbed_ring_gap_next(dump->reader, &at, &gap) && !tool_output_failed();) {
        tool_json_gap(out, "missing", &gap);
        tbed_json_line(out);
    }
}
