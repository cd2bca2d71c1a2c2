/*
 * What the verbs of the program share: how they are listed, how they open a trace, how they tell of trouble,
 * how they print JSON. A verb is one file, NAME_verb.c, and one 'struct tool_verb'.
 *
 * Data goes to standard output, everything else to standard error. Every message names the file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOL_H
#define TRACEBED_TOOL_H

#include "reader/core/base/json.h"

#include "reader/core/base/number_text.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tracebed/exchange.h>
#include <tracebed/reader.h>

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_FOUND = 1,   /* damage, or a difference */
    TOOL_TROUBLE = 2, /* usage, or I/O */
};

struct tool_verb {
    const char *name;
    const char *summary;               /* one line for 'tracebed -h' */
    const char *help;                  /* all of 'tracebed NAME -h', usage line first */
    int (*run)(int argc, char **argv); /* argv[0] is for getopt's messages; returns an enum tool_exit */
};
extern const struct tool_verb tool_verb_import, tool_verb_export, tool_verb_snapshot, tool_verb_symbolize;
extern const struct tool_verb tool_verb_record, tool_verb_info, tool_verb_dump, tool_verb_report,
    tool_verb_strings, tool_verb_verify, tool_verb_flame, tool_verb_diff, tool_verb_aggregate, tool_verb_tree;

/* "tracebed: " + text + newline on standard error. Control bytes in it, of file names say, are escaped. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What to do next: an indented line after a complaint. */
void tool_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for what a library call said of a file: name, offset, what, and the system's word where there is
 * one. */
void tool_complain_error(const char *path, const struct tbed_error *error);

/*
 * Options that every verb takes: -h/--help and --color=WHEN. A verb puts TOOL_COMMON_OPTIONS into its table and "h"
 * into its short options. tool_option_next() is getopt_long() for the verb's own ones: it deals with the common ones and
 * with wrong ones itself. Returns -1 at the end, with '*exit_ret' -1, or what to return from the verb.
 */
#define TOOL_OPTION_COLOR 1000
#define TOOL_COMMON_OPTIONS                                                                                  \
    {"help", no_argument, NULL, 'h'},                                                                        \
    {                                                                                                        \
        "color", required_argument, NULL, TOOL_OPTION_COLOR                                                  \
    }
int tool_option_next(const struct tool_verb *verb, int argc, char **argv, const char *shorts,
                     const struct option *longs, int *exit_ret);

/* What an option of a verb applies to: some formats, "mm_profdata, chrome"; "trace" is our own. */
struct tool_option_scope {
    int option; /* as tool_option_next() returns it */
    const char *formats;
    const char *arguments; /* the scope is that of the option with one of these; NULL: with any */
};

/*
 * The one rule for options that do not apply: after tool_option_next(), false with a complaint if an option was given
 * that does not apply to 'format'. 'path' is the file that has the format; NULL: it was asked for.
 */
bool tool_options_apply(const struct tool_option_scope *scopes, size_t count, const char *format,
                        const char *path);

/* Prints a verb's help; a line "@import" or "@export" of it becomes the list of those formats. */
void tool_print_help(const struct tool_verb *verb);

/* Prints what is wrong with the usage, and where help is; returns TOOL_TROUBLE. 'message' may be NULL (getopt
 * has spoken). */
int tool_usage(const struct tool_verb *verb, const char *message);

/* Sets the argument of --color. NULL, or what is wrong with it. */
const char *tool_color_set(const char *when);

/*
 * Words on the command line. tool_word_find() gives the index of 'word', or 'count' if it is not among 'words'.
 * tool_word_nearest() gives the word that was probably meant, or NULL. tool_word_choose() stores the index in
 * '*index_ret' and returns NULL, or a message for tool_usage(), valid until the next call: 'what', which is like
 * "--sort: unknown key", followed by the word, the one that was probably meant, and all that are expected.
 */
size_t tool_word_find(const char *const *words, size_t count, const char *word);
const char *tool_word_nearest(const char *const *words, size_t count, const char *word);
const char *tool_word_choose(const char *what, const char *const *words, size_t count, const char *word,
                             size_t *index_ret);

/* Escape sequences if standard output wants colour, else "". */
const char *tool_bold(void);
const char *tool_dim(void);
const char *tool_red(void);
const char *tool_green(void);
const char *tool_plain(void);

/*
 * Opens 'path' ("-": standard input) and complains if it cannot: NULL. A foreign file is imported into a temporary
 * trace. From here on SIGBUS, a file cut short
 * by somebody else, is a message and exit 2.
 */
