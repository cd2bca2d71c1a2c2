/*
 * Blocks: the header taken apart and checked, the content walked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/block.h"

#include "format/checksum.h"
#include "format/event.h"
#include "format/record.h"
#include "format/string.h"

struct tbed_block_fields tbed_block_load(const uint8_t *block)
{
    const struct tbed_disk_block *disk = (const struct tbed_disk_block *)block;
    uint64_t first = tbed_word_load(block);
    uint32_t used = tbed_word32_load(&disk->used_nbytes);
    return (struct tbed_block_fields){
        .kind = (uint32_t)first & 0xFF,
        .shift = (uint32_t)(first >> 8) & 0xFF,
        .cell = (uint32_t)(first >> 16) & 0xFFFF,
        .page = (uint32_t)(first >> 32),
        .file_id = tbed_le64_load(disk->file_id),
        .stream = tbed_le32_load(disk->stream),
        .sequence = tbed_le32_load(disk->sequence),
        .generation = tbed_le32_load(disk->generation),
        .string_page = tbed_le32_load(disk->string_page),
        .first_tick = tbed_le64_load(disk->first_tick),
        .depth = tbed_le32_load(disk->depth),
        .used_nbytes = used,
        .last_tick = tbed_le64_load(disk->last_tick),
        .checksum = tbed_le64_load(disk->checksum),
    };
}

/* One row of a check list: 'bad' is the violation; 'offset' and 'value' say where it is and what was found. */
struct check {
    bool bad;
    enum tbed_status status;
    size_t offset;
    uint64_t value;
};

static enum tbed_status first_violation(const struct check *checks, size_t count, uint32_t *field_ret,
                                        uint64_t *detail_ret)
{
    for (size_t i = 0; i < count; i++) {
        if (!checks[i].bad)
            continue;
        *field_ret = (uint32_t)checks[i].offset;
        *detail_ret = checks[i].value;
        return checks[i].status;
    }
    return TBED_OK;
}

static bool kind_is_allowed(uint32_t kind, uint32_t cell)
{
    uint32_t highest = cell == 0 ? TBED_BLOCK_CELLS : TBED_BLOCK_RECORDS;
    return kind >= TBED_BLOCK_EVENTS && kind <= highest;
}

static bool shift_is_allowed(const struct tbed_block_fields *fields, const struct tbed_block_place *place)
{
    if (fields->shift > 20)
        return false;
    uint32_t nbytes = 1u << fields->shift;
    if (fields->kind == TBED_BLOCK_CELLS)
        return fields->shift >= TBED_CELL_SHIFT_MIN && nbytes <= place->page_nbytes / 8;
    return nbytes == place->nbytes;
}

static bool used_is_allowed(const struct tbed_block_fields *fields, const struct tbed_block_place *place)
{
    uint32_t used = fields->used_nbytes;
    uint32_t least = TBED_BLOCK_HEADER_NBYTES;
    if (fields->kind == TBED_BLOCK_CELLS)
        return used == TBED_COPY_USED_NBYTES;
    if (used == 0)
        return true;
    if (fields->kind == TBED_BLOCK_EVENTS)
        least = tbed_block_words_offset(place->nbytes, fields->depth);
    return used % 8 == 0 && used >= least && used <= place->nbytes;
}

static bool ordinal_is_allowed(const struct tbed_block_fields *fields, const struct tbed_block_place *place)
{
    if (fields->kind == TBED_BLOCK_EVENTS || fields->kind == TBED_BLOCK_RECORDS)
        return fields->string_page == 0;
    if (place->cell != 0)
        return fields->string_page == place->cells_string_page;
    return fields->string_page < place->next_string_page &&
           fields->string_page < (UINT64_C(1) << 32) / place->page_nbytes;
}

#define FIELD(name) offsetof(struct tbed_disk_block, name), fields->name

enum tbed_status tbed_block_header_check(const struct tbed_block_fields *fields,
                                         const struct tbed_block_place *place, uint32_t *field_ret,
                                         uint64_t *detail_ret)
{
    bool sealed = fields->used_nbytes != 0;
    const struct check checks[] = {
        {!kind_is_allowed(fields->kind, place->cell), TBED_ERR_BLOCK_KIND, FIELD(kind)},
        {!shift_is_allowed(fields, place), TBED_ERR_BLOCK_SHIFT, FIELD(shift)},
        {fields->cell != place->cell, TBED_ERR_BLOCK_CELL, FIELD(cell)},
        {fields->page != place->page, TBED_ERR_BLOCK_PAGE, FIELD(page)},
        {fields->file_id != place->file_id, TBED_ERR_BLOCK_FILE, FIELD(file_id)},
        {fields->stream == 0 || fields->stream >= place->next_stream, TBED_ERR_BLOCK_STREAM, FIELD(stream)},
        {fields->kind != TBED_BLOCK_EVENTS && fields->depth != 0, TBED_ERR_BLOCK_DEPTH, FIELD(depth)},
        {!used_is_allowed(fields, place), TBED_ERR_BLOCK_USED, FIELD(used_nbytes)},
        {sealed && fields->last_tick < fields->first_tick, TBED_ERR_BLOCK_TICKS, FIELD(last_tick)},
        {!ordinal_is_allowed(fields, place), TBED_ERR_BLOCK_ORDINAL, FIELD(string_page)},
    };
    return first_violation(checks, sizeof checks / sizeof checks[0], field_ret, detail_ret);
}

