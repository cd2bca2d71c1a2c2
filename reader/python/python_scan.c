/*
 * A scan for Python: what was asked for, the rows that satisfy it, and their values as objects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/python/python_module.h"

#include <errno.h>
#include <string.h>

/* ---- Errors ---- */

PyObject *tbed_python_fail(const struct tbed_error *error, PyObject *path)
{
    const char *text = tbed_status_text(error->status);
    if (error->status == TBED_ERR_MEMORY)
        return PyErr_NoMemory();
    if (error->system_errno != 0) {
        errno = error->system_errno;
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    }
    if (error->offset != UINT64_MAX)
        return PyErr_Format(PyExc_ValueError, "%S: %s, at offset %llu", path, text,
                            (unsigned long long)error->offset);
    return PyErr_Format(PyExc_ValueError, "%S: %s", path, text);
}

PyObject *tbed_python_fail_status(enum tbed_status status)
{
    if (status == TBED_ERR_MEMORY)
        return PyErr_NoMemory();
    return PyErr_Format(PyExc_ValueError, "%s", tbed_status_text(status));
}

/* ---- What is asked for ---- */

static bool find_column(const struct tbed_table *table, PyObject *name, uint32_t *column_ret)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (text == NULL)
        return false;
    for (uint32_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, text) == 0) {
            *column_ret = i;
            return true;
        }
    PyErr_Format(PyExc_KeyError, "table '%s' has no column '%s'", table->name, text);
    return false;
}

static bool take_all_columns(struct python_query *query)
{
    for (uint32_t i = 0; i < query->table->column_count; i++)
        query->columns[query->column_count++] = i;
    return true;
}

static bool take_columns(struct python_query *query, PyObject *columns)
{
    if (columns == Py_None)
        return take_all_columns(query);
    PyObject *names = PyUnicode_Check(columns) ? PyTuple_Pack(1, columns) : PySequence_Tuple(columns);
    if (names == NULL)
        return false;
    bool is_fine = true;
    Py_ssize_t count = PyTuple_Size(names);
    if (count > PYTHON_COLUMNS_MAX || count == 0) {
        PyErr_SetString(PyExc_ValueError, "columns: expected 1 to 64 names");
        is_fine = false;
    }
    for (Py_ssize_t i = 0; i < count && is_fine; i++)
        is_fine =
            find_column(query->table, PyTuple_GetItem(names, i), &query->columns[query->column_count++]);
    Py_DECREF(names);
    return is_fine;
}

/* None sets no constraint. */
static bool add_constraint(struct python_query *query, uint32_t column, enum tbed_compare compare,
                           PyObject *value)
{
    struct tbed_constraint *constraint = &query->constraints[query->constraint_count];
    if (value == Py_None)
        return true;
    *constraint = (struct tbed_constraint){.column = column, .compare = compare};
    if (PyUnicode_Check(value)) {
        Py_ssize_t nbytes;
        constraint->is_text = true;
        constraint->text = PyUnicode_AsUTF8AndSize(value, &nbytes);
        constraint->nbytes = (size_t)nbytes;
        if (constraint->text == NULL)
            return false;
    } else {
        constraint->number = PyLong_AsLongLong(value);
        if (constraint->number == -1 && PyErr_Occurred())
            return false;
    }
    query->constraint_count++;
    return true;
}

/* A value that a column must have, or a pair (least, end) of bounds, of which the second is excluded. */
static bool take_condition(struct python_query *query, PyObject *name, PyObject *value)
{
    uint32_t column;
    if (!find_column(query->table, name, &column))
        return false;
    enum tbed_column_type type = query->table->columns[column].type;
    bool is_text = type == TBED_COLUMN_NAME || type == TBED_COLUMN_TEXT, is_pair = PyTuple_Check(value);
    if (type == TBED_COLUMN_F64 || (!is_pair && PyUnicode_Check(value) != is_text) || (is_pair && is_text) ||
        (is_pair && PyTuple_Size(value) != 2)) {
        PyErr_Format(PyExc_TypeError, "where: '%s' takes %s", query->table->columns[column].name,
                     type == TBED_COLUMN_F64 ? "no condition"
                     : is_text               ? "a text"
                                             : "an integer or a pair of bounds");
        return false;
    }
    if (!is_pair)
        return add_constraint(query, column, TBED_EQUAL, value);
    return add_constraint(query, column, TBED_GREATER_EQUAL, PyTuple_GetItem(value, 0)) &&
           add_constraint(query, column, TBED_LESS, PyTuple_GetItem(value, 1));
}

