/*
 * From event words to 'struct tbed_event'.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DECODE_H
#define TRACEBED_DECODE_H

#include "format/event.h"

#include <tracebed/reader.h>

/*
 * Decodes a PAIR, an EXTENDED record or an unknown word: 'word' is its first word, at 'at' < 'end'. The caller sets
 * the stream, id, tick and offset of '*event'.
 *
 * Errors: EVENT_TAG, EVENT_LENGTH, EVENT_ARGUMENT; '*event' is then half filled.
 */
enum tbed_status tbed_decode_long(uint64_t word, const uint64_t *at, const uint64_t *end,
                                  struct tbed_event *event, size_t *nwords_ret);

#endif
