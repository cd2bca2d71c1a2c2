/*
 * tracebed/trace.hpp: writer.h for C++17, with additions that only C++ can offer. All macros of trace.h work too.
 *
 *     #include <tracebed/trace.hpp>
 *
 *     static void load(const std::string &path)
 *     {
 *         TBED_SPAN_ARGS("load", "path", path);
 *         tracebed::span parse("parse");
 *     }
 *
 *     int main()
 *     {
 *         tracebed::session session("run.tbed");
 *         load("a.txt");
 *     }
 *
 * With C++20 and a library that has <format>, tracebed::log("{} has {} bytes", path, path.size()) records a message.
 * Nothing here throws an exception, except that tracebed::log() does what std::format() does.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_HPP
#define TRACEBED_TRACE_HPP

#include <string>
#include <string_view>
#include <tracebed/writer.h>
#if __cplusplus >= 202002L
#include <version>
#endif
#ifdef __cpp_lib_format
#include <format>
#include <utility>
#endif
#ifdef __cpp_lib_source_location
#include <source_location>
#endif

namespace tracebed
{

/* Records for as long as it lives. */
class session
{
  public:
    TBED_UNTRACED explicit session(const char *path, const tbed_writer_options *options = nullptr) noexcept
        : status_(tbed_start(path, options))
    {
    }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    /* If another trace was already running, that one goes on. */
    TBED_UNTRACED ~session()
    {
        if (status_ == TBED_OK)
            tbed_stop();
    }
    TBED_UNTRACED tbed_status status() const noexcept
    {
        return status_;
    }

  private:
    tbed_status status_;
};

/*
 * A span with any name, which is looked up in a hash table; without one, it has the name of the function. It ends when it is
 * destroyed or earlier, by end(), and ends no other span: such objects may end in any order. One that ends on another
 * thread than it began on ends there, and its thread records that when it begins its next such object or ends.
 */
class span
{
  public:
    TBED_UNTRACED explicit span(std::string_view name = __builtin_FUNCTION(),
                                const char *function = __builtin_FUNCTION(),
                                const char *file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) noexcept
        : scope_(is_on() ? begin(name, function, file, line) : tbed_scope_none())
    {
    }
#ifdef __cpp_lib_source_location
    /* Named by the function with its class and parameters. */
    TBED_UNTRACED explicit span(const std::source_location &where) noexcept
        : scope_(is_on()
                     ? begin(where.function_name(), where.function_name(), where.file_name(), where.line())
                     : tbed_scope_none())
    {
    }
#endif
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    TBED_UNTRACED __attribute__((always_inline)) ~span()
    {
        end();
    }
    TBED_UNTRACED void end() noexcept
    {
        tbed_scope_end(&scope_);
    }

  private:
    TBED_UNTRACED static bool is_on() noexcept
    {
        return tbed_category_generation(&tbed_category_default) != 0;
    }
    TBED_UNTRACED static tbed_scope begin(std::string_view name, const char *function, const char *file,
                                          unsigned line) noexcept
    {
        if (!tbed_enter(&tbed_category_default))
            return tbed_scope_none();
        uint32_t id = tbed_name_id(name);
        tbed_place_note(id, function, file, line);
        return tbed_scope_begin(id);
    }
    tbed_scope scope_;
};

#ifdef __cpp_lib_format
/* A message that std::format() puts together when it is recorded, if a trace is running. */
template <typename... VALUES>
TBED_UNTRACED void log(tbed_severity severity, std::format_string<VALUES...> format, VALUES &&...values)
{
    if (!tbed_enter(&tbed_category_default))
        return;
    const std::string text = std::format(format, std::forward<VALUES>(values)...);
    tbed_message_record(tbed_thread_self.recorder, severity, text.data(), text.size());
}

template <typename... VALUES> TBED_UNTRACED void log(std::format_string<VALUES...> format, VALUES &&...values)
{
    log(TBED_SEVERITY_INFORMATION, format, std::forward<VALUES>(values)...);
}
#endif

} // namespace tracebed

#endif
