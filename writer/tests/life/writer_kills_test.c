/*
 * SIGKILL at any moment: every event that a program has acknowledged is in its trace, before and after sealing. In a
 * flight recorder, every thread has its newest ones.
 *
 * The program acknowledges an event by a store into shared memory, after the call that records it has returned. A killed
 * process stores nothing more, so the trace must hold at least what was acknowledged, in order and with the right
 * content. './run kills [N]' kills N times; without it this is a short run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 4u /* at most */
#define THREADS   3u
#define TELLERS   (PROCESSES * THREADS)
#define SMALL     250u                  /* small processes, one after the other */
#define SHARE     ((uint64_t)512 << 10) /* of a ring, for each thread: the least with which it keeps half */

struct told {
    uint64_t counts[SMALL]; /* how many steps each thread has acknowledged */
};
_Static_assert(TELLERS <= SMALL, "there is room for all");

struct teller {
    struct tbed_writer *writer;
    uint32_t number;
};

static struct told *told;
static uint32_t told_count = TELLERS; /* of their counts that are in use */
static uint64_t acknowledged_count, kill_count;

/* ---- What a thread records ---- */

/* Kinds of steps; each records one event. */
enum { BEGIN, END, COUNTER, MESSAGE, NAMED, BEGIN_ARGS, END_ARGS, PLAIN, KIND_COUNT };

static size_t step_text(char text[64], uint32_t thread, uint64_t step)
{
    return (size_t)snprintf(text, 64, "thread %u, step %llu", thread, (unsigned long long)step);
}

static void record_step(const struct teller *teller, struct tbed_recorder *recorder, uint64_t step)
{
    char text[64];
    struct tbed_argument argument = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = step};
    switch (step % KIND_COUNT) {
    case BEGIN:
        tbed_span_begin(recorder, step & 0xFFFF);
        break;
    case END:
        tbed_span_end(recorder);
        break;
    case COUNTER:
        tbed_counter_record_i64(recorder, 1, (int64_t)step);
        break;
    case MESSAGE:
        tbed_message_record(recorder, TBED_SEVERITY_NONE, text, step_text(text, teller->number, step));
        break;
    case NAMED:
        tbed_instant_record(recorder,
                            tbed_string_intern(teller->writer, text, step_text(text, teller->number, step)));
        break;
    case BEGIN_ARGS:
        tbed_span_begin_args(recorder, 2, &argument, 1);
        break;
    case END_ARGS:
        tbed_span_end_args(recorder, &argument, 1);
        break;
    default:
        tbed_instant_record(recorder, step & 0xFFFF);
    }
}

static bool text_is(struct tbed_reader *reader, uint32_t id, const char *text)
{
    char found[64];
    size_t nbytes;
    return tbed_string_resolve(reader, id, found, sizeof found, &nbytes) == TBED_OK &&
           strcmp(found, text) == 0;
}

static bool has_argument(const struct tbed_event *event, uint64_t value)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    if (event->argument_count != 1)
        return false;
    tbed_argument_next(&at, &argument);
    return argument.value.u64 == value;
}

static bool says(const struct tbed_event *event, const char *text)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    if (event->argument_count != 1)
        return false;
    tbed_argument_next(&at, &argument);
    return argument.nbytes == strlen(text) && memcmp(argument.value.text, text, argument.nbytes) == 0;
}

static bool is_step(struct tbed_reader *reader, const struct tbed_event *event, uint32_t thread,
                    uint64_t step)
{
    char text[64];
    step_text(text, thread, step);
    switch (step % KIND_COUNT) {
    case BEGIN:
        return event->type == TBED_EVENT_BEGIN && event->id == (step & 0xFFFF);
    case END:
        return event->type == TBED_EVENT_END && event->id == ((step - 1) & 0xFFFF);
    case COUNTER:
        return event->type == TBED_EVENT_COUNTER && event->counter_value.value.u64 == step;
    case MESSAGE:
        return event->type == TBED_EVENT_MESSAGE && says(event, text);
    case NAMED:
        return event->type == TBED_EVENT_INSTANT && text_is(reader, event->id, text);
    case BEGIN_ARGS:
        return event->type == TBED_EVENT_BEGIN && has_argument(event, step);
    case END_ARGS:
        return event->type == TBED_EVENT_END && has_argument(event, step);
    default:
        return event->type == TBED_EVENT_INSTANT && event->id == (step & 0xFFFF);
    }
}