enum tbed_status tbed_block_content_check(const uint8_t *block, const struct tbed_block_fields *fields,
                                          uint32_t nbytes, bool skip_hash)
{
    uint32_t used = fields->used_nbytes;
    if (!skip_hash && tbed_block_checksum(block, used) != fields->checksum)
        return TBED_ERR_BLOCK_CHECKSUM;
    return tbed_bytes_are_zero(block + used, nbytes - used) ? TBED_OK : TBED_ERR_BLOCK_TAIL;
}

enum tbed_status tbed_block_stack_check(const uint8_t *block, uint32_t stored_count, uint32_t *offset_ret)
{
    for (uint32_t i = 0; i < stored_count; i++) {
        uint32_t offset = TBED_BLOCK_HEADER_NBYTES + i * TBED_STACK_ENTRY_NBYTES;
        uint64_t id_and_flags = tbed_word_load(block + offset + offsetof(struct tbed_disk_open_span, id));
        if ((id_and_flags & ~((uint64_t)TBED_OPEN_SPAN_INHERITED << 32)) > TBED_ID_MAX) {
            *offset_ret = offset;
            return TBED_ERR_EVENT_STACK;
        }
    }
    return TBED_OK;
}

/* The record at 'at' has the first word 'word' and 'nwords' words, of which another process may change the others. */
static void note_span(uint64_t word, const uint64_t *at, size_t nwords, uint64_t *least_begin_tick)
{
    if (tbed_event_tag(word) != TBED_TAG_EXTENDED || nwords < 3)
        return;
    uint64_t begin_tick = tbed_word_load(at + 2);
    if (tbed_extended_head_load(tbed_word_load(at + 1)).type == TBED_EXT_SPAN &&
        begin_tick < *least_begin_tick)
        *least_begin_tick = begin_tick;
}

static enum tbed_status scan_events(const uint8_t *block, uint32_t nbytes, struct tbed_block_scan *scan)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    uint32_t from = tbed_block_words_offset(nbytes, fields.depth);
    const uint64_t *at = (const uint64_t *)(block + from);
    const uint64_t *end = (const uint64_t *)(block + nbytes);
    uint64_t base = fields.first_tick, word;
    enum tbed_status status = TBED_OK;
    scan->last_tick = scan->least_begin_tick = base;
    while (at < end && (word = tbed_word_load(at)) != 0) {
        size_t nwords;
        status = tbed_event_check(word, at, end, &nwords);
        if (status != TBED_OK)
            break;
        if (tbed_event_tag(word) == TBED_TAG_TIME)
            base += tbed_event_time_ticks(word);
        else if (base + tbed_event_delta(word) > scan->last_tick) /* a clock may have stepped back */
            scan->last_tick = base + tbed_event_delta(word);
        note_span(word, at, nwords, &scan->least_begin_tick);
        at += nwords;
        scan->item_count++;
    }
    scan->end_nbytes = (uint32_t)((const uint8_t *)at - block);
    return status;
}

/* The number of words after the first one. */
static size_t payload_nwords(uint64_t word, const uint64_t *at)
{
    switch (tbed_event_tag(word)) {
    case TBED_TAG_PAIR:
        return 1;
    case TBED_TAG_EXTENDED:
        return tbed_extended_head_load(tbed_word_load(at + 1)).nwords;
    default:
        return 0;
    }
}

struct tbed_block_ticks tbed_block_ticks(const uint8_t *block, uint32_t used_nbytes)
{
    struct tbed_block_fields fields = tbed_block_load(block);
    const uint64_t *at =
        (const uint64_t *)(block + tbed_block_words_offset(1u << fields.shift, fields.depth));
    const uint64_t *end = (const uint64_t *)(block + used_nbytes);
    uint64_t base = fields.first_tick;
    struct tbed_block_ticks ticks = {base, base};
    for (size_t nwords; at < end; at += nwords) {
        uint64_t word = tbed_word_load(at), tick = base + tbed_event_delta(word);
        nwords = 1 + payload_nwords(word, at);
        if (tbed_event_tag(word) == TBED_TAG_TIME)
            base += tbed_event_time_ticks(word);
        else if (tick > ticks.last) /* a clock may have stepped back */
            ticks.last = tick;
        note_span(word, at, nwords, &ticks.least_begin);
    }
    return ticks;
}

