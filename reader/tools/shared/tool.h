/*
 * Shared by the commands of the program ("verbs" in the sources): their table, opening traces, messages, JSON. A verb
 * is a file NAME_verb.c with a 'struct tool_verb'.
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
#include <sys/types.h>
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
    int (*run)(int argc, char **argv); /* argv[0] prefixes getopt's messages; returns an enum tool_exit */
};
extern const struct tool_verb tool_verb_import, tool_verb_export, tool_verb_snapshot, tool_verb_symbolize,
    tool_verb_recover;
extern const struct tool_verb tool_verb_record, tool_verb_info, tool_verb_dump, tool_verb_report,
    tool_verb_strings, tool_verb_verify, tool_verb_flame, tool_verb_diff, tool_verb_aggregate, tool_verb_tree,
    tool_verb_slowest, tool_verb_flows, tool_verb_threads, tool_verb_histogram, tool_verb_follow,
    tool_verb_cut, tool_verb_merge, tool_verb_view, tool_verb_sql, tool_verb_pack, tool_verb_unpack,
    tool_verb_tui, tool_verb_doctor;

/* Prints "tracebed: ", the text and a newline on standard error. Control bytes, in file names say, are escaped. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints an indented line after a complaint: what to do next. */
void tool_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for an error that a library call returned for a file: name, offset, error, and the system's message if there
 * is one. */
void tool_complain_error(const char *path, const struct tbed_error *error);

/*
 * Every verb accepts -h/--help and --color=WHEN: it has TOOL_COMMON_OPTIONS in its table and "h" in its short options.
 * tool_option_next() is getopt_long() for the other options; it handles the common and the invalid ones itself. At the
 * end it returns -1, with '*exit_ret' -1 or the status that the verb must return.
 */
#define TOOL_OPTION_COLOR 1000
#define TOOL_COMMON_OPTIONS                                                                                  \
    {"help", no_argument, NULL, 'h'},                                                                        \
    {                                                                                                        \
        "color", required_argument, NULL, TOOL_OPTION_COLOR                                                  \
    }
/* Forgets those of the previous command. The first words behind argv[0] are defaults, as many as 'default_count': the
 * argument of such an option is in the same word. */
void tool_options_start(int default_count);
/* The index in argv of the option that was read last; 0: all have been read. */
int tool_option_word(void);
int tool_option_next(const struct tool_verb *verb, int argc, char **argv, const char *shorts,
                     const struct option *longs, int *exit_ret);

/*
 * Sees the tables with which a command reads its line, for 'tracebed --complete'. 'options' is called before each option and
 * at the end of all; if it returns true, the command ends. 'words' gets every word that is looked up, and its list.
 */
struct tool_watcher {
    bool (*options)(const struct option *longs, bool is_end);
    void (*words)(const char *const *words, size_t count, const char *word);
};
extern const struct tool_watcher *tool_watcher; /* NULL: none */

/* The formats that an option applies to, for example "mm_profdata, chrome"; "trace" is the native one. */
struct tool_option_scope {
    int option; /* the value that tool_option_next() returns */
    const char *formats;
    const char *arguments; /* only with one of these arguments; NULL: with any */
};

/*
 * Call this after tool_option_next(): returns false, with a complaint, if an option was given that does not apply to
 * 'format'. 'path' is the file that has the format; NULL if the format was requested.
 */
bool tool_options_apply(const struct tool_option_scope *scopes, size_t count, const char *format,
                        const char *path);

/* Prints the help text of a verb; a line "@import" or "@export" in it is replaced by the list of those formats. */
void tool_print_help(const struct tool_verb *verb);

/* Prints what is wrong with the usage and where to find help; returns TOOL_TROUBLE. 'message' is NULL if getopt has
 * printed it. */
int tool_usage(const struct tool_verb *verb, const char *message);
bool tool_usage_was_wrong(void); /* has it been called? */

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

