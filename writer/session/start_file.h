/*
 * The file of a start without options. Nothing here is public.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_START_FILE_H
#define TRACEBED_WRITER_START_FILE_H

#include <stdbool.h>

#include "tracebed/writer.h"

/*
 * A writer of the trace at 'path', with these options but for how it is opened: joined if 'joins' or if another process is recording into it; else new, in place of
 * a trace that was there. What is no trace stays: ERR_NOT_A_TRACE. A series of files is never joined: ERR_BUSY, and
 * where 'joins' it replaces nothing, but takes "path-2" and so on, as others have left it. Errors as tbed_writer_open().
 */
enum tbed_status tbed_start_file(const char *path, const struct tbed_writer_options *options, bool joins,
                                 struct tbed_writer **writer_ret, struct tbed_error *error);

#endif
