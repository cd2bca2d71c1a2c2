/*
 * The index: the blocks that index_pages.c found, sorted and checked against each other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/gateway.h"
#include "reader/core/file/index_update.h"

#include <stdlib.h>

struct tbed_string_slot {
    uint32_t ordinal;
    uint32_t cell;
    uint32_t position; /* in the list of strings */
};

/* ---- Merging ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct tbed_indexed *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

/* If two blocks have the same number, the first in the file counts, unless it proves damaged. */
static void settle_twice(const struct tbed_reader *reader, enum tbed_block_kind kind,
                         struct tbed_indexed *kept, const struct tbed_indexed *other)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    bool is_good = tbed_indexed_is_good(reader, kind, kept);
    tbed_lease_end(&lease);
    if (!is_good) {
        *kept = *other;
        return;
    }
    tbed_damage_tell(reader, TBED_ERR_BLOCK_TWICE, tbed_indexed_offset(reader, other), other->cell,
                     other->sequence);
}

static bool are_sorted(const struct tbed_vector *entries)
{
    const struct tbed_indexed *items = entries->items;
    for (size_t i = 1; i < entries->count; i++)
        if (compare_entries(&items[i - 1], &items[i]) > 0)
            return false;
    return true;
}

/* Sorts by one byte of the stream number, and keeps the order of those that have the same. */
static void sort_by_byte(const struct tbed_indexed *from, struct tbed_indexed *to, size_t count,
                         unsigned shift)
{
    size_t starts[257] = {0};
    for (size_t i = 0; i < count; i++)
        starts[(from[i].stream >> shift & 0xFF) + 1]++;
    for (size_t byte = 0; byte < 256; byte++)
        starts[byte + 1] += starts[byte];
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].stream >> shift & 0xFF]++] = from[i];
}

/* In the file, the blocks of a stream are nearly always in order: putting streams together is then all there is to do. */
static void sort_fresh(struct tbed_vector *fresh)
{
    size_t nbytes = fresh->count * sizeof(struct tbed_indexed);
    struct tbed_indexed *items = fresh->items, *other = are_sorted(fresh) ? NULL : malloc(nbytes);
    uint32_t streams = 0;
    for (size_t i = 0; i < fresh->count; i++)
        streams |= items[i].stream;
    for (unsigned shift = 0; other != NULL && shift < 32 && streams >> shift != 0; shift += 8) {
        sort_by_byte(items, other, fresh->count, shift);
        memcpy(items, other, nbytes);
    }
    free(other);
    if (!are_sorted(fresh))
        qsort(items, fresh->count, sizeof *items, compare_entries);
}

/* Merges the sorted fresh entries of one kind into its sorted list. The first time, the list is made of them. */
static bool merge_kind(struct tbed_index_update *update, enum tbed_block_kind kind)
{
    struct tbed_vector *list = &update->index->lists[kind], fresh = update->fresh[kind], out = {0};
    const struct tbed_indexed *a = list->items, *b = fresh.items;
    size_t i = 0, j = 0;
    if (fresh.count == 0)
        return true;
    sort_fresh(&fresh);
    if (list->count == 0)
        out = (struct tbed_vector){.items = fresh.items, .capacity = fresh.capacity};
    else if (!tbed_vector_reserve(&out, list->count + fresh.count, sizeof *a))
        return false;
    struct tbed_indexed *to = out.items;
    while (i < list->count || j < fresh.count) {
        bool from_list = j == fresh.count || (i < list->count && compare_entries(&a[i], &b[j]) < 0);
        const struct tbed_indexed *next = from_list ? &a[i++] : &b[j++];
        struct tbed_indexed *last = out.count == 0 ? NULL : &to[out.count - 1];
        if (last != NULL && last->stream == next->stream && last->sequence == next->sequence)
            settle_twice(update->reader, kind, last, next);
        else
            to[out.count++] = *next;
    }
    if (out.items != fresh.items)
        tbed_vector_free(&fresh);
    update->fresh[kind] = (struct tbed_vector){0};
    tbed_vector_free(list);
    *list = out;
    return true;
}

