/*
 * Leaving the file under a writer; the last to leave shuts it.
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

#include "format/checksum.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"

bool tbed_file_shut(uint8_t *map, uint32_t page_nbytes, int fd)
{
    struct tbed_disk_header *shared = (struct tbed_disk_header *)map;
    uint64_t nbytes = tbed_shared_load(&shared->page_count) * page_nbytes;
    struct stat status;
    if (fstat(fd, &status) != 0 || ((uint64_t)status.st_size != nbytes && ftruncate(fd, (off_t)nbytes) != 0))
        return false;
    tbed_word_store(&shared->writer_count, 0);
    /* The state comes last: a process killed before it leaves an open file, not one with a wrong checksum. */
    struct tbed_disk_header final = *shared;
    final.state = tbed_le32_make(TBED_STATE_SHUT);
    tbed_word_store(&shared->closing_checksum, tbed_closing_checksum_apart(&final, map, page_nbytes));
    __atomic_store_n((uint32_t *)(void *)&shared->state, TBED_STATE_SHUT, __ATOMIC_RELEASE);
    return true;
}

/*
 * Every process that leaves tries, whichever was counted out last: two that leave at once may meet each other's lock.
 * A failed try gives up the lock, so the last try succeeds. The header page is mapped anew because the old map is
 * gone, and with it the lock that it held.
 */
static void shut_if_alone(int fd, uint32_t page_nbytes)
{
    if (tbed_descriptor_lock(fd, LOCK_EX | LOCK_NB) != 0)
        return;
    void *header = mmap(NULL, page_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED)
        return;
    if (tbed_shared_load(&((struct tbed_disk_header *)header)->writer_count) == 0)
        tbed_file_shut(header, page_nbytes, fd);
    munmap(header, page_nbytes);
}

void tbed_file_leave(int fd, uint32_t page_nbytes)
{
    shut_if_alone(fd, page_nbytes);
    tbed_descriptor_lock(fd, LOCK_UN); /* a forked child may have the descriptor too */
    close(fd);
}

/*
 * A recorder that could not be stopped may still store into the map. The map then stays, and this process stays
 * counted as a writer.
 */
void tbed_file_detach(struct tbed_file *file, bool keeps_map)
{
    bool has_file = tbed_descriptor_is_ours(file) || tbed_descriptor_reopen(file);
    if (!keeps_map) {
        tbed_shared_add(&tbed_shared(file)->writer_count, (uint64_t)-1);
        munmap(file->map, file->map_nbytes);
        if (has_file)
            shut_if_alone(file->fd, file->page_nbytes);
    }
    if (has_file) {
        if (!keeps_map)
            tbed_descriptor_lock(file->fd, LOCK_UN);
        close(file->fd);
    }
    file->fd = -1;
}
