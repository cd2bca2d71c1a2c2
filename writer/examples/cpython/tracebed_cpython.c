/*
 * A module for CPython 3.11 that records what a Python program does: calls by function, and memory by file and line.
 *
 *     cc -shared -fPIC tracebed_cpython.c -o tracebed_cpython.so $(python3-config --includes) -ltracebed
 *
 *     import tracebed_cpython
 *     tracebed_cpython.start("run.tbed")      # or start("run.tbed", "calls"), or "allocations"
 *     threading.setprofile(tracebed_cpython.on_thread)
 *     work()
 *     tracebed_cpython.stop()
 *
 * It follows docs/vm.md. Calls come from PyEval_SetProfile(), which also reports C functions, every resumption of a
 * generator, and functions that an exception leaves. Memory comes from PyMem_SetAllocator(). The line of an allocation is
 * read from the interpreter's frames, as tracemalloc does: asking for a frame object would itself allocate.
 *
 * SPDX-License-Identifier: MIT
 */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include <string.h>
#include <tracebed/writer.h>

enum { RAW, MEMORY, OBJECT, DOMAINS };

struct domain {
    PyMemAllocatorEx below;
    uint32_t type;
};

static struct tbed_writer *writer; /* NULL: nothing is recorded */
static uint64_t run;               /* counts start() */
static struct domain domains[DOMAINS];
static Py_ssize_t code_index = -1; /* where a code object keeps the first id of its unit */

struct thread {
    struct tbed_recorder *recorder; /* of this run */
    uint64_t run;
    uint32_t depth;
    bool is_inside; /* an allocation: one domain may call another */
};
static __thread struct thread this_thread;

static struct thread *thread_now(void)
{
    struct thread *thread = &this_thread;
    if (thread->run != run) {
        bool is_inside = thread->is_inside;
        *thread =
            (struct thread){.recorder = tbed_recorder_open(writer, NULL), .run = run, .is_inside = is_inside};
    }
    return thread;
}

/* ---- Code objects as units: an id for each instruction ---- */

static const char *utf8(PyObject *text)
{
    const char *bytes = PyUnicode_AsUTF8(text);
    if (bytes == NULL)
        PyErr_Clear(); /* half a pair of surrogates */
    return bytes != NULL ? bytes : "?";
}

static uint32_t register_code(PyCodeObject *code)
{
    size_t count = (size_t)Py_SIZE(code), used = 0;
    uint32_t *lines = malloc((count + 1) * 2 * sizeof *lines);
    int last = -1;
    for (size_t i = 0; lines != NULL && i < count; i++) {
        int line = PyCode_Addr2Line(code, (int)(i * sizeof(_Py_CODEUNIT)));
        if (line <= 0 || line == last)
            continue;
        lines[2 * used] = (uint32_t)i;
        lines[2 * used++ + 1] = (uint32_t)line;
        last = line;
    }
    struct tbed_unit_options options = {.size = sizeof options,
                                        .kind = TBED_UNIT_BYTECODE,
                                        .pc_count = count,
                                        .name = utf8(code->co_qualname),
                                        .file = utf8(code->co_filename),
                                        .first_line = (uint32_t)code->co_firstlineno,
                                        .lines = lines,
                                        .line_count = used};
    uint32_t first_id = tbed_unit_register(writer, &options);
    free(lines);
    return first_id;
}

/* The interpreter frees what a code object keeps with the object, so no other one is ever taken for it. */
static uint32_t first_id_of(PyCodeObject *code)
{
    void *kept = NULL;
    _PyCode_GetExtra((PyObject *)code, code_index, &kept);
    if ((uintptr_t)kept >> 32 == run)
        return (uint32_t)(uintptr_t)kept;
    uint32_t first_id = register_code(code);
    if (_PyCode_SetExtra((PyObject *)code, code_index, (void *)(uintptr_t)(run << 32 | first_id)) != 0)
        PyErr_Clear();
    return first_id;
}

static uint32_t current_location(void)
{
    PyThreadState *state = _PyThreadState_UncheckedGet();
    struct _PyInterpreterFrame *frame = state != NULL ? state->cframe->current_frame : NULL;
    while (frame != NULL && _PyFrame_IsIncomplete(frame))
        frame = frame->previous;
    if (frame == NULL)
        return TBED_ID_INVALID;
    uint32_t first_id = first_id_of(frame->f_code);
    int index = _PyInterpreterFrame_LASTI(frame);
    return first_id == TBED_ID_INVALID ? first_id : first_id + (uint32_t)(index > 0 ? index : 0);
}

/* ---- Calls ---- */

static void begin(struct thread *thread, uint32_t id)
{
    thread->depth++;
    tbed_span_begin(thread->recorder, id);
}

/* What began before the recording is not known. */
static void end(struct thread *thread)
{
    if (thread->depth == 0)
        return;
    thread->depth--;
    tbed_span_end(thread->recorder);
}

static int on_event(PyObject *self, PyFrameObject *frame, int event, PyObject *argument)
{
    (void)self;
    if (writer == NULL) {
        PyEval_SetProfile(NULL, NULL);
        return 0;
    }
    struct thread *thread = thread_now();
    if (event == PyTrace_CALL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        begin(thread, first_id_of(code));
        Py_DECREF(code);
    } else if (event == PyTrace_C_CALL) {
        const char *name = PyCFunction_Check(argument) ? ((PyCFunctionObject *)argument)->m_ml->ml_name : "?";
        begin(thread, tbed_string_intern(writer, name, strlen(name)));
    } else {
        end(thread);
    }
    return 0;
}

