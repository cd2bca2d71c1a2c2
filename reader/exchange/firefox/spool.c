/*
 * A text that is too long for memory; see spool.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/firefox/spool.h"

#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SPILL_NBYTES (256u << 10)
#define COPY_NBYTES  (64u << 10)

bool tbed_spool_spill(struct spool *spool)
{
    if (spool->text.is_out_of_memory || spool->write_errno != 0)
        return false;
    if (spool->text.nbytes < SPILL_NBYTES)
        return true;
    if (spool->fd < 0)
        spool->fd = tbed_nameless_file();
    for (size_t at = 0; at < spool->text.nbytes && spool->write_errno == 0;) {
        ssize_t written =
            spool->fd < 0 ? -1 : write(spool->fd, spool->text.bytes + at, spool->text.nbytes - at);
        if (written < 0 && (spool->fd < 0 || errno != EINTR))
            spool->write_errno = errno != 0 ? errno : EIO;
        at += written > 0 ? (size_t)written : 0;
    }
    spool->nbytes += spool->text.nbytes;
    spool->text.nbytes = 0;
    return spool->write_errno == 0;
}

typedef bool (*spill_function)(void *context);

static bool copy_file(struct spool *spool, struct tbed_text *to, spill_function spill, void *context)
{
    for (uint64_t at = 0; at < spool->nbytes;) {
        size_t nbytes = spool->nbytes - at < COPY_NBYTES ? (size_t)(spool->nbytes - at) : COPY_NBYTES;
        if (!spill(context) || !tbed_text_reserve(to, nbytes))
            return false;
        ssize_t found = pread(spool->fd, to->bytes + to->nbytes, nbytes, (off_t)at);
        if (found < 0 && errno == EINTR)
            continue;
        if (found <= 0) {
            spool->write_errno = found < 0 ? errno : EIO;
            return false;
        }
        to->nbytes += (size_t)found;
        at += (uint64_t)found;
    }
    return true;
}

static bool move(struct spool *spool, struct tbed_text *to, spill_function spill, void *context)
{
    if (spool->text.is_out_of_memory || spool->write_errno != 0 || !copy_file(spool, to, spill, context))
        return false;
    tbed_text_put(to, spool->text.bytes, spool->text.nbytes);
    spool->text.nbytes = 0;
    if (spool->nbytes > 0 && (ftruncate(spool->fd, 0) != 0 || lseek(spool->fd, 0, SEEK_SET) != 0))
        spool->write_errno = errno;
    spool->nbytes = 0;
    return spill(context) && spool->write_errno == 0;
}

static bool spill_out(void *context)
{
    return tbed_export_out_spill(context);
}

static bool spill_spool(void *context)
{
    return tbed_spool_spill(context);
}

bool tbed_spool_move(struct spool *spool, struct export_out *out)
{
    return move(spool, &out->text, spill_out, out);
}

bool tbed_spool_append(struct spool *spool, struct spool *to)
{
    return move(spool, &to->text, spill_spool, to);
}

void tbed_spool_close(struct spool *spool)
{
    free(spool->text.bytes);
    if (spool->fd >= 0)
        close(spool->fd);
}
