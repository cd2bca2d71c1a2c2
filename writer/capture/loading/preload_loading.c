/*
 * Libraries that are loaded later: something can be done with them before dlopen() returns. What their constructors call
 * before that is missed, unless it calls mcount or __fentry__.
 *
 * The loader searches a library as the caller's module says (RUNPATH), and knows the caller by the address it returns to.
 * That is the address of a return instruction in the caller's module, if possible one at which the stack holds nothing but
 * the next return address, so that unwinders agree; else one without a rule, where they end.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/loading/preload_loading.h"
#include "writer/capture/shared/preload_unwind.h"

void (*preload_loaded)(void *library, size_t first);

#if defined(__x86_64__)

#define RETURN 0xC3

struct preload_loading {
    void *real;
    uintptr_t gate; /* a return instruction in the caller's module; 0: there is none */
};

__attribute__((used)) struct preload_loading preload_loading_begin(uintptr_t caller);
__attribute__((used)) void preload_loading_end(void *library);
extern const char preload_loading_return[] __attribute__((visibility("hidden")));

/* What was loaded when the thread's outermost dlopen() began: libraries may load others in their constructors. */
static __thread struct {
    unsigned depth;
    size_t count;
    unsigned long long unloaded;
} loading_state;

/* How well unwinders get past this address: 2 as they should, 1 not at all, 0 wrongly. */
static int quality(uintptr_t address)
{
    struct preload_frame_rule rule;
    if (*(const uint8_t *)address != RETURN)
        return 0;
    preload_frame_rule_find(address, &rule);
    if (rule.kind == PRELOAD_FRAME_BY_SP && rule.frame_offset == sizeof(uintptr_t) && !rule.has_bp)
        return 2;
    return rule.kind == PRELOAD_FRAME_END;
}

static uintptr_t gate_in(uintptr_t start, size_t nbytes)
{
    uintptr_t gate = 0;
    int best = 0;
    for (size_t at = 1; at < nbytes && best < 2; at++) {
        int found = quality(start + at);
        if (found > best) {
            best = found;
            gate = start + at;
        }
    }
    return gate;
}

struct modules {
    uintptr_t caller, gate;
    size_t count;
    unsigned long long unloaded;
};

/* The segment around the caller is code of its module. */
static int look_at_module(struct dl_phdr_info *info, size_t nbytes, void *context)
{
    struct modules *modules = context;
    (void)nbytes;
    modules->count++;
    modules->unloaded = info->dlpi_subs;
    for (size_t i = 0; modules->caller != 0 && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
            modules->caller - start < segment->p_filesz)
            modules->gate = gate_in(start, segment->p_filesz);
    }
    return 0;
}

static void *real_dlopen(void)
{
    static void *known; /* atomic */
    void *found = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (found == NULL) {
        uint8_t guard = preload_lookup_begin(&preload_thread);
        found = dlsym(RTLD_NEXT, "dlopen");
        __atomic_store_n(&known, found, __ATOMIC_RELEASE);
        preload_lookup_end(&preload_thread, guard);
    }
    return found;
}

struct preload_loading preload_loading_begin(uintptr_t caller)
{
    struct modules modules = {.caller = caller};
    uint8_t guard = preload_thread.guard;
    int saved_errno = errno;
    preload_guard_set(&preload_thread, PRELOAD_APART); /* finding a rule may check what is loaded */
    dl_iterate_phdr(look_at_module, &modules);
    preload_guard_set(&preload_thread, guard);
    if (loading_state.depth++ == 0) {
        loading_state.count = modules.count;
        loading_state.unloaded = modules.unloaded;
    }
    preload_gate_return = (uintptr_t)preload_loading_return;
    errno = saved_errno;
    return (struct preload_loading){real_dlopen(), modules.gate};
}

void preload_loading_end(void *library)
{
    struct modules modules = {.caller = 0};
    int saved_errno = errno;
    loading_state.depth--;
    if (library == NULL || preload_loaded == NULL || tbed_is_sandboxed() ||
        preload_thread.guard != PRELOAD_FREE)
        return;
    dl_iterate_phdr(look_at_module, &modules);
    preload_loaded(library, modules.unloaded == loading_state.unloaded ? loading_state.count : 0);
    errno = saved_errno;
}

__asm__(".text\n"
        ".p2align 4\n"
        ".globl dlopen\n"
        ".type dlopen, @function\n"
        "dlopen:\n"
        "    .cfi_startproc\n"
        "    push %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset 6, -16\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_def_cfa_register 6\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    mov 8(%rbp), %rdi\n"
        "    call preload_loading_begin\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    test %rdx, %rdx\n"
        "    jz 1f\n"
        "    lea preload_loading_return(%rip), %rcx\n"
        "    push %rcx\n" /* for alignment */
        "    push %rcx\n"
        "    push %rdx\n"
        "    jmp *%rax\n"
        "1:  call *%rax\n"
        "    nop\n"
        "    .hidden preload_loading_return\n"
        "preload_loading_return:\n"
        "    lea -16(%rbp), %rsp\n"
        "    mov %rax, (%rsp)\n"
        "    mov %rax, %rdi\n"
        "    call preload_loading_end\n"
        "    mov (%rsp), %rax\n"
        "    leave\n"
        "    .cfi_def_cfa 7, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlopen, . - dlopen\n");

#endif
