/*
 * The labels of ids, as in statistics: the part of a name before its first U+001E, after grouping.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LABELS_H
#define TRACEBED_LABELS_H

#include "reader/analysis/shared/named.h"

/* Like tbed_named_resolve(), but the texts are labels. The ids are announced as the options ask. */
enum tbed_status tbed_labels_resolve(struct named_texts *texts, struct tbed_reader *reader,
                                     const struct tbed_analysis_options *options, struct named *items,
                                     size_t count);

#endif
