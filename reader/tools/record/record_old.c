/*
 * An older trace under the name that is about to be recorded: it is moved to NAME.old, as perf and uftrace do, with the
 * files of its series. A file that is not a trace is never moved, nor is a trace that is still being recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Beyond the locks that writers take. The first process of the program joins some time after the trace was created; until
 * then no writer's lock shows that it is in use.
 */
#define HOLD_OFFSET (((off_t)1 << 62) - 1)

/* ---- What is there ---- */

enum occupant {
    NOTHING,
    A_TRACE,
    A_SERIES, /* its newest file */
    SOMETHING_ELSE,
};

static enum occupant occupant_of(const char *path)
{
    struct tbed_reader *reader = NULL;
    struct tbed_trace_info info;
    const struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return NOTHING;
    switch (tbed_reader_open(path, &options, &reader, NULL)) {
    case TBED_OK:
        tbed_reader_info(reader, &info);
        tbed_reader_close(reader);
        return info.series_number > 0 ? A_SERIES : A_TRACE;
    case TBED_ERR_OPEN:
    case TBED_ERR_READ:
    case TBED_ERR_MAP:
    case TBED_ERR_MEMORY:
    case TBED_ERR_NOT_A_TRACE:
    case TBED_ERR_EMPTY:
    case TBED_ERR_IS_DIRECTORY:
    case TBED_ERR_NOT_REGULAR:
        return SOMETHING_ELSE;
    default:
        return A_TRACE; /* a damaged one, or one of a later version */
    }
}

/* By another 'record', whose program may not have begun yet. */
static bool is_held(const char *path)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = HOLD_OFFSET, .l_len = 1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_it = fd >= 0 && fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return is_it;
}

int record_old_hold(const char *path)
{
    struct flock range = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = HOLD_OFFSET, .l_len = 1};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        fcntl(fd, F_OFD_SETLK, &range);
    return fd;
}

/* ---- Moving ---- */

struct moving {
    const char *from, *to;
    size_t count; /* of the files of a series */
    bool is_busy, has_failed;
};

static bool is_busy(const char *path)
{
    if (!is_held(path) && !tool_is_written(path))
        return false;
    tool_complain("%s: it is still being recorded", path);
    tool_hint("Use -o FILE to write another file.");
    return true;
}

static void look_at_file(const char *path, void *context)
{
    struct moving *moving = context;
    if (!moving->is_busy && occupant_of(path) == A_SERIES)
        moving->is_busy = is_busy(path);
}

static void remove_file(const char *path, void *context)
{
    (void)context;
    if (occupant_of(path) == A_SERIES)
        unlink(path);
}

static bool move(const char *from, const char *to)
{
    if (rename(from, to) == 0)
        return true;
    tool_complain("cannot move '%s' to '%s': %s", from, to, strerror(errno));
    return false;
}

/* What comes behind the name of the trace: ".000001". */
static const char *number_of(const char *path, const char *trace)
{
    return basename(path) + strlen(basename(trace));
}

static void move_file(const char *path, void *context)
{
    struct moving *moving = context;
    char *to = NULL;
    if (occupant_of(path) != A_SERIES || asprintf(&to, "%s%s", moving->to, number_of(path, moving->from)) < 0)
        return;
    if (move(path, to))
        moving->count++;
    else
        moving->has_failed = true;
    free(to);
}

static bool move_all(struct moving *moving, enum occupant occupant)
{
    if (occupant == A_SERIES)
        record_series_for_each(moving->from, move_file, moving);
    return !moving->has_failed && move(moving->from, moving->to);
}

/* May both names be taken? Complains if not. */
static bool may_move(const char *path, enum occupant occupant, const char *old)
{
    struct moving moving = {0};
    if (occupant_of(old) == SOMETHING_ELSE) {
        tool_complain("%s: exists already, and is not a trace", old);
        tool_hint(
            "The trace %s would be moved there. Use -f to replace it, or -o FILE to write another file.",
            path);
        return false;
    }
    if (occupant == A_SERIES)
        record_series_for_each(path, look_at_file, &moving);
    return !moving.is_busy && !is_busy(path) && !is_busy(old);
}

static bool move_away(const char *path, enum occupant occupant, const char *old)
{
    struct moving moving = {.from = path, .to = old};
    if (!may_move(path, occupant, old))
        return false;
    if (occupant_of(old) == A_SERIES)
        record_series_for_each(old, remove_file, NULL);
    if (!move_all(&moving, occupant))
        return false;
    if (moving.count > 0)
        tool_complain("%s: moved the trace that was there to %s, with %zu file%s of its series", path, old,
                      moving.count, moving.count == 1 ? "" : "s");
    else
        tool_complain("%s: moved the trace that was there to %s", path, old);
    return true;
}

bool record_old_move(const char *path, char **old_ret)
{
    enum occupant occupant = occupant_of(path);
    *old_ret = NULL;
    if (occupant != A_TRACE && occupant != A_SERIES) /* creating the trace fails if something is there */
        return true;
    if (asprintf(old_ret, "%s.old", path) < 0)
        tool_out_of_memory();
    if (move_away(path, occupant, *old_ret))
        return true;
    free(*old_ret);
    *old_ret = NULL;
    return false;
}

void record_old_move_back(const char *path, const char *old)
{
    struct moving moving = {.from = old, .to = path};
    if (old != NULL && move_all(&moving, occupant_of(old)))
        tool_complain("%s: moved back to %s", old, path);
}
