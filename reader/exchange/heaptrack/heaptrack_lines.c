/*
 * The lines of heaptrack's format, version 2, which heaptrack_interpret writes and heaptrack_print reads. Numbers are of base
 * 16, and those of strings, places and traces begin at 1.
 *
 *   s TEXT                            a string
 *   i ADDRESS MODULE [FUNCTION FILE LINE]...   a place, with inlined functions from the inside out
 *   t PLACE PARENT                    a call stack
 *   a SIZE TRACE                      allocations of this size at this stack, numbered from 0
 *   + INFO, - INFO                    one of them, and its free
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/inert.h"
#include "reader/exchange/heaptrack/heaptrack.h"

/* More are forgotten and get new numbers when they are met again, which a reader adds up to the same sums. */
#define INFOS_MAX   ((size_t)1 << 18)
#define NAME_NBYTES 4096u
#define NUMBERS_MAX 256u

static void put_hex(struct tbed_text *text, uint64_t number)
{
    static const char digits[] = "0123456789abcdef";
    unsigned shift = number == 0 ? 0 : (63 - (unsigned)__builtin_clzll(number)) & ~3u;
    for (;; shift -= 4) {
        tbed_text_put(text, &digits[number >> shift & 15], 1);
        if (shift == 0)
            return;
    }
}

void tbed_heaptrack_line(struct tbed_text *text, char mode, const uint64_t *numbers, size_t count)
{
    tbed_text_put(text, &mode, 1);
    for (size_t i = 0; i < count; i++) {
        tbed_text_put(text, " ", 1);
        put_hex(text, numbers[i]);
    }
    tbed_text_put(text, "\n", 1);
}

/* The number of a string, which is written if it is new. 0: it is empty, or there is no memory. */
static uint64_t put_string(struct heaptrack *heaptrack, uint32_t text_number)
{
    struct tbed_text *text = &heaptrack->out->text;
    size_t nbytes;
    while (heaptrack->strings.count <= text_number)
        if (TBED_VECTOR_PUSH(&heaptrack->strings) == NULL) {
            heaptrack->is_out_of_memory = true;
            return 0;
        }
    uint64_t *number = &heaptrack->strings.items[text_number];
    const char *string = tbed_text_table_get(&heaptrack->frames.texts, text_number, &nbytes);
    if (*number != 0 || nbytes == 0)
        return *number;
    tbed_text_puts(text, "s ");
    tbed_text_put_inert(text, string, nbytes, "");
    tbed_text_puts(text, "\n");
    return *number = ++heaptrack->string_count;
}

/* The module of native code. */
static uint64_t put_module(struct heaptrack *heaptrack, uint32_t id, uint64_t *pc_ret)
{
    struct tbed_unit_info unit;
    char name[NAME_NBYTES];
    *pc_ret = 0;
    if (!tbed_location_find(heaptrack->reader, id, &unit, pc_ret))
        return 0;
    size_t nbytes = tbed_frame_name(heaptrack->reader, unit.name_id, name, sizeof name);
    uint32_t text =
        nbytes != SIZE_MAX ? tbed_text_table_add(&heaptrack->frames.texts, name, nbytes) : TEXT_TABLE_NONE;
    heaptrack->is_out_of_memory |= text == TEXT_TABLE_NONE;
    return text != TEXT_TABLE_NONE ? put_string(heaptrack, text) : 0;
}

static void write_place(struct heaptrack *heaptrack, uint32_t id)
{
    uint64_t numbers[NUMBERS_MAX];
    size_t count = 2;
    numbers[1] = put_module(heaptrack, id, &numbers[0]);
    const struct frame_place *place = tbed_frame_table_place(&heaptrack->frames, id);
    heaptrack->is_out_of_memory |= place == NULL;
    for (uint32_t i = 0; place != NULL && i < place->count && count + 3 <= NUMBERS_MAX; i++) {
        const struct frame *frame =
            &heaptrack->frames.frames.items[heaptrack->frames.lists.items[place->first + i]];
        numbers[count++] = put_string(heaptrack, frame->name);
        numbers[count++] = put_string(heaptrack, frame->file);
        numbers[count++] = frame->line;
    }
    tbed_heaptrack_line(&heaptrack->out->text, 'i', numbers, count);
}

