/*
 * Opening, naming and closing recorders.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/base/sandbox_state.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"
#include "writer/record/recorders.h"
#include "writer/record/spans.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

/* The recorder of callers without a writer, or without memory: it drops everything. */
static struct {
    struct tbed_recorder hot;
    uint8_t gap[TBED_RECORDER_KEPT_OFFSET - sizeof(struct tbed_recorder)];
    struct tbed_recorder_kept kept;
} dead_recorder = {.hot = {.mark = TBED_MARK_OFF, .idle = TBED_MARK_OFF}};

#define TID_OWN UINT64_MAX

/* 'tid' of a THREAD; TID_OWN: that of the thread that records. 'process' 0: the writer's own. */
static struct tbed_recorder *open_kind(struct tbed_writer *writer, const char *name,
                                       enum tbed_stream_kind kind, uint64_t tid, uint32_t process)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!tbed_state_lock(file))
        return &dead_recorder.hot;
    if (file->is_guarded)
        tbed_guard_admit_thread();
    struct tbed_recorder *recorder = tbed_recorder_take(tbed_recorders_of(writer));
    if (recorder != NULL) {
        struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
        struct tbed_recorder_cold *cold = kept->cold;
        tbed_stack_reset(kept);
        kept->takes_given = file->clock.is_given;
        kept->given_tick = 0;
        cold->stream = cold->next_sequence = 0;
        cold->block = cold->ended_block = NULL;
        cold->epoch = file->process.epoch;
        cold->kind = kind;
        cold->given_process = process;
        cold->has_given_tid = tid != TID_OWN;
        cold->tid = cold->has_given_tid ? (uint32_t)tid : 0;
        cold->name_id =
            name != NULL ? tbed_intern_locked(tbed_store_of(writer), name, strlen(name)) : TBED_ID_INVALID;
        cold->is_open = true;
        cold->gap_count = 0;
        recorder->cursor = recorder->end = NULL;
        recorder->idle = tbed_idle_mark(&file->clock);
        recorder->saw_close = 0;
        tbed_recorder_leave(recorder);
    }
    tbed_state_unlock(file);
    if (recorder == NULL)
        tbed_drop(file, tbed_is_sandboxed() ? TBED_DROP_SANDBOX : TBED_DROP_NO_MEMORY, 1);
    return recorder != NULL ? recorder : &dead_recorder.hot;
}

struct tbed_recorder *tbed_recorder_open(struct tbed_writer *writer, const char *name)
{
    return open_kind(writer, name, TBED_STREAM_THREAD, TID_OWN, 0);
}

struct tbed_recorder *tbed_recorder_open_given(struct tbed_writer *writer, const char *name, uint32_t tid)
{
    return open_kind(writer, name, TBED_STREAM_THREAD, tid, 0);
}

struct tbed_recorder *tbed_recorder_open_process(struct tbed_writer *writer, uint32_t process,
                                                 const char *name, uint32_t tid)
{
    return open_kind(writer, name, TBED_STREAM_THREAD, tid, process);
}

uint32_t tbed_process_record_given(struct tbed_writer *writer, const char *name, uint32_t pid,
                                   uint32_t parent_pid, uint32_t forked_from)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!file->clock.is_given || !tbed_state_lock(file))
        return 0;
    struct tbed_store *store = tbed_store_of(writer);
    uint32_t name_id = tbed_intern_locked(store, name, strlen(name));
    uint32_t number = tbed_other_process_record(store, name_id, pid, parent_pid, forked_from);
    tbed_state_unlock(file);
    return number;
}

void tbed_process_describe_given(struct tbed_writer *writer, uint32_t process, const char *name, uint32_t pid)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (file == NULL || !file->clock.is_given || !tbed_state_lock(file))
        return;
    struct tbed_store *store = tbed_store_of(writer);
    uint32_t name_id = tbed_intern_locked(store, name, strlen(name));
    tbed_process_describe(store, process != 0 ? process : file->process.stream, name_id, pid);
    tbed_state_unlock(file);
}

struct tbed_recorder *tbed_track_open(struct tbed_writer *writer, const char *name)
{
    return open_kind(writer, name, TBED_STREAM_TRACK, 0, 0);
}

void tbed_recorder_name_set(struct tbed_recorder *recorder, const char *name)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold == NULL || !tbed_state_lock(tbed_cold_file(cold)))
        return;
    cold->name_id = tbed_intern_locked(tbed_cold_store(cold), name, strlen(name));
    if (cold->stream != 0 && tbed_cold_is_ours(cold)) {
        struct tbed_disk_name record = {
            .stream = tbed_le32_make(cold->stream),
            .name_id = tbed_le32_make(cold->name_id),
            .tick = tbed_le64_make(tbed_clock_slow(recorder)),
        };
        tbed_record_append(tbed_cold_store(cold), &record, TBED_RECORD_NAME, sizeof record);
    }
    tbed_state_unlock(tbed_cold_file(cold));
}

uint32_t tbed_recorder_stream(const struct tbed_recorder *recorder)
{
    const struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold == NULL || !tbed_has_joined(tbed_cold_file(cold)))
        return 0; /* includes a forked child that has not recorded anything yet */
    return tbed_cold_is_ours(cold) ? cold->stream : 0;
}

void tbed_recorder_close(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = recorder != NULL ? tbed_cold_of(recorder) : NULL;
    if (cold == NULL || !tbed_state_lock(tbed_cold_file(cold)))
        return;
    if (cold->is_open) {
        /* First, since a signal handler that interrupts us must not store after the seal. */
        __atomic_store_n(&recorder->mark, TBED_MARK_STOPPED, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        tbed_recorder_finish(recorder);
        tbed_stack_reset(tbed_kept_of(recorder));
        cold->is_open = false;
        recorder->cursor = recorder->end = NULL;
        cold->next_free = cold->recorders->free;
        cold->recorders->free = recorder;
    }
    tbed_state_unlock(tbed_cold_file(cold));
}
