/*
 * Lines of a log that a program formats by itself, as with rtl_logfile_trace() and rtl_logfile_longTrace().
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracebed/logfile.h"

#define PIECE_NBYTES 4096 /* as in the original, with the zero at the end */
#define UNIT         '\x1e'

static void put_message(const char *text, size_t nbytes)
{
    tbed_message_record(tbed_thread_self.recorder, TBED_SEVERITY_NONE, text, nbytes);
}

/* "NAME : message" */
static void put_context_message(const char *text, size_t nbytes, const char *colon)
{
    char format[PIECE_NBYTES + 4];
    size_t name_nbytes = (size_t)(colon - text);
    struct tbed_argument message = tbed_value_text(colon + 3);
    message.nbytes = (uint32_t)(nbytes - name_nbytes - 3);
    memcpy(format, text, name_nbytes);
    memcpy(format + name_nbytes, (const char[]){UNIT, '%', 's'}, 3);
    uint32_t id = tbed_string_intern(tbed_thread_self.writer, format, name_nbytes + 3);
    tbed_message_record_args(tbed_thread_self.recorder, (enum tbed_severity)TBED_MESSAGE_CONTEXT, id,
                             &message, 1);
}

static void put_end(const char *name, size_t nbytes)
{
    static const char ended[] = TBED_SCOPE_ENDED;
    struct tbed_thread *self = &tbed_thread_self;
    uint32_t id = tbed_string_intern(self->writer, name, nbytes);
    if (!tbed_span_end_named(self->recorder, id))
        tbed_instant_record_category(self->recorder, id,
                                     tbed_string_intern(self->writer, ended, sizeof ended - 1), NULL, 0);
}

static void put_line(const char *line, size_t nbytes)
{
    bool is_form = nbytes >= 2 && memchr("{}|", line[0], 3) != NULL && line[1] == ' ';
    const char *text = line + 2;
    const char *colon = is_form && line[0] == '|' ? memmem(text, nbytes - 2, " : ", 3) : NULL;
    if (!is_form)
        put_message(line, nbytes);
    else if (line[0] == '{')
        tbed_span_begin(tbed_thread_self.recorder,
                        tbed_string_intern(tbed_thread_self.writer, text, nbytes - 2));
    else if (line[0] == '}')
        put_end(text, nbytes - 2);
    else if (nbytes >= 4 && memcmp(text, ": ", 2) == 0)
        put_message(text + 2, nbytes - 4);
    else if (colon != NULL)
        put_context_message(text, nbytes - 2, colon);
    else
        put_message(line, nbytes);
}

/* Behind the time and the thread's number, if both are there. */
static const char *behind_numbers(const char *line)
{
    const char *at = line;
    for (int i = 0; i < 2; i++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || at[digits] != ' ')
            return line;
        at += digits + 1;
    }
    return at;
}

static void put_formatted(const char *format, va_list values, bool has_numbers)
{
    char piece[PIECE_NBYTES];
    int kept_errno = errno;
    if (!tbed_thread_enter())
        return;
    int wanted = vsnprintf(piece, sizeof piece, format, values);
    if (wanted < 0)
        piece[0] = 0;
    const char *line = has_numbers ? behind_numbers(piece) : piece;
    size_t nbytes = strlen(line);
    if (nbytes > 0 && line[nbytes - 1] == '\n')
        nbytes--;
    put_line(line, nbytes);
    errno = kept_errno;
}

void tbed_logfile_write(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (tbed_category_generation(&tbed_category_default) != 0)
        put_formatted(format, values, true);
    va_end(values);
}

void tbed_logfile_write_long(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (tbed_category_generation(&tbed_category_default) != 0)
        put_formatted(format, values, false);
    va_end(values);
}
