/*
 * tracebed/recorder_inline.h: the fast path of begins, ends and instants. Included by recorder.h; do not include it
 * yourself.
 *
 * To record an event is to mark the recorder busy, read the clock, compare, store the word, advance and mark it ready.
 * The word is stored last and is its own commit. The mark sends signal handlers to another recorder, and keeps tbed_writer_close() in
 * another thread out of an unfinished record; it takes two plain stores and no locked instruction. Every unusual case (another
 * clock, a full block, no block, a forked child, a deep stack) is behind a single call.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORDER_INLINE_H
#define TRACEBED_RECORDER_INLINE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

/*
 * The hot half. It is zero in a forked child (MADV_WIPEONFORK) and so not ready: the child's first record takes the slow
 * path, which gives it a stream and pages of its own.
 */
struct tbed_recorder {
    uint64_t *cursor; /* the next event word */
    uint64_t *end;    /* of the block; NULL: no block, or stopped */
    tbed_word base;   /* tick of delta 0 */
    uint8_t mark;     /* TBED_MARK_... */
    uint8_t idle;     /* the mark between records: READY, or SLOW if the clock is not the machine's counter */
    uint8_t saw_close; /* the owner has noticed tbed_writer_close() and no longer touches the pages */
    uint8_t reserved[53 - 2 * sizeof(void *)]; /* 64 bytes on 32-bit machines too */
};

#define TBED_MARK_NONE    0 /* in a forked child */
#define TBED_MARK_READY   1
#define TBED_MARK_SLOW    2
#define TBED_MARK_BUSY    3 /* in a record */
#define TBED_MARK_STOPPED 4 /* closed */
#define TBED_MARK_OFF     5 /* no writer: calls nothing, counts nothing */

/* The half that a forked child keeps, in the next page. */
struct tbed_recorder_kept {
    struct tbed_open_span *top; /* behind the innermost open span */
    struct tbed_open_span *limit;
    /* Ending a span below it takes the slow path: the block does not contain its begin, or there is none. */
    struct tbed_open_span *floor;
    struct tbed_open_span *stack; /* outermost first */
    uint32_t deep_count;          /* open spans beyond the limit, which are only counted */
    uint32_t takes_given;         /* the writer has given ticks */
    struct tbed_recorder_cold *cold;
    tbed_word given_tick; /* the latest given tick */
    uint32_t has_notes;   /* another thread has ended a span; see tbed_span_end_later(); atomic */
    uint8_t reserved[36 - 4 * sizeof(void *)];
};

struct tbed_open_span {
    uint64_t begin_tick;
    uint32_t id;
    uint32_t dropped; /* the current block does not contain its begin */
};

#define TBED_RECORDER_KEPT_OFFSET 4096

#if defined __cplusplus && __cplusplus < 201103L
#define TBED_STATIC_ASSERT(condition, text) extern int tbed_asserted_[(condition) ? 1 : -1]
#elif defined __cplusplus
#define TBED_STATIC_ASSERT static_assert
#else
#define TBED_STATIC_ASSERT _Static_assert
#endif
TBED_STATIC_ASSERT(sizeof(struct tbed_recorder) == 64, "one cache line");
TBED_STATIC_ASSERT(sizeof(struct tbed_recorder_kept) == 64, "one cache line");

#define TBED_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The slow paths; do not call them yourself. */
uint64_t tbed_clock_slow(const struct tbed_recorder *recorder);
void tbed_recorder_drop_busy(struct tbed_recorder *recorder);
struct tbed_recorder *tbed_recorder_entered_slow(struct tbed_recorder *recorder);
int tbed_has_open_span_slow(struct tbed_recorder *recorder);
uint64_t *tbed_recorder_refill(struct tbed_recorder *recorder, size_t nwords, uint64_t tick);
void tbed_span_begin_slow(struct tbed_recorder *recorder, uint32_t id);
void tbed_span_end_slow(struct tbed_recorder *recorder);
void tbed_instant_record_slow(struct tbed_recorder *recorder, uint32_t id);

TBED_INLINE struct tbed_recorder_kept *tbed_kept_of(struct tbed_recorder *recorder)
{
    return (struct tbed_recorder_kept *)((char *)recorder + TBED_RECORDER_KEPT_OFFSET);
}

/* A signal handler that interrupts a record has spans of its own. */
TBED_INLINE int tbed_has_open_span(struct tbed_recorder *recorder)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (TBED_UNLIKELY(recorder->mark == TBED_MARK_BUSY))
        return tbed_has_open_span_slow(recorder);
    return kept->top != kept->stack;
}

