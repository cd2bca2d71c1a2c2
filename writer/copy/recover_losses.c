/*
 * What is missing from a damaged trace: what its directory, the headers of damaged blocks, and gaps in the numbers of
 * blocks say.
 *
 * Source: spec/format.md, sections 3.3 and 8.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "format/record.h"
#include "writer/copy/recover.h"

static bool add(struct tbed_list *list, const struct tbed_loss *loss)
{
    struct tbed_loss *item = tbed_list_push(list, sizeof *item);
    if (item != NULL)
        *item = *loss;
    return item != NULL;
}

static int compare_u64(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

/* Of losses that have the same number, the one that says most comes first. */
static int compare_losses(const void *a, const void *b)
{
    const struct tbed_loss *x = a, *y = b;
    int order = compare_u64(x->kind, y->kind);
    order = order != 0 ? order : compare_u64(x->stream, y->stream);
    order = order != 0 ? order : compare_u64(x->first_sequence, y->first_sequence);
    order = order != 0 ? order : compare_u64(y->count, x->count);
    return order != 0 ? order : compare_u64(y->nbytes, x->nbytes);
}

static void sort(struct tbed_list *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(struct tbed_loss), compare_losses);
}

/* ---- Which blocks are there ---- */

static struct tbed_found *find_place(const struct tbed_recover *recover, uint32_t page, uint32_t cell)
{
    size_t low = 0, high = recover->found.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tbed_found *found = tbed_found_at(recover, middle);
        if (found->page < page || (found->page == page && found->cell < cell))
            low = middle + 1;
        else
            high = middle;
    }
    struct tbed_found *found = low < recover->found.count ? tbed_found_at(recover, low) : NULL;
    return found != NULL && found->page == page && found->cell == cell ? found : NULL;
}

static uint32_t count_cells(const struct tbed_recover *recover, const struct tbed_found *page)
{
    const struct tbed_found *end = tbed_found_at(recover, recover->found.count), *at = page + 1;
    while (at < end && at->page == page->page)
        at++;
    return (uint32_t)(at - page - 1);
}

/* ---- What the directory says ---- */

static struct tbed_loss loss_by_entry(const struct tbed_entry_fields *entry)
{
    bool has_ended = entry->state >= TBED_ENTRY_ENDED;
    return (struct tbed_loss){
        .stream = entry->stream,
        .kind = entry->kind,
        .first_sequence = entry->sequence,
        .count = 1,
        .first_tick = entry->first_tick,
        .last_tick = has_ended ? entry->last_tick : UINT64_MAX,
        .nbytes = entry->used_nbytes,
    };
}

/* Cells that were begun and are gone have no entries of their own. */
static bool look_at_cells(struct tbed_recover *recover, const struct tbed_found *page,
                          const struct tbed_entry_fields *entry)
{
    uint32_t count = count_cells(recover, page);
    if (count >= entry->flags)
        return true;
    struct tbed_loss loss = loss_by_entry(entry);
    loss.count = 0;
    loss.last_tick = UINT64_MAX;
    loss.nbytes = (uint64_t)(entry->flags - count) << page->shift;
    return add(&recover->losses, &loss);
}

/* The block may be incomplete. */
static bool look_at_block(struct tbed_recover *recover, struct tbed_found *found,
                          const struct tbed_entry_fields *entry)
{
    bool is_same =
        found->kind == entry->kind && found->stream == entry->stream && found->sequence == entry->sequence;
    if (!is_same)
        return true;
    if (found->kind == TBED_BLOCK_CELLS)
        return look_at_cells(recover, found, entry);
    if (entry->state < TBED_ENTRY_ENDED || entry->used_nbytes <= found->used_nbytes)
        return true;
    struct tbed_loss loss = loss_by_entry(entry);
    loss.count = 0;
    loss.first_tick = found->last_tick < loss.last_tick ? found->last_tick : loss.last_tick;
    loss.nbytes = entry->used_nbytes - found->used_nbytes;
    found->is_cut = false; /* told here */
    found->is_interrupted = false;
    return add(&recover->losses, &loss);
}

static bool look_at_part(struct tbed_recover *recover, const struct tbed_directory_part *part,
                         uint64_t *unknown)
{
    for (uint32_t i = 0; i < part->count; i++) {
        struct tbed_entry_fields entry;
        uint32_t page = part->first_page + i;
        struct tbed_found *found = find_place(recover, page, 0);
        bool is_valid = tbed_recover_part_entry(recover, part, i, &entry), is_fine = true;
        struct tbed_loss loss = loss_by_entry(&entry);
        if (!is_valid || (entry.state >= TBED_ENTRY_BEGUN && entry.stream == 0))
            *unknown += found == NULL;
        else if (entry.state >= TBED_ENTRY_BEGUN)
            is_fine = found != NULL ? look_at_block(recover, found, &entry) : add(&recover->losses, &loss);
        if (!is_fine)
            return false;
    }
    return true;
}

