/*
 * Copying the blocks of a trace into another file, while threads may be recording into the first: new places, numbers
 * and checksums.
 *
 * Not here: which file, and up to which moment (snapshot.c); what else a rotation needs (carry.c).
 *
 * Source: spec/format.md, sections 4 and 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/block.h"
#include "format/checksum.h"
#include "format/event.h"
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/copy/copy.h"
#include "writer/pages/pages.h"

const struct tbed_disk_header *tbed_copy_source_header(const struct tbed_copy *copy)
{
    return (const struct tbed_disk_header *)(const void *)copy->map;
}

static bool keep(struct tbed_copy *copy, const struct tbed_kept_block *kept)
{
    if (copy->kept_count == copy->kept_room) {
        size_t room = copy->kept_room == 0 ? 1024 : 2 * copy->kept_room;
        struct tbed_kept_block *grown = tbed_pages_alloc(room * sizeof *grown);
        if (grown == NULL)
            return false;
        if (copy->kept != NULL) {
            memcpy(grown, copy->kept, copy->kept_count * sizeof *grown);
            tbed_pages_free(copy->kept, copy->kept_room * sizeof *grown);
        }
        copy->kept = grown;
        copy->kept_room = room;
    }
    copy->kept[copy->kept_count++] = *kept;
    return true;
}

/* ---- One block ---- */

/*
 * Returns the end of the events up to the cut, and the latest tick among them. If there is damage before the cut,
 * keeps everything, for readers to report.
 */
static uint32_t cut_events(const uint8_t *block, uint32_t used_nbytes, uint64_t cut_tick,
                           uint64_t *last_tick_ret)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    uint32_t nbytes = 1u << fields.shift;
    const uint64_t *at =
        (const uint64_t *)(const void *)(block + tbed_block_words_offset(nbytes, fields.depth));
    const uint64_t *end = (const uint64_t *)(const void *)(block + used_nbytes);
    uint64_t base = fields.first_tick, last_of_all = *last_tick_ret;
    *last_tick_ret = base;
    while (at < end) {
        size_t nwords;
        uint64_t word = tbed_word_load(at);
        if (word == 0 || tbed_event_check(word, at, end, &nwords) != TBED_OK) {
            *last_tick_ret = last_of_all;
            return used_nbytes;
        }
        uint64_t tick = base + tbed_event_delta(word);
        if (tbed_event_tag(word) == TBED_TAG_TIME)
            base += tbed_event_time_ticks(word);
        else if (tick > cut_tick)
            break;
        else if (tick > *last_tick_ret)
            *last_tick_ret = tick;
        at += nwords;
    }
    return (uint32_t)((const uint8_t *)at - block);
}

/*
 * Finds where the content of the copied block ends. False: the block is damaged. A cells page is kept even if what
 * follows its header is damaged.
 */
static bool find_end(struct tbed_copy *copy, const uint8_t *block, const struct tbed_block_fields *fields,
                     struct tbed_kept_block *kept)
{
    struct tbed_block_scan scan;
    kept->used_nbytes = fields->used_nbytes;
    kept->last_tick = fields->last_tick;
    if (fields->used_nbytes != 0) {
        enum tbed_status status = tbed_block_content_check(block, fields, kept->nbytes, false);
        bool is_tail_of_cells = status == TBED_ERR_BLOCK_TAIL && fields->kind == TBED_BLOCK_CELLS;
        copy->left_out_count += is_tail_of_cells;
        if (status != TBED_OK && !is_tail_of_cells)
            return false;
    } else {
        enum tbed_status status =
            tbed_block_scan(block, kept->nbytes, (enum tbed_block_kind)fields->kind, &scan);
        /* Damage stays, for readers to report. */
        kept->used_nbytes = status == TBED_OK ? scan.end_nbytes : kept->nbytes;
        kept->last_tick = scan.last_tick;
    }
    if (fields->kind == TBED_BLOCK_EVENTS && kept->last_tick > copy->cut_tick)
        kept->used_nbytes = cut_events(block, kept->used_nbytes, copy->cut_tick, &kept->last_tick);
    return true;
}

