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

/*
 * Replaces a bound id, or a stack's, by the id of its string. Errors: STRING_UNBOUND ('*id' is then the id that is
 * not bound, perhaps a location), STRING_CYCLE, STRING_DEPTH.
 */
enum tbed_status tbed_bindings_follow(const struct tbed_reader *reader, uint32_t *id);

#endif
