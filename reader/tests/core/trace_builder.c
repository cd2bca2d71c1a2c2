/*
 * Builds traces in memory for tests; see trace_builder.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include "format/checksum.h"
#include "format/file/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

uint32_t trace_page(const struct trace *trace, uint32_t page)
{
    uint32_t first = tbed_directory_first_count(trace->page_nbytes);
    return page < first ? page : page + (page - first) / tbed_directory_page_count(trace->page_nbytes) + 1;
}

struct trace trace_make_paged(uint32_t page_count, uint32_t page_nbytes)
{
    struct trace trace = {.page_nbytes = page_nbytes, .page_count = page_count};
    struct tbed_header_fields fields = {
        .page_nbytes = page_nbytes,
        .file_id = TRACE_FILE_ID,
        .clock = TBED_CLOCK_MONOTONIC,
        .ticks_per_second = TRACE_TICKS_PER_SECOND,
        .anchor_ticks = 1000,
        .anchor_realtime_ns = 5000000000,
        .anchor_monotonic_ns = 1000,
    };
    page_count = trace_page(&trace, page_count - 1) + 1;
    trace.page_count = page_count;
    trace.nbytes = (size_t)page_count * page_nbytes;
    trace.bytes = aligned_alloc(page_nbytes, trace.nbytes);
    assert_non_null(trace.bytes);
    memset(trace.bytes, 0, trace.nbytes);
    tbed_header_make(trace.bytes, &fields);
    trace_header(&trace)->page_count = tbed_le64_make(page_count);
    trace_header(&trace)->next_stream = tbed_le64_make(TRACE_NEXT_STREAM);
    trace_header(&trace)->next_string_page = tbed_le64_make(1000);
    return trace;
}

struct trace trace_make(uint32_t page_count)
{
    return trace_make_paged(page_count, 4096);
}

void trace_free(struct trace *trace)
{
    free(trace->bytes);
}

void trace_header_mend(struct trace *trace)
{
    trace_header(trace)->checksum =
        tbed_le64_make(tbed_header_checksum(trace->bytes, TBED_HEADER_FIXED_NBYTES));
}

static tbed_le64 closing_checksum(const struct trace *trace)
{
    return tbed_le64_make(tbed_closing_checksum(trace->bytes, trace->bytes, trace->page_nbytes,
                                                trace->nbytes / trace->page_nbytes));
}

/* The pages [from, end). */
static void build_directory(struct trace *trace, uint64_t from, uint64_t end)
{
    struct tbed_disk_header *header = trace_header(trace);
    tbed_le64 before = closing_checksum(trace);
    bool was_right = memcmp(&header->closing_checksum, &before, sizeof before) == 0;
    for (uint64_t page = from; page < end; page++)
        tbed_directory_build_page(trace->bytes, trace->page_nbytes, page);
    if (was_right)
        header->closing_checksum = closing_checksum(trace);
}

void trace_directory(struct trace *trace)
{
    build_directory(trace, 1, trace->nbytes / trace->page_nbytes);
}

void trace_shut(struct trace *trace)
{
    trace_header(trace)->state = tbed_le32_make(TBED_STATE_SHUT);
    trace_header(trace)->closing_checksum = closing_checksum(trace);
    trace_directory(trace);
}

static uint8_t log2_of(uint32_t power_of_two)
{
    return (uint8_t)__builtin_ctz(power_of_two);
}

static struct trace_block begin(struct trace *trace, uint32_t page, uint32_t cell, uint32_t nbytes,
                                const struct tbed_disk_block *header)
{
    page = trace_page(trace, page);
    struct trace_block block = {
        .trace = trace,
        .bytes = trace->bytes + (size_t)page * trace->page_nbytes + (size_t)cell * nbytes,
        .nbytes = nbytes,
        .at = TBED_BLOCK_HEADER_NBYTES,
    };
    struct tbed_disk_block *disk = trace_block_header(&block);
    *disk = *header;
    disk->shift = log2_of(nbytes);
    disk->cell = tbed_le16_make((uint16_t)cell);
    disk->page = tbed_le32_make(page);
    disk->file_id = tbed_le64_make(TRACE_FILE_ID);
    disk->first_tick = tbed_le64_make(1000);
    build_directory(trace, page, (uint64_t)page + 1);
    return block;
}

struct trace_block trace_block_begin(struct trace *trace, uint32_t page, enum tbed_block_kind kind,
                                     uint32_t stream, uint32_t sequence)
{
    struct tbed_disk_block header = {.kind = (uint8_t)kind};
    header.stream = tbed_le32_make(stream);
    header.sequence = tbed_le32_make(sequence);
    if (kind == TBED_BLOCK_STRINGS)
        header.string_page = tbed_le32_make(sequence);
    return begin(trace, page, 0, trace->page_nbytes, &header);
}

