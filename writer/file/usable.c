/*
 * Whether this process may use the writer; its main lock; its drops.
 *
 * A forked child joins the trace on its first use of the writer, wherever that is. What joining means is decided by
 * the top room, through struct tbed_hooks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"

bool tbed_is_usable(struct tbed_file *file)
{
    if (file == NULL || __atomic_load_n(&file->is_closed, __ATOMIC_ACQUIRE))
        return false;
    if (__atomic_load_n(&file->live->alive, __ATOMIC_ACQUIRE))
        return true;
    if (tbed_is_sandboxed() || !tbed_lock_take(&file->live->fork_lock))
        return false;
    if (!file->live->alive) {
        int kept_errno = errno, cancel_state = tbed_cancel_disable();
        file->hooks->begin_child(file);
        tbed_cancel_restore(cancel_state);
        errno = kept_errno;
        file->live->pid = (uint32_t)getpid();
        __atomic_store_n(&file->live->alive, 1, __ATOMIC_RELEASE);
    }
    tbed_lock_give(&file->live->fork_lock);
    return !file->is_closed;
}

/* ---- The lock ---- */

/*
 * Whoever has the state may wait for the file to grow, so a signal handler that interrupted a thread which makes it grow
 * does not wait for the state: each would wait for the other.
 */
static bool state_take(struct tbed_file *file)
{
    struct tbed_lock *lock = &file->live->state_lock;
    return tbed_lock_is_mine(&file->live->grow_lock) ? tbed_lock_try(lock) : tbed_lock_take(lock);
}

bool tbed_state_lock(struct tbed_file *file)
{
    if (!tbed_is_usable(file) || !state_take(file))
        return false;
    if (!__atomic_load_n(&file->is_closing, __ATOMIC_ACQUIRE))
        return true;
    tbed_lock_give(&file->live->state_lock);
    return false;
}

void tbed_state_unlock(struct tbed_file *file)
{
    tbed_lock_give(&file->live->state_lock);
}

/* ---- Drops ---- */

void tbed_file_lose(struct tbed_file *file)
{
    __atomic_store_n(&file->is_lost, true, __ATOMIC_SEQ_CST);
    file->hooks->stop_recorders(file);
}

/* The count may be 0: in a child that a signal handler forked in between, it was reset. */
static void leave_map(struct tbed_file *file)
{
    uint32_t *users = &file->live->map_users, count = __atomic_load_n(users, __ATOMIC_SEQ_CST);
    while (count != 0 &&
           !__atomic_compare_exchange_n(users, &count, count - 1, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

/*
 * Returns whether the map may be used; it then stays mapped until leave_map(). Once the file is closed, nobody enters any
 * more: otherwise, threads that keep dropping events could delay the close forever. This is modelled in
 * writer/tests/models/close_model_test.c.
 */
static bool enter_map(struct tbed_file *file)
{
    if (__atomic_load_n(&file->is_closed, __ATOMIC_ACQUIRE))
        return false;
    __atomic_fetch_add(&file->live->map_users, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&file->is_closed, __ATOMIC_SEQ_CST))
        return true;
    leave_map(file);
    return false;
}

/* If the header is lost, its counters are in private memory by now. */
static void add_drops(struct tbed_file *file, enum tbed_drop_cause cause, uint64_t count)
{
    if (tbed_is_lost(file)) {
        uint64_t at_faults = __atomic_exchange_n(&file->drops.at_faults, 0, __ATOMIC_RELAXED);
        if (at_faults != 0)
            tbed_shared_add(&tbed_shared(file)->drops[TBED_DROP_IO_ERROR], at_faults);
    }
    tbed_shared_add(&tbed_shared(file)->drops[cause], count);
}

void tbed_drop(struct tbed_file *file, enum tbed_drop_cause cause, uint64_t count)
{
    if (file == NULL)
        return;
    /* A forked child joins before it counts, since the file may be shut by then. In a sandbox it cannot join, and counts
     * in its parent's map. */
    tbed_is_usable(file);
    if (!enter_map(file)) {
        __atomic_fetch_add(&file->drops.after_close, count, __ATOMIC_RELAXED);
        return;
    }
    add_drops(file, cause, count);
    leave_map(file);
}

uint64_t tbed_writer_drop_count(const struct tbed_writer *writer, enum tbed_drop_cause cause)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (writer == NULL || (unsigned)cause >= TBED_DROP_CAUSE_COUNT)
        return 0;
    if (!enter_map(file))
        return cause == TBED_DROP_CLOSED ? __atomic_load_n(&file->drops.after_close, __ATOMIC_RELAXED) : 0;
    uint64_t count = tbed_shared_load(&tbed_shared(file)->drops[cause]);
    if (cause == TBED_DROP_IO_ERROR)
        count += __atomic_load_n(&file->drops.at_faults, __ATOMIC_RELAXED);
    leave_map(file);
    return count;
}

bool tbed_state_lock_or_drop(struct tbed_file *file)
{
    if (file != NULL && tbed_is_lost(file)) {
        tbed_drop(file, TBED_DROP_IO_ERROR, 1);
        return false;
    }
    if (tbed_state_lock(file))
        return true;
    enum tbed_drop_cause cause = TBED_DROP_CLOSED;
    if (file != NULL &&
        (tbed_lock_is_mine(&file->live->state_lock) || tbed_lock_is_mine(&file->live->grow_lock)))
        cause = TBED_DROP_INTERRUPTED;
    else if (file != NULL && tbed_is_sandboxed() && !tbed_has_joined(file))
        cause = TBED_DROP_SANDBOX;
    tbed_drop(file, cause, 1);
    return false;
}
