/*
 * Records a random trace for agreement_test.py:
 *
 *     agreement_program SEED PATH OPTION...
 *
 * Spans nest, recur, cross as whole spans, as pairs of messages and as asynchronous ones, and some never end; labels
 * have arguments behind a U+001E. OPTION is one of those in 'options' below.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <tracebed/writer.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL_COUNT    7u
#define CATEGORY_COUNT 6u
#define STREAM_MAX     4u
#define DEPTH_MAX      200u
#define TICK_FIRST     UINT64_C(5000000)

static bool is_given, counts, has_whole, has_pairs, has_others, has_categories, goes_back, is_ring, is_killed,
    forks, has_resolution, is_deep, leaves_open, only_talks, has_arguments;

static const struct {
    const char *name;
    bool *is_set;
} options[] = {
    {"given", &is_given},    /* ticks of 1 ns that the program makes up */
    {"counts", &counts},     /* the same, but ticks do not count time */
    {"whole", &has_whole},   /* whole spans, which may cross; only with made-up ticks */
    {"pairs", &has_pairs},   /* of messages */
    {"others", &has_others}, /* instants, counters, messages, asynchronous spans */
    {"categories", &has_categories},
    {"back", &goes_back},            /* some ticks decrease */
    {"ring", &is_ring},              /* a flight recorder, much too small */
    {"killed", &is_killed},          /* never closed */
    {"forks", &forks},               /* two processes */
    {"talks", &only_talks},          /* messages only */
    {"open", &leaves_open},          /* some spans never end */
    {"resolution", &has_resolution}, /* times have a resolution of a microsecond */
    {"arguments", &has_arguments},   /* of spans and instants; only with made-up ticks */
    {"deep", &is_deep},              /* more open spans than a block can store */
};

struct stream {
    struct tbed_recorder *recorder;
    uint64_t tick;
    unsigned depth;
};

static pid_t child = -1;
static uint64_t state;
static struct tbed_writer *writer;
static uint32_t labels[LABEL_COUNT][2], categories[CATEGORY_COUNT], message_formats[4];

