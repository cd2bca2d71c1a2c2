/*
 * Columns of a table as arrays that numpy and pandas take without a copy, by Python's buffer protocol.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/python/python_module.h"

#include <stdlib.h>
#include <string.h>

struct column {
    PyObject_HEAD void *items;
    Py_ssize_t count, room;
    Py_ssize_t item_nbytes;
    char format[2];
    PyObject *names;     /* NAME: a list by code; TEXT: of each row; otherwise NULL */
    unsigned char *null; /* 1 for each row without a value; NULL: every row has one */
    enum tbed_column_type type;
};

PyTypeObject *tbed_python_column_type;

/* ---- Filled ---- */

static const char *format_of(enum tbed_column_type type)
{
    switch (type) {
    case TBED_COLUMN_I64:
        return "q";
    case TBED_COLUMN_U64:
        return "Q";
    case TBED_COLUMN_F64:
        return "d";
    case TBED_COLUMN_NAME:
    case TBED_COLUMN_TEXT:
        break;
    }
    return "i";
}

static struct column *column_new(enum tbed_column_type type)
{
    struct column *column = PyObject_New(struct column, tbed_python_column_type);
    if (column == NULL)
        return NULL;
    column->items = NULL;
    column->null = NULL;
    column->count = column->room = 0;
    column->type = type;
    memcpy(column->format, format_of(type), 2);
    column->item_nbytes =
        column->format[0] == 'i' ? (Py_ssize_t)sizeof(int32_t) : (Py_ssize_t)sizeof(int64_t);
    column->names = column->format[0] == 'i' ? PyList_New(0) : NULL;
    if (column->format[0] == 'i' && column->names == NULL) {
        Py_DECREF((PyObject *)column);
        return NULL;
    }
    return column;
}

static bool column_reserve(struct column *column, Py_ssize_t more)
{
    if (more <= column->room - column->count)
        return true;
    Py_ssize_t room = column->room * 2 + more;
    void *items = realloc(column->items, (size_t)(room * column->item_nbytes));
    if (items != NULL) {
        column->items = items;
        unsigned char *null = column->null != NULL ? realloc(column->null, (size_t)room) : NULL;
        if (column->null == NULL || null != NULL) {
            column->null = null;
            column->room = room;
            return true;
        }
    }
    PyErr_NoMemory();
    return false;
}

/* A code of -1 is what pandas takes for no value. */
static bool add_null(struct column *column)
{
    if (column->null == NULL) {
        column->null = calloc((size_t)column->room, 1);
        if (column->null == NULL) {
            PyErr_NoMemory();
            return false;
        }
    }
    column->null[column->count] = 1;
    if (column->format[0] == 'i')
        ((int32_t *)column->items)[column->count] = -1;
    else
        memset((char *)column->items + column->count * column->item_nbytes, 0, (size_t)column->item_nbytes);
    return true;
}

static bool add_text(struct column *column, struct python_scan *scan, uint32_t index, size_t row)
{
    PyObject *text = tbed_python_value(scan, index, row);
    if (text == NULL || PyList_Append(column->names, text) != 0) {
        Py_XDECREF(text);
        return false;
    }
    Py_DECREF(text);
    ((int32_t *)column->items)[column->count] = (int32_t)(PyList_Size(column->names) - 1);
    return true;
}

static const void *array_of(const struct tbed_column_values *values)
{
    if (values->i64 != NULL)
        return values->i64;
    if (values->u64 != NULL)
        return values->u64;
    return values->f64 != NULL ? (const void *)values->f64 : (const void *)values->codes;
}

static bool add_value(struct column *column, struct python_scan *scan, uint32_t index, size_t row)
{
    const struct tbed_column_values *values = &scan->batch.columns[index];
    bool is_fine = column_reserve(column, 1);
    if (!is_fine)
        return false;
    if (tbed_python_is_null(values, row)) {
        is_fine = add_null(column);
    } else if (column->type == TBED_COLUMN_TEXT) {
        is_fine = add_text(column, scan, index, row);
    } else {
        memcpy((char *)column->items + column->count * column->item_nbytes,
               (const char *)array_of(values) + row * (size_t)column->item_nbytes,
               (size_t)column->item_nbytes);
    }
    if (column->null != NULL && !tbed_python_is_null(values, row))
        column->null[column->count] = 0;
    column->count += is_fine;
    return is_fine;
}

/* All rows of a batch, of which each has a value. */
static bool add_values(struct column *column, const struct tbed_column_values *values, size_t count)
{
    if (!column_reserve(column, (Py_ssize_t)count))
        return false;
    memcpy((char *)column->items + column->count * column->item_nbytes, array_of(values),
           count * (size_t)column->item_nbytes);
    if (column->null != NULL)
        memset(column->null + column->count, 0, count);
    column->count += (Py_ssize_t)count;
    return true;
}

static bool add_batch(struct column *column, struct python_scan *scan, uint32_t index)
{
    const struct tbed_column_values *values = &scan->batch.columns[index];
    if (values->nulls == NULL && column->type != TBED_COLUMN_TEXT)
        return add_values(column, values, scan->batch.row_count);
    for (size_t row = 0; row < scan->batch.row_count; row++)
        if (!add_value(column, scan, index, row))
            return false;
    return true;
}

