/*
 * A slow and obvious reader of profiles, to compare the fast one with: it puts each stream together in one buffer and
 * decodes that, byte by byte, searching from the start each time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_ORACLE_H
#define TRACEBED_PROFILE_ORACLE_H

#include "reader/exchange/measureme/file/measureme.h"

/*
 * Opens the bytes, in the form for mm_open_memory(), with both readers, and aborts if the results differ in anything.
 * Returns the status of opening. 'thorough': also walks from every address, and looks up every id; for small
 * profiles.
 */
enum tbed_status profile_compare(const void *const bytes[MM_STREAM_COUNT],
                                 const size_t nbytes[MM_STREAM_COUNT], bool thorough);

#endif
