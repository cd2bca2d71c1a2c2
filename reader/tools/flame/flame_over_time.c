/*
 * A chart of live memory over time as a self-contained SVG file: the least and the most of each part of the time as a band,
 * the mean as a line, and the figures of the part under the pointer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flame/flame.h"

#include <math.h>
#include <string.h>

#define WIDTH       1200
#define HEIGHT      420
#define LEFT        90
#define TOP         64
#define PLOT_WIDTH  1080
#define PLOT_HEIGHT 310
#define PARTS       540u /* two units wide each */
#define LINES       4u
#define TIMES       6u

struct chart {
    const struct flame *flame;
    uint64_t most; /* bytes */
    size_t part_count;
};

enum tbed_status flame_over_time_make(struct flame *flame)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = flame->jobs,
                                            .moment_count = PARTS,
                                            .by_size = true,
                                            .filter = flame->filter.filter};
    struct tbed_allocation_sums sums;
    enum tbed_status status = tbed_allocations_make(flame->reader, &options, &flame->allocations);
    if (status != TBED_OK)
        return status;
    tbed_allocations_totals(flame->allocations, &sums);
    flame->totals.span_count = sums.count;
    return TBED_OK;
}

static const struct tbed_allocation_moment *part_at(const struct chart *chart, size_t index)
{
    return tbed_allocations_moment(chart->flame->allocations, index);
}

static double x_of(const struct chart *chart, size_t part)
{
    return LEFT + (double)part / (double)chart->part_count * PLOT_WIDTH;
}

static double y_of(const struct chart *chart, uint64_t nbytes)
{
    return TOP + PLOT_HEIGHT * (chart->most > 0 ? 1 - (double)nbytes / (double)chart->most : 1);
}

/* When a part begins, since the start of the trace: in nanoseconds, or in ticks if they do not measure time. */
static double time_of(const struct chart *chart, const struct tbed_allocation_moment *part)
{
    const struct flame *flame = chart->flame;
    uint64_t ticks = part->tick - flame->info.first_tick;
    return flame->info.clock == TBED_CLOCK_USER ? (double)ticks : tbed_tick_span_to_ns(flame->reader, ticks);
}

static void put_time(const struct chart *chart, double time)
{
    char figure[32];
    if (chart->flame->info.clock == TBED_CLOCK_USER)
        fputs(tool_format_count(figure, time < 0x1p64 ? (uint64_t)time : UINT64_MAX), chart->flame->out);
    else
        fputs(tool_format_ns(figure, time), chart->flame->out);
}

/* ---- The parts ---- */

static void put_band(const struct chart *chart)
{
    FILE *out = chart->flame->out;
    fputs("<path fill=\"#a8c7fa\" d=\"M", out);
    for (size_t i = 0; i < chart->part_count; i++)
        fprintf(out, "%.1f,%.1f %.1f,%.1f ", x_of(chart, i), y_of(chart, part_at(chart, i)->peak_nbytes),
                x_of(chart, i + 1), y_of(chart, part_at(chart, i)->peak_nbytes));
    for (size_t i = chart->part_count; i-- > 0;)
        fprintf(out, "%.1f,%.1f %.1f,%.1f ", x_of(chart, i + 1), y_of(chart, part_at(chart, i)->least_nbytes),
                x_of(chart, i), y_of(chart, part_at(chart, i)->least_nbytes));
    fputs("Z\"/>\n<polyline fill=\"none\" stroke=\"#0b57d0\" stroke-width=\"1.5\" points=\"", out);
    for (size_t i = 0; i < chart->part_count; i++)
        fprintf(out, "%.1f,%.1f ", (x_of(chart, i) + x_of(chart, i + 1)) / 2,
                y_of(chart, part_at(chart, i)->mean_nbytes));
    fputs("\"/>\n", out);
}

/* Transparent, for its title. */
static void put_part(const struct chart *chart, size_t index)
{
    const struct tbed_allocation_moment *part = part_at(chart, index);
    FILE *out = chart->flame->out;
    char figure[32];
    fprintf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill-opacity=\"0\"><title>",
            x_of(chart, index), TOP, x_of(chart, index + 1) - x_of(chart, index), PLOT_HEIGHT);
    put_time(chart, time_of(chart, part));
    fprintf(out, ": %s", tool_format_bytes(figure, (double)part->mean_nbytes));
    fprintf(out, " live, from %s", tool_format_bytes(figure, (double)part->least_nbytes));
    fprintf(out, " to %s;", tool_format_bytes(figure, (double)part->peak_nbytes));
    fprintf(out, " %s allocation%s</title></rect>\n", tool_format_count(figure, part->count),
            part->count == 1 ? "" : "s");
}