struct tbed_reader *tool_open(const char *path);

/* The same for a verb that says itself what is wrong: no complaint. */
struct tbed_reader *tool_open_quietly(const char *path, struct tbed_error *error_ret);

/* What standard input is: a file of one's own to close, which may be the thing itself or a copy of what came in. -1. */
int tool_input_file(struct tbed_error *error_ret);

/* The complaint for a file that could not be opened, with what to do where that is known. */
void tool_complain_open(const char *path, const struct tbed_error *error);

/* The name of a file in messages: "standard input" for "-". */
const char *tool_path(const char *path);

/* All damage found by now; of a foreign file, the damage of that. */
uint64_t tool_damage_count(const struct tbed_reader *reader);

/* Tells on standard error of the damage found by now: a count and the first few. */
void tool_tell_damage(const char *path, const struct tbed_reader *reader);

/* One damage in words, escaped and ready to be printed: "page 3, cell 1: the checksum does not match (…)". */
void tool_print_damage(FILE *out, const struct tbed_damage *damage);

/* What was found when the reader's trace was imported; NULL: it was not. Valid until a further file is opened. */
const struct tbed_import_report *tool_foreign_report(const struct tbed_reader *reader);

/* The format of a foreign file; NULL: it is a trace, standard input, or none that can be read. And its name, "trace". */
const struct tbed_format *tool_format(const char *path);
const char *tool_format_name(const struct tbed_format *format);

/* Opens a trace or a foreign file, by its path or, where that is NULL, by 'fd'. */
enum tbed_status tool_open_any(const char *path, int fd, struct tbed_reader **reader_ret,
                               struct tbed_error *error_ret);

/* Which file of a profile in three: ".events"; NULL: it is in one. */
const char *tool_profile_part(const struct tbed_import_report *report, uint32_t file);

/* Which stream of a profile is missing, ": string data", where that is the damage; else "". */
const char *tool_profile_stream(enum tbed_status status, uint64_t offset, uint64_t stream);

/* One damage of a foreign file in words, as above. 'index' is below damage_count and TBED_IMPORT_DAMAGE_KEPT. */
void tool_print_foreign_damage(FILE *out, const struct tbed_import_report *report, size_t index);

/* What is odd in a log of RTL_LOGFILE, a line a class: "  2 x scope that was never closed". */
void tool_print_odd(const struct tbed_import_report *report, const char *before);

/* Says on standard error how many ends in a log of RTL_LOGFILE match no begin; no table of spans has them. */
void tool_tell_orphans(const char *path, const struct tbed_reader *reader);

/* As tool_tell_damage(), of a foreign profile that was read in place. */
struct tbed_statistics;
void tool_tell_profile_damage(const char *path, const struct tbed_statistics *statistics);

/* All of 'text' as a percentage up to 100; gives it as a part of 1. False: it is none. */
bool tool_parse_percent(const char *text, double *part_ret);

/* True once standard output cannot be written any more: a long listing may stop. */
bool tool_output_failed(void);

/* Flushes standard output; TOOL_TROUBLE with a complaint if it could not be written (EPIPE says nothing),
 * else 'exit'. */
int tool_finish(int exit);

/* True, with a complaint, if the output is the file that is read: replacing it would lose it. The input may be "-". */
bool tool_is_input(const char *output, const char *input);

/*
 * The arguments of a verb that makes one trace of one file: "[-f] FILE -o OUT", and the common ones. OUT is a file's
 * name, and not FILE's. Returns -1, or with what to exit: help was asked for, or something has been complained of.
 */
struct tool_from_to {
    const char *from, *to;
    bool overwrite;
};
int tool_from_to(const struct tool_verb *verb, int argc, char **argv, struct tool_from_to *ret);

/* As realloc(), but running out of memory is a complaint and exit 2. */
void *tool_realloc(void *old, size_t nbytes);

/* All of 'text' as a number in decimal or 0x… up to 'max'. False: it is none. */
bool tool_parse_u64(const char *text, uint64_t max, uint64_t *value_ret);

/* Text for people: control bytes and bad UTF-8 as \xHH. 'width' cuts to that many columns, 0: all of it. */
void tool_print_text(FILE *out, const char *text, size_t nbytes, size_t width);

/* The same, cut or filled with spaces to exactly 'width' columns. */
void tool_print_column(FILE *out, const char *text, size_t nbytes, size_t width);

