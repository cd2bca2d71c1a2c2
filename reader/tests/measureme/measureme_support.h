/*
 * Helpers shared by the tests of profiles: opening built profiles, text of ids, guarded copies.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MEASUREME_SUPPORT_H
#define TRACEBED_MEASUREME_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/exchange/measureme/file/measureme.h"
#include "reader/tests/measureme/profile_builder.h"
#include "reader/tests/measureme/profile_oracle.h"

static const uint32_t versions[] = {0, 3, 4, 5, 6, 7, 8, 9};
#define VERSION_COUNT (sizeof versions / sizeof versions[0])

/* What mm_open_memory() takes. Copies of their own size, so that a sanitiser sees each byte past an end. */
struct profile_input {
    const void *bytes[MM_STREAM_COUNT];
    size_t nbytes[MM_STREAM_COUNT];
};

static inline void *exact_copy(const void *bytes, size_t nbytes)
{
    void *copy = malloc(nbytes == 0 ? 1 : nbytes);
    assert_non_null(copy);
    if (nbytes > 0)
        memcpy(copy, bytes, nbytes);
    return copy;
}

static inline struct profile_input input_paged(const void *bytes, size_t nbytes)
{
    return (struct profile_input){{exact_copy(bytes, nbytes)}, {nbytes}};
}

static inline struct profile_input input_three(const struct profile *profile)
{
    struct profile_input input;
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        input.bytes[i] = exact_copy(profile->streams[i].bytes, profile->streams[i].nbytes);
        input.nbytes[i] = profile->streams[i].nbytes;
    }
    return input;
}

/* In its format's container; 'page_nbytes' of a paged one. */
static inline struct profile_input input_make(const struct profile *profile, size_t page_nbytes)
{
    if (profile->version < 6)
        return input_three(profile);
    struct profile_bytes file = profile_paged(profile, page_nbytes);
    struct profile_input input = input_paged(file.bytes, file.nbytes);
    profile_bytes_free(&file);
    return input;
}

static inline void input_free(struct profile_input *input)
{
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        free((void *)input->bytes[i]);
}

static inline struct mm_file *input_open(const struct profile_input *input)
{
    struct mm_file *file = NULL;
    struct tbed_error error;
    assert_int_equal(mm_open_memory(input->bytes, input->nbytes, &file, &error), TBED_OK);
    return file;
}

/* The text of an id, references resolved up to a depth; "<unknown>" and "<invalid>" as measureme has them. */
static inline size_t text_of(const struct mm_file *file, uint64_t id, char *text, size_t room, int depth)
{
    struct mm_string_walk walk;
    struct mm_component component;
    enum tbed_status status;
    uint64_t address;
    size_t at = 0;
    if (!mm_string_address(file, id, &address) || depth == 8)
        return (size_t)snprintf(text, room, "<unknown>");
    mm_string_walk_start(file, address, &walk);
    while ((status = mm_component_next(&walk, &component)) == TBED_OK) {
        if (component.is_reference) {
            at += text_of(file, component.id, text + at, room - at, depth + 1);
            continue;
        }
        assert_true(component.nbytes < room - at);
        memcpy(text + at, component.text, component.nbytes);
        at += component.nbytes;
    }
    text[at] = '\0';
    return status == TBED_END ? at : (size_t)snprintf(text, room, "<invalid>");
}

static inline void assert_text(const struct mm_file *file, uint64_t id, const char *wanted)
{
    char text[4096];
    text_of(file, id, text, sizeof text, 0);
    assert_string_equal(text, wanted);
}

static inline struct mm_event event_get(const struct mm_file *file, uint64_t number)
{
    struct mm_event event = {.kind = 0};
    for (size_t i = 0; i < mm_chunk_count(file); i++) {
        struct mm_chunk chunk = mm_chunk_get(file, i);
        if (number < chunk.first || number - chunk.first >= chunk.event_count)
            continue;
        mm_event_load(chunk.bytes + (number - chunk.first) * chunk.event_nbytes, mm_event_shape(file),
                      &event);
        return event;
    }
    fail_msg("no such event");
    return event;
}

static inline void assert_damage(const struct mm_file *file, size_t index, enum tbed_status status,
                                 enum mm_stream source, uint64_t offset, uint64_t detail)
{
    struct mm_damage damage;
    assert_true(mm_damage_get(file, index, &damage));
    assert_string_equal(tbed_status_name(damage.status), tbed_status_name(status));
    assert_int_equal(damage.file, source);
    assert_int_equal(damage.offset, offset);
    assert_int_equal(damage.detail, detail);
}

static inline uint64_t damage_count(const struct mm_file *file)
{
    struct mm_info info;
    mm_info(file, &info);
    return info.damage_count;
}

#endif
