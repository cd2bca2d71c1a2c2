/*
 * Rows kept in memory, in order: SQLite makes no index of its own for a virtual table, so a join would scan the table again
 * for each row of the other one. A condition that is an equality, or else a range, chooses the rows by binary search; all
 * other conditions are SQLite's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

struct store {
    void *array; /* 8 bytes a row; 4 of NAME; offsets of TEXT */
    uint64_t *nulls;
    char *text;
    size_t text_nbytes, text_room;
};

/* A row in the order of its keys. */
struct entry {
    int64_t equal, range;
    uint32_t row;
};

struct sql_kept {
    struct sql_table *table;
    uint64_t columns;
    int equal_column, range_column; /* of the keys; -1: none */
    struct sql_scan scan;           /* for its names */
    struct store stores[64];
    size_t row_count, row_room, nbytes;
    uint32_t *by_text; /* codes, in the order of their texts */
    uint32_t *rank_of; /* of a code in that order */
    uint32_t code_count;
    struct entry *entries;
    size_t entry_count;
    size_t at, end; /* the entries to hand out */
    struct sql_rows rows;
};

/* ---- Reading all rows ---- */

static bool grow(void **array, size_t nbytes, struct sql_kept *kept, size_t before)
{
    size_t most = kept->table->context->memory_max;
    if (nbytes > most || kept->nbytes - before > most - nbytes)
        return false;
    void *grown = realloc(*array, nbytes);
    if (grown == NULL)
        return false;
    *array = grown;
    kept->nbytes += nbytes - before;
    return true;
}

static size_t element_nbytes(enum tbed_column_type type)
{
    return type == TBED_COLUMN_NAME || type == TBED_COLUMN_TEXT ? sizeof(uint32_t) : sizeof(uint64_t);
}

static bool grow_rows(struct sql_kept *kept)
{
    size_t room = kept->row_room > 0 ? 2 * kept->row_room : TBED_BATCH_ROWS_MAX;
    for (unsigned i = 0; i < kept->table->about->column_count; i++) {
        struct store *store = &kept->stores[i];
        size_t element = element_nbytes(kept->table->about->columns[i].type);
        size_t before = kept->row_room > 0 ? (kept->row_room + 1) * element : 0;
        if ((kept->columns >> i & 1) == 0)
            continue;
        if (!grow(&store->array, (room + 1) * element, kept, before) ||
            !grow((void **)&store->nulls, room / 8, kept, kept->row_room / 8))
            return false;
        memset(store->nulls + kept->row_room / 64, 0, (room - kept->row_room) / 8);
    }
    if (kept->row_room == 0)
        for (unsigned i = 0; i < kept->table->about->column_count; i++)
            if (kept->stores[i].array != NULL)
                memset(kept->stores[i].array, 0, sizeof(uint64_t)); /* the first offset */
    kept->row_room = room;
    /* The entries will need as much again. */
    return room <= (kept->table->context->memory_max - kept->nbytes) / sizeof(struct entry);
}

static bool keep_text(struct sql_kept *kept, struct store *store, const struct tbed_column_values *values,
                      size_t row, size_t to)
{
    size_t nbytes = values->offsets[row + 1] - values->offsets[row];
    if (nbytes > UINT32_MAX - store->text_nbytes)
        return false;
    if (nbytes > store->text_room - store->text_nbytes) {
        size_t room = 2 * (store->text_nbytes + nbytes);
        if (!grow((void **)&store->text, room, kept, store->text_room))
            return false;
        store->text_room = room;
    }
    if (nbytes > 0)
        memcpy(store->text + store->text_nbytes, values->text + values->offsets[row], nbytes);
    store->text_nbytes += nbytes;
    ((uint32_t *)store->array)[to + 1] = (uint32_t)store->text_nbytes;
    return true;
}

