/*
 * The records of a new trace; see record_copy.h.
 *
 * They are made from what the reader has understood of the source's records: records that it found damaged, or that later
 * ones replace, are not among them. UNLOAD records, which no reader uses, and SERIES, which are about the source, are left
 * out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/traces/record_copy.h"

#include "format/record.h"
#include "reader/analysis/filter/filter.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#define PAIRS_MAX 128u /* of one record */

/* ---- Blocks ---- */

static void end_block(struct records_out *out)
{
    tbed_trace_file_end(out->file, out->page, out->used, 0, 0);
    out->has_block = false;
}

void *tbed_records_out_put(struct records_out *out, uint32_t type, size_t nbytes)
{
    struct tbed_block_fields fields = {
        .kind = TBED_BLOCK_RECORDS, .stream = out->stream, .sequence = out->sequence};
    if (out->file->status != TBED_OK)
        return NULL;
    if (nbytes > out->file->page_nbytes - TBED_BLOCK_HEADER_NBYTES) {
        out->dropped_count++;
        return NULL;
    }
    if (out->has_block && nbytes > out->file->page_nbytes - out->used)
        end_block(out);
    if (!out->has_block) {
        tbed_trace_file_begin(out->file, out->page, &fields);
        out->sequence++;
        out->used = TBED_BLOCK_HEADER_NBYTES;
        out->has_block = true;
    }
    uint8_t *record = out->page + out->used;
    tbed_le64 head = tbed_le64_make(tbed_record_head_make(type, (uint32_t)nbytes));
    memcpy(record, &head, sizeof head);
    out->used += (uint32_t)nbytes;
    return record;
}

void tbed_records_out_close(struct records_out *out)
{
    if (out->has_block)
        end_block(out);
}

/* ---- Ids, streams and ticks ---- */

static tbed_le32 id_of(struct records_out *out, struct copy_source *source, uint32_t id)
{
    uint32_t new_id = tbed_id_map(out->strings, &source->ids, id);
    tbed_strings_out_settle(out->strings);
    return tbed_le32_make(new_id);
}

/* Stream 0 is nobody's. */
static tbed_le32 stream_of(const struct copy_source *source, uint32_t stream)
{
    return tbed_le32_make(stream != 0 ? stream + source->first_stream : 0);
}

static tbed_le64 tick_of(const struct copy_source *source, uint64_t tick)
{
    return tbed_le64_make(tbed_copy_tick(source, tick));
}

static bool has_stream(const struct copy_source *source, uint32_t stream)
{
    return tbed_filter_has_stream(source->filter, stream);
}

/* Does a stream that is copied belong to the process? */
static bool has_process(const struct copy_source *source, uint32_t process)
{
    struct tbed_stream_info stream;
    if (source->filter == NULL || !source->filter->has_streams || process == 0)
        return true;
    for (size_t i = 0; tbed_stream_get(source->reader, i, &stream); i++)
        if (stream.process == process && has_stream(source, stream.stream))
            return true;
    return false;
}

/* ---- Processes and streams ---- */

static void put_end(struct records_out *out, const struct copy_source *source, uint32_t stream, uint64_t tick)
{
    struct tbed_disk_end *end = tick != 0 ? tbed_records_out_put(out, TBED_RECORD_END, sizeof *end) : NULL;
    if (end == NULL)
        return;
    end->stream = stream_of(source, stream);
    end->tick = tick_of(source, tick);
}

static void copy_process(struct records_out *out, struct copy_source *source,
                         const struct tbed_process_info *info)
{
    tbed_le32 name = id_of(out, source, info->name_id);
    struct tbed_disk_process *process = tbed_records_out_put(out, TBED_RECORD_PROCESS, sizeof *process);
    if (process == NULL)
        return;
    process->stream = stream_of(source, info->stream);
    process->pid = tbed_le32_make(info->pid);
    process->parent_pid = tbed_le32_make(info->parent_pid);
    process->name_id = name;
    process->tick = tick_of(source, info->tick);
    process->forked_from = stream_of(source, info->forked_from);
    process->instants =
        tbed_le32_make(info->instants_are_allocations ? TBED_INSTANTS_ALLOCATIONS : TBED_INSTANTS_ANY);
    put_end(out, source, info->stream, info->end_tick);
}

static void copy_name(struct records_out *out, struct copy_source *source,
                      const struct tbed_stream_info *info)
{
    tbed_le32 id = id_of(out, source, info->name_id);
    struct tbed_disk_name *name = tbed_records_out_put(out, TBED_RECORD_NAME, sizeof *name);
    if (name == NULL)
        return;
    name->stream = stream_of(source, info->stream);
    name->name_id = id;
}

