/*
 * The step of a clock: how far it moves at a time, as far as the times of events show it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CLOCK_STEP_H
#define TRACEBED_CLOCK_STEP_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_GAP_MAX 65536u /* longer gaps are not counted */

/* 'gaps' counts the distances between consecutive events, by ticks. Returns the step; 1: they do not show any. */
uint64_t tbed_step_of_gaps(const uint32_t gaps[CLOCK_GAP_MAX]);

#endif
