/*
 * The frames of calls that have not ended, and how they end without an exit.
 *
 * The array belongs to a thread, comes from mmap(), and is freed with the thread. A forked child has a copy, with the
 * calls that were open in its parent.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

#define CAPACITY_MIN 1024

__thread struct functions_thread functions_thread __attribute__((tls_model("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

/* ---- Memory ---- */

static void frames_free(void *unused)
{
    struct functions_thread *frames = &functions_thread;
    struct functions_frame *pages = frames->frames;
    (void)unused;
    if (preload_thread.guard != PRELOAD_FREE) /* the thread was cancelled inside a hook */
        return;
    preload_guard_set(&preload_thread, PRELOAD_APART);
    size_t nbytes = frames->capacity * sizeof *pages;
    frames->depth = frames->capacity = 0;
    frames->frames = NULL;
    tbed_pages_free(pages, nbytes);
    preload_guard_set(&preload_thread, PRELOAD_FREE);
}

static void key_make(void)
{
    has_key = pthread_key_create(&key, frames_free) == 0;
}

/* The guard is already set, or our own signal mask keeps handlers out. */
bool functions_frames_grow(struct functions_thread *frames)
{
    size_t nbytes = frames->capacity * sizeof *frames->frames;
    size_t wanted = frames->capacity == 0 ? CAPACITY_MIN * sizeof *frames->frames : 2 * nbytes;
    if (wanted / sizeof *frames->frames > UINT32_MAX || tbed_is_sandboxed())
        return false;
    void *pages = frames->frames == NULL
                      ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mremap(frames->frames, nbytes, wanted, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED)
        return false;
    if (frames->frames == NULL) {
        uint8_t guard = preload_thread.guard;
        preload_guard_set(&preload_thread, PRELOAD_APART);
        pthread_once(&key_once, key_make);
        if (has_key)
            pthread_setspecific(key, frames);
        preload_guard_set(&preload_thread, guard);
    }
    frames->frames = pages;
    frames->capacity = (uint32_t)(wanted / sizeof *frames->frames);
    return true;
}

/* ---- Signals ---- */

void functions_signals_block(struct functions_signals *old_ret)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    memcpy(old_ret, &old, sizeof old);
}

void functions_signals_restore(const struct functions_signals *signals)
{
    sigset_t old;
    memcpy(&old, signals, sizeof old);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
_Static_assert(sizeof(sigset_t) <= sizeof(struct functions_signals), "the mask fits");

/* ---- Ends without an exit ---- */

/* The id of a text that is used repeatedly; INVALID if it cannot be stored. */
static uint32_t text_id(uint32_t *id, const char *text)
{
    if (*id == 0)
        *id = tbed_string_intern(preload_writer, text, strlen(text));
    return *id;
}

void functions_end_left(struct tbed_recorder *recorder, enum functions_leave how)
{
    static const char *const texts[FUNCTIONS_LEAVE_COUNT] = {"longjmp", "unwinding", "unseen"};
    static uint32_t name_id, ids[FUNCTIONS_LEAVE_COUNT];
    struct tbed_argument argument = {
        .name_id = text_id(&name_id, "left by"),
        .type = TBED_ARG_ID,
        .value.id = text_id(&ids[how], texts[how]),
    };
    tbed_span_end_args(recorder, &argument, 1);
}

void functions_frames_cut(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t depth,
                          enum functions_leave how)
{
    for (; frames->unframed > 0; frames->unframed--)
        functions_end_left(recorder, how);
    for (; frames->depth > depth; frames->depth--)
        if (!(frames->frames[frames->depth - 1].stack & FUNCTIONS_NO_SPAN))
            functions_end_left(recorder, how);
}

bool functions_stop_in_sandbox(struct preload_thread *thread)
{
    if (!tbed_is_sandboxed())
        return false;
    preload_guard_set(thread, PRELOAD_STOPPED);
    preload_count_nested(thread);
    return true;
}
