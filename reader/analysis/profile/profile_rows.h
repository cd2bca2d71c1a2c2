/*
 * A finished profile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_ROWS_H
#define TRACEBED_PROFILE_ROWS_H

#include "reader/analysis/profile/profile_take.h"

struct tbed_profile {
    struct tbed_profile_totals totals;
    struct tbed_profile_row *rows;
    size_t row_count;
    struct tbed_artifact_row *artifacts;
    size_t artifact_count;
    char **texts; /* of both */
    size_t text_count;
    struct tbed_profile_damage *damages;
    size_t damage_count;
    char unit[17];
};

/* Rows from labels and cells, ordered by label; the labels' texts become the profile's. False: no memory. */
bool tbed_profile_make_rows(struct tbed_profile *profile, struct profile_labels *labels,
                            const struct profile_cell *cells);

#endif
