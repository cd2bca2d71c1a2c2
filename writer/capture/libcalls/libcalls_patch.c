/*
 * Puts stubs into the slots of modules.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/glob.h"
#include "writer/capture/launch/launch.h"
#include "writer/capture/libcalls/libcalls.h"
#include "writer/capture/shared/preload_slots.h"

static const char *wanted_modules; /* NULL: nothing is recorded; "": the program */

struct patching {
    const struct dl_phdr_info *info;
    struct preload_slot_page page;
};

/* Functions of this library are called as they are, which includes stubs that are in their slots already. */
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

static const char *module_name(const struct dl_phdr_info *info)
{
    return preload_is_program(info) ? "the program" : info->dlpi_name;
}

static void take_slot(void *context, const struct preload_slot *slot)
{
    struct patching *patching = context;
    uintptr_t function = functions_may_wrap(slot->name) ? preload_slot_function(slot, patching->info) : 0;
    if (function == 0 || !is_foreign(function) || !functions_is_chosen(function))
        return;
    uintptr_t stub =
        preload_slot_page_open(&patching->page, (uintptr_t)slot->at) ? functions_stub_for(function) : 0;
    if (stub == 0) {
        struct launch_note note = {.kind = LAUNCH_NOTE_LIBCALLS};
        launch_note_add(launch_notes_find(), &note, module_name(patching->info));
        return;
    }
    name(function, slot->name);
    __atomic_store_n(slot->at, stub, __ATOMIC_RELEASE);
}

/* ---- Modules ---- */

static bool is_wanted(const struct dl_phdr_info *info)
{
    if (preload_is_program(info))
        return wanted_modules[0] == '\0';
    const char *slash = strrchr(info->dlpi_name, '/');
    return wanted_modules[0] != '\0' && (tbed_glob_fits(wanted_modules, info->dlpi_name) ||
                                         (slash != NULL && tbed_glob_fits(wanted_modules, slash + 1)));
}

static int patch_module(struct dl_phdr_info *info, size_t nbytes, void *unused)
{
    struct patching patching = {.info = info, .page = {.info = info}};
    (void)nbytes;
    (void)unused;
    if (is_wanted(info))
        preload_slots_each(info, take_slot, &patching);
    preload_slot_page_close(&patching.page);
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
    functions_patch_more = functions_libcalls_patch; /* libraries that are loaded later */
    preload_guard_set(&preload_thread, guard);
    errno = saved_errno;
}
