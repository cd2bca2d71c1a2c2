/*
 * Calls the reader with arguments that no sensible program passes: options of unexpected sizes, tiny budgets, ids that
 * do not exist, and resolvers that return too little or too much.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <string.h>
#include <tracebed/verify.h>
#include <unistd.h>

#include "format/string.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

enum { IDS_MAX = 48 };

struct ids {
    uint32_t ids[IDS_MAX];
    size_t count;
};

/* Returns ids at the limits, those of the first strings, and their neighbours. */
static struct ids choose_ids(const struct tbed_reader *reader)
{
    static const uint32_t edges[] = {0,
                                     1,
                                     1000,
                                     TBED_ID_MAX_RESERVED,
                                     TBED_ID_METADATA,
                                     TBED_ID_INVALID,
                                     TBED_ID_INVALID + 1,
                                     TBED_ID_MAX,
                                     TBED_ID_MAX + 1,
                                     UINT32_MAX};
    struct ids ids = {.count = sizeof edges / sizeof edges[0]};
    struct tbed_unit_info unit;
    uint32_t id = 0;
    memcpy(ids.ids, edges, sizeof edges);
    for (size_t i = 0; i < 4 && tbed_unit_get(reader, i, &unit); i++) {
        ids.ids[ids.count++] = unit.first_id;
        ids.ids[ids.count++] = unit.first_id + unit.id_count / 2;
    }
    while (ids.count + 2 <= IDS_MAX && tbed_string_next(reader, &id)) {
        ids.ids[ids.count++] = id;
        ids.ids[ids.count++] = id + 1;
    }
    return ids;
}

/* ---- Opening ---- */

static enum tbed_status open_sized(const void *bytes, size_t nbytes, size_t size, uint8_t last)
{
    struct {
        struct tbed_reader_options options;
        uint8_t more[8];
    } given = {.options.size = size, .more[7] = last};
    struct tbed_reader *reader = NULL;
    enum tbed_status status = tbed_reader_open_memory(bytes, nbytes, &given.options, &reader, NULL);
    REQUIRE(tbed_reader_open("/", &given.options, &reader, NULL) ==
            (status == TBED_ERR_ARGUMENT ? status : TBED_ERR_IS_DIRECTORY));
    REQUIRE(tbed_reader_open_fd(-1, &given.options, &reader, NULL) ==
            (status == TBED_ERR_ARGUMENT ? status : TBED_ERR_READ));
    tbed_reader_close(reader);
    return status;
}

static void try_verifying(struct tbed_reader *reader)
{
    struct tbed_verify_options none = {.size = 0}, options = {.size = sizeof options, .thread_count = 3};
    uint64_t read_before, all_before, read_count, all_count;
    REQUIRE(tbed_reader_verify_with(reader, &none) == TBED_ERR_ARGUMENT);
    tbed_reader_progress(reader, &read_before, &all_before);
    tbed_reader_verify_with(reader, &options);
    tbed_reader_progress(reader, &read_count, &all_count);
    REQUIRE(read_count >= read_before && all_count == all_before);
}

