/*
 * tracebed/trace_packing_inline.h: how the values of an event get from the macros of trace.h into the block. Included by
 * trace_inline.h; do not include it yourself.
 *
 * The compiler knows the types of a site's values. Few numbers, or one text with a number beside it, are handed over in
 * registers; anything else goes through an array, and to the library.
 *
 * Source: spec/format.md, section 6.4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_PACKING_INLINE_H
#define TRACEBED_TRACE_PACKING_INLINE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

/* ---- Values ---- */

/* Fills the unused places behind the last value; it takes no space. */
TBED_ALWAYS_INLINE struct tbed_argument tbed_value_none(void)
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
TBED_ALWAYS_INLINE struct tbed_argument tbed_value_measured(struct tbed_argument value)
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

TBED_ALWAYS_INLINE uint32_t tbed_packed_type(struct tbed_argument value)
{
    if (value.type == TBED_ARG_TEXT)
        return value.nbytes == TBED_NBYTES_UNMEASURED ? (uint32_t)TBED_ARG_TEXT : TBED_TYPE_MEASURED;
    bool is_narrow = value.type <= TBED_ARG_I64 && value.nbytes == 4;
    return is_narrow ? value.type + TBED_PACKED_NARROW : value.type;
}

/* The value at 'index'. */
TBED_ALWAYS_INLINE uint64_t tbed_kind_of(struct tbed_argument value, unsigned index)
{
    if (value.type == 0)
        return 0;
    uint32_t type = tbed_packed_type(value);
    return (uint64_t)type << 4 * index | (uint64_t)TBED_TYPE_NBYTES(type) << 32 | (uint64_t)1 << 48 |
           (TBED_TYPE_IS_TEXT(type) ? TBED_KINDS_HAS_TEXT : 0);
}

/* Counts are summed up, flags are not. */
TBED_ALWAYS_INLINE uint64_t tbed_kinds_join(uint64_t kinds, uint64_t more)
{
    return kinds + more - (kinds & more & TBED_KINDS_HAS_TEXT);
}

TBED_ALWAYS_INLINE uint64_t *tbed_slots_put(uint64_t *to, struct tbed_argument value)
{
    if (value.type == 0)
        return to;
    bool is_text = value.type == TBED_ARG_TEXT;
    *to++ = !is_text && value.nbytes == 4 ? (uint32_t)value.value.u64 : value.value.u64;
    if (is_text && value.nbytes != TBED_NBYTES_UNMEASURED)
        *to++ = value.nbytes;
    return to;
}

TBED_ALWAYS_INLINE uint64_t tbed_kinds_of(struct tbed_argument a, struct tbed_argument b,
                                          struct tbed_argument c, struct tbed_argument d,
                                          struct tbed_argument e, struct tbed_argument f,
                                          struct tbed_argument g, struct tbed_argument h)
{
    uint64_t kinds = tbed_kinds_join(tbed_kind_of(a, 0), tbed_kind_of(b, 1));
    kinds = tbed_kinds_join(tbed_kinds_join(kinds, tbed_kind_of(c, 2)), tbed_kind_of(d, 3));
    kinds = tbed_kinds_join(tbed_kinds_join(kinds, tbed_kind_of(e, 4)), tbed_kind_of(f, 5));
    return tbed_kinds_join(tbed_kinds_join(kinds, tbed_kind_of(g, 6)), tbed_kind_of(h, 7));
}

/* NULL: there are no values. */
TBED_ALWAYS_INLINE const uint64_t *tbed_slots_fill(uint64_t *slots, struct tbed_argument a,
                                                   struct tbed_argument b, struct tbed_argument c,
                                                   struct tbed_argument d, struct tbed_argument e,
                                                   struct tbed_argument f, struct tbed_argument g,
                                                   struct tbed_argument h)
{
    uint64_t *to = tbed_slots_put(tbed_slots_put(tbed_slots_put(tbed_slots_put(slots, a), b), c), d);
    tbed_slots_put(tbed_slots_put(tbed_slots_put(tbed_slots_put(to, e), f), g), h);
    return a.type != 0 ? slots : NULL;
}

/* ---- Numbers ---- */

/* The values of an event, packed, if they are numbers that take no more than 16 bytes. */
struct tbed_payload {
    uint64_t first, second;
    uint32_t nbytes;
};

TBED_ALWAYS_INLINE bool tbed_is_small(uint64_t kinds)
{
    return (kinds & TBED_KINDS_HAS_TEXT) == 0 && TBED_KINDS_NBYTES(kinds) <= 16;
}

TBED_ALWAYS_INLINE struct tbed_payload tbed_payload_add(struct tbed_payload to, struct tbed_argument value)
{
    bool is_narrow = value.nbytes == 4;
    uint64_t bits = is_narrow ? (uint32_t)value.value.u64 : value.value.u64;
    if (value.type == 0)
        return to;
    if (to.nbytes == 0)
        to.first = bits;
    if (to.nbytes == 4) {
        to.first |= bits << 32;
        to.second = bits >> 32;
    }
    if (to.nbytes == 8)
        to.second = bits;
    if (to.nbytes == 12)
        to.second |= bits << 32;
    to.nbytes += is_narrow ? 4 : 8;
    return to;
}

