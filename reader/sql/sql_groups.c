/*
 * Rows in groups, for GROUP BY, DISTINCT and ORDER BY: SQLite's own way is to sort all rows, which takes seconds for ten
 * million.
 *
 * A scan puts each row into its group, as a few bytes: its columns without those of the group, as numbers of variable length.
 * The groups are handed out in the order of their keys: SQLite 3.40 asks for groups also where it needs them sorted. If they are
 * too much for the memory, those with the greatest keys are forgotten, and later scans bring them: a scan is fast, and so the
 * memory is bounded without a file. A group that is too large by itself has a scan of its own, whose rows are handed out
 * directly.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"
#include "reader/sql/sql_varint.h"

#ifdef SQL_IS_BUILT

#define CHUNK_LEAST ((size_t)32)
#define CHUNK_MOST  ((size_t)32 << 10)

struct chunk {
    struct chunk *next;
    size_t nbytes, room;
    unsigned char bytes[];
};

struct group {
    uint64_t row_count;
    int64_t keys[SQL_GROUPS_MAX]; /* integers, and codes of this scan; 0 if null */
    uint32_t nulls;               /* a bit for each key */
    uint32_t next_same_hash;      /* its index + 1 */
    struct chunk *first, *last;
};

/* The keys of a group that outlive a scan, and whether there are any. */
struct bound {
    bool is_set, is_exclusive;
    uint32_t nulls;
    int64_t keys[SQL_GROUPS_MAX];
    char *texts[SQL_GROUPS_MAX]; /* of names; owned */
    size_t nbytes[SQL_GROUPS_MAX];
};

struct hash_slot {
    uint64_t key;
    uint32_t group; /* its index + 1 */
};

enum { UNKNOWN = 0, NOT_NOW = UINT32_MAX };

struct sql_groups {
    struct sql_plan plan;
    const struct sql_request *request;
    const struct tbed_table *about;
    struct sql_scan scan;
    struct sql_rows rows;
    unsigned stored_count;
    uint8_t stored[64]; /* the columns that are not keys */

    /* Of this scan: groups behind 'done', up to 'end'. */
    struct bound done, end;
    struct group *groups;
    uint32_t group_count, group_room;
    TBED_HASHMAP(struct hash_slot) by_hash;
    uint32_t *by_code; /* with one key, a NAME: the group + 1 of each code, UNKNOWN or NOT_NOW */
    size_t code_room;
    size_t chunk_nbytes;

    bool has_alone; /* the group at 'end' gets a scan of its own */
    bool is_alone;  /* this is it */
    struct tbed_batch alone_batch;
    size_t alone_row;

    bool is_reading_out;
    uint32_t group; /* being read out */
    size_t at;      /* in its first chunk */
};

/* ---- Opening and closing ---- */

static void free_chunks(struct sql_groups *groups, struct group *group)
{
    while (group->first != NULL) {
        struct chunk *chunk = group->first;
        group->first = chunk->next;
        groups->chunk_nbytes -= sizeof *chunk + chunk->room;
        free(chunk);
    }
    group->last = NULL;
}

static void forget_groups(struct sql_groups *groups)
{
    for (uint32_t i = 0; i < groups->group_count; i++)
        free_chunks(groups, &groups->groups[i]);
    free(groups->groups);
    free(groups->by_code);
    tbed_hashmap_free(&groups->by_hash.map);
    groups->groups = NULL;
    groups->by_code = NULL;
    groups->by_hash.map = (struct tbed_hashmap){0};
    groups->group_count = groups->group_room = 0;
    groups->code_room = 0;
}

static void bound_free(struct bound *bound)
{
    for (unsigned i = 0; i < SQL_GROUPS_MAX; i++)
        free(bound->texts[i]);
    *bound = (struct bound){0};
}

static bool is_key(const struct sql_plan *plan, unsigned column)
{
    for (unsigned i = 0; i < plan->group_count; i++)
        if (plan->groups[i] == column)
            return true;
    return false;
}

