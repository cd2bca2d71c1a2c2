/*
 * Rows of a table, one after another, as named tuples.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/python/python_module.h"

#include <stdio.h>

struct rows {
    PyObject_HEAD struct python_scan scan;
    PyTypeObject *row_type;
};

PyTypeObject *tbed_python_rows_type;

/* A named tuple of the columns that are asked for. */
static PyTypeObject *row_type(const struct python_query *query)
{
    PyStructSequence_Field fields[PYTHON_COLUMNS_MAX + 1] = {{0}};
    char name[64];
    for (Py_ssize_t i = 0; i < query->column_count; i++) {
        const struct tbed_column *column = &query->table->columns[query->columns[i]];
        fields[i] = (PyStructSequence_Field){column->name, column->summary};
    }
    snprintf(name, sizeof name, "tracebed.%s", query->table->name);
    PyStructSequence_Desc description = {name, query->table->summary, fields, (int)query->column_count};
    return PyStructSequence_NewType(&description);
}

PyObject *tbed_python_rows(struct python_trace *trace, struct python_query *query)
{
    PyTypeObject *type = row_type(query);
    struct rows *rows = type != NULL ? PyObject_New(struct rows, tbed_python_rows_type) : NULL;
    if (rows == NULL) {
        Py_XDECREF((PyObject *)type);
        tbed_python_query_free(query);
        return NULL;
    }
    rows->scan = (struct python_scan){0};
    rows->row_type = type;
    if (tbed_python_scan_open(&rows->scan, trace, query))
        return (PyObject *)rows;
    Py_DECREF((PyObject *)rows);
    return NULL;
}

static PyObject *next(PyObject *self)
{
    struct rows *rows = (struct rows *)self;
    size_t at;
    if (rows->scan.scan == NULL)
        return NULL;
    int got = tbed_python_scan_next(&rows->scan, &at);
    if (got <= 0) {
        tbed_python_scan_close(&rows->scan);
        return NULL;
    }
    PyObject *row = PyStructSequence_New(rows->row_type);
    for (Py_ssize_t i = 0; row != NULL && i < rows->scan.query.column_count; i++) {
        PyObject *value = tbed_python_value(&rows->scan, rows->scan.query.columns[i], at);
        if (value == NULL)
            Py_CLEAR(row);
        else
            PyStructSequence_SetItem(row, i, value);
    }
    return row;
}

static void dealloc(PyObject *self)
{
    struct rows *rows = (struct rows *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (rows->scan.trace != NULL)
        tbed_python_scan_close(&rows->scan);
    Py_XDECREF((PyObject *)rows->row_type);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

bool tbed_python_rows_ready(PyObject *module)
{
    static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc},
                                  {Py_tp_iter, PyObject_SelfIter},
                                  {Py_tp_iternext, next},
                                  {Py_tp_doc, "The rows of a table, one after another."},
                                  {0, NULL}};
    static PyType_Spec spec = {"tracebed.Rows", sizeof(struct rows), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    tbed_python_rows_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return tbed_python_rows_type != NULL &&
           PyModule_AddObjectRef(module, "Rows", (PyObject *)tbed_python_rows_type) == 0;
}
