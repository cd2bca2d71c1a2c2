/*
 * Asynchronous spans as spans of OTLP. Their ends may be in other threads, so they are paired in a walk of their own, in order
 * of time. Memory grows with those that are open at one time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/otlp/otlp.h"

#include <stdlib.h>

static uint64_t pid_of(const struct otlp *otlp, uint32_t stream)
{
    const struct export_thread *thread = tbed_export_threads_find(&otlp->walk.threads, stream);
    return thread != NULL ? thread->pid : 0;
}

static void put_pair(struct otlp *otlp, const struct otlp_async *begin, uint64_t end_tick,
                     const struct tbed_event *end)
{
    struct otlp_attributes attributes;
    int64_t begin_ns = tbed_export_time(&otlp->walk, begin->begin_tick);
    int64_t end_ns = tbed_export_time(&otlp->walk, end_tick);
    struct tbed_text *text = tbed_otlp_object(otlp, OTLP_SPANS);
    tbed_otlp_begin_span(otlp, text, begin->span_id, begin->id, begin_ns,
                         end_ns < begin_ns ? begin_ns : end_ns);
    tbed_otlp_begin_attributes(&attributes, otlp, text);
    tbed_otlp_put_name_attributes(&attributes, begin->id, TBED_ID_INVALID);
    if (end != NULL)
        tbed_otlp_put_arguments(&attributes, end->arguments, end->argument_count, 0);
    else
        tbed_otlp_put_true_attribute(&attributes, "never ended");
    tbed_otlp_end_attributes(&attributes);
    tbed_text_puts(text, "}");
    tbed_otlp_object_end(otlp, OTLP_SPANS);
}

static void describe(struct otlp *otlp, uint64_t pid)
{
    if (otlp->trace_id[1] == tbed_otlp_mix(otlp->trace_id[0], pid))
        return;
    tbed_otlp_put_lines(otlp);
    tbed_otlp_describe(otlp, pid, NULL);
}

static void take(struct otlp *otlp, const struct tbed_event *event)
{
    uint64_t pid = pid_of(otlp, event->stream);
    uint64_t key = tbed_otlp_mix(tbed_otlp_mix(tbed_otlp_mix(1, pid), event->id), event->of.async.key);
    struct otlp_async *known = TBED_HASHMAP_FIND(&otlp->async, key);
    describe(otlp, pid);
    if (event->type == TBED_EVENT_ASYNC_BEGIN) {
        struct otlp_async *slot = TBED_HASHMAP_INSERT(&otlp->async, key);
        otlp->is_out_of_memory |= slot == NULL;
        if (slot == NULL)
            return;
        slot->begin_tick = event->tick;
        slot->id = event->id;
        slot->stream = event->stream;
        slot->number = ++otlp->span_count;
        slot->span_id = tbed_otlp_mix(otlp->trace_id[1], slot->number);
        tbed_export_note(&otlp->walk, TBED_EXPORT_NOTE_ARGUMENTS, event->argument_count);
    } else if (known != NULL) {
        put_pair(otlp, known, event->tick, event);
        TBED_HASHMAP_REMOVE(&otlp->async, known);
    } else {
        tbed_export_note(&otlp->walk, TBED_EXPORT_NOTE_UNPAIRED, 1);
    }
}

static int compare_begins(const void *left, const void *right)
{
    const struct otlp_async *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* In the order of their begins, so that the output does not depend on the hash. */
static void put_open(struct otlp *otlp)
{
    struct tbed_trace_info info;
    size_t count = 0;
    struct otlp_async *open = calloc(otlp->async.map.count + 1, sizeof *open);
    otlp->is_out_of_memory |= open == NULL;
    if (open == NULL)
        return;
    for (struct otlp_async *slot = NULL; (slot = TBED_HASHMAP_NEXT(&otlp->async, slot)) != NULL;)
        open[count++] = *slot;
    qsort(open, count, sizeof *open, compare_begins);
    tbed_reader_info(otlp->walk.reader, &info);
    for (size_t i = 0; i < count && !otlp->is_out_of_memory && tbed_export_out_spill(otlp->out); i++) {
        describe(otlp, pid_of(otlp, open[i].stream));
        put_pair(otlp, &open[i], info.last_tick, NULL);
        tbed_export_note(&otlp->walk, TBED_EXPORT_NOTE_OPEN, 1);
    }
    free(open);
}

void tbed_otlp_put_async(void *context)
{
    struct otlp *otlp = context;
    struct tbed_assembler *assembler;
    struct tbed_step step;
    otlp->open_count = 0;
    otlp->walk.thread = NULL;
    if (!otlp->has_async) {
        tbed_otlp_put_lines(otlp);
        return;
    }
    if (tbed_assembler_open_filtered(otlp->walk.reader, NULL, 0, otlp->walk.filter, &assembler) != TBED_OK) {
        otlp->is_out_of_memory = otlp->walk.is_over = true;
        return;
    }
    enum tbed_status status = TBED_OK;
    while (!otlp->is_out_of_memory && tbed_export_out_spill(otlp->out) &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (step.kind == TBED_STEP_EVENT &&
            (step.event->type == TBED_EVENT_ASYNC_BEGIN || step.event->type == TBED_EVENT_ASYNC_END))
            take(otlp, step.event);
    tbed_assembler_close(assembler);
    otlp->is_out_of_memory |= status == TBED_ERR_MEMORY;
    put_open(otlp);
    tbed_otlp_put_lines(otlp);
}
