/*
 * Reads the record blocks and arranges their contents for lookups.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/records/metadata.h"
#include "format/record.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>
#include <string.h>

/* One record being stored. */
struct intake {
    const struct tbed_reader *reader;
    struct tbed_metadata *metadata;
    const uint8_t *record;
    uint32_t nbytes;
    struct tbed_keyed keyed;
};

#define LOAD32(disk, name) tbed_le32_load((disk)->name)
#define LOAD64(disk, name) tbed_le64_load((disk)->name)

/* ---- One function for each type: fields in host order; false: no memory ---- */

static bool take_process(struct intake *intake)
{
    const struct tbed_disk_process *disk = (const struct tbed_disk_process *)intake->record;
    struct tbed_keyed_process *process = tbed_vector_push(&intake->metadata->processes, sizeof *process);
    if (process == NULL)
        return false;
    process->keyed = intake->keyed;
    process->info = (struct tbed_process_info){
        .stream = intake->keyed.key,
        .pid = LOAD32(disk, pid),
        .parent_pid = LOAD32(disk, parent_pid),
        .name_id = LOAD32(disk, name_id),
        .forked_from = LOAD32(disk, forked_from),
        .tick = LOAD64(disk, tick),
        .instants_are_allocations = LOAD32(disk, instants) == TBED_INSTANTS_ALLOCATIONS,
    };
    return true;
}

static bool take_stream(struct intake *intake)
{
    const struct tbed_disk_stream *disk = (const struct tbed_disk_stream *)intake->record;
    struct tbed_keyed_stream *stream = tbed_vector_push(&intake->metadata->streams, sizeof *stream);
    if (stream == NULL)
        return false;
    bool is_of_thread =
        LOAD32(disk, kind) == TBED_STREAM_HANDLERS || LOAD32(disk, kind) == TBED_STREAM_OFF_CPU;
    stream->keyed = intake->keyed;
    stream->info = (struct tbed_stream_info){
        .stream = intake->keyed.key,
        .process = LOAD32(disk, process),
        .kind = LOAD32(disk, kind),
        .tid = LOAD32(disk, tid),
        .name_id = LOAD32(disk, name_id),
        .forked_from = is_of_thread ? 0 : LOAD32(disk, parent),
        .of_thread = is_of_thread ? LOAD32(disk, parent) : 0,
        .tick = LOAD64(disk, tick),
    };
    return true;
}

static bool take_value(struct intake *intake, struct tbed_vector *values, uint32_t id, uint64_t tick)
{
    struct tbed_keyed_value *value = tbed_vector_push(values, sizeof *value);
    if (value != NULL)
        *value = (struct tbed_keyed_value){intake->keyed, id, tick};
    return value != NULL;
}

static bool take_unit(struct intake *intake)
{
    const struct tbed_disk_unit *disk = (const struct tbed_disk_unit *)intake->record;
    struct tbed_keyed_unit *unit = tbed_vector_push(&intake->metadata->units, sizeof *unit);
    if (unit == NULL)
        return false;
    uint32_t build_id_nbytes = LOAD32(disk, build_id_nbytes);
    uint32_t most = intake->nbytes - (uint32_t)sizeof *disk;
    unit->keyed = intake->keyed;
    unit->info = (struct tbed_unit_info){
        .first_id = intake->keyed.key,
        .id_count = LOAD32(disk, id_count),
        .kind = LOAD32(disk, kind),
        .pc_shift = LOAD32(disk, pc_shift) & 31,
        .name_id = LOAD32(disk, name_id),
        .file_id = LOAD32(disk, file_id),
        .first_line = LOAD32(disk, first_line),
        .base = LOAD64(disk, base),
        .build_id = disk->build_id,
        .build_id_nbytes = build_id_nbytes < most ? build_id_nbytes : most,
    };
    return true;
}

static bool take_load(struct intake *intake)
{
    const struct tbed_disk_load *disk = (const struct tbed_disk_load *)intake->record;
    struct tbed_load_info *load = tbed_vector_push(&intake->metadata->loads, sizeof *load);
    if (load == NULL)
        return false;
    *load = (struct tbed_load_info){
        .process = intake->keyed.key,
        .first_id = LOAD32(disk, first_id),
        .address = LOAD64(disk, address),
        .nbytes = LOAD64(disk, nbytes),
        .tick = LOAD64(disk, tick),
    };
    return true;
}