static int compare_ghosts(const void *a, const void *b)
{
    const struct tbed_ghost *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static bool merge_kinds(struct tbed_index_update *update)
{
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_CELLS; kind++)
        if (update->no_memory || !merge_kind(update, kind))
            return false;
    return true;
}

/* Cells are merged apart from pages, so that both are in the order of the file. */
static bool merge_fresh(struct tbed_index_update *update)
{
    struct tbed_vector *ghosts = &update->index->ghosts;
    if (!merge_kinds(update))
        return false;
    tbed_index_look_at_cells(update);
    if (ghosts->count > 1)
        qsort(ghosts->items, ghosts->count, sizeof(struct tbed_ghost), compare_ghosts);
    return merge_kinds(update);
}

/* ---- Gaps ---- */

static size_t ghosts_below(const struct tbed_vector *ghosts, const struct tbed_ghost *key)
{
    size_t low = 0, high = ghosts->count;
    const struct tbed_ghost *items = ghosts->items;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ghosts(&items[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many sequence numbers in [from, to) are those of damaged blocks. */
static uint32_t damaged_count(const struct tbed_index *index, enum tbed_block_kind kind, uint32_t stream,
                              uint32_t from, uint32_t to)
{
    size_t first = ghosts_below(&index->ghosts, &(struct tbed_ghost){kind, stream, from});
    size_t end = ghosts_below(&index->ghosts, &(struct tbed_ghost){kind, stream, to});
    const struct tbed_ghost *ghosts = index->ghosts.items;
    uint32_t distinct = 0;
    for (size_t i = first; i < end; i++)
        distinct += i == first || ghosts[i].sequence != ghosts[i - 1].sequence;
    return distinct;
}

uint32_t tbed_index_missing_count(const struct tbed_index *index, const struct tbed_indexed *before,
                                  const struct tbed_indexed *after)
{
    uint32_t from = before->sequence + 1, to = after->sequence;
    return to - from - damaged_count(index, TBED_BLOCK_EVENTS, before->stream, from, to);
}

/* Is any sequence number in [from, to) neither present nor that of a damaged block? */
static bool any_is_missing(const struct tbed_index *index, enum tbed_block_kind kind, uint32_t stream,
                           uint32_t from, uint32_t to)
{
    uint64_t distinct = damaged_count(index, kind, stream, from, to);
    return distinct < (uint64_t)to - from;
}

static int compare_losses(const void *a, const void *b)
{
    const struct tbed_lost_info *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->first_sequence < y->first_sequence ? -1 : x->first_sequence > y->first_sequence;
}

/* Losses in order, and how far tell_gaps() has got, which goes through numbers in the same order. */
struct loss_walk {
    const struct tbed_lost_info *next, *end;
};

/* The same for numbers that no LOST record explains. */
static bool any_is_unexplained(const struct tbed_index *index, struct loss_walk *losses,
                               enum tbed_block_kind kind, uint32_t stream, uint32_t from, uint32_t to)
{
    const struct tbed_lost_info key = {.stream = stream, .kind = kind, .first_sequence = to};
    for (; losses->next < losses->end && compare_losses(losses->next, &key) < 0; losses->next++) {
        const struct tbed_lost_info *loss = losses->next;
        uint64_t loss_end = (uint64_t)loss->first_sequence + loss->count;
        if (loss->kind != kind || loss->stream != stream || loss_end <= from)
            continue;
        if (loss->first_sequence > from && any_is_missing(index, kind, stream, from, loss->first_sequence))
            return true;
        if (loss_end >= to)
            return false;
        from = (uint32_t)loss_end;
    }
    return any_is_missing(index, kind, stream, from, to);
}

/* Reports each gap at the block after it. */
static void tell_gaps(const struct tbed_reader *reader, const struct tbed_index *index,
                      struct loss_walk *losses, enum tbed_block_kind kind)
{
    const struct tbed_vector *list = &index->lists[kind];
    bool may_be_gone = reader->header.ring_page_count != 0 && kind == TBED_BLOCK_EVENTS;
    const struct tbed_indexed *before = NULL;
    for (size_t i = 0; i < list->count && !may_be_gone; i++) {
        const struct tbed_indexed *entry = tbed_index_at(index, kind, i);
        bool is_first = before == NULL || before->stream != entry->stream;
        uint32_t expected = is_first ? 0 : before->sequence + 1;
        before = entry;
        if (entry->sequence == expected ||
            !any_is_unexplained(index, losses, kind, entry->stream, expected, entry->sequence))
            continue;
        tbed_damage_tell(reader, TBED_ERR_BLOCK_MISSING, tbed_indexed_offset(reader, entry), entry->cell,
                         expected);
    }
}

enum tbed_status tbed_index_tell_gaps(const struct tbed_reader *reader, const struct tbed_index *index,
                                      const struct tbed_vector *losses)
{
    struct tbed_vector sorted;
    if (!reader->shut) /* what is missing may still arrive */
        return TBED_OK;
    if (!tbed_vector_copy(losses, sizeof(struct tbed_lost_info), &sorted))
        return TBED_ERR_MEMORY;
    struct tbed_lost_info *items = sorted.items;
    if (sorted.count > 1)
        qsort(items, sorted.count, sizeof *items, compare_losses);
    struct loss_walk walk = {items, sorted.count > 0 ? items + sorted.count : items};
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_CELLS; kind++)
        tell_gaps(reader, index, &walk, kind);
    tbed_vector_free(&sorted);
    return TBED_OK;
}

/* ---- Data derived from the lists ---- */

static int compare_slots(const void *a, const void *b)
{
    const struct tbed_string_slot *x = a, *y = b;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

static bool order_strings(struct tbed_index *index)
{
    struct tbed_vector *slots = &index->string_slots;
    size_t count = index->lists[TBED_BLOCK_STRINGS].count;
    if (!tbed_vector_reserve(slots, count, sizeof(struct tbed_string_slot)))
        return false;
    struct tbed_string_slot *items = slots->items;
    slots->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tbed_indexed *entry = tbed_index_at(index, TBED_BLOCK_STRINGS, i);
        if (tbed_index_ordinal_page(index, (uint32_t)entry->string_page) ==
            entry->page) /* otherwise it is damaged and has lost the ordinal */
            items[slots->count++] =
                (struct tbed_string_slot){(uint32_t)entry->string_page, entry->cell, (uint32_t)i};
    }
    if (slots->count > 1)
        qsort(items, slots->count, sizeof *items, compare_slots);
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool order_records(struct tbed_index *index)
{
    struct tbed_vector *order = &index->record_order;
    size_t count = index->lists[TBED_BLOCK_RECORDS].count;
    uint64_t(*places)[2] =
        malloc((count + 1) * sizeof *places); /* the place in the file, the place in the list */
    if (places == NULL || !tbed_vector_reserve(order, count, sizeof(uint32_t))) {
        free(places);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct tbed_indexed *entry = tbed_index_at(index, TBED_BLOCK_RECORDS, i);
        places[i][0] = (uint64_t)entry->page << 16 | entry->cell;
        places[i][1] = i;
    }
    qsort(places, count, sizeof *places, compare_places);
    order->count = count;
    for (size_t i = 0; i < count; i++)
        ((uint32_t *)order->items)[i] = (uint32_t)places[i][1];
    free(places);
    return true;
}

static bool range_streams(struct tbed_index *index)
{
    struct tbed_vector *ranges = &index->stream_ranges;
    struct tbed_stream_range *range = NULL;
    ranges->count = 0;
    for (size_t i = 0; i < index->lists[TBED_BLOCK_EVENTS].count; i++) {
        uint32_t stream = tbed_index_at(index, TBED_BLOCK_EVENTS, i)->stream;
        if (range == NULL || range->stream != stream) {
            range = tbed_vector_push(ranges, sizeof *range);
            if (range == NULL)
                return false;
            *range = (struct tbed_stream_range){stream, i, 0};
        }
        range->count++;
    }
    return true;
}

/* Updates which blocks are sealed. Reads only headers of blocks that were not sealed before. */
static void note_seals(const struct tbed_reader *reader, struct tbed_index *index)
{
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_RECORDS; kind++) {
        for (size_t i = 0; i < index->lists[kind].count; i++) {
            struct tbed_indexed *entry = tbed_index_at(index, kind, i);
            uint64_t offset = tbed_indexed_offset(reader, entry);
            if (!entry->unsealed || offset >= reader->map.nbytes)
                continue;
            struct tbed_lease lease;
            tbed_lease_begin(&lease, reader->map.packed);
            struct tbed_block_fields fields = tbed_block_load(tbed_map_at(&reader->map, offset));
            tbed_lease_end(&lease);
            entry->unsealed = fields.used_nbytes == 0;
            if (!entry->unsealed && fields.kind == kind && kind == TBED_BLOCK_EVENTS)
                tbed_index_note_ticks(index, fields.first_tick, fields.last_tick);
        }
    }
}

/* ---- Updating ---- */

static bool update_run(struct tbed_index_update *update)
{
    struct tbed_index *index = update->index;
    tbed_index_look_at_pending(update);
    tbed_index_look_at_new_pages(update);
    if (!merge_fresh(update))
        return false;
    note_seals(update->reader, index);
    return order_strings(index) && order_records(index) && range_streams(index);
}

enum tbed_status tbed_index_update(struct tbed_reader *reader, struct tbed_index *index)
{
    struct tbed_index_update update = {.reader = reader, .index = index};
    if (index->scanned_page_count == 0) {
        index->scanned_page_count = 1;
        index->first_tick = UINT64_MAX;
    }
    bool is_done = update_run(&update);
    for (size_t kind = 0; kind <= TBED_BLOCK_CELLS; kind++)
        tbed_vector_free(&update.fresh[kind]);
    return is_done ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_index_copy(const struct tbed_index *from, struct tbed_index *to_ret)
{
    struct tbed_index to = {.scanned_page_count = from->scanned_page_count,
                            .pending_page_count = from->pending_page_count,
                            .cut_page_count = from->cut_page_count,
                            .first_tick = from->first_tick,
                            .last_tick = from->last_tick};
    bool is_whole = true;
    for (size_t kind = 0; kind <= TBED_BLOCK_CELLS; kind++)
        is_whole &= tbed_vector_copy(&from->lists[kind], sizeof(struct tbed_indexed), &to.lists[kind]);
    is_whole &= tbed_vector_copy(&from->ghosts, sizeof(struct tbed_ghost), &to.ghosts);
    is_whole &= tbed_vector_copy(&from->pending, sizeof(struct tbed_pending), &to.pending);
    is_whole &= tbed_vector_copy(&from->ordinal_pages, sizeof(uint32_t), &to.ordinal_pages);
    if (!is_whole) {
        tbed_index_free(&to);
        return TBED_ERR_MEMORY;
    }
    *to_ret = to;
    return TBED_OK;
}

void tbed_index_free(struct tbed_index *index)
{
    for (size_t kind = 0; kind <= TBED_BLOCK_CELLS; kind++)
        tbed_vector_free(&index->lists[kind]);
    tbed_vector_free(&index->ghosts);
    tbed_vector_free(&index->pending);
    tbed_vector_free(&index->string_slots);
    tbed_vector_free(&index->record_order);
    tbed_vector_free(&index->stream_ranges);
    tbed_vector_free(&index->ordinal_pages);
    *index = (struct tbed_index){0};
}

struct tbed_stream_range tbed_index_stream(const struct tbed_index *index, uint32_t stream)
{
    const struct tbed_stream_range *ranges = index->stream_ranges.items;
    size_t low = 0, high = index->stream_ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].stream == stream)
            return ranges[middle];
        if (ranges[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct tbed_stream_range){stream, 0, 0};
}

/* The first slot at or after (ordinal, cell). */
static size_t slot_position(const struct tbed_vector *slots, uint32_t ordinal, uint32_t cell)
{
    const struct tbed_string_slot *items = slots->items;
    struct tbed_string_slot key = {.ordinal = ordinal, .cell = cell};
    size_t low = 0, high = slots->count;
    if (ordinal < high &&
        compare_slots(&items[ordinal], &key) == 0) /* no cells and nothing missing, as in most files */
        return ordinal;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_slots(&items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tbed_indexed *tbed_index_string_at(const struct tbed_index *index, size_t position)
{
    const struct tbed_string_slot *slots = index->string_slots.items;
    if (position >= index->string_slots.count)
        return NULL;
    return tbed_index_at(index, TBED_BLOCK_STRINGS, slots[position].position);
}

size_t tbed_index_string_position(const struct tbed_index *index, uint32_t ordinal, uint32_t offset)
{
    const struct tbed_vector *slots = &index->string_slots;
    const struct tbed_string_slot *items = slots->items;
    size_t at = slot_position(slots, ordinal, 0);
    if (at == slots->count || items[at].ordinal != ordinal)
        return SIZE_MAX;
    const struct tbed_indexed *entry = tbed_index_string_at(index, at);
    if (entry->cell == 0)
        return at;
    uint32_t cell = offset >> entry->shift;
    at = slot_position(slots, ordinal, cell);
    if (at == slots->count || items[at].ordinal != ordinal || items[at].cell != cell)
        return SIZE_MAX;
    return at;
}

/* Of a run of pages, those that are on disk. */
/* At 'offset', which lies inside the file. */
static bool are_zero(const struct tbed_reader *reader, uint64_t offset, size_t nbytes)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    bool are = tbed_bytes_are_zero(tbed_map_at(&reader->map, offset), nbytes);
    tbed_lease_end(&lease);
    return are;
}

static void check_unwritten_pages(const struct tbed_reader *reader, const struct tbed_pending *pages)
{
    uint64_t page_nbytes = reader->header.page_nbytes, end = (uint64_t)pages->page + pages->page_count;
    struct tbed_extent known = {0};
    for (uint64_t page = pages->page; page < end; page++) {
        page = tbed_map_data_from(&reader->map, &known, page * page_nbytes) / page_nbytes;
        if (page >= end || page >= reader->map.nbytes / page_nbytes)
            return;
        if (!tbed_directory_has_page((uint32_t)page_nbytes, page) &&
            !are_zero(reader, page * page_nbytes, page_nbytes))
            tbed_damage_tell(reader, TBED_ERR_BLOCK_NOT_ZERO, page * page_nbytes, 0, 0);
    }
}

void tbed_index_check_unwritten(const struct tbed_reader *reader)
{
    const struct tbed_pending *places = reader->index.pending.items;
    for (size_t i = 0; i < reader->index.pending.count; i++) {
        if (places[i].page_count > 0) {
            check_unwritten_pages(reader, &places[i]);
            continue;
        }
        uint64_t offset = (uint64_t)places[i].page * reader->header.page_nbytes +
                          ((uint64_t)places[i].cell << places[i].shift);
        size_t nbytes = (size_t)1 << places[i].shift;
        if (offset < reader->map.nbytes && !are_zero(reader, offset, nbytes))
            tbed_damage_tell(reader, TBED_ERR_BLOCK_NOT_ZERO, offset, places[i].cell, 0);
    }
}
