/*
 * Sends the fields of an event of CTF as arguments: those of structures and of what variants select by themselves, arrays
 * of numbers as a text.
 *
 * SPDX-License-Identifier: MIT
 */
#if __has_include(<babeltrace2/babeltrace.h>)
#include "reader/exchange/ctf/import/ctf_fields.h"

#define NAME_NBYTES  256
#define DEPTH_MAX    8
#define ELEMENTS_MAX 64
#define ARRAY_NBYTES 2048

static void put_head(struct ctf_put *put, char type, const char *name)
{
    ctf_put_u8(put, (uint8_t)type);
    tbed_ctf_put_text(put, name, strlen(name));
}

static void put_number(struct ctf_put *put, char type, const char *name, uint64_t value)
{
    put_head(put, type, name);
    ctf_put_u64(put, value);
}

static bool is_hexadecimal(const struct ctf_library *library, const bt_field *field)
{
    return library->field_class_integer_get_preferred_display_base(library->field_borrow_class_const(
               field)) == BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL;
}

static double real_of(const struct ctf_library *library, const bt_field *field, bt_field_class_type type)
{
    return type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL
               ? (double)library->field_real_single_precision_get_value(field)
               : library->field_real_double_precision_get_value(field);
}

static bool is_type(bt_field_class_type type, bt_field_class_type kind)
{
    return bt_field_class_type_is(type, kind);
}

