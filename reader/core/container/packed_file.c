/*
 * A packed file that is read; see packed_file.h.
 *
 * Every unit has its head in front of it and once more in the index. The index is read at once. Without it, the file is
 * searched for heads: a unit whose checksum matches is taken, and the search goes on behind it; everywhere else it goes on
 * eight bytes later. Heads whose units are damaged come last, and get the pages that no other unit has.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/container/packed_file.h"

#include "format/checksum.h"
#include "reader/core/system/system.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER_NBYTES sizeof(struct tbed_disk_packed_header)

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno,
                             uint64_t offset)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = offset};
    return status;
}

/* ---- Bytes ---- */

static bool read_all(int fd, uint64_t offset, size_t nbytes, uint8_t *buffer)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t got = pread(fd, buffer + at, nbytes - at, (off_t)(offset + at));
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

const uint8_t *tbed_packed_bytes(const struct tbed_packed_file *file, uint64_t offset, size_t nbytes,
                                 uint8_t *buffer)
{
    if (offset > file->nbytes || nbytes > file->nbytes - offset)
        return NULL;
    if (file->fd < 0)
        return file->bytes + offset;
    return read_all(file->fd, offset, nbytes, buffer) ? buffer : NULL;
}

bool tbed_packed_fd_is(int fd)
{
    uint8_t magic[8];
    return read_all(fd, 0, sizeof magic, magic) && tbed_packed_is(magic, sizeof magic);
}

/* ---- Units ---- */

/* No page may be in two units, or beyond the file. */
static bool are_free(const struct tbed_packed_file *file, const struct tbed_packed_head *head)
{
    for (uint32_t i = 0; i < head->count; i++) {
        if (head->pages[i] >= file->page_count || file->page_units[head->pages[i]] != 0)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (head->pages[j] == head->pages[i])
                return false;
    }
    return true;
}

static void note_problem(struct tbed_packed_file *file, enum tbed_status status, uint64_t offset)
{
    if (file->problem == TBED_OK) {
        file->problem = status;
        file->problem_offset = offset;
    }
}

/* Adds a unit, unless it claims what is not its own. Errors: ERR_MEMORY. */
static enum tbed_status add_unit(struct tbed_packed_file *file, const struct tbed_packed_head *head,
                                 uint64_t offset)
{
    if (!are_free(file, head)) {
        note_problem(file, TBED_ERR_PACKED_UNIT, offset);
        return TBED_OK;
    }
    size_t first_page = file->pages.count;
    uint32_t *pages = TBED_VECTOR_EXTEND(&file->pages, head->count);
    struct tbed_packed_unit *unit = pages != NULL ? TBED_VECTOR_PUSH(&file->units) : NULL;
    if (unit == NULL)
        return TBED_ERR_MEMORY;
    *unit = (struct tbed_packed_unit){.offset = offset,
                                      .checksum = head->checksum,
                                      .packed_nbytes = head->packed_nbytes,
                                      .count = head->count,
                                      .first_page = first_page};
    memcpy(pages, head->pages, head->count * sizeof *pages);
    for (uint32_t i = 0; i < head->count; i++)
        file->page_units[head->pages[i]] = (uint32_t)file->units.count;
    if (head->packed_nbytes > file->packed_nbytes_max)
        file->packed_nbytes_max = head->packed_nbytes;
    return TBED_OK;
}

static void head_of(const struct tbed_packed_file *file, const struct tbed_packed_unit *unit,
                    struct tbed_packed_head *head_ret)
{
    *head_ret = (struct tbed_packed_head){
        .count = unit->count, .packed_nbytes = unit->packed_nbytes, .checksum = unit->checksum};
    memcpy(head_ret->pages, file->pages.items + unit->first_page, unit->count * sizeof head_ret->pages[0]);
}

