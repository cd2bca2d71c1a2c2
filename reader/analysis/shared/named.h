/*
 * Groups ids by name: each id gets its text, and ids with the same text form a group.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NAMED_H
#define TRACEBED_NAMED_H

#include <string.h>

#include <tracebed/analysis.h>

struct named {
    const char *text; /* NUL-terminated; owned by the names */
    size_t nbytes;
    uint32_t id;
    void *thing; /* the caller's */
};

/* By bytes; of a text and its start, the start comes first. */
static inline int tbed_text_order(const char *a, size_t a_nbytes, const char *b, size_t b_nbytes)
{
    int order = memcmp(a, b, a_nbytes < b_nbytes ? a_nbytes : b_nbytes);
    return order != 0 ? order : (a_nbytes > b_nbytes) - (a_nbytes < b_nbytes);
}

/* Texts in large chunks, which never move. */
struct named_piece;
struct named_texts {
    struct named_piece *pieces;
};
void tbed_named_texts_free(struct named_texts *texts);

/* Moves all texts of 'from', which stay where they are in memory, to 'into'. */
void tbed_named_texts_move(struct named_texts *into, struct named_texts *from);

/* Room for a text of 'nbytes', with its NUL. NULL: no memory. */
char *tbed_named_texts_take(struct named_texts *texts, size_t nbytes);

/* The text of an id under these options; the return value is that of snprintf(), or TBED_NO_MEMORY. */
size_t tbed_named_text(const struct tbed_reader *reader, const struct tbed_analysis_options *options,
                       uint32_t id, char *buffer, size_t buffer_nbytes);

/* Fills in the texts of 'items' and sorts them by text, then id. Errors: ERR_MEMORY. */
enum tbed_status tbed_named_resolve(struct named_texts *texts, const struct tbed_reader *reader,
                                    const struct tbed_analysis_options *options, struct named *items,
                                    size_t count);

/* The number of items from 'first' on that have the same text; 0 past the last. */
size_t tbed_named_group(const struct named *items, size_t count, size_t first);

/* Copies the caller's options, whatever their size, into a complete struct. Errors: ERR_ARGUMENT. */
enum tbed_status tbed_analysis_options_load(const struct tbed_analysis_options *given,
                                            struct tbed_analysis_options *options_ret);

#endif
