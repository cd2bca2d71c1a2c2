/*
 * Equality of strings without expanding them.
 *
 * Both are measured first: texts of different lengths differ, and the lengths are used on the way. Then two walks
 * advance together, byte by byte. Where both are at a reference, the same id on both sides is skipped, and so is a
 * pair that was found equal before; otherwise the longer one is opened.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/strings/string_walk.h"

/* ---- Pairs found equal ---- */

/* id << 32 | other id. Two ids of 0 are the same id, and no pair. */
typedef TBED_HASHMAP(uint64_t) pair_set;

static uint64_t pair_make(uint32_t id, uint32_t other_id)
{
    return (uint64_t)id << 32 | other_id;
}

/* ---- Two walks ---- */

struct side {
    struct tbed_walk walk;
    struct tbed_content_component next; /* the current item: a reference, or the rest of a text */
    bool is_at_end;
};

struct comparison {
    struct side sides[2];
    struct tbed_measurer measurer;
    uint64_t looks_left;
    pair_set pairs;
    uint64_t opened[TBED_WALK_DEPTH_MAX]; /* by the first side's depth: the pair opened together; 0: none */
};

static enum tbed_status look(struct comparison *comparison)
{
    if (comparison->looks_left == 0)
        return TBED_ERR_STRING_COMPONENTS;
    comparison->looks_left--;
    return TBED_OK;
}

/* When the first side closes an id, it was equal to the one opened with it, since both were compared to the end. */
static enum tbed_status leave(struct comparison *comparison, struct side *side)
{
    tbed_walk_leave(&side->walk);
    uint32_t depth = side->walk.depth;
    if (side != &comparison->sides[0] || comparison->opened[depth] == 0)
        return TBED_OK;
    bool is_kept = TBED_HASHMAP_ADD(&comparison->pairs, comparison->opened[depth]) != NULL;
    return is_kept ? TBED_OK : TBED_ERR_MEMORY;
}

static uint64_t nbytes_of(const struct comparison *comparison, const struct side *side)
{
    if (!side->next.is_reference)
        return side->next.nbytes;
    const struct tbed_measure *measure = tbed_measurer_find(&comparison->measurer, side->next.id);
    return measure != NULL ? measure->nbytes
                           : UINT64_MAX; /* all have been measured, unless the file has changed */
}

/* Moves to the next item that is not empty. */
static enum tbed_status advance(struct comparison *comparison, struct side *side)
{
    enum tbed_status status = TBED_OK;
    while (status == TBED_OK) {
        if (side->walk.depth == 0) {
            side->is_at_end = true;
            return TBED_OK;
        }
        if (tbed_walk_step(&side->walk, &side->next) != TBED_OK) {
            status = leave(comparison, side);
            continue;
        }
        status = look(comparison);
        if (status == TBED_OK && nbytes_of(comparison, side) > 0)
            return TBED_OK;
    }
    return status;
}

static enum tbed_status open(struct comparison *comparison, struct side *side, uint64_t pair)
{
    enum tbed_status status = tbed_walk_enter(&side->walk, side->next.id);
    if (status != TBED_OK)
        return status;
    if (side == &comparison->sides[0])
        comparison->opened[side->walk.depth - 1] = pair;
    return advance(comparison, side);
}

static enum tbed_status advance_both(struct comparison *comparison)
{
    enum tbed_status status = advance(comparison, &comparison->sides[0]);
    return status == TBED_OK ? advance(comparison, &comparison->sides[1]) : status;
}

static enum tbed_status meet_references(struct comparison *comparison)
{
    struct side *a = &comparison->sides[0], *b = &comparison->sides[1];
    uint64_t pair = pair_make(a->next.id, b->next.id);
    if (a->next.id == b->next.id || TBED_HASHMAP_FIND(&comparison->pairs, pair) != NULL)
        return advance_both(comparison);
    uint64_t a_nbytes = nbytes_of(comparison, a), b_nbytes = nbytes_of(comparison, b);
    if (a_nbytes < b_nbytes)
        return open(comparison, b, 0);
    enum tbed_status status = open(comparison, a, a_nbytes == b_nbytes ? pair : 0);
    return status == TBED_OK && a_nbytes == b_nbytes ? open(comparison, b, 0) : status;
}

static enum tbed_status compare_texts(struct comparison *comparison, bool *equal)
{
    struct side *a = &comparison->sides[0], *b = &comparison->sides[1];
    uint32_t nbytes = a->next.nbytes < b->next.nbytes ? a->next.nbytes : b->next.nbytes;
    enum tbed_status status = TBED_OK;
    *equal = memcmp(a->next.text, b->next.text, nbytes) == 0;
    for (int i = 0; i < 2 && *equal && status == TBED_OK; i++) {
        struct side *side = &comparison->sides[i];
        side->next.text += nbytes;
        side->next.nbytes -= nbytes;
        if (side->next.nbytes == 0)
            status = advance(comparison, side);
    }
    return status;
}

