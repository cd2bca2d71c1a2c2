/*
 * tracebed/trace_inline.h: what the macros of trace.h call. Included by trace.h; do not include it yourself.
 *
 * When a macro records, the generations of the category, of the thread and of the name's id are the same number: three
 * loads and comparisons precede the clock read. When it does not, the first of them is 0.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_INLINE_H
#define TRACEBED_TRACE_INLINE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#include <tracebed/trace_packing_inline.h>

/* 0: disabled. */
TBED_ALWAYS_INLINE uint32_t tbed_category_generation(const struct tbed_category *category)
{
    return __atomic_load_n(&category->generation, __ATOMIC_RELAXED);
}

/* Whether to record. If so, the thread has its recorder. */
TBED_ALWAYS_INLINE bool tbed_enter(const struct tbed_category *category)
{
    uint32_t generation = tbed_category_generation(category);
    if (generation == 0)
        return false;
    return !TBED_UNLIKELY(tbed_thread_self.generation != generation) || tbed_macros_enter();
}

TBED_INLINE struct tbed_writer *tbed_default_writer(void)
{
    return tbed_enter(&tbed_category_default) ? tbed_thread_self.writer : NULL;
}

TBED_INLINE struct tbed_recorder *tbed_default_recorder(void)
{
    return tbed_enter(&tbed_category_default) ? tbed_thread_self.recorder : tbed_recorder_open(NULL, NULL);
}

TBED_ALWAYS_INLINE uint32_t tbed_site_id(struct tbed_site *site)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY((uint32_t)(state >> 32) != tbed_thread_self.generation))
        return tbed_site_resolve(site);
    return (uint32_t)state;
}

/* Whether the thread has its recorder and the site its id; 'generation' is not 0. */
TBED_ALWAYS_INLINE bool tbed_is_entered(uint32_t generation, uint64_t state)
{
    return !TBED_UNLIKELY(tbed_thread_self.generation != generation || (uint32_t)(state >> 32) != generation);
}

/* For the default category the compiler knows the answer. */
TBED_ALWAYS_INLINE bool tbed_category_is_stored(const struct tbed_category *category)
{
    return category != &tbed_category_default && category->is_stored != 0;
}

/* The category id that an event stores; INVALID if the category is only a switch. */
TBED_ALWAYS_INLINE uint32_t tbed_category_id(struct tbed_category *category)
{
    return tbed_category_is_stored(category) ? tbed_site_id(&category->site) : TBED_ID_INVALID;
}

/*
 * What a site calls once recording is on: one function of each kind in each file that uses it, so that a site stays small.
 * It is compiled with its caller, so calling it goes through no table and saves few registers.
 */
#ifdef __OPTIMIZE__
#define TBED_OUTLINE static TBED_UNTRACED __attribute__((noinline, unused))
/* What those end with in unusual cases: a call at their end needs no registers that have to be saved. */
#define TBED_OUTLINE_SLOW static TBED_UNTRACED __attribute__((noinline, unused, cold))
#else
/* A compiler that does not optimize inlines nothing, and stores a static function that is not used unless it is inline. */
#define TBED_OUTLINE      TBED_ALWAYS_INLINE
#define TBED_OUTLINE_SLOW TBED_ALWAYS_INLINE
#endif

/* ---- Spans ---- */

TBED_ALWAYS_INLINE void tbed_begin_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_span_begin_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_span_begin(tbed_thread_self.recorder, id);
}

/* These return the generation of the trace in which the span began; 0: it did not. */
TBED_OUTLINE uint32_t tbed_begin_in(struct tbed_category *category, struct tbed_site *site)
{
    if (!tbed_enter(category))
        return 0;
    tbed_begin_entered(category, tbed_site_id(site));
    return tbed_thread_self.generation;
}

/* For a thread that has entered. */
TBED_OUTLINE uint32_t tbed_begin_dynamic(struct tbed_category *category, uint32_t id)
{
    tbed_begin_entered(category, id);
    return tbed_thread_self.generation;
}

