/*
 * Exports a trace to every kind of destination, with any options. The file must appear complete and with no more
 * permissions than the trace, or not at all with an error.
 *
 * The options are the bytes that follow the last complete page of the trace.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/destination.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "fuzz/support/strict.h"
#include "reader/exchange/shared/new_file.h"

#define OTHER_GROUP 1
#define FILES_MAX   9 /* more than the library keeps track of */
#define PAGE_NBYTES 4096

enum format { CHROME, PROFILE, RTL_LOG, FORMAT_COUNT };

struct order {
    uint8_t format, destination, flags, limit, mode, number;
};

enum flag {
    OVERWRITE = 1,
    FIRST = 2, /* FIRST and SECOND: options of the format */
    SECOND = 4,
    LATER = 8,         /* a newer caller sets an option that the library does not know */
    NO_REPORT = 16,    /* pass no report and no error */
    OTHER_OWNER = 32,  /* the trace belongs to another group */
    WITHOUT_FILE = 64, /* the trace is in memory */
    INTERRUPT = 128,   /* the program is interrupted while the file has a temporary name */
};

/* Options of a newer caller, whose struct is larger. */
#define TAKEN(type)                                                                                          \
    struct {                                                                                                 \
        type known;                                                                                          \
        uint64_t later;                                                                                      \
    }

static size_t size_of_options(const struct order *order, size_t known, size_t all)
{
    return (order->flags & LATER) != 0 ? all : known;
}

struct result {
    enum tbed_status status;
    struct tbed_error error;
    uint64_t count; /* of events or lines written */
};

/* ---- Exports ---- */

static void export_chrome(const struct order *order, struct tbed_reader *reader, const char *to,
                          struct result *result)
{
    struct tbed_reader *readers[] = {reader, reader};
    struct tbed_chrome_report report = {0};
    TAKEN(struct tbed_chrome_options)
    options = {.known = {.overwrite = order->flags & OVERWRITE,
                         .absolute = order->flags & FIRST,
                         .collapse_threads = order->flags & SECOND,
                         .minimum_ns = order->number},
               .later = 1};
    bool tells = (order->flags & NO_REPORT) == 0;
    options.known.size = size_of_options(order, sizeof options.known, sizeof options);
    result->status = tbed_export_chrome(readers, order->number % 3, to, &options.known,
                                        tells ? &report : NULL, tells ? &result->error : NULL);
    result->count = report.event_count;
}

static void export_profile(const struct order *order, struct tbed_reader *reader, const char *to,
                           struct result *result)
{
    struct tbed_export_report report = {0};
    TAKEN(struct tbed_profile_export_options)
    options = {.known = {.overwrite = order->flags & OVERWRITE, .version = order->number}, .later = 1};
    bool tells = (order->flags & NO_REPORT) == 0;
    options.known.size = size_of_options(order, sizeof options.known, sizeof options);
    result->status = tbed_export_profile(reader, to, &options.known, tells ? &report : NULL,
                                         tells ? &result->error : NULL);
    result->count = report.event_count;
}

static void export_rtl_log(const struct order *order, struct tbed_reader *reader, const char *to,
                           struct result *result)
{
    struct tbed_rtl_report report = {0};
    TAKEN(struct tbed_rtl_options)
    options = {.known = {.overwrite = order->flags & OVERWRITE,
                         .rebase = order->number % 2,
                         .tid = order->number / 2 % 3,
                         .quirks = order->flags & FIRST,
                         .exact = order->flags & SECOND},
               .later = 1};
    bool tells = (order->flags & NO_REPORT) == 0;
    options.known.size = size_of_options(order, sizeof options.known, sizeof options);
    result->status = tbed_export_rtl_log(reader, to, &options.known, tells ? &report : NULL,
                                         tells ? &result->error : NULL);
    result->count = report.line_count;
}

static bool takes_options(const struct order *order)
{
    bool has_version = order->number == 0 || order->number == 8 || order->number == 9;
    return (order->flags & LATER) == 0 && (order->format != PROFILE || has_version);
}

/* ---- Output ---- */

