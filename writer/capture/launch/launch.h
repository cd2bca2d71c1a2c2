/*
 * What 'tracebed record' and the libraries that it preloads have in common: which programs can be recorded, and the notes
 * that recorded processes leave about what could not be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LAUNCH_H
#define TRACEBED_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- launch_program.c: which file will be started, and whether the recorder can be preloaded ---- */

enum launch_verdict {
    LAUNCH_FINE,
    LAUNCH_MISSING,     /* no such file */
    LAUNCH_NOT_ALLOWED, /* a directory, or not executable */
    LAUNCH_STATIC,      /* no dynamic loader runs in it */
    LAUNCH_OTHER_MACHINE,
    LAUNCH_OTHER_LIBRARY, /* the C library is musl and ours is glibc, or the other way round */
};

struct launch_program {
    char path[PATH_MAX]; /* of the file that was checked: the interpreter if the program is a script */
    bool is_script;
    bool is_ruby_script;
    bool is_privileged; /* setuid, setgid or with capabilities that we lack: the loader ignores LD_PRELOAD */
};

/* 'searches': as execvp() does, in PATH. */
enum launch_verdict launch_program_check(const char *name, bool searches, struct launch_program *program_ret);

/* The modules whose calls of library functions are recorded: a glob; empty: the program. */
#define LAUNCH_ENV_LIBCALLS "TRACEBED_FUNCTIONS_LIBCALLS"

/* ---- launch_notes.c ---- */

/*
 * Notes are in memory that 'tracebed record' shares with all processes that inherit this variable. It takes no descriptor
 * and no disk, so a process can leave a note when it is out of both, and it disappears with the last process that uses
 * it.
 */
#define LAUNCH_ENV_NOTES "TRACEBED_PRELOAD_NOTES"

enum launch_note_kind {
    LAUNCH_NOTE_NONE,
    LAUNCH_NOTE_NOT_STARTED, /* the recorder was loaded and could not begin; 'status' and 'system_errno' say why */
    LAUNCH_NOTE_STATIC,      /* the program cannot be preloaded into */
    LAUNCH_NOTE_OTHER_MACHINE,
    LAUNCH_NOTE_OTHER_LIBRARY,
    LAUNCH_NOTE_PRIVILEGED,
    LAUNCH_NOTE_ENVIRONMENT, /* it was started without our environment */
    LAUNCH_NOTE_SANDBOX,     /* it was started inside a sandbox */
    LAUNCH_NOTE_RUBY,        /* Ruby, without the RUBYOPT of 'record --ruby' */
    LAUNCH_NOTE_UNPLANNED, /* a module whose functions could not be chosen; 'status' is an enum launch_plan_status */
    LAUNCH_NOTE_LIBCALLS,  /* a module some of whose calls of library functions could not be recorded */
    LAUNCH_NOTE_UNPATCHED, /* 'status' functions of a module could not be patched; 'system_errno' as below */
    LAUNCH_NOTE_KIND_COUNT,
};

/* Why: the error of making the code writable, or one of these. */
#define LAUNCH_UNPATCHED_NO_ROOM      0
#define LAUNCH_UNPATCHED_NOT_PREPARED (-1) /* return addresses cannot be replaced; 'status' is 0 */

#define LAUNCH_NOTES_MAX     63
#define LAUNCH_NOTE_NAME_MAX 231

struct launch_note {
    uint32_t state; /* atomic: 0 free, 1 being written, 2 complete */
    uint32_t kind, status;
    int32_t system_errno;
    uint64_t count;                      /* atomic */
    char name[LAUNCH_NOTE_NAME_MAX + 1]; /* of the program; cut at the front if it is too long */
};

/* Calls that were too short to be recorded, of one thread; the first counter is for threads that find no other free. */
#define LAUNCH_LEFT_OUT_MAX 256
struct launch_left_out {
    uint64_t count; /* atomic */
    uint64_t unused[7];
};

struct launch_notes {
    uint64_t token;         /* as in the variable */
    uint32_t left_out_next; /* atomic: how many threads have wanted a counter */
    struct launch_left_out left_out[LAUNCH_LEFT_OUT_MAX];
    uint64_t unlisted[LAUNCH_NOTE_KIND_COUNT]; /* atomic: notes for which there was no room */
    struct launch_note list[LAUNCH_NOTES_MAX];
};

/* Makes the memory, and sets the variable. NULL: the system has none; then there will be no notes. */
struct launch_notes *launch_notes_make(void);

/* Takes the variable from the environment, which the program may clear. False: there is none. */
bool launch_notes_remember(void);
/* Attaches to the memory of the remembered variable; NULL: there is none. Later calls make no system call. */
struct launch_notes *launch_notes_find(void);

/* Adds a note, or counts one that is there already. 'notes' may be NULL. */
void launch_note_add(struct launch_notes *notes, const struct launch_note *what, const char *name);
/* Takes one back: what it said did not happen. */
void launch_note_remove(struct launch_notes *notes, const struct launch_note *what, const char *name);

#endif
