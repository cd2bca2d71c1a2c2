/*
 * How the writer's functions fill in an error.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_FAIL_H
#define TRACEBED_WRITER_FAIL_H

#include <stdint.h>

#include "tracebed/format.h"

static inline enum tbed_status tbed_fail_at(struct tbed_error *error, enum tbed_status status,
                                            int system_errno, uint64_t offset)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = offset};
    return status;
}

static inline enum tbed_status tbed_fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    return tbed_fail_at(error, status, system_errno, UINT64_MAX);
}

#endif
