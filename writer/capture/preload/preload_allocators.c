/*
 * Functions that only some allocators have: jemalloc's mallocx(), tcmalloc's tc_malloc(), mimalloc's mi_malloc() and their
 * kind.
 *
 * They are not interposed: a program that asks whether it runs with such an allocator, by a weak symbol, would find ours.
 * Instead, where a module takes such a function from another, its slots and pointers lead to a function here, which calls
 * the real one and records. What the allocator calls meanwhile is a part of the same allocation and not recorded, except
 * in functions that may leave by an exception; these call nobody.
 *
 * Not here: allocators linked statically, what constructors of libraries allocate before ours runs, and those of libraries
 * that are loaded later.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/capture/loading/preload_loading.h"
#include "writer/capture/shared/preload.h"
#include "writer/capture/shared/preload_slots.h"

#define FRAME ((const uintptr_t *)__builtin_frame_address(0))
#define HOOK  static __attribute__((noinline))

/* ---- Before and after ---- */

static inline uint8_t begin(void)
{
    uint8_t guard = preload_thread.guard;
    preload_guard_set(&preload_thread, PRELOAD_APART);
    return guard;
}

static inline void end(uint8_t guard)
{
    preload_guard_set(&preload_thread, guard);
}

static inline size_t product(size_t count, size_t nbytes)
{
    size_t total;
    return __builtin_mul_overflow(count, nbytes, &total) ? SIZE_MAX : total;
}

static inline size_t text_nbytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

/* ---- What each kind of function does ---- */

