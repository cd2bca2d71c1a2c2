/*
 * Code near the modules: a patched place calls an address at most 2 GB away.
 *
 * A piece has an entry for each kind of place and distance to the function's beginning: it pushes them and jumps to the
 * trampoline. A piece serves all modules in its reach, and stays.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "writer/capture/entries/entries.h"

#define PAGE_COUNT   64
#define ENTRY_NBYTES 16u
#define ENTRY_COUNT  (FUNCTIONS_KIND_COUNT * FUNCTIONS_DISTANCE_MAX)
#define PAGE_NBYTES  8192u
#define REACH        ((uintptr_t)0x70000000)
#define STEP         ((uintptr_t)1 << 20)

_Static_assert(ENTRY_NBYTES *(ENTRY_COUNT + 1) <= PAGE_NBYTES, "a page has room for all");

static uint8_t *pages[PAGE_COUNT];
static size_t page_count;

#if defined(__x86_64__)
/* jmp *(address behind this instruction) */
static void write_jump(uint8_t *at)
{
    static const uint8_t code[] = {0xFF, 0x25, 0, 0, 0, 0};
    uintptr_t to = (uintptr_t)functions_entry_trampoline;
    memcpy(at, code, sizeof code);
    memcpy(at + sizeof code, &to, sizeof to);
}

/* push $what; jmp to the beginning of the page */
static void write_entry(uint8_t *page, uint32_t at, uint32_t what)
{
    uint32_t back = (uint32_t) - (int32_t)(at + 10);
    page[at] = 0x68;
    memcpy(page + at + 1, &what, sizeof what);
    page[at + 5] = 0xE9;
    memcpy(page + at + 6, &back, sizeof back);
}
#else
static void write_jump(uint8_t *at)
{
    (void)at;
}

static void write_entry(uint8_t *page, uint32_t at, uint32_t what)
{
    (void)page;
    (void)at;
    (void)what;
}
#endif

/* Below first: a program's heap grows above it. */
static uint8_t *page_find(uintptr_t address)
{
    uint8_t *page = NULL;
    address &= ~(uintptr_t)0xFFFF;
    for (uintptr_t away = PAGE_NBYTES; page == NULL && away < REACH && away < address; away += STEP)
        page = functions_map_at(address - away, PAGE_NBYTES);
    for (uintptr_t away = 64 * STEP; page == NULL && away < REACH; away += STEP)
        page = functions_map_at(address + away, PAGE_NBYTES);
    return page;
}

static uint8_t *page_make(uintptr_t address)
{
    uint8_t *page = page_count < PAGE_COUNT ? page_find(address) : NULL;
    if (page == NULL)
        return NULL;
    write_jump(page);
    for (uint32_t i = 0; i < ENTRY_COUNT; i++)
        write_entry(page, ENTRY_NBYTES * (i + 1),
                    i / FUNCTIONS_DISTANCE_MAX << 16 | i % FUNCTIONS_DISTANCE_MAX);
    if (mprotect(page, PAGE_NBYTES, PROT_READ | PROT_EXEC) != 0) {
        munmap(page, PAGE_NBYTES);
        return NULL;
    }
    pages[page_count++] = page;
    return page;
}

static uint8_t *page_near(uintptr_t address)
{
    for (size_t i = 0; i < page_count; i++)
        if ((uintptr_t)pages[i] - address + REACH < 2 * REACH)
            return pages[i];
    return page_make(address);
}

uintptr_t functions_near_code(uintptr_t address, enum functions_kind kind, uint32_t distance)
{
    uint8_t *page = distance < FUNCTIONS_DISTANCE_MAX ? page_near(address) : NULL;
    if (page == NULL)
        return 0;
    return (uintptr_t)page + ENTRY_NBYTES * ((uint32_t)kind * FUNCTIONS_DISTANCE_MAX + distance + 1);
}

bool functions_near_is_ours(uintptr_t address)
{
    for (size_t i = 0; i < page_count; i++)
        if (address - (uintptr_t)pages[i] < PAGE_NBYTES)
            return true;
    return false;
}
