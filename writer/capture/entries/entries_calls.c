/*
 * What the trampolines call when a function is entered and when it returns.
 *
 * The usual call is recorded without vector registers, which then need not be saved. All else saves them first.
 *
 * A function whose last call became a jump leaves the return address to the one it jumps to: when that returns, both
 * have ended. Functions that go on jumping to each other would stay open without end, so only the last ones do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/capture/entries/entries.h"

#define JUMPS_MAX 200 /* functions that are open at one return address */

static uintptr_t return_trampoline; /* 0: not prepared */

uint32_t functions_saved_nbytes = 512, functions_saved_mask;

/* ---- What the processor has to save ---- */

#if defined(__x86_64__)
#define ARCH_SHSTK_STATUS 0x5005
#define STATES_SAVED      0xE7u /* x87, SSE, AVX, AVX-512 */

static void cpuid(uint32_t leaf, uint32_t part, uint32_t ret[4])
{
    __asm__("cpuid" : "=a"(ret[0]), "=b"(ret[1]), "=c"(ret[2]), "=d"(ret[3]) : "a"(leaf), "c"(part));
}

static void find_saved(void)
{
    uint32_t facts[4], mask, unused;
    cpuid(1, 0, facts);
    if (!(facts[2] >> 27 & 1)) /* OSXSAVE */
        return;
    __asm__("xgetbv" : "=a"(mask), "=d"(unused) : "c"(0));
    functions_saved_mask = mask & STATES_SAVED;
    functions_saved_nbytes = 576;
    for (uint32_t part = 2; part < 8; part++) {
        if (!(functions_saved_mask >> part & 1))
            continue;
        cpuid(0xD, part, facts);
        if (facts[0] + facts[1] > functions_saved_nbytes)
            functions_saved_nbytes = facts[0] + facts[1];
    }
}

/* The processor would compare return addresses with those on a stack of its own. */
static bool has_shadow_stack(void)
{
    uint64_t features = 0;
    return syscall(SYS_arch_prctl, ARCH_SHSTK_STATUS, &features) == 0 && features != 0;
}
#else
static bool has_shadow_stack(void)
{
    return false;
}

static void find_saved(void) {}
#endif

bool functions_entries_prepare(uintptr_t trampoline)
{
    find_saved();
    bool is_prepared = !has_shadow_stack() && functions_shadow_prepare();
    __atomic_store_n(&return_trampoline, is_prepared ? trampoline : 0, __ATOMIC_RELEASE);
    return is_prepared;
}

/* ---- Entry ---- */

static inline enum functions_kind kind_of(const struct functions_entered *entered)
{
    return (enum functions_kind)(entered->what >> 16);
}

/*
 * The call was not patched: its code says what it is. It is six bytes long if it takes its address from memory, and may be
 * behind a mark for indirect jumps, or behind 'push %r10'. A call of mcount is somewhere in the beginning of its function.
 */
static void look_at_call(struct functions_entered *entered)
{
    static const uint8_t mark[] = {0xF3, 0x0F, 0x1E, 0xFA}, push[] = {0x41, 0x52};
    const uint8_t *behind = (const uint8_t *)entered->return_address;
    const uint8_t *call = behind - (behind[-5] == 0xE8 ? 5 : 6), *function = call;
    if (kind_of(entered) == FUNCTIONS_AT_ENTRY && memcmp(function - sizeof push, push, sizeof push) == 0) {
        function -= sizeof push;
        entered->what = (uint64_t)FUNCTIONS_BEHIND_PUSH << 16;
    }
    if (kind_of(entered) != FUNCTIONS_BEHIND_FRAME && memcmp(function - sizeof mark, mark, sizeof mark) == 0)
        function -= sizeof mark;
    entered->what |= (uint64_t)(behind - function);
}

static inline uintptr_t function_of(const struct functions_entered *entered)
{
    return entered->return_address - (entered->what & 0xFFFF);
}

static inline uintptr_t *place_of(struct functions_entered *entered)
{
    if (TBED_UNLIKELY(kind_of(entered) == FUNCTIONS_BEHIND_FRAME))
        return (uintptr_t *)entered->frame + 1;
    if (TBED_UNLIKELY(kind_of(entered) == FUNCTIONS_REALIGNED))
        return (uintptr_t *)entered->general[FUNCTIONS_R10] - 1;
    return entered->place + (kind_of(entered) == FUNCTIONS_BEHIND_PUSH);
}

static inline uintptr_t stack_of(const uintptr_t *place)
{
    return (uintptr_t)place | FUNCTIONS_EXACT;
}

static inline bool is_replaced(const uintptr_t *place)
{
    return *place == return_trampoline;
}

/* The cell is complete before the address is replaced: a signal handler may unwind in between. */
static inline void replace(struct functions_cell *cell, uintptr_t function, uintptr_t *place)
{
    cell->return_address = *place;
    cell->function = function;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *place = return_trampoline;
}

/* The registers that hold arguments; nothing has changed them since the function was called. */
struct vectors {
    uint8_t bytes[8][16];
};