static enum tbed_status compare(struct comparison *comparison, bool *equal_ret)
{
    struct side *a = &comparison->sides[0], *b = &comparison->sides[1];
    enum tbed_status status = advance_both(comparison);
    bool is_equal = true;
    while (status == TBED_OK && is_equal && !a->is_at_end && !b->is_at_end) {
        if (a->next.is_reference && b->next.is_reference)
            status = meet_references(comparison);
        else if (a->next.is_reference || b->next.is_reference)
            status = open(comparison, a->next.is_reference ? a : b, 0);
        else
            status = compare_texts(comparison, &is_equal);
    }
    *equal_ret = status == TBED_OK && is_equal && a->is_at_end && b->is_at_end;
    return status;
}

/* Starts both walks, and refuses strings that do not resolve. */
static enum tbed_status start(struct comparison *comparison, const struct tbed_reader *reader,
                              const uint32_t ids[2], const struct tbed_string_budget *budget,
                              bool *same_length_ret)
{
    uint64_t nbytes[2] = {0, 0};
    enum tbed_status status = TBED_OK;
    tbed_measurer_start(&comparison->measurer, reader, budget, true);
    for (int i = 0; i < 2 && status == TBED_OK; i++) {
        status = tbed_measurer_run(&comparison->measurer, ids[i], &nbytes[i]);
        if (status == TBED_OK)
            status = comparison->measurer.status;
    }
    *same_length_ret = nbytes[0] == nbytes[1];
    comparison->looks_left = comparison->measurer.looks_left;
    comparison->pairs = (pair_set){0};
    for (int i = 0; i < 2 && status == TBED_OK; i++) {
        comparison->sides[i].is_at_end = false;
        tbed_walk_start(&comparison->sides[i].walk, reader, budget->depth);
        status = tbed_walk_enter(&comparison->sides[i].walk, ids[i]);
    }
    comparison->opened[0] = 0;
    return status;
}

enum tbed_status tbed_string_equals(const struct tbed_reader *reader, uint32_t id, uint32_t other_id,
                                    const struct tbed_string_budget *budget, bool *equal_ret)
{
    struct tbed_string_budget whole;
    struct comparison comparison; /* 40 KiB */
    bool is_same_length;
    *equal_ret = false;
    if (!tbed_string_budget_make(budget, &whole))
        return TBED_ERR_ARGUMENT;
    enum tbed_status status =
        start(&comparison, reader, (const uint32_t[]){id, other_id}, &whole, &is_same_length);
    if (status == TBED_OK && is_same_length) {
        *equal_ret = id == other_id;
        if (id != other_id)
            status = compare(&comparison, equal_ret);
    }
    tbed_measurer_free(&comparison.measurer);
    tbed_hashmap_free(&comparison.pairs.map);
    return status;
}

/* ---- Comparison with a text ---- */

struct text {
    const char *at;
    size_t left;
};

static bool is_same(void *context, const char *text, size_t nbytes)
{
    struct text *rest = context;
    if (nbytes > rest->left || memcmp(rest->at, text, nbytes) != 0)
        return false;
    rest->at += nbytes;
    rest->left -= nbytes;
    return true;
}

static enum tbed_status compare_text(struct tbed_measurer *measurer, uint32_t id,
                                     const struct tbed_string_budget *budget, struct text *rest,
                                     bool *equal_ret)
{
    uint64_t nbytes;
    enum tbed_status status = tbed_measurer_run(measurer, id, &nbytes);
    if (status == TBED_OK)
        status = measurer->status;
    if (status != TBED_OK || nbytes != rest->left)
        return status;
    status = tbed_measured_give(measurer, id, budget, is_same, rest);
    *equal_ret = status == TBED_OK && rest->left == 0;
    return status == TBED_END ? TBED_OK : status; /* stopped by the function: they differ */
}

enum tbed_status tbed_string_equals_text(const struct tbed_reader *reader, uint32_t id, const char *text,
                                         size_t nbytes, const struct tbed_string_budget *budget,
                                         bool *equal_ret)
{
    struct text rest = {text, nbytes};
    struct tbed_string_budget whole;
    struct tbed_measurer measurer;
    *equal_ret = false;
    if (!tbed_string_budget_make(budget, &whole))
        return TBED_ERR_ARGUMENT;
    whole.nbytes = nbytes;
    tbed_measurer_start(&measurer, reader, &whole, true);
    enum tbed_status status = compare_text(&measurer, id, &whole, &rest, equal_ret);
    tbed_measurer_free(&measurer);
    return status;
}
