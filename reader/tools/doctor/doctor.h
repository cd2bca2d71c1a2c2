/*
 * Shared by the files of 'tracebed doctor': what was found on this machine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DOCTOR_H
#define TRACEBED_DOCTOR_H

#include "reader/tools/shared/tool.h"

enum doctor_state {
    DOCTOR_FINE,
    DOCTOR_MISSING, /* something that not everybody needs */
    DOCTOR_BROKEN,  /* something that recording needs */
};

struct doctor_line {
    const char *subject;
    enum doctor_state state;
    char *text, *remedy; /* 'remedy' may be NULL */
};

struct doctor {
    struct doctor_line *lines;
    size_t count;
};

/* Adds a line. 'remedy': what to do, or NULL. */
void doctor_tell(struct doctor *doctor, const char *subject, enum doctor_state state, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The path of this program; "" if it is not known. */
const char *doctor_program(void);
/* Is there a file at this path, relative to the folder of this program? */
bool doctor_has_beside(const char *path);
/* Is there a program of this name in PATH? */
bool doctor_has_program(const char *name);

/* doctor_recording.c: a recording in the current folder, and the clock that it has. */
void doctor_look_at_recording(struct doctor *doctor);
/* doctor_machine.c: the folder, limits, rights. */
void doctor_look_at_machine(struct doctor *doctor);
/* doctor_libraries.c: what this build and this machine have for single commands. */
void doctor_look_at_libraries(struct doctor *doctor);

#endif
