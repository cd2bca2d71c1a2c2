/*
 * The names of ids, as spelled by the reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/core/base/quoted.h"
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>

#define CUT_NBYTES ((size_t)64 << 10)
#define LABEL_END  0x1E

/* For names that the reader does not cache. While a file is written, the name may grow between the two calls. */
static enum tbed_status append_long_name(struct tool_buffer *buffer, const struct tbed_reader *reader,
                                         uint32_t id)
{
    size_t room = tbed_id_text(reader, id, TBED_NAME_ALL, NULL, 0) + 1;
    char *text = tool_realloc(NULL, room);
    size_t nbytes = tbed_id_text(reader, id, TBED_NAME_ALL, text, room);
    tool_append(buffer, text, nbytes < room ? nbytes : tbed_utf8_cut_nbytes((const uint8_t *)text, room - 1));
    free(text);
    return tbed_string_resolve(reader, id, NULL, 0, NULL);
}

enum tbed_status tool_append_whole_name(struct tool_buffer *buffer, const struct tbed_reader *reader,
                                        uint32_t id)
{
    struct tbed_name name;
    enum tbed_status status = tbed_name_get(reader, id, &name);
    if (status == TBED_ERR_CACHE_FULL || status == TBED_ERR_MEMORY)
        return append_long_name(buffer, reader, id);
    tool_append(buffer, name.text, name.nbytes);
    return status;
}

enum tbed_status tool_append_name(struct tool_buffer *buffer, const struct tbed_reader *reader, uint32_t id)
{
    size_t start = buffer->nbytes;
    enum tbed_status status = tool_append_whole_name(buffer, reader, id);
    if (buffer->nbytes - start > CUT_NBYTES) {
        buffer->nbytes = start + tbed_utf8_cut_nbytes((const uint8_t *)buffer->bytes + start, CUT_NBYTES);
        tool_append(buffer, "…", strlen("…"));
    }
    return status;
}

size_t tool_label_nbytes(const char *name, size_t nbytes)
{
    const char *end = nbytes > 0 ? memchr(name, LABEL_END, nbytes) : NULL;
    return end != NULL ? (size_t)(end - name) : nbytes;
}

static void append_quoted(struct tool_buffer *buffer, const char *text, size_t nbytes)
{
    tool_append(buffer, "\"", 1);
    for (size_t i = 0, piece; i < nbytes; i += piece) {
        piece = tbed_quoted_piece(text + i, nbytes - i);
        tool_append(buffer, "\\", tbed_takes_backslash(text[i]));
        tool_append(buffer, text + i, piece);
    }
    tool_append(buffer, "\"", 1);
}

void tool_append_event_name(struct tool_buffer *buffer, const char *name, size_t nbytes)
{
    char before[32];
    size_t label = tool_label_nbytes(name, nbytes);
    tool_append(buffer, name, label);
    for (size_t at = label, i = 0; at < nbytes; i++) {
        size_t part = tool_label_nbytes(name + at + 1, nbytes - at - 1);
        tool_append(buffer, before, (size_t)snprintf(before, sizeof before, " arg%zu=", i));
        append_quoted(buffer, name + at + 1, part);
        at += 1 + part;
    }
}

void tool_append_thread(struct tool_buffer *buffer, const struct tbed_reader *reader,
                        const struct tbed_stream_info *stream, const char *before)
{
    char number[32];
    bool is_thread = stream->tid != 0;
    tool_append(buffer, is_thread ? before : "stream ", strlen(is_thread ? before : "stream "));
    tool_append(buffer, number,
                (size_t)snprintf(number, sizeof number, "%u", is_thread ? stream->tid : stream->stream));
    if (stream->name_id == TBED_ID_INVALID)
        return;
    tool_append(buffer, " ", 1);
    tool_append_name(buffer, reader, stream->name_id);
}

enum tbed_status tool_print_name(FILE *out, const struct tbed_reader *reader, uint32_t id, size_t width)
{
    struct tool_buffer name = {0};
    enum tbed_status status = tool_append_name(&name, reader, id);
    tool_print_text(out, name.bytes, name.nbytes, width);
    free(name.bytes);
    return status;
}
