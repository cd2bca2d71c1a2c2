/*
 * The trampolines at a function's entry and behind its return.
 *
 * Both keep all registers: a compiler that sees caller and callee may count on more of them than the calling convention
 * says. The vector registers are saved only if the quick path does not suffice.
 *
 * A replaced return address leads unwinders to the second trampoline, whose rules say where its caller is: the CFA of the
 * function that was left, and as return address what the cell of the replaced one contains. The CFA itself is 8 more,
 * because unwinders tell frames by their CFA and would take the trampoline for its caller. The rules are numbers of
 * DWARF (DW_CFA_val_expression and DW_OP_...), since assemblers have no words for them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/capture/entries/entries.h"

#if defined(__x86_64__)

/* The cell of the place at 'register + offset', then its first word: functions_cell_find() in DWARF. */
#define RETURN_ADDRESS_AT(base, offset)                                                                          \
    ".cfi_escape 0x16, 16, 42, " base ", " offset                            /* DW_OP_breg: the place */         \
    ", 0x12, 0x08, 30, 0x25, 0x33, 0x24"                                     /* dup, shr 30, shl 3 */            \
    ", 0x0e, 0x00, 0x00, 0x00, 0xD0, 0xBE, 0x1A, 0x00, 0x00, 0x22, 0x06"     /* plus root, deref */              \
    ", 0x14, 0x08, 20, 0x25, 0x0a, 0xff, 0x03, 0x1a, 0x33, 0x24, 0x22, 0x06" /* over; plus the branch's index */ \
    ", 0x16, 0x0c, 0xf8, 0xff, 0x0f, 0x00, 0x1a, 0x31, 0x24, 0x22, 0x06\n" /* swap; plus the cell's offset */

#define STACK_POINTER_AT(base, offset) ".cfi_escape 0x16, 7, 2, " base ", " offset "\n"

#define RULES_BY_RSP(cfa, sp, place)                                                                         \
    ".cfi_def_cfa 7, " cfa "\n" STACK_POINTER_AT("0x77", sp) RETURN_ADDRESS_AT("0x77", place)

#define SAVE_VECTORS                                                                                         \
    "    mov functions_saved_nbytes(%rip), %eax\n"                                                           \
    "    sub %rax, %rsp\n"                                                                                   \
    "    and $-64, %rsp\n"                                                                                   \
    "    mov functions_saved_mask(%rip), %eax\n"                                                             \
    "    xor %edx, %edx\n"                                                                                   \
    "    test %eax, %eax\n"                                                                                  \
    "    jz 2f\n"                                                                                            \
    "    mov %rdx, 512(%rsp)\n"                                                                              \
    "    mov %rdx, 520(%rsp)\n"                                                                              \
    "    mov %rdx, 528(%rsp)\n"                                                                              \
    "    mov %rdx, 536(%rsp)\n"                                                                              \
    "    mov %rdx, 544(%rsp)\n"                                                                              \
    "    mov %rdx, 552(%rsp)\n"                                                                              \
    "    mov %rdx, 560(%rsp)\n"                                                                              \
    "    mov %rdx, 568(%rsp)\n"                                                                              \
    "    xsave64 (%rsp)\n"                                                                                   \
    "    jmp 3f\n"                                                                                           \
    "2:  fxsave64 (%rsp)\n"                                                                                  \
    "3:  mov %rsp, %rsi\n"