static void copy_stream(struct records_out *out, struct copy_source *source,
                        const struct tbed_stream_info *info)
{
    if (info->kind == 0) {
        if (info->name_id != TBED_ID_INVALID)
            copy_name(out, source, info);
        put_end(out, source, info->stream, info->end_tick);
        return;
    }
    tbed_le32 name = id_of(out, source, info->name_id);
    struct tbed_disk_stream *stream = tbed_records_out_put(out, TBED_RECORD_STREAM, sizeof *stream);
    if (stream == NULL)
        return;
    stream->stream = stream_of(source, info->stream);
    stream->process = stream_of(source, info->process);
    stream->kind = tbed_le32_make(info->kind);
    stream->tid = tbed_le32_make(info->tid);
    stream->name_id = name;
    stream->parent = stream_of(source, info->of_thread != 0 ? info->of_thread : info->forked_from);
    stream->tick = tick_of(source, info->tick);
    put_end(out, source, info->stream, info->end_tick);
}

static void copy_streams(struct records_out *out, struct copy_source *source)
{
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_process_get(source->reader, i, &process); i++)
        if (has_process(source, process.stream))
            copy_process(out, source, &process);
    for (size_t i = 0; tbed_stream_get(source->reader, i, &stream); i++)
        if (has_stream(source, stream.stream))
            copy_stream(out, source, &stream);
}

/* ---- Code ---- */

static void copy_unit(struct records_out *out, struct copy_source *source, const struct tbed_unit_info *info)
{
    tbed_le32 name = id_of(out, source, info->name_id), file = id_of(out, source, info->file_id);
    size_t nbytes = tbed_round_up(sizeof(struct tbed_disk_unit) + info->build_id_nbytes, 8);
    struct tbed_disk_unit *unit = tbed_records_out_put(out, TBED_RECORD_UNIT, nbytes);
    if (unit == NULL)
        return;
    unit->first_id = id_of(out, source, info->first_id);
    unit->id_count = tbed_le32_make(info->id_count);
    unit->kind = tbed_le32_make(info->kind);
    unit->pc_shift = tbed_le32_make(info->pc_shift);
    unit->name_id = name;
    unit->file_id = file;
    unit->first_line = tbed_le32_make(info->first_line);
    unit->build_id_nbytes = tbed_le32_make(info->build_id_nbytes);
    unit->base = tbed_le64_make(info->base);
    if (info->build_id_nbytes > 0)
        memcpy(unit->build_id, info->build_id, info->build_id_nbytes);
}

static void copy_load(struct records_out *out, struct copy_source *source, const struct tbed_load_info *info)
{
    struct tbed_disk_load *load = tbed_records_out_put(out, TBED_RECORD_LOAD, sizeof *load);
    if (load == NULL)
        return;
    load->process = stream_of(source, info->process);
    load->first_id = id_of(out, source, info->first_id);
    load->address = tbed_le64_make(info->address);
    load->nbytes = tbed_le64_make(info->nbytes);
    load->tick = tick_of(source, info->tick);
}

static void copy_lines(struct records_out *out, struct copy_source *source)
{
    const struct tbed_line *lines = source->reader->metadata->lines.items;
    size_t count = source->reader->metadata->lines.count;
    for (size_t i = 0; i < count;) {
        uint32_t more = 1;
        while (more < PAIRS_MAX && i + more < count && lines[i + more].first_id == lines[i].first_id)
            more++;
        struct tbed_disk_lines *record = tbed_records_out_put(
            out, TBED_RECORD_LINES, sizeof *record + more * sizeof(struct tbed_disk_id_pair));
        if (record == NULL)
            return;
        record->first_id = id_of(out, source, lines[i].first_id);
        record->count = tbed_le32_make(more);
        for (uint32_t j = 0; j < more; j++)
            record->pairs[j] = (struct tbed_disk_id_pair){tbed_le32_make(lines[i + j].pc),
                                                          tbed_le32_make(lines[i + j].line)};
        i += more;
    }
}

static void copy_code(struct records_out *out, struct copy_source *source)
{
    struct tbed_unit_info unit;
    struct tbed_load_info load;
    for (size_t i = 0; tbed_unit_get(source->reader, i, &unit); i++)
        copy_unit(out, source, &unit);
    for (size_t i = 0; tbed_load_get(source->reader, i, &load); i++)
        if (has_process(source, load.process))
            copy_load(out, source, &load);
    copy_lines(out, source);
}

