/*
 * Descriptions of ids: the trace's metadata, the unit of a counter, the functions at a location.
 *
 * Source: spec/format.md, section 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/file/usable.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

void tbed_metadata_set(struct tbed_writer *writer, const char *text, size_t nbytes)
{
    uint32_t id = tbed_string_intern(writer, text, nbytes);
    if (id != TBED_ID_INVALID)
        tbed_id_bind(writer, TBED_ID_METADATA, 1, id);
}

void tbed_counter_describe(struct tbed_writer *writer, uint32_t counter_id, const char *unit)
{
    struct tbed_store *store = tbed_store_of(writer);
    if (counter_id > TBED_ID_MAX || !tbed_state_lock_or_drop(tbed_file_of(writer)))
        return;
    struct tbed_disk_counter record = {
        .id = tbed_le32_make(counter_id & TBED_ID_MAX),
        .unit_id = tbed_le32_make(tbed_intern_locked(store, unit, strlen(unit))),
    };
    tbed_record_append(store, &record, TBED_RECORD_COUNTER, sizeof record);
    tbed_state_unlock(tbed_file_of(writer));
}

void tbed_location_describe(struct tbed_writer *writer, uint32_t location,
                            const struct tbed_frame_names *frames, size_t frame_count)
{
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_disk_frame disk[TBED_FRAMES_MAX];
    bool fits = location <= TBED_ID_MAX && frame_count <= TBED_FRAMES_MAX;
    for (size_t i = 0; fits && i < frame_count; i++) {
        fits = frames[i].function_id <= TBED_ID_MAX && frames[i].file_id <= TBED_ID_MAX;
        disk[i] =
            (struct tbed_disk_frame){tbed_le32_make(frames[i].function_id), tbed_le32_make(frames[i].file_id),
                                     tbed_le32_make(frames[i].line), tbed_le32_make(0)};
    }
    if (!fits) {
        tbed_drop(tbed_file_of(writer), TBED_DROP_TOO_LARGE, 1);
        return;
    }
    if (!tbed_state_lock_or_drop(tbed_file_of(writer)))
        return;
    struct tbed_disk_frames record = {.location_id = tbed_le32_make(location),
                                      .count = tbed_le32_make((uint32_t)frame_count)};
    tbed_record_append_parts(store, TBED_RECORD_FRAMES, &record, sizeof record, disk,
                             (uint32_t)(frame_count * sizeof *disk));
    tbed_state_unlock(tbed_file_of(writer));
}
