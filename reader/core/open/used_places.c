/*
 * Finds the native code that the events of a trace use, in one pass over all of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/native_ids.h"

#include <stdlib.h>

static void use_event(struct tbed_native_ids *set, struct tbed_reader *reader, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    tbed_native_ids_add(set, reader, event->id, true);
    for (uint32_t i = 0; i < event->argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        if (argument.type == TBED_ARG_ID && argument.value.u64 <= TBED_ID_MAX)
            tbed_native_ids_add(set, reader, (uint32_t)argument.value.id, true);
    }
}

static enum tbed_status use_stream(struct tbed_native_ids *set, struct tbed_reader *reader, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK)
        use_event(set, reader, &event);
    tbed_cursor_close(cursor);
    return status == TBED_END ? TBED_OK : status;
}

static bool has_native_code(const struct tbed_reader *reader)
{
    struct tbed_unit_info unit;
    for (size_t i = 0; tbed_unit_get(reader, i, &unit); i++)
        if (unit.kind == TBED_UNIT_NATIVE)
            return true;
    return false;
}

enum tbed_status tbed_native_code_find(struct tbed_reader *reader, uint32_t **ids_ret, size_t *count_ret)
{
    struct tbed_native_ids set = {0};
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    *ids_ret = NULL;
    *count_ret = 0;
    if (!has_native_code(reader))
        return TBED_OK;
    if (!tbed_native_ids_open(&set))
        return TBED_ERR_MEMORY;
    for (size_t i = 0; status == TBED_OK && tbed_stream_get(reader, i, &stream); i++)
        status = use_stream(&set, reader, stream.stream);
    if (status == TBED_OK && set.is_out_of_memory)
        status = TBED_ERR_MEMORY;
    if (status == TBED_OK) {
        tbed_native_ids_sort(&set);
        *ids_ret = set.ids;
        *count_ret = set.count;
        set.ids = NULL;
    }
    tbed_native_ids_free(&set);
    return status;
}
