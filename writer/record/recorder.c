/*
 * Recorders: where they live, how they get the next block, how they are stopped.
 *
 * Not here: what they write (event_write.c), and the spans that are open (span_write.c).
 *
 * A slab is 64 KiB, aligned: one page of hot halves, which a forked child finds zeroed; one page of kept
 * halves; then the cold parts. So a recorder finds its other parts by arithmetic.
 *
 * Source: spec/format.md, sections 4.2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/file/private.h"

#define STOP_WAIT_NS 1000000000u

/* For callers without a writer, or without memory: it drops everything. */
static struct {
    struct tbed_recorder hot;
    uint8_t gap[TBED_RECORDER_KEPT_OFFSET - sizeof(struct tbed_recorder)];
    struct tbed_recorder_kept kept;
} dead_recorder = {.hot = {.mark = TBED_MARK_OFF, .idle = TBED_MARK_OFF}};

static struct tbed_recorder_cold *cold_of(struct tbed_recorder *recorder)
{
    return tbed_kept_of(recorder)->cold;
}

/* ---- Slabs ---- */

static void *aligned_slab_alloc(void)
{
    uint8_t *pages = tbed_pages_alloc(2 * TBED_SLAB_NBYTES);
    if (pages == NULL)
        return NULL;
    uint8_t *slab = (uint8_t *)tbed_round_up((uintptr_t)pages, TBED_SLAB_NBYTES);
    size_t before = (size_t)(slab - pages);
    if (before > 0)
        munmap(pages, before);
    munmap(slab + TBED_SLAB_NBYTES, TBED_SLAB_NBYTES - before);
    if (madvise(slab, TBED_RECORDER_KEPT_OFFSET, MADV_WIPEONFORK) != 0) {
        munmap(slab, TBED_SLAB_NBYTES);
        return NULL;
    }
    return slab;
}

static struct tbed_slab *slab_header(uint8_t *slab)
{
    return (struct tbed_slab *)(slab + 2 * TBED_RECORDER_KEPT_OFFSET);
}

static bool slab_add(struct tbed_writer *writer)
{
    uint8_t *slab = aligned_slab_alloc();
    if (slab == NULL)
        return false;
    struct tbed_slab *header = slab_header(slab);
    struct tbed_recorder_cold *colds = (struct tbed_recorder_cold *)(header + 1);
    struct tbed_recorder *recorders = (struct tbed_recorder *)slab;
    for (size_t i = TBED_SLAB_RECORDER_COUNT; i-- > 0;) {
        struct tbed_recorder_kept *kept = tbed_kept_of(&recorders[i]);
        kept->cold = &colds[i];
        colds[i].writer = writer;
        colds[i].recorder = &recorders[i];
        colds[i].next_free = writer->free_recorders;
        writer->free_recorders = &recorders[i];
    }
    header->next = writer->slabs;
    writer->slabs = header;
    return true;
}

static struct tbed_recorder *recorder_take(struct tbed_writer *writer)
{
    if (writer->free_recorders == NULL && !slab_add(writer))
        return NULL;
    struct tbed_recorder *recorder = writer->free_recorders;
    writer->free_recorders = cold_of(recorder)->next_free;
    return recorder;
}

/* The fast path reads the machine's own counter. */
static uint8_t idle_mark(const struct tbed_writer *writer)
{
    bool is_counter =
        writer->fields.clock == TBED_CLOCK_X86_TSC || writer->fields.clock == TBED_CLOCK_ARM64_VIRTUAL;
    return is_counter ? TBED_MARK_READY : TBED_MARK_SLOW;
}

#define TID_OWN UINT64_MAX

