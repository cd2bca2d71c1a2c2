/*
 * Recovery: turns a trace whose writers ended without closing it into a clean one. Nothing that was committed is lost.
 *
 * Source: spec/format.md, section 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/block.h"
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "writer/base/fail.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/pages/pages.h"

struct sealing {
    int fd;
    uint8_t *map;
    uint64_t map_nbytes;
    uint64_t nbytes; /* whole pages, all in the file */
    uint32_t page_nbytes;
    uint32_t ring_page_count;
    struct tbed_block_place place;
    uint32_t ended_nbytes; /* where the entry says that the block's content ends; 0: it does not say */
    struct tbed_error *error;
};

static struct tbed_disk_header *shared_of(const struct sealing *sealing)
{
    return (struct tbed_disk_header *)sealing->map;
}

static uint64_t offset_of(const struct sealing *sealing, const uint8_t *block)
{
    return (uint64_t)(block - sealing->map);
}

/* ---- Blocks and pages that were never begun ---- */

/*
 * A writer that was killed while it began a block has stored less than a header and its stack, or a copy of the header
 * page. Whatever else is there may be events of a block whose kind was lost, so it stays.
 */
static enum tbed_status clear_unbegun(const struct sealing *sealing, uint8_t *block, uint32_t nbytes)
{
    uint32_t stored = tbed_block_words_offset(nbytes, UINT32_MAX);
    if (!tbed_bytes_are_zero(block + stored, nbytes - stored))
        return tbed_fail_at(sealing->error, TBED_ERR_BLOCK_NOT_ZERO, 0, offset_of(sealing, block) + stored);
    memset(block, 0, stored);
    return TBED_OK;
}

/*
 * Clears a page of a ring whose mark shows that a killed writer had taken it and was zeroing it. A page that was never
 * taken must be zero: readers of the open trace ignore its contents, and sealing must not make them visible.
 */
static enum tbed_status clear_taken(const struct sealing *sealing, struct tbed_disk_entry *entry,
                                    uint8_t *page)
{
    struct tbed_mark mark = tbed_mark_load(entry);
    if (mark.state == TBED_MARK_NEW &&
        !(tbed_bytes_are_zero(entry, TBED_ENTRY_NBYTES) && tbed_bytes_are_zero(page, sealing->page_nbytes)))
        return tbed_fail_at(sealing->error, TBED_ERR_BLOCK_NOT_ZERO, 0, offset_of(sealing, page));
    if (mark.state != TBED_MARK_TAKEN)
        return TBED_OK;
    memset(page, 0, sealing->page_nbytes);
    tbed_entry_clear(entry);
    mark.state = TBED_MARK_RELEASED;
    tbed_word_store(tbed_mark_at(entry), tbed_mark_word(mark));
    return TBED_OK;
}

/* ---- Blocks ---- */

/* Zeroes an interrupted record, then seals. */
static void seal_at(struct sealing *sealing, uint8_t *block, const struct tbed_block_scan *scan)
{
    if (scan->has_rest) {
        memset(block + scan->end_nbytes, 0, sealing->place.nbytes - scan->end_nbytes);
        tbed_shared_add(&shared_of(sealing)->drops[TBED_DROP_INTERRUPTED], 1);
    }
    tbed_block_seal_alone(block, scan->end_nbytes, scan->last_tick);
}

static enum tbed_status seal_content(struct sealing *sealing, uint8_t *block)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    struct tbed_block_scan scan;
    enum tbed_status status =
        tbed_block_scan(block, sealing->place.nbytes, (enum tbed_block_kind)fields.kind, &scan);
    if (status == TBED_OK)
        status = tbed_block_end_check(block, sealing->place.nbytes, (enum tbed_block_kind)fields.kind, &scan,
                                      sealing->ended_nbytes);
    if (status != TBED_OK)
        return tbed_fail_at(sealing->error, status, 0, offset_of(sealing, block) + scan.end_nbytes);
    seal_at(sealing, block, &scan);
    return TBED_OK;
}

