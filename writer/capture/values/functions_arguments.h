/*
 * The arguments of a call and its result, read as a description says (launch_arguments.h), to be stored with an event.
 *
 * They are read in the traced program's process, in the middle of its work: memory behind a pointer may be gone, so the
 * copy ends where it cannot be read, and nothing is allocated.
 *
 * Not here: when values are read (writer/capture/functions), and how they are described (reader/symbols/debug).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUNCTIONS_ARGUMENTS_H
#define TRACEBED_FUNCTIONS_ARGUMENTS_H

#include "writer/capture/launch/launch_arguments.h"
#include "writer/capture/shared/preload.h"

/* What the registers held; each with as many bytes as launch_arguments_check() allows. NULL: not saved. */
struct functions_registers {
    const void *integers, *vectors, *stack, *x87;
};

#define FUNCTIONS_TEXT_NBYTES_MAX 128 /* of one value; a longer text ends with "…" */

struct functions_arguments {
    size_t count;
    size_t text_nbytes;
    struct tbed_argument items[LAUNCH_VALUES_MAX];
    char texts[LAUNCH_VALUES_MAX * FUNCTIONS_TEXT_NBYTES_MAX];
};

/*
 * Reads the arguments, or the result, of a function with this description, which has been checked, and which gets ids of
 * names. What cannot be read is shown as the pointer to it. The caller is inside preload_enter(), with signals blocked, and
 * outside a sandbox.
 *
 * If 'is_quick', signals need not be blocked, and the vector registers are left alone. False: that does not suffice, because
 * a name has no id yet, or for a kind of value that needs more.
 */
bool functions_arguments_read(struct functions_arguments *values_ret, struct preload_thread *thread,
                              struct launch_arguments *arguments, bool is_result,
                              const struct functions_registers *registers, bool is_quick);

/* How many words the values take in an event, and storing them there. */
size_t functions_arguments_nwords(const struct functions_arguments *values);
void functions_arguments_store(uint64_t *to, const struct functions_arguments *values);

/* ---- functions_memory.c ---- */

/* Copies memory that may not be there, or a text with its zero. Returns how many bytes could be read; perhaps more of a text. */
size_t functions_memory_copy(void *to, uintptr_t from, size_t nbytes, bool is_text);
/* The trace is open. */
void functions_memory_prepare(void);
/* Whether that takes no system call and leaves the vector registers alone. */
bool functions_memory_is_quick(void);

#endif
