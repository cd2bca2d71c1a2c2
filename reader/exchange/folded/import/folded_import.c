/*
 * Folded stacks as a trace: each line, "frame;frame;frame NUMBER", is a sample. Frames are names verbatim, escapes
 * included, so that an export of the trace has the same lines. What the numbers count is not in the file: ticks are "samples".
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/folded/import/folded_import.h"

#include "reader/exchange/foreign/foreign_file.h"
#include "reader/exchange/foreign/foreign_input.h"
#include "reader/exchange/foreign/sample_import.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define START_NBYTES     4096
#define LONG_LINE_FRAMES 4 /* a line that goes beyond the start of a file must have at least these */

struct folded_line {
    const char *stack, *stack_end;
    uint64_t value;
    bool is_negative, is_too_large;
};

struct folded_import {
    struct sample_import samples;
    struct foreign_input input;
    bool is_in_long_line; /* the rest of one that is left out */
};

/* ---- Lines ---- */

static bool take_digits(const char *at, const char *end, struct folded_line *line)
{
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        line->is_too_large |= __builtin_mul_overflow(line->value, 10, &line->value) ||
                              __builtin_add_overflow(line->value, (uint64_t)(*at - '0'), &line->value);
    }
    return true;
}

/* Of a line that is not blank. False: it is no line of folded stacks. */
static bool read_line(const char *at, const char *end, struct folded_line *line)
{
    *line = (struct folded_line){.stack = at};
    while (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t')
        end--;
    const char *number = end;
    while (number > at && number[-1] != ' ' && number[-1] != '\t')
        number--;
    line->stack_end = number > at ? number - 1 : at;
    line->is_negative = *number == '-';
    return line->stack_end > at && take_digits(number + line->is_negative, end, line);
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end || *at == '#';
}

/* ---- Which files ---- */

static bool is_text(const char *at, const char *end)
{
    for (; at < end; at++)
        if ((unsigned char)*at < ' ' && *at != '\t' && *at != '\n' && *at != '\r')
            return false;
    return true;
}

/* The start of a line that is too long to be seen to its end. */
static bool is_long_line(const char *at, const char *end)
{
    size_t count = 0;
    for (; at < end; at++) {
        if (*at == ';' && at + 1 < end && (at[1] == ' ' || at[1] == '\t'))
            return false; /* a program, or a text */
        count += *at == ';';
    }
    return count >= LONG_LINE_FRAMES;
}

struct folded_start {
    size_t fine_count, other_count, stack_count;
};

/* Adds a line to what is known of the start of a file. */
static void see_line(struct folded_start *start, const char *at, const char *end)
{
    struct folded_line line;
    if (is_blank(at, end))
        return;
    bool is_fine = read_line(at, end, &line);
    start->fine_count += is_fine;
    start->other_count += !is_fine;
    start->stack_count += is_fine && memchr(at, ';', (size_t)(line.stack_end - at)) != NULL;
}

/* A few damaged lines are no reason to refuse a file; but the first line must be a sample. */
bool tbed_folded_has_start(const char *start, size_t nbytes)
{
    char text[START_NBYTES];
    size_t text_nbytes = tbed_foreign_start(start, nbytes, text, sizeof text);
    const char *at = text, *end = text + text_nbytes, *newline;
    bool is_cut = nbytes == START_NBYTES || text_nbytes == START_NBYTES;
    struct folded_start seen = {0};
    if (!is_text(at, end))
        return false;
    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        see_line(&seen, at, newline);
        if (seen.fine_count == 0 && seen.other_count > 0)
            return false;
        at = newline + 1;
    }
    if (is_cut && at == text)
        return is_long_line(at, end);
    size_t other_count = seen.other_count; /* the last line may be cut */
    if (!is_cut && at < end)
        see_line(&seen, at, end);
    return seen.stack_count > 0 && other_count <= seen.fine_count / 4;
}

/* ---- The file ---- */

