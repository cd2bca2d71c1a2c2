/*
 * Memory comes from mmap() only: the library may run inside somebody's malloc().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_MEMORY_H
#define TRACEBED_WRITER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Zeroed private pages; NULL if there are none. tbed_pages_free() takes NULL. In a sandbox they come from what was
 * reserved, and are not given back.
 */
void *tbed_pages_alloc(size_t nbytes);
void tbed_pages_free(void *pages, size_t nbytes);
/* Before a sandbox is entered. May be called repeatedly. */
void tbed_pages_reserve(void);

/* Maps the first bytes of a file, shared. NULL with errno: ENOMEM if there are fewer addresses than bytes. */
void *tbed_shared_map(int fd, uint64_t nbytes, int protection);
void tbed_shared_unmap(const void *map, uint64_t nbytes);

#endif
