/*
 * Where a function's arguments and its result are when it is entered and left, as its debug information and the
 * processor's calling convention have it.
 *
 * Runs only in the symbol reader's process (symbol_worker.h), because its input may be hostile.
 *
 * Not here: arguments of functions whose convention is not that of C: those that a compiler has changed (".isra.0"), and
 * those of Rust, Go and others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DEBUG_ARGUMENTS_H
#define TRACEBED_DEBUG_ARGUMENTS_H

#include "reader/symbols/debug/debug_info.h"
#include "writer/capture/launch/launch_arguments.h"

#define DEBUG_NAME_MAX 119

struct debug_value {
    char name[DEBUG_NAME_MAX + 1]; /* "point.x" for a field; longer ones are cut */
    enum launch_value_kind kind;
    enum launch_value_base base;
    uint32_t nbytes;
    uint32_t offset;        /* of the value; if 'is_indirect', of a pointer to what contains it */
    bool is_indirect;       /* the value is behind a pointer, */
    uint32_t inner;         /* this far */
    uint32_t length_offset; /* STRING: of the count, in the same place as the pointer */
    Dwarf_Die type;         /* ENUMERATION */
};

struct debug_signature {
    size_t argument_count, result_count;
    bool is_cut;                                      /* there are arguments after these */
    struct debug_value values[2 * LAUNCH_VALUES_MAX]; /* the arguments, then the result */
};

/*
 * Fills '*signature_ret' with the arguments of the function that begins at 'pc'. 'symbol' is the function's symbol, or
 * NULL. Structs of few fields are several values. False: nothing is known about them.
 */
bool tbed_debug_info_signature(struct debug_info *info, uint64_t pc, const char *symbol,
                               struct debug_signature *signature_ret);

/* Calls 'take' for each value of an enumeration, until it returns false. */
void tbed_debug_enumerators(const Dwarf_Die *type, bool (*take)(void *state, const char *name, int64_t value),
                            void *state);

/*
 * debug_description.c: the same as a description (launch_arguments.h). NULL: nothing is known, or there is no memory.
 *
 * Ownership: the caller frees it.
 */
struct launch_arguments *tbed_debug_info_describe(struct debug_info *info, uint64_t pc, const char *symbol);

/* ---- debug_types.c: types, as far as calling conventions depend on them ---- */

struct debug_type {
    Dwarf_Die die; /* without names and qualifiers */
    uint64_t nbytes;
    enum launch_value_kind kind; /* of a scalar; BYTES for a struct, a class, a union, an array */
    bool is_aggregate;
    bool is_by_reference; /* it has no copy but what its own functions make */
    bool is_reference;    /* 'kind' and 'nbytes' are those of what it refers to */
};

/* False: a type that calling conventions do not tell about here, or an incomplete one. */
bool tbed_debug_type_of(Dwarf_Die *die, struct debug_type *type_ret);

/* A scalar inside an aggregate. */
struct debug_field {
    char name[DEBUG_NAME_MAX + 1];
    struct debug_type type;
    uint32_t offset;
    uint32_t length_offset; /* STRING */
    bool is_exact;          /* false: it shares bytes with others, or is part of a byte */
};

#define DEBUG_FIELDS_MAX 16
struct debug_fields {
    size_t count;
    bool is_cut; /* there are more */
    bool is_unaligned;
    struct debug_field items[DEBUG_FIELDS_MAX];
};
/* The scalars inside an aggregate, by rising offset unless it is a union. 'name' is that of the whole. */
void tbed_debug_fields_of(const struct debug_type *type, const char *name, struct debug_fields *fields_ret);

/* The offsets of the pointer and the count in a std::string or std::string_view. False: it is neither. */
bool tbed_debug_string_offsets(const struct debug_type *type, uint32_t *pointer_ret, uint32_t *length_ret);

/* ---- debug_convention.c ---- */

struct debug_convention {
    bool is_arm64;
    uint32_t integer_count, vector_count, stack_nbytes; /* taken so far */
    struct debug_value *values;
    size_t count, capacity;
};

/* Appends the values of the next argument. False: there is no telling where it and those after it are. */
bool tbed_debug_place_argument(struct debug_convention *convention, const struct debug_type *type,
                               const char *name);
/*
 * Appends the values of the result, as they are when the function returns. '*takes_register_ret': the caller has passed
 * where it should go as the first argument.
 */
void tbed_debug_place_result(struct debug_convention *convention, const struct debug_type *type,
                             const char *name, bool *takes_register_ret);

#endif
