/*
 * Which functions are recorded: by name, and how deep.
 *
 * The names are those of the module's own symbols, read from its file when one of its functions is first called; so
 * filters work for libraries that are loaded late and for programs that the program starts. A verdict is remembered by
 * address, in a table shared by all threads.
 *
 * The file is not trusted: each part is read into memory of its own, and indexes are checked against it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/glob.h"
#include "writer/capture/functions/functions.h"

#define PATTERN_COUNT_MAX 64

bool functions_is_selective;

static struct {
    const char *text;
    bool leaves_out;
} patterns[PATTERN_COUNT_MAX];
static size_t pattern_count;
static uint32_t depth_max = UINT32_MAX;

/* ---- What was asked for ---- */

/* Splits 'list' at the ends of its lines. */
static void take_patterns(char *list)
{
    char *rest = list;
    for (char *text = strsep(&rest, "\n"); text != NULL; text = strsep(&rest, "\n")) {
        bool leaves_out = text[0] == '!';
        if (text[leaves_out] == '\0' || pattern_count == PATTERN_COUNT_MAX)
            continue;
        patterns[pattern_count].text = text + leaves_out;
        patterns[pattern_count++].leaves_out = leaves_out;
    }
}

/* Runs before all other constructors, so that their functions are recorded too. */
__attribute__((constructor(101))) static void start(void)
{
    static char list[4096];
    const char *filter = getenv(FUNCTIONS_ENV_FILTER), *depth = getenv(FUNCTIONS_ENV_DEPTH);
    if (filter != NULL && strlen(filter) < sizeof list)
        take_patterns(strcpy(list, filter));
    if (depth != NULL)
        depth_max = (uint32_t)strtoul(depth, NULL, 10);
    functions_is_selective = pattern_count > 0 || depth != NULL;
}

/*
 * The last matching pattern decides. If none matches, the function is treated as the opposite of the first pattern.
 */
static bool default_verdict(void)
{
    return patterns[0].leaves_out;
}

static bool verdict_of(const char *name)
{
    for (size_t i = pattern_count; i-- > 0;)
        if (tbed_glob_fits(patterns[i].text, name))
            return !patterns[i].leaves_out;
    return default_verdict();
}

/* ---- A module's symbols ---- */

struct bytes {
    uint8_t *start;
    size_t nbytes;
};

static void bytes_free(struct bytes bytes)
{
    if (bytes.start != NULL)
        munmap(bytes.start, bytes.nbytes);
}

static struct bytes bytes_alloc(uint64_t nbytes)
{
    void *pages = nbytes == 0 || nbytes > PTRDIFF_MAX
                      ? MAP_FAILED
                      : mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? (struct bytes){NULL, 0} : (struct bytes){pages, nbytes};
}

