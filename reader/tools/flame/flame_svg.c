/*
 * Flame graphs as a self-contained SVG file. Callers are above their callees, siblings are sorted by time, and a label
 * has the same color in every drawing.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flame/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH        1200
#define MARGIN       10
#define FRAME_HEIGHT 18
#define FRAMES_TOP   72
#define FOOT_HEIGHT  34
#define CHAR_WIDTH   7.25 /* of the font in the style sheet */

/* The position of a row, as a fraction of the whole. */
struct spot {
    double x, width;
    double next; /* the left edge of its next child */
};

struct drawing {
    const struct flame *flame;
    struct spot *spots;
    uint64_t all; /* ticks */
    uint32_t depth_count;
    struct flame_drawn drawn;
};

/* ---- Text ---- */

/* Code points that XML cannot represent (controls, surrogates, U+FFFE) are shown as \xHH. */
void flame_put_xml(FILE *out, const char *text, size_t nbytes, size_t columns)
{
    char *clean = NULL;
    size_t clean_nbytes = 0;
    FILE *stream = open_memstream(&clean, &clean_nbytes);
    if (stream == NULL)
        return;
    if (columns == 0 || tool_text_width(text, nbytes) <= columns)
        tool_print_text(stream, text, nbytes, 0);
    else
        tool_print_text(stream, text, nbytes, columns);
    fclose(stream);
    for (size_t i = 0; i < clean_nbytes; i++) {
        const char *at = clean + i;
        bool no_character = clean_nbytes - i >= 3 && memcmp(at, "\xEF\xBF", 2) == 0 && (uint8_t)at[2] >= 0xBE;
        if (no_character) {
            fprintf(out, "\\xef\\xbf\\x%02x", (uint8_t)at[2]);
            i += 2;
        } else if (*at == '&')
            fputs("&amp;", out);
        else if (*at == '<')
            fputs("&lt;", out);
        else if (*at == '>')
            fputs("&gt;", out);
        else if (*at == '"')
            fputs("&quot;", out);
        else
            putc_unlocked(*at, out);
    }
    free(clean);
}

static void put_amount(const struct flame *flame, uint64_t ticks)
{
    char figure[32];
    if (flame->weight == FLAME_COUNT) {
        fprintf(flame->out, "%s allocation%s", tool_format_count(figure, ticks), ticks == 1 ? "" : "s");
        return;
    }
    if (flame->weight != FLAME_TIME) {
        fputs(tool_format_bytes(figure, (double)ticks), flame->out);
        return;
    }
    if (flame->info.clock != TBED_CLOCK_USER) {
        fputs(tool_format_ns(figure, (double)flame_value(flame, ticks)), flame->out);
        return;
    }
    fprintf(flame->out, "%s ", tool_format_count(figure, ticks));
    flame_put_xml(flame->out, flame->info.clock_unit, strlen(flame->info.clock_unit), 0);
}

/* ---- Layout ---- */

static const struct tbed_stack_row *row_at(const struct drawing *drawing, size_t index)
{
    return flame_row(drawing->flame, index);
}

struct sibling {
    size_t parent; /* + 1; 0 for roots */
    uint64_t ticks;
    size_t row;
};

static int compare_siblings(const void *left, const void *right)
{
    const struct sibling *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->ticks != b->ticks)
        return a->ticks > b->ticks ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The rows in the order in which they are placed: parents first, siblings by size. NULL if there is no memory. */
static struct sibling *sort_siblings(const struct drawing *drawing, size_t count)
{
    struct sibling *siblings = malloc((count + 1) * sizeof *siblings);
    for (size_t i = 0; siblings != NULL && i < count; i++) {
        const struct tbed_stack_row *row = row_at(drawing, i);
        siblings[i] = (struct sibling){row->parent == SIZE_MAX ? 0 : row->parent + 1, row->total_ticks, i};
    }
    if (siblings != NULL && count > 1)
        qsort(siblings, count, sizeof *siblings, compare_siblings);
    return siblings;
}

static bool lay_out(struct drawing *drawing, size_t count)
{
    struct sibling *siblings = sort_siblings(drawing, count);
    drawing->spots = calloc(count + 1, sizeof *drawing->spots);
    if (siblings == NULL || drawing->spots == NULL) {
        free(siblings);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (siblings[i].parent == 0)
            drawing->all =
                siblings[i].ticks > UINT64_MAX - drawing->all ? UINT64_MAX : drawing->all + siblings[i].ticks;
    double next = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sibling *sibling = &siblings[i];
        struct spot *spot = &drawing->spots[sibling->row];
        double *at = sibling->parent == 0 ? &next : &drawing->spots[sibling->parent - 1].next;
        spot->x = spot->next = *at;
        spot->width = drawing->all > 0 ? (double)sibling->ticks / (double)drawing->all : 0;
        *at += spot->width;
    }
    free(siblings);
    return true;
}