static bool take_lost(struct intake *intake)
{
    const struct tbed_disk_lost *disk = (const struct tbed_disk_lost *)intake->record;
    struct tbed_lost_info *lost = tbed_vector_push(&intake->metadata->losses, sizeof *lost);
    if (lost == NULL)
        return false;
    *lost = (struct tbed_lost_info){
        .stream = intake->keyed.key,
        .kind = (enum tbed_block_kind)LOAD32(disk, kind),
        .first_sequence = LOAD32(disk, first_sequence),
        .count = LOAD32(disk, count),
        .first_tick = LOAD64(disk, first_tick),
        .last_tick = LOAD64(disk, last_tick),
        .nbytes = LOAD64(disk, nbytes),
    };
    return true;
}

/* A count that was checked against the record's size is loaded again: never use more than the record has room for. */
static uint32_t item_count(const struct intake *intake, uint32_t count, size_t item_nbytes)
{
    size_t most = (intake->nbytes - sizeof(struct tbed_disk_lines)) / item_nbytes;
    return count < most ? count : (uint32_t)most;
}

static uint32_t pair_count(const struct intake *intake, uint32_t count)
{
    return item_count(intake, count, sizeof(struct tbed_disk_id_pair));
}

static bool take_lines(struct intake *intake)
{
    const struct tbed_disk_lines *disk = (const struct tbed_disk_lines *)intake->record;
    struct tbed_vector *lines = &intake->metadata->lines;
    uint32_t count = pair_count(intake, LOAD32(disk, count));
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_line *line = tbed_vector_push(lines, sizeof *line);
        if (line == NULL)
            return false;
        *line = (struct tbed_line){intake->keyed.key, LOAD32(&disk->pairs[i], first),
                                   LOAD32(&disk->pairs[i], second), (uint32_t)lines->count};
    }
    return true;
}

static bool take_stacks(struct intake *intake, bool has_types)
{
    const struct tbed_disk_stacks *disk = (const struct tbed_disk_stacks *)intake->record;
    struct tbed_keyed_stacks *stacks = tbed_vector_push(&intake->metadata->stacks, sizeof *stacks);
    if (stacks != NULL)
        *stacks = (struct tbed_keyed_stacks){intake->keyed, intake->record + sizeof *disk,
                                             pair_count(intake, LOAD32(disk, count)), has_types};
    return stacks != NULL;
}

static bool take_frames(struct intake *intake)
{
    const struct tbed_disk_frames *disk = (const struct tbed_disk_frames *)intake->record;
    struct tbed_keyed_frames *frames = tbed_vector_push(&intake->metadata->frames, sizeof *frames);
    if (frames != NULL)
        *frames = (struct tbed_keyed_frames){
            intake->keyed, intake->record + sizeof *disk,
            item_count(intake, LOAD32(disk, count), sizeof(struct tbed_disk_frame))};
    return frames != NULL;
}

static bool take_bind_list(struct intake *intake)
{
    const struct tbed_disk_bind_list *disk = (const struct tbed_disk_bind_list *)intake->record;
    return tbed_bindings_add_list(intake->metadata, intake->record + sizeof *disk,
                                  pair_count(intake, LOAD32(disk, count)));
}

static bool take_anchor(struct intake *intake)
{
    const struct tbed_disk_anchor *disk = (const struct tbed_disk_anchor *)intake->record;
    struct tbed_anchor *anchor = tbed_vector_push(&intake->metadata->anchors, sizeof *anchor);
    if (anchor != NULL)
        *anchor = (struct tbed_anchor){LOAD64(disk, ticks), (int64_t)LOAD64(disk, realtime_ns),
                                       LOAD64(disk, monotonic_ns)};
    return anchor != NULL;
}

static bool take_series(struct intake *intake)
{
    const struct tbed_disk_series *disk = (const struct tbed_disk_series *)intake->record;
    struct tbed_metadata *metadata = intake->metadata;
    metadata->series_id = LOAD64(disk, series_id);
    metadata->previous_file_id = LOAD64(disk, previous_file_id);
    metadata->series_number = LOAD32(disk, number);
    metadata->series_failed_count = LOAD32(disk, failed_count);
    return true;
}