struct sql_groups *sql_groups_open(const struct sql_plan *plan, const struct sql_request *request)
{
    struct sql_groups *groups = calloc(1, sizeof *groups);
    if (groups == NULL)
        return NULL;
    *groups = (struct sql_groups){.plan = *plan, .request = request, .about = request->table->about};
    for (unsigned i = 0; i < groups->about->column_count; i++)
        if ((plan->columns >> i & 1) != 0 && !is_key(plan, i))
            groups->stored[groups->stored_count++] = (uint8_t)i;
    if (sql_rows_open(&groups->rows, groups->about, plan->columns))
        return groups;
    sql_groups_close(groups);
    return NULL;
}

void sql_groups_close(struct sql_groups *groups)
{
    if (groups == NULL)
        return;
    forget_groups(groups);
    bound_free(&groups->done);
    bound_free(&groups->end);
    sql_scan_close(&groups->scan);
    sql_rows_free(&groups->rows);
    free(groups);
}

struct sql_scan *sql_groups_scan(struct sql_groups *groups)
{
    return &groups->scan;
}

/* ---- The order of keys ---- */

static enum tbed_column_type key_type(const struct sql_groups *groups, unsigned key)
{
    return groups->about->columns[groups->plan.groups[key]].type;
}

static int compare_texts(const char *a, size_t a_nbytes, const char *b, size_t b_nbytes)
{
    size_t common = a_nbytes < b_nbytes ? a_nbytes : b_nbytes;
    int order = common > 0 ? memcmp(a, b, common) : 0;
    return order != 0 ? order : (a_nbytes > b_nbytes) - (a_nbytes < b_nbytes);
}

/* Nulls come first, as in SQLite; 0: go on with the next key. */
static int compare_nulls(uint32_t a, uint32_t b, unsigned key)
{
    return (int)(b >> key & 1) - (int)(a >> key & 1);
}

static int signed_by(const struct sql_groups *groups, unsigned key, int order)
{
    return (groups->plan.falling >> key & 1) != 0 ? -order : order;
}

static int compare_groups(const void *of_a, const void *of_b, void *context)
{
    const struct sql_groups *groups = context;
    const struct group *a = of_a, *b = of_b;
    for (unsigned i = 0; i < groups->plan.group_count; i++) {
        int order = compare_nulls(a->nulls, b->nulls, i);
        if (order == 0 && key_type(groups, i) != TBED_COLUMN_NAME) {
            order = (a->keys[i] > b->keys[i]) - (a->keys[i] < b->keys[i]);
        } else if (order == 0 && a->keys[i] != b->keys[i] && (a->nulls >> i & 1) == 0) {
            const char *a_text, *b_text;
            size_t a_nbytes, b_nbytes;
            tbed_scan_name(groups->scan.scan, (uint32_t)a->keys[i], &a_text, &a_nbytes);
            tbed_scan_name(groups->scan.scan, (uint32_t)b->keys[i], &b_text, &b_nbytes);
            order = compare_texts(a_text, a_nbytes, b_text, b_nbytes);
        }
        if (order != 0)
            return signed_by(groups, i, order);
    }
    return 0;
}

static int compare_with_bound(const struct sql_groups *groups, const struct group *group,
                              const struct bound *bound)
{
    for (unsigned i = 0; i < groups->plan.group_count; i++) {
        int order = compare_nulls(group->nulls, bound->nulls, i);
        if (order == 0 && key_type(groups, i) != TBED_COLUMN_NAME) {
            order = (group->keys[i] > bound->keys[i]) - (group->keys[i] < bound->keys[i]);
        } else if (order == 0 && (group->nulls >> i & 1) == 0) {
            const char *text;
            size_t nbytes;
            tbed_scan_name(groups->scan.scan, (uint32_t)group->keys[i], &text, &nbytes);
            order = compare_texts(text, nbytes, bound->texts[i], bound->nbytes[i]);
        }
        if (order != 0)
            return signed_by(groups, i, order);
    }
    return 0;
}

/* False: no memory. */
static bool bound_set(struct sql_groups *groups, struct bound *bound, const struct group *group)
{
    struct bound new = {.is_set = true, .nulls = group->nulls};
    bool is_fine = true;
    for (unsigned i = 0; i < groups->plan.group_count; i++) {
        const char *text;
        new.keys[i] = group->keys[i];
        if (key_type(groups, i) != TBED_COLUMN_NAME || (group->nulls >> i & 1) != 0)
            continue;
        tbed_scan_name(groups->scan.scan, (uint32_t)group->keys[i], &text, &new.nbytes[i]);
        new.texts[i] = malloc(new.nbytes[i] + 1);
        is_fine = is_fine && new.texts[i] != NULL;
        if (is_fine && new.nbytes[i] > 0)
            memcpy(new.texts[i], text, new.nbytes[i]);
    }
    bound_free(bound);
    *bound = new;
    return is_fine;
}

