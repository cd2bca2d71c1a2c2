/*
 * Units of packed traces; see pack_unit.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/pack_unit.h"

#include <stdlib.h>
#include <string.h>

#include "format/event.h"
#include "reader/core/pack/unit_walk.h"
#include "reader/core/zstd/zstd_library.h"

enum unit_method {
    UNIT_PLAIN = 0,
    UNIT_ZSTD = 1,
    UNIT_COLUMNS = 2,
};

#if HAS_ZSTD

#define ZSTD_LEVEL 1
/* Columns shorter than this are not worth the call. */
#define FRAME_NBYTES_MIN 24

struct tbed_packer {
    struct zstd_library library;
    ZSTD_CStream *zstd;
    struct unit_walk walk;
    uint8_t plain[PACK_UNIT_NBYTES_MAX];
    uint8_t columns[COLUMN_COUNT][COLUMN_NBYTES + COLUMN_SLACK_NBYTES];
};

struct tbed_unpacker {
    struct zstd_library library;
    ZSTD_DCtx *zstd;
    struct unit_walk walk;
    uint8_t plain[PACK_UNIT_NBYTES_MAX];
    uint8_t columns[COLUMN_NBYTES + COLUMN_SLACK_NBYTES];
};

static size_t plain_nbytes(const struct pack_unit *unit)
{
    return (size_t)unit->count * unit->block_nbytes;
}

/* ---- Packing ---- */

enum tbed_status tbed_packer_new(struct tbed_packer **packer_ret)
{
    struct tbed_packer *packer = calloc(1, sizeof *packer); /* what is never used stays out of memory */
    *packer_ret = NULL;
    if (packer == NULL)
        return TBED_ERR_MEMORY;
    bool is_loaded = tbed_zstd_load(&packer->library);
    packer->zstd = is_loaded ? packer->library.createCStream() : NULL;
    if (packer->zstd == NULL) {
        free(packer);
        return is_loaded ? TBED_ERR_MEMORY : TBED_ERR_NO_LIBRARY;
    }
    tbed_unit_walk_init(&packer->walk);
    *packer_ret = packer;
    return TBED_OK;
}

void tbed_packer_free(struct tbed_packer *packer)
{
    if (packer == NULL)
        return;
    packer->library.freeCStream(packer->zstd);
    free(packer);
}

/* One frame, if it is smaller than the bytes and fits into 'room'; else 0. */
static size_t pack_frame(struct tbed_packer *packer, uint8_t *out, size_t room, const uint8_t *bytes,
                         size_t nbytes)
{
    if (room >= nbytes)
        room = nbytes - 1;
    size_t packed = packer->library.compressCCtx(packer->zstd, out, room, bytes, nbytes, ZSTD_LEVEL);
    return packer->library.isError(packed) ? 0 : packed;
}

static size_t put_number(uint8_t *out, uint64_t value)
{
    size_t nbytes = 0;
    for (; value >= 128; value >>= 7)
        out[nbytes++] = (uint8_t)(value | 128);
    out[nbytes++] = (uint8_t)value;
    return nbytes;
}

/* One column: its size, doubled, and odd if the size of a frame follows; then the bytes. 0: there is no room. */
static size_t pack_column(struct tbed_packer *packer, uint8_t *out, size_t room, const struct column *column)
{
    size_t nbytes = (size_t)(column->at - column->start), head = 2 * 5, packed = 0;
    if (room < head + FRAME_NBYTES_MIN)
        return 0;
    if (nbytes >= FRAME_NBYTES_MIN)
        packed = pack_frame(packer, out + head, room - head, column->start, nbytes);
    if (packed == 0 && nbytes > room - head)
        return 0;
    size_t at = put_number(out, 2 * nbytes + (packed != 0));
    if (packed != 0)
        at += put_number(out + at, packed);
    memmove(out + at, packed != 0 ? out + head : column->start, packed != 0 ? packed : nbytes);
    return at + (packed != 0 ? packed : nbytes);
}

