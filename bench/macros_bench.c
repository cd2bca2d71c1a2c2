/*
 * Measures what the macros cost the thread that uses them, compared with reading the clock and with fprintf, with
 * recording on and off.
 *
 * Each round reads the clock as often as it then uses a macro. "Net" is the cost without reading the clock. "Floor"
 * also reads the clock, and stores as many bytes as the message has in memory that stays in the cache. "Whole process" is
 * the CPU time of all its threads, from the start of the trace to its end.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracebed/logfile.h>

#include "bench/support/measure.h"

#define FILE_NAME   "macros_bench.tbed"
#define TEXT_NAME   "macros_bench.txt"
#define BURST       ((size_t)50000)
#define SHORT_BURST ((size_t)250)
#define RING_NBYTES ((size_t)1 << 20) /* a ring, or a floor's memory, that stays in the cache */
#define MILLION     ((size_t)1000000)

TBED_CATEGORY(bench_stored);
TBED_CATEGORY_SWITCH(bench_off);

static FILE *text_file;

/* Values that the compiler of the loops does not know. */
static const char *volatile text_of_16 = "sixteen bytes...";
static const char *volatile text_of_35 = "a text of exactly thirty-five bytes";

static const char *const volatile dynamic_names[] = {"parse", "resolve", "type check", "emit"};

/* ---- The loops ---- */

__attribute__((noinline)) static void read_clock(size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += tbed_counter_read();
    bench_sink = sum;
}

/* A span has two events and one site. */
__attribute__((noinline)) static void record_spans(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        TBED_SPAN("work");
    }
}

__attribute__((noinline)) static void pass_spans(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        TBED_SPAN("work");
    }
}

__attribute__((noinline)) static void pass_category_spans(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        TBED_SPAN_IN(bench_off, "work");
    }
}

__attribute__((noinline)) static void record_category_spans(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        TBED_SPAN_IN(bench_stored, "work");
    }
}

__attribute__((noinline)) static void record_dynamic_instants(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_INSTANT_DYNAMIC(dynamic_names[i % 4]);
}

__attribute__((noinline)) static void record_instants(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_INSTANT("work");
}

__attribute__((noinline)) static void record_arguments(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_INSTANT_ARGS("work", "first", i, "second", -(long)i);
}

/* Like a span, it has two events and one site. */
__attribute__((noinline)) static void record_argument_spans(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        TBED_SPAN_ARGS("work", "first", (int)i, "second", -(int)i);
    }
}

__attribute__((noinline)) static void record_text_spans(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        TBED_SPAN_ARGS("work", "text", text_of_35);
    }
}

__attribute__((noinline)) static void record_dynamic_spans(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        TBED_SPAN_DYNAMIC(dynamic_names[i / 2 % 4]);
    }
}

__attribute__((noinline)) static void record_integer_counters(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_COUNTER("size", (long)i);
}

__attribute__((noinline)) static void record_double_counters(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_COUNTER("load", 0.1 * (double)i);
}

__attribute__((noinline)) static void log_two_integers(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_LOG("x=%d y=%d", (int)i, -(int)i);
}

/* The pauses let the helper run even on a busy machine; they take no CPU time. */
__attribute__((noinline)) static void log_in_bursts(size_t count)
{
    for (size_t done = 0; done < count; done += BURST) {
        usleep(20000);
        log_two_integers(BURST);
    }
}

__attribute__((noinline)) static void log_integer_text(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_LOG("x=%d %s", (int)i, text_of_16);
}

__attribute__((noinline)) static void log_text(size_t count)
{
    for (size_t i = 0; i < count; i++)
        TBED_LOG("%s", text_of_35);
}

/* Like a span, a scope has two events and one site. */
__attribute__((noinline)) static void record_scopes(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        TBED_LOGFILE_CONTEXT_AUTHOR(log, "desktop", "cd100003", "::Desktop::Init");
    }
}

