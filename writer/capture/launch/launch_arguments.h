/*
 * Descriptions of a function's arguments and result: what each value is, and where it is when the function is entered or
 * left. 'tracebed record' makes them from debug information (reader/symbols), the recorder of functions follows them.
 *
 * A description is one piece of memory, aligned to 8: the header, the values of the arguments, those of the result, then
 * enumerators and texts, to which values refer by their offset from the description's start.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LAUNCH_ARGUMENTS_H
#define TRACEBED_LAUNCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum launch_value_kind {
    LAUNCH_SIGNED = 1,
    LAUNCH_UNSIGNED,
    LAUNCH_BOOLEAN,
    LAUNCH_CHARACTER,
    LAUNCH_ENUMERATION,
    LAUNCH_FLOATING, /* 4 or 8 bytes; 16: long double, of x87 or of arm64 */
    LAUNCH_POINTER,
    LAUNCH_CODE,   /* a pointer to a function */
    LAUNCH_TEXT,   /* a pointer to characters that end with a zero */
    LAUNCH_STRING, /* a pointer to characters, and their count */
    LAUNCH_BYTES,
    LAUNCH_VALUE_KIND_COUNT,
};

/* What offsets are relative to. */
enum launch_value_base {
    LAUNCH_INTEGERS, /* the registers for integers, 8 bytes each, in the order of the convention */
    LAUNCH_VECTORS,  /* those for vectors, 16 bytes each */
    LAUNCH_STACK,    /* the first argument on the stack */
    LAUNCH_X87,      /* the top of the x87 registers, 10 bytes */
    LAUNCH_VALUE_BASE_COUNT,
};

#define LAUNCH_VALUES_MAX         16 /* of the arguments, and of the result */
#define LAUNCH_VALUE_NBYTES_MAX   64
#define LAUNCH_STACK_NBYTES_MAX   65536
#define LAUNCH_DESCRIPTION_NBYTES 65536 /* at most */
#define LAUNCH_ENUMERATORS_MAX    1024

struct launch_value {
    uint8_t kind, base;
    uint8_t is_indirect; /* at 'offset' is a pointer, and the value is 'inner' bytes behind where it points */
    uint8_t reserved;
    uint32_t nbytes;
    uint32_t offset, inner;
    uint32_t length_offset; /* STRING: of the count; behind the pointer too, if 'is_indirect' */
    uint32_t name;          /* offset of a terminated text: "point.x" for a field of a struct */
    uint32_t enumerators, enumerator_count; /* ENUMERATION; offset and number of struct launch_enumerator */
    uint32_t name_id;                       /* the recorder's, in its copy; 0: not known yet */
    uint32_t unused;
};

struct launch_enumerator {
    int64_t value;
    uint32_t name; /* offset of a terminated text */
    uint32_t name_id;
};

struct launch_arguments {
    uint32_t nbytes; /* with everything that follows */
    uint16_t argument_count, result_count;
    uint32_t is_cut; /* there are arguments after these */
    uint32_t reserved;
    struct launch_value values[];
};

/* Whether 'nbytes' bytes begin with a description that can be followed. */
bool launch_arguments_check(const struct launch_arguments *arguments, size_t nbytes);

#endif
