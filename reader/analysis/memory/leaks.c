/*
 * Suppressed leaks; see leaks.h. Each frame is named and compared with the patterns once, and each stack takes over the
 * verdict of its parent unless its own innermost frame has one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/leaks.h"
#include "reader/analysis/memory/suppressions.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
#include "reader/core/names/id_info.h"

#define FRAMES_MAX 128u

/* Verdicts: none yet, no suppression, or the index of one + FIRST. */
enum { UNKNOWN, NOTHING, FIRST };

struct verdict {
    uint64_t key;
    uint32_t verdict;
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
};

/* An id that is no stack is a location without a parent. */
static uint32_t location_of(const struct judge *judge, uint32_t id, uint32_t *parent_ret)
{
    uint32_t location;
    if (tbed_stack_get(judge->reader, id, &location, parent_ret))
        return location;
    *parent_ret = TBED_ID_INVALID;
    return id;
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

/* Compares one function. False: no memory. */
static bool match_frame(struct judge *judge, struct suppression_frame *frame, const char *module,
                        struct verdict *verdict)
{
    if (module != NULL && !spell_together(judge, module, frame))
        return false;
    size_t match = tbed_suppressions_match(judge->suppressions, frame);
    verdict->verdict = match == SIZE_MAX ? NOTHING : (uint32_t)match + FIRST;
    verdict->is_pool_place |= tbed_suppressions_is_pool_place(frame);
    return true;
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
        return match_frame(judge, &frame, NULL, verdict) && complete;
    }
    if (location.has_unit && location.unit.kind == TBED_UNIT_NATIVE) {
        module = tbed_module_name(judge->reader, &location.unit, &complete);
        frame.module = text_of(judge->reader, location.unit.name_id, &complete);
    }
    size_t count = tbed_place_frames(judge->reader, &location, frames, FRAMES_MAX, &complete);
    count = count == 0 ? 1 : count < FRAMES_MAX ? count : FRAMES_MAX;
    for (size_t i = 0; i < count && verdict->verdict < FIRST; i++) {
        frame.function = frames[i].function;
        frame.file = frames[i].file;
        if (!match_frame(judge, &frame, module, verdict))
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
    judge->path.count = 0;
    for (; id != TBED_ID_INVALID; id = parent) {
        uint32_t known = verdict_of(judge, id)->verdict, *step;
        if (known != UNKNOWN) {
            verdict = known;
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
        verdict = own->verdict >= FIRST ? own->verdict : verdict;
        verdict_of(judge, id)->verdict = verdict;
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
    size_t pool = verdict == NOTHING ? find_pool(judge, site) : SIZE_MAX;
    site->suppression = verdict >= FIRST ? verdict - FIRST + 1 : pool != SIZE_MAX ? (uint32_t)pool + 1 : 0;
    return verdict != UNKNOWN;
}

enum tbed_status tbed_leaks_judge(const struct tbed_reader *reader,
                                  const struct tbed_analysis_options *options, struct heap_site *const *sites,
                                  size_t count)
{
    struct judge judge = {.reader = reader, .suppressions = options->suppressions};
    bool fine = true;
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
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}
