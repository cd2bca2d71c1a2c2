/*
 * The names of ids as codes; see row_names.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tables/rows/row_names.h"

#include "reader/core/names/id_info.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR 0x1E

/* ---- Kept codes ---- */

void tbed_row_code_keep(struct row_codes *codes, uint64_t id, uint32_t code)
{
    if (id >= ROW_CODE_IDS || codes->leaves == NULL)
        return;
    uint32_t **place = &codes->leaves[id >> ROW_LEAF_BITS];
    uint32_t *leaf = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (leaf == NULL) {
        if (__atomic_load_n(&codes->made_count, __ATOMIC_RELAXED) >= ROW_LEAF_MAX)
            return;
        uint32_t *made = calloc((size_t)1 << ROW_LEAF_BITS, sizeof *made);
        if (made == NULL)
            return; /* then it is looked up again */
        uint32_t at = __atomic_fetch_add(&codes->made_count, 1, __ATOMIC_RELAXED);
        if (at >= ROW_LEAF_MAX) {
            __atomic_store_n(&codes->made_count, ROW_LEAF_MAX, __ATOMIC_RELAXED);
            free(made);
            return;
        }
        codes->made[at] = made;
        if (__atomic_compare_exchange_n(place, &leaf, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            leaf = made;
    }
    __atomic_store_n(&leaf[id % (1u << ROW_LEAF_BITS)], code, __ATOMIC_RELEASE);
}

/* ---- Opening ---- */

static bool same_in_trace(const struct row_names *names, uint64_t id, uint64_t *same_ret)
{
    const struct tbed_label_strings *strings = &names->strings;
    struct tbed_label_walk walk;
    struct tbed_label_component first, next;
    if (strings->walk_start(strings->context, id, &walk) != TBED_OK ||
        strings->walk_next(&walk, &first) != TBED_OK || !first.is_reference)
        return false;
    enum tbed_status status = strings->walk_next(&walk, &next);
    if (status != TBED_END &&
        (status != TBED_OK || next.is_reference || next.nbytes == 0 || next.text[0] != SEPARATOR))
        return false;
    *same_ret = first.id;
    return true;
}

static bool open_kinds(struct row_names *names, unsigned kinds)
{
    bool fine = true;
    for (unsigned kind = 0; kind < ROW_NAME_KINDS && fine; kind++) {
        if ((kinds >> kind & 1) == 0)
            continue;
        names->codes[kind].leaves = calloc(ROW_CODE_IDS >> ROW_LEAF_BITS, sizeof(uint32_t *));
        fine = names->codes[kind].leaves != NULL;
    }
    return fine;
}

bool tbed_row_names_open(struct row_names *names, struct table_names *texts, const struct tbed_reader *reader,
                         unsigned kinds)
{
    *names = (struct row_names){
        .texts = texts, .reader = reader, .strings = tbed_label_strings(reader), .label_same = same_in_trace};
    return open_kinds(names, kinds);
}

bool tbed_row_names_open_foreign(struct row_names *names, struct table_names *texts,
                                 const struct tbed_label_strings *strings, row_label_same_function label_same,
                                 const void *context, unsigned kinds)
{
    *names =
        (struct row_names){.texts = texts, .strings = *strings, .label_same = label_same, .context = context};
    return open_kinds(names, kinds);
}

void tbed_row_names_close(struct row_names *names)
{
    for (unsigned kind = 0; kind < ROW_NAME_KINDS; kind++) {
        struct row_codes *codes = &names->codes[kind];
        for (uint32_t i = 0; i < ROW_LEAF_MAX && i < codes->made_count; i++)
            free(codes->made[i]);
        free(codes->leaves);
    }
}

/* ---- Texts ---- */

uint32_t tbed_row_text_code(struct table_names *texts, const char *text, size_t nbytes)
{
    uint32_t code;
    if (text == NULL)
        return ROW_CODE_NULL;
    return tbed_table_names_add(texts, text, nbytes, &code) ? code + 1 : ROW_CODE_FAILED;
}

static uint32_t string_code(const struct row_names *names, const char *text)
{
    return tbed_row_text_code(names->texts, text, text != NULL ? strlen(text) : 0);
}

/* A name that the reader does not keep, or, if 'is_label', up to its first separator. */
static uint32_t long_name_code(const struct row_names *names, uint32_t id, bool is_label)
{
    size_t nbytes = tbed_id_spell(names->reader, id, TBED_NAME_ALL, NULL, 0);
    char *text = nbytes != TBED_NO_MEMORY ? malloc(nbytes + 1) : NULL;
    if (text == NULL)
        return ROW_CODE_FAILED;
    size_t made = tbed_id_spell(names->reader, id, TBED_NAME_ALL, text, nbytes + 1);
    made = made < nbytes ? made : nbytes;
    const char *end = is_label ? memchr(text, SEPARATOR, made) : NULL;
    uint32_t code = tbed_row_text_code(names->texts, text, end != NULL ? (size_t)(end - text) : made);
    free(text);
    return code;
}

static uint32_t name_code(const struct row_names *names, uint32_t id)
{
    struct tbed_name name;
    if (id == TBED_ID_INVALID)
        return ROW_CODE_NULL;
    enum tbed_status status = tbed_name_get(names->reader, id, &name);
    if (status == TBED_ERR_MEMORY)
        return ROW_CODE_FAILED;
    if (status == TBED_ERR_CACHE_FULL)
        return long_name_code(names, id, false);
    return tbed_row_text_code(names->texts, name.text, name.nbytes);
}

static uint32_t made_label_code(const struct row_names *names, uint64_t id)
{
    struct tbed_label label = {0};
    uint32_t code = tbed_label_make_row(&names->strings, id, &label)
                        ? tbed_row_text_code(names->texts, label.text, label.nbytes)
                        : ROW_CODE_FAILED;
    free(label.text);
    return code;
}

static bool is_location(const struct row_names *names, uint64_t id)
{
    struct tbed_location location;
    return names->reader != NULL && id <= TBED_ID_MAX_RESERVED &&
           tbed_location_resolve(names->reader, (uint32_t)id, &location);
}

/* Most ids of a profile stand for a label with arguments, which are all different. */
static uint32_t label_code(struct row_names *names, uint64_t id)
{
    uint64_t same;
    if (is_location(names, id))
        return long_name_code(names, (uint32_t)id, true);
    if (!names->label_same(names, id, &same) || is_location(names, same))
        return made_label_code(names, id);
    uint32_t code = row_code_known(&names->codes[ROW_LABEL], same);
    if (code == 0) {
        code = made_label_code(names, same);
        tbed_row_code_keep(&names->codes[ROW_LABEL], same, code);
    }
    return code;
}

/* ---- Places in code ---- */

static uint32_t place_code(const struct row_names *names, enum row_name kind, uint32_t id)
{
    bool is_complete = true;
    if (id == TBED_ID_INVALID)
        return ROW_CODE_NULL;
    struct tbed_id_info info = tbed_id_describe(names->reader, id, &is_complete);
    if (!is_complete)
        return ROW_CODE_FAILED;
    if (kind == ROW_LINE)
        return info.line != 0 && info.line < UINT32_MAX - 1 ? info.line + 1 : ROW_CODE_NULL;
    return string_code(names, kind == ROW_FUNCTION ? info.function : info.file);
}

/* ---- Any of them ---- */

uint32_t tbed_row_name_find(struct row_names *names, enum row_name kind, uint64_t id)
{
    uint32_t code = ROW_CODE_FAILED;
    switch (kind) {
    case ROW_LABEL:
        code = label_code(names, id);
        break;
    case ROW_NAME:
        code = name_code(names, (uint32_t)id);
        break;
    default:
        code = place_code(names, kind, (uint32_t)id);
        break;
    }
    if (code != ROW_CODE_FAILED)
        tbed_row_code_keep(&names->codes[kind], id, code);
    return code;
}