static void try_opening(const uint8_t *data, size_t nbytes)
{
    size_t size = sizeof(struct tbed_reader_options);
    struct tbed_reader *reader;
    struct tbed_error error;
    uint8_t *bytes = guarded_copy(data, nbytes);
    if (bytes == NULL)
        return;
    enum tbed_status status = open_sized(bytes, nbytes, size, 0);
    REQUIRE(open_sized(bytes, nbytes, size + 8, 0) == status);
    REQUIRE(open_sized(bytes, nbytes, size + 8, 1) == TBED_ERR_ARGUMENT);
    REQUIRE(open_sized(bytes, nbytes, 1, 0) == TBED_ERR_ARGUMENT);
    REQUIRE(open_sized(bytes, nbytes, SIZE_MAX, 0) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_reader_open_memory(bytes + 4, nbytes, NULL, &reader, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_reader_open("/dev/null", NULL, &reader, &error) == TBED_ERR_NOT_REGULAR);
    REQUIRE(tbed_reader_open("/proc/self/stat", NULL, &reader, &error) == TBED_ERR_NOT_REGULAR);
    REQUIRE(tbed_reader_open("/no/such/file", NULL, &reader, &error) == TBED_ERR_OPEN &&
            error.system_errno != 0);
    tbed_reader_close(NULL);
}

/* Opens the input as a file that ends in a hole, and refreshes the readers after it has grown and after it was cut. */
static void try_file(const uint8_t *data, size_t nbytes)
{
    const char *path = scratch_path("trace");
    struct tbed_reader *reader, *copy;
    scratch_put(path, data, nbytes);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)nbytes + 3 * 65536) == 0);
    if (tbed_reader_open(path, NULL, &reader, NULL) == TBED_OK) {
        struct tbed_reader_options options = {.size = sizeof options, .copy = true};
        REQUIRE(tbed_reader_open_fd(fd, &options, &copy, NULL) == TBED_OK);
        tbed_reader_verify(reader);
        tbed_reader_verify(copy);
        REQUIRE(tbed_damage_count(reader) == tbed_damage_count(copy));
        REQUIRE(ftruncate(fd, (off_t)5 << (sizeof(size_t) == 8 ? 30 : 20)) == 0);
        REQUIRE(tbed_reader_refresh(reader, NULL) == TBED_OK && tbed_reader_refresh(copy, NULL) == TBED_OK);
        REQUIRE(ftruncate(fd, 100) == 0);
        REQUIRE(tbed_reader_refresh(reader, NULL) == TBED_ERR_READ);
        tbed_reader_close(copy);
        tbed_reader_close(reader);
    }
    close(fd);
}

/* ---- Strings ---- */

static bool stop_at_once(void *context, const char *text, size_t nbytes)
{
    REQUIRE(nbytes > 0 && text != NULL);
    ++*(int *)context;
    return false;
}

static void try_budget(const struct tbed_reader *reader, uint32_t id, const struct tbed_string_budget *budget)
{
    struct tbed_string_walk *walk;
    struct tbed_event_parts *parts;
    struct tbed_name part;
    struct tbed_string_node node;
    uint64_t nbytes;
    bool is_equal;
    int calls = 0;
    enum tbed_status status = tbed_string_walk_open(reader, id, budget, &walk);
    bool is_refused = status == TBED_ERR_ARGUMENT;
    REQUIRE((tbed_string_stream(reader, id, budget, stop_at_once, &calls) == TBED_ERR_ARGUMENT) ==
            is_refused);
    REQUIRE(calls <= 1 &&
            (tbed_string_length(reader, id, budget, &nbytes) == TBED_ERR_ARGUMENT) == is_refused);
    REQUIRE((tbed_string_equals(reader, id, id + 1, budget, &is_equal) == TBED_ERR_ARGUMENT) == is_refused);
    REQUIRE((tbed_string_equals_text(reader, id, "?", 1, budget, &is_equal) == TBED_ERR_ARGUMENT) ==
            is_refused);
    REQUIRE((tbed_event_parts_open(reader, id, budget, &parts) == TBED_ERR_ARGUMENT) == is_refused);
    if (is_refused)
        return;
    for (int i = 0; i < 100 && tbed_event_parts_next(parts, &part) == TBED_OK; i++)
        REQUIRE(part.nbytes <= 1 << 24);
    tbed_event_parts_close(parts);
    for (int i = 0; i < 100 && (status = tbed_string_walk_next(walk, &node)) == TBED_OK; i++)
        if (i % 5 == 4)
            tbed_string_walk_skip(walk);
    if (status != TBED_OK)
        REQUIRE(tbed_string_walk_next(walk, &node) == status);
    tbed_string_walk_skip(walk);
    tbed_string_walk_close(walk);
}

