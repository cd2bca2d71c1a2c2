/*
 * The bytes of a trace: mapped, copied, or the caller's.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* SEEK_DATA */
#include "reader/core/file/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tbed_mapping {
    void *address;
    size_t nbytes;
};

#define ROOM_TO_GROW_NBYTES ((size_t)1 << (sizeof(void *) == 8 ? 30 : 24))

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

static bool remember(struct tbed_map *map, void *address, size_t nbytes)
{
    struct tbed_mapping *mapping = tbed_vector_push(&map->mappings, sizeof *mapping);
    if (mapping == NULL) {
        munmap(address, nbytes);
        return false;
    }
    *mapping = (struct tbed_mapping){address, nbytes};
    map->bytes = address;
    map->reserved_nbytes = nbytes;
    return true;
}

/* Maps the file's first 'file_nbytes' bytes and room to grow, or without that room if address space is short. */
static enum tbed_status map_file(struct tbed_map *map, size_t file_nbytes, struct tbed_error *error)
{
    size_t nbytes = file_nbytes < SIZE_MAX / 4 ? 2 * file_nbytes + ROOM_TO_GROW_NBYTES : file_nbytes;
    void *address = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, map->fd, 0);
    if (address == MAP_FAILED) {
        nbytes = file_nbytes;
        address = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, map->fd, 0);
    }
    if (address == MAP_FAILED)
        return fail(error, TBED_ERR_MAP, errno);
    if (!remember(map, address, nbytes))
        return fail(error, TBED_ERR_MEMORY, ENOMEM);
    map->nbytes = file_nbytes;
    return TBED_OK;
}

