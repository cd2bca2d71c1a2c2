/*
 * When the threads of a trace were off their processors, from the streams of kind OFF_CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_OFF_CPU_H
#define TRACEBED_OFF_CPU_H

#include "reader/core/base/vector.h"

#include <tracebed/reader.h>

struct off_cpu_time {
    uint64_t begin, end;
    uint64_t before; /* ticks of the thread off its processor up to 'begin' */
};

struct off_cpu_thread {
    uint32_t stream;
    uint32_t own;        /* the stream of kind OFF_CPU */
    size_t first, count; /* in 'times' */
};

/* Zeroed: no thread was ever off. Takes 24 bytes for each time; any thread may look into it. */
struct off_cpu {
    TBED_VECTOR(struct off_cpu_time) times;
    TBED_VECTOR(struct off_cpu_thread) threads; /* by stream */
};

/* Errors: ERR_MEMORY. */
enum tbed_status tbed_off_cpu_load(struct tbed_reader *reader, struct off_cpu *off_cpu);
void tbed_off_cpu_free(struct off_cpu *off_cpu);

/* Whether this is a stream of kind OFF_CPU. */
bool tbed_off_cpu_has(const struct off_cpu *off_cpu, uint32_t own);

/* How many ticks the thread with this stream was off its processor up to 'tick'. */
uint64_t tbed_off_cpu_before(const struct off_cpu *off_cpu, uint32_t stream, uint64_t tick);

#endif
