/*
 * Frames from debug information: against addr2line, for every way of splitting the files, and with files damaged on
 * purpose. The process that reads them may die; the program that uses it must not.
 *
 * Slow: 21 s; it compares every address with addr2line
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/symbols/debug/demangle.h"
#include "reader/symbols/process/symbol_worker.h"
#include "reader/tests/tools/shell_run.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <tracebed/symbols.h>
#include <unistd.h>

#include <cmocka.h>

/* Functions inlined into each other, three deep; volatile keeps the compiler from folding them. */
static const char subject_source[] =
    "volatile int sink;\n"
    "static inline __attribute__((always_inline)) int deepest(int x)\n"
    "{\n"
    "    sink = x;\n"
    "    return sink * 3 + sink;\n"
    "}\n"
    "static inline __attribute__((always_inline)) int middle(int x)\n"
    "{\n"
    "    for (int i = 0; i < sink; i++)\n"
    "        x += deepest(x + i);\n"
    "    return x;\n"
    "}\n"
    "__attribute__((noinline)) int outer(int x)\n"
    "{\n"
    "    if (x > sink)\n"
    "        x = middle(x);\n"
    "    return x - deepest(2);\n"
    "}\n"
    "__attribute__((noinline)) int other(int x) { return middle(x) + outer(x); }\n"
    "int main(int argc, char **argv) { (void)argv; return outer(argc) + other(argc); }\n";

static char folder[] = "/tmp/symbol_frames_test_XXXXXX";

/* ---- Files ---- */

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    char path[256];
    snprintf(path, sizeof path, "%s/subject.c", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return -1;
    fputs(subject_source, file);
    return fclose(file);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char paths[64][512]; /* as many as a test needs */
    static unsigned next;
    char *path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ---- The oracle ---- */

#define PCS_MAX    8192
#define ANSWER_MAX 64

struct oracle_place {
    uint64_t pc;
    size_t count;
    struct {
        char function[64], file[300];
        unsigned line;
    } frames[ANSWER_MAX];
};

/* All addresses inside the subject's functions, found with 'nm'. */
static size_t subject_pcs(const char *path, uint64_t *pcs)
{
    char command[600], line[256];
    size_t count = 0;
    snprintf(command, sizeof command, "nm -S %s", path);
    FILE *symbols = popen(command, "r");
    assert_non_null(symbols);
    while (fgets(line, sizeof line, symbols) != NULL) {
        unsigned long long start, nbytes;
        char type, name[128];
        if (sscanf(line, "%llx %llx %c %127s", &start, &nbytes, &type, name) != 4 ||
            (strcmp(name, "outer") != 0 && strcmp(name, "other") != 0 && strcmp(name, "main") != 0))
            continue;
        for (unsigned long long i = 0; i < nbytes && count < PCS_MAX; i++)
            pcs[count++] = start + i;
    }
    pclose(symbols);
    return count;
}

static void read_frame(FILE *answer, struct oracle_place *place)
{
    char line[600];
    assert_true(place->count < ANSWER_MAX);
    assert_non_null(fgets(line, sizeof line, answer));
    char *colon = strrchr(line, ':');
    assert_non_null(colon);
    place->frames[place->count].line = (unsigned)strtoul(colon + 1, NULL, 10);
    *colon = '\0';
    snprintf(place->frames[place->count++].file, sizeof place->frames[0].file, "%.299s", line);
}

/* addr2line's answers, of a file that has its debug information inside. */
static struct oracle_place *ask_oracle(const char *path, const uint64_t *pcs, size_t count)
{
    struct oracle_place *places = calloc(count + 1, sizeof *places);
    char command[1200], line[600];
    FILE *questions = fopen(path_of("questions"), "w");
    assert_true(places != NULL && questions != NULL);
    for (size_t i = 0; i < count; i++)
        fprintf(questions, "0x%llx\n", (unsigned long long)pcs[i]);
    fclose(questions);
    snprintf(command, sizeof command, "addr2line -a -i -f -e %s <%s", path, path_of("questions"));
    FILE *answer = popen(command, "r");
    assert_non_null(answer);
    size_t at = (size_t)-1;
    while (fgets(line, sizeof line, answer) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0x", 2) == 0) {
            places[++at].pc = strtoull(line, NULL, 16);
            assert_int_equal(places[at].pc, pcs[at]);
            continue;
        }
        snprintf(places[at].frames[places[at].count].function, 64, "%.63s", line);
        read_frame(answer, &places[at]);
    }
    pclose(answer);
    assert_int_equal(at + 1, count);
    return places;
}

