/*
 * A trace as the source of a profile: each event block is a chunk.
 *
 * A block is decoded forward into a list of what counts, which is then taken backward. The block stores who is open at
 * its start, but not their categories: those stand in the block where they began, which is looked for when they end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/profile/profile_take.h"
#include "reader/analysis/spans/named.h"
#include "reader/analysis/spans/open_spans.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>
#include <string.h>

/* Blocks; a span that is longer has no category. */
#define LOOK_BACK_MAX 65536u

struct bed {
    struct tbed_reader *reader;
    struct tbed_analysis_options options;
    bool is_reused; /* blocks may be overwritten while they are read: read copies */
    uint32_t
        *least_depths; /* by block: the fewest spans that were open in it, + 1; atomic; 0: not known yet */
};

enum bed_item_type { BED_SPAN, BED_INSTANT, BED_COUNTER };

struct bed_item {
    uint64_t begin, end; /* COUNTER: begin is the value; end is the tick */
    uint32_t id, category;
    uint32_t word; /* where in the block */
    enum bed_item_type type;
};

struct bed_open {
    uint64_t begin_tick; /* 0: not known */
    uint32_t id, category;
    bool is_stored; /* by the block: the category stands elsewhere */
};

/* A worker's memory, in one piece. */
struct bed_scratch {
    struct bed_item *items;
    struct bed_open *open;
    uint32_t *categories; /* of the spans that are open at the end of block 'replayed' */
    uint64_t *copy;
    size_t replayed;         /* SIZE_MAX: none */
    uint64_t replayed_depth; /* of those, how many are below the first in 'categories', */
    size_t replayed_count;   /* and how many are there */
};

struct bed_scan {
    struct profile_worker *worker;
    const struct bed *bed;
    struct bed_scratch *scratch;
    struct tbed_block block;
    size_t index;
    const uint64_t *at;
    uint64_t base;
    size_t item_count, open_count;
    uint64_t deep; /* open below the known ones */

    struct tbed_block back; /* where the begins of spans are looked for */
    size_t back_index;
};

/* ---- Blocks ---- */

/* NULL: no memory. The lists have room for whatever a block of the largest size may hold. */
static struct bed_scratch *scratch_of(struct profile_worker *worker, const struct bed *bed)
{
    bool is_new = worker->scratch == NULL;
    size_t page_nbytes = bed->reader->header.page_nbytes;
    size_t word_count = page_nbytes / 8, stored_max = page_nbytes / 64,
           copy_nbytes = bed->is_reused ? page_nbytes : 0;
    size_t items = word_count * sizeof(struct bed_item);
    size_t open = (word_count + stored_max) * sizeof(struct bed_open);
    size_t categories = (word_count + stored_max) * sizeof(uint32_t);
    struct bed_scratch *scratch =
        tbed_profile_scratch(worker, sizeof *scratch + items + open + categories + copy_nbytes);
    if (scratch == NULL || !is_new)
        return scratch;
    char *at = (char *)(scratch + 1);
    scratch->items = (void *)at;
    scratch->open = (void *)(at + items);
    scratch->categories = (void *)(at + items + open);
    scratch->copy = (void *)(at + items + open + categories);
    scratch->replayed = SIZE_MAX;
    return scratch;
}

/* The rest of the block is skipped, and told. */
static bool stop_at(struct bed_scan *scan, enum tbed_status status, uint64_t word)
{
    const struct tbed_block *block = &scan->block;
    uint64_t offset = block->offset + (uint64_t)((const uint8_t *)scan->at - block->bytes);
    tbed_damage_tell(scan->bed->reader, status, offset, block->cell, word);
    return false;
}

/* ---- Categories of spans that began in a block before ---- */

