/*
 * The program whose trace verbs_bench.py asks: threads that call functions in trees of random shape.
 *
 *     verbs_subject TRACE EVENTS THREADS NAMES
 *
 * Nothing repeats, so nearly every call has a stack of its own. Every 10,000 events of a thread are a request, which is
 * a flow.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <tracebed/writer.h>

#define DEPTH_MAX      20u
#define THREAD_MAX     64u
#define REQUEST_EVENTS 10000u

struct work {
    pthread_t thread;
    struct tbed_writer *writer;
    const uint32_t *ids;
    uint32_t name_count, request_id, number;
    uint64_t event_count;
};

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void one_event(struct tbed_recorder *recorder, const struct work *work, uint64_t *state,
                      uint32_t *depth)
{
    uint64_t random = random_next(state);
    if (*depth == DEPTH_MAX || (*depth > 0 && random % 2 == 0)) {
        tbed_span_end(recorder);
        --*depth;
    } else {
        tbed_span_begin(recorder, work->ids[(random >> 1) % work->name_count]);
        ++*depth;
    }
}

static void *run(void *argument)
{
    const struct work *work = argument;
    uint64_t state = work->number + 1;
    uint32_t depth = 0;
    char name[32];
    snprintf(name, sizeof name, "worker %u", work->number);
    struct tbed_recorder *recorder = tbed_recorder_open(work->writer, name);
    for (uint64_t i = 0; i < work->event_count; i++) {
        uint64_t request = i / REQUEST_EVENTS * THREAD_MAX + work->number;
        if (i % REQUEST_EVENTS == 0)
            tbed_flow_record(recorder, TBED_EXT_FLOW_BEGIN, work->request_id, request);
        else if (i % REQUEST_EVENTS == REQUEST_EVENTS - 1)
            tbed_flow_record(recorder, TBED_EXT_FLOW_END, work->request_id, request);
        else
            one_event(recorder, work, &state, &depth);
    }
    while (depth-- > 0)
        tbed_span_end(recorder);
    tbed_recorder_close(recorder);
    return NULL;
}

int main(int argc, char **argv)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_writer *writer;
    struct tbed_error error;
    struct work works[THREAD_MAX];
    if (argc != 5)
        return 2;
    uint64_t event_count = strtoull(argv[2], NULL, 10);
    uint32_t thread_count = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t name_count = (uint32_t)strtoul(argv[4], NULL, 10);
    uint32_t *ids = calloc(name_count + 1, sizeof *ids);
    if (ids == NULL || name_count == 0 || thread_count == 0 || thread_count > THREAD_MAX)
        return 2;
    if (tbed_writer_open(argv[1], &options, &writer, &error) != TBED_OK) {
        fprintf(stderr, "verbs_subject: %s: %s\n", argv[1], tbed_status_text(error.status));
        return 2;
    }
    for (uint32_t i = 0; i < name_count; i++) {
        char name[32];
        int nbytes = snprintf(name, sizeof name, "function_%u", i);
        ids[i] = tbed_string_intern(writer, name, (size_t)nbytes);
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        works[i] = (struct work){.writer = writer,
                                 .ids = ids,
                                 .name_count = name_count,
                                 .request_id = tbed_string_intern(writer, "request", 7),
                                 .number = i,
                                 .event_count = event_count / thread_count};
        if (pthread_create(&works[i].thread, NULL, run, &works[i]) != 0)
            abort();
    }
    for (uint32_t i = 0; i < thread_count; i++)
        pthread_join(works[i].thread, NULL);
    tbed_writer_close(writer);
    free(ids);
    return 0;
}
