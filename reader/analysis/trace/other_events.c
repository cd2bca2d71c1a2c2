/*
 * Events other than spans in the statistics of a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/trace/trace_worker.h"

/* The value that a category counts: never below 0. */
static uint64_t whole_value(const struct tbed_argument *argument)
{
    switch (argument->type) {
    case TBED_ARG_I64:
        return argument->value.i64 > 0 ? (uint64_t)argument->value.i64 : 0;
    case TBED_ARG_F64:
        if (!(argument->value.f64 > 0))
            return 0;
        return argument->value.f64 < 0x1p64 ? (uint64_t)argument->value.f64 : UINT64_MAX;
    default:
        return argument->value.u64;
    }
}

static double number(const struct tbed_argument *argument)
{
    switch (argument->type) {
    case TBED_ARG_I64:
        return (double)argument->value.i64;
    case TBED_ARG_F64:
        return argument->value.f64;
    default:
        return (double)argument->value.u64;
    }
}

static struct stat_place place_of(const struct trace_worker *trace, const struct tbed_event *event,
                                  uint32_t stream, size_t word)
{
    return (struct stat_place){stream, (uint64_t)trace->index << 32 | word, event->tick};
}

static void count_gap(struct tbed_statistics_totals *totals, const struct tbed_event *event)
{
    uint32_t cause = event->of.gap.cause;
    totals->gap_count++;
    /* A drop with an undefined cause is still counted, in the last slot. */
    totals->gap_drops[cause < TBED_DROP_CAUSE_COUNT ? cause : TBED_DROP_CAUSE_COUNT - 1] +=
        event->of.gap.count;
}

uint32_t tbed_stat_arguments_number(struct trace_worker *trace, const struct tbed_arguments *arguments,
                                    uint32_t count)
{
    struct trace_source *source = (void *)trace->source; /* what the workers share has a lock */
    if (source->keys.by != TBED_BY_ARGUMENTS)
        return ARGUMENT_SET_NONE;
    uint32_t number =
        tbed_argument_sets_number(&source->arguments, &trace->argument_numbers, arguments, count);
    trace->worker->out_of_memory |= number == ARGUMENT_SET_FAULT;
    return number != ARGUMENT_SET_FAULT ? number : ARGUMENT_SET_NONE;
}

static uint64_t key_of(struct trace_worker *trace, const struct tbed_event *event, uint32_t stream)
{
    return row_key(&trace->source->keys,
                   (struct row_key_parts){.tick = event->tick,
                                          .stream = stream,
                                          .id = event->id,
                                          .category = event->category,
                                          .arguments = tbed_stat_arguments_number(trace, &event->arguments,
                                                                                  event->argument_count)});
}

static void count_counter(struct trace_worker *trace, const struct tbed_event *event, uint32_t stream,
                          size_t word)
{
    struct stat_value value = {whole_value(&event->counter_value), number(&event->counter_value)};
    tbed_stat_take_counter(trace->worker, event->category, event->id, key_of(trace, event, stream), &value,
                           place_of(trace, event, stream, word));
}

void tbed_stat_take_other(struct trace_worker *trace, const struct tbed_event *event, uint32_t stream,
                          size_t word)
{
    struct stat_worker *worker = trace->worker;
    struct tbed_statistics_totals *totals = &worker->totals;
    totals->event_count++;
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        tbed_stat_take_instant(worker, event->category, key_of(trace, event, stream));
        break;
    case TBED_EVENT_COUNTER:
        count_counter(trace, event, stream, word);
        break;
    case TBED_EVENT_MESSAGE:
        totals->message_count++;
        worker->out_of_memory |= !tbed_stat_messages_count(&worker->messages, event);
        break;
    case TBED_EVENT_GAP:
        count_gap(totals, event);
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
        totals->allocation_event_count++;
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
        totals->async_event_count++;
        worker->chunk_marks |= STAT_CHUNK_HAS_ASYNCS;
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        totals->flow_event_count++;
        break;
    default:
        totals->unknown_count++;
    }
}

void tbed_stat_recount_other(struct trace_worker *trace, const struct tbed_event *event, uint32_t stream,
                             size_t word)
{
    if (event->type == TBED_EVENT_INSTANT)
        tbed_stat_take_hit(trace->worker, event->category, key_of(trace, event, stream),
                           place_of(trace, event, stream, word));
}
