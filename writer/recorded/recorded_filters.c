/*
 * How many filters of system calls (seccomp) this process has.
 *
 * A process that had none when 'record' started and has one when its program begins inherited it from its parent. The
 * filter lets the program's loader open and read files; what else it allows cannot be known.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/recorded/recorded.h"

static int number_after(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at != NULL ? atoi(at + strlen(label)) : 0;
}

/* Kernels before 5.9 only say whether there are any. */
static int filter_count(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t nbytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[nbytes > 0 ? nbytes : 0] = '\0';
    int mode = number_after(text, "\nSeccomp:"), count = number_after(text, "\nSeccomp_filters:");
    return mode == 0 ? 0 : count > 0 ? count : 1;
}

void tbed_recorded_filters_set(void)
{
    char text[16];
    snprintf(text, sizeof text, "%d", filter_count());
    setenv(TBED_ENV_FILTERS, text, 1);
}

bool tbed_recorded_is_confined(void)
{
    const char *before = getenv(TBED_ENV_FILTERS);
    return before != NULL && filter_count() > atoi(before);
}
