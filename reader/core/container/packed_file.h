/*
 * A packed file that is read: its header and its units, found by the index or, if that is damaged or cut off, by walking
 * over the file. What is in the units is unpacked by packed_pages.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PACKED_FILE_H
#define TRACEBED_PACKED_FILE_H

#include "reader/core/base/vector.h"
#include "reader/core/container/packed_layout.h"

struct tbed_packed_unit {
    uint64_t offset; /* of its head in the packed file */
    uint64_t checksum;
    uint32_t packed_nbytes;
    uint32_t count;
    size_t first_page; /* where in 'pages' its page numbers are */
    uint32_t state;    /* atomic; packed_pages.c */
    bool was_good;     /* it has been unpacked before; atomic */
};

struct tbed_packed_file {
    int fd;               /* the caller's; -1: in memory */
    const uint8_t *bytes; /* then */
    uint64_t nbytes;
    struct tbed_packed_header header;
    uint64_t page_count; /* of the plain file */
    TBED_VECTOR(struct tbed_packed_unit) units;
    TBED_VECTOR(uint32_t) pages;
    uint32_t *page_units;         /* by page: the number of its unit + 1; 0: none. Mostly untouched memory */
    TBED_VECTOR(uint32_t) sorted; /* 'pages' in ascending order */
    uint32_t packed_nbytes_max;
    /* What was wrong with the file as a whole, though it can be read; TBED_OK: nothing. */
    enum tbed_status problem;
    uint64_t problem_offset;
};

/*
 * Reads the header and finds the units. 'fd' or 'bytes' must outlive 'file_ret'. Memory grows with the index, at most
 * fourfold.
 *
 * Errors: ERR_VERSION, ERR_FLAGS, ERR_PACKED_HEADER, ERR_READ, ERR_MEMORY, ERR_MAP.
 */
enum tbed_status tbed_packed_file_open(struct tbed_packed_file *file_ret, int fd, const void *bytes,
                                       uint64_t nbytes, struct tbed_error *error_ret);
void tbed_packed_file_close(struct tbed_packed_file *file);

/* Is 'fd' a packed file? Its offset is not used. */
bool tbed_packed_fd_is(int fd);

/* The bytes at [offset, offset + nbytes): in memory, or read into 'buffer'. NULL: they cannot be read. */
const uint8_t *tbed_packed_bytes(const struct tbed_packed_file *file, uint64_t offset, size_t nbytes,
                                 uint8_t *buffer);

/* The packed bytes of a unit, whose checksum matches, with the head before them. NULL: it is damaged. 'buffer' has room for
 * tbed_packed_read_nbytes(). */
const uint8_t *tbed_packed_read(const struct tbed_packed_file *file, const struct tbed_packed_unit *unit,
                                uint8_t *buffer);
static inline size_t tbed_packed_read_nbytes(const struct tbed_packed_file *file)
{
    return TBED_PACKED_HEAD_NBYTES_MAX + file->packed_nbytes_max;
}

/* The first page from 'page' on, which is one of the file's, that a unit has; 'page_count': none. */
uint64_t tbed_packed_next_page(const struct tbed_packed_file *file, uint64_t page);

/* The unit of a page; NULL: none, so that the page was a hole of the plain file, or is lost. */
static inline struct tbed_packed_unit *tbed_packed_unit_of(const struct tbed_packed_file *file, uint64_t page)
{
    uint32_t number = page < file->page_count ? file->page_units[page] : 0;
    return number == 0 ? NULL : &file->units.items[number - 1];
}

#endif
