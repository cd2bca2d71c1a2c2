/*
 * Measures the speed and memory of 'tracebed report' on a large profile of rustc, compared with 'cat' of the file, and
 * on the imported trace, compared with the profile.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "bench/support/measure.h"
#include "bench/support/profile_trace.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB 1048576.0

struct run {
    double milliseconds;
    double cpu_milliseconds;
    double mebibytes; /* resident, at most */
};

/* Runs a program and discards its output. False: it failed. The arguments are those of execvp(). */
static bool run_program(char *const argv[], struct run *run_ret)
{
    struct rusage usage;
    int status;
    uint64_t start = bench_ns(CLOCK_MONOTONIC);
    pid_t child = vfork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return false;
    run_ret->milliseconds = (double)(bench_ns(CLOCK_MONOTONIC) - start) / 1e6;
    run_ret->cpu_milliseconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
                                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
    run_ret->mebibytes = (double)usage.ru_maxrss / 1024;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* 'program' is next to the folder that contains this one. */
static void find_tool(char *path, size_t nbytes)
{
    char self[4096] = {0};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        self[0] = '\0';
    snprintf(path, nbytes, "%s/../tracebed", dirname(self));
}

static void measure(const struct bench_options *options, const char *name, const char *path)
{
    static struct bench_pairs elapsed, memory, cpu;
    char tool[8192], row[128];
    struct run cat, report;
    struct stat file;
    find_tool(tool, sizeof tool);
    char cat_name[] = "cat", verb[] = "report", file_name[4096];
    char *const cat_arguments[] = {cat_name, file_name, NULL};
    char *const report_arguments[] = {tool, verb, file_name, NULL};
    snprintf(file_name, sizeof file_name, "%s", path);
    elapsed.count = memory.count = cpu.count = 0;
    if (stat(path, &file) != 0 || !run_program(cat_arguments, &cat) ||
        !run_program(report_arguments, &report)) {
        fprintf(stderr, "profile_bench: %s cannot be read\n", path);
        return;
    }
    double file_mebibytes = (double)file.st_size / MIB;
    for (unsigned round = 0; round < options->rounds; round++) {
        if (!run_program(cat_arguments, &cat) || !run_program(report_arguments, &report))
            continue;
        bench_pair_add(&elapsed, cat.milliseconds, report.milliseconds);
        bench_pair_add(&cpu, cat.cpu_milliseconds, report.cpu_milliseconds);
        bench_pair_add(&memory, file_mebibytes + 64, report.mebibytes);
    }
    snprintf(row, sizeof row, "report, %s", name);
    bench_row(row, "ms", &elapsed, (struct bench_goal){BENCH_RATIO_AT_MOST, 4});
    snprintf(row, sizeof row, "report, %s, CPU", name);
    bench_row(row, "ms", &cpu, (struct bench_goal){0});
    snprintf(row, sizeof row, "report, %s, peak memory", name);
    bench_row(row, "MiB", &memory, (struct bench_goal){BENCH_RATIO_AT_MOST, 1});
}

/* A trace must cost no more than the profile that it came from. */
static void measure_import(const struct bench_options *options, const char *name, const char *path)
{
    static struct bench_pairs cpu, memory;
    char tool[8192], row[128], from[4096], to[4096];
    char import_verb[] = "import", force[] = "-f", output[] = "-o", verb[] = "report";
    struct run profile, trace;
    struct stat file;
    find_tool(tool, sizeof tool);
    snprintf(from, sizeof from, "%s", path);
    snprintf(to, sizeof to, "%s", bench_path(options, "profile_bench.import.tbed"));
    char *const import[] = {tool, import_verb, force, output, to, from, NULL};
    char *const report_profile[] = {tool, verb, from, NULL};
    char *const report_trace[] = {tool, verb, to, NULL};
    cpu.count = memory.count = 0;
    if (!run_program(import, &trace) || stat(to, &file) != 0 || !run_program(report_trace, &trace))
        fprintf(stderr, "profile_bench: %s cannot be imported\n", path);
    for (unsigned round = 0; round < options->rounds; round++) {
        if (!run_program(report_profile, &profile) || !run_program(report_trace, &trace))
            continue;
        bench_pair_add(&cpu, profile.cpu_milliseconds, trace.cpu_milliseconds);
        bench_pair_add(&memory, (double)file.st_size / MIB + 64, trace.mebibytes);
    }
    unlink(to);
    snprintf(row, sizeof row, "report, import of %s, CPU", name);
    bench_row(row, "ms", &cpu, (struct bench_goal){BENCH_RATIO_AT_MOST, 1.3});
    snprintf(row, sizeof row, "report, import of %s, peak memory", name);
    bench_row(row, "MiB", &memory, (struct bench_goal){BENCH_RATIO_AT_MOST, 1});
}

static void measure_repeated(const struct bench_options *options, const char *name, const char *small)
{
    char large[4096];
    struct stat file;
    snprintf(large, sizeof large, "%s", bench_path(options, "profile_bench.large.mm_profdata"));
    uint64_t count = bench_profile_repeat(small, large, options->quick ? 1500000 : 10500000);
    if (count == 0 || stat(large, &file) != 0)
        fprintf(stderr, "profile_bench: %s could not be repeated\n", small);
    else {
        printf("%s: %.1f million events, %.1f MB\n", name, (double)count / 1e6, (double)file.st_size / 1e6);
        measure(options, name, large);
        measure_import(options, name, large);
    }
    unlink(large);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    char small[4096], directory[4096];
    if (!bench_options_parse(argc, argv, "Measures the report of a large rustc profile, compared with 'cat'.",
                             &options) ||
        realpath(options.directory, directory) == NULL)
        return 0;
    options.directory = directory;
    snprintf(small, sizeof small, "%s", bench_path(&options, "profile_bench.small.mm_profdata"));
    bench_table_head("Profiles: the limit is 'cat FILE > /dev/null'; of memory, the file's size and 64 MiB");
    if (bench_is_wanted(&options, "rustc")) {
        if (bench_profile_by_rustc(directory, small))
            measure_repeated(&options, "rustc", small);
        else
            printf("rustc is not installed\n");
    }
    if (bench_is_wanted(&options, "made up") && bench_profile_made_up(small))
        measure_repeated(&options, "made up", small);
    unlink(small);
    return 0;
}