static bool is_narrow(const struct drawing *drawing, size_t index)
{
    return drawing->spots[index].width < drawing->flame->minimum;
}

static void measure(struct drawing *drawing, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tbed_stack_row *row = row_at(drawing, i);
        if (is_narrow(drawing, i)) {
            drawing->drawn.narrow_count++;
            continue;
        }
        drawing->drawn.frame_count++;
        if (row->depth >= drawing->depth_count)
            drawing->depth_count = row->depth + 1;
    }
}

/* ---- Frames ---- */

/* A pale color derived from the label; roots are gray. In a comparison, that of the change. */
static void put_color(const struct flame *flame, size_t index)
{
    const struct tbed_stack_row *row = flame_row(flame, index);
    FILE *out = flame->out;
    if (flame->olds != NULL) {
        flame_diff_put_color(flame, index);
        return;
    }
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < row->label_nbytes; i++)
        hash = (hash ^ (uint8_t)row->label[i]) * 16777619u;
    hash ^= hash >> 15;
    if (row->depth < flame->root_depth)
        fputs(row->depth == 0 ? "#d6d6d6" : "#e4e4e4", out);
    else
        fprintf(out, "hsl(%u,%u%%,%u%%)", hash % 360, 55 + (hash >> 9) % 20, 72 + (hash >> 16) % 9);
}

/* How the self time of a row changed, in its title. */
static void put_self_change(const struct flame *flame, size_t index)
{
    double change = flame_self_change(flame, index);
    double old = (double)flame->olds[index].self * flame->old_scale;
    if (!flame->olds[index].present) {
        fputs(" (new)", flame->out);
        return;
    }
    fprintf(flame->out, " (%s", change < 0 ? "-" : "+");
    put_amount(flame, tbed_round_u64(fabs(change)));
    if (old > 0)
        fprintf(flame->out, ", %+.1f %%", 100 * change / old);
    putc_unlocked(')', flame->out);
}

static void put_title(const struct drawing *drawing, size_t index)
{
    const struct tbed_stack_row *row = row_at(drawing, index);
    const struct flame *flame = drawing->flame;
    FILE *out = flame->out;
    char figure[32];
    uint64_t above = row->parent == SIZE_MAX ? 0 : row_at(drawing, row->parent)->total_ticks;
    fputs("<title>", out);
    flame_put_xml(out, row->label, row->label_nbytes, 0);
    putc_unlocked('\n', out);
    put_amount(flame, row->total_ticks);
    fprintf(out, ", %.2f %% of all",
            drawing->all > 0 ? 100 * (double)row->total_ticks / (double)drawing->all : 0);
    if (row->parent != SIZE_MAX)
        fprintf(out, ", %.2f %% of its parent",
                above > 0 ? 100 * (double)row->total_ticks / (double)above : 0);
    fputs("; itself ", out);
    put_amount(flame, row->self_ticks);
    if (flame->olds != NULL)
        put_self_change(flame, index);
    const char *counted = row->depth < flame->root_depth ? "thread" : "span";
    fprintf(out, "; %s %s%s</title>", tool_format_count(figure, row->count),
            flame->weight != FLAME_TIME ? "allocation" : counted, row->count == 1 ? "" : "s");
}