/* Columns that tool_print_text() takes. */
size_t tool_text_width(const char *text, size_t nbytes);

/* Local time as ISO 8601 with nanoseconds and offset from UTC: "2026-11-21T02:34:49.123456789+01:00". */
const char *tool_format_wall(char buffer[48], int64_t realtime_ns);

/* Bytes that grow. Start with zeros. */
struct tool_buffer {
    char *bytes;
    size_t nbytes, capacity;
};
void tool_append(struct tool_buffer *buffer, const char *bytes, size_t nbytes);

/*
 * The name of an id, as the reader spells it; control bytes are still in it. Gives whether it resolved: if not, it is a
 * stand-in. For people it is cut after 64 KiB, and ends with an ellipsis then.
 */
enum tbed_status tool_append_name(struct tool_buffer *buffer, const struct tbed_reader *reader, uint32_t id);
enum tbed_status tool_append_whole_name(struct tool_buffer *buffer, const struct tbed_reader *reader,
                                        uint32_t id);
/* The label of an event's name, which analyses group by: what is before the first U+001E. */
size_t tool_label_nbytes(const char *name, size_t nbytes);
/* The whole name of an event, the parts behind its label as " arg0="…"". */
void tool_append_event_name(struct tool_buffer *buffer, const char *name, size_t nbytes);
/* The same, printed as tool_print_text() does. */
enum tbed_status tool_print_name(FILE *out, const struct tbed_reader *reader, uint32_t id, size_t width);

/* What an event says, as the library words it: a value, " name=value name=value", and the text of a MESSAGE. Control
 * bytes are still in it. */
void tool_append_value(struct tool_buffer *buffer, struct tbed_reader *reader,
                       const struct tbed_argument *argument);
void tool_append_arguments(struct tool_buffer *buffer, struct tbed_reader *reader,
                           const struct tbed_event *event);
void tool_append_message(struct tool_buffer *buffer, struct tbed_reader *reader,
                         const struct tbed_event *event);

/* The type of an event, "begin", as spec/format.md, section 14, calls it. */
const char *tool_event_type(enum tbed_event_type type);

/* Figures with units: "1.24 ms", "3.10 MiB", "12,345". The buffers are the caller's, 32 bytes are enough. */
const char *tool_format_ns(char buffer[32], double ns);
/* The same of a trace whose times are known to 'resolution_ns' only: nothing below a millisecond if it is one. */
const char *tool_format_time(char buffer[32], double ns, double resolution_ns);
const char *tool_format_bytes(char buffer[32], double nbytes);
const char *tool_format_count(char buffer[32], uint64_t count);

/* All drops of a trace, and why they may have happened, in words; NULL for causes of later versions. */
uint64_t tool_drops_total(const uint64_t drops[TBED_DROP_CAUSE_COUNT]);
const char *tool_drop_reason(unsigned cause);
/* "12 disk full, 3 size limit" */
void tool_print_drops(FILE *out, const uint64_t drops[TBED_DROP_CAUSE_COUNT]);

/* ---- JSON of what all verbs print ---- */

void tool_json_name(struct tbed_json *json, const char *key, struct tbed_reader *reader,
                    uint32_t id); /* or null */
/* What an object that is about an id says of it: "name", null if it has none, and as far as they are known "function",
 * "file", "line" and "module". */
void tool_json_named(struct tbed_json *json, struct tbed_reader *reader, uint32_t id);
/* The same for a row of an analysis that has a name already, of which 'part' was made: a function has no line, and a
 * module neither function nor file. 'id' may be INVALID. */
void tool_json_row_name(struct tbed_json *json, struct tbed_reader *reader, uint32_t id,
                        enum tbed_name_part part, const char *name, size_t nbytes);
/* The same for what was resolved before. Of it 'function', 'file', 'line' and 'module' are used. */
void tool_json_known_name(struct tbed_json *json, const char *name, size_t nbytes,
                          const struct tbed_id_info *info);
/* The same for an event, whose name is a label and, behind U+001E, "arguments". */
void tool_json_event_name(struct tbed_json *json, struct tbed_reader *reader, uint32_t id, const char *name,
                          size_t nbytes);
void tool_json_drops(struct tbed_json *json, const char *key, const uint64_t drops[TBED_DROP_CAUSE_COUNT]);

/* What main() and the tests of the frame need, and no verb. */
void tool_start(void); /* signals, closed standard streams */
const struct tool_verb *tool_verb_find(const char *name);
void tool_guard(const char *path); /* names the file in the message of SIGBUS */

#endif