/* The size of an entry or record, from its first word. 0: the word has no valid size. */
static uint64_t item_nbytes(enum tbed_block_kind kind, uint64_t head, uint64_t left_nbytes)
{
    if (kind == TBED_BLOCK_STRINGS) {
        if (tbed_string_head_check(head, left_nbytes) != TBED_OK)
            return 0;
        return tbed_string_entry_nbytes(tbed_string_head_nbytes(head));
    }
    return tbed_record_head_check(head, left_nbytes) == TBED_OK ? tbed_record_head_nbytes(head) : 0;
}

static enum tbed_status scan_items(const uint8_t *block, uint32_t nbytes, enum tbed_block_kind kind,
                                   struct tbed_block_scan *scan)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    uint64_t head;
    enum tbed_status status = TBED_OK;
    while (at < nbytes && (head = tbed_word_load(block + at)) != 0) {
        uint64_t step = item_nbytes(kind, head, nbytes - at);
        if (step == 0) {
            status = kind == TBED_BLOCK_STRINGS ? TBED_ERR_STRING_LENGTH : TBED_ERR_RECORD_LENGTH;
            break;
        }
        at += (uint32_t)step; /* all sizes are multiples of 8, including the block's, so no step leaves it */
        scan->item_count++;
    }
    scan->end_nbytes = at;
    scan->last_tick = scan->least_begin_tick = tbed_block_load(block).first_tick;
    return status;
}

static struct tbed_block_scan cells_scan(const uint8_t *block)
{
    uint64_t tick = tbed_block_load(block).first_tick;
    return (struct tbed_block_scan){
        .end_nbytes = TBED_COPY_USED_NBYTES, .last_tick = tick, .least_begin_tick = tick};
}

enum tbed_status tbed_block_scan(const uint8_t *block, uint32_t nbytes, enum tbed_block_kind kind,
                                 struct tbed_block_scan *scan_ret)
{
    enum tbed_status status = TBED_OK;
    *scan_ret = (struct tbed_block_scan){.end_nbytes = TBED_BLOCK_HEADER_NBYTES};
    if (kind == TBED_BLOCK_EVENTS)
        status = scan_events(block, nbytes, scan_ret);
    else if (kind == TBED_BLOCK_STRINGS || kind == TBED_BLOCK_RECORDS)
        status = scan_items(block, nbytes, kind, scan_ret);
    else
        *scan_ret = cells_scan(block);
    scan_ret->has_rest = kind != TBED_BLOCK_CELLS &&
                         !tbed_bytes_are_zero(block + scan_ret->end_nbytes, nbytes - scan_ret->end_nbytes);
    return status;
}

/*
 * The second word of an EXTENDED record is stored before those that follow it, and a PAIR has no others. A writer that is
 * alive goes on behind the record only when it has stored the first word.
 */
static bool is_one_record(const uint8_t *block, uint32_t end_nbytes, uint32_t nbytes)
{
    uint32_t last = nbytes / 8 - 1, first = end_nbytes / 8;
    while (last > first + 1 && tbed_word_load(block + 8 * (size_t)last) == 0)
        last--;
    if (last <= first + 1)
        return true;
    uint32_t nwords = tbed_extended_head_load(tbed_word_load(block + end_nbytes + 8)).nwords;
    bool is_inside = last - first <= nwords && nwords < nbytes / 8 - first;
    return is_inside || tbed_word_load(block + end_nbytes) != 0;
}

enum tbed_status tbed_block_end_check(const uint8_t *block, uint32_t nbytes, enum tbed_block_kind kind,
                                      const struct tbed_block_scan *scan, uint32_t ended_nbytes)
{
    bool is_all =
        !scan->has_rest || kind != TBED_BLOCK_EVENTS || is_one_record(block, scan->end_nbytes, nbytes);
    if (ended_nbytes != 0)
        is_all = !scan->has_rest && scan->end_nbytes == ended_nbytes;
    if (is_all || kind == TBED_BLOCK_CELLS)
        return TBED_OK;
    return kind == TBED_BLOCK_EVENTS    ? TBED_ERR_EVENT_ZERO
           : kind == TBED_BLOCK_STRINGS ? TBED_ERR_STRING_LENGTH
                                        : TBED_ERR_RECORD_LENGTH;
}