static void words_copy(uint8_t *to, const uint8_t *from, uint32_t nbytes)
{
    for (uint32_t i = 0; i < nbytes; i += 8) {
        uint64_t word = tbed_raw_word_load(from + i);
        memcpy(to + i, &word, sizeof word);
    }
}

#define ORDINALS_NBYTES (((uint64_t)1 << 32) / TBED_PAGE_NBYTES_MIN / 8)

/*
 * The bit of the page's ordinal, 0 if it has none; the header has been checked. Of two pages with the same ordinal the
 * later is damaged, unless the first is.
 */
static uint8_t ordinal_bit(const struct tbed_block_fields *fields, const struct tbed_block_place *place)
{
    bool has_one = fields->kind == TBED_BLOCK_CELLS || fields->kind == TBED_BLOCK_STRINGS;
    uint32_t bit = has_one && place->cell == 0 ? 1u << fields->string_page % 8 : 0;
    return (uint8_t)bit;
}

enum copied { COPIED, NOT_THERE, LATE, DAMAGED };

/* How many pages may be given to other blocks while they are copied. */
static uint64_t reused_page_count(const struct tbed_copy *copy)
{
    bool is_shut = tbed_word32_load(&tbed_copy_source_header(copy)->state) == TBED_STATE_SHUT;
    return is_shut ? 0 : copy->fields.ring_page_count;
}

static struct tbed_block_fields source_load(const struct tbed_copy *copy, const uint8_t *from,
                                            const struct tbed_block_place *place)
{
    return place->cell != 0
               ? tbed_block_load(from)
               : tbed_page_load(copy->map, place->page_nbytes, reused_page_count(copy), place->page);
}

/* Does a reader look for another block in the page than the one with this header, and so lose both? */
static bool is_other(const struct tbed_copy *copy, const struct tbed_block_place *place,
                     const struct tbed_entry_fields *entry, const struct tbed_block_fields *fields)
{
    uint32_t field;
    uint64_t detail;
    if (entry == NULL || !copy->believes_entries || entry->state != TBED_ENTRY_SEALED ||
        entry->used_nbytes == 0 || entry->kind == TBED_BLOCK_CELLS)
        return false;
    struct tbed_block_fields expected =
        tbed_entry_block(entry, place->file_id, place->page, (uint32_t)__builtin_ctz(place->page_nbytes));
    bool is_same = fields->kind == expected.kind && fields->stream == expected.stream &&
                   fields->sequence == expected.sequence &&
                   (fields->kind != TBED_BLOCK_STRINGS || fields->string_page == expected.string_page);
    return !is_same && tbed_block_header_check(&expected, place, &field, &detail) == TBED_OK;
}

/* Copies to 'to', which is zero and stays so if nothing is copied. 'entry' is NULL if the page has none. */
static enum copied copy_whole(struct tbed_copy *copy, const uint8_t *from, uint8_t *to,
                              const struct tbed_block_place *place, const struct tbed_entry_fields *entry,
                              struct tbed_kept_block *kept)
{
    struct tbed_block_fields fields = source_load(copy, from, place);
    struct tbed_block_place now = *place;
    uint32_t field;
    uint64_t detail;
    now.next_stream = tbed_shared_load(&tbed_copy_source_header(copy)->next_stream);
    now.next_string_page = tbed_shared_load(&tbed_copy_source_header(copy)->next_string_page);
    if (fields.kind == TBED_BLOCK_NONE)
        return NOT_THERE;
    if (tbed_block_header_check(&fields, &now, &field, &detail) != TBED_OK ||
        is_other(copy, &now, entry, &fields))
        return DAMAGED;
    uint8_t bit = ordinal_bit(&fields, place), *bits = &copy->ordinals[bit != 0 ? fields.string_page / 8 : 0];
    if (*bits & bit)
        return DAMAGED;
    if (copy->strings_only && fields.kind != TBED_BLOCK_STRINGS && fields.kind != TBED_BLOCK_CELLS)
        return NOT_THERE;
    kept->nbytes = fields.kind == TBED_BLOCK_CELLS ? 1u << fields.shift : place->nbytes;
    kept->kind = fields.kind;
    kept->stream = fields.stream;
    kept->sequence = fields.sequence;
    kept->is_late = fields.kind == TBED_BLOCK_EVENTS && fields.first_tick > copy->cut_tick;
    if (kept->is_late)
        return LATE;
    words_copy(to, from, kept->nbytes);
    struct tbed_block_fields after = source_load(copy, from, place);
    if (after.kind != fields.kind || after.generation != fields.generation)
        return NOT_THERE; /* the ring gave the page to another thread meanwhile */
    if (!find_end(copy, to, &fields, kept))
        return DAMAGED;
    *bits |= bit;
    return COPIED;
}

