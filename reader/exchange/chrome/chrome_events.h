/*
 * Events as Chrome trace events: what one thread needs to turn them into text.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_EVENTS_H
#define TRACEBED_EXCHANGE_CHROME_EVENTS_H

#include "reader/exchange/chrome/chrome.h"

#include <tracebed/analysis.h>

struct chrome_writer {
    struct tbed_chrome_options options;
    struct tbed_chrome_report report;
    struct tbed_text text; /* what was written */
    bool needs_comma;
    char *buffer; /* EXPORT_TEXT_MAX bytes */
    struct tbed_text message;
    struct chrome_names names;

    struct tbed_reader *reader; /* of the current trace */
    int64_t shift_ns;           /* added to its times */

    const struct export_thread *thread; /* of the current event */
    uint64_t beside_count;              /* spans that do not nest so far: each needs a number */
};

/* False: no memory. Close it in any case. Steps can be taken once its 'names' are open. */
bool tbed_chrome_writer_open(struct chrome_writer *chrome, const struct tbed_chrome_options *options);
void tbed_chrome_writer_close(struct chrome_writer *chrome);
bool tbed_chrome_is_out_of_memory(const struct chrome_writer *chrome);

/* Writes what precedes an event's name. */
void tbed_chrome_open_event(struct chrome_writer *chrome);
/* Writes the complete text of an id in quotes. */
void tbed_chrome_put_id_text(struct chrome_writer *chrome, uint32_t id);

/* Writes the step, if there is something to write. A span is written when it ends, so a BEGIN never comes here. */
void tbed_chrome_take_step(struct chrome_writer *chrome, const struct tbed_step *step);

/* Writes how much memory of a process is live. */
void tbed_chrome_put_live(struct chrome_writer *chrome, uint64_t pid, uint64_t tick, uint64_t nbytes);

/* Does the step count in 'beside_count'? */
bool tbed_chrome_is_beside(const struct chrome_writer *chrome, const struct tbed_step *step);

#endif
