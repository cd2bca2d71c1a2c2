/*
 * TRACEBED and TRACEBED_CATEGORIES: a trace is started when the library is loaded, and nothing of that can fail the
 * program. What it starts goes on in the same trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "writer/session.h"

#define PATH_NBYTES_MAX 4096

/* False: too long, or a '%' that means nothing. */
static bool path_expand(const char *pattern, char path[PATH_NBYTES_MAX])
{
    size_t at = 0;
    for (; *pattern != 0; pattern++) {
        int nbytes = 1;
        if (at + 24 > PATH_NBYTES_MAX)
            return false;
        if (*pattern != '%')
            path[at] = *pattern;
        else if (*++pattern == 'p')
            nbytes = snprintf(path + at, 24, "%d", (int)getpid());
        else if (*pattern == '%')
            path[at] = '%';
        else
            return false;
        at += (size_t)nbytes;
    }
    path[at] = 0;
    return at > 0;
}

/* A program that this one turns into, or starts, perhaps in another folder, appends. */
static void hand_down(const char *pattern)
{
    char value[2 * PATH_NBYTES_MAX + 8] = "+", folder[PATH_NBYTES_MAX];
    if (pattern[0] == '/')
        snprintf(value + 1, sizeof value - 1, "%s", pattern);
    else if (getcwd(folder, sizeof folder) != NULL && strchr(folder, '%') == NULL)
        snprintf(value + 1, sizeof value - 1, "%s/%s", folder, pattern);
    else
        return;
    setenv("TRACEBED", value, 1);
}

static const char *what_to_do(enum tbed_status status)
{
    switch (status) {
    case TBED_ERR_NOT_A_TRACE:
        return "; it is left alone, name another file in TRACEBED";
    case TBED_ERR_CLOCK_DIFFERS:
        return "; remove it, or name another file in TRACEBED";
    case TBED_ERR_ARGUMENT:
        return "; TRACEBED is a path, in which %p is the process's number and %% a percent sign";
    default:
        return "";
    }
}

static void complain(const char *path, const struct tbed_error *error)
{
    char line[2048];
    const char *reason = error->system_errno != 0 ? strerror(error->system_errno) : NULL;
    int nbytes =
        snprintf(line, sizeof line, "tracebed: %.1000s: %s%s%s; the program runs without a trace%s\n", path,
                 tbed_status_text(error->status), reason != NULL ? ": " : "", reason != NULL ? reason : "",
                 what_to_do(error->status));
    if (nbytes > 0 && write(STDERR_FILENO, line, (size_t)nbytes) < 0)
        return; /* there is nobody to tell */
}

static void start_by_environment(const char *wanted)
{
    char path[PATH_NBYTES_MAX];
    bool appends = wanted[0] == '+';
    const char *pattern = wanted + appends;
    struct tbed_error error = {.status = TBED_ERR_ARGUMENT};
    if (path_expand(pattern, path) && tbed_session_start(path, NULL, appends, &error) == TBED_OK)
        hand_down(pattern);
    else
        complain(pattern, &error);
}

void tbed_session_from_environment(void)
{
    int kept_errno = errno;
    const char *categories = secure_getenv("TRACEBED_CATEGORIES"), *path = secure_getenv("TRACEBED");
    if (categories != NULL && !tbed_category_list(categories))
        tbed_category_list("");
    if (path != NULL && path[0] != 0)
        start_by_environment(path);
    errno = kept_errno;
}
