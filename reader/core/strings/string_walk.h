/*
 * What an id means, the walk over all that it contains, and what it comes to. Not for users of the library.
 *
 * Three layers: a meaning is what one id stands for; a walk is a stack of meanings; a measurer runs a walk over
 * every id once, and remembers what it came to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRING_WALK_H
#define TRACEBED_STRING_WALK_H

#include "format/string.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/strings/string_table.h"

/* ---- Meanings ---- */

struct tbed_meaning {
    enum tbed_string_meaning kind;
    uint32_t id; /* what it is bound to, a stack's location, or the name of the location's unit */
    uint64_t pc;
    struct tbed_string_entry entry; /* its components were checked */
};

/* Errors: the ERR_STRING_… of an id that has no text. */
enum tbed_status tbed_meaning_find(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_meaning *meaning_ret);

/* Is it a string of one text, or none? '*text_ret' is then that; it may be empty. */
bool tbed_meaning_is_plain(const struct tbed_meaning *meaning, struct tbed_content_component *text_ret);

/* What is shown for an id without a text; gives its length. */
#define TBED_STAND_IN_NBYTES 40
size_t tbed_stand_in(char text[TBED_STAND_IN_NBYTES], uint32_t id, enum tbed_status status);

/* What is shown for a string of which nothing can be shown. */
const char *tbed_refusal_text(enum tbed_status status);

/* ---- Walks ---- */

/* The caller's budget with the defaults filled in. False: it is not allowed. */
bool tbed_string_budget_make(const struct tbed_string_budget *budget, struct tbed_string_budget *budget_ret);

#define TBED_WALK_DEPTH_MAX (2 * TBED_STRING_DEPTH_MAX)

struct tbed_walk {
    const struct tbed_reader *reader;
    uint32_t depth;       /* ids open */
    uint32_t bound_count; /* of these, bound ones: they have a limit of their own, which is 64 */
    uint32_t depth_max;   /* of the others */
    bool met_reserved;    /* a reserved id, or METADATA: what it means may change */
    char text[TBED_STAND_IN_NBYTES];
    struct tbed_walk_frame {
        uint32_t id;
        uint32_t at;
        struct tbed_meaning meaning;
    } frames[TBED_WALK_DEPTH_MAX];
};

void tbed_walk_start(struct tbed_walk *walk, const struct tbed_reader *reader, uint32_t depth_max);

/* Opens 'id'. Errors: STRING_CYCLE, STRING_DEPTH, and those of its meaning; it is not open then. */
enum tbed_status tbed_walk_enter(struct tbed_walk *walk, uint32_t id);

/* The next component of the innermost id; TBED_END after the last. The text of a pc stands in the walk. */
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

/* How many components a reference counts where it stands: to follow a binding is none. */
static inline uint32_t tbed_walk_reference_cost(struct tbed_walk *walk)
{
    return tbed_walk_is_bound(walk) ? 0 : 1;
}

struct tbed_string_walk {
    struct tbed_walk walk;
    struct tbed_string_budget left; /* of components and bytes */
    enum tbed_status status;        /* what ended it */
    uint32_t id;
    bool has_begun;
};

void tbed_string_walk_start(struct tbed_string_walk *walk, const struct tbed_reader *reader, uint32_t id,
                            const struct tbed_string_budget *budget);

/* ---- Measures ---- */

/* What an id comes to, stand-ins included. */
struct tbed_measure {
    uint64_t key;    /* tbed_hashmap_key32() of the id */
    uint32_t height; /* ids that are open at once, bound ones apart */
    uint32_t bound_height;
    uint64_t nbytes;
    uint64_t component_count; /* wraps where nobody limits it */
};

struct tbed_measure_frame {
    uint32_t height, bound_height;
    uint64_t nbytes_before;
    uint64_t component_count_before;
};

struct tbed_measurer {
    struct tbed_walk walk;
    uint64_t looks_left;                        /* components that may still be looked at */
    uint64_t component_max;                     /* expanded */
    uint64_t nbytes_max;                        /* expanded */
    enum tbed_status status;                    /* the first trouble that has a stand-in in its place */
    uint64_t nbytes;                            /* of the run, by now */
    uint64_t component_count;                   /* the same */
    TBED_HASHMAP(struct tbed_measure) measures; /* without slots until the first reference */
    struct tbed_measure_frame frames[TBED_WALK_DEPTH_MAX];
    struct tbed_measure own_slots[64];
};

/* 'budget' is whole, its bytes count what is expanded. Components count what is expanded, or if 'by_looks' what is
 * looked at. */
void tbed_measurer_start(struct tbed_measurer *measurer, const struct tbed_reader *reader,
                         const struct tbed_string_budget *budget, bool by_looks);
void tbed_measurer_free(struct tbed_measurer *measurer);

/*
 * Measures 'id': '*nbytes_ret' is valid if there was no error.
 *
 * Errors: ERR_STRING_CYCLE, _DEPTH, _COMPONENTS, _BYTES, ERR_MEMORY. Other troubles are in 'status'.
 */
enum tbed_status tbed_measurer_run(struct tbed_measurer *measurer, uint32_t id, uint64_t *nbytes_ret);

/* What was measured of a reference; NULL: it was not. */
const struct tbed_measure *tbed_measurer_find(const struct tbed_measurer *measurer, uint32_t id);

/* ---- Resolving ---- */

/*
 * Gives the text of 'id', which was measured, piece by piece; what comes to nothing is passed over, as 2^40 empty
 * leaves are nothing to give.
 *
 * Errors: TBED_END when the function had enough; STRING_COMPONENTS, STRING_BYTES.
 */
enum tbed_status tbed_measured_give(const struct tbed_measurer *measurer, uint32_t id,
                                    const struct tbed_string_budget *budget, tbed_string_function function,
                                    void *context);

/* As tbed_string_resolve(). '*settled_ret': the text is whole, and can never be another. */
enum tbed_status tbed_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer,
                              size_t buffer_nbytes, size_t *nbytes_ret, bool *settled_ret);

#endif
