/*
 * tracebed/reader_inline.h: the calls of reader.h that fill structs which may grow. Included by it, not by you.
 *
 * Each passes the size that the caller's struct has; see "ABI" in tracebed/format.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_READER_INLINE_H
#define TRACEBED_READER_INLINE_H

#include <stdint.h>

void tbed_reader_info_sized(const struct tbed_reader *reader, struct tbed_trace_info *info_ret,
                            size_t info_nbytes);
static inline void tbed_reader_info(const struct tbed_reader *reader, struct tbed_trace_info *info_ret)
{
    tbed_reader_info_sized(reader, info_ret, sizeof *info_ret);
}

bool tbed_process_get_sized(const struct tbed_reader *reader, size_t index,
                            struct tbed_process_info *info_ret, size_t info_nbytes);
static inline bool tbed_process_get(const struct tbed_reader *reader, size_t index,
                                    struct tbed_process_info *info_ret)
{
    return tbed_process_get_sized(reader, index, info_ret, sizeof *info_ret);
}

bool tbed_stream_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_stream_info *info_ret,
                           size_t info_nbytes);
static inline bool tbed_stream_get(const struct tbed_reader *reader, size_t index,
                                   struct tbed_stream_info *info_ret)
{
    return tbed_stream_get_sized(reader, index, info_ret, sizeof *info_ret);
}

bool tbed_load_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_load_info *info_ret,
                         size_t info_nbytes);
static inline bool tbed_load_get(const struct tbed_reader *reader, size_t index,
                                 struct tbed_load_info *info_ret)
{
    return tbed_load_get_sized(reader, index, info_ret, sizeof *info_ret);
}

bool tbed_lost_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_lost_info *info_ret,
                         size_t info_nbytes);
static inline bool tbed_lost_get(const struct tbed_reader *reader, size_t index,
                                 struct tbed_lost_info *info_ret)
{
    return tbed_lost_get_sized(reader, index, info_ret, sizeof *info_ret);
}

bool tbed_location_resolve_sized(const struct tbed_reader *reader, uint32_t id,
                                 struct tbed_location *location_ret, size_t location_nbytes);
static inline bool tbed_location_resolve(const struct tbed_reader *reader, uint32_t id,
                                         struct tbed_location *location_ret)
{
    return tbed_location_resolve_sized(reader, id, location_ret, sizeof *location_ret);
}

bool tbed_damage_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_damage *damage_ret,
                           size_t damage_nbytes);
static inline bool tbed_damage_get(const struct tbed_reader *reader, size_t index,
                                   struct tbed_damage *damage_ret)
{
    return tbed_damage_get_sized(reader, index, damage_ret, sizeof *damage_ret);
}

bool tbed_ring_gap_next_sized(const struct tbed_reader *reader, size_t *position,
                              struct tbed_ring_gap *gap_ret, size_t gap_nbytes);
static inline bool tbed_ring_gap_next(const struct tbed_reader *reader, size_t *position,
                                      struct tbed_ring_gap *gap_ret)
{
    return tbed_ring_gap_next_sized(reader, position, gap_ret, sizeof *gap_ret);
}

enum tbed_status tbed_event_block_get_sized(const struct tbed_reader *reader, size_t index,
                                            struct tbed_block *block_ret, size_t block_nbytes);
static inline enum tbed_status tbed_event_block_get(const struct tbed_reader *reader, size_t index,
                                                    struct tbed_block *block_ret)
{
    return tbed_event_block_get_sized(reader, index, block_ret, sizeof *block_ret);
}

enum tbed_status tbed_cursor_next_sized(struct tbed_cursor *cursor, struct tbed_event *event_ret,
                                        size_t event_nbytes);
static inline enum tbed_status tbed_cursor_next(struct tbed_cursor *cursor, struct tbed_event *event_ret)
{
    return tbed_cursor_next_sized(cursor, event_ret, sizeof *event_ret);
}

enum tbed_status tbed_merge_next_sized(struct tbed_merge *merge, struct tbed_event *event_ret,
                                       size_t event_nbytes);
static inline enum tbed_status tbed_merge_next(struct tbed_merge *merge, struct tbed_event *event_ret)
{
    return tbed_merge_next_sized(merge, event_ret, sizeof *event_ret);
}

bool tbed_id_resolve_sized(const struct tbed_reader *reader, uint32_t id, struct tbed_id_info *info_ret,
                           size_t info_nbytes);
static inline bool tbed_id_resolve(const struct tbed_reader *reader, uint32_t id,
                                   struct tbed_id_info *info_ret)
{
    return tbed_id_resolve_sized(reader, id, info_ret, sizeof *info_ret);
}

#endif
