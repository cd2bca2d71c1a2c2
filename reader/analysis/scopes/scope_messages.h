/*
 * Which messages may begin or close a pair. Asked for each message of a trace, so what a
 * format says is kept by its id.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SCOPE_MESSAGES_H
#define TRACEBED_SCOPE_MESSAGES_H

#include <tracebed/analysis.h>

#define SCOPE_UNIT '\x1e' /* between the context of a message and its format, and in the name of a pair */

/* Starts with zeros. */
struct scope_formats {
    struct scope_format {
        uint32_t key;  /* the id, and in the lowest bit whether it has a context */
        uint32_t kind; /* enum scope_format_kind; 0: a free slot */
    } * slots;
    size_t count, slot_count; /* slots: a power of two, at most half of them taken */
    char *text;               /* of the format asked for last */
    size_t room;
    bool is_out_of_memory; /* once set, the answers are no good */
};

void tbed_scope_formats_free(struct scope_formats *formats);

enum scope_message {
    SCOPE_MESSAGE_OTHER,
    SCOPE_MESSAGE_TEXT,      /* starts with '{' or '}', and is its first argument */
    SCOPE_MESSAGE_FORMATTED, /* starts so, and has to be formatted */
};
enum scope_message tbed_scope_message(struct scope_formats *formats, const struct tbed_reader *reader,
                                      const struct tbed_event *event);

/* The text of an id, valid until the next question; "" where it has none, or memory is out. */
const char *tbed_scope_id_text(struct scope_formats *formats, const struct tbed_reader *reader, uint32_t id,
                               size_t *nbytes_ret);

#endif