/* ---- Modules ---- */

static struct tbed_symbols *open_symbols(void)
{
    struct tbed_symbols_options options = {.size = sizeof options, .debug_directory = folder};
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    assert_non_null(symbols);
    return symbols;
}

static void expect_same(struct tbed_symbols *symbols, const struct tbed_symbols_module *module,
                        const struct oracle_place *place)
{
    struct tbed_frame frames[ANSWER_MAX];
    size_t count = tbed_symbols_frames(symbols, module, place->pc, frames, ANSWER_MAX);
    assert_int_equal(count, place->count);
    for (size_t i = 0; i < count; i++) {
        assert_true(frames[i].function != NULL && frames[i].file != NULL);
        assert_string_equal(frames[i].function, place->frames[i].function);
        assert_string_equal(frames[i].file, place->frames[i].file);
        assert_int_equal(frames[i].line, place->frames[i].line);
        assert_int_equal(frames[i].is_inlined, i + 1 < count);
    }
}

/* Every address of the subject, looked up together and one by one, must match addr2line. */
static void expect_as_oracle(const struct tbed_symbols_module *module, const char *oracle_path)
{
    static uint64_t pcs[PCS_MAX];
    size_t count = subject_pcs(oracle_path, pcs), inlined = 0;
    assert_true(count > 50);
    struct oracle_place *places = ask_oracle(oracle_path, pcs, count);
    struct tbed_symbols *at_once = open_symbols(), *one_by_one = open_symbols();
    tbed_symbols_resolve_many(at_once, module, pcs, count);
    for (size_t i = 0; i < count; i++) {
        expect_same(at_once, module, &places[i]);
        if (i % 16 == 0)
            expect_same(one_by_one, module, &places[i]);
        inlined += places[i].count > 1;
    }
    assert_true(inlined > 20);
    assert_null(tbed_symbols_trouble(at_once, module));
    tbed_symbols_close(at_once);
    tbed_symbols_close(one_by_one);
    free(places);
}

/* The build-id is the last part of the note. */
static size_t build_id_of(const char *path, uint8_t build_id[20])
{
    char command[600], text[64];
    size_t nbytes = 0;
    snprintf(command, sizeof command, "readelf -n %s | sed -n 's/.*Build ID: //p'", path);
    FILE *notes = popen(command, "r");
    assert_non_null(notes);
    if (fgets(text, sizeof text, notes) != NULL)
        for (unsigned byte; nbytes < 20 && sscanf(text + 2 * nbytes, "%2x", &byte) == 1; nbytes++)
            build_id[nbytes] = (uint8_t)byte;
    pclose(notes);
    return nbytes;
}

static struct tbed_symbols_module module_of(const char *path, uint8_t build_id[20], const char *oracle_path)
{
    return (struct tbed_symbols_module){path, build_id, build_id_of(oracle_path, build_id)};
}

static void expect_built(const char *options)
{
    uint8_t build_id[20];
    if (!shell_run(folder, "gcc %s -O2 -Wl,--build-id=sha1 -o built subject.c", options))
        skip();
    struct tbed_symbols_module module = module_of(path_of("built"), build_id, path_of("built"));
    assert_int_equal(module.build_id_nbytes, 20);
    expect_as_oracle(&module, path_of("built"));
}

/* ---- Tests ---- */

static void frames_are_those_of_addr2line(void **state)
{
    (void)state;
    expect_built("-g -fPIE -pie");
    expect_built("-g -fno-PIE -no-pie");
    expect_built("-g -fPIE -pie -Wl,-Ttext-segment=0x70000000"); /* as prelink leaves it */
    expect_built("-gdwarf-4 -fno-PIE -no-pie");
    expect_built("-g -gz -fno-PIE -no-pie");
    expect_built("-g -shared -fPIC");
}

