/*
 * TRACEBED, the variables that accompany it, and RTL_LOGFILE: they start a trace when the program or library is loaded,
 * and no failure here affects the program. Child processes continue the same trace; with RTL_LOGFILE each has its own.
 * Without them, the trace of 'tracebed record' is joined, if that runs the program.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer/base/clock.h"
#include "writer/base/say.h"
#include "writer/recorded/recorded.h"
#include "writer/session/session.h"

#define PATH_NBYTES_MAX 4096

/* Returns false if the path is too long, or has an unknown '%' sequence. */
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

/*
 * Lets programs that this one starts or executes, perhaps in another directory, append to the same trace. If the trace is
 * a series of files, each gets its own series.
 */
static void hand_down(const char *pattern, bool is_series)
{
    char value[2 * PATH_NBYTES_MAX + 8] = "+", folder[PATH_NBYTES_MAX];
    const char *end = is_series && strstr(pattern, "%p") == NULL ? ".%p" : "";
    if (pattern[0] == '/')
        snprintf(value + 1, sizeof value - 1, "%s%s", pattern, end);
    else if (getcwd(folder, sizeof folder) != NULL && strchr(folder, '%') == NULL)
        snprintf(value + 1, sizeof value - 1, "%s/%s%s", folder, pattern, end);
    else
        return;
    setenv("TRACEBED", value, 1);
}

static const char *what_to_do(enum tbed_status status)
{
    switch (status) {
    case TBED_ERR_EXISTS:
        return "; remove it, or name another file in RTL_LOGFILE";
    case TBED_ERR_NOT_A_TRACE:
        return "; it is left alone, name another file in TRACEBED";
    case TBED_ERR_BUSY:
        return "; name another file in TRACEBED, perhaps with %p";
    case TBED_ERR_CLOCK_DIFFERS:
        return "; remove it, or name another file in TRACEBED";
    case TBED_ERR_ARGUMENT:
        return "; TRACEBED is a path, in which %p is the process's number and %% a percent sign";
    default:
        return "";
    }
}

static void complain(const char *path, const struct tbed_error *error, const char *advice)
{
    char line[2048];
    const char *reason = error->system_errno != 0 ? strerror(error->system_errno) : NULL;
    int nbytes = snprintf(
        line, sizeof line, "tracebed: %.1000s: %s%s%s; the program runs without a trace%s\n", path,
        tbed_status_text(error->status), reason != NULL ? ": " : "", reason != NULL ? reason : "", advice);
    tbed_say(line, nbytes);
}

static bool value_is_wrong(const char *name, const char *value, const char *wanted)
{
    char line[1024];
    tbed_say(line,
             snprintf(line, sizeof line, "tracebed: %s=%.500s: not %s; the program runs without a trace\n",
                      name, value, wanted));
    return false;
}

/* Parses a decimal number and moves '*at' behind it. 0 if there are no digits, or too many. */
static uint64_t number_take(const char **at)
{
    uint64_t number = 0;
    for (int digits = 0; **at >= '0' && **at <= '9'; ++*at, digits++) {
        if (digits == 9)
            return 0;
        number = number * 10 + (uint64_t)(**at - '0');
    }
    return number;
}

/* Parses a unit: the entry of 'worths' for the letter in 'letters'; 0 if it is not one of them. */
static uint64_t unit_take(const char **at, const char *letters, const uint64_t *worths)
{
    const char *letter = **at != 0 ? strchr(letters, **at) : NULL;
    if (letter == NULL)
        return 0;
    ++*at;
    return worths[letter - letters];
}

static const uint64_t size_worths[] = {1 << 10, 1 << 20, 1 << 30};
static const uint64_t time_worths[] = {1000000000, 60000000000, 3600000000000};

static bool ring_is_read(const char *value, struct tbed_writer_options *options)
{
    const char *at = value;
    uint64_t number = number_take(&at);
    options->ring_nbytes = number * unit_take(&at, "KMG", size_worths);
    return (options->ring_nbytes != 0 && *at == 0) ||
           value_is_wrong("TRACEBED_RING", value, "a size such as 64M (K, M or G)");
}

static bool rotate_is_read(const char *value, struct tbed_writer_options *options)
{
    const char *at = value;
    uint64_t number = number_take(&at), keep = 0;
    options->rotate_nbytes = number * unit_take(&at, "KMG", size_worths);
    if (options->rotate_nbytes == 0)
        options->rotate_interval_ns = number * unit_take(&at, "smh", time_worths);
    bool has_keep = *at == ',';
    at += has_keep;
    if (has_keep)
        keep = number_take(&at);
    options->rotate_keep = (uint32_t)keep;
    bool has_any = options->rotate_nbytes != 0 || options->rotate_interval_ns != 0;
    return (has_any && *at == 0 && (!has_keep || (keep >= 1 && keep <= 1000000))) ||
           value_is_wrong("TRACEBED_ROTATE", value,
                          "a size or a time, perhaps with how many files to keep, such as 64M, 60s or 64M,10 "
                          "(K, M, G, s, m or h)");
}

static bool sync_is_read(const char *value, struct tbed_writer_options *options)
{
    const char *at = value;
    uint64_t number = number_take(&at);
    options->sync_interval_ns = number * unit_take(&at, "smh", time_worths);
    return (options->sync_interval_ns != 0 && *at == 0) ||
           value_is_wrong("TRACEBED_SYNC", value, "a time such as 10s (s, m or h)");
}

