/*
 * Facts about a trace that several commands print alike: names in JSON, and drops.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <stdio.h>
#include <stdlib.h>

#define FRAMES_MAX 64

void tool_json_file(struct tbed_json *json, const char *path, const struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    tbed_json_string(json, "file", tool_path(path));
    tbed_json_string(json, "tick_unit", info.clock == TBED_CLOCK_USER ? info.clock_unit : NULL);
}

void tool_json_name(struct tbed_json *json, const char *key, struct tbed_reader *reader, uint32_t id)
{
    struct tbed_name name;
    struct tool_buffer whole = {0};
    enum tbed_status status = tbed_name_get(reader, id, &name);
    if (status == TBED_ERR_CACHE_FULL || status == TBED_ERR_MEMORY) {
        status = tool_append_whole_name(&whole, reader, id);
        name = (struct tbed_name){.text = whole.bytes, .nbytes = whole.nbytes};
    }
    if (status == TBED_OK)
        tbed_json_text(json, key, name.text, name.nbytes);
    else
        tbed_json_null(json, key);
    free(whole.bytes);
}

static void put_known(struct tbed_json *json, const char *key, const char *text)
{
    if (text != NULL)
        tbed_json_string(json, key, text);
}

/* Known fields besides the name. */
static void put_info(struct tbed_json *json, const struct tbed_id_info *info)
{
    put_known(json, "function", info->function);
    put_known(json, "file", info->file);
    if (info->line != 0)
        tbed_json_u64(json, "line", info->line);
    put_known(json, "module", info->module);
}

static void put_details(struct tbed_json *json, const struct tbed_reader *reader, uint32_t id,
                        enum tbed_name_part part)
{
    struct tbed_id_info info;
    struct tbed_frame frames[FRAMES_MAX];
    if (id == TBED_ID_INVALID || !tbed_id_resolve(reader, id, &info))
        return;
    if (part == TBED_NAME_FUNCTION && info.frame_count > 1 && info.frame_count <= FRAMES_MAX) {
        const struct tbed_frame *outer = &frames[tbed_id_frames(reader, id, frames, FRAMES_MAX) - 1];
        info.function = outer->function;
        info.file = outer->file;
    }
    if (part == TBED_NAME_MODULE)
        info.function = info.file = NULL;
    if (part != TBED_NAME_ALL)
        info.line = 0;
    put_info(json, &info);
}

void tool_json_known_name(struct tbed_json *json, const char *name, size_t nbytes,
                          const struct tbed_id_info *info)
{
    tbed_json_text(json, "name", name, nbytes);
    put_info(json, info);
}

void tool_json_named(struct tbed_json *json, struct tbed_reader *reader, uint32_t id)
{
    tool_json_name(json, "name", reader, id);
    put_details(json, reader, id, TBED_NAME_ALL);
}

void tool_json_row_name(struct tbed_json *json, struct tbed_reader *reader, uint32_t id,
                        enum tbed_name_part part, const char *name, size_t nbytes)
{
    tbed_json_text(json, "name", name, nbytes);
    put_details(json, reader, id, part);
}

void tool_json_event_name(struct tbed_json *json, struct tbed_reader *reader, uint32_t id, const char *name,
                          size_t nbytes)
{
    size_t at = tool_label_nbytes(name, nbytes);
    tool_json_row_name(json, reader, id, TBED_NAME_ALL, name, at);
    if (at == nbytes)
        return;
    tbed_json_array_open(json, "arguments");
    while (at < nbytes) {
        size_t part = tool_label_nbytes(name + at + 1, nbytes - at - 1);
        tbed_json_text(json, NULL, name + at + 1, part);
        at += 1 + part;
    }
    tbed_json_array_close(json);
}

/* Causes that this version knows have names, later ones numbers. */
static const char *drop_key(unsigned cause, char buffer[32])
{
    static const char *const keys[] = {"disk_full", "size_limit", "no_memory", "interrupted", "ids_exhausted",
                                       "too_large", "closed",     "io_error",  "sandbox"};
    if (cause < sizeof keys / sizeof keys[0])
        return keys[cause];
    snprintf(buffer, 32, "cause_%u", cause);
    return buffer;
}

void tool_tell_texts_left_out(const char *path, uint64_t count)
{
    char figure[32];
    if (count == 0)
        return;
    fflush(stdout);
    tool_complain(
        "%s: %s long text%s left out: all text over 2 KiB may take four times the file's size, at least "
        "64 MiB and at most 1 GiB",
        tool_path(path), tool_format_count(figure, count), count == 1 ? " was" : "s were");
}

void tool_json_texts_left_out(struct tbed_json *json, uint64_t count)
{
    if (count > 0)
        tbed_json_u64(json, "texts_left_out", count);
}

void tool_json_end_lines(const struct tbed_reader *reader)
{
    struct tbed_json json = {.out = stdout};
    uint64_t count = tbed_reader_texts_left_out(reader);
    if (count == 0)
        return;
    tbed_json_object_open(&json, NULL);
    tool_json_texts_left_out(&json, count);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

void tool_json_drops(struct tbed_json *json, const char *key, const uint64_t drops[TBED_DROP_CAUSE_COUNT])
{
    char buffer[32];
    tbed_json_object_open(json, key);
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        if (drops[cause] != 0)
            tbed_json_u64(json, drop_key(cause, buffer), drops[cause]);
    tbed_json_object_close(json);
}

uint64_t tool_drops_total(const uint64_t drops[TBED_DROP_CAUSE_COUNT])
{
    uint64_t total = 0;
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        if (__builtin_add_overflow(total, drops[cause], &total))
            return UINT64_MAX;
    return total;
}

void tool_print_drops(FILE *out, const uint64_t drops[TBED_DROP_CAUSE_COUNT])
{
    const char *separator = "";
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++) {
        char figure[32];
        if (drops[cause] == 0)
            continue;
        fprintf(out, "%s%s %s", separator, tool_format_count(figure, drops[cause]),
                tbed_drop_cause_text(cause));
        separator = ", ";
    }
}

const char *tool_drop_reason(unsigned cause)
{
    static const char *const reasons[] = {
        [TBED_DROP_DISK_FULL] = "the disk was full: free some space, or record to another disk",
        [TBED_DROP_SIZE_LIMIT] = "the file reached its size limit: raise the limit (also of 'ulimit -f' and "
                                 "'ulimit -v'), or record for a shorter time",
        [TBED_DROP_NO_MEMORY] = "the traced program ran out of memory or address space",
        [TBED_DROP_INTERRUPTED] = "a signal handler interrupted the recorder at a lock, or a writer was "
                                  "killed in the middle of a record",
        [TBED_DROP_IDS_EXHAUSTED] = "all ids are in use: record fewer distinct names",
        [TBED_DROP_TOO_LARGE] = "a record did not fit in a page: use larger pages or shorter texts",
        [TBED_DROP_CLOSED] = "threads kept recording after the writer was closed",
        [TBED_DROP_IO_ERROR] = "the file could not be extended or mapped: see the system log",
        [TBED_DROP_SANDBOX] =
            ("the program was in a sandbox, where the recorder makes no system calls: all pages "
             "prepared beforehand were full, or the clock was off"),
    };
    return cause < sizeof reasons / sizeof reasons[0] ? reasons[cause] : NULL;
}