static void split_files_are_found(void **state)
{
    uint8_t build_id[20];
    (void)state;
    if (!shell_run(folder,
                   "gcc -g -O2 -Wl,--build-id=sha1 -o whole subject.c && objcopy --only-keep-debug whole "
                   "split.debug &&"
                   "strip -o stripped whole && objcopy --add-gnu-debuglink=split.debug stripped"))
        skip();
    struct tbed_symbols_module module = module_of(path_of("stripped"), build_id, path_of("whole"));
    expect_as_oracle(&module, path_of("whole"));
    /* Beside it no longer, but in .debug; then in the debug directory. */
    assert_true(shell_run(folder, "mkdir -p .debug && mv split.debug .debug/"));
    expect_as_oracle(&module, path_of("whole"));
    assert_true(shell_run(folder, "mkdir -p .%s && mv .debug/split.debug .%s/", folder, folder));
    expect_as_oracle(&module, path_of("whole"));
    /* By its build-id, taken from the module if it is not known otherwise; then without the module. */
    assert_true(
        shell_run(folder,
                  "i=$(readelf -n whole | sed -n 's/.*Build ID: //p') && mkdir -p .build-id/${i%%${i#??}} && "
                  "mv .%s/split.debug .build-id/${i%%${i#??}}/${i#??}.debug",
                  folder));
    expect_as_oracle(&(struct tbed_symbols_module){.path = module.path}, path_of("whole"));
    assert_true(shell_run(folder, "rm stripped"));
    expect_as_oracle(&module, path_of("whole"));
}

static void a_linked_file_without_a_build_id_needs_the_right_checksum(void **state)
{
    struct tbed_frame frame;
    static uint64_t pcs[PCS_MAX];
    (void)state;
    if (!shell_run(folder,
                   "gcc -g -O2 -Wl,--build-id=none -o plain subject.c && objcopy --only-keep-debug plain "
                   "plain.debug &&"
                   "strip -o thin plain && objcopy --add-gnu-debuglink=plain.debug thin"))
        skip();
    struct tbed_symbols_module module = {.path = path_of("thin")};
    expect_as_oracle(&module, path_of("plain"));
    assert_true(shell_run(folder, "printf x >>plain.debug"));
    struct tbed_symbols *symbols = open_symbols();
    assert_true(subject_pcs(path_of("plain"), pcs) > 0);
    assert_int_equal(tbed_symbols_frames(symbols, &module, pcs[0], &frame, 1), 0);
    tbed_symbols_close(symbols);
}

static void what_debug_files_share_is_found(void **state)
{
    uint8_t build_id[20];
    (void)state;
    if (!shell_run(
            folder,
            "gcc -g -O2 -Wl,--build-id=sha1 -o first subject.c && gcc -g -O2 -DX -Wl,--build-id=sha1 -o "
            "second "
            "subject.c && cp first reference && dwz -m shared.debug first second && "
            "readelf -SW first | grep -q gnu_debugaltlink"))
        skip();
    struct tbed_symbols_module module = module_of(path_of("first"), build_id, path_of("reference"));
    expect_as_oracle(&module, path_of("reference"));
    /* Without it the names are unknown, except that of the function. */
    assert_true(shell_run(folder, "rm shared.debug"));
    struct tbed_symbols *symbols = open_symbols();
    struct tbed_frame frames[ANSWER_MAX];
    static uint64_t pcs[PCS_MAX];
    for (size_t at = subject_pcs(module.path, pcs); at-- > 0;) {
        struct tbed_symbol symbol;
        size_t count = tbed_symbols_frames(symbols, &module, pcs[at], frames, ANSWER_MAX);
        assert_true(count > 0 && tbed_symbols_find(symbols, &module, pcs[at], &symbol, NULL));
        assert_string_equal(frames[count - 1].function, symbol.function);
        for (size_t i = 0; i + 1 < count; i++)
            if (frames[i].function != NULL)
                assert_true(strcmp(frames[i].function, "deepest") == 0 ||
                            strcmp(frames[i].function, "middle") == 0);
    }
    tbed_symbols_close(symbols);
}

/* Of "deepest" the file is 'header', of all other functions 'source'. */
static void expect_files(const char *options, const char *source, const char *header)
{
    static uint64_t pcs[PCS_MAX];
    struct tbed_frame frames[ANSWER_MAX];
    if (!shell_run(folder, "gcc %s -O2 -I$PWD/a/. -o placed placed.c", options))
        skip();
    struct tbed_symbols_module module = {.path = path_of("placed")};
    struct tbed_symbols *symbols = open_symbols();
    size_t in_header = 0;
    for (size_t at = subject_pcs(module.path, pcs); at-- > 0;)
        for (size_t i = tbed_symbols_frames(symbols, &module, pcs[at], frames, ANSWER_MAX); i-- > 0;) {
            bool is_deepest = strcmp(frames[i].function, "deepest") == 0;
            assert_string_equal(frames[i].file, is_deepest ? header : source);
            in_header += is_deepest;
        }
    assert_true(in_header > 10);
    tbed_symbols_close(symbols);
}