/* The message for an argument that is not what 'expected' says, "--limit takes a number of rows, not 'x'"; in the same way. */
const char *tool_takes(const char *expected, const char *argument);

/* Escape sequences if standard output is colored, else "". */
const char *tool_bold(void);
const char *tool_dim(void);
const char *tool_red(void);
const char *tool_green(void);
const char *tool_plain(void);

/*
 * Opens 'path' ("-": standard input); returns NULL after a complaint if that fails. A foreign file is imported into a
 * temporary trace. From here on, SIGBUS (another process truncated the file) prints a message and exits with
 * status 2.
 */
struct tbed_reader *tool_open(const char *path);

/* The same without a complaint. */
struct tbed_reader *tool_open_quietly(const char *path, struct tbed_error *error_ret);

/* Returns a file descriptor for the contents of standard input, which the caller closes; a pipe is copied to a file
 * first. -1 on error. */
int tool_input_file(struct tbed_error *error_ret);

/* Complains that a file could not be opened, and suggests what to do if that is known. */
void tool_complain_open(const char *path, const struct tbed_error *error);

/* Opens the file that a copy is made of, for reading; -1 after a complaint if that fails. The caller closes it. */
int tool_source_open(const char *path);

/* Complains that a new file could not be created or written, and suggests what to do if that is known. */
void tool_complain_output(const char *path, const struct tbed_error *error);

/* Is a writer of the trace certainly alive? */
bool tool_is_written(const char *path);

/* The name of a file in messages: "standard input" for "-". */
const char *tool_path(const char *path);

/* The damage found so far; for a foreign file, the damage in that file. */
uint64_t tool_damage_count(const struct tbed_reader *reader);

/* Reports the damage found so far on standard error: a count and the first few; and how many long texts were left out. */
void tool_tell_damage(const char *path, const struct tbed_reader *reader);

/* Says on standard error how many long texts were left out, if any were. */
void tool_tell_texts_left_out(const char *path, uint64_t count);

/* Prints what is known of the damaged block: "; events of stream 3, block 7, 1.20 ms to 3.40 ms", or nothing. */
void tool_print_damaged_block(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                              const struct tbed_damage *damage);
void tool_json_damaged_block(struct tbed_json *json, const struct tbed_reader *reader,
                             const struct tbed_trace_info *info, const struct tbed_damage *damage);

/* Prints what was lost when the trace was recovered, a line for each loss, after 'before'. Returns how many. */
size_t tool_print_losses(FILE *out, const struct tbed_reader *reader, const char *before);
void tool_json_losses(struct tbed_json *json, const struct tbed_reader *reader);

/* The gaps of a flight recorder: prints a line for each, after 'before'. */
void tool_print_gaps(FILE *out, const struct tbed_reader *reader, const struct tbed_trace_info *info,
                     const char *before);
/* How many blocks are missing in them. */
uint64_t tool_count_gone(const struct tbed_reader *reader);
void tool_json_gaps(struct tbed_json *json, const struct tbed_reader *reader);
/* One of them, as an object whose count has this name. */
void tool_json_gap(struct tbed_json *json, const char *count_name, const struct tbed_ring_gap *gap);
/* Reports the same on the standard error output. */
void tool_tell_gaps(const char *path, const struct tbed_reader *reader);

/* "events", "strings", … */
const char *tool_block_kind(enum tbed_block_kind kind);

/* The import report of the reader's trace; NULL if it was not imported. Valid until another file is opened. */
const struct tbed_import_report *tool_foreign_report(const struct tbed_reader *reader);

/* The format of a foreign file; NULL for a trace, for standard input, and if it cannot be read. The name of NULL is
 * "trace". */
const struct tbed_format *tool_format(const char *path);
const char *tool_format_name(const struct tbed_format *format);

/* Opens a trace or a foreign file by 'path' or, if that is NULL, by 'fd'. */
enum tbed_status tool_open_any(const char *path, int fd, struct tbed_reader **reader_ret,
                               struct tbed_error *error_ret);

