/*
 * The memory for the frames of calls that have not ended.
 *
 * The array belongs to a thread, comes from mmap(), and is freed with the thread. A forked child has a copy, with the
 * calls that were open in its parent.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"
#include "writer/capture/values/functions_arguments.h"

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
    if (frames->arguments != NULL)
        tbed_pages_free(frames->arguments, sizeof *frames->arguments);
    frames->arguments = NULL;
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