/* More values do not fit. */
TBED_ALWAYS_INLINE struct tbed_payload tbed_payload_of(struct tbed_argument a, struct tbed_argument b,
                                                       struct tbed_argument c, struct tbed_argument d)
{
    struct tbed_payload payload;
    payload.first = payload.second = 0;
    payload.nbytes = 0;
    return tbed_payload_add(tbed_payload_add(tbed_payload_add(tbed_payload_add(payload, a), b), c), d);
}

/* Of an event with 'first' words before the values. */
TBED_ALWAYS_INLINE uint64_t tbed_head_sized(uint64_t head, size_t first, struct tbed_payload payload)
{
    return head | (uint64_t)(first + (payload.nbytes + 7) / 8 - 1) << 16;
}

TBED_ALWAYS_INLINE size_t tbed_head_nwords(uint64_t head)
{
    return (size_t)(head >> 16 & 0xFFFF) + 1;
}

/* In all but the usual case: for the rest, the values are one or two numbers of 8 bytes. 'head' has its size. */
TBED_ALWAYS_INLINE void tbed_payload_record(uint32_t id, uint64_t head, uint64_t fixed, bool is_begin,
                                            uint64_t first, uint64_t second)
{
    uint64_t slots[2], count = tbed_head_nwords(head) - (fixed != 0 ? 3 : 2);
    slots[0] = first;
    slots[1] = second;
    tbed_slots_record(id, head & ~((uint64_t)0xFFFF << 16), fixed, is_begin,
                      count << 35 | (0x11u & ((1u << 4 * count) - 1)), slots);
}

/*
 * Packs numbers. 8 bytes are stored of each: the next value, or nothing but zeros, follows one of 4 bytes. Makes no call,
 * so that no register has to be saved.
 */
TBED_ALWAYS_INLINE void tbed_numbers_pack(char *to, uint32_t types, const uint64_t *slots)
{
    for (; types != 0; types >>= 4) {
        uint64_t raw = tbed_word_order(*slots++);
        __builtin_memcpy(to, &raw, 8);
        to += 8 - (types >> 1 & 4);
    }
}
TBED_STATIC_ASSERT(TBED_PACKED_NARROW == 8, "a bit of the type tells the size");

/*
 * The usual case of an event with numbers: one branch decides whether they fit. 'head' is the second word without its
 * size. 'fixed' is the third word, if there is one. Returns false for all other cases.
 */
TBED_ALWAYS_INLINE bool tbed_numbers_record(uint32_t id, uint64_t head, const uint64_t *fixed, bool is_begin,
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
            at[2] = tbed_word_order(*fixed);
        if (nwords > first)
            at[nwords - 1] = 0;
        tbed_numbers_pack((char *)(at + first), (uint32_t)kinds, slots);
        tbed_recorder_commit(recorder, at, nwords, tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
        if (is_begin)
            tbed_span_put(kept, span, tick, id);
    }
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return fits;
}

/* ---- One text ---- */

/*
 * A text with at most one number before it and one behind it, on its way from the site: the number of bytes of each
 * number, and whether the second is the size of the text, stand where the head of an event has its size.
 */
#define TBED_TEXT_BEFORE(head) ((size_t)((head) >> 16 & 15))
#define TBED_TEXT_BEHIND(head) ((size_t)((head) >> 20 & 15))
#define TBED_TEXT_IS_SIZED     ((uint64_t)1 << 24)
#define TBED_HEAD_SIZE         ((uint64_t)0xFFFF << 16)
#define TBED_TEXT_NBYTES_MAX   4096u /* longer ones are left to the library */
#define TBED_KIND_AT(kinds, i) ((uint32_t)((kinds) >> 4 * (i)) & 15)

/* Whether an event with these values is one. */
TBED_ALWAYS_INLINE bool tbed_is_one_text(uint64_t kinds)
{
    unsigned at = TBED_TYPE_IS_TEXT(TBED_KIND_AT(kinds, 0)) ? 0 : 1, count = TBED_KINDS_COUNT(kinds);
    uint32_t next = TBED_KIND_AT(kinds, at + 1);
    return TBED_TYPE_IS_TEXT(TBED_KIND_AT(kinds, at)) && count <= at + 2 && !TBED_TYPE_IS_TEXT(next) &&
           (TBED_KIND_AT(kinds, at) != TBED_TYPE_MEASURED || next == 0);
}

struct tbed_one_text {
    const char *text;
    uint64_t head, before, behind; /* 'head' is to be added to that of the event */
};

TBED_ALWAYS_INLINE uint64_t tbed_number_bits(struct tbed_argument value)
{
    return value.nbytes == 4 ? (uint32_t)value.value.u64 : value.value.u64;
}

