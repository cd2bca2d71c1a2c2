/*
 * The names of rows that do not stand for labels.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/trace/row_keys.h"

#include "reader/analysis/shared/named.h"
#include "reader/core/base/quoted.h"
#include "reader/core/names/id_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES_MAX 1000000u
#define SEPARATOR "\x1E"

enum tbed_status tbed_row_keys_open(struct row_keys *keys, struct tbed_reader *reader,
                                    const struct tbed_analysis_options *options,
                                    struct argument_sets *arguments)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    *keys = (struct row_keys){.reader = reader,
                              .by = options->by,
                              .first_tick = info.first_tick,
                              .width = options->by_ticks,
                              .options = options,
                              .arguments = arguments};
    if (keys->by > TBED_BY_TIME)
        return TBED_ERR_ARGUMENT;
    if (keys->by != TBED_BY_TIME)
        return TBED_OK;
    uint64_t last = info.last_tick > info.first_tick ? info.last_tick - info.first_tick : 0;
    return keys->width > 0 && last / keys->width < TIMES_MAX ? TBED_OK : TBED_ERR_ARGUMENT;
}

/* ---- Texts ---- */

/* Copies what fits, terminated, and returns the whole length. */
static size_t give(char *buffer, size_t buffer_nbytes, const char *text, size_t nbytes)
{
    size_t fits = nbytes < buffer_nbytes ? nbytes : buffer_nbytes - (buffer_nbytes > 0);
    if (buffer_nbytes == 0)
        return nbytes;
    if (fits > 0)
        memcpy(buffer, text, fits);
    buffer[fits] = '\0';
    return nbytes;
}

static size_t give_string(char *buffer, size_t buffer_nbytes, const char *text)
{
    return give(buffer, buffer_nbytes, text, strlen(text));
}

/* The text of an id, as an owned string; NULL: it has none. False: no memory. */
static bool text_of(const struct row_keys *keys, uint32_t id, char **text_ret)
{
    size_t nbytes = id != TBED_ID_INVALID ? tbed_id_spell(keys->reader, id, TBED_NAME_ALL, NULL, 0) : 0;
    *text_ret = nbytes > 0 && nbytes != TBED_NO_MEMORY ? malloc(nbytes + 1) : NULL;
    if (*text_ret != NULL)
        tbed_id_text(keys->reader, id, TBED_NAME_ALL, *text_ret, nbytes + 1);
    return nbytes == 0 || *text_ret != NULL;
}

/* "NAME (NUMBER)", or as much of it as there is. */
static size_t name_numbered(const struct row_keys *keys, uint32_t name_id, const char *what, uint32_t number,
                            char *buffer, size_t buffer_nbytes)
{
    char text[32], *name;
    size_t nbytes;
    if (!text_of(keys, name_id, &name))
        return TBED_NO_MEMORY;
    if (name == NULL) {
        nbytes = (size_t)snprintf(text, sizeof text, "%s %u", what, number);
        return give(buffer, buffer_nbytes, text, nbytes);
    }
    nbytes = give_string(buffer, buffer_nbytes, name);
    free(name);
    if (number == 0)
        return nbytes;
    size_t own = (size_t)snprintf(text, sizeof text, " (%u)", number);
    size_t room = nbytes < buffer_nbytes ? buffer_nbytes - nbytes : 0;
    give(room > 0 ? buffer + nbytes : NULL, room, text, own);
    return nbytes + own;
}

/* ---- Threads and processes ---- */

static bool find_stream(const struct row_keys *keys, uint32_t number, struct tbed_stream_info *stream)
{
    for (size_t i = 0; tbed_stream_get(keys->reader, i, stream); i++)
        if (stream->stream == number)
            return true;
    return false;
}

static size_t name_thread(const struct row_keys *keys, uint32_t number, char *buffer, size_t buffer_nbytes)
{
    struct tbed_stream_info stream = {.name_id = TBED_ID_INVALID};
    bool is_known = find_stream(keys, number, &stream) && stream.tid != 0;
    return name_numbered(keys, stream.name_id, is_known ? "thread" : "stream",
                         is_known                            ? stream.tid
                         : stream.name_id == TBED_ID_INVALID ? number
                                                             : 0,
                         buffer, buffer_nbytes);
}

static size_t name_process(const struct row_keys *keys, uint32_t number, char *buffer, size_t buffer_nbytes)
{
    struct tbed_stream_info stream;
    struct tbed_process_info process;
    if (find_stream(keys, number, &stream))
        for (size_t i = 0; tbed_process_get(keys->reader, i, &process); i++)
            if (process.stream == stream.process)
                return name_numbered(keys, process.name_id, "process", process.pid, buffer, buffer_nbytes);
    return give_string(buffer, buffer_nbytes, "<no process>");
}

/* ---- Ids ---- */

/* The text of an id, or what stands for it in rows by label: all ids without a text are one row. */
static bool text_or_unknown(const struct row_keys *keys, uint32_t id, char **text_ret)
{
    struct tbed_label_strings strings = tbed_label_strings(keys->reader);
    struct tbed_label label = {0};
    bool fine = tbed_label_make(&strings, id, &label);
    if (fine && label.is_unknown) {
        *text_ret = label.text;
        return true;
    }
    free(label.text);
    return fine && text_of(keys, id, text_ret);
}

