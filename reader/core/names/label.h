/*
 * The label of an event id: the text before the first U+001E. The same rules apply to traces and to foreign files.
 * Not for users of the library.
 *
 * Source: spec/measureme.md, "Profiles", rule 1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LABEL_H
#define TRACEBED_LABEL_H

#include "reader/core/strings/text_budget.h"

#include <tracebed/reader.h>

#define TBED_LABEL_DEPTH_MAX      64u   /* strings that are open at one time */
#define TBED_LABEL_COMPONENTS_MAX 4096u /* up to the label's end: a walk pays for each */
#define TBED_LABEL_NBYTES_MAX     65535u

/* The total of all labels in an analysis: a hostile file of a few MiB can have ids that expand to TiB. */
#define TBED_LABELS_NBYTES_MAX ((size_t)1 << 30)

/* ---- Where strings come from ---- */

struct tbed_label_component {
    bool is_reference;
    uint64_t id;      /* of a reference */
    const char *text; /* else; valid until the next */
    size_t nbytes;
};

/* A walk over the components of one string; its content belongs to the source. */
struct tbed_label_walk {
    _Alignas(16) unsigned char space[160];
};

struct tbed_label_strings {
    const void *context;
    bool has_no_strings;             /* then ids read "<id 42>", not "<unknown>" */
    uint64_t invalid_id;             /* all the same "<unknown>" */
    struct tbed_text_budget *budget; /* for long labels; NULL: no limit */

    /* walk_start() returns OK, or why the id has no string; walk_next() returns END after the last component, or what is
     * wrong. Any thread. */
    enum tbed_status (*walk_start)(const void *context, uint64_t id, struct tbed_label_walk *walk);
    enum tbed_status (*walk_next)(struct tbed_label_walk *walk, struct tbed_label_component *component_ret);
};

/* The strings of a trace. A damaged string counts as missing. A location is a string of its unit's name and its pc. */
struct tbed_label_strings tbed_label_strings(const struct tbed_reader *reader);

/* ---- Labels ---- */

/* Starts with zeros; the caller frees 'text'. */
struct tbed_label {
    char *text; /* terminated */
    size_t nbytes, room;
    enum tbed_status status; /* OK; the error of a part without text; or why there is only a stand-in */
    bool is_unknown;         /* the id itself has no text */
    /* Any intact string that begins with a reference to the id, and has no other, has the same label. */
    bool lends;
    uint64_t lowest_id; /* of those visited */
};

/* False: no memory. Empty labels and control characters are kept. */
bool tbed_label_make(const struct tbed_label_strings *strings, uint64_t id, struct tbed_label *label);

/* The same for a row of an analysis: "<parse error>" if it is empty or has control characters. */
bool tbed_label_make_row(const struct tbed_label_strings *strings, uint64_t id, struct tbed_label *label);

#endif