/* ---- The program ---- */

static void *record_and_tell(void *argument)
{
    struct teller *teller = argument;
    char name[16];
    snprintf(name, sizeof name, "k%u", teller->number);
    struct tbed_recorder *recorder = tbed_recorder_open(teller->writer, name);
    for (uint64_t step = 0;; step++) {
        record_step(teller, recorder, step);
        __atomic_store_n(&told->counts[teller->number], step + 1, __ATOMIC_RELEASE);
        if (teller->number % THREADS == THREADS - 1 && step % 512 == 0)
            usleep(100); /* others record more meanwhile */
    }
    return NULL;
}

static _Noreturn void record_in_threads(struct tbed_writer *writer, uint32_t process)
{
    static struct teller tellers[THREADS];
    pthread_t thread;
    for (uint32_t i = 0; i < THREADS; i++) {
        tellers[i] = (struct teller){writer, process * THREADS + i};
        pthread_create(&thread, NULL, record_and_tell, &tellers[i]);
    }
    for (;;)
        pause();
}

/* All processes except the first are forked children; all are killed. */
static _Noreturn void record_until_killed(const char *path, const struct tbed_writer_options *options,
                                          uint32_t process_count)
{
    struct tbed_writer *writer = test_writer_open(path, options);
    pid_t parent = getpid();
    uint32_t process = 0;
    for (uint32_t i = 1; i < process_count && process == 0; i++)
        process = fork() == 0 ? i : 0;
    if (process != 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (process != 0 && getppid() != parent)
        _exit(0); /* it was killed before this process asked to be killed with it */
    record_in_threads(writer, process);
}

/* ---- Small processes ---- */

/* Few events, so that several of them share a page. Every third closes the trace. */
static _Noreturn void record_little(struct tbed_writer *writer, uint32_t number)
{
    struct teller teller = {writer, number};
    char name[16];
    snprintf(name, sizeof name, "k%u", number);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, name);
    for (uint64_t step = 0; step < 8 + number % 32; step++) {
        record_step(&teller, recorder, step);
        __atomic_store_n(&told->counts[number], step + 1, __ATOMIC_RELEASE);
    }
    if (number % 3 == 0)
        tbed_writer_close(writer);
    _exit(0);
}

/* Up to four at a time. Some are killed alone; all that there are when their parent is killed. */
static _Noreturn void record_in_small_processes(const char *path)
{
    struct tbed_writer *writer =
        test_writer_open(path, &(struct tbed_writer_options){.join = true, .no_helper = true});
    pid_t parent = getpid();
    for (uint32_t number = 0; number < SMALL; number++) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            record_little(writer, number);
        }
        if (number % 5 == 0)
            kill(child, SIGKILL);
        while (waitpid(-1, NULL, number < 3 ? WNOHANG : 0) < 0)
            continue;
    }
    for (;;)
        pause();
}

/* ---- The trace ---- */

static struct tbed_reader *open_sound(const char *path)
{
    struct tbed_reader *reader;
    struct tbed_error error;
    struct tbed_damage damage;
    if (tbed_reader_open(path, NULL, &reader, &error) != TBED_OK)
        fail_msg("%s: %s", path, tbed_status_text(error.status));
    enum tbed_status status = tbed_reader_verify(reader);
    if (tbed_damage_get(reader, 0, &damage))
        fail_msg("%s: %s in page %llu", path, tbed_status_name(damage.status),
                 (unsigned long long)damage.page);
    assert_int_equal(status, TBED_OK);
    return reader;
}

static uint32_t stream_named(struct tbed_reader *reader, const char *name)
{
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++)
        if (text_is(reader, info.name_id, name))
            return info.stream;
    return 0;
}

/* Continues each thread's count of steps with what the file has. */
static void count_steps(struct tbed_reader *reader, uint64_t steps[SMALL])
{
    for (uint32_t thread = 0; thread < told_count; thread++) {
        struct tbed_cursor *cursor;
        struct tbed_event event;
        char name[16];
        snprintf(name, sizeof name, "k%u", thread);
        uint32_t stream = stream_named(reader, name);
        if (stream == 0)
            continue;
        assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
        for (; tbed_cursor_next(cursor, &event) == TBED_OK; steps[thread]++)
            if (!is_step(reader, &event, thread, steps[thread]))
                fail_msg("event %llu of thread %u is another one", (unsigned long long)steps[thread], thread);
        tbed_cursor_close(cursor);
    }
}

