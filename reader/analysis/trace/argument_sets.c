/*
 * Numbers for sets of arguments; see argument_sets.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/trace/argument_sets.h"

#include "format/checksum.h"

#include <stdlib.h>
#include <string.h>

void tbed_argument_sets_init(struct argument_sets *sets, const struct tbed_reader *reader)
{
    *sets = (struct argument_sets){.reader = reader, .lock = PTHREAD_MUTEX_INITIALIZER};
}

void tbed_argument_sets_free(struct argument_sets *sets)
{
    for (size_t i = 0; i < sets->texts.count; i++)
        free(sets->texts.items[i]);
    tbed_vector_free(&sets->texts.vector);
    tbed_hashmap_free(&sets->by_text.map);
}

/* As they are stored: packed ones have their types elsewhere. */
static uint64_t hash_bytes(const struct tbed_arguments *arguments, uint32_t count)
{
    struct tbed_arguments at = *arguments;
    struct tbed_argument argument;
    for (uint32_t i = 0; i < count; i++)
        tbed_argument_next(&at, &argument);
    const uint8_t *from = arguments->at, *end = at.at;
    uint64_t described = (uint64_t)arguments->packed_names << 32 | arguments->packed_types;
    return tbed_hash64(from, (size_t)(end - from)) ^ described * UINT64_C(0x9E3779B97F4A7C15);
}

/* Owned by the caller. NULL: no memory. */
static char *text_of(const struct tbed_reader *reader, const struct tbed_arguments *arguments, uint32_t count)
{
    size_t nbytes = tbed_arguments_text(reader, arguments, count, NULL, 0);
    char *text = malloc(nbytes + 1);
    if (text != NULL)
        tbed_arguments_text(reader, arguments, count, text, nbytes + 1);
    return text;
}

static struct argument_text *find(struct argument_sets *sets, uint64_t hash, const char *text)
{
    struct argument_text *found = TBED_HASHMAP_FIND(&sets->by_text, hash);
    while (found != NULL && strcmp(sets->texts.items[found->number - 1], text) != 0)
        found = TBED_HASHMAP_FIND_MORE(&sets->by_text, found);
    return found;
}

/* Takes the text, which it frees if it is there already. FAULT: no memory. */
static uint32_t add_text(struct argument_sets *sets, char *text)
{
    uint64_t hash = tbed_hash64(text, strlen(text));
    hash += hash == 0;
    struct argument_text *found = find(sets, hash, text);
    if (found != NULL) {
        free(text);
        return found->number;
    }
    char **place = sets->texts.count < ARGUMENT_SETS_MAX - 1 ? TBED_VECTOR_PUSH(&sets->texts) : NULL;
    if (place == NULL) {
        free(text);
        return ARGUMENT_SET_FAULT;
    }
    *place = text;
    found = TBED_HASHMAP_INSERT(&sets->by_text, hash);
    if (found == NULL)
        return ARGUMENT_SET_FAULT;
    return found->number = (uint32_t)sets->texts.count;
}

uint32_t tbed_argument_sets_number(struct argument_sets *sets, struct number_map *seen,
                                   const struct tbed_arguments *arguments, uint32_t count)
{
    if (count == 0)
        return ARGUMENT_SET_NONE;
    uint64_t hash = hash_bytes(arguments, count);
    uint32_t number = tbed_number_map_find(seen, hash);
    if (number != NUMBER_MAP_NONE)
        return number;
    char *text = text_of(sets->reader, arguments, count);
    if (text == NULL)
        return ARGUMENT_SET_FAULT;
    pthread_mutex_lock(&sets->lock);
    number = add_text(sets, text);
    pthread_mutex_unlock(&sets->lock);
    return number != ARGUMENT_SET_FAULT && tbed_number_map_add(seen, hash, number) ? number
                                                                                   : ARGUMENT_SET_FAULT;
}

const char *tbed_argument_sets_text(const struct argument_sets *sets, uint32_t number)
{
    return number == ARGUMENT_SET_NONE ? "" : sets->texts.items[number - 1];
}
