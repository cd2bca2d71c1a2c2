/*
 * Whatever the files of a trace of CTF are, verify finds nothing wrong with the imported trace, and it has the spans that
 * the report counts. If memory runs out on the way, the import fails or gives the same.
 *
 * An input has all files of a folder, each as a byte that says which, its length in two bytes, and its content. The process
 * that reads them is not sandboxed here; babeltrace2's library may crash in it. If the hidden file begins with 'l', calls of
 * the library and of the system fail too.
 *
 * Link with: -Wl,--wrap=dlopen,--wrap=dlsym,--wrap=fork
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "fuzz/support/scratch.h"
#include "reader/exchange/ctf/import/ctf_import.h"
#include "reader/exchange/ctf/import/ctf_read.h"
#include "reader/exchange/ctf/import/ctf_shadow.h"
#include "reader/symbols/process/symbol_worker.h"

#if __has_include(<babeltrace2/babeltrace.h>)
#include <babeltrace2/babeltrace.h>
#endif

static const char *const names[] = {"trace/metadata",
                                    "trace/one_0",
                                    "trace/one_1",
                                    "trace/index/one_0.idx",
                                    "trace/ust/uid/metadata",
                                    "trace/ust/uid/one_0",
                                    "trace/ust/uid/index/one_0.idx",
                                    "trace/.hidden",
                                    "trace/kernel/metadata",
                                    "trace/kernel/one_0"};
static const char *const folders[] = {"trace",         "trace/index",         "trace/ust",
                                      "trace/ust/uid", "trace/ust/uid/index", "trace/kernel"};
#define NAME_COUNT   (sizeof names / sizeof names[0])
#define FOLDER_COUNT (sizeof folders / sizeof folders[0])
#define RUNS_MAX     4

/* ---- Stubs for the sandbox, in which coverage could not be written ---- */

void tbed_symbol_jail_enter(void) {}

static bool is_killed; /* the process that reads */

void tbed_symbol_jail_limit_time(unsigned seconds)
{
    alarm(seconds);
    if (is_killed)
        kill(getpid(), SIGKILL);
}

void tbed_symbol_jail_close(int first)
{
    REQUIRE(first > 3);
    failing_stop(); /* the process that reads has memory */
}

/* ---- Libraries that are missing ---- */

static bool has_no_libraries;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    return has_no_libraries ? NULL : __real_dlopen(name, flags);
}

/* ---- Calls of the library that fail, and fields of CTF 2, which older libraries do not read ---- */

/* A call that is replaced, and perhaps another one with it. */
struct stub {
    const char *name;
    void (*call)(void);
    const char *other_name;
    void (*other)(void);
};

static const struct stub *stub; /* NULL: none */

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);
/* The sanitizers call it before they are ready. */
__attribute__((no_sanitize("address", "undefined"))) void *__wrap_dlsym(void *handle, const char *name)
{
    void *found = __real_dlsym(handle, name);
    if (stub != NULL && strcmp(name, stub->name) == 0)
        memcpy(&found, &stub->call, sizeof found);
    if (stub != NULL && stub->other_name != NULL && strcmp(name, stub->other_name) == 0)
        memcpy(&found, &stub->other, sizeof found);
    return found;
}

#if __has_include(<babeltrace2/babeltrace.h>)

static bt_value *no_value(void)
{
    return NULL;
}

static bt_value_array_append_element_status append_fails(bt_value *array, const char *text)
{
    (void)array, (void)text;
    return BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_MEMORY_ERROR;
}

static bt_value_map_insert_entry_status insert_fails(bt_value *map, const char *key, const bt_value *value)
{
    (void)map, (void)key, (void)value;
    return BT_VALUE_MAP_INSERT_ENTRY_STATUS_MEMORY_ERROR;
}

