/*
 * Declarations shared by the files of the import, which converts one profile to one trace, its strings on one thread
 * and its events on another.
 *
 * Source: spec/measureme.md, "Import".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_IMPORT_H
#define TRACEBED_EXCHANGE_IMPORT_H

#include <pthread.h>
#include <tracebed/exchange.h>
#include <tracebed/writer.h>

#include "reader/core/base/hashmap.h"
#include "reader/exchange/measureme/file/measureme.h"

/* Lower ids keep their numbers as reserved ids of the trace; others get a new one when first used. */
#define IMPORT_FIRST_FRESH 0x10000000u

#define IMPORT_THREAD_MAX 65536u /* streams; events of all further threads share one more */

/* ---- Ids ---- */

struct import_id_slot {
    uint64_t key; /* the profile's id + 1 */
    uint32_t trace_id;
};

struct import_ids {
    struct tbed_writer *writer;
    uint64_t metadata, invalid; /* of the profile */
    pthread_mutex_t lock;       /* of the map below */
    TBED_HASHMAP(struct import_id_slot) fresh;
    bool is_out_of_memory; /* an id was not mapped */
    uint32_t zero_kind,
        invalid_kind; /* the ids that stand for those that cannot be a category; 0: none yet */
};

void tbed_import_ids_start(struct import_ids *ids, struct tbed_writer *writer, const struct mm_info *info);
void tbed_import_ids_end(struct import_ids *ids);
uint32_t tbed_import_id_slow(struct import_ids *ids, uint64_t id);
uint32_t tbed_import_kind_slow(struct import_ids *ids, bool is_zero);

/* The trace's id for an id of the profile. Any thread. Nearly all need no lookup. */
static inline uint32_t import_id(struct import_ids *ids, uint64_t id)
{
    if (id < IMPORT_FIRST_FRESH && id != ids->metadata && id != ids->invalid)
        return (uint32_t)id;
    return tbed_import_id_slow(ids, id);
}

/* The same for a kind, which becomes a category; those cannot be 0 or INVALID. */
static inline uint32_t import_kind(struct import_ids *ids, uint64_t kind)
{
    bool is_none = kind == 0 || kind == ids->invalid;
    return is_none ? tbed_import_kind_slow(ids, kind == 0) : import_id(ids, kind);
}

/* ---- Addresses ---- */

/* A bit for each byte of the string data. */
struct import_marks {
    uint64_t *starts; /* an entry starts here, or has been read from here */
    uint64_t *wanted; /* a reference points here */
    uint64_t *used;   /* an event's id does; separate, because events have a thread of their own */
    uint64_t first, nbytes, word_count; /* addresses: [first, nbytes) */
    uint64_t first_regular_id;          /* above all ids, if these have no addresses of their own */
};

/* False: no memory; it must still be closed. */
bool tbed_import_marks_open(struct import_marks *marks, const struct mm_file *file,
                            const struct mm_info *info);
void tbed_import_marks_close(struct import_marks *marks);
void tbed_import_marks_unite(struct import_marks *marks); /* all that is used is wanted */

static inline void import_mark(const struct import_marks *marks, uint64_t *bits, uint64_t address)
{
    uint64_t bit = UINT64_C(1) << address % 64;
    if (address >= marks->first && address < marks->nbytes)
        bits[address / 64] |= bit; /* unconditionally, so that nothing waits for the load */
}

/* Lower ids wrap to values above all addresses. */
static inline void import_mark_id(const struct import_marks *marks, uint64_t *bits, uint64_t id)
{
    import_mark(marks, bits, id - marks->first_regular_id);
}

/* ---- Metadata ---- */

#define IMPORT_UNIT_NBYTES 16

struct import_metadata {
    bool has_start, has_pid, has_command;
    bool is_count; /* events count something other than time */
    int64_t start_realtime_ns;
    uint32_t resolution_ns; /* resolution of the times; 0: 1 ns. Recorded only by our own exports */
    uint32_t pid;
    char process_name[64];             /* terminated */
    char unit[IMPORT_UNIT_NBYTES + 1]; /* unit of counts; terminated */
};

/* Finds what it can in text that is JSON or close to it. */
void tbed_import_metadata_scan(const char *text, size_t nbytes, struct import_metadata *metadata_ret);

/*
 * The same for the entry of an id, ignoring references. A damaged one is read as far as possible, but its start time
 * is not used. False: no memory.
 */
bool tbed_import_metadata_read(const struct mm_file *file, uint64_t id, struct import_metadata *metadata_ret);

/* ---- Import ---- */

/* Damage found while walking strings; used by one thread. */
struct import_damage {
    uint64_t count;
    struct tbed_import_damage kept[TBED_IMPORT_DAMAGE_KEPT];
};

struct import {
    const struct mm_file *file;
    struct mm_info info;
    struct tbed_writer *writer;
    struct import_ids ids;
    struct import_marks marks;
    struct import_strings *strings;
    struct tbed_import_report *report;
    struct import_damage string_damage;
};

/* These two may run on separate threads; they write different fields of the report. */
enum tbed_status tbed_import_strings(struct import *import);
enum tbed_status tbed_import_events(struct import *import);

/* Afterwards: the meanings of ids that point into the middle of an entry, and the index. */
enum tbed_status tbed_import_strings_finish(struct import *import);
void tbed_import_strings_free(struct import *import);

/*
 * Writes the profile as a trace to 'fd', a new file.
 *
 * Errors: ERR_DISK_FULL, ERR_WRITE, ERR_MEMORY, and those of tbed_writer_open_fd().
 */
enum tbed_status tbed_import_write(const struct mm_file *file, int fd, struct tbed_import_report *report,
                                   struct tbed_error *error_ret);

#endif
