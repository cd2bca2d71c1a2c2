/*
 * The map of a writer's file: made once, with room for all that the file may become, and later replaced at the same
 * address.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "writer/base/fail.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"

#define MAP_NBYTES_MIN ((size_t)64 << 20)
#define MAP_NBYTES_MAX (SIZE_MAX / 4 + 1) /* 1 GiB where an address has 32 bits */

/* Kept out of core dumps, and faulted in page by page without neighbours: a small process touches few pages. */
static void advise_few(void *map, size_t nbytes)
{
    madvise(map, nbytes, MADV_DONTDUMP);
    madvise(map, nbytes, MADV_RANDOM);
}

/*
 * In folios as large as the file allows: the kernel then zeroes and maps up to 2 MiB at once, which halves the cost of
 * faulting in a page. It never reaches beyond the end of the file.
 */
void tbed_file_advise_many(const struct tbed_file *file)
{
    madvise(file->map, file->map_nbytes, MADV_NORMAL);
    madvise(file->map, file->map_nbytes, MADV_HUGEPAGE);
}

static void guard(struct tbed_file *file)
{
    struct tbed_guarded range = {file->map, file->map_nbytes, file->page_nbytes, &file->is_lost, file};
    file->is_guarded = file->is_guarded && tbed_guard_add(&range);
}

/* Where 'ulimit -v' limits the process, an eighth of that at most: the program's own maps and heaps need the rest. */
static uint64_t address_space_share(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return MAP_NBYTES_MAX;
    return limit.rlim_cur / 8 > MAP_NBYTES_MIN ? limit.rlim_cur / 8 : MAP_NBYTES_MIN;
}

/* In a series, the next file is due before a map that is smaller than wanted ends: nothing is dropped. */
static void rotate_in_time(struct tbed_file *file)
{
    uint64_t pages = (file->map_nbytes >> file->page_shift) / 4 * 3;
    if (file->is_in_series && (file->growth.full_page_count == 0 || file->growth.full_page_count > pages))
        file->growth.full_page_count = pages;
}

/* Reserves address space for all that the file may become, or less where the process is limited; never less than a ring. */
enum tbed_status tbed_file_map(struct tbed_file *file, uint64_t max_nbytes, struct tbed_error *error)
{
    const uint64_t wanted_nbytes = max_nbytes;
    uint64_t least_nbytes = ((uint64_t)file->fields.ring_page_count + 1) * file->page_nbytes;
    uint64_t share_nbytes = address_space_share();
    if (share_nbytes < least_nbytes)
        share_nbytes = least_nbytes;
    if (max_nbytes > share_nbytes)
        max_nbytes = share_nbytes;
    size_t nbytes = max_nbytes < MAP_NBYTES_MAX ? (size_t)max_nbytes : MAP_NBYTES_MAX;
    for (nbytes -= nbytes % file->page_nbytes; nbytes >= least_nbytes;) {
        void *map = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file->fd, 0);
        if (map != MAP_FAILED) {
            file->map = map;
            file->map_nbytes = nbytes;
            if (nbytes + file->page_nbytes <= wanted_nbytes)
                rotate_in_time(file);
            advise_few(map, nbytes);
            guard(file);
            return TBED_OK;
        }
        /* valgrind reports EINVAL for sizes that are too large */
        if ((errno != ENOMEM && errno != EINVAL) || nbytes / 2 < MAP_NBYTES_MIN)
            return tbed_fail(error, TBED_ERR_MAP, errno);
        nbytes = nbytes / 2 - nbytes / 2 % file->page_nbytes;
    }
    return tbed_fail(error, TBED_ERR_MAP, ENOMEM);
}

/*
 * The shared lock belongs to the open file that the map was made from and lasts as long as the map, even if our
 * descriptor is closed. So a forked child that cannot use its parent's (file_hold.c) makes its own map from an open file of
 * its own.
 */
bool tbed_file_remap(struct tbed_file *file)
{
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    if (mmap(file->map, file->map_nbytes, protection, flags, file->fd, 0) == MAP_FAILED)
        return false;
    advise_few(file->map, file->map_nbytes);
    return true;
}

void tbed_file_attach(struct tbed_file *file)
{
    struct tbed_disk_header *shared = tbed_shared(file);
    /* The state comes first: the checksum of an open file is not checked, whatever happens to us later. */
    tbed_word32_store(&shared->state, TBED_STATE_OPEN);
    tbed_word_store(&shared->closing_checksum, 0);
    tbed_shared_add(&shared->writer_count, 1);
}

bool tbed_file_switch(struct tbed_file *file, int fd, uint64_t backed_pages)
{
    struct stat status;
    int old_fd = file->fd;
    if (fstat(fd, &status) != 0)
        return false;
    file->fd = fd;
    if (!tbed_file_remap(file)) {
        file->fd = old_fd;
        return false;
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->growth.step_nbytes = TBED_GROW_NBYTES_MIN;
    __atomic_store_n(&file->growth.backed_pages, backed_pages, __ATOMIC_RELEASE);
    tbed_file_attach(file);
    return true;
}
