/*
 * Runs a fuzz target over files and folders of files, without libFuzzer, so that a bug found once is not missed again.
 * It also runs mutants of each file, which depend only on the file's bytes and are therefore the same on every machine.
 *
 *     TBED_MUTANTS=N      mutants of each file (default 1)
 *     TBED_MUTANT=FILE    stores each mutant here before it runs, so that after a crash FILE is the one that caused it
 *
 * Targets that make calls fail try all places of failure of each file, but only four of each mutant.
 *
 * Each input gets four times the fuzzer's limits of 1 s and 256 MiB, because sanitised programs need more.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes, size_t max_nbytes);
/* A target's own mutator, if it has one. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t max_nbytes,
                                                     unsigned seed);

#define INPUT_NBYTES_MAX  ((size_t)4 << 20)
#define MUTANT_NBYTES_MAX ((size_t)64 << 10) /* mutants of larger inputs take too long */
#define MUTANT_PLACES     "4"
#define SECONDS_MAX       4.0
#define MEMORY_KBYTES_MAX (4 * 256 * 1024L)

static int passed, failed;
static uint64_t random_state;

/* ---- Mutants ---- */

static size_t random_below(size_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return limit > 0 ? (size_t)((random_state >> 33) % limit) : 0;
}

static void change_byte(uint8_t *byte)
{
    static const uint8_t edges[] = {0, 1, 0x7F, 0x80, 0xFF};
    switch (random_below(3)) {
    case 0:
        *byte ^= (uint8_t)(1u << random_below(8));
        break;
    case 1:
        *byte = edges[random_below(sizeof edges)];
        break;
    default:
        *byte = (uint8_t)random_below(256);
    }
}

/* Changes, removes or inserts bytes, like libFuzzer's function of the same name. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes, size_t max_nbytes)
{
    size_t at = random_below(nbytes), rest = nbytes - at, count = 1 + random_below(rest < 8 ? rest : 8);
    switch (nbytes > 0 ? random_below(5) : 4) {
    case 0:
        memmove(data + at, data + at + count, rest - count);
        return nbytes - count;
    case 1:
        memmove(data + at, data + random_below(nbytes - count + 1), count);
        return nbytes;
    case 4:
        if (nbytes < max_nbytes) {
            memmove(data + at + 1, data + at, rest);
            data[at] = (uint8_t)random_below(256);
            return nbytes + 1;
        }
        return nbytes;
    default:
        for (size_t i = 0; i < count; i++)
            change_byte(&data[at + i]);
        return nbytes;
    }
}

static size_t mutate(uint8_t *data, size_t nbytes, unsigned seed)
{
    random_state = seed;
    for (size_t i = 0; i < nbytes; i++)
        random_state = (random_state ^ data[i]) * UINT64_C(0x100000001B3);
    unsigned own_seed = (unsigned)(random_state >> 32);
    if (LLVMFuzzerCustomMutator != NULL)
        return LLVMFuzzerCustomMutator(data, nbytes, MUTANT_NBYTES_MAX, own_seed);
    for (size_t count = 1 + random_below(4); count > 0; count--)
        nbytes = LLVMFuzzerMutate(data, nbytes, MUTANT_NBYTES_MAX);
    return nbytes;
}

static void keep_mutant(const uint8_t *data, size_t nbytes)
{
    const char *path = getenv("TBED_MUTANT");
    FILE *out = path != NULL ? fopen(path, "wb") : NULL;
    if (out != NULL) {
        fwrite(data, 1, nbytes, out);
        fclose(out);
    }
}

/* ---- Runs ---- */

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

static void run_input(const char *name, const uint8_t *data, size_t nbytes)
{
    double begin = processor_seconds();
    fprintf(stderr, "%s\n", name); /* if an input crashes, it is the last one printed */
    LLVMFuzzerTestOneInput(data, nbytes);
    judge(name, processor_seconds() - begin);
}

static void run_mutants(const char *path, const uint8_t *data, size_t nbytes)
{
    const char *count = getenv("TBED_MUTANTS");
    uint8_t *mutant = malloc(MUTANT_NBYTES_MAX);
    REQUIRE(mutant != NULL);
    bool has_limit = getenv(FAILING_PLACES_VARIABLE) != NULL;
    setenv(FAILING_PLACES_VARIABLE, MUTANT_PLACES, 0);
    for (long i = 1; nbytes <= MUTANT_NBYTES_MAX && i <= (count != NULL ? atol(count) : 1); i++) {
        char name[4200];
        memcpy(mutant, data, nbytes);
        size_t mutant_nbytes = mutate(mutant, nbytes, (unsigned)i);
        snprintf(name, sizeof name, "%s, mutant %ld", path, i);
        keep_mutant(mutant, mutant_nbytes);
        run_input(name, mutant, mutant_nbytes);
    }
    if (!has_limit)
        unsetenv(FAILING_PLACES_VARIABLE);
    free(mutant);
}

static void run_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_NBYTES_MAX);
    REQUIRE(in != NULL && data != NULL);
    size_t nbytes = fread(data, 1, INPUT_NBYTES_MAX, in);
    run_input(path, data, nbytes);
    run_mutants(path, data, nbytes);
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
