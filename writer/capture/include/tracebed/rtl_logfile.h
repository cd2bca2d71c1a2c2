/*
 * tracebed/rtl_logfile.h: the macros of OpenOffice's rtl/logfile.h and rtl/logfile.hxx under their original names. Code
 * written for those headers compiles unchanged and records through <tracebed/logfile.h>.
 *
 * Code that includes <rtl/logfile.hxx> is compiled with -I PREFIX/include/tracebed/openoffice. As with the originals, the
 * macros without PRODUCT in their names record only if TIMELOG is defined, and RTL_LOGFILE=PREFIX in the environment
 * starts recording. Macros with a number take exactly that many values; those without take a text, which is not formatted.
 *
 * Differences from the originals: each macro is one statement and records one event, arguments are evaluated only while a
 * trace is running, and contexts exist in C too. C++98 and later. <rtl/logfile.hxx> brings in <sal/types.h> and
 * <rtl/string.hxx>, as the original did; those of a program that has its own take precedence if its -I stands first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RTL_LOGFILE_H
#define TRACEBED_RTL_LOGFILE_H

#if defined __cplusplus && __cplusplus < 201703L
#pragma GCC system_header /* logfile.h is written for C++17 */
#endif

#include <tracebed/logfile.h>

TBED_HEADER_BEGIN

#ifdef __cplusplus
namespace rtl
{

/* The class that RTL_LOGFILE_CONTEXT() declares; it can also be a member or a parameter. */
class Logfile : public tbed_logfile_context
{
  public:
    explicit Logfile(const tbed_logfile_scope &begun) TBED_LOGFILE_NOEXCEPT_ : tbed_logfile_context(begun) {}
    explicit Logfile(const char *text) TBED_LOGFILE_NOEXCEPT_
        : tbed_logfile_context(tbed_logfile_open_dynamic(NULL, NULL, text))
    {
    }
    Logfile(const char *project, const char *author, const char *text) TBED_LOGFILE_NOEXCEPT_
        : tbed_logfile_context(tbed_logfile_open_dynamic(project, author, text))
    {
    }
    /* Compilers would call it, which costs more than what it does while recording is off. */
    __attribute__((always_inline)) ~Logfile() {}
    /* "" if no trace was running when the object was made. */
    const char *getName()
    {
        return tbed_logfile_scope_name(this);
    }
};

} // namespace rtl

#define TBED_RTL_CONTEXT_(instance, project, author, name)                                                   \
    ::rtl::Logfile instance(TBED_LOGFILE_OPEN_(project, author, name))
#else
#define TBED_RTL_CONTEXT_(instance, project, author, name)                                                   \
    TBED_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, project, author, name)
#endif

/* As with the originals, a format is not compared with its values: "0x%X" with a pointer prints its low 32 bits. */
#define TBED_RTL_SEND_    TBED_LOGFILE_SEND_UNCHECKED_
#define TBED_RTL_NOWHERE_ ((const struct tbed_logfile_scope *)0)

/* A text with what the macros write before it, or without; see logfile.h. */
#define rtl_logfile_trace        tbed_logfile_write
#define rtl_logfile_longTrace    tbed_logfile_write_long
#define rtl_logfile_hasLogFile() TBED_LOGFILE_HASLOGFILE()
#define RTL_LOGFILE_HASLOGFILE() TBED_LOGFILE_HASLOGFILE()

#define RTL_LOGFILE_PRODUCT_TRACE(string) TBED_LOGFILE_PRODUCT_TRACE(string)
#define RTL_LOGFILE_PRODUCT_TRACE1(frmt, arg1)                                                               \
    TBED_RTL_SEND_(TBED_RTL_NOWHERE_, TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, frmt, arg1)
#define RTL_LOGFILE_PRODUCT_TRACE2(frmt, arg1, arg2)                                                         \
    TBED_RTL_SEND_(TBED_RTL_NOWHERE_, TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, frmt, arg1, arg2)
#define RTL_LOGFILE_PRODUCT_TRACE3(frmt, arg1, arg2, arg3)                                                   \
    TBED_RTL_SEND_(TBED_RTL_NOWHERE_, TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, frmt, arg1, arg2, arg3)
#define RTL_LOGFILE_PRODUCT_CONTEXT(instance, name)                                                          \
    TBED_RTL_CONTEXT_(instance, TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, name)
