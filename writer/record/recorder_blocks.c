/*
 * A recorder's blocks: taking one after the other, and handing them over to be sealed.
 *
 * Source: spec/format.md, sections 4.2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <unistd.h>

#include "writer/base/kernel.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"
#include "writer/pages/pages.h"
#include "writer/pages/ring.h"
#include "writer/record/recorders.h"
#include "writer/record/spans.h"
#include "writer/store/entries.h"
#include "writer/store/records.h"

/*
 * What a recorder of signal handlers takes over from its thread, which may itself be about to open its stream, and then
 * has none yet. Returns that.
 */
static uint32_t take_over(struct tbed_recorder_cold *cold)
{
    const struct tbed_recorder_cold *thread = cold->thread;
    cold->has_given_tid = thread->has_given_tid || thread->kind != TBED_STREAM_THREAD;
    cold->tid = thread->tid;
    return tbed_cold_is_ours(thread) ? thread->stream : 0;
}

/* In a forked child a recorder continues as a stream of its own, with the spans that were open. */
static bool stream_open(struct tbed_recorder_cold *cold, uint64_t tick, enum tbed_drop_cause *cause_ret)
{
    struct tbed_file *file = tbed_cold_file(cold);
    uint32_t parent = cold->thread != NULL                ? take_over(cold)
                      : cold->kind == TBED_STREAM_OFF_CPU ? cold->given_thread
                                                          : cold->stream;
    if (file->is_guarded)
        tbed_guard_admit_thread();
    if (cold->kind != TBED_STREAM_TRACK && !cold->has_given_tid)
        cold->tid = tbed_is_sandboxed() ? tbed_thread_id_known() : (uint32_t)syscall(SYS_gettid);
    if (!tbed_state_lock(file))
        return false;
    tbed_clock_reach(&file->clock, tick);
    uint64_t stream = tbed_cold_store(cold)->spare_stream;
    if (stream == 0)
        stream = tbed_shared_add(&tbed_shared(file)->next_stream, 1);
    struct tbed_disk_stream record = {
        .stream = tbed_le32_make((uint32_t)stream),
        .process = tbed_le32_make(cold->given_process != 0 ? cold->given_process : file->process.stream),
        .kind = tbed_le32_make(cold->kind),
        .tid = tbed_le32_make(cold->tid),
        .name_id = tbed_le32_make(cold->name_id),
        .parent = tbed_le32_make(parent),
        .tick = tbed_le64_make(tick),
    };
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    bool is_recorded = stream <= UINT32_MAX && tbed_stream_append(tbed_cold_store(cold), &record, cause_ret);
    tbed_cold_store(cold)->spare_stream = is_recorded || stream > UINT32_MAX ? 0 : (uint32_t)stream;
    tbed_state_unlock(file);
    if (!is_recorded)
        return false;
    if (!tbed_cold_is_ours(cold))
        tbed_stack_inherit(tbed_kept_of(cold->recorder), tick);
    cold->stream = (uint32_t)stream;
    cold->next_sequence = 0;
    cold->epoch = file->process.epoch;
    return true;
}

/*
 * Ends the recorder's block, which is sealed by the helper, or here if 'inline_seal' or there is no helper. 'limits' are
 * the block's ticks without looking at its events; NULL: they are not known.
 */
static void hand_over(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold,
                      const struct tbed_block_ticks *limits, bool inline_seal)
{
    uint8_t *block = cold->block;
    if (block == NULL)
        return;
    uint32_t used = (uint32_t)((uint8_t *)recorder->cursor - block);
    cold->block = NULL;
    cold->ended_block = block;
    if (tbed_is_lost(tbed_cold_file(cold)))
        return;
    struct tbed_block_ticks ticks = limits != NULL ? *limits : tbed_block_ticks(block, used);
    tbed_block_end(tbed_cold_file(cold), block, used, &ticks);
    if (inline_seal || !tbed_seal_queue_put(tbed_cold_file(cold), block, used)) {
        tbed_block_seal(tbed_cold_file(cold), block, used);
        tbed_page_release(tbed_cold_file(cold), block);
    }
}

