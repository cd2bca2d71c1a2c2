/*
 * The functions that an instrumented program calls at the entry and the exit of each of its functions.
 *
 * The usual call takes the quick path: a few compares, a clock read, two stores. Rare cases go through the recorder's
 * own functions with signals blocked, so that a handler that never returns (siglongjmp) cannot leave a lock taken.
 *
 * Functions that are entered through a patched place have no hooks of their own: writer/capture/functions/entry calls the
 * same functions for them. What it calls first must leave the vector registers alone, which hold arguments and results.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <errno.h>
#include <stdint.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/functions/functions.h"
#include "writer/capture/values/functions_arguments.h"

#define EXPORTED __attribute__((visibility("default"), used, noinline))
#define SLOW     __attribute__((noinline, cold))

EXPORTED void __cyg_profile_func_enter(void *function, void *call_site);
EXPORTED void __cyg_profile_func_exit(void *function, void *call_site);

/* The stack pointer of the hook's caller. */
#define CALLER_STACK ((uintptr_t)__builtin_dwarf_cfa())

/* ---- What both do ---- */

/* False: a handler interrupted a hook. */
static inline bool hook_begin(struct preload_thread *thread)
{
    if (TBED_UNLIKELY(__atomic_load_n(&thread->guard, __ATOMIC_RELAXED) != PRELOAD_FREE))
        return false;
    preload_guard_set(thread, PRELOAD_RECORDING);
    return true;
}

#define ROOM_NBYTES 32 /* an end with its begin tick, and a time advance */

/* So many bytes stay in their block, so no lock is taken. */
static inline bool has_room(const struct tbed_recorder *recorder, size_t nbytes)
{
    uintptr_t end = (uintptr_t)__atomic_load_n(&recorder->end, __ATOMIC_RELAXED);
    return end - (uintptr_t)recorder->cursor - nbytes <= UINT32_MAX;
}

/* The stack pointer is stored last and marks the rest as valid. */
static inline void snapshot(struct functions_thread *frames, struct tbed_recorder *recorder, uintptr_t stack)
{
    frames->hook_cursor = recorder->cursor;
    frames->hook_depth = frames->depth;
    frames->hook_open = functions_open_count(recorder);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    frames->hook_stack = stack;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void hook_forget(struct functions_thread *frames)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    frames->hook_stack = 0;
}

/*
 * The usual case of tbed_span_begin() and tbed_span_end(), without calls, so that the hooks save no registers; that
 * alone is a tenth of their cost. The recorder is marked as busy before its room is looked at, because another thread may
 * rotate: it takes the room away, and then waits for those that are marked. False: nothing has been done.
 */
static inline bool store_quickly(struct tbed_recorder *recorder, uint32_t tag, uint32_t id,
                                 uint64_t *tick_ret)
{
    tbed_recorder_mark_busy(recorder);
    uint64_t tick = tbed_counter_read();
    if (TBED_UNLIKELY(!has_room(recorder, ROOM_NBYTES) || (tick - recorder->base) >> 31 != 0)) {
        tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
        return false;
    }
    tbed_recorder_commit(recorder, recorder->cursor, 1, tbed_event_word(recorder, tag, id, tick));
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    *tick_ret = tick;
    return true;
}

/* The same for an event with the values that 'frames->arguments' holds; an end has its begin's tick. */
static bool store_given(struct functions_thread *frames, struct tbed_recorder *recorder, uint32_t type,
                        uint32_t id, uint64_t begin_tick, uint64_t *tick_ret)
{
    const struct functions_arguments *values = frames->arguments;
    size_t fixed = type == TBED_EXT_END, nwords = 2 + fixed + functions_arguments_nwords(values);
    tbed_recorder_mark_busy(recorder);
    uint64_t tick = tbed_counter_read(), *at = recorder->cursor;
    bool fits = has_room(recorder, ROOM_NBYTES + nwords * sizeof *at) && (tick - recorder->base) >> 31 == 0;
    if (fits) {
        frames->hook_nwords = (uint32_t)nwords;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        at[2] = begin_tick;
        functions_arguments_store(at + 2 + fixed, values);
        tbed_record_head_store(at, type | values->count << 8 | (uint64_t)(nwords - 1) << 16);
        tbed_recorder_commit(recorder, at, nwords, tbed_event_word(recorder, TBED_TAG_EXTENDED, id, tick));
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        frames->hook_nwords = 0;
    }
    tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    *tick_ret = tick;
    return fits;
}

