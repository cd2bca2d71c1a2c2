/*
 * Interned texts of the Perfetto export. What a number means is said in a packet of its own, because the event that needs it
 * first may be held back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/perfetto.h"

#include <stdio.h>

enum { PACKET_SEQUENCE = 10, PACKET_INTERNED = 12, PACKET_FLAGS = 13, FLAG_NEEDS = 2 };
#define NUMBER_KEY (UINT64_C(1) << 40)

/* Writes the entry in 'scratch'. */
static void put_entry(struct perfetto *perfetto, enum perfetto_list list)
{
    struct tbed_text *interned = &perfetto->value, *packet = &perfetto->packet;
    interned->nbytes = packet->nbytes = 0;
    pb_message(interned, list, &perfetto->scratch);
    pb_u64(packet, PACKET_SEQUENCE, perfetto->walk.trace + 1);
    pb_u64(packet, PACKET_FLAGS, FLAG_NEEDS);
    pb_message(packet, PACKET_INTERNED, interned);
    pb_message(&perfetto->out->text, 1, packet);
    perfetto->is_out_of_memory |= interned->is_out_of_memory || packet->is_out_of_memory;
}

/* '*iid_ret' is the key's number. */
static bool is_new(struct perfetto *perfetto, enum perfetto_list list, uint64_t key, uint64_t *iid_ret)
{
    struct perfetto_interned *slot = TBED_HASHMAP_ADD(&perfetto->lists[list], key);
    perfetto->is_out_of_memory |= slot == NULL;
    if (slot == NULL)
        return false;
    bool is_new = slot->iid == 0;
    if (is_new)
        slot->iid = perfetto->lists[list].map.count;
    *iid_ret = slot->iid;
    return is_new;
}

static void put_place(struct perfetto *perfetto, const struct export_name *name)
{
    struct tbed_text *entry = &perfetto->scratch;
    if (name->file != NULL)
        pb_string(entry, 2, name->file);
    if (name->function != NULL)
        pb_string(entry, 3, name->function);
    if (name->line != 0)
        pb_u64(entry, 4, name->line);
}

uint64_t tbed_perfetto_intern(struct perfetto *perfetto, enum perfetto_list list, uint32_t id)
{
    struct tbed_text *entry = &perfetto->scratch;
    uint64_t iid = 0;
    if (!is_new(perfetto, list, tbed_hashmap_key32(id), &iid))
        return iid;
    entry->nbytes = 0;
    pb_u64(entry, 1, iid);
    if (list == PERFETTO_ARGUMENT_NAMES) {
        size_t nbytes;
        const char *text = tbed_export_text_of(&perfetto->walk, id, &nbytes);
        pb_bytes(entry, 2, text, nbytes);
    } else {
        const struct export_name *name = tbed_export_name_of(&perfetto->walk, id);
        if (list == PERFETTO_PLACES)
            put_place(perfetto, name);
        else
            pb_message(entry, 2, &name->label);
    }
    put_entry(perfetto, list);
    return iid;
}

uint64_t tbed_perfetto_intern_number(struct perfetto *perfetto, uint32_t number)
{
    char name[24];
    uint64_t iid = 0;
    if (!is_new(perfetto, PERFETTO_ARGUMENT_NAMES, NUMBER_KEY | number, &iid))
        return iid;
    snprintf(name, sizeof name, "arg%u", number);
    perfetto->scratch.nbytes = 0;
    pb_u64(&perfetto->scratch, 1, iid);
    pb_string(&perfetto->scratch, 2, name);
    put_entry(perfetto, PERFETTO_ARGUMENT_NAMES);
    return iid;
}
