/*
 * Traces built by hand in memory, word by word, for the tests of the analyses. They follow spec/format.md and use
 * nothing of the writing library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ANALYSIS_FIXTURE_H
#define TRACEBED_ANALYSIS_FIXTURE_H

#include "format/argument.h"
#include "format/checksum.h"
#include "format/event.h"
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "format/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/reader.h>

#include <cmocka.h>

#define FIXTURE_STREAMS 8
#define FIXTURE_DEPTH   4096
#define FIXTURE_FILE_ID 0x1234567890ABCDEFu

struct fixture_span {
    uint64_t tick;
    uint32_t id;
};

struct fixture_stream {
    size_t page; /* the current one; 0: none */
    uint32_t used;
    uint32_t sequence;
    uint32_t stored; /* spans that the page stores and that have not ended */
    uint32_t begun;  /* spans begun in the page and open */
    uint64_t base, last_tick;
    struct fixture_span stack[FIXTURE_DEPTH];
    uint32_t depth;
    uint32_t inherited; /* at first the outermost spans, begun at tick 1 before a fork */
};

struct fixture {
    uint32_t page_nbytes;
    uint64_t *pages; /* all bytes of the file */
    size_t page_count, room;
    struct fixture_stream streams[FIXTURE_STREAMS + 1]; /* by number */
    size_t strings_page, records_page;
    uint32_t strings_used, records_used, string_pages, record_pages;
    bool ring;      /* a flight recorder that is still written; all pages are event pages */
    bool left_open; /* not closed cleanly: event blocks stay unsealed */
    bool has_clock; /* the writer took the ticks from a clock; otherwise they were given to it */
    uint32_t resolution_ns;
};

static inline uint8_t *fixture_page(struct fixture *f, size_t page)
{
    return (uint8_t *)f->pages + page * f->page_nbytes;
}

/* A page, after a directory page if it is that one's turn. */
static inline size_t fixture_claim(struct fixture *f)
{
    if (f->page_count + 1 >= f->room) {
        f->room = f->room == 0 ? 16 : f->room * 2;
        f->pages = realloc(f->pages, f->room * f->page_nbytes);
        assert_non_null(f->pages);
    }
    f->page_count += tbed_directory_has_page(f->page_nbytes, f->page_count);
    memset(fixture_page(f, f->page_count), 0, f->page_nbytes);
    return f->page_count++;
}

static inline struct fixture *fixture_new(uint32_t page_nbytes)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->page_nbytes = page_nbytes;
    fixture_claim(f);
    return f;
}

static inline void fixture_free(struct fixture *f)
{
    free(f->pages);
    free(f);
}

static inline uint32_t fixture_shift(const struct fixture *f)
{
    return (uint32_t)__builtin_ctz(f->page_nbytes);
}

static inline size_t fixture_block(struct fixture *f, uint8_t kind, uint32_t stream, uint32_t sequence,
                                   uint32_t ordinal, uint64_t tick, uint32_t depth)
{
    size_t page = fixture_claim(f);
    struct tbed_disk_block *block = (void *)fixture_page(f, page);
    block->kind = kind;
    block->shift = (uint8_t)fixture_shift(f);
    block->page = tbed_le32_make((uint32_t)page);
    block->file_id = tbed_le64_make(FIXTURE_FILE_ID);
    block->stream = tbed_le32_make(stream);
    block->sequence = tbed_le32_make(sequence);
    block->string_page = tbed_le32_make(ordinal);
    block->first_tick = tbed_le64_make(tick);
    block->depth = tbed_le32_make(depth);
    return page;
}

/* Computes the checksum anew, also after a test has changed the block. */
static inline void fixture_seal(struct fixture *f, size_t page, uint32_t used, uint64_t last_tick)
{
    struct tbed_disk_block *block = (void *)fixture_page(f, page);
    block->used_nbytes = tbed_le32_make(used);
    block->last_tick = tbed_le64_make(last_tick);
    block->checksum = tbed_le64_make(0);
    block->checksum = tbed_le64_make(tbed_block_checksum(block, used));
}

/* ---- Events ---- */

static inline void fixture_seal_stream(struct fixture *f, uint32_t stream)
{
    struct fixture_stream *s = &f->streams[stream];
    if (s->page != 0 && !f->left_open)
        fixture_seal(f, s->page, s->used, s->last_tick);
    s->page = 0;
}