/* Is the group one of this scan? */
static bool is_now(const struct sql_groups *groups, const struct group *group)
{
    if (groups->is_alone)
        return compare_with_bound(groups, group, &groups->end) == 0;
    if (groups->done.is_set && compare_with_bound(groups, group, &groups->done) <= 0)
        return false;
    return !groups->end.is_set || compare_with_bound(groups, group, &groups->end) < !groups->end.is_exclusive;
}

/* ---- Which group a row is in ---- */

static void keys_of(const struct sql_groups *groups, const struct tbed_batch *batch, size_t row,
                    struct group *key)
{
    *key = (struct group){0};
    for (unsigned i = 0; i < groups->plan.group_count; i++) {
        unsigned column = groups->plan.groups[i];
        const struct tbed_column_values *values = &batch->columns[column];
        if (sql_is_null(values, row))
            key->nulls |= 1u << i;
        else
            key->keys[i] = (int64_t)sql_bits(values, key_type(groups, i), row);
    }
}

static uint64_t hash_of(const struct sql_groups *groups, const struct group *key)
{
    uint64_t hash = key->nulls;
    for (unsigned i = 0; i < groups->plan.group_count; i++) {
        hash = (hash ^ (uint64_t)key->keys[i]) * UINT64_C(0xD6E8FEB86659FD93);
        hash ^= hash >> 32;
    }
    return hash | 1;
}

static bool is_same(const struct sql_groups *groups, const struct group *a, const struct group *b)
{
    return a->nulls == b->nulls &&
           memcmp(a->keys, b->keys, groups->plan.group_count * sizeof a->keys[0]) == 0;
}

static bool make_room_for_group(struct sql_groups *groups)
{
    if (groups->group_count < groups->group_room)
        return true;
    uint32_t room = groups->group_room > 0 ? groups->group_room + groups->group_room / 2 : 16;
    struct group *grown = realloc(groups->groups, room * sizeof *grown);
    if (grown == NULL)
        return false;
    groups->groups = grown;
    groups->group_room = room;
    return true;
}

/* Adds the group to those with its hash; its index + 1, or UNKNOWN: no memory. */
static uint32_t add_group(struct sql_groups *groups, struct hash_slot *slot, const struct group *key)
{
    if (!make_room_for_group(groups))
        return UNKNOWN;
    struct group *group = &groups->groups[groups->group_count++];
    *group = *key;
    group->next_same_hash = slot->group;
    return slot->group = groups->group_count;
}

/* The index + 1 of the row's group, NOT_NOW, or UNKNOWN: no memory. */
static uint32_t group_of_keys(struct sql_groups *groups, const struct tbed_batch *batch, size_t row)
{
    struct group key;
    keys_of(groups, batch, row, &key);
    uint64_t hash = hash_of(groups, &key);
    struct hash_slot *slot = TBED_HASHMAP_FIND(&groups->by_hash, hash);
    for (uint32_t at = slot != NULL ? slot->group : 0; at != 0; at = groups->groups[at - 1].next_same_hash)
        if (is_same(groups, &groups->groups[at - 1], &key))
            return at;
    if (!is_now(groups, &key))
        return NOT_NOW;
    slot = slot != NULL ? slot : TBED_HASHMAP_ADD(&groups->by_hash, hash);
    return slot != NULL ? add_group(groups, slot, &key) : UNKNOWN;
}

static bool make_room_for_code(struct sql_groups *groups, uint32_t code)
{
    size_t room = 2 * ((size_t)code + 32);
    uint32_t *grown = realloc(groups->by_code, room * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown + groups->code_room, 0, (room - groups->code_room) * sizeof *grown);
    groups->by_code = grown;
    groups->code_room = room;
    return true;
}

