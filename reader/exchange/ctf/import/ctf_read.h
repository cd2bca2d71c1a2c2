/*
 * Declarations shared by the import of CTF: a child process reads the trace with babeltrace2's library, which was not made
 * for hostile input, and sends simple records through a pipe; this process makes a trace of them and trusts nothing.
 *
 * A record is a u32 length of the rest, a u8 type and its content; numbers have the byte order of the machine. Texts are a
 * u32 length and bytes.
 *
 *     CLASS      text name: an event of this name may come; all classes come before the first event
 *     EVENT      u8 flags, u8 severity, i64 time, u32 pid, u32 tid, text process name, text thread name, text name, arguments to the end:
 *                u8 type (u, i, f, p, s), text name, and 8 bytes or a text
 *     DISCARDED  u64 count of events that were lost while recording; 0: unknown
 *     FACT       text key, text value: about the trace
 *     ERROR      text
 *     END        nothing: all was read
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CTF_READ_H
#define TRACEBED_EXCHANGE_CTF_READ_H

#include <tracebed/exchange.h>

#define CTF_RECORD_NBYTES_MAX                                                                                \
    65536u /* with the length; an event's last arguments are left out if it needs more */
#define CTF_TRACES_MAX    256u
#define CTF_PATH_NBYTES   4096
#define CTF_ARGUMENTS_MAX 128u

enum ctf_record_type { CTF_CLASS = 1, CTF_EVENT, CTF_DISCARDED, CTF_FACT, CTF_ERROR, CTF_END };

enum ctf_event_flag {
    CTF_HAS_TIME = 1,
    CTF_IS_REALTIME = 2, /* the time counts from 1970 */
    CTF_HAS_THREAD = 4,  /* otherwise 'tid' is a processor */
    CTF_LEFT_OUT = 8,    /* arguments were left out */
};

/* ---- ctf_folder.c: where the traces are; a folder of LTTng has several below it ---- */

struct ctf_folder {
    char (*paths)[CTF_PATH_NBYTES];
    size_t count;
    uint64_t nbytes; /* of all files in them */
};

/* False: no memory, or none is there. */
bool tbed_ctf_folder_find(const char *path, struct ctf_folder *folder_ret);
void tbed_ctf_folder_free(struct ctf_folder *folder);

/* "FOLDER/NAME". False: it is too long. */
bool tbed_ctf_join(char to[CTF_PATH_NBYTES], const char *folder, const char *name);

/* ---- ctf_worker.c: in the child ---- */

#define CTF_EXIT_NO_LIBRARY 3

/* Reads the traces and writes records to 'fd'. Does not return. */
_Noreturn void tbed_ctf_worker_run(const struct ctf_folder *folder, int fd);

/* ---- ctf_records.c ---- */

/*
 * Makes a trace in 'fd' of the records that 'records', a pipe or file, contains. If an error comes before the first event
 * it is not reported: '*early_ret', which may be NULL, is its text, which the caller frees; otherwise NULL.
 */
enum tbed_status tbed_ctf_records_import(int records, int fd, struct tbed_import_report *report,
                                         char **early_ret, struct tbed_error *error_ret);

#endif
