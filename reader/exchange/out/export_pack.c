/*
 * Compression of an export; see export_pack.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/out/export_pack.h"

#include "reader/core/zstd/zstd_library.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define OUT_NBYTES  (64u << 10)
#define GZIP_LEVEL  4  /* two thirds of the time of the default, for 5 % more bytes of JSON */
#define GZIP_WINDOW 31 /* 15 bits, with the header of gzip */
#define GZIP_MEMORY 8
#define ZSTD_LEVEL  3

struct export_packer {
    export_pack_function put;
    void *context;
    bool is_zstd;
    z_stream gzip;
#if HAS_ZSTD
    struct zstd_library library;
    ZSTD_CStream *zstd;
#endif
    unsigned char out[OUT_NBYTES];
};

/* ---- Zstandard ---- */

#if HAS_ZSTD

static enum tbed_status zstd_open(struct export_packer *packer)
{
    if (!tbed_zstd_load(&packer->library))
        return TBED_ERR_NO_LIBRARY;
    packer->zstd = packer->library.createCStream();
    if (packer->zstd == NULL ||
        packer->library.isError(packer->library.initCStream(packer->zstd, ZSTD_LEVEL)))
        return TBED_ERR_MEMORY;
    return TBED_OK;
}

static bool zstd_put(struct export_packer *packer, const void *bytes, size_t nbytes, bool ends)
{
    ZSTD_inBuffer in = {bytes, nbytes, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {packer->out, sizeof packer->out, 0};
        left = packer->library.compressStream2(packer->zstd, &out, &in, ends ? ZSTD_e_end : ZSTD_e_continue);
        if (packer->library.isError(left) ||
            (out.pos > 0 && !packer->put(packer->context, packer->out, out.pos)))
            return false;
    } while (in.pos < in.size || (ends && left > 0));
    return true;
}

static void zstd_close(struct export_packer *packer)
{
    if (packer->zstd != NULL)
        packer->library.freeCStream(packer->zstd);
}

#else

static enum tbed_status zstd_open(struct export_packer *packer)
{
    (void)packer;
    return TBED_ERR_NO_LIBRARY;
}

static bool zstd_put(struct export_packer *packer, const void *bytes, size_t nbytes, bool ends)
{
    (void)packer, (void)bytes, (void)nbytes, (void)ends;
    return false;
}

static void zstd_close(struct export_packer *packer)
{
    (void)packer;
}

#endif

/* ---- gzip ---- */

static enum tbed_status gzip_open(struct export_packer *packer)
{
    int status =
        deflateInit2(&packer->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY);
    return status == Z_OK ? TBED_OK : TBED_ERR_MEMORY;
}

static bool gzip_put_piece(struct export_packer *packer, const void *bytes, unsigned nbytes, int flush)
{
    z_stream *gzip = &packer->gzip;
    gzip->next_in = (unsigned char *)(uintptr_t)bytes;
    gzip->avail_in = nbytes;
    do {
        gzip->next_out = packer->out;
        gzip->avail_out = sizeof packer->out;
        if (deflate(gzip, flush) == Z_STREAM_ERROR)
            return false;
        size_t made = sizeof packer->out - gzip->avail_out;
        if (made > 0 && !packer->put(packer->context, packer->out, made))
            return false;
    } while (gzip->avail_out == 0);
    return true;
}

static bool gzip_put(struct export_packer *packer, const unsigned char *bytes, size_t nbytes)
{
    const size_t piece_max = 1u << 30; /* zlib counts in unsigned int */
    for (size_t at = 0; at < nbytes;) {
        size_t piece = nbytes - at < piece_max ? nbytes - at : piece_max;
        if (!gzip_put_piece(packer, bytes + at, (unsigned)piece, Z_NO_FLUSH))
            return false;
        at += piece;
    }
    return true;
}

/* ---- Either ---- */

enum tbed_status tbed_export_packer_open(enum tbed_compression compression, export_pack_function put,
                                         void *context, struct export_packer **packer_ret)
{
    *packer_ret = NULL;
    if (compression == TBED_COMPRESSION_NONE)
        return TBED_OK;
    struct export_packer *packer = calloc(1, sizeof *packer);
    if (packer == NULL)
        return TBED_ERR_MEMORY;
    packer->put = put;
    packer->context = context;
    packer->is_zstd = compression == TBED_COMPRESSION_ZSTD;
    enum tbed_status status = packer->is_zstd ? zstd_open(packer) : gzip_open(packer);
    if (status == TBED_OK)
        *packer_ret = packer;
    else
        tbed_export_packer_close(packer);
    return status;
}

bool tbed_export_packer_put(struct export_packer *packer, const void *bytes, size_t nbytes)
{
    return packer->is_zstd ? zstd_put(packer, bytes, nbytes, false) : gzip_put(packer, bytes, nbytes);
}

bool tbed_export_packer_end(struct export_packer *packer)
{
    return packer->is_zstd ? zstd_put(packer, "", 0, true) : gzip_put_piece(packer, "", 0, Z_FINISH);
}

void tbed_export_packer_close(struct export_packer *packer)
{
    if (packer == NULL)
        return;
    zstd_close(packer);
    deflateEnd(&packer->gzip);
    free(packer);
}