static uint64_t below(uint64_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

static bool chance(unsigned percent)
{
    return below(100) < percent;
}

static uint32_t intern(const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void make_names(void)
{
    static const char *const kinds[CATEGORY_COUNT] = {
        "Query", "GenericActivity", "QueryBlocked", "IncrementalLoadResult", "IncrementalResultHashing",
        "other"};
    char text[64];
    for (unsigned i = 0; i < LABEL_COUNT; i++) {
        snprintf(text, sizeof text, "label %u", i);
        labels[i][0] = intern(text);
        snprintf(text, sizeof text,
                 "label %u\x1e"
                 "argument",
                 i);
        labels[i][1] = intern(text);
    }
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        categories[i] = intern(kinds[i]);
    message_formats[0] = intern("{ pair");
    message_formats[1] = intern("} pair");
    message_formats[2] = intern("scope\x1e{ inner pair");
    message_formats[3] = intern("scope\x1e} inner");
}

static void record(struct stream *stream, struct tbed_given_event event)
{
    event.tick = stream->tick;
    if (event.category == 0)
        event.category = TBED_ID_INVALID;
    tbed_event_record_given(stream->recorder, &event);
}

static uint32_t any_label(void)
{
    return labels[below(LABEL_COUNT)][chance(30)];
}

static uint32_t any_category(void)
{
    return has_categories && chance(60) ? categories[below(CATEGORY_COUNT)] : TBED_ID_INVALID;
}

/* Up to two, of a few values. */
static size_t any_arguments(struct tbed_argument arguments[2])
{
    static const char *const paths[] = {"/", "/index", "", "a \"b\"", "\x1e"};
    size_t count = has_arguments && chance(50) ? 1 + below(2) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = paths[below(sizeof paths / sizeof *paths)];
        if (chance(50))
            arguments[i] = (struct tbed_argument){.type = TBED_ARG_TEXT,
                                                  .name_id = TBED_ID_INVALID,
                                                  .nbytes = (uint32_t)strlen(path),
                                                  .value.text = path};
        else
            arguments[i] = (struct tbed_argument){
                .type = TBED_ARG_I64, .name_id = labels[i][0], .value.i64 = (int64_t)below(5) - 2};
    }
    return count;
}

static void record_with_arguments(struct stream *stream, struct tbed_given_event event)
{
    struct tbed_argument arguments[2];
    event.argument_count = any_arguments(arguments);
    event.arguments = arguments;
    record(stream, event);
}

static void begin(struct stream *stream)
{
    uint32_t id = any_label(), category = any_category();
    stream->depth++;
    if (is_given)
        record_with_arguments(
            stream, (struct tbed_given_event){.type = TBED_GIVEN_BEGIN, .id = id, .category = category});
    else if (category != TBED_ID_INVALID)
        tbed_span_begin_category(stream->recorder, id, category, NULL, 0);
    else
        tbed_span_begin(stream->recorder, id);
}

static void end(struct stream *stream)
{
    stream->depth--;
    if (is_given)
        record(stream, (struct tbed_given_event){.type = TBED_GIVEN_END});
    else
        tbed_span_end(stream->recorder);
}

static void whole(struct stream *stream)
{
    uint64_t nticks = below(chance(50) ? 40 : 4000);
    record_with_arguments(stream,
                          (struct tbed_given_event){
                              .type = TBED_GIVEN_SPAN,
                              .id = any_label(),
                              .category = any_category(),
                              .begin_tick = stream->tick - (goes_back && chance(5) ? 0 - nticks : nticks)});
}

static void message(struct stream *stream)
{
    tbed_message_record_args(stream->recorder, TBED_SEVERITY_NONE, message_formats[below(4)], NULL, 0);
}

static void other(struct stream *stream)
{
    static const char text[] = "said once";
    uint32_t id = any_label();
    switch (below(5)) {
    case 0:
        if (has_arguments)
            record_with_arguments(stream, (struct tbed_given_event){.type = TBED_GIVEN_INSTANT, .id = id});
        else
            tbed_instant_record(stream->recorder, id);
        break;
    case 1:
        tbed_counter_record_i64(stream->recorder, id, (int64_t)below(1000) - 100);
        break;
    case 2:
        tbed_message_record(stream->recorder, TBED_SEVERITY_WARNING, text, sizeof text - 1);
        break;
    case 3:
        tbed_async_begin(stream->recorder, id, below(3));
        break;
    default:
        tbed_async_end(stream->recorder, id, below(3));
    }
}

/* Functions that do not read the clock use the latest tick given to the recorder. */
static void step(struct stream *stream)
{
    unsigned depth_max = is_deep ? DEPTH_MAX : 12;
    if (!chance(15)) /* else the same tick again */
        stream->tick += has_resolution ? below(3000) : below(50);
    if (goes_back && chance(2))
        stream->tick -= below(30);
    if (only_talks)
        message(stream);
    else if (has_whole && chance(30))
        whole(stream);
    else if (has_pairs && chance(25))
        message(stream);
    else if (has_others && chance(20))
        other(stream);
    else if (stream->depth < depth_max && (stream->depth == 0 || chance(is_deep ? 70 : 52)))
        begin(stream);
    else
        end(stream);
}

/* The child goes on in the spans that are open. */
static void fork_inside(void)
{
    child = fork();
    state += child == 0;
}

static void record_streams(unsigned event_count)
{
    struct stream streams[STREAM_MAX] = {{0}};
    size_t count = 1 + below(STREAM_MAX);
    char name[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "track %zu", i);
        streams[i].tick = TICK_FIRST + below(1000);
        streams[i].recorder =
            is_given ? tbed_recorder_open_given(writer, name, 100u * (unsigned)getpid() + (unsigned)i)
                     : tbed_track_open(writer, name);
    }
    for (unsigned i = 0; i < event_count; i++) {
        if (forks && i == event_count / 3)
            fork_inside();
        step(&streams[below(count)]);
    }
    for (size_t i = 0; i < count && !is_killed; i++) {
        while (streams[i].depth > 0 && !(leaves_open && chance(10)))
            end(&streams[i]);
        tbed_recorder_close(streams[i].recorder);
    }
}

static bool open_writer(const char *path)
{
    struct tbed_writer_options open_options = {.size = sizeof open_options,
                                               .no_helper = true,
                                               .page_nbytes = 4096,
                                               .given_ticks = is_given,
                                               .given_ticks_per_second = is_given && !counts ? 1000000000 : 0,
                                               .given_resolution_ns = has_resolution ? 1000 : 0,
                                               .user_clock_unit = counts ? "steps" : NULL,
                                               .ring_nbytes = is_ring ? 12 * 4096 : 0,
                                               .join = !is_given};
    if (tbed_writer_open(path, &open_options, &writer, NULL) != TBED_OK)
        return false;
    make_names();
    return true;
}

static bool take_options(char **arguments)
{
    for (; *arguments != NULL; arguments++) {
        size_t i = 0;
        while (i < sizeof options / sizeof *options && strcmp(options[i].name, *arguments) != 0)
            i++;
        if (i == sizeof options / sizeof *options)
            return false;
        *options[i].is_set = true;
    }
    return true;
}

int main(int argument_count, char **arguments)
{
    if (argument_count < 3 || !take_options(arguments + 3))
        return 2;
    state = strtoull(arguments[1], NULL, 10) * 7919 + 1;
    if (!open_writer(arguments[2]))
        return 1;
    unsigned event_count = 20 + (unsigned)below(is_deep || is_ring ? 6000 : 1500);
    record_streams(event_count);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (is_killed)
        raise(SIGKILL);
    tbed_writer_close(writer);
    return 0;
}
