/*
 * A scan as a stream of Arrow; see tracebed/arrow.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/arrow/arrow_array.h"
#include "reader/tables/arrow/arrow_schema.h"
#include "reader/tables/base/table.h"

#include <errno.h>

struct arrow_stream {
    struct tbed_scan *scan;
    struct arrow_texts *names; /* the newest */
    const char *problem;       /* of the last call; NULL: none */
    bool has_ended;
};

static int fail(struct arrow_stream *stream, int problem)
{
    stream->problem = problem == ENOMEM      ? "out of memory"
                      : problem == ECANCELED ? "cancelled"
                      : problem == EOVERFLOW ? "more than 2 GiB of text in a batch"
                                             : "cannot read the table";
    return problem;
}

static const struct tbed_table *table_of(const struct arrow_stream *stream)
{
    return &stream->scan->source->about;
}

static int get_schema(struct ArrowArrayStream *arrow, struct ArrowSchema *schema)
{
    struct arrow_stream *stream = arrow->private_data;
    stream->problem = NULL;
    if (tbed_arrow_schema_make(table_of(stream), stream->scan->options.columns, schema))
        return 0;
    return fail(stream, ENOMEM);
}

/* ---- Batches ---- */

static void release_batch(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    free(array->private_data);
    array->release = NULL;
}

/* The dictionary, made again if the scan has met new names. */
static int refresh_names(struct arrow_stream *stream)
{
    if (stream->names != NULL && stream->names->count == tbed_scan_name_count(stream->scan))
        return 0;
    struct arrow_texts *names = tbed_arrow_texts_make(stream->scan);
    if (names == NULL)
        return errno;
    tbed_arrow_texts_release(stream->names);
    stream->names = names;
    return 0;
}

static int add_column(struct arrow_stream *stream, size_t index, const struct tbed_batch *batch,
                      struct ArrowArray *array)
{
    struct ArrowArray *child = calloc(1, sizeof *child);
    if (child == NULL)
        return ENOMEM;
    array->children[array->n_children++] = child;
    return tbed_arrow_column_make(&table_of(stream)->columns[index], &batch->columns[index], batch->row_count,
                                  stream->names, child);
}

static int make_batch(struct arrow_stream *stream, const struct tbed_batch *batch, struct ArrowArray *array)
{
    const struct tbed_table *table = table_of(stream);
    int problem = refresh_names(stream);
    if (problem != 0)
        return problem;
    *array =
        (struct ArrowArray){.length = (int64_t)batch->row_count, .n_buffers = 1, .release = release_batch};
    array->private_data = array->buffers = calloc(1, sizeof *array->buffers);
    array->children = malloc((table->column_count + 1) * sizeof *array->children);
    problem = array->buffers != NULL && array->children != NULL ? 0 : ENOMEM;
    for (size_t i = 0; i < table->column_count && problem == 0; i++)
        if ((stream->scan->options.columns >> i & 1) != 0)
            problem = add_column(stream, i, batch, array);
    if (problem != 0)
        release_batch(array);
    return problem;
}

static int get_next(struct ArrowArrayStream *arrow, struct ArrowArray *array)
{
    struct arrow_stream *stream = arrow->private_data;
    struct tbed_batch batch;
    *array = (struct ArrowArray){0};
    stream->problem = NULL;
    enum tbed_status status = stream->has_ended ? TBED_END : tbed_scan_next(stream->scan, &batch);
    stream->has_ended = status != TBED_OK;
    if (status == TBED_END)
        return 0;
    if (status != TBED_OK)
        return fail(stream, status == TBED_ERR_CANCELLED ? ECANCELED : ENOMEM);
    int problem = make_batch(stream, &batch, array);
    return problem == 0 ? 0 : fail(stream, problem);
}

/* ---- The stream ---- */

static const char *get_last_error(struct ArrowArrayStream *arrow)
{
    struct arrow_stream *stream = arrow->private_data;
    return stream->problem;
}

static void release(struct ArrowArrayStream *arrow)
{
    struct arrow_stream *stream = arrow->private_data;
    tbed_arrow_texts_release(stream->names);
    tbed_scan_close(stream->scan);
    free(stream);
    arrow->release = NULL;
}

enum tbed_status tbed_scan_arrow(struct tbed_scan *scan, struct ArrowArrayStream *arrow)
{
    struct arrow_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return TBED_ERR_MEMORY;
    stream->scan = scan;
    *arrow = (struct ArrowArrayStream){.get_schema = get_schema,
                                       .get_next = get_next,
                                       .get_last_error = get_last_error,
                                       .release = release,
                                       .private_data = stream};
    return TBED_OK;
}
