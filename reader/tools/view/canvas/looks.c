/*
 * The colors of a picture; see looks.h. page/view.css and page/text.js have the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/canvas/looks.h"

#include "reader/core/base/inert.h"

#include <math.h>

struct looks looks_of_theme(bool is_dark)
{
    static const struct looks light = {.back = 0xffffff,
                                       .raised = 0xf5f6f8,
                                       .sunken = 0xeceef2,
                                       .line = 0xd9dde3,
                                       .line_strong = 0xb9c0ca,
                                       .text = 0x171b22,
                                       .faint = 0x566070,
                                       .accent = 0x1f5fd6,
                                       .bad = 0xc22a2a,
                                       .warn = 0x9a6200,
                                       .plot = 0x3b78c9,
                                       .label = 0x10141b};
    static const struct looks dark = {.back = 0x14171c,
                                      .raised = 0x1b1f26,
                                      .sunken = 0x101317,
                                      .line = 0x2b313b,
                                      .line_strong = 0x465060,
                                      .text = 0xe6e9ee,
                                      .faint = 0x9aa5b5,
                                      .accent = 0x7aa8ff,
                                      .bad = 0xff7b72,
                                      .warn = 0xe3b341,
                                      .plot = 0x6ea8ff,
                                      .label = 0xffffff,
                                      .is_dark = true};
    return is_dark ? dark : light;
}

/* ---- The color of a label ---- */

#define HASH_SEED UINT32_C(0x811c9dc5)
#define HUES      36
#define SHADES    3

static uint32_t hash_unit(uint32_t hash, uint32_t unit)
{
    return (hash ^ unit) * UINT32_C(0x01000193);
}

/* Over the text in UTF-16, as a page has it. */
static uint32_t hash_of(const char *text, size_t nbytes)
{
    uint32_t hash = HASH_SEED, code;
    for (size_t i = 0, size; i < nbytes; i += size) {
        size = tbed_code_point((const uint8_t *)text + i, nbytes - i, &code);
        if (size == 0) {
            size = 1;
            code = 0xFFFD;
        }
        if (code >= 0x10000)
            hash = hash_unit(hash, 0xD800 + ((code - 0x10000) >> 10));
        hash = hash_unit(hash, code < 0x10000 ? code : 0xDC00 + (code & 0x3FF));
    }
    hash ^= hash >> 16;
    return hash * UINT32_C(0x45d9f3b);
}

static uint32_t byte_of(double linear)
{
    double value = linear < 0 ? 0 : linear > 1 ? 1 : linear;
    value = value <= 0.0031308 ? 12.92 * value : 1.055 * pow(value, 1 / 2.4) - 0.055;
    return (uint32_t)(255 * value + 0.5);
}

/* A color of OKLCH in sRGB (Björn Ottosson's matrices), less colorful where sRGB has none of that kind. */
static uint32_t rgb_of(double lightness, double chroma, double hue)
{
    for (;; chroma -= 0.01) {
        double a = chroma * cos(hue), b = chroma * sin(hue);
        double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
        double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
        double s = pow(lightness - 0.0894841775 * a - 1.291485548 * b, 3);
        double linear[3] = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                            -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s};
        bool is_outside = false;
        for (int i = 0; i < 3; i++)
            is_outside |= linear[i] < -0.001 || linear[i] > 1.001;
        if (chroma <= 0.01 || !is_outside)
            return byte_of(linear[0]) << 16 | byte_of(linear[1]) << 8 | byte_of(linear[2]);
    }
}

struct looks_color looks_of_label(const struct looks *looks, const char *label, size_t nbytes)
{
    static const double shades[2][SHADES][2] = {{{0.79, 0.1}, {0.85, 0.08}, {0.74, 0.11}},
                                                {{0.46, 0.1}, {0.52, 0.09}, {0.4, 0.09}}};
    uint32_t key = hash_of(label, nbytes) % (HUES * SHADES);
    const double *shade = shades[looks->is_dark][key % SHADES];
    double hue = key / SHADES * (2 * 3.14159265358979323846 / HUES);
    return (struct looks_color){.fill = rgb_of(shade[0], shade[1], hue),
                                .joined = rgb_of(shade[0], shade[1] * 0.55, hue)};
}

uint32_t looks_mix(uint32_t below, uint32_t above, double opacity)
{
    uint32_t mixed = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        double from = below >> shift & 255, to = above >> shift & 255;
        mixed |= (uint32_t)(from + (to - from) * opacity + 0.5) << shift;
    }
    return mixed;
}
