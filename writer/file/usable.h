/*
 * Whether a writer can be used, its main lock, its drops. All take NULL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_USABLE_H
#define TRACEBED_WRITER_USABLE_H

#include "writer/file/state.h"

/* Lets a forked child join the trace. False: the writer is closed, or could not be made. */
bool tbed_is_usable(struct tbed_file *file);
/*
 * Takes 'state_lock' in a process that has joined. False: the writer is closed or being closed, or the calling thread
 * is at the lock already.
 */
bool tbed_state_lock(struct tbed_file *file);
/* The same, for a caller that stores into the file. False if the file is lost, too; a drop has then been counted. */
bool tbed_state_lock_or_drop(struct tbed_file *file);
void tbed_state_unlock(struct tbed_file *file);
/* The file cannot be recorded into any more: recorders drop and count what comes. */
void tbed_file_lose(struct tbed_file *file);
void tbed_drop(struct tbed_file *file, enum tbed_drop_cause cause, uint64_t count);

#endif
