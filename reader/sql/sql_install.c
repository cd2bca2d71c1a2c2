/*
 * What a connection gets: the module, the functions, and tables of whole files:
 *
 *     SELECT tracebed_open('run.tbed')            its tables as temporary tables: spans, events and so on
 *     SELECT tracebed_attach('old.tbed', 'old')   the same as old.spans, old.events and so on
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

/* Runs a statement made by sqlite3_mprintf(). */
static int run(sqlite3 *db, char *sql, char **message)
{
    int code = sql != NULL ? sqlite3_exec(db, sql, NULL, NULL, message) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code;
}

int sql_attach(sqlite3 *db, struct sql_context *context, const char *path, const char *schema,
               char **message_ret)
{
    int code = SQLITE_OK;
    struct tbed_error error = {0};
    if (sql_context_open(context, path, &error) != TBED_OK) {
        *message_ret = sql_open_message(path, &error);
        return error.status == TBED_ERR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
    }
    bool is_new = sqlite3_txn_state(db, schema) < 0;
    if (is_new)
        code = run(db, sqlite3_mprintf("ATTACH ':memory:' AS \"%w\"", schema), message_ret);
    for (size_t i = 0; code == SQLITE_OK && tbed_table_get(i) != NULL; i++)
        code = run(db,
                   sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\".\"%w\" USING tracebed(%Q)", schema,
                                   tbed_table_get(i)->name, path),
                   message_ret);
    return code;
}

static void attach(sqlite3_context *context, sqlite3_value *path, const char *schema)
{
    char *message = NULL;
    const char *path_text = (const char *)sqlite3_value_text(path);
    if (path_text == NULL || schema == NULL) {
        sqlite3_result_error(context, "usage: tracebed_open(FILE) or tracebed_attach(FILE, NAME)", -1);
        return;
    }
    int code = sql_attach(sqlite3_context_db_handle(context), sqlite3_user_data(context), path_text, schema,
                          &message);
    if (code != SQLITE_OK && message != NULL)
        sqlite3_result_error(context, message, -1);
    else if (code != SQLITE_OK)
        sqlite3_result_error_code(context, code);
    else
        sqlite3_result_value(context, path);
    sqlite3_free(message);
}

static void call_open(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    attach(context, values[0], "temp");
}

static void call_attach(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    attach(context, values[0], (const char *)sqlite3_value_text(values[1]));
}

static void release(void *context)
{
    sql_context_release(context);
}

int sql_install(sqlite3 *db, struct sql_context *context)
{
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    context->reference_count++;
    int code = sqlite3_create_module_v2(db, "tracebed", &sql_module, context, release);
    if (code == SQLITE_OK)
        code =
            sqlite3_create_function_v2(db, "tracebed_open", 1, flags, context, call_open, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(db, "tracebed_attach", 2, flags, context, call_attach, NULL, NULL,
                                          NULL);
    return code == SQLITE_OK ? sql_functions_install(db) : code;
}

#endif
