/*
 * The return addresses of a thread's callers, found by frame pointers or by what compilers emit about each function's
 * frame (.eh_frame).
 *
 * On x86-64 few programs keep frame pointers, so a frame's caller is found with the rule for its program counter:
 * where the caller's stack pointer is (the canonical frame address, CFA), and where its frame pointer was saved. The
 * rule is looked up once and then cached by the thread; a step is a compare and two loads. Only what compilers emit
 * for code is supported: a frame address relative to the stack or frame pointer, or saved below it. Anything else ends
 * the stack, and so does anything inconsistent: a stack may be cut short, but what it contains is right.
 *
 * From one allocation to the next most callers are the same. Each frame is kept with where its values were read. When the
 * walk reaches a frame of the last stack with the same registers, the frames outwards of it are the same as long as the
 * words there are: two compares a frame, which do not wait for one another, instead of a look-up and a step.
 *
 * Unlike in the unwinding libraries, no lock is taken and nothing is allocated, so a forked child, a signal handler
 * and the allocator itself can be unwound. A page of the stack is read only after the kernel has confirmed that it is
 * mapped.
 *
 * Source: the psABI of x86-64, section 3.7; the Linux Standard Base, "DWARF extensions"; DWARF 4, section 6.4.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/shared/preload_unwind.h"

#define STACK_PAGE_NBYTES    4096u
#define STACK_GAP_NBYTES_MAX ((uintptr_t)64 * STACK_PAGE_NBYTES)
#define FRAME_NBYTES_MAX     ((uintptr_t)64 << 20)

/* ---- Reading the stack ---- */

/* The kernel reads the signal mask before it rejects the invalid operation. In a sandbox it cannot be asked. */
static bool is_mapped(uintptr_t page)
{
    return !tbed_is_sandboxed() && syscall(SYS_rt_sigprocmask, ~0, page, NULL, 8) != 0 && errno != EFAULT;
}

/*
 * A function with large arrays leaves pages between its frame and its caller's. They are asked for as well: if what is
 * known of the stack moved from one side of them to the other, each stack would ask the kernel again.
 */
static bool probe_page(struct preload_unwinder *unwinder, uintptr_t page)
{
    if (page - unwinder->high < STACK_GAP_NBYTES_MAX)
        while (unwinder->high < page && is_mapped(unwinder->high))
            unwinder->high += STACK_PAGE_NBYTES;
    if (!is_mapped(page))
        return false;
    if (page != unwinder->high)
        unwinder->low = page;
    unwinder->high = page + STACK_PAGE_NBYTES;
    return true;
}

static inline bool is_known(const struct preload_unwinder *unwinder, uintptr_t address)
{
    return address - unwinder->low < unwinder->high - unwinder->low;
}

static inline bool read_word(struct preload_unwinder *unwinder, uintptr_t address, uintptr_t *word_ret)
{
    if (address % sizeof(uintptr_t) != 0)
        return false;
    if (TBED_UNLIKELY(!is_known(unwinder, address)) &&
        !probe_page(unwinder, address & ~(uintptr_t)(STACK_PAGE_NBYTES - 1)))
        return false;
    *word_ret = *(const uintptr_t *)address;
    return true;
}

/* The page that we are running on is mapped. */
static void enter_stack(struct preload_unwinder *unwinder, uintptr_t address)
{
    uintptr_t page = address & ~(uintptr_t)(STACK_PAGE_NBYTES - 1);
    if (is_known(unwinder, address))
        return;
    if (page + STACK_PAGE_NBYTES != unwinder->low)
        unwinder->high = page + STACK_PAGE_NBYTES;
    unwinder->low = page;
}

/* ---- Steps ---- */

uintptr_t preload_gate_return;

