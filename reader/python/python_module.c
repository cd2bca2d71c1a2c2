/*
 * Python's module tracebed._native: traces, and what the module knows of tables. See tracebed/__init__.py for what people
 * import.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/python/python_module.h"

PyTypeObject *tbed_python_trace_type;

/* ---- Trace ---- */

static PyObject *trace_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"path", NULL};
    PyObject *path, *bytes;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O", names, &path) ||
        !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct python_trace *trace = (struct python_trace *)alloc(type, 0);
    if (trace != NULL) {
        struct tbed_error error = {.offset = UINT64_MAX};
        enum tbed_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tbed_tables_open(PyBytes_AsString(bytes), &trace->tables, &error);
        Py_END_ALLOW_THREADS;
        if (status != TBED_OK) {
            trace->tables = NULL;
            tbed_python_fail(&error, path);
            Py_CLEAR(trace);
        }
    }
    Py_DECREF(bytes);
    return (PyObject *)trace;
}

static void trace_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tbed_tables_close(((struct python_trace *)self)->tables);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *trace_close(PyObject *self, PyObject *nothing)
{
    struct python_trace *trace = (struct python_trace *)self;
    (void)nothing;
    trace->is_closed = true;
    if (trace->scan_count == 0) { /* otherwise when the last scan is gone, with this object */
        tbed_tables_close(trace->tables);
        trace->tables = NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *scan_with(PyObject *self, PyObject *arguments, PyObject *keywords,
                           PyObject *(*make)(struct python_trace *trace, struct python_query *query))
{
    static char *names[] = {"table", "columns", "where", "any_order", "threads", NULL};
    PyObject *table, *columns = Py_None, *where = Py_None;
    int any_order = 0;
    unsigned thread_count = 0;
    struct python_query query;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|OO$pI", names, &table, &columns, &where,
                                     &any_order, &thread_count) ||
        !tbed_python_query_take(&query, table, columns, where))
        return NULL;
    query.any_order = any_order;
    query.thread_count = thread_count;
    return make((struct python_trace *)self, &query);
}

static PyObject *trace_rows(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return scan_with(self, arguments, keywords, tbed_python_rows);
}

static PyObject *trace_columns(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return scan_with(self, arguments, keywords, tbed_python_columns);
}

static PyObject *trace_damage_count(PyObject *self, void *closure)
{
    struct python_trace *trace = (struct python_trace *)self;
    (void)closure;
    if (trace->tables == NULL) {
        PyErr_SetString(PyExc_ValueError, "the trace is closed");
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(tbed_tables_damage_count(trace->tables));
}

static bool trace_ready(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"close", trace_close, METH_NOARGS,
         "Closes the trace. Scans that are open can be read to their ends."},
        {"rows", (PyCFunction)(void *)trace_rows, METH_VARARGS | METH_KEYWORDS,
         "rows(table, columns=None, where=None, *, any_order=False, threads=0)\n\n"
         "The rows of a table, one after another, as named tuples."},
        {"columns", (PyCFunction)(void *)trace_columns, METH_VARARGS | METH_KEYWORDS,
         "columns(table, columns=None, where=None, *, any_order=False, threads=0)\n\n"
         "The columns of a table, as a dict of names and buffers."},
        {0}};
    static PyGetSetDef getters[] = {{"damage_count", trace_damage_count, NULL,
                                     "how many places are damaged, as far as the trace has been read", NULL},
                                    {0}};
    static PyType_Slot slots[] = {{Py_tp_new, trace_new},
                                  {Py_tp_dealloc, trace_dealloc},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, getters},
                                  {Py_tp_doc, "Trace(path): an open trace, or a foreign file."},
                                  {0, NULL}};
    static PyType_Spec spec = {"tracebed._native.Trace", sizeof(struct python_trace), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    tbed_python_trace_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return tbed_python_trace_type != NULL &&
           PyModule_AddObjectRef(module, "Trace", (PyObject *)tbed_python_trace_type) == 0;
}

/* ---- Tables ---- */

static const char *type_name(enum tbed_column_type type)
{
    static const char *const names[] = {"int", "int", "float", "str", "str"};
    return names[type];
}

static PyObject *columns_of(const struct tbed_table *table)
{
    PyObject *columns = PyList_New((Py_ssize_t)table->column_count);
    for (size_t i = 0; columns != NULL && i < table->column_count; i++) {
        const struct tbed_column *column = &table->columns[i];
        PyObject *about = Py_BuildValue("(ssssi)", column->name, type_name(column->type), column->unit,
                                        column->summary, (int)column->is_parameter);
        if (about == NULL)
            Py_CLEAR(columns);
        else
            PyList_SetItem(columns, (Py_ssize_t)i, about);
    }
    return columns;
}

static PyObject *tables(PyObject *self, PyObject *nothing)
{
    const struct tbed_table *table;
    PyObject *all = PyDict_New();
    (void)self, (void)nothing;
    for (size_t i = 0; all != NULL && (table = tbed_table_get(i)) != NULL; i++) {
        PyObject *about = Py_BuildValue("(sN)", table->summary, columns_of(table));
        if (about == NULL || PyDict_SetItemString(all, table->name, about) != 0)
            Py_CLEAR(all);
        Py_XDECREF(about);
    }
    return all;
}

/* ---- The module ---- */

static PyMethodDef functions[] = {
    {"tables", tables, METH_NOARGS,
     "All tables: a dict of names to (summary, [(column, type, unit, summary, is_parameter)])."},
    {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "tracebed._native",
                                        "The native half of tracebed: see there.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL &&
        !(trace_ready(module) && tbed_python_rows_ready(module) && tbed_python_column_ready(module)))
        Py_CLEAR(module);
    return module;
}