#define ALLOCATES(name, function, parameters, arguments, size)                                               \
    static void *(*real_##name)parameters;                                                                   \
    HOOK void *hook_##name parameters                                                                        \
    {                                                                                                        \
        uint8_t guard = begin();                                                                             \
        void *address = real_##name arguments;                                                               \
        end(guard);                                                                                          \
        preload_record_alloc(TBED_FUNCTION_##function, address, size, FRAME);                                \
        return address;                                                                                      \
    }

/* No guard is set around the call: an exception would leave it set. */
#define THROWS(name, function, parameters, arguments, size)                                                  \
    static void *(*real_##name)parameters;                                                                   \
    HOOK void *hook_##name parameters                                                                        \
    {                                                                                                        \
        void *address = real_##name arguments;                                                               \
        preload_record_alloc(TBED_FUNCTION_##function, address, size, FRAME);                                \
        return address;                                                                                      \
    }

#define STORES(name, parameters, arguments)                                                                  \
    static int(*real_##name) parameters;                                                                     \
    HOOK int hook_##name parameters                                                                          \
    {                                                                                                        \
        uint8_t guard = begin();                                                                             \
        int error = real_##name arguments;                                                                   \
        end(guard);                                                                                          \
        preload_record_alloc(TBED_FUNCTION_ALIGNED, error == 0 ? *address_ret : NULL, nbytes, FRAME);        \
        return error;                                                                                        \
    }

#define REALLOCATES(name, parameters, arguments, size)                                                       \
    static void *(*real_##name)parameters;                                                                   \
    HOOK void *hook_##name parameters                                                                        \
    {                                                                                                        \
        uintptr_t old_address = (uintptr_t)old;                                                              \
        uint64_t begin_tick = preload_realloc_begin();                                                       \
        uint8_t guard = begin();                                                                             \
        void *address = real_##name arguments;                                                               \
        end(guard);                                                                                          \
        preload_record_realloc(old_address, address, size, begin_tick, FRAME);                               \
        return address;                                                                                      \
    }

#define REALLOCATES_OR_THROWS(name, parameters, arguments, size)                                             \
    static void *(*real_##name)parameters;                                                                   \
    HOOK void *hook_##name parameters                                                                        \
    {                                                                                                        \
        uintptr_t old_address = (uintptr_t)old;                                                              \
        uint64_t begin_tick = preload_realloc_begin();                                                       \
        void *address = real_##name arguments;                                                               \
        preload_record_realloc(old_address, address, size, begin_tick, FRAME);                               \
        return address;                                                                                      \
    }

#define FREES(name, parameters, arguments)                                                                   \
    static void(*real_##name) parameters;                                                                    \
    HOOK void hook_##name parameters                                                                         \
    {                                                                                                        \
        if (address != NULL)                                                                                 \
            preload_record_free(address, FRAME);                                                             \
        uint8_t guard = begin();                                                                             \
        real_##name arguments;                                                                               \
        end(guard);                                                                                          \
    }

typedef const void *nothrow; /* std::nothrow_t const & */
typedef void *heap_pointer;  /* mi_heap_t * */

/* ---- The functions, each with its kind ---- */

#include "writer/capture/preload/preload_allocators.h"

/* Resizes in place; returns the size that the block then has. */
static size_t (*real_xallocx)(void *address, size_t nbytes, size_t extra, int flags);
HOOK size_t hook_xallocx(void *address, size_t nbytes, size_t extra, int flags)
{
    uint64_t begin_tick = preload_realloc_begin();
    uint8_t guard = begin();
    size_t result = real_xallocx(address, nbytes, extra, flags);
    end(guard);
    preload_record_realloc((uintptr_t)address, result >= nbytes ? address : NULL, nbytes, begin_tick, FRAME);
    return result;
}

#undef ALLOCATES
#undef THROWS
#undef STORES
#undef REALLOCATES
#undef REALLOCATES_OR_THROWS
#undef FREES

/* ---- Putting them into slots ---- */

struct replacement {
    const char *name;
    uintptr_t hook;
    void *real; /* where the hook finds the real function */
};

#define REPLACEMENT(name)                {#name, (uintptr_t)hook_##name, &real_##name},
#define ALLOCATES(name, ...)             REPLACEMENT(name)
#define THROWS(name, ...)                REPLACEMENT(name)
#define STORES(name, ...)                REPLACEMENT(name)
#define REALLOCATES(name, ...)           REPLACEMENT(name)
#define REALLOCATES_OR_THROWS(name, ...) REPLACEMENT(name)
#define FREES(name, ...)                 REPLACEMENT(name)

static const struct replacement replacements[] = {
#include "writer/capture/preload/preload_allocators.h"
    REPLACEMENT(xallocx)};

static const struct replacement *replacement_find(const char *name)
{
    if (strncmp(name, "tc_", 3) != 0 && strncmp(name, "mi_", 3) != 0 && strstr(name, "llocx") == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        if (strcmp(replacements[i].name, name) == 0)
            return &replacements[i];
    return NULL;
}

/* A second allocator's function of the same name is left alone. */
static bool is_real(const struct replacement *replacement, uintptr_t function)
{
    uintptr_t known;
    memcpy(&known, replacement->real, sizeof known);
    if (known == 0)
        memcpy(replacement->real, &function, sizeof function);
    return known == 0 || known == function;
}

static void take_slot(void *context, const struct preload_slot *slot)
{
    struct preload_slot_page *page = context;
    const struct replacement *replacement = replacement_find(slot->name);
    if (replacement == NULL || __atomic_load_n(slot->at, __ATOMIC_RELAXED) == replacement->hook)
        return;
    uintptr_t function = preload_slot_function(slot, page->info);
    if (function != 0 && is_real(replacement, function) && preload_slot_page_open(page, (uintptr_t)slot->at))
        __atomic_store_n(slot->at, replacement->hook, __ATOMIC_RELEASE);
}

static int patch_module(struct dl_phdr_info *info, size_t nbytes, void *unused)
{
    struct preload_slot_page page = {.info = info};
    (void)nbytes;
    (void)unused;
    preload_pointers_each(info, take_slot, &page);
    preload_slot_page_close(&page);
    return 0;
}

static bool has_allocator(void)
{
    return dlsym(RTLD_DEFAULT, "mallocx") != NULL || dlsym(RTLD_DEFAULT, "tc_malloc") != NULL ||
           dlsym(RTLD_DEFAULT, "mi_malloc") != NULL;
}

/* ---- Libraries that are loaded later ---- */

/*
 * Nothing can be looked up while the loader's list is read, so it is read twice. Modules of which another thread is at
 * work have slots that lead nowhere yet.
 */
struct loaded {
    size_t at, first;
    struct preload_slot_page page;
    uintptr_t functions[sizeof replacements / sizeof *replacements]; /* 0: not called; 1: called */
};

static void note_slot(void *context, const struct preload_slot *slot)
{
    struct loaded *loaded = context;
    const struct replacement *replacement = replacement_find(slot->name);
    if (replacement != NULL)
        loaded->functions[replacement - replacements] = 1;
}

/* One that is not bound yet must find this function, too. */
static void take_loaded_slot(void *context, const struct preload_slot *slot)
{
    struct loaded *loaded = context;
    const struct replacement *replacement = replacement_find(slot->name);
    uintptr_t function = replacement != NULL ? loaded->functions[replacement - replacements] : 0;
    uintptr_t value = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    if (function != 0 && (value == function || preload_is_code_of(loaded->page.info, value)) &&
        preload_slot_page_open(&loaded->page, (uintptr_t)slot->at))
        __atomic_store_n(slot->at, replacement->hook, __ATOMIC_RELEASE);
}

static int note_module(struct dl_phdr_info *info, size_t nbytes, void *context)
{
    struct loaded *loaded = context;
    (void)nbytes;
    if (loaded->at++ >= loaded->first)
        preload_pointers_each(info, note_slot, loaded);
    return 0;
}

static int patch_loaded(struct dl_phdr_info *info, size_t nbytes, void *context)
{
    struct loaded *loaded = context;
    (void)nbytes;
    if (loaded->at++ < loaded->first)
        return 0;
    loaded->page = (struct preload_slot_page){.info = info};
    preload_pointers_each(info, take_loaded_slot, loaded);
    preload_slot_page_close(&loaded->page);
    return 0;
}

/* The function that the library calls by this name; 0: unknown. */
static uintptr_t function_of(void *library, const struct replacement *replacement)
{
    void *function = dlsym(library, replacement->name), *first = dlsym(RTLD_DEFAULT, replacement->name);
    bool is_clear = function != NULL && (first == NULL || first == function);
    return is_clear && is_real(replacement, (uintptr_t)function) ? (uintptr_t)function : 0;
}

/* Returns whether there is any. */
static bool find_functions(void *library, struct loaded *loaded)
{
    bool has_any = false;
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        if (loaded->functions[i] != 0) {
            loaded->functions[i] = function_of(library, &replacements[i]);
            has_any |= loaded->functions[i] != 0;
        }
    dlerror(); /* the program's dlopen() has succeeded */
    return has_any;
}

static void patch_library(void *library, size_t first)
{
    struct loaded loaded = {.first = first};
    uint8_t guard = preload_lookup_begin(&preload_thread);
    dl_iterate_phdr(note_module, &loaded);
    loaded.at = 0;
    if (find_functions(library, &loaded))
        dl_iterate_phdr(patch_loaded, &loaded);
    preload_lookup_end(&preload_thread, guard);
}

/* ---- The beginning ---- */

static void patch(void)
{
    struct preload_thread *thread = &preload_thread;
    uint8_t guard = thread->guard;
    int saved_errno = errno;
    if (environ == NULL || getenv(PRELOAD_ENV_FILE) == NULL)
        return;
    preload_guard_set(thread, PRELOAD_APART);
    if (has_allocator())
        dl_iterate_phdr(patch_module, NULL);
    preload_loaded = patch_library;
    preload_guard_set(thread, guard);
    errno = saved_errno;
}

__attribute__((constructor)) static void start(void)
{
    uint8_t guard = preload_lookup_begin(&preload_thread);
    patch();
    preload_lookup_end(&preload_thread, guard);
}
