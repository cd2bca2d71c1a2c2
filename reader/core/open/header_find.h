/*
 * The fields of the header page that never change, from the header page or from a copy of it.
 *
 * Source: spec/format.md, sections 3.1 and 4.3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_HEADER_FIND_H
#define TRACEBED_HEADER_FIND_H

#include "reader/core/file/reader_state.h"

/*
 * Sets 'header', 'fixed' and 'has_copy' of a reader that has its map and its list of damage. If the header page is damaged
 * and a copy is intact, the damage is added to the list.
 *
 * Errors: the header's, if there is no copy either.
 */
enum tbed_status tbed_header_find(struct tbed_reader *reader, struct tbed_error *error);

#endif
