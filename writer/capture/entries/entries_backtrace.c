/*
 * Backtraces show the program's own frames: the trampoline, which is between a function and its caller, is left out.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <stdint.h>
#include <string.h>

#include "writer/capture/entries/entries.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))

/* The C standard has no conversion from an object pointer to a function pointer; POSIX guarantees this one. */
#define TO_FUNCTION(function, address) memcpy(&(function), &(address), sizeof(function))

#define FRAMES_MAX 4096 /* with trampolines */

static bool is_trampoline(uintptr_t pc)
{
    return pc == (uintptr_t)functions_return_trampoline;
}

EXPORTED int backtrace(void **frames, int count);

/* The first frame is ours. */
int backtrace(void **frames, int count)
{
    static void *kept;
    int (*real)(void **, int), taken = 0;
    void *address = functions_real(&kept, "backtrace", __builtin_return_address(0));
    TO_FUNCTION(real, address);
    int wanted = count < FRAMES_MAX / 2 ? 2 * count + 1 : FRAMES_MAX;
    if (count <= 0)
        return 0;
    void **all = alloca((size_t)wanted * sizeof *all);
    int found = real(all, wanted);
    for (int i = 1; i < found && taken < count; i++)
        if (!is_trampoline((uintptr_t)all[i]))
            frames[taken++] = all[i];
    return taken;
}

struct _Unwind_Context;
typedef int (*unwind_visit)(struct _Unwind_Context *context, void *argument);
EXPORTED int _Unwind_Backtrace(unwind_visit visit, void *argument);

struct walk {
    unwind_visit visit;
    void *argument;
    uintptr_t (*pc_of)(struct _Unwind_Context *);
    bool is_ours; /* the next frame */
};

static int visit_own(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    bool is_left_out = walk->is_ours || is_trampoline(walk->pc_of(context));
    walk->is_ours = false;
    return is_left_out ? 0 : walk->visit(context, walk->argument);
}

int _Unwind_Backtrace(unwind_visit visit, void *argument)
{
    static void *kept, *kept_pc;
    int (*real)(unwind_visit, void *);
    struct walk walk = {.visit = visit, .argument = argument, .is_ours = true};
    const void *caller = __builtin_return_address(0);
    void *address = functions_real(&kept, "_Unwind_Backtrace", caller);
    void *pc_address = functions_real(&kept_pc, "_Unwind_GetIP", caller);
    TO_FUNCTION(real, address);
    TO_FUNCTION(walk.pc_of, pc_address);
    return real(visit_own, &walk);
}
