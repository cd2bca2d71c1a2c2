/*
 * A file whose bytes change between two reads: refreshing, and reading on with cursors that were open, stays within the
 * file and ends. With the option 'copy' even everything that is read agrees with itself.
 *
 * The input is a trace, and behind its last whole page a list of changes: 2 bytes of the offset in units of 8, and the 8
 * bytes to store there. They are made in turn, with a refresh between them. The file begins with the first half of its
 * pages if the first of those bytes is odd.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <unistd.h>

#include "format/layout.h"
#include "fuzz/support/fuzz.h"

enum { PAGE = TBED_PAGE_NBYTES_MIN, CHANGE = 10, CHANGES_MAX = 8 };

struct open_all {
    struct tbed_reader *reader;
    struct tbed_cursor *cursor;
    struct tbed_merge *merge;
};

/* Reads on: some events, all texts, all facts. */
static void read_some(struct open_all *all)
{
    struct tbed_event event;
    struct tbed_stream_info stream;
    struct tbed_unit_info unit;
    char text[100];
    uint32_t id = 0;
    for (int i = 0; i < 200 && all->cursor != NULL && tbed_cursor_next(all->cursor, &event) == TBED_OK; i++)
        tbed_string_resolve(all->reader, event.id, text, sizeof text, NULL);
    for (int i = 0; i < 200 && tbed_merge_next(all->merge, &event) == TBED_OK; i++)
        tbed_ticks_to_ns(all->reader, event.tick);
    for (int i = 0; i < 200 && tbed_string_next(all->reader, &id); i++)
        tbed_string_resolve(all->reader, id, text, sizeof text, NULL);
    for (size_t i = 0; tbed_stream_get(all->reader, i, &stream); i++)
        tbed_string_resolve(all->reader, stream.name_id, text, sizeof text, NULL);
    for (size_t i = 0; tbed_unit_get(all->reader, i, &unit); i++)
        tbed_string_resolve(all->reader, unit.name_id, text, sizeof text, NULL);
}

static void change(int fd, const uint8_t *at, size_t nbytes)
{
    uint64_t offset = 8 * ((uint64_t)at[0] | (uint64_t)at[1] << 8);
    if (offset + 8 <= nbytes)
        REQUIRE(pwrite(fd, at + 2, 8, (off_t)offset) == 8);
}

static void run(const uint8_t *data, size_t nbytes, bool copy)
{
    struct tbed_reader_options options = {.size = sizeof options, .copy = copy};
    struct tbed_stream_info stream;
    struct open_all all = {NULL, NULL, NULL};
    size_t whole = nbytes / PAGE * PAGE;
    const uint8_t *at = data + whole, *end = data + nbytes;
    size_t first = at < end && *at % 2 == 1 ? whole / PAGE / 2 * PAGE : whole;
    int fd = file_of_input(data, first);
    if (tbed_reader_open_fd(fd, &options, &all.reader, NULL) == TBED_OK) {
        if (tbed_stream_get(all.reader, 0, &stream))
            REQUIRE(tbed_cursor_open(all.reader, stream.stream, &all.cursor) == TBED_OK);
        REQUIRE(tbed_merge_open(all.reader, NULL, 0, &all.merge) == TBED_OK);
        read_some(&all);
        REQUIRE(pwrite(fd, data + first, whole - first, (off_t)first) == (ssize_t)(whole - first));
        for (int i = 0; i < CHANGES_MAX && end - at >= CHANGE; i++, at += CHANGE) {
            change(fd, at, whole);
            read_some(&all);
            if (tbed_reader_refresh(all.reader, NULL) == TBED_OK)
                read_some(&all);
        }
        tbed_merge_close(all.merge);
        tbed_cursor_close(all.cursor);
        if (copy)
            walk_everything(all.reader);
        tbed_reader_close(all.reader);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    run(data, nbytes, true);
    run(data, nbytes, false);
    return 0;
}
