/*
 * What the files of the preloaded recorder of functions share.
 *
 * The library is preloaded into a program whose functions have hooks (-finstrument-functions), or places that it patches
 * (writer/capture/functions/entry). Each call becomes a span whose id is the location of the function's entry. What it shares with the recorder of allocations (the trace, the threads'
 * recorders, the modules) is in writer/capture/shared.
 *
 * A thread keeps a frame for each call that has not ended: an exit ends the innermost frame of its function, and the
 * frames inside it that were left without an exit. longjmp() and unwinding are noticed when they happen, so that the
 * calls they leave end then and not later.
 *
 * Not here: how the program is started (record_verb.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUNCTIONS_H
#define TRACEBED_FUNCTIONS_H

#include "writer/capture/launch/launch_arguments.h"
#include "writer/capture/launch/launch_plan.h"
#include "writer/capture/shared/preload.h"

/* The environment: how deep to record; which functions is in launch_plan.h. */
#define FUNCTIONS_ENV_DEPTH "TRACEBED_FUNCTIONS_DEPTH"
/* Calls that take less, in nanoseconds, are left out. */
#define FUNCTIONS_ENV_MINIMUM "TRACEBED_FUNCTIONS_MINIMUM"

/* ---- functions_frames.c: the calls that have not ended ---- */

struct functions_frame {
    uintptr_t function;
    uintptr_t stack; /* its stack pointer when it was entered, and the flags below */
    uint64_t tick;   /* of a call whose begin waits, and its location */
    uint64_t location;
};
#define FUNCTIONS_NO_SPAN ((uintptr_t)1)
/* It is the address of the return address, and thus the same at the exit. */
#define FUNCTIONS_EXACT   ((uintptr_t)2)
#define FUNCTIONS_PENDING ((uintptr_t)4) /* its begin is not stored yet */
#define FUNCTIONS_STATE   (FUNCTIONS_NO_SPAN | FUNCTIONS_PENDING)

/* The ranges of modules that the thread was in recently. */
#define FUNCTIONS_RANGE_COUNT 4
struct functions_range {
    uint64_t version;
    uintptr_t start, nbytes;
    uint32_t first_id;
};

/* Calls of signal handlers that interrupt a hook: functions_handlers.c. */
#define FUNCTIONS_HANDLER_FRAMES 64
struct functions_handler {
    uint32_t depth;
    uint32_t unframed; /* innermost calls for which there was no room */
    bool is_busy;
    struct preload_thread place; /* only its ranges are used */
    struct functions_frame frames[FUNCTIONS_HANDLER_FRAMES];
};

/* What holds for the calls that a thread makes now; all zeros until its first call. */
struct functions_scope {
    bool is_known;
    bool is_inside; /* a call that only what it calls is recorded of */
    bool is_silent; /* inside a call of which nothing is recorded */
    uint32_t depth_max;
    uint64_t minimum_ticks; /* of a call that is stored; 0: all are */
};
#define FUNCTIONS_SCOPE_COUNT 32

struct functions_thread {
    struct functions_frame *frames;
    uint32_t depth, capacity;
    uint32_t unframed; /* innermost calls for which there was no memory */
    uint32_t range_next;
    uint32_t pending_first; /* no begin of a frame before this one waits */
    struct functions_scope scope;
    uint32_t scope_count; /* changes by triggers that are in force */
    struct {
        uint32_t frame; /* the change ends with it */
        const struct launch_plan_function *planned;
        struct functions_scope before;
    } scopes[FUNCTIONS_SCOPE_COUNT];
    uint64_t *left_out; /* counts those that are not; NULL: not taken yet */
    /* The state when the current hook began. Stack pointer 0: the hook has stored nothing yet. */
    uintptr_t hook_stack;
    uint64_t *hook_cursor;
    uint32_t hook_depth, hook_open;
    uint32_t
        hook_nwords; /* of an event that is being stored behind the first word; 0: there is only that one */
    struct functions_range ranges[FUNCTIONS_RANGE_COUNT];
    struct functions_handler handler;
    struct functions_arguments *arguments; /* functions_given.c; NULL: none yet */
};
extern __thread struct functions_thread functions_thread __attribute__((tls_model("initial-exec")));

/* Makes room for one more frame. False: no memory. */
bool functions_frames_grow(struct functions_thread *frames);

/* ---- functions_ends.c ---- */

/* How a call was left without its exit; an argument of the span's end. */
enum functions_leave { FUNCTIONS_JUMPED, FUNCTIONS_UNWOUND, FUNCTIONS_VANISHED, FUNCTIONS_LEAVE_COUNT };