/* The category is enabled: 'generation' is not 0. */
TBED_OUTLINE uint32_t tbed_begin_default(uint32_t generation, struct tbed_site *site)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY(!tbed_is_entered(generation, state) ||
                      !tbed_words_record(tbed_thread_self.recorder, TBED_TAG_BEGIN, (uint32_t)state, true, 1,
                                         1, tbed_words_none())))
        return tbed_begin_slow(site);
    return generation;
}

TBED_ALWAYS_INLINE uint32_t tbed_do_begin(struct tbed_category *category, struct tbed_site *site)
{
    uint32_t generation = tbed_category_generation(category);
    if (generation == 0)
        return 0;
    return category == &tbed_category_default ? tbed_begin_default(generation, site)
                                              : tbed_begin_in(category, site);
}

TBED_OUTLINE void tbed_end_on(const struct tbed_category *category)
{
    if (tbed_enter(category) && tbed_has_open_span(tbed_thread_self.recorder))
        tbed_span_end(tbed_thread_self.recorder);
}

TBED_ALWAYS_INLINE void tbed_do_end(const struct tbed_category *category)
{
    if (tbed_category_generation(category) != 0)
        tbed_end_on(category);
}

/* Of the thread's spans in all categories, as long as it has a recorder. */
TBED_ALWAYS_INLINE uint32_t tbed_do_depth(void)
{
    return tbed_thread_self.generation != 0 ? tbed_span_depth(tbed_thread_self.recorder) : 0;
}

TBED_ALWAYS_INLINE void tbed_do_end_to(uint32_t depth)
{
    if (tbed_thread_self.generation != 0)
        tbed_span_end_to(tbed_thread_self.recorder, depth);
}

TBED_ALWAYS_INLINE struct tbed_span tbed_span_of(uint32_t generation)
{
    struct tbed_span span;
    span.generation = generation;
    return span;
}

TBED_ALWAYS_INLINE struct tbed_span tbed_span_open(struct tbed_category *category, struct tbed_site *site)
{
    return tbed_span_of(tbed_do_begin(category, site));
}

/* The id is looked up only if the category is enabled. */
TBED_ALWAYS_INLINE struct tbed_span tbed_span_open_dynamic(struct tbed_category *category, uint32_t id)
{
    return tbed_span_of(tbed_begin_dynamic(category, id));
}

/* A span of a trace that has been stopped in the meantime has no end. */
TBED_OUTLINE void tbed_end_of(uint32_t generation)
{
    if (!TBED_UNLIKELY(generation != tbed_thread_self.generation))
        tbed_span_end(tbed_thread_self.recorder);
}

TBED_ALWAYS_INLINE void tbed_span_close(const struct tbed_span *span)
{
    if (span->generation != 0)
        tbed_end_of(span->generation);
}

TBED_ALWAYS_INLINE struct tbed_scope tbed_scope_none(void)
{
    struct tbed_scope scope;
    scope.recorder = NULL;
    scope.begin_tick = 0;
    scope.generation = scope.id = 0;
    return scope;
}

/* For a thread that has entered. */
TBED_ALWAYS_INLINE struct tbed_scope tbed_scope_begin(uint32_t id)
{
    struct tbed_scope scope;
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    scope.recorder = recorder;
    scope.generation = tbed_thread_self.generation;
    scope.id = id & TBED_ID_MAX;
    if (TBED_UNLIKELY(kept->has_notes != 0 ||
                      !tbed_words_record(recorder, TBED_TAG_BEGIN, scope.id, true, 1, 1, tbed_words_none())))
        scope.begin_tick = tbed_scope_begin_slow(recorder, scope.id);
    else
        scope.begin_tick = kept->top[-1].begin_tick;
    return scope;
}

TBED_OUTLINE void tbed_scope_end_on(struct tbed_recorder *recorder, uint64_t begin_tick, uint32_t generation,
                                    uint32_t id)
{
    if (TBED_UNLIKELY(recorder != tbed_thread_self.recorder || generation != tbed_thread_self.generation ||
                      !tbed_end_record(recorder, false, id, begin_tick)))
        tbed_scope_end_slow(recorder, begin_tick, generation, id);
}

