/*
 * Suppressed leaks; see leaks.h. Each frame is named and compared with the patterns once, and each stack takes over the
 * verdict of its parent unless its own innermost frame has one. Likewise, each stack goes on with the comparison of its
 * parent with the suppressions of valgrind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/leaks/leaks.h"
#include "reader/analysis/leaks/suppressions.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
#include "reader/core/names/id_info.h"

#define FRAMES_MAX 128u

/* Verdicts: none yet, no suppression, or the index of one + FIRST. */
enum { UNKNOWN, NOTHING, FIRST };

struct verdict {
    uint64_t key;
    uint32_t verdict;
    uint32_t sets; /* the first of its sets in 'judge.sets' */
    uint32_t
        set_count; /* of a location: one for each function, the innermost first; of a stack: one, its state */
    bool is_pool_place;
};

struct judge {
    const struct tbed_reader *reader;
    const struct tbed_suppressions *suppressions;
    TBED_HASHMAP(struct verdict) stacks;
    TBED_HASHMAP(struct verdict) frames;
    TBED_VECTOR(uint32_t) locations; /* of all frames */
    TBED_VECTOR(uint32_t) path;      /* from a stack outwards */
    TBED_VECTOR(char) text;
    /* Suppressions of valgrind. */
    const struct valgrind_blocks *blocks;
    size_t first_block;         /* its number */
    size_t word_count;          /* of a set; 0: there are no blocks */
    TBED_VECTOR(uint64_t) sets; /* first SET_ALLOCATOR and so on */
};

enum { SET_ALLOCATOR, SET_BEGIN, SET_LAST, SET_SPARE, SET_COUNT };

/* An id that is no stack is a location without a parent. */
static uint32_t location_of(const struct judge *judge, uint32_t id, uint32_t *parent_ret)
{
    uint32_t location;
    if (tbed_stack_get(judge->reader, id, &location, parent_ret))
        return location;
    *parent_ret = TBED_ID_INVALID;
    return id;
}

/* ---- Sets of lines of valgrind's suppressions ---- */

static uint64_t *set_at(const struct judge *judge, size_t index)
{
    return judge->sets.items + index * judge->word_count;
}

/* Adds empty sets. False: no memory. */
static bool sets_add(struct judge *judge, size_t count, uint32_t *first_ret)
{
    size_t word_count = count * judge->word_count;
    if (word_count == 0)
        return true;
    *first_ret = (uint32_t)(judge->sets.count / judge->word_count);
    uint64_t *sets = TBED_VECTOR_EXTEND(&judge->sets, word_count);
    if (sets != NULL)
        memset(sets, 0, word_count * sizeof *sets);
    return sets != NULL;
}

/* False: no memory. */
static bool sets_begin(struct judge *judge)
{
    uint32_t first;
    judge->blocks = tbed_suppressions_valgrind(judge->suppressions, &judge->first_block);
    judge->word_count = tbed_valgrind_word_count(judge->blocks);
    if (judge->word_count == 0)
        return true;
    if (!sets_add(judge, SET_COUNT, &first))
        return false;
    tbed_valgrind_match_allocator(judge->blocks, set_at(judge, SET_ALLOCATOR));
    tbed_valgrind_begin(judge->blocks, set_at(judge, SET_BEGIN));
    return true;
}

/* The state of a stack from that of its parent, which may be NULL. False: no memory. */
static bool state_make(struct judge *judge, struct verdict *stack, const struct verdict *parent,
                       const struct verdict *location)
{
    if (judge->word_count == 0)
        return true;
    if (!sets_add(judge, 1, &stack->sets))
        return false;
    uint64_t *state = set_at(judge, stack->sets);
    memcpy(state, set_at(judge, parent != NULL ? parent->sets : SET_BEGIN),
           judge->word_count * sizeof *state);
    for (uint32_t i = location->set_count; i-- > 0;)
        tbed_valgrind_step(judge->blocks, set_at(judge, location->sets + i), state, set_at(judge, SET_SPARE));
    return true;
}

/* The first block of valgrind that matches; SIZE_MAX: none. */
static size_t find_block(const struct judge *judge, const struct verdict *stack)
{
    if (judge->word_count == 0)
        return SIZE_MAX;
    uint64_t *last = set_at(judge, SET_LAST);
    memcpy(last, set_at(judge, stack->sets), judge->word_count * sizeof *last);
    tbed_valgrind_step(judge->blocks, set_at(judge, SET_ALLOCATOR), last, set_at(judge, SET_SPARE));
    return tbed_valgrind_first(judge->blocks, last);
}

