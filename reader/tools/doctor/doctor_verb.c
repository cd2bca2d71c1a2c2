/*
 * tracebed doctor: says what is there on this machine and what is missing, and what to do about it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/defaults/defaults.h"
#include "reader/tools/doctor/doctor.h"
#include "reader/tools/table/table.h"

#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: tracebed doctor [OPTION]...\n"
                           "\n"
                           "Make a small recording in the current folder, remove it, and show what is there\n"
                           "on this machine and what is missing. Below each line that is not 'ok' is what\n"
                           "to do.\n"
                           "\n"
                           "Options:\n"
                           "      --json             print one JSON object\n"
                           "      --color=WHEN       use color: never, auto or always\n"
                           "  -h, --help             print this help\n"
                           "\n"
                           "Exit status: 0 if programs can be recorded here, 1 if not. What is 'missing' is\n"
                           "needed by single commands or options only.\n";

enum { OPTION_JSON = 2000 };

/* ---- Defaults and the terminal ---- */

static void look_at_defaults(struct doctor *doctor)
{
    const struct defaults_option *option;
    const char *problem = defaults_problem(), *path = defaults_path();
    if (problem != NULL)
        doctor_tell(doctor, "defaults", DOCTOR_BROKEN, "Correct it: no command runs with it.", "%s", problem);
    for (size_t i = 0; problem == NULL && (option = defaults_get(i)) != NULL; i++)
        doctor_tell(doctor, "defaults", DOCTOR_FINE, NULL, "%s%s%s (%s)", option->command,
                    option->command[0] != '\0' ? " " : "", option->text, defaults_place(option));
    if (problem == NULL && defaults_get(0) == NULL)
        doctor_tell(doctor, "defaults", DOCTOR_FINE, NULL, "no options are in force by %s%sTRACEBED_OPTIONS",
                    path != NULL ? path : "", path != NULL ? " or " : "");
}

static void look_at_terminal(struct doctor *doctor)
{
    size_t width = tool_terminal_width();
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool is_plain = term == NULL || strcmp(term, "dumb") == 0 || (no_color != NULL && *no_color != '\0');
    if (width > 0)
        doctor_tell(doctor, "terminal", DOCTOR_FINE, NULL, "%zu columns, %s", width,
                    is_plain ? "no colors (TERM, NO_COLOR)" : "colors");
    else
        doctor_tell(doctor, "terminal", DOCTOR_FINE, NULL, "output goes to a file or a pipe: no colors");
}

static void look_at_locale(struct doctor *doctor)
{
    if (table_has_utf8())
        doctor_tell(doctor, "locale", DOCTOR_FINE, NULL, "UTF-8");
    else
        doctor_tell(doctor, "locale", DOCTOR_MISSING, "export LANG=C.UTF-8",
                    "LC_ALL, LC_CTYPE and LANG name no locale with UTF-8: charts are drawn with letters");
}

/* ---- Output ---- */

static const char *const states[] = {"ok", "missing", "broken"};

static void put_text(const struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++) {
        const struct doctor_line *line = &doctor->lines[i];
        const char *color = line->state == DOCTOR_BROKEN ? tool_red()
                            : line->state == DOCTOR_FINE ? tool_green()
                                                         : tool_bold();
        printf("%-12s %s%-8s%s ", line->subject, color, states[line->state], tool_plain());
        tool_print_text(stdout, line->text, strlen(line->text), 0);
        printf("\n");
        if (line->remedy != NULL)
            printf("%-12s %-8s %s\n", "", "", line->remedy);
    }
}

static void put_json(const struct doctor *doctor, bool can_record)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tbed_json_bool(&json, "can_record", can_record);
    tbed_json_array_open(&json, "checks");
    for (size_t i = 0; i < doctor->count; i++) {
        tbed_json_object_open(&json, NULL);
        tbed_json_string(&json, "subject", doctor->lines[i].subject);
        tbed_json_string(&json, "state", states[doctor->lines[i].state]);
        tbed_json_string(&json, "text", doctor->lines[i].text);
        tbed_json_string(&json, "remedy", doctor->lines[i].remedy);
        tbed_json_object_close(&json);
    }
    tbed_json_array_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

/* Prints everything, and frees it. */
static int finish(struct doctor *doctor, bool as_json)
{
    bool can_record = true;
    for (size_t i = 0; i < doctor->count; i++)
        can_record &= doctor->lines[i].state != DOCTOR_BROKEN;
    if (as_json)
        put_json(doctor, can_record);
    else
        put_text(doctor);
    for (size_t i = 0; i < doctor->count; i++) {
        free(doctor->lines[i].text);
        free(doctor->lines[i].remedy);
    }
    free(doctor->lines);
    return tool_finish(can_record ? TOOL_FINE : TOOL_FOUND);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, OPTION_JSON}, TOOL_COMMON_OPTIONS, {0}};
    struct doctor doctor = {0};
    bool as_json = false;
    int exit;
    while (tool_option_next(&tool_verb_doctor, argc, argv, "h", longs, &exit) != -1)
        as_json = true;
    if (exit >= 0)
        return exit;
    if (optind < argc)
        return tool_usage(&tool_verb_doctor, "there are no operands");
    doctor_look_at_recording(&doctor);
    doctor_look_at_machine(&doctor);
    doctor_look_at_libraries(&doctor);
    look_at_terminal(&doctor);
    look_at_locale(&doctor);
    look_at_defaults(&doctor);
    return finish(&doctor, as_json);
}

const struct tool_verb tool_verb_doctor = {"doctor", "show what is there and what is missing on this machine",
                                           help, run};
