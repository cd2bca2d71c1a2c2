/*
 * Converts a file of spall to a trace. A first walk finds what has to be known before the first event: the earliest time,
 * names, and the unit, which a later record may replace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/bytes.h"
#include "reader/exchange/shared/exchange_format.h"
#include "reader/exchange/shared/import_trace.h"
#include "reader/exchange/spall/spall_walk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNIT_OFFSET   16
#define TICKS_MAX     9e18
#define NAME_NBYTES   256
#define METADATA_ROOM 160

/* The name of a process or thread. */
struct spall_name {
    uint64_t key; /* of the thread, or of the process with a tid of none */
    const char *text;
    uint8_t nbytes;
};

struct spall {
    struct import_trace trace;
    const struct mapped_file *file;
    TBED_HASHMAP(struct spall_name) process_names, thread_names;
    uint64_t version;
    double unit;       /* microseconds */
    uint64_t first;    /* version 3: the earliest ticks */
    double first_time; /* version 1 */
    bool has_first, is_out_of_memory;
    uint32_t first_pid, args_id;
};

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
    uint64_t key = ((uint64_t)pid << 32 | tid) + 1;
    return key != 0 ? key : 1;
}

/* ---- The first walk ---- */

static bool is_unit(double unit)
{
    return isfinite(unit) && unit > 0 && unit < 1e12;
}

static void keep_name(struct spall *spall, const struct spall_record *record)
{
    bool is_process = record->type == SPALL_NAME_PROCESS;
    struct spall_name *name =
        is_process ? TBED_HASHMAP_ADD(&spall->process_names, tbed_hashmap_key32(record->pid))
                   : TBED_HASHMAP_ADD(&spall->thread_names, thread_key(record->pid, record->tid));
    if (name == NULL) {
        spall->is_out_of_memory = true;
        return;
    }
    name->text = record->name;
    name->nbytes = record->name_nbytes;
}

static void look_at(struct spall *spall, const struct spall_record *record)
{
    if (record->type == SPALL_NAME_PROCESS || record->type == SPALL_NAME_THREAD) {
        keep_name(spall, record);
        return;
    }
    if (record->type == SPALL_UNIT) {
        if (is_unit(record->time))
            spall->unit = record->time;
        return;
    }
    if (!spall->has_first)
        spall->first_pid = record->pid;
    if (!spall->has_first || record->ticks < spall->first)
        spall->first = record->ticks;
    if (isfinite(record->time) && (!spall->has_first || record->time < spall->first_time))
        spall->first_time = record->time;
    spall->has_first = true;
}

static void find_facts(struct spall *spall)
{
    struct spall_walk walk;
    struct spall_record record;
    tbed_spall_walk_start(&walk, spall->file, NULL);
    spall->version = walk.version;
    uint64_t unit_bits = tbed_le64_at(spall->file->bytes + UNIT_OFFSET);
    memcpy(&spall->unit, &unit_bits, sizeof spall->unit);
    if (!is_unit(spall->unit)) {
        tbed_import_damaged(spall->trace.report, TBED_ERR_FOREIGN_RECORD, 0, UNIT_OFFSET, 0);
        spall->unit = 1;
    }
    while (tbed_spall_walk_next(&walk, &record))
        look_at(spall, &record);
}

/* ---- Events ---- */

static uint64_t tick_of(struct spall *spall, const struct spall_record *record)
{
    long double ticks = spall->version == 1 ? (long double)record->time - (long double)spall->first_time
                                            : (long double)(record->ticks - spall->first);
    long double ns = ticks * (long double)spall->unit * 1000;
    if (ns >= 0 && ns < TICKS_MAX)
        return IMPORT_FIRST_TICK + (uint64_t)(ns + 0.5L);
    tbed_import_damaged(spall->trace.report, TBED_ERR_FOREIGN_TIME, 0, record->offset, record->ticks);
    return IMPORT_FIRST_TICK + (ns > 0 ? (uint64_t)TICKS_MAX : 0); /* a NaN is at the start */
}

static const char *name_text(const struct spall_name *name, char buffer[NAME_NBYTES])
{
    if (name == NULL)
        return NULL;
    memcpy(buffer, name->text, name->nbytes);
    buffer[name->nbytes] = '\0';
    return buffer;
}

