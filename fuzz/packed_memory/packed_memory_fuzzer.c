/*
 * Packs a trace, unpacks it and reads it packed, while memory runs out or a file call fails: each must return an error or
 * give what it gives otherwise.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h. With an odd number of runs, two threads
 * work.
 *
 * Mutator: trace
 * Link with: -Wl,--wrap=dlopen
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tracebed/analysis.h>
#include <tracebed/export.h>
#include <unistd.h>

#include "fuzz/support/exported.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "reader/exchange/packed/pack_trace.h"

#define RUNS_MAX 16

struct work {
    uint64_t (*call)(struct work *work); /* FAILING_NO_MEMORY: it has failed */
    int plain, packed;
    unsigned thread_count;
    int file_errno; /* 0: memory fails */
    uint64_t expected;
};

static uint64_t sum_of(int fd)
{
    struct stat status;
    REQUIRE(fstat(fd, &status) == 0);
    size_t nbytes = (size_t)status.st_size;
    void *bytes = mmap(NULL, nbytes + 1, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(bytes != MAP_FAILED);
    uint64_t sum = failing_sum(FAILING_SUM_START, bytes, nbytes);
    munmap(bytes, nbytes + 1);
    return sum;
}

/* ---- What is done ---- */

static int new_file(void)
{
    int fd = memfd_create("new", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
}

static void start(const struct work *work)
{
    if (work->file_errno > 0)
        failing_start_files(work->file_errno);
    else if (work->file_errno == 0)
        failing_start();
}

static uint64_t finish(int fd, enum tbed_status status, const struct tbed_error *error)
{
    failing_stop();
    REQUIRE(status == TBED_OK || error->status == status);
    uint64_t seen = status == TBED_OK ? sum_of(fd) : FAILING_NO_MEMORY;
    close(fd);
    return seen;
}

static uint64_t pack(struct work *work)
{
    struct pack_report report;
    struct tbed_error error = {.status = TBED_OK};
    int fd = new_file();
    start(work);
    enum tbed_status status = tbed_trace_pack(work->plain, fd, work->thread_count, &report, &error);
    return finish(fd, status, &error);
}

static uint64_t unpack(struct work *work)
{
    struct pack_report report;
    struct tbed_error error = {.status = TBED_OK};
    int fd = new_file();
    start(work);
    enum tbed_status status = tbed_trace_unpack(work->packed, fd, work->thread_count, false, &report, &error);
    return finish(fd, status, &error);
}

static uint64_t unpack_partly(struct work *work)
{
    struct pack_report report;
    struct tbed_error error = {.status = TBED_OK};
    int fd = new_file();
    start(work);
    enum tbed_status status = tbed_trace_unpack(work->packed, fd, work->thread_count, true, &report, &error);
    return finish(fd, status, &error);
}

/* All of its events, with their arguments, and statistics. */
static uint64_t use(struct tbed_reader *reader, int fd, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_export_options export_options = {.size = sizeof export_options, .thread_count = thread_count};
    struct tbed_export_result result;
    struct tbed_statistics *statistics;
    struct tbed_statistics_totals totals = {.span_count = 0};
    enum tbed_status status =
        tbed_export_fd(format_of_kind(TBED_FOREIGN_CHROME), &reader, 1, fd, &export_options, &result, NULL);
    if (status == TBED_OK)
        status = tbed_statistics_make(reader, &options, &statistics);
    if (status == TBED_OK) {
        tbed_statistics_totals(statistics, &totals);
        tbed_statistics_close(statistics);
    }
    return status == TBED_OK ? failing_mix(result.nbytes, totals.span_count) : FAILING_NO_MEMORY;
}

static uint64_t read_packed(struct work *work)
{
    struct tbed_reader *reader;
    struct tbed_error error = {.status = TBED_OK};
    uint64_t seen = FAILING_NO_MEMORY;
    int fd = new_file();
    start(work);
    enum tbed_status status = tbed_reader_open_fd(work->packed, NULL, &reader, &error);
    if (status == TBED_OK) {
        seen = use(reader, fd, work->thread_count);
        failing_stop();
        tbed_reader_close(reader);
    }
    failing_stop();
    REQUIRE(status == TBED_OK || error.status == status);
    close(fd);
    return seen;
}

/* ---- Libraries that are missing ---- */

static bool has_no_libraries;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    return has_no_libraries ? NULL : __real_dlopen(name, flags);
}

/* Without libzstd nothing can be packed or unpacked. */
static void check_library(struct work *work)
{
    static uint64_t (*const calls[])(struct work *) = {pack, unpack, read_packed};
    work->file_errno = -1;
    has_no_libraries = true;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        REQUIRE(calls[i](work) == FAILING_NO_MEMORY);
    has_no_libraries = false;
}

/* What is packed is not packed again, and what is not cannot be unpacked; nobody needs to ask why. */
static void check_twice(const struct work *work)
{
    struct pack_report report;
    int fd = new_file();
    REQUIRE(tbed_trace_pack(work->packed, fd, 1, &report, NULL) == TBED_ERR_PACKED);
    REQUIRE(tbed_trace_unpack(work->plain, fd, 1, false, &report, NULL) == TBED_ERR_NOT_PACKED);
    REQUIRE(tbed_trace_unpack(work->packed, fd, 1, false, &report, NULL) == TBED_OK);
    close(fd);
}

/* ---- Failures ---- */

static void run_failing(void *context)
{
    struct work *work = context;
    uint64_t seen = work->call(work);
    REQUIRE(seen == work->expected || failing_count() > 0);
}

static void try_all(struct work *work, const struct failing_plan *plan)
{
    work->file_errno = -1;
    work->expected = work->call(work);
    work->file_errno = 0;
    failing_run(plan, run_failing, work);
    for (size_t i = 0; i < FAILING_ERRNO_COUNT; i++) {
        work->file_errno = failing_errnos[i];
        failing_run(plan, run_failing, work);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static uint64_t (*const calls[])(struct work *) = {pack, unpack, unpack_partly, read_packed};
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct pack_report report;
    struct tbed_error error;
    struct work work = {.plain = file_of_input(data, nbytes),
                        .packed = memfd_create("packed", MFD_CLOEXEC),
                        .thread_count = 1 + plan.run_count % 2};
    REQUIRE(work.packed >= 0);
    scratch_folder();
    plan.run_count = 1 + plan.run_count % RUNS_MAX;
    bool is_packed = tbed_trace_pack(work.plain, work.packed, 1, &report, &error) == TBED_OK;
    if (is_packed) {
        check_twice(&work);
        check_library(&work);
    }
    for (size_t i = 0; is_packed && i < sizeof calls / sizeof calls[0]; i++) {
        work.call = calls[i];
        try_all(&work, &plan);
    }
    close(work.plain);
    close(work.packed);
    return 0;
}
