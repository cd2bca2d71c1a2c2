/*
 * What exports write for the id of an event; see export_names.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_names.h"
#include "reader/exchange/events/export_json.h"

#include <stdlib.h>
#include <string.h>

#define NAME_SLOTS      8192u
#define KEPT_NBYTES_MAX 1024u /* longer texts are resolved each time, to bound the memory for names */

static void forget(struct export_name *name)
{
    free(name->label.bytes);
    free(name->arguments.bytes);
    *name = (struct export_name){0};
}

bool tbed_export_names_open(struct export_names *names)
{
    *names = (struct export_names){.slots = calloc(NAME_SLOTS, sizeof *names->slots),
                                   .buffer = malloc(EXPORT_TEXT_MAX)};
    return names->slots != NULL && names->buffer != NULL;
}

void tbed_export_names_clear(struct export_names *names)
{
    for (size_t i = 0; names->slots != NULL && i < NAME_SLOTS; i++)
        forget(&names->slots[i]);
}

void tbed_export_names_close(struct export_names *names)
{
    tbed_export_names_clear(names);
    free(names->slots);
    free(names->buffer);
}

/* The label is the same as in every other view, including the stand-ins for missing texts. */
static void put_label(struct export_name *name, const struct tbed_reader *reader, const char *text,
                      size_t nbytes)
{
    struct tbed_id_info info;
    struct tbed_name label;
    enum tbed_status status = TBED_ERR_CACHE_FULL;
    if (!tbed_id_resolve(reader, name->id, &info) || info.kind == TBED_ID_KIND_STRING)
        status = tbed_event_label(reader, name->id, &label);
    if (status == TBED_ERR_MEMORY)
        name->label.is_out_of_memory = true;
    else if (status == TBED_ERR_CACHE_FULL)
        tbed_text_put(&name->label, text, nbytes);
    else
        tbed_text_put(&name->label, label.text, label.nbytes);
}

/* By measureme's rule, a label is not empty and has no control bytes. */
static void check_label(struct export_name *name)
{
    bool is_bad = name->label.nbytes == 0;
    for (size_t i = 0; i < name->label.nbytes; i++)
        is_bad |= (uint8_t)name->label.bytes[i] < 0x20 || name->label.bytes[i] == 0x7F;
    if (!is_bad)
        return;
    name->label.nbytes = 0;
    tbed_text_puts(&name->label, "<parse error>");
}

static void put_place(struct export_name *name, const struct tbed_reader *reader)
{
    struct tbed_id_info info;
    if (name->id == TBED_ID_INVALID || !tbed_id_resolve(reader, name->id, &info))
        return;
    name->function = info.function;
    name->file = info.file;
    name->line = info.line;
    name->module = info.module;
}

static void make(struct export_name *name, const struct tbed_reader *reader, uint32_t id, char *buffer)
{
    size_t nbytes = tbed_export_resolve(reader, id, buffer, &name->label.is_out_of_memory);
    const char *end = buffer + nbytes, *stop = memchr(buffer, EXPORT_NAME_END, nbytes);
    struct tbed_text label = name->label, arguments = name->arguments;
    label.nbytes = arguments.nbytes = 0;
    *name = (struct export_name){.id = id, .is_there = true, .label = label, .arguments = arguments};
    put_label(name, reader, buffer, (size_t)((stop != NULL ? stop : end) - buffer));
    check_label(name);
    while (stop != NULL) {
        const char *at = stop + 1;
        stop = memchr(at, EXPORT_NAME_END, (size_t)(end - at));
        tbed_text_put(&name->arguments, at, (size_t)((stop != NULL ? stop : end) - at));
        tbed_text_put(&name->arguments, "\x1E", 1);
        name->argument_count++;
    }
    put_place(name, reader);
}

const struct export_name *tbed_export_name_find(struct export_names *names, const struct tbed_reader *reader,
                                                uint32_t id)
{
    struct export_name *name = &names->slots[(id * 2654435761u >> 16) % NAME_SLOTS];
    if (name->is_there && name->id == id)
        return name;
    if (name->label.room + name->arguments.room > KEPT_NBYTES_MAX)
        forget(name);
    make(name, reader, id, names->buffer);
    names->is_out_of_memory |= name->label.is_out_of_memory || name->arguments.is_out_of_memory;
    return name;
}

bool tbed_export_name_argument(const struct export_name *name, size_t *at, const char **text_ret,
                               size_t *nbytes_ret)
{
    if (*at >= name->arguments.nbytes)
        return false;
    const char *text = name->arguments.bytes + *at;
    const char *stop = memchr(text, EXPORT_NAME_END, name->arguments.nbytes - *at);
    *text_ret = text;
    *nbytes_ret = (size_t)(stop - text);
    *at += *nbytes_ret + 1;
    return true;
}