static bool keep_column(struct sql_kept *kept, unsigned column, const struct tbed_batch *batch)
{
    struct store *store = &kept->stores[column];
    enum tbed_column_type type = kept->table->about->columns[column].type;
    const struct tbed_column_values *values = &batch->columns[column];
    for (size_t row = 0; row < batch->row_count; row++) {
        size_t to = kept->row_count + row;
        if (sql_is_null(values, row))
            store->nulls[to / 64] |= UINT64_C(1) << to % 64;
        if (type == TBED_COLUMN_NAME)
            ((uint32_t *)store->array)[to] = values->codes[row];
        else if (type != TBED_COLUMN_TEXT)
            ((uint64_t *)store->array)[to] = sql_bits(values, type, row);
        else if (!keep_text(kept, store, values, row, to))
            return false;
    }
    return true;
}

/* False: too much. */
static bool keep_batch(struct sql_kept *kept, const struct tbed_batch *batch)
{
    while (batch->row_count > kept->row_room - kept->row_count)
        if (!grow_rows(kept))
            return false;
    for (unsigned i = 0; i < kept->table->about->column_count; i++)
        if ((kept->columns >> i & 1) != 0 && !keep_column(kept, i, batch))
            return false;
    kept->row_count += batch->row_count;
    return true;
}

/* ---- The order ---- */

static int compare_names(const struct sql_kept *kept, uint32_t code, const char *text, size_t nbytes)
{
    const char *own;
    size_t own_nbytes;
    tbed_scan_name(kept->scan.scan, code, &own, &own_nbytes);
    size_t common = own_nbytes < nbytes ? own_nbytes : nbytes;
    int order = common > 0 ? memcmp(own, text, common) : 0;
    return order != 0 ? order : (own_nbytes > nbytes) - (own_nbytes < nbytes);
}

static int compare_codes(const void *a, const void *b, void *context)
{
    const char *text;
    size_t nbytes;
    const struct sql_kept *kept = context;
    tbed_scan_name(kept->scan.scan, *(const uint32_t *)b, &text, &nbytes);
    return compare_names(kept, *(const uint32_t *)a, text, nbytes);
}

static bool rank_names(struct sql_kept *kept)
{
    kept->code_count = tbed_scan_name_count(kept->scan.scan);
    size_t nbytes = ((size_t)kept->code_count + 1) * sizeof(uint32_t);
    if (!grow((void **)&kept->by_text, nbytes, kept, 0) || !grow((void **)&kept->rank_of, nbytes, kept, 0))
        return false;
    for (uint32_t i = 0; i < kept->code_count; i++)
        kept->by_text[i] = i;
    qsort_r(kept->by_text, kept->code_count, sizeof *kept->by_text, compare_codes, kept);
    for (uint32_t i = 0; i < kept->code_count; i++)
        kept->rank_of[kept->by_text[i]] = i;
    return true;
}

/* The key of a column in a row; false: null, which no condition allows. */
static bool key_of(const struct sql_kept *kept, int column, size_t row, int64_t *key_ret)
{
    *key_ret = 0;
    if (column < 0)
        return true;
    const struct store *store = &kept->stores[column];
    enum tbed_column_type type = kept->table->about->columns[column].type;
    if ((store->nulls[row / 64] >> row % 64 & 1) != 0)
        return false;
    if (type == TBED_COLUMN_NAME)
        *key_ret = kept->rank_of[((const uint32_t *)store->array)[row]];
    else if (type == TBED_COLUMN_U64 && ((const uint64_t *)store->array)[row] > INT64_MAX)
        *key_ret = INT64_MAX;
    else
        *key_ret = ((const int64_t *)store->array)[row];
    return true;
}

