/*
 * Opening, naming and closing recorders, and those of signal handlers, which must be async-signal-safe.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
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

/* A recorder without a stream yet, of no thread; NULL: no memory. The caller holds 'state_lock'. */
static struct tbed_recorder *take_empty(struct tbed_recorders *recorders, enum tbed_stream_kind kind)
{
    struct tbed_file *file = &recorders->store.file;
    struct tbed_recorder *recorder = tbed_recorder_take(recorders);
    if (recorder == NULL)
        return NULL;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    struct tbed_recorder_cold *cold = kept->cold;
    tbed_stack_reset(kept);
    kept->takes_given = file->clock.is_given;
    kept->given_tick = 0;
    cold->of_handlers = NULL;
    cold->thread = NULL;
    cold->handler_level = 0;
    cold->stream = cold->next_sequence = 0;
    cold->block = cold->ended_block = NULL;
    cold->epoch = file->process.epoch;
    cold->kind = kind;
    cold->given_process = cold->tid = 0;
    cold->has_given_tid = false;
    cold->name_id = TBED_ID_INVALID;
    cold->gap_count = 0;
    recorder->cursor = recorder->end = NULL;
    recorder->idle = tbed_idle_mark(&file->clock);
    recorder->saw_close = 0;
    return recorder;
}

static void let_record(struct tbed_recorder *recorder)
{
    tbed_cold_of(recorder)->is_open = true;
    tbed_recorder_leave(recorder);
}

/* 'tid' of a THREAD; TID_OWN: that of the thread that records. 'process' 0: the writer's own. */
static struct tbed_recorder *open_kind(struct tbed_writer *writer, const char *name,
                                       enum tbed_stream_kind kind, uint64_t tid, uint32_t process)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!tbed_state_lock(file))
        return &dead_recorder.hot;
    if (file->is_guarded)
        tbed_guard_admit_thread();
    struct tbed_recorder *recorder = take_empty(tbed_recorders_of(writer), kind);
    if (recorder != NULL) {
        struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
        cold->given_process = process;
        cold->has_given_tid = tid != TID_OWN;
        cold->tid = cold->has_given_tid ? (uint32_t)tid : 0;
        if (name != NULL)
            cold->name_id = tbed_intern_locked(tbed_store_of(writer), name, strlen(name));
        let_record(recorder);
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

struct tbed_recorder *tbed_recorder_open_off_cpu(struct tbed_writer *writer, uint32_t process,
                                                 uint32_t stream, const char *name, uint32_t tid)
{
    struct tbed_recorder *recorder = open_kind(writer, name, TBED_STREAM_OFF_CPU, tid, process);
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold != NULL)
        cold->given_thread = stream;
    return recorder;
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

uint64_t tbed_writer_ns_to_ticks(const struct tbed_writer *writer, uint64_t ns)
{
    const struct tbed_file *file = tbed_file_of(writer);
    struct tbed_header_fields fields = {.ticks_per_second = 1000000000};
    if (file != NULL)
        fields = file->fields;
    if (fields.ticks_per_second == 0)
        tbed_clock_rate(&file->clock, &fields);
    /* In parts, each of which fits if the whole does. */
    uint64_t second = 1000000000, whole = fields.ticks_per_second / second,
             part = fields.ticks_per_second % second;
    return ns * whole + ns / second * part + ns % second * part / second;
}

/* In a forked child that has not recorded anything yet, this joins the trace. */
void tbed_process_name_set(struct tbed_writer *writer, const char *name)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (file == NULL || !tbed_state_lock(file))
        return;
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_disk_name record = {
        .stream = tbed_le32_make(file->process.stream),
        .name_id = tbed_le32_make(tbed_intern_locked(store, name, strlen(name))),
        .tick = tbed_le64_make(tbed_clock_now(&file->clock)),
    };
    tbed_record_append(store, &record, TBED_RECORD_NAME, sizeof record);
    tbed_state_unlock(file);
}

struct tbed_recorder *tbed_track_open(struct tbed_writer *writer, const char *name)
{
    return open_kind(writer, name, TBED_STREAM_TRACK, 0, 0);
}

/* As "main: signal handlers". The caller holds 'state_lock'. */
static uint32_t handlers_name(struct tbed_recorder_cold *thread)
{
    static const char what[] = "signal handlers", of[] = ": ";
    uint32_t name_id = tbed_intern_locked(tbed_cold_store(thread), what, sizeof what - 1);
    const struct tbed_component components[] = {
        {.id = thread->name_id}, {.text = of, .nbytes = sizeof of - 1}, {.id = name_id}};
    if (thread->name_id == TBED_ID_INVALID || name_id == TBED_ID_INVALID)
        return name_id;
    return tbed_string_alloc_locked(tbed_cold_store(thread), components, 3);
}

