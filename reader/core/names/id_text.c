/*
 * How an id is spelled for people: one line, the same in every listing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/id_info.h"
#include "reader/core/names/kept_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 64

struct line {
    char *buffer;
    size_t room, nbytes; /* 'nbytes' goes on counting when the room is used up */
    bool is_complete;    /* false: there was no memory for a part */
};

static void append(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct line *line, const char *format, ...)
{
    va_list arguments;
    bool fits = line->nbytes < line->room;
    va_start(arguments, format);
    int added = vsnprintf(fits ? line->buffer + line->nbytes : NULL, fits ? line->room - line->nbytes : 0,
                          format, arguments);
    va_end(arguments);
    line->nbytes += added > 0 ? (size_t)added : 0;
}

static void append_offset(struct line *line, uint64_t offset)
{
    append(line, "+0x%llx", (unsigned long long)offset);
}

/* The innermost (inlined) function, or the one around all that was inlined. False: none is known. */
static bool find_frame(struct line *line, const struct tbed_reader *reader,
                       const struct tbed_location *location, bool outermost, struct tbed_frame *frame_ret)
{
    struct tbed_frame frames[FRAMES_MAX];
    size_t count =
        tbed_place_frames(reader, location, frames, outermost ? FRAMES_MAX : 1, &line->is_complete);
    if (count == 0 || (outermost && count > FRAMES_MAX))
        return false;
    *frame_ret = frames[outermost ? count - 1 : 0];
    return frame_ret->function != NULL;
}

static void spell_native(struct line *line, const struct tbed_reader *reader,
                         const struct tbed_location *location, enum tbed_name_part part)
{
    struct tbed_frame frame = {0};
    bool is_all = part == TBED_NAME_ALL;
    bool is_known = part != TBED_NAME_MODULE && find_frame(line, reader, location, !is_all, &frame);
    if (is_known && frame.file != NULL) {
        append(line, "%s %s", frame.function, frame.file);
        if (is_all && frame.line != 0)
            append(line, ":%u", frame.line);
        return;
    }
    const char *module = tbed_module_name(reader, &location->unit, &line->is_complete);
    append(line, "%s", module != NULL ? module : "<unknown>");
    if (is_known)
        append(line, "!%s", frame.function);
    else if (is_all)
        append_offset(line, location->pc);
}

/* A unit of bytecode, or what only a FRAMES record describes. */
static void spell_code(struct line *line, const struct tbed_reader *reader,
                       const struct tbed_location *location, enum tbed_name_part part)
{
    struct tbed_frame frame = {0};
    tbed_place_frames(reader, location, &frame, 1, &line->is_complete);
    const char *function = frame.function != NULL ? frame.function : "<unknown>";
    if (part == TBED_NAME_MODULE) {
        append(line, "%s", frame.file != NULL ? frame.file : function);
        return;
    }
    append(line, "%s", function);
    if (frame.file != NULL)
        append(line, " %s", frame.file);
    if (part == TBED_NAME_FUNCTION)
        return;
    if (frame.line != 0)
        append(line, ":%u", frame.line);
    else if (location->pc != 0) /* a function's begin is the function */
        append_offset(line, location->pc);
}

enum tbed_status tbed_place_spell(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part,
                                  char *buffer, size_t buffer_nbytes, size_t *nbytes_ret)
{
    struct line line = {.buffer = buffer, .room = buffer_nbytes, .is_complete = true};
    struct tbed_location location;
    enum tbed_id_kind kind =
        id <= TBED_ID_MAX_RESERVED ? tbed_id_find(reader, id, &location) : TBED_ID_KIND_STRING;
    if (kind == TBED_ID_KIND_NATIVE)
        spell_native(&line, reader, &location, part);
    else if (kind == TBED_ID_KIND_CODE)
        spell_code(&line, reader, &location, part);
    else
        return TBED_END;
    *nbytes_ret = line.nbytes;
    return line.is_complete ? TBED_OK : TBED_ERR_MEMORY;
}

static enum tbed_status spell(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part,
                              char *buffer, size_t buffer_nbytes, size_t *nbytes_ret)
{
    struct line line = {.buffer = buffer, .room = buffer_nbytes};
    enum tbed_status status = TBED_OK;
    if (id == TBED_ID_INVALID)
        append(&line, "<unknown>");
    else if ((status = tbed_place_spell(reader, id, part, buffer, buffer_nbytes, &line.nbytes)) == TBED_END)
        status = tbed_string_resolve(reader, id, buffer, buffer_nbytes, &line.nbytes);
    *nbytes_ret = line.nbytes;
    return status;
}

size_t tbed_id_text(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part, char *buffer,
                    size_t buffer_nbytes)
{
    size_t nbytes;
    spell(reader, id, part, buffer, buffer_nbytes, &nbytes);
    return nbytes;
}

size_t tbed_id_spell(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part, char *buffer,
                     size_t buffer_nbytes)
{
    size_t nbytes;
    enum tbed_status status = spell(reader, id, part, buffer, buffer_nbytes, &nbytes);
    return status == TBED_ERR_MEMORY ? TBED_NO_MEMORY : nbytes;
}

/* A place may get another name when the file is looked at again. */
static enum tbed_status make_name(const struct tbed_reader *reader, uint32_t id, char *buffer,
                                  size_t buffer_nbytes, size_t *nbytes_ret, bool *settled_ret)
{
    *settled_ret = false;
    enum tbed_status status = tbed_place_spell(reader, id, TBED_NAME_ALL, buffer, buffer_nbytes, nbytes_ret);
    if (status != TBED_END)
        return status;
    return tbed_resolve(reader, id, buffer, buffer_nbytes, nbytes_ret, settled_ret);
}

enum tbed_status tbed_name_get(const struct tbed_reader *reader, uint32_t id, struct tbed_name *name_ret)
{
    return tbed_kept_name(reader, id, make_name, name_ret);
}