static int compare_entries(const void *of_a, const void *of_b)
{
    const struct entry *a = of_a, *b = of_b;
    if (a->equal != b->equal)
        return a->equal < b->equal ? -1 : 1;
    if (a->range != b->range)
        return a->range < b->range ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool sort_rows(struct sql_kept *kept)
{
    bool is_sorted = true;
    if (kept->row_count > UINT32_MAX ||
        !grow((void **)&kept->entries, (kept->row_count + 1) * sizeof *kept->entries, kept, 0))
        return false;
    for (size_t row = 0; row < kept->row_count; row++) {
        struct entry *entry = &kept->entries[kept->entry_count];
        entry->row = (uint32_t)row;
        if (!key_of(kept, kept->equal_column, row, &entry->equal) ||
            !key_of(kept, kept->range_column, row, &entry->range))
            continue;
        is_sorted = is_sorted && (kept->entry_count == 0 || compare_entries(entry - 1, entry) < 0);
        kept->entry_count++;
    }
    if (!is_sorted)
        qsort(kept->entries, kept->entry_count, sizeof *kept->entries, compare_entries);
    return true;
}

/* ---- Making ---- */

static bool can_be_key(const struct sql_table *table, struct sql_term term)
{
    enum tbed_column_type type = table->about->columns[term.column].type;
    return type == TBED_COLUMN_I64 || type == TBED_COLUMN_U64 ||
           (type == TBED_COLUMN_NAME && term.compare == '=');
}

/* An order that the rows have to come in leaves no freedom for keys. */
static void choose_keys(struct sql_kept *kept, const struct sql_plan *plan)
{
    kept->equal_column = kept->range_column = -1;
    for (unsigned i = 0; i < plan->term_count && !plan->in_order; i++) {
        struct sql_term term = plan->terms[i];
        if (!can_be_key(kept->table, term) || term.compare == 'i')
            continue;
        if (term.compare == '=' && kept->equal_column < 0)
            kept->equal_column = term.column;
        else if (term.compare != '=' && kept->range_column < 0)
            kept->range_column = term.column;
    }
}

static enum tbed_status read_all(struct sql_kept *kept, const struct sql_plan *plan, bool *fits_ret,
                                 struct tbed_error *error)
{
    struct tbed_batch batch;
    struct sql_request request = {.table = kept->table, .columns = plan->columns, .in_order = plan->in_order};
    *fits_ret = true;
    enum tbed_status status = sql_scan_open(&kept->scan, &request, error);
    while (status == TBED_OK && *fits_ret) {
        status = tbed_scan_next(kept->scan.scan, &batch);
        if (status == TBED_OK)
            *fits_ret = keep_batch(kept, &batch);
    }
    if (status != TBED_END)
        return status;
    *fits_ret =
        rank_names(kept) && sort_rows(kept) && sql_rows_open(&kept->rows, kept->table->about, plan->columns);
    return TBED_OK;
}

enum tbed_status sql_kept_make(struct sql_table *table, const struct sql_plan *plan,
                               struct sql_kept **kept_ret, struct tbed_error *error_ret)
{
    bool fits;
    struct sql_kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return TBED_ERR_MEMORY;
    *kept = (struct sql_kept){.table = table, .columns = plan->columns};
    choose_keys(kept, plan);
    enum tbed_status status = read_all(kept, plan, &fits, error_ret);
    if (status == TBED_OK && fits) {
        *kept_ret = kept;
        return TBED_OK;
    }
    sql_kept_close(kept);
    return status;
}

void sql_kept_close(struct sql_kept *kept)
{
    if (kept == NULL)
        return;
    for (unsigned i = 0; i < 64; i++) {
        free(kept->stores[i].array);
        free(kept->stores[i].nulls);
        free(kept->stores[i].text);
    }
    free(kept->by_text);
    free(kept->rank_of);
    free(kept->entries);
    sql_rows_free(&kept->rows);
    sql_scan_close(&kept->scan);
    free(kept);
}

struct sql_scan *sql_kept_scan(struct sql_kept *kept)
{
    return &kept->scan;
}

/* ---- Looking up ---- */

/* The rank of a text; false: no row has it. */
static bool find_rank(const struct sql_kept *kept, const char *text, size_t nbytes, int64_t *rank_ret)
{
    uint32_t low = 0, high = kept->code_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare_names(kept, kept->by_text[middle], text, nbytes);
        if (order == 0) {
            *rank_ret = middle;
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

struct bounds {
    int64_t least, greatest;
};

static void narrow(const struct sql_kept *kept, const struct tbed_constraint *constraint,
                   struct bounds *bounds)
{
    int64_t least = INT64_MIN, greatest = INT64_MAX, number = constraint->number;
    if (constraint->is_text && !find_rank(kept, constraint->text, constraint->nbytes, &number)) {
        *bounds = (struct bounds){1, 0};
        return;
    }
    /* A bound that is too wide by one is no harm. */
    if (constraint->compare == TBED_EQUAL || constraint->compare == TBED_GREATER ||
        constraint->compare == TBED_GREATER_EQUAL)
        least = number;
    if (constraint->compare == TBED_EQUAL || constraint->compare == TBED_LESS ||
        constraint->compare == TBED_LESS_EQUAL)
        greatest = number;
    bounds->least = least > bounds->least ? least : bounds->least;
    bounds->greatest = greatest < bounds->greatest ? greatest : bounds->greatest;
}

static struct bounds bounds_of(const struct sql_kept *kept, const struct sql_request *request, int column)
{
    struct bounds bounds = {INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < request->constraint_count && column >= 0; i++)
        if (request->constraints[i].column == (uint32_t)column)
            narrow(kept, &request->constraints[i], &bounds);
    return bounds;
}

/* The first entry that is not below the keys. */
static size_t first_from(const struct sql_kept *kept, int64_t equal, int64_t range)
{
    struct entry key = {equal, range, 0};
    size_t low = 0, high = kept->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&kept->entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void sql_kept_seek(struct sql_kept *kept, const struct sql_request *request)
{
    struct bounds equal = bounds_of(kept, request, kept->equal_column);
    struct bounds range = bounds_of(kept, request, kept->range_column);
    kept->at = kept->end = 0;
    if (equal.least > equal.greatest || range.least > range.greatest)
        return;
    bool is_one = equal.least == equal.greatest || kept->equal_column < 0;
    int64_t least = kept->equal_column < 0 ? 0 : equal.least;
    int64_t greatest = kept->equal_column < 0 ? 0 : equal.greatest;
    kept->at = first_from(kept, least, is_one ? range.least : INT64_MIN);
    if (is_one && range.greatest < INT64_MAX)
        kept->end = first_from(kept, greatest, range.greatest + 1);
    else
        kept->end = greatest < INT64_MAX ? first_from(kept, greatest + 1, INT64_MIN) : kept->entry_count;
}

static bool copy_row(struct sql_kept *kept, size_t row)
{
    for (unsigned i = 0; i < kept->table->about->column_count; i++) {
        const struct store *store = &kept->stores[i];
        enum tbed_column_type type = kept->table->about->columns[i].type;
        const uint32_t *offsets = store->array;
        if ((kept->columns >> i & 1) == 0)
            continue;
        if ((store->nulls[row / 64] >> row % 64 & 1) != 0)
            sql_rows_null(&kept->rows, i, type);
        else if (type == TBED_COLUMN_NAME)
            sql_rows_bits(&kept->rows, i, type, offsets[row]);
        else if (type != TBED_COLUMN_TEXT)
            sql_rows_bits(&kept->rows, i, type, ((const uint64_t *)store->array)[row]);
        else if (!sql_rows_text(&kept->rows, i, store->text + offsets[row], offsets[row + 1] - offsets[row]))
            return false;
    }
    kept->rows.count++;
    return true;
}

enum tbed_status sql_kept_next(struct sql_kept *kept, struct tbed_batch *batch_ret)
{
    sql_rows_clear(&kept->rows);
    for (; kept->at < kept->end && kept->rows.count < SQL_BATCH_ROWS; kept->at++)
        if (!copy_row(kept, kept->entries[kept->at].row))
            return TBED_ERR_MEMORY;
    *batch_ret = (struct tbed_batch){.row_count = kept->rows.count, .columns = kept->rows.values};
    return kept->rows.count > 0 ? TBED_OK : TBED_END;
}

#endif
