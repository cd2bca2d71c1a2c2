/*
 * Makes all golden files: make_golden FOLDER writes FOLDER/valid, FOLDER/invalid and FOLDER/expected.txt, with the same
 * bytes each time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "fuzz/support/mend.h"
#include "spec/golden/golden.h"

void golden_fail(const char *what)
{
    perror(what);
    exit(1);
}

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, mode);
    if (out == NULL)
        golden_fail(path);
    return out;
}

void golden_write(const char *folder, const char *name, const void *bytes, size_t nbytes)
{
    char with_suffix[256];
    snprintf(with_suffix, sizeof with_suffix, "%s.tbed", name);
    FILE *out = open_in(folder, with_suffix, "wb");
    if (fwrite(bytes, 1, nbytes, out) != nbytes || fclose(out) != 0)
        golden_fail(name);
}

void golden_file_write(const struct golden_file *file, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/valid", folder);
    mend_file(file->bytes, file->nbytes, MEND_ALL);
    golden_write(path, name, file->bytes, file->nbytes);
}

void golden_expect(const char *folder, const char *line)
{
    FILE *out = open_in(folder, "expected.txt", "a");
    if (fprintf(out, "%s\n", line) < 0 || fclose(out) != 0)
        golden_fail("expected.txt");
}

static void start_expected(const char *folder)
{
    FILE *out = open_in(folder, "expected.txt", "w");
    fputs(
        "# What a reader makes of each golden file; written by make_golden, beside the files.\n"
        "# FILE DAMAGES STRINGS BINDINGS EVENTS [ID=STATUS]\n"
        "# DAMAGES: CHECK@OFFSET,... in the order found, '-' for none, the error of opening if that fails.\n"
        "# Then how many string entries, bindings and events are listed, and what an id does not resolve "
        "to.\n",
        out);
    fclose(out);
}

int main(int argc, char **argv)
{
    static const char *const folders[] = {"valid", "invalid"};
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden FOLDER\n");
        return 2;
    }
    prctl(PR_SET_NAME, "golden"); /* a forked child takes its name from the kernel */
    mkdir(argv[1], 0777);
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], folders[i]);
        mkdir(path, 0777);
    }
    start_expected(argv[1]);
    golden_recorded_write_all(argv[1]);
    golden_valid_write_all(argv[1]);
    golden_invalid_write_all(argv[1]);
    return 0;
}
