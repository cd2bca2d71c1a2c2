/*
 * Opens, verifies and refreshes a trace while file calls fail or find a different file. Opening and refreshing must
 * return an error, and the next attempt must succeed. The file has holes, both when it is opened and after it has
 * grown.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

enum { HOLE_NBYTES = 1 << 18 };

static const int errors[] = {FAILING_CHANGED, EIO, ENOENT, EINTR, ENXIO};

struct file {
    const uint8_t *data;
    size_t nbytes;
    const char *path;
    int system_errno;
    bool copy;
};

static uint64_t count_events(struct tbed_reader *reader)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t count = 0;
    REQUIRE(tbed_merge_open(reader, NULL, 0, &merge) == TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        count++;
    tbed_merge_close(merge);
    return count;
}

static void use(const struct file *file, struct tbed_reader *reader, int fd)
{
    struct tbed_error error;
    failing_start_files(file->system_errno);
    tbed_reader_verify(reader);
    failing_stop();
    REQUIRE(ftruncate(fd, (off_t)file->nbytes + 2 * HOLE_NBYTES) == 0);
    failing_start_files(file->system_errno);
    enum tbed_status status = tbed_reader_refresh(reader, &error);
    failing_stop();
    REQUIRE(status == TBED_OK || (failing_count() > 0 && error.status == status));
    uint64_t count = count_events(reader);
    REQUIRE(tbed_reader_refresh(reader, NULL) == TBED_OK && count_events(reader) == count);
}

static void step(void *context)
{
    const struct file *file = context;
    struct tbed_reader_options options = {.size = sizeof options, .copy = file->copy};
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {.status = TBED_OK};
    scratch_put(file->path, file->data, file->nbytes);
    int fd = open(file->path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)file->nbytes + HOLE_NBYTES) == 0);
    failing_start_files(file->system_errno);
    enum tbed_status status = tbed_reader_open(file->path, &options, &reader, &error);
    failing_stop();
    REQUIRE((status == TBED_OK) == (reader != NULL) && error.status == status);
    if (reader != NULL)
        use(file, reader, fd);
    tbed_reader_close(reader);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct file file = {.data = data, .nbytes = nbytes, .path = scratch_path("trace")};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        file.system_errno = errors[i];
        plan.all_later = plan.all_later && errors[i] != EINTR; /* EINTR is retried until the call succeeds */
        for (int copy = 0; copy < 2; copy++) {
            file.copy = copy == 1;
            failing_run(&plan, step, &file);
        }
    }
    return 0;
}
