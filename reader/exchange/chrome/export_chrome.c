/*
 * Writes traces as Chrome trace events, stream by stream, in the order of the assembler's steps: a span is written
 * when it ends, with the arguments of its begin.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/sized.h"
#include "reader/exchange/chrome/chrome_batches.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <unistd.h>

struct chrome {
    struct chrome_output output;
    struct chrome_writer writer; /* for metadata */
    struct chrome_pids taken;

    /* of the current trace */
    const struct tbed_filter *filter; /* NULL: everything */
    struct chrome_threads threads;
    struct chrome_batches *batches;
};

/* Puts out what the writer has written. */
static void flush(struct chrome *chrome)
{
    tbed_chrome_output_put(&chrome->output, &chrome->writer.text);
    chrome->output.needs_comma |= chrome->writer.needs_comma;
    chrome->writer.text.nbytes = 0;
}

static bool is_out_of_memory(const struct chrome *chrome)
{
    return chrome->output.is_out_of_memory || tbed_chrome_is_out_of_memory(&chrome->writer);
}

static bool is_over(const struct chrome *chrome)
{
    return chrome->output.write_errno != 0 || is_out_of_memory(chrome);
}

/* ---- One trace ---- */

static enum tbed_status put_stream(struct chrome *chrome, const struct chrome_thread *thread)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(chrome->writer.reader, &thread->stream, 1, chrome->filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (!is_over(chrome) && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        tbed_chrome_batches_add(chrome->batches, &step, thread);
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

static void open_metadata(struct chrome *chrome, const char *name, uint64_t pid, uint64_t tid)
{
    struct tbed_text *text = &chrome->writer.text;
    tbed_chrome_open_event(&chrome->writer);
    tbed_json_quote(text, name, strlen(name));
    tbed_text_puts(text, ",\"cat\":\"\",\"ph\":\"M\",\"ts\":0,\"pid\":");
    tbed_text_u64(text, pid);
    tbed_text_puts(text, ",\"tid\":");
    tbed_text_u64(text, tid);
    tbed_text_puts(text, ",\"args\":{\"");
}

static void put_process(struct chrome *chrome, size_t index, const struct tbed_process_info *process)
{
    struct tbed_text *text = &chrome->writer.text;
    char crate[256];
    int64_t ns;
    size_t nbytes = index == 0 ? tbed_chrome_crate(chrome->writer.reader, crate, sizeof crate) : 0;
    open_metadata(chrome, "process_name", chrome->threads.pids[index], 0);
    tbed_text_puts(text, "name\":");
    if (nbytes > 0)
        tbed_json_quote(text, crate, nbytes);
    else
        tbed_chrome_put_id_text(&chrome->writer, process->name_id);
    tbed_text_puts(text, "}}");
    if (tbed_ticks_to_realtime_ns(chrome->writer.reader, process->tick, &ns) != TBED_OK)
        return;
    open_metadata(chrome, "process_sort_index", chrome->threads.pids[index], 0);
    tbed_text_puts(text, "sort_index\":");
    tbed_text_i64(text, ns / 1000 - (ns % 1000 < 0));
    tbed_text_puts(text, "}}");
}

/* Is a thread of the process written? */
static bool has_thread(const struct chrome *chrome, uint64_t pid)
{
    for (size_t i = 0; i < chrome->threads.count; i++)
        if (chrome->threads.items[i].pid == pid)
            return true;
    return chrome->filter == NULL;
}

static void put_metadata(struct chrome *chrome)
{
    struct tbed_process_info process;
    for (size_t i = 0; tbed_process_get(chrome->writer.reader, i, &process); i++)
        if (has_thread(chrome, chrome->threads.pids[i]))
            put_process(chrome, i, &process);
    for (size_t i = 0; i < chrome->threads.count; i++) {
        const struct chrome_thread *thread = &chrome->threads.items[i];
        if (thread->name_id == TBED_ID_INVALID)
            continue;
        open_metadata(chrome, "thread_name", thread->pid, thread->tid);
        tbed_text_puts(&chrome->writer.text, "name\":");
        tbed_chrome_put_id_text(&chrome->writer, thread->name_id);
        tbed_text_puts(&chrome->writer.text, "}}");
    }
}

/* Lowers '*first_tick' to the stream's first begin. */
static enum tbed_status find_begin(struct tbed_reader *reader, uint32_t stream, uint64_t *first_tick)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK) {
        uint64_t tick = event.tick;
        if (event.type == TBED_EVENT_SPAN)
            tick = event.of.span.begin_tick;
        else if (event.type == TBED_EVENT_END && event.of.end.begin_tick != 0)
            tick = event.of.end.begin_tick;
        *first_tick = tick < *first_tick ? tick : *first_tick;
    }
    tbed_cursor_close(cursor);
    return status == TBED_END ? TBED_OK : status;
}