/* 'tid' of a THREAD: TID_OWN is the thread that records. */
static struct tbed_recorder *open_kind(struct tbed_writer *writer, const char *name,
                                       enum tbed_stream_kind kind, uint64_t tid)
{
    if (!tbed_writer_lock(writer))
        return &dead_recorder.hot;
    struct tbed_recorder *recorder = recorder_take(writer);
    if (recorder != NULL) {
        struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
        struct tbed_recorder_cold *cold = kept->cold;
        tbed_stack_reset(kept);
        kept->takes_given = writer->has_given_ticks;
        kept->given_tick = 0;
        cold->stream = cold->next_sequence = 0;
        cold->block = cold->ended_block = NULL;
        cold->epoch = writer->epoch;
        cold->kind = kind;
        cold->has_given_tid = tid != TID_OWN;
        cold->tid = cold->has_given_tid ? (uint32_t)tid : 0;
        cold->name_id = name != NULL ? tbed_intern_locked(writer, name, strlen(name)) : TBED_ID_INVALID;
        cold->is_open = true;
        cold->gap_count = 0;
        recorder->cursor = recorder->end = NULL;
        recorder->idle = idle_mark(writer);
        recorder->saw_close = 0;
        tbed_recorder_leave(recorder);
    }
    tbed_writer_unlock(writer);
    if (recorder == NULL)
        tbed_drop(writer, TBED_DROP_NO_MEMORY, 1);
    return recorder != NULL ? recorder : &dead_recorder.hot;
}

struct tbed_recorder *tbed_recorder_open(struct tbed_writer *writer, const char *name)
{
    return open_kind(writer, name, TBED_STREAM_THREAD, TID_OWN);
}

struct tbed_recorder *tbed_recorder_open_given(struct tbed_writer *writer, const char *name, uint32_t tid)
{
    return open_kind(writer, name, TBED_STREAM_THREAD, tid);
}

struct tbed_recorder *tbed_track_open(struct tbed_writer *writer, const char *name)
{
    return open_kind(writer, name, TBED_STREAM_TRACK, 0);
}

void tbed_recorder_name_set(struct tbed_recorder *recorder, const char *name)
{
    struct tbed_recorder_cold *cold = cold_of(recorder);
    if (cold == NULL || !tbed_writer_lock(cold->writer))
        return;
    cold->name_id = tbed_intern_locked(cold->writer, name, strlen(name));
    if (cold->stream != 0 && cold->epoch == cold->writer->epoch) {
        struct tbed_disk_name record = {
            .stream = tbed_le32_make(cold->stream),
            .name_id = tbed_le32_make(cold->name_id),
            .tick = tbed_le64_make(tbed_clock_slow(recorder)),
        };
        tbed_record_append(cold->writer, &record, TBED_RECORD_NAME, sizeof record);
    }
    tbed_writer_unlock(cold->writer);
}

uint32_t tbed_recorder_stream(const struct tbed_recorder *recorder)
{
    const struct tbed_recorder_cold *cold = cold_of((struct tbed_recorder *)(uintptr_t)recorder);
    if (cold == NULL || !__atomic_load_n(&cold->writer->live->alive, __ATOMIC_ACQUIRE))
        return 0; /* also in a forked child that has recorded nothing yet */
    return cold->epoch == cold->writer->epoch ? cold->stream : 0;
}

uint64_t tbed_clock_slow(const struct tbed_recorder *recorder)
{
    const struct tbed_recorder_kept *kept = tbed_kept_of((struct tbed_recorder *)(uintptr_t)recorder);
    if (kept->cold == NULL || kept->takes_given)
        return __atomic_load_n(&kept->given_tick, __ATOMIC_RELAXED);
    return tbed_clock_now(kept->cold->writer);
}

/* ---- Drops ---- */

static void drop(struct tbed_recorder_cold *cold, enum tbed_drop_cause cause)
{
    __atomic_fetch_add(&cold->gap_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&cold->gap_cause, (uint32_t)cause, __ATOMIC_RELAXED);
    tbed_drop(cold->writer, cause, 1);
}

void tbed_recorder_drop(struct tbed_recorder *recorder, enum tbed_drop_cause cause)
{
    drop(cold_of(recorder), cause);
}

void tbed_recorder_drop_busy(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = cold_of(recorder);
    if (cold != NULL)
        drop(cold, recorder->mark == TBED_MARK_STOPPED ? TBED_DROP_CLOSED : TBED_DROP_INTERRUPTED);
}

/* Another clock, or a forked child: it may enter. */
int tbed_recorder_enter_slow(struct tbed_recorder *recorder)
{
    if (recorder->mark == TBED_MARK_BUSY || recorder->mark == TBED_MARK_STOPPED) {
        tbed_recorder_drop_busy(recorder);
        return 0;
    }
    tbed_recorder_mark_busy(recorder);
    return 1;
}

/* ---- Blocks of a recorder ---- */

