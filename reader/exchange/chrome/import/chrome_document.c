/*
 * Chrome trace events in JSON as a trace: the document, which is an array of events, or an object with such an array.
 *
 * A missing end is usual, because programs are killed; only an event that is cut is damage. Where something is not JSON, the
 * import goes on with the next object that is an event.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/chrome/import/chrome_import.h"
#include "reader/exchange/foreign/foreign_file.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define START_NBYTES    4096
#define METADATA_NBYTES ((size_t)64 << 10) /* of one member, and half of all of them */
#define KEY_NBYTES      64
#define UTF8_MARK       "\xEF\xBB\xBF"

/* ---- Which files ---- */

static bool contains(const char *text, size_t nbytes, const char *word)
{
    return memmem(text, nbytes, word, strlen(word)) != NULL;
}

bool tbed_chrome_has_start(const char *start, size_t nbytes)
{
    char text[START_NBYTES];
    size_t text_nbytes = tbed_foreign_start(start, nbytes, text, sizeof text);
    struct json_in in = {text, text + text_nbytes};
    if (text_nbytes >= 3 && memcmp(text, UTF8_MARK, 3) == 0)
        in.at += 3;
    if (!tbed_json_in_skip(&in))
        return false;
    size_t left = (size_t)(in.end - in.at);
    if (*in.at == '{')
        return contains(in.at, left, "\"traceEvents\"") || contains(in.at, left, "\"displayTimeUnit\"") ||
               contains(in.at, left, "\"otherData\"");
    if (*in.at++ != '[' || !tbed_json_in_skip(&in) || *in.at != '{')
        return false;
    left = (size_t)(in.end - in.at);
    return contains(in.at, left, "\"ph\"") &&
           (contains(in.at, left, "\"ts\"") || contains(in.at, left, "\"pid\""));
}

/* ---- The window ---- */

static void damage(struct chrome_import *chrome, enum tbed_status status, const char *at)
{
    tbed_event_damage(&chrome->events, status, tbed_foreign_offset(&chrome->input, at));
}

/* Moves to the next byte that is not white space. False: there is none. */
static bool skip_space(struct chrome_import *chrome)
{
    struct foreign_input *input = &chrome->input;
    for (;;) {
        struct json_in in = {input->at, input->end};
        bool has_more = tbed_json_in_skip(&in);
        input->at = in.at;
        if (has_more)
            return true;
        if (!tbed_foreign_input_more(input))
            return false;
    }
}

/*
 * The next value, whole in the window. After OK 'at' is behind it; otherwise 'at' is unchanged, and '*bad_ret' says how far
 * behind it the value is not JSON, or ends.
 */
static enum json_result next_value(struct chrome_import *chrome, struct json_value *value, size_t *bad_ret)
{
    struct foreign_input *input = &chrome->input;
    for (;;) {
        struct json_in in = {input->at, input->end};
        enum json_result result = tbed_json_in_value(&in, value);
        *bad_ret = (size_t)(in.at - input->at);
        if (result == JSON_OK)
            input->at = in.at;
        if (result != JSON_MORE || !tbed_foreign_input_more(input))
            return result;
    }
}

/* What is not JSON at 'at', or is cut there. */
static void damage_of(struct chrome_import *chrome, enum json_result result, size_t bad)
{
    bool is_cut = result == JSON_MORE && chrome->input.is_at_end;
    damage(chrome, is_cut ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD,
           chrome->input.at + (result == JSON_BAD ? bad : 0));
}

/* ---- Events ---- */

/*
 * Goes on behind damage: takes the next object that is an event. Every byte is looked at once: after an object that is not
 * JSON, the search goes on where it is not. False: there is none.
 */
static bool find_event(struct chrome_import *chrome)
{
    struct foreign_input *input = &chrome->input;
    struct json_value event;
    size_t bad;
    for (;;) {
        const char *brace =
            input->at < input->end ? memchr(input->at, '{', (size_t)(input->end - input->at)) : NULL;
        input->at = brace != NULL ? brace : input->end;
        if (brace == NULL) {
            if (!tbed_foreign_input_more(input))
                return false;
            continue;
        }
        enum json_result result = next_value(chrome, &event, &bad);
        if (result == JSON_OK && tbed_chrome_take_event(chrome, &event))
            return true;
        if (result != JSON_OK)
            input->at += bad; /* at least the brace */
    }
}

/* False: the end of the file. */
static bool take_event(struct chrome_import *chrome)
{
    struct foreign_input *input = &chrome->input;
    struct json_value event;
    size_t bad;
    enum json_result result = next_value(chrome, &event, &bad);
    if (result == JSON_OK && !tbed_chrome_take_event(chrome, &event))
        damage(chrome, TBED_ERR_FOREIGN_RECORD, event.text);
    if (result == JSON_OK)
        return true;
    damage_of(chrome, result, bad);
    if (result == JSON_MORE && input->is_at_end)
        return false;
    input->at += bad > 0 ? bad : 1;
    return find_event(chrome);
}

/* 'at' is behind the bracket; then behind the other one, or at the end of the file. */
static void take_events(struct chrome_import *chrome)
{
    while (chrome->events.status == TBED_OK && skip_space(chrome)) {
        char byte = *chrome->input.at;
        if (byte == ']' || byte == ',')
            chrome->input.at++;
        if (byte == ']' || (byte != ',' && !take_event(chrome)))
            return;
    }
}

/* ---- The object ---- */

