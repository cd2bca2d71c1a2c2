/*
 * The labels of ids; see labels.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/labels.h"

#include "reader/core/names/id_info.h"
#include "reader/core/names/label.h"

#include <stdlib.h>
#include <string.h>

struct name_context {
    struct tbed_reader *reader;
    const struct tbed_analysis_options *options;
    struct tbed_label_strings strings;
};

static size_t give(char *buffer, size_t buffer_nbytes, const char *text, size_t nbytes)
{
    if (buffer_nbytes == 0)
        return nbytes;
    size_t fits = nbytes < buffer_nbytes ? nbytes : buffer_nbytes - 1;
    memcpy(buffer, text, fits);
    buffer[fits] = '\0';
    return nbytes;
}

static size_t name_label(const struct name_context *names, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct tbed_location location;
    struct tbed_label label = {0};
    if (id <= TBED_ID_MAX_RESERVED && tbed_location_resolve(names->reader, id, &location)) {
        size_t nbytes = tbed_named_text(names->reader, names->options, id, buffer, buffer_nbytes);
        const char *separator = nbytes < buffer_nbytes ? memchr(buffer, 0x1E, nbytes) : NULL;
        return separator != NULL ? (size_t)(separator - buffer) : nbytes;
    }
    bool is_made = tbed_label_make_row(&names->strings, id, &label);
    size_t nbytes = is_made ? give(buffer, buffer_nbytes, label.text, label.nbytes) : TBED_NO_MEMORY;
    free(label.text);
    return nbytes;
}

/* The label after grouping, as in statistics. */
static size_t name_row(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    const struct name_context *names = context;
    const struct tbed_analysis_options *options = names->options;
    size_t nbytes = name_label(names, id, buffer, buffer_nbytes);
    if (options->group == NULL || nbytes == TBED_NO_MEMORY)
        return nbytes;
    /* A group's name may be longer than the label. */
    size_t room = nbytes + 256;
    return room < buffer_nbytes ? options->group(options->group_context, buffer, nbytes, buffer_nbytes)
                                : room;
}

/* Announces the ids. */
static bool prepare(struct tbed_reader *reader, const struct tbed_analysis_options *options,
                    const struct named *items, size_t count)
{
    uint32_t *ids = malloc((count + 1) * sizeof *ids);
    for (size_t i = 0; ids != NULL && i < count; i++)
        ids[i] = items[i].id;
    if (ids != NULL && count > 0 && options->name == NULL)
        tbed_names_prepare(reader, ids, count, false);
    else if (ids != NULL && count > 0 && options->prepare != NULL)
        options->prepare(options->name_context, ids, count);
    free(ids);
    return ids != NULL;
}

enum tbed_status tbed_labels_resolve(struct named_texts *texts, struct tbed_reader *reader,
                                     const struct tbed_analysis_options *given, struct named *items,
                                     size_t count)
{
    struct name_context context = {reader, given, tbed_label_strings(reader)};
    struct tbed_analysis_options options = *given;
    options.name = name_row;
    options.name_context = &context;
    options.prepare = NULL;
    return prepare(reader, given, items, count) ? tbed_named_resolve(texts, reader, &options, items, count)
                                                : TBED_ERR_MEMORY;
}
