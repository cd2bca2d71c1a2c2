/*
 * Inert text: nothing in a file may move a terminal's cursor, change its colors, reverse a line, or begin a new one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_INERT_H
#define TRACEBED_INERT_H

#include "reader/core/base/text.h"

/*
 * The code point at 'at', which has 'nbytes' > 0 bytes left. Returns its size; 0: there is none, and the byte is not part
 * of a text.
 */
size_t tbed_code_point(const uint8_t *at, size_t nbytes, uint32_t *code_ret);

/* C0 and C1 controls, line and paragraph separators, bidirectional controls, tags, the byte order mark. */
bool tbed_is_control(uint32_t code);

/* How many bytes from 'at' are printable ASCII. */
size_t tbed_printable_nbytes(const uint8_t *at, size_t nbytes);

/*
 * Appends a text with controls written as \xHH for each of their bytes, except those in 'kept' (ASCII). Bytes that are
 * not UTF-8 are kept, unless they are C1 controls of an 8-bit terminal.
 */
void tbed_text_put_inert(struct tbed_text *text, const char *bytes, size_t nbytes, const char *kept);

#endif
