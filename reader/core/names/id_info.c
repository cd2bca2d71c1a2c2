/*
 * What an id means: a string, or a code location with its function, file, line and module.
 *
 * The file is asked first. Native code that the file does not describe is looked up by the reader's resolver, if it has
 * one; this library has none of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/id_info.h"
#include "format/base/sized.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/names/kept_name.h"
#include "reader/core/names/native_ids.h"
#include "reader/core/records/locations.h"
#include "reader/core/records/metadata.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PATH_NBYTES 4096

/* ---- The resolver ---- */

struct tbed_lookup {
    struct tbed_resolver resolver;
    pthread_mutex_t lock; /* a resolver serves one thread at a time */
};

void tbed_lookup_free(struct tbed_lookup *lookup)
{
    if (lookup == NULL)
        return;
    pthread_mutex_destroy(&lookup->lock);
    free(lookup);
}

enum tbed_status tbed_reader_set_resolver(struct tbed_reader *reader, const struct tbed_resolver *resolver)
{
    struct tbed_lookup *lookup = NULL;
    struct tbed_resolver taken;
    if (resolver != NULL) {
        if (!tbed_options_take(&taken, sizeof taken, resolver) || taken.frames == NULL)
            return TBED_ERR_ARGUMENT;
        lookup = calloc(1, sizeof *lookup);
        if (lookup == NULL || pthread_mutex_init(&lookup->lock, NULL) != 0) {
            free(lookup);
            return TBED_ERR_MEMORY;
        }
        lookup->resolver = taken;
    }
    tbed_lookup_free(reader->lookup);
    reader->lookup = lookup;
    reader->epoch++; /* names of code locations are made again */
    return TBED_OK;
}

static size_t look_up(const struct tbed_reader *reader, const struct tbed_location *location,
                      struct tbed_frame *frames, size_t capacity)
{
    struct tbed_lookup *lookup = reader->lookup;
    char path[PATH_NBYTES] = "";
    if (lookup == NULL || !location->has_unit || location->unit.kind != TBED_UNIT_NATIVE)
        return 0;
    tbed_string_resolve(reader, location->unit.file_id, path, sizeof path, NULL);
    pthread_mutex_lock(&lookup->lock);
    size_t count = lookup->resolver.frames(lookup->resolver.context, &location->unit, path, location->pc,
                                           frames, capacity);
    pthread_mutex_unlock(&lookup->lock);
    return count;
}

/* ---- Many at once ---- */

/* 'ids' are locations of one unit, in ascending order. */
static void prepare_unit(const struct tbed_reader *reader, const uint32_t *ids, size_t count)
{
    const struct tbed_resolver *resolver = &reader->lookup->resolver;
    struct tbed_unit_info unit;
    char path[PATH_NBYTES] = "";
    uint64_t *pcs = malloc(count * sizeof *pcs);
    if (pcs == NULL)
        return; /* each location is looked up when it is named */
    for (size_t i = 0; i < count; i++)
        tbed_location_find(reader, ids[i], &unit, &pcs[i]);
    tbed_string_resolve(reader, unit.file_id, path, sizeof path, NULL);
    pthread_mutex_lock(&reader->lookup->lock);
    resolver->prepare(resolver->context, &unit, path, pcs, count);
    pthread_mutex_unlock(&reader->lookup->lock);
    free(pcs);
}

/* Returns how many of the ids belong to the first one's unit. */
static size_t count_of_unit(const struct tbed_reader *reader, const uint32_t *ids, size_t count)
{
    struct tbed_unit_info unit;
    uint64_t pc;
    size_t same = 1;
    tbed_location_find(reader, ids[0], &unit, &pc);
    while (same < count && ids[same] - unit.first_id < unit.id_count)
        same++;
    return same;
}

void tbed_names_prepare(const struct tbed_reader *reader, const uint32_t *ids, size_t count,
                        bool whole_stacks)
{
    struct tbed_native_ids set;
    if (reader->lookup == NULL || reader->lookup->resolver.prepare == NULL || !tbed_native_ids_open(&set))
        return;
    for (size_t i = 0; i < count; i++)
        tbed_native_ids_add(&set, reader, ids[i], whole_stacks);
    tbed_native_ids_sort(&set);
    for (size_t i = 0, same; i < set.count; i += same) {
        same = count_of_unit(reader, set.ids + i, set.count - i);
        prepare_unit(reader, set.ids + i, same);
    }
    tbed_native_ids_free(&set);
}

/* ---- Frames ---- */

