/*
 * Functions for queries about times: percentile(x, p), median(x), format_ns(x) and format_bytes(x).
 *
 * A percentile is the least value that at least p percent of the values do not exceed: always one of the values, never
 * between two.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/number_text.h"
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

#include <math.h>

/* ---- Percentiles ---- */

/* The values of a group: integers, until the first that is none. */
struct sample {
    union {
        int64_t *integers;
        double *reals;
    };
    size_t count, room;
    double percent;
    bool has_reals, has_percent;
};

static bool grow(struct sample *sample)
{
    size_t room = sample->room > 0 ? 2 * sample->room : 64;
    int64_t *grown = sqlite3_realloc64(sample->integers, room * sizeof *grown);
    if (grown == NULL)
        return false;
    sample->integers = grown;
    sample->room = room;
    return true;
}

static void make_real(struct sample *sample)
{
    for (size_t i = 0; i < sample->count && !sample->has_reals; i++)
        sample->reals[i] = (double)sample->integers[i];
    sample->has_reals = true;
}

static void add(sqlite3_context *context, struct sample *sample, sqlite3_value *value)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL)
        return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        sqlite3_result_error(context, "percentile(): the value is not a number", -1);
        return;
    }
    if (sample->count == sample->room && !grow(sample)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (type == SQLITE_FLOAT)
        make_real(sample);
    if (sample->has_reals)
        sample->reals[sample->count++] = sqlite3_value_double(value);
    else
        sample->integers[sample->count++] = sqlite3_value_int64(value);
}

static void percentile_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sample *sample = sqlite3_aggregate_context(context, sizeof *sample);
    double percent = count == 2 ? sqlite3_value_double(values[1]) : 50;
    if (sample == NULL)
        return;
    if (!(percent >= 0 && percent <= 100) || (sample->has_percent && sample->percent != percent)) {
        sqlite3_result_error(context, "percentile(): the second argument is not a constant from 0 to 100",
                             -1);
        return;
    }
    sample->percent = percent;
    sample->has_percent = true;
    add(context, sample, values[0]);
}

/* The index of the percentile among sorted values. */
static size_t rank_of(const struct sample *sample)
{
    double share = tbed_as_double(sample->percent / 100);
    double rank = ceil(tbed_as_double(share * (double)sample->count));
    return rank < 1 ? 0 : rank > (double)sample->count ? sample->count - 1 : (size_t)rank - 1;
}

#define STEPS_MAX 100 /* of a selection; bad luck, or a hostile order of values, ends in sorting */

/* The value that would be at 'rank' if the values were sorted; moves values around. */
#define SELECT(function, type)                                                                               \
    static int compare_##function(const void *a, const void *b)                                              \
    {                                                                                                        \
        type x, y;                                                                                           \
        memcpy(&x, a, sizeof x);                                                                             \
        memcpy(&y, b, sizeof y);                                                                             \
        return (x > y) - (x < y);                                                                            \
    }                                                                                                        \
    static type function(type *values, size_t count, size_t rank)                                            \
    {                                                                                                        \
        size_t low = 0, high = count - 1;                                                                    \
        for (unsigned step = 0; low < high && step < STEPS_MAX; step++) {                                    \
            type pivot = values[low + (high - low) / 2];                                                     \
            size_t i = low, k = high;                                                                        \
            for (;;) {                                                                                       \
                while (values[i] < pivot)                                                                    \
                    i++;                                                                                     \
                while (values[k] > pivot)                                                                    \
                    k--;                                                                                     \
                if (i >= k)                                                                                  \
                    break;                                                                                   \
                type other = values[i];                                                                      \
                values[i++] = values[k];                                                                     \
                values[k--] = other;                                                                         \
            }                                                                                                \
            if (rank <= k)                                                                                   \
                high = k;                                                                                    \
            else                                                                                             \
                low = k + 1;                                                                                 \
        }                                                                                                    \
        if (low < high)                                                                                      \
            qsort(values + low, high - low + 1, sizeof *values, compare_##function);                         \
        return values[rank];                                                                                 \
    }

SELECT(select_integer, int64_t)
SELECT(select_real, double)

static void percentile_final(sqlite3_context *context)
{
    struct sample *sample = sqlite3_aggregate_context(context, 0);
    if (sample == NULL)
        return;
    if (sample->count > 0 && sample->has_reals)
        sqlite3_result_double(context, select_real(sample->reals, sample->count, rank_of(sample)));
    else if (sample->count > 0)
        sqlite3_result_int64(context, select_integer(sample->integers, sample->count, rank_of(sample)));
    sqlite3_free(sample->integers);
}

/* ---- Figures for people ---- */

struct unit {
    double factor;
    const char *name;
};

static void put_figure(sqlite3_context *context, sqlite3_value *value, const struct unit *units, size_t count)
{
    int type = sqlite3_value_numeric_type(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return;
    double number = sqlite3_value_double(value);
    size_t at = 0;
    while (at + 1 < count && fabs(number) >= units[at + 1].factor)
        at++;
    bool is_whole = at == 0 && type == SQLITE_INTEGER;
    char *text = is_whole ? sqlite3_mprintf("%lld %s", sqlite3_value_int64(value), units[0].name)
                          : sqlite3_mprintf("%.2f %s", number / units[at].factor, units[at].name);
    if (text == NULL)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text(context, text, -1, sqlite3_free);
}

static void format_ns(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const struct unit units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
    (void)count;
    put_figure(context, values[0], units, sizeof units / sizeof units[0]);
}

static void format_bytes(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const struct unit units[] = {{1, "B"},
                                        {1024., "KiB"},
                                        {1024. * 1024, "MiB"},
                                        {1024. * 1024 * 1024, "GiB"},
                                        {1024. * 1024 * 1024 * 1024, "TiB"}};
    (void)count;
    put_figure(context, values[0], units, sizeof units / sizeof units[0]);
}

int sql_functions_install(sqlite3 *db)
{
    static const struct {
        const char *name;
        int argument_count;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
        void (*step)(sqlite3_context *, int, sqlite3_value **);
        void (*final)(sqlite3_context *);
    } functions[] = {
        {"percentile", 2, NULL, percentile_step, percentile_final},
        {"median", 1, NULL, percentile_step, percentile_final},
        {"format_ns", 1, format_ns, NULL, NULL},
        {"format_bytes", 1, format_bytes, NULL, NULL},
    };
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof functions / sizeof functions[0]; i++)
        code = sqlite3_create_function_v2(db, functions[i].name, functions[i].argument_count,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                          functions[i].call, functions[i].step, functions[i].final, NULL);
    return code;
}

#endif
