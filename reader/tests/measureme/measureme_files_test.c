/*
 * Profiles in files: sets of three by any of their paths, files that are not profiles, and real profiles if present.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/measureme/measureme_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL_FOLDER "../shared/traces"

static const char *const extensions[] = {".events", ".string_data", ".string_index"};
static char folder[] = "/tmp/measureme-files-XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return rmdir(folder);
}

static char *path_of(char path[256], const char *name, const char *extension)
{
    snprintf(path, 256, "%s/%s%s", folder, name, extension);
    return path;
}

static void file_write(const char *path, const void *bytes, size_t nbytes)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, nbytes, out), nbytes);
    fclose(out);
}

static void set_write(const struct profile *profile)
{
    char path[256];
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        file_write(path_of(path, "set", extensions[i]), profile->streams[i].bytes,
                   profile->streams[i].nbytes);
}

static void set_remove(void)
{
    char path[256];
    for (int i = 0; i < MM_STREAM_COUNT; i++)
        unlink(path_of(path, "set", extensions[i]));
}

static void assert_fails(const char *path, enum tbed_status status, int system_errno)
{
    struct mm_file *file = NULL;
    struct tbed_error error;
    assert_int_equal(mm_open(path, &file, &error), status);
    assert_int_equal(error.system_errno, system_errno);
    assert_null(file);
}

static void a_set_is_found_from_any_of_its_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct profile profile;
        profile_sample(&profile, versions[i]);
        set_write(&profile);
        for (int j = 0; j < MM_STREAM_COUNT; j++) {
            char path[256];
            struct mm_file *file;
            struct tbed_error error;
            assert_int_equal(mm_open(path_of(path, "set", extensions[j]), &file, &error), TBED_OK);
            assert_int_equal(damage_count(file), 0);
            assert_int_equal(mm_event_count(file), 6);
            assert_text(file, 3, "bound last");
            mm_close(file);
        }
        set_remove();
        profile_free(&profile);
    }
}

static void a_set_lives_without_string_files_but_not_without_events(void **state)
{
    (void)state;
    struct profile profile;
    struct mm_file *file;
    struct tbed_error error;
    char path[256];
    profile_sample(&profile, 5);
    set_write(&profile);
    unlink(path_of(path, "set", ".string_data"));
    unlink(path_of(path, "set", ".string_index"));
    assert_int_equal(mm_open(path_of(path, "set", ".events"), &file, &error), TBED_OK);
    assert_int_equal(mm_event_count(file), 6);
    assert_damage(file, 0, TBED_ERR_PROFILE_STREAM, MM_STRING_DATA, UINT64_MAX, MM_STRING_DATA);
    assert_damage(file, 1, TBED_ERR_PROFILE_STREAM, MM_STRING_INDEX, UINT64_MAX, MM_STRING_INDEX);
    mm_close(file);
    int fd = open(path, O_RDONLY);
    assert_int_equal(mm_open_fd(fd, &file, &error), TBED_OK); /* the events alone */
    close(fd);
    assert_int_equal(mm_event_count(file), 6);
    mm_close(file);
    set_write(&profile);
    unlink(path_of(path, "set", ".events"));
    assert_fails(path_of(path, "set", ".string_data"), TBED_ERR_OPEN, 2);
    file_write(path_of(path, "set", ".events"), "", 0);
    assert_int_equal(mm_open(path, &file, &error), TBED_OK); /* empty: the version is that of the strings */
    assert_int_equal(mm_event_count(file), 0);
    assert_text(file, 3, "bound last");
    mm_close(file);
    set_remove();
    profile_free(&profile);
}