/* Reproducible builds have names relative to wherever the sources are. Those that addr2line prints for DWARF 4. */
static void names_of_files_may_be_relative(void **state)
{
    static const char *const versions[] = {"-gdwarf-4", "-gdwarf-5"};
    char options[256];
    (void)state;
    assert_true(shell_run(folder,
                          "mkdir -p a/b && { echo 'extern volatile int sink;'; sed '1d;/^}/q' subject.c; } "
                          ">a/b/deepest.h && "
                          "{ echo '#include \"a/b/deepest.h\"'; sed '2,/^}/d' subject.c; } >placed.c"));
    for (size_t i = 0; i < 2; i++) {
        const char *version = versions[i];
        expect_files(version, path_of("placed.c"), path_of("a/b/deepest.h"));
        snprintf(options, sizeof options, "%s -fdebug-prefix-map=$PWD=.", version);
        expect_files(options, "placed.c", "a/b/deepest.h");
        snprintf(options, sizeof options, "%s -fdebug-prefix-map=$PWD=one/two", version);
        expect_files(options, "one/two/placed.c", "one/two/a/b/deepest.h");
        snprintf(options, sizeof options, "%s -fdebug-prefix-map=$PWD=../..", version);
        expect_files(options, "../../placed.c", "../../a/b/deepest.h");
        snprintf(options, sizeof options, "%s -fdebug-prefix-map=$PWD=x/../src", version);
        expect_files(options, "src/placed.c", "src/a/b/deepest.h");
        snprintf(options, sizeof options, "%s -fdebug-prefix-map=$PWD=/usr/src/./here", version);
        expect_files(options, "/usr/src/here/placed.c", "/usr/src/here/a/b/deepest.h");
    }
}

/* -gsplit-dwarf keeps lines and addresses, and moves the functions to a separate file, which may be missing. */
static void split_units_are_found(void **state)
{
    static uint64_t pcs[PCS_MAX];
    static const char *const versions[] = {"-gdwarf-5", "-gdwarf-4"};
    struct tbed_frame frame;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!shell_run(
                folder,
                "gcc %s -O2 -o whole subject.c && gcc %s -gsplit-dwarf -O2 -c subject.c -o split.o && gcc "
                "-o split "
                "split.o && ls split.dwo",
                versions[i], versions[i]))
            skip();
        struct tbed_symbols_module module = {.path = path_of("split")};
        expect_as_oracle(&module, path_of("whole"));
        assert_true(shell_run(folder, "rm split.dwo"));
        struct tbed_symbols *symbols = open_symbols();
        for (size_t at = subject_pcs(path_of("whole"), pcs); at-- > 0;) {
            struct tbed_symbol symbol;
            assert_int_equal(tbed_symbols_frames(symbols, &module, pcs[at], &frame, 1), 1);
            assert_true(tbed_symbols_find(symbols, &module, pcs[at], &symbol, NULL));
            assert_string_equal(frame.function, symbol.function);
        }
        tbed_symbols_close(symbols);
    }
}

static uint64_t pc_of(const char *path, const char *name)
{
    char command[600], line[64] = "";
    snprintf(command, sizeof command, "nm %s | sed -n 's/ . %s$//p'", path, name);
    FILE *out = popen(command, "r");
    assert_true(out != NULL && fgets(line, sizeof line, out) != NULL);
    pclose(out);
    return strtoull(line, NULL, 16);
}

/* Asks for the symbol at a name's address + 'offset': its name, and that of its function with and without a line. */
static void expect_called(const char *path, const char *whole, const char *at, uint64_t offset,
                          const char *name, const char *function)
{
    uint64_t pc = pc_of(whole, at) + offset;
    struct tbed_symbols_module module = {.path = path};
    struct tbed_symbols *symbols = open_symbols();
    struct tbed_symbol symbol;
    struct tbed_frame frames[ANSWER_MAX];
    assert_true(tbed_symbols_find(symbols, &module, pc, &symbol, NULL));
    assert_string_equal(symbol.name, name);
    assert_string_equal(symbol.function, function);
    size_t count = tbed_symbols_frames(symbols, &module, pc, frames, ANSWER_MAX);
    assert_true(count > 0);
    assert_string_equal(frames[count - 1].function, function);
    tbed_symbols_close(symbols);
}