/* The name of a file of a profile in three files, for example ".events", or of a folder; NULL if there is one file. */
const char *tool_profile_part(const struct tbed_import_report *report, uint32_t file);

/* If the damage is a missing stream of a profile, which one it is, for example ": string data"; else "". */
const char *tool_profile_stream(enum tbed_status status, uint64_t offset, uint64_t stream);

/* The same for a damage in a foreign file. 'index' is below damage_count and TBED_IMPORT_DAMAGE_KEPT. */
void tool_print_foreign_damage(FILE *out, const struct tbed_import_report *report, size_t index);

/* Prints what the import left out, one line per kind. */
void tool_print_notes(const struct tbed_import_report *report, const char *before);

/* Prints the anomalies of an RTL_LOGFILE log, one line per class: "  2 x scope that was never closed". */
void tool_print_odd(const struct tbed_import_report *report, const char *before);

/*
 * Says on standard error how many ends in a log of RTL_LOGFILE, or in the log that the trace was imported from, match no
 * begin; no table of spans has them.
 */
void tool_tell_orphans(const char *path, const struct tbed_reader *reader);

/* Like tool_tell_damage(), for a foreign profile that was read without importing it. */
struct tbed_statistics;
void tool_tell_profile_damage(const char *path, const struct tbed_statistics *statistics);

/*
 * Around a pass over a trace that may take long: shows on a terminal how much of it has been read. One at a time; not while
 * something is printed on the same terminal ('prints_meanwhile'). tool_progress_clear() is for signal handlers.
 */
void tool_progress_begin(const struct tbed_reader *reader, bool prints_meanwhile);
void tool_progress_begin_all(struct tbed_reader *const *readers,
                             size_t count); /* a pass over several traces */
void tool_progress_end(void);
void tool_progress_clear(void);
void tool_progress_paged(void); /* the terminal is a pager's from here on */

/* Parses 'text' as a percentage up to 100 and stores it as a fraction of 1. False if it is invalid. */
bool tool_parse_percent(const char *text, double *part_ret);

/* True once writing to standard output has failed, so that a long listing can stop. */
bool tool_output_failed(void);

/* Flushes standard output. Returns 'exit', or TOOL_TROUBLE if it could not be written, with a complaint unless
 * the error is EPIPE. */
int tool_finish(int exit);

/*
 * What a command that wrote a file says on standard output: "OUT: done: " or, if 'done' is NULL, "OUT: "; the caller goes on
 * with figures and a newline. tool_put_written() prints all of it, with the size of the file as the figure.
 */
void tool_put_output(const char *to, const char *done);
void tool_put_written(const char *to, const char *done);

/* True, with a complaint, if the output is the input file, which would be lost. The input may be "-". */
bool tool_is_input(const char *output, const char *input);

/*
 * Parses the arguments of a verb that converts one file to one trace: "[-f] FILE -o OUT" and the common options. OUT
 * must be a file other than FILE. Returns -1, or the exit status after printing the help text or a complaint.
 */
struct tool_from_to {
    const char *from, *to;
    bool overwrite;
};
int tool_from_to(const struct tool_verb *verb, int argc, char **argv, struct tool_from_to *ret);

/* For verbs with more options: the same once they have been parsed, and 'to' and 'overwrite' set. */
int tool_from_to_take(const struct tool_verb *verb, int argc, char **argv, struct tool_from_to *ret);

/* Returns 'fd', or, if it is packed, a temporary file with what can be unpacked. The caller closes it. -1: an error. */
int tool_plain_file(int fd, struct tbed_error *error_ret);

/*
 * Makes 'to' from 'from' with 'copy', which gets both files and 'result'. The new file appears, or replaces the old one,
 * when it is complete. Complains.
 */
enum tbed_status tool_copy(const struct tool_from_to *files,
                           enum tbed_status (*copy)(int from, int to, void *result,
                                                    struct tbed_error *error_ret),
                           void *result);

