/*
 * Imports the strings of a profile into the string table of the trace: each entry in order, then the index.
 *
 * Memory is bounded by the size of the index, by a quarter of the string data, and by the largest entry's references.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR          '\x1E' /* after a label */
#define BATCH_COUNT        4096   /* bindings of one record */
#define TAILS_NBYTES_LEAST ((uint64_t)1 << 20)
#define COMPONENT_COUNT                                                                                      \
    1024 /* more are moved to a string of their own, so that an entry of any size takes little memory */

/* A record of the index, and the string at its address. */
struct index_entry {
    uint64_t address;
    uint32_t position; /* in the index */
    uint32_t string_id;
};

struct import_strings {
    struct import *import;
    bool is_out_of_memory;     /* an entry was left out */
    bool is_told;              /* damage has been reported, if entries are read again */
    struct index_entry *index; /* by address */
    size_t index_count, index_at;
    uint32_t *by_position; /* string ids; 0: the record points to no entry; INVALID: to one without a text */
    struct tbed_component components[COMPONENT_COUNT];
    size_t component_count;
    struct tbed_component *parts; /* references to flushed parts */
    size_t part_count, part_capacity;
    char *joined; /* texts of adjacent pieces, concatenated */
    size_t joined_nbytes, joined_capacity;
    size_t joined_at; /* the component of the last piece; SIZE_MAX: there is none */
    uint32_t ids[BATCH_COUNT], string_ids[BATCH_COUNT];
    size_t batch_count;
};

/* ---- Damage ---- */

static void tell(struct import_strings *strings, enum tbed_status status, uint64_t address)
{
    struct import *import = strings->import;
    struct import_damage *damage = &import->string_damage;
    if (damage->count < TBED_IMPORT_DAMAGE_KEPT)
        damage->kept[damage->count] = (struct tbed_import_damage){
            .status = status,
            .file = import->info.paged ? 0 : (uint32_t)MM_STRING_DATA,
            .offset = mm_file_offset(import->file, MM_STRING_DATA, address),
        };
    damage->count++;
}

/* ---- Bindings ---- */

static void flush_batch(struct import_strings *strings)
{
    if (strings->batch_count > 0)
        tbed_id_bind_list(strings->import->writer, strings->ids, strings->string_ids, strings->batch_count);
    strings->batch_count = 0;
}

static void bind(struct import_strings *strings, uint64_t id, uint32_t string_id)
{
    uint32_t trace_id = import_id(&strings->import->ids, id);
    if (string_id == TBED_ID_INVALID || trace_id == TBED_ID_INVALID)
        return; /* the drop has been counted, or the id is the undefined one */
    strings->ids[strings->batch_count] = trace_id;
    strings->string_ids[strings->batch_count++] = string_id;
    strings->import->report->binding_count++;
    if (strings->batch_count == BATCH_COUNT)
        flush_batch(strings);
}

/* ---- The index ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct index_entry *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool load_index(struct import_strings *strings)
{
    const struct mm_file *file = strings->import->file;
    size_t count = strings->import->info.index_count;
    struct mm_index_record record;
    bool is_sorted = true;
    strings->index = calloc(count > 0 ? count : 1, sizeof *strings->index);
    strings->by_position = calloc(count > 0 ? count : 1, sizeof *strings->by_position);
    if (strings->index == NULL || strings->by_position == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        mm_index_get(file, i, &record);
        strings->index[i] = (struct index_entry){record.address, (uint32_t)i, 0};
        is_sorted = is_sorted && (i == 0 || record.address >= strings->index[i - 1].address);
    }
    strings->index_count = count;
    if (!is_sorted)
        qsort(strings->index, count, sizeof *strings->index, compare_entries);
    return true;
}

/* Records that point to 'address', which only increases, get their string. */
static void match_index(struct import_strings *strings, uint64_t address, uint32_t string_id)
{
    const struct index_entry *index = strings->index;
    size_t at = strings->index_at;
    while (at < strings->index_count && index[at].address < address)
        at++;
    for (; at < strings->index_count && index[at].address == address; at++)
        strings->by_position[index[at].position] = string_id;
    strings->index_at = at;
}

/* Invalid records were reported when the index was built. */
static bool is_valid(const struct import_strings *strings, size_t position)
{
    struct mm_index_record record;
    mm_index_get(strings->import->file, position, &record);
    return mm_index_is_valid(strings->import->file, &record);
}

/* ---- One entry ---- */

static bool add_part(struct import_strings *strings)
{
    if (strings->part_count == strings->part_capacity) {
        size_t capacity = strings->part_capacity > 0 ? strings->part_capacity * 2 : 16;
        struct tbed_component *parts = realloc(strings->parts, capacity * sizeof *parts);
        if (parts == NULL)
            return false;
        strings->parts = parts;
        strings->part_capacity = capacity;
    }
    uint32_t id = tbed_string_alloc(strings->import->writer, strings->components, strings->component_count);
    strings->parts[strings->part_count++] = (struct tbed_component){.id = id};
    strings->component_count = strings->joined_nbytes = 0;
    strings->joined_at = SIZE_MAX;
    return true;
}

