/*
 * The ways out of calls that no exit hook sees: longjmp(), and the unwinding of exceptions and of threads that end.
 *
 * Both reveal the stack pointer to come. A jmp_buf contains it, scrambled by the C library with a number that does not
 * change: we learn the number from a jump buffer of our own, whose stack pointer we know. The unwinder knows it when
 * it is given the landing place (_Unwind_SetIP), for any language.
 *
 * If neither is available (another C library, a statically linked unwinder), the next exit of a function further out
 * ends the calls that were left.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "writer/capture/functions/functions.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))

/* ---- Jump buffers ---- */

#if defined(__x86_64__)
#define STACK_SLOT     6
#define READ_STACK(to) __asm__ volatile("mov %%rsp, %0" : "=r"(to))
static const unsigned rotations[] = {17, 0};
#elif defined(__aarch64__)
#define STACK_SLOT     13
#define READ_STACK(to) __asm__ volatile("mov %0, sp" : "=r"(to))
static const unsigned rotations[] = {0};
#endif

static uint64_t guard;
static unsigned rotation;
static bool is_known; /* the two above */

struct sample {
    uint64_t stored, stack;
};

static uint64_t rotate_right(uint64_t value, unsigned count)
{
    return count == 0 ? value : value >> count | value << (64 - count);
}

static uint64_t stored_stack(const void *buffer)
{
    uint64_t stored;
    memcpy(&stored, (const uint8_t *)buffer + STACK_SLOT * sizeof stored, sizeof stored);
    return stored;
}

static __attribute__((noinline)) struct sample sample_take(void)
{
    jmp_buf buffer;
    struct sample sample;
    if (_setjmp(buffer) != 0) /* control never returns here */
        abort();
    READ_STACK(sample.stack);
    sample.stored = stored_stack(buffer);
    return sample;
}

/* The same from elsewhere on the stack. */
static __attribute__((noinline)) struct sample sample_take_deeper(void)
{
    volatile uint8_t room[1000];
    room[0] = 0;
    struct sample sample = sample_take();
    room[1] = room[0];
    return sample;
}

__attribute__((constructor)) static void learn(void)
{
    struct sample a = sample_take(), b = sample_take_deeper();
    for (size_t i = 0; i < sizeof rotations / sizeof rotations[0] && !is_known && a.stack != b.stack; i++) {
        rotation = rotations[i];
        guard = rotate_right(a.stored, rotation) ^ a.stack;
        is_known = (rotate_right(b.stored, rotation) ^ guard) == b.stack;
    }
}

static void jump(const void *buffer)
{
    if (is_known)
        functions_left(rotate_right(stored_stack(buffer), rotation) ^ guard, FUNCTIONS_JUMPED);
}

/* ---- The real functions ---- */

/* The C standard has no conversion from an object pointer to a function pointer; POSIX guarantees this one. */
#define TO_FUNCTION(function, address) memcpy(&(function), &(address), sizeof(function))

/* What the caller's library needs may have been loaded for it alone; it is then looked up each time. */
static void *find_for(const char *name, const void *caller)
{
    Dl_info info;
    void *library = dladdr(caller, &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (library != NULL)
        dlclose(library);
    if (found == NULL)
        abort(); /* otherwise this function could not have been called */
    return found;
}

void *functions_real(void **kept, const char *name, const void *caller)
{
    void *found = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    if (found != NULL)
        return found;
    uint8_t old_guard = preload_thread.guard;
    preload_guard_set(&preload_thread, PRELOAD_APART);
    found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(kept, found, __ATOMIC_RELEASE);
    if (found == NULL)
        found = find_for(name, caller);
    preload_guard_set(&preload_thread, old_guard);
    return found;
}

#define JUMP(name)                                                                                           \
    EXPORTED _Noreturn void name(struct __jmp_buf_tag buffer[1], int value);                                 \
    void name(struct __jmp_buf_tag buffer[1], int value)                                                     \
    {                                                                                                        \
        static void *kept;                                                                                   \
        void (*real)(struct __jmp_buf_tag *, int);                                                           \
        void *address = functions_real(&kept, #name, __builtin_return_address(0));                           \
        TO_FUNCTION(real, address);                                                                          \
        jump(buffer);                                                                                        \
        real(buffer, value);                                                                                 \
        __builtin_unreachable();                                                                             \
    }

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* ---- Unwinding ---- */

struct _Unwind_Context;
EXPORTED void _Unwind_SetIP(struct _Unwind_Context *context, uintptr_t pc);

/* The stack pointer is that of the landing place: the calls made from there have been left. */
void _Unwind_SetIP(struct _Unwind_Context *context, uintptr_t pc)
{
    static void *kept_set, *kept_get;
    void (*real_set)(struct _Unwind_Context *, uintptr_t);
    uintptr_t (*real_get)(struct _Unwind_Context *);
    const void *caller = __builtin_return_address(0);
    void *set = functions_real(&kept_set, "_Unwind_SetIP", caller),
         *get = functions_real(&kept_get, "_Unwind_GetCFA", caller);
    TO_FUNCTION(real_set, set);
    TO_FUNCTION(real_get, get);
    real_set(context, pc);
    functions_left(real_get(context), FUNCTIONS_UNWOUND);
}
