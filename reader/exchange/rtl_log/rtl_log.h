/*
 * What the files of import and export of RTL_LOGFILE's logs share.
 *
 * A line is "%06u %u " and then "{ name", "} name", "| name : message" or "| : message". How a log is a bed:
 * spec/decisions.md, "Logs of RTL_LOGFILE".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_RTL_LOG_H
#define TRACEBED_EXCHANGE_RTL_LOG_H

#include <tracebed/exchange.h>

#define RTL_NS_PER_MS     1000000u
#define RTL_PIECE_NMAX    4095u     /* bytes that the program writes of a piece; then a zero */
#define RTL_LINE_NMAX     24000u    /* longer ones are kept in pieces: an event has to fit into a page */
#define RTL_HEADER_NMAX   24        /* of a number of the header or the trailer, terminated */
#define RTL_UNIT          '\x1e'    /* between the context of a message and its format */
#define RTL_CATEGORY_PAIR "message" /* of a span that messages "{ text" and "} text" tell of */
#define RTL_ARG_MS        "ms"   /* of an imported line whose own time is not the one that its place needs */
#define RTL_ARG_LINE      "line" /* the bytes of an imported line that the event alone does not give back */

/* ---- Lines ---- */

struct rtl_line {
    uint32_t ms, tid;
    char kind;         /* '{', '}' or '|' */
    bool is_canonical; /* both numbers as the program writes them, and a space behind the kind */
    const char *rest;  /* behind that space */
    size_t nbytes;     /* of the rest */
    size_t prefix;     /* bytes in front of the kind */
};

/* 'text' has no newline. False: it is no line of a log. */
bool tbed_rtl_line_parse(const char *text, size_t nbytes, struct rtl_line *line_ret);

/* The number of the header's line 0, 1 or 2, or (3) of the trailer, if that is exactly what stands there. */
#define RTL_TRAILER 3
bool tbed_rtl_header_parse(unsigned which, const char *text, size_t nbytes, char number_ret[RTL_HEADER_NMAX]);
extern const char *const tbed_rtl_header_parts[4][2]; /* what stands around the number */

/* ---- What the metadata keeps ---- */

struct rtl_facts {
    bool is_import;
    char numbers[4][RTL_HEADER_NMAX]; /* empty: the line is not there */
};

/* Of a bed; all zeros where it was made of no log. */
void tbed_rtl_facts_read(const struct tbed_reader *reader, struct rtl_facts *facts_ret);

/* As JSON, with the counts of what is odd. The length, below 'room'. */
size_t tbed_rtl_facts_put(const struct rtl_facts *facts, const struct tbed_import_report *report, char *text,
                          size_t room);

/* ---- Import ---- */

struct rtl_text {
    const char *bytes;
    size_t nbytes;
};

/* Whether the start of a file is that of a log. */
bool tbed_rtl_is_log(const char *start, size_t nbytes);

/* The log as a bed into 'fd', a new file. Errors: ERR_DISK_FULL, ERR_WRITE, ERR_MEMORY, those of tbed_writer_open_fd(). */
enum tbed_status tbed_rtl_import(const struct rtl_text *log, int fd, struct tbed_import_report *report,
                                 struct tbed_error *error_ret);

struct tbed_writer;

/* ---- Names that were met ---- */

struct rtl_names;
#define RTL_NAME_NONE UINT32_MAX

/* NULL: no memory. Names are pointed to, not copied. */
struct rtl_names *tbed_rtl_names_new(struct tbed_writer *writer);
void tbed_rtl_names_free(struct rtl_names *names);

/* The number of a name; RTL_NAME_NONE: no memory. */
uint32_t tbed_rtl_name_intern(struct rtl_names *names, const char *text, size_t nbytes);
/* Of a scope that messages tell of: 'text' behind the brace, said in the scope 'context', a name. */
uint32_t tbed_rtl_pair_intern(struct rtl_names *names, uint32_t context, const char *text, size_t nbytes);

/* Whether both are of one context, and the text of the one is the start of the other's, and not empty. */
bool tbed_rtl_pair_starts(const struct rtl_names *names, uint32_t pair, uint32_t start);

/* Its string, "context : text" for a pair, and the format of messages from it; the bed may not hold it exactly. */
uint32_t tbed_rtl_name_string(struct rtl_names *names, uint32_t name);
uint32_t tbed_rtl_name_format(struct rtl_names *names, uint32_t name);
bool tbed_rtl_name_is_exact(const struct rtl_names *names, uint32_t name);

/*
 * Where the name of a message's scope ends: the longest name that 'is_open' takes and " : " follows, else the first
 * " : ". False: there is none.
 */
typedef bool rtl_is_open_function(const void *context, uint32_t name);
bool tbed_rtl_name_split(const struct rtl_names *names, rtl_is_open_function *is_open, const void *context,
                         const struct rtl_text *text, size_t *name_nbytes_ret);

#endif