/* A forked child's recorder goes on as a stream of its own, with the spans that were open. */
static bool stream_open(struct tbed_recorder_cold *cold, uint64_t tick, enum tbed_drop_cause *cause_ret)
{
    struct tbed_writer *writer = cold->writer;
    uint32_t forked_from = cold->stream;
    if (cold->kind == TBED_STREAM_THREAD && !cold->has_given_tid)
        cold->tid = (uint32_t)syscall(SYS_gettid);
    if (!tbed_writer_lock(writer))
        return false;
    tbed_clock_reach(writer, tick);
    uint64_t stream = writer->spare_stream;
    if (stream == 0)
        stream = tbed_shared_add(&tbed_shared(writer)->next_stream, 1);
    struct tbed_disk_stream record = {
        .stream = tbed_le32_make((uint32_t)stream),
        .process = tbed_le32_make(writer->process_stream),
        .kind = tbed_le32_make(cold->kind),
        .tid = tbed_le32_make(cold->tid),
        .name_id = tbed_le32_make(cold->name_id),
        .forked_from = tbed_le32_make(forked_from),
        .tick = tbed_le64_make(tick),
    };
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    bool is_recorded = stream <= UINT32_MAX && tbed_stream_append(writer, &record, cause_ret);
    writer->spare_stream = is_recorded || stream > UINT32_MAX ? 0 : (uint32_t)stream;
    tbed_writer_unlock(writer);
    if (!is_recorded)
        return false;
    cold->stream = (uint32_t)stream;
    cold->next_sequence = 0;
    cold->epoch = writer->epoch;
    return true;
}

static void block_hand_over(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold, bool inline_seal)
{
    uint8_t *block = cold->block;
    if (block == NULL)
        return;
    uint32_t used = (uint32_t)((uint8_t *)recorder->cursor - block);
    cold->block = NULL;
    tbed_ring_note_end(cold->writer, block, cold->stream, cold->ended_block);
    cold->ended_block = block;
    if (inline_seal || !tbed_helper_seal(cold->writer, block, used)) {
        tbed_block_seal(block, used, tbed_block_latest_tick(block, used));
        tbed_page_release(cold->writer, block);
    }
}

/*
 * The first block of a stream is a cell where the record fits, so that a short thread takes 1 KiB, not 64. Where events
 * come from elsewhere so may any number of threads, all at once: they get a page only when they have filled as much in
 * cells, so that at most half the file is empty. Cells take addresses that strings need: at most half of them.
 */
static bool wants_cell(const struct tbed_recorder_cold *cold, size_t needed_nbytes)
{
    const struct tbed_writer *writer = cold->writer;
    uint32_t cell_nbytes = tbed_cell_nbytes(writer), cell_count = 1;
    uint64_t string_pages_half = ((uint64_t)1 << 31) >> writer->page_shift;
    if (writer->has_given_ticks &&
        tbed_shared_load(&tbed_shared(writer)->next_string_page) < string_pages_half)
        cell_count = writer->page_nbytes / cell_nbytes;
    return cold->next_sequence < cell_count && needed_nbytes <= cell_nbytes / 2;
}

/* Where all pages are held, a recorder goes on in its own: what it recorded there is lost, not what comes. */
static uint8_t *ring_block_claim(struct tbed_recorder_cold *cold, enum tbed_drop_cause *cause_ret)
{
    struct tbed_recorder *recorder = cold->recorder;
    uint8_t *own = cold->block;
    uint8_t *block = tbed_ring_claim(cold->writer, cause_ret);
    if (block != NULL || own == NULL)
        return block;
    block_hand_over(recorder, cold, true);
    __atomic_store_n(&recorder->end, NULL, __ATOMIC_RELAXED);
    recorder->cursor = NULL;
    return tbed_ring_retake(cold->writer, own, cause_ret);
}

static uint8_t *block_claim(struct tbed_recorder_cold *cold, uint64_t tick, size_t needed_nbytes,
                            uint32_t *nbytes_ret, enum tbed_drop_cause *cause_ret)
{
    struct tbed_writer *writer = cold->writer;
    if (writer->fields.ring_page_count != 0) {
        *nbytes_ret = writer->page_nbytes;
        return ring_block_claim(cold, cause_ret);
    }
    if (!wants_cell(cold, needed_nbytes)) {
        *nbytes_ret = writer->page_nbytes;
        return tbed_page_claim(writer, cause_ret);
    }
    uint32_t string_page;
    *cause_ret = TBED_DROP_INTERRUPTED;
    if (!tbed_writer_lock(writer))
        return NULL;
    uint8_t *block = tbed_cell_claim(writer, tick, &string_page, cause_ret);
    tbed_writer_unlock(writer);
    *nbytes_ret = tbed_cell_nbytes(writer);
    if (block != NULL || *cause_ret != TBED_DROP_IDS_EXHAUSTED)
        return block;
    *nbytes_ret = writer->page_nbytes; /* without string page ordinals there are no more cells, but pages */
    return tbed_page_claim(writer, cause_ret);
}

