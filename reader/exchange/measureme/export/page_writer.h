/*
 * Writes the paged container of measureme: "MMPD", version, and pages of three streams.
 *
 * Source: spec/measureme.md, "Container".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PAGE_WRITER_H
#define TRACEBED_EXCHANGE_PAGE_WRITER_H

#include <tracebed/format.h>

#include "reader/exchange/measureme/file/measureme.h"

struct page_stream {
    uint8_t *page;    /* its header, then the buffered bytes */
    size_t nbytes;    /* of the buffered bytes */
    uint64_t address; /* in the stream, of the next byte */
};

struct page_writer {
    int fd;
    int failed_errno; /* 0: no failure */
    struct page_stream streams[MM_STREAM_COUNT];
};

/* Begins the file with its header, and each stream with its own. False: no memory. */
bool tbed_page_writer_open(struct page_writer *pages, int fd, uint32_t version);

/* Bytes of strings and of the index may cross a page's end; an event does not. Failures are remembered. */
void tbed_page_put(struct page_writer *pages, enum mm_stream stream, const void *bytes, size_t nbytes);
void tbed_page_put_whole(struct page_writer *pages, enum mm_stream stream, const void *bytes, size_t nbytes);

/* Writes the buffered bytes, and frees. False: not everything could be written; 'failed_errno' says why. */
bool tbed_page_writer_close(struct page_writer *pages);

#endif