/* Empty if the file does not have them. */
static struct bytes bytes_read(int fd, uint64_t offset, uint64_t nbytes)
{
    struct stat status;
    struct bytes bytes = {NULL, 0};
    if (fstat(fd, &status) != 0 || offset > (uint64_t)status.st_size ||
        nbytes > (uint64_t)status.st_size - offset)
        return bytes;
    bytes = bytes_alloc(nbytes);
    for (size_t done = 0; done < bytes.nbytes;) {
        ssize_t got = pread(fd, bytes.start + done, bytes.nbytes - done, (off_t)(offset + done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            bytes_free(bytes);
            return (struct bytes){NULL, 0};
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return bytes;
}

struct symbols {
    struct bytes entries, names;
};

static ElfW(Shdr) section_at(struct bytes table, size_t index)
{
    ElfW(Shdr) section = {.sh_type = SHT_NULL};
    if (index < table.nbytes / sizeof section)
        memcpy(&section, table.start + index * sizeof section, sizeof section);
    return section;
}

static bool symbols_take(int fd, struct bytes table, uint32_t type, struct symbols *symbols_ret)
{
    for (size_t i = 0; i < table.nbytes / sizeof(ElfW(Shdr)); i++) {
        ElfW(Shdr) section = section_at(table, i), names = section_at(table, section.sh_link);
        if (section.sh_type != type || names.sh_type != SHT_STRTAB)
            continue;
        symbols_ret->entries = bytes_read(fd, section.sh_offset, section.sh_size);
        symbols_ret->names = bytes_read(fd, names.sh_offset, names.sh_size);
        return symbols_ret->entries.start != NULL && symbols_ret->names.start != NULL;
    }
    return false;
}

/* Stripped programs still have the names of exported functions. */
static void symbols_read(int fd, struct symbols *symbols_ret)
{
    ElfW(Ehdr) header;
    *symbols_ret = (struct symbols){{NULL, 0}, {NULL, 0}};
    if (pread(fd, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(ElfW(Shdr)))
        return;
    struct bytes table = bytes_read(fd, header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize);
    if (!symbols_take(fd, table, SHT_SYMTAB, symbols_ret))
        symbols_take(fd, table, SHT_DYNSYM, symbols_ret);
    bytes_free(table);
}

/* The name of the function that starts at '*pc_ret'; NULL: the entry is not a function. */
static const char *function_at(const struct symbols *symbols, size_t index, uint64_t *pc_ret)
{
    ElfW(Sym) symbol;
    memcpy(&symbol, symbols->entries.start + index * sizeof symbol, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
        symbol.st_name >= symbols->names.nbytes)
        return NULL;
    const char *name = (const char *)symbols->names.start + symbol.st_name;
    *pc_ret = symbol.st_value;
    return memchr(name, 0, symbols->names.nbytes - symbol.st_name) != NULL ? name : NULL;
}

/* ---- A module's exceptions to the default verdict: a set of addresses as its file has them ---- */

struct exceptions {
    struct exceptions *next;
    uintptr_t start, nbytes; /* of the module */
    uint16_t build_id_nbytes;
    uint8_t build_id[PRELOAD_BUILD_ID_NBYTES];
    size_t mask;
    uint64_t slots[]; /* pc + 1; 0: free */
};

static struct exceptions *all_exceptions; /* atomic; only ever grows */

static uint64_t *slot_of(struct exceptions *exceptions, uint64_t pc)
{
    size_t at = (size_t)(pc * 0x9E3779B97F4A7C15u >> 20) & exceptions->mask;
    while (exceptions->slots[at] != 0 && exceptions->slots[at] != pc + 1)
        at = (at + 1) & exceptions->mask;
    return &exceptions->slots[at];
}

/* Counts the symbols whose verdict is not the default, and adds them to the set if there is one. */
static size_t each_exception(const struct symbols *symbols, struct exceptions *exceptions)
{
    size_t count = 0;
    uint64_t pc;
    for (size_t i = 0; i < symbols->entries.nbytes / sizeof(ElfW(Sym)); i++) {
        const char *name = symbols->names.start != NULL ? function_at(symbols, i, &pc) : NULL;
        if (name == NULL || verdict_of(name) == default_verdict())
            continue;
        count++;
        if (exceptions != NULL)
            *slot_of(exceptions, pc) = pc + 1;
    }
    return count;
}

static struct exceptions *exceptions_make(const struct preload_module *module)
{
    struct symbols symbols = {{NULL, 0}, {NULL, 0}};
    const char *path = module->name != NULL && module->name[0] != '\0' ? module->name : "/proc/self/exe";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        symbols_read(fd, &symbols);
        close(fd);
    }
    size_t capacity = 16, count = each_exception(&symbols, NULL);
    while (capacity < 2 * count)
        capacity *= 2;
    struct exceptions *made = (void *)bytes_alloc(sizeof *made + capacity * sizeof made->slots[0]).start;
    if (made != NULL) {
        made->start = module->start;
        made->nbytes = module->nbytes;
        made->build_id_nbytes = module->build_id_nbytes;
        memcpy(made->build_id, module->build_id, module->build_id_nbytes);
        made->mask = capacity - 1;
        each_exception(&symbols, made);
    }
    bytes_free(symbols.entries);
    bytes_free(symbols.names);
    return made;
}

static bool is_of(const struct exceptions *exceptions, const struct preload_module *module)
{
    return exceptions->start == module->start && exceptions->nbytes == module->nbytes &&
           exceptions->build_id_nbytes == module->build_id_nbytes &&
           memcmp(exceptions->build_id, module->build_id, module->build_id_nbytes) == 0;
}

/* Two threads may build the same set; both then stay. */
static struct exceptions *exceptions_of(const struct preload_module *module)
{
    struct exceptions *first = __atomic_load_n(&all_exceptions, __ATOMIC_ACQUIRE);
    for (struct exceptions *at = first; at != NULL; at = at->next)
        if (is_of(at, module))
            return at;
    struct exceptions *made = exceptions_make(module);
    if (made == NULL)
        return NULL;
    made->next = first;
    while (!__atomic_compare_exchange_n(&all_exceptions, &made->next, made, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return made;
}

/* ---- Verdicts ---- */

/* Version of the modules (15 bits), address (48 bits), verdict. */
#define VERDICT_COUNT 4096
static uint64_t verdicts[VERDICT_COUNT];

static uint64_t verdict_key(uintptr_t function)
{
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    return version << 49 | ((uint64_t)function << 16 >> 15);
}

static bool verdict_find(struct preload_thread *thread, uintptr_t function)
{
    struct preload_module module;
    struct functions_signals signals;
    int saved_errno = errno;
    bool wanted = default_verdict();
    functions_signals_block(&signals);
    preload_location_at(thread, function); /* makes the module known */
    struct exceptions *exceptions = preload_module_find(function, &module) ? exceptions_of(&module) : NULL;
    if (exceptions != NULL && *slot_of(exceptions, function - module.start + module.base) != 0)
        wanted = !wanted;
    functions_signals_restore(&signals);
    errno = saved_errno;
    return wanted;
}

bool functions_is_wanted(struct preload_thread *thread, uintptr_t function, uint32_t depth)
{
    if (depth >= depth_max)
        return false;
    if (pattern_count == 0)
        return true;
    uint64_t key = verdict_key(function);
    uint64_t *slot = &verdicts[(function ^ function >> 12) % VERDICT_COUNT];
    uint64_t verdict = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if ((verdict & ~(uint64_t)1) != key) {
        verdict = key | verdict_find(thread, function);
        __atomic_store_n(slot, verdict_key(function) | (verdict & 1), __ATOMIC_RELAXED);
    }
    return verdict & 1;
}
