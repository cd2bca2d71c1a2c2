/*
 * Which files a connection has open. A file stays open when its last virtual table is gone, until another one is opened,
 * because SQLite drops and connects virtual tables when a schema changes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

#define MEMORY_MAX ((size_t)88 << 20)

struct sql_context *sql_context_new(const bool *is_cancelled)
{
    struct sql_context *context = calloc(1, sizeof *context);
    if (context != NULL)
        *context = (struct sql_context){
            .reference_count = 1, .is_cancelled = is_cancelled, .memory_max = MEMORY_MAX};
    return context;
}

void sql_context_limit(struct sql_context *context, size_t nbytes)
{
    context->memory_max = nbytes;
}

static void file_free(struct sql_file *file)
{
    tbed_tables_close(file->tables);
    sql_names_free(&file->names);
    free(file->path);
    free(file);
}

void sql_context_release(struct sql_context *context)
{
    if (context == NULL || --context->reference_count > 0)
        return;
    for (size_t i = 0; i < context->file_count; i++)
        file_free(context->files[i]);
    free(context->files);
    free(context);
}

static struct sql_file *find(const struct sql_context *context, const char *path)
{
    for (size_t i = 0; i < context->file_count; i++)
        if (strcmp(context->files[i]->path, path) == 0)
            return context->files[i];
    return NULL;
}

enum tbed_status sql_context_add(struct sql_context *context, const char *path, struct tbed_tables *tables)
{
    struct sql_file *file = calloc(1, sizeof *file);
    char *own_path = strdup(path);
    struct sql_file **grown = realloc(context->files, (context->file_count + 1) * sizeof *context->files);
    if (grown != NULL)
        context->files = grown;
    if (file == NULL || own_path == NULL || grown == NULL) {
        free(file);
        free(own_path);
        return TBED_ERR_MEMORY;
    }
    *file = (struct sql_file){.path = own_path, .tables = tables};
    context->files[context->file_count++] = file;
    return TBED_OK;
}

/* Closes those that were detached. */
static void close_unused(struct sql_context *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < context->file_count; i++)
        if (context->files[i]->use_count > 0)
            context->files[kept++] = context->files[i];
        else
            file_free(context->files[i]);
    context->file_count = kept;
}

static enum tbed_status open_file(struct sql_context *context, const char *path, struct tbed_error *error)
{
    struct tbed_tables *tables;
    enum tbed_status status = tbed_tables_open(path, &tables, error);
    if (status != TBED_OK)
        return status;
    status = sql_context_add(context, path, tables);
    if (status != TBED_OK) {
        tbed_tables_close(tables);
        *error = (struct tbed_error){.status = status, .offset = UINT64_MAX};
    }
    return status;
}

enum tbed_status sql_context_open(struct sql_context *context, const char *path, struct tbed_error *error_ret)
{
    return find(context, path) != NULL ? TBED_OK : open_file(context, path, error_ret);
}

char *sql_open_message(const char *path, const struct tbed_error *error)
{
    if (error->offset == UINT64_MAX)
        return sqlite3_mprintf("%s: %s", path, tbed_status_text(error->status));
    return sqlite3_mprintf("%s: offset %lld: %s", path, (long long)error->offset,
                           tbed_status_text(error->status));
}

struct tbed_tables *sql_context_get(const struct sql_context *context, size_t index, const char **path_ret)
{
    if (index >= context->file_count)
        return NULL;
    *path_ret = context->files[index]->path;
    return context->files[index]->tables;
}

struct sql_file *sql_file_use(struct sql_context *context, const char *path, struct tbed_error *error_ret)
{
    struct sql_file *file = find(context, path);
    if (file == NULL) {
        close_unused(context);
        if (open_file(context, path, error_ret) != TBED_OK)
            return NULL;
        file = context->files[context->file_count - 1];
    }
    file->use_count++;
    return file;
}

#endif
