/*
 * The symbol library against the one module whose symbols a test knows for certain: itself.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/symbols/process/symbol_worker.h"
#include "reader/tests/analysis/analysis_fixture.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tracebed/symbols.h>
#include <unistd.h>

/* What is looked for: two functions that the compiler must not merge or inline. */
__attribute__((noinline)) int symbols_test_first(int x);
__attribute__((noinline)) int symbols_test_second(int x);

int symbols_test_first(int x)
{
    __asm__ volatile("" : "+r"(x));
    return 3 * x + 1;
}

int symbols_test_second(int x)
{
    __asm__ volatile("" : "+r"(x));
    return 5 * x - 1;
}

/* ---- This program as a module ---- */

struct self {
    char path[4096];
    uint64_t base;
    const uint8_t *build_id;
    size_t build_id_nbytes;
};

static void find_build_id(struct self *self, const uint8_t *notes, size_t nbytes)
{
    while (nbytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)notes;
        size_t name = (note->n_namesz + 3) & ~3u, size = sizeof *note + name + ((note->n_descsz + 3) & ~3u);
        if (size > nbytes)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(note + 1, "GNU", 4) == 0) {
            self->build_id = (const uint8_t *)(note + 1) + name;
            self->build_id_nbytes = note->n_descsz;
        }
        notes += size;
        nbytes -= size;
    }
}