TBED_ALWAYS_INLINE struct tbed_one_text tbed_one_text_of(struct tbed_argument a, struct tbed_argument b,
                                                         struct tbed_argument c)
{
    bool is_first = a.type == TBED_ARG_TEXT;
    struct tbed_argument value = is_first ? a : b, number = is_first ? b : c;
    bool is_sized = value.nbytes != TBED_NBYTES_UNMEASURED;
    struct tbed_one_text text;
    text.text = value.value.text;
    text.before = is_first ? 0 : tbed_number_bits(a);
    text.behind = is_sized ? value.nbytes : tbed_number_bits(number);
    text.head = (uint64_t)(is_first ? 0 : TBED_TYPE_NBYTES(tbed_packed_type(a))) << 16 |
                (uint64_t)(number.type == 0 ? 0 : TBED_TYPE_NBYTES(tbed_packed_type(number))) << 20 |
                (is_sized ? TBED_TEXT_IS_SIZED : 0);
    return text;
}

/* Most texts are short: a call of memcpy() would take longer than the copy. */
TBED_ALWAYS_INLINE void tbed_text_copy(char *to, const char *text, size_t nbytes)
{
    if (nbytes > 64 || nbytes < 8) {
        __builtin_memcpy(to, text, nbytes);
    } else if (nbytes < 16) {
        __builtin_memcpy(to, text, 8);
        __builtin_memcpy(to + nbytes - 8, text + nbytes - 8, 8);
    } else {
        if (nbytes > 32) {
            __builtin_memcpy(to + 16, text + 16, 16);
            __builtin_memcpy(to + nbytes - 32, text + nbytes - 32, 16);
        }
        __builtin_memcpy(to, text, 16);
        __builtin_memcpy(to + nbytes - 16, text + nbytes - 16, 16);
    }
}

/* The usual case of an event with one text. 'fixed' is its third word, if it has one. Returns false for all others. */
TBED_ALWAYS_INLINE bool tbed_one_text_record(uint32_t id, uint64_t head, const uint64_t *fixed, bool is_begin,
                                             const char *text, uint64_t before, uint64_t behind)
{
    struct tbed_recorder *recorder = tbed_thread_self.recorder;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    bool is_sized = (head & TBED_TEXT_IS_SIZED) != 0;
    if (TBED_UNLIKELY(recorder->mark != TBED_MARK_READY || text == NULL))
        return false;
    size_t nbytes = is_sized ? (size_t)behind : __builtin_strlen(text), first = fixed != NULL ? 3 : 2;
    size_t nwords = first + (TBED_TEXT_BEFORE(head) + 4 + nbytes + TBED_TEXT_BEHIND(head) + 7) / 8;
    uint32_t stored_nbytes = tbed_word32_order((uint32_t)nbytes);
    if (TBED_UNLIKELY(nbytes > TBED_TEXT_NBYTES_MAX))
        return false;
    tbed_recorder_mark_busy(recorder);
    uint64_t tick = tbed_counter_read();
    struct tbed_open_span *span = kept->top;
    bool fits =
        tbed_recorder_fits(recorder, nwords, tick - recorder->base) && !(is_begin && span == kept->limit);
    if (!TBED_UNLIKELY(!fits)) {
        uint64_t *at = recorder->cursor;
        char *to = (char *)(at + first);
        tbed_record_head_store(at, (head & ~TBED_HEAD_SIZE) | (uint64_t)(nwords - 1) << 16);
        if (fixed != NULL)
            at[2] = tbed_word_order(*fixed);
        at[nwords - 1] = 0;
        before = tbed_word_order(before);
        behind = tbed_word_order(behind);
        if (TBED_TEXT_BEFORE(head) != 0)
            __builtin_memcpy(to, &before, 8); /* the size of the text replaces what is too much */
        to += TBED_TEXT_BEFORE(head);
        __builtin_memcpy(to, &stored_nbytes, 4);
        tbed_text_copy(to + 4, text, nbytes);
        to += 4 + nbytes;
        if (TBED_TEXT_BEHIND(head) == 8)
            __builtin_memcpy(to, &behind, 8);
        else if (TBED_TEXT_BEHIND(head) == 4)
            __builtin_memcpy(to, &behind, 4);
        tbed_recorder_commit(recorder, at, nwords, tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
        if (is_begin)
            tbed_span_put(kept, span, tick, id);
    }
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    return fits;
}

/* The values in 'slots' again; returns their kinds. 'types' are as stored. */
TBED_ALWAYS_INLINE uint64_t tbed_one_text_slots(uint64_t *slots, uint64_t head, uint32_t types,
                                                const char *text, uint64_t before, uint64_t behind)
{
    bool has_number = TBED_TEXT_BEFORE(head) != 0, is_sized = (head & TBED_TEXT_IS_SIZED) != 0;
    uint64_t nbytes = TBED_TEXT_BEFORE(head) + 4 + TBED_TEXT_BEHIND(head);
    uint64_t count = 1u + (has_number ? 1u : 0u) + (TBED_TEXT_BEHIND(head) != 0 ? 1u : 0u);
    if (has_number)
        *slots++ = before;
    slots[0] = (uint64_t)(uintptr_t)text;
    slots[1] = behind;
    return types | (is_sized ? (uint64_t)8 << 4 * has_number : 0) | nbytes << 32 | count << 48 |
           TBED_KINDS_HAS_TEXT;
}

#endif
