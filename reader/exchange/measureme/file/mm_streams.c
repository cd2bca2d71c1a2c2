/*
 * The container: finds the bytes of each stream, from page headers alone.
 *
 * Listing a page takes 24 bytes of memory, so very small pages are copied to contiguous memory instead; a file of
 * nothing but tiny pages takes less memory than its own size.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/file/mm_internal.h"

/* Should the page be copied? Only if there are many such pages: the last page of each stream is often small. */
static bool is_small(const struct mm_file *file, const struct tbed_vector *listed, size_t nbytes)
{
    return file->format->paged && nbytes < MM_SMALL_PAGE_NBYTES && listed->count >= MM_SMALL_PAGES_LISTED;
}

/* ---- Events ---- */

static bool run_push(struct mm_file *file, uint64_t place, uint64_t offset)
{
    struct mm_run *run = tbed_vector_extend(&file->events.runs, 1, sizeof *run);
    if (run == NULL)
        return false;
    *run = (struct mm_run){.first = file->events.count, .place = place, .offset = offset};
    return true;
}

static bool runs_add(struct mm_file *file, uint64_t place, uint64_t count)
{
    struct mm_events *events = &file->events;
    uint64_t most = MM_CHUNK_NBYTES / events->nbytes;
    while (count > 0) {
        uint64_t taken = count < most ? count : most;
        if (!run_push(file, place, place))
            return false;
        events->count += taken;
        place += taken * events->nbytes;
        count -= taken;
    }
    return true;
}

bool tbed_mm_event_copy(struct mm_file *file, const uint8_t *event, uint64_t offset)
{
    struct mm_events *events = &file->events;
    struct tbed_vector *copies = &file->streams[MM_EVENTS].copies;
    uint64_t place = MM_IN_COPIES | copies->count;
    uint8_t *copy = tbed_vector_extend(copies, events->nbytes, 1);
    if (copy == NULL)
        return false;
    memcpy(copy, event, events->nbytes);
    const struct mm_run *last = events->runs.items;
    last = events->runs.count == 0 ? NULL : last + (events->runs.count - 1);
    uint64_t run_count = last == NULL ? 0 : events->count - last->first;
    bool is_behind_it = last != NULL && last->place + run_count * events->nbytes == place &&
                        run_count < MM_CHUNK_NBYTES / events->nbytes;
    if (!is_behind_it && !run_push(file, place, offset))
        return false;
    events->count++;
    return true;
}

/* Reads the stream's first 8 bytes, and returns how many of them it has. */
static size_t header_take(struct mm_events *events, const uint8_t *bytes, size_t nbytes, uint64_t offset)
{
    size_t taken = MM_HEADER_NBYTES - events->header_nbytes;
    if (taken == 0)
        return 0;
    if (events->header_nbytes == 0) {
        events->header_offset = offset;
        /* Is the header missing rather than invalid, with complete events from the start on? */
        if (nbytes % events->nbytes == 0 && memcmp(bytes, "MMES", 4) != 0) {
            memcpy(events->header, bytes, MM_HEADER_NBYTES);
            events->header_nbytes = MM_HEADER_NBYTES;
            events->has_no_header = true;
            return 0;
        }
    }
    taken = taken < nbytes ? taken : nbytes;
    memcpy(events->header + events->header_nbytes, bytes, taken);
    events->header_nbytes += (uint32_t)taken;
    return taken;
}

/* Adds bytes of an event that is not entirely in one page, or whose page is copied. */
static bool carry_add(struct mm_file *file, const uint8_t *bytes, size_t nbytes, uint64_t offset)
{
    struct mm_events *events = &file->events;
    if (events->carry_nbytes == 0)
        events->carry_offset = offset;
    memcpy(events->carry + events->carry_nbytes, bytes, nbytes);
    events->carry_nbytes += (uint32_t)nbytes;
    if (events->carry_nbytes < events->nbytes)
        return true;
    events->carry_nbytes = 0;
    return tbed_mm_event_copy(file, events->carry, events->carry_offset);
}

