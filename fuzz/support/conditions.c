/*
 * Conditions of a filter, chosen by an input; see conditions.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/conditions.h"

#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"

static const char *const patterns[] = {".",      "^<", "[a-m]",        "o|e",
                                       "x{2,3}", "^$", "[[:digit:]]$", "(un)?known"};
static const char *const categories[] = {"Query", "cat", "<unknown>", "net"};
#define PATTERN_COUNT (sizeof patterns / sizeof patterns[0])

/* The label of a span, as long as there are any. The statistics own it. */
static const char *label_of(const struct tbed_statistics *statistics, unsigned choice)
{
    size_t count = 0;
    while (tbed_statistics_span(statistics, count) != NULL)
        count++;
    return count > 0 ? tbed_statistics_span(statistics, choice % count)->name : "none";
}

struct conditions choose_conditions(const struct tbed_reader *reader,
                                    const struct tbed_statistics *statistics, const uint8_t *data,
                                    size_t nbytes)
{
    struct conditions c = {.kinds = choice_at(data, nbytes, 3)};
    struct tbed_trace_info info;
    struct tbed_stream_info stream;
    tbed_reader_info(reader, &info);
    uint64_t part = (info.last_tick - info.first_tick) / 255;
    if (c.kinds & BEGIN)
        c.begin = info.first_tick + part * choice_at(data, nbytes, 0);
    if (c.kinds & END)
        c.end = info.first_tick + part * choice_at(data, nbytes, 1) + 1;
    if (c.kinds & MINIMUM)
        c.minimum = UINT64_C(1) << (choice_at(data, nbytes, 2) % 64);
    if (c.kinds & STREAM && tbed_stream_get(reader, choice_at(data, nbytes, 4), &stream))
        c.stream = stream.stream;
    unsigned which = choice_at(data, nbytes, 5);
    c.name = c.kinds & NAME ? patterns[which % PATTERN_COUNT] : NULL;
    c.exclude = c.kinds & EXCLUDE ? patterns[which / PATTERN_COUNT % PATTERN_COUNT] : NULL;
    c.category = c.kinds & CATEGORY ? categories[which / 64] : NULL;
    c.inside = c.kinds & INSIDE ? label_of(statistics, choice_at(data, nbytes, 6)) : NULL;
    return c;
}

struct tbed_filter *filter_of_conditions(struct tbed_reader *reader, const struct conditions *c)
{
    struct tbed_filter *filter;
    char problem[TBED_FILTER_PROBLEM_NBYTES];
    struct tbed_filter_options options = {.size = sizeof options,
                                          .begin_tick = c->begin,
                                          .end_tick = c->end,
                                          .streams = c->stream != 0 ? &c->stream : NULL,
                                          .stream_count = 1,
                                          .names = &c->name,
                                          .name_count = c->name != NULL,
                                          .excluded_names = &c->exclude,
                                          .excluded_name_count = c->exclude != NULL,
                                          .categories = &c->category,
                                          .category_count = c->category != NULL,
                                          .minimum_ticks = c->minimum,
                                          .inside = &c->inside,
                                          .inside_count = c->inside != NULL};
    REQUIRE(tbed_filter_make(reader, &options, &filter, problem) == TBED_OK && problem[0] == '\0');
    return filter;
}
