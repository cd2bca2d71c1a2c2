/*
 * A folder in memory for files that must have names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_SCRATCH_H
#define TRACEBED_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* The folder, which is made on the first call and removed with everything in it when the process exits. */
const char *scratch_folder(void);

/* The path of a file in it; valid until the next call. */
const char *scratch_path(const char *name);

/* Stores a file. */
void scratch_put(const char *path, const void *bytes, size_t nbytes);

/*
 * Stores the files of an input, which has for each: a byte that chooses one of the names, its size in 2 bytes, and its bytes.
 * Files of these names that were there before are gone.
 */
void scratch_unpack(const char *const *names, size_t name_count, const uint8_t *data, size_t nbytes);

#endif