static enum tbed_status check_header(const struct sealing *sealing, const uint8_t *block,
                                     const struct tbed_block_fields *fields)
{
    uint32_t field;
    uint64_t detail;
    enum tbed_status status = tbed_block_header_check(fields, &sealing->place, &field, &detail);
    return status == TBED_OK ? TBED_OK
                             : tbed_fail_at(sealing->error, status, 0, offset_of(sealing, block) + field);
}

/* Damaged blocks are left alone, for readers to report; the file then cannot be shut. */
static enum tbed_status seal_block(struct sealing *sealing, uint8_t *block)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    if (fields.kind == TBED_BLOCK_NONE)
        return clear_unbegun(sealing, block, sealing->place.nbytes);
    enum tbed_status status = check_header(sealing, block, &fields);
    if (status != TBED_OK || fields.kind == TBED_BLOCK_CELLS || fields.used_nbytes != 0)
        return status;
    return seal_content(sealing, block);
}

/* ---- Pages and their entries ---- */

/* Accepts a block that its entry agrees with, or a page without a block whose entry does not say that it has begun. */
static enum tbed_status check_entry(const struct sealing *sealing, const struct tbed_disk_entry *entry,
                                    const uint8_t *block, const struct tbed_block_fields *fields)
{
    struct tbed_entry_fields says = tbed_entry_load(entry);
    uint64_t entry_offset = offset_of(sealing, (const uint8_t *)entry);
    bool is_begun = fields->kind != TBED_BLOCK_NONE;
    enum tbed_status status = is_begun ? check_header(sealing, block, fields) : TBED_OK;
    if (status != TBED_OK)
        return status;
    if (!says.is_valid || (is_begun && (says.state == TBED_ENTRY_FREE || !tbed_entry_agrees(&says, fields))))
        return tbed_fail_at(sealing->error, TBED_ERR_DIRECTORY_ENTRY, 0, entry_offset);
    if (!is_begun && says.state >= TBED_ENTRY_BEGUN)
        return tbed_fail_at(sealing->error, TBED_ERR_BLOCK_LOST, 0, offset_of(sealing, block));
    return TBED_OK;
}

static void seal_entry(struct tbed_disk_entry *entry, const uint8_t *block, uint32_t nbytes)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    struct tbed_block_scan scan = {.least_begin_tick = fields.first_tick};
    if (fields.kind == TBED_BLOCK_NONE || entry->state == TBED_ENTRY_SEALED)
        return;
    if (fields.kind == TBED_BLOCK_EVENTS)
        tbed_block_scan(block, nbytes, TBED_BLOCK_EVENTS, &scan);
    struct tbed_disk_entry sealed = tbed_entry_make(&fields, scan.least_begin_tick);
    sealed.flags = entry->flags;
    sealed.process = entry->process;
    sealed.age = entry->age;
    *entry = sealed;
}

/*
 * A page with fewer cells than were begun has lost some, and is not changed. There may be more than were counted: a writer
 * may have been killed before it counted its last one.
 */
static enum tbed_status check_cells(const struct sealing *sealing, const struct tbed_disk_entry *entry,
                                    const uint8_t *page, uint32_t cell_nbytes, uint32_t *begun_ret)
{
    uint32_t begun = 0, lowest = 0;
    for (uint32_t at = sealing->page_nbytes - cell_nbytes; at > 0; at -= cell_nbytes) {
        bool is_begun = page[at] != TBED_BLOCK_NONE;
        begun += is_begun;
        lowest = is_begun ? lowest : at;
    }
    *begun_ret = begun;
    if (begun >= tbed_le16_load(entry->flags))
        return TBED_OK;
    return tbed_fail_at(sealing->error, TBED_ERR_BLOCK_LOST, 0, offset_of(sealing, page) + lowest);
}