TBED_INLINE uint64_t tbed_counter_read(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc(); /* <x86intrin.h>, for its name __rdtsc(), takes half a second to compile */
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

TBED_INLINE uint64_t tbed_recorder_now(const struct tbed_recorder *recorder)
{
    if (TBED_UNLIKELY(recorder->idle != TBED_MARK_READY))
        return tbed_clock_slow(recorder);
    return tbed_counter_read();
}

TBED_INLINE void tbed_recorder_mark_busy(struct tbed_recorder *recorder)
{
    __atomic_store_n(&recorder->mark, TBED_MARK_BUSY, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

TBED_INLINE void tbed_recorder_mark_idle(struct tbed_recorder *recorder, uint8_t mark)
{
    __atomic_store_n(&recorder->mark, mark, __ATOMIC_RELEASE);
}

TBED_INLINE int tbed_recorder_is_off(const struct tbed_recorder *recorder)
{
    return recorder->mark == TBED_MARK_OFF;
}

/*
 * The recorder to store into, marked busy: 'recorder', or in a signal handler that interrupted one of its records the one
 * that it keeps for such handlers. NULL: the event was dropped (counted).
 */
TBED_INLINE struct tbed_recorder *tbed_recorder_entered(struct tbed_recorder *recorder)
{
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY))
        return tbed_recorder_is_off(recorder) ? NULL : tbed_recorder_entered_slow(recorder);
    tbed_recorder_mark_busy(recorder);
    return recorder;
}

TBED_INLINE void tbed_recorder_leave(struct tbed_recorder *recorder)
{
    tbed_recorder_mark_idle(recorder, recorder->idle);
}

/*
 * Whether 'nwords' words fit into the block behind the cursor, and 'delta', counted from the base, into an event word.
 * Both numbers are below 2^31 then. If too few bytes are left, the subtraction wraps around to a huge number; so it does
 * if the tick is before the base, or 'end' of struct tbed_recorder is NULL, which means stopped.
 */
TBED_INLINE int tbed_recorder_fits(const struct tbed_recorder *recorder, size_t nwords, uint64_t delta)
{
    uint64_t end = (uintptr_t)__atomic_load_n(&recorder->end, __ATOMIC_RELAXED);
    uint64_t left = end - ((uint64_t)(uintptr_t)recorder->cursor + nwords * 8);
    return (left | delta) >> 31 == 0;
}

/* Where to store the next 'nwords' words; NULL if the record was dropped (counted). */
TBED_INLINE uint64_t *tbed_recorder_room(struct tbed_recorder *recorder, size_t nwords, uint64_t tick)
{
    if (TBED_UNLIKELY(!tbed_recorder_fits(recorder, nwords, tick - recorder->base)))
        return tbed_recorder_refill(recorder, nwords, tick);
    return recorder->cursor;
}

TBED_INLINE uint64_t tbed_event_word(const struct tbed_recorder *recorder, uint32_t tag, uint32_t id,
                                     uint64_t tick)
{
    return (tick - recorder->base) << 33 | (uint64_t)tag << 30 | (id & TBED_ID_MAX);
}

/* Processors do not prefetch across 4 KiB pages: the first event in each would wait for memory. */
#define TBED_PREFETCH_NWORDS 64

/*
 * The line for this core alone. Most were zeroed by another core: a line that was prefetched to be read would be fetched
 * a second time by the store. Compilers emit this instruction only for processors that must have it; to others it is a
 * NOP.
 */
TBED_INLINE void tbed_line_prefetch(const uint64_t *at)
{
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*at));
#else
    __builtin_prefetch(at, 1);
#endif
}

/* The second word gives the record's length. It is stored before what follows it, so that a kill leaves one record. */
TBED_INLINE void tbed_record_head_store(uint64_t *at, uint64_t head)
{
    at[1] = tbed_word_order(head);
    __atomic_signal_fence(__ATOMIC_RELEASE);
}

TBED_INLINE void tbed_recorder_commit(struct tbed_recorder *recorder, uint64_t *at, size_t nwords,
                                      uint64_t word)
{
    __atomic_store_n((tbed_word *)at, tbed_word_order(word), __ATOMIC_RELEASE);
    tbed_line_prefetch(at + TBED_PREFETCH_NWORDS);
    recorder->cursor = at + nwords;
}

/* What follows the event word. */
struct tbed_words {
    uint64_t at[4];
};

/* A span that has begun becomes the innermost one, at 'span': the top, which is below the limit. */
TBED_INLINE void tbed_span_put(struct tbed_recorder_kept *kept, struct tbed_open_span *span, uint64_t tick,
                               uint32_t id)
{
    span->begin_tick = tick;
    span->id = id;
    kept->top = span + 1;
}

/*
 * The usual case of an event of up to five words, in one piece: makes no call, so that no register has to be saved. The
 * compiler knows the tag, whether a span begins, and how many words are stored: 'room'. Those behind the event's 'nwords'
 * are 0. 'id' is at most TBED_ID_MAX. False: nothing was recorded.
 */
