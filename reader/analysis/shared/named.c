/*
 * Groups ids by name; see named.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/named.h"
#include "format/base/sized.h"
#include "reader/core/names/id_info.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_NBYTES 65536u

struct named_piece {
    struct named_piece *next;
    size_t used, room;
    char bytes[];
};

void tbed_named_texts_free(struct named_texts *texts)
{
    while (texts->pieces != NULL) {
        struct named_piece *piece = texts->pieces;
        texts->pieces = piece->next;
        free(piece);
    }
}

void tbed_named_texts_move(struct named_texts *into, struct named_texts *from)
{
    struct named_piece **end = &from->pieces;
    while (*end != NULL)
        end = &(*end)->next;
    *end = into->pieces;
    into->pieces = from->pieces;
    from->pieces = NULL;
}

/* Makes sure that the newest chunk has room for 'nbytes'. */
static bool have_room(struct named_texts *texts, size_t nbytes)
{
    struct named_piece *piece = texts->pieces;
    if (piece != NULL && piece->room - piece->used >= nbytes)
        return true;
    size_t room = nbytes > PIECE_NBYTES ? nbytes : PIECE_NBYTES;
    piece = malloc(sizeof *piece + room);
    if (piece == NULL)
        return false;
    *piece = (struct named_piece){.next = texts->pieces, .room = room};
    texts->pieces = piece;
    return true;
}

char *tbed_named_texts_take(struct named_texts *texts, size_t nbytes)
{
    if (!have_room(texts, nbytes))
        return NULL;
    char *text = texts->pieces->bytes + texts->pieces->used;
    texts->pieces->used += nbytes;
    return text;
}

size_t tbed_named_text(const struct tbed_reader *reader, const struct tbed_analysis_options *options,
                       uint32_t id, char *buffer, size_t buffer_nbytes)
{
    if (options->name != NULL)
        return options->name(options->name_context, id, buffer, buffer_nbytes);
    return tbed_id_spell(reader, id, TBED_NAME_ALL, buffer, buffer_nbytes);
}

/* Writes the text directly into the newest chunk, and again into a larger one if it did not fit. */
static bool resolve(struct named_texts *texts, const struct tbed_reader *reader,
                    const struct tbed_analysis_options *options, struct named *item)
{
    if (!have_room(texts, 256))
        return false;
    struct named_piece *piece = texts->pieces;
    size_t nbytes =
        tbed_named_text(reader, options, item->id, piece->bytes + piece->used, piece->room - piece->used);
    if (nbytes == TBED_NO_MEMORY)
        return false;
    if (nbytes >= piece->room - piece->used) {
        size_t asked = nbytes;
        if (!have_room(texts, asked + 1))
            return false;
        piece = texts->pieces;
        nbytes =
            tbed_named_text(reader, options, item->id, piece->bytes + piece->used, piece->room - piece->used);
        if (nbytes > asked)
            nbytes = asked; /* the callback returned a longer length this time; this much was written */
    }
    item->text = piece->bytes + piece->used;
    item->nbytes = nbytes;
    piece->bytes[piece->used + nbytes] = '\0';
    piece->used += nbytes + 1;
    return true;
}

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = tbed_text_order(a->text, a->nbytes, b->text, b->nbytes);
    return order != 0 ? order : a->id < b->id ? -1 : a->id > b->id;
}

static bool prepare(const struct tbed_reader *reader, const struct tbed_analysis_options *options,
                    const struct named *items, size_t count)
{
    if (count == 0 || (options->name != NULL && options->prepare == NULL))
        return true;
    uint32_t *ids = malloc(count * sizeof *ids);
    if (ids == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        ids[i] = items[i].id;
    if (options->name != NULL)
        options->prepare(options->name_context, ids, count);
    else
        tbed_names_prepare(reader, ids, count, false);
    free(ids);
    return true;
}

enum tbed_status tbed_named_resolve(struct named_texts *texts, const struct tbed_reader *reader,
                                    const struct tbed_analysis_options *options, struct named *items,
                                    size_t count)
{
    if (!prepare(reader, options, items, count))
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (!resolve(texts, reader, options, &items[i]))
            return TBED_ERR_MEMORY;
    if (count > 1)
        qsort(items, count, sizeof *items, compare_named);
    return TBED_OK;
}

size_t tbed_named_group(const struct named *items, size_t count, size_t first)
{
    size_t last = first;
    while (last < count && items[last].nbytes == items[first].nbytes &&
           memcmp(items[last].text, items[first].text, items[first].nbytes) == 0)
        last++;
    return last - first;
}

enum tbed_status tbed_analysis_options_load(const struct tbed_analysis_options *given,
                                            struct tbed_analysis_options *options_ret)
{
    return tbed_options_take(options_ret, sizeof *options_ret, given) ? TBED_OK : TBED_ERR_ARGUMENT;
}
