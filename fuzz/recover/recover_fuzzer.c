/*
 * What is recovered from any bytes is intact, has every intact event block of the original or says that some of its stream
 * is lost, and is its own recovery.
 *
 * Mutator: trace
 * Seeds: fuzz/reader/corpus spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create() */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

#define HEADER_NBYTES 64

static int recover(int from, struct tbed_recovery *recovery)
{
    int to = memfd_create("recovered", MFD_CLOEXEC);
    REQUIRE(to >= 0);
    if (tbed_trace_recover(from, to, recovery, NULL) == TBED_OK)
        return to;
    close(to);
    return -1;
}

/* The bytes of a block of the original begin one of the recovered trace, at the same tick of the same stream. */
static bool has_block(struct tbed_reader *recovered, const struct tbed_block *block)
{
    size_t first, count, nbytes = block->used_nbytes - HEADER_NBYTES;
    struct tbed_block found;
    tbed_stream_blocks(recovered, block->stream, &first, &count);
    for (size_t i = first; i < first + count; i++)
        if (tbed_event_block_get(recovered, i, &found) == TBED_OK && found.first_tick == block->first_tick &&
            found.used_nbytes == block->used_nbytes &&
            memcmp(found.bytes + HEADER_NBYTES, block->bytes + HEADER_NBYTES, nbytes) == 0)
            return true;
    return false;
}

/* Of two blocks with one number, one is kept, and the loss is recorded; a reader may have taken the other. */
static bool is_told(const struct tbed_reader *recovered, const struct tbed_block *block)
{
    struct tbed_lost_info lost;
    for (size_t i = 0; tbed_lost_get(recovered, i, &lost); i++)
        if (lost.kind == TBED_BLOCK_EVENTS && lost.stream == block->stream)
            return true;
    return false;
}

static bool has_damaged_events(const struct tbed_reader *reader)
{
    struct tbed_damage damage;
    for (size_t i = 0; tbed_damage_get(reader, i, &damage); i++)
        if (damage.status >= TBED_ERR_EVENT_TAG)
            return true;
    return tbed_damage_count(reader) > TBED_DAMAGE_KEPT_MAX;
}

/* Sealed blocks of a trace that is otherwise read without trouble. */
static void compare_blocks(const uint8_t *data, size_t nbytes, struct tbed_reader *recovered)
{
    struct tbed_reader *reader;
    struct tbed_block block;
    uint64_t *copy = malloc(nbytes + 8); /* aligned */
    REQUIRE(copy != NULL);
    memcpy(copy, data, nbytes);
    if (tbed_reader_open_memory(copy, nbytes, NULL, &reader, NULL) == TBED_OK) {
        tbed_reader_verify(reader);
        for (size_t i = 0; !has_damaged_events(reader) && i < tbed_event_block_count(reader); i++)
            if (tbed_event_block_get(reader, i, &block) == TBED_OK && block.sealed)
                REQUIRE(has_block(recovered, &block) || is_told(recovered, &block));
        tbed_reader_close(reader);
    }
    free(copy);
}

/* Text that is not UTF-8, and ranges of ids that overlap, are the application's. Everything else is mended. */
static void require_intact(struct tbed_reader *recovered)
{
    struct tbed_damage damage;
    tbed_reader_verify(recovered);
    for (size_t i = 0; tbed_damage_get(recovered, i, &damage); i++)
        REQUIRE(damage.status == TBED_ERR_STRING_UTF8 || damage.status == TBED_ERR_STRING_END ||
                damage.status == TBED_ERR_RECORD_RANGE);
}

static void require_same(int a, int b)
{
    struct stat of_a, of_b;
    REQUIRE(fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_size == of_b.st_size);
    void *x = mmap(NULL, (size_t)of_a.st_size, PROT_READ, MAP_SHARED, a, 0);
    void *y = mmap(NULL, (size_t)of_a.st_size, PROT_READ, MAP_SHARED, b, 0);
    REQUIRE(x != MAP_FAILED && y != MAP_FAILED);
    REQUIRE(memcmp(x, y, (size_t)of_a.st_size) == 0);
    munmap(x, (size_t)of_a.st_size);
    munmap(y, (size_t)of_a.st_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *recovered;
    struct tbed_recovery recovery;
    int from = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(from >= 0 && write(from, data, nbytes) == (ssize_t)nbytes);
    int once = recover(from, &recovery);
    if (once >= 0) {
        int twice = recover(once, &recovery);
        REQUIRE(twice >= 0 && recovery.loss_count == 0);
        require_same(once, twice);
        REQUIRE(tbed_reader_open_fd(once, NULL, &recovered, NULL) == TBED_OK);
        require_intact(recovered);
        compare_blocks(data, nbytes, recovered);
        tbed_reader_close(recovered);
        close(twice);
        close(once);
    }
    close(from);
    return 0;
}
