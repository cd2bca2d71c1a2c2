/*
 * Writes calls into the places of modules: of the program and its libraries before they run, of libraries that are loaded
 * later before dlopen() returns.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer/capture/entries/entries.h"
#include "writer/capture/launch/launch.h"
#include "writer/capture/loading/preload_loading.h"

/* ---- One place ---- */

struct patching {
    size_t patched_count, refused_count;
    bool is_writable, has_failed;
    int system_errno; /* of making it writable */
    const struct dl_phdr_info *info;
};

#if defined(__x86_64__)

static void write_nops(uint8_t *at, size_t nbytes)
{
    static const uint8_t nops[9][9] = {
        {0x90},
        {0x66, 0x90},
        {0x0F, 0x1F, 0x00},
        {0x0F, 0x1F, 0x40, 0x00},
        {0x0F, 0x1F, 0x44, 0x00, 0x00},
        {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
        {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
        {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
        {0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    };
    for (size_t one; nbytes > 0; nbytes -= one, at += one) {
        one = nbytes < sizeof nops[0] ? nbytes : sizeof nops[0];
        memcpy(at, nops[one - 1], one);
    }
}

static void write_call(uint8_t *at, uintptr_t to)
{
    int32_t offset = (int32_t)(intptr_t)(to - (uintptr_t)at - 5);
    at[0] = 0xE8;
    memcpy(at + 1, &offset, sizeof offset);
}

static bool write_site(const struct functions_site *site)
{
    static const uint8_t jump_back[] = {0xEB, 0xF9}; /* to five bytes before the function */
    bool is_before = site->kind == FUNCTIONS_BEFORE_ENTRY;
    uint8_t *at = (uint8_t *)site->address - (is_before ? 5 : 0);
    uint32_t distance = is_before ? 2 : (uint32_t)(site->address + 5 - site->function);
    uintptr_t code = functions_near_code(site->address, site->kind, distance);
    if (code == 0)
        return false;
    write_call(at, code);
    write_nops(at + 5, site->nbytes - 5);
    if (is_before)
        memcpy((uint8_t *)site->address, jump_back, sizeof jump_back);
    return true;
}

static void write_nothing(const struct functions_site *site)
{
    write_nops((uint8_t *)site->address, site->nbytes);
}

#else

static bool write_site(const struct functions_site *site)
{
    (void)site;
    return false;
}

static void write_nothing(const struct functions_site *site)
{
    (void)site;
}

#endif

/* ---- One module ---- */

/* Text stays executable meanwhile: constructors may have started threads. */
static bool protect(const struct dl_phdr_info *info, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    bool is_done = true;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || (segment->p_flags & PF_W))
            continue;
        uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
        is_done &= mprotect((void *)start, end - start, protection) == 0;
    }
    return is_done;
}

static bool is_prepared; /* return addresses can be replaced */

static bool make_writable(struct patching *patching)
{
    if (!is_prepared) {
        patching->system_errno = LAUNCH_UNPATCHED_NOT_PREPARED;
        return false;
    }
    if (!patching->is_writable && !patching->has_failed) {
        patching->is_writable = protect(patching->info, PROT_READ | PROT_WRITE | PROT_EXEC);
        patching->has_failed = !patching->is_writable;
        patching->system_errno = patching->has_failed ? errno : LAUNCH_UNPATCHED_NO_ROOM;
    }
    return patching->is_writable;
}

static void patch(void *context, const struct functions_site *site)
{
    struct patching *patching = context;
    bool is_wanted = functions_is_chosen(site->function);
    if (!is_wanted && !site->is_call)
        return;
    if (!make_writable(patching)) {
        patching->refused_count += is_wanted;
        return;
    }
    if (!is_wanted)
        write_nothing(site);
    else if (write_site(site))
        patching->patched_count++;
    else
        patching->refused_count++;
}

/* 'tracebed record' says it at the end. */
static void tell(const struct dl_phdr_info *info, size_t count, int reason)
{
    struct launch_note note = {
        .kind = LAUNCH_NOTE_UNPATCHED, .status = (uint32_t)count, .system_errno = reason};
    launch_note_add(launch_notes_find(), &note,
                    preload_is_program(info) ? program_invocation_name : info->dlpi_name);
}

/* What has been looked at: the loader adds at the end of its list. */
static size_t known_count;
static uint64_t known_removals;

struct round {
    size_t count;  /* so far */
    bool is_whole; /* something was removed: looks at all */
};

static int patch_module(struct dl_phdr_info *info, size_t nbytes, void *context)
{
    struct round *round = context;
    struct patching patching = {.info = info};
    (void)nbytes;
    if (round->count == 0) {
        round->is_whole = known_removals != info->dlpi_subs;
        known_removals = info->dlpi_subs;
    }
    if (round->count++ < known_count && !round->is_whole)
        return 0;
    patching.refused_count += functions_sites_each(info, patch, &patching);
    if (patching.is_writable || patching.has_failed)
        protect(info, PROT_READ | PROT_EXEC);
    if (patching.refused_count > 0)
        tell(info, patching.refused_count, patching.system_errno);
    return 0;
}

/* ---- All of them ---- */

/* The loader calls for one thread at a time. */
static void patch_all(void)
{
    struct round round = {0, false};
    dl_iterate_phdr(patch_module, &round);
    known_count = round.count;
}

static bool is_off;

void (*functions_patch_more)(void);

void functions_patch_loaded(void)
{
    if (is_off)
        return;
    struct functions_signals signals;
    uint8_t guard = preload_thread.guard;
    int saved_errno = errno;
    functions_signals_block(&signals);
    preload_guard_set(&preload_thread, PRELOAD_APART);
    patch_all();
    if (functions_patch_more != NULL)
        functions_patch_more();
    preload_guard_set(&preload_thread, guard);
    functions_signals_restore(&signals);
    errno = saved_errno;
}

static void patch_library(void *library, size_t first)
{
    (void)library;
    (void)first;
    functions_patch_loaded();
}

/*
 * Behind that of the filter, before those of the program. Without a trace the library is only there to see which programs
 * are started.
 */
__attribute__((constructor(102))) static void start(void)
{
    is_off = getenv(PRELOAD_ENV_FILE) == NULL;
    if (is_off)
        return;
    launch_notes_remember();
    is_prepared = functions_entries_prepare((uintptr_t)functions_return_trampoline);
    functions_patch_loaded();
    preload_loaded = patch_library;
}
