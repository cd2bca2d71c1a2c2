/*
 * Opens a packed trace in memory and walks everything in it; then unpacks it, and packs the result again if it is a trace:
 * unpacking that must give the same bytes.
 *
 * Checksums are mended first, so that what is behind them is reached.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create() */
#include "format/checksum.h"
#include "fuzz/support/fuzz.h"
#include "reader/exchange/packed/pack_trace.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_NBYTES  64u
#define HEAD_NBYTES    24u
#define TRAILER_NBYTES 40u
#define PLAIN_MAX      ((uint64_t)64 << 20) /* memory grows with what is unpacked */
#define ROOM           ((size_t)4 << 20)

static uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t load64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void store64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Returns where the next unit would start; 0: there is no unit. */
static size_t mend_unit(uint8_t *unit, size_t left)
{
    if (left < HEAD_NBYTES || memcmp(unit, "UNIT", 4) != 0)
        return 0;
    size_t pages_nbytes = 4 * (size_t)(load32(unit + 4) & 31), packed_nbytes = load32(unit + 8);
    if (pages_nbytes + packed_nbytes > left - HEAD_NBYTES)
        return 0;
    uint64_t checksum = tbed_hash64(unit, 16);
    checksum = tbed_checksum_continue(checksum, unit + HEAD_NBYTES, pages_nbytes);
    store64(unit + 16, tbed_checksum_continue(checksum, unit + HEAD_NBYTES + pages_nbytes, packed_nbytes));
    return (HEAD_NBYTES + pages_nbytes + packed_nbytes + 7) & ~(size_t)7;
}

static void mend_end(uint8_t *bytes, size_t nbytes)
{
    uint8_t *trailer = bytes + nbytes - TRAILER_NBYTES;
    uint64_t offset = load64(trailer + 8), index_nbytes = load64(trailer + 16);
    if (offset <= nbytes && index_nbytes <= nbytes - offset)
        store64(trailer + 24, tbed_hash64(bytes + offset, (size_t)index_nbytes));
    store64(trailer + 32, tbed_hash64(trailer, 32));
}

/* The checksums of units are in the index too, so that a changed unit is found only without an index. */
static void mend(uint8_t *bytes, size_t nbytes)
{
    store64(bytes + 56, tbed_hash64(bytes, 56));
    for (size_t at = HEADER_NBYTES, step = 1; step != 0 && at < nbytes; at += step)
        step = mend_unit(bytes + at, nbytes - at);
    if (nbytes % 16 < 8)
        mend_end(bytes, nbytes);
}

static void read_all(const uint8_t *bytes, size_t nbytes)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {.status = TBED_OK};
    const uint8_t *copy = guarded_copy(bytes, nbytes);
    if (tbed_reader_open_memory(copy, nbytes, NULL, &reader, &error) != TBED_OK) {
        REQUIRE(reader == NULL && error.status != TBED_OK);
        return;
    }
    walk_everything(reader);
    tbed_reader_close(reader);
}

static bool are_equal(int a, int b)
{
    struct stat of_a, of_b;
    static uint8_t in_a[65536], in_b[65536];
    if (fstat(a, &of_a) != 0 || fstat(b, &of_b) != 0 || of_a.st_size != of_b.st_size)
        return false;
    for (off_t at = 0; at < of_a.st_size; at += (off_t)sizeof in_a) {
        ssize_t nbytes = pread(a, in_a, sizeof in_a, at);
        if (nbytes != pread(b, in_b, sizeof in_b, at) || memcmp(in_a, in_b, (size_t)nbytes) != 0)
            return false;
    }
    return true;
}

static void unpack_and_pack(const uint8_t *bytes, size_t nbytes)
{
    struct pack_report report;
    struct tbed_error error;
    int from = file_of_input(bytes, nbytes), plain = memfd_create("plain", MFD_CLOEXEC);
    int packed = memfd_create("packed", MFD_CLOEXEC), again = memfd_create("again", MFD_CLOEXEC);
    bool is_plain = tbed_trace_unpack(from, plain, 1, true, &report, &error) == TBED_OK;
    if (is_plain && tbed_trace_pack(plain, packed, 1, &report, &error) == TBED_OK) {
        REQUIRE(tbed_trace_unpack(packed, again, 1, false, &report, &error) == TBED_OK);
        REQUIRE(are_equal(plain, again));
    }
    close(from);
    close(plain);
    close(packed);
    close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes < HEADER_NBYTES + TRAILER_NBYTES || nbytes > ROOM)
        return 0;
    uint8_t *bytes = malloc(nbytes);
    REQUIRE(bytes != NULL);
    memcpy(bytes, data, nbytes);
    memcpy(bytes, "tbedpack", 8);
    mend(bytes, nbytes);
    if (load64(bytes + 16) <= PLAIN_MAX) {
        read_all(bytes, nbytes);
        unpack_and_pack(bytes, nbytes);
    }
    free(bytes);
    return 0;
}
