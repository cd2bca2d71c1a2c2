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

/* The text is evaluated only if the category is enabled. */
TBED_INLINE struct tbed_span tbed_span_open_dynamic(struct tbed_category *category, const char *text)
{
    tbed_begin_entered(category, tbed_dynamic_id(text));
    return tbed_span_of(tbed_thread_self.generation);
}

/* A span of a trace that has been stopped in the meantime has no end. */
TBED_INLINE void tbed_span_close(const struct tbed_span *span)
{
    if (span->generation != 0 && !TBED_UNLIKELY(span->generation != tbed_thread_self.generation))
        tbed_span_end(tbed_thread_self.recorder);
}

/* ---- Instants, tracks ---- */

TBED_INLINE void tbed_instant_entered(struct tbed_category *category, uint32_t id)
{
    if (tbed_category_is_stored(category))
        tbed_instant_record_category(tbed_thread_self.recorder, id, tbed_category_id(category), NULL, 0);
    else
        tbed_instant_record(tbed_thread_self.recorder, id);
}

TBED_INLINE void tbed_do_instant(struct tbed_category *category, struct tbed_site *site)
{
    if (tbed_enter(category))
        tbed_instant_entered(category, tbed_site_id(site));
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

/* ---- With arguments: their names follow that of the event ---- */

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
    tbed_instant_record_category(tbed_thread_self.recorder, tbed_site_id(sites), tbed_category_id(category),
                                 values, count);
}

TBED_INLINE void tbed_do_counter(struct tbed_category *category, struct tbed_site *site,
                                 struct tbed_argument value)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    uint32_t id = tbed_site_id(site);
    if (value.type != TBED_ARG_F64 && value.type != TBED_ARG_U64)
        value.type = TBED_ARG_I64;
    if (tbed_category_is_stored(category))
        tbed_counter_record_category(recorder, id, tbed_category_id(category), &value);
    else if (value.type == TBED_ARG_F64)
        tbed_counter_record_f64(recorder, id, value.value.f64);
    else if (value.type == TBED_ARG_U64 && value.value.u64 > INT64_MAX)
        tbed_counter_record_category(recorder, id, TBED_ID_INVALID, &value);
    else
        tbed_counter_record_i64(recorder, id, value.value.i64);
}

/* ---- Messages ---- */

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

#define TBED_NBYTES_UNMEASURED UINT32_MAX /* of a text: measure it up to its terminator */
#define TBED_FORMAT_PLAIN      1u /* flags of a format: every text belongs to a %s without a precision */

/* A text is as long as %s would print it, also for NULL. */
TBED_INLINE struct tbed_argument tbed_value_measured(struct tbed_argument value)
{
    if (value.type == TBED_ARG_TEXT && value.nbytes == TBED_NBYTES_UNMEASURED) {
        const char *text = value.value.text != NULL ? value.value.text : "(null)";
        size_t nbytes = __builtin_strlen(text);
        value.value.text = text;
        value.nbytes = nbytes < UINT32_MAX ? (uint32_t)nbytes : UINT32_MAX - 1;
    }
    return value;
}

TBED_INLINE uint64_t tbed_packed_type(const struct tbed_argument *value)
{
    bool is_narrow = value->type <= TBED_ARG_I64 && value->nbytes == 4;
    return is_narrow ? value->type + TBED_PACKED_NARROW : value->type;
}

/* A text is preceded by its length. */
TBED_INLINE size_t tbed_packed_nbytes(const struct tbed_argument *value)
{
    return value->nbytes + (value->type == TBED_ARG_TEXT ? (size_t)4 : 0);
}

TBED_INLINE char *tbed_packed_put(char *to, const struct tbed_argument *value)
{
    uint64_t bits = value->value.u64;
    if (value->type == TBED_ARG_TEXT) {
        __builtin_memcpy(to, &value->nbytes, 4);
        __builtin_memcpy(to + 4, value->value.text, value->nbytes);
        return to + 4 + value->nbytes;
    }
    if (value->nbytes == 4)
        __builtin_memcpy(to, &bits, 4);
    else if (value->nbytes == 8)
        __builtin_memcpy(to, &bits, 8);
    return to + value->nbytes;
}

/* The second word. */
TBED_INLINE uint64_t tbed_packed_head(uint32_t severity, uint64_t types, size_t count, size_t nwords)
{
    return TBED_EXT_PACKED_MESSAGE | (uint64_t)count << 8 | (uint64_t)(nwords - 1) << 16 |
           (uint64_t)severity << 32 | types << 36;
}

