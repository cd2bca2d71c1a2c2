/*
 * The module of virtual tables:
 *
 *     CREATE VIRTUAL TABLE temp.spans USING tracebed('run.tbed')
 *
 * has the table of the trace with this name, or with that of a second argument.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#include <tracebed/exchange.h>

#ifdef SQL_IS_BUILT

#define KEEP_AFTER 2 /* scans by one cursor */

struct cursor {
    sqlite3_vtab_cursor base;
    struct sql_plan plan;
    const char *plan_text; /* what 'plan' was read from */
    struct sql_request request;
    struct sql_scan scan;
    struct sql_groups *groups;
    struct sql_kept *kept;
    unsigned scan_count;
    bool is_kept_refused;
    struct sql_scan *names; /* of the batch */
    struct tbed_batch batch;
    size_t row;
    sqlite3_int64 row_id;
    bool is_at_end;
};

/* ---- Connecting ---- */

/* An argument as SQLite gives it, without its quotes; the caller frees it. NULL: no memory. */
static char *unquoted(const char *argument)
{
    char *text = strdup(argument);
    char quote = argument[0];
    if (text == NULL || (quote != '\'' && quote != '"'))
        return text;
    size_t used = 0;
    for (const char *at = argument + 1; *at != '\0'; at++) {
        if (*at == quote && *++at != quote)
            break;
        text[used++] = *at;
    }
    text[used] = '\0';
    return text;
}

static const char *type_of(const struct tbed_column *column)
{
    switch (column->type) {
    case TBED_COLUMN_F64:
        return "REAL";
    case TBED_COLUMN_NAME:
    case TBED_COLUMN_TEXT:
        return "TEXT";
    default:
        return "INTEGER";
    }
}

static int declare(sqlite3 *db, const struct tbed_table *about)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendall(sql, "CREATE TABLE x(");
    for (size_t i = 0; i < about->column_count; i++)
        sqlite3_str_appendf(sql, "%s\"%w\" %s%s", i > 0 ? ", " : "", about->columns[i].name,
                            type_of(&about->columns[i]), about->columns[i].is_parameter ? " HIDDEN" : "");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int code = text != NULL ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
    sqlite3_free(text);
    return code;
}

/* The clocks of machines do not go back; times that a program or an import gave may. */
static bool has_machine_clock(const struct sql_file *file)
{
    struct tbed_trace_info info;
    if (tbed_format_of_file(file->path) != NULL)
        return false; /* a reader may not be there yet */
    struct tbed_reader *reader = tbed_tables_reader(file->tables, NULL);
    if (reader == NULL)
        return false;
    tbed_reader_info(reader, &info);
    return info.clock == TBED_CLOCK_X86_TSC || info.clock == TBED_CLOCK_ARM64_VIRTUAL;
}

/* The tables whose rows rise in their times. Spans are in the order of their ends. */
static int time_column(const struct sql_file *file, const struct tbed_table *about)
{
    static const char *const tables[] = {"events", "instants", "counters", "messages", "flows"};
    if (!has_machine_clock(file))
        return -1;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (size_t k = 0; strcmp(about->name, tables[i]) == 0 && k < about->column_count; k++)
            if (strcmp(about->columns[k].name, "ts") == 0)
                return (int)k;
    return -1;
}

static bool is_analysis(const struct tbed_table *about)
{
    static const char *const tables[] = {"label_statistics", "tree",      "thread_tree", "sites",
                                         "stack_sites",      "histogram", "activity",    "allocations",
                                         "size_classes"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(about->name, tables[i]) == 0)
            return true;
    return false;
}

