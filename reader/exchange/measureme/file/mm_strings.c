/*
 * Walks over the string data, component by component.
 *
 * Text is returned in place, up to the end of its page. The state of a code point that a page's end cuts in two is
 * kept in the walk, so that the pieces together are known to be valid UTF-8.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/file/mm_internal.h"

#define TERMINATOR       0xFF
#define REFERENCE        0xFE /* of formats 7 to 9 */
#define PIECE_NBYTES_MAX (1u << 30)
#define ID_MASK          0x3FFFFFFFu
#define HIGH_BITS        UINT64_C(0x8080808080808080)

enum tag { TAG_END = 0, TAG_VALUE = 1 }; /* of format 0; its tag 2 never had an encoding */

static bool is_continuation(uint8_t byte)
{
    return byte >= 0x80 && byte < 0xC0;
}

static const uint8_t *skip_ascii(const uint8_t *at, const uint8_t *end)
{
    uint64_t word;
    while (end - at >= 8 && (memcpy(&word, at, 8), (word & HIGH_BITS) == 0))
        at += 8;
    while (at < end && *at < 0x80)
        at++;
    return at;
}

/* Does this byte end a text, at a place where a code point may start? */
static bool is_stop(enum mm_encoding encoding, uint8_t byte)
{
    if (encoding == MM_TAGGED)
        return false;
    return byte == TERMINATOR || (encoding == MM_CLASSIC ? is_continuation(byte) : byte == REFERENCE);
}

/* Reads text up to 'end' or its terminator; false at a byte that is not valid UTF-8. */
static bool text_take(struct mm_string_walk *walk, enum mm_encoding encoding, const uint8_t *end)
{
    const uint8_t *at = walk->position.at;
    bool is_sound = true;
    while (at < end && is_sound) {
        if (walk->utf8.left == 0) {
            at = skip_ascii(at, end);
            if (at == end || is_stop(encoding, *at))
                break;
            is_sound = tbed_utf8_begin(&walk->utf8, *at);
        } else {
            is_sound = tbed_utf8_continue(&walk->utf8, *at);
        }
        at += is_sound;
    }
    walk->position.at = at;
    return is_sound;
}

/* Moves past the next terminator byte, or to the stream's end. */
static enum tbed_status damaged(struct mm_string_walk *walk)
{
    struct mm_position *position = &walk->position;
    int terminator = position->file->format->encoding == MM_TAGGED ? TAG_END : TERMINATOR;
    const uint8_t *found = NULL;
    walk->damage_address = tbed_mm_position_address(position) - walk->utf8.taken;
    do {
        if (position->at != position->end)
            found = memchr(position->at, terminator, (size_t)(position->end - position->at));
        position->at = found != NULL ? found + 1 : position->end;
    } while (found == NULL && tbed_mm_position_next(position));
    walk->address = tbed_mm_position_address(position);
    walk->utf8 = (struct tbed_utf8){0};
    walk->value_left = 0;
    return TBED_ERR_PROFILE_STRING;
}

static enum tbed_status ended(struct mm_string_walk *walk)
{
    walk->position.at++;
    walk->address = tbed_mm_position_address(&walk->position);
    return TBED_END;
}

static enum tbed_status text_next(struct mm_string_walk *walk, enum mm_encoding encoding, size_t nbytes_max,
                                  struct mm_component *component_ret)
{
    const uint8_t *begin = walk->position.at;
    size_t left = (size_t)(walk->position.end - begin);
    bool is_sound = text_take(walk, encoding, begin + (left < nbytes_max ? left : nbytes_max));
    if (!is_sound && walk->position.at == begin) /* otherwise the text before the damage is returned first */
        return damaged(walk);
    uint32_t nbytes = (uint32_t)(walk->position.at - begin);
    *component_ret = (struct mm_component){.text = (const char *)begin, .nbytes = nbytes};
    walk->address = tbed_mm_position_address(&walk->position);
    return TBED_OK;
}