static bool take(struct intake *intake, uint32_t type)
{
    struct tbed_metadata *metadata = intake->metadata;
    const struct tbed_disk_name *name = (const struct tbed_disk_name *)intake->record;
    const struct tbed_disk_end *end = (const struct tbed_disk_end *)intake->record;
    const struct tbed_disk_counter *counter = (const struct tbed_disk_counter *)intake->record;
    const struct tbed_disk_bind *binding = (const struct tbed_disk_bind *)intake->record;
    switch (type) {
    case TBED_RECORD_PROCESS:
        return take_process(intake);
    case TBED_RECORD_STREAM:
        return take_stream(intake);
    case TBED_RECORD_NAME:
        return take_value(intake, &metadata->names, LOAD32(name, name_id), LOAD64(name, tick));
    case TBED_RECORD_UNIT:
        return take_unit(intake);
    case TBED_RECORD_LOAD:
        return take_load(intake);
    case TBED_RECORD_LINES:
        return take_lines(intake);
    case TBED_RECORD_BIND:
        return tbed_bindings_add(metadata, intake->keyed.key, LOAD32(binding, id_count),
                                 LOAD32(binding, string_id));
    case TBED_RECORD_BIND_LIST:
        return take_bind_list(intake);
    case TBED_RECORD_ANCHOR:
        return take_anchor(intake);
    case TBED_RECORD_COUNTER:
        return take_value(intake, &metadata->counters, LOAD32(counter, unit_id), 0);
    case TBED_RECORD_END:
        return take_value(intake, &metadata->ends, 0, LOAD64(end, tick));
    case TBED_RECORD_STACKS:
        return take_stacks(intake, false);
    case TBED_RECORD_TYPES:
        return take_stacks(intake, true);
    case TBED_RECORD_FRAMES:
        return take_frames(intake);
    case TBED_RECORD_SERIES:
        return take_series(intake);
    case TBED_RECORD_LOST:
        return take_lost(intake);
    default: /* of a later version, or UNLOAD, which nothing uses */
        return true;
    }
}

/* ---- Blocks ---- */

static bool take_record(struct intake *intake, const struct tbed_block *block, uint32_t at, uint64_t head)
{
    if (tbed_record_head_nbytes(head) == TBED_RECORD_HEAD_NBYTES) /* of a later version */
        return true;
    intake->record = block->bytes + at;
    intake->nbytes = tbed_record_head_nbytes(head);
    tbed_le32 key;
    memcpy(&key, intake->record + TBED_RECORD_HEAD_NBYTES, sizeof key);
    intake->keyed = (struct tbed_keyed){tbed_le32_load(key), block->cell, block->offset + at};
    return take(intake, tbed_record_head_type(head));
}

static bool read_block(struct intake *intake, const struct tbed_block *block)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    while (at < block->used_nbytes) {
        uint64_t head = tbed_word_load(block->bytes + at);
        if (head == 0 && !block->sealed)
            return true;
        uint64_t detail = tbed_record_head_nbytes(head);
        enum tbed_status status = tbed_record_head_check(head, block->used_nbytes - at);
        if (status == TBED_OK)
            status = tbed_record_check(block->bytes + at, head, &detail);
        if (status != TBED_OK)
            tbed_damage_tell(intake->reader, status, block->offset + at, block->cell, detail);
        if (status == TBED_ERR_RECORD_LENGTH) /* where the next record starts is unknown */
            return true;
        if (status == TBED_OK && !take_record(intake, block, at, head))
            return false;
        at += tbed_record_head_nbytes(head);
    }
    return true;
}

static bool read_blocks(struct intake *intake, const struct tbed_index *index)
{
    const uint32_t *order = index->record_order.items;
    for (size_t i = 0; i < index->record_order.count; i++) {
        struct tbed_block block;
        struct tbed_indexed *entry = tbed_index_at(index, TBED_BLOCK_RECORDS, order[i]);
        if (tbed_gateway(intake->reader, TBED_BLOCK_RECORDS, entry, false, &block) != TBED_OK)
            continue;
        if (!read_block(intake, &block))
            return false;
    }
    return true;
}

/* ---- Sorting ---- */