static void try_strings(const struct tbed_reader *reader, const struct ids *ids)
{
    const struct tbed_string_budget budgets[] = {
        {.size = sizeof budgets[0], .depth = 1},
        {.size = sizeof budgets[0], .depth = TBED_STRING_DEPTH_MAX + 1},
        {.size = sizeof budgets[0], .component_count = 1},
        {.size = sizeof budgets[0], .component_count = 7, .nbytes = 5},
        {.size = 1},
    };
    struct tbed_string_component component;
    for (size_t i = 0; i < ids->count; i++) {
        uint32_t at = UINT32_MAX;
        REQUIRE(tbed_string_component_next(reader, ids->ids[i], &at, &component) != TBED_OK);
        for (size_t j = 0; j < sizeof budgets / sizeof budgets[0]; j++)
            try_budget(reader, ids->ids[i], &budgets[j]);
    }
    tbed_string_walk_close(NULL);
    tbed_event_parts_close(NULL);
}

static void compare_pairs(const struct tbed_reader *reader, const struct ids *ids)
{
    const struct tbed_string_budget budget = {.size = sizeof budget, .component_count = 3000};
    char text[2][300];
    size_t nbytes[2];
    uint64_t lengths[2];
    bool is_equal, is_text;
    for (size_t i = 0; i + 1 < ids->count; i++) {
        enum tbed_status status =
            tbed_string_equals(reader, ids->ids[i], ids->ids[i + 1], &budget, &is_equal);
        if (status != TBED_OK)
            continue;
        for (size_t j = 0; j < 2; j++)
            REQUIRE(tbed_string_length(reader, ids->ids[i + j], &budget, &lengths[j]) == TBED_OK);
        REQUIRE(!is_equal || lengths[0] == lengths[1]);
        /* A part that occurs often is measured and compared once, but spelled each time. */
        for (size_t j = 0; j < 2 && status == TBED_OK; j++)
            status = tbed_string_resolve(reader, ids->ids[i + j], text[j], sizeof text[j], &nbytes[j]);
        REQUIRE(status == TBED_OK || status == TBED_ERR_STRING_COMPONENTS);
        if (status != TBED_OK)
            continue;
        REQUIRE(nbytes[0] == lengths[0] && nbytes[1] == lengths[1]);
        if (nbytes[0] >= sizeof text[0] || nbytes[1] >= sizeof text[1])
            continue;
        REQUIRE(is_equal == (nbytes[0] == nbytes[1] && memcmp(text[0], text[1], nbytes[0]) == 0));
        REQUIRE(tbed_string_equals_text(reader, ids->ids[i], text[1], nbytes[1], NULL, &is_text) == TBED_OK);
        REQUIRE(is_text == is_equal);
        if (nbytes[0] > 0) {
            text[0][nbytes[0] - 1] ^= 1;
            REQUIRE(tbed_string_equals_text(reader, ids->ids[i], text[0], nbytes[0], NULL, &is_text) ==
                    TBED_OK);
            REQUIRE(!is_text);
        }
    }
}

/* ---- Code locations ---- */

struct answer {
    size_t count;
    struct tbed_frame frame;
};

static size_t answer(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                     struct tbed_frame *frames, size_t capacity)
{
    const struct answer *answer = context;
    (void)unit, (void)path, (void)pc;
    for (size_t i = 0; i < capacity && i < answer->count; i++)
        frames[i] = answer->frame;
    return answer->count;
}

/* Texts that are too long to be made over and over, which would be slow and test nothing new. */
static bool is_long(const struct tbed_reader *reader, uint32_t id)
{
    uint64_t nbytes;
    enum tbed_status status = tbed_string_length(reader, id, NULL, &nbytes);
    return status == TBED_ERR_STRING_COMPONENTS || (nbytes > 10000 && nbytes != UINT64_MAX);
}

