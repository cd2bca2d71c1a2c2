/*
 * Reads values from registers and memory, and makes arguments of events of them.
 *
 * What is not marked as slow runs while the vector registers may hold the program's values: it uses none, and calls nothing
 * of the C library.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#include <string.h>

#include "writer/capture/values/functions_arguments.h"

#define MARK        "\xE2\x80\xA6" /* "…" */
#define MARK_NBYTES 3

struct reading {
    struct functions_arguments *values;
    struct preload_thread *thread;
    struct launch_arguments *arguments;
    const struct functions_registers *registers;
    bool is_quick, needs_more;
};

/* ---- Bytes ---- */

static const uint8_t *base_of(const struct functions_registers *registers, uint8_t base)
{
    const void *const bases[] = {registers->integers, registers->vectors, registers->stack, registers->x87};
    return bases[base];
}

/* The compiler does not make a call of memcpy() out of it. */
static void copy(void *to, const void *from, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
        __asm__ volatile("" ::: "memory");
    }
}

static uint64_t word8_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* A number of up to 8 bytes, with zeros above. */
static uint64_t word_at(const uint8_t *bytes, uint32_t nbytes)
{
    uint64_t word = 0;
    if (nbytes == sizeof word)
        return word8_at(bytes);
    copy(&word, bytes, nbytes);
    return word;
}

static uint64_t sign_extended(uint64_t word, uint32_t nbytes)
{
    unsigned shift = 64 - 8 * nbytes;
    return (uint64_t)((int64_t)(word << shift) >> shift);
}

/* ---- Texts ---- */

static const char *text_of(const struct launch_arguments *arguments, uint32_t offset)
{
    return (const char *)arguments + offset;
}

/* Not known yet; calls the writer. */
static __attribute__((noinline, cold)) uint32_t id_find(struct reading *reading, uint32_t *known,
                                                        uint32_t offset)
{
    const char *text = text_of(reading->arguments, offset);
    uint32_t id = tbed_string_intern(preload_writer, text, strlen(text));
    if (id != TBED_ID_INVALID)
        __atomic_store_n(known, id, __ATOMIC_RELAXED);
    return id;
}

static uint32_t id_of(struct reading *reading, uint32_t *known, uint32_t offset)
{
    uint32_t id = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (id != 0)
        return id;
    reading->needs_more = true;
    return reading->is_quick ? TBED_ID_INVALID : id_find(reading, known, offset);
}

/* The length of the text without the last character if 'nbytes' cut it in the middle. */
static size_t whole_characters(const char *text, size_t nbytes)
{
    size_t at = nbytes, back = 0;
    while (at > 0 && back < 3 && ((uint8_t)text[at - 1] & 0xC0) == 0x80) {
        at--;
        back++;
    }
    if (at == 0)
        return nbytes;
    uint8_t lead = (uint8_t)text[at - 1];
    size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return wanted > back + 1 ? at - 1 : nbytes;
}

static size_t length_of(const char *text, size_t nbytes)
{
    size_t length = 0;
    while (length < nbytes && text[length] != '\0')
        length++;
    return length;
}

/* 'nbytes' is SIZE_MAX for a text that ends with a zero. False: its memory cannot be read. */
static bool take_text(struct functions_arguments *values, struct tbed_argument *argument, uintptr_t from,
                      size_t nbytes)
{
    char *to = values->texts + values->text_nbytes;
    bool is_terminated = nbytes == SIZE_MAX;
    size_t wanted = nbytes < FUNCTIONS_TEXT_NBYTES_MAX ? nbytes : FUNCTIONS_TEXT_NBYTES_MAX;
    size_t got = from != 0 && wanted > 0 ? functions_memory_copy(to, from, wanted, is_terminated) : 0;
    if (from == 0 || (wanted > 0 && got == 0))
        return false;
    size_t length = is_terminated ? length_of(to, got) : got;
    if (length == got && length < nbytes) { /* it goes on */
        length = length > FUNCTIONS_TEXT_NBYTES_MAX - MARK_NBYTES ? FUNCTIONS_TEXT_NBYTES_MAX - MARK_NBYTES
                                                                  : length;
        length = whole_characters(to, length);
        memcpy(to + length, MARK, MARK_NBYTES);
        length += MARK_NBYTES;
    }
    argument->type = TBED_ARG_TEXT;
    argument->value.text = to;
    argument->nbytes = (uint32_t)length;
    values->text_nbytes += length;
    return true;
}

/* ---- Kinds ---- */

static void set_pointer(struct tbed_argument *argument, uint64_t address)
{
    argument->type = TBED_ARG_POINTER;
    argument->value.u64 = address;
}

static void set_enumerator(struct reading *reading, struct tbed_argument *argument,
                           const struct launch_value *value, uint64_t word)
{
    struct launch_enumerator *list = (void *)((char *)reading->arguments + value->enumerators);
    uint64_t mask = value->nbytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * value->nbytes)) - 1;
    for (uint32_t i = 0; i < value->enumerator_count; i++) {
        if (((uint64_t)list[i].value & mask) != word)
            continue;
        argument->type = TBED_ARG_ID;
        argument->value.id = id_of(reading, &list[i].name_id, list[i].name);
        return;
    }
    argument->type = TBED_ARG_I64;
    argument->value.u64 = sign_extended(word, value->nbytes);
}

