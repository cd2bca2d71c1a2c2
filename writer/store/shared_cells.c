/*
 * Cells: small blocks that share a page, taken one by one by all processes that append to the file.
 *
 * The header page says which page has free cells, and which is the next. A process takes it by one compare-and-swap. When
 * there is none left, it begins another page of cells, and offers the rest of it to all. If another process was faster,
 * it keeps that rest for itself. A process that is killed between taking a cell and beginning it leaves it unused. Taking
 * a cell needs no lock; a page is begun under one. The last few cells are left to signal handlers, whose thread may be
 * about to begin the next page just then; so is what is left of them once it has, so that no number is missing among the
 * pages that a killed process leaves.
 *
 * Source: spec/format.md, sections 3.2, 4.1 and 5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"
#include "writer/base/shared_words.h"
#include "writer/pages/pages.h"
#include "writer/store/entries.h"

uint32_t tbed_cell_nbytes(uint32_t page_nbytes)
{
    uint32_t largest = page_nbytes / 8;
    uint32_t nbytes = 1u << TBED_CELL_SHIFT_DEFAULT;
    return nbytes < largest ? nbytes : largest;
}

static uint32_t cells_in_page(const struct tbed_store *store)
{
    return store->file.page_nbytes / tbed_cell_nbytes(store->file.page_nbytes);
}

/* How many cells are left for signal handlers while another page is begun. Nothing interrupts an import. */
static uint32_t reserve_of(const struct tbed_store *store, bool is_for_handlers)
{
    bool has_handlers = __atomic_load_n(&store->cells.has_handlers, __ATOMIC_RELAXED);
    uint32_t eighth = cells_in_page(store) / 8;
    return is_for_handlers || store->file.clock.is_given ? 0 : has_handlers ? 7 * eighth : eighth;
}

uint32_t tbed_early_cell_count(const struct tbed_store *store)
{
    return cells_in_page(store);
}

bool tbed_has_spare_cells(const struct tbed_store *store)
{
    uint64_t half = ((uint64_t)1 << 31) >> store->file.page_shift;
    return tbed_shared_load(&tbed_shared(&store->file)->next_string_page) < half;
}

/*
 * The string space has 2^32 bytes; an ordinal beyond its end would name the strings of another page. The page is
 * claimed first, so that a full disk does not use up ordinals.
 */
uint8_t *tbed_string_page_claim(struct tbed_store *store, uint32_t *ordinal_ret,
                                enum tbed_drop_cause *cause_ret)
{
    uint64_t limit = ((uint64_t)1 << 32) >> store->file.page_shift;
    tbed_le64 *next = &tbed_shared(&store->file)->next_string_page;
    uint64_t ordinal = tbed_shared_load(next);
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    if (ordinal >= limit)
        return NULL;
    uint8_t *page = tbed_page_claim(&store->file, cause_ret);
    if (page == NULL)
        return NULL;
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    do {
        if (ordinal >= limit) /* other processes took the last ones; the page stays zero */
            return NULL;
    } while (!tbed_shared_swap(next, &ordinal, ordinal + 1));
    *ordinal_ret = (uint32_t)ordinal;
    return page;
}

/* ---- What may be taken: the word in the header page, or one of this process alone ---- */

struct offer {
    uint32_t page, next, shift;
};

static struct offer offer_of(uint64_t word)
{
    return (struct offer){(uint32_t)word, word >> 32 & 0xFFFF, (uint32_t)(word >> 48)};
}

static uint64_t offer_word(uint32_t page, uint32_t next, uint32_t shift)
{
    return (uint64_t)shift << 48 | (uint64_t)next << 32 | page;
}

static uint32_t cell_shift(const struct tbed_store *store)
{
    return (uint32_t)__builtin_ctz(tbed_cell_nbytes(store->file.page_nbytes));
}

/*
 * Whether there is a cell to take. The word is not trusted more than the file's other bytes: the page is one that is
 * claimed and mapped, and its entry says that it has cells.
 */
static bool is_usable(const struct tbed_store *store, const struct offer *offer, uint32_t reserve,
                      struct tbed_entry_fields *entry_ret)
{
    const struct tbed_file *file = &store->file;
    uint64_t claimed = tbed_shared_load(&tbed_shared(file)->page_count);
    if (offer->shift != cell_shift(store) || offer->next == 0 ||
        offer->next >= cells_in_page(store) - reserve || offer->page <= file->fields.ring_page_count ||
        offer->page >= claimed || offer->page >= file->map_nbytes >> file->page_shift ||
        tbed_directory_has_page(file->page_nbytes, offer->page))
        return false;
    *entry_ret = tbed_entry_load(file->map + tbed_directory_entry_offset(file->page_nbytes, offer->page));
    return entry_ret->is_valid && entry_ret->state == TBED_ENTRY_SEALED &&
           entry_ret->kind == TBED_BLOCK_CELLS &&
           entry_ret->string_page < ((uint64_t)1 << 32) >> file->page_shift;
}

/*
 * A file that was joined may have a block in a cell whose taking was lost in a power cut: such a cell is passed over. The
 * page is touched by a store that changes nothing, since a load would cost a second fault.
 */