/* The index + 1 of the row's group, NOT_NOW, or UNKNOWN: no memory. */
static uint32_t group_of(struct sql_groups *groups, const struct tbed_batch *batch, size_t row)
{
    unsigned column = groups->plan.groups[0];
    const struct tbed_column_values *values = &batch->columns[column];
    if (groups->plan.group_count > 1 || groups->about->columns[column].type != TBED_COLUMN_NAME ||
        sql_is_null(values, row))
        return group_of_keys(groups, batch, row);
    uint32_t code = values->codes[row];
    if (code >= groups->code_room && !make_room_for_code(groups, code))
        return UNKNOWN;
    if (groups->by_code[code] == UNKNOWN)
        groups->by_code[code] = group_of_keys(groups, batch, row);
    return groups->by_code[code];
}

/* ---- Storing a row ---- */

static size_t text_nbytes(const struct tbed_column_values *values, size_t row)
{
    return values->offsets[row + 1] - values->offsets[row];
}

static size_t most_nbytes(const struct sql_groups *groups, const struct tbed_batch *batch, size_t row)
{
    size_t nbytes = groups->stored_count * SQL_VARINT_MOST;
    for (unsigned i = 0; i < groups->stored_count; i++)
        if (groups->about->columns[groups->stored[i]].type == TBED_COLUMN_TEXT)
            nbytes += text_nbytes(&batch->columns[groups->stored[i]], row);
    return nbytes;
}

static struct chunk *chunk_for(struct sql_groups *groups, struct group *group, size_t nbytes)
{
    struct chunk *last = group->last;
    if (last != NULL && nbytes <= last->room - last->nbytes)
        return last;
    size_t room = last != NULL ? 2 * last->room : CHUNK_LEAST;
    room = room < CHUNK_MOST ? room : CHUNK_MOST;
    room = room > nbytes ? room : nbytes;
    struct chunk *chunk = malloc(sizeof *chunk + room);
    if (chunk == NULL)
        return NULL;
    *chunk = (struct chunk){.room = room};
    groups->chunk_nbytes += sizeof *chunk + room;
    *(last != NULL ? &last->next : &group->first) = chunk;
    group->last = chunk;
    return chunk;
}

static unsigned char *put_column(unsigned char *to, const struct tbed_column_values *values,
                                 enum tbed_column_type type, size_t row)
{
    if (sql_is_null(values, row))
        return sql_varint_put_null(to);
    if (type != TBED_COLUMN_TEXT)
        return sql_varint_put(to, sql_varint_of(type, sql_bits(values, type, row)));
    size_t nbytes = text_nbytes(values, row);
    to = sql_varint_put(to, nbytes);
    if (nbytes > 0)
        memcpy(to, values->text + values->offsets[row], nbytes);
    return to + nbytes;
}

static bool store(struct sql_groups *groups, struct group *group, const struct tbed_batch *batch, size_t row)
{
    if (groups->plan.is_distinct) {
        group->row_count = 1;
        return true;
    }
    group->row_count++;
    if (groups->stored_count == 0)
        return true;
    struct chunk *chunk = chunk_for(groups, group, most_nbytes(groups, batch, row));
    if (chunk == NULL)
        return false;
    unsigned char *to = chunk->bytes + chunk->nbytes;
    for (unsigned i = 0; i < groups->stored_count; i++) {
        unsigned column = groups->stored[i];
        to = put_column(to, &batch->columns[column], groups->about->columns[column].type, row);
    }
    chunk->nbytes = (size_t)(to - chunk->bytes);
    return true;
}

/* ---- Too much ---- */

static bool is_too_much(const struct sql_groups *groups)
{
    return groups->chunk_nbytes + groups->group_room * sizeof *groups->groups +
               tbed_hashmap_capacity(&groups->by_hash.map) * sizeof(struct hash_slot) >
           groups->request->table->context->memory_max;
}

/* Keeps the first 'count' groups and forgets the others. False: no memory. */
static bool keep_first(struct sql_groups *groups, uint32_t count)
{
    for (uint32_t i = count; i < groups->group_count; i++)
        free_chunks(groups, &groups->groups[i]);
    groups->group_count = count;
    groups->group_room = count > 16 ? count : 16;
    struct group *smaller = realloc(groups->groups, groups->group_room * sizeof *smaller);
    if (smaller == NULL)
        return false;
    groups->groups = smaller;
    tbed_hashmap_free(&groups->by_hash.map);
    groups->by_hash.map = (struct tbed_hashmap){0};
    for (uint32_t i = 0; i < count; i++) {
        struct hash_slot *slot = TBED_HASHMAP_ADD(&groups->by_hash, hash_of(groups, &groups->groups[i]));
        if (slot == NULL)
            return false;
        groups->groups[i].next_same_hash = slot->group;
        slot->group = i + 1;
    }
    if (groups->code_room > 0)
        memset(groups->by_code, 0, groups->code_room * sizeof *groups->by_code);
    return true;
}