/* ---- All frames ---- */

/* False: no memory. */
static bool add_location(struct judge *judge, uint32_t location)
{
    size_t before = judge->frames.map.count;
    if (TBED_HASHMAP_ADD(&judge->frames, tbed_hashmap_key32(location)) == NULL)
        return false;
    if (judge->frames.map.count == before)
        return true;
    uint32_t *place = TBED_VECTOR_PUSH(&judge->locations);
    if (place != NULL)
        *place = location;
    return place != NULL;
}

/* Adds the frames of a stack up to the first that is known. False: no memory. */
static bool add_stack(struct judge *judge, uint32_t id)
{
    while (id != TBED_ID_INVALID) { /* a parent's id is below its child's, so there is no circle */
        size_t before = judge->stacks.map.count;
        if (TBED_HASHMAP_ADD(&judge->stacks, tbed_hashmap_key32(id)) == NULL)
            return false;
        if (judge->stacks.map.count == before)
            return true;
        if (!add_location(judge, location_of(judge, id, &id)))
            return false;
    }
    return true;
}

/* ---- Verdicts on frames ---- */

/* NULL: it has none, or '*complete' becomes false. */
static const char *text_of(const struct tbed_reader *reader, uint32_t id, bool *complete)
{
    struct tbed_name name;
    enum tbed_status status = id != TBED_ID_INVALID ? tbed_name_get(reader, id, &name) : TBED_END;
    *complete &= status != TBED_ERR_MEMORY;
    return status == TBED_OK ? name.text : NULL;
}

/* Sets MODULE!FUNCTION. False: no memory. */
static bool spell_together(struct judge *judge, const char *module, struct suppression_frame *frame)
{
    const char *function = frame->function != NULL ? frame->function : "";
    size_t module_nbytes = strlen(module), nbytes = strlen(function);
    if (!TBED_VECTOR_RESERVE(&judge->text, module_nbytes + nbytes + 2))
        return false;
    memcpy(judge->text.items, module, module_nbytes);
    judge->text.items[module_nbytes] = '!';
    memcpy(judge->text.items + module_nbytes + 1, function, nbytes + 1);
    frame->together = judge->text.items;
    return true;
}

/* Compares one function, the innermost that a pattern matches counting. False: no memory. */
static bool match_frame(struct judge *judge, struct suppression_frame *frame, const char *module,
                        struct verdict *verdict, uint32_t index)
{
    if (module != NULL && !spell_together(judge, module, frame))
        return false;
    if (judge->word_count > 0)
        tbed_valgrind_match(judge->blocks, frame, set_at(judge, verdict->sets + index));
    if (verdict->verdict >= FIRST)
        return true;
    size_t match = tbed_suppressions_match(judge->suppressions, frame);
    verdict->verdict = match == SIZE_MAX ? NOTHING : (uint32_t)match + FIRST;
    verdict->is_pool_place |= tbed_suppressions_is_pool_place(frame);
    return true;
}

/* False: no memory. */
static bool expect_frames(struct judge *judge, struct verdict *verdict, size_t count)
{
    verdict->set_count = (uint32_t)count;
    return sets_add(judge, count, &verdict->sets);
}

