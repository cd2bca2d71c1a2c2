/*
 * A program that allocates in every way there is, and keeps a log of it that the test compares with the
 * trace.
 *
 *   preload_calls_helper MODE LOG [ARGUMENT]
 *
 * What it prints must be the same whether it is recorded or not.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "writer/tests/preload/preload_wrappers.h"

#define THREAD_COUNT 8
#define SLOT_COUNT   256

static const char *program_path, *log_path, *argument;
static void *slots[SLOT_COUNT]; /* blocks that go from thread to thread */

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void random_call(uint64_t *random)
{
    uint64_t value = random_next(random);
    void **slot = &slots[value % SLOT_COUNT];
    void *old = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
    size_t nbytes = (value >> 20) % ((value >> 60) == 0 ? 100000 : 500) + 1;
    int error;
    switch ((value >> 8) % 6) {
    case 0:
        do_free(old);
        old = NULL;
        break;
    case 1:
        old = do_realloc(old, nbytes);
        break;
    case 2:
        do_free(old);
        old = do_calloc(nbytes, 2);
        break;
    case 3:
        do_free(old);
        old = do_posix_memalign(64, nbytes, &error);
        break;
    default:
        do_free(old);
        old = do_malloc(nbytes);
    }
    do_free(__atomic_exchange_n(slot, old, __ATOMIC_ACQ_REL));
}

static void random_calls(uint64_t seed, size_t count)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15u | 1;
    for (size_t i = 0; i < count; i++)
        random_call(&random);
}

static void *thread_main(void *seed)
{
    random_calls((uintptr_t)seed, 20000);
    return NULL;
}

static void run_threads(size_t count)
{
    pthread_t threads[THREAD_COUNT];
    for (size_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)(i + 1));
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* ---- One way after the other, those that fail included ---- */

static void tell(const char *what, const void *address)
{
    printf("%s: %s, errno %d\n", what, address != NULL ? "an address" : "NULL", errno);
    errno = 0;
}

static void mode_each(void)
{
    int error;
    volatile size_t huge = SIZE_MAX / 2; /* volatile: the compiler knows that it is too much */
    errno = 0;
    void *kept = do_malloc(24);
    tell("malloc", kept);
    tell("too much", do_malloc(huge));
    tell("calloc overflow", do_calloc(huge, 4));
    tell("realloc too much", do_realloc(kept, huge));
    kept = do_realloc(kept, 100000);
    tell("realloc", kept);
    tell("realloc to 0", do_realloc(kept, 0));
    kept = do_realloc(NULL, 77);
    kept = do_reallocarray(kept, 10, 20);
    tell("reallocarray overflow", do_reallocarray(kept, huge, 16));
    do_free(kept);
    do_free(NULL);
    do_free(do_malloc(0));
    kept = do_posix_memalign(3, 10, &error);
    printf("posix_memalign of 3: %d, errno %d\n", error, errno);
    do_free(do_posix_memalign(256, 1000, &error));
    do_free(do_aligned_alloc(64, 640));
    do_free(do_memalign(4096, 10));
    do_free(do_valloc(5000));
    do_free(do_pvalloc(5000));
    do_free(do_calloc(3, 7));
    for (size_t nbytes = 1; nbytes < (size_t)1 << 26; nbytes = nbytes * 3 + 1)
        do_free(do_malloc(nbytes));
}

/* ---- Processes ---- */

static void *fork_noise(void *stop)
{
    uint64_t random = 99;
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        random_call(&random);
    return NULL;
}

/* A chain of children; the last but one leaves by way of its exit handlers. */
static void in_child(int depth)
{
    pid_t pid = 0;
    for (; pid == 0; depth--) {
        random_calls((uint64_t)depth + 50, 3000);
        if (depth == 0)
            _exit(0);
        pid = fork();
    }
    waitpid(pid, NULL, 0);
    if (depth == 0)
        exit(0);
    _exit(0);
}

static void mode_fork(void)
{
    bool stop = false;
    pthread_t thread;
    random_calls(1, 1000);
    pthread_create(&thread, NULL, fork_noise, &stop);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0)
            in_child(i % 3);
        do_free(do_malloc((size_t)i + 1));
        int status;
        waitpid(pid, &status, 0);
        if (status != 0)
            printf("child %d: status %d\n", i, status);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void mode_exec(void)
{
    char left[16];
    int count = atoi(argument);
    random_calls((uint64_t)count + 1, 5000);
    if (count == 0)
        return;
    snprintf(left, sizeof left, "%d", count - 1);
    execl(program_path, program_path, "exec", log_path, left, (char *)NULL);
}

static void mode_killed(void)
{
    run_threads(4);
    kill(getpid(), SIGKILL);
}

/* ---- Libraries that come and go ---- */

static __thread void *last_work; /* where the library before was */

