/*
 * A stand-in for a trace of CTF that has a file which babeltrace2's library refuses, and with it the whole trace: a folder of
 * links to the other files, and of the refused one a copy of what is intact.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_SHADOW_H
#define TRACEBED_EXCHANGE_CTF_SHADOW_H

#include "reader/exchange/ctf/import/ctf_read.h"

#define CTF_REFUSED_MAX 32u

struct ctf_shadow {
    char path[CTF_PATH_NBYTES]; /* empty: none */
    struct ctf_folder folder;   /* the same traces, some of them below 'path' */
    struct ctf_refused {
        char path[CTF_PATH_NBYTES];
        uint64_t offset; /* where what is intact ends, if that is known; otherwise 0 */
    } refused[CTF_REFUSED_MAX];
    size_t count;
};

/*
 * The file that an error of the library is about: it must be one of the trace's, and not refused before. False: it is
 * none.
 */
bool tbed_ctf_shadow_refuse(struct ctf_shadow *shadow, const struct ctf_folder *folder, const char *text,
                            size_t nbytes);

/* Makes the stand-in anew. False, with errno: it cannot be made. */
bool tbed_ctf_shadow_make(struct ctf_shadow *shadow, const struct ctf_folder *folder);
void tbed_ctf_shadow_remove(struct ctf_shadow *shadow);

#endif
