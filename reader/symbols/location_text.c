/*
 * What an id means to a person: a string, or a place in a program.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbols_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATH_NBYTES 4096
#define FRAMES_MAX  64

struct text {
    char *buffer;
    size_t room, nbytes; /* 'nbytes' goes on counting when the room is used up */
};

static void append(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    bool fits = text->nbytes < text->room;
    va_start(arguments, format);
    int added = vsnprintf(fits ? text->buffer + text->nbytes : NULL, fits ? text->room - text->nbytes : 0,
                          format, arguments);
    va_end(arguments);
    text->nbytes += added > 0 ? (size_t)added : 0;
}

/* The text of an id, cut to fit. */
static const char *resolve_text(const struct tbed_reader *reader, uint32_t id, char buffer[PATH_NBYTES])
{
    size_t nbytes = 0;
    buffer[0] = '\0';
    if (id != TBED_ID_INVALID)
        tbed_string_resolve(reader, id, buffer, PATH_NBYTES, &nbytes);
    return buffer;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* "function file:line" of the innermost; false if that is not known. */
static bool line_text(struct text *text, const struct tbed_frame *frame)
{
    if (frame->function == NULL || frame->file == NULL)
        return false;
    append(text, "%s %s", frame->function, frame->file);
    if (frame->line != 0)
        append(text, ":%u", frame->line);
    return true;
}

/* The function around all that was inlined, and the offset in it where a symbol tells. */
static bool find_symbol(struct tbed_symbols *symbols, const struct tbed_reader *reader,
                        const struct tbed_location *location, struct tbed_symbol *symbol_ret,
                        bool *has_offset_ret)
{
    struct tbed_frame frames[FRAMES_MAX];
    struct tbed_symbols_module module;
    *has_offset_ret = location->source == TBED_FRAMES_NONE;
    if (*has_offset_ret)
        return symbols != NULL && tbed_location_module(symbols, reader, &location->unit, &module) &&
               tbed_symbols_find(symbols, &module, location->pc, symbol_ret, NULL);
    size_t count = tbed_location_frames(symbols, reader, location->id, frames, FRAMES_MAX);
    const char *function = count > 0 && count <= FRAMES_MAX ? frames[count - 1].function : NULL;
    *symbol_ret = (struct tbed_symbol){.name = function, .function = function};
    return function != NULL;
}

static void native_text(struct text *text, struct tbed_symbols *symbols, const struct tbed_reader *reader,
                        const struct tbed_location *location, enum tbed_location_part part)
{
    char name[PATH_NBYTES];
    struct tbed_symbol symbol;
    struct tbed_frame frame;
    bool has_offset;
    if (part == TBED_LOCATION_ALL && tbed_location_frames(symbols, reader, location->id, &frame, 1) > 0 &&
        line_text(text, &frame))
        return;
    append(text, "%s", last_part(resolve_text(reader, location->unit.name_id, name)));
    if (part == TBED_LOCATION_MODULE)
        return;
    bool found = find_symbol(symbols, reader, location, &symbol, &has_offset);
    if (found)
        append(text, "!%s", part == TBED_LOCATION_SYMBOL ? symbol.function : symbol.name);
    bool is_entry = found && symbol.offset == 0; /* a function's entry is the function */
    if (part == TBED_LOCATION_ALL && (!found || has_offset) && !is_entry)
        append(text, "+0x%llx", (unsigned long long)(found ? symbol.offset : location->pc));
}

static void bytecode_text(struct text *text, const struct tbed_reader *reader,
                          const struct tbed_location *location, enum tbed_location_part part)
{
    char name[PATH_NBYTES], path[PATH_NBYTES];
    struct tbed_frame_info frame = {TBED_ID_INVALID, TBED_ID_INVALID, 0};
    tbed_location_frame(location, 0, &frame);
    resolve_text(reader, frame.function_id, name);
    resolve_text(reader, frame.file_id, path);
    if (part == TBED_LOCATION_MODULE) {
        append(text, "%s", path[0] != '\0' ? path : name);
        return;
    }
    append(text, "%s", name);
    if (path[0] != '\0')
        append(text, " %s", path);
    if (part == TBED_LOCATION_SYMBOL)
        return;
    if (frame.line != 0)
        append(text, ":%u", frame.line);
    else if (location->has_unit && location->pc != 0) /* a function's begin is the function */
        append(text, "+0x%llx", (unsigned long long)location->pc);
}

size_t tbed_location_text(struct tbed_symbols *symbols, const struct tbed_reader *reader, uint32_t id,
                          enum tbed_location_part part, char *buffer, size_t buffer_nbytes)
{
    struct text text = {.buffer = buffer, .room = buffer_nbytes};
    struct tbed_location location;
    if (id > TBED_ID_MAX_RESERVED || !tbed_location_resolve(reader, id, &location)) {
        if (id == TBED_ID_INVALID)
            append(&text, "<unknown>");
        else
            tbed_string_resolve(reader, id, buffer, buffer_nbytes, &text.nbytes);
    } else if (location.has_unit && location.unit.kind == TBED_UNIT_NATIVE) {
        native_text(&text, symbols, reader, &location, part);
    } else {
        bytecode_text(&text, reader, &location, part);
    }
    return text.nbytes;
}
