/*
 * The arguments of functions in uftrace's records. A record does not say how many bytes follow it: that is only known from
 * the specification of the function, "arg1/i32,arg2/s", which is in 'info' (what the user asked for, and a built-in list
 * for the functions of the C library) or in the .dbg file of the module (from its debug information).
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/uftrace/uftrace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One argument of a specification. */
struct spec {
    char name[16];
    char format; /* d i u x o s S c f p e t; 0: automatic */
    size_t nbytes;
};

/* ---- Specifications ---- */

static bool starts_with(const struct uftrace_text *text, const char *start)
{
    size_t nbytes = strlen(start);
    return text->nbytes >= nbytes && memcmp(text->at, start, nbytes) == 0;
}

static struct uftrace_text rest_of(const struct uftrace_text *text, size_t from)
{
    return (struct uftrace_text){text->at + from, text->nbytes - from};
}

static size_t number_of(struct uftrace_text *text)
{
    size_t number = 0;
    while (text->nbytes > 0 && text->at[0] >= '0' && text->at[0] <= '9') {
        number = number < 100000 ? number * 10 + (size_t)(text->at[0] - '0') : number;
        *text = rest_of(text, 1);
    }
    return number;
}

/* The item of "NAME@SPECIFICATION;NAME@SPECIFICATION" for a function; empty if there is none. */
static struct uftrace_text find_spec(const struct uftrace_text *list, const struct uftrace_text *name)
{
    const char *at = list->at, *end = list->nbytes > 0 ? list->at + list->nbytes : at;
    while (at < end) {
        const char *semicolon = memchr(at, ';', (size_t)(end - at));
        const char *stop = semicolon != NULL ? semicolon : end;
        size_t nbytes = (size_t)(stop - at);
        if (nbytes > name->nbytes + 1 && at[name->nbytes] == '@' && memcmp(at, name->at, name->nbytes) == 0)
            return (struct uftrace_text){at + name->nbytes + 1, nbytes - name->nbytes - 1};
        at = stop + (semicolon != NULL);
    }
    return (struct uftrace_text){"", 0};
}

static struct uftrace_text spec_of(const struct uftrace *folder, const struct uftrace_symbol *symbol,
                                   bool is_exit, unsigned which)
{
    struct uftrace_text spec = is_exit ? symbol->exit : symbol->entry;
    if (which == 0)
        return find_spec(is_exit ? &folder->return_specs : &folder->argument_specs, &symbol->name);
    if (which == 1)
        return starts_with(&spec, "@") ? rest_of(&spec, 1) : spec;
    return find_spec(is_exit ? &folder->auto_return_specs : &folder->auto_argument_specs, &symbol->name);
}

/* The size of a format that has none behind it. */
static size_t default_nbytes(const struct uftrace *folder, char format)
{
    return format == 'c' ? 1 : format == 'f' || !folder->is_32_bit ? 8 : 4;
}

/* "arg1/i32%rdi". False: it is none. */
static bool parse_spec(const struct uftrace *folder, const struct uftrace_text *item, struct spec *spec)
{
    const char *slash = memchr(item->at, '/', item->nbytes);
    const char *percent = memchr(item->at, '%', item->nbytes);
    const char *end = slash != NULL ? slash : percent != NULL ? percent : item->at + item->nbytes;
    size_t nbytes = (size_t)(end - item->at);
    bool is_float = starts_with(item, "fparg");
    if (nbytes == 0 || nbytes >= sizeof spec->name ||
        (!starts_with(item, "arg") && !is_float && !starts_with(item, "retval")))
        return false;
    memcpy(spec->name, item->at, nbytes);
    spec->name[nbytes] = '\0';
    spec->format = is_float ? 'f' : '\0';
    struct uftrace_text rest = rest_of(item, nbytes + (slash != NULL));
    if (slash != NULL && rest.nbytes > 0 && (rest.at[0] < '0' || rest.at[0] > '9')) {
        spec->format = rest.at[0];
        rest = rest_of(&rest, 1);
    }
    size_t bits = slash != NULL ? number_of(&rest) : 0;
    spec->nbytes = spec->format == 't' ? bits : bits / 8;
    if (spec->nbytes == 0 && spec->format != 't')
        spec->nbytes = default_nbytes(folder, spec->format);
    return spec->nbytes <= 4096;
}

/* ---- Values ---- */

