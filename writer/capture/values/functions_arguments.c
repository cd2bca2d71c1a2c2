/*
 * Reads values from registers and memory, and makes arguments of events of them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <string.h>

#include "writer/capture/values/functions_arguments.h"

#define MARK        "\xE2\x80\xA6" /* "…" */
#define MARK_NBYTES 3

struct reading {
    struct functions_arguments *values;
    struct preload_thread *thread;
    const struct launch_arguments *arguments;
    const struct functions_registers *registers;
};

/* ---- Bytes ---- */

static const uint8_t *base_of(const struct functions_registers *registers, uint8_t base)
{
    const void *const bases[] = {registers->integers, registers->vectors, registers->stack, registers->x87};
    return bases[base];
}

/* A number of up to 8 bytes, with zeros above. */
static uint64_t word_at(const uint8_t *bytes, uint32_t nbytes)
{
    uint64_t word = 0;
    memcpy(&word, bytes, nbytes);
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

static uint32_t id_of(const char *text)
{
    return tbed_string_intern(preload_writer, text, strlen(text));
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

/* 'nbytes' is SIZE_MAX for a text that ends with a zero. False: its memory cannot be read. */
static bool take_text(struct functions_arguments *values, struct tbed_argument *argument, uintptr_t from,
                      size_t nbytes)
{
    char *to = values->texts + values->text_nbytes;
    size_t wanted = nbytes < FUNCTIONS_TEXT_NBYTES_MAX ? nbytes : FUNCTIONS_TEXT_NBYTES_MAX;
    size_t got = from != 0 && wanted > 0 ? functions_memory_copy(to, from, wanted) : 0;
    const char *end = nbytes == SIZE_MAX && got > 0 ? memchr(to, 0, got) : NULL;
    if (from == 0 || (wanted > 0 && got == 0))
        return false;
    size_t length = end != NULL ? (size_t)(end - to) : got;
    if (end == NULL && length < nbytes) { /* it goes on */
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

static void set_enumerator(const struct reading *reading, struct tbed_argument *argument,
                           const struct launch_value *value, uint64_t word)
{
    const struct launch_enumerator *list =
        (const void *)((const char *)reading->arguments + value->enumerators);
    uint64_t mask = value->nbytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * value->nbytes)) - 1;
    for (uint32_t i = 0; i < value->enumerator_count; i++) {
        if (((uint64_t)list[i].value & mask) != word)
            continue;
        argument->type = TBED_ARG_ID;
        argument->value.id = id_of(text_of(reading->arguments, list[i].name));
        return;
    }
    argument->type = TBED_ARG_I64;
    argument->value.u64 = sign_extended(word, value->nbytes);
}

static void set_floating(struct tbed_argument *argument, const uint8_t *bytes, uint32_t nbytes)
{
    float single;
    long double wide = 0;
    argument->type = TBED_ARG_F64;
    if (nbytes == 8) {
        memcpy(&argument->value.f64, bytes, sizeof argument->value.f64);
    } else if (nbytes == 4) {
        memcpy(&single, bytes, sizeof single);
        argument->value.f64 = (double)single;
    } else {
        memcpy(&wide, bytes, sizeof wide);
        argument->value.f64 = (double)wide;
    }
}

/* A function has a name; an address in no module is a mere pointer. */
static void set_code(const struct reading *reading, struct tbed_argument *argument, uint64_t address)
{
    set_pointer(argument, address);
    uint32_t location =
        address != 0 ? preload_location_at(reading->thread, (uintptr_t)address) : TBED_ID_INVALID;
    if (location == TBED_ID_INVALID)
        return;
    argument->type = TBED_ARG_ID;
    argument->value.id = location;
}

static void set_character(const struct reading *reading, struct tbed_argument *argument, uint8_t byte)
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

static void set_bytes(const struct reading *reading, struct tbed_argument *argument, const uint8_t *bytes,
                      uint32_t nbytes)
{
    char *to = reading->values->texts + reading->values->text_nbytes;
    memcpy(to, bytes, nbytes);
    reading->values->text_nbytes += nbytes;
    argument->type = TBED_ARG_BYTES;
    argument->nbytes = nbytes;
    argument->value.text = to;
}

/* 'bytes' holds the value, whose size has been checked. */
static void set_value(const struct reading *reading, struct tbed_argument *argument,
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
        set_floating(argument, bytes, value->nbytes);
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

static void set_string(const struct reading *reading, struct tbed_argument *argument, uint64_t text,
                       uint64_t nbytes)
{
    if (!take_text(reading->values, argument, (uintptr_t)text, nbytes < SIZE_MAX ? (size_t)nbytes : 0))
        set_pointer(argument, text);
}

static void read_string(const struct reading *reading, struct tbed_argument *argument,
                        const struct launch_value *value, const uint8_t *base)
{
    uint64_t pointer = word_at(base + value->offset, 8), words[2];
    if (!value->is_indirect) {
        set_string(reading, argument, pointer, word_at(base + value->length_offset, 8));
        return;
    }
    if (functions_memory_copy(&words[0], (uintptr_t)pointer + value->inner, 8) == 8 &&
        functions_memory_copy(&words[1], (uintptr_t)pointer + value->length_offset, 8) == 8)
        set_string(reading, argument, words[0], words[1]);
    else
        set_pointer(argument, pointer);
}

static void read_value(const struct reading *reading, struct tbed_argument *argument,
                       const struct launch_value *value)
{
    uint8_t copy[LAUNCH_VALUE_NBYTES_MAX];
    const uint8_t *base = base_of(reading->registers, value->base);
    if (base == NULL)
        return;
    if (value->kind == LAUNCH_STRING) {
        read_string(reading, argument, value, base);
    } else if (!value->is_indirect) {
        set_value(reading, argument, value, base + value->offset);
    } else {
        uint64_t pointer = word_at(base + value->offset, 8);
        if (functions_memory_copy(copy, (uintptr_t)pointer + value->inner, value->nbytes) == value->nbytes)
            set_value(reading, argument, value, copy);
        else
            set_pointer(argument, pointer);
    }
}

void functions_arguments_read(struct functions_arguments *values_ret, struct preload_thread *thread,
                              const struct launch_arguments *arguments, bool is_result,
                              const struct functions_registers *registers)
{
    const struct reading reading = {values_ret, thread, arguments, registers};
    const struct launch_value *first = arguments->values + (is_result ? arguments->argument_count : 0);
    values_ret->text_nbytes = 0;
    values_ret->count = is_result ? arguments->result_count : arguments->argument_count;
    for (size_t i = 0; i < values_ret->count; i++) {
        struct tbed_argument *argument = &values_ret->items[i];
        *argument = (struct tbed_argument){.type = TBED_ARG_BYTES,
                                           .name_id = id_of(text_of(arguments, first[i].name))};
        read_value(&reading, argument, &first[i]);
    }
}
