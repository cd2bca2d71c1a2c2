/*
 * Sorts events in bounded memory; see sorted_rows.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/foreign/sorted_rows.h"
#include "reader/exchange/shared/file_bytes.h"
#include "reader/exchange/shared/new_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_NBYTES_MIN ((size_t)64 << 10)
#define BUFFER_NBYTES_MAX ((size_t)32 << 20)
#define RUN_MAX           128 /* each is merged through a part of the buffer that holds two rows at least */
_Static_assert(BUFFER_NBYTES_MAX / (RUN_MAX + 1) >= 2 * EVENT_ROW_NBYTES_MAX, "and so does the output");

/* ---- Rows ---- */

struct stored_argument {
    uint32_t type, name_id, nbytes, zero;
    uint64_t value; /* or the first bytes of a text */
};

static bool is_text(uint32_t type)
{
    return type == TBED_ARG_TEXT || type == TBED_ARG_BYTES;
}

static size_t round_up(size_t nbytes)
{
    return (nbytes + 7) & ~(size_t)7;
}

size_t tbed_event_argument_nbytes(const struct tbed_argument *argument)
{
    size_t fixed = offsetof(struct stored_argument, value);
    return fixed + (is_text(argument->type) ? round_up(argument->nbytes) : 8);
}

static char *argument_store(char *to, const struct tbed_argument *argument)
{
    struct stored_argument stored = {
        .type = argument->type, .name_id = argument->name_id, .nbytes = argument->nbytes};
    size_t fixed = offsetof(struct stored_argument, value);
    memcpy(to, &stored, fixed);
    to += fixed;
    if (!is_text(argument->type)) {
        uint64_t value = argument->type == TBED_ARG_ID ? argument->value.id : argument->value.u64;
        memcpy(to, &value, 8);
        return to + 8;
    }
    size_t nbytes = round_up(argument->nbytes);
    if (nbytes > 0) {
        memset(to + nbytes - 8, 0, 8);
        memcpy(to, argument->value.text, argument->nbytes);
    }
    return to + nbytes;
}

void tbed_event_row_arguments(const struct event_row *row, struct tbed_argument *arguments)
{
    const char *at = (const char *)(row + 1);
    size_t fixed = offsetof(struct stored_argument, value);
    for (uint16_t i = 0; i < row->argument_count; i++) {
        struct stored_argument stored;
        memcpy(&stored, at, fixed);
        at += fixed;
        arguments[i] =
            (struct tbed_argument){.type = stored.type, .name_id = stored.name_id, .nbytes = stored.nbytes};
        if (is_text(stored.type)) {
            arguments[i].value.text = at;
            at += round_up(stored.nbytes);
            continue;
        }
        memcpy(&stored.value, at, 8);
        arguments[i].value.u64 = stored.value;
        if (stored.type == TBED_ARG_ID)
            arguments[i].value.id = (uint32_t)stored.value;
        at += 8;
    }
}

/* Spans that never ended come after all else of the time at which they begin: what came last in the file is around the rest. */
static bool is_open(const struct event_row *row)
{
    return row->type == EVENT_ROW_OPEN;
}

static int compare(const struct event_row *a, const struct event_row *b)
{
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)is_open(a) - (int)is_open(b);
}

static int compare_places(const void *left, const void *right)
{
    const struct event_row *a = *(struct event_row *const *)left, *b = *(struct event_row *const *)right;
    int order = compare(a, b), place = (a > b) - (a < b);
    return order != 0 ? order : is_open(a) ? -place : place;
}

/* ---- Runs ---- */

static void sort(struct event_rows *rows)
{
    size_t in_order = 1;
    while (in_order < rows->row_count &&
           compare_places(&rows->rows[in_order - 1], &rows->rows[in_order]) <= 0)
        in_order++;
    if (in_order < rows->row_count)
        qsort(rows->rows, rows->row_count, sizeof(struct event_row *), compare_places);
}

/* Output through a buffer, to the end of a file. */
struct run_writer {
    int fd;
    uint64_t offset;
    char *bytes;
    size_t nbytes, room;
};

static enum tbed_status writer_flush(struct run_writer *writer)
{
    enum tbed_status status =
        file_write(writer->fd, writer->offset, (const uint8_t *)writer->bytes, writer->nbytes);
    writer->offset += writer->nbytes;
    writer->nbytes = 0;
    return status == TBED_OK ? TBED_OK : TBED_ERR_WRITE;
}

static enum tbed_status writer_put(void *context, const struct event_row *row)
{
    struct run_writer *writer = context;
    enum tbed_status status = row->nbytes > writer->room - writer->nbytes ? writer_flush(writer) : TBED_OK;
    memcpy(writer->bytes + writer->nbytes, row, row->nbytes);
    writer->nbytes += row->nbytes;
    return status;
}

