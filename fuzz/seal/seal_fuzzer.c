/*
 * Seals any file. Sealing must either fail or leave a closed trace that has every event it had before, whatever is
 * damaged in it. Sealing it again must change no byte.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <sys/stat.h>
#include <tracebed/writer.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

struct bytes {
    uint8_t *at;
    size_t nbytes;
};

static struct bytes read_bytes(const char *path)
{
    struct stat status;
    FILE *in = fopen(path, "rb");
    REQUIRE(in != NULL && stat(path, &status) == 0);
    struct bytes bytes = {malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    REQUIRE(bytes.at != NULL && fread(bytes.at, 1, bytes.nbytes, in) == bytes.nbytes && fclose(in) == 0);
    return bytes;
}

/* Checks that 'sealed' has every event of 'trace' at the same position. */
static void compare_stream(struct tbed_reader *trace, struct tbed_reader *sealed, uint32_t stream)
{
    struct tbed_cursor *expected_at, *at;
    struct tbed_event expected, event;
    REQUIRE(tbed_cursor_open(trace, stream, &expected_at) == TBED_OK);
    REQUIRE(tbed_cursor_open(sealed, stream, &at) == TBED_OK);
    while (tbed_cursor_next(expected_at, &expected) == TBED_OK) {
        REQUIRE(tbed_cursor_next(at, &event) == TBED_OK && event.offset == expected.offset);
        REQUIRE(event.type == expected.type && event.id == expected.id && event.tick == expected.tick);
    }
    REQUIRE(tbed_cursor_next(at, &event) == TBED_END);
    tbed_cursor_close(at);
    tbed_cursor_close(expected_at);
}

static void compare(const struct bytes *before, const char *path)
{
    struct tbed_reader *trace, *sealed;
    struct tbed_stream_info stream;
    struct tbed_trace_info info;
    uint64_t *aligned = aligned_alloc(8, (before->nbytes + 8) & ~(size_t)7);
    REQUIRE(aligned != NULL);
    memcpy(aligned, before->at, before->nbytes);
    REQUIRE(tbed_reader_open_memory(aligned, before->nbytes, NULL, &trace, NULL) == TBED_OK);
    REQUIRE(tbed_reader_open(path, NULL, &sealed, NULL) == TBED_OK);
    tbed_reader_info(trace, &info);
    bool was_shut = info.shut; /* sealing then does nothing */
    tbed_reader_info(sealed, &info);
    REQUIRE(info.shut && (was_shut || info.unsealed_block_count == 0));
    for (size_t i = 0; tbed_stream_get(trace, i, &stream); i++)
        compare_stream(trace, sealed, stream.stream);
    tbed_reader_close(sealed);
    tbed_reader_close(trace);
    free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const char *path = scratch_path("trace");
    struct bytes before = {(uint8_t *)(uintptr_t)data, nbytes};
    scratch_put(path, data, nbytes);
    if (tbed_trace_seal(path, NULL) != TBED_OK)
        return 0;
    compare(&before, path);
    struct bytes once = read_bytes(path);
    REQUIRE(tbed_trace_seal(path, NULL) == TBED_OK);
    struct bytes twice = read_bytes(path);
    REQUIRE(once.nbytes == twice.nbytes && memcmp(once.at, twice.at, once.nbytes) == 0);
    free(once.at);
    free(twice.at);
    return 0;
}
