/*
 * Imports a foreign file or exports a trace while memory runs out or a file call fails. The call must either return an
 * error and leave nothing behind, or produce its usual result.
 *
 * The input is a foreign file, or a trace that may be followed by a plan (fuzz/support/failing.h). If the plan has an even
 * number of runs, exports have a filter and two threads.
 *
 * Mutator: trace
 * Seeds: fuzz/import/corpus fuzz/rtl_log/corpus fuzz/profile/corpus fuzz/export_profile/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* close_range() */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/destination.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

#define MAGIC     "tracebed"
#define RUNS_MAX  300
#define SUM_START UINT64_C(0xCBF29CE484222325)

static const int file_errnos[] = {EIO, EEXIST, ENOSPC, EINTR};
#define ERRNO_COUNT (sizeof file_errnos / sizeof file_errnos[0])

/* An import or export, and its result when nothing fails. */
struct work {
    enum tbed_status (*call)(struct work *work, const char *to, struct tbed_error *error);
    enum destination destination;
    bool makes_file;
    const uint8_t *data;
    size_t nbytes;
    unsigned thread_count;
    int fd;                     /* the foreign file of an import */
    struct tbed_reader *reader; /* the trace of an export */
    struct tbed_filter *filter; /* what is exported; NULL: everything */
    bool has_filter;
    int file_errno; /* the errno of failing file calls; 0: memory runs out */
    struct tbed_import_report report;
    enum tbed_status status;
    uint64_t sum;
};

/* ---- Results ---- */

static uint64_t add(uint64_t sum, const void *bytes, size_t nbytes)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < nbytes; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001B3);
    return sum;
}

static uint64_t add_name(uint64_t sum, struct tbed_reader *reader, uint32_t id)
{
    char text[64] = "";
    size_t nbytes = 0;
    if (id != TBED_ID_INVALID)
        tbed_string_resolve(reader, id, text, sizeof text, &nbytes);
    return add(sum, text, strlen(text));
}

static uint64_t sum_of_trace(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_event event;
    uint64_t sum = SUM_START;
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        REQUIRE(tbed_cursor_open(reader, stream.stream, &cursor) == TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK) {
            sum = add(sum, &event.tick, sizeof event.tick);
            sum = add_name(add_name(sum, reader, event.id), reader, event.category);
        }
        tbed_cursor_close(cursor);
    }
    return sum;
}

static uint64_t sum_of_file(void)
{
    char bytes[4096];
    uint64_t sum = SUM_START;
    struct tbed_reader *reader;
    FILE *in = fopen(destination_path(), "rb");
    REQUIRE(in != NULL);
    size_t nbytes = fread(bytes, 1, sizeof bytes, in);
    bool is_trace = nbytes > strlen(MAGIC) && memcmp(bytes, MAGIC, strlen(MAGIC)) == 0;
    for (; nbytes > 0; nbytes = fread(bytes, 1, sizeof bytes, in))
        sum = add(sum, bytes, nbytes);
    fclose(in);
    if (!is_trace)
        return sum;
    REQUIRE(tbed_reader_open(destination_path(), NULL, &reader, NULL) == TBED_OK);
    sum = sum_of_trace(reader);
    tbed_reader_close(reader);
    return sum;
}

static uint64_t sum_of_statistics(const struct tbed_statistics *statistics)
{
    const struct tbed_span_row *row;
    uint64_t sum = SUM_START;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        sum = add(sum, row->name, row->name_nbytes);
        sum = add(sum, &row->total_ticks, sizeof row->total_ticks);
    }
    return sum;
}

/* ---- Imports ---- */

static enum tbed_status import(struct work *work, const char *to, struct tbed_error *error)
{
    struct tbed_import_options options = {.size = sizeof options, .overwrite = true};
    return tbed_import_fd(work->fd, to, &options, &work->report, error);
}

static enum tbed_status import_by_path(struct work *work, const char *to, struct tbed_error *error)
{
    return tbed_import(scratch_path("from"), to, NULL, &work->report, error);
}

static enum tbed_status import_open(struct work *work, const char *to, struct tbed_error *error)
{
    (void)to;
    return tbed_import_open_fd(work->fd, &work->reader, &work->report, error);
}

static enum tbed_status count_in_place(struct work *work, const char *to, struct tbed_error *error)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = work->thread_count};
    struct tbed_statistics *statistics = NULL;
    struct tbed_statistics_totals totals;
    (void)to;
    enum tbed_status status = tbed_statistics_make_foreign_fd(work->fd, &options, &statistics, error);
    if (status == TBED_OK) {
        tbed_statistics_totals(statistics, &totals);
        work->report.damage_count = totals.foreign_damage_count;
        work->sum = sum_of_statistics(statistics);
    }
    tbed_statistics_close(statistics);
    return status;
}

/* ---- Exports ---- */

static enum tbed_status export_chrome(struct work *work, const char *to, struct tbed_error *error)
{
    struct tbed_reader *readers[] = {work->reader, work->reader};
    const struct tbed_filter *filters[] = {work->filter, NULL};
    struct tbed_chrome_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .collapse_threads = true,
                                          .thread_count = work->thread_count,
                                          .filters = filters};
    return tbed_export_chrome(readers, 2, to, &options, NULL, error);
}

static enum tbed_status export_profile(struct work *work, const char *to, struct tbed_error *error)
{
    struct tbed_profile_export_options options = {
        .size = sizeof options, .overwrite = true, .filter = work->filter};
    return tbed_export_profile(work->reader, to, &options, NULL, error);
}

static enum tbed_status export_rtl_log(struct work *work, const char *to, struct tbed_error *error)
{
    struct tbed_rtl_options options = {.size = sizeof options, .overwrite = true, .filter = work->filter};
    return tbed_export_rtl_log(work->reader, to, &options, NULL, error);
}