/* ---- The merge ---- */

struct run_reader {
    uint64_t offset, end;
    char *bytes; /* a part of the buffer */
    size_t at, nbytes, room;
    const struct event_row *row; /* NULL: no more */
};

static enum tbed_status reader_fill(int fd, struct run_reader *reader)
{
    reader->nbytes -= reader->at;
    memmove(reader->bytes, reader->bytes + reader->at, reader->nbytes);
    reader->at = 0;
    uint64_t left = reader->end - reader->offset;
    size_t room = reader->room - reader->nbytes, nbytes = left < room ? (size_t)left : room;
    if (!file_read(fd, reader->offset, nbytes, (uint8_t *)reader->bytes + reader->nbytes))
        return TBED_ERR_READ;
    reader->nbytes += nbytes;
    reader->offset += nbytes;
    return TBED_OK;
}

static enum tbed_status reader_next(int fd, struct run_reader *reader)
{
    enum tbed_status status = TBED_OK;
    reader->at += reader->row != NULL ? reader->row->nbytes : 0;
    if (reader->nbytes - reader->at < EVENT_ROW_NBYTES_MAX && reader->offset < reader->end)
        status = reader_fill(fd, reader);
    reader->row = status == TBED_OK && reader->at < reader->nbytes
                      ? (const struct event_row *)(const void *)(reader->bytes + reader->at)
                      : NULL;
    return status;
}

/* A heap of readers; the first has the next row. Of equal rows, the one of the earlier run comes first. */
struct merge {
    struct run_reader readers[RUN_MAX];
    struct run_reader *heap[RUN_MAX];
    size_t count;
};

static bool is_before(const struct run_reader *a, const struct run_reader *b)
{
    int order = compare(a->row, b->row);
    return order != 0 ? order < 0 : is_open(a->row) ? a > b : a < b;
}

static void sift_down(struct merge *merge, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merge->count; child++)
            if (is_before(merge->heap[child], merge->heap[least]))
                least = child;
        if (least == at)
            return;
        struct run_reader *reader = merge->heap[at];
        merge->heap[at] = merge->heap[least];
        merge->heap[least] = reader;
        at = least;
    }
}

static enum tbed_status merge_open(struct event_rows *rows, struct merge *merge)
{
    size_t part = (rows->room / (RUN_MAX + 1)) & ~(size_t)7;
    enum tbed_status status = TBED_OK;
    merge->count = 0;
    for (size_t i = 0; i < rows->run_count && status == TBED_OK; i++) {
        struct run_reader *reader = &merge->readers[i];
        *reader = (struct run_reader){.offset = rows->runs[i].offset,
                                      .end = rows->runs[i].offset + rows->runs[i].nbytes,
                                      .bytes = rows->bytes + i * part,
                                      .room = part};
        status = reader_next(rows->fd, reader);
        if (reader->row != NULL)
            merge->heap[merge->count++] = reader;
    }
    for (size_t i = merge->count / 2; i-- > 0;)
        sift_down(merge, i);
    return status;
}

static enum tbed_status merge_runs(struct event_rows *rows,
                                   enum tbed_status (*take)(void *context, const struct event_row *row),
                                   void *context)
{
    struct merge *merge = malloc(sizeof *merge);
    if (merge == NULL)
        return TBED_ERR_MEMORY;
    enum tbed_status status = merge_open(rows, merge);
    while (status == TBED_OK && merge->count > 0) {
        struct run_reader *first = merge->heap[0];
        status = take(context, first->row);
        if (status == TBED_OK)
            status = reader_next(rows->fd, first);
        if (first->row == NULL)
            merge->heap[0] = merge->heap[--merge->count];
        sift_down(merge, 0);
    }
    free(merge);
    return status;
}

/* Makes one run of all, in a file of its own. */
static enum tbed_status unite_runs(struct event_rows *rows)
{
    size_t part = (rows->room / (RUN_MAX + 1)) & ~(size_t)7;
    struct run_writer writer = {
        .fd = tbed_nameless_file(), .bytes = rows->bytes + RUN_MAX * part, .room = part};
    if (writer.fd < 0)
        return TBED_ERR_WRITE;
    enum tbed_status status = merge_runs(rows, writer_put, &writer);
    if (status == TBED_OK)
        status = writer_flush(&writer);
    close(rows->fd);
    rows->fd = writer.fd;
    rows->file_nbytes = writer.offset;
    rows->runs[0] = (struct event_run){0, writer.offset};
    rows->run_count = 1;
    return status;
}

