/*
 * What an id means, for the files of this room. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ID_INFO_H
#define TRACEBED_ID_INFO_H

#include "reader/core/strings/string_walk.h"

#include <stdint.h>

/* The reader's resolver and its lock. */
struct tbed_lookup;
void tbed_lookup_free(struct tbed_lookup *lookup); /* NULL is fine */

/* What kind of thing an id is, and where. '*location_ret' says at least which id bindings and stacks lead to. */
enum tbed_id_kind tbed_id_find(const struct tbed_reader *reader, uint32_t id,
                               struct tbed_location *location_ret);

/* Is it a place in code? */
bool tbed_id_is_place(const struct tbed_reader *reader, uint32_t id);

/* As tbed_id_frames(). '*complete' becomes false if there is no memory to keep a text, which is then NULL. */
size_t tbed_place_frames(const struct tbed_reader *reader, const struct tbed_location *location,
                         struct tbed_frame *frames, size_t capacity, bool *complete);

/* The last part of the module's path; NULL: it has no name. '*complete' is as above. */
const char *tbed_module_name(const struct tbed_reader *reader, const struct tbed_unit_info *unit,
                             bool *complete);

/* As tbed_id_resolve(). '*complete' is as above. */
struct tbed_id_info tbed_id_describe(const struct tbed_reader *reader, uint32_t id, bool *complete);

/*
 * Spells an id that is a place in code.
 *
 * Errors: TBED_END: it is none, and nothing is written; ERR_MEMORY: parts are spelled as if they were unknown.
 */
enum tbed_status tbed_place_spell(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part,
                                  char *buffer, size_t buffer_nbytes, size_t *nbytes_ret);

/* As tbed_id_text(), but TBED_NO_MEMORY if there is no memory to keep a part of the text. */
#define TBED_NO_MEMORY SIZE_MAX
size_t tbed_id_spell(const struct tbed_reader *reader, uint32_t id, enum tbed_name_part part, char *buffer,
                     size_t buffer_nbytes);

/* As tbed_argument_text(), but TBED_NO_MEMORY if there is no memory for an id's text. */
size_t tbed_argument_spell(const struct tbed_reader *reader, const struct tbed_argument *argument,
                           char *buffer, size_t buffer_nbytes);

#endif
