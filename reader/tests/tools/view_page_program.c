/*
 * Records the traces that view_page_test.py and view_html_test.py show:
 *
 *     view_page_program work PATH SHIFT    three threads, with ticks of 1 ns that are made up; all is SHIFT ns later
 *     view_page_program names PATH         a thread and a span for each name that standard input has; each ends with a zero
 *     view_page_program large PATH SOURCE  real time, in blocks of 8 KiB: three threads with 600,000 spans each; those named
 *                                          "found" are in line 3 of the file SOURCE; allocations in a function "grow"
 *     view_page_program many PATH COUNT    two threads with COUNT spans each, all of another duration
 *     view_page_program live PATH          real time: records 500 spans for each byte of standard input, then closes
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <tracebed/writer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

static struct tbed_writer *writer;

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static int open_writer(const char *path, bool is_given, uint32_t page_nbytes)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .process_name = "demo", .page_nbytes = page_nbytes};
    if (is_given) {
        options.given_ticks = true;
        options.given_ticks_per_second = 1000 * MS;
        options.given_realtime_ns = INT64_C(1795000000000000000);
        options.process_pid = 4711;
    }
    struct tbed_error error;
    enum tbed_status status = tbed_writer_open(path, &options, &writer, &error);
    if (status != TBED_OK)
        fprintf(stderr, "%s: %s\n", path, tbed_status_text(status));
    return status == TBED_OK ? 0 : 1;
}

/* ---- Work ---- */

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, const char *name, uint64_t tick,
                 const struct tbed_argument *arguments, size_t argument_count)
{
    struct tbed_given_event event = {.type = type,
                                     .id = name != NULL ? intern(name) : TBED_ID_INVALID,
                                     .category = TBED_ID_INVALID,
                                     .tick = tick,
                                     .arguments = arguments,
                                     .argument_count = argument_count,
                                     .severity = TBED_SEVERITY_WARNING};
    tbed_event_record_given(recorder, &event);
}

static struct tbed_argument text_argument(uint32_t name_id, const char *text)
{
    return (struct tbed_argument){.type = TBED_ARG_TEXT,
                                  .name_id = name_id,
                                  .nbytes = (uint32_t)strnlen(text, 500),
                                  .value.text = text};
}

static void begin(struct tbed_recorder *recorder, const char *name, uint64_t tick)
{
    give(recorder, TBED_GIVEN_BEGIN, name, tick, NULL, 0);
}

static void end(struct tbed_recorder *recorder, uint64_t tick)
{
    give(recorder, TBED_GIVEN_END, NULL, tick, NULL, 0);
}

/* One millisecond: "unit", in it "parse" with 100 "token", and "generate". */
static void work_one(struct tbed_recorder *recorder, uint64_t at, unsigned number)
{
    struct tbed_argument argument = {.type = TBED_ARG_U64, .name_id = intern("number"), .value.u64 = number};
    give(recorder, TBED_GIVEN_BEGIN, "unit", at, &argument, 1);
    begin(recorder, "parse", at + 1000);
    for (uint64_t i = 0; i < 100; i++) {
        begin(recorder, "token", at + 2000 + i * 5000);
        end(recorder, at + 2000 + i * 5000 + 1000 + number % 7);
    }
    end(recorder, at + 510000);
    begin(recorder, "generate", at + 520000);
    end(recorder, at + 900000 + number * 100);
    end(recorder, at + 980000);
    struct tbed_argument value = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = number % 10};
    give(recorder, TBED_GIVEN_COUNTER, "queue length", at + 981000, &value, 1);
}

static void give_message(struct tbed_recorder *recorder, const char *text, uint64_t tick)
{
    struct tbed_argument argument = text_argument(TBED_ID_INVALID, text);
    give(recorder, TBED_GIVEN_MESSAGE, NULL, tick, &argument, 1);
}

static void work_special(struct tbed_recorder *recorder, uint64_t at)
{
    begin(recorder, "haystack", at);
    struct tbed_given_event needle = {
        .type = TBED_GIVEN_BEGIN, .id = intern("needle"), .category = intern("sewing"), .tick = at + 100000};
    tbed_event_record_given(recorder, &needle);
    begin(recorder, "pin", at + 100000);
    end(recorder, at + 100001);
    end(recorder, at + 100100);
    end(recorder, at + 900000);
}

static void work_others(struct tbed_recorder *recorder, uint64_t at, unsigned thread, unsigned number)
{
    if (number % 25 == 10) {
        give_message(recorder, "an unused variable", at + 990000);
        give(recorder, TBED_GIVEN_INSTANT, "checkpoint", at + 991000, NULL, 0);
        tbed_async_begin(recorder, intern("download"), 100 * thread + number);
    } else if (number % 25 == 15) {
        tbed_async_end(recorder, intern("download"), 100 * thread + number - 5);
    }
    if (number == 30 + thread)
        tbed_flow_record(recorder,
                         thread == 0   ? TBED_EXT_FLOW_BEGIN
                         : thread == 1 ? TBED_EXT_FLOW_STEP
                                       : TBED_EXT_FLOW_END,
                         intern("job"), 1);
}

