/*
 * Profiles of three files (formats 0 and 3 to 5): the reader and a slow, obvious one must agree.
 *
 * The input is the three files in turn, each preceded by its size in 2 bytes; a size of 0xFFFF means that the file does
 * not exist.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "reader/tests/measureme/profile_oracle.h"

#define THOROUGH_NBYTES 700
#define MISSING         0xFFFFu

/* Each file is an allocation of exactly its size, so that a sanitiser detects reads beyond its end. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    uint8_t *files[MM_STREAM_COUNT] = {NULL};
    size_t sizes[MM_STREAM_COUNT] = {0}, left = nbytes;
    for (int i = 0; i < MM_STREAM_COUNT && left >= 2; i++) {
        size_t size = data[0] | (size_t)data[1] << 8;
        data += 2;
        left -= 2;
        if (size == MISSING)
            continue;
        sizes[i] = size < left ? size : left;
        files[i] = malloc(sizes[i] + (sizes[i] == 0));
        REQUIRE(files[i] != NULL);
        memcpy(files[i], data, sizes[i]);
        data += sizes[i];
        left -= sizes[i];
    }
    profile_compare((const void *const *)files, sizes, nbytes <= THOROUGH_NBYTES);
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        free(files[i]);
    return 0;
}