const uint8_t *tbed_packed_read(const struct tbed_packed_file *file, const struct tbed_packed_unit *unit,
                                uint8_t *buffer)
{
    struct tbed_packed_head known, found;
    size_t head_nbytes = tbed_packed_head_nbytes(unit->count);
    size_t nbytes = head_nbytes + unit->packed_nbytes;
    const uint8_t *bytes = tbed_packed_bytes(file, unit->offset, nbytes, buffer);
    head_of(file, unit, &known);
    if (bytes == NULL ||
        !tbed_packed_head_load(bytes, nbytes, TBED_PACKED_UNIT_MAGIC, file->header.page_nbytes, &found) ||
        memcmp(&known, &found, sizeof known) != 0 ||
        tbed_packed_checksum(&known, bytes + head_nbytes) != known.checksum)
        return NULL;
    return bytes + head_nbytes;
}

/* ---- The index ---- */

static bool load_trailer(const struct tbed_packed_file *file, struct tbed_packed_trailer *trailer_ret)
{
    struct tbed_disk_packed_trailer disk;
    if (file->nbytes < HEADER_NBYTES + sizeof disk)
        return false;
    const uint8_t *bytes = tbed_packed_bytes(file, file->nbytes - sizeof disk, sizeof disk, (uint8_t *)&disk);
    if (bytes == NULL)
        return false;
    memmove(&disk, bytes, sizeof disk);
    uint64_t end = file->nbytes - sizeof disk;
    return tbed_packed_trailer_load(&disk, trailer_ret) && trailer_ret->index_offset <= end &&
           trailer_ret->index_nbytes == end - trailer_ret->index_offset &&
           trailer_ret->index_nbytes >= HEADER_NBYTES && trailer_ret->index_nbytes <= SIZE_MAX / 2;
}

/* The index, which the caller frees; NULL: it is damaged, or there is no memory. */
static uint8_t *load_index(const struct tbed_packed_file *file, size_t *nbytes_ret, bool *no_memory_ret)
{
    struct tbed_packed_trailer trailer;
    *no_memory_ret = false;
    if (!load_trailer(file, &trailer))
        return NULL;
    uint8_t *index = malloc((size_t)trailer.index_nbytes);
    *no_memory_ret = index == NULL;
    if (index == NULL)
        return NULL;
    const uint8_t *bytes = tbed_packed_bytes(file, trailer.index_offset, (size_t)trailer.index_nbytes, index);
    if (bytes == NULL || tbed_hash64(bytes, (size_t)trailer.index_nbytes) != trailer.index_checksum) {
        free(index);
        return NULL;
    }
    if (bytes != index)
        memcpy(index, bytes, (size_t)trailer.index_nbytes);
    *nbytes_ret = (size_t)trailer.index_nbytes;
    return index;
}

static enum tbed_status take_index(struct tbed_packed_file *file, const uint8_t *index, size_t nbytes)
{
    uint64_t offset = HEADER_NBYTES, end = file->nbytes - nbytes - sizeof(struct tbed_disk_packed_trailer);
    enum tbed_status status = TBED_OK;
    for (size_t at = HEADER_NBYTES; at < nbytes && status == TBED_OK;) {
        struct tbed_packed_head head;
        if (!tbed_packed_head_load(index + at, nbytes - at, TBED_PACKED_ENTRY_MAGIC, file->header.page_nbytes,
                                   &head) ||
            tbed_packed_unit_nbytes(&head) > end - offset) {
            note_problem(file, TBED_ERR_PACKED_INDEX, end + at);
            break;
        }
        status = add_unit(file, &head, offset);
        offset += tbed_packed_unit_nbytes(&head);
        at += tbed_packed_head_nbytes(head.count);
    }
    return status;
}

/* ---- Without the index ---- */

struct found_unit {
    uint64_t offset;
    struct tbed_packed_head head;
};

/* A search for units through a window of the file. */
struct search {
    struct tbed_packed_file *file;
    uint8_t *window; /* of a file that is not in memory */
    const uint8_t *bytes;
    uint64_t start, end; /* the part of the file that 'bytes' has */
    uint64_t hashed_nbytes;
    TBED_VECTOR(struct found_unit) damaged;
};

