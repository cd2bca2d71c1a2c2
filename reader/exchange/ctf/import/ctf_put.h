/*
 * Records that the child of an import of CTF sends; see ctf.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_PUT_H
#define TRACEBED_EXCHANGE_CTF_PUT_H

#include "reader/exchange/ctf/import/ctf_read.h"

#include <stdio.h>
#include <string.h>

struct ctf_put {
    FILE *out;
    size_t nbytes;
    bool is_full; /* something did not fit */
    char bytes[CTF_RECORD_NBYTES_MAX];
};

static inline void ctf_put(struct ctf_put *put, const void *bytes, size_t nbytes)
{
    put->is_full |= nbytes > sizeof put->bytes - put->nbytes;
    if (put->is_full)
        return;
    memcpy(put->bytes + put->nbytes, bytes, nbytes);
    put->nbytes += nbytes;
}

static inline void ctf_put_u8(struct ctf_put *put, uint8_t value)
{
    ctf_put(put, &value, sizeof value);
}

static inline void ctf_put_u32(struct ctf_put *put, uint32_t value)
{
    ctf_put(put, &value, sizeof value);
}

static inline void ctf_put_u64(struct ctf_put *put, uint64_t value)
{
    ctf_put(put, &value, sizeof value);
}

static inline void tbed_ctf_put_text(struct ctf_put *put, const char *text, size_t nbytes)
{
    ctf_put_u32(put, (uint32_t)nbytes);
    ctf_put(put, text, nbytes);
}

static inline void ctf_put_begin(struct ctf_put *put, enum ctf_record_type type)
{
    put->nbytes = sizeof(uint32_t);
    put->is_full = false;
    ctf_put_u8(put, (uint8_t)type);
}

/* A record that does not fit is not sent. */
static inline void ctf_put_end(struct ctf_put *put)
{
    uint32_t nbytes = (uint32_t)(put->nbytes - sizeof nbytes);
    memcpy(put->bytes, &nbytes, sizeof nbytes);
    if (!put->is_full)
        fwrite(put->bytes, 1, put->nbytes, put->out);
}

#endif
