/*
 * Converts a profile to a trace.
 *
 * Strings and events are independent of each other in a profile, and are imported on separate threads.
 *
 * Source: spec/measureme.md, "Import".
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/measureme/import/import.h"
#include "reader/exchange/shared/import_drops.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S            1000000000u
#define METADATA_NBYTES_MAX ((size_t)16 << 20)
#define PARALLEL_EVENT_MIN  10000 /* fewer are done before a thread could start */

/* ---- Metadata ---- */

struct entry_text {
    char *text; /* NULL: there is none */
    size_t nbytes;
    bool is_whole;
};

/* Reads the intact part of an entry's text, without its references. The caller frees it. False: no memory. */
static bool read_text(const struct mm_file *file, uint64_t id, struct entry_text *text)
{
    struct mm_string_walk walk;
    struct mm_component component;
    enum tbed_status status;
    uint64_t address;
    if (!mm_string_address(file, id, &address))
        return true;
    mm_string_walk_start(file, address, &walk);
    while ((status = mm_component_next(&walk, &component)) == TBED_OK) {
        size_t more = component.is_reference ? 0 : component.nbytes;
        if (more > METADATA_NBYTES_MAX - text->nbytes)
            break;
        char *grown = realloc(text->text, text->nbytes + more + 1);
        if (grown == NULL)
            return false;
        text->text = grown;
        if (more > 0)
            memcpy(grown + text->nbytes, component.text, more);
        text->nbytes += more;
    }
    text->is_whole = status == TBED_END;
    return true;
}

bool tbed_import_metadata_read(const struct mm_file *file, uint64_t id, struct import_metadata *metadata_ret)
{
    struct entry_text text = {0};
    bool has_memory = read_text(file, id, &text);
    tbed_import_metadata_scan(text.text != NULL ? text.text : "", text.nbytes, metadata_ret);
    free(text.text);
    if (text.is_whole)
        return has_memory;
    /* Without metadata, the trace cannot record that its ticks are the profile's. */
    metadata_ret->has_start = false;
    metadata_ret->start_realtime_ns = 0;
    return has_memory;
}

/* ---- Import ---- */

static enum tbed_status open_trace(struct import *import, int fd, struct tbed_error *error)
{
    struct import_metadata metadata;
    errno = ENOMEM;
    if (!tbed_import_metadata_read(import->file, import->info.metadata_id, &metadata))
        return tbed_exchange_fail(error, TBED_ERR_MEMORY);
    struct tbed_writer_options options = {
        .size = sizeof options,
        .process_name = metadata.process_name,
        .process_pid = metadata.pid != 0 ? metadata.pid : TBED_PID_UNKNOWN,
        .first_reserved_id = IMPORT_FIRST_FRESH,
        .given_ticks = true,
        .given_ticks_per_second = metadata.is_count ? 0 : NS_PER_S,
        .given_realtime_ns = metadata.is_count ? 0 : metadata.start_realtime_ns,
        .given_resolution_ns = metadata.is_count ? 0 : metadata.resolution_ns,
        .user_clock_unit = metadata.is_count ? metadata.unit : NULL,
    };
    return tbed_writer_open_fd(fd, &options, &import->writer, error);
}

static void *run_strings(void *import)
{
    return tbed_import_strings(import) == TBED_OK ? NULL : import;
}

static enum tbed_status import_both(struct import *import)
{
    pthread_t thread;
    /*
     * The old formats need new ids for all strings: without concurrency, these are always assigned in the same order.
     */
    bool is_parallel = import->info.version >= 4 && import->info.event_count >= PARALLEL_EVENT_MIN &&
                       pthread_create(&thread, NULL, run_strings, import) == 0;
    enum tbed_status status = is_parallel ? TBED_OK : tbed_import_strings(import);
    void *failed = NULL;
    if (status == TBED_OK)
        status = tbed_import_events(import);
    if (is_parallel)
        pthread_join(thread, &failed);
    if (failed != NULL)
        return TBED_ERR_MEMORY;
    return status == TBED_OK ? tbed_import_strings_finish(import) : status;
}

static void report_damage(const struct import *import)
{
    struct tbed_import_report *report = import->report;
    const struct import_damage *more = &import->string_damage;
    struct mm_damage damage;
    size_t kept = 0;
    for (; kept < TBED_IMPORT_DAMAGE_KEPT && mm_damage_get(import->file, kept, &damage); kept++)
        report->damages[kept] =
            (struct tbed_import_damage){damage.status, (uint32_t)damage.file, damage.offset, damage.detail};
    for (size_t i = 0; kept < TBED_IMPORT_DAMAGE_KEPT && i < more->count; i++)
        report->damages[kept++] = more->kept[i];
    report->damage_count = import->info.damage_count + more->count;
}

enum tbed_status tbed_import_write(const struct mm_file *file, int fd, struct tbed_import_report *report,
                                   struct tbed_error *error_ret)
{
    struct import import = {.file = file, .report = report};
    mm_info(file, &import.info);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_PROFILE,
                                          .version = import.info.version,
                                          .file_nbytes = import.info.file_nbytes,
                                          .unpaired_count = import.info.unmatched_start_count +
                                                            import.info.unmatched_end_count};
    enum tbed_status status = open_trace(&import, fd, error_ret);
    if (status != TBED_OK)
        return status;
    tbed_import_ids_start(&import.ids, import.writer, &import.info);
    bool has_marks = tbed_import_marks_open(&import.marks, file, &import.info);
    status = has_marks ? import_both(&import) : TBED_ERR_MEMORY;
    if (import.ids.is_out_of_memory)
        status = TBED_ERR_MEMORY;
    tbed_import_strings_free(&import);
    tbed_import_marks_close(&import.marks);
    errno = ENOMEM;
    if (status != TBED_OK)
        tbed_exchange_fail(error_ret, status);
    else
        status = tbed_import_count_drops(import.writer, report, error_ret);
    tbed_writer_free(import.writer);
    tbed_import_ids_end(&import.ids);
    report_damage(&import);
    return status;
}
