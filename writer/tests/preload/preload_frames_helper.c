/*
 * Allocates from functions whose frames are described in unusual ways: correctly, so that the stack must go on, or in a
 * way that ends it. Prints how many there are of each. With the argument 'damaged', changes single bytes of a
 * description, and allocates from its function each time, in a thread that does not know it yet.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "writer/tests/preload/preload_frames_log.h"

#if defined(__x86_64__)

__attribute__((noinline, used)) void frames_allocate(size_t nbytes);
void frames_allocate(size_t nbytes)
{
    void *volatile block = malloc(nbytes);
    free(block);
}

/* A function with a frame of 16 bytes, and whatever else describes it. */
#define FUNCTION(name, description)                                                                          \
    void name(size_t);                                                                                       \
    __asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"                                \
            "subq $8, %rsp\n.cfi_def_cfa_offset 16\n" description "\n"                                       \
            "call frames_allocate\naddq $8, %rsp\nret\n.cfi_endproc\n.size " #name ", . - " #name "\n");

FUNCTION(far_2, "jmp 1f\n.skip 300, 0x90\n1: .cfi_def_cfa_offset 16\nnop\n.cfi_def_cfa_offset 16")
FUNCTION(far_4, "jmp 1f\n.skip 70000, 0x90\n1: .cfi_def_cfa_offset 16\nnop\n.cfi_def_cfa_offset 16")
FUNCTION(remembered, ".cfi_remember_state\n.cfi_def_cfa_offset 4096\n.cfi_restore_state")
FUNCTION(saved_pc, ".cfi_escape 0x05, 0x10, 0x01")                  /* DW_CFA_offset_extended */
FUNCTION(restored_pc, ".cfi_undefined rip\n.cfi_escape 0x06, 0x10") /* DW_CFA_restore_extended */
FUNCTION(restored_bp, ".cfi_offset rbp, -64\n.cfi_escape 0x06, 0x06\n.cfi_escape 0x06, 0x03")
FUNCTION(undefined_bx, ".cfi_undefined rbx")
FUNCTION(same_bp, ".cfi_offset rbp, -64\n.cfi_same_value rbp\n.cfi_same_value rbx")
FUNCTION(bx_in_register, ".cfi_register rbx, rcx")
FUNCTION(bx_by_value, ".cfi_escape 0x16, 0x03, 0x02, 0x77, 0x08") /* DW_CFA_val_expression */
FUNCTION(bx_by_expression, ".cfi_escape 0x10, 0x03, 0x02, 0x77, 0x08")
FUNCTION(arguments, ".cfi_escape 0x2E, 0x10") /* DW_CFA_GNU_args_size */

FUNCTION(undefined_pc, ".cfi_undefined rip")
FUNCTION(undefined_bp, ".cfi_undefined rbp")
FUNCTION(pc_elsewhere, ".cfi_offset rip, -24")
FUNCTION(pc_in_register, ".cfi_register rip, rcx")
FUNCTION(bp_in_register, ".cfi_register rbp, rcx")
FUNCTION(pc_by_value, ".cfi_escape 0x16, 0x10, 0x02, 0x77, 0x08")
FUNCTION(bp_by_value, ".cfi_escape 0x16, 0x06, 0x02, 0x77, 0x08")
FUNCTION(bp_by_expression, ".cfi_escape 0x10, 0x06, 0x02, 0x77, 0x08")
FUNCTION(bp_by_offset, ".cfi_escape 0x10, 0x06, 0x02, 0x76, 0x08")
FUNCTION(pc_by_expression, ".cfi_escape 0x10, 0x10, 0x02, 0x76, 0x00")
FUNCTION(bp_too_far, ".cfi_offset rbp, -524288")
FUNCTION(frame_by_bx, ".cfi_def_cfa rbx, 16")
FUNCTION(frame_by_expression, ".cfi_escape 0x0F, 0x02, 0x77, 0x10")
FUNCTION(frame_by_sum, ".cfi_escape 0x0F, 0x03, 0x76, 0x08, 0x12")
FUNCTION(unknown, ".cfi_escape 0x11, 0x03, 0x01") /* DW_CFA_offset_extended_sf */
FUNCTION(not_remembered, ".cfi_escape 0x0B")
FUNCTION(remembered_often, ".rept 9\n.cfi_remember_state\n.endr")
FUNCTION(frame_too_large, ".cfi_def_cfa_offset 0x40000008")
FUNCTION(frame_below, ".cfi_def_cfa_offset -64")
FUNCTION(frame_unaligned, ".cfi_def_cfa_offset 17")
FUNCTION(frame_unmapped, ".cfi_def_cfa_offset 0x3000000")
FUNCTION(saved_frame_unaligned, ".cfi_escape 0x0F, 0x03, 0x76, 0x01, 0x06")