/* The files of a series in order; of any other trace, the file. */
static size_t open_files(const char *path, struct tbed_reader *readers[], size_t room)
{
    char pattern[300];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s*", path);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    size_t count = files.gl_pathc;
    assert_true(count <= room);
    memset(readers, 0, room * sizeof *readers);
    for (size_t i = 0; i < count; i++) {
        struct tbed_trace_info info;
        struct tbed_reader *reader = open_sound(files.gl_pathv[i]);
        tbed_reader_info(reader, &info);
        size_t place = info.series_number == 0 ? 0 : info.series_number - 1;
        assert_true(place < count && readers[place] == NULL);
        readers[place] = reader;
    }
    globfree(&files);
    return count;
}

#define FILES_MAX 400

static void assert_nothing_is_lost(const char *path)
{
    static struct tbed_reader *readers[FILES_MAX];
    uint64_t steps[SMALL] = {0};
    size_t count = open_files(path, readers, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        count_steps(readers[i], steps);
        tbed_reader_close(readers[i]);
    }
    for (uint32_t thread = 0; thread < told_count; thread++)
        if (steps[thread] < told->counts[thread])
            fail_msg("thread %u acknowledged %llu events, %llu are there", thread,
                     (unsigned long long)told->counts[thread], (unsigned long long)steps[thread]);
}

/* ---- Flight recorders ---- */

/* The steps of a stream, of which earlier ones may be missing, end with all that were acknowledged. */
static void assert_newest_steps(struct tbed_reader *reader, uint32_t stream, uint32_t thread)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t first, count;
    struct tbed_block block;
    tbed_stream_blocks(reader, stream, &first, &count);
    assert_true(count > 0);
    assert_int_equal(tbed_event_block_get(reader, first, &block), TBED_OK);
    uint64_t next = block.sequence == 0 ? 0 : UINT64_MAX;
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        if (next != UINT64_MAX && is_step(reader, &event, thread, next))
            next++;
        else
            next = event.type == TBED_EVENT_COUNTER ? event.counter_value.value.u64 + 1 : UINT64_MAX;
    }
    tbed_cursor_close(cursor);
    if (next == UINT64_MAX || next < told->counts[thread])
        fail_msg("thread %u acknowledged %llu events, the last is %llu", thread,
                 (unsigned long long)told->counts[thread], (unsigned long long)next);
}

/* The bytes of the stream's last sealed blocks that follow each other; UINT64_MAX: nothing before them is missing. */
static uint64_t newest_nbytes(struct tbed_reader *reader, uint32_t stream)
{
    size_t first, count;
    uint64_t nbytes = 0;
    struct tbed_block block = {.sequence = 0};
    tbed_stream_blocks(reader, stream, &first, &count);
    for (size_t i = count; i-- > 0;) {
        uint32_t after = block.sequence;
        assert_int_equal(tbed_event_block_get(reader, first + i, &block), TBED_OK);
        if (i + 1 < count && block.sequence + 1 != after)
            return nbytes;
        nbytes += (uint64_t)((const uint8_t *)block.words_end - (const uint8_t *)block.words);
    }
    return block.sequence == 0 ? UINT64_MAX : nbytes;
}

static void assert_newest_are_kept(const char *path, uint32_t teller_count, bool is_sealed)
{
    struct tbed_reader *reader = open_sound(path);
    for (uint32_t thread = 0; thread < teller_count; thread++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", thread);
        uint32_t stream = stream_named(reader, name);
        if (told->counts[thread] == 0)
            continue;
        assert_newest_steps(reader, stream, thread);
        if (is_sealed)
            assert_in_range(newest_nbytes(reader, stream), SHARE / 2, UINT64_MAX);
    }
    tbed_reader_close(reader);
}

static void seal_all(const char *path)
{
    char pattern[300];
    glob_t files;
    struct tbed_error error;
    snprintf(pattern, sizeof pattern, "%s*", path);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        assert_int_equal(tbed_trace_seal(files.gl_pathv[i], &error), TBED_OK);
    globfree(&files);
}

static void remove_all(const char *path)
{
    char pattern[300];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s*", path);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++)
            unlink(files.gl_pathv[i]);
    globfree(&files);
}

/* ---- Killing ---- */

