/*
 * Writes profiles of pprof: time or memory by stack.
 *
 * Samples come first and what they refer to last, which protobuf allows, so only the stacks of one trace are in memory. Of
 * time, a location is a label with the file and line that it is used at; of memory, it is a place in code with all functions that
 * were inlined there. Its address is that of the module's ELF file, whose mapping therefore starts at 0.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/pprof/pprof.h"

#include "reader/exchange/out/proto.h"
#include "reader/exchange/stacks/stack_line.h"
#include "reader/exchange/stacks/stack_sums.h"

#define NAME_NBYTES 4096u

struct mapping_slot {
    uint64_t key; /* tbed_hashmap_key32() of the first id of its unit */
    uint64_t number;
};

/* What is to be written of a module. */
struct mapping_use {
    struct tbed_unit_info unit;
    uint64_t limit;
};

struct pprof_export {
    struct export_out *out;
    struct tbed_export_result *result;
    struct stack_sums sums;
    struct frame_table frames;
    TBED_VECTOR(uint32_t) functions; /* by frame: the number of its function, from 1; 0: not yet */
    uint64_t function_count;
    uint64_t location_base; /* locations of earlier traces */
    uint64_t mapping_base;
    TBED_HASHMAP(struct mapping_slot) mapping_slots; /* of this trace */
    TBED_VECTOR(struct mapping_use) mappings;
    frame_list path;  /* of time: the frame of each depth; of memory: the places of a stack */
    bool has_no_root; /* as in stack_line.h */
    bool is_out_of_memory;
};

static bool is_over(const struct pprof_export *export)
{
    return export->is_out_of_memory || !tbed_export_out_spill(export->out);
}

static uint32_t text_number(struct pprof_export *export, const char *text, size_t nbytes)
{
    uint32_t number = tbed_text_table_add(&export->frames.texts, text, nbytes);
    export->is_out_of_memory |= number == TEXT_TABLE_NONE;
    return number;
}

static void put_value_type(struct pprof_export *export, const char *type, const char *unit)
{
    struct tbed_text *text = &export->out->text;
    size_t at = tbed_proto_begin(text, PPROF_SAMPLE_TYPE);
    tbed_proto_u64(text, PPROF_VALUE_TYPE, text_number(export, type, strlen(type)));
    tbed_proto_u64(text, PPROF_VALUE_UNIT, text_number(export, unit, strlen(unit)));
    tbed_proto_end(text, at);
}

static void put_value(struct pprof_export *export, uint64_t value)
{
    bool is_clipped = value > INT64_MAX;
    export->result->notes[TBED_EXPORT_NOTE_CLIPPED] += is_clipped;
    tbed_proto_varint(&export->out->text, is_clipped ? INT64_MAX : value);
}

static void put_values(struct pprof_export *export, const uint64_t *values, size_t count)
{
    size_t at = tbed_proto_begin(&export->out->text, PPROF_SAMPLE_VALUE);
    for (size_t i = 0; i < count; i++)
        put_value(export, values[i]);
    tbed_proto_end(&export->out->text, at);
    export->result->written_count++;
}

/* ---- Time ---- */

/* Makes the path to a row, which follows its parent. */
static bool path_turn(struct pprof_export *export, const struct tbed_stack_row *row)
{
    while (export->path.count <= row->depth)
        if (TBED_VECTOR_PUSH(&export->path) == NULL)
            return false;
    if (row->depth == 0)
        export->has_no_root = tbed_stack_row_is_nameless(row);
    uint32_t frame = tbed_frame_table_row(&export->frames, row);
    export->path.items[row->depth] = frame;
    return frame != FRAME_NONE;
}

static void put_row(struct pprof_export *export, const struct tbed_stack_row *row)
{
    struct tbed_text *text = &export->out->text;
    uint64_t values[] = {row->depth > 0 ? row->count : 0,
                         tbed_stack_sums_value(&export->sums, row->self_ticks)};
    if (values[0] == 0 && values[1] == 0)
        return;
    size_t at = tbed_proto_begin(text, PPROF_SAMPLE);
    size_t locations = tbed_proto_begin(text, PPROF_SAMPLE_LOCATION);
    uint32_t outermost = row->depth > 0 && export->has_no_root;
    for (uint32_t depth = row->depth + 1; depth-- > outermost;)
        tbed_proto_varint(text, (uint64_t) export->path.items[depth] + 1);
    tbed_proto_end(text, locations);
    put_values(export, values, 2);
    tbed_proto_end(text, at);
}

