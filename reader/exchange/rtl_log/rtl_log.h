/*
 * Declarations shared by the import and export of RTL_LOGFILE logs.
 *
 * A line is "%06u %u " and then "{ name", "} name", "| name : message" or "| : message". For how a log is represented
 * as a trace, see spec/decisions.md, "Logs of RTL_LOGFILE".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_RTL_LOG_H
#define TRACEBED_EXCHANGE_RTL_LOG_H

#include <tracebed/exchange.h>

#define RTL_NS_PER_MS     1000000u
#define RTL_PIECE_NMAX    4095u     /* bytes of a piece that the program writes, followed by a zero */
#define RTL_LINE_NMAX     24000u    /* longer ones are split: an event must fit into a page */
#define RTL_HEADER_NMAX   24        /* size of a number in the header or the trailer, terminated */
#define RTL_UNIT          '\x1e'    /* between the context of a message and its format */
#define RTL_CATEGORY_PAIR "message" /* of a span written as messages "{ text" and "} text" */
#define RTL_CATEGORY_END                                                                                     \
    "scope that ended in this thread" /* of an instant: it began in another; TBED_SCOPE_ENDED */
#define RTL_ARG_MS   "ms"             /* of an imported line whose own time does not fit its place */
#define RTL_ARG_LINE "line" /* the bytes of an imported line that cannot be reproduced from the event alone */

/* ---- Lines ---- */

struct rtl_line {
    uint32_t ms, tid;
    char kind;         /* '{', '}' or '|' */
    bool is_canonical; /* both numbers are formatted as the program does, and a space follows the kind */
    const char *rest;  /* after that space */
    size_t nbytes;     /* of the rest */
    size_t prefix;     /* bytes before the kind */
};

/* 'text' has no newline. False: not a line of a log. */
bool tbed_rtl_line_parse(const char *text, size_t nbytes, struct rtl_line *line_ret);

/* The number in the header's line 0, 1 or 2, or (3) in the trailer, if the text is exactly such a line. */
#define RTL_TRAILER 3
bool tbed_rtl_header_parse(unsigned which, const char *text, size_t nbytes, char number_ret[RTL_HEADER_NMAX]);
extern const char *const tbed_rtl_header_parts[4][2]; /* the text around the number */

/* ---- Facts kept in the metadata ---- */

struct rtl_facts {
    bool is_import;
    char numbers[4][RTL_HEADER_NMAX]; /* empty: the line is missing */
    uint64_t odd_counts[TBED_RTL_ODD_COUNT];
};

/* Reads them from a trace; all zeros if it was not made from a log. */
void tbed_rtl_facts_read(const struct tbed_reader *reader, struct rtl_facts *facts_ret);

/* Writes them as JSON. Returns the length, below 'room'. */
size_t tbed_rtl_facts_put(const struct rtl_facts *facts, uint64_t line_count, char *text, size_t room);

/* ---- Import ---- */

struct rtl_text {
    const char *bytes;
    size_t nbytes;
};

/* Whether the start of a file is that of a log. */
bool tbed_rtl_is_log(const char *start, size_t nbytes);

/*
 * Writes the log as a trace to 'fd', a new file. Errors: ERR_DISK_FULL, ERR_WRITE, ERR_MEMORY, those of
 * tbed_writer_open_fd().
 */
enum tbed_status tbed_rtl_import(const struct rtl_text *log, int fd, struct tbed_import_report *report,
                                 struct tbed_error *error_ret);

struct tbed_writer;

/* ---- Names ---- */

struct rtl_names;
#define RTL_NAME_NONE UINT32_MAX

/* NULL: no memory. Names are not copied. */
struct rtl_names *tbed_rtl_names_new(struct tbed_writer *writer);
void tbed_rtl_names_free(struct rtl_names *names);

/* The number of a name; RTL_NAME_NONE: no memory. */
uint32_t tbed_rtl_name_intern(struct rtl_names *names, const char *text, size_t nbytes);
/* The name of a scope written as messages: 'text' after the brace, in a message of the scope 'context', a name. */
uint32_t tbed_rtl_pair_intern(struct rtl_names *names, uint32_t context, const char *text, size_t nbytes);

/* Whether both have the same context, and the text of one is not empty and is a prefix of the other's. */
bool tbed_rtl_pair_starts(const struct rtl_names *names, uint32_t pair, uint32_t start);

/* Its string ("context : text" for a pair) and the format of messages from it; the trace may not hold it exactly. */
uint32_t tbed_rtl_name_string(struct rtl_names *names, uint32_t name);
uint32_t tbed_rtl_name_format(struct rtl_names *names, uint32_t name);
bool tbed_rtl_name_is_exact(const struct rtl_names *names, uint32_t name);

/*
 * Finds where the name of a message's scope ends: after the longest name that 'is_open' accepts and " : " follows,
 * otherwise at the first " : ". False: there is none.
 */
typedef bool rtl_is_open_function(const void *context, uint32_t name);
bool tbed_rtl_name_split(const struct rtl_names *names, rtl_is_open_function *is_open, const void *context,
                         const struct rtl_text *text, size_t *name_nbytes_ret);

#endif
