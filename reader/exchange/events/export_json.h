/*
 * What exports write for ids, and for arguments as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_JSON_H
#define TRACEBED_EXCHANGE_EXPORT_JSON_H

#include "reader/core/base/json.h"

#include <tracebed/reader.h>

/*
 * The text of an id: "<unknown>" if it has none; cut after 64 KiB. 'buffer' has EXPORT_TEXT_MAX bytes. '*no_memory'
 * becomes true if there is no memory to keep it.
 */
#define EXPORT_TEXT_MAX 65536u
size_t tbed_export_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer, bool *no_memory);

/* Writes an argument's value. 'buffer' as above. */
void tbed_export_value(struct tbed_text *text, const struct tbed_reader *reader,
                       const struct tbed_argument *argument, char *buffer);

/* Appends the text, with U+FFFD for each byte that is not part of a code point. Returns whether there were any. */
bool tbed_export_utf8(struct tbed_text *to, const char *text, size_t nbytes);

#endif
