/*
 * Clocks, medians, options and the table of the benchmarks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench/support/measure.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile uint64_t bench_sink;

/* ---- Options ---- */

static void usage(const char *program, const char *purpose)
{
    fprintf(stderr,
            "usage: %s [--quick] [--cold] [--rounds N] [--path DIRECTORY] [--only NAME]\n\n%s\n\n"
            "  --quick   measure less, in fewer rounds\n"
            "  --cold    do not touch memory beforehand\n"
            "  --rounds  pairs to measure (odd; 9, quick: 3)\n"
            "  --path    directory for temporary files (.)\n"
            "  --only    rows whose name starts with this\n",
            program, purpose);
}

bool bench_options_parse(int argc, char **argv, const char *purpose, struct bench_options *options_ret)
{
    static const struct option known[] = {
        {"quick", no_argument, NULL, 'q'},        {"cold", no_argument, NULL, 'c'},
        {"rounds", required_argument, NULL, 'r'}, {"path", required_argument, NULL, 'p'},
        {"only", required_argument, NULL, 'o'},   {NULL, 0, NULL, 0},
    };
    struct bench_options options = {.directory = "."};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        options.quick |= option == 'q';
        options.cold |= option == 'c';
        if (option == 'r')
            options.rounds = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'p')
            options.directory = optarg;
        else if (option == 'o')
            options.only = optarg;
        if (option == '?' || options.rounds > BENCH_ROUNDS_MAX) {
            usage(argv[0], purpose);
            return false;
        }
    }
    if (options.rounds == 0)
        options.rounds = options.quick ? 3 : 9;
    *options_ret = options;
    return true;
}

bool bench_is_wanted(const struct bench_options *options, const char *name)
{
    return options->only == NULL || strncmp(name, options->only, strlen(options->only)) == 0;
}

const char *bench_path(const struct bench_options *options, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", options->directory, name);
    return path;
}

/* ---- Measuring ---- */

uint64_t bench_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bench_memory_warm(const struct bench_options *options, size_t nbytes)
{
    if (options->cold)
        return;
    size_t limit = (size_t)sysconf(_SC_PHYS_PAGES) / 2 * (size_t)sysconf(_SC_PAGESIZE);
    nbytes = nbytes < limit / 3 ? 3 * nbytes : limit;
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    madvise(memory, nbytes, MADV_HUGEPAGE);
    madvise(memory, nbytes, MADV_POPULATE_WRITE);
    munmap(memory, nbytes);
}

void bench_pair_add(struct bench_pairs *pairs, double limit, double value)
{
    if (pairs->count == BENCH_ROUNDS_MAX)
        return;
    pairs->limits[pairs->count] = limit;
    pairs->values[pairs->count++] = value;
}

/* ---- The table ---- */

struct summary {
    double min, median, max;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct summary summarize(const double *values, size_t count)
{
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    return (struct summary){sorted[0], sorted[count / 2], sorted[count - 1]};
}

static struct summary summarize_ratios(const struct bench_pairs *pairs)
{
    double ratios[BENCH_ROUNDS_MAX];
    for (size_t i = 0; i < pairs->count; i++)
        ratios[i] = pairs->limits[i] > 0 ? pairs->values[i] / pairs->limits[i] : NAN;
    return summarize(ratios, pairs->count);
}

void bench_table_head(const char *title)
{
    double load[3] = {0, 0, 0};
    getloadavg(load, 3);
    printf("\n%s (load average %.2f)\n", title, load[0]);
    printf("%-46s %-10s %9s %9s %8s %8s %8s  %-13s %s\n", "what", "unit", "limit", "measured", "ratio", "min",
           "max", "goal", "verdict");
}

static void goal_print(const struct bench_goal *goal, double ratio, double value)
{
    static const char *const forms[] = {"", "ratio <= %.3g", "ratio >= %.3g", "<= %.3g"};
    bool reached = (goal->kind == BENCH_RATIO_AT_MOST && ratio <= goal->bound) ||
                   (goal->kind == BENCH_RATIO_AT_LEAST && ratio >= goal->bound) ||
                   (goal->kind == BENCH_VALUE_AT_MOST && value <= goal->bound);
    char text[32];
    snprintf(text, sizeof text, forms[goal->kind], goal->bound);
    if (goal->kind == BENCH_NO_GOAL)
        printf("  %-13s -\n", "-");
    else
        printf("  %-13s %s\n", text, reached ? "reached" : "missed");
}

void bench_row(const char *name, const char *unit, const struct bench_pairs *pairs, struct bench_goal goal)
{
    if (pairs->count == 0) {
        printf("%-46s %-10s not measured\n", name, unit);
        return;
    }
    struct summary limit = summarize(pairs->limits, pairs->count);
    struct summary value = summarize(pairs->values, pairs->count);
    struct summary ratio = summarize_ratios(pairs);
    int digits = value.median < 1000 && limit.median < 1000 ? 3 : 0;
    printf("%-46s %-10s %9.*f %9.*f %8.3f %8.3f %8.3f", name, unit, digits, limit.median, digits,
           value.median, ratio.median, ratio.min, ratio.max);
    goal_print(&goal, ratio.median, value.median);
    fflush(stdout);
}
