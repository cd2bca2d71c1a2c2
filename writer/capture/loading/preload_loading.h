/*
 * Libraries that are loaded later, with dlopen().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_LOADING_H
#define TRACEBED_PRELOAD_LOADING_H

#include <stddef.h>

/*
 * Called when dlopen() has loaded the library and before it returns, unless the thread is at work of ours or in a sandbox.
 * The new modules are in the loader's list from 'first' on, perhaps behind old ones and among those that other threads are
 * loading. NULL: nothing is to be done. Set by a constructor.
 */
extern void (*preload_loaded)(void *library, size_t first);

#endif
