/*
 * Writes the recovered trace: its blocks in the order of their pages, without the gaps, and LOST records.
 *
 * Source: spec/format.md, sections 3, 8 and 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/record.h"
#include "writer/base/fail.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/copy/recover.h"
#include "writer/file/file.h"
#include "writer/pages/pages.h"

struct output {
    struct tbed_recover *recover;
    uint8_t *map;
    uint32_t page_nbytes;
    uint32_t lost_stream; /* of the blocks of LOST records */
    uint64_t page_count;
};

/* ---- Places ---- */

static uint64_t page_next(struct output *output)
{
    output->page_count += tbed_directory_has_page(output->page_nbytes, output->page_count);
    return output->page_count++;
}

static size_t lost_per_page(const struct output *output)
{
    return (output->page_nbytes - TBED_BLOCK_HEADER_NBYTES) / sizeof(struct tbed_disk_lost);
}

/* False: more pages than a file can have. */
static bool place_blocks(struct output *output)
{
    struct tbed_recover *recover = output->recover;
    output->page_count = 1;
    for (size_t i = 0; i < recover->found.count; i++) {
        struct tbed_found *found = tbed_found_at(recover, i);
        found->new_page = found->cell == 0 ? (uint32_t)page_next(output) : (uint32_t)output->page_count - 1;
        found->new_sequence = found->sequence;
        recover->result.moved_count += !found->is_in_place && found->offset != UINT64_MAX;
        recover->result.block_count += found->kind != TBED_BLOCK_CELLS;
    }
    return output->page_count + recover->losses.count / lost_per_page(output) + 2 <= UINT32_MAX;
}

/* ---- Rings become files in append mode, whose streams have no gaps ---- */

static int compare_ring(const struct tbed_found *found, const struct tbed_loss *loss)
{
    if (found->stream != loss->stream)
        return found->stream < loss->stream ? -1 : 1;
    if (found->sequence != loss->first_sequence)
        return found->sequence < loss->first_sequence ? -1 : 1;
    return loss->count == 0 ? 1 : -1;
}

/* 'order' has the event blocks by stream and sequence; the losses are sorted too, and those of events are in the middle. */
static void renumber(struct tbed_recover *recover, struct tbed_found **order, size_t count)
{
    struct tbed_loss *loss = recover->losses.items, *end = loss != NULL ? loss + recover->losses.count : NULL;
    uint32_t stream = 0, next = 0;
    while (loss < end && loss->kind < TBED_BLOCK_EVENTS)
        loss++;
    for (size_t i = 0; i < count || (loss < end && loss->kind == TBED_BLOCK_EVENTS);) {
        bool has_loss = loss < end && loss->kind == TBED_BLOCK_EVENTS;
        bool is_loss = has_loss && (i == count || compare_ring(order[i], loss) > 0);
        uint32_t now = is_loss ? loss->stream : order[i]->stream;
        next = now == stream ? next : 0;
        stream = now;
        if (is_loss) {
            loss->first_sequence = next;
            next += loss++->count;
        } else {
            order[i++]->new_sequence = next++;
        }
    }
}