static bool take_where(struct python_query *query, PyObject *where)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (where == Py_None)
        return true;
    if (!PyDict_Check(where) || PyDict_Size(where) > PYTHON_COLUMNS_MAX) {
        PyErr_SetString(PyExc_TypeError, "where: expected a dict of columns and conditions");
        return false;
    }
    query->where = PyDict_Copy(where); /* keeps the texts, whatever becomes of the caller's */
    if (query->where == NULL)
        return false;
    while (PyDict_Next(query->where, &at, &name, &value))
        if (!take_condition(query, name, value))
            return false;
    return true;
}

bool tbed_python_query_take(struct python_query *query, PyObject *table, PyObject *columns, PyObject *where)
{
    const char *name = PyUnicode_AsUTF8AndSize(table, NULL);
    *query = (struct python_query){.table = name != NULL ? tbed_table_find(name) : NULL};
    if (name == NULL)
        return false;
    if (query->table == NULL) {
        PyErr_Format(PyExc_KeyError, "there is no table '%s'", name);
        return false;
    }
    if (take_columns(query, columns) && take_where(query, where))
        return true;
    tbed_python_query_free(query);
    return false;
}

void tbed_python_query_free(struct python_query *query)
{
    Py_CLEAR(query->where);
}

/* ---- The scan ---- */

static uint64_t mask_of(const struct python_query *query)
{
    uint64_t mask = 0;
    for (Py_ssize_t i = 0; i < query->column_count; i++)
        mask |= UINT64_C(1) << query->columns[i];
    for (size_t i = 0; i < query->constraint_count; i++)
        mask |= UINT64_C(1) << query->constraints[i].column;
    return mask;
}

bool tbed_python_scan_open(struct python_scan *scan, struct python_trace *trace, struct python_query *query)
{
    struct tbed_error error;
    struct tbed_scan_options options = {.size = sizeof options,
                                        .columns = mask_of(query),
                                        .constraints = query->constraints,
                                        .constraint_count = query->constraint_count,
                                        .any_order = query->any_order,
                                        .thread_count = query->thread_count};
    enum tbed_status status;
    *scan = (struct python_scan){.query = *query};
    *query = (struct python_query){0};
    if (trace->is_closed) {
        PyErr_SetString(PyExc_ValueError, "the trace is closed");
        tbed_python_query_free(&scan->query);
        return false;
    }
    options.constraints = scan->query.constraints;
    trace->scan_count++;
    Py_BEGIN_ALLOW_THREADS;
    status = tbed_scan_open(trace->tables, scan->query.table, &options, &scan->scan, &error);
    Py_END_ALLOW_THREADS;
    scan->trace = trace;
    Py_INCREF((PyObject *)trace);
    if (status == TBED_OK)
        return true;
    scan->scan = NULL;
    if (status == TBED_ERR_ARGUMENT)
        PyErr_Format(PyExc_TypeError, "table '%s' is a function: give its parameter in 'where'",
                     scan->query.table->name);
    else
        tbed_python_fail_status(status);
    tbed_python_scan_close(scan);
    return false;
}

void tbed_python_scan_close(struct python_scan *scan)
{
    tbed_scan_close(scan->scan);
    for (uint32_t i = 0; i < scan->name_count; i++)
        Py_XDECREF(scan->names[i]);
    PyMem_Free(scan->names);
    tbed_python_query_free(&scan->query);
    if (scan->trace != NULL)
        scan->trace->scan_count--;
    Py_XDECREF((PyObject *)scan->trace);
    *scan = (struct python_scan){0};
}

/* ---- Conditions: a scan may return rows that do not satisfy them ---- */

bool tbed_python_is_null(const struct tbed_column_values *values, size_t row)
{
    return values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
}