/* The recorder goes on at 'tick' in another block, so nothing in this one is later, unless its ticks went back. */
static void hand_over_at(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold, uint64_t tick,
                         bool inline_seal)
{
    struct tbed_block_ticks limits = {.last = tick, .least_begin = cold->least_begin_tick};
    hand_over(recorder, cold, cold->is_unordered ? NULL : &limits, inline_seal);
}

void tbed_block_hand_over(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold)
{
    hand_over(recorder, cold, NULL, true);
}

static bool must_leave(const struct tbed_recorder_cold *cold)
{
    return __atomic_load_n(&cold->must_leave, __ATOMIC_SEQ_CST);
}

/*
 * The first blocks of a stream are cells if the record and all open spans fit, so that a short thread takes 1 KiB instead
 * of 64: it gets a page only when it has filled as much in cells, so that at most half of the file is empty however many
 * threads and processes there are. So is a block after one that was left for a sync when it had no more than a cell. A signal
 * handler whose thread waits for the file to grow finds no page either.
 */
static bool wants_cell(const struct tbed_recorder_cold *cold, size_t needed_nbytes)
{
    const struct tbed_file *file = tbed_cold_file(cold);
    uint32_t cell_nbytes = tbed_cell_nbytes(file->page_nbytes);
    uint32_t depth = tbed_stack_depth(tbed_kept_of(cold->recorder));
    if (needed_nbytes > cell_nbytes / 2 || tbed_block_stored_count(cell_nbytes, depth) != depth)
        return false;
    bool is_early = cold->next_sequence < tbed_early_cell_count(tbed_cold_store(cold));
    bool was_short = must_leave(cold) && cold->block != NULL &&
                     (size_t)((uint8_t *)cold->recorder->cursor - cold->block) <= cell_nbytes;
    bool has_no_page = cold->thread != NULL && tbed_lock_is_mine(&file->live->grow_lock);
    return cold->next_sequence == 0 ||
           ((is_early || was_short || has_no_page) && tbed_has_spare_cells(tbed_cold_store(cold)));
}

/* If all pages are held, a recorder reuses its own page: what it recorded there is lost, not what comes next. */
static uint8_t *ring_block_claim(struct tbed_recorder_cold *cold, uint64_t tick,
                                 enum tbed_drop_cause *cause_ret)
{
    struct tbed_recorder *recorder = cold->recorder;
    uint8_t *own = cold->block;
    uint8_t *block = tbed_ring_claim(tbed_cold_file(cold), cause_ret);
    if (block != NULL || own == NULL)
        return block;
    hand_over_at(recorder, cold, tick, true);
    __atomic_store_n(&recorder->end, NULL, __ATOMIC_RELAXED);
    recorder->cursor = NULL;
    return tbed_ring_retake(tbed_cold_file(cold), own, cause_ret);
}

static uint8_t *block_claim(struct tbed_recorder_cold *cold, uint64_t tick, size_t needed_nbytes,
                            uint32_t *nbytes_ret, enum tbed_drop_cause *cause_ret)
{
    struct tbed_file *file = tbed_cold_file(cold);
    if (file->fields.ring_page_count != 0) {
        *nbytes_ret = file->page_nbytes;
        return ring_block_claim(cold, tick, cause_ret);
    }
    if (!wants_cell(cold, needed_nbytes)) {
        *nbytes_ret = file->page_nbytes;
        return tbed_page_claim(file, cause_ret);
    }
    uint32_t string_page;
    uint8_t *block = tbed_cell_take(tbed_cold_store(cold));
    /* The file grows before the lock is taken, so that signal handlers find it free. */
    if (block == NULL && !tbed_page_prepare(file, cause_ret))
        return NULL;
    *cause_ret = TBED_DROP_INTERRUPTED;
    if (block == NULL && tbed_state_lock(file)) {
        block = tbed_cell_claim(tbed_cold_store(cold), tick, &string_page, cause_ret);
        tbed_state_unlock(file);
    }
    *nbytes_ret = tbed_cell_nbytes(file->page_nbytes);
    if (block != NULL || *cause_ret != TBED_DROP_IDS_EXHAUSTED)
        return block;
    *nbytes_ret = file->page_nbytes; /* without string page ordinals there are no more cells, only pages */
    return tbed_page_claim(file, cause_ret);
}

