/*
 * What the tests of the writer share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tracebed-test-XXXXXX";
static pid_t folder_owner;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == folder_owner)
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_path(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    if (folder_owner == 0) {
        assert_non_null(mkdtemp(folder));
        folder_owner = getpid();
        atexit(remove_folder);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    unlink(path);
    return path;
}

struct tbed_writer *test_writer_open(const char *path, const struct tbed_writer_options *options)
{
    struct tbed_writer_options copy = {.size = sizeof copy};
    struct tbed_writer *writer;
    struct tbed_error error;
    if (options != NULL)
        copy = *options;
    copy.size = sizeof copy;
    copy.overwrite = !copy.join;
    enum tbed_status status = tbed_writer_open(path, &copy, &writer, &error);
    if (status != TBED_OK)
        fail_msg("%s: %s (errno %d)", path, tbed_status_text(status), error.system_errno);
    return writer;
}

static void print_damage(const char *path, const struct tbed_reader *reader)
{
    struct tbed_damage damage;
    for (size_t i = 0; i < 5 && tbed_damage_get(reader, i, &damage); i++)
        print_error("%s: %s at %llu, page %llu cell %u\n", path, tbed_status_name(damage.status),
                    (unsigned long long)damage.offset, (unsigned long long)damage.page, damage.cell);
}

struct tbed_reader *test_reader_open(const char *path, bool shut)
{
    struct tbed_reader *reader;
    struct tbed_error error;
    struct tbed_trace_info info;
    enum tbed_status status = tbed_reader_open(path, NULL, &reader, &error);
    if (status != TBED_OK)
        fail_msg("%s: %s (errno %d)", path, tbed_status_text(status), error.system_errno);
    if (tbed_reader_verify(reader) != TBED_OK) {
        print_damage(path, reader);
        fail_msg("%s is damaged", path);
    }
    tbed_reader_info(reader, &info);
    assert_int_equal(info.shut, shut);
    return reader;
}

struct tbed_event *test_events(struct tbed_reader *reader, uint32_t stream, size_t *count_ret)
{
    struct tbed_cursor *cursor;
    struct tbed_event *events = NULL;
    size_t count = 0, capacity = 0;
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    for (;;) {
        if (count == capacity) {
            capacity = capacity == 0 ? 64 : capacity * 2;
            events = realloc(events, capacity * sizeof *events);
            assert_non_null(events);
        }
        if (tbed_cursor_next(cursor, &events[count]) != TBED_OK)
            break;
        count++;
    }
    tbed_cursor_close(cursor);
    *count_ret = count;
    return events;
}

uint32_t test_stream_named(struct tbed_reader *reader, const char *name)
{
    struct tbed_stream_info info;
    char text[64];
    size_t nbytes;
    uint32_t found = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        if (name != NULL &&
            (tbed_string_resolve(reader, info.name_id, text, sizeof text, &nbytes) != TBED_OK ||
             strcmp(text, name) != 0))
            continue;
        if (info.kind == TBED_STREAM_HANDLERS)
            continue;
        assert_int_equal(found, 0);
        found = info.stream;
    }
    assert_int_not_equal(found, 0);
    return found;
}

uint32_t test_next_stream_of_handlers(struct tbed_reader *reader, uint32_t before)
{
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++)
        if (info.kind == TBED_STREAM_HANDLERS && info.stream > before)
            return info.stream;
    return 0;
}

void assert_text(struct tbed_reader *reader, uint32_t id, const char *text)
{
    char buffer[4096];
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, id, buffer, sizeof buffer, &nbytes), TBED_OK);
    assert_string_equal(buffer, text);
    assert_int_equal(nbytes, strlen(text));
}

uint64_t test_drop_count(const struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    uint64_t count = 0;
    tbed_reader_info(reader, &info);
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        count += info.drops[cause];
    return count;
}