/* ---- Stacks, types and frames ---- */

static struct tbed_disk_id_pair pair_at(const uint8_t *pairs, size_t index)
{
    struct tbed_disk_id_pair pair;
    memcpy(&pair, pairs + index * sizeof pair, sizeof pair);
    return pair;
}

static struct tbed_disk_id_pair map_pair(struct records_out *out, struct copy_source *source,
                                         struct tbed_disk_id_pair pair)
{
    return (struct tbed_disk_id_pair){id_of(out, source, tbed_le32_load(pair.first)),
                                      id_of(out, source, tbed_le32_load(pair.second))};
}

static void copy_stacks(struct records_out *out, struct copy_source *source,
                        const struct tbed_keyed_stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->count;) {
        uint32_t left = stacks->count - i, count = left < PAIRS_MAX ? left : PAIRS_MAX;
        struct tbed_disk_stacks *record =
            tbed_records_out_put(out, stacks->has_types ? TBED_RECORD_TYPES : TBED_RECORD_STACKS,
                                 sizeof *record + count * sizeof(struct tbed_disk_id_pair));
        if (record == NULL)
            return;
        record->first_id = id_of(out, source, stacks->keyed.key + i);
        record->count = tbed_le32_make(count);
        for (uint32_t j = 0; j < count; j++)
            record->pairs[j] = map_pair(out, source, pair_at(stacks->pairs, i + j));
        i += count;
    }
}

static void copy_frames(struct records_out *out, struct copy_source *source,
                        const struct tbed_keyed_frames *frames)
{
    size_t nbytes = sizeof(struct tbed_disk_frames) + frames->count * sizeof(struct tbed_disk_frame);
    struct tbed_disk_frames *record = tbed_records_out_put(out, TBED_RECORD_FRAMES, nbytes);
    if (record == NULL)
        return;
    record->location_id = id_of(out, source, frames->keyed.key);
    record->count = tbed_le32_make(frames->count);
    for (uint32_t i = 0; i < frames->count; i++) {
        struct tbed_disk_frame frame;
        memcpy(&frame, frames->frames + i * sizeof frame, sizeof frame);
        frame.function_id = id_of(out, source, tbed_le32_load(frame.function_id));
        frame.file_id = id_of(out, source, tbed_le32_load(frame.file_id));
        record->frames[i] = frame;
    }
}

/* ---- Bindings ---- */

void tbed_records_out_metadata(struct records_out *out, uint32_t string_id)
{
    struct tbed_disk_bind *bind = tbed_records_out_put(out, TBED_RECORD_BIND, sizeof *bind);
    out->has_metadata = true;
    if (bind == NULL)
        return;
    bind->first_id = tbed_le32_make(TBED_ID_METADATA);
    bind->id_count = tbed_le32_make(1);
    bind->string_id = tbed_le32_make(string_id);
}

/* Only one trace's metadata can be that of the new one; the last binding counts. */
static void copy_metadata(struct records_out *out, struct copy_source *source)
{
    uint32_t string_id;
    if (!tbed_binding_find(source->reader->metadata, TBED_ID_METADATA, &string_id))
        return;
    if (out->has_metadata)
        out->metadata_count++;
    else
        tbed_records_out_metadata(out, tbed_le32_load(id_of(out, source, string_id)));
}

/*
 * Only ids that are used are bound. What they are bound to may be, or contain, further reserved ids; a name is not looked
 * for behind more bindings than this.
 */
#define BINDING_DEPTH_MAX 64

static bool is_used(const struct copy_source *source, uint32_t first, uint32_t end)
{
    const struct id_map *ids = &source->ids;
    if (first >= TBED_ID_METADATA || end <= first)
        return false;
    if (end - first <= ids->used.count) {
        for (uint32_t id = first; id < end; id++)
            if (tbed_id_map_has(ids, id))
                return true;
        return false;
    }
    for (size_t i = 0; i < ids->used.room; i++)
        if (ids->used.places[i].value != 0 && ids->used.places[i].key >= first &&
            ids->used.places[i].key < end)
            return true;
    return false;
}

static void use_run(struct records_out *out, struct copy_source *source, const struct tbed_binding_run *run)
{
    if (run->pairs == NULL && is_used(source, run->first, run->end))
        id_of(out, source, run->string_id);
    for (uint32_t i = 0; run->pairs != NULL && i < run->count; i++) {
        struct tbed_disk_id_pair pair = pair_at(run->pairs, i);
        uint32_t id = tbed_le32_load(pair.first);
        if (id < TBED_ID_METADATA && tbed_id_map_has(&source->ids, id))
            id_of(out, source, tbed_le32_load(pair.second));
    }
}