static enum tbed_status seal_cells(struct sealing *sealing, struct tbed_disk_entry *entry, uint8_t *page)
{
    struct tbed_block_fields fields = tbed_block_load(page);
    uint32_t cell_nbytes = 1u << fields.shift, begun; /* checked with the page's header */
    enum tbed_status status = check_cells(sealing, entry, page, cell_nbytes, &begun);
    sealing->place.cells_string_page = fields.string_page;
    sealing->place.nbytes = cell_nbytes;
    sealing->ended_nbytes = 0;
    for (uint32_t cell = 1; status == TBED_OK && cell < sealing->page_nbytes / cell_nbytes; cell++) {
        sealing->place.cell = cell;
        status = seal_block(sealing, page + (size_t)cell * cell_nbytes);
    }
    if (status == TBED_OK)
        entry->flags = tbed_le16_make((uint16_t)begun);
    return status;
}

static enum tbed_status seal_page(struct sealing *sealing, uint32_t number)
{
    uint8_t *page = sealing->map + (uint64_t)number * sealing->page_nbytes;
    struct tbed_disk_entry *entry = tbed_entry_at(sealing->map, sealing->page_nbytes, page);
    enum tbed_status status =
        number <= sealing->ring_page_count ? clear_taken(sealing, entry, page) : TBED_OK;
    struct tbed_block_fields fields = tbed_block_load(page);
    sealing->place.page = number;
    sealing->place.cell = 0;
    sealing->place.nbytes = sealing->page_nbytes;
    sealing->ended_nbytes = entry->state == TBED_ENTRY_ENDED ? tbed_le32_load(entry->used_nbytes) : 0;
    if (status == TBED_OK)
        status = check_entry(sealing, entry, page, &fields);
    if (status == TBED_OK)
        status = seal_block(sealing, page);
    if (status == TBED_OK && page[0] == TBED_BLOCK_CELLS)
        status = seal_cells(sealing, entry, page);
    if (status == TBED_OK)
        seal_entry(entry, page, sealing->page_nbytes);
    return status;
}

static enum tbed_status seal_pages(struct sealing *sealing)
{
    uint64_t page_count = sealing->nbytes / sealing->page_nbytes;
    enum tbed_status status = TBED_OK;
    for (uint64_t page = 1; page < page_count && status == TBED_OK; page++) {
        if (!tbed_directory_has_page(sealing->page_nbytes, page))
            status = seal_page(sealing, (uint32_t)page);
        else if (!tbed_directory_page_is_valid(sealing->map + page * sealing->page_nbytes, sealing->map,
                                               (uint32_t)page))
            status = tbed_fail_at(sealing->error, TBED_ERR_DIRECTORY_PAGE, 0, page * sealing->page_nbytes);
    }
    return status;
}

static enum tbed_status seal_mapped(struct sealing *sealing)
{
    struct tbed_disk_header *shared = shared_of(sealing);
    uint64_t pages_in_file = sealing->nbytes / sealing->page_nbytes;
    uint64_t page_count = tbed_shared_load(&shared->page_count);
    if (page_count < (uint64_t)sealing->ring_page_count + 1)
        return tbed_fail_at(sealing->error, TBED_ERR_PAGE_COUNT, 0,
                            offsetof(struct tbed_disk_header, page_count));
    if (page_count > pages_in_file)
        return tbed_fail_at(sealing->error, TBED_ERR_BLOCK_CUT, 0, sealing->nbytes);
    sealing->nbytes = page_count * sealing->page_nbytes;
    sealing->place.next_stream = tbed_shared_load(&shared->next_stream);
    sealing->place.next_string_page = tbed_shared_load(&shared->next_string_page);
    enum tbed_status status = seal_pages(sealing);
    if (status != TBED_OK)
        return status;
    if (!tbed_file_shut(sealing->map, sealing->map_nbytes, sealing->page_nbytes, sealing->fd))
        return tbed_fail_at(sealing->error, TBED_ERR_WRITE, errno, UINT64_MAX);
    return TBED_OK;
}

