/*
 * What a picture is drawn on: rectangles, lines and texts as pixels, written as a PNG. It knows nothing of traces, and is the
 * only part that knows cairo, which is loaded when it is needed.
 *
 * Colors are 0xRRGGBB with an opacity from 0 to 1; places are pixels from the upper left corner.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_CANVAS_H
#define TRACEBED_VIEW_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

struct canvas;

/* NULL after a complaint: without cairo, or without a font. */
struct canvas *canvas_open(void);

/* Sets the size, once, before anything is drawn. */
void canvas_begin(struct canvas *canvas, unsigned width, unsigned height);
void canvas_close(struct canvas *canvas); /* NULL is allowed */

void canvas_fill(struct canvas *canvas, double x, double y, double width, double height, uint32_t color,
                 double opacity);
/* The same with stripes. */
void canvas_hatch(struct canvas *canvas, double x, double y, double width, double height, uint32_t color,
                  double opacity);
/* A triangle that points down to (x, y + height). */
void canvas_mark(struct canvas *canvas, double x, double y, double half_width, double height, uint32_t color);

/* A line through points that are added one by one, which canvas_line_end() draws. */
void canvas_line_to(struct canvas *canvas, double x, double y);
void canvas_line_end(struct canvas *canvas, double line_width, uint32_t color);

/* Nothing is drawn outside until canvas_unclip(). */
void canvas_clip(struct canvas *canvas, double x, double y, double width, double height);
void canvas_unclip(struct canvas *canvas);

enum canvas_font { CANVAS_SMALL, CANVAS_USUAL, CANVAS_BOLD, CANVAS_TITLE, CANVAS_FONT_COUNT };

/*
 * Draws 'text' in one line around the height 'middle', cut with an ellipsis to 'room'. Returns its width. The text must be
 * one that texts.h has made harmless.
 */
double canvas_text(struct canvas *canvas, double x, double middle, double room, enum canvas_font font,
                   const char *text, uint32_t color);
double canvas_text_width(struct canvas *canvas, enum canvas_font font, const char *text);

/* Writes the PNG. False: see errno, which is 0 if there was no memory. */
bool canvas_write(struct canvas *canvas, int fd);

#endif