/*
 * Returns the text of a string that a record refers to, up to its first NUL, or NULL if it has none or the reader
 * cannot keep it. The text never contains names of code locations, so a hostile file cannot make names refer to each
 * other.
 */
static const char *keep_text(const struct tbed_reader *reader, uint32_t id, bool *complete)
{
    struct tbed_name name;
    if (id == TBED_ID_INVALID || tbed_bindings_follow(reader, &id) != TBED_OK)
        return NULL;
    enum tbed_status status = tbed_kept_name(reader, id, tbed_resolve, &name);
    *complete &= status != TBED_ERR_MEMORY;
    return status == TBED_OK && name.text[0] != '\0' ? name.text : NULL;
}

size_t tbed_place_frames(const struct tbed_reader *reader, const struct tbed_location *location,
                         struct tbed_frame *frames, size_t capacity, bool *complete)
{
    struct tbed_frame_info info;
    if (location->source == TBED_FRAMES_NONE)
        return look_up(reader, location, frames, capacity);
    for (size_t i = 0; i < capacity && tbed_location_frame(location, i, &info); i++)
        frames[i] = (struct tbed_frame){.function = keep_text(reader, info.function_id, complete),
                                        .file = keep_text(reader, info.file_id, complete),
                                        .line = info.line,
                                        .is_inlined = i + 1 < location->frame_count};
    return location->frame_count;
}

size_t tbed_id_frames(const struct tbed_reader *reader, uint32_t id, struct tbed_frame *frames,
                      size_t capacity)
{
    struct tbed_location location;
    bool is_complete = true;
    if (!tbed_location_resolve(reader, id, &location))
        return 0;
    return tbed_place_frames(reader, &location, frames, capacity, &is_complete);
}

/* ---- Parts ---- */

const char *tbed_module_name(const struct tbed_reader *reader, const struct tbed_unit_info *unit,
                             bool *complete)
{
    const char *path = keep_text(reader, unit->name_id, complete);
    if (path == NULL)
        path = keep_text(reader, unit->file_id, complete);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

enum tbed_id_kind tbed_id_find(const struct tbed_reader *reader, uint32_t id,
                               struct tbed_location *location_ret)
{
    struct tbed_location *location = location_ret;
    if (id == TBED_ID_INVALID)
        return TBED_ID_KIND_UNKNOWN;
    if (!tbed_location_resolve(reader, id, location)) {
        *location = (struct tbed_location){.id = id};
        tbed_bindings_follow(reader, &location->id);
    }
    if (location->id > TBED_ID_METADATA)
        return TBED_ID_KIND_STRING;
    if (location->has_unit && location->unit.kind == TBED_UNIT_NATIVE)
        return TBED_ID_KIND_NATIVE;
    return location->has_unit || location->frame_count > 0 ? TBED_ID_KIND_CODE : TBED_ID_KIND_UNKNOWN;
}

bool tbed_id_is_place(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_location location;
    if (id > TBED_ID_MAX_RESERVED)
        return false;
    enum tbed_id_kind kind = tbed_id_find(reader, id, &location);
    return kind == TBED_ID_KIND_NATIVE || kind == TBED_ID_KIND_CODE;
}

struct tbed_id_info tbed_id_describe(const struct tbed_reader *reader, uint32_t id, bool *complete)
{
    struct tbed_location location = {.id = id};
    struct tbed_frame frame = {0};
    struct tbed_id_info info = {.kind = tbed_id_find(reader, id, &location), .id = location.id};
    if (info.kind != TBED_ID_KIND_UNKNOWN)
        info.frame_count = tbed_place_frames(reader, &location, &frame, 1, complete);
    info.function = frame.function;
    info.file = frame.file;
    info.line = frame.line;
    info.pc = location.pc;
    if (info.kind == TBED_ID_KIND_NATIVE)
        info.module = tbed_module_name(reader, &location.unit, complete);
    return info;
}

bool tbed_id_resolve_sized(const struct tbed_reader *reader, uint32_t id, struct tbed_id_info *info_ret,
                           size_t info_nbytes)
{
    struct tbed_id_info info = {.kind = TBED_ID_KIND_STRING, .id = id};
    bool is_complete = true;
    /* Most ids are plain strings. */
    if (id <= TBED_ID_INVALID || reader->metadata->frames.count > 0)
        info = tbed_id_describe(reader, id, &is_complete);
    tbed_sized_give(info_ret, info_nbytes, &info, sizeof info);
    return info.kind != TBED_ID_KIND_UNKNOWN;
}
