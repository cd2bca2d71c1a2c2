/*
 * What could not be recorded, and why: printed from the notes that recorded processes have left.
 *
 * Any process of the program may write there, so nothing in it is trusted.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"
#include "writer/capture/launch/launch_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 6 /* of programs in one line */

/* Also those that were never finished: a copy of each note, whose name ends. */
static size_t take_notes(const struct launch_notes *notes, struct launch_note list[LAUNCH_NOTES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; notes != NULL && i < LAUNCH_NOTES_MAX; i++) {
        struct launch_note *note = &list[count];
        memcpy(note, &notes->list[i], sizeof *note);
        note->name[LAUNCH_NOTE_NAME_MAX] = '\0';
        if (note->kind != LAUNCH_NOTE_NONE && note->kind < LAUNCH_NOTE_KIND_COUNT && note->count > 0 &&
            note->count < UINT32_MAX)
            count++;
    }
    return count;
}

static bool is_mentioned(const struct launch_note *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (list[i].kind == list[at].kind && strcmp(list[i].name, list[at].name) == 0)
            return true;
    return false;
}

static uint64_t count_of(const struct launch_note *list, size_t count, const struct launch_note *note)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == note->kind && strcmp(list[i].name, note->name) == 0)
            sum += list[i].count;
    return sum;
}

static const char *reason_of(unsigned kind)
{
    static const char *const reasons[LAUNCH_NOTE_KIND_COUNT] = {
        [LAUNCH_NOTE_STATIC] = "statically linked",
        [LAUNCH_NOTE_OTHER_MACHINE] = "built for another architecture",
        [LAUNCH_NOTE_OTHER_LIBRARY] = "built for another C library",
        [LAUNCH_NOTE_PRIVILEGED] = "setuid, setgid or with capabilities",
        [LAUNCH_NOTE_ENVIRONMENT] = "started without LD_PRELOAD in its environment",
        [LAUNCH_NOTE_SANDBOX] = "started inside a sandbox",
        [LAUNCH_NOTE_RUBY] = "started without RUBYOPT=-rtracebed/auto in its environment",
    };
    return reasons[kind];
}

/* "statically linked: /bin/a (2 times), /bin/b and 3 others". */
static void tell_kind(const struct launch_note *list, size_t count, unsigned kind, uint64_t unlisted)
{
    struct tool_buffer line = {0};
    char part[LAUNCH_NOTE_NAME_MAX + 64];
    size_t names = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != kind || is_mentioned(list, i) || names++ >= NAMES_MAX)
            continue;
        uint64_t times = count_of(list, count, &list[i]);
        int nbytes = snprintf(part, sizeof part, "%s%s", line.nbytes > 0 ? ", " : "", list[i].name);
        if (times > 1)
            nbytes += snprintf(part + nbytes, sizeof part - (size_t)nbytes, " (%" PRIu64 " times)", times);
        tool_append(&line, part, (size_t)nbytes);
    }
    uint64_t others = (names > NAMES_MAX ? names - NAMES_MAX : 0) + unlisted;
    tool_append(&line, "", 1);
    if (names > 0 && others > 0)
        tool_hint("%s: %s and %" PRIu64 " more", reason_of(kind), line.bytes, others);
    else if (names > 0)
        tool_hint("%s: %s", reason_of(kind), line.bytes);
    free(line.bytes);
}

/* Notes about programs; the others are about something else. */
static bool is_of_program(const struct launch_note *note)
{
    return note->kind >= LAUNCH_NOTE_STATIC && note->kind <= LAUNCH_NOTE_RUBY;
}

static void tell_programs(const char *path, const struct launch_notes *notes, const struct launch_note *list,
                          size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += is_of_program(&list[i]) ? list[i].count : 0;
    if (total == 0)
        return;
    tool_complain("%s: %" PRIu64 " program%s could not be recorded:", path, total, total == 1 ? "" : "s");
    for (unsigned kind = LAUNCH_NOTE_STATIC; kind <= LAUNCH_NOTE_RUBY; kind++)
        tell_kind(list, count, kind, notes->unlisted[kind]);
}

