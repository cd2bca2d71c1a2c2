/*
 * A library that is preloaded behind the recorder and makes a usual C library an unusual one: its dlsym() allocates,
 * as that of older C libraries does, and does not find some of the functions that an allocator may lack. With
 * HAS_OPERATORS it also has C++ operators that do not call malloc(), as some allocators do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED    __attribute__((visibility("default")))
#define HUGE_NBYTES ((size_t)1 << 40)

#if defined(__x86_64__)
#define DLSYM_VERSION "GLIBC_2.2.5"
#else
#define DLSYM_VERSION "GLIBC_2.17"
#endif

#ifndef LACKS
#define LACKS "reallocarray", "aligned_alloc", "memalign", "valloc", "pvalloc"
#endif

/* Allocated while functions are looked up; the program goes on with them. */
EXPORTED char *unusual_blocks[3];

static void expect(int is_true, const char *what)
{
    if (is_true)
        return;
    if (write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, " is wrong\n", 10) < 0)
        _exit(71);
    _exit(70);
}

static int is_aligned(const void *address, uintptr_t alignment)
{
    return address != NULL && (uintptr_t)address % alignment == 0;
}

/* What cannot be had in the middle of looking up must fail as the real functions do. */
static void allocate_aligned(void)
{
    void *address = NULL;
    expect(posix_memalign(&address, 64, 100) == 0 && is_aligned(address, 64), "posix_memalign");
    expect(posix_memalign(&address, 64, HUGE_NBYTES) == ENOMEM, "posix_memalign of too much");
    expect(is_aligned(aligned_alloc(128, 128), 128), "aligned_alloc");
    expect(is_aligned(memalign(256, 10), 256), "memalign");
    expect(memalign(HUGE_NBYTES, 10) == NULL, "memalign to too much");
    expect(valloc(10) == NULL && pvalloc(10) == NULL, "valloc");
}

static void allocate_early(void)
{
    volatile size_t half = SIZE_MAX / 2 + 1;
    for (int i = 0; i < 3; i++) {
        unusual_blocks[i] = i == 0 ? malloc(40) : i == 1 ? calloc(4, 10) : realloc(NULL, 40);
        expect(is_aligned(unusual_blocks[i], 16), "an early block");
        memset(unusual_blocks[i], 'a' + i, 40);
    }
    expect(malloc(HUGE_NBYTES) == NULL && calloc(half, 2) == NULL, "malloc of too much");
    expect(reallocarray(NULL, half, 2) == NULL, "reallocarray of too much");
    unusual_blocks[2] = realloc(unusual_blocks[2], 80);
    expect(unusual_blocks[2] != NULL && unusual_blocks[2][39] == 'c', "realloc of an early block");
    for (int i = 0; i < 100; i++) /* until nothing is left for the time being */
        free(malloc(4096));
    expect(malloc(4096) == NULL, "malloc of the rest");
    void *pages = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages = mremap(pages, 4096, 8192, MREMAP_MAYMOVE);
    expect(pages != MAP_FAILED && munmap(pages, 8192) == 0, "mremap");
}

#ifdef HAS_OPERATORS
EXPORTED char unusual_room[1 << 16];
static size_t room_used;

static void *own_new(size_t nbytes)
{
    void *address = unusual_room + room_used;
    room_used += (nbytes + 15) & ~(size_t)15;
    return address;
}

static void own_delete(void *address)
{
    (void)address;
}

static void *find_operator(const char *name)
{
    return strcmp(name, "_Znwm") == 0    ? (void *)(uintptr_t)own_new
           : strcmp(name, "_ZdlPv") == 0 ? (void *)(uintptr_t)own_delete
                                         : NULL;
}
#else
static void *find_operator(const char *name)
{
    (void)name;
    return NULL;
}
#endif

/* Before the recorder's constructors: UNUSUAL_FIRST says what is called. */
__attribute__((constructor)) static void call_early(void)
{
    const char *first = getenv("UNUSUAL_FIRST");
    sigset_t set;
    sigemptyset(&set);
    switch (first != NULL ? first[0] : '0') {
    case 'a':
        expect(signal(SIGUSR1, SIG_IGN) == SIG_DFL, "signal");
        break;
    case 'b':
        expect(sysv_signal(SIGUSR1, SIG_IGN) == SIG_DFL, "sysv_signal");
        break;
    case 'c':
        expect(sigaction(SIGUSR1, NULL, NULL) == 0, "sigaction");
        break;
    case 'd':
        expect(sigprocmask(SIG_BLOCK, &set, NULL) == 0, "sigprocmask");
        break;
    case 'e':
        expect(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
        break;
    default:
        expect(syscall(SYS_close, -1) == -1 && errno == EBADF, "syscall");
        expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) >= 0, "prctl");
        break;
    }
}

EXPORTED void *dlsym(void *restrict handle, const char *restrict name)
{
    static const char *const lacked[] = {LACKS};
    static int is_later;
    void *(*real)(void *, const char *);
    if (!is_later && strcmp(name, "free") == 0) {
        is_later = 1;
        allocate_aligned();
        allocate_early();
    }
    for (size_t i = 0; handle == RTLD_NEXT && i < sizeof lacked / sizeof lacked[0]; i++)
        if (strcmp(name, lacked[i]) == 0)
            return NULL;
    if (handle == RTLD_NEXT && find_operator(name) != NULL)
        return find_operator(name);
    void *found = dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
    memcpy(&real, &found, sizeof found);
    return real(handle, name);
}
