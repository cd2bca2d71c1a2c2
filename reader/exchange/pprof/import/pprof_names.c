/*
 * Names of a pprof profile in the trace: frames with their places in code, the unit of ticks, metadata.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/json.h"
#include "reader/exchange/pprof/import/pprof_import.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Frames ---- */

static uint32_t intern(struct pprof_import *pprof, struct pprof_text text)
{
    return tbed_import_string(&pprof->samples.trace, text.text, text.nbytes);
}

/* The first place of a name is kept; a function that does not say where it begins is where it was first seen. */
static void describe(struct pprof_import *pprof, const struct pprof_in_function *function, uint32_t line)
{
    size_t known = pprof->places.map.count;
    uint32_t file_id = intern(pprof, tbed_pprof_text(pprof, function->file));
    line = function->line != 0 ? function->line : line;
    if (function->name_id == TBED_ID_INVALID || (file_id == TBED_ID_INVALID && line == 0))
        return;
    pprof->is_out_of_memory |=
        TBED_HASHMAP_ADD(&pprof->places, tbed_hashmap_key32(function->name_id)) == NULL;
    struct tbed_frame_names frame = {function->name_id, file_id, line};
    if (pprof->places.map.count > known)
        tbed_location_describe(pprof->samples.trace.writer, function->name_id, &frame, 1);
}

/* A location without a name: its address or, without one, its number. */
static uint32_t name_of_location(struct pprof_import *pprof, uint64_t address, uint64_t number)
{
    char name[32];
    int nbytes = address != 0 ? snprintf(name, sizeof name, "0x%llx", (unsigned long long)address)
                              : snprintf(name, sizeof name, "[location %llu]", (unsigned long long)number);
    return tbed_import_string(&pprof->samples.trace, name, (size_t)nbytes);
}

static void add_line(struct pprof_import *pprof, const struct pprof_in_location *location,
                     const struct pprof_in_line *line)
{
    struct pprof_in_function *function =
        line->function != 0 ? TBED_HASHMAP_FIND(&pprof->functions, line->function) : NULL;
    if (function == NULL) {
        tbed_sample_frame(&pprof->samples, name_of_location(pprof, location->address, location->key));
        return;
    }
    if (!function->is_interned) {
        struct pprof_text name = tbed_pprof_text(pprof, function->name);
        if (name.nbytes == 0)
            name = tbed_pprof_text(pprof, function->system_name);
        function->name_id = name.nbytes == 0 && location->address != 0
                                ? name_of_location(pprof, location->address, location->key)
                                : intern(pprof, name);
        function->is_interned = true;
        describe(pprof, function, line->line);
    }
    tbed_sample_frame(&pprof->samples, function->name_id);
}

void tbed_pprof_frames(struct pprof_import *pprof, uint64_t number)
{
    struct pprof_in_location *location = number != 0 ? TBED_HASHMAP_FIND(&pprof->locations, number) : NULL;
    if (location == NULL) {
        tbed_sample_frame(&pprof->samples, name_of_location(pprof, 0, number));
        return;
    }
    if (location->line_count == 0 && !location->is_interned) {
        location->name_id = name_of_location(pprof, location->address, number);
        location->is_interned = true;
    }
    if (location->line_count == 0)
        tbed_sample_frame(&pprof->samples, location->name_id);
    for (uint32_t i = location->line_count; i-- > 0;) /* the innermost is first */
        add_line(pprof, location, &pprof->lines.items[location->first_line + i]);
}

/* ---- The value ---- */

static bool is(struct pprof_text text, const char *wanted)
{
    return text.nbytes == strlen(wanted) && memcmp(text.text, wanted, text.nbytes) == 0;
}

static uint64_t scale_of(const struct pprof_import *pprof, size_t index)
{
    static const struct {
        const char *name;
        uint64_t scale;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000}, {"seconds", 1000000000}};
    struct pprof_text unit = tbed_pprof_text(pprof, pprof->types[index].unit);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (is(unit, units[i].name))
            return units[i].scale;
    return 0;
}

