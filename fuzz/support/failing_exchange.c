/*
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* close_range() */
#include "fuzz/support/failing_exchange.h"

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "tracebed"

const int failing_errnos[FAILING_ERRNO_COUNT] = {EIO, EEXIST, ENOSPC, EINTR};

/* ---- Results ---- */

uint64_t failing_sum(uint64_t sum, const void *bytes, size_t nbytes)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < nbytes; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001B3);
    return sum;
}

static uint64_t add_name(uint64_t sum, struct tbed_reader *reader, uint32_t id)
{
    char text[64] = "";
    size_t nbytes = 0;
    if (id != TBED_ID_INVALID)
        tbed_string_resolve(reader, id, text, sizeof text, &nbytes);
    return failing_sum(sum, text, strlen(text));
}

uint64_t failing_sum_of_trace(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_event event;
    uint64_t sum = FAILING_SUM_START;
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        REQUIRE(tbed_cursor_open(reader, stream.stream, &cursor) == TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK) {
            sum = failing_sum(sum, &event.tick, sizeof event.tick);
            sum = add_name(add_name(sum, reader, event.id), reader, event.category);
        }
        tbed_cursor_close(cursor);
    }
    return sum;
}

static uint64_t sum_of_file(void)
{
    char bytes[4096];
    uint64_t sum = FAILING_SUM_START;
    struct tbed_reader *reader;
    FILE *in = fopen(destination_path(), "rb");
    REQUIRE(in != NULL);
    size_t nbytes = fread(bytes, 1, sizeof bytes, in);
    bool is_trace = nbytes > strlen(MAGIC) && memcmp(bytes, MAGIC, strlen(MAGIC)) == 0;
    for (; nbytes > 0; nbytes = fread(bytes, 1, sizeof bytes, in))
        sum = failing_sum(sum, bytes, nbytes);
    fclose(in);
    if (!is_trace)
        return sum;
    REQUIRE(tbed_reader_open(destination_path(), NULL, &reader, NULL) == TBED_OK);
    sum = failing_sum_of_trace(reader);
    tbed_reader_close(reader);
    return sum;
}

/* ---- Descriptors ---- */

struct failing_descriptors failing_descriptors_find(void)
{
    struct failing_descriptors found = {0};
    const struct dirent *entry;
    DIR *entries = opendir("/proc/self/fd");
    REQUIRE(entries != NULL);
    while ((entry = readdir(entries)) != NULL) {
        unsigned number = (unsigned)strtoul(entry->d_name, NULL, 10);
        found.count++;
        if (number > found.highest && number != (unsigned)dirfd(entries))
            found.highest = number;
    }
    closedir(entries);
    return found;
}

/* If file calls fail, a writer whose fstat() fails leaves its descriptor, which may be another file's. */
void failing_descriptors_check(const struct failing_work *work, struct failing_descriptors before)
{
    if (work->file_errno == 0)
        REQUIRE(failing_descriptors_find().count == before.count);
    else
        close_range(before.highest + 1, UINT_MAX, 0);
}

/* ---- Calls ---- */

void failing_work_run(struct failing_work *work, bool fails)
{
    struct tbed_error error = {.status = TBED_OK};
    const char *to = destination_make(work->destination);
    work->sum = 0;
    if (fails && work->file_errno != 0)
        failing_start_files(work->file_errno);
    else if (fails)
        failing_start();
    work->status = work->call(work, to, &error);
    failing_stop();
    REQUIRE(error.status == work->status);
    if (destination_check(work->destination, work->makes_file ? work->status : TBED_ERR_ARGUMENT, 0))
        work->sum = sum_of_file();
}

/* A profile whose index cannot be built for lack of memory is reported as damaged; the result is then not compared. */
void failing_work_expect(const struct failing_work *work, const struct failing_work *expected)
{
    if (work->status == TBED_OK && work->report.damage_count > expected->report.damage_count)
        REQUIRE(failing_count() > 0);
    else
        REQUIRE(work->status == expected->status && work->sum == expected->sum);
}
