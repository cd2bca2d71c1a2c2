/*
 * Records a trace with given ticks in which threads have signal handlers and times off the processor, for
 * export_tracks_test.py:
 *
 *     tracks_program PATH
 *
 * A handler gets a stream of its own only if it interrupts a record. It does here because the text that is recorded lies in a page
 * that cannot be read before the handler of SIGSEGV has made it readable.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <tracebed/writer.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct tbed_writer *writer;
static struct tbed_recorder *recorder; /* of the thread that is recorded */
static uint64_t handler_tick;
static uint32_t handler_id, inner_id, tick_id;
static char *page;

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void give(struct tbed_recorder *to, enum tbed_given_type type, uint32_t id, uint64_t tick)
{
    const struct tbed_given_event event = {.type = type, .id = id, .category = TBED_ID_INVALID, .tick = tick};
    tbed_event_record_given(to, &event);
}

static void on_fault(int signal)
{
    (void)signal;
    give(recorder, TBED_GIVEN_BEGIN, handler_id, handler_tick);
    give(recorder, TBED_GIVEN_BEGIN, inner_id, handler_tick + 10);
    give(recorder, TBED_GIVEN_INSTANT, tick_id, handler_tick + 15);
    give(recorder, TBED_GIVEN_END, 0, handler_tick + 20);
    give(recorder, TBED_GIVEN_END, 0, handler_tick + 40);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* An instant whose record is interrupted. */
static void interrupted(uint64_t tick)
{
    const struct tbed_argument text = {
        .type = TBED_ARG_TEXT, .name_id = TBED_ID_INVALID, .nbytes = 40, .value.text = page};
    const struct tbed_given_event event = {.type = TBED_GIVEN_INSTANT,
                                           .id = intern("interrupted"),
                                           .category = TBED_ID_INVALID,
                                           .tick = tick,
                                           .arguments = &text,
                                           .argument_count = 1};
    handler_tick = tick - 100;
    memset(page, 'x', 4096);
    mprotect(page, 4096, PROT_NONE);
    tbed_event_record_given(recorder, &event);
}

static void off(struct tbed_recorder *to, const char *why, uint64_t begin, uint64_t end)
{
    give(to, TBED_GIVEN_BEGIN, intern(why), begin);
    give(to, TBED_GIVEN_END, 0, end);
}

/* run: 1000 to 9000, in it load: 2000 to 4000, interrupted; off the processor for 1000 in run, 500 in load. */
static void record_thread(const char *name, uint32_t tid, uint64_t start)
{
    recorder = tbed_recorder_open_given(writer, name, tid);
    give(recorder, TBED_GIVEN_BEGIN, intern("run"), start + 1000);
    give(recorder, TBED_GIVEN_BEGIN, intern("load"), start + 2000);
    interrupted(start + 3000);
    give(recorder, TBED_GIVEN_END, 0, start + 4000);
    struct tbed_recorder *times = tbed_recorder_open_off_cpu(writer, 0, tbed_recorder_stream(recorder),
                                                             name != NULL ? "worker: off CPU" : NULL, tid);
    off(times, "off CPU: preempted", start + 3200, start + 3700);
    off(times, "off CPU: waiting", start + 5000, start + 6000);
    tbed_recorder_close(times);
    give(recorder, TBED_GIVEN_END, 0, start + 9000);
    tbed_recorder_close(recorder);
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .given_ticks = true, .given_ticks_per_second = 1000000000};
    if (argc != 2 || tbed_writer_open(argv[1], &options, &writer, NULL) != TBED_OK)
        return 2;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, on_fault);
    handler_id = intern("on_fault");
    inner_id = intern("count");
    tick_id = intern("tick");
    record_thread("worker", 7, 0);
    record_thread(NULL, 8, 100000);
    struct tbed_recorder *track = tbed_track_open(writer, "queue");
    give(track, TBED_GIVEN_INSTANT, intern("put"), 500);
    tbed_writer_close(writer);
    return 0;
}
