/*
 * What recorded Ruby processes say about their calls: which patterns matched, the names that were compared with them, and
 * how many calls were too short. It is printed when the program has ended.
 *
 * The notes are in memory that is a file by its path in /proc, which the processes append lines to. Any process of the
 * program may write there, so nothing in it is trusted.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIABLE         "TRACEBED_RUBY_NOTES"
#define NOTES_MAX_NBYTES ((size_t)64 << 20) /* the rest is not read */
#define PATTERNS_MAX     64                 /* those behind them count as matched */

struct notes {
    char *text; /* lines, each ended by 0 */
    size_t nbytes;
    uint64_t matched, left_out; /* 'matched': a bit for each pattern */
};

int record_ruby_notes_open(void)
{
    char path[64];
    int fd = memfd_create("tracebed-ruby-notes", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (fd >= 0)
        setenv(VARIABLE, path, 1);
    else
        unsetenv(VARIABLE); /* that of a recorder outside this one */
    return fd;
}

/* ---- Reading ---- */

static void read_notes(int fd, struct notes *notes)
{
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    size_t room = end <= 0 ? 0 : (uint64_t)end < NOTES_MAX_NBYTES ? (size_t)end : NOTES_MAX_NBYTES;
    notes->text = tool_realloc(NULL, room + 1);
    ssize_t nbytes = room > 0 ? pread(fd, notes->text, room, 0) : 0;
    notes->nbytes = nbytes > 0 ? (size_t)nbytes : 0;
    notes->text[notes->nbytes++] = '\0';
    for (size_t i = 0; i < notes->nbytes; i++)
        if (notes->text[i] == '\n')
            notes->text[i] = '\0';
}

/* The value behind "KEY\t" at the start of a line; NULL: the line is another one. */
static const char *value_of(const char *line, const char *key)
{
    size_t nbytes = strlen(key);
    return strncmp(line, key, nbytes) == 0 && line[nbytes] == '\t' ? line + nbytes + 1 : NULL;
}

static void sum(struct notes *notes)
{
    const char *value, *end = notes->text + notes->nbytes;
    for (const char *line = notes->text; line < end; line += strlen(line) + 1)
        if ((value = value_of(line, "matched")) != NULL)
            notes->matched |= (uint64_t)1 << strtoul(value, NULL, 10) % PATTERNS_MAX;
        else if ((value = value_of(line, "left_out")) != NULL)
            notes->left_out += strtoull(value, NULL, 10);
}

/* ---- Printing ---- */

static bool is_of_paths(const char *pattern)
{
    return strncmp(pattern, "file:", 5) == 0 || strchr(pattern, '/') != NULL;
}

static void tell_nearest(const struct notes *notes, const char *pattern)
{
    struct plan_nearest *nearest = plan_nearest_open(pattern);
    const char *value, *end = notes->text + notes->nbytes;
    bool has_any = false;
    for (const char *line = notes->text; line < end; line += strlen(line) + 1) {
        const char *path = (value = value_of(line, "name")) != NULL ? strchr(value, '\t') : NULL;
        if (path == NULL)
            continue;
        has_any = true;
        if (is_of_paths(pattern))
            plan_nearest_offer_path(nearest, path + 1);
        else
            plan_nearest_offer_method(nearest, value, (size_t)(path - value));
    }
    if (!has_any)
        tool_hint("No method was called.");
    plan_nearest_close(nearest);
}

/* Patterns that leave out are often kept from other runs, so they are only mentioned. */
static bool tell_unmatched(const struct notes *notes, char *patterns)
{
    bool is_fine = true;
    unsigned number = 0;
    char *rest;
    for (char *pattern = strtok_r(patterns, "\n", &rest); pattern != NULL;
         pattern = strtok_r(NULL, "\n", &rest), number++) {
        bool leaves_out = pattern[0] == '!';
        if (number >= PATTERNS_MAX || (notes->matched >> number & 1) != 0)
            continue;
        tool_complain("%s: no method matches '%s'", leaves_out ? "--exclude" : "--filter",
                      pattern + leaves_out);
        tell_nearest(notes, pattern + leaves_out);
        is_fine &= leaves_out;
    }
    return is_fine;
}

static void tell_left_out(const char *path, uint64_t count)
{
    char number[32];
    if (count > 0)
        tool_complain("%s: %s call%s took less than the minimum duration and %s left out", path,
                      tool_format_count(number, count), count == 1 ? "" : "s", count == 1 ? "was" : "were");
}

bool record_ruby_end(struct record_ruby *ruby, const char *path, bool is_run)
{
    struct notes notes = {0};
    bool is_fine = true;
    read_notes(ruby->notes_fd, &notes);
    sum(&notes);
    if (is_run) {
        tell_left_out(path, notes.left_out);
        is_fine = ruby->patterns == NULL || ruby->notes_fd < 0 || tell_unmatched(&notes, ruby->patterns);
    }
    if (ruby->notes_fd >= 0)
        close(ruby->notes_fd);
    free(notes.text);
    return is_fine;
}
