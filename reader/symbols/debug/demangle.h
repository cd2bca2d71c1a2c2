/*
 * Demangled names of functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DEMANGLE_H
#define TRACEBED_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* The demangled name; 'name' itself if it is not from C++ or Rust. Valid until the next call. */
const char *tbed_demangle(const char *name);

/* The same without the arguments: "ns::f", and with them but without the result: "ns::f(int)". */
const char *tbed_demangle_plain(const char *name);
const char *tbed_demangle_full(const char *name);

/*
 * The length of the name without suffixes that compilers append for parts and copies of a function, such as ".cold".
 */
size_t tbed_function_nbytes(const char *name, size_t nbytes);

#endif
