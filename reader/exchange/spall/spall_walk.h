/*
 * The records of a spall file, one after the other.
 *
 * A file begins with a header: u64 magic, u64 version, f64 microseconds of a tick, u64 zero. In version 1 records follow,
 * each with its process and thread; in version 3 buffers, each of one thread: u32 size, u32 tid, u32 pid, u64 first time,
 * and records. All numbers are little-endian and unaligned.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_SPALL_WALK_H
#define TRACEBED_EXCHANGE_SPALL_WALK_H

#include "reader/exchange/shared/mapped_file.h"

#include <tracebed/exchange.h>

#define SPALL_MAGIC         UINT64_C(0x0BADF00D)
#define SPALL_HEADER_NBYTES 32u

enum spall_type {
    SPALL_CUSTOM = 1,
    SPALL_OVER = 2,
    SPALL_BEGIN = 3,
    SPALL_END = 4,
    SPALL_INSTANT = 5,
    SPALL_UNIT = 6,
    SPALL_PAD = 7,
    SPALL_NAME_PROCESS = 8,
    SPALL_NAME_THREAD = 9,
};

struct spall_record {
    uint64_t offset;
    uint8_t type;
    uint32_t pid, tid;
    uint64_t ticks; /* version 3 */
    double time;    /* version 1; a SPALL_UNIT: the unit */
    const char *name, *args;
    uint8_t name_nbytes, args_nbytes;
};

struct spall_walk {
    const uint8_t *bytes;
    uint64_t at, end, file_end; /* 'end': of the buffer */
    uint64_t version;
    uint32_t pid, tid;
    bool is_cut;                       /* the buffer is longer than the file */
    struct tbed_import_report *report; /* gets the damage; NULL: not reported */
};

/* 'file' has a whole header. */
void tbed_spall_walk_start(struct spall_walk *walk, const struct mapped_file *file,
                           struct tbed_import_report *report);

/* The next BEGIN, END, UNIT or name. False: there are no more. */
bool tbed_spall_walk_next(struct spall_walk *walk, struct spall_record *record_ret);

#endif
