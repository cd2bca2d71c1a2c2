/*
 * Runs statements: each in turn, with ATTACH for traces too, and shows where an error is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/sql/session.h"

#ifdef SQL_IS_BUILT

#include "reader/core/system/regular_file.h"

#include <unistd.h>

/* ---- Words of SQL ---- */

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte >= '0' && byte <= '9') || (byte & 0x80) != 0;
}

/* Past spaces and comments. */
static const char *skip_space(const char *at)
{
    for (;;) {
        if (at[0] == '-' && at[1] == '-') {
            while (*at != '\0' && *at != '\n')
                at++;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end != NULL ? end + 2 : at + strlen(at);
        } else if (*at != '\0' && strchr(" \t\r\n\f", *at) != NULL) {
            at++;
        } else {
            return at;
        }
    }
}

/* Past a keyword; NULL: it is not there. */
static const char *skip_word(const char *at, const char *word)
{
    size_t length = strlen(word);
    at = skip_space(at);
    return sqlite3_strnicmp(at, word, (int)length) == 0 && !is_letter(at[length]) ? at + length : NULL;
}

/* Past a name, bare or in quotes, of which a copy is made; NULL: there is none. */
static const char *take_name(const char *at, char **name_ret)
{
    at = skip_space(at);
    char quote = *at == '\'' || *at == '"' ? *at : '\0';
    char *name = tool_realloc(NULL, strlen(at) + 1);
    size_t used = 0;
    at += quote != '\0';
    for (; *at != '\0' && (quote != '\0' || is_letter(*at)); at++) {
        if (*at == quote && at[1] == quote)
            at++;
        else if (*at == quote)
            break;
        name[used++] = *at;
    }
    name[used] = '\0';
    *name_ret = name;
    return used > 0 && *at == quote && quote != '\0' ? at + 1 : used > 0 && quote == '\0' ? at : NULL;
}

const char *session_parse_attach(const char *sql, char **path_ret, char **name_ret)
{
    *path_ret = *name_ret = NULL;
    const char *at = skip_word(sql, "ATTACH");
    if (at == NULL)
        return NULL;
    const char *next = skip_word(at, "DATABASE");
    at = skip_space(next != NULL ? next : at);
    at = *at == '\'' || *at == '"' ? take_name(at, path_ret) : NULL;
    at = at != NULL ? skip_word(at, "AS") : NULL;
    at = at != NULL ? take_name(at, name_ret) : NULL;
    at = at != NULL ? skip_space(at) : NULL;
    if (at == NULL || (*at != ';' && *at != '\0')) {
        free(*path_ret);
        free(*name_ret);
        *path_ret = *name_ret = NULL;
        return NULL;
    }
    return *at == ';' ? at + 1 : at;
}

/* ---- Errors ---- */

/* The line of the error, and a mark below its place. */
static void point_at(const char *sql, int offset)
{
    const char *start = sql + offset;
    if (offset < 0 || (size_t)offset > strlen(sql))
        return;
    while (start > sql && start[-1] != '\n')
        start--;
    size_t before = (size_t)(sql + offset - start), length = strcspn(start, "\n");
    fputs("  ", stderr);
    tool_print_text(stderr, start, length, 0);
    fprintf(stderr, "\n  %*s^\n", (int)tool_text_width(start, before), "");
}

#define NAMES_MAX 1024

static size_t list_tables(const char *names[NAMES_MAX])
{
    const struct tbed_table *table;
    size_t count = 0;
    for (; count < NAMES_MAX && (table = tbed_table_get(count)) != NULL; count++)
        names[count] = table->name;
    return count;
}

static size_t list_columns(const char *names[NAMES_MAX])
{
    const struct tbed_table *table;
    size_t count = 0;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++)
        for (size_t k = 0; k < table->column_count && count < NAMES_MAX; k++)
            names[count++] = table->columns[k].name;
    return count;
}

