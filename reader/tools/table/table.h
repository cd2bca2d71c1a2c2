/*
 * Tables that commands print: as text for people, as CSV and as rows in JSON. A command describes its columns once; --columns
 * and --sort choose among them.
 *
 * Words:  a column's 'key' is what --columns and --sort call it. Its 'field' is its name in CSV and JSON, where a unit
 *         follows: "self" becomes "self_ns", or "self_ticks" if the clock does not measure time. A '*' in a field stands for
 *         the place of the unit: "self*_change".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLE_H
#define TRACEBED_TABLE_H

#include "reader/tools/shared/tool.h"

enum table_unit {
    TABLE_TEXT,
    TABLE_COUNT,
    TABLE_TICKS,
    TABLE_DURATION, /* ticks between two events: below the step of the clock, they were not measured */
    TABLE_BYTES,
    TABLE_PERCENT,
    TABLE_NUMBER,
};

/* What one row has in one column. */
struct table_value {
    bool is_unknown;  /* '-' in text, empty in CSV, 0 or null in JSON */
    double number;    /* of every column but texts: for text and for the order */
    uint64_t whole;   /* of counts, ticks and bytes: for CSV and JSON; an int64_t if the column has a sign */
    const char *text; /* valid until the second value after this one, so that two can be compared */
    size_t nbytes;
};

static inline struct table_value table_value_of(uint64_t whole)
{
    return (struct table_value){.number = (double)whole, .whole = whole};
}

static inline struct table_value table_text_of(const char *text, size_t nbytes)
{
    return (struct table_value){.text = text, .nbytes = nbytes};
}

struct table;

/* A getter of 'value', an expression of 'row', a struct 'type'. */
#define TABLE_GETTER(getter, type, value)                                                                    \
    static struct table_value getter(const struct table *table, const void *of)                              \
    {                                                                                                        \
        const struct type *row = of;                                                                         \
        (void)table;                                                                                         \
        return value;                                                                                        \
    }

struct table_column {
    const char *key, *field, *title; /* NULL: 'field' and 'title' are the key */
    enum table_unit unit;
    bool is_in_order;  /* rows are given in the order of this column, by address */
    bool rises;        /* sorted from the smallest on, although it is a figure */
    bool has_fraction; /* CSV and JSON have 'number', in nanoseconds if it is a time */
    bool has_sign;     /* of changes */
    size_t width;      /* of figures, in text; 0: the usual one */
    struct table_value (*get)(const struct table *table, const void *row);
    /* The text for people, if it is not the value's; may be NULL. */
    void (*show)(const struct table *table, const void *row, struct tool_buffer *text);
    /* Of figures: the color in text, "" for none; may be NULL. */
    const char *(*color)(const struct table *table, const void *row);
    /* The fields in JSON, if they are not the value; may be NULL. */
    void (*json)(struct tbed_json *json, const struct table *table, const void *row);
};

struct table_clock {
    const struct tbed_reader *reader; /* NULL: ticks are nanoseconds, or count something else */
    bool is_time;
    double resolution_ns; /* digits below it are not shown */
    uint64_t step_ticks;
};

/* Was a duration of so many ticks not measured, because the clock moves by more at a time? */
bool table_is_below_step(const struct table_clock *clock, uint64_t ticks);

/* A duration, such as "1.24 ms", or "<10.0 ns" if it was not measured. 'exact' is 'ticks', or a mean. */
const char *table_format_duration(const struct table_clock *clock, char buffer[40], uint64_t ticks,
                                  double exact);

/* Prints a line that says what that means. */
void table_put_step(const struct table_clock *clock);

struct table {
    const char *key;  /* in JSON and CSV, such as "async_spans" */
    const char *what; /* in text, such as "asynchronous spans" */
    const struct table_column *columns;
    size_t column_count;
    const char *name_title;                  /* of the column "name", if it is not the usual one */
    const char *text_columns, *data_columns; /* shown by default: keys, separated by commas */
    const char *order;   /* sorted by these keys, by default; '+' before one: rising; NULL: as given */
    const char *ties;    /* rows that are equal by the keys are sorted by these; may be NULL */
    bool has_frames;     /* each line of a name is shown on one of its own */
    const void *context; /* the command's */
    const char *file;    /* for the column "trace" */
    bool has_many_files; /* so it has no column "trace" */
    const struct table_clock *clock;
    /* Whether the row has a '*' before its name, in text; may be NULL. */
    bool (*is_marked)(const struct table *table, const void *row);
    /* Remarks behind the last column, in text; may be NULL. */
    void (*notes)(const struct table *table, const void *row, struct tool_buffer *text);

    const void **rows;
    size_t count, shown; /* the first 'shown' of 'count' */
};

/* The arguments of --columns and --sort. All zeros: the defaults. */
#define TABLE_KEYS_MAX 64
struct table_keys {
    struct table_key {
        const char *key;
        int sign; /* of the order; 0: texts rise, figures fall */
    } items[TABLE_KEYS_MAX];
    size_t count;
    char *text; /* owned */
};

/*
 * Parse a list of keys of any of these tables. '-' and '+' before a key of --sort mean falling and rising. Returns NULL, or
 * what is wrong. table_keys_free() frees them.
 */
const char *table_columns_parse(struct table_keys *keys, const struct table *tables, size_t count,
                                const char *text);
const char *table_sort_parse(struct table_keys *keys, const struct table *tables, size_t count,
                             const char *text);
void table_keys_free(struct table_keys *keys);

/* Whether the key is among them. */
bool table_keys_have(const struct table_keys *keys, const char *key);

/* The column with this key; NULL: the table has none. */
const struct table_column *table_column_find(const struct table *table, const char *key);

/* Whether the table has any of the columns that were asked for, other than its name. */
bool table_is_asked_for(const struct table *table, const struct table_keys *columns);

/* Rows that are equal by all keys, and those without any, stay in the order in which they were given: by address. */
void table_sort(struct table *table, const struct table_keys *keys);

/* Gives the table 'count' rows of 'row_nbytes' each, sorted, of which 'limit' are shown. The caller frees 'table->rows'. */
void table_fill(struct table *table, const void *rows, size_t row_nbytes, size_t count,
                const struct table_keys *sort, size_t limit);

/* Printing. 'columns' without any: the defaults. */
void table_print_text(const struct table *table, const struct table_keys *columns);
/* A line below the table; its name, and nothing in columns without a value. */
void table_print_total(const struct table *table, const struct table_keys *columns, const void *row,
                       const char *name);
/* An array of objects, with the key of the table. */
void table_print_json(struct tbed_json *json, const struct table *table, const struct table_keys *columns);
/* The rows of several tables have all of their columns; 'has_header' is false for a second file. */
void table_print_csv(const struct table *const *tables, size_t count, const struct table_keys *columns,
                     bool has_header);

/* Does the environment say that the terminal shows UTF-8? */
bool table_has_utf8(void);
/* A bar of up to 'width' columns, in eighths of a column where the terminal has them. */
void table_put_bar(double part, size_t width);
/* A line of bars beside each other, each of a part of 1; 0 is empty. At most 'width' columns. */
void table_put_levels(const double *parts, size_t count, size_t width);

/* For the files of this folder. */
size_t table_choose(const struct table *table, const struct table_keys *columns, const char *defaults,
                    const struct table_column *chosen[TABLE_KEYS_MAX]);
uint64_t table_whole(const struct table *table, const struct table_column *column,
                     const struct table_value *value); /* ticks in nanoseconds */
void table_field(const struct table *table, const struct table_column *column, char field[64]);

#endif