static uint64_t tell_not_started(const char *path, const struct launch_note *list, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += list[i].kind == LAUNCH_NOTE_NOT_STARTED ? list[i].count : 0;
    if (total > 0)
        tool_complain("%s: the recorder could not start in %" PRIu64 " process%s:", path, total,
                      total == 1 ? "" : "es");
    for (size_t i = 0; i < count; i++) {
        const struct launch_note *note = &list[i];
        bool has_errno = note->system_errno > 0;
        if (note->kind == LAUNCH_NOTE_NOT_STARTED)
            tool_hint("%s: the trace %s%s%s", note->name,
                      note->status < 256 ? tbed_status_text((enum tbed_status)note->status) : "",
                      has_errno ? ": " : "", has_errno ? strerror(note->system_errno) : "");
    }
    return total;
}

static const char *plan_trouble(uint32_t status)
{
    static const char *const texts[LAUNCH_PLAN_STATUS_COUNT] = {
        [LAUNCH_PLAN_MADE] = "its list of functions could not be read",
        [LAUNCH_PLAN_NOT_ASKED] = "the process could not ask tracebed which functions to record",
        [LAUNCH_PLAN_NO_FILE] = "its file could not be read",
        [LAUNCH_PLAN_OTHER_BUILD] = "another file has taken its place",
        [LAUNCH_PLAN_NO_SYMBOLS] = "it has no symbols",
    };
    return status < LAUNCH_PLAN_STATUS_COUNT ? texts[status] : "unknown";
}

static void tell_unplanned(const char *path, const struct launch_notes *notes, const struct launch_note *list,
                           size_t count)
{
    uint64_t total = notes != NULL ? notes->unlisted[LAUNCH_NOTE_UNPLANNED] : 0;
    for (size_t i = 0; i < count; i++)
        total += list[i].kind == LAUNCH_NOTE_UNPLANNED ? list[i].count : 0;
    if (total == 0)
        return;
    tool_complain("%s: %" PRIu64 " program%s or librar%s recorded as if no pattern matched:", path, total,
                  total == 1 ? "" : "s", total == 1 ? "y was" : "ies were");
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == LAUNCH_NOTE_UNPLANNED)
            tool_hint("%s: %s", list[i].name, plan_trouble(list[i].status));
}

static void tell_left_out(const char *path, const struct launch_notes *notes)
{
    char number[32];
    uint64_t count = 0;
    for (size_t i = 0; notes != NULL && i < LAUNCH_LEFT_OUT_MAX; i++)
        count += notes->left_out[i].count;
    if (count > 0)
        tool_complain("%s: %s call%s took less than the minimum duration and %s left out", path,
                      tool_format_count(number, count), count == 1 ? "" : "s", count == 1 ? "was" : "were");
}

static void tell_libcalls(const char *path, const struct launch_note *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == LAUNCH_NOTE_LIBCALLS)
            tool_complain("%s: %" PRIu64 " library function%s called by %s could not be recorded", path,
                          list[i].count, list[i].count == 1 ? "" : "s", list[i].name);
}

static const char *patch_trouble(int32_t reason)
{
    if (reason > 0)
        return strerror(reason);
    return reason == LAUNCH_UNPATCHED_NO_ROOM ? "there is no room for a call at their entries"
                                              : "return addresses cannot be replaced in this process";
}

static void tell_unpatched(const char *path, const struct launch_note *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct launch_note *note = &list[i];
        if (note->kind == LAUNCH_NOTE_UNPATCHED)
            tool_complain("%s: %s: %" PRIu32 " function%s could not be patched: %s", path, note->name,
                          note->status, note->status == 1 ? "" : "s", patch_trouble(note->system_errno));
    }
}

bool record_notes_tell(const char *path, const struct launch_notes *notes)
{
    struct launch_note list[LAUNCH_NOTES_MAX];
    size_t count = take_notes(notes, list);
    tell_programs(path, notes, list, count);
    tell_unplanned(path, notes, list, count);
    tell_left_out(path, notes);
    tell_libcalls(path, list, count);
    tell_unpatched(path, list, count);
    return tell_not_started(path, list, count) > 0;
}
