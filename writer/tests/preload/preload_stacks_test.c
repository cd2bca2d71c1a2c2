/*
 * Compares the stacks of recorded allocations with those that a program logs by means of the C library's unwinder. Also
 * light recording, C++ operators, and traces of killed programs.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_stacks_log.h"
#include "writer/tests/preload/preload_support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES 32

static char trace_path[4096], log_path[4096], folder[4096];

static int set_up(void **state)
{
    (void)state;
    snprintf(trace_path, sizeof trace_path, "%s", test_path("run.tbed"));
    snprintf(log_path, sizeof log_path, "%s", test_path("run.log"));
    snprintf(folder, sizeof folder, "%s", test_path("stacks"));
    mkdir(folder, 0700);
    unlink(trace_path);
    return 0;
}

static void enter_folder(void)
{
    if (chdir(folder) != 0)
        _exit(98);
}

static struct tbed_reader *run_recorded(const char *const *argv, const char *mode)
{
    struct preload_command command = {
        .argv = argv, .trace = trace_path, .prepare = enter_folder, .variable = mode};
    struct preload_outcome outcome = preload_run(&command);
    if (outcome.status != 0)
        fail_msg("%s: status %#x\n%s", argv[0], outcome.status, outcome.output);
    free(outcome.output);
    struct tbed_reader *reader = preload_open(trace_path);
    assert_int_equal(test_drop_count(reader), 0);
    return reader;
}

/* ---- The stacks ---- */

struct entries {
    struct stacks_entry *all;
    size_t count;
};

static struct entries read_log(void)
{
    struct entries entries = {NULL, 0};
    FILE *file = fopen(log_path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    entries.count = (size_t)ftell(file) / sizeof *entries.all;
    rewind(file);
    entries.all = calloc(entries.count + 1, sizeof *entries.all);
    assert_int_equal(fread(entries.all, sizeof *entries.all, entries.count, file), entries.count);
    fclose(file);
    return entries;
}

/* Of a counter, or of the outermost frame of a stack that was cut. */
static void assert_named(const struct tbed_reader *reader, uint32_t location, const char *text)
{
    char name[64];
    size_t nbytes;
    tbed_string_resolve(reader, location, name, sizeof name, &nbytes);
    assert_string_equal(name, text);
}

/* Compares address by address; an address that a signal interrupted is stored exactly, not as that of a call. */
static void compare_stack(const struct tbed_reader *reader, uint32_t id, const struct stacks_entry *entry)
{
    uint32_t locations[FRAMES + 2];
    size_t count = tbed_stack_locations(reader, id, locations, FRAMES + 2);
    size_t wanted = entry->count < FRAMES ? entry->count : FRAMES;
    bool is_cut = entry->count > FRAMES;
    if (count != wanted + is_cut)
        fail_msg("block of %lu: %zu frames, not %zu", (unsigned long)entry->nbytes, count, wanted + is_cut);
    if (is_cut)
        assert_named(reader, locations[FRAMES], "[stack cut at 32 frames]");
    for (size_t i = 0; i < wanted; i++) {
        struct tbed_unit_info unit;
        uint64_t pc;
        assert_true(tbed_location_find(reader, locations[i], &unit, &pc));
        uint64_t allowed = i == 0 ? 200 : 1;
        if (pc + (i == 0 ? allowed : 0) < entry->pcs[i] || pc > entry->pcs[i] + allowed)
            fail_msg("block of %lu: frame %zu is %#lx, not %#lx", (unsigned long)entry->nbytes, i,
                     (unsigned long)pc, (unsigned long)entry->pcs[i]);
    }
}

static void stacks_are_those_of_the_c_library(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip(); /* unwinds by frame pointers only, which the C library lacks */
#endif
    const char *argv[] = {preload_path("preload_stacks_helper"), log_path, NULL};
    struct tbed_reader *reader = run_recorded(argv, "TRACEBED_PRELOAD_MODE=stacks=32");
    struct entries entries = read_log();
    struct tbed_merge *merge;
    struct tbed_event event;
    size_t compared = 0, cut = 0;
    assert_int_equal(entries.count, STACKS_COUNT);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        uint64_t index =
            event.type == TBED_EVENT_ALLOC ? event.of.alloc.size - STACKS_FIRST_NBYTES : UINT64_MAX;
        if (index >= entries.count)
            continue;
        compare_stack(reader, event.id, &entries.all[index]);
        compared++;
        cut += entries.all[index].count > FRAMES;
    }
    assert_int_equal(compared, entries.count);
    assert_true(cut > 0 && cut < compared);
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    free(entries.all);
}

