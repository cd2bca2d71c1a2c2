/*
 * tracebed/trace_checks_inline.h: how the macros of trace.h count their arguments, and what they say about wrong ones.
 * Included by trace.h; do not include it yourself.
 *
 * A wrong call is refused by a static assertion that says what is expected. The rest of the macro then expands to
 * something harmless, so that no other errors hide it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_CHECKS_INLINE_H
#define TRACEBED_TRACE_CHECKS_INLINE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

#define TBED_CAT_(a, b)               TBED_CAT_AGAIN_(a, b)
#define TBED_CAT_AGAIN_(a, b)         a##b
#define TBED_FIRST_(...)              TBED_FIRST_AGAIN_(__VA_ARGS__, 0)
#define TBED_FIRST_AGAIN_(first, ...) first

/* clang-format off */
/* 1 ... 17; from 18 to 64: MANY */
#define TBED_COUNT_(...) TBED_64TH_(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
/* Whether there are several: 0 or 1 */
#define TBED_SEVERAL_(...) TBED_64TH_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)
#define TBED_64TH_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, _41, _42, _43, _44, _45, _46, _47, _48, _49, _50, _51, _52, _53, _54, _55, _56, _57, _58, _59, _60, _61, _62, _63, _64, next, ...) next
/* clang-format on */

/* ---- Names ---- */

/* What the compiler says about the function; where it names types too, the library leaves them out. */
#ifdef __cplusplus
#define TBED_FUNCTION_ __PRETTY_FUNCTION__
#else
#define TBED_FUNCTION_ __func__
#endif

/* The first argument, the function if there is none. Where it meets parentheses, TBED_COMMA_ becomes a comma. */
#define TBED_NAME_(...)                                                                                      \
    TBED_CAT_(TBED_CAT_(TBED_NAME_, TBED_SEVERAL_(TBED_COMMA_ __VA_ARGS__)),                                 \
              TBED_SEVERAL_(TBED_COMMA_ __VA_ARGS__()))                                                      \
    (__VA_ARGS__)
#define TBED_COMMA_(...)  ,
#define TBED_NAME_00(...) TBED_FIRST_(__VA_ARGS__)
#define TBED_NAME_11(...) TBED_FIRST_(__VA_ARGS__)
#define TBED_NAME_01(...) TBED_FUNCTION_

#define TBED_ONE_CHECK_(...)                                                                                 \
    TBED_STATIC_ASSERT(!TBED_SEVERAL_(__VA_ARGS__),                                                          \
                       "TBED_SPAN takes one name; to record arguments too, use TBED_SPAN_ARGS")

/* ---- Names and values in turn ---- */

/*
 * The name of the event, then up to eight times the name of an argument and its value. The counts that are wrong: 1, even
 * ones, MANY.
 */
#define TBED_PAIRS_CHECK_(...) TBED_PAIRS_CHECK_AGAIN_(TBED_COUNT_(__VA_ARGS__))
#define TBED_PAIRS_CHECK_AGAIN_(count)                                                                       \
    TBED_STATIC_ASSERT(                                                                                      \
        TBED_CAT_(TBED_IS_, count) != 1,                                                                     \
        "only a name: give an argument's name and its value, or use the macro without _ARGS");               \
    TBED_STATIC_ASSERT(TBED_CAT_(TBED_IS_, count) != 2,                                                      \
                       "an odd one: each argument needs a name and a value, as in "                          \
                       "TBED_SPAN_ARGS(\"load\", \"bytes\", n)");                                            \
    TBED_STATIC_ASSERT(TBED_CAT_(TBED_IS_, count) != 3, "too many: an event has at most 8 arguments")
#define TBED_IS_1    1
#define TBED_IS_2    2
#define TBED_IS_3    0
#define TBED_IS_4    2
#define TBED_IS_5    0
#define TBED_IS_6    2
#define TBED_IS_7    0
#define TBED_IS_8    2
#define TBED_IS_9    0
#define TBED_IS_10   2
#define TBED_IS_11   0
#define TBED_IS_12   2
#define TBED_IS_13   0
#define TBED_IS_14   2
#define TBED_IS_15   0
#define TBED_IS_16   2
#define TBED_IS_17   0
#define TBED_IS_MANY 3

/* What takes their place. */
#define TBED_SITES_BAD_(...) TBED_SITE_INIT_("")
#define TBED_NAMED_BAD_(...) TBED_VALUE_(0)
#define TBED_PAIRS_BAD_      1
#define TBED_SITES_1_        TBED_SITES_BAD_
#define TBED_SITES_2_        TBED_SITES_BAD_
#define TBED_SITES_4_        TBED_SITES_BAD_
#define TBED_SITES_6_        TBED_SITES_BAD_
#define TBED_SITES_8_        TBED_SITES_BAD_
#define TBED_SITES_10_       TBED_SITES_BAD_
#define TBED_SITES_12_       TBED_SITES_BAD_
#define TBED_SITES_14_       TBED_SITES_BAD_
#define TBED_SITES_16_       TBED_SITES_BAD_
#define TBED_SITES_MANY_     TBED_SITES_BAD_
#define TBED_NAMED_1_        TBED_NAMED_BAD_
#define TBED_NAMED_2_        TBED_NAMED_BAD_
#define TBED_NAMED_4_        TBED_NAMED_BAD_
#define TBED_NAMED_6_        TBED_NAMED_BAD_
#define TBED_NAMED_8_        TBED_NAMED_BAD_
#define TBED_NAMED_10_       TBED_NAMED_BAD_
#define TBED_NAMED_12_       TBED_NAMED_BAD_
#define TBED_NAMED_14_       TBED_NAMED_BAD_
#define TBED_NAMED_16_       TBED_NAMED_BAD_
#define TBED_NAMED_MANY_     TBED_NAMED_BAD_
#define TBED_PAIRS_1_        TBED_PAIRS_BAD_
#define TBED_PAIRS_2_        TBED_PAIRS_BAD_
#define TBED_PAIRS_4_        TBED_PAIRS_BAD_
#define TBED_PAIRS_6_        TBED_PAIRS_BAD_
#define TBED_PAIRS_8_        TBED_PAIRS_BAD_
#define TBED_PAIRS_10_       TBED_PAIRS_BAD_
#define TBED_PAIRS_12_       TBED_PAIRS_BAD_
#define TBED_PAIRS_14_       TBED_PAIRS_BAD_
#define TBED_PAIRS_16_       TBED_PAIRS_BAD_
#define TBED_PAIRS_MANY_     TBED_PAIRS_BAD_

/* ---- Messages ---- */

#define TBED_LOG_CHECK_(...) TBED_LOG_CHECK_AGAIN_(TBED_COUNT_(__VA_ARGS__))
#define TBED_LOG_CHECK_AGAIN_(count)                                                                         \
    TBED_STATIC_ASSERT(TBED_CAT_(TBED_IS_, count) != 3, "too many: a message has at most 16 values")
#define TBED_MESSAGE_MANY_(send, one, two, ...) ((void)(two))

#endif