/* Ends the span, and no other, in the trace where it began, and only once. */
TBED_ALWAYS_INLINE void tbed_scope_end(struct tbed_scope *scope)
{
    if (scope->recorder != NULL)
        tbed_scope_end_on(scope->recorder, scope->begin_tick, scope->generation, scope->id);
    scope->recorder = NULL;
}

/* ---- Instants, tracks ---- */

TBED_ALWAYS_INLINE void tbed_instant_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_instant_record_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_instant_record(tbed_thread_self.recorder, id);
}

TBED_OUTLINE void tbed_instant_in(struct tbed_category *category, struct tbed_site *site)
{
    if (tbed_enter(category))
        tbed_instant_entered(category, tbed_site_id(site));
}

/* For a thread that has entered. */
TBED_OUTLINE void tbed_instant_dynamic(struct tbed_category *category, uint32_t id)
{
    tbed_instant_entered(category, id);
}

TBED_ALWAYS_INLINE void tbed_do_instant(struct tbed_category *category, struct tbed_site *site)
{
    uint32_t generation = tbed_category_generation(category);
    if (generation == 0)
        return;
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (category != &tbed_category_default ||
        TBED_UNLIKELY(!tbed_is_entered(generation, state) ||
                      !tbed_words_record(tbed_thread_self.recorder, TBED_TAG_INSTANT, (uint32_t)state, false,
                                         1, 1, tbed_words_none())))
        tbed_instant_in(category, site);
}

/* The thread must have its recorder: tbed_enter(). */
TBED_ALWAYS_INLINE struct tbed_recorder *tbed_track_recorder(struct tbed_track *track)
{
    if (TBED_UNLIKELY(track->generation != tbed_thread_self.generation))
        return tbed_track_enter(track);
    return track->recorder;
}

TBED_ALWAYS_INLINE void tbed_do_track_end(struct tbed_track *track)
{
    if (!tbed_enter(&tbed_category_default))
        return;
    struct tbed_recorder *recorder = tbed_track_recorder(track);
    if (tbed_has_open_span(recorder))
        tbed_span_end(recorder);
}

/* ---- Counters ---- */

TBED_ALWAYS_INLINE void tbed_counter_entered(struct tbed_category *category, struct tbed_site *site,
                                             struct tbed_argument value)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    uint32_t id = tbed_site_id(site);
    if (tbed_category_is_stored(category))
        tbed_counter_record_category(recorder, id, tbed_category_id(category), &value);
    else if (value.type == TBED_ARG_F64)
        tbed_counter_record_f64(recorder, id, value.value.f64);
    else if (value.type == TBED_ARG_U64 && value.value.u64 >> 63 != 0)
        tbed_counter_record_category(recorder, id, TBED_ID_INVALID, &value);
    else
        tbed_counter_record_i64(recorder, id, value.value.i64);
}

TBED_OUTLINE void tbed_counter_in(struct tbed_category *category, struct tbed_site *site,
                                  enum tbed_argument_type type, uint64_t bits)
{
    struct tbed_argument value;
    value.type = type;
    value.name_id = TBED_ID_INVALID;
    value.nbytes = 8;
    value.value.u64 = bits;
    if (tbed_enter(category))
        tbed_counter_entered(category, site, value);
}

TBED_OUTLINE void tbed_counter_i64(uint32_t generation, struct tbed_site *site, int64_t number)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    uint64_t word = (uint64_t)TBED_PAIR_COUNTER << 60 | tbed_counter_bits(number);
    if (TBED_UNLIKELY(!tbed_counter_fits(number) || !tbed_is_entered(generation, state) ||
                      !tbed_words_record(tbed_thread_self.recorder, TBED_TAG_PAIR, (uint32_t)state, false, 2,
                                         2, tbed_words_of(word, 0, 0, 0))))
        tbed_counter_in(&tbed_category_default, site, TBED_ARG_I64, (uint64_t)number);
}