static void sort_groups(struct sql_groups *groups)
{
    if (groups->group_count > 1)
        qsort_r(groups->groups, groups->group_count, sizeof *groups->groups, compare_groups, groups);
}

/* Half of the groups stay, the first by their keys; the only one is left to a scan of its own. False: no memory. */
static bool make_smaller(struct sql_groups *groups)
{
    while (is_too_much(groups)) {
        sort_groups(groups);
        uint32_t count = groups->group_count / 2;
        groups->has_alone = count == 0;
        if (groups->group_count == 0 ||
            !bound_set(groups, &groups->end, &groups->groups[count > 0 ? count - 1 : 0]))
            return false;
        groups->end.is_exclusive = count == 0;
        if (!keep_first(groups, count))
            return false;
        if (count == 0)
            break;
    }
    return true;
}

/* ---- A scan ---- */

static enum tbed_status begin_scan(struct sql_groups *groups, struct tbed_error *error)
{
    forget_groups(groups);
    sql_scan_close(&groups->scan);
    groups->is_reading_out = false;
    return sql_scan_open(&groups->scan, groups->request, error);
}

/* Puts the rows of a batch into their groups. */
static enum tbed_status take(struct sql_groups *groups, const struct tbed_batch *batch)
{
    for (size_t row = 0; row < batch->row_count; row++) {
        uint32_t at = group_of(groups, batch, row);
        if (at == NOT_NOW)
            continue;
        if (at == UNKNOWN || !store(groups, &groups->groups[at - 1], batch, row))
            return TBED_ERR_MEMORY;
        if (is_too_much(groups) && !make_smaller(groups))
            return TBED_ERR_MEMORY;
    }
    return TBED_OK;
}

/* Reads everything, for the groups of this scan. */
static enum tbed_status collect(struct sql_groups *groups, struct tbed_error *error)
{
    struct tbed_batch batch;
    enum tbed_status status = begin_scan(groups, error);
    while (status == TBED_OK) {
        status = tbed_scan_next(groups->scan.scan, &batch);
        if (status == TBED_OK)
            status = take(groups, &batch);
    }
    if (status != TBED_END)
        return status;
    sort_groups(groups);
    groups->is_reading_out = true;
    groups->group = 0;
    groups->at = 0;
    return TBED_OK;
}

/* The groups behind those that were handed out are next. */
static void advance(struct sql_groups *groups)
{
    bound_free(&groups->done);
    groups->done = groups->end;
    groups->end = (struct bound){0};
    groups->is_alone = groups->has_alone = false;
}

static enum tbed_status begin_alone(struct sql_groups *groups, struct tbed_error *error)
{
    groups->is_alone = true;
    groups->alone_batch = (struct tbed_batch){0};
    groups->alone_row = 0;
    return begin_scan(groups, error);
}

/* ---- Reading out ---- */

static void put_keys(struct sql_groups *groups, const struct group *group)
{
    for (unsigned i = 0; i < groups->plan.group_count; i++) {
        unsigned column = groups->plan.groups[i];
        enum tbed_column_type type = groups->about->columns[column].type;
        if ((groups->plan.columns >> column & 1) == 0)
            continue;
        if ((group->nulls >> i & 1) != 0)
            sql_rows_null(&groups->rows, column, type);
        else
            sql_rows_bits(&groups->rows, column, type, (uint64_t)group->keys[i]);
    }
}

static bool read_column(struct sql_groups *groups, unsigned column, const unsigned char **at)
{
    enum tbed_column_type type = groups->about->columns[column].type;
    uint64_t value;
    if (!sql_varint_get(at, &value)) {
        sql_rows_null(&groups->rows, column, type);
        return true;
    }
    if (type != TBED_COLUMN_TEXT) {
        sql_rows_bits(&groups->rows, column, type, sql_varint_back(type, value));
        return true;
    }
    *at += value;
    return sql_rows_text(&groups->rows, column, (const char *)*at - value, value);
}

