/*
 * The texts of a picture; see texts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/canvas/texts.h"

#include "format/base/utf8.h"
#include "reader/core/base/inert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

/* ---- Names ---- */

size_t texts_cut(const char *label, size_t nbytes)
{
    return nbytes > TEXTS_NAME_NBYTES ? tbed_utf8_cut_nbytes((const uint8_t *)label, TEXTS_NAME_NBYTES)
                                      : nbytes;
}

/* Not allowed in text that is exchanged; a library that draws may refuse them. */
static bool is_noncharacter(uint32_t code)
{
    return (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
}

static size_t escape(char *at, const uint8_t *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        const char text[4] = {'\\', 'x', digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        memcpy(at + 4 * i, text, sizeof text);
    }
    return 4 * nbytes;
}

void texts_visible(char shown[TEXTS_NBYTES], const char *text, size_t nbytes)
{
    size_t cut = texts_cut(text, nbytes), to = 0;
    for (size_t i = 0, size; i < cut; i += size) {
        const uint8_t *at = (const uint8_t *)text + i;
        uint32_t code = 0;
        size = tbed_code_point(at, cut - i, &code);
        if (size == 0 || is_noncharacter(code)) {
            size = size == 0 ? 1 : size;
            memcpy(shown + to, REPLACEMENT, 3);
            to += 3;
        } else if (tbed_is_control(code)) {
            to += escape(shown + to, at, size);
        } else {
            memcpy(shown + to, at, size);
            to += size;
        }
    }
    memcpy(shown + to, cut < nbytes ? "…" : "", cut < nbytes ? sizeof "…" : 1);
}

/* ---- Times ---- */

double texts_step(double least)
{
    static const double factors[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(least)));
    size_t i = 0;
    while (i < 3 && factors[i] * power < least * (1 - 1e-9))
        i++;
    return factors[i] * power;
}

static void put_count(char shown[TEXTS_TIME_NBYTES], double value)
{
    char digits[32];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%.0f", fmin(value, 1e20)), to = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            shown[to++] = ',';
        shown[to++] = digits[i];
    }
    shown[to] = '\0';
}

void texts_moment(char shown[TEXTS_TIME_NBYTES], double value, double step, double most, bool is_time)
{
    static const struct {
        const char *name;
        double size;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    size_t unit = 0;
    if (!is_time) {
        put_count(shown, value);
        return;
    }
    double large = fmax(most, step);
    while (unit < 3 && large < units[unit].size * (1 - 1e-9))
        unit++;
    value = fabs(value) < step / 1e6 ? 0 : value; /* no "-0" */
    double digits = ceil(log10(units[unit].size / step) - 1e-9);
    snprintf(shown, TEXTS_TIME_NBYTES, "%.*f %s",
             digits > 12  ? 12
             : digits > 0 ? (int)digits
                          : 0,
             value / units[unit].size, units[unit].name);
}
