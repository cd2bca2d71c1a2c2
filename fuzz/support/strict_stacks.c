/*
 * Strict readers of callgrind's, speedscope's and heaptrack's formats; see strict_stacks.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/strict_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/strict.h"

struct line {
    const char *at, *end;
};

/* The next line, without its end; false: there is none, or it has no end. */
static bool next_line(const char **text, const char *end, struct line *line)
{
    const char *newline = *text < end ? memchr(*text, '\n', (size_t)(end - *text)) : NULL;
    if (newline == NULL)
        return false;
    *line = (struct line){*text, newline};
    *text = newline + 1;
    for (const char *at = line->at; at < line->end; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            return false;
    return true;
}

static bool skip(struct line *line, const char *start)
{
    size_t nbytes = strlen(start);
    if ((size_t)(line->end - line->at) < nbytes || memcmp(line->at, start, nbytes) != 0)
        return false;
    line->at += nbytes;
    return true;
}

static bool take_number(struct line *line, unsigned base, uint64_t *number_ret)
{
    const char *start = line->at;
    uint64_t number = 0;
    for (; line->at < line->end; line->at++) {
        unsigned digit = *line->at >= '0' && *line->at <= '9'   ? (unsigned)(*line->at - '0')
                         : *line->at >= 'a' && *line->at <= 'f' ? (unsigned)(*line->at - 'a' + 10)
                                                                : 16;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(number, base, &number) || __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *number_ret = number;
    return line->at > start && (*start != '0' || line->at == start + 1);
}

/* Numbers separated by spaces, to the end of the line. Returns how many; 0: something else is there. */
static size_t take_numbers(struct line *line, unsigned base, uint64_t *numbers, size_t room)
{
    for (size_t count = 0; count < room;) {
        if (!take_number(line, base, &numbers[count++]))
            return 0;
        if (line->at == line->end)
            return count;
        if (!skip(line, " "))
            return 0;
    }
    return 0;
}

/* ---- callgrind ---- */

struct names { /* that have been defined */
    bool *is_there;
    size_t count;
};

static bool take_name(struct line *line, struct names *names)
{
    uint64_t number;
    if (!skip(line, "(") || !take_number(line, 10, &number) || number >= names->count || !skip(line, ")"))
        return false;
    bool is_there = names->is_there[number];
    names->is_there[number] = true;
    return is_there ? line->at == line->end : skip(line, " ") && line->at < line->end;
}

static bool is_body_line(struct line line, struct names *files, struct names *functions, size_t event_count,
                         bool *has_function)
{
    uint64_t numbers[8];
    if (line.at == line.end)
        return true;
    if (skip(&line, "fl=") || skip(&line, "cfi="))
        return take_name(&line, files);
    if (skip(&line, "fn=") || skip(&line, "cfn=")) {
        *has_function = true;
        return take_name(&line, functions);
    }
    if (skip(&line, "calls="))
        return *has_function && take_numbers(&line, 10, numbers, 8) == 2 && numbers[1] == 0;
    return *has_function && take_numbers(&line, 10, numbers, 8) == event_count + 1;
}

static bool is_callgrind_body(const char *text, const char *end, struct names *files, struct names *functions,
                              size_t event_count)
{
    struct line line;
    uint64_t numbers[8];
    bool has_function = false;
    while (next_line(&text, end, &line)) {
        struct line totals = line;
        if (skip(&totals, "totals: "))
            return text == end && take_numbers(&totals, 10, numbers, 8) == event_count;
        if (!is_body_line(line, files, functions, event_count, &has_function))
            return false;
    }
    return false;
}

bool is_callgrind(const char *text, size_t nbytes)
{
    static const char *const heads[] = {"# callgrind format", "version: 1", "creator: tracebed",
                                        "positions: line", "events: "};
    const char *end = text + nbytes;
    struct names files = {calloc(nbytes + 1, sizeof(bool)), nbytes},
                 functions = {calloc(nbytes + 1, sizeof(bool)), nbytes};
    struct line line = {0};
    uint64_t numbers[8];
    REQUIRE(files.is_there != NULL && functions.is_there != NULL);
    bool fine = true;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0] && fine; i++)
        fine = next_line(&text, end, &line) && skip(&line, heads[i]);
    size_t event_count = 1;
    for (; fine && line.at < line.end; line.at++)
        event_count += *line.at == ' ';
    fine = fine && next_line(&text, end, &line) && skip(&line, "summary: ") &&
           take_numbers(&line, 10, numbers, 8) == event_count &&
           is_callgrind_body(text, end, &files, &functions, event_count);
    free(files.is_there);
    free(functions.is_there);
    return fine;
}

