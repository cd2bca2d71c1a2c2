/*
 * The rule for a program counter, read from its module's .eh_frame.
 *
 * .eh_frame_hdr leads to the description of the function (FDE), which refers to one shared by many (CIE). Both hold a
 * small program: its effect up to the program counter is the rule. The encodings supported are those that linkers
 * emit; nothing outside of the module's own memory is read.
 *
 * Source: as preload_unwind.c.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <string.h>

#include "writer/capture/shared/preload_unwind.h"

#if defined(__x86_64__)

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_PC = 16 };

/* Pointer encodings: the form, and what the value is relative to. */
#define ENCODED_WHOLE      0x00u
#define ENCODED_UNSIGNED_4 0x03u
#define ENCODED_SIGNED_4   0x0Bu
#define ENCODED_SIGNED_8   0x0Cu
#define ENCODED_RELATIVE   0x10u /* to itself */
#define ENCODED_HEADER                                                                                       \
    (0x01u | 0x1Bu << 8 | 0x03u << 16 | 0x3Bu << 24) /* version 1; to itself, a count, to the header */
#define REMEMBERED_STATES_MAX 8
#define FDE_NBYTES_MAX        (1u << 20)

/* ---- Bytes ---- */

struct bytes {
    const uint8_t *at, *end;
    bool is_cut;
};

static uint64_t take(struct bytes *bytes, size_t nbytes)
{
    uint64_t value = 0;
    if ((size_t)(bytes->end - bytes->at) < nbytes) {
        bytes->is_cut = true;
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&value, bytes->at, nbytes);
    bytes->at += nbytes;
    return value;
}