/* The caller holds 'state_lock'. */
static void set_name(struct tbed_recorder_cold *cold, uint32_t name_id)
{
    cold->name_id = name_id;
    if (cold->stream == 0 || !tbed_cold_is_ours(cold))
        return;
    struct tbed_disk_name record = {
        .stream = tbed_le32_make(cold->stream),
        .name_id = tbed_le32_make(name_id),
        .tick = tbed_le64_make(tbed_clock_slow(cold->recorder)),
    };
    tbed_record_append(tbed_cold_store(cold), &record, TBED_RECORD_NAME, sizeof record);
}

void tbed_recorder_name_set(struct tbed_recorder *recorder, const char *name)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold == NULL || !tbed_state_lock(tbed_cold_file(cold)))
        return;
    set_name(cold, tbed_intern_locked(tbed_cold_store(cold), name, strlen(name)));
    for (struct tbed_recorder *next = cold->of_handlers; next != NULL; next = tbed_cold_of(next)->of_handlers)
        set_name(tbed_cold_of(next), handlers_name(cold));
    tbed_state_unlock(tbed_cold_file(cold));
}

uint32_t tbed_recorder_stream(const struct tbed_recorder *recorder)
{
    const struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold == NULL || !tbed_has_joined(tbed_cold_file(cold)))
        return 0; /* includes a forked child that has not recorded anything yet */
    return tbed_cold_is_ours(cold) ? cold->stream : 0;
}

/* Returns the recorder of its handlers. The caller holds 'state_lock'. */
static struct tbed_recorder *close_one(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    /* First, since a signal handler that interrupts us must not store after the seal. */
    __atomic_store_n(&recorder->mark, TBED_MARK_STOPPED, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    tbed_recorder_finish(recorder);
    tbed_stack_reset(tbed_kept_of(recorder));
    cold->is_open = false;
    recorder->cursor = recorder->end = NULL;
    cold->next_free = cold->recorders->free;
    cold->recorders->free = recorder;
    return cold->of_handlers;
}

void tbed_recorder_close(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = recorder != NULL ? tbed_cold_of(recorder) : NULL;
    if (cold == NULL || !tbed_state_lock(tbed_cold_file(cold)))
        return;
    while (recorder != NULL && tbed_cold_of(recorder)->is_open)
        recorder = close_one(recorder);
    tbed_state_unlock(tbed_cold_file(cold));
}

/* ---- Signal handlers ---- */

/*
 * The recorder of signal handlers that interrupt a record of 'recorder', which is opened for the first of them. NULL: there
 * can be none now.
 */
static struct tbed_recorder *recorder_of_handlers(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (cold->of_handlers != NULL || cold->handler_level == TBED_HANDLER_LEVEL_MAX)
        return cold->of_handlers;
    int kept_errno = errno;
    if (!tbed_state_lock(tbed_cold_file(cold)))
        return NULL;
    /* Another handler may have opened it before the lock was taken. */
    struct tbed_recorder *made = cold->of_handlers;
    if (made == NULL)
        made = take_empty(cold->recorders, TBED_STREAM_HANDLERS);
    if (made != NULL && cold->of_handlers == NULL) {
        struct tbed_recorder_cold *of_handlers = tbed_cold_of(made);
        of_handlers->thread = cold->thread != NULL ? cold->thread : cold;
        of_handlers->handler_level = cold->handler_level + 1;
        of_handlers->given_process = cold->given_process;
        of_handlers->name_id = handlers_name(of_handlers->thread);
        let_record(made);
        cold->of_handlers = made;
        __atomic_store_n(&tbed_cold_store(cold)->cells.has_handlers, true, __ATOMIC_RELAXED);
    }
    tbed_state_unlock(tbed_cold_file(cold));
    errno = kept_errno;
    return made;
}

/* Inside a record: the recorder of the handlers that interrupt it, and so on if that is inside a record, too. */
static struct tbed_recorder *not_busy(struct tbed_recorder *recorder)
{
    while (recorder->mark == TBED_MARK_BUSY) {
        struct tbed_recorder *next = recorder_of_handlers(recorder);
        if (next == NULL) {
            tbed_recorder_drop_busy(recorder);
            return NULL;
        }
        recorder = next;
    }
    return recorder;
}

/* With another clock, or in a forked child, the recorder may be entered; after closing it may not. */
struct tbed_recorder *tbed_recorder_entered_slow(struct tbed_recorder *recorder)
{
    recorder = not_busy(recorder);
    if (recorder == NULL)
        return NULL;
    if (recorder->mark == TBED_MARK_STOPPED) {
        tbed_recorder_drop_busy(recorder);
        return NULL;
    }
    tbed_recorder_mark_busy(recorder);
    return recorder;
}

/* Of the recorder that tbed_recorder_entered() would enter; a handler that has none yet has no open span. */
uint32_t tbed_span_depth(const struct tbed_recorder *recorder)
{
    while (recorder->mark == TBED_MARK_BUSY) {
        recorder = tbed_cold_of(recorder)->of_handlers;
        if (recorder == NULL)
            return 0;
    }
    return tbed_stack_depth(tbed_kept_of((struct tbed_recorder *)(uintptr_t)recorder));
}

int tbed_has_open_span_slow(struct tbed_recorder *recorder)
{
    return tbed_span_depth(recorder) != 0;
}