static enum tbed_status copy_file(struct tbed_map *map, int fd, size_t file_nbytes, struct tbed_error *error)
{
    uint8_t *bytes = mmap(NULL, file_nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return fail(error, TBED_ERR_MEMORY, errno);
    if (!remember(map, bytes, file_nbytes))
        return fail(error, TBED_ERR_MEMORY, ENOMEM);
    size_t at = 0;
    while (at < file_nbytes) {
        ssize_t got = pread(fd, bytes + at, file_nbytes - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(error, TBED_ERR_READ, errno);
        if (got == 0) /* the file was truncated meanwhile */
            break;
        at += (size_t)got;
    }
    map->nbytes = at;
    return TBED_OK;
}

static enum tbed_status file_nbytes_get(int fd, size_t *nbytes_ret, bool *is_sparse_ret,
                                        struct tbed_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(error, TBED_ERR_READ, errno);
    if (S_ISDIR(st.st_mode))
        return fail(error, TBED_ERR_IS_DIRECTORY, 0);
    if (!S_ISREG(st.st_mode))
        return fail(error, TBED_ERR_NOT_REGULAR, 0);
    if (st.st_size == 0)
        return fail(error, TBED_ERR_EMPTY, 0);
    if ((uint64_t)st.st_size > SIZE_MAX / 2)
        return fail(error, TBED_ERR_MAP, EFBIG);
    *nbytes_ret = (size_t)st.st_size;
    *is_sparse_ret = st.st_blocks < st.st_size / 512;
    return TBED_OK;
}

/* SEEK_DATA moves the offset of a description, and 'fd' shares its own with the caller's. -1: it cannot be opened. */
static int open_again(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Holes are the pages that no unit has. */
static void take_packed(struct tbed_map *map, struct tbed_packed *packed)
{
    const struct tbed_packed_file *file = tbed_packed_file(packed);
    map->packed = packed;
    map->packed_page_nbytes = file->header.page_nbytes;
    map->bytes = tbed_packed_plain(packed);
    map->nbytes = map->reserved_nbytes = (size_t)file->header.plain_nbytes;
    map->is_sparse = file->pages.count < file->page_count;
}

static enum tbed_status open_packed(struct tbed_map *map, int fd, size_t nbytes, struct tbed_error *error)
{
    struct tbed_packed *packed = NULL;
    enum tbed_status status = tbed_packed_open(fd, NULL, nbytes, &packed, error);
    if (status != TBED_OK)
        return status;
    take_packed(map, packed);
    map->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return map->fd < 0 ? fail(error, TBED_ERR_OPEN, errno) : TBED_OK;
}

enum tbed_status tbed_map_open(struct tbed_map *map_ret, int fd, bool copy, struct tbed_error *error_ret)
{
    struct tbed_map map = {.fd = -1, .seek_fd = -1};
    size_t nbytes = 0;
    enum tbed_status status = file_nbytes_get(fd, &nbytes, &map.is_sparse, error_ret);
    if (status != TBED_OK)
        return status;
    if (tbed_packed_fd_is(fd)) {
        status = open_packed(&map, fd, nbytes, error_ret);
    } else if (copy) {
        status = copy_file(&map, fd, nbytes, error_ret);
    } else {
        map.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        status = map.fd < 0 ? fail(error_ret, TBED_ERR_OPEN, errno) : map_file(&map, nbytes, error_ret);
    }
    if (status != TBED_OK)
        tbed_map_close(&map);
    else
        *map_ret = map;
    if (status == TBED_OK && map.is_sparse && map.fd >= 0 && map.packed == NULL)
        map_ret->seek_fd = open_again(map.fd);
    return status;
}

enum tbed_status tbed_map_memory(struct tbed_map *map_ret, const void *bytes, size_t nbytes,
                                 struct tbed_error *error_ret)
{
    struct tbed_packed *packed = NULL;
    *map_ret = (struct tbed_map){
        .bytes = bytes, .nbytes = nbytes, .reserved_nbytes = nbytes, .fd = -1, .seek_fd = -1};
    if (!tbed_packed_is(bytes, nbytes))
        return TBED_OK;
    enum tbed_status status = tbed_packed_open(-1, bytes, nbytes, &packed, error_ret);
    if (status == TBED_OK)
        take_packed(map_ret, packed);
    return status;
}

enum tbed_status tbed_map_refresh(struct tbed_map *map, struct tbed_error *error_ret)
{
    if (map->fd < 0 || map->packed != NULL)
        return TBED_OK;
    size_t nbytes = 0;
    enum tbed_status status = file_nbytes_get(map->fd, &nbytes, &map->is_sparse, error_ret);
    if (status != TBED_OK)
        return status == TBED_ERR_EMPTY ? fail(error_ret, TBED_ERR_READ, 0) : status;
    if (nbytes > map->reserved_nbytes)
        return map_file(map, nbytes, error_ret);
    map->nbytes = nbytes;
    return TBED_OK;
}

/* The page from 'offset' on that a unit has. */
static uint64_t packed_data_from(const struct tbed_map *map, uint64_t offset)
{
    uint64_t first = offset / map->packed_page_nbytes;
    uint64_t page = tbed_packed_next_page(tbed_packed_file(map->packed), first);
    uint64_t start = page == first ? offset : page * map->packed_page_nbytes;
    return start < map->nbytes ? start : map->nbytes;
}

uint64_t tbed_map_packed_offset(const struct tbed_map *map, uint64_t offset)
{
    const struct tbed_packed_unit *unit =
        tbed_packed_unit_of(tbed_packed_file(map->packed), offset / map->packed_page_nbytes);
    return unit != NULL ? unit->offset : 0;
}

uint64_t tbed_map_data_from(const struct tbed_map *map, struct tbed_extent *known, uint64_t offset)
{
    if (map->packed != NULL && map->is_sparse && offset < map->nbytes)
        return packed_data_from(map, offset);
    if (!map->is_sparse || map->seek_fd < 0 || offset >= map->nbytes)
        return offset < map->nbytes ? offset : map->nbytes;
    if (offset < known->begin || offset >= known->end) {
        off_t data = lseek(map->seek_fd, (off_t)offset, SEEK_DATA);
        bool is_end = data < 0 && errno == ENXIO; /* any other failure: it cannot be asked */
        off_t hole = data == (off_t)offset ? lseek(map->seek_fd, (off_t)offset, SEEK_HOLE) : -1;
        known->begin = offset;
        known->has_data = !is_end && data <= (off_t)offset;
        known->end = known->has_data ? (hole > 0 ? (uint64_t)hole : UINT64_MAX)
                                     : (is_end ? UINT64_MAX : (uint64_t)data);
    }
    if (known->has_data)
        return offset;
    return known->end < map->nbytes ? known->end : map->nbytes;
}

void tbed_map_prefetch(const struct tbed_map *map, uint64_t offset, size_t nbytes)
{
    if (map->packed != NULL)
        return;
    posix_fadvise(map->fd, (off_t)offset, (off_t)nbytes, POSIX_FADV_WILLNEED); /* refused without a file */
}

void tbed_map_close(struct tbed_map *map)
{
    const struct tbed_mapping *mappings = map->mappings.items;
    tbed_packed_close(map->packed);
    for (size_t i = 0; i < map->mappings.count; i++)
        munmap(mappings[i].address, mappings[i].nbytes);
    tbed_vector_free(&map->mappings);
    if (map->fd >= 0)
        close(map->fd);
    if (map->seek_fd >= 0)
        close(map->seek_fd);
    *map = (struct tbed_map){.fd = -1, .seek_fd = -1};
}
