/*
 * Reads what uftrace's data directory says besides the records: 'info', 'task.txt', and which threads have a file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/uftrace/uftrace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFO_HEADER_NBYTES 40u
#define NS_PER_S           UINT64_C(1000000000)
#define TASKS_MAX          65536u

/* ---- Texts ---- */

/* The rest of a line that starts with 'key'. */
static bool take_key(const struct uftrace_text *line, const char *key, struct uftrace_text *rest_ret)
{
    size_t nbytes = strlen(key);
    if (line->nbytes < nbytes || memcmp(line->at, key, nbytes) != 0)
        return false;
    *rest_ret = (struct uftrace_text){line->at + nbytes, line->nbytes - nbytes};
    return true;
}

/* The value of " key=value" or " key="value"" in a line; empty if it has none. */
static struct uftrace_text value_of(const struct uftrace_text *line, const char *key)
{
    size_t nbytes = strlen(key);
    const char *end = line->at + line->nbytes;
    for (const char *at = line->at; (size_t)(end - at) > nbytes + 1; at++) {
        if (*at != ' ' || memcmp(at + 1, key, nbytes) != 0 || at[nbytes + 1] != '=')
            continue;
        const char *value = at + nbytes + 2;
        bool is_quoted = value < end && *value == '"';
        value += is_quoted;
        const char *stop = memchr(value, is_quoted ? '"' : ' ', (size_t)(end - value));
        return (struct uftrace_text){value, (size_t)((stop != NULL ? stop : end) - value)};
    }
    return (struct uftrace_text){"", 0};
}

static uint64_t number_of(const struct uftrace_text *text, size_t from, int base)
{
    char digits[32];
    size_t nbytes = text->nbytes > from ? text->nbytes - from : 0;
    nbytes = nbytes < sizeof digits - 1 ? nbytes : sizeof digits - 1;
    memcpy(digits, text->at + (nbytes > 0 ? from : 0), nbytes);
    digits[nbytes] = '\0';
    return strtoull(digits, NULL, base);
}

/* "SECONDS.NANOSECONDS". */
static uint64_t time_of(const struct uftrace_text *line)
{
    struct uftrace_text text = value_of(line, "timestamp");
    const char *point = text.nbytes > 0 ? memchr(text.at, '.', text.nbytes) : NULL;
    uint64_t seconds = number_of(&text, 0, 10);
    uint64_t ns = point != NULL ? number_of(&text, (size_t)(point + 1 - text.at), 10) : 0;
    return seconds > UINT64_MAX / NS_PER_S - 1 ? 0 : seconds * NS_PER_S + ns % NS_PER_S;
}

/* ---- info ---- */

static void read_info(struct uftrace *folder)
{
    const uint8_t *header = folder->info_file.bytes;
    struct uftrace_text text = {(const char *)header + INFO_HEADER_NBYTES,
                                folder->info_file.nbytes - INFO_HEADER_NBYTES};
    struct uftrace_text line, rest;
    folder->version = uftrace_load_u32(header + 8);
    folder->is_32_bit = header[15] == 1;
    while (tbed_uftrace_line(&text, &line)) {
        if (take_key(&line, "argspec:lines=", &rest))
            continue;
        if (take_key(&line, "argspec:", &rest))
            folder->argument_specs = rest;
        else if (take_key(&line, "retspec:", &rest))
            folder->return_specs = rest;
        else if (take_key(&line, "argauto:", &rest))
            folder->auto_argument_specs = rest;
        else if (take_key(&line, "retauto:", &rest))
            folder->auto_return_specs = rest;
        else if (take_key(&line, "auto-args:", &rest))
            folder->has_auto_arguments = rest.nbytes > 0 && rest.at[0] == '1';
        else if (take_key(&line, "cmdline:", &rest))
            folder->command = rest;
        else if (take_key(&line, "exename:", &rest))
            folder->program = rest;
        else if (take_key(&line, "record_date:", &rest))
            folder->date = rest;
    }
}

/* ---- task.txt ---- */

static struct uftrace_task *task_find(struct uftrace *folder, uint32_t tid)
{
    for (size_t i = 0; i < folder->tasks.count; i++)
        if (folder->tasks.items[i].tid == tid)
            return &folder->tasks.items[i];
    return NULL;
}

static void task_add(struct uftrace *folder, uint32_t tid, uint32_t pid, uint32_t parent)
{
    struct uftrace_task *task = task_find(folder, tid);
    if (task == NULL && folder->tasks.count < TASKS_MAX) {
        task = TBED_VECTOR_PUSH(&folder->tasks);
        folder->is_out_of_memory |= task == NULL;
    }
    if (task == NULL)
        return;
    task->tid = tid;
    task->pid = pid;
    task->parent = parent != 0 ? parent : task->parent;
}

static void add_session(struct uftrace *folder, const struct uftrace_text *line)
{
    struct uftrace_text pid = value_of(line, "pid");
    struct uftrace_session *session =
        folder->sessions.count < TASKS_MAX ? TBED_VECTOR_PUSH(&folder->sessions) : NULL;
    if (session == NULL) {
        folder->is_out_of_memory |= folder->sessions.count < TASKS_MAX;
        return;
    }
    session->sid = value_of(line, "sid");
    session->program = value_of(line, "exename");
    session->pid = (uint32_t)number_of(&pid, 0, 10);
    session->time = time_of(line);
    tbed_uftrace_map_session(folder, session);
}

