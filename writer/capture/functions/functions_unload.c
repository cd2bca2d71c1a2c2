/*
 * Libraries that the program unloads: another one may take their addresses, with functions of its own.
 *
 * What is loaded is looked at when an address is met that is in no known module; so only what goes has to be seen.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "writer/capture/functions/functions.h"

static int (*real_dlclose)(void *);

/* The standard has no conversion from an object pointer to a function pointer; POSIX promises this one. */
static void look_up(void)
{
    void *found = dlsym(RTLD_NEXT, "dlclose");
    memcpy(&real_dlclose, &found, sizeof found);
}

__attribute__((visibility("default"), used)) int dlclose(void *library)
{
    struct functions_signals signals;
    struct preload_thread *thread = &preload_thread;
    if (real_dlclose == NULL)
        look_up();
    int result = real_dlclose(library);
    if (preload_writer == NULL || thread->guard != PRELOAD_FREE)
        return result;
    int saved_errno = errno;
    functions_signals_block(&signals);
    preload_guard_set(thread, PRELOAD_APART);
    preload_modules_refresh();
    preload_guard_set(thread, PRELOAD_FREE);
    functions_signals_restore(&signals);
    errno = saved_errno;
    return result;
}