static enum tbed_status reference_next(struct mm_string_walk *walk, enum mm_encoding encoding,
                                       struct mm_component *component_ret)
{
    uint8_t bytes[9] = {0};
    struct mm_position behind = walk->position;
    size_t nbytes = encoding == MM_CLASSIC ? 4 : encoding == MM_MARKED_4 ? 5 : 9;
    if (!tbed_mm_position_take(&behind, bytes, nbytes))
        return damaged(walk);
    uint64_t id = 0;
    if (encoding == MM_CLASSIC)
        id = ((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3]) &
             ID_MASK;
    else
        id = nbytes == 5 ? tbed_le32_at(bytes + 1) : tbed_le64_at(bytes + 1);
    walk->position = behind;
    walk->address = tbed_mm_position_address(&behind);
    *component_ret = (struct mm_component){.is_reference = true, .id = id};
    return TBED_OK;
}

static enum tbed_status stop_next(struct mm_string_walk *walk, enum mm_encoding encoding,
                                  struct mm_component *component_ret)
{
    return *walk->position.at == TERMINATOR ? ended(walk) : reference_next(walk, encoding, component_ret);
}

/* Format 0: a tag and, for a value, its length. */
static enum tbed_status tagged_next(struct mm_string_walk *walk, struct mm_component *component_ret)
{
    struct mm_position *position = &walk->position;
    if (walk->value_left == 0 && walk->utf8.left > 0)
        return damaged(walk);
    while (walk->value_left == 0) {
        if (position->at == position->end || (*position->at != TAG_VALUE && *position->at != TAG_END))
            return damaged(walk);
        if (*position->at == TAG_END)
            return ended(walk);
        uint8_t head[3];
        struct mm_position behind = *position;
        bool is_there = tbed_mm_position_take(&behind, head, sizeof head);
        uint32_t nbytes = is_there ? (uint32_t)(head[1] | head[2] << 8) : 0;
        if (!is_there || nbytes > (size_t)(behind.end - behind.at))
            return damaged(walk);
        walk->value_left = nbytes;
        *position = behind;
    }
    enum tbed_status status = text_next(walk, MM_TAGGED, walk->value_left, component_ret);
    if (status == TBED_OK)
        walk->value_left -= component_ret->nbytes;
    return status;
}

void mm_string_walk_start(const struct mm_file *file, uint64_t address, struct mm_string_walk *walk)
{
    uint64_t nbytes = file->streams[MM_STRING_DATA].nbytes;
    *walk = (struct mm_string_walk){.address = address, .piece_nbytes_max = PIECE_NBYTES_MAX};
    if (address < MM_HEADER_NBYTES || address > nbytes)
        walk->address = nbytes;
    tbed_mm_position_at(file, MM_STRING_DATA, walk->address, &walk->position);
}

enum tbed_status mm_component_next(struct mm_string_walk *walk, struct mm_component *component_ret)
{
    struct mm_position *position = &walk->position;
    enum mm_encoding encoding = position->file->format->encoding;
    if (encoding == MM_TAGGED)
        return tagged_next(walk, component_ret);
    while (position->at == position->end)
        if (!tbed_mm_position_next(position))
            return damaged(walk);
    if (walk->utf8.left == 0 && is_stop(encoding, *position->at))
        return stop_next(walk, encoding, component_ret);
    return text_next(walk, encoding, walk->piece_nbytes_max, component_ret);
}

/* Skips bytes that are evidently sound, which is faster than taking components. */
static void skip_sound(struct mm_string_walk *walk)
{
    struct mm_position *position = &walk->position;
    enum mm_encoding encoding = position->file->format->encoding;
    size_t reference = encoding == MM_MARKED_4 ? 5 : 9;
    const uint8_t *at = position->at, *end = position->end;
    if (encoding < MM_MARKED_4 || walk->utf8.left > 0)
        return;
    /* A byte must remain, which shows that the last entry ends. */
    while ((size_t)(end - at) > reference) {
        if (*at == REFERENCE)
            at += reference;
        else if (*at == TERMINATOR)
            at++;
        else if (*at < 0x80)
            at = skip_ascii(at, end - 1);
        else
            break;
    }
    position->at = at;
}

enum tbed_status mm_string_damage_next(struct mm_string_walk *walk)
{
    uint64_t nbytes = walk->position.file->streams[MM_STRING_DATA].nbytes;
    struct mm_component component;
    enum tbed_status status = TBED_END;
    while (status == TBED_OK || (status == TBED_END && walk->address < nbytes)) {
        skip_sound(walk);
        status = mm_component_next(walk, &component);
    }
    return status;
}

uint64_t mm_string_first(const struct mm_file *file)
{
    (void)file;
    return MM_HEADER_NBYTES;
}
