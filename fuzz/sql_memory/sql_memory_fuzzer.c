/*
 * A statement during which memory runs out ends with SQLite's "out of memory", or gives the same rows as with enough: never others,
 * and nothing leaks.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "reader/tools/sql/session.h"

#ifdef SQL_IS_BUILT

#define LITTLE ((size_t)4 << 10)

static const char *const statements[] = {
    "SELECT label, thread, count(*), max(args), sum(self) FROM spans GROUP BY label, thread",
    "SELECT s.id, p.id, p.args FROM spans s JOIN spans p ON p.id = s.parent",
    "SELECT percentile(dur, 50), count(category) FROM spans WHERE label IN ('label 1') OR depth = 2",
};

struct context {
    sqlite3 *db;
    const char *sql;
    uint64_t expected; /* of a run that does not fail */
};

/* The rows in any order; FAILING_NO_MEMORY: that was the error. */
static uint64_t run(sqlite3 *db, const char *sql, bool fails)
{
    sqlite3_stmt *statement = NULL;
    uint64_t all = 0;
    int code = SQLITE_OK;
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    if (fails)
        failing_start();
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        uint64_t row = 0;
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const unsigned char *text = sqlite3_column_text(statement, i);
            for (int k = sqlite3_column_bytes(statement, i); k > 0; k--)
                row = failing_mix(row, text[k - 1]);
            row = failing_mix(row, (uint64_t)i);
        }
        all += row;
    }
    failing_stop();
    sqlite3_finalize(statement);
    REQUIRE(code == SQLITE_DONE || code == SQLITE_NOMEM || code == SQLITE_ERROR);
    return code == SQLITE_DONE ? all : FAILING_NO_MEMORY;
}

static void step(void *of)
{
    struct context *context = of;
    uint64_t seen = run(context->db, context->sql, true);
    REQUIRE(seen == context->expected || (seen == FAILING_NO_MEMORY && failing_count() > 0));
}

static void try_all(const struct failing_plan *plan, struct session *session)
{
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        struct context context = {.db = session->db, .sql = statements[i]};
        sql_context_limit(session->context, LITTLE);
        context.expected = run(session->db, statements[i], false);
        failing_run(plan, step, &context);
        sql_context_limit(session->context, 1024 * LITTLE);
        failing_run(plan, step, &context);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct session session = {0};
    struct tbed_tables *tables;
    char *message = NULL;
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL || !session_open(&session)) {
        tbed_reader_close(reader);
        return 0;
    }
    REQUIRE(tbed_tables_of_reader(reader, &tables) == TBED_OK);
    REQUIRE(sql_context_add(session.context, "input", tables) == TBED_OK);
    REQUIRE(sql_attach(session.db, session.context, "input", "main", &message) == SQLITE_OK);
    try_all(&plan, &session);
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
