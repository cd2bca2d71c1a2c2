/*
 * The trace of 'tracebed record', which every process of the program joins.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_RECORDED_OPEN_H
#define TRACEBED_WRITER_RECORDED_OPEN_H

#include "tracebed/writer.h"

/*
 * Opens a writer for the trace at 'path' with these options, and with those that 'tracebed record' was given for the file:
 * its largest size, its clock, rotation. A series cannot be joined: whoever finds the path taken begins a series of its
 * own beside it. Errors as for tbed_writer_open().
 */
enum tbed_status tbed_recorded_open(const char *path, const struct tbed_writer_options *options,
                                    struct tbed_writer **writer_ret, struct tbed_error *error);

#endif
