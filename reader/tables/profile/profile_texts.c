/*
 * Complete names in a profile; see profile_state.h.
 *
 * An intact name is put together here. What else may be wrong with one, and how that is shown, is the reader's affair: then the
 * profile is imported after all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/profile/profile_state.h"

#include "reader/core/base/json.h"
#include "reader/core/names/id_info.h"

#include <stdio.h>

#define DEPTH_MAX     16u
#define COMPONENT_MAX 4096u
#define SEPARATOR     0x1E

/* ---- Intact names ---- */

/* Adds the text of an id. False: it is not intact, or long, or there is no memory. */
static bool expand(const struct mm_file *file, uint64_t id, struct tbed_text *text)
{
    struct mm_string_walk walks[DEPTH_MAX];
    uint64_t address;
    size_t depth = 0, component_count = 0;
    if (!mm_string_address(file, id, &address))
        return false;
    mm_string_walk_start(file, address, &walks[depth++]);
    while (depth > 0) {
        struct mm_component component;
        enum tbed_status status = mm_component_next(&walks[depth - 1], &component);
        if (status == TBED_END) {
            depth--;
            continue;
        }
        if (status != TBED_OK || ++component_count > COMPONENT_MAX)
            return false;
        if (!component.is_reference) {
            tbed_text_put(text, component.text, component.nbytes);
            if (text->is_out_of_memory || text->nbytes > TBED_NAME_NBYTES_MAX)
                return false;
        } else if (depth == DEPTH_MAX || !mm_string_address(file, component.id, &address)) {
            return false;
        } else {
            mm_string_walk_start(file, address, &walks[depth++]);
        }
    }
    return true;
}

/* ---- Others ---- */

/* The id in an import. */
static uint32_t imported_id(const struct profile *profile, uint64_t id)
{
    if (id == profile->info.metadata_id)
        return TBED_ID_METADATA;
    return id < IMPORT_FIRST_FRESH && id != profile->info.invalid_id ? (uint32_t)id : TBED_ID_INVALID;
}

/* As the reader of the import spells it. */
static bool spell(const struct profile_scan *scan, uint64_t id, struct tbed_text *text)
{
    struct tbed_reader *reader = tbed_tables_reader(scan->scan->tables, NULL);
    if (reader == NULL)
        return false;
    uint32_t imported = imported_id(scan->profile, id);
    size_t nbytes = tbed_id_spell(reader, imported, TBED_NAME_ALL, NULL, 0);
    if (nbytes == TBED_NO_MEMORY || !tbed_text_reserve(text, nbytes + 1))
        return false;
    text->nbytes = tbed_id_spell(reader, imported, TBED_NAME_ALL, text->bytes, nbytes + 1);
    return text->nbytes != TBED_NO_MEMORY;
}

/* An id that the profile does not define. */
static bool put_number(uint64_t id, struct tbed_text *text)
{
    tbed_text_puts(text, "<id ");
    tbed_text_u64(text, id);
    tbed_text_puts(text, ">");
    return !text->is_out_of_memory;
}

static bool make_text(const struct profile_scan *scan, uint64_t id, struct tbed_text *text)
{
    const struct mm_info *info = &scan->profile->info;
    uint64_t address;
    text->nbytes = 0;
    if (id != info->metadata_id && id != info->invalid_id &&
        !mm_string_address(scan->profile->file, id, &address))
        return put_number(id, text);
    if (expand(scan->profile->file, id, text))
        return true;
    text->nbytes = 0;
    return !text->is_out_of_memory && spell(scan, id, text);
}

/* ---- Columns ---- */

uint32_t tbed_profile_name_code(const struct profile_scan *scan, uint64_t id, struct tbed_text *scratch)
{
    if (!make_text(scan, id, scratch))
        return ROW_CODE_FAILED;
    return tbed_row_text_code(&scan->scan->names, scratch->nbytes > 0 ? scratch->bytes : "", scratch->nbytes);
}

bool tbed_profile_args(const struct profile_scan *scan, uint64_t id, struct tbed_text *scratch,
                       struct tbed_text *json)
{
    json->nbytes = 0;
    if (!make_text(scan, id, scratch))
        return false;
    if (scratch->nbytes == 0)
        return true;
    const char *at = scratch->bytes, *end = at + scratch->nbytes;
    uint64_t number = 0;
    while (at != NULL && (at = memchr(at, SEPARATOR, (size_t)(end - at))) != NULL) {
        const char *next = ++at < end ? memchr(at, SEPARATOR, (size_t)(end - at)) : NULL;
        tbed_text_puts(json, number == 0 ? "{\"arg" : ",\"arg");
        tbed_text_u64(json, number++);
        tbed_text_puts(json, "\":");
        tbed_json_quote(json, at, (size_t)((next != NULL ? next : end) - at));
        at = next;
    }
    if (number > 0)
        tbed_text_puts(json, "}");
    return !json->is_out_of_memory;
}

uint32_t tbed_profile_thread_code(const struct profile_scan *scan, uint64_t thread)
{
    char text[32];
    int nbytes = snprintf(text, sizeof text, "thread %u", (uint32_t)thread);
    return tbed_row_text_code(&scan->scan->names, text, (size_t)nbytes);
}