/* A thread works 100 ms. The third has "haystack" at 70 ms, in it "needle" of 100 ns, and at its begin "pin" of 1 ns. */
static void work_thread(unsigned thread, uint64_t shift)
{
    char name[32];
    snprintf(name, sizeof name, thread == 0 ? "main" : "worker %u", thread);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, name, 4711 + thread);
    begin(recorder, "compile", shift);
    for (unsigned number = 0; number < 100; number++) {
        uint64_t at = shift + number * MS;
        if (thread == 2 && number == 70)
            work_special(recorder, at);
        else
            work_one(recorder, at + 1000, number);
        work_others(recorder, at + 1000, thread, number);
    }
    end(recorder, shift + 101 * MS);
    tbed_recorder_close(recorder);
}

static int work(const char *path, uint64_t shift)
{
    if (open_writer(path, true, 0) != 0)
        return 1;
    shift += MS; /* no event is at tick 0 */
    for (unsigned thread = 0; thread < 3; thread++)
        work_thread(thread, shift);
    tbed_writer_close(writer);
    return 0;
}

/* ---- Names ---- */

static void give_name(const char *name, uint64_t tick)
{
    struct tbed_recorder *recorder =
        tbed_recorder_open_given(writer, strlen(name) < 1000 ? name : "long", 4711);
    struct tbed_argument argument = text_argument(intern("argument"), name);
    give(recorder, TBED_GIVEN_BEGIN, name, tick, &argument, 1);
    give_message(recorder, name, tick + 10);
    end(recorder, tick + MS - 10);
    tbed_recorder_close(recorder);
}

static int names(const char *path)
{
    static char text[8 << 20];
    size_t nbytes = fread(text, 1, sizeof text - 1, stdin);
    if (open_writer(path, true, 0) != 0)
        return 1;
    uint64_t tick = MS;
    for (char *name = text; name < text + nbytes; name += strlen(name) + 1, tick += MS)
        give_name(name, tick);
    tbed_writer_close(writer);
    return 0;
}

/* ---- Large ---- */

static void large_thread(unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "thread %u", number);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, name);
    uint32_t outer = intern("outer"), inner = intern("inner"), found = intern("found"), grow = intern("grow");
    for (unsigned i = 0; i < 600; i++) {
        tbed_span_begin(recorder, outer);
        for (unsigned k = 0; k < 1000; k++) {
            tbed_span_begin(recorder, k == 500 ? found : inner);
            tbed_span_end(recorder);
        }
        tbed_alloc_record(recorder, grow, TBED_FUNCTION_MALLOC, (number * 1000 + i + 1) * 0x1000, 1000);
        tbed_span_end(recorder);
    }
    tbed_recorder_close(recorder);
}

static int large(const char *path, const char *source)
{
    if (open_writer(path, false, 8192) != 0)
        return 1;
    struct tbed_frame_names frame = {intern("find"), intern(source), 3};
    tbed_location_describe(writer, intern("found"), &frame, 1);
    for (unsigned i = 0; i < 3; i++)
        large_thread(i);
    tbed_writer_close(writer);
    return 0;
}

/* ---- Many ---- */

/* Spans of two depths, whose times are those of a simple generator, and now and then a message. */
static void give_many(unsigned thread, uint64_t count)
{
    struct tbed_recorder *recorder =
        tbed_recorder_open_given(writer, thread == 0 ? "first" : "second", 4711 + thread);
    uint64_t tick = MS, state = thread + 1;
    char name[32];
    for (uint64_t i = 0; i < count; i += 2) {
        state = state * UINT64_C(6364136223846793005) + 1;
        uint64_t length = (state >> 40) % 100000 + 100;
        snprintf(name, sizeof name, "function %u", (unsigned)(state >> 33) % 100);
        begin(recorder, name, tick);
        begin(recorder, "inner", tick + length / 4);
        end(recorder, tick + length / 2 + state % 16);
        end(recorder, tick + length);
        if (i % 50000 == 0)
            give_message(recorder, "half way through, or nearly so", tick + length);
        tick += length + (state >> 50) % 1000;
    }
    tbed_recorder_close(recorder);
}

static int many(const char *path, uint64_t count)
{
    if (open_writer(path, true, 0) != 0)
        return 1;
    for (unsigned thread = 0; thread < 2; thread++)
        give_many(thread, count);
    tbed_writer_close(writer);
    return 0;
}

/* ---- Live ---- */

static int live(const char *path)
{
    if (open_writer(path, false, 0) != 0)
        return 1;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    do {
        for (unsigned i = 0; i < 500; i++) {
            tbed_span_begin(recorder, intern("step"));
            tbed_span_end(recorder);
        }
        puts("recorded");
        fflush(stdout);
    } while (getchar() != EOF);
    tbed_recorder_close(recorder);
    tbed_writer_close(writer);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "work") == 0)
        return work(argv[2], strtoull(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "names") == 0)
        return names(argv[2]);
    if (argc == 4 && strcmp(argv[1], "large") == 0)
        return large(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "many") == 0)
        return many(argv[2], strtoull(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "live") == 0)
        return live(argv[2]);
    fputs("usage: view_page_program work PATH SHIFT | names PATH | large PATH SOURCE | many PATH COUNT | "
          "live PATH\n",
          stderr);
    return 2;
}
