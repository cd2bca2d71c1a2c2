/*
 * Golden files in memory, for tests. Each ends directly before an inaccessible page.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GOLDEN_FILE_H
#define TRACEBED_GOLDEN_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tracebed/reader.h>
#include <unistd.h>

#include "format/tests/sanitizer.h"

#define GOLDEN_FOLDER "spec/golden"

struct golden_bytes {
    uint8_t *bytes;
    size_t nbytes;
    uint8_t *map;
    size_t map_nbytes;
};

/* Room for 'nbytes', which end at the forbidden page (up to 7 bytes before it, as alignment wants). */
static inline struct golden_bytes golden_alloc(size_t nbytes)
{
    struct golden_bytes golden = {.nbytes = nbytes, .map_nbytes = ((nbytes + 4095) & ~(size_t)4095) + 4096};
    golden.map = mmap(NULL, golden.map_nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(golden.map, MAP_FAILED);
    assert_int_equal(mprotect(golden.map + golden.map_nbytes - 4096, 4096, PROT_NONE), 0);
    golden.bytes = golden.map + golden.map_nbytes - 4096 - ((nbytes + 7) & ~(size_t)7);
    return golden;
}

static inline void golden_free(struct golden_bytes *golden)
{
    munmap(golden->map, golden->map_nbytes);
}

/* 'name' as expected.txt has it: valid/events. */
static inline struct golden_bytes golden_load(const char *name)
{
    char path[256];
    struct stat status;
    snprintf(path, sizeof path, GOLDEN_FOLDER "/%s.tbed", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    struct golden_bytes golden = golden_alloc((size_t)status.st_size);
    assert_int_equal(read(fd, golden.bytes, golden.nbytes), (ssize_t)golden.nbytes);
    close(fd);
    return golden;
}

/*
 * Tests that try every bit or length do so in a plain build, and with TBED_EVERY set; sanitisers make a
 * reader too slow for that. The step is odd, so that all remainders come up.
 */
static inline size_t golden_step(size_t sanitized_step)
{
    return TEST_IS_SANITIZED && getenv("TBED_EVERY") == NULL ? sanitized_step : 1;
}

/* What is listed: string entries, bindings, and the events of all streams by their cursors. */
struct golden_counts {
    size_t strings, bindings, events;
};

static inline size_t golden_event_count(struct tbed_reader *reader)
{
    struct tbed_stream_info info;
    size_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        struct tbed_cursor *cursor;
        struct tbed_event event;
        assert_int_equal(tbed_cursor_open(reader, info.stream, &cursor), TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count++;
        tbed_cursor_close(cursor);
    }
    return count;
}

static inline struct golden_counts golden_count(struct tbed_reader *reader)
{
    struct golden_counts counts = {.events = golden_event_count(reader)};
    struct tbed_binding_info binding;
    uint32_t id = 0;
    while (tbed_string_next(reader, &id))
        counts.strings++;
    while (tbed_binding_get(reader, counts.bindings, &binding))
        counts.bindings++;
    return counts;
}

#endif