static inline bool can_store(const struct preload_thread *thread, const struct tbed_recorder *recorder)
{
    return recorder != NULL && recorder->idle == TBED_MARK_READY && !thread->has_ended;
}

/* ---- Entry ---- */

static inline void push(struct functions_thread *frames, uintptr_t function, uintptr_t stack)
{
    struct functions_frame *frame = &frames->frames[frames->depth];
    frame->function = function;
    frame->stack = stack;
    frames->depth++;
}

/* Finds the module's range among those that the thread was in recently. */
static bool range_recall(struct preload_thread *thread, struct functions_thread *frames, uintptr_t pc)
{
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < FUNCTIONS_RANGE_COUNT; i++) {
        const struct functions_range *range = &frames->ranges[i];
        if (pc - range->start >= range->nbytes || range->version != version)
            continue;
        thread->range_version = version;
        thread->range_start = range->start;
        thread->range_nbytes = range->nbytes;
        thread->range_first_id = range->first_id;
        return true;
    }
    return false;
}

static uint32_t range_learn(struct preload_thread *thread, struct functions_thread *frames, uintptr_t pc)
{
    uint32_t location = preload_location_at(thread, pc);
    if (thread->range_nbytes != 0 && !range_recall(thread, frames, pc))
        frames->ranges[frames->range_next++ % FUNCTIONS_RANGE_COUNT] = (struct functions_range){
            thread->range_version, thread->range_start, thread->range_nbytes, thread->range_first_id};
    return location;
}

/* 'values': NULL, if they are not recorded. */
static void begin_span(struct preload_thread *thread, struct functions_thread *frames,
                       struct tbed_recorder *recorder, uint32_t location,
                       const struct functions_values *values)
{
    if (values != NULL)
        functions_begin_given(thread, frames, location, values);
    else
        tbed_span_begin(recorder, location);
}

/* The call has a frame. */
static void begin_framed(struct preload_thread *thread, struct functions_thread *frames,
                         struct tbed_recorder *recorder, uintptr_t function, uintptr_t stack,
                         const struct functions_values *values)
{
    uint32_t location = range_learn(thread, frames, function);
    if (frames->scope.minimum_ticks == 0) {
        begin_span(thread, frames, recorder, location, values);
        push(frames, function, stack);
        return;
    }
    uint64_t tick = tbed_recorder_now(recorder);
    functions_pending_store_old(frames, recorder, tick);
    functions_pending_push(frames, (struct functions_frame){function, stack, tick, location});
}

static void begin_slowly(struct preload_thread *thread, struct functions_thread *frames,
                         struct tbed_recorder *recorder, uintptr_t function, uintptr_t stack,
                         const struct functions_values *values, bool is_chosen)
{
    bool has_frame =
        frames->unframed == 0 && (frames->depth < frames->capacity || functions_frames_grow(frames));
    if (!has_frame) {
        functions_pending_store(frames, recorder, frames->depth);
        begin_span(thread, frames, recorder, range_learn(thread, frames, function), values);
        frames->unframed++;
    } else if (is_chosen || !functions_is_selective || functions_choose(thread, frames, function)) {
        begin_framed(thread, frames, recorder, function, stack, values);
    } else {
        push(frames, function, stack | FUNCTIONS_NO_SPAN);
    }
}

/* 'is_chosen': it has been decided already that the call is recorded. */
SLOW static void enter_slowly(struct preload_thread *thread, struct functions_thread *frames,
                              uintptr_t function, uintptr_t stack, const struct functions_values *values,
                              bool is_chosen)
{
    struct functions_signals signals;
    if (preload_writer == NULL)
        preload_trace_open();
    if (preload_writer == NULL) /* nothing is recorded in this process */
        return;
    int saved_errno = errno;
    functions_signals_block(&signals);
    struct tbed_recorder *recorder = thread->recorder;
    if (recorder == NULL)
        recorder = preload_recorder_get(thread);
    if (recorder != NULL)
        begin_slowly(thread, frames, recorder, function, stack, values, is_chosen);
    functions_signals_restore(&signals);
    errno = saved_errno;
}