/* An element of an array as a text; only of numbers and texts. */
static int element_text(const struct ctf_library *library, const bt_field *field, char *text, size_t room)
{
    bt_field_class_type type = library->field_get_class_type(field);
    if (is_type(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
        return snprintf(text, room, "%llu",
                        (unsigned long long)library->field_integer_unsigned_get_value(field));
    if (is_type(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
        return snprintf(text, room, "%lld", (long long)library->field_integer_signed_get_value(field));
    if (is_type(type, BT_FIELD_CLASS_TYPE_REAL))
        return snprintf(text, room, "%.17g", real_of(library, field, type));
    if (is_type(type, BT_FIELD_CLASS_TYPE_STRING))
        return snprintf(text, room, "%s", library->field_string_get_value(field));
    return snprintf(text, room, "?");
}

static void put_array(const struct ctf_library *library, struct ctf_put *put, const char *name,
                      const bt_field *field)
{
    char text[ARRAY_NBYTES] = "[";
    size_t at = 1;
    uint64_t count = library->field_array_get_length(field);
    for (uint64_t i = 0; i < count && i < ELEMENTS_MAX && at < sizeof text - 64; i++) {
        if (i > 0)
            at += (size_t)snprintf(text + at, sizeof text - at, ", ");
        int nbytes = element_text(library, library->field_array_borrow_element_field_by_index_const(field, i),
                                  text + at, sizeof text - at - 8);
        size_t room = sizeof text - at - 9;
        at += nbytes < 0 ? 0 : (size_t)nbytes < room ? (size_t)nbytes : room;
    }
    at += (size_t)snprintf(text + at, sizeof text - at, count > ELEMENTS_MAX ? ", …]" : "]");
    put_head(put, 's', name);
    tbed_ctf_put_text(put, text, at);
}

static void put_field(const struct ctf_library *library, struct ctf_put *put, const char *name,
                      const bt_field *field, unsigned depth);
static void put_members(const struct ctf_library *library, struct ctf_put *put, const char *name,
                        const bt_field *field, unsigned depth);

/* An element with a member 'name' and a member 'value' is what its name says. */
static void put_element(const struct ctf_library *library, struct ctf_put *put, const char *name,
                        const bt_field *element, unsigned depth)
{
    const char *own = tbed_ctf_text(library, element, "name");
    const bt_field *value = library->field_structure_borrow_member_field_by_name_const(element, "value");
    if (own != NULL && value != NULL)
        put_field(library, put, own, value, depth);
    else
        put_members(library, put, name, element, depth);
}

/* Returns false if the elements are no structures. 'depth' is below DEPTH_MAX. */
static bool put_structures(const struct ctf_library *library, struct ctf_put *put, const char *name,
                           const bt_field *field, unsigned depth)
{
    uint64_t count = library->field_array_get_length(field);
    const bt_field_class *of =
        library->field_class_array_borrow_element_field_class_const(library->field_borrow_class_const(field));
    if (!is_type(library->field_class_get_type(of), BT_FIELD_CLASS_TYPE_STRUCTURE))
        return false;
    for (uint64_t i = 0; i < count && i < ELEMENTS_MAX; i++) {
        const bt_field *element = library->field_array_borrow_element_field_by_index_const(field, i);
        char text[NAME_NBYTES];
        snprintf(text, sizeof text, "%s%llu", name, (unsigned long long)i);
        put_element(library, put, text, element, depth + 1);
    }
    return true;
}

/* Returns false if the field has no value of its own. */
static bool put_value(const struct ctf_library *library, struct ctf_put *put, const char *name,
                      const bt_field *field, bt_field_class_type type)
{
    if (is_type(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
        put_number(put, is_hexadecimal(library, field) ? 'p' : 'u', name,
                   library->field_integer_unsigned_get_value(field));
    } else if (is_type(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
        put_number(put, 'i', name, (uint64_t)library->field_integer_signed_get_value(field));
    } else if (is_type(type, BT_FIELD_CLASS_TYPE_BOOL)) {
        put_number(put, 'u', name, library->field_bool_get_value(field) == BT_TRUE);
    } else if (is_type(type, BT_FIELD_CLASS_TYPE_BIT_ARRAY)) {
        put_number(put, 'p', name, library->field_bit_array_get_value_as_integer(field));
    } else if (is_type(type, BT_FIELD_CLASS_TYPE_REAL)) {
        double value = real_of(library, field, type);
        put_head(put, 'f', name);
        ctf_put(put, &value, sizeof value);
    } else if (is_type(type, BT_FIELD_CLASS_TYPE_STRING)) {
        put_head(put, 's', name);
        tbed_ctf_put_text(put, library->field_string_get_value(field),
                          library->field_string_get_length(field));
    } else {
        return false;
    }
    return true;
}

static void put_field(const struct ctf_library *library, struct ctf_put *put, const char *name,
                      const bt_field *field, unsigned depth)
{
    bt_field_class_type type = library->field_get_class_type(field);
    size_t before = put->nbytes;
    bool has_value = put_value(library, put, name, field, type);
    if (put->is_full) /* this one is left out */
        put->nbytes = before;
    if (has_value || depth == DEPTH_MAX)
        return;
    if (is_type(type, BT_FIELD_CLASS_TYPE_ARRAY) && !put_structures(library, put, name, field, depth)) {
        put_array(library, put, name, field);
        if (put->is_full)
            put->nbytes = before;
    }
    if (is_type(type, BT_FIELD_CLASS_TYPE_STRUCTURE))
        put_members(library, put, name, field, depth + 1);
    else if (is_type(type, BT_FIELD_CLASS_TYPE_VARIANT))
        put_field(library, put, name, library->field_variant_borrow_selected_option_field_const(field),
                  depth + 1);
    else if (is_type(type, BT_FIELD_CLASS_TYPE_OPTION) && library->field_option_borrow_field_const(field))
        put_field(library, put, name, library->field_option_borrow_field_const(field), depth + 1);
}

/* These say where an event happened, which its stream says, or how long the next field is. */
static bool is_told_elsewhere(const char *name)
{
    static const char *const names[] = {"vpid", "vtid", "pid", "tid", "procname", "cpu_id"};
    size_t nbytes = strlen(name);
    if (name[0] == '_' && nbytes > 7 && strcmp(name + nbytes - 7, "_length") == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void put_members(const struct ctf_library *library, struct ctf_put *put, const char *name,
                        const bt_field *field, unsigned depth)
{
    const bt_field_class *of = library->field_borrow_class_const(field);
    uint64_t count = library->field_class_structure_get_member_count(of);
    for (uint64_t i = 0; i < count; i++) {
        char text[NAME_NBYTES];
        const char *own = library->field_class_structure_member_get_name(
            library->field_class_structure_borrow_member_by_index_const(of, i));
        snprintf(text, sizeof text, "%s%s%s", name, name[0] != '\0' ? "." : "", own);
        put_field(library, put, text, library->field_structure_borrow_member_field_by_index_const(field, i),
                  depth);
    }
}

void tbed_ctf_put_fields(const struct ctf_library *library, struct ctf_put *put, const bt_field *fields,
                         bool is_context)
{
    if (fields == NULL)
        return;
    const bt_field_class *of = library->field_borrow_class_const(fields);
    uint64_t count = library->field_class_structure_get_member_count(of);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = library->field_class_structure_member_get_name(
            library->field_class_structure_borrow_member_by_index_const(of, i));
        bool is_length = name[0] == '_' && is_told_elsewhere(name);
        if (!is_length && !(is_context && is_told_elsewhere(name)))
            put_field(library, put, name,
                      library->field_structure_borrow_member_field_by_index_const(fields, i), 0);
    }
}

bool tbed_ctf_number(const struct ctf_library *library, const bt_field *fields, const char *name,
                     uint32_t *number_ret)
{
    const bt_field *field =
        fields != NULL ? library->field_structure_borrow_member_field_by_name_const(fields, name) : NULL;
    bt_field_class_type type = field != NULL ? library->field_get_class_type(field) : 0;
    if (field == NULL)
        return false;
    if (is_type(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
        *number_ret = (uint32_t)library->field_integer_unsigned_get_value(field);
    else if (is_type(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
        *number_ret = (uint32_t)library->field_integer_signed_get_value(field);
    else
        return false;
    return true;
}

const char *tbed_ctf_text(const struct ctf_library *library, const bt_field *fields, const char *name)
{
    const bt_field *field =
        fields != NULL ? library->field_structure_borrow_member_field_by_name_const(fields, name) : NULL;
    bool is_text = field != NULL && is_type(library->field_get_class_type(field), BT_FIELD_CLASS_TYPE_STRING);
    return is_text ? library->field_string_get_value(field) : NULL;
}
#endif
