/*
 * A snapshot of any trace, whether it is a ring and whether it is closed, is intact and contains nothing that the trace
 * does not contain. Blocks that readers refuse only because of the directory, or because of bytes behind their end, it
 * has without either, so their events may be only in the snapshot; the words of all blocks are in the file.
 *
 * Mutator: trace
 * Seeds: fuzz/reader/corpus spec/golden/valid spec/golden/invalid fuzz/odd_calls/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create(), memmem() */
#include <string.h>
#include <sys/mman.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

static bool is_same(const struct tbed_event *a, const struct tbed_event *b)
{
    return a->type == b->type && a->tick == b->tick && a->id == b->id;
}

/* The events of a stream of the snapshot occur in the same order in the same stream of the trace. */
static void compare_stream(struct tbed_reader *trace, struct tbed_reader *snapshot, uint32_t stream)
{
    struct tbed_cursor *in_trace, *in_snapshot;
    struct tbed_event expected, event;
    REQUIRE(tbed_cursor_open(snapshot, stream, &in_snapshot) == TBED_OK);
    REQUIRE(tbed_cursor_open(trace, stream, &in_trace) == TBED_OK);
    while (tbed_cursor_next(in_snapshot, &event) == TBED_OK) {
        do
            REQUIRE(tbed_cursor_next(in_trace, &expected) == TBED_OK);
        while (!is_same(&expected, &event));
    }
    tbed_cursor_close(in_snapshot);
    tbed_cursor_close(in_trace);
}

static void compare_texts(struct tbed_reader *trace, struct tbed_reader *snapshot)
{
    char expected[300], text[300];
    uint32_t id = 0;
    while (tbed_string_next(snapshot, &id)) {
        REQUIRE(tbed_string_resolve(snapshot, id, text, sizeof text, NULL) ==
                tbed_string_resolve(trace, id, expected, sizeof expected, NULL));
        REQUIRE(strcmp(text, expected) == 0);
    }
}

static bool has_damage(const struct tbed_reader *trace, enum tbed_status status)
{
    struct tbed_damage damage;
    for (size_t i = 0; tbed_damage_get(trace, i, &damage); i++)
        if (damage.status == status)
            return true;
    return tbed_damage_count(trace) > TBED_DAMAGE_KEPT_MAX;
}

static bool has_damaged_block(const struct tbed_reader *trace)
{
    bool is_found = false;
    for (int status = TBED_ERR_BLOCK_KIND; status <= TBED_ERR_BLOCK_CHECKSUM; status++)
        is_found |= has_damage(trace, (enum tbed_status)status);
    return is_found;
}

/*
 * Has the snapshot perhaps blocks that readers of the trace refuse? Of two blocks for one place, readers have the one that an
 * entry means. If that one is damaged, nothing reports that the entry is wrong.
 */
static bool may_have_more(const struct tbed_reader *trace)
{
    bool has_two = has_damage(trace, TBED_ERR_BLOCK_TWICE) || has_damage(trace, TBED_ERR_BLOCK_ORDINAL);
    return has_damage(trace, TBED_ERR_DIRECTORY_ENTRY) || has_damage(trace, TBED_ERR_BLOCK_TAIL) ||
           (has_two && has_damaged_block(trace));
}

/* Damage inside a block with a valid checksum is copied, so that readers report it. Everything else is intact. */
static void compare_damage(struct tbed_reader *trace, struct tbed_reader *snapshot)
{
    struct tbed_damage damage;
    tbed_reader_verify(snapshot);
    for (size_t i = 0; tbed_damage_get(snapshot, i, &damage); i++) {
        REQUIRE(damage.status >= TBED_ERR_EVENT_TAG || damage.status == TBED_ERR_SHARED_ZERO ||
                damage.status == TBED_ERR_STRING_HASH);
        REQUIRE(has_damage(trace, damage.status) || may_have_more(trace));
    }
}

struct input {
    const uint8_t *data;
    size_t nbytes;
};

static void find_words(const struct input *input, const struct tbed_block *block)
{
    size_t nbytes = (size_t)(block->words_end - block->words) * sizeof *block->words;
    REQUIRE(block->sealed && memmem(input->data, input->nbytes, block->words, nbytes) != NULL);
}

static void check(const struct input *input, const char *trace_path, const char *path, bool is_whole)
{
    struct tbed_reader *trace, *snapshot;
    struct tbed_block block;
    REQUIRE(tbed_reader_open(trace_path, NULL, &trace, NULL) == TBED_OK);
    REQUIRE(tbed_reader_open(path, NULL, &snapshot, NULL) == TBED_OK);
    bool was_intact = tbed_reader_verify(trace) == TBED_OK;
    REQUIRE(!was_intact || is_whole);
    compare_damage(trace, snapshot);
    uint32_t stream = 0;
    for (size_t i = 0; i < tbed_event_block_count(snapshot); i++) {
        if (tbed_event_block_get(snapshot, i, &block) != TBED_OK)
            continue; /* its stack is damaged */
        find_words(input, &block);
        if (block.stream != stream && !may_have_more(trace))
            compare_stream(trace, snapshot, block.stream);
        stream = block.stream;
    }
    if (was_intact)
        compare_texts(trace, snapshot);
    tbed_reader_close(snapshot);
    tbed_reader_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char trace_path[64], path[64];
    uint64_t left_out;
    int fd = memfd_create("trace", MFD_CLOEXEC), to = memfd_create("snapshot", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && to >= 0 && write(fd, data, nbytes) == (ssize_t)nbytes);
    snprintf(trace_path, sizeof trace_path, "/proc/self/fd/%d", fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    if (tbed_trace_snapshot(fd, to, &left_out, NULL) == TBED_OK)
        check(&(struct input){data, nbytes}, trace_path, path, left_out == 0);
    close(to);
    close(fd);
    return 0;
}