/* The entry of a page that was begun, and that no writer takes away. Loaded before the page, which comes first. */
static bool entry_load(const struct tbed_copy *copy, uint64_t page, struct tbed_entry_fields *entry_ret)
{
    if (page <= copy->fields.ring_page_count)
        return false;
    *entry_ret = tbed_entry_load(copy->map + tbed_directory_entry_offset(copy->fields.page_nbytes, page));
    return entry_ret->is_valid && entry_ret->state >= TBED_ENTRY_BEGUN && entry_ret->stream != 0;
}

static bool note_loss(struct tbed_copy *copy, const struct tbed_block_fields *fields, uint64_t source_offset)
{
    const struct tbed_disk_header *header = tbed_copy_source_header(copy);
    bool is_known = fields->kind >= TBED_BLOCK_EVENTS && fields->kind <= TBED_BLOCK_CELLS &&
                    fields->stream != 0 && fields->stream < tbed_shared_load(&header->next_stream);
    struct tbed_kept_block lost = {
        .offset = UINT64_MAX,
        .source_offset = source_offset,
        .last_tick = fields->used_nbytes != 0 ? fields->last_tick : UINT64_MAX,
        .used_nbytes = fields->used_nbytes,
        .kind = fields->kind,
        .stream = fields->stream,
        .sequence = fields->sequence,
        .is_late = fields->kind == TBED_BLOCK_EVENTS && fields->first_tick > copy->cut_tick,
        .is_lost = true,
        .first_tick = fields->first_tick,
    };
    copy->left_out_count++;
    if (!copy->tells_losses)
        return true;
    copy->unknown_count += !is_known;
    return !is_known || keep(copy, &lost);
}

/* What is known of a block that was not copied: from its page's entry, or else from its own header. */
static bool note_damaged(struct tbed_copy *copy, const uint8_t *from, const struct tbed_block_place *place,
                         const struct tbed_entry_fields *entry)
{
    struct tbed_block_fields fields = tbed_block_load(from);
    if (entry != NULL)
        fields = tbed_entry_block(entry, place->file_id, place->page, 0);
    return note_loss(copy, &fields, (uint64_t)(from - copy->map));
}

/* False: no memory. '*kind_ret' is NONE if nothing was copied. */
static bool copy_block(struct tbed_copy *copy, const uint8_t *from, uint8_t *to,
                       const struct tbed_block_place *place, uint32_t *kind_ret)
{
    struct tbed_entry_fields entry;
    bool has_entry = place->cell == 0 && entry_load(copy, place->page, &entry);
    struct tbed_kept_block kept = {.offset = (uint64_t)(to - copy->out),
                                   .source_offset = (uint64_t)(from - copy->map),
                                   .nbytes = place->nbytes};
    enum copied copied = copy_whole(copy, from, to, place, has_entry ? &entry : NULL, &kept);
    *kind_ret = TBED_BLOCK_NONE;
    if (copied != COPIED) {
        memset(to, 0, place->nbytes);
        bool is_gone = copied == NOT_THERE && has_entry && copy->tells_losses && *from == TBED_BLOCK_NONE;
        if (copied == DAMAGED || is_gone)
            return note_damaged(copy, from, place, has_entry ? &entry : NULL);
        return copied != LATE || keep(copy, &kept);
    }
    struct tbed_disk_block *header = (struct tbed_disk_block *)(void *)to;
    memset(to + kept.used_nbytes, 0, kept.nbytes - kept.used_nbytes);
    header->page = tbed_le32_make((uint32_t)(kept.offset / copy->fields.page_nbytes));
    header->file_id = tbed_le64_make(copy->file_id);
    header->generation = tbed_le32_make(0);
    *kind_ret = kept.kind;
    return keep(copy, &kept);
}

