/*
 * name: all that is known of an id; source: the lines around the place that it names.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/view/answers/answers.h"

#include "reader/core/system/regular_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_AROUND    10
#define LINE_NBYTES_MAX 1000
#define FILE_NBYTES_MAX (UINT64_C(16) << 20) /* lines beyond are not looked for */

static void put_known(struct answer *answer, const char *key, const char *text)
{
    tbed_json_string(&answer->json, key, text);
}

void answer_place(struct answer *answer, uint32_t id)
{
    struct tbed_id_info info;
    bool is_known = id != TBED_ID_INVALID && tbed_id_resolve(answer->trace->reader, id, &info);
    put_known(answer, "function", is_known ? info.function : NULL);
    put_known(answer, "file", is_known ? info.file : NULL);
    tbed_json_u64(&answer->json, "line", is_known ? info.line : 0);
    put_known(answer, "module", is_known ? info.module : NULL);
}

enum answer_status answer_name_of(struct answer *answer)
{
    uint64_t id;
    if (!request_need_number(answer->request, "id", TBED_ID_MAX, &id))
        return ANSWER_BAD;
    tbed_json_object_open(&answer->json, NULL);
    tool_json_name(&answer->json, "name", answer->trace->reader, (uint32_t)id);
    answer_place(answer, (uint32_t)id);
    tbed_json_object_close(&answer->json);
    return ANSWER_OK;
}

/* ---- Source lines ---- */

static void put_line(struct answer *answer, const char *line, size_t nbytes)
{
    if (nbytes > 0 && line[nbytes - 1] == '\n')
        nbytes--;
    tbed_json_text(&answer->json, NULL, line, nbytes < LINE_NBYTES_MAX ? nbytes : LINE_NBYTES_MAX);
}

/* Writes the lines around 'line'. Returns false if the file does not have that many. */
static bool put_lines(struct answer *answer, FILE *file, uint64_t line)
{
    uint64_t first = line > LINES_AROUND ? line - LINES_AROUND : 1, read = 0, at = 0;
    char *text = NULL;
    size_t room = 0;
    ssize_t nbytes;
    tbed_json_u64(&answer->json, "first", first);
    tbed_json_array_open(&answer->json, "lines");
    while (at < line + LINES_AROUND && read < FILE_NBYTES_MAX && (nbytes = getline(&text, &room, file)) > 0) {
        read += (uint64_t)nbytes;
        if (++at >= first)
            put_line(answer, text, (size_t)nbytes);
    }
    tbed_json_array_close(&answer->json);
    free(text);
    return at >= line;
}

static FILE *open_source(const char *path)
{
    struct stat status;
    int fd = -1;
    if (path[0] != '/' || tbed_regular_open(path, &fd) != TBED_OK)
        return NULL;
    FILE *file =
        fstat(fd, &status) == 0 && (uint64_t)status.st_size <= FILE_NBYTES_MAX ? fdopen(fd, "r") : NULL;
    if (file == NULL)
        close(fd);
    return file;
}

enum answer_status answer_source(struct answer *answer)
{
    uint64_t id;
    struct tbed_id_info info;
    if (!request_need_number(answer->request, "id", TBED_ID_MAX, &id))
        return ANSWER_BAD;
    if (!tbed_id_resolve(answer->trace->reader, (uint32_t)id, &info) || info.file == NULL || info.line == 0)
        return answer_refuse(answer, ANSWER_NONE, "the trace does not say where this is in the source");
    FILE *file = open_source(info.file);
    tbed_json_object_open(&answer->json, NULL);
    tbed_json_string(&answer->json, "file", info.file);
    tbed_json_u64(&answer->json, "line", info.line);
    bool has_line = file == NULL || put_lines(answer, file, info.line);
    if (file == NULL) { /* it is on another machine, for example: nothing is wrong with the request */
        tbed_json_array_open(&answer->json, "lines");
        tbed_json_array_close(&answer->json);
    }
    tbed_json_object_close(&answer->json);
    if (file != NULL)
        fclose(file);
    return has_line ? ANSWER_OK : answer_refuse(answer, ANSWER_NONE, "the source file has no such line");
}
