/*
 * Strings resolved: components expanded into text, with an explicit stack and under budgets.
 *
 * A walk is made twice: first to measure, where what was measured before is not walked again, so that a
 * string of exponential size is refused at once; then, if there is something to write, to write no more than
 * fits. What has no text, an id without a meaning or a damaged entry, is shown by a stand-in in its place. A
 * cycle or a budget ends the walk, and a stand-in is all that is shown.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/string.h"
#include "reader/internal.h"

#include <stdio.h>

/* What an id means. */
enum meaning_kind {
    MEANING_STRING,
    MEANING_BINDING,  /* another id */
    MEANING_LOCATION, /* its unit's name and its pc */
};

struct meaning {
    enum meaning_kind kind;
    uint32_t id; /* of the binding, or of the unit's name */
    uint64_t pc;
    struct tbed_string_entry entry; /* of a string; its components were checked */
};

/* What an id comes to. A cache by the low bits of the id: entries may be lost, never wrong. */
struct memo {
    uint32_t id; /* 0: free. Id 0 itself is not kept */
    uint32_t height;
    uint64_t nbytes;
    uint64_t component_count;
};
#define MEMO_COUNT 256u /* 6 KiB on the C stack: enough for what is small and hostile */

struct frame {
    uint32_t id;
    uint32_t at;
    uint32_t height; /* of what is below, itself included */
    struct meaning meaning;
    uint64_t nbytes_before;
    uint64_t component_count_before;
};

struct walk {
    const struct tbed_reader *reader;
    enum tbed_status status; /* the first trouble that has a stand-in in its place */
    uint32_t depth;
    bool measuring;
    uint64_t nbytes;
    uint64_t component_count;
    char *buffer;
    size_t buffer_nbytes;
    struct frame frames[TBED_STRING_DEPTH_MAX];
    struct memo memos[MEMO_COUNT]; /* zeroed when the first reference is met */
    bool has_memos;
};

/* ---- What an id means ---- */

static enum tbed_status meaning_find(const struct tbed_reader *reader, uint32_t id, struct meaning *meaning)
{
    struct tbed_unit_info unit;
    if (id > TBED_ID_METADATA) {
        enum tbed_status status = tbed_string_find(reader, id, &meaning->entry);
        meaning->kind = MEANING_STRING;
        return status == TBED_OK ? tbed_content_check(meaning->entry.content, meaning->entry.nbytes) : status;
    }
    meaning->kind = MEANING_BINDING;
    if (tbed_binding_find(&reader->metadata, id, &meaning->id))
        return TBED_OK;
    if (!tbed_location_find(reader, id, &unit, &meaning->pc))
        return TBED_ERR_STRING_UNBOUND;
    meaning->kind = MEANING_LOCATION;
    meaning->id = unit.name_id;
    return TBED_OK;
}

/* The next component of what an id means: of a binding the id, of a location the unit's name and the pc. */
static enum tbed_status component_next(struct frame *frame, char pc_text[24],
                                       struct tbed_content_component *component_ret)
{
    const struct meaning *meaning = &frame->meaning;
    if (meaning->kind == MEANING_STRING)
        return tbed_content_next(meaning->entry.content, meaning->entry.nbytes, &frame->at, component_ret);
    if (frame->at++ == 0) {
        *component_ret = (struct tbed_content_component){.is_reference = true, .id = meaning->id};
        return TBED_OK;
    }
    if (meaning->kind == MEANING_BINDING || frame->at > 2)
        return TBED_END;
    int nbytes = snprintf(pc_text, 24, "+0x%llx", (unsigned long long)meaning->pc);
    *component_ret =
        (struct tbed_content_component){.text = (const uint8_t *)pc_text, .nbytes = (uint32_t)nbytes};
    return TBED_OK;
}

/* ---- The walk ---- */

static enum tbed_status add(struct walk *walk, uint64_t nbytes, uint64_t component_count)
{
    walk->nbytes += nbytes;
    walk->component_count += component_count;
    if (walk->component_count > TBED_STRING_COMPONENTS_MAX)
        return TBED_ERR_STRING_COMPONENTS;
    return walk->nbytes > TBED_STRING_TEXT_MAX ? TBED_ERR_STRING_BYTES : TBED_OK;
}

static enum tbed_status add_text(struct walk *walk, const void *text, uint32_t nbytes,
                                 uint64_t component_count)
{
    if (!walk->measuring && walk->nbytes < walk->buffer_nbytes) {
        size_t room = walk->buffer_nbytes - walk->nbytes;
        memcpy(walk->buffer + walk->nbytes, text, nbytes < room ? nbytes : room);
    }
    return add(walk, nbytes, component_count);
}

static enum tbed_status add_stand_in(struct walk *walk, uint32_t id, enum tbed_status status)
{
    char text[32];
    int nbytes = snprintf(text, sizeof text, id == TBED_ID_INVALID ? "<no id>" : "<id %u>", id);
    if (walk->status == TBED_OK)
        walk->status = status;
    return add_text(walk, text, (uint32_t)nbytes, 0);
}

