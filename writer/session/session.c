/*
 * The process's writer, started and stopped at run time, and the recorders of its threads.
 *
 * Every start has a number, its generation. Threads, names and tracks remember the generation that their recorder or id
 * belongs to. If it is not the running one, the recorder or id is made again, under the lock. So a start or stop does not
 * have to notify anyone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "writer/base/kernel.h"
#include "writer/base/locks.h"
#include "writer/base/sandbox_state.h"
#include "writer/file/usable.h"
#include "writer/life/recorded_open.h"
#include "writer/session/lifetime.h"
#include "writer/session/session.h"
#include "writer/session/start_file.h"
#include "writer/store/texts.h"

#define NOTED_COUNT 512 /* names made at run time whose places are stored */

/* The linker makes this a fixed offset in an executable. Anything stricter limits how many plugins can be loaded. */
__thread struct tbed_thread tbed_thread_self;

static pthread_key_t thread_key;
static bool has_thread_key;
static tbed_word interrupted_count; /* events of handlers that interrupted a start, a stop or a first event */
static __thread struct tbed_recorder *own_recorder; /* the thread's, while it runs a fiber; else NULL */
static __thread char thread_name[TBED_PATTERN_NBYTES_MAX + 1];

/* ---- Threads ---- */

/*
 * The destructor of the key. The first time it only asks for another round, because the destructors of other keys may
 * record. What they record after the second time gets a recorder of its own. If the library is unloaded, or its key
 * deleted, before the thread ends, the writer closes the recorder instead.
 */
static void thread_leave(void *value)
{
    struct tbed_thread *thread = value;
    if (thread->listed == TBED_LISTED && pthread_setspecific(thread_key, thread) == 0) {
        thread->listed = TBED_LISTED_LEAVES;
        return;
    }
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return;
    if (thread->generation != 0 && thread->writer == session->writer &&
        thread->generation == session->generation) {
        struct tbed_recorder *recorder = own_recorder != NULL ? own_recorder : thread->recorder;
        tbed_span_take_notes(recorder);
        tbed_recorder_close(recorder);
    }
    own_recorder = NULL;
    thread->generation = 0;
    thread->listed = TBED_LISTED_NOT;
    session->thread_count--;
    tbed_session_unlock();
}

/* The name from pthread_setname_np(). Until that is called, all threads have the process's name, which is useless. */
static const char *kernel_thread_name(char buffer[17])
{
    buffer[16] = 0;
    if (tbed_is_sandboxed())
        return NULL;
    if (syscall(SYS_gettid) == getpid())
        return "main";
    if (prctl(PR_GET_NAME, buffer) != 0 || strncmp(buffer, program_invocation_short_name, 15) == 0)
        return NULL;
    return buffer;
}

static bool recorder_is_dead(struct tbed_recorder *recorder)
{
    return tbed_kept_of(recorder)->cold == NULL;
}

/* Gives the thread a recorder of the running trace. A signal handler that interrupts this finds the session locked. */
static bool thread_enter(struct tbed_session *session, struct tbed_thread *self)
{
    char buffer[17];
    if (session->writer == NULL)
        return false;
    if (self->generation == session->generation)
        return true;
    struct tbed_recorder *recorder =
        tbed_recorder_open(session->writer, thread_name[0] != 0 ? thread_name : kernel_thread_name(buffer));
    if (recorder_is_dead(recorder))
        return false;
    self->generation = 0;
    own_recorder = NULL;
    self->recorder = recorder;
    self->writer = session->writer;
    if (self->listed == TBED_LISTED_NOT) {
        self->listed = TBED_LISTED;
        session->thread_count++;
        if (has_thread_key)
            pthread_setspecific(thread_key, self);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->generation = session->generation;
    return true;
}

bool tbed_thread_enter(void)
{
    int kept_errno = errno;
    bool has_entered = false;
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL) {
        __atomic_fetch_add(&interrupted_count, 1, __ATOMIC_RELAXED);
    } else {
        has_entered = thread_enter(session, &tbed_thread_self);
        tbed_session_unlock();
    }
    errno = kept_errno;
    return has_entered;
}

void tbed_thread_name_set(const char *name)
{
    int kept_errno = errno;
    size_t nbytes = name != NULL ? strnlen(name, sizeof thread_name) : 0;
    if (nbytes == sizeof thread_name) /* cut before a code point */
        while (--nbytes > 0 && ((uint8_t)name[nbytes] & 0xC0) == 0x80)
            continue;
    memcpy(thread_name, name != NULL ? name : "", nbytes);
    thread_name[nbytes] = 0;
    struct tbed_thread *self = &tbed_thread_self;
    uint32_t generation = tbed_category_generation(&tbed_category_default);
    if (generation != 0 && self->generation == generation)
        tbed_recorder_name_set(own_recorder != NULL ? own_recorder : self->recorder, thread_name);
    errno = kept_errno;
}

