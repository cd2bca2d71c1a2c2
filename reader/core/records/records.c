/*
 * Getters for single records: processes, streams, units, loads, bindings, and the unit of a counter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

bool tbed_process_get_sized(const struct tbed_reader *reader, size_t index,
                            struct tbed_process_info *info_ret, size_t info_nbytes)
{
    if (index >= reader->metadata->processes.count)
        return false;
    const struct tbed_keyed_process *processes = reader->metadata->processes.items;
    tbed_sized_give(info_ret, info_nbytes, &processes[index].info, sizeof *info_ret);
    return true;
}

bool tbed_stream_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_stream_info *info_ret,
                           size_t info_nbytes)
{
    if (index >= reader->metadata->streams.count)
        return false;
    const struct tbed_keyed_stream *streams = reader->metadata->streams.items;
    tbed_sized_give(info_ret, info_nbytes, &streams[index].info, sizeof *info_ret);
    return true;
}

bool tbed_unit_get(const struct tbed_reader *reader, size_t index, struct tbed_unit_info *info_ret)
{
    if (index >= reader->metadata->units.count)
        return false;
    *info_ret = ((const struct tbed_keyed_unit *)reader->metadata->units.items)[index].info;
    return true;
}

bool tbed_load_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_load_info *info_ret,
                         size_t info_nbytes)
{
    if (index >= reader->metadata->loads.count)
        return false;
    const struct tbed_load_info *loads = reader->metadata->loads.items;
    tbed_sized_give(info_ret, info_nbytes, &loads[index], sizeof *info_ret);
    return true;
}

bool tbed_lost_get_sized(const struct tbed_reader *reader, size_t index, struct tbed_lost_info *info_ret,
                         size_t info_nbytes)
{
    if (index >= reader->metadata->losses.count)
        return false;
    const struct tbed_lost_info *losses = reader->metadata->losses.items;
    tbed_sized_give(info_ret, info_nbytes, &losses[index], sizeof *info_ret);
    return true;
}

uint32_t tbed_counter_unit(const struct tbed_reader *reader, uint32_t counter_id)
{
    const struct tbed_keyed_value *counters = reader->metadata->counters.items;
    size_t count = tbed_keyed_count_up_to(&reader->metadata->counters, sizeof *counters, counter_id);
    if (count == 0 || counters[count - 1].keyed.key != counter_id)
        return TBED_ID_INVALID;
    return counters[count - 1].id;
}