/* Categories of what is open at the block's end. Returns how few spans were open in it. */
static uint64_t replay_block(struct bed_scratch *scratch, const struct tbed_block *block)
{
    uint64_t deep = block->depth - block->stored_count, least = block->depth;
    size_t count = 0;
    for (; count < block->stored_count; count++)
        scratch->categories[count] = TBED_ID_INVALID;
    for (const uint64_t *at = block->words; at < block->words_end;) {
        uint64_t word = tbed_word_load(at);
        uint32_t tag = tbed_event_tag(word);
        size_t nwords;
        if (word == 0 || tbed_event_check(word, at, block->words_end, &nwords) != TBED_OK)
            break;
        struct tbed_extended_head head = {0};
        if (tag == TBED_TAG_EXTENDED)
            head = tbed_extended_head_load(tbed_word_load(at + 1));
        if (tag == TBED_TAG_BEGIN || head.type == TBED_EXT_BEGIN)
            scratch->categories[count++] =
                head.aux == 0 || head.aux > TBED_ID_MAX ? TBED_ID_INVALID : head.aux;
        else if ((tag == TBED_TAG_END || tbed_extended_ends_span(head.type)) && count > 0)
            count--;
        else if ((tag == TBED_TAG_END || tbed_extended_ends_span(head.type)) && deep > 0)
            deep--;
        least = deep + count < least ? deep + count : least;
        at += nwords;
    }
    scratch->replayed_depth = deep;
    scratch->replayed_count = count;
    return least;
}

static uint64_t replay(struct bed_scan *scan, const struct tbed_block *block, size_t index)
{
    uint64_t least = replay_block(scan->scratch, block);
    uint32_t kept = least < UINT32_MAX ? (uint32_t)least + 1 : UINT32_MAX;
    __atomic_store_n(&scan->bed->least_depths[index], kept, __ATOMIC_RELAXED);
    scan->scratch->replayed = index;
    return least;
}

static uint64_t least_depth(struct bed_scan *scan, const struct tbed_block *block, size_t index)
{
    uint32_t known = __atomic_load_n(&scan->bed->least_depths[index], __ATOMIC_RELAXED);
    return known != 0 ? known - 1 : replay(scan, block, index);
}

/* Goes back one block of the stream. */
static bool look_back(struct bed_scan *scan)
{
    struct tbed_block before;
    if (scan->back_index == 0 || scan->index - scan->back_index == LOOK_BACK_MAX ||
        !tbed_block_before(scan->bed->reader, &scan->back, scan->back_index - 1, &before))
        return false;
    scan->back = before;
    scan->back_index--;
    return true;
}

/*
 * The category of the span that has 'depth' spans below it and was open at the block's start. It began in the latest
 * block before in which no more than those were open at one time. Of two that end in a block the latter has fewer
 * below, so the search goes on where it was. Blocks that may be gone any time are not asked.
 */
static uint32_t find_category(struct bed_scan *scan, uint64_t depth)
{
    struct bed_scratch *scratch = scan->scratch;
    if (scan->bed->is_reused)
        return TBED_ID_INVALID;
    while (scan->back_index == scan->index || least_depth(scan, &scan->back, scan->back_index) > depth)
        if (!look_back(scan))
            return TBED_ID_INVALID;
    if (scratch->replayed != scan->back_index)
        replay(scan, &scan->back, scan->back_index);
    uint64_t place = depth - scratch->replayed_depth;
    return depth >= scratch->replayed_depth && place < scratch->replayed_count ? scratch->categories[place]
                                                                               : TBED_ID_INVALID;
}

/* ---- Events of a block, forward ---- */

static void add_item(struct bed_scan *scan, enum bed_item_type type, uint32_t id, uint32_t category,
                     uint64_t begin, uint64_t end)
{
    scan->scratch->items[scan->item_count++] = (struct bed_item){
        .begin = begin,
        .end = end,
        .id = id,
        .category = category,
        .word = (uint32_t)(scan->at - scan->block.words),
        .type = type,
    };
}

static void begin_span(struct bed_scan *scan, uint32_t id, uint32_t category, uint64_t tick)
{
    scan->scratch->open[scan->open_count++] =
        (struct bed_open){.begin_tick = tick, .id = id, .category = category};
}

