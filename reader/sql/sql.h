/*
 * A trace in SQL: its tables as virtual tables of SQLite, straight over the map, and a few functions. The program and the
 * loadable extension install them in a connection.
 *
 * SQLite itself is not linked: calls go through the table that it hands to extensions, in sqlite3_api.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SQL_H
#define TRACEBED_SQL_H

#include <tracebed/tables.h>

#if __has_include(<sqlite3ext.h>)
#include <sqlite3ext.h>
#if SQLITE_VERSION_NUMBER >= 3038000
#define SQL_IS_BUILT 1
#endif
#endif

#define SQL_INSTALL_HINT "Install it (Debian: libsqlite3-dev)"

#ifdef SQL_IS_BUILT

/* Set once, before anything else of this folder is called, to what SQLite hands to extensions. */
extern const sqlite3_api_routines *sqlite3_api;

#define SQL_VERSION_LEAST 3038000 /* of SQLite at run time: sqlite3_vtab_distinct() */

/* What one connection has open. It may be used wherever the connection may. */
struct sql_context;

/*
 * sql_context_new() makes a context with one reference, which is the caller's; NULL: no memory. 'is_cancelled', which may be
 * NULL, is atomic: while it is true, scans end.
 */
struct sql_context *sql_context_new(const bool *is_cancelled);
void sql_context_release(struct sql_context *context); /* NULL is allowed */

/*
 * What the groups of GROUP BY, or the rows that a join looks up, may take: 88 MiB, unless this says otherwise. More groups need
 * more scans, and more rows are read again each time.
 */
void sql_context_limit(struct sql_context *context, size_t nbytes);

/*
 * sql_context_open() opens a file for the tables that name this path; one that is open is kept.
 *
 * Errors: those of tbed_tables_open(); 'error_ret' is filled.
 */
enum tbed_status sql_context_open(struct sql_context *context, const char *path,
                                  struct tbed_error *error_ret);

/* What such an error says, to be freed with sqlite3_free(). */
char *sql_open_message(const char *path, const struct tbed_error *error);

/* The same for tables that are open, which the context closes; if it fails, the caller does. Errors: ERR_MEMORY. */
enum tbed_status sql_context_add(struct sql_context *context, const char *path, struct tbed_tables *tables);

/* The files that are open, in the order of opening: their tables, and their paths. NULL past the last. */
struct tbed_tables *sql_context_get(const struct sql_context *context, size_t index, const char **path_ret);

/* Adds the module 'tracebed' and the functions to a connection. Returns SQLite's code. */
int sql_install(sqlite3 *db, struct sql_context *context);

/*
 * sql_attach() makes the tables of a file in a schema, which is attached if there is none with this name.
 *
 * Errors: SQLite's code; '*message_ret' is freed with sqlite3_free().
 */
int sql_attach(sqlite3 *db, struct sql_context *context, const char *path, const char *schema,
               char **message_ret);

#endif
#endif