static void gap_store(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold)
{
    uint64_t count = __atomic_exchange_n(&cold->gap_count, 0, __ATOMIC_RELAXED);
    if (count == 0)
        return;
    uint64_t *at = recorder->cursor;
    uint64_t cause = __atomic_load_n(&cold->gap_cause, __ATOMIC_RELAXED);
    tbed_record_head_store(at, TBED_EXT_GAP | (uint64_t)2 << 16 | cause << 32);
    at[2] = tbed_word_order(count);
    tbed_recorder_commit(recorder, at, 3, (uint64_t)TBED_TAG_EXTENDED << 30 | TBED_ID_INVALID);
}

static bool is_closing(const struct tbed_file *file)
{
    return __atomic_load_n(&file->is_closing, __ATOMIC_ACQUIRE);
}

/*
 * A thread that closes, rotates, syncs or loses the file raises its flag and then clears 'end'; here 'end' is set and then
 * the flags are read. All of it is sequentially consistent, so one of the two sees the other. The other thread waits only for the
 * record under way.
 */
static void end_set(struct tbed_recorder *recorder, const struct tbed_recorder_cold *cold)
{
    struct tbed_file *file = tbed_cold_file(cold);
    uint64_t *end = (uint64_t *)(void *)(cold->block + cold->block_nbytes);
    __atomic_store_n(&recorder->end, end, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&file->is_closing, __ATOMIC_SEQ_CST) || tbed_is_lost(file) || must_leave(cold) ||
        __atomic_load_n(&file->live->is_rotating, __ATOMIC_SEQ_CST))
        __atomic_store_n(&recorder->end, NULL, __ATOMIC_SEQ_CST);
}

/* The room that a record of 'nwords' needs in a new block besides its header, for the stack and a gap. */
static size_t needed_in_block(const struct tbed_recorder_kept *kept, size_t nwords, uint32_t page_nbytes)
{
    return tbed_block_words_offset(page_nbytes, tbed_stack_depth(kept)) + (nwords + 3) * 8;
}

static bool next_block(struct tbed_recorder *recorder, size_t nwords, uint64_t tick,
                       enum tbed_drop_cause *cause_ret)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    struct tbed_recorder_cold *cold = kept->cold;
    struct tbed_file *file = tbed_cold_file(cold);
    size_t needed = needed_in_block(kept, nwords, file->page_nbytes);
    *cause_ret = TBED_DROP_TOO_LARGE;
    if (nwords > 65536 || needed > file->page_nbytes)
        return false;
    *cause_ret = is_closing(file) ? TBED_DROP_CLOSED : TBED_DROP_INTERRUPTED;
    if ((cold->stream == 0 || !tbed_cold_is_ours(cold)) && !stream_open(cold, tick, cause_ret))
        return false;
    uint32_t nbytes;
    uint8_t *block = block_claim(cold, tick, needed, &nbytes, cause_ret);
    if (block == NULL)
        return false;
    hand_over_at(recorder, cold, tick, false);
    uint32_t depth = tbed_stack_depth(kept), stored = tbed_block_stored_count(nbytes, depth);
    struct tbed_block_start start = {
        .kind = TBED_BLOCK_EVENTS,
        .stream = cold->stream,
        .sequence = cold->next_sequence++,
        .depth = depth,
        .tick = tick,
    };
    recorder->cursor = (uint64_t *)(void *)tbed_stack_store(kept, block + TBED_BLOCK_HEADER_NBYTES, stored);
    tbed_block_begin(file, block, nbytes, &start);
    recorder->base = tick;
    recorder->idle = tbed_idle_mark(&file->clock);
    cold->block = block;
    cold->block_nbytes = nbytes;
    cold->least_begin_tick = tick;
    cold->is_unordered = file->clock.kind == TBED_CLOCK_USER && !file->clock.is_given;
    gap_store(recorder, cold);
    __atomic_store_n(&cold->must_leave, false, __ATOMIC_SEQ_CST);
    end_set(recorder, cold);
    return true;
}

#define TIME_STEPS_MAX ((uint64_t)TBED_ID_MAX)

