/*
 * Do real programs run as before when they are recorded? Each one here is run with and without the recorder,
 * and must print the same and end the same; its trace must be intact, and have allocations in it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/tests/preload/preload_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char trace_path[4096], folder[4096];

static void file_write(const char *name, const char *text)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(trace_path, sizeof trace_path, "%s", test_path("run.tbed"));
    snprintf(folder, sizeof folder, "%s", test_path("programs"));
    unlink(trace_path);
    mkdir(folder, 0700);
    return 0;
}

static void enter_folder(void)
{
    if (chdir(folder) != 0)
        _exit(98);
}

static uint64_t count_allocations(struct tbed_reader *reader, struct tbed_trace_info *info)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t count = 0;
    tbed_reader_info(reader, info);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        count += event.type == TBED_EVENT_ALLOC || event.type == TBED_EVENT_REALLOC ||
                 event.type == TBED_EVENT_INSTANT; /* light */
    tbed_merge_close(merge);
    return count;
}

static size_t count_processes(const struct tbed_reader *reader)
{
    struct tbed_process_info process;
    size_t count = 0;
    while (tbed_process_get(reader, count, &process))
        count++;
    return count;
}

static void run_shell(const char *command, size_t processes_min, uint64_t allocations_min)
{
    const char *argv[] = {"sh", "-c", command, NULL};
    struct tbed_trace_info info;
    preload_run_both(argv, trace_path, enter_folder);
    struct tbed_reader *reader = preload_open(trace_path);
    uint64_t count = count_allocations(reader, &info);
    if (count < allocations_min || count_processes(reader) < processes_min)
        fail_msg("%s: %llu allocations of %zu processes", command, (unsigned long long)count,
                 count_processes(reader));
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

static void need(const char *program)
{
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    if (system(command) != 0)
        skip();
}

static void shell_pipelines(void **state)
{
    (void)state;
    run_shell("seq 3000 | sort -r | head -n 5 | while read a; do echo \"line $a\"; done; (exit 3)", 5, 100);
    run_shell("(for i in 1 2 3 4 5 6 7 8; do (echo $i; exit $i) & done; wait; echo $?) | sort", 9, 9);
    run_shell("echo $$ | wc -l; kill -TERM $$", 2, 10);
    run_shell("ulimit -n 30; seq 10 | sort -n | tail -n 1", 3, 10);
    run_shell("exec 3>out 4<&3 5<&3; echo text >&3; cat out", 2, 10);
}

static void python_with_threads_and_processes(void **state)
{
    (void)state;
    need("python3");
    file_write("work.py",
               "import json, re, os, threading, subprocess, ctypes, sqlite3, hashlib\n"
               "text = json.dumps([{'a': i, 'b': 'x' * (i % 50)} for i in range(20000)])\n"
               "print(len(text), len(re.findall('xx', text)), hashlib.md5(text.encode()).hexdigest())\n"
               "out = []\n"
               "threads = [threading.Thread(target=lambda i=i: out.append(sum(range(i * 1000)))) for i in "
               "range(9)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]\n"
               "print(sorted(out))\n"
               "print(subprocess.run(['echo', 'sub'], capture_output=True).stdout)\n"
               "db = sqlite3.connect(':memory:'); db.execute('create table t (a)')\n"
               "db.executemany('insert into t values (?)', [(i,) for i in range(5000)])\n"
               "print(db.execute('select sum(a) from t').fetchone())\n"
               "pid = os.fork()\n"
               "if pid == 0: print(len([str(i) for i in range(1000)]), flush=True); os._exit(4)\n"
               "print(os.waitpid(pid, 0)[1])\n"
               "try: bytearray(1 << 60)\n"
               "except MemoryError: print('MemoryError')\n"
               "os.kill(os.getpid(), 15)\n");
    run_shell("python3 work.py", 3, 2000);
    run_shell("PYTHONMALLOC=malloc python3 -c 'print(len([str(i) for i in range(50000)]))'", 1, 50000);
}

static void compiler_driver_and_its_processes(void **state)
{
    (void)state;
    need("cc");
    file_write("unit.c", "#include <stdio.h>\n#include <stdlib.h>\n"
                         "int main(void) { printf(\"%zu\\n\", sizeof(void *)); return 0; }\n");
    run_shell("cc -g -O2 -c unit.c -o unit.o && cksum < unit.o && cc unit.o -o unit && ./unit", 7, 1000);
    run_shell("echo 'int x = ;' > bad.c; cc -c bad.c; echo $?", 3, 100);
}

static void program_in_cpp(void **state)
{
    (void)state;
    need("c++");
    file_write("unit.cpp",
               "#include <iostream>\n#include <map>\n#include <stdexcept>\n#include <string>\n"
               "#include <thread>\n#include <vector>\n#include <new>\n"
               "struct late { std::string *s = new std::string(1000, 'x'); ~late() { delete s; } };\n"
               "static late at_end; thread_local late in_thread;\n"
               "int main() {\n"
               "  std::map<int, std::string> m; for (int i = 0; i < 5000; i++) m[i] = std::to_string(i);\n"
               "  std::vector<std::thread> v; for (int i = 0; i < 8; i++)\n"
               "    v.emplace_back([i] { in_thread.s->append(std::string(i, 'y')); });\n"
               "  for (auto &t : v) t.join();\n"
               "  try { throw std::runtime_error(\"thrown\"); } catch (std::exception &e) {\n"
               "    std::cout << e.what() << m.size() << at_end.s->size() << std::endl; }\n"
               "  try { volatile size_t n = size_t(1) << 60; (void)*new char[n]; }\n"
               "  catch (std::bad_alloc &) { std::cout << \"bad_alloc\" << std::endl; }\n"
               "}\n");
    const char *compile[] = {"c++", "-O1", "-pthread", "-o", "unit-cpp", "unit.cpp", NULL};
    struct preload_command command = {.argv = compile, .prepare = enter_folder};
    struct preload_outcome outcome = preload_run(&command);
    assert_int_equal(outcome.status, 0);
    free(outcome.output);
    run_shell("./unit-cpp", 1, 5000);
}

static void perl_git_and_tar(void **state)
{
    (void)state;
    need("perl");
    need("git");
    need("tar");
    run_shell(
        "perl -e '%h = map { $_ => \"x\" x $_ } 1 .. 3000; print scalar(keys %h), \"\\n\"; print `echo sub`; "
        "die \"end\\n\"'",
        2, 3000);
    run_shell("rm -rf repo && git init -q repo && cd repo && echo a > a && git add a && "
              "git -c user.name=n -c user.email=e commit -q -m m && git status && git log --format=%s && "
              "git diff HEAD && git ls-files",
              8, 500);
    run_shell("mkdir -p tree && seq 1000 > tree/a && tar czf tree.tgz tree && tar tzf tree.tgz && tar xzf "
              "tree.tgz -O "
              "| cksum",
              4, 50);
}

static void programs_with_allocators_of_their_own(void **state)
{
    (void)state;
    run_shell("awk 'BEGIN { for (i = 0; i < 3000; i++) a[i] = i \"x\"; print length(a) }'", 1, 100);
    run_shell("if command -v bash >/dev/null; then bash -c 'a=(); for i in {1..2000}; do a+=($i); done; echo "
              "${#a[@]}'; else echo none; fi",
              1, 0);
    run_shell("if command -v node >/dev/null; then node -e 'let a = []; for (let i = 0; i < 1e5; i++) "
              "a.push(\"x\" + "
              "i); console.log(a.length)'; else echo none; fi",
              1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(shell_pipelines, set_up),
        cmocka_unit_test_setup(python_with_threads_and_processes, set_up),
        cmocka_unit_test_setup(compiler_driver_and_its_processes, set_up),
        cmocka_unit_test_setup(program_in_cpp, set_up),
        cmocka_unit_test_setup(perl_git_and_tar, set_up),
        cmocka_unit_test_setup(programs_with_allocators_of_their_own, set_up),
    };
    int failed = cmocka_run_group_tests_name("full", tests, NULL, NULL);
    setenv("TRACEBED_PRELOAD_MODE", "stacks=16", 1);
    failed += cmocka_run_group_tests_name("full, stacks", tests, NULL, NULL);
    setenv("TRACEBED_PRELOAD_MODE", "light", 1);
    return failed + cmocka_run_group_tests_name("light", tests, NULL, NULL);
}
