/*
 * Puts stubs into the slots of modules.
 *
 * A slot that the loader has not filled yet would be overwritten by the first call, so its function is looked up here, with
 * the version that the module needs.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/glob.h"
#include "writer/capture/launch/launch.h"
#include "writer/capture/libcalls/libcalls.h"

static const char *wanted_modules; /* NULL: nothing is recorded; "": the program */

struct patching {
    const struct dl_phdr_info *info;
    uintptr_t page; /* its slots are writable now; 0: none's */
    bool was_read_only;
};

/* ---- The function behind a slot ---- */

static uintptr_t look_up(const struct functions_slot *slot, void *scope)
{
    void *found = slot->version != NULL ? dlvsym(scope, slot->name, slot->version) : dlsym(scope, slot->name);
    return (uintptr_t)found;
}

/*
 * The function that the slot leads to; 0: unknown. What is found in the module itself is its entry for the address of
 * another module's function.
 */
static uintptr_t function_behind(const struct functions_slot *slot, const struct dl_phdr_info *info)
{
    uintptr_t function = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    if (function != 0 && functions_is_code_of(info, function))
        function = look_up(slot, RTLD_DEFAULT);
    if (function != 0 && functions_is_code_of(info, function))
        function = look_up(slot, RTLD_NEXT);
    return function != 0 && !functions_is_code_of(info, function) ? function : 0;
}

/* Functions of this library are called as they are. */
static bool is_foreign(uintptr_t function)
{
    Dl_info own, other;
    return dladdr((void *)functions_libcalls_patch, &own) != 0 && dladdr((void *)function, &other) != 0 &&
           own.dli_fbase != other.dli_fbase;
}

/*
 * Says what a function is called where its library does not: one of several that the library chooses from, as memcpy, has
 * an internal name, or none.
 */
static void name(uintptr_t function, const char *text)
{
    Dl_info info;
    bool is_named = dladdr((void *)function, &info) != 0 && info.dli_sname != NULL &&
                    (uintptr_t)info.dli_saddr == function;
    if (is_named)
        return;
    struct tbed_frame_names frame = {.function_id = tbed_string_intern(preload_writer, text, strlen(text)),
                                     .file_id = TBED_ID_INVALID};
    uint32_t location = preload_location_at(&preload_thread, function);
    if (location != TBED_ID_INVALID)
        tbed_location_describe(preload_writer, location, &frame, 1);
}

/* ---- Slots ---- */

static bool is_relro(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_RELRO &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static void page_close(struct patching *patching)
{
    if (patching->page != 0 && patching->was_read_only)
        mprotect((void *)patching->page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ);
    patching->page = 0;
}

/* False: the page cannot be written. */
static bool page_open(struct patching *patching, uintptr_t address)
{
    size_t nbytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t page = address & ~(uintptr_t)(nbytes - 1);
    if (page == patching->page)
        return true;
    page_close(patching);
    patching->was_read_only = is_relro(patching->info, address);
    if (patching->was_read_only && mprotect((void *)page, nbytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    patching->page = page;
    return true;
}

static const char *module_name(const struct dl_phdr_info *info)
{
    return info->dlpi_name != NULL && info->dlpi_name[0] != '\0' ? info->dlpi_name : "the program";
}

static void take_slot(void *context, const struct functions_slot *slot)
{
    struct patching *patching = context;
    uintptr_t function = functions_may_wrap(slot->name) ? function_behind(slot, patching->info) : 0;
    if (function == 0 || !is_foreign(function) || !functions_is_chosen(function))
        return;
    uintptr_t stub = page_open(patching, (uintptr_t)slot->at) ? functions_stub_for(function) : 0;
    if (stub == 0) {
        struct launch_note note = {.kind = LAUNCH_NOTE_LIBCALLS};
        launch_note_add(launch_notes_find(), &note, module_name(patching->info));
        return;
    }
    name(function, slot->name);
    __atomic_store_n(slot->at, stub, __ATOMIC_RELEASE);
}

/* ---- Modules ---- */

/* The program has no name. */
static bool is_wanted(const struct dl_phdr_info *info)
{
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0')
        return wanted_modules[0] == '\0';
    const char *slash = strrchr(info->dlpi_name, '/');
    return wanted_modules[0] != '\0' && (tbed_glob_fits(wanted_modules, info->dlpi_name) ||
                                         (slash != NULL && tbed_glob_fits(wanted_modules, slash + 1)));
}

static int patch_module(struct dl_phdr_info *info, size_t nbytes, void *unused)
{
    struct patching patching = {.info = info};
    (void)nbytes;
    (void)unused;
    if (is_wanted(info))
        functions_slots_each(info, take_slot, &patching);
    page_close(&patching);
    return 0;
}

void functions_libcalls_patch(void)
{
    if (wanted_modules == NULL)
        return;
    if (preload_writer == NULL)
        preload_trace_open();
    if (preload_writer == NULL)
        return;
    preload_modules_register();
    dl_iterate_phdr(patch_module, NULL);
}

/* Behind those of the filter and of the trampolines, before those of the program. */
__attribute__((constructor(103))) static void start(void)
{
    uint8_t guard = preload_thread.guard;
    int saved_errno = errno;
    wanted_modules = getenv(LAUNCH_ENV_LIBCALLS);
    preload_guard_set(&preload_thread, PRELOAD_APART);
    functions_libcalls_patch();
    preload_guard_set(&preload_thread, guard);
    errno = saved_errno;
}
