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
 * Nothing here throws an exception.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_HPP
#define TRACEBED_TRACE_HPP

#include <string>
#include <string_view>
#include <tracebed/writer.h>

/* Texts with a length, as values of TBED_SPAN_ARGS and similar macros; they are copied into the event. */
inline struct tbed_argument tbed_value(std::string_view text)
{
    struct tbed_argument value = tbed_value_text(text.data() != nullptr ? text.data() : "");
    value.nbytes = text.size() < TBED_NBYTES_UNMEASURED ? static_cast<uint32_t>(text.size())
                                                        : TBED_NBYTES_UNMEASURED - 1;
    return value;
}
inline struct tbed_argument tbed_value(const std::string &text)
{
    return tbed_value(std::string_view(text));
}

namespace tracebed
{

/* Records for as long as it lives. */
class session
{
  public:
    explicit session(const char *path, const tbed_writer_options *options = nullptr) noexcept
        : status_(tbed_start(path, options))
    {
    }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    /* If another trace was already running, that one goes on. */
    ~session()
    {
        if (status_ == TBED_OK)
            tbed_stop();
    }
    tbed_status status() const noexcept
    {
        return status_;
    }

  private:
    tbed_status status_;
};

/* A span with any name, which is looked up in a hash table. It may end before its scope does, on the same thread. */
class span
{
  public:
    explicit span(std::string_view name) noexcept : span_(begin(name)) {}
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    ~span()
    {
        tbed_span_close(&span_);
    }
    void end() noexcept
    {
        tbed_span_close(&span_);
        span_.generation = 0;
    }

  private:
    static tbed_span begin(std::string_view name) noexcept
    {
        if (!tbed_enter(&tbed_category_default))
            return tbed_span_of(0);
        uint32_t id = tbed_string_intern(tbed_thread_self.writer, name.data(), name.size());
        tbed_begin_entered(&tbed_category_default, id);
        return tbed_span_of(tbed_thread_self.generation);
    }
    tbed_span span_;
};

} // namespace tracebed

#endif