struct trace_block trace_events_begin_deep(struct trace *trace, uint32_t page, uint32_t stream,
                                           uint32_t sequence, uint32_t depth)
{
    struct trace_block block = trace_block_begin(trace, page, TBED_BLOCK_EVENTS, stream, sequence);
    uint32_t stored = tbed_block_stored_count(block.nbytes, depth);
    trace_block_header(&block)->depth = tbed_le32_make(depth);
    for (uint32_t i = depth - stored; i < depth; i++) {
        struct tbed_disk_open_span *span = (struct tbed_disk_open_span *)(block.bytes + block.at);
        span->begin_tick = tbed_le64_make(100 + i);
        span->id = tbed_le32_make(10 + i);
        block.at += (uint32_t)sizeof *span;
    }
    return block;
}

void trace_cells_page(struct trace *trace, uint32_t page, uint32_t stream, uint32_t sequence,
                      uint32_t ordinal)
{
    struct trace_block block = trace_block_begin(trace, page, TBED_BLOCK_CELLS, stream, sequence);
    trace_block_header(&block)->shift = TRACE_CELL_SHIFT;
    trace_block_header(&block)->string_page = tbed_le32_make(ordinal);
    memcpy(block.bytes + block.at, trace->bytes, TBED_HEADER_COPY_NBYTES);
    block.at += TBED_HEADER_COPY_NBYTES;
    trace_seal(&block);
}

struct trace_block trace_cell_begin(struct trace *trace, uint32_t page, uint32_t cell,
                                    enum tbed_block_kind kind, uint32_t stream, uint32_t sequence)
{
    struct tbed_disk_block header = {.kind = (uint8_t)kind};
    const struct tbed_disk_block *cells =
        (const struct tbed_disk_block *)(trace->bytes + (size_t)trace_page(trace, page) * trace->page_nbytes);
    header.stream = tbed_le32_make(stream);
    header.sequence = tbed_le32_make(sequence);
    if (kind == TBED_BLOCK_STRINGS)
        header.string_page = cells->string_page;
    return begin(trace, page, cell, 1u << TRACE_CELL_SHIFT, &header);
}

void trace_word(struct trace_block *block, uint64_t word)
{
    assert_true(block->at + 8 <= block->nbytes);
    tbed_word_store(block->bytes + block->at, word);
    block->at += 8;
}

void trace_event(struct trace_block *block, enum tbed_tag tag, uint32_t id, uint64_t delta)
{
    trace_word(block, tbed_event_make(tag, id, delta));
    uint64_t tick = tbed_le64_load(trace_block_header(block)->first_tick) + delta;
    block->last_tick = tick > block->last_tick ? tick : block->last_tick;
}

void trace_extended(struct trace_block *block, uint32_t id, uint64_t delta, struct tbed_extended_head head,
                    const uint64_t *words)
{
    trace_event(block, TBED_TAG_EXTENDED, id, delta);
    trace_word(block, tbed_extended_head_make(head));
    for (uint32_t i = 0; words != NULL && i + 1 < head.nwords; i++)
        trace_word(block, words[i]);
}

void trace_argument(struct trace_block *block, uint32_t type, uint32_t name_id, const void *value,
                    uint32_t nbytes)
{
    uint64_t number;
    trace_word(block, tbed_argument_head_make((struct tbed_argument_head){type, nbytes, name_id}));
    if (tbed_argument_is_scalar(type) && nbytes == sizeof number) { /* 'value' is this machine's */
        memcpy(&number, value, nbytes);
        trace_word(block, number);
        return;
    }
    memcpy(block->bytes + block->at, value, nbytes);
    block->at += (uint32_t)tbed_round_up(nbytes, 8);
}

uint32_t trace_content(struct trace_block *block, const void *content, uint32_t nbytes)
{
    const struct tbed_disk_block *header = trace_block_header(block);
    struct tbed_disk_string *entry = (struct tbed_disk_string *)(block->bytes + block->at);
    uint64_t page_offset = (uint64_t)(block->bytes - block->trace->bytes) % block->trace->page_nbytes;
    uint32_t id = tbed_string_id_make(tbed_le32_load(header->string_page), block->trace->page_nbytes,
                                      (uint32_t)page_offset + block->at);
    assert_true(block->at + tbed_string_entry_nbytes(nbytes) <= block->nbytes);
    entry->nbytes = tbed_le32_make(nbytes);
    entry->hash = tbed_le32_make(tbed_string_hash(content, nbytes));
    memcpy(entry->content, content, nbytes);
    block->at += (uint32_t)tbed_string_entry_nbytes(nbytes);
    return id;
}