static bool has_told(void)
{
    for (uint32_t i = 0; i < told_count; i++)
        if (__atomic_load_n(&told->counts[i], __ATOMIC_ACQUIRE) != 0)
            return true;
    return false;
}

static uint64_t told_sum(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < told_count; i++)
        sum += told->counts[i];
    return sum;
}

/* At a random time, now and then even before the first event. */
static void kill_at_random(pid_t child, unsigned within_us)
{
    if (rand() % 8 != 0)
        while (!has_told() && waitpid(child, NULL, WNOHANG) == 0)
            usleep(200);
    usleep((useconds_t)rand() % within_us);
    kill(child, SIGKILL);
}

/* Takes in the grandchildren as well: this process is their subreaper. */
static void wait_for_all(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

static bool is_there(const char *path)
{
    struct tbed_reader *reader;
    if (access(path, F_OK) != 0)
        return false;
    if (tbed_reader_open(path, NULL, &reader, NULL) != TBED_OK) /* killed before its header was complete */
        return false;
    tbed_reader_close(reader);
    return true;
}

/* 'ring_tellers': how many threads record into a flight recorder; 0: it is none. */
static void check_and_seal(const char *path, uint32_t ring_tellers)
{
    acknowledged_count += told_sum();
    kill_count++;
    if (!is_there(path)) {
        assert_int_equal(told_sum(), 0);
        return;
    }
    for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
        if (is_sealed)
            seal_all(path);
        if (ring_tellers != 0)
            assert_newest_are_kept(path, ring_tellers, is_sealed);
        else
            assert_nothing_is_lost(path);
    }
}

static unsigned kills_each(void)
{
    const char *text = getenv("TBED_KILLS");
    return text != NULL ? ((unsigned)atoi(text) + 8) / 9 : 6;
}

static void print_result(const char *what)
{
    print_message("%s: %llu kills, %llu acknowledged events, 0 lost\n", what, (unsigned long long)kill_count,
                  (unsigned long long)acknowledged_count);
}

static void begin_kills(void)
{
    acknowledged_count = kill_count = 0;
    srand(20261122);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void kill_recorders(const char *what, const struct tbed_writer_options *options,
                           uint32_t process_count)
{
    uint32_t ring_tellers = options != NULL && options->ring_nbytes != 0 ? process_count * THREADS : 0;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("killed.tbed"));
    begin_kills();
    for (unsigned i = kills_each(); i > 0; i--) {
        remove_all(path);
        memset(told, 0, sizeof *told);
        pid_t child = fork();
        if (child == 0)
            record_until_killed(path, options, process_count);
        kill_at_random(child, ring_tellers != 0 ? 60000 : 12000);
        wait_for_all();
        check_and_seal(path, ring_tellers);
    }
    remove_all(path);
    print_result(what);
}

static void append_loses_nothing(void **state)
{
    (void)state;
    kill_recorders("append", NULL, 1);
}

static void append_without_a_helper_loses_nothing(void **state)
{
    (void)state;
    kill_recorders("append, no helper", &(struct tbed_writer_options){.no_helper = true}, 1);
}

static void two_processes_lose_nothing(void **state)
{
    (void)state;
    kill_recorders("append, two processes", NULL, 2);
}

static void small_processes_lose_nothing(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("small.tbed"));
    begin_kills();
    told_count = SMALL;
    for (unsigned i = kills_each(); i > 0; i--) {
        remove_all(path);
        memset(told, 0, sizeof *told);
        pid_t child = fork();
        if (child == 0)
            record_in_small_processes(path);
        kill_at_random(child, 60000);
        wait_for_all();
        check_and_seal(path, 0);
    }
    told_count = TELLERS;
    remove_all(path);
    print_result("small processes");
}

static void a_series_loses_nothing(void **state)
{
    (void)state;
    kill_recorders("rotation", &(struct tbed_writer_options){.rotate_nbytes = 1 << 20}, 1);
}

static void a_ring_keeps_the_newest_of_each_thread(void **state)
{
    (void)state;
    const char *names[] = {"ring", "ring, two processes", "ring, four processes"};
    for (uint32_t i = 0; i < 3; i++)
        kill_recorders(names[i], &(struct tbed_writer_options){.ring_nbytes = (THREADS << i) * SHARE},
                       1u << i);
}

/* ---- Under 'record' ---- */

