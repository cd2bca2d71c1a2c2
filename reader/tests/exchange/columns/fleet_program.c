/*
 * Records traces of a made-up fleet, for fleet_test.py and parquet_test.py:
 *
 *     fleet_program FOLDER FIRST COUNT REQUESTS
 *
 * Trace i is of service i % 5 on host i / 5 % 20, in the version that its metadata says: version 2.0 of "search" is slower
 * than 1.9. Requests have a number in their argument "request", and the same ones occur on several hosts. Each fourth trace
 * has too little room and drops events. The file is FOLDER/HOST-NUMBER.tbed. Hosts boot at different times: as the writer
 * stores no boot for given ticks, the header's anchor gets one here.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#define XXH_INLINE_ALL
#include <tracebed/writer.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define SERVICES  5u
#define HOSTS     20u
#define WORKERS   3u
#define START_NS  INT64_C(1795000000000000000)
#define SECOND_NS UINT64_C(1000000000)

static const char *const services[SERVICES] = {"frontend", "search", "users", "billing", "images"};
static const char *const steps[] = {"parse", "query", "render"};

static struct tbed_writer *writer;
static uint64_t state, tick;
static unsigned number;

static uint64_t below(uint64_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void record(struct tbed_recorder *recorder, struct tbed_given_event event)
{
    event.tick = tick;
    event.category = TBED_ID_INVALID;
    tbed_event_record_given(recorder, &event);
}

static bool is_slow(void)
{
    return number % SERVICES == 1 && number % 3 == 0;
}

static void record_message(struct tbed_recorder *recorder)
{
    static const char *const texts[] = {"timeout after %d ms", "connection refused by %d",
                                        "retrying in %d ms"};
    unsigned which = (unsigned)below(3);
    struct tbed_argument argument = {
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = (int64_t)below(3) * 100};
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_MESSAGE,
                                               .id = intern(texts[which]),
                                               .arguments = &argument,
                                               .argument_count = 1,
                                               .severity = which < 2 ? TBED_SEVERITY_ERROR
                                                                     : TBED_SEVERITY_INFORMATION});
}

static void record_queue(struct tbed_recorder *recorder)
{
    struct tbed_argument argument = {
        .type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = (int64_t)below(50)};
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_COUNTER,
                                               .id = intern("queue"),
                                               .arguments = &argument,
                                               .argument_count = 1});
}

/* Most of the memory is freed at the end of the request, that of the cache is not. */
static void record_memory(struct tbed_recorder *recorder, bool is_begin)
{
    uint64_t address = 0x10000 + (uint64_t)tbed_recorder_stream(recorder) * 0x1000000;
    if (!is_begin) {
        tbed_free_record(recorder, intern("Request"), TBED_FUNCTION_MALLOC, address);
        return;
    }
    tbed_alloc_record(recorder, intern("Request"), TBED_FUNCTION_MALLOC, address, 1000 + below(9000));
    if (below(10) == 0)
        tbed_alloc_record(recorder, intern("Cache"), TBED_FUNCTION_MALLOC, UINT64_C(0x100000000) + tick,
                          64 + below(1000));
}

static void record_step(struct tbed_recorder *recorder, unsigned step)
{
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_BEGIN, .id = intern(steps[step])});
    tick += 1000 + below(100000) + (below(50) == 0 ? 5000000 : 0);
    if (step == 1)
        tick += below(400000) + (is_slow() ? 2000000 : 0);
    if (below(40) == 0)
        record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_INSTANT, .id = intern("cache miss")});
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_END});
}

static void record_request(struct tbed_recorder *recorder)
{
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_I64, .name_id = intern("request"), .value.i64 = (int64_t)below(500)},
        {.type = TBED_ARG_U64, .name_id = intern("bytes"), .value.u64 = below(100000)},
    };
    tick += below(20 * SECOND_NS);
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_BEGIN,
                                               .id = intern("request"),
                                               .arguments = arguments,
                                               .argument_count = 2});
    record_memory(recorder, true);
    for (unsigned step = 0; step < 3; step++)
        record_step(recorder, step);
    if (below(10) == 0)
        record_message(recorder);
    if (below(3) == 0)
        record_queue(recorder);
    record_memory(recorder, false);
    record(recorder, (struct tbed_given_event){.type = TBED_GIVEN_END});
}

/* The time since boot at the anchor, and the header's checksum. */
static int set_boot(const char *path, uint64_t uptime_ns)
{
    unsigned char header[256];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header)
        return 1;
    memcpy(header + 88, &uptime_ns, sizeof uptime_ns);
    uint64_t check = XXH3_64bits(header, sizeof header - 8);
    memcpy(header + sizeof header - 8, &check, sizeof check);
    bool is_written = pwrite(fd, header, sizeof header, 0) == (ssize_t)sizeof header;
    return close(fd) == 0 && is_written ? 0 : 1;
}

static int record_trace(const char *folder, unsigned request_count)
{
    char path[4096], version[16];
    unsigned host = number / SERVICES % HOSTS;
    struct tbed_recorder *workers[WORKERS];
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .overwrite = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = SECOND_NS,
                                          .given_realtime_ns = START_NS + (int64_t)(number * 40 * SECOND_NS),
                                          .process_pid = 1000 + number,
                                          .process_name = services[number % SERVICES],
                                          .max_file_nbytes = number % 4 == 3 ? 16 << 10 : 0};
    state = number + 1;
    tick = 0;
    snprintf(path, sizeof path, "%s/h%02u-%03u.tbed", folder, host, number);
    snprintf(version, sizeof version, "%s", number % 3 == 0 ? "2.0" : "1.9");
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        return 1;
    tbed_metadata_set(writer, version, strlen(version));
    for (unsigned i = 0; i < WORKERS; i++) {
        snprintf(version, sizeof version, "worker %u", i);
        workers[i] = tbed_recorder_open_given(writer, version, 100 + i);
    }
    for (unsigned i = 0; i < request_count; i++)
        record_request(workers[below(WORKERS)]);
    tbed_writer_free(writer);
    /* Larger traces also keep the header elsewhere. */
    if (request_count > 1000)
        return 0;
    return set_boot(path, (100 + host * 7 + (number % 7 == 0)) * 3600 * SECOND_NS + number * 40 * SECOND_NS);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    unsigned first = (unsigned)atoi(argv[2]), count = (unsigned)atoi(argv[3]);
    for (number = first; number < first + count; number++)
        if (record_trace(argv[1], (unsigned)atoi(argv[4])) != 0)
            return 1;
    return 0;
}
