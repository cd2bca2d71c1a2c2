/*
 * What an event says, in words: its arguments, and messages, whose format strings were stored and never
 * formatted. The formatter follows printf, but a directive is a wish and the argument's own type decides:
 * nothing in a file can make it read what is not there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 1000 /* of a width or a precision */

void tool_append(struct tool_buffer *buffer, const char *bytes, size_t nbytes)
{
    if (nbytes == 0)
        return;
    if (nbytes > buffer->capacity - buffer->nbytes) {
        buffer->capacity = (buffer->nbytes + nbytes) * 2 + 64;
        buffer->bytes = tool_realloc(buffer->bytes, buffer->capacity);
    }
    memcpy(buffer->bytes + buffer->nbytes, bytes, nbytes);
    buffer->nbytes += nbytes;
}

static void append_string(struct tool_buffer *buffer, const char *text)
{
    tool_append(buffer, text, strlen(text));
}

static void append_u64(struct tool_buffer *buffer, uint64_t value)
{
    char digits[20];
    tool_append(buffer, digits, tool_digits(digits, value));
}

static void append_hex(struct tool_buffer *buffer, const char *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        char pair[2] = {digits[(uint8_t)bytes[i] >> 4], digits[(uint8_t)bytes[i] & 15]};
        tool_append(buffer, pair, 2);
    }
}

static void append_text(struct tool_buffer *buffer, const char *text, size_t nbytes, bool quoted)
{
    tool_append(buffer, "\"", quoted);
    tool_append(buffer, text, nbytes);
    tool_append(buffer, "\"", quoted);
}

static void append_pointer(struct tool_buffer *buffer, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    append_string(buffer, text);
}