static inline void fixture_begin_block(struct fixture *f, uint32_t stream, uint64_t tick)
{
    struct fixture_stream *s = &f->streams[stream];
    fixture_seal_stream(f, stream);
    s->page = fixture_block(f, TBED_BLOCK_EVENTS, stream, s->sequence++, 0, tick, s->depth);
    s->base = s->last_tick = tick;
    s->stored = s->depth < f->page_nbytes / 64 ? s->depth : f->page_nbytes / 64;
    s->begun = 0;
    s->used = 64 + 16 * s->stored;
    struct tbed_disk_open_span *span = (void *)(fixture_page(f, s->page) + 64);
    for (uint32_t i = s->depth - s->stored; i < s->depth; i++, span++) {
        span->begin_tick = tbed_le64_make(s->stack[i].tick);
        span->id = tbed_le32_make(s->stack[i].id);
        span->flags =
            tbed_le32_make(i < s->inherited && s->stack[i].tick == 1 ? TBED_OPEN_SPAN_INHERITED : 0);
    }
}

/* One event: its first word's tag and id, and the words after it. */
static inline void fixture_event(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t tag, uint32_t id,
                                 const uint64_t *more, uint32_t more_count)
{
    struct fixture_stream *s = &f->streams[stream];
    uint32_t time_words = s->page != 0 && tick - s->base >= UINT64_C(1) << 31;
    if (s->page == 0 || s->used + 8 * (1 + more_count + time_words) > f->page_nbytes) {
        fixture_begin_block(f, stream, tick);
        time_words = 0;
    }
    uint64_t *at = (uint64_t *)(fixture_page(f, s->page) + s->used);
    if (time_words != 0) {
        uint64_t steps = (tick - s->base) >> 31;
        *at++ = tbed_word_order(tbed_event_make(TBED_TAG_TIME, (uint32_t)steps, 0));
        s->base += steps << 31;
    }
    *at++ = tbed_word_order(tbed_event_make(tag, id, tick - s->base));
    for (uint32_t i = 0; i < more_count; i++)
        *at++ = tbed_word_order(more[i]);
    s->used += 8 * (1 + more_count + time_words);
    s->last_tick = tick > s->last_tick ? tick : s->last_tick;
}

/* An EXTENDED record without arguments. */
static inline void fixture_extended(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id,
                                    uint32_t type, uint32_t aux, const uint64_t *fixed, uint32_t fixed_count)
{
    uint64_t words[8];
    words[0] = tbed_extended_head_make(
        (struct tbed_extended_head){.type = type, .nwords = 1 + fixed_count, .aux = aux});
    for (uint32_t i = 0; i < fixed_count; i++)
        words[1 + i] = fixed[i];
    fixture_event(f, stream, tick, TBED_TAG_EXTENDED, id, words, 1 + fixed_count);
}

static inline void fixture_begin(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id)
{
    struct fixture_stream *s = &f->streams[stream];
    fixture_event(f, stream, tick, TBED_TAG_BEGIN, id, NULL, 0);
    assert_true(s->depth < FIXTURE_DEPTH);
    s->stack[s->depth++] = (struct fixture_span){tick, id};
    s->begun++;
}

/* As section 6.2 has it: extended where the block does not know the span, or if 'extended'. */
static inline void fixture_end(struct fixture *f, uint32_t stream, uint64_t tick, bool extended)
{
    struct fixture_stream *s = &f->streams[stream];
    struct fixture_span span = s->stack[--s->depth];
    /* The block may turn over with this event: then it stores the span. */
    if (s->page == 0 || s->used + 8 * 5 > f->page_nbytes) {
        s->depth++;
        fixture_begin_block(f, stream, tick);
        s->depth--;
    }
    if (s->begun + s->stored == 0 || extended)
        fixture_extended(f, stream, tick, span.id, TBED_EXT_END, 0, &span.tick, 1);
    else
        fixture_event(f, stream, tick, TBED_TAG_END, span.id, NULL, 0);
    if (s->begun > 0)
        s->begun--;
    else if (s->stored > 0)
        s->stored--;
}

static inline void fixture_instant(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id)
{
    fixture_event(f, stream, tick, TBED_TAG_INSTANT, id, NULL, 0);
}

static inline void fixture_counter(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t id,
                                   int64_t value)
{
    uint64_t second = (uint64_t)TBED_PAIR_COUNTER << 60 | ((uint64_t)value & 0x0FFFFFFFFFFFFFFFu);
    fixture_event(f, stream, tick, TBED_TAG_PAIR, id, &second, 1);
}

