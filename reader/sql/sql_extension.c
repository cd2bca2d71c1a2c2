/*
 * The entry of libtracebed-sqlite.so, which SQLite calls when it loads the extension.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql.h"

#ifdef SQL_IS_BUILT

__attribute__((visibility("default"))) int sqlite3_tracebedsqlite_init(sqlite3 *db, char **message_ret,
                                                                       const sqlite3_api_routines *api);

int sqlite3_tracebedsqlite_init(sqlite3 *db, char **message_ret, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < SQL_VERSION_LEAST) {
        *message_ret = sqlite3_mprintf("SQLite %s is too old: 3.38 or later is needed", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    struct sql_context *context = sql_context_new(NULL);
    if (context == NULL)
        return SQLITE_NOMEM;
    int code = sql_install(db, context);
    sql_context_release(context);
    return code;
}

#endif