TBED_OUTLINE void tbed_counter_f64(uint32_t generation, struct tbed_site *site, uint64_t bits)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY(!tbed_is_entered(generation, state) ||
                      !tbed_words_record(tbed_thread_self.recorder, TBED_TAG_EXTENDED, (uint32_t)state, false,
                                         4, 4, tbed_counter_f64_words(bits))))
        tbed_counter_in(&tbed_category_default, site, TBED_ARG_F64, bits);
}

/* Any but a number is an integer. */
TBED_ALWAYS_INLINE void tbed_do_counter(struct tbed_category *category, struct tbed_site *site,
                                        struct tbed_argument value)
{
    uint32_t generation = tbed_category_generation(category);
    enum tbed_argument_type type = value.type == TBED_ARG_F64   ? TBED_ARG_F64
                                   : value.type == TBED_ARG_U64 ? TBED_ARG_U64
                                                                : TBED_ARG_I64;
    if (category != &tbed_category_default || generation == 0 || (type == TBED_ARG_U64 && value.nbytes == 8))
        tbed_counter_in(category, site, type, value.value.u64);
    else if (type == TBED_ARG_F64)
        tbed_counter_f64(generation, site, value.value.u64);
    else
        tbed_counter_i64(generation, site, value.value.i64);
}

/* ---- Spans and instants with arguments: their names follow that of the event ---- */

/* The id of the first name, which was stored before that of the event. */
TBED_ALWAYS_INLINE uint32_t tbed_sites_names(const struct tbed_site *sites)
{
    uint64_t state = __atomic_load_n(&sites[1].state, __ATOMIC_RELAXED);
    return (uint32_t)(state >> 32) == tbed_thread_self.generation ? (uint32_t)state : TBED_ID_INVALID;
}

/*
 * The third word: the id of the first name, and the types. The name's was stored before that of the event, so it belongs
 * to the same trace, or to a later one if the trace has been stopped since, and then nothing is recorded.
 */
TBED_ALWAYS_INLINE uint64_t tbed_values_fixed(const struct tbed_site *sites, uint32_t types)
{
    return __atomic_load_n(&sites[1].state, __ATOMIC_RELAXED) << 32 | types;
}

TBED_ALWAYS_INLINE uint64_t tbed_values_head(bool is_begin, uint64_t kinds)
{
    return (uint64_t)(is_begin ? TBED_EXT_PACKED_BEGIN : TBED_EXT_PACKED_INSTANT) |
           (uint64_t)TBED_KINDS_COUNT(kinds) << 8;
}

/* Also for texts and for categories that are stored. Returns the trace's generation; 0: no trace is running. */
TBED_OUTLINE_SLOW uint32_t tbed_values_slow(struct tbed_category *category, struct tbed_site *sites,
                                            bool is_begin, uint64_t kinds, const uint64_t *slots)
{
    if (!tbed_enter(category))
        return 0;
    uint64_t state = __atomic_load_n(&sites->state, __ATOMIC_ACQUIRE);
    uint32_t id = (uint32_t)state, stored = tbed_category_id(category);
    if ((uint32_t)(state >> 32) != tbed_thread_self.generation)
        id = tbed_sites_resolve(sites, TBED_KINDS_COUNT(kinds));
    uint64_t fixed = (uint64_t)tbed_sites_names(sites) << 32 | TBED_KINDS_TYPES(kinds);
    uint64_t aux = stored == TBED_ID_INVALID ? 0 : (uint64_t)stored << 32;
    tbed_slots_record(id, tbed_values_head(is_begin, kinds) | aux, fixed, is_begin, kinds, slots);
    return tbed_thread_self.generation;
}