static uint64_t double_bits(uint64_t sign, uint64_t exponent, uint64_t fraction)
{
    return sign << 63 | exponent << 52 | fraction;
}

/* The bits of a double that has the value of a float. */
static uint64_t from_single(uint32_t bits)
{
    uint64_t sign = bits >> 31, exponent = bits >> 23 & 0xFF, fraction = (uint64_t)(bits & 0x7FFFFF) << 29;
    if (exponent == 0xFF)
        return double_bits(sign, 0x7FF, fraction);
    if (exponent != 0)
        return double_bits(sign, exponent + 1023 - 127, fraction);
    if (fraction == 0)
        return double_bits(sign, 0, 0);
    unsigned shift =
        (unsigned)__builtin_clzll(fraction) - 11; /* the first bit is implied, and becomes bit 52 */
    return double_bits(sign, 1023 - 126 - shift, fraction << shift & ((UINT64_C(1) << 52) - 1));
}

#if defined(__x86_64__)
/* The same for an x87 number, rounded to the nearest; too small ones become zero. */
static uint64_t from_x87(const uint8_t *bytes)
{
    uint64_t fraction = word8_at(bytes), ends = word_at(bytes + 8, 2), sign = ends >> 15;
    int64_t exponent = (int64_t)(ends & 0x7FFF) - 16383 + 1023;
    uint64_t rounded =
        (fraction << 1 >> 12) + (fraction >> 10 & 1 & ((fraction & 0x3FF) != 0 || fraction >> 11 & 1));
    if ((ends & 0x7FFF) == 0x7FFF)
        return double_bits(sign, 0x7FF, fraction << 1 >> 12);
    if (exponent <= 0)
        return double_bits(sign, 0, 0);
    return exponent >= 0x7FF ? double_bits(sign, 0x7FF, 0)
                             : (sign << 63) + ((uint64_t)exponent << 52) + rounded; /* a carry is right */
}
#endif

static void set_floating(struct reading *reading, struct tbed_argument *argument, const uint8_t *bytes,
                         uint32_t nbytes)
{
    uint64_t bits = 0;
    if (nbytes == 8)
        bits = word8_at(bytes);
    else if (nbytes == 4)
        bits = from_single((uint32_t)word_at(bytes, 4));
    else
#if defined(__x86_64__)
        bits = from_x87(bytes);
#else
        reading->needs_more = true;
#endif
    (void)reading;
    argument->type = TBED_ARG_F64;
    memcpy(&argument->value.f64, &bits, sizeof bits);
}

/* A function has a name; an address in no module is a mere pointer. */
static void set_code(struct reading *reading, struct tbed_argument *argument, uint64_t address)
{
    set_pointer(argument, address);
    if (address == 0)
        return;
    reading->needs_more = true;
    if (reading->is_quick)
        return;
    uint32_t location = preload_location_at(reading->thread, (uintptr_t)address);
    if (location == TBED_ID_INVALID)
        return;
    argument->type = TBED_ARG_ID;
    argument->value.id = location;
}

static void set_character(struct reading *reading, struct tbed_argument *argument, uint8_t byte)
{
    argument->type = TBED_ARG_I64;
    argument->value.i64 = (int8_t)byte;
    if (byte < 0x20 || byte >= 0x7F)
        return;
    char *to = reading->values->texts + reading->values->text_nbytes++;
    *to = (char)byte;
    argument->type = TBED_ARG_TEXT;
    argument->nbytes = 1;
    argument->value.text = to;
}

static void set_bytes(struct reading *reading, struct tbed_argument *argument, const uint8_t *bytes,
                      uint32_t nbytes)
{
    char *to = reading->values->texts + reading->values->text_nbytes;
    copy(to, bytes, nbytes);
    reading->values->text_nbytes += nbytes;
    argument->type = TBED_ARG_BYTES;
    argument->nbytes = nbytes;
    argument->value.text = to;
}

/* 'bytes' holds the value, whose size has been checked. */
static void set_value(struct reading *reading, struct tbed_argument *argument,
                      const struct launch_value *value, const uint8_t *bytes)
{
    uint64_t word = value->nbytes <= 8 ? word_at(bytes, value->nbytes) : 0;
    switch (value->kind) {
    case LAUNCH_SIGNED:
        argument->type = TBED_ARG_I64;
        argument->value.u64 = sign_extended(word, value->nbytes);
        return;
    case LAUNCH_BOOLEAN:
        argument->type = TBED_ARG_BOOL;
        argument->value.u64 = word;
        return;
    case LAUNCH_CHARACTER:
        set_character(reading, argument, bytes[0]);
        return;
    case LAUNCH_ENUMERATION:
        set_enumerator(reading, argument, value, word);
        return;
    case LAUNCH_FLOATING:
        set_floating(reading, argument, bytes, value->nbytes);
        return;
    case LAUNCH_CODE:
        set_code(reading, argument, word);
        return;
    case LAUNCH_TEXT:
        if (!take_text(reading->values, argument, (uintptr_t)word, SIZE_MAX))
            set_pointer(argument, word);
        return;
    case LAUNCH_BYTES:
        set_bytes(reading, argument, bytes, value->nbytes);
        return;
    case LAUNCH_POINTER:
        set_pointer(argument, word);
        return;
    default:
        argument->type = TBED_ARG_U64;
        argument->value.u64 = word;
    }
}

