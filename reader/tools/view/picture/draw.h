/*
 * What is drawn of a picture whose layout is known.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_DRAW_H
#define TRACEBED_VIEW_DRAW_H

#include "reader/tools/view/picture/rows.h"

/* The color of a label. */
struct looks_color draw_color(const struct picture *picture, const struct tbed_name *label);

void draw_track(const struct picture *picture, const struct picture_panel *panel, const struct row *row);
void draw_async(const struct picture *picture, const struct picture_panel *panel, const struct row *row);
void draw_counter(const struct picture *picture, const struct picture_panel *panel, const struct row *row);
void draw_memory(const struct picture *picture, const struct picture_panel *panel, const struct row *row);

/* Of flows, over the rows: from each of their points to the next. */
void draw_arrows(const struct picture *picture, const struct picture_panel *panel);

/* The headings on the left, and the lines between rows. */
void draw_heads(const struct picture *picture, const struct picture_panel *panel);

/* Above the rows: the title and the ruler, whose lines cross the rows; below them the legend. */
void draw_title(const struct picture *picture, const struct picture_panel *panel);
void draw_ruler(const struct picture *picture, const struct picture_panel *panel);
void draw_legend(const struct picture *picture, const struct picture_panel *panel);

#endif