/* Lowers '*first_tick' to the first begin of a span that is open in some block, although the begin itself may be lost. */
static void find_open_begin(struct tbed_reader *reader, size_t block_count, uint64_t *first_tick)
{
    for (size_t i = 0; i < block_count; i++) {
        struct tbed_block block;
        uint64_t first = UINT64_MAX, begin_tick;
        uint32_t id;
        if (tbed_event_block_get(reader, i, &block) != TBED_OK)
            continue; /* reported by the cursors of the export */
        for (uint32_t span = 0; span < block.stored_count; span++) {
            tbed_block_open_span(&block, span, &begin_tick, &id);
            first = begin_tick < first ? begin_tick : first;
        }
        bool was_reused = tbed_event_block_get(reader, i, &block) != TBED_OK; /* meanwhile, in a live ring */
        *first_tick = !was_reused && first < *first_tick ? first : *first_tick;
    }
}

/*
 * When the trace began, by its clock and, if known, by the wall clock. The first event left in a ring may be the end
 * of a span.
 */
struct start {
    int64_t ns, realtime_ns;
    bool has_realtime;
};

static enum tbed_status find_start(struct tbed_reader *reader, struct start *start_ret)
{
    struct tbed_trace_info info;
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    tbed_reader_info(reader, &info);
    uint64_t tick = info.first_tick;
    bool is_ring = info.ring_page_count != 0;
    find_open_begin(reader, info.event_block_count, &tick);
    for (size_t i = 0; is_ring && status == TBED_OK && tbed_stream_get(reader, i, &stream); i++)
        status = find_begin(reader, stream.stream, &tick);
    start_ret->ns = tbed_ticks_to_ns(reader, tick);
    start_ret->has_realtime = tbed_ticks_to_realtime_ns(reader, tick, &start_ret->realtime_ns) == TBED_OK;
    return status;
}

/* The offset added to the trace's times: its start is 0, or later if another trace began before it. */
static int64_t find_shift(const struct start *start, const struct start *starts, size_t count)
{
    int64_t first = start->realtime_ns, late, shift;
    for (size_t i = 0; i < count && start->has_realtime; i++)
        if (starts[i].has_realtime && starts[i].realtime_ns < first)
            first = starts[i].realtime_ns;
    bool too_far = !start->has_realtime || __builtin_sub_overflow(start->realtime_ns, first, &late);
    late = too_far ? 0 : late;
    return __builtin_sub_overflow(late, start->ns, &shift) ? 0 : shift;
}

static enum tbed_status put_streams(struct chrome *chrome)
{
    enum tbed_status status = TBED_OK;
    chrome->batches = tbed_chrome_batches_open(&chrome->writer, &chrome->output);
    if (chrome->batches == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < chrome->threads.count && status == TBED_OK && !is_over(chrome); i++)
        status = put_stream(chrome, &chrome->threads.items[i]);
    tbed_chrome_batches_close(chrome->batches);
    return status;
}

static enum tbed_status put_trace(struct chrome *chrome, struct tbed_reader *reader,
                                  const struct tbed_filter *filter)
{
    chrome->writer.reader = reader;
    chrome->filter = filter;
    chrome->writer.needs_comma |= chrome->output.needs_comma;
    enum tbed_status status =
        tbed_chrome_threads_make(reader, filter, chrome->writer.options.collapse_threads, &chrome->taken,
                                 &chrome->writer.report.renumbered_count, &chrome->threads);
    if (status == TBED_OK) {
        put_metadata(chrome);
        flush(chrome);
        status = put_streams(chrome);
    }
    tbed_chrome_threads_free(&chrome->threads);
    chrome->threads = (struct chrome_threads){0};
    return status;
}

