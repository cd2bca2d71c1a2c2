/*
 * Arrays of Arrow that own what they point to; see arrow_array.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/arrow/arrow_array.h"

#include "reader/tables/base/clean_text.h"
#include "reader/tables/base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a column points to. Arrays are released one by one, so that each owns its own. */
struct arrow_column {
    const void *buffers[3];
    void *validity, *values;
    struct tbed_text text;
    struct ArrowArray dictionary;
};

/* ---- Dictionaries ---- */

static bool put_name(const struct tbed_scan *scan, uint32_t code, struct tbed_text *bytes)
{
    const char *text;
    size_t nbytes;
    tbed_scan_name(scan, code, &text, &nbytes);
    tbed_text_put_clean(bytes, text, nbytes);
    return !bytes->is_out_of_memory;
}

struct arrow_texts *tbed_arrow_texts_make(const struct tbed_scan *scan)
{
    uint32_t count = tbed_scan_name_count(scan);
    struct arrow_texts *texts = calloc(1, sizeof *texts);
    struct tbed_text bytes = {0};
    int32_t *offsets = malloc(((size_t)count + 1) * sizeof *offsets);
    bool is_whole = texts != NULL && offsets != NULL && tbed_text_reserve(&bytes, 1);
    errno = ENOMEM;
    for (uint32_t i = 0; i < count && is_whole; i++) {
        offsets[i] = (int32_t)bytes.nbytes;
        is_whole = put_name(scan, i, &bytes);
        if (bytes.nbytes > INT32_MAX) {
            errno = EOVERFLOW;
            is_whole = false;
        }
    }
    if (!is_whole) {
        int problem = errno;
        free(offsets);
        free(bytes.bytes);
        free(texts);
        errno = problem;
        return NULL;
    }
    offsets[count] = (int32_t)bytes.nbytes;
    *texts = (struct arrow_texts){.users = 1, .count = count, .offsets = offsets, .bytes = bytes.bytes};
    return texts;
}

void tbed_arrow_texts_release(struct arrow_texts *texts)
{
    if (texts == NULL || __atomic_sub_fetch(&texts->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(texts->offsets);
    free(texts->bytes);
    free(texts);
}

struct arrow_dictionary {
    const void *buffers[3];
    struct arrow_texts *texts;
};

static void release_dictionary(struct ArrowArray *array)
{
    struct arrow_dictionary *dictionary = array->private_data;
    tbed_arrow_texts_release(dictionary->texts);
    free(dictionary);
    array->release = NULL;
}

static bool make_dictionary(struct arrow_texts *texts, struct ArrowArray *array)
{
    struct arrow_dictionary *dictionary = malloc(sizeof *dictionary);
    if (dictionary == NULL)
        return false;
    __atomic_add_fetch(&texts->users, 1, __ATOMIC_RELAXED);
    *dictionary = (struct arrow_dictionary){.buffers = {NULL, texts->offsets, texts->bytes}, .texts = texts};
    *array = (struct ArrowArray){.length = texts->count,
                                 .n_buffers = 3,
                                 .buffers = dictionary->buffers,
                                 .release = release_dictionary,
                                 .private_data = dictionary};
    return true;
}

/* ---- Columns ---- */

static void free_column(struct arrow_column *column)
{
    if (column->dictionary.release != NULL)
        column->dictionary.release(&column->dictionary);
    free(column->validity);
    free(column->values);
    free(column->text.bytes);
    free(column);
}

static void release_column(struct ArrowArray *array)
{
    free_column(array->private_data);
    array->release = NULL;
}

/* Arrow's bits say which rows have a value; they are bytes, so that they are the same on every machine. */
static bool copy_nulls(const uint64_t *nulls, size_t row_count, struct arrow_column *column,
                       int64_t *null_count)
{
    if (nulls == NULL)
        return true;
    size_t nbytes = (row_count + 7) / 8;
    uint8_t *validity = malloc(nbytes + 1);
    if (validity == NULL)
        return false;
    for (size_t i = 0; i < nbytes; i++) {
        validity[i] = (uint8_t) ~(nulls[i / 8] >> i % 8 * 8);
        if (i + 1 == nbytes && row_count % 8 != 0)
            validity[i] &= (uint8_t)((1u << row_count % 8) - 1);
        *null_count -= __builtin_popcount(validity[i]);
    }
    *null_count += (int64_t)row_count;
    column->validity = validity;
    return true;
}

static int copy_texts(const struct tbed_column_values *values, size_t row_count, struct arrow_column *column)
{
    int32_t *offsets = malloc((row_count + 1) * sizeof *offsets);
    column->values = offsets;
    if (offsets == NULL || !tbed_text_reserve(&column->text, 1))
        return ENOMEM;
    for (size_t i = 0; i < row_count; i++) {
        offsets[i] = (int32_t)column->text.nbytes;
        tbed_text_put_clean(&column->text, table_text_at(values, i),
                            values->offsets[i + 1] - values->offsets[i]);
        if (column->text.is_out_of_memory || column->text.nbytes > INT32_MAX)
            return column->text.is_out_of_memory ? ENOMEM : EOVERFLOW;
    }
    offsets[row_count] = (int32_t)column->text.nbytes;
    return 0;
}

static int copy_fixed(const void *from, size_t row_count, size_t nbytes, struct arrow_column *column)
{
    column->values = malloc(row_count * nbytes + 1);
    if (column->values == NULL)
        return ENOMEM;
    memcpy(column->values, from, row_count * nbytes);
    return 0;
}

static int copy_values(enum tbed_column_type type, const struct tbed_column_values *values, size_t row_count,
                       struct arrow_column *column)
{
    switch (type) {
    case TBED_COLUMN_I64:
        return copy_fixed(values->i64, row_count, sizeof *values->i64, column);
    case TBED_COLUMN_U64:
        return copy_fixed(values->u64, row_count, sizeof *values->u64, column);
    case TBED_COLUMN_F64:
        return copy_fixed(values->f64, row_count, sizeof *values->f64, column);
    case TBED_COLUMN_NAME:
        return copy_fixed(values->codes, row_count, sizeof *values->codes, column);
    case TBED_COLUMN_TEXT:
        return copy_texts(values, row_count, column);
    }
    return EINVAL;
}

int tbed_arrow_column_make(const struct tbed_column *about, const struct tbed_column_values *values,
                           size_t row_count, struct arrow_texts *names, struct ArrowArray *array)
{
    struct arrow_column *column = calloc(1, sizeof *column);
    int64_t null_count = 0;
    if (column == NULL)
        return ENOMEM;
    int problem = copy_nulls(values->nulls, row_count, column, &null_count)
                      ? copy_values(about->type, values, row_count, column)
                      : ENOMEM;
    bool is_name = about->type == TBED_COLUMN_NAME;
    if (problem == 0 && is_name && !make_dictionary(names, &column->dictionary))
        problem = ENOMEM;
    if (problem != 0) {
        free_column(column);
        return problem;
    }
    column->buffers[0] = column->validity;
    column->buffers[1] = column->values;
    column->buffers[2] = column->text.bytes;
    *array = (struct ArrowArray){.length = (int64_t)row_count,
                                 .null_count = null_count,
                                 .n_buffers = about->type == TBED_COLUMN_TEXT ? 3 : 2,
                                 .buffers = column->buffers,
                                 .dictionary = is_name ? &column->dictionary : NULL,
                                 .release = release_column,
                                 .private_data = column};
    return 0;
}
