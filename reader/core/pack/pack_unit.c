/*
 * Units of packed traces; see pack_unit.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/pack/pack_unit.h"

#include <stdlib.h>
#include <string.h>

#include "reader/core/zstd/zstd_library.h"

enum unit_method {
    UNIT_PLAIN = 0,
    UNIT_ZSTD = 1,
};

#if HAS_ZSTD

#define ZSTD_LEVEL 1

struct tbed_packer {
    struct zstd_library library;
    ZSTD_CStream *zstd;
    uint8_t plain[PACK_UNIT_NBYTES_MAX];
};

struct tbed_unpacker {
    struct zstd_library library;
    ZSTD_DCtx *zstd;
    uint8_t plain[PACK_UNIT_NBYTES_MAX];
};

enum tbed_status tbed_packer_new(struct tbed_packer **packer_ret)
{
    struct tbed_packer *packer = malloc(sizeof *packer);
    *packer_ret = NULL;
    if (packer == NULL)
        return TBED_ERR_MEMORY;
    bool is_loaded = tbed_zstd_load(&packer->library);
    packer->zstd = is_loaded ? packer->library.createCStream() : NULL;
    if (packer->zstd == NULL) {
        free(packer);
        return is_loaded ? TBED_ERR_MEMORY : TBED_ERR_NO_LIBRARY;
    }
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

enum tbed_status tbed_unpacker_new(struct tbed_unpacker **unpacker_ret)
{
    struct tbed_unpacker *unpacker = malloc(sizeof *unpacker);
    *unpacker_ret = NULL;
    if (unpacker == NULL)
        return TBED_ERR_MEMORY;
    bool is_loaded = tbed_zstd_load(&unpacker->library);
    unpacker->zstd = is_loaded ? unpacker->library.createDCtx() : NULL;
    if (unpacker->zstd == NULL) {
        free(unpacker);
        return is_loaded ? TBED_ERR_MEMORY : TBED_ERR_NO_LIBRARY;
    }
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

size_t tbed_unit_pack(struct tbed_packer *packer, const struct pack_unit *unit, uint8_t *out)
{
    size_t nbytes = (size_t)unit->count * unit->block_nbytes;
    for (uint32_t i = 0; i < unit->count; i++)
        memcpy(packer->plain + (size_t)i * unit->block_nbytes, unit->blocks[i], unit->block_nbytes);
    size_t packed =
        packer->library.compressCCtx(packer->zstd, out + 1, nbytes, packer->plain, nbytes, ZSTD_LEVEL);
    out[0] = UNIT_ZSTD;
    if (!packer->library.isError(packed) && packed < nbytes)
        return 1 + packed;
    out[0] = UNIT_PLAIN;
    memcpy(out + 1, packer->plain, nbytes);
    return 1 + nbytes;
}

/* One frame that holds exactly 'plain_nbytes'. */
static bool unpack_frame(struct tbed_unpacker *unpacker, const uint8_t *in, size_t nbytes,
                         size_t plain_nbytes)
{
    const struct zstd_library *library = &unpacker->library;
    return library->findFrameCompressedSize(in, nbytes) == nbytes &&
           library->decompressDCtx(unpacker->zstd, unpacker->plain, plain_nbytes, in, nbytes) == plain_nbytes;
}

enum tbed_status tbed_unit_unpack(struct tbed_unpacker *unpacker, const uint8_t *in, size_t nbytes,
                                  const struct pack_unit *unit)
{
    size_t plain_nbytes = (size_t)unit->count * unit->block_nbytes;
    const uint8_t *plain = in + 1;
    if (nbytes < 1)
        return TBED_ERR_PACKED_UNIT;
    if (in[0] == UNIT_ZSTD && unpack_frame(unpacker, in + 1, nbytes - 1, plain_nbytes))
        plain = unpacker->plain;
    else if (in[0] != UNIT_PLAIN || nbytes - 1 != plain_nbytes)
        return TBED_ERR_PACKED_UNIT;
    for (uint32_t i = 0; i < unit->count; i++)
        memcpy(unit->blocks[i], plain + (size_t)i * unit->block_nbytes, unit->block_nbytes);
    return TBED_OK;
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