/* ---- Names, tracks ---- */

/*
 * The texts that the thread used last, by their addresses. Only comparing tells whether a text is still the same: one call,
 * instead of measuring, hashing, looking up and comparing. A handler that comes in between sees whole entries.
 */
#define RECENT_COUNT 32
static __thread struct {
    const struct tbed_known *known[RECENT_COUNT];
    uint32_t generation;
} recent;

static uint32_t dynamic_id_slow(const char *text, const struct tbed_known **at)
{
    const struct tbed_known *known;
    uint32_t generation = tbed_thread_self.generation;
    uint32_t id = tbed_known_intern(tbed_thread_self.writer, text, strlen(text), &known);
    if (recent.generation != generation) {
        memset(recent.known, 0, sizeof recent.known);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        recent.generation = generation;
    }
    if (known != NULL)
        *at = known;
    return id;
}

uint32_t tbed_dynamic_id(const char *text)
{
    if (text == NULL)
        text = "";
    const struct tbed_known **at =
        &recent.known[((uintptr_t)text * 0x9E3779B97F4A7C15u >> 32) % RECENT_COUNT];
    if (!TBED_UNLIKELY(recent.generation != tbed_thread_self.generation || *at == NULL) &&
        strcmp(text, (*at)->text) == 0 && (*at)->id != 0)
        return (*at)->id;
    return dynamic_id_slow(text, at);
}

void tbed_place_describe(uint32_t id, const char *function, const char *file, uint32_t line)
{
    int kept_errno = errno;
    char room[TBED_FUNCTION_NBYTES_MAX + 1];
    struct tbed_frame_names place = {tbed_dynamic_id(tbed_function_name(function, room)),
                                     tbed_dynamic_id(file), line};
    tbed_location_describe(tbed_thread_self.writer, id, &place, 1);
    errno = kept_errno;
}

