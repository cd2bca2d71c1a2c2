/*
 * The colors of a picture: those of the page, in its two themes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_LOOKS_H
#define TRACEBED_VIEW_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct looks {
    uint32_t back, raised, sunken, line, line_strong, text, faint, accent, bad, warn, plot;
    uint32_t label; /* of texts in spans */
    bool is_dark;
};

struct looks looks_of_theme(bool is_dark);

/* Of a label: the same in every trace. 'joined' is weaker, for several spans together. */
struct looks_color {
    uint32_t fill, joined;
};
struct looks_color looks_of_label(const struct looks *looks, const char *label, size_t nbytes);

/* A color that covers another with this opacity. */
uint32_t looks_mix(uint32_t below, uint32_t above, double opacity);

#endif