TBED_ALWAYS_INLINE uint32_t tbed_values_record(uint32_t generation, struct tbed_category *category,
                                               struct tbed_site *sites, bool is_begin, uint64_t kinds,
                                               const uint64_t *slots)
{
    uint64_t state = __atomic_load_n(&sites->state, __ATOMIC_ACQUIRE);
    bool is_usual =
        generation != 0 && tbed_is_entered(generation, state) && !tbed_category_is_stored(category);
    if (!TBED_UNLIKELY(!is_usual)) {
        uint64_t head = tbed_values_head(is_begin, kinds),
                 fixed = tbed_values_fixed(sites, TBED_KINDS_TYPES(kinds));
        bool is_done = (kinds & TBED_KINDS_HAS_TEXT) == 0 &&
                       tbed_numbers_record((uint32_t)state, head, &fixed, is_begin, kinds, slots);
        if (!is_done)
            tbed_slots_record((uint32_t)state, head, fixed, is_begin, kinds, slots);
        return generation;
    }
    return tbed_values_slow(category, sites, is_begin, kinds, slots);
}

TBED_OUTLINE_SLOW uint32_t tbed_few_slow(struct tbed_site *sites, bool is_begin, uint64_t head,
                                         uint32_t types, uint64_t first, uint64_t second)
{
    if (!tbed_enter(&tbed_category_default))
        return 0;
    uint64_t state = __atomic_load_n(&sites->state, __ATOMIC_ACQUIRE);
    uint32_t id = (uint32_t)state;
    if ((uint32_t)(state >> 32) != tbed_thread_self.generation)
        id = tbed_sites_resolve(sites, head >> 8 & 0xFF);
    tbed_payload_record(id, head, (uint64_t)tbed_sites_names(sites) << 32 | types, is_begin, first, second);
    return tbed_thread_self.generation;
}

/* The usual case of an event with few numbers. */
TBED_ALWAYS_INLINE uint32_t tbed_few_record(uint32_t generation, struct tbed_site *sites, bool is_begin,
                                            uint64_t head, uint32_t types, uint64_t first, uint64_t second)
{
    uint64_t state = __atomic_load_n(&sites->state, __ATOMIC_ACQUIRE);
    if (TBED_UNLIKELY(
            !tbed_is_entered(generation, state) ||
            !tbed_words_record(tbed_thread_self.recorder, TBED_TAG_EXTENDED, (uint32_t)state, is_begin, 5,
                               tbed_head_nwords(head),
                               tbed_words_of(head, tbed_values_fixed(sites, types), first, second))))
        return tbed_few_slow(sites, is_begin, head, types, first, second);
    return generation;
}

TBED_OUTLINE uint32_t tbed_begin_few(uint32_t generation, struct tbed_site *sites, uint64_t head,
                                     uint32_t types, uint64_t first, uint64_t second)
{
    return tbed_few_record(generation, sites, true, head, types, first, second);
}

TBED_OUTLINE void tbed_instant_few(uint32_t generation, struct tbed_site *sites, uint64_t head,
                                   uint32_t types, uint64_t first, uint64_t second)
{
    tbed_few_record(generation, sites, false, head, types, first, second);
}

/* The types stand where a category would. */
TBED_OUTLINE_SLOW uint32_t tbed_values_one_text_slow(struct tbed_site *sites, bool is_begin, uint64_t head,
                                                     const char *text, uint64_t before, uint64_t behind)
{
    uint64_t slots[4], kinds = tbed_one_text_slots(slots, head, (uint32_t)(head >> 32), text, before, behind);
    return tbed_values_slow(&tbed_category_default, sites, is_begin, kinds, slots);
}

TBED_ALWAYS_INLINE uint32_t tbed_values_one_text(uint32_t generation, struct tbed_site *sites, bool is_begin,
                                                 uint64_t head, const char *text, uint64_t before,
                                                 uint64_t behind)
{
    uint64_t state = __atomic_load_n(&sites->state, __ATOMIC_ACQUIRE);
    uint64_t fixed = tbed_values_fixed(sites, (uint32_t)(head >> 32));
    if (TBED_UNLIKELY(
            !tbed_is_entered(generation, state) ||
            !tbed_one_text_record((uint32_t)state, (uint32_t)head, &fixed, is_begin, text, before, behind)))
        return tbed_values_one_text_slow(sites, is_begin, head, text, before, behind);
    return generation;
}