static bool events_add(struct mm_file *file, uint64_t offset, size_t nbytes)
{
    struct mm_events *events = &file->events;
    const uint8_t *bytes = file->sources[MM_EVENTS].bytes + offset;
    bool is_copied = is_small(file, &events->runs, nbytes);
    size_t at = header_take(events, bytes, nbytes, offset);
    while (at < nbytes) {
        size_t left = nbytes - at, wanted = events->nbytes - events->carry_nbytes;
        uint64_t whole = left / events->nbytes;
        if (!is_copied && events->carry_nbytes == 0 && whole > 0) {
            if (!runs_add(file, offset + at, whole))
                return false;
            at += whole * events->nbytes;
            continue;
        }
        size_t taken = left < wanted ? left : wanted;
        if (!carry_add(file, bytes + at, taken, offset + at))
            return false;
        at += taken;
    }
    file->streams[MM_EVENTS].nbytes += nbytes;
    return true;
}

/* ---- String data, string index ---- */

static bool segment_push(struct mm_stream_map *map, uint64_t place, uint64_t offset)
{
    struct mm_segment *segment = tbed_vector_extend(&map->segments, 1, sizeof *segment);
    if (segment == NULL)
        return false;
    *segment = (struct mm_segment){.start = map->nbytes, .place = place, .offset = offset};
    return true;
}

static bool segment_copy(struct mm_stream_map *map, const uint8_t *bytes, size_t nbytes, uint64_t offset)
{
    uint64_t place = MM_IN_COPIES | map->copies.count;
    const struct mm_segment *last = map->segments.items;
    last = map->segments.count == 0 ? NULL : last + (map->segments.count - 1);
    bool is_behind_it = last != NULL && last->place + (map->nbytes - last->start) == place &&
                        offset - last->offset < MM_COPIED_SPAN_NBYTES;
    uint8_t *copy = tbed_vector_extend(&map->copies, nbytes, 1);
    if (copy == NULL)
        return false;
    memcpy(copy, bytes, nbytes);
    return is_behind_it || segment_push(map, place, offset);
}

static bool strings_add(struct mm_file *file, enum mm_stream stream, uint64_t offset, size_t nbytes)
{
    struct mm_stream_map *map = &file->streams[stream];
    const uint8_t *bytes = file->sources[tbed_mm_source_of(file, stream)].bytes + offset;
    bool is_copied = is_small(file, &map->segments, nbytes);
    if (!(is_copied ? segment_copy(map, bytes, nbytes, offset) : segment_push(map, offset, offset)))
        return false;
    map->nbytes += nbytes;
    return true;
}

static bool piece_add(struct mm_file *file, enum mm_stream stream, uint64_t offset, size_t nbytes)
{
    if (nbytes == 0)
        return true;
    return stream == MM_EVENTS ? events_add(file, offset, nbytes) : strings_add(file, stream, offset, nbytes);
}

/* ---- The headers of the streams ---- */

static void header_check(struct mm_file *file, enum mm_stream stream, const uint8_t *header, uint64_t offset)
{
    static const char magics[MM_STREAM_COUNT][5] = {"MMES", "MMSD", "MMSI"};
    enum mm_stream source = tbed_mm_source_of(file, stream);
    uint32_t magic = tbed_le32_at(header), version = tbed_le32_at(header + 4);
    if (memcmp(header, magics[stream], 4) != 0)
        tbed_mm_damage_add(file, TBED_ERR_PROFILE_STREAM, source, offset, magic);
    else if (version != file->format->version)
        tbed_mm_damage_add(file, TBED_ERR_PROFILE_STREAM, source, offset + 4, version);
}