/* ---- speedscope ---- */

/* An event is a line: {"type":"O","frame":3,"at":123}, */
static bool take_event(struct line line, char *type_ret, uint64_t *frame_ret, int64_t *at_ret)
{
    if (!skip(&line, "{\"type\":\""))
        return false;
    *type_ret = *line.at++;
    if (!skip(&line, "\",\"frame\":") || !take_number(&line, 10, frame_ret) || !skip(&line, ",\"at\":"))
        return false;
    bool is_negative = skip(&line, "-");
    uint64_t number;
    if (!take_number(&line, 10, &number) || !skip(&line, "}"))
        return false;
    *at_ret = is_negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

bool is_speedscope(const char *text, size_t nbytes)
{
    const char *end = text + nbytes;
    uint64_t *stack = calloc(nbytes / 16 + 1, sizeof *stack), frame; /* no event is shorter */
    struct line line;
    size_t depth = 0;
    int64_t last = INT64_MIN, at;
    char type;
    bool fine = is_json_lines(text, nbytes);
    REQUIRE(stack != NULL);
    while (fine && next_line(&text, end, &line)) {
        if (!take_event(line, &type, &frame, &at)) { /* between profiles */
            fine = depth == 0;
            last = INT64_MIN;
            continue;
        }
        fine = at >= last && (type == 'O' || (type == 'C' && depth > 0 && stack[depth - 1] == frame));
        last = at;
        if (type == 'O')
            stack[depth++] = frame;
        else
            depth--;
    }
    free(stack);
    return fine && depth == 0 && text == end;
}

/* ---- heaptrack ---- */

struct heaptrack_counts {
    uint64_t strings, places, traces, infos, milliseconds;
};

static bool is_place(const uint64_t *numbers, size_t count, const struct heaptrack_counts *counts)
{
    bool fine = count % 3 == 2 && numbers[1] <= counts->strings;
    for (size_t i = 2; i < count && fine; i += 3)
        fine = numbers[i] > 0 && numbers[i] <= counts->strings && numbers[i + 1] <= counts->strings;
    return fine;
}

static bool is_heaptrack_line(struct line line, struct heaptrack_counts *counts)
{
    uint64_t numbers[256];
    char mode = line.at < line.end ? *line.at++ : '\0';
    if (!skip(&line, " "))
        return false;
    if (mode == 's') {
        counts->strings++;
        return line.at < line.end;
    }
    size_t count = take_numbers(&line, 16, numbers, 256);
    switch (mode) {
    case 'i':
        counts->places++;
        return is_place(numbers, count, counts);
    case 't':
        return count == 2 && numbers[0] > 0 && numbers[0] <= counts->places && numbers[1] <= counts->traces++;
    case 'a':
        counts->infos++;
        return count == 2 && numbers[1] > 0 && numbers[1] <= counts->traces;
    case 'c': {
        uint64_t before = counts->milliseconds;
        counts->milliseconds = numbers[0];
        return count == 1 && numbers[0] > before;
    }
    default:
        return (mode == '+' || mode == '-') && count == 1 && numbers[0] < counts->infos;
    }
}

bool is_heaptrack(const char *text, size_t nbytes)
{
    static const char *const heads[] = {"v 10400 2", "X ", "I 1000 0"};
    const char *end = text + nbytes;
    struct heaptrack_counts counts = {0};
    struct line line;
    bool fine = true;
    for (size_t i = 0; i < 3 && fine; i++)
        fine = next_line(&text, end, &line) && skip(&line, heads[i]);
    while (fine && next_line(&text, end, &line))
        fine = is_heaptrack_line(line, &counts);
    return fine && text == end;
}