/*
 * The stack pointer at an exit is never above that at the entry, except if the exit hook is called as the function's
 * last jump: it is then called from the function's caller. An entry below belongs to a call that has ended.
 */
static inline bool functions_is_exit_of(const struct functions_frame *frame, uintptr_t function,
                                        uintptr_t stack, bool is_jump)
{
    if (stack & FUNCTIONS_EXACT)
        return (frame->stack & ~FUNCTIONS_STATE) == stack && frame->function == function;
    return frame->function == function && (stack <= frame->stack || is_jump);
}

static inline uint32_t functions_open_count(struct tbed_recorder *recorder)
{
    const struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    return (uint32_t)(kept->top - kept->stack) + kept->deep_count;
}

/* Ends the innermost span, and says how it was left. The caller is inside preload_enter(). */
void functions_end_left(struct tbed_recorder *recorder, enum functions_leave how);

/* Ends the frames above 'depth'. The caller is inside preload_enter(). */
void functions_frames_cut(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t depth,
                          enum functions_leave how);

/* Whether a span has to be ended for the innermost call, which ends; its begin is stored by then. */
bool functions_innermost_has_span(struct functions_thread *frames, struct tbed_recorder *recorder);

/*
 * True: in a sandbox signals cannot be blocked, so the thread stops recording where it would have to take a lock; its
 * calls are counted as dropped.
 */
bool functions_stop_in_sandbox(struct preload_thread *thread);

/* ---- functions_signals.c ---- */

/* Keeps signal handlers out: one that never returns must not take a lock with it. */
struct functions_signals {
    uint64_t mask[16];
};
void functions_signals_block(struct functions_signals *old_ret);
void functions_signals_restore(const struct functions_signals *old);

/* ---- functions_hooks.c ---- */

/*
 * A function is entered or left through a patched place; 'stack' is where its return address is stored, with
 * FUNCTIONS_EXACT. The first two do the usual case, of chosen functions: they use no vector registers. False: nothing was done, and the other ones have to be called.
 */
bool functions_try_enter(uintptr_t function, uintptr_t stack);
bool functions_try_exit(uintptr_t function, uintptr_t stack);
/* The same where arguments are recorded. */
struct functions_values;
bool functions_try_enter_given(const struct functions_values *values);
bool functions_try_exit_given(const struct functions_values *values);
void functions_enter(const struct functions_values *values);
void functions_exit(const struct functions_values *values);

/* The innermost open call, or the one 'outer' calls further out, if it was entered at this place; else 0. */
uintptr_t functions_open_at(uintptr_t stack, uint32_t outer);

/* What a function entered through a patched place was given, or what it returns. */
struct functions_values {
    uintptr_t function;
    uintptr_t stack; /* where its return address is stored, with FUNCTIONS_EXACT */
    const uint64_t *
        general; /* NULL: not saved, nor are the others; entry: rdi, rsi, rdx, rcx, r8, r9 (x0 to x7); exit: rax, rdx (x0, x1) */
    const uint8_t *vectors; /* xmm0 to xmm7 (q0 to q7), 16 bytes each */
    const uint8_t *x87;     /* st(0) and st(1), 16 bytes each; NULL on arm64 */
    const uint8_t *more;    /* entry: the arguments on the stack, without holes; exit: NULL */
};

/* ---- functions_given.c: arguments and results ---- */

extern bool functions_has_arguments; /* those of some functions are recorded */

/* True: nothing of what this function is given, or returns, is recorded. False: perhaps something is. */
bool functions_has_none(uintptr_t function, bool is_result);

/*
 * Reads them to 'frames->arguments' without a system call and without vector registers. False: that does not suffice, or
 * there is nothing to read.
 */
bool functions_given_read(struct preload_thread *thread, struct functions_thread *frames,
                          const struct functions_values *values, bool is_result);

/*
 * Begins and ends a span with what its function was given and returns, as far as that is described. The caller is inside
 * preload_enter(), with signals blocked.
 */
void functions_begin_given(struct preload_thread *thread, struct functions_thread *frames, uint32_t location,
                           const struct functions_values *values);
void functions_end_given(struct preload_thread *thread, struct functions_thread *frames,
                         const struct functions_values *values);

/* ---- functions_handlers.c: the guard is set, so a signal handler has interrupted a hook ---- */

void functions_handler_enter(struct preload_thread *thread, uintptr_t function, uintptr_t stack);
void functions_handler_exit(struct preload_thread *thread, uintptr_t function, uintptr_t stack, bool is_jump);
/* Whether a jump to this stack pointer stays within the handler. */
bool functions_handler_stays(uintptr_t stack);
/* Control continues at the stack pointer 'stack'; UINTPTR_MAX: outside the handler. */
void functions_handler_left(struct preload_thread *thread, uintptr_t stack, enum functions_leave how);

