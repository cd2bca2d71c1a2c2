/*
 * Notes about what could not be recorded.
 *
 * The memory is a System V segment that is marked for removal as soon as it exists: Linux still lets processes attach to
 * it while somebody has it. Its number may come to mean another segment once all have ended, so a token is compared too.
 *
 * What other processes write here is not trusted: the reader checks each field.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <unistd.h>

#include "writer/capture/launch/launch.h"

enum { FREE, BEING_WRITTEN, COMPLETE };

#define NOT_ATTACHED ((void *)-1) /* as shmat() says it */

static struct launch_notes *found; /* atomic */
static char remembered[64];        /* the variable's value; empty: there is none */
static bool is_known;              /* atomic: 'found' is final, also if there are none */

/* ---- The memory ---- */

struct launch_notes *launch_notes_make(void)
{
    char text[64];
    uint64_t token = 0;
    int mode = geteuid() == 0 ? 0666 : 0600; /* root's processes may become another user's */
    int number = shmget(IPC_PRIVATE, sizeof(struct launch_notes), mode);
    void *memory = number >= 0 ? shmat(number, NULL, 0) : NOT_ATTACHED;
    if (number >= 0)
        shmctl(number, IPC_RMID, NULL);
    if (memory == NOT_ATTACHED || getrandom(&token, sizeof token, GRND_NONBLOCK) != (ssize_t)sizeof token) {
        unsetenv(LAUNCH_ENV_NOTES); /* that of a recorder outside this one */
        return NULL;
    }
    struct launch_notes *notes = memory;
    notes->token = token;
    snprintf(text, sizeof text, "%d,%llu", number, (unsigned long long)token);
    setenv(LAUNCH_ENV_NOTES, text, 1);
    return notes;
}

static struct launch_notes *attach(const char *text)
{
    char *end;
    struct shmid_ds facts;
    int number = (int)strtol(text, &end, 10);
    uint64_t token = *end == ',' ? strtoull(end + 1, NULL, 10) : 0;
    if (token == 0 || shmctl(number, IPC_STAT, &facts) != 0 || facts.shm_segsz != sizeof(struct launch_notes))
        return NULL;
    void *memory = shmat(number, NULL, 0);
    if (memory == NOT_ATTACHED)
        return NULL;
    struct launch_notes *notes = memory;
    if (notes->token == token)
        return notes;
    shmdt(memory);
    return NULL;
}

bool launch_notes_remember(void)
{
    const char *text = getenv(LAUNCH_ENV_NOTES);
    if (text != NULL && strlen(text) < sizeof remembered)
        strcpy(remembered, text);
    return remembered[0] != '\0';
}

struct launch_notes *launch_notes_find(void)
{
    if (__atomic_load_n(&is_known, __ATOMIC_ACQUIRE))
        return __atomic_load_n(&found, __ATOMIC_RELAXED);
    struct launch_notes *notes = attach(remembered), *expected = NULL;
    if (notes != NULL &&
        !__atomic_compare_exchange_n(&found, &expected, notes, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        shmdt(notes);
        notes = expected;
    }
    __atomic_store_n(&is_known, true, __ATOMIC_RELEASE);
    return notes;
}

/* ---- Notes ---- */

/* The end of a path says more than its beginning. */
static const char *last_part(const char *name)
{
    size_t nbytes = strlen(name);
    return nbytes > LAUNCH_NOTE_NAME_MAX ? name + (nbytes - LAUNCH_NOTE_NAME_MAX) : name;
}

static bool is_same(const struct launch_note *note, const struct launch_note *what, const char *name)
{
    return note->kind == what->kind && note->status == what->status &&
           note->system_errno == what->system_errno && strncmp(note->name, name, LAUNCH_NOTE_NAME_MAX) == 0;
}

static void fill(struct launch_note *note, const struct launch_note *what, const char *name)
{
    note->kind = what->kind;
    note->status = what->status;
    note->system_errno = what->system_errno;
    strncpy(note->name, name, LAUNCH_NOTE_NAME_MAX);
    __atomic_store_n(&note->count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&note->state, COMPLETE, __ATOMIC_RELEASE);
}

/* Two processes may add the same note at once; the reader adds their counts. */
void launch_note_add(struct launch_notes *notes, const struct launch_note *what, const char *name)
{
    name = last_part(name);
    for (size_t i = 0; notes != NULL && i < LAUNCH_NOTES_MAX; i++) {
        struct launch_note *note = &notes->list[i];
        uint32_t state = FREE;
        if (__atomic_compare_exchange_n(&note->state, &state, BEING_WRITTEN, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE)) {
            fill(note, what, name);
            return;
        }
        if (state == COMPLETE && is_same(note, what, name)) {
            __atomic_fetch_add(&note->count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    if (notes != NULL)
        __atomic_fetch_add(&notes->unlisted[what->kind], 1, __ATOMIC_RELAXED);
}

void launch_note_remove(struct launch_notes *notes, const struct launch_note *what, const char *name)
{
    name = last_part(name);
    for (size_t i = 0; notes != NULL && i < LAUNCH_NOTES_MAX; i++) {
        struct launch_note *note = &notes->list[i];
        if (__atomic_load_n(&note->state, __ATOMIC_ACQUIRE) == COMPLETE && is_same(note, what, name)) {
            __atomic_fetch_sub(&note->count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    if (notes != NULL)
        __atomic_fetch_sub(&notes->unlisted[what->kind], 1, __ATOMIC_RELAXED);
}
