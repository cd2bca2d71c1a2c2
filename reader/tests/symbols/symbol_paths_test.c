/*
 * The paths of modules, and of what their debug information refers to, come from traces and from debug files. Only
 * regular files are opened there, by this library and by libdw, which opens split units and shared files by itself. The
 * tests put a FIFO there, because opening one would block.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/tools/shell_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <tracebed/symbols.h>
#include <unistd.h>

#define SECONDS 20 /* the worker's answer takes some ms */

static char folder[] = "/tmp/symbol_paths_test.XXXXXX", path[128];

static const char program[] = "int deep(int n) { return n + 1; }\n"
                              "int main(int argc, char **argv) { (void)argv; return deep(argc); }\n";

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/program.c", folder);
    FILE *out = fopen(path, "w");
    fputs(program, out);
    return fclose(out);
}

static int remove_folder(void **state)
{
    char command[160];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* What is known of 'pc' in the module, within a time in which nobody waits for a FIFO. */
static enum tbed_symbols_state ask(const char *module_path, uint64_t pc, size_t *frame_count_ret)
{
    struct tbed_symbols_options options = {.size = sizeof options, .timeout_ms = SECONDS * 1000};
    struct tbed_symbols_module module = {.path = module_path};
    struct tbed_symbols *symbols = tbed_symbols_open(&options);
    struct tbed_frame frame;
    struct tbed_symbol symbol;
    enum tbed_symbols_state found;
    *frame_count_ret = tbed_symbols_frames(symbols, &module, pc, &frame, 1);
    tbed_symbols_find(symbols, &module, pc, &symbol, &found);
    assert_null(tbed_symbols_trouble(symbols, &module));
    tbed_symbols_close(symbols);
    return found;
}

static void expect_no_file(const char *module_path)
{
    size_t frame_count;
    assert_int_equal(ask(module_path, 0x1000, &frame_count), TBED_SYMBOLS_NO_FILE);
    assert_int_equal(frame_count, 0);
}

static void module_that_is_no_regular_file_is_not_opened(void **state)
{
    (void)state;
    assert_true(shell_run(folder, "mkfifo fifo && ln -s fifo link"));
    expect_no_file(path_of("fifo"));
    expect_no_file(path_of("link"));
    expect_no_file(folder);
    expect_no_file("/dev/zero");
    expect_no_file("/proc/self/mem");
}

static void huge_sparse_module_takes_no_time(void **state)
{
    (void)state;
    assert_true(shell_run(folder, "gcc -g -O0 -o program program.c && cp program huge"));
    if (!shell_run(folder, "truncate -s 1T huge"))
        skip();
    size_t frame_count;
    ask(path_of("huge"), 0x1000, &frame_count);
}

static uint64_t pc_of(const char *file, const char *name)
{
    char command[300], line[64] = "";
    snprintf(command, sizeof command, "nm %s/%s | sed -n 's/ T %s$//p'", folder, file, name);
    FILE *out = popen(command, "r");
    assert_true(out != NULL && fgets(line, sizeof line, out) != NULL);
    pclose(out);
    return strtoull(line, NULL, 16);
}

static void split_unit_that_is_a_fifo_is_not_opened(void **state)
{
    size_t frame_count;
    (void)state;
    if (!shell_run(folder, "gcc -g -gsplit-dwarf -O0 -c program.c -o split.o && gcc -o split split.o && "
                           "rm split.dwo && mkfifo split.dwo"))
        skip();
    assert_int_equal(ask(path_of("split"), pc_of("split", "deep"), &frame_count), TBED_SYMBOLS_FOUND);
    assert_int_equal(frame_count, 1); /* from the symbol table */
}

static void shared_file_that_is_a_fifo_is_not_opened(void **state)
{
    size_t frame_count;
    (void)state;
    if (!shell_run(folder, "gcc -g -O0 -o first program.c && gcc -g -O0 -DX -o second program.c && "
                           "dwz -m shared.debug first second && readelf -SW first | grep -q gnu_debugaltlink "
                           "&& rm shared.debug && mkfifo shared.debug"))
        skip();
    assert_int_equal(ask(path_of("first"), pc_of("first", "deep"), &frame_count), TBED_SYMBOLS_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(module_that_is_no_regular_file_is_not_opened),
        cmocka_unit_test(huge_sparse_module_takes_no_time),
        cmocka_unit_test(split_unit_that_is_a_fifo_is_not_opened),
        cmocka_unit_test(shared_file_that_is_a_fifo_is_not_opened),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
