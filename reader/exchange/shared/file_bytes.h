/*
 * Reads and writes all bytes of a range of a file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILE_BYTES_H
#define TRACEBED_FILE_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <tracebed/format.h>

/* False with errno; it is 0 if the file ends before. */
static inline bool file_read(int fd, uint64_t offset, size_t nbytes, uint8_t *bytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t got = pread(fd, bytes + at, nbytes - at, (off_t)(offset + at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* Errors: ERR_DISK_FULL, ERR_WRITE, with errno. */
static inline enum tbed_status file_write(int fd, uint64_t offset, const uint8_t *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t put = pwrite(fd, bytes + at, nbytes - at, (off_t)(offset + at));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno == ENOSPC || errno == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE;
        at += (size_t)put;
    }
    return TBED_OK;
}

#endif