static bool is_free(const struct tbed_file *file, uint32_t page, uint8_t *cell, uint32_t nbytes)
{
    tbed_word zero = 0;
    if (page >= file->growth.found_pages)
        return true;
    __atomic_compare_exchange_n((tbed_word *)(void *)cell, &zero, 0, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return tbed_bytes_are_zero(cell, nbytes);
}

/* NULL: there are none but the 'reserve'; '*word_ret' is what 'from' says then. */
static uint8_t *take(struct tbed_store *store, tbed_le64 *from, uint32_t reserve, uint32_t *string_page_ret,
                     uint64_t *word_ret)
{
    struct tbed_file *file = &store->file;
    struct tbed_entry_fields entry;
    uint64_t word = tbed_shared_load(from);
    for (;;) {
        struct offer offer = offer_of(word);
        *word_ret = word;
        if (!is_usable(store, &offer, reserve, &entry))
            return NULL;
        uint64_t rest = offer_word(offer.page, offer.next + 1, offer.shift);
        if (!tbed_shared_swap(from, &word, rest))
            continue;
        uint8_t *cell =
            file->map + ((uint64_t)offer.page << file->page_shift) + ((uint64_t)offer.next << offer.shift);
        *string_page_ret = entry.string_page;
        if (is_free(file, offer.page, cell, 1u << offer.shift))
            return cell;
        word = rest;
    }
}

/* ---- Another page ---- */

/* The page is sealed from the start. As for every block, the first word is stored last. */
static uint8_t *cells_page_begin(struct tbed_store *store, uint64_t tick, uint32_t *string_page_ret,
                                 enum tbed_drop_cause *cause_ret)
{
    uint8_t *page = tbed_string_page_claim(store, string_page_ret, cause_ret);
    if (page == NULL)
        return NULL;
    struct tbed_block_start start = {
        .kind = TBED_BLOCK_CELLS,
        .stream = store->file.process.stream,
        .sequence = store->cells.sequence++,
        .string_page = *string_page_ret,
        .tick = tick,
    };
    tbed_block_begin(&store->file, page, tbed_cell_nbytes(store->file.page_nbytes), &start);
    return page;
}

uint8_t *tbed_cells_page(const struct tbed_store *store)
{
    uint32_t page = (uint32_t)tbed_shared_load(&store->cells.own);
    return page != 0 ? store->file.map + ((uint64_t)page << store->file.page_shift) : NULL;
}

void tbed_cells_set(struct tbed_store *store, uint64_t offset, uint32_t next, uint32_t sequence)
{
    uint64_t page = offset >> store->file.page_shift;
    uint64_t word = page != 0 ? offer_word((uint32_t)page, next, cell_shift(store)) : 0;
    tbed_word_store(&store->cells.own, word);
    store->cells.sequence = sequence;
}

struct words { /* what was found */
    uint64_t own, shared;
};

/* No other process appends to the file of a series: it keeps its cells, and carries them to the next file. */
static uint8_t *take_any(struct tbed_store *store, bool is_for_handlers, uint32_t *string_page_ret,
                         struct words *words_ret)
{
    struct tbed_file *file = &store->file;
    uint32_t reserve = reserve_of(store, is_for_handlers);
    uint8_t *cell =
        take(store, &store->cells.own, file->is_in_series ? reserve : 0, string_page_ret, &words_ret->own);
    if (cell == NULL && !file->is_in_series)
        cell = take(store, &tbed_shared(file)->free_cells, reserve, string_page_ret, &words_ret->shared);
    return cell;
}

uint8_t *tbed_cell_take(struct tbed_store *store)
{
    struct words words;
    uint32_t string_page;
    const struct tbed_live *live = store->file.live;
    bool is_for_handlers = tbed_lock_is_mine(&live->state_lock) || tbed_lock_is_mine(&live->grow_lock);
    return store->file.process.stream != 0 ? take_any(store, is_for_handlers, &string_page, &words) : NULL;
}

/* If both words were changed by others meanwhile, the rest of the page stays unused. */
uint8_t *tbed_cell_claim(struct tbed_store *store, uint64_t tick, uint32_t *string_page_ret,
                         enum tbed_drop_cause *cause_ret)
{
    struct tbed_file *file = &store->file;
    struct words words;
    *cause_ret = TBED_DROP_IDS_EXHAUSTED;
    if (file->process.stream == 0)
        return NULL;
    uint8_t *cell = take_any(store, tbed_lock_is_mine(&file->live->grow_lock), string_page_ret, &words);
    if (cell != NULL)
        return cell;
    uint8_t *page = cells_page_begin(store, tick, string_page_ret, cause_ret);
    if (page == NULL)
        return NULL;
    uint64_t number = (uint64_t)(page - file->map) >> file->page_shift;
    uint64_t rest = offer_word((uint32_t)number, 2, cell_shift(store));
    if (!file->is_in_series) {
        uint64_t reserve = words.shared;
        if (tbed_shared_swap(&tbed_shared(file)->free_cells, &words.shared, rest))
            rest = reserve; /* nobody else has it any more */
    }
    tbed_shared_swap(&store->cells.own, &words.own, rest);
    return page + tbed_cell_nbytes(file->page_nbytes);
}
