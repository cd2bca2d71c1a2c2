/*
 * Where an export goes: a text that is written, compressed if that is asked for, whenever enough of it has come together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_OUT_H
#define TRACEBED_EXCHANGE_EXPORT_OUT_H

#include "reader/core/base/text.h"

#include <tracebed/export.h>

struct export_packer; /* compresses */

struct export_out {
    struct tbed_text text; /* what is to be written next: append to it, with any bytes */
    int fd;
    int write_errno;              /* 0: everything so far has been written */
    uint64_t nbytes;              /* written to 'fd' */
    struct export_packer *packer; /* NULL: not compressed */
};

/* Errors: ERR_MEMORY; ERR_NO_LIBRARY. The caller keeps 'fd'. */
enum tbed_status tbed_export_out_open(struct export_out *out, int fd, enum tbed_compression compression);

/* Writes the text if enough has come together; call it after each event. False once something has failed: give up then. */
bool tbed_export_out_spill(struct export_out *out);

/* Writes the rest, says how much was written in all, and frees everything. Errors: ERR_MEMORY; ERR_WRITE, with the errno. */
enum tbed_status tbed_export_out_close(struct export_out *out, uint64_t *nbytes_ret,
                                       struct tbed_error *error_ret);

#endif
