/*
 * Opens the trace of a command, by name or from standard input. Handles files that are truncated while they are read,
 * suggests what to do if a file is not a trace, and makes copies of traces.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/container/packed_file.h"
#include "reader/core/system/regular_file.h"
#include "reader/exchange/packed/pack_trace.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/tools/shared/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAMAGE_TOLD_MAX 3

/* ---- SIGBUS: a mapped file was truncated ---- */

static char guard_message[4352];
static size_t guard_nbytes;

static void die_of_cut_file(int signal_number)
{
    (void)signal_number;
    (void)!write(STDERR_FILENO, guard_message, guard_nbytes);
    _exit(TOOL_TROUBLE);
}

void tool_guard(const char *path)
{
    /* Formatted in advance: a signal handler may neither format nor allocate. */
    FILE *out = fmemopen(guard_message, sizeof guard_message, "w");
    if (out == NULL)
        return;
    fputs("tracebed: ", out);
    tool_print_text(out, tool_path(path), strlen(tool_path(path)), 1000);
    fputs(": was cut short by another program while it was read, or its disk failed\n", out);
    long at = ftell(out);
    fclose(out);
    guard_nbytes = at > 0 ? (size_t)at : 0;
    struct sigaction action = {.sa_handler = die_of_cut_file};
    sigaction(SIGBUS, &action, NULL);
}

/* ---- Standard input ---- */

/* An unnamed file, on disk if possible because traces are large. */
static int temporary_file(void)
{
    const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int fd = places[i] != NULL ? open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
        if (fd >= 0)
            return fd;
    }
    return memfd_create("tracebed", MFD_CLOEXEC);
}

static bool write_all(int fd, const char *bytes, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t written = write(fd, bytes, nbytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        nbytes -= (size_t)written;
    }
    return true;
}

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status)
{
    *error = (struct tbed_error){.status = status, .system_errno = errno, .offset = UINT64_MAX};
    return status;
}

static enum tbed_status copy_input(int to, struct tbed_error *error)
{
    static char bytes[64 << 10];
    for (;;) {
        ssize_t nbytes = read(STDIN_FILENO, bytes, sizeof bytes);
        if (nbytes == 0)
            return TBED_OK;
        if (nbytes < 0 && errno == EINTR)
            continue;
        if (nbytes < 0)
            return fail(error, TBED_ERR_READ);
        if (!write_all(to, bytes, (size_t)nbytes))
            return fail(error, TBED_ERR_WRITE);
    }
}

int tool_input_file(struct tbed_error *error_ret)
{
    struct stat status;
    if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
        return dup(STDIN_FILENO);
    int fd = temporary_file();
    if (fd < 0) {
        fail(error_ret, TBED_ERR_WRITE);
    } else if (copy_input(fd, error_ret) != TBED_OK) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static enum tbed_status open_input(struct tbed_reader **reader, struct tbed_error *error)
{
    int fd = tool_input_file(error);
    if (fd < 0)
        return error->status;
    enum tbed_status result = tool_open_any(NULL, fd, reader, error);
    close(fd);
    return result;
}

/* ---- Opening ---- */

struct tbed_reader *tool_open_quietly(const char *path, struct tbed_error *error_ret)
{
    struct tbed_reader *reader = NULL;
    tool_guard(path);
    bool is_input = strcmp(path, "-") == 0;
    enum tbed_status status =
        is_input ? open_input(&reader, error_ret) : tool_open_any(path, -1, &reader, error_ret);
    return status == TBED_OK ? reader : NULL;
}

struct tbed_reader *tool_open(const char *path)
{
    struct tbed_error error = {.offset = UINT64_MAX};
    struct tbed_reader *reader = tool_open_quietly(path, &error);
    if (reader == NULL)
        tool_complain_open(path, &error);
    return reader;
}

int tool_source_open(const char *path)
{
    int fd = -1;
    tool_guard(path);
    enum tbed_status status = tbed_regular_open(path, &fd);
    struct tbed_error error = {
        .status = status, .system_errno = status == TBED_ERR_OPEN ? errno : 0, .offset = UINT64_MAX};
    if (status != TBED_OK)
        tool_complain_open(path, &error);
    return fd;
}

static const struct {
    const char *magic;
    const char *hint;
} known_files[] = {
    {"PERFILE2", "This is a perf.data file; 'perf report -i FILE' reads it."},
    {"\x7f"
     "ELF",
     "This is a program or library, not a trace; 'tracebed record -- PROGRAM' makes a trace."},
    {"\x1f\x8b", "It is compressed: gzip -dc FILE | tracebed COMMAND -"},
    {"\x28\xb5\x2f\xfd", "It is compressed: zstd -dc FILE | tracebed COMMAND -"},
    {"\xfd"
     "7zXZ",
     "It is compressed: xz -dc FILE | tracebed COMMAND -"},
};

/* Returns whether it is a kind of file that people mistake for a trace. */
static bool hint_at_kind(const char *path)
{
    char start[8] = {0};
    int fd = -1;
    if (strcmp(path, "-") != 0)
        tbed_regular_open(path, &fd);
    ssize_t nbytes = fd >= 0 ? read(fd, start, sizeof start) : -1;
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < sizeof known_files / sizeof known_files[0]; i++) {
        size_t length = strlen(known_files[i].magic);
        if (nbytes >= (ssize_t)length && memcmp(start, known_files[i].magic, length) == 0)
            return tool_hint("%s", known_files[i].hint), true;
    }
    return false;
}

