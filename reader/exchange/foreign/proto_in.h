/*
 * The protobuf reader: the fields of a message, one after the other. It takes no memory, and knows nothing of schemas.
 *
 *     struct proto_in in = {bytes, end};
 *     while (tbed_proto_next(&in, &field)) ...
 *     if (in.is_bad) ...
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PROTO_IN_H
#define TRACEBED_EXCHANGE_PROTO_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

struct proto_in {
    const char *at, *end;
    bool is_bad; /* what is at 'at' is no field */
};

struct proto_field {
    uint32_t number;
    enum proto_wire wire;
    uint64_t value;    /* of a number; of FIXED64 and FIXED32, its bits */
    const char *bytes; /* of BYTES */
    size_t nbytes;
};

/* Returns how many bytes the number takes; 0: it is cut, or too long. */
static inline size_t tbed_proto_varint(const char *at, const char *end, uint64_t *value_ret)
{
    uint64_t value = 0;
    for (unsigned i = 0; at + i < end; i++) { /* 10 bytes at most: the last one ends it, or is too large */
        uint8_t byte = (uint8_t)at[i];
        if (i == 9 && byte > 1)
            return 0;
        value |= (uint64_t)(byte & 0x7F) << 7 * i;
        if (byte < 0x80) {
            *value_ret = value;
            return i + 1;
        }
    }
    return 0;
}

static inline bool tbed_proto_fixed(struct proto_in *in, size_t nbytes, uint64_t *value_ret)
{
    *value_ret = 0;
    if ((size_t)(in->end - in->at) < nbytes)
        return false;
    for (size_t i = 0; i < nbytes; i++)
        *value_ret |= (uint64_t)(uint8_t)in->at[i] << 8 * i;
    in->at += nbytes;
    return true;
}

static inline bool tbed_proto_value(struct proto_in *in, struct proto_field *field)
{
    size_t taken;
    switch (field->wire) {
    case PROTO_FIXED64:
        return tbed_proto_fixed(in, 8, &field->value);
    case PROTO_FIXED32:
        return tbed_proto_fixed(in, 4, &field->value);
    case PROTO_VARINT:
        taken = tbed_proto_varint(in->at, in->end, &field->value);
        in->at += taken;
        return taken != 0;
    case PROTO_BYTES:
        taken = tbed_proto_varint(in->at, in->end, &field->value);
        if (taken == 0 || field->value > (uint64_t)(in->end - in->at) - taken)
            return false;
        field->bytes = in->at + taken;
        field->nbytes = (size_t)field->value;
        in->at += taken + field->nbytes;
        return true;
    default:
        return false;
    }
}

/* False: there are no more, or 'is_bad', as the same bytes then are again. */
static inline bool tbed_proto_next(struct proto_in *in, struct proto_field *field)
{
    const char *start = in->at;
    uint64_t tag = 0;
    if (in->at == in->end)
        return false;
    size_t taken = tbed_proto_varint(in->at, in->end, &tag);
    *field =
        (struct proto_field){.number = (uint32_t)(tag >> 3), .wire = (enum proto_wire)(tag & 7), .bytes = ""};
    in->at += taken;
    in->is_bad = taken == 0 || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF || !tbed_proto_value(in, field);
    if (in->is_bad)
        in->at = start;
    return !in->is_bad;
}

static inline struct proto_in tbed_proto_inside(const struct proto_field *field)
{
    return (struct proto_in){.at = field->bytes, .end = field->bytes + field->nbytes};
}

static inline double tbed_proto_f64(const struct proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}

#endif
