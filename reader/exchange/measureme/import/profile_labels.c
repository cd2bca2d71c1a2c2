/*
 * The labels of a profile that is read in place; see profile_labels.h.
 *
 * Source: spec/measureme.md, "Profiles".
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/profile_labels.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR '\x1E'

/* ---- String addresses ---- */

/*
 * Finds strings by address: runs of bytes in the order of their addresses and, for each piece of the address space,
 * the run that has its first byte. A string is found by two lookups instead of a search, since this is done for each
 * id.
 */
#define PIECE_SHIFT 16

struct run {
    uint64_t begin, end; /* addresses */
    const uint8_t *bytes;
};

struct runs {
    struct run *list;
    size_t count;
    uint32_t *by_piece; /* and one after the last */
};

static bool list_runs(struct runs *runs, const struct mm_file *file, uint64_t nbytes)
{
    size_t room = 0;
    for (uint64_t at = mm_string_first(file); at < nbytes;) {
        struct mm_string_walk walk;
        if (runs->count == room) {
            room = room == 0 ? 64 : room * 2;
            struct run *list = room <= UINT32_MAX ? realloc(runs->list, room * sizeof *list) : NULL;
            if (list == NULL)
                return false;
            runs->list = list;
        }
        mm_string_walk_start(file, at, &walk);
        uint64_t length = (uint64_t)(walk.position.end - walk.position.at);
        if (length == 0)
            break;
        runs->list[runs->count++] = (struct run){at, at + length, walk.position.at};
        at += length;
    }
    return true;
}

/* False: no memory. */
static bool make_runs(struct runs *runs, const struct mm_file *file, uint64_t nbytes)
{
    size_t piece_count = (size_t)(nbytes >> PIECE_SHIFT) + 1, run = 0;
    runs->by_piece = calloc(piece_count + 1, sizeof *runs->by_piece);
    if (runs->by_piece == NULL || !list_runs(runs, file, nbytes))
        return false;
    for (size_t piece = 0; piece <= piece_count; piece++) {
        while (run + 1 < runs->count && runs->list[run].end <= (uint64_t)piece << PIECE_SHIFT)
            run++;
        runs->by_piece[piece] = (uint32_t)run;
    }
    return true;
}

static void free_runs(struct runs *runs)
{
    free(runs->list);
    free(runs->by_piece);
}

