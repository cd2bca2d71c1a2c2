/*
 * Golden files that are wrong in one place: a small trace, and what is changed in it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_GOLDEN_INVALID_H
#define TRACEBED_GOLDEN_INVALID_H

#include "spec/golden/golden.h"

/*
 * The small trace: page 1 has cells (strings, records, the events of stream 4), and pages 2 and 3 have the events of
 * streams 2 and 3. The offsets in the file:
 */
enum golden_place {
    AT_CELLS = 4096,
    AT_STRINGS = 4608, /* cell 1 */
    AT_MAIN = 4672,    /* its entries */
    AT_WORK = 4688,
    AT_SEED = 4704,
    AT_TAIL = 4728,
    AT_RECORDS = 5120, /* cell 2 */
    AT_PROCESS = 5184, /* its records */
    AT_STREAM = 5224,
    AT_BIND = 5344,
    AT_UNIT = 5368,
    AT_LOAD = 5424,
    AT_NAME = 5464,
    AT_COUNTER = 5488,
    AT_ANCHOR = 5512,
    AT_END = 5544,
    AT_RECORDS_END = 5568,
    AT_SHORT = 5632, /* cell 3: stream 4 */
    AT_FREE_CELL = 6144,
    AT_EVENTS = 8192, /* stream 2 */
    AT_SPAN = 8256,   /* its open span and its words */
    AT_BEGIN = 8272,
    AT_INSTANT = 8280,
    AT_TIME = 8288,
    AT_PAIR = 8296,
    AT_EXTENDED = 8312,
    AT_EXT_COUNTER = 8360,
    AT_EXT_END = 8392,
    AT_LAST = 8416,
    AT_EVENTS_END = 8424,
    AT_OTHER = 12288, /* stream 3 */
    AT_FILE_END = 16384,
};

/* Offsets of header and block header fields, after their structs. */
#define IN_HEADER(field)           offsetof(struct tbed_disk_header, field)
#define IN_BLOCK(at, field)        ((at) + offsetof(struct tbed_disk_block, field))
#define IN_RECORD(at, kind, field) ((at) + offsetof(struct tbed_disk_##kind, field))

struct golden_change {
    size_t at;
    uint32_t nbytes; /* 0: no change */
    uint64_t value;
};

struct golden_case {
    const char *name;    /* the check, and what makes it fail */
    const char *damages; /* CHECK@OFFSET,…; if the first one stops the reading, it is the error of opening */
    int8_t strings_lost, bindings_lost, events_lost; /* lost of the trace's 4, 1 and 14; negative: gained */
    struct golden_change changes[3];
    unsigned kept_sums;                     /* the enum mend that are not recomputed */
    void (*edit)(struct golden_file *file); /* instead of changes; checksums are recomputed nevertheless */
    const char *asks;                       /* ID=CHECK: an id that does not resolve, and why */
};

#define GOLDEN_ALL_LOST 4, 1, 14

extern const struct golden_case golden_file_cases[];
extern const struct golden_case golden_block_cases[];
extern const struct golden_case golden_directory_cases[];
extern const struct golden_case golden_event_cases[];
extern const struct golden_case golden_string_cases[];
extern const struct golden_case golden_record_cases[];

#endif
