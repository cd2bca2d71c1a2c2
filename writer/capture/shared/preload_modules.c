/*
 * Which module a caller is in, and the ids of its code.
 *
 * The table is kept twice. A thread that changes it, under the lock, fills the copy that is not in use and then raises
 * the version, whose lowest bit selects the copy. A reader loads the version, searches, and loads the version again:
 * the copy can only have been overwritten if the version has changed. Readers never wait, so neither a stopped thread
 * nor a forked child can block on the table.
 *
 * When to check what is loaded: the loader allocates for every module that it maps, before any of its code runs, and
 * frees after it has unmapped one. So a caller inside the loader is the sign, also for what the C library loads and
 * unloads by itself.
 *
 * Never wait for the loader's lock while holding ours: the loader frees memory, and so calls us, while it holds its
 * own.
 *
 * Source: spec/format.md, sections 8.2 and 8.4.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/capture/shared/preload.h"
#include "writer/store/records.h"

struct table {
    struct preload_module *modules; /* sorted by start */
    size_t count, capacity;
    uint64_t changes; /* the loader's count of loads and unloads */
};

uint64_t preload_modules_version;
static struct table tables[2];

static struct table *current_table(uint64_t version)
{
    return &tables[version & 1];
}

/* ---- The lock: in memory that a forked child finds zeroed, since its holder may not exist there ---- */

static uint32_t
    *lock_page; /* [0]: 0 free, 1 taken, 2 taken and waited for; [1]: calls of dlclose() under way */