/* False: the call needs another path. 'is_given': with what 'frames->arguments' holds. */
static inline __attribute__((always_inline)) bool enter_quickly(struct preload_thread *thread,
                                                                struct functions_thread *frames,
                                                                uintptr_t function, uintptr_t stack,
                                                                bool is_given)
{
    struct tbed_recorder *recorder = thread->recorder;
    uint64_t tick, version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    uintptr_t offset = function - thread->range_start;
    if (TBED_UNLIKELY(!can_store(thread, recorder) || frames->depth >= frames->capacity ||
                      offset >= thread->range_nbytes || thread->range_version != version))
        return false;
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    uint32_t location = thread->range_first_id + (uint32_t)(offset >> PRELOAD_PC_SHIFT);
    if (TBED_UNLIKELY(kept->top == kept->limit))
        return false;
    snapshot(frames, recorder, stack);
    bool is_stored = is_given ? store_given(frames, recorder, TBED_EXT_BEGIN, location, 0, &tick)
                              : store_quickly(recorder, TBED_TAG_BEGIN, location, &tick);
    if (TBED_UNLIKELY(!is_stored)) {
        hook_forget(frames); /* the slow path stores more than one word */
        return false;
    }
    kept->top->begin_tick = tick;
    kept->top->id = location;
    kept->top++;
    push(frames, function, stack);
    hook_forget(frames);
    return true;
}

/* The same for a call that may turn out too short, whose begin waits. */
static bool enter_pending(struct preload_thread *thread, struct functions_thread *frames, uintptr_t function,
                          uintptr_t stack)
{
    struct tbed_recorder *recorder = thread->recorder;
    uint64_t tick, version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    uintptr_t offset = function - thread->range_start;
    if (TBED_UNLIKELY(offset >= thread->range_nbytes || thread->range_version != version))
        return false;
    tick = tbed_recorder_now(recorder);
    if (TBED_UNLIKELY(functions_pending_is_old(frames, tick)))
        return false;
    uint32_t location = thread->range_first_id + (uint32_t)(offset >> PRELOAD_PC_SHIFT);
    functions_pending_push(frames, (struct functions_frame){function, stack, tick, location});
    return true;
}

static bool enter_chosen(struct preload_thread *thread, struct functions_thread *frames, uintptr_t function,
                         uintptr_t stack)
{
    return frames->scope.minimum_ticks != 0 ? enter_pending(thread, frames, function, stack)
                                            : enter_quickly(thread, frames, function, stack, false);
}

/* The usual call where few functions are recorded. */
static inline bool enter_skipped(struct functions_thread *frames, uintptr_t function, uintptr_t stack)
{
    if (!functions_is_skipped(function) || frames->depth >= frames->capacity || frames->unframed > 0)
        return false;
    push(frames, function, stack | FUNCTIONS_NO_SPAN);
    return true;
}

/* Between the quick path and the slow one: another module that is known, or only some calls are recorded. */
SLOW static void enter_otherwise(struct preload_thread *thread, struct functions_thread *frames,
                                 uintptr_t function, uintptr_t stack)
{
    struct tbed_recorder *recorder = thread->recorder;
    bool is_usual = recorder != NULL && frames->depth < frames->capacity && frames->unframed == 0;
    hook_forget(frames);
    if (is_usual && functions_is_selective && !functions_choose(thread, frames, function)) {
        push(frames, function, stack | FUNCTIONS_NO_SPAN);
    } else if (!is_usual ||
               !(enter_chosen(thread, frames, function, stack) ||
                 (range_recall(thread, frames, function) && enter_chosen(thread, frames, function, stack)))) {
        if (functions_stop_in_sandbox(thread))
            return;
        enter_slowly(thread, frames, function, stack, NULL, is_usual);
    }
    hook_forget(frames);
    preload_leave(thread);
}

static inline __attribute__((always_inline)) void enter(uintptr_t function, uintptr_t stack)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (!hook_begin(thread)) {
        functions_handler_enter(thread, function, stack);
        return;
    }
    if (TBED_UNLIKELY(!(functions_is_selective ? enter_skipped(frames, function, stack)
                                               : enter_quickly(thread, frames, function, stack, false))))
        enter_otherwise(thread, frames, function, stack);
    else
        preload_guard_set(thread, PRELOAD_FREE);
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    enter((uintptr_t)function, CALLER_STACK);
}

