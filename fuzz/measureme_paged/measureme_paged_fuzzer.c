/*
 * Paged profiles (formats 6 to 9): the reader and a slow, obvious one must agree on the unchanged input.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "reader/tests/measureme/profile_oracle.h"

#define THOROUGH_NBYTES 700 /* walking from every position and looking up every id is quadratic */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    uint8_t *copy = guarded_copy(data, nbytes);
    if (copy == NULL)
        return 0;
    uint8_t *flush = copy + (-nbytes & 7); /* needs no alignment */
    if (nbytes > 0)
        memmove(flush, copy, nbytes);
    const void *const bytes[MM_STREAM_COUNT] = {flush};
    const size_t sizes[MM_STREAM_COUNT] = {nbytes};
    profile_compare(bytes, sizes, nbytes <= THOROUGH_NBYTES);
    return 0;
}