/* 0: it would not be smaller. */
static size_t pack_columns(struct tbed_packer *packer, const struct pack_unit *unit, uint8_t *out)
{
    size_t room = plain_nbytes(unit), total = 0, at = 1;
    struct unit_walk *walk = &packer->walk;
    for (uint32_t i = 0; i < COLUMN_COUNT; i++)
        walk->columns.c[i].start = walk->columns.c[i].at = packer->columns[i];
    tbed_unit_walk_pack(walk, unit);
    for (uint32_t i = 0; i < COLUMN_COUNT; i++)
        total += (size_t)(walk->columns.c[i].at - walk->columns.c[i].start);
    if (total > 2 * plain_nbytes(unit))
        return 0;
    out[0] = UNIT_COLUMNS;
    at += put_number(out + at, walk->clock.step);
    at += put_number(out + at, walk->clock.common);
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        size_t nbytes = pack_column(packer, out + at, room - at, &walk->columns.c[i]);
        if (nbytes == 0)
            return 0;
        at += nbytes;
    }
    return at;
}

static size_t pack_plain(struct tbed_packer *packer, const struct pack_unit *unit, uint8_t *out)
{
    size_t nbytes = plain_nbytes(unit);
    for (uint32_t i = 0; i < unit->count; i++)
        memcpy(packer->plain + (size_t)i * unit->block_nbytes, unit->blocks[i], unit->block_nbytes);
    out[0] = UNIT_ZSTD;
    size_t packed = pack_frame(packer, out + 1, nbytes, packer->plain, nbytes);
    if (packed != 0)
        return 1 + packed;
    out[0] = UNIT_PLAIN;
    memcpy(out + 1, packer->plain, nbytes);
    return 1 + nbytes;
}

static bool is_walked(uint8_t kind)
{
    return kind == TBED_BLOCK_EVENTS || kind == TBED_BLOCK_STRINGS || kind == TBED_BLOCK_RECORDS;
}

size_t tbed_unit_pack(struct tbed_packer *packer, const struct pack_unit *unit, uint8_t *out)
{
    size_t nbytes = is_walked(unit->blocks[0][0]) ? pack_columns(packer, unit, out) : 0;
    return nbytes != 0 ? nbytes : pack_plain(packer, unit, out);
}

/* ---- Unpacking ---- */

enum tbed_status tbed_unpacker_new(struct tbed_unpacker **unpacker_ret)
{
    struct tbed_unpacker *unpacker = calloc(1, sizeof *unpacker);
    *unpacker_ret = NULL;
    if (unpacker == NULL)
        return TBED_ERR_MEMORY;
    bool is_loaded = tbed_zstd_load(&unpacker->library);
    unpacker->zstd = is_loaded ? unpacker->library.createDCtx() : NULL;
    if (unpacker->zstd == NULL) {
        free(unpacker);
        return is_loaded ? TBED_ERR_MEMORY : TBED_ERR_NO_LIBRARY;
    }
    tbed_unit_walk_init(&unpacker->walk);
    *unpacker_ret = unpacker;
    return TBED_OK;
}

void tbed_unpacker_free(struct tbed_unpacker *unpacker)
{
    if (unpacker == NULL)
        return;
    unpacker->library.freeDCtx(unpacker->zstd);
    free(unpacker);
}

/* One frame that holds exactly 'plain'. */
static bool unpack_frame(struct tbed_unpacker *unpacker, const uint8_t *in, size_t nbytes, uint8_t *plain,
                         size_t plain_size)
{
    const struct zstd_library *library = &unpacker->library;
    return library->findFrameCompressedSize(in, nbytes) == nbytes &&
           library->decompressDCtx(unpacker->zstd, plain, plain_size, in, nbytes) == plain_size;
}

/* The bytes of a unit, from front to back. */
struct unit_input {
    const uint8_t *at, *end;
    bool is_damaged;
};