/* Compares the functions at a location, the innermost first. False: no memory. */
static bool judge_location(struct judge *judge, uint32_t id)
{
    struct verdict *verdict = TBED_HASHMAP_FIND(&judge->frames, tbed_hashmap_key32(id));
    struct tbed_location location;
    struct tbed_frame frames[FRAMES_MAX] = {0};
    struct suppression_frame frame = {0};
    const char *module = NULL;
    bool complete = true;
    if (!tbed_location_resolve(judge->reader, id, &location)) {
        frame.function = text_of(judge->reader, id, &complete);
        return expect_frames(judge, verdict, 1) && match_frame(judge, &frame, NULL, verdict, 0) && complete;
    }
    if (location.has_unit && location.unit.kind == TBED_UNIT_NATIVE) {
        module = tbed_module_name(judge->reader, &location.unit, &complete);
        frame.module = text_of(judge->reader, location.unit.name_id, &complete);
    }
    size_t count = tbed_place_frames(judge->reader, &location, frames, FRAMES_MAX, &complete);
    count = count == 0 ? 1 : count < FRAMES_MAX ? count : FRAMES_MAX;
    if (!expect_frames(judge, verdict, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        frame.function = frames[i].function;
        frame.file = frames[i].file;
        if (!match_frame(judge, &frame, module, verdict, (uint32_t)i))
            return false;
    }
    return complete;
}

static bool judge_locations(struct judge *judge, const struct tbed_analysis_options *options)
{
    const uint32_t *ids = judge->locations.items;
    size_t count = judge->locations.count;
    if (options->name == NULL)
        tbed_names_prepare(judge->reader, ids, count, false);
    else if (options->prepare != NULL && count > 0)
        options->prepare(options->name_context, ids, count);
    for (size_t i = 0; i < count; i++)
        if (!judge_location(judge, ids[i]))
            return false;
    return true;
}

/* ---- Verdicts on stacks ---- */

static struct verdict *verdict_of(const struct judge *judge, uint32_t id)
{
    return TBED_HASHMAP_FIND(&judge->stacks, tbed_hashmap_key32(id));
}

/* UNKNOWN: no memory. */
static uint32_t judge_stack(struct judge *judge, uint32_t id)
{
    uint32_t verdict = NOTHING, parent;
    const struct verdict *outer = NULL;
    judge->path.count = 0;
    for (; id != TBED_ID_INVALID; id = parent) {
        uint32_t *step;
        const struct verdict *known = verdict_of(judge, id);
        if (known->verdict != UNKNOWN) {
            outer = known;
            verdict = known->verdict;
            break;
        }
        step = TBED_VECTOR_PUSH(&judge->path);
        if (step == NULL)
            return UNKNOWN;
        *step = id;
        location_of(judge, id, &parent);
    }
    while (judge->path.count > 0) {
        id = judge->path.items[--judge->path.count];
        uint32_t location = location_of(judge, id, &parent);
        const struct verdict *own = TBED_HASHMAP_FIND(&judge->frames, tbed_hashmap_key32(location));
        struct verdict *stack = verdict_of(judge, id);
        verdict = own->verdict >= FIRST ? own->verdict : verdict;
        if (!state_make(judge, stack, outer, own))
            return UNKNOWN;
        stack->verdict = verdict;
        outer = stack;
    }
    return verdict;
}

/* The emergency pool is the only block of its site. A site of the id INVALID has no location. */
static size_t find_pool(const struct judge *judge, const struct heap_site *site)
{
    uint32_t parent, location = location_of(judge, site->id, &parent);
    const struct verdict *place = TBED_HASHMAP_FIND(&judge->frames, tbed_hashmap_key32(location));
    return place != NULL && place->is_pool_place && site->sums.live_count == 1
               ? tbed_suppressions_pool(judge->suppressions, site->sums.live_nbytes)
               : SIZE_MAX;
}

/* False: no memory. */
static bool judge_site(struct judge *judge, struct heap_site *site)
{
    uint32_t verdict = judge_stack(judge, site->id);
    const struct verdict *stack = verdict_of(judge, site->id);
    size_t block = verdict != UNKNOWN && stack != NULL ? find_block(judge, stack) : SIZE_MAX;
    size_t pool = verdict == NOTHING ? find_pool(judge, site) : SIZE_MAX;
    if (block != SIZE_MAX)
        site->suppression = (uint32_t)(judge->first_block + block) + 1;
    else
        site->suppression = verdict >= FIRST   ? verdict - FIRST + 1
                            : pool != SIZE_MAX ? (uint32_t)pool + 1
                                               : 0;
    return verdict != UNKNOWN;
}

enum tbed_status tbed_leaks_judge(const struct tbed_reader *reader,
                                  const struct tbed_analysis_options *options, struct heap_site *const *sites,
                                  size_t count)
{
    struct judge judge = {.reader = reader, .suppressions = options->suppressions};
    bool fine = sets_begin(&judge);
    for (size_t i = 0; fine && i < count; i++)
        if (sites[i]->sums.live_count > 0)
            fine = add_stack(&judge, sites[i]->id);
    fine = fine && judge_locations(&judge, options);
    for (size_t i = 0; fine && i < count; i++)
        if (sites[i]->sums.live_count > 0)
            fine = judge_site(&judge, sites[i]);
    tbed_hashmap_free(&judge.stacks.map);
    tbed_hashmap_free(&judge.frames.map);
    tbed_vector_free(&judge.locations.vector);
    tbed_vector_free(&judge.path.vector);
    tbed_vector_free(&judge.text.vector);
    tbed_vector_free(&judge.sets.vector);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}
