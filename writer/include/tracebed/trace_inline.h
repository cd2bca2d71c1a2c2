/*
 * tracebed/trace_inline.h: what the macros of trace.h call. Included by it, not by you.
 *
 * On: the category's generation, the thread's, and that of the name's id are one and the same number; three loads and
 * compares stand before the clock is read. Off: the first of them is 0.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_INLINE_H
#define TRACEBED_TRACE_INLINE_H

#define TBED_INLINE static inline __attribute__((always_inline))

/* 0: off. */
TBED_INLINE uint32_t tbed_category_generation(const struct tbed_category *category)
{
    return __atomic_load_n(&category->generation, __ATOMIC_RELAXED);
}

/* Whether to record; then the thread has its recorder. */
TBED_INLINE bool tbed_enter(const struct tbed_category *category)
{
    uint32_t generation = tbed_category_generation(category);
    if (generation == 0)
        return false;
    return !TBED_UNLIKELY(tbed_thread_self.generation != generation) || tbed_thread_enter();
}

TBED_INLINE uint32_t tbed_site_id(struct tbed_site *site)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY((uint32_t)(state >> 32) != tbed_thread_self.generation))
        return tbed_site_resolve(site);
    return (uint32_t)state;
}

/* Of the default category the compiler knows it. */
TBED_INLINE bool tbed_category_is_stored(const struct tbed_category *category)
{
    return category != &tbed_category_default && category->is_stored != 0;
}

/* What an event carries; INVALID where the category is a switch. */
TBED_INLINE uint32_t tbed_category_id(struct tbed_category *category)
{
    return tbed_category_is_stored(category) ? tbed_site_id(&category->site) : TBED_ID_INVALID;
}

/* ---- Spans ---- */

TBED_INLINE void tbed_begin_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_span_begin_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_span_begin(tbed_thread_self.recorder, id);
}

TBED_INLINE void tbed_do_begin(struct tbed_category *category, struct tbed_site *site)
{
    if (tbed_enter(category))
        tbed_begin_entered(category, tbed_site_id(site));
}

TBED_INLINE void tbed_do_end(const struct tbed_category *category)
{
    if (tbed_enter(category) && tbed_has_open_span(tbed_thread_self.recorder))
        tbed_span_end(tbed_thread_self.recorder);
}

TBED_INLINE struct tbed_span tbed_span_of(uint32_t generation)
{
    struct tbed_span span;
    span.generation = generation;
    return span;
}

TBED_INLINE struct tbed_span tbed_span_open(struct tbed_category *category, struct tbed_site *site)
{
    if (!tbed_enter(category))
        return tbed_span_of(0);
    tbed_begin_entered(category, tbed_site_id(site));
    return tbed_span_of(tbed_thread_self.generation);
}

/* The text is looked at only if the category is on. */
TBED_INLINE struct tbed_span tbed_span_open_dynamic(struct tbed_category *category, const char *text)
{
    tbed_begin_entered(category, tbed_dynamic_id(text));
    return tbed_span_of(tbed_thread_self.generation);
}

/* A span of a trace that has been stopped since ends nowhere. */
TBED_INLINE void tbed_span_close(const struct tbed_span *span)
{
    if (span->generation != 0 && !TBED_UNLIKELY(span->generation != tbed_thread_self.generation))
        tbed_span_end(tbed_thread_self.recorder);
}

/* ---- Instants, tracks ---- */

TBED_INLINE void tbed_instant_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_instant_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_instant(tbed_thread_self.recorder, id);
}

TBED_INLINE void tbed_do_instant(struct tbed_category *category, struct tbed_site *site)
{
    if (tbed_enter(category))
        tbed_instant_entered(category, tbed_site_id(site));
}

/* The thread has been entered. */
TBED_INLINE struct tbed_recorder *tbed_track_recorder(struct tbed_track *track)
{
    if (TBED_UNLIKELY(track->generation != tbed_thread_self.generation))
        return tbed_track_enter(track);
    return track->recorder;
}

TBED_INLINE void tbed_do_track_end(struct tbed_track *track)
{
    if (!tbed_enter(&tbed_category_default))
        return;
    struct tbed_recorder *recorder = tbed_track_recorder(track);
    if (tbed_has_open_span(recorder))
        tbed_span_end(recorder);
}

/* ---- With arguments: the names stand behind the event's own ---- */

TBED_INLINE void tbed_do_begin_args(struct tbed_category *category, struct tbed_site *sites,
                                    struct tbed_argument *values, size_t count)
{
    tbed_values_name(sites + 1, values, count);
    tbed_span_begin_category(tbed_thread_self.recorder, tbed_site_id(sites), tbed_category_id(category),
                             values, count);
}

TBED_INLINE struct tbed_span tbed_span_open_args(struct tbed_category *category, struct tbed_site *sites,
                                                 struct tbed_argument *values, size_t count)
{
    tbed_do_begin_args(category, sites, values, count);
    return tbed_span_of(tbed_thread_self.generation);
}

TBED_INLINE void tbed_do_instant_args(struct tbed_category *category, struct tbed_site *sites,
                                      struct tbed_argument *values, size_t count)
{
    tbed_values_name(sites + 1, values, count);
    tbed_instant_category(tbed_thread_self.recorder, tbed_site_id(sites), tbed_category_id(category), values,
                          count);
}

TBED_INLINE void tbed_do_counter(struct tbed_category *category, struct tbed_site *site,
                                 struct tbed_argument value)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    uint32_t id = tbed_site_id(site);
    if (value.type != TBED_ARG_F64 && value.type != TBED_ARG_U64)
        value.type = TBED_ARG_I64;
    if (tbed_category_is_stored(category))
        tbed_counter_category(recorder, id, tbed_category_id(category), &value);
    else if (value.type == TBED_ARG_F64)
        tbed_counter_f64(recorder, id, value.value.f64);
    else if (value.type == TBED_ARG_U64 && value.value.u64 > INT64_MAX)
        tbed_counter_category(recorder, id, TBED_ID_INVALID, &value);
    else
        tbed_counter_i64(recorder, id, value.value.i64);
}

/* ---- Messages ---- */

/* As is, word by word; for values without a text. The count is known to the compiler, and so are the types. */
TBED_INLINE void tbed_message_plain(enum tbed_severity severity, uint32_t id,
                                    const struct tbed_argument *values, size_t count)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    if (!tbed_recorder_enter(recorder))
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    uint64_t *at = tbed_recorder_room(recorder, 2 + 2 * count, tick);
    if (!TBED_UNLIKELY(at == NULL)) {
        at[1] = TBED_EXT_MESSAGE | (uint64_t)count << 8 | (uint64_t)(1 + 2 * count) << 16 |
                (uint64_t)severity << 32;
        for (size_t i = 0; i < count; i++) {
            at[2 + 2 * i] = values[i].type | (uint64_t)8 << 8 | (uint64_t)TBED_ID_INVALID << 32;
            at[3 + 2 * i] = values[i].value.u64;
        }
        tbed_recorder_commit(recorder, at, 2 + 2 * count,
                             tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
    }
    tbed_recorder_leave(recorder);
}

TBED_INLINE bool tbed_values_have_text(const struct tbed_argument *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].type == TBED_ARG_TEXT)
            return true;
    return false;
}

TBED_INLINE void tbed_do_message(enum tbed_severity severity, struct tbed_site *format,
                                 struct tbed_argument *values, size_t count)
{
    if (tbed_values_have_text(values, count))
        tbed_message_values(severity, format, values, count);
    else
        tbed_message_plain(severity, tbed_site_id(format), values, count);
}

#endif