uint32_t trace_string(struct trace_block *block, const char *text)
{
    size_t nbytes = strlen(text);
    uint8_t *content = malloc(nbytes + 1);
    assert_non_null(content);
    memcpy(content, text, nbytes);
    content[nbytes] = TBED_STRING_TERMINATOR;
    uint32_t id = trace_content(block, content, (uint32_t)nbytes + 1);
    free(content);
    return id;
}

uint32_t trace_references(struct trace_block *block, const uint32_t *ids, size_t count)
{
    uint8_t *content = malloc(count * 4 + 1);
    size_t at = 0;
    assert_non_null(content);
    for (size_t i = 0; i < count; i++) {
        uint32_t word = 0x80000000u | ids[i];
        content[at++] = (uint8_t)(word >> 24);
        content[at++] = (uint8_t)(word >> 16);
        content[at++] = (uint8_t)(word >> 8);
        content[at++] = (uint8_t)word;
    }
    content[at++] = TBED_STRING_TERMINATOR;
    uint32_t id = trace_content(block, content, (uint32_t)at);
    free(content);
    return id;
}

void trace_record(struct trace_block *block, uint32_t type, const uint32_t *fields, size_t field_count)
{
    uint32_t nbytes = (uint32_t)tbed_round_up(TBED_RECORD_HEAD_NBYTES + field_count * 4, 8);
    assert_true(block->at + nbytes <= block->nbytes);
    tbed_word_store(block->bytes + block->at, tbed_record_head_make(type, nbytes));
    tbed_le32 *to = (tbed_le32 *)(block->bytes + block->at + TBED_RECORD_HEAD_NBYTES);
    for (size_t i = 0; i < field_count; i++)
        to[i] = tbed_le32_make(fields[i]);
    block->at += nbytes;
}

void trace_bind(struct trace_block *block, uint32_t first_id, uint32_t id_count, uint32_t string_id)
{
    trace_record(block, TBED_RECORD_BIND, (uint32_t[]){first_id, id_count, string_id, 0}, 4);
}

void trace_unit(struct trace_block *block, uint32_t first_id, uint32_t id_count, uint32_t name_id,
                uint64_t base)
{
    uint32_t fields[] = {first_id, id_count,       TBED_UNIT_NATIVE,      2, name_id, TBED_ID_INVALID, 7,
                         0,        (uint32_t)base, (uint32_t)(base >> 32)};
    trace_record(block, TBED_RECORD_UNIT, fields, sizeof fields / sizeof fields[0]);
}

void trace_seal(struct trace_block *block)
{
    struct tbed_disk_block *disk = trace_block_header(block);
    uint64_t first_tick = tbed_le64_load(disk->first_tick);
    disk->last_tick = tbed_le64_make(block->last_tick > first_tick ? block->last_tick : first_tick);
    disk->used_nbytes = tbed_le32_make(block->at);
    disk->checksum = tbed_le64_make(tbed_block_checksum(block->bytes, block->at));
    if (block->trace == NULL) /* a cell */
        return;
    uint64_t page = (uint64_t)(block->bytes - block->trace->bytes) / block->trace->page_nbytes;
    build_directory(block->trace, page, page + 1);
}

enum tbed_status trace_open_status(const void *bytes, size_t nbytes)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {0};
    enum tbed_status status = tbed_reader_open_memory(bytes, nbytes, NULL, &reader, &error);
    assert_int_equal(error.status, status);
    tbed_reader_close(reader);
    return status;
}

struct tbed_reader *trace_open(struct trace *trace)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {0};
    if (!trace->keeps_directory)
        trace_directory(trace);
    assert_int_equal(tbed_reader_open_memory(trace->bytes, trace->nbytes, NULL, &reader, &error), TBED_OK);
    return reader;
}

enum tbed_status trace_verify(struct trace *trace, uint64_t *count_ret)
{
    struct tbed_reader *reader = trace_open(trace);
    enum tbed_status status = tbed_reader_verify(reader);
    if (count_ret != NULL)
        *count_ret = tbed_damage_count(reader);
    tbed_reader_close(reader);
    return status;
}

size_t trace_events(struct tbed_reader *reader, uint32_t stream, struct tbed_event *events, size_t capacity)
{
    struct tbed_cursor *cursor = NULL;
    struct tbed_merge *merge = NULL;
    struct tbed_event event;
    size_t count = 0;
    if (stream != 0)
        assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    else
        assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while ((stream != 0 ? tbed_cursor_next(cursor, &event) : tbed_merge_next(merge, &event)) == TBED_OK) {
        if (count < capacity)
            events[count] = event;
        count++;
    }
    tbed_cursor_close(cursor);
    tbed_merge_close(merge);
    return count;
}
