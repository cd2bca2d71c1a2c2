/*
 * Arguments of events as parts of their names, which is where the format has them: a string that refers to the name and goes
 * on with U+001E and a text for each argument. Strings that were written lately are used again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "reader/core/names/id_info.h"
#include "reader/exchange/measureme/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "reader/core/base/text.h"

#define TEXT_SLOTS       4096u
#define TEXT_KEPT_NBYTES 256u /* of a text; longer ones are written each time */
#define NUMBER_NBYTES    512u /* for values that are not texts */

struct slot {
    uint64_t name_id, profile_id; /* 0: free */
    uint32_t nbytes;
    char text[TEXT_KEPT_NBYTES];
};

struct export_texts {
    struct tbed_text text;
    struct slot slots[TEXT_SLOTS];
};

void tbed_export_texts_free(struct export_texts *texts)
{
    if (texts != NULL)
        free(texts->text.bytes);
    free(texts);
}

/* As UTF-8, without the character that separates arguments. */
static void put_text(struct tbed_text *text, const char *bytes, size_t nbytes)
{
    const uint8_t *at = (const uint8_t *)bytes, *end = at + nbytes;
    while (at < end) {
        size_t size = tbed_utf8_step(at, (size_t)(end - at));
        if (size == 0)
            tbed_text_puts(text, "\xEF\xBF\xBD");
        else if (*at == 0x1E)
            tbed_text_puts(text, " ");
        else
            tbed_text_put(text, (const char *)at, size);
        at += size > 0 ? size : 1;
    }
}

/* Texts and values of unlimited length, written like snprintf(). */
static void put_value(const struct export *export, struct tbed_text *text,
                      const struct tbed_argument *argument)
{
    char number[NUMBER_NBYTES];
    size_t nbytes = 0;
    if (argument->type == TBED_ARG_TEXT) {
        put_text(text, argument->value.text, argument->nbytes);
        return;
    }
    nbytes = tbed_argument_spell(export->reader, argument, number, sizeof number);
    if (nbytes == TBED_NO_MEMORY) {
        text->is_out_of_memory = true;
        return;
    }
    if (nbytes < sizeof number) {
        put_text(text, number, nbytes);
        return;
    }
    char *long_text = malloc(nbytes + 1);
    text->is_out_of_memory |= long_text == NULL;
    if (long_text != NULL) {
        size_t again = tbed_argument_text(export->reader, argument, long_text, nbytes + 1);
        put_text(text, long_text, again < nbytes ? again : nbytes);
    }
    free(long_text);
}

static void put_name(const struct export *export, struct tbed_text *text, uint32_t name_id)
{
    char name[NUMBER_NBYTES];
    size_t nbytes = tbed_id_text(export->reader, name_id, TBED_NAME_ALL, name, sizeof name);
    put_text(text, name, nbytes < sizeof name ? nbytes : sizeof name - 1);
    tbed_text_puts(text, "=");
}

static void put_arguments(const struct export *export, struct tbed_text *text,
                          struct export_arguments arguments)
{
    for (uint32_t i = 0; i < arguments.count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&arguments.at, &argument);
        tbed_text_puts(text, "\x1E");
        if (argument.name_id != TBED_ID_INVALID)
            put_name(export, text, argument.name_id);
        put_value(export, text, &argument);
    }
}

static struct slot *find_slot(struct export_texts *texts, uint64_t name_id)
{
    uint64_t hash = name_id;
    for (size_t i = 0; i < texts->text.nbytes; i++)
        hash = (hash ^ (uint8_t)texts->text.bytes[i]) * UINT64_C(0x100000001B3);
    return &texts->slots[tbed_hash_home(hash, 12)];
}
_Static_assert(TEXT_SLOTS == 1u << 12, "the hash has as many bits");

static uint64_t write_once(struct export *export, struct export_texts *texts, uint64_t name_id)
{
    const struct tbed_text *text = &texts->text;
    if (text->nbytes > TEXT_KEPT_NBYTES)
        return tbed_export_joined(export, name_id, text->bytes, text->nbytes);
    struct slot *slot = find_slot(texts, name_id);
    if (slot->profile_id != 0 && slot->name_id == name_id && slot->nbytes == text->nbytes &&
        memcmp(slot->text, text->bytes, text->nbytes) == 0)
        return slot->profile_id;
    slot->name_id = name_id;
    slot->nbytes = (uint32_t)text->nbytes;
    memcpy(slot->text, text->bytes, text->nbytes);
    slot->profile_id = tbed_export_joined(export, name_id, text->bytes, text->nbytes);
    return slot->profile_id;
}

struct export_id tbed_export_name_with(struct export *export, uint32_t trace_id,
                                       const struct export_arguments arguments[2])
{
    struct export_id id = tbed_export_name(export, trace_id);
    uint64_t count = (uint64_t)arguments[0].count + arguments[1].count;
    if (count > 0 && export->texts == NULL) {
        export->texts = calloc(1, sizeof *export->texts);
        export->is_out_of_memory |= export->texts == NULL;
    }
    if (count == 0 || export->texts == NULL || id.id == MM_ID_INVALID) {
        export->report->argument_count += count; /* without a name there is nothing to add them to */
        return id;
    }
    export->texts->text.nbytes = 0;
    put_arguments(export, &export->texts->text, arguments[0]);
    put_arguments(export, &export->texts->text, arguments[1]);
    export->is_out_of_memory |= export->texts->text.is_out_of_memory;
    if (!export->is_out_of_memory)
        id.id = write_once(export, export->texts, id.id);
    return id;
}
