/*
 * Whatever traces contain, statements over their tables end, and two ways to run one give the same rows: with conditions and
 * groups that the scan handles, and with those that SQLite handles, which a '+' before the column says; with all the memory
 * that groups and kept rows may take, and with so little that they need several scans.
 *
 * The bytes after the last complete page choose the bounds of times.
 *
 * Mutator: trace
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/choices.h"
#include "fuzz/support/fuzz.h"
#include "reader/tools/sql/session.h"

#ifdef SQL_IS_BUILT

#define LITTLE ((size_t)4 << 10)
#define MUCH   ((size_t)64 << 20)

/* '+' in the first is removed for the scan's way. 'is_ordered': the rows must come in the same order. */
static const struct {
    bool is_ordered;
    const char *sql;
} statements[] = {
    {false, "SELECT * FROM spans WHERE +ts >= ?1 AND +ts < ?2"},
    {false, "SELECT ts, label, args FROM spans WHERE +dur > ?1 AND +label = (SELECT max(label) FROM spans)"},
    {true, "SELECT label, count(*), sum(dur), max(args), min(id) FROM spans GROUP BY +label ORDER BY +label"},
    {true, "SELECT thread, depth, sum(self) FROM spans GROUP BY +thread, +depth ORDER BY +thread DESC, "
           "+depth DESC"},
    {false, "SELECT DISTINCT +category, +function FROM spans"},
    {false, "SELECT ts FROM events WHERE +type <> 'drop' ORDER BY +ts"},
    {true,
     "SELECT type, count(*), count(value), sum(length(name)) FROM events GROUP BY +type ORDER BY +type"},
    {false, "SELECT s.id, p.id, p.args FROM spans s JOIN spans p ON +p.id = +s.parent WHERE s.id % 8 = 3"},
    {false, "SELECT m.text, s.label FROM messages m JOIN spans s ON +s.track = +m.track AND +s.ts <= +m.ts "
            "WHERE m.id % 4 = 1"},
    {false, "SELECT name, value, integer, unsigned FROM counters WHERE +track IN (1, 2, 5) AND +value > 0"},
    {false, "SELECT percentile(lifetime, 99), median(size), sum(size) FROM allocations WHERE +size BETWEEN "
            "?1 AND ?2"},
    {false, "SELECT h.* FROM label_statistics l, histogram(l.label) h WHERE +l.count > 1"},
    {false, "SELECT id, kind, name FROM threads WHERE +pid = (SELECT max(pid) FROM processes)"},
};

/* A hash of all rows: in their order, or in any. */
static uint64_t hash_of(sqlite3_stmt *statement, bool is_ordered)
{
    uint64_t all = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        uint64_t row = 1469598103934665603u;
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            int type = sqlite3_column_type(statement, i);
            const unsigned char *text = sqlite3_column_text(statement, i);
            int nbytes = sqlite3_column_bytes(statement, i);
            row = (row ^ (unsigned)type) * 1099511628211u;
            for (int k = 0; k < nbytes; k++)
                row = (row ^ text[k]) * 1099511628211u;
        }
        all = is_ordered ? all * 31 + row : all + row;
    }
    /* A sum of extreme values may overflow, the only error. */
    REQUIRE(code == SQLITE_DONE ||
            strcmp(sqlite3_errmsg(sqlite3_db_handle(statement)), "integer overflow") == 0);
    return code == SQLITE_DONE ? all : 0;
}

static uint64_t run(sqlite3 *db, const char *sql, bool is_ordered, int64_t low, int64_t high)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    REQUIRE(statement != NULL);
    sqlite3_bind_int64(statement, 1, low);
    sqlite3_bind_int64(statement, 2, high);
    uint64_t hash = hash_of(statement, is_ordered);
    sqlite3_finalize(statement);
    return hash;
}

/* The scan's way: the same without '+'. */
static void without_signs(char *to, const char *sql)
{
    for (; *sql != '\0'; sql++)
        if (*sql != '+')
            *to++ = *sql;
    *to = '\0';
}

static void compare(struct session *session, size_t index, int64_t low, int64_t high)
{
    char sql[256];
    bool is_ordered = statements[index].is_ordered;
    REQUIRE(strlen(statements[index].sql) < sizeof sql);
    without_signs(sql, statements[index].sql);
    uint64_t plain = run(session->db, statements[index].sql, is_ordered, low, high);
    bool is_same = run(session->db, sql, is_ordered, low, high) == plain;
    sql_context_limit(session->context, LITTLE);
    is_same = run(session->db, sql, is_ordered, low, high) == plain && is_same;
    sql_context_limit(session->context, MUCH);
    if (!is_same)
        fprintf(stderr, "%s\n", sql);
    REQUIRE(is_same);
}

static void read_all(struct session *session)
{
    char sql[128];
    const struct tbed_table *table;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++) {
        snprintf(sql, sizeof sql, "SELECT * FROM %s%s", table->name,
                 table->columns[0].is_parameter ? "('')" : "");
        run(session->db, sql, true, 0, 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct session session = {0};
    struct tbed_tables *tables;
    char *message = NULL;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL || !session_open(&session)) {
        tbed_reader_close(reader);
        return 0;
    }
    REQUIRE(tbed_tables_of_reader(reader, &tables) == TBED_OK);
    REQUIRE(sql_context_add(session.context, "input", tables) == TBED_OK);
    REQUIRE(sql_attach(session.db, session.context, "input", "main", &message) == SQLITE_OK);
    int64_t low = (int64_t)choice_at(data, nbytes, 0) << choice_at(data, nbytes, 1) % 56;
    int64_t high = low + ((int64_t)(choice_at(data, nbytes, 2) + 1) << choice_at(data, nbytes, 3) % 32);
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        compare(&session, i, low, nbytes % 2 == 0 ? INT64_MAX : high);
    read_all(&session);
    session_close(&session);
    tbed_reader_close(reader);
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    (void)data;
    (void)nbytes;
    return 0;
}

#endif