static void complain_of_kind(const char *path)
{
    const struct tbed_format *format = tool_format(path);
    tool_complain("%s: neither a trace nor in a format that this command reads", tool_path(path));
    if (format != NULL)
        tool_hint("It is in the format %s: 'tracebed import FILE -o OUT' makes a trace of it.", format->name);
    else if (!hint_at_kind(path))
        tool_hint("'tracebed import -h' lists the formats of other tools.");
}

void tool_complain_open(const char *path, const struct tbed_error *error)
{
    if (error->status == TBED_ERR_NOT_A_TRACE) {
        complain_of_kind(path);
        return;
    }
    tool_complain_error(path, error);
    switch (error->status) {
    case TBED_ERR_NO_LIBRARY:
        tool_hint("%s; 'tracebed doctor' says what to install.", tool_format(path) != NULL
                                                                     ? "It is read by a library of its own"
                                                                     : "Packed traces need libzstd");
        break;
    case TBED_ERR_NOT_REGULAR:
        tool_hint("Pipes and devices can be read from standard input: tracebed COMMAND - < FILE");
        break;
    case TBED_ERR_VERSION:
    case TBED_ERR_FLAGS:
        tool_hint("It was written by a newer version of tracebed than this one (%s).", TBED_VERSION_STRING);
        break;
    case TBED_ERR_HEADER_CHECKSUM:
    case TBED_ERR_HEADER_SIZE:
    case TBED_ERR_PAGE_SIZE:
    case TBED_ERR_ID_SPACE:
    case TBED_ERR_CLOCK:
    case TBED_ERR_FILE_ID:
    case TBED_ERR_HEADER_ZERO:
        tool_hint("No intact copy of its header was found. 'tracebed recover FILE -o NEW' saves what can be "
                  "saved.");
        break;
    case TBED_ERR_EMPTY:
        tool_hint("Its writer ended before it stored anything, or copying the file failed.");
        break;
    case TBED_ERR_MAP:
        if (error->system_errno == ENOMEM)
            tool_hint("Memory is limited to less than the size of the file; see 'ulimit -v'.");
        break;
    case TBED_ERR_PROFILE_VERSION:
        tool_hint("It has format version %llu; versions 0 and 3 to 9 are supported.",
                  (unsigned long long)error->detail);
        break;
    case TBED_ERR_DISK_FULL:
    case TBED_ERR_WRITE:
        tool_hint("Reading it needs a temporary file; set TMPDIR to choose its directory.");
        break;
    default:
        break;
    }
}

/* ---- Damage ---- */

static const char *const kind_names[] = {"nothing", "events", "strings", "records", "cells", "directory"};

const char *tool_block_kind(enum tbed_block_kind kind)
{
    return kind < sizeof kind_names / sizeof kind_names[0] ? kind_names[kind] : "unknown";
}