/* One function with many names is called by the one that programs use, with debug information and without. */
static void of_many_names_the_one_that_programs_call_is_told(void **state)
{
    (void)state;
    if (!shell_run(folder,
                   "cat >names.c <<'END'\n"
                   "__asm__(\".symver old_thing,athing@V1\\n.symver __impl_thing,thing@@V2\");\n"
                   "int __impl_thing(int x) { return x + 1; }\n"
                   "int old_thing(int x) __attribute__((alias(\"__impl_thing\")));\n"
                   "int __GI_get(int x) { return x + 2; }\n"
                   "int __get(int x) __attribute__((alias(\"__GI_get\")));\n"
                   "int _get(int x) __attribute__((alias(\"__GI_get\")));\n"
                   "__attribute__((weak)) int get(int x) __attribute__((weak, alias(\"__GI_get\")));\n"
                   "int put64(int x) { return x + 3; }\n"
                   "int put(int x) __attribute__((alias(\"put64\")));\n"
                   "static __attribute__((used, noinline)) int inside(int x) { __asm__ "
                   "volatile(\"nop\\nlabel:\\nnop\"); "
                   "return x; }\n"
                   "END\n"
                   "printf 'V1 { global: athing; get; put*; local: *; };\\nV2 { global: thing; } V1;\\n' "
                   ">names.map\n"
                   "gcc -g -O1 -shared -fPIC -Wl,--version-script=names.map -o names.so names.c && "
                   "objcopy --strip-debug names.so thin.so && strip -o bare.so names.so"))
        skip();
    static const char *const names[] = {"names.so", "thin.so", "bare.so"};
    for (size_t i = 0; i < 3; i++) {
        const char *path = path_of(names[i]), *whole = path_of("names.so");
        expect_called(path, whole, "__impl_thing", 1, "thing", "thing");
        expect_called(path, whole, "__GI_get", 0, "get", "get");
        expect_called(path, whole, "put64", 1, "put", "put");
        if (i < 2)
            expect_called(path, whole, "label", 0, "inside", "inside");
    }
}

/* Code that begins at an assembler label may end anywhere. */
static void a_label_in_front_of_a_function_is_not_its_name(void **state)
{
    (void)state;
    if (!shell_run(folder, "cat >label.c <<'END'\n"
                           "__asm__(\".text\\n.globl raw\\nraw: nop\\nnop\\n\");\n"
                           "static __attribute__((used, noinline)) int hidden(int x) { return x * 7; }\n"
                           "END\n"
                           "gcc -g -O1 -fno-toplevel-reorder -shared -fPIC -o label.so label.c && "
                           "objcopy --strip-symbol=hidden label.so stripped.so"))
        skip();
    struct tbed_symbols_module module = {.path = path_of("stripped.so")};
    struct tbed_symbols *symbols = open_symbols();
    struct tbed_frame frame;
    uint64_t pc = pc_of(path_of("label.so"), "hidden") + 1;
    assert_int_equal(tbed_symbols_frames(symbols, &module, pc, &frame, 1), 1);
    assert_string_equal(frame.function, "hidden");
    assert_int_equal(frame.line, 2);
    tbed_symbols_close(symbols);
}

