/*
 * What an id means, the walk over everything it contains, and its measurement. Not for users of the library.
 *
 * Three layers: a meaning is what one id stands for; a walk is a stack of meanings; a measurer walks every id once
 * and remembers the result.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRING_WALK_H
#define TRACEBED_STRING_WALK_H

#include "format/string.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/strings/string_table.h"
#include "reader/core/strings/text_budget.h"

/* ---- Meanings ---- */

struct tbed_meaning {
    enum tbed_string_meaning kind;
    uint32_t id; /* the string it is bound to, a stack's location, or the name of the location's unit */
    uint64_t pc;
    struct tbed_string_entry entry; /* its components have been checked */
};

/* Errors: the ERR_STRING_… of an id that has no text. */
enum tbed_status tbed_meaning_find(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_meaning *meaning_ret);

/* Does the string consist of at most one text? If so, sets '*text_ret' to it; it may be empty. */
bool tbed_meaning_is_plain(const struct tbed_meaning *meaning, struct tbed_content_component *text_ret);

/* Writes what is shown for an id without a text, and returns its length. */
#define TBED_STAND_IN_NBYTES 40
size_t tbed_stand_in(char text[TBED_STAND_IN_NBYTES], uint32_t id, enum tbed_status status);

/* What is shown for a string that cannot be shown at all. */
const char *tbed_refusal_text(enum tbed_status status);

/* ---- Walks ---- */

/* The caller's budget with the defaults filled in. False: it is invalid. */
bool tbed_string_budget_make(const struct tbed_string_budget *budget, struct tbed_string_budget *budget_ret);

#define TBED_WALK_DEPTH_MAX (2 * TBED_STRING_DEPTH_MAX)

struct tbed_walk {
    const struct tbed_reader *reader;
    uint32_t depth;       /* open ids */
    uint32_t bound_count; /* how many of these are bound ids, which have a limit of their own, 64 */
    uint32_t depth_max;   /* limit for the others */
    bool met_reserved;    /* a reserved id, or METADATA: its meaning may change */
    char text[TBED_STAND_IN_NBYTES];
    struct tbed_walk_frame {
        uint32_t id;
        uint32_t at;
        struct tbed_meaning meaning;
    } frames[TBED_WALK_DEPTH_MAX];
};

void tbed_walk_start(struct tbed_walk *walk, const struct tbed_reader *reader, uint32_t depth_max);

/* Opens 'id'. Errors: STRING_CYCLE, STRING_DEPTH, and those of its meaning; the id is not opened then. */
enum tbed_status tbed_walk_enter(struct tbed_walk *walk, uint32_t id);

/* The next component of the innermost id; TBED_END after the last. The text of a pc is stored in the walk. */
enum tbed_status tbed_walk_step(struct tbed_walk *walk, struct tbed_content_component *component_ret);

static inline struct tbed_walk_frame *tbed_walk_top(struct tbed_walk *walk)
{
    return &walk->frames[walk->depth - 1];
}

static inline bool tbed_walk_is_bound(struct tbed_walk *walk)
{
    return tbed_walk_top(walk)->meaning.kind == TBED_STRING_IS_BOUND;
}

/* Closes the innermost id. */
static inline void tbed_walk_leave(struct tbed_walk *walk)
{
    walk->bound_count -= tbed_walk_is_bound(walk);
    walk->depth--;
}

/* How many components a reference counts for: following a binding counts as none. */
static inline uint32_t tbed_walk_reference_cost(struct tbed_walk *walk)
{
    return tbed_walk_is_bound(walk) ? 0 : 1;
}

struct tbed_string_walk {
    struct tbed_walk walk;
    struct tbed_string_budget left; /* limits on components and bytes */
    enum tbed_status status;        /* why it ended */
    uint32_t id;
    bool has_begun;
};

void tbed_string_walk_start(struct tbed_string_walk *walk, const struct tbed_reader *reader, uint32_t id,
                            const struct tbed_string_budget *budget);

/* ---- Measures ---- */

/* The measurement of an id, including stand-ins. */
struct tbed_measure {
    uint64_t key;    /* tbed_hashmap_key32() of the id */
    uint32_t height; /* ids that are open at once, not counting bound ones */
    uint32_t bound_height;
    uint64_t nbytes;
    uint64_t component_count; /* wraps if it is not limited */
};

struct tbed_measure_frame {
    uint32_t height, bound_height;
    uint64_t nbytes_before;
    uint64_t component_count_before;
};

struct tbed_measurer {
    struct tbed_walk walk;
    struct tbed_text_credit credit;             /* pays for each component visited */
    uint64_t looks_left;                        /* components that may still be visited */
    uint64_t component_max;                     /* expanded */
    uint64_t nbytes_max;                        /* expanded */
    enum tbed_status status;                    /* the first error that was replaced by a stand-in */
    uint64_t nbytes;                            /* total of the run so far */
    uint64_t component_count;                   /* likewise */
    TBED_HASHMAP(struct tbed_measure) measures; /* no slots until the first reference */
    struct tbed_measure_frame frames[TBED_WALK_DEPTH_MAX];
    struct tbed_measure own_slots[64];
};

/*
 * 'budget' has no defaults left. Its bytes limit the expanded text; its components limit the expanded components or,
 * with 'by_looks', the components visited. Nothing is paid for out of the reader's budget unless the caller opens the
 * credit.
 */
void tbed_measurer_start(struct tbed_measurer *measurer, const struct tbed_reader *reader,
                         const struct tbed_string_budget *budget, bool by_looks);
void tbed_measurer_free(struct tbed_measurer *measurer);

/*
 * Measures 'id': '*nbytes_ret' is valid if there was no error.
 *
 * Errors: ERR_STRING_CYCLE, _DEPTH, _COMPONENTS, _BYTES, ERR_MEMORY. Other errors are in 'status'.
 */
enum tbed_status tbed_measurer_run(struct tbed_measurer *measurer, uint32_t id, uint64_t *nbytes_ret);

/* The measurement of a reference; NULL: it has not been measured. */
const struct tbed_measure *tbed_measurer_find(const struct tbed_measurer *measurer, uint32_t id);

/* ---- Resolving ---- */

/*
 * Passes the text of 'id', which has been measured, to a function piece by piece. References of length 0 are skipped,
 * because there may be 2^40 empty leaves.
 *
 * Errors: TBED_END if the function stopped it; STRING_COMPONENTS, STRING_BYTES.
 */
enum tbed_status tbed_measured_give(const struct tbed_measurer *measurer, uint32_t id,
                                    const struct tbed_string_budget *budget, tbed_string_function function,
                                    void *context);

/* Like tbed_string_resolve(). '*settled_ret': the text is complete and can never change. */
enum tbed_status tbed_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer,
                              size_t buffer_nbytes, size_t *nbytes_ret, bool *settled_ret);

#endif
