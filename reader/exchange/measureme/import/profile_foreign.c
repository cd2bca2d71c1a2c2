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
#include "reader/exchange/measureme/import/profile_labels.h"

#include <stdlib.h>
#include <string.h>

#define PREFETCH_AHEAD 12u /* events */

struct foreign {
    struct mm_file *file;
    enum mm_shape shape;
    struct profile_labels *labels;
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
    tbed_stat_take_counter(worker, event->kind, event->id, event->id, &value, place);
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

/* A profile has no index of its events, so their types and kinds have to be read, and nothing else. */
static void take_artifacts(struct stat_worker *worker, size_t index)
{
    const struct foreign *foreign = worker->context;
    struct mm_chunk chunk = mm_chunk_get(foreign->file, index);
    struct mm_event event;
    for (uint32_t i = 0; i < chunk.event_count; i++) {
        mm_event_load(chunk.bytes + (size_t)i * chunk.event_nbytes, foreign->shape, &event);
        if (event.type == MM_INTEGER && stat_kind(worker, event.kind) == STAT_ARTIFACT)
            take_integer(worker, &event, place_of(&chunk, i));
    }
    worker->totals.event_count += chunk.event_count;
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

/* A reference followed by nothing or a separator: the form of nearly all event ids in formats 7 to 9. */
static bool label_of(struct stat_worker *worker, uint64_t id, uint64_t *label_id_ret)
{
    const struct foreign *foreign = worker->context;
    return tbed_profile_label_same(foreign->labels, id, label_id_ret);
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
    if (!tbed_import_metadata_read(file, info.metadata_id, &metadata))
        return TBED_ERR_MEMORY;
    struct stat_source source = {
        .context = &foreign,
        .chunk_count = mm_chunk_count(file),
        .take = options.only_artifacts ? take_artifacts : take_chunk,
        .recount = recount_chunk,
        .label_of = label_of,
        .resolution = !metadata.is_count && metadata.resolution_ns > 1 ? metadata.resolution_ns : 1,
        .unit = metadata.is_count ? metadata.unit : NULL,
    };
    struct tbed_statistics *statistics = NULL;
    enum tbed_status status = TBED_ERR_MEMORY;
    foreign.labels = tbed_profile_labels_open(file, budget, &source.strings);
    if (foreign.labels != NULL)
        status = tbed_stat_run(&source, &options, &statistics);
    tbed_profile_labels_close(foreign.labels);
    if (status == TBED_OK &&
        !tell_damage(&foreign, &info, tbed_text_budget_refused_count(budget), statistics))
        status = TBED_ERR_MEMORY;
    if (status == TBED_OK)
        *statistics_ret = statistics;
    else
        tbed_statistics_close(statistics);
    return status;
}

enum tbed_status tbed_profile_statistics(struct mm_file *file, const struct tbed_analysis_options *options,
                                         struct tbed_statistics **statistics_ret)
{
    struct tbed_text_budget *budget = tbed_text_budget_make();
    enum tbed_status status = budget != NULL ? make(file, options, budget, statistics_ret) : TBED_ERR_MEMORY;
    tbed_text_budget_free(budget);
    return status;
}

/* '*error_ret' covers failures after opening. */
static enum tbed_status make_and_close(struct mm_file *file, const struct tbed_analysis_options *options,
                                       struct tbed_statistics **statistics_ret, struct tbed_error *error_ret)
{
    enum tbed_status status = tbed_profile_statistics(file, options, statistics_ret);
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
