/*
 * What an export writes, in memory; see exported.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/exported.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"

const struct tbed_format *format_of_kind(enum tbed_foreign_kind kind)
{
    const struct tbed_format *format = NULL;
    for (size_t i = 0; (format = tbed_format_get(i)) != NULL && format->kind != kind; i++)
        continue;
    REQUIRE(format != NULL);
    return format;
}

static struct exported export_once(enum tbed_foreign_kind kind, struct tbed_reader *const *readers,
                                   size_t count, const struct tbed_export_options *options)
{
    struct exported exported = {0};
    struct stat status;
    int fd = file_of_input(NULL, 0);
    REQUIRE(tbed_export_fd(format_of_kind(kind), readers, count, fd, options, &exported.result, NULL) ==
            TBED_OK);
    REQUIRE(fstat(fd, &status) == 0 && (uint64_t)status.st_size == exported.result.nbytes);
    exported.nbytes = (size_t)status.st_size;
    exported.bytes = malloc(exported.nbytes + 1);
    REQUIRE(exported.bytes != NULL);
    REQUIRE(pread(fd, exported.bytes, exported.nbytes, 0) == (ssize_t)exported.nbytes);
    exported.bytes[exported.nbytes] = 0;
    REQUIRE(close(fd) == 0);
    return exported;
}

struct exported export_twice(enum tbed_foreign_kind kind, struct tbed_reader *const *readers, size_t count,
                             const struct tbed_export_options *options)
{
    struct exported first = export_once(kind, readers, count, options);
    struct exported second = export_once(kind, readers, count, options);
    REQUIRE(first.nbytes == second.nbytes && memcmp(first.bytes, second.bytes, first.nbytes) == 0);
    free(second.bytes);
    return first;
}

void export_cancelled(enum tbed_foreign_kind kind, struct tbed_reader *const *readers, size_t count,
                      struct tbed_export_options options, uint64_t usual_count)
{
    static const bool is_cancelled = true;
    struct tbed_export_result result = {0};
    struct tbed_stream_info stream;
    int fd = file_of_input(NULL, 0);
    options.is_cancelled = &is_cancelled;
    enum tbed_status status =
        tbed_export_fd(format_of_kind(kind), readers, count, fd, &options, &result, NULL);
    REQUIRE(status == TBED_ERR_CANCELLED || usual_count == 0 || !tbed_stream_get(readers[0], 0, &stream));
    REQUIRE(close(fd) == 0);
}