static void print_tick(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                       uint64_t tick)
{
    char figure[32];
    if (info->clock == TBED_CLOCK_USER)
        fprintf(out, "tick %s", tool_format_count(figure, tick));
    else
        fputs(tool_format_ns(figure, (double)tbed_ticks_to_ns(reader, tick)), out);
}

void tool_print_damaged_block(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                              const struct tbed_damage *damage)
{
    char figure[32];
    if (damage->page_count > 1)
        fprintf(out, "; %s pages", tool_format_count(figure, damage->page_count));
    if (damage->kind == TBED_BLOCK_NONE || damage->stream == 0)
        return;
    fprintf(out, "; %s of %s %u, block %u", tool_block_kind(damage->kind),
            damage->kind == TBED_BLOCK_EVENTS ? "stream" : "process", damage->stream, damage->sequence);
    if (damage->first_tick == 0 && damage->last_tick == 0)
        return;
    fputs(damage->first_tick == damage->last_tick ? ", from " : ", ", out);
    print_tick(out, reader, info, damage->first_tick);
    if (damage->first_tick == damage->last_tick) /* the end is unknown */
        return;
    fputs(" to ", out);
    print_tick(out, reader, info, damage->last_tick);
}

void tool_json_damaged_block(struct tbed_json *json, const struct tbed_reader *reader,
                             const struct tbed_trace_info *info, const struct tbed_damage *damage)
{
    if (damage->page_count > 1)
        tbed_json_u64(json, "pages", damage->page_count);
    if (damage->kind == TBED_BLOCK_NONE || damage->stream == 0)
        return;
    tbed_json_string(json, "kind", tool_block_kind(damage->kind));
    tbed_json_u64(json, "stream", damage->stream);
    tbed_json_u64(json, "sequence", damage->sequence);
    if (damage->first_tick == 0 && damage->last_tick == 0)
        return;
    tbed_json_u64(json, "first_tick", damage->first_tick);
    tbed_json_u64(json, "last_tick", damage->last_tick);
    if (info->clock == TBED_CLOCK_USER)
        return;
    tbed_json_i64(json, "first_ns", tbed_ticks_to_ns(reader, damage->first_tick));
    tbed_json_i64(json, "last_ns", tbed_ticks_to_ns(reader, damage->last_tick));
}

/* ---- Gaps of flight recorders ---- */

uint64_t tool_count_gone(const struct tbed_reader *reader)
{
    struct tbed_ring_gap gap;
    uint64_t count = 0;
    for (size_t at = 0; tbed_ring_gap_next(reader, &at, &gap);)
        count += gap.block_count;
    return count;
}

void tool_print_gaps(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                     const char *before)
{
    struct tbed_ring_gap gap;
    char figure[32];
    for (size_t at = 0; tbed_ring_gap_next(reader, &at, &gap);) {
        fprintf(out, "%sstream %u: %s block%s between ", before, gap.stream,
                tool_format_count(figure, gap.block_count), gap.block_count == 1 ? "" : "s");
        print_tick(out, reader, info, gap.first_tick);
        fputs(" and ", out);
        print_tick(out, reader, info, gap.last_tick);
        putc('\n', out);
    }
}

void tool_json_gap(struct tbed_json *json, const char *count_name, const struct tbed_ring_gap *gap)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, count_name, gap->block_count);
    tbed_json_u64(json, "stream", gap->stream);
    tbed_json_u64(json, "first_sequence", gap->first_sequence);
    tbed_json_u64(json, "first_tick", gap->first_tick);
    tbed_json_u64(json, "last_tick", gap->last_tick);
    tbed_json_object_close(json);
}

void tool_json_gaps(struct tbed_json *json, const struct tbed_reader *reader)
{
    struct tbed_ring_gap gap;
    tbed_json_array_open(json, "gaps");
    for (size_t at = 0; tbed_ring_gap_next(reader, &at, &gap);)
        tool_json_gap(json, "blocks", &gap);
    tbed_json_array_close(json);
}