TBED_OUTLINE uint32_t tbed_begin_one_text(uint32_t generation, struct tbed_site *sites, uint64_t head,
                                          const char *text, uint64_t before, uint64_t behind)
{
    return tbed_values_one_text(generation, sites, true, head, text, before, behind);
}

TBED_OUTLINE void tbed_instant_one_text(uint32_t generation, struct tbed_site *sites, uint64_t head,
                                        const char *text, uint64_t before, uint64_t behind)
{
    tbed_values_one_text(generation, sites, false, head, text, before, behind);
}

TBED_OUTLINE uint32_t tbed_begin_values(uint32_t generation, struct tbed_category *category,
                                        struct tbed_site *sites, uint64_t kinds, const uint64_t *slots)
{
    return tbed_values_record(generation, category, sites, true, kinds, slots);
}

TBED_OUTLINE uint32_t tbed_instant_values(uint32_t generation, struct tbed_category *category,
                                          struct tbed_site *sites, uint64_t kinds, const uint64_t *slots)
{
    return tbed_values_record(generation, category, sites, false, kinds, slots);
}

TBED_ALWAYS_INLINE uint32_t tbed_do_begin_args(struct tbed_category *category, struct tbed_site *sites,
                                               struct tbed_argument a, struct tbed_argument b,
                                               struct tbed_argument c, struct tbed_argument d,
                                               struct tbed_argument e, struct tbed_argument f,
                                               struct tbed_argument g, struct tbed_argument h)
{
    uint64_t slots[TBED_SLOTS_MAX], kinds = tbed_kinds_of(a, b, c, d, e, f, g, h);
    uint32_t generation = tbed_category_generation(category);
    if (category == &tbed_category_default && generation != 0 && tbed_is_small(kinds)) {
        struct tbed_payload payload = tbed_payload_of(a, b, c, d);
        uint64_t head = tbed_head_sized(tbed_values_head(true, kinds), 3, payload);
        return tbed_begin_few(generation, sites, head, (uint32_t)kinds, payload.first, payload.second);
    }
    if (category == &tbed_category_default && generation != 0 && tbed_is_one_text(kinds)) {
        struct tbed_one_text text = tbed_one_text_of(a, b, c);
        return tbed_begin_one_text(generation, sites,
                                   tbed_values_head(true, kinds) | text.head |
                                       (uint64_t)TBED_KINDS_TYPES(kinds) << 32,
                                   text.text, text.before, text.behind);
    }
    return tbed_begin_values(generation, category, sites, kinds,
                             tbed_slots_fill(slots, a, b, c, d, e, f, g, h));
}

TBED_ALWAYS_INLINE struct tbed_span tbed_span_open_args(struct tbed_category *category,
                                                        struct tbed_site *sites, struct tbed_argument a,
                                                        struct tbed_argument b, struct tbed_argument c,
                                                        struct tbed_argument d, struct tbed_argument e,
                                                        struct tbed_argument f, struct tbed_argument g,
                                                        struct tbed_argument h)
{
    return tbed_span_of(tbed_do_begin_args(category, sites, a, b, c, d, e, f, g, h));
}

TBED_ALWAYS_INLINE void tbed_do_instant_args(struct tbed_category *category, struct tbed_site *sites,
                                             struct tbed_argument a, struct tbed_argument b,
                                             struct tbed_argument c, struct tbed_argument d,
                                             struct tbed_argument e, struct tbed_argument f,
                                             struct tbed_argument g, struct tbed_argument h)
{
    uint64_t slots[TBED_SLOTS_MAX], kinds = tbed_kinds_of(a, b, c, d, e, f, g, h);
    uint32_t generation = tbed_category_generation(category);
    if (category == &tbed_category_default && generation != 0 && tbed_is_small(kinds)) {
        struct tbed_payload payload = tbed_payload_of(a, b, c, d);
        uint64_t head = tbed_head_sized(tbed_values_head(false, kinds), 3, payload);
        tbed_instant_few(generation, sites, head, (uint32_t)kinds, payload.first, payload.second);
    } else if (category == &tbed_category_default && generation != 0 && tbed_is_one_text(kinds)) {
        struct tbed_one_text text = tbed_one_text_of(a, b, c);
        tbed_instant_one_text(generation, sites,
                              tbed_values_head(false, kinds) | text.head |
                                  (uint64_t)TBED_KINDS_TYPES(kinds) << 32,
                              text.text, text.before, text.behind);
    } else {
        tbed_instant_values(generation, category, sites, kinds,
                            tbed_slots_fill(slots, a, b, c, d, e, f, g, h));
    }
}

