/*
 * Compression of blocks in memory; see block_pack.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/base/block_pack.h"

#include "reader/core/zstd/zstd_library.h"

#include <limits.h>
#include <zlib.h>

#define GZIP_LEVEL  6
#define GZIP_WINDOW 31 /* 15 bits, with the header of gzip */
#define GZIP_MEMORY 8
/* Twice the time of level 3 for 3 % fewer bytes of a profile's spans; encoding them takes longer than either. */
#define ZSTD_LEVEL 6

struct block_packer {
    enum tbed_compression compression;
    z_stream gzip;
    bool has_gzip;
#if HAS_ZSTD
    struct zstd_library library;
    ZSTD_CStream *zstd;
#endif
};

/* ---- Zstandard ---- */

#if HAS_ZSTD

static enum tbed_status zstd_open(struct block_packer *packer)
{
    if (!tbed_zstd_load(&packer->library))
        return TBED_ERR_NO_LIBRARY;
    packer->zstd = packer->library.createCStream();
    return packer->zstd != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

static bool zstd_pack(struct block_packer *packer, const void *bytes, size_t nbytes, struct tbed_text *to)
{
    size_t room =
        packer->library.compressBound(nbytes); /* of far too many bytes: an error, which is far too much */
    if (!tbed_text_reserve(to, room))
        return false;
    size_t packed =
        packer->library.compressCCtx(packer->zstd, to->bytes + to->nbytes, room, bytes, nbytes, ZSTD_LEVEL);
    if (packer->library.isError(packed))
        return false;
    to->nbytes += packed;
    return true;
}

static void zstd_close(struct block_packer *packer)
{
    if (packer->zstd != NULL)
        packer->library.freeCStream(packer->zstd);
}

#else

static enum tbed_status zstd_open(struct block_packer *packer)
{
    (void)packer;
    return TBED_ERR_NO_LIBRARY;
}

static bool zstd_pack(struct block_packer *packer, const void *bytes, size_t nbytes, struct tbed_text *to)
{
    (void)packer, (void)bytes, (void)nbytes, (void)to;
    return false;
}

static void zstd_close(struct block_packer *packer)
{
    (void)packer;
}

#endif

/* ---- gzip ---- */

static enum tbed_status gzip_open(struct block_packer *packer)
{
    int status =
        deflateInit2(&packer->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY);
    packer->has_gzip = status == Z_OK;
    return packer->has_gzip ? TBED_OK : TBED_ERR_MEMORY;
}

/* The bound for INT_MAX bytes is less than UINT_MAX, and what has as much room is compressed at once. */
static bool gzip_pack(struct block_packer *packer, const void *bytes, size_t nbytes, struct tbed_text *to)
{
    z_stream *gzip = &packer->gzip;
    deflateReset(gzip); /* fails only if there is no stream; the bound counts on it */
    uLong room = deflateBound(gzip, nbytes);
    if (nbytes > INT_MAX || !tbed_text_reserve(to, room))
        return false;
    gzip->next_in = (unsigned char *)(uintptr_t)bytes;
    gzip->avail_in = (unsigned)nbytes;
    gzip->next_out = (unsigned char *)to->bytes + to->nbytes;
    gzip->avail_out = (unsigned)room;
    bool is_done = deflate(gzip, Z_FINISH) == Z_STREAM_END;
    to->nbytes += room - gzip->avail_out;
    return is_done;
}

/* ---- Either ---- */

enum tbed_status tbed_block_packer_open(enum tbed_compression compression, struct block_packer **packer_ret)
{
    struct block_packer *packer = calloc(1, sizeof *packer);
    enum tbed_status status = TBED_OK;
    if (packer == NULL)
        return TBED_ERR_MEMORY;
    packer->compression = compression;
    if (compression == TBED_COMPRESSION_ZSTD)
        status = zstd_open(packer);
    else if (compression == TBED_COMPRESSION_GZIP)
        status = gzip_open(packer);
    if (status == TBED_OK)
        *packer_ret = packer;
    else
        tbed_block_packer_close(packer);
    return status;
}

bool tbed_block_pack(struct block_packer *packer, const void *bytes, size_t nbytes, struct tbed_text *to)
{
    if (packer->compression == TBED_COMPRESSION_ZSTD)
        return zstd_pack(packer, bytes, nbytes, to);
    if (packer->compression == TBED_COMPRESSION_GZIP)
        return gzip_pack(packer, bytes, nbytes, to);
    tbed_text_put(to, bytes, nbytes);
    return !to->is_out_of_memory;
}

void tbed_block_packer_close(struct block_packer *packer)
{
    if (packer == NULL)
        return;
    zstd_close(packer);
    if (packer->has_gzip)
        deflateEnd(&packer->gzip);
    free(packer);
}
