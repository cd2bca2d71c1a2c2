/*
 * Stubs: code that leads a call to the trampoline and then to a function, whose address is in a table. There is a fixed
 * number of them, so that no code has to be made while the program runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/capture/libcalls/libcalls.h"

#if defined(__x86_64__)

#define STUB_NBYTES 32

extern const uint8_t functions_stubs[];
__attribute__((visibility("hidden"))) uintptr_t functions_stub_targets[FUNCTIONS_STUBS_MAX];

/* What a function with a call of the trampoline as its first instruction has on the stack: where to go on, and the kind. */
__asm__(".text\n"
        ".p2align 5\n"
        ".hidden functions_stubs\n"
        ".globl functions_stubs\n"
        ".type functions_stubs, @function\n"
        "functions_stubs:\n"
        "    .cfi_startproc\n"
        ".set stub, 0\n"
        ".rept 8192\n"
        "    .p2align 5\n"
        "    endbr64\n"
        "    pushq functions_stub_targets + 8 * stub(%rip)\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq $5 << 16\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    jmp functions_entry_trampoline\n"
        "    .cfi_adjust_cfa_offset -16\n"
        ".set stub, stub + 1\n"
        ".endr\n"
        "    .cfi_endproc\n"
        ".size functions_stubs, . - functions_stubs\n");
_Static_assert(FUNCTIONS_THROUGH_STUB == 5 && FUNCTIONS_STUBS_MAX == 8192, "as in the code above");

static uint32_t stub_count;

static uintptr_t stub_at(uint32_t number)
{
    return (uintptr_t)functions_stubs + (uintptr_t)number * STUB_NBYTES;
}

/* Modules share the stub of a function, so libraries that come and go take no more of them. */
uintptr_t functions_stub_for(uintptr_t function)
{
    uint32_t count = __atomic_load_n(&stub_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < FUNCTIONS_STUBS_MAX; i++)
        if (__atomic_load_n(&functions_stub_targets[i], __ATOMIC_RELAXED) == function)
            return stub_at(i);
    uint32_t number = __atomic_fetch_add(&stub_count, 1, __ATOMIC_RELAXED);
    if (number >= FUNCTIONS_STUBS_MAX) {
        __atomic_store_n(&stub_count, FUNCTIONS_STUBS_MAX, __ATOMIC_RELAXED);
        return 0;
    }
    __atomic_store_n(&functions_stub_targets[number], function, __ATOMIC_RELEASE);
    return stub_at(number);
}

#else

uintptr_t functions_stub_for(uintptr_t function)
{
    (void)function;
    return 0;
}

#endif
