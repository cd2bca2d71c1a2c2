/*
 * Of the blocks that were found, one for each place, for each number of a stream, and for each string page.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "writer/copy/recover.h"

/* The better of two for one place, number or string page comes first: what is left of a header may claim any. */
static int rank_of(const struct tbed_found *found)
{
    return (found->is_intact ? 0 : 4) + (found->is_sealed ? 0 : 2) + (found->is_in_place ? 0 : 1);
}

static int compare_places(const void *a, const void *b)
{
    const struct tbed_found *x = a, *y = b;
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    if (rank_of(x) != rank_of(y))
        return rank_of(x) - rank_of(y);
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_quality(const struct tbed_found *x, const struct tbed_found *y)
{
    return rank_of(x) != rank_of(y) ? rank_of(x) - rank_of(y) : compare_places(x, y);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct tbed_found *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return compare_quality(x, y);
}

static bool has_string_page(const struct tbed_found *found)
{
    return found->cell == 0 && (found->kind == TBED_BLOCK_STRINGS || found->kind == TBED_BLOCK_CELLS);
}

static int compare_string_pages(const void *a, const void *b)
{
    const struct tbed_found *x = a, *y = b;
    if (has_string_page(x) != has_string_page(y))
        return has_string_page(x) ? -1 : 1;
    if (has_string_page(x) && x->string_page != y->string_page)
        return x->string_page < y->string_page ? -1 : 1;
    return has_string_page(x) ? compare_quality(x, y) : compare_places(a, b);
}

static void sort_found(struct tbed_recover *recover, int (*compare)(const void *a, const void *b))
{
    if (recover->found.count > 0)
        qsort(recover->found.items, recover->found.count, sizeof(struct tbed_found), compare);
}

/* Keeps those for which 'choose' is true, given what was kept before; the others become 'damaged'. False: no memory. */
static bool keep_if(struct tbed_recover *recover, struct tbed_list *damaged,
                    bool (*choose)(const struct tbed_found *before, const struct tbed_found *found))
{
    const struct tbed_found *before = NULL;
    size_t count = 0;
    for (size_t i = 0; i < recover->found.count; i++) {
        struct tbed_found found = *tbed_found_at(recover, i);
        if (choose(before, &found)) {
            *tbed_found_at(recover, count) = found;
            before = tbed_found_at(recover, count++);
            continue;
        }
        struct tbed_found *item = tbed_list_push(damaged, sizeof *item);
        if (item == NULL)
            return false;
        *item = found;
    }
    recover->found.count = count;
    return true;
}

/* ---- One for each place ---- */

static bool has_other_place(const struct tbed_found *before, const struct tbed_found *found)
{
    return before == NULL || before->page != found->page || before->cell != found->cell;
}

static bool is_intact(const struct tbed_found *before, const struct tbed_found *found)
{
    (void)before;
    return found->is_intact;
}

/* ---- Cells ---- */

static struct tbed_found cells_page_for(const struct tbed_recover *recover, const struct tbed_found *cell)
{
    struct tbed_entry_fields entry;
    struct tbed_found page = {
        .offset = UINT64_MAX,
        .page = cell->page,
        .kind = TBED_BLOCK_CELLS,
        .shift = cell->shift,
        .stream = cell->stream,
        .sequence = UINT32_MAX,
        .string_page = cell->kind == TBED_BLOCK_STRINGS ? cell->string_page : UINT32_MAX,
        .used_nbytes = TBED_COPY_USED_NBYTES,
        .first_tick = cell->first_tick,
        .last_tick = cell->first_tick,
        .is_intact = true,
        .is_sealed = true,
    };
    if (!tbed_recover_entry(recover, cell->page, &entry) || entry.kind != TBED_BLOCK_CELLS)
        return page;
    page.stream = entry.stream;
    page.sequence = entry.sequence;
    bool is_possible = entry.string_page < (UINT64_C(1) << 32) >> recover->page_shift;
    page.string_page = is_possible ? entry.string_page : page.string_page;
    page.first_tick = page.last_tick = entry.first_tick;
    return page;
}

/* Gives cells whose page has lost its header a new one. The ordinal is that of a cell with strings. */
static bool add_cells_pages(struct tbed_recover *recover)
{
    size_t count = recover->found.count;
    for (size_t i = 0, end; i < count; i = end) {
        uint32_t page = tbed_found_at(recover, i)->page;
        struct tbed_found made = cells_page_for(recover, tbed_found_at(recover, i));
        for (end = i; end < count && tbed_found_at(recover, end)->page == page; end++) {
            const struct tbed_found *cell = tbed_found_at(recover, end);
            if (made.string_page == UINT32_MAX && cell->kind == TBED_BLOCK_STRINGS)
                made.string_page = cell->string_page;
        }
        if (tbed_found_at(recover, i)->cell == 0)
            continue;
        struct tbed_found *item = tbed_list_push(&recover->found, sizeof *item);
        if (item == NULL)
            return false;
        *item = made;
    }
    sort_found(recover, compare_places);
    return true;
}

/* Cells come after the page that they are in, which was kept before. */
static void mark_strays(struct tbed_recover *recover)
{
    const struct tbed_found *page = NULL;
    for (size_t i = 0; i < recover->found.count; i++) {
        struct tbed_found *found = tbed_found_at(recover, i);
        if (found->cell == 0)
            page = found;
        else
            found->is_intact = page != NULL && page->page == found->page && page->is_intact &&
                               page->kind == TBED_BLOCK_CELLS && page->shift == found->shift &&
                               (found->kind != TBED_BLOCK_STRINGS || page->string_page == found->string_page);
    }
}

/* ---- One for each number, and for each string page ---- */

/* Cells pages that were made anew, and of which no entry says the number, take the lowest that are free. */
static void number_cells_pages(struct tbed_recover *recover)
{
    sort_found(recover, compare_numbers);
    for (size_t i = 0, end; i < recover->found.count; i = end) {
        uint32_t kind = tbed_found_at(recover, i)->kind, stream = tbed_found_at(recover, i)->stream, next = 0;
        size_t used = i;
        for (end = i; end < recover->found.count; end++) {
            struct tbed_found *found = tbed_found_at(recover, end);
            if (found->kind != kind || found->stream != stream)
                break;
            if (found->offset != UINT64_MAX || found->sequence != UINT32_MAX)
                continue;
            while (used < end && tbed_found_at(recover, used)->sequence <= next)
                next += tbed_found_at(recover, used++)->sequence == next;
            found->sequence = next++;
        }
    }
}

static uint32_t next_string_page(const struct tbed_recover *recover)
{
    uint32_t next = 0;
    for (size_t i = 0; i < recover->found.count; i++) {
        const struct tbed_found *found = tbed_found_at(recover, i);
        if (has_string_page(found) && found->string_page != UINT32_MAX && found->string_page >= next)
            next = found->string_page + 1;
    }
    return next;
}

/* Cells pages without strings get an ordinal that nothing refers to, if there is one. */
static void number_string_pages(struct tbed_recover *recover)
{
    uint64_t next = next_string_page(recover), end = (UINT64_C(1) << 32) >> recover->page_shift;
    for (size_t i = 0; i < recover->found.count; i++) {
        struct tbed_found *found = tbed_found_at(recover, i);
        if (!has_string_page(found) || found->string_page != UINT32_MAX)
            continue;
        found->is_intact = next < end;
        found->string_page = next < end ? (uint32_t)next++ : found->string_page;
    }
}

static bool has_other_number(const struct tbed_found *before, const struct tbed_found *found)
{
    return before == NULL || before->kind != found->kind || before->stream != found->stream ||
           before->sequence != found->sequence;
}

static bool is_no_second_cells_page(const struct tbed_found *before, const struct tbed_found *found)
{
    return found->kind != TBED_BLOCK_CELLS || has_other_number(before, found);
}

static bool has_other_string_page(const struct tbed_found *before, const struct tbed_found *found)
{
    return before == NULL || !has_string_page(found) || before->string_page != found->string_page;
}

/* Pages come first: cells that go with their page must not stand in for others. */
bool tbed_recover_choose(struct tbed_recover *recover, struct tbed_list *damaged)
{
    sort_found(recover, compare_places);
    if (!keep_if(recover, damaged, has_other_place) || !keep_if(recover, damaged, is_intact) ||
        !add_cells_pages(recover))
        return false;
    number_string_pages(recover);
    number_cells_pages(recover);
    if (!keep_if(recover, damaged, is_no_second_cells_page))
        return false;
    sort_found(recover, compare_string_pages);
    if (!keep_if(recover, damaged, has_other_string_page))
        return false;
    sort_found(recover, compare_places);
    mark_strays(recover);
    if (!keep_if(recover, damaged, is_intact))
        return false;
    sort_found(recover, compare_numbers);
    if (!keep_if(recover, damaged, has_other_number))
        return false;
    sort_found(recover, compare_places);
    return true;
}
