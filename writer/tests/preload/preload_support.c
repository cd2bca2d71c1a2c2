/*
 * Runs programs with and without the recorder, and compares a helper's log with its trace.
 *
 * Log and trace are brought into one form, sorted by thread and then by order, and walked side by side.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Running ---- */

/* The loader takes no blanks in LD_PRELOAD: from such a checkout, a link. */
static void avoid_blanks(const char *name, char path[PATH_MAX])
{
    if (strstr(name, ".so") == NULL || strpbrk(path, ": \t\n$") == NULL)
        return;
    const char *link = test_path(name);
    if (symlink(path, link) != 0)
        fail_msg("%s: %s", link, strerror(errno));
    snprintf(path, PATH_MAX, "%s", link);
}

/* Our own libraries may be measured; the programs and libraries of tests are built once. */
const char *preload_path(const char *name)
{
    static char path[4][PATH_MAX];
    static unsigned next;
    char relative[512];
    const char *folder = strncmp(name, "libtracebed-", 12) == 0 ? getenv("TBED_PRELOAD_BUILD") : NULL;
    char *result = path[next++ % 4];
    snprintf(relative, sizeof relative, "%s/%s", folder != NULL ? folder : "build/preload", name);
    if (realpath(relative, result) == NULL)
        fail_msg("%s: %s", relative, strerror(errno));
    avoid_blanks(name, result);
    return result;
}

static _Noreturn void become(const struct preload_command *command, const char *library, int out)
{
    int in = open("/dev/null", O_RDONLY);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    if (command->trace != NULL) {
        setenv("LD_PRELOAD", library, 1);
        setenv("TRACEBED_PRELOAD_FILE", command->trace, 1);
    }
    if (command->variable != NULL)
        putenv(strdup(command->variable));
    if (command->prepare != NULL)
        command->prepare();
    execvp(command->argv[0], (char *const *)(uintptr_t)command->argv);
    _exit(99);
}

static void read_all(int fd, struct preload_outcome *outcome)
{
    size_t capacity = 0;
    for (;;) {
        if (outcome->nbytes + 4096 > capacity) {
            capacity = 2 * capacity + 8192;
            outcome->output = realloc(outcome->output, capacity);
            assert_non_null(outcome->output);
        }
        ssize_t nbytes = read(fd, outcome->output + outcome->nbytes, capacity - outcome->nbytes - 1);
        if (nbytes <= 0)
            break;
        outcome->nbytes += (size_t)nbytes;
    }
    outcome->output[outcome->nbytes] = '\0';
}

struct preload_outcome preload_run(const struct preload_command *command)
{
    struct preload_outcome outcome = {0};
    int fds[2];
    const char *library = preload_path("libtracebed-preload.so");
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        become(command, library, fds[1]);
    close(fds[1]);
    read_all(fds[0], &outcome);
    close(fds[0]);
    assert_int_equal(waitpid(pid, &outcome.status, 0), pid);
    return outcome;
}

void preload_run_both(const char *const *argv, const char *trace, void (*prepare)(void))
{
    struct preload_command command = {.argv = argv, .prepare = prepare};
    struct preload_outcome plain = preload_run(&command);
    unlink(trace);
    command.trace = trace;
    struct preload_outcome recorded = preload_run(&command);
    if (plain.status != recorded.status || strcmp(plain.output, recorded.output) != 0)
        fail_msg("%s: status %#x, output:\n%s\nbut recorded %#x:\n%s", argv[0], plain.status, plain.output,
                 recorded.status, recorded.output);
    free(plain.output);
    free(recorded.output);
}

struct tbed_reader *preload_open(const char *trace)
{
    struct tbed_error error = {.status = TBED_OK};
    enum tbed_status status = tbed_trace_seal(trace, &error);
    if (status != TBED_OK)
        fail_msg("%s: %s, errno %d", trace, tbed_status_text(status), error.system_errno);
    return test_reader_open(trace, true);
}

/* ---- Both sides in one form ---- */

struct call {
    uint32_t pid, tid;
    uint32_t call, function, wrapper;
    uint64_t address, old_address, nbytes;
    uint64_t order; /* within the thread, or by tick */
};

