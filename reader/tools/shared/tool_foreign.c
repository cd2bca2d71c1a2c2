/*
 * Opens files of any format as traces. A foreign file is imported into an unnamed trace, and the import report is kept
 * with the reader. Nothing else in the program detects formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>

#define PROFILE_DAMAGE_TOLD_MAX 3
_Static_assert(PROFILE_DAMAGE_TOLD_MAX <= TBED_IMPORT_DAMAGE_KEPT, "they are kept");

/* One per imported reader, kept until the process exits; a command opens few files. */
struct foreign {
    const struct tbed_reader *reader;
    struct tbed_import_report report;
};
static struct foreign *foreigns;
static size_t foreign_count;

static void keep_report(const struct tbed_reader *reader, const struct tbed_import_report *report)
{
    size_t at = 0;
    while (at < foreign_count && foreigns[at].reader != reader && foreigns[at].reader != NULL)
        at++;
    if (at == foreign_count)
        foreigns = tool_realloc(foreigns, ++foreign_count * sizeof *foreigns);
    foreigns[at] = (struct foreign){reader, *report};
}

/* A new reader may have the address of one that was closed. */
static void forget_report(const struct tbed_reader *reader)
{
    for (size_t i = 0; i < foreign_count; i++)
        if (foreigns[i].reader == reader)
            foreigns[i].reader = NULL;
}

const struct tbed_format *tool_format(const char *path)
{
    return strcmp(path, "-") == 0 ? NULL : tbed_format_of_file(path);
}

const char *tool_format_name(const struct tbed_format *format)
{
    return format != NULL ? format->name : "trace";
}

enum tbed_status tool_open_any(const char *path, int fd, struct tbed_reader **reader_ret,
                               struct tbed_error *error_ret)
{
    struct tbed_import_report report;
    const struct tbed_format *format = path != NULL ? tbed_format_of_file(path) : tbed_format_of_fd(fd);
    enum tbed_status status;
    if (format == NULL) {
        status = path != NULL ? tbed_reader_open(path, NULL, reader_ret, error_ret)
                              : tbed_reader_open_fd(fd, NULL, reader_ret, error_ret);
        if (status == TBED_OK) {
            forget_report(*reader_ret);
            tbed_reader_limit_text(*reader_ret, 0);
        }
        return status;
    }
    status = path != NULL ? tbed_import_open(path, reader_ret, &report, error_ret)
                          : tbed_import_open_fd(fd, reader_ret, &report, error_ret);
    if (status == TBED_OK) {
        keep_report(*reader_ret, &report);
        tbed_reader_limit_text(*reader_ret, 0);
    }
    return status;
}

const struct tbed_import_report *tool_foreign_report(const struct tbed_reader *reader)
{
    for (size_t i = 0; i < foreign_count; i++)
        if (foreigns[i].reader == reader)
            return &foreigns[i].report;
    return NULL;
}

uint64_t tool_damage_count(const struct tbed_reader *reader)
{
    const struct tbed_import_report *report = tool_foreign_report(reader);
    return tbed_damage_count(reader) + (report != NULL ? report->damage_count : 0);
}

const char *tool_profile_part(const struct tbed_import_report *report, uint32_t file)
{
    static const char *const parts[] = {".events", ".string_data", ".string_index"};
    bool is_profile = report->kind == TBED_FOREIGN_NONE || report->kind == TBED_FOREIGN_PROFILE;
    bool has_parts = is_profile && report->version < 6; /* the first version that is a single file */
    if (!is_profile && file < TBED_IMPORT_FILES_KEPT && report->files[file][0] != '\0')
        return report->files[file];
    return has_parts && file < sizeof parts / sizeof parts[0] ? parts[file] : NULL;
}

const char *tool_profile_stream(enum tbed_status status, uint64_t offset, uint64_t stream)
{
    static const char *const names[] = {": events", ": string data", ": string index"};
    bool is_missing = status == TBED_ERR_PROFILE_STREAM && offset == UINT64_MAX;
    return is_missing && stream < sizeof names / sizeof names[0] ? names[stream] : "";
}

void tool_print_foreign_damage(FILE *out, const struct tbed_import_report *report, size_t index)
{
    const struct tbed_import_damage *damage = &report->damages[index];
    const char *part = tool_profile_part(report, damage->file);
    if (part != NULL)
        fprintf(out, "%s: ", part);
    fprintf(out, "%s%s (%s", tbed_status_text(damage->status),
            tool_profile_stream(damage->status, damage->offset, damage->detail),
            tbed_status_name(damage->status));
    if (damage->offset != UINT64_MAX)
        fprintf(out, ", offset %llu", (unsigned long long)damage->offset);
    fputs(")\n", out);
}

void tool_print_notes(const struct tbed_import_report *report, const char *before)
{
    char figure[32];
    for (unsigned note = 0; note < TBED_IMPORT_NOTE_COUNT; note++)
        if (report->notes[note] > 0)
            printf("%s%s %s%s %s\n", before, tool_format_count(figure, report->notes[note]),
                   tbed_import_note_what(note), report->notes[note] == 1 ? "" : "s",
                   tbed_import_note_explanation(note));
}

void tool_print_odd(const struct tbed_import_report *report, const char *before)
{
    char figure[32];
    for (unsigned odd = 0; odd < TBED_RTL_ODD_COUNT; odd++)
        if (report->odd_counts[odd] > 0)
            printf("%s%s × %s\n", before, tool_format_count(figure, report->odd_counts[odd]),
                   tbed_rtl_odd_text(odd));
}

void tool_tell_orphans(const char *path, const struct tbed_reader *reader)
{
    char figure[32];
    uint64_t count = tbed_rtl_odd_count(reader, TBED_RTL_ODD_ORPHAN) +
                     tbed_rtl_odd_count(reader, TBED_RTL_ODD_ORPHAN_MESSAGE);
    if (count == 0)
        return;
    fflush(stdout);
    tool_complain(count == 1
                      ? "%s: %s end of a scope that was not open on its thread, not shown as a span"
                      : "%s: %s ends of scopes that were not open on their threads, not shown as spans",
                  tool_path(path), tool_format_count(figure, count));
}

void tool_tell_profile_damage(const char *path, const struct tbed_statistics *statistics)
{
    struct tbed_statistics_totals totals;
    struct tbed_foreign_damage found;
    char figure[32];
    tbed_statistics_totals(statistics, &totals);
    struct tbed_import_report damage = {.version = (uint32_t)totals.foreign_version,
                                        .damage_count = totals.foreign_damage_count};
    tool_tell_texts_left_out(path, totals.foreign_texts_left_out);
    if (damage.damage_count == 0)
        return;
    fflush(stdout);
    tool_complain("%s: damaged in %s place%s; everything intact was read", tool_path(path),
                  tool_format_count(figure, damage.damage_count), damage.damage_count == 1 ? "" : "s");
    for (size_t i = 0; i < PROFILE_DAMAGE_TOLD_MAX && tbed_statistics_damage_get(statistics, i, &found);
         i++) {
        damage.damages[i] = (struct tbed_import_damage){found.status, found.file, found.offset, found.detail};
        fputs("  ", stderr);
        tool_print_foreign_damage(stderr, &damage, i);
    }
}
