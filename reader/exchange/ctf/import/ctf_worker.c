/*
 * Reads traces of CTF with babeltrace2's library, in a process of its own that may crash, hang or be killed: a source for
 * each trace, a muxer that orders their events by time, and a sink that sends them on.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/ctf/import/ctf_read.h"

#include <stdlib.h>
#include <unistd.h>

#if __has_include(<babeltrace2/babeltrace.h>)
#include "reader/exchange/ctf/import/ctf_fields.h"
#include "reader/symbols/process/symbol_worker.h"

#include <dlfcn.h>

#define LIBRARY     "libbabeltrace2.so.0"
#define SECONDS_MIN 60u

struct worker {
    struct ctf_library library;
    struct ctf_put put;
    const bt_trace *last_trace;
    uint32_t pid; /* of the last trace, if all of it is of one process; otherwise 0 */
};

/* ---- The trace ---- */

static void put_classes(struct worker *worker, const bt_trace *trace)
{
    const struct ctf_library *library = &worker->library;
    const bt_trace_class *of = library->trace_borrow_class_const(trace);
    uint64_t stream_count = library->trace_class_get_stream_class_count(of);
    for (uint64_t i = 0; i < stream_count; i++) {
        const bt_stream_class *stream = library->trace_class_borrow_stream_class_by_index_const(of, i);
        uint64_t count = library->stream_class_get_event_class_count(stream);
        for (uint64_t k = 0; k < count; k++) {
            const char *name = library->event_class_get_name(
                library->stream_class_borrow_event_class_by_index_const(stream, k));
            ctf_put_begin(&worker->put, CTF_CLASS);
            tbed_ctf_put_text(&worker->put, name != NULL ? name : "", name != NULL ? strlen(name) : 0);
            ctf_put_end(&worker->put);
        }
    }
}

static void put_facts(struct worker *worker, const bt_trace *trace)
{
    const struct ctf_library *library = &worker->library;
    uint64_t count = library->trace_get_environment_entry_count(trace);
    worker->pid = 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *name;
        const bt_value *value;
        char number[32];
        library->trace_borrow_environment_entry_by_index_const(trace, i, &name, &value);
        bool is_text = bt_value_type_is(library->value_get_type(value), BT_VALUE_TYPE_STRING);
        long long integer = is_text ? 0 : (long long)library->value_integer_signed_get(value);
        snprintf(number, sizeof number, "%lld", integer);
        const char *text = is_text ? library->value_string_get(value) : number;
        if (strcmp(name, "vpid") == 0)
            worker->pid = (uint32_t)integer;
        ctf_put_begin(&worker->put, CTF_FACT);
        tbed_ctf_put_text(&worker->put, name, strlen(name));
        tbed_ctf_put_text(&worker->put, text, strlen(text));
        ctf_put_end(&worker->put);
    }
}

static void meet_trace(struct worker *worker, const bt_stream *stream)
{
    const bt_trace *trace = worker->library.stream_borrow_trace_const(stream);
    if (trace == worker->last_trace)
        return;
    put_classes(worker, trace);
    put_facts(worker, trace);
    worker->last_trace = trace;
}

/* ---- Events ---- */

