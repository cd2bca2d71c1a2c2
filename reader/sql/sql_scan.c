/*
 * A scan of a table for SQLite: which conditions it gets, and the names of its codes; see sql_inside.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

#include <math.h>

/* ---- Conditions ---- */

static void add_number(struct sql_request *request, unsigned column, enum tbed_compare compare,
                       int64_t number)
{
    request->constraints[request->constraint_count++] =
        (struct tbed_constraint){.column = column, .compare = compare, .number = number};
}

static bool add_text(struct sql_request *request, unsigned column, sqlite3_value *value)
{
    const void *text = sqlite3_value_blob(value); /* a text or a blob, verbatim */
    size_t nbytes = (size_t)sqlite3_value_bytes(value);
    char *copy = malloc(nbytes + 1);
    if (copy == NULL)
        return false;
    if (nbytes > 0)
        memcpy(copy, text, nbytes);
    request->texts[request->text_count++] = copy;
    request->constraints[request->constraint_count++] = (struct tbed_constraint){
        .column = column, .compare = TBED_EQUAL, .is_text = true, .text = copy, .nbytes = nbytes};
    return true;
}

/* A bound with a fraction becomes a wider one without; what is beyond the range of integers is left to SQLite. */
static void add_real(struct sql_request *request, unsigned column, char compare, double real)
{
    bool is_below = compare == '<' || compare == 'l';
    double whole = is_below ? floor(real) : ceil(real);
    if (!(whole > -9.2e18 && whole < 9.2e18))
        return;
    int64_t number = (int64_t)whole;
    if (compare != '=')
        add_number(request, column, is_below ? TBED_LESS_EQUAL : TBED_GREATER_EQUAL, number);
    else if ((double)number == real && fabs(real) < 9007199254740992.0)
        add_number(request, column, TBED_EQUAL, number);
}

static enum tbed_compare compare_of(char compare)
{
    switch (compare) {
    case '<':
        return TBED_LESS;
    case 'l':
        return TBED_LESS_EQUAL;
    case '>':
        return TBED_GREATER;
    case 'g':
        return TBED_GREATER_EQUAL;
    default:
        return TBED_EQUAL;
    }
}

static bool is_number(const struct tbed_column *column)
{
    return column->type == TBED_COLUMN_I64 || column->type == TBED_COLUMN_U64;
}

/* False: no memory. A value of another type than the column's is left to SQLite, which checks every row. */
static bool add_value(struct sql_request *request, const struct tbed_column *column, struct sql_term term,
                      sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL)
        request->is_empty = true;
    else if (is_number(column) && type == SQLITE_INTEGER)
        add_number(request, term.column, compare_of(term.compare), sqlite3_value_int64(value));
    else if (is_number(column) && type == SQLITE_FLOAT)
        add_real(request, term.column, term.compare, sqlite3_value_double(value));
    else if (!is_number(column) && (type == SQLITE_TEXT || column->is_parameter))
        return add_text(request, term.column, value);
    else if (is_number(column) && column->is_parameter)
        add_number(request, term.column, TBED_EQUAL, sqlite3_value_int64(value));
    return true;
}

/* A list of numbers becomes the range from the least to the greatest; one of a single text, that text. */
static bool add_list(struct sql_request *request, const struct tbed_column *column, struct sql_term term,
                     sqlite3_value *list)
{
    sqlite3_value *value = NULL, *first = NULL;
    size_t count = 0;
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    bool is_whole = is_number(column);
    for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK && value != NULL;
         code = sqlite3_vtab_in_next(list, &value)) {
        int type = sqlite3_value_type(value);
        if (type == SQLITE_NULL)
            continue;
        if (count++ == 0 && type == SQLITE_TEXT)
            first = sqlite3_value_dup(value);
        is_whole = is_whole && type == SQLITE_INTEGER;
        int64_t number = is_whole ? sqlite3_value_int64(value) : 0;
        least = number < least ? number : least;
        greatest = number > greatest ? number : greatest;
    }
    bool is_fine = true;
    request->is_empty = request->is_empty || count == 0;
    if (count > 0 && is_whole) {
        add_number(request, term.column, TBED_GREATER_EQUAL, least);
        add_number(request, term.column, TBED_LESS_EQUAL, greatest);
    } else if (count == 1 && first != NULL && !is_number(column)) {
        is_fine = add_text(request, term.column, first);
    }
    sqlite3_value_free(first);
    return is_fine;
}

int sql_request_make(struct sql_request *request, struct sql_table *table, const struct sql_plan *plan,
                     sqlite3_value **values)
{
    *request = (struct sql_request){.table = table, .columns = plan->columns, .in_order = plan->in_order};
    for (unsigned i = 0; i < plan->term_count; i++) {
        struct sql_term term = plan->terms[i];
        const struct tbed_column *column = &table->about->columns[term.column];
        bool is_fine = term.compare == 'i' ? add_list(request, column, term, values[i])
                                           : add_value(request, column, term, values[i]);
        if (!is_fine) {
            sql_request_free(request);
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

void sql_request_free(struct sql_request *request)
{
    for (size_t i = 0; i < request->text_count; i++)
        free(request->texts[i]);
    request->text_count = request->constraint_count = 0;
}

/* ---- Scans ---- */

enum tbed_status sql_scan_open(struct sql_scan *scan, const struct sql_request *request,
                               struct tbed_error *error_ret)
{
    const struct sql_table *table = request->table;
    struct tbed_scan_options options = {
        .size = sizeof options,
        .columns = request->columns,
        .constraints = request->constraints,
        .constraint_count = request->constraint_count,
        .any_order = !request->in_order,
        .thread_count = request->is_repeated,
        .is_cancelled = table->context->is_cancelled,
    };
    *scan = (struct sql_scan){.file = table->file};
    return tbed_scan_open(table->file->tables, table->about, &options, &scan->scan, error_ret);
}

void sql_scan_close(struct sql_scan *scan)
{
    tbed_scan_close(scan->scan);
    free(scan->names);
    *scan = (struct sql_scan){0};
}

const struct sql_name *sql_scan_name_slow(struct sql_scan *scan, uint32_t code)
{
    if (code >= scan->name_room) {
        size_t room = tbed_scan_name_count(scan->scan);
        room = room > 2 * scan->name_room ? room : 2 * scan->name_room;
        room = room > (size_t)code + 64 ? room : (size_t)code + 64;
        struct sql_name *grown = realloc(scan->names, room * sizeof *grown);
        if (grown == NULL)
            return NULL;
        memset(grown + scan->name_room, 0, (room - scan->name_room) * sizeof *grown);
        scan->names = grown;
        scan->name_room = room;
    }
    const char *text;
    size_t nbytes;
    tbed_scan_name(scan->scan, code, &text, &nbytes);
    sql_names_intern(&scan->file->names, text, nbytes, &scan->names[code]);
    return &scan->names[code];
}

#endif