static void gap_store(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold)
{
    uint64_t count = __atomic_exchange_n(&cold->gap_count, 0, __ATOMIC_RELAXED);
    if (count == 0)
        return;
    uint64_t *at = recorder->cursor;
    uint64_t cause = __atomic_load_n(&cold->gap_cause, __ATOMIC_RELAXED);
    at[1] = TBED_EXT_GAP | (uint64_t)2 << 16 | cause << 32;
    at[2] = count;
    tbed_recorder_commit(recorder, at, 3, (uint64_t)TBED_TAG_EXTENDED << 30 | TBED_ID_INVALID);
}

static bool is_closing(struct tbed_writer *writer)
{
    return __atomic_load_n(&writer->is_closing, __ATOMIC_ACQUIRE);
}

/*
 * Whoever closes or rotates raises its flag and then clears 'end': sequentially consistent, as here, so that of the two
 * that come at once one sees the other. It waits for the record that is under way, no more.
 */
static void end_set(struct tbed_recorder *recorder, const struct tbed_recorder_cold *cold)
{
    struct tbed_writer *writer = cold->writer;
    uint64_t *end = (uint64_t *)(void *)(cold->block + cold->block_nbytes);
    __atomic_store_n(&recorder->end, end, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&writer->is_closing, __ATOMIC_SEQ_CST) ||
        __atomic_load_n(&writer->live->is_rotating, __ATOMIC_SEQ_CST))
        __atomic_store_n(&recorder->end, NULL, __ATOMIC_SEQ_CST);
}

/* Room that a record of 'nwords' needs in a new block beside its header: stack, gap. */
static size_t needed_in_block(const struct tbed_recorder_kept *kept, size_t nwords, uint32_t page_nbytes)
{
    return tbed_block_words_offset(page_nbytes, tbed_stack_depth(kept)) + (nwords + 3) * 8;
}

static bool next_block(struct tbed_recorder *recorder, size_t nwords, uint64_t tick,
                       enum tbed_drop_cause *cause_ret)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    struct tbed_recorder_cold *cold = kept->cold;
    struct tbed_writer *writer = cold->writer;
    size_t needed = needed_in_block(kept, nwords, writer->page_nbytes);
    *cause_ret = TBED_DROP_TOO_LARGE;
    if (nwords > 65536 || needed > writer->page_nbytes)
        return false;
    *cause_ret = is_closing(writer) ? TBED_DROP_CLOSED : TBED_DROP_INTERRUPTED;
    if ((cold->stream == 0 || cold->epoch != writer->epoch) && !stream_open(cold, tick, cause_ret))
        return false;
    uint32_t nbytes;
    uint8_t *block = block_claim(cold, tick, needed, &nbytes, cause_ret);
    if (block == NULL)
        return false;
    block_hand_over(recorder, cold, false);
    uint32_t depth = tbed_stack_depth(kept), stored = tbed_block_stored_count(nbytes, depth);
    struct tbed_block_start start = {
        .kind = TBED_BLOCK_EVENTS,
        .stream = cold->stream,
        .sequence = cold->next_sequence++,
        .depth = depth,
        .tick = tick,
    };
    recorder->cursor = (uint64_t *)(void *)tbed_stack_store(kept, block + TBED_BLOCK_HEADER_NBYTES, stored);
    tbed_block_begin(writer, block, nbytes, &start);
    recorder->base = tick;
    recorder->idle = idle_mark(writer);
    cold->block = block;
    cold->block_nbytes = nbytes;
    gap_store(recorder, cold);
    end_set(recorder, cold);
    return true;
}

#define TIME_STEPS_MAX ((uint64_t)TBED_ID_MAX)

/* The block has room but the tick is 2^31 or more away. Modulo 2^64, so that a clock that steps back is told
 * too. */
