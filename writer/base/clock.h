/*
 * The clock of a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_CLOCK_H
#define TRACEBED_WRITER_CLOCK_H

#include "format/file/header.h"
#include "tracebed/writer.h"

struct tbed_clock_state {
    uint32_t kind; /* enum tbed_clock, as in the header */
    uint64_t (*user)(void);
    bool is_given;          /* ticks are given by the caller; no clock is read */
    tbed_word latest_given; /* the latest tick that a stream began or ended with; atomic */
};

/* Ticks, and both clocks of the system, read as close together as possible. */
struct tbed_clock_reading {
    uint64_t ticks, realtime_ns, monotonic_ns;
};

/* Instead of AUTO the machine's counter, if the processor says that it is steady; see tbed_clock_settle(). */
enum tbed_clock tbed_clock_pick(enum tbed_clock wanted, enum tbed_clock_reason *reason_ret);
/* The machine's counter; MONOTONIC if it has none that is steady. */
enum tbed_clock tbed_clock_of_machine(void);
/* Whether the kernel's list of clocks, in the file 'path', has the time stamp counter. True: it cannot be read. */
bool tbed_clock_is_offered(const char *path);
/* Whether this list has it. */
bool tbed_clock_list_has_tsc(const char *names);
uint64_t tbed_monotonic_ns(void);
uint64_t tbed_clock_now(const struct tbed_clock_state *clock);
struct tbed_clock_reading tbed_clock_read(const struct tbed_clock_state *clock);
/* Starts the clock of a new file and fills in the anchor of its header. */
void tbed_clock_start(struct tbed_clock_state *clock, const struct tbed_writer_options *options,
                      struct tbed_header_fields *fields);
/*
 * If nobody chose the clock and the kernel does not offer the machine's counter as one, starts again with MONOTONIC. Asking
 * takes time: only for a file that is really new.
 */
void tbed_clock_settle(struct tbed_clock_state *clock, struct tbed_header_fields *fields);
/* Fills in the rate: measured from the anchor on, for which this waits until enough time has passed. */
void tbed_clock_rate(const struct tbed_clock_state *clock, struct tbed_header_fields *fields);
/* Takes over the clock of a file that is joined. False: its ticks mean something else in this process. */
bool tbed_clock_join(struct tbed_clock_state *clock, const struct tbed_header_fields *fields);
/* Raises the latest given tick to 'tick' if it is below. */
void tbed_clock_reach(struct tbed_clock_state *clock, uint64_t tick);

#endif