#define RESTORE_VECTORS                                                                                      \
    "    mov functions_saved_mask(%rip), %eax\n"                                                             \
    "    xor %edx, %edx\n"                                                                                   \
    "    test %eax, %eax\n"                                                                                  \
    "    jz 4f\n"                                                                                            \
    "    xrstor64 (%rsp)\n"                                                                                  \
    "    jmp 1b\n"                                                                                           \
    "4:  fxrstor64 (%rsp)\n"                                                                                 \
    "    jmp 1b\n"

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden functions_entry_trampoline\n"
        ".globl functions_entry_trampoline\n"
        ".type functions_entry_trampoline, @function\n"
        "functions_entry_trampoline:\n"
        "    .cfi_startproc\n"
        "    .cfi_def_cfa 7, 16\n"
        "    push %rbp\n"
        "    .cfi_def_cfa 7, 24\n"
        "    .cfi_rel_offset 6, 0\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_def_cfa 6, 24\n"
        "    push %r11\n"
        "    push %r10\n"
        "    push %rax\n"
        "    push %r9\n"
        "    push %r8\n"
        "    push %rcx\n"
        "    push %rdx\n"
        "    push %rsi\n"
        "    push %rdi\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    cld\n"
        "    call functions_entered_quickly\n"
        "    test %al, %al\n"
        "    jz 5f\n"
        "1:  lea -72(%rbp), %rsp\n"
        "    pop %rdi\n"
        "    pop %rsi\n"
        "    pop %rdx\n"
        "    pop %rcx\n"
        "    pop %r8\n"
        "    pop %r9\n"
        "    pop %rax\n"
        "    pop %r10\n"
        "    pop %r11\n"
        "    .cfi_remember_state\n"
        "    pop %rbp\n"
        "    .cfi_def_cfa 7, 16\n"
        "    .cfi_restore 6\n"
        "    lea 8(%rsp), %rsp\n"
        "    .cfi_def_cfa 7, 8\n"
        "    ret\n"
        "    .cfi_restore_state\n"
        "5:\n" SAVE_VECTORS "    lea -72(%rbp), %rdi\n"
        "    call functions_entered_slowly\n" RESTORE_VECTORS "    .cfi_endproc\n"
        ".size functions_entry_trampoline, . - functions_entry_trampoline\n");

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden functions_return_trampoline\n"
        ".globl functions_return_trampoline\n"
        ".type functions_return_trampoline, @function\n"
        "    .cfi_startproc\n" RULES_BY_RSP("8", "0", "0x78") /* the place is at rsp - 8 */
        "    nop\n" /* unwinders look at the byte before a return address */
        "functions_return_trampoline:\n"
        "    lea -8(%rsp), %rsp\n" RULES_BY_RSP("16", "8", "0") "    push %rbp\n" RULES_BY_RSP(
            "24", "16",
            "8") "    .cfi_rel_offset 6, 0\n"
                 "    mov %rsp, %rbp\n"
                 "    .cfi_def_cfa 6, 24\n" STACK_POINTER_AT("0x76", "16") RETURN_ADDRESS_AT(
                     "0x76",
                     "8") "    push %r11\n"
                          "    push %r10\n"
                          "    push %r9\n"
                          "    push %r8\n"
                          "    push %rdi\n"
                          "    push %rsi\n"
                          "    push %rcx\n"
                          "    push %rdx\n"
                          "    push %rax\n"
                          "    mov %rsp, %rdi\n"
                          "    and $-16, %rsp\n"
                          "    cld\n"
                          "    call functions_returned_quickly\n"
                          "    test %al, %al\n"
                          "    jz 5f\n"
                          "1:  lea -72(%rbp), %rsp\n"
                          "    pop %rax\n"
                          "    pop %rdx\n"
                          "    pop %rcx\n"
                          "    pop %rsi\n"
                          "    pop %rdi\n"
                          "    pop %r8\n"
                          "    pop %r9\n"
                          "    pop %r10\n"
                          "    pop %r11\n"
                          "    .cfi_remember_state\n"
                          "    pop %rbp\n"
                          "    .cfi_restore 6\n" RULES_BY_RSP(
                              "16", "8",
                              "0") "    lea 8(%rsp), %rsp\n" RULES_BY_RSP("8", "0",
                                                                          "0x78") "    jmp *-8(%rsp)\n"
                                                                                  "    .cfi_restore_state\n"
                                                                                  "5:\n" SAVE_VECTORS
                                                                                  "    lea -72(%rbp), %rdi\n"
                                                                                  "    call "
                                                                                  "functions_returned_"
                                                                                  "slowly\n" RESTORE_VECTORS
                                                                                  "    .cfi_endproc\n"
                                                                                  ".size "
                                                                                  "functions_return_"
                                                                                  "trampoline, . - "
                                                                                  "functions_return_"
                                                                                  "trampoline\n");

/*
 * What places call that were not patched: those of modules that do not say where their functions begin, and of the
 * constructors of libraries, which run too early.
 */
#define CALLED(name, kind)                                                                                   \
    __asm__(".text\n"                                                                                        \
            ".globl " name "\n"                                                                              \
            ".type " name ", @function\n" name ":\n"                                                         \
            "    .cfi_startproc\n"                                                                           \
            "    push $" kind " << 16\n"                                                                     \
            "    .cfi_adjust_cfa_offset 8\n"                                                                 \
            "    jmp functions_entry_trampoline\n"                                                           \
            "    .cfi_endproc\n"                                                                             \
            ".size " name ", . - " name "\n")

CALLED("__fentry__", "0");
CALLED("mcount", "1");
CALLED("_mcount", "1");

#else

void functions_entry_trampoline(void) {}

void functions_return_trampoline(void) {}

#endif