static void append_i64(struct tool_buffer *buffer, int64_t value)
{
    tool_append(buffer, "-", value < 0);
    append_u64(buffer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void tool_append_value(struct tool_buffer *buffer, struct tbed_reader *reader,
                       const struct tbed_argument *argument, bool quoted)
{
    char number[32];
    struct tool_text name;
    switch (argument->type) {
    case TBED_ARG_U64:
        append_u64(buffer, argument->value.u64);
        return;
    case TBED_ARG_I64:
        append_i64(buffer, argument->value.i64);
        return;
    case TBED_ARG_F64:
        append_string(buffer, tool_format_f64(number, argument->value.f64));
        return;
    case TBED_ARG_POINTER:
        append_pointer(buffer, argument->value.u64);
        return;
    case TBED_ARG_BOOL:
        append_string(buffer, argument->value.u64 != 0 ? "true" : "false");
        return;
    case TBED_ARG_ID:
        name = tool_name_text(reader, argument->value.id);
        append_text(buffer, name.text, name.nbytes, quoted && name.status == TBED_OK);
        return;
    case TBED_ARG_TEXT:
        append_text(buffer, argument->value.text, argument->nbytes, quoted);
        return;
    default:
        append_hex(buffer, argument->value.text, argument->nbytes);
    }
}

void tool_append_arguments(struct tool_buffer *buffer, struct tbed_reader *reader, struct tbed_arguments at,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        tool_append(buffer, " ", 1);
        if (argument.name_id != TBED_ID_INVALID) {
            struct tool_text name = tool_name_text(reader, argument.name_id);
            tool_append(buffer, name.text, name.nbytes);
            tool_append(buffer, "=", 1);
        }
        tool_append_value(buffer, reader, &argument, true);
    }
}

/* ---- Directives ---- */

struct message {
    struct tbed_reader *reader;
    struct tool_buffer *out;
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
 * What printf takes from an int of the directive's size. A value that no int of C's call can have been is shown whole:
 * then the directive is wrong, not the value.
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
    tool_append(message->out, text, nbytes > 0 ? (size_t)nbytes : 0);
}

static void put_pointer(struct message *message, const struct directive *directive, uint64_t address)
{
    char format[24], text[FIELD_MAX + 64];
    int nbytes = snprintf(text, sizeof text, printf_format(directive, "p", format), directive->width,
                          directive->precision, (void *)(uintptr_t)address);
    tool_append(message->out, text, nbytes > 0 ? (size_t)nbytes : 0);
}

static void put_double(struct message *message, const struct directive *directive, double value)
{
    char tail[2] = {directive->conversion, '\0'};
    char format[24], text[2 * FIELD_MAX + 400];
    int nbytes = snprintf(text, sizeof text, printf_format(directive, tail, format), directive->width,
                          directive->precision, value);
    tool_append(message->out, text, nbytes > 0 ? (size_t)nbytes : 0);
}

#pragma GCC diagnostic pop

/* What has been appended since 'start', filled with spaces to the directive's width. */
static void pad(struct message *message, const struct directive *directive, size_t start)
{
    bool left = directive->width < 0 || memchr(directive->flags, '-', directive->flag_count) != NULL;
    size_t width = (size_t)abs(directive->width), nbytes = message->out->nbytes - start;
    if (nbytes >= width)
        return;
    char spaces[FIELD_MAX];
    memset(spaces, ' ', sizeof spaces);
    tool_append(message->out, spaces, width - nbytes);
    if (!left) {
        memmove(message->out->bytes + start + width - nbytes, message->out->bytes + start, nbytes);
        memset(message->out->bytes + start, ' ', width - nbytes);
    }
}

static void put_text(struct message *message, const struct directive *directive, const char *text,
                     size_t nbytes)
{
    size_t start = message->out->nbytes;
    bool is_cut = directive->precision >= 0 && directive->conversion != 'c';
    if (is_cut && (size_t)directive->precision < nbytes)
        nbytes = (size_t)directive->precision;
    tool_append(message->out, text, nbytes);
    pad(message, directive, start);
}

static bool is_integer(uint32_t type)
{
    return type == TBED_ARG_U64 || type == TBED_ARG_I64 || type == TBED_ARG_BOOL || type == TBED_ARG_POINTER;
}

static void put_argument(struct message *message, const struct directive *directive,
                         const struct tbed_argument *argument)
{
    size_t start = message->out->nbytes;
    char byte = (char)argument->value.u64;
    bool integer = is_integer(argument->type);
    if (integer && strchr("diuxXo", directive->conversion) != NULL)
        put_integer(message, directive, argument->value.u64,
                    argument->type == TBED_ARG_I64 && argument->value.i64 < 0);
    else if (argument->type == TBED_ARG_F64 && strchr("fFeEgGaA", directive->conversion) != NULL)
        put_double(message, directive, argument->value.f64);
    else if (argument->type == TBED_ARG_TEXT)
        put_text(message, directive, argument->value.text, argument->nbytes);
    else if (integer && directive->conversion == 'c')
        put_text(message, directive, &byte, 1);
    else if (integer && directive->conversion == 'p')
        put_pointer(message, directive, argument->value.u64);
    else {
        tool_append_value(message->out, message->reader, argument, false);
        pad(message, directive, start);
    }
}

/* message->format stands behind a '%'. */
static void put_directive(struct message *message)
{
    const char *start = message->format - 1;
    struct directive directive = parse_directive(message);
    struct tbed_argument argument;
    if (directive.conversion == '%')
        tool_append(message->out, "%", 1);
    else if (directive.conversion == '\0' || strchr("diuxXofFeEgGaAcsp", directive.conversion) == NULL ||
             !take_argument(message, &argument))
        tool_append(message->out, start, (size_t)(message->format - start));
    else
        put_argument(message, &directive, &argument);
}

static void put_message(struct message *message)
{
    while (message->format < message->end) {
        const char *percent = memchr(message->format, '%', (size_t)(message->end - message->format));
        const char *stop = percent != NULL ? percent : message->end;
        tool_append(message->out, message->format, (size_t)(stop - message->format));
        message->format = stop;
        if (percent != NULL) {
            message->format++;
            put_directive(message);
        }
    }
}

/* What stands before U+001E in a format is its context: said as it is, never formatted. */
static void take_context(struct message *message, bool says_context)
{
    const char *unit = memchr(message->format, '\x1e', (size_t)(message->end - message->format));
    if (unit == NULL)
        return;
    size_t nbytes = (size_t)(unit - message->format);
    if (says_context && nbytes > 0) {
        tool_append(message->out, message->format, nbytes);
        append_string(message->out, " : ");
    }
    message->format = unit + 1;
}

static struct tool_text message_text(struct tbed_reader *reader, const struct tbed_event *event,
                                     bool says_context)
{
    static struct tool_buffer buffer;
    struct tbed_argument argument;
    struct message message = {.reader = reader,
                              .out = &buffer,
                              .arguments = event->arguments,
                              .argument_count = event->argument_count};
    buffer.nbytes = 0;
    if (event->id != TBED_ID_INVALID) {
        struct tool_text format = tool_name_whole(reader, event->id); /* stays while arguments are named */
        message.format = format.text;
        message.end = format.text + format.nbytes;
        if (event->of.message.has_context)
            take_context(&message, says_context);
        put_message(&message);
    } else if (take_argument(&message, &argument)) {
        tool_append_value(&buffer, reader, &argument, false);
    }
    tool_append_arguments(&buffer, reader, message.arguments, message.argument_count);
    return (struct tool_text){buffer.bytes, buffer.nbytes, TBED_OK, false};
}

struct tool_text tool_message_text(struct tbed_reader *reader, const struct tbed_event *event)
{
    return message_text(reader, event, true);
}

struct tool_text tool_message_body(struct tbed_reader *reader, const struct tbed_event *event)
{
    return message_text(reader, event, false);
}

size_t tool_message(void *context, struct tbed_reader *reader, const struct tbed_event *event,
                    const char **text_ret)
{
    (void)context;
    struct tool_text text = tool_message_text(reader, event);
    *text_ret = text.text;
    return text.nbytes;
}
