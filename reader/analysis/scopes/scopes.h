/*
 * What the analyses ask of scopes beside what tracebed/analysis.h has.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SCOPES_H
#define TRACEBED_SCOPES_H

#include <tracebed/analysis.h>

/* The innermost span on the stack, whatever pairs stand in it; NULL: none. Valid until the next event. */
const struct tbed_scope *tbed_scopes_innermost_span(const struct tbed_scopes *scopes);

#endif
