/*
 * The texts of a picture: names that cannot do harm, times on a ruler.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_TEXTS_H
#define TRACEBED_VIEW_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXTS_NAME_NBYTES 200                         /* so much of a name is looked at */
#define TEXTS_NBYTES      (4 * TEXTS_NAME_NBYTES + 8) /* so much may be shown, terminated */

/*
 * A text that can be drawn: its first bytes, everything that cannot be seen or that moves other text as escapes, and U+FFFD for
 * what is no character.
 */
void texts_visible(char shown[TEXTS_NBYTES], const char *text, size_t nbytes);

/* The length of a label that decides its color: an ellipsis is added to one that is longer. */
size_t texts_cut(const char *label, size_t nbytes);

/* ---- The ruler ---- */

/* The distance of two marks, at least 'least': 1, 2 or 5 times a power of ten. */
double texts_step(double least);

/* A time in ns, or a plain number, in the unit of the greatest and with the digits that a step shows: "1.250 ms". */
#define TEXTS_TIME_NBYTES 64
void texts_moment(char shown[TEXTS_TIME_NBYTES], double value, double step, double most, bool is_time);

#endif