/* Like realloc(), but complains and exits with status 2 if there is no memory. */
void *tool_realloc(void *old, size_t nbytes);
void tool_out_of_memory(void) __attribute__((noreturn));
void tool_check_text(const struct tbed_text *text); /* the same if memory ran out while it was made */

/* Parses 'text' as a decimal or 0x… number up to 'max'. False if it is invalid. */
bool tool_parse_u64(const char *text, uint64_t max, uint64_t *value_ret);

/* Parses the argument of --jobs. Returns NULL, or what is wrong with it. */
const char *tool_parse_jobs(const char *text, unsigned *jobs_ret);

/* Prints text with control bytes and invalid UTF-8 as \xHH, cut to 'width' columns unless that is 0. */
void tool_print_text(FILE *out, const char *text, size_t nbytes, size_t width);

/* The same in quotation marks, uncut; a quotation mark or a backslash inside has a backslash before it. */
void tool_print_quoted(FILE *out, const char *text, size_t nbytes);

/* Like tool_print_text(), but cut in the middle, where long names differ least. */
void tool_print_middle(FILE *out, const char *text, size_t nbytes, size_t width);

/* The columns of the terminal that standard output is, or that its pager is on, or COLUMNS; 0: it is none. */
size_t tool_terminal_width(void);

/* What a line of the terminal has left for a name behind 'used' columns, for the above; 0: no terminal, so all of it. */
#define TOOL_NAME_MIN 16 /* columns that a name has, however narrow the terminal is */
size_t tool_name_width(size_t used);

/* Like tool_print_text(), cut or padded to exactly 'width' columns. */
void tool_print_column(FILE *out, const char *text, size_t nbytes, size_t width);

/* The same, appended to a text. */
void tool_put_text(struct tbed_text *to, const char *text, size_t nbytes);
void tool_put_column(struct tbed_text *to, const char *text, size_t nbytes, size_t width);

/* The number of columns that tool_print_text() prints. */
size_t tool_text_width(const char *text, size_t nbytes);

/* Local time as ISO 8601 with nanoseconds and offset from UTC: "2026-11-21T02:34:49.123456789+01:00". */
const char *tool_format_wall(char buffer[48], int64_t realtime_ns);

/* A growing buffer; all zeros is an empty one. */
struct tool_buffer {
    char *bytes;
    size_t nbytes, capacity;
};
void tool_append(struct tool_buffer *buffer, const char *bytes, size_t nbytes);

/*
 * Appends the name of an id, as spelled by the reader; control bytes are not escaped. Unless the status is TBED_OK, it
 * is a placeholder. tool_append_name() cuts it after 64 KiB and ends it with an ellipsis then.
 */
enum tbed_status tool_append_name(struct tool_buffer *buffer, const struct tbed_reader *reader, uint32_t id);
enum tbed_status tool_append_whole_name(struct tool_buffer *buffer, const struct tbed_reader *reader,
                                        uint32_t id);
/* The size of the label, which analyses group by: the part of an event's name before the first U+001E. */
size_t tool_label_nbytes(const char *name, size_t nbytes);
/* Appends the full name of an event, with the parts after its label as " arg0="…"". */
void tool_append_event_name(struct tool_buffer *buffer, const char *name, size_t nbytes);
/* Appends "thread 4711 worker" with 'before' as "thread ", or "stream 3" for one that is not a thread. */
void tool_append_thread(struct tool_buffer *buffer, const struct tbed_reader *reader,
                        const struct tbed_stream_info *stream, const char *before);
/* Prints the name of an id as tool_print_text() does. */
enum tbed_status tool_print_name(FILE *out, const struct tbed_reader *reader, uint32_t id, size_t width);

/* Append text that the library formats: a value, arguments as " name=value name=value", and the text of a MESSAGE.
 * Control bytes are not escaped. */
void tool_append_value(struct tool_buffer *buffer, struct tbed_reader *reader,
                       const struct tbed_argument *argument);
