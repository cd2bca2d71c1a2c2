/*
 * What the sanitizers' runtimes ask of a program: its default options.
 *
 * AddressSanitizer refuses to run if its library is not the first. 'tracebed record' says in ASAN_OPTIONS that ours may
 * come before it; but a makefile or a test may set that variable anew. A program that defines these options itself goes
 * first, and then the variable has to do.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/capture/shared/preload.h"

__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
