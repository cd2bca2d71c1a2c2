/*
 * Imports a foreign file, from every kind of source to every kind of destination. The trace must appear complete, or
 * not at all with an error, and must have the same events as an import to an unnamed file. It is then exported to a
 * profile.
 *
 * The input is an order of ORDER_NBYTES bytes and the three files of a profile in turn, each preceded by its size in 2
 * bytes; a size of 0xFFFF means that the file does not exist. Other formats have only the first file.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <unistd.h>

#include "fuzz/support/destination.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

#define ORDER_NBYTES 4
#define MISSING      0xFFFFu
#define LIMIT_NBYTES 1024u

#define PAGED_START        8
#define PAGE_HEADER_NBYTES 5
#define LARGE_NBYTES       400000

/* The source of the import. */
enum from {
    FROM_PLAIN, /* a file whose name has no extension */
    FROM_EVENTS,
    FROM_STRING_DATA,
    FROM_STRING_INDEX,
    FROM_DESCRIPTOR,
    FROM_FOLDER,
    FROM_FIFO,
    FROM_NOWHERE,
    FROM_PIPE,              /* a descriptor */
    FROM_FOLDER_DESCRIPTOR, /* a folder, open for reading */
    FROM_CLOSED_DESCRIPTOR,
    FROM_COUNT
};

enum flag {
    OVERWRITE = 1,
    LATER = 2, /* a newer caller sets an option that the library does not know */
    NO_REPORT = 4,
    REPEAT = 8, /* repeat the last page of a profile until it is large */
};

struct order {
    enum from from;
    enum destination destination;
    uint8_t flags, limit;
};

struct source {
    const char *path; /* NULL: import from 'fd' */
    int fd;
};

/* ---- What is imported ---- */

static const char *const names[] = {"from", "from.events", "from.string_data", "from.string_index"};

/* Returns the offset of a profile's last page. */
static size_t find_last_page(const uint8_t *data, size_t nbytes)
{
    size_t last = PAGED_START;
    for (size_t at = last; nbytes - at >= PAGE_HEADER_NBYTES; last = at) {
        uint32_t length;
        memcpy(&length, data + at + 1, sizeof length);
        if (length >= nbytes - at - PAGE_HEADER_NBYTES)
            return at;
        at += PAGE_HEADER_NBYTES + length;
    }
    return last;
}

static void put_repeated(const char *path, const uint8_t *data, size_t nbytes)
{
    FILE *out = fopen(path, "wb");
    size_t last = find_last_page(data, nbytes), more = nbytes - last;
    REQUIRE(out != NULL && fwrite(data, 1, nbytes, out) == nbytes);
    for (size_t put = nbytes; more > 0 && put < LARGE_NBYTES; put += more)
        REQUIRE(fwrite(data + last, 1, more, out) == more);
    REQUIRE(fclose(out) == 0);
}

static void put_file(const struct order *order, const char *path, const uint8_t *data, size_t nbytes)
{
    bool is_paged = nbytes > PAGED_START && memcmp(data, "MMPD", 4) == 0;
    if (is_paged && (order->flags & REPEAT) != 0)
        put_repeated(path, data, nbytes);
    else
        scratch_put(path, data, nbytes);
}

static void put_files(const struct order *order, const uint8_t *data, size_t nbytes)
{
    for (size_t i = 0; i < 3; i++) {
        const char *path = scratch_path(names[order->from == FROM_PLAIN && i == 0 ? 0 : i + 1]);
        size_t size = nbytes >= 2 ? data[0] | (size_t)data[1] << 8 : MISSING;
        data += nbytes >= 2 ? 2 : 0;
        nbytes -= nbytes >= 2 ? 2 : 0;
        unlink(path);
        if (size == MISSING)
            continue;
        size = size < nbytes ? size : nbytes;
        put_file(order, path, data, size);
        data += size;
        nbytes -= size;
    }
}

static int open_source(const struct order *order)
{
    int pipes[2];
    switch (order->from) {
    case FROM_DESCRIPTOR:
        return open(scratch_path("from.events"), O_RDONLY | O_CLOEXEC);
    case FROM_PIPE:
        REQUIRE(pipe2(pipes, O_CLOEXEC) == 0 && close(pipes[1]) == 0);
        return pipes[0];
    case FROM_FOLDER_DESCRIPTOR:
        return open(scratch_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    default:
        return -1;
    }
}

static struct source make_source(const struct order *order)
{
    static char path[256];
    struct source source = {.path = path, .fd = open_source(order)};
    const char *name = order->from == FROM_FOLDER ? "folder" : order->from == FROM_FIFO ? "fifo" : "nowhere";
    if (order->from == FROM_DESCRIPTOR || order->from >= FROM_PIPE)
        source.path = NULL;
    snprintf(path, sizeof path, "%s",
             scratch_path(order->from <= FROM_STRING_INDEX ? names[order->from] : name));
    if (order->from == FROM_FOLDER)
        mkdir(path, 0700);
    if (order->from == FROM_FIFO)
        mkfifo(path, 0600);
    return source;
}

/* ---- Imports ---- */

static const struct tbed_format *find_format(const struct source *source)
{
    const struct tbed_format *format =
        source->path != NULL ? tbed_format_of_file(source->path) : tbed_format_of_fd(source->fd);
    if (format != NULL)
        REQUIRE(format->can_import && tbed_format_find(format->name) == format);
    return format;
}

static uint64_t count_events(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_event event;
    uint64_t count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        REQUIRE(tbed_cursor_open(reader, stream.stream, &cursor) == TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count++;
        tbed_cursor_close(cursor);
    }
    return count;
}

/* Imports to an unnamed file. Returns the status and, after TBED_OK, the number of events. */
static enum tbed_status import_open(const struct source *source, uint64_t *count_ret)
{
    struct tbed_import_report report;
    struct tbed_error error = {.status = TBED_OK};
    struct tbed_reader *reader;
    const struct tbed_format *format = find_format(source);
    enum tbed_status status = source->path != NULL
                                  ? tbed_import_open(source->path, &reader, &report, &error)
                                  : tbed_import_open_fd(source->fd, &reader, &report, &error);
    REQUIRE(error.status == status && (status != TBED_OK || format != NULL));
    if (status != TBED_OK)
        return status;
    REQUIRE(report.kind == format->kind && report.drop_count == 0);
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    *count_ret = count_events(reader);
    tbed_reader_close(reader);
    return status;
}

/*
 * Computes statistics directly from the profile. The target 'profile' compares them with those of the imported trace.
 */
static void count_in_place(const struct source *source, enum tbed_status expected)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *statistics = NULL;
    struct tbed_error error = {.status = TBED_OK};
    const struct tbed_format *format = find_format(source);
    if (format == NULL || !format->has_profile || source->path == NULL)
        return;
    enum tbed_status status = tbed_statistics_make_foreign(source->path, &options, &statistics, &error);
    REQUIRE(status == expected && error.status == status);
    tbed_statistics_close(statistics);
}