static bool advance_time(struct tbed_recorder *recorder, size_t nwords, uint64_t tick)
{
    uint64_t steps = (tick - recorder->base) >> 31;
    uint64_t words = (steps + TIME_STEPS_MAX - 1) / TIME_STEPS_MAX;
    uint64_t *end = __atomic_load_n(&recorder->end, __ATOMIC_RELAXED);
    if (end == NULL || (size_t)(end - recorder->cursor) < nwords + words)
        return false;
    for (; steps > 0; words--) {
        uint64_t step = steps < TIME_STEPS_MAX ? steps : TIME_STEPS_MAX;
        tbed_recorder_commit(recorder, recorder->cursor, 1, (uint64_t)TBED_TAG_TIME << 30 | step);
        recorder->base += step << 31;
        steps -= step;
    }
    return true;
}

static bool may_go_on(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold)
{
    if (cold->block == NULL || cold->epoch != cold->writer->epoch)
        return false;
    if (__atomic_load_n(&recorder->end, __ATOMIC_RELAXED) == NULL) /* a rotation that came to nothing */
        end_set(recorder, cold);
    return true;
}

static uint64_t *refill(struct tbed_recorder *recorder, size_t nwords, uint64_t tick)
{
    struct tbed_recorder_cold *cold = cold_of(recorder);
    enum tbed_drop_cause cause = TBED_DROP_CLOSED;
    if (!cold->is_open || !tbed_writer_is_usable(cold->writer) || is_closing(cold->writer)) {
        if (is_closing(cold->writer))
            __atomic_store_n(&recorder->saw_close, 1, __ATOMIC_RELEASE);
        drop(cold, cause);
        return NULL;
    }
    if (!tbed_rotation_wait(cold->writer, recorder, &cause)) {
        drop(cold, cause);
        return NULL;
    }
    if (cold->epoch != cold->writer->epoch) /* forked: the block is the parent's */
        cold->block = NULL;
    if (may_go_on(recorder, cold) && advance_time(recorder, nwords, tick))
        return recorder->cursor;
    tbed_rotate_if_due(cold->writer, recorder);
    if (!next_block(recorder, nwords, tick, &cause)) {
        drop(cold, cause);
        return NULL;
    }
    return recorder->cursor;
}

/* The program's errno is its own, above all in a signal handler. */
uint64_t *tbed_recorder_refill(struct tbed_recorder *recorder, size_t nwords, uint64_t tick)
{
    int kept_errno = errno;
    uint64_t *at = refill(recorder, nwords, tick);
    errno = kept_errno;
    return at;
}

/* ---- Closing ---- */

static void end_record(struct tbed_recorder_cold *cold)
{
    uint64_t tick = tbed_clock_slow(cold->recorder);
    struct tbed_disk_end record = {
        .stream = tbed_le32_make(cold->stream),
        .tick = tbed_le64_make(tick),
    };
    tbed_clock_reach(cold->writer, tick);
    tbed_record_append(cold->writer, &record, TBED_RECORD_END, sizeof record);
}

/* The recorder's owner keeps off its pages from here on. The caller holds 'lock'. */
static void recorder_finish(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = cold_of(recorder);
    if (cold->epoch == cold->writer->epoch) {
        block_hand_over(recorder, cold, true);
        if (cold->ended_block != NULL)
            tbed_ring_note_end(cold->writer, cold->ended_block, 0, NULL);
        if (cold->stream != 0)
            end_record(cold);
    }
    cold->block = NULL;
}

