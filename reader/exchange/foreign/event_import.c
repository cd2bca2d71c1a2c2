/*
 * Processes, tracks and events of an import; see event_import.h. How they become a trace is in event_record.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/event_import.h"
#include "reader/exchange/shared/import_trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- Opening and closing ---- */

enum tbed_status tbed_event_import_open(struct event_import *import, int fd,
                                        struct tbed_import_report *report, struct tbed_error *error)
{
    struct tbed_writer_options options = {
        .size = sizeof options,
        .process_name = "",
        .process_pid = TBED_PID_UNKNOWN,
        .given_ticks = true,
        .given_ticks_per_second = 1000000000,
        .release_pages = true,
    };
    *import = (struct event_import){.report = report, .first_time = UINT64_MAX, .first_begin = UINT64_MAX};
    return tbed_writer_open_fd(fd, &options, &import->writer, error);
}

void tbed_event_import_close(struct event_import *import)
{
    for (size_t i = 0; i < import->processes.count; i++)
        free(import->processes.items[i].name);
    for (size_t i = 0; i < import->tracks.count; i++)
        free(import->tracks.items[i].name);
    tbed_vector_free(&import->processes.vector);
    tbed_vector_free(&import->tracks.vector);
    tbed_hashmap_free(&import->process_slots.map);
    tbed_hashmap_free(&import->track_slots.map);
    tbed_event_rows_free(&import->rows);
    tbed_writer_free(import->writer);
}

/* ---- The report ---- */

void tbed_event_damage(struct event_import *import, enum tbed_status status, uint64_t offset)
{
    tbed_import_damaged(import->report, status, 0, offset, 0);
}

void tbed_event_note(struct event_import *import, enum tbed_import_note note)
{
    import->report->notes[note]++;
}

static void fail(struct event_import *import, enum tbed_status status)
{
    if (import->status == TBED_OK)
        import->status = status;
}

/* ---- Processes and tracks ---- */

uint32_t tbed_event_process(struct event_import *import, uint64_t key, uint32_t pid)
{
    struct event_slot *slot = TBED_HASHMAP_FIND(&import->process_slots, key);
    if (slot != NULL)
        return slot->index;
    if (import->processes.count >= EVENT_TRACK_MAX)
        return EVENT_TRACK_MAX - 1;
    if (!TBED_HASHMAP_RESERVE(&import->process_slots, 1) || TBED_VECTOR_PUSH(&import->processes) == NULL) {
        fail(import, TBED_ERR_MEMORY);
        return EVENT_NONE;
    }
    slot = TBED_HASHMAP_ADD(&import->process_slots, key);
    slot->index = (uint32_t)import->processes.count - 1;
    import->processes.items[slot->index].pid = pid;
    return slot->index;
}

uint32_t tbed_event_track(struct event_import *import, uint64_t key, uint32_t process, uint32_t tid)
{
    struct event_slot *slot = TBED_HASHMAP_FIND(&import->track_slots, key);
    if (slot != NULL)
        return slot->index;
    if (process == EVENT_NONE)
        return EVENT_NONE;
    if (import->tracks.count >= EVENT_TRACK_MAX) {
        tbed_event_note(import, TBED_IMPORT_NOTE_THREADS);
        return EVENT_TRACK_MAX - 1;
    }
    if (!TBED_HASHMAP_RESERVE(&import->track_slots, 1) || TBED_VECTOR_PUSH(&import->tracks) == NULL) {
        fail(import, TBED_ERR_MEMORY);
        return EVENT_NONE;
    }
    slot = TBED_HASHMAP_ADD(&import->track_slots, key);
    slot->index = (uint32_t)import->tracks.count - 1;
    struct event_track *track = &import->tracks.items[slot->index];
    track->process = process;
    track->tid = tid;
    return slot->index;
}

static void set_name(struct event_import *import, char **name, const char *text, size_t nbytes)
{
    size_t taken = nbytes < EVENT_NAME_NMAX ? nbytes : EVENT_NAME_NMAX;
    const char *zero = memchr(text, '\0', taken);
    taken = zero != NULL ? (size_t)(zero - text) : taken;
    while (taken > 0 && taken < nbytes && ((unsigned char)text[taken] & 0xC0) == 0x80)
        taken--; /* not inside a code point */
    char *copy = malloc(taken + 1);
    if (copy == NULL) {
        fail(import, TBED_ERR_MEMORY);
        return;
    }
    memcpy(copy, text, taken);
    copy[taken] = '\0';
    free(*name);
    *name = copy;
}

