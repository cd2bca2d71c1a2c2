/*
 * Programs that close, replace and hand out descriptors at random, as daemons do, fork, and go on recording: the trace
 * has every event, and no file, socket or pipe of the program's own is touched.
 *
 * Each program is a sequence of random steps. Its own notes are the oracle: how many events each of its processes has
 * recorded, in shared memory, and what its descriptors were when it opened them. TBED_LONG=1: 400 programs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/tests/sanitizer.h"
#include "writer/tests/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 16u
#define FOREIGN_MAX   12
#define FOREIGN_FLOOR 1000 /* above the numbers that a writer uses */
#define FOREIGN_TEXT  "this belongs to the program"

struct notes {
    uint32_t process_count;         /* atomic */
    uint64_t counts[PROCESSES_MAX]; /* events of each process */
    uint32_t failures;              /* atomic */
};

struct foreign {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
    off_t nbytes;
};

struct program {
    uint64_t random;
    const char *path;
    struct tbed_writer *writer;
    struct tbed_recorder *recorder;
    uint32_t process;
    bool is_series, has_helper;
    struct foreign foreign[FOREIGN_MAX];
};

static struct notes *notes;
static char folder[256];

static uint64_t below(struct program *program, uint64_t bound)
{
    program->random = program->random * 6364136223846793005u + 1442695040888963407u;
    return (program->random >> 33) % bound;
}

static void fail_here(const char *what)
{
    fprintf(stderr, "%s\n", what);
    __atomic_fetch_add(&notes->failures, 1, __ATOMIC_RELAXED);
}

/* ---- The program's own descriptors ---- */

static void remember(struct foreign *foreign, int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return;
    *foreign = (struct foreign){fd, status.st_dev, status.st_ino, status.st_size};
}

static struct foreign *free_place(struct program *program)
{
    struct foreign *place = &program->foreign[below(program, FOREIGN_MAX)];
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
    return place;
}

static int open_file(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/foreign-XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    unlink(path);
    return write(fd, FOREIGN_TEXT, sizeof FOREIGN_TEXT) == (ssize_t)sizeof FOREIGN_TEXT ? fd : -1;
}

static int open_other(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return -1;
    close(pair[1]);
    return pair[0];
}

/*
 * A number that was just closed is the next to be handed out. If the helper is between its check of a descriptor and
 * close(), which no check can exclude, it would close the program's; so with a helper the program has other numbers.
 */
static void open_foreign(struct program *program)
{
    struct foreign *place = free_place(program);
    int fd = below(program, 3) == 0 ? open_other() : open_file();
    if (program->has_helper && fd >= 0) {
        int high = fcntl(fd, F_DUPFD, FOREIGN_FLOOR);
        close(fd);
        fd = high;
    }
    remember(place, fd);
}

/* Descriptors are still what they were, and files have what was written. */
static void check_foreign(const struct program *program)
{
    for (int i = 0; i < FOREIGN_MAX; i++) {
        const struct foreign *foreign = &program->foreign[i];
        struct stat status;
        char text[sizeof FOREIGN_TEXT];
        if (foreign->fd < 0)
            continue;
        if (fstat(foreign->fd, &status) != 0 || status.st_ino != foreign->inode ||
            status.st_dev != foreign->device)
            fail_here("a descriptor of the program was closed or replaced");
        else if (status.st_size != foreign->nbytes)
            fail_here("a file of the program has changed its size");
        else if (S_ISREG(status.st_mode) &&
                 (pread(foreign->fd, text, sizeof text, 0) != (ssize_t)sizeof text ||
                  memcmp(text, FOREIGN_TEXT, sizeof text) != 0))
            fail_here("a file of the program has changed");
    }
}

static bool is_foreign(const struct program *program, int fd)
{
    for (int i = 0; i < FOREIGN_MAX; i++)
        if (program->foreign[i].fd == fd)
            return true;
    return false;
}

/* Descriptors that are neither the program's nor the standard ones: what the writer has. */
static size_t list_others(const struct program *program, int fds[64])
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd > 2 && fd != dirfd(dir) && !is_foreign(program, fd) && count < 64)
            fds[count++] = fd;
    }
    closedir(dir);
    return count;
}

