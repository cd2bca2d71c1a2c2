/*
 * Structs that may grow at their end, as they cross the library's edge: the caller's may be shorter, if it was compiled
 * with older headers, or longer. The policy is in tracebed/format.h, "ABI".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SIZED_H
#define TRACEBED_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TBED_SIZED_NBYTES_MAX 4096 /* no struct is longer; a larger size is the caller's mistake */

/* Fills the caller's struct. An older one gets the fields that it has; a newer one gets zeros in the unknown fields. */
static inline void tbed_sized_give(void *to, size_t to_nbytes, const void *from, size_t from_nbytes)
{
    /* 'from_nbytes' is a constant, so this compiles to a few moves instead of a call. */
    if (to_nbytes == from_nbytes) {
        memcpy(to, from, from_nbytes);
        return;
    }
    size_t shared = to_nbytes < from_nbytes ? to_nbytes : from_nbytes;
    memcpy(to, from, shared);
    if (to_nbytes > shared)
        memset((char *)to + shared, 0, to_nbytes - shared);
}

/*
 * Reads the caller's struct; fields that an older one lacks are zero. False: a newer one sets a field that this library
 * does not know, or the size is invalid.
 */
static inline bool tbed_sized_take(void *to, size_t to_nbytes, const void *from, size_t from_nbytes)
{
    if (from_nbytes < sizeof(size_t) || from_nbytes > TBED_SIZED_NBYTES_MAX)
        return false;
    for (size_t i = to_nbytes; i < from_nbytes; i++)
        if (((const char *)from)[i] != 0)
            return false;
    tbed_sized_give(to, to_nbytes, from, from_nbytes);
    return true;
}

/* The same for options, which begin with their size. NULL stands for all zeros. */
static inline bool tbed_options_take(void *to, size_t to_nbytes, const void *given)
{
    size_t given_nbytes;
    memset(to, 0, to_nbytes);
    if (given == NULL)
        return true;
    memcpy(&given_nbytes, given, sizeof given_nbytes);
    return tbed_sized_take(to, to_nbytes, given, given_nbytes);
}

#endif