static void events_check(struct mm_file *file)
{
    struct mm_events *events = &file->events;
    if (events->header_nbytes == MM_HEADER_NBYTES)
        header_check(file, MM_EVENTS, events->header, events->header_offset);
    else
        tbed_mm_damage_add(file, TBED_ERR_PROFILE_CUT, MM_EVENTS, events->header_offset, 0);
    if (events->carry_nbytes > 0)
        tbed_mm_damage_add(file, TBED_ERR_PROFILE_CUT, MM_EVENTS, events->carry_offset, 0);
}

static void strings_check(struct mm_file *file, enum mm_stream stream)
{
    enum mm_stream source = tbed_mm_source_of(file, stream);
    uint8_t header[MM_HEADER_NBYTES];
    struct mm_position position;
    tbed_mm_position_at(file, stream, 0, &position);
    if (tbed_mm_position_take(&position, header, sizeof header))
        header_check(file, stream, header, mm_file_offset(file, stream, 0));
    else
        tbed_mm_damage_add(file, TBED_ERR_PROFILE_CUT, source, mm_file_offset(file, stream, 0), 0);
}

static void streams_check(struct mm_file *file)
{
    for (enum mm_stream stream = 0; stream < MM_STREAM_COUNT; stream++) {
        enum mm_stream source = tbed_mm_source_of(file, stream);
        if (file->streams[stream].nbytes == 0)
            tbed_mm_damage_add(file, TBED_ERR_PROFILE_STREAM, source, UINT64_MAX, stream);
        else if (stream == MM_EVENTS)
            events_check(file);
        else
            strings_check(file, stream);
    }
}

/* ---- One file, three files ---- */

bool tbed_mm_list_pages(struct mm_file *file)
{
    const uint8_t *bytes = file->sources[MM_EVENTS].bytes;
    size_t at = MM_HEADER_NBYTES, nbytes = file->sources[MM_EVENTS].nbytes;
    while (at < nbytes) {
        size_t left = nbytes - at;
        uint32_t length;
        if (left < MM_PAGE_HEADER_NBYTES) {
            tbed_mm_damage_add(file, TBED_ERR_PROFILE_CUT, MM_EVENTS, at, 0);
            break;
        }
        left -= MM_PAGE_HEADER_NBYTES;
        length = tbed_le32_at(bytes + at + 1);
        size_t taken = length < left ? length : left;
        uint8_t tag = bytes[at];
        if (tag >= MM_STREAM_COUNT)
            tbed_mm_damage_add(file, TBED_ERR_PROFILE_PAGE, MM_EVENTS, at, tag);
        else if (length > left)
            tbed_mm_damage_add(file, TBED_ERR_PROFILE_CUT, MM_EVENTS, at, length);
        at += MM_PAGE_HEADER_NBYTES;
        if (tag < MM_STREAM_COUNT && !piece_add(file, (enum mm_stream)tag, at, taken))
            return false;
        at += taken;
    }
    tbed_mm_source_release(&file->sources[MM_EVENTS]);
    streams_check(file);
    return true;
}

/* String files of another known version belong to another profile: no name is better than a wrong one. */
static bool is_foreign(const struct mm_file *file, enum mm_stream stream)
{
    static const char magics[MM_STREAM_COUNT][5] = {"MMES", "MMSD", "MMSI"};
    const struct mm_source *source = &file->sources[stream];
    return source->nbytes >= MM_HEADER_NBYTES && memcmp(source->bytes, magics[stream], 4) == 0 &&
           tbed_le32_at(source->bytes + 4) != file->format->version;
}

bool tbed_mm_list_three(struct mm_file *file)
{
    for (enum mm_stream stream = 0; stream < MM_STREAM_COUNT; stream++)
        if (file->sources[stream].bytes != NULL && !piece_add(file, stream, 0, file->sources[stream].nbytes))
            return false;
    streams_check(file);
    for (enum mm_stream stream = MM_STRING_DATA; stream < MM_STREAM_COUNT; stream++)
        if (is_foreign(file, stream))
            file->streams[stream].nbytes = file->streams[stream].segments.count = 0;
    return true;
}
