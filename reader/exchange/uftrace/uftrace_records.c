/*
 * The records of a thread: 16 bytes each, and behind some of them arguments.
 *
 * A record has its depth, so the stack recovers where records were lost: spans that must have ended are left as spans that
 * never ended, and an end whose begin is unknown is left out. Where arguments cannot be read, the next record is found by
 * what it must be like.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/uftrace/uftrace.h"

#include <stdio.h>
#include <string.h>

#define RECORD_NBYTES 16u
#define RECORD_MAGIC  5u
#define PAYLOAD_MAX   4096u /* uftrace has room for 1 KiB of arguments */
#define STEP_NS_MAX                                                                                          \
    (UINT64_C(86400) * 1000000000) /* between a record and the next one behind lost arguments */
#define CACHE_COUNT 1024u
#define EVENT_USER  1000000u
#define DEPTHS_MAX  1024u

enum { TYPE_ENTRY, TYPE_EXIT, TYPE_LOST, TYPE_EVENT };

struct record {
    uint64_t offset, time, address;
    uint32_t depth;
    uint8_t type;
    bool has_more, is_valid;
};

struct cached {
    uint64_t address; /* 0: none */
    struct uftrace_symbol *symbol;
    uint32_t id;
};

struct reading {
    struct uftrace *folder;
    struct import_trace *trace;
    const struct uftrace_task *task;
    const struct mapped_file *file;
    const char *name;
    uint64_t at, first_time, change_time;
    struct import_thread *thread;
    uint16_t depths[DEPTHS_MAX]; /* of the open spans */
    size_t depth_count;
    struct cached cache[CACHE_COUNT];
};

/* 'at' is inside the file, or its end. */
static struct record load_record(const struct mapped_file *file, uint64_t at)
{
    struct record record = {.offset = at};
    if (file->nbytes - at < RECORD_NBYTES)
        return record;
    uint64_t word = uftrace_load_u64(file->bytes + at + 8);
    record.time = uftrace_load_u64(file->bytes + at);
    record.type = word & 3;
    record.has_more = word >> 2 & 1;
    record.is_valid = (word >> 3 & 7) == RECORD_MAGIC;
    record.depth = word >> 6 & 0x3ff;
    record.address = word >> 16;
    return record;
}

uint64_t tbed_uftrace_first_time(const struct mapped_file *file)
{
    struct record record = load_record(file, 0);
    return record.is_valid ? record.time : UINT64_MAX;
}

static void damaged(struct reading *reading, enum tbed_status status, uint64_t offset, uint64_t detail)
{
    tbed_import_damaged(reading->folder->report, status,
                        tbed_import_file(reading->folder->report, reading->name), offset, detail);
}

static uint64_t tick_of(struct reading *reading, const struct record *record)
{
    uint64_t ns = record->time - reading->first_time;
    if (record->time >= reading->first_time && ns < UINT64_MAX / 4)
        return IMPORT_FIRST_TICK + ns;
    damaged(reading, TBED_ERR_FOREIGN_TIME, record->offset, record->time);
    return reading->thread->last_tick != 0 ? reading->thread->last_tick : IMPORT_FIRST_TICK;
}

/* ---- Functions ---- */

static void note_change(struct reading *reading, uint64_t change, uint64_t time)
{
    if (change > time && change < reading->change_time)
        reading->change_time = change;
}

/* Another program or a new library may be at the same addresses. */
static void forget_if_changed(struct reading *reading, uint64_t time)
{
    if (time < reading->change_time)
        return;
    memset(reading->cache, 0, sizeof reading->cache);
    reading->change_time = UINT64_MAX;
    for (size_t i = 0; i < reading->folder->sessions.count; i++) {
        const struct uftrace_session *session = &reading->folder->sessions.items[i];
        note_change(reading, session->time, time);
        for (size_t k = 0; k < session->mappings.count; k++)
            note_change(reading, session->mappings.items[k].time, time);
    }
}

static uint32_t string_of(struct reading *reading, struct uftrace_symbol *symbol, uint64_t address)
{
    char text[32];
    if (symbol == NULL) {
        int nbytes = snprintf(text, sizeof text, "<%llx>", (unsigned long long)address);
        return tbed_import_string(reading->trace, text, (size_t)nbytes);
    }
    if (symbol->id == 0)
        symbol->id = tbed_import_string(reading->trace, symbol->name.at, symbol->name.nbytes);
    return symbol->id;
}