static uint64_t closing_checksum(const struct sealing *sealing)
{
    uint64_t in_file = sealing->nbytes / sealing->page_nbytes;
    uint64_t claimed = tbed_shared_load(&shared_of(sealing)->page_count);
    return tbed_closing_checksum(sealing->map, sealing->map, sealing->page_nbytes,
                                 claimed < in_file ? claimed : in_file);
}

/* A file that is already shut is only checked: sealing it again would hide its damage. */
static enum tbed_status check_shut(const struct sealing *sealing, uint64_t file_nbytes)
{
    struct tbed_disk_header *shared = shared_of(sealing);
    uint64_t closing = tbed_shared_load(&shared->closing_checksum);
    if (closing != closing_checksum(sealing))
        return tbed_fail_at(sealing->error, TBED_ERR_CLOSING_CHECKSUM, 0,
                            offsetof(struct tbed_disk_header, closing_checksum));
    if (file_nbytes != tbed_shared_load(&shared->page_count) * sealing->page_nbytes)
        return tbed_fail_at(sealing->error, TBED_ERR_FILE_SIZE, 0, file_nbytes);
    return TBED_OK;
}

static enum tbed_status seal_by_state(struct sealing *sealing, uint64_t file_nbytes)
{
    switch (tbed_le32_load(shared_of(sealing)->state)) {
    case TBED_STATE_OPEN:
        return seal_mapped(sealing);
    case TBED_STATE_SHUT:
        return check_shut(sealing, file_nbytes);
    default:
        return tbed_fail_at(sealing->error, TBED_ERR_STATE, 0, offsetof(struct tbed_disk_header, state));
    }
}

static enum tbed_status seal_open_file(int fd, struct tbed_error *error)
{
    struct sealing sealing = {.fd = fd, .error = error};
    struct tbed_header_fields fields;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return tbed_fail_at(error, TBED_ERR_OPEN, errno, UINT64_MAX);
    if (!S_ISREG(status.st_mode))
        return tbed_fail_at(error, S_ISDIR(status.st_mode) ? TBED_ERR_IS_DIRECTORY : TBED_ERR_NOT_REGULAR, 0,
                            UINT64_MAX);
    if (status.st_size == 0)
        return tbed_fail_at(error, TBED_ERR_EMPTY, 0, 0);
    uint64_t map_nbytes = (uint64_t)status.st_size;
    void *map = tbed_shared_map(fd, map_nbytes, PROT_READ | PROT_WRITE);
    if (map == NULL)
        return tbed_fail_at(error, TBED_ERR_MAP, errno, UINT64_MAX);
    enum tbed_status result = tbed_header_check(map, (size_t)map_nbytes, &fields, error);
    if (result == TBED_OK) {
        sealing.map = map;
        sealing.map_nbytes = map_nbytes;
        sealing.page_nbytes = fields.page_nbytes;
        sealing.nbytes = map_nbytes & ~(uint64_t)(fields.page_nbytes - 1);
        sealing.place.file_id = fields.file_id;
        sealing.place.page_nbytes = fields.page_nbytes;
        sealing.ring_page_count = fields.ring_page_count;
        result = seal_by_state(&sealing, map_nbytes);
    }
    tbed_shared_unmap(map, map_nbytes);
    return result;
}

enum tbed_status tbed_trace_seal(const char *path, struct tbed_error *error_ret)
{
    struct tbed_error ignored;
    struct tbed_error *error = error_ret != NULL ? error_ret : &ignored;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return tbed_fail_at(error, errno == EISDIR ? TBED_ERR_IS_DIRECTORY : TBED_ERR_OPEN, errno,
                            UINT64_MAX);
    enum tbed_status status = flock(fd, LOCK_EX | LOCK_NB) != 0
                                  ? tbed_fail_at(error, TBED_ERR_BUSY, 0, UINT64_MAX)
                                  : seal_open_file(fd, error);
    close(fd);
    return status;
}