static void use_bindings(struct records_out *out, struct copy_source *source)
{
    const struct tbed_binding_run *runs = source->reader->metadata->bindings.items;
    size_t used = SIZE_MAX;
    for (unsigned depth = 0; depth < BINDING_DEPTH_MAX && used != source->ids.used.count; depth++) {
        used = source->ids.used.count;
        for (size_t i = 0; i < source->reader->metadata->bindings.count; i++)
            use_run(out, source, &runs[i]);
    }
}

static void copy_bind_list(struct records_out *out, struct copy_source *source,
                           const struct tbed_binding_run *run)
{
    struct tbed_disk_id_pair pairs[PAIRS_MAX];
    for (uint32_t i = 0; i < run->count;) {
        uint32_t count = 0;
        for (; count < PAIRS_MAX && i < run->count; i++) {
            uint32_t id = tbed_le32_load(pair_at(run->pairs, i).first);
            if (id < TBED_ID_METADATA && tbed_id_map_has(&source->ids, id))
                pairs[count++] = map_pair(out, source, pair_at(run->pairs, i));
        }
        struct tbed_disk_bind_list *record =
            count == 0
                ? NULL
                : tbed_records_out_put(out, TBED_RECORD_BIND_LIST, sizeof *record + count * sizeof *pairs);
        if (record == NULL)
            continue;
        record->count = tbed_le32_make(count);
        memcpy(record->pairs, pairs, count * sizeof *pairs);
        out->has_binding = true;
    }
}

static void put_bind(struct records_out *out, struct copy_source *source, uint32_t first, uint32_t end,
                     uint32_t string_id)
{
    tbed_le32 string = id_of(out, source, string_id);
    struct tbed_disk_bind *bind = tbed_records_out_put(out, TBED_RECORD_BIND, sizeof *bind);
    if (bind == NULL)
        return;
    bind->first_id = id_of(out, source, first);
    bind->id_count = tbed_le32_make(end - first);
    bind->string_id = string;
    out->has_binding = true;
}

/* A trace that binds no ids shows them as numbers; this one's must not become one of these. */
static void keep_one_binding(struct records_out *out, struct copy_source *source)
{
    struct tbed_binding_info info;
    for (size_t i = 0; !out->has_binding && tbed_binding_get(source->reader, i, &info); i++)
        if (info.first_id < TBED_ID_METADATA && info.id_count > 0)
            put_bind(out, source, info.first_id, info.first_id + 1, info.string_id);
}

static void copy_bindings(struct records_out *out, struct copy_source *source)
{
    const struct tbed_binding_run *runs = source->reader->metadata->bindings.items;
    use_bindings(out, source);
    for (size_t i = 0; i < source->reader->metadata->bindings.count; i++)
        if (runs[i].pairs != NULL)
            copy_bind_list(out, source, &runs[i]);
        else if (is_used(source, runs[i].first, runs[i].end))
            put_bind(out, source, runs[i].first, runs[i].end, runs[i].string_id);
    keep_one_binding(out, source);
}

static void copy_counter(struct records_out *out, struct copy_source *source,
                         const struct tbed_keyed_value *value)
{
    tbed_le32 id = id_of(out, source, value->keyed.key), unit = id_of(out, source, value->id);
    struct tbed_disk_counter *counter = tbed_records_out_put(out, TBED_RECORD_COUNTER, sizeof *counter);
    if (counter == NULL)
        return;
    counter->id = id;
    counter->unit_id = unit;
}

void tbed_records_copy(struct records_out *out, struct copy_source *source)
{
    const struct tbed_metadata *metadata = source->reader->metadata;
    copy_streams(out, source);
    copy_code(out, source);
    for (size_t i = 0; i < metadata->stacks.count; i++)
        copy_stacks(out, source, (const struct tbed_keyed_stacks *)metadata->stacks.items + i);
    for (size_t i = 0; i < metadata->frames.count; i++)
        copy_frames(out, source, (const struct tbed_keyed_frames *)metadata->frames.items + i);
    for (size_t i = 0; i < metadata->counters.count; i++)
        copy_counter(out, source, (const struct tbed_keyed_value *)metadata->counters.items + i);
    copy_metadata(out, source);
    copy_bindings(out, source);
}

/* ---- Time ---- */

