/*
 * A profile of measureme as a source of statistics: its pages are the chunks, and its events are read in place.
 *
 * Source: spec/measureme.md, "Profiles".
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/statistics/span_walk.h"
#include "reader/exchange/measureme/import/import.h"

#include <stdlib.h>
#include <string.h>

#define PREFETCH_AHEAD 12u /* events */
#define SEPARATOR      '\x1E'

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

struct foreign {
    struct mm_file *file;
    enum mm_shape shape;
    struct runs runs;
    size_t reference_nbytes; /* size of an id in a string, after FE; 0: another encoding */
};

/* ---- Events ---- */

/* A foreign file is one stream: its order is the file's. */
static struct stat_place place_of(const struct mm_chunk *chunk, uint32_t index)
{
    return (struct stat_place){.order = chunk->first + index};
}

static uint64_t event_id(const uint8_t *bytes, enum mm_shape shape)
{
    struct mm_event event;
    mm_event_load(bytes, shape, &event);
    return event.id;
}

static void take_integer(struct stat_worker *worker, const struct mm_event *event, struct stat_place place)
{
    struct stat_value value = {event->begin, (double)event->begin};
    tbed_stat_take_counter(worker, event->kind, event->id, &value, place);
}

static inline __attribute__((always_inline)) void take_events(struct stat_worker *worker,
                                                              const struct mm_chunk *chunk,
                                                              const enum mm_shape shape,
                                                              const size_t event_nbytes)
{
    struct mm_event event;
    for (uint32_t i = chunk->event_count; i-- > 0;) {
        const uint8_t *bytes = chunk->bytes + i * event_nbytes;
        mm_event_load(bytes, shape, &event);
        if (i >= PREFETCH_AHEAD)
            stat_row_prefetch(worker, event_id(bytes - PREFETCH_AHEAD * event_nbytes, shape));
        if (__builtin_expect(event.type == MM_INTERVAL, 1))
            stat_take_span(worker, event.thread, event.kind, event.id, event.begin, event.end);
        else if (event.type == MM_INSTANT)
            tbed_stat_take_instant(worker, event.kind, event.id);
        else
            take_integer(worker, &event, place_of(chunk, i));
    }
    worker->totals.event_count += chunk->event_count;
}

static void take_chunk(struct stat_worker *worker, size_t index)
{
    const struct foreign *foreign = worker->context;
    struct mm_chunk chunk = mm_chunk_get(foreign->file, index);
    switch (foreign->shape) {
    case MM_SHAPE_24_NO_INTEGERS:
        take_events(worker, &chunk, MM_SHAPE_24_NO_INTEGERS, 24);
        break;
    case MM_SHAPE_24:
        take_events(worker, &chunk, MM_SHAPE_24, 24);
        break;
    case MM_SHAPE_32:
        take_events(worker, &chunk, MM_SHAPE_32, 32);
        break;
    case MM_SHAPE_PAIRED:
        take_events(worker, &chunk, MM_SHAPE_PAIRED, 40);
        break;
    }
}

/* Counts are usually at a file's end, so most instants need not be read twice. */
static void recount_chunk(struct stat_worker *worker, size_t index)
{
    const struct foreign *foreign = worker->context;
    struct mm_chunk chunk = mm_chunk_get(foreign->file, index);
    struct mm_event event;
    if (chunk.first + chunk.event_count <= tbed_stat_first_count(worker))
        return;
    for (uint32_t i = 0; i < chunk.event_count; i++) {
        mm_event_load(chunk.bytes + (size_t)i * chunk.event_nbytes, foreign->shape, &event);
        if (event.type == MM_INSTANT)
            tbed_stat_take_hit(worker, event.kind, event.id, place_of(&chunk, i));
    }
}

/* ---- Strings ---- */

_Static_assert(sizeof(struct mm_string_walk) <= sizeof(struct tbed_label_walk), "a walk fits");

