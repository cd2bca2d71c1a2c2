/*
 * tracebed sql: a connection to SQLite with the tables of some traces, what its statements print, and its prompt.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOLS_SESSION_H
#define TRACEBED_TOOLS_SESSION_H

#include "reader/sql/sql.h"
#include "reader/tools/shared/tool.h"
#include "reader/tools/shared/tool_places.h"

#ifdef SQL_IS_BUILT

enum session_format { SESSION_TABLE, SESSION_CSV, SESSION_JSON };

#define SESSION_FILES_MAX 10u /* SQLite attaches ten schemas */

struct session {
    sqlite3 *db;
    struct sql_context *context;
    enum session_format format;
    unsigned result_count; /* of statements that printed rows */
    struct tool_places places[SESSION_FILES_MAX];
    size_t place_count;
    struct tbed_reader *input; /* standard input, or NULL */
};

/* Loads SQLite and opens a connection without files. False, with a complaint: there is none. */
bool session_open(struct session *session);
/* Adds a file: the first as 'main', the next as 'b', 'c' and so on. False, with a complaint, if that fails. */
bool session_add(struct session *session, const char *path, size_t index);
void session_close(struct session *session);

/* Runs all statements of a text. False, with a complaint, after the first that fails. */
bool session_run(struct session *session, const char *sql);

/* Reports the damage of all files on standard error; true if there is any. */
bool session_tell_damage(const struct session *session);

/* Prints the rows of a statement. SQLite's code. */
int session_print(struct session *session, sqlite3_stmt *statement);

/* From here on, an interrupt ends the statement that runs, and not the program. */
void session_take_interrupts(sqlite3 *db);
void session_forget_interrupt(void);
bool session_is_interrupted(void);
const bool *session_cancelled(void);

/*
 * If 'sql' begins with "ATTACH [DATABASE] 'path' AS name;", stores copies of both, which the caller frees, and returns where
 * the next statement begins; else NULL.
 */
const char *session_parse_attach(const char *sql, char **path_ret, char **name_ret);

/* Reads statements from the terminal until the end; returns an enum tool_exit. */
int session_prompt(struct session *session);

/* Runs a command of the prompt, such as ".tables". False: it was ".quit". */
bool session_command(struct session *session, const char *line);

#endif
#endif
