/*
 * A trace that is written page by page; see trace_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/traces/out/trace_file.h"

#include "format/checksum.h"
#include "format/file/directory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

void tbed_trace_file_fail(struct trace_file *file, enum tbed_status status, int system_errno)
{
    if (file->status != TBED_OK)
        return;
    file->status = status;
    file->system_errno = system_errno;
}

static void store(struct trace_file *file, const uint8_t *page, uint64_t number)
{
    size_t done = 0;
    while (file->status == TBED_OK && done < file->page_nbytes) {
        ssize_t nbytes = pwrite(file->fd, page + done, file->page_nbytes - done,
                                (off_t)(number * file->page_nbytes + done));
        if (nbytes > 0)
            done += (size_t)nbytes;
        else if (nbytes == 0 || errno != EINTR)
            tbed_trace_file_fail(file,
                                 errno == ENOSPC || errno == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE,
                                 nbytes == 0 ? EIO : errno);
    }
}

void tbed_trace_file_open(struct trace_file *file, int fd, const struct tbed_header_fields *fields)
{
    *file = (struct trace_file){.fd = fd,
                                .page_nbytes = fields->page_nbytes,
                                .page_count = 1,
                                .file_id = fields->file_id,
                                .header = calloc(1, fields->page_nbytes)};
    if (file->header == NULL)
        tbed_trace_file_fail(file, TBED_ERR_MEMORY, ENOMEM);
    else
        tbed_header_make(file->header, fields);
}

void tbed_trace_file_free(struct trace_file *file)
{
    for (size_t i = 0; i < file->directory_pages.count; i++)
        free(file->directory_pages.items[i]);
    tbed_vector_free(&file->directory_pages.vector);
    free(file->header);
    file->header = NULL;
}

/* ---- Pages ---- */

static void add_directory_page(struct trace_file *file)
{
    uint8_t *page = calloc(1, file->page_nbytes);
    uint8_t **place = page != NULL ? TBED_VECTOR_PUSH(&file->directory_pages) : NULL;
    if (place == NULL) {
        free(page);
        tbed_trace_file_fail(file, TBED_ERR_MEMORY, ENOMEM);
        return;
    }
    *place = page;
    tbed_directory_page_make(page, file->header, (uint32_t)file->page_count);
    file->page_count++;
}

void tbed_trace_file_begin(struct trace_file *file, uint8_t *page, const struct tbed_block_fields *block)
{
    if (file->status != TBED_OK)
        return;
    if (tbed_directory_has_page(file->page_nbytes, file->page_count))
        add_directory_page(file);
    if (file->page_count >= UINT32_MAX)
        tbed_trace_file_fail(file, TBED_ERR_WRITE, EFBIG);
    struct tbed_disk_block header = {
        .kind = (uint8_t)block->kind,
        .shift = (uint8_t)__builtin_ctz(file->page_nbytes),
        .page = tbed_le32_make((uint32_t)file->page_count),
        .file_id = tbed_le64_make(file->file_id),
        .stream = tbed_le32_make(block->stream),
        .sequence = tbed_le32_make(block->sequence),
        .string_page = tbed_le32_make(block->string_page),
        .first_tick = tbed_le64_make(block->first_tick),
        .depth = tbed_le32_make(block->depth),
    };
    memset(page, 0, file->page_nbytes);
    memcpy(page, &header, sizeof header);
    file->page_count++;
}

/* The place of a page's entry. */
static uint8_t *entry_of(const struct trace_file *file, uint64_t page)
{
    uint64_t offset = tbed_directory_entry_offset(file->page_nbytes, page);
    uint64_t number = offset / file->page_nbytes;
    uint64_t index = (number - tbed_directory_first_count(file->page_nbytes)) /
                     (tbed_directory_page_count(file->page_nbytes) + 1);
    uint8_t *bytes = number == 0 ? file->header : file->directory_pages.items[index];
    return bytes + offset % file->page_nbytes;
}

void tbed_trace_file_end(struct trace_file *file, uint8_t *page, uint32_t used_nbytes, uint64_t last_tick,
                         uint64_t least_begin_tick)
{
    if (file->status != TBED_OK)
        return;
    struct tbed_disk_block header;
    memcpy(&header, page, sizeof header);
    header.last_tick = tbed_le64_make(last_tick);
    header.used_nbytes = tbed_le32_make(used_nbytes);
    header.checksum =
        tbed_le64_make(tbed_block_checksum_apart(&header, page + sizeof header, used_nbytes - sizeof header));
    memcpy(page, &header, sizeof header);
    struct tbed_block_fields fields = tbed_block_load(page);
    struct tbed_disk_entry entry = tbed_entry_make(&fields, least_begin_tick);
    memcpy(entry_of(file, fields.page), &entry, sizeof entry);
    store(file, page, fields.page);
}

/* ---- The end ---- */

static void close_header(struct trace_file *file)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)(void *)file->header;
    size_t nbytes = (size_t)(file->page_count * file->page_nbytes);
    const uint8_t *map = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED) {
        tbed_trace_file_fail(file, TBED_ERR_MAP, errno);
        return;
    }
    header->closing_checksum =
        tbed_le64_make(tbed_closing_checksum(header, map, file->page_nbytes, file->page_count));
    munmap((void *)(uintptr_t)map, nbytes);
}

void tbed_trace_file_finish(struct trace_file *file, const struct trace_counters *counters)
{
    if (file->status != TBED_OK)
        return;
    struct tbed_disk_header *header = (struct tbed_disk_header *)(void *)file->header;
    header->page_count = tbed_le64_make(file->page_count);
    header->next_stream = tbed_le64_make(counters->next_stream);
    header->next_string_page = tbed_le64_make(counters->next_string_page);
    header->next_reserved_id = tbed_le64_make(counters->next_reserved_id);
    for (unsigned cause = 0; cause <= TBED_DROP_SANDBOX; cause++) /* those that this version knows */
        header->drops[cause] = tbed_le64_make(counters->drops[cause]);
    header->state = tbed_le32_make(TBED_STATE_SHUT);
    for (size_t i = 0; i < file->directory_pages.count; i++)
        store(file, file->directory_pages.items[i], tbed_directory_page(file->page_nbytes, i));
    store(file, file->header, 0);
    if (file->status == TBED_OK)
        close_header(file);
    store(file, file->header, 0);
}
