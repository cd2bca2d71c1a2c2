/*
 * A page's entry never says more than is there, whatever instruction its writer has come to: a child changes the entry, and
 * is stopped after each instruction.
 *
 * x86-64 only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/pages/pages.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/file/directory.h"
#include "format/tests/sanitizer.h"

#if defined(__x86_64__)
#define BREAK_HERE() __asm__ volatile("int3" ::: "memory")
#else
#define BREAK_HERE() abort()
#endif

enum { STREAM = 7, SEQUENCE = 9, FIRST = 1000, USED = 4032, LAST = 2000, LEAST = 900, CHECKSUM = 0x12345678 };

static struct tbed_disk_entry *entry; /* shared with the child */

static void change_entry(void)
{
    const struct tbed_disk_block header = {.kind = TBED_BLOCK_EVENTS,
                                           .stream = tbed_le32_make(STREAM),
                                           .sequence = tbed_le32_make(SEQUENCE),
                                           .first_tick = tbed_le64_make(FIRST)};
    const struct tbed_block_ticks ticks = {.last = LAST, .least_begin = LEAST};
    BREAK_HERE();
    tbed_entry_claim(entry, &header);
    tbed_entry_begin(entry);
    tbed_entry_end(entry, USED, &ticks);
    tbed_entry_seal(entry, CHECKSUM);
    tbed_entry_clear(entry);
    BREAK_HERE();
}

/* Returns the state. */
static uint32_t check_entry(void)
{
    struct tbed_entry_fields fields = tbed_entry_load(entry);
    if (fields.state >= TBED_ENTRY_CLAIMED) {
        assert_int_equal(fields.kind, TBED_BLOCK_EVENTS);
        assert_int_equal(fields.stream, STREAM);
        assert_int_equal(fields.sequence, SEQUENCE);
        assert_int_equal(fields.first_tick, FIRST);
    }
    if (fields.state >= TBED_ENTRY_ENDED) {
        assert_int_equal(fields.used_nbytes, USED);
        assert_int_equal(fields.last_tick, LAST);
        assert_int_equal(fields.least_begin_tick, LEAST);
    }
    if (fields.state == TBED_ENTRY_SEALED) {
        assert_true(fields.is_valid);
        assert_int_equal(fields.checksum, CHECKSUM);
    }
    return fields.state;
}

/* A stop at a breakpoint, not after a step. */
static bool is_at_break(pid_t pid)
{
    siginfo_t info;
    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
    return info.si_code == SI_KERNEL;
}

static void an_entry_never_says_more_than_is_there(void **state)
{
    unsigned seen = 0;
    int status;
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    if (TEST_IS_SANITIZED)
        skip();
    entry = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(entry != MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        change_entry();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFSTOPPED(status));
    do {
        seen |= 1u << check_entry();
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        waitpid(pid, &status, 0);
        assert_true(WIFSTOPPED(status));
    } while (!is_at_break(pid));
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(check_entry(), TBED_ENTRY_FREE);
    assert_int_equal(seen, 1u << TBED_ENTRY_FREE | 1u << TBED_ENTRY_CLAIMED | 1u << TBED_ENTRY_BEGUN |
                               1u << TBED_ENTRY_ENDED | 1u << TBED_ENTRY_SEALED);
    munmap(entry, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_never_says_more_than_is_there),
    };
    return cmocka_run_group_tests_name("entry_steps", tests, NULL, NULL);
}