static void put_rows(struct pprof_export *export)
{
    const struct tbed_stack_row *row;
    for (size_t i = 0; !is_over(export) && (row = tbed_stack_sums_row(&export->sums, i)) != NULL; i++) {
        export->is_out_of_memory |= !path_turn(export, row);
        if (!export->is_out_of_memory)
            put_row(export, row);
    }
}

/* ---- Functions and locations ---- */

/* The number of the function of a frame; 0: no memory. */
static uint32_t function_of(struct pprof_export *export, uint32_t number)
{
    struct frame_table *table = &export->frames;
    struct frame frame = table->frames.items[number];
    if (frame.line != 0) {
        frame.line = 0;
        number = tbed_frame_table_put(table, &frame);
    }
    while (number != FRAME_NONE && export->functions.count <= number)
        if (TBED_VECTOR_PUSH(&export->functions) == NULL)
            number = FRAME_NONE;
    if (number == FRAME_NONE)
        return 0;
    uint32_t *function = &export->functions.items[number];
    if (*function == 0)
        *function = (uint32_t)++ export->function_count;
    return *function;
}

static void put_line(struct pprof_export *export, uint32_t number)
{
    struct tbed_text *text = &export->out->text;
    uint32_t line = export->frames.frames.items[number].line, function = function_of(export, number);
    export->is_out_of_memory |= function == 0;
    size_t at = tbed_proto_begin(text, PPROF_LOCATION_LINE);
    tbed_proto_u64(text, PPROF_LINE_FUNCTION, function);
    if (line != 0)
        tbed_proto_u64(text, PPROF_LINE_LINE, line);
    tbed_proto_end(text, at);
}

static void put_frame_locations(struct pprof_export *export)
{
    struct tbed_text *text = &export->out->text;
    size_t count = export->frames.frames.count; /* functions add more */
    for (size_t i = 0; i < count && !is_over(export); i++) {
        size_t at = tbed_proto_begin(text, PPROF_LOCATION);
        tbed_proto_u64(text, PPROF_LOCATION_ID, i + 1);
        put_line(export, (uint32_t)i);
        tbed_proto_end(text, at);
    }
}

static void put_functions(struct pprof_export *export)
{
    struct tbed_text *text = &export->out->text;
    for (size_t i = 0; i < export->functions.count && !is_over(export); i++) {
        const struct frame *frame = &export->frames.frames.items[i];
        if (export->functions.items[i] == 0)
            continue;
        size_t at = tbed_proto_begin(text, PPROF_FUNCTION);
        tbed_proto_u64(text, PPROF_FUNCTION_ID, export->functions.items[i]);
        tbed_proto_u64(text, PPROF_FUNCTION_NAME, frame->name);
        tbed_proto_u64(text, PPROF_FUNCTION_SYSTEM_NAME, frame->name);
        tbed_proto_u64(text, PPROF_FUNCTION_FILE, frame->file);
        tbed_proto_end(text, at);
    }
}

static void put_strings(struct pprof_export *export)
{
    const struct text_table *texts = &export->frames.texts;
    size_t nbytes;
    for (size_t i = 0; i < texts->ends.count && !is_over(export); i++) {
        const char *text = tbed_text_table_get(texts, (uint32_t)i, &nbytes);
        tbed_proto_bytes(&export->out->text, PPROF_STRING_TABLE, text, nbytes);
    }
}

/* ---- Memory ---- */

