/*
 * The file of a start without options. Nothing here is public.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_START_FILE_H
#define TRACEBED_WRITER_START_FILE_H

#include "writer/private.h"

/*
 * A writer of the trace at 'path': joined if 'joins' or if another process is recording into it; else new, in place of
 * a trace that was there. What is no trace stays: ERR_NOT_A_TRACE. Errors as tbed_writer_open().
 */
enum tbed_status tbed_start_file(const char *path, bool joins, struct tbed_writer **writer_ret,
                                 struct tbed_error *error);

#endif