void tbed_event_process_name(struct event_import *import, uint32_t process, const char *name, size_t nbytes)
{
    if (process != EVENT_NONE)
        set_name(import, &import->processes.items[process].name, name, nbytes);
}

void tbed_event_track_name(struct event_import *import, uint32_t track, const char *name, size_t nbytes)
{
    if (track != EVENT_NONE)
        set_name(import, &import->tracks.items[track].name, name, nbytes);
}

/* ---- Texts and arguments ---- */

uint32_t tbed_event_intern(struct event_import *import, const char *text, size_t nbytes)
{
    uint32_t id = tbed_string_intern(import->writer, text, nbytes);
    if (id != TBED_ID_INVALID && id > import->last_string) {
        import->last_string = id;
        import->report->string_count++;
    }
    return id;
}

void tbed_event_argument(struct event_import *import, struct tbed_argument argument)
{
    size_t nbytes = tbed_event_argument_nbytes(&argument);
    bool fits = import->argument_count < EVENT_ARGUMENTS_MAX &&
                nbytes <= EVENT_ROW_NBYTES_MAX / 2 - import->argument_nbytes;
    if (!fits) {
        tbed_event_note(import, TBED_IMPORT_NOTE_ARGUMENTS);
        return;
    }
    import->arguments[import->argument_count++] = argument;
    import->argument_nbytes += nbytes;
}

void tbed_event_text(struct event_import *import, uint32_t name_id, const char *text, size_t nbytes)
{
    struct tbed_argument argument = {
        .type = TBED_ARG_TEXT, .name_id = name_id, .nbytes = (uint32_t)nbytes, .value.text = text};
    size_t left = EVENT_ROW_NBYTES_MAX / 2 - import->argument_nbytes;
    if (nbytes > EVENT_INLINE_TEXT_MAX || (nbytes > 64 && nbytes + 256 * 24 > left)) {
        struct tbed_component whole = {.text = text, .nbytes = nbytes};
        argument.type = TBED_ARG_ID;
        argument.nbytes = 8;
        argument.value.id = tbed_string_alloc(import->writer, &whole, 1);
    }
    tbed_event_argument(import, argument);
}

/* ---- Events ---- */

static void count(struct tbed_import_report *report, enum event_row_type type)
{
    report->event_count++;
    report->interval_count += type == EVENT_ROW_SPAN || type == EVENT_ROW_BEGIN || type == EVENT_ROW_OPEN;
    report->instant_count += type == EVENT_ROW_INSTANT;
    report->integer_count += type == EVENT_ROW_COUNTER;
    report->message_count += type == EVENT_ROW_MESSAGE;
}

/* A span listed after one that it is inside of is proof, if their ends differ, or no begin has ever decreased. */
static void note_order(struct event_track *track, const struct event_row *span)
{
    bool is_first = track->last_end == 0;
    track->begins_decrease |= !is_first && span->other < track->last_begin;
    track->ends_decrease |= span->time < track->last_end;
    track->has_inner_behind |= !is_first && span->time == track->last_end && span->other > track->last_begin;
    track->last_begin = span->other;
    track->last_end = span->time;
}

static void note_time(struct event_import *import, const struct event_row *row)
{
    struct event_track *track = &import->tracks.items[row->track];
    uint64_t first = row->time;
    if (row->type == EVENT_ROW_SPAN) {
        first = row->other < first ? row->other : first;
        note_order(track, row);
    }
    import->first_time = first < import->first_time ? first : import->first_time;
    bool begins = row->type == EVENT_ROW_BEGIN || row->type == EVENT_ROW_OPEN;
    if (begins && row->time < import->first_begin)
        import->first_begin = row->time;
}

void tbed_event_put(struct event_import *import, const struct event_row *row)
{
    if (row->track != EVENT_NONE && import->status == TBED_OK) {
        note_time(import, row);
        if (row->type != EVENT_ROW_END)
            count(import->report, row->type);
        fail(import, tbed_event_rows_put(&import->rows, *row, import->arguments, import->argument_count));
    }
    import->argument_count = import->argument_nbytes = 0;
}