/* Not all calls of a function are recorded. */
static bool enter_limited(struct preload_thread *thread, struct functions_thread *frames, uintptr_t function,
                          uintptr_t stack)
{
    if (!can_store(thread, thread->recorder) || frames->depth >= frames->capacity || frames->unframed > 0)
        return false;
    switch (functions_choose_quickly(thread, frames, function)) {
    case FUNCTIONS_SKIPPED:
        push(frames, function, stack | FUNCTIONS_NO_SPAN);
        return true;
    case FUNCTIONS_CHOSEN:
        return enter_chosen(thread, frames, function, stack);
    default:
        return false;
    }
}

bool functions_try_enter(uintptr_t function, uintptr_t stack)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (TBED_UNLIKELY(!hook_begin(thread)))
        return false;
    bool is_stored = functions_is_limited ? enter_limited(thread, frames, function, stack)
                                          : enter_quickly(thread, frames, function, stack, false);
    if (!is_stored)
        hook_forget(frames);
    preload_guard_set(thread, PRELOAD_FREE);
    return is_stored;
}

bool functions_try_enter_given(const struct functions_values *values)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (functions_has_none(values->function, false))
        return functions_try_enter(values->function, values->stack);
    if (functions_is_limited || !hook_begin(thread))
        return false;
    bool is_stored = functions_given_read(thread, frames, values, false) &&
                     enter_quickly(thread, frames, values->function, values->stack, true);
    if (!is_stored)
        hook_forget(frames);
    preload_guard_set(thread, PRELOAD_FREE);
    return is_stored;
}

/* Not the quick path: it stores one word. */
static void enter_given(const struct functions_values *values)
{
    struct preload_thread *thread = &preload_thread;
    if (!hook_begin(thread)) {
        functions_handler_enter(thread, values->function, values->stack);
        return;
    }
    enter_slowly(thread, &functions_thread, values->function, values->stack, values, false);
    preload_leave(thread);
}

void functions_enter(const struct functions_values *values)
{
    if (functions_has_arguments && !functions_has_none(values->function, false) && !tbed_is_sandboxed())
        enter_given(values);
    else
        enter(values->function, values->stack);
}

/* ---- Exit ---- */

static inline void pop(struct functions_thread *frames, struct tbed_recorder *recorder)
{
    if (functions_innermost_has_span(frames, recorder))
        tbed_span_end(recorder);
    frames->depth--;
}

/* A call whose entry was not seen has no frame, so nothing ends. */
static void end_slowly(struct functions_thread *frames, struct tbed_recorder *recorder, uintptr_t function,
                       uintptr_t stack, bool is_jump)
{
    if (frames->unframed > 0) {
        frames->unframed--;
        tbed_span_end(recorder);
        return;
    }
    for (uint32_t depth = frames->depth; depth > 0; depth--) {
        if (!functions_is_exit_of(&frames->frames[depth - 1], function, stack, is_jump))
            continue;
        functions_frames_cut(frames, recorder, depth, FUNCTIONS_VANISHED);
        pop(frames, recorder);
        return;
    }
}

SLOW static void exit_slowly(struct preload_thread *thread, struct functions_thread *frames,
                             uintptr_t function, uintptr_t stack, bool is_jump)
{
    struct functions_signals signals;
    int saved_errno = errno;
    hook_forget(frames);
    if (functions_stop_in_sandbox(thread))
        return;
    if (frames->depth > 0 || frames->unframed > 0) {
        functions_signals_block(&signals);
        struct tbed_recorder *recorder = thread->recorder;
        if (recorder == NULL)
            recorder = preload_recorder_get(thread);
        if (recorder != NULL)
            end_slowly(frames, recorder, function, stack, is_jump);
        functions_signals_restore(&signals);
    }
    errno = saved_errno;
    preload_leave(thread);
}

