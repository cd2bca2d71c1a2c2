/*
 * Texts of ids, made once and kept with the reader. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_KEPT_NAME_H
#define TRACEBED_KEPT_NAME_H

#include <tracebed/reader.h>

/* Writes the text of an id as tbed_string_resolve() does. '*settled_ret': it can never be another. */
typedef enum tbed_status (*tbed_text_maker)(const struct tbed_reader *reader, uint32_t id, char *buffer,
                                            size_t buffer_nbytes, size_t *nbytes_ret, bool *settled_ret);

/* What is kept of 'id', made by 'maker' if nothing is. Errors: as tbed_name_get(). */
enum tbed_status tbed_kept_name(const struct tbed_reader *reader, uint32_t id, tbed_text_maker maker,
                                struct tbed_name *name_ret);

/* A name that was kept is shown again: long ones are paid for each time, so that a listing ends. */
enum tbed_status tbed_kept_name_pay(const struct tbed_reader *reader, uint32_t id, enum tbed_status status,
                                    struct tbed_name *name);

#endif