/* The caller of a function that keeps a frame pointer. */
static bool step_by_frame_pointer(struct preload_unwinder *unwinder, struct preload_frame *at)
{
    uintptr_t frame = at->bp;
    if (frame < at->sp || frame - at->sp > FRAME_NBYTES_MAX || !read_word(unwinder, frame, &at->bp) ||
        !read_word(unwinder, frame + sizeof(uintptr_t), &at->pc))
        return false;
    at->pc_at = frame + sizeof(uintptr_t);
    at->bp_at = frame;
    at->sp = frame + 2 * sizeof(uintptr_t);
#if defined(__aarch64__)
    at->pc &= ((uintptr_t)1 << 48) - 1; /* without its signature */
#endif
    return at->pc != 0;
}

#if defined(__x86_64__)

/* The registers that a signal interrupted, as the kernel puts them on the stack: a struct ucontext at 'sp'. */
static bool step_over_signal(struct preload_unwinder *unwinder, struct preload_frame *at)
{
    uintptr_t registers = at->sp + offsetof(ucontext_t, uc_mcontext.gregs), pc;
    if (!read_word(unwinder, registers + REG_RIP * sizeof(greg_t), &pc) ||
        !read_word(unwinder, registers + REG_RBP * sizeof(greg_t), &at->bp) ||
        !read_word(unwinder, registers + REG_RSP * sizeof(greg_t), &at->sp))
        return false;
    at->pc = pc + 1;
    at->pc_at = 0;
    return pc != 0;
}

static const struct preload_frame_rule *find_rule(struct preload_unwinder *unwinder, uintptr_t pc)
{
    uint64_t hash = pc * 0x9E3779B97F4A7C15u;
    struct preload_frame_rule *rule =
        &unwinder->rules[preload_cache_index(&unwinder->use, PRELOAD_RULES_LEAST, hash)];
    if (TBED_UNLIKELY(rule->pc != pc)) {
        preload_frame_rule_find(pc, rule);
        rule->pc = pc;
        preload_cache_stored(&unwinder->use, PRELOAD_RULES_LEAST, PRELOAD_RULES_MOST);
    }
    return rule;
}

/* A gate may be where unwinders end. */
static bool step_through_gate(struct preload_unwinder *unwinder, struct preload_frame *at)
{
    uintptr_t pc;
    if (preload_gate_return == 0 || !read_word(unwinder, at->sp, &pc) || pc != preload_gate_return)
        return false;
    at->pc = pc;
    at->sp += sizeof pc;
    return true;
}

static bool step(struct preload_unwinder *unwinder, struct preload_frame *at)
{
    const struct preload_frame_rule *rule = find_rule(unwinder, at->pc);
    uintptr_t frame = rule->kind == PRELOAD_FRAME_BY_SP ? at->sp : at->bp;
    if (rule->kind == PRELOAD_FRAME_SIGNAL)
        return step_over_signal(unwinder, at);
    if (rule->kind == PRELOAD_FRAME_END)
        return step_through_gate(unwinder, at);
    frame += (uintptr_t)(intptr_t)rule->frame_offset;
    if (rule->kind == PRELOAD_FRAME_SAVED &&
        (!read_word(unwinder, frame, &frame) || !read_word(unwinder, at->bp, &at->bp)))
        return false;
    if (frame <= at->sp || frame - at->sp > FRAME_NBYTES_MAX ||
        !read_word(unwinder, frame - sizeof(uintptr_t), &at->pc))
        return false;
    if (rule->has_bp && rule->kind != PRELOAD_FRAME_SAVED &&
        !read_word(unwinder, frame + (uintptr_t)(intptr_t)rule->bp_offset, &at->bp))
        return false;
    /* If the frame's address itself was read, those two words do not say that it is the same. */
    at->pc_at = rule->kind != PRELOAD_FRAME_SAVED ? frame - sizeof(uintptr_t) : 0;
    at->bp_at = rule->has_bp ? frame + (uintptr_t)(intptr_t)rule->bp_offset : 0;
    at->sp = frame;
    return at->pc != 0;
}

#else

static bool step(struct preload_unwinder *unwinder, struct preload_frame *at)
{
    return step_by_frame_pointer(unwinder, at);
}

