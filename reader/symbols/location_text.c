/*
 * What an id means to a person: a string, or a place in a program.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/symbols.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATH_NBYTES 4096

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

static void native_text(struct text *text, struct tbed_symbols *symbols, const struct tbed_reader *reader,
                        const struct tbed_unit_info *unit, uint64_t pc, enum tbed_location_part part)
{
    char name[PATH_NBYTES], path[PATH_NBYTES];
    struct tbed_symbols_module module = {resolve_text(reader, unit->file_id, path), unit->build_id,
                                         unit->build_id_nbytes};
    struct tbed_symbol symbol;
    append(text, "%s", last_part(resolve_text(reader, unit->name_id, name)));
    if (part == TBED_LOCATION_MODULE)
        return;
    bool found = symbols != NULL && tbed_symbols_find(symbols, &module, pc, &symbol, NULL);
    if (found)
        append(text, "!%s", symbol.name);
    if (part == TBED_LOCATION_ALL)
        append(text, "+0x%llx", (unsigned long long)(found ? symbol.offset : pc));
}

static void bytecode_text(struct text *text, const struct tbed_reader *reader,
                          const struct tbed_unit_info *unit, uint64_t pc, enum tbed_location_part part)
{
    char name[PATH_NBYTES], path[PATH_NBYTES];
    resolve_text(reader, unit->name_id, name);
    resolve_text(reader, unit->file_id, path);
    if (part == TBED_LOCATION_MODULE) {
        append(text, "%s", path[0] != '\0' ? path : name);
        return;
    }
    append(text, "%s", name);
    if (path[0] != '\0')
        append(text, " %s", path);
    if (part == TBED_LOCATION_SYMBOL)
        return;
    uint32_t line = tbed_location_line(reader, unit, pc);
    if (line == 0)
        line = unit->first_line;
    if (line != 0)
        append(text, ":%u", line);
    else
        append(text, "+0x%llx", (unsigned long long)pc);
}

size_t tbed_location_text(struct tbed_symbols *symbols, const struct tbed_reader *reader, uint32_t id,
                          enum tbed_location_part part, char *buffer, size_t buffer_nbytes)
{
    struct text text = {.buffer = buffer, .room = buffer_nbytes};
    struct tbed_unit_info unit;
    uint64_t pc;
    if (!tbed_location_find(reader, id, &unit, &pc)) {
        if (id == TBED_ID_INVALID)
            append(&text, "<unknown>");
        else
            tbed_string_resolve(reader, id, buffer, buffer_nbytes, &text.nbytes);
    } else if (unit.kind == TBED_UNIT_NATIVE) {
        native_text(&text, symbols, reader, &unit, pc, part);
    } else {
        bytecode_text(&text, reader, &unit, pc, part);
    }
    return text.nbytes;
}