__attribute__((noinline)) static void pass_scopes(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        TBED_LOGFILE_CONTEXT_AUTHOR(log, "desktop", "cd100003", "::Desktop::Init");
    }
}

__attribute__((noinline)) static void trace_text(size_t count)
{
    TBED_LOGFILE_CONTEXT_AUTHOR(log, "desktop", "cd100003", "::Desktop::Init");
    for (size_t i = 0; i < count; i++)
        TBED_LOGFILE_CONTEXT_TRACE(log, "%s", text_of_35);
}

__attribute__((noinline)) static void print_scopes(size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        fprintf(text_file, "%06u %u { desktop (cd100003) ::Desktop::Init\n", (unsigned)i, 1u);
        fprintf(text_file, "%06u %u } desktop (cd100003) ::Desktop::Init\n", (unsigned)i, 1u);
    }
}

__attribute__((noinline)) static void print_trace(size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(text_file, "%06u %u | desktop (cd100003) ::Desktop::Init : %s\n", (unsigned)i, 1u,
                text_of_35);
}

__attribute__((noinline)) static void print_two_integers(size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(text_file, "x=%d y=%d\n", (int)i, -(int)i);
}

__attribute__((noinline)) static void print_integer_text(size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(text_file, "x=%d %s\n", (int)i, text_of_16);
}

__attribute__((noinline)) static void print_text(size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(text_file, "%s\n", text_of_35);
}

/* A tick, another word, and zeros: 'nwords' words in total. */
static inline __attribute__((always_inline)) void store(size_t count, size_t nwords)
{
    static uint64_t memory[RING_NBYTES / 8];
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        memory[at] = tbed_counter_read();
        memory[at + 1] = i;
        memset(&memory[at + 2], 0, 8 * (nwords - 2));
        at = at + 2 * nwords <= RING_NBYTES / 8 ? at + nwords : 0;
    }
    bench_sink = memory[0];
}

__attribute__((noinline)) static void store_two_integers(size_t count)
{
    store(count, 3);
}

__attribute__((noinline)) static void store_integer_text(size_t count)
{
    store(count, 5);
}

__attribute__((noinline)) static void store_text(size_t count)
{
    store(count, 7);
}

/* ---- Rounds ---- */

struct cost {
    double thread,
        process; /* of an event; the process's from the start of the trace to its end, 0: not measured */
};

enum work_kind {
    NEW_FILE,
    RING,        /* a ring that stays in the cache: its pages are reused */
    WITHIN_PAGE, /* the same, without the bursts in which a page ended */
    PRINTED,
    OFF, /* recording is not started */
};

struct work {
    const char *name, *unit;
    void (*run)(size_t count);
    size_t count, nbytes; /* per event, with a row of its own for the net cost */
    enum work_kind kind;
    struct bench_goal goal, net_goal;
};