static enum tbed_status walk_start(const void *context, uint64_t id, struct tbed_label_walk *walk)
{
    const struct foreign *foreign = context;
    uint64_t address;
    if (!mm_string_address(foreign->file, id, &address))
        return TBED_ERR_STRING_UNBOUND;
    struct mm_string_walk *strings = (void *)walk;
    mm_string_walk_start(foreign->file, address, strings);
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
static bool label_of(struct stat_worker *worker, uint64_t id, uint64_t *label_id_ret)
{
    const struct foreign *foreign = worker->context;
    uint64_t address, label_id = 0;
    size_t nbytes;
    if (foreign->reference_nbytes == 0 || !mm_string_address(foreign->file, id, &address))
        return false;
    const uint8_t *bytes = find_bytes(&foreign->runs, address, &nbytes);
    if (bytes == NULL || nbytes <= 1 + foreign->reference_nbytes || bytes[0] != 0xFE)
        return false;
    uint8_t next = bytes[1 + foreign->reference_nbytes];
    if (foreign->reference_nbytes == 8)
        memcpy(&label_id, bytes + 1, 8);
    else
        memcpy(&label_id, bytes + 1, 4);
    *label_id_ret = label_id;
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

/* ---- Driver ---- */

struct found {
    struct tbed_foreign_damage kept[TBED_IMPORT_DAMAGE_KEPT];
    uint64_t count;
};

static void tell(struct found *found, const struct tbed_foreign_damage *damage)
{
    if (found->count < TBED_IMPORT_DAMAGE_KEPT)
        found->kept[found->count] = *damage;
    found->count++;
}

/* Entries are walked in order: bytes that are invalid only when read from the middle of an entry are not damage. */
static void tell_strings(const struct foreign *foreign, const struct mm_info *info, struct found *found)
{
    struct mm_string_walk walk;
    enum tbed_status status;
    mm_string_walk_start(foreign->file, mm_string_first(foreign->file), &walk);
    while ((status = mm_string_damage_next(&walk)) != TBED_END)
        tell(found, &(struct tbed_foreign_damage){
                        status, info->paged ? 0 : MM_STRING_DATA,
                        mm_file_offset(foreign->file, MM_STRING_DATA, walk.damage_address), 0});
}

/* False: no memory. */
static bool tell_damage(const struct foreign *foreign, const struct mm_info *info, uint64_t texts_left_out,
                        struct tbed_statistics *statistics)
{
    struct found *found = calloc(1, sizeof *found);
    struct mm_damage damage;
    if (found == NULL)
        return false;
    for (size_t i = 0; i < TBED_IMPORT_DAMAGE_KEPT && mm_damage_get(foreign->file, i, &damage); i++)
        tell(found, &(struct tbed_foreign_damage){damage.status, damage.file, damage.offset, damage.detail});
    found->count = info->damage_count;
    tell_strings(foreign, info, found);
    struct stat_origin origin = {
        .version = info->version,
        .file_nbytes = info->file_nbytes,
        .damage_count = found->count,
        .texts_left_out = texts_left_out,
        .damages = found->kept,
        .kept_count = found->count < TBED_IMPORT_DAMAGE_KEPT ? (size_t)found->count : TBED_IMPORT_DAMAGE_KEPT,
    };
    tbed_stat_set_origin(statistics, &origin);
    free(found);
    return true;
}

static enum tbed_status make(struct mm_file *file, const struct tbed_analysis_options *given,
                             struct tbed_text_budget *budget, struct tbed_statistics **statistics_ret)
{
    struct foreign foreign = {.file = file, .shape = mm_event_shape(file)};
    struct tbed_analysis_options options;
    struct import_metadata metadata;
    struct mm_info info;
    if (!tbed_options_take(&options, sizeof options, given) || options.by != TBED_BY_LABEL)
        return TBED_ERR_ARGUMENT;
    mm_info(file, &info);
    tbed_text_budget_limit(budget, tbed_text_budget_usual(info.file_nbytes));
    foreign.reference_nbytes = info.version >= 9 ? 8 : info.version >= 7 ? 4 : 0;
    if (!tbed_import_metadata_read(file, info.metadata_id, &metadata))
        return TBED_ERR_MEMORY;
    struct stat_source source = {
        .context = &foreign,
        .chunk_count = mm_chunk_count(file),
        .take = take_chunk,
        .recount = recount_chunk,
        .strings = {.context = &foreign,
                    .has_no_strings = !has_strings(file, &info),
                    .invalid_id = info.invalid_id,
                    .budget = budget,
                    .walk_start = walk_start,
                    .walk_next = walk_next},
        .label_of = label_of,
        .resolution = !metadata.is_count && metadata.resolution_ns > 1 ? metadata.resolution_ns : 1,
        .unit = metadata.is_count ? metadata.unit : NULL,
    };
    struct tbed_statistics *statistics = NULL;
    enum tbed_status status = TBED_ERR_MEMORY;
    uint64_t nbytes = info.stream_nbytes[MM_STRING_DATA];
    if (foreign.reference_nbytes == 0 || make_runs(&foreign.runs, file, nbytes))
        status = tbed_stat_run(&source, &options, &statistics);
    free_runs(&foreign.runs);
    if (status == TBED_OK &&
        !tell_damage(&foreign, &info, tbed_text_budget_refused_count(budget), statistics))
        status = TBED_ERR_MEMORY;
    if (status == TBED_OK)
        *statistics_ret = statistics;
    else
        tbed_statistics_close(statistics);
    return status;
}

/* '*error_ret' covers failures after opening. */
static enum tbed_status make_and_close(struct mm_file *file, const struct tbed_analysis_options *options,
                                       struct tbed_statistics **statistics_ret, struct tbed_error *error_ret)
{
    struct tbed_text_budget *budget = tbed_text_budget_make();
    enum tbed_status status = budget != NULL ? make(file, options, budget, statistics_ret) : TBED_ERR_MEMORY;
    tbed_text_budget_free(budget);
    mm_close(file);
    if (status != TBED_OK && error_ret != NULL)
        *error_ret = (struct tbed_error){.status = status};
    return status;
}

enum tbed_status tbed_statistics_make_foreign(const char *path, const struct tbed_analysis_options *options,
                                              struct tbed_statistics **statistics_ret,
                                              struct tbed_error *error_ret)
{
    struct mm_file *file;
    enum tbed_status status = mm_open(path, &file, error_ret);
    return status == TBED_OK ? make_and_close(file, options, statistics_ret, error_ret) : status;
}

enum tbed_status tbed_statistics_make_foreign_fd(int fd, const struct tbed_analysis_options *options,
                                                 struct tbed_statistics **statistics_ret,
                                                 struct tbed_error *error_ret)
{
    struct mm_file *file;
    enum tbed_status status = mm_open_fd(fd, &file, error_ret);
    return status == TBED_OK ? make_and_close(file, options, statistics_ret, error_ret) : status;
}