/*
 * The usual case. Returns false for all others, which tbed_message_values() handles. The compiler knows the types of the
 * values and therefore the second word and, up to the first text, the offset of each value: no loop, no array.
 */
TBED_INLINE bool tbed_message_packed(uint32_t severity, uint32_t id, size_t count, struct tbed_argument a,
                                     struct tbed_argument b, struct tbed_argument c, struct tbed_argument d,
                                     struct tbed_argument e, struct tbed_argument f, struct tbed_argument g)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    uint64_t types = tbed_packed_type(&a) | tbed_packed_type(&b) << 4 | tbed_packed_type(&c) << 8 |
                     tbed_packed_type(&d) << 12 | tbed_packed_type(&e) << 16 | tbed_packed_type(&f) << 20 |
                     tbed_packed_type(&g) << 24;
    size_t nbytes = tbed_packed_nbytes(&a) + tbed_packed_nbytes(&b) + tbed_packed_nbytes(&c) +
                    tbed_packed_nbytes(&d) + tbed_packed_nbytes(&e) + tbed_packed_nbytes(&f) +
                    tbed_packed_nbytes(&g);
    size_t nwords = 2 + (nbytes + 7) / 8;
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY || nwords > UINT16_MAX))
        return false;
    tbed_recorder_mark_busy(recorder);
    uint64_t tick = tbed_counter_read();
    bool fits = tbed_recorder_fits(recorder, nwords, tick - recorder->base);
    if (!TBED_UNLIKELY(!fits)) {
        uint64_t *at = recorder->cursor;
        char *to = (char *)(at + 2);
        tbed_record_head_store(at, tbed_packed_head(severity, types, count, nwords));
        if (nbytes % 8 != 0)
            at[nwords - 1] = 0;
        to = tbed_packed_put(to, &a);
        to = tbed_packed_put(to, &b);
        to = tbed_packed_put(to, &c);
        to = tbed_packed_put(to, &d);
        to = tbed_packed_put(to, &e);
        to = tbed_packed_put(to, &f);
        tbed_packed_put(to, &g);
        tbed_recorder_commit(recorder, at, nwords, tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
    }
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return fits;
}

TBED_INLINE bool tbed_packed_has_text(struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                      struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                      struct tbed_argument g)
{
    return a.type == TBED_ARG_TEXT || b.type == TBED_ARG_TEXT || c.type == TBED_ARG_TEXT ||
           d.type == TBED_ARG_TEXT || e.type == TBED_ARG_TEXT || f.type == TBED_ARG_TEXT ||
           g.type == TBED_ARG_TEXT;
}

/* Up to seven values. The rare case is kept short in each caller: an array of the values, and one call. */
TBED_INLINE void tbed_do_message_id(uint32_t severity, uint32_t id, struct tbed_site *format, size_t count,
                                    struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                    struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                    struct tbed_argument g)
{
    bool is_usual = severity <= TBED_PACKED_SEVERITY_MAX &&
                    (!tbed_packed_has_text(a, b, c, d, e, f, g) ||
                     __atomic_load_n(&format->flags, __ATOMIC_RELAXED) == TBED_FORMAT_PLAIN);
    if (is_usual &&
        tbed_message_packed(severity, id, count, tbed_value_measured(a), tbed_value_measured(b),
                            tbed_value_measured(c), tbed_value_measured(d), tbed_value_measured(e),
                            tbed_value_measured(f), tbed_value_measured(g)))
        return;
    struct tbed_argument values[TBED_PACKED_COUNT_MAX];
    if (count > 0)
        values[0] = a;
    if (count > 1)
        values[1] = b;
    if (count > 2)
        values[2] = c;
    if (count > 3)
        values[3] = d;
    if (count > 4)
        values[4] = e;
    if (count > 5)
        values[5] = f;
    if (count > 6)
        values[6] = g;
    tbed_message_values(severity, id, format, values, count);
}

TBED_INLINE void tbed_do_message(uint32_t severity, struct tbed_site *format, size_t count,
                                 struct tbed_argument a, struct tbed_argument b, struct tbed_argument c,
                                 struct tbed_argument d, struct tbed_argument e, struct tbed_argument f,
                                 struct tbed_argument g)
{
    tbed_do_message_id(severity, tbed_site_id(format), format, count, a, b, c, d, e, f, g);
}

TBED_INLINE void tbed_do_message_list(uint32_t severity, struct tbed_site *format,
                                      struct tbed_argument *values, size_t count)
{
    tbed_message_values(severity, tbed_site_id(format), format, values, count);
}

#endif