/* The number of the module's mapping, from 1; 0: the place is not native code. */
static uint64_t mapping_of(struct pprof_export *export, uint32_t id, uint64_t *pc_ret)
{
    struct tbed_unit_info unit;
    if (!tbed_location_find(export->sums.reader, id, &unit, pc_ret) || unit.kind != TBED_UNIT_NATIVE)
        return 0;
    struct mapping_slot *slot = TBED_HASHMAP_ADD(&export->mapping_slots, tbed_hashmap_key32(unit.first_id));
    if (slot != NULL && slot->number == 0) {
        struct mapping_use *use = TBED_VECTOR_PUSH(&export->mappings);
        if (use != NULL)
            use->unit = unit;
        slot->number = use != NULL ? export->mappings.count : 0;
    }
    if (slot == NULL || slot->number == 0) {
        export->is_out_of_memory = true;
        return 0;
    }
    struct mapping_use *use = &export->mappings.items[slot->number - 1];
    if (*pc_ret >= use->limit)
        use->limit = *pc_ret < UINT64_MAX ? *pc_ret + 1 : *pc_ret;
    return export->mapping_base + slot->number;
}

static void put_place(struct pprof_export *export, const struct frame_place *place, uint32_t id)
{
    struct tbed_text *text = &export->out->text;
    size_t at = tbed_proto_begin(text, PPROF_LOCATION);
    uint64_t pc, mapping = mapping_of(export, id, &pc);
    tbed_proto_u64(text, PPROF_LOCATION_ID, export->location_base + place->number + 1);
    if (mapping != 0) {
        tbed_proto_u64(text, PPROF_LOCATION_MAPPING, mapping);
        tbed_proto_u64(text, PPROF_LOCATION_ADDRESS, pc);
    }
    for (uint32_t i = 0; i < place->count && !export->is_out_of_memory; i++)
        put_line(export, export->frames.lists.items[place->first + i]);
    tbed_proto_end(text, at);
}

static void put_mapping(struct pprof_export *export, const struct mapping_use *use, uint64_t number)
{
    static const char digits[] = "0123456789abcdef";
    struct tbed_text *text = &export->out->text;
    char name[NAME_NBYTES], build_id[128];
    size_t nbytes = tbed_frame_name(export->sums.reader, use->unit.name_id, name, sizeof name);
    if (nbytes == SIZE_MAX) {
        export->is_out_of_memory = true;
        return;
    }
    size_t id_nbytes = 0;
    for (uint32_t i = 0; i < use->unit.build_id_nbytes && id_nbytes < sizeof build_id; i++) {
        build_id[id_nbytes++] = digits[use->unit.build_id[i] >> 4];
        build_id[id_nbytes++] = digits[use->unit.build_id[i] & 15];
    }
    size_t at = tbed_proto_begin(text, PPROF_MAPPING);
    tbed_proto_u64(text, PPROF_MAPPING_ID, number);
    tbed_proto_u64(text, PPROF_MAPPING_LIMIT, use->limit);
    tbed_proto_u64(text, PPROF_MAPPING_FILE, text_number(export, name, nbytes));
    tbed_proto_u64(text, PPROF_MAPPING_BUILD_ID, text_number(export, build_id, id_nbytes));
    /* What is not known here, pprof cannot find either, as the build may no longer be there. */
    for (uint32_t has = PPROF_MAPPING_HAS_FUNCTIONS; has <= PPROF_MAPPING_HAS_INLINES; has++)
        tbed_proto_u64(text, has, 1);
    tbed_proto_end(text, at);
}

static void put_places(struct pprof_export *export)
{
    struct frame_table *table = &export->frames;
    for (size_t i = 0; i < table->ids.count && !is_over(export); i++)
        put_place(export, tbed_frame_table_place(table, table->ids.items[i]), table->ids.items[i]);
    for (size_t i = 0; i < export->mappings.count && !is_over(export); i++)
        put_mapping(export, &export->mappings.items[i], export->mapping_base + i + 1);
    export->location_base += table->ids.count;
    export->mapping_base += export->mappings.count;
    export->mappings.count = 0;
    TBED_HASHMAP_CLEAR(&export->mapping_slots);
}

static void put_site(struct pprof_export *export, const struct tbed_allocation_site *site)
{
    struct tbed_text *text = &export->out->text;
    const struct tbed_allocation_sums *sums = &site->sums;
    uint64_t values[] = {sums->count, sums->nbytes, sums->live_count, sums->live_nbytes, sums->peak_nbytes};
    uint32_t ids[STACK_SUMS_DEPTH_MAX];
    size_t count = tbed_stack_sums_places(export->sums.reader, site, ids);
    if (sums->count == 0)
        return;
    size_t at = tbed_proto_begin(text, PPROF_SAMPLE);
    size_t locations = tbed_proto_begin(text, PPROF_SAMPLE_LOCATION);
    for (size_t i = 0; i < count && !export->is_out_of_memory; i++) {
        const struct frame_place *place = tbed_frame_table_place(&export->frames, ids[i]);
        export->is_out_of_memory |= place == NULL;
        if (place != NULL)
            tbed_proto_varint(text, export->location_base + place->number + 1);
    }
    tbed_proto_end(text, locations);
    put_values(export, values, sizeof values / sizeof values[0]);
    tbed_proto_end(text, at);
}