static void add_library(struct uftrace *folder, const struct uftrace_text *line)
{
    struct uftrace_text sid = value_of(line, "sid"), base = value_of(line, "base");
    struct uftrace_text path = value_of(line, "libname");
    for (size_t i = 0; i < folder->sessions.count; i++) {
        struct uftrace_session *session = &folder->sessions.items[i];
        if (session->sid.nbytes == sid.nbytes && memcmp(session->sid.at, sid.at, sid.nbytes) == 0)
            tbed_uftrace_load_library(folder, session, &path, number_of(&base, 0, 16), time_of(line));
    }
}

static void read_tasks(struct uftrace *folder)
{
    struct uftrace_text text = {(const char *)folder->task_file.bytes, folder->task_file.nbytes};
    struct uftrace_text line, rest;
    while (!folder->is_out_of_memory && tbed_uftrace_line(&text, &line)) {
        struct uftrace_text tid = value_of(&line, "tid"), pid = value_of(&line, "pid");
        struct uftrace_text parent = value_of(&line, "ppid");
        uint32_t pid_number = (uint32_t)number_of(&pid, 0, 10);
        if (take_key(&line, "SESS", &rest))
            add_session(folder, &line);
        else if (take_key(&line, "TASK", &rest))
            task_add(folder, (uint32_t)number_of(&tid, 0, 10), pid_number, 0);
        else if (take_key(&line, "FORK", &rest))
            task_add(folder, pid_number, pid_number, (uint32_t)number_of(&parent, 0, 10));
        else if (take_key(&line, "DLOP", &rest))
            add_library(folder, &line);
        else if (line.nbytes > 0)
            tbed_import_damaged(folder->report, TBED_ERR_FOREIGN_RECORD,
                                tbed_import_file(folder->report, "task.txt"),
                                (uint64_t)(line.at - (const char *)folder->task_file.bytes), 0);
    }
}

/* ---- Other files ---- */

/* Whether it is "NUMBER.dat"; 0: it is not. */
static uint32_t tid_of(const char *name)
{
    char *end;
    if (!isdigit((unsigned char)name[0]))
        return 0;
    unsigned long tid = strtoul(name, &end, 10);
    return strcmp(end, ".dat") == 0 && tid <= UINT32_MAX ? (uint32_t)tid : 0;
}

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* A file of perf's records: each has a u32, a u16, and its u16 length. */
static void count_perf(struct uftrace *folder, const char *name)
{
    struct mapped_file file;
    tbed_uftrace_map(folder, name, &file);
    for (size_t at = 0; file.nbytes - at >= 8;) {
        size_t nbytes = file.bytes[at + 6] | (size_t)file.bytes[at + 7] << 8;
        if (nbytes < 8 || nbytes > file.nbytes - at)
            break;
        folder->report->notes[TBED_IMPORT_NOTE_SCHEDULER]++;
        at += nbytes;
    }
    tbed_mapped_file_close(&file);
}

static void look_at_file(struct uftrace *folder, const char *name)
{
    uint32_t tid = tid_of(name);
    if (tid != 0 && task_find(folder, tid) == NULL)
        task_add(folder, tid, tid, 0); /* of a thread that task.txt has lost */
    if (tid != 0 && task_find(folder, tid) != NULL)
        task_find(folder, tid)->has_file = true;
    if (starts_with(name, "perf-cpu"))
        count_perf(folder, name);
    folder->report->notes[TBED_IMPORT_NOTE_KERNEL] += starts_with(name, "kernel-cpu");
    folder->report->notes[TBED_IMPORT_NOTE_UNKNOWN] += strcmp(name, "extern.dat") == 0;
}

static int compare_tasks(const void *left, const void *right)
{
    uint32_t a = ((const struct uftrace_task *)left)->tid, b = ((const struct uftrace_task *)right)->tid;
    return (a > b) - (a < b);
}

static void look_at_files(struct uftrace *folder)
{
    DIR *directory = opendir(folder->path);
    struct dirent *entry;
    folder->is_out_of_memory |= directory == NULL && errno == ENOMEM;
    if (directory == NULL) {
        tbed_import_damaged(folder->report, TBED_ERR_FOREIGN_FILE, tbed_import_file(folder->report, "."),
                            UINT64_MAX, 0);
        return;
    }
    while (!folder->is_out_of_memory && (entry = readdir(directory)) != NULL)
        look_at_file(folder, entry->d_name);
    closedir(directory);
    if (folder->tasks.count > 1)
        qsort(folder->tasks.items, folder->tasks.count, sizeof *folder->tasks.items, compare_tasks);
}

void tbed_uftrace_read(struct uftrace *folder)
{
    read_info(folder);
    if (!tbed_uftrace_map(folder, "task.txt", &folder->task_file))
        tbed_import_damaged(folder->report, TBED_ERR_FOREIGN_FILE,
                            tbed_import_file(folder->report, "task.txt"), UINT64_MAX, 0);
    read_tasks(folder);
    look_at_files(folder);
}

void tbed_uftrace_free(struct uftrace *folder)
{
    for (size_t i = 0; i < folder->sessions.count; i++) {
        tbed_mapped_file_close(&folder->sessions.items[i].map_file);
        tbed_vector_free(&folder->sessions.items[i].mappings.vector);
    }
    for (size_t i = 0; i < folder->modules.count; i++) {
        tbed_mapped_file_close(&folder->modules.items[i].symbol_file);
        tbed_mapped_file_close(&folder->modules.items[i].debug_file);
        tbed_vector_free(&folder->modules.items[i].symbols.vector);
    }
    tbed_vector_free(&folder->tasks.vector);
    tbed_vector_free(&folder->sessions.vector);
    tbed_vector_free(&folder->modules.vector);
    tbed_mapped_file_close(&folder->task_file);
}
