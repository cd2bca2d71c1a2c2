/*
 * Opens, refreshes, recovers, verifies and reads a trace while memory runs out. Each call must either return an error
 * or leave something out as its contract allows, and the next attempt with enough memory must return everything.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create() */
#include <string.h>
#include <sys/mman.h>
#include <tracebed/writer.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

enum { SOME = 32 }; /* of the ids and of the events, which is enough to reach each failure */

/* Longer strings would be slow and test nothing new. */
static const struct tbed_string_budget budget = {.size = sizeof budget, .component_count = 200};

static uint64_t mix_text(uint64_t seen, const char *text, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        seen = failing_mix(seen, (uint8_t)text[i]);
    return failing_mix(seen, nbytes);
}

/* ---- Uses of a reader ---- */

static uint64_t verify(struct tbed_reader *reader)
{
    return (uint64_t)tbed_reader_verify(reader);
}

static bool take_text(void *context, const char *text, size_t nbytes)
{
    uint64_t *seen = context;
    *seen = mix_text(*seen, text, nbytes < SOME ? nbytes : SOME);
    return true;
}

static uint64_t use_string(struct tbed_reader *reader, uint32_t id, uint32_t other_id)
{
    uint64_t length = 0, seen = id;
    bool is_equal = false;
    seen = failing_mix(seen, (uint64_t)tbed_string_stream(reader, id, &budget, take_text, &seen));
    seen = failing_mix(seen, (uint64_t)tbed_string_length(reader, id, &budget, &length));
    seen = failing_mix(seen, (uint64_t)tbed_string_equals(reader, id, other_id, &budget, &is_equal));
    seen = failing_mix(seen, length * 2 + is_equal);
    seen = failing_mix(seen, (uint64_t)tbed_string_equals_text(reader, id, "text", 4, &budget, &is_equal));
    return failing_mix(seen, is_equal);
}

static uint64_t use_strings(struct tbed_reader *reader)
{
    uint64_t seen = 0;
    uint32_t id = 0, before = TBED_ID_METADATA;
    for (int i = 0; i < SOME && tbed_string_next(reader, &id); before = id, i++)
        seen = failing_mix(seen, use_string(reader, id, before));
    return seen;
}

static uint64_t walk_one(struct tbed_reader *reader, uint32_t id)
{
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    uint64_t seen = 0;
    enum tbed_status status = tbed_string_walk_open(reader, id, &budget, &walk);
    if (status != TBED_OK)
        return (uint64_t)status;
    for (int i = 0; i < SOME && (status = tbed_string_walk_next(walk, &node)) == TBED_OK; i++)
        seen = failing_mix(seen, node.id + (uint64_t)node.step);
    tbed_string_walk_close(walk);
    return failing_mix(seen, (uint64_t)status);
}

static uint64_t use_parts(struct tbed_reader *reader, uint32_t id)
{
    struct tbed_event_parts *parts;
    struct tbed_name part;
    uint64_t seen = 0;
    enum tbed_status status = tbed_event_parts_open(reader, id, &budget, &parts);
    if (status != TBED_OK)
        return (uint64_t)status;
    for (int i = 0; i < SOME; i++) {
        status = tbed_event_parts_next(parts, &part);
        seen = failing_mix(seen, (uint64_t)status);
        if (status == TBED_END || status == TBED_ERR_MEMORY) {
            REQUIRE(tbed_event_parts_next(parts, &part) == status);
            break;
        }
        if (status == TBED_OK)
            seen = mix_text(seen, part.text, part.nbytes);
    }
    tbed_event_parts_close(parts);
    return seen;
}

static uint64_t use_names(struct tbed_reader *reader)
{
    struct tbed_name name;
    uint64_t seen = 0;
    uint32_t id = 0;
    tbed_reader_limit_text(reader, 1000);
    for (int i = 0; i < SOME && tbed_string_next(reader, &id); i++) {
        seen = failing_mix(seen, walk_one(reader, id));
        seen = failing_mix(seen, use_parts(reader, id));
        enum tbed_status status = tbed_name_get(reader, id, &name);
        seen =
            status == TBED_OK ? mix_text(seen, name.text, name.nbytes) : failing_mix(seen, (uint64_t)status);
        status = tbed_event_label(reader, id, &name);
        seen =
            status == TBED_OK ? mix_text(seen, name.text, name.nbytes) : failing_mix(seen, (uint64_t)status);
    }
    return seen;
}

/* A resolver that knows a function for every address. */
static size_t find_frames(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                          struct tbed_frame *frames, size_t capacity)
{
    (void)context, (void)unit, (void)path;
    if (capacity > 0)
        frames[0] = (struct tbed_frame){.function = "function", .line = (uint32_t)pc};
    return 1;
}

static void prepare_frames(void *context, const struct tbed_unit_info *unit, const char *path,
                           const uint64_t *pcs, size_t count)
{
    (void)context, (void)unit, (void)path;
    REQUIRE(count > 0 && pcs[0] <= pcs[count - 1]);
}

