/*
 * libzstd, loaded when it is needed; see zstd_library.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/zstd/zstd_library.h"

#include <dlfcn.h>

#define ZSTD_LIBRARY "libzstd.so.1"

#if HAS_ZSTD
bool tbed_zstd_load(struct zstd_library *library)
{
    void *handle = dlopen(ZSTD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool is_complete = true;
    if (handle == NULL)
        return false;
#define ZSTD_LOAD(name)                                                                                      \
    library->name = (__typeof__(ZSTD_##name) *)dlsym(handle, "ZSTD_" #name);                                 \
    is_complete &= library->name != NULL;
    ZSTD_CALLS(ZSTD_LOAD)
#undef ZSTD_LOAD
    return is_complete;
}
#endif
