/*
 * What the writer asks of Linux where the C library may not offer it: futexes, barriers in all threads, exchanging two
 * names, and numbers that older headers lack. No header of the kernel is needed, so a musl tool chain suffices.
 *
 * Not here: calls that every C library has.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_KERNEL_H
#define TRACEBED_WRITER_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64: a trace may be larger than 2 GiB");

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef F_OFD_GETLK
#define F_OFD_GETLK  36
#define F_OFD_SETLK  37
#define F_OFD_SETLKW 38
#endif

#define TBED_RENAME_NOREPLACE 1u
#define TBED_RENAME_EXCHANGE  2u

#define TBED_BARRIER_RUN      8  /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */
#define TBED_BARRIER_REGISTER 16 /* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED */

#define TBED_FUTEX_PRIVATE  128
#define TBED_FUTEX_LIMIT_NS ((uint64_t)1000000000 * 1000000000) /* fits any 'long' as seconds */

/* 32-bit systems have an older call of this name, with another interface. */
#ifdef SYS_mmap2
#define TBED_SYS_MMAP SYS_mmap2
#else
#define TBED_SYS_MMAP SYS_mmap
#endif

/* Sleeps while '*word' is 'value', at most 'limit_ns'; UINT64_MAX: without a limit. -1 with errno. */
static inline long tbed_futex_wait(uint32_t *word, uint32_t value, uint64_t limit_ns)
{
    uint64_t ns = limit_ns < TBED_FUTEX_LIMIT_NS ? limit_ns : TBED_FUTEX_LIMIT_NS;
    long limit[2] = {(long)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return syscall(SYS_futex, word, 0 | TBED_FUTEX_PRIVATE, value, limit_ns != UINT64_MAX ? limit : NULL,
                   NULL, 0);
}

static inline void tbed_futex_wake_one(uint32_t *word)
{
    syscall(SYS_futex, word, 1 | TBED_FUTEX_PRIVATE, 1, NULL, NULL, 0);
}

static inline long tbed_barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

static inline int tbed_rename(int from_folder, const char *from, int to_folder, const char *to,
                              unsigned flags)
{
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

#endif