static bt_plugin_find_status find_fails(const char *name, bt_bool in_variable, bt_bool in_user,
                                        bt_bool in_system, bt_bool in_static, bt_bool fails_on_error,
                                        const bt_plugin **plugin)
{
    (void)name, (void)in_variable, (void)in_user, (void)in_system, (void)in_static, (void)fails_on_error;
    (void)plugin;
    return BT_PLUGIN_FIND_STATUS_NOT_FOUND;
}

static const bt_component_class_source *no_source(const bt_plugin *plugin, const char *name)
{
    (void)plugin, (void)name;
    return NULL;
}

static const bt_component_class_filter *no_filter(const bt_plugin *plugin, const char *name)
{
    (void)plugin, (void)name;
    return NULL;
}

static bt_graph *no_graph(uint64_t version)
{
    (void)version;
    return NULL;
}

static bt_graph_connect_ports_status connect_fails(bt_graph *graph, const bt_port_output *from,
                                                   const bt_port_input *to, const bt_connection **connection)
{
    (void)graph, (void)from, (void)to, (void)connection;
    return BT_GRAPH_CONNECT_PORTS_STATUS_MEMORY_ERROR;
}

static bt_graph_add_component_status filter_fails(bt_graph *graph, const bt_component_class_filter *of,
                                                  const char *name, const bt_value *parameters,
                                                  bt_logging_level level, const bt_component_filter **filter)
{
    (void)graph, (void)of, (void)name, (void)parameters, (void)level, (void)filter;
    return BT_GRAPH_ADD_COMPONENT_STATUS_MEMORY_ERROR;
}

static bt_graph_add_component_status sink_fails(bt_graph *graph, const char *name,
                                                bt_graph_simple_sink_component_initialize_func begin,
                                                bt_graph_simple_sink_component_consume_func consume,
                                                bt_graph_simple_sink_component_finalize_func end, void *given,
                                                const bt_component_sink **sink)
{
    (void)graph, (void)name, (void)begin, (void)consume, (void)end, (void)given, (void)sink;
    return BT_GRAPH_ADD_COMPONENT_STATUS_MEMORY_ERROR;
}

static bt_clock_snapshot_get_ns_from_origin_status time_fails(const bt_clock_snapshot *clock, int64_t *ns)
{
    (void)clock, (void)ns;
    return BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OVERFLOW_ERROR;
}

static bt_bool has_no_packets(const bt_stream_class *stream)
{
    (void)stream;
    return BT_FALSE;
}

static const char *no_name(const bt_event_class *event)
{
    (void)event;
    return NULL;
}

static bt_field_class_type is_bool(const bt_field *field)
{
    (void)field;
    return BT_FIELD_CLASS_TYPE_BOOL;
}

static bt_bool is_true(const bt_field *field)
{
    (void)field;
    return BT_TRUE;
}

static bt_field_class_type is_bits(const bt_field *field)
{
    (void)field;
    return BT_FIELD_CLASS_TYPE_BIT_ARRAY;
}

static uint64_t bits_of(const bt_field *field)
{
    (void)field;
    return 5;
}

static bt_field_class_type is_option(const bt_field *field)
{
    (void)field;
    return BT_FIELD_CLASS_TYPE_OPTION_WITHOUT_SELECTOR_FIELD;
}

static const bt_field *itself(const bt_field *field)
{
    return field;
}

static const bt_field *no_field(const bt_field *field)
{
    (void)field;
    return NULL;
}

#define STUB(name, call)                                                                                     \
    {                                                                                                        \
#name, (void (*)(void))(call), NULL, NULL                                                            \
    }
#define FIELDS(type_of, name, call)                                                                          \
    {                                                                                                        \
        "bt_field_get_class_type", (void (*)(void))(type_of), #name, (void (*)(void))(call)                  \
    }