static void what_is_no_file_of_ours_is_told_apart(void **state)
{
    (void)state;
    char path[256];
    assert_fails(path_of(path, "none", ""), TBED_ERR_OPEN, 2);
    assert_fails(folder, TBED_ERR_IS_DIRECTORY, 0);
    file_write(path_of(path, "file", ""), "", 0);
    assert_fails(path, TBED_ERR_EMPTY, 0);
    file_write(path, "something else", 14);
    assert_fails(path, TBED_ERR_NOT_A_TRACE, 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(path, TBED_ERR_NOT_REGULAR, 0);
    unlink(path);
}

static size_t resident_nbytes(const void *bytes, size_t nbytes)
{
    char line[256];
    size_t kbytes = 0;
    unsigned long begin = 0, end = 0;
    bool is_it = false;
    FILE *in = fopen("/proc/self/smaps", "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_it = (uintptr_t)bytes >= begin && (uintptr_t)bytes + nbytes <= end;
        if (is_it && sscanf(line, "Rss: %zu kB", &kbytes) == 1)
            break;
    }
    fclose(in);
    return kbytes * 1024;
}

static void opening_reads_page_headers_alone_and_what_is_released_leaves(void **state)
{
    (void)state;
    enum { COUNT = 2000000, PAGE_NBYTES = 262144 };
    struct profile profile;
    struct mm_file *file;
    struct tbed_error error;
    char path[256];
    profile_start(&profile, 9);
    for (uint32_t i = 0; i < COUNT; i++)
        profile_interval(&profile, 1, i, 1, i, i + 1);
    struct profile_bytes bytes = profile_paged(&profile, PAGE_NBYTES);
    file_write(path_of(path, "large", ""), bytes.bytes, bytes.nbytes);
    profile_free(&profile);
    assert_int_equal(mm_open(path, &file, &error), TBED_OK);
    assert_int_equal(mm_event_count(file), COUNT);
    const uint8_t *start = mm_chunk_get(file, 0).bytes;
    assert_true(resident_nbytes(start, 1) < bytes.nbytes / 16);
    size_t most = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < mm_chunk_count(file); i++) {
        struct mm_chunk chunk = mm_chunk_get(file, i);
        for (uint32_t j = 0; j < chunk.event_count; j++) {
            struct mm_event event;
            mm_event_load(chunk.bytes + (size_t)j * chunk.event_nbytes, mm_event_shape(file), &event);
            sum += event.id;
        }
        mm_release(file, &chunk);
        size_t resident = i % 16 == 0 ? resident_nbytes(start, 1) : 0;
        most = resident > most ? resident : most;
    }
    assert_int_equal(sum, (uint64_t)COUNT * (COUNT - 1) / 2);
    assert_true(most > 0 && most < bytes.nbytes / 2);
    assert_true(resident_nbytes(start, 1) < bytes.nbytes / 16);
    assert_int_equal(event_get(file, 5).id, 5); /* it is read again */
    mm_close(file);
    unlink(path);
    profile_bytes_free(&bytes);
}

/* ---- Real ones ---- */

static bool bytes_load(const char *path, struct profile_input *input, int stream)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return false;
    struct profile_bytes bytes = {.bytes = NULL};
    char part[65536];
    size_t nbytes;
    while ((nbytes = fread(part, 1, sizeof part, in)) > 0)
        profile_bytes_add(&bytes, part, nbytes);
    fclose(in);
    input->bytes[stream] = exact_copy(bytes.bytes, bytes.nbytes);
    input->nbytes[stream] = bytes.nbytes;
    profile_bytes_free(&bytes);
    return true;
}

static bool real_load(const char *name, struct profile_input *input)
{
    char path[512];
    *input = (struct profile_input){{NULL}, {0}};
    size_t stem = strlen(name) - strlen(".events");
    if (strcmp(name + stem, ".events") != 0) {
        snprintf(path, sizeof path, "%s/%s", REAL_FOLDER, name);
        return bytes_load(path, input, 0);
    }
    for (int i = 0; i < MM_STREAM_COUNT; i++) {
        snprintf(path, sizeof path, "%s/%.*s%s", REAL_FOLDER, (int)stem, name, extensions[i]);
        if (!bytes_load(path, input, i))
            return false;
    }
    return true;
}