static uint64_t get_number(struct unit_input *in)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 63 && in->at < in->end; shift += 7) {
        uint64_t byte = *in->at++;
        value |= (byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    in->is_damaged = true;
    return 0;
}

/* Unpacks a column to 'to', where 'room' bytes are left, and returns how many it has. */
static size_t unpack_column(struct tbed_unpacker *unpacker, struct unit_input *in, uint8_t *to, size_t room)
{
    uint64_t head = get_number(in), nbytes = head / 2, packed = (head & 1) != 0 ? get_number(in) : nbytes;
    if (in->is_damaged || nbytes > room || packed > (size_t)(in->end - in->at)) {
        in->is_damaged = true;
        return 0;
    }
    if ((head & 1) == 0)
        memcpy(to, in->at, nbytes);
    else if (!unpack_frame(unpacker, in->at, packed, to, nbytes))
        in->is_damaged = true;
    in->at += packed;
    return nbytes;
}

static bool unpack_columns(struct tbed_unpacker *unpacker, struct unit_input in, const struct pack_unit *unit)
{
    struct unit_walk *walk = &unpacker->walk;
    uint8_t *to = unpacker->columns;
    size_t room = 2 * plain_nbytes(unit);
    walk->clock.step = get_number(&in);
    walk->clock.common = get_number(&in);
    for (uint32_t i = 0; i < COLUMN_COUNT && !in.is_damaged; i++) {
        size_t nbytes = unpack_column(unpacker, &in, to, room);
        walk->columns.c[i] = (struct column){.start = to, .at = to, .end = to + nbytes};
        to += nbytes;
        room -= nbytes;
    }
    return !in.is_damaged && in.at == in.end && walk->clock.step >= CLOCK_ONE &&
           walk->clock.step <= CLOCK_STEP_MAX && tbed_unit_walk_unpack(walk, unit);
}

static bool unpack_plain(struct tbed_unpacker *unpacker, struct unit_input in, const struct pack_unit *unit,
                         bool is_packed)
{
    size_t nbytes = (size_t)(in.end - in.at);
    const uint8_t *plain = is_packed ? unpacker->plain : in.at;
    if (is_packed ? !unpack_frame(unpacker, in.at, nbytes, unpacker->plain, plain_nbytes(unit))
                  : nbytes != plain_nbytes(unit))
        return false;
    for (uint32_t i = 0; i < unit->count; i++)
        memcpy(unit->blocks[i], plain + (size_t)i * unit->block_nbytes, unit->block_nbytes);
    return true;
}

enum tbed_status tbed_unit_unpack(struct tbed_unpacker *unpacker, const uint8_t *in, size_t nbytes,
                                  const struct pack_unit *unit)
{
    if (nbytes == 0 || in[0] > UNIT_COLUMNS)
        return TBED_ERR_PACKED_UNIT;
    struct unit_input rest = {.at = in + 1, .end = in + nbytes};
    bool is_intact = in[0] == UNIT_COLUMNS ? unpack_columns(unpacker, rest, unit)
                                           : unpack_plain(unpacker, rest, unit, in[0] == UNIT_ZSTD);
    return is_intact ? TBED_OK : TBED_ERR_PACKED_UNIT;
}

#else

enum tbed_status tbed_packer_new(struct tbed_packer **packer_ret)
{
    *packer_ret = NULL;
    return TBED_ERR_NO_LIBRARY;
}

void tbed_packer_free(struct tbed_packer *packer)
{
    (void)packer;
}

enum tbed_status tbed_unpacker_new(struct tbed_unpacker **unpacker_ret)
{
    *unpacker_ret = NULL;
    return TBED_ERR_NO_LIBRARY;
}

void tbed_unpacker_free(struct tbed_unpacker *unpacker)
{
    (void)unpacker;
}

size_t tbed_unit_pack(struct tbed_packer *packer, const struct pack_unit *unit, uint8_t *out)
{
    (void)packer, (void)unit, (void)out;
    return 0;
}

enum tbed_status tbed_unit_unpack(struct tbed_unpacker *unpacker, const uint8_t *in, size_t nbytes,
                                  const struct pack_unit *unit)
{
    (void)unpacker, (void)in, (void)nbytes, (void)unit;
    return TBED_ERR_NO_LIBRARY;
}

#endif