static void close_others(struct program *program)
{
    int fds[64];
    for (size_t count = list_others(program, fds); count > 0; count--)
        close(fds[count - 1]);
}

/* Puts files and sockets of the program where the writer had its descriptors; without a helper, as in open_foreign(). */
static void replace_others(struct program *program)
{
    int fds[64];
    if (program->has_helper)
        return;
    for (size_t count = list_others(program, fds); count > 0; count--) {
        struct foreign *place = free_place(program);
        int fd = below(program, 2) == 0 ? open_other() : open_file();
        remember(place, dup2(fd, fds[count - 1]));
        close(fd);
    }
}

/* ---- Steps ---- */

static void record(struct program *program)
{
    uint64_t count = below(program, 3) == 0 ? 40000 : below(program, 3000);
    for (; count > 0; count--) {
        tbed_instant_record(program->recorder, notes->counts[program->process] & 0xFFFFF);
        notes->counts[program->process]++;
    }
}

static void open_recorder(struct program *program)
{
    char name[16];
    snprintf(name, sizeof name, "p%u", program->process);
    program->recorder = tbed_recorder_open(program->writer, name);
}

static void *record_in_thread(void *argument)
{
    struct program *program = argument;
    struct tbed_recorder *recorder = tbed_recorder_open(program->writer, "thread");
    for (uint32_t i = 0; i < 500; i++)
        tbed_instant_record(recorder, i);
    tbed_recorder_close(recorder);
    return NULL;
}

static void start_thread(struct program *program)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, record_in_thread, program) == 0)
        pthread_join(thread, NULL);
}

static void run_steps(struct program *program, unsigned count);

static void end_process(struct program *program)
{
    check_foreign(program);
    if (below(program, 4) != 0)
        tbed_writer_close(program->writer);
    check_foreign(program);
    _exit(0);
}

static bool others_sleep(void)
{
    bool do_sleep = true;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        char path[300], state = 'S';
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        bool is_other = atoi(entry->d_name) > 0 && atoi(entry->d_name) != gettid();
        FILE *file = is_other ? fopen(path, "r") : NULL;
        if (file != NULL && fscanf(file, "%*d %*s %c", &state) == 1)
            do_sleep &= state == 'S';
        if (file != NULL)
            fclose(file);
    }
    closedir(tasks);
    return do_sleep;
}

/* In a child that is forked while another thread begins, the lock of AddressSanitizer's allocator is never given back. */
static void wait_for_sanitizer(void)
{
    while (TEST_HAS_ASAN && !others_sleep())
        usleep(1000);
}

/* A child goes on with a recorder of its own; the parent waits, goes on too, or ends, as a daemon's does. */
static void fork_somehow(struct program *program)
{
    uint32_t process = __atomic_fetch_add(&notes->process_count, 1, __ATOMIC_RELAXED);
    if (process >= PROCESSES_MAX)
        return;
    wait_for_sanitizer();
    pid_t child = fork();
    if (child == 0) {
        program->process = process;
        program->random += process;
        if (below(program, 2) == 0)
            setsid();
        if (below(program, 2) == 0)
            close_others(program);
        open_recorder(program);
        run_steps(program, 8);
        end_process(program);
    }
    switch (below(program, 3)) {
    case 0:
        waitpid(child, NULL, 0);
        break;
    case 1:
        _exit(0);
    default:
        break;
    }
}