/* What threading.setprofile() takes: at its first call in a thread it gives way to the hook in C. */
static PyObject *on_thread(PyObject *module, PyObject *arguments)
{
    PyObject *frame, *event, *argument;
    if (!PyArg_ParseTuple(arguments, "O!UO", &PyFrame_Type, &frame, &event, &argument))
        return NULL;
    PyEval_SetProfile(on_event, module);
    if (strcmp(utf8(event), "call") == 0)
        on_event(module, (PyFrameObject *)frame, PyTrace_CALL, argument);
    Py_RETURN_NONE;
}

/* ---- Memory ---- */

/* The raw domain is also used by threads that do not hold the lock, which have no line. */
static uint32_t typed_location(const struct domain *domain)
{
    bool has_line = domain != &domains[RAW] || PyGILState_Check();
    return tbed_typed_intern(writer, has_line ? current_location() : TBED_ID_INVALID, domain->type);
}

static void record_new(struct domain *domain, struct thread *thread, const void *block, size_t nbytes)
{
    if (block != NULL)
        tbed_alloc_record(thread->recorder, typed_location(domain), TBED_FUNCTION_MALLOC, (uintptr_t)block,
                          nbytes);
}

static void *allocate(void *context, size_t nbytes)
{
    struct domain *domain = context;
    struct thread *thread = thread_now();
    if (thread->is_inside)
        return domain->below.malloc(domain->below.ctx, nbytes);
    thread->is_inside = true;
    void *block = domain->below.malloc(domain->below.ctx, nbytes);
    record_new(domain, thread, block, nbytes);
    thread->is_inside = false;
    return block;
}

static void *allocate_zeroed(void *context, size_t count, size_t each_nbytes)
{
    struct domain *domain = context;
    struct thread *thread = thread_now();
    if (thread->is_inside)
        return domain->below.calloc(domain->below.ctx, count, each_nbytes);
    thread->is_inside = true;
    void *block = domain->below.calloc(domain->below.ctx, count, each_nbytes);
    record_new(domain, thread, block, count * each_nbytes);
    thread->is_inside = false;
    return block;
}

static void *reallocate(void *context, void *block, size_t nbytes)
{
    struct domain *domain = context;
    struct thread *thread = thread_now();
    if (thread->is_inside)
        return domain->below.realloc(domain->below.ctx, block, nbytes);
    thread->is_inside = true;
    uintptr_t old = (uintptr_t)block;
    uint64_t begin_tick = tbed_recorder_now(thread->recorder);
    void *result = domain->below.realloc(domain->below.ctx, block, nbytes);
    if (result != NULL && old != 0)
        tbed_realloc_record(thread->recorder, typed_location(domain), old, (uintptr_t)result, nbytes,
                            begin_tick);
    else
        record_new(domain, thread, result, nbytes);
    thread->is_inside = false;
    return result;
}

/* Recorded first: afterwards another thread may have the address. */
static void release(void *context, void *block)
{
    struct domain *domain = context;
    struct thread *thread = thread_now();
    bool is_inside = thread->is_inside;
    thread->is_inside = true;
    if (!is_inside && block != NULL)
        tbed_free_record(thread->recorder, TBED_ID_INVALID, TBED_FUNCTION_MALLOC, (uintptr_t)block);
    domain->below.free(domain->below.ctx, block);
    thread->is_inside = is_inside;
}

/* ---- The module ---- */

static const PyMemAllocatorDomain domain_of[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

static void hook_domains(void)
{
    static const char *const names[DOMAINS] = {"raw memory", "memory", "object"};
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx hook = {&domains[i], allocate, allocate_zeroed, reallocate, release};
        domains[i].type = tbed_string_intern(writer, names[i], strlen(names[i]));
        PyMem_GetAllocator(domain_of[i], &domains[i].below);
        PyMem_SetAllocator(domain_of[i], &hook);
    }
}

static void unhook_domains(void)
{
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx hook;
        PyMem_GetAllocator(domain_of[i], &hook);
        if (hook.ctx == &domains[i])
            PyMem_SetAllocator(domain_of[i], &domains[i].below);
    }
}

static PyObject *start(PyObject *module, PyObject *arguments)
{
    const char *path, *what = "calls and allocations";
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .process_name = "python"};
    struct tbed_error error;
    if (!PyArg_ParseTuple(arguments, "s|s", &path, &what))
        return NULL;
    if (writer != NULL)
        return PyErr_Format(PyExc_RuntimeError, "stop() was not called");
    if (code_index < 0 && (code_index = _PyEval_RequestCodeExtraIndex(NULL)) < 0)
        return PyErr_Format(PyExc_RuntimeError, "too many modules attach data to code objects");
    if (tbed_writer_open(path, &options, &writer, &error) != TBED_OK)
        return PyErr_Format(PyExc_OSError, "%s: %s", path, tbed_status_text(error.status));
    run++;
    if (strstr(what, "allocations") != NULL)
        hook_domains();
    if (strstr(what, "calls") != NULL)
        PyEval_SetProfile(on_event, module);
    Py_RETURN_NONE;
}

/* Call it when no other thread runs Python code: such a thread may be recording memory. */
static PyObject *stop(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    if (writer == NULL)
        Py_RETURN_NONE;
    PyEval_SetProfile(NULL, NULL);
    unhook_domains();
    tbed_span_end_to(thread_now()->recorder, 0);
    tbed_writer_close(writer);
    writer = NULL; /* the hooks of other threads see this */
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, "start(path[, what]): record calls, allocations, or both"},
    {"stop", stop, METH_NOARGS, "stop(): end the trace"},
    {"on_thread", on_thread, METH_VARARGS, "for threading.setprofile(): record new threads, too"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "tracebed_cpython", .m_size = -1,
                                 .m_methods = methods};

PyMODINIT_FUNC PyInit_tracebed_cpython(void)
{
    return PyModule_Create(&definition);
}
