/*
 * Writing the string table: entries and their components.
 *
 * Source: spec/format.md, sections 5 and 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/base/utf8.h"
#include "format/checksum.h"
#include "writer/base/memory.h"
#include "writer/file/usable.h"
#include "writer/store/entries.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

#define ENTRY_HEADER_NBYTES ((uint32_t)sizeof(struct tbed_disk_string))
#define REFERENCE_NBYTES    4
#define TERMINATOR          0xFF
#define ESCAPE_NBYTES       4 /* \xHH */

/* ---- Encoding ---- */

/* Sizes of a text's next code point, as given and as stored; a byte that is not UTF-8 is stored as \xHH. */
struct step {
    size_t given, stored;
};

static struct step text_step(const uint8_t *at, size_t nbytes)
{
    size_t step = tbed_utf8_step(at, nbytes);
    return step != 0 ? (struct step){step, step} : (struct step){1, ESCAPE_NBYTES};
}

static size_t text_stored_nbytes(const char *text, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t valid = tbed_utf8_valid_nbytes(at, nbytes);
    size_t stored = valid;
    for (size_t i = valid; i < nbytes;) {
        struct step step = text_step(at + i, nbytes - i);
        stored += step.stored;
        i += step.given;
    }
    return stored;
}

/* How many bytes of the text, in whole code points, have a stored form of at most 'stored_max'. */
static size_t text_fitting_nbytes(const char *text, size_t nbytes, size_t stored_max)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t given = 0, stored = 0;
    while (given < nbytes) {
        struct step step = text_step(at + given, nbytes - given);
        if (stored + step.stored > stored_max)
            break;
        stored += step.stored;
        given += step.given;
    }
    return given;
}

static uint8_t *text_put(uint8_t *to, const char *text, size_t nbytes)
{
    static const char digits[] = "0123456789ABCDEF";
    const uint8_t *at = (const uint8_t *)text;
    const uint8_t *end = at + nbytes;
    while (at < end) {
        size_t valid = tbed_utf8_valid_nbytes(at, (size_t)(end - at));
        memcpy(to, at, valid);
        to += valid;
        at += valid;
        if (at == end)
            break;
        *to++ = '\\';
        *to++ = 'x';
        *to++ = (uint8_t)digits[*at >> 4];
        *to++ = (uint8_t)digits[*at & 15];
        at++;
    }
    return to;
}

static uint8_t *reference_put(uint8_t *to, uint32_t id)
{
    uint32_t reference = 0x80000000u | (id & TBED_ID_MAX);
    *to++ = (uint8_t)(reference >> 24);
    *to++ = (uint8_t)(reference >> 16);
    *to++ = (uint8_t)(reference >> 8);
    *to++ = (uint8_t)reference;
    return to;
}

static size_t component_nbytes(const struct tbed_component *component)
{
    if (component->text == NULL)
        return REFERENCE_NBYTES;
    return text_stored_nbytes(component->text, component->nbytes);
}

/* ---- Entries ---- */

static size_t content_max_nbytes(const struct tbed_store *store)
{
    return tbed_entry_max_nbytes(store) - ENTRY_HEADER_NBYTES;
}

static uint32_t id_of(const struct tbed_store *store, const uint8_t *entry)
{
    uint64_t in_page = (uint64_t)(entry - store->file.map) & (store->file.page_nbytes - 1);
    uint64_t address = ((uint64_t)store->strings.string_page << store->file.page_shift) + in_page;
    return TBED_ID_METADATA + (uint32_t)(address / 8);
}

/* Appends one entry of components that are known to fit. */
static uint32_t entry_append(struct tbed_store *store, const struct tbed_component *components, size_t count,
                             size_t content_nbytes)
{
    uint32_t nbytes = (uint32_t)tbed_round_up(ENTRY_HEADER_NBYTES + content_nbytes, 8);
    uint8_t *entry = tbed_block_room(store, &store->strings, nbytes);
    if (entry == NULL)
        return TBED_ID_INVALID;
    uint8_t *content = entry + ENTRY_HEADER_NBYTES;
    uint8_t *to = content;
    for (size_t i = 0; i < count; i++) {
        if (components[i].text == NULL)
            to = reference_put(to, components[i].id);
        else
            to = text_put(to, components[i].text, components[i].nbytes);
    }
    *to = TERMINATOR;
    uint64_t head = (uint64_t)tbed_string_hash(content, content_nbytes) << 32 | content_nbytes;
    tbed_word_store(entry, head);
    return id_of(store, entry);
}

/*
 * A string that does not fit in one entry becomes several, and one more that refers to them in order. When the
 * references fill an entry themselves, that entry becomes the first part of the next one, one level deeper each time.
 * 'pieces' are the components of the entry being collected.
 */
#define PIECES_MAX 64

struct splitter {
    struct tbed_store *store;
    struct tbed_component pieces[PIECES_MAX];
    size_t piece_count, piece_nbytes;
    struct tbed_component *parts; /* references to the entries made; zero except for the ids */
    size_t part_count, part_max;
    bool has_failed; /* the drop has been counted */
};

static uint32_t parts_append(struct splitter *splitter)
{
    return entry_append(splitter->store, splitter->parts, splitter->part_count,
                        splitter->part_count * REFERENCE_NBYTES + 1);
}

static void part_add(struct splitter *splitter, uint32_t id)
{
    if (splitter->part_count == splitter->part_max) {
        splitter->parts[0].id = parts_append(splitter);
        splitter->part_count = 1;
        splitter->has_failed = splitter->parts[0].id == TBED_ID_INVALID;
    }
    splitter->parts[splitter->part_count++].id = id;
    splitter->has_failed |= id == TBED_ID_INVALID;
}

