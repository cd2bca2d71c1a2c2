/*
 * Progress of a long pass over a trace, on standard error if that is a terminal.
 *
 * A thread looks at the count of blocks that have been read, and says nothing during the first second. The line is cleared
 * when the pass ends, and by a signal that ends the program.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <tracebed/verify.h>
#include <unistd.h>

#define FIRST_MS 1000
#define NEXT_MS  250

static struct {
    pthread_t thread;
    pthread_mutex_t lock; /* for 'is_ending' */
    pthread_cond_t ending;
    bool is_running, is_ending;
    const struct tbed_reader *reader; /* NULL: of 'readers' */
    struct tbed_reader *const *readers;
    size_t reader_count;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static volatile sig_atomic_t is_shown;
static bool is_paged; /* what is printed meanwhile comes to the terminal through a pager */

static void write_all(const char *text, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t written = write(STDERR_FILENO, text, nbytes);
        if (written <= 0)
            return; /* a terminal that is gone needs no progress */
        text += written;
        nbytes -= (size_t)written;
    }
}

void tool_progress_clear(void)
{
    if (is_shown)
        write_all("\r\033[K", 4);
    is_shown = 0;
}

/* Over all traces of the pass. */
static void count(uint64_t *read_count_ret, uint64_t *all_count_ret)
{
    if (progress.reader != NULL) {
        tbed_reader_progress(progress.reader, read_count_ret, all_count_ret);
        return;
    }
    *read_count_ret = *all_count_ret = 0;
    for (size_t i = 0; i < progress.reader_count; i++) {
        uint64_t read_count, all_count;
        tbed_reader_progress(progress.readers[i], &read_count, &all_count);
        *read_count_ret += read_count;
        *all_count_ret += all_count;
    }
}

/* Blocks are counted when they are first read: a second pass begins with all of them. */
static void show(void)
{
    char line[64];
    uint64_t read_count, all_count;
    count(&read_count, &all_count);
    if (all_count == 0)
        return;
    bool is_all = read_count >= all_count;
    int nbytes =
        snprintf(line, sizeof line, "\r\033[Ktracebed: read %u %%%s",
                 (unsigned)(is_all ? 100 : 100 * read_count / all_count), is_all ? ", computing" : "");
    is_shown = 1;
    write_all(line, (size_t)nbytes);
}

static void *progress_main(void *argument)
{
    long wait_ms = FIRST_MS;
    (void)argument;
    pthread_mutex_lock(&progress.lock);
    while (!progress.is_ending) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += wait_ms % 1000 * 1000000;
        until.tv_sec += wait_ms / 1000 + until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&progress.ending, &progress.lock, &until) == 0)
            continue;
        show();
        wait_ms = NEXT_MS;
    }
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

void tool_progress_paged(void)
{
    is_paged = true;
}

static void begin(bool prints_meanwhile)
{
    pthread_condattr_t attributes;
    bool is_in_use = prints_meanwhile && (isatty(STDOUT_FILENO) == 1 || is_paged);
    if (is_in_use || isatty(STDERR_FILENO) != 1 || pthread_condattr_init(&attributes) != 0)
        return;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.ending, &attributes);
    pthread_condattr_destroy(&attributes);
    progress.is_ending = false;
    progress.is_running = pthread_create(&progress.thread, NULL, progress_main, NULL) == 0;
}

void tool_progress_begin(const struct tbed_reader *reader, bool prints_meanwhile)
{
    if (progress.is_running)
        return;
    progress.reader = reader;
    begin(prints_meanwhile);
}

void tool_progress_begin_all(struct tbed_reader *const *readers, size_t reader_count)
{
    if (progress.is_running)
        return;
    progress.reader = NULL;
    progress.readers = readers;
    progress.reader_count = reader_count;
    begin(false);
}

void tool_progress_end(void)
{
    if (!progress.is_running)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.is_ending = true;
    pthread_cond_signal(&progress.ending);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.ending);
    progress.is_running = false;
    tool_progress_clear();
}