static bool lock_make(void)
{
    if (__atomic_load_n(&lock_page, __ATOMIC_ACQUIRE) != NULL)
        return true;
    size_t nbytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = tbed_is_sandboxed() ? NULL : tbed_pages_alloc(nbytes);
    if (page == NULL)
        return false;
    madvise(page, nbytes, MADV_WIPEONFORK);
    uint32_t *expected = NULL;
    if (!__atomic_compare_exchange_n(&lock_page, &expected, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        tbed_pages_free(page, nbytes);
    return true;
}

static void lock_take(void)
{
    uint32_t expected = 0;
    if (__atomic_compare_exchange_n(lock_page, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(lock_page, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, lock_page, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void lock_give(void)
{
    if (__atomic_exchange_n(lock_page, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, lock_page, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- What is loaded now ---- */

#define LIST_CAPACITY_MIN 64

static bool modules_alloc(struct table *table, size_t capacity)
{
    void *pages = tbed_pages_alloc(capacity * sizeof *table->modules);
    if (pages == NULL)
        return false;
    *table = (struct table){.modules = pages, .capacity = capacity};
    return true;
}

static void modules_free(struct table *table)
{
    tbed_pages_free(table->modules, table->capacity * sizeof *table->modules);
    table->modules = NULL;
}

static uint64_t changes_of(const struct dl_phdr_info *info)
{
    return info->dlpi_adds + info->dlpi_subs;
}

static int read_changes(struct dl_phdr_info *info, size_t info_nbytes, void *changes_ret)
{
    (void)info_nbytes;
    *(uint64_t *)changes_ret = changes_of(info);
    return 1;
}

/* The loader's list is not sorted by address, but short. */
static int list_module(struct dl_phdr_info *info, size_t info_nbytes, void *data)
{
    struct table *list = data;
    struct preload_module module;
    (void)info_nbytes;
    list->changes = changes_of(info);
    if (!preload_module_read(info, &module))
        return 0;
    if (list->count++ >= list->capacity)
        return 0;
    size_t at = list->count - 1;
    for (; at > 0 && list->modules[at - 1].start > module.start; at--)
        list->modules[at] = list->modules[at - 1];
    list->modules[at] = module;
    return 0;
}

/* False: no memory. */
static bool list_loaded(struct table *list_ret)
{
    size_t capacity = LIST_CAPACITY_MIN;
    for (;;) {
        if (!modules_alloc(list_ret, capacity))
            return false;
        dl_iterate_phdr(list_module, list_ret);
        if (list_ret->count <= list_ret->capacity)
            return true;
        capacity = 2 * list_ret->count;
        modules_free(list_ret);
    }
}

/* ---- Changing the table ---- */

static bool is_same(const struct preload_module *a, const struct preload_module *b)
{
    return a->start == b->start && a->nbytes == b->nbytes && a->base == b->base &&
           a->name_hash == b->name_hash && a->build_id_nbytes == b->build_id_nbytes &&
           memcmp(a->build_id, b->build_id, a->build_id_nbytes) == 0;
}

/* Both are sorted. Modules in both keep their ids; those that are gone are recorded as unloaded. */
static void carry_over(const struct table *old, struct table *new)
{
    size_t at = 0;
    for (size_t i = 0; i < old->count; i++) {
        const struct preload_module *module = &old->modules[i];
        while (at < new->count &&new->modules[at].start < module->start)
            at++;
        if (at < new->count && is_same(module, &new->modules[at]))
            new->modules[at].first_id = module->first_id;
        else if (module->first_id != PRELOAD_NOT_REGISTERED && module->first_id != TBED_ID_INVALID)
            tbed_unit_unload_record(preload_writer, module->first_id);
    }
}

/*
 * Makes the copy that is not in use large enough. One that is too small is left behind, since a thread may still read
 * it. The room is set before the capacity, so that a child forked in between never sees a capacity beyond its room.
 */
static bool make_room(struct table *table, size_t count)
{
    struct table larger;
    if (table->capacity >= count)
        return true;
    if (!modules_alloc(&larger, count < LIST_CAPACITY_MIN ? LIST_CAPACITY_MIN : 2 * count))
        return false;
    __atomic_store_n(&table->modules, larger.modules, __ATOMIC_RELEASE);
    __atomic_store_n(&table->capacity, larger.capacity, __ATOMIC_RELEASE);
    return true;
}

/* The count comes last: a reader that sees it has modules for it, the old ones or the new. */
static void fill(struct table *table, const struct table *list)
{
    memcpy(table->modules, list->modules, list->count * sizeof *list->modules);
    __atomic_store_n(&table->changes, list->changes, __ATOMIC_RELAXED);
    __atomic_store_n(&table->count, list->count, __ATOMIC_RELEASE);
}

static void publish(struct table *list)
{
    lock_take();
    uint64_t version = preload_modules_version;
    struct table *old = current_table(version), *new = current_table(version + 1);
    /* If it is not, another thread has published a newer list. */
    bool is_newer = version == 0 || list->changes > old->changes;
    if (is_newer && make_room(new, list->count)) {
        carry_over(old, list);
        fill(new, list);
        __atomic_store_n(&preload_modules_version, version + 1, __ATOMIC_RELEASE);
    }
    lock_give();
}

static uint64_t known_changes(void)
{
    for (;;) {
        uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
        uint64_t changes = __atomic_load_n(&current_table(version)->changes, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version == __atomic_load_n(&preload_modules_version, __ATOMIC_RELAXED))
            return version == 0 ? UINT64_MAX : changes;
    }
}

void preload_modules_refresh(void)
{
    uint64_t changes = 0;
    struct table list;
    dl_iterate_phdr(read_changes, &changes);
    if (changes == known_changes() || !lock_make() || !list_loaded(&list))
        return;
    publish(&list);
    modules_free(&list);
}

/* ---- Unloading: from the loader's work to our knowing of it the addresses may have gone to another module ---- */

static bool is_unloading(void)
{
    const uint32_t *page = __atomic_load_n(&lock_page, __ATOMIC_ACQUIRE);
    return page != NULL && __atomic_load_n(&page[1], __ATOMIC_ACQUIRE) > 0;
}

/* Publishes the same table as a new version, which invalidates what threads remember of the old one. */
static void publish_again(void)
{
    lock_take();
    uint64_t version = preload_modules_version;
    struct table *old = current_table(version), *new = current_table(version + 1);
    if (version > 0 && make_room(new, old->count)) {
        fill(new, old);
        __atomic_store_n(&preload_modules_version, version + 1, __ATOMIC_RELEASE);
    }
    lock_give();
}

void preload_modules_unload_begin(void)
{
    if (!lock_make())
        return;
    __atomic_add_fetch(&lock_page[1], 1, __ATOMIC_RELEASE);
    publish_again();
}

/* A child forked in between has no unloading under way. */
void preload_modules_unload_end(void)
{
    preload_modules_refresh();
    uint32_t *page = __atomic_load_n(&lock_page, __ATOMIC_ACQUIRE);
    if (page != NULL && __atomic_load_n(&page[1], __ATOMIC_RELAXED) > 0)
        __atomic_sub_fetch(&page[1], 1, __ATOMIC_RELEASE);
}

/* ---- Looking ---- */

static struct preload_module *search(const struct table *table, uintptr_t pc)
{
    size_t low = 0, high = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
    struct preload_module *modules = __atomic_load_n(&table->modules, __ATOMIC_RELAXED);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pc - modules[middle].start < modules[middle].nbytes)
            return &modules[middle];
        if (pc < modules[middle].start)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* False: in no module of the table. */
static bool find(uintptr_t pc, struct preload_module *copy_ret, uint64_t *version_ret)
{
    for (;;) {
        uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
        struct preload_module *module = search(current_table(version), pc);
        if (module != NULL) {
            *copy_ret = *module;
            copy_ret->first_id = __atomic_load_n(&module->first_id, __ATOMIC_ACQUIRE);
        }
        *version_ret = version;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version == __atomic_load_n(&preload_modules_version, __ATOMIC_RELAXED))
            return module != NULL;
    }
}

bool preload_module_find(uintptr_t pc, struct preload_module *module_ret)
{
    uint64_t version;
    if (find(pc, module_ret, &version))
        return true;
    preload_modules_refresh();
    return find(pc, module_ret, &version);
}

static uintptr_t linker_start, linker_nbytes; /* 0: unknown; atomic, the size is stored last */

bool preload_is_linker(uintptr_t pc)
{
    uintptr_t nbytes = __atomic_load_n(&linker_nbytes, __ATOMIC_ACQUIRE);
    return nbytes == 0 || pc - __atomic_load_n(&linker_start, __ATOMIC_RELAXED) < nbytes;
}

/* ---- Registering: with the first caller, so that modules that never allocate take no ids ---- */

/* The name that the loader uses, or with which the program was started; NULL: another process may mean another file by it. */
static const char *loader_name(const struct preload_module *module)
{
    const char *name = module->name;
    if (name != NULL && name[0] == '\0')
        name = (const char *)getauxval(AT_EXECFN);
    return name != NULL && name[0] == '/' && module->build_id_nbytes != 0 ? name : NULL;
}

static uint32_t register_by_path(struct tbed_unit_options *options, const char *path)
{
    const char *slash = strrchr(path, '/');
    options->name = slash != NULL ? slash + 1 : path;
    options->file = path;
    return tbed_unit_register(preload_writer, options);
}

/*
 * Asking the kernel for a path takes 10 us. So what another process has registered with the same build id is also found by
 * the loader's name.
 */
static uint32_t register_module(const struct preload_module *module)
{
    struct tbed_unit_options options = {
        .size = sizeof options,
        .kind = TBED_UNIT_NATIVE,
        .pc_shift = PRELOAD_PC_SHIFT,
        .base = module->base,
        .pc_count = module->nbytes,
        .file = loader_name(module),
        .build_id = module->build_id,
        .build_id_nbytes = module->build_id_nbytes,
        .share = true,
    };
    struct tbed_unit_options known = options;
    uint32_t first_id = TBED_ID_INVALID;
    if (known.file != NULL)
        first_id = tbed_unit_look(preload_writer, &known);
    if (first_id == TBED_ID_INVALID) {
        first_id = register_by_path(&options, preload_module_path(module));
        if (known.file != NULL)
            tbed_unit_add_key(preload_writer, &known, first_id);
    }
    if (first_id != TBED_ID_INVALID)
        tbed_unit_load_record(preload_writer, first_id, module->start, module->nbytes);
    return first_id;
}

static void register_at(uintptr_t pc)
{
    lock_take();
    struct preload_module *module = search(current_table(preload_modules_version), pc);
    if (module != NULL && module->first_id == PRELOAD_NOT_REGISTERED)
        __atomic_store_n(&module->first_id, register_module(module), __ATOMIC_RELEASE);
    lock_give();
}

void preload_modules_register(void)
{
    preload_modules_refresh();
    if (!lock_make())
        return;
    lock_take();
    struct table *table = current_table(preload_modules_version);
    for (size_t i = 0; i < table->count; i++)
        if (table->modules[i].first_id == PRELOAD_NOT_REGISTERED)
            __atomic_store_n(&table->modules[i].first_id, register_module(&table->modules[i]),
                             __ATOMIC_RELEASE);
    lock_give();
}

/* ---- The slow path ---- */

static bool find_registered(struct preload_thread *thread, uintptr_t pc, struct preload_module *module_ret)
{
    uint64_t version;
    bool found = find(pc, module_ret, &version);
    bool is_doubtful =
        found && (module_ret->is_linker || module_ret->first_id == PRELOAD_NOT_REGISTERED || is_unloading());
    if (found ? is_doubtful : thread->missed_pc != pc || thread->missed_version != version) {
        preload_modules_refresh();
        found = find(pc, module_ret, &version);
    }
    if (!found) {
        thread->missed_pc = pc;
        thread->missed_version = version;
        return false;
    }
    if (module_ret->first_id == PRELOAD_NOT_REGISTERED) {
        register_at(pc);
        found = find(pc, module_ret, &version);
    }
    thread->range_version = version;
    return found && module_ret->first_id <= TBED_ID_MAX_RESERVED;
}

/* Exchanges the last range and the one before. True: the caller is in what is now the last. */
static bool go_back(struct preload_thread *thread, uintptr_t pc)
{
    struct preload_range before = thread->range_before;
    thread->range_before = (struct preload_range){thread->range_version, thread->range_start,
                                                  thread->range_nbytes, thread->range_first_id};
    thread->range_version = before.version;
    thread->range_start = before.start;
    thread->range_nbytes = before.nbytes;
    thread->range_first_id = before.first_id;
    return pc - before.start < before.nbytes &&
           before.version == __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
}

uint32_t preload_location_slow(struct preload_thread *thread, uintptr_t pc)
{
    struct preload_module module;
    if (go_back(thread, pc))
        return thread->range_first_id + (uint32_t)((pc - thread->range_start) >> PRELOAD_PC_SHIFT);
    preload_guard_set(thread, PRELOAD_APART);
    bool found = find_registered(thread, pc, &module);
    preload_guard_set(thread, PRELOAD_RECORDING);
    thread->range_nbytes = 0;
    if (!found)
        return TBED_ID_INVALID;
    if (module.is_linker) {
        __atomic_store_n(&linker_start, module.start, __ATOMIC_RELAXED);
        __atomic_store_n(&linker_nbytes, module.nbytes, __ATOMIC_RELEASE);
    } else if (!is_unloading()) { /* a caller in the loader must always come here */
        thread->range_start = module.start;
        thread->range_first_id = module.first_id;
        thread->range_nbytes = module.nbytes;
    }
    return module.first_id + (uint32_t)((pc - module.start) >> PRELOAD_PC_SHIFT);
}
