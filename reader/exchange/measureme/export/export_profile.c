/*
 * Writes a trace as a profile of measureme, format 8 or 9.
 *
 * Source: spec/measureme.md, "Export".
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/sized.h"
#include "format/layout.h"
#include "reader/core/base/number_text.h"
#include "reader/exchange/measureme/export/export.h"
#include "reader/exchange/measureme/import/import.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METADATA_NBYTES_MAX ((size_t)16 << 20)
#define NAME_NBYTES_MAX     1024

/* ---- Metadata ---- */

/* What a trace records about its origin, and measureme's tools expect. */
struct facts {
    int64_t start_realtime_ns;
    uint32_t resolution_ns; /* 0: to a nanosecond */
    uint32_t pid;
    char name[NAME_NBYTES_MAX];
    struct tbed_trace_info info;
};

/* A clock may be related to time in such a way that the resolution is more than any trace may have. */
static uint32_t resolution_ns(const struct tbed_reader *reader, uint64_t ticks)
{
    uint64_t ns = tbed_round_u64(tbed_tick_span_to_ns(reader, ticks));
    return ns < TBED_RESOLUTION_NS_MAX ? (uint32_t)ns : TBED_RESOLUTION_NS_MAX;
}

static void read_facts(struct tbed_reader *reader, struct facts *facts)
{
    struct tbed_process_info process = {.name_id = TBED_ID_INVALID};
    size_t nbytes;
    *facts = (struct facts){0};
    tbed_reader_info(reader, &facts->info);
    if (tbed_process_get(reader, 0, &process))
        tbed_string_resolve(reader, process.name_id, facts->name, sizeof facts->name, &nbytes);
    facts->pid = process.pid;
    if (facts->info.clock != TBED_CLOCK_USER && facts->info.resolution_ticks > 1)
        facts->resolution_ns = resolution_ns(reader, facts->info.resolution_ticks);
    int64_t *start_ns = &facts->start_realtime_ns;
    if (tbed_ticks_to_realtime_ns(reader, facts->info.first_tick, start_ns) != TBED_OK || *start_ns < 0)
        *start_ns = 0;
}

/* Returns whether an import of this metadata, written verbatim, would restore the same trace. */
static bool says_all(const struct import_metadata *found, const struct facts *facts)
{
    bool is_count = facts->info.clock == TBED_CLOCK_USER;
    return found->start_realtime_ns == facts->start_realtime_ns &&
           found->resolution_ns == facts->resolution_ns && found->pid == facts->pid &&
           found->is_count == is_count && strcmp(found->process_name, facts->name) == 0 &&
           (!is_count || strcmp(found->unit, facts->info.clock_unit) == 0);
}

/* For an entry that does not resolve, its own texts, as an import reads them. */
static size_t read_texts(struct tbed_reader *reader, char *text, size_t room)
{
    struct tbed_string_component component;
    uint32_t at = 0;
    size_t nbytes = 0;
    while (tbed_string_component_next(reader, TBED_ID_METADATA, &at, &component) == TBED_OK) {
        if (component.is_reference || component.nbytes > room - nbytes)
            continue;
        if (text != NULL)
            memcpy(text + nbytes, component.text, component.nbytes);
        nbytes += component.nbytes;
    }
    return nbytes;
}

/*
 * Metadata is written verbatim if it has what measureme's tools need, or all that the trace records. False: no
 * memory.
 */
static bool keeps_metadata(struct tbed_reader *reader, const struct facts *facts, bool *keeps_ret)
{
    struct import_metadata found;
    size_t nbytes = 0;
    bool resolves = tbed_string_resolve(reader, TBED_ID_METADATA, NULL, 0, &nbytes) == TBED_OK &&
                    nbytes <= METADATA_NBYTES_MAX;
    if (!resolves)
        nbytes = read_texts(reader, NULL, METADATA_NBYTES_MAX);
    char *text = malloc(nbytes + 1);
    if (text == NULL)
        return false;
    if (resolves)
        tbed_string_resolve(reader, TBED_ID_METADATA, text, nbytes + 1, &nbytes);
    else
        read_texts(reader, text, nbytes);
    tbed_import_metadata_scan(text, nbytes, &found);
    free(text);
    *keeps_ret = (resolves && found.resolution_ns == facts->resolution_ns && found.has_start &&
                  found.has_pid && found.has_command) ||
                 says_all(&found, facts);
    return true;
}