/* ---- Light ---- */

static void light_recording_is_a_word_for_each_allocation(void **state)
{
    (void)state;
    const char *argv[] = {preload_path("preload_stacks_helper"), log_path, NULL};
    struct tbed_reader *reader = run_recorded(argv, "TRACEBED_PRELOAD_MODE=light");
    struct tbed_merge *merge;
    struct tbed_event event;
    size_t of_helper = 0;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        struct tbed_unit_info unit;
        uint64_t pc;
        char name[64];
        size_t nbytes;
        assert_int_equal(event.type, TBED_EVENT_INSTANT);
        assert_true(tbed_location_find(reader, event.id, &unit, &pc));
        tbed_string_resolve(reader, unit.name_id, name, sizeof name, &nbytes);
        of_helper += strcmp(name, "preload_stacks_helper") == 0;
    }
    assert_int_equal(of_helper, STACKS_COUNT);
    tbed_merge_close(merge);
    tbed_reader_close(reader);
}

/* ---- Operators of C++ ---- */

static void compile(const char *source, const char *const *argv)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/unit.cpp", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
    struct preload_command command = {.argv = argv, .prepare = enter_folder};
    struct preload_outcome outcome = preload_run(&command);
    if (outcome.status != 0)
        fail_msg("%s", outcome.output);
    free(outcome.output);
}

/* Expects one allocation of each size in [first, first + count), made by a unit of this name, and freed. */
static void assert_blocks(struct tbed_reader *reader, const char *unit_name, uint64_t first, size_t count)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t addresses[32] = {0};
    size_t seen = 0, freed = 0;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        struct tbed_unit_info unit;
        uint64_t pc;
        for (size_t i = 0; event.type == TBED_EVENT_FREE && i < count; i++)
            if (addresses[i] == event.of.alloc.address) {
                addresses[i] = 0;
                freed++;
            }
        if (event.type != TBED_EVENT_ALLOC || event.of.alloc.size - first >= count)
            continue;
        uint32_t location = event.id;
        tbed_stack_locations(reader, event.id, &location, 1);
        assert_true(tbed_location_find(reader, location, &unit, &pc));
        assert_text(reader, unit.name_id, unit_name);
        addresses[event.of.alloc.size - first] = event.of.alloc.address;
        seen++;
    }
    assert_int_equal(seen, count);
    assert_int_equal(freed, count);
    tbed_merge_close(merge);
}

static const char with_operators[] =
    "#include <cstdio>\n#include <new>\n#include <cstdlib>\n"
    "struct alignas(64) wide { char bytes[64]; };\n"
    "template <class T> T *keep(T *p) { T *volatile q = p; return q; }\n"
    "static void handler() { delete[] keep(new char[20007]); std::set_new_handler(nullptr); }\n"
    "extern \"C\" int run_all() {\n"
    "  ::operator delete(keep((char *)::operator new(20000)));\n"
    "  delete[] keep(new char[20001]);\n"
    "  delete[] keep(new (std::nothrow) char[20002]);\n"
    "  ::operator delete(keep((char *)::operator new(20003, std::nothrow)), std::nothrow);\n"
    "  ::operator delete(keep((char *)::operator new(20004)), (std::size_t)20004);\n"
    "  ::operator delete[](keep((char *)::operator new[](20005)), (std::size_t)20005);\n"
    "  free(keep((char *)malloc(20006)));\n"
    "  delete keep(new wide);\n"
    "  std::set_new_handler(handler);\n"
    "  volatile std::size_t huge = (std::size_t)1 << 62; int caught = 0;\n"
    "  try { keep(new char[huge]); } catch (std::bad_alloc &) { caught = 1; }\n"
    "  if (keep(new (std::nothrow) char[huge]) == nullptr) caught++;\n"
    "  std::printf(\"%d\\n\", caught);\n"
    "  return caught == 2 ? 0 : 1;\n"
    "}\n";

