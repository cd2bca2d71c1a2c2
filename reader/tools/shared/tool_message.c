/*
 * A growing buffer, and the text of events appended to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <string.h>

#define ROOM_FIRST 256 /* enough for most texts */

static void have_room(struct tool_buffer *buffer, size_t nbytes)
{
    if (nbytes <= buffer->capacity - buffer->nbytes)
        return;
    buffer->capacity = (buffer->nbytes + nbytes) * 2 + 64;
    buffer->bytes = tool_realloc(buffer->bytes, buffer->capacity);
}

void tool_append(struct tool_buffer *buffer, const char *bytes, size_t nbytes)
{
    if (nbytes == 0)
        return;
    have_room(buffer, nbytes);
    memcpy(buffer->bytes + buffer->nbytes, bytes, nbytes);
    buffer->nbytes += nbytes;
}

/* The free space of the buffer, for library calls that work like snprintf(). */
static char *end_of(struct tool_buffer *buffer, size_t *room_ret)
{
    *room_ret = buffer->capacity - buffer->nbytes;
    return buffer->bytes + buffer->nbytes;
}

/* Accepts 'nbytes' that were written there. Returns false after making room if they did not fit: write them again. */
static bool take(struct tool_buffer *buffer, size_t nbytes)
{
    bool fits = nbytes < buffer->capacity - buffer->nbytes;
    if (fits)
        buffer->nbytes += nbytes;
    else
        have_room(buffer, nbytes + 1);
    return fits;
}

void tool_append_value(struct tool_buffer *buffer, struct tbed_reader *reader,
                       const struct tbed_argument *argument)
{
    size_t nbytes, room;
    have_room(buffer, ROOM_FIRST);
    do {
        char *end = end_of(buffer, &room);
        nbytes = tbed_argument_text(reader, argument, end, room);
    } while (!take(buffer, nbytes));
}

void tool_append_arguments(struct tool_buffer *buffer, struct tbed_reader *reader,
                           const struct tbed_event *event)
{
    size_t nbytes, room;
    if (event->argument_count == 0)
        return;
    have_room(buffer, ROOM_FIRST);
    do {
        char *end = end_of(buffer, &room);
        nbytes = tbed_arguments_text(reader, &event->arguments, event->argument_count, end, room);
    } while (!take(buffer, nbytes));
}

void tool_append_message(struct tool_buffer *buffer, struct tbed_reader *reader,
                         const struct tbed_event *event)
{
    size_t nbytes, room;
    have_room(buffer, ROOM_FIRST);
    do {
        char *end = end_of(buffer, &room);
        nbytes = tbed_message_text(reader, event, TBED_MESSAGE_ALL, end, room);
    } while (!take(buffer, nbytes));
}