static const struct cached *function_of(struct reading *reading, const struct record *record)
{
    struct cached *cached = &reading->cache[(record->address ^ record->address >> 10) % CACHE_COUNT];
    forget_if_changed(reading, record->time);
    if (cached->address != record->address || cached->address == 0) {
        cached->symbol = tbed_uftrace_symbol(reading->folder, reading->task, record->time, record->address);
        cached->address = record->address;
        cached->id = string_of(reading, cached->symbol, record->address);
    }
    return cached;
}

/* ---- What follows a record ---- */

static bool is_next(const struct reading *reading, const struct record *before, uint64_t at)
{
    struct record record = load_record(reading->file, at);
    if (at == reading->file->nbytes)
        return true;
    if (!record.is_valid || record.time < before->time || record.time - before->time > STEP_NS_MAX)
        return false;
    uint32_t inside = before->depth + (before->type == TYPE_ENTRY);
    return before->type == TYPE_EVENT || record.type == TYPE_LOST || record.type == TYPE_EVENT ||
           record.depth + (record.type == TYPE_EXIT) == inside;
}

/* Finds the next record behind arguments that cannot be read. */
static void skip_payload(struct reading *reading, const struct record *record)
{
    uint64_t start = reading->at;
    reading->folder->report->notes[TBED_IMPORT_NOTE_ARGUMENTS]++;
    for (uint64_t at = start + 8; at <= start + PAYLOAD_MAX && at <= reading->file->nbytes; at += 8)
        if (is_next(reading, record, at)) {
            reading->at = at;
            return;
        }
    damaged(reading, TBED_ERR_FOREIGN_RECORD, start, 0);
    reading->at = reading->file->nbytes;
}

static void take_arguments(struct reading *reading, const struct record *record,
                           const struct uftrace_symbol *symbol, struct uftrace_arguments *arguments)
{
    size_t left = (size_t)(reading->file->nbytes - reading->at);
    for (unsigned which = 0; symbol != NULL && which < UFTRACE_SPEC_COUNT; which++) {
        size_t nbytes =
            tbed_uftrace_arguments(reading->folder, reading->trace, symbol, record->type == TYPE_EXIT, which,
                                   reading->file->bytes + reading->at, left, arguments);
        if (nbytes == 0 || !is_next(reading, record, reading->at + nbytes))
            continue;
        reading->at += nbytes;
        return;
    }
    arguments->count = 0;
    skip_payload(reading, record);
}

/* ---- Records ---- */

static void give(struct reading *reading, const struct record *record, enum tbed_given_type type, uint32_t id,
                 const struct uftrace_arguments *arguments)
{
    struct tbed_given_event event = {.type = type,
                                     .id = id,
                                     .category = TBED_ID_INVALID,
                                     .tick = tick_of(reading, record),
                                     .arguments = arguments->items,
                                     .argument_count = arguments->count};
    tbed_import_event(reading->trace, reading->thread, &event);
}

/* The spans from this depth on have ended, but it is not known when. */
static void leave_deeper(struct reading *reading, const struct record *record, uint32_t depth)
{
    static const struct uftrace_arguments none = {.count = 0};
    while (reading->depth_count > 0 && reading->depths[reading->depth_count - 1] >= depth) {
        give(reading, record, TBED_GIVEN_LEAVE, 0, &none);
        reading->depth_count--;
    }
}

static void enter(struct reading *reading, const struct record *record)
{
    const struct cached *function = function_of(reading, record);
    uint32_t id = function->id;
    struct uftrace_arguments arguments = {.count = 0};
    if (record->has_more)
        take_arguments(reading, record, function->symbol, &arguments);
    leave_deeper(reading, record, record->depth);
    reading->depths[reading->depth_count++] = (uint16_t)record->depth;
    give(reading, record, TBED_GIVEN_BEGIN, id, &arguments);
}

static void leave(struct reading *reading, const struct record *record)
{
    struct uftrace_arguments arguments = {.count = 0};
    if (record->has_more)
        take_arguments(reading, record, function_of(reading, record)->symbol, &arguments);
    leave_deeper(reading, record, record->depth + 1);
    if (reading->depth_count == 0 || reading->depths[reading->depth_count - 1] != record->depth) {
        reading->folder->report->unpaired_count++;
        return;
    }
    reading->depth_count--;
    give(reading, record, TBED_GIVEN_END, 0, &arguments);
}