/* Parts and copies that a compiler makes of a function are that function. */
static void parts_of_functions_are_told_as_the_functions(void **state)
{
    (void)state;
    if (!shell_run(
            folder,
            "cat >parts.cc <<'END'\n"
            "extern \"C\" { int sink; void abort(void);\n"
            "__attribute__((cold, noinline)) void fail(int x) { sink = x; abort(); }\n"
            "__attribute__((noinline)) int plain(int x) { if (x > 3) { sink++; fail(x); } return x + sink; "
            "} }\n"
            "namespace n { __attribute__((noinline)) int of(int x) { if (x > 3) { sink++; fail(x); } return "
            "x; } }\n"
            "int main(int argc, char **) { return plain(argc) + n::of(argc); }\n"
            "END\n"
            "g++ -g -O2 -freorder-blocks-and-partition -o parts parts.cc && objcopy --strip-debug parts "
            "thin_parts && "
            "nm parts | grep -q 'plain.cold$' && nm parts | grep -q '_ZN1n2ofEi.cold$'"))
        skip();
    for (int thin = 0; thin < 2; thin++) {
        const char *path = path_of(thin ? "thin_parts" : "parts");
        expect_called(path, path, "plain.cold", 1, "plain.cold", "plain");
        expect_called(path, path, "_ZN1n2ofEi.cold", 1, "n::of(int) [clone .cold]", "n::of(int)");
        expect_called(path, path, "plain", 1, "plain", "plain");
    }
    assert_int_equal(tbed_function_nbytes("f.part.0.cold", 13), 1);
    assert_int_equal(tbed_function_nbytes("main.init.0", 11), 11);
    assert_int_equal(tbed_function_nbytes(".cold", 5), 5);
    assert_int_equal(tbed_function_nbytes("f.coldest", 9), 9);
    assert_int_equal(tbed_function_nbytes("f.isra", 6), 1);
    assert_int_equal(tbed_function_nbytes("", 0), 0);
}

/* More frames than are returned: the innermost ones, and the outermost function. */
static void the_function_around_is_told_however_deep(void **state)
{
    struct tbed_frame frames[SYMBOL_FRAMES_MAX + 1];
    static uint64_t pcs[PCS_MAX];
    (void)state;
    if (!shell_run(
            folder,
            "{ echo 'volatile int sink;'; echo '#define I static inline __attribute__((always_inline))'; "
            "echo 'I int f0(int x) { sink = x; return sink; }'; "
            "for i in $(seq 90); do echo \"I int f$i(int x) { return f$((i - 1))(x) + sink; }\"; done; "
            "echo 'int main(int x, char **v) { (void)v; return f90(x); }'; } >deep.c && gcc -g -O2 -o deep "
            "deep.c"))
        skip();
    struct tbed_symbols_module module = {.path = path_of("deep")};
    struct tbed_symbols *symbols = open_symbols();
    size_t deepest = 0;
    bool innermost = false;
    for (size_t at = subject_pcs(module.path, pcs); at-- > 0;) {
        size_t count = tbed_symbols_frames(symbols, &module, pcs[at], frames, SYMBOL_FRAMES_MAX + 1);
        assert_true(count > 0 && count <= SYMBOL_FRAMES_MAX);
        assert_string_equal(frames[count - 1].function, "main");
        deepest = count > deepest ? count : deepest;
        innermost |= count == SYMBOL_FRAMES_MAX && strcmp(frames[0].function, "f0") == 0;
        if (count == SYMBOL_FRAMES_MAX)
            assert_int_equal(frames[count - 1].line, 94);
    }
    assert_int_equal(deepest, SYMBOL_FRAMES_MAX);
    assert_true(innermost);
    tbed_symbols_close(symbols);
}

static void another_build_is_not_used(void **state)
{
    uint8_t build_id[20] = {1, 2, 3};
    static uint64_t pcs[PCS_MAX];
    struct tbed_frame frame;
    struct tbed_symbol symbol;
    enum tbed_symbols_state found;
    (void)state;
    if (!shell_run(folder, "gcc -g -O2 -Wl,--build-id=sha1 -o lying subject.c"))
        skip();
    struct tbed_symbols_module module = {path_of("lying"), build_id, sizeof build_id};
    struct tbed_symbols *symbols = open_symbols();
    assert_true(subject_pcs(module.path, pcs) > 0);
    assert_int_equal(tbed_symbols_frames(symbols, &module, pcs[0], &frame, 1), 0);
    assert_false(tbed_symbols_find(symbols, &module, pcs[0], &symbol, &found));
    assert_int_equal(found, TBED_SYMBOLS_MISMATCH);
    tbed_symbols_close(symbols);
}

