/*
 * Calls of library functions, recorded without recompilation: of the functions that a program takes from libraries.
 *
 * A program calls such a function through a slot, into which the loader stores the function's address. At the start, and
 * when a library has been loaded, the slots of the chosen modules get the addresses of stubs instead. A stub leads to the
 * trampoline that patched functions use (writer/capture/entries), and from there to the function.
 *
 * Not here: calls within one module, and calls through pointers that were taken otherwise (dlsym, tables of functions).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LIBCALLS_H
#define TRACEBED_LIBCALLS_H

#include "writer/capture/entries/entries.h"

/* ---- libcalls_stubs.c ---- */

#define FUNCTIONS_STUBS_MAX 8192

/* The address to store in a slot so that calls of 'function' are recorded; 0: there are no more. */
uintptr_t functions_stub_for(uintptr_t function);

/* ---- libcalls_names.c ---- */

/* False for functions that must be called as they are: those that return twice, or look at who calls them. */
bool functions_may_wrap(const char *name);

/* ---- libcalls_patch.c ---- */

/* Looks at what has been loaded since the last call. */
void functions_libcalls_patch(void);

#endif
