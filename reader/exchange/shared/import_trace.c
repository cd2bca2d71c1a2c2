/*
 * A trace that is made from a file of another tool; see import_trace.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/shared/import_trace.h"

#include "reader/exchange/shared/import_drops.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <string.h>

/* ---- Kinds of what is left out ---- */

static const struct {
    const char *key, *what, *explanation;
} notes[] = {
#define NOTE(name, key, what, explanation) {key, what, explanation},
    TBED_IMPORT_NOTE_LIST(NOTE)
#undef NOTE
};
_Static_assert(TBED_IMPORT_NOTE_COUNT <= TBED_IMPORT_NOTE_ROOM, "each kind has a count");

const char *tbed_import_note_key(enum tbed_import_note note)
{
    return notes[note].key;
}

const char *tbed_import_note_what(enum tbed_import_note note)
{
    return notes[note].what;
}

const char *tbed_import_note_explanation(enum tbed_import_note note)
{
    return notes[note].explanation;
}

/* ---- The report ---- */

void tbed_import_damaged(struct tbed_import_report *report, enum tbed_status status, uint32_t file,
                         uint64_t offset, uint64_t detail)
{
    if (report->damage_count < TBED_IMPORT_DAMAGE_KEPT)
        report->damages[report->damage_count] = (struct tbed_import_damage){status, file, offset, detail};
    report->damage_count++;
}

uint32_t tbed_import_file(struct tbed_import_report *report, const char *name)
{
    uint32_t at = 0;
    for (; at < TBED_IMPORT_FILES_KEPT - 1 && report->files[at][0] != '\0'; at++)
        if (strncmp(report->files[at], name, TBED_IMPORT_FILE_NBYTES - 1) == 0)
            return at;
    const char *kept = at < TBED_IMPORT_FILES_KEPT - 1 ? name : "another file";
    size_t nbytes = strnlen(kept, TBED_IMPORT_FILE_NBYTES - 1);
    memcpy(report->files[at], kept, nbytes);
    report->files[at][nbytes] = '\0';
    return at;
}

/* ---- The trace ---- */

enum tbed_status tbed_import_trace_open(struct import_trace *trace, int fd, const struct import_start *start,
                                        struct tbed_import_report *report, struct tbed_error *error_ret)
{
    *trace = (struct import_trace){.report = report};
    struct tbed_writer_options options = {
        .size = sizeof options,
        .process_name = start->name,
        .process_pid = start->pid != 0 ? start->pid : TBED_PID_UNKNOWN,
        .given_ticks = true,
        .given_ticks_per_second = start->unit == NULL ? 1000000000 : 0,
        .user_clock_unit = start->unit,
        .given_realtime_ns = start->realtime_ns,
    };
    enum tbed_status status = tbed_writer_open_fd(fd, &options, &trace->writer, error_ret);
    if (status != TBED_OK)
        return status;
    struct import_process *first = TBED_HASHMAP_ADD(&trace->processes, tbed_hashmap_key32(start->pid));
    if (first != NULL)
        return TBED_OK;
    errno = ENOMEM;
    return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
}

enum tbed_status tbed_import_trace_close(struct import_trace *trace, enum tbed_status status,
                                         struct tbed_error *error_ret)
{
    if (status == TBED_OK && trace->is_out_of_memory) {
        errno = ENOMEM;
        status = tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    }
    if (status == TBED_OK)
        status = tbed_import_count_drops(trace->writer, trace->report, error_ret);
    tbed_writer_free(trace->writer);
    tbed_hashmap_free(&trace->processes.map);
    tbed_hashmap_free(&trace->threads.map);
    return status;
}

static uint32_t process_find(struct import_trace *trace, uint32_t pid)
{
    struct import_process *process = TBED_HASHMAP_FIND(&trace->processes, tbed_hashmap_key32(pid));
    return process != NULL ? process->number : 0;
}

void tbed_import_process(struct import_trace *trace, uint32_t pid, const char *name, uint32_t parent)
{
    struct import_process *process = TBED_HASHMAP_FIND(&trace->processes, tbed_hashmap_key32(pid));
    uint32_t parent_number = parent != 0 ? process_find(trace, parent) : 0;
    if (process != NULL || trace->processes.map.count >= IMPORT_THREADS_MAX)
        return;
    process = TBED_HASHMAP_ADD(&trace->processes, tbed_hashmap_key32(pid));
    if (process == NULL) {
        trace->is_out_of_memory = true;
        return;
    }
    process->number = tbed_process_record_given(trace->writer, name, pid, parent, parent_number);
}

struct import_thread *tbed_import_thread(struct import_trace *trace, uint32_t pid, uint32_t tid,
                                         const char *name)
{
    uint64_t key = ((uint64_t)pid << 32 | tid) + 1;
    key += key == 0; /* the highest pair shares a thread with the lowest */
    struct import_thread *thread = TBED_HASHMAP_FIND(&trace->threads, key);
    if (thread != NULL || trace->threads.map.count >= IMPORT_THREADS_MAX)
        return thread;
    tbed_import_process(trace, pid, "", 0);
    thread = TBED_HASHMAP_ADD(&trace->threads, key);
    if (thread == NULL) {
        trace->is_out_of_memory = true;
        return NULL;
    }
    thread->pid = pid;
    thread->tid = tid;
    thread->recorder = tbed_recorder_open_process(trace->writer, process_find(trace, pid), name, tid);
    trace->report->thread_count++;
    return thread;
}

uint32_t tbed_import_string(struct import_trace *trace, const char *text, size_t nbytes)
{
    if (nbytes == 0)
        return TBED_ID_INVALID;
    uint32_t id = tbed_string_intern(trace->writer, text, nbytes);
    if (id != TBED_ID_INVALID && id > trace->last_string) {
        trace->last_string = id;
        trace->report->string_count++;
    }
    return id;
}

static void count_event(struct tbed_import_report *report, enum tbed_given_type type)
{
    report->event_count += type != TBED_GIVEN_END && type != TBED_GIVEN_LEAVE;
    report->interval_count += type == TBED_GIVEN_BEGIN || type == TBED_GIVEN_SPAN;
    report->instant_count += type == TBED_GIVEN_INSTANT;
    report->integer_count += type == TBED_GIVEN_COUNTER;
    report->message_count += type == TBED_GIVEN_MESSAGE;
}

void tbed_import_event(struct import_trace *trace, struct import_thread *thread,
                       const struct tbed_given_event *event)
{
    if (thread == NULL) {
        trace->report->notes[TBED_IMPORT_NOTE_THREADS]++;
        return;
    }
    bool ends = event->type == TBED_GIVEN_END || event->type == TBED_GIVEN_LEAVE;
    if (ends && thread->depth == 0) {
        trace->report->unpaired_count++;
        return;
    }
    thread->depth += event->type == TBED_GIVEN_BEGIN;
    thread->depth -= ends;
    trace->report->unordered_count += event->tick < thread->last_tick;
    thread->last_tick = event->tick;
    count_event(trace->report, event->type);
    tbed_event_record_given(thread->recorder, event);
}