/* Pages that were claimed, whose entries are gone, and of which no block was found. */
static uint64_t count_unknown(const struct tbed_recover *recover)
{
    const struct tbed_directory_part *parts = recover->directory.items;
    if (!recover->counters_are_good)
        return 0;
    uint64_t claimed = tbed_le64_load(recover->header->page_count), known = 1;
    if (claimed <= 1)
        return 0;
    known += tbed_directory_pages_below(recover->fields.page_nbytes, claimed);
    for (size_t i = 0; i < recover->directory.count; i++) {
        uint64_t end = (uint64_t)parts[i].first_page + parts[i].count;
        end = end < claimed ? end : claimed;
        known += end > parts[i].first_page ? end - parts[i].first_page : 0;
    }
    for (size_t i = 0; i < recover->found.count; i++) {
        const struct tbed_found *found = tbed_found_at(recover, i);
        bool has_part = false;
        for (size_t j = 0; j < recover->directory.count && !has_part; j++)
            has_part =
                found->page >= parts[j].first_page && found->page - parts[j].first_page < parts[j].count;
        known += found->cell == 0 && found->page < claimed && !has_part;
    }
    return claimed > known ? claimed - known : 0;
}

static bool ask_directory(struct tbed_recover *recover)
{
    const struct tbed_directory_part *parts = recover->directory.items;
    uint64_t unknown = count_unknown(recover);
    for (size_t i = 0; i < recover->directory.count; i++)
        if (!look_at_part(recover, &parts[i], &unknown))
            return false;
    struct tbed_loss loss = {
        .count = unknown <= UINT32_MAX ? (uint32_t)unknown : UINT32_MAX,
        .last_tick = UINT64_MAX,
        .nbytes = unknown << recover->page_shift,
    };
    return unknown == 0 || add(&recover->losses, &loss);
}

/* ---- What damaged blocks say ---- */

static struct tbed_loss loss_of(const struct tbed_found *found)
{
    return (struct tbed_loss){
        .stream = found->stream,
        .kind = found->kind,
        .first_sequence = found->sequence,
        .count = 1,
        .first_tick = found->first_tick,
        .last_tick = found->is_sealed ? found->last_tick : UINT64_MAX,
        .nbytes = found->used_nbytes,
    };
}