/* Counts the text components and the references that cannot be resolved in the events' ids. */
static uint64_t unresolved(const struct mm_file *file)
{
    uint64_t count = 0, address;
    for (size_t i = 0; i < mm_chunk_count(file); i++) {
        struct mm_chunk chunk = mm_chunk_get(file, i);
        for (uint32_t j = 0; j < chunk.event_count; j++) {
            struct mm_event event;
            mm_event_load(chunk.bytes + (size_t)j * chunk.event_nbytes, mm_event_shape(file), &event);
            count +=
                !mm_string_address(file, event.id, &address) + !mm_string_address(file, event.kind, &address);
        }
    }
    return count;
}

static void real_files_are_read_whole(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t version;
        uint64_t event_count;
        uint64_t number; /* of an event */
        const char *label;
        uint64_t unresolved; /* ids that rustc itself left without a meaning */
    } cases[] = {
        {"old/w0_4_0.events", 0, 9, 2, "reserved_label", 0},
        {"old/w0_5_0.events", 3, 12, 1, "pre_abc_posth\xC3\xA9llo\xE2\x86\x92reserved_label!", 0},
        {"old/w0_6_0.events", 4, 12, 1, "pre_abc_posth\xC3\xA9llo\xE2\x86\x92virtual_label!", 0},
        {"old/w0_7_1.events", 5, 13, 12, "abc\x1Epre_abc_posth\xC3\xA9llo\xE2\x86\x92virtual_label!", 0},
        {"old/w0_8_0.mm_profdata", 6, 13, 12, "abc\x1Epre_abc_posth\xC3\xA9llo\xE2\x86\x92virtual_label!", 0},
        {"old/w9_2_0.mm_profdata", 7, 13, 12, "abc\x1Epre_abc_posth\xC3\xA9llo\xE2\x86\x92virtual_label!", 0},
        {"v7_fixture.mm_profdata", 7, 10922, 0, NULL, 0},
        {"v8_hello.mm_profdata", 8, 31934, 0, NULL, 0},
        {"v9_hello.mm_profdata", 9, 23714, 0, NULL, 0},
        {"v9_hello_args.mm_profdata", 9, 28016, 0, NULL, 31},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile_input input;
        struct mm_info info;
        if (!real_load(cases[i].name, &input))
            skip();
        struct mm_file *file = input_open(&input);
        mm_info(file, &info);
        assert_int_equal(info.version, cases[i].version);
        assert_int_equal(info.event_count, cases[i].event_count);
        assert_int_equal(info.damage_count + info.unmatched_start_count + info.unmatched_end_count, 0);
        if (cases[i].label != NULL)
            assert_text(file, event_get(file, cases[i].number).id, cases[i].label);
        assert_int_equal(unresolved(file), cases[i].unresolved);
        mm_close(file);
        assert_int_equal(profile_compare(input.bytes, input.nbytes, input.nbytes[0] < 4096), TBED_OK);
        input_free(&input);
    }
}

static void made_up_files_are_read_as_the_slow_reader_does(void **state)
{
    (void)state;
    DIR *made_up = opendir(REAL_FOLDER "/synth");
    size_t count = 0;
    if (made_up == NULL)
        skip();
    for (struct dirent *entry; (entry = readdir(made_up)) != NULL;) {
        struct profile_input input;
        char name[512];
        snprintf(name, sizeof name, "synth/%s", entry->d_name);
        if (entry->d_name[0] == '.' || !real_load(name, &input))
            continue;
        bool is_known = strcmp(entry->d_name, "z_v10.mm_profdata") != 0;
        enum tbed_status wanted = is_known ? TBED_OK : TBED_ERR_PROFILE_VERSION;
        assert_int_equal(profile_compare(input.bytes, input.nbytes, true), wanted);
        input_free(&input);
        count++;
    }
    closedir(made_up);
    assert_true(count > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_found_from_any_of_its_paths),
        cmocka_unit_test(a_set_lives_without_string_files_but_not_without_events),
        cmocka_unit_test(what_is_no_file_of_ours_is_told_apart),
        cmocka_unit_test(opening_reads_page_headers_alone_and_what_is_released_leaves),
        cmocka_unit_test(real_files_are_read_whole),
        cmocka_unit_test(made_up_files_are_read_as_the_slow_reader_does),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