static void end_span(struct bed_scan *scan, uint32_t id, uint64_t begin_tick, uint64_t tick)
{
    struct bed_open span = {
        .id = id, .begin_tick = begin_tick, .category = TBED_ID_INVALID, .is_stored = true};
    bool is_known = scan->open_count > 0;
    if (is_known)
        span = scan->scratch->open[--scan->open_count];
    else if (scan->deep > 0)
        scan->deep--;
    if (is_known ? span.is_stored && span.begin_tick == 0 : begin_tick == 0) {
        scan->worker->counts.lost++;
        return;
    }
    if (span.is_stored)
        span.category = find_category(scan, scan->deep + scan->open_count);
    add_item(scan, BED_SPAN, span.id, span.category, span.begin_tick, tick);
}

static uint64_t counter_value(const struct tbed_argument *argument)
{
    switch (argument->type) {
    case TBED_ARG_I64:
        return argument->value.i64 > 0 ? (uint64_t)argument->value.i64 : 0;
    case TBED_ARG_F64:
        if (!(argument->value.f64 > 0))
            return 0;
        return argument->value.f64 < 0x1p64 ? (uint64_t)argument->value.f64 : UINT64_MAX;
    default:
        return argument->value.u64;
    }
}

static void take_event(struct bed_scan *scan, const struct tbed_event *event)
{
    scan->worker->counts.events++;
    switch (event->type) {
    case TBED_EVENT_BEGIN:
        begin_span(scan, event->id, event->category, event->tick);
        break;
    case TBED_EVENT_END:
        end_span(scan, event->id, event->of.end.begin_tick,
                 event->of.end.end_tick != 0 ? event->of.end.end_tick : event->tick);
        break;
    case TBED_EVENT_SPAN:
        add_item(scan, BED_SPAN, event->id, event->category, event->of.span.begin_tick, event->tick);
        break;
    case TBED_EVENT_INSTANT:
        add_item(scan, BED_INSTANT, event->id, event->category, event->tick, event->tick);
        break;
    case TBED_EVENT_COUNTER:
        add_item(scan, BED_COUNTER, event->id, event->category, counter_value(&event->counter_value),
                 event->tick);
        break;
    default:
        break;
    }
}

/* Takes the event at 'at'. False: the block ends here. */
static bool take_word(struct bed_scan *scan, uint64_t word)
{
    struct tbed_event event = {.stream = scan->block.stream,
                               .category = TBED_ID_INVALID,
                               .id = tbed_event_id(word),
                               .tick = scan->base + tbed_event_delta(word)};
    uint32_t tag = tbed_event_tag(word);
    size_t nwords = 1;
    if (tag == TBED_TAG_TIME) {
        if (!tbed_event_time_is_allowed(word))
            return stop_at(scan, TBED_ERR_EVENT_TIME, word);
        scan->base += tbed_event_time_ticks(word);
        scan->at++;
        return true;
    }
    if (tag >= TBED_TAG_BEGIN && tag <= TBED_TAG_INSTANT) {
        event.type = (enum tbed_event_type)(tag - TBED_TAG_BEGIN + TBED_EVENT_BEGIN);
    } else {
        enum tbed_status status = tbed_decode_long(word, scan->at, scan->block.words_end, &event, &nwords);
        if (status != TBED_OK)
            return stop_at(scan, status, word);
    }
    take_event(scan, &event);
    scan->at += nwords;
    return true;
}

static void load_stack(struct bed_scan *scan)
{
    const struct tbed_block *block = &scan->block;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        struct bed_open *span = &scan->scratch->open[scan->open_count++];
        *span = (struct bed_open){.is_stored = true};
        tbed_block_open_span(block, i, &span->begin_tick, &span->id);
    }
    scan->deep = block->depth - block->stored_count;
}

/* Fills scratch->items. False: there is nothing to read. */
static bool decode_block(struct bed_scan *scan, struct profile_worker *worker, size_t index)
{
    scan->worker = worker;
    scan->bed = worker->context;
    scan->index = index;
    scan->scratch = scratch_of(worker, scan->bed);
    if (scan->scratch == NULL || tbed_event_block_get(scan->bed->reader, index, &scan->block) != TBED_OK ||
        (scan->bed->is_reused && !tbed_block_copy(&scan->block, scan->scratch->copy)))
        return false;
    scan->back = scan->block;
    scan->back_index = index;
    scan->at = scan->block.words;
    scan->base = scan->block.first_tick;
    load_stack(scan);
    while (scan->at < scan->block.words_end) {
        uint64_t word = tbed_word_load(scan->at);
        if (word == 0) {
            if (scan->block.sealed)
                stop_at(scan, TBED_ERR_EVENT_ZERO, word);
            break;
        }
        if (!take_word(scan, word))
            break;
    }
    return true;
}