static const struct {
    uint32_t number;
    const char *name, *values[3];
} events[] = {
    {100001, "read:proc/statm", {"vmsize", "vmrss", "shared"}},
    {100002, "read:page-fault", {"major", "minor", NULL}},
    {100003, "diff:proc/statm", {"vmsize", "vmrss", "shared"}},
    {100004, "diff:page-fault", {"major", "minor", NULL}},
    {100005, "read:pmu-cycle", {"cycles", "instructions", NULL}},
    {100006, "diff:pmu-cycle", {"cycles", "instructions", NULL}},
    {100007, "read:pmu-cache", {"refers", "misses", NULL}},
    {100008, "diff:pmu-cache", {"refers", "misses", NULL}},
    {100009, "read:pmu-branch", {"branch", "misses", NULL}},
    {100010, "diff:pmu-branch", {"branch", "misses", NULL}},
    {100011, "watch:cpu", {"cpu", NULL, NULL}},
};

/* The values of an event: a u16 length, and numbers of 8 bytes (of a CPU, 4). */
static void take_values(struct reading *reading, const struct record *record, size_t which,
                        struct uftrace_arguments *arguments)
{
    const uint8_t *at = reading->file->bytes + reading->at;
    size_t left = (size_t)(reading->file->nbytes - reading->at);
    size_t nbytes = left >= 2 ? at[0] | (size_t)at[1] << 8 : 0;
    size_t padded = (2 + nbytes + 7) / 8 * 8;
    if (padded > left || !is_next(reading, record, reading->at + padded)) {
        skip_payload(reading, record);
        return;
    }
    reading->at += padded;
    for (size_t i = 0; i < 3 && which < sizeof events / sizeof events[0]; i++) {
        size_t width = nbytes == 4 ? 4 : 8;
        const char *name = events[which].values[i];
        if (name == NULL || (i + 1) * width > nbytes)
            break;
        arguments->items[arguments->count++] =
            (struct tbed_argument){.type = TBED_ARG_I64,
                                   .name_id = tbed_string_intern(reading->trace->writer, name, strlen(name)),
                                   .nbytes = 8,
                                   .value.i64 = width == 4 ? (int64_t)uftrace_load_u32(at + 2)
                                                           : (int64_t)uftrace_load_u64(at + 2 + 8 * i)};
    }
}

static void give_event(struct reading *reading, const struct record *record)
{
    struct uftrace_arguments arguments = {.count = 0};
    size_t which = 0, count = sizeof events / sizeof events[0];
    char text[32];
    while (which < count && events[which].number != record->address)
        which++;
    snprintf(text, sizeof text, "%s:%llu", record->address >= EVENT_USER ? "user" : "event",
             (unsigned long long)record->address);
    const char *name = which < count ? events[which].name : text;
    if (record->has_more)
        take_values(reading, record, which, &arguments);
    give(reading, record, TBED_GIVEN_INSTANT, tbed_import_string(reading->trace, name, strlen(name)),
         &arguments);
}

static void take_record(struct reading *reading, const struct record *record)
{
    reading->at += RECORD_NBYTES;
    switch (record->type) {
    case TYPE_ENTRY:
        enter(reading, record);
        break;
    case TYPE_EXIT:
        leave(reading, record);
        break;
    case TYPE_EVENT:
        give_event(reading, record);
        break;
    default: /* as many records as its address says */
        reading->folder->report->notes[TBED_IMPORT_NOTE_LOST] += record->address;
        break;
    }
}

void tbed_uftrace_import_task(struct uftrace *folder, struct import_trace *trace,
                              const struct uftrace_task *task, const struct mapped_file *file,
                              const char *name, uint64_t first_time)
{
    struct reading reading = {.folder = folder,
                              .trace = trace,
                              .task = task,
                              .file = file,
                              .name = name,
                              .first_time = first_time,
                              .thread = tbed_import_thread(trace, task->pid, task->tid, NULL)};
    while (!trace->is_out_of_memory && file->nbytes - reading.at >= RECORD_NBYTES) {
        struct record record = load_record(file, reading.at);
        if (!record.is_valid) {
            damaged(&reading, TBED_ERR_FOREIGN_RECORD, reading.at, 0);
            return;
        }
        take_record(&reading, &record);
    }
    if (!trace->is_out_of_memory && reading.at != file->nbytes)
        damaged(&reading, TBED_ERR_FOREIGN_CUT, reading.at, 0);
}