void tbed_records_copy_anchors(struct records_out *out, const struct copy_source *source,
                               const struct tbed_header_fields *header)
{
    const struct tbed_anchor *anchors = source->reader->metadata->anchors.items;
    for (size_t i = 0; i < source->reader->metadata->anchors.count && source->tick == NULL; i++) {
        if (anchors[i].ticks == header->anchor_ticks &&
            anchors[i].monotonic_ns == header->anchor_monotonic_ns)
            continue;
        struct tbed_disk_anchor *record = tbed_records_out_put(out, TBED_RECORD_ANCHOR, sizeof *record);
        if (record == NULL)
            return;
        record->ticks = tbed_le64_make(anchors[i].ticks);
        record->realtime_ns = tbed_le64_make((uint64_t)anchors[i].realtime_ns);
        record->monotonic_ns = tbed_le64_make(anchors[i].monotonic_ns);
    }
}

/* ---- Losses ---- */

struct losses_copy {
    struct records_out *out;
    const struct copy_source *source;
    uint32_t stream;   /* of the source; 0: what concerns no stream's events */
    uint32_t sequence; /* the next that the copy of the stream does not have */
    uint64_t count;
};

static void put_lost(struct losses_copy *copy, const struct tbed_lost_info *info)
{
    bool has_stream = copy->stream != 0;
    struct tbed_disk_lost *lost = tbed_records_out_put(copy->out, TBED_RECORD_LOST, sizeof *lost);
    if (lost == NULL)
        return;
    lost->stream = has_stream ? stream_of(copy->source, copy->stream) : tbed_le32_make(0);
    lost->kind = tbed_le32_make(has_stream ? TBED_BLOCK_EVENTS : TBED_BLOCK_NONE);
    lost->first_sequence = tbed_le32_make(has_stream ? copy->sequence : 0);
    lost->count = tbed_le32_make(info->count);
    bool is_known = info->first_tick != 0 || (info->last_tick != 0 && info->last_tick != UINT64_MAX);
    lost->first_tick = is_known ? tick_of(copy->source, info->first_tick) : tbed_le64_make(0);
    lost->last_tick = is_known && info->last_tick != UINT64_MAX ? tick_of(copy->source, info->last_tick)
                                                                : tbed_le64_make(UINT64_MAX);
    lost->nbytes = tbed_le64_make(info->nbytes);
    copy->sequence += info->count;
    copy->count++;
}

static bool concerns(const struct losses_copy *copy, enum tbed_block_kind kind, uint32_t stream)
{
    bool has_events = kind == TBED_BLOCK_EVENTS && stream != 0;
    return copy->stream != 0 ? has_events && stream == copy->stream : !has_events;
}

static void copy_damage(struct losses_copy *copy, const struct tbed_damage *damage)
{
    bool is_part = damage->status >= TBED_ERR_EVENT_TAG;
    struct tbed_lost_info info = {.count = is_part ? 0 : (uint32_t)damage->page_count,
                                  .first_tick = damage->first_tick,
                                  .last_tick = damage->last_tick > damage->first_tick ? damage->last_tick
                                                                                      : UINT64_MAX};
    put_lost(copy, &info);
}

/* The reader lists only so many damaged places, and without memory none. */
static void copy_unlisted_damage(struct losses_copy *copy, uint64_t listed_count)
{
    uint64_t count = tbed_damage_count(copy->source->reader) - listed_count;
    struct tbed_lost_info info = {.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
                                  .last_tick = UINT64_MAX};
    if (count > 0)
        put_lost(copy, &info);
}

uint64_t tbed_records_copy_losses(struct records_out *out, const struct copy_source *source, uint32_t stream,
                                  uint32_t block_count)
{
    struct losses_copy copy = {out, source, stream, block_count, 0};
    struct tbed_lost_info lost;
    struct tbed_damage damage;
    struct tbed_ring_gap gap;
    size_t position = 0, listed_count = 0;
    for (size_t i = 0; tbed_lost_get(source->reader, i, &lost); i++)
        if (concerns(&copy, lost.kind, lost.stream))
            put_lost(&copy, &lost);
    for (; tbed_damage_get(source->reader, listed_count, &damage); listed_count++)
        if (concerns(&copy, damage.kind, damage.stream))
            copy_damage(&copy, &damage);
    if (stream == 0)
        copy_unlisted_damage(&copy, listed_count);
    while (stream != 0 && tbed_ring_gap_next(source->reader, &position, &gap))
        if (gap.stream == stream) {
            lost = (struct tbed_lost_info){
                .count = gap.block_count, .first_tick = gap.first_tick, .last_tick = gap.last_tick};
            put_lost(&copy, &lost);
        }
    return copy.count;
}
