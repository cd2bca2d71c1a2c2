/*
 * The pages of a flight recorder: taken, made ready ahead of time, given back.
 *
 * A page is taken by one compare-and-swap of its mark, a word of its entry. The mark never returns to an earlier value
 * (format/file/mark.h), so a thread that looked at a page and was then held up cannot take it from its new owner.
 * writer/tests/models has a model of this, which is run through all interleavings.
 *
 * Pages are taken in order, but the newest blocks of each thread are skipped (census.h): a thread that fills a page
 * slowly, or is held up, would lose its newest events to others.
 *
 * Source: spec/format.md, section 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <sys/mman.h>

#include "format/file/directory.h"
#include "format/file/mark.h"
#include "writer/base/kernel.h"
#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/pages/census.h"
#include "writer/pages/pages.h"
#include "writer/pages/ring.h"

#define RETRY_NS 1000000u /* after finding all pages held, no thread looks again for this long */

static uint8_t *page_at(const struct tbed_file *file, uint32_t page)
{
    return file->map + ((uint64_t)page << file->page_shift);
}

static struct tbed_disk_entry *entry_of(const struct tbed_file *file, uint32_t page)
{
    return (struct tbed_disk_entry *)(void *)(file->map +
                                              tbed_directory_entry_offset(file->page_nbytes, page));
}

bool tbed_ring_has(const struct tbed_file *file, const uint8_t *block)
{
    uint64_t page = (uint64_t)(block - file->map) >> file->page_shift;
    return page >= 1 && page <= file->fields.ring_page_count;
}

/* No process holds the page, or the one that does was killed. */
static bool is_free(const struct tbed_file *file, struct tbed_mark mark)
{
    if (mark.state == TBED_MARK_NEW || mark.state == TBED_MARK_RELEASED)
        return true;
    return mark.process != file->process.stream && !tbed_process_lives(file, mark.process);
}

static uint32_t number_of(const struct tbed_file *file, const uint8_t *block)
{
    return (uint32_t)((uint64_t)(block - file->map) >> file->page_shift);
}

void tbed_ring_note_end(struct tbed_file *file, const uint8_t *block)
{
    uint32_t age = tbed_ring_age(tbed_shared_load(&tbed_shared(file)->ring_pages_given));
    tbed_word32_store(&entry_of(file, number_of(file, block))->age, age);
}

void tbed_ring_note_last(struct tbed_file *file, const uint8_t *block, uint32_t stream)
{
    if (!tbed_ring_has(file, block))
        return;
    struct tbed_disk_entry *entry = entry_of(file, number_of(file, block));
    struct tbed_mark mark = tbed_mark_load(entry);
    if (mark.process == file->process.stream)
        tbed_entry_note_last(entry, stream, mark);
}

/* Zeroes what the page's last block left; the mark has already shown readers that it is gone. */
static void page_clear(const struct tbed_file *file, uint32_t page)
{
    tbed_entry_clear(entry_of(file, page));
    tbed_word_store(page_at(file, page), 0);
    memset(page_at(file, page) + 8, 0, file->page_nbytes - 8);
}

uint32_t tbed_ring_share(const struct tbed_file *file)
{
    uint64_t writer_count = tbed_shared_load(&tbed_shared(file)->writer_count);
    return (uint32_t)(file->fields.ring_page_count / TBED_RING_SHARE /
                      (writer_count != 0 ? writer_count : 1));
}

static uint32_t ready_goal(const struct tbed_file *file)
{
    uint32_t goal = tbed_ring_share(file);
    return goal < TBED_RING_READY_COUNT ? goal : TBED_RING_READY_COUNT;
}

static uint64_t ready_count(const struct tbed_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->ready_tail, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&ring->ready_head, __ATOMIC_ACQUIRE) - tail;
}

static bool ready_is_low(const struct tbed_file *file)
{
    return ready_count(&file->ring) <= ready_goal(file) / 2;
}

static bool mark_swap(struct tbed_file *file, uint32_t page, struct tbed_mark from, struct tbed_mark to)
{
    uint64_t word = tbed_mark_word(from);
    return tbed_shared_swap((tbed_le64 *)(void *)tbed_mark_at(entry_of(file, page)), &word,
                            tbed_mark_word(to));
}

/* Raises the state of a page that this process has. */
static void state_raise(struct tbed_file *file, uint32_t page, enum tbed_mark_state state)
{
    struct tbed_mark mark = tbed_mark_load(entry_of(file, page)), raised = mark;
    raised.state = state;
    if (mark.process == file->process.stream)
        mark_swap(file, page, mark, raised);
}

enum taker { BY_RECORDER, BY_HELPER };

/* 'allowed': what may be taken at most. */
static bool page_take(struct tbed_file *file, uint32_t page, enum taker taker, enum tbed_keep allowed)
{
    if (tbed_directory_has_page(file->page_nbytes, page))
        return false;
    struct tbed_mark mark = tbed_mark_load(entry_of(file, page));
    struct tbed_mark taken = {TBED_MARK_TAKEN, mark.count + 1, file->process.stream};
    if (tbed_census_keeps(file, page, mark) > allowed || !is_free(file, mark) ||
        !mark_swap(file, page, mark, taken))
        return false;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* the mark is seen before anything else changes */
    if (taker == BY_RECORDER)
        tbed_helper_page_taken(file, page, ready_is_low(file));
    else if (mark.state == TBED_MARK_NEW)
        madvise(page_at(file, page), file->page_nbytes, MADV_POPULATE_WRITE);
    if (mark.state != TBED_MARK_NEW) /* this also faults in what the kernel write-protected for writeback */
        page_clear(file, page);
    return true;
}