/* Suggests a name if 'message' is that of SQLite for one that there is not, as in "no such table: main.spens". */
static void hint_at_name(const char *message, const char *start, size_t (*list)(const char *[NAMES_MAX]),
                         const char *advice)
{
    const char *names[NAMES_MAX];
    if (strncmp(message, start, strlen(start)) != 0)
        return;
    const char *name = message + strlen(start), *dot = strrchr(name, '.');
    name = dot != NULL ? dot + 1 : name;
    const char *nearest = tool_word_nearest(names, list(names), name);
    if (nearest != NULL && strcmp(nearest, name) == 0)
        tool_hint("Other tables have it. %s", advice);
    else if (nearest != NULL)
        tool_hint("Did you mean '%s'? %s", nearest, advice);
    else
        tool_hint("%s", advice);
}

static bool fail(struct session *session, const char *sql)
{
    if (session_is_interrupted()) {
        tool_complain("interrupted");
        return false;
    }
    int offset = sqlite3_error_offset(session->db);
    tool_complain("%s", sqlite3_errmsg(session->db));
    point_at(sql, offset);
    hint_at_name(sqlite3_errmsg(session->db), "no such table: ", list_tables, "'.tables' lists all.");
    hint_at_name(sqlite3_errmsg(session->db), "no such column: ", list_columns,
                 "'.schema' lists those of each table; text is in single quotes.");
    if (sqlite3_errcode(session->db) == SQLITE_AUTH)
        tool_hint("Files are only read: use ATTACH 'FILE' AS name, and CREATE TABLE for tables in memory.");
    return false;
}

/* ---- Statements ---- */

static bool is_database(const char *path)
{
    char start[16] = {0};
    int fd = -1;
    if (tbed_regular_open(path, &fd) != TBED_OK)
        return false;
    ssize_t nbytes = read(fd, start, sizeof start);
    close(fd);
    return nbytes == (ssize_t)sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0;
}

/* The address of a database of SQLite that is only read. */
static char *read_only_address(const char *path)
{
    struct tbed_text address = {0};
    tbed_text_puts(&address, path[0] == '/' ? "file://" : "file:");
    for (; *path != '\0'; path++) {
        char escaped[4];
        bool is_plain = is_letter(*path) || strchr("/.-", *path) != NULL;
        snprintf(escaped, sizeof escaped, "%%%02X", (unsigned char)*path);
        tbed_text_put(&address, is_plain ? path : escaped, is_plain ? 1 : 3);
    }
    tbed_text_put(&address, "?mode=ro", sizeof "?mode=ro");
    tool_check_text(&address);
    return address.bytes;
}

static bool attach_database(struct session *session, const char *path, const char *name)
{
    char *address = read_only_address(path);
    char *sql = sqlite3_mprintf("ATTACH %Q AS \"%w\"", address, name);
    int code = sql != NULL ? sqlite3_exec(session->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    if (code != SQLITE_OK)
        tool_complain("%s: %s", path, sqlite3_errmsg(session->db));
    sqlite3_free(sql);
    free(address);
    return code == SQLITE_OK;
}

static bool attach_trace(struct session *session, const char *path, const char *name)
{
    char *message = NULL;
    int code = sql_attach(session->db, session->context, path, name, &message);
    if (code != SQLITE_OK)
        tool_complain("%s", message != NULL ? message : sqlite3_errstr(code));
    sqlite3_free(message);
    return code == SQLITE_OK;
}

static bool attach(struct session *session, const char *path, const char *name)
{
    return strcmp(path, ":memory:") == 0 || is_database(path) ? attach_database(session, path, name)
                                                              : attach_trace(session, path, name);
}

static bool run_one(struct session *session, const char *sql, const char **next_ret)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(session->db, sql, -1, &statement, next_ret);
    if (code == SQLITE_OK && statement != NULL)
        code = session_print(session, statement);
    bool is_fine = code == SQLITE_OK || fail(session, sql);
    sqlite3_finalize(statement);
    return is_fine;
}

bool session_run(struct session *session, const char *sql)
{
    bool is_fine = true;
    session_forget_interrupt();
    while (is_fine && *(sql = skip_space(sql)) != '\0') {
        char *path, *name;
        const char *next = session_parse_attach(sql, &path, &name);
        is_fine = next != NULL ? attach(session, path, name) : run_one(session, sql, &next);
        free(path);
        free(name);
        sql = next;
    }
    return is_fine;
}

#endif