static uint64_t use_places(struct tbed_reader *reader)
{
    const struct tbed_resolver resolver = {
        .size = sizeof resolver, .frames = find_frames, .prepare = prepare_frames};
    struct tbed_id_info info;
    char text[200];
    uint32_t *ids;
    size_t count;
    uint64_t seen = (uint64_t)tbed_reader_set_resolver(reader, &resolver);
    enum tbed_status status = tbed_native_code_find(reader, &ids, &count);
    if (status != TBED_OK)
        return (uint64_t)status;
    tbed_names_prepare(reader, ids, count, true);
    for (size_t i = 0; i < count && i < SOME; i++) {
        seen = failing_mix(seen, ids[i] * 2 + tbed_id_resolve(reader, ids[i], &info));
        seen = mix_text(seen, text,
                        tbed_id_text(reader, ids[i], TBED_NAME_ALL, text, sizeof text) % sizeof text);
    }
    free(ids);
    tbed_reader_set_resolver(reader, NULL);
    return seen;
}

static uint64_t use_event(struct tbed_reader *reader, const struct tbed_event *event)
{
    char text[100] = "";
    uint64_t seen = failing_mix(event->offset, event->id);
    if (event->type == TBED_EVENT_MESSAGE)
        tbed_message_text(reader, event, TBED_MESSAGE_ALL, text, sizeof text);
    else
        tbed_arguments_text(reader, &event->arguments, event->argument_count, text, sizeof text);
    return mix_text(seen, text, strlen(text));
}

static uint64_t use_cursors(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t seen = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        enum tbed_status status = tbed_cursor_open(reader, stream.stream, &cursor);
        seen = failing_mix(seen, (uint64_t)status);
        if (status != TBED_OK)
            continue;
        for (int j = 0; j < SOME && tbed_cursor_next(cursor, &event) == TBED_OK; j++)
            seen = failing_mix(seen, use_event(reader, &event));
        tbed_cursor_close(cursor);
    }
    return seen;
}

/* Merges 'streams' (NULL: all), and goes on after a refresh, which makes the merge look for new events. */
static uint64_t merge(struct tbed_reader *reader, const uint32_t *streams, size_t count)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t seen = 0;
    enum tbed_status status = tbed_merge_open(reader, streams, count, &merge);
    if (status != TBED_OK)
        return (uint64_t)status;
    for (int i = 0; i < SOME && (status = tbed_merge_next(merge, &event)) == TBED_OK; i++)
        seen = failing_mix(seen, event.offset);
    tbed_reader_refresh(reader, NULL);
    seen = failing_mix(seen, (uint64_t)status);
    status = tbed_merge_next(merge, &event);
    tbed_merge_close(merge);
    return failing_mix(seen, (uint64_t)status);
}

static uint64_t use_merge(struct tbed_reader *reader)
{
    uint32_t streams[SOME];
    for (uint32_t i = 0; i < SOME; i++)
        streams[i] = i;
    return failing_mix(merge(reader, NULL, 0), merge(reader, streams, SOME));
}

/* ---- Opening and refreshing ---- */

struct file {
    const uint8_t *data;
    size_t nbytes;
    struct tbed_reader_options options;
};

/*
 * Only a lack of memory makes opening and refreshing fail. Another refresh then does not change what the reader sees.
 */
static void open_and_refresh(void *context)
{
    const struct file *file = context;
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    int fd = file_of_input(file->data, file->nbytes);
    failing_start();
    enum tbed_status status = tbed_reader_open_fd(fd, &file->options, &reader, &error);
    enum tbed_status again = status == TBED_OK ? tbed_reader_refresh(reader, &error) : status;
    failing_stop();
    bool has_no_memory = again == TBED_ERR_MEMORY || again == TBED_ERR_MAP;
    REQUIRE((again == TBED_OK || error.status == again) && (!has_no_memory || failing_count() > 0));
    REQUIRE((status == TBED_OK) == (reader != NULL));
    if (reader != NULL) {
        uint64_t seen = use_merge(reader);
        REQUIRE(tbed_reader_refresh(reader, NULL) == TBED_OK && use_merge(reader) == seen);
        tbed_reader_close(reader);
    }
    close(fd);
}

static void recover(void *context)
{
    const struct file *file = context;
    struct tbed_recovery recovery;
    struct tbed_error error;
    int from = file_of_input(file->data, file->nbytes), to = memfd_create("recovered", MFD_CLOEXEC);
    REQUIRE(to >= 0);
    failing_start();
    enum tbed_status status = tbed_trace_recover(from, to, &recovery, &error);
    failing_stop();
    REQUIRE(status == TBED_OK || failing_count() > 0 || status != TBED_ERR_MEMORY);
    close(to);
    close(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static failing_use *const uses[] = {verify, use_strings, use_names, use_places, use_cursors, use_merge};
    struct file file = {.data = data, .nbytes = nbytes, .options = {.size = sizeof file.options}};
    struct failing_plan plan = failing_plan_cut(data, &file.nbytes);
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        failing_use_trace(data, nbytes, uses[i]);
    failing_run(&plan, open_and_refresh, &file);
    file.options.copy = true;
    failing_run(&plan, open_and_refresh, &file);
    failing_run(&plan, recover, &file);
    return 0;
}
