/*
 * What is linked into every program and library that uses a macro, besides the library: the constructor that starts a
 * trace where the environment asks for one. A program that only reads traces must not have it, for it would replace the
 * trace that it is about to read. So it is in an object of its own, which nothing but the macros' inline code calls.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracebed/trace.h"
#include "writer/session/lifetime.h"

bool tbed_macros_enter(void)
{
    return tbed_thread_enter();
}

#ifndef TBED_NO_ENVIRONMENT
/* So that the program's own constructors can record. */
TBED_FIRST_CONSTRUCTOR static void macros_begin(void)
{
    tbed_environment_obey(false);
}
#endif
