/*
 * Opens files for reading after a look at their type. Every file that a reading program is asked to open goes through
 * here, because its path may come from a trace.
 *
 * Opening a file can have effects: it blocks on a FIFO, rewinds a tape, starts a watchdog. Reading one can too: some
 * files of procfs and tracefs, which claim to be regular, hand out each byte once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_REGULAR_FILE_H
#define TRACEBED_REGULAR_FILE_H

#include <tracebed/format.h>

/*
 * Opens a regular file on a file system that stores data; symbolic links are followed. The caller closes '*fd_ret'.
 *
 * Errors: ERR_IS_DIRECTORY, ERR_NOT_REGULAR (without having opened it); ERR_OPEN with errno.
 */
enum tbed_status tbed_regular_open(const char *path, int *fd_ret);

#endif
