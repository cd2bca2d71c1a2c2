/*
 * Statistics made directly from a profile must equal those of the imported trace, unless they show the numbers of ids,
 * which the import assigns anew. Cache hits are compared only for profiles of one thread: they depend on the order of
 * events across threads, which a trace does not keep.
 *
 * Seeds: fuzz/import/corpus spec/golden/measureme
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

static void compare_row(const struct tbed_span_row *a, const struct tbed_span_row *b, uint64_t thread_count)
{
    REQUIRE(a->name_nbytes == b->name_nbytes && memcmp(a->name, b->name, a->name_nbytes) == 0);
    REQUIRE(a->count == b->count && a->open_count == b->open_count && a->unknown_count == b->unknown_count);
    REQUIRE(a->total_ticks == b->total_ticks && a->self_ticks == b->self_ticks);
    REQUIRE(a->min_ticks == b->min_ticks && a->max_ticks == b->max_ticks && a->p90_ticks == b->p90_ticks);
    REQUIRE(a->time_ticks == b->time_ticks && a->invocation_count == b->invocation_count);
    REQUIRE(a->cache_misses == b->cache_misses);
    REQUIRE(a->cache_hits == b->cache_hits || thread_count > 1);
    REQUIRE(a->blocked_ticks == b->blocked_ticks && a->load_ticks == b->load_ticks);
    REQUIRE(a->hashing_ticks == b->hashing_ticks);
}

static void compare(const struct tbed_statistics *in_place, const struct tbed_statistics *imported,
                    uint64_t thread_count)
{
    const struct tbed_span_row *row;
    const struct tbed_artifact_row *artifact;
    size_t count = 0;
    for (; (row = tbed_statistics_span(in_place, count)) != NULL; count++) {
        REQUIRE(tbed_statistics_span(imported, count) != NULL);
        compare_row(row, tbed_statistics_span(imported, count), thread_count);
    }
    REQUIRE(tbed_statistics_span(imported, count) == NULL);
    for (count = 0; (artifact = tbed_statistics_artifact(in_place, count)) != NULL; count++) {
        const struct tbed_artifact_row *other = tbed_statistics_artifact(imported, count);
        REQUIRE(other != NULL && strcmp(artifact->name, other->name) == 0);
        REQUIRE(artifact->count == other->count && artifact->value == other->value);
    }
    REQUIRE(tbed_statistics_artifact(imported, count) == NULL);
}

/* Artifacts alone are those that all events have. */
static void check_artifacts(int fd, const struct tbed_statistics *in_place)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .only_artifacts = true};
    const struct tbed_artifact_row *artifact;
    struct tbed_statistics *alone;
    size_t count = 0;
    REQUIRE(tbed_statistics_make_foreign_fd(fd, &options, &alone, NULL) == TBED_OK);
    for (; (artifact = tbed_statistics_artifact(alone, count)) != NULL; count++) {
        const struct tbed_artifact_row *other = tbed_statistics_artifact(in_place, count);
        REQUIRE(other != NULL && strcmp(artifact->name, other->name) == 0);
        REQUIRE(artifact->count == other->count && artifact->value == other->value);
    }
    REQUIRE(tbed_statistics_artifact(in_place, count) == NULL);
    REQUIRE(tbed_statistics_span(alone, 0) == NULL);
    tbed_statistics_close(alone);
}

static bool shows_ids(const struct tbed_statistics *statistics)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++)
        if (strstr(row->name, "<id ") != NULL) /* also within a label */
            return true;
    return false;
}

/* Options of a later version must be refused, and so must files that are not profiles. */
static void check_refused(int fd)
{
    struct {
        struct tbed_analysis_options known;
        uint64_t later;
    } options = {.known.size = sizeof options, .later = 1};
    struct tbed_statistics *statistics = NULL;
    enum tbed_status status = tbed_statistics_make_foreign_fd(fd, NULL, &statistics, NULL);
    enum tbed_status expected = status == TBED_OK ? TBED_ERR_ARGUMENT : status;
    tbed_statistics_close(statistics);
    REQUIRE(tbed_statistics_make_foreign_fd(fd, &options.known, &statistics, NULL) == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *in_place = NULL, *imported = NULL;
    struct tbed_import_report report;
    struct tbed_reader *reader;
    int fd = file_of_input(data, nbytes);
    scratch_folder(); /* sets where imports are stored */
    if (tbed_statistics_make_foreign_fd(fd, &options, &in_place, NULL) == TBED_OK) {
        REQUIRE(tbed_import_open_fd(fd, &reader, &report, NULL) == TBED_OK);
        REQUIRE(tbed_statistics_make(reader, &options, &imported) == TBED_OK);
        if (!shows_ids(in_place) && report.drop_count == 0)
            compare(in_place, imported, report.thread_count);
        tbed_reader_close(reader);
        check_artifacts(fd, in_place);
    }
    check_refused(fd);
    tbed_statistics_close(imported);
    tbed_statistics_close(in_place);
    close(fd);
    return 0;
}
