/*
 * What 'tracebed record' says about programs that the recorded one starts and that cannot be recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/capture/launch/launch.h"
#include "writer/tests/preload/preload_support.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[4096], program[PATH_MAX];

static int set_up(void **state)
{
    char relative[512];
    const char *build = getenv("TBED_BUILD");
    (void)state;
    snprintf(relative, sizeof relative, "%s/tracebed", build != NULL ? build : "build/release");
    if (realpath(relative, program) == NULL)
        return -1;
    snprintf(folder, sizeof folder, "%s", test_path("starts"));
    mkdir(folder, 0700);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char path[8][5000];
    static unsigned next;
    char *result = path[next++ % 8];
    snprintf(result, sizeof path[0], "%s/%s", folder, name);
    return result;
}

/* A file of just the headers that are looked at. It cannot be started as long as the descriptor is open. */
static int make_program(const char *path, unsigned machine)
{
    ElfW(Ehdr) header = {.e_machine = (ElfW(Half))machine, .e_phentsize = sizeof(ElfW(Phdr))};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &header, sizeof header), sizeof header);
    return fd;
}

static unsigned our_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#else
    return EM_AARCH64;
#endif
}

/* Arguments of the helper up to NULL. The output is the caller's to free(). */
static char *record(const char *const *arguments)
{
    const char *argv[128] = {
        program, "record", "-f", "-o", in_folder("run.tbed"), "--", preload_path("preload_starts_helper")};
    for (size_t i = 0; arguments[i] != NULL; i++)
        argv[i + 7] = arguments[i];
    struct preload_command command = {.argv = argv};
    struct preload_outcome outcome = preload_run(&command);
    if (!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != 0)
        fail_msg("status %#x:\n%s", outcome.status, outcome.output);
    return outcome.output;
}

static void expect(const char *output, const char *message, const char *path)
{
    char text[8192];
    snprintf(text, sizeof text, message, path);
    if (strstr(output, text) == NULL)
        fail_msg("no '%s' in:\n%s", text, output);
}

static void script_write(const char *path, const char *start, const char *rest)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s\n", start, rest);
    fclose(file);
    chmod(path, 0755);
}

static const char *make_script(const char *name)
{
    const char *path = in_folder(name);
    script_write(path, "#!", "/bin/true");
    return path;
}

static void notes_of_programs_that_did_not_start_are_taken_back(void **state)
{
    (void)state;
    const char *foreign = in_folder("foreign"), *fixed = in_folder("fixed");
    int fds[] = {make_program(foreign, EM_SPARC), make_program(fixed, our_machine())};
    char *output = record((const char *[]){"plain", foreign, fixed, "/nowhere/program", "/etc/passwd", NULL});
    assert_string_equal(output, "");
    close(fds[0]);
    close(fds[1]);
    free(output);
}

/* Each is refused by the kernel, except the script, which a shell runs. */
static void programs_in_doubt_are_left_to_the_kernel(void **state)
{
    (void)state;
    const char *headers = in_folder("headers"), *cut = in_folder("cut"), *loop = in_folder("loop");
    int fds[] = {make_program(headers, our_machine()), make_program(cut, our_machine())};
    const ElfW(Half) segments = 5; /* none of which is there */
    assert_int_equal(pwrite(fds[0], &segments, 2, offsetof(ElfW(Ehdr), e_phnum)), 2);
    assert_int_equal(ftruncate(fds[1], 20), 0);
    script_write(loop, "#!", loop);
    script_write(in_folder("empty"), "#! \n", "");
    char *output = record((const char *[]){"plain", headers, cut, loop, in_folder("empty"), NULL});
    assert_string_equal(output, "");
    free(output);
    close(fds[0]);
    close(fds[1]);
}

static void each_way_to_start_a_program_without_our_environment_is_noted(void **state)
{
    (void)state;
    char command[16384];
    const char *copy = in_folder("copy");
    snprintf(command, sizeof command, "cp /bin/true '%s'", copy);
    assert_int_equal(system(command), 0);
    char *output = record((const char *[]){"bare", copy, make_script("script"), NULL});
    expect(output, "started without LD_PRELOAD in its environment: %s (8 times)", copy);
    expect(output, "%s (6 times)",
           "/bin/true"); /* exec closes the descriptor that the interpreter would read */
    free(output);
}

