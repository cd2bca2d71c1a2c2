/*
 * What the Chrome trace-event export writes for ids, messages and arguments.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_JSON_H
#define TRACEBED_EXCHANGE_CHROME_JSON_H

#include "reader/core/base/json.h"

#include <tracebed/reader.h>

/*
 * The text of an id: "<unknown>" if it has none; cut after 64 KiB. 'buffer' has CHROME_TEXT_MAX bytes. '*no_memory'
 * becomes true if there is no memory to keep it.
 */
#define CHROME_TEXT_MAX 65536u
size_t tbed_chrome_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer, bool *no_memory);

/* Writes an argument's value. 'buffer' as above. */
void tbed_chrome_value(struct tbed_text *text, const struct tbed_reader *reader,
                       const struct tbed_argument *argument, char *buffer);

#endif