static const struct stub stubs[] = {
    FIELDS(is_bool, bt_field_bool_get_value, is_true),
    FIELDS(is_bits, bt_field_bit_array_get_value_as_integer, bits_of),
    FIELDS(is_option, bt_field_option_borrow_field_const, itself),
    FIELDS(is_option, bt_field_option_borrow_field_const, no_field),
    STUB(bt_value_map_create, no_value),
    STUB(bt_value_array_create, no_value),
    STUB(bt_value_array_append_string_element, append_fails),
    STUB(bt_value_map_insert_entry, insert_fails),
    STUB(bt_plugin_find, find_fails),
    STUB(bt_plugin_borrow_source_component_class_by_name_const, no_source),
    STUB(bt_plugin_borrow_filter_component_class_by_name_const, no_filter),
    STUB(bt_graph_create, no_graph),
    STUB(bt_graph_connect_ports, connect_fails),
    STUB(bt_graph_add_filter_component, filter_fails),
    STUB(bt_graph_add_simple_sink_component, sink_fails),
    STUB(bt_clock_snapshot_get_ns_from_origin, time_fails),
    STUB(bt_stream_class_supports_packets, has_no_packets),
    STUB(bt_event_class_get_name, no_name),
};
#define STUB_COUNT (sizeof stubs / sizeof stubs[0])

#endif

/* ---- Processes that cannot be made ---- */

static bool fork_fails;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
    errno = EAGAIN;
    return fork_fails ? -1 : __real_fork();
}

/* ---- The folder ---- */

static void unpack(const uint8_t *data, size_t nbytes)
{
    for (size_t i = 0; i < FOLDER_COUNT; i++)
        mkdir(scratch_path(folders[i]), 0700);
    scratch_unpack(names, NAME_COUNT, data, nbytes);
}

static enum tbed_status import_folder(int fd, struct tbed_import_report *report)
{
    void *source;
    struct tbed_error error;
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_CTF};
    enum tbed_status status = tbed_ctf_source_open(scratch_path("trace"), -1, &source, &error);
    if (status != TBED_OK)
        return status;
    status = tbed_ctf_source_import(source, fd, report, &error);
    tbed_ctf_source_close(source);
    return status;
}

static int failing_errno; /* of file calls; 0: memory runs out */

static void import_failing(void *given)
{
    const struct tbed_import_report *whole = given;
    struct tbed_import_report report;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    if (failing_errno != 0)
        failing_start_files(failing_errno);
    else
        failing_start();
    enum tbed_status status = import_folder(fd, &report);
    failing_stop();
    REQUIRE(status == TBED_OK || failing_count() > 0);
    REQUIRE(failing_count() > 0 || report.event_count == whole->event_count);
    close(fd);
}

/* ---- What needs no process ---- */

#define PLACES_MAX 12

static void find_failing(void *given)
{
    struct ctf_folder folder;
    failing_start();
    bool is_there = tbed_ctf_folder_find(given, &folder);
    failing_stop();
    REQUIRE(is_there || failing_count() > 0);
    tbed_ctf_folder_free(&folder);
}

/* A stand-in for a folder of which one file is refused. */
struct refusal {
    const struct ctf_folder *folder;
    const char *name; /* behind the path of the last trace */
};

/* The library names the file where it reads it: in the stand-in, once there is one. */
static bool refuse(struct ctf_shadow *shadow, const struct ctf_folder *in, const struct refusal *refusal)
{
    char text[CTF_PATH_NBYTES * 2];
    snprintf(text, sizeof text, "File '%s%s", in->paths[in->count - 1], refusal->name);
    return tbed_ctf_shadow_refuse(shadow, refusal->folder, text, strlen(text));
}

static void make_failing(void *given)
{
    const struct refusal *refusal = given;
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    REQUIRE(shadow != NULL);
    if (refuse(shadow, refusal->folder, refusal)) {
        if (failing_errno != 0)
            failing_start_files(failing_errno);
        else
            failing_start();
        bool is_made = tbed_ctf_shadow_make(shadow, refusal->folder);
        failing_stop();
        REQUIRE(is_made || failing_count() > 0);
        REQUIRE(!is_made || !refuse(shadow, &shadow->folder, refusal));
    }
    tbed_ctf_shadow_remove(shadow);
    free(shadow);
}