static void splitter_flush(struct splitter *splitter)
{
    if (splitter->piece_count == 0 || splitter->has_failed)
        return;
    part_add(splitter, entry_append(splitter->store, splitter->pieces, splitter->piece_count,
                                    splitter->piece_nbytes + 1));
    splitter->piece_count = splitter->piece_nbytes = 0;
}

static void splitter_add(struct splitter *splitter, const struct tbed_component *component)
{
    size_t content_max = content_max_nbytes(splitter->store) - 1;
    struct tbed_component rest = *component;
    do {
        size_t room = content_max - splitter->piece_nbytes;
        size_t fitting = rest.text == NULL ? 0 : text_fitting_nbytes(rest.text, rest.nbytes, room);
        bool is_stuck = rest.text == NULL ? room < REFERENCE_NBYTES : fitting == 0 && rest.nbytes > 0;
        if (is_stuck || splitter->piece_count == PIECES_MAX) {
            splitter_flush(splitter);
            continue;
        }
        struct tbed_component piece = rest;
        piece.nbytes = fitting;
        splitter->pieces[splitter->piece_count++] = piece;
        splitter->piece_nbytes += component_nbytes(&piece);
        if (rest.text == NULL)
            return;
        rest.text += fitting;
        rest.nbytes -= fitting;
    } while ((rest.text == NULL || rest.nbytes > 0) && !splitter->has_failed);
}

static uint32_t alloc_split(struct tbed_store *store, const struct tbed_component *components, size_t count)
{
    struct splitter splitter = {.store = store, .part_max = content_max_nbytes(store) / REFERENCE_NBYTES - 1};
    size_t parts_nbytes = splitter.part_max * sizeof *splitter.parts;
    splitter.parts = tbed_pages_alloc(parts_nbytes);
    if (splitter.parts == NULL) {
        tbed_drop(&store->file, TBED_DROP_NO_MEMORY, 1);
        return TBED_ID_INVALID;
    }
    for (size_t i = 0; i < count && !splitter.has_failed; i++)
        splitter_add(&splitter, &components[i]);
    splitter_flush(&splitter);
    uint32_t id = splitter.has_failed ? TBED_ID_INVALID : parts_append(&splitter);
    tbed_pages_free(splitter.parts, parts_nbytes);
    return id;
}

uint32_t tbed_string_alloc_locked(struct tbed_store *store, const struct tbed_component *components,
                                  size_t count)
{
    size_t nbytes = 1;
    for (size_t i = 0; i < count; i++)
        nbytes += component_nbytes(&components[i]);
    if (nbytes > content_max_nbytes(store))
        return alloc_split(store, components, count);
    return entry_append(store, components, count, nbytes);
}

uint32_t tbed_text_alloc(struct tbed_store *store, const char *text, size_t nbytes)
{
    struct tbed_component component = {.text = text, .nbytes = nbytes};
    return tbed_string_alloc_locked(store, &component, 1);
}

uint32_t tbed_string_alloc(struct tbed_writer *writer, const struct tbed_component *components,
                           size_t component_count)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (!tbed_state_lock_or_drop(tbed_file_of(writer)))
        return TBED_ID_INVALID;
    uint32_t id = tbed_string_alloc_locked(store, components, component_count);
    tbed_state_unlock(tbed_file_of(writer));
    return id;
}

bool tbed_string_alloc_reserved(struct tbed_writer *writer, uint32_t reserved_id,
                                const struct tbed_component *components, size_t component_count)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (!tbed_can_be_bound(reserved_id, 1, TBED_ID_INVALID)) {
        tbed_drop(tbed_file_of(writer), TBED_DROP_TOO_LARGE, 1);
        return false;
    }
    if (!tbed_state_lock_or_drop(tbed_file_of(writer)))
        return false;
    uint32_t id = tbed_string_alloc_locked(store, components, component_count);
    bool is_bound = id != TBED_ID_INVALID && tbed_bind_locked(store, reserved_id, 1, id);
    tbed_state_unlock(tbed_file_of(writer));
    return is_bound;
}

/* ---- Event ids ---- */

#define EVENT_ID_INLINE_COUNT 17

static void event_id_fill(struct tbed_component *components, uint32_t label_id, const uint32_t *argument_ids,
                          size_t argument_count)
{
    components[0] = (struct tbed_component){.id = label_id};
    for (size_t i = 0; i < argument_count; i++) {
        components[1 + 2 * i] = (struct tbed_component){.text = "\x1E", .nbytes = 1};
        components[2 + 2 * i] = (struct tbed_component){.id = argument_ids[i]};
    }
}

uint32_t tbed_event_id_alloc(struct tbed_writer *writer, uint32_t label_id, const uint32_t *argument_ids,
                             size_t argument_count)
{
    struct tbed_component few[EVENT_ID_INLINE_COUNT], *components = few;
    size_t most = SIZE_MAX / sizeof *components / 2 - 1;
    size_t count = argument_count <= most ? 1 + 2 * argument_count : 0;
    if (count > EVENT_ID_INLINE_COUNT)
        components = tbed_pages_alloc(count * sizeof *components);
    if (count == 0 || components == NULL) {
        tbed_drop(tbed_file_of(writer), TBED_DROP_NO_MEMORY, 1);
        return TBED_ID_INVALID;
    }
    event_id_fill(components, label_id, argument_ids, argument_count);
    uint32_t id = tbed_string_alloc(writer, components, count);
    if (components != few)
        tbed_pages_free(components, count * sizeof *components);
    return id;
}