static uint64_t take_leb(struct bytes *bytes, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(bytes, 1);
        if (shift < 64)
            value |= (byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && (byte & 0x40) && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static uint64_t take_unsigned(struct bytes *bytes)
{
    return take_leb(bytes, false);
}

static int64_t take_signed(struct bytes *bytes)
{
    return (int64_t)take_leb(bytes, true);
}

static struct bytes take_block(struct bytes *bytes)
{
    uint64_t nbytes = take_unsigned(bytes);
    if (nbytes > (uint64_t)(bytes->end - bytes->at)) {
        bytes->is_cut = true;
        nbytes = 0;
    }
    struct bytes block = {bytes->at, bytes->at + nbytes, false};
    bytes->at += nbytes;
    return block;
}

/* ---- The state that the programs change ---- */

struct state {
    struct preload_frame_rule rule;
    bool pc_is_undefined; /* the outermost function */
    bool frame_is_odd;    /* the rule for the frame's address is not supported */
    bool saved_is_odd;    /* the rule for a register that matters is not supported */
};

struct program {
    struct state state, initial; /* 'initial': the state after the CIE's program */
    struct state remembered[REMEMBERED_STATES_MAX];
    size_t remembered_count;
    uint64_t code_unit;
    int64_t data_unit;
    uintptr_t location, pc; /* goes on as long as location <= pc */
    bool is_signal;
    uint8_t encoding;
};

static void set_frame(struct state *state, uint64_t number, int64_t offset)
{
    state->rule.kind = number == REGISTER_SP ? PRELOAD_FRAME_BY_SP : PRELOAD_FRAME_BY_BP;
    state->rule.frame_offset = (int32_t)offset;
    state->frame_is_odd = (number != REGISTER_SP && number != REGISTER_BP) || offset != (int32_t)offset;
}

static void set_frame_register(struct state *state, uint64_t number)
{
    set_frame(state, number, state->rule.frame_offset);
}

static void set_frame_offset(struct state *state, int64_t offset)
{
    state->rule.frame_offset = (int32_t)offset;
}

/* A realigned frame: its address is saved below the frame pointer (DW_OP_breg6 n, DW_OP_deref). */
static void set_frame_expression(struct state *state, struct bytes block)
{
    bool is_bp = take(&block, 1) == 0x70 + REGISTER_BP;
    int64_t offset = take_signed(&block);
    bool is_saved = take(&block, 1) == 0x06 && !block.is_cut && block.at == block.end;
    state->rule.kind = PRELOAD_FRAME_SAVED;
    state->rule.frame_offset = (int32_t)offset;
    state->frame_is_odd = !is_bp || !is_saved || offset != (int32_t)offset;
}

static void set_saved(struct state *state, uint64_t number, int64_t offset)
{
    if (number == REGISTER_BP) {
        state->rule.has_bp = true;
        state->rule.bp_offset = (int16_t)offset;
        state->saved_is_odd |= offset != (int16_t)offset;
    } else if (number == REGISTER_PC) {
        state->pc_is_undefined = false;
        state->saved_is_odd |= offset != -(int64_t)sizeof(uintptr_t);
    }
}

/* In a realigned frame the caller's frame pointer is saved where the frame pointer points (DW_OP_breg6 0). */
static void set_saved_expression(struct state *state, uint64_t number, struct bytes block)
{
    bool is_there =
        take(&block, 1) == 0x70 + REGISTER_BP && take_signed(&block) == 0 && block.at == block.end;
    state->saved_is_odd |= number == REGISTER_PC || (number == REGISTER_BP && !is_there);
}

static void set_unknown(struct state *state, uint64_t number)
{
    state->pc_is_undefined |= number == REGISTER_PC;
    state->saved_is_odd |= number == REGISTER_BP;
}

static void restore(struct program *program, uint64_t number)
{
    const struct state *initial = &program->initial;
    if (number == REGISTER_BP) {
        program->state.rule.has_bp = initial->rule.has_bp;
        program->state.rule.bp_offset = initial->rule.bp_offset;
    } else if (number == REGISTER_PC) {
        program->state.pc_is_undefined = initial->pc_is_undefined;
    }
}

static bool remember(struct program *program)
{
    if (program->remembered_count == REMEMBERED_STATES_MAX)
        return false;
    program->remembered[program->remembered_count++] = program->state;
    return true;
}

static bool recall(struct program *program)
{
    if (program->remembered_count == 0)
        return false;
    program->state = program->remembered[--program->remembered_count];
    return true;
}

/* ---- The programs ---- */

/* False: the instruction is not supported. */
static bool run_other(struct program *program, uint8_t operation, struct bytes *bytes)
{
    struct state *state = &program->state;
    uint64_t number;
    switch (operation) {
    case 0x00: /* nop */
        return true;
    case 0x02: /* advance_loc1, 2, 4 */
        program->location += take(bytes, 1) * program->code_unit;
        return true;
    case 0x03:
        program->location += take(bytes, 2) * program->code_unit;
        return true;
    case 0x04:
        program->location += take(bytes, 4) * program->code_unit;
        return true;
    case 0x05: /* offset_extended */
        number = take_unsigned(bytes);
        set_saved(state, number, (int64_t)take_unsigned(bytes) * program->data_unit);
        return true;
    case 0x06: /* restore_extended */
        restore(program, take_unsigned(bytes));
        return true;
    case 0x07: /* undefined */
        set_unknown(state, take_unsigned(bytes));
        return true;
    case 0x08: /* same_value */
        if (take_unsigned(bytes) == REGISTER_BP)
            state->rule.has_bp = false;
        return true;
    case 0x09: /* register */
        number = take_unsigned(bytes);
        take_unsigned(bytes);
        state->saved_is_odd |= number == REGISTER_BP || number == REGISTER_PC;
        return true;
    case 0x0A:
        return remember(program);
    case 0x0B:
        return recall(program);
    case 0x0C: /* def_cfa */
        number = take_unsigned(bytes);
        set_frame(state, number, (int64_t)take_unsigned(bytes));
        return true;
    case 0x0D: /* def_cfa_register */
        set_frame_register(state, take_unsigned(bytes));
        return true;
    case 0x0E: /* def_cfa_offset */
        set_frame_offset(state, (int64_t)take_unsigned(bytes));
        return true;
    case 0x0F: /* def_cfa_expression */
        set_frame_expression(state, take_block(bytes));
        return true;
    case 0x10: /* expression */
        number = take_unsigned(bytes);
        set_saved_expression(state, number, take_block(bytes));
        return true;
    case 0x16: /* val_expression */
        number = take_unsigned(bytes);
        take_block(bytes);
        state->saved_is_odd |= number == REGISTER_BP || number == REGISTER_PC;
        return true;
    case 0x2E: /* GNU_args_size */
        take_unsigned(bytes);
        return true;
    default:
        return false;
    }
}

static bool run(struct program *program, struct bytes bytes)
{
    while (bytes.at < bytes.end && !bytes.is_cut) {
        uint8_t byte = (uint8_t)take(&bytes, 1), low = byte & 0x3F;
        if (byte >> 6 == 1) /* advance_loc */
            program->location += low * program->code_unit;
        else if (byte >> 6 == 2) /* offset */
            set_saved(&program->state, low, (int64_t)take_unsigned(&bytes) * program->data_unit);
        else if (byte >> 6 == 3)
            restore(program, low);
        else if (!run_other(program, low, &bytes))
            return false;
        if (program->location > program->pc)
            return true;
    }
    return !bytes.is_cut;
}

/* ---- Descriptions ---- */

/* What follows a length of 4 bytes; empty if it is not in the module. */
static struct bytes take_entry(const struct preload_module *module, uintptr_t address)
{
    struct bytes entry = {NULL, NULL, false};
    uint32_t nbytes;
    if (address < module->image_start || address - module->image_start > module->image_nbytes - sizeof nbytes)
        return entry;
    memcpy(&nbytes, (const void *)address, sizeof nbytes);
    if (nbytes > FDE_NBYTES_MAX ||
        nbytes > module->image_start + module->image_nbytes - address - sizeof nbytes)
        return entry;
    entry.at = (const uint8_t *)address + sizeof nbytes;
    entry.end = entry.at + nbytes;
    return entry;
}

static bool take_pointer(struct bytes *bytes, uint8_t encoding, uintptr_t *pointer_ret)
{
    uintptr_t from = (encoding & 0x70) == ENCODED_RELATIVE ? (uintptr_t)bytes->at : 0;
    uint8_t form = encoding & 0x0F;
    if ((encoding & ~0x1F) != 0)
        return false;
    if (form == ENCODED_SIGNED_4)
        *pointer_ret = from + (uintptr_t)(intptr_t)(int32_t)take(bytes, 4);
    else if (form == ENCODED_UNSIGNED_4)
        *pointer_ret = from + take(bytes, 4);
    else if (form == ENCODED_WHOLE || form == ENCODED_SIGNED_8)
        *pointer_ret = from + take(bytes, 8);
    else
        return false;
    return !bytes->is_cut;
}

/* Reads the augmentation: the letters after "z", and their data. */
static bool take_augmentation(struct program *program, const char *letters, struct bytes data)
{
    uintptr_t unused;
    for (; *letters != '\0'; letters++) {
        if (*letters == 'R')
            program->encoding = (uint8_t)take(&data, 1);
        else if (*letters == 'S')
            program->is_signal = true;
        else if (*letters == 'L')
            take(&data, 1);
        else if (*letters != 'P')
            return false;
        /* The personality may be indirect, which does not change its size. */
        else if (!take_pointer(&data, (uint8_t)take(&data, 1) & 0x7F, &unused))
            return false;
    }
    return !data.is_cut;
}

static bool run_common(struct program *program, struct bytes bytes)
{
    bool is_common = take(&bytes, 4) == 0;
    uint64_t version = take(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (take(&bytes, 1) != 0) {
    }
    program->code_unit = take_unsigned(&bytes);
    program->data_unit = take_signed(&bytes);
    uint64_t pc_register = version == 1 ? take(&bytes, 1) : take_unsigned(&bytes);
    if (!is_common || bytes.is_cut || (version != 1 && version != 3) || pc_register != REGISTER_PC ||
        letters[0] != 'z' || !take_augmentation(program, letters + 1, take_block(&bytes)))
        return false;
    uintptr_t pc = program->pc;
    program->pc = UINTPTR_MAX; /* all of it */
    bool is_understood = run(program, bytes);
    program->pc = pc;
    program->initial = program->state;
    return is_understood;
}

/* False: not supported, or the description of another function. */
static bool run_description(struct program *program, const struct preload_module *module, uintptr_t address)
{
    struct bytes bytes = take_entry(module, address);
    uintptr_t own = (uintptr_t)bytes.at, common = own - (uintptr_t)take(&bytes, 4), start, nbytes;
    if (bytes.is_cut || common == own || !run_common(program, take_entry(module, common)) ||
        !take_pointer(&bytes, program->encoding, &start))
        return false;
    if (!take_pointer(&bytes, program->encoding & 0x0F, &nbytes) || program->pc - start >= nbytes)
        return false;
    take_block(&bytes); /* of the augmentation */
    program->location = start;
    return run(program, bytes);
}

/* The address of the description, from the header's table of (function, description); 0: none. */
static uintptr_t search(const struct preload_module *module, uintptr_t pc)
{
    uintptr_t header = module->frames_header, start;
    struct bytes bytes = {(const uint8_t *)header, (const uint8_t *)header + module->frames_header_nbytes,
                          false};
    if (take(&bytes, 4) != ENCODED_HEADER ||
        !take_pointer(&bytes, ENCODED_RELATIVE | ENCODED_SIGNED_4, &start))
        return 0;
    size_t low = 0, high = take(&bytes, 4);
    if (bytes.is_cut || high > (size_t)(bytes.end - bytes.at) / 8)
        return 0;
    const int32_t(*table)[2] = (const void *)bytes.at;
    while (low < high) { /* the first that begins above 'pc' */
        size_t middle = low + (high - low) / 2;
        if (header + (uintptr_t)(intptr_t)table[middle][0] > pc)
            high = middle;
        else
            low = middle + 1;
    }
    return low == 0 ? 0 : header + (uintptr_t)(intptr_t)table[low - 1][1];
}

void preload_frame_rule_find(uintptr_t return_address, struct preload_frame_rule *rule_ret)
{
    struct preload_module module;
    struct program program = {.pc = return_address - 1};
    *rule_ret = (struct preload_frame_rule){.kind = PRELOAD_FRAME_END};
    if (!preload_module_find(program.pc, &module) || module.frames_header == 0)
        return;
    uintptr_t description = search(&module, program.pc);
    if (description == 0 || !run_description(&program, &module, description))
        return;
    const struct state *state = &program.state;
    if (program.is_signal)
        rule_ret->kind = PRELOAD_FRAME_SIGNAL;
    else if (!state->pc_is_undefined && !state->frame_is_odd && !state->saved_is_odd)
        *rule_ret = state->rule;
}

#endif