static bool copy_cells(struct tbed_copy *copy, const uint8_t *from, uint8_t *to,
                       struct tbed_block_place *place)
{
    struct tbed_block_fields fields = tbed_block_load(to);
    uint32_t kind;
    place->nbytes = 1u << fields.shift;
    place->cells_string_page = fields.string_page;
    for (place->cell = 1; place->cell < place->page_nbytes / place->nbytes; place->cell++) {
        size_t offset = (size_t)place->cell * place->nbytes;
        if (!copy_block(copy, from + offset, to + offset, place, &kind))
            return false;
    }
    return true;
}

/* When copying strings only, drops a page without any. False: no memory. */
static bool copy_cells_page(struct tbed_copy *copy, const uint8_t *from, uint8_t *to,
                            struct tbed_block_place *place)
{
    size_t kept_count = copy->kept_count;
    if (!copy_cells(copy, from, to, place))
        return false;
    if (copy->strings_only && copy->kept_count == kept_count && place->page != copy->cells_page) {
        memset(to, 0, TBED_COPY_USED_NBYTES);
        copy->kept_count--;
        copy->out_page_count--;
    }
    return true;
}

uint64_t tbed_copy_page_next(struct tbed_copy *copy)
{
    copy->out_page_count += tbed_directory_has_page(copy->fields.page_nbytes, copy->out_page_count);
    return copy->out_page_count++;
}

static bool copy_page(struct tbed_copy *copy, uint64_t page)
{
    uint32_t page_nbytes = copy->fields.page_nbytes, kind;
    if (tbed_directory_has_page(page_nbytes, page))
        return true;
    uint64_t out_page = tbed_copy_page_next(copy);
    const uint8_t *from = copy->map + page * page_nbytes;
    uint8_t *to = copy->out + out_page * page_nbytes;
    struct tbed_block_place place = {
        .file_id = copy->fields.file_id,
        .page_nbytes = page_nbytes,
        .page = (uint32_t)page,
        .nbytes = page_nbytes,
    };
    if (!copy_block(copy, from, to, &place, &kind))
        return false;
    if (kind == TBED_BLOCK_NONE) {
        copy->out_page_count = out_page;
        return true;
    }
    if (copy->moved != NULL)
        copy->moved[page] = (uint32_t)out_page;
    return kind != TBED_BLOCK_CELLS || copy_cells_page(copy, from, to, &place);
}

/* A page of events, which belongs in a ring, or one that is empty. */
static bool is_of_ring(const struct tbed_copy *copy, uint64_t page)
{
    struct tbed_block_fields fields =
        tbed_page_load(copy->map, copy->fields.page_nbytes, reused_page_count(copy), page);
    return fields.kind == TBED_BLOCK_EVENTS || fields.kind == TBED_BLOCK_NONE;
}

/* A writer that left the file closed protected the entries; those of an open file are believed as they are. */
static bool are_entries_believed(const struct tbed_copy *copy)
{
    const struct tbed_disk_header *header = tbed_copy_source_header(copy);
    return tbed_word32_load(&header->state) != TBED_STATE_SHUT ||
           tbed_word_load(&header->closing_checksum) ==
               tbed_closing_checksum(header, copy->map, copy->fields.page_nbytes, copy->page_count);
}

/*
 * Copies a ring starting with its oldest page, ahead of the threads that take pages. Everything else follows in file
 * order, including pages that do not belong in a ring: of two pages with the same ordinal the first counts.
 */