/* With another frame pointer during the call, and described correctly. */
#define WITH_FRAME_POINTER(name, value)                                                                      \
    void name(size_t);                                                                                       \
    __asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"                                \
            "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp, -16\n" value                               \
            "\ncall frames_allocate\npopq %rbp\nret\n.cfi_endproc\n.size " #name ", . - " #name "\n");

WITH_FRAME_POINTER(zero, "xorl %ebp, %ebp")
WITH_FRAME_POINTER(odd, "leaq 33(%rsp), %rbp")
WITH_FRAME_POINTER(far_away, "movabsq $0x7FFFFFFFFFF0, %rbp")
WITH_FRAME_POINTER(unmapped, "leaq 0x3000000(%rsp), %rbp")
WITH_FRAME_POINTER(below, "leaq -512(%rsp), %rbp")

static void (*const going_on[])(size_t) = {far_2,       far_4,          remembered,       saved_pc,
                                           restored_pc, restored_bp,    same_bp,          undefined_bx,
                                           bx_by_value, bx_in_register, bx_by_expression, arguments};
static void (*const ending[])(size_t) = {
    undefined_pc,    undefined_bp,        pc_elsewhere,   pc_in_register,       bp_in_register,   pc_by_value,
    bp_by_value,     bp_by_expression,    bp_by_offset,   pc_by_expression,     bp_too_far,       frame_by_bx,
    frame_by_sum,    frame_by_expression, unknown,        not_remembered,       remembered_often, frame_below,
    frame_too_large, frame_unaligned,     frame_unmapped, saved_frame_unaligned};
static void (*const without_pointer[])(size_t) = {zero, odd, far_away, unmapped, below};

#define CALL_ALL(functions, first)                                                                           \
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)                                      \
        functions[i]((first) + i);
#define COUNT(functions) (sizeof functions / sizeof functions[0])

/* ---- Damage ---- */

static int find_header(struct dl_phdr_info *info, size_t nbytes, void *header_ret)
{
    (void)nbytes;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            *(uint8_t **)header_ret = (uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1; /* the program is listed first */
}

/* Behind the header: pairs of a function and its description, from the header. */
static uint8_t *find_description(uint8_t *header)
{
    int32_t pair[2];
    uint32_t count;
    memcpy(&count, header + 8, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(pair, header + 12 + 8 * i, sizeof pair);
        if (header + pair[0] == (uint8_t *)(uintptr_t)bx_by_expression)
            return header + pair[1];
    }
    return NULL;
}

static void *allocate_once(void *unused)
{
    bx_by_expression(FRAMES_DAMAGED);
    return unused;
}

static size_t damage(uint8_t *bytes, size_t nbytes)
{
    static const uint8_t changes[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80, 0xFF};
    uint8_t *page = (uint8_t *)((uintptr_t)bytes & ~(uintptr_t)4095);
    size_t count = 0;
    if (mprotect(page, (size_t)(bytes + nbytes - page), PROT_READ | PROT_WRITE) != 0)
        return 0;
    for (size_t i = 0; i < nbytes; i++) {
        uint8_t kept = bytes[i];
        for (size_t k = 0; k < sizeof changes; k++, count++) {
            pthread_t thread;
            bytes[i] = kept ^ changes[k];
            if (pthread_create(&thread, NULL, allocate_once, NULL) == 0)
                pthread_join(thread, NULL);
        }
        bytes[i] = kept;
    }
    return count;
}

/* The header, the description, and the one that it shares with others, to which it has the distance. */
static int damage_all(void)
{
    uint8_t *header = NULL;
    uint32_t distance;
    dl_iterate_phdr(find_header, &header);
    uint8_t *description = find_description(header);
    if (description == NULL)
        return 1;
    memcpy(&distance, description + 4, sizeof distance);
    printf("%zu\n", damage(header, 12) + damage(description, 28) + damage(description + 4 - distance, 24));
    return 0;
}

int main(int argument_count, char **arguments)
{
    if (argument_count > 1 && strcmp(arguments[1], "damaged") == 0)
        return damage_all();
    CALL_ALL(going_on, FRAMES_GOING_ON)
    CALL_ALL(ending, FRAMES_ENDING)
    CALL_ALL(without_pointer, FRAMES_WITHOUT_POINTER)
    frames_allocate(FRAMES_WITH_POINTER);
    printf("%zu %zu %zu\n", COUNT(going_on), COUNT(ending), COUNT(without_pointer));
    return 0;
}

#else

int main(void)
{
    return 0;
}

#endif
