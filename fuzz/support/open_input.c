/*
 * Opens an input that is a complete trace.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create() */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

struct tbed_reader *open_input(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    struct tbed_reader *reader = NULL;
    uint8_t *bytes = guarded_copy(data, nbytes);
    if (bytes == NULL || tbed_reader_open_memory(bytes, nbytes, &options, &reader, NULL) != TBED_OK)
        return NULL;
    return reader;
}

int file_of_input(const uint8_t *data, size_t nbytes)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && (nbytes == 0 || write(fd, data, nbytes) == (ssize_t)nbytes));
    return fd;
}
