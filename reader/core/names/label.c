/*
 * Labels of ids; see label.h.
 *
 * Strings come from files: references may form circles, nest too deeply, or expand without bound.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/label.h"

#include "reader/core/file/reader_state.h"
#include "reader/core/records/locations.h"
#include "reader/core/strings/string_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR '\x1E'

/* ---- Text ---- */

/* Keeps one byte more than allowed, which marks a label that is too long. */
static bool append(struct tbed_label *label, const char *text, size_t nbytes)
{
    if (nbytes > TBED_LABEL_NBYTES_MAX + 1 - label->nbytes)
        nbytes = TBED_LABEL_NBYTES_MAX + 1 - label->nbytes;
    if (label->nbytes + nbytes >= label->room) {
        size_t room = (label->nbytes + nbytes) * 2 + 32;
        char *larger = realloc(label->text, room);
        if (larger == NULL)
            return false;
        label->text = larger;
        label->room = room;
    }
    if (nbytes > 0)
        memcpy(label->text + label->nbytes, text, nbytes);
    label->nbytes += nbytes;
    label->text[label->nbytes] = '\0';
    return true;
}

static bool replace(struct tbed_label *label, const char *text)
{
    label->nbytes = 0;
    return append(label, text, strlen(text));
}

static void note(struct tbed_label *label, enum tbed_status status)
{
    if (label->status == TBED_OK)
        label->status = status;
}

/* ---- Expanding ---- */

struct expansion {
    const struct tbed_label_strings *strings;
    struct tbed_label *label;
    struct tbed_text_credit credit;
    size_t depth, depth_reached, component_count;
    bool is_over; /* the label has ended */
    struct frame {
        struct tbed_label_walk walk;
        uint64_t id;
        size_t start; /* where its text begins in the label */
    } frames[TBED_LABEL_DEPTH_MAX];
};

/* The functions below return OK, ERR_STRING_… for the whole label, or ERR_MEMORY. */

static enum tbed_status put(struct expansion *expansion, const char *text, size_t nbytes)
{
    if (!append(expansion->label, text, nbytes))
        return TBED_ERR_MEMORY;
    if (!tbed_text_spend(&expansion->credit, nbytes))
        return TBED_ERR_STRING_BYTES;
    return expansion->label->nbytes > TBED_LABEL_NBYTES_MAX ? TBED_ERR_STRING_BYTES : TBED_OK;
}

static enum tbed_status put_unknown(struct expansion *expansion, uint64_t id, enum tbed_status status)
{
    char text[32] = "<unknown>";
    if (expansion->strings->has_no_strings && id != expansion->strings->invalid_id)
        snprintf(text, sizeof text, "<id %llu>", (unsigned long long)id);
    note(expansion->label, status);
    expansion->label->is_unknown = expansion->depth == 0;
    return put(expansion, text, strlen(text));
}

static const char *find_separator(const struct tbed_label_component *component)
{
    return component->nbytes > 0 ? memchr(component->text, SEPARATOR, component->nbytes) : NULL;
}

/*
 * Checks that a string is intact up to its own separator, because a damaged string counts as missing even if the damage
 * comes late. Checks no further than a label can reach. Returns ERR_STRING_BYTES if the budget for text is used up.
 */
static enum tbed_status check_string(struct expansion *expansion, struct tbed_label_walk walk)
{
    struct tbed_label_component component;
    enum tbed_status status = TBED_OK;
    size_t nbytes = 0;
    for (size_t i = 0; i < TBED_LABEL_COMPONENTS_MAX && nbytes <= TBED_LABEL_NBYTES_MAX; i++) {
        status = expansion->strings->walk_next(&walk, &component);
        if (status != TBED_OK || (!component.is_reference && find_separator(&component) != NULL))
            break;
        size_t more = component.is_reference ? 0 : component.nbytes;
        if (!tbed_text_spend(&expansion->credit, TBED_TEXT_COMPONENT_COST + more))
            return TBED_ERR_STRING_BYTES;
        nbytes += more;
    }
    return status == TBED_END ? TBED_OK : status;
}

