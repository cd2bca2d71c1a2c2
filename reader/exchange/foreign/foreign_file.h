/*
 * A foreign file that is open: the source of imports that read it through a window (foreign_input.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FOREIGN_FILE_H
#define TRACEBED_EXCHANGE_FOREIGN_FILE_H

#include <tracebed/reader.h>

struct foreign_file {
    int fd;
    uint64_t nbytes;
};

/* For the registry: see exchange_format.h. */
enum tbed_status tbed_foreign_file_open(const char *path, int fd, void **source_ret,
                                        struct tbed_error *error_ret);
void tbed_foreign_file_close(void *source);

#endif
