/*
 * How many bytes an object has: its slot, and what it owns outside of it, as ObjectSpace.memsize_of reports it.
 *
 * Not here: when objects are measured (ruby_heap.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>

#include "ruby_tracebed.h"

size_t (*ruby_memsize)(VALUE object);

void ruby_sizes_open(void)
{
    *(void **)&ruby_memsize = dlsym(RTLD_DEFAULT, "rb_obj_memsize_of");
}