/*
 * The block has room but the tick is 2^31 or more away. Computed modulo 2^64, so that a clock that steps back is
 * stored too.
 */
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
    if (cold->block == NULL || !tbed_cold_is_ours(cold) || must_leave(cold))
        return false;
    if (__atomic_load_n(&recorder->end, __ATOMIC_RELAXED) == NULL) /* a rotation failed after clearing it */
        end_set(recorder, cold);
    return true;
}

/*
 * Waits until no rotation is under way. False, with the cause: the thread must not wait, because this is a signal
 * handler that interrupted it at one of the locks. The last load follows the release of the mark, so a thread that
 * begins the next rotation meanwhile either sees that or is seen. Nor may a handler that interrupted a record wait: the
 * rotation waits for that record.
 */
static bool wait_for_rotation(struct tbed_file *file, struct tbed_recorder *recorder,
                              enum tbed_drop_cause *cause_ret)
{
    struct tbed_live *live = file->live;
    bool is_for_handlers = tbed_cold_of(recorder)->thread != NULL;
    while (__atomic_load_n(&live->is_rotating, __ATOMIC_SEQ_CST)) {
        *cause_ret = TBED_DROP_INTERRUPTED;
        if (tbed_lock_is_mine(&live->state_lock) || is_for_handlers)
            return false;
        __atomic_store_n(&recorder->saw_close, 1, __ATOMIC_SEQ_CST);
        bool has_waited = tbed_lock_take(&live->pause_lock);
        if (has_waited)
            tbed_lock_give(&live->pause_lock);
        *cause_ret = TBED_DROP_CLOSED;
        if (__atomic_load_n(&file->is_closing, __ATOMIC_SEQ_CST))
            return false;
        __atomic_store_n(&recorder->saw_close, 0, __ATOMIC_SEQ_CST);
        *cause_ret = TBED_DROP_INTERRUPTED;
        if (!has_waited)
            return false;
    }
    return true;
}

static uint64_t *refill(struct tbed_recorder *recorder, size_t nwords, uint64_t tick)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    struct tbed_file *file = tbed_cold_file(cold);
    enum tbed_drop_cause cause = TBED_DROP_CLOSED;
    if (!cold->is_open || !tbed_is_usable(file) || is_closing(file)) {
        if (tbed_is_sandboxed() && !tbed_has_joined(file)) /* a forked child that cannot join */
            cause = TBED_DROP_SANDBOX;
        if (is_closing(file))
            __atomic_store_n(&recorder->saw_close, 1, __ATOMIC_RELEASE);
        tbed_recorder_drop(recorder, cause);
        return NULL;
    }
    if (tbed_is_lost(file)) {
        tbed_recorder_drop(recorder, TBED_DROP_IO_ERROR);
        return NULL;
    }
    if (!wait_for_rotation(file, recorder, &cause)) {
        tbed_recorder_drop(recorder, cause);
        return NULL;
    }
    if (!tbed_cold_is_ours(cold)) /* forked: the block belongs to the parent */
        cold->block = NULL;
    cold->is_unordered |= tick < recorder->base;
    if (may_go_on(recorder, cold) && advance_time(recorder, nwords, tick))
        return recorder->cursor;
    if (cold->thread == NULL) /* not a handler's, who would wait for the record that it interrupted */
        file->hooks->rotate_if_due(file, recorder);
    if (!next_block(recorder, nwords, tick, &cause)) {
        tbed_recorder_drop(recorder, cause);
        return NULL;
    }
    return recorder->cursor;
}

/* The program keeps its errno, which matters most in signal handlers. */
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
    tbed_clock_reach(&tbed_cold_file(cold)->clock, tick);
    tbed_record_append(tbed_cold_store(cold), &record, TBED_RECORD_END, sizeof record);
}

/* From here on the owner stays off the recorder's pages. The caller holds 'state_lock'. */
void tbed_recorder_finish(struct tbed_recorder *recorder)
{
    struct tbed_recorder_cold *cold = tbed_cold_of(recorder);
    if (tbed_cold_is_ours(cold)) {
        tbed_block_hand_over(recorder, cold);
        if (cold->ended_block != NULL && !tbed_is_lost(tbed_cold_file(cold)))
            tbed_ring_note_last(tbed_cold_file(cold), cold->ended_block, cold->stream);
        if (cold->stream != 0)
            end_record(cold);
    }
    cold->block = NULL;
}
