/*
 * Writes traces as Chrome trace events, stream by stream, in the order of the assembler's steps: a span is written
 * when it ends, with the arguments of its begin.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/sized.h"
#include "reader/core/names/id_info.h"
#include "reader/exchange/chrome/chrome_batches.h"
#include "reader/exchange/events/export_live.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <unistd.h>

struct chrome {
    struct chrome_output output;
    struct chrome_writer writer; /* for metadata */
    struct export_pids taken;

    /* of the current trace */
    const struct tbed_filter *filter; /* NULL: everything */
    struct export_threads threads;
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

static bool is_cancelled(const struct chrome *chrome)
{
    const bool *flag = chrome->writer.options.is_cancelled;
    return flag != NULL && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* ---- One trace ---- */

static enum tbed_status put_stream(struct chrome *chrome, const struct export_thread *thread)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(chrome->writer.reader, &thread->stream, 1, chrome->filter, &assembler);
    if (status != TBED_OK)
        return status;
    while (!is_over(chrome) && !is_cancelled(chrome) &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        tbed_chrome_batches_add(chrome->batches, &step, thread);
    tbed_assembler_close(assembler);
    if (is_cancelled(chrome))
        return TBED_ERR_CANCELLED;
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
    size_t nbytes = index == 0 ? tbed_export_crate(chrome->writer.reader, crate, sizeof crate) : 0;
    open_metadata(chrome, "process_name", chrome->threads.pids[index], 0);
    tbed_text_puts(text, "name\":");
    text->is_out_of_memory |= nbytes == TBED_NO_MEMORY;
    if (nbytes > 0 && nbytes != TBED_NO_MEMORY)
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

/* Viewers order rows by number, which would separate a thread's signal handlers and times off the processor from it. */
static void put_thread_place(struct chrome *chrome, const struct export_thread *thread, size_t place)
{
    open_metadata(chrome, "thread_sort_index", thread->pid, thread->tid);
    tbed_text_puts(&chrome->writer.text, "sort_index\":");
    tbed_text_u64(&chrome->writer.text, place);
    tbed_text_puts(&chrome->writer.text, "}}");
}

static void put_metadata(struct chrome *chrome)
{
    struct tbed_process_info process;
    for (size_t i = 0; tbed_process_get(chrome->writer.reader, i, &process); i++)
        if (has_thread(chrome, chrome->threads.pids[i]))
            put_process(chrome, i, &process);
    for (size_t i = 0; i < chrome->threads.count; i++) {
        const struct export_thread *thread = chrome->threads.rows[i];
        if (chrome->threads.has_parents && !thread->is_guest)
            put_thread_place(chrome, thread, i);
        if (thread->name_id == TBED_ID_INVALID)
            continue;
        open_metadata(chrome, "thread_name", thread->pid, thread->tid);
        tbed_text_puts(&chrome->writer.text, "name\":");
        tbed_chrome_put_id_text(&chrome->writer, thread->name_id);
        tbed_text_puts(&chrome->writer.text, "}}");
    }
}

static enum tbed_status put_streams(struct chrome *chrome)
{
    enum tbed_status status = TBED_OK;
    chrome->batches = tbed_chrome_batches_open(&chrome->writer, &chrome->output);
    if (chrome->batches == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < chrome->threads.count && status == TBED_OK && !is_over(chrome); i++)
        status = put_stream(chrome, chrome->threads.rows[i]);
    tbed_chrome_batches_close(chrome->batches);
    return status;
}

struct live_target {
    struct chrome *chrome;
    uint64_t pid;
};

static bool put_live(void *context, uint64_t tick, uint64_t nbytes)
{
    const struct live_target *target = context;
    tbed_chrome_put_live(&target->chrome->writer, target->pid, tick, nbytes);
    flush(target->chrome);
    return !is_over(target->chrome);
}

/* Live memory instead of the allocation events counted since there were 'known'. */
static enum tbed_status put_memory(struct chrome *chrome, uint64_t known)
{
    struct tbed_chrome_report *report = &chrome->writer.report;
    struct tbed_process_info info;
    enum tbed_status status = TBED_OK;
    uint64_t count = report->allocation_count - known;
    if (count == 0)
        return TBED_OK;
    report->allocation_count = known;
    if (chrome->writer.options.skip_counters) {
        report->counter_count += count;
        return TBED_OK;
    }
    report->live_count += count;
    chrome->writer.needs_comma |= chrome->output.needs_comma;
    for (size_t i = 0; i <= chrome->threads.process_count && status == TBED_OK && !is_over(chrome); i++) {
        bool has_process = tbed_process_get(chrome->writer.reader, i, &info);
        struct live_target target = {.chrome = chrome, .pid = has_process ? chrome->threads.pids[i] : 0};
        status = tbed_export_live(chrome->writer.reader, has_process ? info.stream : 0, chrome->filter,
                                  put_live, &target);
    }
    return status;
}

static enum tbed_status put_trace(struct chrome *chrome, struct tbed_reader *reader,
                                  const struct tbed_filter *filter)
{
    chrome->writer.reader = reader;
    chrome->filter = filter;
    chrome->writer.needs_comma |= chrome->output.needs_comma;
    enum tbed_status status =
        tbed_export_threads_make(reader, filter, chrome->writer.options.collapse_threads, &chrome->taken,
                                 &chrome->writer.report.renumbered_count, &chrome->threads);
    if (status == TBED_OK) {
        put_metadata(chrome);
        flush(chrome);
        uint64_t known = chrome->writer.report.allocation_count;
        status = put_streams(chrome);
        if (status == TBED_OK)
            status = put_memory(chrome, known);
    }
    tbed_export_threads_free(&chrome->threads);
    chrome->threads = (struct export_threads){0};
    return status;
}

/* ---- All traces ---- */

static enum tbed_status put_all(struct chrome *chrome, struct tbed_reader *const *readers, size_t count)
{
    struct export_start *starts = calloc(count + 1, sizeof *starts);
    enum tbed_status status = starts != NULL ? TBED_OK : TBED_ERR_MEMORY;
    for (size_t i = 0; status == TBED_OK && i < count && !chrome->writer.options.absolute; i++)
        status = tbed_export_start_find(readers[i], &starts[i]);
    for (size_t i = 0; i < count && status == TBED_OK; i++) {
        chrome->writer.shift_ns = tbed_export_start_shift(&starts[i], starts, count);
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
    if (chrome->output.out != NULL && chrome->output.write_errno == 0 && fflush(chrome->output.out) != 0)
        chrome->output.write_errno = errno != 0 ? errno : EIO;
    if (status != TBED_OK)
        return status;
    if (is_out_of_memory(chrome))
        return TBED_ERR_MEMORY;
    return chrome->output.write_errno != 0 ? TBED_ERR_WRITE : TBED_OK;
}

static enum tbed_status export_into(FILE *out, struct export_out *packed,
                                    const struct tbed_chrome_options *options,
                                    struct tbed_reader *const *readers, size_t count,
                                    struct tbed_chrome_report *report, size_t report_nbytes,
                                    struct tbed_error *error)
{
    struct chrome chrome = {.output = {.out = out, .packed = packed}};
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

static void give_notes(struct tbed_export_result *result, const struct tbed_chrome_report *report)
{
    uint64_t *notes = result->notes;
    result->written_count = report->event_count;
    result->span_count = report->span_count;
    notes[TBED_EXPORT_NOTE_SKIPPED_INSTANTS] = report->instant_count;
    notes[TBED_EXPORT_NOTE_SKIPPED_COUNTERS] = report->counter_count;
    notes[TBED_EXPORT_NOTE_LIVE] = report->live_count;
    notes[TBED_EXPORT_NOTE_UNKNOWN] = report->unknown_count;
    notes[TBED_EXPORT_NOTE_UNPAIRED] = report->unpaired_count;
    notes[TBED_EXPORT_NOTE_ARGUMENTS] = report->argument_count;
    notes[TBED_EXPORT_NOTE_OPEN] = report->open_count;
    notes[TBED_EXPORT_NOTE_INVERTED] = report->inverted_count;
    notes[TBED_EXPORT_NOTE_OVERLAPPING] = report->beside_count;
    notes[TBED_EXPORT_NOTE_CLIPPED] = report->clipped_count;
    notes[TBED_EXPORT_NOTE_RENUMBERED] = report->renumbered_count;
}

enum tbed_status tbed_chrome_export_file(const struct export_job *job, struct export_out *out)
{
    const struct tbed_chrome_options options = {.size = sizeof options,
                                                .absolute = job->options.absolute,
                                                .collapse_threads = job->options.collapse_threads,
                                                .thread_count = job->options.thread_count,
                                                .skip_instants = job->options.skip_instants,
                                                .skip_counters = job->options.skip_counters,
                                                .filters = job->options.filters,
                                                .is_cancelled = job->options.is_cancelled};
    struct tbed_chrome_report report = {0};
    enum tbed_status status =
        export_into(NULL, out, &options, job->readers, job->reader_count, &report, sizeof report, job->error);
    give_notes(job->result, &report);
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
    return export_into(out, NULL, &options, readers, reader_count, report_ret, report_nbytes, error_ret);
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
        status =
            export_into(out, NULL, &options, readers, reader_count, report_ret, report_nbytes, error_ret);
        if (fclose(out) != 0 && status == TBED_OK)
            status = tbed_exchange_fail(error_ret, TBED_ERR_WRITE);
    }
    if (status == TBED_OK)
        return tbed_new_file_commit(&file, error_ret);
    tbed_new_file_abandon(&file);
    return status;
}
