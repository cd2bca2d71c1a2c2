/*
 * A program in C that calls what few programs call: see preload_unusual_test.c.
 *
 *   preload_unusual_helper early | aligned | operators | abort
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEAK        __attribute__((weak))
#define HUGE_NBYTES ((size_t)1 << 62)

static volatile size_t huge = HUGE_NBYTES;

static int check(int is_true, const char *what)
{
    if (!is_true)
        printf("%s is wrong\n", what);
    return is_true ? 0 : 1;
}

/* ---- Blocks from before main() ---- */

extern char *unusual_blocks[3] WEAK;

static int has(const char *block, char byte)
{
    for (size_t i = 0; i < 40; i++)
        if (block[i] != byte)
            return 0;
    return 1;
}

static int early(void)
{
    char *grown = realloc(unusual_blocks[0], 30000);
    char *resized = reallocarray(unusual_blocks[1], 30001, 1);
    int wrong = check(has(grown, 'a'), "realloc") + check(has(resized, 'b'), "reallocarray") +
                check(has(unusual_blocks[2], 'c'), "an early block");
    free(unusual_blocks[2]);
    free(grown);
    free(resized);
    return wrong;
}

/* ---- Functions that an allocator may lack ---- */

static int is_aligned(void *address, uintptr_t alignment, size_t nbytes)
{
    if (address == NULL || (uintptr_t)address % alignment != 0)
        return 0;
    memset(address, 1, nbytes);
    free(address);
    return 1;
}

static int aligned(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *volatile block;
    int wrong = check(is_aligned(aligned_alloc(64, 30016), 64, 30016), "aligned_alloc") +
                check(is_aligned(memalign(128, 30002), 128, 30002), "memalign") +
                check(is_aligned(valloc(30003), page, 30003), "valloc") +
                check(is_aligned(pvalloc(30004), page, 32768), "pvalloc") +
                check(is_aligned(reallocarray(NULL, 30005, 1), 16, 30005), "reallocarray");
    block = memalign(64, huge);
    wrong += check(block == NULL && errno == ENOMEM, "memalign of too much");
    block = reallocarray(NULL, huge, 8);
    return wrong + check(block == NULL && errno == ENOMEM, "reallocarray of too much");
}

/* ---- C++'s operators, in a program without a C++ library: only the recorder has them ---- */

void *_Znwm(size_t) WEAK;
void *_Znam(size_t) WEAK;
void *_ZnwmRKSt9nothrow_t(size_t, const void *) WEAK;
void *_ZnamRKSt9nothrow_t(size_t, const void *) WEAK;
void *_ZnwmSt11align_val_t(size_t, size_t) WEAK;
void *_ZnamSt11align_val_t(size_t, size_t) WEAK;
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *) WEAK;
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *) WEAK;
void _ZdlPv(void *) WEAK;
void _ZdaPv(void *) WEAK;
void _ZdlPvm(void *, size_t) WEAK;
void _ZdaPvm(void *, size_t) WEAK;
void _ZdlPvRKSt9nothrow_t(void *, const void *) WEAK;
void _ZdaPvRKSt9nothrow_t(void *, const void *) WEAK;
void _ZdlPvSt11align_val_t(void *, size_t) WEAK;
void _ZdaPvSt11align_val_t(void *, size_t) WEAK;
void _ZdlPvmSt11align_val_t(void *, size_t, size_t) WEAK;
void _ZdaPvmSt11align_val_t(void *, size_t, size_t) WEAK;
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *, size_t, const void *) WEAK;
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *, size_t, const void *) WEAK;

static int used(void *address, uintptr_t alignment)
{
    if (address == NULL || (uintptr_t)address % alignment != 0)
        return check(0, "a block");
    memset(address, 1, 30000);
    return 0;
}

static int operators(void)
{
    void *blocks[] = {_Znwm(30000),
                      _Znam(30001),
                      _ZnwmRKSt9nothrow_t(30002, ""),
                      _ZnamRKSt9nothrow_t(30003, ""),
                      _ZnwmSt11align_val_t(30004, 64),
                      _ZnamSt11align_val_t(30005, 64),
                      _ZnwmSt11align_val_tRKSt9nothrow_t(30006, 64, ""),
                      _ZnamSt11align_val_tRKSt9nothrow_t(30007, 64, ""),
                      _Znwm(30008),
                      _Znwm(30009),
                      _ZnwmSt11align_val_t(30010, 64),
                      _ZnwmSt11align_val_t(30011, 64)};
    int wrong = 0;
    for (size_t i = 0; i < 12; i++)
        wrong += used(blocks[i], (i >= 4 && i < 8) || i >= 10 ? 64 : 16);
    _ZdlPv(blocks[0]);
    _ZdaPv(blocks[1]);
    _ZdlPvm(blocks[2], 30002);
    _ZdaPvm(blocks[3], 30003);
    _ZdlPvSt11align_val_t(blocks[4], 64);
    _ZdaPvSt11align_val_t(blocks[5], 64);
    _ZdlPvmSt11align_val_t(blocks[6], 30006, 64);
    _ZdaPvmSt11align_val_t(blocks[7], 30007, 64);
    _ZdlPvRKSt9nothrow_t(blocks[8], "");
    _ZdaPvRKSt9nothrow_t(blocks[9], "");
    _ZdlPvSt11align_val_tRKSt9nothrow_t(blocks[10], 64, "");
    _ZdaPvSt11align_val_tRKSt9nothrow_t(blocks[11], 64, "");
    _ZdlPv(NULL);
    _ZdlPv(_Znwm(0));
    wrong += check(_ZnwmRKSt9nothrow_t(huge, "") == NULL, "new(nothrow) of too much");
    return wrong +
           check(_ZnamSt11align_val_tRKSt9nothrow_t(huge, 64, "") == NULL, "new[](nothrow) of too much");
}

/* An allocator's operators, which do not call malloc(). */
extern char unusual_room[1 << 16] WEAK;

static int own_operators(void)
{
    char *first = _Znwm(30000), *second = _Znwm(30001);
    int wrong = check(first == unusual_room && second == unusual_room + 30000, "new");
    _ZdlPv(first);
    _ZdlPv(second);
    _ZdlPv(NULL);
    return wrong;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "early") == 0)
        return early();
    if (strcmp(what, "aligned") == 0)
        return aligned();
    if (strcmp(what, "operators") == 0)
        return operators();
    if (strcmp(what, "own-operators") == 0)
        return own_operators();
    return _Znwm(huge) == NULL; /* aborts */
}