static bool read_row(struct sql_groups *groups, struct group *group)
{
    struct chunk *chunk = group->first;
    if (groups->plan.is_distinct || groups->stored_count == 0)
        return true;
    if (groups->at == chunk->nbytes) {
        group->first = chunk->next;
        groups->chunk_nbytes -= sizeof *chunk + chunk->room;
        free(chunk);
        chunk = group->first;
        groups->at = 0;
    }
    const unsigned char *at = chunk->bytes + groups->at;
    for (unsigned i = 0; i < groups->stored_count; i++)
        if (!read_column(groups, groups->stored[i], &at))
            return false;
    groups->at = (size_t)(at - chunk->bytes);
    return true;
}

/* Up to a batch of rows; none after the last group. False: no memory. */
static bool read_out(struct sql_groups *groups)
{
    sql_rows_clear(&groups->rows);
    while (groups->group < groups->group_count && groups->rows.count < SQL_BATCH_ROWS) {
        struct group *group = &groups->groups[groups->group];
        if (group->row_count == 0) {
            free_chunks(groups, group);
            groups->group++;
            groups->at = 0;
            continue;
        }
        put_keys(groups, group);
        if (!read_row(groups, group))
            return false;
        group->row_count--;
        groups->rows.count++;
    }
    return true;
}

/* Copies a row of the group that is alone. */
static bool copy_row(struct sql_groups *groups, const struct tbed_batch *batch, size_t row)
{
    for (unsigned i = 0; i < groups->about->column_count; i++) {
        enum tbed_column_type type = groups->about->columns[i].type;
        const struct tbed_column_values *values = &batch->columns[i];
        if ((groups->plan.columns >> i & 1) == 0)
            continue;
        if (sql_is_null(values, row))
            sql_rows_null(&groups->rows, i, type);
        else if (type != TBED_COLUMN_TEXT)
            sql_rows_bits(&groups->rows, i, type, sql_bits(values, type, row));
        else if (!sql_rows_text(&groups->rows, i, values->text + values->offsets[row],
                                text_nbytes(values, row)))
            return false;
    }
    groups->rows.count++;
    return true;
}

/* Up to a batch of its rows; END after the last. */
static enum tbed_status read_alone(struct sql_groups *groups)
{
    sql_rows_clear(&groups->rows);
    while (groups->rows.count < SQL_BATCH_ROWS) {
        if (groups->alone_row == groups->alone_batch.row_count) {
            groups->alone_row = 0;
            groups->alone_batch.row_count = 0;
            enum tbed_status status = tbed_scan_next(groups->scan.scan, &groups->alone_batch);
            if (status == TBED_END && groups->rows.count > 0)
                return TBED_OK;
            if (status != TBED_OK)
                return status;
        }
        size_t row = groups->alone_row++;
        struct group key;
        keys_of(groups, &groups->alone_batch, row, &key);
        if (is_now(groups, &key) && !copy_row(groups, &groups->alone_batch, row))
            return TBED_ERR_MEMORY;
    }
    return TBED_OK;
}

/* What follows when the groups of a scan have been handed out. END: nothing. */
static enum tbed_status go_on(struct sql_groups *groups, struct tbed_error *error)
{
    if (groups->is_reading_out && !groups->end.is_set)
        return TBED_END;
    if (groups->is_reading_out && groups->has_alone)
        return begin_alone(groups, error);
    if (groups->is_reading_out || groups->is_alone)
        advance(groups);
    return collect(groups, error);
}

enum tbed_status sql_groups_next(struct sql_groups *groups, struct tbed_batch *batch_ret,
                                 struct tbed_error *error_ret)
{
    for (;;) {
        enum tbed_status status = groups->is_alone ? read_alone(groups) : TBED_END;
        if (groups->is_reading_out)
            status = !read_out(groups) ? TBED_ERR_MEMORY : groups->rows.count > 0 ? TBED_OK : TBED_END;
        *batch_ret = (struct tbed_batch){.row_count = groups->rows.count, .columns = groups->rows.values};
        if (status == TBED_END)
            status = go_on(groups, error_ret);
        else
            return status;
        if (status != TBED_OK)
            return status;
    }
}

#endif