/* A time, the default one if it is one; else the default; else the last, as pprof does. */
void tbed_pprof_choose(struct pprof_import *pprof)
{
    struct pprof_text usual = tbed_pprof_text(pprof, pprof->default_type);
    size_t time = SIZE_MAX, chosen = SIZE_MAX, last = 0;
    for (size_t i = 0; i < pprof->type_count; i++) {
        struct pprof_text type = tbed_pprof_text(pprof, pprof->types[i].type);
        bool is_usual = usual.nbytes > 0 && type.nbytes == usual.nbytes &&
                        memcmp(type.text, usual.text, type.nbytes) == 0;
        if (is_usual && chosen == SIZE_MAX)
            chosen = i;
        if (scale_of(pprof, i) != 0 && (time == SIZE_MAX || chosen == i))
            time = i;
        last = i;
    }
    chosen = time != SIZE_MAX ? time : chosen;
    pprof->value_index = chosen != SIZE_MAX ? chosen : last;
    pprof->scale = scale_of(pprof, pprof->value_index);
}

bool tbed_pprof_unit(const struct pprof_import *pprof, char unit_ret[17])
{
    struct pprof_text unit = tbed_pprof_text(pprof, pprof->types[pprof->value_index].unit);
    if (pprof->scale != 0)
        return false;
    for (size_t i = 0; i < unit.nbytes; i++)
        if (unit.text[i] <= ' ' || unit.text[i] > '~')
            unit.nbytes = 0;
    if (unit.nbytes == 0)
        unit = (struct pprof_text){"units", 5};
    unit.nbytes = unit.nbytes < 16 ? unit.nbytes : 16;
    memcpy(unit_ret, unit.text, unit.nbytes);
    unit_ret[unit.nbytes] = '\0';
    return true;
}

/* ---- Metadata ---- */

static void put_text(const struct pprof_import *pprof, struct tbed_json *json, const char *key,
                     uint64_t number)
{
    struct pprof_text text = tbed_pprof_text(pprof, number);
    tbed_json_text(json, key, text.text, text.nbytes < 4096 ? text.nbytes : 4096);
}

static void put_type(const struct pprof_import *pprof, struct tbed_json *json, const char *key,
                     const struct pprof_type *type)
{
    tbed_json_object_open(json, key);
    put_text(pprof, json, "type", type->type);
    put_text(pprof, json, "unit", type->unit);
    tbed_json_object_close(json);
}

static void put_mappings(const struct pprof_import *pprof, struct tbed_json *json)
{
    tbed_json_array_open(json, "mappings");
    for (size_t i = 0; i < pprof->mapping_count; i++) {
        const struct pprof_in_mapping *mapping = &pprof->mappings[i];
        tbed_json_object_open(json, NULL);
        put_text(pprof, json, "file", mapping->file);
        put_text(pprof, json, "build_id", mapping->build_id);
        tbed_json_u64(json, "start", mapping->start);
        tbed_json_u64(json, "limit", mapping->limit);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

static void put_profile(const struct pprof_import *pprof, struct tbed_json *json)
{
    put_type(pprof, json, "value", &pprof->types[pprof->value_index]);
    tbed_json_array_open(json, "sample_types");
    for (size_t i = 0; i < pprof->type_count; i++)
        put_type(pprof, json, NULL, &pprof->types[i]);
    tbed_json_array_close(json);
    put_type(pprof, json, "period_type", &pprof->period_type);
    tbed_json_u64(json, "period", pprof->period);
    tbed_json_i64(json, "time_ns", pprof->time_ns);
    tbed_json_i64(json, "duration_ns", pprof->duration_ns);
    put_mappings(pprof, json);
    tbed_json_array_open(json, "comments");
    for (size_t i = 0; i < pprof->comment_count; i++)
        put_text(pprof, json, NULL, pprof->comments[i]);
    tbed_json_array_close(json);
}

void tbed_pprof_put_metadata(struct pprof_import *pprof)
{
    struct tbed_text text = {0};
    struct tbed_json json = {.text = &text};
    tbed_json_object_open(&json, NULL);
    tbed_json_string(&json, "format", "pprof");
    tbed_json_object_open(&json, "pprof");
    put_profile(pprof, &json);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    pprof->is_out_of_memory |= text.is_out_of_memory;
    if (!text.is_out_of_memory)
        tbed_metadata_set(pprof->samples.trace.writer, text.bytes, text.nbytes);
    free(text.bytes);
}
