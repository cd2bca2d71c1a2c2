/*
 * Where an export goes; see export_out.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/out/export_out.h"

#include "reader/exchange/out/export_pack.h"
#include <errno.h>
#include <unistd.h>

#define SPILL_NBYTES (256u << 10)

static bool write_bytes(void *context, const void *bytes, size_t nbytes)
{
    struct export_out *out = context;
    const char *at = bytes;
    while (nbytes > 0 && out->write_errno == 0) {
        ssize_t written = write(out->fd, at, nbytes);
        if (written < 0 && errno != EINTR)
            out->write_errno = errno;
        if (written > 0) {
            at += written;
            nbytes -= (size_t)written;
            out->nbytes += (uint64_t)written;
        }
    }
    return out->write_errno == 0;
}

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    if (error != NULL)
        *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

enum tbed_status tbed_export_out_open(struct export_out *out, int fd, enum tbed_compression compression)
{
    *out = (struct export_out){.fd = fd};
    return tbed_export_packer_open(compression, write_bytes, out, &out->packer);
}

static void write_text(struct export_out *out)
{
    struct tbed_text *text = &out->text;
    if (text->nbytes == 0 || out->write_errno != 0)
        return;
    if (out->packer == NULL)
        write_bytes(out, text->bytes, text->nbytes);
    else if (!tbed_export_packer_put(out->packer, text->bytes, text->nbytes) && out->write_errno == 0)
        text->is_out_of_memory = true;
    text->nbytes = 0;
}

bool tbed_export_out_spill(struct export_out *out)
{
    if (out->text.nbytes >= SPILL_NBYTES)
        write_text(out);
    return out->write_errno == 0 && !out->text.is_out_of_memory;
}

enum tbed_status tbed_export_out_close(struct export_out *out, uint64_t *nbytes_ret,
                                       struct tbed_error *error_ret)
{
    enum tbed_status status = TBED_OK;
    write_text(out);
    bool is_whole = out->write_errno == 0 && !out->text.is_out_of_memory;
    if (is_whole && out->packer != NULL && !tbed_export_packer_end(out->packer) && out->write_errno == 0)
        out->text.is_out_of_memory = true;
    if (out->write_errno != 0)
        status = fail(error_ret, TBED_ERR_WRITE, out->write_errno);
    else if (out->text.is_out_of_memory)
        status = fail(error_ret, TBED_ERR_MEMORY, 0);
    *nbytes_ret = out->nbytes;
    tbed_export_packer_close(out->packer);
    free(out->text.bytes);
    *out = (struct export_out){.fd = -1};
    return status;
}
