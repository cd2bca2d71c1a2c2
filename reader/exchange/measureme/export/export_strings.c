/*
 * Writes the strings of a trace as the string data and index of a profile.
 *
 * Entries keep their order and, in format 9, their sizes, so that an imported table is reproduced exactly. Addresses
 * are computed first, because references may point forward.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/core/names/id_info.h"
#include "reader/exchange/measureme/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_MARK  0xFE
#define TERMINATOR      0xFF
#define CHAIN_MAX       64   /* bindings of bindings */
#define LOOKS_MAX       4096 /* components examined for a cycle */
#define TEXT_NBYTES_MAX 4096 /* of a stand-in for an id without a string */

/* ---- Facts about ids ---- */

static void remember(struct export *export, uint32_t trace_id, struct export_id id)
{
    struct export_id_slot *slot = TBED_HASHMAP_ADD(&export->ids, tbed_hashmap_key32(trace_id));
    if (slot == NULL) {
        export->is_out_of_memory = true;
        return;
    }
    slot->profile_id = id.id;
    slot->is_named = id.is_named;
}

static bool recall(const struct export *export, uint32_t trace_id, struct export_id *id_ret)
{
    const struct export_id_slot *slot = TBED_HASHMAP_FIND(&export->ids, tbed_hashmap_key32(trace_id));
    if (slot == NULL)
        return false;
    *id_ret = (struct export_id){slot->profile_id, slot->is_named};
    return true;
}

/* ---- Bytes ---- */

/*
 * Writes string bytes to the file or, for strings written on demand while the others are still being written, to a
 * buffer.
 */
struct sink {
    struct export *export;
    bool is_late;
};

static bool grow_late(struct export *export, size_t nbytes)
{
    if (nbytes <= export->late_capacity - export->late_nbytes)
        return true;
    size_t capacity = (export->late_nbytes + nbytes) * 2;
    uint8_t *late = realloc(export->late, capacity);
    export->is_out_of_memory = export->is_out_of_memory || late == NULL;
    if (late == NULL)
        return false;
    export->late = late;
    export->late_capacity = capacity;
    return true;
}

static void put(const struct sink *sink, const void *bytes, size_t nbytes)
{
    struct export *export = sink->export;
    if (sink->is_late)
        export->late_address += nbytes;
    if (!sink->is_late || export->are_strings_written) {
        tbed_page_put(&export->pages, MM_STRING_DATA, bytes, nbytes);
    } else if (nbytes > 0 && grow_late(export, nbytes)) {
        memcpy(export->late + export->late_nbytes, bytes, nbytes);
        export->late_nbytes += nbytes;
    }
}

static size_t id_nbytes(const struct export *export)
{
    return export->version >= 9 ? 8 : 4;
}

static void put_reference(const struct sink *sink, uint64_t id)
{
    uint8_t bytes[9] = {REFERENCE_MARK};
    for (unsigned i = 0; i < 8; i++)
        bytes[1 + i] = (uint8_t)(id >> 8 * i);
    put(sink, bytes, 1 + id_nbytes(sink->export));
}

static void put_terminator(const struct sink *sink)
{
    const uint8_t terminator = TERMINATOR;
    put(sink, &terminator, 1);
    sink->export->report->string_count++;
}

/* An id in the version's width; higher ids cannot be represented. */
static uint64_t id_at(const struct export *export, uint64_t address)
{
    uint64_t id = MM_ID_FIRST + address;
    return export->version >= 9 || id <= UINT32_MAX ? id : MM_ID_INVALID;
}

/* ---- Entries ---- */

/* Size of an entry in the profile; 0: it is damaged. */
static uint64_t entry_nbytes(const struct export *export, uint32_t trace_id)
{
    struct tbed_string_component component;
    uint64_t nbytes = 1;
    uint32_t at = 0;
    enum tbed_status status;
    while ((status = tbed_string_component_next(export->reader, trace_id, &at, &component)) == TBED_OK)
        nbytes += component.is_reference ? 1 + id_nbytes(export) : component.nbytes;
    return status == TBED_END ? nbytes : 0;
}

uint64_t tbed_export_text(struct export *export, const char *text, size_t nbytes)
{
    struct sink sink = {export, true};
    uint64_t address = export->late_address;
    put(&sink, text, nbytes);
    put_terminator(&sink);
    return id_at(export, address);
}