bool tbed_copy_pages(struct tbed_copy *copy)
{
    copy->believes_entries = are_entries_believed(copy);
    if (copy->ordinals == NULL)
        copy->ordinals = tbed_pages_alloc(ORDINALS_NBYTES);
    else
        memset(copy->ordinals, 0, ORDINALS_NBYTES);
    if (copy->ordinals == NULL)
        return false;
    uint64_t ring = copy->fields.ring_page_count;
    uint64_t given = tbed_shared_load(&tbed_copy_source_header(copy)->ring_pages_given);
    for (uint64_t i = 0; i < ring; i++)
        if (is_of_ring(copy, 1 + (given + i) % ring) && !copy_page(copy, 1 + (given + i) % ring))
            return false;
    for (uint64_t page = 1; page < copy->page_count; page++)
        if ((page > ring || !is_of_ring(copy, page)) && !copy_page(copy, page))
            return false;
    return true;
}

/* ---- All blocks ---- */

/* Cells pages, the last kind, come first. */
static bool comes_before(const struct tbed_kept_block *x, const struct tbed_kept_block *y)
{
    if (x->kind != y->kind)
        return x->kind > y->kind;
    if (x->stream != y->stream)
        return x->stream < y->stream;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence;
    if (x->is_lost != y->is_lost)
        return y->is_lost;
    return x->source_offset < y->source_offset;
}

/* Moves the block at 'at' down the heap, whose latest block is at 0. */
static void sift_down(struct tbed_kept_block *kept, size_t at, size_t count)
{
    struct tbed_kept_block moving = kept[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(&kept[child], &kept[child + 1]))
            child++;
        if (!comes_before(&moving, &kept[child]))
            break;
        kept[at] = kept[child];
    }
    kept[at] = moving;
}

/* Not qsort(), which may call malloc(), and a rotation may run inside malloc(). */
static void sort_kept(struct tbed_kept_block *kept, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(kept, i, count);
    for (size_t end = count; end-- > 1;) {
        struct tbed_kept_block latest = kept[0];
        kept[0] = kept[end];
        kept[end] = latest;
        sift_down(kept, 0, end);
    }
}

static bool is_same(const struct tbed_kept_block *a, const struct tbed_kept_block *b)
{
    return a->kind == b->kind && a->stream == b->stream && a->sequence == b->sequence;
}

/*
 * Of two blocks with the same identity the later in the source is damaged, even if the first was too late to be
 * copied. A cells page takes its cells with it.
 */
static void leave_out_second(struct tbed_copy *copy)
{
    struct tbed_kept_block *kept = copy->kept, before = {.kind = TBED_BLOCK_NONE};
    size_t count = 0;
    for (size_t i = 0; i < copy->kept_count; i++) {
        struct tbed_kept_block block = kept[i];
        uint64_t in_page = block.offset % copy->fields.page_nbytes; /* not of a lost one */
        bool is_first = !is_same(&before, &block);
        before = block;
        if (block.is_late || (block.is_lost && !is_first))
            continue;
        if (block.is_lost) {
            kept[count++] = block;
            continue;
        }
        if (is_first && copy->out[block.offset - in_page] != TBED_BLOCK_NONE) {
            kept[count++] = block;
            continue;
        }
        memset(copy->out + block.offset, 0, block.nbytes);
        copy->left_out_count++;
    }
    copy->kept_count = count;
}

/*
 * Returns the end of the blocks of one kind and stream that begin with 'first'; '*run_ret' is the end of the last gap
 * among them.
 */
static size_t stream_end(const struct tbed_copy *copy, size_t first, size_t *run_ret)
{
    const struct tbed_kept_block *kept = copy->kept;
    size_t at = first + 1;
    *run_ret = first;
    for (;
         at < copy->kept_count && kept[at].kind == kept[first].kind && kept[at].stream == kept[first].stream;
         at++)
        if (kept[at].sequence != kept[at - 1].sequence + 1)
            *run_ret = at;
    return at;
}

