/*
 * Libraries that are loaded later: dlopen() patches them before it returns. What their constructors call is not recorded,
 * unless it calls mcount or __fentry__.
 *
 * The loader searches a library as the caller's module says (RUNPATH), and knows the caller by the address it returns to.
 * That is the address of a return instruction in the caller's module, if possible one at which the stack holds nothing but
 * the next return address, so that unwinders agree; else one without a rule, where they end.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "writer/base/sandbox_state.h"
#include "writer/capture/entries/entries.h"
#include "writer/capture/shared/preload_unwind.h"

#if defined(__x86_64__)

#define RETURN 0xC3

struct functions_loading {
    void *real;
    uintptr_t gate; /* a return instruction in the caller's module; 0: there is none */
};

__attribute__((used)) struct functions_loading functions_library_begin(uintptr_t caller);
__attribute__((used)) void functions_library_end(void);

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

/* The segment around the caller is code of its module. */
static int find_gate(struct dl_phdr_info *info, size_t nbytes, void *context)
{
    struct functions_loading *loading = context;
    (void)nbytes;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
            loading->gate - start >= segment->p_filesz)
            continue;
        loading->gate = gate_in(start, segment->p_filesz);
        return 1;
    }
    return 0;
}

struct functions_loading functions_library_begin(uintptr_t caller)
{
    static void *kept;
    struct functions_loading loading = {.gate = caller};
    loading.real = functions_real(&kept, "dlopen", (const void *)caller);
    if (dl_iterate_phdr(find_gate, &loading) == 0)
        loading.gate = 0;
    return loading;
}

void functions_library_end(void)
{
    if (!tbed_is_sandboxed() && preload_thread.guard == PRELOAD_FREE)
        functions_patch_loaded();
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
        "    call functions_library_begin\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    test %rdx, %rdx\n"
        "    jz 1f\n"
        "    lea 2f(%rip), %rcx\n"
        "    push %rcx\n" /* for alignment */
        "    push %rcx\n"
        "    push %rdx\n"
        "    jmp *%rax\n"
        "1:  call *%rax\n"
        "2:  lea -16(%rbp), %rsp\n"
        "    mov %rax, (%rsp)\n"
        "    test %rax, %rax\n"
        "    jz 3f\n"
        "    call functions_library_end\n"
        "3:  mov (%rsp), %rax\n"
        "    leave\n"
        "    .cfi_def_cfa 7, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlopen, . - dlopen\n");

#endif
