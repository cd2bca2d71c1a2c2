/*
 * Messages with texts: how much of each text the format prints, and which char pointers are not texts at all.
 *
 * Most formats print every text with a plain %s; they are examined once. The others ("%.*s" for bytes without a
 * terminator, "%p" for a char pointer) are parsed together with their values each time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/record/extended.h"

#define FORMAT_WALKED 2u /* not TBED_FORMAT_PLAIN */

struct directive {
    bool star_width, star_precision, has_precision;
    uint32_t precision;
    char conversion; /* 0: the end of the format */
};

/* 'at' is behind the '%'; returns the end of the directive. */
static const char *directive_parse(const char *at, struct directive *directive)
{
    *directive = (struct directive){0};
    at += strspn(at, "-+ #0'I");
    directive->star_width = *at == '*';
    at += directive->star_width ? 1 : strspn(at, "0123456789");
    if (*at == '.') {
        at++;
        directive->has_precision = true;
        directive->star_precision = *at == '*';
        at += directive->star_precision;
        for (; *at >= '0' && *at <= '9'; at++)
            if (directive->precision < 100000000)
                directive->precision = directive->precision * 10 + (uint32_t)(*at - '0');
    }
    at += strspn(at, "hlqjztL");
    directive->conversion = *at;
    return at + (*at != 0);
}

/* NULL prints as in glibc: "(null)", or nothing if that does not fit. */
static void text_limit(struct tbed_argument *value, size_t limit)
{
    if (value->value.text == NULL)
        value->value.text = limit < 6 ? "" : "(null)";
    value->nbytes = (uint32_t)strnlen(value->value.text, limit);
}

static void to_pointer(struct tbed_argument *value)
{
    const char *text = value->value.text;
    *value = (struct tbed_argument){.type = TBED_ARG_POINTER, .name_id = TBED_ID_INVALID, .nbytes = 8};
    value->value.u64 = (uint64_t)(uintptr_t)text;
}

static void value_fit(struct tbed_argument *value, const struct directive *directive, int64_t precision)
{
    bool has_limit = directive->has_precision && precision >= 0;
    if (value->type != TBED_ARG_TEXT)
        return;
    if (directive->conversion != 's')
        to_pointer(value);
    else if (has_limit)
        text_limit(value, (size_t)precision);
    else
        *value = tbed_value_measured(*value);
}

static void format_walk(const char *at, struct tbed_argument *values, size_t count)
{
    struct directive directive;
    size_t next = 0;
    while ((at = strchr(at, '%')) != NULL) {
        at = directive_parse(at + 1, &directive);
        if (directive.conversion == 0 || directive.conversion == '%')
            continue;
        next += directive.star_width;
        int64_t precision = directive.precision;
        if (directive.star_precision)
            precision = next < count ? (int32_t)values[next++].value.i64 : -1;
        if (next < count)
            value_fit(&values[next++], &directive, precision);
    }
    for (size_t i = 0; i < count; i++) /* values without a directive are not read */
        if (values[i].type == TBED_ARG_TEXT && values[i].nbytes == TBED_NBYTES_UNMEASURED)
            to_pointer(&values[i]);
}

/* Whether every directive is plain, so that every text belongs to a %s without a precision. */
static bool is_plain(const char *at)
{
    struct directive directive;
    while ((at = strchr(at, '%')) != NULL) {
        at = directive_parse(at + 1, &directive);
        if (directive.conversion == 0 || strchr("diuxXofFeEgGaAcs%", directive.conversion) == NULL ||
            (directive.conversion == 's' && directive.has_precision))
            return false;
    }
    return true;
}

/* Threads that do this at the same time find the same flags. */
static uint32_t format_flags(struct tbed_site *format)
{
    uint32_t flags = __atomic_load_n(&format->flags, __ATOMIC_RELAXED);
    if (flags == 0) {
        flags = is_plain(format->text) ? TBED_FORMAT_PLAIN : FORMAT_WALKED;
        __atomic_store_n(&format->flags, flags, __ATOMIC_RELAXED);
    }
    return flags;
}

static void values_measure(struct tbed_argument *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = tbed_value_measured(values[i]);
}

static void message_pack(uint32_t severity, uint32_t id, const struct tbed_argument *values, size_t count)
{
    uint64_t kinds = 0, slots[TBED_SLOTS_MAX], *end = slots;
    for (size_t i = 0; i < count; i++) {
        kinds = tbed_kinds_join(kinds, tbed_kind_of(values[i], (unsigned)i));
        end = tbed_slots_put(end, values[i]);
    }
    tbed_slots_record(id, tbed_message_head(severity, kinds), 0, false, kinds, slots);
}

void tbed_message_values(uint32_t severity, uint32_t id, struct tbed_site *format,
                         struct tbed_argument *values, size_t count)
{
    if (format_flags(format) == TBED_FORMAT_PLAIN)
        values_measure(values, count);
    else
        format_walk(format->text, values, count);
    if (count > TBED_PACKED_COUNT_MAX || severity > TBED_PACKED_SEVERITY_MAX)
        tbed_message_record_args(tbed_thread_self.recorder, (enum tbed_severity)severity, id, values, count);
    else
        message_pack(severity, id, values, count);
}

static struct tbed_argument value_take(uint32_t type, const uint64_t **slots)
{
    bool is_narrow = type == TBED_PACKED_U32 || type == TBED_PACKED_I32;
    uint64_t bits = *(*slots)++;
    struct tbed_argument value = {.type = is_narrow ? type - TBED_PACKED_NARROW : type,
                                  .name_id = TBED_ID_INVALID,
                                  .nbytes = is_narrow ? 4 : 8,
                                  .value.u64 = bits};
    if (type == TBED_PACKED_I32)
        value.value.i64 = (int32_t)(uint32_t)bits;
    if (TBED_TYPE_IS_TEXT(type)) {
        value.type = TBED_ARG_TEXT;
        value.nbytes = type == TBED_TYPE_MEASURED ? (uint32_t) * (*slots)++ : TBED_NBYTES_UNMEASURED;
        value.value.text = (const char *)(uintptr_t)bits;
    }
    return value;
}

void tbed_message_slots(uint32_t severity, uint32_t id, struct tbed_site *format, uint64_t kinds,
                        const uint64_t *slots)
{
    struct tbed_argument values[TBED_VALUES_MAX];
    size_t count = 0;
    for (uint32_t types = (uint32_t)kinds; types != 0; types >>= 4)
        values[count++] = value_take(types & 15, &slots);
    tbed_message_values(severity, id, format, values, count);
}
