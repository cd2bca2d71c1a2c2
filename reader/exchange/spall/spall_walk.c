/*
 * Walks the records of a spall file; see spall_walk.h. A record that is damaged takes the rest of its buffer with it, for
 * records have no length of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/spall/spall_walk.h"

#include "reader/exchange/shared/import_trace.h"

#include <string.h>

#define BUFFER_HEADER_NBYTES 20u
#define BEGIN_NBYTES         11u /* without the texts */
#define END_NBYTES           9u
#define BEGIN_NBYTES_V1      20u
#define END_NBYTES_V1        17u

static uint32_t load_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t load_u64(const uint8_t *at)
{
    return load_u32(at) | (uint64_t)load_u32(at + 4) << 32;
}

static double load_f64(const uint8_t *at)
{
    uint64_t bits = load_u64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void damaged(const struct spall_walk *walk, enum tbed_status status, uint64_t detail)
{
    if (walk->report != NULL)
        tbed_import_damaged(walk->report, status, 0, walk->at, detail);
}

void tbed_spall_walk_start(struct spall_walk *walk, const struct mapped_file *file,
                           struct tbed_import_report *report)
{
    *walk = (struct spall_walk){.bytes = file->bytes,
                                .at = SPALL_HEADER_NBYTES,
                                .end = SPALL_HEADER_NBYTES,
                                .file_end = file->nbytes,
                                .version = load_u64(file->bytes + 8),
                                .report = report};
    if (walk->version == 1)
        walk->end = walk->file_end;
}

/* At the end of a buffer: begins the next one. False: there are no more. */
static bool next_buffer(struct spall_walk *walk)
{
    uint64_t left = walk->file_end - walk->at;
    const uint8_t *header = walk->bytes + walk->at;
    if (left == 0) /* as it always is in version 1, which has one buffer */
        return false;
    if (left < BUFFER_HEADER_NBYTES) {
        damaged(walk, TBED_ERR_FOREIGN_CUT, 0);
        walk->at = walk->end = walk->file_end;
        return false;
    }
    uint32_t nbytes = load_u32(header);
    walk->tid = load_u32(header + 4);
    walk->pid = load_u32(header + 8);
    walk->at += BUFFER_HEADER_NBYTES;
    walk->is_cut = nbytes > walk->file_end - walk->at;
    walk->end = walk->is_cut ? walk->file_end : walk->at + nbytes;
    if (walk->is_cut && walk->at == walk->end)
        damaged(walk, TBED_ERR_FOREIGN_CUT, 0);
    return true;
}

/* ---- Records; each returns the length, 0 if it does not fit ---- */

static uint64_t take_texts(struct spall_record *record, const uint8_t *at, uint64_t left, uint32_t fixed)
{
    if (left < fixed)
        return 0;
    record->name_nbytes = at[fixed - 2];
    record->args_nbytes = at[fixed - 1];
    record->name = (const char *)at + fixed;
    record->args = record->name + record->name_nbytes;
    uint64_t nbytes = (uint64_t)fixed + record->name_nbytes + record->args_nbytes;
    return nbytes <= left ? nbytes : 0;
}

static void take_owner(struct spall_record *record, const uint8_t *at)
{
    record->pid = load_u32(at);
    record->tid = load_u32(at + 4);
    record->time = load_f64(at + 8);
}

static uint64_t take_begin(const struct spall_walk *walk, struct spall_record *record, const uint8_t *at,
                           uint64_t left)
{
    uint64_t nbytes = take_texts(record, at, left, walk->version == 1 ? BEGIN_NBYTES_V1 : BEGIN_NBYTES);
    if (nbytes != 0 && walk->version == 1)
        take_owner(record, at + 2);
    else if (nbytes != 0)
        record->ticks = load_u64(at + 1);
    return nbytes;
}

static uint64_t take_end(const struct spall_walk *walk, struct spall_record *record, const uint8_t *at,
                         uint64_t left)
{
    uint32_t nbytes = walk->version == 1 ? END_NBYTES_V1 : END_NBYTES;
    if (left < nbytes)
        return 0;
    if (walk->version == 1)
        take_owner(record, at + 1);
    else
        record->ticks = load_u64(at + 1);
    return nbytes;
}

static uint64_t take_name(struct spall_record *record, const uint8_t *at, uint64_t left)
{
    if (left < 2 || left - 2 < at[1])
        return 0;
    record->name_nbytes = at[1];
    record->name = (const char *)at + 2;
    return 2 + (uint64_t)record->name_nbytes;
}

static uint64_t take_pad(const uint8_t *at, uint64_t left)
{
    return left < 5 || left - 5 < load_u32(at + 1) ? 0 : 5 + (uint64_t)load_u32(at + 1);
}

static bool is_known(const struct spall_walk *walk, uint8_t type)
{
    return type == SPALL_BEGIN || type == SPALL_END || type == SPALL_UNIT || type == SPALL_PAD ||
           (walk->version != 1 && (type == SPALL_NAME_PROCESS || type == SPALL_NAME_THREAD));
}

static uint64_t take(const struct spall_walk *walk, struct spall_record *record)
{
    const uint8_t *at = walk->bytes + walk->at;
    uint64_t left = walk->end - walk->at;
    switch (record->type) {
    case SPALL_BEGIN:
        return take_begin(walk, record, at, left);
    case SPALL_END:
        return take_end(walk, record, at, left);
    case SPALL_UNIT:
        if (left < 9)
            return 0;
        record->time = load_f64(at + 1);
        return 9;
    case SPALL_PAD:
        return take_pad(at, left);
    default:
        return take_name(record, at, left);
    }
}

/* The rest of the buffer cannot be read. */
static void leave_buffer(struct spall_walk *walk, uint8_t type)
{
    bool is_cut = is_known(walk, type) && (walk->is_cut || walk->version == 1);
    damaged(walk, is_cut ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD, type);
    walk->at = walk->end;
}

bool tbed_spall_walk_next(struct spall_walk *walk, struct spall_record *record_ret)
{
    for (;;) {
        if (walk->at == walk->end) {
            if (!next_buffer(walk))
                return false;
            continue;
        }
        struct spall_record record = {.offset = walk->at,
                                      .type = walk->bytes[walk->at],
                                      .pid = walk->pid,
                                      .tid = walk->tid,
                                      .name = ""};
        uint64_t nbytes = is_known(walk, record.type) ? take(walk, &record) : 0;
        if (nbytes == 0) {
            leave_buffer(walk, record.type);
            continue;
        }
        walk->at += nbytes;
        /* A cut between two records. */
        if (walk->at == walk->end && walk->is_cut)
            damaged(walk, TBED_ERR_FOREIGN_CUT, 0);
        if (record.type == SPALL_PAD)
            continue;
        *record_ret = record;
        return true;
    }
}