/* The hand is past the page that was 'given' before; it does not go back. */
static void hand_move(struct tbed_file *file, uint64_t given)
{
    tbed_le64 *hand = &tbed_shared(file)->ring_pages_given;
    for (uint64_t now = tbed_shared_load(hand); now <= given;)
        if (tbed_shared_swap(hand, &now, given + 1))
            return;
}

/* The next page that may be taken; 0: there is none. */
static uint32_t take_next(struct tbed_file *file, enum taker taker, enum tbed_keep allowed)
{
    uint32_t count = file->fields.ring_page_count;
    uint64_t given = tbed_shared_load(&tbed_shared(file)->ring_pages_given);
    for (uint64_t end = given + count; given < end; given++) {
        uint32_t page = 1 + (uint32_t)(given % count);
        if (page_take(file, page, taker, allowed)) {
            hand_move(file, given);
            return page;
        }
    }
    return 0;
}

/*
 * Looks for a page whose block nobody needs; then for one of a thread that has ended, and only if there is none of these
 * either, according to a new census, for any that is not held. The helper, which only works ahead, does not go that far.
 * 0: there is none.
 */
static uint32_t take_any(struct tbed_file *file, enum taker taker)
{
    tbed_census_refresh(file);
    bool takes_ended = __atomic_load_n(&file->ring.keeps_no_ended, __ATOMIC_RELAXED);
    uint32_t page = take_next(file, taker, takes_ended ? TBED_KEEP_ENDED : TBED_KEEP_NOTHING);
    if (page != 0 || !tbed_census_make(file))
        return page;
    page = take_next(file, taker, TBED_KEEP_NOTHING);
    if (page != 0)
        return page;
    __atomic_store_n(&file->ring.keeps_no_ended, true, __ATOMIC_RELAXED);
    enum tbed_keep most = taker == BY_HELPER ? TBED_KEEP_ENDED : TBED_KEEP_NEWEST;
    for (enum tbed_keep allowed = TBED_KEEP_ENDED; page == 0 && allowed <= most; allowed++)
        page = take_next(file, taker, allowed);
    return page;
}

/* ---- Pages that the helper has made ready: one puts, many take ---- */

static uint32_t ready_pop(struct tbed_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->ready_tail, __ATOMIC_ACQUIRE);
    uint32_t page;
    do {
        if (tail == __atomic_load_n(&ring->ready_head, __ATOMIC_ACQUIRE))
            return 0;
        page = __atomic_load_n(&ring->ready[tail % TBED_RING_READY_COUNT], __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&ring->ready_tail, &tail, tail + 1, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    return page;
}

bool tbed_ring_make_ready(struct tbed_file *file)
{
    struct tbed_ring *ring = &file->ring;
    if (ready_count(ring) >= ready_goal(file))
        return false;
    uint32_t page = take_any(file, BY_HELPER);
    if (page == 0)
        return false;
    __atomic_store_n(&ring->ready[ring->ready_head % TBED_RING_READY_COUNT], page, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->ready_head, ring->ready_head + 1, __ATOMIC_RELEASE);
    return true;
}

void tbed_ring_give_back(struct tbed_file *file)
{
    for (uint32_t page = ready_pop(&file->ring); page != 0; page = ready_pop(&file->ring))
        state_raise(file, page, TBED_MARK_RELEASED); /* it is all zero */
}

/* ---- What recorders ask for ---- */

uint8_t *tbed_ring_claim(struct tbed_file *file, enum tbed_drop_cause *cause_ret)
{
    struct tbed_ring *ring = &file->ring;
    uint32_t page = ready_pop(ring);
    if (page != 0) {
        tbed_helper_page_taken(file, page, ready_is_low(file));
        return page_at(file, page);
    }
    *cause_ret = TBED_DROP_SIZE_LIMIT;
    uint64_t retry_ns = __atomic_load_n(&ring->retry_ns, __ATOMIC_RELAXED);
    bool has_clock = !tbed_is_sandboxed(); /* on some machines it takes a system call */
    if (has_clock && retry_ns != 0 && tbed_monotonic_ns() < retry_ns)
        return NULL;
    page = take_any(file, BY_RECORDER);
    if (has_clock)
        __atomic_store_n(&ring->retry_ns, page != 0 ? 0 : tbed_monotonic_ns() + RETRY_NS, __ATOMIC_RELAXED);
    return page != 0 ? page_at(file, page) : NULL;
}

uint8_t *tbed_ring_retake(struct tbed_file *file, uint8_t *block, enum tbed_drop_cause *cause_ret)
{
    *cause_ret = TBED_DROP_SIZE_LIMIT;
    return page_take(file, number_of(file, block), BY_RECORDER, TBED_KEEP_NEWEST) ? block : NULL;
}

uint32_t tbed_ring_generation(const struct tbed_file *file, const uint8_t *block)
{
    return tbed_mark_load(entry_of(file, number_of(file, block))).count;
}

void tbed_ring_commit(struct tbed_file *file, uint8_t *block)
{
    state_raise(file, number_of(file, block), TBED_MARK_HELD);
}

bool tbed_ring_owns(const struct tbed_file *file, const uint8_t *block)
{
    if (!tbed_ring_has(file, block))
        return true;
    struct tbed_mark mark = tbed_mark_load(entry_of(file, number_of(file, block)));
    return mark.state == TBED_MARK_HELD && mark.process == file->process.stream;
}

void tbed_ring_release(struct tbed_file *file, uint8_t *block)
{
    state_raise(file, number_of(file, block), TBED_MARK_RELEASED);
}
