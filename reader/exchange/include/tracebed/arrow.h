/*
 * tracebed/arrow.h: tables as a stream of Apache Arrow.
 *
 * Arrow's C data interface is three structs that any program can declare for itself, so this costs no dependency: pandas,
 * Polars, DuckDB, R and others take such a stream without Arrow's library on this side.
 *
 *     struct ArrowArrayStream stream;
 *     tbed_scan_open(tables, tbed_table_find("spans"), NULL, &scan, NULL);
 *     tbed_scan_arrow(scan, &stream);     the scan belongs to the stream now
 *     hand &stream to the consumer, which calls stream.release(&stream) at the end
 *
 * A batch is a struct array ("+s") with a child for each column that the scan fills, all nullable: I64 is "l", U64 "L", F64
 * "g", TEXT "u", and NAME "i" with a dictionary of "u". Batches share a dictionary until the scan meets new names; a code means
 * the same in all of them. Arrow's texts are UTF-8, so each byte that is not part of a code point becomes U+FFFD.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ARROW_H
#define TRACEBED_ARROW_H

#include <tracebed/tables.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From the specification, "The Arrow C data interface" and "The Arrow C stream interface". */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/*
 * tbed_scan_arrow() makes a scan a stream of Arrow.
 *
 * Ownership: the scan is the stream's, which closes it when it is released; the tables must stay open until then. On failure
 *            it stays the caller's. Batches and schemas are the consumer's, and may outlive the stream and the tables.
 * Memory:    values are copied once, from the scan's batch to the consumer's: the scan reuses its own.
 * Errors:    ERR_MEMORY. The stream's calls return ENOMEM, ECANCELED, or EOVERFLOW for a batch with more than 2 GiB of text.
 * Threads:   a stream belongs to one thread at a time; what it returned may be released by any.
 */
enum tbed_status tbed_scan_arrow(struct tbed_scan *scan, struct ArrowArrayStream *stream_ret);

#ifdef __cplusplus
}
#endif
#endif