/* ---- Places ---- */

static void set_string(struct reading *reading, struct tbed_argument *argument, uint64_t text,
                       uint64_t nbytes)
{
    if (!take_text(reading->values, argument, (uintptr_t)text, nbytes < SIZE_MAX ? (size_t)nbytes : 0))
        set_pointer(argument, text);
}

static void read_string(struct reading *reading, struct tbed_argument *argument,
                        const struct launch_value *value, const uint8_t *base)
{
    uint64_t pointer = word_at(base + value->offset, 8), words[2];
    if (!value->is_indirect) {
        set_string(reading, argument, pointer, word_at(base + value->length_offset, 8));
        return;
    }
    if (functions_memory_copy(&words[0], (uintptr_t)pointer + value->inner, 8, false) == 8 &&
        functions_memory_copy(&words[1], (uintptr_t)pointer + value->length_offset, 8, false) == 8)
        set_string(reading, argument, words[0], words[1]);
    else
        set_pointer(argument, pointer);
}

static void read_value(struct reading *reading, struct tbed_argument *argument,
                       const struct launch_value *value)
{
    uint8_t room[LAUNCH_VALUE_NBYTES_MAX];
    const uint8_t *base = base_of(reading->registers, value->base);
    if (base == NULL) {
        reading->needs_more = true;
        return;
    }
    if (reading->is_quick &&
        (value->is_indirect || value->kind == LAUNCH_TEXT || value->kind == LAUNCH_STRING) &&
        !functions_memory_is_quick()) {
        reading->needs_more = true;
        return;
    }
    if (value->kind == LAUNCH_STRING) {
        read_string(reading, argument, value, base);
    } else if (!value->is_indirect) {
        set_value(reading, argument, value, base + value->offset);
    } else {
        uint64_t pointer = word_at(base + value->offset, 8);
        if (functions_memory_copy(room, (uintptr_t)pointer + value->inner, value->nbytes, false) ==
            value->nbytes)
            set_value(reading, argument, value, room);
        else
            set_pointer(argument, pointer);
    }
}

bool functions_arguments_read(struct functions_arguments *values_ret, struct preload_thread *thread,
                              struct launch_arguments *arguments, bool is_result,
                              const struct functions_registers *registers, bool is_quick)
{
    struct reading reading = {values_ret, thread, arguments, registers, is_quick, false};
    struct launch_value *first = arguments->values + (is_result ? arguments->argument_count : 0);
    values_ret->text_nbytes = 0;
    values_ret->count = is_result ? arguments->result_count : arguments->argument_count;
    for (size_t i = 0; i < values_ret->count && !(is_quick && reading.needs_more); i++) {
        struct tbed_argument *argument = &values_ret->items[i];
        argument->type = TBED_ARG_BYTES;
        argument->nbytes = 0;
        argument->name_id = id_of(&reading, &first[i].name_id, first[i].name);
        read_value(&reading, argument, &first[i]);
    }
    return !reading.needs_more;
}

/* ---- In an event: spec/format.md, section 6.3 ---- */

static bool is_inline(const struct tbed_argument *argument)
{
    return argument->type == TBED_ARG_TEXT || argument->type == TBED_ARG_BYTES;
}

size_t functions_arguments_nwords(const struct functions_arguments *values)
{
    size_t nwords = 0;
    for (size_t i = 0; i < values->count; i++)
        nwords += is_inline(&values->items[i]) ? 1 + ((size_t)values->items[i].nbytes + 7) / 8 : 2;
    return nwords;
}

static uint64_t *store_inline(uint64_t *to, const struct tbed_argument *argument)
{
    size_t nwords = ((size_t)argument->nbytes + 7) / 8;
    if (nwords > 0)
        to[nwords - 1] = 0;
    copy(to, argument->value.text, argument->nbytes);
    return to + nwords;
}

void functions_arguments_store(uint64_t *to, const struct functions_arguments *values)
{
    for (size_t i = 0; i < values->count; i++) {
        const struct tbed_argument *argument = &values->items[i];
        uint64_t nbytes = is_inline(argument) ? argument->nbytes : 8;
        *to++ = argument->type | nbytes << 8 | (uint64_t)(argument->name_id & TBED_ID_MAX) << 32;
        if (is_inline(argument))
            to = store_inline(to, argument);
        else
            *to++ = argument->type == TBED_ARG_ID ? argument->value.id : argument->value.u64;
    }
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
