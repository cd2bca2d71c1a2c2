/*
 * tracebed/rtl_logfile.h: the macros of OpenOffice's rtl/logfile.h and rtl/logfile.hxx under their original names. Code
 * written for those headers compiles unchanged and records through <tracebed/logfile.h>.
 *
 * Code that includes <rtl/logfile.hxx> is compiled with -I PREFIX/include/tracebed/openoffice. As with the originals, the
 * macros without PRODUCT in their names record only if TIMELOG is defined, and RTL_LOGFILE=PREFIX in the environment
 * starts recording. Macros with a number take exactly that many values; those without take a text, which is not formatted.
 *
 * Differences from the originals: each macro is one statement and records one event, arguments are evaluated only while a
 * trace is running, and contexts exist in C too. There is no rtl_logfile_trace() and no rtl_logfile_longTrace().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RTL_LOGFILE_H
#define TRACEBED_RTL_LOGFILE_H

#include <tracebed/logfile.h>

#ifdef __cplusplus
namespace rtl
{

/* The class that RTL_LOGFILE_CONTEXT() declares; it can also be a member or a parameter. */
class Logfile : public tbed_logfile_context
{
  public:
    explicit Logfile(const tbed_logfile_scope &begun) noexcept : tbed_logfile_context(begun) {}
    explicit Logfile(const char *text) noexcept : Logfile(nullptr, nullptr, text) {}
    Logfile(const char *project, const char *author, const char *text) noexcept
        : tbed_logfile_context(tbed_logfile_open(
              nullptr, TBED_LOGFILE_HASLOGFILE() ? tbed_logfile_name_make(project, author, text) : nullptr))
    {
    }
};

} // namespace rtl

#define TBED_RTL_CONTEXT_(instance, project, author, name)                                                   \
    ::rtl::Logfile instance(TBED_LOGFILE_OPEN_(project, author, name))
#else
#define TBED_RTL_CONTEXT_(instance, project, author, name)                                                   \
    TBED_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, project, author, name)
#endif

#define rtl_logfile_hasLogFile() TBED_LOGFILE_HASLOGFILE()
#define RTL_LOGFILE_HASLOGFILE() TBED_LOGFILE_HASLOGFILE()

#define RTL_LOGFILE_PRODUCT_TRACE(string)                  TBED_LOGFILE_PRODUCT_TRACE(string)
#define RTL_LOGFILE_PRODUCT_TRACE1(frmt, arg1)             TBED_LOGFILE_PRODUCT_TRACE(frmt, arg1)
#define RTL_LOGFILE_PRODUCT_TRACE2(frmt, arg1, arg2)       TBED_LOGFILE_PRODUCT_TRACE(frmt, arg1, arg2)
#define RTL_LOGFILE_PRODUCT_TRACE3(frmt, arg1, arg2, arg3) TBED_LOGFILE_PRODUCT_TRACE(frmt, arg1, arg2, arg3)
#define RTL_LOGFILE_PRODUCT_CONTEXT(instance, name)                                                          \
    TBED_RTL_CONTEXT_(instance, TBED_LOGFILE_NONE_, TBED_LOGFILE_NONE_, name)
#define RTL_LOGFILE_PRODUCT_CONTEXT_AUTHOR(instance, project, author, name)                                  \
    TBED_RTL_CONTEXT_(instance, project, author, name)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, message)                                                 \
    TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, message)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE1(instance, frmt, arg1)                                             \
    TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, frmt, arg1)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE2(instance, frmt, arg1, arg2)                                       \
    TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, frmt, arg1, arg2)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE3(instance, frmt, arg1, arg2, arg3)                                 \
    TBED_LOGFILE_PRODUCT_CONTEXT_TRACE(instance, frmt, arg1, arg2, arg3)

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
    TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(project, author, frmt, arg1)
#define RTL_LOGFILE_TRACE_AUTHOR2(project, author, frmt, arg1, arg2)                                         \
    TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(project, author, frmt, arg1, arg2)
#define RTL_LOGFILE_TRACE_AUTHOR3(project, author, frmt, arg1, arg2, arg3)                                   \
    TBED_LOGFILE_PRODUCT_TRACE_AUTHOR(project, author, frmt, arg1, arg2, arg3)
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

#endif
