/*
 * Profiles of measureme made in memory for tests, byte by byte from spec/measureme.md, in every format, so that any
 * byte can be corrupted. Nothing here uses the code under test, nor the export.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_BUILDER_H
#define TRACEBED_PROFILE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_bytes {
    uint8_t *bytes;
    size_t nbytes, room;
};
void profile_bytes_add(struct profile_bytes *to, const void *bytes, size_t nbytes);
void profile_bytes_u32(struct profile_bytes *to, uint32_t value);
void profile_bytes_free(struct profile_bytes *bytes);

/* The streams: events, string data, string index; each starts with its 8 bytes. */
struct profile {
    uint32_t version;
    struct profile_bytes streams[3];
    uint32_t next_regular; /* of formats 0 and 3, whose regular ids are counted */
};
void profile_start(struct profile *profile, uint32_t version);
void profile_free(struct profile *profile);

/* A component: text, or where that is NULL a reference. */
struct profile_part {
    const char *text;
    uint64_t id;
};

/* An entry; its address. Format 0 has no references. */
uint64_t profile_entry(struct profile *profile, const struct profile_part *parts, size_t count);
uint64_t profile_text(struct profile *profile, const char *text);

/* The regular id of the entry at the address; formats 0 and 3 note it in the index. */
uint64_t profile_regular(struct profile *profile, uint64_t address);
uint64_t profile_metadata_id(uint32_t version);

/* A record of the index. */
void profile_bind(struct profile *profile, uint64_t id, uint64_t address);

/* Events. Format 0 writes an interval as two, its start just before its end. */
void profile_interval(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t begin,
                      uint64_t end);
void profile_instant(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t time);
void profile_integer(struct profile *profile, uint64_t kind, uint64_t id, uint32_t thread, uint64_t value);
void profile_half(struct profile *profile, uint32_t kind, uint32_t id, uint64_t thread, uint64_t ns,
                  unsigned type); /* of format 0 */

/* A page of a paged file, and the file's first 8 bytes. */
void profile_file_start(struct profile_bytes *file, uint32_t version);
void profile_page(struct profile_bytes *file, uint8_t tag, const void *bytes, size_t nbytes);

/* The streams in turn, in pages of at most 'page_nbytes' each; pages may cut anything, events too. */
struct profile_bytes profile_paged(const struct profile *profile, size_t page_nbytes);

/*
 * A profile with everything that the format supports: every kind of event, nested references, code points of every
 * length, virtual ids, one of them bound twice, an undefined id.
 */
void profile_sample(struct profile *profile, uint32_t version);

#endif