/* Messages of the library that name a file of the trace, and others. */
static void check_refusals(const struct ctf_folder *folder)
{
    static const char *const inside[] = {"/one_0'", "/metadata': more", "/ust/uid/one_0'", "/'", "'", "x/y'"};
    static const char *const others[] = {"", "no file", "'", "''", "' '", "'/tmp/one_0'"};
    static const struct failing_plan each = {.run_count = PLACES_MAX};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        struct refusal refusal = {folder, inside[i]};
        failing_run(&each, make_failing, &refusal);
        failing_errno = EIO;
        failing_run(&each, make_failing, &refusal);
        failing_errno = EINTR;
        failing_run(&each, make_failing, &refusal);
        failing_errno = 0;
    }
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    REQUIRE(shadow != NULL);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        REQUIRE(!tbed_ctf_shadow_refuse(shadow, folder, others[i], strlen(others[i])));
    free(shadow);
}

/* Where no stand-in can be made, and where TMPDIR says nothing of use. */
static void check_places(const struct ctf_folder *folder)
{
    char path[300];
    const char *own = getenv("TMPDIR");
    REQUIRE(own != NULL);
    char *kept = strdup(own);
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    REQUIRE(kept != NULL && shadow != NULL);
    setenv("TMPDIR", scratch_path("nothing"), 1);
    REQUIRE(!tbed_ctf_shadow_make(shadow, folder));
    unsetenv("TMPDIR");
    REQUIRE(tbed_ctf_shadow_make(shadow, folder) && strncmp(shadow->path, "/tmp/", 5) == 0);
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    setenv("TMPDIR", path, 1);
    REQUIRE(tbed_ctf_shadow_make(shadow, folder) && strncmp(shadow->path, "/tmp/", 5) == 0);
    tbed_ctf_shadow_remove(shadow);
    setenv("TMPDIR", kept, 1);
    free(kept);
    free(shadow);
}

static void check_folder(void)
{
    static const struct failing_plan each = {.run_count = PLACES_MAX};
    struct ctf_folder folder;
    char path[CTF_PATH_NBYTES];
    snprintf(path, sizeof path, "%s", scratch_path("trace"));
    failing_run(&each, find_failing, path);
    REQUIRE(tbed_ctf_folder_find(path, &folder));
    check_refusals(&folder);
    check_places(&folder);
    tbed_ctf_folder_free(&folder);
}

/* ---- Other folders ---- */

/* What is deeper than a session can be, a folder that is named as metadata, and what is no folder. */
static void check_depth(void)
{
    static const char *const inside[] = {"",
                                         "/archives",
                                         "/archives/1",
                                         "/archives/1/2",
                                         "/metadata",
                                         "/archives/1/2/3",
                                         "/archives/1/2/3/4",
                                         "/archives/1/2/3/4/5",
                                         "/archives/1/2/3/4/5/6"};
    char path[256];
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        snprintf(path, sizeof path, "%s%s", scratch_path("deep"), inside[i]);
        REQUIRE(mkdir(path, 0700) == 0);
    }
    REQUIRE(!tbed_ctf_folder_is(scratch_path("deep")));
    REQUIRE(!tbed_ctf_folder_is(scratch_path("none")) && !tbed_ctf_folder_is("/dev/null"));
}

/* A folder whose files have too long a path. */
static void check_long_path(void)
{
    char path[CTF_PATH_NBYTES];
    size_t at = (size_t)snprintf(path, sizeof path, "%s", scratch_path("long")), starts[40], count = 0;
    REQUIRE(mkdir(path, 0700) == 0);
    while (at < sizeof path - 8) {
        size_t end = at + 200 < sizeof path - 8 ? at + 200 : sizeof path - 6;
        starts[count++] = at;
        path[at] = '/';
        memset(path + at + 1, 'd', end - at - 1);
        path[end] = '\0';
        REQUIRE(mkdir(path, 0700) == 0);
        at = end;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0 && mkdirat(fd, "inside", 0700) == 0);
    REQUIRE(!tbed_ctf_folder_is(path));
    REQUIRE(unlinkat(fd, "inside", AT_REMOVEDIR) == 0);
    close(fd);
    while (count > 0) {
        REQUIRE(rmdir(path) == 0);
        path[starts[--count]] = '\0';
    }
}