void tool_append_arguments(struct tool_buffer *buffer, struct tbed_reader *reader,
                           const struct tbed_event *event);
void tool_append_message(struct tool_buffer *buffer, struct tbed_reader *reader,
                         const struct tbed_event *event);

/* Figures with units: "1.24 ms", "3.10 MiB", "12,345", written to the caller's buffer. */
const char *tool_format_ns(char buffer[32], double ns);
/* The same for times with a resolution of 'resolution_ns', without digits below that resolution. */
const char *tool_format_time(char buffer[32], double ns, double resolution_ns);
const char *tool_format_bytes(char buffer[32], double nbytes);
const char *tool_format_count(char buffer[32], uint64_t count);
/* A whole number is written out if it has at most 'most' characters then: "5,513,216" is easier to compare with others than
 * "5.51322e+06". */
const char *tool_format_number(char buffer[48], double number, size_t most);
/* A span of ticks as a time, or as a count if the program gave the ticks. */
const char *tool_format_ticks(char buffer[32], const struct tbed_reader *reader,
                              const struct tbed_trace_info *info, uint64_t ticks);

/* The sum of all drops of a trace; and the text of a cause, NULL for causes of later versions. */
uint64_t tool_drops_total(const uint64_t drops[TBED_DROP_CAUSE_COUNT]);
const char *tool_drop_reason(unsigned cause);
/* "12 disk full, 3 size limit" */
void tool_print_drops(FILE *out, const uint64_t drops[TBED_DROP_CAUSE_COUNT]);

/* ---- JSON that several verbs print ---- */

/* The first fields of an object about a file: "file" and "tick_unit", which is null if its clock measures time. */
void tool_json_file(struct tbed_json *json, const char *path, const struct tbed_reader *reader);
void tool_json_name(struct tbed_json *json, const char *key, struct tbed_reader *reader,
                    uint32_t id); /* or null */
/* The fields of an object that describes an id: "name", null if it has none, and as far as they are known "function",
 * "file", "line" and "module". */
void tool_json_named(struct tbed_json *json, struct tbed_reader *reader, uint32_t id);
/* The same for a row of an analysis, whose name consists of 'part': a function has no line, and a module has neither
 * function nor file. 'id' may be INVALID. */
void tool_json_row_name(struct tbed_json *json, struct tbed_reader *reader, uint32_t id,
                        enum tbed_name_part part, const char *name, size_t nbytes);
/* The same for a resolved id; uses 'function', 'file', 'line' and 'module' of 'info'. */
void tool_json_known_name(struct tbed_json *json, const char *name, size_t nbytes,
                          const struct tbed_id_info *info);
/* The same for an event; the parts of its name after U+001E become "arguments". */
void tool_json_event_name(struct tbed_json *json, struct tbed_reader *reader, uint32_t id, const char *name,
                          size_t nbytes);
/* "texts_left_out": how many long texts were; nothing if none was. */
void tool_json_texts_left_out(struct tbed_json *json, uint64_t count);
/* The same as the last line of a listing with an object on each line. */
void tool_json_end_lines(const struct tbed_reader *reader);
void tool_json_drops(struct tbed_json *json, const char *key, const uint64_t drops[TBED_DROP_CAUSE_COUNT]);

/* For main() and tests only. */
void tool_pager_begin(const char *command);   /* starts the pager if output of this command is shown in one */
void tool_pager_take(pid_t pager, int write); /* from here on, standard output is 'write', a copy of it */
void tool_start(void);                        /* signals, closed standard streams */
/* The program itself: runs the command of these arguments, also with the user's defaults, and returns its exit status. */
int tool_main(int argc, char **argv, bool has_defaults);
const struct tool_verb *tool_verb_find(const char *name);
const struct tool_verb *tool_verb_get(size_t index); /* NULL past the last one */
int tool_complete(int argc, char **argv);            /* the words after 'tracebed --complete' */
void tool_guard(const char *path);                   /* sets the file name for the message on SIGBUS */

#endif