/* Components that point into the old memory are adjusted. */
static bool make_room(struct import_strings *strings, size_t nbytes)
{
    if (nbytes <= strings->joined_capacity - strings->joined_nbytes)
        return true;
    size_t capacity = strings->joined_nbytes + nbytes;
    capacity += capacity / 2;
    char *joined = malloc(capacity);
    if (joined == NULL)
        return false;
    for (size_t i = 0, at = 0; at < strings->joined_nbytes; i++) {
        struct tbed_component *component = &strings->components[i];
        if (component->text != strings->joined + at)
            continue;
        memcpy(joined + at, component->text, component->nbytes);
        component->text = joined + at;
        at += component->nbytes;
    }
    free(strings->joined);
    strings->joined = joined;
    strings->joined_capacity = capacity;
    return true;
}

/* A text after a text: pieces of one text in two pages, which may share a code point. */
static bool join(struct import_strings *strings, const struct mm_component *piece)
{
    size_t at = strings->component_count - 1;
    struct tbed_component *last = &strings->components[at];
    size_t before = strings->joined_at == at ? 0 : last->nbytes;
    if (!make_room(strings, before + piece->nbytes))
        return false;
    char *end = strings->joined + strings->joined_nbytes;
    if (before > 0) {
        memcpy(end, last->text, before);
        last->text = end;
    }
    memcpy(end + before, piece->text, piece->nbytes);
    last->nbytes += piece->nbytes;
    strings->joined_nbytes += before + piece->nbytes;
    strings->joined_at = at;
    return true;
}

static bool add_component(struct import_strings *strings, const struct mm_component *component)
{
    const struct import_marks *marks = &strings->import->marks;
    size_t count = strings->component_count;
    const struct tbed_component *last = count > 0 ? &strings->components[count - 1] : NULL;
    if (!component->is_reference && last != NULL && last->text != NULL)
        return join(strings, component);
    if (count == COMPONENT_COUNT && !add_part(strings))
        return false;
    struct tbed_component *next = &strings->components[strings->component_count++];
    if (component->is_reference)
        import_mark_id(marks, marks->wanted, component->id);
    if (component->is_reference)
        *next = (struct tbed_component){.id = import_id(&strings->import->ids, component->id)};
    else
        *next = (struct tbed_component){.text = component->text, .nbytes = component->nbytes};
    return true;
}

static uint32_t store_entry(struct import_strings *strings)
{
    struct tbed_writer *writer = strings->import->writer;
    if (strings->part_count == 0)
        return tbed_string_alloc(writer, strings->components, strings->component_count);
    if (strings->component_count > 0 && !add_part(strings)) {
        strings->is_out_of_memory = true;
        return TBED_ID_INVALID;
    }
    return tbed_string_alloc(writer, strings->parts, strings->part_count);
}

static void start_entry(struct import_strings *strings)
{
    strings->component_count = strings->part_count = strings->joined_nbytes = 0;
    strings->joined_at = SIZE_MAX;
}

/*
 * Keeps the label of a damaged entry if a separator precedes the damage; INVALID: there is none. Its components were added
 * when the entry was read, so there is memory for them.
 */
static void read_label(struct import_strings *strings, uint64_t address, uint32_t *string_id_ret)
{
    struct mm_string_walk walk;
    struct mm_component component;
    const char *separator = NULL;
    start_entry(strings);
    mm_string_walk_start(strings->import->file, address, &walk);
    while (separator == NULL) {
        if (mm_component_next(&walk, &component) != TBED_OK)
            return;
        if (!component.is_reference)
            separator = memchr(component.text, SEPARATOR, component.nbytes);
        if (separator != NULL)
            component.nbytes = (uint32_t)(separator - component.text);
        if (component.is_reference || component.nbytes > 0)
            add_component(strings, &component);
    }
    *string_id_ret = store_entry(strings);
}

/*
 * False: no memory. Damage to the entry has been reported; if it has no label either, it is left out: INVALID, as
 *        when the trace has no room for it.
 */
static bool read_entry(struct import_strings *strings, struct mm_string_walk *walk, uint32_t *string_id_ret)
{
    struct mm_component component;
    enum tbed_status status;
    uint64_t address = walk->address;
    *string_id_ret = TBED_ID_INVALID;
    start_entry(strings);
    while ((status = mm_component_next(walk, &component)) == TBED_OK)
        if (!add_component(strings, &component))
            return false;
    if (status == TBED_END) {
        *string_id_ret = store_entry(strings);
    } else {
        if (!strings->is_told)
            tell(strings, status, walk->damage_address);
        read_label(strings, address, string_id_ret);
    }
    strings->import->report->string_count += *string_id_ret != TBED_ID_INVALID;
    return true;
}

static bool import_entry(struct import_strings *strings, struct mm_string_walk *walk)
{
    const struct import *import = strings->import;
    uint64_t address = walk->address;
    uint32_t string_id;
    import_mark(&import->marks, import->marks.starts, address);
    if (!read_entry(strings, walk, &string_id))
        return false;
    if (import->info.version >= 4) /* in older versions, all ids are in the index */
        bind(strings, address + import->info.first_regular_id, string_id);
    if (address == mm_string_first(import->file) && mm_metadata_is_unlisted(import->file))
        bind(strings, import->info.metadata_id, string_id);
    match_index(strings, address, string_id);
    return true;
}

