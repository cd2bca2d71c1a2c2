/*
 * JSON as the Chrome trace-event export writes it: pieces of text that are valid JSON by themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_JSON_H
#define TRACEBED_EXCHANGE_CHROME_JSON_H

#include <tracebed/reader.h>

/* Bytes that grow. Start with zeros. Once memory is out, nothing more is added. */
struct chrome_text {
    char *bytes;
    size_t nbytes, room;
    bool is_out_of_memory;
};

void tbed_chrome_put(struct chrome_text *text, const char *bytes, size_t nbytes);
void tbed_chrome_puts(struct chrome_text *text, const char *string); /* as it is */
void tbed_chrome_u64(struct chrome_text *text, uint64_t value);
void tbed_chrome_i64(struct chrome_text *text, int64_t value);
void tbed_chrome_f64(struct chrome_text *text, double value); /* not finite: null, which is JSON's nearest */

/* The text of a MESSAGE, verbatim. */
void tbed_chrome_message(struct chrome_text *text, const struct tbed_reader *reader,
                         const struct tbed_event *event, enum tbed_message_part part);

/* In quotes; control bytes escaped, each byte that is part of no code point as U+FFFD. */
void tbed_chrome_quote(struct chrome_text *text, const char *bytes, size_t nbytes);

/* The text of an id: "<unknown>" if it has none; cut after 64 KiB. 'buffer' has CHROME_TEXT_MAX bytes. */
#define CHROME_TEXT_MAX 65536u
size_t tbed_chrome_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer);

/* An argument's value. 'buffer' as above. */
void tbed_chrome_value(struct chrome_text *text, const struct tbed_reader *reader,
                       const struct tbed_argument *argument, char *buffer);

#endif