static void caller_of_new_is_told_and_not_the_library(void **state)
{
    (void)state;
    if (system("command -v c++ >/dev/null 2>&1") != 0)
        skip();
    char source[8192];
    snprintf(source, sizeof source, "%sint main() { return run_all(); }\n", with_operators);
    compile(source, (const char *[]){"c++", "-std=c++17", "-O1", "-o", "cpp", "unit.cpp", NULL});
    const char *argv[] = {"./cpp", NULL};
    preload_run_both(argv, trace_path, enter_folder);
    unlink(trace_path);
    struct tbed_reader *reader = run_recorded(argv, NULL);
    assert_blocks(reader, "cpp", 20000, 8);
    tbed_reader_close(reader);
}

/* A C++ library in a program without C++: RTLD_NEXT does not find the operators that it needs. */
static void library_that_was_loaded_for_itself_has_its_operators(void **state)
{
    (void)state;
    if (system("command -v c++ >/dev/null 2>&1") != 0)
        skip();
    compile(with_operators, (const char *[]){"c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", "cpp.so",
                                             "unit.cpp", NULL});
    compile("#include <dlfcn.h>\n"
            "int main(void) { void *l = dlopen(\"./cpp.so\", RTLD_NOW | RTLD_LOCAL); int (*f)(void);\n"
            "  if (l == 0) return 3; *(void **)&f = dlsym(l, \"run_all\"); int r = f(); dlclose(l); return "
            "r; }\n",
            (const char *[]){"cc", "-x", "c", "-o", "loads", "unit.cpp", NULL});
    const char *argv[] = {"./loads", NULL};
    preload_run_both(argv, trace_path, enter_folder);
    unlink(trace_path);
    struct tbed_reader *reader = run_recorded(argv, "TRACEBED_PRELOAD_MODE=stacks=8");
    assert_blocks(reader, "cpp.so", 20000, 8);
    tbed_reader_close(reader);
}

/* The program's operators put a header before each block, so addresses differ from malloc's. */
static void program_with_operators_of_its_own_has_them_called(void **state)
{
    (void)state;
    if (system("command -v c++ >/dev/null 2>&1") != 0)
        skip();
    compile("#include <cstdio>\n#include <cstdlib>\n#include <new>\n"
            "static int count;\n"
            "void *operator new(std::size_t n) { count++; return (char *)std::malloc(n + 16) + 16; }\n"
            "void operator delete(void *p) noexcept { count += 100; if (p) std::free((char *)p - 16); }\n"
            "void operator delete(void *p, std::size_t) noexcept { operator delete(p); }\n"
            "template <class T> T *keep(T *p) { T *volatile q = p; return q; }\n"
            "int main() { delete keep(new char); delete[] keep(new char[19984]);\n"
            "  std::printf(\"%d\\n\", count); }\n",
            (const char *[]){"c++", "-std=c++17", "-O1", "-o", "own", "unit.cpp", NULL});
    const char *argv[] = {"./own", NULL};
    preload_run_both(argv, trace_path, enter_folder);
    unlink(trace_path);
    struct tbed_reader *reader = run_recorded(argv, NULL);
    assert_blocks(reader, "own", 20000, 1);
    tbed_reader_close(reader);
}

