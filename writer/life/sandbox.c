/*
 * Preparing a writer for a sandbox; see writer/base/sandbox_state.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/usable.h"
#include "writer/life/writer.h"
#include "writer/record/recorders.h"

static uint64_t prepare_pages(struct tbed_file *file, uint64_t nbytes)
{
    enum tbed_drop_cause cause;
    uint64_t claimed = tbed_shared_load(&tbed_shared(file)->page_count);
    uint64_t wanted = (nbytes + file->page_nbytes - 1) >> file->page_shift;
    while (wanted > 0 && !tbed_file_back(file, claimed + wanted - 1, &cause))
        wanted /= 2;
    uint64_t backed = __atomic_load_n(&file->growth.backed_pages, __ATOMIC_ACQUIRE);
    return backed > claimed ? (backed - claimed) << file->page_shift : 0;
}

/* Recorders do its work from here on. It is not started again, even if they claim a page before the sandbox holds. */
static void stop_helper(struct tbed_writer *writer)
{
    struct tbed_live *live = tbed_file_of(writer)->live;
    if (!tbed_lock_take(&live->rotate_lock)) /* a rotation stops and starts the helper too */
        return;
    __atomic_store_n(&writer->helper.thread.cannot_start, true, __ATOMIC_RELEASE);
    tbed_helper_stop(&writer->helper);
    tbed_lock_give(&live->rotate_lock);
}

/* A sandbox may be entered before the first thread records. */
static void prepare_recorders(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!tbed_state_lock(file))
        return;
    tbed_recorders_prepare(tbed_recorders_of(writer));
    tbed_state_unlock(file);
}

uint64_t tbed_sandbox_enter(struct tbed_writer *writer, uint64_t nbytes)
{
    struct tbed_file *file = tbed_file_of(writer);
    uint64_t ready = 0;
    if (!tbed_is_sandboxed() && tbed_is_usable(file)) {
        int cancel_state = tbed_cancel_disable();
        stop_helper(writer);
        prepare_recorders(writer);
        tbed_pages_reserve();
        ready = prepare_pages(file, nbytes < file->map_nbytes ? nbytes : file->map_nbytes);
        tbed_cancel_restore(cancel_state);
    }
    tbed_sandbox_flag_set(true);
    return ready;
}

void tbed_sandbox_leave(void)
{
    tbed_sandbox_flag_set(false);
}
