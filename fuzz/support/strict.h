/*
 * Strict parsers of what the program writes. They accept what the standards do and nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_STRICT_H
#define TRACEBED_FUZZ_STRICT_H

#include <stdbool.h>
#include <stddef.h>

/* JSON texts (RFC 8259) in UTF-8, each on a line of its own. */
bool is_json_lines(const char *text, size_t nbytes);

/* A well-formed XML document in UTF-8, without a DTD. Not checked: the characters of names, namespaces. */
bool is_xml(const char *text, size_t nbytes);

/* Folded stacks: lines "LABEL;LABEL NUMBER". */
bool is_folded(const char *text, size_t nbytes);

#endif