static double cost_of(void (*run)(size_t count), size_t count)
{
    uint64_t begin_ns = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    run(count);
    return (double)(bench_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / (double)count;
}

static int compare_costs(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* The median of bursts that are far shorter than a page. */
static double burst_cost_of(void (*run)(size_t count), size_t count)
{
    static double costs[10000];
    size_t burst_count = count / SHORT_BURST < 10000 ? count / SHORT_BURST : 10000;
    for (size_t i = 0; i < burst_count; i++) {
        uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
        run(SHORT_BURST);
        costs[i] = (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) / SHORT_BURST;
    }
    qsort(costs, burst_count, sizeof costs[0], compare_costs);
    return costs[burst_count / 2];
}

static double work_cost(const struct work *work, void (*run)(size_t count))
{
    return work->kind == WITHIN_PAGE ? burst_cost_of(run, work->count) : cost_of(run, work->count);
}

static uint64_t dropped(void)
{
    uint64_t count = 0;
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        count += tbed_writer_drop_count(tbed_default_writer(), (enum tbed_drop_cause)cause);
    return count;
}

/* Whether the whole process is of interest: it starts a trace, and the thread's cost is not a median of short bursts. */
static bool has_process_row(const struct work *work)
{
    return work->nbytes != 0 && (work->kind == NEW_FILE || work->kind == RING);
}

static bool record_once(const struct bench_options *options, const struct work *work, struct cost *cost_ret)
{
    struct tbed_writer_options writer_options = {.size = sizeof writer_options, .overwrite = true};
    const char *path = bench_path(options, FILE_NAME);
    if (work->kind != NEW_FILE)
        writer_options.ring_nbytes = RING_NBYTES;
    else
        bench_memory_warm(options, work->count * work->nbytes);
    uint64_t begin_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    enum tbed_status status = tbed_start(path, &writer_options);
    if (status != TBED_OK) {
        fprintf(stderr, "macros_bench: %s: %s\n", path, tbed_status_text(status));
        return false;
    }
    tbed_category_enable("bench_off", false);
    cost_ret->thread = work_cost(work, work->run);
    uint64_t drops = dropped();
    tbed_stop();
    cost_ret->process = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / (double)work->count;
    unlink(path);
    if (drops != 0)
        fprintf(stderr, "macros_bench: %s: %llu dropped\n", work->name, (unsigned long long)drops);
    return drops == 0;
}

/* The flush is part of what printing costs. */
static bool print_once(const struct bench_options *options, const struct work *work, struct cost *cost_ret)
{
    const char *path = bench_path(options, TEXT_NAME);
    text_file = fopen(path, "w");
    if (text_file == NULL)
        return false;
    cost_ret->thread = cost_of(work->run, work->count);
    bool is_written = fclose(text_file) == 0;
    unlink(path);
    return is_written;
}

static bool run_once(const struct bench_options *options, const struct work *work, struct cost *cost_ret)
{
    if (work->kind == PRINTED)
        return print_once(options, work, cost_ret);
    if (work->kind != OFF)
        return record_once(options, work, cost_ret);
    cost_ret->thread = cost_of(work->run, work->count);
    return true;
}

static void measure_work(const struct bench_options *options, const struct work *given)
{
    static struct bench_pairs pairs, nets, processes;
    struct work work = *given;
    char name[64];
    if (!bench_is_wanted(options, work.name))
        return;
    if (options->quick && work.count > 2 * MILLION)
        work.count /= 10;
    memset(&pairs, 0, sizeof pairs);
    memset(&nets, 0, sizeof nets);
    memset(&processes, 0, sizeof processes);
    for (unsigned round = 0; round < options->rounds; round++) {
        double limit = round % 2 == 0 ? work_cost(&work, read_clock) : 0;
        struct cost cost = {0, 0};
        if (!run_once(options, &work, &cost))
            continue;
        if (round % 2 != 0)
            limit = work_cost(&work, read_clock);
        bench_pair_add(&pairs, limit, cost.thread);
        bench_pair_add(&nets, limit, cost.thread - limit);
        bench_pair_add(&processes, limit, cost.process);
    }
    bench_row(work.name, work.unit, &pairs, work.goal);
    if (work.nbytes == 0)
        return;
    snprintf(name, sizeof name, "%s, net", work.name);
    bench_row(name, work.unit, &nets, work.net_goal);
    if (!has_process_row(&work))
        return;
    snprintf(name, sizeof name, "%s, whole process", work.name);
    bench_row(name, work.unit, &processes, (struct bench_goal){BENCH_NO_GOAL, 0});
}

/* clang-format off */
#define NO_GOAL     {BENCH_NO_GOAL, 0}
#define RATIO(most) {BENCH_RATIO_AT_MOST, most}
#define VALUE(most) {BENCH_VALUE_AT_MOST, most}

static const struct work works[] = {
    {"TBED_SPAN", "ns/event", record_spans, 40 * MILLION, 8, NEW_FILE, RATIO(1.15), NO_GOAL},
    {"TBED_SPAN, within a page", "ns/event", record_spans, 16 * MILLION, 8, WITHIN_PAGE, NO_GOAL, NO_GOAL},
    {"TBED_SPAN_IN, category stored", "ns/event", record_category_spans, 20 * MILLION, 16, NEW_FILE, NO_GOAL, NO_GOAL},
    {"TBED_INSTANT", "ns/event", record_instants, 40 * MILLION, 8, NEW_FILE, NO_GOAL, NO_GOAL},
    {"TBED_INSTANT_DYNAMIC", "ns/event", record_dynamic_instants, 20 * MILLION, 8, NEW_FILE, NO_GOAL, NO_GOAL},
    {"TBED_INSTANT_DYNAMIC, within a page", "ns/event", record_dynamic_instants, 16 * MILLION, 8, WITHIN_PAGE, NO_GOAL, VALUE(8)},
    {"TBED_SPAN_DYNAMIC", "ns/event", record_dynamic_spans, 20 * MILLION, 8, NEW_FILE, NO_GOAL, VALUE(8)},
    {"TBED_SPAN_DYNAMIC, within a page", "ns/event", record_dynamic_spans, 16 * MILLION, 8, WITHIN_PAGE, NO_GOAL, VALUE(8)},
    {"TBED_SPAN_ARGS, 2 integers", "ns/event", record_argument_spans, 16 * MILLION, 20, NEW_FILE, NO_GOAL, VALUE(4)},
    {"TBED_SPAN_ARGS, 2 integers, within a page", "ns/event", record_argument_spans, 16 * MILLION, 20, WITHIN_PAGE, NO_GOAL, VALUE(4)},
    {"TBED_SPAN_ARGS, text of 35", "ns/event", record_text_spans, 16 * MILLION, 36, NEW_FILE, NO_GOAL, VALUE(8)},
    {"TBED_SPAN_ARGS, text of 35, within a page", "ns/event", record_text_spans, 16 * MILLION, 36, WITHIN_PAGE, NO_GOAL, VALUE(8)},
    {"TBED_INSTANT_ARGS, 2 integers", "ns/event", record_arguments, 16 * MILLION, 40, NEW_FILE, NO_GOAL, VALUE(4)},
    {"TBED_INSTANT_ARGS, 2 integers, within a page", "ns/event", record_arguments, 16 * MILLION, 40, WITHIN_PAGE, NO_GOAL, VALUE(4)},
    {"TBED_COUNTER, integer", "ns/event", record_integer_counters, 16 * MILLION, 16, NEW_FILE, NO_GOAL, VALUE(2.5)},
    {"TBED_COUNTER, integer, within a page", "ns/event", record_integer_counters, 16 * MILLION, 16, WITHIN_PAGE, NO_GOAL, VALUE(2.5)},
    {"TBED_COUNTER, double", "ns/event", record_double_counters, 16 * MILLION, 32, NEW_FILE, NO_GOAL, VALUE(2.5)},
    {"TBED_COUNTER, double, within a page", "ns/event", record_double_counters, 16 * MILLION, 32, WITHIN_PAGE, NO_GOAL, VALUE(2.5)},
    {"TBED_LOG, 2 integers", "ns/event", log_two_integers, 16 * MILLION, 24, NEW_FILE, NO_GOAL, VALUE(3)},
    {"TBED_LOG, 2 integers, bursts", "ns/event", log_in_bursts, 2 * MILLION, 24, NEW_FILE, NO_GOAL, VALUE(3)},
    {"TBED_LOG, 2 integers, ring", "ns/event", log_two_integers, 16 * MILLION, 24, RING, NO_GOAL, NO_GOAL},
    {"TBED_LOG, 2 integers, within a page", "ns/event", log_two_integers, 16 * MILLION, 24, WITHIN_PAGE, NO_GOAL, VALUE(3)},
    {"floor, 24 bytes", "ns/event", store_two_integers, 16 * MILLION, 24, OFF, NO_GOAL, NO_GOAL},
    {"fprintf, 2 integers", "ns/event", print_two_integers, 4 * MILLION, 0, PRINTED, NO_GOAL, NO_GOAL},
    {"TBED_LOG, integer and text", "ns/event", log_integer_text, 16 * MILLION, 40, NEW_FILE, NO_GOAL, NO_GOAL},
    {"TBED_LOG, integer and text, ring", "ns/event", log_integer_text, 16 * MILLION, 40, RING, NO_GOAL, NO_GOAL},
    {"TBED_LOG, integer and text, within a page", "ns/event", log_integer_text, 16 * MILLION, 40, WITHIN_PAGE, NO_GOAL, NO_GOAL},
    {"floor, 40 bytes", "ns/event", store_integer_text, 16 * MILLION, 40, OFF, NO_GOAL, NO_GOAL},
    {"fprintf, integer and text", "ns/event", print_integer_text, 4 * MILLION, 0, PRINTED, NO_GOAL, NO_GOAL},
    {"TBED_LOG, text of 35", "ns/event", log_text, 16 * MILLION, 56, NEW_FILE, NO_GOAL, NO_GOAL},
    {"TBED_LOG, text of 35, ring", "ns/event", log_text, 16 * MILLION, 56, RING, NO_GOAL, NO_GOAL},
    {"TBED_LOG, text of 35, within a page", "ns/event", log_text, 16 * MILLION, 56, WITHIN_PAGE, NO_GOAL, VALUE(10)},
    {"floor, 56 bytes", "ns/event", store_text, 16 * MILLION, 56, OFF, NO_GOAL, NO_GOAL},
    {"fprintf, text of 35", "ns/event", print_text, 4 * MILLION, 0, PRINTED, NO_GOAL, NO_GOAL},
    {"logfile scope", "ns/event", record_scopes, 40 * MILLION, 8, NEW_FILE, NO_GOAL, NO_GOAL},
    {"logfile scope, ring", "ns/event", record_scopes, 40 * MILLION, 8, RING, NO_GOAL, NO_GOAL},
    {"logfile scope, within a page", "ns/event", record_scopes, 16 * MILLION, 8, WITHIN_PAGE, NO_GOAL, VALUE(1.5)},
    {"fprintf, begin and end of a scope", "ns/event", print_scopes, 2 * MILLION, 0, PRINTED, NO_GOAL, NO_GOAL},
    {"logfile trace, text of 35", "ns/event", trace_text, 16 * MILLION, 56, NEW_FILE, NO_GOAL, NO_GOAL},
    {"logfile trace, text of 35, ring", "ns/event", trace_text, 16 * MILLION, 56, RING, NO_GOAL, NO_GOAL},
    {"logfile trace, text of 35, within a page", "ns/event", trace_text, 16 * MILLION, 56, WITHIN_PAGE, NO_GOAL, VALUE(10)},
    {"fprintf, line of a text of 35", "ns/event", print_trace, 4 * MILLION, 0, PRINTED, NO_GOAL, NO_GOAL},
    {"off: logfile scope", "ns/site", pass_scopes, 100 * MILLION, 0, OFF, VALUE(1), NO_GOAL},
    {"off: logfile trace, text of 35", "ns/site", trace_text, 100 * MILLION, 0, OFF, VALUE(1), NO_GOAL},
    {"off: TBED_SPAN", "ns/site", pass_spans, 100 * MILLION, 0, OFF, VALUE(1), NO_GOAL},
    {"off: TBED_LOG, 2 integers", "ns/site", log_two_integers, 100 * MILLION, 0, OFF, VALUE(1), NO_GOAL},
    {"off: TBED_SPAN_IN, others on", "ns/site", pass_category_spans, 100 * MILLION, 0, NEW_FILE, VALUE(1), NO_GOAL},
};
/* clang-format on */

int main(int argc, char **argv)
{
    struct bench_options options;
    if (!bench_options_parse(argc, argv, "Measures the cost of the macros, compared with reading the clock.",
                             &options))
        return 0;
    bench_table_head("Macros: CPU time of the thread that uses them, and of the whole process; the limit is "
                     "reading the clock");
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        measure_work(&options, &works[i]);
    return 0;
}
