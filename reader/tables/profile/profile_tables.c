/*
 * A profile that is open as tables; see profile_tables.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/profile/profile_tables.h"

#include "reader/exchange/shared/new_file.h"
#include "reader/tables/profile/profile_state.h"

#include <unistd.h>

/* ---- Imports ---- */

enum tbed_status tbed_profile_keep_damage(struct tbed_tables *tables, const struct tbed_import_report *report)
{
    size_t count = report->damage_count < TBED_IMPORT_DAMAGE_KEPT ? (size_t)report->damage_count
                                                                  : TBED_IMPORT_DAMAGE_KEPT;
    tables->foreign_damages = calloc(count + 1, sizeof *tables->foreign_damages);
    if (tables->foreign_damages == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        tables->foreign_damages[i] = (struct tbed_damage){.status = report->damages[i].status,
                                                          .offset = report->damages[i].offset,
                                                          .page = UINT64_MAX,
                                                          .detail = report->damages[i].detail};
    tables->foreign_damages_kept = count;
    tables->foreign_damage_count = report->damage_count;
    return TBED_OK;
}

static enum tbed_status import_to(struct tbed_tables *tables, int fd, struct tbed_reader **reader_ret,
                                  struct tbed_error *error)
{
    const struct profile *profile = tables->foreign;
    struct tbed_import_report *report = calloc(1, sizeof *report);
    if (report == NULL)
        return tbed_exchange_fail(error, TBED_ERR_MEMORY);
    enum tbed_status status = tbed_import_write(profile->file, fd, report, error);
    if (status == TBED_OK)
        status = tbed_reader_open_fd(fd, NULL, reader_ret, error);
    if (status == TBED_OK && tbed_profile_keep_damage(tables, report) != TBED_OK) {
        tbed_reader_close(*reader_ret);
        *reader_ret = NULL;
        status = tbed_exchange_fail(error, TBED_ERR_MEMORY);
    }
    free(report);
    return status;
}

static struct tbed_reader *import(struct tbed_tables *tables, struct tbed_error *error_ret)
{
    struct tbed_reader *reader = NULL;
    int fd = tbed_nameless_file();
    if (fd < 0) {
        tbed_exchange_fail(error_ret, TBED_ERR_WRITE);
        return NULL;
    }
    import_to(tables, fd, &reader, error_ret);
    close(fd);
    return reader;
}

/* ---- Opening ---- */

static uint64_t damage_count(const struct tbed_tables *tables)
{
    const struct profile *profile = tables->foreign;
    return profile->info.damage_count;
}

static uint64_t row_estimate(const struct tbed_tables *tables)
{
    const struct profile *profile = tables->foreign;
    return mm_event_count(profile->file);
}

static enum tbed_status make_statistics(const struct tbed_tables *tables,
                                        const struct tbed_analysis_options *options,
                                        struct tbed_statistics **statistics_ret)
{
    const struct profile *profile = tables->foreign;
    return tbed_profile_statistics(profile->file, options, statistics_ret);
}

static void close_profile(struct tbed_tables *tables)
{
    struct profile *profile = tables->foreign;
    tbed_profile_labels_close(profile->labels);
    tbed_text_budget_free(profile->budget);
    mm_close(profile->file);
    free(profile);
}

static const struct table_foreign calls = {
    .import = import,
    .damage_count = damage_count,
    .row_estimate = row_estimate,
    .close = close_profile,
    .statistics = make_statistics,
    .reads = tbed_profile_reads,
    .scan_open = tbed_profile_scan_open,
    .scan_next = tbed_profile_scan_next,
    .scan_close = tbed_profile_scan_close,
};

static bool open_strings(struct profile *profile)
{
    mm_info(profile->file, &profile->info);
    profile->budget = tbed_text_budget_make();
    if (profile->budget == NULL)
        return false;
    tbed_text_budget_limit(profile->budget, tbed_text_budget_usual(profile->info.file_nbytes));
    if (!tbed_import_metadata_read(profile->file, profile->info.metadata_id, &profile->metadata))
        return false;
    profile->labels = tbed_profile_labels_open(profile->file, profile->budget, &profile->strings);
    return profile->labels != NULL;
}

enum tbed_status tbed_profile_tables_open(const char *path, struct tbed_tables **tables_ret,
                                          struct tbed_error *error_ret)
{
    struct tbed_tables *tables = NULL;
    struct profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL || tbed_tables_of_reader(NULL, &tables) != TBED_OK) {
        free(profile);
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    }
    tables->foreign = profile;
    tables->foreign_calls = &calls;
    enum tbed_status status = mm_open(path, &profile->file, error_ret);
    if (status == TBED_OK && !open_strings(profile))
        status = tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    if (status == TBED_OK)
        *tables_ret = tables;
    else
        tbed_tables_close(tables);
    return status;
}
