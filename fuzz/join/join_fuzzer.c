/*
 * Joins any file to record into it or to annotate it. The writer must stay within the file, and everything it adds to
 * an intact trace must be readable or counted as dropped, even if a killed writer left the trace open with bytes after
 * its last page.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/writer.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

static uint64_t count_drops(const struct tbed_writer *writer)
{
    uint64_t count = 0;
    for (int cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        count += tbed_writer_drop_count(writer, (enum tbed_drop_cause)cause);
    return count;
}

/* Joins the trace and adds a text. Returns its id, or INVALID if there was no room for it. */
static uint32_t add(const char *path, bool annotate)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .join = true,
                                          .annotate = annotate,
                                          .no_helper = true,
                                          .max_file_nbytes = 1 << 20};
    struct tbed_writer *writer;
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        return TBED_ID_INVALID;
    uint64_t drops = count_drops(writer);
    uint32_t id = tbed_string_intern(writer, "added", 5);
    tbed_id_bind(writer, tbed_id_reserve(writer, 1), 1, id);
    struct tbed_recorder *recorder = annotate ? NULL : tbed_recorder_open(writer, "joined");
    for (int i = 0; recorder != NULL && i < 300; i++) { /* more than a page */
        tbed_span_begin(recorder, id);
        tbed_span_end(recorder);
    }
    if (count_drops(writer) > drops)
        id = TBED_ID_INVALID;
    tbed_writer_free(writer);
    return id;
}

/* Only the closing checksum protects the counters. */
static bool is_intact(const char *path)
{
    struct tbed_trace_info info;
    struct tbed_reader *reader;
    if (tbed_reader_open(path, NULL, &reader, NULL) != TBED_OK)
        return false;
    tbed_reader_info(reader, &info);
    bool is_intact = tbed_reader_verify(reader) == TBED_OK && info.shut;
    tbed_reader_close(reader);
    return is_intact;
}

/* Does what a power cut may: the file stays open, and 'bytes' follow its pages as if the claim of a page was lost. */
static void leave_open(const char *path, const uint8_t *bytes, size_t nbytes)
{
    FILE *trace = fopen(path, "r+b");
    REQUIRE(trace != NULL && fseek(trace, 608, SEEK_SET) == 0 && fwrite("open", 1, 4, trace) == 4);
    REQUIRE(fseek(trace, 0, SEEK_END) == 0 && fwrite(bytes, 1, nbytes, trace) == nbytes &&
            fclose(trace) == 0);
}

static void check(const char *path, uint32_t id)
{
    struct tbed_reader *reader;
    char text[16];
    size_t text_nbytes;
    REQUIRE(tbed_reader_open(path, NULL, &reader, NULL) == TBED_OK);
    REQUIRE(tbed_string_resolve(reader, id, text, sizeof text, &text_nbytes) == TBED_OK);
    REQUIRE(strcmp(text, "added") == 0);
    walk_everything(reader); /* a page that seemed to be still beginning may count as damage now */
    tbed_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    const char *path = scratch_path("trace");
    for (int way = 0; nbytes > 0 && way < 4; way++) { /* an empty file would make it wait for a creator */
        scratch_put(path, data, nbytes);
        bool was_intact = is_intact(path);
        if (was_intact && way >= 2)
            leave_open(path, data + nbytes / 2, nbytes / 8);
        uint32_t id = was_intact || way < 2 ? add(path, way % 2 != 0) : TBED_ID_INVALID;
        if (was_intact && id != TBED_ID_INVALID)
            check(path, id);
    }
    return 0;
}
