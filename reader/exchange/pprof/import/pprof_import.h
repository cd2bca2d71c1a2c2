/*
 * Imports of pprof profiles. Declarations shared by its files: the file (pprof_file.c), which is read twice, because samples
 * may precede what they refer to: first strings, functions and locations (pprof_tables.c), then the samples
 * (pprof_samples.c, pprof_names.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PPROF_IMPORT_H
#define TRACEBED_EXCHANGE_PPROF_IMPORT_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/text.h"
#include "reader/exchange/foreign/foreign_input.h"
#include "reader/exchange/foreign/proto_in.h"
#include "reader/exchange/foreign/sample_import.h"

#define PPROF_TYPES_MAX    64u
#define PPROF_LINES_MAX    128u /* of a location */
#define PPROF_MAPPINGS_MAX 256u
#define PPROF_COMMENTS_MAX 64u
/* Of all strings, and of all tables together; what is beyond is damage. */
#define PPROF_STRINGS_NBYTES_MAX ((size_t)256 << 20)
#define PPROF_TABLE_COUNT_MAX    ((size_t)16 << 20)

struct pprof_type {
    uint64_t type, unit; /* strings */
};

struct pprof_in_function {
    uint64_t key; /* its id, as of all tables */
    uint64_t name, system_name, file;
    uint32_t line;
    uint32_t name_id; /* in the trace */
    bool is_interned;
};

struct pprof_in_line {
    uint64_t function;
    uint32_t line;
};

struct pprof_in_location {
    uint64_t key;
    uint64_t address;
    size_t first_line;
    uint32_t line_count;
    uint32_t name_id; /* of a location without lines */
    bool is_interned;
};

struct pprof_in_mapping {
    uint64_t start, limit, file, build_id;
};

struct pprof_place {
    uint64_t key; /* of the string whose place has been stored */
};

struct pprof_import {
    struct sample_import samples;
    struct foreign_input input;
    struct tbed_import_report *report;
    bool is_first_pass, is_out_of_memory;

    struct tbed_text strings;
    TBED_VECTOR(size_t) string_ends;
    TBED_HASHMAP(struct pprof_in_function) functions;
    TBED_HASHMAP(struct pprof_in_location) locations;
    TBED_HASHMAP(struct pprof_place) places;
    TBED_VECTOR(struct pprof_in_line) lines;
    struct pprof_in_mapping mappings[PPROF_MAPPINGS_MAX];
    uint64_t comments[PPROF_COMMENTS_MAX];
    struct pprof_type types[PPROF_TYPES_MAX], period_type;
    size_t mapping_count, type_count, comment_count;
    uint64_t default_type, period;
    int64_t time_ns, duration_ns;

    /* What is chosen between the passes. */
    size_t value_index;
    uint64_t scale;                     /* nanoseconds of its unit; 0: ticks count it */
    uint32_t type_ids[PPROF_TYPES_MAX]; /* names of the values, as arguments */

    /* Of a sample. */
    TBED_VECTOR(uint64_t) stack;
    int64_t values[PPROF_TYPES_MAX];
    size_t value_count;
};

struct pprof_text {
    const char *text;
    size_t nbytes;
};

/* ---- pprof_tables.c ---- */

/* Takes a field of the profile that is not a sample. False: it is not well-formed. */
bool tbed_pprof_take_table(struct pprof_import *pprof, const struct proto_field *field);

/* A string by its number; empty if there is none. */
struct pprof_text tbed_pprof_text(const struct pprof_import *pprof, uint64_t number);

/* ---- pprof_names.c ---- */

/* Adds the frames of a location to the sample, outermost first. */
void tbed_pprof_frames(struct pprof_import *pprof, uint64_t location);

/* Chooses the value of samples that becomes time. */
void tbed_pprof_choose(struct pprof_import *pprof);

/* The unit of ticks, cut to what a trace has room for; false: they are nanoseconds. */
bool tbed_pprof_unit(const struct pprof_import *pprof, char unit_ret[17]);

/* What the profile says beside samples, as the metadata of the trace. */
void tbed_pprof_put_metadata(struct pprof_import *pprof);

/* ---- pprof_samples.c ---- */

/* Takes a sample. False: it is not well-formed. */
bool tbed_pprof_take_sample(struct pprof_import *pprof, const struct proto_field *field);

/* ---- The registry; see exchange_format.h ---- */

bool tbed_pprof_has_start(const char *start, size_t nbytes);
enum tbed_status tbed_pprof_import(const void *source, int fd, struct tbed_import_report *report,
                                   struct tbed_error *error_ret);

#endif