static struct import_thread *thread_of(struct spall *spall, const struct spall_record *record)
{
    uint64_t key = thread_key(record->pid, record->tid);
    char process[NAME_NBYTES], thread[NAME_NBYTES];
    if (TBED_HASHMAP_FIND(&spall->trace.threads, key) == NULL) {
        const char *name =
            name_text(TBED_HASHMAP_FIND(&spall->process_names, tbed_hashmap_key32(record->pid)), process);
        tbed_import_process(&spall->trace, record->pid, name != NULL ? name : "", 0);
    }
    return tbed_import_thread(&spall->trace, record->pid, record->tid,
                              name_text(TBED_HASHMAP_FIND(&spall->thread_names, key), thread));
}

static void give(struct spall *spall, const struct spall_record *record)
{
    if (record->type != SPALL_BEGIN && record->type != SPALL_END)
        return;
    struct import_thread *thread = thread_of(spall, record);
    struct tbed_argument args = tbed_import_text(spall->args_id, record->args, record->args_nbytes);
    struct tbed_given_event event = {
        .type = record->type == SPALL_BEGIN ? TBED_GIVEN_BEGIN : TBED_GIVEN_END,
        .category = TBED_ID_INVALID,
        .tick = tick_of(spall, record),
        .arguments = &args,
        .argument_count = record->args_nbytes > 0,
    };
    if (record->type == SPALL_BEGIN)
        event.id = tbed_import_string(&spall->trace, record->name, record->name_nbytes);
    tbed_import_event(&spall->trace, thread, &event);
}

static void put_metadata(struct spall *spall)
{
    char text[METADATA_ROOM];
    int nbytes = spall->version == 1
                     ? snprintf(text, sizeof text, "{\"spall\": {\"unit_us\": %.17g, \"first\": %.17g}}",
                                spall->unit, spall->first_time)
                     : snprintf(text, sizeof text, "{\"spall\": {\"unit_us\": %.17g, \"first\": %llu}}",
                                spall->unit, (unsigned long long)spall->first);
    tbed_metadata_set(spall->trace.writer, text, (size_t)nbytes);
}

static void give_all(struct spall *spall)
{
    struct spall_walk walk;
    struct spall_record record;
    spall->args_id = tbed_string_intern(spall->trace.writer, "args", 4);
    tbed_spall_walk_start(&walk, spall->file, spall->trace.report);
    while (!spall->trace.is_out_of_memory && tbed_spall_walk_next(&walk, &record))
        give(spall, &record);
    put_metadata(spall);
}

static enum tbed_status import_spall(const void *source, int fd, struct tbed_import_report *report,
                                     struct tbed_error *error_ret)
{
    struct spall spall = {.file = source, .trace.report = report};
    char name[NAME_NBYTES];
    find_facts(&spall);
    report->kind = TBED_FOREIGN_SPALL;
    report->version = (uint32_t)spall.version;
    report->file_nbytes = spall.file->nbytes;
    const char *process =
        name_text(TBED_HASHMAP_FIND(&spall.process_names, tbed_hashmap_key32(spall.first_pid)), name);
    struct import_start start = {.pid = spall.first_pid, .name = process != NULL ? process : ""};
    enum tbed_status status = tbed_import_trace_open(&spall.trace, fd, &start, report, error_ret);
    spall.trace.is_out_of_memory |= spall.is_out_of_memory;
    if (status == TBED_OK)
        give_all(&spall);
    status = tbed_import_trace_close(&spall.trace, status, error_ret);
    tbed_hashmap_free(&spall.process_names.map);
    tbed_hashmap_free(&spall.thread_names.map);
    return status;
}

/* ---- The format ---- */

static bool has_start(const char *start, size_t nbytes)
{
    static const unsigned char magic[8] = {0x0D, 0xF0, 0xAD, 0x0B};
    return nbytes >= SPALL_HEADER_NBYTES && memcmp(start, magic, sizeof magic) == 0 &&
           (start[8] == 1 || start[8] == 3) && memcmp(start + 9, "\0\0\0\0\0\0", 7) == 0;
}

const struct exchange_format tbed_exchange_spall = {
    .about = {.kind = TBED_FOREIGN_SPALL,
              .name = "spall",
              .summary = "binary trace of spall",
              .extensions = ".spall",
              .can_import = true},
    .has_start = has_start,
    .open = tbed_mapped_source_open,
    .close = tbed_mapped_source_close,
    .import = import_spall,
};