TBED_ALWAYS_INLINE int tbed_words_record(struct tbed_recorder *recorder, uint32_t tag, uint32_t id,
                                         int is_begin, size_t room, size_t nwords, struct tbed_words more)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY))
        return 0;
    tbed_recorder_mark_busy(recorder);
    uint64_t tick = tbed_counter_read(), delta = tick - recorder->base;
    struct tbed_open_span *span = kept->top;
    if (TBED_UNLIKELY(!tbed_recorder_fits(recorder, room, delta) || (is_begin && span == kept->limit))) {
        tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
        return 0;
    }
    uint64_t *at = recorder->cursor;
    if (room > 1)
        tbed_record_head_store(at, more.at[0]);
    if (room > 2)
        at[2] = tbed_word_order(more.at[1]);
    if (room > 3)
        at[3] = tbed_word_order(more.at[2]);
    if (room > 4)
        at[4] = tbed_word_order(more.at[3]);
    tbed_recorder_commit(recorder, at, nwords, delta << 33 | ((uint64_t)tag << 30 | id));
    if (is_begin)
        tbed_span_put(kept, span, tick, id);
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return 1;
}

TBED_INLINE struct tbed_words tbed_words_of(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    struct tbed_words words;
    words.at[0] = first;
    words.at[1] = second;
    words.at[2] = third;
    words.at[3] = fourth;
    return words;
}

TBED_INLINE struct tbed_words tbed_words_none(void)
{
    return tbed_words_of(0, 0, 0, 0);
}

TBED_INLINE void tbed_span_begin(struct tbed_recorder *recorder, uint32_t id)
{
    if (!tbed_words_record(recorder, TBED_TAG_BEGIN, id & TBED_ID_MAX, 1, 1, 1, tbed_words_none()) &&
        !tbed_recorder_is_off(recorder))
        tbed_span_begin_slow(recorder, id);
}

/*
 * The usual case of the end of the innermost span: of any, or only of the span with this id and begin. False: nothing was
 * recorded.
 */
TBED_ALWAYS_INLINE int tbed_end_record(struct tbed_recorder *recorder, int is_any, uint32_t id,
                                       uint64_t begin_tick)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY))
        return 0;
    tbed_recorder_mark_busy(recorder);
    struct tbed_open_span *top = kept->top;
    uint64_t tick = tbed_counter_read();
    if (TBED_UNLIKELY(!tbed_recorder_fits(recorder, 1, tick - recorder->base) || top == kept->floor ||
                      (!is_any && (top[-1].begin_tick != begin_tick || top[-1].id != id)))) {
        tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
        return 0;
    }
    tbed_recorder_commit(recorder, recorder->cursor, 1,
                         tbed_event_word(recorder, TBED_TAG_END, top[-1].id, tick));
    kept->top = top - 1;
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return 1;
}

TBED_INLINE void tbed_span_end(struct tbed_recorder *recorder)
{
    if (!tbed_end_record(recorder, 1, 0, 0) && !tbed_recorder_is_off(recorder))
        tbed_span_end_slow(recorder);
}

/*
 * Gives the allocation that was recorded last the size that it has by now, in place: 'behind' is where the cursor was after
 * it. False: it was not the last event, or the size does not fit there; tbed_resize_record() serves then.
 */
TBED_INLINE int tbed_last_alloc_resize(struct tbed_recorder *recorder, const uint64_t *behind,
                                       uint64_t address, uint64_t size)
{
    const uint64_t plain = (uint64_t)TBED_PAIR_ALLOC << 60 | address / 8, size_bits = (uint64_t)0x7FFF << 45;
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY) || behind == NULL || size >> 15 != 0)
        return 0;
    tbed_recorder_mark_busy(recorder);
    uint64_t *cursor = recorder->cursor;
    int is_last = cursor == behind && tbed_recorder_fits(recorder, 0, 0) &&
                  (tbed_word_order(cursor[-1]) & ~size_bits) == plain;
    if (is_last)
        __atomic_store_n((tbed_word *)cursor - 1, tbed_word_order(plain | size << 45), __ATOMIC_RELAXED);
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return is_last;
}

TBED_INLINE void tbed_instant_record(struct tbed_recorder *recorder, uint32_t id)
{
    if (!tbed_words_record(recorder, TBED_TAG_INSTANT, id & TBED_ID_MAX, 0, 1, 1, tbed_words_none()) &&
        !tbed_recorder_is_off(recorder))
        tbed_instant_record_slow(recorder, id);
}

/* Whether a PAIR has room for the number. */
TBED_INLINE int tbed_counter_fits(int64_t value)
{
    return ((uint64_t)value + ((uint64_t)1 << 59)) >> 60 == 0;
}

TBED_INLINE uint64_t tbed_counter_bits(int64_t value)
{
    return (uint64_t)value & (((uint64_t)1 << 60) - 1);
}

TBED_INLINE struct tbed_words tbed_counter_f64_words(uint64_t bits)
{
    return tbed_words_of(TBED_EXT_COUNTER | 1 << 8 | 3 << 16,
                         TBED_ARG_F64 | 8 << 8 | (uint64_t)TBED_ID_INVALID << 32, bits, 0);
}

#endif
