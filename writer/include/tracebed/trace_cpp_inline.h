/*
 * tracebed/trace_cpp_inline.h: what only C++ programs hand to the macros of trace.h: enums, strings with a length, and
 * types that no event can store, which are refused in words. Included by trace.h; do not include it yourself.
 *
 * No header of the standard library is needed: a string is whatever has data() and size(), as std::string,
 * std::string_view and the strings of most frameworks have.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_CPP_INLINE_H
#define TRACEBED_TRACE_CPP_INLINE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* it is written for C++17 */
#endif

template <bool IS, typename TYPE> struct tbed_only_if {
};
template <typename TYPE> struct tbed_only_if<true, TYPE> {
    typedef TYPE type;
};

template <typename TYPE> struct tbed_traits_of {
    static constexpr bool is_enum = __is_enum(TYPE), is_object = __is_class(TYPE) || __is_union(TYPE);
};

/* A text of that many bytes, which the event copies. */
TBED_ALWAYS_INLINE struct tbed_argument tbed_value_string(const void *text, size_t nbytes)
{
    struct tbed_argument value = tbed_value_text(text != nullptr ? text : "");
    value.nbytes = nbytes < TBED_NBYTES_UNMEASURED ? (uint32_t)nbytes : TBED_NBYTES_UNMEASURED - 1;
    return value;
}

TBED_ALWAYS_INLINE struct tbed_argument tbed_value(wchar_t value)
{
    return tbed_value_i64(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(char16_t value)
{
    return tbed_value_u32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(char32_t value)
{
    return tbed_value_u32(value);
}
#ifdef __cpp_char8_t
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(char8_t value)
{
    return tbed_value_u32(value);
}
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(const char8_t *value)
{
    return tbed_value_text(value);
}
#endif

/* Else it would be converted to bool. */
template <typename RESULT, typename... PARAMETERS>
TBED_ALWAYS_INLINE struct tbed_argument tbed_value(RESULT (*function)(PARAMETERS...))
{
    return tbed_value_pointer(reinterpret_cast<const void *>(function));
}

template <typename ENUM>
TBED_ALWAYS_INLINE typename tbed_only_if<tbed_traits_of<ENUM>::is_enum, struct tbed_argument>::type
tbed_value(ENUM value)
{
    return tbed_value(static_cast<__underlying_type(ENUM)>(value));
}

/* ---- Objects ---- */

template <typename STRING>
TBED_ALWAYS_INLINE auto tbed_value_object(const STRING &text, int)
    -> decltype(static_cast<const char *>(text.data()), text.size(), tbed_argument())
{
    return tbed_value_string(text.data(), (size_t)text.size());
}

template <typename OBJECT> TBED_ALWAYS_INLINE struct tbed_argument tbed_value_object(const OBJECT &, long)
{
    static_assert(sizeof(OBJECT) == 0,
                  "not a value that an event can store: pass a number, an enum, a pointer or a "
                  "string (whatever has data() and size())");
    return tbed_value_none();
}

template <typename OBJECT>
TBED_ALWAYS_INLINE typename tbed_only_if<tbed_traits_of<OBJECT>::is_object, struct tbed_argument>::type
tbed_value(const OBJECT &object)
{
    return tbed_value_object(object, 0);
}

/* ---- Names ---- */

/* The target of a pointer, and a string, would be read only once. */
template <typename TEXT> constexpr const char *tbed_literal(const TEXT &)
{
    static_assert(sizeof(TEXT) == 0,
                  "a name is a string literal; for names made at run time, use TBED_SPAN_DYNAMIC "
                  "or TBED_INSTANT_DYNAMIC");
    return "";
}

TBED_ALWAYS_INLINE uint32_t tbed_name_id(const char *text)
{
    return tbed_dynamic_id(text);
}
template <typename STRING>
TBED_ALWAYS_INLINE auto tbed_name_id(const STRING &text)
    -> decltype(static_cast<const char *>(text.data()), (size_t)text.size(), uint32_t())
{
    return tbed_string_intern(tbed_thread_self.writer, text.data(), (size_t)text.size());
}

#endif