/* ---- The buffer ---- */

/* Writes what is in the buffer as a run. The rows are written where they were sorted to, through a small buffer. */
static enum tbed_status flush(struct event_rows *rows)
{
    struct run_writer writer = {.room = (size_t)1 << 20};
    if (rows->runs == NULL)
        rows->runs = calloc(RUN_MAX, sizeof *rows->runs);
    if (rows->fd == 0)
        rows->fd = tbed_nameless_file();
    if (rows->fd < 0) {
        rows->fd = 0;
        return TBED_ERR_WRITE;
    }
    writer.bytes = malloc(writer.room);
    writer.fd = rows->fd;
    writer.offset = rows->file_nbytes;
    enum tbed_status status = rows->runs != NULL && writer.bytes != NULL ? TBED_OK : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        sort(rows);
    for (size_t i = 0; i < rows->row_count && status == TBED_OK; i++)
        status = writer_put(&writer, rows->rows[i]);
    if (status == TBED_OK)
        status = writer_flush(&writer);
    free(writer.bytes);
    if (status != TBED_OK)
        return status;
    rows->runs[rows->run_count++] = (struct event_run){rows->file_nbytes, writer.offset - rows->file_nbytes};
    rows->file_nbytes = writer.offset;
    rows->nbytes = rows->row_count = 0;
    return rows->run_count == RUN_MAX ? unite_runs(rows) : TBED_OK;
}

/* The rows move with the buffer. */
static bool grow(struct event_rows *rows)
{
    size_t room = rows->room == 0 ? BUFFER_NBYTES_MIN : rows->room * 2;
    char *bytes = malloc(room);
    if (bytes == NULL)
        return false;
    if (rows->nbytes > 0)
        memcpy(bytes, rows->bytes, rows->nbytes);
    for (size_t i = 0; i < rows->row_count; i++)
        rows->rows[i] = (struct event_row *)(void *)(bytes + ((char *)rows->rows[i] - rows->bytes));
    free(rows->bytes);
    rows->bytes = bytes;
    rows->room = room;
    return true;
}

static bool grow_list(struct event_rows *rows)
{
    size_t room = rows->row_room * 2 + 256;
    struct event_row **list = realloc(rows->rows, room * sizeof(struct event_row *));
    if (list == NULL)
        return false;
    rows->rows = list;
    rows->row_room = room;
    return true;
}

enum tbed_status tbed_event_rows_put(struct event_rows *rows, struct event_row row,
                                     const struct tbed_argument *arguments, size_t argument_count)
{
    size_t nbytes = sizeof row;
    for (size_t i = 0; i < argument_count; i++)
        nbytes += tbed_event_argument_nbytes(&arguments[i]);
    row.nbytes = (uint32_t)nbytes;
    row.argument_count = (uint16_t)argument_count;
    row.zero = 0;
    while (nbytes > rows->room - rows->nbytes && rows->room < BUFFER_NBYTES_MAX)
        if (!grow(rows))
            return TBED_ERR_MEMORY;
    enum tbed_status status = nbytes > rows->room - rows->nbytes ? flush(rows) : TBED_OK;
    if (status == TBED_OK && rows->row_count == rows->row_room && !grow_list(rows))
        status = TBED_ERR_MEMORY;
    if (status != TBED_OK)
        return status;
    char *to = rows->bytes + rows->nbytes;
    rows->rows[rows->row_count++] = (struct event_row *)(void *)to;
    memcpy(to, &row, sizeof row);
    to += sizeof row;
    for (size_t i = 0; i < argument_count; i++)
        to = argument_store(to, &arguments[i]);
    rows->nbytes += nbytes;
    return TBED_OK;
}

enum tbed_status tbed_event_rows_take(struct event_rows *rows,
                                      enum tbed_status (*take)(void *context, const struct event_row *row),
                                      void *context)
{
    enum tbed_status status = TBED_OK;
    if (rows->run_count > 0) { /* and there is a row that came after them */
        status = flush(rows);
        free(rows->rows); /* the merge needs none */
        rows->rows = NULL;
        rows->row_room = 0;
        return status == TBED_OK ? merge_runs(rows, take, context) : status;
    }
    sort(rows);
    for (size_t i = 0; i < rows->row_count && status == TBED_OK; i++)
        status = take(context, rows->rows[i]);
    return status;
}

void tbed_event_rows_free(struct event_rows *rows)
{
    if (rows->fd > 0)
        close(rows->fd);
    free(rows->bytes);
    free(rows->rows);
    free(rows->runs);
    *rows = (struct event_rows){0};
}