static void put_sites(struct pprof_export *export)
{
    const struct tbed_allocation_site *site;
    for (size_t i = 0; !is_over(export) && (site = tbed_allocations_site(export->sums.sites, i)) != NULL; i++)
        put_site(export, site);
    put_places(export);
}

/* ---- All traces ---- */

static void put_types(struct pprof_export *export)
{
    text_number(export, "", 0); /* number 0 must be the empty text */
    if (export->sums.by_memory) {
        put_value_type(export, "alloc_objects", "count");
        put_value_type(export, "alloc_space", "bytes");
        put_value_type(export, "inuse_objects", "count");
        put_value_type(export, "inuse_space", "bytes");
        put_value_type(export, "peak_space", "bytes");
    } else {
        struct tbed_trace_info info;
        tbed_reader_info(export->sums.job->readers[0], &info);
        put_value_type(export, "spans", "count");
        put_value_type(export, "time", info.clock == TBED_CLOCK_USER ? "ticks" : "nanoseconds");
    }
    const char *usual = export->sums.by_memory ? "alloc_space" : "time";
    tbed_proto_u64(&export->out->text, PPROF_DEFAULT_SAMPLE_TYPE, text_number(export, usual, strlen(usual)));
}

/* When the first trace began, and how long it took. */
static void put_time(struct pprof_export *export)
{
    struct tbed_reader *reader = export->sums.job->readers[0];
    struct tbed_trace_info info;
    int64_t ns;
    tbed_reader_info(reader, &info);
    if (tbed_ticks_to_realtime_ns(reader, info.first_tick, &ns) != TBED_OK)
        return;
    tbed_proto_i64(&export->out->text, PPROF_TIME_NANOS, ns);
    ns = tbed_ticks_to_ns(reader, info.last_tick);
    if (ns > 0)
        tbed_proto_i64(&export->out->text, PPROF_DURATION_NANOS, ns);
}

static enum tbed_status put_trace(struct pprof_export *export, size_t index)
{
    struct stack_sums *sums = &export->sums;
    enum tbed_status status =
        sums->by_memory ? tbed_stack_sums_sites(sums, index) : tbed_stack_sums_time(sums, index);
    if (status != TBED_OK)
        return status;
    tbed_frame_table_turn(&export->frames, sums->reader);
    if (sums->by_memory)
        put_sites(export);
    else
        put_rows(export);
    return TBED_OK;
}

static enum tbed_status put_all(struct pprof_export *export)
{
    enum tbed_status status = TBED_OK;
    put_types(export);
    put_time(export);
    for (size_t i = 0; status == TBED_OK && i < export->sums.job->reader_count && !is_over(export); i++)
        status = put_trace(export, i);
    if (!export->sums.by_memory)
        put_frame_locations(export);
    put_functions(export);
    put_strings(export);
    export->result->notes[TBED_EXPORT_NOTE_REPLACED] = export->frames.texts.replaced_count;
    export->out->text.is_out_of_memory |= export->is_out_of_memory;
    return status;
}

enum tbed_status tbed_export_pprof(const struct export_job *job, struct export_out *out)
{
    struct pprof_export export = {.out = out, .result = job->result};
    job->result->written = "stack";
    enum tbed_status status = tbed_stack_sums_open(&export.sums, job);
    if (status == TBED_OK)
        status = put_all(&export);
    tbed_stack_sums_close(&export.sums);
    tbed_frame_table_free(&export.frames);
    tbed_vector_free(&export.functions.vector);
    tbed_vector_free(&export.mappings.vector);
    tbed_vector_free(&export.path.vector);
    tbed_hashmap_free(&export.mapping_slots.map);
    return status;
}