static void damage(struct folded_import *folded, enum tbed_status status)
{
    tbed_import_damaged(folded->samples.trace.report, status, 0,
                        tbed_foreign_offset(&folded->input, folded->input.at), 0);
}

static void take_line(struct folded_import *folded, const struct folded_line *line)
{
    struct sample_import *samples = &folded->samples;
    uint64_t *notes = samples->trace.report->notes;
    if (line->is_too_large || line->is_negative) {
        notes[line->is_too_large ? TBED_IMPORT_NOTE_RANGE : TBED_IMPORT_NOTE_NEGATIVE]++;
        return;
    }
    for (const char *at = line->stack, *end; at <= line->stack_end; at = end + 1) {
        end = memchr(at, ';', (size_t)(line->stack_end - at));
        end = end != NULL ? end : line->stack_end;
        tbed_sample_frame(samples, tbed_import_string(&samples->trace, at, (size_t)(end - at)));
    }
    tbed_sample_put(samples, line->value);
}

static size_t window_nbytes(const struct foreign_input *input)
{
    return (size_t)(input->end - input->at);
}

static const char *line_end(const struct foreign_input *input, size_t from)
{
    size_t nbytes = window_nbytes(input);
    return nbytes > from ? memchr(input->at + from, '\n', nbytes - from) : NULL;
}

/* False: the end of the file. */
static bool take_next(struct folded_import *folded)
{
    struct foreign_input *input = &folded->input;
    struct folded_line line;
    const char *newline = line_end(input, 0);
    for (size_t seen = window_nbytes(input); newline == NULL && tbed_foreign_input_more(input);) {
        newline = line_end(input, seen);
        seen = window_nbytes(input);
    }
    const char *end = newline != NULL ? newline : input->end;
    if (input->failure != TBED_OK || input->at == input->end)
        return false;
    bool is_long = newline == NULL && !input->is_at_end;
    if (is_long && !folded->is_in_long_line)
        damage(folded, TBED_ERR_FOREIGN_RECORD);
    else if (!is_long && !folded->is_in_long_line && !is_blank(input->at, end)) {
        if (read_line(input->at, end, &line))
            take_line(folded, &line);
        else
            damage(folded, newline == NULL ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_RECORD);
    }
    folded->is_in_long_line = is_long;
    input->at = newline != NULL ? newline + 1 : end;
    return true;
}

static enum tbed_status read_file(struct folded_import *folded, int fd, struct tbed_error *error_ret)
{
    static const char metadata[] = "{\"format\":\"folded\"}";
    struct import_trace *trace = &folded->samples.trace;
    struct foreign_input *input = &folded->input;
    enum tbed_status status = tbed_foreign_input_open(input, fd);
    if (status != TBED_OK)
        return tbed_exchange_fail(error_ret, status);
    while (!trace->is_out_of_memory && take_next(folded))
        continue;
    if (input->damage != TBED_OK)
        tbed_import_damaged(trace->report, input->damage, 0, input->read_nbytes, 0);
    tbed_metadata_set(trace->writer, metadata, sizeof metadata - 1);
    status = input->failure;
    tbed_foreign_input_close(input);
    return status == TBED_OK ? TBED_OK : tbed_exchange_fail(error_ret, status);
}

enum tbed_status tbed_folded_import(const void *source, int fd, struct tbed_import_report *report,
                                    struct tbed_error *error_ret)
{
    static const struct import_start start = {.name = "", .unit = "samples"};
    const struct foreign_file *file = source;
    struct folded_import *folded = calloc(1, sizeof *folded);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_FOLDED, .file_nbytes = file->nbytes};
    errno = ENOMEM;
    if (folded == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    enum tbed_status status =
        tbed_sample_import_open(&folded->samples, fd, &start, "samples", report, error_ret);
    if (status == TBED_OK && !folded->samples.trace.is_out_of_memory)
        status = read_file(folded, file->fd, error_ret);
    status = tbed_sample_import_close(&folded->samples, status, error_ret);
    free(folded);
    return status;
}