/* With the arguments in the name as arg0="value", and those of the event as name=value, like everywhere. */
static size_t name_with_arguments(const struct row_keys *keys, uint32_t id, uint32_t arguments, char *buffer,
                                  size_t buffer_nbytes)
{
    struct tbed_text full = {0};
    char before[32];
    char *text, *part, *rest;
    if (!text_or_unknown(keys, id, &text))
        return TBED_NO_MEMORY;
    rest = text;
    for (size_t i = 0; rest != NULL; i++) {
        part = rest + strcspn(rest, SEPARATOR);
        bool is_last = *part == '\0';
        if (i > 0)
            tbed_text_put(&full, before, (size_t)snprintf(before, sizeof before, " arg%zu=", i - 1));
        (i > 0 ? tbed_text_put_quoted : tbed_text_put)(&full, rest, (size_t)(part - rest));
        rest = is_last ? NULL : part + 1;
    }
    if (text == NULL)
        tbed_text_puts(&full, "<parse error>"); /* as an empty label */
    tbed_text_puts(&full, tbed_argument_sets_text(keys->arguments, arguments));
    size_t nbytes =
        full.is_out_of_memory ? TBED_NO_MEMORY : give(buffer, buffer_nbytes, full.bytes, full.nbytes);
    free(text);
    free(full.bytes);
    return nbytes;
}

static size_t name_file(const struct row_keys *keys, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    bool is_complete = true;
    struct tbed_id_info info = tbed_id_describe(keys->reader, id, &is_complete);
    return is_complete ? give_string(buffer, buffer_nbytes, info.file != NULL ? info.file : "<no file>")
                       : TBED_NO_MEMORY;
}

/* Of a place in code, its name; of a string, the place that uses it as a name. */
static size_t name_location(const struct row_keys *keys, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    bool is_complete = true;
    char line[16];
    if (tbed_id_is_place(keys->reader, id))
        return tbed_named_text(keys->reader, keys->options, id, buffer, buffer_nbytes);
    struct tbed_id_info info = tbed_id_describe(keys->reader, id, &is_complete);
    if (!is_complete)
        return TBED_NO_MEMORY;
    if (info.file == NULL)
        return give_string(buffer, buffer_nbytes, "<no location>");
    size_t nbytes = give_string(buffer, buffer_nbytes, info.file);
    size_t own = info.line != 0 ? (size_t)snprintf(line, sizeof line, ":%u", info.line) : 0;
    size_t room = nbytes < buffer_nbytes ? buffer_nbytes - nbytes : 0;
    give(room > 0 ? buffer + nbytes : NULL, room, line, own);
    return nbytes + own;
}

/* ---- Times ---- */

#define DECIMALS_MAX 12

/* How many decimals of a second times of this width need, to the tick. */
static int decimals_of(double width_ns, double tick_ns)
{
    int decimals = 0;
    double unit = 1e9;
    for (; decimals < DECIMALS_MAX; decimals++, unit /= 10) {
        uint64_t whole = (uint64_t)(width_ns / unit + 0.5);
        double off = width_ns - (double)whole * unit;
        if (whole > 0 && off <= tick_ns && -off <= tick_ns)
            break;
    }
    return decimals;
}

/* Since the start of the trace. */
static size_t name_time(const struct row_keys *keys, uint64_t number, char *buffer, size_t buffer_nbytes)
{
    struct tbed_trace_info info;
    char text[64];
    tbed_reader_info(keys->reader, &info);
    uint64_t tick = number * keys->width;
    double width_ns = tbed_tick_span_to_ns(keys->reader, keys->width);
    if (info.clock == TBED_CLOCK_USER)
        snprintf(text, sizeof text, "%llu", (unsigned long long)tick);
    else
        snprintf(text, sizeof text, "%.*f s", decimals_of(width_ns, width_ns / (double)keys->width),
                 tbed_tick_span_to_ns(keys->reader, tick) / 1e9);
    return give_string(buffer, buffer_nbytes, text);
}

static size_t name_category(const struct row_keys *keys, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    char *text;
    if (!text_of(keys, id, &text))
        return TBED_NO_MEMORY;
    size_t nbytes = give_string(buffer, buffer_nbytes, text != NULL ? text : "<no category>");
    free(text);
    return nbytes;
}

size_t tbed_row_key_name(const struct row_keys *keys, uint64_t key, char *buffer, size_t buffer_nbytes)
{
    uint64_t number = key - STAT_KEY_FIRST;
    switch (keys->by) {
    case TBED_BY_THREAD:
        return name_thread(keys, (uint32_t)number, buffer, buffer_nbytes);
    case TBED_BY_PROCESS:
        return name_process(keys, (uint32_t)number, buffer, buffer_nbytes);
    case TBED_BY_CATEGORY:
        return name_category(keys, (uint32_t)number, buffer, buffer_nbytes);
    case TBED_BY_TIME:
        return name_time(keys, number, buffer, buffer_nbytes);
    case TBED_BY_LOCATION:
        return name_location(keys, (uint32_t)number, buffer, buffer_nbytes);
    case TBED_BY_FILE:
        return name_file(keys, (uint32_t)number, buffer, buffer_nbytes);
    default:
        return name_with_arguments(keys, (uint32_t)number, (uint32_t)(number >> 32), buffer, buffer_nbytes);
    }
}