static int connect_table(struct sql_context *context, const char *path, const char *name,
                         struct sql_table **table_ret, char **message)
{
    struct tbed_error error;
    const struct tbed_table *about = tbed_table_find(name);
    if (about == NULL) {
        *message = sqlite3_mprintf("a trace has no table '%s'", name);
        return SQLITE_ERROR;
    }
    struct sql_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    *table = (struct sql_table){.context = context,
                                .file = sql_file_use(context, path, &error),
                                .about = about,
                                .is_analysis = is_analysis(about)};
    if (table->file == NULL) {
        *message = sql_open_message(path, &error);
        free(table);
        return error.status == TBED_ERR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
    }
    table->time_column = time_column(table->file, about);
    *table_ret = table;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
    struct sql_table *table = (struct sql_table *)base;
    table->file->use_count--;
    free(table);
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *context, int count, const char *const *arguments,
                   sqlite3_vtab **base_ret, char **message)
{
    struct sql_table *table = NULL;
    if (count != 4 && count != 5) {
        *message = sqlite3_mprintf("usage: CREATE VIRTUAL TABLE temp.spans USING tracebed('FILE')");
        return SQLITE_ERROR;
    }
    char *path = unquoted(arguments[3]);
    char *name = unquoted(arguments[count == 5 ? 4 : 2]);
    int code =
        path != NULL && name != NULL ? connect_table(context, path, name, &table, message) : SQLITE_NOMEM;
    free(path);
    free(name);
    if (code == SQLITE_OK)
        code = declare(db, table->about);
    if (code == SQLITE_OK)
        *base_ret = &table->base;
    else if (table != NULL)
        disconnect(&table->base);
    return code;
}

/* ---- Cursors ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor_ret)
{
    struct cursor *cursor = calloc(1, sizeof *cursor);
    (void)base;
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor_ret = &cursor->base;
    return SQLITE_OK;
}

/* Kept rows stay. */
static void end_rows(struct cursor *cursor)
{
    sql_groups_close(cursor->groups);
    cursor->groups = NULL;
    sql_scan_close(&cursor->scan);
    sql_request_free(&cursor->request);
    cursor->batch = (struct tbed_batch){0};
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    end_rows(cursor);
    sql_kept_close(cursor->kept);
    free(cursor);
    return SQLITE_OK;
}

static int failed(struct cursor *cursor, enum tbed_status status)
{
    struct sql_table *table = (struct sql_table *)cursor->base.pVtab;
    if (status == TBED_ERR_MEMORY)
        return SQLITE_NOMEM;
    if (status == TBED_ERR_CANCELLED)
        return SQLITE_INTERRUPT;
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg =
        sqlite3_mprintf("%s: %s: %s", table->file->path, table->about->name, tbed_status_text(status));
    return SQLITE_ERROR;
}

static int next_batch(struct cursor *cursor)
{
    struct tbed_error error = {0};
    enum tbed_status status;
    if (cursor->groups != NULL)
        status = sql_groups_next(cursor->groups, &cursor->batch, &error);
    else if (cursor->kept != NULL)
        status = sql_kept_next(cursor->kept, &cursor->batch);
    else
        status = tbed_scan_next(cursor->scan.scan, &cursor->batch);
    cursor->row = 0;
    cursor->is_at_end = status != TBED_OK;
    if (cursor->groups != NULL)
        cursor->names = sql_groups_scan(cursor->groups);
    return status == TBED_OK || status == TBED_END ? SQLITE_OK : failed(cursor, status);
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    cursor->row_id++;
    return ++cursor->row < cursor->batch.row_count ? SQLITE_OK : next_batch(cursor);
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return ((struct cursor *)base)->is_at_end;
}

static int get_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *row_id_ret)
{
    *row_id_ret = ((struct cursor *)base)->row_id;
    return SQLITE_OK;
}

/* ---- Choosing rows ---- */

static bool can_keep(const struct cursor *cursor)
{
    const struct sql_table *table = (const struct sql_table *)cursor->base.pVtab;
    for (size_t i = 0; i < table->about->column_count; i++)
        if (table->about->columns[i].is_parameter)
            return false;
    return !cursor->is_kept_refused && cursor->plan.group_count == 0;
}

/* Reads the table once and for all, if its rows are looked up again and again. */
static enum tbed_status keep(struct cursor *cursor, struct tbed_error *error)
{
    if (cursor->kept != NULL || cursor->scan_count++ < KEEP_AFTER || !can_keep(cursor))
        return TBED_OK;
    enum tbed_status status =
        sql_kept_make((struct sql_table *)cursor->base.pVtab, &cursor->plan, &cursor->kept, error);
    cursor->is_kept_refused = cursor->kept == NULL;
    return status;
}

