/*
 * C++'s operators new and delete, interposed so that their caller is recorded instead of the C++ library.
 *
 * Each passes its call on to the operator that would have been called. That one usually calls malloc() or free(),
 * which are ours: they find the operator's frame and record the operator's caller. The operators of some allocators do
 * not; then the operators here record. The first new shows which case applies. A program that defines its own
 * operators calls those, not these.
 *
 * They are C functions with the names that C++ compilers mangle, so that no C++ is loaded into programs in other
 * languages. Exceptions pass through them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "writer/capture/shared/preload.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))
#define FRAME    ((const uintptr_t *)__builtin_frame_address(0))

static bool operators_record; /* the real operators do not call malloc(); atomic */

/* ---- Who is called ---- */

/* Found with the first call; NULL is remembered if there is no C++ library at all. */
struct target {
    void *function; /* atomic */
    bool is_known;  /* atomic, set last */
};

static void *target_find(struct target *target, const char *name, uintptr_t pc)
{
    struct preload_thread *thread = &preload_thread;
    if (TBED_UNLIKELY(!__atomic_load_n(&target->is_known, __ATOMIC_ACQUIRE))) {
        uint8_t guard = thread->guard;
        int saved_errno = errno;
        preload_guard_set(thread, PRELOAD_APART);
        __atomic_store_n(&target->function, preload_real_find(name, pc), __ATOMIC_RELAXED);
        __atomic_store_n(&target->is_known, true, __ATOMIC_RELEASE);
        preload_guard_set(thread, guard);
        errno = saved_errno;
    }
    return __atomic_load_n(&target->function, __ATOMIC_RELAXED);
}

/* ---- Before and after ---- */

static inline bool records(void)
{
    return TBED_UNLIKELY(__atomic_load_n(&operators_record, __ATOMIC_RELAXED));
}

/* new[] calls new: the outermost caller is recorded. */
static inline void begin(const uintptr_t *frame)
{
    if (!records() && preload_thread.outer_frame < frame)
        preload_thread.outer_frame = frame;
}

static inline void *end_new(void *address, size_t nbytes, const uintptr_t *frame)
{
    if (TBED_UNLIKELY(preload_thread.outer_frame == frame)) { /* the real operator did not call malloc() */
        preload_thread.outer_frame = NULL;
        __atomic_store_n(&operators_record, true, __ATOMIC_RELAXED);
    }
    if (records())
        preload_record_alloc(TBED_FUNCTION_UNKNOWN, address, nbytes, frame);
    return address;
}

static inline void begin_delete(const void *address, const uintptr_t *frame)
{
    if (!records())
        begin(frame);
    else if (address != NULL)
        preload_record_free(address, frame);
}

static inline void end_delete(void)
{
    preload_thread.outer_frame = NULL; /* free(NULL) records nothing */
}

/* Without a C++ library an exception could not be caught. */
static void *allocate(size_t alignment, size_t nbytes, bool may_fail)
{
    void *address = NULL;
    size_t room = nbytes > 0 ? nbytes : 1;
    if (alignment <= sizeof(void *))
        address = malloc(room);
    else if (posix_memalign(&address, alignment, room) != 0)
        address = NULL;
    if (address == NULL && !may_fail)
        abort();
    return address;
}

/* ---- The operators: what is declared, what is passed on, and what stands in where there is nobody to call ---- */

#define OPERATOR_NEW(name, parameters, arguments, alignment, may_fail)                                       \
    EXPORTED void *name parameters;                                                                          \
    EXPORTED void *name parameters                                                                           \
    {                                                                                                        \
        static struct target target;                                                                         \
        void *(*function)parameters;                                                                         \
        void *found = target_find(&target, #name, FRAME[1]);                                                 \
        memcpy(&function, &found, sizeof found);                                                             \
        begin(FRAME);                                                                                        \
        return end_new(found != NULL ? function arguments : allocate(alignment, nbytes, may_fail), nbytes,   \
                       FRAME);                                                                               \
    }

#define OPERATOR_DELETE(name, parameters, arguments)                                                         \
    EXPORTED void name parameters;                                                                           \
    EXPORTED void name parameters                                                                            \
    {                                                                                                        \
        static struct target target;                                                                         \
        void(*function) parameters;                                                                          \
        void *found = target_find(&target, #name, FRAME[1]);                                                 \
        memcpy(&function, &found, sizeof found);                                                             \
        begin_delete(address, FRAME);                                                                        \
        if (found != NULL)                                                                                   \
            function arguments;                                                                              \
        else                                                                                                 \
            free(address);                                                                                   \
        end_delete();                                                                                        \
    }

/* std::nothrow_t const & is a pointer, std::align_val_t a size_t. */
typedef const void *nothrow;

OPERATOR_NEW(_Znwm, (size_t nbytes), (nbytes), 1, false)
OPERATOR_NEW(_Znam, (size_t nbytes), (nbytes), 1, false)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t nbytes, nothrow tag), (nbytes, tag), 1, true)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t nbytes, nothrow tag), (nbytes, tag), 1, true)
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t nbytes, size_t alignment), (nbytes, alignment), alignment, false)
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t nbytes, size_t alignment), (nbytes, alignment), alignment, false)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t nbytes, size_t alignment, nothrow tag),
             (nbytes, alignment, tag), alignment, true)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t nbytes, size_t alignment, nothrow tag),
             (nbytes, alignment, tag), alignment, true)

OPERATOR_DELETE(_ZdlPv, (void *address), (address))
OPERATOR_DELETE(_ZdaPv, (void *address), (address))
OPERATOR_DELETE(_ZdlPvm, (void *address, size_t nbytes), (address, nbytes))
OPERATOR_DELETE(_ZdaPvm, (void *address, size_t nbytes), (address, nbytes))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *address, nothrow tag), (address, tag))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *address, nothrow tag), (address, tag))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *address, size_t alignment), (address, alignment))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *address, size_t alignment), (address, alignment))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *address, size_t nbytes, size_t alignment),
                (address, nbytes, alignment))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *address, size_t nbytes, size_t alignment),
                (address, nbytes, alignment))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *address, size_t alignment, nothrow tag),
                (address, alignment, tag))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *address, size_t alignment, nothrow tag),
                (address, alignment, tag))
