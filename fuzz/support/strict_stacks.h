/*
 * Strict parsers of exports by stack. They accept what the exports may write and nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_STRICT_STACKS_H
#define TRACEBED_FUZZ_STRICT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A profile of pprof whose samples, locations and functions refer to what is there. '*sample_count_ret' counts samples. */
bool is_pprof(const uint8_t *bytes, size_t nbytes, uint64_t *sample_count_ret);

/* Callgrind's format: each line is known, each name is defined once and before it is used, and costs follow a function. */
bool is_callgrind(const char *text, size_t nbytes);

/* JSON for speedscope: the events of each profile nest, and their times never decrease. */
bool is_speedscope(const char *text, size_t nbytes);

/* Heaptrack's lines, which refer to earlier ones. */
bool is_heaptrack(const char *text, size_t nbytes);

#endif