#define WINDOW_NBYTES ((size_t)4 << 20)
#define HASHED_MAX    8u /* times the file's size: a hostile file could claim a large unit every 32 bytes */
_Static_assert(WINDOW_NBYTES >= 2 * (size_t)PACK_UNIT_NBYTES_MAX, "a unit fits");

/* Makes the window begin at 'offset', which never decreases, unless it has a unit's worth of bytes from there on. */
static bool look_at(struct search *search, uint64_t offset)
{
    uint64_t left = search->file->nbytes - offset;
    uint64_t wanted = left < WINDOW_NBYTES / 2 ? left : WINDOW_NBYTES / 2;
    if (search->bytes != NULL && search->end - offset >= wanted)
        return true;
    size_t nbytes = left < WINDOW_NBYTES ? (size_t)left : WINDOW_NBYTES;
    search->start = offset;
    search->end = offset + nbytes;
    search->bytes = tbed_packed_bytes(search->file, offset, nbytes, search->window);
    return search->bytes != NULL;
}

static bool is_whole(struct search *search, const struct tbed_packed_head *head, const uint8_t *packed)
{
    if (search->hashed_nbytes / HASHED_MAX > search->file->nbytes)
        return false;
    search->hashed_nbytes += head->packed_nbytes;
    return tbed_packed_checksum(head, packed) == head->checksum;
}

/* Looks for a unit at 'offset', and returns where to look next. */
static uint64_t look_for_unit(struct search *search, uint64_t offset, enum tbed_status *status)
{
    struct tbed_packed_head head;
    const uint8_t *at = search->bytes + (offset - search->start);
    uint64_t left = search->end - offset;
    if (!tbed_packed_head_load(at, left, TBED_PACKED_UNIT_MAGIC, search->file->header.page_nbytes, &head))
        return offset + TBED_PACKED_ALIGN;
    size_t head_nbytes = tbed_packed_head_nbytes(head.count);
    if (head.packed_nbytes <= left - head_nbytes && is_whole(search, &head, at + head_nbytes)) {
        *status = add_unit(search->file, &head, offset);
        return offset + tbed_packed_unit_nbytes(&head);
    }
    struct found_unit *found = TBED_VECTOR_PUSH(&search->damaged);
    if (found == NULL)
        *status = TBED_ERR_MEMORY;
    else
        *found = (struct found_unit){offset, head};
    return offset + TBED_PACKED_ALIGN;
}

static enum tbed_status search_units(struct tbed_packed_file *file)
{
    struct search search = {.file = file};
    enum tbed_status status = TBED_OK;
    search.window = file->fd >= 0 ? malloc(WINDOW_NBYTES) : NULL;
    if (file->fd >= 0 && search.window == NULL)
        return TBED_ERR_MEMORY;
    for (uint64_t offset = HEADER_NBYTES; offset < file->nbytes && status == TBED_OK;) {
        if (!look_at(&search, offset))
            status = TBED_ERR_READ;
        else
            offset = look_for_unit(&search, offset, &status);
    }
    for (size_t i = 0; i < search.damaged.count && status == TBED_OK; i++)
        if (are_free(file, &search.damaged.items[i].head))
            status = add_unit(file, &search.damaged.items[i].head, search.damaged.items[i].offset);
    tbed_vector_free(&search.damaged.vector);
    free(search.window);
    return status;
}

/* ---- The pages that are there ---- */

