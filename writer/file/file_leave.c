/*
 * Leaving the file under a writer; the last to leave shuts it. writer/tests/models/live_model_test.c has a model of
 * this.
 *
 * Source: spec/format.md, section 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"

bool tbed_file_shut(uint8_t *map, uint64_t map_nbytes, uint32_t page_nbytes, int fd)
{
    struct tbed_disk_header *shared = (struct tbed_disk_header *)map;
    uint64_t page_count = tbed_shared_load(&shared->page_count);
    errno = EIO;
    if (page_count > map_nbytes / page_nbytes || !tbed_descriptor_has(fd, tbed_le64_load(shared->file_id)))
        return false;
    if (map_nbytes != page_count * page_nbytes && ftruncate(fd, (off_t)(page_count * page_nbytes)) != 0)
        return false;
    tbed_word_store(&shared->writer_count, 0);
    /* The state comes last: a process killed before it leaves an open file, not one with a wrong checksum. */
    struct tbed_disk_header final = *shared;
    final.state = tbed_le32_make(TBED_STATE_SHUT);
    tbed_word_store(&shared->closing_checksum, tbed_closing_checksum(&final, map, page_nbytes, page_count));
    tbed_word32_store(&shared->state, TBED_STATE_SHUT);
    return true;
}

/*
 * Every process that leaves tries to shut the file, not only the one that was counted out last, because two that leave
 * at once may find each other's lock. A failed attempt gives up the lock, so the last attempt succeeds. The file is
 * mapped again because the old map is gone, and with it the lock that it held.
 */
static void shut_if_alone(const struct tbed_file *file, int fd)
{
    uint32_t page_nbytes = file->page_nbytes;
    struct stat status;
    bool is_lost;
    if (tbed_descriptor_lock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &status) != 0 ||
        (uint64_t)status.st_size < page_nbytes)
        return;
    uint64_t nbytes = (uint64_t)status.st_size;
    void *map = tbed_shared_map(fd, nbytes, PROT_READ | PROT_WRITE);
    if (map == NULL)
        return;
    tbed_guard_enter(file, map, nbytes, &is_lost);
    if (tbed_shared_load(&((struct tbed_disk_header *)map)->writer_count) == 0)
        tbed_file_shut(map, nbytes, page_nbytes, fd);
    tbed_guard_leave(file, map);
    tbed_shared_unmap(map, nbytes);
}

void tbed_file_leave(const struct tbed_file *file, int fd, uint64_t file_id)
{
    if (!tbed_descriptor_has(fd, file_id)) /* the program has closed it meanwhile */
        return;
    shut_if_alone(file, fd);
    if (!tbed_descriptor_has(fd, file_id))
        return;
    tbed_descriptor_lock(fd, LOCK_UN); /* a forked child may have the descriptor too */
    close(fd);
}

/*
 * A recorder that could not be stopped may still store into the map. The map then stays, and this process stays
 * counted as a writer. The process also stays counted if the file was lost, because some of its events are missing. As
 * long as a forked child uses the same open file, the lock is the child's, and so is the closing.
 */
void tbed_file_detach(struct tbed_file *file, bool keeps_map)
{
    if (!tbed_descriptor_is_ours(file))
        tbed_descriptor_reopen(file);
    int fd = tbed_descriptor_borrow(file);
    if (!keeps_map) {
        if (!tbed_is_lost(file))
            tbed_shared_add(&tbed_shared(file)->writer_count, (uint64_t)-1);
        bool is_lost = tbed_is_lost(file); /* perhaps just now */
        if (file->is_guarded)
            tbed_guard_remove(file->map);
        munmap(file->map, file->map_nbytes);
        bool is_alone = tbed_hold_leave(file);
        if (fd >= 0 && !is_lost && is_alone)
            shut_if_alone(file, fd);
        if (fd >= 0 && is_alone)
            tbed_descriptor_lock(fd, LOCK_UN);
    }
    tbed_descriptor_return(file, fd);
    if (tbed_descriptor_is_ours(file))
        close(file->fd);
    file->fd = -1;
}
