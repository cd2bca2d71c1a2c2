/*
 * Whether this process may use the writer, its main lock, and its drops.
 *
 * A forked child joins the trace with its first use of the writer, wherever that is: what it does then is the top room's
 * to say (struct tbed_hooks).
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "writer/file/private.h"

bool tbed_writer_is_usable(struct tbed_writer *writer)
{
    if (writer == NULL || __atomic_load_n(&writer->is_closed, __ATOMIC_ACQUIRE))
        return false;
    if (__atomic_load_n(&writer->live->alive, __ATOMIC_ACQUIRE))
        return true;
    if (!tbed_lock_take(&writer->live->fork_lock))
        return false;
    if (!writer->live->alive) {
        int kept_errno = errno, cancel_state = tbed_cancel_disable();
        writer->hooks->begin_child(writer);
        tbed_cancel_restore(cancel_state);
        errno = kept_errno;
        __atomic_store_n(&writer->live->alive, 1, __ATOMIC_RELEASE);
    }
    tbed_lock_give(&writer->live->fork_lock);
    return !writer->is_closed;
}

/* ---- The lock ---- */

bool tbed_writer_lock(struct tbed_writer *writer)
{
    if (!tbed_writer_is_usable(writer) || !tbed_lock_take(&writer->live->lock))
        return false;
    if (!__atomic_load_n(&writer->is_closing, __ATOMIC_ACQUIRE))
        return true;
    tbed_lock_give(&writer->live->lock);
    return false;
}

void tbed_writer_unlock(struct tbed_writer *writer)
{
    tbed_lock_give(&writer->live->lock);
}

/* ---- Drops ---- */

void tbed_drop(struct tbed_writer *writer, enum tbed_drop_cause cause, uint64_t count)
{
    if (writer == NULL)
        return;
    tbed_writer_is_usable(writer); /* a forked child joins before it counts: the file may be shut */
    __atomic_fetch_add(&writer->drop_users, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&writer->is_closed, __ATOMIC_SEQ_CST))
        __atomic_fetch_add(&writer->drops_after_close, count, __ATOMIC_RELAXED);
    else
        tbed_shared_add(&tbed_shared(writer)->drops[cause], count);
    __atomic_fetch_sub(&writer->drop_users, 1, __ATOMIC_SEQ_CST);
}

uint64_t tbed_writer_drop_count(const struct tbed_writer *writer, enum tbed_drop_cause cause)
{
    if (writer == NULL || (unsigned)cause >= TBED_DROP_CAUSE_COUNT)
        return 0;
    uint32_t *users =
        &((struct tbed_writer *)(uintptr_t)writer)->drop_users; /* keeps the map while it is read */
    uint64_t count = 0;
    __atomic_fetch_add(users, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&writer->is_closed, __ATOMIC_SEQ_CST))
        count = tbed_shared_load(&tbed_shared(writer)->drops[cause]);
    else if (cause == TBED_DROP_CLOSED)
        count = __atomic_load_n(&writer->drops_after_close, __ATOMIC_RELAXED);
    __atomic_fetch_sub(users, 1, __ATOMIC_SEQ_CST);
    return count;
}

bool tbed_writer_lock_or_drop(struct tbed_writer *writer)
{
    if (tbed_writer_lock(writer))
        return true;
    bool is_mine = writer != NULL && tbed_lock_is_mine(&writer->live->lock);
    tbed_drop(writer, is_mine ? TBED_DROP_INTERRUPTED : TBED_DROP_CLOSED, 1);
    return false;
}
