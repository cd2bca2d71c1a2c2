/*
 * Measures the import and export of an RTL_LOGFILE log, compared with reading it line by line. The exported bytes must
 * equal the imported ones.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "bench/support/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/exchange.h>
#include <unistd.h>

enum { THREADS = 4, DEPTH_MAX = 12 };

struct log {
    char *bytes;
    size_t nbytes;
    unsigned line_count;
    char path[4096], trace_path[4096], back_path[4096];
};

static const char *const names[] = {
    "desktop (cd100003) ::Desktop::Init",
    "vcl (ss112471) ::SVMain",
    "unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()",
    "vcl: ToolBox::ToolBox( Window* pParent, const ResId& rResId )",
    "::SplashScreen::setValue (lo119109)",
    "linguistic: LngSvcMgr::SaveCfgSvcs - ReplaceSetProperties",
};

static void put_lines(FILE *out, unsigned line_count)
{
    const char *open[THREADS][DEPTH_MAX];
    unsigned depths[THREADS] = {0}, ms = 0;
    uint32_t chance = 1;
    for (unsigned i = 0; i < line_count; i++) {
        chance = chance * 1664525 + 1013904223;
        unsigned thread = chance >> 8 & (THREADS - 1), what = chance >> 12 & 3, *depth = &depths[thread];
        const char *name = names[(chance >> 16) % (sizeof names / sizeof names[0])];
        ms += chance >> 28 == 0;
        fprintf(out, "%06u %u ", ms, thread + 1);
        if (what == 0 && *depth < DEPTH_MAX)
            fprintf(out, "{ %s\n", open[thread][(*depth)++] = name);
        else if (what == 1 && *depth > 0)
            fprintf(out, "} %s\n", open[thread][--*depth]);
        else if (what == 2 && *depth > 0)
            fprintf(out, "| %s : value=%u\n", open[thread][*depth - 1], i);
        else
            fprintf(out, "| : <- store config items %u\n", i);
    }
    fprintf(out, "closing log file at %06u", ms);
}

static bool log_make(struct log *log, const struct bench_options *options)
{
    log->line_count = options->quick ? 20000 : 100000;
    snprintf(log->path, sizeof log->path, "%s", bench_path(options, "bench.log"));
    snprintf(log->trace_path, sizeof log->trace_path, "%s", bench_path(options, "bench.log.tbed"));
    snprintf(log->back_path, sizeof log->back_path, "%s", bench_path(options, "bench.back.log"));
    FILE *out = open_memstream(&log->bytes, &log->nbytes);
    if (out == NULL)
        return false;
    fputs("opening log file 997000000.123456 seconds past January 1st 1970\n"
          "corresponding to 0 ms after timer start\nProcess id is 4711\n",
          out);
    put_lines(out, log->line_count);
    if (fclose(out) != 0)
        return false;
    FILE *file = fopen(log->path, "wb");
    bool is_written = file != NULL && fwrite(log->bytes, 1, log->nbytes, file) == log->nbytes;
    return file != NULL && fclose(file) == 0 && is_written;
}

/* The limit: reading the same lines one by one, without using them. */
static uint64_t read_lines(const struct log *log)
{
    char *line = NULL;
    size_t room = 0;
    uint64_t start = bench_ns(CLOCK_MONOTONIC);
    FILE *file = fopen(log->path, "rb");
    while (file != NULL && getline(&line, &room, file) > 0) {
    }
    if (file != NULL)
        fclose(file);
    free(line);
    return bench_ns(CLOCK_MONOTONIC) - start;
}

static bool import(const struct log *log, uint64_t *ns_ret)
{
    struct tbed_import_options options = {.size = sizeof options, .overwrite = true};
    uint64_t start = bench_ns(CLOCK_MONOTONIC);
    bool is_done = tbed_import(log->path, log->trace_path, &options, NULL, NULL) == TBED_OK;
    *ns_ret = bench_ns(CLOCK_MONOTONIC) - start;
    return is_done;
}

static bool export(const struct log *log, uint64_t *ns_ret)
{
    struct tbed_rtl_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_reader *reader;
    uint64_t start = bench_ns(CLOCK_MONOTONIC);
    if (tbed_reader_open(log->trace_path, NULL, &reader, NULL) != TBED_OK)
        return false;
    bool is_done = tbed_export_rtl_log(reader, log->back_path, &options, NULL, NULL) == TBED_OK;
    tbed_reader_close(reader);
    *ns_ret = bench_ns(CLOCK_MONOTONIC) - start;
    return is_done;
}

static bool is_back(const struct log *log)
{
    char *bytes = malloc(log->nbytes + 1);
    FILE *file = fopen(log->back_path, "rb");
    bool is_same = bytes != NULL && file != NULL && fread(bytes, 1, log->nbytes + 1, file) == log->nbytes &&
                   memcmp(bytes, log->bytes, log->nbytes) == 0;
    if (file != NULL)
        fclose(file);
    free(bytes);
    return is_same;
}

static void put_rows(const struct log *log, const struct bench_pairs *ns, const char *what)
{
    struct bench_pairs rates[2] = {{.count = 0}, {.count = 0}};
    char name[64];
    for (size_t i = 0; i < ns->count; i++) {
        bench_pair_add(&rates[0], log->line_count * 1e3 / ns->limits[i],
                       log->line_count * 1e3 / ns->values[i]);
        bench_pair_add(&rates[1], (double)log->nbytes * 1e3 / ns->limits[i],
                       (double)log->nbytes * 1e3 / ns->values[i]);
    }
    snprintf(name, sizeof name, "%s, lines", what);
    bench_row(name, "M/s", &rates[0], (struct bench_goal){BENCH_NO_GOAL, 0});
    snprintf(name, sizeof name, "%s, bytes", what);
    bench_row(name, "MB/s", &rates[1], (struct bench_goal){BENCH_NO_GOAL, 0});
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct bench_pairs imports = {.count = 0}, exports = {.count = 0};
    struct log log = {.bytes = NULL};
    if (!bench_options_parse(argc, argv, "logs of RTL_LOGFILE in and out", &options))
        return 2;
    bool is_fine = log_make(&log, &options);
    for (unsigned i = 0; i < options.rounds && is_fine; i++) {
        uint64_t import_ns, export_ns, limit = read_lines(&log);
        is_fine = import(&log, &import_ns) && export(&log, &export_ns) && is_back(&log);
        if (!is_fine)
            break;
        bench_pair_add(&imports, (double)limit, (double)import_ns);
        bench_pair_add(&exports, (double)limit, (double)export_ns);
    }
    unlink(log.path);
    unlink(log.trace_path);
    unlink(log.back_path);
    free(log.bytes);
    if (!is_fine) {
        fprintf(stderr, "rtl_log_bench: the exported log differs\n");
        return 1;
    }
    bench_table_head("RTL_LOGFILE logs: the limit is getline()");
    put_rows(&log, &imports, "import");
    put_rows(&log, &exports, "export");
    return 0;
}