/* ---- functions_pending.c: --minimum-duration ---- */

extern uint64_t functions_minimum_ns; /* 0: all calls are stored */

/* The trace is open. */
uint64_t functions_ticks_of(uint64_t ns);

/* Adds a frame, for which there is room, whose begin waits. */
void functions_pending_push(struct functions_thread *frames, struct functions_frame frame);

uint32_t functions_pending_count(struct functions_thread *frames);

/* Whether a begin has waited for the minimum at 'tick', and should be stored. */
bool functions_pending_is_old(struct functions_thread *frames, uint64_t tick);

/* Stores the begins that wait: of the first 'end' frames, or those that are old enough at 'tick'. Signals are blocked. */
void functions_pending_store(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t end);
void functions_pending_store_old(struct functions_thread *frames, struct tbed_recorder *recorder,
                                 uint64_t tick);

/* The innermost call, whose begin waits, ends at 'tick'. True: it is left out, and counted. */
bool functions_pending_is_short(struct functions_thread *frames, uint64_t tick);

/* ---- functions_triggers.c ---- */

/* After functions_plans_begin(). */
void functions_triggers_begin(void);
/* Takes back what triggers have changed for calls that have ended. */
void functions_scopes_leave(struct functions_thread *frames);
/* The call of a function with triggers begins inside 'depth' spans. */
void functions_trigger(struct functions_thread *frames, const struct launch_plan_function *planned,
                       uint32_t depth);
bool functions_triggers_allow(const struct functions_thread *frames);

/* ---- functions_jumps.c ---- */

/* The function of this name that 'caller' would have called without us; remembered in '*kept'. */
void *functions_real(void **kept, const char *name, const void *caller);

/* ---- functions_leave.c ---- */

/* Control continues at the stack pointer 'stack': the calls made from there have ended. */
void functions_left(uintptr_t stack, enum functions_leave how);

/* ---- functions_plan.c: what 'tracebed record' says of each module ---- */

extern uint32_t functions_default_flags; /* of functions that no plan lists */

/* Reads the environment. False: there are no plans. */
bool functions_plans_begin(void);

/* Requests the plan if need be, with signals blocked. NULL: there is none, so the default holds. */
const struct launch_plan *functions_plan_of(const struct preload_module *module);

/* ---- functions_filter.c: which functions are recorded ---- */

extern bool functions_is_selective; /* some functions are excluded */
extern bool functions_is_limited;   /* some calls of chosen functions are, too */

/* What is known of functions, by address: the version of the modules (14 bits), address (48 bits), verdict. */
#define FUNCTIONS_VERDICT_COUNT 4096
extern uint64_t functions_verdicts[FUNCTIONS_VERDICT_COUNT]; /* atomic */

static inline uint64_t functions_verdict_key(uintptr_t function)
{
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    return version << 50 | ((uint64_t)function << 16 >> 14);
}

static inline uint64_t *functions_verdict_slot(uintptr_t function)
{
    return &functions_verdicts[(function ^ function >> 12) % FUNCTIONS_VERDICT_COUNT];
}

/* True: it is known that neither the function is recorded nor has triggers. */
static inline bool functions_is_skipped(uintptr_t function)
{
    return __atomic_load_n(functions_verdict_slot(function), __ATOMIC_RELAXED) ==
           functions_verdict_key(function);
}

/* Whether the call of this function is recorded, by a thread that has a recorder. */
bool functions_choose(struct preload_thread *thread, struct functions_thread *frames, uintptr_t function);

/* The same, if it needs neither a system call nor vector registers and changes nothing; else UNDECIDED. */
enum functions_choice { FUNCTIONS_UNDECIDED, FUNCTIONS_SKIPPED, FUNCTIONS_CHOSEN };
enum functions_choice functions_choose_quickly(const struct preload_thread *thread,
                                               struct functions_thread *frames, uintptr_t function);

/* Whether this function is recorded, at this depth of spans. 'thread' has the ranges of the modules. */
bool functions_is_wanted(struct preload_thread *thread, uintptr_t function, uint32_t depth);
/* Whether it has to be patched, to be recorded or for its triggers. Signals are blocked. */
bool functions_is_chosen(uintptr_t function);

/*
 * What the plan says of a function, and the plan; NULL: the default holds. Signals are blocked: it may have to be
 * requested.
 */
const struct launch_plan_function *functions_planned(uintptr_t function, const struct launch_plan **plan_ret);

#endif
