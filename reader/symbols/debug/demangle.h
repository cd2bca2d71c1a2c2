/*
 * Names of functions as their sources have them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DEMANGLE_H
#define TRACEBED_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* The name as its source has it; 'name' itself if it is none of C++ or Rust. Valid until the next call. */
const char *tbed_demangle(const char *name);

/* How long the name is without what compilers append to parts and copies of a function: ".cold". */
size_t tbed_function_nbytes(const char *name, size_t nbytes);

#endif
