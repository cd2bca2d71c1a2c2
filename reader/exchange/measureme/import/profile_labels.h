/*
 * The labels of a profile that is read in place, for statistics and tables.
 *
 * Threads: any number may share them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_LABELS_H
#define TRACEBED_PROFILE_LABELS_H

#include "reader/core/names/label.h"
#include "reader/exchange/measureme/file/measureme.h"

#include <tracebed/analysis.h>

struct profile_labels;

/* As tbed_statistics_make_foreign(), for a file that stays open. */
enum tbed_status tbed_profile_statistics(struct mm_file *file, const struct tbed_analysis_options *options,
                                         struct tbed_statistics **statistics_ret);

/* '*strings_ret' is valid until the labels are closed. NULL: no memory. */
struct profile_labels *tbed_profile_labels_open(const struct mm_file *file, struct tbed_text_budget *budget,
                                                struct tbed_label_strings *strings_ret);
void tbed_profile_labels_close(struct profile_labels *labels); /* NULL is allowed */

/* A cheap check: is the label of an id evidently that of another id? */
bool tbed_profile_label_same(const struct profile_labels *labels, uint64_t id, uint64_t *label_id_ret);

#endif