/* ---- Messages ---- */

/* The second word without its size. */
TBED_ALWAYS_INLINE uint64_t tbed_message_head(uint32_t severity, uint64_t kinds)
{
    return TBED_EXT_PACKED_MESSAGE | (uint64_t)TBED_KINDS_COUNT(kinds) << 8 | (uint64_t)severity << 32 |
           (uint64_t)TBED_KINDS_TYPES(kinds) << 36;
}

TBED_OUTLINE void tbed_message_of(uint32_t severity, uint32_t id, struct tbed_site *format, uint64_t kinds,
                                  const uint64_t *slots)
{
    uint64_t head = tbed_message_head(severity, kinds);
    bool has_text = (kinds & TBED_KINDS_HAS_TEXT) != 0;
    if (TBED_UNLIKELY(severity > TBED_PACKED_SEVERITY_MAX ||
                      (has_text && __atomic_load_n(&format->flags, __ATOMIC_RELAXED) != TBED_FORMAT_PLAIN)))
        tbed_message_slots(severity, id, format, kinds, slots);
    else if (has_text || !tbed_numbers_record(id, head, NULL, false, kinds, slots))
        tbed_slots_record(id, head, 0, false, kinds, slots);
}

TBED_OUTLINE void tbed_message_in(const struct tbed_category *category, uint32_t severity,
                                  struct tbed_site *format, uint64_t kinds, const uint64_t *slots)
{
    if (tbed_enter(category))
        tbed_message_of(severity, tbed_site_id(format), format, kinds, slots);
}

TBED_OUTLINE_SLOW void tbed_message_id_one_text_slow(uint32_t id, struct tbed_site *format, uint64_t head,
                                                     const char *text, uint64_t before, uint64_t behind)
{
    uint64_t slots[4], kinds = tbed_one_text_slots(slots, head, (uint32_t)(head >> 36), text, before, behind);
    tbed_message_of((uint32_t)(head >> 32) & 15, id, format, kinds, slots);
}

/* The usual case of a message with one text; the thread has its recorder. */
TBED_OUTLINE void tbed_message_id_one_text(uint32_t id, struct tbed_site *format, uint64_t head,
                                           const char *text, uint64_t before, uint64_t behind)
{
    if (TBED_UNLIKELY(__atomic_load_n(&format->flags, __ATOMIC_RELAXED) != TBED_FORMAT_PLAIN ||
                      !tbed_one_text_record(id, head, NULL, false, text, before, behind)))
        tbed_message_id_one_text_slow(id, format, head, text, before, behind);
}

/* Up to seven values; the thread has its recorder. */
TBED_ALWAYS_INLINE void tbed_do_message_id(uint32_t severity, uint32_t id, struct tbed_site *format,
                                           size_t count, struct tbed_argument a, struct tbed_argument b,
                                           struct tbed_argument c, struct tbed_argument d,
                                           struct tbed_argument e, struct tbed_argument f,
                                           struct tbed_argument g)
{
    uint64_t slots[TBED_SLOTS_MAX], kinds = tbed_kinds_of(a, b, c, d, e, f, g, tbed_value_none());
    (void)count;
    if (severity <= TBED_PACKED_SEVERITY_MAX && tbed_is_one_text(kinds)) {
        struct tbed_one_text text = tbed_one_text_of(a, b, c);
        tbed_message_id_one_text(id, format, tbed_message_head(severity, kinds) | text.head, text.text,
                                 text.before, text.behind);
    } else {
        tbed_message_of(severity, id, format, kinds,
                        tbed_slots_fill(slots, a, b, c, d, e, f, g, tbed_value_none()));
    }
}