#define RTL_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, project, author, name)                                  \
    TBED_RTL_CONTEXT_(instance, project, author, name)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, message)                                                 \
    TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, message)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE1(instance, frmt, arg1)                                             \
    TBED_RTL_SEND_(&(instance), TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, frmt, arg1)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE2(instance, frmt, arg1, arg2)                                       \
    TBED_RTL_SEND_(&(instance), TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, frmt, arg1, arg2)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE3(instance, frmt, arg1, arg2, arg3)                                 \
    TBED_RTL_SEND_(&(instance), TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, frmt, arg1, arg2, arg3)

#ifdef TIMELOG
#define RTL_LOGFILE_CONTEXT(instance, name) RTL_LOGFILE_PRODUCT_CONTEXT(instance, name)
#define RTL_LOGFILE_CONTEXT_AUTHOR(instance, project, author, name)                                          \
    RTL_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, project, author, name)
#define RTL_LOGFILE_CONTEXT_TRACE(instance, message) RTL_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, message)
#define RTL_LOGFILE_CONTEXT_TRACE1(instance, frmt, arg1)                                                     \
    RTL_LOGFILE_PRODUCT_CONTEXT_TRACE1(instance, frmt, arg1)
#define RTL_LOGFILE_CONTEXT_TRACE2(instance, frmt, arg1, arg2)                                               \
    RTL_LOGFILE_PRODUCT_CONTEXT_TRACE2(instance, frmt, arg1, arg2)
#define RTL_LOGFILE_CONTEXT_TRACE3(instance, frmt, arg1, arg2, arg3)                                         \
    RTL_LOGFILE_PRODUCT_CONTEXT_TRACE3(instance, frmt, arg1, arg2, arg3)
#define RTL_LOGFILE_TRACE(string)                  RTL_LOGFILE_PRODUCT_TRACE(string)
#define RTL_LOGFILE_TRACE1(frmt, arg1)             RTL_LOGFILE_PRODUCT_TRACE1(frmt, arg1)
#define RTL_LOGFILE_TRACE2(frmt, arg1, arg2)       RTL_LOGFILE_PRODUCT_TRACE2(frmt, arg1, arg2)
#define RTL_LOGFILE_TRACE3(frmt, arg1, arg2, arg3) RTL_LOGFILE_PRODUCT_TRACE3(frmt, arg1, arg2, arg3)
#define RTL_LOGFILE_TRACE_AUTHOR(project, author, string)                                                    \
    TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(project, author, string)
#define RTL_LOGFILE_TRACE_AUTHOR1(project, author, frmt, arg1)                                               \
    TBED_RTL_SEND_(TBED_RTL_NOWHERE_, project, author, frmt, arg1)
#define RTL_LOGFILE_TRACE_AUTHOR2(project, author, frmt, arg1, arg2)                                         \
    TBED_RTL_SEND_(TBED_RTL_NOWHERE_, project, author, frmt, arg1, arg2)
#define RTL_LOGFILE_TRACE_AUTHOR3(project, author, frmt, arg1, arg2, arg3)                                   \
    TBED_RTL_SEND_(TBED_RTL_NOWHERE_, project, author, frmt, arg1, arg2, arg3)
#else
#define RTL_LOGFILE_CONTEXT(instance, name)                                ((void)0)
#define RTL_LOGFILE_CONTEXT_AUTHOR(instance, project, author, name)        ((void)0)
#define RTL_LOGFILE_CONTEXT_TRACE(instance, message)                       ((void)0)
#define RTL_LOGFILE_CONTEXT_TRACE1(instance, frmt, arg1)                   ((void)0)
#define RTL_LOGFILE_CONTEXT_TRACE2(instance, frmt, arg1, arg2)             ((void)0)
#define RTL_LOGFILE_CONTEXT_TRACE3(instance, frmt, arg1, arg2, arg3)       ((void)0)
#define RTL_LOGFILE_TRACE(string)                                          ((void)0)
#define RTL_LOGFILE_TRACE1(frmt, arg1)                                     ((void)0)
#define RTL_LOGFILE_TRACE2(frmt, arg1, arg2)                               ((void)0)
#define RTL_LOGFILE_TRACE3(frmt, arg1, arg2, arg3)                         ((void)0)
#define RTL_LOGFILE_TRACE_AUTHOR(project, author, string)                  ((void)0)
#define RTL_LOGFILE_TRACE_AUTHOR1(project, author, frmt, arg1)             ((void)0)
#define RTL_LOGFILE_TRACE_AUTHOR2(project, author, frmt, arg1, arg2)       ((void)0)
#define RTL_LOGFILE_TRACE_AUTHOR3(project, author, frmt, arg1, arg2, arg3) ((void)0)
#endif

TBED_HEADER_END

#endif
