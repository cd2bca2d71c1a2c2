/*
 * Events as text: their arguments, and messages, whose format strings were stored without being formatted.
 *
 * The formatter follows printf(), but the type of the argument decides, not the directive, so no file can make it read
 * out of bounds. Nothing is allocated, except for a format that the reader does not keep.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/number_text.h"
#include "reader/core/base/quoted.h"
#include "reader/core/names/id_info.h"
#include "reader/core/names/text_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracebed/reader.h>

#define FIELD_MAX 1000 /* of a width or a precision */

/* ---- Values ---- */

static void put_quoted(struct text_out *out, const char *text, size_t nbytes, bool quoted)
{
    if (!quoted) {
        tbed_out_put(out, text, nbytes);
        return;
    }
    tbed_out_put(out, "\"", 1);
    for (size_t i = 0, piece; i < nbytes; i += piece) {
        piece = tbed_quoted_piece(text + i, nbytes - i);
        tbed_out_put(out, "\\", tbed_takes_backslash(text[i]));
        tbed_out_put(out, text + i, piece);
    }
    tbed_out_put(out, "\"", 1);
}

static void put_hex(struct text_out *out, const char *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        char pair[2] = {digits[(uint8_t)bytes[i] >> 4], digits[(uint8_t)bytes[i] & 15]};
        tbed_out_put(out, pair, 2);
    }
}

static void put_id(struct text_out *out, const struct tbed_reader *reader, uint32_t id, bool quoted)
{
    struct tbed_name name;
    enum tbed_status status = tbed_name_get(reader, id, &name);
    out->has_no_memory |= status == TBED_ERR_MEMORY;
    if (status == TBED_ERR_CACHE_FULL || status == TBED_ERR_MEMORY) {
        size_t left = tbed_out_left(out);
        char *buffer = left > 0 ? out->buffer + out->nbytes : NULL;
        out->nbytes += tbed_id_text(reader, id, TBED_NAME_ALL, buffer, left);
        return;
    }
    put_quoted(out, name.text, name.nbytes, quoted && status == TBED_OK);
}

/* Arguments have 64 bits, so their value may exceed every id. */
static void put_wide_id(struct text_out *out, const struct tbed_reader *reader, uint64_t id, bool quoted)
{
    char text[48];
    if (id <= UINT32_MAX)
        put_id(out, reader, (uint32_t)id, quoted);
    else
        tbed_out_put(out, text, (size_t)snprintf(text, sizeof text, "<dangling id %" PRIu64 ">", id));
}

/* Formats the value for people; texts are in quotes if 'quoted'. */
static void put_value(struct text_out *out, const struct tbed_reader *reader,
                      const struct tbed_argument *argument, bool quoted)
{
    char number[32];
    switch (argument->type) {
    case TBED_ARG_U64:
        tbed_out_put(out, number, tbed_format_u64(number, argument->value.u64));
        return;
    case TBED_ARG_I64:
        tbed_out_put(out, number, tbed_format_i64(number, argument->value.i64));
        return;
    case TBED_ARG_F64:
        tbed_out_puts(out, tbed_format_f64(number, argument->value.f64));
        return;
    case TBED_ARG_POINTER:
        snprintf(number, sizeof number, "0x%" PRIx64, argument->value.u64);
        tbed_out_puts(out, number);
        return;
    case TBED_ARG_BOOL:
        tbed_out_puts(out, argument->value.u64 != 0 ? "true" : "false");
        return;
    case TBED_ARG_ID:
        put_wide_id(out, reader, argument->value.u64, quoted);
        return;
    case TBED_ARG_TEXT:
        put_quoted(out, argument->value.text, argument->nbytes, quoted);
        return;
    default:
        put_hex(out, argument->value.text, argument->nbytes);
    }
}

static void put_arguments(struct text_out *out, const struct tbed_reader *reader, struct tbed_arguments at,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        tbed_out_put(out, " ", 1);
        if (argument.name_id != TBED_ID_INVALID) {
            put_id(out, reader, argument.name_id, false);
            tbed_out_put(out, "=", 1);
        }
        put_value(out, reader, &argument, true);
    }
}