struct calls {
    struct call *all;
    size_t count, capacity;
};

static void append(struct calls *calls, const struct call *call)
{
    if (calls->count == calls->capacity) {
        calls->capacity = 2 * calls->capacity + 1024;
        calls->all = realloc(calls->all, calls->capacity * sizeof *calls->all);
        assert_non_null(calls->all);
    }
    calls->all[calls->count++] = *call;
}

static int by_thread(const void *a, const void *b)
{
    const struct call *left = a, *right = b;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

struct log_file *preload_log_open(const char *log)
{
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    void *map = mmap(NULL, sizeof(struct log_file), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    close(fd);
    return map;
}

/* A handler comes between a call and its entry in the log: what it does has an order of its own. */
static uint32_t thread_of(const struct log_file *log, uint32_t tid, uint32_t wrapper)
{
    return log->handler == wrapper + 1 ? tid | 1u << 31 : tid;
}

static struct calls calls_of_log(const struct log_file *log, bool sequential)
{
    struct calls calls = {0};
    for (uint64_t i = 0; i < log->entry_count; i++) {
        const struct log_entry *entry = &log->entries[i];
        struct call call = {
            .pid = entry->pid,
            .tid = sequential ? 0 : thread_of(log, entry->tid, entry->wrapper),
            .call = entry->call,
            .function = entry->function,
            .wrapper = entry->wrapper,
            .address = entry->address,
            .old_address = entry->old_address,
            .nbytes = entry->nbytes,
            .order = i,
        };
        assert_true(entry->is_complete);
        append(&calls, &call);
    }
    return calls;
}

/* ---- The trace ---- */

/* The wrapper that begins last before 'pc' in the module; UINT32_MAX: the helper has no such module. */
static uint32_t wrapper_of(struct tbed_reader *reader, const struct log_file *log, uint32_t id)
{
    struct tbed_unit_info unit;
    char name[256];
    size_t nbytes;
    uint64_t pc, best_distance = UINT64_MAX;
    uint32_t best = UINT32_MAX;
    if (!tbed_location_find(reader, id, &unit, &pc) ||
        tbed_string_resolve(reader, unit.name_id, name, sizeof name, &nbytes) != TBED_OK)
        return UINT32_MAX;
    for (uint32_t i = 0; i < log->wrapper_count; i++) {
        uint64_t distance = pc - log->wrappers[i].address;
        if (strcmp(log->wrappers[i].module, name) == 0 && distance < best_distance) {
            best_distance = distance;
            best = i;
        }
    }
    if (best != UINT32_MAX && best_distance >= LOG_WRAPPER_NBYTES)
        fail_msg("id %u: pc %#" PRIx64 " of %s is in no wrapper", id, pc, name);
    return best;
}

static bool call_of_event(const struct tbed_event *event, struct call *call)
{
    switch (event->type) {
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
        call->call = event->type == TBED_EVENT_ALLOC ? LOG_ALLOC : LOG_FREE;
        call->function = event->extended ? event->of.alloc.function : TBED_FUNCTION_MALLOC;
        call->address = event->of.alloc.address;
        call->nbytes = event->of.alloc.size;
        return true;
    case TBED_EVENT_REALLOC:
        call->call = LOG_REALLOC;
        call->function = TBED_FUNCTION_REALLOC;
        call->address = event->of.realloc.address;
        call->old_address = event->of.realloc.old_address;
        call->nbytes = event->of.realloc.size;
        assert_true(event->of.realloc.begin_tick != 0 && event->of.realloc.begin_tick <= event->tick);
        return true;
    default:
        return false;
    }
}

static uint32_t pid_of(const struct tbed_reader *reader, uint32_t process)
{
    struct tbed_process_info info;
    for (size_t i = 0; tbed_process_get(reader, i, &info); i++)
        if (info.stream == process)
            return info.pid;
    fail_msg("stream of no process: %u", process);
    return 0;
}

/* Locations repeat; finding the wrapper of each event anew would take minutes. */
struct wrapper_cache {
    uint32_t id, wrapper;
};

static uint32_t wrapper_cached(struct wrapper_cache cache[4096], struct tbed_reader *reader,
                               const struct log_file *log, uint32_t id)
{
    struct wrapper_cache *slot = &cache[id % 4096];
    if (slot->id != id || slot->wrapper == 0)
        *slot = (struct wrapper_cache){id, wrapper_of(reader, log, id) + 1};
    return slot->wrapper - 1;
}

static void calls_of_stream(struct tbed_reader *reader, const struct log_file *log,
                            const struct tbed_stream_info *stream, bool sequential, struct calls *calls)
{
    static struct wrapper_cache cache[4096];
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint32_t pid = pid_of(reader, stream->process);
    assert_int_equal(tbed_cursor_open(reader, stream->stream, &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        struct call call = {.pid = pid};
        if (!call_of_event(&event, &call))
            continue;
        call.wrapper = wrapper_cached(cache, reader, log, event.id);
        call.tid = sequential ? 0 : thread_of(log, stream->tid, call.wrapper);
        call.order = sequential ? event.tick : calls->count;
        if (call.wrapper != UINT32_MAX)
            append(calls, &call);
    }
    tbed_cursor_close(cursor);
    memset(cache, 0, sizeof cache);
}

static struct calls calls_of_trace(struct tbed_reader *reader, const struct log_file *log, bool sequential)
{
    struct calls calls = {0};
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        calls_of_stream(reader, log, &stream, sequential, &calls);
    return calls;
}

/* ---- The comparison ---- */

static bool is_same(const struct call *a, const struct call *b)
{
    return a->pid == b->pid && a->tid == b->tid && a->call == b->call && a->function == b->function &&
           a->wrapper == b->wrapper && a->address == b->address && a->old_address == b->old_address &&
           a->nbytes == b->nbytes;
}

static void print_call(const char *what, const struct call *call)
{
    print_error("%s: pid %u tid %u call %u function %u wrapper %u address %#" PRIx64 " old %#" PRIx64
                " size %" PRIu64 "\n",
                what, call->pid, call->tid, call->call, call->function, call->wrapper, call->address,
                call->old_address, call->nbytes);
}

/* How many of the log's calls the trace does not have; what the trace has and the log does not is a failure. */
static size_t count_missing(const struct calls *logged, const struct calls *traced, bool may_miss)
{
    size_t missing = 0, at = 0;
    for (size_t i = 0; i < logged->count; i++) {
        if (at < traced->count && is_same(&logged->all[i], &traced->all[at])) {
            at++;
            continue;
        }
        missing++;
        if (may_miss)
            continue;
        print_call("logged", &logged->all[i]);
        if (at < traced->count)
            print_call("traced", &traced->all[at]);
        fail_msg("call %zu of %zu is not in the trace, which has %zu", i, logged->count, traced->count);
    }
    if (at < traced->count) {
        print_call("traced", &traced->all[at]);
        fail_msg("%zu calls are in the trace but not in the log", traced->count - at);
    }
    return missing;
}

void preload_compare(struct tbed_reader *reader, const char *log_path, enum preload_comparison comparison)
{
    struct log_file *log = preload_log_open(log_path);
    bool sequential = comparison == PRELOAD_SEQUENTIAL;
    struct calls logged = calls_of_log(log, sequential);
    struct calls traced = calls_of_trace(reader, log, sequential);
    qsort(logged.all, logged.count, sizeof *logged.all, by_thread);
    qsort(traced.all, traced.count, sizeof *traced.all, by_thread);
    assert_true(logged.count > 0);
    size_t missing = count_missing(&logged, &traced, comparison == PRELOAD_DROPPED);
    uint64_t dropped = test_drop_count(reader);
    if (missing > dropped)
        fail_msg("%zu calls of %zu are missing, but only %" PRIu64 " were dropped", missing, logged.count,
                 dropped);
    if (comparison != PRELOAD_DROPPED)
        assert_int_equal(dropped, 0);
    free(logged.all);
    free(traced.all);
    munmap(log, sizeof *log);
}