uint64_t tbed_export_joined(struct export *export, uint64_t id, const char *text, size_t nbytes)
{
    struct sink sink = {export, true};
    uint64_t address = export->late_address;
    put_reference(&sink, id);
    put(&sink, text, nbytes);
    put_terminator(&sink);
    return id_at(export, address);
}

static struct export_cut cut_make(struct export *export, uint32_t trace_id)
{
    struct tbed_string_budget budget = {.size = sizeof budget, .component_count = LOOKS_MAX};
    uint64_t nbytes;
    switch (tbed_string_length(export->reader, trace_id, &budget, &nbytes)) {
    case TBED_ERR_STRING_CYCLE:
        return (struct export_cut){0, tbed_export_text(export, "<cycle>", strlen("<cycle>")), true};
    case TBED_ERR_STRING_DEPTH:
        return (struct export_cut){0, tbed_export_text(export, "<too deep>", strlen("<too deep>")), true};
    case TBED_ERR_STRING_COMPONENTS:
        return (struct export_cut){
            0, tbed_export_text(export, "<too many components>", strlen("<too many components>")), false};
    default:
        return (struct export_cut){0};
    }
}

/* Examines an id, once. */
static struct export_cut cut_of(struct export *export, uint32_t trace_id)
{
    uint64_t key = tbed_hashmap_key32(trace_id);
    struct export_cut *known = TBED_HASHMAP_FIND(&export->cuts, key);
    if (known != NULL)
        return *known;
    struct export_cut cut = cut_make(export, trace_id);
    export->has_whole_cut = export->has_whole_cut || cut.is_whole;
    known = TBED_HASHMAP_ADD(&export->cuts, key);
    export->is_out_of_memory = export->is_out_of_memory || known == NULL;
    if (known == NULL)
        return (struct export_cut){.profile_id = MM_ID_INVALID};
    cut.key = known->key;
    *known = cut;
    return cut;
}

/*
 * measureme's tools follow references without a limit, so no cycle must be written. Every cycle has a reference to a
 * reserved id, or to an entry that is not before the one that refers to it. The cycle is cut there; references that
 * cannot be examined completely are cut, too.
 */
static uint64_t reference_of(struct export *export, uint32_t from, uint32_t to)
{
    if (to > TBED_ID_METADATA && to < from)
        return tbed_export_id(export, to).id;
    uint64_t stand_in = cut_of(export, to).profile_id;
    return stand_in != 0 ? stand_in : tbed_export_id(export, to).id;
}

struct export_id tbed_export_name(struct export *export, uint32_t trace_id)
{
    if (!export->has_whole_cut || trace_id == TBED_ID_INVALID) /* all strings have been written */
        return tbed_export_id(export, trace_id);
    struct export_cut cut = cut_of(export, trace_id);
    return cut.is_whole ? (struct export_id){cut.profile_id, true} : tbed_export_id(export, trace_id);
}

static void put_entry(struct export *export, uint32_t trace_id, const struct sink *sink)
{
    struct tbed_string_component component;
    uint32_t at = 0;
    while (tbed_string_component_next(export->reader, trace_id, &at, &component) == TBED_OK)
        if (component.is_reference)
            put_reference(sink, reference_of(export, trace_id, component.id));
        else
            put(sink, component.text, component.nbytes);
    put_terminator(sink);
}

/* Exports the text for an id other than INVALID that has no string: the name of a code location, or a stand-in. */
static uint64_t export_stand_in(struct export *export, uint32_t trace_id)
{
    char text[TEXT_NBYTES_MAX];
    size_t nbytes = tbed_id_spell(export->reader, trace_id, TBED_NAME_ALL, text, sizeof text);
    if (nbytes == TBED_NO_MEMORY) {
        export->is_out_of_memory = true;
        nbytes = 0;
    } else if (nbytes >= sizeof text) {
        nbytes = tbed_utf8_cut_nbytes((const uint8_t *)text, sizeof text - 1);
    }
    return tbed_export_text(export, text, nbytes);
}

/* ---- Ids ---- */

