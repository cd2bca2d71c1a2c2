/*
 * The version of the library, for programs that were compiled with the headers of another one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracebed/format.h"

uint32_t tbed_version(void)
{
    return TBED_VERSION_NUMBER;
}
