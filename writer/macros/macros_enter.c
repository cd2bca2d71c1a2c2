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

uint32_t tbed_begin_slow(struct tbed_site *site)
{
    if (!tbed_enter(&tbed_category_default))
        return 0;
    tbed_begin_entered(&tbed_category_default, tbed_site_id(site));
    return tbed_thread_self.generation;
}

#ifndef TBED_NO_ENVIRONMENT
/* So that the program's own constructors can record. */
TBED_FIRST_CONSTRUCTOR static void macros_begin(void)
{
    tbed_environment_obey(false);
}
#endif