void tbed_recorder_close(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = recorder != NULL ? cold_of(recorder) : NULL;
    if (cold == NULL || !tbed_writer_lock(cold->writer))
        return;
    if (cold->is_open) {
        /* First: a signal handler that comes in between must not store behind the seal. */
        __atomic_store_n(&recorder->mark, TBED_MARK_STOPPED, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        recorder_finish(recorder);
        tbed_stack_reset(tbed_kept_of(recorder));
        cold->is_open = false;
        recorder->cursor = recorder->end = NULL;
        cold->next_free = cold->writer->free_recorders;
        cold->writer->free_recorders = recorder;
    }
    tbed_writer_unlock(cold->writer);
}

/*
 * Waits until the owner is between two records, or has met the close in one: from then on it stores nothing.
 * Its hot half and its stack stay its own, for it goes on calling.
 */
static bool recorder_stop(struct tbed_recorder *recorder)
{
    uint64_t deadline = tbed_monotonic_ns() + STOP_WAIT_NS;
    while (__atomic_load_n(&recorder->mark, __ATOMIC_ACQUIRE) == TBED_MARK_BUSY &&
           !__atomic_load_n(&recorder->saw_close, __ATOMIC_ACQUIRE)) {
        if (tbed_monotonic_ns() > deadline)
            return false;
        sched_yield();
    }
    return true;
}

/* The kernel takes some 10 ms for this in a process of several threads, and no time in one of a single thread. */
bool tbed_barrier_register(void)
{
    static bool is_registered;
    if (!__atomic_load_n(&is_registered, __ATOMIC_RELAXED) &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        return false;
    __atomic_store_n(&is_registered, true, __ATOMIC_RELAXED);
    return true;
}

/*
 * The owner marks itself busy and then loads 'end', with plain instructions; we clear 'end' and then look at
 * the mark. The barrier between makes one of the two see the other.
 */
static bool barrier_for_all_threads(void)
{
    return tbed_barrier_register() && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static size_t for_each_open(struct tbed_writer *writer, bool (*act)(struct tbed_recorder *))
{
    size_t count = 0;
    for (struct tbed_slab *slab = writer->slabs; slab != NULL; slab = slab->next) {
        struct tbed_recorder_cold *colds = (struct tbed_recorder_cold *)(slab + 1);
        for (size_t i = 0; i < TBED_SLAB_RECORDER_COUNT; i++)
            if (colds[i].is_open) /* a parent's too: a thread of ours may be making it its own */
                count += act(colds[i].recorder);
    }
    return count;
}

void tbed_recorders_free(struct tbed_writer *writer)
{
    while (writer->slabs != NULL) {
        struct tbed_slab *slab = writer->slabs;
        struct tbed_recorder_cold *colds = (struct tbed_recorder_cold *)(slab + 1);
        for (size_t i = 0; i < TBED_SLAB_RECORDER_COUNT; i++)
            if (colds[i].stack_nbytes != 0)
                tbed_pages_free(tbed_kept_of(colds[i].recorder)->stack, colds[i].stack_nbytes);
        writer->slabs = slab->next;
        tbed_pages_free((uint8_t *)slab - 2 * TBED_RECORDER_KEPT_OFFSET, TBED_SLAB_NBYTES);
    }
}

static bool clear_end(struct tbed_recorder *recorder)
{
    __atomic_store_n(&recorder->end, NULL, __ATOMIC_SEQ_CST);
    return true;
}

static bool stop_and_finish(struct tbed_recorder *recorder)
{
    struct tbed_writer *writer = cold_of(recorder)->writer;
    if (!recorder_stop(recorder)) {
        writer->has_lost_recorder = true;
        return true;
    }
    tbed_lock_take(&writer->live->lock);
    recorder_finish(recorder);
    tbed_lock_give(&writer->live->lock);
    return true;
}

void tbed_recorders_stop(struct tbed_writer *writer)
{
    size_t count = for_each_open(writer, clear_end);
    /* The only recorder may be another thread's. Where there is no barrier, the usual small program is believed. */
    if (count > 0 && !barrier_for_all_threads() && count > 1) {
        writer->has_lost_recorder = true;
        return;
    }
    for_each_open(writer, stop_and_finish);
}

/* ---- Rotations ---- */

bool tbed_recorders_pause(struct tbed_writer *writer)
{
    if (!tbed_writer_lock(writer))
        return false;
    for_each_open(writer, clear_end);
    tbed_writer_unlock(writer);
    return barrier_for_all_threads();
}

/* One that waits for the rotation is busy, but keeps off the pages. */
static bool is_storing(struct tbed_recorder *recorder)
{
    return __atomic_load_n(&recorder->mark, __ATOMIC_ACQUIRE) == TBED_MARK_BUSY &&
           !__atomic_load_n(&recorder->saw_close, __ATOMIC_SEQ_CST);
}

bool tbed_recorders_are_busy(struct tbed_writer *writer)
{
    return for_each_open(writer, is_storing) != 0;
}

static bool hand_over(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = cold_of(recorder);
    if (cold->epoch == cold->writer->epoch) {
        block_hand_over(recorder, cold, true);
        cold->next_sequence = 0;
    }
    return true;
}

void tbed_recorders_hand_over(struct tbed_writer *writer)
{
    for_each_open(writer, hand_over);
}
