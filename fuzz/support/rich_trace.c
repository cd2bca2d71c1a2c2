/*
 * A trace that has something of most kinds; see rich_trace.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/rich_trace.h"

#include <math.h>
#include <string.h>
#include <tracebed/writer.h>

#include "fuzz/support/fuzz.h"

static struct tbed_writer *writer;

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

/* ---- Events ---- */

static struct tbed_given_event event_of(enum tbed_given_type type, const char *name, uint64_t tick)
{
    return (struct tbed_given_event){.type = type,
                                     .id = name != NULL ? intern(name) : 0,
                                     .category = TBED_ID_INVALID,
                                     .tick = tick,
                                     .begin_tick = tick - 50,
                                     .key = tick % 7};
}

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, const char *name, uint64_t tick)
{
    struct tbed_given_event event = event_of(type, name, tick);
    tbed_event_record_given(recorder, &event);
}

static void give_arguments(struct tbed_recorder *recorder, enum tbed_given_type type, const char *name,
                           uint64_t tick, size_t count)
{
    const struct tbed_argument arguments[] = {
        {.type = TBED_ARG_F64, .name_id = intern("ratio"), .nbytes = 8, .value.f64 = (double)tick / 3},
        {.type = TBED_ARG_I64, .name_id = intern("change"), .nbytes = 8, .value.i64 = -(int64_t)tick},
        {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .nbytes = 8, .value.u64 = tick},
        {.type = TBED_ARG_TEXT, .name_id = intern("path"), .nbytes = 9, .value.text = "/etc/\"x\"\n"},
    };
    struct tbed_given_event event = event_of(type, name, tick);
    event.category = intern("disk");
    event.arguments = arguments;
    event.argument_count = count;
    event.severity = TBED_SEVERITY_ERROR;
    tbed_event_record_given(recorder, &event);
}

/* A span that leaves the stack under an open one, and one that never ends. */
static void leave(struct tbed_recorder *recorder, uint64_t tick)
{
    struct tbed_given_event event = event_of(TBED_GIVEN_LEAVE, NULL, tick);
    event.inside = 1;
    event.end_tick = tick + 20;
    tbed_event_record_given(recorder, &event);
    event.inside = 0;
    event.end_tick = 0;
    tbed_event_record_given(recorder, &event);
}

/* Numbers that are none, and names that no format can have as they are. */
static void record_odd(struct tbed_recorder *recorder, uint64_t tick)
{
    static const double numbers[] = {INFINITY, -INFINITY, NAN, -0.0, 1e300};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct tbed_argument value = {
            .type = TBED_ARG_F64, .name_id = intern("a;b=\"c\"\x01"), .nbytes = 8, .value.f64 = numbers[i]};
        struct tbed_given_event event = event_of(TBED_GIVEN_COUNTER, "odd\n,;\"\\\t", tick + i);
        event.arguments = &value;
        event.argument_count = 1;
        tbed_event_record_given(recorder, &event);
        event.type = TBED_GIVEN_SPAN;
        tbed_event_record_given(recorder, &event);
    }
}

static void record_off_cpu(struct tbed_recorder *recorder, uint32_t process, uint32_t tid, uint64_t tick)
{
    struct tbed_recorder *times =
        tbed_recorder_open_off_cpu(writer, process, tbed_recorder_stream(recorder), "off CPU", tid);
    give(times, TBED_GIVEN_BEGIN, "off CPU: waiting", tick + 120);
    give(times, TBED_GIVEN_END, NULL, tick + 180);
    give(times, TBED_GIVEN_BEGIN, "off CPU: preempted", tick + 150);
    give(times, TBED_GIVEN_END, NULL, tick + 260);
    give(times, TBED_GIVEN_BEGIN, "off CPU: waiting", tick + 900);
    tbed_recorder_close(times);
}

static void record_thread(uint32_t process, const char *name, uint32_t tid, uint64_t tick)
{
    struct tbed_recorder *recorder = tbed_recorder_open_process(writer, process, name, tid);
    give_arguments(recorder, TBED_GIVEN_BEGIN, "ns::run(int)", tick + 100, 4);
    give(recorder, TBED_GIVEN_FLOW_BEGIN, "request", 7 * tick + 7);
    for (uint64_t i = 0; i < 6; i++) {
        give(recorder, TBED_GIVEN_BEGIN, i % 2 == 0 ? "load" : "store", tick + 110 + i * 100);
        give_arguments(recorder, TBED_GIVEN_COUNTER, i < 3 ? "ratio" : "depth", tick + 120 + i * 100,
                       1 + i % 3);
        give(recorder, i < 4 ? TBED_GIVEN_FLOW_STEP : TBED_GIVEN_FLOW_END, "request", 7 * (tick + i) + 7);
        give_arguments(recorder, TBED_GIVEN_INSTANT, "mark", tick + 130 + i * 100, i % 4);
        give(recorder, TBED_GIVEN_END, NULL, tick + 140 + i * i * 30);
    }
    give(recorder, TBED_GIVEN_ASYNC_BEGIN, "read", tick + 650);
    give(recorder, TBED_GIVEN_SPAN, "whole", tick + 700);
    give(recorder, TBED_GIVEN_ASYNC_END, "read", tick + 650 + 7);
    give(recorder, TBED_GIVEN_ASYNC_BEGIN, "never answered", tick + 660);
    give(recorder, TBED_GIVEN_ASYNC_BEGIN, "never answered", tick + 661);
    give(recorder, TBED_GIVEN_ASYNC_END, "never asked", tick + 662);
    tbed_message_record(recorder, TBED_SEVERITY_WARNING, "a \"message\"\n\xff", 13);
    give_arguments(recorder, TBED_GIVEN_MESSAGE, "%f of %d, %u: %s", tick + 720, 4);
    give(recorder, TBED_GIVEN_BEGIN, "outer", tick + 800);
    give(recorder, TBED_GIVEN_BEGIN, "inner", tick + 810);
    give(recorder, TBED_GIVEN_BEGIN, "innermost", tick + 820);
    leave(recorder, tick + 830);
    record_off_cpu(recorder, process, tid, tick);
    record_odd(recorder, tick + 840);
    tbed_recorder_close(recorder);
}