/* The first object reported by the loader is the program. */
static int take_self(struct dl_phdr_info *info, size_t size, void *context)
{
    struct self *self = context;
    (void)size;
    self->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            find_build_id(self, (const uint8_t *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                          info->dlpi_phdr[i].p_memsz);
    return 1;
}

static struct self find_self(void)
{
    struct self self = {0};
    ssize_t nbytes = readlink("/proc/self/exe", self.path, sizeof self.path - 1);
    assert_true(nbytes > 0);
    dl_iterate_phdr(take_self, &self);
    return self;
}

static struct tbed_symbols_module module_of(const struct self *self)
{
    return (struct tbed_symbols_module){self->path, self->build_id, self->build_id_nbytes};
}

static uint64_t pc_of(const struct self *self, int (*function)(int))
{
    return (uint64_t)(uintptr_t)function - self->base;
}

/* ---- Tests ---- */

static void a_function_is_found_at_its_start_and_inside(void **state)
{
    struct self self = find_self();
    struct tbed_symbols_module module = module_of(&self);
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    struct tbed_symbol symbol;
    enum tbed_symbols_state found;
    uint64_t first = pc_of(&self, symbols_test_first), second = pc_of(&self, symbols_test_second);
    (void)state;
    assert_true(tbed_symbols_find(symbols, &module, first, &symbol, &found));
    assert_int_equal(found, TBED_SYMBOLS_FOUND);
    assert_string_equal(symbol.name, "symbols_test_first");
    assert_int_equal(symbol.offset, 0);
    assert_true(tbed_symbols_find(symbols, &module, second + 2, &symbol, NULL));
    assert_string_equal(symbol.name, "symbols_test_second");
    assert_int_equal(symbol.offset, 2);
    tbed_symbols_close(symbols);
}

/* A location of a call is inside the call instruction, which may be the last of its function. */
static void the_last_byte_of_a_function_is_still_its_own(void **state)
{
    struct self self = find_self();
    struct tbed_symbols_module module = module_of(&self);
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    struct tbed_symbol symbol;
    uint64_t end = pc_of(&self, symbols_test_first);
    (void)state;
    while (tbed_symbols_find(symbols, &module, end, &symbol, NULL) &&
           strcmp(symbol.name, "symbols_test_first") == 0)
        end++;
    assert_true(tbed_symbols_find(symbols, &module, end - 1, &symbol, NULL));
    assert_int_equal(symbol.offset, end - 1 - pc_of(&self, symbols_test_first));
    assert_false(tbed_symbols_find(symbols, &module, 0, &symbol, NULL));
    assert_false(tbed_symbols_find(symbols, &module, UINT64_MAX, &symbol, NULL));
    tbed_symbols_close(symbols);
}

static void another_build_is_not_used(void **state)
{
    struct self self = find_self();
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    struct tbed_symbol symbol;
    enum tbed_symbols_state found;
    const uint8_t build_id[20] = {1, 2, 3};
    struct tbed_symbols_module other = {self.path, build_id, sizeof build_id};
    (void)state;
    assert_false(tbed_symbols_find(symbols, &other, pc_of(&self, symbols_test_first), &symbol, &found));
    assert_int_equal(found, TBED_SYMBOLS_MISMATCH);
    tbed_symbols_close(symbols);
}

static void files_that_are_not_there_or_no_modules_have_no_symbols(void **state)
{
    static const char *const paths[] = {"/nowhere/at/all.so", "linux-vdso.so.1", "", "/proc/self/status",
                                        "/"};
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    struct tbed_symbol symbol;
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct tbed_symbols_module module = {.path = paths[i]};
        enum tbed_symbols_state found;
        assert_false(tbed_symbols_find(symbols, &module, 4096, &symbol, &found));
        assert_int_equal(found, TBED_SYMBOLS_NO_FILE);
    }
    tbed_symbols_close(symbols);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in != NULL && out != NULL);
    for (size_t nbytes; (nbytes = fread(bytes, 1, sizeof bytes, in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, nbytes, out), nbytes);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* The module is missing, but its debug file is where distributions put them. */
static void a_debug_file_is_found_by_build_id(void **state)
{
    struct self self = find_self();
    char directory[] = "/tmp/symbols_test_XXXXXX", path[5000];
    (void)state;
    if (self.build_id_nbytes < 2)
        skip();
    assert_non_null(mkdtemp(directory));
    int at = snprintf(path, sizeof path, "%s/.build-id", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    at += snprintf(path + at, sizeof path - (size_t)at, "/%02x", self.build_id[0]);
    assert_int_equal(mkdir(path, 0700), 0);
    path[at++] = '/';
    for (size_t i = 1; i < self.build_id_nbytes; i++)
        at += snprintf(path + at, sizeof path - (size_t)at, "%02x", self.build_id[i]);
    snprintf(path + at, sizeof path - (size_t)at, ".debug");
    copy_file(self.path, path);

    struct tbed_symbols_options options = {.size = sizeof options, .debug_directory = directory};
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    struct tbed_symbols_module module = {"/nowhere/module", self.build_id, self.build_id_nbytes};
    struct tbed_symbol symbol;
    assert_true(tbed_symbols_find(symbols, &module, pc_of(&self, symbols_test_first), &symbol, NULL));
    assert_string_equal(symbol.name, "symbols_test_first");
    tbed_symbols_close(symbols);
    snprintf(path, sizeof path, "rm -r '%s'", directory);
    assert_int_equal(system(path), 0);
}

static void many_modules_are_kept_apart(void **state)
{
    struct self self = find_self();
    struct tbed_symbols_module module = module_of(&self), none = {.path = "/nowhere"};
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    struct tbed_symbol symbol;
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(tbed_symbols_find(symbols, &module, pc_of(&self, symbols_test_first), &symbol, NULL));
        assert_false(tbed_symbols_find(symbols, &none, 1, &symbol, NULL));
    }
    tbed_symbols_close(symbols);
    tbed_symbols_close(NULL);
}

/* ---- Many at once ---- */

static uint32_t *question_count; /* the worker's process counts too */

static void count_question(const char *path)
{
    (void)path;
    __atomic_add_fetch(question_count, 1, __ATOMIC_RELAXED);
}

static void many_addresses_of_a_module_are_one_question(void **state)
{
    enum { PCS = 1000 };
    struct self self = find_self();
    struct tbed_symbols_module module = module_of(&self);
    struct tbed_frame frame;
    struct tbed_symbol symbol;
    uint64_t pcs[PCS];
    (void)state;
    question_count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(question_count != MAP_FAILED);
    for (size_t i = 0; i < PCS; i++)
        pcs[i] = pc_of(&self, symbols_test_first) + i % 500;
    tbed_symbol_worker_hook = count_question;
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    tbed_symbols_resolve_many(symbols, &module, pcs, PCS);
    for (size_t i = 0; i < PCS; i++) {
        tbed_symbols_find(symbols, &module, pcs[i], &symbol, NULL);
        tbed_symbols_frames(symbols, &module, pcs[i], &frame, 1);
    }
    tbed_symbols_resolve_many(symbols, &module, pcs, PCS);
    tbed_symbols_close(symbols);
    tbed_symbol_worker_hook = NULL;
    assert_int_equal(*question_count, 1);
    munmap(question_count, 4096);
}

/* ---- What an id means ---- */

#define UNIT_FIRST 5000u
#define UNIT_COUNT 100000000u

/* A unit of ids of which pc 0 is the first. */
static void add_unit(struct fixture *f, uint32_t first_id, uint32_t kind, const char *name, const char *file,
                     uint32_t first_line, const struct self *self)
{
    uint32_t fields[12 + 16] = {
        first_id, UNIT_COUNT, kind, 0, fixture_string(f, name), fixture_string(f, file), first_line};
    if (self != NULL && self->build_id_nbytes <= 64) {
        fields[7] = (uint32_t)self->build_id_nbytes;
        memcpy(&fields[10], self->build_id, self->build_id_nbytes);
    }
    fixture_record(f, TBED_RECORD_UNIT, fields, 10 + (fields[7] + 7) / 8 * 2);
}

static void expect_text(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part,
                        const char *expected)
{
    char buffer[1024], cut[4];
    struct tbed_name name;
    size_t nbytes = tbed_id_text(reader, id, part, buffer, sizeof buffer);
    assert_string_equal(buffer, expected);
    assert_int_equal(nbytes, strlen(expected));
    /* Cut as snprintf() cuts. */
    assert_int_equal(tbed_id_text(reader, id, part, cut, sizeof cut), nbytes);
    assert_memory_equal(cut, expected, nbytes < 3 ? nbytes : 3);
    assert_int_equal(cut[nbytes < 3 ? nbytes : 3], '\0');
    assert_int_equal(tbed_id_text(reader, id, part, NULL, 0), nbytes);
    if (part == TBED_NAME_ALL && id != TBED_ID_INVALID) {
        assert_int_equal(tbed_name_get(reader, id, &name), TBED_OK);
        assert_string_equal(name.text, expected);
    }
}

static void places_are_spelled_in_one_form(void **state)
{
    struct self self = find_self();
    struct fixture *f = fixture_new(4096);
    struct tbed_symbols_options options = {.size = sizeof options, .no_lines = true};
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    char raw[64];
    (void)state;
    uint32_t pc = (uint32_t)pc_of(&self, symbols_test_first) + 2, text = fixture_string(f, "plain");
    add_unit(f, UNIT_FIRST, TBED_UNIT_NATIVE, "/usr/bin/self.test", self.path, 0, &self);
    add_unit(f, UNIT_FIRST + UNIT_COUNT, TBED_UNIT_BYTECODE, "load", "a.rb", 7, NULL);
    uint32_t lines[] = {UNIT_FIRST + UNIT_COUNT, 2, 4, 12, 9, 15};
    fixture_record(f, TBED_RECORD_LINES, lines, 6);
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_damage_count(reader), 0);
    snprintf(raw, sizeof raw, "self.test+0x%x", pc);
    expect_text(reader, UNIT_FIRST + pc, TBED_NAME_ALL, raw);
    expect_text(reader, UNIT_FIRST + pc, TBED_NAME_FUNCTION, "self.test");
    assert_int_equal(tbed_symbols_attach(symbols, reader), TBED_OK);
    expect_text(reader, UNIT_FIRST + pc, TBED_NAME_ALL, "self.test!symbols_test_first");
    expect_text(reader, UNIT_FIRST + pc, TBED_NAME_FUNCTION, "self.test!symbols_test_first");
    expect_text(reader, UNIT_FIRST + pc, TBED_NAME_MODULE, "self.test");
    expect_text(reader, UNIT_FIRST + UNIT_COUNT + 9, TBED_NAME_ALL, "load a.rb:15");
    expect_text(reader, UNIT_FIRST + UNIT_COUNT, TBED_NAME_ALL, "load a.rb:7");
    expect_text(reader, UNIT_FIRST + UNIT_COUNT + 9, TBED_NAME_FUNCTION, "load a.rb");
    expect_text(reader, UNIT_FIRST + UNIT_COUNT + 9, TBED_NAME_MODULE, "a.rb");
    expect_text(reader, text, TBED_NAME_ALL, "plain");
    expect_text(reader, TBED_ID_INVALID, TBED_NAME_ALL, "<unknown>");
    tbed_reader_close(reader);
    tbed_symbols_close(symbols);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_found_at_its_start_and_inside),
        cmocka_unit_test(the_last_byte_of_a_function_is_still_its_own),
        cmocka_unit_test(another_build_is_not_used),
        cmocka_unit_test(files_that_are_not_there_or_no_modules_have_no_symbols),
        cmocka_unit_test(a_debug_file_is_found_by_build_id),
        cmocka_unit_test(many_modules_are_kept_apart),
        cmocka_unit_test(many_addresses_of_a_module_are_one_question),
        cmocka_unit_test(places_are_spelled_in_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