/* ---- Processes and the library ---- */

static enum tbed_status import_again(const void *source, struct tbed_import_report *report)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_CTF};
    enum tbed_status status = tbed_ctf_source_import(source, fd, report, NULL);
    close(fd);
    return status;
}

static void check_process(const void *source)
{
    struct tbed_import_report report;
    struct rlimit limit;
    fork_fails = true;
    REQUIRE(import_again(source, &report) == TBED_ERR_READ);
    fork_fails = false;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, limit.rlim_max}); /* no more */
    REQUIRE(tbed_ctf_source_import(source, fd, &report, NULL) == TBED_ERR_READ);
    setrlimit(RLIMIT_NOFILE, &limit);
    close(fd);
    is_killed = true;
    REQUIRE(import_again(source, &report) == TBED_OK && report.damage_count > 0);
    is_killed = false;
    signal(SIGCHLD, SIG_IGN); /* nobody can wait for it */
    REQUIRE(import_again(source, &report) == TBED_OK);
    signal(SIGCHLD, SIG_DFL);
}

static void check_library(const void *source)
{
#if __has_include(<babeltrace2/babeltrace.h>)
    struct tbed_import_report report;
    for (size_t i = 0; i < STUB_COUNT; i++) {
        stub = &stubs[i];
        enum tbed_status status = import_again(source, &report);
        REQUIRE(status == TBED_OK || status == TBED_ERR_NO_LIBRARY);
    }
    stub = NULL;
#endif
    (void)source;
}

static void check_others(void)
{
    void *source;
    check_depth();
    check_long_path();
    REQUIRE(tbed_ctf_source_open(NULL, -1, &source, NULL) == TBED_ERR_NOT_A_TRACE);
    REQUIRE(tbed_ctf_source_open(scratch_path("trace"), -1, &source, NULL) == TBED_OK);
    check_process(source);
    check_library(source);
    tbed_ctf_source_close(source);
}

/* They take long and hardly depend on the input. */
static bool wants_others(void)
{
    static bool is_done;
    char byte = 0;
    FILE *hidden = fopen(scratch_path("trace/.hidden"), "rb");
    if (hidden == NULL)
        return false;
    bool wants = !is_done && fread(&byte, 1, 1, hidden) == 1 && byte == 'l';
    fclose(hidden);
    is_done |= wants;
    return wants;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX},
                                     each_of_file = {.run_count = 3 * RUNS_MAX};
    struct tbed_import_report report;
    struct tbed_reader *reader;
    unpack(data, nbytes);
    if (!tbed_ctf_folder_is(scratch_path("trace")))
        return 0;
    check_folder();
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    has_no_libraries = true;
    REQUIRE(import_folder(fd, &report) == TBED_ERR_NO_LIBRARY && ftruncate(fd, 0) == 0);
    has_no_libraries = false;
    enum tbed_status status = import_folder(fd, &report);
    REQUIRE(status == TBED_OK || status == TBED_ERR_NO_LIBRARY);
    if (status == TBED_OK) {
        REQUIRE(tbed_reader_open_fd(fd, NULL, &reader, NULL) == TBED_OK);
        imported_check(reader, &report);
        tbed_reader_close(reader);
        failing_run(&each, import_failing, &report);
        failing_errno = EIO; /* where a stand-in is made, or the trace is written */
        failing_run(report.damage_count > 0 ? &each_of_file : &each, import_failing, &report);
        failing_errno = 0;
        if (wants_others())
            check_others();
    }
    close(fd);
    return 0;
}
