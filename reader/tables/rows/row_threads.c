/*
 * Threads and processes of rows; see row_threads.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/rows/row_threads.h"

#include "reader/analysis/filter/filter.h"
#include "reader/core/names/id_info.h"

#include <stdio.h>

/* ---- Constraints ---- */

bool tbed_scan_allows_text(const struct tbed_scan *scan, uint32_t column, const char *text, size_t nbytes)
{
    for (size_t i = 0; i < scan->options.constraint_count; i++) {
        const struct tbed_constraint *constraint = &scan->options.constraints[i];
        if (constraint->column != column || constraint->compare != TBED_EQUAL || !constraint->is_text)
            continue;
        if (constraint->nbytes != nbytes || (nbytes > 0 && memcmp(constraint->text, text, nbytes) != 0))
            return false;
    }
    return true;
}

bool tbed_scan_allows_number(const struct tbed_scan *scan, uint32_t column, int64_t number)
{
    int64_t least, greatest;
    tbed_scan_range(scan, column, &least, &greatest);
    return number >= least && number <= greatest;
}

/* ---- Names ---- */

/* A name that is not empty, as a code; false: no memory. 'code_ret' is untouched if the name is empty. */
static bool code_of_id(struct tbed_scan *scan, uint32_t id, uint32_t *code_ret)
{
    size_t nbytes = id != TBED_ID_INVALID ? tbed_id_spell(scan->reader, id, TBED_NAME_ALL, NULL, 0) : 0;
    if (nbytes == 0)
        return true;
    char *text = nbytes != TBED_NO_MEMORY ? malloc(nbytes + 1) : NULL;
    if (text == NULL)
        return false;
    size_t made = tbed_id_text(scan->reader, id, TBED_NAME_ALL, text, nbytes + 1);
    bool fine = tbed_table_names_add(&scan->names, text, made < nbytes ? made : nbytes, code_ret);
    free(text);
    return fine;
}

static bool code_of_number(struct tbed_scan *scan, const char *what, uint32_t number, uint32_t *code_ret)
{
    char text[32];
    int nbytes = snprintf(text, sizeof text, "%s %u", what, number);
    return tbed_table_names_add(&scan->names, text, (size_t)nbytes, code_ret);
}

#define NO_CODE UINT32_MAX

static bool name_thread(struct tbed_scan *scan, const struct tbed_stream_info *stream, uint32_t *code_ret)
{
    uint32_t code = NO_CODE;
    bool fine = code_of_id(scan, stream->name_id, &code);
    if (fine && code == NO_CODE)
        fine = stream->kind == TBED_STREAM_THREAD ? code_of_number(scan, "thread", stream->tid, &code)
                                                  : code_of_number(scan, "stream", stream->stream, &code);
    *code_ret = code;
    return fine;
}

static bool name_process(struct tbed_scan *scan, const struct tbed_process_info *process, uint32_t *code_ret)
{
    static const char none[] = "<no process>", unnamed[] = "<unnamed process>";
    uint32_t code = NO_CODE;
    if (process == NULL)
        return tbed_table_names_add(&scan->names, none, sizeof none - 1, code_ret);
    bool fine = code_of_id(scan, process->name_id, &code);
    if (fine && code == NO_CODE)
        fine = process->pid != 0 ? code_of_number(scan, "process", process->pid, &code)
                                 : tbed_table_names_add(&scan->names, unnamed, sizeof unnamed - 1, &code);
    *code_ret = code;
    return fine;
}

/* ---- Opening ---- */

/* Processes are in ascending order. */
static bool find_process(const struct tbed_reader *reader, size_t count, uint32_t number,
                         struct tbed_process_info *process)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tbed_process_get(reader, middle, process) && process->stream < number)
            low = middle + 1;
        else
            high = middle;
    }
    return number != 0 && tbed_process_get(reader, low, process) && process->stream == number;
}

static bool allows_code(const struct tbed_scan *scan, uint32_t column, uint32_t code)
{
    const char *text;
    size_t nbytes;
    tbed_table_names_get(&scan->names, code, &text, &nbytes);
    return tbed_scan_allows_text(scan, column, text, nbytes);
}

static bool is_wanted(const struct tbed_scan *scan, const struct row_thread_columns *columns,
                      const struct row_thread *thread)
{
    return tbed_filter_has_stream(scan->options.filter, thread->stream) &&
           tbed_scan_allows_number(scan, columns->track, thread->stream) &&
           (thread->tid < 0 || tbed_scan_allows_number(scan, columns->tid, thread->tid)) &&
           (thread->pid < 0 || tbed_scan_allows_number(scan, columns->pid, thread->pid)) &&
           allows_code(scan, columns->thread, thread->thread_code) &&
           allows_code(scan, columns->process, thread->process_code);
}

static bool open_thread(struct tbed_scan *scan, const struct row_thread_columns *columns,
                        size_t process_count, const struct tbed_stream_info *stream,
                        struct row_thread *thread)
{
    struct tbed_process_info process;
    bool has_process = find_process(scan->reader, process_count, stream->process, &process);
    bool has_tid =
        stream->kind == TBED_STREAM_THREAD || (stream->kind == TBED_STREAM_HANDLERS && stream->tid != 0);
    *thread = (struct row_thread){.stream = stream->stream,
                                  .process = has_process ? stream->process : 0,
                                  .tid = has_tid ? (int64_t)stream->tid : -1,
                                  .pid = has_process ? (int64_t)process.pid : -1};
    bool fine = name_thread(scan, stream, &thread->thread_code) &&
                name_process(scan, has_process ? &process : NULL, &thread->process_code);
    thread->is_wanted = fine && is_wanted(scan, columns, thread);
    return fine;
}

bool tbed_row_threads_open(struct row_threads *threads, struct tbed_scan *scan,
                           const struct row_thread_columns *columns)
{
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    size_t process_count = 0, count = 0;
    while (tbed_process_get(scan->reader, process_count, &process))
        process_count++;
    while (tbed_stream_get(scan->reader, count, &stream))
        count++;
    threads->count = 0;
    threads->items = calloc(count + 1, sizeof *threads->items);
    for (size_t i = 0; threads->items != NULL && i < count; i++) {
        if (!tbed_stream_get(scan->reader, i, &stream))
            break;
        if (!open_thread(scan, columns, process_count, &stream, &threads->items[threads->count++]))
            return false;
    }
    return threads->items != NULL;
}

void tbed_row_threads_close(struct row_threads *threads)
{
    free(threads->items);
}

/* ---- Rows ---- */

const struct row_thread *tbed_row_thread_find(const struct row_threads *threads, uint32_t stream)
{
    size_t low = 0, high = threads->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (threads->items[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low < threads->count && threads->items[low].stream == stream ? &threads->items[low] : NULL;
}

static void put_number(struct table_rows *rows, unsigned column, int64_t number)
{
    if (number >= 0)
        table_put_i64(rows, column, number);
    else
        tbed_table_put_null(rows, column);
}

void tbed_row_thread_put(struct table_rows *rows, const struct row_thread_columns *columns,
                         const struct row_thread *thread)
{
    table_put_code(rows, columns->thread, thread->thread_code);
    table_put_code(rows, columns->process, thread->process_code);
    put_number(rows, columns->tid, thread->tid);
    put_number(rows, columns->pid, thread->pid);
    table_put_i64(rows, columns->track, thread->stream);
}
