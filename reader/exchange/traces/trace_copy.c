/*
 * Makes one trace from others; see trace_copy.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/traces/trace_copy.h"

#include "reader/analysis/filter/filter.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/traces/record_copy.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

/* Sources of less than this may be copied to small pages. */
#define SMALL_NBYTES ((uint64_t)4 << 20)
#define OWNER        1u /* the stream number that owns pages of strings and records */

/* ---- Sources ---- */

static void raise_to(uint64_t *value, uint64_t least)
{
    if (*value < least)
        *value = least;
}

static uint64_t highest_stream(const struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_process_info process;
    struct tbed_load_info load;
    uint64_t highest = OWNER;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        raise_to(&highest, stream.stream);
        raise_to(&highest, stream.process);
        raise_to(&highest, stream.forked_from);
        raise_to(&highest, stream.of_thread);
    }
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++) {
        raise_to(&highest, process.stream);
        raise_to(&highest, process.forked_from);
    }
    for (size_t i = 0; tbed_load_get(reader, i, &load); i++)
        raise_to(&highest, load.process);
    return highest;
}

/* The end of the reserved ids that mean anything. */
static uint64_t meaning_end(const struct tbed_metadata *metadata)
{
    uint64_t end = 0;
    for (size_t i = 0; i < metadata->units.count; i++) {
        const struct tbed_unit_info *unit = &((const struct tbed_keyed_unit *)metadata->units.items)[i].info;
        raise_to(&end, (uint64_t)unit->first_id + unit->id_count);
    }
    for (size_t i = 0; i < metadata->stacks.count; i++) {
        const struct tbed_keyed_stacks *stacks = (const struct tbed_keyed_stacks *)metadata->stacks.items + i;
        raise_to(&end, (uint64_t)stacks->keyed.key + stacks->count);
    }
    for (size_t i = 0; i < metadata->bindings.count; i++) {
        const struct tbed_binding_run *run = (const struct tbed_binding_run *)metadata->bindings.items + i;
        for (uint32_t j = 0; run->pairs != NULL && j < run->count; j++) {
            struct tbed_disk_id_pair pair;
            memcpy(&pair, run->pairs + j * sizeof pair, sizeof pair);
            if (tbed_le32_load(pair.first) < TBED_ID_METADATA)
                raise_to(&end, (uint64_t)tbed_le32_load(pair.first) + 1);
        }
        if (run->pairs == NULL && run->first < TBED_ID_METADATA)
            raise_to(&end, run->end);
    }
    return end;
}

/* How many reserved ids the source may use. */
static uint64_t reserved_end(const struct tbed_reader *reader)
{
    uint64_t end = meaning_end(reader->metadata);
    if (reader->has_counters)
        raise_to(&end, tbed_le64_load(tbed_reader_header(reader)->next_reserved_id));
    return end <= TBED_ID_METADATA ? end : TBED_ID_METADATA;
}

enum tbed_status tbed_trace_copy_add(struct trace_copy *copy, struct copy_source *source,
                                     struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_trace_info info;
    if (tbed_reader_is_reused(reader))
        return TBED_ERR_BUSY;
    tbed_reader_info(reader, &info);
    *source = (struct copy_source){.reader = reader, .filter = filter, .ids.reader = reader};
    source->ids.reserved_end = (uint32_t)reserved_end(reader);
    raise_to(&copy->counters.next_stream, highest_stream(reader) + 1);
    raise_to(&copy->counters.next_reserved_id,
             reader->has_counters ? source->ids.reserved_end : TBED_ID_METADATA);
    for (unsigned i = 0; i < TBED_DROP_CAUSE_COUNT; i++)
        copy->counters.drops[i] = info.drops[i];
    errno = EFBIG;
    return copy->counters.next_stream <= UINT32_MAX ? TBED_OK : TBED_ERR_WRITE;
}

void tbed_copy_source_free(struct copy_source *source)
{
    tbed_id_map_free(&source->ids);
}

