/*
 * Records the trace that the questions of docs/sql.md are asked about, for sql_questions_test.py:
 *
 *     sql_program SEED PATH
 *
 * A server on invented time, a microsecond a tick: a listener accepts requests, each a flow, and four workers answer them in
 * spans with arguments, counters, messages, instants and memory. Some requests are slow, and one never ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/writer.h>

#define WORKERS     4u
#define REQUESTS    400u
#define TICK_FIRST  UINT64_C(1000000)
#define ENTRIES_MAX 16u

struct line {
    struct tbed_recorder *recorder;
    uint64_t tick;
    uint64_t entries[ENTRIES_MAX]; /* addresses of its cache; 0: none */
};

static uint64_t state;
static struct tbed_writer *writer;
static uint64_t next_address = 0x10000;

static uint64_t below(uint64_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

static uint32_t name_of(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void record(struct line *line, struct tbed_given_event event)
{
    event.tick = line->tick;
    if (event.category == 0)
        event.category = TBED_ID_INVALID;
    tbed_event_record_given(line->recorder, &event);
}

static void begin(struct line *line, const char *name, const char *category)
{
    record(line, (struct tbed_given_event){
                     .type = TBED_GIVEN_BEGIN, .id = name_of(name), .category = name_of(category)});
}

static void begin_with(struct line *line, const char *name, const char *category, const char *key,
                       const char *text)
{
    struct tbed_argument argument = {
        .type = TBED_ARG_TEXT, .name_id = name_of(key), .nbytes = (uint32_t)strlen(text), .value.text = text};
    record(line, (struct tbed_given_event){.type = TBED_GIVEN_BEGIN,
                                           .id = name_of(name),
                                           .category = name_of(category),
                                           .arguments = &argument,
                                           .argument_count = 1});
}

static void end(struct line *line)
{
    record(line, (struct tbed_given_event){.type = TBED_GIVEN_END});
}

static uint64_t allocate(struct line *line, const char *site, uint64_t nbytes)
{
    uint64_t address = next_address += (nbytes + 31) & ~UINT64_C(15);
    tbed_alloc_record(line->recorder, name_of(site), TBED_FUNCTION_MALLOC, address, nbytes);
    return address;
}

static void release(struct line *line, const char *site, uint64_t address)
{
    tbed_free_record(line->recorder, name_of(site), TBED_FUNCTION_MALLOC, address);
}

/* ---- The server ---- */

static void parse(struct line *line)
{
    begin(line, "parse", "http");
    line->tick += 2000 + below(8000);
    end(line);
}

static void keep_entry(struct line *line)
{
    uint64_t *entry = &line->entries[below(ENTRIES_MAX)];
    if (*entry != 0)
        release(line, "cache_evict", *entry);
    *entry = allocate(line, "cache_add", 256u << below(5));
}

static void query(struct line *line, bool is_slow)
{
    static const char *const tables[] = {"users", "orders", "it's \"odd\"\n"};
    begin_with(line, "query", "database", "table", tables[below(3)]);
    line->tick += 5000 + below(40000);
    if (below(3) == 0) {
        record(line, (struct tbed_given_event){.type = TBED_GIVEN_INSTANT, .id = name_of("cache miss")});
        begin(line, "read disk", "io");
        line->tick += 50000 + below(100000) + (is_slow ? 2000000 : 0);
        keep_entry(line);
        end(line);
    }
    line->tick += 1000 + below(1000);
    end(line);
}

static void complain(struct line *line, uint64_t number)
{
    char text[64];
    int nbytes = snprintf(text, sizeof text, "request %llu is slow", (unsigned long long)number);
    tbed_message_record(line->recorder, TBED_SEVERITY_WARNING, text, (size_t)nbytes);
}

static void reply(struct line *line)
{
    begin(line, "reply", "http");
    uint64_t buffer = allocate(line, "reply_buffer", 100 + below(4000));
    line->tick += 3000 + below(3000);
    end(line);
    release(line, "reply_buffer", buffer);
}

static void answer(struct line *line, uint64_t number, bool ends)
{
    static const char *const paths[] = {"/", "/index", "/search", "/login"};
    bool is_slow = below(20) == 0;
    begin_with(line, "request", "http", "path", paths[below(4)]);
    tbed_flow_record(line->recorder, TBED_EXT_FLOW_STEP, name_of("request flow"), number);
    line->tick += 500;
    parse(line);
    for (uint64_t i = below(4) + is_slow; i > 0; i--) {
        line->tick += 300 + below(500);
        query(line, is_slow);
    }
    if (is_slow)
        complain(line, number);
    line->tick += below(700);
    reply(line);
    line->tick += 100;
    record(line, (struct tbed_given_event){.type = TBED_GIVEN_INSTANT, .id = name_of("answered")});
    tbed_flow_record(line->recorder, TBED_EXT_FLOW_END, name_of("request flow"), number);
    tbed_counter_record_i64(line->recorder, name_of("bytes sent"), (int64_t)(number * 1000 + below(1000)));
    line->tick += 50;
    if (ends)
        end(line);
}

static void serve(struct line *listener, struct line *workers)
{
    for (uint64_t number = 1; number <= REQUESTS; number++) {
        struct line *worker = &workers[below(WORKERS)];
        uint64_t waiting = 0;
        listener->tick += 20000 + below(60000);
        begin(listener, "accept", "http");
        tbed_flow_record(listener->recorder, TBED_EXT_FLOW_BEGIN, name_of("request flow"), number);
        tbed_async_begin(listener->recorder, name_of("session"), number);
        for (unsigned i = 0; i < WORKERS; i++)
            waiting += workers[i].tick > listener->tick;
        tbed_counter_record_i64(listener->recorder, name_of("queue length"), (int64_t)waiting);
        listener->tick += 1000 + below(2000);
        end(listener);
        if (worker->tick < listener->tick)
            worker->tick = listener->tick;
        answer(worker, number, number != REQUESTS);
        tbed_async_end(worker->recorder, name_of("session"), number);
    }
}

static struct line open_line(const char *name, uint32_t tid)
{
    return (struct line){.recorder = tbed_recorder_open_given(writer, name, tid), .tick = TICK_FIRST};
}

int main(int argument_count, char **arguments)
{
    struct line listener, workers[WORKERS];
    char name[32];
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000};
    if (argument_count != 3 || tbed_writer_open(arguments[2], &options, &writer, NULL) != TBED_OK)
        return 2;
    state = strtoull(arguments[1], NULL, 10) * 7919 + 1;
    listener = open_line("listener", 100);
    for (unsigned i = 0; i < WORKERS; i++) {
        snprintf(name, sizeof name, "worker %u", i);
        workers[i] = open_line(name, 101 + i);
    }
    serve(&listener, workers);
    tbed_recorder_close(listener.recorder);
    for (unsigned i = 0; i < WORKERS; i++)
        tbed_recorder_close(workers[i].recorder);
    tbed_writer_close(writer);
    return 0;
}