static void finish_block(struct tbed_copy *copy, struct tbed_kept_block *kept, uint32_t sequence)
{
    kept->sequence = sequence;
    if (kept->is_lost)
        return;
    uint8_t *block = copy->out + kept->offset;
    ((struct tbed_disk_block *)(void *)block)->sequence = tbed_le32_make(sequence);
    if (kept->kind == TBED_BLOCK_CELLS)
        memcpy(block + TBED_BLOCK_HEADER_NBYTES, copy->out, TBED_HEADER_COPY_NBYTES);
    tbed_block_seal_alone(block, kept->used_nbytes, kept->last_tick);
}

static void drop_older(struct tbed_copy *copy, struct tbed_kept_block *kept)
{
    if (!kept->is_lost)
        memset(copy->out + kept->offset, 0, kept->nbytes);
    kept->is_lost = false; /* treated like a block that the ring has overwritten */
}

static void header_begin(const struct tbed_copy *copy)
{
    struct tbed_header_fields fields = copy->fields;
    fields.file_id = copy->file_id;
    fields.ring_page_count = 0;
    tbed_header_make(copy->out, &fields);
}

/*
 * Numbers the blocks from 0 without gaps. Blocks before a gap in a ring's stream are left out: they are too old to be
 * complete.
 */
void tbed_copy_finish_blocks(struct tbed_copy *copy)
{
    bool is_ring = copy->fields.ring_page_count != 0;
    struct tbed_kept_block *kept = copy->kept;
    header_begin(copy);
    sort_kept(kept, copy->kept_count);
    leave_out_second(copy);
    for (size_t first = 0, end; first < copy->kept_count; first = end) {
        size_t run, from = first;
        end = stream_end(copy, first, &run);
        if (is_ring && kept[first].kind == TBED_BLOCK_EVENTS && copy->cut_tick != UINT64_MAX)
            for (from = run; first < from; first++)
                drop_older(copy, &kept[first]);
        for (size_t i = from; i < end; i++)
            finish_block(copy, &kept[i], (uint32_t)(i - from));
    }
}

/* ---- Losses ---- */

bool tbed_copy_note_cut(struct tbed_copy *copy, uint64_t from, uint64_t claimed, uint64_t nbytes)
{
    uint32_t page_nbytes = copy->fields.page_nbytes;
    for (uint64_t page = from; page < claimed; page++) {
        struct tbed_entry_fields entry;
        if (tbed_directory_has_page(page_nbytes, page))
            continue;
        if (tbed_directory_entry_offset(page_nbytes, page) + TBED_ENTRY_NBYTES > nbytes)
            return true;
        if (!entry_load(copy, page, &entry))
            continue;
        struct tbed_block_fields fields = tbed_entry_block(&entry, copy->fields.file_id, (uint32_t)page, 0);
        if (!note_loss(copy, &fields, page * page_nbytes))
            return false;
    }
    return true;
}

static size_t lost_per_page(const struct tbed_copy *copy)
{
    return (copy->fields.page_nbytes - TBED_BLOCK_HEADER_NBYTES) / sizeof(struct tbed_disk_lost);
}

static uint64_t loss_count(const struct tbed_copy *copy)
{
    uint64_t count = copy->unknown_count != 0;
    for (size_t i = 0; i < copy->kept_count; i++)
        count += copy->kept[i].is_lost;
    return count;
}

uint64_t tbed_copy_loss_pages(const struct tbed_copy *copy)
{
    uint64_t pages = (loss_count(copy) + lost_per_page(copy) - 1) / lost_per_page(copy);
    return pages == 0 ? 0 : pages + 1 + pages / tbed_directory_page_count(copy->fields.page_nbytes);
}

/* Numbers begin at 1 and have 32 bits, whatever a damaged header says. */
static uint64_t next_stream(const struct tbed_copy *copy)
{
    uint64_t next = tbed_shared_load(&tbed_copy_source_header(copy)->next_stream);
    const uint64_t end = (uint64_t)UINT32_MAX + 1;
    return next == 0 ? 1 : next < end ? next : end;
}