static bool text_holds(const struct python_scan *scan, const struct tbed_constraint *constraint,
                       const struct tbed_column_values *values, size_t row)
{
    const char *text;
    size_t nbytes;
    if (values->codes != NULL) {
        tbed_scan_name(scan->scan, values->codes[row], &text, &nbytes);
    } else {
        text = values->text + values->offsets[row];
        nbytes = values->offsets[row + 1] - values->offsets[row];
    }
    return nbytes == constraint->nbytes && memcmp(text, constraint->text, nbytes) == 0;
}

static bool number_holds(const struct tbed_constraint *constraint, const struct tbed_column_values *values,
                         size_t row)
{
    bool is_above = values->u64 != NULL && values->u64[row] > INT64_MAX;
    int64_t number = is_above              ? INT64_MAX
                     : values->u64 != NULL ? (int64_t)values->u64[row]
                                           : values->i64[row];
    switch (constraint->compare) {
    case TBED_EQUAL:
        return number == constraint->number && !is_above;
    case TBED_LESS:
        return number < constraint->number;
    case TBED_LESS_EQUAL:
        return number <= constraint->number && !is_above;
    case TBED_GREATER:
        return number > constraint->number || is_above;
    case TBED_GREATER_EQUAL:
        return number >= constraint->number;
    }
    return false;
}

static bool holds(const struct python_scan *scan, size_t row)
{
    for (size_t i = 0; i < scan->query.constraint_count; i++) {
        const struct tbed_constraint *constraint = &scan->query.constraints[i];
        const struct tbed_column_values *values = &scan->batch.columns[constraint->column];
        if (tbed_python_is_null(values, row) ||
            !(constraint->is_text ? text_holds(scan, constraint, values, row)
                                  : number_holds(constraint, values, row)))
            return false;
    }
    return true;
}

int tbed_python_scan_batch(struct python_scan *scan)
{
    enum tbed_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tbed_scan_next(scan->scan, &scan->batch);
    Py_END_ALLOW_THREADS;
    scan->row = 0;
    if (status == TBED_OK)
        return 1;
    scan->batch = (struct tbed_batch){0};
    if (status == TBED_END)
        return 0;
    tbed_python_fail_status(status);
    return -1;
}

int tbed_python_scan_next(struct python_scan *scan, size_t *row_ret)
{
    for (;;) {
        while (scan->row < scan->batch.row_count) {
            size_t row = scan->row++;
            if (holds(scan, row)) {
                *row_ret = row;
                return 1;
            }
        }
        int got = tbed_python_scan_batch(scan);
        if (got <= 0)
            return got;
    }
}

/* ---- Values ---- */

static PyObject *text_of(const char *text, size_t nbytes)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)nbytes, "replace");
}

static bool grow_names(struct python_scan *scan, uint32_t code)
{
    if (code < scan->name_room)
        return true;
    uint32_t room = tbed_scan_name_count(scan->scan) + scan->name_room + 64;
    PyObject **names = PyMem_Realloc(scan->names, room * sizeof *names);
    if (names == NULL) {
        PyErr_NoMemory();
        return false;
    }
    scan->names = names;
    scan->name_room = room;
    return true;
}

PyObject *tbed_python_name(struct python_scan *scan, uint32_t code)
{
    if (!grow_names(scan, code))
        return NULL;
    while (scan->name_count <= code)
        scan->names[scan->name_count++] = NULL;
    if (scan->names[code] == NULL) {
        const char *text;
        size_t nbytes;
        tbed_scan_name(scan->scan, code, &text, &nbytes);
        scan->names[code] = text_of(text, nbytes);
    }
    return scan->names[code];
}

PyObject *tbed_python_value(struct python_scan *scan, uint32_t column, size_t row)
{
    const struct tbed_column_values *values = &scan->batch.columns[column];
    if (tbed_python_is_null(values, row))
        return Py_NewRef(Py_None);
    if (values->i64 != NULL)
        return PyLong_FromLongLong(values->i64[row]);
    if (values->u64 != NULL)
        return PyLong_FromUnsignedLongLong(values->u64[row]);
    if (values->f64 != NULL)
        return PyFloat_FromDouble(values->f64[row]);
    if (values->codes != NULL)
        return Py_XNewRef(tbed_python_name(scan, values->codes[row]));
    return text_of(values->text + values->offsets[row], values->offsets[row + 1] - values->offsets[row]);
}
