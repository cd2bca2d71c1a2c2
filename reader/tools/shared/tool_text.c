/*
 * Prints text from a trace safely on a terminal: nothing in a file may move the cursor, change colors or reverse the
 * line.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/inert.h"
#include "reader/core/base/quoted.h"
#include "reader/tools/shared/tool.h"

#include <string.h>

/* A unit of output: one code point, or bytes shown as \xHH. */
struct glyph {
    uint32_t nbytes, columns;
    bool escaped;
};

struct range {
    uint32_t first, last;
};

static bool is_in(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* In the C locale, wcwidth() knows only ASCII; a rough table keeps columns straight for nearly all text. */
static uint32_t columns_of(uint32_t code)
{
    static const struct range none[] = {{0x300, 0x36F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
    static const struct range wide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                        {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                        {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                                        {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
    if (code < 0x300)
        return 1;
    if (is_in(code, none, sizeof none / sizeof none[0]))
        return 0;
    return is_in(code, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}

static struct glyph glyph_at(const uint8_t *at, size_t nbytes)
{
    uint32_t code;
    size_t size = tbed_code_point(at, nbytes, &code);
    if (size == 0)
        return (struct glyph){1, 4, true};
    if (tbed_is_control(code))
        return (struct glyph){(uint32_t)size, 4 * (uint32_t)size, true};
    return (struct glyph){(uint32_t)size, columns_of(code), false};
}

/* Where output goes: to a file, or if that is NULL, to a text. */
struct sink {
    FILE *out;
    struct tbed_text *text;
};

static void put(struct sink sink, const void *bytes, size_t nbytes)
{
    if (sink.out != NULL)
        fwrite_unlocked(bytes, 1, nbytes, sink.out);
    else
        tbed_text_put(sink.text, bytes, nbytes);
}

static void print_escaped(struct sink sink, const uint8_t *at, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        char text[4] = {'\\', 'x', digits[at[i] >> 4], digits[at[i] & 15]};
        put(sink, text, sizeof text);
    }
}

/* The width of the text in columns; stops counting above 'limit'. */
static size_t measure(const uint8_t *at, size_t nbytes, size_t limit)
{
    size_t columns = 0;
    for (size_t i = 0; i < nbytes && columns <= limit;) {
        struct glyph glyph = glyph_at(at + i, nbytes - i);
        columns += glyph.columns;
        i += glyph.nbytes;
    }
    return columns;
}

size_t tool_text_width(const char *text, size_t nbytes)
{
    return measure((const uint8_t *)text, nbytes, SIZE_MAX - 16);
}

static void print_whole(struct sink sink, const uint8_t *at, size_t nbytes)
{
    for (size_t i = 0; i < nbytes;) {
        size_t plain = tbed_printable_nbytes(at + i, nbytes - i);
        put(sink, at + i, plain);
        i += plain;
        if (i == nbytes)
            return;
        struct glyph glyph = glyph_at(at + i, nbytes - i);
        if (glyph.escaped)
            print_escaped(sink, at + i, glyph.nbytes);
        else
            put(sink, at + i, glyph.nbytes);
        i += glyph.nbytes;
    }
}

/* Prints at most 'width' columns, ending in an ellipsis if the text does not fit. Returns the columns printed. */
static size_t print_cut(struct sink sink, const uint8_t *at, size_t nbytes, size_t width)
{
    size_t columns = measure(at, nbytes, width);
    if (columns <= width) {
        print_whole(sink, at, nbytes);
        return columns;
    }
    size_t end = 0;
    columns = 0;
    for (;;) {
        struct glyph glyph = glyph_at(at + end, nbytes - end);
        if (columns + glyph.columns > width - 1)
            break;
        columns += glyph.columns;
        end += glyph.nbytes;
    }
    print_whole(sink, at, end);
    put(sink, "…", strlen("…"));
    return columns + 1;
}

void tool_print_text(FILE *out, const char *text, size_t nbytes, size_t width)
{
    struct sink sink = {.out = out};
    if (width == 0)
        print_whole(sink, (const uint8_t *)text, nbytes);
    else
        print_cut(sink, (const uint8_t *)text, nbytes, width);
}

void tool_put_text(struct tbed_text *to, const char *text, size_t nbytes)
{
    print_whole((struct sink){.text = to}, (const uint8_t *)text, nbytes);
}

void tool_print_quoted(FILE *out, const char *text, size_t nbytes)
{
    struct sink sink = {.out = out};
    put(sink, "\"", 1);
    for (size_t i = 0, piece; i < nbytes; i += piece) {
        piece = tbed_quoted_piece(text + i, nbytes - i);
        put(sink, "\\", tbed_takes_backslash(text[i]));
        print_whole(sink, (const uint8_t *)text + i, piece);
    }
    put(sink, "\"", 1);
}

/* How many bytes at the start have at most 'width' columns. */
static size_t head_nbytes(const uint8_t *at, size_t nbytes, size_t width)
{
    size_t end = 0;
    while (end < nbytes) {
        struct glyph glyph = glyph_at(at + end, nbytes - end);
        if (glyph.columns > width)
            break;
        width -= glyph.columns;
        end += glyph.nbytes;
    }
    return end;
}

void tool_print_middle(FILE *out, const char *text, size_t nbytes, size_t width)
{
    struct sink sink = {.out = out};
    const uint8_t *at = (const uint8_t *)text;
    size_t columns = width > 0 ? measure(at, nbytes, SIZE_MAX - 16) : 0;
    if (columns <= width) {
        print_whole(sink, at, nbytes);
        return;
    }
    size_t head = head_nbytes(at, nbytes, width / 2), tail = head;
    size_t left = columns - measure(at, head, SIZE_MAX - 16), fits = width - 1 - width / 2;
    while (left > fits) { /* what precedes the tail is left out */
        struct glyph glyph = glyph_at(at + tail, nbytes - tail);
        left -= glyph.columns;
        tail += glyph.nbytes;
    }
    print_whole(sink, at, head);
    put(sink, "…", strlen("…"));
    print_whole(sink, at + tail, nbytes - tail);
}

static void put_column(struct sink sink, const char *text, size_t nbytes, size_t width)
{
    if (width == 0)
        return;
    for (size_t columns = print_cut(sink, (const uint8_t *)text, nbytes, width); columns < width; columns++)
        put(sink, " ", 1);
}

void tool_print_column(FILE *out, const char *text, size_t nbytes, size_t width)
{
    put_column((struct sink){.out = out}, text, nbytes, width);
}

void tool_put_column(struct tbed_text *to, const char *text, size_t nbytes, size_t width)
{
    put_column((struct sink){.text = to}, text, nbytes, width);
}
