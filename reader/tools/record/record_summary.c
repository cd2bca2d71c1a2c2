/*
 * After the program has ended: seals the trace and reports anything that went wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <tracebed/writer.h>
#include <unistd.h>

#define SEAL_TRIES         10 /* the last processes of a pipeline may still be exiting */
#define SEAL_WAIT_US       20000
#define COUNTED_NBYTES_MAX ((uint64_t)256 << 20) /* counting the events of larger traces takes too long */
#define TOLD_PROCESSES_MAX 8

/* ---- Processes that are still recording ---- */

static bool is_alive(uint32_t pid)
{
    return pid != (uint32_t)getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static bool was_seen(const struct tbed_reader *reader, size_t index, uint32_t pid)
{
    struct tbed_process_info other;
    for (size_t i = 0; i < index && tbed_process_get(reader, i, &other); i++)
        if (other.pid == pid)
            return true;
    return false;
}

/* A process that called exec has several entries. */
static size_t list_alive(const struct tbed_reader *reader, char *list, size_t list_nbytes)
{
    struct tbed_process_info process;
    size_t count = 0, at = 0;
    list[0] = '\0';
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++) {
        if (!is_alive(process.pid) || was_seen(reader, i, process.pid))
            continue;
        if (count++ < TOLD_PROCESSES_MAX)
            at += (size_t)snprintf(list + at, list_nbytes - at, "%s%u", at > 0 ? ", " : "", process.pid);
    }
    return count;
}

static void tell_busy(const char *path)
{
    char list[16 * TOLD_PROCESSES_MAX] = "";
    struct tbed_error error;
    struct tbed_reader *reader = tool_open_quietly(path, &error);
    size_t count = reader != NULL ? list_alive(reader, list, sizeof list) : 0;
    tbed_reader_close(reader);
    if (count > 0)
        tool_complain("%s: still being recorded by %zu background process%s (pid %s)", path, count,
                      count == 1 ? "" : "es", list);
    else
        tool_complain("%s: still being recorded by a background process", path);
    tool_hint("It can be read now, and is complete when they end; run 'tracebed verify %s' to check.", path);
}

/* ---- The result ---- */

static uint64_t count_events(struct tbed_reader *reader)
{
    uint64_t count = 0;
    struct tbed_stream_info stream;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        if (tbed_cursor_open(reader, stream.stream, &cursor) != TBED_OK)
            continue;
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count++;
        tbed_cursor_close(cursor);
    }
    return count;
}

static size_t count_processes(const struct tbed_reader *reader)
{
    size_t count = 0;
    struct tbed_process_info process;
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++)
        count += process.pid != (uint32_t)getpid();
    return count;
}

static void tell_summary(const char *path, struct tbed_reader *reader, const struct tbed_trace_info *info)
{
    char events[32], nbytes[32], processes[32], before[48] = "";
    if (info->file_nbytes <= COUNTED_NBYTES_MAX)
        snprintf(before, sizeof before, "%s events, ", tool_format_count(events, count_events(reader)));
    fprintf(stderr, "tracebed: ");
    tool_print_text(stderr, path, strlen(path), 0);
    fprintf(stderr, ": %s%s, processes: %s, dropped: ", before,
            tool_format_bytes(nbytes, (double)info->file_nbytes),
            tool_format_count(processes, count_processes(reader)));
    if (tool_drops_total(info->drops) > 0)
        tool_print_drops(stderr, info->drops);
    else
        fprintf(stderr, "none");
    fprintf(stderr, "\n");
}

static void tell_drops(const char *path, const struct tbed_trace_info *info)
{
    char number[32];
    tool_complain("%s: %s records were dropped:", path,
                  tool_format_count(number, tool_drops_total(info->drops)));
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++) {
        const char *reason = tool_drop_reason(cause);
        if (info->drops[cause] > 0)
            tool_hint("%s: %s%s%s", tool_format_count(number, info->drops[cause]),
                      tbed_drop_cause_text(cause), reason != NULL ? ": " : "", reason != NULL ? reason : "");
    }
}

