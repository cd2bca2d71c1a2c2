/*
 * Opens a connection: SQLite's library is loaded when it is needed, so that no other command depends on it. What is read is
 * never written: files are opened for reading, and all else that a statement makes is in memory or in temporary files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/sql/session.h"

#ifdef SQL_IS_BUILT

#include <dlfcn.h>
#include <signal.h>

#define LIBRARY "libsqlite3.so.0"

/* ---- Interrupts ---- */

static sqlite3 *interrupted_db;
static bool is_cancelled; /* atomic */

static void interrupt(int signal_number)
{
    (void)signal_number;
    __atomic_store_n(&is_cancelled, true, __ATOMIC_RELAXED);
    if (interrupted_db != NULL)
        sqlite3_interrupt(interrupted_db);
}

void session_take_interrupts(sqlite3 *db)
{
    struct sigaction action = {.sa_handler = db != NULL ? interrupt : SIG_DFL}, old;
    interrupted_db = db;
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

void session_forget_interrupt(void)
{
    __atomic_store_n(&is_cancelled, false, __ATOMIC_RELAXED);
}

bool session_is_interrupted(void)
{
    return __atomic_load_n(&is_cancelled, __ATOMIC_RELAXED);
}

const bool *session_cancelled(void)
{
    return &is_cancelled;
}

/* ---- SQLite ---- */

/* Called for a new connection, as an extension is: this is how one gets the table of SQLite's functions. */
static int take_calls(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    (void)db;
    (void)message;
    sqlite3_api = api;
    return SQLITE_OK;
}

/* Files may be attached only by session_run(), which opens them for reading. */
static int authorize(void *context, int action, const char *first, const char *second, const char *schema,
                     const char *trigger)
{
    (void)context;
    (void)second;
    (void)schema;
    (void)trigger;
    if (action != SQLITE_ATTACH)
        return SQLITE_OK;
    bool is_memory = first != NULL && strcmp(first, ":memory:") == 0;
    bool is_read_only = first != NULL && strncmp(first, "file:", 5) == 0 && strlen(first) > 8 &&
                        strcmp(first + strlen(first) - 8, "?mode=ro") == 0;
    return is_memory || is_read_only ? SQLITE_OK : SQLITE_DENY;
}

static bool complain(const char *what)
{
    tool_complain("SQLite's library %s %s", LIBRARY, what);
    tool_hint("Install it (Debian: libsqlite3-0), version 3.38 or later.");
    return false;
}

/* The library stays loaded. */
static bool load(sqlite3 **db_ret)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return complain("cannot be loaded");
    __typeof__(sqlite3_libversion_number) version = dlsym(library, "sqlite3_libversion_number");
    __typeof__(sqlite3_auto_extension) add = dlsym(library, "sqlite3_auto_extension");
    __typeof__(sqlite3_cancel_auto_extension) remove = dlsym(library, "sqlite3_cancel_auto_extension");
    __typeof__(sqlite3_open_v2) open = dlsym(library, "sqlite3_open_v2");
    if (version == NULL || add == NULL || remove == NULL || open == NULL || version() < SQL_VERSION_LEAST)
        return complain("is too old");
    void (*entry)(void) = (void (*)(void))take_calls;
    if (add(entry) != SQLITE_OK)
        tool_out_of_memory();
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_URI;
    int code = open(":memory:", db_ret, flags, NULL);
    remove(entry);
    return code == SQLITE_OK && sqlite3_api != NULL ? true : complain("does not work");
}

bool session_open(struct session *session)
{
    if (!load(&session->db))
        return false;
    session->context = sql_context_new(session_cancelled());
    if (session->context == NULL || sql_install(session->db, session->context) != SQLITE_OK)
        tool_out_of_memory();
    sqlite3_db_config(session->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_set_authorizer(session->db, authorize, NULL);
    return true;
}

void session_close(struct session *session)
{
    session_take_interrupts(NULL);
    for (size_t i = 0; i < session->place_count; i++)
        tool_places_close(&session->places[i]);
    if (session->db != NULL)
        sqlite3_close(session->db);
    if (session->context != NULL)
        sql_context_release(session->context);
    tbed_reader_close(session->input);
}

/* ---- Files ---- */

static bool add_input(struct session *session)
{
    struct tbed_tables *tables;
    struct tbed_reader *reader = tool_open("-");
    if (reader == NULL)
        return false;
    session->input = reader;
    if (tbed_tables_of_reader(reader, &tables) != TBED_OK ||
        sql_context_add(session->context, "-", tables) != TBED_OK)
        tool_out_of_memory();
    return true;
}

static bool add_file(struct session *session, const char *path)
{
    struct tbed_error error = {.offset = UINT64_MAX};
    tool_guard(path);
    if (sql_context_open(session->context, path, &error) == TBED_OK)
        return true;
    tool_complain_open(path, &error);
    return false;
}

/* Native code is named by the symbols of this machine's programs, as in every other command. */
static void name_code(struct session *session, const char *path)
{
    const char *own_path;
    struct tbed_tables *tables;
    if (tool_format(path) != NULL)
        return;
    for (size_t i = 0; (tables = sql_context_get(session->context, i, &own_path)) != NULL; i++) {
        struct tbed_reader *reader = strcmp(own_path, path) == 0 ? tbed_tables_reader(tables, NULL) : NULL;
        if (reader != NULL)
            tool_places_open(&session->places[session->place_count++], reader, TBED_NAME_ALL);
    }
}

bool session_add(struct session *session, const char *path, size_t index)
{
    char *message = NULL;
    const char schema[2] = {(char)('a' + index), '\0'};
    if (!(strcmp(path, "-") == 0 ? add_input(session) : add_file(session, path)))
        return false;
    name_code(session, path);
    int code = sql_attach(session->db, session->context, path, index == 0 ? "main" : schema, &message);
    if (code != SQLITE_OK)
        tool_complain("%s", message != NULL ? message : sqlite3_errstr(code));
    sqlite3_free(message);
    return code == SQLITE_OK;
}

bool session_tell_damage(const struct session *session)
{
    bool is_damaged = false;
    const char *path;
    struct tbed_tables *tables;
    for (size_t i = 0; (tables = sql_context_get(session->context, i, &path)) != NULL; i++) {
        if (tbed_tables_damage_count(tables) == 0)
            continue;
        is_damaged = true;
        struct tbed_reader *reader = tbed_tables_reader(tables, NULL);
        if (reader != NULL)
            tool_tell_damage(path, reader);
    }
    return is_damaged;
}

#endif