void tbed_trace_copy_choose_anchor(const struct tbed_reader *reader, struct tbed_header_fields *fields)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    for (size_t i = 0; i < reader->metadata->anchors.count; i++)
        if (anchors[i].ticks == fields->anchor_ticks &&
            anchors[i].monotonic_ns == fields->anchor_monotonic_ns)
            return;
    if (fields->anchor_monotonic_ns == 0)
        return;
    fields->anchor_ticks = anchors[0].ticks;
    fields->anchor_realtime_ns = anchors[0].realtime_ns;
    fields->anchor_monotonic_ns = anchors[0].monotonic_ns;
}

/* ---- One attempt ---- */

struct attempt {
    struct trace_copy *copy;
    struct trace_file file;
    struct strings_out strings;
    struct records_out records;
    struct stream_copy stream;
    uint8_t *event_page, *record_page;
    struct tbed_copy_report report;
};

static void open_attempt(struct attempt *attempt, int fd)
{
    const struct tbed_header_fields *fields = &attempt->copy->fields;
    tbed_trace_file_open(&attempt->file, fd, fields);
    attempt->event_page = malloc(fields->page_nbytes);
    attempt->record_page = malloc(fields->page_nbytes);
    if (attempt->event_page == NULL || attempt->record_page == NULL)
        tbed_trace_file_fail(&attempt->file, TBED_ERR_MEMORY, ENOMEM);
    attempt->strings = (struct strings_out){.file = &attempt->file, .stream = OWNER};
    attempt->records = (struct records_out){
        .file = &attempt->file, .strings = &attempt->strings, .page = attempt->record_page, .stream = OWNER};
}

static void close_attempt(struct attempt *attempt)
{
    for (size_t i = 0; i < attempt->copy->source_count; i++) {
        struct id_map *ids = &attempt->copy->sources[i].ids;
        tbed_id_map_free(ids);
        memset(ids->cache, 0, sizeof ids->cache);
        ids->near.bytes = NULL;
    }
    tbed_strings_out_free(&attempt->strings);
    tbed_block_out_free(&attempt->stream.out);
    tbed_vector_free(&attempt->stream.initial.vector);
    tbed_lease_empty(&attempt->stream.lease);
    tbed_vector_free(&attempt->stream.pending.vector);
    tbed_trace_file_free(&attempt->file);
    free(attempt->event_page);
    free(attempt->record_page);
}

static void copy_stream(struct attempt *attempt, struct copy_source *source, uint32_t stream)
{
    struct stream_copy *copy = &attempt->stream;
    copy->source = source;
    copy->strings = &attempt->strings;
    tbed_block_out_open(&copy->out, &attempt->file, attempt->event_page, stream + source->first_stream);
    enum tbed_status status = tbed_stream_copy(copy, stream);
    if (status != TBED_OK)
        tbed_trace_file_fail(&attempt->file, status, ENOMEM);
    attempt->report.event_count += copy->out.event_count;
    attempt->report.stream_count += copy->out.event_count > 0;
    attempt->report.dropped_count += copy->out.drop_count;
    attempt->report.loss_count +=
        tbed_records_copy_losses(&attempt->records, source, stream, copy->out.sequence);
}

static void copy_source(struct attempt *attempt, struct copy_source *source)
{
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(source->reader, i, &stream); i++)
        if (tbed_filter_has_stream(source->filter, stream.stream) && attempt->file.status == TBED_OK)
            copy_stream(attempt, source, stream.stream);
    tbed_records_copy(&attempt->records, source);
    tbed_records_copy_anchors(&attempt->records, source, &attempt->copy->fields);
    attempt->report.loss_count += tbed_records_copy_losses(&attempt->records, source, 0, 0);
}

static void put_metadata(struct attempt *attempt)
{
    const char *text = attempt->copy->metadata;
    if (text == NULL)
        return;
    uint32_t id = tbed_strings_out_text(&attempt->strings, text, (uint32_t)strlen(text));
    if (id != TBED_ID_INVALID)
        tbed_records_out_metadata(&attempt->records, id);
}

