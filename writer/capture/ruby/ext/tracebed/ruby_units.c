/*
 * What location ids mean: an instruction sequence becomes a unit, with its complete line map, when it is first seen
 * and so before the first event in it. The trace of a killed process resolves without Ruby.
 *
 * A sequence is identified by its body, which the garbage collector does not move; its entry is removed when it is
 * freed. A new sequence with the path, label and line map of an older one (an eval in a loop) gets the older one's
 * unit. Code that comes from no file can be made without end: after the first EXACT_MAX units of such code, those that
 * differ only in numbers (in path and label) and in their first line share a unit; after as many of these, all do.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ruby_tracebed.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ruby_unit ruby_unit;

struct known { /* kept if objects may be asked about */
    uint32_t first_id, id_count, first_line;
    char *path;
    uint32_t *lines; /* pairs (pc, line) */
    size_t line_count;
};
static struct known *known;
static size_t known_count, known_capacity;

static struct ruby_table units;   /* body -> first id, pc count in the high half */
static struct ruby_table shapes;  /* hash of path, label and lines -> the same */
static struct ruby_table methods; /* class, name -> id of a string */
static struct ruby_table places;  /* hash of path and line -> id */

/* ---- Texts ---- */

struct hash {
    uint64_t a, b;
};

static uint64_t stir(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    return hash ^ hash >> 32;
}

static void hash_add(struct hash *hash, const void *bytes, size_t nbytes)
{
    const char *at = bytes;
    uint64_t word;
    for (size_t left = nbytes; left > 0; at += 8) {
        size_t step = left < 8 ? left : 8;
        word = 0;
        memcpy(&word, at, step);
        hash->a = stir(hash->a, word);
        hash->b = stir(hash->b + 0x632BE59BD9B4E019u, word);
        left -= step;
    }
    hash->a = stir(hash->a, nbytes) | 1; /* 0 is not a valid key */
    hash->b = stir(hash->b, ~(uint64_t)nbytes);
}

/* Freed by the caller; NULL: no memory. */
static char *text_copy(VALUE string)
{
    return RB_TYPE_P(string, T_STRING) ? strndup(RSTRING_PTR(string), (size_t)RSTRING_LEN(string))
                                       : strdup("");
}

/* ---- Units ---- */

static void remember(const struct tbed_unit_options *unit, uint32_t first_id)
{
    if (!ruby_session.objects)
        return;
    if (known_count == known_capacity) {
        size_t capacity = known_capacity > 0 ? 2 * known_capacity : 256;
        struct known *more = realloc(known, capacity * sizeof *more);
        if (more == NULL)
            return;
        known = more;
        known_capacity = capacity;
    }
    uint32_t *lines = malloc((2 * unit->line_count + 1) * sizeof *lines);
    char *path = strdup(unit->file);
    if (lines == NULL || path == NULL) {
        free(lines);
        free(path);
        return;
    }
    if (unit->line_count > 0)
        memcpy(lines, unit->lines, 2 * unit->line_count * sizeof *lines);
    known[known_count++] =
        (struct known){first_id, (uint32_t)unit->pc_count, unit->first_line, path, lines, unit->line_count};
}

static uint32_t unit_register(const struct tbed_unit_options *unit)
{
    uint32_t first_id = tbed_unit_register(ruby_session.writer, unit);
    if (first_id != TBED_ID_INVALID)
        remember(unit, first_id);
    return first_id;
}

/*
 * Pairs (pc, line) where the line changes, and one for the sequence as a whole. Code without a line gets the first
 * line, as in Ruby itself. Freed by the caller; NULL: no memory.
 */
static uint32_t *line_map(const void *sequence, uint32_t pc_count, uint32_t first_line, size_t *count_ret)
{
    uint32_t *lines = malloc(2 * ((size_t)pc_count + 1) * sizeof *lines), last = UINT32_MAX;
    size_t count = 0;
    for (uint32_t pc = 0; lines != NULL && pc <= pc_count; pc++) {
        uint32_t line = pc < pc_count ? ruby_sequence.line(sequence, pc) : first_line;
        line = line != 0 ? line : first_line;
        if (line == last)
            continue;
        lines[2 * count] = pc;
        lines[2 * count + 1] = last = line;
        count++;
    }
    *count_ret = count;
    return lines;
}

#define EXACT_MAX 32768
static size_t without_file_count; /* units of code that comes from no file */

/* A number in place of each number. */
static void numbers_fold(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++)
        if (*from < '0' || *from > '9')
            *to++ = *from;
        else if (from[1] < '0' || from[1] > '9')
            *to++ = 'N';
    *to = '\0';
}