/* Writes the text for JSON. Control bytes become spaces; names do not need them. */
static void put_name(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc((uint8_t)*text < 0x20 ? ' ' : *text, out);
}

static void put_counter(FILE *out, const struct tbed_trace_info *info)
{
    if (info->clock != TBED_CLOCK_USER)
        return;
    fputs(", \"counter\": { \"name\": \"", out);
    put_name(out, info->clock_unit);
    fputs("\", \"units\": [[\"", out);
    put_name(out, info->clock_unit);
    fputs("\", 1]] }", out);
}

/* Writes metadata for a trace without measureme's, and returns its id. */
static uint64_t make_metadata(struct export *export, const struct facts *facts)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    export->is_out_of_memory |= out == NULL;
    if (out == NULL)
        return 0;
    fprintf(out, "{ \"start_time\": %" PRId64 ", \"process_id\": %" PRIu32 ", \"cmd\": \"",
            facts->start_realtime_ns, facts->pid);
    put_name(out, facts->name);
    fputc('"', out);
    if (facts->resolution_ns > 1)
        fprintf(out, ", \"resolution_ns\": %" PRIu32, facts->resolution_ns);
    put_counter(out, &facts->info);
    fputs(" }", out);
    bool has_memory = fclose(out) == 0;
    export->is_out_of_memory |= !has_memory;
    uint64_t id = has_memory ? tbed_export_text(export, text, nbytes) : 0;
    free(text);
    return id;
}

/* ---- Driver ---- */

static enum tbed_status export_all(struct export *export)
{
    struct facts facts;
    bool keeps;
    read_facts(export->reader, &facts);
    if (!keeps_metadata(export->reader, &facts, &keeps))
        return TBED_ERR_MEMORY;
    export->makes_metadata = !keeps;
    if (!tbed_export_strings(export))
        return TBED_ERR_MEMORY;
    enum tbed_status status = tbed_export_events(export);
    if (status != TBED_OK)
        return status;
    uint64_t metadata_id = keeps ? 0 : make_metadata(export, &facts);
    tbed_export_index(export, metadata_id);
    return export->is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

static enum tbed_status export_into(struct tbed_reader *reader, int fd,
                                    const struct tbed_profile_export_options *options,
                                    struct tbed_export_report *report, struct tbed_error *error)
{
    uint32_t version = options->version;
    struct export export = {.reader = reader,
                            .filter = options->filter,
                            .skip_instants = options->skip_instants,
                            .skip_counters = options->skip_counters,
                            .version = version,
                            .report = report};
    errno = ENOMEM;
    if (!tbed_page_writer_open(&export.pages, fd, version))
        return tbed_exchange_fail(error, TBED_ERR_MEMORY);
    enum tbed_status status = export_all(&export);
    tbed_export_free(&export);
    tbed_export_texts_free(export.texts);
    bool is_written = tbed_page_writer_close(&export.pages);
    errno = export.pages.failed_errno;
    if (!is_written)
        return tbed_exchange_fail(error, errno == ENOSPC ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE);
    return status == TBED_OK ? TBED_OK : tbed_exchange_fail(error, status);
}

enum tbed_status tbed_export_profile_sized(struct tbed_reader *reader, const char *path,
                                           const struct tbed_profile_export_options *given,
                                           struct tbed_export_report *report_ret,
                                           struct tbed_error *error_ret, size_t report_nbytes)
{
    struct tbed_export_report report = {0};
    struct new_file file;
    struct tbed_profile_export_options options;
    errno = 0;
    bool is_taken = tbed_options_take(&options, sizeof options, given);
    options.version = options.version != 0 ? options.version : 9;
    if (!is_taken || (options.version != 8 && options.version != 9))
        return tbed_exchange_fail(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status = tbed_new_file_open(path, options.overwrite,
                                                 tbed_new_file_mode_of_readers(&reader, 1), &file, error_ret);
    if (status != TBED_OK)
        return status;
    status = export_into(reader, file.fd, &options, &report, error_ret);
    if (status == TBED_OK)
        status = tbed_new_file_commit(&file, error_ret);
    else
        tbed_new_file_abandon(&file);
    if (report_ret != NULL)
        tbed_sized_give(report_ret, report_nbytes, &report, sizeof report);
    return status;
}
