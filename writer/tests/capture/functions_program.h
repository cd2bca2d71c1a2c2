/*
 * What the generated programs of functions_test.py are made of: a log of each call by the calls themselves, as plain
 * numbers in a mapped file that outlives the process, and the dice by which they call each other.
 *
 * A function logs N + 1 when it is entered and -(N + 1) before it returns; where control lands after a jump, LAND and
 * how many calls are open there. Nothing here is instrumented.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUNCTIONS_PROGRAM_H
#define TRACEBED_FUNCTIONS_PROGRAM_H

#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__clang__)
#define NO_PLACE no_instrument_function, patchable_function_entry(0, 0), xray_never_instrument
#elif defined(__x86_64__)
#define NO_PLACE no_instrument_function, patchable_function_entry(0, 0)
#else
#define NO_PLACE no_instrument_function
#endif
#define PLAIN    __attribute__((NO_PLACE, noinline, unused)) static
#define FUNCTION __attribute__((noinline))

#define LOG_COUNT  (4u << 20)
#define LAND       (1 << 24)
#define JUMP_COUNT 16
#define DEPTH_MAX  100

struct context {
    int32_t *log;
    uint32_t logged;
    int depth;
    uint64_t dice;
    long budget; /* calls left */
    jmp_buf *jumps[JUMP_COUNT];
    int jump_count;
    int catches; /* that are open */
};
static __thread struct context self;

PLAIN void log_open(uint64_t seed, long budget)
{
    char name[64];
    snprintf(name, sizeof name, "log.%d.%ld", (int)getpid(), (long)syscall(SYS_gettid));
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, LOG_COUNT * sizeof(int32_t)) != 0)
        abort();
    void *map = mmap(NULL, LOG_COUNT * sizeof(int32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        abort();
    close(fd);
    self.log = (int32_t *)map;
    self.logged = 0;
    self.dice = seed * 2654435761u + 88172645463325252u;
    self.budget = budget;
}

PLAIN void put(int32_t entry)
{
    if (self.log != NULL && self.logged < LOG_COUNT)
        self.log[self.logged++] = entry;
}

PLAIN void entered(int function)
{
    put(function + 1);
    self.depth++;
}

PLAIN void leaving(int function)
{
    put(-(function + 1));
    self.depth--;
}

PLAIN void landed(int depth)
{
    put(LAND + depth);
    self.depth = depth;
}

PLAIN unsigned roll(unsigned sides)
{
    self.dice ^= self.dice << 13;
    self.dice ^= self.dice >> 7;
    self.dice ^= self.dice << 17;
    return (unsigned)((self.dice >> 20) % sides);
}

PLAIN int may_call(void)
{
    return self.depth < DEPTH_MAX && self.budget-- > 0;
}

/* One of the jump buffers that are set, or none. Those set later are left behind with their calls. */
PLAIN jmp_buf *pick_jump(void)
{
    if (self.jump_count == 0 || roll(8) != 0)
        return NULL;
    self.jump_count = (int)roll((unsigned)self.jump_count) + 1;
    return self.jumps[self.jump_count - 1];
}

PLAIN int add_jump(jmp_buf *jump)
{
    if (self.jump_count == JUMP_COUNT)
        return 0;
    self.jumps[self.jump_count++] = jump;
    return 1;
}

#endif
