/*
 * The label of an event id: the text before the first U+001E of what it means. One set of rules, whoever asks, and
 * whatever the strings stand in. Not for users of the library.
 *
 * Source: spec/measureme.md, "Profiles", rule 1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LABEL_H
#define TRACEBED_LABEL_H

#include <tracebed/reader.h>

#define TBED_LABEL_DEPTH_MAX      64u   /* strings that are open at one time */
#define TBED_LABEL_COMPONENTS_MAX 4096u /* up to the label's end: a walk pays for each */
#define TBED_LABEL_NBYTES_MAX     65535u

/* Of all labels of an analysis: a hostile file of a few MiB has ids that come to some TiB. */
#define TBED_LABELS_NBYTES_MAX ((size_t)1 << 30)

/* ---- Where strings stand ---- */

struct tbed_label_component {
    bool is_reference;
    uint64_t id;      /* of a reference */
    const char *text; /* else; valid until the next */
    size_t nbytes;
};

/* A walk over the components of one string; what it holds is the source's. */
struct tbed_label_walk {
    _Alignas(16) unsigned char space[160];
};

struct tbed_label_strings {
    const void *context;
    bool has_no_strings; /* then ids read "<id 42>", not "<unknown>" */
    uint64_t invalid_id; /* all the same "<unknown>" */

    /* The first: OK, or why the id has no string. The second gives END after the last component, or what is wrong.
     * Any thread. */
    enum tbed_status (*walk_start)(const void *context, uint64_t id, struct tbed_label_walk *walk);
    enum tbed_status (*walk_next)(struct tbed_label_walk *walk, struct tbed_label_component *component_ret);
};

/* Those of a trace. A string that is damaged is none. A location is a string of its unit's name and its place there. */
struct tbed_label_strings tbed_label_strings(const struct tbed_reader *reader);

/* ---- Labels ---- */

/* Starts with zeros; the caller frees 'text'. */
struct tbed_label {
    char *text; /* terminated */
    size_t nbytes, room;
    enum tbed_status status; /* OK; of what has no text; or why there is a stand-in for the whole */
    bool is_unknown;         /* the id itself has no text */
    bool lends;         /* it is the label of any sound string that refers to the id first, and to no more */
    uint64_t lowest_id; /* of those that were looked at */
};

/* False: no memory. An empty label, or one with control characters, is left as it is. */
bool tbed_label_make(const struct tbed_label_strings *strings, uint64_t id, struct tbed_label *label);

/* The same as a row has it: "<parse error>" where it is empty or has control characters. */
bool tbed_label_make_row(const struct tbed_label_strings *strings, uint64_t id, struct tbed_label *label);

/* The same for a text that is there, up to its first U+001E. */
bool tbed_label_of_text(const char *text, size_t nbytes, struct tbed_label *label);

#endif