static void library_call(const char *name, size_t nbytes)
{
    char path[4096];
    void (*work)(struct log_file *, size_t);
    snprintf(path, sizeof path, "%s/%s", argument, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        abort();
    void *symbol = dlsym(library, "library_work");
    memcpy(&work, &symbol, sizeof work);
    work(log_file, nbytes);
    log_file->result += last_work == symbol;
    last_work = symbol;
    dlclose(library);
}

static void *library_thread(void *count)
{
    for (size_t i = 0; i < (uintptr_t)count; i++) {
        library_call("preload_library_a.so", 2 * i + 1);
        library_call("preload_library_b.so", 2 * i + 2);
    }
    return NULL;
}

static void mode_libraries(void)
{
    library_thread((void *)300);
}

static void mode_libraries_threads(void)
{
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, library_thread, (void *)200);
    random_calls(7, 20000);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Late frees ---- */

static void *late_block, *later_block;
static pthread_key_t late_keys[2];

static void at_exit(void)
{
    do_free(late_block);
    late_block = do_malloc(111);
}

__attribute__((destructor)) static void at_the_very_end(void)
{
    do_free(later_block);
    do_free(late_block);
}

/* Frees in each round, and asks for another one. */
static void key_end(void *block)
{
    size_t round = malloc_usable_size(block) / 1000;
    do_free(block);
    if (round < 3)
        pthread_setspecific(late_keys[0], do_malloc((round + 1) * 1000));
}

static void *late_thread(void *unused)
{
    pthread_setspecific(late_keys[0], do_malloc(10));
    pthread_setspecific(late_keys[1], do_malloc(10));
    return unused;
}

static void mode_late(void)
{
    pthread_key_create(&late_keys[0], key_end);
    pthread_key_create(&late_keys[1], do_free);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, late_thread, NULL);
        pthread_join(thread, NULL);
    }
    late_block = do_malloc(1);
    later_block = do_malloc(2);
    atexit(at_exit);
}

/* ---- Descriptors, directories, roots ---- */

static void own_file_check(int fd)
{
    char text[16] = "";
    struct stat status;
    bool is_whole = fstat(fd, &status) == 0 && status.st_size == 4 && pread(fd, text, 4, 0) == 4;
    if (!is_whole || strcmp(text, "mine") != 0)
        printf("descriptor %d: was touched: size %lld\n", fd, (long long)status.st_size);
}

static void mode_descriptors(void)
{
    random_calls(3, 1000);
    close_range(3, 1023, 0);
    for (int fd = 3; fd < 1000; fd++) {
        int own = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
        if (own != fd || write(own, "mine", 4) != 4)
            abort();
    }
    random_calls(4, 60000);
    run_threads(3);
    pid_t pid = fork();
    if (pid == 0)
        in_child(1);
    waitpid(pid, NULL, 0);
    for (int fd = 3; fd < 1000; fd++)
        own_file_check(fd);
}

static void mode_chdir(void)
{
    random_calls(3, 1000);
    if (chdir("/") != 0 || (getuid() == 0 && (chroot("/proc/self") != 0 || setuid(65534) != 0)))
        abort();
    random_calls(4, 100000);
}

/* ---- Signals: the handler has a size of its own, so that it never meets the list of free blocks it came
 * into ---- */

WRAPPER(void, handle, (int signal_number))
{
    void *address = malloc(900);
    log_add(LOG_ALLOC, TBED_FUNCTION_MALLOC, handle_number, (uintptr_t)address, 0, 900);
    log_add(LOG_FREE, TBED_FUNCTION_MALLOC, handle_number, (uintptr_t)address, 0, 0);
    free(address);
    (void)signal_number;
    __atomic_fetch_add(&log_file->result, 1, __ATOMIC_RELAXED);
}

static void mode_signals(void)
{
    log_file->handler = REGISTER(handle) + 1;
    do_free(do_malloc(900));
    signal(SIGALRM, handle);
    struct itimerval timer = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (size_t i = 0; i < 400000 || (log_file->result < 200 && i < 1500000); i++)
        do_free(do_malloc(i % 64 + 1));
    timer = (struct itimerval){0};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- Little room ---- */

static void mode_much(void)
{
    random_calls(5, 400000);
    puts("done");
}

static void mode_no_memory(void)
{
    random_calls(5, 50000);
    tell("too much for the limit", do_malloc((size_t)1 << 30));
    random_calls(6, 50000);
    run_threads(2);
    puts("done");
}

static void mode_threads(void)
{
    for (int i = 0; i < 3; i++)
        run_threads(THREAD_COUNT);
}

/* ---- ---- */

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"each", mode_each},           {"threads", mode_threads},
    {"fork", mode_fork},           {"exec", mode_exec},
    {"killed", mode_killed},       {"libraries", mode_libraries},
    {"late", mode_late},           {"libraries-threads", mode_libraries_threads},
    {"chdir", mode_chdir},         {"descriptors", mode_descriptors},
    {"signals", mode_signals},     {"much", mode_much},
    {"no-memory", mode_no_memory},
};

static struct log_file *log_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct log_file)) != 0)
        abort();
    void *map = mmap(NULL, sizeof(struct log_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        abort();
    return map;
}

int main(int argc, char **argv)
{
    static char out[4096];
    if (argc < 3)
        return 2;
    setvbuf(stdout, out, _IOFBF, sizeof out);
    program_path = argv[0];
    log_path = argv[2];
    argument = argc > 3 ? argv[3] : "";
    wrappers_register(log_map(log_path));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            modes[i].run();
    return 0;
}