#define SIZE_FIRST 40000u /* no other allocation has such a size */
#define SIZE_COUNT 20000u

static void *volatile allocated[THREADS];

static void *allocate_and_tell(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    char name[16];
    snprintf(name, sizeof name, "k%u", (unsigned)number);
    pthread_setname_np(pthread_self(), name); /* before the thread's first allocation */
    for (uint64_t step = 0;; step++) {
        allocated[number] = malloc(SIZE_FIRST + step % SIZE_COUNT);
        free(allocated[number]);
        __atomic_store_n(&told->counts[number], step + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* The recorded program; its standard input is the shared memory. */
static int allocate_until_killed(void)
{
    pthread_t thread;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
    if (told == MAP_FAILED)
        return 1;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, allocate_and_tell, (void *)i);
    for (;;)
        pause();
}

static _Noreturn void record_allocations(const char *path, int told_fd)
{
    char tool[300], self[4096];
    ssize_t nbytes = readlink("/proc/self/exe", self, sizeof self - 1);
    self[nbytes > 0 ? nbytes : 0] = 0;
    const char *folder = getenv("TBED_BUILD");
    snprintf(tool, sizeof tool, "%s/tracebed", folder != NULL ? folder : "build/release");
    dup2(told_fd, STDIN_FILENO);
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl(tool, tool, "record", "-o", path, "--", self, "--allocate", NULL);
    _exit(99);
}

/* The program that 'record' runs: its only child. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%d", &child) != 1)
        child = 0;
    fclose(file);
    return child;
}

static uint64_t count_allocations(struct tbed_reader *reader, uint32_t thread)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    char name[16];
    uint64_t count = 0;
    snprintf(name, sizeof name, "k%u", thread);
    uint32_t stream = stream_named(reader, name);
    if (stream == 0)
        return 0;
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        if (event.type == TBED_EVENT_ALLOC && event.of.alloc.size >= SIZE_FIRST &&
            event.of.alloc.size < SIZE_FIRST + SIZE_COUNT)
            assert_int_equal(event.of.alloc.size, SIZE_FIRST + count++ % SIZE_COUNT);
    tbed_cursor_close(cursor);
    return count;
}

static void check_allocations(const char *path)
{
    acknowledged_count += told_sum();
    kill_count++;
    if (!is_there(path)) {
        assert_int_equal(told_sum(), 0);
        return;
    }
    struct tbed_reader *reader = open_sound(path);
    for (uint32_t thread = 0; thread < THREADS; thread++)
        if (count_allocations(reader, thread) < told->counts[thread])
            fail_msg("thread %u acknowledged %llu allocations, %llu are there", thread,
                     (unsigned long long)told->counts[thread],
                     (unsigned long long)count_allocations(reader, thread));
    tbed_reader_close(reader);
}

/* Every other time the tool is killed first, so that nobody seals the trace. */
__attribute__((unused)) static void recorded_programs_lose_nothing(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("recorded.tbed"));
    begin_kills();
    struct told *before = told;
    int fd = memfd_create("told", 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (unsigned i = kills_each(); i > 0; i--) {
        remove_all(path);
        memset(told, 0, sizeof *told);
        pid_t tool = fork();
        if (tool == 0)
            record_allocations(path, fd);
        pid_t program;
        while ((program = child_of(tool)) == 0 && waitpid(tool, NULL, WNOHANG) == 0)
            usleep(200);
        assert_int_not_equal(program, 0);
        if (i % 2 == 0)
            kill(tool, SIGKILL);
        kill_at_random(program, 12000);
        wait_for_all();
        check_allocations(path);
    }
    print_result("record");
    close(fd);
    told = before;
}

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED __has_feature(address_sanitizer)
#else
#define IS_SANITIZED 0
#endif

int main(int argument_count, char **arguments)
{
    if (argument_count == 2 && strcmp(arguments[1], "--allocate") == 0)
        return allocate_until_killed();
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_loses_nothing),
        cmocka_unit_test(append_without_a_helper_loses_nothing),
        cmocka_unit_test(two_processes_lose_nothing),
        cmocka_unit_test(small_processes_lose_nothing),
        cmocka_unit_test(a_series_loses_nothing),
        cmocka_unit_test(a_ring_keeps_the_newest_of_each_thread),
#if !IS_SANITIZED /* the program's allocator would be the sanitizer's */
        cmocka_unit_test(recorded_programs_lose_nothing),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
