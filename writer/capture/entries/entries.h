/*
 * Functions that are entered through places that the compiler left for it: -pg (with or without -mfentry, -mnop-mcount,
 * -mrecord-mcount), -fpatchable-function-entry, and clang's -fxray-instrument.
 *
 * A place is a call, or bytes that do nothing. When a module is loaded, a call of a trampoline is written into the places
 * of the functions to be recorded; the other ones stay, or become, bytes that do nothing. The trampoline records the entry
 * and replaces the function's return address by that of a second trampoline, which records the exit and jumps to where the
 * function was called from.
 *
 * Not here: how a call is recorded (writer/capture/functions).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ENTRIES_H
#define TRACEBED_ENTRIES_H

#include "writer/capture/functions/functions.h"

/* ---- entries_shadow.c: the return addresses that were replaced ---- */

/*
 * For each place of a stack that holds a return address there is a cell. It is found by the place alone, in a tree with
 * three levels whose root has a fixed address; so stacks may be switched, left and reused at will, and a rule of DWARF can
 * find the return address when somebody unwinds (entries_trampolines.c).
 */
struct functions_cell {
    uintptr_t return_address;
    uintptr_t function;
};

/* What the rule of DWARF contains as numbers. */
#if defined(__x86_64__)
#define FUNCTIONS_SHADOW_ROOT 0x1ABED0000000
#else
#define FUNCTIONS_SHADOW_ROOT 0x3ABED00000
#endif
#define FUNCTIONS_SHADOW_LEAF_BITS   20
#define FUNCTIONS_SHADOW_BRANCH_BITS 30
#define FUNCTIONS_SHADOW_ROOT_BITS   47

/* False: the address is taken. */
bool functions_shadow_prepare(void);

/* NULL: there is none yet. Calls nothing. */
static inline struct functions_cell *functions_cell_find(uintptr_t place)
{
    uint8_t *const *const *root = (uint8_t *const *const *)FUNCTIONS_SHADOW_ROOT;
    if (place >> FUNCTIONS_SHADOW_ROOT_BITS != 0)
        return NULL;
    uint8_t *const *branch = __atomic_load_n(&root[place >> FUNCTIONS_SHADOW_BRANCH_BITS], __ATOMIC_ACQUIRE);
    size_t index = place >> FUNCTIONS_SHADOW_LEAF_BITS & 1023;
    uint8_t *leaf = branch == NULL ? NULL : __atomic_load_n(&branch[index], __ATOMIC_ACQUIRE);
    return leaf == NULL ? NULL : (struct functions_cell *)(leaf + (place & 0xFFFF8) * 2);
}

/* Makes it if there is none; NULL: no memory, or a sandbox. */
struct functions_cell *functions_cell_make(uintptr_t place);

/* ---- entries_calls.c: what the trampolines call ---- */

/* A place is one of these; together with 'distance' it tells the function from the address that the call returns to. */
enum functions_kind {
    FUNCTIONS_AT_ENTRY, /* the call is the function's first instruction, or behind its mark for indirect jumps */
    FUNCTIONS_BEHIND_FRAME, /* mcount: the frame pointer is set up */
    FUNCTIONS_BEFORE_ENTRY, /* the call is before the function, whose first two bytes jump to it */
    FUNCTIONS_BEHIND_PUSH,  /* gcc has pushed the static chain of a nested function */
    FUNCTIONS_REALIGNED, /* mcount in a function that aligned its stack: what is behind the frame is a copy, r10 leads
                               to the return address */
    FUNCTIONS_KIND_COUNT,
    FUNCTIONS_THROUGH_STUB =
        FUNCTIONS_KIND_COUNT, /* no call: the function comes next (writer/capture/libcalls) */
};
#define FUNCTIONS_DISTANCE_MAX 64u /* 0: not known */

/* Before the first call; with the address of functions_return_trampoline(). False: nothing can be recorded. */
bool functions_entries_prepare(uintptr_t trampoline);

/* ---- entries_trampolines.c ---- */

/* On top of the stack: kind and distance, then what a call pushed. */
void functions_entry_trampoline(void);
void functions_return_trampoline(void);

/* What the entry trampoline leaves on the stack. */
struct functions_entered {
    uint64_t general[9]; /* rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11 */
#define FUNCTIONS_R10 7
    uintptr_t frame;          /* rbp */
    uint64_t what;            /* distance; kind << 16 */
    uintptr_t return_address; /* into the function */
    uintptr_t place[];        /* where its own return address is, except behind a frame */
};

struct functions_returned {
    uint64_t general[9]; /* rax, rdx, rcx, rsi, rdi, r8, r9, r10, r11 */
    uintptr_t frame;
    uintptr_t place; /* the trampoline continues at the address that is stored here */
};

/* Where xsave puts registers in its area. */
#define FUNCTIONS_SAVED_X87     32
#define FUNCTIONS_SAVED_VECTORS 160
extern uint32_t functions_saved_nbytes, functions_saved_mask; /* mask 0: only fxsave is available */

/* The first two use no vector registers. False: the second one has to be called, with the registers saved. */
bool functions_entered_quickly(struct functions_entered *entered);
bool functions_returned_quickly(struct functions_returned *returned);
void functions_entered_slowly(struct functions_entered *entered, const uint8_t *saved);
void functions_returned_slowly(struct functions_returned *returned, const uint8_t *saved);

/* ---- entries_memory.c ---- */

/* New memory at this address; NULL: it is in use. */
void *functions_map_at(uintptr_t address, size_t nbytes);

/* ---- entries_near.c: code close enough to a module for a call with 32 bits ---- */

/* The address to call; 0: there is no room near 'address'. */
uintptr_t functions_near_code(uintptr_t address, enum functions_kind kind, uint32_t distance);
/* Whether the code at this address is such code. */
bool functions_near_is_ours(uintptr_t address);

/* ---- entries_sites.c: the places of a module ---- */

struct functions_site {
    uintptr_t address;
    uintptr_t function;
    uint32_t nbytes; /* that may be overwritten */
    bool is_call;    /* else it does nothing yet */
    enum functions_kind kind;
};
typedef void (*functions_site_visit)(void *context, const struct functions_site *site);

struct dl_phdr_info;
/* Calls 'visit' for each place; returns how many there are that cannot be used. */
size_t functions_sites_each(const struct dl_phdr_info *info, functions_site_visit visit, void *context);

/* ---- entries_patch.c ---- */

/* Patches what was loaded since the last call. */
void functions_patch_loaded(void);
/* Called behind that; NULL: nothing is. */
extern void (*functions_patch_more)(void);

#endif