static bool add_names(struct column *column, struct python_scan *scan)
{
    uint32_t count = tbed_scan_name_count(scan->scan);
    for (uint32_t code = 0; column->type == TBED_COLUMN_NAME && code < count; code++) {
        PyObject *name = tbed_python_name(scan, code);
        if (name == NULL || PyList_Append(column->names, name) != 0)
            return false;
    }
    return true;
}

/* Without conditions all rows of a batch are taken at once. */
static int fill_next(struct column **columns, struct python_scan *scan)
{
    size_t row = 0;
    bool takes_all = scan->query.constraint_count == 0, is_fine = true;
    int got = takes_all ? tbed_python_scan_batch(scan) : tbed_python_scan_next(scan, &row);
    for (Py_ssize_t i = 0; got > 0 && i < scan->query.column_count && is_fine; i++)
        is_fine = takes_all ? add_batch(columns[i], scan, scan->query.columns[i])
                            : add_value(columns[i], scan, scan->query.columns[i], row);
    return is_fine ? got : -1;
}

static bool fill(struct column **columns, struct python_scan *scan)
{
    int got;
    do {
        got = fill_next(columns, scan);
    } while (got > 0);
    for (Py_ssize_t i = 0; got == 0 && i < scan->query.column_count; i++)
        if (!add_names(columns[i], scan))
            return false;
    return got == 0;
}

PyObject *tbed_python_columns(struct python_trace *trace, struct python_query *query)
{
    struct python_scan scan;
    struct column *columns[PYTHON_COLUMNS_MAX] = {NULL};
    if (!tbed_python_scan_open(&scan, trace, query))
        return NULL;
    PyObject *dict = PyDict_New();
    bool is_fine = dict != NULL;
    for (Py_ssize_t i = 0; i < scan.query.column_count && is_fine; i++) {
        const struct tbed_column *about = &scan.query.table->columns[scan.query.columns[i]];
        columns[i] = column_new(about->type);
        is_fine = columns[i] != NULL && PyDict_SetItemString(dict, about->name, (PyObject *)columns[i]) == 0;
    }
    is_fine = is_fine && fill(columns, &scan);
    for (Py_ssize_t i = 0; i < PYTHON_COLUMNS_MAX; i++)
        Py_XDECREF((PyObject *)columns[i]);
    tbed_python_scan_close(&scan);
    if (is_fine)
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

/* ---- Used ---- */

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    static char empty[sizeof(int64_t)];
    struct column *column = (struct column *)self;
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns are read-only");
        view->obj = NULL;
        return -1;
    }
    *view = (Py_buffer){.buf = column->items != NULL ? column->items : empty,
                        .obj = Py_NewRef(self),
                        .len = column->count * column->item_nbytes,
                        .itemsize = column->item_nbytes,
                        .readonly = 1,
                        .ndim = 1,
                        .format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? column->format : NULL,
                        .shape = (flags & PyBUF_ND) == PyBUF_ND ? &column->count : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &column->item_nbytes : NULL};
    return 0;
}

static PyObject *get_null(PyObject *self, void *closure)
{
    struct column *column = (struct column *)self;
    (void)closure;
    if (column->null == NULL)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)column->null, column->count);
}

static PyObject *get_names(PyObject *self, void *closure)
{
    struct column *column = (struct column *)self;
    (void)closure;
    return Py_NewRef(column->names != NULL ? column->names : Py_None);
}

static Py_ssize_t length(PyObject *self)
{
    return ((struct column *)self)->count;
}

static PyObject *item_of(PyObject *self, Py_ssize_t index)
{
    struct column *column = (struct column *)self;
    if (index < 0 || index >= column->count) {
        PyErr_SetString(PyExc_IndexError, "column index out of range");
        return NULL;
    }
    if (column->null != NULL && column->null[index] != 0)
        return Py_NewRef(Py_None);
    switch (column->format[0]) {
    case 'q':
        return PyLong_FromLongLong(((const int64_t *)column->items)[index]);
    case 'Q':
        return PyLong_FromUnsignedLongLong(((const uint64_t *)column->items)[index]);
    case 'd':
        return PyFloat_FromDouble(((const double *)column->items)[index]);
    default:
        return Py_XNewRef(PyList_GetItem(column->names, ((const int32_t *)column->items)[index]));
    }
}

static void dealloc(PyObject *self)
{
    struct column *column = (struct column *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(column->items);
    free(column->null);
    Py_XDECREF(column->names);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

bool tbed_python_column_ready(PyObject *module)
{
    static PyGetSetDef getters[] = {
        {"null", get_null, NULL, "a byte for each row, 1 if it has no value; None if every row has one",
         NULL},
        {"names", get_names, NULL, "the texts that codes stand for; None for a column of numbers", NULL},
        {0}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc},
        {Py_tp_getset, getters},
        {Py_bf_getbuffer, get_buffer},
        {Py_sq_length, length},
        {Py_sq_item, item_of},
        {Py_tp_doc, "A column: a read-only buffer of numbers, or of codes of texts."},
        {0, NULL}};
    static PyType_Spec spec = {"tracebed.Column", sizeof(struct column), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    tbed_python_column_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return tbed_python_column_type != NULL &&
           PyModule_AddObjectRef(module, "Column", (PyObject *)tbed_python_column_type) == 0;
}
