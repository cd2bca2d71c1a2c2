/*
 * Drawing by cairo, and fonts by fontconfig; see canvas.h.
 *
 * The libraries are loaded when they are needed, so that no other command depends on them, or waits for what they load.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/view/canvas/canvas.h"

#include "reader/tools/shared/tool.h"

#include "format/base/utf8.h"

#define INSTALL_HINT "Install it (Debian: libcairo2-dev)"

#if __has_include(<cairo/cairo.h>) && __has_include(<fontconfig/fontconfig.h>)

#include <cairo/cairo.h>
#include <dlfcn.h>
#include <errno.h>
#include <fontconfig/fontconfig.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAIRO           "libcairo.so.2"
#define FONTCONFIG      "libfontconfig.so.1"
#define TEXT_NBYTES_MAX 1024
#define STRIPE          6.0
#define CLIPS_MAX       8 /* within each other */
#define WRITE_FAILED    CAIRO_STATUS_WRITE_ERROR

#define CAIRO_CALLS(X)                                                                                       \
    X(image_surface_create)                                                                                  \
    X(surface_destroy)                                                                                       \
    X(surface_write_to_png_stream)                                                                           \
    X(create)                                                                                                \
    X(destroy)                                                                                               \
    X(status)                                                                                                \
    X(save)                                                                                                  \
    X(restore)                                                                                               \
    X(clip)                                                                                                  \
    X(new_path)                                                                                              \
    X(rectangle)                                                                                             \
    X(move_to)                                                                                               \
    X(line_to)                                                                                               \
    X(close_path)                                                                                            \
    X(fill)                                                                                                  \
    X(stroke)                                                                                                \
    X(set_line_width)                                                                                        \
    X(set_line_join)                                                                                         \
    X(set_source_rgba)                                                                                       \
    X(set_font_size)                                                                                         \
    X(select_font_face)                                                                                      \
    X(font_extents)                                                                                          \
    X(text_extents)                                                                                          \
    X(show_text)

/* The functions of the library, by their names without "cairo_". */
struct library {
#define MEMBER(name) __typeof__(cairo_##name) *name;
    CAIRO_CALLS(MEMBER)
#undef MEMBER
};

/* The font that the context has. */
struct font {
    enum canvas_font kind; /* CANVAS_FONT_COUNT: none has been chosen */
    double rise;           /* of its base line below the middle of a line */
};

struct canvas {
    struct library cairo;
    cairo_surface_t *surface;
    cairo_t *context;
    struct font font;
    struct font outside[CLIPS_MAX]; /* that of before each clip, to which the context returns with its end */
    size_t clip_count;
    bool has_line; /* points were added */
};

/* ---- Libraries ---- */

static void *load(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        tool_complain("view: %s", dlerror());
        tool_hint(INSTALL_HINT ".");
    }
    return handle;
}

static bool find(void *handle, const char *name, void *function_ret)
{
    void *found = dlsym(handle, name);
    memcpy(function_ret, &found, sizeof found);
    if (found == NULL)
        tool_complain("view: %s", dlerror());
    return found != NULL;
}