/* ---- Injected failures ---- */

struct descriptors {
    unsigned count, highest;
};

static struct descriptors find_descriptors(void)
{
    struct descriptors found = {0};
    const struct dirent *entry;
    DIR *entries = opendir("/proc/self/fd");
    REQUIRE(entries != NULL);
    while ((entry = readdir(entries)) != NULL) {
        unsigned number = (unsigned)strtoul(entry->d_name, NULL, 10);
        found.count++;
        if (number > found.highest && number != (unsigned)dirfd(entries))
            found.highest = number;
    }
    closedir(entries);
    return found;
}

/* If file calls fail, a writer whose fstat() fails leaves its descriptor, which may be another file's. */
static void check_descriptors(const struct work *work, struct descriptors before)
{
    if (work->file_errno == 0)
        REQUIRE(find_descriptors().count == before.count);
    else
        close_range(before.highest + 1, UINT_MAX, 0);
}

static void call(struct work *work, bool fails)
{
    struct tbed_error error = {.status = TBED_OK};
    const char *to = destination_make(work->destination);
    work->sum = 0;
    if (fails && work->file_errno != 0)
        failing_start_files(work->file_errno);
    else if (fails)
        failing_start();
    work->status = work->call(work, to, &error);
    failing_stop();
    REQUIRE(error.status == work->status);
    if (destination_check(work->destination, work->makes_file ? work->status : TBED_ERR_ARGUMENT, 0))
        work->sum = sum_of_file();
}

/* A profile whose index cannot be built for lack of memory is reported as damaged; the result is then not compared. */
static void expect(const struct work *work, const struct work *expected)
{
    if (work->status == TBED_OK && work->report.damage_count > expected->report.damage_count)
        REQUIRE(failing_count() > 0);
    else
        REQUIRE(work->status == expected->status && work->sum == expected->sum);
}

static void import_failing(void *context)
{
    const struct work *expected = context;
    struct work work = *expected;
    struct descriptors before = find_descriptors();
    call(&work, true);
    if (work.status == TBED_OK && work.reader != NULL)
        work.sum = sum_of_trace(work.reader);
    if (work.status == TBED_OK || failing_count() == 0)
        expect(&work, expected);
    tbed_reader_close(work.reader);
    check_descriptors(&work, before);
}

static void check_import(struct work work)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX};
    static const struct failing_plan each_and_later = {.run_count = RUNS_MAX, .all_later = true};
    call(&work, false);
    if (work.reader != NULL)
        work.sum = sum_of_trace(work.reader);
    tbed_reader_close(work.reader);
    work.reader = NULL;
    failing_run(&each, import_failing, &work);
    work.file_errno = file_errnos[work.nbytes % ERRNO_COUNT];
    failing_run(&each, import_failing, &work);
    failing_run(&each_and_later, import_failing, &work);
}

static void check_imports(const uint8_t *data, size_t nbytes)
{
    struct work work = {.fd = file_of_input(data, nbytes), .nbytes = nbytes, .thread_count = 1 + nbytes % 2};
    scratch_put(scratch_path("from"), data, nbytes);
    work.call = import_open;
    check_import(work);
    work.call = count_in_place;
    check_import(work);
    work.makes_file = true;
    work.call = import_by_path;
    check_import(work);
    work.call = import;
    work.destination = DESTINATION_FILE;
    check_import(work);
    close(work.fd);
}

static void open_trace(struct work *work)
{
    struct tbed_trace_info info;
    work->reader = open_input(work->data, work->nbytes);
    if (work->reader == NULL || !work->has_filter)
        return;
    tbed_reader_info(work->reader, &info);
    struct tbed_filter_options options = {
        .size = sizeof options, .begin_tick = info.first_tick + (info.last_tick - info.first_tick) / 3};
    REQUIRE(tbed_filter_make(work->reader, &options, &work->filter, NULL) == TBED_OK);
}

static void close_trace(struct work *work)
{
    tbed_filter_close(work->filter);
    tbed_reader_close(work->reader);
    work->filter = NULL;
}

/* After a failed export, the next one with the same reader must succeed. */
static void export_failing(void *context)
{
    const struct work *expected = context;
    struct work work = *expected;
    struct descriptors before = find_descriptors();
    open_trace(&work);
    REQUIRE(work.reader != NULL);
    call(&work, true);
    if (work.status == TBED_OK || failing_count() == 0)
        expect(&work, expected);
    call(&work, false);
    expect(&work, expected);
    close_trace(&work);
    check_descriptors(&work, before);
}

static void check_export(const struct failing_plan *plan, struct work work)
{
    open_trace(&work);
    if (work.reader == NULL)
        return;
    call(&work, false);
    close_trace(&work);
    failing_run(plan, export_failing, &work);
    for (size_t i = 0; i < ERRNO_COUNT; i++) {
        work.file_errno = file_errnos[i];
        failing_run(plan, export_failing, &work);
    }
}

static void check_exports(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct work work = {.data = data, .nbytes = nbytes, .makes_file = true};
    work.has_filter = plan.run_count % 2 == 0;
    work.thread_count = work.has_filter ? 2 : 1;
    work.call = export_chrome;
    check_export(&plan, work);
    work.call = export_profile;
    work.destination = DESTINATION_FILE;
    check_export(&plan, work);
    work.call = export_rtl_log;
    work.destination = DESTINATION_FREE;
    check_export(&plan, work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    bool is_trace = nbytes >= strlen(MAGIC) && memcmp(data, MAGIC, strlen(MAGIC)) == 0;
    if (is_trace)
        check_exports(data, nbytes);
    else
        check_imports(data, nbytes);
    return 0;
}