static uint64_t put_place(struct heaptrack *heaptrack, uint32_t id)
{
    struct heaptrack_number *slot = TBED_HASHMAP_ADD(&heaptrack->places, tbed_hashmap_key32(id));
    heaptrack->is_out_of_memory |= slot == NULL;
    if (slot == NULL)
        return 0;
    if (slot->number == 0) {
        slot->number = ++heaptrack->place_count;
        write_place(heaptrack, id);
    }
    return slot->number;
}

/* Notes which stacks of the chain to the outermost frame are new. Returns the number of the others. */
static uint64_t find_chain(struct heaptrack *heaptrack, uint32_t id)
{
    uint32_t location, parent = TBED_ID_INVALID;
    heaptrack->chain.count = 0;
    for (bool has_parent = true; has_parent; id = parent) {
        const struct heaptrack_number *known = TBED_HASHMAP_FIND(&heaptrack->traces, tbed_hashmap_key32(id));
        if (known != NULL)
            return known->number;
        uint32_t *item = TBED_VECTOR_PUSH(&heaptrack->chain);
        if (item == NULL) {
            heaptrack->is_out_of_memory = true;
            return 0;
        }
        *item = id;
        has_parent = tbed_stack_get(heaptrack->reader, id, &location, &parent) && parent != TBED_ID_INVALID;
    }
    return 0;
}

static uint64_t put_trace(struct heaptrack *heaptrack, uint32_t id)
{
    uint64_t number = find_chain(heaptrack, id);
    for (size_t i = heaptrack->chain.count; i-- > 0 && !heaptrack->is_out_of_memory;) {
        uint32_t location = heaptrack->chain.items[i], parent;
        if (!tbed_stack_get(heaptrack->reader, heaptrack->chain.items[i], &location, &parent))
            location = heaptrack->chain.items[i];
        uint64_t numbers[] = {put_place(heaptrack, location), number};
        tbed_heaptrack_line(&heaptrack->out->text, 't', numbers, 2);
        struct heaptrack_number *slot =
            TBED_HASHMAP_ADD(&heaptrack->traces, tbed_hashmap_key32(heaptrack->chain.items[i]));
        heaptrack->is_out_of_memory |= slot == NULL;
        number = ++heaptrack->trace_count;
        if (slot != NULL)
            slot->number = number;
    }
    return number;
}

static uint64_t put_info(struct heaptrack *heaptrack, uint64_t nbytes, uint64_t trace)
{
    uint64_t key = ((nbytes * UINT64_C(0x9E3779B97F4A7C15)) ^ trace * UINT64_C(0xD6E8FEB86659FD93)) | 1;
    for (struct heaptrack_info *info = TBED_HASHMAP_FIND(&heaptrack->infos, key); info != NULL;
         info = TBED_HASHMAP_FIND_MORE(&heaptrack->infos, info))
        if (info->nbytes == nbytes && info->trace == trace)
            return info->number;
    if (heaptrack->infos.map.count >= INFOS_MAX)
        TBED_HASHMAP_CLEAR(&heaptrack->infos);
    struct heaptrack_info *info = TBED_HASHMAP_INSERT(&heaptrack->infos, key);
    heaptrack->is_out_of_memory |= info == NULL;
    if (info == NULL)
        return 0;
    info->nbytes = nbytes;
    info->trace = trace;
    info->number = heaptrack->info_count++;
    tbed_heaptrack_line(&heaptrack->out->text, 'a', (uint64_t[]){nbytes, trace}, 2);
    return info->number;
}

void tbed_heaptrack_change(struct heap_watch *watch, uint32_t site_id, uint64_t nbytes, bool is_more)
{
    struct heaptrack *heaptrack = (struct heaptrack *)watch;
    uint64_t info = put_info(heaptrack, nbytes, put_trace(heaptrack, site_id));
    tbed_heaptrack_line(&heaptrack->out->text, is_more ? '+' : '-', &info, 1);
    heaptrack->event_count++;
}

void tbed_heaptrack_free(struct heaptrack *heaptrack)
{
    tbed_frame_table_free(&heaptrack->frames);
    tbed_vector_free(&heaptrack->strings.vector);
    tbed_hashmap_free(&heaptrack->traces.map);
    tbed_hashmap_free(&heaptrack->places.map);
    tbed_hashmap_free(&heaptrack->infos.map);
    tbed_vector_free(&heaptrack->chain.vector);
}
