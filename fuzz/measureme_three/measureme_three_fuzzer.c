/*
 * Profiles of three files (formats 0 and 3 to 5): the reader and a slow, obvious one agree.
 *
 * The input is the three behind one another, before each its size, 2 bytes; a size of 0xFFFF: there is no such file.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "reader/tests/measureme/profile_oracle.h"

#define THOROUGH_NBYTES 700
#define MISSING         0xFFFFu

/* Each of its own size, so that a sanitiser sees what is read behind it. */
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