static enum tbed_status begin(struct cursor *cursor, struct tbed_error *error)
{
    enum tbed_status status = keep(cursor, error);
    if (status != TBED_OK)
        return status;
    if (cursor->kept != NULL) {
        sql_kept_seek(cursor->kept, &cursor->request);
        cursor->names = sql_kept_scan(cursor->kept);
        return TBED_OK;
    }
    if (cursor->plan.group_count > 0) {
        cursor->groups = sql_groups_open(&cursor->plan, &cursor->request);
        return cursor->groups != NULL ? TBED_OK : TBED_ERR_MEMORY;
    }
    cursor->names = &cursor->scan;
    return sql_scan_open(&cursor->scan, &cursor->request, error);
}

static void read_plan(struct cursor *cursor, const char *text)
{
    if (cursor->plan_text == text)
        return;
    cursor->plan_text = text;
    sql_plan_read(&cursor->plan, text);
    sql_kept_close(cursor->kept);
    cursor->kept = NULL;
    cursor->scan_count = 0;
    cursor->is_kept_refused = false;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int count, sqlite3_value **values)
{
    struct cursor *cursor = (struct cursor *)base;
    struct tbed_error error = {0};
    (void)number;
    (void)count;
    end_rows(cursor);
    read_plan(cursor, text);
    cursor->row_id = 0;
    int code = sql_request_make(&cursor->request, (struct sql_table *)base->pVtab, &cursor->plan, values);
    if (code != SQLITE_OK)
        return code;
    cursor->is_at_end = cursor->request.is_empty;
    cursor->request.is_repeated = cursor->scan_count > KEEP_AFTER;
    if (cursor->request.is_empty)
        return SQLITE_OK;
    enum tbed_status status = begin(cursor, &error);
    return status == TBED_OK ? next_batch(cursor) : failed(cursor, status);
}

/* ---- Values ---- */

static int put_name(struct cursor *cursor, sqlite3_context *to, uint32_t code)
{
    const struct sql_name *name = sql_scan_name(cursor->names, code);
    const char *text;
    size_t nbytes;
    if (name == NULL)
        return SQLITE_NOMEM;
    if (name->text != NULL) {
        sqlite3_result_text64(to, name->text, name->nbytes, SQLITE_STATIC, SQLITE_UTF8);
        return SQLITE_OK;
    }
    tbed_scan_name(cursor->names->scan, code, &text, &nbytes);
    sqlite3_result_text64(to, text, nbytes, SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
}

static void put_u64(sqlite3_context *to, uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX) {
        sqlite3_result_int64(to, (sqlite3_int64)value);
        return;
    }
    sqlite3_snprintf(sizeof digits, digits, "%llu", (unsigned long long)value);
    sqlite3_result_text(to, digits, -1, SQLITE_TRANSIENT);
}

static void put_text(sqlite3_context *to, const struct tbed_column_values *values, size_t row)
{
    uint32_t start = values->offsets[row];
    size_t nbytes = values->offsets[row + 1] - start;
    sqlite3_result_text64(to, nbytes > 0 ? values->text + start : "", nbytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int put_value(struct cursor *cursor, sqlite3_context *to, enum tbed_column_type type,
                     const struct tbed_column_values *values)
{
    switch (type) {
    case TBED_COLUMN_I64:
        sqlite3_result_int64(to, values->i64[cursor->row]);
        break;
    case TBED_COLUMN_U64:
        put_u64(to, values->u64[cursor->row]);
        break;
    case TBED_COLUMN_F64:
        sqlite3_result_double(to, values->f64[cursor->row]);
        break;
    case TBED_COLUMN_NAME:
        return put_name(cursor, to, values->codes[cursor->row]);
    case TBED_COLUMN_TEXT:
        put_text(to, values, cursor->row);
        break;
    }
    return SQLITE_OK;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
    struct cursor *cursor = (struct cursor *)base;
    const struct sql_table *table = (const struct sql_table *)base->pVtab;
    if ((cursor->plan.columns >> column & 1) == 0)
        return SQLITE_OK; /* never: SQLite has said which it uses */
    const struct tbed_column_values *values = &cursor->batch.columns[column];
    if (sql_is_null(values, cursor->row))
        return SQLITE_OK;
    return put_value(cursor, to, table->about->columns[column].type, values);
}

const sqlite3_module sql_module = {
    .iVersion = 1,
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = sql_plan_best,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next_row,
    .xEof = is_at_end,
    .xColumn = get_column,
    .xRowid = get_row_id,
};

#endif
