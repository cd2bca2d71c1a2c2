/*
 * Messages in exported files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_MESSAGE_PUT_H
#define TRACEBED_EXCHANGE_MESSAGE_PUT_H

#include "reader/core/base/text.h"

#include <tracebed/reader.h>

/* Appends the text of a MESSAGE, verbatim. */
void tbed_exchange_message(struct tbed_text *text, const struct tbed_reader *reader,
                           const struct tbed_event *event, enum tbed_message_part part);

#endif