static void vfork_and_exit(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void step(struct program *program)
{
    switch (below(program, 12)) {
    case 0:
        close_others(program);
        break;
    case 1:
        replace_others(program);
        break;
    case 2:
        open_foreign(program);
        break;
    case 3:
        fork_somehow(program);
        break;
    case 4:
        if (program->is_series)
            tbed_rotate(program->writer, NULL);
        break;
    case 5:
        start_thread(program);
        break;
    case 6:
        vfork_and_exit();
        break;
    case 7:
        tbed_string_intern(program->writer, (char *)&program->random, sizeof program->random);
        break;
    default:
        record(program);
    }
}

static void run_steps(struct program *program, unsigned count)
{
    for (; count > 0; count--) {
        step(program);
        check_foreign(program);
    }
}

static void run_program(uint64_t seed, const char *path)
{
    struct program program = {.random = seed * 7919 + 1, .path = path};
    for (int i = 0; i < FOREIGN_MAX; i++)
        program.foreign[i].fd = -1;
    program.is_series = below(&program, 3) == 0;
    program.has_helper = below(&program, 2) == 0;
    struct tbed_writer_options options = {.page_nbytes = 4096,
                                          .no_helper = !program.has_helper,
                                          .rotate_nbytes = program.is_series ? 1 << 18 : 0,
                                          .ring_nbytes = 0};

    program.writer = test_writer_open(path, &options);
    open_recorder(&program);
    run_steps(&program, 24);
    end_process(&program);
}

/* ---- The check ---- */

static void count_events(const char *path, uint64_t counts[PROCESSES_MAX])
{
    struct tbed_reader *reader;
    struct tbed_stream_info info;
    struct tbed_error error;
    struct tbed_damage damage;
    if (tbed_reader_open(path, NULL, &reader, &error) != TBED_OK)
        fail_msg("%s: %s", path, tbed_status_text(error.status));
    if (tbed_reader_verify(reader) != TBED_OK && tbed_damage_get(reader, 0, &damage))
        fail_msg("%s: %s", path, tbed_status_name(damage.status));
    assert_int_equal(test_drop_count(reader), 0);
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        char name[32];
        size_t nbytes, count;
        if (tbed_string_resolve(reader, info.name_id, name, sizeof name, &nbytes) != TBED_OK ||
            name[0] != 'p')
            continue;
        struct tbed_event *events = test_events(reader, info.stream, &count);
        uint64_t *next = &counts[atoi(name + 1)];
        if (count > 0 && events[0].id != (*next & 0xFFFFF))
            fail_msg("%s: %s begins with event %u instead of %llu", path, name, events[0].id,
                     (unsigned long long)*next);
        for (size_t k = 0; k < count; k++, ++*next)
            assert_int_equal(events[k].id, *next & 0xFFFFF);
        free(events);
    }
    tbed_reader_close(reader);
}

/* The files of a series before the one with the plain name, which is the newest. Children have series of their own. */
static void check_trace(const char *path)
{
    uint64_t counts[PROCESSES_MAX] = {0};
    char pattern[300];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s*", path);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (unsigned closed = 0; closed < 2; closed++)
        for (size_t i = 0; i < files.gl_pathc; i++) {
            const char *dot = strrchr(files.gl_pathv[i], '.');
            bool is_closed = strlen(dot) == 7; /* ".000001" */
            if (is_closed == (closed == 0))
                count_events(files.gl_pathv[i], counts);
        }
    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        if (counts[i] != notes->counts[i])
            fail_msg("process %u recorded %llu events, %llu are there", i,
                     (unsigned long long)notes->counts[i], (unsigned long long)counts[i]);
    for (size_t i = 0; i < files.gl_pathc; i++)
        unlink(files.gl_pathv[i]);
    globfree(&files);
}

static void random_programs_keep_their_descriptors_and_their_events(void **state)
{
    (void)state;
    char path[256];
    const char *text = getenv("TBED_LONG");
    unsigned count = text != NULL && atoi(text) != 0 ? 400 : 40;
    snprintf(path, sizeof path, "%s", test_path("run.tbed"));
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (uint64_t seed = 1; seed <= count; seed++) {
        memset(notes, 0, sizeof *notes);
        notes->process_count = 1;
        pid_t child = fork();
        if (child == 0)
            run_program(seed, path);
        int status;
        while (wait(&status) > 0)
            if (status != 0)
                fail_msg("seed %llu: a process ended with status %x", (unsigned long long)seed, status);
        if (notes->failures != 0)
            fail_msg("seed %llu", (unsigned long long)seed);
        check_trace(path);
    }
}

int main(void)
{
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_their_descriptors_and_their_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