static uint8_t severity_of(const struct ctf_library *library, const bt_event_class *of)
{
    bt_event_class_log_level level;
    if (library->event_class_get_log_level(of, &level) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
        return TBED_SEVERITY_NONE;
    return level <= BT_EVENT_CLASS_LOG_LEVEL_ERROR     ? TBED_SEVERITY_ERROR
           : level == BT_EVENT_CLASS_LOG_LEVEL_WARNING ? TBED_SEVERITY_WARNING
           : level <= BT_EVENT_CLASS_LOG_LEVEL_INFO    ? TBED_SEVERITY_INFORMATION
                                                       : TBED_SEVERITY_DEBUG;
}

static uint8_t put_time(const struct ctf_library *library, const bt_message *message,
                        const bt_stream_class *stream, int64_t *ns_ret)
{
    *ns_ret = 0;
    if (library->stream_class_borrow_default_clock_class_const(stream) == NULL)
        return 0;
    const bt_clock_snapshot *clock = library->message_event_borrow_default_clock_snapshot_const(message);
    if (library->clock_snapshot_get_ns_from_origin(clock, ns_ret) !=
        BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
        return 0;
    bool is_realtime =
        library->clock_class_origin_is_unix_epoch(library->clock_snapshot_borrow_clock_class_const(clock));
    return is_realtime ? CTF_HAS_TIME | CTF_IS_REALTIME : CTF_HAS_TIME;
}

static bool number_in(const struct ctf_library *library, const bt_field *const contexts[2], const char *name,
                      const char *other, uint32_t *number)
{
    return tbed_ctf_number(library, contexts[0], name, number) ||
           tbed_ctf_number(library, contexts[1], name, number) ||
           tbed_ctf_number(library, contexts[0], other, number) ||
           tbed_ctf_number(library, contexts[1], other, number);
}

/* Where events have no context, their packet may have one. */
static uint8_t put_packet(const struct ctf_library *library, const bt_field *packet, uint32_t *pid,
                          uint32_t *tid)
{
    tbed_ctf_number(library, packet, "pid", pid);
    if (tbed_ctf_number(library, packet, "tid", tid))
        return CTF_HAS_THREAD;
    tbed_ctf_number(library, packet, "cpu_id", tid);
    return 0;
}

static void put_name(struct ctf_put *put, const char *name, size_t most)
{
    tbed_ctf_put_text(put, name != NULL ? name : "", name != NULL ? strnlen(name, most) : 0);
}

static void put_event(struct worker *worker, const bt_message *message)
{
    const struct ctf_library *library = &worker->library;
    struct ctf_put *put = &worker->put;
    const bt_event *event = library->message_event_borrow_event_const(message);
    const bt_event_class *of = library->event_borrow_class_const(event);
    const bt_stream *stream = library->event_borrow_stream_const(event);
    const bt_stream_class *stream_class = library->stream_borrow_class_const(stream);
    const bt_field *contexts[2] = {library->event_borrow_common_context_field_const(event),
                                   library->event_borrow_specific_context_field_const(event)};
    const bt_field *packet =
        library->stream_class_supports_packets(stream_class)
            ? library->packet_borrow_context_field_const(library->event_borrow_packet_const(event))
            : NULL;
    int64_t ns;
    uint8_t flags = put_time(library, message, stream_class, &ns);
    meet_trace(worker, stream);
    uint32_t pid = worker->pid, tid = 0;
    number_in(library, contexts, "vpid", "pid", &pid);
    if (number_in(library, contexts, "vtid", "tid", &tid))
        flags |= CTF_HAS_THREAD;
    else
        flags |= put_packet(library, packet, &pid, &tid);
    const char *process = tbed_ctf_text(library, contexts[0], "procname");
    process = process != NULL ? process : tbed_ctf_text(library, contexts[1], "procname");
    process = process != NULL ? process : tbed_ctf_text(library, packet, "process_name");
    const char *name = library->event_class_get_name(of);
    ctf_put_begin(put, CTF_EVENT);
    size_t flags_at = put->nbytes;
    ctf_put_u8(put, flags);
    ctf_put_u8(put, severity_of(library, of));
    ctf_put_u64(put, (uint64_t)ns);
    ctf_put_u32(put, pid);
    ctf_put_u32(put, tid);
    put_name(put, process, 255);
    put_name(put, tbed_ctf_text(library, packet, "thread_name"), 255);
    put_name(put, name, 4096);
    tbed_ctf_put_fields(library, put, library->event_borrow_payload_field_const(event), false);
    tbed_ctf_put_fields(library, put, contexts[1], true);
    tbed_ctf_put_fields(library, put, contexts[0], true);
    put->bytes[flags_at] |= put->is_full ? CTF_LEFT_OUT : 0;
    put->is_full = false;
    ctf_put_end(put);
}

static void put_discarded(struct worker *worker, const bt_message *message, bool is_packets)
{
    uint64_t count = 0;
    if (!is_packets && worker->library.message_discarded_events_get_count(message, &count) !=
                           BT_PROPERTY_AVAILABILITY_AVAILABLE)
        count = 0;
    ctf_put_begin(&worker->put, CTF_DISCARDED);
    ctf_put_u64(&worker->put, count);
    ctf_put_end(&worker->put);
}

static void put_message(struct worker *worker, const bt_message *message)
{
    switch (worker->library.message_get_type(message)) {
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
        meet_trace(worker, worker->library.message_stream_beginning_borrow_stream_const(message));
        break;
    case BT_MESSAGE_TYPE_EVENT:
        put_event(worker, message);
        break;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        put_discarded(worker, message, false);
        break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        put_discarded(worker, message, true);
        break;
    default:
        break;
    }
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator, void *given)
{
    struct worker *worker = given;
    bt_message_array_const messages;
    uint64_t count;
    bt_message_iterator_next_status status =
        worker->library.message_iterator_next(iterator, &messages, &count);
    if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
        return (bt_graph_simple_sink_component_consume_func_status)status;
    for (uint64_t i = 0; i < count; i++) {
        put_message(worker, messages[i]);
        worker->library.message_put_ref(messages[i]);
    }
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- The graph ---- */

static bool load(struct ctf_library *library)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL); /* its plugins need it too */
    bool is_whole = true;
    if (handle == NULL)
        return false;
#define LOAD(name)                                                                                           \
    *(void **)&library->name = dlsym(handle, "bt_" #name);                                                   \
    is_whole &= library->name != NULL;
    CTF_CALLS(LOAD)
#undef LOAD
    return is_whole;
}

static const bt_value *inputs_of(const struct ctf_library *library, const char *path)
{
    bt_value *parameters = library->value_map_create(), *inputs = library->value_array_create();
    if (parameters == NULL || inputs == NULL ||
        library->value_array_append_string_element(inputs, path) != BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK ||
        library->value_map_insert_entry(parameters, "inputs", inputs) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK)
        return NULL;
    return parameters;
}

/* The free input port of the muxer is always its last. */
static bool connect_source(const struct ctf_library *library, bt_graph *graph,
                           const bt_component_source *source, const bt_component_filter *muxer)
{
    uint64_t count = library->component_source_get_output_port_count(source);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t last = library->component_filter_get_input_port_count(muxer) - 1;
        if (library->graph_connect_ports(
                graph, library->component_source_borrow_output_port_by_index_const(source, i),
                library->component_filter_borrow_input_port_by_index_const(muxer, last),
                NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
            return false;
    }
    return true;
}

static const bt_plugin *plugin(const struct ctf_library *library, const char *name)
{
    const bt_plugin *found = NULL;
    return library->plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &found) ==
                   BT_PLUGIN_FIND_STATUS_OK
               ? found
               : NULL;
}

static bool add_sources(const struct ctf_library *library, bt_graph *graph, const struct ctf_folder *folder,
                        const bt_component_class_source *of, const bt_component_filter *muxer)
{
    for (size_t i = 0; i < folder->count; i++) {
        const bt_component_source *source;
        const bt_value *inputs = inputs_of(library, folder->paths[i]);
        char name[32];
        snprintf(name, sizeof name, "trace %zu", i);
        if (inputs == NULL ||
            library->graph_add_source_component(graph, of, name, inputs, BT_LOGGING_LEVEL_NONE, &source) !=
                BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
            !connect_source(library, graph, source, muxer))
            return false;
    }
    return true;
}

static bool run(struct worker *worker, const struct ctf_folder *folder, const bt_plugin *ctf,
                const bt_plugin *utils)
{
    const struct ctf_library *library = &worker->library;
    const bt_component_class_source *source =
        library->plugin_borrow_source_component_class_by_name_const(ctf, "fs");
    const bt_component_class_filter *filter =
        library->plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
    bt_graph *graph = library->graph_create(0);
    const bt_component_filter *muxer;
    const bt_component_sink *sink;
    return source != NULL && filter != NULL && graph != NULL &&
           library->graph_add_filter_component(graph, filter, "muxer", NULL, BT_LOGGING_LEVEL_NONE, &muxer) ==
               BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           add_sources(library, graph, folder, source, muxer) &&
           library->graph_add_simple_sink_component(graph, "sink", NULL, consume, NULL, worker, &sink) ==
               BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           library->graph_connect_ports(graph,
                                        library->component_filter_borrow_output_port_by_index_const(muxer, 0),
                                        library->component_sink_borrow_input_port_by_index_const(sink, 0),
                                        NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK &&
           library->graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
}

/* The first cause is the one that was found closest to the bytes. */
static void put_error(struct worker *worker)
{
    const bt_error *error = worker->library.current_thread_take_error();
    uint64_t count = error != NULL ? worker->library.error_get_cause_count(error) : 0;
    const char *text =
        count > 0
            ? worker->library.error_cause_get_message(worker->library.error_borrow_cause_by_index(error, 0))
            : "unknown";
    ctf_put_begin(&worker->put, CTF_ERROR);
    tbed_ctf_put_text(&worker->put, text, strnlen(text, 1024));
    ctf_put_end(&worker->put);
}

_Noreturn void tbed_ctf_worker_run(const struct ctf_folder *folder, int fd)
{
    struct worker *worker = calloc(1, sizeof *worker);
    FILE *out = worker != NULL ? fdopen(fd, "w") : NULL;
    if (out == NULL)
        _exit(1);
    worker->put.out = out;
    unsetenv("LIBBABELTRACE2_PLUGIN_PROVIDER_DIR");
    if (!load(&worker->library))
        _exit(CTF_EXIT_NO_LIBRARY);
    const bt_plugin *ctf = plugin(&worker->library, "ctf"), *utils = plugin(&worker->library, "utils");
    if (ctf == NULL || utils == NULL)
        _exit(CTF_EXIT_NO_LIBRARY);
    tbed_symbol_jail_enter();
    tbed_symbol_jail_limit_time(SECONDS_MIN + (unsigned)(folder->nbytes >> 20));
    if (run(worker, folder, ctf, utils)) {
        ctf_put_begin(&worker->put, CTF_END);
        ctf_put_end(&worker->put);
    } else {
        put_error(worker);
    }
    fflush(out);
    _exit(ferror(out) ? 1 : 0);
}

#else
_Noreturn void tbed_ctf_worker_run(const struct ctf_folder *folder, int fd)
{
    (void)folder;
    (void)fd;
    _exit(CTF_EXIT_NO_LIBRARY);
}
#endif
