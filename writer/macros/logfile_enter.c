/*
 * macros_enter.c for the macros of logfile.h: RTL_LOGFILE counts only in programs that use those.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracebed/logfile.h"
#include "writer/session/lifetime.h"

bool tbed_logfile_macros_enter(void)
{
    return tbed_thread_enter();
}

#ifndef TBED_NO_ENVIRONMENT
TBED_FIRST_CONSTRUCTOR static void logfile_begin(void)
{
    tbed_environment_obey(true);
}
#endif