static uint32_t loss_stream(const struct tbed_copy *copy)
{
    uint64_t next = next_stream(copy);
    return next < UINT32_MAX ? (uint32_t)next : UINT32_MAX - 1;
}

struct loss_records { /* the block that LOST records are added to */
    uint8_t *block;
    uint32_t at, sequence;
};

static void losses_begin(struct tbed_copy *copy, struct loss_records *records)
{
    uint64_t page = tbed_copy_page_next(copy);
    struct tbed_disk_block header = {
        .kind = TBED_BLOCK_RECORDS,
        .shift = (uint8_t)__builtin_ctz(copy->fields.page_nbytes),
        .page = tbed_le32_make((uint32_t)page),
        .file_id = tbed_le64_make(copy->file_id),
        .stream = tbed_le32_make(loss_stream(copy)),
        .sequence = tbed_le32_make(records->sequence++),
    };
    records->block = copy->out + page * copy->fields.page_nbytes;
    records->at = TBED_BLOCK_HEADER_NBYTES;
    memcpy(records->block, &header, sizeof header);
}

/* A loss of kind NONE is that of 'sequence' pages or cells of which nothing is known. */
static void put_loss(struct tbed_copy *copy, struct loss_records *records, const struct tbed_kept_block *kept)
{
    bool is_known = kept->kind != TBED_BLOCK_NONE;
    struct tbed_disk_lost lost = {
        .head = tbed_le64_make((uint64_t)sizeof lost << 32 | TBED_RECORD_LOST),
        .stream = tbed_le32_make(kept->stream),
        .kind = tbed_le32_make(kept->kind),
        .first_sequence = tbed_le32_make(is_known ? kept->sequence : 0),
        .count = tbed_le32_make(is_known ? 1 : kept->sequence),
        .first_tick = tbed_le64_make(kept->first_tick),
        .last_tick = tbed_le64_make(kept->last_tick),
        .nbytes = tbed_le64_make(kept->used_nbytes),
    };
    if (records->block == NULL || records->at + sizeof lost > copy->fields.page_nbytes) {
        if (records->block != NULL)
            tbed_block_seal_alone(records->block, records->at, 0);
        losses_begin(copy, records);
    }
    memcpy(records->block + records->at, &lost, sizeof lost);
    records->at += (uint32_t)sizeof lost;
}

void tbed_copy_put_losses(struct tbed_copy *copy)
{
    struct loss_records records = {0};
    struct tbed_kept_block unknown = {.sequence = (uint32_t)copy->unknown_count, .last_tick = UINT64_MAX};
    for (size_t i = 0; i < copy->kept_count; i++)
        if (copy->kept[i].is_lost)
            put_loss(copy, &records, &copy->kept[i]);
    if (copy->unknown_count != 0)
        put_loss(copy, &records, &unknown);
    if (records.block != NULL)
        tbed_block_seal_alone(records.block, records.at, 0);
}

void tbed_copy_finish_header(struct tbed_copy *copy)
{
    const struct tbed_disk_header *from = tbed_copy_source_header(copy);
    struct tbed_disk_header *to = (struct tbed_disk_header *)(void *)copy->out;
    tbed_directory_build(copy->out, copy->fields.page_nbytes, copy->out_page_count);
    to->page_count = tbed_le64_make(copy->out_page_count);
    to->next_stream = tbed_le64_make(next_stream(copy) + (loss_count(copy) != 0));
    to->next_string_page = tbed_le64_make(tbed_shared_load(&from->next_string_page));
    to->next_reserved_id = tbed_le64_make(tbed_shared_load(&from->next_reserved_id));
    for (size_t i = 0; i < TBED_DROP_CAUSE_COUNT; i++)
        to->drops[i] = tbed_le64_make(tbed_shared_load(&from->drops[i]));
}

void tbed_copy_free(struct tbed_copy *copy)
{
    tbed_pages_free(copy->ordinals, ORDINALS_NBYTES);
    if (copy->kept != NULL)
        tbed_pages_free(copy->kept, copy->kept_room * sizeof *copy->kept);
}