static bool clock_is_read(const char *value, struct tbed_writer_options *options)
{
    bool is_tsc = strcmp(value, "tsc") == 0;
    options->clock = is_tsc ? TBED_CLOCK_X86_TSC : TBED_CLOCK_MONOTONIC;
    if (is_tsc && tbed_clock_of_machine() != TBED_CLOCK_X86_TSC)
        return value_is_wrong("TRACEBED_CLOCK", value, "a steady clock on this processor");
    return is_tsc || strcmp(value, "monotonic") == 0 ||
           value_is_wrong("TRACEBED_CLOCK", value, "tsc or monotonic");
}

/* NULL: it is not set, or empty. */
static const char *value_of(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != 0 ? value : NULL;
}

/* Returns false after printing an error. */
static bool options_are_read(struct tbed_writer_options *options)
{
    const char *ring = value_of("TRACEBED_RING"), *rotate = value_of("TRACEBED_ROTATE"),
               *sync = value_of("TRACEBED_SYNC"), *clock = value_of("TRACEBED_CLOCK");
    if (ring != NULL && rotate != NULL)
        return value_is_wrong("TRACEBED_ROTATE", rotate, "possible together with TRACEBED_RING");
    return (ring == NULL || ring_is_read(ring, options)) &&
           (rotate == NULL || rotate_is_read(rotate, options)) &&
           (sync == NULL || sync_is_read(sync, options)) && (clock == NULL || clock_is_read(clock, options));
}

static void start_by_environment(const char *wanted)
{
    char path[PATH_NBYTES_MAX];
    bool appends = wanted[0] == '+';
    const char *pattern = wanted + appends;
    struct tbed_error error = {.status = TBED_ERR_ARGUMENT};
    struct tbed_writer_options options = {.size = sizeof options, .guard = true};
    if (!options_are_read(&options))
        return;
    bool is_series = options.rotate_nbytes != 0 || options.rotate_interval_ns != 0;
    enum tbed_start start = appends ? TBED_START_JOINS : TBED_START_REPLACES;
    if (path_expand(pattern, path) && tbed_session_start(path, &options, start, &error) == TBED_OK)
        hand_down(pattern, is_series);
    else
        complain(pattern, &error, what_to_do(error.status));
}

/* Records into PREFIX_PID.tbed; a prefix that ends in ".nopid" is the path itself. An existing file is left alone. */
static void start_by_prefix(const char *prefix)
{
    static const char whole[] = ".nopid";
    char path[PATH_NBYTES_MAX];
    size_t nbytes = strlen(prefix), end = sizeof whole - 1;
    bool is_whole = nbytes > end && strcmp(prefix + nbytes - end, whole) == 0;
    int written = is_whole ? snprintf(path, sizeof path, "%s", prefix)
                           : snprintf(path, sizeof path, "%s_%d.tbed", prefix, (int)getpid());
    struct tbed_error error = {.status = TBED_ERR_OPEN, .system_errno = ENAMETOOLONG};
    struct tbed_writer_options options = {.size = sizeof options, .guard = true};
    if (!options_are_read(&options))
        return;
    if (written >= (int)sizeof path ||
        tbed_session_start(path, &options, TBED_START_BY_OPTIONS, &error) != TBED_OK)
        complain(path, &error, what_to_do(error.status));
}

/*
 * Into the trace of 'tracebed record', which runs the program, until it starts one of its own. The options are those of the
 * other recorders of the process.
 */
static void start_recorded(const char *path)
{
    struct tbed_error error;
    struct tbed_writer_options options = {.size = sizeof options, .guard = true};
    if (path[0] == '/' && !tbed_recorded_is_confined() &&
        tbed_session_start(path, &options, TBED_START_RECORDED, &error) != TBED_OK)
        complain(path, &error, "");
}

static bool is_running(void)
{
    struct tbed_session *session = tbed_session_lock();
    if (session == NULL)
        return true;
    bool has_writer = session->writer != NULL;
    tbed_session_unlock();
    return has_writer;
}

static void take_categories(void)
{
    const char *categories = secure_getenv("TRACEBED_CATEGORIES");
    if (categories != NULL && !tbed_category_list(categories))
        tbed_category_list("");
}

/* May be called late, for a library loaded at run time; a trace that is already running goes on. */
void tbed_environment_obey(bool takes_rtl_logfile)
{
    static bool has_path_been_taken, has_prefix_been_taken;
    int kept_errno = errno;
    const char *path = value_of("TRACEBED"), *prefix = value_of("RTL_LOGFILE"),
               *recorded = value_of(TBED_ENV_FILE);
    if (!__atomic_exchange_n(&has_path_been_taken, true, __ATOMIC_RELAXED)) {
        take_categories();
        if (path != NULL && !is_running())
            start_by_environment(path);
        else if (recorded != NULL && path == NULL && prefix == NULL && !is_running())
            start_recorded(recorded);
    }
    if (takes_rtl_logfile && !__atomic_exchange_n(&has_prefix_been_taken, true, __ATOMIC_RELAXED))
        if (prefix != NULL && path == NULL && !is_running())
            start_by_prefix(prefix);
    errno = kept_errno;
}