/* The bytes from an address of the string data to the end of their run; NULL: there are none. */
static const uint8_t *find_bytes(const struct runs *runs, uint64_t address, size_t *nbytes_ret)
{
    size_t low = runs->by_piece[address >> PIECE_SHIFT], high = runs->by_piece[(address >> PIECE_SHIFT) + 1];
    while (low < high) { /* the first that ends after the address */
        size_t middle = low + (high - low) / 2;
        if (runs->list[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= runs->count || address < runs->list[low].begin || address >= runs->list[low].end)
        return NULL;
    *nbytes_ret = runs->list[low].end - address;
    return runs->list[low].bytes + (address - runs->list[low].begin);
}

struct profile_labels {
    const struct mm_file *file;
    struct runs runs;
    size_t reference_nbytes; /* size of an id in a string, after FE; 0: another encoding */
};

/* ---- Strings ---- */

_Static_assert(sizeof(struct mm_string_walk) <= sizeof(struct tbed_label_walk), "a walk fits");

static enum tbed_status walk_start(const void *context, uint64_t id, struct tbed_label_walk *walk)
{
    const struct profile_labels *labels = context;
    uint64_t address;
    if (!mm_string_address(labels->file, id, &address))
        return TBED_ERR_STRING_UNBOUND;
    struct mm_string_walk *strings = (void *)walk;
    mm_string_walk_start(labels->file, address, strings);
    strings->piece_nbytes_max = TBED_LABEL_NBYTES_MAX + 1; /* checks no more than the longest label */
    return TBED_OK;
}

static enum tbed_status walk_next(struct tbed_label_walk *walk, struct tbed_label_component *component_ret)
{
    struct mm_component component;
    enum tbed_status status = mm_component_next((void *)walk, &component);
    if (status == TBED_OK)
        *component_ret = (struct tbed_label_component){
            .is_reference = component.is_reference,
            .id = component.id,
            .text = component.text,
            .nbytes = component.nbytes,
        };
    return status;
}

/* A reference followed by nothing or a separator: the form of nearly all event ids in formats 7 to 9. */
bool tbed_profile_label_same(const struct profile_labels *labels, uint64_t id, uint64_t *label_id_ret)
{
    uint64_t address;
    size_t nbytes;
    if (labels->reference_nbytes == 0 || !mm_string_address(labels->file, id, &address))
        return false;
    const uint8_t *bytes = find_bytes(&labels->runs, address, &nbytes);
    if (bytes == NULL || nbytes <= 1 + labels->reference_nbytes || bytes[0] != 0xFE)
        return false;
    uint8_t next = bytes[1 + labels->reference_nbytes];
    *label_id_ret = labels->reference_nbytes == 8 ? tbed_le64_at(bytes + 1) : tbed_le32_at(bytes + 1);
    return next == 0xFF || next == 0x1E;
}

/* A string that is damaged after its label counts, because its label is intact. */
static bool is_string_at(const struct mm_file *file, uint64_t address, uint64_t *behind_ret)
{
    struct mm_string_walk walk;
    struct mm_component component;
    enum tbed_status status;
    bool has_label = false;
    mm_string_walk_start(file, address, &walk);
    while ((status = mm_component_next(&walk, &component)) == TBED_OK)
        has_label = has_label ||
                    (!component.is_reference && memchr(component.text, SEPARATOR, component.nbytes) != NULL);
    *behind_ret = walk.address;
    return status == TBED_END || has_label;
}

/*
 * Returns whether any id has a meaning. The total read for the index's records is bounded, because each byte of a long
 * string may be pointed to.
 */
static bool has_strings(const struct mm_file *file, const struct mm_info *info)
{
    uint64_t end = info->stream_nbytes[MM_STRING_DATA], left = end, behind;
    struct mm_index_record record;
    for (uint64_t at = mm_string_first(file); info->version >= 4 && at < end; at = behind) {
        if (is_string_at(file, at, &behind))
            return true;
        if (behind <= at)
            break;
    }
    for (size_t i = 0; left > 0 && mm_index_get(file, i, &record); i++) {
        if (!mm_index_is_valid(file, &record))
            continue;
        if (is_string_at(file, record.address, &behind))
            return true;
        left -= behind - record.address < left ? behind - record.address : left;
    }
    return false;
}

/* ---- Opening ---- */

struct profile_labels *tbed_profile_labels_open(const struct mm_file *file, struct tbed_text_budget *budget,
                                                struct tbed_label_strings *strings_ret)
{
    struct mm_info info;
    struct profile_labels *labels = calloc(1, sizeof *labels);
    if (labels == NULL)
        return NULL;
    mm_info(file, &info);
    labels->file = file;
    labels->reference_nbytes = info.version >= 9 ? 8 : info.version >= 7 ? 4 : 0;
    if (labels->reference_nbytes > 0 && !make_runs(&labels->runs, file, info.stream_nbytes[MM_STRING_DATA])) {
        tbed_profile_labels_close(labels);
        return NULL;
    }
    *strings_ret = (struct tbed_label_strings){.context = labels,
                                               .has_no_strings = !has_strings(file, &info),
                                               .invalid_id = info.invalid_id,
                                               .budget = budget,
                                               .walk_start = walk_start,
                                               .walk_next = walk_next};
    return labels;
}

void tbed_profile_labels_close(struct profile_labels *labels)
{
    if (labels == NULL)
        return;
    free_runs(&labels->runs);
    free(labels);
}
