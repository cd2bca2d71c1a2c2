/*
 * Measures resolving 10,000 random addresses of a program to symbols, functions (including inlined ones), files and
 * lines: the first time, which includes finding and reading files, and again. Compared with addr2line on the same
 * addresses.
 *
 *     symbols_bench [OPTION...] [MODULE]      by default python3, which needs its debug file (python3-dbg)
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <elf.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tracebed/symbols.h>

#include "bench/support/measure.h"

#define ADDRESS_COUNT 10000u
#define FILE_NAME     "symbols_bench.txt"

static const struct bench_goal no_goal = {BENCH_NO_GOAL, 0};

/* ---- Addresses ---- */

/* The range of the module's code, from its file. */
static bool find_code(const char *path, uint64_t *start_ret, uint64_t *nbytes_ret)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment = {0};
    FILE *file = fopen(path, "rb");
    bool found = false;
    if (file == NULL)
        return false;
    if (fread(&header, sizeof header, 1, file) == 1 && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        fseek(file, (long)header.e_phoff, SEEK_SET) == 0)
        for (unsigned i = 0; i < header.e_phnum && !found && fread(&segment, sizeof segment, 1, file) == 1;
             i++)
            found = segment.p_type == PT_LOAD && segment.p_flags & PF_X;
    fclose(file);
    *start_ret = segment.p_vaddr;
    *nbytes_ret = segment.p_filesz;
    return found && segment.p_filesz > 0;
}

static void make_addresses(uint64_t start, uint64_t nbytes, uint64_t *pcs)
{
    uint64_t random = 1;
    for (size_t i = 0; i < ADDRESS_COUNT; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        pcs[i] = start + (random >> 16) % nbytes;
    }
}

/* ---- Time: elapsed, and CPU time including children that have ended ---- */

struct seconds {
    double elapsed, cpu;
};

static double cpu_seconds(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static struct seconds now(void)
{
    return (struct seconds){(double)bench_ns(CLOCK_MONOTONIC) * 1e-9,
                            cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN)};
}

static struct seconds since(struct seconds then)
{
    struct seconds time = now();
    return (struct seconds){time.elapsed - then.elapsed, time.cpu - then.cpu};
}

/* ---- The measurements ---- */

static struct seconds ask_addr2line(const char *path, const char *questions)
{
    char command[8192];
    snprintf(command, sizeof command, "addr2line -f -i -e '%s' <'%s' >/dev/null", path, questions);
    struct seconds begin = now();
    if (system(command) != 0)
        fprintf(stderr, "symbols_bench: addr2line failed\n");
    return since(begin);
}

struct results {
    struct seconds first, again;
    size_t with_symbol, with_line;
};

static struct results resolve(const char *path, const uint64_t *pcs)
{
    struct results results = {0};
    struct tbed_symbols_module module = {.path = path};
    struct tbed_frame frames[64];
    struct tbed_symbol symbol;
    struct seconds begin = now();
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    tbed_symbols_resolve_many(symbols, &module, pcs, ADDRESS_COUNT);
    double elapsed = since(begin).elapsed;
    struct seconds again = now();
    for (size_t i = 0; i < ADDRESS_COUNT; i++) {
        results.with_symbol += tbed_symbols_find(symbols, &module, pcs[i], &symbol, NULL);
        size_t count = tbed_symbols_frames(symbols, &module, pcs[i], frames, 64);
        results.with_line += count > 0 && frames[0].line != 0;
    }
    results.again = since(again);
    tbed_symbols_close(symbols); /* ends its process, so that its CPU time is known */
    results.first = since(begin);
    results.first.cpu -= results.again.cpu;
    results.first.elapsed = elapsed;
    return results;
}

static bool write_questions(const char *path, const uint64_t *pcs)
{
    FILE *file = fopen(path, "w");
    for (size_t i = 0; file != NULL && i < ADDRESS_COUNT; i++)
        fprintf(file, "0x%llx\n", (unsigned long long)pcs[i]);
    return file != NULL && fclose(file) == 0;
}

static void measure(const struct bench_options *options, const char *module, const uint64_t *pcs)
{
    static struct bench_pairs elapsed, cpu, again;
    const char *questions = bench_path(options, FILE_NAME);
    struct results results = {0};
    if (!write_questions(questions, pcs)) {
        fprintf(stderr, "symbols_bench: %s: cannot be written\n", questions);
        return;
    }
    for (unsigned round = 0; round < options->rounds; round++) {
        struct seconds limit = ask_addr2line(module, questions);
        results = resolve(module, pcs);
        bench_pair_add(&elapsed, limit.elapsed, results.first.elapsed);
        bench_pair_add(&cpu, limit.cpu, results.first.cpu);
        bench_pair_add(&again, limit.elapsed * 1e3, results.again.elapsed * 1e3);
    }
    unlink(questions);
    bench_row("first time, elapsed", "s", &elapsed, (struct bench_goal){BENCH_VALUE_AT_MOST, 0.5});
    bench_row("first time, CPU of all processes", "s", &cpu, (struct bench_goal){BENCH_VALUE_AT_MOST, 0.5});
    bench_row("again", "ms", &again, no_goal);
    printf("\n%zu of %u addresses have a symbol, %zu a line\n", results.with_symbol, ADDRESS_COUNT,
           results.with_line);
}

int main(int argc, char **argv)
{
    static uint64_t pcs[ADDRESS_COUNT];
    static char path[4096];
    struct bench_options options;
    uint64_t start, nbytes;
    if (!bench_options_parse(
            argc, argv, "Measures resolving 10,000 addresses of MODULE (python3), compared with addr2line.",
            &options))
        return 0;
    const char *module = optind < argc ? argv[optind] : "/usr/bin/python3";
    if (realpath(module, path) == NULL || !find_code(path, &start, &nbytes)) {
        fprintf(stderr, "symbols_bench: %s: not a program\n", module);
        return 0;
    }
    make_addresses(start, nbytes, pcs);
    printf("%s\n", path);
    bench_table_head("Resolving 10,000 addresses: the limit is addr2line -f -i");
    measure(&options, path, pcs);
    return 0;
}
