/*
 * A program that allocates deep inside of calls of all kinds, and logs the stack at each allocation as the C library's
 * own unwinder sees it.
 *
 *   preload_stacks_helper LOG [forever | mappings]
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer/tests/preload/preload_stacks_log.h"

#define NOINLINE __attribute__((noinline, noclone))

static FILE *out;
static uint64_t random_state = 88172645463325252u;
static size_t next_nbytes = STACKS_FIRST_NBYTES;
static volatile int sink;

static unsigned random_below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % limit);
}

/* Addresses as the modules' files have them, one less: inside of the call. */
static void log_stack(size_t nbytes)
{
    void *pcs[64];
    struct stacks_entry entry = {.nbytes = nbytes};
    int count = backtrace(pcs, 64);
    for (int i = 1; i < count && entry.count < STACKS_FRAMES_MAX; i++) { /* not our own frame */
        Dl_info info;
        if (dladdr(pcs[i], &info) == 0)
            break;
        entry.pcs[entry.count++] = (uint64_t)((char *)pcs[i] - (char *)info.dli_fbase) - 1;
    }
    fwrite(&entry, sizeof entry, 1, out);
}

/* Both calls have the same frames except the innermost, which is a location in this function. */
NOINLINE static void leaf(void)
{
    size_t nbytes = next_nbytes++;
    void *volatile block = malloc(nbytes);
    if (out != NULL)
        log_stack(nbytes);
    free(block);
}

static void go(unsigned depth);

NOINLINE static void plain(unsigned depth)
{
    go(depth);
    sink++;
}

NOINLINE static void with_alloca(unsigned depth)
{
    char *room = alloca(16 + random_below(5000));
    room[0] = 1;
    go(depth);
    sink += room[0];
}

/* The compiler moves the frame. */
NOINLINE static void aligned(unsigned depth)
{
    _Alignas(128) volatile char room[256];
    room[0] = 1;
    go(depth);
    sink += room[0];
}

NOINLINE static void large(unsigned depth)
{
    volatile char room[20000];
    room[0] = room[19999] = 1;
    go(depth);
    sink += room[19999];
}

/* The second stack differs from the first in the middle: its frames may lie at the same addresses. */
NOINLINE static void again(unsigned depth)
{
    uint64_t same = random_state;
    go(depth);
    if (random_below(3) == 0) {
        random_state = same;
        go(depth);
    } else if (random_below(3) == 0) {
        go(depth);
    }
    sink++;
}

static unsigned depth_left;

static int compare(const void *left, const void *right)
{
    unsigned depth = depth_left;
    if (depth != 0) {
        depth_left = 0;
        go(depth);
    }
    return *(const int *)left - *(const int *)right;
}

/* Through the C library and back. */
NOINLINE static void through_library(unsigned depth)
{
    int numbers[2] = {2, 1};
    depth_left = depth + 1;
    qsort(numbers, 2, sizeof numbers[0], compare);
    sink += numbers[0];
}

static void handle(int number)
{
    (void)number;
    go(depth_left);
}

NOINLINE static void through_signal(unsigned depth)
{
    depth_left = depth;
    raise(SIGUSR1);
    sink++;
}

static void go(unsigned depth)
{
    static void (*const ways[])(unsigned) = {plain, with_alloca,     aligned,       large,
                                             again, through_library, through_signal};
    if (depth == 0)
        leaf();
    else
        ways[random_below(sizeof ways / sizeof ways[0])](depth - 1);
    sink++;
}

/* ---- Mappings: whole ones and parts, moved, replaced ---- */

#define PAGE  4096u
#define AREAS 12

static void map_at_random(void)
{
    static char *areas[AREAS]; /* 64 pages each, or NULL */
    unsigned at = random_below(AREAS), page = random_below(64), count = 1 + random_below(64 - page);
    if (areas[at] == NULL) {
        areas[at] = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return;
    }
    switch (random_below(6)) {
    case 0:
        munmap(areas[at], 64 * PAGE);
        areas[at] = NULL;
        return;
    case 1:
        mmap(areas[at] + page * PAGE, count * PAGE - 5, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0);
        return;
    case 2: /* address space only */
        mmap(areas[at] + page * PAGE, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0);
        return;
    case 3:
        mremap(areas[at], 64 * PAGE, 64 * PAGE, 0);
        return;
    default:
        munmap(areas[at] + page * PAGE, count * PAGE);
    }
}

static int make_mappings(void)
{
    char *moved = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved = mremap(moved, 3 * PAGE, 300 * PAGE, MREMAP_MAYMOVE);
    for (int i = 0; i < 3000; i++)
        map_at_random();
    return moved == MAP_FAILED || munmap(moved, 300 * PAGE) != 0;
}

static void *thread_main(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        go(random_below(8));
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER};
    pthread_t thread;
    void *first[4];
    if (argc < 2 || sigaction(SIGUSR1, &action, NULL) != 0)
        return 2;
    if (argc > 2 && strcmp(argv[2], "mappings") == 0)
        return make_mappings();
    backtrace(first, 4); /* loads its library */
    if (argc == 2 && (out = fopen(argv[1], "wb")) == NULL)
        return 2;
    for (int i = 0; i < 1500 || argc > 2; i++)
        go(random_below(24));
    for (int i = 0; i < 3; i++) { /* one at a time: what is random is not shared */
        if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
            return 2;
        pthread_join(thread, NULL);
    }
    return fclose(out);
}
