/*
 * Leaves functions by every kind of jump, on the stack of the thread and on one of its own. Compiled with
 * -finstrument-functions. Prints how many functions were entered.
 *
 *   preload_jumps_helper jumps | stacks | deep
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone, visibility("default")))

_Noreturn void checked_jump(struct __jmp_buf_tag place[1], int value) __asm__("__longjmp_chk");
void leave_inner(int how);
void leave_outer(int how);
void leave_all(void);
void take_turns(void);
void go_deep(unsigned depth);

static jmp_buf place, inside;
static sigjmp_buf with_mask;
static volatile unsigned entered, sink;
static ucontext_t main_context, other_context;
static char other_stack[1 << 16];

NOINLINE void leave_inner(int how)
{
    entered++;
    switch (how) {
    case 0:
        longjmp(place, 1);
    case 1:
        _longjmp(place, 1);
    case 2:
        siglongjmp(with_mask, 1);
    default:
        checked_jump(place, 1);
    }
}

NOINLINE void leave_outer(int how)
{
    entered++;
    leave_inner(how);
    sink++;
}

NOINLINE void leave_all(void)
{
    entered++;
    for (volatile int how = 0; how < 4; how++)
        if (setjmp(place) == 0 && sigsetjmp(with_mask, 1) == 0)
            leave_outer(how);
}

/* On the other stack, which is below: comes back when it is jumped to. */
NOINLINE void take_turns(void)
{
    entered++;
    if (setjmp(inside) == 0)
        swapcontext(&other_context, &main_context);
    longjmp(place, 1);
}

NOINLINE void go_deep(unsigned depth)
{
    entered++;
    if (depth > 0)
        go_deep(depth - 1);
    sink++;
}

static void __attribute__((no_instrument_function)) use_stacks(void)
{
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = other_stack;
    other_context.uc_stack.ss_size = sizeof other_stack;
    makecontext(&other_context, take_turns, 0);
    swapcontext(&main_context, &other_context);
    if (setjmp(place) == 0)
        longjmp(inside, 1);
}

int __attribute__((no_instrument_function)) main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "jumps") == 0)
        leave_all();
    else if (strcmp(what, "stacks") == 0)
        use_stacks();
    else
        go_deep(20000);
    printf("%u\n", entered);
    return 0;
}