static inline void fixture_alloc(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t site,
                                 uint64_t address, uint64_t nbytes)
{
    uint64_t fixed[2] = {address, nbytes};
    uint64_t pair = (uint64_t)TBED_PAIR_ALLOC << 60 | nbytes << 45 | address >> 3;
    if (address != 0 && nbytes < 1u << 15)
        fixture_event(f, stream, tick, TBED_TAG_PAIR, site, &pair, 1);
    else
        fixture_extended(f, stream, tick, site, TBED_EXT_ALLOC, TBED_FUNCTION_MALLOC, fixed, 2);
}

static inline void fixture_release(struct fixture *f, uint32_t stream, uint64_t tick, uint64_t address)
{
    uint64_t pair = (uint64_t)TBED_PAIR_FREE << 60 | address;
    fixture_event(f, stream, tick, TBED_TAG_PAIR, 0, &pair, 1);
}

/* Section 6.2, "Slots". Of the last 8 bytes only 'tail_nbytes' count: 8 for all. */
static inline void fixture_release_slots(struct fixture *f, uint32_t stream, uint64_t tick, uint64_t address,
                                         uint64_t distance, const uint64_t *bits, uint32_t bits_count,
                                         uint32_t tail_nbytes)
{
    uint64_t words[64], no_name = (uint64_t)TBED_ID_INVALID << 32;
    uint32_t nbytes = 8 * (bits_count - 1) + tail_nbytes, count = 0;
    words[count++] = tbed_extended_head_make(
        (struct tbed_extended_head){.type = TBED_EXT_FREE, .nwords = 5 + bits_count, .argument_count = 2});
    words[count++] = address;
    words[count++] = TBED_ARG_U64 | 8 << 8 | no_name;
    words[count++] = distance;
    words[count++] = TBED_ARG_BYTES | (uint64_t)nbytes << 8 | no_name;
    for (uint32_t i = 0; i < bits_count; i++)
        words[count++] = bits[i];
    if (tail_nbytes < 8)
        words[count - 1] &= ((uint64_t)1 << 8 * tail_nbytes) - 1;
    fixture_event(f, stream, tick, TBED_TAG_EXTENDED, 0, words, count);
}

static inline void fixture_realloc(struct fixture *f, uint32_t stream, uint64_t begin_tick, uint64_t tick,
                                   uint32_t site, uint64_t old_address, uint64_t address, uint64_t nbytes)
{
    uint64_t fixed[4] = {old_address, address, nbytes, begin_tick};
    fixture_extended(f, stream, tick, site, TBED_EXT_REALLOC, 0, fixed, 4);
}

static inline void fixture_resize(struct fixture *f, uint32_t stream, uint64_t tick, uint32_t site,
                                  uint64_t address, uint64_t nbytes)
{
    uint64_t fixed[2] = {address, nbytes};
    fixture_extended(f, stream, tick, site, TBED_EXT_RESIZE, 0, fixed, 2);
}

/* ---- Strings and records ---- */

static inline uint32_t fixture_string(struct fixture *f, const char *text)
{
    uint32_t nbytes = (uint32_t)strlen(text) + 1;
    uint32_t entry = 8 + ((nbytes + 7) & ~7u);
    if (f->strings_page == 0 || f->strings_used + entry > f->page_nbytes) {
        if (f->strings_page != 0)
            fixture_seal(f, f->strings_page, f->strings_used, 0);
        f->strings_page =
            fixture_block(f, TBED_BLOCK_STRINGS, FIXTURE_STREAMS + 1, f->string_pages, f->string_pages, 0, 0);
        f->string_pages++;
        f->strings_used = 64;
    }
    uint8_t *at = fixture_page(f, f->strings_page) + f->strings_used;
    struct tbed_disk_string *string = (void *)at;
    memcpy(string->content, text, nbytes - 1);
    string->content[nbytes - 1] = 0xFF;
    string->nbytes = tbed_le32_make(nbytes);
    string->hash = tbed_le32_make(tbed_string_hash(string->content, nbytes));
    uint64_t address = (uint64_t)(f->string_pages - 1) * f->page_nbytes + f->strings_used;
    f->strings_used += entry;
    return TBED_ID_METADATA + (uint32_t)(address / 8);
}

