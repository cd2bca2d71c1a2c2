/*
 * The names of ids, as the reader keeps them. What it does not keep, because it is too long or there is too much of
 * it, is resolved each time and cut.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>

#define CUT_COUNT  4 /* how many cut names are valid at once */
#define CUT_NBYTES ((size_t)64 << 10)

/* 'nbytes' cut back so that it does not end inside a code point. */
static size_t whole_code_points(const char *text, size_t nbytes)
{
    size_t end = nbytes;
    while (end > 0 && nbytes - end < 3 && ((uint8_t)text[end - 1] & 0xC0) == 0x80)
        end--;
    if (end > 0 && (uint8_t)text[end - 1] >= 0xC0)
        return tool_utf8_step((const uint8_t *)text + end - 1, nbytes - end + 1) > 0 ? nbytes : end - 1;
    return nbytes;
}

static struct tool_text resolve_cut(const struct tbed_reader *reader, uint32_t id)
{
    static const char ellipsis[] = "…";
    static char buffers[CUT_COUNT][CUT_NBYTES + sizeof ellipsis];
    static unsigned turn;
    char *text = buffers[turn++ % CUT_COUNT];
    size_t nbytes = 0;
    enum tbed_status status = tbed_string_resolve(reader, id, text, CUT_NBYTES, &nbytes);
    if (nbytes < CUT_NBYTES)
        return (struct tool_text){text, nbytes, status, false};
    nbytes = whole_code_points(text, CUT_NBYTES - 1);
    memcpy(text + nbytes, ellipsis, sizeof ellipsis);
    return (struct tool_text){text, nbytes + sizeof ellipsis - 1, status, true};
}

struct tool_text tool_name_text(struct tbed_reader *reader, uint32_t id)
{
    struct tbed_name name;
    enum tbed_status status = tbed_name_get(reader, id, &name);
    if (status == TBED_ERR_CACHE_FULL || status == TBED_ERR_MEMORY)
        return resolve_cut(reader, id);
    return (struct tool_text){name.text, name.nbytes, status, false};
}

const char *tool_name(struct tbed_reader *reader, uint32_t id)
{
    return tool_name_text(reader, id).text;
}

struct tool_text tool_name_whole(struct tbed_reader *reader, uint32_t id)
{
    static char *buffer;
    static size_t capacity;
    struct tbed_name name;
    enum tbed_status kept = tbed_name_get(reader, id, &name);
    if (kept != TBED_ERR_CACHE_FULL && kept != TBED_ERR_MEMORY)
        return (struct tool_text){name.text, name.nbytes, kept, false};
    size_t nbytes = 0;
    tbed_string_resolve(reader, id, NULL, 0, &nbytes);
    if (nbytes + 1 > capacity) {
        capacity = nbytes + 1;
        buffer = tool_realloc(buffer, capacity);
    }
    /* A file that is still written may give the id a longer meaning in between. */
    enum tbed_status status = tbed_string_resolve(reader, id, buffer, capacity, &nbytes);
    size_t end = nbytes < capacity ? nbytes : whole_code_points(buffer, capacity - 1);
    return (struct tool_text){buffer, end, status, false};
}
