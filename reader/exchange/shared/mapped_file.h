/*
 * A foreign file, mapped for reading.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_MAPPED_FILE_H
#define TRACEBED_EXCHANGE_MAPPED_FILE_H

#include <tracebed/reader.h>

struct mapped_file {
    const uint8_t *bytes; /* NULL if it is empty */
    size_t nbytes;
};

/*
 * Maps the regular file by its path or, if that is NULL, by 'fd', which is not kept.
 *
 * Errors: ERR_OPEN, ERR_IS_DIRECTORY, ERR_NOT_REGULAR, ERR_READ, ERR_MAP.
 */
enum tbed_status tbed_mapped_file_open(const char *path, int fd, struct mapped_file *file_ret,
                                       struct tbed_error *error_ret);
void tbed_mapped_file_close(struct mapped_file *file);

/* The same as the source of a format: 'open' and 'close' of struct exchange_format, for a struct mapped_file. */
enum tbed_status tbed_mapped_source_open(const char *path, int fd, void **source_ret,
                                         struct tbed_error *error_ret);
void tbed_mapped_source_close(void *source);

#endif