static bool is_location(const struct export *export, uint32_t trace_id)
{
    struct tbed_unit_info unit;
    uint64_t pc;
    return tbed_location_find(export->reader, trace_id, &unit, &pc);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_name(const struct export *export, uint32_t trace_id)
{
    return export->name_count > 0 &&
           bsearch(&trace_id, export->names, export->name_count, sizeof trace_id, compare_ids) != NULL;
}

/* The end of a chain of bindings: a regular id, or a reserved one that is not bound. */
static uint32_t chain_end(const struct export *export, uint32_t trace_id)
{
    for (unsigned i = 0; i < CHAIN_MAX && trace_id <= TBED_ID_METADATA; i++)
        if (!tbed_id_binding(export->reader, trace_id, &trace_id))
            break;
    return trace_id;
}

static void keep_virtual(struct export *export, uint32_t trace_id)
{
    if (export->virtual_count == export->virtual_capacity) {
        size_t capacity = export->virtual_capacity > 0 ? export->virtual_capacity * 2 : 256;
        uint32_t *virtuals = realloc(export->virtuals, capacity * sizeof *virtuals);
        export->is_out_of_memory = export->is_out_of_memory || virtuals == NULL;
        if (virtuals == NULL)
            return;
        export->virtuals = virtuals;
        export->virtual_capacity = capacity;
    }
    export->virtuals[export->virtual_count++] = trace_id;
}

/* Writes a string on demand: a name that an event uses too, or a stand-in. */
static struct export_id export_late(struct export *export, uint32_t trace_id)
{
    bool is_string =
        trace_id > TBED_ID_INVALID && is_name(export, trace_id) && entry_nbytes(export, trace_id) > 0;
    bool is_named = is_string || (trace_id < TBED_ID_METADATA && is_location(export, trace_id));
    if (!is_string)
        return (struct export_id){export_stand_in(export, trace_id), is_named};
    struct sink sink = {export, true};
    uint64_t id = id_at(export, export->late_address);
    put_entry(export, trace_id, &sink); /* names are plain texts, so this does not recurse */
    return (struct export_id){id, true};
}

static struct export_id find_new(struct export *export, uint32_t trace_id)
{
    uint32_t end = chain_end(export, trace_id);
    bool is_virtual = trace_id < MM_ID_VIRTUAL_END;
    struct export_id id;
    uint32_t next;
    if (!is_virtual && trace_id < TBED_ID_METADATA && tbed_id_binding(export->reader, trace_id, &next) &&
        next < MM_ID_VIRTUAL_END)
        return tbed_export_id(export, next);
    if (is_virtual) {
        bool is_place = end == trace_id && is_location(export, trace_id);
        keep_virtual(export, trace_id);
        return (struct export_id){trace_id, end > TBED_ID_INVALID || is_place};
    }
    if (end < MM_ID_VIRTUAL_END || end == TBED_ID_INVALID)
        return tbed_export_id(export, end);
    if (recall(export, end, &id))
        return id;
    id = export_late(export, end);
    if (end != trace_id)
        remember(export, end, id);
    return id;
}

static struct export_id export_metadata(struct export *export)
{
    uint32_t end = chain_end(export, TBED_ID_METADATA);
    if (!export->makes_metadata)
        return (struct export_id){MM_ID_METADATA, true};
    return tbed_export_id(export, end != TBED_ID_METADATA ? end : TBED_ID_INVALID);
}

struct export_id tbed_export_id(struct export *export, uint32_t trace_id)
{
    struct export_id id;
    if (trace_id == TBED_ID_METADATA)
        return export_metadata(export);
    if (trace_id == TBED_ID_INVALID)
        return (struct export_id){MM_ID_INVALID, false};
    if (recall(export, trace_id, &id))
        return id;
    id = find_new(export, trace_id);
    remember(export, trace_id, id);
    return id;
}

uint64_t tbed_export_kind(struct export *export, enum export_kind kind)
{
    static const char *const names[] = {"GenericActivity", "Instant", "Counter"};
    uint64_t *id = &export->kind_ids[kind];
    if (*id == 0)
        *id = tbed_export_text(export, names[kind], strlen(names[kind]));
    return *id;
}

/* ---- All strings ---- */

/*
 * A name with references would have to be written in the middle of another entry, so it is written like any other
 * string.
 */
static void add_name(struct export *export, uint32_t trace_id)
{
    struct tbed_string_component component;
    uint32_t at = 0;
    if (trace_id <= TBED_ID_INVALID)
        return;
    while (tbed_string_component_next(export->reader, trace_id, &at, &component) == TBED_OK)
        if (component.is_reference)
            return;
    export->names[export->name_count++] = trace_id;
}

/* Names of processes and streams have no place in the format, unless events use them too. */
static bool find_names(struct export *export)
{
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    size_t process_count = 0, stream_count = 0;
    while (tbed_process_get(export->reader, process_count, &process))
        process_count++;
    while (tbed_stream_get(export->reader, stream_count, &stream))
        stream_count++;
    export->names = calloc(process_count + stream_count + 1, sizeof *export->names);
    if (export->names == NULL)
        return false;
    for (size_t i = 0; tbed_process_get(export->reader, i, &process); i++)
        add_name(export, process.name_id);
    for (size_t i = 0; tbed_stream_get(export->reader, i, &stream); i++)
        add_name(export, stream.name_id);
    qsort(export->names, export->name_count, sizeof *export->names, compare_ids);
    return true;
}

static void find_addresses(struct export *export)
{
    uint64_t address = export->pages.streams[MM_STRING_DATA].address;
    for (uint32_t id = 0; tbed_string_next(export->reader, &id);) {
        uint64_t nbytes = is_name(export, id) ? 0 : entry_nbytes(export, id);
        if (nbytes > 0)
            remember(export, id, (struct export_id){id_at(export, address), true});
        address += nbytes;
    }
    export->late_address = address;
}

bool tbed_export_strings(struct export *export)
{
    struct sink sink = {export, false};
    if (!find_names(export))
        return false;
    find_addresses(export);
    for (uint32_t id = 0; tbed_string_next(export->reader, &id) && !export->is_out_of_memory;)
        if (!is_name(export, id) && entry_nbytes(export, id) > 0)
            put_entry(export, id, &sink);
    export->are_strings_written = true;
    tbed_page_put(&export->pages, MM_STRING_DATA, export->late, export->late_nbytes);
    free(export->late);
    export->late = NULL;
    return !export->is_out_of_memory;
}

static void put_record(struct export *export, uint64_t id, uint64_t profile_id)
{
    uint8_t bytes[16];
    uint64_t address = profile_id - MM_ID_FIRST;
    size_t nbytes = id_nbytes(export);
    if (profile_id < MM_ID_FIRST)
        return; /* is not bound to a string */
    for (unsigned i = 0; i < nbytes; i++) {
        bytes[i] = (uint8_t)(id >> 8 * i);
        bytes[nbytes + i] = (uint8_t)(address >> 8 * i);
    }
    tbed_page_put(&export->pages, MM_STRING_INDEX, bytes, 2 * nbytes);
}

uint64_t tbed_export_bound(struct export *export, uint32_t trace_id)
{
    uint32_t end = chain_end(export, trace_id);
    struct export_id id;
    if (end == TBED_ID_INVALID || (end <= TBED_ID_METADATA && !is_location(export, end)))
        return 0;
    if (recall(export, end, &id) && id.id >= MM_ID_FIRST)
        return id.id;
    id = export_late(export, end);
    remember(export, end, id);
    return id.id;
}

void tbed_export_index(struct export *export, uint64_t metadata_id)
{
    struct tbed_binding_info binding;
    bool has_ranges = false;
    for (size_t i = 0; tbed_binding_get(export->reader, i, &binding); i++) {
        has_ranges = has_ranges || binding.id_count > 1;
        uint64_t bound = 0;
        if (binding.id_count == 1 &&
            (binding.first_id < MM_ID_VIRTUAL_END || binding.first_id == TBED_ID_METADATA))
            bound = tbed_export_bound(export, binding.string_id);
        if (binding.first_id < MM_ID_VIRTUAL_END)
            put_record(export, binding.first_id, bound);
        else if (metadata_id == 0)
            put_record(export, MM_ID_METADATA, bound);
    }
    for (size_t i = 0; i < export->virtual_count; i++) {
        uint32_t id = export->virtuals[i];
        if (has_ranges || chain_end(export, id) == id)
            put_record(export, id, tbed_export_bound(export, id));
    }
    put_record(export, MM_ID_METADATA, metadata_id);
}

void tbed_export_free(struct export *export)
{
    tbed_hashmap_free(&export->ids.map);
    free(export->late);
    free(export->names);
    tbed_hashmap_free(&export->cuts.map);
    free(export->virtuals);
}
