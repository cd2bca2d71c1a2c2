/*
 * The events of a trace written on all cores; see chrome_batches.h.
 *
 * The caller's thread assembles the spans, numbers those that do not nest, and looks up names (names_ahead.h); so the output
 * does not depend on what the other threads do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/chrome/chrome_batches.h"

#include "reader/core/base/batches.h"
#include "reader/core/base/workers.h"
#include "reader/core/events/kept_events.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/names/names_ahead.h"

#include <errno.h>
#include <stdlib.h>

struct item {
    struct tbed_step step;
    struct tbed_assembled span;
    struct tbed_event event;
    const struct export_thread *thread;
    uint64_t beside_count;
};

struct chrome_batches {
    struct chrome_writer *main;
    struct chrome_output *output;
    struct tbed_batches *batches;
    struct tbed_names_ahead names;
    struct chrome_writer *writers; /* one for each thread, opened with its first batch */
    unsigned thread_count;
    bool is_live_ring; /* being written: what a step points to does not outlive the next one */
};

void tbed_chrome_output_put(struct chrome_output *output, const struct tbed_text *text)
{
    output->is_out_of_memory |= text->is_out_of_memory;
    if (output->packed != NULL) {
        tbed_text_put(&output->packed->text, text->bytes, text->nbytes);
        output->is_out_of_memory |=
            !tbed_export_out_spill(output->packed) && output->packed->write_errno == 0;
        output->write_errno = output->packed->write_errno;
    } else if (text->nbytes > 0 && output->write_errno == 0 &&
               fwrite(text->bytes, 1, text->nbytes, output->out) != text->nbytes)
        output->write_errno = errno != 0 ? errno : EIO;
}

/* Each thread opens its own. False: no memory. */
static bool open_writer(const struct chrome_batches *batches, struct chrome_writer *writer)
{
    if (writer->names.slots != NULL)
        return true;
    tbed_chrome_writer_close(writer);
    if (!tbed_chrome_writer_open(writer, &batches->main->options) || !tbed_chrome_names_open(&writer->names))
        return false;
    writer->reader = batches->main->reader;
    writer->shift_ns = batches->main->shift_ns;
    return true;
}

static void work(void *context, unsigned thread, struct tbed_batch *batch)
{
    struct chrome_batches *batches = context;
    struct chrome_writer *writer = &batches->writers[thread];
    const struct item *items = batch->items;
    if (!open_writer(batches, writer)) {
        batch->text.is_out_of_memory = true;
        return;
    }
    writer->text = batch->text;
    writer->needs_comma = true;
    for (size_t i = 0; i < batch->count; i++) {
        struct tbed_step step = items[i].step;
        step.span = step.span != NULL ? &items[i].span : NULL;
        step.event = step.event != NULL ? &items[i].event : NULL;
        writer->thread = items[i].thread;
        writer->beside_count = items[i].beside_count;
        tbed_chrome_take_step(writer, &step);
    }
    batch->text = writer->text;
    batch->text.is_out_of_memory |= tbed_chrome_is_out_of_memory(writer);
    writer->text = (struct tbed_text){0};
}

static void put(void *context, const struct tbed_batch *batch)
{
    struct chrome_batches *batches = context;
    struct tbed_text text = batch->text;
    if (text.nbytes >= 2 && !batches->output->needs_comma) { /* of the first event of all */
        text.bytes += 2;
        text.nbytes -= 2;
    }
    batches->output->needs_comma |= text.nbytes > 0;
    tbed_chrome_output_put(batches->output, &text);
}

struct chrome_batches *tbed_chrome_batches_open(struct chrome_writer *main, struct chrome_output *output)
{
    struct chrome_batches *batches = calloc(1, sizeof *batches);
    if (batches == NULL)
        return NULL;
    *batches = (struct chrome_batches){
        .main = main, .output = output, .is_live_ring = tbed_reader_is_reused(main->reader)};
    batches->thread_count =
        batches->is_live_ring ? 1 : tbed_worker_count(main->options.thread_count, SIZE_MAX);
    const struct tbed_batches_job job = {.item_nbytes = sizeof(struct item),
                                         .thread_count = batches->thread_count,
                                         .work = work,
                                         .put = put,
                                         .let_go = tbed_batch_let_go,
                                         .context = batches};
    batches->writers = calloc(batches->thread_count, sizeof *batches->writers);
    if (tbed_names_ahead_open(&batches->names, main->reader) && batches->writers != NULL)
        batches->batches = tbed_batches_open(&job);
    if (batches->batches != NULL)
        return batches;
    tbed_chrome_batches_close(batches);
    return NULL;
}

/* False: from here on, the order in which texts are made matters. */
static bool look_up(struct tbed_names_ahead *names, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    bool fine = step->event == NULL || tbed_names_ahead_take(names, step->event);
    return (span == NULL || tbed_names_ahead_take_begin(names, span->id, span->category, span->arguments,
                                                        span->argument_count)) &&
           fine;
}

void tbed_chrome_batches_add(struct chrome_batches *batches, const struct tbed_step *step,
                             const struct export_thread *thread)
{
    if (step->kind == TBED_STEP_BEGIN)
        return; /* it is written when it ends */
    if (!look_up(&batches->names, step))
        tbed_batches_work_alone(batches->batches);
    struct item *item = tbed_batches_push(batches->batches);
    item->step = *step;
    item->thread = thread;
    item->beside_count = batches->main->beside_count;
    if (step->span != NULL) {
        item->span = *step->span;
        tbed_batch_keep_span(batches->batches, &batches->main->reader->map, step->span);
    }
    if (step->event != NULL) {
        item->event = *step->event;
        tbed_batch_keep_event(batches->batches, &batches->main->reader->map, step->event);
    }
    batches->main->beside_count += tbed_chrome_is_beside(batches->main, step);
    if (batches->is_live_ring)
        tbed_batches_finish(batches->batches);
}

static void add_report(struct tbed_chrome_report *sum, const struct tbed_chrome_report *more)
{
    sum->event_count += more->event_count;
    sum->open_count += more->open_count;
    sum->inverted_count += more->inverted_count;
    sum->short_count += more->short_count;
    sum->unpaired_count += more->unpaired_count;
    sum->allocation_count += more->allocation_count;
    sum->unknown_count += more->unknown_count;
    sum->argument_count += more->argument_count;
    sum->clipped_count += more->clipped_count;
    sum->instant_count += more->instant_count;
    sum->counter_count += more->counter_count;
    sum->span_count += more->span_count;
    sum->beside_count += more->beside_count;
}

void tbed_chrome_batches_close(struct chrome_batches *batches)
{
    if (batches == NULL)
        return;
    if (batches->batches != NULL)
        tbed_batches_finish(batches->batches);
    tbed_batches_close(batches->batches);
    for (unsigned i = 0; batches->writers != NULL && i < batches->thread_count; i++) {
        add_report(&batches->main->report, &batches->writers[i].report);
        tbed_chrome_writer_close(&batches->writers[i]);
    }
    free(batches->writers);
    tbed_names_ahead_close(&batches->names);
    free(batches);
}