size_t tbed_argument_text(const struct tbed_reader *reader, const struct tbed_argument *argument,
                          char *buffer, size_t buffer_nbytes)
{
    struct text_out out = {.buffer = buffer, .room = buffer_nbytes};
    put_value(&out, reader, argument, true);
    tbed_out_end(&out);
    return out.nbytes;
}

size_t tbed_argument_spell(const struct tbed_reader *reader, const struct tbed_argument *argument,
                           char *buffer, size_t buffer_nbytes)
{
    struct text_out out = {.buffer = buffer, .room = buffer_nbytes};
    put_value(&out, reader, argument, true);
    tbed_out_end(&out);
    return out.has_no_memory ? TBED_NO_MEMORY : out.nbytes;
}

size_t tbed_arguments_text(const struct tbed_reader *reader, const struct tbed_arguments *arguments,
                           uint32_t count, char *buffer, size_t buffer_nbytes)
{
    struct text_out out = {.buffer = buffer, .room = buffer_nbytes};
    put_arguments(&out, reader, *arguments, count);
    tbed_out_end(&out);
    return out.nbytes;
}

/* ---- Directives ---- */

struct message {
    const struct tbed_reader *reader;
    struct text_out *out;
    const char *format, *end;
    struct tbed_arguments arguments;
    uint32_t argument_count; /* left */
};

struct directive {
    char flags[6];
    unsigned flag_count;
    int width, precision; /* precision -1: none */
    unsigned bits;        /* of an integer, by the length modifier */
    char conversion;
};

static bool take_argument(struct message *message, struct tbed_argument *argument)
{
    if (message->argument_count == 0)
        return false;
    message->argument_count--;
    tbed_argument_next(&message->arguments, argument);
    return true;
}

static char peek(const struct message *message)
{
    return message->format < message->end ? *message->format : '\0';
}

static int clamp(int64_t value)
{
    return value > FIELD_MAX ? FIELD_MAX : value < -FIELD_MAX ? -FIELD_MAX : (int)value;
}

static int parse_number(struct message *message)
{
    struct tbed_argument argument;
    if (peek(message) == '*') {
        message->format++;
        bool is_number = take_argument(message, &argument) && argument.type <= TBED_ARG_I64;
        return is_number ? clamp(argument.value.i64) : 0;
    }
    int value = 0;
    for (; peek(message) >= '0' && peek(message) <= '9'; message->format++)
        value = clamp((int64_t)value * 10 + (peek(message) - '0'));
    return value;
}

static void parse_flags(struct message *message, struct directive *directive)
{
    for (; peek(message) != '\0' && strchr("-+ #0'", peek(message)) != NULL; message->format++)
        if (directive->flag_count < sizeof directive->flags && peek(message) != '\'')
            directive->flags[directive->flag_count++] = *message->format;
}

static unsigned parse_length(struct message *message)
{
    unsigned bits = 32;
    for (; peek(message) != '\0' && strchr("hlqjztL", peek(message)) != NULL; message->format++)
        bits = peek(message) != 'h' ? 64 : bits / 2;
    return bits;
}

static struct directive parse_directive(struct message *message)
{
    struct directive directive = {.precision = -1};
    parse_flags(message, &directive);
    directive.width = parse_number(message);
    if (peek(message) == '.') {
        message->format++;
        directive.precision = parse_number(message);
    }
    directive.bits = parse_length(message);
    directive.conversion = peek(message);
    message->format += directive.conversion != '\0';
    return directive;
}

