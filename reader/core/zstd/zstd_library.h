/*
 * libzstd, loaded when it is needed: programs that neither read nor write Zstandard run without it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_ZSTD_LIBRARY_H
#define TRACEBED_CORE_ZSTD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#if __has_include(<zstd.h>)
#include <zstd.h>
#define HAS_ZSTD 1
#else
#define HAS_ZSTD 0
typedef struct ZSTD_CStream ZSTD_CStream;
#endif

#if HAS_ZSTD
#define ZSTD_CALLS(X)                                                                                        \
    X(createCStream)                                                                                         \
    X(freeCStream)                                                                                           \
    X(initCStream)                                                                                           \
    X(compressStream2)                                                                                       \
    X(compressBound)                                                                                         \
    X(compressCCtx)                                                                                          \
    X(createDCtx)                                                                                            \
    X(freeDCtx)                                                                                              \
    X(decompressDCtx)                                                                                        \
    X(findFrameCompressedSize)                                                                               \
    X(isError)

/* The functions of the library, by their names without "ZSTD_". */
struct zstd_library {
#define ZSTD_MEMBER(name) __typeof__(ZSTD_##name) *name;
    ZSTD_CALLS(ZSTD_MEMBER)
#undef ZSTD_MEMBER
};

/* False: it is not installed. The library stays loaded: it would cost more to load it again than to keep it. */
bool tbed_zstd_load(struct zstd_library *library);
#endif

#endif