#endif

/* ---- Stacks ---- */

/*
 * Stores a frame, and returns how many there are then. A function that was entered through a gate goes, and so does the
 * gate. The frame outwards of them does not follow from the one inwards alone.
 */
static inline uint32_t store(struct preload_unwinder *unwinder, uint32_t count, struct preload_frame *at,
                             bool *is_behind_gate)
{
    if (TBED_UNLIKELY(at->pc == preload_gate_return) && count > 0) {
        *is_behind_gate = true;
        return count - 1;
    }
    if (TBED_UNLIKELY(*is_behind_gate))
        at->pc_at = 0;
    *is_behind_gate = false;
    unwinder->inner[count] = *at;
    return count + 1;
}

/* The caller that was found from the next frame inwards would be found again. */
static inline bool is_unchanged(const struct preload_unwinder *unwinder, const struct preload_frame *frame)
{
    return is_known(unwinder, frame->pc_at) && *(const uintptr_t *)frame->pc_at == frame->pc &&
           (frame->bp_at == 0 ||
            (is_known(unwinder, frame->bp_at) && *(const uintptr_t *)frame->bp_at == frame->bp));
}

/* The first 'count' of 'inner' are called by the first 'shared' frames of the last stack. */
static void put(struct preload_unwinder *unwinder, uint32_t shared, uint32_t count)
{
    uint32_t depth = shared + count, same = shared;
    for (uint32_t i = shared; i < depth; i++) {
        const struct preload_frame *frame = &unwinder->inner[depth - 1 - i];
        same += same == i && i < unwinder->depth && unwinder->frames[i].pc == frame->pc;
        unwinder->frames[i] = *frame;
    }
    unwinder->depth = depth;
    unwinder->same_count = same;
}

/* How many of the last stack's frames, from the outermost on, are further out than this one, or the same. */
static inline uint32_t skip_inner(const struct preload_unwinder *unwinder, uint32_t count, uintptr_t sp)
{
    while (count > 0 && unwinder->frames[count - 1].sp < sp)
        count--;
    return count;
}

static inline bool is_same(const struct preload_frame *a, const struct preload_frame *b)
{
    return a->pc == b->pc && a->sp == b->sp && a->bp == b->bp;
}

void preload_unwind(struct preload_unwinder *unwinder, const uintptr_t *frame, uint32_t max)
{
    struct preload_frame at = {.pc = frame[1], .sp = (uintptr_t)(frame + 2), .bp = frame[0]};
    struct preload_frame *inner = unwinder->inner, *last = unwinder->frames;
    uint32_t count = 0, left = unwinder->depth;
    bool is_behind_gate = false;
    enter_stack(unwinder, (uintptr_t)frame);
    do {
        left = skip_inner(unwinder, left, at.sp);
        if (left > 0 && is_same(&last[left - 1], &at)) {
            uint32_t end = left - 1;
            while (end > 0 && is_unchanged(unwinder, &last[end - 1]))
                end--;
            if (end == 0 && count + left < max) { /* never in a stack that was cut */
                put(unwinder, left, count);
                return;
            }
            for (; left - 1 > end && count + 1 < max; left--)
                inner[count++] = last[left - 1];
            at = last[--left];
        }
        count = store(unwinder, count, &at, &is_behind_gate);
    } while (count < max &&
             (unwinder->by_frame_pointer ? step_by_frame_pointer(unwinder, &at) : step(unwinder, &at)));
    if (count == max)
        inner[count - 1] = (struct preload_frame){.pc = PRELOAD_CUT_PC, .sp = at.sp};
    put(unwinder, 0, count);
}

void preload_unwinder_forget(struct preload_unwinder *unwinder)
{
    memset(unwinder->rules, 0,
           preload_cache_size(&unwinder->use, PRELOAD_RULES_LEAST) * sizeof *unwinder->rules);
    unwinder->use = (struct preload_cache_use){0};
    unwinder->depth = 0;
}