/* "%", the flags, "*.*", 'tail': for snprintf() with width and precision. */
static const char *printf_format(const struct directive *directive, const char *tail, char buffer[24])
{
    snprintf(buffer, 24, "%%%.*s*.*%s", (int)directive->flag_count, directive->flags, tail);
    return buffer;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/*
 * Returns the value that printf() would take from an int of the directive's size. A value that cannot have been an int
 * in the C call is returned unchanged: in that case the directive is wrong, not the value.
 */
static uint64_t cut_to_size(const struct directive *directive, uint64_t value, bool *negative)
{
    bool wants_sign = directive->conversion == 'd' || directive->conversion == 'i';
    bool is_int = *negative ? (int64_t)value >= INT32_MIN : value <= UINT32_MAX;
    unsigned unused = 64 - directive->bits;
    if (directive->bits < 64 && !is_int && (wants_sign || !*negative))
        return value;
    *negative = wants_sign && (value << unused) >> 63 != 0;
    return wants_sign ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
}

static void put_integer(struct message *message, const struct directive *directive, uint64_t given,
                        bool negative)
{
    bool wants_sign = directive->conversion == 'd' || directive->conversion == 'i';
    uint64_t value = cut_to_size(directive, given, &negative);
    char tail[4] = {'l', 'l', wants_sign ? (negative ? 'd' : 'u') : directive->conversion, '\0'};
    char format[24], text[FIELD_MAX + 64];
    if (wants_sign && !negative && value <= INT64_MAX) /* 'u' would ignore the flags + and space */
        tail[2] = 'd';
    int nbytes = snprintf(text, sizeof text, printf_format(directive, tail, format), directive->width,
                          directive->precision, (unsigned long long)value);
    tbed_out_put(message->out, text, nbytes > 0 ? (size_t)nbytes : 0);
}

static void put_pointer(struct message *message, const struct directive *directive, uint64_t address)
{
    char format[24], text[FIELD_MAX + 64];
    int nbytes = snprintf(text, sizeof text, printf_format(directive, "p", format), directive->width,
                          directive->precision, (void *)(uintptr_t)address);
    tbed_out_put(message->out, text, nbytes > 0 ? (size_t)nbytes : 0);
}

static void put_double(struct message *message, const struct directive *directive, double value)
{
    char tail[2] = {directive->conversion, '\0'};
    char format[24], text[2 * FIELD_MAX + 400];
    int nbytes = snprintf(text, sizeof text, printf_format(directive, tail, format), directive->width,
                          directive->precision, value);
    tbed_out_put(message->out, text, nbytes > 0 ? (size_t)nbytes : 0);
}

#pragma GCC diagnostic pop

static bool is_left(const struct directive *directive)
{
    return directive->width < 0 || memchr(directive->flags, '-', directive->flag_count) != NULL;
}

/* Spaces that fill 'nbytes' to the directive's width, if they belong on this side. */
static void pad(struct message *message, const struct directive *directive, size_t nbytes, bool left)
{
    char spaces[FIELD_MAX];
    size_t width = (size_t)abs(directive->width);
    if (nbytes >= width || left == is_left(directive))
        return;
    memset(spaces, ' ', width - nbytes);
    tbed_out_put(message->out, spaces, width - nbytes);
}

static void put_text(struct message *message, const struct directive *directive, const char *text,
                     size_t nbytes)
{
    bool is_cut = directive->precision >= 0 && directive->conversion != 'c';
    if (is_cut && (size_t)directive->precision < nbytes)
        nbytes = (size_t)directive->precision;
    pad(message, directive, nbytes, true);
    tbed_out_put(message->out, text, nbytes);
    pad(message, directive, nbytes, false);
}

/* Formats an argument whose type does not fit the directive by its own type. */
static void put_plain(struct message *message, const struct directive *directive,
                      const struct tbed_argument *argument)
{
    struct text_out measured = {0};
    put_value(&measured, message->reader, argument, false);
    pad(message, directive, measured.nbytes, true);
    put_value(message->out, message->reader, argument, false);
    pad(message, directive, measured.nbytes, false);
}

static bool is_integer(uint32_t type)
{
    return type == TBED_ARG_U64 || type == TBED_ARG_I64 || type == TBED_ARG_BOOL || type == TBED_ARG_POINTER;
}

static void put_argument(struct message *message, const struct directive *directive,
                         const struct tbed_argument *argument)
{
    char byte = (char)argument->value.u64;
    bool integer = is_integer(argument->type);
    /* "0x%X", this: as printf() would, where an int is too small for an address */
    bool is_cut = argument->type == TBED_ARG_POINTER && directive->bits <= 32;
    if (integer && strchr("diuxXo", directive->conversion) != NULL)
        put_integer(message, directive, is_cut ? (uint32_t)argument->value.u64 : argument->value.u64,
                    argument->type == TBED_ARG_I64 && argument->value.i64 < 0);
    else if (argument->type == TBED_ARG_F64 && strchr("fFeEgGaA", directive->conversion) != NULL)
        put_double(message, directive, argument->value.f64);
    else if (argument->type == TBED_ARG_TEXT)
        put_text(message, directive, argument->value.text, argument->nbytes);
    else if (integer && directive->conversion == 'c')
        put_text(message, directive, &byte, 1);
    else if (integer && directive->conversion == 'p')
        put_pointer(message, directive, argument->value.u64);
    else
        put_plain(message, directive, argument);
}

/* 'message->format' points after a '%'. */
static void put_directive(struct message *message)
{
    const char *start = message->format - 1;
    struct directive directive = parse_directive(message);
    struct tbed_argument argument;
    if (directive.conversion == '%')
        tbed_out_put(message->out, "%", 1);
    else if (directive.conversion == '\0' || strchr("diuxXofFeEgGaAcsp", directive.conversion) == NULL ||
             !take_argument(message, &argument))
        tbed_out_put(message->out, start, (size_t)(message->format - start));
    else
        put_argument(message, &directive, &argument);
}

static void put_message(struct message *message)
{
    while (message->format < message->end) {
        const char *percent = memchr(message->format, '%', (size_t)(message->end - message->format));
        const char *stop = percent != NULL ? percent : message->end;
        tbed_out_put(message->out, message->format, (size_t)(stop - message->format));
        message->format = stop;
        if (percent != NULL) {
            message->format++;
            put_directive(message);
        }
    }
}

/* The text before U+001E in a format is its context: shown verbatim, never formatted. */
static void take_context(struct message *message, enum tbed_message_part part)
{
    const char *unit = memchr(message->format, '\x1e', (size_t)(message->end - message->format));
    if (unit == NULL)
        return;
    size_t nbytes = (size_t)(unit - message->format);
    if (part == TBED_MESSAGE_ALL && nbytes > 0) {
        tbed_out_put(message->out, message->format, nbytes);
        tbed_out_put(message->out, " : ", 3);
    }
    message->format = unit + 1;
}

/* ---- Messages ---- */

/* Returns the complete format. If it had to be allocated, it is '*own_ret', which the caller frees. */
static struct tbed_name find_format(const struct tbed_reader *reader, uint32_t id, char **own_ret)
{
    static const char trouble[] = "<no memory>";
    struct tbed_name name;
    size_t nbytes;
    *own_ret = NULL;
    enum tbed_status status = tbed_name_get(reader, id, &name);
    if (status != TBED_ERR_CACHE_FULL && status != TBED_ERR_MEMORY)
        return name;
    tbed_string_resolve(reader, id, NULL, 0, &nbytes);
    char *text = nbytes < SIZE_MAX ? malloc(nbytes + 1) : NULL;
    if (text == NULL)
        return (struct tbed_name){trouble, sizeof trouble - 1, id};
    /* If the file is still being written, the id may get a longer meaning in between. */
    size_t room = nbytes + 1;
    tbed_string_resolve(reader, id, text, room, &nbytes);
    *own_ret = text;
    return (struct tbed_name){text, nbytes < room ? nbytes : room - 1, id};
}

size_t tbed_message_text(const struct tbed_reader *reader, const struct tbed_event *event,
                         enum tbed_message_part part, char *buffer, size_t buffer_nbytes)
{
    struct text_out out = {.buffer = buffer, .room = buffer_nbytes};
    struct tbed_argument argument;
    char *own = NULL;
    struct message message = {.reader = reader,
                              .out = &out,
                              .arguments = event->arguments,
                              .argument_count = event->argument_count};
    if (event->id != TBED_ID_INVALID) {
        struct tbed_name format = find_format(reader, event->id, &own);
        message.format = format.text;
        message.end = format.text + format.nbytes;
        if (event->of.message.has_context)
            take_context(&message, part);
        put_message(&message);
    } else if (take_argument(&message, &argument)) {
        put_value(&out, reader, &argument, false);
    }
    put_arguments(&out, reader, message.arguments, message.argument_count);
    tbed_out_end(&out);
    free(own);
    return out.nbytes;
}
