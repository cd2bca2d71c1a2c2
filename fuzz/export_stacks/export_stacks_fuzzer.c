/*
 * Whatever traces contain, what is exported as folded stacks, pprof, callgrind, speedscope and heaptrack is read by strict
 * parsers, of time and of memory, of one trace and of several. The output does not depend on the number of threads.
 *
 * The lowest bits of the first byte behind the last complete page say whether a part of the time is left out, and whether native
 * code is resolved, to names that are not UTF-8.
 *
 * Mutator: trace
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>
#include <sys/stat.h>
#include <tracebed/export.h>
#include <unistd.h>

#include "fuzz/support/choices.h"
#include "fuzz/support/exported.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"
#include "fuzz/support/strict_stacks.h"

struct output {
    char *bytes;
    size_t nbytes;
};

static struct output make_export(const char *name, struct tbed_reader *const *readers, size_t count,
                                 const struct tbed_export_options *options, struct tbed_export_result *result)
{
    struct output output;
    struct stat status;
    int fd = file_of_input(NULL, 0);
    const struct tbed_format *format = tbed_format_find(name);
    REQUIRE(tbed_export_fd(format, readers, count, fd, options, result, NULL) == TBED_OK);
    REQUIRE(fstat(fd, &status) == 0 && (uint64_t)status.st_size == result->nbytes);
    output.nbytes = (size_t)status.st_size;
    output.bytes = malloc(output.nbytes + 1);
    REQUIRE(output.bytes != NULL);
    REQUIRE(pread(fd, output.bytes, output.nbytes, 0) == (ssize_t)output.nbytes && close(fd) == 0);
    return output;
}

static void check_output(const char *name, struct output output, const struct tbed_export_result *result)
{
    uint64_t sample_count = 0;
    if (strcmp(name, "folded") == 0)
        REQUIRE(is_folded(output.bytes, output.nbytes));
    else if (strcmp(name, "pprof") == 0)
        REQUIRE(is_pprof((const uint8_t *)output.bytes, output.nbytes, &sample_count) &&
                sample_count == result->written_count);
    else if (strcmp(name, "callgrind") == 0)
        REQUIRE(is_callgrind(output.bytes, output.nbytes));
    else if (strcmp(name, "speedscope") == 0)
        REQUIRE(is_speedscope(output.bytes, output.nbytes));
    else
        REQUIRE(is_heaptrack(output.bytes, output.nbytes));
}

static void check(const char *name, struct tbed_reader *const *readers, size_t count,
                  struct tbed_export_options options)
{
    struct tbed_export_result result = {0}, again = {0};
    options.thread_count = 1;
    struct output output = make_export(name, readers, count, &options, &result);
    check_output(name, output, &result);
    options.thread_count = 3;
    struct output other = make_export(name, readers, count, &options, &again);
    REQUIRE(output.nbytes == other.nbytes && memcmp(output.bytes, other.bytes, output.nbytes) == 0);
    REQUIRE(memcmp(result.notes, again.notes, sizeof result.notes) == 0);
    export_cancelled(tbed_format_find(name)->kind, readers, count, options, result.written_count);
    free(output.bytes);
    free(other.bytes);
}

/* A caller who no longer wants to know; there may be nothing to read. */
static void check_cancelled(const char *name, struct tbed_reader *reader, bool by_memory)
{
    static const bool is_cancelled = true;
    struct tbed_export_options options = {
        .size = sizeof options, .by_memory = by_memory, .is_cancelled = &is_cancelled};
    int fd = file_of_input(NULL, 0);
    enum tbed_status status = tbed_export_fd(tbed_format_find(name), &reader, 1, fd, &options, NULL, NULL);
    REQUIRE(status == TBED_ERR_CANCELLED || status == TBED_OK);
    close(fd);
}

static size_t resolve(void *context, const struct tbed_unit_info *unit, const char *path, uint64_t pc,
                      struct tbed_frame *frames, size_t capacity)
{
    static const struct tbed_frame found[] = {{"inl\xFF;ined", "a\x80.c", 7, true}, {"\xC3", NULL, 0, false}};
    (void)context, (void)unit, (void)path;
    for (size_t i = 0; i < capacity && i < pc % 3; i++)
        frames[i] = found[i];
    return pc % 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char *const sums[] = {"folded", "pprof", "callgrind", "speedscope"};
    struct tbed_reader *reader = open_input(data, nbytes);
    struct tbed_trace_info info;
    struct tbed_filter *filter = NULL;
    struct tbed_resolver resolver = {.size = sizeof resolver, .frames = resolve};
    if (reader == NULL)
        return 0;
    if ((choice_at(data, nbytes, 0) & 2) != 0)
        REQUIRE(tbed_reader_set_resolver(reader, &resolver) == TBED_OK);
    tbed_reader_limit_text(reader, 0);
    tbed_reader_info(reader, &info);
    struct tbed_filter_options cut = {.size = sizeof cut,
                                      .begin_tick = info.first_tick + (info.last_tick - info.first_tick) / 3};
    if (choice_at(data, nbytes, 0) % 2 == 1)
        REQUIRE(tbed_filter_make(reader, &cut, &filter, NULL) == TBED_OK);
    struct tbed_reader *readers[] = {reader, reader};
    const struct tbed_filter *filters[] = {filter, NULL};
    struct tbed_export_options options = {.size = sizeof options, .filters = filters};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        options.by_memory = false;
        check(sums[i], readers, 2, options);
        options.by_memory = true;
        check(sums[i], readers, 1, options);
        check_cancelled(sums[i], reader, i % 2 == 0);
    }
    options.by_memory = false;
    check("heaptrack", readers, 1, options);
    check_cancelled("heaptrack", reader, false);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    return 0;
}
