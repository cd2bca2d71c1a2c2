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

#define TBED_INLINE static inline __attribute__((always_inline))

/* 0: disabled. */
TBED_INLINE uint32_t tbed_category_generation(const struct tbed_category *category)
{
    return __atomic_load_n(&category->generation, __ATOMIC_RELAXED);
}

/* Whether to record. If so, the thread has its recorder. */
TBED_INLINE bool tbed_enter(const struct tbed_category *category)
{
    uint32_t generation = tbed_category_generation(category);
    if (generation == 0)
        return false;
    return !TBED_UNLIKELY(tbed_thread_self.generation != generation) || tbed_macros_enter();
}

static inline struct tbed_writer *tbed_default_writer(void)
{
    return tbed_enter(&tbed_category_default) ? tbed_thread_self.writer : NULL;
}

static inline struct tbed_recorder *tbed_default_recorder(void)
{
    return tbed_enter(&tbed_category_default) ? tbed_thread_self.recorder : tbed_recorder_open(NULL, NULL);
}

TBED_INLINE uint32_t tbed_site_id(struct tbed_site *site)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY((uint32_t)(state >> 32) != tbed_thread_self.generation))
        return tbed_site_resolve(site);
    return (uint32_t)state;
}

/* For the default category the compiler knows the answer. */
TBED_INLINE bool tbed_category_is_stored(const struct tbed_category *category)
{
    return category != &tbed_category_default && category->is_stored != 0;
}

/* The category id that an event stores; INVALID if the category is only a switch. */
TBED_INLINE uint32_t tbed_category_id(struct tbed_category *category)
{
    return tbed_category_is_stored(category) ? tbed_site_id(&category->site) : TBED_ID_INVALID;
}

/*
 * What a site calls once recording is on: one function of each kind in each file that uses it, so that a site stays small.
 * It is compiled with its caller, so calling it goes through no table and saves few registers.
 */
#ifdef __OPTIMIZE__
#define TBED_OUTLINE static __attribute__((noinline, unused))
/* What those end with in unusual cases: a call at their end needs no registers that have to be saved. */
#define TBED_OUTLINE_SLOW static __attribute__((noinline, unused, cold))
#else
/* A compiler that does not optimize inlines nothing, and stores a static function that is not used unless it is inline. */
#define TBED_OUTLINE TBED_INLINE
#define TBED_OUTLINE_SLOW TBED_INLINE
#endif

/* ---- Spans ---- */

TBED_INLINE void tbed_begin_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_span_begin_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_span_begin(tbed_thread_self.recorder, id);
}

/* These return the generation of the trace in which the span began; 0: it did not. */
TBED_OUTLINE_SLOW uint32_t tbed_begin_slow(struct tbed_category *category, struct tbed_site *site)
{
    if (!tbed_enter(category))
        return 0;
    tbed_begin_entered(category, tbed_site_id(site));
    return tbed_thread_self.generation;
}

TBED_OUTLINE uint32_t tbed_begin_default(struct tbed_site *site)
{
    uint32_t generation = tbed_category_generation(&tbed_category_default);
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_RELAXED);
    if (TBED_UNLIKELY(generation == 0 || tbed_thread_self.generation != generation ||
                      (uint32_t)(state >> 32) != generation))
        return tbed_begin_slow(&tbed_category_default, site);
    tbed_span_begin(tbed_thread_self.recorder, (uint32_t)state);
    return generation;
}

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

TBED_INLINE uint32_t tbed_do_begin(struct tbed_category *category, struct tbed_site *site)
{
    if (tbed_category_generation(category) == 0)
        return 0;
    return category == &tbed_category_default ? tbed_begin_default(site) : tbed_begin_in(category, site);
}

TBED_OUTLINE void tbed_end_on(const struct tbed_category *category)
{
    if (tbed_enter(category) && tbed_has_open_span(tbed_thread_self.recorder))
        tbed_span_end(tbed_thread_self.recorder);
}

TBED_INLINE void tbed_do_end(const struct tbed_category *category)
{
    if (tbed_category_generation(category) != 0)
        tbed_end_on(category);
}

/* Of the thread's spans in all categories, as long as it has a recorder. */
TBED_INLINE uint32_t tbed_do_depth(void)
{
    return tbed_thread_self.generation != 0 ? tbed_span_depth(tbed_thread_self.recorder) : 0;
}

TBED_INLINE void tbed_do_end_to(uint32_t depth)
{
    if (tbed_thread_self.generation != 0)
        tbed_span_end_to(tbed_thread_self.recorder, depth);
}