void tool_tell_gaps(const char *path, const struct tbed_reader *reader)
{
    uint64_t count = tool_count_gone(reader);
    struct tbed_trace_info info;
    char figure[32];
    if (count == 0)
        return;
    tbed_reader_info(reader, &info);
    fflush(stdout);
    tool_complain(
        "%s: %s block%s of events %s missing between others; the flight recorder has no room for all",
        tool_path(path), tool_format_count(figure, count), count == 1 ? "" : "s", count == 1 ? "is" : "are");
    tool_print_gaps(stderr, reader, &info, "  ");
}

/* ---- All damage ---- */

static void print_damage(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                         const struct tbed_damage *damage)
{
    if (damage->page != UINT64_MAX && damage->cell != 0)
        fprintf(out, "page %llu, cell %u: ", (unsigned long long)damage->page, damage->cell);
    else if (damage->page != UINT64_MAX)
        fprintf(out, "page %llu: ", (unsigned long long)damage->page);
    fprintf(out, "%s (%s", tbed_status_text(damage->status), tbed_status_name(damage->status));
    if (damage->offset != UINT64_MAX)
        fprintf(out, ", offset %llu", (unsigned long long)damage->offset);
    tool_print_damaged_block(out, reader, info, damage);
    fputs(")\n", out);
}

static void tell_places(const char *path, uint64_t count)
{
    char figure[32];
    fflush(stdout);
    tool_complain("%s: damaged in %s place%s; everything intact was read", tool_path(path),
                  tool_format_count(figure, count), count == 1 ? "" : "s");
}

/* What is missing from a recovered trace is not damage, but nobody should overlook it. */
static void tell_losses(const char *path, const struct tbed_reader *reader)
{
    struct tbed_lost_info lost;
    if (!tbed_lost_get(reader, 0, &lost))
        return;
    fflush(stdout);
    tool_complain("%s: incomplete: parts were lost before it was recovered", tool_path(path));
    tool_hint("Run 'tracebed verify' to list them.");
}

static void tell_cut(const struct tbed_trace_info *info)
{
    char is[32], was[32];
    uint64_t nbytes = info->page_count * info->page_nbytes;
    if (info->shut && info->file_nbytes < nbytes)
        tool_hint("The file is cut: it has %s of %s bytes. Is the copy complete?",
                  tool_format_count(is, info->file_nbytes), tool_format_count(was, nbytes));
}

void tool_tell_damage(const char *path, const struct tbed_reader *reader)
{
    const struct tbed_import_report *foreign = tool_foreign_report(reader);
    uint64_t count = tool_damage_count(reader);
    struct tbed_trace_info info;
    struct tbed_damage damage;
    size_t told = 0;
    tool_tell_texts_left_out(path, tbed_reader_texts_left_out(reader));
    tell_losses(path, reader);
    if (count == 0)
        return;
    tbed_reader_info(reader, &info);
    tell_places(path, count);
    tell_cut(&info);
    for (; foreign != NULL && told < DAMAGE_TOLD_MAX && told < foreign->damage_count; told++) {
        fputs("  ", stderr);
        tool_print_foreign_damage(stderr, foreign, told);
    }
    for (size_t i = 0; told < DAMAGE_TOLD_MAX && tbed_damage_get(reader, i, &damage); i++, told++) {
        fputs("  ", stderr);
        print_damage(stderr, reader, &info, &damage);
    }
    tool_hint("Run 'tracebed verify' to list all of it.");
}

/* ---- Losses ---- */

static void print_loss(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                       const struct tbed_lost_info *lost)
{
    char figure[32];
    const char *owner = lost->kind == TBED_BLOCK_EVENTS ? "stream" : "process";
    if (lost->stream == 0)
        fprintf(out, "%s page%s of unknown content", tool_format_count(figure, lost->count),
                lost->count == 1 ? "" : "s");
    else if (lost->count <= 1)
        fprintf(out, "%s of %s %u, %sblock %u", tool_block_kind(lost->kind), owner, lost->stream,
                lost->count == 0 ? "part of " : "", lost->first_sequence);
    else
        fprintf(out, "%s of %s %u, %s blocks from %u on", tool_block_kind(lost->kind), owner, lost->stream,
                tool_format_count(figure, lost->count), lost->first_sequence);
    if (lost->first_tick != 0) {
        fputs(lost->last_tick != UINT64_MAX ? ", " : ", from ", out);
        print_tick(out, reader, info, lost->first_tick);
    }
    if (lost->last_tick != UINT64_MAX) {
        fputs(lost->first_tick != 0 ? " to " : ", until ", out);
        print_tick(out, reader, info, lost->last_tick);
    }
    if (lost->nbytes != 0)
        fprintf(out, ", %s", tool_format_bytes(figure, (double)lost->nbytes));
}

