/*
 * What `tracebed flows` calls spans and threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flows/flows_verb.h"

#include <string.h>

const struct tool_buffer *flows_label(struct flows_verb *verb, uint32_t id)
{
    char name[512];
    verb->text.nbytes = 0;
    if (id == TBED_ID_INVALID) {
        tool_append(&verb->text, "(outside of all spans)", strlen("(outside of all spans)"));
        return &verb->text;
    }
    size_t nbytes = tool_places_name(&verb->places, id, name, sizeof name);
    nbytes = nbytes < sizeof name ? nbytes : sizeof name - 1;
    tool_append(&verb->text, name, tool_label_nbytes(name, nbytes));
    return &verb->text;
}

const struct tool_buffer *flows_thread(struct flows_verb *verb, uint32_t number)
{
    struct tbed_stream_info stream = {.name_id = TBED_ID_INVALID};
    char text[48];
    size_t i = 0;
    while (tbed_stream_get(verb->reader, i, &stream) && stream.stream != number)
        i++;
    bool has_thread = stream.stream == number && stream.tid != 0;
    int nbytes =
        snprintf(text, sizeof text, has_thread ? "thread %u" : "stream %u", has_thread ? stream.tid : number);
    verb->text.nbytes = 0;
    tool_append(&verb->text, text, (size_t)nbytes);
    if (stream.stream == number && stream.name_id != TBED_ID_INVALID) {
        tool_append(&verb->text, " ", 1);
        tool_append_name(&verb->text, verb->reader, stream.name_id);
    }
    return &verb->text;
}
