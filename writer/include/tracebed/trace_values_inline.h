/*
 * tracebed/trace_values_inline.h: how the macros of trace.h take their arguments apart. Included by trace.h; do not
 * include it yourself.
 *
 * A value becomes an event's argument according to its type, by _Generic in C and by overloads in C++. Texts are measured
 * later, when it is known how much of them the format prints.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_VALUES_INLINE_H
#define TRACEBED_TRACE_VALUES_INLINE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#include <tracebed/trace_checks_inline.h>

/* ---- Values ---- */

struct tbed_id {
    uint32_t id;
};

TBED_ALWAYS_INLINE struct tbed_id tbed_id_make(uint32_t id)
{
    struct tbed_id wrapped;
    wrapped.id = id;
    return wrapped;
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_bits(enum tbed_argument_type type, uint64_t bits)
{
    struct tbed_argument value;
    value.type = type;
    value.name_id = TBED_ID_INVALID;
    value.nbytes = 8;
    value.value.u64 = bits;
    return value;
}

/* A message stores these in 4 bytes. */
TBED_ALWAYS_INLINE struct tbed_argument tbed_value_i32(int number)
{
    struct tbed_argument value = tbed_value_bits(TBED_ARG_I64, (uint64_t)(int64_t)number);
    value.nbytes = 4;
    return value;
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_u32(unsigned number)
{
    struct tbed_argument value = tbed_value_bits(TBED_ARG_U64, number);
    value.nbytes = 4;
    return value;
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_i64(long long number)
{
    return tbed_value_bits(TBED_ARG_I64, (uint64_t)number);
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_u64(unsigned long long number)
{
    return tbed_value_bits(TBED_ARG_U64, number);
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_f64(double number)
{
    struct tbed_argument value = tbed_value_bits(TBED_ARG_F64, 0);
    value.value.f64 = number;
    return value;
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_long_double(long double number)
{
    return tbed_value_f64((double)number);
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_bool(bool truth)
{
    return tbed_value_bits(TBED_ARG_BOOL, truth);
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_pointer(const volatile void *address)
{
    return tbed_value_bits(TBED_ARG_POINTER, (uint64_t)(uintptr_t)address);
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_id(struct tbed_id wrapped)
{
    struct tbed_argument value = tbed_value_bits(TBED_ARG_ID, 0);
    value.value.id = wrapped.id;
    return value;
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value_text(const void *text)
{
    struct tbed_argument value = tbed_value_bits(TBED_ARG_TEXT, 0);
    value.nbytes = TBED_NBYTES_UNMEASURED;
    value.value.text = (const char *)text;
    return value;
}
#ifdef __cplusplus
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(char value)
{
    return tbed_value_i32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(signed char value)
{
    return tbed_value_i32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(short value)
{
    return tbed_value_i32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(int value)
{
    return tbed_value_i32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(long value)
{
    return tbed_value_i64(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(long long value)
{
    return tbed_value_i64(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(unsigned char value)
{
    return tbed_value_u32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(unsigned short value)
{
    return tbed_value_u32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(unsigned value)
{
    return tbed_value_u32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(unsigned long value)
{
    return tbed_value_u64(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(unsigned long long value)
{
    return tbed_value_u64(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(double value)
{
    return tbed_value_f64(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(long double value)
{
    return tbed_value_long_double(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(bool value)
{
    return tbed_value_bool(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(struct tbed_id value)
{
    return tbed_value_id(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(const char *value)
{
    return tbed_value_text(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(const signed char *value)
{
    return tbed_value_text(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(const unsigned char *value)
{
    return tbed_value_text(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(const volatile void *value)
{
    return tbed_value_pointer(value);
}
#if __cplusplus >= 201103L
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(decltype(nullptr))
{
    return tbed_value_pointer(nullptr);
}

/* The arguments of one event; they live to the end of the full expression. */
template <size_t COUNT> struct tbed_value_list {
    struct tbed_argument at[COUNT];
};

template <typename... VALUES>
TBED_ALWAYS_INLINE tbed_value_list<sizeof...(VALUES)> tbed_value_list_make(const VALUES &...values)
{
    return {{values...}};
}

/* A name must be an array that does not change; the target of a pointer would be read only once. */
template <size_t NBYTES> constexpr const char *tbed_literal(const char (&text)[NBYTES])
{
    return text;
}

#define TBED_VALUE_LIST_(...)  (tbed_value_list_make(__VA_ARGS__).at)
#define TBED_LITERAL_(text)    tbed_literal(text)
#define TBED_DYNAMIC_ID_(text) tbed_name_id(text)
#include <tracebed/trace_cpp_inline.h>
#else /* for the macros of rtl_logfile.h */
#define TBED_LITERAL_(text)    text
#define TBED_DYNAMIC_ID_(text) tbed_dynamic_id(text)
#endif
#define TBED_VALUE_(x) tbed_value(x)
#else
/* clang-format off */
#define TBED_VALUE_(x) \
    _Generic((x), \
        char: tbed_value_i32, signed char: tbed_value_i32, short: tbed_value_i32, \
        int: tbed_value_i32, long: tbed_value_i64, long long: tbed_value_i64, \
        unsigned char: tbed_value_u32, unsigned short: tbed_value_u32, unsigned: tbed_value_u32, \
        unsigned long: tbed_value_u64, unsigned long long: tbed_value_u64, float: tbed_value_f64, \
        double: tbed_value_f64, long double: tbed_value_long_double, bool: tbed_value_bool, \
        struct tbed_id: tbed_value_id, char *: tbed_value_text, const char *: tbed_value_text, \
        signed char *: tbed_value_text, const signed char *: tbed_value_text, unsigned char *: tbed_value_text, \
        const unsigned char *: tbed_value_text, default: tbed_value_pointer)(x)
/* clang-format on */
#define TBED_VALUE_LIST_(...)  ((struct tbed_argument[]){__VA_ARGS__})
#define TBED_LITERAL_(text)    text
#define TBED_DYNAMIC_ID_(text) tbed_dynamic_id(text)
#endif
/* ---- Lists ---- */

/* clang-format off */
/* The values that follow a format. */
#define TBED_VALUES_2_(format, a) TBED_VALUE_(a)
#define TBED_VALUES_3_(format, a, b) TBED_VALUE_(a), TBED_VALUE_(b)
#define TBED_VALUES_4_(format, a, b, c) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c)
#define TBED_VALUES_5_(format, a, b, c, d) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d)
#define TBED_VALUES_6_(format, a, b, c, d, e) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e)
#define TBED_VALUES_7_(format, a, b, c, d, e, f) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f)
#define TBED_VALUES_8_(format, a, b, c, d, e, f, g) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g)
#define TBED_VALUES_9_(format, a, b, c, d, e, f, g, h) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h)
#define TBED_VALUES_10_(format, a, b, c, d, e, f, g, h, i) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i)
#define TBED_VALUES_11_(format, a, b, c, d, e, f, g, h, i, j) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j)
#define TBED_VALUES_12_(format, a, b, c, d, e, f, g, h, i, j, k) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j), TBED_VALUE_(k)
#define TBED_VALUES_13_(format, a, b, c, d, e, f, g, h, i, j, k, l) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j), TBED_VALUE_(k), TBED_VALUE_(l)
#define TBED_VALUES_14_(format, a, b, c, d, e, f, g, h, i, j, k, l, m) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j), TBED_VALUE_(k), TBED_VALUE_(l), TBED_VALUE_(m)
#define TBED_VALUES_15_(format, a, b, c, d, e, f, g, h, i, j, k, l, m, n) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j), TBED_VALUE_(k), TBED_VALUE_(l), TBED_VALUE_(m), TBED_VALUE_(n)
#define TBED_VALUES_16_(format, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j), TBED_VALUE_(k), TBED_VALUE_(l), TBED_VALUE_(m), TBED_VALUE_(n), TBED_VALUE_(o)
#define TBED_VALUES_17_(format, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) TBED_VALUE_(a), TBED_VALUE_(b), TBED_VALUE_(c), TBED_VALUE_(d), TBED_VALUE_(e), TBED_VALUE_(f), TBED_VALUE_(g), TBED_VALUE_(h), TBED_VALUE_(i), TBED_VALUE_(j), TBED_VALUE_(k), TBED_VALUE_(l), TBED_VALUE_(m), TBED_VALUE_(n), TBED_VALUE_(o), TBED_VALUE_(p)
/* An event followed by names and values in turn: their number, the names, the values. An even number is an error. */
#define TBED_SITES_3_(name, n1, v1) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1)
#define TBED_SITES_5_(name, n1, v1, n2, v2) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2)
#define TBED_SITES_7_(name, n1, v1, n2, v2, n3, v3) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2), TBED_SITE_INIT_(n3)
#define TBED_SITES_9_(name, n1, v1, n2, v2, n3, v3, n4, v4) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2), TBED_SITE_INIT_(n3), TBED_SITE_INIT_(n4)
#define TBED_SITES_11_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2), TBED_SITE_INIT_(n3), TBED_SITE_INIT_(n4), TBED_SITE_INIT_(n5)
#define TBED_SITES_13_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5, n6, v6) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2), TBED_SITE_INIT_(n3), TBED_SITE_INIT_(n4), TBED_SITE_INIT_(n5), TBED_SITE_INIT_(n6)
#define TBED_SITES_15_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5, n6, v6, n7, v7) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2), TBED_SITE_INIT_(n3), TBED_SITE_INIT_(n4), TBED_SITE_INIT_(n5), TBED_SITE_INIT_(n6), TBED_SITE_INIT_(n7)
#define TBED_SITES_17_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5, n6, v6, n7, v7, n8, v8) TBED_SITE_HERE_(name), TBED_SITE_INIT_(n1), TBED_SITE_INIT_(n2), TBED_SITE_INIT_(n3), TBED_SITE_INIT_(n4), TBED_SITE_INIT_(n5), TBED_SITE_INIT_(n6), TBED_SITE_INIT_(n7), TBED_SITE_INIT_(n8)
#define TBED_NAMED_3_(name, n1, v1) TBED_VALUE_(v1), TBED_NONE_7_
#define TBED_NAMED_5_(name, n1, v1, n2, v2) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_NONE_6_
#define TBED_NAMED_7_(name, n1, v1, n2, v2, n3, v3) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_VALUE_(v3), TBED_NONE_5_
#define TBED_NAMED_9_(name, n1, v1, n2, v2, n3, v3, n4, v4) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_VALUE_(v3), TBED_VALUE_(v4), TBED_NONE_4_
#define TBED_NAMED_11_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_VALUE_(v3), TBED_VALUE_(v4), TBED_VALUE_(v5), TBED_NONE_3_
#define TBED_NAMED_13_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5, n6, v6) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_VALUE_(v3), TBED_VALUE_(v4), TBED_VALUE_(v5), TBED_VALUE_(v6), TBED_NONE_2_
#define TBED_NAMED_15_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5, n6, v6, n7, v7) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_VALUE_(v3), TBED_VALUE_(v4), TBED_VALUE_(v5), TBED_VALUE_(v6), TBED_VALUE_(v7), TBED_NONE_1_
#define TBED_NAMED_17_(name, n1, v1, n2, v2, n3, v3, n4, v4, n5, v5, n6, v6, n7, v7, n8, v8) TBED_VALUE_(v1), TBED_VALUE_(v2), TBED_VALUE_(v3), TBED_VALUE_(v4), TBED_VALUE_(v5), TBED_VALUE_(v6), TBED_VALUE_(v7), TBED_VALUE_(v8)
/* clang-format on */

/* clang-format off */
#define TBED_SITE_INIT_(text) {0, TBED_LITERAL_(text), 0, 0, NULL, NULL}
#define TBED_SITE_HERE_(text) {0, TBED_LITERAL_(text), 0, __LINE__, __FILE__, TBED_FUNCTION_}
#define TBED_CATEGORY_INIT_(name, is_stored) {0, is_stored, TBED_SITE_INIT_(name), NULL, 0}
/* clang-format on */

/* ---- Statements ---- */

#define TBED_SITE_(name, statement)                                                                          \
    do {                                                                                                     \
        static struct tbed_site tbed_site_ = TBED_SITE_HERE_(name);                                          \
        statement;                                                                                           \
    } while (0)

#define TBED_WHEN_ON_(category, name, statement)                                                             \
    do {                                                                                                     \
        static struct tbed_site tbed_site_ = TBED_SITE_HERE_(name);                                          \
        if (tbed_enter(category))                                                                            \
            statement;                                                                                       \
    } while (0)

#define TBED_FLOW_(type, name, key)                                                                          \
    TBED_WHEN_ON_(                                                                                           \
        &tbed_category_default, name,                                                                        \
        tbed_flow_record(tbed_thread_self.recorder, type, tbed_site_id(&tbed_site_), (uint64_t)(key)))

#define TBED_COUNTER_(category, name, value)                                                                 \
    do {                                                                                                     \
        static struct tbed_site tbed_site_ = TBED_SITE_INIT_(name);                                          \
        if (tbed_category_generation(category) != 0)                                                         \
            tbed_do_counter(category, &tbed_site_, TBED_VALUE_(value));                                      \
    } while (0)

#define TBED_INSTANT_DYNAMIC_(category, text)                                                                \
    do {                                                                                                     \
        if (tbed_enter(category))                                                                            \
            tbed_instant_dynamic(category, TBED_DYNAMIC_ID_(text));                                          \
    } while (0)

/* Calls 'act' with the names and values of a list. */
#define TBED_ARGS_(act, category, ...)                                                                       \
    TBED_ARGS_COUNTED_(act, category, TBED_COUNT_(__VA_ARGS__), __VA_ARGS__)
#define TBED_ARGS_COUNTED_(act, category, count, ...)                                                        \
    do {                                                                                                     \
        TBED_PAIRS_CHECK_(__VA_ARGS__);                                                                      \
        static struct tbed_site tbed_sites_[] = {TBED_CAT_(TBED_CAT_(TBED_SITES_, count), _)(__VA_ARGS__)};  \
        if (tbed_category_generation(category) != 0)                                                         \
            act(category, tbed_sites_, TBED_CAT_(TBED_CAT_(TBED_NAMED_, count), _)(__VA_ARGS__));            \
    } while (0)

/* ---- Messages ---- */

/* Never called: it lets the compiler check formats. */
__attribute__((format(printf, 1, 2), unused)) TBED_INLINE void tbed_format_check(const char *format, ...)
{
    (void)format;
}

/*
 * %n is a mistake, for nothing may be written through an argument. In C++ any of it is found; in C what the optimiser
 * finds (not behind flags, nor where the format has "%%n" too). What is not found is recorded as the address it is.
 */
#if defined __cplusplus && __cplusplus >= 201402L
constexpr bool tbed_format_has_n(const char *at)
{
    for (; *at != 0; at++) {
        if (*at != '%')
            continue;
        do
            at++;
        while (*at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '\'' || *at == 'I' ||
               *at == '*' || *at == '.' || (*at >= '0' && *at <= '9') || *at == 'h' || *at == 'l' ||
               *at == 'q' || *at == 'j' || *at == 'z' || *at == 't' || *at == 'L');
        if (*at == 'n')
            return true;
        if (*at == 0)
            return false;
    }
    return false;
}
#define TBED_FORMAT_REFUSE_(format)                                                                          \
    static_assert(!__builtin_constant_p(format) || !tbed_format_has_n(format), "a format with %n is "        \
                                                                               "refused")
#elif defined(__OPTIMIZE__) && (!defined(__clang__) || __clang_major__ >= 14)
void tbed_format_refused(void) __attribute__((error("a format with %n is refused")));

TBED_ALWAYS_INLINE int tbed_format_has(const char *format, const char *part)
{
    const char *found = __builtin_strstr(format, part);
    return __builtin_constant_p(found != NULL) && found != NULL;
}

TBED_ALWAYS_INLINE void tbed_format_refuse(const char *format)
{
    if ((tbed_format_has(format, "%n") && !tbed_format_has(format, "%%n")) ||
        (tbed_format_has(format, "%ln") && !tbed_format_has(format, "%%ln")) ||
        (tbed_format_has(format, "%hhn") && !tbed_format_has(format, "%%hhn")))
        tbed_format_refused();
}
#define TBED_FORMAT_REFUSE_(format) tbed_format_refuse(format)
#else
#define TBED_FORMAT_REFUSE_(format) ((void)0)
#endif

#define TBED_FORMAT_CHECK_(...)                                                                              \
    do {                                                                                                     \
        TBED_FORMAT_REFUSE_(TBED_FIRST_(__VA_ARGS__));                                                       \
        if (0)                                                                                               \
            tbed_format_check(__VA_ARGS__);                                                                  \
    } while (0)

#define TBED_LOG_(category, severity, ...)                                                                   \
    do {                                                                                                     \
        static struct tbed_site tbed_site_ = TBED_SITE_HERE_(TBED_FIRST_(__VA_ARGS__));                      \
        TBED_FORMAT_CHECK_(__VA_ARGS__);                                                                     \
        TBED_LOG_CHECK_(__VA_ARGS__);                                                                        \
        if (tbed_category_generation(category) != 0)                                                         \
            TBED_MESSAGE_(tbed_do_message, tbed_log_of(category, severity), &tbed_site_, __VA_ARGS__);       \
    } while (0)

/* Calls 'send' with two arguments of its own, the number of values, and the values, filled up to seven; for more than
 * seven, its companion send_list with an array. */
#define TBED_MESSAGE_(send, one, two, ...)                                                                   \
    TBED_CAT_(TBED_CAT_(TBED_MESSAGE_, TBED_COUNT_(__VA_ARGS__)), _)(send, one, two, __VA_ARGS__)
/* clang-format off */
#define TBED_NONE_1_ tbed_value_none()
#define TBED_NONE_2_ TBED_NONE_1_, tbed_value_none()
#define TBED_NONE_3_ TBED_NONE_2_, tbed_value_none()
#define TBED_NONE_4_ TBED_NONE_3_, tbed_value_none()
#define TBED_NONE_5_ TBED_NONE_4_, tbed_value_none()
#define TBED_NONE_6_ TBED_NONE_5_, tbed_value_none()
#define TBED_NONE_7_ TBED_NONE_6_, tbed_value_none()
#define TBED_MESSAGE_1_(send, one, two, format) send(one, two, 0, TBED_NONE_7_)
#define TBED_MESSAGE_2_(send, one, two, ...) send(one, two, 1, TBED_VALUES_2_(__VA_ARGS__), TBED_NONE_6_)
#define TBED_MESSAGE_3_(send, one, two, ...) send(one, two, 2, TBED_VALUES_3_(__VA_ARGS__), TBED_NONE_5_)
#define TBED_MESSAGE_4_(send, one, two, ...) send(one, two, 3, TBED_VALUES_4_(__VA_ARGS__), TBED_NONE_4_)
#define TBED_MESSAGE_5_(send, one, two, ...) send(one, two, 4, TBED_VALUES_5_(__VA_ARGS__), TBED_NONE_3_)
#define TBED_MESSAGE_6_(send, one, two, ...) send(one, two, 5, TBED_VALUES_6_(__VA_ARGS__), TBED_NONE_2_)
#define TBED_MESSAGE_7_(send, one, two, ...) send(one, two, 6, TBED_VALUES_7_(__VA_ARGS__), TBED_NONE_1_)
#define TBED_MESSAGE_8_(send, one, two, ...) send(one, two, 7, TBED_VALUES_8_(__VA_ARGS__))
#define TBED_MESSAGE_9_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_9_(__VA_ARGS__)), 8)
#define TBED_MESSAGE_10_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_10_(__VA_ARGS__)), 9)
#define TBED_MESSAGE_11_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_11_(__VA_ARGS__)), 10)
#define TBED_MESSAGE_12_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_12_(__VA_ARGS__)), 11)
#define TBED_MESSAGE_13_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_13_(__VA_ARGS__)), 12)
#define TBED_MESSAGE_14_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_14_(__VA_ARGS__)), 13)
#define TBED_MESSAGE_15_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_15_(__VA_ARGS__)), 14)
#define TBED_MESSAGE_16_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_16_(__VA_ARGS__)), 15)
#define TBED_MESSAGE_17_(send, one, two, ...) send##_list(one, two, TBED_VALUE_LIST_(TBED_VALUES_17_(__VA_ARGS__)), 16)
/* clang-format on */

/* ---- Scopes ---- */

#if defined __cplusplus && __cplusplus < 201103L
#define TBED_SPAN_GUARD_(number, begun) "this macro requires C++17"
#elif defined __cplusplus
struct tbed_span_guard {
    struct tbed_span span;
    TBED_UNTRACED explicit tbed_span_guard(struct tbed_span begun) noexcept : span(begun) {}
    tbed_span_guard(const tbed_span_guard &) = delete;
    tbed_span_guard &operator=(const tbed_span_guard &) = delete;
    TBED_UNTRACED ~tbed_span_guard()
    {
        tbed_span_close(&span);
    }
};
#define TBED_SPAN_GUARD_(number, begun) const struct tbed_span_guard TBED_CAT_(tbed_span_, number)(begun)
#else
#define TBED_SPAN_GUARD_(number, begun)                                                                      \
    const struct tbed_span TBED_CAT_(tbed_span_, number) __attribute__((cleanup(tbed_span_close), unused)) = \
        begun
#endif

#define TBED_SPAN_(category, name, number)                                                                   \
    static struct tbed_site TBED_CAT_(tbed_site_, number) = TBED_SITE_HERE_(name);                           \
    TBED_SPAN_GUARD_(number, tbed_span_open(category, &TBED_CAT_(tbed_site_, number)))

#define TBED_SPAN_DYNAMIC_(category, text, number)                                                           \
    TBED_SPAN_GUARD_(number, tbed_enter(category) ? tbed_span_open_dynamic(category, TBED_DYNAMIC_ID_(text)) \
                                                  : tbed_span_of(0))

#define TBED_SPAN_ARGS_(category, number, ...)                                                               \
    TBED_SPAN_ARGS_COUNTED_(category, number, TBED_COUNT_(__VA_ARGS__), __VA_ARGS__)
#define TBED_SPAN_ARGS_COUNTED_(category, number, count, ...)                                                \
    TBED_PAIRS_CHECK_(__VA_ARGS__);                                                                          \
    static struct tbed_site TBED_CAT_(tbed_sites_, number)[] = {                                             \
        TBED_CAT_(TBED_CAT_(TBED_SITES_, count), _)(__VA_ARGS__)};                                           \
    TBED_SPAN_GUARD_(number,                                                                                 \
                     tbed_category_generation(category) != 0                                                 \
                         ? tbed_span_open_args(category, TBED_CAT_(tbed_sites_, number),                     \
                                               TBED_CAT_(TBED_CAT_(TBED_NAMED_, count), _)(__VA_ARGS__))     \
                         : tbed_span_of(0))

/* ---- Categories ---- */

#define TBED_CATEGORY_(name, is_stored, category, add, remove)                                               \
    extern struct tbed_category category;                                                                    \
    struct tbed_category category = TBED_CATEGORY_INIT_(name, is_stored);                                    \
    TBED_UNTRACED __attribute__((constructor(101))) static void add(void)                                    \
    {                                                                                                        \
        tbed_category_add(&category);                                                                        \
    }                                                                                                        \
    TBED_UNTRACED __attribute__((destructor(101))) static void remove(void)                                  \
    {                                                                                                        \
        tbed_category_remove(&category);                                                                     \
    }                                                                                                        \
    extern struct tbed_category category

#endif
