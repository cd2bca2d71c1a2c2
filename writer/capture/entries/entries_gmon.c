/*
 * Programs compiled with -pg would measure themselves, too, and write gmon.out at their end. It would have no calls, since
 * these come to us, so it is left alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>

#include "writer/capture/entries/entries.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))

EXPORTED void __monstartup(uintptr_t low, uintptr_t high);
EXPORTED void _mcleanup(void);

void __monstartup(uintptr_t low, uintptr_t high)
{
    (void)low;
    (void)high;
}

void _mcleanup(void) {}