/* ---- The middles of entries ---- */

static void want_records(struct import_strings *strings)
{
    const struct import_marks *marks = &strings->import->marks;
    for (size_t i = 0; i < strings->index_count; i++)
        if (is_valid(strings, strings->index[i].position))
            import_mark(marks, marks->wanted, strings->index[i].address);
}

/*
 * Reads the rest of the entry from here on, whose damage, if any, has been reported. Returns how far it was read.
 * False: no memory.
 */
static bool import_tail(struct import_strings *strings, uint64_t address, uint64_t *nbytes_ret)
{
    struct mm_string_walk walk;
    mm_string_walk_start(strings->import->file, address, &walk);
    strings->is_told = true;
    if (!import_entry(strings, &walk))
        return false;
    *nbytes_ret = walk.address - address;
    return true;
}

static bool import_tails_once(struct import_strings *strings, uint64_t *left, bool *is_done)
{
    struct import_marks *marks = &strings->import->marks;
    strings->index_at = 0;
    *is_done = true;
    for (uint64_t i = 0; i < marks->word_count; i++)
        for (uint64_t bits; (bits = marks->wanted[i] & ~marks->starts[i]) != 0 && *left > 0;) {
            uint64_t nbytes;
            if (!import_tail(strings, 64 * i + (unsigned)__builtin_ctzll(bits), &nbytes))
                return false;
            *left -= nbytes < *left ? nbytes : *left;
            *is_done = false;
        }
    *left -= marks->word_count < *left ? marks->word_count : *left;
    return true;
}

static void count_left(struct import_strings *strings)
{
    const struct import_marks *marks = &strings->import->marks;
    for (uint64_t i = 0; i < marks->word_count; i++)
        strings->import->report->drop_count +=
            (uint64_t)__builtin_popcountll(marks->wanted[i] & ~marks->starts[i]);
}

/*
 * An id that points into the middle of an entry means the rest of it, as it does for measureme's own tools. The total
 * is bounded by the size of all strings, since each byte of a long one may be pointed to. Read from there, an entry
 * may refer to others.
 */
static bool import_tails(struct import_strings *strings)
{
    uint64_t left = strings->import->marks.nbytes + TAILS_NBYTES_LEAST;
    bool is_done = false;
    tbed_import_marks_unite(&strings->import->marks);
    want_records(strings);
    while (!is_done && left > 0)
        if (!import_tails_once(strings, &left, &is_done))
            return false;
    count_left(strings);
    return true;
}

/* Returns whether the string data has an entry at a record's address. The file may have changed since the index was read. */
static bool has_string(const struct import_strings *strings, uint64_t address)
{
    const struct index_entry key = {.address = address};
    const struct index_entry *found =
        bsearch(&key, strings->index, strings->index_count, sizeof key, compare_entries);
    uint32_t string_id = found != NULL ? strings->by_position[found->position] : 0;
    return string_id != 0 && string_id != TBED_ID_INVALID;
}

/*
 * Of several records for an id the last one counts, even if it points to nothing readable: then the id is not bound.
 */
static void bind_index(struct import_strings *strings)
{
    const struct mm_file *file = strings->import->file;
    struct mm_index_record record;
    for (size_t i = 0; i < strings->index_count; i++) {
        uint64_t last_address;
        mm_index_get(file, i, &record);
        if (strings->by_position[i] != 0 && mm_index_is_valid(file, &record) &&
            mm_string_address(file, record.id, &last_address) &&
            (last_address == record.address || has_string(strings, last_address)))
            bind(strings, record.id, strings->by_position[i]);
    }
}

/* ---- Driver ---- */

static bool import_entries(struct import_strings *strings)
{
    const struct import *import = strings->import;
    uint64_t end = import->info.stream_nbytes[MM_STRING_DATA];
    struct mm_string_walk walk;
    for (uint64_t address = mm_string_first(import->file); address < end;) {
        mm_string_walk_start(import->file, address, &walk);
        if (!import_entry(strings, &walk))
            return false;
        if (walk.address <= address)
            return true; /* the rest cannot be read, as has been reported */
        address = walk.address;
    }
    return true;
}

enum tbed_status tbed_import_strings(struct import *import)
{
    struct import_strings *strings = calloc(1, sizeof *strings);
    if (strings == NULL)
        return TBED_ERR_MEMORY;
    strings->import = import;
    import->strings = strings;
    return load_index(strings) && import_entries(strings) ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_import_strings_finish(struct import *import)
{
    if (!import_tails(import->strings) || import->strings->is_out_of_memory)
        return TBED_ERR_MEMORY;
    bind_index(import->strings);
    flush_batch(import->strings);
    return TBED_OK;
}

void tbed_import_strings_free(struct import *import)
{
    struct import_strings *strings = import->strings;
    if (strings == NULL)
        return;
    free(strings->index);
    free(strings->by_position);
    free(strings->parts);
    free(strings->joined);
    free(strings);
}
