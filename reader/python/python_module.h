/*
 * The native half of Python's module tracebed: a trace's tables as rows and as columns.
 *
 * Source: <tracebed/tables.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PYTHON_MODULE_H
#define TRACEBED_PYTHON_MODULE_H

/* One module for all versions from 3.11 on. */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <tracebed/tables.h>

#define PYTHON_COLUMNS_MAX 64

struct python_trace {
    PyObject_HEAD struct tbed_tables *tables; /* NULL: closed */
    Py_ssize_t scan_count;                    /* scans that are open; the trace stays open with them */
    bool is_closed;                           /* close() was called: no new scans */
};

/* What a caller asked of a table. */
struct python_query {
    const struct tbed_table *table;
    uint32_t columns[PYTHON_COLUMNS_MAX]; /* in the order in which they were asked for */
    Py_ssize_t column_count;
    struct tbed_constraint constraints[2 * PYTHON_COLUMNS_MAX];
    size_t constraint_count;
    PyObject *where; /* keeps the texts of the constraints */
    bool any_order;
    unsigned thread_count;
};

/* A scan whose rows are checked against the constraints, and its names as objects. */
struct python_scan {
    struct python_trace *trace;
    struct python_query query;
    struct tbed_scan *scan;
    struct tbed_batch batch;
    size_t row; /* the next one of the batch */
    PyObject **names;
    uint32_t name_count, name_room;
};

extern PyTypeObject *tbed_python_trace_type, *tbed_python_rows_type, *tbed_python_column_type;

/* Each sets an exception and returns false, NULL or -1 if it fails. */
bool tbed_python_query_take(struct python_query *query, PyObject *table, PyObject *columns, PyObject *where);
void tbed_python_query_free(struct python_query *query);

bool tbed_python_scan_open(struct python_scan *scan, struct python_trace *trace, struct python_query *query);
void tbed_python_scan_close(struct python_scan *scan);
/* 1: there is a next batch; 0: there is none. */
int tbed_python_scan_batch(struct python_scan *scan);
/* 1: 'row' is the next row that satisfies the constraints; 0: there is none. */
int tbed_python_scan_next(struct python_scan *scan, size_t *row_ret);
/* The object for a value; NULL with an exception. */
PyObject *tbed_python_value(struct python_scan *scan, uint32_t column, size_t row);
/* Borrowed. */
PyObject *tbed_python_name(struct python_scan *scan, uint32_t code);
bool tbed_python_is_null(const struct tbed_column_values *values, size_t row);

PyObject *tbed_python_fail(const struct tbed_error *error, PyObject *path);
PyObject *tbed_python_fail_status(enum tbed_status status);

/* trace.rows() and trace.columns(), once the query has been taken, which they free. */
PyObject *tbed_python_rows(struct python_trace *trace, struct python_query *query);
PyObject *tbed_python_columns(struct python_trace *trace, struct python_query *query);
bool tbed_python_rows_ready(PyObject *module);
bool tbed_python_column_ready(PyObject *module);

#endif