/* ---- Code ---- */

/* Code that is known by its place, of which some has functions, files and lines. */
static void record_code(struct tbed_recorder *recorder)
{
    static const uint32_t lines[] = {0x10, 5, 0x20, 9};
    struct tbed_unit_options script = {.size = sizeof script,
                                       .kind = TBED_UNIT_BYTECODE,
                                       .pc_count = 64,
                                       .name = "do_it",
                                       .file = "app.rb",
                                       .first_line = 3,
                                       .lines = lines,
                                       .line_count = 2};
    struct tbed_unit_options native = {.size = sizeof native,
                                       .kind = TBED_UNIT_NATIVE,
                                       .base = 0x1000,
                                       .pc_count = 256,
                                       .name = "/usr/bin/app",
                                       .build_id = (const uint8_t *)"0123456789",
                                       .build_id_nbytes = 10};
    uint32_t first_script = tbed_unit_register(writer, &script), first = tbed_unit_register(writer, &native);
    const struct tbed_frame_names frames[] = {{intern("inlined"), intern("a.h"), 7},
                                              {intern("ns::outer(int)"), intern("a.cc"), 12}};
    tbed_location_describe(writer, first + 16, frames, 2);
    tbed_unit_load_record(writer, first, 0x7000, 256);
    for (uint32_t i = 0; i < 4; i++) {
        struct tbed_given_event event = event_of(TBED_GIVEN_SPAN, "", 1500 + i * 20);
        event.begin_tick = event.tick - 10;
        event.id = (i % 2 == 0 ? first : first_script) + 16 * (i / 2 + 1);
        tbed_event_record_given(recorder, &event);
        tbed_alloc_record(recorder, tbed_stack_intern(writer, TBED_ID_INVALID, event.id),
                          TBED_FUNCTION_CALLOC, 0x900000 + i * 64, 32);
    }
    tbed_unit_unload_record(writer, first);
}

/* ---- Memory ---- */

static uint32_t stack_of(const char *outer, const char *inner)
{
    uint32_t parent = tbed_stack_intern(writer, TBED_ID_INVALID, intern("main"));
    return tbed_stack_intern(writer, tbed_stack_intern(writer, parent, intern(outer)), intern(inner));
}

static void collect(struct tbed_recorder *collector, uint64_t tick)
{
    give(collector, TBED_GIVEN_BEGIN, "minor GC: marking", tick);
    give(collector, TBED_GIVEN_END, NULL, tick + 1);
    give(collector, TBED_GIVEN_BEGIN, "minor GC: sweeping", tick + 2);
    give(collector, TBED_GIVEN_END, NULL, tick + 3);
}

static void record_memory(struct tbed_recorder *recorder, struct tbed_recorder *collector)
{
    static const char *const functions[] = {
        "ns::cache<int>::add(int)",          "operator new(unsigned long)", "load",
        "(anonymous namespace)::f()\n\x01;", "ns::cache::cache(int)",       "ns::cache::~cache()"};
    for (uint64_t i = 0; i < 24; i++) {
        uint32_t stack = stack_of(functions[i % 6], functions[i / 6 % 6]);
        if (i % 3 == 0)
            stack = tbed_typed_intern(writer, stack, intern(i % 2 == 0 ? "std::string" : "Node"));
        give(recorder, TBED_GIVEN_INSTANT, "tick", 2000 + i * 10);
        tbed_alloc_record(recorder, stack, i % 2 == 0 ? TBED_FUNCTION_MALLOC : TBED_FUNCTION_NEW,
                          4096 * (i + 1), i * i + 1);
        tbed_counter_record_i64(recorder, intern("resident anonymous memory"), (int64_t)(i * i % 50) << 12);
        if (i % 8 == 7)
            collect(collector, 2005 + i * 10);
        if (i % 5 == 4)
            tbed_free_record(recorder, stack, TBED_FUNCTION_NEW, 4096 * i);
    }
    tbed_realloc_record(recorder, stack_of("load", "load"), 4096, 1 << 20, 900, 2300);
    tbed_resize_record(recorder, stack_of("load", "load"), 8192, 1);
    tbed_alloc_record(recorder, intern("map"), TBED_FUNCTION_MMAP, 1 << 24, 3 * 4096);
    tbed_unmap_record(recorder, intern("map"), (1 << 24) + 4096, 4096);
}

void rich_trace_put(const char *path)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000};
    REQUIRE(tbed_writer_open(path, &options, &writer, NULL) == TBED_OK);
    tbed_process_name_set(writer, "server");
    tbed_metadata_set(writer, "{\"cmd\":[\"server\"]}", 18);
    tbed_counter_describe(writer, intern("depth"), "items");
    uint32_t second = tbed_process_record_given(writer, "child", 77, 66, 0);
    record_thread(0, "main", 1, 0);
    record_thread(0, "worker", 2, 300);
    record_thread(second, NULL, 3, 1000);
    record_code(tbed_recorder_open_given(writer, "code", 5));
    struct tbed_recorder *collector = tbed_track_open(writer, "garbage collector");
    record_memory(tbed_recorder_open_given(writer, "memory", 4), collector);
    tbed_writer_free(writer);
}
