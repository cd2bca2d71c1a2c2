/*
 * Opening the trace of 'tracebed record'. It may run inside the program's first malloc(), so nothing here allocates.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/life/recorded_open.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/life/writer_options.h"
#include "writer/recorded/recorded.h"

#define SERIES_MAX 100 /* of one process */

static void take_rotation(const char *at, struct tbed_writer_options *options)
{
    char *end;
    options->rotate_nbytes = strtoull(at, &end, 10);
    options->rotate_interval_ns = *end == ',' ? strtoull(end + 1, &end, 10) : 0;
    options->rotate_keep = *end == ',' ? (uint32_t)strtoul(end + 1, &end, 10) : 0;
}

static void take_options(struct tbed_writer_options *options)
{
    const char *most = getenv(TBED_ENV_MAX), *rotation = getenv(TBED_ENV_ROTATE),
               *clock = getenv(TBED_ENV_CLOCK);
    if (most != NULL)
        options->max_file_nbytes = strtoull(most, NULL, 10);
    if (rotation != NULL)
        take_rotation(rotation, options);
    if (clock != NULL && strcmp(clock, "tsc") == 0)
        options->clock = TBED_CLOCK_X86_TSC;
    else if (clock != NULL && strcmp(clock, "monotonic") == 0)
        options->clock = TBED_CLOCK_MONOTONIC;
    options->join = !tbed_options_want_rotation(options);
}

enum tbed_status tbed_recorded_open(const char *path, const struct tbed_writer_options *given,
                                    struct tbed_writer **writer_ret, struct tbed_error *error)
{
    char own[PATH_MAX + 32];
    struct tbed_writer_options options = *given;
    take_options(&options);
    enum tbed_status status = tbed_writer_open(path, &options, writer_ret, error);
    for (unsigned number = 1; !options.join && status == TBED_ERR_EXISTS && number < SERIES_MAX; number++) {
        snprintf(own, sizeof own, number == 1 ? "%s.%d" : "%s.%d-%u", path, (int)getpid(), number);
        status = tbed_writer_open(own, &options, writer_ret, error);
    }
    return status;
}