/* tcmalloc's operators do not call malloc(), so the operators themselves must be recorded. */
static void operators_of_an_allocator_are_called(void **state)
{
    (void)state;
    static const char *const libraries[] = {"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
                                            "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"};
    size_t found = 0;
    if (system("command -v c++ >/dev/null 2>&1") != 0)
        skip();
    char source[8192], variable[4096];
    snprintf(source, sizeof source, "%sint main() { return run_all(); }\n", with_operators);
    compile(source, (const char *[]){"c++", "-std=c++17", "-O1", "-o", "cpp", "unit.cpp", NULL});
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        const char *argv[] = {"./cpp", NULL};
        if (access(libraries[i], R_OK) != 0)
            continue;
        snprintf(variable, sizeof variable, "LD_PRELOAD=%s:%s", preload_path("libtracebed-preload.so"),
                 libraries[i]);
        unlink(trace_path);
        struct tbed_reader *reader = run_recorded(argv, variable);
        assert_blocks(reader, "cpp", 20000, 8);
        tbed_reader_close(reader);
        found++;
    }
    if (found == 0)
        skip();
}

/* ---- Killed ---- */

static pid_t start_forever(void)
{
    const char *library = preload_path("libtracebed-preload.so"),
               *helper = preload_path("preload_stacks_helper");
    pid_t child = fork();
    if (child != 0)
        return child;
    setenv("LD_PRELOAD", library, 1);
    setenv("TRACEBED_PRELOAD_FILE", trace_path, 1);
    setenv("TRACEBED_PRELOAD_MODE", "stacks=16", 1);
    execl(helper, helper, log_path, "forever", (char *)NULL);
    _exit(99);
}

/* Waits until the trace has events, which are stored after its strings and records. */
static void await_events(void)
{
    struct tbed_reader *reader;
    for (size_t count = 0; count == 0; usleep(1000)) {
        if (tbed_reader_open(trace_path, NULL, &reader, NULL) != TBED_OK)
            continue;
        count = tbed_event_block_count(reader);
        tbed_reader_close(reader);
    }
}

static void every_event_of_a_killed_program_resolves(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        unlink(trace_path);
        pid_t child = start_forever();
        alarm(60);
        await_events();
        alarm(0);
        usleep(round * 3000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_int_equal(tbed_trace_seal(trace_path, NULL), TBED_OK);
        struct tbed_reader *reader = test_reader_open(trace_path, true);
        struct tbed_merge *merge;
        struct tbed_event event;
        assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
        while (tbed_merge_next(merge, &event) == TBED_OK) {
            uint32_t locations[18];
            size_t count = tbed_stack_locations(reader, event.id, locations, 18);
            struct tbed_unit_info unit;
            uint64_t pc;
            assert_true(count <= 17);
            if (event.type == TBED_EVENT_COUNTER) {
                assert_named(reader, event.id, "resident anonymous memory");
                assert_named(reader, tbed_counter_unit(reader, event.id), "bytes");
                continue;
            }
            if (count == 17)
                assert_named(reader, locations[--count], "[stack cut at 16 frames]");
            if (count == 0)
                locations[count++] = event.id;
            for (size_t i = 0; i < count; i++)
                assert_true(tbed_location_find(reader, locations[i], &unit, &pc));
        }
        tbed_merge_close(merge);
        tbed_reader_close(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(stacks_are_those_of_the_c_library, set_up),
        cmocka_unit_test_setup(light_recording_is_a_word_for_each_allocation, set_up),
        cmocka_unit_test_setup(caller_of_new_is_told_and_not_the_library, set_up),
        cmocka_unit_test_setup(library_that_was_loaded_for_itself_has_its_operators, set_up),
        cmocka_unit_test_setup(program_with_operators_of_its_own_has_them_called, set_up),
        cmocka_unit_test_setup(operators_of_an_allocator_are_called, set_up),
        cmocka_unit_test_setup(every_event_of_a_killed_program_resolves, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