static int compare_pages(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static enum tbed_status sort_pages(struct tbed_packed_file *file)
{
    if (!tbed_vector_copy(&file->pages.vector, sizeof *file->pages.items, &file->sorted.vector))
        return TBED_ERR_MEMORY;
    if (file->sorted.count > 1)
        qsort(file->sorted.items, file->sorted.count, sizeof *file->sorted.items, compare_pages);
    return TBED_OK;
}

uint64_t tbed_packed_next_page(const struct tbed_packed_file *file, uint64_t page)
{
    size_t low = 0, high = file->sorted.count;
    if (file->page_units[page] != 0)
        return page;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->sorted.items[middle] < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low < file->sorted.count ? file->sorted.items[low] : file->page_count;
}

/* ---- Opening ---- */

/* The header, or the copy of it in the index. */
static enum tbed_status load_header(struct tbed_packed_file *file, const uint8_t *index,
                                    struct tbed_error *error)
{
    struct tbed_disk_packed_header disk = {0};
    uint64_t offset = 0, ignored;
    const uint8_t *bytes = tbed_packed_bytes(file, 0, sizeof disk, (uint8_t *)&disk);
    if (bytes == NULL)
        return fail(error, file->nbytes < sizeof disk ? TBED_ERR_PACKED_HEADER : TBED_ERR_READ, 0, 0);
    memmove(&disk, bytes, sizeof disk);
    enum tbed_status status = tbed_packed_header_load(&disk, &file->header, &offset);
    if (status != TBED_OK && index != NULL) {
        memcpy(&disk, index, sizeof disk);
        if (tbed_packed_header_load(&disk, &file->header, &ignored) == TBED_OK) {
            note_problem(file, TBED_ERR_PACKED_HEADER, offset);
            return TBED_OK;
        }
    }
    return status == TBED_OK ? TBED_OK : fail(error, status, 0, offset);
}

static enum tbed_status make_page_units(struct tbed_packed_file *file, struct tbed_error *error)
{
    file->page_count = (file->header.plain_nbytes - 1) / file->header.page_nbytes + 1;
    if (file->page_count > SIZE_MAX / sizeof *file->page_units)
        return fail(error, TBED_ERR_MAP, EFBIG, UINT64_MAX);
    void *memory = mmap(NULL, (size_t)file->page_count * sizeof *file->page_units, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return fail(error, TBED_ERR_MEMORY, errno, UINT64_MAX);
    file->page_units = memory;
    return TBED_OK;
}

static enum tbed_status find_units(struct tbed_packed_file *file, const uint8_t *index, size_t index_nbytes,
                                   struct tbed_error *error)
{
    if (index == NULL)
        note_problem(file, TBED_ERR_PACKED_INDEX, file->nbytes);
    enum tbed_status status = index != NULL ? take_index(file, index, index_nbytes) : search_units(file);
    if (status == TBED_OK)
        status = sort_pages(file);
    return status == TBED_OK ? TBED_OK
                             : fail(error, status, status == TBED_ERR_MEMORY ? ENOMEM : errno, UINT64_MAX);
}

enum tbed_status tbed_packed_file_open(struct tbed_packed_file *file_ret, int fd, const void *bytes,
                                       uint64_t nbytes, struct tbed_error *error_ret)
{
    struct tbed_packed_file file = {.fd = fd, .bytes = bytes, .nbytes = nbytes};
    size_t index_nbytes = 0;
    bool no_memory;
    uint8_t *index = load_index(&file, &index_nbytes, &no_memory);
    if (no_memory)
        return fail(error_ret, TBED_ERR_MEMORY, ENOMEM, UINT64_MAX);
    enum tbed_status status = load_header(&file, index, error_ret);
    if (status == TBED_OK)
        status = make_page_units(&file, error_ret);
    if (status == TBED_OK)
        status = find_units(&file, index, index_nbytes, error_ret);
    free(index);
    if (status == TBED_OK)
        *file_ret = file;
    else
        tbed_packed_file_close(&file);
    return status;
}

void tbed_packed_file_close(struct tbed_packed_file *file)
{
    tbed_vector_free(&file->units.vector);
    tbed_vector_free(&file->pages.vector);
    tbed_vector_free(&file->sorted.vector);
    if (file->page_units != NULL)
        munmap(file->page_units, (size_t)file->page_count * sizeof *file->page_units);
    file->page_units = NULL;
}