static void keep_metadata(struct chrome_import *chrome, const char *key, size_t key_nbytes,
                          const struct json_value *value)
{
    struct tbed_text *text = &chrome->metadata;
    const char *quote = value->type == JSON_STRING ? "\"" : "";
    if (key_nbytes + value->nbytes > METADATA_NBYTES || text->nbytes > METADATA_NBYTES) {
        tbed_event_note(&chrome->events, TBED_IMPORT_NOTE_METADATA);
        return;
    }
    tbed_text_puts(text, ",\"");
    tbed_text_put(text, key, key_nbytes);
    tbed_text_puts(text, "\":");
    tbed_text_puts(text, quote);
    tbed_text_put(text, value->text, value->nbytes);
    tbed_text_puts(text, quote);
}

/* The key of a member, and its colon. Its text is copied, because the window may move. */
static enum json_result take_key(struct chrome_import *chrome, char name[KEY_NBYTES], size_t *nbytes_ret,
                                 size_t *bad_ret)
{
    struct json_value key;
    enum json_result result = next_value(chrome, &key, bad_ret);
    if (result != JSON_OK)
        return result;
    *bad_ret = 0;
    if (key.type != JSON_STRING)
        return JSON_BAD;
    *nbytes_ret = key.nbytes;
    if (key.nbytes < KEY_NBYTES)
        memcpy(name, key.text, key.nbytes);
    if (!skip_space(chrome))
        return JSON_MORE;
    if (*chrome->input.at != ':')
        return JSON_BAD;
    chrome->input.at++;
    return skip_space(chrome) ? JSON_OK : JSON_MORE;
}

/* False: the document is over, or damaged. */
static bool take_member(struct chrome_import *chrome)
{
    static const char events[] = "traceEvents";
    struct json_value value;
    char name[KEY_NBYTES];
    size_t bad = 0, nbytes = 0;
    enum json_result result = take_key(chrome, name, &nbytes, &bad);
    bool is_events = nbytes == sizeof events - 1 && memcmp(name, events, nbytes) == 0;
    if (result == JSON_OK && is_events && *chrome->input.at == '[') {
        chrome->input.at++;
        take_events(chrome);
        return true;
    }
    if (result == JSON_OK)
        result = next_value(chrome, &value, &bad);
    if (result != JSON_OK)
        damage_of(chrome, result, bad);
    else if (nbytes < KEY_NBYTES)
        keep_metadata(chrome, name, nbytes, &value);
    else
        tbed_event_note(&chrome->events, TBED_IMPORT_NOTE_METADATA);
    return result == JSON_OK;
}

static void take_object(struct chrome_import *chrome)
{
    while (chrome->events.status == TBED_OK && skip_space(chrome) && *chrome->input.at != '}') {
        if (*chrome->input.at == ',')
            chrome->input.at++;
        else if (!take_member(chrome))
            return;
    }
}

static void take_document(struct chrome_import *chrome)
{
    struct foreign_input *input = &chrome->input;
    tbed_foreign_input_more(input);
    if (input->end - input->at >= 3 && memcmp(input->at, UTF8_MARK, 3) == 0)
        input->at += 3;
    if (!skip_space(chrome))
        return;
    char first = *input->at;
    if (first != '{' && first != '[') {
        damage(chrome, TBED_ERR_FOREIGN_RECORD, input->at);
        return;
    }
    input->at++;
    if (first == '[')
        take_events(chrome);
    else
        take_object(chrome);
}

/* ---- Driver ---- */

static enum tbed_status finish(struct chrome_import *chrome, struct tbed_error *error)
{
    struct event_import *events = &chrome->events;
    struct tbed_text *text = &chrome->metadata;
    if (chrome->input.damage != TBED_OK)
        tbed_event_damage(events, chrome->input.damage, chrome->input.read_nbytes);
    if (events->status == TBED_OK)
        events->status = chrome->input.failure;
    tbed_text_puts(text, "}");
    if (events->status == TBED_OK && (text->is_out_of_memory || chrome->scratch.is_out_of_memory))
        events->status = TBED_ERR_MEMORY;
    if (events->status == TBED_OK)
        tbed_metadata_set(events->writer, text->bytes, text->nbytes);
    return tbed_event_import_finish(events, error);
}

static enum tbed_status read_document(struct chrome_import *chrome, int fd, struct tbed_error *error)
{
    enum tbed_status status = tbed_foreign_input_open(&chrome->input, fd);
    if (status != TBED_OK)
        return tbed_exchange_fail(error, status);
    tbed_text_puts(&chrome->metadata, "{\"format\":\"chrome\"");
    take_document(chrome);
    status = finish(chrome, error);
    tbed_foreign_input_close(&chrome->input);
    return status;
}

enum tbed_status tbed_chrome_import(const void *source, int fd, struct tbed_import_report *report,
                                    struct tbed_error *error_ret)
{
    const struct foreign_file *file = source;
    struct chrome_import *chrome = calloc(1, sizeof *chrome);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_CHROME, .file_nbytes = file->nbytes};
    errno = ENOMEM;
    if (chrome == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    chrome->last_track = EVENT_NONE;
    enum tbed_status status = tbed_event_import_open(&chrome->events, fd, report, error_ret);
    if (status == TBED_OK)
        status = read_document(chrome, file->fd, error_ret);
    tbed_event_import_close(&chrome->events);
    tbed_event_rows_free(&chrome->beside);
    tbed_hashmap_free(&chrome->series.map);
    free(chrome->metadata.bytes);
    free(chrome->scratch.bytes);
    free(chrome);
    return status;
}
