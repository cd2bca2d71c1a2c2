/*
 * Words on the command line: commands and the values of options, and suggestions for misspelled ones.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <string.h>

const struct tool_watcher *tool_watcher;

#define WORD_ROOM 32 /* longer words are not compared */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters inserted, removed or replaced, and neighbours swapped. */
static unsigned edit_distance(const char *from, const char *to)
{
    unsigned rows[3][WORD_ROOM];
    size_t to_count = strlen(to);
    if (to_count >= WORD_ROOM || strlen(from) >= WORD_ROOM)
        return WORD_ROOM;
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= to_count; j++)
        row[j] = j;
    for (unsigned i = 1; from[i - 1] != '\0'; i++) {
        unsigned *oldest = before;
        before = above, above = row, row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= to_count; j++) {
            unsigned change = above[j - 1] + (from[i - 1] != to[j - 1]);
            row[j] = least(change, 1 + least(row[j - 1], above[j]));
            bool is_swap = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if (is_swap)
                row[j] = least(row[j], 1 + before[j - 2]);
        }
    }
    return row[to_count];
}

/* Two edits turn most words of four letters into each other, so short words may differ by one. */
const char *tool_word_nearest(const char *const *words, size_t count, const char *word)
{
    size_t nbytes = strlen(word);
    const char *best = NULL;
    unsigned best_distance = nbytes < 5 ? 2 : 3;
    for (size_t i = 0; i < count; i++) {
        bool is_start = nbytes >= 2 && strncmp(words[i], word, nbytes) == 0;
        unsigned distance = is_start ? 0 : edit_distance(word, words[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = words[i];
        }
    }
    return best;
}

size_t tool_word_find(const char *const *words, size_t count, const char *word)
{
    size_t at = 0;
    while (at < count && strcmp(words[at], word) != 0)
        at++;
    return at;
}

static const char *unknown_word(const char *what, const char *const *words, size_t count, const char *word)
{
    static char message[1024];
    const char *near = tool_word_nearest(words, count, word);
    int nbytes = snprintf(message, sizeof message, "%s '%.64s'", what, word);
    size_t at = (size_t)nbytes;
    if (near != NULL)
        at += (size_t)snprintf(message + at, sizeof message - at, "; did you mean '%s'?", near);
    for (size_t i = 0; i < count && at < sizeof message; i++)
        at += (size_t)snprintf(message + at, sizeof message - at, "%s%s", i == 0 ? " (expected " : ", ",
                               words[i]);
    if (at < sizeof message)
        snprintf(message + at, sizeof message - at, ")");
    return message;
}

const char *tool_takes(const char *expected, const char *argument)
{
    static char message[1024];
    snprintf(message, sizeof message, "%s, not '%.512s'", expected, argument);
    return message;
}

const char *tool_word_choose(const char *what, const char *const *words, size_t count, const char *word,
                             size_t *index_ret)
{
    size_t at = tool_word_find(words, count, word);
    if (tool_watcher != NULL)
        tool_watcher->words(words, count, word);
    if (at == count)
        return unknown_word(what, words, count, word);
    *index_ret = at;
    return NULL;
}
