/*
 * Ids that stand for other ids.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LOCATIONS_H
#define TRACEBED_LOCATIONS_H

#include <tracebed/reader.h>

/* What an id stands for: what it is bound to, or the location of a stack. */
bool tbed_id_follow(const struct tbed_reader *reader, uint32_t id, uint32_t *next_ret);

/* From a bound id, or a stack, to the string's own. Errors: STRING_UNBOUND ('*id' is then what is bound to nothing, a
 * location perhaps), STRING_CYCLE, STRING_DEPTH. */
enum tbed_status tbed_bindings_follow(const struct tbed_reader *reader, uint32_t *id);

#endif
