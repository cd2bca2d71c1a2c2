/*
 * What the Chrome trace-event export writes for ids; see chrome_names.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/chrome/chrome_names.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_END       0x1E
#define NAME_SLOTS      8192u
#define KEPT_NBYTES_MAX 1024u /* longer texts are resolved each time, to bound the memory for names */

static void forget(struct chrome_name *name)
{
    free(name->label.bytes);
    free(name->members.bytes);
    free(name->details.bytes);
    free(name->track.bytes);
    *name = (struct chrome_name){0};
}

bool tbed_chrome_names_open(struct chrome_names *names)
{
    *names = (struct chrome_names){.slots = calloc(NAME_SLOTS, sizeof *names->slots)};
    return names->slots != NULL;
}

void tbed_chrome_names_clear(struct chrome_names *names)
{
    for (size_t i = 0; names->slots != NULL && i < NAME_SLOTS; i++)
        if (names->slots[i].is_there)
            forget(&names->slots[i]);
}

void tbed_chrome_names_close(struct chrome_names *names)
{
    tbed_chrome_names_clear(names);
    free(names->slots);
}

static void add_member(struct chrome_name *name, const char *text, size_t nbytes)
{
    struct tbed_text *members = &name->members;
    tbed_text_puts(&name->track, name->argument_count > 0 ? ", " : "");
    tbed_text_put(&name->track, text, nbytes);
    tbed_text_puts(members, name->argument_count > 0 ? ",\"arg" : "\"arg");
    tbed_text_u64(members, name->argument_count++);
    tbed_text_puts(members, "\":");
    tbed_json_quote(members, text, nbytes);
}

/* By measureme's rule, a label is not empty and has no control bytes. */
static void put_label(struct chrome_name *name, const char *text, size_t nbytes)
{
    static const char bad[] = "<parse error>";
    bool is_bad = nbytes == 0;
    for (size_t i = 0; i < nbytes; i++)
        is_bad |= (uint8_t)text[i] < 0x20 || text[i] == 0x7F;
    tbed_json_quote(&name->label, is_bad ? bad : text, is_bad ? sizeof bad - 1 : nbytes);
}

static void add_detail(struct chrome_name *name, const char *key, const char *text)
{
    struct tbed_text *details = &name->details;
    if (text == NULL)
        return;
    tbed_text_puts(details, details->nbytes > 0 ? ",\"" : "\"");
    tbed_text_puts(details, key);
    tbed_text_puts(details, "\":");
    tbed_json_quote(details, text, strlen(text));
}

/* The other fields of the id, with the keys used in all JSON of the tools. */
static void add_details(struct chrome_name *name, const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_id_info info;
    if (id == TBED_ID_INVALID || !tbed_id_resolve(reader, id, &info))
        return;
    add_detail(name, "function", info.function);
    add_detail(name, "file", info.file);
    if (info.line != 0) {
        tbed_text_puts(&name->details, name->details.nbytes > 0 ? ",\"line\":" : "\"line\":");
        tbed_text_u64(&name->details, info.line);
    }
    add_detail(name, "module", info.module);
}

/* The label is the same as in every other view, including the stand-ins for missing texts. */
static void put_event_label(struct chrome_name *name, const struct tbed_reader *reader, uint32_t id,
                            const char *text, size_t nbytes)
{
    struct tbed_id_info info;
    struct tbed_name label;
    enum tbed_status status = TBED_ERR_CACHE_FULL;
    bool is_string = !tbed_id_resolve(reader, id, &info) || info.kind == TBED_ID_KIND_STRING;
    if (is_string)
        status = tbed_event_label(reader, id, &label);
    if (status == TBED_ERR_MEMORY)
        name->label.is_out_of_memory = true;
    else if (status == TBED_ERR_CACHE_FULL)
        put_label(name, text, nbytes);
    else
        put_label(name, label.text, label.nbytes);
}

static void make_name(struct chrome_name *name, const struct tbed_reader *reader, uint32_t id, char *buffer)
{
    const char *at = buffer;
    const char *end = at + tbed_export_resolve(reader, id, buffer, &name->label.is_out_of_memory);
    name->id = id;
    name->is_there = true;
    name->argument_count = 0;
    name->label.nbytes = name->members.nbytes = name->details.nbytes = name->track.nbytes = 0;
    for (bool is_label = true;; is_label = false) {
        const char *stop = memchr(at, LABEL_END, (size_t)(end - at));
        size_t nbytes = (size_t)((stop != NULL ? stop : end) - at);
        if (is_label)
            put_event_label(name, reader, id, at, nbytes);
        else
            add_member(name, at, nbytes);
        if (stop == NULL)
            break;
        at = stop + 1;
    }
    add_details(name, reader, id);
}

const struct chrome_name *tbed_chrome_name(struct chrome_names *names, const struct tbed_reader *reader,
                                           uint32_t id, char *buffer)
{
    struct chrome_name *name = &names->slots[(id * 2654435761u >> 16) % NAME_SLOTS];
    if (name->is_there && name->id == id)
        return name;
    if (name->label.room + name->members.room + name->details.room + name->track.room > KEPT_NBYTES_MAX)
        forget(name);
    make_name(name, reader, id, buffer);
    names->is_out_of_memory |= name->label.is_out_of_memory || name->members.is_out_of_memory ||
                               name->details.is_out_of_memory || name->track.is_out_of_memory;
    return name;
}