static void name_all(struct tbed_reader *reader, const struct ids *ids)
{
    struct tbed_id_info info;
    struct tbed_frame frames[4];
    struct tbed_name name;
    struct tbed_location location;
    struct tbed_frame_info frame;
    char text[100];
    for (size_t i = 0; i < ids->count; i++) {
        uint32_t id = ids->ids[i], stack[2];
        if (is_long(reader, id))
            continue;
        bool is_known = tbed_id_resolve(reader, id, &info);
        size_t count = tbed_id_frames(reader, id, frames, 4);
        REQUIRE(tbed_id_frames(reader, id, NULL, 0) == count && (!is_known || info.frame_count == count));
        for (int part = TBED_NAME_ALL; part <= TBED_NAME_MODULE; part++) {
            size_t nbytes = tbed_id_text(reader, id, (enum tbed_name_part)part, text, sizeof text);
            size_t again = tbed_id_text(reader, id, (enum tbed_name_part)part, NULL, 0);
            size_t cut = tbed_id_text(reader, id, (enum tbed_name_part)part, text, 3);
            /* The room for texts may run out between two calls. */
            bool was_left_out = tbed_reader_texts_left_out(reader) > 0;
            REQUIRE(was_left_out || (again == nbytes && cut == nbytes));
            REQUIRE(strlen(text) <= 2);
        }
        tbed_name_get(reader, id, &name);
        tbed_event_label(reader, id, &name);
        REQUIRE(tbed_stack_locations(reader, id, stack, 0) == 0);
        if (tbed_location_resolve(reader, id, &location))
            REQUIRE(!tbed_location_frame(&location, location.frame_count, &frame));
    }
}

static void try_resolvers(struct tbed_reader *reader, const struct ids *ids)
{
    struct answer answers[] = {
        {0, {0}},
        {1, {"function", NULL, 0, false}},
        {2, {"function", "/file.c", 0, true}},
        {5, {"function", "/file.c", 7, true}},
        {65, {NULL, "/file.c", 0, false}},
        {3, {NULL, NULL, 0, true}},
    };
    struct tbed_resolver resolver = {.size = sizeof resolver, .frames = answer};
    name_all(reader, ids);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        resolver.context = &answers[i];
        REQUIRE(tbed_reader_set_resolver(reader, &resolver) == TBED_OK);
        tbed_names_prepare(reader, ids->ids, ids->count, true);
        name_all(reader, ids);
    }
    resolver.size = 1;
    REQUIRE(tbed_reader_set_resolver(reader, &resolver) == TBED_ERR_ARGUMENT);
    resolver = (struct tbed_resolver){.size = sizeof resolver};
    REQUIRE(tbed_reader_set_resolver(reader, &resolver) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_reader_set_resolver(reader, NULL) == TBED_OK);
}

/* ---- Blocks ---- */

static void try_blocks(struct tbed_reader *reader)
{
    struct tbed_block block;
    struct tbed_ring_gap gap;
    struct tbed_damage damage;
    size_t count = tbed_event_block_count(reader), position = 0, first;
    for (size_t i = 0; i < count; i++)
        if (tbed_event_block_get(reader, i, &block) == TBED_OK)
            for (uint32_t span = 0; span < block.stored_count; span++) {
                uint64_t tick;
                uint32_t id;
                tbed_block_open_span(&block, span, &tick, &id);
                tbed_block_span_is_inherited(&block, span);
            }
    REQUIRE(tbed_event_block_get(reader, count, &block) == TBED_ERR_ARGUMENT);
    for (size_t i = 0; tbed_ring_gap_next(reader, &position, &gap); i++)
        REQUIRE(gap.block_count > 0 && i < count);
    tbed_stream_blocks(reader, UINT32_MAX, &first, &count);
    REQUIRE(count == 0 && !tbed_damage_get(reader, SIZE_MAX, &damage));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    try_opening(data, nbytes);
    try_file(data, nbytes);
    for (int limited = 0; limited < 2; limited++) {
        struct tbed_reader *reader = open_input(data, nbytes);
        if (reader == NULL)
            return 0;
        if (limited)
            tbed_reader_limit_text(reader, 2500);
        struct ids ids = choose_ids(reader);
        try_blocks(reader);
        try_strings(reader, &ids);
        compare_pairs(reader, &ids);
        try_resolvers(reader, &ids);
        try_verifying(reader);
        tbed_reader_close(reader);
    }
    return 0;
}