static bool has_number(const struct tbed_list *numbers, const struct tbed_loss *loss)
{
    const struct tbed_loss *items = numbers->items;
    size_t low = 0, high = numbers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct tbed_loss key = *loss;
        key.count = items[middle].count;
        key.nbytes = items[middle].nbytes;
        int order = compare_losses(&items[middle], &key);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool is_same_block(const struct tbed_found *kept, const struct tbed_found *found)
{
    return kept != NULL && kept->kind == found->kind && kept->stream == found->stream &&
           kept->sequence == found->sequence;
}

/* A block whose number another one has, was not chosen: part of what had that number is lost, unless it was a header alone. */
static bool ask_damaged(struct tbed_recover *recover, const struct tbed_list *damaged,
                        const struct tbed_list *numbers)
{
    const struct tbed_found *items = damaged->items;
    for (size_t i = 0; i < damaged->count; i++) {
        struct tbed_loss loss = loss_of(&items[i]);
        if (is_same_block(find_place(recover, items[i].page, items[i].cell), &items[i]))
            continue;
        loss.count = !has_number(numbers, &loss);
        if (loss.count == 0 && items[i].used_nbytes == TBED_BLOCK_HEADER_NBYTES)
            continue;
        if (!add(&recover->losses, &loss))
            return false;
    }
    return true;
}

static bool ask_cut(struct tbed_recover *recover)
{
    for (size_t i = 0; i < recover->found.count; i++) {
        const struct tbed_found *found = tbed_found_at(recover, i);
        struct tbed_loss loss = loss_of(found);
        loss.count = 0;
        loss.nbytes = 0;
        if (found->is_cut && !add(&recover->losses, &loss))
            return false;
    }
    return true;
}

/* ---- Gaps ---- */

static bool number_blocks(const struct tbed_recover *recover, struct tbed_list *numbers)
{
    for (size_t i = 0; i < recover->found.count; i++) {
        struct tbed_loss number = loss_of(tbed_found_at(recover, i));
        if (!add(numbers, &number))
            return false;
    }
    sort(numbers);
    return true;
}

static bool add_all(struct tbed_list *to, const struct tbed_list *from)
{
    const struct tbed_loss *items = from->items;
    for (size_t i = 0; i < from->count; i++)
        if (!add(to, &items[i]))
            return false;
    return true;
}

/*
 * Numbers below a stream's highest that no block and no loss has, unless they were overwritten.
 */
static bool ask_gaps(struct tbed_recover *recover, struct tbed_list *numbers)
{
    uint64_t expected = 0;
    const struct tbed_loss *before = NULL, *items;
    if (!add_all(numbers, &recover->losses) || !add_all(numbers, &recover->known))
        return false;
    sort(numbers);
    items = numbers->items;
    for (size_t i = 0; i < numbers->count; i++) {
        bool is_next = before != NULL && before->kind == items[i].kind && before->stream == items[i].stream;
        expected = is_next ? expected : 0;
        bool is_gap = items[i].first_sequence > expected && items[i].kind != TBED_BLOCK_NONE &&
                      !(tbed_recover_was_overwritten(recover) && items[i].kind == TBED_BLOCK_EVENTS);
        struct tbed_loss loss = {
            .stream = items[i].stream,
            .kind = items[i].kind,
            .first_sequence = (uint32_t)expected,
            .count = (uint32_t)(items[i].first_sequence - expected),
            .first_tick = is_next ? before->first_tick : 0,
            .last_tick = items[i].first_tick,
        };
        if (is_gap && !add(&recover->losses, &loss))
            return false;
        uint64_t end = (uint64_t)items[i].first_sequence + items[i].count;
        expected = end > expected ? end : expected;
        before = &items[i];
    }
    return true;
}

/* ---- LOST records that are there ---- */

static bool read_known(struct tbed_recover *recover, const struct tbed_found *found)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    tbed_recover_load(recover, found, recover->scratch);
    while (found->used_nbytes - at >= TBED_RECORD_HEAD_NBYTES) {
        uint64_t head = tbed_word_load(recover->scratch + at);
        const struct tbed_disk_lost *lost = (const struct tbed_disk_lost *)(void *)(recover->scratch + at);
        uint64_t detail;
        if (tbed_record_head_check(head, found->used_nbytes - at) != TBED_OK)
            return true;
        bool is_lost = tbed_record_head_type(head) == TBED_RECORD_LOST &&
                       tbed_record_check(recover->scratch + at, head, &detail) == TBED_OK;
        struct tbed_loss loss = {.stream = is_lost ? tbed_le32_load(lost->stream) : 0};
        if (loss.stream != 0) {
            loss.kind = tbed_le32_load(lost->kind);
            loss.first_sequence = tbed_le32_load(lost->first_sequence);
            loss.count = tbed_le32_load(lost->count);
            loss.first_tick = tbed_le64_load(lost->first_tick);
        }
        if (loss.stream != 0 && !add(&recover->known, &loss))
            return false;
        at += tbed_record_head_nbytes(head);
    }
    return true;
}

static bool ask_records(struct tbed_recover *recover)
{
    for (size_t i = 0; i < recover->found.count; i++)
        if (tbed_found_at(recover, i)->kind == TBED_BLOCK_RECORDS &&
            !read_known(recover, tbed_found_at(recover, i)))
            return false;
    return true;
}

/* ---- All ---- */

/* One loss for blocks that follow one another; what is said twice is said once. */
static void merge(struct tbed_list *losses)
{
    struct tbed_loss *items = losses->items;
    size_t count = 0;
    sort(losses);
    for (size_t i = 0; i < losses->count; i++) {
        struct tbed_loss *last = count > 0 ? &items[count - 1] : NULL, next = items[i];
        bool is_same = last != NULL && last->kind == next.kind && last->stream == next.stream;
        uint64_t end = is_same ? (uint64_t)last->first_sequence + last->count : 0;
        bool is_said = is_same && (next.first_sequence < end || next.first_sequence == last->first_sequence);
        bool follows = is_same && next.first_sequence == end && last->count != 0 && next.count != 0 &&
                       (last->nbytes == 0) == (next.nbytes == 0) && end + next.count <= UINT32_MAX;
        if (is_said)
            continue;
        if (!follows) {
            items[count++] = next;
            continue;
        }
        last->count += next.count;
        last->nbytes += next.nbytes;
        last->first_tick = last->first_tick < next.first_tick ? last->first_tick : next.first_tick;
        last->last_tick = last->last_tick > next.last_tick ? last->last_tick : next.last_tick;
    }
    losses->count = count;
}

bool tbed_recover_losses(struct tbed_recover *recover, const struct tbed_list *damaged)
{
    struct tbed_list numbers = {0};
    bool is_fine = number_blocks(recover, &numbers) && ask_records(recover) && ask_directory(recover) &&
                   ask_damaged(recover, damaged, &numbers) && ask_cut(recover) && ask_gaps(recover, &numbers);
    free(numbers.items);
    if (is_fine)
        merge(&recover->losses);
    return is_fine;
}