static void names_are_demangled(void **state)
{
    (void)state;
    assert_string_equal(tbed_demangle("_ZN3foo3barEi"), "foo::bar(int)");
    assert_string_equal(tbed_demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
    assert_string_equal(tbed_demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    assert_string_equal(tbed_demangle("plain"), "plain");
    assert_string_equal(tbed_demangle("_Z"), "_Z");
}

/* ---- A reader that dies ---- */

static void crash(const char *path)
{
    if (strstr(path, "bad") != NULL)
        raise(SIGBUS); /* SIGSEGV is the sanitizers' own in the tests */
}

static void hang(const char *path)
{
    while (strstr(path, "bad") != NULL)
        pause();
}

static void babble(const char *path)
{
    char bytes[4096];
    memset(bytes, 0x5A, sizeof bytes);
    if (strstr(path, "bad") != NULL && write(3, bytes, sizeof bytes) > 0)
        _exit(0);
}

static void leave(const char *path)
{
    if (strstr(path, "bad") != NULL)
        _exit(0);
}

/* The system call open, which musl's open() makes, is allowed what openat is: to read regular files. */
static bool open_is_wrong(const char *path)
{
#ifdef SYS_open
    return syscall(SYS_open, "/tmp/symbol_frames_test_written", O_WRONLY | O_CREAT, 0600) >= 0 ||
           syscall(SYS_open, "/dev/null", O_RDONLY) >= 0 || syscall(SYS_open, path, O_RDONLY) < 0;
#else
    (void)path;
    return false;
#endif
}

/* May be started, may be refused: not that. */
static void break_out(const char *path)
{
    if (open("/tmp/symbol_frames_test_written", O_WRONLY | O_CREAT, 0600) >= 0 || open_is_wrong(path) ||
        fork() >= 0 || execl("/bin/true", "true", (char *)NULL) == 0)
        raise(SIGKILL);
}

static void expect_survived(void (*hook)(const char *path), unsigned timeout_ms, const char *why)
{
    uint8_t build_id[20];
    static uint64_t pcs[PCS_MAX];
    struct tbed_symbol symbol;
    struct tbed_frame frame;
    enum tbed_symbols_state found;
    if (!shell_run(folder, "gcc -g -O2 -Wl,--build-id=sha1 -o good subject.c && cp good bad"))
        skip();
    assert_true(subject_pcs(path_of("good"), pcs) > 0);
    struct tbed_symbols_options options = {.size = sizeof options, .timeout_ms = timeout_ms};
    struct tbed_symbols_module good = module_of(path_of("good"), build_id, path_of("good"));
    struct tbed_symbols_module bad = good;
    bad.path = path_of("bad");
    tbed_symbol_worker_hook = hook;
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(tbed_symbols_frames(symbols, &bad, pcs[(size_t)round], &frame, 1), 0);
        assert_false(tbed_symbols_find(symbols, &bad, pcs[0], &symbol, &found));
        assert_int_equal(found, TBED_SYMBOLS_UNREADABLE);
        const char *trouble = tbed_symbols_trouble(symbols, &bad);
        assert_non_null(trouble);
        assert_non_null(strstr(trouble, "/bad could not be read: "));
        if (strstr(trouble, why) == NULL)
            fail_msg("'%s', not '%s'", trouble, why);
        /* Others are read as before. */
        assert_true(tbed_symbols_frames(symbols, &good, pcs[(size_t)round], &frame, 1) > 0);
        assert_null(tbed_symbols_trouble(symbols, &good));
    }
    tbed_symbols_close(symbols);
    tbed_symbol_worker_hook = NULL;
}

static void a_reader_that_dies_is_told_and_replaced(void **state)
{
    (void)state;
    expect_survived(crash, 0, "its reader was killed by signal 7");
    expect_survived(leave, 0, "its reader gave up");
    expect_survived(babble, 0, "its reader ");
    expect_survived(hang, 8000, "its reader took longer than 8 s"); /* enough for the good file */
}

static void a_reader_can_only_read(void **state)
{
    uint8_t build_id[20];
    struct tbed_frame frame;
    static uint64_t pcs[PCS_MAX];
    (void)state;
    if (!shell_run(folder, "gcc -g -O2 -Wl,--build-id=sha1 -o jailed subject.c"))
        skip();
    assert_true(subject_pcs(path_of("jailed"), pcs) > 0);
    struct tbed_symbols_module module = module_of(path_of("jailed"), build_id, path_of("jailed"));
    tbed_symbol_worker_hook = break_out;
    struct tbed_symbols *symbols = open_symbols();
    assert_true(tbed_symbols_frames(symbols, &module, pcs[0], &frame, 1) > 0);
    assert_null(tbed_symbols_trouble(symbols, &module));
    tbed_symbols_close(symbols);
    tbed_symbol_worker_hook = NULL;
}

/* ---- Damaged files ---- */

struct file {
    uint8_t *bytes;
    size_t nbytes;
};

static struct file read_file(const char *path)
{
    struct stat status;
    FILE *in = fopen(path, "rb");
    assert_true(in != NULL && fstat(fileno(in), &status) == 0);
    struct file file = {malloc((size_t)status.st_size), (size_t)status.st_size};
    assert_int_equal(fread(file.bytes, 1, file.nbytes, in), file.nbytes);
    fclose(in);
    return file;
}

static void write_file(const char *path, const uint8_t *bytes, size_t nbytes)
{
    unlink(path); /* a process that has mapped the old one keeps it */
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, nbytes, out), nbytes);
    assert_int_equal(fclose(out), 0);
}

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