static int compare_events(const void *a, const void *b)
{
    const struct tbed_found *x = *(struct tbed_found *const *)a, *y = *(struct tbed_found *const *)b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static bool renumber_ring(struct tbed_recover *recover)
{
    struct tbed_found **order = calloc(recover->found.count + 1, sizeof *order);
    size_t count = 0;
    if (order == NULL)
        return false;
    for (size_t i = 0; i < recover->found.count; i++)
        if (tbed_found_at(recover, i)->kind == TBED_BLOCK_EVENTS)
            order[count++] = tbed_found_at(recover, i);
    qsort(order, count, sizeof *order, compare_events);
    renumber(recover, order, count);
    free(order);
    return true;
}

/* ---- Blocks ---- */

static void write_block(const struct output *output, const struct tbed_found *found)
{
    uint8_t *block = output->map + (uint64_t)found->new_page * output->page_nbytes +
                     ((uint64_t)found->cell << (found->cell != 0 ? found->shift : 0));
    struct tbed_disk_block *header = (struct tbed_disk_block *)(void *)block;
    if (found->offset != UINT64_MAX)
        tbed_recover_load(output->recover, found, block);
    tbed_recover_mend(block, (enum tbed_block_kind)found->kind, found->used_nbytes);
    header->kind = (uint8_t)found->kind;
    header->shift = (uint8_t)found->shift;
    header->page = tbed_le32_make(found->new_page);
    header->file_id = tbed_le64_make(output->recover->fields.file_id);
    header->stream = tbed_le32_make(found->stream);
    header->sequence = tbed_le32_make(found->new_sequence);
    header->generation = tbed_le32_make(0);
    header->string_page = tbed_le32_make(found->kind == TBED_BLOCK_EVENTS ? 0 : found->string_page);
    header->first_tick = tbed_le64_make(found->first_tick);
    if (found->kind == TBED_BLOCK_CELLS)
        memcpy(block + TBED_BLOCK_HEADER_NBYTES, output->map, TBED_HEADER_COPY_NBYTES);
    tbed_block_seal_alone(block, found->used_nbytes, found->last_tick);
}

/* ---- LOST records ---- */

static void write_lost(uint8_t *to, const struct tbed_loss *loss)
{
    struct tbed_disk_lost lost = {
        .head = tbed_le64_make(tbed_record_head_make(TBED_RECORD_LOST, sizeof lost)),
        .stream = tbed_le32_make(loss->stream),
        .kind = tbed_le32_make(loss->kind),
        .first_sequence = tbed_le32_make(loss->first_sequence),
        .count = tbed_le32_make(loss->count),
        .first_tick = tbed_le64_make(loss->first_tick),
        .last_tick = tbed_le64_make(loss->last_tick),
        .nbytes = tbed_le64_make(loss->nbytes),
    };
    memcpy(to, &lost, sizeof lost);
}

static void write_lost_page(const struct output *output, uint64_t page, uint32_t sequence, size_t first)
{
    const struct tbed_recover *recover = output->recover;
    const struct tbed_loss *losses = recover->losses.items;
    uint8_t *block = output->map + page * output->page_nbytes;
    uint32_t used = TBED_BLOCK_HEADER_NBYTES;
    struct tbed_disk_block header = {
        .kind = TBED_BLOCK_RECORDS,
        .shift = (uint8_t)recover->page_shift,
        .page = tbed_le32_make((uint32_t)page),
        .file_id = tbed_le64_make(recover->fields.file_id),
        .stream = tbed_le32_make(output->lost_stream),
        .sequence = tbed_le32_make(sequence),
    };
    memcpy(block, &header, sizeof header);
    for (size_t i = first; i < recover->losses.count && i < first + lost_per_page(output); i++) {
        write_lost(block + used, &losses[i]);
        used += (uint32_t)sizeof(struct tbed_disk_lost);
    }
    tbed_block_seal_alone(block, used, 0);
}

/* ---- The header page ---- */

static void note_stream(uint64_t *next, uint32_t stream)
{
    if (stream != UINT32_MAX && stream >= *next)
        *next = (uint64_t)stream + 1;
}

/* Records name streams that need not have blocks. */
static void note_streams_of_records(const struct tbed_recover *recover, const struct tbed_found *found,
                                    uint64_t *next)
{
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    tbed_recover_load(recover, found, recover->scratch);
    while (found->used_nbytes - at >= TBED_RECORD_HEAD_NBYTES) {
        uint64_t head = tbed_word_load(recover->scratch + at);
        uint32_t type = tbed_record_head_type(head);
        if (tbed_record_head_check(head, found->used_nbytes - at) != TBED_OK)
            return;
        if (type == TBED_RECORD_PROCESS || type == TBED_RECORD_STREAM)
            note_stream(next, tbed_word32_load(recover->scratch + at + TBED_RECORD_HEAD_NBYTES));
        at += tbed_record_head_nbytes(head);
    }
}

static uint64_t next_stream(const struct tbed_recover *recover)
{
    const struct tbed_loss *losses = recover->losses.items, *known = recover->known.items;
    uint64_t next = recover->counters_are_good ? tbed_le64_load(recover->header->next_stream) : 1;
    next = next != 0 && next <= UINT32_MAX ? next : 1;
    for (size_t i = 0; i < recover->found.count; i++) {
        note_stream(&next, tbed_found_at(recover, i)->stream);
        if (tbed_found_at(recover, i)->kind == TBED_BLOCK_RECORDS)
            note_streams_of_records(recover, tbed_found_at(recover, i), &next);
    }
    for (size_t i = 0; i < recover->losses.count; i++)
        note_stream(&next, losses[i].stream);
    for (size_t i = 0; i < recover->known.count; i++)
        note_stream(&next, known[i].stream);
    return next;
}

static uint64_t next_string_page(const struct tbed_recover *recover)
{
    uint64_t next = recover->counters_are_good ? tbed_le64_load(recover->header->next_string_page) : 0;
    for (size_t i = 0; i < recover->found.count; i++) {
        const struct tbed_found *found = tbed_found_at(recover, i);
        bool has_one = found->kind == TBED_BLOCK_STRINGS || found->kind == TBED_BLOCK_CELLS;
        if (has_one && found->string_page >= next)
            next = (uint64_t)found->string_page + 1;
    }
    return next;
}

/* Where the counters are lost, no reserved id is free any more. */
static void finish_header(const struct output *output, uint64_t next_stream)
{
    const struct tbed_recover *recover = output->recover;
    struct tbed_disk_header *to = (struct tbed_disk_header *)(void *)output->map;
    bool has_counters = recover->counters_are_good;
    uint64_t interrupted = 0;
    for (size_t i = 0; i < recover->found.count; i++)
        interrupted += tbed_found_at(recover, i)->is_interrupted;
    to->page_count = tbed_le64_make(output->page_count);
    to->next_stream = tbed_le64_make(next_stream);
    to->next_string_page = tbed_le64_make(next_string_page(recover));
    to->next_reserved_id = tbed_le64_make(has_counters ? tbed_le64_load(recover->header->next_reserved_id)
                                                       : TBED_ID_MAX_RESERVED + 1);
    for (size_t i = 0; i <= TBED_DROP_SANDBOX && has_counters; i++) /* those that this version knows */
        to->drops[i] = recover->header->drops[i];
    uint64_t drops = tbed_le64_load(to->drops[TBED_DROP_INTERRUPTED]);
    to->drops[TBED_DROP_INTERRUPTED] = tbed_le64_make(drops + interrupted);
}

/* ---- The file ---- */

static enum tbed_status write_mapped(struct output *output, uint64_t nbytes, int fd)
{
    struct tbed_recover *recover = output->recover;
    struct tbed_header_fields fields = recover->fields;
    uint64_t next = next_stream(recover);
    fields.ring_page_count = 0;
    tbed_header_make(output->map, &fields);
    output->lost_stream = next <= UINT32_MAX - 1 ? (uint32_t)next : UINT32_MAX - 1;
    for (size_t i = 0; i < recover->found.count; i++)
        write_block(output, tbed_found_at(recover, i));
    for (size_t i = 0; i < recover->losses.count; i += lost_per_page(output))
        write_lost_page(output, page_next(output), (uint32_t)(i / lost_per_page(output)), i);
    tbed_directory_build(output->map, output->page_nbytes, output->page_count);
    finish_header(output, recover->losses.count > 0 ? (uint64_t)output->lost_stream + 1 : next);
    return tbed_file_shut(output->map, nbytes, output->page_nbytes, fd)
               ? TBED_OK
               : tbed_fail(recover->error, TBED_ERR_WRITE, errno);
}

enum tbed_status tbed_recover_write(struct tbed_recover *recover, int fd)
{
    struct output output = {.recover = recover, .page_nbytes = recover->fields.page_nbytes};
    if (!place_blocks(&output))
        return tbed_fail(recover->error, TBED_ERR_WRITE, EFBIG);
    if (tbed_recover_was_overwritten(recover) && !renumber_ring(recover))
        return tbed_fail(recover->error, TBED_ERR_MEMORY, ENOMEM);
    uint64_t lost_pages = (recover->losses.count + lost_per_page(&output) - 1) / lost_per_page(&output);
    uint64_t nbytes =
        (output.page_count + lost_pages + lost_pages / tbed_directory_page_count(output.page_nbytes) + 1)
        << recover->page_shift;
    int result = ftruncate(fd, 0) == 0 ? tbed_file_extend(fd, 0, nbytes) : errno;
    if (result != 0)
        return tbed_fail(recover->error,
                         result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE, result);
    output.map = tbed_shared_map(fd, nbytes, PROT_READ | PROT_WRITE);
    if (output.map == NULL)
        return tbed_fail(recover->error, TBED_ERR_MAP, errno);
    enum tbed_status status = write_mapped(&output, nbytes, fd);
    tbed_shared_unmap(output.map, nbytes);
    return status;
}