/* False if no process has recorded, nor tried to. */
static bool tell_trace(const char *path, bool verbose)
{
    struct tbed_trace_info info;
    struct tbed_reader *reader = tool_open(path);
    if (reader == NULL)
        return true;
    tbed_reader_info(reader, &info);
    uint64_t drop_count = tool_drops_total(info.drops);
    bool has_any = drop_count > 0 || count_processes(reader) > 0;
    if (has_any && verbose)
        tell_summary(path, reader, &info);
    else if (drop_count > 0)
        tell_drops(path, &info);
    tbed_reader_close(reader);
    return has_any;
}

/* True: a recorder was loaded, and could not start. */
static bool tell_notes(const char *path, const struct launch_notes *notes, bool has_any, bool is_ruby)
{
    bool has_failed = record_notes_tell(path, notes);
    if (!has_any && !has_failed && is_ruby) {
        tool_complain("%s: nothing was recorded: no Ruby has loaded the extension", path);
        tool_hint("Is the program Ruby, or does it start one? Without --ruby, any program is recorded.");
    } else if (!has_any && !has_failed) {
        tool_complain("%s: nothing was recorded: the recorder was not loaded", path);
        tool_hint("Does the program clear its environment (env -i), or run as another user?");
    } else if (!has_any) {
        tool_complain("%s: nothing was recorded", path);
    }
    return has_failed;
}

/* Damaged traces are not sealed, because sealing would change them. */
static void tell_refusal(const char *path, const struct tbed_error *error)
{
    tool_complain_error(path, error);
    if (error->offset != UINT64_MAX)
        tool_hint("The trace was not closed; 'tracebed verify %s' lists the damage, and "
                  "'tracebed recover %s -o OUT' saves what is intact.",
                  path, path);
}

static sigjmp_buf unsealed;

static void leave_seal(int signal_number)
{
    (void)signal_number;
    siglongjmp(unsealed, 1);
}

/* A store raises SIGBUS on a file system that has no room for pages it allocated (btrfs). The trace is then not sealed. */
static enum tbed_status seal_guarded(const char *path, struct tbed_error *error)
{
    struct sigaction action = {.sa_handler = leave_seal}, before;
    enum tbed_status status = TBED_ERR_WRITE;
    sigaction(SIGBUS, &action, &before);
    if (sigsetjmp(unsealed, 1) == 0)
        status = tbed_trace_seal(path, error);
    else
        *error = (struct tbed_error){.status = status, .system_errno = EIO, .offset = UINT64_MAX};
    sigaction(SIGBUS, &before, NULL);
    return status;
}

/* False, with a complaint, if it could not be sealed. */
static bool seal(const char *path)
{
    struct tbed_error error = {.status = TBED_OK};
    enum tbed_status status = seal_guarded(path, &error);
    for (int i = 0; status == TBED_ERR_BUSY && i < SEAL_TRIES; i++) {
        usleep(SEAL_WAIT_US);
        status = seal_guarded(path, &error);
    }
    if (status == TBED_ERR_PACKED) /* only what is sealed is packed */
        return true;
    if (status == TBED_ERR_BUSY)
        tell_busy(path);
    else if (status != TBED_OK)
        tell_refusal(path, &error);
    return status == TBED_OK;
}

static void seal_other(const char *path, void *context)
{
    (void)context;
    seal(path);
}

bool record_finish(const char *path, bool is_series, bool is_ruby, const struct launch_notes *notes,
                   bool verbose)
{
    bool has_any = true;
    size_t count = is_series ? record_series_for_each(path, seal_other, NULL) : 0;
    if (is_series && access(path, F_OK) != 0)
        has_any = false;
    else if (seal(path))
        has_any = tell_trace(path, verbose);
    bool has_failed = tell_notes(path, notes, has_any, is_ruby);
    if (count > 0 && verbose)
        fprintf(stderr, "tracebed: %s is the newest file; %zu older ones are named %s.*\n", path, count,
                path);
    return has_any || !has_failed;
}
