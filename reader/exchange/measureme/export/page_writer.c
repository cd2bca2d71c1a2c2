/*
 * Writes the paged container: each stream collects a page of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/export/page_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_NBYTES_MAX    262144u
#define PAGE_HEADER_NBYTES 5u

static void write_all(struct page_writer *pages, const uint8_t *bytes, size_t nbytes)
{
    while (nbytes > 0 && pages->failed_errno == 0) {
        ssize_t written = write(pages->fd, bytes, nbytes);
        if (written < 0 && errno != EINTR)
            pages->failed_errno = errno;
        if (written > 0) {
            bytes += written;
            nbytes -= (size_t)written;
        }
    }
}

static void store_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void flush(struct page_writer *pages, enum mm_stream which)
{
    struct page_stream *stream = &pages->streams[which];
    if (stream->nbytes == 0)
        return;
    stream->page[0] = (uint8_t)which;
    store_u32(stream->page + 1, (uint32_t)stream->nbytes);
    write_all(pages, stream->page, PAGE_HEADER_NBYTES + stream->nbytes);
    stream->nbytes = 0;
}

void tbed_page_put(struct page_writer *pages, enum mm_stream which, const void *bytes, size_t nbytes)
{
    struct page_stream *stream = &pages->streams[which];
    const uint8_t *at = bytes;
    stream->address += nbytes;
    while (nbytes > 0) {
        size_t room = PAGE_NBYTES_MAX - stream->nbytes;
        size_t part = nbytes < room ? nbytes : room;
        memcpy(stream->page + PAGE_HEADER_NBYTES + stream->nbytes, at, part);
        stream->nbytes += part;
        at += part;
        nbytes -= part;
        if (stream->nbytes == PAGE_NBYTES_MAX)
            flush(pages, which);
    }
}

void tbed_page_put_whole(struct page_writer *pages, enum mm_stream which, const void *bytes, size_t nbytes)
{
    if (nbytes > PAGE_NBYTES_MAX - pages->streams[which].nbytes)
        flush(pages, which);
    tbed_page_put(pages, which, bytes, nbytes);
}

static void free_all(struct page_writer *pages)
{
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        free(pages->streams[i].page);
}

bool tbed_page_writer_open(struct page_writer *pages, int fd, uint32_t version)
{
    static const char magics[MM_STREAM_COUNT][5] = {
        [MM_EVENTS] = "MMES", [MM_STRING_DATA] = "MMSD", [MM_STRING_INDEX] = "MMSI"};
    uint8_t header[8] = {'M', 'M', 'P', 'D'};
    *pages = (struct page_writer){.fd = fd};
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        pages->streams[i].page = malloc(PAGE_HEADER_NBYTES + PAGE_NBYTES_MAX);
        if (pages->streams[i].page == NULL) {
            free_all(pages);
            return false;
        }
    }
    store_u32(header + 4, version);
    write_all(pages, header, sizeof header);
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        memcpy(header, magics[i], 4);
        tbed_page_put(pages, (enum mm_stream)i, header, sizeof header);
    }
    return true;
}

bool tbed_page_writer_close(struct page_writer *pages)
{
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        flush(pages, (enum mm_stream)i);
    free_all(pages);
    return pages->failed_errno == 0;
}