TBED_INLINE struct tbed_span tbed_span_of(uint32_t generation)
{
    struct tbed_span span;
    span.generation = generation;
    return span;
}

TBED_INLINE struct tbed_span tbed_span_open(struct tbed_category *category, struct tbed_site *site)
{
    return tbed_span_of(tbed_do_begin(category, site));
}

/* The id is looked up only if the category is enabled. */
TBED_INLINE struct tbed_span tbed_span_open_dynamic(struct tbed_category *category, uint32_t id)
{
    return tbed_span_of(tbed_begin_dynamic(category, id));
}

/* A span of a trace that has been stopped in the meantime has no end. */
TBED_OUTLINE void tbed_end_of(uint32_t generation)
{
    if (!TBED_UNLIKELY(generation != tbed_thread_self.generation))
        tbed_span_end(tbed_thread_self.recorder);
}

TBED_INLINE void tbed_span_close(const struct tbed_span *span)
{
    if (span->generation != 0)
        tbed_end_of(span->generation);
}

/* ---- Instants, tracks ---- */

TBED_INLINE void tbed_instant_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_instant_record_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_instant_record(tbed_thread_self.recorder, id);
}

TBED_OUTLINE void tbed_instant_default(struct tbed_site *site)
{
    if (tbed_enter(&tbed_category_default))
        tbed_instant_entered(&tbed_category_default, tbed_site_id(site));
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

TBED_INLINE void tbed_do_instant(struct tbed_category *category, struct tbed_site *site)
{
    if (tbed_category_generation(category) == 0)
        return;
    if (category == &tbed_category_default)
        tbed_instant_default(site);
    else
        tbed_instant_in(category, site);
}

/* The thread must have its recorder: tbed_enter(). */
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

/* ---- Counters ---- */

TBED_INLINE void tbed_counter_entered(struct tbed_category *category, struct tbed_site *site,
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

TBED_OUTLINE void tbed_counter_i64(struct tbed_site *site, int64_t number)
{
    if (tbed_enter(&tbed_category_default))
        tbed_counter_record_i64(tbed_thread_self.recorder, tbed_site_id(site), number);
}

TBED_OUTLINE void tbed_counter_f64(struct tbed_site *site, double number)
{
    if (tbed_enter(&tbed_category_default))
        tbed_counter_record_f64(tbed_thread_self.recorder, tbed_site_id(site), number);
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

TBED_INLINE void tbed_do_counter(struct tbed_category *category, struct tbed_site *site,
                                 struct tbed_argument value)
{
    enum tbed_argument_type type = value.type == TBED_ARG_F64   ? TBED_ARG_F64
                                   : value.type == TBED_ARG_U64 ? TBED_ARG_U64
                                                                : TBED_ARG_I64;
    if (category != &tbed_category_default || (type == TBED_ARG_U64 && value.nbytes == 8))
        tbed_counter_in(category, site, type, value.value.u64);
    else if (type == TBED_ARG_F64)
        tbed_counter_f64(site, value.value.f64);
    else
        tbed_counter_i64(site, value.value.i64);
}

/* ---- Values ---- */

/* Fills the unused places behind the last value; it takes no space. */
TBED_INLINE struct tbed_argument tbed_value_none(void)
{
    struct tbed_argument value;
    value.type = 0;
    value.name_id = TBED_ID_INVALID;
    value.nbytes = 0;
    value.value.u64 = 0;
    return value;
}

#define TBED_NBYTES_UNMEASURED 0xFFFFFFFFu /* of a text: measure it up to its terminator */
#define TBED_FORMAT_PLAIN      1u /* flags of a format: every text belongs to a %s without a precision */

/* A text is as long as %s would print it, also for NULL. */
TBED_INLINE struct tbed_argument tbed_value_measured(struct tbed_argument value)
{
    if (value.type == TBED_ARG_TEXT && value.nbytes == TBED_NBYTES_UNMEASURED) {
        const char *text = value.value.text != NULL ? value.value.text : "(null)";
        size_t nbytes = __builtin_strlen(text);
        value.value.text = text;
        value.nbytes = nbytes < TBED_NBYTES_UNMEASURED ? (uint32_t)nbytes : TBED_NBYTES_UNMEASURED - 1;
    }
    return value;
}

/*
 * An event's values on their way from the site: their bits, one after another, and for a text whose size is known
 * (type MEASURED) its size behind its address. What the compiler knows of them is one constant: their packed types, how
 * many bytes they take without the texts themselves, how many values there are, and whether a text is among them.
 */
#define TBED_SLOTS_MAX           (2 * TBED_VALUES_MAX)
#define TBED_VALUES_MAX          8
#define TBED_TYPE_MEASURED       15u
#define TBED_KINDS_HAS_TEXT      ((uint64_t)1 << 56)
#define TBED_KINDS_NBYTES(kinds) ((size_t)((kinds) >> 32 & 0xFF))
#define TBED_KINDS_COUNT(kinds)  ((uint32_t)((kinds) >> 48 & 0xFF))
#define TBED_TYPE_IS_TEXT(type)  (((type)&7) == TBED_ARG_TEXT)
#define TBED_TYPE_NBYTES(type)   ((type) < TBED_ARG_TEXT ? 8u : 4u)
#define TBED_KINDS_TYPES(kinds)                                                                              \
    ((uint32_t)(kinds) & ~((uint32_t)(kinds) << 1 & (uint32_t)(kinds)&0x88888888u))

TBED_INLINE uint32_t tbed_packed_type(struct tbed_argument value)
{
    if (value.type == TBED_ARG_TEXT)
        return value.nbytes == TBED_NBYTES_UNMEASURED ? (uint32_t)TBED_ARG_TEXT : TBED_TYPE_MEASURED;
    bool is_narrow = value.type <= TBED_ARG_I64 && value.nbytes == 4;
    return is_narrow ? value.type + TBED_PACKED_NARROW : value.type;
}

/* The value at 'index'. */
TBED_INLINE uint64_t tbed_kind_of(struct tbed_argument value, unsigned index)
{
    if (value.type == 0)
        return 0;
    uint32_t type = tbed_packed_type(value);
    return (uint64_t)type << 4 * index | (uint64_t)TBED_TYPE_NBYTES(type) << 32 | (uint64_t)1 << 48 |
           (TBED_TYPE_IS_TEXT(type) ? TBED_KINDS_HAS_TEXT : 0);
}

/* Counts are summed up, flags are not. */
TBED_INLINE uint64_t tbed_kinds_join(uint64_t kinds, uint64_t more)
{
    return kinds + more - (kinds & more & TBED_KINDS_HAS_TEXT);
}

TBED_INLINE uint64_t *tbed_slots_put(uint64_t *to, struct tbed_argument value)
{
    if (value.type == 0)
        return to;
    bool is_text = value.type == TBED_ARG_TEXT;
    *to++ = !is_text && value.nbytes == 4 ? (uint32_t)value.value.u64 : value.value.u64;
    if (is_text && value.nbytes != TBED_NBYTES_UNMEASURED)
        *to++ = value.nbytes;
    return to;
}

TBED_INLINE uint64_t tbed_kinds_of(struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                   struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                   struct tbed_argument g, struct tbed_argument h)
{
    uint64_t kinds = tbed_kinds_join(tbed_kind_of(a, 0), tbed_kind_of(b, 1));
    kinds = tbed_kinds_join(tbed_kinds_join(kinds, tbed_kind_of(c, 2)), tbed_kind_of(d, 3));
    kinds = tbed_kinds_join(tbed_kinds_join(kinds, tbed_kind_of(e, 4)), tbed_kind_of(f, 5));
    return tbed_kinds_join(tbed_kinds_join(kinds, tbed_kind_of(g, 6)), tbed_kind_of(h, 7));
}

/* NULL: there are no values. */
TBED_INLINE const uint64_t *tbed_slots_fill(uint64_t *slots, struct tbed_argument a, struct tbed_argument b,
                                            struct tbed_argument c, struct tbed_argument d,
                                            struct tbed_argument e, struct tbed_argument f,
                                            struct tbed_argument g, struct tbed_argument h)
{
    uint64_t *to = tbed_slots_put(tbed_slots_put(tbed_slots_put(tbed_slots_put(slots, a), b), c), d);
    tbed_slots_put(tbed_slots_put(tbed_slots_put(tbed_slots_put(to, e), f), g), h);
    return a.type != 0 ? slots : NULL;
}

/* ---- Packing ---- */

/*
 * Packs numbers. 8 bytes are stored of each: the next value, or nothing but zeros, follows one of 4 bytes. Makes no call,
 * so that no register has to be saved.
 */
TBED_INLINE void tbed_numbers_pack(char *to, uint32_t types, const uint64_t *slots)
{
    for (; types != 0; types >>= 4) {
        __builtin_memcpy(to, slots++, 8);
        to += 8 - (types >> 1 & 4);
    }
}
TBED_STATIC_ASSERT(TBED_PACKED_NARROW == 8, "a bit of the type tells the size");

/*
 * The usual case of an event with numbers: one branch decides whether they fit. 'head' is the second word without its
 * size. 'fixed' is the third word, if there is one. Returns false for all other cases.
 */
TBED_INLINE bool tbed_numbers_record(uint32_t id, uint64_t head, const uint64_t *fixed, bool is_begin,
                                     uint64_t kinds, const uint64_t *slots)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    size_t first = fixed != NULL ? 3 : 2, nwords = first + (TBED_KINDS_NBYTES(kinds) + 7) / 8;
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY))
        return false;
    tbed_recorder_mark_busy(recorder);
    uint64_t tick = tbed_counter_read();
    struct tbed_open_span *span = kept->top;
    /* A word more than it takes, for the last narrow value. */
    bool fits =
        tbed_recorder_fits(recorder, nwords + 1, tick - recorder->base) && !(is_begin && span == kept->limit);
    if (!TBED_UNLIKELY(!fits)) {
        uint64_t *at = recorder->cursor;
        tbed_record_head_store(at, head | (uint64_t)(nwords - 1) << 16);
        if (fixed != NULL)
            at[2] = *fixed;
        if (nwords > first)
            at[nwords - 1] = 0;
        tbed_numbers_pack((char *)(at + first), (uint32_t)kinds, slots);
        tbed_recorder_commit(recorder, at, nwords, tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
        if (is_begin) {
            span->begin_tick = tick;
            span->id = id;
            kept->top = span + 1;
        }
    }
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return fits;
}

/* ---- Spans and instants with arguments: their names follow that of the event ---- */

/* The id of the first name, which was stored before that of the event. */
TBED_INLINE uint32_t tbed_sites_names(const struct tbed_site *sites)
{
    uint64_t state = __atomic_load_n(&sites[1].state, __ATOMIC_RELAXED);
    return (uint32_t)(state >> 32) == tbed_thread_self.generation ? (uint32_t)state : TBED_ID_INVALID;
}

TBED_INLINE uint64_t tbed_values_head(bool is_begin, uint64_t kinds)
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

TBED_INLINE uint32_t tbed_values_record(uint32_t generation, struct tbed_category *category,
                                        struct tbed_site *sites, bool is_begin, uint64_t kinds,
                                        const uint64_t *slots)
{
    uint64_t state = __atomic_load_n(&sites->state, __ATOMIC_ACQUIRE);
    bool is_usual = generation != 0 && tbed_thread_self.generation == generation &&
                    (uint32_t)(state >> 32) == generation && (kinds & TBED_KINDS_HAS_TEXT) == 0 &&
                    !tbed_category_is_stored(category);
    if (!TBED_UNLIKELY(!is_usual)) {
        uint64_t fixed = (uint64_t)tbed_sites_names(sites) << 32 | (uint32_t)kinds;
        if (tbed_numbers_record((uint32_t)state, tbed_values_head(is_begin, kinds), &fixed, is_begin, kinds,
                                slots))
            return generation;
    }
    return tbed_values_slow(category, sites, is_begin, kinds, slots);
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

TBED_INLINE uint32_t tbed_do_begin_args(struct tbed_category *category, struct tbed_site *sites,
                                        struct tbed_argument a, struct tbed_argument b,
                                        struct tbed_argument c, struct tbed_argument d,
                                        struct tbed_argument e, struct tbed_argument f,
                                        struct tbed_argument g, struct tbed_argument h)
{
    uint64_t slots[TBED_SLOTS_MAX];
    return tbed_begin_values(tbed_category_generation(category), category, sites,
                             tbed_kinds_of(a, b, c, d, e, f, g, h),
                             tbed_slots_fill(slots, a, b, c, d, e, f, g, h));
}

TBED_INLINE struct tbed_span tbed_span_open_args(struct tbed_category *category, struct tbed_site *sites,
                                                 struct tbed_argument a, struct tbed_argument b,
                                                 struct tbed_argument c, struct tbed_argument d,
                                                 struct tbed_argument e, struct tbed_argument f,
                                                 struct tbed_argument g, struct tbed_argument h)
{
    return tbed_span_of(tbed_do_begin_args(category, sites, a, b, c, d, e, f, g, h));
}

TBED_INLINE void tbed_do_instant_args(struct tbed_category *category, struct tbed_site *sites,
                                      struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                      struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                      struct tbed_argument g, struct tbed_argument h)
{
    uint64_t slots[TBED_SLOTS_MAX];
    tbed_instant_values(tbed_category_generation(category), category, sites,
                        tbed_kinds_of(a, b, c, d, e, f, g, h),
                        tbed_slots_fill(slots, a, b, c, d, e, f, g, h));
}

/* ---- Messages ---- */

/* The second word without its size. */
TBED_INLINE uint64_t tbed_message_head(uint32_t severity, uint64_t kinds)
{
    return TBED_EXT_PACKED_MESSAGE | (uint64_t)TBED_KINDS_COUNT(kinds) << 8 | (uint64_t)severity << 32 |
           (uint64_t)TBED_KINDS_TYPES(kinds) << 36;
}

/* The thread has its recorder. */
TBED_INLINE bool tbed_message_numbers(uint32_t severity, uint32_t id, uint64_t kinds, const uint64_t *slots)
{
    bool is_usual = severity <= TBED_PACKED_SEVERITY_MAX && (kinds & TBED_KINDS_HAS_TEXT) == 0;
    uint64_t head = TBED_EXT_PACKED_MESSAGE | (uint64_t)TBED_KINDS_COUNT(kinds) << 8 |
                    (uint64_t)severity << 32 | (uint64_t)(uint32_t)kinds << 36;
    return !TBED_UNLIKELY(!is_usual) && tbed_numbers_record(id, head, NULL, false, kinds, slots);
}

TBED_INLINE void tbed_message_any(uint32_t severity, uint32_t id, struct tbed_site *format, uint64_t kinds,
                                  const uint64_t *slots)
{
    if (severity <= TBED_PACKED_SEVERITY_MAX &&
        __atomic_load_n(&format->flags, __ATOMIC_RELAXED) == TBED_FORMAT_PLAIN)
        tbed_slots_record(id, tbed_message_head(severity, kinds), 0, false, kinds, slots);
    else
        tbed_message_slots(severity, id, format, kinds, slots);
}

TBED_OUTLINE_SLOW void tbed_message_slow(const struct tbed_category *category, uint32_t severity,
                                         struct tbed_site *format, uint64_t kinds, const uint64_t *slots)
{
    if (tbed_enter(category))
        tbed_message_any(severity, tbed_site_id(format), format, kinds, slots);
}

TBED_OUTLINE void tbed_message_in(const struct tbed_category *category, uint32_t severity,
                                  struct tbed_site *format, uint64_t kinds, const uint64_t *slots)
{
    uint32_t generation = tbed_category_generation(category);
    uint64_t state = __atomic_load_n(&format->state, __ATOMIC_RELAXED);
    bool is_usual =
        generation != 0 && tbed_thread_self.generation == generation && (uint32_t)(state >> 32) == generation;
    if (TBED_UNLIKELY(!is_usual) || !tbed_message_numbers(severity, (uint32_t)state, kinds, slots))
        tbed_message_slow(category, severity, format, kinds, slots);
}

/* The thread has its recorder. */
TBED_OUTLINE void tbed_message_of(uint32_t severity, uint32_t id, struct tbed_site *format, uint64_t kinds,
                                  const uint64_t *slots)
{
    if (!tbed_message_numbers(severity, id, kinds, slots))
        tbed_message_any(severity, id, format, kinds, slots);
}

/* Up to seven values. */
TBED_INLINE void tbed_do_message_id(uint32_t severity, uint32_t id, struct tbed_site *format, size_t count,
                                    struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                    struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                    struct tbed_argument g)
{
    uint64_t slots[TBED_SLOTS_MAX];
    (void)count;
    tbed_message_of(severity, id, format, tbed_kinds_of(a, b, c, d, e, f, g, tbed_value_none()),
                    tbed_slots_fill(slots, a, b, c, d, e, f, g, tbed_value_none()));
}

/* What a message begins with. */
struct tbed_log {
    const struct tbed_category *category;
    uint32_t severity;
};

TBED_INLINE struct tbed_log tbed_log_of(const struct tbed_category *category, uint32_t severity)
{
    struct tbed_log log;
    log.category = category;
    log.severity = severity;
    return log;
}

TBED_INLINE void tbed_do_message(struct tbed_log log, struct tbed_site *format, size_t count,
                                 struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                 struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                 struct tbed_argument g)
{
    uint64_t slots[TBED_SLOTS_MAX];
    (void)count;
    tbed_message_in(log.category, log.severity, format, tbed_kinds_of(a, b, c, d, e, f, g, tbed_value_none()),
                    tbed_slots_fill(slots, a, b, c, d, e, f, g, tbed_value_none()));
}

TBED_INLINE void tbed_do_message_list(struct tbed_log log, struct tbed_site *format,
                                      struct tbed_argument *values, size_t count)
{
    if (tbed_enter(log.category))
        tbed_message_values(log.severity, tbed_site_id(format), format, values, count);
}

#endif