static inline void read_vectors(struct vectors *to)
{
#if defined(__x86_64__)
    __asm__("movups %%xmm0, (%1)\n"
            "movups %%xmm1, 16(%1)\n"
            "movups %%xmm2, 32(%1)\n"
            "movups %%xmm3, 48(%1)\n"
            "movups %%xmm4, 64(%1)\n"
            "movups %%xmm5, 80(%1)\n"
            "movups %%xmm6, 96(%1)\n"
            "movups %%xmm7, 112(%1)\n"
            : "=m"(*to)
            : "r"(to));
#else
    *to = (struct vectors){{{0}}};
#endif
}

/* False: it needs more; nothing was done. */
static __attribute__((noinline)) bool enter_given(struct functions_entered *entered, uintptr_t function,
                                                  uintptr_t *place)
{
    struct vectors vectors;
    struct functions_values values = {.function = function,
                                      .stack = stack_of(place),
                                      .general = entered->general,
                                      .vectors = &vectors.bytes[0][0],
                                      .more = (const uint8_t *)(place + 1)};
    read_vectors(&vectors);
    return functions_try_enter_given(&values);
}

bool functions_entered_quickly(struct functions_entered *entered)
{
    if (TBED_UNLIKELY(kind_of(entered) == FUNCTIONS_BEFORE_ENTRY))
        entered->return_address += 2; /* behind the jump to the call */
    if (TBED_UNLIKELY(return_trampoline == 0))
        return true;
    /* If it was patched or has a stub, it was chosen. */
    bool is_known = (entered->what & 0xFFFF) != 0 || kind_of(entered) == FUNCTIONS_THROUGH_STUB;
    if (TBED_UNLIKELY(!is_known))
        look_at_call(entered);
    uintptr_t *place = place_of(entered), function = function_of(entered);
    struct functions_cell *cell = functions_cell_find((uintptr_t)place);
    if (TBED_UNLIKELY(cell == NULL || !is_known || is_replaced(place)))
        return false;
    bool is_done = TBED_UNLIKELY(functions_has_arguments) ? enter_given(entered, function, place)
                                                          : functions_try_enter(function, stack_of(place));
    if (TBED_UNLIKELY(!is_done))
        return false;
    replace(cell, function, place);
    return true;
}

static void record(struct functions_entered *entered, uintptr_t function, uintptr_t *place,
                   const uint8_t *saved)
{
    struct functions_values values = {
        .function = function,
        .stack = stack_of(place),
        .general = entered->general,
        .vectors = saved + FUNCTIONS_SAVED_VECTORS,
        .x87 = saved + FUNCTIONS_SAVED_X87,
        .more = (const uint8_t *)(place + 1),
    };
    functions_enter(&values);
}

/* There is no result yet. */
static void leave_for_jump(uintptr_t function, uintptr_t stack)
{
    struct functions_values values = {.function = function, .stack = stack};
    functions_exit(&values);
}

void functions_entered_slowly(struct functions_entered *entered, const uint8_t *saved)
{
    uintptr_t *place = place_of(entered), function = function_of(entered);
    struct functions_cell *cell = functions_cell_make((uintptr_t)place);
    if (cell == NULL) {
        preload_count_nested(&preload_thread);
        return;
    }
    if (!is_replaced(place)) {
        replace(cell, function, place);
    } else {
        if (functions_open_at(stack_of(place), JUMPS_MAX) != 0)
            leave_for_jump(functions_open_at(stack_of(place), 0), stack_of(place));
        cell->function = function;
    }
    record(entered, function, place, saved);
}

/* ---- Exit ---- */

static __attribute__((noinline)) bool exit_given(struct functions_returned *returned, uintptr_t function,
                                                 uintptr_t stack)
{
    struct vectors vectors;
    struct functions_values values = {
        .function = function, .stack = stack, .general = returned->general, .vectors = &vectors.bytes[0][0]};
    read_vectors(&vectors);
    return functions_try_exit_given(&values);
}

bool functions_returned_quickly(struct functions_returned *returned)
{
    uintptr_t stack = stack_of(&returned->place);
    const struct functions_cell *cell = functions_cell_find((uintptr_t)&returned->place);
    if (TBED_UNLIKELY(functions_open_at(stack, 1) != 0))
        return false;
    bool is_done = TBED_UNLIKELY(functions_has_arguments) ? exit_given(returned, cell->function, stack)
                                                          : functions_try_exit(cell->function, stack);
    if (TBED_UNLIKELY(!is_done))
        return false;
    returned->place = cell->return_address;
    return true;
}

void functions_returned_slowly(struct functions_returned *returned, const uint8_t *saved)
{
    uintptr_t stack = stack_of(&returned->place), function;
    const struct functions_cell *cell = functions_cell_find((uintptr_t)&returned->place);
    struct functions_values values = {
        .function = cell->function,
        .stack = stack,
        .general = returned->general,
        .vectors = saved + FUNCTIONS_SAVED_VECTORS,
        .x87 = saved + FUNCTIONS_SAVED_X87,
    };
    functions_exit(&values);
    while ((function = functions_open_at(stack, 0)) != 0) {
        values.function = function;
        functions_exit(&values);
    }
    returned->place = cell->return_address;
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
