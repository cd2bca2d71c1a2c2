/*
 * Unwinding for stacks of callers: preload_unwind.c walks, preload_frame.c reads the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_UNWIND_H
#define TRACEBED_PRELOAD_UNWIND_H

#include "writer/capture/shared/preload.h"

/* How the caller of a frame is found. Its return address lies just below the frame's address. */
enum preload_frame_kind {
    PRELOAD_FRAME_END,    /* there is none, or the rule is not supported */
    PRELOAD_FRAME_BY_SP,  /* the frame's address is the stack pointer + frame_offset */
    PRELOAD_FRAME_BY_BP,  /* the frame pointer + frame_offset */
    PRELOAD_FRAME_SAVED,  /* the value stored there */
    PRELOAD_FRAME_SIGNAL, /* a signal frame: all registers are on the stack */
};

struct preload_frame_rule {
    uintptr_t pc; /* a return address; 0: none */
    int32_t frame_offset;
    int16_t bp_offset; /* from the frame's address to where the caller's frame pointer is */
    uint8_t kind;      /* enum preload_frame_kind */
    bool has_bp;       /* otherwise the frame pointer is still the caller's */
};

/*
 * How much of a cache is in use: a process that ends soon must not touch pages for all of it. It doubles when half of what
 * is in use has been filled. Each entry contains its key, so
 * entries that are in the wrong place after that are harmless. Starts as zeros.
 */
struct preload_cache_use {
    uint32_t more;   /* size - 1, if that is more than the least */
    uint32_t stored; /* entries, and those that replaced others */
};

static inline uint32_t preload_cache_index(const struct preload_cache_use *use, uint32_t least, uint64_t hash)
{
    return (uint32_t)(hash >> 44) & (use->more | (least - 1));
}

static inline size_t preload_cache_size(const struct preload_cache_use *use, uint32_t least)
{
    return (size_t)(use->more | (least - 1)) + 1;
}

static inline void preload_cache_stored(struct preload_cache_use *use, uint32_t least, uint32_t most)
{
    size_t size = preload_cache_size(use, least);
    if (size < most && ++use->stored > size / 2)
        use->more = (uint32_t)(2 * size - 1);
}

#define PRELOAD_RULES_LEAST 128u
#define PRELOAD_RULES_MOST  4096u

struct preload_frame {
    uintptr_t pc; /* a return address: one less is inside the calling instruction */
    uintptr_t sp, bp;
    uintptr_t pc_at; /* where 'pc' was read; 0: elsewhere */
    uintptr_t bp_at; /* where 'bp' was read; 0: it is that of the frame inwards */
};

#define PRELOAD_DEPTH_MAX (PRELOAD_FRAMES_MAX + 1)
#define PRELOAD_CUT_PC    ((uintptr_t)1) /* stands for the frames that were cut; no return address is this low */

struct preload_unwinder { /* for one thread; begins as zeros */
    bool by_frame_pointer;
    uint32_t depth;                                 /* of the last stack */
    uint32_t same_count;                            /* outer frames that have the pcs of the stack before */
    struct preload_frame frames[PRELOAD_DEPTH_MAX]; /* the last stack, outermost first */
    struct preload_frame inner[PRELOAD_DEPTH_MAX];  /* while walking: innermost first */
    uintptr_t low, high;                            /* the part of the stack known to be mapped */
    struct preload_cache_use use;
    struct preload_frame_rule rules[PRELOAD_RULES_MOST];
};

/* ---- preload_unwind.c ---- */

/*
 * Finds the frames from the caller of the function with this frame (__builtin_frame_address(0)) outwards, 1 to 'max'; of a
 * stack with more, the outermost has PRELOAD_CUT_PC. May change errno.
 */
void preload_unwind(struct preload_unwinder *unwinder, const uintptr_t *frame, uint32_t max);

/*
 * Where the return instruction of a gate leads: a function of ours has let another one return to there through an
 * instruction in its caller's module (preload_loading.c). 0: nowhere.
 */
extern uintptr_t preload_gate_return;

/* Forgets the rules and the last stack: what is loaded has changed. */
void preload_unwinder_forget(struct preload_unwinder *unwinder);

/* ---- preload_frame.c ---- */

/* The rule for a return address, except its 'pc'. */
void preload_frame_rule_find(uintptr_t pc, struct preload_frame_rule *rule_ret);

#endif
