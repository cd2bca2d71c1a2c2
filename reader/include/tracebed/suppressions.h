/*
 * tracebed/suppressions.h: memory that is never freed on purpose, and does not count as leaked.
 *
 * The patterns are those of LeakSanitizer: "leak:PATTERN" on a line of its own. '*' stands for any text, '^' at the start
 * and '$' at the end for the start and the end of the name; elsewhere, a pattern matches anywhere. Empty lines and lines
 * that begin with '#' are ignored.
 *
 * A block is suppressed if a pattern matches the function, the source file or the module of any frame of the call stack that
 * allocated it, or "MODULE!FUNCTION" with the last part of the module's path, and nothing behind the '!' if the function is
 * not known. If several match, it belongs to the innermost frame that has any, and to the first pattern of that frame.
 *
 * Threads: any number of threads may use the suppressions while none adds to them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SUPPRESSIONS_H
#define TRACEBED_SUPPRESSIONS_H

#include <tracebed/format.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tbed_suppressions;

/*
 * Makes a list of suppressions, which is empty, or has those that are built in: of what the C++ library and the C library
 * allocate once and keep until the process ends. Patterns that are added come before these.
 *
 * Ownership: the list is the caller's; free it with tbed_suppressions_close(), after all analyses that used it.
 * Errors:    ERR_MEMORY.
 */
enum tbed_status tbed_suppressions_open(bool with_built_in, struct tbed_suppressions **suppressions_ret);
void tbed_suppressions_close(struct tbed_suppressions *suppressions); /* NULL is allowed */

/*
 * Adds the suppressions of a text, such as the contents of a file for LeakSanitizer or valgrind.
 *
 * Errors: ERR_ARGUMENT: a line is neither a part of one nor ignored, or the last "}" is missing; '*line_ret' is its number, from 1, and nothing was added.
 *         ERR_MEMORY.
 */
enum tbed_status tbed_suppressions_add(struct tbed_suppressions *suppressions, const char *text,
                                       size_t nbytes, size_t *line_ret);

/* How many suppressions of valgrind were skipped, because they are about other errors than leaks. */
size_t tbed_suppressions_skipped_count(const struct tbed_suppressions *suppressions);

#ifdef __cplusplus
}
#endif
#endif