/* Truncates the file, or corrupts some bytes or a range; every other time in the section tables. */
static size_t mutate(const struct file *from, uint8_t *bytes, uint32_t seed)
{
    uint32_t random = seed * 2654435761u;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)from->bytes;
    size_t tables = header->e_shoff < from->nbytes ? (size_t)header->e_shoff : 0;
    memcpy(bytes, from->bytes, from->nbytes);
    if (seed % 8 == 0)
        return next_random(&random) % from->nbytes;
    size_t start = seed % 2 == 0 ? tables : 0, room = from->nbytes - start;
    for (uint32_t i = 0; i < 1 + seed % 24; i++)
        bytes[start + next_random(&random) % room] ^= (uint8_t)(1u << next_random(&random) % 8);
    if (seed % 5 == 0) {
        size_t at = start + next_random(&random) % room;
        size_t nbytes = next_random(&random) % 200;
        memset(bytes + at, (int)(seed & 0xFF), nbytes < from->nbytes - at ? nbytes : from->nbytes - at);
    }
    return from->nbytes;
}

static void mutants_of_a_debug_file_crash_nobody_who_asks(void **state)
{
    enum { MUTANTS = 400 };
    static uint64_t pcs[PCS_MAX];
    struct tbed_frame frames[ANSWER_MAX];
    size_t told = 0;
    (void)state;
    if (!shell_run(folder, "gcc -g -O2 -Wl,--build-id=none -o whole subject.c"))
        skip();
    size_t count = subject_pcs(path_of("whole"), pcs);
    struct file file = read_file(path_of("whole"));
    uint8_t *bytes = malloc(file.nbytes);
    struct tbed_symbols_options options = {.size = sizeof options, .timeout_ms = 20000};
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    for (uint32_t seed = 1; seed <= MUTANTS; seed++) {
        char path[600];
        snprintf(path, sizeof path, "%s/mutant%u", folder, seed);
        write_file(path, bytes, mutate(&file, bytes, seed));
        struct tbed_symbols_module module = {.path = path};
        tbed_symbols_resolve_many(symbols, &module, pcs, count);
        for (size_t i = 0; i < count; i++) {
            size_t found = tbed_symbols_frames(symbols, &module, pcs[i], frames, ANSWER_MAX);
            assert_true(found <= ANSWER_MAX);
            for (size_t k = 0; k < found; k++)
                assert_true(frames[k].function == NULL || strlen(frames[k].function) <= SYMBOL_TEXT_MAX);
        }
        told += tbed_symbols_trouble(symbols, &module) != NULL;
        unlink(path);
    }
    tbed_symbols_close(symbols);
    printf("%d mutants, the reader died of %zu\n", MUTANTS, told);
    free(bytes);
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_those_of_addr2line),
        cmocka_unit_test(split_files_are_found),
        cmocka_unit_test(a_linked_file_without_a_build_id_needs_the_right_checksum),
        cmocka_unit_test(what_debug_files_share_is_found),
        cmocka_unit_test(names_of_files_may_be_relative),
        cmocka_unit_test(split_units_are_found),
        cmocka_unit_test(of_many_names_the_one_that_programs_call_is_told),
        cmocka_unit_test(a_label_in_front_of_a_function_is_not_its_name),
        cmocka_unit_test(parts_of_functions_are_told_as_the_functions),
        cmocka_unit_test(the_function_around_is_told_however_deep),
        cmocka_unit_test(another_build_is_not_used),
        cmocka_unit_test(names_are_demangled),
        cmocka_unit_test(a_reader_that_dies_is_told_and_replaced),
        cmocka_unit_test(a_reader_can_only_read),
        cmocka_unit_test(mutants_of_a_debug_file_crash_nobody_who_asks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