/* ---- The page ---- */

static void put_head(const struct chart *chart)
{
    const struct flame *flame = chart->flame;
    FILE *out = flame->out;
    struct tbed_allocation_sums sums;
    char figure[32];
    tbed_allocations_totals(flame->allocations, &sums);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "style=\"max-width:100%%;height:auto\">\n"
            "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text class=\"h\" x=\"10\" y=\"24\">",
            WIDTH, HEIGHT, WIDTH, HEIGHT, flame_style);
    flame_put_xml(out, flame->title, strlen(flame->title), 100);
    fprintf(out, "</text>\n<text class=\"s\" x=\"10\" y=\"43\">Live memory over time: %s",
            tool_format_bytes(figure, (double)chart->most));
    fprintf(out, " at most at one time; %s allocation%s", tool_format_count(figure, sums.count),
            sums.count == 1 ? "" : "s");
    fprintf(out, ", of which %s in all were never freed</text>\n",
            tool_format_bytes(figure, (double)sums.live_nbytes));
}

/* The least of 1, 2, 5, 10, 20, 50, ... of which at most TIMES fit into a length. */
static double round_step(double length)
{
    static const double firsts[] = {1, 2, 5};
    double step = 1;
    for (double power = 1; length / step > TIMES; power *= 10)
        for (size_t i = 0; i < 3 && length / step > TIMES; i++)
            step = firsts[i] * power;
    return step;
}

/* At round times. */
static void put_times(const struct chart *chart)
{
    FILE *out = chart->flame->out;
    double begin = time_of(chart, part_at(chart, 0));
    double last = time_of(chart, part_at(chart, chart->part_count - 1));
    double part = chart->part_count > 1 ? (last - begin) / (double)(chart->part_count - 1) : 1;
    double length = part * (double)chart->part_count, step = round_step(length);
    double first = ceil(begin / step);
    for (unsigned i = 0; i <= TIMES && (first + i) * step < begin + length; i++) {
        double time = (first + i) * step, x = LEFT + (time - begin) / length * PLOT_WIDTH;
        fprintf(out, "<path stroke=\"#999\" d=\"M%.1f,%d v5\"/><text class=\"s\" x=\"%.1f\" y=\"%d\">", x,
                TOP + PLOT_HEIGHT, x, TOP + PLOT_HEIGHT + 20);
        put_time(chart, time);
        fputs("</text>\n", out);
    }
}

/* Lines at the largest power of two that gives as few as wanted, and at its multiples. */
static void put_lines(const struct chart *chart)
{
    FILE *out = chart->flame->out;
    uint64_t step = 1;
    char figure[32];
    while (chart->most / step > LINES)
        step *= 2;
    for (uint64_t nbytes = 0, lines = chart->most / step + 1; lines > 0; lines--, nbytes += step) {
        double y = y_of(chart, nbytes);
        fprintf(out,
                "<path stroke=\"#ddd\" d=\"M%d,%.1f H%d\"/><text class=\"s\" x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%s</text>\n",
                LEFT, y, LEFT + PLOT_WIDTH, LEFT - 8, y + 4, tool_format_bytes(figure, (double)nbytes));
    }
}

size_t flame_over_time(const struct flame *flame)
{
    struct chart chart = {.flame = flame};
    const struct tbed_allocation_moment *part;
    for (; (part = part_at(&chart, chart.part_count)) != NULL && part->tick <= flame->info.last_tick;
         chart.part_count++)
        chart.most = part->peak_nbytes > chart.most ? part->peak_nbytes : chart.most;
    put_head(&chart);
    put_lines(&chart);
    if (chart.part_count > 0)
        put_times(&chart);
    put_band(&chart);
    for (size_t i = 0; i < chart.part_count && !ferror(flame->out); i++)
        put_part(&chart, i);
    fputs("</svg>\n", flame->out);
    return chart.part_count;
}
