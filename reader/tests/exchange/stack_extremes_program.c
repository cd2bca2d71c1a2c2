/*
 * Records spans for export_stacks_test.py:
 *
 *     stack_extremes_program PATH
 *
 * A recursion 2,000 deep, which ends in the middle and stays open on another thread; spans from the first to the last possible tick
 * of 63 bits; and spans that share their times, have none, or overlap.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <tracebed/writer.h>

#define DEPTH 2000u

static struct tbed_writer *writer;

static uint32_t name_of(const char *name)
{
    return tbed_string_intern(writer, name, __builtin_strlen(name));
}

static void put(struct tbed_recorder *recorder, enum tbed_given_type type, uint64_t tick, uint32_t id)
{
    const struct tbed_given_event event = {.type = type, .tick = tick, .id = id, .category = TBED_ID_INVALID};
    tbed_event_record_given(recorder, &event);
}

static void put_span(struct tbed_recorder *recorder, uint64_t begin, uint64_t end, const char *name)
{
    const struct tbed_given_event event = {.type = TBED_GIVEN_SPAN,
                                           .tick = end,
                                           .begin_tick = begin,
                                           .id = name_of(name),
                                           .category = TBED_ID_INVALID};
    tbed_event_record_given(recorder, &event);
}

static void recur(struct tbed_recorder *recorder, bool ends)
{
    uint32_t id = name_of("recur");
    for (unsigned i = 0; i < DEPTH; i++)
        put(recorder, TBED_GIVEN_BEGIN, 1000 + i, id);
    for (unsigned i = 0; i < DEPTH && ends; i++)
        put(recorder, TBED_GIVEN_END, 1000 + DEPTH + i, 0);
    put(recorder, TBED_GIVEN_INSTANT, 1000 + 3 * DEPTH, id);
    tbed_recorder_close(recorder);
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .given_ticks = true, .given_ticks_per_second = 1000000000};
    if (argc != 2 || tbed_writer_open(argv[1], &options, &writer, NULL) != TBED_OK)
        return 2;
    recur(tbed_recorder_open_given(writer, "ends", 1), true);
    recur(tbed_recorder_open_given(writer, "stays", 2), false);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, "ties", 3);
    put_span(recorder, 10, 20, "first");
    put_span(recorder, 20, 20, "nothing");
    put_span(recorder, 20, 20, "nothing");
    put_span(recorder, 20, 30, "second");
    put_span(recorder, 10, 30, "same");
    put_span(recorder, 10, 30, "same");
    put_span(recorder, 25, 40, "overlaps");
    put_span(recorder, 50, 45, "inverted");
    put_span(recorder, 0, INT64_MAX, "as long as can be");
    tbed_recorder_close(recorder);
    tbed_writer_close(writer);
    return 0;
}
