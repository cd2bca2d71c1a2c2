/*
 * Runs a fuzz target over files and folders of files, without libFuzzer, so that a bug found once is not missed again.
 *
 * Each input gets one second of CPU time and 256 MiB, as with the fuzzer's limits. Sanitised programs need more of both
 * and get four times as much.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz/support/fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes, size_t max_nbytes);

#define INPUT_NBYTES_MAX  ((size_t)4 << 20)
#define SECONDS_MAX       4.0
#define MEMORY_KBYTES_MAX (4 * 256 * 1024L)

static int passed, failed;

/* Mutators need it to link; nothing is mutated here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes, size_t max_nbytes)
{
    (void)data;
    return nbytes < max_nbytes ? nbytes : max_nbytes;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void judge(const char *path, double seconds)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (seconds > SECONDS_MAX || usage.ru_maxrss > MEMORY_KBYTES_MAX) {
        printf("%s: took %.1f s, %ld KiB in total\n", path, seconds, usage.ru_maxrss);
        failed++;
    } else {
        passed++;
    }
}

static void run_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_NBYTES_MAX);
    REQUIRE(in != NULL && data != NULL);
    size_t nbytes = fread(data, 1, INPUT_NBYTES_MAX, in);
    double begin = processor_seconds();
    fprintf(stderr, "%s\n", path); /* if an input crashes, it is the last one printed */
    LLVMFuzzerTestOneInput(data, nbytes);
    judge(path, processor_seconds() - begin);
    free(data);
    fclose(in);
}

static void run(const char *path)
{
    struct stat status;
    REQUIRE(stat(path, &status) == 0);
    DIR *folder = S_ISDIR(status.st_mode) ? opendir(path) : NULL;
    if (folder == NULL) {
        run_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            run(inner);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