size_t tool_print_losses(FILE *out, const struct tbed_reader *reader, const char *before)
{
    struct tbed_trace_info info;
    struct tbed_lost_info lost;
    size_t count = 0;
    tbed_reader_info(reader, &info);
    for (; tbed_lost_get(reader, count, &lost); count++) {
        fputs(before, out);
        print_loss(out, reader, &info, &lost);
        putc('\n', out);
    }
    return count;
}

void tool_json_losses(struct tbed_json *json, const struct tbed_reader *reader)
{
    struct tbed_lost_info lost;
    tbed_json_array_open(json, "lost");
    for (size_t i = 0; tbed_lost_get(reader, i, &lost); i++) {
        tbed_json_object_open(json, NULL);
        if (lost.stream != 0) {
            tbed_json_string(json, "kind", tool_block_kind(lost.kind));
            tbed_json_u64(json, "stream", lost.stream);
            tbed_json_u64(json, "sequence", lost.first_sequence);
        }
        tbed_json_u64(json, lost.stream != 0 ? "blocks" : "pages", lost.count);
        if (lost.first_tick != 0)
            tbed_json_u64(json, "first_tick", lost.first_tick);
        if (lost.last_tick != UINT64_MAX)
            tbed_json_u64(json, "last_tick", lost.last_tick);
        if (lost.nbytes != 0)
            tbed_json_u64(json, "bytes", lost.nbytes);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

/* ---- Copies ---- */

int tool_plain_file(int fd, struct tbed_error *error_ret)
{
    struct pack_report report;
    if (!tbed_packed_fd_is(fd))
        return dup(fd);
    int plain = temporary_file();
    if (plain < 0) {
        fail(error_ret, TBED_ERR_WRITE);
    } else if (tbed_trace_unpack(fd, plain, 0, true, &report, error_ret) != TBED_OK) {
        close(plain);
        plain = -1;
    }
    return plain;
}

static enum tbed_status copy_into(const struct tool_from_to *files, int from, struct new_file *file,
                                  enum tbed_status (*copy)(int, int, void *, struct tbed_error *),
                                  void *result)
{
    struct tbed_error error;
    enum tbed_status status = copy(from, file->fd, result, &error);
    if (status == TBED_ERR_WRITE || status == TBED_ERR_DISK_FULL)
        tool_complain_error(files->to, &error);
    else if (status != TBED_OK)
        tool_complain_open(files->from, &error);
    return status;
}

static enum tbed_status copy_from(const struct tool_from_to *files, int from,
                                  enum tbed_status (*copy)(int, int, void *, struct tbed_error *),
                                  void *result)
{
    struct new_file file;
    struct tbed_error error;
    enum tbed_status status =
        tbed_new_file_open(files->to, files->overwrite, tbed_new_file_mode(&from, 1), &file, &error);
    if (status == TBED_OK) {
        status = copy_into(files, from, &file, copy, result);
        if (status != TBED_OK) {
            tbed_new_file_abandon(&file);
            return status;
        }
        status = tbed_new_file_commit(&file, &error);
    }
    if (status != TBED_OK)
        tool_complain_output(files->to, &error);
    return status;
}

enum tbed_status tool_copy(const struct tool_from_to *files,
                           enum tbed_status (*copy)(int, int, void *, struct tbed_error *), void *result)
{
    int from = tool_source_open(files->from);
    if (from < 0)
        return TBED_ERR_OPEN;
    enum tbed_status status = copy_from(files, from, copy, result);
    close(from);
    return status;
}