static struct memo *memo_of(struct walk *walk, uint32_t id)
{
    if (!walk->has_memos) {
        memset(walk->memos, 0, sizeof walk->memos);
        walk->has_memos = true;
    }
    return &walk->memos[id % MEMO_COUNT]; /* ids are dense: their low bits spread well */
}

static enum tbed_status enter(struct walk *walk, uint32_t id)
{
    for (uint32_t i = 0; i < walk->depth; i++)
        if (walk->frames[i].id == id)
            return TBED_ERR_STRING_CYCLE;
    if (walk->depth == TBED_STRING_DEPTH_MAX)
        return TBED_ERR_STRING_DEPTH;
    struct frame *frame = &walk->frames[walk->depth];
    enum tbed_status status = meaning_find(walk->reader, id, &frame->meaning);
    if (status != TBED_OK)
        return add_stand_in(walk, id, status);
    frame->id = id;
    frame->at = 0;
    frame->height = 1;
    frame->nbytes_before = walk->nbytes;
    frame->component_count_before = walk->component_count;
    walk->depth++;
    return TBED_OK;
}

static enum tbed_status refer(struct walk *walk, uint32_t id)
{
    struct frame *frame = &walk->frames[walk->depth - 1];
    enum tbed_status status = add(walk, 0, frame->meaning.kind == MEANING_BINDING ? 0 : 1);
    if (status != TBED_OK)
        return status;
    const struct memo *memo = memo_of(walk, id);
    bool is_known = memo->id == id && id != 0;
    if (!is_known || (!walk->measuring && memo->nbytes > 0)) /* known and without text: nothing to write */
        return enter(walk, id);
    if (memo->height > TBED_STRING_DEPTH_MAX - walk->depth)
        return TBED_ERR_STRING_DEPTH;
    if (frame->height < memo->height + 1)
        frame->height = memo->height + 1;
    return add(walk, memo->nbytes, memo->component_count);
}

static void leave(struct walk *walk)
{
    struct frame *frame = &walk->frames[--walk->depth];
    if (walk->depth == 0)
        return;
    if (frame[-1].height < frame->height + 1)
        frame[-1].height = frame->height + 1;
    *memo_of(walk, frame->id) = (struct memo){
        .id = frame->id,
        .height = frame->height,
        .nbytes = walk->nbytes - frame->nbytes_before,
        .component_count = walk->component_count - frame->component_count_before,
    };
}

static bool is_full(const struct walk *walk)
{
    return !walk->measuring && walk->nbytes >= walk->buffer_nbytes;
}

/* One pass over all that 'id' contains. */
static enum tbed_status pass(struct walk *walk, uint32_t id)
{
    char pc_text[24];
    struct tbed_content_component component;
    walk->nbytes = walk->component_count = walk->depth = 0;
    enum tbed_status status = enter(walk, id);
    while (status == TBED_OK && walk->depth > 0 && !is_full(walk)) {
        status = component_next(&walk->frames[walk->depth - 1], pc_text, &component);
        if (status == TBED_END) {
            leave(walk);
            status = TBED_OK;
        } else if (status == TBED_OK) {
            status = component.is_reference ? refer(walk, component.id)
                                            : add_text(walk, component.text, component.nbytes, 1);
        }
    }
    return status;
}

static const char *refusal_text(enum tbed_status status)
{
    switch (status) {
    case TBED_ERR_STRING_CYCLE:
        return "<cycle>";
    case TBED_ERR_STRING_DEPTH:
        return "<too deep>";
    case TBED_ERR_STRING_COMPONENTS:
        return "<too many components>";
    case TBED_ERR_STRING_BYTES:
        return "<too long>";
    default: /* the file changed between the passes */
        return "<damaged>";
    }
}

static void terminate(char *buffer, size_t buffer_nbytes, size_t nbytes)
{
    if (buffer_nbytes > 0)
        buffer[nbytes < buffer_nbytes ? nbytes : buffer_nbytes - 1] = '\0';
}

enum tbed_status tbed_string_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer,
                                     size_t buffer_nbytes, size_t *nbytes_ret)
{
    struct walk walk; /* 12 KiB, of which a plain string touches little */
    walk.reader = reader;
    walk.status = TBED_OK;
    walk.has_memos = false;
    walk.measuring = true;
    walk.buffer = buffer;
    walk.buffer_nbytes = buffer_nbytes;
    enum tbed_status status = pass(&walk, id);
    size_t nbytes = (size_t)walk.nbytes;
    if (status == TBED_OK && buffer_nbytes > 0) {
        walk.measuring = false;
        status = pass(&walk, id);
    }
    if (status != TBED_OK) {
        const char *text = refusal_text(status);
        nbytes = strlen(text);
        if (buffer_nbytes > 0)
            memcpy(buffer, text, nbytes < buffer_nbytes ? nbytes : buffer_nbytes);
    }
    terminate(buffer, buffer_nbytes, nbytes);
    if (nbytes_ret != NULL)
        *nbytes_ret = nbytes;
    return status == TBED_OK ? walk.status : status;
}