static void attempt_copy(struct attempt *attempt, int fd)
{
    struct trace_copy *copy = attempt->copy;
    open_attempt(attempt, fd);
    put_metadata(attempt);
    for (size_t i = 0; i < copy->source_count && attempt->file.status == TBED_OK; i++)
        copy_source(attempt, &copy->sources[i]);
    tbed_records_out_close(&attempt->records);
    tbed_strings_out_close(&attempt->strings);
    copy->counters.next_string_page = attempt->strings.page_count;
    tbed_trace_file_finish(&attempt->file, &copy->counters);
    struct tbed_copy_report *report = &attempt->report;
    report->string_count = attempt->strings.string_count;
    report->nbytes = attempt->file.page_count * attempt->file.page_nbytes;
    report->unknown_count = attempt->stream.unknown_count;
    report->closed_count = attempt->stream.closed_count;
    report->dropped_count += attempt->strings.dropped_count + attempt->records.dropped_count;
    report->metadata_count = attempt->records.metadata_count;
}

/* ---- The file ---- */

static uint64_t make_file_id(const struct trace_copy *copy)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof id, GRND_NONBLOCK) != (ssize_t)sizeof id || id == 0)
        id = (copy->sources[0].reader->header.file_id ^ (uint64_t)getpid() << 32) | 1;
    return id;
}

static uint32_t page_nbytes_of(const struct trace_copy *copy, bool *may_be_small_ret)
{
    uint64_t nbytes = 0;
    uint32_t page_nbytes = TBED_PAGE_NBYTES_MIN;
    for (size_t i = 0; i < copy->source_count; i++) {
        const struct tbed_reader *reader = copy->sources[i].reader;
        nbytes += reader->map.nbytes;
        if (reader->header.page_nbytes > page_nbytes)
            page_nbytes = reader->header.page_nbytes;
    }
    *may_be_small_ret = nbytes < SMALL_NBYTES && page_nbytes > TBED_PAGE_NBYTES_MIN;
    return page_nbytes;
}

enum tbed_status tbed_trace_copy(struct trace_copy *copy, int fd, struct tbed_copy_report *report,
                                 struct tbed_error *error)
{
    bool may_be_small;
    uint32_t page_nbytes = page_nbytes_of(copy, &may_be_small);
    copy->fields.file_id = make_file_id(copy);
    copy->fields.page_nbytes = may_be_small ? TBED_PAGE_NBYTES_MIN : page_nbytes;
    for (;;) {
        struct attempt attempt = {.copy = copy};
        attempt_copy(&attempt, fd);
        enum tbed_status status = attempt.file.status;
        int system_errno = attempt.file.system_errno;
        *report = attempt.report;
        close_attempt(&attempt);
        bool fits = copy->fields.page_nbytes == page_nbytes || report->dropped_count == 0;
        if (status == TBED_OK && fits)
            return TBED_OK;
        if (status == TBED_OK && ftruncate(fd, 0) == 0) {
            copy->fields.page_nbytes = page_nbytes;
            continue;
        }
        errno = status != TBED_OK ? system_errno : errno;
        return tbed_exchange_fail(error, status != TBED_OK ? status : TBED_ERR_WRITE);
    }
}

enum tbed_status tbed_trace_copy_to(struct trace_copy *copy, const char *path, bool overwrite,
                                    struct tbed_copy_report *report, struct tbed_error *error)
{
    struct new_file file;
    unsigned mode = 0666;
    for (size_t i = 0; i < copy->source_count; i++)
        mode &= tbed_new_file_mode_of_readers(&copy->sources[i].reader, 1);
    enum tbed_status status = tbed_new_file_open(path, overwrite, mode, &file, error);
    if (status != TBED_OK)
        return status;
    status = tbed_trace_copy(copy, file.fd, report, error);
    if (status == TBED_OK)
        return tbed_new_file_commit(&file, error);
    tbed_new_file_abandon(&file);
    return status;
}