static enum tbed_status open_string(struct expansion *expansion, uint64_t id)
{
    struct tbed_label *label = expansion->label;
    for (size_t i = 0; i < expansion->depth; i++)
        if (expansion->frames[i].id == id)
            return TBED_ERR_STRING_CYCLE;
    if (expansion->depth == TBED_LABEL_DEPTH_MAX)
        return TBED_ERR_STRING_DEPTH;
    struct frame *frame = &expansion->frames[expansion->depth];
    label->lowest_id = id < label->lowest_id ? id : label->lowest_id;
    enum tbed_status status = expansion->strings->walk_start(expansion->strings->context, id, &frame->walk);
    if (status == TBED_OK)
        status = check_string(expansion, frame->walk);
    if (status == TBED_ERR_STRING_BYTES)
        return status;
    if (status != TBED_OK)
        return put_unknown(expansion, id, status);
    frame->id = id;
    frame->start = label->nbytes;
    expansion->depth++;
    expansion->depth_reached =
        expansion->depth > expansion->depth_reached ? expansion->depth : expansion->depth_reached;
    return TBED_OK;
}

/* Drops a string that turns out to be damaged, with everything read from it so far. */
static enum tbed_status drop_string(struct expansion *expansion, size_t depth, enum tbed_status status)
{
    expansion->depth = depth;
    expansion->label->nbytes = expansion->frames[depth].start;
    return put_unknown(expansion, expansion->frames[depth].id, status);
}

static enum tbed_status step(struct expansion *expansion)
{
    struct tbed_label_component component;
    enum tbed_status status =
        expansion->strings->walk_next(&expansion->frames[expansion->depth - 1].walk, &component);
    if (status == TBED_END) {
        expansion->depth--;
        return TBED_OK;
    }
    if (status != TBED_OK)
        return drop_string(expansion, expansion->depth - 1, status);
    if (++expansion->component_count > TBED_LABEL_COMPONENTS_MAX)
        return TBED_ERR_STRING_COMPONENTS;
    if (!tbed_text_spend(&expansion->credit, TBED_TEXT_COMPONENT_COST))
        return TBED_ERR_STRING_BYTES;
    if (component.is_reference)
        return open_string(expansion, component.id);
    const char *separator = find_separator(&component);
    enum tbed_status refused =
        put(expansion, component.text,
            separator != NULL ? (size_t)(separator - component.text) : component.nbytes);
    expansion->is_over = separator != NULL;
    return refused;
}

bool tbed_label_make(const struct tbed_label_strings *strings, uint64_t id, struct tbed_label *label)
{
    struct expansion expansion;
    expansion.strings = strings;
    expansion.label = label;
    expansion.credit = tbed_text_credit_open(strings->budget, id);
    expansion.depth = expansion.depth_reached = expansion.component_count = 0;
    expansion.is_over = false;
    label->nbytes = 0;
    label->status = TBED_OK;
    label->is_unknown = label->lends = false;
    label->lowest_id = UINT64_MAX;
    enum tbed_status refused = append(label, "", 0) ? open_string(&expansion, id) : TBED_ERR_MEMORY;
    while (refused == TBED_OK && expansion.depth > 0 && !expansion.is_over)
        refused = step(&expansion);
    if (refused != TBED_OK) {
        label->status = refused;
        return refused != TBED_ERR_MEMORY && replace(label, tbed_refusal_text(refused));
    }
    /* Returns whether one more string, of a reference and perhaps a text, is within the limits. */
    label->lends = expansion.depth_reached < TBED_LABEL_DEPTH_MAX &&
                   expansion.component_count + 2 <= TBED_LABEL_COMPONENTS_MAX;
    return true;
}

