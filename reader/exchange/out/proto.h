/*
 * Writes protobuf messages at the end of a text: varints, fixed numbers, bytes and nested messages.
 *
 * The length of a nested message is known only at its end. It is written with as many bytes as it needs, and the message
 * is moved up behind it, which costs little for the small messages of traces and profiles.
 *
 * Once the text is out of memory, nothing is added.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PROTO_H
#define TRACEBED_EXCHANGE_PROTO_H

#include "reader/core/base/text.h"

#define PROTO_VARINT_NBYTES_MAX 10u

/* The types of fields on the wire. */
enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

/* Returns how many bytes were written. */
static inline size_t tbed_proto_encode(uint8_t to[PROTO_VARINT_NBYTES_MAX], uint64_t value)
{
    size_t nbytes = 0;
    while (value >= 0x80) {
        to[nbytes++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[nbytes++] = (uint8_t)value;
    return nbytes;
}

/* A number without a field, for packed fields. */
static inline void tbed_proto_varint(struct tbed_text *text, uint64_t value)
{
    if (!tbed_text_reserve(text, PROTO_VARINT_NBYTES_MAX))
        return;
    text->nbytes += tbed_proto_encode((uint8_t *)text->bytes + text->nbytes, value);
}

static inline void tbed_proto_tag(struct tbed_text *text, uint32_t field, enum proto_wire wire)
{
    tbed_proto_varint(text, (uint64_t)field << 3 | (uint64_t)wire);
}

/* uint64, uint32, bool and enum. */
static inline void tbed_proto_u64(struct tbed_text *text, uint32_t field, uint64_t value)
{
    tbed_proto_tag(text, field, PROTO_VARINT);
    tbed_proto_varint(text, value);
}

/* int64 and int32: negative numbers take ten bytes. */
static inline void tbed_proto_i64(struct tbed_text *text, uint32_t field, int64_t value)
{
    tbed_proto_u64(text, field, (uint64_t)value);
}

static inline void tbed_proto_fixed64(struct tbed_text *text, uint32_t field, uint64_t value)
{
    tbed_proto_tag(text, field, PROTO_FIXED64);
    if (!tbed_text_reserve(text, 8))
        return;
    for (unsigned i = 0; i < 8; i++)
        text->bytes[text->nbytes++] = (char)(uint8_t)(value >> 8 * i);
}

static inline void tbed_proto_double(struct tbed_text *text, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tbed_proto_fixed64(text, field, bits);
}

/* bytes and string; it is up to the caller that a string is UTF-8. */
static inline void tbed_proto_bytes(struct tbed_text *text, uint32_t field, const void *bytes, size_t nbytes)
{
    tbed_proto_tag(text, field, PROTO_BYTES);
    tbed_proto_varint(text, nbytes);
    tbed_text_put(text, bytes, nbytes);
}

/* ---- Nested messages: size_t at = begin(); its fields; end(at) ---- */

/* Returns where the message begins. One byte is kept for its length, which is enough below 128 bytes. */
static inline size_t tbed_proto_begin(struct tbed_text *text, uint32_t field)
{
    tbed_proto_tag(text, field, PROTO_BYTES);
    tbed_text_put(text, "", 1);
    return text->nbytes;
}

static inline void tbed_proto_end(struct tbed_text *text, size_t at)
{
    if (text->is_out_of_memory)
        return;
    uint8_t length[PROTO_VARINT_NBYTES_MAX];
    size_t nbytes = text->nbytes - at, more = tbed_proto_encode(length, nbytes) - 1;
    if (more > 0) {
        if (!tbed_text_reserve(text, more))
            return;
        memmove(text->bytes + at + more, text->bytes + at, nbytes);
        text->nbytes += more;
    }
    memcpy(text->bytes + at - 1, length, more + 1);
}

#endif
