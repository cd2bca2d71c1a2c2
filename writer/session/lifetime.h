/*
 * Constructors that run before all of the module's others, and destructors that run after all of its others.
 *
 * Programs may use priorities from 101 on. Compilers use some below 100 for sanitizers, which have to come first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_LIFETIME_H
#define TRACEBED_WRITER_LIFETIME_H

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 10
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif

#define TBED_FIRST_CONSTRUCTOR __attribute__((constructor(100)))
#define TBED_LAST_DESTRUCTOR   __attribute__((destructor(100)))

#endif