static int compare_lines(const void *a, const void *b)
{
    const struct tbed_line *x = a, *y = b;
    if (x->first_id != y->first_id)
        return x->first_id < y->first_id ? -1 : 1;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Writers usually write them in order. */
static void sort_lines(struct tbed_vector *lines)
{
    const struct tbed_line *items = lines->items;
    for (size_t i = 1; i < lines->count; i++)
        if (compare_lines(&items[i - 1], &items[i]) > 0) {
            qsort(lines->items, lines->count, sizeof *items, compare_lines);
            return;
        }
}

/* For names, the newest is the one with the latest tick. */
static void keep_newest_names(struct tbed_vector *names)
{
    struct tbed_keyed_value *items = names->items;
    tbed_keyed_sort(names, sizeof *items);
    for (size_t i = 1; i < names->count; i++) {
        struct tbed_keyed_value *before = &items[i - 1], *item = &items[i];
        if (before->keyed.key != item->keyed.key || before->tick <= item->tick)
            continue;
        item->id = before->id;
        item->tick = before->tick;
    }
    tbed_keyed_keep_newest(names, sizeof *items);
}

/* Streams that have blocks but no STREAM record count as streams too. */
static bool add_recordless_streams(const struct tbed_index *index, struct tbed_metadata *metadata)
{
    const struct tbed_stream_range *ranges = index->stream_ranges.items;
    size_t known = metadata->streams.count;
    for (size_t i = 0; i < index->stream_ranges.count; i++) {
        struct tbed_vector sorted = {metadata->streams.items, known, known};
        struct tbed_keyed_stream *stream = tbed_keyed_find(&sorted, sizeof *stream, ranges[i].stream);
        if (stream == NULL) {
            stream = tbed_vector_push(&metadata->streams, sizeof *stream);
            if (stream == NULL)
                return false;
            stream->keyed.key = ranges[i].stream;
            stream->info.stream = ranges[i].stream;
            stream->info.name_id = TBED_ID_INVALID;
        }
        stream->info.block_count = (uint32_t)ranges[i].count;
    }
    tbed_keyed_sort(&metadata->streams, sizeof(struct tbed_keyed_stream));
    return true;
}

static void apply_names_and_ends(struct tbed_metadata *metadata, uint32_t key, uint32_t *name_id,
                                 uint64_t *end_tick)
{
    const struct tbed_keyed_value *name = tbed_keyed_find(&metadata->names, sizeof *name, key);
    const struct tbed_keyed_value *end = tbed_keyed_find(&metadata->ends, sizeof *end, key);
    if (name != NULL)
        *name_id = name->id;
    if (end != NULL)
        *end_tick = end->tick;
}

static bool arrange(const struct tbed_reader *reader, const struct tbed_index *index,
                    struct tbed_metadata *metadata)
{
    tbed_keyed_keep_newest(&metadata->processes, sizeof(struct tbed_keyed_process));
    tbed_keyed_keep_newest(&metadata->streams, sizeof(struct tbed_keyed_stream));
    tbed_keyed_keep_newest(&metadata->ends, sizeof(struct tbed_keyed_value));
    tbed_keyed_keep_newest(&metadata->counters, sizeof(struct tbed_keyed_value));
    keep_newest_names(&metadata->names);
    sort_lines(&metadata->lines);
    tbed_keyed_keep_newest(&metadata->frames, sizeof(struct tbed_keyed_frames));
    tbed_anchors_arrange(&metadata->anchors);
    if (!tbed_ranges_separate(reader, metadata) || !add_recordless_streams(index, metadata))
        return false;
    for (size_t i = 0; i < metadata->processes.count; i++) {
        struct tbed_process_info *info = &((struct tbed_keyed_process *)metadata->processes.items)[i].info;
        apply_names_and_ends(metadata, info->stream, &info->name_id, &info->end_tick);
    }
    for (size_t i = 0; i < metadata->streams.count; i++) {
        struct tbed_stream_info *info = &((struct tbed_keyed_stream *)metadata->streams.items)[i].info;
        apply_names_and_ends(metadata, info->stream, &info->name_id, &info->end_tick);
    }
    return tbed_bindings_arrange(metadata);
}

static bool add_header_anchor(const struct tbed_reader *reader, struct tbed_metadata *metadata)
{
    struct tbed_anchor *anchor = tbed_vector_push(&metadata->anchors, sizeof *anchor);
    if (anchor != NULL)
        *anchor = (struct tbed_anchor){reader->header.anchor_ticks, reader->header.anchor_realtime_ns,
                                       reader->header.anchor_monotonic_ns};
    return anchor != NULL;
}

void tbed_metadata_free(struct tbed_metadata *metadata)
{
    if (metadata == NULL)
        return;
    tbed_vector_free(&metadata->processes);
    tbed_vector_free(&metadata->streams);
    tbed_vector_free(&metadata->units);
    tbed_vector_free(&metadata->loads);
    tbed_vector_free(&metadata->losses);
    tbed_vector_free(&metadata->lines);
    tbed_vector_free(&metadata->stacks);
    tbed_vector_free(&metadata->frames);
    tbed_vector_free(&metadata->names);
    tbed_vector_free(&metadata->ends);
    tbed_vector_free(&metadata->counters);
    tbed_vector_free(&metadata->bindings);
    tbed_vector_free(&metadata->runs);
    tbed_vector_free(&metadata->segments);
    tbed_vector_free(&metadata->anchors);
    free(metadata);
}

enum tbed_status tbed_metadata_build(const struct tbed_reader *reader, const struct tbed_index *index,
                                     struct tbed_metadata **metadata_ret)
{
    struct tbed_metadata *metadata = calloc(1, sizeof *metadata);
    struct intake intake = {.reader = reader, .metadata = metadata};
    if (metadata == NULL || !add_header_anchor(reader, metadata) || !read_blocks(&intake, index) ||
        !arrange(reader, index, metadata)) {
        tbed_metadata_free(metadata);
        return TBED_ERR_MEMORY;
    }
    *metadata_ret = metadata;
    return TBED_OK;
}
