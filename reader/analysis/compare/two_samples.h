/*
 * Whether two samples differ: Yuen's test of trimmed means, which is Welch's t test after the extremes of both samples
 * have been cut off.
 *
 * Of a sample with at least SAMPLE_TRIM_COUNT values, a fifth is cut off at each end, so that runs that were disturbed
 * neither hide a difference nor make one. Smaller samples are taken whole: this is then Welch's test.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TWO_SAMPLES_H
#define TRACEBED_TWO_SAMPLES_H

#include <stddef.h>

#define SAMPLE_TRIM_COUNT 8u

struct sample {
    size_t count;
    double mean;     /* of what is left after trimming */
    double variance; /* of that mean */
    size_t kept;     /* values that are left */
};

/* Sorts the values. 'count' is at least 2. */
struct sample tbed_sample_make(double *values, size_t count);

struct sample_test {
    double difference; /* after - before */
    double margin;     /* half the width of the confidence interval */
    double effect;     /* the difference in standard deviations of a single value; INFINITY if these are 0 */
    double p;          /* that samples of the same distribution differ so much */
};

/* 'alpha' is 1 - the confidence of the interval. */
struct sample_test tbed_samples_test(const struct sample *before, const struct sample *after, double alpha);

/* Student's distribution: the probability of a value beyond +-t; and the t for a probability, which is not 0. */
double tbed_student_p(double t, double freedom);
double tbed_student_t(double p, double freedom);

/* Corrects the probabilities of several tests by Holm's method, in place. 'order' has room for as many. */
void tbed_holm_correct(double *ps, size_t *order, size_t count);

#endif
