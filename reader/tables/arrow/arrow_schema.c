/*
 * Schemas of Arrow for tables; see arrow_schema.h. Names of columns are constants, so that schemas own only their structs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/arrow/arrow_schema.h"

#include <stdlib.h>

static void release_simple(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_column(struct ArrowSchema *schema)
{
    struct ArrowSchema *dictionary = schema->dictionary;
    if (dictionary != NULL && dictionary->release != NULL)
        dictionary->release(dictionary);
    free(dictionary);
    schema->release = NULL;
}

static void release_table(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    schema->release = NULL;
}

static bool make_column(const struct tbed_column *column, struct ArrowSchema *schema)
{
    static const char *const formats[] = {
        [TBED_COLUMN_I64] = "l",  [TBED_COLUMN_U64] = "L",  [TBED_COLUMN_F64] = "g",
        [TBED_COLUMN_NAME] = "i", [TBED_COLUMN_TEXT] = "u",
    };
    *schema = (struct ArrowSchema){.format = formats[column->type],
                                   .name = column->name,
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .release = release_column};
    if (column->type != TBED_COLUMN_NAME)
        return true;
    schema->dictionary = malloc(sizeof *schema->dictionary);
    if (schema->dictionary == NULL)
        return false;
    *schema->dictionary = (struct ArrowSchema){
        .format = "u", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = release_simple};
    return true;
}

bool tbed_arrow_schema_make(const struct tbed_table *table, uint64_t columns, struct ArrowSchema *schema)
{
    *schema = (struct ArrowSchema){.format = "+s", .name = "", .release = release_table};
    schema->children = malloc((table->column_count + 1) * sizeof *schema->children);
    bool is_whole = schema->children != NULL;
    for (size_t i = 0; i < table->column_count && is_whole; i++) {
        if ((columns >> i & 1) == 0)
            continue;
        struct ArrowSchema *child = calloc(1, sizeof *child);
        is_whole = child != NULL && make_column(&table->columns[i], child);
        if (child != NULL)
            schema->children[schema->n_children++] = child;
    }
    if (!is_whole)
        release_table(schema);
    return is_whole;
}