static void check_json(void)
{
    int fd = open(destination_path(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    REQUIRE(fd >= 0 && fstat(fd, &status) == 0);
    char *text = malloc((size_t)status.st_size + 1);
    REQUIRE(text != NULL && read(fd, text, (size_t)status.st_size) == status.st_size && close(fd) == 0);
    REQUIRE(is_json_lines(text, (size_t)status.st_size));
    free(text);
}

static void check_import(const struct order *order, uint64_t count)
{
    struct tbed_import_report report;
    struct tbed_reader *again;
    bool is_log = order->format == RTL_LOG;
    REQUIRE(tbed_import_open(destination_path(), &again, &report, NULL) == TBED_OK);
    REQUIRE(report.kind == (is_log ? TBED_FOREIGN_RTL_LOG : TBED_FOREIGN_PROFILE));
    REQUIRE(report.damage_count == 0 && report.drop_count == 0);
    if ((order->flags & NO_REPORT) == 0 && !is_log)
        REQUIRE(report.event_count == count);
    tbed_reader_close(again);
}

/* ---- The call ---- */

/* Opens the trace, from a file with the permissions that the order asks for or from memory. */
static struct tbed_reader *open_trace(const uint8_t *data, size_t nbytes, const struct order *order)
{
    struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    struct tbed_reader *reader = NULL;
    if ((order->flags & WITHOUT_FILE) != 0)
        return open_input(data, nbytes);
    int fd = file_of_input(data, nbytes);
    REQUIRE(fchmod(fd, 0600 | (order->mode & 077)) == 0);
    REQUIRE((order->flags & OTHER_OWNER) == 0 || fchown(fd, (uid_t)-1, OTHER_GROUP) == 0 || geteuid() != 0);
    if (tbed_reader_open_fd(fd, &options, &reader, NULL) != TBED_OK)
        reader = NULL;
    close(fd);
    return reader;
}

static void limit_files(uint64_t nbytes)
{
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = nbytes != 0 ? nbytes : limit.rlim_max;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void make_export(const struct order *order, struct tbed_reader *reader)
{
    static void (*const exports[])(const struct order *, struct tbed_reader *, const char *,
                                   struct result *) = {export_chrome, export_profile, export_rtl_log};
    struct result result = {.error.status = TBED_OK};
    bool overwrite = order->flags & OVERWRITE, tells = (order->flags & NO_REPORT) == 0;
    const char *to = destination_make(order->destination);
    limit_files(order->limit * 64u);
    exports[order->format](order, reader, to, &result);
    limit_files(0);
    enum tbed_status expected =
        takes_options(order) ? destination_status(order->destination, overwrite) : TBED_ERR_ARGUMENT;
    bool is_limited = expected == TBED_OK && order->limit != 0 && result.status == TBED_ERR_WRITE;
    bool has_no_time = expected == TBED_OK && order->format == RTL_LOG && result.status == TBED_ERR_NO_TIME;
    REQUIRE(result.status == expected || is_limited || has_no_time);
    REQUIRE(!tells || result.error.status == result.status);
    unsigned others = order->mode & 07u, group = order->mode & 070u;
    if ((order->flags & WITHOUT_FILE) != 0)
        others = group = 0;
    if (((order->flags & OTHER_OWNER) != 0 || order->destination == DESTINATION_GROUP) && geteuid() == 0)
        group = others << 3;
    bool has_readers = order->format != CHROME || order->number % 3 != 0;
    if (!destination_check(order->destination, result.status, has_readers ? group | others : 066))
        return;
    if (order->format == CHROME)
        check_json();
    else
        check_import(order, result.count);
}

/* Does what a signal handler would. */
static void interrupt(const struct order *order)
{
    struct new_file files[FILES_MAX];
    const char *to = destination_make(DESTINATION_FREE);
    size_t count = 1 + order->number % FILES_MAX;
    for (size_t i = 0; i < count; i++)
        REQUIRE(tbed_new_file_open(to, false, 0600, &files[i], NULL) == TBED_OK &&
                tbed_new_file_name(&files[i]));
    REQUIRE(!tbed_new_file_exchange(&files[0]) && errno == ENOENT);
    tbed_new_files_remove();
    for (size_t i = 0; i < count; i++)
        tbed_new_file_abandon(&files[i]);
    destination_check(DESTINATION_FREE, TBED_ERR_OPEN, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct order order = {0};
    if (nbytes % PAGE_NBYTES >= sizeof order) {
        memcpy(&order, data + nbytes - nbytes % PAGE_NBYTES, sizeof order);
        nbytes -= nbytes % PAGE_NBYTES;
    }
    order.format %= FORMAT_COUNT;
    order.destination %= DESTINATION_COUNT;
    signal(SIGXFSZ, SIG_IGN);
    if ((order.flags & INTERRUPT) != 0)
        interrupt(&order);
    struct tbed_reader *reader = open_trace(data, nbytes, &order);
    if (reader == NULL)
        return 0;
    make_export(&order, reader);
    tbed_reader_close(reader);
    return 0;
}