static void put_frame(const struct drawing *drawing, size_t index)
{
    const struct tbed_stack_row *row = row_at(drawing, index);
    const struct spot *spot = &drawing->spots[index];
    FILE *out = drawing->flame->out;
    double x = MARGIN + spot->x * (WIDTH - 2 * MARGIN), width = spot->width * (WIDTH - 2 * MARGIN);
    unsigned y = FRAMES_TOP + row->depth * FRAME_HEIGHT;
    fprintf(out, "<g class=\"f\" data-x=\"%.9f\" data-w=\"%.9f\" data-d=\"%u\">", spot->x, spot->width,
            row->depth);
    put_title(drawing, index);
    fprintf(out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"", x, y, width, FRAME_HEIGHT);
    put_color(drawing->flame, index);
    fputs("\"/>", out);
    if (width >= 2 * CHAR_WIDTH + 6) {
        fprintf(out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
        flame_put_xml(out, row->label, row->label_nbytes, (size_t)((width - 6) / CHAR_WIDTH));
        fputs("</text>", out);
    }
    fputs("</g>\n", out);
}

/* ---- The page ---- */

static void put_legend(const struct flame *flame)
{
    fputs("; red frames took more time themselves than before, blue ones less (up to ", flame->out);
    put_amount(flame, tbed_round_u64(flame->largest_change));
    fputs(flame->is_normalized ? ", with equal totals)" : ")", flame->out);
}

static void put_head(const struct drawing *drawing)
{
    const struct flame *flame = drawing->flame;
    const struct tbed_stacks_totals *totals = &flame->totals;
    FILE *out = flame->out;
    char spans[32], streams[32];
    unsigned height = FRAMES_TOP + drawing->depth_count * FRAME_HEIGHT + FOOT_HEIGHT;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n"
            "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text class=\"h\" x=\"%u\" y=\"24\">",
            WIDTH, height, WIDTH, height, flame_style, MARGIN);
    flame_put_xml(out, flame->title, strlen(flame->title), 100);
    if (flame->olds != NULL) {
        fputs(" compared with ", out);
        flame_put_xml(out, flame->old_title, strlen(flame->old_title), 100);
    }
    fprintf(out, "</text>\n<text class=\"s\" x=\"%u\" y=\"43\">", MARGIN);
    put_amount(flame, drawing->all);
    if (flame->weight != FLAME_TIME)
        fprintf(out, " %s", flame_weight_text(flame->weight));
    else
        fprintf(out, " in %s thread%s: %s span%s", tool_format_count(streams, totals->stream_count),
                totals->stream_count == 1 ? "" : "s", tool_format_count(spans, totals->span_count),
                totals->span_count == 1 ? "" : "s");
    if (flame->olds != NULL)
        put_legend(flame);
    fputs("</text>\n", out);
    fprintf(out,
            "<text class=\"s b\" id=\"reset\" x=\"%u\" y=\"62\" style=\"display:none\">show all</text>\n"
            "<text class=\"s\" id=\"detail\" x=\"%u\" y=\"62\"/>\n"
            "<text class=\"s\" id=\"found\" x=\"%u\" y=\"24\" text-anchor=\"end\"/>\n",
            MARGIN, MARGIN + 70, WIDTH - 240);
}

static void put_foot(const struct drawing *drawing)
{
    const struct flame *flame = drawing->flame;
    char figure[32];
    fprintf(flame->out, "<text class=\"s\" x=\"%u\" y=\"%u\">", MARGIN,
            FRAMES_TOP + drawing->depth_count * FRAME_HEIGHT + 22);
    if (drawing->drawn.narrow_count > 0)
        fprintf(flame->out, "%s stacks of less than %.3g %% are not drawn. ",
                tool_format_count(figure, drawing->drawn.narrow_count), flame->minimum * 100);
    if (flame->gone_count > 0) {
        bool is_one = flame->gone_count == 1;
        fprintf(flame->out, "%s stack%s that took ", tool_format_count(figure, flame->gone_count),
                is_one ? "" : "s");
        put_amount(flame, tbed_round_u64(flame->gone_self));
        fputs(is_one ? " itself is gone. " : " themselves are gone. ", flame->out);
    }
    if (flame->totals.negative_count > 0)
        fprintf(flame->out, "Spans overlap without nesting in %s stacks: they look longer than they were. ",
                tool_format_count(figure, flame->totals.negative_count));
    if (flame->totals.unknown_count > 0)
        fprintf(flame->out, "%s spans without a known begin are not in it.",
                tool_format_count(figure, flame->totals.unknown_count));
    fprintf(flame->out, "</text>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_script);
}

bool flame_svg(const struct flame *flame, struct flame_drawn *drawn_ret)
{
    struct drawing drawing = {.flame = flame};
    size_t count = 0;
    while (row_at(&drawing, count) != NULL)
        count++;
    bool enough = lay_out(&drawing, count);
    if (enough) {
        measure(&drawing, count);
        put_head(&drawing);
        for (size_t i = 0; i < count && !ferror(flame->out); i++)
            if (!is_narrow(&drawing, i))
                put_frame(&drawing, i);
        put_foot(&drawing);
    }
    *drawn_ret = drawing.drawn;
    free(drawing.spots);
    return enough;
}
