/*
 * Clocks of a Perfetto trace. Snapshots say what several clocks show at one moment; between them, all run alike. The times of
 * the trace are those of the clock since boot or, if there is none, of the first clock of the first snapshot.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/import/perfetto_import.h"

enum { SNAPSHOT_CLOCK = 1 };
enum { CLOCK_ID = 1, CLOCK_TIME = 2, CLOCK_INCREMENTAL = 3, CLOCK_UNIT = 4 };
#define LOCAL_FIRST  64u /* these belong to a sequence */
#define LOCAL_END    128u
#define SNAPSHOT_MAX 32u

struct reading {
    uint64_t clock, value, unit;
    bool is_incremental;
};

static uint64_t key_of(uint32_t sequence, uint64_t clock)
{
    bool is_local = clock >= LOCAL_FIRST && clock < LOCAL_END;
    return tbed_event_key(is_local ? (uint64_t)sequence + 1 : 0, clock);
}

static bool ns_of(uint64_t value, uint64_t unit, int64_t *ns)
{
    uint64_t product;
    if (__builtin_mul_overflow(value, unit, &product) || product > INT64_MAX)
        return false;
    *ns = (int64_t)product;
    return true;
}

static bool read_clock(const struct proto_field *message, struct reading *reading)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    *reading = (struct reading){.unit = 1};
    while (tbed_proto_next(&in, &field)) {
        if (field.wire != PROTO_VARINT)
            continue;
        if (field.number == CLOCK_ID)
            reading->clock = field.value;
        else if (field.number == CLOCK_TIME)
            reading->value = field.value;
        else if (field.number == CLOCK_INCREMENTAL)
            reading->is_incremental = field.value != 0;
        else if (field.number == CLOCK_UNIT && field.value != 0)
            reading->unit = field.value;
    }
    return !in.is_bad;
}

/* The time of the trace at the snapshot. */
static int64_t time_of(struct perfetto_import *perfetto, uint32_t sequence, const struct reading *readings,
                       uint32_t count)
{
    int64_t time = 0;
    for (uint32_t i = 0; i < count; i++)
        if (readings[i].clock == PERFETTO_CLOCK_BOOT && ns_of(readings[i].value, readings[i].unit, &time))
            return time;
    for (uint32_t i = 0; i < count; i++)
        if (readings[i].clock < LOCAL_FIRST &&
            TBED_HASHMAP_FIND(&perfetto->clocks, key_of(sequence, readings[i].clock)) != NULL &&
            tbed_perfetto_time(perfetto, sequence, readings[i].clock, readings[i].value, &time))
            return time;
    for (uint32_t i = 0; i < count; i++)
        if (ns_of(readings[i].value, readings[i].unit, &time))
            return time;
    return 0;
}

bool tbed_perfetto_take_clocks(struct perfetto_import *perfetto, uint32_t sequence,
                               const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    struct reading readings[SNAPSHOT_MAX];
    uint32_t count = 0;
    while (tbed_proto_next(&in, &field))
        if (field.number == SNAPSHOT_CLOCK && field.wire == PROTO_BYTES && count < SNAPSHOT_MAX)
            if (!read_clock(&field, &readings[count++]))
                return false;
    int64_t time = time_of(perfetto, sequence, readings, count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t ns;
        struct perfetto_clock *clock = NULL;
        if (ns_of(readings[i].value, readings[i].unit, &ns))
            clock = TBED_HASHMAP_ADD(&perfetto->clocks, key_of(sequence, readings[i].clock));
        else
            continue;
        perfetto->is_out_of_memory |= clock == NULL;
        if (clock == NULL)
            continue;
        uint64_t key = clock->key;
        *clock = (struct perfetto_clock){.key = key,
                                         .ns = ns,
                                         .time = time,
                                         .last = ns,
                                         .unit = readings[i].unit,
                                         .is_incremental = readings[i].is_incremental};
    }
    return !in.is_bad;
}

bool tbed_perfetto_time(struct perfetto_import *perfetto, uint32_t sequence, uint64_t clock, uint64_t value,
                        int64_t *time_ret)
{
    struct perfetto_clock *known = TBED_HASHMAP_FIND(&perfetto->clocks, key_of(sequence, clock));
    int64_t ns, last;
    if (clock == PERFETTO_CLOCK_BOOT || (known == NULL && clock < LOCAL_FIRST))
        return ns_of(value, 1, time_ret); /* without a snapshot all clocks of the system are the same */
    if (known == NULL || !ns_of(value, known->unit, &ns))
        return false;
    if (known->is_incremental) {
        if (__builtin_add_overflow(known->last, ns, &last))
            return false;
        known->last = ns = last;
    }
    return !__builtin_add_overflow(known->time, ns - known->ns, time_ret); /* neither is negative */
}
