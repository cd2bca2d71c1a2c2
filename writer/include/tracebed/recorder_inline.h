/*
 * tracebed/recorder_inline.h: the path that every begin, end and instant takes. Included by writer.h, not by
 * you.
 *
 * A record is: mark busy, read the clock, compare, store the word, advance, mark free. The word is stored
 * last and is its own commit. 'busy' keeps a signal handler, and tbed_writer_close() on another thread, out
 * of a record that is under way; two plain stores, no lock prefix.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORDER_INLINE_H
#define TRACEBED_RECORDER_INLINE_H

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/*
 * The hot half. A forked child finds it zeroed (MADV_WIPEONFORK): then cursor == end, and its first record
 * takes the slow path, where it gets a stream and pages of its own.
 */
struct tbed_recorder {
    uint64_t *cursor; /* the next event word */
    uint64_t *end;    /* of the block; NULL: no block, or stopped */
    uint64_t base;    /* tick of delta 0 */
    uint64_t last;    /* the latest tick of the block */
    uint8_t busy;
    uint8_t counter_clock; /* the machine's own counter; else tbed_clock_slow() */
    uint8_t saw_close;     /* the owner has met tbed_writer_close() and keeps off the pages */
    uint8_t reserved[29];
};

/* The half that a forked child keeps, one page further on. */
struct tbed_recorder_kept {
    struct tbed_open_span *stack; /* outermost first */
    uint32_t stack_capacity;
    uint32_t depth;
    uint32_t floor; /* ending the span below it takes the slow path: the block does not know it, or there is
                       none */
    uint32_t takes_given; /* its writer has given ticks */
    struct tbed_recorder_cold *cold;
    uint64_t given_tick; /* the latest that was given */
    uint8_t reserved[24];
};

struct tbed_open_span {
    uint64_t begin_tick;
    uint32_t id;
    uint32_t dropped; /* its begin is not in the current block */
};

#define TBED_RECORDER_KEPT_OFFSET 4096

#ifdef __cplusplus
#define TBED_STATIC_ASSERT static_assert
#else
#define TBED_STATIC_ASSERT _Static_assert
#endif
TBED_STATIC_ASSERT(sizeof(struct tbed_recorder) == 64, "one cache line");
TBED_STATIC_ASSERT(sizeof(struct tbed_recorder_kept) == 64, "one cache line");

#define TBED_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Slow paths, not for callers. */
uint64_t tbed_clock_slow(const struct tbed_recorder *recorder);
uint64_t *tbed_recorder_refill(struct tbed_recorder *recorder, size_t nwords, uint64_t tick);
void tbed_recorder_drop_busy(struct tbed_recorder *recorder);
void tbed_span_begin_dropped(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
void tbed_span_begin_deep(struct tbed_recorder *recorder, uint32_t id, uint64_t tick);
void tbed_span_end_slow(struct tbed_recorder *recorder);

static inline struct tbed_recorder_kept *tbed_kept_of(struct tbed_recorder *recorder)
{
    return (struct tbed_recorder_kept *)((char *)recorder + TBED_RECORDER_KEPT_OFFSET);
}

static inline uint64_t tbed_counter_read(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline uint64_t tbed_recorder_now(const struct tbed_recorder *recorder)
{
    if (TBED_UNLIKELY(!recorder->counter_clock))
        return tbed_clock_slow(recorder);
    return tbed_counter_read();
}

static inline int tbed_recorder_enter(struct tbed_recorder *recorder)
{
    if (TBED_UNLIKELY(__atomic_load_n(&recorder->busy, __ATOMIC_RELAXED))) {
        tbed_recorder_drop_busy(recorder);
        return 0;
    }
    __atomic_store_n(&recorder->busy, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return 1;
}

static inline void tbed_recorder_leave(struct tbed_recorder *recorder)
{
    __atomic_store_n(&recorder->busy, 0, __ATOMIC_RELEASE);
}

/* Where the next 'nwords' words go, or NULL: dropped and counted. */
static inline uint64_t *tbed_recorder_room(struct tbed_recorder *recorder, size_t nwords, uint64_t tick)
{
    uint64_t *at = recorder->cursor;
    uint64_t left = (uintptr_t)__atomic_load_n(&recorder->end, __ATOMIC_RELAXED) - (uintptr_t)at;
    /* Too little left wraps around to a huge number; so does 'end' == NULL, which means stopped. */
    if (TBED_UNLIKELY(left - nwords * 8 > UINT32_MAX || (tick - recorder->base) >> 31 != 0))
        return tbed_recorder_refill(recorder, nwords, tick);
    if (tick > recorder->last) /* else the clock went back: 'last' is the latest */
        recorder->last = tick;
    return at;
}

static inline uint64_t tbed_event_word(const struct tbed_recorder *recorder, uint32_t tag, uint32_t id,
                                       uint64_t tick)
{
    return (tick - recorder->base) << 33 | (uint64_t)tag << 30 | (id & TBED_ID_MAX);
}

static inline void tbed_recorder_commit(struct tbed_recorder *recorder, uint64_t *at, size_t nwords,
                                        uint64_t word)
{
    __atomic_store_n(at, word, __ATOMIC_RELEASE);
    recorder->cursor = at + nwords;
}

static inline void tbed_span_begin(struct tbed_recorder *recorder, uint32_t id)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (!tbed_recorder_enter(recorder))
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    uint64_t *at = tbed_recorder_room(recorder, 1, tick);
    uint32_t depth = kept->depth;
    if (TBED_UNLIKELY(at == NULL)) {
        tbed_span_begin_dropped(recorder, id, tick);
    } else if (TBED_UNLIKELY(depth >= kept->stack_capacity)) {
        tbed_span_begin_deep(recorder, id, tick);
    } else {
        struct tbed_open_span *span = &kept->stack[depth];
        tbed_recorder_commit(recorder, at, 1, tbed_event_word(recorder, TBED_TAG_BEGIN, id, tick));
        span->begin_tick = tick;
        span->id = id;
        kept->depth = depth + 1;
    }
    tbed_recorder_leave(recorder);
}

static inline void tbed_span_end(struct tbed_recorder *recorder)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (!tbed_recorder_enter(recorder))
        return;
    uint32_t depth = kept->depth;
    if (TBED_UNLIKELY(depth <= kept->floor)) {
        tbed_span_end_slow(recorder);
    } else {
        uint64_t tick = tbed_recorder_now(recorder);
        uint64_t *at = tbed_recorder_room(recorder, 1, tick);
        if (!TBED_UNLIKELY(at == NULL))
            tbed_recorder_commit(recorder, at, 1,
                                 tbed_event_word(recorder, TBED_TAG_END, kept->stack[depth - 1].id, tick));
        kept->depth = depth - 1;
    }
    tbed_recorder_leave(recorder);
}

static inline void tbed_instant(struct tbed_recorder *recorder, uint32_t id)
{
    if (!tbed_recorder_enter(recorder))
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    uint64_t *at = tbed_recorder_room(recorder, 1, tick);
    if (!TBED_UNLIKELY(at == NULL))
        tbed_recorder_commit(recorder, at, 1, tbed_event_word(recorder, TBED_TAG_INSTANT, id, tick));
    tbed_recorder_leave(recorder);
}

#endif
