/*
 * The resolver that the symbol library provides to a reader: functions, files and lines of its native code.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/symbols/symbols_internal.h"

static struct tbed_symbols_module module_of(const struct tbed_unit_info *unit, const char *path)
{
    return (struct tbed_symbols_module){path, unit->build_id, unit->build_id_nbytes};
}

static size_t frames(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                     struct tbed_frame *frames, size_t capacity)
{
    struct tbed_symbols_module module = module_of(unit, path);
    return tbed_symbols_frames(context, &module, pc, frames, capacity);
}

static void prepare(void *context, const struct tbed_unit_info *unit, const char *path, const uint64_t *pcs,
                    size_t count)
{
    struct tbed_symbols_module module = module_of(unit, path);
    tbed_symbols_resolve_many(context, &module, pcs, count);
}

enum tbed_status tbed_symbols_attach(struct tbed_symbols *symbols, struct tbed_reader *reader)
{
    const struct tbed_resolver resolver = {
        .size = sizeof resolver, .context = symbols, .frames = frames, .prepare = prepare};
    return tbed_reader_set_resolver(reader, &resolver);
}

bool tbed_symbols_location_state_sized(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                                       uint32_t id, struct tbed_symbols_trouble *trouble_ret,
                                       size_t trouble_nbytes)
{
    struct tbed_location location;
    struct tbed_symbol symbol;
    struct tbed_name path;
    if (!tbed_location_resolve(reader, id, &location) || location.source != TBED_FRAMES_NONE ||
        location.unit.kind != TBED_UNIT_NATIVE ||
        tbed_name_get(reader, location.unit.file_id, &path) != TBED_OK)
        return false;
    struct tbed_symbols_module module = module_of(&location.unit, path.text);
    struct tbed_symbols_trouble trouble = {.module_id = location.unit.first_id, .path = path.text};
    tbed_symbols_find(symbols, &module, location.pc, &symbol, &trouble.state);
    trouble.text = tbed_symbols_trouble(symbols, &module);
    tbed_sized_give(trouble_ret, trouble_nbytes, &trouble, sizeof trouble);
    return true;
}