static bool load_cairo(struct library *library)
{
    void *handle = load(CAIRO);
    if (handle == NULL)
        return false;
#define FIND(name)                                                                                           \
    if (!find(handle, "cairo_" #name, &library->name))                                                       \
        return false;
    CAIRO_CALLS(FIND)
#undef FIND
    return true;
}

/* Without one, cairo draws texts with letters of its own, or boxes. */
static bool has_font(void)
{
    __typeof__(FcInit) *init;
    __typeof__(FcConfigGetFonts) *get_fonts;
    void *handle = load(FONTCONFIG);
    if (handle == NULL || !find(handle, "FcInit", &init) || !find(handle, "FcConfigGetFonts", &get_fonts))
        return false;
    const FcFontSet *fonts = init() ? get_fonts(NULL, FcSetSystem) : NULL;
    if (fonts != NULL && fonts->nfont > 0)
        return true;
    tool_complain("view: fontconfig finds no font for the texts of the picture");
    tool_hint("Install one (Debian: fonts-dejavu-core).");
    return false;
}

struct canvas *canvas_open(void)
{
    struct canvas *canvas = calloc(1, sizeof *canvas);
    if (canvas == NULL)
        tool_out_of_memory();
    canvas->font.kind = CANVAS_FONT_COUNT;
    if (!load_cairo(&canvas->cairo) || !has_font()) {
        free(canvas);
        return NULL;
    }
    return canvas;
}

void canvas_begin(struct canvas *canvas, unsigned width, unsigned height)
{
    canvas->surface = canvas->cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    canvas->context = canvas->cairo.create(canvas->surface);
    canvas->cairo.set_line_join(canvas->context, CAIRO_LINE_JOIN_ROUND);
    /* A failure shows when the picture is written. */
}

void canvas_close(struct canvas *canvas)
{
    if (canvas == NULL)
        return;
    if (canvas->context != NULL) {
        canvas->cairo.destroy(canvas->context);
        canvas->cairo.surface_destroy(canvas->surface);
    }
    free(canvas);
}

/* ---- Shapes ---- */

static void set_color(struct canvas *canvas, uint32_t color, double opacity)
{
    canvas->cairo.set_source_rgba(canvas->context, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0,
                                  (color & 255) / 255.0, opacity);
}

void canvas_fill(struct canvas *canvas, double x, double y, double width, double height, uint32_t color,
                 double opacity)
{
    set_color(canvas, color, opacity);
    canvas->cairo.rectangle(canvas->context, x, y, width, height);
    canvas->cairo.fill(canvas->context);
}

void canvas_hatch(struct canvas *canvas, double x, double y, double width, double height, uint32_t color,
                  double opacity)
{
    canvas_clip(canvas, x, y, width, height);
    double from = x - height - (double)((uint64_t)(x + height) % (uint64_t)STRIPE);
    for (double at = from; at < x + width; at += STRIPE) {
        canvas->cairo.move_to(canvas->context, at, y + height);
        canvas->cairo.line_to(canvas->context, at + height, y);
    }
    set_color(canvas, color, opacity);
    canvas->cairo.set_line_width(canvas->context, STRIPE / 3);
    canvas->cairo.stroke(canvas->context);
    canvas_unclip(canvas);
}

void canvas_mark(struct canvas *canvas, double x, double y, double half_width, double height, uint32_t color)
{
    canvas->cairo.move_to(canvas->context, x - half_width, y);
    canvas->cairo.line_to(canvas->context, x + half_width, y);
    canvas->cairo.line_to(canvas->context, x, y + height);
    canvas->cairo.close_path(canvas->context);
    set_color(canvas, color, 1);
    canvas->cairo.fill(canvas->context);
}

void canvas_line_to(struct canvas *canvas, double x, double y)
{
    if (canvas->has_line)
        canvas->cairo.line_to(canvas->context, x, y);
    else
        canvas->cairo.move_to(canvas->context, x, y);
    canvas->has_line = true;
}

void canvas_line_end(struct canvas *canvas, double line_width, uint32_t color)
{
    set_color(canvas, color, 1);
    canvas->cairo.set_line_width(canvas->context, line_width);
    canvas->cairo.stroke(canvas->context);
    canvas->has_line = false;
}

void canvas_clip(struct canvas *canvas, double x, double y, double width, double height)
{
    canvas->outside[canvas->clip_count++ % CLIPS_MAX] = canvas->font;
    canvas->cairo.save(canvas->context);
    canvas->cairo.rectangle(canvas->context, x, y, width, height);
    canvas->cairo.clip(canvas->context);
}

void canvas_unclip(struct canvas *canvas)
{
    canvas->cairo.restore(canvas->context);
    canvas->font = canvas->outside[--canvas->clip_count % CLIPS_MAX];
}

/* ---- Texts ---- */

static void use_font(struct canvas *canvas, enum canvas_font font)
{
    static const double sizes[CANVAS_FONT_COUNT] = {10.5, 11.5, 11.5, 15};
    cairo_font_extents_t extents;
    if (canvas->font.kind == font)
        return;
    canvas->cairo.select_font_face(canvas->context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                                   font >= CANVAS_BOLD ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    canvas->cairo.set_font_size(canvas->context, sizes[font]);
    canvas->cairo.font_extents(canvas->context, &extents);
    canvas->font = (struct font){font, (extents.ascent - extents.descent) / 2};
}

static double measure(struct canvas *canvas, const char *text)
{
    cairo_text_extents_t extents;
    canvas->cairo.text_extents(canvas->context, text, &extents);
    return extents.x_advance;
}

double canvas_text_width(struct canvas *canvas, enum canvas_font font, const char *text)
{
    use_font(canvas, font);
    return measure(canvas, text);
}

/* As much of the text as fits, with an ellipsis; empty if that would be all. */
static double cut(struct canvas *canvas, const char *text, double room, char shown[TEXT_NBYTES_MAX + 4])
{
    size_t low = 0, high = strnlen(text, TEXT_NBYTES_MAX); /* what fits, and what does not */
    double width = 0;
    while (low + 1 < high) {
        size_t middle = tbed_utf8_cut_nbytes((const uint8_t *)text, low + (high - low) / 2);
        if (middle <= low) { /* within a character */
            middle = low + 1;
            while (middle < high && ((uint8_t)text[middle] & 0xC0) == 0x80)
                middle++;
            if (middle >= high)
                break;
        }
        memcpy(shown, text, middle);
        memcpy(shown + middle, "…", sizeof "…");
        double wide = measure(canvas, shown);
        low = wide <= room ? middle : low;
        high = wide <= room ? high : middle;
        width = wide <= room ? wide : width;
    }
    memcpy(shown, text, low);
    memcpy(shown + low, low > 0 ? "…" : "", low > 0 ? sizeof "…" : 1);
    return width;
}

double canvas_text(struct canvas *canvas, double x, double middle, double room, enum canvas_font font,
                   const char *text, uint32_t color)
{
    char shown[TEXT_NBYTES_MAX + 4];
    use_font(canvas, font);
    bool is_whole = strnlen(text, TEXT_NBYTES_MAX + 1) <= TEXT_NBYTES_MAX;
    double width = is_whole ? measure(canvas, text) : room + 1;
    if (width > room) {
        width = cut(canvas, text, room, shown);
        text = shown;
    }
    if (*text == '\0')
        return 0;
    set_color(canvas, color, 1);
    canvas->cairo.new_path(canvas->context);
    canvas->cairo.move_to(canvas->context, x, (double)(int64_t)(middle + canvas->font.rise + 0.5));
    canvas->cairo.show_text(canvas->context, text);
    canvas->cairo.new_path(canvas->context);
    return width;
}

/* ---- The file ---- */

static cairo_status_t write_all(void *context, const unsigned char *bytes, unsigned nbytes)
{
    const int *fd = context;
    while (nbytes > 0) {
        ssize_t written = write(*fd, bytes, nbytes);
        if (written < 0 && errno != EINTR)
            return WRITE_FAILED;
        bytes += written > 0 ? written : 0;
        nbytes -= written > 0 ? (unsigned)written : 0;
    }
    return CAIRO_STATUS_SUCCESS;
}

bool canvas_write(struct canvas *canvas, int fd)
{
    cairo_status_t status = canvas->cairo.status(canvas->context);
    if (status == CAIRO_STATUS_SUCCESS)
        status = canvas->cairo.surface_write_to_png_stream(canvas->surface, write_all, &fd);
    if (status != CAIRO_STATUS_SUCCESS && status != WRITE_FAILED)
        errno = 0;
    return status == CAIRO_STATUS_SUCCESS;
}

#else

/* Nothing is drawn on a canvas that cannot be opened. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct canvas *canvas_open(void)
{
    tool_complain("view: this program was built without libcairo2");
    tool_hint(INSTALL_HINT " and build tracebed again.");
    return NULL;
}

void canvas_begin(struct canvas *canvas, unsigned width, unsigned height) {}

void canvas_close(struct canvas *canvas) {}

void canvas_fill(struct canvas *canvas, double x, double y, double width, double height, uint32_t color,
                 double opacity)
{
}

void canvas_hatch(struct canvas *canvas, double x, double y, double width, double height, uint32_t color,
                  double opacity)
{
}

void canvas_mark(struct canvas *canvas, double x, double y, double half_width, double height, uint32_t color)
{
}

void canvas_line_to(struct canvas *canvas, double x, double y) {}

void canvas_line_end(struct canvas *canvas, double line_width, uint32_t color) {}

void canvas_clip(struct canvas *canvas, double x, double y, double width, double height) {}

void canvas_unclip(struct canvas *canvas) {}

double canvas_text(struct canvas *canvas, double x, double middle, double room, enum canvas_font font,
                   const char *text, uint32_t color)
{
    return 0;
}

double canvas_text_width(struct canvas *canvas, enum canvas_font font, const char *text)
{
    return 0;
}

bool canvas_write(struct canvas *canvas, int fd)
{
    return false;
}

#endif
