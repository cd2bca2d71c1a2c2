/*
 * tracebed/types.h: integers of a certain size and their order in files, without a header of the C library.
 *
 * <stdint.h> decides, for the whole source file, which functions the C library declares: a program that defines
 * _GNU_SOURCE behind it would not get them. So the headers of tracebed need nothing but the compiler's own, and work in
 * front of such a definition as well as behind it. These types are those of <stdint.h>, which may be included too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TYPES_H
#define TRACEBED_TYPES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Around the contents of each header with inline functions. C++ programs may forbid what inline functions in C need; they
 * are not to forbid it here.
 */
#ifndef __cplusplus
#define TBED_HEADER_BEGIN
#define TBED_HEADER_END
#else
#ifdef __clang__
#define TBED_HEADER_NO_USELESS_CAST
#else
#define TBED_HEADER_NO_USELESS_CAST _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"")
#endif
#define TBED_HEADER_BEGIN                                                                                    \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                    \
        _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"") TBED_HEADER_NO_USELESS_CAST
#define TBED_HEADER_END _Pragma("GCC diagnostic pop")
#endif

typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __SIZE_TYPE__ uintptr_t; /* Linux's <asm/types.h> redefines __UINTPTR_TYPE__ on ARM */

/* For words that threads share. On 32-bit machines the alignment of uint64_t may be only 4. */
typedef uint64_t tbed_word __attribute__((aligned(8)));

/*
 * Whoever records the calls of a program (cc -finstrument-functions, -pg, -fpatchable-function-entry, -fxray-instrument) wants
 * to see the program's functions, and not those of these headers.
 */
#ifdef __clang__
#define TBED_UNTRACED                                                                                        \
    __attribute__((no_instrument_function, xray_never_instrument, patchable_function_entry(0)))
#else
#define TBED_UNTRACED __attribute__((no_instrument_function, patchable_function_entry(0)))
#endif
#define TBED_INLINE        static inline TBED_UNTRACED
#define TBED_ALWAYS_INLINE static inline TBED_UNTRACED __attribute__((always_inline))

/* Between a word of a file, which is little-endian, and one of this machine, in both directions. */
TBED_INLINE uint64_t tbed_word_order(uint64_t word)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

TBED_INLINE uint32_t tbed_word32_order(uint32_t word)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap32(word);
}

#endif