/* measureme shows such labels as "<parse error>". */
static bool check_label(struct tbed_label *label)
{
    bool is_bad = label->nbytes == 0;
    for (size_t i = 0; i < label->nbytes; i++)
        is_bad |= (unsigned char)label->text[i] < 0x20 || label->text[i] == 0x7F;
    return !is_bad || replace(label, "<parse error>");
}

bool tbed_label_make_row(const struct tbed_label_strings *strings, uint64_t id, struct tbed_label *label)
{
    return tbed_label_make(strings, id, label) && check_label(label);
}

/* ---- The strings of a trace ---- */

struct trace_walk {
    struct tbed_meaning meaning; /* an entry or a location */
    uint32_t at;
    char text[TBED_STAND_IN_NBYTES]; /* of a code location */
};
_Static_assert(sizeof(struct trace_walk) <= sizeof(struct tbed_label_walk), "a walk fits");

static void tell(const struct tbed_reader *reader, const struct tbed_string_entry *entry, uint32_t id,
                 enum tbed_status status)
{
    if (status == TBED_ERR_STRING_END || status == TBED_ERR_STRING_UTF8)
        tbed_damage_tell(reader, status,
                         (uint64_t)(entry->content - reader->map.bytes) - TBED_STRING_HEAD_NBYTES, 0, id);
}

/* Following a binding adds no depth, so an imported profile is as deep as the original. */
static enum tbed_status walk_start(const void *context, uint64_t id, struct tbed_label_walk *walk)
{
    const struct tbed_reader *reader = context;
    struct trace_walk *own = (void *)walk;
    uint32_t trace_id = (uint32_t)id;
    own->at = 0;
    if (id > TBED_ID_MAX)
        return TBED_ERR_STRING_ID;
    enum tbed_status status = tbed_bindings_follow(reader, &trace_id);
    /* An id that is not bound may be a location. */
    if (status != TBED_OK && status != TBED_ERR_STRING_UNBOUND)
        return status;
    status = tbed_meaning_find(reader, trace_id, &own->meaning);
    tell(reader, &own->meaning.entry, trace_id, status);
    return status;
}

static enum tbed_status location_next(struct trace_walk *walk, struct tbed_label_component *component_ret)
{
    if (walk->at == 2)
        return TBED_END;
    int nbytes = snprintf(walk->text, sizeof walk->text, "+0x%llx", (unsigned long long)walk->meaning.pc);
    *component_ret = walk->at++ == 0
                         ? (struct tbed_label_component){.is_reference = true, .id = walk->meaning.id}
                         : (struct tbed_label_component){.text = walk->text, .nbytes = (size_t)nbytes};
    return TBED_OK;
}

static enum tbed_status walk_next(struct tbed_label_walk *walk, struct tbed_label_component *component_ret)
{
    struct trace_walk *own = (void *)walk;
    struct tbed_content_component component;
    if (own->meaning.kind != TBED_STRING_IS_ENTRY)
        return location_next(own, component_ret);
    const struct tbed_string_entry *entry = &own->meaning.entry;
    enum tbed_status status = tbed_content_next(entry->content, entry->nbytes, &own->at, &component);
    if (status == TBED_OK)
        *component_ret = (struct tbed_label_component){
            .is_reference = component.is_reference,
            .id = component.id,
            .text = (const char *)component.text,
            .nbytes = component.nbytes,
        };
    return status;
}

/* An id bound to another id, as imported event kinds may be, is not bound to a string. */
static bool has_bound_strings(const struct tbed_reader *reader)
{
    struct tbed_binding_info binding;
    for (size_t i = 0; tbed_binding_get(reader, i, &binding); i++)
        if (binding.string_id > TBED_ID_INVALID)
            return true;
    return false;
}

struct tbed_label_strings tbed_label_strings(const struct tbed_reader *reader)
{
    return (struct tbed_label_strings){
        .context = reader,
        .has_no_strings = !has_bound_strings(reader),
        .invalid_id = TBED_ID_INVALID,
        .budget = reader->texts,
        .walk_start = walk_start,
        .walk_next = walk_next,
    };
}