/* The unit of this shape, which may come from another sequence. INVALID: there is none yet. */
static uint32_t shape_find(const struct tbed_unit_options *unit, struct hash *hash)
{
    *hash = (struct hash){1, 2};
    hash_add(hash, unit->file, strlen(unit->file));
    hash_add(hash, unit->name, strlen(unit->name));
    hash_add(hash, unit->lines, 2 * unit->line_count * sizeof *unit->lines);
    hash_add(hash, &unit->pc_count, sizeof unit->pc_count);
    struct ruby_entry *entry = ruby_table_find(&shapes, hash->a, hash->b);
    return entry != NULL ? (uint32_t)entry->value : TBED_ID_INVALID;
}

/* Registers it if there are less than 'count_max' units of code without a file; 0: however many there are. */
static uint32_t unit_of_shape(const struct tbed_unit_options *unit, size_t count_max)
{
    struct hash hash;
    uint32_t first_id = shape_find(unit, &hash);
    if (first_id != TBED_ID_INVALID || (count_max != 0 && without_file_count >= count_max))
        return first_id;
    first_id = unit_register(unit);
    if (first_id == TBED_ID_INVALID)
        return first_id;
    without_file_count += count_max != 0;
    ruby_table_add(&shapes, (struct ruby_entry){hash.a, hash.b, 0, first_id});
    return first_id;
}

/* Of code that comes from no file; 'lines' are the unit's. */
static uint32_t unit_of_any(struct tbed_unit_options *unit, char *path, char *label, uint32_t *lines)
{
    uint32_t first_id = unit_of_shape(unit, EXACT_MAX), first_line = unit->first_line;
    if (first_id != TBED_ID_INVALID)
        return first_id;
    numbers_fold(path);
    numbers_fold(label);
    for (size_t i = 0; i < unit->line_count; i++)
        lines[2 * i + 1] = lines[2 * i + 1] >= first_line ? lines[2 * i + 1] - first_line + 1 : 1;
    unit->first_line = 1;
    first_id = unit_of_shape(unit, (size_t)2 * EXACT_MAX);
    if (first_id != TBED_ID_INVALID)
        return first_id;
    uint64_t pc_count = 64;
    while (pc_count < unit->pc_count)
        pc_count *= 2;
    const struct tbed_unit_options any = {.size = sizeof any,
                                          .kind = TBED_UNIT_BYTECODE,
                                          .pc_count = pc_count,
                                          .name = "<other evaluated code>",
                                          .file = ""};
    return unit_of_shape(&any, 0);
}

static struct ruby_callee unit_make(const void *sequence, const void *frame, uint32_t pc_count)
{
    VALUE first_line = ruby_sequence.first_line(sequence);
    char *path = text_copy(ruby_sequence.path(sequence)), *label = ruby_label(sequence, frame);
    struct tbed_unit_options unit = {.size = sizeof unit,
                                     .kind = TBED_UNIT_BYTECODE,
                                     .pc_count = (uint64_t)pc_count + 1,
                                     .name = label,
                                     .file = path,
                                     .first_line = FIXNUM_P(first_line) ? (uint32_t)FIX2LONG(first_line) : 0};
    uint32_t *lines = line_map(sequence, pc_count, unit.first_line, &unit.line_count);
    unit.lines = lines;
    uint32_t first_id;
    bool is_wanted = path == NULL || label == NULL || ruby_is_wanted(label, path);
    if (path == NULL || label == NULL || lines == NULL)
        first_id = TBED_ID_INVALID;
    else if (NIL_P(ruby_sequence.real_path(sequence)))
        first_id = unit_of_any(&unit, path, label, lines);
    else
        first_id = unit_of_shape(&unit, 0);
    free(lines);
    free(label);
    free(path);
    return (struct ruby_callee){first_id, is_wanted};
}

void ruby_unit_find(const void *sequence, const void *frame)
{
    const void *body = ruby_pointer(sequence, RUBY_LAYOUT_SEQUENCE_BODY);
    uint32_t pc_count = (uint32_t)ruby_word(body, RUBY_LAYOUT_BODY_PC_COUNT);
    struct ruby_entry *entry = ruby_table_find(&units, (uint64_t)(uintptr_t)body, 0);
    struct ruby_callee unit;
    if (entry != NULL) {
        unit = (struct ruby_callee){(uint32_t)entry->value, entry->value >> 32 == 0};
    } else {
        unit = unit_make(sequence, frame, pc_count);
        uint64_t value = unit.id | (uint64_t)!unit.is_wanted << 32;
        ruby_table_add(&units, (struct ruby_entry){(uint64_t)(uintptr_t)body, 0, (VALUE)sequence, value});
    }
    ruby_unit = (struct ruby_unit){.body = body,
                                   .code = ruby_pointer(body, RUBY_LAYOUT_BODY_CODE),
                                   .is_wanted = unit.is_wanted,
                                   .first_id = unit.id,
                                   .pc_count = pc_count};
}