void tbed_place_note(uint32_t id, const char *function, const char *file, uint32_t line)
{
    static tbed_word noted[NOTED_COUNT]; /* generation << 32 | id; the first id in a place keeps it */
    tbed_word *at = &noted[id % NOTED_COUNT];
    uint64_t known = __atomic_load_n(at, __ATOMIC_RELAXED), generation = tbed_thread_self.generation;
    if (id == TBED_ID_INVALID || known >> 32 == generation)
        return;
    if (__atomic_compare_exchange_n(at, &known, generation << 32 | id, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        tbed_place_describe(id, function, file, line);
}

/* A site without a name of its own has its function's. */
static uint32_t site_name(const struct tbed_site *site)
{
    char room[TBED_FUNCTION_NBYTES_MAX + 1];
    bool is_own = site->function == NULL || strcmp(site->text, site->function) != 0;
    return tbed_dynamic_id(is_own ? site->text : tbed_function_name(site->text, room));
}

/* Threads that do this at the same time get the same id, so no lock is needed. */
uint32_t tbed_site_resolve(struct tbed_site *site)
{
    uint32_t id = site_name(site);
    if (id == TBED_ID_INVALID)
        return id;
    if (site->file != NULL)
        tbed_place_describe(id, site->function, site->file, site->line);
    __atomic_store_n(&site->state, (uint64_t)tbed_thread_self.generation << 32 | id, __ATOMIC_RELAXED);
    return id;
}

void tbed_counter_unit_describe(uint32_t id, const char *unit)
{
    tbed_counter_describe(tbed_thread_self.writer, id, unit);
}

struct tbed_recorder *tbed_track_enter(struct tbed_track *track)
{
    int kept_errno = errno;
    struct tbed_recorder *recorder = tbed_track_open(tbed_thread_self.writer, track->name);
    if (!recorder_is_dead(recorder)) {
        track->recorder = recorder;
        track->generation = tbed_thread_self.generation;
    }
    errno = kept_errno;
    return recorder;
}

/* A handler that comes in between uses either recorder. */
void tbed_fiber_enter(struct tbed_track *fiber)
{
    struct tbed_thread *self = &tbed_thread_self;
    uint32_t generation = tbed_category_generation(&tbed_category_default);
    if (generation != 0 && self->generation != generation)
        tbed_thread_enter();
    if (self->generation == 0) /* otherwise a category may be on */
        return;
    struct tbed_recorder *own = own_recorder != NULL ? own_recorder : self->recorder;
    struct tbed_recorder *next = fiber != NULL ? tbed_track_recorder(fiber) : own;
    own_recorder = own;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->recorder = next;
}

void tbed_track_close(struct tbed_track *track)
{
    int kept_errno = errno;
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return;
    if (session->writer != NULL && track->generation == session->generation)
        tbed_recorder_close(track->recorder);
    track->generation = 0;
    track->recorder = NULL;
    tbed_session_unlock();
    errno = kept_errno;
}

/* ---- Start and stop ---- */

static void begin_generation(struct tbed_session *session, struct tbed_writer *writer)
{
    if (!has_thread_key)
        has_thread_key = pthread_key_create(&thread_key, thread_leave) == 0;
    session->writer = writer;
    session->generation = session->generation == UINT32_MAX ? 1 : session->generation + 1;
    tbed_categories_switch(session);
}

static enum tbed_status open_writer(const char *path, const struct tbed_writer_options *options,
                                    enum tbed_start start, struct tbed_writer **writer_ret,
                                    struct tbed_error *error)
{
    if (start == TBED_START_BY_OPTIONS)
        return tbed_writer_open(path, options, writer_ret, error);
    if (start == TBED_START_RECORDED)
        return tbed_recorded_open(path, options, writer_ret, error);
    return tbed_start_file(path, options, start == TBED_START_JOINS, writer_ret, error);
}

enum tbed_status tbed_session_start(const char *path, const struct tbed_writer_options *options,
                                    enum tbed_start start, struct tbed_error *error)
{
    struct tbed_writer *writer;
    struct tbed_session *session = tbed_session_lock();
    *error = (struct tbed_error){.status = TBED_ERR_BUSY, .offset = UINT64_MAX};
    if (session == NULL)
        return TBED_ERR_BUSY;
    int cancel_state = tbed_cancel_disable(); /* a cancelled thread would keep the lock */
    enum tbed_status status = TBED_ERR_BUSY;
    if (session->writer == NULL) {
        status = open_writer(path, options, start, &writer, error);
        if (status == TBED_OK)
            begin_generation(session, writer);
        session->yields = status == TBED_OK && start == TBED_START_RECORDED;
    }
    tbed_session_unlock();
    tbed_cancel_restore(cancel_state);
    return status;
}

/* A program that starts a trace gets it under 'tracebed record', too. Of threads that start one at the same time, one does. */
static void make_way(void)
{
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return;
    bool yields = session->yields;
    session->yields = false;
    tbed_session_unlock();
    if (yields)
        tbed_stop();
}

enum tbed_status tbed_start(const char *path, const struct tbed_writer_options *options)
{
    struct tbed_error error;
    int kept_errno = errno;
    make_way();
    struct tbed_writer_options none = {.size = sizeof none};
    enum tbed_status status = options != NULL
                                  ? tbed_session_start(path, options, TBED_START_BY_OPTIONS, &error)
                                  : tbed_session_start(path, &none, TBED_START_REPLACES, &error);
    errno = kept_errno;
    return status;
}

/* Whether no other thread can hold a recorder of the trace. The session must be locked. */
static bool is_only_ours(const struct tbed_session *session)
{
    return session->thread_count == (tbed_thread_self.listed != TBED_LISTED_NOT);
}

static void finish(struct tbed_writer *writer, bool is_ours)
{
    uint64_t interrupted = __atomic_exchange_n(&interrupted_count, 0, __ATOMIC_RELAXED);
    if (interrupted != 0)
        tbed_drop(tbed_file_of(writer), TBED_DROP_INTERRUPTED, interrupted);
    if (is_ours)
        tbed_writer_free(writer);
    else
        tbed_writer_close(writer);
}

/* A forked child that has not recorded anything has not joined the file, so it does not leave it either. */
void tbed_stop(void)
{
    int kept_errno = errno;
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return;
    struct tbed_writer *writer = session->writer;
    session->writer = NULL;
    tbed_categories_switch(session);
    bool is_ours = is_only_ours(session);
    if (writer != NULL && tbed_thread_self.generation == session->generation)
        tbed_span_take_notes(own_recorder != NULL ? own_recorder : tbed_thread_self.recorder);
    if (writer != NULL && is_ours)
        tbed_thread_self.generation = 0;
    tbed_session_unlock();
    if (writer != NULL && tbed_has_joined(tbed_file_of(writer)))
        finish(writer, is_ours);
    errno = kept_errno;
}

/* So that exit handlers and the program's own destructors can record. */
TBED_LAST_DESTRUCTOR static void session_end(void)
{
    tbed_stop();
    if (has_thread_key)
        pthread_key_delete(thread_key);
    has_thread_key = false;
}
