/*
 * Random traces; see random_trace.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/random_trace.h"

#include "format/argument.h"

/* A COUNTER of each type of number in turn. */
static void odd_counter(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id, uint64_t *random)
{
    uint32_t type = TBED_ARG_U64 + fixture_random(random) % 3;
    double number = (double)(fixture_random(random) % 1000) - 500;
    uint64_t words[3] = {
        tbed_extended_head_make(
            (struct tbed_extended_head){.type = TBED_EXT_COUNTER, .argument_count = 1, .nwords = 3}),
        tbed_argument_head_make((struct tbed_argument_head){.type = type, .nbytes = 8, .name_id = 1}),
        (uint64_t)(int64_t)number,
    };
    if (type == TBED_ARG_F64)
        memcpy(&words[2], &number, sizeof number);
    fixture_event(f, stream, tick, TBED_TAG_EXTENDED, id, words, 3);
}

/* A begin or an end with more than one word, among those that have one. */
static void odd_begin_or_end(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id, uint64_t *random)
{
    struct fixture_stream *s = &f->streams[stream];
    if (s->depth > 0 && fixture_random(random) % 2 == 0) {
        fixture_end(f, stream, tick, true);
    } else if (s->depth > 0) {
        fixture_extended(f, stream, tick, id, TBED_EXT_BEGIN, 0, NULL, 0);
        s->stack[s->depth++] = (struct fixture_span){tick, id};
        s->begun++;
    }
}

/* A LEAVE of a span that others are inside of. */
static void leave_outer(struct fixture *f, uint32_t stream, uint64_t tick, uint64_t *random)
{
    struct fixture_stream *s = &f->streams[stream];
    uint32_t inside = s->depth > 1 ? 1 + fixture_random(random) % (s->depth - 1) : 0;
    uint32_t at = s->depth - 1 - inside;
    if (inside == 0)
        return;
    if (s->page == 0 || s->used + 8 * 5 > f->page_nbytes)
        fixture_begin_block(f, stream, tick);
    struct fixture_span span = s->stack[at];
    uint64_t ends[2] = {span.tick, fixture_random(random) % 4 ? tick : tick + 50};
    fixture_extended(f, stream, tick, span.id, TBED_EXT_LEAVE, inside, ends, 2);
    memmove(&s->stack[at], &s->stack[at + 1], inside * sizeof s->stack[0]);
    s->depth--;
    s->inherited -= at < s->inherited;
    if (inside < s->begun)
        s->begun--;
    else if (inside - s->begun < s->stored)
        s->stored--;
}

static void odd_event(struct fixture *f, uint32_t stream, uint64_t tick, unsigned odd, uint32_t id,
                      uint64_t *random)
{
    uint64_t begin = tick - fixture_random(random) % 200;
    switch (odd) {
    case ODD_WHOLE:
        fixture_extended(f, stream, tick, id, TBED_EXT_SPAN, 0, &begin, 1);
        break;
    case ODD_UNKNOWN:
        if (f->streams[stream].depth == 0)
            fixture_event(f, stream, tick, TBED_TAG_END, id, NULL, 0);
        break;
    case ODD_LEAVE:
        if (f->streams[stream].depth > 0 && f->streams[stream].begun > 0) {
            uint64_t ends[2] = {0, fixture_random(random) % 2 ? tick + 50 : 0};
            f->streams[stream].depth--;
            f->streams[stream].begun--;
            fixture_extended(f, stream, tick, id, TBED_EXT_LEAVE, 0, ends, 2);
        }
        break;
    case ODD_OUTER:
        leave_outer(f, stream, tick, random);
        break;
    case ODD_CATEGORY:
        fixture_instant(f, stream, tick, id);
        break;
    case ODD_COUNTER:
        odd_counter(f, stream, tick, id, random);
        break;
    case ODD_EXTENDED:
        odd_begin_or_end(f, stream, tick, id, random);
        break;
    default:
        break;
    }
}

/* Of 100 events. Where a stream may get deeper than a block stores, its depth rises and falls in long waves. */
static uint32_t begin_share(uint32_t depth_max, uint32_t event)
{
    if (depth_max <= 64)
        return 48;
    return event / 400 % 2 == 0 ? 75 : 25;
}

/* 'odd' happens now and then, late enough for the fast loop to have begun. */
static void random_stream(struct fixture *f, uint32_t stream, unsigned odd, uint32_t depth_max,
                          uint32_t block_events, uint64_t *random)
{
    uint64_t tick = 1000;
    for (uint32_t i = 0; i < 4000; i++) {
        uint32_t dice = fixture_random(random) % 100, id = 1 + fixture_random(random) % IDS;
        struct fixture_stream *s = &f->streams[stream];
        tick += fixture_random(random) % 7;
        if (block_events != 0 && fixture_random(random) % block_events == 0)
            fixture_begin_block(f, stream, tick);
        if (odd == ODD_BACK && i > 1500 && dice == 0 && s->page != 0 && tick > s->base + 20)
            tick -= 20;
        if (i > 1500 && dice == 1)
            odd_event(f, stream, tick, odd, id, random);
        else if (s->depth < depth_max && (dice < begin_share(depth_max, i) || s->depth == 0))
            fixture_begin(f, stream, tick, id);
        else if (dice < 95 && s->depth > 0)
            fixture_end(f, stream, tick, false);
        else
            fixture_instant(f, stream, tick, id);
    }
}

/* Some blocks in the middle are lost. */
static void lose_blocks(struct fixture *f, uint64_t *random)
{
    for (size_t page = 2; page + 1 < f->page_count; page++)
        if (fixture_random(random) % 6 == 0)
            memset(fixture_page(f, page), 0, f->page_nbytes);
}

/* Spans that a parent has begun; a fork gives them the tick 1. */
static void inherit(struct fixture_stream *stream, uint64_t *random)
{
    stream->depth = stream->inherited = fixture_random(random) % 40;
    for (uint32_t i = 0; i < stream->depth; i++) {
        stream->stack[i].tick = 1;
        stream->stack[i].id = 1 + fixture_random(random) % IDS;
    }
}

struct fixture *random_trace_in_blocks(unsigned odd, uint32_t depth_max, bool loses, uint32_t block_events,
                                       uint64_t seed)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15u + odd;
    struct fixture *f = fixture_new(4096);
    f->left_open = loses; /* nothing may be missing in a file that was closed */
    inherit(&f->streams[1], &random);
    for (uint32_t stream = 1; stream <= STREAMS; stream++)
        random_stream(f, stream, stream == 2 ? odd : ODD_NOTHING, depth_max, block_events, &random);
    if (loses)
        lose_blocks(f, &random);
    return f;
}

struct fixture *random_trace(unsigned odd, uint32_t depth_max, bool loses, uint64_t seed)
{
    return random_trace_in_blocks(odd, depth_max, loses, 0, seed);
}