static inline __attribute__((always_inline)) bool exit_quickly(struct preload_thread *thread,
                                                               struct functions_thread *frames,
                                                               uintptr_t function, uintptr_t stack,
                                                               bool is_jump, bool is_given)
{
    struct tbed_recorder *recorder = thread->recorder;
    uint64_t tick;
    if (TBED_UNLIKELY(frames->depth == 0 || frames->unframed != 0 || !can_store(thread, recorder)))
        return false;
    const struct functions_frame *frame = &frames->frames[frames->depth - 1];
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (TBED_UNLIKELY(!functions_is_exit_of(frame, function, stack, is_jump)))
        return false;
    if (TBED_UNLIKELY(frames->scope_count > 0))
        functions_scopes_leave(frames);
    if (!(frame->stack & FUNCTIONS_STATE)) {
        if (TBED_UNLIKELY(kept->top == kept->floor))
            return false;
        snapshot(frames, recorder, stack);
        const struct tbed_open_span *span = kept->top - 1;
        if (is_given && span->dropped)
            return false;
        bool is_stored = is_given
                             ? store_given(frames, recorder, TBED_EXT_END, span->id, span->begin_tick, &tick)
                             : store_quickly(recorder, TBED_TAG_END, span->id, &tick);
        if (TBED_UNLIKELY(!is_stored))
            return false;
        kept->top--;
    } else if (frame->stack & FUNCTIONS_PENDING &&
               !functions_pending_is_short(frames, tbed_recorder_now(recorder))) {
        return false;
    }
    frames->depth--;
    hook_forget(frames);
    return true;
}

static inline __attribute__((always_inline)) void leave(uintptr_t function, uintptr_t stack, bool is_jump)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (!hook_begin(thread)) {
        functions_handler_exit(thread, function, stack, is_jump);
        return;
    }
    if (TBED_UNLIKELY(!exit_quickly(thread, frames, function, stack, is_jump, false)))
        exit_slowly(thread, frames, function, stack, is_jump);
    else
        preload_guard_set(thread, PRELOAD_FREE);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    leave((uintptr_t)function, CALLER_STACK, __builtin_return_address(0) == call_site);
}

bool functions_try_exit(uintptr_t function, uintptr_t stack)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (TBED_UNLIKELY(!hook_begin(thread)))
        return false;
    /* The first call that is left out has to take a counter. */
    bool needs_counter = frames->left_out == NULL && frames->depth > 0 &&
                         frames->frames[frames->depth - 1].stack & FUNCTIONS_PENDING;
    bool is_stored = !needs_counter && exit_quickly(thread, frames, function, stack, false, false);
    if (!is_stored)
        hook_forget(frames);
    preload_guard_set(thread, PRELOAD_FREE);
    return is_stored;
}

bool functions_try_exit_given(const struct functions_values *values)
{
    struct preload_thread *thread = &preload_thread;
    struct functions_thread *frames = &functions_thread;
    if (functions_has_none(values->function, true))
        return functions_try_exit(values->function, values->stack);
    if (functions_is_limited || !hook_begin(thread))
        return false;
    bool is_stored = functions_given_read(thread, frames, values, true) &&
                     exit_quickly(thread, frames, values->function, values->stack, false, true);
    if (!is_stored)
        hook_forget(frames);
    preload_guard_set(thread, PRELOAD_FREE);
    return is_stored;
}

/* False: the call is not the innermost one, or has no span; nothing has been done. */
static bool end_given(struct preload_thread *thread, struct functions_thread *frames,
                      const struct functions_values *values)
{
    struct functions_signals signals;
    int saved_errno = errno;
    if (frames->depth == 0 || frames->unframed > 0 || thread->recorder == NULL || thread->has_ended ||
        frames->frames[frames->depth - 1].stack != values->stack ||
        frames->frames[frames->depth - 1].function != values->function)
        return false;
    functions_signals_block(&signals);
    functions_end_given(thread, frames, values);
    frames->depth--;
    functions_signals_restore(&signals);
    errno = saved_errno;
    return true;
}

void functions_exit(const struct functions_values *values)
{
    struct preload_thread *thread = &preload_thread;
    bool is_ended = false;
    if (functions_has_arguments && values->general != NULL && !functions_has_none(values->function, true) &&
        !tbed_is_sandboxed() && hook_begin(thread)) {
        is_ended = end_given(thread, &functions_thread, values);
        preload_leave(thread);
    }
    if (!is_ended)
        leave(values->function, values->stack, false);
}

uintptr_t functions_open_at(uintptr_t stack, uint32_t outer)
{
    const struct functions_thread *frames = &functions_thread;
    if (frames->depth <= outer || frames->unframed > 0)
        return 0;
    const struct functions_frame *frame = &frames->frames[frames->depth - 1 - outer];
    return (frame->stack & ~FUNCTIONS_STATE) == stack ? frame->function : 0;
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
