/*
 * A small encoder of protobuf's wire format, for messages that are put together from the inside out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PROTOBUF_H
#define TRACEBED_EXCHANGE_PROTOBUF_H

#include "reader/core/base/text.h"

#define PB_VARINT_NBYTES_MAX 10
enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2 };

static inline void pb_varint(struct tbed_text *text, uint64_t value)
{
    char bytes[PB_VARINT_NBYTES_MAX];
    size_t nbytes = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[nbytes++] = (char)(value | 0x80);
    bytes[nbytes++] = (char)value;
    tbed_text_put(text, bytes, nbytes);
}

static inline void pb_u64(struct tbed_text *text, uint32_t field, uint64_t value)
{
    pb_varint(text, field << 3 | PB_VARINT);
    pb_varint(text, value);
}

static inline void pb_fixed64(struct tbed_text *text, uint32_t field, uint64_t value)
{
    char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(value >> i * 8);
    pb_varint(text, field << 3 | PB_FIXED64);
    tbed_text_put(text, bytes, sizeof bytes);
}

static inline void pb_f64(struct tbed_text *text, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    pb_fixed64(text, field, bits);
}

/* A message or, if it is UTF-8, a string. */
static inline void pb_bytes(struct tbed_text *text, uint32_t field, const char *bytes, size_t nbytes)
{
    pb_varint(text, field << 3 | PB_BYTES);
    pb_varint(text, nbytes);
    tbed_text_put(text, bytes, nbytes);
}

static inline void pb_message(struct tbed_text *text, uint32_t field, const struct tbed_text *message)
{
    pb_bytes(text, field, message->bytes, message->nbytes);
}

static inline void pb_string(struct tbed_text *text, uint32_t field, const char *string)
{
    pb_bytes(text, field, string, strlen(string));
}

#endif