static uint64_t load(const uint8_t *at, size_t nbytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < nbytes && i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static int64_t load_signed(const uint8_t *at, size_t nbytes)
{
    unsigned unused = nbytes < 8 ? 64 - 8 * (unsigned)nbytes : 0;
    return (int64_t)(load(at, nbytes) << unused) >> unused;
}

/* Without debug information all have the size of a register; as uftrace does, take what looks like a small int for one. */
static int64_t load_automatic(const uint8_t *at, size_t nbytes)
{
    int64_t value = load_signed(at, nbytes), low = load_signed(at, 4);
    return nbytes == 8 && value == (int64_t)(uint32_t)value && low < 0 && low >= -100000 ? low : value;
}

/* The format of the x87: 64 bits of a mantissa with its integer bit, 15 of an exponent, a sign. */
static double load_extended(const uint8_t *at)
{
    uint64_t mantissa = load(at, 8);
    int upper = (int)load(at + 8, 2), exponent = upper & 0x7FFF;
    double value = ldexp((double)mantissa, exponent - 16383 - 63);
    if (exponent == 0x7FFF)
        value = mantissa << 1 == 0 ? INFINITY : NAN;
    return (upper & 0x8000) != 0 ? -value : value;
}

static double load_float(const uint8_t *at, size_t nbytes)
{
    uint64_t bits = load(at, nbytes);
    uint32_t narrow = (uint32_t)bits;
    double value = 0;
    float single;
    if (nbytes == 4) {
        memcpy(&single, &narrow, 4);
        return (double)single;
    }
    if (nbytes == 8)
        memcpy(&value, &bits, 8);
    return nbytes == 10 ? load_extended(at) : value;
}

static void set_value(struct tbed_argument *argument, const struct spec *spec, const uint8_t *at, char *byte)
{
    switch (spec->format) {
    case 'u':
    case 'o':
        argument->type = TBED_ARG_U64;
        argument->value.u64 = load(at, spec->nbytes);
        break;
    case 'x':
    case 'p':
        argument->type = TBED_ARG_POINTER;
        argument->value.u64 = load(at, spec->nbytes);
        break;
    case 'f':
        argument->type = TBED_ARG_F64;
        argument->value.f64 = load_float(at, spec->nbytes);
        break;
    case 'c':
        *byte = (char)at[0];
        *argument = tbed_import_text(argument->name_id, byte, 1);
        break;
    case 't':
        argument->type = TBED_ARG_BYTES;
        argument->nbytes = (uint32_t)spec->nbytes;
        argument->value.text = (const char *)at;
        break;
    default:
        argument->type = TBED_ARG_I64;
        argument->value.i64 =
            spec->format == '\0' ? load_automatic(at, spec->nbytes) : load_signed(at, spec->nbytes);
        break;
    }
}

/* A text has a u16 length; four bytes 0xff are a NULL. Returns the length with the padding to 4; 0: it does not fit. */
static size_t take_value(const struct spec *spec, struct tbed_argument *argument, char *byte,
                         const uint8_t *start, size_t at, size_t left)
{
    bool is_text = spec->format == 's' || spec->format == 'S';
    size_t nbytes = spec->nbytes, before = 0;
    if (is_text) {
        if (left - at < 2)
            return 0;
        nbytes = start[at] | (size_t)start[at + 1] << 8;
        before = 2;
    }
    size_t padded = (at + before + nbytes + 3) / 4 * 4 - at;
    if (padded > left - at)
        return 0;
    const uint8_t *value = start + at + before;
    if (!is_text)
        set_value(argument, spec, value, byte);
    else if (nbytes == 4 && memcmp(value, "\xff\xff\xff\xff", 4) == 0)
        *argument = tbed_import_text(argument->name_id, "NULL", 4);
    else
        *argument =
            tbed_import_text(argument->name_id, (const char *)value, strnlen((const char *)value, nbytes));
    return padded;
}

/* Takes the next item off a specification. */
static bool next_item(struct uftrace_text *spec, struct uftrace_text *item)
{
    if (spec->nbytes == 0)
        return false;
    const char *comma = memchr(spec->at, ',', spec->nbytes);
    size_t nbytes = comma != NULL ? (size_t)(comma - spec->at) : spec->nbytes;
    *item = (struct uftrace_text){spec->at, nbytes};
    *spec = rest_of(spec, nbytes + (comma != NULL));
    return true;
}

size_t tbed_uftrace_arguments(struct uftrace *folder, struct import_trace *trace,
                              const struct uftrace_symbol *symbol, bool is_exit, unsigned which,
                              const uint8_t *at, size_t left, struct uftrace_arguments *arguments_ret)
{
    struct uftrace_text text = spec_of(folder, symbol, is_exit, which), item;
    size_t taken = 0, count = 0;
    while (next_item(&text, &item)) {
        struct spec spec;
        if (!parse_spec(folder, &item, &spec) || (strcmp(spec.name, "retval") == 0) != is_exit ||
            spec.nbytes == 0)
            continue;
        if (count == UFTRACE_ARGUMENTS_MAX)
            return 0;
        struct tbed_argument *argument = &arguments_ret->items[count];
        *argument = (struct tbed_argument){
            .name_id = tbed_string_intern(trace->writer, spec.name, strlen(spec.name)), .nbytes = 8};
        size_t nbytes = take_value(&spec, argument, &arguments_ret->bytes[count], at, taken, left);
        if (nbytes == 0)
            return 0;
        taken += nbytes;
        count++;
    }
    arguments_ret->count = count;
    size_t padded = (taken + 7) / 8 * 8;
    return padded <= left ? padded : 0;
}