/* The loader ignores LD_PRELOAD there. */
static void programs_with_more_rights_are_noted(void **state)
{
    (void)state;
    char command[16384];
    const char *copy = in_folder("privileged");
    if (geteuid() != 0)
        skip();
    snprintf(command, sizeof command, "cp /bin/true '%s'", copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(chown(copy, 0, 65534), 0);
    assert_int_equal(chmod(copy, 02755), 0);
    char *output = record((const char *[]){"plain", copy, NULL});
    expect(output, "setuid, setgid or with capabilities: %s (12 times)", copy);
    free(output);
}

static void each_way_to_start_a_program_in_a_sandbox_is_noted(void **state)
{
    (void)state;
    char *output = record((const char *[]){"sandbox", "/bin/true", NULL});
    expect(output, "started inside a sandbox: %s", "");
    expect(output, "12 programs could not be recorded:%s", "");
    free(output);
}

static void notes_beyond_the_list_are_counted(void **state)
{
    (void)state;
    const char *arguments[100] = {"bare"};
    static char names[70][5000];
    char *output;
    for (size_t i = 0; i < 70; i++) {
        char name[32];
        snprintf(name, sizeof name, "true%zu", i);
        snprintf(names[i], sizeof names[i], "%s", in_folder(name));
        unlink(names[i]);
        assert_int_equal(symlink("/bin/true", names[i]), 0);
        arguments[i + 1] = names[i];
    }
    output = record(arguments);
    expect(output, "started without LD_PRELOAD in its environment: %s", "");
    expect(output, " more%s", "");
    free(output);
}

/* A variable that is left over, or means memory that now belongs to somebody else. */
static void notes_of_another_recorder_are_left_alone(void **state)
{
    (void)state;
    char text[64], variable[128], trace[4096];
    int small = shmget(IPC_PRIVATE, 4096, 0600);
    int other = shmget(IPC_PRIVATE, sizeof(struct launch_notes), 0600);
    struct launch_notes *notes = shmat(other, NULL, 0);
    assert_true(small >= 0 && other >= 0 && (intptr_t)notes != -1);
    const char *copy = make_script("script");
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, i < 2 ? "%d" : "%d,77",
                 i == 0   ? 0
                 : i == 3 ? small
                 : i == 4 ? -1
                          : other);
        snprintf(variable, sizeof variable, "TRACEBED_PRELOAD_NOTES=%s", text);
        snprintf(trace, sizeof trace, "%s", in_folder("run.tbed"));
        unlink(trace);
        struct preload_command command = {
            .argv = (const char *[]){preload_path("preload_starts_helper"), "bare", copy, NULL},
            .trace = trace,
            .variable = variable};
        struct preload_outcome outcome = preload_run(&command);
        assert_int_equal(outcome.status, 0);
        assert_string_equal(outcome.output, "");
        free(outcome.output);
    }
    for (size_t i = 0; i < sizeof *notes; i++)
        assert_int_equal(((const uint8_t *)notes)[i], 0);
    shmdt(notes);
    shmctl(small, IPC_RMID, NULL);
    shmctl(other, IPC_RMID, NULL);
}

static void a_program_is_found_without_a_search_path(void **state)
{
    (void)state;
    char *output = record((const char *[]){"no-path", NULL});
    assert_string_equal(output, "");
    free(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(notes_of_programs_that_did_not_start_are_taken_back, set_up),
        cmocka_unit_test_setup(programs_in_doubt_are_left_to_the_kernel, set_up),
        cmocka_unit_test_setup(each_way_to_start_a_program_without_our_environment_is_noted, set_up),
        cmocka_unit_test_setup(programs_with_more_rights_are_noted, set_up),
        cmocka_unit_test_setup(each_way_to_start_a_program_in_a_sandbox_is_noted, set_up),
        cmocka_unit_test_setup(notes_beyond_the_list_are_counted, set_up),
        cmocka_unit_test_setup(notes_of_another_recorder_are_left_alone, set_up),
        cmocka_unit_test_setup(a_program_is_found_without_a_search_path, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