/* What a message begins with. */
struct tbed_log {
    const struct tbed_category *category;
    uint32_t severity;
};

TBED_ALWAYS_INLINE struct tbed_log tbed_log_of(const struct tbed_category *category, uint32_t severity)
{
    struct tbed_log log;
    log.category = category;
    log.severity = severity;
    return log;
}

TBED_OUTLINE_SLOW void tbed_message_few_slow(uint32_t generation, struct tbed_site *format, uint64_t head,
                                             uint64_t first, uint64_t second)
{
    if (tbed_thread_self.generation == generation || tbed_macros_enter())
        tbed_payload_record(tbed_site_id(format), head, 0, false, first, second);
}

/* The usual case of a message of few numbers. */
TBED_OUTLINE void tbed_message_few(uint32_t generation, struct tbed_site *format, uint64_t head,
                                   uint64_t first, uint64_t second)
{
    uint64_t state = __atomic_load_n(&format->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY(!tbed_is_entered(generation, state) ||
                      !tbed_words_record(tbed_thread_self.recorder, TBED_TAG_EXTENDED, (uint32_t)state, false,
                                         4, tbed_head_nwords(head), tbed_words_of(head, first, second, 0))))
        tbed_message_few_slow(generation, format, head, first, second);
}

TBED_OUTLINE_SLOW void tbed_message_one_text_slow(uint32_t generation, struct tbed_site *format,
                                                  uint64_t head, const char *text, uint64_t before,
                                                  uint64_t behind)
{
    if (tbed_thread_self.generation == generation || tbed_macros_enter())
        tbed_message_id_one_text_slow(tbed_site_id(format), format, head, text, before, behind);
}

/* The usual case of a message with one text. */
TBED_OUTLINE void tbed_message_one_text(uint32_t generation, struct tbed_site *format, uint64_t head,
                                        const char *text, uint64_t before, uint64_t behind)
{
    uint64_t state = __atomic_load_n(&format->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY(!tbed_is_entered(generation, state) ||
                      __atomic_load_n(&format->flags, __ATOMIC_RELAXED) != TBED_FORMAT_PLAIN ||
                      !tbed_one_text_record((uint32_t)state, head, NULL, false, text, before, behind)))
        tbed_message_one_text_slow(generation, format, head, text, before, behind);
}

TBED_ALWAYS_INLINE void tbed_do_message(struct tbed_log log, struct tbed_site *format, size_t count,
                                        struct tbed_argument a, struct tbed_argument b,
                                        struct tbed_argument c, struct tbed_argument d,
                                        struct tbed_argument e, struct tbed_argument f,
                                        struct tbed_argument g)
{
    uint64_t slots[TBED_SLOTS_MAX], kinds = tbed_kinds_of(a, b, c, d, e, f, g, tbed_value_none());
    uint32_t generation = tbed_category_generation(log.category);
    (void)count;
    if (generation != 0 && log.severity <= TBED_PACKED_SEVERITY_MAX && tbed_is_small(kinds)) {
        struct tbed_payload payload = tbed_payload_of(a, b, c, d);
        tbed_message_few(generation, format,
                         tbed_head_sized(tbed_message_head(log.severity, kinds), 2, payload), payload.first,
                         payload.second);
    } else if (generation != 0 && log.severity <= TBED_PACKED_SEVERITY_MAX && tbed_is_one_text(kinds)) {
        struct tbed_one_text text = tbed_one_text_of(a, b, c);
        tbed_message_one_text(generation, format, tbed_message_head(log.severity, kinds) | text.head,
                              text.text, text.before, text.behind);
    } else {
        tbed_message_in(log.category, log.severity, format, kinds,
                        tbed_slots_fill(slots, a, b, c, d, e, f, g, tbed_value_none()));
    }
}

TBED_ALWAYS_INLINE void tbed_do_message_list(struct tbed_log log, struct tbed_site *format,
                                             struct tbed_argument *values, size_t count)
{
    if (tbed_enter(log.category))
        tbed_message_values(log.severity, tbed_site_id(format), format, values, count);
}

#endif