static void limit_files(uint64_t nbytes)
{
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = nbytes != 0 ? nbytes : limit.rlim_max;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static enum tbed_status import(const struct order *order, const struct source *source, const char *to)
{
    struct tbed_import_report report;
    struct tbed_error error = {.status = TBED_OK};
    struct {
        struct tbed_import_options known;
        uint64_t later; /* an option of a newer version */
    } options = {.known.overwrite = order->flags & OVERWRITE, .later = 1};
    bool tells = (order->flags & NO_REPORT) == 0;
    options.known.size = (order->flags & LATER) != 0 ? sizeof options : sizeof options.known;
    limit_files(order->limit * LIMIT_NBYTES);
    enum tbed_status status =
        source->path != NULL
            ? tbed_import(source->path, to, &options.known, tells ? &report : NULL, tells ? &error : NULL)
            : tbed_import_fd(source->fd, to, &options.known, tells ? &report : NULL, tells ? &error : NULL);
    limit_files(0);
    REQUIRE(!tells || error.status == status);
    return status;
}

static void go_back(struct tbed_reader *reader, uint64_t event_count)
{
    struct tbed_profile_export_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_export_report report;
    const char *path = scratch_path("x.mm_profdata");
    for (options.version = 8; options.version <= 9; options.version++) {
        REQUIRE(tbed_export_profile(reader, path, &options, &report, NULL) == TBED_OK);
        REQUIRE(report.event_count + report.left_out_count + report.unknown_count <= event_count);
        REQUIRE(tbed_format_of_file(path)->kind == TBED_FOREIGN_PROFILE);
    }
}

static void check_trace(uint64_t event_count)
{
    struct tbed_reader *reader;
    REQUIRE(tbed_reader_open(destination_path(), NULL, &reader, NULL) == TBED_OK);
    REQUIRE(tbed_reader_verify(reader) == TBED_OK && count_events(reader) == event_count);
    go_back(reader, event_count);
    tbed_reader_close(reader);
}

/* tbed_format_find() finds the format of exactly this name, or none. */
static void look_up(const uint8_t *data, size_t nbytes)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", nbytes < 16 ? (int)nbytes : 16, (const char *)data);
    const struct tbed_format *found = tbed_format_find(name), *format;
    for (size_t i = 0; (format = tbed_format_get(i)) != NULL; i++)
        REQUIRE((format == found) == (strcmp(format->name, name) == 0) && format->summary[0] != '\0');
}

/* Every note has words. */
static void check_notes(void)
{
    for (unsigned i = 0; i < TBED_IMPORT_NOTE_COUNT; i++) {
        enum tbed_import_note note = (enum tbed_import_note)i;
        REQUIRE(tbed_import_note_key(note)[0] != '\0' && tbed_import_note_what(note)[0] != '\0' &&
                tbed_import_note_explanation(note)[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes < ORDER_NBYTES)
        return 0;
    struct order order = {data[0] % FROM_COUNT, data[1] % DESTINATION_COUNT, data[2], data[3]};
    uint64_t event_count = 0;
    look_up(data, nbytes);
    check_notes();
    signal(SIGXFSZ, SIG_IGN);
    put_files(&order, data + ORDER_NBYTES, nbytes - ORDER_NBYTES);
    struct source source = make_source(&order);
    enum tbed_status expected = import_open(&source, &event_count);
    count_in_place(&source, expected);
    if (expected == TBED_OK)
        expected = (order.flags & LATER) != 0
                       ? TBED_ERR_ARGUMENT
                       : destination_status(order.destination, order.flags & OVERWRITE);
    enum tbed_status status = import(&order, &source, destination_make(order.destination));
    bool is_limited = expected == TBED_OK && order.limit != 0 && status == TBED_ERR_WRITE;
    REQUIRE(status == expected || is_limited);
    if (destination_check(order.destination, status, 0))
        check_trace(event_count);
    if (source.fd >= 0)
        close(source.fd);
    return 0;
}
