/*
 * Strings, call stacks and types.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_TEXTS_H
#define TRACEBED_WRITER_TEXTS_H

#include "tracebed/writer.h"
#include "writer/store/store.h"

/* ---- string_write.c ---- */
/* A new entry. The caller holds 'state_lock'. */
uint32_t tbed_text_alloc(struct tbed_store *store, const char *text, size_t nbytes);
/* tbed_string_alloc() for a caller that holds 'state_lock'. */
uint32_t tbed_string_alloc_locked(struct tbed_store *store, const struct tbed_component *components,
                                  size_t count);

/* ---- intern.c ---- */
/* The id of a text; a new entry if it has none yet. The caller holds 'state_lock'. */
uint32_t tbed_intern_locked(struct tbed_store *store, const char *text, size_t nbytes);
/* The first of 'count' reserved ids bound to these strings, the same each time; at most 8. INVALID: none (counted). */
uint32_t tbed_names_intern(struct tbed_writer *writer, const uint32_t *ids, size_t count);
/*
 * A text that has an id. Its memory stays until tbed_intern_free(), but is all zero once tbed_intern_close() has given it
 * back.
 */
struct tbed_known {
    uint32_t id;
    uint32_t nbytes;
    char text[]; /* with a terminator; of a text of more than 60 KiB, nothing */
};
/* tbed_string_intern() that also finds the text's copy; NULL: there is none. */
uint32_t tbed_known_intern(struct tbed_writer *writer, const char *text, size_t nbytes,
                           const struct tbed_known **known_ret);
/* From now on nothing is found. The memory goes; the addresses stay valid until tbed_intern_free(). */
void tbed_intern_close(struct tbed_store *store);
void tbed_intern_free(struct tbed_store *store);

/* ---- stack_write.c ---- */
/* The memory of known stacks goes; a thread that is still looking finds nothing. */
void tbed_stacks_forget(struct tbed_store *store);
void tbed_stacks_free(struct tbed_store *store);

/* ---- type_write.c; the same for types ---- */
void tbed_types_forget(struct tbed_store *store);
void tbed_types_free(struct tbed_store *store);

#endif