/* The stream's end: what is open stays open. */
static void count_open(struct bed_scan *scan)
{
    size_t first, count;
    tbed_stream_blocks(scan->bed->reader, scan->block.stream, &first, &count);
    if (scan->index + 1 == first + count)
        scan->worker->counts.open += scan->deep + scan->open_count;
}

static struct profile_place item_place(const struct bed_scan *scan, const struct bed_item *item)
{
    return (struct profile_place){scan->block.stream, (uint64_t)scan->index << 32 | item->word, item->end};
}

static void take_block(struct profile_worker *worker, size_t index)
{
    struct bed_scan scan = {0};
    if (!decode_block(&scan, worker, index))
        return;
    count_open(&scan);
    for (size_t i = scan.item_count; i-- > 0;) {
        const struct bed_item *item = &scan.scratch->items[i];
        if (i >= 8)
            profile_row_prefetch(worker, scan.scratch->items[i - 8].id);
        if (item->type == BED_SPAN)
            profile_take_span(worker, scan.block.stream, item->category, item->id, item->begin, item->end);
        else if (item->type == BED_INSTANT)
            tbed_profile_take_instant(worker, item->category, item->id);
        else
            tbed_profile_take_counter(worker, item->category, item->id, item->begin, item_place(&scan, item));
    }
}

static void recount_block(struct profile_worker *worker, size_t index)
{
    struct bed_scan scan = {0};
    struct profile_counts counts = worker->counts;
    if (decode_block(&scan, worker, index))
        for (size_t i = 0; i < scan.item_count; i++) {
            const struct bed_item *item = &scan.scratch->items[i];
            if (item->type == BED_INSTANT)
                tbed_profile_take_hit(worker, item->category, item->id, item_place(&scan, item));
        }
    worker->counts = counts; /* nothing counts twice */
}

/* ---- Names that the caller gives ---- */

static bool is_named(const void *context, uint64_t id)
{
    const struct bed *bed = context;
    struct tbed_unit_info unit;
    uint64_t pc;
    return tbed_location_find(bed->reader, (uint32_t)id, &unit, &pc);
}

static size_t name(const void *context, uint64_t id, char *buffer, size_t buffer_nbytes)
{
    const struct bed *bed = context;
    return bed->options.name(bed->options.name_context, (uint32_t)id, buffer, buffer_nbytes);
}

static void prepare(const void *context, const uint32_t *ids, size_t count)
{
    const struct bed *bed = context;
    bed->options.prepare(bed->options.name_context, ids, count);
}

enum tbed_status tbed_profile_make(struct tbed_reader *reader, const struct tbed_analysis_options *given,
                                   struct tbed_profile **profile_ret)
{
    struct bed bed = {.reader = reader};
    struct tbed_trace_info info;
    enum tbed_status status = tbed_analysis_options_load(given, &bed.options);
    if (status != TBED_OK)
        return status;
    tbed_reader_info(reader, &info);
    bed.is_reused = info.ring_page_count != 0 && !info.shut;
    struct profile_source source = {
        .context = &bed,
        .chunk_count = tbed_event_block_count(reader),
        .take = take_block,
        .recount = recount_block,
        .strings = tbed_label_strings(reader),
        .is_named = bed.options.name != NULL ? is_named : NULL,
        .name = name,
        .prepare = bed.options.name != NULL && bed.options.prepare != NULL ? prepare : NULL,
        .counts = info.clock == TBED_CLOCK_USER,
        .unit = info.clock_unit,
    };
    bed.least_depths = calloc(source.chunk_count + 1, sizeof *bed.least_depths);
    if (bed.least_depths == NULL)
        return TBED_ERR_MEMORY;
    status = tbed_profile_run(&source, bed.options.thread_count, profile_ret);
    free(bed.least_depths);
    return status;
}
