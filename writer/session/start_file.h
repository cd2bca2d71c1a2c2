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
 * Opens a writer for the trace at 'path' with these options, except those for how to open. With 'joins', or if another
 * process is recording into the trace, it joins; otherwise it creates a new trace in place of an old one. A file that is
 * not a trace is left alone: ERR_NOT_A_TRACE. A series of files cannot be joined: ERR_BUSY; with 'joins' it does not
 * replace an old trace, but takes the first free name of "path", "path-2" and so on. Other errors as for
 * tbed_writer_open().
 */
enum tbed_status tbed_start_file(const char *path, const struct tbed_writer_options *options, bool joins,
                                 struct tbed_writer **writer_ret, struct tbed_error *error);

#endif