/* ---- By path and line ---- */

static uint32_t place_make(rb_trace_arg_t *arg, VALUE path, uint32_t line)
{
    char *file = text_copy(path);
    VALUE method = rb_tracearg_method_id(arg);
    struct tbed_unit_options unit = {.size = sizeof unit,
                                     .kind = TBED_UNIT_BYTECODE,
                                     .pc_count = 1,
                                     .name = SYMBOL_P(method) ? rb_id2name(SYM2ID(method)) : "<main>",
                                     .file = file,
                                     .first_line = line};
    uint32_t id = file != NULL ? unit_register(&unit) : TBED_ID_INVALID;
    free(file);
    return id;
}

uint32_t ruby_location_public(rb_trace_arg_t *arg)
{
    VALUE path = rb_tracearg_path(arg), number = rb_tracearg_lineno(arg);
    if (!RB_TYPE_P(path, T_STRING) || !FIXNUM_P(number))
        return TBED_ID_INVALID;
    uint32_t line = (uint32_t)FIX2LONG(number);
    struct hash hash = {3, line};
    hash_add(&hash, RSTRING_PTR(path), (size_t)RSTRING_LEN(path));
    struct ruby_entry *entry = ruby_table_find(&places, hash.a, hash.b);
    if (entry != NULL)
        return (uint32_t)entry->value;
    uint32_t id = place_make(arg, path, line);
    ruby_table_add(&places, (struct ruby_entry){hash.a, hash.b, 0, id});
    return id;
}

/* ---- Methods ---- */

struct ruby_callee ruby_method_public(rb_trace_arg_t *arg)
{
    if (!ruby_session.exact)
        return (struct ruby_callee){ruby_location_public(arg), true};
    const void *frame = ruby_frame(arg);
    if (frame == NULL)
        return (struct ruby_callee){TBED_ID_INVALID, true};
    ruby_unit_of(frame);
    bool has_id = ruby_unit.first_id != TBED_ID_INVALID;
    return (struct ruby_callee){has_id ? ruby_unit.first_id + ruby_unit.pc_count : TBED_ID_INVALID,
                                ruby_unit.is_wanted};
}

struct ruby_callee ruby_method_of_c(rb_trace_arg_t *arg)
{
    VALUE owner = rb_tracearg_defined_class(arg), method = rb_tracearg_method_id(arg);
    if (!SYMBOL_P(method) || SPECIAL_CONST_P(owner))
        return (struct ruby_callee){TBED_ID_INVALID, true};
    struct ruby_entry *entry = ruby_table_find(&methods, owner, method);
    if (entry != NULL)
        return (struct ruby_callee){(uint32_t)entry->value, entry->value >> 32 == 0};
    struct ruby_callee callee = ruby_method_name(owner, method);
    ruby_table_add(&methods,
                   (struct ruby_entry){owner, method, owner, callee.id | (uint64_t)!callee.is_wanted << 32});
    return callee;
}

/* ---- What they mean, for this process ---- */

/* The last pair at or before the pc. */
static uint32_t line_of(const struct known *unit, uint32_t pc)
{
    size_t low = 0, high = unit->line_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (unit->lines[2 * middle] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? unit->lines[2 * low - 1] : unit->first_line;
}

/* Units are stored in the order of their ids, which increase. */
bool ruby_location_resolve(uint32_t location, const char **path_ret, uint32_t *line_ret)
{
    size_t low = 0, high = known_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (known[middle].first_id <= location)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || location - known[low - 1].first_id >= known[low - 1].id_count)
        return false;
    *path_ret = known[low - 1].path;
    *line_ret = line_of(&known[low - 1], location - known[low - 1].first_id);
    return true;
}

/* ---- The garbage collector ---- */

void ruby_units_drop_dead(void)
{
    ruby_table_drop_dead(&units);
    ruby_table_drop_dead(&methods);
    ruby_stacks_forget();
    ruby_unit = (struct ruby_unit){0};
}

void ruby_units_follow(void)
{
    ruby_table_follow(&units);
    ruby_table_follow(&methods);
    ruby_stacks_forget();
    ruby_unit = (struct ruby_unit){0};
}

void ruby_units_mark(void)
{
    ruby_table_mark(&methods);
}

void ruby_units_clear(void)
{
    ruby_table_clear(&units);
    ruby_table_clear(&shapes);
    ruby_table_clear(&methods);
    ruby_table_clear(&places);
    ruby_stacks_clear();
    ruby_unit = (struct ruby_unit){0};
    for (size_t i = 0; i < known_count; i++) {
        free(known[i].path);
        free(known[i].lines);
    }
    free(known);
    known = NULL;
    known_count = known_capacity = without_file_count = 0;
}