/* A record of 'nbytes' whose words after the first are given. */
static inline void fixture_record(struct fixture *f, uint32_t type, const uint32_t *fields,
                                  uint32_t field_count)
{
    uint32_t nbytes = 8 + 4 * field_count;
    if (f->records_page == 0 || f->records_used + nbytes > f->page_nbytes) {
        if (f->records_page != 0)
            fixture_seal(f, f->records_page, f->records_used, 0);
        f->records_page =
            fixture_block(f, TBED_BLOCK_RECORDS, FIXTURE_STREAMS + 1, f->record_pages++, 0, 0, 0);
        f->records_used = 64;
    }
    uint8_t *at = fixture_page(f, f->records_page) + f->records_used;
    tbed_le32 *to = (tbed_le32 *)(at + 8);
    tbed_word_store(at, type | (uint64_t)nbytes << 32);
    for (uint32_t i = 0; i < field_count; i++)
        to[i] = tbed_le32_make(fields[i]);
    f->records_used += nbytes;
}

static inline void fixture_fork(struct fixture *f, uint32_t process, uint32_t pid, uint32_t forked_from,
                                uint64_t tick)
{
    uint32_t fields[8] = {process,    pid, 1, TBED_ID_INVALID, (uint32_t)tick, (uint32_t)(tick >> 32),
                          forked_from};
    fixture_record(f, TBED_RECORD_PROCESS, fields, 8);
}

static inline void fixture_process(struct fixture *f, uint32_t process, uint32_t pid)
{
    fixture_fork(f, process, pid, 0, 0);
}

static inline void fixture_stream_record(struct fixture *f, uint32_t stream, uint32_t process)
{
    fixture_record(f, TBED_RECORD_STREAM,
                   (uint32_t[]){stream, process, TBED_STREAM_THREAD, 1, TBED_ID_INVALID, 0, 0, 0}, 8);
}

/* Marks the pages of a ring as those of blocks that are being written. */
static inline void fixture_mark_ring(struct fixture *f)
{
    for (size_t page = 1; page < f->page_count; page++) {
        uint8_t *entry = (uint8_t *)f->pages + tbed_directory_entry_offset(f->page_nbytes, page);
        if (!tbed_directory_has_page(f->page_nbytes, page))
            tbed_word_store(tbed_mark_at(entry),
                            tbed_mark_word((struct tbed_mark){.state = TBED_MARK_HELD, .process = 1}));
    }
}

/* Closes the file and opens it. */
static inline struct tbed_reader *fixture_open(struct fixture *f)
{
    struct tbed_header_fields fields = {.page_nbytes = f->page_nbytes,
                                        .file_id = FIXTURE_FILE_ID,
                                        .ring_page_count = f->ring ? (uint32_t)f->page_count - 1 : 0,
                                        .clock = TBED_CLOCK_MONOTONIC,
                                        .anchor_monotonic_ns = f->has_clock,
                                        .resolution_ns = f->resolution_ns,
                                        .ticks_per_second = 1000000000};
    if (!f->left_open)
        for (uint32_t stream = 1; stream <= FIXTURE_STREAMS; stream++)
            fixture_seal_stream(f, stream);
    if (f->strings_page != 0)
        fixture_seal(f, f->strings_page, f->strings_used, 0);
    if (f->records_page != 0)
        fixture_seal(f, f->records_page, f->records_used, 0);
    struct tbed_disk_header *header = (void *)f->pages;
    tbed_header_make(header, &fields);
    header->page_count = tbed_le64_make(f->page_count);
    header->next_stream = tbed_le64_make(FIXTURE_STREAMS + 2);
    header->next_string_page = tbed_le64_make(f->string_pages);
    header->next_reserved_id = tbed_le64_make(1000000);
    tbed_directory_build((uint8_t *)f->pages, f->page_nbytes, f->page_count);
    if (f->ring)
        fixture_mark_ring(f);
    if (!f->left_open && !f->ring) {
        header->state = tbed_le32_make(TBED_STATE_SHUT);
        header->closing_checksum = tbed_le64_make(tbed_closing_checksum(
            f->pages, (const uint8_t *)f->pages, f->page_nbytes, tbed_le64_load(header->page_count)));
    }
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {0};
    enum tbed_status status =
        tbed_reader_open_memory(f->pages, f->page_count * f->page_nbytes, NULL, &reader, &error);
    assert_int_equal(status, TBED_OK);
    return reader;
}

static inline uint32_t fixture_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 16);
}

#endif
