/*
 * Finds the real functions behind the interposed ones.
 *
 * The table starts with functions that look up all of them and then pass the call on, so that no check is needed
 * later. dlsym() may itself allocate: such calls come back here and are served from the arena.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/capture/shared/preload.h"

uint8_t preload_arena[PRELOAD_ARENA_NBYTES] __attribute__((aligned(16)));
static size_t arena_used; /* atomic */

enum { UNRESOLVED, RESOLVING, RESOLVED };
static uint32_t resolve_state; /* atomic */
static __thread bool is_resolving __attribute__((tls_model("initial-exec")));

static void *arena_alloc(size_t alignment, size_t nbytes)
{
    if (alignment < 16)
        alignment = 16;
    if (nbytes > PRELOAD_ARENA_NBYTES || alignment > PRELOAD_ARENA_NBYTES)
        return NULL;
    size_t used = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
    uintptr_t start, end;
    do {
        start = ((uintptr_t)preload_arena + used + alignment - 1) & ~(alignment - 1);
        end = start + ((nbytes + 15) & ~(size_t)15) - (uintptr_t)preload_arena;
        if (end > PRELOAD_ARENA_NBYTES)
            return NULL;
    } while (
        !__atomic_compare_exchange_n(&arena_used, &used, end, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (void *)start;
}

/* ---- Stand-ins for what an allocator does not have ---- */

static void *missing_reallocarray(void *old, size_t count, size_t nbytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, nbytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return preload_real.realloc(old, total);
}

static int missing_posix_memalign(void **address_ret, size_t alignment, size_t nbytes)
{
    (void)address_ret, (void)alignment, (void)nbytes;
    return ENOMEM;
}

static void *missing_aligned(size_t alignment, size_t nbytes)
{
    void *address;
    int error = preload_real.posix_memalign(&address, alignment, nbytes);
    if (error != 0)
        errno = error;
    return error == 0 ? address : NULL;
}

static void *missing_valloc(size_t nbytes)
{
    return preload_real.memalign((size_t)sysconf(_SC_PAGESIZE), nbytes);
}

static void *missing_pvalloc(size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return preload_real.memalign(page, (nbytes + page - 1) & ~(page - 1));
}

/* System calls, which need no lookup. */
static void *first_mmap(void *address, size_t nbytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, nbytes, protection, flags, fd, offset);
}

static int first_munmap(void *address, size_t nbytes)
{
    return (int)syscall(SYS_munmap, address, nbytes);
}

static void *first_mremap(void *old, size_t old_nbytes, size_t nbytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *wish = va_arg(rest, void *); /* our caller always passes one */
    va_end(rest);
    return (void *)syscall(SYS_mremap, old, old_nbytes, nbytes, flags, wish);
}

/* ---- Looking them up ---- */

/* The C standard has no conversion from an object pointer to a function pointer; POSIX guarantees this one. */
#define LOOK_UP(name, stand_in)                                                                              \
    do {                                                                                                     \
        void *found = dlsym(RTLD_NEXT, #name);                                                               \
        real.name = stand_in;                                                                                \
        if (found != NULL)                                                                                   \
            memcpy(&real.name, &found, sizeof found);                                                        \
    } while (0)

static struct preload_real look_up(void)
{
    struct preload_real real;
    LOOK_UP(malloc, NULL);
    LOOK_UP(calloc, NULL);
    LOOK_UP(realloc, NULL);
    LOOK_UP(free, NULL);
    LOOK_UP(reallocarray, missing_reallocarray);
    LOOK_UP(posix_memalign, missing_posix_memalign);
    LOOK_UP(aligned_alloc, missing_aligned);
    LOOK_UP(memalign, missing_aligned);
    LOOK_UP(valloc, missing_valloc);
    LOOK_UP(pvalloc, missing_pvalloc);
    LOOK_UP(mmap, first_mmap);
    LOOK_UP(munmap, first_munmap);
    LOOK_UP(mremap, first_mremap);
    return real;
}

/* True: the table is complete. False: this thread is in the middle of looking up. */
static bool resolve(void)
{
    uint32_t expected = UNRESOLVED;
    if (is_resolving)
        return false;
    if (__atomic_compare_exchange_n(&resolve_state, &expected, RESOLVING, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE)) {
        uint8_t guard = preload_thread.guard;
        is_resolving = true;
        preload_guard_set(&preload_thread, PRELOAD_APART);
        preload_real = look_up();
        preload_guard_set(&preload_thread, guard);
        is_resolving = false;
        __atomic_store_n(&resolve_state, RESOLVED, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&resolve_state, __ATOMIC_ACQUIRE) != RESOLVED)
        sched_yield();
    return true;
}

/* ---- One by one ---- */

/*
 * A library loaded with dlopen() and RTLD_LOCAL finds what it needs (the C++ runtime) in a scope of its own, where
 * RTLD_NEXT does not look. A library found there stays loaded. All later callers get their functions from there as well:
 * what one of them allocates another may free.
 */
void *preload_real_find(const char *name, uintptr_t pc)
{
    static void *kept_scope; /* atomic */
    void *scope = __atomic_load_n(&kept_scope, __ATOMIC_ACQUIRE);
    void *found = scope == NULL ? dlsym(RTLD_NEXT, name) : NULL;
    Dl_info caller, own, other;
    if (found == NULL && scope == NULL && dladdr((void *)pc, &caller) != 0 && caller.dli_fname != NULL)
        scope = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (scope != NULL)
        found = dlsym(scope, name);
    bool is_own = found != NULL && dladdr(&preload_real, &own) != 0 && dladdr(found, &other) != 0 &&
                  own.dli_fbase == other.dli_fbase;
    if (found == NULL || is_own)
        return NULL;
    __atomic_store_n(&kept_scope, scope, __ATOMIC_RELEASE);
    return found;
}

/* ---- The first entries of the table ---- */

static void *first_malloc(size_t nbytes)
{
    return resolve() ? preload_real.malloc(nbytes) : arena_alloc(16, nbytes);
}

static void *first_calloc(size_t count, size_t nbytes)
{
    size_t total;
    if (resolve())
        return preload_real.calloc(count, nbytes);
    return __builtin_mul_overflow(count, nbytes, &total) ? NULL : arena_alloc(16, total);
}

static void *first_realloc(void *old, size_t nbytes)
{
    if (resolve())
        return preload_real.realloc(old, nbytes);
    return old == NULL ? arena_alloc(16, nbytes) : NULL;
}

static void *first_reallocarray(void *old, size_t count, size_t nbytes)
{
    return resolve() ? preload_real.reallocarray(old, count, nbytes) : NULL;
}

static void first_free(void *address)
{
    if (resolve())
        preload_real.free(address);
}

static int first_posix_memalign(void **address_ret, size_t alignment, size_t nbytes)
{
    if (resolve())
        return preload_real.posix_memalign(address_ret, alignment, nbytes);
    void *address = arena_alloc(alignment, nbytes);
    if (address == NULL)
        return ENOMEM;
    *address_ret = address;
    return 0;
}

static void *first_aligned_alloc(size_t alignment, size_t nbytes)
{
    return resolve() ? preload_real.aligned_alloc(alignment, nbytes) : arena_alloc(alignment, nbytes);
}

static void *first_memalign(size_t alignment, size_t nbytes)
{
    return resolve() ? preload_real.memalign(alignment, nbytes) : arena_alloc(alignment, nbytes);
}

static void *first_valloc(size_t nbytes)
{
    return resolve() ? preload_real.valloc(nbytes) : NULL;
}

static void *first_pvalloc(size_t nbytes)
{
    return resolve() ? preload_real.pvalloc(nbytes) : NULL;
}

struct preload_real preload_real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .reallocarray = first_reallocarray,
    .free = first_free,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_aligned_alloc,
    .memalign = first_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .mmap = first_mmap,
    .munmap = first_munmap,
    .mremap = first_mremap,
};
