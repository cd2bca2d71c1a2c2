/*
 * Libraries that the program unloads: another one may take their addresses, with functions of its own.
 *
 * What is loaded is checked when an address is in no known module, so only unloading has to be noticed. That starts
 * with the beginning of dlclose(): as soon as a module is gone, another thread may load one in its place and call it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"

static int (*real_dlclose)(void *);

/* The C standard has no conversion from an object pointer to a function pointer; POSIX guarantees this one. */
static void look_up(void)
{
    void *found = dlsym(RTLD_NEXT, "dlclose");
    memcpy(&real_dlclose, &found, sizeof found);
}

/* Called with signals blocked, since both functions take a lock. */
static void take_note(void (*note)(void))
{
    struct functions_signals signals;
    int saved_errno = errno;
    functions_signals_block(&signals);
    preload_guard_set(&preload_thread, PRELOAD_APART);
    note();
    preload_guard_set(&preload_thread, PRELOAD_FREE);
    functions_signals_restore(&signals);
    errno = saved_errno;
}

__attribute__((visibility("default"), used)) int dlclose(void *library)
{
    /* In a sandbox signals cannot be blocked; then a library that takes the place of this one is named like it. */
    bool is_noted = preload_writer != NULL && preload_thread.guard == PRELOAD_FREE && !tbed_is_sandboxed();
    if (real_dlclose == NULL)
        look_up();
    if (is_noted)
        take_note(preload_modules_unload_begin);
    int result = real_dlclose(library);
    if (is_noted)
        take_note(preload_modules_unload_end);
    return result;
}