/* ---- All traces ---- */

static enum tbed_status put_all(struct chrome *chrome, struct tbed_reader *const *readers, size_t count)
{
    struct start *starts = calloc(count + 1, sizeof *starts);
    enum tbed_status status = starts != NULL ? TBED_OK : TBED_ERR_MEMORY;
    for (size_t i = 0; status == TBED_OK && i < count && !chrome->writer.options.absolute; i++)
        status = find_start(readers[i], &starts[i]);
    for (size_t i = 0; i < count && status == TBED_OK; i++) {
        chrome->writer.shift_ns = find_shift(&starts[i], starts, count);
        status = put_trace(chrome, readers[i],
                           chrome->writer.options.filters != NULL ? chrome->writer.options.filters[i] : NULL);
    }
    free(starts);
    return status;
}

static enum tbed_status put_traces(struct chrome *chrome, struct tbed_reader *const *readers, size_t count)
{
    tbed_text_puts(&chrome->writer.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    enum tbed_status status = put_all(chrome, readers, count);
    tbed_text_puts(&chrome->writer.text, "\n]}\n");
    flush(chrome);
    if (chrome->output.write_errno == 0 && fflush(chrome->output.out) != 0)
        chrome->output.write_errno = errno != 0 ? errno : EIO;
    if (status != TBED_OK)
        return status;
    if (is_out_of_memory(chrome))
        return TBED_ERR_MEMORY;
    return chrome->output.write_errno != 0 ? TBED_ERR_WRITE : TBED_OK;
}

static enum tbed_status export_into(FILE *out, const struct tbed_chrome_options *options,
                                    struct tbed_reader *const *readers, size_t count,
                                    struct tbed_chrome_report *report, size_t report_nbytes,
                                    struct tbed_error *error)
{
    struct chrome chrome = {.output = {.out = out}};
    enum tbed_status status = TBED_ERR_MEMORY;
    if (tbed_chrome_writer_open(&chrome.writer, options))
        status = put_traces(&chrome, readers, count);
    if (report != NULL)
        tbed_sized_give(report, report_nbytes, &chrome.writer.report, sizeof chrome.writer.report);
    errno = chrome.output.write_errno;
    if (status != TBED_OK)
        tbed_exchange_fail(error, status);
    tbed_chrome_writer_close(&chrome.writer);
    free(chrome.taken.items);
    return status;
}

enum tbed_status tbed_export_chrome_stream_sized(struct tbed_reader *const *readers, size_t reader_count,
                                                 FILE *out, const struct tbed_chrome_options *given,
                                                 struct tbed_chrome_report *report_ret,
                                                 struct tbed_error *error_ret, size_t report_nbytes)
{
    struct tbed_chrome_options options;
    if (!tbed_options_take(&options, sizeof options, given))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    return export_into(out, &options, readers, reader_count, report_ret, report_nbytes, error_ret);
}

enum tbed_status tbed_export_chrome_sized(struct tbed_reader *const *readers, size_t reader_count,
                                          const char *to, const struct tbed_chrome_options *given,
                                          struct tbed_chrome_report *report_ret, struct tbed_error *error_ret,
                                          size_t report_nbytes)
{
    struct tbed_chrome_options options;
    struct new_file file;
    if (!tbed_options_take(&options, sizeof options, given))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status = tbed_new_file_open(
        to, options.overwrite, tbed_new_file_mode_of_readers(readers, reader_count), &file, error_ret);
    if (status != TBED_OK)
        return status;
    int fd = dup(file.fd); /* a descriptor of its own, so that closing the stream does not close the file's */
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        status = tbed_exchange_fail(error_ret, TBED_ERR_OPEN);
        if (fd >= 0)
            close(fd);
    } else {
        status = export_into(out, &options, readers, reader_count, report_ret, report_nbytes, error_ret);
        if (fclose(out) != 0 && status == TBED_OK)
            status = tbed_exchange_fail(error_ret, TBED_ERR_WRITE);
    }
    if (status == TBED_OK)
        return tbed_new_file_commit(&file, error_ret);
    tbed_new_file_abandon(&file);
    return status;
}
